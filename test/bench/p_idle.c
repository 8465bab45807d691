/* p_idle.c - what a look costs when nothing has come, with count - 1 silent links: microseconds a turn. */
#include "bench.h"

static void idle_got(int from, const void *data, size_t size)
{
    (void)from;
    (void)data;
    (void)size;
}

static void idle_run(void)
{
    uint64_t start, n = 0;

    if (bench.me == 0) {
        for (start = bench_us(); bench_us() - start < 50000;)
            sys_turn(0); /* what a start has left behind */
        for (start = bench_us(); bench_us() - start < bench.us;) {
            int i;
            for (i = 0; i < 100; i++)
                sys_turn(0);
            n += 100;
        }
        bench_say("us", (double)(bench_us() - start) / (double)n);
        bench_say("turns", (double)n);
        return;
    }
    for (;;)
        sys_turn(1);
}

const struct bench_pattern p_idle = { "idle", BENCH_STAR, 11, idle_run, idle_got };
