/* trace.c - phx_trace: which nodes a message passes on its way, how far they are, and why. */
/*
 * As traceroute does it, but with routers that know the question:
 *
 *      asker          relay 1          relay 2          target
 *        |--- TRACE, may cross 1 link ->|  answers: I am the 1st, 2 hops from the target, because ...
 *        |--- TRACE, may cross 2 links -|----------->|  answers: I am the 2nd, 1 hop from it
 *        |--- TRACE, may cross 3 links -|------------|----------->|  answers: I am the target
 *
 * All questions leave in one step, as many as the routing says that there are hops, so a trace takes one
 * round trip. If the way turns out to be longer, one more is asked for with each answer. One question
 * brings one answer of about its size, so nobody can have others talk more than he talks himself; no
 * relay keeps anything; and a question dies when it has crossed the links it was given, whatever routes do
 * meanwhile. A node gives 64 answers a second; what is asked beyond that has no answer, and is a hop
 * of which nothing is known.
 *
 * The time of a hop is that from the step in which its question left to the step in which its answer came:
 * the way there and back, as routing goes, and the patience of the hosts in between. It is no measure of
 * one link.
 *
 * Who is believed. Answers carry a random number of 64 bits that only the nodes on the way have seen. One of
 * them may lie about itself and about those behind it. That is seen by nobody, and changes nothing: a trace
 * is for people, and no room acts upon it.
 */
#include "node/state.h"

/* Bytes of a TRACE frame, header included, at most. */
#define TRACE_FRAME 64u
/* It is not added to a queue of this many bytes. */
#define TRACE_QUEUE 262144u
/* Longer than the time in which silent links are found out with the usual settings would be no trace, but a
 * watch. */
#define TRACE_PATIENCE (5 * PHX__SECOND)
/* Under way at once: each waits for at most 255 answers, and all are looked through for each answer. */
#define TRACE_MAX 16u
/* Answers for others: 64 a second, and as many at once. */
#define TRACE_EACH (PHX__SECOND / 64)
#define TRACE_BURST PHX__SECOND

/* ---- Why there is no link -------------------------------------------------------------------- */

/* What came of the addresses that are known: the last thing that went wrong, or PHX_EAGAIN. */
static int trace_dialled(const phx *p, uint32_t node)
{
    const struct phx__dial_addr *at = NULL;
    uint32_t i, count = phx__dial_look(&p->dial, node, &at);
    uint64_t last = 0;
    int why = p->dial.links >= p->cfg.max_links ? PHX_ELIMIT : PHX_EAGAIN;

    if (count == 0)
        return PHX_ENOTFOUND;
    for (i = 0; i < count; i++) {
        if (at[i].slot != PHX__NONE)
            return PHX_EAGAIN;
        if (at[i].error == 0 || at[i].tried_at < last)
            continue;
        last = at[i].tried_at;
        why = at[i].error;
    }
    return why;
}

static int trace_why(const phx *p, uint32_t node)
{
    return node == PHX__SELF || phx__node_link(p, node) != NULL ? 0 : trace_dialled(p, node);
}

/* ---- Frames out ------------------------------------------------------------------------------ */

static uint32_t trace_way(const phx *p, const struct phx_id *id)
{
    uint32_t node = phx__id_find(&p->ids, id);

    return node == PHX__NONE ? PHX__NONE : phx__route_next(&p->route, node);
}

static void trace_send(phx *p, uint32_t nbr, const struct phx__trace *t, int flags, int hops)
{
    struct phx__link *l = nbr == PHX__NONE ? NULL : phx__node_link(p, nbr);
    struct phx__writer w;

    if (l == NULL || hops < 1 || phx__link_queued(l) >= TRACE_QUEUE
        || phx__link_control(&p->set, l, TRACE_FRAME, &w) != 0)
        return;
    phx__wire_put_trace(&w, t, flags, hops);
    if (phx__link_control_end(&p->set, l, &w) != 0)
        phx__node_links_break(p, l);
}

static void trace_ask(phx *p, struct phx__tracing *t, uint32_t upto)
{
    struct phx__trace q;
    uint32_t next = trace_way(p, &t->target);

    memset(&q, 0, sizeof q);
    q.target = t->target;
    q.source = p->self;
    q.key = t->key;
    while (t->asked < upto) {
        t->hops[t->asked].rtt_us = UINT64_MAX;
        t->hops[t->asked].hops = -1;
        t->sent_at[t->asked] = p->now;
        q.number = (uint8_t)++t->asked;
        trace_send(p, next, &q, 0, (int)t->asked);
    }
}

/* ---- The asker ------------------------------------------------------------------------------- */

static void trace_begin(phx *p, struct phx__tracing *t)
{
    uint32_t node = phx__id_find(&p->ids, &t->target);
    const struct phx__dest *d = node == PHX__NONE ? NULL : phx__route_dest(&p->route, node);

    t->until = p->now + TRACE_PATIENCE;
    t->result = PHX_ETIMEDOUT;
    if (d == NULL || d->hops == PHX__UNREACHABLE) {
        t->result = PHX_EUNREACH;
        t->until = p->now;
        return;
    }
    t->why = trace_why(p, node);
    trace_ask(p, t, d->hops < p->cfg.hop_limit ? d->hops : p->cfg.hop_limit);
}

/* One block: the hops, and when each was asked. */
static size_t trace_size(const phx *p)
{
    return p->cfg.hop_limit * (sizeof(struct phx_hop) + sizeof(uint64_t));
}

static int trace_is_whole(const struct phx__tracing *t)
{
    uint32_t i;

    for (i = 0; i < t->end && t->hops[i].rtt_us != UINT64_MAX; i++)
        continue;
    return t->end > 0 && i == t->end;
}

/* Takes it out and tells the host. The callback may begin another one. */
static void trace_finish(phx *p, uint32_t i, int result)
{
    struct phx__tracing t = p->traces[i];
    struct phx_trace out;

    p->traces[i] = p->traces[--p->trace_count];
    out.token = t.token;
    out.target = t.target;
    out.result = result;
    out.why = t.why;
    out.hops = t.hops;
    out.hops_count = t.end > 0 ? t.end : t.asked;
    while (out.hops_count > 0 && t.hops[out.hops_count - 1].rtt_us == UINT64_MAX)
        out.hops_count--;
    if (!p->free_later)
        p->cfg.on_trace(p, &out, p->cfg.user);
    phx__mem_put(&p->mem, t.hops, trace_size(p));
}

void phx__node_trace_due(phx *p)
{
    uint64_t next = UINT64_MAX;
    uint32_t i;

    for (i = p->trace_count; i > 0; i--) { /* what a callback begins is behind, and has set the timer */
        struct phx__tracing *t = &p->traces[i - 1];
        if (t->until == UINT64_MAX)
            trace_begin(p, t);
        if (trace_is_whole(t) || t->until <= p->now)
            trace_finish(p, i - 1, t->result);
    }
    for (i = 0; i < p->trace_count; i++)
        if (p->traces[i].until == UINT64_MAX)
            next = p->now;
        else if (p->traces[i].until < next)
            next = p->traces[i].until;
    phx__timer_set(&p->timers, p->trace_timer, next);
}

static void trace_take(phx *p, struct phx__tracing *t, const struct phx__trace *a)
{
    struct phx_hop *hop = &t->hops[a->number - 1u];

    /* Once each; and only the target is at no distance from itself. */
    if (a->number > t->asked || hop->rtt_us != UINT64_MAX
        || (a->distance == 0) != phx__id_equal(&a->source, &t->target))
        return;
    hop->id = a->source;
    hop->rtt_us = p->now - t->sent_at[a->number - 1u];
    hop->hops = a->distance == PHX__UNREACHABLE ? -1 : a->distance;
    hop->why = a->why;
    if (hop->hops <= 0 && (t->end == 0 || a->number < t->end)) {
        t->end = a->number;
        t->result = hop->hops == 0 ? PHX_OK : PHX_EUNREACH;
    } else if (t->end == 0 && a->number == t->asked && t->asked < p->cfg.hop_limit) {
        trace_ask(p, t, t->asked + 1);
    } else if (t->end == 0 && t->asked == p->cfg.hop_limit) { /* a longer way is none */
        t->end = t->asked;
        t->result = PHX_EUNREACH;
    }
    if (trace_is_whole(t))
        phx__timer_set(&p->timers, p->trace_timer, p->now);
}

static void trace_answered(phx *p, const struct phx__trace *a)
{
    uint32_t i;

    for (i = 0; i < p->trace_count; i++)
        if (p->traces[i].key == a->key)
            trace_take(p, &p->traces[i], a);
}

int phx_trace(phx *p, const struct phx_id *node, uint64_t token)
{
    struct phx__tracing t;
    uint32_t i;

    if (p == NULL || node == NULL || p->cfg.on_trace == NULL || phx__id_equal(node, &p->self))
        return PHX_EINVAL;
    if (p->closing)
        return PHX_ECLOSED;
    i = phx__id_find(&p->ids, node);
    if (i == PHX__NONE || phx__route_dest(&p->route, i) == NULL)
        return PHX_ENOTFOUND;
    if (p->trace_count == TRACE_MAX)
        return PHX_ELIMIT;
    memset(&t, 0, sizeof t);
    t.target = *node;
    t.token = token;
    t.until = UINT64_MAX; /* the next step begins it: the time as of now is only known then */
    if (p->os.random(p->os.world, &t.key, sizeof t.key) != 0)
        return PHX_EIO;
    if (phx__mem_grow(&p->mem, &p->traces, &p->trace_capacity, p->trace_count + 1, sizeof t) != 0
        || (t.hops = phx__mem_zero(&p->mem, trace_size(p))) == NULL)
        return PHX_ENOMEM;
    t.sent_at = (uint64_t *)(void *)(t.hops + p->cfg.hop_limit);
    p->traces[p->trace_count++] = t;
    phx__timer_set(&p->timers, p->trace_timer, p->now);
    return 0;
}

/* ---- The nodes on the way -------------------------------------------------------------------- */

static void trace_answer(phx *p, const struct phx__link *l, const struct phx__trace *q, int has_way)
{
    uint32_t node = phx__id_find(&p->ids, &q->target), way = trace_way(p, &q->source);
    const struct phx__dest *d = node == PHX__NONE ? NULL : phx__route_dest(&p->route, node);
    struct phx__trace a;

    if (p->trace_paid < p->now)
        p->trace_paid = p->now;
    if (p->trace_paid + TRACE_EACH > p->now + TRACE_BURST)
        return;
    p->trace_paid += TRACE_EACH;
    a.target = q->source;
    a.source = p->self;
    a.key = q->key;
    a.number = q->number;
    a.distance = d != NULL && has_way ? d->hops : PHX__UNREACHABLE;
    a.why = d != NULL ? trace_why(p, node) : PHX_ENOTFOUND;
    trace_send(p, way == PHX__NONE ? l->peer : way, &a, PHX__TRACE_ANSWER, (int)p->cfg.hop_limit);
}

/* Not back to where it came from: routes that still change may lead there. */
static void trace_pass(phx *p, const struct phx__link *l, const struct phx__frame *f,
                       const struct phx__trace *t)
{
    int flags = f->flags & (int)PHX__TRACE_ANSWER;
    uint32_t way = trace_way(p, &t->target);
    int has_way = way != PHX__NONE && way != l->peer;

    if (f->hops > 1 && has_way && p->cfg.relay)
        trace_send(p, way, t, flags, f->hops - 1);
    else if (!flags)
        trace_answer(p, l, t, f->hops <= 1 && has_way);
}

int phx__node_trace_on_trace(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__trace t;

    if (phx__wire_get_trace(f, &t) != 0)
        return PHX_EPROTO;
    if (!phx__id_equal(&t.target, p->set.self))
        trace_pass(p, l, f, &t);
    else if (f->flags & PHX__TRACE_ANSWER)
        trace_answered(p, &t);
    else
        trace_answer(p, l, &t, 1);
    return 0;
}

/* ---- The end --------------------------------------------------------------------------------- */

void phx__node_trace_end(phx *p)
{
    while (p->trace_count > 0)
        trace_finish(p, p->trace_count - 1, PHX_ECLOSED);
}

void phx__node_trace_free(phx *p)
{
    uint32_t i;

    for (i = 0; i < p->trace_count; i++)
        phx__mem_put(&p->mem, p->traces[i].hops, trace_size(p));
    phx__mem_put(&p->mem, p->traces, p->trace_capacity * sizeof *p->traces);
}

#undef TRACE_FRAME
#undef TRACE_QUEUE
#undef TRACE_PATIENCE
#undef TRACE_MAX
#undef TRACE_EACH
#undef TRACE_BURST
