/* trace.c - phx_trace: which nodes a message passes on its way, how far they are, and why. */
/* As traceroute does it, but with routers that know the question:
 *
 *      asker          relay 1          relay 2          target
 *        |--- TRACE, may cross 1 link ->|  answers: I am the 1st, 2 hops from the target, because ...
 *        |--- TRACE, may cross 2 links -|----------->|  answers: I am the 2nd, 1 hop from it
 *        |--- TRACE, may cross 3 links -|------------|----------->|  answers: I am the target
 *
 * All questions leave in one step, one for each hop that routing counts, so a trace takes one round trip. If
 * the way is longer, each answer brings one more question. A question brings one answer of about its size, so
 * nobody can make others send more than he sends himself. A relay keeps no state: a question dies when it has
 * crossed the links it was given, whatever routes do. A hop whose question got no answer stays unknown.
 *
 * The time of a hop runs from the step of its question to the step of its answer: the way there and back, and
 * the delays of the hosts in between. Answers carry a random number that only the nodes on the way have seen.
 * One of them may lie about itself and those behind it: a trace is for people, and no room acts upon it. */
#include "node/trace.h"

#define TRACE_PATIENCE (5 * PHX__SECOND) /* silent links are detected by then: the network is another one */
#define TRACE_MAX 16u /* under way at once: each waits for up to 255 answers, and each answer searches all */
/* Answers for others: 64 a second, and as many at once. */
#define TRACE_EACH (PHX__SECOND / 64)
#define TRACE_BURST PHX__SECOND

static void trace_ask(struct phx__node_trace *t, struct phx__node_trace_item *it, int upto, uint64_t now)
{
    struct phx__trace q = { it->out.target, t->env.ids->at[PHX__SELF], it->key, 0, 0, 0 };
    uint32_t next = t->env.way(t->env.ctx, &it->out.target);

    while (it->asked < upto) {
        it->hops[it->asked].rtt_us = UINT64_MAX;
        it->hops[it->asked].hops = -1;
        it->sent_at[it->asked] = now;
        q.number = (uint8_t)++it->asked;
        (void)t->env.send(t->env.ctx, next, PHX__TRACE, 0, it->asked, &q);
    }
}

/* ---- The asker ------------------------------------------------------------------------------- */

PHX__COLD static void trace_begin(struct phx__node_trace *t, struct phx__node_trace_item *it, uint64_t now)
{
    uint32_t node = phx__id_find(t->env.ids, &it->out.target);
    int hops = t->ops.distance(t->env.ctx, node);

    it->out.result = PHX_EUNREACH;
    if (hops < 0 || hops == (int)PHX__UNREACHABLE)
        return;
    it->until = now + TRACE_PATIENCE;
    it->out.result = PHX_ETIMEDOUT;
    it->out.why = t->ops.why(t->env.ctx, node);
    trace_ask(t, it, hops < t->env.hop_limit ? hops : t->env.hop_limit, now);
}

/* One block: the hops, and when each was asked. */
static size_t trace_size(const struct phx__node_trace *t)
{
    return (size_t)t->env.hop_limit * (sizeof(struct phx_hop) + sizeof(uint64_t));
}

PHX__COLD static int trace_is_whole(const struct phx__node_trace_item *it)
{
    int i;

    for (i = 0; i < it->end && it->hops[i].rtt_us != UINT64_MAX; i++)
        continue;
    return it->end > 0 && i == it->end;
}

/* Takes it out and tells the host. The callback may begin another one. */
PHX__COLD static void trace_finish(struct phx__node_trace *t, uint32_t i, int result)
{
    struct phx__node_trace_item it = t->at[i];

    t->at[i] = t->at[--t->count];
    it.out.result = result;
    it.out.hops_count = (size_t)(it.end > 0 ? it.end : it.asked);
    while (it.out.hops_count > 0 && it.hops[it.out.hops_count - 1].rtt_us == UINT64_MAX)
        it.out.hops_count--;
    t->ops.done(t->env.ctx, &it.out);
    phx__mem_put(t->env.mem, it.hops, trace_size(t));
}

PHX__COLD void phx__node_trace_due(struct phx__node_trace *t, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t i = t->count; i > 0; i--) { /* what a callback begins is behind, and has set the timer */
        struct phx__node_trace_item *it = &t->at[i - 1];
        if (it->asked == 0)
            trace_begin(t, it, now);
        if (trace_is_whole(it) || it->until <= now)
            trace_finish(t, i - 1, it->out.result);
    }
    for (uint32_t i = 0; i < t->count; i++)
        next = PHX__MIN(t->at[i].until, next);
    phx__timer_set(t->env.timers, t->timer, next);
}

static void trace_take(struct phx__node_trace *t, struct phx__node_trace_item *it, const struct phx__trace *a,
                       uint64_t now)
{
    struct phx_hop *hop = &it->hops[a->number - 1];

    /* Once each; and only the target is at no distance from itself. */
    if (a->number > it->asked || hop->rtt_us != UINT64_MAX
        || (a->distance == 0) != phx__id_equal(&a->source, &it->out.target))
        return;
    *hop = (struct phx_hop){ a->source, now - it->sent_at[a->number - 1],
                             a->distance == PHX__UNREACHABLE ? -1 : a->distance, a->why };
    if (hop->hops <= 0 && (it->end == 0 || a->number < it->end)) {
        it->end = a->number;
        it->out.result = hop->hops == 0 ? PHX_OK : PHX_EUNREACH;
    } else if (it->end == 0 && a->number == it->asked && it->asked < t->env.hop_limit) {
        trace_ask(t, it, it->asked + 1, now);
    } else if (it->end == 0 && a->number == t->env.hop_limit) { /* a longer way is none */
        it->end = it->asked;
        it->out.result = PHX_EUNREACH;
    }
    if (trace_is_whole(it))
        phx__timer_set(t->env.timers, t->timer, now);
}

int phx__node_trace_add(struct phx__node_trace *t, const struct phx_id *target, uint64_t token, uint64_t now)
{
    /* The next step begins it: only then is the time known. */
    struct phx__node_trace_item it = { .out = { .target = *target, .token = token }, .until = now };

    if (t->ops.distance(t->env.ctx, phx__id_find(t->env.ids, target)) < 0)
        return PHX_ENOTFOUND;
    if (t->count == TRACE_MAX)
        return PHX_ELIMIT;
    if (t->ops.random(t->env.ctx, &it.key, sizeof it.key) != 0)
        return PHX_EIO;
    if (phx__mem_grow(t->env.mem, &t->at, &t->capacity, t->count + 1, sizeof it) != 0
        || (it.hops = phx__mem_zero(t->env.mem, trace_size(t))) == NULL)
        return PHX_ENOMEM;
    it.out.hops = it.hops;
    it.sent_at = (uint64_t *)(void *)(it.hops + t->env.hop_limit);
    t->at[t->count++] = it;
    phx__timer_set(t->env.timers, t->timer, now);
    return 0;
}

/* ---- The nodes on the way -------------------------------------------------------------------- */

static void trace_answer(struct phx__node_trace *t, uint32_t from, const struct phx__trace *q, int has_way,
                         uint64_t now)
{
    uint32_t node = phx__id_find(t->env.ids, &q->target), way = t->env.way(t->env.ctx, &q->source);
    int hops = t->ops.distance(t->env.ctx, node);
    struct phx__trace a = { q->source, t->env.ids->at[PHX__SELF], q->key, q->number,
                            (uint8_t)(hops >= 0 && has_way ? hops : (int)PHX__UNREACHABLE), PHX_ENOTFOUND };

    t->paid = t->paid > now ? t->paid : now;
    if (t->paid + TRACE_EACH > now + TRACE_BURST)
        return;
    t->paid += TRACE_EACH;
    if (hops >= 0)
        a.why = t->ops.why(t->env.ctx, node);
    (void)t->env.send(t->env.ctx, way == PHX__NONE ? from : way, PHX__TRACE, (int)PHX__TRACE_ANSWER,
                      t->env.hop_limit, &a);
}

/* Not back to where it came from: routes that still change may lead there. */
PHX__COLD static void trace_pass(struct phx__node_trace *t, uint32_t from, const struct phx__frame *f,
                       const struct phx__trace *q, uint64_t now)
{
    int flags = f->flags & (int)PHX__TRACE_ANSWER;
    uint32_t way = t->env.way(t->env.ctx, &q->target);
    int has_way = way != PHX__NONE && way != from;

    if (f->hops > 1 && has_way && t->env.relay)
        (void)t->env.send(t->env.ctx, way, PHX__TRACE, flags, f->hops - 1, q);
    else if (!flags)
        trace_answer(t, from, q, f->hops <= 1 && has_way, now);
}

PHX__COLD int phx__node_trace_on_trace(struct phx__node_trace *t, uint32_t from, const struct phx__frame *f,
                             uint64_t now)
{
    struct phx__trace q;

    if (phx__wire_link_get(f, PHX__TRACE, &q) != 0)
        return PHX_EPROTO;
    if (!phx__id_equal(&q.target, &t->env.ids->at[PHX__SELF])) {
        trace_pass(t, from, f, &q, now);
    } else if (f->flags & PHX__TRACE_ANSWER) {
        for (uint32_t i = 0; i < t->count; i++)
            if (t->at[i].key == q.key)
                trace_take(t, &t->at[i], &q, now);
    } else {
        trace_answer(t, from, &q, 1, now);
    }
    return 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

int phx__node_trace_init(struct phx__node_trace *t, const struct phx__node_env *env,
                         const struct phx__node_trace_ops *ops)
{
    *t = (struct phx__node_trace){ .env = *env, .ops = *ops };
    return phx__timer_new(env->timers, PHX__TIMER_TRACE, 0, &t->timer);
}

void phx__node_trace_end(struct phx__node_trace *t)
{
    while (t->count > 0)
        trace_finish(t, t->count - 1, PHX_ECLOSED);
}

PHX__COLD void phx__node_trace_free(struct phx__node_trace *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        phx__mem_put(t->env.mem, t->at[i].hops, trace_size(t));
    phx__mem_put(t->env.mem, t->at, t->capacity * sizeof *t->at);
}
