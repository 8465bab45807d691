/* agent_job.c - the jobs of an agent: of each the ranks on this host, their engine, and how they end. */

/* The first job is the one that the agent was started with; spawns make others. The launcher gives them
 * numbers in this order, and what it is told of a rank names the job by its number. */
#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_BATCH_US ((uint64_t)10000) /* exits without a fault wait for others of their kind */

struct local_job *la_agent_job(const struct la_local *l, uint32_t number)
{
    struct local_job *j = l->jobs;

    while (j != NULL && j->number != number)
        j = j->next;
    return j;
}

struct local_job *la_agent_job_of_id(const struct la_local *l, uint32_t id)
{
    struct local_job *j = l->jobs;

    while (j != NULL && j->job->id != id)
        j = j->next;
    return j;
}

static void job_tell(struct local_job *j, uint32_t type, uint32_t rank, int32_t value, const char *text)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text));
    e.job = j->number;
    e.rank = rank;
    e.count = 1;
    e.value = value;
    snprintf(e.text, sizeof e.text, "%s", text);
    la_agent_up(j->of, type, &e);
}

/* ---- Ends of ranks ------------------------------------------------------------------------------- */

static void job_flush_exits(struct local_job *j)
{
    struct la_event e;
    size_t i, n = j->exits_count;

    j->exits_count = 0;
    j->exits_due = UINT64_MAX;
    for (i = 0; i < n; i++) {
        e.job = j->number;
        e.rank = j->exits[i].rank;
        e.count = j->exits[i].count;
        e.value = j->exits[i].value;
        e.flags = j->exits[i].flags;
        e.text[0] = '\0';
        la_agent_up(j->of, LA_UP_EXITS, &e);
    }
}

static void job_unstarted(struct local_job *j, const struct la_end *end)
{
    struct la_event e;

    e.job = j->number;
    e.rank = end->rank;
    e.count = 1;
    e.value = end->error;
    e.flags = (end->directory ? LA_EVENT_DIRECTORY : 0) | end->life << LA_EVENT_LIFE;
    snprintf(e.text, sizeof e.text, "%s", end->what != NULL ? end->what : "");
    la_agent_up(j->of, LA_UP_UNSTARTED, &e);
}

static void job_ended(void *ctx, const struct la_end *end)
{
    struct local_job *j = (struct local_job *)ctx;
    struct local_exits e, *last;

    if (end->error != 0 && end->error != ECANCELED)
        job_unstarted(j, end);
    e.rank = end->rank;
    e.count = 1;
    e.value = end->error != 0 ? 0 : end->wait;
    e.flags = (end->inited ? LA_EVENT_INITED : 0) | (end->finalized ? LA_EVENT_FINALIZED : 0)
              | (end->error != 0 ? LA_EVENT_UNSTARTED : 0) | end->life << LA_EVENT_LIFE;
    if (j->exits_count == LOCAL_EXITS)
        job_flush_exits(j);
    last = j->exits_count > 0 ? &j->exits[j->exits_count - 1] : NULL;
    if (last != NULL && last->rank + last->count == e.rank && last->value == e.value
        && last->flags == e.flags)
        last->count++;
    else
        j->exits[j->exits_count++] = e;
    if (e.value != 0)
        j->exits_due = 0;
    else if (j->exits_due == UINT64_MAX)
        j->exits_due = j->of->now + JOB_BATCH_US;
}

static void job_said(void *ctx, uint32_t rank, int finalize)
{
    struct local_job *j = (struct local_job *)ctx;

    if (finalize || j->said_init)
        return;
    j->said_init = 1;
    job_tell(j, LA_UP_INIT, rank, 0, "");
}

static void job_tell_life(struct local_job *j, uint32_t type, uint32_t rank, uint32_t life, int32_t value)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.job = j->number;
    e.rank = rank;
    e.count = life;
    e.value = value;
    if (type == LA_UP_UNSTARTED)
        e.flags = life << LA_EVENT_LIFE;
    la_agent_up(j->of, type, &e);
}

static void job_again(void *ctx, uint32_t rank, uint32_t life)
{
    job_tell_life((struct local_job *)ctx, LA_UP_AGAIN, rank, life, 0);
}

void la_agent_again(struct local_job *j, uint32_t rank, uint32_t life)
{
    if (rank >= j->job->size || life == 0 || life > 0xfff)
        return;
    if (la_ranks_again(j->ranks, rank, life) != 0)
        job_tell_life(j, LA_UP_UNSTARTED, rank, life, ENOMEM);
}

static void job_check_stuck(struct local_job *j)
{
    struct la_coll c;
    struct la_event e;

    if (!j->someone_gone || j->said_stuck || j->of->ending
        || !la_engine_waiting(la_ranks_engine(j->ranks), &c))
        return;
    j->said_stuck = 1;
    memset(&e, 0, sizeof e);
    e.job = j->number;
    e.rank = c.rank;
    e.count = j->gone_rank;
    e.value = (int32_t)c.number;
    la_agent_up(j->of, LA_UP_STUCK, &e);
}

/* ---- The engine's operations --------------------------------------------------------------------- */

static struct local_job *engine_job(void *ctx)
{
    return (struct local_job *)la_ranks_owner((struct la_ranks *)ctx);
}

static void engine_enter(void *ctx, const struct la_coll *c, const struct la_record *records, size_t count)
{
    struct local_job *j = engine_job(ctx);

    if (la_tree_enter(j->of->tree, c, records, count) != 0)
        job_tell(j, LA_UP_ABORT, c->rank, 1, "no memory for a collective operation");
}

static void engine_left(void *ctx, uint32_t number)
{
    struct local_job *j = engine_job(ctx);

    (void)la_tree_out(j->of->tree, j->job->id, number);
}

static void engine_put(void *ctx, const char *key, const char *value)
{
    struct local_job *j = engine_job(ctx);

    if (la_tree_put(j->of->tree, j->job->id, key, value) == PHX_ENOMEM)
        la_agent_fatal("no memory for a key");
}

static void engine_get(void *ctx, const char *key, uint64_t token)
{
    struct local_job *j = engine_job(ctx);

    int err = la_tree_get(j->of->tree, j->job->id, key, token);

    if (err == PHX_ENOMEM)
        la_agent_fatal("no memory for a key");
    if (err != 0)
        la_engine_got(la_ranks_engine(j->ranks), key, NULL, token);
}

/* The token of a message must not be 0 in Phoenix. */
static void engine_send(void *ctx, uint32_t from, uint32_t to, uint64_t tag, const void *data, size_t size,
                        uint64_t token)
{
    struct local_job *j = engine_job(ctx);
    struct phx_outgoing m;
    struct iovec v;
    int err;

    memset(&m, 0, sizeof m);
    memcpy(&v.iov_base, &data, sizeof data); /* it is copied, though iovec has no const */
    v.iov_len = size;
    m.to = la_job_rank_name(j->job, to);
    m.from = la_job_rank_name(j->job, from);
    m.tag = tag;
    m.token = token + 1;
    m.iov = &v;
    m.iov_count = 1;
    err = phx_sendv(j->of->node, &m);
    if (err != 0)
        la_engine_sent(la_ranks_engine(j->ranks), token, err);
}

static void engine_abort(void *ctx, uint32_t rank, int code, const char *text)
{
    job_tell(engine_job(ctx), LA_UP_ABORT, rank, code == LA_NO_CODE ? 1 : code, text != NULL ? text : "");
}

static void engine_spawn(void *ctx, uint32_t rank, const struct la_spawn *s, uint64_t token)
{
    (void)rank;
    la_agent_ask_spawn(engine_job(ctx), s, token);
}

static void engine_name(void *ctx, enum la_naming what, const char *service, const char *port, uint64_t token)
{
    la_agent_ask_name(engine_job(ctx), what, service, port, token);
}

static void engine_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    la_agent_differ(engine_job(ctx), a, b);
}

static void engine_complain(void *ctx, uint32_t rank, const char *text)
{
    job_tell(engine_job(ctx), LA_UP_SAY, rank, 1, text);
}

static void engine_note(void *ctx, uint32_t rank, const char *text)
{
    job_tell(engine_job(ctx), LA_UP_SAY, rank, 0, text);
}

static void engine_stream_ended(void *ctx, uint32_t rank)
{
    (void)ctx; /* the exit status says what became of the process */
    (void)rank;
}

/* ---- Output -------------------------------------------------------------------------------------- */

static void job_output(void *ctx, const struct la_chunk *c)
{
    struct local_job *j = (struct local_job *)ctx;

    if (!j->of->orphan && la_flow_output(j->of->flow, c) != 0)
        job_tell(j, LA_UP_ABORT, c->rank, 1, "no memory for its output");
}

static int job_room(void *ctx)
{
    const struct la_local *l = ((const struct local_job *)ctx)->of;

    return l->orphan || la_flow_room(l->flow);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static int job_make_ranks(struct local_job *j)
{
    struct la_ranks_ops ops;

    memset(&ops, 0, sizeof ops);
    ops.ctx = j;
    ops.ended = job_ended;
    ops.said = job_said;
    ops.again = job_again;
    ops.output = job_output;
    ops.room = job_room;
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
    return la_ranks_new(&j->ranks, j->job, j->number, j->spawner, j->of->watch, j->of->procs, &ops);
}

/* The names of its ranks: all are taken, or given up. */
static int job_names(const struct local_job *j, int (*fn)(phx *p, uint64_t first, uint64_t last))
{
    const struct la_agent *a = &j->job->agents[0];
    uint32_t i;
    int err = 0;

    for (i = 0; i < a->runs_count && err == 0; i++)
        err = fn(j->of->node, la_job_rank_name(j->job, a->runs[i].first),
                 la_job_rank_name(j->job, a->runs[i].first + a->runs[i].count - 1));
    return err;
}

int la_agent_make_job(struct la_local *l, struct local_job *j)
{
    struct local_job **at = &l->jobs;
    int err;

    j->of = l;
    j->exits_due = UINT64_MAX;
    err = la_job_index(j->job);
    if (err == 0)
        err = la_tree_job(l->tree, j->job->id);
    if (err == 0)
        err = job_names(j, phx_assume);
    if (err == 0)
        err = job_make_ranks(j);
    if (err != 0)
        return err;
    while (*at != NULL)
        at = &(*at)->next;
    *at = j;
    if (j->job->agents[0].runs_count == 0)
        (void)la_tree_out(l->tree, j->job->id, 0); /* it fails only where the tree has no such job */
    return 0;
}

void la_agent_free_job(struct local_job *j)
{
    la_ranks_free(j->ranks);
    la_job_free(&j->own);
    free(j->spawner);
    free(j);
}

static void job_step(struct local_job *j)
{
    struct la_local *l = j->of;

    la_ranks_step(j->ranks, l->now);
    la_ranks_room(j->ranks);
    job_check_stuck(j);
    if (!j->said_ready && la_ranks_started(j->ranks)) {
        j->said_ready = 1;
        if (j->number == 0 || j->job->agents[0].runs_count > 0)
            job_tell(j, LA_UP_READY, LA_NONE, 0, "");
    }
    if (j->exits_due <= l->now || (j->exits_count > 0 && la_ranks_over(j->ranks)))
        job_flush_exits(j);
}

static int job_is_over(const struct local_job *j)
{
    return la_ranks_over(j->ranks) && j->exits_count == 0;
}

int la_agent_jobs_over(const struct la_local *l)
{
    const struct local_job *j = l->jobs;

    while (j != NULL && job_is_over(j))
        j = j->next;
    return j == NULL;
}

/* The first one stays: its settings are the agent's. */
static void jobs_sweep(struct la_local *l)
{
    struct local_job **at = &l->jobs, *j;

    while ((j = *at) != NULL) {
        if (j->number == 0 || !j->forgotten || !job_is_over(j)) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        (void)job_names(j, phx_release);
        la_tree_job_end(l->tree, j->job->id);
        la_agent_free_job(j);
    }
}

/* What was asked for below is known when all below is over. */
static void jobs_tell_stats(struct la_local *l)
{
    struct la_engine_stats s;
    struct la_tree_stats t;
    struct la_event e;

    if (!l->job->verbose || l->said_stats || la_flow_ended_below(l->flow) < l->jobs_seen)
        return;
    l->said_stats = 1;
    la_engine_stats(la_ranks_engine(l->jobs->ranks), &s);
    la_tree_stats(l->tree, &t);
    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.rank = LA_NONE;
    e.count = (uint32_t)(s.gets + t.gets_below);
    e.value = (int32_t)(s.gets_here + t.gets_here);
    la_agent_up(l, LA_UP_STATS, &e);
}

void la_agent_step_jobs(struct la_local *l)
{
    struct local_job *j;

    for (j = l->jobs; j != NULL; j = j->next)
        job_step(j);
    jobs_sweep(l);
    if (!la_agent_jobs_over(l))
        return;
    if (l->job->ft && !l->jobs->forgotten && !l->ending && !l->orphan && !l->over)
        return; /* one may be started again */
    jobs_tell_stats(l);
    if (l->events.size == 0)
        la_flow_end(l->flow, l->jobs_seen);
}
