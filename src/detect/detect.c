/* detect.c - who is alive: monitors, heartbeats, silence, suspicion, own stalls. */

/* Horita, Taura and Chikayama, "A Fault Detection Library in Phoenix Programming Model" (2003), with
 * what membership protocols have learnt since (SWIM, Lifeguard). Two questions are kept apart here,
 * because mixing them up is how failure detectors lie.
 *
 * 1. IS THIS LINK ALIVE? (Section 4.2 of the paper.) Each node picks k of its neighbours at random
 *    as its *monitors*. They hear something of it at least every interval_us, all others at least
 *    every insurance_us, which is much longer; each heartbeat announces which of the two. So a
 *    process sends and receives about k heartbeats per interval whatever the number of processes
 *    is, and a death together with all monitors is still found in the end. Everything that travels
 *    counts as a heartbeat, so a busy link carries none. A link silent for longer than announced
 *    and timeout_us on top is given up.
 *
 *    The pick is a reservoir: link number n becomes a monitor with chance k / n, in place of a
 *    random one; a monitor that goes is replaced by a random neighbour. So at any time each set
 *    of k neighbours is as probable as any other, and few are told when many links come.
 *
 * 2. IS THIS NODE ALIVE? (Section 4.3.) Routing knows whether there is a way to it:
 *
 *            .--- silent, or a word ---> SUSPECT --.
 *            |  <--- a sign of life -----'         | no route
 *            |                                     v
 *          OK ---------- no route ---------> UNREACHABLE ---- broken_us later ---> FAILED
 *            ^                                     |                                 |
 *            +------------ a route ----------------+---------------------------------+
 *
 *    From each of them a card that says goodbye, once there is no route, leads to LEFT, and a
 *    route leads back to OK from there as well. A node is in no state until routing has spoken
 *    of it. A lost link is thus never read as a dead node, and a node that said goodbye never as a
 *    failed one.
 *
 * Where the two meet lies what the paper leaves open. A dead node's k monitors notice after
 * interval_us + timeout_us, but all its other neighbours go on believing in their links, and so
 * in a route, until the insurance runs out. Therefore a silence of half of timeout_us more than
 * announced makes the node SUSPECT, and the *word* goes to everybody. Whoever has a link with it
 * does not believe but asks over that link, and gives it up without an answer in the other half.
 * So all links with a dead node are gone after interval_us + timeout_us and the time of one flood.
 * The accused hears the word too, and refutes it by a new number, which reaches everybody who has
 * a way to it. A suspicion that nothing comes of ends by itself after timeout_us + broken_us.
 *
 * A node that cannot be reached is sought through others (ops.seek) when it is lost and again in
 * the middle of broken_us. An answer puts its failure off by broken_us, but not for ever: whoever has the
 * key can say that a dead node is alive, and a live one whose routes do not come back in all that
 * time is of no use to us. After DETECT_PUT_OFF of them its time runs.
 *
 * Links in use are not left to the insurance: a message went out and nothing came in for
 * interval_us, then an answer is asked for.
 *
 * Own stalls. A host that computes for a minute has read nothing for a minute, and all its peers
 * look dead. But how long a host may sleep is its own affair: between heartbeats of 5 s it
 * sleeps for 5 s, and rightly so. What tells a stall is that a step comes later than the
 * earliest timer asked for. Then the whole gap between two steps does not count: time for
 * accusations runs on a *waking clock*, the host's clock minus all stalls. Moving every deadline
 * of every link by the gap costs one addition. A host that is late at every single step accuses
 * nobody; what its sockets report still counts. And since what was left of a deadline may be
 * nothing, nobody is accused before everything that waited has been read once (`blind`). A node that
 * is given more than it can read never gets there, so after timeout_us of reading that must do.
 *
 * Others may have given *us* up in the meantime. That their ends of all links are closed says
 * nothing about them; so nobody lost shortly after a stall fails sooner than that much later
 * (`grace`), which is the time to find the way back.
 *
 * Own heartbeats are due by the host's clock, since others do not know of our stall, unless the
 * host has announced it: then they hear of a longer time now and of the usual one when it is
 * back. A neighbour that has announced a pause is not doubted by anybody's word before it is over.
 *
 * Timers are lazy. Traffic only stores times; the one timer of a link fires, finds out what is
 * true by then, and is set to the earliest of what there is to say, to hear or to find out. A link
 * that carries a million frames a second touches the heap once in interval_us.
 *
 * This room does not know what a heartbeat looks like, how a word travels, nor what else is done
 * about a dead link. */
#include "detect/detect.h"

/* A step this much later than its timer is a stall. Shorter delays are ordinary scheduling and
 * well within any time-out that survives real networks; with shorter time-outs, half of one
 * counts. */
#define DETECT_LATE_US PHX__SECOND
/* What both ends of a new link may count on before anything was announced; WIRE.md says so. */
#define DETECT_FIRST_US (5 * PHX__SECOND)
/* The most that a stall may put off the failure of others. Finding the way back takes a dial or
 * two, and one may have to wait for the other side's turn, a second or so. */
#define DETECT_GRACE_US (10 * PHX__SECOND)
/* In place of a node: the timer that all share. */
#define DETECT_ALL PHX__NONE
/* Until the next look, while there is something left to read. */
#define DETECT_BLIND_US PHX__MS
/* Ten answers, each of which is good for broken_us: by then a route that comes back at all has come. */
#define DETECT_PUT_OFF 10u

static uint64_t detect_add(uint64_t a, uint64_t b)
{
    const uint64_t never = UINT64_MAX - 1; /* as a timer; UINT64_MAX itself would stop it */

    return a < never && b < never - a ? a + b : never;
}

static uint64_t detect_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The host's clock, should it have run backwards since the step began. */
static uint64_t detect_clock(const struct phx__detect *l, uint64_t now)
{
    return now < l->last_step ? l->last_step : now;
}

/* The same without own stalls. It never runs backwards, because a stall is at most the gap it
 * lies in. */
static uint64_t detect_awake(const struct phx__detect *l, uint64_t now)
{
    return detect_clock(l, now) - l->stalled;
}

static struct phx__detect_node *detect_find(const struct phx__detect *l, uint32_t node)
{
    return node < l->capacity ? &l->at[node] : NULL;
}

static struct phx__detect_link *detect_linked(const struct phx__detect *l, uint32_t node)
{
    uint32_t place = node < l->capacity ? l->at[node].link : 0;

    return place != 0 ? l->link_at[place - 1] : NULL;
}

static int detect_timer_new(struct phx__detect *l, int kind, uint32_t node, uint32_t *handle_plus_one)
{
    uint32_t handle;

    if (phx__timer_new(l->timers, kind, node, &handle) != 0)
        return PHX_ENOMEM;
    *handle_plus_one = handle + 1;
    return 0;
}

static void detect_timer_drop(struct phx__detect *l, uint32_t *handle_plus_one)
{
    if (*handle_plus_one != 0)
        phx__timer_drop(l->timers, *handle_plus_one - 1);
    *handle_plus_one = 0;
}

/* ---- When to look at a link ------------------------------------------------------------------ */

/* Within which time this neighbour hears of us. */
static uint64_t detect_period(const struct phx__detect *l, const struct phx__detect_link *n)
{
    return n->monitor ? l->limits.interval_us : l->limits.insurance_us;
}

/* When to speak: as often as we should, and not later than we said. */
static uint64_t detect_speak(const struct phx__detect *l, const struct phx__detect_link *n)
{
    return n->tell ? 0 : detect_add(n->said, detect_least(detect_period(l, n), n->promised));
}

/* How long it may be silent before others are told, and then before it is given up. */
static uint64_t detect_patience(const struct phx__detect *l, const struct phx__detect_link *n)
{
    uint64_t grace = l->limits.timeout_us;

    return detect_add(n->next_us, n->silent ? grace : grace / 2);
}

static void detect_arm(struct phx__detect *l, struct phx__detect_link *n, uint64_t now)
{
    uint64_t hear = detect_add(n->heard, detect_patience(l, n)), at;

    if (n->asked)
        hear = detect_least(hear, n->asked_until);
    if (n->used)
        hear = detect_least(hear, detect_add(n->used_at, l->limits.interval_us));
    at = detect_least(detect_speak(l, n), detect_add(hear, l->stalled));
    if (l->blind && at < now + DETECT_BLIND_US)
        at = now + DETECT_BLIND_US;
    phx__timer_set(l->timers, n->timer, at);
}

/* ---- Monitors -------------------------------------------------------------------------------- */

static void detect_promote(struct phx__detect *l, uint32_t node)
{
    struct phx__detect_link *n = detect_linked(l, node);

    n->monitor = 1;
    l->monitors++;
    n->tell = n->promised > l->limits.interval_us;
    if (n->tell)
        phx__timer_set(l->timers, n->timer, l->last_step);
}

/* It need not know: it hears of it when what it was promised is due. */
static void detect_demote(struct phx__detect *l, uint32_t node)
{
    struct phx__detect_link *n = detect_linked(l, node);

    n->monitor = n->tell = 0;
    l->monitors--;
}

/* The one with this number among the links that are monitors, or that are not, and not busy. */
static uint32_t detect_pick(const struct phx__detect *l, uint8_t monitor, int busy, uint64_t number)
{
    uint32_t i;

    for (i = 0; i < l->link_count; i++) {
        const struct phx__detect_link *n = l->link_at[i];
        if (n->monitor == monitor && (busy || !n->busy) && number-- == 0)
            return l->links[i];
    }
    return PHX__NONE;
}

static uint32_t detect_count_free(const struct phx__detect *l)
{
    uint32_t i, count = 0;

    for (i = 0; i < l->link_count; i++)
        count += !l->link_at[i]->monitor && !l->link_at[i]->busy;
    return count;
}

/* As many monitors as wanted, or as there are neighbours; those who are away only if there is
 * nobody else. */
static void detect_fill(struct phx__detect *l)
{
    while (l->monitors > l->limits.monitors)
        detect_demote(l, detect_pick(l, 1, 1, phx__rnd_below(l->rnd, l->monitors)));
    while (l->monitors < l->limits.monitors && l->monitors < l->link_count) {
        uint32_t here = detect_count_free(l), rest = l->link_count - l->monitors;
        detect_promote(l, detect_pick(l, 0, here == 0, phx__rnd_below(l->rnd, here ? here : rest)));
    }
}

/* The newest link: see the essay. */
static void detect_draw(struct phx__detect *l, uint32_t node)
{
    if (l->monitors >= l->limits.monitors
        && phx__rnd_below(l->rnd, l->link_count) < l->limits.monitors) {
        detect_demote(l, detect_pick(l, 1, 1, phx__rnd_below(l->rnd, l->monitors)));
        detect_promote(l, node);
    }
    detect_fill(l);
}

/* ---- States ---------------------------------------------------------------------------------- */

static void detect_become(struct phx__detect *l, uint32_t node, enum phx_state state, uint64_t now)
{
    struct phx__detect_node *n = &l->at[node];

    if (n->state == state)
        return;
    l->suspects -= n->state == PHX_NODE_SUSPECT;
    l->suspects += state == PHX_NODE_SUSPECT;
    n->state = (uint8_t)state;
    n->since = detect_clock(l, now);
    if (state != PHX_NODE_UNREACHABLE && state != PHX_NODE_SUSPECT)
        detect_timer_drop(l, &n->fate);
    l->ops.state(l->ops.ctx, node, state); /* last: it may call back and move n */
}

static void detect_blame(struct phx__detect *l, uint32_t node, enum phx__detect_ground ground,
                       uint32_t accuser, uint64_t now)
{
    struct phx__detect_node *n = &l->at[node];

    n->ground = (uint8_t)ground;
    n->accuser = accuser;
    n->accused_at = detect_clock(l, now);
}

/* When the fate of a node is looked at again. Few nodes have one, so its timer is made when it is needed;
 * without memory for it one timer that all nodes share fires in its place. */
static void detect_fate_at(struct phx__detect *l, uint32_t node, uint64_t at)
{
    struct phx__detect_node *n = &l->at[node];

    if (n->fate != 0 || detect_timer_new(l, PHX__TIMER_LIVE_NODE, node, &n->fate) == 0)
        phx__timer_set(l->timers, n->fate - 1, at);
    else if (at < phx__timer_at(l->timers, l->rescue - 1))
        phx__timer_set(l->timers, l->rescue - 1, at);
}

/* The fate timer, on the waking clock. */
static void detect_doom(struct phx__detect *l, uint32_t node, uint64_t awake, uint64_t look)
{
    l->at[node].doom = awake;
    detect_fate_at(l, node, detect_add(look, l->stalled));
}

static void detect_suspect(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_node *n = &l->at[node];
    uint64_t until;

    if (n->state != PHX_NODE_OK)
        return;
    until = detect_add(detect_awake(l, now), detect_add(l->limits.timeout_us, l->limits.broken_us));
    detect_doom(l, node, until, until);
    detect_become(l, node, PHX_NODE_SUSPECT, now);
}

/* Unreachable: so long until it has failed, with a second search halfway. */
static void detect_sentence(struct phx__detect *l, uint32_t node, uint64_t now)
{
    uint64_t awake = detect_awake(l, now), from = awake > l->grace ? awake : l->grace;
    uint64_t broken = l->limits.broken_us;

    l->at[node].sought = 0;
    detect_doom(l, node, detect_add(from, broken), detect_add(from, broken / 2));
}

static void detect_lose(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_node *n = &l->at[node];

    n->put_off = 0;
    detect_sentence(l, node, now);
    if (n->state != PHX_NODE_SUSPECT)
        detect_blame(l, node, PHX__LIVE_ROUTE, PHX__NONE, now);
    detect_become(l, node, PHX_NODE_UNREACHABLE, now);
    if (detect_find(l, node)->state == PHX_NODE_UNREACHABLE)
        l->ops.seek(l->ops.ctx, node);
}

static void detect_fate(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_node *n = &l->at[node];
    uint64_t awake = detect_awake(l, now);

    if (l->blind) {
        detect_fate_at(l, node, now + DETECT_BLIND_US);
    } else if (n->state == PHX_NODE_SUSPECT && awake >= n->doom) {
        detect_become(l, node, PHX_NODE_OK, now); /* those who have a link with it have kept it */
    } else if (n->state == PHX_NODE_UNREACHABLE && awake >= n->doom) {
        detect_become(l, node, PHX_NODE_FAILED, now);
    } else if (n->state == PHX_NODE_UNREACHABLE && !n->sought
               && detect_add(awake, l->limits.broken_us - l->limits.broken_us / 2) >= n->doom) {
        n->sought = 1;
        detect_doom(l, node, n->doom, n->doom);
        l->ops.seek(l->ops.ctx, node);
    } else { /* a stall came between, or another limit */
        detect_doom(l, node, n->doom, n->doom);
    }
}

/* ---- Looking at a link ----------------------------------------------------------------------- */

/* Asks for a sign of life, within this time from now. */
static void detect_demand(struct phx__detect *l, uint32_t node, uint64_t within, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);
    uint64_t until = detect_add(detect_awake(l, now), within);

    if (n->busy || (n->asked && n->asked_until <= until))
        return; /* who is away cannot answer: what it announced holds */
    n->asked = 1;
    n->asked_until = until;
    l->ops.beat(l->ops.ctx, node, 1);
    n = detect_linked(l, node);
    if (n != NULL)
        detect_arm(l, n, now);
}

static int detect_is_gone(const struct phx__detect *l, const struct phx__detect_link *n, uint64_t awake)
{
    return awake - n->heard >= detect_add(n->next_us, l->limits.timeout_us)
           || (n->asked && awake >= n->asked_until);
}

/* Messages went out a while ago. If nothing came after any of them: did they arrive? */
static void detect_review_use(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);

    n->used = n->used_last > n->heard;
    if (!n->used)
        return;
    if (n->heard > n->used_at) {
        n->used_at = n->heard; /* some did; now for the rest */
        return;
    }
    n->used = 0;
    detect_demand(l, node, l->limits.timeout_us, now);
}

/* What must be heard: 1 if the link stands. */
static int detect_listen(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);
    uint64_t awake = detect_awake(l, now);

    if (l->blind)
        return 1;
    if (detect_is_gone(l, n, awake)) {
        /* The owner closes the link and calls down. Should it not, it is told again and again. */
        phx__timer_set(l->timers, n->timer, detect_add(now, l->limits.interval_us));
        detect_blame(l, node, PHX__LIVE_SILENT, PHX__SELF, now);
        l->ops.silent(l->ops.ctx, node, awake - n->heard);
        return 0;
    }
    if (!n->silent && awake - n->heard >= detect_patience(l, n)) {
        n->silent = 1;
        detect_blame(l, node, PHX__LIVE_SILENT, PHX__SELF, now);
        detect_suspect(l, node, now);
        l->ops.suspect(l->ops.ctx, node);
        n = detect_linked(l, node);
    }
    if (n != NULL && n->used && awake >= detect_add(n->used_at, l->limits.interval_us)) {
        detect_review_use(l, node, now);
        n = detect_linked(l, node);
    }
    return n != NULL;
}

/* What would have been due since the last heartbeat, had nothing else been said. */
static void detect_count_saved(struct phx__detect *l, struct phx__detect_link *n, uint64_t now)
{
    uint64_t period = detect_period(l, n), count;

    if (now < n->due_at)
        return;
    count = (now - n->due_at) / period + 1;
    n->due_at = detect_add(n->due_at, count * period);
    *(n->monitor ? &l->saved : &l->saved_insurance) += count;
}

/* The timer of a link fired: find out what is true by now. */
static void detect_check(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n;

    if (!detect_listen(l, node, now))
        return;
    n = detect_linked(l, node);
    if (now >= detect_speak(l, n)) {
        n->tell = 0;
        l->ops.beat(l->ops.ctx, node, 0);
        /* Counts as said even if it could not be sent: a link that is full of other traffic is not
         * helped by trying at once again. */
        n = detect_linked(l, node);
        if (n != NULL)
            n->said = now;
    } else {
        detect_count_saved(l, n, now);
    }
    if (n != NULL)
        detect_arm(l, n, now);
}

/* ---- The door -------------------------------------------------------------------------------- */

void phx__detect_init(struct phx__detect *l, struct phx__mem *mem, struct phx__timers *timers,
                    struct phx__rnd *rnd, const struct phx_detector *limits,
                    const struct phx__detect_ops *ops)
{
    PHX_ASSERT(limits->interval_us > 0);
    memset(l, 0, sizeof *l);
    l->mem = mem;
    l->timers = timers;
    l->rnd = rnd;
    l->limits = *limits;
    l->ops = *ops;
}

/* Its timers end with the heap of timers. */
void phx__detect_free(struct phx__detect *l)
{
    while (l->link_count > 0)
        phx__mem_put(l->mem, l->link_at[--l->link_count], sizeof **l->link_at);
    phx__mem_put(l->mem, l->at, l->capacity * sizeof *l->at);
    phx__mem_put(l->mem, l->links, l->link_capacity * sizeof *l->links);
    phx__mem_put(l->mem, l->link_at, l->link_at_capacity * sizeof *l->link_at);
    l->at = NULL;
    l->links = NULL;
    l->link_at = NULL;
    l->capacity = l->link_capacity = l->link_at_capacity = 0;
}

void phx__detect_limits(struct phx__detect *l, const struct phx_detector *d)
{
    uint32_t i;

    l->limits = *d;
    detect_fill(l);
    for (i = 0; i < l->link_count; i++) {
        struct phx__detect_link *n = l->link_at[i];
        n->tell = (uint8_t)(n->monitor && n->promised > d->interval_us);
        detect_arm(l, n, l->last_step);
    }
}

static void detect_beat_all(struct phx__detect *l)
{
    uint32_t i;

    for (i = l->link_count; i-- > 0;)
        if (i < l->link_count)
            l->ops.beat(l->ops.ctx, l->links[i], 0);
}

void phx__detect_busy(struct phx__detect *l, uint64_t us)
{
    uint64_t before = l->pause;

    /* And one interval: nobody knows how long something takes. */
    l->pause = us == 0 ? 0 : detect_add(us, l->limits.interval_us);
    if (l->pause != before)
        detect_beat_all(l);
}

void phx__detect_step(struct phx__detect *l, uint64_t now)
{
    uint64_t due = phx__timer_next(l->timers), late = DETECT_LATE_US, gap;

    if (now <= due && now >= l->last_step && l->stepped && !l->blind && l->pause == 0) {
        l->last_step = now; /* in time, as most steps are: nothing to find out */
        return;
    }
    if (!l->stepped) {
        l->stepped = 1;
        l->last_step = now;
        return;
    }
    if (now <= l->last_step)
        return; /* also a clock that runs backwards: it stands still until it has caught up */
    if (late > l->limits.timeout_us / 2)
        late = l->limits.timeout_us / 2;
    if (due < l->last_step)
        due = l->last_step;
    gap = now - l->last_step;
    if (now > due && now - due > late) {
        uint64_t grace = detect_add(detect_awake(l, l->last_step), detect_least(gap, DETECT_GRACE_US));
        l->stalled += gap;
        l->blind = 1;
        l->blind_until = detect_add(detect_awake(l, now), l->limits.timeout_us);
        if (grace > l->grace)
            l->grace = grace;
    }
    l->last_step = now;
    if (detect_awake(l, now) >= l->blind_until)
        l->blind = 0;
    phx__detect_busy(l, 0);
}

void phx__detect_round(struct phx__detect *l)
{
    l->blind = 0;
}

/* What is kept of a new link. NULL: no memory, and nothing has changed. */
static struct phx__detect_link *detect_link_new(struct phx__detect *l, uint32_t node)
{
    struct phx__detect_link *n;

    if (phx__mem_grow(l->mem, &l->links, &l->link_capacity, l->link_count + 1, sizeof *l->links) != 0
        || phx__mem_grow(l->mem, &l->link_at, &l->link_at_capacity, l->link_count + 1,
                         sizeof *l->link_at) != 0
        || (n = phx__mem_zero(l->mem, sizeof *n)) == NULL)
        return NULL;
    if (phx__timer_new(l->timers, PHX__TIMER_LIVE, node, &n->timer) != 0) {
        phx__mem_put(l->mem, n, sizeof *n);
        return NULL;
    }
    l->links[l->link_count] = node;
    l->link_at[l->link_count] = n;
    l->at[node].link = ++l->link_count;
    return n;
}

int phx__detect_up(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n;
    int is_new;

    if (phx__mem_grow(l->mem, &l->at, &l->capacity, node + 1, sizeof *l->at) != 0)
        return PHX_ENOMEM;
    is_new = l->at[node].link == 0;
    n = is_new ? detect_link_new(l, node) : detect_linked(l, node);
    if (n == NULL)
        return PHX_ENOMEM;
    /* The hello was heard and answered just now. */
    n->heard = detect_awake(l, now);
    n->said = detect_clock(l, now);
    n->due_at = detect_add(n->said, l->limits.insurance_us);
    n->next_us = n->promised = DETECT_FIRST_US;
    n->busy = n->silent = n->asked = n->used = 0;
    if (is_new)
        detect_draw(l, node);
    detect_arm(l, n, now);
    phx__detect_alive(l, node, now);
    return 0;
}

void phx__detect_down(struct phx__detect *l, uint32_t node)
{
    struct phx__detect_link *n = detect_linked(l, node);
    uint32_t last, place;

    if (n == NULL)
        return;
    if (n->monitor)
        detect_demote(l, node);
    phx__timer_drop(l->timers, n->timer);
    place = l->at[node].link - 1;
    l->at[node].link = 0;
    last = l->links[--l->link_count];
    l->links[place] = last;
    l->link_at[place] = l->link_at[l->link_count];
    if (last != node)
        l->at[last].link = place + 1;
    phx__mem_put(l->mem, n, sizeof *n);
    detect_fill(l);
}

uint64_t phx__detect_promise(struct phx__detect *l, uint32_t node, uint64_t now, int *monitor)
{
    struct phx__detect_link *n = detect_linked(l, node);

    *monitor = n != NULL && n->monitor;
    if (n == NULL)
        return l->limits.interval_us;
    n->said = detect_clock(l, now);
    n->promised = l->pause ? l->pause : detect_period(l, n);
    n->due_at = detect_add(n->said, detect_period(l, n));
    n->tell = 0;
    if (detect_speak(l, n) < phx__timer_at(l->timers, n->timer))
        detect_arm(l, n, now);
    return n->promised;
}

void phx__detect_heard(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);

    if (n == NULL)
        return;
    n->heard = detect_awake(l, now);
    n->silent = n->asked = 0;
    if (l->at[node].state == PHX_NODE_SUSPECT)
        detect_become(l, node, PHX_NODE_OK, now);
}

void phx__detect_said(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);

    if (n != NULL)
        n->said = detect_clock(l, now);
}

void phx__detect_beat(struct phx__detect *l, uint32_t node, uint64_t next_us, int busy, int watched,
                    uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);
    uint64_t before;

    if (n == NULL)
        return;
    n->watched = (uint8_t)(watched != 0);
    n->busy = (uint8_t)(busy != 0);
    before = n->next_us;
    n->next_us = next_us != 0 ? next_us : before;
    if (n->next_us < before) /* a lazy timer may fire too early, never too late */
        detect_arm(l, n, now);
    if (busy && n->monitor) { /* who is away sees nothing */
        detect_demote(l, node);
        detect_fill(l);
    }
    phx__detect_heard(l, node, now);
}

void phx__detect_used(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_link *n = detect_linked(l, node);

    if (n == NULL)
        return;
    n->used_last = detect_awake(l, now);
    if (n->used)
        return;
    n->used = 1;
    n->used_at = n->used_last;
    detect_arm(l, n, now);
}

void phx__detect_ask(struct phx__detect *l, uint32_t node, uint64_t now)
{
    if (detect_linked(l, node) != NULL)
        detect_demand(l, node, l->limits.timeout_us, now);
}

int phx__detect_word(struct phx__detect *l, uint32_t node, uint32_t accuser, uint64_t now)
{
    const struct phx__detect_link *n = detect_linked(l, node);

    if (detect_find(l, node) == NULL || (n != NULL && n->busy))
        return 0;
    detect_blame(l, node, PHX__LIVE_WORD, accuser, now);
    if (n != NULL && !n->silent)
        detect_demand(l, node, l->limits.timeout_us / 2, now);
    detect_suspect(l, node, now);
    return 1;
}

void phx__detect_alive(struct phx__detect *l, uint32_t node, uint64_t now)
{
    struct phx__detect_node *n = detect_find(l, node);

    if (n != NULL && n->state == PHX_NODE_SUSPECT) {
        detect_become(l, node, PHX_NODE_OK, now);
    } else if (n != NULL && n->state == PHX_NODE_UNREACHABLE && n->put_off < DETECT_PUT_OFF) {
        n->put_off++;
        detect_sentence(l, node, now);
    }
}

int phx__detect_reachable(struct phx__detect *l, uint32_t node, int yes, int left, uint64_t now)
{
    struct phx__detect_node *n;

    if (phx__mem_grow(l->mem, &l->at, &l->capacity, node + 1, sizeof *l->at) != 0)
        return PHX_ENOMEM;
    n = &l->at[node];
    /* Made when the first node becomes known, so that nothing can fail when one is lost. */
    if (l->rescue == 0 && detect_timer_new(l, PHX__TIMER_LIVE_NODE, DETECT_ALL, &l->rescue) != 0)
        return PHX_ENOMEM;
    if (yes && n->state != PHX_NODE_SUSPECT) /* that there is a route was never doubted */
        detect_become(l, node, PHX_NODE_OK, now);
    else if (!yes && left)
        detect_become(l, node, PHX_NODE_LEFT, now);
    else if (!yes && n->state != PHX_NODE_UNREACHABLE && n->state != PHX_NODE_FAILED
             && n->state != PHX_NODE_LEFT)
        detect_lose(l, node, now);
    return 0;
}

enum phx_state phx__detect_state(const struct phx__detect *l, uint32_t node, uint64_t *since)
{
    const struct phx__detect_node *n = detect_find(l, node);

    if (since != NULL)
        *since = n == NULL ? 0 : n->since;
    return n == NULL ? (enum phx_state)0 : (enum phx_state)n->state;
}

int phx__detect_is_monitor(const struct phx__detect *l, uint32_t node)
{
    const struct phx__detect_link *n = detect_linked(l, node);

    return n != NULL && n->monitor;
}

const struct phx__detect_node *phx__detect_look(const struct phx__detect *l, uint32_t node)
{
    return detect_find(l, node);
}

const struct phx__detect_link *phx__detect_link_of(const struct phx__detect *l, uint32_t node)
{
    return detect_linked(l, node);
}

void phx__detect_forget(struct phx__detect *l, uint32_t node)
{
    struct phx__detect_node *n = detect_find(l, node);

    if (n == NULL)
        return;
    phx__detect_down(l, node);
    l->suspects -= n->state == PHX_NODE_SUSPECT;
    detect_timer_drop(l, &n->fate);
    memset(n, 0, sizeof *n);
}

static int detect_has_fate(const struct phx__detect_node *n)
{
    return n->state == PHX_NODE_UNREACHABLE || n->state == PHX_NODE_SUSPECT;
}

/* The shared timer: those without one of their own. Each is given one, or sets this one again. */
static void detect_rescue(struct phx__detect *l, uint64_t now)
{
    uint32_t node;

    for (node = 0; node < l->capacity; node++)
        if (detect_has_fate(&l->at[node]) && l->at[node].fate == 0)
            detect_fate(l, node, now);
}

void phx__detect_due(struct phx__detect *l, int kind, uint32_t node, uint64_t now)
{
    const struct phx__detect_node *n = detect_find(l, node);

    now = detect_clock(l, now);
    if (kind == PHX__TIMER_LIVE_NODE && node == DETECT_ALL)
        detect_rescue(l, now);
    else if (kind == PHX__TIMER_LIVE_NODE && n != NULL && detect_has_fate(n))
        detect_fate(l, node, now);
    else if (kind == PHX__TIMER_LIVE && detect_linked(l, node) != NULL)
        detect_check(l, node, now);
}
