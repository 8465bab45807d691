/* coll_bcast.c - MPI_Barrier and MPI_Bcast. */

#include "coll.h"

#include <stdint.h>

/* Up the tree and down again, without data. */
static void barrier_tree(struct ftm_schedule *s)
{
    struct ftm_type *byte = ftm_coll_byte(s);
    struct ftm_tree t;
    int i;

    ftm_coll_tree(s, &t, 0, 1);
    for (i = 0; i < t.children; i++)
        ftm_schedule_recv(s, t.child[i], NULL, 0, byte);
    ftm_schedule_wait(s);
    if (t.parent >= 0) {
        ftm_schedule_recv(s, t.parent, NULL, 0, byte);
        ftm_schedule_send(s, t.parent, NULL, 0, byte);
        ftm_schedule_wait(s);
    }
    for (i = t.children - 1; i >= 0; i--)
        ftm_schedule_send(s, t.child[i], NULL, 0, byte);
}

/* After k rounds this member has heard, by way of others, of the 2^k before it. */
static void barrier_dissemination(struct ftm_schedule *s)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_type *byte = ftm_coll_byte(s);
    int n = c->size, distance;

    for (distance = 1; distance < n; distance *= 2) {
        ftm_schedule_recv(s, (c->rank - distance + n) % n, NULL, 0, byte);
        ftm_schedule_send(s, (c->rank + distance) % n, NULL, 0, byte);
        ftm_schedule_wait(s);
    }
}

void ftm_coll_barrier(struct ftm_schedule *s)
{
    if (ftm_coll_has_walls(s))
        barrier_tree(s);
    else
        barrier_dissemination(s);
}

static void bcast_tree(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *type, int root)
{
    struct ftm_tree t;
    int i;

    ftm_coll_tree(s, &t, root, 1);
    if (t.parent >= 0) {
        ftm_schedule_recv(s, t.parent, buf, count, type);
        ftm_schedule_wait(s);
    }
    for (i = t.children - 1; i >= 0; i--)
        ftm_schedule_send(s, t.child[i], buf, count, type);
}

size_t ftm_coll_share(size_t count, int i, int n)
{
    return count / (size_t)n * (size_t)i + count % (size_t)n * (size_t)i / (size_t)n;
}

/* In round k each member passes on the block that it got in round k - 1. */
void ftm_coll_ring(struct ftm_schedule *s, const struct ftm_blocks_of *b)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int n = c->size, k, out, in;

    for (k = 0; k < n - 1; k++) {
        out = (c->rank - k + n) % n;
        in = (c->rank - k - 1 + n) % n;
        ftm_schedule_recv(s, (c->rank + n - 1) % n, ftm_coll_block(b, in), ftm_coll_block_count(b, in),
                          b->type);
        ftm_schedule_send(s, (c->rank + 1) % n, ftm_coll_block(b, out), ftm_coll_block_count(b, out),
                          b->type);
        ftm_schedule_wait(s);
    }
}

/* The root deals out n blocks, block i to root + i, and then they go round. In bytes, since members may
 * have laid out the same data in different ways. */
static void bcast_blocks(struct ftm_schedule *s, char *bytes, size_t size, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct ftm_type *byte = ftm_coll_byte(s);
    int n = c->size, me = (c->rank - root + n) % n, k, i, out, in;

#define AT(i) ftm_coll_share(size, (i), n)
    if (me != 0)
        ftm_schedule_recv(s, root, bytes + AT(me), AT(me + 1) - AT(me), byte);
    for (i = 1; me == 0 && i < n; i++)
        ftm_schedule_send(s, (root + i) % n, bytes + AT(i), AT(i + 1) - AT(i), byte);
    ftm_schedule_wait(s);
    for (k = 0; k < n - 1; k++) {
        out = (me - k + n) % n;
        in = (me - k - 1 + n) % n;
        if (me != 0) /* the root has all of it, and sends nobody what comes back to it */
            ftm_schedule_recv(s, (c->rank + n - 1) % n, bytes + AT(in), AT(in + 1) - AT(in), byte);
        if (me != n - 1)
            ftm_schedule_send(s, (c->rank + 1) % n, bytes + AT(out), AT(out + 1) - AT(out), byte);
        ftm_schedule_wait(s);
    }
#undef AT
}

static void bcast_long(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *type, int root)
{
    struct ftm_type *byte = ftm_coll_byte(s);
    size_t size = count * (size_t)type->size;
    char *bytes;

    if (ftm_type_is_block(type, count)) {
        bcast_blocks(s, (char *)buf + type->true_lb, size, root);
        return;
    }
    bytes = ftm_schedule_bytes(s, size);
    if (bytes == NULL)
        return;
    if (ftm_schedule_comm(s)->rank == root)
        ftm_schedule_copy(s, buf, count, type, bytes, size, byte);
    bcast_blocks(s, bytes, size, root);
    if (ftm_schedule_comm(s)->rank != root)
        ftm_schedule_copy(s, bytes, size, byte, buf, count, type);
}

void ftm_coll_bcast_direct(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *type, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int i;

    ftm_schedule_goes_on(s);
    if (c->rank != root)
        ftm_schedule_recv(s, root, buf, count, type);
    for (i = 1; c->rank == root && i < c->size; i++)
        ftm_schedule_send(s, (root + i) % c->size, buf, count, type);
}

void ftm_coll_bcast(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *t, int root)
{
    int n = ftm_schedule_comm(s)->size;

    if (n < 2)
        return;
    if (n > 2 && count * (uint64_t)t->size >= FTM_COLL_BCAST_LONG && !ftm_coll_has_walls(s))
        bcast_long(s, buf, count, t, root);
    else
        bcast_tree(s, buf, count, t, root);
}
