/* parity.h - a checkpoint in memory that outlives any one rank: the last rank keeps the parity. */

/* Over mpi.h alone: copy parity.h and parity.c into a program of yours. It is for FTMPI_COMM_MODE_REBUILD,
 * where a rank that died comes back empty under its old number.
 *
 *      int found;
 *      parity_open(&c, bytes);                    once; bytes: the same at all ranks
 *      parity_load(&c, state, comm, &found);      first of all, and after each recovery
 *      ... if (!found), begin at the beginning
 *      parity_save(&c, state, comm);              now and then
 *
 * The last rank holds no state of its own, only the parity, and passes NULL. The exclusive-or over *all*
 * ranks, the last one included, is 0, so whoever is missing, also the last one, is the exclusive-or of all
 * others: exact to the bit, whatever the state is. Two ranks lost at once cannot be worked out: nothing is
 * found then.
 *
 * Each rank keeps two checkpoints, since a rank may die in the middle of a save: the older one is
 * overwritten only when all hold the newer one. A checkpoint has a number that no other one ever had, and
 * what is loaded is the newest that all hold. So it costs 2 x bytes at each rank, and a copy and an
 * MPI_Reduce per save.
 *
 * parity_save and parity_load are collective and return an MPI error code. After MPI_ERR_OTHER recover the
 * communicator and load. */
#ifndef PARITY_H
#define PARITY_H

#include <mpi.h>
#include <stddef.h>

struct parity_slot {
    long number; /* of the checkpoint; 0: none, or one that is being written */
    unsigned long *words;
};

struct parity {
    size_t bytes;
    int words; /* that hold them */
    struct parity_slot slot[2];
    int good;  /* the slot that is not overwritten next */
    long last; /* the greatest number known */
};

int parity_open(struct parity *c, size_t bytes); /* 0; -1: out of memory, or more than fits into a message */
void parity_close(struct parity *c);
int parity_save(struct parity *c, const void *state, MPI_Comm comm);
int parity_load(struct parity *c, void *state, MPI_Comm comm, int *found);

#endif
