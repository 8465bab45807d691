/* dead.c - nodes that failed or left: what is kept of them, and when they are forgotten. */
/* A dead node stays known for a day: old news of it stays old, partitions heal, and its names are broken. Of
 * one that left no card is kept; of one that failed with more than PHX__NAMES_DEAD ranges two addresses, so
 * many ranges, and one more for the rest.
 *
 * The dead have an eighth of cfg.mem_limit, 4 MiB at most. Above that, and when max_nodes are known, those
 * lost first are forgotten; of one second those with the highest index, so that arrays by node shrink. Nodes
 * only heard of give way to a newcomer already when unreachable, one with a route never. */
#include "node/base.h"

#define DEAD_BYTES ((size_t)4 << 20)
#define DEAD_ADDRESSES 2u
#define DEAD_LOOK PHX__SECOND /* after a death: the news of it is out by then */
#define DEAD_FIT_EVERY (10 * PHX__SECOND)
/* In the arrays by node, of which an eighth is room; the hash of ids is at least three eighths full. */
#define DEAD_EACH                                                                                            \
    (sizeof(struct phx_id) + 1 + 32 + sizeof(struct phx__dest) + 12 + sizeof(struct phx__names_of)           \
     + sizeof(struct phx__peer) + sizeof(struct phx__detect_node) + sizeof(struct phx__dial_node)            \
     + sizeof(struct phx__post_node) + sizeof(struct phx__post_past) + 4)

PHX__COLD static size_t dead_cost(const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    const struct phx__dial_target *t = phx__dial_target_of(&p->dial.targets, node);

    return DEAD_EACH + DEAD_EACH / 8 + (d->card != NULL ? sizeof *d->card + d->card->size : 0)
           + phx__names_count(&p->names, node) * (sizeof(struct phx__claim) + 2 * sizeof(struct phx_lost))
           + (phx__post_sched_find(&p->post, node) != NULL ? sizeof(struct phx__post_peer) : 0)
           + (phx__detect_trouble_of(&p->detect, node) != NULL ? sizeof(struct phx__detect_trouble) : 0)
           + (t != NULL ? sizeof *t + t->count * sizeof *t->at : 0);
}

/* May this node be forgotten? One without a state had a link and never said its card. heard: also if it is
 * unreachable, and there was never more than news of it. */
PHX__COLD static int dead_is(const phx *p, uint32_t node, int heard)
{
    return p->ids.used[node] == PHX__ID_USED && phx__route_is_forgettable(&p->route, node)
           && (phx__node_is_gone(p, node) || phx__detect_state(&p->detect, node, NULL) == 0
               || (heard && phx__node_history(p, node) == NULL
                   && phx__post_sched_find(&p->post, node) == NULL));
}

/* Of those that were lost in this second or later. */
PHX__COLD static size_t dead_bytes(const phx *p, int heard, uint32_t from)
{
    size_t bytes = 0;

    for (uint32_t node = 1; node < p->ids.size; node++)
        if (dead_is(p, node, heard) && p->route.table.at[node].since >= from)
            bytes += dead_cost(p, node);
    return bytes;
}

PHX__COLD void phx__node_dead_forget(phx *p, uint32_t node)
{
    if (phx__names_count(&p->names, node) > 0)
        phx__names_lost_forget(&p->lost, &p->ids.at[node]);
    phx__names_forget(&p->names, node);
    phx__dial_forget(&p->dial, node);
    phx__detect_forget(&p->detect, node);
    phx__post_box_forget(&p->post, node);
    phx__id_drop(&p->ids, node);
}

/* Forgets the longest dead until they take no more than `most`: all of before a second, and some of that. */
PHX__COLD static void dead_thin(phx *p, size_t most, int heard)
{
    size_t bytes = dead_bytes(p, heard, 0);
    uint32_t node, low = 0, high = (uint32_t)(p->now / PHX__SECOND) + 1, last;

    while (bytes > most && high - low > 1) {
        last = low + (high - low) / 2;
        *(dead_bytes(p, heard, last) > most ? &low : &high) = last;
    }
    for (last = low; bytes > most && last <= low + 1; last++) {
        for (node = p->ids.size; node-- > 1 && bytes > most;) {
            if (!dead_is(p, node, heard) || p->route.table.at[node].since >= last)
                continue;
            bytes -= dead_cost(p, node);
            phx__route_forget(&p->route, node);
            phx__node_dead_forget(p, node);
        }
    }
}

/* A card of the names and addresses that are kept, without a version: a true one replaces it. */
PHX__COLD static void dead_shorten_card(phx *p, struct phx__dest *d, uint32_t node)
{
    uint8_t data[2048];
    struct phx__card card;
    struct phx__writer w;

    if (!phx__node_card(p, node, &card) || card.claim_count <= PHX__NAMES_DEAD + 1)
        return;
    card.address_count = card.address_count < DEAD_ADDRESSES ? card.address_count : DEAD_ADDRESSES;
    card.claim_count = phx__names_count(&p->names, node);
    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_route_put_card(&w, &card, phx__names_claim(&p->names, node, 0));
    if (!w.bad)
        (void)phx__route_table_card(&p->route.table, d, data, (uint32_t)w.size, 0);
}

/* Drops what is not kept of it. */
PHX__COLD static void dead_strip(phx *p, uint32_t node)
{
    struct phx__dest *d = &p->route.table.at[node];
    uint32_t version = d->card_version;

    phx__post_sched_shrink(&p->post, node);
    phx__route_table_unadvertise(&p->route.table, d);
    if (phx__detect_state(&p->detect, node, NULL) == PHX_NODE_LEFT) {
        phx__route_table_uncard(&p->route.table, d);
        d->card_version = version;
    } else if (d->card != NULL) {
        phx__names_trim(&p->names, node);
        dead_shorten_card(p, d, node);
    }
}

PHX__COLD void phx__node_dead_note(phx *p, uint32_t node)
{
    if (phx__route_dest(&p->route, node) != NULL)
        phx__route_table_wake(&p->route.table, node);
    if (p->peers.dead_at == 0 || p->peers.dead_at > p->now + DEAD_LOOK)
        p->peers.dead_at = p->now + DEAD_LOOK;
    phx__route_plan(&p->route, p->peers.dead_at);
}

/* Those that died since the last time. */
PHX__COLD static void dead_look(phx *p)
{
    for (uint32_t node = 0; (node = p->route.table.at[node].live) != PHX__SELF;) {
        if (phx__route_next(&p->route, node) != PHX__NONE)
            continue;
        if (dead_is(p, node, 0)) {
            dead_strip(p, node);
            p->peers.dead_bytes += dead_cost(p, node);
        } else if (phx__node_is_gone(p, node)) {
            phx__node_dead_note(p, node);
        }
    }
    phx__route_table_rest(&p->route.table);
}

PHX__COLD void phx__node_dead_make_room(phx *p, const struct phx_id *id)
{
    size_t bytes;

    if (p->ids.count < p->ids.limit || p->peers.vain_at == p->stats.steps
        || phx__id_find(&p->ids, id) != PHX__NONE)
        return;
    bytes = dead_bytes(p, 1, 0);
    p->peers.vain_at = bytes == 0 ? p->stats.steps : 0;
    if (bytes == 0)
        return;
    dead_look(p); /* forgetting puts others at rest */
    dead_thin(p, bytes - bytes / 8 - 1, 1);
}

/* Indices and memory that nobody uses any more. */
PHX__COLD static void dead_fit(phx *p)
{
#define DEAD_FIT(array, capacity, need) phx__mem_fit(&p->mem, &(array), &(capacity), need, sizeof *(array))
    uint32_t size = phx__id_fit(&p->ids);

    phx__route_advert_fit(&p->route, size);
    phx__timer_fit(&p->timers);
    DEAD_FIT(p->names.of, p->names.capacity, size);
    DEAD_FIT(p->peers.at, p->peers.capacity, size);
    DEAD_FIT(p->detect.troubles, p->detect.trouble_capacity, p->detect.trouble_count);
    DEAD_FIT(p->detect.at, p->detect.capacity, size);
    DEAD_FIT(p->dial.targets.nodes, p->dial.targets.node_capacity, size);
    DEAD_FIT(p->post.nodes, p->post.node_capacity, size);
#undef DEAD_FIT
}

PHX__COLD void phx__node_dead_due(phx *p)
{
    size_t most = p->mem.limit == 0 || p->mem.limit / 8 > DEAD_BYTES ? DEAD_BYTES : p->mem.limit / 8;

    if (p->now < p->peers.dead_at)
        phx__route_plan(&p->route, p->peers.dead_at); /* the timer is that of other chores, too */
    if (p->peers.dead_at == 0 || p->now < p->peers.dead_at)
        return;
    p->peers.dead_at = 0;
    dead_look(p);
    if (p->peers.dead_bytes > most && (p->peers.dead_bytes = dead_bytes(p, 0, 0)) > most) {
        dead_thin(p, most - most / 8, 0); /* more than needs be: the next ones come soon */
        p->peers.dead_bytes = most - most / 8;
    }
    if (p->now >= p->peers.fit_at) {
        dead_fit(p);
        p->peers.fit_at = p->now + DEAD_FIT_EVERY;
    } else if (p->peers.dead_at == 0) {
        p->peers.dead_at = p->peers.fit_at;
        phx__route_plan(&p->route, p->peers.dead_at);
    }
}
