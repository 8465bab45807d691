/* s_nng.c - nng as a system of the bench: pair sockets, one for each link. */

/* Variants: tcp, ipc. nng has threads of its own for all input and output. Sends block when a queue is full,
 * which is nng's own way to wait; receives look, or wait when there is but one socket. With several links
 * there is one poll over the sockets' receive descriptors. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/supplemental/util/platform.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERED 8192 /* messages in a queue, the most it takes */

const char sys_name[] = "nng";
const int sys_needs_turns = 0;
const char *const sys_variants = "tcp ipc (as a relay: nng_device)";

static nng_socket sockets[512];
static struct pollfd watched[512];
static int peers[512], socket_count;

int sys_launched(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static void nng_must(int err)
{
    if (err != 0)
        bench_die(nng_strerror(err));
}

static nng_socket nng_make(int raw)
{
    nng_socket s;

    nng_must(raw ? nng_pair0_open_raw(&s) : nng_pair0_open(&s));
    nng_must(nng_socket_set_int(s, NNG_OPT_SENDBUF, BUFFERED));
    nng_must(nng_socket_set_int(s, NNG_OPT_RECVBUF, BUFFERED));
    nng_must(nng_socket_set_size(s, NNG_OPT_RECVMAXSZ, 0));
    return s;
}

static void nng_add(int peer, nng_socket s)
{
    sockets[peer] = s;
    peers[socket_count] = peer;
    nng_must(nng_socket_get_int(s, NNG_OPT_RECVFD, &watched[socket_count].fd));
    watched[socket_count++].events = POLLIN;
}

static int nng_is_ipc(void)
{
    return strcmp(bench.variant, "ipc") == 0;
}

static nng_socket nng_serve(int from, int raw)
{
    nng_socket s = nng_make(raw);
    nng_listener l;
    char at[256];
    int port = 0;

    if (nng_is_ipc())
        snprintf(at, sizeof at, "ipc://%s.%d", bench_path(bench.me), from);
    else
        snprintf(at, sizeof at, "tcp://127.0.0.1:0");
    nng_must(nng_listen(s, at, &l, 0));
    if (!nng_is_ipc())
        nng_must(nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port));
    bench_put(bench.me * bench.count + from, (uint64_t)port);
    return s;
}

static nng_socket nng_join(int to)
{
    unsigned port = (unsigned)bench_get(to * bench.count + bench.me);
    nng_socket s = nng_make(0);
    char at[256];

    if (nng_is_ipc())
        snprintf(at, sizeof at, "ipc://%s.%d", bench_path(to), bench.me);
    else
        snprintf(at, sizeof at, "tcp://127.0.0.1:%u", port);
    nng_must(nng_dial(s, at, NULL, 0));
    return s;
}

void sys_open(void)
{
    int i;

    if (bench.shape == BENCH_RELAY) {
        if (bench.me == 0)
            nng_add(2, nng_join(1));
        else if (bench.me == 2)
            nng_add(0, nng_join(1));
    } else {
        for (i = bench.me + 1; i < bench.count && (bench.shape == BENCH_MESH || bench.me == 0); i++)
            nng_add(i, nng_serve(i, 0));
        for (i = 0; i < bench.me && (bench.shape == BENCH_MESH || i == 0); i++)
            nng_add(i, nng_join(i));
    }
    if (bench.shape != BENCH_RELAY || bench.me != 1)
        bench_meet(); /* the relay opens its sockets in sys_relay */
}

int sys_send(int to, const void *data, size_t size)
{
    nng_must(nng_send(sockets[to], (void *)data, size, 0));
    return 0;
}

static int nng_take(int peer, int flags)
{
    nng_msg *m;
    int i;

    for (i = 0; i < 1000; i++) {
        int err = nng_recvmsg(sockets[peer], &m, i == 0 ? flags : (int)NNG_FLAG_NONBLOCK);
        if (err == NNG_EAGAIN)
            return i > 0;
        nng_must(err);
        bench_got(peer, nng_msg_body(m), nng_msg_len(m));
        nng_msg_free(m);
    }
    return 1;
}

void sys_turn(int sleep)
{
    int i;

    if (socket_count == 1) {
        nng_take(peers[0], sleep ? 0 : NNG_FLAG_NONBLOCK);
        return;
    }
    if (poll(watched, (nfds_t)socket_count, sleep ? -1 : 0) <= 0)
        return;
    for (i = 0; i < socket_count; i++)
        if (watched[i].revents & POLLIN)
            nng_take(peers[i], NNG_FLAG_NONBLOCK);
}

void sys_relay(void)
{
    nng_socket a = nng_serve(0, 1), b = nng_serve(2, 1);

    nng_must(nng_device(a, b));
    exit(0);
}

/* nng says nowhere when a message has left; a lull is what its own tools wait for. */
void sys_close(void)
{
    nng_msleep(20);
}
