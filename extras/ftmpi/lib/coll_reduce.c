/* coll_reduce.c - MPI_Reduce and MPI_Allreduce. */

#include "coll.h"

#include <stdint.h>

/* What this member has combined so far, and room for what comes next; they change places where the result is
 * left in the other one's buffer. */
struct reduce_state {
    const struct ftm_reduction *r;
    void *sum, *other;
};

/* sum = sum op other, where `other` comes from higher ranks, or = other op sum. */
static void reduce_higher(struct ftm_schedule *s, struct reduce_state *a)
{
    void *swap = a->sum;

    ftm_schedule_combine(s, a->r->op, a->sum, a->other, a->r->count, a->r->type);
    a->sum = a->other;
    a->other = swap;
}

static void reduce_lower(struct ftm_schedule *s, struct reduce_state *a)
{
    ftm_schedule_combine(s, a->r->op, a->other, a->sum, a->r->count, a->r->type);
}

/* out NULL: this member does not get the result, and takes memory of its own. */
static int reduce_open(struct ftm_schedule *s, struct reduce_state *a, const struct ftm_reduction *r)
{
    a->r = r;
    a->sum = r->out != NULL ? r->out : ftm_schedule_room(s, r->count, r->type);
    a->other = ftm_schedule_room(s, r->count, r->type);
    ftm_schedule_copy(s, r->in, r->count, r->type, a->sum, r->count, r->type);
    return ftm_schedule_error(s) == 0;
}

/* ---- By a tree ------------------------------------------------------------------------------------ */

/* In rank order the tree has root 0 and knows no walls: then each child's subtree is what comes next. */
static void reduce_tree(struct ftm_schedule *s, struct reduce_state *a, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    const struct ftm_reduction *r = a->r;
    int at = r->op->commutes ? root : 0, i;
    struct ftm_tree t;

    ftm_coll_tree(s, &t, at, r->op->commutes);
    for (i = 0; i < t.children; i++) {
        ftm_schedule_recv(s, t.child[i], a->other, r->count, r->type);
        ftm_schedule_wait(s);
        if (r->op->commutes)
            reduce_lower(s, a);
        else
            reduce_higher(s, a);
    }
    if (t.parent >= 0)
        ftm_schedule_send(s, t.parent, a->sum, r->count, r->type);
    else if (at != root)
        ftm_schedule_send(s, root, a->sum, r->count, r->type);
    ftm_schedule_wait(s);
    if (c->rank == root && at != root) {
        ftm_schedule_recv(s, at, r->out, r->count, r->type);
        ftm_schedule_wait(s);
    } else if (c->rank == root) {
        ftm_schedule_copy(s, a->sum, r->count, r->type, r->out, r->count, r->type);
    }
}

/* ---- In a ring ------------------------------------------------------------------------------------ */

static void *reduce_at(const struct ftm_reduction *r, void *base, size_t element)
{
    return (void *)((uintptr_t)base + (uintptr_t)((int64_t)element * ftm_type_extent(r->type)));
}

/* Block b begins at rank b + 1 and is combined on its way round, so that rank b has all of it in the end.
 * Each block is combined by one member after the other, in the same order each time. */
static void reduce_ring(struct ftm_schedule *s, struct reduce_state *a)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    const struct ftm_reduction *r = a->r;
    int n = c->size, k, out, in;
    size_t count;

    for (k = 1; k < n; k++) {
        out = (c->rank - k + n) % n;
        in = (c->rank - k - 1 + n) % n;
        count = ftm_coll_share(r->count, in + 1, n) - ftm_coll_share(r->count, in, n);
        ftm_schedule_recv(s, (c->rank + n - 1) % n, a->other, count, r->type);
        ftm_schedule_send(s, (c->rank + 1) % n, reduce_at(r, a->sum, ftm_coll_share(r->count, out, n)),
                          ftm_coll_share(r->count, out + 1, n) - ftm_coll_share(r->count, out, n), r->type);
        ftm_schedule_wait(s);
        ftm_schedule_combine(s, r->op, a->other, reduce_at(r, a->sum, ftm_coll_share(r->count, in, n)), count,
                             r->type);
    }
}

/* ---- By halves ------------------------------------------------------------------------------------ */

struct reduce_part {
    void *at;
    size_t count;
};

/* Of this buffer the shares from `first` on, so many. */
static struct reduce_part reduce_part(struct ftm_schedule *s, const struct ftm_reduction *r, void *base,
                                      int first, int shares)
{
    int n = ftm_schedule_comm(s)->size;
    size_t from = ftm_coll_share(r->count, first, n);
    size_t end = ftm_coll_share(r->count, first + shares, n);

    return (struct reduce_part){ reduce_at(r, base, from), end - from };
}

/* Two members whose ranks differ in one bit exchange what they have of each other's half, and each goes on
 * with its own half: in the end rank b has all of share b, as after the ring, in log2 n rounds and not n - 1
 * (R. Rabenseifner, Optimization of Collective Reduction Operations, 2004). n is a power of two. */
static void reduce_halving(struct ftm_schedule *s, struct reduce_state *a)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    const struct ftm_reduction *r = a->r;
    struct reduce_part in, own, out;
    int bit, first;

    for (bit = c->size / 2; bit > 0; bit /= 2) {
        first = c->rank & ~(bit - 1);
        in = reduce_part(s, r, a->other, first, bit);
        own = reduce_part(s, r, a->sum, first, bit);
        out = reduce_part(s, r, a->sum, first ^ bit, bit);
        ftm_schedule_recv(s, c->rank ^ bit, in.at, in.count, r->type);
        ftm_schedule_send(s, c->rank ^ bit, out.at, out.count, r->type);
        ftm_schedule_wait(s);
        ftm_schedule_combine(s, r->op, in.at, own.at, own.count, r->type);
    }
}

/* The same way back: each member gets the shares that it gave away. */
static void reduce_spread(struct ftm_schedule *s, struct reduce_state *a)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct reduce_part in, out;
    int bit, first;

    for (bit = 1; bit < c->size; bit *= 2) {
        first = c->rank & ~(bit - 1);
        in = reduce_part(s, a->r, a->sum, first ^ bit, bit);
        out = reduce_part(s, a->r, a->sum, first, bit);
        ftm_schedule_recv(s, c->rank ^ bit, in.at, in.count, a->r->type);
        ftm_schedule_send(s, c->rank ^ bit, out.at, out.count, a->r->type);
        ftm_schedule_wait(s);
    }
}

static int reduce_halves(struct ftm_schedule *s)
{
    int n = ftm_schedule_comm(s)->size;

    return (n & (n - 1)) == 0;
}

static void reduce_scatter(struct ftm_schedule *s, struct reduce_state *a)
{
    if (reduce_halves(s))
        reduce_halving(s, a);
    else
        reduce_ring(s, a);
}

/* The shares of all members as blocks of one buffer. */
static int reduce_blocks(struct ftm_schedule *s, struct ftm_blocks_of *b, const struct reduce_state *a)
{
    int n = ftm_schedule_comm(s)->size, i;
    int *numbers = ftm_schedule_bytes(s, 2 * (size_t)n * sizeof *numbers);

    if (numbers == NULL)
        return 0;
    for (i = 0; i < n; i++) {
        numbers[i] = (int)ftm_coll_share(a->r->count, i, n);
        numbers[n + i] = (int)ftm_coll_share(a->r->count, i + 1, n) - numbers[i];
    }
    b->base = a->sum;
    b->count = 0;
    b->at = numbers;
    b->counts = numbers + n;
    b->ranks = NULL;
    b->type = a->r->type;
    b->varied = 1;
    return 1;
}

static void reduce_gather(struct ftm_schedule *s, struct reduce_state *a, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_blocks_of all, own;

    if (!reduce_blocks(s, &all, a))
        return;
    own.base = ftm_coll_block(&all, c->rank);
    own.count = ftm_coll_block_count(&all, c->rank);
    own.counts = own.at = own.ranks = NULL;
    own.type = a->r->type;
    own.varied = 1;
    ftm_coll_gather(s, c->rank == root ? NULL : &own, &all, root);
}

/* ---- Recursive doubling --------------------------------------------------------------------------- */

/* Of the members beyond a power of two, each gives what it has to its neighbour, which goes on for both. So
 * the one who goes on has the sum of neighbouring ranks, and two that meet have neighbouring sums. */
struct reduce_fold {
    int power, extra; /* members = power + extra */
    int place;        /* among those that go on; -1: not this one */
};

static int fold_rank(const struct reduce_fold *f, int place)
{
    return place < f->extra ? 2 * place + 1 : place + f->extra;
}

static void fold_in(struct ftm_schedule *s, struct reduce_state *a, struct reduce_fold *f)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);

    for (f->power = 1; f->power * 2 <= c->size; f->power *= 2)
        continue;
    f->extra = c->size - f->power;
    f->place = c->rank < 2 * f->extra ? c->rank / 2 : c->rank - f->extra;
    if (c->rank >= 2 * f->extra)
        return;
    if (c->rank % 2 == 0) {
        f->place = -1;
        ftm_schedule_send(s, c->rank + 1, a->sum, a->r->count, a->r->type);
        ftm_schedule_wait(s);
    } else {
        ftm_schedule_recv(s, c->rank - 1, a->other, a->r->count, a->r->type);
        ftm_schedule_wait(s);
        reduce_lower(s, a);
    }
}

static void fold_out(struct ftm_schedule *s, struct reduce_state *a, const struct reduce_fold *f)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);

    if (c->rank >= 2 * f->extra)
        return;
    if (c->rank % 2 == 0)
        ftm_schedule_recv(s, c->rank + 1, a->sum, a->r->count, a->r->type);
    else
        ftm_schedule_send(s, c->rank - 1, a->sum, a->r->count, a->r->type);
    ftm_schedule_wait(s);
}

/* Both of a pair compute lower op higher, so both get the same bits. */
static void allreduce_doubling(struct ftm_schedule *s, struct reduce_state *a)
{
    const struct ftm_reduction *r = a->r;
    struct reduce_fold f;
    int bit, peer;

    fold_in(s, a, &f);
    for (bit = 1; f.place >= 0 && bit < f.power; bit <<= 1) {
        peer = fold_rank(&f, f.place ^ bit);
        ftm_schedule_recv(s, peer, a->other, r->count, r->type);
        ftm_schedule_send(s, peer, a->sum, r->count, r->type);
        ftm_schedule_wait(s);
        if ((f.place & bit) != 0)
            reduce_lower(s, a);
        else
            reduce_higher(s, a);
    }
    fold_out(s, a, &f);
    ftm_schedule_copy(s, a->sum, r->count, r->type, r->out, r->count, r->type);
}

/* ---- Which ---------------------------------------------------------------------------------------- */

/* In a ring and by halves the order of ranks is not kept, and an operation of the program may take a few
 * elements at once. */
static int reduce_is_long(struct ftm_schedule *s, const struct ftm_reduction *r)
{
    size_t n = (size_t)ftm_schedule_comm(s)->size;

    return n > 2 && r->op->basic != 0 && r->count >= n && !ftm_coll_has_walls(s)
           && r->count * (uint64_t)r->type->size >= FTM_COLL_REDUCE_LONG;
}

void ftm_coll_reduce(struct ftm_schedule *s, const struct ftm_reduction *r, int root)
{
    struct reduce_state a;

    if (!reduce_open(s, &a, r))
        return;
    if (reduce_is_long(s, r)) {
        reduce_scatter(s, &a);
        reduce_gather(s, &a, root);
    } else {
        reduce_tree(s, &a, root);
    }
}

void ftm_coll_allreduce(struct ftm_schedule *s, const struct ftm_reduction *r)
{
    struct ftm_blocks_of all;
    struct reduce_state a;

    if (!reduce_open(s, &a, r))
        return;
    if (ftm_coll_has_walls(s)) {
        reduce_tree(s, &a, 0);
        ftm_coll_bcast(s, r->out, r->count, r->type, 0);
    } else if (reduce_is_long(s, r)) {
        reduce_scatter(s, &a);
        if (reduce_halves(s))
            reduce_spread(s, &a);
        else if (reduce_blocks(s, &all, &a))
            ftm_coll_ring(s, &all);
    } else {
        allreduce_doubling(s, &a);
    }
}
