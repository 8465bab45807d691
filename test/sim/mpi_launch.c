/* mpi_launch.c - the launcher and the agents of a job in the simulated world. */
#include "mpi_world.h"

#include "arbiter.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

/* Node 0 is the launcher's: it holds the arbiter's name and serves host 0 of a job that has only that. Node
 * h + 1 is the agent of host h. An agent joins the launcher, or, at another site, the first
 * agent there. */

#define PORT_OF_NODES 7000u
#define SEEN_US 3000u     /* an agent sees the end of a process within so long */
#define GRACE_US 2000u    /* from the end of the job to that of its processes */
#define ENDS 64

enum { WORD_EXITED = 1, WORD_END };

struct launch_end {
    uint64_t at;
    int process; /* index */
};

struct launch_node {
    struct mpi_launch *l;
    phx *p; /* NULL: its host is down */
    uint32_t machine;
    int index, lost; /* lost: the launcher has given it up */
    struct launch_end ends[ENDS];
    int ends_count;
    uint64_t end_at; /* the processes of this host end then; 0: they do not */
};

struct mpi_launch {
    struct mpi_job *j;
    struct ftm_arbiter *arbiter;
    struct launch_node node[MPI_HOSTS + 1];
    int nodes;
};

static struct launch_node *agent_of(struct mpi_launch *l, int host)
{
    return &l->node[l->nodes > 1 ? host + 1 : 0];
}

static uint64_t node_name(const struct launch_node *n)
{
    return FTM_NAME(MPI_JOB_NUMBER, n->index == 0 ? 1 : 2, 0, (uint32_t)n->index);
}

uint64_t mpi_launch_name(const struct mpi_job *j)
{
    return node_name(&j->launch->node[0]);
}

static void node_address(const struct launch_node *n, char out[PHX_ADDRESS_TEXT])
{
    struct phx_address at;

    world_address(n->l->j->w, n->machine, PORT_OF_NODES, &at);
    phx_address_text(&at, out);
}

void mpi_launch_hub(const struct mpi_job *j, int host, char out[PHX_ADDRESS_TEXT])
{
    node_address(agent_of(j->launch, host), out);
}

/* ---- Machines and walls ---------------------------------------------------------------------- */

static int is_agent(const struct mpi_job *j, uint32_t machine)
{
    int i;

    for (i = 0; i < j->launch->nodes; i++)
        if (j->launch->node[i].machine == machine)
            return 1;
    return 0;
}

/* The gateway of a site is its first agent. */
static int may_dial(const struct mpi_job *j, uint32_t a, uint32_t b)
{
    const struct world_host *x = &j->w->hosts[a], *y = &j->w->hosts[b];

    if (j->plan.walls == 0)
        return 1;
    if (x->site != y->site)
        return is_agent(j, a) && is_agent(j, b)
            && (a == j->launch->node[0].machine || b == j->launch->node[0].machine);
    return j->plan.walls == 1 || is_agent(j, a) || is_agent(j, b);
}

/* With walls, who is new may dial whom, and be dialled. */
static void build_walls(struct mpi_job *j, uint32_t machine)
{
    uint32_t i;

    for (i = 0; j->plan.walls > 0 && i < j->w->host_count; i++) {
        if (i == machine)
            continue;
        world_pair(j->w, i, machine, WORLD_PAIR_FORBID, !may_dial(j, i, machine));
        world_pair(j->w, machine, i, WORLD_PAIR_FORBID, !may_dial(j, machine, i));
    }
}

uint32_t mpi_machine(struct mpi_job *j, uint32_t site)
{
    uint32_t machine = world_host_add(j->w, site, 0);

    build_walls(j, machine);
    return machine;
}

/* ---- The arbiter's wishes -------------------------------------------------------------------- */

static void on_cast(void *ctx, uint64_t tag, const void *data, size_t size)
{
    struct mpi_launch *l = ctx;
    struct phx_range ranges[MPI_SEATS];
    struct phx_cast c;
    size_t count = 0;
    int i;

    for (i = 0; i < l->j->plan.ranks; i++) {
        const struct mpi_process *p = mpi_holder(l->j, i);

        if (p->how == MPI_LIVES)
            ranges[count].first = ranges[count].last =
                FTM_NAME(MPI_JOB_NUMBER, FTM_PROCESS, (unsigned)p->life, (unsigned)i), count++;
    }
    memset(&c, 0, sizeof c);
    c.ranges = ranges;
    c.ranges_count = count;
    c.from = node_name(&l->node[0]);
    c.tag = tag;
    c.data = data;
    c.size = size;
    if (count > 0 && phx_cast(l->node[0].p, &c) < 0)
        world_fail(l->j->w, "the arbiter cannot cast");
}

static void on_say(void *ctx, const char *line)
{
    struct mpi_launch *l = ctx;

    strncpy(l->j->line, line, sizeof l->j->line - 1);
    world_say(l->j->w, 1, "arbiter: %s", line);
}

static void on_over(void *ctx, int code)
{
    struct mpi_launch *l = ctx;
    int i;

    l->j->over = 1;
    l->j->code = code;
    l->node[0].end_at = l->j->w->now + GRACE_US;
    for (i = 1; i < l->nodes; i++)
        if (!l->node[i].lost)
            (void)phx_send(l->node[0].p, node_name(&l->node[i]), 0, WORD_END, NULL, 0);
}

static const char *on_host(void *ctx, uint32_t rank)
{
    (void)ctx;
    (void)rank;
    return "a simulated host";
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void launcher_hears_end(struct mpi_launch *l, int process)
{
    const struct mpi_process *p = &l->j->process[process];
    int killed = p->how == MPI_KILLED;

    if (ftm_arbiter_exited(l->arbiter, (uint32_t)p->seat, (uint32_t)p->life, killed ? 0 : p->status,
                           killed ? 9 : 0) != 0)
        world_fail(l->j->w, "the arbiter does not know seat %d life %d", p->seat, p->life);
}

static void on_message(phx *node, const struct phx_message *m, void *user)
{
    struct launch_node *n = user;
    uint32_t process;

    (void)node;
    if (n->index > 0) {
        if (m->tag == WORD_END)
            n->end_at = n->l->j->w->now + GRACE_US;
        return;
    }
    if (m->tag != WORD_EXITED) {
        ftm_arbiter_message(n->l->arbiter, m->from, m->tag, m->data, m->size);
        return;
    }
    memcpy(&process, m->data, sizeof process);
    if (!n->l->node[m->from].lost)
        launcher_hears_end(n->l, (int)process);
}

/* The death of a host is that of all its processes. */
static void launcher_loses(struct mpi_launch *l, struct launch_node *lost)
{
    int i;

    if (lost->lost)
        return;
    lost->lost = 1;
    world_say(l->j->w, 1, "launcher: host %d is lost", lost->index - 1);
    for (i = 0; i < l->j->plan.ranks; i++) {
        const struct mpi_process *p = mpi_holder(l->j, i);

        if (p->host == lost->index - 1)
            (void)ftm_arbiter_exited(l->arbiter, (uint32_t)p->seat, (uint32_t)p->life, 0, 9);
    }
}

static void on_node(phx *node, const struct phx_node *about, void *user)
{
    struct launch_node *n = user;
    int index = about->id.b[0] - 1;

    (void)node;
    if (n->index == 0 && index > 0 && index < n->l->nodes && about->id.b[1] == 0xa9
        && about->state == PHX_NODE_FAILED)
        launcher_loses(n->l, &n->l->node[index]);
}

/* What became of processes of this host: to the arbiter, or on its way there. */
static void tell_ends(struct launch_node *n, uint64_t now)
{
    int i, kept = 0;

    for (i = 0; i < n->ends_count; i++) {
        struct launch_end *e = &n->ends[i];
        uint32_t process = (uint32_t)e->process;

        if (e->at > now)
            n->ends[kept++] = *e;
        else if (n->index == 0)
            launcher_hears_end(n->l, e->process);
        else if (phx_send(n->p, mpi_launch_name(n->l->j), (uint64_t)n->index, WORD_EXITED, &process,
                          sizeof process) != 0)
            world_fail(n->l->j->w, "agent %d cannot tell of an end", n->index);
    }
    n->ends_count = kept;
}

static void end_processes(struct launch_node *n, uint64_t now)
{
    struct mpi_job *j = n->l->j;
    int i;

    if (n->end_at == 0 || now < n->end_at)
        return;
    n->end_at = 0;
    for (i = 0; i < j->processes; i++)
        if (agent_of(n->l, j->process[i].host) == n)
            mpi_kill(&j->process[i]);
}

static int node_step(void *state, uint64_t now)
{
    struct launch_node *n = state;
    int more = phx_step(n->p, now, NULL, 0);

    tell_ends(n, now);
    end_processes(n, now);
    return more;
}

static uint64_t node_deadline(void *state)
{
    const struct launch_node *n = state;
    uint64_t at = phx_deadline(n->p);
    int i;

    for (i = 0; i < n->ends_count; i++)
        at = n->ends[i].at < at ? n->ends[i].at : at;
    return n->end_at != 0 && n->end_at < at ? n->end_at : at;
}

void mpi_launch_ended(struct mpi_process *p)
{
    struct launch_node *n = agent_of(p->job->launch, p->host);

    if (n->p == NULL)
        return;
    if (n->ends_count == ENDS) {
        world_fail(p->job->w, "too many ends at once");
        return;
    }
    n->ends[n->ends_count].at = p->job->w->now + 100 + world_rng_below(&p->job->rng, SEEN_US);
    n->ends[n->ends_count++].process = (int)(p - p->job->process);
    world_touch(p->job->w, n->machine);
}

static void node_configure(struct launch_node *n, struct phx_config *cfg, struct phx_id *id)
{
    struct world_host *h = &n->l->j->w->hosts[n->machine];

    phx_config_init(cfg);
    memset(id, 7, sizeof *id);
    id->b[0] = (unsigned char)(n->index + 1);
    id->b[1] = 0xa9;
    cfg->id = id;
    cfg->user = n;
    cfg->cluster = "ftmpi";
    cfg->key = mpi_key;
    cfg->key_size = sizeof mpi_key;
    cfg->full_mesh = 0;
    cfg->same_host = 0;
    if (n->l->j->plan.mode != NULL) { /* as the launcher does with --ft */
        cfg->detector.interval_us = cfg->detector.insurance_us = 1000000;
        cfg->detector.timeout_us = 2000000;
        cfg->detector.broken_us = 500000;
    }
    cfg->on_message = on_message;
    cfg->on_node = on_node;
    cfg->log_level = PHX_LOG_ERROR;
    cfg->os = &h->os;
    cfg->alloc = &h->alloc;
}

static void node_begin(struct mpi_launch *l, int index)
{
    struct launch_node *n = &l->node[index];
    struct world_app app = { n, node_step, node_deadline, NULL };
    const struct mpi_plan *plan = &l->j->plan;
    uint32_t site = index > 0 && plan->sites > 1 ? (uint32_t)((index - 1) % plan->sites) : 0;
    char at[PHX_ADDRESS_TEXT], up[PHX_ADDRESS_TEXT];
    struct phx_config cfg;
    struct phx_id id;
    int err;

    n->l = l;
    n->index = index;
    n->machine = l->j->w->host_count; /* walls ask for it */
    (void)mpi_machine(l->j, site);
    world_begin(l->j->w, n->machine);
    node_configure(n, &cfg, &id);
    err = phx_new(&n->p, &cfg, l->j->w->now);
    node_address(n, at);
    if (err == 0)
        err = phx_listen(n->p, at);
    if (err == 0)
        err = phx_assume(n->p, node_name(n), node_name(n));
    if (err == 0 && index > 0) {
        /* the hosts go round the sites, so the first of a site is the one with the site's number */
        node_address(&l->node[site == 0 || index == (int)site + 1 ? 0 : site + 1], up);
        err = phx_join(n->p, up);
    }
    if (err != 0)
        world_fail(l->j->w, "node %d: %s", index, phx_strerror(err));
    world_attach(l->j->w, n->machine, &app);
}

struct mpi_launch *mpi_launch_new(struct mpi_job *j)
{
    struct mpi_launch *l = calloc(1, sizeof *l);
    struct ftm_arbiter_ops ops = { NULL, on_cast, on_say, on_over, on_host };
    int i;

    if (l == NULL)
        abort();
    j->launch = l;
    l->j = j;
    l->nodes = j->plan.hosts > 1 ? j->plan.hosts + 1 : 1;
    ops.ctx = l;
    if (ftm_arbiter_new(&l->arbiter, NULL, (uint32_t)j->plan.ranks, &ops) != 0)
        abort();
    for (i = 0; i < j->plan.ranks; i++)
        (void)ftm_arbiter_started(l->arbiter, (uint32_t)i, 0);
    for (i = 0; i < l->nodes; i++)
        node_begin(l, i);
    return l;
}

static void node_end(struct launch_node *n, int silent)
{
    if (n->p == NULL)
        return;
    if (silent)
        world_power(n->l->j->w, n->machine, 0);
    else
        world_crash(n->l->j->w, n->machine);
    phx_free(n->p);
    n->p = NULL;
    n->ends_count = 0;
}

void mpi_launch_free(struct mpi_launch *l)
{
    int i;

    for (i = 0; i < l->nodes; i++)
        node_end(&l->node[i], 0);
    ftm_arbiter_free(l->arbiter);
    free(l);
}

/* ---- Faults of hosts ------------------------------------------------------------------------- */

int mpi_host_is_up(const struct mpi_job *j, int host)
{
    return agent_of(j->launch, host)->p != NULL;
}

void mpi_kill_host(struct mpi_job *j, int host)
{
    int i;

    node_end(agent_of(j->launch, host), 1);
    for (i = 0; i < j->processes; i++)
        if (j->process[i].host == host && j->process[i].how == MPI_LIVES) {
            world_power(j->w, j->process[i].machine, 0);
            mpi_kill(&j->process[i]);
        }
}

void mpi_cut_host(struct mpi_job *j, int host, int on)
{
    int i;

    j->w->hosts[agent_of(j->launch, host)->machine].group = on ? (uint32_t)host + 1 : 0;
    for (i = 0; i < j->processes; i++)
        if (j->process[i].host == host)
            j->w->hosts[j->process[i].machine].group = on ? (uint32_t)host + 1 : 0;
}

int mpi_job_imbalance(const struct mpi_job *j)
{
    struct ftm_arbiter_counts c;

    ftm_arbiter_count(j->launch->arbiter, &c);
    return (int)(c.living + c.failed + c.finished) - (int)(c.started + c.restarted);
}
