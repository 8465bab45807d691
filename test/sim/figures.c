/* figures.c - the runs behind the figures of Kaneda, Taura and Yonezawa (CCGrid 2004), as TSV. */
#include "story.h"

#include <stdio.h>

static const char *routing_of(const struct sim *s)
{
    return s->o.routing == 1 ? "naive" : s->o.routing == 2 ? "paper" : "default";
}

/* Figures 3 and 4: what a cold start costs. One clique, or three whose first two hosts see each other. */
static uint64_t cost(struct sim *s, const char *what)
{
    struct sim_totals t;
    uint64_t settled = settle(s, 3 * SECOND, 10 * MINUTE);

    t = totals(s);
    if (!s->w->failed)
        printf("cost\t%s\t%s\t%u\t%llu\t%llu\t%llu\t%.6f\n", what, routing_of(s), (unsigned)living(s),
               (unsigned long long)t.updates, (unsigned long long)t.entries, (unsigned long long)t.bytes,
               (double)settled / 1e6);
    return settled;
}

void tell_cost_one(struct sim *s)
{
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    (void)cost(s, "one");
}

static void make_three(struct sim *s)
{
    uint32_t n = s->o.nodes, k = (n + 2) / 3, a, b;

    for (a = 0; a < n; a++)
        add(s, 1, a / k, 0);
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++)
            s->w->site_us[a][b] = a == b ? 0 : 5000;
    for (a = 0; a < n; a++)
        for (b = a + 1; b < n; b++)
            if (a / k != b / k && (a % k > 1 || b % k > 1))
                forbid(s, a, b);
    for (a = 1; a < n; a++)
        join(s, a, a % k ? a / k * k : 0);
}

void tell_cost_three(struct sim *s)
{
    struct sim_totals t;
    double pairs = (double)s->o.nodes * (s->o.nodes - 1);
    uint64_t settled;

    make_three(s);
    start_all(s);
    settled = cost(s, "three");
    if (s->o.routing != 0 || s->o.nodes < 100)
        return;
    t = totals(s);
    bar(s, "cost_three messages per node", (double)t.updates / (double)s->o.nodes,
        s->o.nodes > 150 ? 8 : s->o.nodes > 100 ? 4.27 : 6.3);
    bar(s, "cost_three entries per ordered pair", (double)t.entries / pairs, 1.2);
    bar(s, "cost_three settled after s", (double)settled / 1e6, s->o.nodes > 150 ? 3 : 1.5);
}

/* Figures 5 and 6: how many pairs have a route, and how long it is, while time passes. A row where that
 * changed. */
static void sample(struct sim *s)
{
    static double share_before = -1, hops_before;
    uint64_t pairs = 0, sum = 0, all = (uint64_t)living(s) * (living(s) - 1);
    double share, hops;
    uint32_t a, b;

    for (a = 0; a < s->w->host_count; a++)
        check_look(s->c, a);
    for (a = 0; a < s->w->host_count; a++) {
        if (!s->nodes[a].p)
            continue;
        for (b = 0; b < s->w->host_count; b++)
            if (a != b && s->nodes[b].p && check_path(s->c, a, b)) {
                pairs++;
                sum += check_hops(s->c, a, b);
            }
    }
    share = all ? (double)pairs / (double)all : 0;
    hops = pairs ? (double)sum / (double)pairs : 0;
    if (share == share_before && hops == hops_before)
        return;
    share_before = share;
    hops_before = hops;
    printf("time\t%s\t%u\t%.4f\t%u\t%.6f\t%.4f\n", routing_of(s), (unsigned)s->o.nodes,
           (double)now_us(s) / 1e6, (unsigned)living(s), share, hops);
}

/* Figure 5: one cluster, whose processors take the time that was measured. */
void tell_start_time(struct sim *s)
{
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    s->sample = sample;
    s->sample_us = 500;
    run_for(s, 500 * MS);
    s->sample_us = 50 * MS;
    run_for(s, 3 * SECOND);
}

/* Figure 6: half of the nodes die at 30 s and are started again at 35 s. */
void tell_half_time(struct sim *s)
{
    uint32_t i;

    make_three(s);
    start_all(s);
    run_for(s, 29 * SECOND);
    s->sample = sample;
    s->sample_us = 100 * MS;
    run_for(s, SECOND);
    for (i = 0; i < s->o.nodes; i++)
        if (i % 2)
            crash(s, i);
    s->sample_us = 2 * MS;
    run_for(s, 100 * MS);
    s->sample_us = 100 * MS;
    run_for(s, 4900 * MS);
    start_all(s);
    s->sample_us = 2 * MS;
    run_for(s, 200 * MS);
    s->sample_us = 100 * MS;
    run_for(s, 5 * SECOND);
}

/* ---- Figure 7: a full mesh, by names given offline or by discovery ---------------------------- */

/* Seconds from `from` until it is so. */
static double after(struct sim *s, int (*predicate)(struct sim *s), uint64_t from)
{
    while (!s->w->failed && !predicate(s) && now_us(s) - from < MINUTE)
        run_for(s, 500);
    (void)wait_until(s, predicate, 0);
    return (double)(now_us(s) - from) / 1e6;
}

/* All listen; then all are told one hub, or of half of the others, so that each pair is told once. */
static void mesh(struct sim *s, const char *how, int offline)
{
    struct sim_totals t;
    double reached, linked;
    uint64_t from;
    uint32_t i, k, n = s->o.nodes;

    add(s, n, 0, 0);
    start_all(s);
    run_for(s, 100 * MS);
    from = now_us(s);
    if (!offline)
        join_all(s, 0);
    for (i = 0; offline && i < n; i++)
        for (k = 1; 2 * k < n || (2 * k == n && i < k); k++)
            join(s, i, (i + k) % n);
    reached = after(s, all_reachable, from);
    linked = after(s, all_linked, from);
    (void)settle(s, 3 * SECOND, 10 * MINUTE);
    t = totals(s);
    if (!s->w->failed)
        printf("mesh\t%s\t%u\t%llu\t%llu\t%llu\t%llu\t%.4f\t%.4f\n", how, (unsigned)n,
               (unsigned long long)t.updates, (unsigned long long)t.entries, (unsigned long long)t.bytes,
               (unsigned long long)t.dials, reached, linked);
}

void tell_mesh_offline(struct sim *s)
{
    mesh(s, "offline", 1);
}

void tell_mesh_discovery(struct sim *s)
{
    mesh(s, "discovery", 0);
}

/* ---- Figure 2 of the second paper: what is said during a computation -------------------------- */

#define SAID_ROW (5 * SECOND)
#define SAID_TASK (20 * SECOND) /* a process asks another for work so often, on average */

struct said {
    uint64_t routing, heartbeats, spared, messages;
};

static struct said said_sum(const struct sim *s)
{
    struct said sum = { 0, 0, 0, 0 };
    struct phx_stats st;
    uint32_t i;

    for (i = 0; i < s->o.nodes; i++) {
        phx_stats(s->nodes[i].p, &st);
        sum.routing += st.updates_out + st.requests_out;
        sum.heartbeats += st.heartbeats_in;
        sum.spared += st.insurance_saved;
        sum.messages += st.messages_in;
    }
    return sum;
}

/* Each process steals work from one drawn by lot, now and then. */
static void said_steal(struct sim *s, uint64_t us)
{
    uint32_t i;

    for (i = 0; i < s->o.nodes; i++)
        if (rnd(s, SAID_TASK) < us) {
            (void)phx_send(s->nodes[i].p, rnd(s, s->o.nodes) * 10u, i * 10u, 0, "task", 4);
            world_touch(s->w, i);
        }
}

/* The paper's k, T_interval, T_insurance, T_timeout and T_broken, on one cluster, for 300 s. */
void tell_said_time(struct sim *s)
{
    struct said now, before = { 0, 0, 0, 0 };
    uint64_t row, slice;

    s->cfg.detector.monitors = 2;
    s->cfg.detector.interval_us = s->cfg.detector.timeout_us = s->cfg.detector.broken_us = 5 * SECOND;
    s->cfg.detector.insurance_us = 100 * SECOND;
    s->names = 1;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    for (row = 1; row <= 60 && !s->w->failed; row++) {
        for (slice = 0; slice < SAID_ROW; slice += 100 * MS) {
            said_steal(s, 100 * MS);
            run_for(s, 100 * MS);
        }
        if (s->w->failed || living(s) != s->o.nodes)
            return;
        now = said_sum(s);
        printf("said\t%u\t%u\t%llu\t%.4f\t%.4f\t%.4f\n", (unsigned)s->o.nodes, (unsigned)(5 * row),
               (unsigned long long)(now.routing - before.routing),
               (double)(now.heartbeats - before.heartbeats) / s->o.nodes,
               (double)(now.spared - before.spared) / s->o.nodes,
               (double)(now.messages - before.messages) / s->o.nodes);
        before = now;
    }
}
