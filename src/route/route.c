/* route.c - BRAIN: optimized DSDV: which neighbour leads to whom, and whom to tell what. */
/*
 * The routing of Kaneda, Taura and Yonezawa (CCGrid 2004, sections 4.2 to 4.5): each node keeps for each
 * destination a distance in hops, a next hop and the owner's sequence number, and tells its neighbours
 * of changes only. Three things are done differently, for reasons that simulation gave.
 *
 * 1. ONLY THE OWNER MAKES SEQUENCE NUMBERS. In the paper the node that loses a link raises the number of
 *    what it lost, which takes the destination from everybody until its owner answers. Here a node may
 *    switch at once to any neighbour whose distance is *feasible*: below the least distance that this
 *    node has itself advertised at that number (the feasible distance of DUAL and Babel, RFC 8966,
 *    section 3.5.1). Whoever depends on this node has heard a distance at least as large, so no loop can
 *    arise at any instant. A node left with unfeasible offers, or none, sends a request for a newer number
 *    towards the owner (RFC 8966, section 3.8). What was never advertised has no feasible distance: any
 *    offer will do, which is the usual case in a dense mesh, because of 2.
 *
 * 2. WHO NEED NOT BE TOLD IS KNOWN WITHOUT SETS ON THE WIRE. The paper avoids redundant updates by sending,
 *    with each entry, the set of nodes it was sent to. Here an entry is not sent to neighbour j of
 *    destination v when one of these holds (route_covered):
 *      a. j itself offers v as well as we can, or is next to v;
 *      b. some w next to j, and heard by us, offers v at least as well: w tells j;
 *      c. j's hash of itself and its neighbours (a few bytes on each heartbeat) is the same as ours, or
 *         differs by one node, so j is next to all whom we are next to: v itself tells j.
 *    Where w is strictly nearer to v, any evidence that it is next to j will do: it cannot have left j
 *    to us. Where it is only as near as we are, only w's own word counts, and for this reason nobody
 *    waits for ever: a node decides whom to tell what in one go, so when w's word that it has v and that
 *    j is next to it reaches us, w has already decided about (j, v): told it, or left it to an x that
 *    had decided before. Time does not run in circles, so the first in that chain has told.
 *    After a loss the chain may be broken; then we trust only a w that is strictly nearer to v, which
 *    cannot have left it to us. A link that is replaced, or comes back before anybody was told that it
 *    was gone, is told again what it had been told (route_relinked): others may have left that to us.
 *
 * 3. NO LOST UPDATE IS FINAL. Each heartbeat carries a digest of the table. When two neighbours that are
 *    both quiet disagree twice, they exchange summaries and tell each other what differs.
 *
 * What can make things worse is always told, and never waits: an entry once sent to a neighbour is kept
 * true or corrected. What makes things better is paced when changes come in bursts (advert.c), so that all that waits for a neighbour leaves as one message: the paper's order of priorities, (1)
 * connections, (2) the own table, (3) the neighbours' tables, is the order of work in a step (step.c).
 *
 * This room does no I/O and sees no clock. Neighbours and destinations are node indices (struct phx__ids).
 */
#include "route/route.h"

/* A request that brought nothing is repeated after 300 ms, 600 ms, ... up to this. */
#define ROUTE_ASK_FIRST (300 * PHX__MS)
#define ROUTE_ASK_LAST (60 * PHX__SECOND)
/* The same request of another is passed on again only after the time in which its sender would repeat it. */
#define ROUTE_PASSED (ROUTE_ASK_FIRST / 2)
/* How often in all, when nobody offers anything: the destination is probably dead, and a digest will tell
 * if it is not. */
#define ROUTE_ASKS_BLIND 3u
/* Summaries between two neighbours that go on disagreeing: 10 s apart at first, doubling to 5 minutes. */
#define ROUTE_SUMMARY_WAIT (10 * PHX__SECOND)
#define ROUTE_SUMMARY_WAIT_MAX (300 * PHX__SECOND)
/* An unreachable destination is remembered, with its number and feasible distance, for a day, so that old
 * information cannot come back as new, and so that a partition finds its other half again. */
#define ROUTE_FORGET (86400 * PHX__SECOND)
#define ROUTE_FORGET_LOOK (60 * PHX__SECOND)

/* The table is quiet when it has not changed for this long, and for so much longer for each node known beyond
 * a few dozen. While hundreds start on a few cores, a second without news only says that the others have no
 * processor; digests differ then, and the summaries that follow, a table per link, would keep the processors
 * busy for good. */
#define ROUTE_QUIET PHX__SECOND
#define ROUTE_QUIET_EACH (20 * PHX__MS)
#define ROUTE_QUIET_CROWD 64u

/* A new life comes with a higher incarnation, but nobody honest leaps so far at once (phoenix.h asks for less
 * than 2^32 at each start): 16 starts that we have not heard of, or a lie. Who could leap anywhere at once
 * would say the highest of all, and the owner could not rise above it. By leaps of this size that takes 2^27
 * of them, each of which must go through the rate at which links take control frames. */
#define ROUTE_LEAP ((uint64_t)1 << 36)
/* An owner that must rise above a lie about itself would be taken for a liar by those who have only heard of
 * it, if it leapt twice before they know of the first time: all that it rises within 30 s, in which a digest
 * repairs what was lost, are together less than one leap. What is left of it is for numbers that run out. */
#define ROUTE_RISE (30 * PHX__SECOND)
#define ROUTE_RISE_MOST (ROUTE_LEAP - 65536)

static struct phx__dest *route_at(const struct phx__route *r, uint32_t node)
{
    return &r->table.at[node];
}

struct phx__route_nbr *phx__route_nbr(const struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(r, node);

    return d != NULL && d->pos != PHX__TABLE_FAR ? &r->nbrs[d->pos] : NULL;
}

void phx__route_plan(struct phx__route *r, uint64_t at)
{
    if (at < phx__timer_at(r->timers, r->pace.chore_timer))
        phx__timer_set(r->timers, r->pace.chore_timer, at);
}

uint64_t phx__route_quiet_at(const struct phx__route *r)
{
    uint32_t crowd = r->known > ROUTE_QUIET_CROWD ? r->known - ROUTE_QUIET_CROWD : 0;

    return r->moved + ROUTE_QUIET + crowd * ROUTE_QUIET_EACH;
}

/* ---- Lists of what to look at ---------------------------------------------------------------- */

/* Both lists have room for every destination from the moment it is known (route_know). */
static void route_touch(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__dest *d = route_at(r, node);

    if (!(d->flags & PHX__DEST_DIRTY)) {
        d->flags |= PHX__DEST_DIRTY;
        r->dirty.at[r->dirty.count++] = node;
    }
    r->moved = now;
}

static void route_changed(struct phx__route *r, uint32_t node)
{
    struct phx__dest *d = route_at(r, node);

    if (!(d->flags & PHX__DEST_CHANGED)) {
        d->flags |= PHX__DEST_CHANGED;
        r->changed.at[r->changed.count++] = node;
    }
}

static void route_touch_loss(struct phx__route *r, uint32_t node, uint64_t now)
{
    route_touch(r, node, now);
    route_at(r, node)->flags |= PHX__DEST_LOSS;
}

static void route_look_at(struct phx__route *r, struct phx__route_nbr *n, uint8_t how)
{
    if (n->dirty < how)
        n->dirty = how;
    r->pace.look = 1;
}

/* ---- The table ------------------------------------------------------------------------------- */

static uint64_t route_term(const struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = route_at(r, node);
    uint64_t number = d->incarnation * 0x9E3779B97F4A7C15u + d->seq;

    return phx__map_mix(phx__id_hash(&r->ids->at[node]) ^ phx__map_mix(number));
}

/* Makes the destination known, with room in the lists. */
static int route_know(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__dest *d = phx__route_table_make(&r->table, node);

    if (d == NULL)
        return PHX_ENOMEM;
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

static void route_use(struct phx__route *r, uint32_t node, uint32_t next, uint32_t seq, uint8_t hops,
                      uint64_t now)
{
    struct phx__dest *d = route_at(r, node);

    if (d->next == next && d->seq == seq && d->hops == hops)
        return;
    if (d->hops != PHX__UNREACHABLE) {
        r->digest ^= route_term(r, node);
        r->reachable--;
    }
    if (d->next != next)
        route_changed(r, node);
    if (hops == PHX__UNREACHABLE && d->hops != PHX__UNREACHABLE)
        d->since = (uint32_t)(now / PHX__SECOND);
    if (hops == PHX__UNREACHABLE || hops > d->hops)
        r->pace.urgent = 1;
    d->next = next;
    d->seq = seq;
    d->hops = hops;
    if (hops != PHX__UNREACHABLE) {
        r->digest ^= route_term(r, node);
        r->reachable++;
    }
    route_touch(r, node, now);
}

static int route_feasible(const struct phx__dest *d, const struct phx__offer *h)
{
    return d->feasible_hops == PHX__UNREACHABLE || h->seq > d->feasible_seq
           || (h->seq == d->feasible_seq && h->hops < d->feasible_hops);
}

/* Among neighbours that lead to a destination equally well each node prefers others for each destination, so
 * that the gateways of a site share the load: rendezvous hashing over the three ids. */
static uint64_t route_share_hash(const struct phx__route *r, uint32_t node, uint32_t nbr)
{
    return phx__map_mix(phx__map_mix(phx__id_hash(&r->ids->at[PHX__SELF])
                             ^ phx__id_hash(&r->ids->at[node]) * 0x9E3779B97F4A7C15u)
                    ^ phx__id_hash(&r->ids->at[nbr]));
}

/* Shortest first, then the newest number, then the one in use. */
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

static const struct phx__offer *route_best(const struct phx__route *r, const struct phx__dest *d,
                                           uint32_t node, int feasible)
{
    const struct phx__offer *best = NULL, *offer = phx__route_table_offers(d);
    uint32_t i;

    for (i = 0; i < d->offer_count; i++) {
        const struct phx__offer *h = &offer[i];
        if (h->hops < r->hop_limit && h->hops < PHX__UNREACHABLE - 1
            && route_feasible(d, h) == feasible && (best == NULL || route_better(r, d, node, h, best)))
            best = h;
    }
    return best;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Ours needs no repeating. Its record goes, unless it is also one of a request that was just passed on. */
static void route_ask_end(struct phx__route *r, struct phx__ask *a, uint64_t now)
{
    a->at = UINT64_MAX;
    a->asks = 0;
    if (now >= a->passed_at + ROUTE_PASSED)
        phx__route_table_unask(&r->table, a);
}

/* Nobody offers the destination: ask a few neighbours, others each time. */
static void route_ask_around(struct phx__route *r, uint32_t node, uint32_t want, uint8_t asks)
{
    uint32_t i, count = 2u << asks; /* 2, 4, 8 */

    if (count > r->nbr_count)
        count = r->nbr_count;
    for (i = 0; i < count; i++) {
        uint32_t k = (uint32_t)phx__rnd_below(r->rnd, r->nbr_count);
        r->counters.requests_out++;
        r->ops.request(r->ops.ctx, r->nbrs[k].node, node, want, r->hop_limit);
    }
}

/* Without memory for it a request is sent once only, and then it is up to the digest. */
static void route_ask(struct phx__route *r, uint32_t node, uint64_t now)
{
    const struct phx__dest *d = route_at(r, node);
    const struct phx__offer *h = route_best(r, d, node, 0);
    uint32_t want = d->feasible_hops == PHX__UNREACHABLE ? 0 : d->feasible_seq + 1;
    struct phx__ask *a = phx__route_table_ask(&r->table, node);
    uint8_t asks = a != NULL ? a->asks : 0;
    uint64_t wait = ROUTE_ASK_FIRST << (asks < 8 ? asks : 8);

    if (h != NULL) {
        r->counters.requests_out++;
        r->ops.request(r->ops.ctx, h->nbr, node, want, r->hop_limit);
    } else if (asks < ROUTE_ASKS_BLIND) {
        route_ask_around(r, node, want, asks);
    } else {
        route_ask_end(r, a, now); /* dead, as far as anybody says */
        return;
    }
    if (a == NULL)
        return;
    a->asks = (uint8_t)(asks < 250 ? asks + 1 : asks);
    a->at = now + (wait < ROUTE_ASK_LAST ? wait : ROUTE_ASK_LAST);
    phx__route_plan(r, a->at);
}

/* Is there reason to ask? Without a route, or with a shorter one that is not feasible: then the feasible
 * distance has ratcheted down, and only a newer number opens the way. */
static void route_review_ask(struct phx__route *r, uint32_t node, int lost, uint64_t now)
{
    const struct phx__dest *d = route_at(r, node);
    const struct phx__offer *h = route_best(r, d, node, 0);
    struct phx__ask *a = phx__route_table_asked(&r->table, node);
    int out = a != NULL && a->at != UINT64_MAX;
    int need = d->hops == PHX__UNREACHABLE ? lost || h != NULL || out
                                           : h != NULL && h->hops + 1 < d->hops;

    if (!need && a != NULL)
        route_ask_end(r, a, now);
    else if (need && !out)
        route_ask(r, node, now);
}

static void route_select(struct phx__route *r, uint32_t node, uint64_t now)
{
    struct phx__dest *d = route_at(r, node);
    const struct phx__offer *best = route_best(r, d, node, 1);
    int had = d->hops != PHX__UNREACHABLE;

    if (best != NULL)
        route_use(r, node, best->nbr, best->seq, (uint8_t)(best->hops + 1), now);
    else
        route_use(r, node, PHX__NONE, d->seq, PHX__UNREACHABLE, now);
    route_review_ask(r, node, had && best == NULL, now);
}

/* ---- What comes in --------------------------------------------------------------------------- */

/* The owner was restarted under its old id: nothing known of the former incarnation counts. */
static void route_restarted(struct phx__route *r, uint32_t node, uint64_t incarnation, uint64_t now)
{
    struct phx__dest *d = route_at(r, node);

    if (d->hops != PHX__UNREACHABLE) {
        route_use(r, node, PHX__NONE, d->seq, PHX__UNREACHABLE, now);
    }
    /* Whoever uses the old one through us must hear of a retraction still: hops stays. */
    phx__route_table_set_number(d, 0, 0);
    phx__route_table_drop_offers(&r->table, d);
    d->feasible_hops = PHX__UNREACHABLE;
    d->incarnation = incarnation;
    d->seq = 0;
    phx__route_table_uncard(&r->table, d); /* it may say that the former life has left */
    route_touch_loss(r, node, now);
    route_changed(r, node);
}

/* This node's number, raised. Long before the last number of all a new life begins, so that nobody,
 * however often it asks, can use the numbers up. */
static void route_raise(struct phx__route *r, uint32_t seq, uint64_t now)
{
    struct phx__dest *d = route_at(r, PHX__SELF);

    if (seq > UINT32_MAX / 2) {
        r->digest ^= route_term(r, PHX__SELF);
        d->incarnation++;
        d->seq = 0;
        r->digest ^= route_term(r, PHX__SELF);
        seq = 1;
    }
    route_use(r, PHX__SELF, PHX__NONE, seq, 0, now);
}

/* A later life, as far as others would believe it; the rest of the way later. */
static void route_rise(struct phx__route *r, uint64_t now)
{
    struct phx__dest *d = route_at(r, PHX__SELF);
    uint64_t life = r->rise.to;

    if (life <= d->incarnation)
        return;
    if (now >= r->rise.at + ROUTE_RISE)
        r->rise.from = d->incarnation;
    if (life > r->rise.from + ROUTE_RISE_MOST)
        life = r->rise.from + ROUTE_RISE_MOST;
    if (life > d->incarnation) {
        r->digest ^= route_term(r, PHX__SELF);
        d->incarnation = life;
        r->digest ^= route_term(r, PHX__SELF);
        r->rise.at = now;
        route_raise(r, d->seq + 1, now);
    }
    if (r->rise.to > d->incarnation)
        phx__route_plan(r, r->rise.at + ROUTE_RISE);
}

/* Somebody speaks of this very node. Incarnations and numbers above ours come from a life before, or a lie; a
 * retraction at our own number would stand for ever if it were not answered, and so would a card that we
 * never wrote. */
static void route_heard_self(struct phx__route *r, const struct phx__entry *e, uint64_t now)
{
    struct phx__dest *d = route_at(r, PHX__SELF);

    if (e->incarnation > d->incarnation + ROUTE_LEAP)
        return; /* nobody who knows us believes that; and who does not will hear it from us */
    if (e->incarnation > d->incarnation && e->incarnation < PHX__INCARNATION_MAX) {
        if (e->incarnation >= r->rise.to)
            r->rise.to = e->incarnation + 1;
        route_rise(r, now);
    } else if (e->incarnation == d->incarnation && e->card_version > d->card_version) {
        if (e->card_version < UINT32_MAX / 2)
            d->card_version = e->card_version + 1;
        route_raise(r, e->card_version < UINT32_MAX / 2 ? d->seq + 1 : UINT32_MAX, now);
    } else if (e->incarnation == d->incarnation
               && (e->seq > d->seq || (e->seq == d->seq && e->hops == PHX__UNREACHABLE))) {
        route_raise(r, e->seq + 1, now);
    }
}

static int route_learn_card(struct phx__route *r, uint32_t nbr, uint32_t node,
                            const struct phx__entry *e, uint64_t now)
{
    struct phx__dest *d = route_at(r, node);

    if (e->card_version <= d->card_version)
        return 0;
    if (e->card == NULL) { /* it thinks that we have it, but we have forgotten */
        if (!PHX__ROUTE_RULES(r) && e->hops != PHX__UNREACHABLE)
            r->ops.request(r->ops.ctx, nbr, node, 0, 1);
        return 0;
    }
    if (phx__route_table_card(&r->table, d, e->card, e->card_size, e->card_version) != 0)
        return PHX_ENOMEM;
    route_changed(r, node);
    route_touch(r, node, now);
    return 0;
}

/* A neighbour's word on v got worse: what it was trusted to tell others must be looked at again, and if
 * it was next to v, so must all that v might have been told by it, and it by v. */
static void route_worsened(struct phx__route *r, uint32_t nbr, uint32_t node, int was_next,
                           uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, node), *teller = phx__route_nbr(r, nbr);

    route_touch_loss(r, node, now);
    if (!was_next || n == NULL)
        return;
    route_look_at(r, n, 2);
    if (teller != NULL)
        route_look_at(r, teller, 2);
}

/* A neighbour is next to fewer: somebody may have been left to it, or it to somebody, or what it offers,
 * to those whom it is no longer next to. */
static void route_shrank(struct phx__route *r, struct phx__route_nbr *n, uint64_t now)
{
    uint32_t v;

    route_look_at(r, n, 2);
    for (v = 1; v < r->table.capacity; v++)
        if (phx__route_table_offer(route_at(r, v), n->node) != NULL)
            route_touch_loss(r, v, now);
}

static int route_hear(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e,
                      uint64_t now)
{
    struct phx__dest *d = route_at(r, node);
    struct phx__offer *h = phx__route_table_offer(d, nbr);
    uint8_t before = h != NULL ? h->hops : PHX__UNREACHABLE;

    if (e->hops == PHX__UNREACHABLE) {
        phx__route_table_drop_offer(&r->table, d, nbr);
        if (d->hops == PHX__UNREACHABLE && e->seq > d->seq)
            d->seq = e->seq;
    } else {
        h = phx__route_table_make_offer(&r->table, d, nbr);
        if (h == NULL)
            return PHX_ENOMEM;
        if (before == PHX__UNREACHABLE || h->seq != e->seq || h->hops != e->hops)
            route_touch(r, node, now);
        h->seq = e->seq;
        h->hops = e->hops;
    }
    if (before < e->hops)
        route_worsened(r, nbr, node, before == 1, now);
    route_select(r, node, now);
    return 0;
}

/* What it was told, or that it was told nothing. */
static struct phx__advertised route_word(const struct phx__dest *d, uint32_t nbr)
{
    static const struct phx__advertised nothing = { 0, 0, 0, PHX__UNREACHABLE, 0 };
    const struct phx__advertised *t = phx__route_table_advertised(d, nbr);

    return t != NULL ? *t : nothing;
}

/* Remembers that nbr wants to be told of node, at number want or above. */
static int route_asked(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want,
                       uint64_t now)
{
    struct phx__dest *d = route_at(r, node);
    struct phx__advertised t = route_word(d, nbr);

    t.asked = 1;
    t.want = want;
    if (phx__route_table_advertise(&r->table, d, nbr, &t) != 0)
        return PHX_ENOMEM;
    route_touch(r, node, now);
    r->pace.urgent = 1;
    return 0;
}

/* A word on somebody that cannot be true, though it may be innocently repeated: of another life than the
 * owner leads, as far as that is known. Only the owner is believed if it leaps. */
static int route_is_wild(const struct phx__route *r, uint32_t nbr, uint32_t node, uint64_t incarnation)
{
    const struct phx__dest *d = node == PHX__NONE ? NULL : phx__route_dest(r, node);

    return d != NULL && node != PHX__SELF && node != nbr && incarnation > d->incarnation + ROUTE_LEAP;
}

int phx__route_entry(struct phx__route *r, uint32_t nbr, const struct phx__entry *e, uint64_t now)
{
    struct phx__dest *d;
    uint32_t node;
    int err;

    node = phx__id_find(r->ids, &e->id);
    if (e->hops == PHX__UNREACHABLE && e->card == NULL
        && (node == PHX__NONE || phx__route_dest(r, node) == NULL))
        return 0; /* the end of what we never knew is no news; a card is, its sender counts on it */
    if (route_is_wild(r, nbr, node, e->incarnation))
        return PHX_ELIMIT;
    if ((err = phx__id_add(r->ids, &e->id, &node)) != 0 || (err = route_know(r, node, now)) != 0)
        return err;
    if (node == PHX__SELF) {
        route_heard_self(r, e, now);
        return 0;
    }
    d = route_at(r, node);
    if (e->incarnation > d->incarnation)
        route_restarted(r, node, e->incarnation, now);
    if (e->incarnation < d->incarnation) {
        return route_asked(r, nbr, node, 0,
                           now); /* it is behind: tell it, whatever it seems to know */
    }
    /* The owner itself says less than others have said of it: somebody has forged its card. It hears what we
     * have, and rises above it. */
    if (nbr == node && e->card_version != 0 && e->card_version < d->card_version
        && (err = route_asked(r, nbr, node, 0, now)) != 0)
        return err;
    if ((err = route_learn_card(r, nbr, node, e, now)) != 0)
        return err;
    if (PHX__ROUTE_RULES(r))
        return PHX__ROUTE_RULE(r, entry(r, nbr, node, e, now));
    return route_hear(r, nbr, node, e, now);
}

static void route_request_self(struct phx__route *r, uint32_t want, uint64_t now)
{
    struct phx__dest *d = route_at(r, PHX__SELF);
    uint32_t seq = d->seq;

    /* A step further than asked would be harmless, but a request for the last number of all must not
     * use numbers up: nobody honest is more than a few ahead. */
    if (want > seq)
        route_raise(r, want - seq < 65536 ? want : seq + 1, now);
}

/* On towards the owner. */
static void route_pass_request(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want,
                               int hops, uint64_t now)
{
    const struct phx__dest *d = route_at(r, node);
    struct phx__ask *a = phx__route_table_asked(&r->table, node);

    if (d->next == PHX__NONE || d->next == nbr || hops <= 1 || !r->relay
        || (a != NULL && want <= a->passed_seq && now < a->passed_at + ROUTE_PASSED))
        return;
    if ((a = phx__route_table_ask(&r->table, node)) != NULL) { /* else the next one is passed on, too */
        a->passed_seq = want;
        a->passed_at = now;
    }
    r->counters.requests_out++;
    r->ops.request(r->ops.ctx, d->next, node, want, hops - 1);
}

void phx__route_request(struct phx__route *r, uint32_t nbr, const struct phx__request *q, int hops,
                        uint64_t now)
{
    uint32_t node = phx__id_find(r->ids, &q->id);
    const struct phx__dest *d = node == PHX__NONE ? NULL : phx__route_dest(r, node);

    if (d == NULL || phx__route_nbr(r, nbr) == NULL || node == nbr
        || q->incarnation < d->incarnation)
        return;
    if (node == PHX__SELF)
        route_request_self(r, q->seq, now);
    if (route_asked(r, nbr, node, q->seq, now) == 0
        && (d->seq < q->seq || d->hops == PHX__UNREACHABLE))
        route_pass_request(r, nbr, node, q->seq, hops, now);
}

void phx__route_beat(struct phx__route *r, uint32_t nbr, const struct phx__beat *b, int shrunk,
                     uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    if (n == NULL)
        return;
    if (shrunk && n->neighbourhood != 0)
        route_shrank(r, n, now);
    n->neighbourhood = b->around;
    if (b->digest == r->digest) {
        n->disagreed = 0;
        n->summary_wait = 0;
    } else if (now > phx__route_quiet_at(r) && n->disagreed == 0) {
        n->disagreed = 1; /* perhaps it is only late: look again in a second */
        phx__route_plan(r, now + ROUTE_QUIET);
    } else if (now > phx__route_quiet_at(r) && now >= n->summary_at) {
        n->summary_wait = n->summary_wait == 0 ? ROUTE_SUMMARY_WAIT : n->summary_wait * 2;
        if (n->summary_wait > ROUTE_SUMMARY_WAIT_MAX)
            n->summary_wait = ROUTE_SUMMARY_WAIT_MAX;
        n->summary_at = now + n->summary_wait;
        n->disagreed = 0;
        r->ops.summary(r->ops.ctx, nbr, 0);
    }
}

void phx__route_fill_beat(struct phx__route *r, uint32_t nbr, struct phx__beat *b)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    b->digest = r->digest;
    b->around = r->neighbourhood;
    b->around_count = r->nbr_count + 1;
    /* A beat between a loss and the flush after it does not say that we shrank: that must still be said,
     * so what is noted is not the truth. */
    if (n != NULL)
        n->neighbourhood_told = r->pace.shrunk == 0 ? r->neighbourhood : ~r->neighbourhood;
}

void phx__route_summary_begin(struct phx__route *r)
{
    uint32_t i;

    for (i = 0; i < r->table.capacity; i++)
        route_at(r, i)->flags &= (uint8_t)~PHX__DEST_SEEN;
}

void phx__route_summary_line(struct phx__route *r, uint32_t nbr, const struct phx__summary_line *s)
{
    uint32_t node = phx__id_find(r->ids, &s->id);
    struct phx__dest *d;

    if (node == PHX__NONE || phx__route_dest(r, node) == NULL)
        return;
    d = route_at(r, node);
    d->flags |= PHX__DEST_SEEN;
    if (d->hops != PHX__UNREACHABLE && node != nbr
        && (s->hops == PHX__UNREACHABLE || s->incarnation < d->incarnation
            || (s->incarnation == d->incarnation && (s->seq < d->seq || d->hops + 1 < s->hops))))
        (void)route_asked(r, nbr, node, 0, r->moved); /* without memory: the next digest */
    /* It may have a way through us that is no more, and have missed the retraction: once again. */
    if (d->hops == PHX__UNREACHABLE && s->hops != PHX__UNREACHABLE
        && !PHX__ROUTE_RULES(r)) {
        struct phx__advertised t = route_word(d, nbr);
        t.hops = PHX__UNREACHABLE - 1;
        if (phx__route_table_advertise(&r->table, d, nbr, &t) == 0) {
            route_touch(r, node, r->moved);
            r->pace.urgent = 1;
        }
    }
}

void phx__route_summary_end(struct phx__route *r, uint32_t nbr, int reply)
{
    uint32_t i;

    for (i = 0; i < r->table.capacity; i++) {
        const struct phx__dest *d = route_at(r, i);
        if ((d->flags & PHX__DEST_KNOWN) && !(d->flags & PHX__DEST_SEEN)
            && d->hops != PHX__UNREACHABLE && i != nbr)
            (void)route_asked(r, nbr, i, 0, r->moved);
    }
    if (!reply)
        r->ops.summary(r->ops.ctx, nbr, 1);
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* The hello stands for the first update about oneself, both ways: in a mesh that a hub has introduced, a
 * new link needs no routing message at all. Unless the peer's card has changed: then an update is under way,
 * and its number must not be used, and passed on, before. Nobody may know a number without the card that
 * came with it, or the card would never be sent after it. */
static int route_hello(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h,
                       uint64_t now)
{
    const struct phx__advertised t = { h->told_seq, h->told_card, 0, 0, 0 };
    struct phx__entry e;

    if (phx__route_table_advertise(&r->table, route_at(r, PHX__SELF), nbr, &t) != 0)
        return PHX_ENOMEM;
    if (h->card > route_at(r, nbr)->card_version)
        return 0;
    memset(&e, 0, sizeof e);
    e.id = r->ids->at[nbr];
    e.incarnation = h->incarnation;
    e.seq = h->seq;
    e.card_version = h->card;
    return phx__route_entry(r, nbr, &e, now);
}

/* A link that was replaced, or came back before anybody was told that it was gone. Others may have left to us
 * what we had told over the old link, and it may have been lost with it: it is told again. What we had left
 * to others is none of this link's business. */
static int route_relinked(struct phx__route *r, uint32_t nbr)
{
    uint32_t v;

    for (v = 0; v < r->table.capacity; v++) {
        struct phx__dest *d = route_at(r, v);
        struct phx__advertised t = route_word(d, nbr);
        t.asked = 1;
        t.want = 0;
        t.hops = PHX__UNREACHABLE;
        if (phx__route_table_advertised(d, nbr) != NULL
            && phx__route_table_advertise(&r->table, d, nbr, &t) != 0)
            return PHX_ENOMEM;
    }
    route_at(r, nbr)->flags &= (uint8_t) ~(PHX__DEST_LAPSED | PHX__DEST_LOSS);
    r->lapsed--;
    r->pace.shrunk--;
    return 0;
}

/* What it was told over a former link, and could not be taken out for lack of memory. */
static int route_untold(struct phx__route *r, uint32_t nbr)
{
    uint32_t v;

    for (v = 0; v < r->table.capacity; v++)
        if (phx__route_table_advertise(&r->table, route_at(r, v), nbr, NULL) != 0)
            return PHX_ENOMEM;
    return 0;
}

int phx__route_up(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h,
                  uint64_t now)
{
    struct phx__route_nbr *n;
    struct phx__dest *d;
    int relinked;

    if (r->nbr_count == PHX__TABLE_FAR)
        return PHX_ELIMIT;
    if (route_know(r, nbr, now) != 0
        || phx__mem_grow(r->mem, &r->nbrs, &r->nbr_capacity, r->nbr_count + 1, sizeof *r->nbrs))
        return PHX_ENOMEM;
    d = route_at(r, nbr);
    /* What others said of it may be a lie. So may what it says, but then it is one about itself. */
    if (h->incarnation > d->incarnation || h->incarnation + ROUTE_LEAP < d->incarnation)
        route_restarted(r, nbr, h->incarnation, now);
    relinked = (d->flags & PHX__DEST_LAPSED) != 0;
    if (relinked ? route_relinked(r, nbr) != 0 : r->leftover && route_untold(r, nbr) != 0)
        return PHX_ENOMEM;
    n = &r->nbrs[r->nbr_count];
    memset(n, 0, sizeof *n);
    n->node = nbr;
    d->pos = (uint16_t)r->nbr_count++;
    r->neighbourhood ^= phx__id_hash(&r->ids->at[nbr]);
    r->moved = now;
    route_look_at(r, n, 1);
    n->relinked = (uint8_t)relinked;
    return route_hello(r, nbr, h, now);
}

/* All that this neighbour said or was told is void, and so is what others were spared because of it. */
static void route_down_dest(struct phx__route *r, uint32_t nbr, uint32_t node, uint64_t now)
{
    struct phx__dest *d = route_at(r, node);

    if (node == PHX__SELF)
        return;
    if (PHX__ROUTE_RULES(r)) {
        phx__route_table_drop_offer(&r->table, d, nbr);
        (void)PHX__ROUTE_RULE(r, lost(r, nbr, node, now));
    } else if (phx__route_table_drop_offer(&r->table, d, nbr)) {
        route_touch_loss(r, node, now);
        route_select(r, node, now);
    }
}

void phx__route_down(struct phx__route *r, uint32_t nbr, uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);
    uint32_t i;
    uint16_t pos;

    if (n == NULL)
        return;
    pos = route_at(r, nbr)->pos;
    r->nbrs[pos] = r->nbrs[--r->nbr_count];
    if (pos < r->nbr_count)
        route_at(r, r->nbrs[pos].node)->pos = pos;
    route_at(r, nbr)->pos = PHX__TABLE_FAR;
    r->neighbourhood ^= phx__id_hash(&r->ids->at[nbr]);
    if (nbr == r->delegate) {
        r->delegate = PHX__NONE;
        r->delegate_known = 0;
    }
    r->pace.shrunk++;
    r->lapsed++;
    route_at(r, nbr)->flags |= PHX__DEST_LAPSED;
    r->pace.urgent = 1;
    r->moved = now;
    for (i = 0; i < r->table.capacity; i++)
        if (route_at(r, i)->flags & PHX__DEST_KNOWN)
            route_down_dest(r, nbr, i, now);
}

/* ---- Chores ---------------------------------------------------------------------------------- */

static void route_ask_due(struct phx__route *r, uint64_t now)
{
    uint32_t i;

    for (i = 0; r->table.ask_count > 0 && i < r->table.capacity; i++) {
        struct phx__ask *a = phx__route_table_asked(&r->table, i);
        if (a == NULL)
            continue;
        if (a->at <= now)
            route_ask(r, i, now);
        else if (a->at != UINT64_MAX)
            phx__route_plan(r, a->at);
        else if (now >= a->passed_at + ROUTE_PASSED)
            phx__route_table_unask(&r->table, a);
    }
}

/* The one in use is the first that came, which is the same one for everybody around. Once the table is quiet
 * each destination goes to its preferred neighbour instead, if that one leads there equally well, at the
 * same number, and is feasible: so neither what neighbours were told nor freedom of loops is touched. */
static void route_share(struct phx__route *r, uint32_t node, uint64_t now)
{
    const struct phx__dest *d = route_at(r, node);
    const struct phx__offer *offer = phx__route_table_offers(d);
    uint32_t i, best = d->next;

    if (best == PHX__NONE || PHX__ROUTE_RULES(r))
        return;
    for (i = 0; i < d->offer_count; i++) {
        const struct phx__offer *h = &offer[i];
        if (h->seq == d->seq && h->hops + 1 == d->hops && route_feasible(d, h)
            && route_share_hash(r, node, h->nbr) < route_share_hash(r, node, best))
            best = h->nbr;
    }
    route_use(r, node, best, d->seq, d->hops, now);
}

static void route_beats_due(struct phx__route *r, uint64_t now)
{
    uint32_t i;

    if (now < phx__route_quiet_at(r)) {
        phx__route_plan(r, phx__route_quiet_at(r));
        return;
    }
    for (i = 1; r->pace.quiet_due && i < r->table.capacity; i++)
        if (route_at(r, i)->flags & PHX__DEST_KNOWN)
            route_share(r, i, now);
    r->pace.quiet_due = 0;
    for (i = 0; i < r->nbr_count; i++) {
        struct phx__route_nbr *n = &r->nbrs[i];
        if (n->neighbourhood_told != r->neighbourhood || n->disagreed == 1)
            r->ops.beat(r->ops.ctx, n->node, n->disagreed == 1 ? (int)PHX__BEAT_REPLY : 0);
        if (n->disagreed == 1)
            n->disagreed = 2;
    }
}

static int route_forgettable(const struct phx__dest *d, uint64_t now)
{
    return (d->flags & PHX__DEST_KNOWN) && d->hops == PHX__UNREACHABLE && d->pos == PHX__TABLE_FAR
           && d->offer_count == 0 && now / PHX__SECOND > d->since + ROUTE_FORGET / PHX__SECOND
           && !(d->flags & (PHX__DEST_DIRTY | PHX__DEST_CHANGED));
}

static uint32_t route_forget_one(struct phx__route *r, uint64_t now)
{
    uint32_t i;

    for (i = 1; i < r->table.capacity; i++) {
        if (!route_forgettable(route_at(r, i), now))
            continue;
        phx__route_table_clear(&r->table, i);
        r->known--;
        return i;
    }
    return PHX__NONE;
}

void phx__route_chores(struct phx__route *r, uint64_t now, uint32_t *forgotten)
{
    phx__route_plan(r, now + ROUTE_FORGET_LOOK);
    route_rise(r, now);
    route_ask_due(r, now);
    route_beats_due(r, now);
    *forgotten = route_forget_one(r, now);
    if (*forgotten != PHX__NONE)
        phx__route_plan(r, now);
}

/* ---- Questions ------------------------------------------------------------------------------- */

int phx__route_take_changed(struct phx__route *r, uint32_t *node)
{
    if (r->changed.count == 0)
        return 0;
    *node = r->changed.at[--r->changed.count];
    route_at(r, *node)->flags &= (uint8_t)~PHX__DEST_CHANGED;
    return 1;
}

const struct phx__dest *phx__route_dest(const struct phx__route *r, uint32_t node)
{
    return node < r->table.capacity && (route_at(r, node)->flags & PHX__DEST_KNOWN)
               ? route_at(r, node)
               : NULL;
}

uint32_t phx__route_next(const struct phx__route *r, uint32_t node)
{
    return node < r->table.capacity ? route_at(r, node)->next : PHX__NONE;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int phx__route_init(struct phx__route *r, struct phx__mem *mem, struct phx__ids *ids,
                    struct phx__timers *timers, struct phx__rnd *rnd, int hop_limit, uint64_t incarnation,
                    const struct phx__route_ops *ops)
{
    struct phx__dest *self;

    memset(r, 0, sizeof *r);
    r->mem = mem;
    r->ids = ids;
    r->timers = timers;
    r->rnd = rnd;
    r->ops = *ops;
    r->hop_limit = hop_limit;
    r->relay = 1;
    r->delegate = PHX__NONE;
    phx__route_table_init(&r->table, mem);
    if (route_know(r, PHX__SELF, 0) != 0
        || phx__timer_new(timers, PHX__TIMER_ROUTE_TELL, 0, &r->pace.tell_timer)
        || phx__timer_new(timers, PHX__TIMER_ROUTE_CHORE, 0, &r->pace.chore_timer))
        return PHX_ENOMEM; /* the caller frees r and timers */
    self = route_at(r, PHX__SELF);
    self->incarnation = r->rise.from = incarnation;
    self->hops = 0;
    self->seq = 1;
    r->digest = route_term(r, PHX__SELF);
    r->neighbourhood = phx__id_hash(&ids->at[PHX__SELF]);
    r->reachable = 1;
    return 0;
}

void phx__route_free(struct phx__route *r)
{
    phx__route_table_free(&r->table);
    phx__mem_put(r->mem, r->nbrs, r->nbr_capacity * sizeof *r->nbrs);
    phx__mem_put(r->mem, r->dirty.at, r->dirty.capacity * sizeof *r->dirty.at);
    phx__mem_put(r->mem, r->changed.at, r->changed.capacity * sizeof *r->changed.at);
    phx__mem_put(r->mem, r->undelegated.at, r->undelegated.capacity * sizeof *r->undelegated.at);
    phx__mem_put(r->mem, r->out, r->out_capacity * sizeof *r->out);
}

int phx__route_card(struct phx__route *r, const uint8_t *card, uint32_t size, uint64_t now)
{
    struct phx__dest *d = route_at(r, PHX__SELF);

    if (phx__route_table_card(&r->table, d, card, size, d->card_version + 1) != 0)
        return PHX_ENOMEM;
    route_raise(r, d->seq + 1, now);
    return 0;
}
