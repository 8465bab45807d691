/* dial.c - who exists and how to reach them: hubs, known nodes, whom to dial next and when. */

/* A *target* is something to be dialled: a hub, which is a place and whoever answers there is right, or a
 * node whose addresses its card told us. A target lives in rounds:
 *
 *             due              a dial leads to a link, or the node dials us
 *      rest ------> round -------------------------------------------------> linked
 *        ^            | all addresses failed                                   | down
 *        |            v                                                        |
 *        +------- back-off <---------------------------------------------------+
 *
 * Within a round addresses race (RFC 8305): one after the other, 250 ms apart or as soon as one fails,
 * families in turn, and the first link wins and ends the rest. Between rounds the wait is random up to a
 * bound that doubles ("full jitter"): a thousand nodes which lost the same hub do not come back at the same
 * moment. Nothing is ever given up: a dead node is still dialled, rarely, and so partitions heal.
 *
 * All targets stand in one queue by the time at which they are due, and only phx__dial_due, which serves it,
 * dials; all other calls merely move targets in it. So dials begin in the order in which they came due,
 * max_dials holds at every instant, and no call of the host recurses through the transport. While others
 * wait, dials that get no answer give way (slot.c), and what can wait takes its turn (start.c).
 *
 * Of two nodes that both listen only one should dial, or half of all links are made to be torn down again.
 * Both compute the same winner from the hash of the two ids; the other one waits a second and then dials too:
 * it may be the only one that can (the peer is behind a NAT, or not told of us yet). In a start of many, who
 * has answered the other's dial leaves it time (phx__dial_give_way). A peer reached only through relays is
 * dialled at least once a minute, and at once when its card has new addresses, when somebody first sends to
 * it, when it comes back, and when this node has moved.
 *
 * One address is never dialled twice at once, also not for different targets (a hub and its node share it):
 * a liar who announces a thousand nodes at a victim's address gets one dial at a time, and few (rate.c).
 *
 * The bound. While no more than full_mesh nodes are known, and no more than max_links, all of them are
 * dialled and the mesh is full; so it is among those that can be reached, though many more were known and are
 * dead. Beyond that: hubs, nodes that somebody wants to send to, and PHX__DIAL_PICKS that each node picks for
 * itself (target.c). The graph of picks is random: with 8 out of each it is connected but for a chance
 * too small to see. With full_mesh 0 there are no picks: the host says who is linked. A node that has
 * max_links links dials only hubs it lacks.
 *
 * A refusal says why, but not who refused. Only the ANSWER proves that, and so only phx__dial_meet ends a
 * round early. An address rests for ten times retry_max if it seems to be this node itself (a stranger may
 * have said so, or it has moved), or if another node has proved to live there: most often the next life of a
 * process, started again.
 *
 * This room does not know what a dial is made of, whether the peer is who it says (link proves that), or who
 * is alive (detect knows). The paper (4.1, step 1) dials every address that it hears of at once, and once. */
#include "dial/dial.h"
#include "base/rnd.h"

/* After this many rounds without success, half a minute by default if all refuse at once, the wait for a node
 * may double up to DIAL_DEAD_FACTOR times retry_max. Not for a hub: the user named it. */
#define DIAL_DEAD_ROUNDS 10u
#define DIAL_DEAD_FACTOR 10u
/* RFC 8305, section 8: the recommended delay between dials, longer than nearly all round trips. */
#define DIAL_STAGGER_US (250 * PHX__MS)
/* The other side's start over a slow path, and a jitter: a thousand new nodes are not dialled all at once. */
#define DIAL_COURTESY_US PHX__SECOND
#define DIAL_COURTESY_JITTER_US (250 * PHX__MS)
/* A card with new addresses reaches everybody within milliseconds: not all dial in the same one. */
#define DIAL_FRESH_JITTER_US (20 * PHX__MS)
/* "We have a link already": then it shows up here in far less than this, or the peer will soon notice that it
 * is dead. */
#define DIAL_DUPLICATE_US PHX__SECOND
/* A link that lasted less than this has not proved that the next one will last. */
#define DIAL_STEADY_US PHX__SECOND
/* A peer reached through relays may be behind a firewall that comes down: a dial once a minute at least. */
#define DIAL_RELAYED_US (60 * PHX__SECOND)
/* This node has moved to another network, or has other keys: whatever failed may work. Not all at once. */
#define DIAL_MOVED_JITTER_US (500 * PHX__MS)
/* Addresses and hosts whose rates are remembered, 24 bytes each. */
#define DIAL_RATES 512u

/* How bad a round ended, in ascending order of what decides about the wait. */
enum dial_verdict {
    DIAL_FAILED,
    DIAL_BARRED,   /* a key, cluster or version does not fit, or it takes this node for dead */
    DIAL_DUPLICATE /* not a failure */
};

/* ---- Small questions */

/* Uniform in low..high. */
PHX__COLD static uint64_t dial_between(struct phx__dial *d, uint64_t low, uint64_t high)
{
    return high <= low ? low : low + phx__rnd_below(d->rnd, high - low + 1);
}

/* For how long a link lasted. Ticks come round after 50 days: such a link is taken for a short one. */
PHX__COLD static uint32_t dial_tick(uint64_t us)
{
    return (uint32_t)(us >> 10);
}

static const struct phx__dial_node *dial_node(const struct phx__dial *d, uint32_t node)
{
    return phx__dial_target_node(&d->targets, node);
}

/* Up to so many known nodes are dialled unasked. There may be room for fewer links than at the start. */
PHX__COLD static uint32_t dial_mesh(const struct phx__dial *d)
{
    return d->limits.full_mesh < d->limits.max_links ? d->limits.full_mesh : d->limits.max_links;
}

PHX__COLD static int dial_may_dial(const struct phx__dial *d, const struct phx__dial_target *t)
{
    if (d->stopped || dial_node(d, t->node)->linked)
        return 0;
    if (t->hub)
        return 1;
    if (d->links >= d->limits.max_links)
        return 0;
    return phx__dial_target_in_mesh(&d->targets, t->node, dial_mesh(d))
           || dial_node(d, t->node)->wanted || phx__dial_target_is_pick(&d->targets, t->node);
}

/* The room has something to do at this time, or before. */
PHX__COLD static void dial_wake(struct phx__dial *d, uint64_t at)
{
    if (at < phx__timer_at(d->timers, d->timer))
        phx__timer_set(d->timers, d->timer, at);
}

static uint32_t dial_index(const struct phx__dial *d, const struct phx__dial_target *t)
{
    return (uint32_t)(t - d->targets.at);
}

/* When the next step of a target is due; 0: it was, and waits for its turn. */
PHX__COLD static uint64_t dial_due_at(const struct phx__dial *d, const struct phx__dial_target *t)
{
    return t->ticket != 0 ? 0 : phx__timer_at(&d->targets.due, dial_index(d, t));
}

/* Ends its wait for its turn. */
PHX__COLD static void dial_end_wait(struct phx__dial *d, struct phx__dial_target *t)
{
    d->waiting -= t->ticket != 0;
    t->ticket = 0;
}

PHX__COLD static void dial_set(struct phx__dial *d, struct phx__dial_target *t, uint64_t at)
{
    dial_end_wait(d, t);
    phx__timer_set(&d->targets.due, dial_index(d, t), at);
    dial_wake(d, at);
}

/* Sooner than planned, never later. */
PHX__COLD static void dial_set_sooner(struct phx__dial *d, struct phx__dial_target *t, uint64_t at)
{
    if (at < dial_due_at(d, t))
        dial_set(d, t, at);
}

/* How long to leave the first dial to the other side. A node that has addresses listens. */
PHX__COLD static uint64_t dial_courtesy(struct phx__dial *d, const struct phx__dial_target *t)
{
    const struct phx_id *a = &d->targets.ids->at[PHX__SELF], *b = t->hub ? a : &d->targets.ids->at[t->node];
    int odd = ((phx__id_hash(a) ^ phx__id_hash(b)) & 1) != 0;

    if (t->hub || !d->listening || odd == (phx__id_compare(a, b) < 0))
        return 0;
    return DIAL_COURTESY_US + dial_between(d, 0, DIAL_COURTESY_JITTER_US);
}

/* The wait for what most probably fails again. */
PHX__COLD static uint64_t dial_slow(const struct phx__dial *d)
{
    return d->limits.retry_max_us * DIAL_DEAD_FACTOR;
}

/* The wait after one more failure: not below half of retry_min, which would be no wait at all. */
PHX__COLD static uint64_t dial_backoff(struct phx__dial *d, struct phx__dial_target *t)
{
    uint64_t low = d->limits.retry_min_us / 2, high = d->limits.retry_max_us;
    uint32_t shift = PHX__MIN(t->failures, 63u);

    if (!t->hub && t->failures >= DIAL_DEAD_ROUNDS)
        high = dial_slow(d);
    if (!t->hub && dial_node(d, t->node)->reachable)
        high = PHX__MIN(high, DIAL_RELAYED_US);
    if (d->limits.retry_min_us <= high >> shift)
        high = d->limits.retry_min_us << shift;
    t->failures++;
    return dial_between(d, PHX__MIN(low, high), high);
}

/* The wait for what will hardly work soon, and not for all at the same moment. */
PHX__COLD static uint64_t dial_long(struct phx__dial *d)
{
    return dial_between(d, d->limits.retry_max_us / 2, d->limits.retry_max_us);
}

/* ---- Dials */

/* The target of a dial under way, and which of its addresses; or NULL. */
PHX__COLD static struct phx__dial_target *dial_find(const struct phx__dial *d, uint32_t slot, uint32_t *i)
{
    const struct phx__dial_slot *of = phx__dial_slot_find(&d->slots, slot);
    struct phx__dial_target *t = of == NULL ? NULL : &d->targets.at[of->target];

    for (*i = 0; t != NULL && !(t->at[*i].dialled && t->at[*i].key == of->key); ++*i)
        PHX_ASSERT(*i + 1 < t->count); /* the slot stands for one of them */
    return t;
}

PHX__COLD static void dial_close(struct phx__dial *d, struct phx__dial_target *t, uint32_t i)
{
    phx__dial_slot_close(&d->slots, t->at[i].key);
    t->at[i].dialled = 0;
    t->open--;
    dial_wake(d, *d->now);
}

PHX__COLD static void dial_abandon(struct phx__dial *d, struct phx__dial_target *t, uint32_t i)
{
    uint32_t slot;

    if (!t->at[i].dialled)
        return;
    slot = phx__dial_slot_of(&d->slots, t->at[i].key)->number;
    dial_close(d, t, i);
    d->ops.abandon(d->ops.ctx, slot);
}

PHX__COLD static void dial_abandon_all(struct phx__dial *d, struct phx__dial_target *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        dial_abandon(d, t, i);
}

/* ---- Rounds */

/* No round, no timer, no place in the queue. */
PHX__COLD static void dial_rest(struct phx__dial *d, struct phx__dial_target *t)
{
    phx__timer_stop(&d->targets.due, dial_index(d, t));
    dial_end_wait(d, t);
    t->round = 0;
    t->untried = 0;
    dial_abandon_all(d, t);
}

/* The next round begins after this delay, or not at all. */
PHX__COLD static void dial_plan(struct phx__dial *d, struct phx__dial_target *t, uint64_t delay)
{
    uint64_t first = phx__dial_addr_first(t->at, t->count, dial_slow(d), *d->now);

    if (dial_may_dial(d, t))
        dial_set(d, t, PHX__MAX(*d->now + delay, first));
    else
        dial_rest(d, t);
}

/* Plans the round of a target that has nothing planned. */
PHX__COLD static void dial_plan_idle(struct phx__dial *d, struct phx__dial_target *t)
{
    if (!t->round && dial_due_at(d, t) == UINT64_MAX)
        dial_plan(d, t, dial_courtesy(d, t));
}

/* A round sooner than planned, never later, spread over `jitter`: one reason often holds for many. */
PHX__COLD static void dial_hasten(struct phx__dial *d, struct phx__dial_target *t, uint64_t jitter)
{
    uint64_t delay = dial_courtesy(d, t) + dial_between(d, 0, jitter);

    if (!t->round && dial_may_dial(d, t) && *d->now + delay < dial_due_at(d, t))
        dial_plan(d, t, delay);
}

/* What failed may work now. */
PHX__COLD static void dial_forgive(struct phx__dial *d, struct phx__dial_target *t, uint64_t jitter)
{
    t->failures = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->at[i].met == PHX__DIAL_MET_OTHER)
            t->at[i].met = PHX__DIAL_MET_NOBODY;
    dial_hasten(d, t, jitter);
}

PHX__COLD static uint64_t dial_after_round(struct phx__dial *d, struct phx__dial_target *t)
{
    switch (t->verdict) {
    case DIAL_DUPLICATE: /* a hub that dialled us stays unknown while it says so, and rate.c is for nodes */
        return t->hub ? PHX__MAX(dial_backoff(d, t), DIAL_DUPLICATE_US) : DIAL_DUPLICATE_US;
    case DIAL_BARRED: t->failures++; return dial_long(d);
    default: return dial_backoff(d, t);
    }
}

/* Perhaps nobody is left who answers: the host may be asked for hubs, unless it was just now. */
PHX__COLD static void dial_look_for_hubs(struct phx__dial *d)
{
    if (d->ask_timer != PHX__NONE && phx__timer_at(d->timers, d->ask_timer) == UINT64_MAX)
        phx__timer_set(d->timers, d->ask_timer, *d->now);
}

/* If nothing is left of the round, it is over: plan the next. */
PHX__COLD static void dial_settle(struct phx__dial *d, struct phx__dial_target *t)
{
    if (!t->round || t->untried != 0 || t->open > 0)
        return;
    t->round = 0;
    dial_plan(d, t, dial_after_round(d, t));
    dial_look_for_hubs(d);
}

/* A dial is over: the next address at once, or the end of the round. */
PHX__COLD static void dial_go_on(struct phx__dial *d, struct phx__dial_target *t)
{
    if (t->untried == 0)
        dial_settle(d, t);
    else
        dial_set_sooner(d, t, *d->now);
}

/* Takes down how an address ended. */
PHX__COLD static void dial_note(struct phx__dial *d, struct phx__dial_target *t, uint32_t i, int error)
{
    int barred = error == PHX_EKEY || error == PHX_ECLUSTER || error == PHX_EVERSION || error == PHX_ETLS
                 || error == PHX_EFAILED;
    unsigned verdict = error == PHX_EDUPLICATE ? DIAL_DUPLICATE : barred ? DIAL_BARRED : DIAL_FAILED;

    /* PHX_ESELF: anybody may say this, or the address may move: it is believed, but not for ever. */
    t->at[i].error = (int16_t)error;
    t->at[i].tried_ms = PHX__MAX((uint32_t)(*d->now / PHX__MS), 1u);
    /* It may be another node that has a link with us (cards list 127.0.0.1): then others are tried. */
    if (error == PHX_EDUPLICATE && t->at[i].met == PHX__DIAL_MET_RIGHT) {
        t->untried = 0;
        dial_abandon_all(d, t);
    }
    if (verdict > t->verdict)
        t->verdict = verdict & 3u;
}

/* The first address still to try that nobody dials. Silent ones, perhaps behind a firewall, come last.
 * *ban: how long the first of all to try must be left alone. */
PHX__COLD static uint32_t dial_next_address(const struct phx__dial *d, const struct phx__dial_target *t,
                                            const struct phx_address *a, uint64_t *ban)
{
    uint32_t i, silent = PHX__NONE;
    uint64_t wait;

    *ban = UINT64_MAX;
    for (i = 0; i < t->count; i++) {
        if ((t->untried & 1u << i) == 0)
            continue;
        wait = t->hub ? 0 : phx__dial_rate_wait(&d->rate, &a[i], *d->now);
        *ban = PHX__MIN(wait, *ban);
        if (wait != 0 || phx__dial_slot_of(&d->slots, t->at[i].key) != NULL)
            continue;
        if (t->at[i].error != PHX_ETIMEDOUT)
            return i;
        if (silent == PHX__NONE)
            silent = i;
    }
    return silent;
}

/* 1 if the dial is under way. */
PHX__COLD static int dial_begin(struct phx__dial *d, struct phx__dial_target *t, uint32_t i,
                                const struct phx_address *to)
{
    uint32_t slot = phx__dial_slot_open(&d->slots, dial_index(d, t), t->at[i].key, *d->now);
    int error;

    t->open++;
    d->start.began_at = *d->now;
    if (t->hub && t->failures == 0) /* soon there will be */
        phx__dial_start_news(&d->start, *d->now);
    t->at[i].dialled = 1;
    t->at[i].met = PHX__DIAL_MET_NOBODY;
    t->untried = (uint8_t)(t->untried & ~(1u << i));
    t->tried++;
    if (!t->hub)
        phx__dial_rate_spend(&d->rate, to, *d->now);
    error = d->ops.dial(d->ops.ctx, slot, t->hub ? PHX__NONE : t->node, to);
    if (error >= 0)
        return 1;
    dial_close(d, t, i);
    dial_note(d, t, i, error);
    return 0;
}

/* Begins a round: 0 if it is planned for later instead. */
PHX__COLD static int dial_begin_round(struct phx__dial *d, struct phx__dial_target *t)
{
    t->fresh = 0;
    if ((t->untried = (uint8_t)phx__dial_addr_usable(t->at, t->count, dial_slow(d), *d->now)) == 0) {
        dial_plan(d, t, 0); /* it was set off too soon: not before the first rest ends */
        return 0;
    }
    t->round = 1;
    t->tried = 0;
    t->verdict = DIAL_FAILED;
    return 1;
}

/* It is this target's turn: begin a round, or try the next address of one. */
PHX__COLD static void dial_advance(struct phx__dial *d, struct phx__dial_target *t)
{
    struct phx_address a[PHX__DIAL_ADDRESSES];
    uint64_t ban;
    uint32_t i;

    if (!dial_may_dial(d, t)) {
        /* The bound was reached meanwhile. What is under way may still become a link. */
        t->untried = 0;
        dial_settle(d, t);
        return;
    }
    if (!t->round && !dial_begin_round(d, t))
        return;
    phx__dial_target_addresses(&d->targets, t, a);
    for (i = 0; i < t->count; i++) /* what the card has no more */
        t->untried = (uint8_t)(a[i].family == 0 ? t->untried & ~(1u << i) : t->untried);
    do {
        i = dial_next_address(d, t, a, &ban);
    } while (i != PHX__NONE && !dial_begin(d, t, i, &a[i]));
    /* All that is left is busy: a round that tried something else is over, another one waits. */
    if (i == PHX__NONE && t->tried > 0 && t->open == 0)
        t->untried = 0;
    if (t->untried != 0) {
        if (ban > 0) /* many may wait for the same moment */
            ban = dial_between(d, ban, ban + PHX__SECOND);
        dial_set(d, t, *d->now + DIAL_STAGGER_US + ban);
    }
    dial_settle(d, t);
}

/* A target waits: is there a slot, or does one give way? */
PHX__COLD static int dial_has_room(struct phx__dial *d)
{
    struct phx__dial_slot *silent;
    struct phx__dial_target *t;
    uint32_t i;

    if (d->slots.count < d->slots.capacity)
        return 1;
    silent = phx__dial_slot_silent(&d->slots);
    d->room_at = silent != NULL ? silent->since + DIAL_STAGGER_US : UINT64_MAX;
    if (d->room_at > *d->now)
        return 0;
    t = dial_find(d, silent->number, &i);
    dial_abandon(d, t, i);
    dial_note(d, t, i, PHX_ETIMEDOUT);
    dial_go_on(d, t);
    return 1;
}

/* ---- Turns */

PHX__COLD static int dial_is_paced(const struct phx__dial *d)
{
    return d->limits.start_above != 0 && d->targets.known > d->limits.start_above;
}

/* Is it a first dial of a node that can be reached, or could be a moment ago? Such a one can wait. */
PHX__COLD static int dial_is_at_ease(const struct phx__dial *d, const struct phx__dial_target *t)
{
    const struct phx__dial_node *n = t->fresh ? dial_node(d, t->node) : NULL;

    return n != NULL && dial_is_paced(d) && (n->reachable || n->strayed);
}

/* When the pace lets the next one of those that can wait be dialled; UINT64_MAX: when a dial has ended. */
PHX__COLD static uint64_t dial_turn_at(struct phx__dial *d)
{
    if (d->waiting == 0)
        return UINT64_MAX;
    if (!dial_is_paced(d))
        return *d->now;
    return phx__dial_start_room_at(&d->start, &d->slots, d->targets.known, d->ops.busy(d->ops.ctx), *d->now);
}

/* The first of the queue can wait. */
PHX__COLD static void dial_take_turn(struct phx__dial *d, struct phx__dial_target *t)
{
    uint64_t turn = dial_turn_at(d), courtesy = dial_courtesy(d, t);

    if (turn > *d->now && turn != UINT64_MAX && courtesy > 0) {
        dial_plan(d, t, courtesy); /* our own turns are late, so are the other side's */
        return;
    }
    d->ticket += d->ticket == UINT32_MAX ? 2 : 1; /* 0 is none */
    t->ticket = d->ticket;
    phx__timer_stop(&d->targets.due, dial_index(d, t));
    d->waiting++;
}

/* Of those that wait: to whom somebody sends come first, then the lower ticket. A look at all for each dial,
 * nothing beside a dial. */
PHX__COLD static struct phx__dial_target *dial_next_turn(const struct phx__dial *d)
{
    struct phx__dial_target *t, *next = NULL;
    uint64_t turn, least = UINT64_MAX;

    for (t = d->targets.at; t < d->targets.at + d->targets.count; t++) {
        turn = t->ticket == 0 ? UINT64_MAX : (uint64_t)!dial_node(d, t->node)->wanted << 32 | t->ticket;
        next = turn < least ? t : next;
        least = PHX__MIN(turn, least);
    }
    return next;
}

/* Takes the next target out of the queue that may be dialled now, or NULL. While some wait for their turn
 * those that are due soon are looked at together: else each of hundreds of targets wakes the node for itself,
 * again and again, and in a crowd that costs more than all links do. */
PHX__COLD static struct phx__dial_target *dial_take(struct phx__dial *d)
{
    struct phx__dial_targets *ts = &d->targets;
    struct phx__dial_target *t;

    while (phx__timer_next(&ts->due) <= *d->now + (d->waiting > 0 ? DIAL_COURTESY_JITTER_US : 0)) {
        t = &ts->at[ts->due.heap[0]];
        if (!dial_is_at_ease(d, t)) {
            if (phx__timer_next(&ts->due) > *d->now)
                break;
            if (!dial_has_room(d))
                return NULL;
            phx__timer_stop(&ts->due, dial_index(d, t));
            return t;
        }
        dial_take_turn(d, t);
    }
    if (dial_turn_at(d) > *d->now || !dial_has_room(d))
        return NULL;
    t = dial_next_turn(d);
    dial_end_wait(d, t);
    return t;
}

/* ---- Addresses */

/* Other addresses for a target: what stays keeps its dial. 1 if some are new, 0, or PHX_ENOMEM. */
static int dial_replace(struct phx__dial *d, struct phx__dial_target *t, const struct phx_address *a,
                        uint32_t n)
{
    struct phx__dial_addr *at = phx__mem_zero(d->targets.mem, n * sizeof *at);
    unsigned untried = 0;
    int some = 0;

    if (at == NULL)
        return PHX_ENOMEM;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t key = phx__dial_addr_key(&d->rate, &a[k]);
        uint32_t i = phx__dial_addr_index(t->at, t->count, key);
        if (i == PHX__NONE || (t->untried & 1u << i) != 0)
            untried |= 1u << k;
        some |= i == PHX__NONE;
        at[k] = i != PHX__NONE ? t->at[i] : (struct phx__dial_addr){ .key = key };
        if (i != PHX__NONE)
            t->at[i].dialled = 0; /* moved: what is found below is to be abandoned */
    }
    dial_abandon_all(d, t);
    phx__dial_target_strip(&d->targets, t);
    t->at = at;
    t->count = (uint8_t)n;
    t->untried = (uint8_t)(t->round ? untried : 0);
    return some;
}

/* Other addresses for a node that had some. PHX_ENOMEM: nothing changed. */
PHX__COLD static int dial_renew(struct phx__dial *d, struct phx__dial_target *t, const struct phx_address *a,
                      uint32_t n)
{
    int some = dial_replace(d, t, a, n);

    if (some == 0)
        dial_settle(d, t); /* perhaps only what is gone now was still open */
    if (some > 0)
        dial_forgive(d, t, DIAL_FRESH_JITTER_US); /* new addresses, new hope */
    if (some > 0 && t->round)
        dial_set_sooner(d, t, *d->now + dial_between(d, 0, DIAL_FRESH_JITTER_US));
    return PHX__MIN(some, 0);
}

/* Addresses for a node that had none. PHX_ENOMEM: nothing changed. */
PHX__COLD static int dial_learn(struct phx__dial *d, uint32_t node, const struct phx_address *a, uint32_t n)
{
    struct phx__dial_target *t = phx__dial_target_learn(&d->targets, node, a, n);

    if (t == NULL)
        return PHX_ENOMEM;
    phx__dial_start_news(&d->start, *d->now);
    dial_plan(d, t, dial_courtesy(d, t));
    return 0;
}

/* A node has no addresses any more. If it was a pick, which is rare, the next one is looked for among all. */
PHX__COLD static void dial_drop_addrs(struct phx__dial *d, uint32_t node)
{
    struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);

    if (t == NULL)
        return;
    dial_rest(d, t);
    if ((t = phx__dial_target_drop(&d->targets, t)) != NULL)
        dial_plan_idle(d, t);
}

/* ---- The bound */

/* A bound that held and does not hold any more, which is rare, lets all targets at rest dial again. Three
 * bits: no more links; more nodes than links; more that can be reached. */
PHX__COLD static void dial_bound(struct phx__dial *d)
{
    uint32_t mesh = dial_mesh(d);
    int held = (d->links >= d->limits.max_links) | (d->targets.known > mesh) << 1
               | (d->targets.reachable > mesh) << 2;
    int free = d->held & ~held;

    d->held = held;
    for (uint32_t i = 0; free != 0 && i < d->targets.count; i++)
        if (d->targets.at[i].at != NULL)
            dial_plan_idle(d, &d->targets.at[i]);
}

/* ---- What the node tells us */

PHX__COLD int phx__dial_init(struct phx__dial *d, struct phx__mem *mem, struct phx__ids *ids,
                   struct phx__timers *timers, struct phx__rnd *rnd, const uint64_t *now,
                   const struct phx__dial_limits *limits, const struct phx__dial_ops *ops)
{
    *d = (struct phx__dial){ .timers = timers, .rnd = rnd, .ops = *ops, .limits = *limits, .now = now,
                             .ask_timer = PHX__NONE };
    d->targets = (struct phx__dial_targets){ .mem = mem, .ids = ids, .rate = &d->rate, .free = PHX__NONE,
                                             .ctx = ops->ctx, .addresses = ops->addresses,
                                             .picks_most = limits->full_mesh > 0 ? PHX__DIAL_PICKS : 0 };
    phx__timer_init(&d->targets.due, mem);
    phx__dial_start_init(&d->start);
    if (phx__timer_new(timers, PHX__TIMER_DIAL, 0, &d->timer) != 0
        || phx__ratelimit_init(&d->rate, mem, DIAL_RATES, phx__rnd_next(rnd)) != 0)
        return PHX_ENOMEM;
    /* At once, so that no dial can fail for lack of one. */
    d->slots.at = phx__mem_zero(mem, limits->max_dials * sizeof *d->slots.at);
    d->slots.capacity = limits->max_dials;
    return d->slots.at == NULL ? PHX_ENOMEM : 0;
}

PHX__COLD int phx__dial_ask_for_hubs(struct phx__dial *d)
{
    if (phx__timer_new(d->timers, PHX__TIMER_HUBS, 0, &d->ask_timer) != 0)
        return PHX_ENOMEM;
    dial_look_for_hubs(d);
    return 0;
}

PHX__COLD int phx__dial_lacks_hubs(struct phx__dial *d)
{
    int lacks = d->links == 0 && !d->stopped;

    for (uint32_t i = 0; i < d->targets.hub_count; i++) { /* one may rest, forgiven or not: itself, say */
        const struct phx__dial_target *t = &d->targets.at[d->targets.hubs[i]];
        lacks &= t->failures > 0 || phx__dial_addr_usable(t->at, t->count, dial_slow(d), *d->now) == 0;
    }
    if (lacks)
        phx__timer_set(d->timers, d->ask_timer, *d->now + d->limits.retry_max_us);
    return lacks;
}

/* Nothing is abandoned: the links close by themselves. */
PHX__COLD void phx__dial_free(struct phx__dial *d)
{
    struct phx__dial_targets *ts = &d->targets;

    for (uint32_t i = 0; i < ts->count; i++)
        phx__dial_target_strip(ts, &ts->at[i]);
    phx__timer_free(&ts->due);
    phx__mem_put(ts->mem, ts->at, ts->capacity * sizeof *ts->at);
    phx__mem_put(ts->mem, ts->nodes, ts->node_capacity * sizeof *ts->nodes);
    phx__mem_put(ts->mem, d->slots.at, d->slots.capacity * sizeof *d->slots.at);
    phx__ratelimit_free(&d->rate);
    memset(d, 0, sizeof *d);
}

/* Which of the hubs has these addresses, or hub_count. */
PHX__COLD static uint32_t dial_find_hub(const struct phx__dial_targets *ts, const struct phx_address *a,
                                        uint32_t n)
{
    uint32_t k;

    for (k = 0; k < ts->hub_count; k++)
        if (phx__dial_addr_is_same(ts->rate, ts->at[ts->hubs[k]].at, ts->at[ts->hubs[k]].count, a, n))
            break;
    return k;
}

PHX__COLD int phx__dial_hub(struct phx__dial *d, const struct phx_address *a, uint32_t count)
{
    struct phx_address order[PHX__DIAL_ADDRESSES];
    struct phx__dial_targets *ts = &d->targets;
    uint32_t n = phx__dial_addr_order(a, count, order);
    struct phx__dial_target *t;

    if (n == 0)
        return PHX_EINVAL;
    if (dial_find_hub(ts, order, n) < ts->hub_count)
        return 0;
    if (ts->hub_count == PHX__DIAL_HUBS)
        return PHX_ELIMIT;
    if ((t = phx__dial_target_new(ts, PHX__NONE, order, n)) == NULL)
        return PHX_ENOMEM;
    ts->hubs[ts->hub_count++] = (uint32_t)(t - ts->at);
    dial_plan(d, t, 0);
    return 0;
}

PHX__COLD int phx__dial_unhub(struct phx__dial *d, const struct phx_address *a, uint32_t count)
{
    struct phx_address order[PHX__DIAL_ADDRESSES];
    struct phx__dial_targets *ts = &d->targets;
    uint32_t n = phx__dial_addr_order(a, count, order), k = dial_find_hub(ts, order, n), target;

    if (k == ts->hub_count)
        return PHX_ENOTFOUND;
    target = ts->hubs[k];
    ts->hubs[k] = ts->hubs[--ts->hub_count];
    dial_rest(d, &ts->at[target]);
    phx__dial_target_free(ts, &ts->at[target]);
    dial_look_for_hubs(d);
    return 0;
}

int phx__dial_set_addrs(struct phx__dial *d, uint32_t node, const struct phx_address *a, uint32_t count)
{
    struct phx_address order[PHX__DIAL_ADDRESSES];
    uint32_t n = phx__dial_addr_order(a, count, order);
    struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);
    int err = 0;

    if (node == PHX__SELF)
        return 0;
    if (n > 0 && phx__dial_target_reserve(&d->targets, node) != 0)
        return PHX_ENOMEM;
    if (n == 0)
        dial_drop_addrs(d, node);
    else if (t == NULL)
        err = dial_learn(d, node, order, n);
    else if (!phx__dial_addr_is_same(&d->rate, t->at, t->count, order, n))
        err = dial_renew(d, t, order, n);
    if (err == 0)
        dial_bound(d);
    return err;
}

/* A dial has led to a link with node. error: it is not taken note of. */
PHX__COLD static void dial_won(struct phx__dial *d, uint32_t slot, uint32_t node, int error)
{
    uint32_t i = 0;
    struct phx__dial_target *t = dial_find(d, slot, &i);
    struct phx_address a[PHX__DIAL_ADDRESSES];

    if (t == NULL)
        return;
    if (error == 0)
        phx__dial_meet(d, slot, node); /* whoever answers there is that hub now */
    if (error == 0 && !t->hub) {
        phx__dial_target_addresses(&d->targets, t, a);
        phx__dial_rate_return(&d->rate, &a[i]);
    }
    phx__dial_start_learn(&d->start, phx__dial_slot_find(&d->slots, slot), d->targets.known,
                          d->slots.capacity, *d->now);
    dial_close(d, t, i);
    dial_note(d, t, i, error != 0 ? error : t->node == node ? 0 : PHX_EPEER);
    dial_go_on(d, t);
}

PHX__COLD int phx__dial_up(struct phx__dial *d, uint32_t node, uint32_t slot)
{
    struct phx__dial_target *all[PHX__DIAL_HUBS + 1];
    struct phx__dial_node *n;
    int error;

    PHX_ASSERT(node != PHX__SELF);
    error = phx__dial_target_reserve(&d->targets, node);
    dial_won(d, slot, node, error);
    if (error != 0)
        return error;
    n = &d->targets.nodes[node];
    d->links += !n->linked;
    d->targets.known += !n->linked && n->target == 0;
    n->linked = 1;
    n->wanted = 0;
    n->up_at = dial_tick(*d->now);
    for (uint32_t count = phx__dial_target_list(&d->targets, node, all); count-- > 0;)
        dial_rest(d, all[count]);
    dial_bound(d);
    return 0;
}

/* The wait after a link. One that comes and goes at once backs off like one that does not come. */
PHX__COLD static uint64_t dial_after_link(struct phx__dial *d, struct phx__dial_target *t, int steady,
                                          int rests)
{
    if (rests) {
        t->failures = DIAL_DEAD_ROUNDS;
        return dial_long(d);
    }
    if (!steady)
        return dial_backoff(d, t);
    t->failures = 0;
    return dial_between(d, 0, d->limits.retry_min_us);
}

PHX__COLD void phx__dial_down(struct phx__dial *d, uint32_t node, int rests)
{
    struct phx__dial_target *all[PHX__DIAL_HUBS + 1];
    struct phx__dial_node *n;
    uint64_t delay;
    int steady;

    if (!dial_node(d, node)->linked)
        return;
    n = &d->targets.nodes[node];
    n->linked = 0;
    d->links--;
    d->targets.known -= n->target == 0;
    steady = dial_tick(*d->now) - n->up_at >= dial_tick(DIAL_STEADY_US);
    for (uint32_t count = phx__dial_target_list(&d->targets, node, all); count-- > 0;) {
        delay = dial_after_link(d, all[count], steady, rests);
        dial_plan(d, all[count], delay + dial_courtesy(d, all[count]));
    }
    dial_look_for_hubs(d);
    dial_bound(d);
}

PHX__COLD void phx__dial_meet(struct phx__dial *d, uint32_t slot, uint32_t node)
{
    uint32_t i = 0;
    struct phx__dial_target *t = dial_find(d, slot, &i);

    if (t == NULL)
        return;
    if (t->hub && node != PHX__NONE)
        t->node = node;
    t->at[i].met = t->hub || t->node == node ? PHX__DIAL_MET_RIGHT : PHX__DIAL_MET_OTHER;
}

PHX__COLD void phx__dial_give_way(struct phx__dial *d, uint32_t node, uint64_t patience)
{
    struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);

    if (t == NULL || t->fresh != 2 || !dial_is_at_ease(d, t))
        return;
    t->fresh = 1;
    dial_plan(d, t, patience + dial_between(d, 0, DIAL_COURTESY_JITTER_US));
}

PHX__COLD void phx__dial_resume(struct phx__dial *d, uint32_t node)
{
    struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);

    if (t != NULL && t->fresh == 1 && !t->round && dial_may_dial(d, t))
        dial_set_sooner(d, t, *d->now + dial_between(d, 0, DIAL_FRESH_JITTER_US));
}

PHX__COLD void phx__dial_result(struct phx__dial *d, uint32_t slot, int error)
{
    uint32_t i = 0;
    struct phx__dial_target *t = dial_find(d, slot, &i);

    PHX_ASSERT(error < 0);
    if (t == NULL)
        return;
    dial_close(d, t, i);
    dial_note(d, t, i, error);
    /* An unproved "duplicate" is mostly true: then the link shows up before the next address is due. */
    if (error != PHX_EDUPLICATE || t->untried == 0)
        dial_go_on(d, t);
}

void phx__dial_want(struct phx__dial *d, uint32_t node)
{
    struct phx__dial_target *t;

    /* Without memory the wish is lost. It comes again with the next message. */
    if (node == PHX__SELF || dial_node(d, node)->linked || phx__dial_target_reserve(&d->targets, node) != 0
        || d->targets.nodes[node].wanted)
        return;
    d->targets.nodes[node].wanted = 1;
    if ((t = phx__dial_target_of(&d->targets, node)) != NULL)
        dial_hasten(d, t, d->limits.retry_min_us);
}

PHX__COLD void phx__dial_route(struct phx__dial *d, uint32_t node, int reachable)
{
    struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);

    if (t == NULL || dial_node(d, node)->reachable == reachable)
        return;
    d->targets.nodes[node].reachable = reachable != 0;
    d->targets.nodes[node].strayed |= !reachable;
    d->targets.reachable += reachable ? 1u : UINT32_MAX;
    dial_bound(d);
    if (dial_node(d, node)->linked)
        return;
    if (reachable)
        dial_forgive(d, t, d->limits.retry_min_us);
    else
        dial_hasten(d, t, DIAL_MOVED_JITTER_US);
}

PHX__COLD void phx__dial_moved(struct phx__dial *d)
{
    for (uint32_t i = 0; i < d->targets.count; i++)
        if (d->targets.at[i].at != NULL && !dial_node(d, d->targets.at[i].node)->linked)
            dial_forgive(d, &d->targets.at[i], DIAL_MOVED_JITTER_US);
}

PHX__COLD void phx__dial_answered(struct phx__dial *d, uint32_t slot, int answered)
{
    struct phx__dial_slot *of = phx__dial_slot_find(&d->slots, slot);

    if (of != NULL)
        of->answered_at = answered ? PHX__MAX(*d->now, 1) : 0;
}

PHX__COLD void phx__dial_forget(struct phx__dial *d, uint32_t node)
{
    struct phx__dial_targets *ts = &d->targets;

    /* A hub that says goodbye is still linked for a moment. Were it not, it would be dialled. */
    for (uint32_t i = 0; i < ts->hub_count && !dial_node(d, node)->linked; i++)
        if (ts->at[ts->hubs[i]].node == node)
            ts->at[ts->hubs[i]].node = PHX__NONE;
    if (node >= ts->node_capacity)
        return;
    dial_drop_addrs(d, node);
    ts->nodes[node].wanted = 0;
    dial_bound(d);
}

PHX__COLD int phx__dial_is_answered(const struct phx__dial *d, uint32_t node)
{
    const struct phx__dial_target *t = phx__dial_target_of(&d->targets, node);
    const struct phx__dial_slot *s = d->slots.at;

    for (; t != NULL && t->open > 0 && s < d->slots.at + d->slots.count; s++)
        if (s->target == dial_index(d, t) && s->answered_at != 0)
            return 1;
    return 0;
}

PHX__COLD int phx__dial_is_first(const struct phx__dial *d, uint32_t slot)
{
    uint32_t i;
    const struct phx__dial_target *t = dial_find(d, slot, &i);

    return t != NULL && t->at[i].tried_ms == 0;
}

PHX__COLD void phx__dial_stop(struct phx__dial *d)
{
    d->stopped = 1;
    for (uint32_t i = 0; i < d->targets.count; i++)
        dial_rest(d, &d->targets.at[i]);
}

PHX__COLD void phx__dial_due(struct phx__dial *d)
{
    struct phx__dial_target *t;
    uint64_t at;

    for (uint32_t n = 0; n < d->slots.capacity && (t = dial_take(d)) != NULL; n++)
        dial_advance(d, t);
    at = PHX__MIN(phx__timer_next(&d->targets.due), dial_turn_at(d));
    if (at <= *d->now && d->slots.count == d->slots.capacity)
        at = d->room_at;
    phx__timer_set(d->timers, d->timer, at);
}
