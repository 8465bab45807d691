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
        s->o.nodes > 100 ? 7.5 : 6.3);
    bar(s, "cost_three entries per ordered pair", (double)t.entries / pairs, 1.35);
    bar(s, "cost_three settled after s", (double)settled / 1e6, s->o.nodes > 150 ? 3 : 1.5);
}

/* Figures 5 to 7: how many pairs have a route, and how long it is, while time passes. */
static void sample(struct sim *s)
{
    uint64_t pairs = 0, hops = 0, all = (uint64_t)living(s) * (living(s) - 1);
    uint32_t a, b;

    for (a = 0; a < s->w->host_count; a++)
        check_look(s->c, a);
    for (a = 0; a < s->w->host_count; a++) {
        if (!s->nodes[a].p)
            continue;
        for (b = 0; b < s->w->host_count; b++)
            if (a != b && s->nodes[b].p && check_path(s->c, a, b)) {
                pairs++;
                hops += check_hops(s->c, a, b);
            }
    }
    printf("time\t%s\t%.4f\t%u\t%.6f\t%.4f\n", routing_of(s), (double)now_us(s) / 1e6, (unsigned)living(s),
           all ? (double)pairs / (double)all : 0, pairs ? (double)hops / (double)pairs : 0);
}

void tell_start_time(struct sim *s)
{
    make_three(s);
    start_all(s);
    s->sample = sample;
    s->sample_us = 500;
    run_for(s, 100 * MS);
    s->sample_us = 50 * MS;
    run_for(s, 3 * SECOND);
}

/* Half of the nodes die at 30 s and are started again at 35 s. */
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

/* Without discovery nodes link with whom they were told of by their user, and with nobody else. Here that
 * is a hub each, so the rest is routed through it. */
void tell_alone_time(struct sim *s)
{
    s->cfg.max_links = 1;
    tell_start_time(s);
}
