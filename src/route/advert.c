/* advert.c - the routing's third part: which neighbour must be told what, and when. */
/*
 * The argument is in the essay of route.c, point 2: who need not be told is known without sets on the
 * wire. This file is that rule (advert_covered), the entries that follow from it (advert_needs), and the
 * pace at which they leave (phx__route_advert_flush).
 *
 * In a crowd that starts, the rule would be asked a thousand times for each link that comes up, and nearly
 * all answers are the same: the hub tells. So one neighbour, the next hop for most destinations, is the
 * *delegate*. A destination is delegated if the delegate advertises it at least as well as we do. Neighbours
 * adjacent to the delegate, by its own word, need no updates about delegated destinations: that is the case
 * of advert_covered in which w is the delegate. The others are few: destinations that are not delegated
 * stand in a list, and those that have changed and are not delegated stand in front of all that have changed.
 * Whether a destination is delegated changes only with the destination, so it is enough to look at those
 * that have changed. After a loss, and where a neighbour was told something that may have to be corrected,
 * all destinations are looked at as if there were no delegate.
 */
#include "route/route.h"

/* Isolated changes are told at once. In a burst the wait before the next message doubles from 1 ms up to
 * the 20 ms of the paper's merging, but less where few are known, since then there is little to merge and a
 * start is over in 20 ms; after a pause of twice the wait it starts over. */
#define ADVERT_GAP_MIN (1 * PHX__MS)
#define ADVERT_GAP_MAX (20 * PHX__MS)
#define ADVERT_GAP_EACH UINT64_C(50) /* microseconds */

static struct phx__dest *advert_at(const struct phx__route *r, uint32_t node)
{
    return &r->table.at[node];
}

/* Does j's hash say that it is next to every neighbour of ours but perhaps one? *but: that one. */
static int advert_surrounds(const struct phx__route *r, const struct phx__route_nbr *j,
                           uint32_t *but)
{
    uint64_t differs = j->neighbourhood ^ r->neighbourhood;

    *but = PHX__NONE;
    if (j->neighbourhood == 0)
        return 0;
    if (differs == 0)
        return 1;
    *but = phx__id_find_hash(r->ids, differs);
    return *but != PHX__NONE;
}

/* Is w known to be next to neighbour j? 2: by its own word, so it has decided what to tell j of all that
 * it had told us before. 1: by j's word or a hash, which say nothing of what w has done. */
static int advert_adjacent(const struct phx__route *r, uint32_t w, const struct phx__route_nbr *j)
{
    const struct phx__route_nbr *nw = phx__route_nbr(r, w);
    const struct phx__offer *h = phx__route_table_offer(advert_at(r, j->node), w);
    uint32_t but;

    if (h != NULL && h->hops == 1)
        return 2;
    h = phx__route_table_offer(advert_at(r, w), j->node);
    if (h != NULL && h->hops == 1)
        return 1;
    if (advert_surrounds(r, j, &but) && but != w)
        return 1;
    return nw != NULL && advert_surrounds(r, nw, &but) && but != j->node;
}

int phx__route_advert_is_next_to(const struct phx__route *r, uint32_t nbr, uint32_t node)
{
    const struct phx__route_nbr *j = phx__route_nbr(r, nbr);

    return j != NULL && advert_adjacent(r, node, j) > 0;
}

/* Will j hear of the route to v as good as ours, or better, without us? The rules are in the essay. */
static int advert_covered(const struct phx__route *r, uint32_t v, const struct phx__route_nbr *j,
                         int strict)
{
    const struct phx__dest *d = advert_at(r, v);
    const struct phx__offer *h = phx__route_table_offer(d, j->node);
    uint32_t i, but;

    if (h != NULL && (h->hops == 1 || (h->seq >= d->seq && h->hops <= d->hops + 1)))
        return 1;
    h = phx__route_table_offer(advert_at(r, j->node), v); /* v says that j is next to it */
    if (h != NULL && h->hops == 1 && d->hops == 1)
        return 1;
    if (d->hops == 1 && advert_surrounds(r, j, &but) && but != v)
        return 1;
    for (i = 0; i < d->offer_count; i++) {
        h = &phx__route_table_offers(d)[i];
        if (h->nbr == j->node || h->seq < d->seq || h->hops > d->hops)
            continue;
        if (advert_adjacent(r, h->nbr, j) > (h->hops < d->hops ? 0 : strict ? 2 : 1))
            return 1;
    }
    return 0;
}

/* Must neighbour j be told of v now? */
static int advert_needs(const struct phx__route *r, uint32_t v, const struct phx__route_nbr *j)
{
    const struct phx__dest *d = advert_at(r, v);
    const struct phx__advertised *t = phx__route_table_advertised(d, j->node);

    if (PHX__ROUTE_RULES(r)) /* there an owner must hear of its retraction, to answer it */
        return (v == PHX__SELF || r->relay) && (v != j->node || d->hops == PHX__UNREACHABLE)
               && PHX__ROUTE_RULE(r, needs(r, d, j->node));
    if (v == j->node)
        return t != NULL && t->asked; /* it asked what we know of it: it began a new life too low */
    if (v != PHX__SELF && !r->relay)
        return 0;
    if (t != NULL && t->asked && d->hops != PHX__UNREACHABLE && d->seq >= t->want
        && d->next != j->node)
        return 1;
    if (t != NULL && t->hops != PHX__UNREACHABLE) {
        if (d->hops > t->hops)
            return 1; /* worse than it believes: always told */
        if (d->hops == t->hops && d->seq == t->seq)
            return v == PHX__SELF && t->card < d->card_version;
    } else if (d->hops == PHX__UNREACHABLE) {
        return 0;
    }
    if (v == PHX__SELF)
        return 1;
    /* A neighbour whose card has not come yet: nobody could find it by what we could tell. */
    if (d->next == j->node || d->card_version == 0)
        return 0;
    return !advert_covered(r, v, j, (d->flags & PHX__DEST_LOSS) || j->dirty > 1);
}

static void advert_lower_feasible(struct phx__dest *d)
{
    if (d->hops == PHX__UNREACHABLE)
        return;
    if (d->feasible_hops == PHX__UNREACHABLE || d->seq > d->feasible_seq
        || (d->seq == d->feasible_seq && d->hops < d->feasible_hops)) {
        d->feasible_seq = d->seq;
        d->feasible_hops = d->hops;
    }
}

/* Puts v's entry for j into out[count]: 0 or PHX_ENOMEM, and then nothing was promised. */
static int advert_tell(struct phx__route *r, uint32_t v, uint32_t j, uint32_t count)
{
    struct phx__dest *d = advert_at(r, v);
    const struct phx__advertised *t = phx__route_table_advertised(d, j);
    const struct phx__advertised word = { d->seq, d->card_version, 0, d->hops, 0 };
    int with_card = t == NULL ? d->card_version > 0 : d->card_version > t->card || t->asked;
    struct phx__entry *e;

    if (phx__mem_grow(r->mem, &r->out, &r->out_capacity, count + 1, sizeof *r->out)
        || phx__route_table_advertise(&r->table, d, j, &word) != 0)
        return PHX_ENOMEM;
    e = &r->out[count];
    memset(e, 0, sizeof *e);
    e->id = r->ids->at[v];
    e->incarnation = d->incarnation;
    e->seq = d->seq;
    e->hops = d->hops;
    e->card_version = d->card_version;
    if (with_card && d->card != NULL) {
        e->card = d->card->at;
        e->card_size = d->card->size;
    }
    advert_lower_feasible(d);
    return 0;
}

/* ---- The delegate ---------------------------------------------------------------------------- */

/* With fewer nodes known a delegate saves nothing. */
#define ADVERT_DELEGATED 16u

static int advert_is_adjacent_to_delegate(const struct phx__route *r, uint32_t nbr)
{
    const struct phx__offer *h = phx__route_table_offer(advert_at(r, nbr), r->delegate);

    return nbr == r->delegate || (h != NULL && h->hops == 1);
}

static void advert_list_undelegated(struct phx__route *r, uint32_t v)
{
    struct phx__dest *d = advert_at(r, v);

    if (d->flags & PHX__DEST_UNDELEGATED)
        return;
    if (phx__mem_grow(r->mem, &r->undelegated.at, &r->undelegated.capacity, r->undelegated.count + 1,
                      sizeof *r->undelegated.at) != 0) {
        r->delegate = PHX__NONE; /* without the list there is no delegate, and all is looked at */
        return;
    }
    d->flags |= PHX__DEST_UNDELEGATED;
    r->undelegated.at[r->undelegated.count++] = v;
}

/* Notes whether v is delegated, and whether it is a neighbour adjacent to the delegate. */
static void advert_mark(struct phx__route *r, uint32_t v)
{
    struct phx__dest *d = advert_at(r, v);
    const struct phx__offer *h = phx__route_table_offer(d, r->delegate);

    d->flags &= (uint8_t)~PHX__DEST_DELEGATED;
    if (h != NULL && h->hops <= d->hops && h->seq >= d->seq)
        d->flags |= PHX__DEST_DELEGATED;
    else
        advert_list_undelegated(r, v);
    if (d->pos != PHX__TABLE_FAR)
        r->nbrs[d->pos].adjacent_to_delegate = (uint8_t)advert_is_adjacent_to_delegate(r, v);
}

/* Chooses the neighbour that leads to most others. What was noted for the former delegate is forgotten. */
static void advert_choose_delegate(struct phx__route *r)
{
    uint32_t v, most = 0;

    r->delegate = PHX__NONE;
    r->delegate_known = r->known;
    r->undelegated.count = 0;
    for (v = 0; v < r->nbr_count; v++)
        r->nbrs[v].leads_to = 0;
    for (v = 0; v < r->table.capacity; v++) {
        struct phx__dest *d = advert_at(r, v);
        struct phx__route_nbr *n = d->next == v ? NULL : phx__route_nbr(r, d->next);
        d->flags &= (uint8_t) ~(PHX__DEST_DELEGATED | PHX__DEST_UNDELEGATED);
        if (n != NULL && ++n->leads_to > most) {
            most = n->leads_to;
            r->delegate = n->node;
        }
    }
    for (v = 0; v < r->table.capacity && r->delegate != PHX__NONE; v++)
        if (advert_at(r, v)->flags & PHX__DEST_KNOWN)
            advert_mark(r, v);
}

/* Destinations that are delegated by now leave the list. So do forgotten ones: they have lost the flag, or stand
 * in the list a second time. */
static void advert_sort_undelegated(struct phx__route *r)
{
    uint32_t i, kept = 0;

    for (i = 0; i < r->undelegated.count; i++) {
        struct phx__dest *d = advert_at(r, r->undelegated.at[i]);
        if ((d->flags & PHX__DEST_UNDELEGATED) && !(d->flags & PHX__DEST_DELEGATED))
            r->undelegated.at[kept++] = r->undelegated.at[i];
        d->flags &= (uint8_t)~PHX__DEST_UNDELEGATED;
    }
    for (i = 0; i < kept; i++)
        advert_at(r, r->undelegated.at[i])->flags |= PHX__DEST_UNDELEGATED;
    r->undelegated.count = kept;
}

/* Takes note of what has changed. Destinations about which every neighbour must be asked come first in the
 * list of dirty ones: how many. */
static uint32_t advert_sort_out(struct phx__route *r)
{
    uint32_t i, count = 0;

    if (r->known >= ADVERT_DELEGATED && !PHX__ROUTE_RULES(r) && r->known > 2 * r->delegate_known)
        advert_choose_delegate(r);
    for (i = 0; i < r->dirty.count && r->delegate != PHX__NONE; i++)
        advert_mark(r, r->dirty.at[i]);
    if (r->delegate == PHX__NONE)
        return r->dirty.count;
    for (i = 0; i < r->dirty.count; i++) {
        uint32_t v = r->dirty.at[i];
        const struct phx__dest *d = advert_at(r, v);
        if ((d->flags & PHX__DEST_DELEGATED) && !(d->flags & PHX__DEST_LOSS) && d->advertised == NULL)
            continue;
        r->dirty.at[i] = r->dirty.at[count];
        r->dirty.at[count++] = v;
    }
    advert_sort_undelegated(r);
    return count;
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* Which destinations to look at for one neighbour: two lists; NULL instead of the first: all. */
struct advert_view {
    const uint32_t *at[2];
    uint32_t count[2];
};

static void advert_look_for(const struct phx__route *r, struct phx__route_nbr *n, uint32_t urgent,
                           struct advert_view *out)
{
    int delegated = r->delegate != PHX__NONE && n->dirty < 2 && !n->relinked;

    if (n->dirty && delegated)
        n->adjacent_to_delegate = (uint8_t)advert_is_adjacent_to_delegate(r, n->node);
    delegated = delegated && n->adjacent_to_delegate;
    out->at[0] = r->dirty.at;
    out->count[0] = delegated ? urgent : r->dirty.count;
    out->at[1] = r->undelegated.at;
    out->count[1] = n->dirty && delegated ? r->undelegated.count : 0;
    if (n->dirty && !delegated) {
        out->at[0] = NULL;
        out->count[0] = r->table.capacity;
    }
}

/* All that neighbour n needs to be told. */
static void advert_tell_nbr(struct phx__route *r, struct phx__route_nbr *n, uint32_t urgent)
{
    struct advert_view look;
    int failed = 0, k;
    uint32_t i, count = 0;

    advert_look_for(r, n, urgent, &look);
    for (k = 0; k < 2; k++) {
        for (i = 0; i < look.count[k]; i++) {
            uint32_t v = look.at[k] == NULL ? i : look.at[k][i];
            if (!(advert_at(r, v)->flags & PHX__DEST_KNOWN) || !advert_needs(r, v, n))
                continue;
            if (advert_tell(r, v, n->node, count) == 0)
                count++;
            else
                failed = 1;
        }
    }
    n->dirty = failed ? 2 : 0;
    n->relinked = 0;
    if (count == 0)
        return;
    if (PHX__ROUTE_RULES(r))
        (void)PHX__ROUTE_RULE(r, leaves(r, n->node, count));
    r->counters.updates_out++;
    r->counters.entries_out += count;
    r->ops.update(r->ops.ctx, n->node, r->out, count);
}

/* From here on everybody who relied on our links with these nodes knows that the links are gone. What could
 * not be taken out for lack of memory is taken out when there is a link again. */
static void advert_drop_lapsed(struct phx__route *r)
{
    uint32_t node, v;

    for (node = 1; r->lapsed > 0 && node < r->table.capacity; node++) {
        if (!(advert_at(r, node)->flags & PHX__DEST_LAPSED))
            continue;
        for (v = 0; v < r->table.capacity; v++)
            r->leftover |= phx__route_table_advertise(&r->table, advert_at(r, v), node, NULL) != 0;
        advert_at(r, node)->flags &= (uint8_t)~PHX__DEST_LAPSED;
        r->lapsed--;
    }
}

static void advert_tell_all(struct phx__route *r)
{
    uint32_t i, urgent = advert_sort_out(r);

    r->pace.look = r->pace.urgent = 0;
    for (i = 0; i < r->nbr_count; i++) {
        advert_tell_nbr(r, &r->nbrs[i], urgent);
        r->pace.look |= r->nbrs[i].dirty != 0;
    }
    if (r->pace.look) /* no memory for some of it: again, soon */
        phx__timer_set(r->timers, r->pace.tell_timer, r->pace.told_at + ADVERT_GAP_MAX);
    for (i = 0; i < r->dirty.count; i++)
        advert_at(r, r->dirty.at[i])->flags &= (uint8_t) ~(PHX__DEST_DIRTY | PHX__DEST_LOSS);
    r->dirty.count = 0;
    advert_drop_lapsed(r);
}

/* Neighbours that rely on our neighbourhood must know when it shrinks. That it grew can wait for quiet. */
static void advert_beat_shrunk(struct phx__route *r)
{
    uint32_t i;

    if (!r->pace.shrunk)
        return;
    r->pace.shrunk = 0;
    for (i = 0; i < r->nbr_count; i++)
        if (r->nbrs[i].neighbourhood_told != 0 && r->nbrs[i].neighbourhood_told != r->neighbourhood)
            r->ops.beat(r->ops.ctx, r->nbrs[i].node, PHX__BEAT_SHRUNK);
}

static uint64_t advert_next_gap(const struct phx__route *r)
{
    uint64_t most = ADVERT_GAP_MIN + r->known * ADVERT_GAP_EACH, gap = r->pace.gap * 2;

    if (most > ADVERT_GAP_MAX)
        most = ADVERT_GAP_MAX;
    return gap < ADVERT_GAP_MIN ? ADVERT_GAP_MIN : gap < most ? gap : most;
}

void phx__route_advert_flush(struct phx__route *r, uint64_t now)
{
    if (r->dirty.count == 0 && !r->pace.look && !r->pace.shrunk)
        return;
    if (now > r->pace.told_at + 2 * r->pace.gap)
        r->pace.gap = 0;
    if (!r->pace.urgent && now < r->pace.told_at + r->pace.gap) {
        phx__timer_set(r->timers, r->pace.tell_timer, r->pace.told_at + r->pace.gap);
        return;
    }
    phx__timer_stop(r->timers, r->pace.tell_timer);
    r->pace.gap = advert_next_gap(r);
    r->pace.told_at = now;
    advert_tell_all(r);
    advert_beat_shrunk(r);
    if (r->nbr_count > 0) {
        r->pace.quiet_due = 1;
        phx__route_plan(r, phx__route_quiet_at(r));
    }
}

void phx__route_advert_due(struct phx__route *r, int kind, uint64_t now, uint32_t *forgotten)
{
    *forgotten = PHX__NONE;
    if (kind == PHX__TIMER_ROUTE_TELL)
        phx__route_advert_flush(r, now);
    else
        phx__route_chores(r, now, forgotten);
}
