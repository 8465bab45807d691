/* coll.h - collective operations: what each adds to a schedule, and blocking calls for the library itself. */
#ifndef FTM_COLL_H
#define FTM_COLL_H

#include "schedule.h"

/* Buffers are the program's own. In place: `in` (of a scatter: `out`) is NULL, of a reduction in equals out.
 * A block has the same size in bytes at both of its ends, since its signatures are the same. */

/* Below these many bytes the number of messages decides, above it their size. */
enum ftm_coll_limits {
    FTM_COLL_BCAST_LONG = 1024 * 1024,  /* scatter and ring: of 512 KiB a tree takes half as long, 4 ranks */
    FTM_COLL_REDUCE_LONG = 64 * 1024,   /* reduce and scatter, then gather */
    FTM_COLL_GATHER_LONG = 4096,        /* of one block: everybody to the root, nobody in between */
    FTM_COLL_ALLGATHER_LONG = 32 * 1024, /* of all blocks: ring */
    FTM_COLL_ALLTOALL_SHORT = 256,      /* of one block: Bruck */
    FTM_COLL_SCATTER_LONG = 16 * 1024,  /* of all blocks of a reduce-scatter: pairwise */
    FTM_COLL_WINDOW = 16                /* messages in each direction under way at once */
};

/* One side of a gather, scatter or alltoall: block i begins at base + at[i] * extent, or base + i * count *
 * extent where at is NULL, and has counts[i] elements, or count. Where a communicator has gaps ranks[i] takes
 * the place of i there, since the schedule counts its members without them. */
struct ftm_blocks_of {
    char *base;
    size_t count;
    const int *counts, *at, *ranks;
    struct ftm_type *type;
    int varied; /* blocks of different members may differ in size; the same at all members */
};
void *ftm_coll_block(const struct ftm_blocks_of *b, int i);
size_t ftm_coll_block_count(const struct ftm_blocks_of *b, int i);
size_t ftm_coll_block_bytes(const struct ftm_blocks_of *b, int i);

/* A reduction. */
struct ftm_reduction {
    const struct ftm_op *op;
    struct ftm_type *type;
    size_t count;
    const void *in;
    void *out;
};

/* ---- coll_tree.c ---- */

/* This member's place in a tree over all members. Its children stand with the nearest first: of the same
 * host, then of the same site, then of other sites. */
#define FTM_TREE_MOST 80
struct ftm_tree {
    int parent; /* -1: the root */
    int children;
    int child[FTM_TREE_MOST];
};

/* walls 1: a tree in which the hosts and the sites are crossed as rarely as can be; where there is only one,
 * and with walls 0, a binomial one in which the subtree of root + i has only higher members, in order. */
void ftm_coll_tree(struct ftm_schedule *s, struct ftm_tree *t, int root, int walls);

/* 1: members live on several hosts that have several of them, or on several sites. */
int ftm_coll_has_walls(struct ftm_schedule *s);
void ftm_coll_forget(struct ftm *e, struct ftm_comm *comm);

struct ftm_type *ftm_coll_byte(struct ftm_schedule *s);

/* ---- coll_bcast.c ---- */

void ftm_coll_barrier(struct ftm_schedule *s);
void ftm_coll_bcast(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *t, int root);
/* The same where the living go on when others fail: nobody stands between the root and a receiver, so that
 * the death of one receiver does not keep the data from the others. */
void ftm_coll_bcast_direct(struct ftm_schedule *s, void *buf, size_t count, struct ftm_type *type, int root);
/* Blocks as even as can be: the first element of block i of n. */
size_t ftm_coll_share(size_t count, int i, int n);
/* The blocks that members hold go round until everybody has all. */
void ftm_coll_ring(struct ftm_schedule *s, const struct ftm_blocks_of *b);

/* ---- coll_gather.c ---- */

void ftm_coll_gather(struct ftm_schedule *s, const struct ftm_blocks_of *in, const struct ftm_blocks_of *out,
                     int root);
void ftm_coll_scatter(struct ftm_schedule *s, const struct ftm_blocks_of *in, const struct ftm_blocks_of *out,
                      int root);
void ftm_coll_allgather(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                        const struct ftm_blocks_of *out);

/* ---- coll_alltoall.c ---- */

void ftm_coll_alltoall(struct ftm_schedule *s, const struct ftm_blocks_of *in,
                       const struct ftm_blocks_of *out);

/* ---- coll_reduce.c ---- */

void ftm_coll_reduce(struct ftm_schedule *s, const struct ftm_reduction *r, int root);
void ftm_coll_allreduce(struct ftm_schedule *s, const struct ftm_reduction *r);

/* ---- coll_scan.c ---- */

void ftm_coll_reduce_scatter(struct ftm_schedule *s, const struct ftm_reduction *r, const int *counts);
void ftm_coll_scan(struct ftm_schedule *s, const struct ftm_reduction *r, int exclusive);

/* ---- mpi_coll.c ---- */

/* Blocking, without an error handler: all gets bytes from each member, in the order of ranks. */
int ftm_coll_allgather_bytes(struct ftm *e, struct ftm_comm *comm, const void *mine, size_t bytes, void *all);
int ftm_coll_bcast_bytes(struct ftm *e, struct ftm_comm *comm, void *data, size_t bytes, int root);

#endif
