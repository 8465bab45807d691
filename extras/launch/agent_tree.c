/* agent_tree.c - joins the tree of agents, the engine of this host, its ranks and their output. */

#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tree's operations ----------------------------------------------------------------------- */

static int local_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;

    return phx_send(l->node, la_job_agent_name(l->job, agent), la_job_agent_name(l->job, la_agent_self(l)),
                    type,
                    data, size);
}

static uint32_t local_rank_below(void *ctx, uint32_t rank)
{
    struct la_local *l = (struct la_local *)ctx;
    uint32_t agent = la_job_agent_of(l->job, rank);

    return agent == LA_NONE ? LA_NONE : la_job_child_towards(l->job, agent);
}

static uint32_t local_agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    const struct la_local *l = (const struct la_local *)ctx;

    return job == l->job->id ? la_job_agent_of(l->job, rank) : LA_NONE;
}

static struct la_engine *local_engine(const struct la_local *l, uint32_t job)
{
    return job == l->job->id ? la_ranks_engine(l->ranks) : NULL;
}

static void local_record(void *ctx, const struct la_coll *c, const struct la_record *r)
{
    struct la_engine *e = local_engine((const struct la_local *)ctx, c->job);

    if (e != NULL)
        la_engine_record(e, c, r);
}

static void local_done(void *ctx, const struct la_coll *c)
{
    struct la_engine *e = local_engine((const struct la_local *)ctx, c->job);

    if (e != NULL)
        la_engine_done(e, c);
}

static void local_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    memset(&e, 0, sizeof e);
    e.rank = a->rank;
    e.count = b->rank;
    snprintf(e.text, sizeof e.text,
             "operation %lu: kind %lu, root %lu, size %llu; kind %lu, root %lu, size %llu",
             (unsigned long)a->number, (unsigned long)a->kind, (unsigned long)a->root,
             (unsigned long long)a->size, (unsigned long)b->kind, (unsigned long)b->root,
             (unsigned long long)b->size);
    la_agent_up(l, LA_UP_DIFFER, &e);
}

static void local_up_came(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (type == LA_UP_NAME)
        la_agent_name_asked(l, from, data, size);
    else if (l->root.event != NULL && la_event_get(&e, data, size) == 0)
        l->root.event(l->root.ctx, from, type, &e);
}

void la_agent_check_stuck(struct la_local *l)
{
    struct la_coll c;
    struct la_event e;

    if (!l->someone_gone || l->said_stuck || l->ending
        || !la_engine_waiting(la_ranks_engine(l->ranks), &c))
        return;
    l->said_stuck = 1;
    memset(&e, 0, sizeof e);
    e.rank = c.rank;
    e.count = l->gone_rank;
    e.value = (int32_t)c.number;
    la_agent_up(l, LA_UP_STUCK, &e);
}

static void local_down_came(void *ctx, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (type == LA_DOWN_NAMED) {
        la_agent_named(l, data, size);
        return;
    }
    if (la_event_get(&e, data, size) != 0)
        return;
    switch (type) {
    case LA_DOWN_END:
        la_agent_end(l, e.value != 0);
        la_start_cancel(l->start);
        break;
    case LA_DOWN_SIGNAL: la_ranks_signal(l->ranks, e.value); break;
    case LA_DOWN_OVER: la_agent_go(l); break;
    case LA_DOWN_GONE:
        l->someone_gone = 1;
        l->gone_rank = e.rank;
        break;
    case LA_DOWN_DEAD: la_engine_dead(la_ranks_engine(l->ranks), e.rank); break;
    default: break;
    }
}

void la_local_down(struct la_local *l, uint32_t type, const struct la_event *e)
{
    unsigned char data[LA_EVENT_HEAD + LA_EVENT_TEXT];
    size_t n = la_event_put(e, data);

    (void)la_tree_down(l->tree, LA_ALL, type, data, n);
}

static int local_lookup(void *ctx, uint32_t job, const char *key, const char **value)
{
    struct la_engine *e = local_engine((const struct la_local *)ctx, job);

    return e != NULL ? la_engine_lookup(e, key, value) : 0;
}

static void local_learn(void *ctx, uint32_t job, const char *key, const char *value)
{
    struct la_engine *e = local_engine((const struct la_local *)ctx, job);

    if (e != NULL)
        la_engine_learn(e, key, value);
}

static void local_got(void *ctx, uint32_t job, const char *key, const char *value, uint64_t token)
{
    struct la_engine *e = local_engine((const struct la_local *)ctx, job);

    if (e != NULL)
        la_engine_got(e, key, value, token);
}

static void local_cut_off(void *ctx)
{
    la_agent_orphan((struct la_local *)ctx);
}

static void local_gone(void *ctx, uint32_t first, uint32_t end)
{
    struct la_local *l = (struct la_local *)ctx;

    if (l->root.gone != NULL)
        l->root.gone(l->root.ctx, first, end);
}

/* ---- The engine's operations --------------------------------------------------------------------- */

static struct la_local *engine_local(void *ctx)
{
    return (struct la_local *)la_ranks_owner((struct la_ranks *)ctx);
}

static void engine_enter(void *ctx, const struct la_coll *c, const struct la_record *records, size_t count)
{
    struct la_local *l = engine_local(ctx);

    if (la_tree_enter(l->tree, c, records, count) != 0)
        la_agent_tell(l, LA_UP_ABORT, c->rank, 1, "no memory for a collective operation");
}

static void engine_left(void *ctx, uint32_t number)
{
    struct la_local *l = engine_local(ctx);

    (void)la_tree_out(l->tree, l->job->id, number);
}

static void engine_put(void *ctx, const char *key, const char *value)
{
    struct la_local *l = engine_local(ctx);

    (void)la_tree_put(l->tree, l->job->id, key, value);
}

static void engine_get(void *ctx, const char *key, uint64_t token)
{
    struct la_local *l = engine_local(ctx);

    if (la_tree_get(l->tree, l->job->id, key, token) != 0)
        la_engine_got(la_ranks_engine(l->ranks), key, NULL, token);
}

/* The token of a message must not be 0 in Phoenix. */
static void engine_send(void *ctx, uint32_t from, uint32_t to, uint64_t tag, const void *data, size_t size,
                        uint64_t token)
{
    struct la_local *l = engine_local(ctx);
    struct phx_outgoing m;
    struct iovec v;
    int err;

    memset(&m, 0, sizeof m);
    memcpy(&v.iov_base, &data, sizeof data); /* it is copied, though iovec has no const */
    v.iov_len = size;
    m.to = la_job_rank_name(l->job, to);
    m.from = la_job_rank_name(l->job, from);
    m.tag = tag;
    m.token = token + 1;
    m.iov = &v;
    m.iov_count = 1;
    err = phx_sendv(l->node, &m);
    if (err != 0)
        la_engine_sent(la_ranks_engine(l->ranks), token, err);
}

static void engine_abort(void *ctx, uint32_t rank, int code, const char *text)
{
    la_agent_tell(engine_local(ctx), LA_UP_ABORT, rank, code == LA_NO_CODE ? 1 : code,
                  text != NULL ? text : "");
}

static void engine_spawn(void *ctx, uint32_t rank, const struct la_spawn *s, uint64_t token)
{
    (void)rank;
    (void)s;
    la_engine_spawned(la_ranks_engine((struct la_ranks *)ctx), token, -1, NULL, "not_supported");
}

static void engine_name(void *ctx, enum la_naming what, const char *service, const char *port, uint64_t token)
{
    la_agent_ask_name(engine_local(ctx), what, service, port, token);
}

static void engine_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    local_differ(engine_local(ctx), a, b);
}

static void engine_complain(void *ctx, uint32_t rank, const char *text)
{
    la_agent_tell(engine_local(ctx), LA_UP_SAY, rank, 1, text);
}

static void engine_note(void *ctx, uint32_t rank, const char *text)
{
    la_agent_tell(engine_local(ctx), LA_UP_SAY, rank, 0, text);
}

static void engine_stream_ended(void *ctx, uint32_t rank)
{
    (void)ctx; /* the exit status says what became of the process */
    (void)rank;
}

/* ---- Ranks and flow ------------------------------------------------------------------------------ */

static void local_output(void *ctx, const struct la_chunk *c)
{
    struct la_local *l = (struct la_local *)ctx;

    if (!l->orphan && la_flow_output(l->flow, c) != 0)
        la_agent_tell(l, LA_UP_ABORT, c->rank, 1, "no memory for its output");
}

static int local_room(void *ctx)
{
    const struct la_local *l = (const struct la_local *)ctx;

    return l->orphan || la_flow_room(l->flow);
}

static void local_root_output(void *ctx, const struct la_chunk *c)
{
    struct la_local *l = (struct la_local *)ctx;

    if (l->root.output != NULL)
        l->root.output(l->root.ctx, c);
}

static void local_input(void *ctx, const struct la_chunk *c)
{
    la_ranks_input(((struct la_local *)ctx)->ranks, c);
}

static int local_input_room(void *ctx)
{
    return la_ranks_input_room(((struct la_local *)ctx)->ranks);
}

/* ---- Making them --------------------------------------------------------------------------------- */

int la_agent_make_tree(struct la_local *l)
{
    struct la_tree_config cfg;
    uint32_t *children = (uint32_t *)malloc((l->near_count + 1) * sizeof *children), i;
    int err;

    if (children == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < la_agent_children(l); i++)
        children[i] = l->near[i].agent;
    memset(&cfg, 0, sizeof cfg);
    cfg.self = la_agent_self(l);
    cfg.parent = l->parent;
    cfg.end = la_agent_self(l) + l->job->agents_count;
    cfg.children = children;
    cfg.children_count = la_agent_children(l);
    cfg.go_on = l->job->go_on;
    cfg.cut_wait_us = l->job->cut_wait_us;
    cfg.ops.ctx = l;
    cfg.ops.send = local_send;
    cfg.ops.agent_of = local_agent_of;
    cfg.ops.record = local_record;
    cfg.ops.done = local_done;
    cfg.ops.differ = local_differ;
    cfg.ops.up = local_up_came;
    cfg.ops.down = local_down_came;
    cfg.ops.lookup = local_lookup;
    cfg.ops.learn = local_learn;
    cfg.ops.got = local_got;
    cfg.ops.cut_off = local_cut_off;
    cfg.ops.gone = local_gone;
    err = la_tree_new(&l->tree, &cfg);
    free(children);
    return err != 0 ? err : la_tree_job(l->tree, l->job->id);
}

int la_agent_make_flow(struct la_local *l)
{
    struct la_flow_ops ops;
    uint32_t i;
    int err;

    ops.ctx = l;
    ops.send = local_send;
    ops.output = local_root_output;
    ops.input = local_input;
    ops.input_room = local_input_room;
    ops.below = local_rank_below;
    err = la_flow_new(&l->flow, la_agent_self(l), l->parent, &ops);
    for (i = 0; i < la_agent_children(l) && err == 0; i++)
        err = la_flow_child(l->flow, l->near[i].agent);
    return err;
}

int la_agent_make_ranks(struct la_local *l)
{
    struct la_ranks_ops ops;
    int err;

    memset(&ops, 0, sizeof ops);
    ops.ctx = l;
    ops.ended = la_agent_ended;
    ops.said = la_agent_said;
    ops.output = local_output;
    ops.room = local_room;
    ops.engine.enter = engine_enter;
    ops.engine.left = engine_left;
    ops.engine.put = engine_put;
    ops.engine.get = engine_get;
    ops.engine.send = engine_send;
    ops.engine.abort = engine_abort;
    ops.engine.spawn = engine_spawn;
    ops.engine.name = engine_name;
    ops.engine.differ = engine_differ;
    ops.engine.complain = engine_complain;
    ops.engine.note = engine_note;
    ops.engine.stream_ended = engine_stream_ended;
    err = la_ranks_new(&l->ranks, l->job, NULL, l->watch, l->procs, &ops);
    if (err == 0 && l->job->agents[0].runs_count == 0)
        err = la_tree_out(l->tree, l->job->id, 0);
    return err;
}
