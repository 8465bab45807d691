/* type.c - makes datatypes out of others, as flat lists of pieces. */
#include "type.h"

#include <string.h>

#include "engine.h"
#include "mpi.h"

/* Every distance in a type stays within this, so that the sum of two cannot overflow. Addresses are far
 * below. */
#define TYPE_FAR ((int64_t)1 << 61)

/* A type of few pieces is copied into what is made of it, where it stands once: a step less when packing. */
#define TYPE_COPY_MAX 8

/* A type in the making. Bounds that markers set are kept apart from those of data, since they win in the
 * end. */
struct type_build {
    struct ftm *e;
    struct ftm_type *t;
    int any; /* data */
    int64_t mark_lb, mark_ub;
};

static int type_is_far(int64_t a)
{
    return a > TYPE_FAR || a < -TYPE_FAR;
}

int ftm_type_times(int64_t a, int64_t b, int64_t *out)
{
    *out = 0;
    if (a == 0 || b == 0)
        return 1;
    if (type_is_far(a) || type_is_far(b) || (a < 0 ? -a : a) > TYPE_FAR / (b < 0 ? -b : b))
        return 0;
    *out = a * b;
    return 1;
}

static int type_begin(struct type_build *b, struct ftm *e)
{
    memset(b, 0, sizeof *b);
    b->e = e;
    b->t = ftm_mem_new(&e->mem, sizeof *b->t);
    if (b->t == NULL)
        return MPI_ERR_INTERN;
    b->t->refs = 1;
    b->t->align = 1;
    b->t->unit = -1;
    return 0;
}

/* Lists that can hold one more entry, and hold a child. */
static struct ftm_run *type_new_run(struct type_build *b)
{
    struct ftm_type *t = b->t;
    void *list = t->run;

    if (!ftm_mem_grow(&b->e->mem, &list, &t->run_room, t->runs, sizeof *t->run))
        return NULL;
    t->run = list;
    return &t->run[t->runs++];
}

static int type_push(struct type_build *b, const struct ftm_piece *q)
{
    struct ftm_type *t = b->t;
    void *list = t->piece;

    if (!ftm_mem_grow(&b->e->mem, &list, &t->piece_room, t->pieces, sizeof *t->piece))
        return MPI_ERR_INTERN;
    t->piece = list;
    t->piece[t->pieces++] = *q;
    if (q->child != NULL)
        q->child->refs++;
    return 0;
}

/* 1: the last piece of the list has taken q in, as its end or as one more turn of its loop. */
static int type_merge(struct ftm_type *t, const struct ftm_piece *q)
{
    struct ftm_piece *last = t->pieces != 0 ? &t->piece[t->pieces - 1] : NULL;

    if (last == NULL || last->child != NULL || q->child != NULL || q->count != 1)
        return 0;
    if (last->count == 1 && last->offset + last->bytes == q->offset) {
        last->bytes += q->bytes;
        return 1;
    }
    if (last->bytes != q->bytes)
        return 0;
    if (last->count == 1)
        last->stride = q->offset - last->offset;
    else if (q->offset - last->offset != last->count * last->stride)
        return 0;
    last->count++;
    return 1;
}

/* One piece that means `count` times type t, `stride` bytes apart, the first one at `at`. Two loops become
 * one where they can; the piece refers to t where they cannot. */
void ftm_type_fold(struct ftm_type *t, int64_t at, int64_t count, int64_t stride, struct ftm_piece *q)
{
    const struct ftm_piece *p = t->pieces == 1 ? t->piece : NULL;

    q->offset = at;
    q->count = count;
    q->stride = stride;
    q->bytes = 0;
    q->child = t;
    if (p == NULL || (p->count != 1 && count != 1 && stride != p->count * p->stride))
        return;
    q->offset = at + p->offset;
    q->bytes = p->bytes;
    q->child = p->child;
    if (p->count != 1) {
        q->count = count * p->count;
        q->stride = p->stride;
    }
    if (q->child == NULL && (q->count == 1 || q->stride == q->bytes)) {
        q->bytes *= q->count;
        q->count = 1;
    }
    if (q->count == 1)
        q->stride = 0;
}

static int type_add_piece(struct type_build *b, const struct ftm_piece *q)
{
    int depth = q->child != NULL ? q->child->depth + 1 : 1;

    if (depth > FTM_TYPE_DEPTH)
        return MPI_ERR_INTERN;
    if (depth > b->t->depth)
        b->t->depth = depth;
    return type_merge(b->t, q) ? 0 : type_push(b, q);
}

static int type_add_pieces(struct type_build *b, struct ftm_type *child, int64_t at, int64_t count,
                           int64_t stride)
{
    struct ftm_piece q;
    size_t i;
    int rc = 0;

    if (count != 1 || child->pieces == 1 || child->pieces > TYPE_COPY_MAX) {
        ftm_type_fold(child, at, count, stride, &q);
        return type_add_piece(b, &q);
    }
    for (i = 0; i < child->pieces && rc == 0; i++) {
        q = child->piece[i];
        q.offset += at;
        rc = type_add_piece(b, &q);
    }
    return rc;
}

/* The signature: which basic types, in which order. */
static int type_add_run(struct type_build *b, struct ftm_type *child, int64_t count)
{
    struct ftm_type *t = b->t;
    struct ftm_run *run = t->runs != 0 ? &t->run[t->runs - 1] : NULL;

    if (child->elements == 0)
        return 0;
    t->unit = t->unit == -1 || t->unit == child->unit ? child->unit : 0;
    if (run == NULL || run->child != child) {
        run = type_new_run(b);
        if (run == NULL)
            return MPI_ERR_INTERN;
        run->count = 0;
        run->child = child;
        child->refs++;
    }
    run->count += count;
    return 0;
}

static void type_low(int known, int64_t *bound, int64_t value)
{
    if (!known || value < *bound)
        *bound = value;
}

static void type_high(int known, int64_t *bound, int64_t value)
{
    if (!known || value > *bound)
        *bound = value;
}

/* Takes the bounds of child in, which lies between `low` and `high` at its outermost. A marker says nothing
 * about the other bound, which is 0 where there are no data. */
static void type_widen(struct type_build *b, const struct ftm_type *child, int64_t low, int64_t high)
{
    struct ftm_type *t = b->t;

    if (child->has_lb) {
        type_low(t->has_lb, &b->mark_lb, low + child->lb);
        t->has_lb = 1;
    }
    if (child->has_ub) {
        type_high(t->has_ub, &b->mark_ub, high + child->ub);
        t->has_ub = 1;
    }
    if (child->size == 0)
        return;
    type_low(b->any, &t->lb, low + child->lb);
    type_high(b->any, &t->ub, high + child->ub);
    type_low(b->any, &t->true_lb, low + child->true_lb);
    type_high(b->any, &t->true_ub, high + child->true_ub);
    b->any = 1;
}

/* Adds child `count` times, `stride` bytes apart, the first at `at`. A child without any entry adds
 * nothing. */
static int type_add(struct type_build *b, struct ftm_type *child, int64_t at, int64_t count, int64_t stride)
{
    struct ftm_type *t = b->t;
    int64_t reach, size, elements;
    int rc;

    if (count == 0 || (child->elements == 0 && !child->has_lb && !child->has_ub))
        return 0;
    if (count == 1)
        stride = 0;
    if (!ftm_type_times(count - 1, stride, &reach) || !ftm_type_times(count, child->size, &size) ||
        !ftm_type_times(count, child->elements, &elements) || type_is_far(at) || type_is_far(at + reach))
        return MPI_ERR_ARG;
    type_widen(b, child, reach < 0 ? at + reach : at, reach > 0 ? at + reach : at);
    t->size += size;
    t->elements += elements;
    if (child->align > t->align)
        t->align = child->align;
    if (type_is_far(t->lb) || type_is_far(t->ub) || type_is_far(t->true_lb) || type_is_far(t->true_ub) ||
        type_is_far(t->size) || type_is_far(t->elements))
        return MPI_ERR_ARG;
    rc = type_add_run(b, child, count);
    return rc != 0 || child->size == 0 ? rc : type_add_pieces(b, child, at, count, stride);
}

static void type_drop_runs(struct ftm *e, struct ftm_type *t)
{
    size_t i;

    for (i = 0; i < t->runs; i++)
        ftm_type_drop(e, t->run[i].child);
    ftm_mem_free(&e->mem, t->run, t->run_room * sizeof *t->run);
    t->run = NULL;
    t->runs = t->run_room = 0;
}

static void type_round(struct ftm_type *t)
{
    int64_t over = (t->ub - t->lb) % t->align;

    if (over > 0)
        t->ub += t->align - over;
}

/* Gives the type out, or gives it back if rc is an error. */
static int type_finish(struct type_build *b, int rc, int is_struct, struct ftm_type **out)
{
    struct ftm_type *t = b->t;

    *out = NULL;
    if (rc != 0) {
        ftm_type_drop(b->e, t);
        return rc;
    }
    if (is_struct && !t->has_lb && !t->has_ub)
        type_round(t);
    if (t->has_lb)
        t->lb = b->mark_lb;
    if (t->has_ub)
        t->ub = b->mark_ub;
    if (t->unit != 0)
        type_drop_runs(b->e, t);
    *out = t;
    return 0;
}

int ftm_type_contiguous(struct ftm *e, int64_t count, struct ftm_type *old, struct ftm_type **out)
{
    struct type_build b;
    int rc = type_begin(&b, e);

    return rc != 0 ? rc : type_finish(&b, type_add(&b, old, 0, count, ftm_type_extent(old)), 0, out);
}

int ftm_type_vector(struct ftm *e, int64_t count, int64_t length, int64_t stride, struct ftm_type *old,
                    struct ftm_type **out)
{
    struct ftm_type *block;
    struct type_build b;
    int rc = ftm_type_contiguous(e, length, old, &block);

    if (rc != 0)
        return rc;
    rc = type_begin(&b, e);
    if (rc == 0)
        rc = type_finish(&b, type_add(&b, block, 0, count, stride), 0, out);
    ftm_type_drop(e, block);
    return rc;
}

int ftm_type_blocks(struct ftm *e, const struct ftm_blocks *blocks, struct ftm_type **out)
{
    struct type_build b;
    struct ftm_type *child;
    int i, length, rc = type_begin(&b, e);

    if (rc != 0)
        return rc;
    for (i = 0; i < blocks->n && rc == 0; i++) {
        child = blocks->types != NULL ? blocks->types[i] : blocks->type;
        length = blocks->lengths != NULL ? blocks->lengths[i] : blocks->length;
        rc = type_add(&b, child, blocks->displacements[i], length, ftm_type_extent(child));
    }
    return type_finish(&b, rc, blocks->is_struct, out);
}

int ftm_type_resized(struct ftm *e, struct ftm_type *old, int64_t lb, int64_t extent, struct ftm_type **out)
{
    struct type_build b;
    int rc;

    if (type_is_far(lb) || type_is_far(extent))
        return MPI_ERR_ARG;
    rc = type_begin(&b, e);
    if (rc != 0)
        return rc;
    rc = type_add(&b, old, 0, 1, 0);
    b.t->has_lb = b.t->has_ub = 1;
    b.mark_lb = lb;
    b.mark_ub = lb + extent;
    return type_finish(&b, rc, 0, out);
}

int ftm_type_dup(struct ftm *e, struct ftm_type *old, struct ftm_type **out)
{
    struct type_build b;
    int rc = type_begin(&b, e);

    if (rc != 0)
        return rc;
    rc = type_finish(&b, type_add(&b, old, 0, 1, 0), 0, out);
    if (rc == 0)
        (*out)->committed = old->committed;
    return rc;
}

static void type_put_back(struct ftm_type **list, struct ftm_type *t)
{
    if (t == NULL || --t->refs != 0)
        return;
    t->next = *list;
    *list = t;
}

/* A chain of types may be long, so they are given back from a list and not by recursion. */
void ftm_type_drop(struct ftm *e, struct ftm_type *t)
{
    struct ftm_type *list = NULL;
    size_t i;

    for (type_put_back(&list, t); list != NULL;) {
        t = list;
        list = t->next;
        for (i = 0; i < t->pieces; i++)
            type_put_back(&list, t->piece[i].child);
        for (i = 0; i < t->runs; i++)
            type_put_back(&list, t->run[i].child);
        ftm_mem_free(&e->mem, t->piece, t->piece_room * sizeof *t->piece);
        ftm_mem_free(&e->mem, t->run, t->run_room * sizeof *t->run);
        ftm_mem_free(&e->mem, t, sizeof *t);
    }
}

int ftm_type_is_block(const struct ftm_type *t, uint64_t count)
{
    if (count == 0 || t->size == 0)
        return 1;
    return t->pieces == 1 && t->piece->bytes == t->size && (count == 1 || ftm_type_extent(t) == t->size);
}

int64_t ftm_type_elements(const struct ftm_type *t, uint64_t bytes)
{
    int64_t left = (int64_t)bytes, elements = 0;
    const struct ftm_run *run;

    if (t->size == 0)
        return 0;
    elements = left / t->size * t->elements;
    left %= t->size;
    while (left != 0 && t->unit == 0) {
        for (run = t->run; left >= run->count * run->child->size; run++) {
            elements += run->count * run->child->elements;
            left -= run->count * run->child->size;
        }
        t = run->child;
        elements += left / t->size * t->elements;
        left %= t->size;
    }
    if (left == 0)
        return elements;
    return left % t->unit != 0 ? -1 : elements + left / t->unit;
}
