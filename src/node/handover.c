/* handover.c - giving names away: the giver asks until it sees them taken. */
/*
 *      giver                                       heir
 *        HAND 10..19 ----------------------------->  does the giver hold them? then it assumes them
 *        |  again after 200 ms, 400 ms, ... 2 s        and tells its host (on_handed)
 *        <------------- its card, as to everybody ---
 *        loses them to the higher epoch, as to any other claim, but reports no conflict
 *
 * The giver holds the names until the heir's claim beats its own, so a name always has an owner. Messages
 * that reach the giver later are returned (returns.c). The heir's card is the only answer, and is repeated
 * until all nodes have it. A HAND may be lost, doubled or late. A late one does not mean names that the giver
 * got back later: they are held by a higher epoch than it had seen when its host gave them away (`epoch`).
 *
 * The heir takes only what it knows the named giver to hold, in the life that is named: nothing of a third
 * node. A member that names another as the giver is believed: all are trusted alike (WIRE.md, section 9).
 *
 * If the heir fails or leaves, the giver keeps the names. A giver that leaves releases its other names at
 * once, and waits for the heir as for its own messages, for as long as its drain lasts. */
#include "node/handover.h"

/* The heir's card needs the time of a flood; a node that leaves should not wait long if a relay was lost. */
#define HANDOVER_WAIT_MIN (200 * PHX__MS)
#define HANDOVER_WAIT_MAX (2 * PHX__SECOND)
#define HANDOVER_MAX 1024u /* ranges at once: each costs a frame every 2 s, and a look for each lost name */
#define HANDOVER_STRETCHES 64 /* above 1 only if others took names meanwhile; the next HAND takes the rest */

/* The first item that ends at this name or after it. */
static uint32_t handover_find(const struct phx__node_handover *h, uint64_t name)
{
    return phx__names_index_find(h->at, sizeof *h->at, h->count, name);
}

PHX__COLD int phx__node_handover_next(const struct phx__node_handover *h, const struct phx_id *heir,
                            struct phx_range *rest, struct phx_range *out)
{
    for (uint32_t i = handover_find(h, rest->first); rest->first <= rest->last; i++) {
        int handed = i < h->count && h->at[i].range.first <= rest->last;
        int begins = handed && h->at[i].range.first <= rest->first;
        if (handed && heir != NULL && !phx__id_equal(&h->at[i].heir, heir))
            continue;
        *out = (struct phx_range){ rest->first, handed ? h->at[i].range.first - 1 : rest->last };
        if (!handed || h->at[i].range.last >= rest->last) /* it may be the last name of all */
            *rest = (struct phx_range){ 1, 0 };
        else
            rest->first = h->at[i].range.last + 1;
        if (!begins)
            return 1;
    }
    return 0;
}

/* 1: nothing of this claim is held (assumed again is another claim). What the heir has taken is cut off. */
static int handover_is_over(struct phx__node_handover *h, struct phx__node_handover_item *it, uint64_t now)
{
    struct phx_range held;
    int got = h->ops.held(h->env.ctx, PHX__SELF, &it->range, it->epoch, &held);

    if (got == 1 && held.first > it->range.first) {
        it->range.first = held.first;
        it->wait = HANDOVER_WAIT_MIN; /* the heir listens: ask for the rest at once */
        it->at = now;
        phx__timer_set(h->env.timers, h->timer, now);
    }
    return got == 0;
}

PHX__COLD void phx__node_handover_names(struct phx__node_handover *h, const struct phx_range *names,
                                        uint64_t now)
{
    uint32_t i = handover_find(h, names->first), kept = i;

    for (; i < h->count && h->at[i].range.first <= names->last; i++)
        if (!handover_is_over(h, &h->at[i], now))
            h->at[kept++] = h->at[i];
    if (kept < i)
        memmove(h->at + kept, h->at + i, (h->count - i) * sizeof *h->at);
    h->count -= i - kept;
}

PHX__COLD void phx__node_handover_release(struct phx__node_handover *h)
{
    struct phx_range rest = { 0, UINT64_MAX }, part;

    /* Without memory to split a claim it is kept: the goodbye carries no names anyway. */
    while (phx__node_handover_next(h, NULL, &rest, &part))
        h->ops.release(h->env.ctx, &part);
}

PHX__COLD void phx__node_handover_gone(struct phx__node_handover *h, uint32_t node)
{
    uint32_t i, kept = 0, was = h->count;

    for (i = 0; i < was; i++)
        if (!phx__id_equal(&h->at[i].heir, &h->env.ids->at[node]))
            h->at[kept++] = h->at[i];
    h->count = kept;
    if (h->count < was)
        h->ops.end(h->env.ctx, was - h->count);
}

int phx__node_handover_init(struct phx__node_handover *h, const struct phx__node_env *env,
                            const struct phx__node_handover_ops *ops)
{
    *h = (struct phx__node_handover){ .env = *env, .ops = *ops };
    return phx__timer_new(env->timers, PHX__TIMER_HAND, 0, &h->timer);
}

/* What of this range a node holds by claims up to this epoch, adjacent ones joined: a count or PHX_ENOMEM. */
static int handover_held(struct phx__node_handover *h, uint32_t node, struct phx_range range, uint64_t epoch,
                         struct phx_range *out, int most)
{
    struct phx_range held;
    int got, n = 0;

    while ((got = h->ops.held(h->env.ctx, node, &range, epoch, &held)) == 1) {
        if (n > 0 && out[n - 1].last + 1 == held.first)
            out[n - 1].last = held.last;
        else if (n < most)
            out[n++] = held;
        else
            break;
        if (held.last >= range.last)
            break;
        range.first = held.last + 1;
    }
    return got < 0 ? got : n;
}

/* ---- The giver ------------------------------------------------------------------------------- */

PHX__COLD static void handover_send(struct phx__node_handover *h, const struct phx__hand *hand, int hops)
{
    if (hops > 0)
        (void)h->env.send(h->env.ctx, h->env.way(h->env.ctx, &hand->target), PHX__HAND, 0, hops, hand);
}

PHX__COLD void phx__node_handover_due(struct phx__node_handover *h, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    uint32_t i, kept = 0;

    for (i = 0; i < h->count; i++) {
        struct phx__node_handover_item *it = &h->at[kept];
        *it = h->at[i];
        if (it->at <= now && handover_is_over(h, it, now)) /* there was no memory to look before */
            continue;
        kept++;
        if (it->at <= now) {
            struct phx__hand hand = { it->heir, h->env.ids->at[PHX__SELF], 0, it->range.first, it->range.last,
                                      it->epoch };
            if (h->env.life(h->env.ctx, PHX__SELF, &hand.incarnation, NULL))
                handover_send(h, &hand, h->env.hop_limit);
            it->at = now + it->wait;
            it->wait = 2 * it->wait < HANDOVER_WAIT_MAX ? 2 * it->wait : HANDOVER_WAIT_MAX;
        }
        next = PHX__MIN(it->at, next);
    }
    h->count = kept;
    phx__timer_set(h->env.timers, h->timer, next);
}

PHX__COLD int phx__node_handover_give(struct phx__node_handover *h, struct phx_range range, uint32_t heir,
                            uint64_t epoch, uint64_t now)
{
    uint32_t i = handover_find(h, range.first), end;
    struct phx_range own;
    int err = handover_held(h, PHX__SELF, range, UINT64_MAX, &own, 1);

    if (err < 0)
        return err;
    if (err == 0 || own.first > range.first || own.last < range.last)
        return PHX_ENOTFOUND;
    for (end = i; end < h->count && h->at[end].range.first <= range.last; end++)
        if (!phx__id_equal(&h->at[end].heir, &h->env.ids->at[heir]))
            return PHX_ESTATE;
    if (end > i && h->at[i].range.first <= range.first && range.last <= h->at[i].range.last)
        return 0; /* just this is under way already */
    if (h->count == HANDOVER_MAX)
        return PHX_ELIMIT;
    if (phx__mem_grow(h->env.mem, &h->at, &h->capacity, h->count + 1, sizeof *h->at) != 0)
        return PHX_ENOMEM;
    if (end > i && h->at[i].range.first < range.first)
        h->at[i++].range.last = range.first - 1;
    if (end > i && h->at[end - 1].range.last > range.last)
        h->at[--end].range.first = range.last + 1;
    memmove(h->at + i + 1, h->at + end, (h->count - end) * sizeof *h->at);
    h->at[i] = (struct phx__node_handover_item){ range, h->env.ids->at[heir], epoch, now, HANDOVER_WAIT_MIN };
    h->count += i + 1 - end;
    phx__timer_set(h->env.timers, h->timer, now);
    return 0;
}

/* ---- The heir -------------------------------------------------------------------------------- */

PHX__COLD static void handover_take(struct phx__node_handover *h, const struct phx__hand *hand)
{
    struct phx_range part[HANDOVER_STRETCHES], range = { hand->first, hand->last };
    uint32_t giver = phx__id_find(h->env.ids, &hand->giver);
    uint64_t incarnation;
    int i, n;

    if (giver == PHX__NONE || giver == PHX__SELF
        || !h->env.life(h->env.ctx, giver, &incarnation, NULL) || incarnation != hand->incarnation)
        return;
    n = handover_held(h, giver, range, hand->epoch, part, HANDOVER_STRETCHES);
    for (i = 0; i < n && h->ops.take(h->env.ctx, &part[i], &hand->giver); i++)
        continue;
}

PHX__COLD int phx__node_handover_on_hand(struct phx__node_handover *h, const struct phx__frame *f)
{
    struct phx__hand hand;

    if (phx__wire_link_get(f, PHX__HAND, &hand) != 0)
        return PHX_EPROTO;
    if (phx__id_equal(&hand.target, &h->env.ids->at[PHX__SELF]))
        handover_take(h, &hand);
    else if (h->env.relay)
        handover_send(h, &hand, f->hops - 1);
    return 0;
}
