/* example1.c - in which order did ranks fail? The first example of the paper as a whole program. */

/*
 *      ftmpicc -o example1 example1.c
 *      ftmpirun -n 5 --ft blank ./example1 3 1          ranks 3 and 1 kill themselves, in this order
 *
 * The launcher orders failures, so all survivors print the same list. The two counts of failures are int in
 * an attribute's place: MPI_Comm_get_attr writes an int for them, and needs one. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* How many failures are known here, and their ranks in *list. */
static int failures(MPI_Comm comm, int **list)
{
    int num_failed = 0;
#ifdef FTMPI
    int flag;

    MPI_Comm_get_attr(comm, FT_MPI_LIST_NUM_FAILED, &num_failed, &flag);
    MPI_Comm_get_attr(comm, FT_MPI_LIST_FAILED, list, &flag);
#else
    (void)comm;
    *list = NULL;
#endif
    return num_failed;
}

int main(int argc, char **argv)
{
    int rank, i, known = 0, victims, *failed_ptr = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    victims = argc - 1;
    while (known < victims) {
        if (rank == (int)strtol(argv[1 + known], NULL, 10))
            raise(SIGKILL); /* it is our turn: those before us are gone */
        if (MPI_Barrier(MPI_COMM_WORLD) == MPI_ERR_OTHER)
            known = failures(MPI_COMM_WORLD, &failed_ptr);
    }
    for (i = 0; i < known; i++)
        printf("rank %d: failure %d was rank %d\n", rank, i + 1, failed_ptr[i]);
    if (victims == 0)
        printf("rank %d: nobody failed\n", rank);
    MPI_Finalize();
    return 0;
}
