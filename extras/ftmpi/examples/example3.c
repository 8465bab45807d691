/* example3.c - on an error a new communicator, and on: the third example of the paper as a whole program. */

/*
 *      ftmpicc -o example3 example3.c
 *      ftmpirun -n 4 --ft rebuild ./example3 2          rank 2 kills itself in the middle; any mode but abort
 *
 * In each step a rank sends the step's number to the next living one and receives it from the one before. It
 * is the tag as well, since in mode cont what was sent before a recovery may still come after it.
 * After a recovery the ranks stand at different steps, so they go on with the greatest, which is also how a
 * process that was started again learns where the others are. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 200

/* The next rank that is no gap: in mode BLANK a send to a gap is an invalid rank. */
static int send_to_next(MPI_Comm com, int step)
{
    int rank, size, rc = MPI_ERR_RANK, i;

    MPI_Comm_rank(com, &rank);
    MPI_Comm_size(com, &size);
    for (i = 1; i <= size && rc == MPI_ERR_RANK; i++)
        rc = MPI_Send(&step, 1, MPI_INT, (rank + i) % size, step, com);
    return rc;
}

static int one_step(MPI_Comm com, int step)
{
    int got = -1, rc = send_to_next(com, step);

    if (rc == MPI_SUCCESS)
        rc = MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, step, com, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && got != step) {
        fprintf(stderr, "step %d, and the one before me is at %d\n", step, got);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return rc;
}

static int recover(MPI_Comm *com)
{
    MPI_Comm newcom;
    int rc;

    do
        rc = MPI_Comm_dup(*com, &newcom); /* collective recovery occurs here */
    while (rc == MPI_ERR_OTHER);
    if (rc != MPI_SUCCESS)
        return rc;
    MPI_Comm_free(com);
    *com = newcom;
    return MPI_SUCCESS;
}

/* From wherever we are to the end. The last call ends alike at all: either all are done or none is. */
static int all_steps(MPI_Comm com, int *step, int victim, int restarted)
{
    MPI_Comm done;
    int mine = *step, rank, rc = MPI_Allreduce(&mine, step, 1, MPI_INT, MPI_MAX, com);

    MPI_Comm_rank(com, &rank);
    while (rc == MPI_SUCCESS && *step < STEPS) {
        if (rank == victim && *step == STEPS / 2 && !restarted)
            raise(SIGKILL);
        rc = one_step(com, *step);
        *step += rc == MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_dup(com, &done);
    if (rc == MPI_SUCCESS)
        MPI_Comm_free(&done);
    return rc;
}

int main(int argc, char **argv)
{
    int rank, size, rc, victim = -1, restarted = 0, recoveries = 0, step = 0;
    MPI_Comm com = MPI_COMM_WORLD;

    rc = MPI_Init(&argc, &argv);
#ifdef FTMPI
    restarted = rc == MPI_INIT_RESTARTED_NODE;
#endif
    if (argc > 1)
        victim = (int)strtol(argv[1], NULL, 10);
    while ((rc = all_steps(com, &step, victim, restarted || recoveries > 0)) == MPI_ERR_OTHER) {
        rc = recover(&com);
        if (rc != MPI_SUCCESS)
            break;
        recoveries++;
    }
    MPI_Comm_rank(com, &rank);
    MPI_Comm_size(com, &size);
    printf("rank %d of %d: %s, %d steps, %d recoveries%s\n", rank, size,
           rc == MPI_SUCCESS ? "done" : "FAILED", step, recoveries, restarted ? ", restarted" : "");
    MPI_Finalize();
    return rc != MPI_SUCCESS;
}
