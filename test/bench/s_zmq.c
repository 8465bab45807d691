/* s_zmq.c - ZeroMQ as a system of the bench: PAIR sockets, one for each link. */

/* Variants: tcp, ipc. For the star and the mesh a PAIR socket for each peer, each at a port of its own: that
 * is the leanest ZeroMQ has (no routing id to prepend and to look up). Its own thread reads and writes the
 * sockets; we look without blocking and sleep in zmq_poll. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* Messages in a queue. With the default of 1,000 the stream of small messages is slower. */
#define MARK 20000

const char sys_name[] = "zmq";
const int sys_needs_turns = 0;
const char *const sys_variants = "tcp ipc (as a relay: zmq_proxy)";

static void *context, *sockets[512];
static zmq_pollitem_t items[512];
static int peers[512], items_count, full;

int sys_launched(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static void *zmq_make(void)
{
    void *s = zmq_socket(context, ZMQ_PAIR);
    int mark = MARK, linger = 2000;

    if (s == NULL)
        bench_die("no socket");
    zmq_setsockopt(s, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(s, ZMQ_RCVHWM, &mark, sizeof mark);
    zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
    return s;
}

static void zmq_add(int peer, void *s)
{
    sockets[peer] = s;
    peers[items_count] = peer;
    items[items_count].socket = s;
    items[items_count++].events = ZMQ_POLLIN;
}

/* An address for the link that `to` has with `from`. */
static void zmq_path(int to, int from, char *out, size_t size)
{
    snprintf(out, size, "ipc://%s.%d", bench_path(to), from);
}

static void *zmq_serve(int from)
{
    char at[256];
    size_t n = sizeof at;
    void *s = zmq_make();

    if (strcmp(bench.variant, "ipc") == 0)
        zmq_path(bench.me, from, at, sizeof at);
    else
        snprintf(at, sizeof at, "tcp://127.0.0.1:*");
    if (zmq_bind(s, at) != 0)
        bench_die(zmq_strerror(errno));
    zmq_getsockopt(s, ZMQ_LAST_ENDPOINT, at, &n);
    bench_put(bench.me * bench.count + from, strtoul(strrchr(at, ':') + 1, NULL, 10));
    return s;
}

static void *zmq_join(int to)
{
    char at[256];
    void *s = zmq_make();
    unsigned port = (unsigned)bench_get(to * bench.count + bench.me);

    if (strcmp(bench.variant, "ipc") == 0)
        zmq_path(to, bench.me, at, sizeof at);
    else
        snprintf(at, sizeof at, "tcp://127.0.0.1:%u", port);
    if (zmq_connect(s, at) != 0)
        bench_die(zmq_strerror(errno));
    return s;
}

void sys_open(void)
{
    int i;

    context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4096);
    if (bench.shape == BENCH_RELAY) {
        if (bench.me == 0)
            zmq_add(2, zmq_join(1));
        else if (bench.me == 2)
            zmq_add(0, zmq_join(1));
    } else {
        for (i = bench.me + 1; i < bench.count && (bench.shape == BENCH_MESH || bench.me == 0); i++)
            zmq_add(i, zmq_serve(i));
        for (i = 0; i < bench.me && (bench.shape == BENCH_MESH || i == 0); i++)
            zmq_add(i, zmq_join(i));
    }
    if (bench.shape != BENCH_RELAY || bench.me != 1)
        bench_meet(); /* the relay opens its sockets in sys_relay */
}

int sys_send(int to, const void *data, size_t size)
{
    if (zmq_send(sockets[to], data, size, ZMQ_DONTWAIT) >= 0)
        return 0;
    if (errno != EAGAIN && errno != EINTR)
        bench_die(zmq_strerror(errno));
    full = 1;
    return 1;
}

/* What is there, a thousand messages at most: 1 if there was any. */
static int zmq_take(int peer)
{
    int i;

    for (i = 0; i < 1000; i++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, sockets[peer], ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            return i > 0;
        }
        bench_got(peer, zmq_msg_data(&m), zmq_msg_size(&m));
        zmq_msg_close(&m);
    }
    return 1;
}

void sys_turn(int sleep)
{
    int i, any = 0;

    if (items_count == 1 && zmq_take(peers[0]))
        return;
    if (!sleep && items_count == 1)
        return;
    for (i = 0; i < items_count; i++)
        items[i].events = (short)(full ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN);
    full = 0;
    if (zmq_poll(items, items_count, sleep ? -1 : 0) <= 0)
        return;
    for (i = 0; i < items_count; i++)
        if (items[i].revents & ZMQ_POLLIN)
            any |= zmq_take(peers[i]);
}

void sys_relay(void)
{
    void *a = zmq_serve(0), *b = zmq_serve(2);

    zmq_proxy(a, b, NULL);
}

void sys_close(void)
{
    int i;

    for (i = 0; i < items_count; i++)
        zmq_close(items[i].socket);
    zmq_ctx_term(context);
}
