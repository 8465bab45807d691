/* farm.h - master and workers: the task of a worker that dies goes to another one. */

/* Over mpi.h alone: copy farm.h and farm.c into a program of yours. It is for FTMPI_COMM_MODE_BLANK with
 * FTMPI_MSG_MODE_CONT (ftmpirun --ft blank,cont): nothing is ever recovered. Workers look at nothing and
 * are not disturbed by each other's deaths; the master is told once of each, and if the last worker has
 * died, it does the rest by itself. If the master dies, so does the farm. In mode ABORT, and with another
 * MPI, any death ends the job, as ever.
 *
 * All ranks fill in a struct farm and call farm_run; rank 0 of comm is the master. */
#ifndef FARM_H
#define FARM_H

#include <mpi.h>

struct farm {
    int tasks;
    void *common; /* goes from the master to all at first */
    int common_bytes, task_bytes, result_bytes;
    void *ctx;                                               /* for these: */
    void (*make)(void *ctx, int task, void *out);            /* master: what a worker is sent */
    void (*work)(void *ctx, const void *task, void *result); /* worker */
    void (*take)(void *ctx, int task, const void *result);   /* master: once for each task */
    void (*died)(void *ctx, int worker, int task);           /* master: with this task, -1: none; or NULL */
};

/* 0, or an MPI error code. *lost, if not NULL: how many workers died; only the master knows. */
int farm_run(const struct farm *f, MPI_Comm comm, int *lost);

#endif
