/* door.c - the stories of those who knock: strangers in crowds, and more members than a hub has room for. */
#include "story.h"

#include <stdio.h>
#include <string.h>

/* ---- A crowd of strangers -------------------------------------------------------------------- */

/* A process that is no node: it keeps so many connections to a hub, says nothing, and dials anew whatever
 * is closed. */
struct crowd {
    struct world_host *h;
    struct phx_address to;
    uint32_t want, have;
    uint64_t dialled;
};

static void crowd_dial(struct crowd *c)
{
    int handle;

    while (c->have < c->want && c->h->os.dial(c->h, &c->to, &handle) == 0) {
        (void)c->h->os.watch(c->h, handle, PHX_READ);
        c->have++;
        c->dialled++;
    }
}

static int crowd_step(void *state, uint64_t now)
{
    struct crowd *c = state;
    struct phx_ready ready[64];
    char said[64];
    int i, n = c->h->os.wait(c->h, ready, 64);

    (void)now;
    for (i = 0; i < n; i++) {
        long got = c->h->os.recv(c->h, ready[i].handle, said, sizeof said);
        if (got > 0 || got == PHX_EAGAIN)
            continue;
        c->h->os.close(c->h, ready[i].handle);
        c->have--;
    }
    crowd_dial(c);
    return n == 64;
}

static uint64_t crowd_deadline(void *state)
{
    (void)state;
    return WORLD_NEVER;
}

static void crowd_begin(struct sim *s, struct crowd *c, uint32_t host, uint32_t hub, uint32_t want)
{
    struct world_app app = { c, crowd_step, crowd_deadline, NULL };

    memset(c, 0, sizeof *c);
    world_begin(s->w, host);
    c->h = &s->w->hosts[host];
    c->want = want;
    world_address(s->w, hub, PORT, &c->to);
    crowd_dial(c);
    world_attach(s->w, host, &app);
}

/* Does the last node that was started reach somebody? */
static uint32_t newcomer;

static int newcomer_is_in(struct sim *s)
{
    struct phx_stats st;

    phx_stats(s->nodes[newcomer].p, &st);
    return st.reachable > 1;
}

/* Goal: strangers without a key keep nobody out, however few descriptors there are (promises 36, 110).
 * Method: a hub with 256 descriptors and 600 silent connections, each of which is dialled again when the
 * hub closes it. Members join one after another for a minute; how long does each wait for its link? */
void tell_strangers(struct sim *s)
{
    uint64_t worst = 0, lost;
    uint32_t n = s->o.nodes, i;
    struct crowd c;

    add(s, n, 0, 0);
    s->w->hosts[0].faults.handles_max = 256;
    start(s, 0);
    start(s, 1);
    join(s, 1, 0);
    crowd_begin(s, &c, n - 1, 0, 600);
    run_for(s, 2 * SECOND);
    lost = totals(s).links_lost;
    for (i = 2; i < n - 1 && !s->w->failed; i++) {
        uint64_t began = s->w->now;
        start(s, i);
        join(s, i, 0);
        newcomer = i;
        (void)wait_for(s, newcomer_is_in, 60 * SECOND / (n - 3));
        if (s->w->now - began > worst)
            worst = s->w->now - began;
        run_for(s, began + 60 * SECOND / (n - 3) - s->w->now);
    }
    bar(s, "strangers longest join, ms", (double)worst / 1000, 1000);
    bar(s, "strangers links of members lost", (double)(totals(s).links_lost - lost), 0);
    figure(s, "strangers dials of theirs a second", (double)c.dialled / 62);
    c.want = 0;
    world_crash(s->w, n - 1);
    wait_until(s, all_reachable, 10 * SECOND);
}

/* ---- A full hub ------------------------------------------------------------------------------ */

/* The nodes that do not reach as many as the hub does are not joined, and those it does not reach are not. */
static uint32_t outside(struct sim *s)
{
    uint32_t i, worst = 0;

    for (i = 0; i < s->o.nodes && !s->w->failed; i++) {
        struct phx_stats st;
        phx_stats(s->nodes[i].p, &st);
        worst += i == 0 ? s->o.nodes - st.reachable : st.reachable == 1;
    }
    return worst;
}

static void full_bar(struct sim *s, const char *what, const char *of, double value, double limit)
{
    char name[96];

    (void)snprintf(name, sizeof name, "full_hub %s: %s", what, of);
    bar(s, name, value, limit);
}

/* All have found each other ten seconds later. And then there is peace: nobody is let in and put out in
 * turn. */
static void full_tell(struct sim *s, const char *what)
{
    uint64_t lost;

    start_all(s);
    run_for(s, 10 * SECOND);
    full_bar(s, what, "not joined after 10 s", outside(s), 0);
    run_for(s, MINUTE);
    lost = totals(s).links_lost;
    run_for(s, 10 * MINUTE);
    full_bar(s, what, "links lost a minute and node, later",
             (double)(totals(s).links_lost - lost) / 10 / s->o.nodes, 0.1);
    full_bar(s, what, "not joined later", outside(s), 0);
}

/* Goal: one hub's descriptors, or its max_accepts, do not bound the network (promise 35). Method: all name
 * one hub, which has room for some of them only. */
void tell_full_hub(struct sim *s)
{
    uint32_t n = s->o.nodes;

    add(s, n, 0, 0);
    join_all(s, 0);
    s->w->hosts[0].faults.handles_max = 40;
    full_tell(s, "descriptors");
}

void tell_full_accepts(struct sim *s)
{
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    s->cfg.max_links = 16;
    s->cfg.max_accepts = 24;
    s->cfg.max_dials = 4;
    full_tell(s, "accepts");
}
