/* p_mended.c - recovery where two rare things meet: run by mended.sh, a case by its name. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
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

/* Rank 1 has another mode than all others. Calls that make communicators, and MPI_Finalize, end all the
 * same. */
static void case_modes(char **argv)
{
    MPI_Comm dup, half, inter, again, whole;
    int dims = size, periods = 0, rc;
    MPI_Group group;

    if (rank == 1)
        mode_of_world(atoi(argv[2]));
    expect(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS, "dup");
    expect(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half) == MPI_SUCCESS, "split");
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    expect(MPI_Comm_create(MPI_COMM_WORLD, group, &whole) == MPI_SUCCESS, "create");
    expect(MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &whole) == MPI_SUCCESS, "cart");
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    expect(rc == MPI_SUCCESS, "inter");
    expect(MPI_Comm_dup(inter, &again) == MPI_SUCCESS, "dup of it");
    expect(MPI_Intercomm_merge(again, rank < 2, &whole) == MPI_SUCCESS, "merge");
}

/* A member of the second half dies. Its side knows, and in CONT nothing told the other that nobody comes. */
static void case_inter_broken(char **argv)
{
    MPI_Comm half, inter, again, whole;
    int x = 0, rc;

    (void)argv;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3)
        raise(SIGKILL);
    rc = MPI_Recv(&x, 1, MPI_INT, 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(rc == MPI_ERR_OTHER, "3 is dead");
    expect(MPI_Comm_dup(inter, &again) != MPI_SUCCESS, "no dup of what is broken");
    expect(MPI_Intercomm_merge(inter, 0, &whole) == MPI_ERR_OTHER, "nor a merge");
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &again);
    expect(rc == MPI_ERR_OTHER, "half of a new one is not made either");
    if (rank == 2)
        half = MPI_COMM_SELF;
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &again);
    expect(rc == MPI_SUCCESS, "what the living make is");
    expect(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 3, &x, 1, MPI_INT, 0, 3, rank == 1 ? MPI_COMM_SELF : again,
                        MPI_STATUS_IGNORE) == MPI_SUCCESS, "and works");
}

/* A side of an intercommunicator that is made loses a member, when its leader has spoken already: it fails,
 * and the other side, which comes later and finds all that it asks for, does so too. */
static void case_sides(char **argv)
{
    struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
    MPI_Comm now, half, inter, whole;
    int rc, pid = (int)getpid();

    (void)argv;
    MPI_Bcast(&pid, 1, MPI_INT, 3, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    if (rank == 3)
        setitimer(ITIMER_REAL, &soon, NULL);
    while (rank < 2 && kill((pid_t)pid, 0) == 0) /* it dies within the call below */
        usleep(1000);
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    expect(rc == MPI_ERR_OTHER, "nobody has it");
    if (rc == MPI_SUCCESS)
        MPI_Intercomm_merge(inter, 0, &whole);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "all recover");
    if (rank == 2)
        half = MPI_COMM_SELF;
    rc = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
    expect(rc == MPI_SUCCESS, "and make another one");
    expect(MPI_Intercomm_merge(inter, 0, &whole) == MPI_SUCCESS, "which works");
}

/* What was under way on a duplicate of the world, when that is rebuilt through it, is so on the world: a
 * message that nobody had asked for, a receive that waits, and one that a message of the new generation
 * meets. */
static void case_moved(char **argv)
{
    MPI_Request in = MPI_REQUEST_NULL, late = MPI_REQUEST_NULL;
    MPI_Comm dup, now = MPI_COMM_WORLD;
    int a = 0, b = 0, c = 0, said = 100 + rank, rc = MPI_SUCCESS;

    (void)argv;
    if (!restarted) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        if (rank == 0) {
            MPI_Irecv(&a, 1, MPI_INT, 2, 5, dup, &in);
            MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, 6, dup, &late);
        }
        if (rank == 3)
            expect(MPI_Send(&said, 1, MPI_INT, 0, 7, dup) == MPI_SUCCESS, "3 sends before");
        lose(dup, 1);
        if (rank == 2) /* unless somebody recovers already */
            rc = MPI_Send(&said, 1, MPI_INT, 0, 5, dup);
        expect(recover(dup, &now) == MPI_SUCCESS && now == MPI_COMM_WORLD, "the world is rebuilt through it");
        expect(MPI_Comm_free(&dup) == MPI_SUCCESS, "the duplicate goes");
    }
    if (rc != MPI_SUCCESS)
        MPI_Send(&said, 1, MPI_INT, 0, 5, now);
    if (rank == 1)
        MPI_Send(&said, 1, MPI_INT, 0, 6, now);
    if (rank == 0) {
        expect(MPI_Wait(&in, MPI_STATUS_IGNORE) == MPI_SUCCESS && a == 102, "what waited for 2 has got it");
        rc = MPI_Recv(&c, 1, MPI_INT, 3, 7, now, MPI_STATUS_IGNORE);
        expect(rc == MPI_SUCCESS && c == 103, "3's came");
        if (MPI_Wait(&late, MPI_STATUS_IGNORE) == MPI_ERR_OTHER) /* it told of the death */
            MPI_Recv(&b, 1, MPI_INT, 1, 6, now, MPI_STATUS_IGNORE);
        expect(b == 101, "and 1's, who is new");
    }
    expect(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS, "all are there");
}

/* A rank dies and its ring is full of messages, while the one who is to read them is not in MPI. What was
 * published is read before the death is acted upon: in CONT it can be received although the death is known.
 * None gets over a recovery. */
static void case_ring(char **argv)
{
    int i, x = -1, got = 0, wanted = strcmp(argv[2], "cont") == 0 ? 50 : 0, pid = (int)getpid(), any = 1;
    MPI_Comm now;

    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    for (i = 0; i < 400 && rank < 2; i++) /* now both have rings, and know it */
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 4, &x, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    for (i = 0; i < 60 && rank == 1; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    while (rank == 0 && kill((pid_t)pid, 0) == 0) /* its parent has not seen its end */
        usleep(1000);
    lose(MPI_COMM_WORLD, 1);
    while (rank == 0 && got < 50 && MPI_Recv(&x, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0)
        got += x == got;
    expect(rank != 0 || got == wanted, "in CONT all can be received, in NOP nothing");
    if (rank == 0 && wanted > 0)
        MPI_Send(&x, 1, MPI_INT, 2, 6, MPI_COMM_WORLD);
    else if (wanted > 0) /* until it has them all: a recovery would end it */
        MPI_Recv(&x, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world shrinks");
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, now, &any, MPI_STATUS_IGNORE);
    expect(!any || rank != 0, "of the ten that nobody asked for there is none");
}

/* Rank 0 has left a communicator, because somebody died, when the others call on it, who have not been told.
 * They had never agreed upon anything there. */
static void case_left(char **argv)
{
    MPI_Comm all, living, part = MPI_COMM_NULL;
    int x = 0;

    (void)argv;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &living);
    if (rank < 2)
        lose(MPI_COMM_WORLD, 1);
    if (rank == 0)
        MPI_Comm_free(&all);
    MPI_Bcast(&x, 1, MPI_INT, 0, living);
    if (rank == 0)
        return;
    expect(MPI_Comm_split(all, 0, rank, &part) == MPI_ERR_OTHER, "the others are told");
    expect(MPI_Comm_split(all, 0, rank, &part) == MPI_ERR_COMM, "and cannot recover it");
}

/* A leader's call is ended by a recovery that the other leader has begun instead of coming. In CONT what it
 * said waits there still, and is not for the next call. */
static void case_stale(char **argv)
{
    MPI_Comm now, inter;
    int rc;

    (void)argv;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        rc = MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 0, 9, &inter);
        expect(rc == MPI_ERR_OTHER, "nobody came");
    } else {
        lose(MPI_COMM_WORLD, 2);
    }
    expect(recover(MPI_COMM_WORLD, &now) == MPI_SUCCESS, "the world shrinks");
    MPI_Comm_dup(now, &inter); /* who made more communicators has a higher context */
    if (rank == 1)
        MPI_Comm_dup(MPI_COMM_SELF, &inter);
    rc = MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 9, &inter);
    expect(rc == MPI_SUCCESS, "both come");
    MPI_Sendrecv(&rank, 1, MPI_INT, 0, 3, &rc, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
    expect(rc == 1 - rank, "it is between the two");
}

static const struct {
    const char *name;
    void (*run)(char **argv);
} cases[] = {
    {"spawn", case_spawn}, {"leader", case_leader}, {"inter", case_inter}, {"persistent", case_persistent},
    {"ended", case_ended}, {"gaps", case_gaps}, {"revoke", case_revoke}, {"revoke_inter", case_revoke_inter},
    {"handler", case_handler}, {"modes", case_modes}, {"inter_broken", case_inter_broken},
    {"sides", case_sides}, {"moved", case_moved}, {"ring", case_ring}, {"left", case_left},
    {"stale", case_stale},
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
