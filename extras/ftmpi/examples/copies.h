/* copies.h - a checkpoint in memory for jobs whose size may change: a neighbour keeps a copy. */

/* Over mpi.h alone: copy copies.h and copies.c into a program of yours. The living ranks of a communicator,
 * in their order, are blocks 0, 1, 2, ...; the checkpoint of a block is kept by its rank and by that of the
 * next block (that of the last one by the first). So it outlives any number of ranks of which no two are
 * neighbours.
 *
 *      copies_open(&c);                           once
 *      copies_find(&c, comm, &found);             first of all, and after each recovery of comm
 *      ... if (found): c.blocks blocks were saved, and block b is held by the rank c.holder[b] of comm; that
 *      rank's data is copies_block(&c, b). Deal them out anew. If (!found), begin at the beginning.
 *      copies_save(&c, state, bytes, comm);       now and then; bytes may differ
 *
 * It is for SHRINK and BLANK, and for the modes of REBUILD where nobody minds that a restarted process gets
 * its part from others. Two checkpoints are kept, as in parity.h and for the same reason.
 *
 * copies_save and copies_find are collective and return an MPI error code. After MPI_ERR_OTHER recover the
 * communicator and find. */
#ifndef COPIES_H
#define COPIES_H

#include <mpi.h>
#include <stddef.h>

struct copies_slot {
    long number;     /* of the checkpoint; 0: none, or one that is being written */
    MPI_Group group; /* of those who saved it */
    int blocks, mine;
    int *rank;           /* in that group, of each block */
    unsigned char *data[2]; /* our own block, and the one before it */
    int bytes[2];
};

struct copies {
    struct copies_slot slot[2];
    int good;  /* the slot that is not overwritten next, and in which was found */
    long last; /* the greatest number that anybody began to save */
    int blocks;
    int *holder;
};

void copies_open(struct copies *c);
void copies_close(struct copies *c);
int copies_save(struct copies *c, const void *state, int bytes, MPI_Comm comm);
int copies_find(struct copies *c, MPI_Comm comm, int *found);
const void *copies_block(const struct copies *c, int block, int *bytes); /* NULL: is not here */

/* The ranks of comm that are no gaps, in their order, for which `ranks` has room; returns how many. */
int copies_living(MPI_Comm comm, int *ranks);

#endif
