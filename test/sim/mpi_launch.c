/* mpi_launch.c - the launcher and the agents of a job in the simulated world. */
#include "mpi_world.h"

#include "arbiter.h"
#include "modes.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

/* Node 0 is the launcher's: it holds the arbiter's name and serves host 0 of a job that has only that. Node
 * h + 1 is the agent of host h. An agent joins the launcher, or, at another site, the first
 * agent there. */

#define PORT_OF_NODES 7000u
#define SEEN_US 3000u      /* an agent sees the end of a process within so long */
#define FORK_US 5000u      /* ... and starts one */
#define GRACE_US 2000u     /* from the end of the job to that of its processes */
#define CUT_US 60000000u   /* --cut-wait, if it is not given */
#define START_US 60000000u /* --start-timeout, if it is not given */
#define TASKS 64

/* What an agent does at a time, and what nodes say to each other: kinds and arguments are the same. */
enum word { WORD_EXITED = 1, WORD_STARTED, WORD_START, WORD_KILL, WORD_END };

struct launch_word {
    uint32_t kind;
    uint32_t process;    /* EXITED, KILL: its index */
    uint32_t seat, life; /* START, STARTED */
};

struct launch_task {
    uint64_t at;
    struct launch_word word;
};

struct launch_node {
    struct mpi_launch *l;
    phx *p; /* NULL: its host is down */
    uint32_t machine;
    int index, known, lost; /* the launcher has a way to it; has given it up */
    struct launch_task task[TASKS];
    int tasks;
    uint64_t cut_at; /* an agent that has no way to the launcher ends its processes then; 0: it has one */
};

struct mpi_launch {
    struct mpi_job *j;
    struct ftm_arbiter *arbiter;
    struct launch_node node[MPI_HOSTS + 1];
    int nodes;
    uint64_t start_by; /* all agents are known then, or the job ends; 0: that is over */
    struct { int under_way, host; uint32_t life; } start[MPI_SEATS];
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

static void on_cast(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data,
                    size_t size)
{
    struct mpi_launch *l = ctx;
    struct phx_range ranges[MPI_PROCESSES];
    struct phx_cast c;
    uint32_t i;
    int err;

    for (i = 0; i < count && i < MPI_PROCESSES; i++)
        ranges[i].first = ranges[i].last = FTM_NAME(MPI_JOB_NUMBER, FTM_PROCESS, 0, 0) | to[i];
    memset(&c, 0, sizeof c);
    c.ranges = ranges;
    c.ranges_count = i;
    c.from = node_name(&l->node[0]);
    c.tag = tag;
    c.data = data;
    c.size = size;
    err = phx_cast(l->node[0].p, &c);
    if (err < 0)
        world_fail(l->j->w, "the arbiter cannot cast: %s", phx_strerror(err));
}

static void on_say(void *ctx, const char *line)
{
    struct mpi_launch *l = ctx;

    strncpy(l->j->line, line, sizeof l->j->line - 1);
    world_say(l->j->w, 1, "arbiter: %s", line);
}

static void plan_task(struct launch_node *n, uint64_t after_us, const struct launch_word *word)
{
    if (n->p == NULL)
        return;
    if (n->tasks == TASKS) {
        world_fail(n->l->j->w, "too many tasks of node %d", n->index);
        return;
    }
    n->task[n->tasks].at = n->l->j->w->now + after_us;
    n->task[n->tasks++].word = *word;
    world_touch(n->l->j->w, n->machine);
}

/* To the launcher or an agent, which may be this node itself. */
static void node_says(struct launch_node *from, struct launch_node *to, const struct launch_word *word)
{
    int err = from == to ? 0 : phx_send(from->p, node_name(to), node_name(from), 1, word, sizeof *word);

    if (from == to)
        plan_task(to, 0, word);
    else if (err != 0)
        world_fail(from->l->j->w, "node %d cannot speak to %d: %s", from->index, to->index,
                   phx_strerror(err));
}

static void on_over(void *ctx, int code)
{
    struct mpi_launch *l = ctx;
    struct launch_word word = { WORD_END, 0, 0, 0 };
    int i;

    l->j->over = 1;
    l->j->code = code;
    for (i = 0; i < l->nodes; i++)
        node_says(&l->node[0], &l->node[i], &word);
}

/* On the same host, or where the fewest are. */
static const char *on_start(void *ctx, uint32_t rank, uint32_t life)
{
    struct mpi_launch *l = ctx;
    struct launch_word word = { WORD_START, 0, rank, life };
    int load[MPI_HOSTS] = { 0 }, host = mpi_holder(l->j, (int)rank)->host, i;

    if (l->j->plan.refuse_starts)
        return "this launcher starts nobody again";
    for (i = 0; i < l->j->processes; i++)
        load[l->j->process[i].host] += l->j->process[i].how == MPI_LIVES;
    if (agent_of(l, host)->lost) {
        for (host = -1, i = 0; i < l->nodes - 1; i++)
            if (!l->node[i + 1].lost && (host < 0 || load[i] < load[host]))
                host = i;
        if (host < 0)
            return "no host is left";
    }
    l->start[rank].under_way = 1;
    l->start[rank].host = host;
    l->start[rank].life = life;
    node_says(&l->node[0], agent_of(l, host), &word);
    return NULL;
}

static void on_kill(void *ctx, uint32_t rank, uint32_t life)
{
    struct mpi_launch *l = ctx;
    struct launch_word word = { WORD_KILL, 0, 0, 0 };
    int i;

    for (i = 0; i < l->j->processes; i++)
        if (l->j->process[i].seat == (int)rank && l->j->process[i].life == (int)life) {
            word.process = (uint32_t)i;
            node_says(&l->node[0], agent_of(l, l->j->process[i].host), &word);
        }
}

static const char *on_host(void *ctx, uint32_t rank)
{
    (void)ctx;
    (void)rank;
    return "a simulated host";
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void launcher_hears(struct launch_node *from, const struct launch_word *word)
{
    struct mpi_launch *l = from->l;
    const struct mpi_process *p = &l->j->process[word->process];
    int killed = p->how == MPI_KILLED;

    if (from->lost)
        return; /* the launcher has said what became of its processes */
    if (word->kind == WORD_STARTED) {
        l->start[word->seat].under_way = 0;
        if (ftm_arbiter_started(l->arbiter, word->seat, word->life) != 0)
            world_fail(l->j->w, "the arbiter did not want seat %u life %u", (unsigned)word->seat,
                       (unsigned)word->life);
    } else if (ftm_arbiter_exited(l->arbiter, (uint32_t)p->seat, (uint32_t)p->life, killed ? 0 : p->status,
                                  killed ? 9 : 0) != 0) {
        world_fail(l->j->w, "the arbiter does not know seat %d life %d", p->seat, p->life);
    }
}

static int launch_host(const struct launch_node *n)
{
    return n->index > 0 ? n->index - 1 : 0;
}

static void agent_does(struct launch_node *n, const struct launch_word *word)
{
    struct launch_word answer = { WORD_STARTED, 0, word->seat, word->life };
    struct mpi_job *j = n->l->j;
    struct mpi_process *p;
    int i;

    if (word->kind == WORD_EXITED) {
        node_says(n, &n->l->node[0], word);
    } else if (word->kind == WORD_KILL) {
        mpi_kill(&j->process[word->process]);
    } else if (word->kind == WORD_END) {
        for (i = 0; i < j->processes; i++)
            if (agent_of(n->l, j->process[i].host) == n)
                mpi_kill(&j->process[i]);
    } else if (!j->over && (p = mpi_start(j, (int)word->seat, (int)word->life, launch_host(n))) != NULL) {
        j->w->hosts[p->machine].group = j->w->hosts[n->machine].group; /* perhaps cut off */
        node_says(n, &n->l->node[0], &answer);
    }
}

static void do_word(struct launch_node *n, const struct launch_word *word)
{
    if (n->index == 0 && (word->kind == WORD_EXITED || word->kind == WORD_STARTED))
        launcher_hears(n, word);
    else
        agent_does(n, word);
}

static void on_message(phx *node, const struct phx_message *m, void *user)
{
    struct launch_node *n = user;
    struct launch_word word;

    (void)node;
    if (FTM_NAME_ROLE(m->from) == FTM_PROCESS || m->size != sizeof word) {
        ftm_arbiter_message(n->l->arbiter, m->from, m->tag, m->data, m->size);
        return;
    }
    memcpy(&word, m->data, sizeof word);
    if (n->index == 0)
        launcher_hears(&n->l->node[FTM_RANK(m->from)], &word);
    else
        plan_task(n, word.kind == WORD_START ? world_rng_below(&n->l->j->rng, FORK_US)
                     : word.kind == WORD_END ? GRACE_US : 0, &word);
}

/* The death of a host is that of all its processes, and nothing is started there. */
static void launcher_loses(struct mpi_launch *l, struct launch_node *lost)
{
    uint64_t words[MPI_PROCESSES];
    const char *why;
    uint32_t count = 0;
    int i, host = lost->index - 1;

    if (lost->lost)
        return;
    lost->lost = 1;
    world_say(l->j->w, 1, "launcher: host %d is lost", host);
    for (i = 0; i < l->j->processes; i++)
        if (l->j->process[i].host == host)
            words[count++] = FTM_FROM(0, (unsigned)l->j->process[i].life, (unsigned)l->j->process[i].seat);
    ftm_arbiter_host_lost(l->arbiter, words, count, "its host is lost");
    for (i = 0; i < l->j->plan.ranks; i++)
        if (l->start[i].under_way && l->start[i].host == host) { /* elsewhere, if there is such a place */
            l->start[i].under_way = 0;
            why = on_start(l, (uint32_t)i, l->start[i].life);
            if (why != NULL)
                ftm_arbiter_unstarted(l->arbiter, (uint32_t)i, l->start[i].life, why);
        }
}

/* An agent that was given up and is heard again has to end what runs there. */
static void on_node(phx *node, const struct phx_node *about, void *user)
{
    struct launch_word word = { WORD_END, 0, 0, 0 };
    struct launch_node *n = user;
    int index = about->id.b[0] - 1;

    (void)node;
    if (n->index > 0 && index == 0 && about->id.b[1] == 0xa9) {
        if (about->state < PHX_NODE_UNREACHABLE)
            n->cut_at = 0;
        else if (n->cut_at == 0)
            n->cut_at = n->l->j->w->now + (n->l->j->plan.cut_us > 0 ? n->l->j->plan.cut_us : CUT_US);
    }
    if (n->index != 0 || index <= 0 || index >= n->l->nodes || about->id.b[1] != 0xa9)
        return;
    n->l->node[index].known = 1;
    if (about->state == PHX_NODE_FAILED)
        launcher_loses(n->l, &n->l->node[index]);
    else if (about->state < PHX_NODE_UNREACHABLE && n->l->node[index].lost)
        node_says(n, &n->l->node[index], &word);
}

static void do_tasks(struct launch_node *n, uint64_t now)
{
    int i, kept = 0, count = n->tasks;
    struct launch_task due[TASKS];

    memcpy(due, n->task, sizeof due);
    n->tasks = 0;
    for (i = 0; i < count; i++)
        if (due[i].at > now)
            n->task[n->tasks++] = due[i];
        else
            due[kept++] = due[i];
    for (i = 0; i < kept; i++)
        do_word(n, &due[i].word);
}

/* A job begins whole, or not at all: nobody would see what becomes of a host whose agent never came. */
static void launcher_checks_start(struct mpi_launch *l)
{
    int i;

    l->start_by = 0;
    for (i = 1; i < l->nodes && l->node[i].known; i++)
        continue;
    if (i == l->nodes || l->j->over)
        return;
    world_say(l->j->w, 1, "launcher: no answer from the agent of host %d: the job ends", i - 1);
    on_over(l, 1);
}

static int node_step(void *state, uint64_t now)
{
    const struct launch_word end = { WORD_END, 0, 0, 0 };
    struct launch_node *n = state;
    int more = phx_step(n->p, now, NULL, 0);

    if (n->cut_at != 0 && now >= n->cut_at) {
        n->cut_at = 0;
        agent_does(n, &end);
    }
    if (n->index == 0 && n->l->start_by != 0 && now >= n->l->start_by)
        launcher_checks_start(n->l);
    do_tasks(n, now);
    return more;
}

static uint64_t node_deadline(void *state)
{
    const struct launch_node *n = state;
    uint64_t at = phx_deadline(n->p);
    int i;

    if (n->cut_at != 0 && n->cut_at < at)
        at = n->cut_at;
    if (n->index == 0 && n->l->start_by != 0 && n->l->start_by < at)
        at = n->l->start_by;
    for (i = 0; i < n->tasks; i++)
        at = n->task[i].at < at ? n->task[i].at : at;
    return at;
}

/* Its host's agent has seen it. */
void mpi_launch_ended(struct mpi_process *p)
{
    struct launch_word word = { WORD_EXITED, (uint32_t)(p - p->job->process), 0, 0 };

    plan_task(agent_of(p->job->launch, p->host), 100 + world_rng_below(&p->job->rng, SEEN_US), &word);
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
        n->cut_at = l->start_by;
    }
    if (err != 0)
        world_fail(l->j->w, "node %d: %s", index, phx_strerror(err));
    world_attach(l->j->w, n->machine, &app);
}

struct mpi_launch *mpi_launch_new(struct mpi_job *j)
{
    struct mpi_launch *l = calloc(1, sizeof *l);
    struct ftm_arbiter_ops ops = { NULL, on_cast, on_say, on_over, on_host, on_start, on_kill };
    int i;

    if (l == NULL)
        abort();
    j->launch = l;
    l->j = j;
    l->nodes = j->plan.hosts > 1 ? j->plan.hosts + 1 : 1;
    l->start_by = j->w->now + (j->plan.start_us > 0 ? j->plan.start_us : START_US);
    ops.ctx = l;
    if (ftm_arbiter_new(&l->arbiter, NULL, (uint32_t)j->plan.ranks, mpi_modes(j).comm != 0, &ops) != 0)
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
    n->tasks = 0;
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
