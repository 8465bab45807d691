/* handover.c - the node's part in giving names away: the giver asks until it sees them taken. */
/*
 *      giver                                       heir
 *        holds 10..19
 *        HAND 10..19 ----------------------------->  does the giver hold them? then assumes them,
 *        |  again after 200 ms, 400 ms, ... 2 s        and tells its host (on_handed)
 *        <------------- its card, as to everybody ---
 *        loses them to the higher epoch, as to any
 *        other claim, but says nothing of a conflict
 *
 * The giver holds the names until the heir's claim has beaten its own, so at no moment has a name no
 * owner: whoever knows of the heir's claim sends there, and whoever does not sends to the giver, which
 * delivers what comes while it holds the name and turns back what comes after that (returns.c). Nothing
 * is answered: the heir's card is the answer, it goes to all, and it is repeated until it is known. HAND
 * may be lost, doubled or late.
 *
 * Late is what `epoch` is for: it is the highest that the giver had seen when its host gave the names away.
 * Names that it got back later it holds by a higher one, and an old HAND does not mean them.
 *
 * Who is believed. The heir takes only what the named giver holds at present, by what the heir itself
 * knows, in the life that is named. So a node that gives away what is not its own gives nothing, and no
 * HAND takes names from a third node that nobody named. It is no proof: a member that writes another's
 * id as the giver is believed, as it is when it writes that id into a card. All who have the key are
 * trusted alike (WIRE.md, section 9).
 *
 * An heir that fails or leaves ends it, and the giver goes on as if nothing had been. A giver that leaves
 * releases the rest at once, keeps what is being handed for as long as its drain lasts, and waits for
 * the heir as it waits for its own messages.
 */
#include "node/state.h"

/* Bytes of a HAND frame, header included, at most. */
#define HANDOVER_FRAME 96u
/* It is not added to a queue of this many bytes: it comes again. */
#define HANDOVER_QUEUE 262144u
/* The heir's card takes a flood to come: shorter would ask twice where that is slow. Longer than the
 * other bound would keep a leaving node waiting after a relay was lost. */
#define HANDOVER_WAIT_MIN (200 * PHX__MS)
#define HANDOVER_WAIT_MAX (2 * PHX__SECOND)
/* Under way at once. Each is a frame every 2 s at least, and all are searched for each name that is lost. */
#define HANDOVER_MAX 1024u
/* Ranges are handed that have no holes, so more than one stretch is rare: what somebody else has
 * taken meanwhile. What is beyond comes with the next HAND. */
#define HANDOVER_STRETCHES 64u

/* ---- What is under way ----------------------------------------------------------------------- */

/* What range begins with: 1 if that is being handed to this heir (NULL: any), or 0. *out: how far that is
 * true, to the end of the range at most. */
static int handover_stretch(const phx *p, const struct phx_id *heir, const struct phx_range *range,
                        struct phx_range *out)
{
    uint32_t i;

    *out = *range;
    for (i = 0; i < p->hand_count; i++) {
        const struct phx__handover *h = &p->hands[i];
        if (heir != NULL && !phx__id_equal(&h->heir, heir))
            continue;
        if (h->range.first <= range->first && range->first <= h->range.last) {
            out->last = h->range.last < range->last ? h->range.last : range->last;
            return 1;
        }
        if (h->range.first > range->first && h->range.first <= out->last)
            out->last = h->range.first - 1;
    }
    return 0;
}

int phx__node_handover_next(const phx *p, const struct phx_id *heir, struct phx_range *rest,
                   struct phx_range *out)
{
    while (rest->first <= rest->last) {
        int handed = handover_stretch(p, heir, rest, out);
        if (out->last == rest->last) { /* it may be the last name of all: nothing is left */
            rest->first = 1;
            rest->last = 0;
        } else {
            rest->first = out->last + 1;
        }
        if (!handed)
            return 1;
    }
    return 0;
}

static void handover_drop(phx *p, uint32_t i)
{
    p->hand_count--;
    memmove(p->hands + i, p->hands + i + 1, (p->hand_count - i) * sizeof *p->hands);
}

/* Is nothing of it ours any more? What was released and assumed again is another claim. Of what was taken
 * from its beginning it speaks no more. */
static int handover_is_over(phx *p, struct phx__handover *h)
{
    struct phx_range held;
    int got = phx__names_held(&p->names, PHX__SELF, &h->range, h->epoch, &held);

    if (got == 1 && held.first > h->range.first) {
        h->range.first = held.first;
        h->wait = HANDOVER_WAIT_MIN; /* the heir listens: the rest at once */
        h->at = p->now;
        phx__timer_set(&p->timers, p->hand_timer, p->now);
    }
    return got == 0;
}

void phx__node_handover_names(phx *p)
{
    uint32_t i;

    for (i = p->hand_count; i > 0; i--)
        if (handover_is_over(p, &p->hands[i - 1]))
            handover_drop(p, i - 1);
}

void phx__node_handover_release(phx *p)
{
    struct phx_range rest = { 0, UINT64_MAX }, part;

    /* Without memory to split a claim it is kept: the goodbye carries no names anyway. */
    while (phx__node_handover_next(p, NULL, &rest, &part))
        (void)phx_release(p, part.first, part.last);
}

void phx__node_handover_gone(phx *p, uint32_t node)
{
    uint32_t i, was = p->hand_count;

    for (i = p->hand_count; i > 0; i--)
        if (phx__id_equal(&p->hands[i - 1].heir, &p->ids.at[node]))
            handover_drop(p, i - 1);
    if (p->hand_count < was)
        phx__node_log(p, PHX_LOG_WARN, "no heir: %u ranges of names are handed no more",
                      (uint64_t)(was - p->hand_count));
    if (p->hand_count < was && p->leave.closing) {
        phx__node_handover_release(p);
        p->step.more = 1; /* leaving may have waited for just this */
    }
}

void phx__node_handover_end(phx *p)
{
    p->hand_count = 0;
    phx__node_handover_release(p);
}

void phx__node_handover_free(phx *p)
{
    phx__mem_put(&p->mem, p->hands, p->hand_capacity * sizeof *p->hands);
}

/* ---- The giver ------------------------------------------------------------------------------- */

static void handover_send(phx *p, const struct phx__hand *h, int hops)
{
    uint32_t node = phx__id_find(&p->ids, &h->target);
    uint32_t next = node == PHX__NONE ? PHX__NONE : phx__route_next(&p->route, node);
    struct phx__link *l = next == PHX__NONE ? NULL : phx__node_link(p, next);
    struct phx__writer w;

    if (l == NULL || hops < 1 || phx__link_queued(l) >= HANDOVER_QUEUE
        || phx__link_control(&p->set, l, HANDOVER_FRAME, &w) != 0)
        return;
    phx__wire_put_hand(&w, h, hops);
    if (phx__link_control_end(&p->set, l, &w) != 0)
        phx__node_break(p, l);
}

static void handover_ask(phx *p, const struct phx__handover *h)
{
    struct phx__hand out;

    out.target = h->heir;
    out.giver = p->self;
    out.incarnation = phx__route_dest(&p->route, PHX__SELF)->incarnation;
    out.first = h->range.first;
    out.last = h->range.last;
    out.epoch = h->epoch;
    handover_send(p, &out, (int)p->cfg.hop_limit);
}

void phx__node_handover_due(phx *p)
{
    uint64_t next = UINT64_MAX;
    uint32_t i;

    phx__node_handover_names(p); /* there may have been no memory to look before */
    for (i = 0; i < p->hand_count; i++) {
        struct phx__handover *h = &p->hands[i];
        if (h->at <= p->now) {
            handover_ask(p, h);
            h->at = p->now + h->wait;
            h->wait = 2 * h->wait < HANDOVER_WAIT_MAX ? 2 * h->wait : HANDOVER_WAIT_MAX;
        }
        if (h->at < next)
            next = h->at;
    }
    phx__timer_set(&p->timers, p->hand_timer, next);
}

/* Can this node take names, as far as is known here? */
static int handover_may_inherit(const phx *p, uint32_t node)
{
    enum phx_state state;

    if (node == PHX__NONE || phx__route_dest(&p->route, node) == NULL)
        return 0;
    state = phx__detect_state(&p->detect, node, NULL);
    return state != PHX_NODE_FAILED && state != PHX_NODE_LEFT;
}

/* 0 if this node holds all of the range. */
static int handover_check_held(phx *p, struct phx_range range)
{
    struct phx_range held;
    int got;

    for (;;) {
        got = phx__names_held(&p->names, PHX__SELF, &range, UINT64_MAX, &held);
        if (got < 0)
            return got;
        if (got == 0 || held.first > range.first)
            return PHX_ENOTFOUND;
        if (held.last >= range.last)
            return 0;
        range.first = held.last + 1;
    }
}

/* 0, 1 if just this is under way already, or PHX_ESTATE: some of it goes to somebody else. */
static int handover_check_others(const phx *p, const struct phx_range *range, const struct phx_id *heir)
{
    uint32_t i;
    int same = 0;

    for (i = 0; i < p->hand_count; i++) {
        const struct phx__handover *h = &p->hands[i];
        if (h->range.first > range->last || range->first > h->range.last)
            continue;
        if (!phx__id_equal(&h->heir, heir))
            return PHX_ESTATE;
        same |= h->range.first <= range->first && range->last <= h->range.last;
    }
    return same;
}

int phx_hand(phx *p, uint64_t first, uint64_t last, const struct phx_id *heir)
{
    struct phx_range range = { first, last };
    struct phx__handover *h;
    uint32_t node;
    int err;

    if (p == NULL || heir == NULL)
        return PHX_EINVAL;
    if (first > last)
        return PHX_ERANGE;
    if (p->leave.closing)
        return PHX_ECLOSED;
    node = phx__id_find(&p->ids, heir);
    if (node == PHX__SELF)
        return PHX_EINVAL;
    if (!handover_may_inherit(p, node))
        return PHX_ENOTFOUND;
    if ((err = handover_check_held(p, range)) != 0)
        return err;
    if ((err = handover_check_others(p, &range, heir)) != 0)
        return err > 0 ? 0 : err;
    if (p->hand_count == HANDOVER_MAX)
        return PHX_ELIMIT;
    if (phx__mem_grow(&p->mem, &p->hands, &p->hand_capacity, p->hand_count + 1, sizeof *h) != 0)
        return PHX_ENOMEM;
    h = &p->hands[p->hand_count++];
    h->range = range;
    h->heir = p->ids.at[node];
    h->epoch = p->names.epoch_max;
    h->at = p->now;
    h->wait = HANDOVER_WAIT_MIN;
    phx__timer_set(&p->timers, p->hand_timer, p->now);
    return 0;
}

/* ---- The heir -------------------------------------------------------------------------------- */

/* What of it the giver holds, as this node knows: how many stretches, neighbours joined. */
static uint32_t handover_offered(phx *p, uint32_t giver, const struct phx__hand *h,
                             struct phx_range *out)
{
    struct phx_range rest, held;
    uint32_t n = 0;

    rest.first = h->first;
    rest.last = h->last;
    while (phx__names_held(&p->names, giver, &rest, h->epoch, &held) == 1) {
        if (n > 0 && out[n - 1].last + 1 == held.first)
            out[n - 1].last = held.last;
        else if (n < HANDOVER_STRETCHES)
            out[n++] = held;
        else
            break;
        if (held.last >= rest.last)
            break;
        rest.first = held.last + 1;
    }
    return n;
}

static void handover_take(phx *p, const struct phx__hand *h)
{
    struct phx_range part[HANDOVER_STRETCHES];
    uint32_t i, n, giver = phx__id_find(&p->ids, &h->giver);
    const struct phx__dest *d = giver == PHX__NONE ? NULL : phx__route_dest(&p->route, giver);
    char id[PHX_ID_TEXT];

    if (d == NULL || giver == PHX__SELF || d->incarnation != h->incarnation)
        return;
    n = handover_offered(p, giver, h, part);
    /* The host may change its mind, or close or free the node, in each call. */
    for (i = 0; i < n && !p->leave.closing && !p->step.free_later; i++) {
        int changed = phx__names_assume(&p->names, part[i].first, part[i].last);
        phx__node_log(p, changed > 0 ? PHX_LOG_INFO : PHX_LOG_WARN, "names %u to %u of %s: %s",
                      part[i].first, part[i].last, phx_id_text(&h->giver, id),
                      changed > 0 ? "handed to this node" : phx_strerror(changed));
        if (changed <= 0)
            continue; /* the giver holds them, and asks again */
        p->news.card_stale = 1;
        if (p->cfg.on_handed != NULL)
            p->cfg.on_handed(p, part[i], &h->giver, p->cfg.user);
    }
}

int phx__node_handover_on_hand(phx *p, const struct phx__frame *f)
{
    struct phx__hand h;

    if (phx__wire_get_hand(f, &h) != 0)
        return PHX_EPROTO;
    if (phx__id_equal(&h.target, p->set.self))
        handover_take(p, &h);
    else if (p->cfg.relay)
        handover_send(p, &h, f->hops - 1);
    return 0;
}

#undef HANDOVER_FRAME
#undef HANDOVER_QUEUE
#undef HANDOVER_WAIT_MIN
#undef HANDOVER_WAIT_MAX
#undef HANDOVER_MAX
#undef HANDOVER_STRETCHES
