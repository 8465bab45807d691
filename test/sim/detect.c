/* detect.c - scenarios of failure detection: deaths found in time, nobody alive taken for dead. */

/* Method: each host's on_node notes when it was told that a process has failed. Bounds are those of
 * phoenix.h, in virtual time, so they are exact; what is allowed on top is one flood: some
 * milliseconds a hop, and the interval between two updates of routing. */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hop costs 1.5 ms of latency at most and up to 20 ms of merging. */
#define FLOOD_HOP (25 * MS)

/* Runs of one story follow each other, so one of these will do. */
static struct detect {
    struct phx_id victim;
    uint64_t *told;     /* by host: when it was told that the victim has failed; 0: not yet */
    uint8_t *cut_off;   /* by host: see who_can_know */
    uint32_t *broken;   /* by host: events of names lost, and of names back */
    uint64_t failed;    /* events of failure, whoever it was */
    uint64_t suspected; /* ... of suspicion */
    uint64_t mine;      /* ... of failure told at host `self` */
    uint32_t self;
} d;

static void saw_node(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;

    (void)p;
    d.suspected += node->state == PHX_NODE_SUSPECT;
    if (node->state != PHX_NODE_FAILED)
        return;
    d.failed++;
    d.mine += n->host == d.self;
    if (d.told && memcmp(&node->id, &d.victim, sizeof d.victim) == 0 && !d.told[n->host])
        d.told[n->host] = n->s->w->now;
}

static void saw_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    struct sim_node *n = user;

    (void)p;
    if (d.broken && memcmp(&lost->owner, &d.victim, sizeof d.victim) == 0)
        d.broken[n->host * 2 + (broken ? 0 : 1)]++;
}

static void watch(struct sim *s, int preset)
{
    free(d.told);
    free(d.broken);
    free(d.cut_off);
    memset(&d, 0, sizeof d);
    d.self = WORLD_NONE;
    d.told = calloc(s->w->o.hosts_max, sizeof *d.told);
    d.broken = calloc(s->w->o.hosts_max, 2 * sizeof *d.broken);
    d.cut_off = calloc(s->w->o.hosts_max, 1);
    if (!d.told || !d.broken || !d.cut_off)
        world_fail(s->w, "the simulator is out of memory");
    s->cfg.on_node = saw_node;
    s->cfg.on_broken = saw_broken;
    (void)phx_detector_preset(&s->cfg.detector, preset);
}

/* A ring, or a chain, with n more links at random; or, if n is large, a clique. */
static void some_network(struct sim *s)
{
    uint32_t n = 3 + (uint32_t)rnd(s, s->o.nodes - 2), a, b, kind = (uint32_t)rnd(s, 3);

    add(s, n, 0, 0);
    for (a = 0; a < n; a++)
        for (b = a + 1; b < n; b++)
            if (kind > 0 && b != a + 1 && !(kind == 1 && a == 0 && b == n - 1) && rnd(s, n) > 2)
                forbid(s, a, b);
    for (a = 1; a < n; a++)
        join(s, a, a - 1);
    start_all(s);
    wait_until(s, all_well, 2 * MINUTE);
    run_for(s, rnd(s, 3 * s->cfg.detector.interval_us));
}

/* Notes who is still connected with one of the victim's monitors when the victim is gone: the rumour can
 * reach no others. A node that a death cuts off from all monitors notices it after insurance_us. */
static void who_can_know(struct sim *s, uint32_t victim)
{
    struct phx_link links[64];
    struct phx_id id;
    struct graph g;
    uint32_t i, e, more = 1;
    size_t k, n = phx_links(s->nodes[victim].p, links, 64);

    memset(d.cut_off, 1, s->w->host_count);
    for (i = 0; i < s->w->host_count; i++) {
        phx_self(s->nodes[i].p, &id);
        for (k = 0; k < n && k < 64; k++)
            if (links[k].monitor && memcmp(&id, &links[k].peer, sizeof id) == 0)
                d.cut_off[i] = 0;
    }
    if (check_graph_of_links(s->c, &g) < 0)
        return;
    while (more)
        for (more = 0, i = 0; i < g.count; i++)
            for (e = g.first[i]; i != victim && !d.cut_off[i] && e < g.first[i + 1]; e++)
                if (d.cut_off[g.to[e]]) {
                    d.cut_off[g.to[e]] = 0;
                    more = 1;
                }
    graph_free(&g);
}

/* When the last of the living was told; the world fails if that is after `bound` and a flood. */
static uint64_t last_told(struct sim *s, uint64_t died, uint64_t bound)
{
    uint64_t flood = FLOOD_HOP * s->w->host_count, worst = 0;
    uint32_t i;

    run_for(s, bound + flood);
    for (i = 0; i < s->w->host_count && !s->w->failed; i++) {
        if (!s->nodes[i].p || s->w->hosts[i].stalled_until > s->w->now || d.cut_off[i])
            continue;
        if (!d.told[i])
            world_fail(s->w, "host %u has not been told %.3f s after the death", (unsigned)i,
                       (double)(bound + flood) / 1e6);
        else if (d.told[i] - died > worst)
            worst = d.told[i] - died;
    }
    return worst;
}

/* All know that the victim's ten names are broken, were told so once, and that they are back as soon
 * as somebody holds them. */
static void names_break(struct sim *s, uint32_t victim)
{
    struct phx_lost lost[4];
    uint32_t i, heir = WORLD_NONE;
    size_t n;

    for (i = 0; i < s->w->host_count && !s->w->failed; i++) {
        if (!s->nodes[i].p || i == victim || d.cut_off[i])
            continue;
        heir = i;
        n = phx_broken(s->nodes[i].p, victim * 10u, victim * 10u + 9, lost, 4);
        if (n != 1 || lost[0].range.first != victim * 10u || lost[0].range.last != victim * 10u + 9
            || memcmp(&lost[0].owner, &d.victim, sizeof d.victim) != 0)
            world_fail(s->w, "host %u: %zu ranges are broken", (unsigned)i, n);
        else if (d.broken[i * 2] != 1)
            world_fail(s->w, "host %u was told of broken names %u times", (unsigned)i,
                       (unsigned)d.broken[i * 2]);
    }
    if (s->w->failed || heir == WORLD_NONE)
        return;
    if (phx_assume(s->nodes[heir].p, victim * 10u, victim * 10u + 9) < 0)
        world_fail(s->w, "phx_assume failed");
    world_touch(s->w, heir);
    run_for(s, SECOND);
    for (i = 0; i < s->w->host_count && !s->w->failed; i++)
        if (s->nodes[i].p && i != victim && check_hops(s->c, i, heir) != 255
            && phx_broken(s->nodes[i].p, victim * 10u, victim * 10u + 9, NULL, 0) != 0)
            world_fail(s->w, "host %u: the names are still broken", (unsigned)i);
}

/* One process dies: by power loss, by stopping for ever, or with its connections closed. */
static void death(struct sim *s)
{
    int how, preset;
    uint64_t died, bound, worst;
    uint32_t victim;
    const struct phx_detector *t = &s->cfg.detector;

    preset = rnd(s, 2) ? PHX_PRESET_FAST : PHX_PRESET_DEFAULT;
    how = (int)rnd(s, 3);
    watch(s, preset);
    s->names = 1;
    some_network(s);
    if (s->w->failed)
        return;
    victim = (uint32_t)rnd(s, s->w->host_count);
    phx_self(s->nodes[victim].p, &d.victim);
    world_say(s->w, 1, "host %u dies, kind %d", (unsigned)victim, how);
    if (how != 2)
        who_can_know(s, victim);
    died = s->w->now;
    if (how == 0)
        power_off(s, victim);
    else if (how == 1)
        stall(s, victim, 3600 * SECOND);
    else
        crash(s, victim);
    bound = t->broken_us + (how == 2 ? 0 : t->interval_us + t->timeout_us);
    worst = last_told(s, died, bound);
    if (preset == PHX_PRESET_FAST && worst > 2 * SECOND)
        world_fail(s->w, "the fast preset took %.3f s", (double)worst / 1e6);
    s->peace_us = worst > bound ? worst - bound : 1; /* what the flood took */
    names_break(s, victim);
}

/* A process and all who watch it lose power in the same instant. */
static void watchers_die(struct sim *s)
{
    const struct phx_detector *t = &s->cfg.detector;
    struct phx_link links[64];
    uint64_t died, bound, worst;
    uint32_t victim, i;
    size_t k, n;
    struct phx_id id;

    watch(s, PHX_PRESET_DEFAULT);
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    run_for(s, 20 * SECOND + rnd(s, 100 * SECOND));
    if (s->w->failed)
        return;
    victim = (uint32_t)rnd(s, s->w->host_count);
    phx_self(s->nodes[victim].p, &d.victim);
    n = phx_links(s->nodes[victim].p, links, 64);
    died = s->w->now;
    power_off(s, victim);
    for (k = 0; k < n && k < 64; k++)
        for (i = 0; i < s->w->host_count && links[k].monitor; i++) {
            if (!s->nodes[i].p)
                continue;
            phx_self(s->nodes[i].p, &id);
            if (memcmp(&id, &links[k].peer, sizeof id) == 0)
                power_off(s, i);
        }
    if (living(s) != s->o.nodes - 1 - t->monitors)
        world_fail(s->w, "%u are left of %u", (unsigned)living(s), (unsigned)s->o.nodes);
    bound = t->insurance_us + t->timeout_us + t->broken_us;
    worst = last_told(s, died, bound);
    s->peace_us = worst;
}

/* What the stable state costs, without and with messages of the application. */
static void heartbeats(struct sim *s)
{
    const struct phx_detector *t = &s->cfg.detector;
    uint64_t monitors[3] = { 0 }, all[3] = { 0 }, saved[3] = { 0 }, routing[3] = { 0 };
    uint32_t i, k, links = 0, n = s->o.nodes;
    double rounds = 2.0 * (double)t->insurance_us / (double)t->interval_us * (double)n;
    struct phx_stats st;
    uint64_t until;

    watch(s, PHX_PRESET_DEFAULT);
    rounds = 2.0 * (double)t->insurance_us / (double)t->interval_us * (double)n;
    s->names = 1;
    if (n > 256)
        s->cfg.max_links = 32;
    add(s, n, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_reachable, 10 * MINUTE);
    (void)settle(s, 3 * SECOND, 10 * MINUTE);
    run_for(s, t->insurance_us);
    for (k = 0; k < 3 && !s->w->failed; k++) {
        for (i = 0; i < n; i++) {
            phx_stats(s->nodes[i].p, &st);
            monitors[k] += st.monitor_beats_in;
            all[k] += st.heartbeats_in;
            saved[k] += st.insurance_saved;
            routing[k] += st.updates_out + st.requests_out;
            links += k == 0 ? st.links : 0;
        }
        until = s->w->now + 2 * t->insurance_us;
        while (k < 2 && s->w->now < until && !s->w->failed) {
            for (i = 0; i < n && k == 1; i++) {
                (void)phx_send(s->nodes[i].p, rnd(s, n) * 10u, i * 10u, 0, "task", 4);
                world_touch(s->w, i);
            }
            run_for(s, t->interval_us);
        }
    }
    if (s->w->failed)
        return;
    bar(s, "heartbeats from those watched, per process and T_interval",
        (double)(monitors[1] - monitors[0]) / rounds, (double)t->monitors + 0.5);
    figure(s, "heartbeats links per process", (double)links / (double)n);
    figure(s, "heartbeats of insurance beside, per process and T_interval",
           (double)(all[1] - monitors[1] - all[0] + monitors[0]) / rounds);
    figure(s, "heartbeats of insurance, with a message per process and T_interval",
           (double)(all[2] - monitors[2] - all[1] + monitors[1]) / rounds);
    figure(s, "heartbeats of insurance saved then, per process and T_interval",
           (double)(saved[2] - saved[1]) / rounds);
    figure(s, "heartbeats from those watched then, per process and T_interval",
           (double)(monitors[2] - monitors[1]) / rounds);
    bar(s, "heartbeats route messages in the stable state", (double)(routing[2] - routing[0]), 0);
}

/* Hosts stall, links flap, and what is under way is late; nobody dies. */
static void false_alarms(struct sim *s)
{
    const struct phx_detector *t = &s->cfg.detector;
    uint32_t n = s->o.nodes, a, b, i;
    uint64_t *calm, until;

    watch(s, PHX_PRESET_DEFAULT);
    /* A host that is silent for four intervals and then has to be found again by late messages is
     * silent for 25 s and more: with less patience it *would* be dead, see phoenix.h. With five intervals
     * it was in 7 of 120 seeds, with six in none. */
    s->cfg.detector.broken_us = 6 * t->interval_us;
    s->cfg.max_links = 16;
    for (i = 0; i < n; i++)
        add(s, 1, i % WORLD_SITES, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_reachable, 5 * MINUTE);
    run_for(s, 20 * SECOND);
    calm = calloc(n, sizeof *calm);
    until = s->w->now + 120 * SECOND;
    while (calm && !s->w->failed && s->w->now < until) {
        uint64_t us = rnd(s, 4 * t->interval_us);
        a = (uint32_t)rnd(s, n);
        b = (uint32_t)rnd(s, n);
        run_for(s, rnd(s, 400 * MS));
        if (rnd(s, 4) == 0 && calm[a] < s->w->now) {
            stall(s, a, us);
            calm[a] = s->w->now + us + 2 * t->interval_us;
        } else if (rnd(s, 2)) {
            unplug(s, a, b);
        } else {
            s->w->site_us[a % WORLD_SITES][b % WORLD_SITES] = (uint32_t)rnd(s, t->timeout_us);
            a = (uint32_t)rnd(s, WORLD_SITES);
            for (i = 0; i < WORLD_SITES && rnd(s, 20); i++)
                s->w->site_us[a][rnd(s, WORLD_SITES)] = 0;
        }
    }
    free(calm);
    memset(s->w->site_us, 0, sizeof s->w->site_us);
    run_for(s, 60 * SECOND);
    if (d.failed)
        world_fail(s->w, "%llu times a living process was taken for dead",
                   (unsigned long long)d.failed);
    if (!s->w->failed && d.suspected < n)
        world_fail(s->w, "too little happened: %llu suspicions", (unsigned long long)d.suspected);
    wait_until(s, all_reachable, 2 * MINUTE);
}

/* A minute of computing, announced and not. */
static void computing(struct sim *s)
{
    uint64_t begun;

    watch(s, rnd(s, 2) ? PHX_PRESET_FAST : PHX_PRESET_DEFAULT);
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    run_for(s, 20 * SECOND);
    d.self = (uint32_t)rnd(s, s->o.nodes);
    d.suspected = 0;
    if (!s->w->failed && phx_busy(s->nodes[d.self].p, 60 * SECOND) != 0)
        world_fail(s->w, "phx_busy failed");
    stall(s, d.self, 60 * SECOND);
    run_for(s, 65 * SECOND);
    if (d.failed || d.suspected)
        world_fail(s->w, "announced: %llu failures, %llu suspicions",
                   (unsigned long long)d.failed, (unsigned long long)d.suspected);
    begun = s->w->now;
    stall(s, d.self, 60 * SECOND);
    run_for(s, 60 * SECOND);
    if (d.failed == 0)
        world_fail(s->w, "a host that is silent for a minute was not missed");
    wait_until(s, all_linked, MINUTE);
    s->peace_us = s->w->now - begun - 60 * SECOND;
    run_for(s, 30 * SECOND);
    if (d.mine)
        world_fail(s->w, "back from computing it took %llu others for dead",
                   (unsigned long long)d.mine);
    wait_until(s, all_well, MINUTE);
}

const struct story detect_stories[] = {
    { "death", "one dies: all know in time, names are broken and back", 12, 3, 64, death, NULL },
    { "watchers_die", "one dies together with all who watch it", 12, 5, 64, watchers_die, NULL },
    { "heartbeats", "what watching costs in the stable state", 64, 4, 1024, heartbeats, NULL },
    { "false_alarms", "hosts stall, links flap, messages are late", 100, 8, 200, false_alarms, NULL },
    { "computing", "a host computes for a minute, announced and not", 8, 3, 64, computing, NULL },
    { "too_large", "a message that its receiver's memory can never hold", 3, 2, 16, tell_too_large, NULL },
    { "key_late", "a node is refused for its key, and given the right one", 2, 2, 2, tell_key_late, NULL },
    { "joiner_computes", "a node computes for 10 s from its first on_node", 8, 3, 64, tell_joiner_computes,
      NULL },
    { "slow", "a host takes 1 ms for each of more messages than it can take", 13, 2, 64, tell_slow, NULL },
    { "slow_fast", "the same with 0.3 ms and the fast preset", 5, 2, 64, tell_slow_fast, NULL },
    { "slow_node", "the same with on_node, when half of all nodes die", 40, 4, 64, tell_slow_node, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
