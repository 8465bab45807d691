/* p_deaths.c - ranks that die, and what the others see. usage: p_deaths WAY [RANK...]: these die.
 *
 * Survivors end well and say in one line what they were told: "RANK sees ERROR, failed LIST". */
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

static int dies(int rank, char **victims)
{
    for (; *victims != NULL; victims++)
        if (atoi(*victims) == rank)
            return 1;
    return 0;
}

static void die(const char *way)
{
    if (is(way, "exit"))
        exit(3);
    if (is(way, "exit0"))
        _exit(0);
    if (is(way, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    raise(SIGKILL);
}

/* Everybody in the order that all were told. */
static int tell(int rank, int rc, int want)
{
    int n = 0, i, flag, *list = NULL;
    char line[4096];
    size_t at;

    while (n < want) {
        MPI_Iprobe(rank, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_LIST_NUM_FAILED, &n, &flag);
    }
    MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_LIST_FAILED, &list, &flag);
    at = (size_t)snprintf(line, sizeof line, "%d sees %s, failed", rank,
                          rc == MPI_ERR_OTHER ? "it" : "what?");
    for (i = 0; i < n && at < sizeof line; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, " %d", list[i]);
    puts(line);
    fflush(stdout);
    return n == want && rc == MPI_ERR_OTHER ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "", *mine = getenv("FTMPI_RANK");
    int rank = mine != NULL ? atoi(mine) : 0, rc, bad, mode = FTMPI_COMM_MODE_BLANK;

    if (is(way, "early") && dies(rank, argv + 2))
        die(way);
    MPI_Init(&argc, &argv);
    if (is(way, "attribute"))
        MPI_Attr_put(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode);
    rc = MPI_Barrier(MPI_COMM_WORLD);
    if (dies(rank, argv + 2))
        die(way);
    while (rc == MPI_SUCCESS)
        rc = MPI_Barrier(MPI_COMM_WORLD);
    if (is(way, "nobody"))
        exit(4);
    bad = tell(rank, rc, argc - 2);
    MPI_Finalize();
    return bad;
}
