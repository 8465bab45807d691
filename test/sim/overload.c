/* overload.c - twenty kinds of overload, each for a minute, and how soon all is as it was. */

/* Method: the seed draws what weighs on a network whose processors are twenty times slower than measured,
 * and four of whose nodes share each: one of ten loads or one of ten stalls, for a minute. Then it is gone.
 * Normal is: every pair of living processes delivers a new message within a second, nothing is pending, and
 * in that second no entry of routing and no retransmission was sent. A way back takes ten seconds at most. */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CRUSH_TIME MINUTE
#define CRUSH_BACK (10 * SECOND) /* the bar */
#define CRUSH_SLICE (20 * MS)
#define CRUSH_SHARING 4u
#define CRUSH_SLOW 20u
#define CRUSH_LARGE 300000u
#define CRUSH_MOST 64u

void overload_world(struct world_options *o)
{
    o->costs = &world_costs_measured;
    o->slow = CRUSH_SLOW;
}

static struct crush {
    struct sim *s;
    uint64_t round, come;      /* of the words that are counted now: their tag, how many have come */
    uint64_t spend_us;         /* of each message that comes */
    uint64_t told[CRUSH_MOST]; /* by host: how long it goes on being stopped, or its next change */
} crush;

static void crush_message(phx *p, const struct phx_message *m, void *user)
{
    const struct sim_node *n = user;

    (void)p;
    crush.come += m->tag == crush.round;
    if (crush.spend_us)
        world_spend(crush.s->w, n->host, crush.spend_us);
}

/* As many messages as that node takes now, `most` at most. */
static void crush_send(struct sim *s, uint32_t from, uint32_t to, size_t size, uint32_t most)
{
    static char bytes[CRUSH_LARGE];

    while (most-- > 0 && s->nodes[from].p && !s->w->failed)
        if (phx_send(s->nodes[from].p, to * 10u, from * 10u, 0, bytes, size) != 0)
            break;
    if (s->nodes[from].p)
        world_touch(s->w, from);
}

/* ---- Loads, one slice of each ------------------------------------------------------------------ */

static void load_one(struct sim *s)
{
    for (uint32_t i = 1; i < s->o.nodes; i++)
        crush_send(s, i, 0, 1000, 20);
}

static void load_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->o.nodes; i++)
        for (uint32_t k = 0; k < s->o.nodes; k++)
            crush_send(s, i, k, 8, 2);
}

static void load_large(struct sim *s)
{
    uint32_t to = (uint32_t)rnd(s, s->o.nodes);

    crush_send(s, (uint32_t)rnd(s, s->o.nodes), to, CRUSH_LARGE, 1);
}

static void load_churn(struct sim *s)
{
    uint32_t i = 1 + (uint32_t)rnd(s, s->o.nodes - 1);

    if (rnd(s, 10) == 0) {
        crash(s, i);
        start(s, i);
    }
}

static void load_claims(struct sim *s)
{
    uint32_t i = (uint32_t)rnd(s, s->o.nodes);
    uint64_t name = 10000 + rnd(s, 1000);

    if (!s->nodes[i].p)
        return;
    if (rnd(s, 2))
        (void)phx_assume(s->nodes[i].p, name, name + 3);
    else
        (void)phx_release(s->nodes[i].p, 10000, 20000);
    world_touch(s->w, i);
}

static void load_flaps(struct sim *s)
{
    uint32_t to = (uint32_t)rnd(s, s->o.nodes);

    unplug(s, (uint32_t)rnd(s, s->o.nodes), to);
    load_all(s);
}

static void load_slow(struct sim *s)
{
    s->w->o.slow = 10 * CRUSH_SLOW;
    load_all(s);
}

static void load_callbacks(struct sim *s)
{
    crush.spend_us = 5 * MS;
    load_all(s);
}

static void load_memory(struct sim *s)
{
    for (uint32_t i = 0; i < s->o.nodes; i++) {
        s->w->hosts[i].faults.nomem_until = s->w->now + CRUSH_SLICE;
        s->w->hosts[i].faults.nomem_one_in = 10;
    }
    load_all(s);
}

static void load_line(struct sim *s)
{
    s->w->o.host_bytes_per_ms = 1000;
    load_one(s);
}

/* ---- Stalls, likewise -------------------------------------------------------------------------- */

/* Hosts from..to stop for that long as soon as each `cycle` begins anew for them. */
static void stop_each(struct sim *s, uint32_t from, uint32_t to, uint64_t us, uint64_t cycle, int together)
{
    for (uint32_t i = from; i < to; i++) {
        if (s->w->now < crush.told[i])
            continue;
        if (crush.told[i])
            stall(s, i, us);
        crush.told[i] = s->w->now + (crush.told[i] || together ? cycle : 1 + rnd(s, cycle));
    }
}

static void stall_hub(struct sim *s)
{
    stop_each(s, 0, 1, CRUSH_TIME, CRUSH_TIME, 1);
    stall(s, 0, CRUSH_SLICE);
}

static void stall_half(struct sim *s)
{
    stop_each(s, s->o.nodes / 2, s->o.nodes, 9500 * MS, 10 * SECOND, 0);
}

static void stall_together(struct sim *s)
{
    stop_each(s, 0, s->o.nodes, 8 * SECOND, 10 * SECOND, 1);
}

static void stall_turns(struct sim *s)
{
    if (rnd(s, 50) == 0)
        stall(s, (uint32_t)rnd(s, s->o.nodes), 3 * SECOND);
}

static void stall_long(struct sim *s)
{
    if (rnd(s, 100) == 0) {
        uint64_t us = rnd(s, 20 * SECOND);
        stall(s, (uint32_t)rnd(s, s->o.nodes), us);
    }
}

static void stall_hub_often(struct sim *s)
{
    stop_each(s, 0, 1, 4 * SECOND, 5 * SECOND, 1);
    load_one(s);
}

static void stall_all_but_one(struct sim *s)
{
    stop_each(s, 1, s->o.nodes, 20 * SECOND, 25 * SECOND, 1);
}

static void stall_short(struct sim *s)
{
    stop_each(s, 0, s->o.nodes, 900 * MS, SECOND, 0);
}

static void stall_loaded(struct sim *s)
{
    stall_long(s);
    load_all(s);
}

static void stall_network(struct sim *s)
{
    static const uint32_t half = 2;
    int cut_now = now_us(s) / (5 * SECOND) % 2 == 1;

    for (uint32_t i = 0; i < s->o.nodes; i++)
        s->w->hosts[i].group = cut_now ? i % half : 0;
    load_all(s);
}

static const struct {
    const char *name;
    void (*slice)(struct sim *s);
} kinds[] = {
    { "all to one", load_one },
    { "all to all", load_all },
    { "large messages", load_large },
    { "processes that die and come", load_churn },
    { "names that change", load_claims },
    { "links that break", load_flaps },
    { "processors ten times slower", load_slow },
    { "slow callbacks", load_callbacks },
    { "short memory", load_memory },
    { "a thin line", load_line },
    { "the hub is stopped", stall_hub },
    { "half are stopped 9.5 of 10 s", stall_half },
    { "all are stopped together", stall_together },
    { "one after another is stopped", stall_turns },
    { "some are stopped for up to 20 s", stall_long },
    { "the hub is stopped 4 of 5 s", stall_hub_often },
    { "all but one are stopped", stall_all_but_one },
    { "all are stopped 0.9 of 1 s", stall_short },
    { "stops under load", stall_loaded },
    { "the network stops", stall_network },
};

/* ---- And back ---------------------------------------------------------------------------------- */

static void relieve(struct sim *s)
{
    uint32_t i;

    s->w->o.slow = CRUSH_SLOW;
    s->w->o.host_bytes_per_ms = 0;
    crush.spend_us = 0;
    heal_all(s);
    for (i = 0; i < s->o.nodes; i++) {
        s->w->hosts[i].faults.nomem_one_in = 0;
        s->w->hosts[i].stalled_until = s->w->now;
        start(s, i); /* who gave up starting */
        world_touch(s->w, i);
        world_soon(s->w, &s->w->hosts[i]);
    }
}

struct sums {
    uint64_t entries, resent, pending;
};

static struct sums sums_of(const struct sim *s)
{
    struct sums sum = { 0, 0, 0 };
    struct phx_stats st;

    for (uint32_t i = 0; i < s->o.nodes; i++) {
        if (!s->nodes[i].p)
            continue;
        phx_stats(s->nodes[i].p, &st);
        sum.entries += st.entries_out;
        sum.resent += st.retransmitted_frames;
        sum.pending += phx_pending(s->nodes[i].p);
    }
    return sum;
}

/* A second in which all speak to all. 1: it was as on any day; 0: s->why says what was not. */
static int is_normal(struct sim *s)
{
    struct sums before = sums_of(s), after;
    uint64_t pairs = (uint64_t)s->o.nodes * (s->o.nodes - 1);
    uint32_t i, k;

    crush.round++;
    crush.come = 0;
    for (i = 0; i < s->o.nodes; i++) {
        for (k = 0; k < s->o.nodes && s->nodes[i].p; k++)
            if (k != i)
                (void)phx_send(s->nodes[i].p, k * 10u, i * 10u, crush.round, "new", 3);
        world_touch(s->w, i);
    }
    run_for(s, SECOND);
    after = sums_of(s);
    (void)snprintf(s->why, sizeof s->why, "%llu of %llu came, %llu pending, %llu entries, %llu sent again",
                   (unsigned long long)crush.come, (unsigned long long)pairs,
                   (unsigned long long)after.pending,
                   (unsigned long long)(after.entries - before.entries),
                   (unsigned long long)(after.resent - before.resent));
    return crush.come == pairs && after.pending == 0 && after.entries == before.entries
           && after.resent == before.resent;
}

void tell_overload(struct sim *s)
{
    uint32_t n = s->o.nodes, i, kind = (uint32_t)(s->o.seed % (sizeof kinds / sizeof kinds[0]));
    uint64_t end, back;
    char name[96];

    memset(&crush, 0, sizeof crush);
    crush.s = s;
    crush.round = 1000000;
    s->cfg.on_message = crush_message;
    s->names = 1;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        world_core(s->w, i, i / CRUSH_SHARING);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    run_for(s, 5 * SECOND);
    if (!s->w->failed && !is_normal(s))
        world_fail(s->w, "not normal before any load: %s", s->why);
    for (end = s->w->now + CRUSH_TIME; s->w->now < end && !s->w->failed;) {
        kinds[kind].slice(s);
        run_for(s, CRUSH_SLICE);
    }
    relieve(s);
    end = back = s->w->now;
    while (!s->w->failed && !is_normal(s) && back - end <= 6 * CRUSH_BACK) {
        world_say(s->w, 1, "not normal: %s", s->why);
        back = s->w->now;
    }
    if (!s->w->failed && back - end > CRUSH_BACK)
        world_fail(s->w, "%s: normal again after %.1f s, before that %s", kinds[kind].name,
                   (double)(back - end) / 1e6, s->why);
    (void)snprintf(name, sizeof name, "overload by %s: normal again after s", kinds[kind].name);
    bar(s, name, (double)(back - end) / 1e6, (double)CRUSH_BACK / 1e6);
    s->peace_us = back - end ? back - end : 1;
}
