/* bench.c - phx bench: latency, message rate and bandwidth between here and a node of phx hub or phx node. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define BENCH_SMALL 64
#define BENCH_LARGE ((size_t)1 << 20)
#define BENCH_AHEAD ((size_t)16 << 20)

struct bench {
    uint64_t to, from, number; /* of the count that is asked for */
    uint64_t messages, bytes;  /* what the other side has counted */
    long echoes, counted;
    struct phx_id peer;
    int gone;
};

static void bench_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct bench *b = ((struct tool *)user)->state;
    const unsigned char *data = m->data;

    (void)p;
    if (m->tag == TOOL_TAG + TOOL_ECHOED) {
        b->echoes++;
    } else if (m->tag == TOOL_TAG + TOOL_COUNTED && m->size == 24 && tool_get64(data) == b->number) {
        b->messages = tool_get64(data + 8);
        b->bytes = tool_get64(data + 16);
        b->counted = 1;
    }
}

static void bench_on_node(phx *p, const struct phx_node *n, void *user)
{
    struct bench *b = ((struct tool *)user)->state;

    (void)p;
    if (memcmp(&n->id, &b->peer, sizeof n->id) == 0
        && (n->state == PHX_NODE_FAILED || n->state == PHX_NODE_LEFT))
        b->gone = 1;
}

static int bench_is_echoed(struct tool *t)
{
    struct bench *b = t->state;

    return b->echoes > 0 || b->gone;
}

static int bench_is_counted(struct tool *t)
{
    struct bench *b = t->state;

    return b->counted || b->gone;
}

static int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* One small message there and back, again and again for so many seconds: the median of half of that. */
static int bench_latency(struct tool *t, double seconds, double *out)
{
    static double times[100000];
    static const char small[8];
    struct bench *b = t->state;
    uint64_t begun, end = phx_now_us() + (uint64_t)(seconds * 1e6);
    size_t n = 0;
    int err;

    while (phx_now_us() < end && n < sizeof times / sizeof *times) {
        b->echoes = 0;
        begun = phx_now_us();
        if ((err = tool_post(t, b->to, b->from, TOOL_ECHO, small, sizeof small)) != 0)
            return tool_say(TOOL_FAILED, "%s", phx_strerror(err));
        (void)phx_step(t->p, phx_now_us(), t->fds, 0);
        if (tool_until(t, t->wait_s < 0 ? 5 : t->wait_s, bench_is_echoed) <= 0 || b->gone)
            return tool_say(TOOL_FAILED, "no answer: that name must be held by `phx node` or `phx hub`");
        times[n++] = (double)(phx_now_us() - begun) / 2e6;
    }
    qsort(times, n, sizeof *times, bench_compare);
    *out = times[n / 2];
    return 0;
}

static void bench_release(const void *data, size_t size, void *arg)
{
    (void)data;
    (void)size;
    (void)arg;
}

/* Small ones share frames, large ones are lent. */
static int bench_send(struct tool *t, const void *data, size_t size)
{
    struct bench *b = t->state;

    return size <= BENCH_SMALL
               ? tool_post(t, b->to, b->from, TOOL_SINK, data, size)
               : phx_send_owned(t->p, b->to, b->from, TOOL_TAG + TOOL_SINK, data, size, bench_release, NULL);
}

/* Messages of one size as fast as they go, until the other side has counted the last of them. */
static int bench_stream(struct tool *t, double seconds, size_t size, double *per_s)
{
    static unsigned char data[BENCH_LARGE];
    struct bench *b = t->state;
    unsigned char number[8];
    uint64_t begun = phx_now_us(), end = begun + (uint64_t)(seconds * 1e6);
    int err = 0;

    while (phx_now_us() < end && !b->gone && !t->stop) {
        while (phx_pending(t->p) < BENCH_AHEAD && (err = bench_send(t, data, size)) == 0)
            ;
        tool_turn(t, 10, NULL, 0);
    }
    b->counted = 0;
    tool_put64(number, ++b->number);
    while ((err = tool_post(t, b->to, b->from, TOOL_COUNT, number, sizeof number)) == PHX_EAGAIN && !b->gone
           && !t->stop)
        tool_turn(t, 10, NULL, 0);
    if (err != 0 || tool_until(t, 60, bench_is_counted) <= 0 || b->gone)
        return tool_say(TOOL_FAILED, "the other side did not count to the end");
    *per_s = (double)b->messages / ((double)(phx_now_us() - begun) / 1e6);
    return 0;
}

static int bench_begin(struct tool *t, struct bench *b)
{
    int err;

    if ((err = tool_settle(t)) != 0)
        return err;
    if (phx_owner(t->p, b->to, &b->peer) != 0)
        return tool_say(TOOL_FAILED, "nobody holds that name; see phx ls");
    if ((err = phx_assume(t->p, b->from, b->from)) != 0)
        return tool_say(TOOL_FAILED, "%s", phx_strerror(err));
    return 0;
}

static int bench_all(struct tool *t, double seconds)
{
    double latency = 0, rate = 0, large = 0;
    char time[32];
    int err;

    if ((err = bench_latency(t, seconds, &latency)) != 0
        || (err = bench_stream(t, seconds, BENCH_SMALL, &rate)) != 0
        || (err = bench_stream(t, seconds, BENCH_LARGE, &large)) != 0)
        return err;
    if (t->json)
        (void)printf("{\"latency_us\":%.1f,\"messages_per_s\":%.0f,\"bytes_per_s\":%.0f}\n", latency * 1e6,
                     rate, large * (double)BENCH_LARGE);
    else
        (void)printf("latency    %s (half of a round trip of 8 bytes, median)\nrate       %.3g million "
                     "messages of %d bytes"
                     " a second\nbandwidth  %.3g MB/s (messages of 1 MiB)\n",
                     tool_time_text(latency, time), rate / 1e6, BENCH_SMALL,
                     large * (double)BENCH_LARGE / 1e6);
    return 0;
}

static int bench_run(struct tool *t, int argc, char **argv)
{
    static struct bench b;
    struct phx_range to;
    int err;

    (void)argc;
    if (!tool_range(argv[0], &to) || to.first != to.last)
        return tool_say(TOOL_USAGE, "%s: not a name (7, 0x10)", argv[0]);
    t->cfg.on_message = bench_on_message;
    t->cfg.on_node = bench_on_node;
    t->cfg.window = t->cfg.hold_bytes = 2 * BENCH_AHEAD;
    t->state = &b;
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 1)) != 0)
        return err;
    b.to = to.first;
    b.from = tool_name(t);
    if ((err = bench_begin(t, &b)) == 0)
        err = bench_all(t, t->count > 0 ? (double)t->count : 1);
    return err;
}

const struct tool_command tool_bench = {
    "bench",
    "NAME",
    "latency, message rate, bandwidth between here and there",
    "  phx node 7 --join tcp://hub:7000 --key k       there\n"
    "  phx bench 7 --join tcp://hub:7000 --key k      here; --count 10: ten seconds for each of the three",
    1,
    1,
    bench_run
};
