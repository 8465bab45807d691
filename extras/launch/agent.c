/* agent.c - the agent of a host as it runs: one loop over Phoenix, tree, flow, ranks and starters. */

/* Brains (tree, flow, engine) and hands (node, ranks, start) know nothing of each other; here and in
 * agent_tree.c is what joins them. */
#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCAL_STEPS 16                  /* of the node in one turn */
#define LOCAL_GO_US ((uint64_t)2000000) /* children that were told to go are killed then */

/* ---- Neighbours ---------------------------------------------------------------------------------- */

struct local_neighbour *la_agent_near(struct la_local *l, uint32_t agent)
{
    uint32_t i;

    for (i = 0; i < l->near_count; i++)
        if (l->near[i].agent == agent)
            return &l->near[i];
    return NULL;
}

uint32_t la_agent_self(const struct la_local *l)
{
    return l->job->first;
}

uint32_t la_agent_children(const struct la_local *l)
{
    return l->near_count - (l->root.event == NULL);
}

/* A child that will say nothing more. */
static void local_drop(struct la_local *l, uint32_t agent)
{
    la_tree_lost(l->tree, agent);
    la_flow_lost(l->flow, agent);
}

void la_agent_lost(struct la_local *l, struct local_neighbour *n, const char *why)
{
    if (n->lost)
        return;
    n->lost = 1;
    n->linked = 0;
    if (n->agent == l->parent) {
        local_drop(l, n->agent);
        if (l->job->go_on)
            la_agent_seek(l);
        else
            la_agent_orphan(l);
        return;
    }
    local_drop(l, n->agent);
    if (!l->over && !l->orphan)
        la_agent_tell(l, LA_UP_LOST, n->agent, 0, why);
}

void la_agent_on_node(phx *p, const struct phx_node *node, void *user)
{
    struct la_local *l = (struct la_local *)user;
    struct local_neighbour *n;
    uint32_t agent;

    (void)p;
    if (memcmp(node->id.b, "LAUNCH", 6) != 0)
        return;
    agent = la_agent_get32(node->id.b + 12);
    n = la_agent_near(l, agent);
    if (node->state == PHX_NODE_OK && node->hops == 1 && la_agent_found(l, agent))
        return;
    if (n == NULL)
        return;
    if (l->job->go_on && n->lost && node->state == PHX_NODE_FAILED)
        la_tree_dead(l->tree, agent);
    if (node->state == PHX_NODE_OK && node->hops == 1 && !n->linked) {
        n->linked = 1;
        la_start_linked(l->start, n->agent);
        if (n->agent == l->parent)
            la_agent_linked_up(l);
    } else if (n->linked && node->state != PHX_NODE_OK && node->state != PHX_NODE_SUSPECT) {
        la_agent_lost(l, n, node->reason != 0 ? phx_strerror(node->reason) : "no way to it");
    }
}

/* ---- Starting children --------------------------------------------------------------------------- */

static int local_boot(void *ctx, uint32_t number, struct la_queue *out)
{
    struct la_local *l = (struct la_local *)ctx;
    unsigned char *data, head[12] = { 'P', 'H', 'X', 'L', 0, 0, 0, 0, 0, 0, 0, 0 };
    struct la_queue rest;
    size_t size;
    int err = la_job_encode(l->job, number, &data, &size);

    if (err != 0)
        return err;
    memset(&rest, 0, sizeof rest);
    err = la_agent_put_ancestors(l, &rest);
    la_agent_put32(head + 4, (uint32_t)(4 + size + rest.size));
    la_agent_put32(head + 8, (uint32_t)size);
    if (err == 0)
        err = size + rest.size + 4 > LA_BOOT_MOST ? PHX_ETOOBIG : la_queue_add(out, head, sizeof head);
    if (err == 0)
        err = la_queue_add(out, data, size);
    if (err == 0)
        err = la_queue_add(out, la_queue_first(&rest), rest.size);
    la_queue_free(&rest);
    free(data);
    return err;
}

static void local_child_failed(void *ctx, uint32_t number, int status, const char *why)
{
    struct la_local *l = (struct la_local *)ctx;
    struct local_neighbour *n = la_agent_near(l, number);
    uint32_t i, count = 1;

    if (n != NULL && n->lost)
        return;
    if (n != NULL)
        n->lost = 1;
    local_drop(l, number);
    if (l->job->starter != LA_SRUN) /* which starts those below as well */
        count = l->job->agents[number - la_agent_self(l)].subtree;
    for (i = 0; l->job->go_on && i < count; i++)
        la_tree_dead(l->tree, number + i); /* there never was one */
    if (!l->ending && !l->over)
        la_agent_tell(l, LA_UP_NO_HOST, number, status, why);
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
    struct local_neighbour *n = la_agent_near(l, number);
    char why[LA_EVENT_TEXT];

    if (l->job->go_on && l->job->starter == LA_FORK)
        la_tree_dead(l->tree, number); /* ssh may end without its agent */
    if (n == NULL || n->lost || l->over || l->job->go_on)
        return; /* the link tells */
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "ended by signal %d%s%s", WTERMSIG(status), *text ? ": " : "", text);
    else
        snprintf(why, sizeof why, "ended with status %d%s%s", WEXITSTATUS(status), *text ? ": " : "", text);
    la_agent_lost(l, n, why);
}

/* ---- Signals and children ------------------------------------------------------------------------ */

static void local_collected(void *ctx, pid_t pid, int status)
{
    struct la_local *l = (struct la_local *)ctx;

    const struct local_job *j = l->jobs;

    while (j != NULL && !la_ranks_exited(j->ranks, pid, status))
        j = j->next;
    if (j == NULL)
        (void)(la_step_exited(l->step, pid, status) || la_start_exited(l->start, pid, status));
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
            la_agent_orphan(l);
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
    uint32_t number = la_agent_self(l) + 1, end = la_agent_self(l) + l->job->agents_count;

    l->near = (struct local_neighbour *)calloc(l->job->agents_count + 1, sizeof *l->near);
    if (l->near == NULL)
        return PHX_ENOMEM;
    while (number < end) {
        l->near[l->near_count++].agent = number;
        number += l->job->agents[number - la_agent_self(l)].subtree;
    }
    if (l->root.event == NULL)
        l->near[l->near_count++].agent = l->parent;
    return 0;
}

/* Without it nobody starts what is lost; but the links stand. */
static void local_step_ended(void *ctx, int status, const char *why)
{
    struct la_local *l = (struct la_local *)ctx;

    if (!l->over && !l->ending && status != 0)
        la_agent_tell(l, l->job->go_on ? LA_UP_SAY : LA_UP_ABORT, LA_NONE, 1, why);
}

static int local_own_addresses(void *ctx, char out[LA_STEP_LINE])
{
    return la_local_addresses((const struct la_local *)ctx, out, LA_STEP_LINE);
}

static int local_make_step(struct la_local *l, const char *self)
{
    struct la_step_ops ops;

    ops.ctx = l;
    ops.boot = local_boot;
    ops.own = local_own_addresses;
    ops.failed = local_child_failed;
    ops.ended = local_step_ended;
    return la_step_new(&l->step, l->job, self, l->cargo, l->watch, l->procs, &ops);
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
    err = la_start_new(&l->start, l->job, self, l->cargo, l->watch, l->procs, &ops);
    for (i = 0; i < la_agent_children(l) && err == 0; i++)
        err = la_start_host(l->start, l->near[i].agent);
    if (err == 0 && l->root.event != NULL && l->job->starter == LA_SRUN)
        err = local_make_step(l, self);
    return err;
}

static int local_first_job(struct la_local *l)
{
    struct local_job *j = (struct local_job *)calloc(1, sizeof *j);
    int err;

    if (j == NULL)
        return PHX_ENOMEM;
    j->job = l->job;
    err = la_cargo_apply(l->cargo, l->job);
    if (err == 0)
        err = la_agent_make_job(l, j);
    if (err != 0)
        la_agent_free_job(j);
    l->jobs_seen = 1;
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
    if (err == 0 && cfg->rest_size > 0)
        err = la_agent_take_ancestors(l, cfg->rest, cfg->rest_size);
    if (err == 0)
        err = la_agent_make_tree(l);
    if (err == 0)
        err = la_agent_make_flow(l);
    if (err == 0)
        err = local_make_start(l, cfg->self);
    if (err == 0)
        err = la_agent_make_node(l);
    if (err == 0)
        err = la_watch_add(l->watch, phx_fd(l->node), LA_READ, local_on_node_ready, l);
    return err != 0 ? err : local_first_job(l);
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
    l->cargo = cfg->cargo;
    l->root = cfg->root;
    l->signals_fd = -1;
    l->go_at = l->seek_at = l->link_by = UINT64_MAX;
    l->parent = l->root.event != NULL ? LA_NONE : l->job->parent == LA_NONE ? 0 : l->job->parent;
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
    struct local_job *j;

    if (l == NULL)
        return;
    l->over = 1;
    while ((j = l->jobs) != NULL) {
        l->jobs = j->next;
        la_agent_free_job(j);
    }
    la_start_free(l->start);
    la_step_free(l->step);
    phx_free(l->node);
    la_flow_free(l->flow);
    la_tree_free(l->tree);
    la_watch_free(l->watch);
    if (l->signals_fd >= 0)
        close(l->signals_fd);
    la_queue_free(&l->events);
    la_names_free(l->names);
    la_agent_free_spawns(l);
    free(l->near);
    free(l->ancestors);
    free(l);
}

int la_local_adopt(struct la_local *l, int fd)
{
    int err = phx_adopt(l->node, fd, 0);

    if (err == 0) { /* nobody tells if the parent ends before it is a neighbour */
        l->now = phx_now_us();
        l->link_by = l->now + l->job->start_timeout_us;
    }
    return err;
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

/* 1: nothing is left to do. */
static int local_may_go(struct la_local *l)
{
    if (!l->over && !(l->orphan && la_agent_jobs_over(l)))
        return 0;
    if (l->go_at == UINT64_MAX)
        l->go_at = l->now + LOCAL_GO_US;
    if (la_start_running(l->start) == 0 && !la_step_running(l->step))
        return 1;
    if (l->now < l->go_at)
        return 0;
    if (l->killed)
        return 1;
    l->killed = 1;
    l->go_at = l->now + LOCAL_GO_US;
    la_start_kill(l->start, SIGKILL);
    la_step_kill(l->step, SIGKILL);
    return 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int local_timeout(const struct la_local *l)
{
    const struct local_job *j;
    uint64_t due = earlier(phx_deadline(l->node), la_tree_deadline(l->tree)), now = phx_now_us();

    due = earlier(earlier(due, la_start_deadline(l->start)), earlier(l->seek_at, l->go_at));
    due = earlier(earlier(due, la_step_deadline(l->step)), l->link_by);
    for (j = l->jobs; j != NULL; j = j->next)
        due = earlier(due, earlier(la_ranks_deadline(j->ranks), j->exits_due));
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
        la_agent_step_seek(l);
        la_start_step(l->start, l->now);
        la_step_step(l->step, l->now);
        la_agent_step_jobs(l);
        la_flow_pump(l->flow);
        la_agent_flush_events(l);
        if (l->root.step != NULL)
            l->root.step(l->root.ctx, l->now);
        local_step_node(l);
        if (local_may_go(l))
            return;
        if (la_watch_wait(l->watch, local_timeout(l)) != 0)
            la_agent_fatal("cannot wait for what happens");
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

uint32_t la_local_ended(const struct la_local *l)
{
    return la_flow_ended(l->flow);
}
