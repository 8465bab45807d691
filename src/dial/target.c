/* target.c - the hubs and nodes that may be dialled. A node that may not be is only counted. */

/* A target with one address costs some 110 bytes: its rounds, its timer, how each address fared. Beyond
 * the full mesh nearly all are never dialled, and of them only is kept that they have addresses.
 * ops.addresses tells them from the cards when somebody sends to the node, when it becomes a pick, or when so
 * many others are gone that all may be dialled. A target that finds no memory then is tried again with the
 * next of these events. Without ops.addresses every node has its target at once.
 *
 * Picks come from rendezvous hashing: every node orders all others by a hash of the pair and picks the first
 * few. That needs no talk, stays as it is when others come and go, and differs from node to node. */
#include "dial/target.h"

/* ---- Picks */

/* The lower, the better. */
PHX__COLD static uint64_t target_score(const struct phx__dial_targets *ts, uint32_t node)
{
    /* The odd constant (2^64 by the golden ratio) sets (a, b) apart from (b, a): if picks were always mutual,
     * 8 picks would make only 8 links a node, all of them among close friends. */
    return phx__map_mix(phx__id_hash(&ts->ids->at[PHX__SELF])
                        ^ phx__id_hash(&ts->ids->at[node]) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Which of the picks it is, or pick_count. */
PHX__COLD static uint32_t target_find_pick(const struct phx__dial_targets *ts, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < ts->pick_count && ts->picks[i].node != node; i++)
        ;
    return i;
}

PHX__COLD int phx__dial_target_is_pick(const struct phx__dial_targets *ts, uint32_t node)
{
    return target_find_pick(ts, node) < ts->pick_count;
}

/* Would this node be picked? */
PHX__COLD static int target_is_good(const struct phx__dial_targets *ts, uint32_t node)
{
    if (ts->pick_count < ts->picks_most)
        return 1;
    return ts->pick_count > 0 && ts->picks[ts->pick_count - 1].score > target_score(ts, node);
}

/* Picks this node if it should be; then the worst of the picks may have to go. */
PHX__COLD static void target_pick(struct phx__dial_targets *ts, uint32_t node)
{
    uint64_t score = target_score(ts, node);
    uint32_t i;

    if (!target_is_good(ts, node))
        return;
    i = ts->pick_count < ts->picks_most ? ts->pick_count++ : ts->pick_count - 1;
    for (; i > 0 && ts->picks[i - 1].score > score; i--)
        ts->picks[i] = ts->picks[i - 1];
    ts->picks[i].score = score;
    ts->picks[i].node = node;
}

/* The best node with addresses that is no pick, or PHX__NONE. */
PHX__COLD static uint32_t target_next_pick(const struct phx__dial_targets *ts)
{
    uint32_t node, next = PHX__NONE;

    for (node = 0; node < ts->node_capacity; node++)
        if (ts->nodes[node].target != 0 && !phx__dial_target_is_pick(ts, node)
            && (next == PHX__NONE || target_score(ts, node) < target_score(ts, next)))
            next = node;
    return next;
}

/* ---- Targets */

PHX__COLD struct phx__dial_target *phx__dial_target_new(struct phx__dial_targets *ts, uint32_t node,
                                              const struct phx_address *a, uint32_t n)
{
    uint32_t i = ts->free != PHX__NONE ? ts->free : ts->count, timer;
    struct phx__dial_addr *at;
    struct phx__dial_target *t;

    if (phx__mem_grow(ts->mem, &ts->at, &ts->capacity, i + 1, sizeof *ts->at) != 0
        || (at = phx__dial_addr_new(ts->mem, a, n)) == NULL)
        return NULL;
    if (phx__timer_new(ts->timers, PHX__TIMER_DIAL, i, &timer) != 0) {
        phx__dial_addr_free(ts->mem, at, n);
        return NULL;
    }
    t = &ts->at[i];
    if (i == ts->count)
        ts->count++;
    else
        ts->free = t->after;
    *t = (struct phx__dial_target){ .at = at, .count = (uint8_t)n, .in_use = 1, .hub = node == PHX__NONE,
                                    .node = node, .timer = timer };
    if (!t->hub)
        ts->nodes[node].target = i + 1;
    return t;
}

const struct phx__dial_node *phx__dial_target_node(const struct phx__dial_targets *ts, uint32_t node)
{
    static const struct phx__dial_node unknown = { 0, 0, 0, 0, 0, 0 };

    return node < ts->node_capacity ? &ts->nodes[node] : &unknown;
}

PHX__COLD int phx__dial_target_reserve(struct phx__dial_targets *ts, uint32_t node)
{
    return phx__mem_grow(ts->mem, &ts->nodes, &ts->node_capacity, node + 1, sizeof *ts->nodes);
}

PHX__COLD struct phx__dial_target *phx__dial_target_of(const struct phx__dial_targets *ts, uint32_t node)
{
    uint32_t target = phx__dial_target_node(ts, node)->target;

    return target != 0 && target != PHX__DIAL_LATENT ? &ts->at[target - 1] : NULL;
}

PHX__COLD uint32_t phx__dial_target_list(const struct phx__dial_targets *ts, uint32_t node,
                               struct phx__dial_target *out[PHX__DIAL_HUBS + 1])
{
    uint32_t i, count = 0;

    if (phx__dial_target_of(ts, node) != NULL)
        out[count++] = phx__dial_target_of(ts, node);
    for (i = 0; i < ts->hub_count; i++)
        if (ts->at[ts->hubs[i]].node == node)
            out[count++] = &ts->at[ts->hubs[i]];
    return count;
}

PHX__COLD int phx__dial_target_learn(struct phx__dial_targets *ts, uint32_t node, const struct phx_address *a,
                           uint32_t n, uint32_t mesh)
{
    struct phx__dial_node *of = &ts->nodes[node];
    uint32_t known = ts->known + !of->linked;

    if (ts->addresses != NULL && known > mesh && !of->wanted && !target_is_good(ts, node)) {
        of->target = PHX__DIAL_LATENT;
        ts->latent++;
    } else if (phx__dial_target_new(ts, node, a, n) == NULL) {
        return PHX_ENOMEM;
    }
    ts->known = known;
    target_pick(ts, node);
    return 0;
}

PHX__COLD int phx__dial_target_in_mesh(const struct phx__dial_targets *ts, uint32_t node, uint32_t mesh)
{
    return (phx__dial_target_node(ts, node)->reachable ? ts->reachable : ts->known) <= mesh;
}

PHX__COLD struct phx__dial_target *phx__dial_target_wake(struct phx__dial_targets *ts, uint32_t node)
{
    struct phx_address all[PHX__DIAL_ADDRESSES], a[PHX__DIAL_ADDRESSES];
    struct phx__dial_target *t = phx__dial_target_of(ts, node);
    uint32_t n;

    if (phx__dial_target_node(ts, node)->target != PHX__DIAL_LATENT)
        return t;
    n = phx__dial_addr_order(all, ts->addresses(ts->ctx, node, all), a);
    if (n > 0 && (t = phx__dial_target_new(ts, node, a, n)) != NULL)
        ts->latent--;
    return t;
}

PHX__COLD int phx__dial_target_wake_all(struct phx__dial_targets *ts, uint32_t mesh)
{
    uint32_t node, before = ts->latent;

    for (node = 0; ts->latent > 0 && node < ts->node_capacity; node++)
        if (ts->nodes[node].target == PHX__DIAL_LATENT && phx__dial_target_in_mesh(ts, node, mesh))
            (void)phx__dial_target_wake(ts, node);
    return ts->latent < before;
}

PHX__COLD void phx__dial_target_free(struct phx__dial_targets *ts, struct phx__dial_target *t)
{
    phx__timer_drop(ts->timers, t->timer);
    phx__dial_addr_free(ts->mem, t->at, t->count);
    memset(t, 0, sizeof *t);
    t->after = ts->free;
    ts->free = (uint32_t)(t - ts->at);
}

PHX__COLD struct phx__dial_target *phx__dial_target_drop(struct phx__dial_targets *ts, uint32_t node)
{
    struct phx__dial_target *t = phx__dial_target_of(ts, node);
    uint32_t pick = target_find_pick(ts, node);

    ts->nodes[node].target = 0;
    ts->known -= !ts->nodes[node].linked;
    ts->reachable -= ts->nodes[node].reachable;
    ts->nodes[node].reachable = 0;
    if (t == NULL) {
        ts->latent--;
    } else {
        phx__dial_target_free(ts, t);
    }
    if (pick == ts->pick_count)
        return NULL;
    for (ts->pick_count--; pick < ts->pick_count; pick++)
        ts->picks[pick] = ts->picks[pick + 1];
    if ((node = target_next_pick(ts)) == PHX__NONE)
        return NULL;
    target_pick(ts, node);
    return phx__dial_target_wake(ts, node);
}
