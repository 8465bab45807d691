/* slow.c - the story of a host whose callbacks are slow: its steps are bounded all the same. */

/* All others send to host 0 as fast as they may, small messages, some with tokens, for a minute. Its
 * on_message takes 1 ms, or 0.3 ms with the fast preset, so it takes in far less than it is sent. A step that
 * showed it all that has come would last for most of a minute, and all others would take it for dead. Then
 * its callbacks are quick again, and what was sent is all to arrive, once and in order. (promise 119) */
#include "story.h"

#include <stdio.h>
#include <string.h>

#define SLOW_NODES 64u
#define SLOW_BYTES 32u

static struct {
    struct sim *s;
    uint64_t cost_us;
    uint64_t sent[SLOW_NODES], come[SLOW_NODES], done[SLOW_NODES]; /* by sender */
    uint64_t wrong, failed, suspected;
    int stopped;
} slow;

static void slow_message(phx *p, const struct phx_message *m, void *user)
{
    uint32_t from = (uint32_t)m->from;

    (void)p, (void)user;
    slow.wrong += m->size != SLOW_BYTES || m->tag != slow.come[from]++;
    world_spend(slow.s->w, 0, slow.cost_us);
}

static void slow_say(struct sim_node *n)
{
    char text[SLOW_BYTES] = "";
    struct iovec iov = { text, sizeof text };
    struct phx_outgoing o;

    memset(&o, 0, sizeof o);
    o.from = n->host;
    o.iov = &iov;
    o.iov_count = 1;
    for (; !slow.stopped; slow.sent[n->host]++) {
        o.tag = slow.sent[n->host];
        o.token = slow.sent[n->host] % 16 ? 0 : 1 + slow.sent[n->host];
        if (phx_sendv(n->p, &o) != 0)
            return;
    }
}

static void slow_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct sim_node *n = user;

    (void)p, (void)token, (void)to, (void)tag;
    slow.wrong += result != PHX_OK;
    slow.done[n->host]++;
}

static void slow_writable(phx *p, uint64_t to, void *user)
{
    (void)p, (void)to;
    slow_say(user);
}

static void slow_state(phx *p, const struct phx_node *node, void *user)
{
    (void)p, (void)user;
    slow.failed += node->state == PHX_NODE_FAILED;
    slow.suspected += node->state == PHX_NODE_SUSPECT;
}

static int slow_all_come(struct sim *s)
{
    uint32_t i;

    for (i = 1; i < s->o.nodes; i++)
        if (slow.come[i] != slow.sent[i] || slow.done[i] != (slow.sent[i] + 15) / 16)
            return 0;
    return 1;
}

static void slow_tell(struct sim *s, int preset, uint64_t cost_us, const char *what)
{
    uint32_t n = s->o.nodes, i;
    uint64_t come = 0, most;
    char name[96];

    memset(&slow, 0, sizeof slow);
    slow.s = s;
    (void)phx_detector_preset(&s->cfg.detector, preset);
    s->cfg.on_message = slow_message;
    s->cfg.on_done = slow_done;
    s->cfg.on_writable = slow_writable;
    s->cfg.on_node = slow_state;
    add(s, n, 0, 0);
    join_all(s, 0);
    start_all(s);
    if (!s->w->failed)
        (void)phx_assume(s->nodes[0].p, 0, 0);
    wait_until(s, all_linked, MINUTE);
    run_for(s, SECOND);
    slow.cost_us = cost_us;
    for (i = 1; i < n && !s->w->failed; i++) {
        slow_say(&s->nodes[i]);
        world_touch(s->w, i);
    }
    run_for(s, MINUTE);
    for (i = 1; i < n; i++)
        come += slow.come[i];
    most = s->w->hosts[0].spent_most;
    slow.stopped = 1;
    slow.cost_us = 0;
    wait_until(s, slow_all_come, MINUTE);
    (void)snprintf(name, sizeof name, "%s, times one was taken for dead", what);
    bar(s, name, (double)slow.failed, 0);
    (void)snprintf(name, sizeof name, "%s, messages lost, doubled, out of order or told wrongly", what);
    bar(s, name, (double)slow.wrong, 0);
    (void)snprintf(name, sizeof name, "%s, callbacks of the longest step, us", what);
    bar(s, name, (double)most, (double)(s->cfg.detector.interval_us / 10 + cost_us));
    (void)snprintf(name, sizeof name, "%s, time between callbacks, parts in a hundred", what);
    bar(s, name, 100 - (double)(come * cost_us) / (MINUTE / 100), 10);
    figure(s, "suspicions", (double)slow.suspected);
}

static void slow_node(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;

    slow_state(p, node, user);
    if (n->host == 0)
        world_spend(slow.s->w, 0, slow.cost_us);
}

/* Host 0 takes 100 ms for each on_node, and half of the others lose their power at once: all of them have
 * failed at the same deadlines. */
void tell_slow_node(struct sim *s)
{
    uint32_t n = s->o.nodes, i, wrong = 0;
    struct phx_node all[SLOW_NODES];

    memset(&slow, 0, sizeof slow);
    slow.s = s;
    s->cfg.on_node = slow_node;
    add(s, n, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    run_for(s, MINUTE);
    slow.cost_us = 100 * MS;
    for (i = n / 2; i < n; i++)
        power_off(s, i);
    run_for(s, MINUTE);
    if (s->w->failed)
        return;
    for (i = (uint32_t)phx_nodes(s->nodes[0].p, all, SLOW_NODES); i > 0; i--)
        wrong += all[i - 1].state != PHX_NODE_OK;
    bar(s, "slow on_node, nodes that died and are not known to, or the reverse",
        wrong > n - n / 2 ? wrong - (n - n / 2) : n - n / 2 - wrong, 0);
    bar(s, "slow on_node, times one was taken for dead", (double)slow.failed - (n - n / 2) * (n / 2), 0);
    bar(s, "slow on_node, callbacks of the longest step, us", (double)s->w->hosts[0].spent_most,
        (double)(s->cfg.detector.interval_us / 10 + slow.cost_us));
}

void tell_slow(struct sim *s)
{
    slow_tell(s, PHX_PRESET_DEFAULT, 1000, "slow callbacks");
}

void tell_slow_fast(struct sim *s)
{
    slow_tell(s, PHX_PRESET_FAST, 300, "slow callbacks, fast preset");
}
