/* t_jump.c - an error handler may leave any call by longjmp, any number of times, or free its communicator.
 *
 * Goal: the handler is the last thing that a call does: after a jump nothing is held, half done or lost.
 * Method: a survivor's engine, of whose communicators members have failed. Each call of MPI that can meet a
 * failure is made many times, is left by longjmp each time, and the engine's memory is measured.
 */
#include "engines.h"

#include "fault.h"
#include "mpi_call.h"

#include <setjmp.h>

#define RANKS 3
#define DEAD 2
#define ROUNDS 50

static struct engines run;
static jmp_buf back;
static int jumps, code_seen;
static MPI_Comm comm_seen;
static int in[64], out[64], counts[RANKS] = { 1, 1, 1 }, places[RANKS] = { 0, 1, 2 };
static MPI_Request ended[ROUNDS * 8], never[2];
static int used; /* of ended */
static MPI_Comm made;

static void jump(MPI_Comm *comm, int *code, ...)
{
    jumps++;
    comm_seen = *comm;
    code_seen = *code;
    *code = 0; /* what a handler writes there counts nothing */
    longjmp(back, 1);
}

#define W MPI_COMM_WORLD
#define I MPI_INT

static int index_out, flag_out, indices[4];
static MPI_Status st[4];
static MPI_Request r[4];

/* The call with that number; 0: there is none. */
static int call(int which)
{
    MPI_Request set[2];

    set[0] = never[0];
    set[1] = ended[used];
    switch (which) {
    case 0: return MPI_Send(out, 1, I, 1, 0, W);
    case 1: return MPI_Ssend(out, 1, I, 1, 0, W);
    case 2: return MPI_Rsend(out, 1, I, DEAD, 0, W);
    case 3: return MPI_Bsend(out, 1, I, 1, 0, W);
    case 4: return MPI_Recv(in, 1, I, 1, 0, W, st);
    case 5: return MPI_Recv(in, 1, I, MPI_ANY_SOURCE, 0, W, MPI_STATUS_IGNORE);
    case 6: return MPI_Isend(out, 1, I, 1, 0, W, r);
    case 7: return MPI_Issend(out, 1, I, 1, 0, W, r);
    case 8: return MPI_Irsend(out, 1, I, 1, 0, W, r);
    case 9: return MPI_Ibsend(out, 1, I, 1, 0, W, r);
    case 10: return MPI_Irecv(in, 1, I, MPI_ANY_SOURCE, 0, W, r);
    case 11: return MPI_Sendrecv(out, 1, I, 1, 0, in, 1, I, 1, 0, W, st);
    case 12: return MPI_Sendrecv_replace(out, 20, I, 1, 0, 1, 0, W, st);
    case 13: return MPI_Probe(1, 0, W, st);
    case 14: return MPI_Iprobe(MPI_ANY_SOURCE, 0, W, &flag_out, st);
    case 15: return MPI_Start(&never[1]);
    case 16: return MPI_Startall(1, &never[1]);
    case 17: return MPI_Barrier(W);
    case 18: return MPI_Bcast(in, 1, I, 0, W);
    case 19: return MPI_Gather(out, 1, I, in, 1, I, 0, W);
    case 20: return MPI_Gatherv(out, 1, I, in, counts, places, I, 0, W);
    case 21: return MPI_Scatter(out, 1, I, in, 1, I, 0, W);
    case 22: return MPI_Scatterv(out, counts, places, I, in, 1, I, 0, W);
    case 23: return MPI_Allgather(out, 1, I, in, 1, I, W);
    case 24: return MPI_Allgatherv(out, 1, I, in, counts, places, I, W);
    case 25: return MPI_Alltoall(out, 1, I, in, 1, I, W);
    case 26: return MPI_Alltoallv(out, counts, places, I, in, counts, places, I, W);
    case 27: return MPI_Reduce(out, in, 1, I, MPI_SUM, 0, W);
    case 28: return MPI_Allreduce(out, in, 1, I, MPI_SUM, W);
    case 29: return MPI_Reduce_scatter(out, in, counts, I, MPI_SUM, W);
    case 30: return MPI_Scan(out, in, 1, I, MPI_SUM, W);
    case 31: return MPI_Exscan(out, in, 1, I, MPI_SUM, W);
    case 32: return MPI_Wait(&ended[used], st);
    case 33: return MPI_Test(&ended[used], &flag_out, st);
    case 34: return MPI_Waitany(2, set, &index_out, st);
    case 35: return MPI_Testany(2, set, &index_out, &flag_out, st);
    case 36: return MPI_Waitall(2, set, st);
    case 37: return MPI_Testall(2, set, &flag_out, MPI_STATUSES_IGNORE);
    case 38: return MPI_Waitsome(2, set, &index_out, indices, st);
    case 39: return MPI_Testsome(2, set, &index_out, indices, st);
    default: return 0;
    }
}

#define CALLS 40

/* 1: the handler was called and has left the call. */
static int leaves(int which)
{
    volatile int before = jumps;
    int rc;

    if (setjmp(back) != 0)
        return jumps == before + 1 && comm_seen == MPI_COMM_WORLD
            && (code_seen == MPI_ERR_OTHER || code_seen == MPI_ERR_IN_STATUS);
    rc = call(which);
    printf("# call %d came back with %d\n", which, rc);
    return 0;
}

static void test_jumps(void)
{
    static int which, round, bad;
    static size_t bytes;
    struct ftm *e = run.at[0];

    for (round = 0; round < ROUNDS; round++) {
        for (which = 0; which < CALLS; which++) {
            bad += !leaves(which);
            used += which >= 32;
        }
        if (round == 0)
            bytes = e->mem.bytes;
    }
    ok(bad == 0 && jumps == ROUNDS * CALLS, "%d jumps out of %d calls", jumps, CALLS);
    ok(e->mem.bytes <= bytes, "and all that they had is back: %lu, %lu bytes", (unsigned long)bytes,
       (unsigned long)e->mem.bytes);
    ok(MPI_Sendrecv(out, 1, I, 0, 0, in, 1, I, 0, 0, MPI_COMM_SELF, st) == MPI_SUCCESS, "others work on");
}

static void frees(MPI_Comm *comm, int *code, ...)
{
    code_seen = *code;
    MPI_Comm_free(comm);
    made = *comm;
}

static void test_free(void)
{
    struct ftm_comm_parts parts;
    struct ftm_comm *c;
    MPI_Errhandler h;

    memset(&parts, 0, sizeof parts);
    parts.parent = run.at[0]->world;
    parts.context = run.at[0]->contexts.next;
    parts.group = run.at[0]->world->group;
    check(ftm_comm_new(run.at[0], &parts, &c) == 0, "a communicator");
    made = c->handle;
    MPI_Errhandler_create(frees, &h);
    MPI_Errhandler_set(made, h);
    MPI_Errhandler_free(&h);
    ok(MPI_Send(out, 1, I, 1, 0, made) == MPI_ERR_OTHER && made == MPI_COMM_NULL,
       "a handler frees its communicator, and the call ends all the same");
}

int main(void)
{
    struct ftm_config how;
    MPI_Errhandler h;
    size_t i;

    memset(&how, 0, sizeof how);
    how.modes.comm = FTMPI_COMM_MODE_REBUILD;
    if (!engines_begin(&run, RANKS, &how))
        return 1;
    ftm_this = run.at[0];
    MPI_Irecv(in, 1, I, 0, 99, MPI_COMM_SELF, &never[0]);
    MPI_Send_init(out, 1, I, 1, 0, W, &never[1]);
    for (i = 0; i < sizeof ended / sizeof ended[0]; i++)
        MPI_Irecv(&in[1], 1, I, 1, 1, W, &ended[i]);
    MPI_Errhandler_create(jump, &h);
    MPI_Errhandler_set(W, h);
    ftm_fault_declared(run.at[0], DEAD);
    test_jumps();
    test_free();
    MPI_Request_free(&never[1]);
    MPI_Cancel(&never[0]);
    MPI_Request_free(&never[0]);
    ftm_this = NULL;
    engines_finish(&run);
    return test_end();
}
