/* coll_scan.c - MPI_Scan, MPI_Exscan and MPI_Reduce_scatter. */

#include "coll.h"

#include <stdint.h>

/* ---- Scan ----------------------------------------------------------------------------------------- */

/* `part` is the sum of the members met so far, which are neighbours of each other; `sum` that of those below
 * and, if it is not exclusive, of this one. */
struct scan_state {
    const struct ftm_reduction *r;
    void *part, *other, *sum;
    int has; /* there is something in sum */
};

static int scan_open(struct ftm_schedule *s, struct scan_state *a, const struct ftm_reduction *r,
                     int exclusive)
{
    a->r = r;
    a->part = ftm_schedule_room(s, r->count, r->type);
    a->other = ftm_schedule_room(s, r->count, r->type);
    a->sum = r->out;
    a->has = !exclusive;
    ftm_schedule_copy(s, r->in, r->count, r->type, a->part, r->count, r->type);
    if (!exclusive)
        ftm_schedule_copy(s, r->in, r->count, r->type, a->sum, r->count, r->type);
    return ftm_schedule_error(s) == 0;
}

/* `other` is the sum of the peers's neighbours, all of them below or all of them above this one's. */
static void scan_meet(struct ftm_schedule *s, struct scan_state *a, int below)
{
    const struct ftm_reduction *r = a->r;
    void *swap = a->part;

    if (!below) {
        ftm_schedule_combine(s, r->op, a->part, a->other, r->count, r->type);
        a->part = a->other;
        a->other = swap;
        return;
    }
    if (a->has)
        ftm_schedule_combine(s, r->op, a->other, a->sum, r->count, r->type);
    else
        ftm_schedule_copy(s, a->other, r->count, r->type, a->sum, r->count, r->type);
    a->has = 1;
    ftm_schedule_combine(s, r->op, a->other, a->part, r->count, r->type);
}

/* exclusive: of the members below only, so that the first one's buffer stays as it is. */
void ftm_coll_scan(struct ftm_schedule *s, const struct ftm_reduction *r, int exclusive)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct scan_state a;
    int bit, peer;

    if (!scan_open(s, &a, r, exclusive))
        return;
    for (bit = 1; bit < c->size; bit <<= 1) {
        peer = c->rank ^ bit;
        if (peer >= c->size)
            continue;
        ftm_schedule_recv(s, peer, a.other, r->count, r->type);
        ftm_schedule_send(s, peer, a.part, r->count, r->type);
        ftm_schedule_wait(s);
        scan_meet(s, &a, peer < c->rank);
    }
}

/* ---- Reduce and scatter ---------------------------------------------------------------------------- */

static const void *scan_at(const struct ftm_reduction *r, size_t element)
{
    return (const void *)((uintptr_t)r->in + (uintptr_t)((int64_t)element * ftm_type_extent(r->type)));
}

static size_t scan_before(const int *counts, int rank)
{
    size_t sum = 0;

    while (rank-- > 0)
        sum += (size_t)counts[rank];
    return sum;
}

/* All of it to everybody, for little data. */
static void reduce_scatter_short(struct ftm_schedule *s, const struct ftm_reduction *r, const int *counts)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_reduction all = *r;
    size_t mine = (size_t)counts[c->rank];
    const void *from;

    all.out = ftm_schedule_room(s, r->count, r->type);
    if (all.out == NULL)
        return;
    ftm_coll_allreduce(s, &all);
    all.in = all.out;
    from = scan_at(&all, scan_before(counts, c->rank));
    ftm_schedule_copy(s, from, mine, r->type, r->out, mine, r->type);
}

/* Each member gets its block from each other one and adds it to its own, one at a time. Nothing is written
 * to r->out before all has been sent: it may be where the blocks are. */
static void reduce_scatter_pairwise(struct ftm_schedule *s, const struct ftm_reduction *r, const int *counts)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    size_t mine = (size_t)counts[c->rank];
    void *sum = ftm_schedule_room(s, mine, r->type), *other = ftm_schedule_room(s, mine, r->type);
    int i, to;

    if (sum == NULL || other == NULL)
        return;
    ftm_schedule_copy(s, scan_at(r, scan_before(counts, c->rank)), mine, r->type, sum, mine, r->type);
    for (i = 1; i < c->size; i++) {
        to = (c->rank + i) % c->size;
        ftm_schedule_recv(s, (c->rank - i + c->size) % c->size, other, mine, r->type);
        ftm_schedule_send(s, to, scan_at(r, scan_before(counts, to)), (size_t)counts[to], r->type);
        ftm_schedule_wait(s);
        ftm_schedule_combine(s, r->op, other, sum, mine, r->type);
    }
    ftm_schedule_copy(s, sum, mine, r->type, r->out, mine, r->type);
}

/* In rank order all blocks must be there first. */
static void reduce_scatter_ordered(struct ftm_schedule *s, const struct ftm_reduction *r, const int *counts)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    size_t mine = (size_t)counts[c->rank], before = 0;
    void **block = ftm_schedule_bytes(s, (size_t)c->size * sizeof *block);
    int i;

    for (i = 0; i < c->size && block != NULL; i++) {
        block[i] = ftm_schedule_room(s, mine, r->type);
        if (i != c->rank)
            ftm_schedule_recv(s, i, block[i], mine, r->type);
    }
    if (ftm_schedule_error(s) != 0)
        return;
    for (i = 0; i < c->size; before += (size_t)counts[i++])
        if (i != c->rank)
            ftm_schedule_send(s, i, scan_at(r, before), (size_t)counts[i], r->type);
        else
            ftm_schedule_copy(s, scan_at(r, before), mine, r->type, block[i], mine, r->type);
    ftm_schedule_wait(s);
    for (i = 1; i < c->size; i++)
        ftm_schedule_combine(s, r->op, block[i - 1], block[i], mine, r->type);
    ftm_schedule_copy(s, block[c->size - 1], mine, r->type, r->out, mine, r->type);
}

void ftm_coll_reduce_scatter(struct ftm_schedule *s, const struct ftm_reduction *r, const int *counts)
{
    if (r->count * (uint64_t)r->type->size < FTM_COLL_SCATTER_LONG)
        reduce_scatter_short(s, r, counts);
    else if (r->op->commutes)
        reduce_scatter_pairwise(s, r, counts);
    else
        reduce_scatter_ordered(s, r, counts);
}
