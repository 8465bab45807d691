/* campaign.c - the random campaign: a topology and a history of faults drawn from the seed, then
 * peace, and then everything that can be linked must be linked and every route a shortest one. The same seed
 * gives the same run, promise 130. */
#include "chat.h"
#include "story.h"

#include <stdio.h>
#include <string.h>

enum topology { CLIQUE, GATEWAYS, RANDOM, CHAIN, STAR, TOPOLOGIES };
static const char *const topology_names[] = { "clique", "gateways", "random", "chain", "star" };

/* How long peace may take: the longest retry (30 s, twice in a row if unlucky) and a detection. */
#define PEACE (120 * SECOND)

/* ---- Topologies: who may dial whom, and whom each knows at first --------------------------- */

/* Walls between all pairs but those that `linked` says. */
static void wall_off(struct sim *s, const uint8_t *linked)
{
    uint32_t a, b, n = s->w->host_count;

    for (a = 0; a < n; a++)
        for (b = a + 1; b < n; b++)
            if (!linked[a * n + b])
                forbid(s, a, b);
}

static void edge(uint8_t *linked, uint32_t n, uint32_t a, uint32_t b)
{
    linked[a * n + b] = linked[b * n + a] = 1;
}

/* An edge that both may dial, or only one; the one that may joins the other. A program has so many
 * hubs at most; then both may dial, so that one of them knows the other. */
static void road(struct sim *s, uint8_t *linked, uint32_t a, uint32_t b)
{
    edge(linked, s->w->host_count, a, b);
    switch (s->nodes[a].hub_count < HUBS && s->nodes[b].hub_count < HUBS ? rnd(s, 3) : 3) {
    case 0:
        world_pair(s->w, b, a, WORLD_PAIR_FORBID, 1);
        join(s, a, b);
        break;
    case 1:
        world_pair(s->w, a, b, WORLD_PAIR_FORBID, 1);
        join(s, b, a);
        break;
    default:
        join(s, a, b);
        join(s, b, a);
    }
}

static void make_tree(struct sim *s, uint8_t *linked, int kind)
{
    uint32_t i, n = s->w->host_count;

    for (i = 1; i < n; i++)
        road(s, linked, i, kind == CHAIN ? i - 1 : kind == STAR ? 0 : (uint32_t)rnd(s, i));
}

static void make_random(struct sim *s, uint8_t *linked)
{
    uint32_t n = s->w->host_count, extra = (uint32_t)rnd(s, 2 * n);

    make_tree(s, linked, RANDOM);
    while (extra--) {
        uint32_t a = (uint32_t)rnd(s, n), b = (uint32_t)rnd(s, n);
        if (a != b && !linked[a * n + b])
            road(s, linked, a, b);
    }
}

/* Sites whose hosts see each other; between sites only the gateways do, one or two at each. */
static void make_gateways(struct sim *s, uint8_t *linked)
{
    uint32_t n = s->w->host_count, sites = 2 + (uint32_t)rnd(s, 3), a, b;
    uint32_t gates = 1 + (uint32_t)rnd(s, 2), k;

    if (sites > n / 3)
        sites = n / 3 ? n / 3 : 1;
    k = (n + sites - 1) / sites;
    for (a = 0; a < n; a++)
        s->w->hosts[a].site = a / k;
    for (a = 0; a < sites; a++)
        for (b = 0; b < sites; b++)
            s->w->site_us[a][b] = a == b ? 0 : 5000;
    for (a = 0; a < n; a++)
        for (b = a + 1; b < n; b++)
            if (a / k == b / k || (a % k < gates && b % k < gates))
                edge(linked, n, a, b);
    for (a = 1; a < n; a++)
        join(s, a, a % k ? a / k * k : 0);
}

static void make_clique(struct sim *s, uint8_t *linked)
{
    memset(linked, 1, (size_t)s->w->host_count * s->w->host_count);
    join_all(s, 0);
    if (rnd(s, 2))
        join_all(s, 1 % s->w->host_count);
}

static void make(struct sim *s, int kind)
{
    uint32_t n = s->w->host_count;
    uint8_t *linked = s->scratch;

    memset(linked, 0, (size_t)n * n);
    if (kind == CLIQUE)
        make_clique(s, linked);
    else if (kind == GATEWAYS)
        make_gateways(s, linked);
    else if (kind == RANDOM)
        make_random(s, linked);
    else
        make_tree(s, linked, kind);
    wall_off(s, linked);
}

/* ---- Faults ------------------------------------------------------------------------------ */

static void scarcity(struct sim *s, uint32_t a)
{
    struct world_faults *f = &s->w->hosts[a].faults;

    if (rnd(s, 2)) {
        world_say(s->w, 1, "host %u: memory is short", (unsigned)a);
        f->nomem_until = s->w->now + rnd(s, 2 * SECOND);
        f->nomem_one_in = 1 + (uint32_t)rnd(s, 20);
    } else {
        world_say(s->w, 1, "host %u: descriptors are short", (unsigned)a);
        f->emfile_until = s->w->now + rnd(s, 2 * SECOND);
    }
}

/* Some leave in peace, and their host has another process soon. */
static void depart(struct sim *s, uint32_t a)
{
    leave(s, a);
    if (rnd(s, 2))
        restart(s, a);
}

/* A roaming name, or several, go to host a. */
static void move(struct sim *s, uint32_t a)
{
    uint32_t k, names = chat_roaming(s);

    for (k = 0; k < names; k++)
        if (rnd(s, 2))
            chat_move(s, k, a, (int64_t)rnd(s, 100 * MS) - (int64_t)(50 * MS));
}

static void fault(struct sim *s)
{
    uint32_t n = s->w->host_count, a = (uint32_t)rnd(s, n);
    uint32_t b = (a + 1 + (uint32_t)rnd(s, n - 1)) % n;

    switch (rnd(s, 16)) {
    case 0: cut(s, a, b); break;
    case 1: cut_oneway(s, a, b); break;
    case 2: sever(s, a, b); break;
    case 3:
    case 4: unplug(s, a, b); break;
    case 5: heal(s, a, b); break;
    case 6: crash(s, a); break;
    case 7: power_off(s, a); break;
    case 8:
    case 9:
    case 10: restart(s, a); break;
    case 11: stall(s, a, rnd(s, 3 * SECOND)); break;
    case 12: scarcity(s, a); break;
    case 13: depart(s, a); break;
    case 14: move(s, a); break;
    default:
        if (rnd(s, 3) == 0)
            heal_all(s);
        else
            partition(s, a < b ? a : b, a < b ? b - a : a - b, (uint32_t)rnd(s, 3));
    }
}

static void chaos(struct sim *s)
{
    uint64_t until = s->w->now + rnd(s, 40 * SECOND), mean = 10 * MS << rnd(s, 8);

    while (!s->w->failed && s->w->now < until) {
        run_for(s, rnd(s, 2 * mean));
        fault(s);
    }
}

/* Others may stay dead, but whom somebody's program names as its hub must be there: a process
 * that knows nothing else finds the rest only through it. */
static void peace(struct sim *s)
{
    uint32_t i, k, n = s->w->host_count;

    heal_all(s);
    for (i = 0; i < n; i++)
        memset(&s->w->hosts[i].faults, 0, sizeof s->w->hosts[i].faults);
    memset(s->scratch, 0, n);
    for (i = 0; i < n; i++)
        for (k = 0; k < s->nodes[i].hub_count; k++)
            s->scratch[s->nodes[i].hubs[k]] = 1;
    for (i = 0; i < n; i++)
        if (!s->nodes[i].p && (s->scratch[i] || rnd(s, 4)))
            restart(s, i);
}

/* ---- Messages ---------------------------------------------------------------------------- */

/* The largest messages of some runs: the copies of 24 hosts must fit into a test. */
#define HUGE ((size_t)1 << 20)
/* What a node of some runs may use: less than its windows to all others together. */
#define TIGHT ((size_t)12 << 20)

/* Of all sizes and with all endings, to the hosts' own names and to some that move. */
static void talk(struct sim *s, uint32_t n)
{
    struct chat_plan plan;

    memset(&plan, 0, sizeof plan);
    plan.per_second = 1u << rnd(s, 8);
    plan.bytes_max = 1u << (8 + rnd(s, 9));
    plan.count = n;
    plan.roaming = rnd(s, 2) ? 1 + (uint32_t)rnd(s, 5) : 0;
    plan.limits = (int)rnd(s, 2);
    plan.cancels = (int)rnd(s, 2);
    plan.cast_one_in = rnd(s, 2) ? 2u << rnd(s, 6) : 0;
    plan.is_strict = 1;
    plan.huge_one_in = s->cfg.max_message == HUGE ? 200 : 0;
    chat_begin(s, &plan);
}

/* ---- Processors -------------------------------------------------------------------------- */

/* Each fourth seed has work take time: up to SLOWEST times as long as was measured, on one core for all, for
 * some, or for each host. Drawn from the seed alone, so that what other seeds draw stays as it was. */
#define COSTS_ONE_IN 4u
#define SLOWEST_BITS 6u

static void weigh(struct sim *s, uint32_t n)
{
    struct world_rng r = { s->o.seed };
    uint32_t i, cores;

    if (s->o.seed % COSTS_ONE_IN != COSTS_ONE_IN - 1)
        return;
    s->w->o.costs = &world_costs_measured;
    s->w->o.slow = 1u << world_rng_below(&r, SLOWEST_BITS + 1);
    cores = 1 + (uint32_t)world_rng_below(&r, n);
    world_say(s->w, 1, "campaign: work takes %u times as long, on %u cores", (unsigned)s->w->o.slow,
              (unsigned)cores);
    for (i = 0; i < n; i++)
        world_core(s->w, i, i % cores);
}

/* ---- The campaign ------------------------------------------------------------------------ */

void tell_campaign(struct sim *s)
{
    uint32_t most = s->o.nodes, n = 3 + (uint32_t)rnd(s, most - 2);
    int kind = (int)rnd(s, TOPOLOGIES);
    uint64_t at;

    if (kind == CHAIN && n > s->cfg.hop_limit)
        n = s->cfg.hop_limit;
    s->names = (int)rnd(s, 2);
    s->cfg.rtt_metric = s->o.seed % 5 == 4 && !s->o.routing; /* not drawn: all else stays as it was */
    s->mixed = s->o.seed % 10 == 4;
    world_say(s->w, 1, "campaign: %s of %u", topology_names[kind], (unsigned)n);
    if (rnd(s, 4) == 0)
        s->cfg.max_message = HUGE;
    if (rnd(s, 4) == 0)
        s->cfg.mem_limit = TIGHT;
    if (rnd(s, 4) == 0)
        s->cfg.window = s->cfg.hold_bytes = 65536;
    add(s, n, 0, 0);
    weigh(s, n);
    make(s, kind);
    start_all(s);
    if (rnd(s, 2))
        wait_until(s, all_well, PEACE);
    if (s->names && rnd(s, 4))
        talk(s, n);
    chaos(s);
    chat_hush(s);
    peace(s);
    at = s->w->now;
    wait_until(s, all_well, PEACE);
    s->peace_us = s->w->now - at;
    if (s->names)
        wait_until(s, names_owned, 30 * SECOND);
    wait_until(s, chat_told, MINUTE);
    check_quiet(s);
}

void tell_determinism(struct sim *s)
{
    uint64_t trace[2] = { 0, 1 };
    int i;

    for (i = 0; i < 2 && !s->w->failed; i++) {
        struct sim *t = sim_new(&s->o, s->o.nodes, NULL);
        if (!t) {
            world_fail(s->w, "the simulator is out of memory");
            return;
        }
        tell_campaign(t);
        trace[i] = t->w->trace;
        if (t->w->failed)
            world_fail(s->w, "%s", t->w->why);
        sim_free(t);
    }
    if (trace[0] != trace[1])
        world_fail(s->w, "one seed, two histories: %016llx and %016llx",
                   (unsigned long long)trace[0], (unsigned long long)trace[1]);
}
