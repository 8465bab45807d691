/* p_ulfm.c - a sum that loses ranks again and again: whoever notices revokes, all shrink and agree, also
   without blocking (promise 89), and go on. */
#include <mpi-ext.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 60

static MPI_Comm comm;
static int rank, size;

/* All who live come here, each after an error of its own, and leave it with one of the living. */
static void repair(void)
{
    MPI_Comm now;

    MPIX_Comm_revoke(comm);
    if (MPIX_Comm_shrink(comm, &now) != MPI_SUCCESS)
        printf("rank %d: cannot shrink\n", rank);
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
    comm = now;
}

/* 1: all have the sum, and know that all have it. */
static int one_round(int round, int *sum)
{
    int mine = round, good = MPI_Allreduce(&mine, sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;

    if (MPIX_Comm_agree(comm, &good) != MPI_SUCCESS)
        good = 0;
    return good;
}

static void sums(void)
{
    int round, sum, now, wrong = 0, repairs = 0;

    for (round = 0; round < ROUNDS;) {
        if (rank > 1 && round == 10 * rank)
            raise(SIGKILL);
        if (!one_round(round, &sum)) {
            repair();
            repairs++;
            continue;
        }
        MPI_Comm_size(comm, &now);
        wrong += sum != now * round;
        round++;
    }
    MPI_Comm_size(comm, &now);
    printf("%d of %d, %d wrong, %s\n", now, size, wrong, repairs >= 1 ? "repaired" : "never repaired");
}

/* Rank 0 waits for anybody; the last one dies. */
static void anybody(void)
{
    MPI_Request r, shrink = MPI_REQUEST_NULL;
    int word = 0, rc, n = 0, flag = 0;
    MPI_Comm now = MPI_COMM_NULL;
    MPI_Status st;
    MPI_Group g;

    if (rank == size - 1)
        raise(SIGKILL);
    if (rank == 0) {
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &r);
        rc = MPI_Wait(&r, &st);
        MPIX_Comm_get_failed(comm, &g);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
        printf("%s, %d failed\n", rc == MPIX_ERR_PROC_FAILED_PENDING ? "pending" : "not pending", n);
        MPIX_Comm_failure_ack(comm);
        MPI_Send(&n, 1, MPI_INT, 1, 4, comm);
        rc = MPI_Wait(&r, &st);
        printf("%s %d\n", rc == MPI_SUCCESS ? "then" : "but no", word);
    } else if (rank == 1) {
        MPI_Recv(&word, 1, MPI_INT, 0, 4, comm, &st);
        word = 42;
        MPI_Send(&word, 1, MPI_INT, 0, 3, comm);
    }
    MPIX_Comm_ishrink(comm, &now, &shrink);
    while (!flag)
        MPI_Test(&shrink, &flag, &st);
    MPI_Comm_size(now, &n);
    printf("shrunk to %d\n", n);
    MPI_Comm_free(&now);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (argc > 1 && strcmp(argv[1], "anybody") == 0)
        anybody();
    else
        sums();
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
