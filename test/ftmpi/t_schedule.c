/* t_schedule.c - collectives that end in the middle: no memory, and calls that are given up. */

#include "engines.h"

#include "coll.h"

#define RANKS 4
#define COUNT 500

static struct engines run;
static int in[RANKS][COUNT * RANKS], out[RANKS][COUNT * RANKS];
static struct ftm_schedule *schedules[RANKS];

enum call { BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL, CALLS };

static void build(struct ftm_schedule *s, enum call call, int rank)
{
    struct ftm_blocks_of from = engines_blocks(&run, rank, in[rank], COUNT);
    struct ftm_blocks_of to = engines_blocks(&run, rank, out[rank], COUNT);
    struct ftm_reduction r;

    r.op = ftm_table_get(&run.at[rank]->handles, MPI_SUM, FTM_OP);
    r.type = from.type;
    r.count = COUNT;
    r.in = in[rank];
    r.out = out[rank];
    switch (call) {
    case BARRIER: ftm_coll_barrier(s); break;
    case BCAST: ftm_coll_bcast(s, in[rank], COUNT, from.type, 1); break;
    case REDUCE: r.out = rank == 2 ? r.out : NULL; ftm_coll_reduce(s, &r, 2); break;
    case ALLREDUCE: ftm_coll_allreduce(s, &r); break;
    case SCAN: ftm_coll_scan(s, &r, 0); break;
    case GATHER: ftm_coll_gather(s, &from, rank == 1 ? &to : NULL, 1); break;
    case SCATTER: ftm_coll_scatter(s, rank == 3 ? &from : NULL, &to, 3); break;
    case ALLGATHER: ftm_coll_allgather(s, &from, &to); break;
    default: ftm_coll_alltoall(s, &from, &to); break;
    }
}

/* What is not done by now waits for one that has failed. */
static void turn(void)
{
    int i;

    for (i = 0; i < 300; i++)
        engines_turn(&run);
}

static int are_done(struct engines *s, void *arg)
{
    int i;

    (void)s;
    (void)arg;
    for (i = 0; i < RANKS; i++)
        if (!ftm_schedule_done(schedules[i]))
            return 0;
    return 1;
}

/* One call by all. The k-th time that rank `poor` wants memory for it there is none; 0: there is always some.
 * Returns 1 if there was enough. */
static int collective(enum call call, int poor, long k)
{
    struct test_heap *heap = &run.heap[poor];
    int i, good = 1;

    for (i = 0; i < RANKS; i++) {
        heap->fail_at = i == poor && k > 0 ? heap->calls + k : 0;
        schedules[i] = ftm_schedule_new(run.at[i], run.at[i]->world);
        if (schedules[i] != NULL)
            build(schedules[i], call, i);
        if (schedules[i] == NULL || ftm_schedule_begin(schedules[i]) != 0
            || ftm_schedule_error(schedules[i]) != 0)
            good = 0;
        heap->fail_at = 0;
    }
    if (good)
        good = engines_until(&run, are_done, NULL);
    else
        turn();
    for (i = 0; i < RANKS; i++)
        if (schedules[i] != NULL)
            ftm_schedule_free(schedules[i]);
        else
            run.at[i]->world->collectives++; /* it took part with nothing */
    return good;
}

static int sums_are_right(void)
{
    int i, k;

    for (i = 0; i < RANKS; i++)
        for (k = 0; k < COUNT; k++) {
            in[i][k] = i * k;
            out[i][k] = -1;
        }
    if (!collective(ALLREDUCE, 0, 0))
        return 0;
    for (i = 0; i < RANKS; i++)
        for (k = 0; k < COUNT; k++)
            if (out[i][k] != RANKS * (RANKS - 1) / 2 * k)
                return 0;
    return 1;
}

/* Goal: a member without memory gets an error, whatever it was that it could not have; the others can give up
 * the call, and what is late of it never gets into the next one. */
static void test_memory(void)
{
    int call, poor, bad = 0, failures = 0, wrong = 0;
    long k;

    for (call = 0; call < CALLS; call++)
        for (poor = 0; poor < RANKS; poor++)
            for (k = 1; !collective((enum call)call, poor, k) && k < 100; k++, failures++)
                wrong += !sums_are_right();
    bad += run.ended;
    ok(failures > CALLS * RANKS * 2, "%d times there was no memory", failures);
    ok(bad == 0, "and no engine ended");
    ok(wrong == 0, "the call after it was right each time");
}

int main(void)
{
    struct ftm_config how;

    memset(&how, 0, sizeof how);
    if (!engines_begin(&run, RANKS, &how))
        return 1;
    test_memory();
    engines_finish(&run);
    return test_end();
}
