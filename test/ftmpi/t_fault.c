/* t_fault.c - what each operation gets when a process has failed, by the table of states and modes.
 *
 * Method: engines in one process over loopback. The victim is never stepped again, and the test says to each
 * survivor what the notice of the arbiter would: ftm_fault_declared. Where a call is to be tested and not a
 * request, the calls' own engine (ftm_this) is that of a survivor. Promises 80, 81 and 87.
 */
#include "engines.h"

#include "coll.h"
#include "fault.h"
#include "mpi-ext.h"
#include "mpi_call.h"

#define RANKS 4
#define LARGE 300000 /* bytes: a rendezvous in pieces */
#define DEAD 3

static struct engines run;
static struct ftm *dead[RANKS];
static char buf[RANKS][8][LARGE];
static int tag = 7; /* of what is started */

static void begin(int comm, int msg)
{
    struct ftm_config how;

    memset(&how, 0, sizeof how);
    how.modes.comm = comm;
    how.modes.msg = msg;
    how.piece = 50000;
    memset(dead, 0, sizeof dead);
    check(engines_begin(&run, RANKS, &how), "begins");
}

/* From now on it is silent, but nobody knows yet. */
static void die(int rank)
{
    dead[rank] = run.at[rank];
    run.at[rank] = NULL;
}

static void declare(int rank)
{
    int i;

    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL)
            ftm_fault_declared(run.at[i], rank);
}

static void end(void)
{
    int i;

    for (i = 0; i < RANKS; i++)
        if (dead[i] != NULL)
            run.at[i] = dead[i];
    engines_finish(&run);
}

static void turn(int times)
{
    while (times-- > 0)
        engines_turn(&run);
}

static int start_recv(int at, struct ftm_comm *c, int source, size_t bytes, int which, struct ftm_request **r)
{
    return ftm_recv_start(run.at[at], r, c, 0, buf[at][which], bytes, engines_type(&run, at, MPI_BYTE),
                          source, tag);
}

static int start_send(int at, struct ftm_comm *c, int mode, int dest, size_t bytes, int which,
                      struct ftm_request **r)
{
    return ftm_send_start(run.at[at], r, mode, c, 0, buf[at][which], bytes, engines_type(&run, at, MPI_BYTE),
                          dest, tag);
}

static struct ftm_request *recv_at(int at, int source, size_t bytes, int which)
{
    struct ftm_request *r;

    check(start_recv(at, run.at[at]->world, source, bytes, which, &r) == 0, "a receive starts");
    return r;
}

static struct ftm_request *send_at(int at, int mode, int dest, size_t bytes, int which)
{
    struct ftm_request *r;

    check(start_send(at, run.at[at]->world, mode, dest, bytes, which, &r) == 0, "a send starts");
    return r;
}

static int is_done(struct engines *s, void *arg)
{
    (void)s;
    return ((struct ftm_request *)arg)->done;
}

/* Done with this error; and gives it back. */
static int ends(struct ftm_request *r, int error)
{
    int good = engines_until(&run, is_done, r) && r->error == error;

    ftm_request_free(r->engine, r);
    return good;
}

/* ---- The table ----------------------------------------------------------------------------------- */

struct pending {
    struct ftm_request *from_dead, *from_living, *from_any, *to_dead, *to_living;
    struct ftm_request *flying_dead, *flying_living;
};

/* What is under way at rank 0 when DEAD dies: posted receives, sends that nobody has matched, receives whose
 * data are on the way. */
static void put_under_way(struct pending *p)
{
    struct ftm_request *r;

    p->flying_dead = recv_at(0, DEAD, LARGE, 0);
    p->flying_living = recv_at(0, 1, LARGE, 1);
    r = send_at(DEAD, FTM_STANDARD, 0, LARGE, 0);
    ftm_request_free(run.at[DEAD], r);
    turn(40);
    die(DEAD); /* before it has sent its data, or in the middle */
    p->from_dead = recv_at(0, DEAD, 100, 2);
    p->from_living = recv_at(0, 2, 100, 3);
    p->from_any = recv_at(0, MPI_ANY_SOURCE, 100, 4);
    p->to_dead = send_at(0, FTM_SYNCHRONOUS, DEAD, 100, 5);
    p->to_living = send_at(0, FTM_SYNCHRONOUS, 2, 100, 6);
    turn(40);
}

static void test_nop(void)
{
    struct ftm_request *done, *r;
    struct pending p;

    begin(FTMPI_COMM_MODE_SHRINK, FTMPI_MSG_MODE_NOP);
    r = send_at(1, FTM_STANDARD, 0, 100, 7);
    done = recv_at(0, 1, 100, 7);
    ok(ends(r, 0), "NOP: a message is sent");
    check(engines_until(&run, is_done, done), "it is received");
    put_under_way(&p);
    check(!p.from_dead->done && !p.from_living->done && !p.from_any->done && !p.to_dead->done
          && !p.to_living->done, "these are under way");
    declare(DEAD);
    ok(done->error == 0, "what had completed stays a success");
    ftm_request_free(run.at[0], done);
    ok(ends(p.from_dead, MPI_ERR_OTHER) && ends(p.to_dead, MPI_ERR_OTHER),
       "to and from the failed one: error");
    ok(ends(p.from_living, MPI_ERR_OTHER) && ends(p.to_living, MPI_ERR_OTHER)
       && ends(p.flying_living, MPI_ERR_OTHER), "to and from the living: error");
    ok(ends(p.from_any, MPI_ERR_OTHER), "from anybody: error");
    ftm_request_free(run.at[0], p.flying_dead);
    ok(start_send(0, run.at[0]->world, FTM_STANDARD, 1, 4, 0, &r) == MPI_ERR_OTHER && r == NULL
       && start_recv(0, run.at[0]->world, MPI_ANY_SOURCE, 4, 0, &r) == MPI_ERR_OTHER && r == NULL,
       "a new one is an error at its start");
    ok(start_recv(0, run.at[0]->self, 0, 4, 0, &r) == 0, "other communicators are as they were");
    ftm_request_cancel(run.at[0], r);
    ftm_request_free(run.at[0], r);
    turn(200);
    ok(run.ended == 0, "what comes late of all that ends no job");
    end();
}

static void test_cont(void)
{
    struct ftm_request *r, *s;
    struct ftm_comm *world;
    struct pending p;

    begin(FTMPI_COMM_MODE_BLANK, FTMPI_MSG_MODE_CONT);
    world = run.at[0]->world;
    tag = 8;
    ftm_request_free(run.at[DEAD], send_at(DEAD, FTM_STANDARD, 0, 50, 1));
    ftm_request_free(run.at[DEAD], send_at(DEAD, FTM_STANDARD, 0, LARGE, 1));
    turn(100);
    tag = 7;
    put_under_way(&p);
    declare(DEAD);
    tag = 8;
    ok(ends(recv_at(0, DEAD, 100, 0), 0), "CONT: what had arrived of the failed one can be received");
    ok(start_recv(0, world, DEAD, LARGE, 0, &r) == MPI_ERR_OTHER,
       "and not that of which the data never came");
    tag = 7;
    ok(ends(p.from_dead, MPI_ERR_OTHER), "from the failed one: error");
    ok(ends(p.to_dead, MPI_ERR_OTHER), "to the failed one: error");
    ok(ends(p.from_any, MPI_ERR_OTHER), "from anybody: one error");
    ok(!p.from_living->done && !p.to_living->done && !p.flying_living->done,
       "to and from the living: goes on");
    s = send_at(1, FTM_STANDARD, 0, LARGE, 0);
    memset(buf[0][1], 0, LARGE);
    memset(buf[1][0], 77, LARGE);
    ok(ends(p.flying_living, 0) && ends(s, 0) && buf[0][1][LARGE - 1] == 77, "and large data arrive");
    s = send_at(2, FTM_STANDARD, 0, 100, 0);
    r = recv_at(2, 0, 100, 1);
    ok(ends(p.from_living, 0) && ends(p.to_living, 0) && ends(s, 0) && ends(r, 0), "and small ones");
    ftm_request_free(run.at[0], p.flying_dead);
    ok(start_send(0, world, FTM_STANDARD, DEAD, 4, 0, &r) == MPI_ERR_OTHER
       && start_send(0, world, FTM_STANDARD, DEAD, 4, 0, &r) == MPI_ERR_OTHER, "a new one to it: each time");
    r = recv_at(0, MPI_ANY_SOURCE, 100, 0);
    ok(!r->done, "another receive from anybody is not told again");
    s = send_at(2, FTM_STANDARD, 0, 10, 0);
    ok(ends(r, 0) && ends(s, 0), "and is met by the living");
    r = recv_at(1, MPI_ANY_SOURCE, 100, 0);
    ok(r->done && r->status.source == DEAD && ends(r, MPI_ERR_OTHER),
       "a new one elsewhere tells who has failed");
    r = recv_at(1, MPI_ANY_SOURCE, 100, 0);
    ok(!r->done, "once");
    die(2);
    declare(2);
    ok(r->done && r->status.source == 2 && ends(r, MPI_ERR_OTHER), "the next failure is told again");
    end();
}

/* ---- Attributes and texts, by the calls themselves ----------------------------------------------- */

static int mode_of(MPI_Comm c, int key)
{
    int *value = NULL, flag = 0;

    check(MPI_Comm_get_attr(c, key, &value, &flag) == MPI_SUCCESS && flag, "it has a mode");
    return *value;
}

static void test_attributes(void)
{
    struct { int number, guard; } count = { -1, 77 };
    int mode = FTMPI_COMM_MODE_REBUILD, flag, *list, *times, length;
    char text[MPI_MAX_ERROR_STRING];
    struct ftm_comm_parts parts;
    struct ftm_comm *child;

    begin(FTMPI_COMM_MODE_SHRINK, FTMPI_MSG_MODE_CONT);
    ftm_this = run.at[0];
    ok(mode_of(MPI_COMM_WORLD, FTMPI_COMM_MODE) == FTMPI_COMM_MODE_SHRINK
       && mode_of(MPI_COMM_WORLD, FTMPI_MSG_MODE) == FTMPI_MSG_MODE_CONT
       && mode_of(MPI_COMM_WORLD, FTMPI_COLL_MODE) == FTMPI_COLL_MODE_LOOSE, "modes of the start");
    ok(MPI_Attr_put(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode) == MPI_SUCCESS, "a mode is set");
    mode = 99;
    ok(mode_of(MPI_COMM_WORLD, FTMPI_COMM_MODE) == FTMPI_COMM_MODE_REBUILD, "and was read at once");
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ok(MPI_Comm_set_attr(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode) == MPI_ERR_ARG
       && MPI_Comm_set_attr(MPI_COMM_WORLD, FTMPI_MSG_MODE, NULL) == MPI_ERR_ARG
       && mode_of(MPI_COMM_WORLD, FTMPI_COMM_MODE) == FTMPI_COMM_MODE_REBUILD, "no mode: MPI_ERR_ARG");
    mode = 1;
    ok(MPI_Attr_put(MPI_COMM_WORLD, FTMPI_COMM_STATE, &mode) == MPI_ERR_KEYVAL
       && MPI_Attr_delete(MPI_COMM_WORLD, FTMPI_COMM_MODE) == MPI_ERR_KEYVAL
       && MPI_Attr_put(MPI_COMM_WORLD, FT_MPI_LIST_FAILED, &mode) == MPI_ERR_KEYVAL,
       "the others cannot be set: MPI_ERR_KEYVAL");
    memset(&parts, 0, sizeof parts);
    parts.parent = run.at[0]->world;
    parts.context = run.at[0]->contexts.next;
    parts.group = run.at[0]->world->group;
    ok(ftm_comm_new(run.at[0], &parts, &child) == 0
       && mode_of(child->handle, FTMPI_COMM_MODE) == FTMPI_COMM_MODE_REBUILD,
          "a child has its parent's modes");
    ok(MPI_Comm_get_attr(MPI_COMM_WORLD, FT_MPI_LIST_NUM_FAILED, &count.number, &flag) == 0 && flag
       && count.number == 0 && count.guard == 77, "nobody has failed");
    ok(MPI_Comm_get_attr(MPI_COMM_WORLD, FT_MPI_COM_FAILED, &times, &flag) == 0 && times[0] == 0
       && times[RANKS - 1] == 0, "nor any rank");
    ok(MPI_Error_string(MPI_ERR_OTHER, text, &length) == 0 && strstr(text, "rank") == NULL,
       "nothing to tell");
    die(3);
    declare(3);
    die(1);
    declare(1);
    declare(1); /* is not counted again */
    ok(mode_of(MPI_COMM_WORLD, FTMPI_COMM_STATE) == FT_DETECTED
       && mode_of(child->handle, FTMPI_COMM_STATE) == FT_DETECTED
       && mode_of(MPI_COMM_SELF, FTMPI_COMM_STATE) == FT_OK, "the states of all that had the failed ones");
    count.number = -1;
    MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_LIST_NUM_FAILED, &count.number, &flag);
    MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_LIST_FAILED, &list, &flag);
    ok(count.number == 2 && count.guard == 77 && list[0] == 3 && list[1] == 1, "who has failed, in order");
    MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_COM_NUM_FAILED, &count.number, &flag);
    MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_COM_FAILED, &times, &flag);
    ok(count.number == 2 && count.guard == 77 && times[0] == 0 && times[1] == 1 && times[2] == 0
       && times[3] == 1, "and by rank");
    ok(!ftm_fault_is_recovery(run.at[0], run.at[0]->world), "the program was told nothing yet");
    ok(MPI_Recv(buf[0][0], 1, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE) == MPI_ERR_OTHER,
       "a call tells it");
    ok(ftm_fault_is_recovery(run.at[0], run.at[0]->world) && ftm_fault_is_recovery(run.at[0], child)
       && !ftm_fault_is_recovery(run.at[0], run.at[0]->self), "so that the next dup recovers");
    ok(MPI_Error_string(MPI_ERR_OTHER, text, &length) == 0 && strstr(text, "rank 3") != NULL
       && (int)strlen(text) == length, "MPI_Error_string: %s", text);
    MPI_Recv(buf[0][0], 1, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_string(MPI_ERR_OTHER, text, &length);
    ok(strstr(text, "rank 1") != NULL, "then the next one: %s", text);
    ftm_comm_free(run.at[0], child);
    ftm_this = NULL;
    end();
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

static void test_calls(void)
{
    MPI_Request r[3] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    MPI_Status st[3];
    int flag = -1, index = -1, i;
    char in[3], out[1] = { 1 };

    begin(FTMPI_COMM_MODE_BLANK, FTMPI_MSG_MODE_CONT); /* no handler is set: failures return */
    ftm_this = run.at[0];
    for (i = 0; i < 3; i++)
        MPI_Irecv(&in[i], 1, MPI_BYTE, i == 0 ? DEAD : 1, 5 + i, MPI_COMM_WORLD, &r[i]);
    die(DEAD);
    declare(DEAD);
    ok(MPI_Waitall(3, r, st) == MPI_ERR_IN_STATUS && st[0].MPI_ERROR == MPI_ERR_OTHER
       && st[1].MPI_ERROR == MPI_ERR_PENDING && st[2].MPI_ERROR == MPI_ERR_PENDING
       && r[0] == MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL, "MPI_Waitall: each its own error");
    ok(MPI_Irecv(&in[0], 1, MPI_BYTE, DEAD, 5, MPI_COMM_WORLD, &r[0]) == MPI_ERR_OTHER
       && r[0] == MPI_REQUEST_NULL, "MPI_Irecv from it: an error, and no request");
    ok(MPI_Probe(DEAD, 5, MPI_COMM_WORLD, st) == MPI_ERR_OTHER
       && MPI_Iprobe(DEAD, 5, MPI_COMM_WORLD, &flag, st) == MPI_ERR_OTHER && flag == 0, "probes of it");
    ok(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, st) == MPI_SUCCESS && flag == 0,
       "one of anybody is not told again");
    ok(MPI_Sendrecv(out, 1, MPI_BYTE, DEAD, 5, in, 1, MPI_BYTE, 2, 5, MPI_COMM_WORLD, st) == MPI_ERR_OTHER,
       "MPI_Sendrecv to it");
    ok(MPI_Test(&r[1], &flag, st) == MPI_SUCCESS && !flag, "a receive from the living goes on");
    ftm_request_free(run.at[1], send_at(1, FTM_STANDARD, 0, 1, 0)); /* tag 7 */
    turn(100);
    ok(MPI_Waitany(3, r, &index, st) == MPI_SUCCESS && index == 2 && r[2] == MPI_REQUEST_NULL, "and is met");
    die(1);
    declare(1);
    MPI_Irecv(in, 1, MPI_BYTE, 2, 6, MPI_COMM_WORLD, &r[2]);
    ok(MPI_Waitany(3, r, &index, st) == MPI_ERR_OTHER && index == 1, "MPI_Waitany");
    die(2);
    declare(2);
    ok(MPI_Waitall(3, r, MPI_STATUSES_IGNORE) == MPI_ERR_OTHER && r[2] == MPI_REQUEST_NULL,
       "without statuses: MPI_ERR_OTHER");
    ok(MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, st) == MPI_ERR_OTHER
       && MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, st) == MPI_ERR_OTHER,
       "and a receive that nobody alive can meet is an error each time");
    MPI_Irecv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &r[0]);
    ok(MPI_Wait(&r[0], st) == MPI_ERR_OTHER && r[0] != MPI_REQUEST_NULL, "a started one, when waited for");
    MPI_Isend(out, 1, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &r[1]);
    ok(MPI_Wait(&r[0], st) == MPI_SUCCESS && st[0].MPI_SOURCE == 0 && MPI_Wait(&r[1], st) == MPI_SUCCESS,
       "unless this process sends to itself");
    ftm_this = NULL;
    end();
}

/* ---- Recovery: entered, succeeded ------------------------------------------------------------------ */

static void test_entered(int msg)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status st;
    int flag = 7;
    char in[2];

    begin(FTMPI_COMM_MODE_SHRINK, msg);
    ftm_this = run.at[0];
    MPI_Irecv(in, 1, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &r);
    ftm_fault_entered(run.at[0], run.at[0]->world);
    ok(MPI_Wait(&r, &st) == MPI_ERR_OTHER && (r != MPI_REQUEST_NULL) == (msg == FTMPI_MSG_MODE_CONT),
       "a recovery has begun: a wait ends, and the request %s", msg == FTMPI_MSG_MODE_CONT ? "stays" : "too");
    if (msg == FTMPI_MSG_MODE_CONT)
        ok(MPI_Test(&r, &flag, &st) == MPI_ERR_OTHER && flag == 0, "a test, too");
    ok(MPI_Recv(in, 1, MPI_BYTE, 2, 5, MPI_COMM_WORLD, &st) == MPI_ERR_OTHER
       && MPI_Send(in, 1, MPI_BYTE, 2, 5, MPI_COMM_WORLD) == MPI_ERR_OTHER
       && MPI_Barrier(MPI_COMM_WORLD) == MPI_ERR_OTHER, "nothing else is possible, in both message modes");
    ok(ftm_fault_is_recovery(run.at[0], run.at[0]->world), "and the program was told");
    ftm_this = NULL;
    end();
}

static struct ftm_comm *next[RANKS]; /* successors of the world */

static void succeed(int at, int msg)
{
    struct ftm *e = run.at[at];

    check(ftm_comm_succeed(e, e->world, e->world->group, NULL, 1, &next[at]) == 0, "a successor");
    ftm_fault_entered(e, e->world);
    ftm_fault_succeeded(e, e->world, next[at], msg);
    ftm_fault_opened(e, next[at]);
}

static void send_on(struct ftm_comm *c, int at, int which)
{
    struct ftm_request *r = NULL;

    tag = which;
    check(start_send(at, c, FTM_STANDARD, 0, 10, 1, &r) == 0, "a send starts");
    ftm_request_free(run.at[at], r);
    tag = 7;
    turn(60);
}

/* 1: a message with that tag is there. */
static int is_there(struct ftm_comm *c, int source, int which)
{
    struct ftm_status st;

    return ftm_recv_probe(run.at[0], c, source, which, &st);
}

static void test_succession(int msg)
{
    struct ftm_request *pending = NULL, *r;
    int cont = msg == FTMPI_MSG_MODE_CONT, i;

    begin(FTMPI_COMM_MODE_SHRINK, msg);
    pending = recv_at(0, 2, 100, 0);
    send_on(run.at[1]->world, 1, 21);
    send_on(run.at[3]->world, 3, 22);
    ok(is_there(run.at[0]->world, 1, 21), "a message waits");
    succeed(1, msg);
    send_on(next[1], 1, 23); /* sooner than rank 0 */
    ok(!is_there(run.at[0]->world, 1, 23), "a message of a higher generation waits elsewhere");
    succeed(0, msg);
    ok(is_there(next[0], 1, 23), "until its communicator is there");
    ok(is_there(next[0], 1, 21) == cont, "what waited %s", cont ? "goes along" : "is dropped");
    send_on(run.at[3]->world, 3, 24); /* later than rank 0 */
    ok(is_there(next[0], 3, 24) == cont, "of a lower generation: %s", cont ? "delivered" : "dropped");
    ok(cont ? !pending->done && pending->order.comm == next[0] : pending->done
       && pending->error == MPI_ERR_OTHER,
       "what was pending %s", cont ? "goes along" : "has ended");
    succeed(2, msg);
    send_on(next[2], 2, 7);
    ok(cont ? pending->done && pending->error == 0 : is_there(next[0], 2, 7), "and the successor works");
    ok(start_recv(0, run.at[0]->world, 1, 1, 0, &r) == MPI_ERR_COMM, "the old one has no use: MPI_ERR_COMM");
    ftm_request_free(run.at[0], pending);
    for (i = 0; i < 3; i++)
        ftm_comm_drop(run.at[i], next[i]);
    end();
}

/* ---- A seat that fails again ---------------------------------------------------------------------- */

/* A communicator of rank 0 in which that process holds the last rank. */
static struct ftm_comm *comm_with(int holder)
{
    int members[RANKS] = { 0, 1, 2, 0 };
    struct ftm *e = run.at[0];
    struct ftm_comm_parts parts;
    struct ftm_comm *c = NULL;

    members[DEAD] = holder;
    memset(&parts, 0, sizeof parts);
    parts.parent = e->world;
    parts.context = e->contexts.next;
    parts.group = ftm_group_new(e, members, RANKS);
    check(parts.group != NULL && ftm_comm_new(e, &parts, &c) == 0, "a communicator");
    ftm_group_drop(e, parts.group);
    return c;
}

/* What was told of an earlier holder of a seat makes no call a recovery where a later holder fails: one
 * member would have its ordinary dup, where the others have recovered, and go on at another place. */
static void test_again(void)
{
    struct ftm_comm *c[3];
    int life, holder[3];
    struct ftm *e;

    begin(FTMPI_COMM_MODE_REBUILD, FTMPI_MSG_MODE_NOP);
    die(DEAD);
    e = run.at[0];
    for (life = 0; life < 3; life++) {
        holder[life] = life == 0 ? DEAD : ftm_proc_add(e, DEAD, (uint32_t)life, 0, 0)->index;
        c[life] = comm_with(holder[life]);
        ftm_fault_declared(e, holder[life]);
        ok(c[life]->fault.state == FT_DETECTED && !ftm_fault_is_recovery(e, c[life]),
           "life %d of a seat fails, and the program is told nothing: no recovery", life);
        ftm_fault_tell(e, c[life], holder[life]);
        ok(ftm_fault_is_recovery(e, c[life]), "it is told, so that the next dup recovers");
    }
    ok(c[0]->fault.count == 3 && c[1]->fault.count == 2 && c[2]->fault.count == 1,
       "whoever was started in place of a member counts for it");
    for (life = 0; life < 3; life++)
        ftm_comm_free(e, c[life]);
    end();
}

/* ---- What is left of collective calls ------------------------------------------------------------ */

static struct ftm_schedule *begin_sum(int at, int *rc)
{
    static int in[RANKS][100], out[RANKS][100];
    struct ftm_schedule *s = ftm_schedule_new(run.at[at], run.at[at]->world);
    struct ftm_reduction r;

    memset(&r, 0, sizeof r);
    r.op = ftm_table_get(&run.at[at]->handles, MPI_SUM, FTM_OP);
    r.type = engines_type(&run, at, MPI_INT);
    r.count = 100;
    r.in = in[at];
    r.out = out[at];
    ftm_coll_allreduce(s, &r);
    *rc = ftm_schedule_begin(s);
    return s;
}

static void test_leftovers(void)
{
    struct ftm_schedule *s[RANKS];
    int i, rc, good = 1;

    begin(FTMPI_COMM_MODE_BLANK, FTMPI_MSG_MODE_CONT);
    for (i = 1; i < RANKS; i++)
        s[i] = begin_sum(i, &rc);
    turn(100);
    ok(run.at[0]->counters.waiting > 0, "messages of a collective call wait here");
    die(DEAD);
    declare(DEAD);
    for (i = 1; i < RANKS - 1; i++)
        good = good && ftm_schedule_done(s[i]) && ftm_schedule_error(s[i]) == MPI_ERR_OTHER;
    ok(good, "a member has failed: it has ended where it had begun");
    s[0] = begin_sum(0, &rc);
    ok(rc == MPI_ERR_OTHER, "and does not begin where it had not");
    ftm_schedule_free(s[0]);
    s[0] = begin_sum(0, &rc);
    ok(run.at[0]->counters.waiting == 0, "the next one forgets what was left of it");
    ftm_schedule_end_all(dead[DEAD], dead[DEAD]->world, MPI_ERR_OTHER);
    for (i = 0; i < RANKS; i++)
        ftm_schedule_free(s[i]);
    end();
}

/* ---- ABORT ------------------------------------------------------------------------------------------ */

static void test_abort(void)
{
    int mode = FTMPI_COMM_MODE_ABORT;

    begin(FTMPI_COMM_MODE_SHRINK, FTMPI_MSG_MODE_NOP);
    ftm_this = run.at[1];
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Attr_put(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode);
    ftm_this = NULL;
    die(DEAD);
    ftm_fault_declared(run.at[0], DEAD);
    turn(50);
    ok(run.ended == 0, "a failure ends no job");
    ftm_fault_declared(run.at[1], DEAD);
    turn(50);
    ok(run.ended >= 1 && strstr(run.at[1]->end_line, "rank 3 has failed") != NULL,
       "but where a communicator is in ABORT, whatever its handler: %s", run.at[1]->end_line);
    end();
}

int main(void)
{
    test_nop();
    test_cont();
    test_attributes();
    test_calls();
    test_again();
    test_leftovers();
    test_abort();
    test_entered(FTMPI_MSG_MODE_NOP);
    test_entered(FTMPI_MSG_MODE_CONT);
    test_succession(FTMPI_MSG_MODE_NOP);
    test_succession(FTMPI_MSG_MODE_CONT);
    return test_end();
}
