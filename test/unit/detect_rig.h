/* detect_rig.h - a detector without a node: it records what is asked of the node, and steps a clock. */
#ifndef DETECT_RIG_H
#define DETECT_RIG_H
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "detect/detect.h"
#endif

#define MS PHX__MS
#define SECOND PHX__SECOND
#define BEAT (5 * SECOND)
#define TIMEOUT (4 * SECOND)
#define BROKEN (7 * SECOND)
#define INSURANCE (60 * SECOND)

#define NODES 40
#define EVENTS 256

struct event {
    char what; /* b heartbeat, a one that asks, x silent, r rumour, p probe, or the first letter of a state */
    uint32_t node;
    uint64_t at, value;
};
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__timers timers;
    struct phx__rnd rnd;
    struct phx__detect d;
    uint64_t now;
    struct event events[EVENTS];
    uint32_t count;
    uint32_t fired; /* timers */
    int drops;      /* silent takes the link down, as the node does */
    int grows;      /* a heartbeat makes a new link (1), ends its own (2), or finds its link full (3) */
};

static void rig_note(struct rig *r, char what, uint32_t node, uint64_t value)
{
    struct event *e = &r->events[r->count++ % EVENTS];

    e->what = what;
    e->node = node;
    e->at = r->now;
    e->value = value;
}

static void rig_heartbeat(phx *ctx, uint32_t node, int ask)
{
    struct rig *r = (void *)ctx;

    rig_note(r, ask ? 'a' : 'b', node, r->grows == 3 ? 0 : phx__detect_announce(&r->d, node, r->now));
    if (r->grows == 1)
        check(phx__detect_link_up(&r->d, 100, 0, r->now) == 0, "a link while another beats");
    if (r->grows == 2)
        phx__detect_link_down(&r->d, node);
}

static void rig_silent(phx *ctx, uint32_t node, uint64_t us)
{
    struct rig *r = (void *)ctx;

    rig_note(r, 'x', node, us);
    if (r->drops)
        phx__detect_link_down(&r->d, node);
}

static void rig_suspect(phx *ctx, uint32_t node)
{
    rig_note((void *)ctx, 'r', node, 0);
}

static void rig_probe(phx *ctx, uint32_t node, int again)
{
    rig_note((void *)ctx, 'p', node, (uint64_t)again);
}

static void rig_state(phx *ctx, uint32_t node, enum phx_state state)
{
    static const char letters[] = "?OSUFL";
    struct rig *r = (void *)ctx;

    check(phx__detect_state(&r->d, node, NULL) == state, "the state is the new one inside the call");
    rig_note(r, letters[state], node, 0);
}

static void rig_init(struct rig *r)
{
    struct phx_detector limits = { 2, BEAT, BEAT, TIMEOUT, BROKEN };
    struct phx__detect_ops ops = { NULL, rig_heartbeat, rig_silent, rig_suspect, rig_probe, rig_state };
    struct phx_alloc alloc;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    ops.ctx = (void *)r;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__timer_init(&r->timers, &r->mem);
    phx__rnd_seed(&r->rnd, 1, 2);
    phx__detect_init(&r->d, &r->mem, &r->timers, &r->rnd, &limits, &ops);
    r->drops = 1;
    r->now = 1000 * SECOND;
    phx__detect_step(&r->d, r->now);
}

/* As rig_init, with a long insurance and k monitors. */
static void rig_init_monitors(struct rig *r, uint32_t k)
{
    struct phx_detector limits = { 0, BEAT, INSURANCE, TIMEOUT, BROKEN };

    rig_init(r);
    limits.monitors = k;
    phx__detect_limits(&r->d, &limits);
}

static void rig_free(struct rig *r)
{
    phx__detect_free(&r->d);
    phx__timer_free(&r->timers);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* A step of a host at this time. */
static void rig_step(struct rig *r, uint64_t now)
{
    uint32_t node;
    int kind;

    r->now = now;
    phx__detect_step(&r->d, now);
    r->d.blind = 0;
    while (phx__timer_pop(&r->timers, now, &kind, &node) == 1) {
        r->fired++;
        phx__detect_due(&r->d, kind, node, now);
    }
}

/* A host that steps exactly when it is asked to. */
static void rig_run(struct rig *r, uint64_t until)
{
    while (phx__timer_next(&r->timers) <= until)
        rig_step(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
    r->now = until;
}

static uint32_t rig_events(const struct rig *r, char what)
{
    uint32_t i, count = 0;

    for (i = 0; i < r->count && i < EVENTS; i++)
        count += r->events[i].what == what;
    return count;
}

/* The last event of this kind. */
static const struct event *rig_last(const struct rig *r, char what)
{
    static const struct event none;
    uint32_t i;

    for (i = r->count; i-- > 0;)
        if (r->events[i].what == what)
            return &r->events[i];
    return &none;
}

#endif
