/* advert.c - which neighbour must be sent which entry, and when. */
/* This file is the rule of route.c's essay, point 2, about redundant updates (advert_need), the entries
 * that follow from it (advert_needs), and the pace at which they leave (phx__route_advert_flush).
 *
 * In a crowd that starts, the rule has nearly always the same result for each link that comes up: the hub
 * advertises. So one neighbour, the next hop for most destinations, is the *delegate*. A destination is
 * delegated if the delegate advertises it at least as well as we do. Neighbours adjacent to the delegate, by
 * its own entry, need no updates about delegated destinations: that is the case of advert_need in which w
 * is the delegate. The others are few: they are in a list, and the dirty ones among them stand in front of
 * all that are dirty. A destination becomes delegated, or not, only when it changes, so only dirty ones are
 * examined. After a loss, and where an entry that was sent may have to be corrected, all destinations are
 * checked as if there were no delegate. */
#include "route/route.h"

/* Isolated changes are advertised at once. In a burst the wait doubles from 1 ms to the paper's 20 ms, less
 * if few nodes are known: a start is over in 20 ms, and first words do not wait for a millisecond. After a
 * pause of twice the wait it starts over. Where ADVERT_SITE or more wait while nobody speaks, as in a start,
 * more are on their way, and the wait is 4 ms at least. A way that is merely shorter waits for others like
 * it: sites that start link gateway by gateway. A new link with a node that was reachable before is told at
 * once what it needs, so that both ends know of all such ways when they tell the others.
 *
 * A whole site that is heard of through another node waits until its gateways have their links, in the order
 * of the dials of a start: ways become shorter meanwhile, and each member is told once, not four times. Who
 * leads to others, as those gateways do, is told at once. While messages are under way nothing waits. */
#define ADVERT_GAP_MIN (1 * PHX__MS)
#define ADVERT_GAP_MAX (20 * PHX__MS)
#define ADVERT_GAP_EACH UINT64_C(50) /* microseconds */
#define ADVERT_GAP_CROWD (4 * PHX__MS)
#define ADVERT_SITE 16u
#define ADVERT_SITE_EACH PHX__MS
#define ADVERT_SITE_MOST (100 * PHX__MS)

/* With less room a card that is larger than the room waits: so much each link has, whatever others leave. */
#define ADVERT_ROOM_LARGE 262144u
#define ADVERT_ROOM_UNASKED SIZE_MAX
/* A retraction, which waits for no room, takes no larger card along than what fits: a goodbye's is small. */
#define ADVERT_CARD_SMALL 4096u

/* Losses of more neighbours than this at once are not named: one beat must do. */
#define ADVERT_NAMED_MOST 256u

/* With fewer nodes known a delegate saves nothing. */
#define ADVERT_DELEGATED 16u

/* Has nbr sent an entry that says that it is next to node? */
static int advert_says_next(const struct phx__route *r, uint32_t nbr, uint32_t node)
{
    const struct phx__offer *h = phx__route_table_offer(&r->table.at[node], nbr);

    return h != NULL && h->hops == 1;
}

/* Does the hash of n say that n is next to all our neighbours, or to all but some of which none is v? */
static int advert_surrounds(const struct phx__route *r, const struct phx__route_nbr *n, uint32_t v)
{
    uint32_t but;

    return n->neighbourhood != 0 && !phx__route_gap_has(&n->gap, v | PHX__GAP_THEIRS)
           && phx__route_gap_explains(&n->gap, r->ids, n->neighbourhood ^ r->neighbourhood, &but)
           && but != v;
}

/* Is w known to be next to j? 2: by w's own entry, so w has decided about j. 1: by j's entry or a hash. */
static int advert_adjacent(const struct phx__route *r, uint32_t w, const struct phx__route_nbr *j)
{
    const struct phx__route_nbr *nw = phx__route_nbr(r, w);

    if (advert_says_next(r, w, j->node))
        return 2;
    return advert_says_next(r, j->node, w) || advert_surrounds(r, j, w)
           || (nw != NULL && advert_surrounds(r, nw, j->node));
}

int phx__route_advert_is_next_to(const struct phx__route *r, uint32_t nbr, uint32_t node)
{
    const struct phx__route_nbr *j = phx__route_nbr(r, nbr);

    return j != NULL && advert_adjacent(r, node, j) > 0;
}

/* Nobody advertises to us a way to our own neighbours. But a neighbour says how many neighbours it has: if
 * there are more than ourselves and those that we reach through it, then some are reached without it. */
int phx__route_advert_has_detour(const struct phx__route *r, uint32_t nbr)
{
    const struct phx__route_nbr *n = phx__route_nbr(r, nbr);
    uint32_t behind = 0;

    r->mem->looks += r->table.live_count;
    for (uint32_t i = 0, v = 0; i < r->table.live_count; i++, v = r->table.at[v].live) {
        const struct phx__dest *d = &r->table.at[v];
        behind += d->hops == 2 && d->next == nbr;
    }
    return n != NULL && n->neighbours > 1 + behind;
}

/* Have we told w of this way? Then w may rely on us for others, as we would on w. */
static int advert_is_told(const struct phx__dest *d, uint32_t w)
{
    const struct phx__advertised *t = phx__route_table_advertised(d, w);

    return t != NULL && t->seq >= d->seq && t->hops <= d->hops;
}

/* Has j a route to v as good as ours, or better, as its own entry or v's says, or a hash? */
static int advert_has(const struct phx__route *r, uint32_t v, const struct phx__route_nbr *j)
{
    const struct phx__dest *d = &r->table.at[v];
    const struct phx__offer *h = phx__route_table_offer(d, j->node);

    r->mem->looks++;
    if (h != NULL && (h->hops == 1 || (h->seq >= d->seq && h->hops <= d->hops + 1)))
        return 1;
    return d->hops == 1 && (advert_says_next(r, v, j->node) || advert_surrounds(r, j, v));
}

/* Will who makes us this offer send j a route as good as ours, or better? The rules are in the essay. */
static int advert_covers(const struct phx__route *r, const struct phx__dest *d, const struct phx__offer *h,
                         const struct phx__route_nbr *j, int strict)
{
    return h->nbr != j->node && h->seq >= d->seq && h->hops <= d->hops
           && advert_adjacent(r, h->nbr, j) > (h->hops < d->hops ? 0 : strict ? 2 : 1)
           && (h->hops < d->hops || !advert_is_told(d, h->nbr));
}

/* Has some w, by its own entry next to j, a way that is one hop longer than ours, or better? */
static int advert_is_near(const struct phx__route *r, const struct phx__dest *d, uint32_t j)
{
    const struct phx__offer *h = phx__route_table_offers(d), *end = h + d->offer_count;

    for (; h < end; h++, r->mem->looks++)
        if (h->nbr != j && h->seq >= d->seq && h->hops <= d->hops + 1 && advert_says_next(r, h->nbr, j))
            return 1;
    return 0;
}

/* Does the delegate, whose offer this is, lead to j, too, and to more nodes than we have links? Two hubs of
 * one crowd do not wait for each other. */
static int advert_is_led(const struct phx__route *r, const struct phx__offer *by, uint32_t j)
{
    return by != NULL && r->delegate != j && phx__route_nbr(r, r->delegate)->offers >= r->nbr_count
           && phx__route_table_offer(&r->table.at[j], r->delegate) != NULL;
}

enum advert_need { ADVERT_SEND, ADVERT_COVERED, ADVERT_LATER };

/* What becomes of an entry for v that j has not been sent? ADVERT_LATER: j, whose neighbourhood or ours does
 * not stand yet, waits until both do. All offers are looked at last: where many die in a start that would be
 * most of the work. It waits in two cases, after a loss in none:
 *  - The delegate leads to both, whatever number it has heard last. Where hubs have a crowd each, nodes link
 *    across, and each link makes shorter ways that other links soon make needless.
 *  - Some w that is next to j has nearly as short a way: gateways of one site link with another one by one,
 *    and w will soon say that it has a link, too.
 * Should it lose v or j, j is told at once: then it is dirty or v is a loss. Else what j says of its
 * neighbourhood ends it (beat_stands), for which it is asked when no link has come for a moment: meanwhile j
 * has a way that may be longer than it need be. */
static enum advert_need advert_need(const struct phx__route *r, uint32_t v, const struct phx__route_nbr *j)
{
    const struct phx__dest *d = &r->table.at[v];
    const struct phx__advertised *t = phx__route_table_advertised(d, j->node);
    const struct phx__offer *by = phx__route_table_offer(d, r->delegate), *h = phx__route_table_offers(d);
    int strict = (d->flags & PHX__DEST_LOSS) != 0 || j->dirty > 1, stands = phx__route_beat_stands(r, j);
    int may_wait = t == NULL && !strict && !stands;

    if (advert_has(r, v, j))
        return ADVERT_COVERED;
    if (!stands && t != NULL && t->hops != PHX__UNREACHABLE && t->hops > d->hops)
        return ADVERT_SEND; /* j may hold v back, as we have told it of a longer way */
    if (by != NULL && advert_covers(r, d, by, j, strict))
        return ADVERT_COVERED;
    if (may_wait && advert_is_led(r, by, j->node))
        return ADVERT_LATER;
    for (uint32_t i = 0; i < d->offer_count; i++, r->mem->looks++)
        if (advert_covers(r, d, &h[i], j, strict))
            return ADVERT_COVERED;
    return may_wait && advert_is_near(r, d, j->node) ? ADVERT_LATER : ADVERT_SEND;
}

/* May j want our way to v for its round trip time? It is as short as any that j has, as far as is known. */
PHX__COLD static int advert_is_choice(const struct phx__route *r, uint32_t v, const struct phx__route_nbr *j)
{
    const struct phx__dest *d = &r->table.at[v];
    const struct phx__offer *h = phx__route_table_offer(d, j->node);

    if (h != NULL && h->hops <= d->hops)
        return 0;
    if (d->hops == 1)
        return j->neighbourhood != 0 && !advert_says_next(r, v, j->node) && !advert_surrounds(r, j, v);
    h = phx__route_table_offers(d);
    for (uint32_t i = 0; i < d->offer_count; i++, r->mem->looks++)
        if (h[i].nbr != j->node && h[i].hops < d->hops && advert_adjacent(r, h[i].nbr, j))
            return 0;
    return 1;
}

/* Must neighbour j be sent an entry for v now? */
static int advert_needs(const struct phx__route *r, uint32_t v, struct phx__route_nbr *j)
{
    const struct phx__dest *d = &r->table.at[v];
    const struct phx__advertised *t = phx__route_table_advertised(d, j->node);

    if (PHX__ROUTE_RULES(r)) /* there an owner must receive its own retraction, to answer it */
        return (v == PHX__SELF || r->relay) && (v != j->node || d->hops == PHX__UNREACHABLE)
               && PHX__ROUTE_RULE(r, needs(r, d, j->node));
    if (v == j->node)
        return t != NULL && t->asked; /* it asked what we know of it: its new life began too low */
    if (v != PHX__SELF && !r->relay)
        return 0;
    if (d->pos == PHX__TABLE_LOST && (t == NULL || t->hops == PHX__UNREACHABLE))
        return 0; /* whose way we were told may only be late to lose it, too */
    if (t != NULL && t->asked && d->hops != PHX__UNREACHABLE && d->seq >= t->want && d->next != j->node)
        return 1;
    if (t != NULL && t->hops != PHX__UNREACHABLE) {
        if (d->hops > t->hops)
            return 1; /* worse than was advertised: always */
        if (d->hops == t->hops && d->seq == t->seq)
            return v == PHX__SELF ? t->card < d->card_version
                                  : j->metric && t->rtt != phx__route_rtt_told(&r->rtt, v)
                                        && advert_is_choice(r, v, j);
    } else if (d->hops == PHX__UNREACHABLE) {
        return 0;
    }
    if (v == PHX__SELF)
        return 1;
    /* A neighbour whose card has not come yet: our entry would not help any node to find it. */
    if (d->next == j->node || d->card_version == 0)
        return 0;
    switch (advert_need(r, v, j)) {
    case ADVERT_COVERED: return r->rtt.telling && j->metric && advert_is_choice(r, v, j);
    case ADVERT_LATER: j->held_at = j->held_at == 0 ? r->pace.flushed_at : j->held_at; return 0;
    default: return 1;
    }
}

/* Puts v's entry for j into out[*count]: 0, or PHX_ENOMEM and nothing is noted as advertised. */
static int advert_put(struct phx__route *r, uint32_t v, uint32_t j, uint32_t *count, size_t room)
{
    struct phx__dest *d = &r->table.at[v];
    const struct phx__advertised *t = phx__route_table_advertised(d, j);
    int large = d->hops == PHX__UNREACHABLE && d->card != NULL
                && d->card->size > PHX__MAX(room, ADVERT_CARD_SMALL);
    int with_card = !large && (t == NULL || d->card_version > t->card || t->asked);
    const uint32_t card = !large ? d->card_version : t != NULL ? t->card : 0;
    const uint16_t rtt = d->hops != PHX__UNREACHABLE ? phx__route_rtt_told(&r->rtt, v) : 0;
    const struct phx__advertised word = { d->seq, card, 0, d->hops, 0, rtt };
    struct phx__entry *e;

    if (phx__mem_grow(r->mem, &r->out, &r->out_capacity, *count + 1, sizeof *r->out)
        || phx__route_table_advertise(&r->table, d, j, &word) != 0)
        return PHX_ENOMEM;
    e = &r->out[(*count)++];
    *e = (struct phx__entry){ .id = r->ids->at[v], .incarnation = d->incarnation, .seq = d->seq,
                              .hops = d->hops, .card_version = card,
                              .rtt = rtt != 0 && phx__route_nbr(r, j)->metric ? rtt : 0 };
    if (with_card && d->card != NULL && d->card_version != 0) { /* 0: all that is kept of a dead node's */
        e->card = d->card->at;
        e->card_size = d->card->size;
    }
    if (d->hops != PHX__UNREACHABLE && phx__route_is_feasible(d, d->seq, d->hops)) {
        d->feasible_seq = d->seq;
        d->feasible_hops = d->hops;
    }
    return 0;
}

/* ---- The delegate ---------------------------------------------------------------------------- */

static int advert_is_adjacent_to_delegate(const struct phx__route *r, uint32_t nbr)
{
    return nbr == r->delegate || advert_says_next(r, r->delegate, nbr);
}

/* Notes whether v is delegated, and adjacent to the delegate. No memory for the list: no delegate. */
static void advert_mark(struct phx__route *r, uint32_t v)
{
    struct phx__dest *d = &r->table.at[v];
    const struct phx__offer *h = phx__route_table_offer(d, r->delegate);

    if (d->pos < PHX__TABLE_LOST)
        r->nbrs[d->pos].adjacent_to_delegate = (uint8_t)advert_is_adjacent_to_delegate(r, v);
    d->flags &= (uint8_t)~PHX__DEST_DELEGATED;
    if (h != NULL && h->hops <= d->hops && h->seq >= d->seq)
        d->flags |= PHX__DEST_DELEGATED;
    else if (phx__route_list(r, &r->undelegated, PHX__DEST_UNDELEGATED, v) != 0)
        r->delegate = PHX__NONE;
}

/* Chooses the neighbour that leads to most others. What was noted for the former delegate is forgotten. */
static void advert_choose_delegate(struct phx__route *r)
{
    uint32_t i, v, most = 0;

    r->delegate = PHX__NONE;
    r->delegate_known = r->known;
    r->undelegated.count = 0;
    r->mem->looks += r->nbr_count + 2 * (uint64_t)r->table.live_count;
    for (i = 0; i < r->nbr_count; i++)
        r->nbrs[i].leads_to = 0;
    for (v = i = 0; i < r->table.live_count; i++, v = r->table.at[v].live) {
        struct phx__dest *d = &r->table.at[v];
        struct phx__route_nbr *n = d->next == v ? NULL : phx__route_nbr(r, d->next);
        d->flags &= (uint8_t) ~(PHX__DEST_DELEGATED | PHX__DEST_UNDELEGATED);
        if (n != NULL && ++n->leads_to > most) {
            most = n->leads_to;
            r->delegate = n->node;
        }
    }
    for (v = i = 0; i < r->table.live_count && r->delegate != PHX__NONE; i++, v = r->table.at[v].live)
        advert_mark(r, v);
}

/* Delegated destinations leave the list. So do forgotten ones: without the flag, or in the list twice. */
static void advert_sort_undelegated(struct phx__route *r)
{
    uint32_t i, kept = 0;

    for (i = 0; i < r->undelegated.count; i++) {
        struct phx__dest *d = &r->table.at[r->undelegated.at[i]];
        if ((d->flags & PHX__DEST_UNDELEGATED) && !(d->flags & PHX__DEST_DELEGATED))
            r->undelegated.at[kept++] = r->undelegated.at[i];
        d->flags &= (uint8_t)~PHX__DEST_UNDELEGATED;
    }
    for (i = 0; i < kept; i++)
        r->table.at[r->undelegated.at[i]].flags |= PHX__DEST_UNDELEGATED;
    r->undelegated.count = kept;
}

/* Moves the dirty destinations that must be checked for every neighbour to the front: how many. */
static uint32_t advert_sort_dirty(struct phx__route *r)
{
    uint32_t i, count = 0;

    if (r->known >= ADVERT_DELEGATED && !PHX__ROUTE_RULES(r) && r->known > 2 * r->delegate_known)
        advert_choose_delegate(r);
    r->mem->looks += r->dirty.count;
    for (i = 0; i < r->dirty.count && r->delegate != PHX__NONE; i++) {
        uint32_t v = r->dirty.at[i];
        const struct phx__dest *d = &r->table.at[v];
        advert_mark(r, v);
        if ((d->flags & PHX__DEST_DELEGATED) && !(d->flags & PHX__DEST_LOSS) && d->advertised == NULL)
            continue;
        r->dirty.at[i] = r->dirty.at[count];
        r->dirty.at[count++] = v;
    }
    if (r->delegate == PHX__NONE)
        return r->dirty.count;
    advert_sort_undelegated(r);
    return count;
}

/* ---- Flushing -------------------------------------------------------------------------------- */

/* Appends the entries that n needs of a list, or of all the living (NULL), to out. 1: memory was short, or
 * *room was, for which no retraction waits: each takes back what had room. All the living have their turn,
 * however often the first ones change. */
static int advert_collect(struct phx__route *r, struct phx__route_nbr *n, const uint32_t *list,
                          uint32_t count, uint32_t *put, size_t *room)
{
    uint32_t i, v = n->from < r->table.capacity && r->table.at[n->from].live != PHX__NONE ? n->from : 0;
    int failed = 0;

    r->mem->looks += count;
    for (i = 0; i < count; i++, v = r->table.at[v].live) {
        const struct phx__dest *d = &r->table.at[v = list != NULL ? list[i] : v];
        size_t size = PHX__ENTRY_SIZE + (d->card != NULL ? d->card->size : 0);
        int lost = d->hops == PHX__UNREACHABLE;
        if (!(d->flags & PHX__DEST_KNOWN) || (failed && *room == 0 && !lost) || !advert_needs(r, v, n))
            continue;
        if (*room == ADVERT_ROOM_UNASKED)
            *room = r->ops.room(r->ops.ctx, n->node);
        if (!lost && (*room == 0 || (size > *room && *room < ADVERT_ROOM_LARGE))) {
            n->from = failed ? n->from : v; /* the first one then */
            failed = 1;
            continue;
        }
        failed |= advert_put(r, v, n->node, put, *room) != 0;
        *room -= size < *room ? size : *room;
    }
    return failed;
}

/* Appends what n needs of those that it lost, and of where they lead: nothing else relied on these links. */
static int advert_collect_cuts(struct phx__route *r, struct phx__route_nbr *n, uint32_t *put, size_t *room)
{
    int failed = 0;

    n->dirty = 2;
    for (uint32_t c = 0; c < r->cuts.count; c += 2) {
        uint32_t lost = r->cuts.at[c + 1], v = lost;
        const struct phx__route_nbr *k = r->cuts.at[c] == n->node ? phx__route_nbr(r, lost) : NULL;
        while (k != NULL) {
            if (v == lost || phx__route_table_offer(&r->table.at[v], lost) != NULL)
                failed |= advert_collect(r, n, &v, 1, put, room);
            if (k->offers <= 1 || (v = r->table.at[v].live) == lost)
                break;
        }
    }
    return failed;
}

/* Sends neighbour n all entries that it needs; the first `urgent` of the dirty list whatever is delegated. */
static void advert_update(struct phx__route *r, struct phx__route_nbr *n, uint32_t urgent)
{
    int delegated = r->delegate != PHX__NONE && n->dirty < 2 && !n->relinked && !r->rtt.telling, failed;
    uint32_t count = 0, from = n->from;
    size_t room = n->dirty > 1 ? r->ops.room(r->ops.ctx, n->node) : ADVERT_ROOM_UNASKED;
    int full = room == 0 && n->dirty > 1;

    if (n->dirty && delegated)
        n->adjacent_to_delegate = (uint8_t)advert_is_adjacent_to_delegate(r, n->node);
    delegated = delegated && n->adjacent_to_delegate;
    if (n->dirty && !delegated && !full)
        failed = advert_collect(r, n, NULL, r->table.live_count, &count, &room);
    else
        failed = advert_collect(r, n, r->dirty.at, delegated ? urgent : r->dirty.count, &count,
                                &room);
    if (n->dirty && delegated)
        failed |= advert_collect(r, n, r->undelegated.at, r->undelegated.count, &count, &room);
    if (n->cut && n->dirty < 2)
        failed |= advert_collect_cuts(r, n, &count, &room);
    n->cut = 0;
    if (full)
        n->from = from;
    else
        n->relinked = 0;
    n->dirty = failed || full ? 2 : 0;
    if (n->held_at == r->pace.flushed_at) {
        r->pace.held = 1;
        phx__route_plan(r, n->held_at + PHX__SECOND);
    }
    if (count == 0)
        return;
    if (PHX__ROUTE_RULES(r))
        (void)PHX__ROUTE_RULE(r, leaves(r, n->node, count));
    r->counters.updates_out++;
    r->counters.entries_out += count;
    r->ops.update(r->ops.ctx, n->node, r->out, count);
}

/* All who relied on links with these nodes know of the loss. No memory: done when there is a link again. */
static void advert_drop_lapsed(struct phx__route *r)
{
    for (uint32_t i = 0; i < r->lost.count; i++) {
        struct phx__dest *d = &r->table.at[r->lost.at[i].node];
        if (d->flags & PHX__DEST_LAPSED)
            r->lost.leftover |= phx__route_table_forget_nbr(&r->table, r->lost.at[i].node);
        d->flags &= (uint8_t)~PHX__DEST_LAPSED;
    }
}

/* Sends all neighbours, or the dirty ones, what they need. */
static void advert_update_each(struct phx__route *r, int all)
{
    uint32_t urgent = advert_sort_dirty(r);
    int calm = urgent == 0 && r->delegate != PHX__NONE && !r->rtt.telling, few = !all;

    r->pace.look = 0;
    r->mem->looks += r->nbr_count;
    for (struct phx__route_nbr *n = r->nbrs; n < r->nbrs + r->nbr_count; n++) {
        if (((n->dirty | n->cut) == 0) & (few | (calm & n->adjacent_to_delegate)))
            continue; /* nothing is news for it */
        advert_update(r, n, urgent);
        r->pace.look |= n->dirty;
    }
    r->pace.news = r->pace.look;
    r->cuts.count = 0;
}

/* Takes those from the dirty list to which there is no way, or none that is passed on yet: only who was told
 * of a way needs an entry, and if nobody was no neighbour is looked at. */
static void advert_drop_idle(struct phx__route *r)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->dirty.count; i++) {
        struct phx__dest *d = &r->table.at[r->dirty.at[i]];
        if (!PHX__ROUTE_RULES(r) && d->pos >= PHX__TABLE_LOST && !phx__route_table_is_told(d)
            && (d->hops == PHX__UNREACHABLE || d->pos == PHX__TABLE_LOST))
            d->flags &= (uint8_t) ~(PHX__DEST_DIRTY | PHX__DEST_LOSS);
        else
            r->dirty.at[kept++] = r->dirty.at[i];
    }
    r->dirty.count = kept;
}

static void advert_update_all(struct phx__route *r)
{
    uint32_t i;

    r->pace.urgent = r->pace.far = 0;
    r->pace.since = 0;
    advert_drop_idle(r);
    if (r->dirty.count > 0 || r->pace.look)
        advert_update_each(r, 1);
    else
        r->pace.news = 0;
    r->rtt.telling = 0;
    if (r->pace.look) /* memory or room was short: again, soon */
        phx__timer_set(r->timers, r->pace.tell_timer, r->pace.told_at + ADVERT_GAP_MAX);
    for (i = 0; i < r->dirty.count; i++)
        r->table.at[r->dirty.at[i]].flags &= (uint8_t) ~(PHX__DEST_DIRTY | PHX__DEST_LOSS);
    r->dirty.count = 0;
    advert_drop_lapsed(r);
}

/* Must a neighbour be told now that our neighbourhood shrank? One that had less than half as many neighbours,
 * as a hub's clients have, hardly relies on it, and is told when the table is quiet. */
static int advert_relies(const struct phx__route *r, struct phx__route_nbr *n)
{
    if (n->claimed == 0 || n->claimed == r->lost.claimed)
        return 0;
    n->shrank |= (uint8_t)(n->neighbours > 0 && 2 * n->neighbours < r->nbr_count);
    return !n->shrank;
}

/* All neighbours are told of a loss now: it leaves our neighbourhood. Each has it still, unless it named it
 * or never had it. */
static void advert_name_loss(struct phx__route *r, uint32_t node)
{
    uint32_t but;

    for (struct phx__route_nbr *n = r->nbrs; n < r->nbrs + r->nbr_count; n++)
        if (!phx__route_gap_take(&n->gap, r->ids, node | PHX__GAP_THEIRS)
            && phx__route_gap_explains(&n->gap, r->ids, n->neighbourhood ^ r->neighbourhood, &but)
            && but != node
            && phx__route_gap_add(&n->gap, r->mem, r->ids, node) != 0)
            n->neighbourhood = 0; /* not known until its next beat */
    r->neighbourhood ^= phx__id_hash_at(r->ids, node);
    r->lost.claimed ^= phx__id_hash_at(r->ids, node);
}

/* Neighbours that rely on our neighbourhood must know when it shrinks. That it grew can wait for quiet. */
static void advert_beat_shrunk(struct phx__route *r)
{
    struct phx__route_lost *lost = &r->lost;
    uint32_t i, k, kept = 0, named = 0;

    r->pace.shrunk = 0;
    r->pace.owed = 1;
    for (k = 0; k < lost->count; k++)
        if (lost->at[k].until == 0 && ++named > 0 && !lost->at[k].settled)
            advert_name_loss(r, lost->at[k].node);
    for (i = 0; i < r->nbr_count; i++) {
        if (!advert_relies(r, &r->nbrs[i]))
            continue;
        if (named > ADVERT_NAMED_MOST) {
            r->nbrs[i].shrank = 1;
            r->ops.beat(r->ops.ctx, r->nbrs[i].node, PHX__BEAT_SHRUNK);
            r->nbrs[i].shrank = 0;
        }
        for (k = 0; k < lost->count && named <= ADVERT_NAMED_MOST; k++)
            if (lost->at[k].until == 0) {
                lost->naming = phx__id_hash_at(r->ids, lost->at[k].node);
                r->ops.beat(r->ops.ctx, r->nbrs[i].node, PHX__BEAT_SHRUNK);
            }
        lost->naming = 0;
    }
    for (k = 0; k < lost->count; k++)
        if (lost->at[k].until != 0)
            lost->at[kept++] = lost->at[k];
    lost->count = kept;
}

/* Neighbours that lead to others are dirty. */
static void advert_look_at_relays(struct phx__route *r)
{
    r->pace.far = 2;
    r->mem->looks += r->table.live_count;
    for (uint32_t v = PHX__SELF; (v = r->table.at[v].live) != PHX__SELF;) {
        struct phx__route_nbr *n = r->table.at[v].next != v ? phx__route_nbr(r, r->table.at[v].next) : NULL;
        if (n != NULL)
            r->pace.look = n->dirty = PHX__MAX(n->dirty, 1);
    }
}

void phx__route_advert_flush(struct phx__route *r, uint64_t now)
{
    struct phx__route_pace *pace = &r->pace;
    int crowd = !pace->busy && r->dirty.count >= ADVERT_SITE && !PHX__ROUTE_RULES(r);
    int site = crowd && pace->far;
    uint64_t each = r->known * ADVERT_GAP_EACH, most = PHX__MIN(ADVERT_GAP_MIN + each, ADVERT_GAP_MAX);
    uint64_t least, gap, at;

    if (r->dirty.count == 0 && !pace->look && !pace->urgent)
        return;
    pace->flushed_at = PHX__MAX(now, 1);
    pace->since = pace->since == 0 ? now : pace->since;
    gap = now > pace->told_at + 2 * pace->gap ? 0 : pace->gap;
    at = pace->news || pace->far ? pace->told_at + (crowd ? PHX__MAX(gap, ADVERT_GAP_CROWD) : gap)
                                 : pace->since + ADVERT_GAP_MAX;
    if (site)
        at = pace->since + PHX__MIN(r->known * ADVERT_SITE_EACH, ADVERT_SITE_MOST);
    if (!pace->urgent && now < at) {
        if (site && pace->far == 1)
            advert_look_at_relays(r);
        if (pace->look && (site || !pace->news) && !PHX__ROUTE_RULES(r))
            advert_update_each(r, 0);
        phx__timer_set(r->timers, pace->tell_timer, at);
        return;
    }
    phx__timer_stop(r->timers, pace->tell_timer);
    least = pace->busy ? PHX__MIN(each, ADVERT_GAP_MIN) : ADVERT_GAP_MIN;
    pace->gap = gap > 0 ? PHX__MIN(2 * gap, most) : r->nbr_count > 0 ? least : 0; /* nobody hears: no burst */
    pace->told_at = now;
    advert_update_all(r);
    if (pace->shrunk)
        advert_beat_shrunk(r);
    if (r->nbr_count > 0)
        phx__route_plan(r, phx__route_beat_quiet_at(r));
}

void phx__route_advert_fit(struct phx__route *r, uint32_t size)
{
    uint32_t was = r->table.capacity;

    phx__mem_fit(r->mem, &r->table.at, &r->table.capacity, size, sizeof *r->table.at);
    if (r->table.capacity < was) { /* the list of what is not delegated may name nodes that are forgotten */
        r->delegate = PHX__NONE;
        r->delegate_known = r->undelegated.count = 0;
    }
    phx__mem_fit(r->mem, &r->table.asks, &r->table.ask_capacity, r->table.ask_count, sizeof *r->table.asks);
    phx__mem_fit(r->mem, &r->dirty.at, &r->dirty.capacity, size, sizeof *r->dirty.at);
    phx__mem_fit(r->mem, &r->changed.at, &r->changed.capacity, size, sizeof *r->changed.at);
    phx__mem_fit(r->mem, &r->undelegated.at, &r->undelegated.capacity, r->undelegated.count,
                 sizeof *r->undelegated.at);
    phx__mem_fit(r->mem, &r->out, &r->out_capacity, 0, sizeof *r->out);
    phx__mem_fit(r->mem, &r->rtt.told, &r->rtt.capacity, size, sizeof *r->rtt.told);
}

/* ---- Round trip times ------------------------------------------------------------------------- */

/* Asks links whose turn it is. 1: a round is over. */
PHX__COLD static int advert_ask_times(struct phx__route *r, uint64_t now)
{
    uint32_t all = r->nbr_count, rest = all % PHX__RTT_ROUND;
    uint32_t count = all / PHX__RTT_ROUND + (r->rtt.ticks % PHX__RTT_ROUND < rest);

    for (count = PHX__MIN(count, PHX__RTT_ASKED_MOST); count > 0; count--) {
        r->rtt.turn = r->rtt.turn + 1 < all ? r->rtt.turn + 1 : 0;
        if (!phx__route_rtt_waits(&r->nbrs[r->rtt.turn].rtt, now))
            r->ops.beat(r->ops.ctx, r->nbrs[r->rtt.turn].node, (int)PHX__BEAT_REPLY);
    }
    return ++r->rtt.ticks % PHX__RTT_ROUND == 0;
}

/* Other next hops may be faster now, and neighbours must be told. Choices are told if the table was quiet for
 * a round: all who became quiet with it have told their neighbourhoods by then (advert_is_choice). */
PHX__COLD static void advert_compare_times(struct phx__route *r, uint64_t now)
{
    int quiet = now > phx__route_beat_quiet_at(r) + PHX__RTT_ROUND * PHX__RTT_TICK;

    r->mem->looks += r->table.live_count + r->nbr_count;
    for (uint32_t v = PHX__SELF; (v = r->table.at[v].live) != PHX__SELF;) {
        const struct phx__dest *d = &r->table.at[v];
        phx__route_share(r, v, now);
        if (phx__route_rtt_news(&r->rtt, r->mem, v, phx__route_way(r, d, d->next), quiet ? d->seq : 0))
            (void)phx__route_list(r, &r->dirty, PHX__DEST_DIRTY, v);
    }
    for (uint32_t i = 0; quiet && i < r->nbr_count; i++) {
        if (r->nbrs[i].metric != 1)
            continue;
        r->nbrs[i].metric = 2;
        r->nbrs[i].dirty = PHX__MAX(r->nbrs[i].dirty, 1);
        r->pace.look = 1;
    }
    r->rtt.telling = quiet && (r->dirty.count > 0 || r->pace.look);
}

PHX__COLD void phx__route_advert_times(struct phx__route *r, uint64_t now)
{
    if (!r->rtt.on)
        return;
    if (now >= r->rtt.at) {
        r->rtt.at = now + PHX__RTT_TICK;
        if (advert_ask_times(r, now))
            advert_compare_times(r, now);
    }
    phx__route_plan(r, r->rtt.at);
}

int phx__route_advert_changed(struct phx__route *r, uint32_t *node)
{
    if (r->changed.count == 0)
        return 0;
    *node = r->changed.at[--r->changed.count];
    r->table.at[*node].flags &= (uint8_t)~PHX__DEST_CHANGED;
    return 1;
}
