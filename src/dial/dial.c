/* dial.c - who exists and how to reach them: hubs, learnt contacts, whom to dial next and when. */

/* A *target* is something to be dialled: a hub, which is a place and whoever answers there is
 * right, or a node whose addresses its card told us. A target lives in rounds:
 *
 *             due              an attempt leads to a link, or the node dials us
 *      rest ------> round -------------------------------------------------> linked
 *        ^            | all addresses failed                                   | down
 *        |            v                                                        |
 *        +------- back-off <---------------------------------------------------+
 *
 * Within a round addresses race (RFC 8305): one after the other, 250 ms apart or as soon as one
 * fails, families in turn, and the first link wins and ends the rest. Between rounds the wait is
 * random up to a bound that doubles ("full jitter"), so that a thousand nodes which lost the
 * same hub at the same moment do not come back at the same moment. Nothing is ever given up: a
 * dead node is still dialled, rarely and for ever, which is how partitions heal without
 * anybody's help.
 *
 * Due targets stand in one queue, and only phx__dial_due, which serves it, dials. Everything
 * else in here merely moves timers. So the order of dials is the order in which they came due;
 * max_dials holds at every instant; and no call of the host, however timed, recurses through the
 * transport. An attempt that ends while somebody waits sets off the timer of the first in the
 * queue.
 *
 * Of two nodes that both listen only one should dial, or half of all links are made to be torn
 * down again. Both compute the same winner from the two ids; the other one waits a second
 * and then dials too, for it may be the only one that can (the peer behind a NAT, or not told of
 * us yet). Nobody is favoured: the hash of the pair says whether the smaller or the larger id
 * goes first.
 *
 * Of the dials under way those that get no answer give way when others wait (slot.c). Who can be
 * reached only through others is dialled at least once a minute, and at once when its card has new
 * addresses, when somebody first sends to it, when it comes back, and when this node has moved.
 *
 * One address is never dialled twice at once, also not for different targets: a hub and its node
 * share theirs, and a liar who announces a thousand nodes at a victim's address gets one dial at
 * a time. How many it gets in the long run says ratelimit.c.
 *
 * The bound. While no more than max_links nodes are known, all of them are dialled and the mesh
 * is full. Beyond that: hubs, nodes that somebody wants to send to, and PHX__DISC_BEST nodes
 * picked by each node for itself (pick.c). The graph of picks is a random one: with 8 out of each it is
 * connected but for a chance too small to see. A node that has max_links links dials only hubs it lacks.
 *
 * A refusal is the word of nobody in particular: it says why, but not who. Only the ANSWER proves
 * that, and so only phx__dial_meet ends a round early or gives an address up. And nothing is given
 * up for good: an address that seems to be this node itself rests for ten times retry_max (a
 * stranger may have said so, or the address has moved), and so does a node at all of whose
 * addresses others have proved to live, which is what remains of every life of a process that is
 * started again at its port.
 *
 * This room does not know what an attempt is made of, whether the peer is who it says (link
 * proves that), or who is alive (live knows). It differs from the paper (section 4.1, step 1),
 * which dials every address it hears of at once and once. */
#include "dial/start.h"
#include "dial/target.h"

/* RFC 8305, section 8: the recommended delay between attempts, longer than nearly all round
 * trips. */
#define DIAL_STAGGER_US (250 * PHX__MS)
/* The other side's start: a dial and handshake over a slow path, or two, or on a host under load,
 * where an earlier dial would only make duplicates. The jitter keeps a node that learns of a
 * thousand others at once from dialling them all at once. */
#define DIAL_COURTESY_US PHX__SECOND
#define DIAL_COURTESY_JITTER_US (250 * PHX__MS)
/* A card with new addresses reaches everybody within milliseconds; its owner should not be hit
 * by all of them in the same one. */
#define DIAL_FRESH_JITTER_US (20 * PHX__MS)
/* "We have a link already": then it shows up here in far less than this. */
#define DIAL_DUPLICATE_US PHX__SECOND
/* A link that lasted less than this has not proved that the next one will last. */
#define DIAL_STEADY_US PHX__SECOND
/* Who can be reached through others may be behind a wall that comes down, and a direct way is worth a
 * dial now and then: once a minute at the latest. */
#define DIAL_RELAYED_US (60 * PHX__SECOND)
/* This node has moved to another network: whatever failed may work. Not all in the same moment. */
#define DIAL_MOVED_JITTER_US PHX__SECOND
/* Places remembered for their budgets, 24 bytes each. */
#define DIAL_PLACES 512u

/* How bad a round ended, in ascending order of what decides about the wait. */
enum dial_verdict {
    DISC_FAILED,
    DISC_BARRED,   /* a key, cluster or version does not fit; that will not change within seconds */
    DISC_DUPLICATE /* not a failure */
};

/* What a change made possible; see dial_bounds. */
enum dial_bound { DISC_FULL = 1, DISC_SPARSE = 2 };

/* ---- Small questions */

static void dial_clock(struct phx__dial *d, uint64_t now)
{
    if (now > d->now)
        d->now = now;
}

/* Uniform in low..high. */
static uint64_t dial_between(struct phx__dial *d, uint64_t low, uint64_t high)
{
    return phx__dial_backoff_between(d->rnd, low, high);
}

/* Of links only how long they lasted matters. Ticks come round after 50 days; one that lasted just that long
 * and a second is taken for a short one, and its next dial waits for a moment. */
static uint32_t dial_tick(uint64_t us)
{
    return (uint32_t)(us >> 10);
}

static struct phx__dial_node *dial_node(const struct phx__dial *d, uint32_t node)
{
    return node < d->node_capacity ? &d->nodes[node] : NULL;
}

static int dial_is_linked(const struct phx__dial *d, uint32_t node)
{
    return node < d->node_capacity && d->nodes[node].linked;
}

static int dial_is_known(const struct phx__dial *d, uint32_t node)
{
    return node < d->node_capacity && d->nodes[node].target != 0;
}

static int dial_may_dial(const struct phx__dial *d, const struct phx__dial_target *t)
{
    if (d->stopped || dial_is_linked(d, t->node))
        return 0;
    if (t->hub)
        return 1;
    if (d->links >= d->limits.max_links)
        return 0;
    return d->known <= d->limits.max_links || d->nodes[t->node].wanted || phx__dial_pick_has(&d->best, t->node);
}

static int dial_is_idle(const struct phx__dial *d, const struct phx__dial_target *t)
{
    return !t->round && !t->queued && phx__timer_at(d->timers, t->timer) == UINT64_MAX;
}

static int dial_goes_first(const struct phx__dial *d, uint32_t node)
{
    const struct phx_id *a = &d->ids->at[PHX__SELF], *b = &d->ids->at[node];
    int smaller = phx__id_compare(a, b) < 0;

    return ((phx__id_hash(a) ^ phx__id_hash(b)) & 1) != 0 ? smaller : !smaller;
}

/* How long to leave the first dial to the other side. Whoever has addresses listens. */
static uint64_t dial_courtesy(struct phx__dial *d, const struct phx__dial_target *t)
{
    if (t->hub || !d->listening || dial_goes_first(d, t->node))
        return 0;
    return DIAL_COURTESY_US + dial_between(d, 0, DIAL_COURTESY_JITTER_US);
}

static uint64_t dial_slow(const struct phx__dial *d)
{
    return phx__dial_backoff_slow(d->limits.retry_max_us);
}

static uint64_t dial_backoff(struct phx__dial *d, int hub, uint32_t failures)
{
    return phx__dial_backoff_next(d->rnd, d->limits.retry_min_us, d->limits.retry_max_us, hub, failures);
}

/* ---- The queue of due targets */

static void dial_push_front(struct phx__dial *d, uint32_t slot)
{
    d->targets[slot].before = PHX__NONE;
    d->targets[slot].after = d->head;
    if (d->head == PHX__NONE)
        d->tail = slot;
    else
        d->targets[d->head].before = slot;
    d->head = slot;
}

static void dial_push(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];

    t->queued = 1;
    if (phx__dial_start_goes_first(d, slot)) {
        dial_push_front(d, slot);
        return;
    }
    t->before = d->tail;
    t->after = PHX__NONE;
    if (d->tail == PHX__NONE)
        d->head = slot;
    else
        d->targets[d->tail].after = slot;
    d->tail = slot;
}

/* If somebody waits and an attempt is free, the next step goes on with the queue; or it does when one of
 * those under way may have to give way. */
static void dial_kick(struct phx__dial *d)
{
    uint64_t at = phx__dial_start_room_at(d);

    if (d->head == PHX__NONE)
        return;
    at = phx__dial_start_has_room(d) ? d->now : at < d->room_at ? at : d->room_at;
    if (at != UINT64_MAX)
        phx__timer_set(d->timers, d->targets[d->head].timer, at);
}

static void dial_unqueue(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];

    if (!t->queued)
        return;
    t->queued = 0;
    phx__timer_stop(d->timers, t->timer);
    if (t->before == PHX__NONE)
        d->head = t->after;
    else
        d->targets[t->before].after = t->after;
    if (t->after == PHX__NONE)
        d->tail = t->before;
    else
        d->targets[t->after].before = t->before;
    dial_kick(d); /* it may have been the head, and the one that was kicked */
}

/* ---- Attempts */

static int dial_find(const struct phx__dial *d, uint32_t attempt, uint32_t *slot, uint32_t *i)
{
    return phx__dial_slot_find(&d->attempts, attempt, slot, i);
}

static void dial_close(struct phx__dial *d, uint32_t slot, uint32_t i)
{
    struct phx__dial_addr *c = &d->targets[slot].at[i];

    phx__dial_slot_close(&d->attempts, c->attempt);
    c->attempt = PHX__NONE;
    d->targets[slot].open--;
    dial_kick(d);
}

static void dial_abandon(struct phx__dial *d, uint32_t slot, uint32_t i)
{
    uint32_t attempt = d->targets[slot].at[i].attempt;

    if (attempt == PHX__NONE)
        return;
    dial_close(d, slot, i);
    d->ops.abandon(d->ops.ctx, attempt);
}

/* Is anybody dialling this address? A look at max_dials attempts for each dial, nothing beside a
 * dial. */
static int dial_is_busy(const struct phx__dial *d, const struct phx_address *address)
{
    const struct phx__dial_slot *a;
    struct phx_address other;
    uint32_t k;

    for (k = 0; k < d->attempts.count; k++) {
        a = &d->attempts.at[k];
        if (a->target == PHX__NONE)
            continue;
        phx__dial_addr_address(d->targets[a->target].at, a->address, &other);
        if (phx__addr_equal(&other, address))
            return 1;
    }
    return 0;
}

/* ---- Rounds */

/* No round, no timer, no place in the queue. */
static void dial_rest(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint32_t i;

    dial_unqueue(d, slot);
    phx__timer_stop(d->timers, t->timer);
    t->round = 0;
    t->untried = 0;
    for (i = 0; i < t->count; i++)
        dial_abandon(d, slot, i);
}

/* The next round begins so much later, or not at all. */
static void dial_plan(struct phx__dial *d, uint32_t slot, uint64_t delay)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint64_t first = phx__dial_addr_first(t->at, t->count, dial_slow(d)), at;

    dial_unqueue(d, slot);
    if (!dial_may_dial(d, t)) {
        dial_rest(d, slot);
        return;
    }
    /* UINT64_MAX would stop the timer. */
    at = delay < UINT64_MAX - 1 - d->now ? d->now + delay : UINT64_MAX - 1;
    phx__timer_set(d->timers, t->timer, at > first ? at : first);
}

/* A round sooner than planned, never later, spread over `jitter`: one reason often holds for many. */
static void dial_hasten(struct phx__dial *d, uint32_t slot, uint64_t jitter)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint64_t delay = dial_courtesy(d, t) + dial_between(d, 0, jitter);

    if (!t->round && !t->queued && dial_may_dial(d, t)
        && d->now + delay < phx__timer_at(d->timers, t->timer))
        dial_plan(d, slot, delay);
}

/* If nothing is left of the round, it is over: plan the next. */
static void dial_settle(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint64_t delay, most = d->limits.retry_max_us;

    if (!t->round || t->untried != 0 || t->open > 0)
        return;
    t->round = 0;
    if (t->verdict == DISC_DUPLICATE) {
        /* Doubles as well: perhaps the peer has not noticed yet that its link with us is dead, or
         * somebody never says who answers. */
        delay = DIAL_DUPLICATE_US << (t->duplicates < 16 ? t->duplicates : 16);
        if (delay > most)
            delay = most > DIAL_DUPLICATE_US ? most : DIAL_DUPLICATE_US;
        t->duplicates = (uint16_t)(t->duplicates + (t->duplicates < UINT16_MAX));
    } else {
        if (t->verdict == DISC_BARRED) {
            delay = dial_between(d, most / 2, most);
        } else if (!t->hub && phx__dial_addr_is_gone(t->at, t->count, dial_slow(d), d->now)) {
            /* Others live where it was: most often its own next life, started again there. */
            delay = dial_between(d, dial_slow(d) / 2, dial_slow(d));
            if (t->failures < PHX__PACE_DEAD_ROUNDS)
                t->failures = PHX__PACE_DEAD_ROUNDS;
        } else {
            delay = dial_backoff(d, t->hub, t->failures);
            if (!t->hub && d->nodes[t->node].reachable && delay > DIAL_RELAYED_US)
                delay = dial_between(d, DIAL_RELAYED_US / 2, DIAL_RELAYED_US);
        }
        t->failures = (uint16_t)(t->failures + (t->failures < UINT16_MAX));
        t->duplicates = 0;
    }
    dial_plan(d, slot, delay);
}

/* An attempt is over: the next address at once, or the end of the round. */
static void dial_go_on(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];

    if (t->untried == 0)
        dial_settle(d, slot);
    else if (!t->queued)
        phx__timer_set(d->timers, t->timer, d->now);
}

/* Takes down how an address ended. */
static void dial_note(struct phx__dial *d, uint32_t slot, uint32_t i, int error)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint8_t verdict = DISC_FAILED;

    /* PHX_ESELF: anybody may say this, or the address may move: it is believed, but not for ever. */
    t->at[i].error = (int16_t)error;
    t->at[i].tried_at = d->now;
    if (error == PHX_EKEY || error == PHX_ECLUSTER || error == PHX_EVERSION || error == PHX_ETLS)
        verdict = DISC_BARRED;
    if (error == PHX_EDUPLICATE)
        verdict = DISC_DUPLICATE;
    /* Unless it has proved who it is, it may be another node, which has a link with us: cards list
     * 127.0.0.1, and every host has somebody there. Then the other addresses are still to try. */
    if (error == PHX_EDUPLICATE && t->at[i].met == PHX__CONTACT_RIGHT) {
        t->untried = 0;
        for (i = 0; i < t->count; i++)
            dial_abandon(d, slot, i);
    }
    if (verdict > t->verdict)
        t->verdict = verdict;
}

/* How long the first of these addresses must be left alone. */
static uint64_t dial_ban(const struct phx__dial *d, const struct phx__dial_target *t, unsigned which)
{
    return t->hub ? 0 : phx__ratelimit_first(&d->budget, t->at, t->count, which, d->now);
}

/* The first address still to try that nobody dials at the moment. The silent ones come last: a wall, or the
 * private address of a far network, should not keep a good one waiting in each round. */
static uint32_t dial_pick(const struct phx__dial *d, const struct phx__dial_target *t)
{
    uint32_t i, silent = PHX__NONE;
    struct phx_address a;

    for (i = 0; i < t->count; i++) {
        if ((t->untried & 1u << i) == 0)
            continue;
        phx__dial_addr_address(t->at, i, &a);
        if (dial_is_busy(d, &a) || dial_ban(d, t, 1u << i) != 0)
            continue;
        if (t->at[i].error != PHX_ETIMEDOUT)
            return i;
        if (silent == PHX__NONE)
            silent = i;
    }
    return silent;
}

/* 1 if the dial is under way. */
static int dial_dial(struct phx__dial *d, uint32_t slot, uint32_t i)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint32_t attempt = phx__dial_slot_open(&d->attempts, slot, i, d->now);
    struct phx_address a;
    int error;

    phx__dial_addr_address(t->at, i, &a);
    t->open++;
    t->at[i].attempt = attempt;
    t->at[i].met = PHX__CONTACT_NOBODY;
    t->untried = (uint8_t)(t->untried & ~(1u << i));
    t->tried++;
    if (!t->hub)
        phx__ratelimit_dialled(&d->budget, &a, d->now);
    error = d->ops.dial(d->ops.ctx, attempt, t->hub ? PHX__NONE : t->node, &a);
    if (error >= 0)
        return 1;
    dial_close(d, slot, i);
    dial_note(d, slot, i, error);
    return 0;
}

/* It is this target's turn: begin a round, or try the next address of one. */
static void dial_advance(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint32_t i;

    if (!dial_may_dial(d, t)) {
        /* The bound was reached meanwhile. What is under way may still become a link. */
        t->untried = 0;
        dial_settle(d, slot);
        return;
    }
    if (!t->round && phx__dial_start_is_patient(d, slot) && dial_courtesy(d, t) > 0) {
        t->fresh--;
        dial_plan(d, slot, dial_courtesy(d, t));
        return;
    }
    if (!t->round) {
        t->fresh = 0;
        t->untried = (uint8_t)phx__dial_addr_usable(t->at, t->count, dial_slow(d), d->now);
        if (t->untried == 0) {
            dial_plan(d, slot, 0); /* it was set off too soon: not before the first rest ends */
            return;
        }
        t->round = 1;
        t->tried = 0;
        t->verdict = DISC_FAILED;
    }
    do {
        i = dial_pick(d, t);
    } while (i != PHX__NONE && !dial_dial(d, slot, i));
    /* If others are busy with all that is left, a round that tried something else is over, and
     * one that did not waits for them. */
    if (i == PHX__NONE && t->tried > 0 && t->open == 0)
        t->untried = 0;
    if (t->untried != 0) {
        uint64_t ban = dial_ban(d, t, t->untried);
        if (ban > 0) /* many may wait for the same moment */
            ban = dial_between(d, ban, ban + PHX__SECOND);
        phx__timer_set(d->timers, t->timer, d->now + DIAL_STAGGER_US + ban);
    }
    dial_settle(d, slot);
}

/* Somebody waits: 1 if all attempts are in use and one of them gives way. Where a crowd must wait although
 * some are free, none has to. */
static int dial_make_room(struct phx__dial *d)
{
    uint32_t attempt, slot, i;

    if (d->attempts.free != PHX__NONE)
        d->room_at = UINT64_MAX;
    if (d->attempts.free != PHX__NONE || (d->room_at > d->now && d->room_at != UINT64_MAX))
        return 0;
    attempt = phx__dial_slot_gives_way(&d->attempts, d->now, &d->room_at);
    if (!dial_find(d, attempt, &slot, &i))
        return 0;
    dial_abandon(d, slot, i);
    dial_note(d, slot, i, PHX_ETIMEDOUT);
    dial_go_on(d, slot);
    return 1;
}

/* ---- Targets */

/* The slots that stand for a node: its own and hubs where it was met. */
static uint32_t dial_slots(const struct phx__dial *d, uint32_t node,
                           uint32_t out[PHX__DISC_HUBS + 1])
{
    uint32_t i, count = 0;

    if (phx__dial_target_of(d, node) != PHX__NONE)
        out[count++] = phx__dial_target_of(d, node);
    for (i = 0; i < d->hub_count; i++)
        if (d->targets[d->hubs[i]].node == node)
            out[count++] = d->hubs[i];
    return count;
}

static int dial_is_same(const struct phx__dial_target *t, const struct phx_address *a,
                        const uint32_t *picked, uint32_t n)
{
    return phx__dial_addr_is_same(t->at, t->count, a, picked, n);
}

static void dial_drop(struct phx__dial *d, uint32_t slot)
{
    struct phx__dial_target *t = &d->targets[slot];

    dial_rest(d, slot);
    phx__timer_drop(d->timers, t->timer);
    phx__dial_addr_free(d->mem, t->at, t->count);
    memset(t, 0, sizeof *t);
    t->after = d->target_free;
    d->target_free = slot;
}

/* Other addresses for a target: what stays keeps its attempt and its error. */
static int dial_replace(struct phx__dial *d, uint32_t slot, const struct phx_address *a,
                        const uint32_t *picked, uint32_t n, int *fresh)
{
    struct phx__dial_target *t = &d->targets[slot];
    struct phx__dial_addr *at = phx__dial_addr_new(d->mem, a, picked, n);
    unsigned untried = 0;
    uint32_t k, old;

    if (at == NULL)
        return PHX_ENOMEM;
    *fresh = 0;
    for (k = 0; k < n; k++) {
        old = phx__dial_addr_index(t->at, t->count, &a[picked[k]]);
        if (old == PHX__NONE) {
            *fresh = 1;
            untried |= 1u << k;
            continue;
        }
        if ((t->untried & 1u << old) != 0)
            untried |= 1u << k;
        at[k].tried_at = t->at[old].tried_at;
        at[k].attempt = t->at[old].attempt;
        at[k].error = t->at[old].error;
        at[k].met = t->at[old].met;
        t->at[old].attempt = PHX__NONE; /* moved: what is found below is to be abandoned */
        if (at[k].attempt != PHX__NONE)
            phx__dial_slot_move(&d->attempts, at[k].attempt, k);
    }
    for (k = 0; k < t->count; k++)
        dial_abandon(d, slot, k);
    phx__dial_addr_free(d->mem, t->at, t->count);
    t->at = at;
    t->count = (uint8_t)n;
    t->untried = (uint8_t)(t->round ? untried : 0);
    return 0;
}

/* ---- The bound */

static int dial_bounds(const struct phx__dial *d)
{
    return (d->links >= d->limits.max_links ? DISC_FULL : 0)
           | (d->known > d->limits.max_links ? DISC_SPARSE : 0);
}

/* If a bound that held before does not hold any more, targets at rest may dial again. This looks
 * at all of them, but a bound is crossed rarely beside the events that do not cross it. */
static void dial_relax(struct phx__dial *d, int before)
{
    struct phx__dial_target *t;
    uint32_t slot;
    int woken = phx__dial_target_wake_all(d);

    if (!woken && (before & ~dial_bounds(d)) == 0)
        return;
    for (slot = 0; slot < d->target_count; slot++) {
        t = &d->targets[slot];
        if (t->in_use && dial_is_idle(d, t))
            dial_plan(d, slot, dial_courtesy(d, t));
    }
}

/* A node has no addresses any more. If it was one of the best, the next one is looked for among
 * all: a chance of PHX__DISC_BEST in n, so PHX__DISC_BEST looks a loss on average. */
static void dial_unchoose(struct phx__dial *d, uint32_t node)
{
    uint32_t slot, next;

    if (!phx__dial_pick_drop(&d->best, node))
        return;
    next = phx__dial_target_next_best(d);
    if (next == PHX__NONE)
        return;
    phx__dial_pick_offer(&d->best, d->ids, next);
    slot = phx__dial_target_wake(d, next);
    if (slot != PHX__NONE && dial_is_idle(d, &d->targets[slot]))
        dial_plan(d, slot, dial_courtesy(d, &d->targets[slot]));
}

static void dial_drop_contact(struct phx__dial *d, uint32_t node)
{
    uint32_t slot = phx__dial_target_of(d, node);

    if (!dial_is_known(d, node))
        return;
    if (slot != PHX__NONE)
        dial_drop(d, slot);
    else
        d->latent--;
    d->nodes[node].target = 0;
    d->known -= !d->nodes[node].linked;
    dial_unchoose(d, node);
}

/* ---- What the node tells us */

int phx__dial_init(struct phx__dial *d, struct phx__mem *mem, struct phx__ids *ids,
                   struct phx__timers *timers, struct phx__rnd *rnd,
                   const struct phx__dial_limits *limits, const struct phx__dial_ops *ops)
{
    memset(d, 0, sizeof *d);
    d->mem = mem;
    d->ids = ids;
    d->timers = timers;
    d->rnd = rnd;
    d->ops = *ops;
    d->limits = *limits;
    d->target_free = d->head = d->tail = PHX__NONE;
    d->room_at = UINT64_MAX;
    d->pace = PHX__CROWD_PACE;
    d->quickest = UINT64_MAX / 4;
    if (phx__ratelimit_init(&d->budget, mem, DIAL_PLACES, phx__rnd_next(rnd)) != 0)
        return PHX_ENOMEM;
    return phx__dial_slot_init(&d->attempts, mem, limits->max_dials);
}

/* Nothing is abandoned: the links close by themselves. The timers end with the heap of timers. */
void phx__dial_free(struct phx__dial *d)
{
    uint32_t slot;

    for (slot = 0; slot < d->target_count; slot++)
        phx__dial_addr_free(d->mem, d->targets[slot].at, d->targets[slot].count);
    phx__mem_put(d->mem, d->targets, d->target_capacity * sizeof *d->targets);
    phx__mem_put(d->mem, d->nodes, d->node_capacity * sizeof *d->nodes);
    phx__dial_slot_free(&d->attempts);
    phx__ratelimit_free(&d->budget);
    memset(d, 0, sizeof *d);
}

void phx__dial_listening(struct phx__dial *d, int yes)
{
    d->listening = yes;
}

int phx__dial_hub(struct phx__dial *d, const struct phx_address *a, uint32_t count, uint64_t now)
{
    uint32_t picked[PHX__DISC_ADDRESSES], n = phx__dial_addr_order(a, count, picked), k, slot;

    dial_clock(d, now);
    if (n == 0)
        return PHX_EINVAL;
    for (k = 0; k < d->hub_count; k++)
        if (dial_is_same(&d->targets[d->hubs[k]], a, picked, n))
            return 0;
    if (d->hub_count == PHX__DISC_HUBS)
        return PHX_ELIMIT;
    if (phx__dial_target_new(d, a, picked, n, &slot) != 0)
        return PHX_ENOMEM;
    d->targets[slot].hub = 1;
    d->hubs[d->hub_count++] = slot;
    dial_plan(d, slot, 0);
    return 0;
}

/* Other addresses for a node that had some. */
static int dial_renew(struct phx__dial *d, uint32_t slot, const struct phx_address *a,
                      const uint32_t *picked, uint32_t n)
{
    struct phx__dial_target *t = &d->targets[slot];
    uint64_t delay;
    int fresh;

    if (dial_replace(d, slot, a, picked, n, &fresh) != 0)
        return PHX_ENOMEM;
    if (!fresh) {
        dial_settle(d, slot); /* perhaps only what is gone now was still open */
        return 0;
    }
    /* New addresses, new hope. Sooner than planned, never later. */
    t->failures = 0;
    delay = dial_between(d, 0, DIAL_FRESH_JITTER_US) + (t->round ? 0 : dial_courtesy(d, t));
    if (!t->queued && (t->round || dial_may_dial(d, t))
        && d->now + delay < phx__timer_at(d->timers, t->timer))
        phx__timer_set(d->timers, t->timer, d->now + delay);
    return 0;
}

/* Addresses for a node that had none. PHX_ENOMEM: nothing changed. */
static int dial_learn(struct phx__dial *d, uint32_t node, const struct phx_address *a,
                      const uint32_t *picked, uint32_t n)
{
    uint32_t slot = PHX__NONE;

    if (!phx__dial_target_can_wait(d, node) && phx__dial_target_new(d, a, picked, n, &slot) != 0)
        return PHX_ENOMEM;
    d->known += !d->nodes[node].linked;
    phx__dial_pick_offer(&d->best, d->ids, node);
    d->nodes[node].target = slot == PHX__NONE ? PHX__TARGET_LATENT : slot + 1;
    d->latent += slot == PHX__NONE;
    phx__dial_start_news(d);
    if (slot == PHX__NONE)
        return 0;
    d->targets[slot].node = node;
    d->targets[slot].fresh = PHX__CROWD_PATIENCE_TIMES;
    dial_plan(d, slot, dial_courtesy(d, &d->targets[slot]) + phx__dial_start_spread(d));
    return 0;
}

int phx__dial_contact(struct phx__dial *d, uint32_t node, const struct phx_address *a,
                      uint32_t count, uint64_t now)
{
    uint32_t picked[PHX__DISC_ADDRESSES], n = phx__dial_addr_order(a, count, picked), slot;
    int before = dial_bounds(d);

    dial_clock(d, now);
    if (node == PHX__SELF)
        return 0;
    if (n > 0
        && phx__mem_grow(d->mem, &d->nodes, &d->node_capacity, node + 1, sizeof *d->nodes) != 0)
        return PHX_ENOMEM;
    slot = phx__dial_target_of(d, node);
    if (n == 0) {
        dial_drop_contact(d, node);
    } else if (!dial_is_known(d, node)) {
        if (dial_learn(d, node, a, picked, n) != 0)
            return PHX_ENOMEM;
    } else if (slot == PHX__NONE) {
        /* It is not dialled, so it need not be told apart from what its card says. */
    } else if (!dial_is_same(&d->targets[slot], a, picked, n)
               && dial_renew(d, slot, a, picked, n) != 0) {
        return PHX_ENOMEM;
    }
    if (dial_is_linked(d, node))
        d->nodes[node].linked = 1;
    dial_relax(d, before);
    return 0;
}

int phx__dial_up(struct phx__dial *d, uint32_t node, uint32_t attempt, uint64_t now)
{
    uint32_t slots[PHX__DISC_HUBS + 1], count, slot, i;
    struct phx__dial_node *n;
    struct phx_address a;
    int error;

    PHX_ASSERT(node != PHX__SELF);
    dial_clock(d, now);
    error = phx__mem_grow(d->mem, &d->nodes, &d->node_capacity, node + 1, sizeof *d->nodes);
    if (dial_find(d, attempt, &slot, &i)) {
        if (error == 0) { /* whoever answers there is that hub now */
            phx__dial_meet(d, attempt, node);
            phx__dial_addr_address(d->targets[slot].at, i, &a);
            phx__ratelimit_good(&d->budget, &a, !d->targets[slot].hub);
        }
        phx__dial_start_learn(d, d->now - d->attempts.at[attempt & 0xffff].since);
        dial_close(d, slot, i);
        dial_note(d, slot, i,
                  error != 0 ? error : d->targets[slot].node == node ? 0 : PHX_EPEER);
        dial_go_on(d, slot);
    }
    if (error != 0)
        return error;
    n = &d->nodes[node];
    d->links += !n->linked;
    d->known += !n->linked && n->target == 0;
    n->linked = (uint8_t)(n->linked ? n->linked : 1);
    n->wanted = 0;
    d->linked_at = d->now;
    n->up_at = dial_tick(d->now);
    for (count = dial_slots(d, node, slots); count-- > 0;) {
        dial_rest(d, slots[count]);
        d->targets[slots[count]].failures = 0;
        d->targets[slots[count]].duplicates = 0;
    }
    return 0;
}

/* The index of a node that is forgotten may soon mean another one. */
static void dial_unmeet(struct phx__dial *d, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < d->hub_count; i++)
        if (d->targets[d->hubs[i]].node == node)
            d->targets[d->hubs[i]].node = PHX__NONE;
}

void phx__dial_down(struct phx__dial *d, uint32_t node, uint64_t now)
{
    uint32_t slots[PHX__DISC_HUBS + 1], count;
    struct phx__dial_node *n = dial_node(d, node);
    struct phx__dial_target *t;
    int before = dial_bounds(d), has_left;
    uint64_t delay;

    dial_clock(d, now);
    if (n == NULL || !n->linked)
        return;
    has_left = n->linked == 2;
    n->linked = 0;
    d->links--;
    d->known -= n->target == 0;
    if (dial_tick(d->now) - n->up_at >= dial_tick(DIAL_STEADY_US))
        n->flaps = 0;
    else
        n->flaps = (uint8_t)(n->flaps + (n->flaps < UINT8_MAX));
    for (count = dial_slots(d, node, slots); count-- > 0;) {
        t = &d->targets[slots[count]];
        /* A link that comes and goes at once backs off like one that does not come. */
        delay = n->flaps == 0 ? dial_between(d, 0, d->limits.retry_min_us)
                              : dial_backoff(d, 1, n->flaps - 1u);
        dial_plan(d, slots[count], delay + dial_courtesy(d, t));
    }
    if (has_left)
        dial_unmeet(d, node);
    dial_relax(d, before);
}

void phx__dial_meet(struct phx__dial *d, uint32_t attempt, uint32_t node)
{
    struct phx__dial_target *t;
    uint32_t slot, i;

    if (!dial_find(d, attempt, &slot, &i))
        return;
    t = &d->targets[slot];
    if (t->hub && node != PHX__NONE)
        t->node = node;
    t->at[i].met = t->hub || t->node == node ? PHX__CONTACT_RIGHT : PHX__CONTACT_OTHER;
}

void phx__dial_result(struct phx__dial *d, uint32_t attempt, int error, uint64_t now)
{
    uint32_t slot, i;

    PHX_ASSERT(error < 0);
    dial_clock(d, now);
    if (!dial_find(d, attempt, &slot, &i))
        return;
    dial_close(d, slot, i);
    dial_note(d, slot, i, error);
    /* An unproved "duplicate" is true most of the time, and then the link shows up here before the
     * next address is due. */
    if (error != PHX_EDUPLICATE || d->targets[slot].untried == 0)
        dial_go_on(d, slot);
}

void phx__dial_want(struct phx__dial *d, uint32_t node, uint64_t now)
{
    uint32_t slot;

    dial_clock(d, now);
    /* Without memory the wish is lost. It comes again with the next message. */
    if (node == PHX__SELF || dial_is_linked(d, node)
        || phx__mem_grow(d->mem, &d->nodes, &d->node_capacity, node + 1, sizeof *d->nodes) != 0)
        return;
    if (d->nodes[node].wanted)
        return;
    slot = phx__dial_target_wake(d, node);
    if (slot == PHX__NONE && dial_is_known(d, node))
        return;
    d->nodes[node].wanted = 1;
    if (slot == PHX__NONE)
        return;
    if (d->targets[slot].queued && phx__dial_start_goes_first(d, slot)) {
        dial_unqueue(d, slot); /* it need not wait for the others any more */
        dial_push(d, slot);
        dial_kick(d);
    }
    dial_hasten(d, slot, d->limits.retry_min_us);
}

void phx__dial_route(struct phx__dial *d, uint32_t node, int reachable, uint64_t now)
{
    uint32_t slot = phx__dial_target_of(d, node);
    int was;

    dial_clock(d, now);
    if (!dial_is_known(d, node))
        return;
    was = d->nodes[node].reachable;
    d->nodes[node].reachable = reachable != 0;
    if (was || !reachable || dial_is_linked(d, node) || slot == PHX__NONE)
        return;
    /* It is back: what failed before may work now. */
    d->targets[slot].failures = d->targets[slot].duplicates = 0;
    dial_hasten(d, slot, d->limits.retry_min_us);
}

void phx__dial_moved(struct phx__dial *d, uint64_t now)
{
    uint32_t slot;

    dial_clock(d, now);
    for (slot = 0; slot < d->target_count; slot++) {
        struct phx__dial_target *t = &d->targets[slot];
        if (!t->in_use || dial_is_linked(d, t->node))
            continue;
        t->failures = t->duplicates = 0;
        dial_hasten(d, slot, DIAL_MOVED_JITTER_US);
    }
}

void phx__dial_told_all(struct phx__dial *d, uint64_t now)
{
    dial_clock(d, now);
    if (d->told_all_at < d->learnt_at && d->asked_at > d->learnt_at) {
        d->told_all_at = d->now;
        dial_kick(d);
    }
}

void phx__dial_answered(struct phx__dial *d, uint32_t attempt)
{
    phx__dial_slot_answered(&d->attempts, attempt);
}

void phx__dial_forget(struct phx__dial *d, uint32_t node)
{
    struct phx__dial_node *n = dial_node(d, node);
    int before = dial_bounds(d);

    if (!dial_is_linked(d, node))
        dial_unmeet(d, node);
    if (n == NULL)
        return;
    dial_drop_contact(d, node);
    n->wanted = 0;
    n->flaps = 0;
    /* A hub that says goodbye is still linked for a moment. Were it not, it would be dialled. */
    n->linked = (uint8_t)(n->linked ? 2 : 0);
    dial_relax(d, before);
}

uint32_t phx__dial_look(const struct phx__dial *d, uint32_t node, const struct phx__dial_addr **at)
{
    uint32_t slots[PHX__DISC_HUBS + 1];

    if (dial_slots(d, node, slots) == 0)
        return 0;
    *at = d->targets[slots[0]].at;
    return d->targets[slots[0]].count;
}

void phx__dial_stop(struct phx__dial *d)
{
    uint32_t slot;

    d->stopped = 1;
    for (slot = 0; slot < d->target_count; slot++)
        if (d->targets[slot].in_use)
            dial_rest(d, slot);
}

void phx__dial_due(struct phx__dial *d, uint32_t arg, uint64_t now)
{
    uint32_t slot;

    dial_clock(d, now);
    if (arg >= d->target_count || !d->targets[arg].in_use)
        return;
    if (!d->targets[arg].queued)
        dial_push(d, arg);
    phx__dial_start_ask(d);
    while ((slot = d->head) != PHX__NONE && (phx__dial_start_has_room(d) || dial_make_room(d))) {
        dial_unqueue(d, slot);
        dial_advance(d, slot);
    }
    dial_kick(d);
}
