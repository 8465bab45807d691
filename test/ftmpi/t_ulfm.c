/* t_ulfm.c - the names of ULFM: classes of errors, acknowledging, revoking, agreeing and shrinking.
 *
 * Method: engines in one process, one of which dies; the test says so to each survivor. What one process can
 * see alone is asked for by the calls themselves.
 */
#include "engines.h"

#include "fault.h"
#include "mpi-ext.h"
#include "mpi_call.h"
#include "recover.h"
#include "ulfm.h"

#define RANKS 4
#define DEAD 2

static struct engines run;
static struct ftm *dead;
static struct ftm_request *asked[RANKS];
static int word[RANKS];

static void begin(int mode)
{
    struct ftm_config how;

    memset(&how, 0, sizeof how);
    how.modes.comm = mode;
    how.modes.msg = FTMPI_MSG_MODE_CONT;
    check(engines_begin(&run, RANKS, &how), "it begins");
}

static void die(void)
{
    int i;

    dead = run.at[DEAD];
    run.at[DEAD] = NULL;
    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL)
            ftm_fault_declared(run.at[i], DEAD);
}

static void end(void)
{
    ftm_this = NULL;
    run.at[DEAD] = dead;
    engines_finish(&run);
}

static int are_done(struct engines *s, void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < RANKS; i++)
        if (s->at[i] != NULL && asked[i] != NULL && !asked[i]->done)
            return 0;
    return 1;
}

/* Waits for what each survivor has asked for; 1: all ended so. */
static int all_end(int error)
{
    int i, good = engines_until(&run, are_done, NULL);

    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL) {
            good = good && asked[i]->error == error;
            ftm_request_free(run.at[i], asked[i]);
        }
    return good;
}

static void send_from(int at, int tag)
{
    static char byte;
    struct ftm_request *r;
    int i;

    check(ftm_send_start(run.at[at], &r, FTM_STANDARD, run.at[at]->world, 0, &byte, 1,
                         engines_type(&run, at, MPI_BYTE), 0, tag) == 0, "a send starts");
    ftm_request_free(run.at[at], r);
    for (i = 0; i < 100; i++)
        engines_turn(&run);
}

static int group_is(MPI_Group g, int size, int first)
{
    int n = -1, rank = 0, at = -1;
    MPI_Group world;

    MPI_Group_size(g, &n);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (n > 0)
        MPI_Group_translate_ranks(g, 1, &rank, world, &at);
    MPI_Group_free(&world);
    MPI_Group_free(&g);
    return n == size && at == first;
}

/* ---- What one process sees ----------------------------------------------------------------------- */

static void test_classes(void)
{
    MPI_Request r = MPI_REQUEST_NULL, named = MPI_REQUEST_NULL;
    int flag = 7, n = -1;
    MPI_Group g;
    MPI_Status st;
    char in[2];

    begin(FTMPI_COMM_MODE_ULFM);
    ftm_this = run.at[0];
    MPI_Irecv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r);
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &g);
    ok(group_is(g, 0, -1), "nobody has failed");
    die();
    ok(MPI_Isend(in, 1, MPI_BYTE, DEAD, 5, MPI_COMM_WORLD, &named) == MPI_SUCCESS
       && MPI_Wait(&named, &st) == MPIX_ERR_PROC_FAILED && named == MPI_REQUEST_NULL,
       "a start succeeds, and its end is MPIX_ERR_PROC_FAILED");
    ok(MPI_Recv(in, 1, MPI_BYTE, DEAD, 5, MPI_COMM_WORLD, &st) == MPIX_ERR_PROC_FAILED, "a blocking call");
    ok(MPI_Wait(&r, &st) == MPIX_ERR_PROC_FAILED_PENDING && r != MPI_REQUEST_NULL
       && MPI_Wait(&r, &st) == MPIX_ERR_PROC_FAILED_PENDING, "a receive from anybody: pending, each time");
    ok(MPI_Test(&r, &flag, &st) == MPIX_ERR_PROC_FAILED_PENDING && flag == 0, "in a test, too");
    ok(MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &st) == MPIX_ERR_PROC_FAILED,
       "and a blocking one: MPIX_ERR_PROC_FAILED");
    send_from(1, 5);
    ok(MPI_Wait(&r, &st) == MPI_SUCCESS && st.MPI_SOURCE == 1, "a pending one can be met all the same");
    MPI_Irecv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r);
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &g);
    ok(group_is(g, 1, DEAD), "who has failed");
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &g);
    ok(group_is(g, 0, -1), "nothing is acknowledged");
    ok(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &n) == MPI_SUCCESS && n == 0
       && MPIX_Comm_ack_failed(MPI_COMM_WORLD, 5, &n) == MPI_SUCCESS && n == 1
       && MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &n) == MPI_SUCCESS && n == 1, "acknowledging only grows");
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &g);
    ok(group_is(g, 1, DEAD), "who is acknowledged");
    ok(MPI_Test(&r, &flag, &st) == MPI_SUCCESS && flag == 0, "now the receive only waits");
    send_from(3, 5);
    ok(MPI_Wait(&r, &st) == MPI_SUCCESS && st.MPI_SOURCE == 3, "and is met");
    end();
}

/* ---- What all see -------------------------------------------------------------------------------- */

static int agree(int mode)
{
    int i, good, code = mode == FTMPI_COMM_MODE_ULFM ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER;

    for (i = 0; i < RANKS; i++) {
        word[i] = 0xff & ~(1 << i);
        asked[i] = NULL;
        if (run.at[i] != NULL)
            check(ftm_ulfm_agree(run.at[i], run.at[i]->world, &word[i], &asked[i]) == 0, "it begins");
    }
    good = all_end(code) && word[0] == 0xf4 && word[1] == 0xf4 && word[3] == 0xf4;
    for (i = 0; i < RANKS; i++) {
        word[i] = 12;
        if (run.at[i] == NULL)
            continue;
        ftm_ulfm_acknowledge(run.at[i]->world, 1);
        check(ftm_ulfm_agree(run.at[i], run.at[i]->world, &word[i], &asked[i]) == 0, "it begins");
    }
    return good && all_end(0) && word[0] == 12 && word[3] == 12;
}

static void test_revoke(void)
{
    static char byte[RANKS];
    struct ftm_request *r;
    struct ftm_comm *c;
    int i, good = 1;

    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL)
            check(ftm_recv_start(run.at[i], &asked[i], run.at[i]->world, 0, &byte[i], 1,
                                 engines_type(&run, i, MPI_BYTE), i == 0 ? 1 : 0, 9) == 0, "a receive");
    ftm_recover_revoke(run.at[1], run.at[1]->world);
    ok(all_end(MPIX_ERR_REVOKED), "one revokes: what all are waiting for ends");
    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL)
            good = good && ftm_recv_start(run.at[i], &r, run.at[i]->world, 0, &byte[i], 1,
                                          engines_type(&run, i, MPI_BYTE), 0, 9) == MPIX_ERR_REVOKED;
    ok(good, "and nothing can be started");
    for (i = 0; i < RANKS; i++)
        if (run.at[i] != NULL)
            check(ftm_ulfm_shrink(run.at[i], run.at[i]->world, &word[i], &asked[i]) == 0, "it begins");
    good = all_end(0);
    for (i = 0; i < RANKS; i++) {
        c = run.at[i] != NULL ? ftm_table_get(&run.at[i]->handles, word[i], FTM_COMM) : NULL;
        if (run.at[i] != NULL)
            good = good && c != NULL && c->size == RANKS - 1 && c->rank == (i > DEAD ? i - 1 : i)
                && !c->fault.revoked && c->fault.state == FT_OK;
    }
    ok(good, "MPIX_Comm_shrink of it gives one of the living");
    ok(run.ended == 0, "and no job has ended");
}

int main(void)
{
    test_classes();
    begin(FTMPI_COMM_MODE_SHRINK);
    die();
    ok(agree(FTMPI_COMM_MODE_SHRINK),
       "MPIX_Comm_agree in SHRINK: an error at all until all have acknowledged");
    end();
    begin(FTMPI_COMM_MODE_ULFM);
    die();
    ok(agree(FTMPI_COMM_MODE_ULFM), "and in ULFM");
    test_revoke();
    end();
    return test_end();
}
