/* parity.c - a checkpoint in memory that outlives any one rank. See parity.h. */
#include "parity.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int parity_open(struct parity *c, size_t bytes)
{
    size_t words = (bytes + sizeof(unsigned long) - 1) / sizeof(unsigned long);
    int i;

    memset(c, 0, sizeof *c);
    if (words == 0 || words > INT_MAX)
        return -1;
    c->bytes = bytes;
    c->words = (int)words;
    for (i = 0; i < 2; i++)
        c->slot[i].words = calloc(words, sizeof *c->slot[i].words);
    if (c->slot[0].words != NULL && c->slot[1].words != NULL)
        return 0;
    parity_close(c);
    return -1;
}

void parity_close(struct parity *c)
{
    free(c->slot[0].words);
    free(c->slot[1].words);
    memset(c, 0, sizeof *c);
}

/* The exclusive-or of what all others have in `from` goes to the rank `to`, which has nothing of its own. */
static int gather(struct parity *c, struct parity_slot *from, int to, int rank, MPI_Comm comm)
{
    unsigned long *nothing;
    int err;

    if (rank != to)
        return MPI_Reduce(from->words, NULL, c->words, MPI_UNSIGNED_LONG, MPI_BXOR, to, comm);
    nothing = calloc((size_t)c->words, sizeof *nothing);
    if (nothing == NULL)
        return MPI_ERR_INTERN;
    err = MPI_Reduce(nothing, from->words, c->words, MPI_UNSIGNED_LONG, MPI_BXOR, to, comm);
    free(nothing);
    return err;
}

int parity_save(struct parity *c, const void *state, MPI_Comm comm)
{
    struct parity_slot *s = &c->slot[1 - c->good];
    int rank, size, err;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* Whoever comes out of it knows that all have come out of the save before, and hold what it wrote. */
    err = MPI_Barrier(comm);
    if (err != MPI_SUCCESS)
        return err;
    s->number = 0;
    if (rank != size - 1)
        memcpy(s->words, state, c->bytes);
    err = gather(c, s, size - 1, rank, comm);
    if (err != MPI_SUCCESS)
        return err;
    s->number = ++c->last;
    c->good = 1 - c->good;
    return MPI_SUCCESS;
}

static int holds(const long numbers[2], long number)
{
    return numbers[0] == number || numbers[1] == number;
}

/* The newest checkpoint that all hold but the one rank that has none, which is put into *empty (-1: there
 * is no such rank). 0: there is none, or more than one rank has nothing. `numbers` has two of each rank. */
static long newest(const long (*numbers)[2], int size, int *empty, long *last)
{
    int i, k, m, empties = 0;
    long best = 0;

    *empty = -1;
    for (i = 0; i < size; i++) {
        if (numbers[i][0] == 0 && numbers[i][1] == 0) {
            *empty = i;
            empties++;
        }
        for (k = 0; k < 2; k++)
            *last = numbers[i][k] > *last ? numbers[i][k] : *last;
    }
    i = *empty == 0; /* one that has something, if there is any */
    for (k = 0; k < 2 && empties <= 1 && i < size; k++) {
        for (m = 0; m < size && (m == *empty || holds(numbers[m], numbers[i][k])); m++)
            continue;
        if (m == size && numbers[i][k] > best)
            best = numbers[i][k];
    }
    return best;
}

/* *number: what all hold and we are to go back to; *empty: who has lost it. */
static int agree(struct parity *c, MPI_Comm comm, long *number, int *empty)
{
    long mine[2], (*all)[2];
    int size, err;

    MPI_Comm_size(comm, &size);
    all = calloc((size_t)size, sizeof *all);
    if (all == NULL)
        return MPI_ERR_INTERN;
    mine[0] = c->slot[0].number;
    mine[1] = c->slot[1].number;
    err = MPI_Allgather(mine, 2, MPI_LONG, all, 2, MPI_LONG, comm);
    if (err == MPI_SUCCESS)
        *number = newest((const long(*)[2])all, size, empty, &c->last);
    free(all);
    return err;
}

int parity_load(struct parity *c, void *state, MPI_Comm comm, int *found)
{
    int rank, size, empty = -1, err;
    struct parity_slot *s;
    long number = 0;

    *found = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    err = agree(c, comm, &number, &empty);
    if (err != MPI_SUCCESS || number == 0)
        return err;
    s = &c->slot[rank != empty && c->slot[1].number == number];
    if (empty >= 0)
        err = gather(c, s, empty, rank, comm);
    if (err != MPI_SUCCESS)
        return err;
    s->number = number;
    c->good = s == &c->slot[1];
    if (rank != size - 1)
        memcpy(state, s->words, c->bytes);
    *found = 1;
    return MPI_SUCCESS;
}
