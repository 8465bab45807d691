/* ways.c - scenarios about round trip times as a second metric: cfg.rtt_metric, promise 29. */
#include "story.h"

#include <stdlib.h>
#include <string.h>

enum { HERE, LEFT, RIGHT, THERE }; /* host 0 and host 3, which only the two between them reach */

/* From the outer ones to a gateway and back, each of the two legs. */
static void distance(struct sim *s, uint32_t gateway, uint32_t us)
{
    for (uint32_t end = HERE; end <= THERE; end += THERE)
        s->w->site_us[end][gateway] = s->w->site_us[gateway][end] = us / 2;
}

static void begin(struct sim *s)
{
    s->cfg.rtt_metric = 1;
    for (uint32_t i = HERE; i <= THERE; i++)
        add(s, 1, i, 0);
    forbid(s, HERE, THERE);
    join_all(s, LEFT);
    join(s, HERE, RIGHT);
    join(s, THERE, RIGHT);
}

/* The host by which i reaches `to`; HOSTS: none. */
static uint32_t by(struct sim *s, uint32_t i, uint32_t to)
{
    struct phx_node nodes[8];
    struct phx_id id;
    size_t n = phx_nodes(s->nodes[i].p, nodes, 8);

    for (size_t k = 0; k < n && k < 8; k++) {
        phx_self(s->nodes[to].p, &id);
        if (memcmp(&nodes[k].id, &id, sizeof id) != 0)
            continue;
        for (uint32_t h = HERE; h <= THERE; h++) {
            phx_self(s->nodes[h].p, &id);
            if (nodes[k].hops > 0 && memcmp(&nodes[k].next, &id, sizeof id) == 0)
                return h;
        }
    }
    return WORLD_NONE;
}

static int both_by(struct sim *s, uint32_t gateway)
{
    return by(s, HERE, THERE) == gateway && by(s, THERE, HERE) == gateway;
}

static int both_by_left(struct sim *s)
{
    return both_by(s, LEFT);
}

static int both_by_right(struct sim *s)
{
    return both_by(s, RIGHT);
}

/* Do phx_explain and phx_dump tell how long the way takes, some 200 ms? */
static int is_shown(struct sim *s)
{
    static char text[1 << 16];
    const char *at;
    struct phx_id id;

    phx_self(s->nodes[THERE].p, &id);
    phx_explain(s->nodes[HERE].p, &id, text, sizeof text);
    at = strstr(text, "\nrtt: ");
    if (at == NULL || atol(at + 6) < 190000 || atol(at + 6) > 230000)
        return 0;
    phx_dump(s->nodes[HERE].p, PHX_DUMP_JSON, text, sizeof text);
    return strstr(text, ",\"rtt_us\":2") != NULL || strstr(text, ",\"rtt_us\":19") != NULL;
}

/* How often a way changes in ten minutes. */
static uint32_t changes(struct sim *s)
{
    uint32_t count = 0, was[2] = { by(s, HERE, THERE), by(s, THERE, HERE) };

    for (int i = 0; i < 600 && !s->w->failed; i++) {
        run_for(s, SECOND);
        count += by(s, HERE, THERE) != was[0];
        count += by(s, THERE, HERE) != was[1];
        was[0] = by(s, HERE, THERE);
        was[1] = by(s, THERE, HERE);
    }
    return count;
}

/* Two ways of two hops: the faster one both ways, also when the other has become that; not one that is a
 * little better, nor while times jitter; and as without the option when a gateway dies. */
void tell_two_ways(struct sim *s)
{
    uint64_t entries;

    begin(s);
    distance(s, LEFT, 100 * MS);
    distance(s, RIGHT, 400 * MS);
    start_all(s);
    wait_until(s, all_best, MINUTE);
    wait_until(s, both_by_left, MINUTE);
    distance(s, LEFT, 400 * MS);
    distance(s, RIGHT, 100 * MS);
    wait_until(s, both_by_right, 5 * MINUTE);
    run_for(s, 5 * MINUTE); /* what is smoothed has come to where it is then */
    distance(s, LEFT, 85 * MS); /* 170 ms in place of 200, what was told is off by an eighth */
    run_for(s, 10 * MINUTE);
    bar(s, "two_ways not shown", !is_shown(s), 0);
    bar(s, "two_ways left for one 15 % better", !both_by(s, RIGHT), 0);
    s->w->o.jitter_us = 10000; /* of each of four ways: a tenth */
    run_for(s, 5 * MINUTE);
    entries = totals(s).entries;
    bar(s, "two_ways changes while times jitter, in ten minutes", changes(s), 0);
    bar(s, "two_ways entries told of it", (double)(totals(s).entries - entries), 1);
    distance(s, LEFT, 50 * MS);
    wait_until(s, both_by_left, 5 * MINUTE);
    crash(s, LEFT);
    wait_until(s, both_by_right, MINUTE);
    restart(s, LEFT);
    wait_until(s, both_by_left, 3 * MINUTE);
    check_quiet(s);
}

/* Without the option the same ways: nothing is asked or told. */
void tell_two_ways_off(struct sim *s)
{
    struct sim_totals before, after;
    uint32_t minutes = 60;

    begin(s);
    s->cfg.rtt_metric = 0;
    distance(s, LEFT, 100 * MS);
    distance(s, RIGHT, 400 * MS);
    start_all(s);
    wait_until(s, all_best, MINUTE);
    run_for(s, MINUTE);
    before = totals(s);
    run_for(s, minutes * MINUTE);
    after = totals(s);
    bar(s, "two_ways_off entries in an hour", (double)(after.entries - before.entries), 0);
    /* As many as before there was the option: eight each 5 s, and two of insurance in 90 s. */
    bar(s, "two_ways_off heartbeats in an hour", (double)(after.heartbeats - before.heartbeats), 5840);
    check_quiet(s);
}

/* Sites with two gateways each, whose hosts are far apart: how much is told in half an hour of wild times. */
void tell_jitter(struct sim *s)
{
    uint32_t n = s->o.nodes, per = n / 5, a, b;
    uint64_t entries;
    double most;

    s->cfg.rtt_metric = 1;
    s->w->o.jitter_us = 100; /* each way; the shortest round trips take a millisecond */
    for (a = 0; a < 5; a++)
        add(s, per, a, 0);
    for (a = 0; a < 5; a++)
        for (b = 0; b < 5; b++)
            s->w->site_us[a][b] = a == b ? 0 : 1000 + 1000 * ((a * b) % 5);
    for (a = 0; a < 5 * per; a++)
        for (b = 0; b < a; b++)
            if (a / per != b / per && (a % per > 1 || b % per > 1))
                forbid(s, a, b);
    for (a = 1; a < 5 * per; a++)
        join(s, a, a % per ? a / per * per : 0);
    start_all(s);
    wait_until(s, all_best, 2 * MINUTE);
    run_for(s, 5 * MINUTE);
    /* A gateway may tell each of its own site, and other gateways, of all that are not there; 180 rounds. */
    most = 180 * (10.0 * (per - 1) * (5.0 * per - per) + 10.0 * 8 * per);
    entries = totals(s).entries;
    run_for(s, 30 * MINUTE);
    bar(s, "jitter entries in half an hour of steady times, of those allowed",
        (double)(totals(s).entries - entries) / most, 0.0001);
    s->w->o.jitter_us = 50000;
    entries = totals(s).entries;
    run_for(s, 30 * MINUTE);
    bar(s, "jitter entries in half an hour of wild times, of those allowed",
        (double)(totals(s).entries - entries) / most, 0.2);
    figure(s, "jitter entries of a node in a minute",
           (double)(totals(s).entries - entries) / (5.0 * per) / 30);
    wait_until(s, all_best, MINUTE);
    check_quiet(s);
}
