/* agent_node.c - the Phoenix node of an agent: its names, its messages. */

#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An agent that dies without a word may be the only way for those below, and watched by others: this is how
 * long they take it for alive. A job with --ft waits for their ranks' end as little as for others'. */
#define NODE_FT_INSURANCE_US ((uint64_t)5000000)
#define NODE_REFUSED_US ((uint64_t)5000000) /* a node has had no memory for so long */

/* ---- Phoenix ------------------------------------------------------------------------------------- */

/* From rank to rank of one job: 1 if it is for one. */
static int local_rank_message(const struct la_local *l, const struct phx_message *m)
{
    const struct local_job *j = la_agent_job_of_id(l, la_job_of_name(m->to));
    uint64_t ranks = j != NULL ? la_job_rank_name(j->job, 0) : 0;

    if (j == NULL || m->to < ranks)
        return 0;
    if (m->to - ranks < j->job->size && m->from >= ranks && m->from - ranks < j->job->size)
        (void)la_engine_message(la_ranks_engine(j->ranks), (uint32_t)(m->from - ranks),
                                (uint32_t)(m->to - ranks), m->tag, m->data, m->size);
    return 1;
}

static void local_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct la_local *l = (struct la_local *)user;
    uint64_t base = la_job_agent_name(l->job, 0);
    struct local_neighbour *n;
    uint32_t from;
    int err;

    (void)p;
    if (l->root.message != NULL && m->to == la_job_arbiter_name(l->job)) {
        l->root.message(l->root.ctx, m);
        return;
    }
    if (local_rank_message(l, m) || m->from < base || m->from - base >= LA_NONE || m->tag > UINT32_MAX)
        return;
    from = (uint32_t)(m->from - base);
    n = la_agent_near(l, from);
    if ((n == NULL || n->lost) && (la_agent_adopted(l, from) != 0 || (n = la_agent_near(l, from)) == NULL))
        return;
    err = m->tag >= LA_FLOW_FIRST ? la_flow_recv(l->flow, from, (uint32_t)m->tag, m->data, m->size)
                                  : la_tree_recv(l->tree, from, (uint32_t)m->tag, m->data, m->size);
    if (err == PHX_EPROTO)
        la_agent_lost(l, n, "it sends nonsense");
    else if (err == PHX_ENOMEM)
        la_agent_tell(l, LA_UP_ABORT, LA_NONE, 1, "an agent has no memory left");
}

static void local_on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    const struct local_job *j = la_agent_job_of_id((const struct la_local *)user, la_job_of_name(to));

    (void)p;
    (void)tag;
    if (j != NULL)
        la_engine_sent(la_ranks_engine(j->ranks), token - 1, result);
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
        la_agent_tell(l, LA_UP_SAY, LA_NONE, 0, line);
}

/* What arrives while there is no memory comes again. Where it never does all would wait for ever. */
static void *local_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct la_local *l = (struct la_local *)world;
    void *memory = NULL;

    (void)old_size;
    if (new_size == 0)
        free(old);
    else
        memory = realloc(old, new_size);
    if (memory != NULL)
        l->refused_at = 0;
    else if (new_size > 0 && l->refused_at == 0)
        l->refused_at = l->now;
    else if (new_size > 0 && l->now - l->refused_at > NODE_REFUSED_US)
        la_agent_fatal("no memory for messages");
    return memory;
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
    if (job->ft)
        d->insurance_us = NODE_FT_INSURANCE_US;
    if (d->insurance_us < d->interval_us)
        d->insurance_us = d->interval_us;
}

/* The agent is the hub of this host's processes, and the launcher's has the arbiter's name. */
static int local_open_ftmpi(struct la_local *l)
{
    uint64_t arbiter = la_job_arbiter_name(l->job);
    int err = la_agent_listen_ranks(l);

    if (err == 0 && la_agent_self(l) == 0)
        err = phx_assume(l->node, arbiter, arbiter);
    return err;
}

struct phx_id la_agent_id(const struct la_local *l, uint32_t agent)
{
    struct phx_id id;

    memcpy(id.b, "LAUNCH\0\0", 8);
    la_agent_put32(id.b + 8, l->job->id);
    la_agent_put32(id.b + 12, agent);
    return id;
}

int la_agent_make_node(struct la_local *l)
{
    uint64_t self = la_job_agent_name(l->job, la_agent_self(l));
    struct phx_config cfg;
    struct phx_id id;
    char cluster[32];
    int err;

    phx_config_init(&cfg);
    id = la_agent_id(l, la_agent_self(l));
    snprintf(cluster, sizeof cluster, "launch-%08lx", (unsigned long)l->job->id);
    if (l->job->ftmpi) /* the processes are nodes of it, and it has a key of its own in any case */
        snprintf(cluster, sizeof cluster, "ftmpi");
    cfg.user = l;
    cfg.cluster = cluster;
    cfg.key = l->job->key;
    cfg.key_size = sizeof l->job->key;
    cfg.id = &id;
    cfg.full_mesh = 0;
    cfg.hop_limit = 255;
    cfg.step_bytes = 80 * 1024;
    cfg.on_message = local_on_message;
    cfg.on_node = la_agent_on_node;
    cfg.on_done = local_on_done;
    cfg.on_writable = local_on_writable;
    cfg.on_log = local_on_log;
    l->alloc.alloc = local_alloc;
    l->alloc.world = l;
    cfg.alloc = &l->alloc;
    cfg.log_level = l->job->verbose > 1 ? PHX_LOG_DEBUG : PHX_LOG_ERROR;
    local_detector(l->job, &cfg.detector);
    err = phx_new(&l->node, &cfg, phx_now_us());
    if (err == 0)
        err = phx_assume(l->node, self, self);
    if (err == 0)
        err = la_agent_listen(l);
    if (err == 0 && l->job->ftmpi)
        err = local_open_ftmpi(l);
    return err;
}
