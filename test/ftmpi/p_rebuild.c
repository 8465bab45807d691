/* p_rebuild.c - ranks that die and are started again. usage: p_rebuild WAY RANK...: these die.
 *
 * All count rounds until the 20th; the ranks that are named die in the fourth. WAY: once; again: the process
 * started for one dies in the eighth round, too; early: those started for one all die before MPI_Init;
 * missing: the program removes itself before; wait: rank 0 ends the rounds when it can read a line. Where
 * nobody can be started the others go on without. */
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 20

static const char *way;
static char **victims;

static int is(const char *what)
{
    return strcmp(way, what) == 0;
}

static int life(void)
{
    const char *text = getenv("FTMPI_LIFE");

    return text != NULL ? atoi(text) : 0;
}

static int is_victim(int rank)
{
    char **v;

    for (v = victims; *v != NULL; v++)
        if (atoi(*v) == rank)
            return 1;
    return 0;
}

static void maybe_die(const char *self, int rank, int round)
{
    int wanted = life() == 0 ? 4 : life() == 1 && is("again") ? 8 : 0;

    if (!is_victim(rank) || wanted == 0 || round < wanted) /* a failure may make it skip a round */
        return;
    if (is("missing"))
        remove(self);
    raise(SIGKILL);
}

/* The last round there was, or with `wait` the one before, until there is a line to be read. */
static int count(int rank, int top)
{
    char byte;

    if (!is("wait") || top != ROUNDS - 1)
        return top;
    if (rank == 0 && life() == 0 && read(0, &byte, 1) == 1)
        return top;
    usleep(1000);
    return top - 1;
}

/* The world is whole again, or smaller. 0, or 1: it is neither. */
static int recover(void)
{
    int mode = FTMPI_COMM_MODE_SHRINK, rc, tries;
    MPI_Comm again;

    for (tries = 0; tries < 20; tries++) {
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &again);
        if (rc == MPI_SUCCESS)
            return 0;
        if (rc != MPI_ERR_SPAWN)
            continue;
        printf("nobody comes\n");
        fflush(stdout);
        MPI_Attr_put(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode);
    }
    return 1;
}

int main(int argc, char **argv)
{
    int rank, size, round, top = 0, bad = 0, rc;

    way = argc > 1 ? argv[1] : "once";
    victims = argc > 2 ? argv + 2 : argv + argc;
    if (is("early") && life() > 0)
        return 9;
    rc = MPI_Init(&argc, &argv);
    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rc == MPI_INIT_RESTARTED_NODE)
        printf("rank %d is life %d\n", rank, life());
    fflush(stdout);
    while (top < ROUNDS && !bad) {
        round = count(rank, top) + 1;
        maybe_die(argv[0], rank, round);
        rc = MPI_Allreduce(&round, &top, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (rc == MPI_SUCCESS)
            continue;
        bad = recover();
        top = round - 1;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d ends\n", rank, size);
    fflush(stdout);
    MPI_Finalize();
    return bad;
}
