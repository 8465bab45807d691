/* mpi_world.c - MPI jobs in the simulated world: ranks, each a machine with an engine and a coroutine. */
#define _XOPEN_SOURCE 600
#include "mpi_world.h"

#include "engine.h"
#include "environ.h"
#include "mpi_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MPI_NO_COROUTINES
#include <ucontext.h>
#endif

#define STACK_BYTES ((size_t)256 << 10)
#define START_US 2000u    /* processes start within so long */
#define SLICE_US 1000u

const unsigned char mpi_key[32] = "a key of the simulated world 32";

int mpi_can_run(void)
{
#ifdef MPI_NO_COROUTINES
    return 0;
#else
    return 1;
#endif
}

/* ---- Memory of a process: all of it goes with the process ------------------------------------- */

struct memory_block {
    struct memory_block *next, *prev;
    size_t size, pad;
};

struct mpi_coroutine {
#ifndef MPI_NO_COROUTINES
    ucontext_t own, world;
#endif
    char *stack;
    struct ftm *engine;
    struct phx_alloc alloc;
    struct phx_os os;
    struct memory_block engine_memory, user_memory; /* rings */
    uint64_t wants_at; /* to go on */
    int more;
};

static void memory_add(struct memory_block *ring, struct memory_block *b)
{
    b->next = ring->next;
    b->prev = ring;
    b->next->prev = b->prev->next = b;
}

static void memory_remove(struct memory_block *b)
{
    b->next->prev = b->prev;
    b->prev->next = b->next;
}

static void memory_clear(struct memory_block *ring)
{
    while (ring->next != ring) {
        struct memory_block *b = ring->next;

        memory_remove(b);
        free(b);
    }
}

static void *engine_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct mpi_process *p = world;
    struct memory_block *b = old != NULL ? (struct memory_block *)old - 1 : NULL;

    if ((b != NULL ? b->size : 0) != old_size)
        world_fail(p->job->w, "seat %d: a block of %zu bytes is said to have %zu", p->seat,
                   b != NULL ? b->size : 0, old_size);
    if (new_size > old_size && p->job->plan.lacks_memory != NULL && p->job->plan.lacks_memory(p))
        return NULL;
    if (b != NULL)
        memory_remove(b);
    if (new_size == 0) {
        free(b);
        return NULL;
    }
    b = realloc(b, sizeof *b + new_size);
    if (b == NULL)
        abort(); /* the tests' machine has no memory */
    b->size = new_size;
    memory_add(&p->co->engine_memory, b);
    return b + 1;
}

void *mpi_memory(size_t bytes)
{
    struct memory_block *b = calloc(1, sizeof *b + bytes);

    if (b == NULL)
        abort();
    b->size = bytes;
    memory_add(&mpi_self()->co->user_memory, b);
    return b + 1;
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

static struct mpi_process *running; /* whose coroutine has the processor, or NULL */

struct mpi_process *mpi_self(void)
{
    return running;
}

uint64_t mpi_now(void)
{
    return running->job->w->now;
}

uint32_t mpi_draw(uint32_t below)
{
    return (uint32_t)world_rng_below(&running->job->rng, below);
}

#ifndef MPI_NO_COROUTINES
/* Stacks are used again: a story has thousands of processes one after the other. */
static char *stacks[MPI_PROCESSES];
static int stacks_free;

static char *stack_take(void)
{
    char *s = stacks_free > 0 ? stacks[--stacks_free] : malloc(STACK_BYTES);

    if (s == NULL)
        abort();
    return s;
}

static void stack_give(char *s)
{
    if (stacks_free < MPI_PROCESSES)
        stacks[stacks_free++] = s;
    else
        free(s);
}

static void co_leave(struct mpi_process *p)
{
    if (swapcontext(&p->co->own, &p->co->world) != 0)
        abort();
}

static void co_enter(struct mpi_process *p)
{
    if (swapcontext(&p->co->world, &p->co->own) != 0)
        abort();
}

static void body(void)
{
    struct mpi_process *p = running;

    p->status = p->job->plan.program(p);
    p->how = MPI_EXITED;
    co_leave(p);
}

static void co_prepare(struct mpi_process *p)
{
    p->co->stack = stack_take();
    if (getcontext(&p->co->own) != 0)
        abort();
    p->co->own.uc_stack.ss_sp = p->co->stack;
    p->co->own.uc_stack.ss_size = STACK_BYTES;
    p->co->own.uc_link = NULL;
    makecontext(&p->co->own, body, 0);
}
#else
static void stack_give(char *s) { (void)s; }
static void co_leave(struct mpi_process *p) { (void)p; }
static void co_enter(struct mpi_process *p) { (void)p; }
static void co_prepare(struct mpi_process *p) { (void)p; }
#endif

void mpi_yield(uint64_t until, int more)
{
    running->co->wants_at = until;
    running->co->more = more;
    co_leave(running);
}

void mpi_compute(uint64_t us)
{
    struct mpi_process *p = running;
    uint64_t until = p->job->w->now + us;

    while (p->job->w->now < until) {
        struct world_host *h = &p->job->w->hosts[p->machine];

        if (h->stalled_until < until) /* it takes no step for what arrives */
            h->stalled_until = until;
        mpi_yield(until, 0);
    }
}

/* exit and _exit of the engine's callers: the process ends here. */
void mpi_sim_exit(int status);
void mpi_sim_exit(int status)
{
    running->status = status;
    running->how = running->condemned ? MPI_KILLED : MPI_EXITED;
    for (;;) /* nobody enters it again */
        co_leave(running);
}

/* ---- What the engine asks for, in the place of the system ------------------------------------- */

uint64_t mpi_sim_now(void);
uint64_t mpi_sim_now(void)
{
    return running->job->w->now;
}

/* What the calls print of an error: the last line is kept. */
int mpi_sim_printf(FILE *to, const char *format, ...);
int mpi_sim_printf(FILE *to, const char *format, ...)
{
    struct mpi_job *j = running->job;
    va_list args;

    (void)to;
    va_start(args, format);
    (void)vsnprintf(j->line, sizeof j->line, format, args);
    va_end(args);
    world_say(j->w, 1, "seat %d life %d: %s", running->seat, running->life, j->line);
    return 0;
}

static int may_send(uint64_t to, uint64_t tag, size_t size)
{
    struct mpi_process *p = running;

    if (p->condemned)
        return 0;
    world_say(p->job->w, 2, "seat %d: kind %d flags %u to %u.%u, %zu bytes", p->seat, FTM_KIND(tag),
              (unsigned)FTM_FLAGS(tag), (unsigned)FTM_RANK(to), (unsigned)FTM_LIFE(to), size);
    if (p->job->plan.sends != NULL && !p->job->plan.sends(p, to, tag, size)) {
        p->condemned = 1;
        return 0;
    }
    p->messages++;
    return 1;
}

int mpi_sim_send(phx *node, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size);
int mpi_sim_send(phx *node, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    return may_send(to, tag, size) ? phx_send(node, to, from, tag, data, size) : 0;
}

/* What is swallowed is never released: its owner dies with this step. */
int mpi_sim_send_owned(phx *node, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
                       void (*release)(const void *data, size_t size, void *arg), void *arg);
int mpi_sim_send_owned(phx *node, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
                       void (*release)(const void *data, size_t size, void *arg), void *arg)
{
    return may_send(to, tag, size) ? phx_send_owned(node, to, from, tag, data, size, release, arg) : 0;
}

/* What was sent before is on its way when a condemned process ends. */
void mpi_stepped(struct ftm *e, uint64_t now)
{
    const struct pollfd none = { -1, 0, 0 };
    int i;

    if (!running->condemned)
        return;
    for (i = 0; i < 2 && e->node != NULL; i++)
        phx_step(e->node, now, &none, 0);
    mpi_sim_exit(137);
}

struct ftm_modes mpi_modes(const struct mpi_job *j)
{
    struct ftm_modes modes;

    if (ftm_modes_read(&modes, j->plan.mode != NULL ? j->plan.mode : "abort") != 0)
        world_fail(j->w, "%s are no modes", j->plan.mode);
    return modes;
}

/* What FTMPI_TRACE prints. */
ssize_t mpi_sim_write(int fd, const void *data, size_t size);
ssize_t mpi_sim_write(int fd, const void *data, size_t size)
{
    (void)fd;
    world_say(running->job->w, 1, "%.*s", (int)size - 1, (const char *)data);
    return (ssize_t)size;
}

int ftm_environ_read(struct ftm_environ *v)
{
    const struct mpi_process *p = running;
    const struct mpi_plan *plan = &p->job->plan;
    struct ftm_config *c = &v->config;
    struct phx_address at;
    static char own[PHX_ADDRESS_TEXT];

    memset(v, 0, sizeof *v);
    c->job = MPI_JOB_NUMBER;
    c->rank = p->seat;
    c->size = plan->ranks;
    c->life = p->life;
    c->host = p->host;
    c->site = plan->sites > 1 ? p->host % plan->sites : 0;
    c->modes = mpi_modes(p->job);
    v->trace = plan->trace > 0;
    c->arbiter = mpi_launch_name(p->job);
    mpi_launch_hub(p->job, p->host, v->hubs);
    c->hubs = v->hubs;
    world_address(p->job->w, p->machine, 7000, &at);
    phx_address_text(&at, own);
    c->listen = own;
    c->key = mpi_key;
    c->key_size = sizeof mpi_key;
    c->tcp = 1;
    c->eager_limit = plan->eager_limit;
    c->eager_budget = plan->eager_budget;
    c->piece = plan->piece;
    c->asks = plan->asks;
    c->cut_us = plan->cut_us > 0 ? plan->cut_us : 60000000u;
    p->co->os = plan->os != NULL ? plan->os(running) : p->job->w->hosts[p->machine].os;
    c->os = &p->co->os;
    c->alloc = &p->co->alloc;
    snprintf(v->host_name, sizeof v->host_name, "host%d", p->host);
    c->host_name = v->host_name;
    v->start_wait_us = 60000000u;
    return 0;
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* What a process that is through MPI_Finalize has left behind is a fault, or one that got no engine. */
static void check_left(struct mpi_process *p)
{
    struct world *w = p->job->w;

    if (p->co->engine_memory.next != &p->co->engine_memory)
        world_fail(w, "seat %d: a block of %zu bytes was left behind", p->seat,
                   p->co->engine_memory.next->size);
    if (w->hosts[p->machine].handles > 0)
        world_fail(w, "seat %d: handles were left behind", p->seat);
}

static void gone(struct mpi_process *p)
{
    struct mpi_job *j = p->job;

    if ((p->finalized || p->co->engine == NULL) && p->how == MPI_EXITED)
        check_left(p);
    if (j->w->hosts[p->machine].running)
        world_crash(j->w, p->machine);
    memory_clear(&p->co->engine_memory);
    memory_clear(&p->co->user_memory);
    if (p->co->stack != NULL)
        stack_give(p->co->stack);
    free(p->co);
    p->co = NULL;
    p->ended_at = j->w->now;
    j->living--;
    world_say(j->w, 1, "seat %d life %d: %s, status %d", p->seat, p->life,
              p->how == MPI_KILLED ? "killed" : "exits", p->status);
    mpi_launch_ended(p);
}

static int process_step(void *state, uint64_t now)
{
    struct mpi_process *p = state;
    int more;

    (void)now;
    running = p;
    ftm_this = p->co->engine;
    co_enter(p);
    p->co->engine = ftm_this;
    p->finalized = ftm_this != NULL && ftm_this->config.size == 0;
    ftm_this = NULL;
    running = NULL;
    more = p->co->more;
    if (p->how != MPI_LIVES)
        gone(p);
    return p->how == MPI_LIVES ? more : 0;
}

static uint64_t process_deadline(void *state)
{
    struct mpi_process *p = state;

    return p->co->wants_at;
}

struct mpi_process *mpi_start(struct mpi_job *j, int seat, int life, int host)
{
    struct world_app app = { NULL, process_step, process_deadline, NULL };
    struct mpi_process *p = &j->process[j->processes];

    if (j->processes == MPI_PROCESSES || j->w->host_count == j->w->o.hosts_max) {
        world_fail(j->w, "too many processes");
        return NULL;
    }
    j->seat[seat] = j->processes++;
    p->job = j;
    p->seat = seat;
    p->life = life;
    p->host = host;
    p->started_at = j->w->now;
    p->machine = mpi_machine(j, (uint32_t)(j->plan.sites > 1 ? host % j->plan.sites : 0));
    p->co = calloc(1, sizeof *p->co);
    if (p->co == NULL)
        abort();
    p->co->alloc.alloc = engine_alloc;
    p->co->alloc.world = p;
    p->co->engine_memory.next = p->co->engine_memory.prev = &p->co->engine_memory;
    p->co->user_memory.next = p->co->user_memory.prev = &p->co->user_memory;
    co_prepare(p);
    world_begin(j->w, p->machine);
    app.state = p;
    world_attach(j->w, p->machine, &app);
    world_say(j->w, 1, "seat %d life %d: machine %u on host %d", seat, life, (unsigned)p->machine, host);
    j->living++;
    return p;
}

void mpi_kill(struct mpi_process *p)
{
    if (p == running) {
        p->condemned = 1;
        return;
    }
    if (p->how != MPI_LIVES)
        return;
    p->how = MPI_KILLED;
    p->status = 137;
    gone(p);
}

struct ftm *mpi_engine(const struct mpi_process *p)
{
    return p->how == MPI_LIVES && !p->finalized ? p->co->engine : NULL;
}

struct mpi_process *mpi_holder(struct mpi_job *j, int seat)
{
    return &j->process[j->seat[seat]];
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void after_step(void *ctx, uint32_t host)
{
    struct mpi_job *j = ctx;
    int i;

    for (i = 0; i < j->processes && j->process[i].machine != host; i++)
        continue;
    if (j->plan.after != NULL)
        j->plan.after(j, i < j->processes ? &j->process[i] : NULL);
}

struct mpi_job *mpi_job_new(const struct mpi_plan *plan)
{
    struct mpi_job *j = calloc(1, sizeof *j);
    struct world_options o;
    int i;

    if (j == NULL)
        return NULL;
    j->plan = *plan;
    j->rng.s = world_mix(plan->seed + 17);
    world_options_init(&o, plan->seed, MPI_HOSTS + 1 + MPI_PROCESSES);
    if (plan->world != NULL)
        o = *plan->world;
    o.seed = plan->seed;
    o.hosts_max = MPI_HOSTS + 1 + MPI_PROCESSES;
    o.events_max = 50000000u;
    j->w = world_new(&o);
    if (j->w == NULL) {
        free(j);
        return NULL;
    }
    j->w->after_step = after_step;
    j->w->ctx = j;
    j->w->tracing = plan->trace;
    j->launch = mpi_launch_new(j);
    for (i = 0; i < plan->ranks; i++)
        if (mpi_start(j, i, 0, plan->hosts > 1 ? i % plan->hosts : 0) != NULL)
            world_stall(j->w, mpi_holder(j, i)->machine, world_rng_below(&j->rng, START_US));
    return j;
}

void mpi_job_free(struct mpi_job *j)
{
    int i;

    if (j == NULL)
        return;
    j->plan.after = NULL;
    for (i = 0; i < j->processes; i++)
        mpi_kill(&j->process[i]);
    mpi_launch_free(j->launch);
    world_free(j->w);
    free(j);
}

void mpi_job_end(struct sim *s, struct mpi_job *j)
{
    world_hash(s->w, j->w->trace, j->w->now);
    s->w->events += j->w->events;
    mpi_job_free(j);
}

int mpi_job_run_for(struct mpi_job *j, uint64_t us)
{
    uint64_t end = j->w->now + us;

    while (!j->w->failed && j->w->now < end && j->living > 0)
        (void)world_run(j->w, j->w->now + SLICE_US < end ? j->w->now + SLICE_US : end);
    return j->living == 0;
}

int mpi_job_run(struct mpi_job *j, uint64_t limit_us)
{
    int i;

    if (mpi_job_run_for(j, limit_us) || j->w->failed)
        return j->w->failed ? -1 : 0;
    for (i = 0; i < j->processes && j->process[i].how != MPI_LIVES; i++)
        continue;
    world_fail(j->w, "after %.1f s %d processes have not ended: seat %d life %d is in %s",
               (double)limit_us / 1e6, j->living, j->process[i].seat, j->process[i].life,
               j->process[i].doing != NULL ? j->process[i].doing : "its program");
    for (; i < j->processes; i++)
        if (j->process[i].how == MPI_LIVES)
            world_say(j->w, 1, "seat %d life %d has not ended, and is in %s", j->process[i].seat,
                      j->process[i].life, j->process[i].doing);
    return -1;
}
