/* p_latency.c - a message goes to and fro: half of a round trip, in microseconds, the median of all. */

/* Through a relay, between 0 and 2, else between 0 and 1. With more processes than these (many=) the others
 * are linked with 0 and silent: that is the pattern `many`. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 200000

static int got_one;

static void latency_got(int from, const void *data, size_t size)
{
    (void)from;
    (void)data;
    (void)size;
    got_one = 1;
}

static void latency_wait(void)
{
    while (!got_one)
        bench_turn();
    got_one = 0;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void latency_measure(int peer, const char *data)
{
    float *took = malloc(ROUNDS_MOST * sizeof *took);
    uint64_t start = bench_ns(), last, now;
    int n, warm = 20;

    if (took == NULL)
        bench_die("no memory");
    for (n = -warm, last = start; n < ROUNDS_MOST && (n < 10 || last - start < bench.us * 1000); n++) {
        bench_send(peer, data, bench.size);
        latency_wait();
        now = bench_ns(); /* a round trip may be 6 us: whole ones would be too coarse */
        if (n >= 0)
            took[n] = (float)(now - last) / 2000;
        last = now;
        if (n == -1)
            start = now;
    }
    qsort(took, (size_t)n, sizeof *took, by_value);
    bench_say("us", (double)took[n / 2]);
    bench_say("p99", (double)took[n - 1 - n / 100]);
    bench_say("rounds", n);
    free(took);
}

static void latency_run(void)
{
    int peer = bench.shape == BENCH_RELAY ? 2 : 1;
    char *data = calloc(1, bench.size);

    if (data == NULL)
        bench_die("no memory");
    if (bench.me == 0)
        latency_measure(peer, data);
    for (; bench.me == peer;) {
        latency_wait();
        bench_send(0, data, bench.size);
    }
    for (; bench.me != 0;) /* idle, until ended */
        sys_turn(1);
    free(data);
}

const struct bench_pattern p_latency = { "latency", BENCH_STAR, 2, latency_run, latency_got };
const struct bench_pattern p_many = { "many", BENCH_STAR, 11, latency_run, latency_got };
