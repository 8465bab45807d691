/* p_mended.c - recovery where two rare things meet: run by mended.sh, a case by its name. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi-ext.h>

static int rank, size, restarted, bad;

static void expect(int good, const char *what)
{
    if (!good) {
        printf("seat %s: not so: %s\n", getenv("FTMPI_RANK"), what);
        bad++;
    }
}

/* `victim` dies; the others call until they are told. */
static void lose(MPI_Comm comm, int victim)
{
    int i, rc = MPI_SUCCESS;

    if (rank == victim)
        raise(SIGKILL);
    for (i = 0; i < 100000 && rc == MPI_SUCCESS; i++)
        rc = MPI_Barrier(comm);
    expect(rc == MPI_ERR_OTHER, "a barrier with the dead is MPI_ERR_OTHER");
}

static int recover(MPI_Comm comm, MPI_Comm *now)
{
    int i, rc = MPI_ERR_OTHER;

    for (i = 0; i < 100 && rc == MPI_ERR_OTHER; i++)
        rc = MPI_Comm_dup(comm, now);
    return rc;
}

static int mode_of_world(int mode)
{
    return MPI_Comm_set_attr(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode);
}

/* In vain three times, and each time it is the same life that cannot be started. */
static void case_spawn(char **argv)
{
    MPI_Comm now;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        unlink(argv[0]);
    lose(MPI_COMM_WORLD, 1);
    for (i = 0; i < 3; i++)
        expect(recover(MPI_COMM_WORLD, &now) == MPI_ERR_SPAWN, "nobody can be started");
    mode_of_world(FTMPI_COMM_MODE_SHRINK);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "it shrinks instead");
}

/* The other leader has gone to recover. If the death comes before, the case only shows less. */
static void case_leader(char **argv)
{
    MPI_Comm now, inter;
    int rc;

    (void)argv;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3)
        usleep(100000);
    if (rank == 0) {
        rc = MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 2, 9, &inter);
        expect(rc == MPI_ERR_OTHER, "who waits for the other leader is told");
    } else {
        lose(MPI_COMM_WORLD, 3);
    }
    expect(MPI_Comm_dup(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "all recover");
    expect(MPI_Barrier(now) == MPI_SUCCESS, "and go on");
}

/* A process that was started again has others places for the processes than the others have. */
static void case_inter(char **argv)
{
    MPI_Comm now, half, inter, whole;
    int got = -1, peer = (rank + 2) % 4, rc, place = -1;

    if (!restarted) {
        lose(MPI_COMM_WORLD, atoi(argv[2]));
        expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world is rebuilt");
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    expect(rc == MPI_SUCCESS, "two halves are joined");
    rc = MPI_Sendrecv(&rank, 1, MPI_INT, rank % 2, 3, &got, 1, MPI_INT, rank % 2, 3, inter,
                      MPI_STATUS_IGNORE);
    expect(rc == MPI_SUCCESS && got == peer, "who is called is who answers");
    expect(MPI_Intercomm_merge(inter, 0, &whole) == MPI_SUCCESS, "the halves become one");
    MPI_Comm_rank(whole, &place);
    expect(place == rank, "with all in their order");
}

static void case_persistent(char **argv)
{
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Comm now;
    int x = 7;

    (void)argv;
    MPI_Send_init(&x, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, &q);
    lose(MPI_COMM_WORLD, 1);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world shrinks");
    expect(MPI_Start(&q) == MPI_ERR_RANK, "there is no such rank any more");
}

/* A request that a failure has ended, and that was not waited for, is of the new world as well. */
static void case_ended(char **argv)
{
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Comm now;
    int x = rank;

    (void)argv;
    if (rank == 2)
        MPI_Recv_init(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &q);
    if (rank == 0)
        MPI_Send_init(&x, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, &q);
    if (rank == 2)
        MPI_Start(&q);
    MPI_Barrier(MPI_COMM_WORLD);
    lose(MPI_COMM_WORLD, 1);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world gets a gap");
    if (rank == 2)
        expect(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_ERR_OTHER, "it was ended by the failure");
    if (q != MPI_REQUEST_NULL) {
        expect(MPI_Start(&q) == MPI_SUCCESS, "it starts again");
        expect(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS && x == 0, "and works");
    }
}

/* A duplicate made after the gap was there does not know who stood in it. */
static void case_gaps(char **argv)
{
    int mode = FTMPI_COMM_MODE_REBUILD;
    MPI_Comm now, dup;

    (void)argv;
    lose(MPI_COMM_WORLD, 1);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world gets a gap");
    expect(MPI_Comm_dup(now, &dup) == MPI_SUCCESS, "it is duplicated");
    MPI_Comm_set_attr(dup, FTMPI_COMM_MODE, &mode);
    lose(dup, 2);
    expect(recover(dup, &now) == MPI_ERR_COMM, "that is not recovered by REBUILD");
}

/* All have ended what they did before: who stops now owes nobody a message. */
static void settle(void)
{
    int i, x = 0;

    for (i = 1; rank == 0 && i < size; i++)
        MPI_Recv(&x, 1, MPI_INT, i, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 1; rank == 0 && i < size; i++)
        MPI_Send(&x, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
    if (rank == 0)
        return;
    MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Who has heard the REVOKE dies before it tells anybody. */
static void case_revoke(char **argv)
{
    int pid = (int)getpid(), pids[6], i, x = 0;
    MPI_Comm dup;

    (void)argv;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    settle();
    if (rank == 0) {
        MPIX_Comm_revoke(dup);
        for (i = 1; i < 6; i++)
            if (i != 3)
                kill((pid_t)pids[i], SIGKILL);
        expect(MPI_Recv(&x, 1, MPI_INT, 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS, "3 sends");
    } else if (rank == 3) {
        expect(MPI_Recv(&x, 1, MPI_INT, 0, 1, dup, MPI_STATUS_IGNORE) == MPIX_ERR_REVOKED, "3 has heard it");
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else {
        pause();
    }
}

static void case_revoke_inter(char **argv)
{
    MPI_Comm half, inter;
    int x;

    (void)argv;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPIX_Comm_revoke(inter);
    else
        expect(MPI_Recv(&x, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE) == MPIX_ERR_REVOKED,
               "both groups have heard it");
}

static void on_error(MPI_Comm *comm, int *rc, ...)
{
    (void)comm;
    (void)rc;
}

/* Rank 2's engine recovers while its program waits for something else, and then sets a handler. Rank 0 speaks
 * when the agreement is over; what it said of that to rank 2 comes before. */
static void case_handler(char **argv)
{
    MPI_Errhandler set = MPI_ERRHANDLER_NULL, got = MPI_ERRHANDLER_NULL;
    MPI_Comm now, even;
    int x = 0;

    (void)argv;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &even);
    if (rank == 2) {
        expect(MPI_Recv(&x, 1, MPI_INT, 0, 1, even, MPI_STATUS_IGNORE) == MPI_SUCCESS, "0 has recovered");
        MPI_Comm_create_errhandler(on_error, &set);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, set);
    } else {
        lose(MPI_COMM_WORLD, 1);
    }
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world shrinks");
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 1, even);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    expect(rank != 2 || got == set, "the newest handler is kept");
}

static const struct {
    const char *name;
    void (*run)(char **argv);
} cases[] = {
    {"spawn", case_spawn}, {"leader", case_leader}, {"inter", case_inter}, {"persistent", case_persistent},
    {"ended", case_ended}, {"gaps", case_gaps}, {"revoke", case_revoke}, {"revoke_inter", case_revoke_inter},
    {"handler", case_handler},
};

int main(int argc, char **argv)
{
    size_t i;

    alarm(15);
    restarted = MPI_Init(&argc, &argv) == MPI_INIT_RESTARTED_NODE;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run(argv);
    printf("%s\n", bad == 0 ? "all is well" : "bad");
    fflush(stdout);
    MPI_Finalize();
    return bad != 0;
}
