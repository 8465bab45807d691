/* story.c - the named scenarios: what each one does, and the bar that it must clear. */
#include "chat.h"
#include "story.h"

#include <stdio.h>
#include <string.h>

/* The longest round trip between two hosts of one site, from the world's options. */
static double round_trip_ms(const struct sim *s)
{
    const struct world_options *o = &s->w->o;

    return 2e-3 * (double)(o->latency_us + o->spread_us + o->jitter_us);
}

static double pairs_of(const struct sim *s)
{
    double n = (double)living(s);

    return n * (n - 1);
}

/* A clique that knows host 0, all started at the same moment, and settled. */
static void make_clique(struct sim *s)
{
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_reachable, MINUTE);
    wait_until(s, all_linked, 2 * MINUTE);
    (void)settle(s, 3 * SECOND, 5 * MINUTE);
    wait_until(s, all_well, MINUTE);
}

/* What every node must learn is one entry about every other node: N(N-1) is the floor. */
static void cold_start(struct sim *s)
{
    uint64_t reached, linked, settled, quiet;
    struct sim_totals t;
    double pairs;

    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_reachable, MINUTE);
    reached = now_us(s);
    wait_until(s, all_linked, 2 * MINUTE);
    linked = now_us(s);
    settled = settle(s, 3 * SECOND, 5 * MINUTE) + linked;
    t = totals(s);
    pairs = pairs_of(s);
    bar(s, "cold_start entries per ordered pair", (double)t.entries / pairs, 1.2);
    bar(s, "cold_start updates per ordered pair", (double)t.updates / pairs, 0.2);
    figure(s, "cold_start all reachable after s", (double)reached / 1e6);
    figure(s, "cold_start all linked after s", (double)linked / 1e6);
    figure(s, "cold_start settled after s", (double)settled / 1e6);
    figure(s, "cold_start bytes per ordered pair", (double)t.bytes / pairs);
    figure(s, "cold_start dials per pair", 2 * (double)t.dials / pairs);
    figure(s, "cold_start requests per ordered pair", (double)t.requests / pairs);
    /* All neighbours are told when the table is quiet: after a second, and 20 ms for each node beyond 64. */
    quiet = linked + 9 * (SECOND + (s->o.nodes > 64 ? s->o.nodes - 64 : 0) * 20 * MS) / 10;
    if (s->o.nodes > 256) { /* with fewer the first heartbeats come later than that anyway */
        run_for(s, now_us(s) < quiet ? quiet - now_us(s) : 0);
        bar(s, "cold_start heartbeats per link and side before the table is quiet",
            (double)totals(s).heartbeats / pairs, 0.2);
    }
    wait_until(s, all_well, MINUTE);
}

/* One link of a settled clique goes, and both ends know: nobody else may lose a route. */
static void cut48(struct sim *s)
{
    uint32_t a, b;
    uint64_t still;

    make_clique(s);
    a = (uint32_t)rnd(s, s->o.nodes);
    b = (a + 1 + (uint32_t)rnd(s, s->o.nodes - 1)) % s->o.nodes;
    check_watch_losses(s->c);
    sever(s, a, b);
    run_for(s, 5 * SECOND);
    still = check_still_lost(s->c);
    bar(s, "cut48 pairs that lose a route", (double)s->c->pairs_lost, 2);
    bar(s, "cut48 longest loss in round trips",
        (double)s->c->longest_us / 1e3 / round_trip_ms(s), 3);
    figure(s, "cut48 pairs still lost after 5 s", (double)still);
    wait_until(s, all_well, MINUTE);
}

/* Three sites of a third of the nodes each. Only the first two hosts of each can be dialled from
 * outside, by each other. Everything between sites passes through them. */
static void three_sites(struct sim *s)
{
    uint32_t k = s->o.nodes / 3, a, b;

    for (a = 0; a < 3; a++)
        add(s, k, a, 0);
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++)
            s->w->site_us[a][b] = a == b ? 0 : 5000;
    for (a = 0; a < 3 * k; a++)
        for (b = 0; b < 3 * k; b++)
            if (a / k != b / k && (a % k > 1 || b % k > 1))
                forbid(s, a, b);
    for (a = 0; a < 3 * k; a++)
        if (a % k)
            join(s, a, a / k * k);
    join(s, k, 0);
    join(s, 2 * k, 0);
    start_all(s);
    wait_until(s, all_well, 2 * MINUTE);
    (void)settle(s, 3 * SECOND, 5 * MINUTE);
}

/* The same while the third site talks to the first, through gateways that die: not a message is lost. */
static void gateway_chat(struct sim *s)
{
    uint32_t k = s->o.nodes / 3;
    struct chat_plan plan;

    memset(&plan, 0, sizeof plan);
    plan.per_second = 20;
    plan.bytes_max = 20000;
    plan.first = 2;
    plan.talk_first = 2 * k + 2;
    plan.count = plan.talkers = k - 2;
    chat_begin(s, &plan);
    run_for(s, SECOND);
    crash(s, 0);
    run_for(s, 2 * SECOND);
    restart(s, 0);
    run_for(s, 2 * SECOND);
    power_off(s, 2 * k);
    run_for(s, 12 * SECOND);
    chat_hush(s);
    chat_bars(s, "gateway_death", 30 * SECOND);
    bar(s, "gateway_death messages that did not arrive", (double)chat_failed(s), 0);
}

static void gateway_death(struct sim *s)
{
    uint32_t k = s->o.nodes / 3;
    double trip = round_trip_ms(s) + 10, detection, worst;
    uint64_t pairs;

    s->names = 1;
    three_sites(s);
    watch_paths(s, MS);
    run_for(s, 100 * MS);
    crash(s, 0);
    run_for(s, 3 * SECOND);
    worst = (double)worst_outage(s, &pairs) / 1e3;
    /* A crash is seen when the reset arrives: half a round trip, and a sample. */
    bar(s, "gateway_death outage ms after a crash", worst, trip / 2 + 1 + 2 * trip);
    figure(s, "gateway_death pairs hit by the crash", (double)pairs);
    wait_until(s, all_well, MINUTE);
    restart(s, 0);
    wait_until(s, all_well, 2 * MINUTE);
    run_for(s, 10 * SECOND);
    s->sample = NULL;
    (void)settle(s, 3 * SECOND, MINUTE);
    watch_paths(s, 5 * MS);
    power_off(s, k + 1);
    run_for(s, 15 * SECOND);
    worst = (double)worst_outage(s, &pairs) / 1e3;
    detection = (double)(s->cfg.detector.interval_us + s->cfg.detector.timeout_us) / 1e3;
    bar(s, "gateway_death outage ms after a power loss", worst, detection + 5 + 2 * trip);
    figure(s, "gateway_death pairs hit by the power loss", (double)pairs);
    s->sample = NULL;
    wait_until(s, all_well, MINUTE);
    gateway_chat(s);
    wait_until(s, all_well, MINUTE);
}

static void partitioned(struct sim *s, uint64_t us, const char *what)
{
    uint64_t healed;

    partition(s, 0, s->o.nodes / 2, 1);
    run_for(s, us);
    heal_all(s);
    healed = now_us(s);
    wait_until(s, all_reachable, 10 * MINUTE);
    bar(s, what, (double)(now_us(s) - healed) / 1e6, 60);
    wait_until(s, all_well, 10 * MINUTE);
    figure(s, "partition all best after s", (double)(now_us(s) - healed) / 1e6);
    run_for(s, 20 * SECOND);
}

static void partition_story(struct sim *s)
{
    make_clique(s);
    partitioned(s, 2 * SECOND, "partition whole s after 2 s");
    partitioned(s, 60 * SECOND, "partition whole s after 60 s");
    partitioned(s, 3600 * SECOND, "partition whole s after 3600 s");
}

/* Settles: the last route message, not the silence that proves it. */
/* At each look the queues of one host, in turn, are within their bounds, and so was its memory at any time,
 * promise 44. */
static int all_linked_in_bounds(struct sim *s)
{
    check_bounds(s->c, (uint32_t)(now_us(s) / 10 % s->w->host_count), &s->cfg, 0, 1);
    return all_linked(s);
}

static void mass_restart(struct sim *s)
{
    uint64_t staggered, begin, at_once;
    uint32_t i;

    s->cfg.mem_limit = (size_t)16 << 20;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    for (i = 0; i < s->o.nodes; i++) {
        start(s, i);
        run_for(s, 10 * MS);
    }
    wait_until(s, all_linked, 2 * MINUTE);
    staggered = now_us(s);
    staggered += settle(s, 3 * SECOND, 5 * MINUTE);
    for (i = 0; i < s->o.nodes; i++)
        crash(s, i);
    begin = now_us(s);
    start_all(s);
    wait_until(s, all_linked_in_bounds, 5 * MINUTE);
    for (i = 0; i < s->o.nodes; i++)
        check_bounds(s->c, i, &s->cfg, 0, 1);
    at_once = now_us(s) - begin;
    at_once += settle(s, 3 * SECOND, 5 * MINUTE);
    bar(s, "mass_restart settles, times the staggered start",
        (double)at_once / (double)staggered, 2);
    figure(s, "mass_restart staggered start s", (double)staggered / 1e6);
    figure(s, "mass_restart restart at once s", (double)at_once / 1e6);
    wait_until(s, all_well, MINUTE);
}

static void name_change(struct sim *s)
{
    uint64_t before;
    uint32_t i, knows = 0, who;
    struct phx_id id;

    make_clique(s);
    before = totals(s).updates;
    who = (uint32_t)rnd(s, s->o.nodes);
    if (!s->w->failed && phx_assume(s->nodes[who].p, 1000000, 1000009) < 0)
        world_fail(s->w, "phx_assume failed");
    world_touch(s->w, who);
    run_for(s, 20 * SECOND);
    for (i = 0; i < s->o.nodes && !s->w->failed; i++)
        knows += phx_owner(s->nodes[i].p, 1000005, &id) == 0;
    if (knows != s->o.nodes)
        world_fail(s->w, "%u of %u know who holds the name", (unsigned)knows, (unsigned)s->o.nodes);
    bar(s, "name_change updates beyond N-1",
        (double)(totals(s).updates - before) - (double)(s->o.nodes - 1), 0);
}

static void quiet(struct sim *s)
{
    struct sim_totals a, b;

    make_clique(s);
    a = totals(s);
    run_for(s, 10 * MINUTE);
    b = totals(s);
    bar(s, "quiet route messages in 10 min",
        (double)(b.updates + b.requests - a.updates - a.requests), 0);
    figure(s, "quiet heartbeats per link and s",
           (double)(b.heartbeats - a.heartbeats) / 600 / (pairs_of(s) / 2));
    figure(s, "quiet os calls per node and s",
           (double)(b.os_calls - a.os_calls) / 600 / (double)living(s));
}

/* Many nodes, few links each. */
static void bounded(struct sim *s)
{
    double sum = 0, most = 0, links = 0, alone;
    struct phx_stats st;
    uint32_t i;

    s->cfg.max_links = s->o.nodes < 64 ? 8 : 32;
    add(s, s->o.nodes, 0, 0);
    start(s, 0);
    alone = (double)s->w->hosts[0].mem_used;
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_reachable, 10 * MINUTE);
    figure(s, "bounded all reachable after s", (double)now_us(s) / 1e6);
    (void)settle(s, 3 * SECOND, 10 * MINUTE);
    wait_until(s, all_shortest, 2 * MINUTE);
    for (i = 0; i < s->o.nodes && !s->w->failed; i++) {
        double mem = (double)s->w->hosts[i].mem_used;
        phx_stats(s->nodes[i].p, &st);
        links += st.links;
        sum += mem - alone;
        most = mem > most ? mem : most;
    }
    figure(s, "bounded links per node", links / (double)s->o.nodes);
    figure(s, "bounded memory of a node that is alone, KiB", alone / 1024);
    figure(s, "bounded memory added by the others, mean KiB", sum / 1024 / (double)s->o.nodes);
    /* 8 MiB at 4,096 nodes is promise 30; in proportion below. */
    bar(s, "bounded memory per known node, bytes",
        sum / (double)s->o.nodes / (double)s->o.nodes, 2048);
    figure(s, "bounded memory of the largest node, the hub, KiB", most / 1024);
    figure(s, "bounded entries per ordered pair", (double)totals(s).entries / pairs_of(s));
}

/* Two nodes that dial each other at the same moment keep one link. */
static void both_dial(struct sim *s)
{
    uint64_t i;

    add(s, 2, 0, 0);
    join(s, 0, 1);
    join(s, 1, 0);
    for (i = 0; i < 100 && !s->w->failed; i++) {
        start(s, 0);
        run_for(s, rnd(s, 3000));
        start(s, 1);
        wait_until(s, all_linked, 20 * SECOND);
        run_for(s, 100 * MS);
        wait_until(s, all_linked, 0);
        check_links(s->c, 0, QUEUE_LIMIT);
        check_links(s->c, 1, QUEUE_LIMIT);
        crash(s, 0);
        crash(s, 1);
        run_for(s, 10 * MS);
    }
}

/* Half of the nodes sit behind NATs, some with the same private addresses. */
static void nats(struct sim *s)
{
    uint32_t i, n = s->o.nodes;

    add(s, n / 2, 0, 0);
    for (i = n / 2; i < n; i++)
        add(s, 1, 1 + i % 3, 1 + i % 3);
    join_all(s, 0);
    start_all(s);
    s->names = 0;
    wait_until(s, all_reachable, MINUTE);
    wait_until(s, all_well, 2 * MINUTE);
    crash(s, 0);
    wait_until(s, all_well, 2 * MINUTE);
}

/* One direction of one link dies silently, for a minute. */
static void oneway(struct sim *s)
{
    make_clique(s);
    cut_oneway(s, 0, 1);
    /* Neither need be a monitor of the other, and nothing travels: the insurance finds it. */
    run_for(s, s->cfg.detector.insurance_us + s->cfg.detector.timeout_us);
    wait_until(s, all_shortest, 30 * SECOND);
    if (!s->w->failed && check_hops(s->c, 0, 1) != 2)
        world_fail(s->w, "after a one-way cut 0 -> 1 has %u hops, should be 2",
                   (unsigned)check_hops(s->c, 0, 1));
    heal(s, 0, 1);
    wait_until(s, all_well, 2 * MINUTE);
}

/* A host that computes for a while is nobody's loss, and accuses nobody when it is back. */
static void stalled(struct sim *s)
{
    uint64_t lost;

    make_clique(s);
    lost = totals(s).links_lost;
    stall(s, 1, 4 * SECOND);
    run_for(s, 10 * SECOND);
    bar(s, "stalled links lost by a stall of 4 s", (double)(totals(s).links_lost - lost), 0);
    stall(s, 1, 40 * SECOND);
    run_for(s, 60 * SECOND);
    figure(s, "stalled links lost by a stall of 40 s", (double)(totals(s).links_lost - lost));
    wait_until(s, all_well, 2 * MINUTE);
}

/* Memory and descriptors run out, now and then and for some; then there is enough again. */
static void scarce(struct sim *s)
{
    uint32_t i, round;

    s->names = 1;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    for (i = 0; i < s->o.nodes; i++) {
        s->w->hosts[i].faults.nomem_until = s->w->now + 20 * SECOND;
        s->w->hosts[i].faults.nomem_one_in = i % 2 ? 20 : 0;
        s->w->hosts[i].faults.handles_max = i % 3 ? 0 : 4 + (uint32_t)rnd(s, 8);
    }
    for (round = 0; round < 20; round++) {
        start_all(s); /* those that failed try again */
        run_for(s, SECOND);
    }
    for (i = 0; i < s->o.nodes; i++)
        s->w->hosts[i].faults.handles_max = 0;
    start_all(s);
    wait_until(s, all_well, 3 * MINUTE);
}

/* Everything comes from the hub when a crowd starts, and most destinations are delegated to it
 * (route/advert.c). It goes at any moment of that, loudly or silently, or is slow, or is cut off from some,
 * and somebody else goes, too. Then it is back, and all must find each other by the shortest routes. */
static void hub_goes(struct sim *s)
{
    uint32_t n = s->o.nodes, round, k, group;

    s->names = 1;
    add(s, n, 0, 0);
    join_all(s, 0);
    if (rnd(s, 2))
        join_all(s, 1);
    start_all(s);
    for (round = 0; round < 3 && !s->w->failed; round++) {
        run_for(s, rnd(s, rnd(s, 2) ? 20 * MS : 200 * MS));
        switch (rnd(s, 4)) {
        case 0: crash(s, 0); break;
        case 1: power_off(s, 0); break;
        case 2: stall(s, 0, rnd(s, 20 * SECOND)); break;
        default:
            group = rnd(s, 2) != 0;
            partition(s, 0, 1 + (uint32_t)rnd(s, n - 1), group);
        }
        run_for(s, rnd(s, 100 * MS));
        k = 1 + (uint32_t)rnd(s, n - 1);
        crash(s, k);
        run_for(s, rnd(s, rnd(s, 2) ? 100 * MS : 20 * SECOND));
        heal_all(s);
        restart(s, k);
        if (!s->nodes[0].p || rnd(s, 2))
            restart(s, 0);
    }
    wait_until(s, all_well, 2 * MINUTE);
    wait_until(s, same_names, MINUTE);
}

/* Messages by name while links come and go, with nobody dead or cut off for long: all arrive. */
static void chat_story(struct sim *s)
{
    uint32_t i, n = s->o.nodes;
    struct chat_plan plan;

    memset(&plan, 0, sizeof plan);
    plan.per_second = 50;
    plan.bytes_max = 100000;
    plan.count = n / 3 * 3;
    s->names = 1;
    three_sites(s);
    chat_begin(s, &plan);
    for (i = 0; i < 40 && !s->w->failed; i++) {
        uint32_t a = (uint32_t)rnd(s, n / 3 * 3), b = (uint32_t)rnd(s, n / 3 * 3);
        run_for(s, rnd(s, 500 * MS));
        if (a == b)
            continue;
        if (i % 3 == 0) {
            cut(s, a, b);
            run_for(s, rnd(s, 12 * SECOND)); /* above the time-out: the link is given up */
            heal(s, a, b);
        } else {
            unplug(s, a, b);
        }
    }
    heal_all(s);
    run_for(s, SECOND);
    chat_hush(s);
    chat_bars(s, "chat", 30 * SECOND);
    bar(s, "chat messages that did not arrive", (double)chat_failed(s), 0);
    wait_until(s, all_well, MINUTE);
}

/* Everybody takes and drops names in the very moments in which links are made: a hello that speaks of
 * a newer card than the peer has must not outrun it (it did: whoever was told the number before the
 * card came never got the card). And memory may be short while a card arrives. */
static void news(struct sim *s)
{
    uint32_t i, k, n = s->o.nodes;

    s->names = 1;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        for (k = i + 2; k < n; k++)
            forbid(s, i, k);
    for (i = 1; i < n; i++)
        join(s, i, i - 1);
    start_all(s);
    wait_until(s, all_well, MINUTE);
    for (i = 0; i < 200 && !s->w->failed; i++) {
        k = 1 + (uint32_t)rnd(s, n - 1);
        unplug(s, k - 1, k);
        run_for(s, rnd(s, 60 * MS));
        for (k = 0; k < n && !s->w->failed; k++)
            if (rnd(s, 2) == 0)
                (void)phx_assume(s->nodes[k].p, 1000 + i * 100 + k, 1000 + i * 100 + k);
            else
                (void)phx_release(s->nodes[k].p, 1000, UINT64_MAX);
        for (k = 0; k < n && !s->w->failed; k++)
            world_touch(s->w, k);
        s->w->hosts[i % n].faults.nomem_until = s->w->now + (rnd(s, 4) ? 0 : 20 * MS);
        s->w->hosts[i % n].faults.nomem_one_in = 3;
    }
    run_for(s, SECOND);
    wait_until(s, all_well, MINUTE);
    wait_until(s, same_names, MINUTE);
}

const struct story stories[] = {
    { "cold_start", "a clique that knows one hub starts at once", 64, 2, 4096, cold_start, NULL },
    { "cut48", "one link of a settled clique is cut", 48, 4, 1024, cut48, NULL },
    { "deaths", "several nodes of a full mesh die at one moment", 40, 20, 400, tell_deaths, NULL },
    { "gateway_death", "three sites with two gateways each lose one", 48, 9, 600, gateway_death,
      NULL },
    { "partition", "halves apart for 2 s, 60 s, 3600 s", 100, 4, 1024, partition_story, NULL },
    { "mass_restart", "all restart at the same instant", 400, 4, 1024, mass_restart, NULL },
    { "name_change", "one name is assumed in a settled clique", 64, 2, 1024, name_change, NULL },
    { "quiet", "a settled clique for ten minutes", 48, 2, 1024, quiet, NULL },
    { "bounded", "many nodes, few links each", 256, 16, 4096, bounded, NULL },
    { "both_dial", "two nodes dial each other, 100 times", 2, 2, 2, both_dial, NULL },
    { "nats", "half of the nodes behind NATs", 24, 4, 512, nats, NULL },
    { "oneway", "one direction of one link dies", 16, 4, 512, oneway, NULL },
    { "stalled", "a host does not step for a while", 16, 3, 512, stalled, NULL },
    { "scarce", "memory and descriptors run out for a while", 16, 3, 512, scarce, NULL },
    { "hub_goes", "a crowd starts, and its hub dies, stalls or is cut off", 40, 4, 512, hub_goes, NULL },
    { "news", "names change while links are made", 6, 3, 64, news, NULL },
    { "chat", "messages by name while links come and go", 18, 9, 96, chat_story, NULL },
    { "forgotten", "a dead node is forgotten after a day, and nothing is said", 4, 3, 16, tell_forgotten,
      NULL },
    { "launch_exchange", "agents start agents, and MPICH's processes meet", 41, 9, 2049,
      tell_launch_exchange, launch_world },
    { "launch_start", "hosts and processes start, few and many", 65, 65, 65, tell_launch_start,
      launch_world },
    { "launch_large", "an exchange on a third of the hosts, and on all", 205, 33, 2049, tell_launch_large,
      launch_world },
    { "launch_chaos", "agents die while operations are under way", 40, 4, 60, tell_launch_chaos, NULL },
    { "tree", "links only where a tree has them", 64, 2, 400, tell_tree, NULL },
    { "orphans", "the head of three leaves dies, and they go to its parent", 40, 40, 40, tell_orphans, NULL },
    { "crash_loop", "processes with many names die one after the other", 5, 5, 5, tell_crash_loop,
      NULL },
    { "come_and_go", "processes that come, talk and go, thousands", 13, 8, 60, tell_come_and_go, NULL },
    { "came_and_left", "a crowd comes and says goodbye", 5, 5, 5, tell_came_and_left, NULL },
    { "starved", "half are stopped for 9.5 s of every 10", 50, 4, 256, tell_starved, NULL },
    { "overload", "one of twenty overloads for a minute", 12, 3, 64, tell_overload, overload_world },
    { "words_1", "all join and speak to all at once", 64, 3, 1000, tell_words_1, words_world },
    { "words_10", "the same, ten on each core", 64, 3, 1000, tell_words_10, words_world },
    { "words_killed", "three hubs are known, and one dies meanwhile", 64, 8, 1000, tell_words_killed,
      words_world },
    { "words_killed_200", "the same, 200 on each core, with equal shares", 64, 8, 1000, tell_words_killed_200,
      words_world },
    { "words_200", "the same, 200 on each core", 64, 3, 1000, tell_words_200, words_world },
    { "site_words_10", "three sites speak to each other at once, ten on each core", 64, 6, 1000,
      tell_site_words_10, words_sites_world },
    { "site_words_200", "the same, 200 on each core", 64, 6, 1000, tell_site_words_200,
      words_sites_world },
    { "hub_words_10", "three hubs with a third of the nodes each, no walls", 64, 7, 1000, tell_hub_words_10,
      words_world },
    { "hub_words_200", "the same, 200 on each core", 100, 7, 1000, tell_hub_words_200, words_world },
    { "strangers", "a silent crowd at a hub with few descriptors", 15, 6, 64, tell_strangers, NULL },
    { "full_hub", "all name one hub that has few descriptors", 60, 42, 512, tell_full_hub, NULL },
    { "full_accepts", "all name one hub that takes few links", 60, 26, 512, tell_full_accepts, NULL },
    { "traces", "everybody traces everybody, then things break", 12, 4, 64, tell_traces, NULL },
    { "two_ways", "of two ways as short the faster one is taken, and left when it is slower", 4, 4, 4,
      tell_two_ways, NULL },
    { "two_ways_off", "the same without the option: nothing is asked or told", 4, 4, 4, tell_two_ways_off,
      NULL },
    { "jitter", "times that jump, among sites with two gateways: how much is told", 100, 20, 200, tell_jitter,
      NULL },
    { "hole", "a direct path swallows what is larger than 1,280 bytes", 6, 4, 32, tell_hole, NULL },
    { "flaky_path", "a direct path passes the hello and then loses data", 6, 4, 32, tell_flaky, NULL },
    { "late_ends", "hosts stop for a while, and no path is blamed", 8, 4, 64, tell_late_ends, NULL },
    { "campaign", "topology, sizes and faults drawn from the seed", 24, 3, 512, tell_campaign,
      NULL },
    { "determinism", "the campaign twice: the same bytes", 16, 3, 512, tell_determinism, NULL },
    { "cost_one", "for figures: a cold start of one clique", 64, 3, 512, tell_cost_one, NULL },
    { "cost_three", "for figures: a cold start of three cliques", 64, 8, 512, tell_cost_three, NULL },
    { "start_time", "for figures: reachable pairs after a cold start", 64, 8, 512, tell_start_time,
      words_world },
    { "half_time", "for figures: half die at 30 s, come back at 35 s", 224, 8, 512, tell_half_time, NULL },
    { "mesh_offline", "for figures: a full mesh, all addresses given", 64, 3, 129, tell_mesh_offline,
      words_world },
    { "mesh_discovery", "for figures: a full mesh, one hub given", 64, 3, 512, tell_mesh_discovery,
      words_world },
    { "said_time", "for figures: what is said during a computation", 64, 4, 512, tell_said_time, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};

static const struct story *find_in(const struct story *t, const char *name)
{
    for (; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

const struct story *story_find(const char *name)
{
    const struct story *t = find_in(stories, name);

    if (!t)
        t = find_in(delivery_stories, name);
    if (!t)
        t = find_in(detect_stories, name);
    if (!t)
        t = find_in(mpi_stories, name);
    return t ? t : find_in(lie_stories, name);
}
