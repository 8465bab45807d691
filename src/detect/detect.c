/* detect.c - failure detection: monitors, heartbeats, silence, suspicion, own stalls. */

/* The method is that of Horita, Taura and Chikayama, "A Fault Detection Library in Phoenix Programming
 * Model" (2003), with additions from later membership protocols (SWIM, Lifeguard). It keeps two questions
 * apart, since a detector that mixes them reports failures that did not happen.
 *
 * 1. IS THIS LINK ALIVE? (Section 4.2 of the paper.) A node picks k of its neighbours at random as its
 *    *monitors*. It sends something to a monitor at least every interval_us, and to other neighbours at
 *    least every insurance_us, which is much longer; each heartbeat announces the next time. A process thus
 *    sends and receives about k heartbeats per interval, whatever the number of processes, and the death of
 *    a process together with all its monitors is still found in the end. All traffic counts as a heartbeat:
 *    a busy link carries none. A link is dead if nothing arrives for timeout_us more than was announced.
 *
 *    The pick is reservoir sampling: link number n becomes a monitor with probability k / n, in place of a
 *    random one; a monitor whose link goes down is replaced by a random neighbour. Every set of k neighbours
 *    is equally probable, and few monitors change while many links come up.
 *
 * 2. IS THIS NODE ALIVE? (Section 4.3.) Routing knows whether there is a route to it:
 *
 *            .---- silent, or a rumour --> SUSPECT --.
 *            |  <---- a sign of life ------'         | no route
 *            |                                       v
 *          OK ----------- no route ----------> UNREACHABLE ---- broken_us later ---> FAILED
 *            ^                                       |                                 |
 *            +------------- a route -----------------+---------------------------------+
 *
 *    A node whose card says that it leaves goes from any of these states to LEFT once there is no route, and
 *    back to OK when there is one again. A node has no state before routing has reported it. So a lost link
 *    is never taken for a dead node, nor a node that left for a failed one.
 *
 * The paper does not say how the two questions meet. The k monitors of a dead node notice its death after
 * interval_us + timeout_us, but its other neighbours keep their links, and so a route, until insurance_us has
 * passed. Therefore a node whose link is silent for timeout_us / 2 more than announced becomes SUSPECT, and
 * a *rumour* of that goes to everybody. A node that has a link with the accused does not believe the rumour,
 * but asks over that link, and gives it up if no answer comes within timeout_us / 2. So all links with a
 * dead node are gone after interval_us + timeout_us and the time of one flood. The rumour also reaches the
 * accused, which refutes it with a higher sequence number; that reaches everybody who has a route to it. A
 * suspicion that is neither confirmed nor refuted ends after timeout_us + broken_us.
 *
 * Other nodes are asked about an unreachable node (ops.probe) when its last route is lost, and again after
 * half of broken_us. An answer puts the failure off by broken_us, DETECT_PUT_OFF times at most: anybody who
 * has the key can claim that a dead node is alive, and a node to which no route comes back is of no use. On a
 * link in use an answer is asked for if nothing arrives for interval_us after a message was sent.
 *
 * Own stalls. A host that computes for a minute has read nothing for a minute, and all its peers look dead.
 * But a host may rightly sleep as long as there is nothing to do. So a stall is a step that comes later than
 * the earliest timer asked for. Then the gap between the two steps does not count: accusations are timed on a
 * *waking clock*, which is the host's clock minus stalls, so that one addition moves every deadline of every
 * link. The next stall within a minute counts only by what it is longer: a host that stalls at every turn
 * must find the dead, too, and who stalls together with it has announced so by then. Links that its sockets
 * report as broken still go down. Since a deadline may have had no time left, nobody is accused before all
 * input that waited has been read once (`blind`), nor asked, since what waited would be taken for the answer.
 * A node that gets more input than it can read never reaches that point, so `blind` ends after timeout_us.
 *
 * Others may have given this node up during its stall and closed their links. Whoever becomes unreachable
 * right after a stall fails later by its length, DETECT_GRACE_US at most (`grace`), to find a new route.
 *
 * Starved is not dead. A host that is stopped again and again, or shares its processor with too many, speaks
 * when it gets its turn. So a node whose stalls were longer than half of interval_us announces twice the
 * longest of the last minute (`slow`), insurance_us at most, on all links, and counts as busy: it is asked
 * nothing, rumours about it are ignored, and it is no monitor. It speaks twice in that time, by the longest
 * stall sooner, if its turns allow it. If it dies, each of its neighbours finds that alone, when what was
 * announced is over. Hundreds that share processors and say so to each other at each turn would have time for
 * nothing else, and so be slow for ever: beyond 100 neighbours the interval grows with their number
 * (DETECT_CROWD_EACH). Whoever is starved gives others more time for an answer, too, timeout_us at most.
 *
 * Own heartbeats are due by the host's clock, since others do not know of our stall, unless the host
 * announces it: then a heartbeat announces the longer time, and another the usual time when the host is back.
 * A rumour about a neighbour that has announced a pause is ignored until the pause is over.
 *
 * Timers are lazy: traffic only stores times. When the one timer of a link fires, it is set to the earliest
 * time at which something must be sent, received or checked. Nodes that are unreachable or suspect have one
 * timer together, which looks at all that ever were: they are few, or many of them are due at once. How
 * heartbeats, rumours and probes travel, and how links are closed, is the node's affair. */
#include "detect/detect.h"

/* A step this much later is a stall, less is ordinary scheduling. Half of timeout_us counts if lower. */
#define DETECT_LATE_US PHX__SECOND
/* Both ends of a new link rely on this interval before a heartbeat announces another; WIRE.md says so. In a
 * crowd, if both say so, on PHX__DETECT_QUIET_US: else each link of a mesh carries a heartbeat both ways
 * before there is anything to say, and routing sends one when its table is quiet. Monitors hear at once. */
#define DETECT_FIRST_US (5 * PHX__SECOND)
/* A new route takes a dial or two, one of which may have to wait a second for the other side. */
#define DETECT_GRACE_US (10 * PHX__SECOND)
/* While input waits: until the next look. */
#define DETECT_BLIND_US PHX__MS
/* The longest own stall is that of this half minute and the one before. */
#define DETECT_STALLS_US (30 * PHX__SECOND)
/* Who is slow speaks 20 times a second, monitors apart, and not to each neighbour as often as its stalls ask
 * for: where 400 share two processors that would be 100,000 heartbeats a second, a cause of stalls. */
#define DETECT_CROWD_EACH (50 * PHX__MS)
/* Ten answers, each of which gives broken_us: a route that comes back at all has come back by then. */
#define DETECT_PUT_OFF 10u

PHX__APART static uint64_t detect_sum(uint64_t a, uint64_t b)
{
    const uint64_t never = UINT64_MAX - 1; /* as a timer; UINT64_MAX itself would stop it */

    return a < never && b < never - a ? a + b : never;
}

/* The waking clock. It never runs backwards, because a stall is at most the gap between two steps. */
static uint64_t detect_waking(const struct phx__detect *d, uint64_t now)
{
    return now - d->stalled;
}

struct phx__detect_link *phx__detect_link_of(const struct phx__detect *d, uint32_t node)
{
    uint32_t place = node < d->capacity ? d->at[node].link : 0;

    return place != 0 ? d->links[place - 1] : NULL;
}

struct phx__detect_trouble *phx__detect_trouble_of(const struct phx__detect *d, uint32_t node)
{
    uint32_t place = node < d->capacity ? d->at[node].trouble : 0;

    return place != 0 ? &d->troubles[place - 1] : NULL;
}

PHX__COLD struct phx__detect_trouble *phx__detect_trouble_make(struct phx__detect *d, uint32_t node)
{
    uint32_t count = d->trouble_count + 1;

    if (node < d->capacity && d->at[node].trouble == 0
        && phx__mem_grow(d->mem, &d->troubles, &d->trouble_capacity, count, sizeof *d->troubles) == 0) {
        d->troubles[d->trouble_count++] = (struct phx__detect_trouble){ .node = node };
        d->at[node].trouble = count;
    }
    return phx__detect_trouble_of(d, node);
}

/* ---- The timer of a link --------------------------------------------------------------------- */

/* How often this neighbour must receive something. One whose questions are not read hears of us unasked. */
static uint64_t detect_interval(const struct phx__detect *d, const struct phx__detect_link *l)
{
    uint64_t slow = PHX__MAX(d->slow / 2, d->link_count * DETECT_CROWD_EACH);

    if (l->monitor || l->behind)
        return d->limits.interval_us;
    return d->slow == 0 ? d->limits.insurance_us
                        : PHX__MIN(PHX__MAX(slow, d->limits.interval_us), d->limits.insurance_us);
}

uint64_t phx__detect_longest(const struct phx__detect *d)
{
    return PHX__MAX(d->stalls[0], d->stalls[1]);
}

/* When something must be sent: as often as the limits say, and not later than announced. Who seldom has a
 * turn sends by so much sooner: its next turn may be too late. */
static uint64_t detect_send_at(const struct phx__detect *d, const struct phx__detect_link *l)
{
    uint64_t every = PHX__MIN(detect_interval(d, l), l->promised_us);

    return l->beat_now ? 0 : detect_sum(l->sent_at, every - PHX__MIN(every / 2, phx__detect_longest(d)));
}

/* How long the link may be silent before the rumour is spread, and then before it is dead. */
static uint64_t detect_silence_limit(const struct phx__detect *d, const struct phx__detect_link *l)
{
    return detect_sum(l->announced_us, l->silent ? d->limits.timeout_us : d->limits.timeout_us / 2);
}

static void detect_set_timer(struct phx__detect *d, struct phx__detect_link *l, uint64_t now)
{
    uint64_t check = detect_sum(l->received_at, detect_silence_limit(d, l)), at;

    check = PHX__MIN(check, l->answer_by);
    if (l->used)
        check = PHX__MIN(check, detect_sum(l->used_at, d->limits.interval_us));
    if (l->doubted)
        check = 0;
    at = PHX__MIN(detect_send_at(d, l), detect_sum(check, d->stalled));
    if (d->blind && at < now + DETECT_BLIND_US)
        at = now + DETECT_BLIND_US;
    phx__timer_set(d->timers, l->timer, at);
}

/* ---- Monitors -------------------------------------------------------------------------------- */

/* Must it hear of us at once: that it is a monitor, or of our stalls? On a quiet link also of short ones: it
 * would ask us. */
static uint8_t detect_is_owed(const struct phx__detect *d, const struct phx__detect_link *l)
{
    return (l->monitor && l->promised_us > d->limits.interval_us)
           || d->slow > (l->promised_us == PHX__DETECT_QUIET_US ? 0 : l->promised_us);
}

/* It becomes a monitor, or is none any more, which it need not be told at once: the next heartbeat is due
 * before what was announced has passed. */
PHX__APART static void detect_set_monitor(struct phx__detect *d, struct phx__detect_link *l, int monitor)
{
    l->monitor = (uint8_t)monitor;
    d->monitors += monitor ? 1u : -1u;
    l->beat_now = detect_is_owed(d, l);
    if (monitor && l->beat_now)
        phx__timer_set(d->timers, l->timer, d->last_step);
}

static int detect_fits(const struct phx__detect_link *l, int monitor, int busy)
{
    return l->monitor == monitor && (busy || !l->busy);
}

/* A random link among those that are monitors, or that are not; without busy ones, if !busy. */
PHX__COLD static struct phx__detect_link *detect_pick(const struct phx__detect *d, int monitor, int busy)
{
    uint32_t i, count = 0;
    uint64_t skip;

    d->mem->looks += d->link_count;
    for (i = 0; i < d->link_count; i++)
        count += (uint32_t)detect_fits(d->links[i], monitor, busy);
    if (count == 0)
        return NULL;
    skip = phx__rnd_below(d->rnd, count);
    for (i = 0; !detect_fits(d->links[i], monitor, busy) || skip-- > 0; i++)
        ;
    return d->links[i];
}

/* As many monitors as wanted, or as there are neighbours; a busy one, which sees nothing, only at need. */
PHX__COLD static void detect_fill_monitors(struct phx__detect *d)
{
    struct phx__detect_link *l;

    while (d->monitors > d->limits.monitors)
        detect_set_monitor(d, detect_pick(d, 1, 1), 0);
    while (d->monitors < d->limits.monitors
           && ((l = detect_pick(d, 0, 0)) != NULL || (l = detect_pick(d, 0, 1)) != NULL))
        detect_set_monitor(d, l, 1);
}

/* ---- States of nodes ------------------------------------------------------------------------- */

/* A state begins (by 1) or ends (-1). While there is no suspect nor unreachable node nothing is due. */
static void detect_count(struct phx__detect *d, uint32_t state, int by)
{
    d->suspects += state == PHX_NODE_SUSPECT ? (uint32_t)by : 0;
    d->sought += state == PHX_NODE_SUSPECT || state == PHX_NODE_UNREACHABLE ? (uint32_t)by : 0;
    if (d->sought == 0 && d->timer != PHX__NONE)
        phx__timer_stop(d->timers, d->timer);
}

static void detect_set_state(struct phx__detect *d, uint32_t node, enum phx_state state, uint64_t now)
{
    struct phx__detect_node *n = &d->at[node];

    if (n->state == state)
        return;
    detect_count(d, state, 1);
    detect_count(d, n->state, -1);
    n->state = (uint8_t)state;
    n->since = now;
    d->ops.state(d->ops.ctx, node, state); /* last: it may call back and move n */
}

PHX__APART static void detect_record_accusation(struct phx__detect *d, uint32_t node, uint32_t accuser,
                                                uint64_t now)
{
    struct phx__detect_trouble *t = phx__detect_trouble_make(d, node);

    if (t == NULL)
        return;
    t->accuser = accuser;
    t->accused_ms = (uint32_t)(now / PHX__MS);
}

/* When to look at those that are suspect or unreachable, at the latest; waking. */
static void detect_look_at(struct phx__detect *d, uint64_t waking)
{
    uint64_t at = detect_sum(waking, d->stalled);

    if (at < phx__timer_at(d->timers, d->timer))
        phx__timer_set(d->timers, d->timer, at);
}

/* An unreachable node fails after broken_us, with a second probe halfway; a suspicion ends later. */
PHX__COLD static void detect_start_fail_timer(struct phx__detect *d, uint32_t node, int lost, uint64_t now)
{
    struct phx__detect_trouble *t = phx__detect_trouble_make(d, node);
    uint64_t waking = detect_waking(d, now);
    uint64_t from = lost ? PHX__MAX(waking, d->grace) : detect_sum(waking, d->limits.timeout_us);

    detect_look_at(d, detect_sum(from, d->limits.broken_us >> lost));
    d->unlisted |= t == NULL;
    if (t == NULL)
        return;
    t->fail_at = detect_sum(from, d->limits.broken_us);
    t->probed = !lost;
}

static void detect_suspect(struct phx__detect *d, uint32_t node, uint64_t now)
{
    if (d->at[node].state != PHX_NODE_OK)
        return;
    detect_start_fail_timer(d, node, 0, now);
    detect_set_state(d, node, PHX_NODE_SUSPECT, now);
}

PHX__COLD static void detect_lose(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_trouble *t = phx__detect_trouble_make(d, node);

    if (t != NULL)
        t->put_off = 0;
    detect_start_fail_timer(d, node, 1, now);
    if (d->at[node].state != PHX_NODE_SUSPECT)
        detect_record_accusation(d, node, PHX__NONE, now);
    detect_set_state(d, node, PHX_NODE_UNREACHABLE, now);
    if (d->at[node].state == PHX_NODE_UNREACHABLE)
        d->ops.probe(d->ops.ctx, node, 0);
}

/* Without memory for what is kept of it no stall puts its failure off, and there is no second probe. */
PHX__COLD static void detect_node_due(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_trouble *t = phx__detect_trouble_of(d, node);
    const struct phx__detect_node *n = &d->at[node];
    uint64_t broken = detect_sum(n->since, d->limits.broken_us), waking = detect_waking(d, now), fail_at;
    uint64_t before = d->limits.broken_us - d->limits.broken_us / 2; /* .. it fails there is a second probe */
    int probes = t != NULL && !t->probed;

    if (n->state != PHX_NODE_UNREACHABLE && n->state != PHX_NODE_SUSPECT)
        return;
    fail_at = t != NULL && t->fail_at != 0 ? t->fail_at : PHX__MAX(broken, d->stalled) - d->stalled;
    d->unlisted |= t == NULL;
    if (d->blind) {
        detect_look_at(d, waking + DETECT_BLIND_US);
    } else if (waking >= fail_at) { /* the neighbours of a node that is still suspect kept their links */
        detect_set_state(d, node, n->state == PHX_NODE_SUSPECT ? PHX_NODE_OK : PHX_NODE_FAILED, now);
    } else if (probes && waking >= fail_at - before) {
        t->probed = 1;
        detect_look_at(d, fail_at);
        d->ops.probe(d->ops.ctx, node, 1);
    } else {
        detect_look_at(d, probes ? fail_at - before : fail_at);
    }
}

/* ---- Checking a link ------------------------------------------------------------------------- */

void phx__detect_ask(struct phx__detect *d, uint32_t node, uint64_t within, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);
    /* Others are starved with us. */
    uint64_t more = PHX__MIN(2 * phx__detect_longest(d), d->limits.timeout_us);
    uint64_t until = detect_sum(detect_waking(d, now), detect_sum(within, more));

    if (l == NULL || l->busy || l->answer_by <= until)
        return; /* a busy peer cannot answer: what it announced holds */
    l->doubted = d->blind != 0;
    if (!d->blind) {
        l->answer_by = until;
        d->ops.heartbeat(d->ops.ctx, node, (int)PHX__BEAT_REPLY);
        l = phx__detect_link_of(d, node);
    }
    if (l != NULL)
        detect_set_timer(d, l, now);
}

/* Messages were sent interval_us ago. If nothing came after any of them, asks whether they arrived. */
PHX__COLD static void detect_review_use(struct phx__detect *d, struct phx__detect_link *l, uint64_t now)
{
    uint64_t within = d->limits.timeout_us >> l->doubted;

    l->used = l->doubted || l->used_last > l->received_at;
    if (l->used && l->received_at > l->used_at && !l->doubted) {
        l->used_at = l->received_at; /* some arrived: now for the rest */
    } else if (l->used) {
        l->used = l->doubted = 0;
        phx__detect_ask(d, l->node, within, now);
    }
}

/* What must be received. NULL: the link is dead or gone. */
static struct phx__detect_link *detect_check_silence(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);
    uint64_t waking = detect_waking(d, now), silence;

    if (l != NULL && l->behind) {
        phx__detect_received(d, node, now);
        l = phx__detect_link_of(d, node);
    }
    if (l == NULL || d->blind)
        return l;
    silence = waking - l->received_at;
    if (silence >= detect_sum(l->announced_us, d->limits.timeout_us) || waking >= l->answer_by) {
        /* The owner closes the link and calls phx__detect_link_down; until then it is told again. */
        phx__timer_set(d->timers, l->timer, detect_sum(now, d->limits.interval_us));
        detect_record_accusation(d, node, PHX__SELF, now);
        d->ops.silent(d->ops.ctx, node, silence);
        return NULL;
    }
    if (!l->silent && silence >= detect_silence_limit(d, l)) {
        l->silent = 1;
        detect_record_accusation(d, node, PHX__SELF, now);
        detect_suspect(d, node, now);
        d->ops.suspect(d->ops.ctx, node);
        l = phx__detect_link_of(d, node);
    }
    if (l != NULL && (l->doubted || (l->used && waking >= detect_sum(l->used_at, d->limits.interval_us)))) {
        detect_review_use(d, l, now);
        l = phx__detect_link_of(d, node);
    }
    return l;
}

static void detect_link_due(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = detect_check_silence(d, node, now);

    if (l != NULL && now >= detect_send_at(d, l)) {
        l->beat_now = 0;
        d->ops.heartbeat(d->ops.ctx, node, 0);
        /* It counts as sent even if it could not be: the link is full of other traffic then. */
        if ((l = phx__detect_link_of(d, node)) != NULL)
            l->sent_at = now;
    } else if (l != NULL && now >= l->beat_at) { /* heartbeats were due, if nothing else had been sent */
        uint64_t interval = detect_interval(d, l), count = (now - l->beat_at) / interval + 1;
        l->beat_at = detect_sum(l->beat_at, count * interval);
        *(l->monitor ? &d->saved : &d->saved_insurance) += count;
    }
    if (l != NULL)
        detect_set_timer(d, l, now);
}

/* ---- What other rooms call ------------------------------------------------------------------- */

void phx__detect_init(struct phx__detect *d, struct phx__mem *mem, struct phx__timers *timers,
                      struct phx__rnd *rnd, const struct phx_detector *limits,
                      const struct phx__detect_ops *ops)
{
    PHX_ASSERT(limits->interval_us > 0);
    *d = (struct phx__detect){
        .mem = mem, .timers = timers, .rnd = rnd, .limits = *limits, .ops = *ops, .timer = PHX__NONE
    };
}

/* The owner frees the timers with their heap. */
PHX__COLD void phx__detect_free(struct phx__detect *d)
{
    while (d->link_count > 0)
        phx__mem_put(d->mem, d->links[--d->link_count], sizeof **d->links);
    phx__mem_put(d->mem, d->at, d->capacity * sizeof *d->at);
    phx__mem_put(d->mem, d->troubles, d->trouble_capacity * sizeof *d->troubles);
    phx__mem_put(d->mem, d->links, d->link_capacity * sizeof *d->links);
    memset(d, 0, sizeof *d);
}

PHX__COLD void phx__detect_limits(struct phx__detect *d, const struct phx_detector *limits)
{
    d->limits = *limits;
    detect_fill_monitors(d);
    for (uint32_t i = 0; i < d->link_count; i++) {
        struct phx__detect_link *l = d->links[i];
        l->beat_now = detect_is_owed(d, l);
        detect_set_timer(d, l, d->last_step);
    }
}

/* All neighbours, or those who must, hear at once of what they could take for a death. */
PHX__COLD static void detect_tell(struct phx__detect *d, int all)
{
    for (uint32_t i = d->link_count; i-- > 0;)
        if (i < d->link_count && (all || detect_is_owed(d, d->links[i])))
            d->ops.heartbeat(d->ops.ctx, d->links[i]->node, 0);
}

PHX__COLD void phx__detect_busy(struct phx__detect *d, uint64_t us)
{
    uint64_t before = d->pause;

    /* And one interval: a host cannot know exactly how long something takes. */
    d->pause = us == 0 ? 0 : detect_sum(us, d->limits.interval_us);
    if (d->pause != before)
        detect_tell(d, 1);
}

/* What is announced because of own stalls; gap: of one that is just over, or 0. Small growth can wait. */
PHX__COLD static void detect_note_stall(struct phx__detect *d, uint64_t gap, uint64_t now)
{
    uint64_t was = d->slow, longest = phx__detect_longest(d);

    if (now - d->stalls_at >= DETECT_STALLS_US) {
        d->stalls[1] = now - d->stalls_at < 2 * DETECT_STALLS_US ? d->stalls[0] : 0;
        d->stalls[0] = 0;
        d->stalls_at = now;
    }
    d->stalls[0] = PHX__MAX(d->stalls[0], gap);
    d->slow = PHX__MIN(2 * phx__detect_longest(d), d->limits.insurance_us);
    d->slow = d->slow > d->limits.interval_us ? d->slow : 0;
    if (d->slow > was + was / 2)
        detect_tell(d, was == 0);
    for (uint32_t i = 0; phx__detect_longest(d) > longest && i < d->link_count; i++) /* all hear sooner */
        phx__timer_sooner(d->timers, d->links[i]->timer, detect_send_at(d, d->links[i]));
}

void phx__detect_step(struct phx__detect *d, uint64_t now)
{
    uint64_t due = PHX__MAX(phx__timer_next(d->timers), d->last_step), gap = 0;

    if (d->last_step == 0)
        d->last_step = now;
    if (now <= d->last_step)
        return;
    if (now > due && now - due > PHX__MIN(DETECT_LATE_US, d->limits.timeout_us / 2)) { /* a stall */
        uint64_t grace, longest = phx__detect_longest(d);
        gap = now - d->last_step;
        grace = detect_sum(detect_waking(d, d->last_step), PHX__MIN(gap, DETECT_GRACE_US));
        d->stalled += gap > longest ? gap - longest : 0;
        d->blind = 1;
        d->blind_until = detect_sum(detect_waking(d, now), d->limits.timeout_us);
        d->grace = PHX__MAX(grace, d->grace);
    }
    d->last_step = now;
    if (d->blind && detect_waking(d, now) >= d->blind_until)
        d->blind = 0;
    if (d->pause != 0)
        phx__detect_busy(d, 0);
    else if (gap > 0 || phx__detect_longest(d) != 0)
        detect_note_stall(d, gap, now);
}

/* NULL: no memory, and nothing has changed. */
PHX__COLD static struct phx__detect_link *detect_link_new(struct phx__detect *d, uint32_t node)
{
    struct phx__detect_link *l;

    if (phx__mem_grow(d->mem, &d->links, &d->link_capacity, d->link_count + 1, sizeof *d->links) != 0
        || (l = phx__mem_zero(d->mem, sizeof *l)) == NULL)
        return NULL;
    if (phx__timer_new(d->timers, PHX__TIMER_DETECT_LINK, node, &l->timer) != 0) {
        phx__mem_put(d->mem, l, sizeof *l);
        return NULL;
    }
    l->node = node;
    d->links[d->link_count] = l;
    d->at[node].link = (uint16_t)++d->link_count;
    return l;
}

PHX__COLD int phx__detect_link_up(struct phx__detect *d, uint32_t node, int quiet, uint64_t now)
{
    struct phx__detect_link *l;

    PHX_ASSERT(phx__detect_link_of(d, node) == NULL);
    if (phx__mem_grow(d->mem, &d->at, &d->capacity, node + 1, sizeof *d->at) != 0
        || (l = detect_link_new(d, node)) == NULL)
        return PHX_ENOMEM;
    /* A hello was received and sent just now. */
    l->received_at = detect_waking(d, now);
    l->sent_at = now;
    l->beat_at = detect_sum(l->sent_at, d->limits.insurance_us);
    l->announced_us = l->promised_us = quiet ? PHX__DETECT_QUIET_US : DETECT_FIRST_US;
    l->answer_by = UINT64_MAX;
    /* One step of reservoir sampling, for the newest link. */
    if (d->monitors >= d->limits.monitors
        && phx__rnd_below(d->rnd, d->link_count) < d->limits.monitors) {
        detect_set_monitor(d, detect_pick(d, 1, 1), 0);
        detect_set_monitor(d, l, 1);
    }
    detect_fill_monitors(d);
    /* Of a long interval it is told at once: this host may now compute for so long. */
    l->beat_now = detect_is_owed(d, l) || d->limits.interval_us > l->promised_us;
    detect_set_timer(d, l, now);
    phx__detect_alive(d, node, now);
    return 0;
}

PHX__COLD void phx__detect_link_down(struct phx__detect *d, uint32_t node)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);
    uint32_t place;

    if (l == NULL)
        return;
    if (l->monitor)
        detect_set_monitor(d, l, 0);
    phx__timer_drop(d->timers, l->timer);
    place = d->at[node].link;
    d->links[place - 1] = d->links[--d->link_count];
    d->at[d->links[place - 1]->node].link = (uint16_t)place;
    d->at[node].link = 0; /* also if it was the last one, which has just been moved to its own place */
    phx__mem_put(d->mem, l, sizeof *l);
    detect_fill_monitors(d);
}

uint64_t phx__detect_announce(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (l == NULL)
        return d->limits.interval_us;
    l->sent_at = now;
    l->promised_us = d->pause ? d->pause : PHX__MAX(detect_interval(d, l), d->slow);
    l->beat_at = detect_sum(l->sent_at, detect_interval(d, l));
    l->beat_now = 0;
    if (detect_send_at(d, l) < phx__timer_at(d->timers, l->timer))
        detect_set_timer(d, l, now);
    return l->promised_us;
}

void phx__detect_received(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (l == NULL)
        return;
    l->received_at = detect_waking(d, now);
    l->silent = 0;
    l->answer_by = UINT64_MAX;
    if (d->at[node].state == PHX_NODE_SUSPECT)
        detect_set_state(d, node, PHX_NODE_OK, now);
}

void phx__detect_behind(struct phx__detect *d, uint32_t node, int yes, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (l == NULL)
        return;
    l->behind = (uint8_t)yes;
    detect_set_timer(d, l, now);
    phx__detect_received(d, node, now);
}

void phx__detect_sent(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (l != NULL)
        l->sent_at = now;
}

void phx__detect_heartbeat(struct phx__detect *d, uint32_t node, uint64_t next_us, int busy, int watched,
                           uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);
    uint64_t before;

    if (l == NULL)
        return;
    l->watched = (uint8_t)(watched != 0);
    l->busy = (uint8_t)(busy != 0);
    before = l->announced_us;
    l->announced_us = next_us != 0 ? next_us : before;
    if (l->announced_us < before) /* a lazy timer may fire too early, never too late */
        detect_set_timer(d, l, now);
    if (busy && l->monitor && detect_pick(d, 0, 0) != NULL) { /* a busy node sees nothing, another does */
        detect_set_monitor(d, l, 0);
        detect_fill_monitors(d);
    }
    phx__detect_received(d, node, now);
}

void phx__detect_used(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (l == NULL)
        return;
    l->used_last = detect_waking(d, now);
    if (l->used)
        return;
    l->used = 1;
    l->used_at = l->used_last;
    detect_set_timer(d, l, now);
}

PHX__COLD int phx__detect_rumour(struct phx__detect *d, uint32_t node, uint32_t accuser, uint64_t now)
{
    const struct phx__detect_link *l = phx__detect_link_of(d, node);

    if (node >= d->capacity || (l != NULL && l->busy))
        return 0;
    detect_record_accusation(d, node, accuser != PHX__NONE ? accuser : PHX__NONE - 1, now); /* unknown here */
    if (l != NULL && !l->silent)
        phx__detect_ask(d, node, d->limits.timeout_us / 2, now);
    detect_suspect(d, node, now);
    return 1;
}

void phx__detect_alive(struct phx__detect *d, uint32_t node, uint64_t now)
{
    struct phx__detect_trouble *t = phx__detect_trouble_of(d, node);
    enum phx_state state = phx__detect_state(d, node, NULL);

    if (state == PHX_NODE_SUSPECT) {
        detect_set_state(d, node, PHX_NODE_OK, now);
    } else if (state == PHX_NODE_UNREACHABLE && t != NULL && t->put_off < DETECT_PUT_OFF) {
        t->put_off++;
        detect_start_fail_timer(d, node, 1, now);
    }
}

int phx__detect_reachable(struct phx__detect *d, uint32_t node, int yes, int left, uint64_t now)
{
    /* The timer is made with the first known node, so that nothing can fail when one is lost. */
    if (phx__mem_grow(d->mem, &d->at, &d->capacity, node + 1, sizeof *d->at) != 0
        || (d->timer == PHX__NONE && phx__timer_new(d->timers, PHX__TIMER_DETECT_NODE, 0, &d->timer) != 0))
        return PHX_ENOMEM;
    if (yes && d->at[node].state != PHX_NODE_SUSPECT) /* a route refutes no suspicion: there was one before */
        detect_set_state(d, node, PHX_NODE_OK, now);
    else if (!yes && left)
        detect_set_state(d, node, left == 1 ? PHX_NODE_LEFT : PHX_NODE_FAILED, now);
    else if (!yes && d->at[node].state < PHX_NODE_UNREACHABLE)
        detect_lose(d, node, now);
    return 0;
}

enum phx_state phx__detect_state(const struct phx__detect *d, uint32_t node, uint64_t *since)
{
    static const struct phx__detect_node unknown = { .state = 0 };
    const struct phx__detect_node *n = node < d->capacity ? &d->at[node] : &unknown;

    if (since != NULL)
        *since = n->since;
    return (enum phx_state)n->state;
}

int phx__detect_is_monitor(const struct phx__detect *d, uint32_t node)
{
    const struct phx__detect_link *l = phx__detect_link_of(d, node);

    return l != NULL && l->monitor;
}

PHX__COLD void phx__detect_forget(struct phx__detect *d, uint32_t node)
{
    struct phx__detect_trouble *t = phx__detect_trouble_of(d, node);
    struct phx__detect_node *n;

    if (node >= d->capacity)
        return;
    phx__detect_link_down(d, node);
    n = &d->at[node];
    detect_count(d, n->state, -1);
    if (t != NULL) {
        *t = d->troubles[--d->trouble_count];
        d->at[t->node].trouble = n->trouble;
    }
    memset(n, 0, sizeof *n); /* also if it was the last one, which was just moved here */
}

void phx__detect_due(struct phx__detect *d, int kind, uint32_t node, uint64_t now)
{
    if (kind == PHX__TIMER_DETECT_LINK) {
        detect_link_due(d, node, now);
        return;
    }
    d->mem->looks += d->trouble_count;
    for (uint32_t i = d->trouble_count; i-- > 0;)
        if (i < d->trouble_count) /* the host may have heard of a state, and others are forgotten */
            detect_node_due(d, d->troubles[i].node, now);
    for (node = d->unlisted ? d->capacity : 0, d->unlisted = 0; node-- > 0;)
        if (d->at[node].trouble == 0)
            detect_node_due(d, node, now);
}
