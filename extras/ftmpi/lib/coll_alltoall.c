/* coll_alltoall.c - MPI_Alltoall and MPI_Alltoallv. */

#include "coll.h"

/* Everything at once, a window's worth of messages at a time, each member beginning with another. */
static void alltoall_direct(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                            const struct ftm_blocks_of *out)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int n = c->size, i, to, from;

    ftm_schedule_copy(s, ftm_coll_block(in, c->rank), ftm_coll_block_count(in, c->rank), in->type,
                      ftm_coll_block(out, c->rank), ftm_coll_block_count(out, c->rank), out->type);
    for (i = 1; i < n; i++) {
        to = (c->rank + i) % n;
        from = (c->rank - i + n) % n;
        ftm_schedule_recv(s, from, ftm_coll_block(out, from), ftm_coll_block_count(out, from), out->type);
        ftm_schedule_send(s, to, ftm_coll_block(in, to), ftm_coll_block_count(in, to), in->type);
        if (i % FTM_COLL_WINDOW == 0)
            ftm_schedule_wait(s);
    }
}

/* In place a block goes and another comes with the same member and the same size, so it is enough to keep
 * one aside at a time: pairwise. */
static void alltoall_in_place(struct ftm_schedule *s, const struct ftm_blocks_of *out)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_type *byte = ftm_coll_byte(s);
    size_t most = 0, size;
    char *aside;
    int i, peer;

    for (i = 0; i < c->size; i++)
        if (ftm_coll_block_bytes(out, i) > most)
            most = ftm_coll_block_bytes(out, i);
    aside = ftm_schedule_bytes(s, most);
    for (i = 0; i < c->size && aside != NULL; i++) {
        peer = (i - c->rank + c->size) % c->size; /* each is the other's peer in round i */
        if (peer == c->rank)
            continue;
        size = ftm_coll_block_bytes(out, peer);
        ftm_schedule_copy(s, ftm_coll_block(out, peer), ftm_coll_block_count(out, peer), out->type, aside,
                          size, byte);
        ftm_schedule_recv(s, peer, ftm_coll_block(out, peer), ftm_coll_block_count(out, peer), out->type);
        ftm_schedule_send(s, peer, aside, size, byte);
        ftm_schedule_wait(s);
    }
}

/* Bruck's, for small blocks: block p at first is the one for the member p behind this one. In the round of
 * each bit, all blocks whose place has that bit move on by so many members, in one message; so each has
 * moved by its place in the end, and came from the member as many before. */
static void alltoall_bruck(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                           const struct ftm_blocks_of *out)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_type *byte = ftm_coll_byte(s);
    int n = c->size, p, bit;
    size_t block = ftm_coll_block_bytes(in, 0), count;
    char *all = ftm_schedule_bytes(s, block * (size_t)n);
    char *go = ftm_schedule_bytes(s, block * (size_t)n), *come = ftm_schedule_bytes(s, block * (size_t)n);

    if (all == NULL || go == NULL || come == NULL)
        return;
    for (p = 0; p < n; p++)
        ftm_schedule_copy(s, ftm_coll_block(in, (c->rank + p) % n), in->count, in->type,
                          all + block * (size_t)p, block, byte);
    for (bit = 1; bit < n; bit <<= 1) {
        for (p = bit, count = 0; p < n; p++)
            if ((p & bit) != 0)
                ftm_schedule_copy(s, all + block * (size_t)p, block, byte, go + block * count++, block, byte);
        ftm_schedule_recv(s, (c->rank - bit + n) % n, come, block * count, byte);
        ftm_schedule_send(s, (c->rank + bit) % n, go, block * count, byte);
        ftm_schedule_wait(s);
        for (p = bit, count = 0; p < n; p++)
            if ((p & bit) != 0)
                ftm_schedule_copy(s, come + block * count++, block, byte, all + block * (size_t)p, block,
                                  byte);
    }
    for (p = 0; p < n; p++)
        ftm_schedule_copy(s, all + block * (size_t)p, block, byte, ftm_coll_block(out, (c->rank - p + n) % n),
                          out->count, out->type);
}

void ftm_coll_alltoall(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                       const struct ftm_blocks_of *out)
{
    int n = ftm_schedule_comm(s)->size;

    if (in == NULL)
        alltoall_in_place(s, out);
    else if (n > 4 && !in->varied && ftm_coll_block_bytes(in, 0) <= FTM_COLL_ALLTOALL_SHORT)
        alltoall_bruck(s, in, out);
    else
        alltoall_direct(s, in, out);
}
