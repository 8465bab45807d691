/* world_test.c - tests of the simulated world itself, with the verbs and with a tiny protocol on
 * them.
 *
 *     cc -std=c99 -o world_test world_test.c world.c stream.c verbs.c && ./world_test
 *
 * Prints TAP. The tiny protocol, `chat`, links a clique: each host dials those with smaller
 * numbers, and on every link both ends send counted bytes which the other end checks. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tests, failures;

static void ok(int yes, const char *what)
{
    tests++;
    if (!yes)
        failures++;
    printf("%s %d - world: %s\n", yes ? "ok" : "not ok", tests, what);
}

/* Only so that unity users need not drag strerror in. */
const char *phx_strerror(int error)
{
    (void)error;
    return "stand-in";
}

/* ---- Idle hosts, driven by hand ------------------------------------------------------------- */

static int idle_step(void *state, uint64_t now)
{
    (void)state;
    (void)now;
    return 0;
}

static uint64_t idle_deadline(void *state)
{
    (void)state;
    return WORLD_NEVER;
}

static void boot(struct world *w, uint32_t host)
{
    struct world_app app = { NULL, idle_step, idle_deadline, NULL };

    world_begin(w, host);
    world_attach(w, host, &app);
}

static struct world *pair_of_hosts(void)
{
    struct world_options o;
    struct world *w;

    world_options_init(&o, 1, 4);
    o.buffer_bytes = 1000;
    o.backlog = 2;
    w = world_new(&o);
    world_host_add(w, 0, 0);
    world_host_add(w, 1, 0);
    boot(w, 0);
    boot(w, 1);
    return w;
}

static const struct phx_os *os(struct world *w, uint32_t host)
{
    return &w->hosts[host].os;
}

static int listens(struct world *w, uint32_t host, uint16_t port)
{
    struct phx_address a;
    int handle = -1;

    world_address(w, host, port, &a);
    return os(w, host)->listen(os(w, host)->world, &a, &handle) == 0 ? handle : -1;
}

static int dials(struct world *w, uint32_t from, uint32_t to, uint16_t port)
{
    struct phx_address a;
    int handle = -1;

    world_address(w, to, port, &a);
    return os(w, from)->dial(os(w, from)->world, &a, &handle) == 0 ? handle : -1;
}

static int finishes(struct world *w, uint32_t host, int handle)
{
    return os(w, host)->finish(os(w, host)->world, handle);
}

static int accepts(struct world *w, uint32_t host, int listener)
{
    struct phx_address from;
    int handle = -1;
    int err = os(w, host)->accept(os(w, host)->world, listener, &handle, &from);

    return err ? err : handle;
}

static long sends(struct world *w, uint32_t host, int handle, const char *text, size_t size)
{
    struct iovec v[2];

    v[0].iov_base = (void *)(uintptr_t)text;
    v[0].iov_len = size / 2;
    v[1].iov_base = (void *)(uintptr_t)(text + size / 2);
    v[1].iov_len = size - size / 2;
    return os(w, host)->send(os(w, host)->world, handle, v, 2);
}

static long reads(struct world *w, uint32_t host, int handle, char *out, size_t size)
{
    return os(w, host)->recv(os(w, host)->world, handle, out, size);
}

static void passes(struct world *w, uint64_t us)
{
    (void)world_run(w, w->now + us);
}

/* Links 0 (dialler) and 1: handles in h[0], h[1]. */
static void link_up(struct world *w, int h[2])
{
    int l = listens(w, 1, 7);

    h[0] = dials(w, 0, 1, 7);
    passes(w, 10000);
    h[1] = accepts(w, 1, l);
}

static void test_stream(void)
{
    struct world *w = pair_of_hosts();
    static char big[2000], in[2000];
    char buf[16];
    int h[2], i;
    struct phx_ready r[4];

    link_up(w, h);
    ok(h[0] >= 0 && h[1] >= 0 && finishes(w, 0, h[0]) == 0, "dial, listen, accept");
    ok(sends(w, 0, h[0], "hello", 5) == 5, "send takes it all");
    ok(reads(w, 1, h[1], buf, 16) == PHX_EAGAIN, "nothing arrives at once");
    os(w, 1)->watch(os(w, 1)->world, h[1], PHX_READ);
    passes(w, 400);
    ok(os(w, 1)->wait(os(w, 1)->world, r, 4) == 0, "nor within the least latency");
    passes(w, 1200);
    ok(os(w, 1)->wait(os(w, 1)->world, r, 4) == 1 && r[0].events == PHX_READ, "then it is ready");
    ok(reads(w, 1, h[1], buf, 2) == 2 && reads(w, 1, h[1], buf + 2, 14) == 3
           && memcmp(buf, "hello", 5) == 0,
       "in pieces, in order");
    for (i = 0; i < 2000; i++)
        big[i] = (char)(i * 7);
    ok(sends(w, 0, h[0], big, 2000) == 1000 && sends(w, 0, h[0], big, 1) == PHX_EAGAIN,
       "the buffer is bounded");
    os(w, 0)->watch(os(w, 0)->world, h[0], PHX_WRITE);
    passes(w, 5000);
    ok(os(w, 0)->wait(os(w, 0)->world, r, 4) == 0, "not writable while nobody reads");
    ok(reads(w, 1, h[1], in, 2000) == 1000 && memcmp(in, big, 1000) == 0, "all bytes came");
    passes(w, 5000);
    ok(os(w, 0)->wait(os(w, 0)->world, r, 4) == 1 && r[0].events == PHX_WRITE,
       "writable again after they were read");
    os(w, 0)->close(os(w, 0)->world, h[0]);
    passes(w, 5000);
    ok(reads(w, 1, h[1], buf, 16) == 0, "closed: end of stream");
    ok(sends(w, 1, h[1], "x", 1) == 1, "writing to a closed peer is noticed late");
    passes(w, 5000);
    ok(sends(w, 1, h[1], "x", 1) == PHX_ERESET, "but it is noticed");
    os(w, 1)->close(os(w, 1)->world, h[1]);
    passes(w, 10000);
    ok(w->streams_open == 0 && !w->failed, "and nothing is left of it");
    world_free(w);
}

static void test_refusals(void)
{
    struct world *w = pair_of_hosts();
    int l, h, k, i;

    h = dials(w, 0, 1, 7);
    ok(finishes(w, 0, h) == PHX_EAGAIN, "a dial is undecided at first");
    passes(w, 10000);
    ok(finishes(w, 0, h) == PHX_EREFUSED, "nobody listens: refused");
    l = listens(w, 1, 7);
    ok(listens(w, 1, 7) < 0, "a port listens once");
    for (i = 0; i < 3; i++) {
        h = dials(w, 0, 1, 7);
        passes(w, 10000);
    }
    ok(finishes(w, 0, h) == PHX_EAGAIN, "backlog full: silence");
    ok(accepts(w, 1, l) >= 0 && accepts(w, 1, l) >= 0, "two were in it");
    passes(w, 2000000);
    ok(finishes(w, 0, h) == 0, "the third gets in when its SYN is sent again");
    w->site_deny[0][1] = 1;
    h = dials(w, 0, 1, 7);
    passes(w, 100000000);
    ok(finishes(w, 0, h) == PHX_EAGAIN, "a firewall is silent");
    passes(w, 100000000);
    ok(finishes(w, 0, h) == PHX_ETIMEDOUT, "until the dialler gives up");
    w->o.reject = 1;
    h = dials(w, 0, 1, 7);
    passes(w, 10000);
    ok(finishes(w, 0, h) == PHX_EREFUSED, "or it rejects");
    w->site_deny[0][1] = 0;
    w->hosts[0].faults.handles_max = w->hosts[0].handles + 1;
    h = dials(w, 0, 1, 7);
    k = dials(w, 0, 1, 7);
    ok(h >= 0 && k < 0, "EMFILE at the limit");
    world_free(w);
}

/* A path that swallows segments above 100 bytes, and what is behind one of them. */
static void test_hole(void)
{
    static const char bytes[300];
    struct world *w = pair_of_hosts();
    char buf[400];
    int h[2];

    w->o.hole_bytes = 100;
    link_up(w, h);
    world_pair(w, 0, 1, WORLD_PAIR_HOLE, 1);
    (void)sends(w, 0, h[0], bytes, 100);
    passes(w, 20000);
    ok(reads(w, 1, h[1], buf, 400) == 100, "a hole lets what is small pass");
    (void)sends(w, 0, h[0], bytes, 101);
    (void)sends(w, 0, h[0], bytes, 1);
    (void)sends(w, 1, h[1], bytes, 300);
    passes(w, 2000000);
    ok(reads(w, 1, h[1], buf, 400) == PHX_EAGAIN, "and keeps what is not, and all behind it");
    ok(reads(w, 0, h[0], buf, 400) == 300, "but the other way is free");
    world_pair(w, 0, 1, WORLD_PAIR_HOLE, 0);
    passes(w, 4000000);
    ok(reads(w, 1, h[1], buf, 400) == 102, "once it is filled all arrives");
    world_pair(w, 0, 1, WORLD_PAIR_HOLE, 1);
    (void)sends(w, 0, h[0], bytes, 300);
    passes(w, 200000000);
    ok(sends(w, 0, h[0], bytes, 1) == PHX_ETIMEDOUT, "it does not last for ever");
    world_free(w);
}

static void test_faults(void)
{
    struct world *w = pair_of_hosts();
    char buf[16];
    int h[2];

    link_up(w, h);
    world_pair(w, 0, 1, WORLD_PAIR_CUT, 1);
    (void)sends(w, 0, h[0], "a", 1);
    (void)sends(w, 1, h[1], "b", 1);
    passes(w, 2000000);
    ok(reads(w, 1, h[1], buf, 16) == PHX_EAGAIN && reads(w, 0, h[0], buf, 16) == 1,
       "a one-way cut is one-way");
    world_pair(w, 0, 1, WORLD_PAIR_CUT, 0);
    passes(w, 4000000);
    ok(reads(w, 1, h[1], buf, 16) == 1, "retransmission brings the rest after the heal");
    w->hosts[0].group = 1;
    (void)sends(w, 0, h[0], "c", 1);
    passes(w, 200000000);
    ok(sends(w, 0, h[0], "d", 1) == PHX_ETIMEDOUT, "a long partition ends the stream");
    ok(reads(w, 1, h[1], buf, 16) == PHX_EAGAIN, "the other end does not know: half-open");
    w->hosts[0].group = 0;
    os(w, 0)->close(os(w, 0)->world, h[0]);
    (void)sends(w, 1, h[1], "e", 1);
    passes(w, 20000);
    ok(reads(w, 1, h[1], buf, 16) == PHX_ERESET, "until it says something");
    world_free(w);
    w = pair_of_hosts();
    link_up(w, h);
    world_crash(w, 0);
    passes(w, 10000);
    ok(reads(w, 1, h[1], buf, 16) == PHX_ERESET, "a crash resets");
    world_free(w);
    w = pair_of_hosts();
    link_up(w, h);
    world_power(w, 0, 0);
    passes(w, 10000);
    ok(sends(w, 1, h[1], "x", 1) == 1 && reads(w, 1, h[1], buf, 16) == PHX_EAGAIN,
       "a power loss is silent");
    world_power(w, 0, 1);
    passes(w, 1000000);
    ok(reads(w, 1, h[1], buf, 16) == PHX_ERESET, "power back: what is sent again is reset");
    world_free(w);
}

static void test_nat(void)
{
    struct world_options o;
    struct world *w;
    struct phx_address a;
    int l, h, k;

    world_options_init(&o, 1, 4);
    w = world_new(&o);
    world_host_add(w, 0, 0);
    world_host_add(w, 0, 1);
    world_host_add(w, 0, 1);
    world_host_add(w, 0, 2);
    for (k = 0; k < 4; k++)
        boot(w, (uint32_t)k);
    l = listens(w, 0, 7);
    h = dials(w, 1, 0, 7);
    passes(w, 10000);
    ok(os(w, 0)->accept(os(w, 0)->world, l, &k, &a) == 0 && a.ip[0] == 203 && a.ip[3] == 1
           && finishes(w, 1, h) == 0,
       "out of a NAT, seen under its address");
    (void)listens(w, 1, 7);
    h = dials(w, 0, 1, 7);
    passes(w, 10000);
    ok(finishes(w, 0, h) == PHX_EAGAIN, "not into it");
    h = dials(w, 2, 1, 7);
    passes(w, 10000);
    ok(finishes(w, 2, h) == 0, "inside it as before");
    h = dials(w, 3, 1, 7);
    passes(w, 10000);
    ok(finishes(w, 3, h) == PHX_EREFUSED, "the same private address behind another NAT is another");
    world_free(w);
}

static void test_memory(void)
{
    struct world *w = pair_of_hosts();
    struct phx_alloc *m = &w->hosts[0].alloc;
    void *p = m->alloc(m->world, NULL, 0, 100), *q;

    w->hosts[0].faults.nomem_call = 3;
    p = m->alloc(m->world, p, 100, 200);
    q = m->alloc(m->world, p, 200, 300);
    ok(p && !q && w->hosts[0].mem_used == 200, "the n-th allocation fails, totals are exact");
    p = m->alloc(m->world, p, 200, 0);
    ok(!p && w->hosts[0].mem_used == 0 && w->hosts[0].mem_peak == 200 && !w->failed,
       "and return to 0");
    p = m->alloc(m->world, NULL, 0, 8);
    (void)m->alloc(m->world, p, 9, 0);
    ok(w->failed, "a wrong size is caught");
    world_free(w);
}

/* ---- The tiny protocol ---------------------------------------------------------------------- */

struct chat_link {
    int handle, open;
    uint32_t sent, got;
};

struct chat {
    struct world_host *h;
    struct chat_link *links; /* by handle */
    uint32_t capacity, open, wrong, total;
    int listener;
};

static void chat_add(struct chat *c, int handle)
{
    while ((uint32_t)handle >= c->capacity) {
        uint32_t capacity = c->capacity ? c->capacity * 2 : 16;
        c->links = realloc(c->links, capacity * sizeof *c->links);
        memset(c->links + c->capacity, 0, (capacity - c->capacity) * sizeof *c->links);
        c->capacity = capacity;
    }
    memset(&c->links[handle], 0, sizeof *c->links);
    c->links[handle].handle = handle;
    c->h->os.watch(c->h, handle, PHX_READ | PHX_WRITE);
}

static void chat_send(struct chat *c, struct chat_link *l)
{
    unsigned char data[64];
    struct iovec v = { data, 0 };
    uint32_t i;

    while (l->sent < c->total) {
        long n;
        for (i = 0; i < 64; i++)
            data[i] = (unsigned char)((l->sent + i) * 31u);
        v.iov_len = c->total - l->sent < 64 ? c->total - l->sent : 64;
        n = c->h->os.send(c->h, l->handle, &v, 1);
        if (n <= 0)
            return;
        l->sent += (uint32_t)n;
    }
    c->h->os.watch(c->h, l->handle, PHX_READ);
}

static void chat_read(struct chat *c, struct chat_link *l)
{
    unsigned char data[100];
    long n, i;

    while ((n = c->h->os.recv(c->h, l->handle, data, sizeof data)) > 0)
        for (i = 0; i < n; i++, l->got++)
            c->wrong += data[i] != (unsigned char)(l->got * 31u);
}

static void chat_ready(struct chat *c, const struct phx_ready *r)
{
    struct chat_link *l;
    struct phx_address from;
    int handle;

    if (r->handle == c->listener) {
        while (c->h->os.accept(c->h, c->listener, &handle, &from) == 0)
            chat_add(c, handle);
        return;
    }
    l = &c->links[r->handle];
    if (!l->open && c->h->os.finish(c->h, l->handle) == 0) {
        l->open = 1;
        c->open++;
    }
    if (r->events & PHX_READ)
        chat_read(c, l);
    if (r->events & PHX_WRITE)
        chat_send(c, l);
}

static int chat_step(void *state, uint64_t now)
{
    struct chat *c = state;
    struct phx_ready r[8];
    int i, n = c->h->os.wait(c->h, r, 8);

    (void)now;
    for (i = 0; i < n; i++)
        chat_ready(c, &r[i]);
    return n == 8;
}

static void chat_start(struct world *w, struct chat *c, uint32_t i, uint32_t total)
{
    struct world_app app = { NULL, chat_step, idle_deadline, NULL };
    struct phx_address a;
    uint32_t k;
    int handle;

    memset(c, 0, sizeof *c);
    app.state = c;
    c->h = &w->hosts[i];
    c->total = total;
    world_begin(w, i);
    world_address(w, i, 7, &a);
    (void)c->h->os.listen(c->h, &a, &c->listener);
    c->h->os.watch(c->h, c->listener, PHX_READ);
    world_attach(w, i, &app);
    for (k = 0; k < i; k++) {
        world_address(w, k, 7, &a);
        if (c->h->os.dial(c->h, &a, &handle) == 0)
            chat_add(c, handle);
    }
}

/* Runs an n-clique that sends total bytes on every link both ways: its trace; 0 if anything is
 * wrong. */
static uint64_t clique(uint64_t seed, uint32_t n, uint32_t total, uint32_t bytes_per_ms, int faults)
{
    struct world_options o;
    struct world *w;
    struct chat *c = calloc(n, sizeof *c);
    uint32_t i, k, bad = 0;
    uint64_t trace;

    world_options_init(&o, seed, n);
    o.buffer_bytes = 500;
    o.bytes_per_ms = bytes_per_ms;
    w = world_new(&o);
    for (i = 0; i < n; i++)
        world_host_add(w, i % 3, 0);
    for (i = 0; i < n; i++)
        chat_start(w, &c[i], i, total);
    if (faults) {
        passes(w, 2000);
        world_stall(w, 0, 50000);
        world_pair(w, 1, 2, WORLD_PAIR_CUT, 1);
        passes(w, 300000);
        world_pair(w, 1, 2, WORLD_PAIR_CUT, 0);
    }
    passes(w, 60000000);
    for (i = 0; i < n; i++) {
        bad += c[i].wrong != 0 || c[i].open != n - 1;
        for (k = 0; k < c[i].capacity; k++)
            bad += c[i].links[k].open && c[i].links[k].got != total;
    }
    if (bad || w->failed)
        printf("# seed %llu: %u bad; %s\n", (unsigned long long)seed, (unsigned)bad, w->why);
    trace = bad || w->failed ? 0 : w->trace;
    for (i = 0; i < n; i++) {
        world_crash(w, i);
        free(c[i].links);
    }
    world_free(w);
    free(c);
    return trace;
}

static void test_chat(void)
{
    uint64_t a = clique(1, 12, 5000, 0, 1), b = clique(1, 12, 5000, 0, 1);
    uint64_t seed;
    int fine = 1;

    ok(a != 0, "a clique of 12 talks through stalls and cuts, byte for byte");
    ok(a == b, "the same seed gives the same trace");
    ok(a != clique(2, 12, 5000, 0, 1), "another seed another one");
    ok(clique(3, 6, 20000, 100, 0) != 0, "a slow line delivers too");
    for (seed = 10; seed < 40; seed++)
        fine &= clique(seed, 3 + (uint32_t)seed % 9, 3000, 0, 1) != 0;
    ok(fine, "30 more seeds");
    ok(clique(4, 200, 300, 0, 0) != 0, "200 hosts, 19,900 streams");
}

/* ---- Work that takes time ------------------------------------------------------------------ */

struct worker {
    struct world *w;
    uint32_t host;
    uint64_t begun[8], work; /* when its steps began; ns worked */
    uint64_t each;           /* ns of a step */
    int steps, handle;
};

/* Three steps, each of which works for a while and then sends a byte. */
static int worker_step(void *state, uint64_t now)
{
    struct worker *k = state;
    struct iovec one = { "x", 1 };

    if (k->steps == 3)
        return 0;
    k->begun[k->steps++] = now;
    k->work += k->each;
    if (k->handle >= 0)
        (void)k->w->hosts[k->host].os.send(&k->w->hosts[k->host], k->handle, &one, 1);
    return k->steps < 3;
}

static uint64_t worker_work(void *state)
{
    return ((struct worker *)state)->work;
}

static uint64_t workers(uint32_t core_of_second, int fair, struct worker k[2])
{
    static const struct world_costs costs = { .step = 1000, .call = 2000, .send = 3000, .cold = 1 };
    struct world_options o;
    struct world *w;
    uint32_t i;
    uint64_t came;

    world_options_init(&o, 1, 4);
    o.costs = &costs;
    o.fair = fair;
    o.jitter_us = o.spread_us = 0;
    w = world_new(&o);
    for (i = 0; i < 3; i++)
        world_host_add(w, 0, 0);
    boot(w, 2);
    for (i = 0; i < 2; i++) {
        struct world_app app = { &k[i], worker_step, idle_deadline, worker_work };
        k[i] = (struct worker){ .w = w, .host = i, .handle = -1, .each = fair && i ? 100000 : 1000000 };
        world_core(w, i, i ? core_of_second : 0);
        world_begin(w, i);
        if (i == 0)
            (void)world_join_pipe(w, 0, 2, &k[0].handle, &k[i].steps);
        k[i].steps = 0;
        world_attach(w, i, &app);
    }
    came = k[0].handle >= 0 ? world_end_at(w, w->hosts[0].slots[k[0].handle].ref ^ 1u)->arrived : 9;
    while (came == 0 && w->now < w->start + 1000000u) {
        passes(w, 10);
        came = world_end_at(w, w->hosts[0].slots[k[0].handle].ref ^ 1u)->arrived;
    }
    came = w->now;
    passes(w, 1000000u);
    for (i = 0; i < 3; i++)
        world_crash(w, i);
    world_free(w);
    return came;
}

static void test_work(void)
{
    struct worker k[2];
    uint64_t came = workers(1, 0, k), took = 1000 + 1 + 2 + 3;

    ok(k[0].steps == 3 && k[0].begun[1] >= k[0].begun[0] + took && k[0].begun[1] < k[0].begun[0] + took + 60,
       "a step begins when the work of the one before is done");
    ok(came >= k[0].begun[0] + 500 + 1003 && came < k[0].begun[0] + 500 + 1003 + 20,
       "and what it sends leaves after the work before it");
    ok(k[1].begun[0] < k[0].begun[0] + 100, "a host with a core of its own steps meanwhile");
    (void)workers(0, 0, k);
    ok(k[1].steps == 3 && k[1].begun[2] >= k[0].begun[0] + 5 * 1001, "two on one core take turns");
    ok(k[1].begun[0] < k[0].begun[1], "one after the other");
    (void)workers(0, 1, k);
    ok(k[1].steps == 3 && k[1].begun[2] < k[0].begun[1], "or each as long as the other, if that is fair");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "big") == 0) { /* for the clock on the wall: see README */
        ok(clique(4, 1000, 300, 0, 0) != 0, "1,000 hosts, 499,500 streams");
    } else {
        test_stream();
        test_refusals();
        test_faults();
        test_hole();
        test_nat();
        test_memory();
        test_chat();
        test_work();
    }
    printf("1..%d\n", tests);
    return failures != 0;
}
