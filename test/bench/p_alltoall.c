/* p_alltoall.c - everybody sends one message to everybody and waits for all of them: microseconds a round. */

/* When the time is over, process 0 makes its messages one byte longer: their round is the last. Somebody may
 * see that before his own round before it is complete, so the number of the round is kept and not a flag. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static uint64_t rounds_done, *got_from;
static uint64_t last_round; /* counted from 1; 0: not known yet */

static void alltoall_got(int from, const void *data, size_t size)
{
    (void)data;
    got_from[from]++;
    if (size > bench.size)
        last_round = got_from[from];
}

static int alltoall_complete(void)
{
    int i;

    for (i = 0; i < bench.count; i++)
        if (i != bench.me && got_from[i] <= rounds_done)
            return 0;
    return 1;
}

static void alltoall_run(void)
{
    char *data = calloc(1, bench.size + 1);
    uint64_t start;
    int i, over = 0;

    got_from = calloc((size_t)bench.count, sizeof *got_from);
    if (data == NULL || got_from == NULL)
        bench_die("no memory");
    for (start = bench_us(); !over; rounds_done++) {
        if (bench.me == 0 && bench_us() - start >= bench.us)
            last_round = rounds_done + 1;
        for (i = 1; i < bench.count; i++)
            bench_send((bench.me + i) % bench.count, data,
                       bench.size + (bench.me == 0 && last_round ? 1 : 0));
        while (!alltoall_complete())
            bench_turn();
        over = last_round == rounds_done + 1;
    }
    if (bench.me == 0) {
        bench_say("us", (double)(bench_us() - start) / (double)rounds_done);
        bench_say("rounds", (double)rounds_done);
        return;
    }
    for (;;)
        sys_turn(1);
}

const struct bench_pattern p_alltoall = { "alltoall", BENCH_MESH, 16, alltoall_run, alltoall_got };
