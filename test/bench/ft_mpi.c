/* ft_mpi.c - the ranks of `make bench ONLY=ft`: who is told of a death, and what it costs if nobody dies. */

/* usage: ft_mpi sleep             all sleep in MPI_Recv; whoever is told calls MPI_Comm_dup
 *        ft_mpi main              says when main() was reached, and ends
 *        ft_mpi reduce MS         microseconds of an MPI_Allreduce of 8 bytes
 *        ft_mpi dup MS            .. of an MPI_Comm_dup, which is an agreement in the modes of --ft
 *        ft_mpi messages COUNT    COUNT small messages from rank 0 to rank 1 in batch(), for callgrind
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64 /* messages that are there before the first is received */

static int rank, size;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? strtol(value, NULL, 10) : 0;
}

static void say(double at, const char *word)
{
    printf("@ %.6f %ld %ld %ld %s 0\n", at, variable("FTMPI_RANK"), variable("FTMPI_LIFE"), (long)getpid(),
           word);
    fflush(stdout);
}

/* Times are taken first and told later, since writing takes time, too. */
static int sleeper(int restarted)
{
    double told, left;
    MPI_Comm whole;
    int nothing, rc;

    if (!restarted) {
        MPI_Barrier(MPI_COMM_WORLD);
        say(now(), "asleep");
        rc = MPI_Recv(&nothing, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        told = now();
        if (rc != MPI_ERR_OTHER)
            return 1;
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &whole);
        left = now();
        say(told, "noticed");
        if (rc != MPI_SUCCESS)
            return 1;
        say(left, "recovered");
    }
    return MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* Batches that double until the time is over; the last one counts. All ranks do what rank 0 says. */
static void measure(const char *what, double seconds)
{
    double began = now(), t, one = 1.0, sum;
    int count, i, go = 1;
    MPI_Comm made;

    for (count = 8; go; count *= 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        t = now();
        for (i = 0; i < count; i++)
            if (what[0] == 'r') {
                MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            } else {
                MPI_Comm_dup(MPI_COMM_WORLD, &made);
                MPI_Comm_free(&made);
            }
        t = now() - t;
        go = now() - began < seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f\n", t / (count / 2) * 1e6);
}

/* What callgrind counts: nothing here waits, since a barrier has seen to it that all is there. */
void batch(int count);
void batch(int count)
{
    int i, data = 0;

    for (i = 0; i < count; i++)
        if (rank == 0)
            MPI_Send(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void messages(int count)
{
    for (; count > 0; count -= BATCH) {
        if (rank == 0)
            batch(BATCH);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            batch(BATCH);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    double began = now();
    int rc, restarted = 0, bad = 0;
    long number = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "main") == 0) {
        printf("@ %.6f 0 0 0 main 0\n", began);
        return 0;
    }
    rc = MPI_Init(&argc, &argv);
#ifdef FTMPI
    restarted = rc == MPI_INIT_RESTARTED_NODE;
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "sleep") == 0)
        bad = sleeper(restarted);
    else if (strcmp(argv[1], "messages") == 0)
        messages((int)number);
    else
        measure(argv[1], (double)number / 1e3);
    MPI_Finalize();
    return bad;
}
