/* p_stream.c - one way, as fast as it goes: thousand messages and gigabytes per second. */

/* The sender sends for bench.us, or bench.most messages, and then a message of one byte; the receiver
 * answers it when it has everything. The time is from the first send to that answer, so what a system only
 * queued does not count. The receiver sleeps when there is nothing, as a host would. */
#include "bench.h"
#include <stdlib.h>

static uint64_t stream_count, stream_bytes;
static int stream_over;

static void stream_got(int from, const void *data, size_t size)
{
    (void)from;
    (void)data;
    stream_over |= size == 1;
    stream_count++;
    stream_bytes += size;
}

static uint64_t stream_send(int peer, const char *data)
{
    uint64_t start = bench_us(), n = 0;
    /* Asking the clock for each small message would be part of the work. */
    uint64_t each = bench.size < 1024 ? 256 : bench.size < 65536 ? 16 : 1;

    while (n < bench.most && (n < 2 || n % each != 0 || bench_us() - start < bench.us)) {
        bench_send(peer, data, bench.size);
        n++;
    }
    bench_send(peer, data, 1);
    return n;
}

static void stream_run(void)
{
    int peer = bench.shape == BENCH_RELAY ? 2 : 1;
    char *data = calloc(1, bench.size);
    uint64_t start = bench_us(), n, took;

    if (data == NULL)
        bench_die("no memory");
    if (bench.me == 0) {
        n = stream_send(peer, data);
        while (!stream_over)
            bench_turn();
        took = bench_us() - start;
        bench_say("kmsgs", (double)n * 1e3 / (double)took);
        bench_say("GB/s", (double)n * (double)bench.size / 1e3 / (double)took);
        bench_say("messages", (double)n);
        return;
    }
    for (;;) {
        bench_turn();
        if (stream_over) {
            stream_over = 0;
            bench_send(0, data, 1);
        }
    }
}

const struct bench_pattern p_stream = { "stream", BENCH_STAR, 2, stream_run, stream_got };
