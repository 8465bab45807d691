/* live.c - who is alive: heartbeats, silence, own stalls. */

/* Two questions are kept apart here, because mixing them up is how failure detectors lie.
 *
 * 1. Is this link alive? Each end says something at least every interval_us and announces how
 *    long its next silence may last. Everything that arrives counts as a heartbeat, so a busy
 *    link carries none. A link silent for the announced time plus timeout_us is given up.
 *    (Taura's group: "T_interval" rides in the heartbeat, "T_timeout" is the grace. Their k
 *    random monitors with a long insurance interval on all other links will come in as a
 *    different interval_us per link; this version treats all alike.)
 *
 * 2. Is this node alive? Routing knows whether there is a way to it, and only that is asked:
 *
 *          OK ---- no route ---> UNREACHABLE ---- broken_us later ---> FAILED
 *           ^                         |                                 |
 *           +------- a route ---------+---------------------------------+
 *
 *    From each of them a card that says goodbye, once there is no route, leads to LEFT, and a
 *    route leads back to OK from there as well. A node is in no state until routing has spoken
 *    of it.
 *
 *    A lost link is thus never read as a dead node, and a node that said goodbye never as a
 *    failed one.
 *
 * Own stalls. A host that computes for a minute has read nothing for a minute, and all its peers
 * look dead. But how long a host may sleep is its own affair: between heartbeats of 5 s it
 * sleeps for 5 s, and rightly so. What tells a stall is that a step comes later than the
 * earliest timer asked for. Then the whole gap between two steps does not count: time for
 * accusations runs on a *waking clock*, the host's clock minus all stalls. Moving every deadline
 * of every link by the gap costs one addition. A host that is late at every single step accuses
 * nobody; what its sockets report still counts.
 *
 * Own heartbeats are due by the host's clock, since others do not know of our stall.
 *
 * Timers are lazy. Traffic only stores times; the one timer of a link fires, finds out what is
 * true by then, and is set to the earlier of "I must speak" and "it must have spoken". A link
 * that carries a million frames a second touches the heap once in interval_us.
 *
 * This room does not know what a heartbeat looks like, nor what else is done about a dead link.
 * Limits may be changed while it runs; each timer sees the new ones when it fires next. */
#include "live.h"

/* A step this much later than its timer is a stall. Shorter delays are ordinary scheduling and
 * well within any time-out that survives real networks; with shorter time-outs, half of one
 * counts. */
#define LIVE_LATE_US PHX__SECOND

static uint64_t live_add(uint64_t a, uint64_t b)
{
    const uint64_t never = UINT64_MAX - 1; /* as a timer; UINT64_MAX itself would stop it */

    return a < never && b < never - a ? a + b : never;
}

/* The host's clock, should it have run backwards since the step began. */
static uint64_t live_clock(const struct phx__live *l, uint64_t now)
{
    return now < l->last_step ? l->last_step : now;
}

/* The same without own stalls. It never runs backwards, because a stall is at most the gap it
 * lies in. */
static uint64_t live_awake(const struct phx__live *l, uint64_t now)
{
    return live_clock(l, now) - l->stalled;
}

static struct phx__live_node *live_find(const struct phx__live *l, uint32_t node)
{
    return node < l->capacity ? &l->at[node] : NULL;
}

static int live_reserve(struct phx__live *l, uint32_t node)
{
    return phx__mem_grow(l->mem, &l->at, &l->capacity, node + 1, sizeof *l->at);
}

static int live_timer_new(struct phx__live *l, int kind, uint32_t node, uint32_t *handle_plus_one)
{
    uint32_t handle;

    if (phx__timer_new(l->timers, kind, node, &handle) != 0)
        return PHX_ENOMEM;
    *handle_plus_one = handle + 1;
    return 0;
}

static void live_timer_drop(struct phx__live *l, uint32_t *handle_plus_one)
{
    if (*handle_plus_one != 0)
        phx__timer_drop(l->timers, *handle_plus_one - 1);
    *handle_plus_one = 0;
}

/* The earlier of the two deadlines of a link, on the host's clock. */
static void live_arm(struct phx__live *l, const struct phx__live_node *n)
{
    uint64_t speak = live_add(n->said, l->limits.interval_us);
    uint64_t hear = live_add(live_add(n->heard, l->stalled),
                             live_add(n->next_us, l->limits.timeout_us));

    phx__timer_set(l->timers, n->timer - 1, speak < hear ? speak : hear);
}

static void live_become(struct phx__live *l, uint32_t node, enum phx_state state, uint64_t now)
{
    struct phx__live_node *n = &l->at[node];

    if (n->state == state)
        return;
    n->state = state;
    n->since = live_clock(l, now);
    if (state != PHX_NODE_UNREACHABLE)
        phx__timer_stop(l->timers, n->fate - 1);
    l->ops.state(l->ops.ctx, node, state); /* last: it may call back and move n */
}

/* The timer of a link fired: find out what is true by now. */
static void live_look(struct phx__live *l, uint32_t node, uint64_t now)
{
    struct phx__live_node *n = &l->at[node];
    uint64_t silence = live_awake(l, now) - n->heard;

    if (silence >= live_add(n->next_us, l->limits.timeout_us)) {
        /* The owner closes the link and calls down. Should it not, it is told again and again. */
        phx__timer_set(l->timers, n->timer - 1, live_add(now, l->limits.interval_us));
        l->ops.silent(l->ops.ctx, node, silence);
        return;
    }
    if (now - n->said >= l->limits.interval_us) {
        /* Noted as said even if it could not be sent: a link that is full of other traffic is not
         * helped by trying at once again. */
        n->said = now;
        l->ops.beat(l->ops.ctx, node, l->limits.interval_us);
        n = &l->at[node];
    }
    if (n->linked)
        live_arm(l, n);
}

void phx__live_init(struct phx__live *l, struct phx__mem *mem, struct phx__timers *timers,
                    const struct phx_detector *limits, const struct phx__live_ops *ops)
{
    PHX_ASSERT(limits->interval_us > 0);
    memset(l, 0, sizeof *l);
    l->mem = mem;
    l->timers = timers;
    l->limits = *limits;
    l->ops = *ops;
}

/* Its timers end with the heap of timers. */
void phx__live_free(struct phx__live *l)
{
    phx__mem_put(l->mem, l->at, l->capacity * sizeof *l->at);
    l->at = NULL;
    l->capacity = 0;
}

void phx__live_step(struct phx__live *l, uint64_t now)
{
    uint64_t due = phx__timers_next(l->timers), late = LIVE_LATE_US;

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
    if (now > due && now - due > late)
        l->stalled += now - l->last_step;
    l->last_step = now;
}

int phx__live_up(struct phx__live *l, uint32_t node, uint64_t now)
{
    struct phx__live_node *n;

    if (live_reserve(l, node) != 0)
        return PHX_ENOMEM;
    n = &l->at[node];
    if (n->timer == 0 && live_timer_new(l, PHX__TIMER_LIVE, node, &n->timer) != 0)
        return PHX_ENOMEM;
    n->linked = 1;
    /* The hello was heard and answered just now, and promised the usual. */
    n->heard = live_awake(l, now);
    n->said = live_clock(l, now);
    n->next_us = l->limits.interval_us;
    live_arm(l, n);
    return 0;
}

void phx__live_down(struct phx__live *l, uint32_t node)
{
    struct phx__live_node *n = live_find(l, node);

    if (n == NULL)
        return;
    n->linked = 0;
    live_timer_drop(l, &n->timer);
}

void phx__live_heard(struct phx__live *l, uint32_t node, uint64_t next_us, uint64_t now)
{
    struct phx__live_node *n = live_find(l, node);
    uint64_t before;

    if (n == NULL || !n->linked)
        return;
    n->heard = live_awake(l, now);
    if (next_us == 0)
        return;
    before = n->next_us;
    n->next_us = next_us;
    /* A lazy timer may fire too early, never too late. */
    if (next_us < before)
        live_arm(l, n);
}

void phx__live_said(struct phx__live *l, uint32_t node, uint64_t now)
{
    struct phx__live_node *n = live_find(l, node);

    if (n != NULL && n->linked)
        n->said = live_clock(l, now);
}

int phx__live_reachable(struct phx__live *l, uint32_t node, int yes, int left, uint64_t now)
{
    struct phx__live_node *n;

    if (live_reserve(l, node) != 0)
        return PHX_ENOMEM;
    n = &l->at[node];
    /* Made when the node becomes known, so that nothing can fail when it is lost. */
    if (n->fate == 0 && live_timer_new(l, PHX__TIMER_LIVE_NODE, node, &n->fate) != 0)
        return PHX_ENOMEM;
    if (yes) {
        live_become(l, node, PHX_NODE_OK, now);
    } else if (left) {
        live_become(l, node, PHX_NODE_LEFT, now);
    } else if (n->state != PHX_NODE_UNREACHABLE && n->state != PHX_NODE_FAILED
               && n->state != PHX_NODE_LEFT) {
        n->doom = live_add(live_awake(l, now), l->limits.broken_us);
        phx__timer_set(l->timers, n->fate - 1, live_add(n->doom, l->stalled));
        live_become(l, node, PHX_NODE_UNREACHABLE, now);
    }
    return 0;
}

enum phx_state phx__live_state(const struct phx__live *l, uint32_t node, uint64_t *since)
{
    const struct phx__live_node *n = live_find(l, node);

    if (since != NULL)
        *since = n == NULL ? 0 : n->since;
    return n == NULL ? (enum phx_state)0 : n->state;
}

void phx__live_forget(struct phx__live *l, uint32_t node)
{
    struct phx__live_node *n = live_find(l, node);

    if (n == NULL)
        return;
    live_timer_drop(l, &n->timer);
    live_timer_drop(l, &n->fate);
    memset(n, 0, sizeof *n);
}

void phx__live_due(struct phx__live *l, int kind, uint32_t node, uint64_t now)
{
    struct phx__live_node *n = live_find(l, node);

    now = live_clock(l, now);
    if (n == NULL)
        return;
    if (kind == PHX__TIMER_LIVE && n->linked)
        live_look(l, node, now);
    if (kind != PHX__TIMER_LIVE_NODE || n->state != PHX_NODE_UNREACHABLE)
        return;
    if (live_awake(l, now) >= n->doom)
        live_become(l, node, PHX_NODE_FAILED, now);
    else /* a stall came between */
        phx__timer_set(l->timers, n->fate - 1, live_add(n->doom, l->stalled));
}

void phx__live_limits(struct phx__live *l, const struct phx_detector *d, uint64_t now)
{
    uint32_t node;

    (void)now;
    l->limits = *d;
    for (node = 0; node < l->capacity; node++)
        if (l->at[node].linked)
            live_arm(l, &l->at[node]);
}

void phx__live_busy(struct phx__live *l, uint64_t us, uint64_t now)
{
    uint32_t node;

    for (node = 0; node < l->capacity; node++) {
        if (!l->at[node].linked)
            continue;
        l->at[node].said = live_clock(l, now);
        l->ops.beat(l->ops.ctx, node, live_add(us, l->limits.interval_us));
    }
}
