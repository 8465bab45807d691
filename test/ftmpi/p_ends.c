/* p_ends.c - ends in the way that its arguments say. usage: p_ends WAY [RANK]; others wait in MPI_Barrier. */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void in_the_middle(const char *way)
{
    if (is(way, "kill"))
        raise(SIGKILL);
    if (is(way, "segv"))
        raise(SIGSEGV);
    if (is(way, "exit"))
        exit(3);
    if (is(way, "exit0"))
        _exit(0);
    if (is(way, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (is(way, "abort256"))
        MPI_Abort(MPI_COMM_WORLD, 256);
    if (is(way, "error"))
        MPI_Send(NULL, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *mine = getenv("FTMPI_RANK");
    int it = argc > 2 ? atoi(argv[2]) : 0, rank = mine != NULL ? atoi(mine) : 0, size, word = 0;

    if (is(way, "early") && rank == it)
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is(way, "stdin") && rank == 0 && scanf("%d", &word) == 1)
        printf("read %d\n", word);
    if (rank == it)
        in_the_middle(way);
    if (!is(way, "") && !is(way, "stdin") && !is(way, "late"))
        for (;;)
            MPI_Barrier(MPI_COMM_WORLD);
    printf("%d of %d\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return is(way, "late") && rank == it ? 5 : 0;
}
