/* route.c - BRAIN: optimized DSDV: the next hop for each destination, and what to advertise to whom. */
/* The routing of Kaneda, Taura and Yonezawa (CCGrid 2004, sections 4.2 to 4.5): each node keeps for each
 * destination a distance in hops, a next hop and the owner's sequence number, and advertises only changes.
 * Three things are done differently:
 *
 * 1. ONLY THE OWNER MAKES SEQUENCE NUMBERS. In the paper a node that loses a link raises the number of each
 *    destination behind it, and no node can reach the destination until its owner answers. Here a node may
 *    switch at once to any neighbour whose distance is *feasible*: below the least distance that the node
 *    itself has advertised at that number (DUAL; Babel, RFC 8966, section 3.5.1). Every node that routes
 *    through this one has received a distance at least as large, so no loop can arise at any instant. Else it
 *    asks the owner for a newer number (section 3.8). While a destination was never advertised every offer is
 *    feasible: the usual case in a dense mesh, because of 2.
 *
 * 2. REDUNDANT UPDATES ARE AVOIDED WITHOUT SETS ON THE WIRE. In the paper each entry carries the set of nodes
 *    it was sent to. Here destination v is not advertised to neighbour j in three cases (advert_need):
 *     a. j itself offers v as well as we can, or is next to v;
 *     b. some w next to j offers us v at least as well: w advertises v to j;
 *     c. we are next to v, and j's hash of itself and its neighbours (a few bytes on each heartbeat) is the
 *        same as ours, or differs by losses that were named (gap.c) and at most one node, none of them v: j
 *        is next to v, and v advertises itself to j.
 *    If w is strictly nearer to v than we are, any evidence that w is next to j is enough: w cannot rely on
 *    us for j. If w is only as near as we are, w's own entry for j is needed. Then no node waits for ever: a
 *    node decides in one go what to advertise to whom, so when w's entries for v and for j reach us, w has
 *    already decided about (j, v): w has advertised v to j, or relies on an x that had decided before w. Time
 *    does not run in circles, so the first node in that chain has advertised. Not so where w has put j
 *    off, or has told us first as our link is new (advert.c): if we have told w the same, it may wait for us,
 *    and does not count. A loss may break the chain; after it only a w that is strictly nearer counts. If a
 *    link is replaced, or comes back before its loss was advertised, everything that was advertised over the
 *    old link is advertised again (route_relinked): it may be lost, and others may rely on us for that.
 *
 * 3. NO LOST UPDATE IS FINAL. Each heartbeat carries a digest of the table. Two neighbours that are both
 *    quiet and disagree twice exchange summaries and advertise to each other what differs.
 *
 * A route that gets worse is always advertised, and at once: what was sent stays true or is corrected. Ways
 * that get better in bursts are paced (advert.c). The paper's priorities, (1) connections, (2) the own table,
 * (3) the neighbours' tables, are the order of work in a step (step.c). Nodes are indices (base/id.c). */
#include "route/route.h"

/* A request without success is repeated after 300 ms, 600 ms, ... up to this; another node's is passed on
 * again only after half the time after which it is repeated. */
#define ROUTE_ASK_FIRST (300 * PHX__MS)
#define ROUTE_ASK_LAST (60 * PHX__SECOND)
#define ROUTE_PASSED (ROUTE_ASK_FIRST / 2)
/* The most requests while no neighbour offers anything. If the destination is not dead, a digest shows it. */
#define ROUTE_ASKS_BLIND 3u
/* So many are asked for at once that no neighbour offers: who has a way most often tells it unasked. Lost
 * neighbours beyond are asked for soon: if many died, who notices late would say that it has a way. */
#define ROUTE_BLIND_MOST 16u
#define ROUTE_LOSS_WAIT PHX__SECOND /* a loss may be everybody's: so late may some be to notice it, too */
/* An unreachable destination's number and distance stay a day: old news stays old, and partitions heal. */
#define ROUTE_FORGET 86400u /* seconds */
#define ROUTE_FORGET_LOOK (60 * PHX__SECOND)

/* No honest node leaps this far at once (phoenix.h asks for less than 2^32 at each start). Without a limit
 * one lie would reach the highest incarnation, above which the owner cannot rise; like this it takes 2^27. */
#define ROUTE_LEAP ((uint64_t)1 << 36)
/* An owner that rises above a lie twice, and others know only of the second time, looks like a liar: rises
 * in 30 s, in which a digest repairs losses, make less than one leap. The rest is for numbers running out. */
#define ROUTE_RISE (30 * PHX__SECOND)
#define ROUTE_RISE_MOST (ROUTE_LEAP - 65536)

#define ROUTE_TELL_COST 512u /* in destinations passed: a frame of its own towards an owner */

struct phx__route_nbr *phx__route_nbr(const struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(r, node);

    return d != NULL && d->pos < PHX__TABLE_LOST ? &r->nbrs[d->pos] : NULL;
}

void phx__route_plan(struct phx__route *r, uint64_t at)
{
    if (at < phx__timer_at(r->timers, r->pace.chore_timer))
        phx__timer_set(r->timers, r->pace.chore_timer, at);
}

/* ---- Lists of what to look at ---------------------------------------------------------------- */

int phx__route_list(struct phx__route *r, struct phx__route_list *list, uint8_t flag, uint32_t node)
{
    struct phx__dest *d = &r->table.at[node];

    if (d->flags & flag)
        return 0;
    if (phx__mem_grow(r->mem, &list->at, &list->capacity, list->count + 1, sizeof *list->at) != 0)
        return PHX_ENOMEM;
    d->flags |= flag;
    list->at[list->count++] = node;
    return 0;
}

/* These lists have room for every known destination (route_know). */
static void route_touch(struct phx__route *r, uint32_t node, uint64_t now)
{
    (void)phx__route_list(r, &r->dirty, PHX__DEST_DIRTY, node);
    r->moved = now;
}

static void route_changed(struct phx__route *r, uint32_t node)
{
    (void)phx__route_list(r, &r->changed, PHX__DEST_CHANGED, node);
}

void phx__route_touch_loss(struct phx__route *r, uint32_t node, uint64_t now)
{
    route_touch(r, node, now);
    r->pace.news = 1;
    r->table.at[node].flags |= PHX__DEST_LOSS;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Takes a reachable destination out of the digest, or puts it in. */
static void route_toggle(struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = &r->table.at[node];
    uint64_t number = d->incarnation * 0x9E3779B97F4A7C15u + d->seq;

    if (d->hops != PHX__UNREACHABLE)
        r->digest ^= phx__map_mix(phx__id_hash_at(r->ids, node) ^ phx__map_mix(number));
}

/* Makes the destination known, with room in the lists. */
static int route_know(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__dest *d = phx__route_table_make(&r->table, node);

    if (d == NULL)
        return PHX_ENOMEM;
    phx__route_table_wake(&r->table, node);
    if (d->flags & PHX__DEST_KNOWN)
        return 0;
    if (phx__mem_grow(r->mem, &r->dirty.at, &r->dirty.capacity, node + 1, sizeof *r->dirty.at)
        || phx__mem_grow(r->mem, &r->changed.at, &r->changed.capacity, node + 1, sizeof *r->changed.at))
        return PHX_ENOMEM;
    d->flags |= PHX__DEST_KNOWN;
    d->since = (uint32_t)(now / PHX__SECOND);
    r->known++;
    return 0;
}

/* ---- Losses of neighbours: see gap.c --------------------------------------------------------- */

static struct phx__route_loss *route_loss(const struct phx__route *r, uint32_t node)
{
    for (uint32_t i = r->lost.count; i-- > 0;)
        if (r->lost.at[i].node == node)
            return &r->lost.at[i];
    return NULL;
}

/* Takes a node that all have lost out of a neighbourhood that is another than ours, or not known. */
PHX__COLD static void route_settle_other(struct phx__route *r, struct phx__route_nbr *n, uint32_t node)
{
    uint32_t but;

    (void)phx__route_gap_explains(&n->gap, r->ids, n->neighbourhood ^ r->neighbourhood, &but);
    if (n->neighbourhood > PHX__ROUTE_NOBODYS && but != node
        && !phx__route_gap_take(&n->gap, r->ids, node | PHX__GAP_THEIRS))
        n->neighbourhood ^= phx__id_hash_at(r->ids, node);
}

/* A loss is settled, untold: no neighbourhood has that node from now on, ours nor any neighbour's. */
PHX__COLD static void route_settle_loss(struct phx__route *r, struct phx__route_loss *l)
{
    uint32_t node = l->node;
    uint64_t hash = phx__id_hash_at(r->ids, node);

    r->mem->looks += r->nbr_count;
    for (struct phx__route_nbr *n = r->nbrs; n < r->nbrs + r->nbr_count; n++) {
        if ((n->gap.count | (n->neighbourhood ^ r->neighbourhood)) != 0)
            route_settle_other(r, n, node);
        else
            n->neighbourhood ^= hash;
        if (n->vague) { /* it may have settled this before we said that we have a link with it */
            r->pace.owed = n->shrank = 1;
            n->claimed = ~r->lost.claimed;
        }
    }
    r->neighbourhood ^= hash;
    r->table.at[node].pos = PHX__TABLE_GONE;
    r->lost.leftover |= r->table.at[node].flags & PHX__DEST_LAPSED; /* no flush came in between */
    r->table.at[node].flags &= (uint8_t)~PHX__DEST_LAPSED;
    *l = r->lost.at[--r->lost.count];
}

/* It is back, or begins a new life, and nobody has a link with it as far as we know. */
PHX__COLD static void route_reborn(struct phx__route *r, uint32_t node)
{
    struct phx__route_loss *l = route_loss(r, node);
    uint32_t but;

    if (l != NULL)
        route_settle_loss(r, l);
    for (struct phx__route_nbr *n = r->nbrs; n < r->nbrs + r->nbr_count; n++)
        if (n->neighbourhood <= PHX__ROUTE_NOBODYS)
            continue;
        else if (phx__route_gap_take(&n->gap, r->ids, node))
            n->neighbourhood ^= phx__id_hash_at(r->ids, node);
        else if (!phx__route_gap_explains(&n->gap, r->ids, n->neighbourhood ^ r->neighbourhood, &but))
            n->neighbourhood = PHX__ROUTE_NOBODYS; /* until its next beat: it may not have had that node */
    if (r->table.at[node].pos == PHX__TABLE_GONE)
        r->table.at[node].pos = PHX__TABLE_FAR;
}

/* All are to be told of a loss: others are not without that node. */
PHX__COLD static void route_tell_loss(struct phx__route *r, struct phx__route_loss *l, uint64_t now)
{
    l->until = 0;
    r->table.at[l->node].pos = PHX__TABLE_FAR;
    phx__route_touch_loss(r, l->node, now);
    r->pace.shrunk = r->pace.urgent = 1;
}

/* There is a way again to one that all had lost, we took it. So not all had: they are told all the same. */
PHX__COLD static void route_regained(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__route_lost *lost = &r->lost;

    if (phx__mem_grow(r->mem, &lost->at, &lost->capacity, lost->count + 1, sizeof *lost->at) != 0)
        return;
    route_reborn(r, node);
    r->lost.claimed ^= phx__id_hash_at(r->ids, node);
    r->pace.owed = 1;
    lost->at[lost->count] = (struct phx__route_loss){ 0, node, 0, 1 };
    route_tell_loss(r, &lost->at[lost->count++], now);
}

PHX__COLD static void route_losses_due(struct phx__route *r, uint64_t now)
{
    for (uint32_t i = r->lost.count; i-- > 0;) {
        struct phx__route_loss *l = &r->lost.at[i];
        const struct phx__dest *d = &r->table.at[l->node];
        if (l->until > now)
            phx__route_plan(r, l->until);
        else if (l->until != 0 && (d->hops == PHX__UNREACHABLE || phx__route_table_has_left(d)))
            route_settle_loss(r, l);
        else if (l->until != 0)
            route_tell_loss(r, l, now);
    }
}

static void route_use(struct phx__route *r, uint32_t node, uint32_t next, uint32_t seq, uint8_t hops,
                      uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    uint32_t was = d->hops != PHX__UNREACHABLE, is = hops != PHX__UNREACHABLE;

    if (d->next == next && d->seq == seq && d->hops == hops)
        return;
    if (d->next != next)
        route_changed(r, node);
    if (was && !is)
        d->since = (uint32_t)(now / PHX__SECOND);
    r->pace.urgent |= !is || hops > d->hops;
    if (!was && is && hops > 1)
        r->pace.far = 1;
    else
        r->pace.news |= !was || hops >= d->hops || seq != d->seq;
    if (!was && is && d->pos == PHX__TABLE_GONE)
        route_regained(r, node, now);
    r->reachable += is - was;
    route_toggle(r, node);
    d->next = next;
    d->seq = seq;
    d->hops = hops;
    route_toggle(r, node);
    route_touch(r, node, now);
}

int phx__route_is_feasible(const struct phx__dest *d, uint32_t seq, uint8_t hops)
{
    return d->feasible_hops == PHX__UNREACHABLE || seq > d->feasible_seq
           || (seq == d->feasible_seq && hops < d->feasible_hops);
}

/* The preference among equal next hops, by rendezvous hashing: the gateways of a site share the load. */
static uint64_t route_share_hash(const struct phx__route *r, uint32_t node, uint32_t nbr)
{
    return phx__map_mix(phx__map_mix(phx__id_hash_at(r->ids, PHX__SELF)
                                     ^ phx__id_hash_at(r->ids, node) * 0x9E3779B97F4A7C15u)
                        ^ phx__id_hash_at(r->ids, nbr));
}

/* Fewest hops first, then the newest number, then the next hop in use. */
static int route_better(const struct phx__route *r, const struct phx__dest *d, uint32_t node,
                        const struct phx__offer *a, const struct phx__offer *b)
{
    if (a->hops != b->hops)
        return a->hops < b->hops;
    if (a->seq != b->seq)
        return a->seq > b->seq;
    if (a->nbr == d->next || b->nbr == d->next)
        return a->nbr == d->next;
    return route_share_hash(r, node, a->nbr) < route_share_hash(r, node, b->nbr);
}

/* The best of the feasible offers, or of the others; NULL: none. */
static const struct phx__offer *route_best(const struct phx__route *r, uint32_t node, int feasible)
{
    const struct phx__dest *d = &r->table.at[node];
    const struct phx__offer *best = NULL, *h = phx__route_table_offers(d), *end = h + d->offer_count;

    r->mem->looks += d->offer_count;
    for (; h < end; h++)
        if (h->hops < r->hop_limit && h->hops < PHX__UNREACHABLE - 1
            && phx__route_is_feasible(d, h->seq, h->hops) == feasible
            && (best == NULL || route_better(r, d, node, h, best)))
            best = h;
    return best;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void route_send_request(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want, int hops)
{
    r->counters.requests_out++;
    r->ops.request(r->ops.ctx, nbr, node, want, hops);
}

/* Our request is not repeated. Its record goes, unless another node's request was just passed on. */
PHX__APART static void route_ask_end(struct phx__route *r, struct phx__ask *a, uint64_t now)
{
    a->at = UINT64_MAX;
    a->asks = 0;
    if (now >= a->passed_at + ROUTE_PASSED)
        phx__route_table_unask(&r->table, a);
}

int phx__route_misses_many(const struct phx__route *r)
{
    return r->table.ask_count > ROUTE_BLIND_MOST;
}

/* No neighbour offers it: asks 2, 4, 8, others each time; one if many are missed. For a neighbour that was
 * just lost one is enough that is next to it: if not all have lost it the other end asks, too, and who is
 * asked tells both. If that one has taken its way back since, we wait. */
static void route_ask_blind(struct phx__route *r, uint32_t node, uint32_t want, uint8_t asks)
{
    struct phx__route_loss *l = route_loss(r, node);
    uint32_t each = phx__route_misses_many(r) ? 1 : 2u << asks;
    uint32_t most = l == NULL ? each : asks == 0 && l->asked ? 0 : 2, but;

    for (uint32_t i = 0; i < most && i < r->nbr_count; i++) {
        const struct phx__route_nbr *n = &r->nbrs[phx__rnd_below(r->rnd, r->nbr_count)];
        if (!phx__route_may_know(r, n->node, node))
            continue;
        route_send_request(r, n->node, node, want, r->hop_limit);
        if (l != NULL && n->neighbourhood != 0
            && phx__route_gap_explains(&n->gap, r->ids, n->neighbourhood ^ r->neighbourhood, &but)
            && (l->asked = but != node))
            break;
    }
}

/* Without memory for its record a request is sent only once, and the rest is left to a digest. */
static void route_ask(struct phx__route *r, uint32_t node, uint64_t now)
{
    const struct phx__dest *d = &r->table.at[node];
    const struct phx__offer *h = route_best(r, node, 0);
    uint32_t next = PHX__MIN(d->feasible_seq, PHX__SEQ_MAX - 1) + 1;
    uint32_t want = d->feasible_hops == PHX__UNREACHABLE ? 0 : next;
    struct phx__ask *a = phx__route_table_ask(&r->table, node);
    uint8_t asks = a != NULL ? a->asks : 0;
    uint64_t wait = ROUTE_ASK_FIRST << (asks < 8 ? asks : 8);
    uint32_t turn = h || asks ? 0 : r->table.ask_count / ROUTE_BLIND_MOST;

    if (h != NULL) {
        route_send_request(r, h->nbr, node, want, r->hop_limit);
    } else if (turn > 0) {
        wait = d->pos == PHX__TABLE_LOST ? ROUTE_ASK_FIRST / 2 : wait * turn;
    } else if (asks < ROUTE_ASKS_BLIND) {
        route_ask_blind(r, node, want, asks);
    } else {
        route_ask_end(r, a, now); /* dead, as far as any neighbour knows */
        return;
    }
    if (a == NULL)
        return;
    a->asks = (uint8_t)(asks < 250 ? asks + 1 : asks);
    a->at = now + (wait < ROUTE_ASK_LAST ? wait : ROUTE_ASK_LAST);
    phx__route_plan(r, a->at);
}

/* Chooses the next hop. If there is no route, or a shorter one is not feasible, asks for a newer number. */
static void route_select(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    const struct phx__offer *best = route_best(r, node, 1), *other;
    struct phx__ask *a = phx__route_table_asked(&r->table, node);
    int asked = a != NULL && a->at != UINT64_MAX, lost = d->hops != PHX__UNREACHABLE && best == NULL, need;
    int alone = r->nbr_count == 1 && !phx__route_may_know(r, r->nbrs->node, node);

    if (best != NULL)
        route_use(r, node, best->nbr, best->seq, (uint8_t)(best->hops + 1), now);
    else
        route_use(r, node, PHX__NONE, d->seq, PHX__UNREACHABLE, now);
    r->pace.choice |= d->hops > 1 && d->offer_count > 1;
    other = route_best(r, node, 0);
    need = best == NULL ? (lost && !alone && !phx__route_table_has_left(d)) || other != NULL || asked
                        : other != NULL && other->hops + 1 < d->hops;
    if (!need && a != NULL)
        route_ask_end(r, a, now);
    else if (need && !asked)
        route_ask(r, node, now);
}

/* ---- This node's own number ------------------------------------------------------------------ */

PHX__COLD static void route_renew(struct phx__route *r, uint64_t incarnation, uint32_t seq)
{
    route_toggle(r, PHX__SELF);
    r->table.at[PHX__SELF].incarnation = incarnation;
    r->table.at[PHX__SELF].seq = seq;
    route_toggle(r, PHX__SELF);
}

/* Raises this node's number. A new life begins long before the numbers are used up. */
PHX__COLD static void route_raise(struct phx__route *r, uint32_t seq, uint64_t now)
{
    if (seq > UINT32_MAX / 2) {
        route_renew(r, r->table.at[PHX__SELF].incarnation + 1, 0);
        seq = 1;
    }
    route_use(r, PHX__SELF, PHX__NONE, seq, 0, now);
}

/* Goes to a later life, as far as others would believe it; the rest of the way later. */
PHX__COLD static void route_rise(struct phx__route *r, uint64_t now)
{
    const struct phx__dest *d = &r->table.at[PHX__SELF];
    uint64_t life = r->rise.to;

    if (life <= d->incarnation)
        return;
    if (now >= r->rise.at + ROUTE_RISE)
        r->rise.from = d->incarnation;
    life = PHX__MIN(life, r->rise.from + ROUTE_RISE_MOST);
    if (life > d->incarnation) {
        route_renew(r, life, d->seq);
        r->rise.at = now;
        route_raise(r, d->seq + 1, now);
    }
    if (r->rise.to > d->incarnation)
        phx__route_plan(r, r->rise.at + ROUTE_RISE);
}

/* An entry about this very node. A higher incarnation or number than ours is from a former life, or a lie;
 * a retraction at our own number, or a card that we never wrote, would stand for ever without an answer. */
PHX__COLD static void route_self_entry(struct phx__route *r, const struct phx__entry *e, uint64_t now)
{
    struct phx__dest *d = &r->table.at[PHX__SELF];

    if (e->incarnation < d->incarnation || e->incarnation > d->incarnation + ROUTE_LEAP)
        return; /* no node that knows us believes such a leap; the others will receive our own entry */
    if (e->incarnation > d->incarnation) {
        if (e->incarnation >= PHX__INCARNATION_MAX)
            return;
        r->rise.to = PHX__MAX(r->rise.to, e->incarnation + 1);
        route_rise(r, now);
    } else if (e->card_version > d->card_version) {
        if (e->card_version < UINT32_MAX / 2)
            d->card_version = e->card_version + 1;
        route_raise(r, e->card_version < UINT32_MAX / 2 ? d->seq + 1 : UINT32_MAX, now);
    } else if (e->seq > d->seq || (e->seq == d->seq && e->hops == PHX__UNREACHABLE)) {
        route_raise(r, e->seq + 1, now);
    }
}

/* ---- What comes in --------------------------------------------------------------------------- */

static void route_count_offer(struct phx__route *r, uint32_t nbr, int by)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    if (n != NULL)
        n->offers += (uint32_t)by;
}

/* A new life of the owner voids the former one. The advertised hops stay, for the retraction that is due. */
PHX__COLD static void route_restarted(struct phx__route *r, uint32_t node, uint64_t incarnation, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    route_use(r, node, PHX__NONE, d->seq, PHX__UNREACHABLE, now);
    for (uint32_t i = 0; d->advertised != NULL && i < d->advertised->count; i++)
        d->advertised->at[i].word.seq = d->advertised->at[i].word.card = 0;
    for (const struct phx__offer *h = phx__route_table_offers(d), *end = h + d->offer_count; h < end; h++)
        route_count_offer(r, h->nbr, -1);
    phx__route_table_drop_offers(&r->table, d);
    d->feasible_hops = PHX__UNREACHABLE;
    d->reborn |= d->incarnation != 0; /* not one that is heard of for the first time */
    d->incarnation = incarnation;
    route_reborn(r, node);
    d->seq = 0;
    phx__route_table_uncard(&r->table, d); /* it may say that the former life has left */
    phx__route_touch_loss(r, node, now);
    route_changed(r, node);
}

/* Does the entry bring a card of our version that is not the one that we have? */
static int route_is_other_card(const struct phx__dest *d, const struct phx__entry *e)
{
    return e->card != NULL && d->card != NULL && e->card_version == d->card_version
           && (e->card_size != d->card->size || memcmp(e->card, d->card->at, e->card_size) != 0);
}

static int route_learn_card(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e,
                            uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    if (e->card_version < d->card_version || route_is_other_card(d, e))
        return 0;
    if (e->card == NULL) { /* the neighbour thinks that we have the card, but we have forgotten it */
        if (e->card_version > d->card_version && !PHX__ROUTE_RULES(r) && e->hops != PHX__UNREACHABLE)
            r->ops.request(r->ops.ctx, nbr, node, 0, 1);
        return 0;
    }
    if (e->card_version > d->card_version) {
        if (phx__route_table_card(&r->table, d, e->card, e->card_size, e->card_version) != 0)
            return PHX_ENOMEM;
        route_changed(r, node);
        route_touch(r, node, now);
        r->pace.news |= d->hops != PHX__UNREACHABLE;
    }
    if (nbr == node && !d->card_own) {
        d->card_own = 1; /* a goodbye counts now */
        route_changed(r, node);
    }
    return 0;
}

/* A neighbour's entry for v got worse: what the neighbour was to advertise to others must be looked at
 * again. If the neighbour was next to v, so must everything that it was to advertise to v, and v to it. */
static void route_worsened(struct phx__route *r, uint32_t nbr, uint32_t node, int was_next, uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, node), *sender = phx__route_nbr(r, nbr);

    phx__route_touch_loss(r, node, now);
    if (!was_next || n == NULL)
        return;
    n->dirty = 2;
    if (sender != NULL)
        sender->dirty = 2;
    r->pace.look = r->pace.news = 1;
}

static int route_offer(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e,
                       uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    struct phx__offer *h = phx__route_table_offer(d, nbr);
    uint8_t before = h != NULL ? h->hops : PHX__UNREACHABLE;
    int spare = nbr != r->delegate && phx__route_table_is_spare(d, nbr, h, e->seq, e->hops), changed = 0;

    if (e->hops == PHX__UNREACHABLE) {
        route_count_offer(r, nbr, -phx__route_table_drop_offer(&r->table, d, nbr));
        if (d->hops == PHX__UNREACHABLE && e->seq > d->seq)
            d->seq = e->seq;
    } else {
        if ((h = phx__route_table_make_offer(&r->table, d, nbr)) == NULL)
            return PHX_ENOMEM;
        route_count_offer(r, nbr, before == PHX__UNREACHABLE);
        changed = before == PHX__UNREACHABLE || h->seq != e->seq || h->hops != e->hops;
        if (changed && !spare)
            route_touch(r, node, now);
        h->seq = e->seq;
        h->hops = e->hops;
        h->rtt = e->rtt;
    }
    if (before < e->hops)
        route_worsened(r, nbr, node, before == 1, now);
    if (!spare) {
        route_select(r, node, now);
    } else if (changed) {
        r->moved = now;
        r->pace.choice |= d->hops > 1;
        phx__route_plan(r, now + PHX__ROUTE_QUIET);
    }
    return 0;
}

int phx__route_owe(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__advertised *word,
                   uint64_t now)
{
    if (phx__route_table_advertise(&r->table, &r->table.at[node], nbr, word) != 0)
        return PHX_ENOMEM;
    phx__route_table_wake(&r->table, node);
    route_touch(r, node, now);
    r->pace.urgent = 1;
    return 0;
}

int phx__route_asked(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want, uint64_t now)
{
    struct phx__advertised t = phx__route_table_word(&r->table.at[node], nbr);

    t.asked = 1;
    t.want = want;
    return phx__route_owe(r, nbr, node, &t, now);
}

/* A life or a card that is news here, and does not come from the owner's side, is told towards the owner: if
 * it is a lie, the owner rises above it. Without the card, and with what we advertised there before; of two
 * cards of one version it hears as of the version after. */
static void route_tell_owner(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e)
{
    const struct phx__dest *d = &r->table.at[node];
    uint32_t way = nbr == node ? nbr : d->next;
    int is_other = e->incarnation == d->incarnation && route_is_other_card(d, e);
    struct phx__entry out = *e;
    struct phx__advertised t;

    if (way == PHX__NONE || PHX__ROUTE_RULES(r))
        return;
    if (!is_other && (way == nbr || (e->incarnation == d->incarnation && e->card_version <= d->card_version)))
        return;
    t = phx__route_table_word(d, way);
    out.seq = t.seq;
    out.hops = t.seq != 0 && e->incarnation == d->incarnation ? t.hops : PHX__UNREACHABLE;
    out.card_version += (uint32_t)is_other;
    out.card = NULL;
    out.card_size = out.rtt = 0;
    r->counters.walked += ROUTE_TELL_COST;
    r->counters.updates_out++;
    r->counters.entries_out++;
    r->ops.update(r->ops.ctx, way, &out, 1);
}

int phx__route_entry(struct phx__route *r, uint32_t nbr, const struct phx__entry *e, uint64_t now)
{
    uint32_t node = phx__id_find(r->ids, &e->id);
    const struct phx__dest *d = phx__route_dest(r, node);
    int err;

    r->mem->looks++;
    if (e->hops == PHX__UNREACHABLE && e->card == NULL && d == NULL)
        return 0; /* the end of an unknown node is no news; a card is, its sender counts on it */
    /* A life that the owner does not lead, as far as we know. Only the owner is believed if it leaps. */
    if (d != NULL && node != PHX__SELF && node != nbr && e->incarnation > d->incarnation + ROUTE_LEAP)
        return PHX_ELIMIT;
    if ((err = phx__id_add(r->ids, &e->id, &node)) != 0 || (err = route_know(r, node, now)) != 0)
        return err;
    if (node == PHX__SELF) {
        route_self_entry(r, e, now);
        return 0;
    }
    d = &r->table.at[node];
    if (e->incarnation < d->incarnation) /* the neighbour is behind: an entry is due in any case */
        return phx__route_asked(r, nbr, node, 0, now);
    route_tell_owner(r, nbr, node, e);
    if (e->incarnation > d->incarnation)
        route_restarted(r, node, e->incarnation, now);
    /* The owner's own card is older than others': a forgery. The owner receives ours and rises above it. */
    if (nbr == node && e->card_version != 0 && e->card_version < d->card_version
        && (err = phx__route_asked(r, nbr, node, 0, now)) != 0)
        return err;
    if ((err = route_learn_card(r, nbr, node, e, now)) != 0)
        return err;
    if (PHX__ROUTE_RULES(r))
        return PHX__ROUTE_RULE(r, entry(r, nbr, node, e, now));
    return route_offer(r, nbr, node, e, now);
}

/* Passes a request on towards the owner. */
static void route_pass_request(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want, int hops,
                               uint64_t now)
{
    const struct phx__dest *d = &r->table.at[node];
    struct phx__ask *a = phx__route_table_asked(&r->table, node);

    if (d->next == PHX__NONE || d->next == nbr || hops <= 1 || !r->relay
        || (a != NULL && want <= a->passed_seq && now < a->passed_at + ROUTE_PASSED))
        return;
    if ((a = phx__route_table_ask(&r->table, node)) != NULL) { /* else the next one is passed on, too */
        a->passed_seq = want;
        a->passed_at = now;
    }
    route_send_request(r, d->next, node, want, hops - 1);
}

void phx__route_request(struct phx__route *r, uint32_t nbr, const struct phx__request *q, int hops,
                        uint64_t now)
{
    uint32_t node = phx__id_find(r->ids, &q->id);
    const struct phx__dest *d = phx__route_dest(r, node);

    if (d == NULL || phx__route_nbr(r, nbr) == NULL || node == nbr || q->incarnation < d->incarnation)
        return;
    /* Honest nodes ask a few ahead. A request for the last number of all must not use the numbers up. */
    if (node == PHX__SELF && q->seq > d->seq)
        route_raise(r, q->seq - d->seq < 65536 ? q->seq : d->seq + 1, now);
    if (phx__route_asked(r, nbr, node, q->seq, now) != 0)
        return;
    if (d->seq < q->seq || d->hops == PHX__UNREACHABLE)
        route_pass_request(r, nbr, node, q->seq, hops, now);
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* The hello stands for the first update about oneself, both ways: in a mesh that a hub has introduced, a new
 * link needs no routing message at all. If the peer's card has changed, an update is under way, and the
 * peer's number must not be advertised before: who knew it without the card would never get the card. */
static int route_hello(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h, uint64_t now)
{
    const struct phx__advertised t = { h->told_seq, h->told_card, 0, 0, 0, 0 };
    const struct phx__entry e = { .id = r->ids->at[nbr], .incarnation = h->incarnation, .seq = h->seq,
                                  .card_version = h->card };

    if (phx__route_table_advertise(&r->table, &r->table.at[PHX__SELF], nbr, &t) != 0)
        return PHX_ENOMEM;
    return h->card > r->table.at[nbr].card_version ? 0 : phx__route_entry(r, nbr, &e, now);
}

/* The essay, point 2: what the old link carried is due again. What we relied on others for is not. */
PHX__COLD static int route_relinked(struct phx__route *r, uint32_t nbr)
{
    r->mem->looks += r->table.live_count;
    for (uint32_t i = 0, v = 0; i < r->table.live_count; i++, v = r->table.at[v].live) {
        struct phx__dest *d = &r->table.at[v];
        struct phx__advertised t = phx__route_table_word(d, nbr);
        t.asked = 1;
        t.want = 0;
        t.hops = PHX__UNREACHABLE;
        if (phx__route_table_advertised(d, nbr) != NULL
            && phx__route_table_advertise(&r->table, d, nbr, &t) != 0)
            return PHX_ENOMEM;
    }
    r->table.at[nbr].flags &= (uint8_t) ~(PHX__DEST_LAPSED | PHX__DEST_LOSS);
    return 0;
}

PHX__COLD int phx__route_up(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h,
                            uint64_t now)
{
    struct phx__dest *d;
    struct phx__route_loss *l;

    if (r->nbr_count == PHX__TABLE_LOST)
        return PHX_ELIMIT;
    if (route_know(r, nbr, now) != 0
        || phx__mem_grow(r->mem, &r->nbrs, &r->nbr_capacity, r->nbr_count + 1, sizeof *r->nbrs)
        || phx__mem_grow(r->mem, &r->lost.at, &r->lost.capacity, r->lost.count + r->nbr_count + 1,
                         sizeof *r->lost.at))
        return PHX_ENOMEM;
    d = &r->table.at[nbr];
    /* What others said of the peer may be a lie. So may what the peer says, but only about itself. */
    if (h->incarnation > d->incarnation || h->incarnation + ROUTE_LEAP < d->incarnation)
        route_restarted(r, nbr, h->incarnation, now);
    int relinked = (d->flags & PHX__DEST_LAPSED) != 0;
    if (relinked ? route_relinked(r, nbr) : r->lost.leftover && phx__route_table_forget_nbr(&r->table, nbr))
        return PHX_ENOMEM;
    for (uint32_t i = 0; i < r->nbr_count; i++)
        (void)phx__route_gap_take(&r->nbrs[i].gap, r->ids, nbr);
    if (d->pos == PHX__TABLE_GONE)
        route_reborn(r, nbr);
    if ((l = route_loss(r, nbr)) == NULL || l->settled) {
        r->neighbourhood ^= phx__id_hash_at(r->ids, nbr);
        r->lost.claimed ^= phx__id_hash_at(r->ids, nbr);
    }
    if (l != NULL) /* nobody was told of it */
        *l = r->lost.at[--r->lost.count];
    r->nbrs[r->nbr_count] = (struct phx__route_nbr){ .node = nbr, .dirty = 1, .relinked = (uint8_t)relinked,
                                .metric = (uint8_t)h->metric };
    d->pos = (uint16_t)r->nbr_count++;
    r->moved = r->pace.linked_at = now;
    r->pace.look = r->pace.owed = 1;
    r->pace.news |= d->hops == PHX__UNREACHABLE;
    return route_hello(r, nbr, h, now);
}

/* A former neighbour's offer is void, and so is what others were to advertise because of it: 1 if there was
 * one. *behind: others may have a better way for us than what is left. */
static uint32_t route_void(struct phx__route *r, uint32_t nbr, uint32_t node, int *behind, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    uint8_t hops = d->hops;

    r->mem->looks++;
    if (PHX__ROUTE_RULES(r))
        (void)PHX__ROUTE_RULE(r, lost(r, nbr, node, now));
    if (PHX__ROUTE_RULES(r) || !phx__route_table_drop_offer(&r->table, d, nbr))
        return 0;
    phx__route_touch_loss(r, node, now);
    route_select(r, node, now);
    *behind |= d->pos != PHX__TABLE_LOST && hops < d->hops;
    return 1;
}

PHX__COLD void phx__route_down(struct phx__route *r, uint32_t nbr, uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);
    struct phx__dest *d;
    uint32_t offers = n != NULL ? n->offers : 0;
    int behind = 0;

    if (n == NULL)
        return;
    d = &r->table.at[nbr];
    phx__route_gap_free(&n->gap, r->mem);
    *n = r->nbrs[--r->nbr_count];
    r->table.at[n->node].pos = d->pos;
    d->pos = PHX__TABLE_LOST;
    d->card_own = 0; /* when it is back its own word counts, and is later than this one */
    d->flags |= PHX__DEST_LAPSED;
    r->pace.urgent = 1;
    r->lost.at[r->lost.count++] = (struct phx__route_loss){ now + ROUTE_LOSS_WAIT, nbr, 0, 0 };
    phx__route_plan(r, now + ROUTE_LOSS_WAIT);
    r->moved = now;
    if (nbr == r->delegate) {
        r->delegate = PHX__NONE;
        r->delegate_known = 0;
    }
    offers -= route_void(r, nbr, nbr, &behind, now);
    for (uint32_t i = 0; (offers > 0 || PHX__ROUTE_RULES(r)) && (i = r->table.at[i].live) != PHX__SELF;)
        offers -= i != nbr && route_void(r, nbr, i, &behind, now);
    if (behind && !phx__route_table_has_left(d)) /* others may have a way for us */
        route_tell_loss(r, &r->lost.at[r->lost.count - 1], now);
}

/* ---- Chores ---------------------------------------------------------------------------------- */

static void route_ask_due(struct phx__route *r, uint64_t now)
{
    r->mem->looks += r->table.ask_count;
    for (uint32_t i = 0, node; i < r->table.ask_count; i += r->table.at[node].ask == i + 1) {
        struct phx__ask *a = &r->table.asks[i]; /* if it ends the last one takes its place */
        node = a->node;
        if (a->at <= now)
            route_ask(r, node, now);
        else if (a->at != UINT64_MAX)
            phx__route_plan(r, a->at);
        else if (now >= a->passed_at + ROUTE_PASSED)
            phx__route_table_unask(&r->table, a);
    }
}

uint32_t phx__route_way(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr)
{
    const struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    return n != NULL ? phx__route_rtt_way(&n->rtt, phx__route_table_offer(d, nbr)) : 0;
}

/* The next hop in use is the first that came. Once the table is quiet, the preferred one replaces it if as
 * near and feasible: what is advertised stays true, and no loop can arise. */
void phx__route_share(struct phx__route *r, uint32_t node, uint64_t now)
{
    const struct phx__dest *d = &r->table.at[node];
    uint32_t best = d->next;
    int worse = 0;

    if (best == PHX__NONE || PHX__ROUTE_RULES(r))
        return;
    for (const struct phx__offer *h = phx__route_table_offers(d), *end = h + d->offer_count; h < end; h++) {
        if (h->seq != d->seq || h->hops + 1 != d->hops || !phx__route_is_feasible(d, h->seq, h->hops))
            continue;
        if (r->rtt.on)
            worse = phx__route_rtt_compare(phx__route_way(r, d, h->nbr), phx__route_way(r, d, best));
        if (worse < 0 || (worse == 0 && route_share_hash(r, node, h->nbr) < route_share_hash(r, node, best)))
            best = h->nbr;
    }
    route_use(r, node, best, d->seq, d->hops, now);
}

PHX__COLD int phx__route_is_forgettable(const struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(r, node);

    if (d == NULL || (d->flags & (PHX__DEST_DIRTY | PHX__DEST_CHANGED | PHX__DEST_LAPSED))
        || d->hops != PHX__UNREACHABLE || d->pos < PHX__TABLE_LOST || d->offer_count > 0)
        return 0;
    for (uint32_t i = 0; r->relay && !PHX__ROUTE_RULES(r) && phx__route_table_is_told(d) && i < r->nbr_count;)
        if (phx__route_table_word(d, r->nbrs[i++].node).hops != PHX__UNREACHABLE)
            return 0; /* there was no room yet to tell this neighbour */
    return 1;
}

PHX__COLD void phx__route_forget(struct phx__route *r, uint32_t node)
{
    struct phx__route_loss *l = route_loss(r, node);

    if (l != NULL) /* a newcomer needs the room now */
        route_settle_loss(r, l);
    for (uint32_t i = 0; i < r->nbr_count; i++) {
        (void)phx__route_gap_take(&r->nbrs[i].gap, r->ids, node);
        (void)phx__route_gap_take(&r->nbrs[i].gap, r->ids, node | PHX__GAP_THEIRS);
    }
    if (node < r->rtt.capacity) /* another may get its index */
        memset(&r->rtt.told[node], 0, sizeof *r->rtt.told);
    phx__route_table_clear(&r->table, node);
    if (r->table.at[node].live != PHX__NONE)
        phx__route_table_rest(&r->table);
    r->known--;
}

uint32_t phx__route_chores(struct phx__route *r, uint64_t now)
{
    uint32_t second = (uint32_t)(now / PHX__SECOND), first = second; /* that the longest lost was lost in */

    phx__route_plan(r, now + ROUTE_FORGET_LOOK);
    route_rise(r, now);
    route_losses_due(r, now);
    route_ask_due(r, now);
    if (now < r->pace.forget_at)
        return PHX__NONE;
    r->mem->looks += r->table.capacity;
    for (uint32_t i = 1; i < r->table.capacity; i++) {
        const struct phx__dest *d = &r->table.at[i];
        if (d->hops != PHX__UNREACHABLE || r->ids->used[i] != PHX__ID_USED)
            continue;
        first = PHX__MIN(first, d->since);
        if (second <= d->since + ROUTE_FORGET || !phx__route_is_forgettable(r, i))
            continue;
        phx__route_forget(r, i);
        phx__route_plan(r, now);
        return i;
    }
    r->pace.forget_at = PHX__MAX((first + 1 + ROUTE_FORGET) * PHX__SECOND, now + ROUTE_FORGET_LOOK);
    return PHX__NONE;
}

/* ---- Questions ------------------------------------------------------------------------------- */

PHX__COLD int phx__route_show(struct phx__route *r, uint32_t node, uint64_t now)
{
    if (route_know(r, node, now) != 0)
        return PHX_ENOMEM;
    route_changed(r, node);
    return 0;
}

const struct phx__dest *phx__route_dest(const struct phx__route *r, uint32_t node)
{
    return node < r->table.capacity && r->table.at[node].flags & PHX__DEST_KNOWN ? &r->table.at[node] : NULL;
}

uint32_t phx__route_next(const struct phx__route *r, uint32_t node)
{
    return node < r->table.capacity ? r->table.at[node].next : PHX__NONE;
}

int phx__route_may_know(const struct phx__route *r, uint32_t nbr, uint32_t node)
{
    const struct phx__route_nbr *n = phx__route_nbr(r, nbr);
    const struct phx__dest *d = phx__route_dest(r, node);

    return n != NULL && n->neighbours != 1
           && (r->nbr_count > 1 || d == NULL || d->offer_count > 0 || d->offer.one.nbr != nbr);
}

/* ---- Life ------------------------------------------------------------------------------------ */

PHX__COLD int phx__route_init(struct phx__route *r, struct phx__mem *mem, struct phx__ids *ids,
                              struct phx__timers *timers, struct phx__rnd *rnd, int hop_limit,
                              uint64_t incarnation, const struct phx__route_ops *ops)
{
    struct phx__dest *self;

    *r = (struct phx__route){ .mem = mem, .ids = ids, .timers = timers, .rnd = rnd, .ops = *ops, .relay = 1,
                              .hop_limit = hop_limit, .delegate = PHX__NONE, .table = { .mem = mem } };
    if (route_know(r, PHX__SELF, 0) != 0
        || phx__timer_new(timers, PHX__TIMER_ROUTE_TELL, 0, &r->pace.tell_timer)
        || phx__timer_new(timers, PHX__TIMER_ROUTE_CHORE, 0, &r->pace.chore_timer))
        return PHX_ENOMEM; /* the caller frees r and timers */
    self = &r->table.at[PHX__SELF];
    self->incarnation = r->rise.from = incarnation;
    self->hops = 0;
    self->seq = 1;
    route_toggle(r, PHX__SELF);
    r->neighbourhood = r->lost.claimed = phx__id_hash(&ids->at[PHX__SELF]);
    r->reachable = 1;
    return 0;
}

PHX__COLD void phx__route_free(struct phx__route *r)
{
    for (uint32_t i = 0; i < r->nbr_count; i++)
        phx__route_gap_free(&r->nbrs[i].gap, r->mem);
    phx__route_table_free(&r->table);
    phx__mem_put(r->mem, r->lost.at, r->lost.capacity * sizeof *r->lost.at);
    phx__mem_put(r->mem, r->nbrs, r->nbr_capacity * sizeof *r->nbrs);
    phx__mem_put(r->mem, r->dirty.at, r->dirty.capacity * sizeof *r->dirty.at);
    phx__mem_put(r->mem, r->changed.at, r->changed.capacity * sizeof *r->changed.at);
    phx__mem_put(r->mem, r->cuts.at, r->cuts.capacity * sizeof *r->cuts.at);
    phx__mem_put(r->mem, r->undelegated.at, r->undelegated.capacity * sizeof *r->undelegated.at);
    phx__mem_put(r->mem, r->out, r->out_capacity * sizeof *r->out);
    phx__mem_put(r->mem, r->rtt.told, r->rtt.capacity * sizeof *r->rtt.told);
}

PHX__COLD int phx__route_card(struct phx__route *r, const uint8_t *card, uint32_t size, uint64_t now)
{
    struct phx__dest *d = &r->table.at[PHX__SELF];

    if (phx__route_table_card(&r->table, d, card, size, d->card_version + 1) != 0)
        return PHX_ENOMEM;
    route_raise(r, d->seq + 1, now);
    return 0;
}
