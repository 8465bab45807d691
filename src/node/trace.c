/* trace.c - phx_trace: which nodes a message passes on its way, how far they are, and why. */
/*
 * As traceroute does it, but with routers that know the question:
 *
 *      asker          relay 1          relay 2          target
 *        |--- TRACE, may cross 1 link ->|  answers: I am the 1st, 2 hops from the target, because ...
 *        |--- TRACE, may cross 2 links -|----------->|  answers: I am the 2nd, 1 hop from it
 *        |--- TRACE, may cross 3 links -|------------|----------->|  answers: I am the target
 *
 * All questions leave in one step, one for each hop that routing counts, so a trace takes one round trip. If
 * the way turns out to be longer, each answer brings one more question. A question brings one answer of about
 * its size, so nobody can make others send more than he sends himself. A relay keeps no state. A question
 * dies when it has crossed the links it was given, whatever routes do meanwhile. A node gives 64 answers a
 * second; a hop whose question got none stays unknown.
 *
 * The time of a hop runs from the step in which its question left to the step in which its answer came: the
 * way there and back, as routing goes, and the delays of the hosts in between. It does not measure one link.
 *
 * Answers carry a random number of 64 bits that only the nodes on the way have seen. One of them may lie
 * about itself and about those behind it. Nobody can detect that, and it changes nothing: a trace is for
 * people, and no room acts upon it.
 */
#include "node/trace.h"

/* Bytes of a TRACE frame, header included, at most. */
#define TRACE_FRAME 64u
/* Silent links are detected within this time with the usual settings: an answer later than that tells of
 * another network. */
#define TRACE_PATIENCE (5 * PHX__SECOND)
/* Under way at once: each waits for at most 255 answers, and all are searched for each answer. */
#define TRACE_MAX 16u
/* Answers for others: 64 a second, and as many at once. */
#define TRACE_EACH (PHX__SECOND / 64)
#define TRACE_BURST PHX__SECOND

/* ---- Frames out ------------------------------------------------------------------------------ */

static uint32_t trace_way(const struct phx__node_trace *t, const struct phx_id *id)
{
    return t->ops.way(t->ops.ctx, id);
}

static void trace_send(struct phx__node_trace *t, uint32_t nbr, const struct phx__trace *q, int flags,
                       int hops)
{
    uint8_t data[TRACE_FRAME];
    struct phx__writer w;

    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, PHX__TRACE, flags, hops, q);
    (void)t->ops.send(t->ops.ctx, nbr, &w, 0);
}

static void trace_ask(struct phx__node_trace *t, struct phx__node_trace_item *it, uint32_t upto,
                      uint64_t now)
{
    struct phx__trace q;
    uint32_t next = trace_way(t, &it->target);

    memset(&q, 0, sizeof q);
    q.target = it->target;
    q.source = t->ids->at[PHX__SELF];
    q.key = it->key;
    while (it->asked < upto) {
        it->hops[it->asked].rtt_us = UINT64_MAX;
        it->hops[it->asked].hops = -1;
        it->sent_at[it->asked] = now;
        q.number = (uint8_t)++it->asked;
        trace_send(t, next, &q, 0, (int)it->asked);
    }
}

/* ---- The asker ------------------------------------------------------------------------------- */

static void trace_begin(struct phx__node_trace *t, struct phx__node_trace_item *it, uint64_t now)
{
    uint32_t node = phx__id_find(t->ids, &it->target);
    int hops = node == PHX__NONE ? -1 : t->ops.distance(t->ops.ctx, node);

    it->until = now + TRACE_PATIENCE;
    it->result = PHX_ETIMEDOUT;
    if (hops < 0 || hops == (int)PHX__UNREACHABLE) {
        it->result = PHX_EUNREACH;
        it->until = now;
        return;
    }
    it->why = t->ops.why(t->ops.ctx, node);
    trace_ask(t, it, (uint32_t)hops < t->hop_limit ? (uint32_t)hops : t->hop_limit, now);
}

/* One block: the hops, and when each was asked. */
static size_t trace_size(const struct phx__node_trace *t)
{
    return t->hop_limit * (sizeof(struct phx_hop) + sizeof(uint64_t));
}

static int trace_is_whole(const struct phx__node_trace_item *it)
{
    uint32_t i;

    for (i = 0; i < it->end && it->hops[i].rtt_us != UINT64_MAX; i++)
        continue;
    return it->end > 0 && i == it->end;
}

/* Takes it out and tells the host. The callback may begin another one. */
static void trace_finish(struct phx__node_trace *t, uint32_t i, int result)
{
    struct phx__node_trace_item it = t->at[i];
    struct phx_trace out;

    t->at[i] = t->at[--t->count];
    out.token = it.token;
    out.target = it.target;
    out.result = result;
    out.why = it.why;
    out.hops = it.hops;
    out.hops_count = it.end > 0 ? it.end : it.asked;
    while (out.hops_count > 0 && it.hops[out.hops_count - 1].rtt_us == UINT64_MAX)
        out.hops_count--;
    t->ops.done(t->ops.ctx, &out);
    phx__mem_put(t->mem, it.hops, trace_size(t));
}

void phx__node_trace_due(struct phx__node_trace *t, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    uint32_t i;

    for (i = t->count; i > 0; i--) { /* what a callback begins is behind, and has set the timer */
        struct phx__node_trace_item *it = &t->at[i - 1];
        if (it->until == UINT64_MAX)
            trace_begin(t, it, now);
        if (trace_is_whole(it) || it->until <= now)
            trace_finish(t, i - 1, it->result);
    }
    for (i = 0; i < t->count; i++)
        if (t->at[i].until == UINT64_MAX)
            next = now;
        else if (t->at[i].until < next)
            next = t->at[i].until;
    phx__timer_set(t->timers, t->timer, next);
}

static void trace_take(struct phx__node_trace *t, struct phx__node_trace_item *it, const struct phx__trace *a,
                       uint64_t now)
{
    struct phx_hop *hop = &it->hops[a->number - 1u];

    /* Once each; and only the target is at no distance from itself. */
    if (a->number > it->asked || hop->rtt_us != UINT64_MAX
        || (a->distance == 0) != phx__id_equal(&a->source, &it->target))
        return;
    hop->id = a->source;
    hop->rtt_us = now - it->sent_at[a->number - 1u];
    hop->hops = a->distance == PHX__UNREACHABLE ? -1 : a->distance;
    hop->why = a->why;
    if (hop->hops <= 0 && (it->end == 0 || a->number < it->end)) {
        it->end = a->number;
        it->result = hop->hops == 0 ? PHX_OK : PHX_EUNREACH;
    } else if (it->end == 0 && a->number == it->asked && it->asked < t->hop_limit) {
        trace_ask(t, it, it->asked + 1, now);
    } else if (it->end == 0 && it->asked == t->hop_limit) { /* a longer way is none */
        it->end = it->asked;
        it->result = PHX_EUNREACH;
    }
    if (trace_is_whole(it))
        phx__timer_set(t->timers, t->timer, now);
}

int phx__node_trace_add(struct phx__node_trace *t, const struct phx_id *target, uint64_t token, uint64_t now)
{
    struct phx__node_trace_item it;
    uint32_t node = phx__id_find(t->ids, target);

    if (node == PHX__NONE || t->ops.distance(t->ops.ctx, node) < 0)
        return PHX_ENOTFOUND;
    if (t->count == TRACE_MAX)
        return PHX_ELIMIT;
    memset(&it, 0, sizeof it);
    it.target = *target;
    it.token = token;
    it.until = UINT64_MAX; /* the next step begins it: only then is the time known */
    if (t->ops.random(t->ops.ctx, &it.key) != 0)
        return PHX_EIO;
    if (phx__mem_grow(t->mem, &t->at, &t->capacity, t->count + 1, sizeof it) != 0
        || (it.hops = phx__mem_zero(t->mem, trace_size(t))) == NULL)
        return PHX_ENOMEM;
    it.sent_at = (uint64_t *)(void *)(it.hops + t->hop_limit);
    t->at[t->count++] = it;
    phx__timer_set(t->timers, t->timer, now);
    return 0;
}

/* ---- The nodes on the way -------------------------------------------------------------------- */

static void trace_answer(struct phx__node_trace *t, uint32_t from, const struct phx__trace *q, int has_way,
                         uint64_t now)
{
    uint32_t node = phx__id_find(t->ids, &q->target), way = trace_way(t, &q->source);
    int hops = node == PHX__NONE ? -1 : t->ops.distance(t->ops.ctx, node);
    struct phx__trace a;

    if (t->paid < now)
        t->paid = now;
    if (t->paid + TRACE_EACH > now + TRACE_BURST)
        return;
    t->paid += TRACE_EACH;
    a.target = q->source;
    a.source = t->ids->at[PHX__SELF];
    a.key = q->key;
    a.number = q->number;
    a.distance = (uint8_t)(hops >= 0 && has_way ? hops : (int)PHX__UNREACHABLE);
    a.why = hops >= 0 ? t->ops.why(t->ops.ctx, node) : PHX_ENOTFOUND;
    trace_send(t, way == PHX__NONE ? from : way, &a, PHX__TRACE_ANSWER, (int)t->hop_limit);
}

/* Not back to where it came from: routes that still change may lead there. */
static void trace_pass(struct phx__node_trace *t, uint32_t from, const struct phx__frame *f,
                       const struct phx__trace *q, uint64_t now)
{
    int flags = f->flags & (int)PHX__TRACE_ANSWER;
    uint32_t way = trace_way(t, &q->target);
    int has_way = way != PHX__NONE && way != from;

    if (f->hops > 1 && has_way && t->relay)
        trace_send(t, way, q, flags, f->hops - 1);
    else if (!flags)
        trace_answer(t, from, q, f->hops <= 1 && has_way, now);
}

int phx__node_trace_on_trace(struct phx__node_trace *t, uint32_t from, const struct phx__frame *f,
                             uint64_t now)
{
    struct phx__trace q;
    uint32_t i;

    if (phx__wire_link_get(f, PHX__TRACE, &q) != 0)
        return PHX_EPROTO;
    if (!phx__id_equal(&q.target, &t->ids->at[PHX__SELF])) {
        trace_pass(t, from, f, &q, now);
    } else if (f->flags & PHX__TRACE_ANSWER) {
        for (i = 0; i < t->count; i++)
            if (t->at[i].key == q.key)
                trace_take(t, &t->at[i], &q, now);
    } else {
        trace_answer(t, from, &q, 1, now);
    }
    return 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int phx__node_trace_init(struct phx__node_trace *t, struct phx__mem *mem, struct phx__ids *ids,
                         struct phx__timers *timers, uint32_t hop_limit, int relay,
                         const struct phx__node_trace_ops *ops)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
    t->ids = ids;
    t->timers = timers;
    t->ops = *ops;
    t->hop_limit = hop_limit;
    t->relay = relay;
    return phx__timer_new(timers, PHX__TIMER_TRACE, 0, &t->timer);
}

void phx__node_trace_end(struct phx__node_trace *t)
{
    while (t->count > 0)
        trace_finish(t, t->count - 1, PHX_ECLOSED);
}

void phx__node_trace_free(struct phx__node_trace *t)
{
    uint32_t i;

    for (i = 0; i < t->count; i++)
        phx__mem_put(t->mem, t->at[i].hops, trace_size(t));
    phx__mem_put(t->mem, t->at, t->capacity * sizeof *t->at);
}

#undef TRACE_FRAME
#undef TRACE_PATIENCE
#undef TRACE_MAX
#undef TRACE_EACH
#undef TRACE_BURST
