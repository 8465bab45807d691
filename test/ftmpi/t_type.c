/* t_type.c - datatypes beside a naive model: lists of single basic types. */

#include "test.h"

#include "engine.h"
#include "mpi.h"
#include "pack.h"
#include "type.h"

/* The model writes every basic type of a type down. Packing is a walk over that list. */
#define ENTRIES_MAX 3000
#define DEPTH_MAX 6
#define TREES 10000

struct entry {
    long at;
    int size;
};

struct model {
    struct entry *entry;
    int entries;
    long lb, ub;
    int any, any_data, has_lb, has_ub, align;
};

/* A type and what the model says of it. */
struct pair {
    struct ftm_type *t;
    struct model m;
};

static unsigned long seed = 1;

static unsigned draw(unsigned below)
{
    seed = (seed * 6364136223846793005ul + 1442695040888963407ul) & 0xfffffffffffffffful;
    return (unsigned)(seed >> 33) % below;
}

static void engine_begin(struct ftm *e, struct test_heap *heap, struct phx_alloc *alloc)
{
    memset(e, 0, sizeof *e);
    memset(heap, 0, sizeof *heap);
    alloc->alloc = test_alloc;
    alloc->world = heap;
    e->mem.alloc = alloc;
    ftm_table_init(&e->handles, &e->mem);
}

static void engine_end(struct ftm *e)
{
    ftm_type_clear(e);
    ftm_table_clear(&e->handles);
}

static struct ftm_type *basic(struct ftm *e, int handle)
{
    return ftm_table_get(&e->handles, handle, FTM_TYPE);
}

static void model_begin(struct model *m)
{
    memset(m, 0, sizeof *m);
    m->entry = malloc(ENTRIES_MAX * sizeof *m->entry);
    m->align = 1;
}

/* One copy of `from` at a place. 0: the model would be too large. The bounds of a type come from markers if
 * there are any, else from all copies; marks[] keeps what markers say. */
static int model_copy(struct model *m, const struct model *from, long at, long marks[2])
{
    int i;

    if (!from->any)
        return 1;
    if (m->entries + from->entries > ENTRIES_MAX)
        return 0;
    for (i = 0; i < from->entries; i++) {
        m->entry[m->entries] = from->entry[i];
        m->entry[m->entries++].at += at;
    }
    if (from->has_lb && (!m->has_lb || at + from->lb < marks[0]))
        marks[0] = at + from->lb;
    if (from->has_ub && (!m->has_ub || at + from->ub > marks[1]))
        marks[1] = at + from->ub;
    m->has_lb |= from->has_lb;
    m->has_ub |= from->has_ub;
    if (from->entries > 0 && (!m->any_data || at + from->lb < m->lb))
        m->lb = at + from->lb;
    if (from->entries > 0 && (!m->any_data || at + from->ub > m->ub))
        m->ub = at + from->ub;
    m->any_data |= from->entries > 0;
    m->any = 1;
    m->align = from->align > m->align ? from->align : m->align;
    return 1;
}

static void model_end(struct model *m, const long marks[2], int is_struct)
{
    if (is_struct && !m->has_lb && !m->has_ub)
        while ((m->ub - m->lb) % m->align != 0 && m->ub > m->lb)
            m->ub++;
    m->lb = m->has_lb ? marks[0] : m->lb;
    m->ub = m->has_ub ? marks[1] : m->ub;
}

static const struct basic_row {
    int handle, size, align, second, extent;
} rows[] = {
    { MPI_CHAR, 1, 1, 0, 1 },
    { MPI_SHORT, sizeof(short), sizeof(short), 0, sizeof(short) },
    { MPI_INT, sizeof(int), sizeof(int), 0, sizeof(int) },
    { MPI_FLOAT, sizeof(float), sizeof(float), 0, sizeof(float) },
    { MPI_DOUBLE_INT, sizeof(double), offsetof(struct { char c; double d; }, d), sizeof(int),
      sizeof(struct { double d; int i; }) },
    { MPI_SHORT_INT, sizeof(short), sizeof(int), sizeof(int), sizeof(struct { short s; int i; }) },
    { MPI_DOUBLE, sizeof(double), offsetof(struct { char c; double d; }, d), 0, sizeof(double) },
    { MPI_LONG_DOUBLE, sizeof(long double), offsetof(struct { char c; long double d; }, d), 0,
        sizeof(long double) },
    { MPI_LB, 0, 1, 0, 0 },
    { MPI_UB, 0, 1, 0, 0 },
};

static void make_basic(struct ftm *e, struct pair *p)
{
    const struct basic_row *r = &rows[draw(sizeof rows / sizeof rows[0])];

    model_begin(&p->m);
    p->t = basic(e, r->handle);
    p->t->refs++;
    p->m.any = 1;
    p->m.has_lb = r->handle == MPI_LB;
    p->m.has_ub = r->handle == MPI_UB;
    p->m.align = r->align;
    p->m.ub = r->extent;
    if (r->size != 0)
        p->m.entry[p->m.entries++] = (struct entry){ 0, r->size };
    if (r->second != 0)
        p->m.entry[p->m.entries++] = (struct entry){ r->extent - (r->size == 8 ? 8 : 4), r->second };
}

static void pair_end(struct ftm *e, struct pair *p)
{
    ftm_type_drop(e, p->t);
    free(p->m.entry);
}

/* A vector, in the model as two loops. */
static int make_vector(struct ftm *e, struct pair *to, const struct pair *from)
{
    int count = (int)draw(4), length = (int)draw(4), i, j, good = 1;
    long stride = (long)draw(81) - 40, extent = from->m.ub - from->m.lb, marks[2] = { 0, 0 };

    if (draw(3) == 0)
        stride = length * extent;
    for (i = 0; i < count; i++)
        for (j = 0; j < length; j++)
            good = good && model_copy(&to->m, &from->m, i * stride + j * extent, marks);
    model_end(&to->m, marks, 0);
    return good && ftm_type_vector(e, count, length, stride, from->t, &to->t) == 0;
}

static int make_contiguous(struct ftm *e, struct pair *to, const struct pair *from)
{
    int count = (int)draw(4), i, good = 1;
    long marks[2] = { 0, 0 };

    for (i = 0; i < count; i++)
        good = good && model_copy(&to->m, &from->m, i * (from->m.ub - from->m.lb), marks);
    model_end(&to->m, marks, 0);
    return good && ftm_type_contiguous(e, count, from->t, &to->t) == 0;
}

static int make_resized(struct ftm *e, struct pair *to, const struct pair *from)
{
    long lb = (long)draw(21) - 10, extent = (long)draw(61) - 10, marks[2];
    int good = model_copy(&to->m, &from->m, 0, marks);

    to->m.has_lb = to->m.has_ub = to->m.any = 1;
    marks[0] = lb;
    marks[1] = lb + extent;
    model_end(&to->m, marks, 0);
    return good && ftm_type_resized(e, from->t, lb, extent, &to->t) == 0;
}

/* Up to 9 blocks: of one type (indexed) or of two in turn (struct). */
static int make_blocks(struct ftm *e, struct pair *to, const struct pair *from, const struct pair *other)
{
    int lengths[9], n = (int)draw(10), i, j, good = 1, in_order = (int)draw(2);
    int64_t at[9], next = (int64_t)draw(9) - 4;
    struct ftm_type *types[9];
    struct ftm_blocks b = { n, lengths, 0, at, NULL, from->t, other != NULL };
    long marks[2] = { 0, 0 };

    for (i = 0; i < n; i++) {
        const struct pair *p = other != NULL && draw(2) ? other : from;
        long extent = p->m.ub - p->m.lb;

        lengths[i] = (int)draw(3);
        at[i] = in_order ? next : (int64_t)draw(101) - 50;
        next = at[i] + lengths[i] * extent + (int64_t)draw(3);
        types[i] = p->t;
        for (j = 0; j < lengths[i]; j++)
            good = good && model_copy(&to->m, &p->m, (long)at[i] + j * extent, marks);
    }
    if (other != NULL)
        b.types = types;
    model_end(&to->m, marks, other != NULL);
    return good && ftm_type_blocks(e, &b, &to->t) == 0;
}

/* Makes `to` of one or two others. 0: the model became too large; to->t is NULL then. */
static int make_one(struct ftm *e, struct pair *to, const struct pair *a, const struct pair *b)
{
    model_begin(&to->m);
    to->t = NULL;
    switch (draw(6)) {
    case 0:
        return make_vector(e, to, a);
    case 1:
        return make_contiguous(e, to, a);
    case 2:
        return make_blocks(e, to, a, NULL);
    case 3:
        return make_resized(e, to, a);
    default:
        return make_blocks(e, to, a, b);
    }
}

/* A random tree: a few types, each made of two before it. The last one that fitted is the result. */
static struct pair make_tree(struct ftm *e)
{
    struct pair p[DEPTH_MAX + 3];
    unsigned n = 3, depth = 1 + draw(DEPTH_MAX), i;

    for (i = 0; i < n; i++)
        make_basic(e, &p[i]);
    for (i = 0; i < depth; i++, n++)
        if (!make_one(e, &p[n], &p[n - 1 - draw(2)], &p[draw(n)])) {
            pair_end(e, &p[n]);
            break;
        }
    for (i = 0; i + 1 < n; i++)
        pair_end(e, &p[i]);
    return p[n - 1];
}

/* The facts that calls of the program ask for. */
static int same_facts(const struct pair *p)
{
    long low = 0, high = 0, size = 0;
    int i;

    for (i = 0; i < p->m.entries; i++) {
        const struct entry *x = &p->m.entry[i];

        low = i == 0 || x->at < low ? x->at : low;
        high = i == 0 || x->at + x->size > high ? x->at + x->size : high;
        size += x->size;
    }
    return p->t->size == size && p->t->elements == p->m.entries && p->t->lb == p->m.lb &&
           p->t->ub == p->m.ub &&
           p->t->true_lb == low && p->t->true_ub == high;
}

/* How many basic types the first bytes are; -1: it ends within one. */
static long model_elements(const struct model *m, long bytes)
{
    long elements = 0;
    int i = 0;

    while (bytes > 0) {
        bytes -= m->entry[i].size;
        elements++;
        i = (i + 1) % m->entries;
    }
    return bytes == 0 ? elements : -1;
}

static int same_elements(const struct pair *p)
{
    int i, good = 1;

    for (i = 0; i < 5 && p->t->size != 0; i++) {
        long bytes = (long)draw((unsigned)(3 * p->t->size));

        good = good && ftm_type_elements(p->t, (uint64_t)bytes) == model_elements(&p->m, bytes);
    }
    return good;
}

/* What lies around the buffer's address while `count` elements are packed, and the address in it. */
struct field {
    unsigned char *bytes;
    size_t size;
    long origin;
};

static void field_new(struct field *f, const struct pair *p, int count)
{
    long reach = (long)(count - 1) * (p->m.ub - p->m.lb), low = (long)p->t->true_lb, high =
        (long)p->t->true_ub;
    size_t i;

    low += count != 0 && reach < 0 ? reach : 0;
    high += count != 0 && reach > 0 ? reach : 0;
    f->origin = 8 - low;
    f->size = (size_t)(high - low) + 16;
    f->bytes = malloc(f->size);
    for (i = 0; i < f->size; i++)
        f->bytes[i] = (unsigned char)draw(256);
}

/* Packs or unpacks by the model. */
static size_t model_pack(const struct pair *p, const struct field *f, int count, unsigned char *stream,
                         int out)
{
    size_t n = 0;
    int i, j;

    for (i = 0; i < count; i++)
        for (j = 0; j < p->m.entries; j++) {
            const struct entry *x = &p->m.entry[j];
            unsigned char *user = f->bytes + f->origin + x->at + (long)i * (p->m.ub - p->m.lb);

            memcpy(out ? stream + n : user, out ? user : stream + n, (size_t)x->size);
            n += (size_t)x->size;
        }
    return n;
}

/* Moves all in random pieces. 1: it was as many bytes as it should be. */
static int move_in_pieces(const struct pair *p, const struct field *f, int count, unsigned char *stream,
                          size_t n,
                          int out)
{
    struct ftm_pack k;
    size_t done = 0, moved, piece, most = 1 + draw((unsigned)n + 8);

    ftm_pack_start(&k, p->t, f->bytes + f->origin, (uint64_t)count);
    while (done < n) {
        piece = 1 + draw((unsigned)most);
        if (piece > n - done)
            piece = n - done;
        moved = out ? ftm_pack_out(&k, stream + done, piece) : ftm_pack_in(&k, stream + done, piece);
        if (moved != piece)
            return 0;
        done += moved;
    }
    return ftm_pack_out(&k, stream, 1) == 0;
}

/* 1: a block, if it is said to be one, is what packing makes. */
static int same_block(const struct pair *p, const struct field *f, int count, const unsigned char *stream,
                      size_t n)
{
    if (!ftm_type_is_block(p->t, (uint64_t)count))
        return 1;
    return n == 0 || memcmp(f->bytes + f->origin + p->t->true_lb, stream, n) == 0;
}

static int same_bytes(const struct pair *p)
{
    int count = (int)draw(4), good;
    size_t n = (size_t)p->t->size * (size_t)count;
    unsigned char *a = malloc(n + 1), *b = malloc(n + 1);
    struct field ours, model;

    field_new(&ours, p, count);
    model = ours;
    model.bytes = malloc(ours.size);
    memcpy(model.bytes, ours.bytes, ours.size);
    good = model_pack(p, &ours, count, a, 1) == n && move_in_pieces(p, &ours, count, b, n, 1) &&
           memcmp(a, b, n) == 0 && same_block(p, &ours, count, a, n);
    for (size_t i = 0; i < n; i++)
        a[i] = (unsigned char)(i * 7 + 1);
    model_pack(p, &model, count, a, 0);
    good = good && move_in_pieces(p, &ours, count, a, n, 0) &&
        memcmp(ours.bytes, model.bytes, ours.size) == 0;
    free(a);
    free(b);
    free(ours.bytes);
    free(model.bytes);
    return good;
}

static void test_random(void)
{
    /* Goal: every type has the size, bounds, signature and bytes that its definition says.
     * Method: random trees, each compared with the model; packed and unpacked in random pieces. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    int i, facts = 0, elements = 0, bytes = 0, large = 0;

    engine_begin(&e, &heap, &alloc);
    check(ftm_type_init(&e) == 0, "predefined types");
    for (i = 0; i < TREES; i++) {
        struct pair p = make_tree(&e);

        facts += !same_facts(&p);
        elements += !same_elements(&p);
        bytes += !same_bytes(&p);
        large += p.m.entries > 20;
        pair_end(&e, &p);
    }
    ok(facts == 0, "%d trees: %d with other sizes or bounds", TREES, facts);
    ok(elements == 0, "%d trees: %d with other signatures", TREES, elements);
    ok(bytes == 0, "%d trees: %d with other bytes", TREES, bytes);
    ok(large > TREES / 20, "%d of them have more than 20 basic types", large);
    engine_end(&e);
    ok(heap.blocks == 0 && heap.lies == 0 && e.mem.bytes == 0, "no memory is left");
}

static void test_programs(void)
{
    /* Goal: a type costs by its shape and not by its size. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    struct ftm_type *vector, *grid, *flat;

    engine_begin(&e, &heap, &alloc);
    check(ftm_type_init(&e) == 0, "predefined types");
    check(ftm_type_vector(&e, 1000000, 2, 24, basic(&e, MPI_INT), &vector) == 0, "made");
    ok(vector->pieces == 1 && vector->depth == 1, "a vector of a million blocks is one piece");
    check(ftm_type_vector(&e, 100, 1, 100000000, vector, &grid) == 0, "made");
    ok(grid->pieces == 1 && grid->depth == 2, "a vector of vectors is a loop of a loop");
    check(ftm_type_vector(&e, 1000, 10, 40, basic(&e, MPI_INT), &flat) == 0, "made");
    ok(ftm_type_is_block(flat, 1000) && flat->piece->bytes == 40000, "a vector without gaps is a block");
    ok(!ftm_type_is_block(vector, 1), "one with gaps is not");
    ftm_type_drop(&e, vector);
    ftm_type_drop(&e, grid);
    ftm_type_drop(&e, flat);
    engine_end(&e);
    ok(heap.blocks == 0, "a type that another one uses goes with the last one");
}

/* Nests a vector with gaps until it is refused. Returns the class, and how deep it became. */
static int nest(struct ftm *e, int *depth)
{
    struct ftm_type *t = basic(e, MPI_CHAR), *next;
    int rc = 0;

    t->refs++;
    for (*depth = 0; *depth < 1000 && rc == 0; ++*depth) {
        int64_t at[2] = { 0, ftm_type_extent(t) + 1 }, odd[2] = { 1, 3 };
        struct ftm_blocks b = { 2, NULL, 1, *depth % 2 ? at : odd, NULL, t, 0 };

        rc = draw(2) ? ftm_type_blocks(e, &b, &next) : ftm_type_vector(e, 2, 1, ftm_type_extent(t) + 1, t,
                                                                       &next);
        if (rc == 0 && *depth > 50) {
            ftm_type_drop(e, next);
            rc = ftm_type_vector(e, 1, 3, 0, t, &next);
        }
        if (rc == 0) {
            ftm_type_drop(e, t);
            t = next;
        }
    }
    ftm_type_drop(e, t);
    return rc;
}

static void test_limits(void)
{
    /* Goal: numbers that overflow, and depth without end, are errors. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    struct ftm_type *t, *u;
    int64_t far = (int64_t)1 << 60, at[2] = { 0, INT64_MAX };
    struct ftm_blocks b = { 2, NULL, 1, at, NULL, NULL, 1 };
    int depth, rc, i;

    engine_begin(&e, &heap, &alloc);
    check(ftm_type_init(&e) == 0, "predefined types");
    ok(ftm_type_vector(&e, 5, 1, far, basic(&e, MPI_INT), &t) == MPI_ERR_ARG, "a stride beyond all memory");
    b.type = basic(&e, MPI_INT);
    ok(ftm_type_blocks(&e, &b, &t) == MPI_ERR_ARG, "a displacement beyond all memory");
    ok(ftm_type_resized(&e, b.type, INT64_MIN, 1, &t) == MPI_ERR_ARG, "a bound beyond all memory");
    rc = nest(&e, &depth);
    ok(rc == MPI_ERR_INTERN || rc == MPI_ERR_ARG, "nesting ends at %d", depth);
    check(ftm_type_contiguous(&e, 1, basic(&e, MPI_SHORT_INT), &t) == 0, "made");
    for (i = 0; i < 100000 && ftm_type_resized(&e, t, 0, 8 + i, &u) == 0; i++) {
        ftm_type_drop(&e, t);
        t = u;
    }
    ok(i == 100000 && t->depth == 1, "what adds no loop may be nested without end");
    ftm_type_drop(&e, t);
    engine_end(&e);
    ok(heap.blocks == 0 && heap.lies == 0, "no memory is left");
}

/* Nine characters with gaps and then a type: too many pieces to be copied into the next. */
static int wrap(struct ftm *e, struct ftm_type *t, struct ftm_type **out)
{
    int64_t at[10] = { 0, 3, 5, 9, 14, 18, 25, 33, 41, 50 };
    struct ftm_type *types[10];
    struct ftm_blocks b = { 10, NULL, 1, at, types, NULL, 0 };
    int i;

    for (i = 0; i < 9; i++)
        types[i] = basic(e, MPI_CHAR);
    types[9] = t;
    return ftm_type_blocks(e, &b, out);
}

static void test_depth(void)
{
    /* Goal: what is refused is one loop too many, and what is not can be packed. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    struct ftm_type *t, *next;
    struct ftm_pack k;
    char from[50 * FTM_TYPE_DEPTH + 50] = { 0 }, to[9 * FTM_TYPE_DEPTH + 1];
    int rc = 0;

    engine_begin(&e, &heap, &alloc);
    check(ftm_type_init(&e) == 0, "predefined types");
    t = basic(&e, MPI_CHAR);
    t->refs++;
    for (rc = 0; rc == 0;) {
        rc = wrap(&e, t, &next);
        if (rc == 0) {
            ftm_type_drop(&e, t);
            t = next;
        }
    }
    ok(rc == MPI_ERR_INTERN && t->depth == FTM_TYPE_DEPTH && next == NULL, "depth %d is the last", t->depth);
    from[50 * FTM_TYPE_DEPTH] = 7;
    ftm_pack_start(&k, t, from, 1);
    ok(ftm_pack_out(&k, to, sizeof to) == sizeof to && to[sizeof to - 1] == 7, "and is packed");
    ftm_type_drop(&e, t);
    engine_end(&e);
    ok(heap.blocks == 0 && heap.lies == 0, "no memory is left");
}

static void test_memory(void)
{
    /* Goal: without memory a call fails and leaves nothing. Method: each allocation fails in turn. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    long at, lost = 0, failed = 0;
    int rc = 1;

    for (at = 1; rc != 0 && at < 2000; at++) {
        struct ftm_type *v = NULL, *s = NULL;
        int64_t places[2] = { 0, 32 };
        struct ftm_type *types[2];
        struct ftm_blocks b = { 2, NULL, 1, places, types, NULL, 1 };

        engine_begin(&e, &heap, &alloc);
        heap.fail_at = at;
        rc = ftm_type_init(&e);
        if (rc == 0)
            rc = ftm_type_vector(&e, 3, 2, 7, basic(&e, MPI_DOUBLE_INT), &v);
        if (rc == 0) {
            types[0] = v;
            types[1] = basic(&e, MPI_CHAR);
            rc = ftm_type_blocks(&e, &b, &s);
        }
        failed += rc == MPI_ERR_INTERN;
        ftm_type_drop(&e, v);
        ftm_type_drop(&e, s);
        engine_end(&e);
        lost += heap.blocks != 0 || heap.lies != 0 || e.mem.bytes != 0;
    }
    ok(rc == 0 && failed == at - 2, "each of %ld allocations failed once", failed);
    ok(lost == 0, "and left nothing");
}

/* usage: t_type [bars]: one line more, for `make bars`. */
int main(int argc, char **argv)
{
    test_random();
    test_programs();
    test_limits();
    test_depth();
    test_memory();
    if (argc > 1 && strcmp(argv[1], "bars") == 0)
        printf("bar\tmpi: datatypes beside a model, %d random trees: tests that failed\t%d\t0\t%s\n", TREES,
               test_failures, test_failures == 0 ? "ok" : "short");
    return test_end();
}
