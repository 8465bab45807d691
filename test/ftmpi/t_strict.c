/* t_strict.c - collective calls when a member dies at each of many moments: who gets what,
   and whether all agree.
 *
 * Goal: loose: nobody has success with wrong data; strict: all of the living have success, or none
 * (promise 84).
 * Method: engines in one process. The victim dies after a number of turns, and each survivor hears of it some
 * turns later, each at another time. Then the results are compared.
 */
#include "engines.h"

#include "coll.h"
#include "fault.h"

#define RANKS 5
#define COUNT 30000 /* ints: some messages are a rendezvous */
#define MOMENTS 14

enum call { BARRIER, ALLREDUCE, BCAST, ALLGATHER, REDUCE, CALLS };
static const char *const names[] = { "barrier", "allreduce", "bcast", "allgather", "reduce" };

static struct engines run;
static struct ftm_schedule *schedules[RANKS];
static int in[RANKS][COUNT], out[RANKS][COUNT * RANKS];
static int successes, errors;

static void build(struct ftm_schedule *s, enum call call, int rank)
{
    struct ftm_blocks_of from = engines_blocks(&run, rank, in[rank], COUNT);
    struct ftm_blocks_of to = engines_blocks(&run, rank, out[rank], COUNT);
    struct ftm_reduction r;

    memset(&r, 0, sizeof r);
    r.op = ftm_table_get(&run.at[rank]->handles, MPI_SUM, FTM_OP);
    r.type = from.type;
    r.count = COUNT;
    r.in = in[rank];
    r.out = call == ALLREDUCE || rank == 0 ? out[rank] : NULL;
    switch (call) {
    case BARRIER: ftm_coll_barrier(s); break;
    case ALLREDUCE: ftm_coll_allreduce(s, &r); break;
    case BCAST: ftm_coll_bcast(s, rank == 0 ? in[0] : out[rank], COUNT, from.type, 0); break;
    case ALLGATHER: ftm_coll_allgather(s, &from, &to); break;
    default: ftm_coll_reduce(s, &r, 0); break;
    }
}

/* What a member must have if it has success. */
static int is_right(enum call call, int rank)
{
    const int *o = out[rank];
    int i;

    if (call == BARRIER || (call == BCAST && rank == 0) || (call == REDUCE && rank != 0))
        return 1;
    if (call == BCAST)
        return o[0] == 1 && o[COUNT - 1] == 1;
    if (call != ALLGATHER)
        return o[0] == RANKS * (RANKS + 1) / 2 && o[COUNT - 1] == o[0];
    for (i = 0; i < RANKS && o[i * COUNT] == i + 1 && o[i * COUNT + COUNT - 1] == i + 1; i++)
        ;
    return i == RANKS;
}

static int all_are_done(struct engines *s, void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < RANKS; i++)
        if (s->at[i] != NULL && !ftm_schedule_done(schedules[i]))
            return 0;
    return 1;
}

static void begin_all(enum call call)
{
    int i, k;

    for (i = 0; i < RANKS; i++) {
        for (k = 0; k < COUNT; k++)
            in[i][k] = i + 1;
        memset(out[i], 0, sizeof out[i]);
        schedules[i] = ftm_schedule_new(run.at[i], run.at[i]->world);
        build(schedules[i], call, i);
        check(ftm_schedule_begin(schedules[i]) == 0, "it begins");
    }
}

/* Each survivor hears of it after another number of turns. */
static void tell_all(int victim, int later)
{
    int turn, i;

    for (turn = 0; turn <= 8; turn++) {
        for (i = 0; i < RANKS; i++)
            if (run.at[i] != NULL && (i * later) % 9 == turn)
                ftm_fault_declared(run.at[i], victim);
        engines_turn(&run);
    }
}

/* 1: nobody has success with wrong data, and if it is strict all have the same. */
static int look(enum call call, int strict)
{
    int i, good = 1, good_ones = 0, alive = 0;

    for (i = 0; i < RANKS; i++) {
        int rc = ftm_schedule_error(schedules[i]);

        if (run.at[i] == NULL)
            continue;
        alive++;
        good_ones += rc == 0;
        good = good && (rc == 0 ? is_right(call, i) : rc == MPI_ERR_OTHER);
    }
    successes += good_ones;
    errors += alive - good_ones;
    return good && (!strict || good_ones == 0 || good_ones == alive);
}

static int try_moment(enum call call, int strict, int victim, int moment)
{
    struct ftm_config how;
    struct ftm *dead;
    int i, good;

    memset(&how, 0, sizeof how);
    how.modes.comm = FTMPI_COMM_MODE_SHRINK;
    how.modes.coll = strict ? FTMPI_COLL_MODE_STRICT : FTMPI_COLL_MODE_LOOSE;
    if (!engines_begin(&run, RANKS, &how))
        return 0;
    begin_all(call);
    for (i = 0; i < moment; i++)
        engines_turn(&run);
    dead = run.at[victim];
    run.at[victim] = NULL;
    tell_all(victim, 1 + moment % 4);
    good = engines_until(&run, all_are_done, NULL) && look(call, strict) && run.ended == 0;
    run.at[victim] = dead;
    ftm_schedule_end_all(dead, dead->world, MPI_ERR_OTHER); /* so that it gives back what it has */
    for (i = 0; i < RANKS; i++)
        ftm_schedule_free(schedules[i]);
    engines_finish(&run);
    return good;
}

int main(void)
{
    int call, strict, moment, bad;

    for (strict = 0; strict < 2; strict++)
        for (call = 0; call < CALLS; call++) {
            for (bad = 0, moment = 0; moment < MOMENTS; moment++)
                bad += !try_moment((enum call)call, strict, 1 + moment % (RANKS - 1), moment * 2);
            ok(bad == 0, "%s, %s: %d moments", strict ? "strict" : "loose", names[call], MOMENTS);
        }
    ok(successes > 20 && errors > 20, "%d had success and %d the error", successes, errors);
    return test_end();
}
