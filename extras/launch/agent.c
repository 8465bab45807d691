/* agent.c - the agent of a host as it runs: one loop over Phoenix, tree, flow, ranks and starters. */

/* Brains (tree, flow, engine) and hands (node, ranks, start) know nothing of each other; here is what joins
 * them. An event for the launcher waits in `events` until the tree takes it. */
#define _POSIX_C_SOURCE 200809L
#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCAL_STEPS 16                      /* of the node in one turn */
#define LOCAL_EVENTS ((size_t)1 << 20)      /* lines for people are left out beyond this */
#define LOCAL_BATCH_US ((uint64_t)10000)    /* exits without a fault wait for others of their kind */
#define LOCAL_GO_US ((uint64_t)2000000)     /* children that were told to go are killed then */
#define LOCAL_EXITS 64

struct local_neighbour {
    uint32_t agent;
    int linked, lost;
};

/* Ranks that ended alike. */
struct local_exits {
    uint32_t rank, count, flags;
    int32_t value;
};

struct la_local {
    struct la_job *job;
    struct la_procs *procs;
    struct la_watch *watch;
    struct la_start *start;
    struct la_tree *tree;
    struct la_flow *flow;
    struct la_ranks *ranks;
    phx *node;
    struct la_root_ops root;
    struct local_neighbour *near; /* the children, then the parent */
    uint32_t near_count;
    struct la_queue events; /* type, size, bytes: not yet taken by the tree */
    struct local_exits exits[LOCAL_EXITS];
    size_t exits_count;
    uint64_t exits_due; /* UINT64_MAX: none waits */
    uint64_t now, go_at;
    uint32_t gone_rank; /* one that others may wait for in vain */
    int signals_fd, node_ready;
    int ending, orphan, over, killed;
    int said_init, said_ready, said_stuck, someone_gone;
};

/* ---- Events -------------------------------------------------------------------------------------- */

static void event_put32(unsigned char *out, uint32_t v)
{
    out[0] = (unsigned char)v;
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)(v >> 16);
    out[3] = (unsigned char)(v >> 24);
}

static uint32_t event_get32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

size_t la_event_put(const struct la_event *e, unsigned char out[LA_EVENT_HEAD + LA_EVENT_TEXT])
{
    size_t n = strlen(e->text);

    event_put32(out, e->rank);
    event_put32(out + 4, e->count);
    event_put32(out + 8, (uint32_t)e->value);
    event_put32(out + 12, e->flags);
    memcpy(out + LA_EVENT_HEAD, e->text, n);
    return LA_EVENT_HEAD + n;
}

int la_event_get(struct la_event *e, const void *data, size_t size)
{
    const unsigned char *in = (const unsigned char *)data;
    size_t i;

    if (size < LA_EVENT_HEAD || size - LA_EVENT_HEAD >= LA_EVENT_TEXT)
        return PHX_EPROTO;
    e->rank = event_get32(in);
    e->count = event_get32(in + 4);
    e->value = (int32_t)event_get32(in + 8);
    e->flags = event_get32(in + 12);
    size -= LA_EVENT_HEAD;
    for (i = 0; i < size; i++) /* it is meant for a terminal */
        e->text[i] = in[LA_EVENT_HEAD + i] < 0x20 || in[LA_EVENT_HEAD + i] == 0x7f
                         ? '?'
                         : (char)in[LA_EVENT_HEAD + i];
    e->text[size] = '\0';
    return 0;
}

static void local_flush_events(struct la_local *l)
{
    while (l->events.size > 0) {
        const unsigned char *at = la_queue_first(&l->events);
        uint32_t size = event_get32(at + 4);
        if (la_tree_up(l->tree, event_get32(at), at + 8, size) == PHX_EAGAIN)
            return;
        la_queue_take(&l->events, 8 + size);
    }
}

static void local_up(struct la_local *l, uint32_t type, const struct la_event *e)
{
    unsigned char data[8 + LA_EVENT_HEAD + LA_EVENT_TEXT];
    size_t n;

    if (l->root.event != NULL) {
        l->root.event(l->root.ctx, 0, type, e);
        return;
    }
    if (l->orphan || (type == LA_UP_SAY && l->events.size > LOCAL_EVENTS))
        return;
    n = la_event_put(e, data + 8);
    event_put32(data, type);
    event_put32(data + 4, (uint32_t)n);
    if (la_queue_add(&l->events, data, 8 + n) == 0)
        local_flush_events(l);
}

static void local_tell(struct la_local *l, uint32_t type, uint32_t rank, int32_t value, const char *text)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text));
    e.rank = rank;
    e.count = 1;
    e.value = value;
    snprintf(e.text, sizeof e.text, "%s", text);
    local_up(l, type, &e);
}

/* ---- Ends of ranks ------------------------------------------------------------------------------- */

static void local_flush_exits(struct la_local *l)
{
    struct la_event e;
    size_t i, n = l->exits_count;

    l->exits_count = 0;
    l->exits_due = UINT64_MAX;
    for (i = 0; i < n; i++) {
        e.rank = l->exits[i].rank;
        e.count = l->exits[i].count;
        e.value = l->exits[i].value;
        e.flags = l->exits[i].flags;
        e.text[0] = '\0';
        local_up(l, LA_UP_EXITS, &e);
    }
}

static void local_unstarted(struct la_local *l, const struct la_end *end)
{
    struct la_event e;

    e.rank = end->rank;
    e.count = 1;
    e.value = end->error;
    e.flags = end->directory ? LA_EVENT_DIRECTORY : 0;
    snprintf(e.text, sizeof e.text, "%s", end->what != NULL ? end->what : "");
    local_up(l, LA_UP_UNSTARTED, &e);
}

static void local_ended(void *ctx, const struct la_end *end)
{
    struct la_local *l = (struct la_local *)ctx;
    struct local_exits e, *last;

    if (end->error != 0 && end->error != ECANCELED)
        local_unstarted(l, end);
    e.rank = end->rank;
    e.count = 1;
    e.value = end->error != 0 ? 0 : end->wait;
    e.flags = (end->inited ? LA_EVENT_INITED : 0) | (end->finalized ? LA_EVENT_FINALIZED : 0)
              | (end->error != 0 ? LA_EVENT_UNSTARTED : 0);
    if (l->exits_count == LOCAL_EXITS)
        local_flush_exits(l);
    last = l->exits_count > 0 ? &l->exits[l->exits_count - 1] : NULL;
    if (last != NULL && last->rank + last->count == e.rank && last->value == e.value && last->flags == e.flags)
        last->count++;
    else
        l->exits[l->exits_count++] = e;
    if (e.value != 0)
        l->exits_due = 0;
    else if (l->exits_due == UINT64_MAX)
        l->exits_due = l->now + LOCAL_BATCH_US;
}

static void local_said(void *ctx, uint32_t rank, int finalize)
{
    struct la_local *l = (struct la_local *)ctx;

    if (finalize || l->said_init)
        return;
    l->said_init = 1;
    local_tell(l, LA_UP_INIT, rank, 0, "");
}

/* ---- Ending -------------------------------------------------------------------------------------- */

static void local_end(struct la_local *l, int now)
{
    l->ending = 1;
    la_ranks_end(l->ranks, now);
}

/* There is no way to the launcher any more: all below ends. */
static void local_orphan(struct la_local *l)
{
    if (l->orphan || l->over || l->root.event != NULL)
        return;
    l->orphan = 1;
    local_end(l, 0);
    la_start_kill(l->start, SIGTERM);
    la_ranks_room(l->ranks); /* from here on it goes nowhere */
}

static void local_go(struct la_local *l)
{
    if (l->over)
        return;
    l->over = 1;
    l->go_at = l->now + LOCAL_GO_US;
    la_ranks_end(l->ranks, 1);
}

void la_local_over(struct la_local *l)
{
    struct la_event e;

    memset(&e, 0, sizeof e);
    la_local_down(l, LA_DOWN_OVER, &e);
    local_go(l);
}

/* ---- Neighbours ---------------------------------------------------------------------------------- */

static struct local_neighbour *local_near(struct la_local *l, uint32_t agent)
{
    uint32_t i;

    for (i = 0; i < l->near_count; i++)
        if (l->near[i].agent == agent)
            return &l->near[i];
    return NULL;
}

static uint32_t local_self(const struct la_local *l)
{
    return l->job->first;
}

static uint32_t local_parent(const struct la_local *l)
{
    return l->root.event != NULL ? LA_NONE : l->job->parent == LA_NONE ? 0 : l->job->parent;
}

/* A child that will say nothing more. */
static void local_drop(struct la_local *l, uint32_t agent)
{
    la_tree_lost(l->tree, agent);
    la_flow_lost(l->flow, agent);
}

static void local_lost(struct la_local *l, struct local_neighbour *n, const char *why)
{
    if (n->lost)
        return;
    n->lost = 1;
    n->linked = 0;
    if (n->agent == local_parent(l)) {
        la_tree_lost(l->tree, n->agent);
        if (!l->job->go_on)
            local_orphan(l);
        return;
    }
    local_drop(l, n->agent);
    if (!l->over && !l->orphan)
        local_tell(l, LA_UP_LOST, n->agent, 0, why);
}

static void local_on_node(phx *p, const struct phx_node *node, void *user)
{
    struct la_local *l = (struct la_local *)user;
    struct local_neighbour *n;

    (void)p;
    if (memcmp(node->id.b, "LAUNCH", 6) != 0)
        return;
    n = local_near(l, event_get32(node->id.b + 12));
    if (n == NULL)
        return;
    if (node->state == PHX_NODE_OK && node->hops == 1 && !n->linked) {
        n->linked = 1;
        la_start_linked(l->start, n->agent);
    } else if (n->linked && node->state != PHX_NODE_OK && node->state != PHX_NODE_SUSPECT) {
        local_lost(l, n, node->reason != 0 ? phx_strerror(node->reason) : "no way to it");
    }
}

/* ---- The tree's operations ----------------------------------------------------------------------- */

static int local_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;

    return phx_send(l->node, la_job_agent_name(l->job, agent), la_job_agent_name(l->job, local_self(l)), type,
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
    snprintf(e.text, sizeof e.text, "operation %lu: kind %lu, root %lu, size %llu; kind %lu, root %lu, size %llu",
             (unsigned long)a->number, (unsigned long)a->kind, (unsigned long)a->root,
             (unsigned long long)a->size, (unsigned long)b->kind, (unsigned long)b->root,
             (unsigned long long)b->size);
    local_up(l, LA_UP_DIFFER, &e);
}

static void local_up_came(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (l->root.event != NULL && la_event_get(&e, data, size) == 0)
        l->root.event(l->root.ctx, from, type, &e);
}

static void local_check_stuck(struct la_local *l)
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
    local_up(l, LA_UP_STUCK, &e);
}

static void local_down_came(void *ctx, uint32_t type, const void *data, size_t size)
{
    struct la_local *l = (struct la_local *)ctx;
    struct la_event e;

    if (la_event_get(&e, data, size) != 0)
        return;
    switch (type) {
    case LA_DOWN_END:
        local_end(l, e.value != 0);
        la_start_cancel(l->start);
        break;
    case LA_DOWN_SIGNAL: la_ranks_signal(l->ranks, e.value); break;
    case LA_DOWN_OVER: local_go(l); break;
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
    local_orphan((struct la_local *)ctx);
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
        local_tell(l, LA_UP_ABORT, c->rank, 1, "no memory for a collective operation");
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
    local_tell(engine_local(ctx), LA_UP_ABORT, rank, code == LA_NO_CODE ? 1 : code, text != NULL ? text : "");
}

static void engine_spawn(void *ctx, uint32_t rank, const struct la_spawn *s, uint64_t token)
{
    (void)rank;
    (void)s;
    la_engine_spawned(la_ranks_engine((struct la_ranks *)ctx), token, -1, NULL, "not_supported");
}

static void engine_name(void *ctx, enum la_naming what, const char *service, const char *port, uint64_t token)
{
    (void)what;
    (void)service;
    (void)port;
    la_engine_named(la_ranks_engine((struct la_ranks *)ctx), token, 0, NULL);
}

static void engine_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    local_differ(engine_local(ctx), a, b);
}

static void engine_complain(void *ctx, uint32_t rank, const char *text)
{
    local_tell(engine_local(ctx), LA_UP_SAY, rank, 1, text);
}

static void engine_note(void *ctx, uint32_t rank, const char *text)
{
    local_tell(engine_local(ctx), LA_UP_SAY, rank, 0, text);
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
        local_tell(l, LA_UP_ABORT, c->rank, 1, "no memory for its output");
}

static int local_room(void *ctx)
{
    const struct la_local *l = (const struct la_local *)ctx;

    return l->orphan || la_flow_room(l->flow);
}

static void local_complain(void *ctx, uint32_t rank, const char *text)
{
    local_tell((struct la_local *)ctx, LA_UP_SAY, rank, 1, text);
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

/* ---- Starting children --------------------------------------------------------------------------- */

static int local_boot(void *ctx, uint32_t number, struct la_queue *out)
{
    struct la_local *l = (struct la_local *)ctx;
    unsigned char *data, head[8] = { 'P', 'H', 'X', 'L', 0, 0, 0, 0 };
    size_t size;
    int err = la_job_encode(l->job, number, &data, &size);

    if (err != 0)
        return err;
    event_put32(head + 4, (uint32_t)size);
    err = size > LA_BOOT_MOST ? PHX_ETOOBIG : la_queue_add(out, head, sizeof head);
    if (err == 0)
        err = la_queue_add(out, data, size);
    free(data);
    return err;
}

static void local_child_failed(void *ctx, uint32_t number, int status, const char *why)
{
    struct la_local *l = (struct la_local *)ctx;
    struct local_neighbour *n = local_near(l, number);

    if (n != NULL)
        n->lost = 1;
    local_drop(l, number);
    if (!l->ending && !l->over)
        local_tell(l, LA_UP_NO_HOST, number, status, why);
}

static void local_child_up(void *ctx, uint32_t number, int fd)
{
    struct la_local *l = (struct la_local *)ctx;
    int err = phx_adopt(l->node, fd, 1);

    if (err != 0)
        local_child_failed(l, number, 1, phx_strerror(err));
}

static void local_child_ended(void *ctx, uint32_t number, int status, const char *text)
{
    struct la_local *l = (struct la_local *)ctx;
    struct local_neighbour *n = local_near(l, number);
    char why[LA_EVENT_TEXT];

    if (n == NULL || n->lost || l->over || l->job->go_on)
        return; /* the link tells */
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "ended by signal %d%s%s", WTERMSIG(status), *text ? ": " : "", text);
    else
        snprintf(why, sizeof why, "ended with status %d%s%s", WEXITSTATUS(status), *text ? ": " : "", text);
    local_lost(l, n, why);
}

/* ---- Phoenix ------------------------------------------------------------------------------------- */

static void local_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct la_local *l = (struct la_local *)user;
    uint64_t base = la_job_agent_name(l->job, 0), ranks = la_job_rank_name(l->job, 0);
    struct local_neighbour *n;
    uint32_t from;
    int err;

    (void)p;
    if (m->to >= ranks && m->to - ranks < l->job->size) {
        if (m->from >= ranks && m->from - ranks < l->job->size)
            (void)la_engine_message(la_ranks_engine(l->ranks), (uint32_t)(m->from - ranks),
                                    (uint32_t)(m->to - ranks), m->tag, m->data, m->size);
        return;
    }
    if (m->from < base || m->from - base >= LA_NONE || m->tag > UINT32_MAX)
        return;
    from = (uint32_t)(m->from - base);
    n = local_near(l, from);
    if (n == NULL || n->lost)
        return;
    err = m->tag >= LA_FLOW_FIRST ? la_flow_recv(l->flow, from, (uint32_t)m->tag, m->data, m->size)
                                  : la_tree_recv(l->tree, from, (uint32_t)m->tag, m->data, m->size);
    if (err == PHX_EPROTO)
        local_lost(l, n, "it sends nonsense");
    else if (err == PHX_ENOMEM)
        local_tell(l, LA_UP_ABORT, LA_NONE, 1, "an agent has no memory left");
}

static void local_on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p;
    (void)to;
    (void)tag;
    la_engine_sent(la_ranks_engine(((struct la_local *)user)->ranks), token - 1, result);
}

static void local_on_writable(phx *p, uint64_t to, void *user)
{
    struct la_local *l = (struct la_local *)user;
    uint64_t base = la_job_agent_name(l->job, 0);

    (void)p;
    if (to >= base && to - base < LA_NONE)
        la_tree_writable(l->tree, (uint32_t)(to - base));
    la_flow_pump(l->flow);
}

static void local_on_log(phx *p, int level, const char *line, void *user)
{
    struct la_local *l = (struct la_local *)user;

    (void)p;
    if (l->job->verbose > 1 || level <= PHX_LOG_ERROR)
        local_tell(l, LA_UP_SAY, LA_NONE, 0, line);
}

static void local_detector(const struct la_job *job, struct phx_detector *d)
{
    if (job->detector == LA_DETECT_FAST)
        (void)phx_detector_preset(d, PHX_PRESET_FAST);
    if (job->detector != LA_DETECT_TIMES)
        return;
    d->interval_us = job->detect_us[0];
    d->timeout_us = job->detect_us[1];
    d->broken_us = job->detect_us[2];
    if (d->insurance_us < d->interval_us)
        d->insurance_us = d->interval_us;
}

static int local_assume(struct la_local *l)
{
    const struct la_agent *a = &l->job->agents[0];
    uint64_t self = la_job_agent_name(l->job, local_self(l));
    int err = phx_assume(l->node, self, self);
    uint32_t i;

    for (i = 0; i < a->runs_count && err == 0; i++)
        err = phx_assume(l->node, la_job_rank_name(l->job, a->runs[i].first),
                         la_job_rank_name(l->job, a->runs[i].first + a->runs[i].count - 1));
    return err;
}

static int local_make_node(struct la_local *l)
{
    struct phx_config cfg;
    struct phx_id id;
    char cluster[32];
    int err;

    phx_config_init(&cfg);
    memcpy(id.b, "LAUNCH\0\0", 8);
    event_put32(id.b + 8, l->job->id);
    event_put32(id.b + 12, local_self(l));
    snprintf(cluster, sizeof cluster, "launch-%08lx", (unsigned long)l->job->id);
    cfg.user = l;
    cfg.cluster = cluster;
    cfg.key = l->job->key;
    cfg.key_size = sizeof l->job->key;
    cfg.id = &id;
    cfg.full_mesh = 0;
    cfg.hop_limit = 255;
    cfg.step_bytes = 80 * 1024;
    cfg.on_message = local_on_message;
    cfg.on_node = local_on_node;
    cfg.on_done = local_on_done;
    cfg.on_writable = local_on_writable;
    cfg.on_log = local_on_log;
    cfg.log_level = l->job->verbose > 1 ? PHX_LOG_DEBUG : PHX_LOG_ERROR;
    local_detector(l->job, &cfg.detector);
    err = phx_new(&l->node, &cfg, phx_now_us());
    return err != 0 ? err : local_assume(l);
}

/* ---- Signals and children ------------------------------------------------------------------------ */

static void local_collected(void *ctx, pid_t pid, int status)
{
    struct la_local *l = (struct la_local *)ctx;

    if (!la_ranks_exited(l->ranks, pid, status))
        (void)la_start_exited(l->start, pid, status);
}

static void local_on_signal(void *ctx, int fd, int events)
{
    struct la_local *l = (struct la_local *)ctx;
    int number;

    (void)events;
    while ((number = la_signals_next(fd)) > 0) {
        if (number == SIGCHLD)
            la_procs_collect(l->procs, local_collected, l);
        else if (l->root.signal != NULL)
            l->root.signal(l->root.ctx, number);
        else
            local_orphan(l);
    }
}

static void local_on_node_ready(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    ((struct la_local *)ctx)->node_ready = 1;
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static int local_make_near(struct la_local *l)
{
    uint32_t number = local_self(l) + 1, end = local_self(l) + l->job->agents_count;

    l->near = (struct local_neighbour *)calloc(l->job->agents_count + 1, sizeof *l->near);
    if (l->near == NULL)
        return PHX_ENOMEM;
    while (number < end) {
        l->near[l->near_count++].agent = number;
        number += l->job->agents[number - local_self(l)].subtree;
    }
    if (l->root.event == NULL)
        l->near[l->near_count++].agent = local_parent(l);
    return 0;
}

static uint32_t local_children(const struct la_local *l)
{
    return l->near_count - (l->root.event == NULL);
}

static int local_make_tree(struct la_local *l)
{
    struct la_tree_config cfg;
    uint32_t *children = (uint32_t *)malloc((l->near_count + 1) * sizeof *children), i;
    int err;

    if (children == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < local_children(l); i++)
        children[i] = l->near[i].agent;
    memset(&cfg, 0, sizeof cfg);
    cfg.self = local_self(l);
    cfg.parent = local_parent(l);
    cfg.end = local_self(l) + l->job->agents_count;
    cfg.children = children;
    cfg.children_count = local_children(l);
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

static int local_make_flow(struct la_local *l)
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
    err = la_flow_new(&l->flow, local_self(l), local_parent(l), &ops);
    for (i = 0; i < local_children(l) && err == 0; i++)
        err = la_flow_child(l->flow, l->near[i].agent);
    return err;
}

static int local_make_ranks(struct la_local *l)
{
    struct la_ranks_ops ops;
    int err;

    memset(&ops, 0, sizeof ops);
    ops.ctx = l;
    ops.ended = local_ended;
    ops.said = local_said;
    ops.output = local_output;
    ops.room = local_room;
    ops.complain = local_complain;
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

static int local_make_start(struct la_local *l, const char *self)
{
    struct la_start_ops ops;
    uint32_t i;
    int err;

    ops.ctx = l;
    ops.boot = local_boot;
    ops.up = local_child_up;
    ops.failed = local_child_failed;
    ops.ended = local_child_ended;
    err = la_start_new(&l->start, l->job, self, l->watch, l->procs, &ops);
    for (i = 0; i < local_children(l) && err == 0; i++)
        err = la_start_host(l->start, l->near[i].agent);
    return err;
}

static int local_make(struct la_local *l, const struct la_local_config *cfg)
{
    int err = la_watch_new(&l->watch);

    if (err == 0)
        err = la_signals_open(cfg->signals, cfg->signals_count, &l->signals_fd);
    if (err == 0)
        err = la_watch_add(l->watch, l->signals_fd, LA_READ, local_on_signal, l);
    if (err == 0)
        err = local_make_near(l);
    if (err == 0)
        err = local_make_tree(l);
    if (err == 0)
        err = local_make_flow(l);
    if (err == 0)
        err = local_make_start(l, cfg->self);
    if (err == 0)
        err = local_make_node(l);
    if (err == 0)
        err = la_watch_add(l->watch, phx_fd(l->node), LA_READ, local_on_node_ready, l);
    return err != 0 ? err : local_make_ranks(l);
}

int la_local_new(struct la_local **out, const struct la_local_config *cfg)
{
    struct la_local *l = (struct la_local *)calloc(1, sizeof *l);
    int err;

    *out = NULL;
    if (l == NULL)
        return PHX_ENOMEM;
    l->job = cfg->job;
    l->procs = cfg->procs;
    l->root = cfg->root;
    l->signals_fd = -1;
    l->exits_due = l->go_at = UINT64_MAX;
    l->now = phx_now_us();
    err = local_make(l, cfg);
    if (err != 0) {
        la_local_free(l);
        return err;
    }
    *out = l;
    return 0;
}

void la_local_free(struct la_local *l)
{
    if (l == NULL)
        return;
    l->over = 1;
    la_ranks_free(l->ranks);
    la_start_free(l->start);
    phx_free(l->node);
    la_flow_free(l->flow);
    la_tree_free(l->tree);
    la_watch_free(l->watch);
    if (l->signals_fd >= 0)
        close(l->signals_fd);
    la_queue_free(&l->events);
    free(l->near);
    free(l);
}

int la_local_adopt(struct la_local *l, int fd)
{
    return phx_adopt(l->node, fd, 0);
}

/* ---- The loop ------------------------------------------------------------------------------------ */

static void local_step_node(struct la_local *l)
{
    int i;

    for (i = 0; i < LOCAL_STEPS && (l->node_ready || phx_deadline(l->node) <= l->now); i++) {
        l->node_ready = 0;
        if (phx_step(l->node, l->now, NULL, 0) == 1)
            l->node_ready = 1;
    }
}

static void local_step_ranks(struct la_local *l)
{
    la_ranks_step(l->ranks, l->now);
    la_ranks_room(l->ranks);
    local_check_stuck(l);
    if (l->exits_due <= l->now || (l->exits_count > 0 && la_ranks_over(l->ranks)))
        local_flush_exits(l);
    if (la_ranks_over(l->ranks) && l->events.size == 0)
        la_flow_end(l->flow);
    if (!l->said_ready && la_ranks_deadline(l->ranks) != 0) {
        l->said_ready = 1;
        local_tell(l, LA_UP_READY, LA_NONE, 0, "");
    }
}

/* 1: nothing is left to do. */
static int local_may_go(struct la_local *l)
{
    if (!l->over && !(l->orphan && la_ranks_over(l->ranks)))
        return 0;
    if (l->go_at == UINT64_MAX)
        l->go_at = l->now + LOCAL_GO_US;
    if (la_start_running(l->start) == 0)
        return 1;
    if (l->now < l->go_at)
        return 0;
    if (l->killed)
        return 1;
    l->killed = 1;
    l->go_at = l->now + LOCAL_GO_US;
    la_start_kill(l->start, SIGKILL);
    return 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int local_timeout(const struct la_local *l)
{
    uint64_t due = earlier(phx_deadline(l->node), la_tree_deadline(l->tree)), now = phx_now_us();

    due = earlier(due, earlier(la_start_deadline(l->start), la_ranks_deadline(l->ranks)));
    due = earlier(due, earlier(l->exits_due, l->go_at));
    if (l->root.deadline != NULL)
        due = earlier(due, l->root.deadline(l->root.ctx));
    if (l->node_ready || due <= now)
        return 0;
    return due == UINT64_MAX ? -1 : due - now > 60000000 ? 60000 : (int)((due - now + 999) / 1000);
}

void la_local_run(struct la_local *l)
{
    for (;;) {
        l->now = phx_now_us();
        local_step_node(l);
        la_tree_step(l->tree, l->now);
        la_start_step(l->start, l->now);
        local_step_ranks(l);
        la_flow_pump(l->flow);
        local_flush_events(l);
        if (l->root.step != NULL)
            l->root.step(l->root.ctx, l->now);
        local_step_node(l);
        if (local_may_go(l))
            return;
        if (la_watch_wait(l->watch, local_timeout(l)) != 0)
            return;
    }
}

/* ---- For the launcher ---------------------------------------------------------------------------- */

struct la_watch *la_local_watch(struct la_local *l)
{
    return l->watch;
}

struct la_flow *la_local_flow(struct la_local *l)
{
    return l->flow;
}

phx *la_local_node(struct la_local *l)
{
    return l->node;
}

uint64_t la_local_now(const struct la_local *l)
{
    return l->now;
}

int la_local_done(const struct la_local *l)
{
    return la_flow_ended(l->flow);
}
