/* t_cost.c - what messages cost, counted exactly: system calls, allocations, bytes on the wire. */

/* Times depend on the machine and are in test/bench; counts do not, so they are asserted here. Two nodes in
 * one process talk over loopback TCP through a struct phx_os that counts what it passes on, and an allocator
 * that counts. Limits are those of PERF.md, or what is reached today where that is better. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "os.h"
#include "phoenix.h"
#endif

#include <signal.h>

/* A machine under load and sanitizers may be slow; what waits this long is broken. */
#define PATIENCE ((uint64_t)10000000)

struct counts {
    struct phx_os real;
    struct phx__mem mem;
    long sends, recvs, waits, watches, bytes;
};

struct side {
    struct phx *p;
    struct counts os;
    struct test_heap heap;
    struct phx_os hooks;
    struct phx_alloc alloc;
    long got;
};

static struct side sides[2];

/* ---- A world that counts ----------------------------------------------------------------------- */

static int cost_listen(void *w, struct phx_address *at, int *h)
{
    struct counts *c = w;
    return c->real.listen(c->real.world, at, h);
}

static int cost_accept(void *w, int l, int *h, struct phx_address *from)
{
    struct counts *c = w;
    return c->real.accept(c->real.world, l, h, from);
}

static int cost_dial(void *w, const struct phx_address *to, int *h)
{
    struct counts *c = w;
    return c->real.dial(c->real.world, to, h);
}

static int cost_finish(void *w, int h)
{
    struct counts *c = w;
    return c->real.finish(c->real.world, h);
}

static int cost_local(void *w, int h, struct phx_address *out)
{
    struct counts *c = w;
    return c->real.local(c->real.world, h, out);
}

static long cost_send(void *w, int h, const struct iovec *iov, int count)
{
    struct counts *c = w;
    long n = c->real.send(c->real.world, h, iov, count);
    c->sends++;
    c->bytes += n > 0 ? n : 0;
    return n;
}

static long cost_recv(void *w, int h, void *data, size_t size)
{
    struct counts *c = w;
    c->recvs++;
    return c->real.recv(c->real.world, h, data, size);
}

static void cost_close(void *w, int h)
{
    struct counts *c = w;
    c->real.close(c->real.world, h);
}

static int cost_watch(void *w, int h, int events)
{
    struct counts *c = w;
    c->watches++;
    return c->real.watch(c->real.world, h, events);
}

static int cost_wait(void *w, struct phx_ready *out, int capacity)
{
    struct counts *c = w;
    c->waits++;
    return c->real.wait(c->real.world, out, capacity);
}

static int cost_random(void *w, void *out, size_t size)
{
    struct counts *c = w;
    return c->real.random(c->real.world, out, size);
}

static int cost_resolve(void *w, const char *host, struct phx_address *out, int capacity)
{
    struct counts *c = w;
    return c->real.resolve(c->real.world, host, out, capacity);
}

static int cost_fd(void *w)
{
    struct counts *c = w;
    return c->real.fd(c->real.world);
}

static int cost_wake(void *w)
{
    struct counts *c = w;
    return c->real.wake(c->real.world);
}

static void cost_free(void *w)
{
    struct counts *c = w;
    c->real.free(c->real.world);
}

/* ---- Two sides --------------------------------------------------------------------------------- */

static void cost_message(phx *p, const struct phx_message *m, void *user)
{
    struct side *s = user;

    (void)p;
    (void)m;
    s->got++;
}

static void cost_begin(struct side *s)
{
    struct phx_os hooks = { PHX_OS_VERSION, NULL,        cost_listen, cost_accept, cost_dial,
                            cost_finish,    cost_local,  cost_send,   cost_recv,   cost_close,
                            cost_watch,     cost_wait,   cost_random, cost_resolve, cost_fd,
                            cost_wake,      cost_free };
    struct phx_config cfg;

    memset(s, 0, sizeof *s);
    phx__mem_init(&s->os.mem, NULL, 0);
    check(phx__os_init(&s->os.real, &s->os.mem) == 0, "a world");
    s->hooks = hooks;
    s->hooks.world = &s->os;
    s->alloc.alloc = test_alloc;
    s->alloc.world = &s->heap;
    phx_config_init(&cfg);
    cfg.os = &s->hooks;
    cfg.alloc = &s->alloc;
    cfg.on_message = cost_message;
    cfg.user = s;
    check(phx_new(&s->p, &cfg, phx_now_us()) == 0, "a node");
}

static void cost_turn(void)
{
    phx_step(sides[0].p, phx_now_us(), NULL, 0);
    phx_step(sides[1].p, phx_now_us(), NULL, 0);
}

/* Turns until side `i` has `count` messages; 0: it took longer than patience. */
static int cost_until(int i, long count)
{
    uint64_t end = phx_now_us() + PATIENCE;

    while (sides[i].got < count && phx_now_us() < end)
        cost_turn();
    return sides[i].got >= count;
}

static int cost_open(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_address address;
    struct phx_id id;
    uint64_t end = phx_now_us() + PATIENCE;

    cost_begin(&sides[0]);
    cost_begin(&sides[1]);
    check(phx_listen(sides[0].p, "tcp://127.0.0.1:0") == 0, "listens");
    check(phx_listening(sides[0].p, 0, &address) == 0, "somewhere");
    check(phx_join(sides[1].p, phx_address_text(&address, at)) == 0, "joins");
    check(phx_assume(sides[0].p, 1, 1) == 0 && phx_assume(sides[1].p, 2, 2) == 0, "names");
    while (phx_now_us() < end
           && (phx_owner(sides[0].p, 2, &id) != 0 || phx_owner(sides[1].p, 1, &id) != 0))
        cost_turn();
    return phx_owner(sides[0].p, 2, &id) == 0 && phx_owner(sides[1].p, 1, &id) == 0;
}

static void cost_close_all(void)
{
    int i;

    for (i = 0; i < 2; i++) {
        phx_free(sides[i].p);
        ok(test_heap_is_clean(&sides[i].heap), "node %d gave all its memory back", i);
    }
}

/* Both sides' counters since `before`. */
static long cost_calls(const struct counts *a, const struct counts *b)
{
    return a->sends + a->recvs + a->waits + a->watches - b->sends - b->recvs - b->waits - b->watches;
}

/* ---- Tests ------------------------------------------------------------------------------------- */

#define STREAM 20000L

static int cost_stream(size_t size, long count)
{
    static const char data[1024];
    long sent = 0, target = sides[0].got + count;
    uint64_t end = phx_now_us() + PATIENCE;

    while (sent < count && phx_now_us() < end) {
        int err = phx_send(sides[1].p, 1, 2, 0, data, size);
        if (err == PHX_EAGAIN)
            cost_turn();
        else if (check(err == 0, "send: %s", phx_strerror(err)))
            sent++;
        else
            return 0;
    }
    return cost_until(0, target);
}

static void test_stream(size_t size, double calls_most, double wire_most)
{
    /* Goal: a stream of small messages leaves in few writes, allocates nothing and carries a bounded head.
     * Method: stream once to warm up, then again and count. */
    struct counts out, in;
    long allocations, calls;
    double wire;

    if (!ok(cost_stream(size, STREAM), "%d bytes: the first stream came through", (int)size))
        return;
    out = sides[1].os;
    in = sides[0].os;
    allocations = sides[0].heap.calls + sides[1].heap.calls;
    if (!ok(cost_stream(size, STREAM), "%d bytes: and the second", (int)size))
        return;
    calls = cost_calls(&sides[1].os, &out) + cost_calls(&sides[0].os, &in);
    allocations = sides[0].heap.calls + sides[1].heap.calls - allocations;
    wire = (double)(sides[1].os.bytes - out.bytes) / STREAM;
    ok((double)calls <= calls_most * STREAM, "%d bytes: %.4f system calls a message, at most %.2f", (int)size,
       (double)calls / STREAM, calls_most);
    /* Blocks of 64 KiB for what is under way come and go: that many, and none for a message. */
    ok((double)allocations <= 4.0 * STREAM * ((double)size + 90) / 65536 + 20,
       "%d bytes: %.4f allocations a message", (int)size, (double)allocations / STREAM);
    ok(wire <= (double)size + wire_most, "%d bytes: %.1f on the wire", (int)size, wire);
}

#define TURNS 500L

static int cost_ping(long count)
{
    while (count-- > 0) {
        long want = sides[0].got + 1;
        if (phx_send(sides[1].p, 1, 2, 0, "12345678", 8) != 0 || !cost_until(0, want))
            return 0;
        want = sides[1].got + 1;
        if (phx_send(sides[0].p, 2, 1, 0, "12345678", 8) != 0 || !cost_until(1, want))
            return 0;
    }
    return 1;
}

static void test_ping(void)
{
    /* Goal: a lone message is one write, and so is a reply with the ack of what it answers; nothing is
     * allocated. Method: ping-pong; only beats and acks by timer may come on top. */
    struct counts a, b;
    long allocations, writes;

    if (!ok(cost_ping(50), "ping-pong"))
        return;
    a = sides[0].os;
    b = sides[1].os;
    allocations = sides[0].heap.calls + sides[1].heap.calls;
    if (!ok(cost_ping(TURNS), "ping-pong again"))
        return;
    writes = sides[0].os.sends - a.sends + sides[1].os.sends - b.sends;
    ok(writes <= 2 * TURNS + TURNS / 20, "%ld writes for %ld messages", writes, 2 * TURNS);
    ok(sides[0].os.watches == a.watches && sides[1].os.watches == b.watches, "nothing is watched anew");
    allocations = sides[0].heap.calls + sides[1].heap.calls - allocations;
    ok(allocations <= 2, "%ld allocations in %ld round trips", allocations, TURNS);
}

static void test_idle(void)
{
    /* Goal: a step with nothing to do is one system call, or none if the host has looked, and allocates
     * nothing. */
    struct pollfd none = { -1, 0, 0 };
    struct counts before;
    long allocations;
    uint64_t now;
    int i;

    for (i = 0; i < 200; i++)
        cost_turn();
    before = sides[0].os;
    allocations = sides[0].heap.calls;
    now = phx_now_us();
    for (i = 0; i < 100; i++) /* at one moment, so that no timer is due on the way */
        phx_step(sides[0].p, now, NULL, 0);
    ok(cost_calls(&sides[0].os, &before) <= 102, "100 looks: %ld calls",
       cost_calls(&sides[0].os, &before));
    before = sides[0].os;
    for (i = 0; i < 100; i++)
        phx_step(sides[0].p, now, &none, 0);
    ok(cost_calls(&sides[0].os, &before) == 0, "100 steps when the host knows better: %ld calls",
       cost_calls(&sides[0].os, &before));
    ok(sides[0].heap.calls == allocations, "no allocation");
}

static void test_link(void)
{
    /* Goal: a link costs three messages and little else (PERF.md, start of a mesh). Method: count what both
     * sides ask of the world from the call of phx_join until both are up, beside looks for what is ready. */
    struct counts in, out;
    char at[PHX_ADDRESS_TEXT];
    struct phx_address address;
    struct phx_stats s[2];
    uint64_t end = phx_now_us() + PATIENCE;
    int turns = 0;

    cost_begin(&sides[0]);
    cost_begin(&sides[1]);
    check(phx_listen(sides[0].p, "tcp://127.0.0.1:0") == 0, "listens");
    check(phx_listening(sides[0].p, 0, &address) == 0, "somewhere");
    in = sides[0].os;
    out = sides[1].os;
    check(phx_join(sides[1].p, phx_address_text(&address, at)) == 0, "joins");
    do {
        phx_step(sides[1].p, phx_now_us(), NULL, 0);
        phx_step(sides[0].p, phx_now_us(), NULL, 0);
        phx_stats(sides[0].p, &s[0]);
        phx_stats(sides[1].p, &s[1]);
        turns++;
    } while ((s[0].links == 0 || s[1].links == 0) && phx_now_us() < end);
    in.sends = sides[0].os.sends - in.sends;
    in.recvs = sides[0].os.recvs - in.recvs;
    in.watches = sides[0].os.watches - in.watches;
    out.sends = sides[1].os.sends - out.sends;
    out.recvs = sides[1].os.recvs - out.recvs;
    out.watches = sides[1].os.watches - out.watches;
    ok(s[0].links == 1 && s[1].links == 1, "a link");
#ifdef __linux__ /* where a connection within the host is there at once */
    ok(turns <= 3, "it takes %d turns, at most 3", turns);
    ok(out.sends <= 2 && out.recvs <= 1 && out.watches == 1,
       "who dials: %ld sends, at most 2, %ld receives, at most 1, %ld watches, just 1", out.sends, out.recvs,
       out.watches);
    ok(in.sends <= 2 && in.recvs <= 3 && in.watches == 1,
       "who accepts: %ld sends, at most 2, %ld receives, at most 3, %ld watches, just 1", in.sends, in.recvs,
       in.watches);
#endif
    cost_close_all();
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_link();
    if (ok(cost_open(), "two nodes know each other")) {
        test_ping();
        test_stream(8, 0.05, 90);
        test_stream(64, 0.05, 90);
        test_stream(1024, 0.05, 90);
        test_idle();
    }
    cost_close_all();
    return test_end();
}
