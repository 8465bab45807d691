/* agent_tree.c - joins the tree of agents, the engines of this host and what its processes read and write. */

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
    int err = phx_send(l->node, la_job_agent_name(l->job, agent),
                       la_job_agent_name(l->job, la_agent_self(l)), type, data, size);

    if (err == PHX_ENOMEM) /* the tree takes it for lost with the link */
        la_agent_fatal("no memory for a message to another agent");
    return err;
}

/* Only the first job has input. */
static uint32_t local_rank_below(void *ctx, uint32_t rank)
{
    struct la_local *l = (struct la_local *)ctx;
    uint32_t agent = la_job_agent_of(l->job, rank);

    return agent == LA_NONE ? LA_NONE : la_job_child_towards(l->job, agent);
}

static uint32_t local_agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    const struct local_job *j = la_agent_job_of_id((const struct la_local *)ctx, job);

    return j != NULL ? la_job_agent_of(j->job, rank) : LA_NONE;
}

static struct la_engine *local_engine(const struct la_local *l, uint32_t job)
{
    const struct local_job *j = la_agent_job_of_id(l, job);

    return j != NULL ? la_ranks_engine(j->ranks) : NULL;
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

void la_agent_differ(struct local_job *j, const struct la_coll *a, const struct la_coll *b)
{
    struct la_event e;

    memset(&e, 0, sizeof e);
    e.job = j->number;
    e.rank = a->rank;
    e.count = b->rank;
    snprintf(e.text, sizeof e.text,
             "operation %lu: kind %lu, root %lu, size %llu; kind %lu, root %lu, size %llu",
             (unsigned long)a->number, (unsigned long)a->kind, (unsigned long)a->root,
             (unsigned long long)a->size, (unsigned long)b->kind, (unsigned long)b->root,
             (unsigned long long)b->size);
    la_agent_up(j->of, LA_UP_DIFFER, &e);
}

static void local_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    struct local_job *j = la_agent_job_of_id((const struct la_local *)ctx, a->job);

    if (j != NULL)
        la_agent_differ(j, a, b);
}

static void local_up_came(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (type == LA_UP_NAME)
        la_agent_name_asked(l, from, data, size);
    else if (type == LA_UP_SPAWN || type == LA_UP_SPAWN_END)
        la_agent_spawn_came(l, from, type == LA_UP_SPAWN_END, data, size);
    else if (l->root.event != NULL && la_event_get(&e, data, size) == 0)
        l->root.event(l->root.ctx, from, type, &e);
}

static void local_spawned(const struct local_job *j, const struct la_event *e)
{
    uint64_t token = (uint64_t)e->flags << 32 | e->count;

    la_engine_spawned(la_ranks_engine(j->ranks), token, e->value, e->text, e->text);
}

/* About one job. */
static void local_job_event(struct local_job *j, uint32_t type, const struct la_event *e)
{
    switch (type) {
    case LA_DOWN_GONE:
        j->someone_gone = 1;
        j->gone_rank = e->rank;
        break;
    case LA_DOWN_DEAD: la_engine_dead(la_ranks_engine(j->ranks), e->rank); break;
    case LA_DOWN_KILL: la_ranks_end(j->ranks, 1); break;
    case LA_DOWN_FORGET: j->forgotten = 1; break;
    case LA_DOWN_AGAIN: la_agent_again(j, e->rank, e->count); break;
    case LA_DOWN_KILL_ONE: la_ranks_kill(j->ranks, e->rank, e->count); break;
    case LA_DOWN_SPAWNED: local_spawned(j, e); break;
    default: break;
    }
}

static void local_signal(const struct la_local *l, int number)
{
    const struct local_job *j;

    for (j = l->jobs; j != NULL; j = j->next)
        la_ranks_signal(j->ranks, number);
}

static void local_event(struct la_local *l, uint32_t type, const struct la_event *e)
{
    struct local_job *j;

    switch (type) {
    case LA_DOWN_END:
        la_agent_end(l, e->value != 0);
        la_start_cancel(l->start);
        break;
    case LA_DOWN_SIGNAL: local_signal(l, e->value); break;
    case LA_DOWN_OVER: la_agent_go(l); break;
    default:
        j = la_agent_job(l, e->job);
        if (j != NULL)
            local_job_event(j, type, e);
        break;
    }
}

static void local_down_came(void *ctx, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (type == LA_DOWN_NAMED)
        la_agent_named(l, data, size);
    else if (type == LA_DOWN_JOB || type == LA_DOWN_JOB_END)
        la_agent_job_came(l, type == LA_DOWN_JOB_END, data, size);
    else if (la_event_get(&e, data, size) == 0)
        local_event(l, type, &e);
}

void la_local_down(struct la_local *l, uint32_t to, uint32_t type, const struct la_event *e)
{
    unsigned char data[LA_EVENT_HEAD + LA_EVENT_TEXT];
    size_t n = la_event_put(e, data);

    la_agent_post(l, to, type, data, n);
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
    if (((struct la_local *)ctx)->root.event != NULL) /* nobody can have cut it off */
        la_agent_fatal("no memory for the messages of agents");
    la_agent_orphan((struct la_local *)ctx);
}

static void local_gone(void *ctx, uint32_t first, uint32_t end)
{
    struct la_local *l = (struct la_local *)ctx;

    if (l->root.gone != NULL)
        l->root.gone(l->root.ctx, first, end);
}

/* ---- Flow --------------------------------------------------------------------------------------- */

static void local_root_output(void *ctx, const struct la_chunk *c)
{
    struct la_local *l = (struct la_local *)ctx;

    if (l->root.output != NULL)
        l->root.output(l->root.ctx, c);
}

static void local_input(void *ctx, const struct la_chunk *c)
{
    la_ranks_input(((struct la_local *)ctx)->jobs->ranks, c);
}

static int local_input_room(void *ctx)
{
    return la_ranks_input_room(((struct la_local *)ctx)->jobs->ranks);
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
    return err;
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
