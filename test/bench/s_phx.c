/* s_phx.c - Phoenix as a system of the bench: process i holds the name i + 1. */

/* Variants: tcp, unix, key (tcp with a key on every link), own (tcp, and the system's choice of AF_UNIX left
 * on), tls (a key, and TLS with it: in the build phx_tls only). The host is an ordinary one: it watches
 * phx_fd, sleeps in poll for as long as phx_timeout_ms says, and hands over large messages with
 * phx_send_owned, without a copy. Two more, both over tcp: copied does all by phx_send; handed also receives
 * large messages in buffers of its own (on_begin). One that spins asks for no descriptor:
 * phx_fd costs a write and a read of a pipe for each batch of sends (see phoenix.h). */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "phoenix.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Above it a host that cares hands its buffer over. */
#define OWNED 16384u
/* Buffers for messages that have begun. If all are taken the node takes memory of its own. */
#define PLACES 16

const char sys_name[] = "phx";
const int sys_needs_turns = 1;
const char *const sys_variants = "tcp unix key tls own (as in: nothing configured) copied handed";

static phx *node;
static struct pollfd watched;
static struct { void *data; size_t size; int lent; } places[PLACES];
static size_t owned_from;
static const char secret[] = "thirty-two bytes of a secret key";

int sys_launched(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static void *phx_begun(phx *p, const struct phx_message *m, void *user)
{
    int i;

    (void)p;
    (void)user;
    for (i = 0; i < PLACES && places[i].lent;)
        i++;
    if (i == PLACES)
        return NULL;
    if (places[i].size < m->size) {
        free(places[i].data);
        places[i].data = malloc(m->size);
        places[i].size = places[i].data != NULL ? m->size : 0;
    }
    places[i].lent = places[i].data != NULL;
    return places[i].data;
}

/* The buffer is ours again; others' data is let pass. */
static void phx_returned(const void *data)
{
    int i;

    for (i = 0; i < PLACES; i++)
        if (places[i].lent && places[i].data == data)
            places[i].lent = 0;
}

static void phx_abandoned(phx *p, void *buffer, size_t size, void *user)
{
    (void)p;
    (void)size;
    (void)user;
    phx_returned(buffer);
}

static void phx_took(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    (void)user;
    bench_got((int)m->from - 1, m->data, m->size);
    if (m->size >= OWNED)
        phx_returned(m->data);
}

static int phx_is(const char *variant)
{
    return strcmp(bench.variant, variant) == 0;
}

static void phx_must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "bench: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

/* Unix paths are known to all; a port is put on the board. */
static void phx_at(int of, char *out, size_t size)
{
    if (phx_is("unix"))
        snprintf(out, size, "unix://%s", bench_path(of));
    else
        snprintf(out, size, "tcp://127.0.0.1:%u", of == bench.me ? 0u : (unsigned)bench_get(of));
}

static void phx_announce(void)
{
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];

    phx_at(bench.me, text, sizeof text);
    phx_must(phx_listen(node, text), text);
    phx_must(phx_listening(node, 0, &at), "listening");
    bench_put(bench.me, at.port);
}

/* What was asked of the system, by this process, for each message that it sent or got. */
static void phx_calls(void)
{
    struct phx_stats s;

    phx_stats(node, &s);
    bench_say("calls", (double)s.os_calls / (double)(s.messages_out + s.messages_in));
}

static int phx_is_settled(void)
{
    struct phx_stats s;
    struct phx_id id;
    int i;

    phx_stats(node, &s);
    if (bench.shape == BENCH_MESH || (bench.shape == BENCH_STAR && bench.me == 0))
        if (s.links != (uint32_t)bench.count - 1)
            return 0;
    for (i = 0; i < bench.count; i++)
        if ((bench.shape != BENCH_STAR || bench.me == 0 || i == 0)
            && phx_owner(node, (uint64_t)i + 1, &id) != 0)
            return 0;
    return 1;
}

void sys_open(void)
{
    struct phx_config cfg;
    char at[PHX_ADDRESS_TEXT];
    int hub = bench.shape == BENCH_RELAY ? 1 : 0;

    phx_config_init(&cfg);
    cfg.on_message = phx_took;
    cfg.max_message = 64u << 20;
    cfg.same_host = phx_is("own"); /* the others measure what they are called after */
    cfg.tls = phx_is("tls");
    if (phx_is("handed")) {
        cfg.on_begin = phx_begun;
        cfg.on_abandon = phx_abandoned;
    }
    if (phx_is("key") || phx_is("tls")) {
        cfg.key = secret;
        cfg.key_size = sizeof secret - 1;
    }
    owned_from = phx_is("copied") ? SIZE_MAX : OWNED;
    phx_must(phx_new(&node, &cfg, phx_now_us()), "new");
    phx_must(phx_assume(node, (uint64_t)bench.me + 1, (uint64_t)bench.me + 1), "assume");
    if (bench.shape == BENCH_MESH || bench.me == hub)
        phx_announce();
    if (bench.me != hub) {
        bench_get(hub);
        phx_at(hub, at, sizeof at);
        phx_must(phx_join(node, at), at);
    }
    bench_also = phx_calls;
    watched.fd = bench.wait == BENCH_SPIN ? -1 : phx_fd(node);
    watched.events = POLLIN;
    while (!phx_is_settled()) {
        poll(&watched, 1, watched.fd < 0 ? 1 : phx_timeout_ms(node, phx_now_us()));
        phx_step(node, phx_now_us(), NULL, 0);
    }
    bench_meet();
}

static void phx_released(const void *data, size_t size, void *arg)
{
    (void)data;
    (void)size;
    (void)arg;
}

int sys_send(int to, const void *data, size_t size)
{
    uint64_t name = (uint64_t)to + 1, from = (uint64_t)bench.me + 1;
    int err = size < owned_from ? phx_send(node, name, from, 0, data, size)
                                : phx_send_owned(node, name, from, 0, data, size, phx_released, NULL);

    if (err == PHX_EAGAIN)
        return 1;
    phx_must(err, "send");
    return 0;
}

void sys_turn(int sleep)
{
    struct pollfd none = { -1, 0, 0 };
    uint64_t now = phx_now_us();
    int wait;

    if (phx_deadline(node) == 0) {
        phx_step(node, now, &none, 1); /* what was just sent leaves; no need to look for more first */
        wait = phx_timeout_ms(node, now);
    } else {
        wait = sleep ? phx_timeout_ms(node, now) : 0;
    }
    if (sleep && wait != 0 && poll(&watched, 1, watched.fd < 0 ? 1 : wait) >= 0)
        now = phx_now_us();
    phx_step(node, now, NULL, 0);
}

void sys_relay(void)
{
    for (;;)
        sys_turn(1);
}

void sys_close(void)
{
    phx_close(node, 100000);
    while (!phx_closed(node))
        sys_turn(1);
    phx_free(node);
}
