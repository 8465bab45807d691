/* coll_gather.c - MPI_Gather, MPI_Scatter, MPI_Allgather and their forms with counts. */

#include "coll.h"

#include <stdint.h>

void *ftm_coll_block(const struct ftm_blocks_of *b, int i)
{
    int rank = b->ranks != NULL ? b->ranks[i] : i;
    int64_t at = b->at != NULL ? b->at[rank] : (int64_t)b->count * rank;

    return (char *)((uintptr_t)b->base + (uintptr_t)(at * ftm_type_extent(b->type)));
}

size_t ftm_coll_block_count(const struct ftm_blocks_of *b, int i)
{
    return b->counts != NULL ? (size_t)b->counts[b->ranks != NULL ? b->ranks[i] : i] : b->count;
}

size_t ftm_coll_block_bytes(const struct ftm_blocks_of *b, int i)
{
    return ftm_coll_block_count(b, i) * (size_t)b->type->size;
}

static void gather_copy(struct ftm_schedule *s, const struct ftm_blocks_of *from, int i,
                        const struct ftm_blocks_of *to, int k)
{
    ftm_schedule_copy(s, ftm_coll_block(from, i), ftm_coll_block_count(from, i), from->type,
                      ftm_coll_block(to, k), ftm_coll_block_count(to, k), to->type);
}

/* ---- To one, from one, each with the root ---------------------------------------------------------- */

static void gather_linear(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                          const struct ftm_blocks_of *out, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int i, peer;

    if (c->rank != root) {
        ftm_schedule_send(s, root, in->base, in->count, in->type);
        return;
    }
    for (i = 1; i < c->size; i++) {
        peer = (root + i) % c->size;
        ftm_schedule_recv(s, peer, ftm_coll_block(out, peer), ftm_coll_block_count(out, peer), out->type);
        if (i % FTM_COLL_WINDOW == 0)
            ftm_schedule_wait(s);
    }
    if (in != NULL)
        gather_copy(s, in, 0, out, root);
}

static void scatter_linear(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                           const struct ftm_blocks_of *out, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int i, peer;

    if (c->rank != root) {
        ftm_schedule_recv(s, root, out->base, out->count, out->type);
        return;
    }
    for (i = 1; i < c->size; i++) {
        peer = (root + i) % c->size;
        ftm_schedule_send(s, peer, ftm_coll_block(in, peer), ftm_coll_block_count(in, peer), in->type);
        if (i % FTM_COLL_WINDOW == 0)
            ftm_schedule_wait(s);
    }
    if (out != NULL)
        gather_copy(s, in, root, out, 0);
}

/* ---- By a tree ------------------------------------------------------------------------------------ */

/* In the flat tree the subtree of the member at a place is the places from there on: so many. */
static size_t gather_subtree(int place, int n)
{
    int bit = 1;

    while (place + bit < n && (place & bit) == 0)
        bit <<= 1;
    return (size_t)(place + bit < n ? bit : n - place);
}

/* What passes through: the blocks of a subtree as bytes, in the order of places. */
struct gather_bundle {
    struct ftm_tree tree;
    struct ftm_type *byte;
    size_t block; /* bytes of each */
    int place, n, root;
    char *bytes;
};

static int gather_open(struct ftm_schedule *s, struct gather_bundle *g, size_t block, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);

    g->n = c->size;
    g->root = root;
    g->place = (c->rank - root + c->size) % c->size;
    g->block = block;
    g->byte = ftm_coll_byte(s);
    ftm_coll_tree(s, &g->tree, root, 0);
    g->bytes = ftm_schedule_bytes(s, block * gather_subtree(g->place, g->n));
    return g->bytes != NULL;
}

static char *gather_child(const struct gather_bundle *g, int i, size_t *size)
{
    int place = (g->tree.child[i] - g->root + g->n) % g->n;

    *size = g->block * gather_subtree(place, g->n);
    return g->bytes + g->block * (size_t)(place - g->place);
}

static void gather_tree(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                        const struct ftm_blocks_of *out, int root)
{
    const struct ftm_blocks_of *own = in != NULL ? in : out;
    struct gather_bundle g;
    size_t size;
    char *at;
    int i, rank;

    if (!gather_open(s, &g, ftm_coll_block_bytes(own, 0), root))
        return;
    ftm_schedule_copy(s, own == in ? in->base : ftm_coll_block(out, root), own->count, own->type, g.bytes,
                      g.block, g.byte);
    for (i = 0; i < g.tree.children; i++) {
        at = gather_child(&g, i, &size);
        ftm_schedule_recv(s, g.tree.child[i], at, size, g.byte);
    }
    ftm_schedule_wait(s);
    if (g.tree.parent >= 0)
        ftm_schedule_send(s, g.tree.parent, g.bytes, g.block * gather_subtree(g.place, g.n), g.byte);
    for (i = own == in ? 0 : 1; g.place == 0 && i < g.n; i++) {
        rank = (root + i) % g.n;
        ftm_schedule_copy(s, g.bytes + g.block * (size_t)i, g.block, g.byte, ftm_coll_block(out, rank),
                          ftm_coll_block_count(out, rank), out->type);
    }
}

static void scatter_tree(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                         const struct ftm_blocks_of *out, int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    struct gather_bundle g;
    size_t size;
    char *at;
    int i, rank;

    if (!gather_open(s, &g, ftm_coll_block_bytes(c->rank == root ? in : out, 0), root))
        return;
    for (i = 0; g.place == 0 && i < g.n; i++) {
        rank = (root + i) % g.n;
        ftm_schedule_copy(s, ftm_coll_block(in, rank), in->count, in->type, g.bytes + g.block * (size_t)i,
                          g.block, g.byte);
    }
    if (g.tree.parent >= 0)
        ftm_schedule_recv(s, g.tree.parent, g.bytes, g.block * gather_subtree(g.place, g.n), g.byte);
    ftm_schedule_wait(s);
    for (i = g.tree.children - 1; i >= 0; i--) {
        at = gather_child(&g, i, &size);
        ftm_schedule_send(s, g.tree.child[i], at, size, g.byte);
    }
    if (out != NULL)
        ftm_schedule_copy(s, g.bytes, g.block, g.byte, out->base, out->count, out->type);
}

/* Members other than the root know the size of their own block only. */
static int gather_is_short(const struct ftm_blocks_of *own)
{
    return !own->varied && ftm_coll_block_bytes(own, 0) < FTM_COLL_GATHER_LONG;
}

void ftm_coll_gather(struct ftm_schedule *s, const struct ftm_blocks_of *in, const struct ftm_blocks_of *out,
                     int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);

    if (c->size > 2 && gather_is_short(c->rank == root ? out : in))
        gather_tree(s, in, out, root);
    else
        gather_linear(s, in, out, root);
}

void ftm_coll_scatter(struct ftm_schedule *s, const struct ftm_blocks_of *in, const struct ftm_blocks_of *out,
                      int root)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);

    if (c->size > 2 && gather_is_short(c->rank == root ? in : out))
        scatter_tree(s, in, out, root);
    else
        scatter_linear(s, in, out, root);
}

/* ---- To all --------------------------------------------------------------------------------------- */

/* Everybody's blocks as bytes: place p is the block of the member p behind this one, at offset[p]. */
struct gather_all {
    const struct ftm_blocks_of *out;
    size_t *offset;
    char *bytes;
    int n, rank;
};

static int allgather_open(struct ftm_schedule *s, struct gather_all *g, const struct ftm_blocks_of *out)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int p;

    g->out = out;
    g->n = c->size;
    g->rank = c->rank;
    g->offset = ftm_schedule_bytes(s, ((size_t)c->size + 1) * sizeof *g->offset);
    if (g->offset == NULL)
        return 0;
    g->offset[0] = 0;
    for (p = 0; p < c->size; p++)
        g->offset[p + 1] = g->offset[p] + ftm_coll_block_bytes(out, (c->rank + p) % c->size);
    g->bytes = ftm_schedule_bytes(s, g->offset[c->size]);
    return g->bytes != NULL;
}

/* Bruck's: each round doubles how many blocks, from its own on, a member has; it gets the next ones from the
 * member that is as many behind it. */
static void allgather_doubling(struct ftm_schedule *s, const struct ftm_blocks_of *out)
{
    struct ftm_type *byte = ftm_coll_byte(s);
    struct gather_all g;
    int have, more, p, rank;

    if (!allgather_open(s, &g, out))
        return;
    ftm_schedule_copy(s, ftm_coll_block(out, g.rank), ftm_coll_block_count(out, g.rank), out->type, g.bytes,
                      g.offset[1], byte);
    for (have = 1; have < g.n; have += more) {
        more = have < g.n - have ? have : g.n - have;
        ftm_schedule_recv(s, (g.rank + have) % g.n, g.bytes + g.offset[have],
                          g.offset[have + more] - g.offset[have], byte);
        ftm_schedule_send(s, (g.rank - have + g.n) % g.n, g.bytes, g.offset[more], byte);
        ftm_schedule_wait(s);
    }
    for (p = 1; p < g.n; p++) {
        rank = (g.rank + p) % g.n;
        ftm_schedule_copy(s, g.bytes + g.offset[p], g.offset[p + 1] - g.offset[p], byte,
                          ftm_coll_block(out, rank), ftm_coll_block_count(out, rank), out->type);
    }
}

void ftm_coll_allgather(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                        const struct ftm_blocks_of *out)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    uint64_t bytes = 0;
    int i;

    if (in != NULL)
        gather_copy(s, in, 0, out, c->rank);
    for (i = 0; i < c->size; i++)
        bytes += ftm_coll_block_bytes(out, i);
    if (c->size == 1 || bytes == 0)
        return;
    if (c->size > 2 && bytes < FTM_COLL_ALLGATHER_LONG)
        allgather_doubling(s, out);
    else
        ftm_coll_ring(s, out);
}
