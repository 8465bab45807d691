/* world.c - the simulated world's clock, hosts, walls and faults; streams are in stream.c. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Chance ------------------------------------------------------------------------------ */

/* The finaliser of MurmurHash3 (public domain). */
uint64_t world_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

/* splitmix64: one word of state, good enough for choices, and any seed is a good one. */
uint64_t world_rng_next(struct world_rng *r)
{
    uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t world_rng_below(struct world_rng *r, uint64_t bound)
{
    return world_rng_next(r) % bound; /* the bias is below 2^-40 for every bound used here */
}

/* ---- What happened ----------------------------------------------------------------------- */

void world_hash(struct world *w, uint64_t a, uint64_t b)
{
    w->trace = world_mix(w->trace ^ a) + b * 0x9e3779b97f4a7c15u;
}

void world_fail(struct world *w, const char *format, ...)
{
    va_list ap;

    if (w->failed)
        return;
    w->failed = 1;
    va_start(ap, format);
    (void)vsnprintf(w->why, sizeof w->why, format, ap);
    va_end(ap);
}

void world_say(struct world *w, int level, const char *format, ...)
{
    va_list ap;

    if (w->tracing < level)
        return;
    printf("# %12.6f ", (double)(w->now - w->start) / 1e6);
    va_start(ap, format);
    (void)vprintf(format, ap);
    va_end(ap);
    putchar('\n');
}

/* ---- Events: a binary heap --------------------------------------------------------------- */

static int event_before(const struct world_event *a, const struct world_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void world_push(struct world *w, uint64_t at, int kind, uint32_t arg)
{
    struct world_event e;
    size_t i;

    if (w->heap_count == w->heap_capacity) {
        size_t capacity = w->heap_capacity ? w->heap_capacity * 2 : 1024;
        struct world_event *heap = realloc(w->heap, capacity * sizeof *heap);
        if (!heap) {
            world_fail(w, "the simulator is out of memory for %zu events", capacity);
            return;
        }
        w->heap = heap;
        w->heap_capacity = capacity;
    }
    e.at = at < w->now ? w->now : at;
    e.order = w->order++;
    e.arg = arg;
    e.kind = (uint32_t)kind;
    for (i = w->heap_count++; i > 0 && event_before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static struct world_event event_pop(struct world *w)
{
    struct world_event top = w->heap[0], last = w->heap[--w->heap_count];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < w->heap_count) {
        if (child + 1 < w->heap_count && event_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!event_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* ---- Steps ------------------------------------------------------------------------------- */

void world_want_step(struct world *w, struct world_host *h, uint64_t at)
{
    if (!h->running || at >= h->step_at)
        return;
    h->step_at = at;
    world_push(w, at, WORLD_STEP, h->index);
}

/* Several arrivals close to each other are seen by one step, as on a busy machine. */
void world_soon(struct world *w, struct world_host *h)
{
    uint64_t delay;

    if (!h->running || h->step_at <= w->now + w->o.delay_min_us)
        return;
    delay = w->o.delay_min_us
            + world_rng_below(&w->rng, w->o.delay_max_us - w->o.delay_min_us + 1);
    world_want_step(w, h, w->now + delay);
}

static void plan_next_step(struct world *w, struct world_host *h, int left)
{
    uint64_t at = h->app.deadline(h->app.state);

    if (left || h->ready_count)
        world_soon(w, h);
    if (at < WORLD_NEVER)
        world_want_step(w, h, at > w->now + w->o.delay_min_us ? at : w->now + w->o.delay_min_us);
}

void world_touch(struct world *w, uint32_t host)
{
    if (w->hosts[host].running)
        plan_next_step(w, &w->hosts[host], 0);
}

/* ---- Work that takes time ---------------------------------------------------------------- */

/* Measured by test/bench/costs.c on a virtual machine with two cores, over loopback; a frame is 3,600
 * instructions. `cold` makes the start of 100 and 200 processes on two cores take the processor's time that
 * it takes there (1.3 and 5 s when all speak to all at once): caches are full of the others'. */
const struct world_costs world_costs_measured = {
    .step = 3500, .call = 330, .send = 4500, .dial = 16500, .accept = 2400, .kilobyte = 70, .frame = 700,
    .handshake = 6000, .look = 5, .cold = 3
};

void world_core(struct world *w, uint32_t host, uint32_t core)
{
    (void)w;
    w->hosts[host].core = core;
}

void world_charge(struct world_host *h, uint64_t ns)
{
    uint64_t work;

    if (!h->w->o.costs || !h->stepping)
        return;
    work = h->app.work ? h->app.work(h->app.state) : 0;
    h->worked_ns += (ns + work - h->worked_before) * (h->cold ? h->w->o.costs->cold : 1) * h->w->o.slow;
    h->worked_before = work;
}

uint64_t world_moment(const struct world_host *h)
{
    return h->w->now + (h->stepping ? h->worked_ns / 1000 : 0);
}

static void core_arm(struct world *w, uint32_t core)
{
    struct world_core *c = &w->cores[core];

    if (c->armed || c->first == WORLD_NONE)
        return;
    c->armed = 1;
    world_push(w, c->busy_until, WORLD_CORE, core);
}

/* The host is the last in its core's line, or behind those that had no more than it. */
static void core_line_up(struct world *w, struct world_core *c, struct world_host *h)
{
    uint32_t *at = w->o.fair || c->first == WORLD_NONE ? &c->first : &w->hosts[c->last].core_next;

    h->core_waits = 1;
    h->had_us = h->had_us > c->had_us ? h->had_us : c->had_us;
    while (*at != WORLD_NONE && w->hosts[*at].had_us <= h->had_us)
        at = &w->hosts[*at].core_next;
    h->core_next = *at;
    *at = h->index;
    if (h->core_next == WORLD_NONE)
        c->last = h->index;
}

/* 1: the core is busy, or others wait for it: the host waits, too. */
static int core_waits(struct world *w, struct world_host *h)
{
    struct world_core *c = &w->cores[h->core];

    if (h->core_waits)
        return 1;
    if (w->now >= c->busy_until && c->first == WORLD_NONE)
        return 0;
    h->step_at = w->now; /* no other step is wanted */
    core_line_up(w, c, h);
    core_arm(w, h->core);
    return 1;
}

/* A step with its costs: what it sends leaves in its midst, and the core is busy until its end. */
static int worked_step(struct world *w, struct world_host *h)
{
    struct world_core *c = &w->cores[h->core];
    int left;

    h->worked_ns = 0;
    h->cold = c->steps_of != h->index;
    c->steps_of = h->index;
    c->had_us = h->had_us = h->had_us > c->had_us ? h->had_us : c->had_us;
    world_charge(h, w->o.costs->step);
    left = h->app.step(h->app.state, w->now);
    world_charge(h, 0);
    h->worked_ns += h->spent_us * 1000;
    c->busy_until = w->now + (h->worked_ns + 999) / 1000;
    h->worked_us += (h->worked_ns + 999) / 1000;
    h->had_us += (h->worked_ns + 999) / 1000;
    return left;
}

static void step_host(struct world *w, struct world_host *h)
{
    int left;

    h->step_at = WORLD_NEVER;
    if (w->now < h->stalled_until) {
        world_want_step(w, h, h->stalled_until);
        return;
    }
    h->steps++;
    h->spent_us = 0;
    h->stepping = 1;
    left = w->o.costs ? worked_step(w, h) : h->app.step(h->app.state, w->now);
    h->stepping = 0;
    if (h->spent_us > h->spent_most)
        h->spent_most = h->spent_us;
    if (h->spent_us && !w->o.costs)
        h->stalled_until = w->now + h->spent_us;
    if (left < 0)
        world_fail(w, "host %u: step returned %d (%s)", (unsigned)h->index, left,
                   phx_strerror(left));
    world_hash(w, w->now, h->index);
    if (h->running)
        plan_next_step(w, h, left);
    if (w->after_step)
        w->after_step(w->ctx, h->index);
}

/* The core is free: those that wait step in turn. */
static void on_core(struct world *w, uint32_t core)
{
    struct world_core *c = &w->cores[core];

    c->armed = 0;
    while (c->first != WORLD_NONE && w->now >= c->busy_until) {
        struct world_host *h = &w->hosts[c->first];
        c->first = h->core_next;
        h->core_waits = 0;
        if (h->running)
            step_host(w, h);
    }
    core_arm(w, core);
}

static void handle_event(struct world *w, const struct world_event *e)
{
    struct world_host *h;

    w->events++;
    if (e->kind == WORLD_CORE) {
        on_core(w, e->arg);
        return;
    }
    if (e->kind != WORLD_STEP) {
        world_stream_event(w, e);
        return;
    }
    h = &w->hosts[e->arg];
    if (!h->running || h->step_at != e->at) /* an earlier step took its place */
        return;
    if (!w->o.costs || w->now < h->stalled_until || !core_waits(w, h))
        step_host(w, h);
}

int world_run(struct world *w, uint64_t until)
{
    while (!w->failed && w->heap_count && w->heap[0].at <= until) {
        struct world_event e = event_pop(w);
        w->now = e.at;
        handle_event(w, &e);
        if (w->events >= w->o.events_max)
            world_fail(w, "more than %llu events: something spins",
                       (unsigned long long)w->o.events_max);
    }
    if (w->failed)
        return -1;
    w->now = until > w->now ? until : w->now;
    return 0;
}

/* ---- Memory of the hosts ----------------------------------------------------------------- */

/* Each block carries its size, so that a wrong old_size is found where it happens. */
struct block {
    size_t size;
    size_t pad; /* keeps what follows aligned for anything */
};

static int memory_fails(struct world_host *h)
{
    const struct world_faults *f = &h->faults;

    h->alloc_calls++;
    if (f->nomem_call && h->alloc_calls == f->nomem_call)
        return 1;
    return f->nomem_one_in && h->w->now < f->nomem_until
           && world_rng_below(&h->rng, f->nomem_one_in) == 0;
}

static void *host_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct world_host *h = world;
    struct block *b = old ? (struct block *)old - 1 : NULL;

    if ((b ? b->size : 0) != old_size) {
        world_fail(h->w, "host %u: a block of %zu bytes is said to have %zu", (unsigned)h->index,
                   b ? b->size : 0, old_size);
        old_size = b ? b->size : 0;
    }
    if (new_size > old_size && memory_fails(h))
        return NULL;
    if (!new_size) {
        if (b)
            h->mem_blocks--;
        free(b);
    } else {
        h->mem_blocks += b ? 0 : 1;
        b = realloc(b, sizeof *b + new_size);
        if (!b) {
            world_fail(h->w, "the simulator is out of memory");
            return NULL;
        }
        b->size = new_size;
    }
    h->mem_used = h->mem_used - old_size + new_size;
    if (h->mem_used > h->mem_peak)
        h->mem_peak = h->mem_used;
    return new_size ? b + 1 : NULL;
}

/* ---- Hosts ------------------------------------------------------------------------------- */

static int realm_add(struct world *w, struct world_host *h, uint32_t realm)
{
    uint32_t n = w->realm_count[realm];
    uint32_t *grown = realloc(w->realm_hosts[realm], (n + 1u) * sizeof *grown);

    if (!grown)
        return -1;
    grown[n] = h->index;
    w->realm_hosts[realm] = grown;
    w->realm_count[realm] = n + 1;
    h->realm = realm;
    h->number = n;
    return 0;
}

uint32_t world_host_add(struct world *w, uint32_t site, uint32_t realm)
{
    struct world_host *h = &w->hosts[w->host_count];

    if (w->host_count == w->o.hosts_max || site >= WORLD_SITES || realm >= WORLD_SITES) {
        world_fail(w, "no room for host %u at site %u, realm %u", (unsigned)w->host_count,
                   (unsigned)site, (unsigned)realm);
        return WORLD_NONE;
    }
    h->w = w;
    h->index = h->core = w->host_count;
    if (realm_add(w, h, realm) < 0) {
        world_fail(w, "the simulator is out of memory");
        return WORLD_NONE;
    }
    h->site = site;
    h->powered = 1;
    h->step_at = WORLD_NEVER;
    h->free_slot = h->ready_first = h->ready_last = -1;
    h->next_port = 32768;
    return w->host_count++;
}

/* Public hosts are 10.x.y.z by index. Behind every NAT the same 192.168.y.z are used again, so
 * that a private address that leaks out means somebody else, or nobody. */
void world_address(const struct world *w, uint32_t host, uint16_t port, struct phx_address *out)
{
    const struct world_host *h = &w->hosts[host];
    uint32_t n = h->number + 1;

    memset(out, 0, sizeof *out);
    out->family = PHX_IPV4;
    out->ip[0] = h->realm ? 192 : 10;
    out->ip[1] = h->realm ? 168 : (unsigned char)(n >> 16);
    out->ip[2] = (unsigned char)(n >> 8);
    out->ip[3] = (unsigned char)n;
    out->port = port;
}

void world_begin(struct world *w, uint32_t host)
{
    struct world_host *h = &w->hosts[host];

    if (h->running || !h->powered) {
        world_fail(w, "host %u cannot start a process now", (unsigned)host);
        return;
    }
    h->life++;
    h->rng.s = world_mix(w->o.seed ^ world_mix(((uint64_t)host << 32) | h->life));
    h->mem_peak = h->mem_used;
    h->alloc.alloc = host_alloc;
    h->alloc.world = h;
    world_os_init(h);
}

void world_attach(struct world *w, uint32_t host, const struct world_app *app)
{
    struct world_host *h = &w->hosts[host];

    h->app = *app;
    h->worked_before = 0;
    h->running = 1;
    h->step_at = WORLD_NEVER;
    world_say(w, 1, "host %u: process %u starts", (unsigned)host, (unsigned)h->life);
    world_soon(w, h);
}

static void end_process(struct world_host *h)
{
    h->running = 0;
    h->step_at = WORLD_NEVER;
    h->stalled_until = 0;
}

void world_crash(struct world *w, uint32_t host)
{
    struct world_host *h = &w->hosts[host];

    world_say(w, 1, "host %u: crash", (unsigned)host);
    world_hash(w, w->now, host);
    world_drop_handles(h, 0);
    end_process(h);
}

void world_end(struct world *w, uint32_t host)
{
    struct world_host *h = &w->hosts[host];

    if (h->handles)
        world_fail(w, "host %u: %u handles were not closed", (unsigned)host,
                   (unsigned)h->handles);
    if (h->mem_used)
        world_fail(w, "host %u: %zu bytes in %zu blocks were not freed", (unsigned)host,
                   h->mem_used, h->mem_blocks);
    world_drop_handles(h, 0);
    end_process(h);
}

void world_power(struct world *w, uint32_t host, int on)
{
    struct world_host *h = &w->hosts[host];

    if (h->powered == on)
        return;
    world_say(w, 1, "host %u: power %s", (unsigned)host, on ? "on" : "off");
    world_hash(w, w->now, host);
    if (!on) {
        world_drop_handles(h, 1);
        end_process(h);
    }
    h->powered = on;
}

void world_spend(struct world *w, uint32_t host, uint64_t us)
{
    w->hosts[host].spent_us += us;
}

void world_stall(struct world *w, uint32_t host, uint64_t us)
{
    struct world_host *h = &w->hosts[host];

    world_say(w, 1, "host %u: stalls for %llu us", (unsigned)host, (unsigned long long)us);
    if (w->now + us > h->stalled_until)
        h->stalled_until = w->now + us;
}

/* ---- Walls and distances ----------------------------------------------------------------- */

static size_t pair_index(const struct world *w, uint32_t a, uint32_t b)
{
    return (size_t)a * w->o.hosts_max + b;
}

void world_pair(struct world *w, uint32_t a, uint32_t b, uint32_t bits, int on)
{
    uint8_t *pair;

    if (!w->pairs)
        w->pairs = calloc((size_t)w->o.hosts_max * w->o.hosts_max, 1);
    if (!w->pairs) {
        world_fail(w, "the simulator is out of memory");
        return;
    }
    pair = &w->pairs[pair_index(w, a, b)];
    *pair = (uint8_t)(on ? *pair | bits : *pair & ~bits);
    world_hash(w, w->now ^ a, *pair ^ ((uint64_t)b << 8));
}

int world_blocked(const struct world *w, uint32_t a, uint32_t b)
{
    if (a == WORLD_NONE || b == WORLD_NONE || !w->hosts[b].powered || !w->hosts[a].powered)
        return 1;
    if (w->hosts[a].group != w->hosts[b].group)
        return 1;
    return w->pairs && (w->pairs[pair_index(w, a, b)] & WORLD_PAIR_CUT);
}

int world_swallows(const struct world *w, uint32_t a, uint32_t b, uint32_t bytes)
{
    return world_blocked(w, a, b)
           || (w->pairs && (w->pairs[pair_index(w, a, b)] & WORLD_PAIR_HOLE) && bytes > w->o.hole_bytes);
}

/* The walls only; whether b listens is b's affair. A host behind a NAT is dialled from inside
 * only. */
int world_may_dial(const struct world *w, uint32_t a, uint32_t b)
{
    const struct world_host *from = &w->hosts[a], *to = &w->hosts[b];

    if (to->realm && to->realm != from->realm)
        return 0;
    if (w->site_deny[from->site][to->site])
        return 0;
    return !w->pairs || !(w->pairs[pair_index(w, a, b)] & WORLD_PAIR_FORBID);
}

/* Without jitter; the same both ways. */
uint32_t world_latency(const struct world *w, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint64_t h = world_mix(w->o.seed ^ (((uint64_t)low << 32) | high));

    if (a == b)
        return 5; /* a loopback */
    return w->o.latency_us + (w->o.spread_us ? (uint32_t)(h % w->o.spread_us) : 0)
           + w->site_us[w->hosts[a].site][w->hosts[b].site];
}

/* ---- Begin and end ----------------------------------------------------------------------- */

void world_options_init(struct world_options *o, uint64_t seed, uint32_t hosts_max)
{
    memset(o, 0, sizeof *o);
    o->seed = seed;
    o->hosts_max = hosts_max;
    o->latency_us = 500; /* with the next two 0.5-1.5 ms one way: a campus, or two */
    o->spread_us = 500;
    o->jitter_us = 500;
    o->buffer_bytes = 256 * 1024; /* two default socket buffers of Linux, before tuning */
    o->backlog = 1024;
    o->delay_min_us = 10;
    o->delay_max_us = 50;
    o->tcp_timeout_us = 60u * 1000000u;
    o->events_max = 2000000000u;
    o->slow = 1;
}

static int hosts_init(struct world *w)
{
    uint32_t i;

    w->hosts = calloc(w->o.hosts_max ? w->o.hosts_max : 1, sizeof *w->hosts);
    w->cores = calloc(w->o.hosts_max ? w->o.hosts_max : 1, sizeof *w->cores);
    w->realm_hosts = calloc(WORLD_SITES, sizeof *w->realm_hosts);
    if (!w->hosts || !w->cores || !w->realm_hosts)
        return -1;
    for (i = 0; i < w->o.hosts_max; i++) {
        w->hosts[i].free_slot = -1;
        w->cores[i].first = WORLD_NONE;
    }
    return 0;
}

struct world *world_new(const struct world_options *o)
{
    struct world *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->o = *o;
    w->rng.s = world_mix(o->seed + 1);
    w->trace = world_mix(o->seed + 2);
    w->stream_free = WORLD_NONE;
    w->now = w->start = 1000000; /* not 0, which would hide a forgotten time */
    if (hosts_init(w) < 0) {
        world_free(w);
        return NULL;
    }
    return w;
}

void world_free(struct world *w)
{
    uint32_t i;

    if (!w)
        return;
    world_streams_free(w);
    for (i = 0; i < w->host_count; i++)
        free(w->hosts[i].slots);
    for (i = 0; w->realm_hosts && i < WORLD_SITES; i++)
        free(w->realm_hosts[i]);
    free(w->realm_hosts);
    free(w->hosts);
    free(w->cores);
    free(w->pairs);
    free(w->heap);
    free(w);
}
