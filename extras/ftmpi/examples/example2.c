/* example2.c - how often did that rank fail? The second example of the paper as a whole program. */

/*
 *      ftmpicc -o example2 example2.c
 *      ftmpirun -n 4 --ft shrink ./example2 2           rank 2 kills itself
 *
 * Rank 0 sends to all others in turn until one does not answer any more. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 100

static int failed_how_many_times(MPI_Comm com, int rank)
{
    int times = 0;
#ifdef FTMPI
    int num_failed = 0, flag, *failed_ptr;

    MPI_Comm_get_attr(com, FT_MPI_COM_NUM_FAILED, &num_failed, &flag);
    MPI_Comm_get_attr(com, FT_MPI_COM_FAILED, &failed_ptr, &flag);
    if (num_failed > 0)
        times = failed_ptr[rank];
#else
    (void)com;
    (void)rank;
#endif
    return times;
}

/* There and back with each of the others. */
static int round_trip(MPI_Comm com, int size, int number)
{
    int to, answer, rc = MPI_SUCCESS;

    for (to = 1; to < size && rc == MPI_SUCCESS; to++) {
        rc = MPI_Send(&number, 1, MPI_INT, to, 0, com);
        if (rc == MPI_SUCCESS)
            rc = MPI_Recv(&answer, 1, MPI_INT, to, 0, com, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int answer(MPI_Comm com, int dies)
{
    int number, rc = MPI_Recv(&number, 1, MPI_INT, 0, 0, com, MPI_STATUS_IGNORE);

    if (dies && rc == MPI_SUCCESS && number == ROUNDS / 2)
        raise(SIGKILL);
    return rc == MPI_SUCCESS ? MPI_Send(&number, 1, MPI_INT, 0, 0, com) : rc;
}

int main(int argc, char **argv)
{
    int rank, size, i, rc = MPI_SUCCESS, victim = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        victim = (int)strtol(argv[1], NULL, 10);
    for (i = 0; i < ROUNDS && rc == MPI_SUCCESS; i++)
        rc = rank == 0 ? round_trip(MPI_COMM_WORLD, size, i) : answer(MPI_COMM_WORLD, rank == victim);
    for (i = 0; i < size; i++)
        if (failed_how_many_times(MPI_COMM_WORLD, i) > 0)
            printf("rank %d: rank %d failed %d times\n", rank, i, failed_how_many_times(MPI_COMM_WORLD, i));
    if (rc == MPI_SUCCESS)
        printf("rank %d: nobody failed\n", rank);
    MPI_Finalize();
    return 0;
}
