/* target.c - the hubs and nodes that may be dialled. */

/* A target with one address costs some 100 bytes: its rounds, its timer, how each address fared. The
 * addresses of a node are in its card, from where ops.addresses tells them for each dial; a hub has its own.
 *
 * Picks come from rendezvous hashing: every node orders all others by a hash of the pair and picks the first
 * few. That needs no talk, stays as it is when others come and go, and differs from node to node. */
#include "dial/target.h"

#define TARGETS_MOST 0xfffffffu /* max_nodes and hubs are fewer */

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
PHX__COLD PHX__APART static uint32_t target_find_pick(const struct phx__dial_targets *ts, uint32_t node)
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

/* Picks this node if it is better than the worst of the picks, which then may have to go. */
PHX__COLD static void target_pick(struct phx__dial_targets *ts, uint32_t node)
{
    struct phx__dial_pick pick = { target_score(ts, node), node };
    uint32_t i = ts->pick_count;

    if (i < ts->picks_most)
        ts->pick_count++;
    else if (i == 0 || ts->picks[--i].score <= pick.score)
        return;
    for (; i > 0 && ts->picks[i - 1].score > pick.score; i--)
        ts->picks[i] = ts->picks[i - 1];
    ts->picks[i] = pick;
}

/* ---- Targets */

static size_t target_size(int hub, uint32_t count)
{
    return count * (sizeof(struct phx__dial_addr) + (hub ? sizeof(struct phx_address) : 0));
}

PHX__COLD void phx__dial_target_strip(struct phx__dial_targets *ts, struct phx__dial_target *t)
{
    phx__mem_put(ts->mem, t->at, target_size(t->hub, t->count));
}

/* One more free target, and its timer, which it keeps. PHX_ENOMEM. */
PHX__COLD static int target_make(struct phx__dial_targets *ts)
{
    uint32_t i = ts->count, due;

    if (phx__mem_grow(ts->mem, &ts->at, &ts->capacity, i + 1, sizeof *ts->at) != 0
        || phx__timer_new(&ts->due, PHX__TIMER_DIAL, i, &due) != 0)
        return PHX_ENOMEM;
    PHX_ASSERT(due == i);
    ts->at[i] = (struct phx__dial_target){ .node = PHX__NONE };
    ts->free = ts->count++;
    return 0;
}

PHX__COLD struct phx__dial_target *phx__dial_target_new(struct phx__dial_targets *ts, uint32_t node,
                                              const struct phx_address *a, uint32_t n)
{
    struct phx__dial_target *t;
    struct phx__dial_addr *at;
    uint32_t i;
    int hub = node == PHX__NONE;

    if ((ts->free == PHX__NONE && target_make(ts) != 0)
        || (at = phx__mem_zero(ts->mem, target_size(hub, n))) == NULL)
        return NULL;
    for (i = 0; i < n; i++)
        at[i] = (struct phx__dial_addr){ .key = phx__dial_addr_key(ts->rate, &a[i]) };
    if (hub)
        memcpy(at + n, a, n * sizeof *a);
    i = ts->free;
    t = &ts->at[i];
    ts->free = t->node;
    *t = (struct phx__dial_target){ .at = at, .count = (uint8_t)n, .node = node };
    if (hub)
        t->hub = 1; /* apart: with a bit-field in it tcc leaves the others as they were */
    else
        ts->nodes[node].target = (i + 1) & TARGETS_MOST;
    return t;
}

const struct phx__dial_node *phx__dial_target_node(const struct phx__dial_targets *ts, uint32_t node)
{
    static const struct phx__dial_node unknown = { .target = 0 };

    return node < ts->node_capacity ? &ts->nodes[node] : &unknown;
}

PHX__COLD int phx__dial_target_reserve(struct phx__dial_targets *ts, uint32_t node)
{
    return phx__mem_grow(ts->mem, &ts->nodes, &ts->node_capacity, node + 1, sizeof *ts->nodes);
}

PHX__COLD struct phx__dial_target *phx__dial_target_of(const struct phx__dial_targets *ts, uint32_t node)
{
    uint32_t target = phx__dial_target_node(ts, node)->target;

    return target != 0 ? &ts->at[target - 1] : NULL;
}

PHX__COLD void phx__dial_target_addresses(const struct phx__dial_targets *ts,
                                          const struct phx__dial_target *t,
                                          struct phx_address out[PHX__DIAL_ADDRESSES])
{
    struct phx_address all[PHX__DIAL_ADDRESSES];
    uint32_t n = t->hub ? 0 : ts->addresses(ts->ctx, t->node, all), i;

    memset(out, 0, PHX__DIAL_ADDRESSES * sizeof *out);
    if (t->hub)
        memcpy(out, t->at + t->count, t->count * sizeof *out);
    for (uint32_t k = 0; k < n; k++) {
        i = phx__dial_addr_index(t->at, t->count, phx__dial_addr_key(ts->rate, &all[k]));
        if (i != PHX__NONE)
            out[i] = all[k];
    }
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

PHX__COLD struct phx__dial_target *phx__dial_target_learn(struct phx__dial_targets *ts, uint32_t node,
                                                          const struct phx_address *a, uint32_t n)
{
    struct phx__dial_target *t = phx__dial_target_new(ts, node, a, n);

    if (t == NULL)
        return NULL;
    t->fresh = 2;
    ts->known += !ts->nodes[node].linked;
    target_pick(ts, node);
    return t;
}

PHX__COLD int phx__dial_target_in_mesh(const struct phx__dial_targets *ts, uint32_t node, uint32_t mesh)
{
    return (phx__dial_target_node(ts, node)->reachable ? ts->reachable : ts->known) <= mesh;
}

PHX__COLD void phx__dial_target_free(struct phx__dial_targets *ts, struct phx__dial_target *t)
{
    phx__dial_target_strip(ts, t);
    *t = (struct phx__dial_target){ .node = ts->free };
    ts->free = (uint32_t)(t - ts->at);
}

PHX__COLD struct phx__dial_target *phx__dial_target_drop(struct phx__dial_targets *ts,
                                                         struct phx__dial_target *t)
{
    uint32_t node = t->node, pick = target_find_pick(ts, node);
    struct phx__dial_node *n = &ts->nodes[node];

    phx__dial_target_free(ts, t);
    ts->known -= !n->linked;
    ts->reachable -= n->reachable;
    n->target = n->reachable = n->strayed = 0;
    if (pick == ts->pick_count)
        return NULL;
    for (ts->pick_count--; pick < ts->pick_count; pick++)
        ts->picks[pick] = ts->picks[pick + 1];
    /* The best of the others takes the last place, from which each better one drives the one before. */
    for (node = 0; node < ts->node_capacity; node++)
        if (ts->nodes[node].target != 0 && !phx__dial_target_is_pick(ts, node))
            target_pick(ts, node);
    return pick < ts->pick_count ? phx__dial_target_of(ts, ts->picks[pick].node) : NULL;
}

PHX__COLD const struct phx__dial_target *phx__dial_target_any(const struct phx__dial_targets *ts,
                                                              uint32_t node)
{
    struct phx__dial_target *all[PHX__DIAL_HUBS + 1];

    return phx__dial_target_list(ts, node, all) > 0 ? all[0] : NULL;
}
