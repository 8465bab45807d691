/* mpi_chaos.c - MPI programs that go on while processes and hosts die, stall and are cut off. */

/* Each of up to 12 ranks sends to others what it likes, receives what there is, calls collectives, and
 * recovers its communicator when it is told of a failure, in every pair of modes (promises 77-79 and 81-88).
 * Faults are drawn: kills, deaths of hosts, stalls, cut networks; some worlds have walls behind which every
 * path is relayed.
 *
 * After every event: living + failed + finished = started + restarted; and all engines hear of deaths in one
 * order. Of messages: in NOP none of an older generation is received, in CONT what survivors sent each other
 * arrives once and in order. Collectives that succeed have the right data. Recovered groups are the same
 * everywhere. And all ends within 10 s after the last fault, or after FTMPI_CUT_WAIT in a part that stays cut
 * off. */
#include "mpi_kills.h"
#include "story.h"

#include "comm.h"
#include "engine.h"
#include "mpi-ext.h"
#include "mpi.h"
#include "mpi_call.h"
#include "notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 20000
#define OPEN 12       /* sends of a rank that are under way */
#define BYTES_MOST 12000
#define CUT_US (5 * SECOND)
#define START_US (9 * SECOND) /* longer than a cut that is mended */
#define AFTER_US (10 * SECOND)

struct message { /* in the order of their sends; the payload begins with the place here */
    short from, to; /* processes */
    uint32_t context, generation;
    int bytes, broken, got; /* broken: its send ended with an error */
};

struct chaos {
    struct kills kills; /* records of recovered groups; first, as kills_look wants it */
    struct message message[MESSAGES];
    int messages, rounds;
    int last_got[MPI_PROCESSES][MPI_PROCESSES]; /* the place of the last one, plus 1 */
    uint64_t death[MPI_PROCESSES]; /* in the order in which the first engine told them */
    size_t deaths, seen[MPI_PROCESSES]; /* seen: of each engine's list */
    int older, doubled, lost, wrong, orders, gave_up;
};

struct me {
    MPI_Comm comm;
    int round, syncs, done, open;
    MPI_Request request[OPEN];
    int message[OPEN];
    unsigned char *data[OPEN], *in;
};

static struct chaos *chaos(void)
{
    return mpi_self()->job->plan.user;
}

static const struct ftm_comm *inside(MPI_Comm comm)
{
    return ftm_table_get(&ftm_this->handles, comm, FTM_COMM);
}

/* For people who look at a run that hangs. */
static void doing(const char *what)
{
    mpi_self()->doing = what;
}

/* Which process of the job that rank is; -1: a gap. */
static int process_of(const struct ftm_comm *c, int rank)
{
    struct mpi_job *j = mpi_self()->job;
    const struct ftm_proc *p;
    int i;

    if (c->group->proc[rank] == FTM_GAP)
        return -1;
    p = ftm_this->procs[c->group->proc[rank]];
    for (i = 0; i < j->processes; i++)
        if (j->process[i].seat == p->seat && j->process[i].life == (int)p->life)
            return i;
    return -1;
}

/* ---- Messages between two ------------------------------------------------------------------------ */

static void fill(unsigned char *data, int bytes, int which)
{
    int i;

    memcpy(data, &which, sizeof which);
    for (i = sizeof which; i < bytes; i++)
        data[i] = (unsigned char)(which * 3 + i);
}

static int send_one(struct me *me)
{
    const struct ftm_comm *c = inside(me->comm);
    struct chaos *x = chaos();
    int to = (int)mpi_draw((uint32_t)c->size), other = process_of(c, to), rc, which;
    struct message *m;

    if (me->open == OPEN || other < 0 || x->messages == MESSAGES)
        return MPI_SUCCESS;
    which = x->messages++;
    m = &x->message[which];
    m->from = (short)(mpi_self() - mpi_self()->job->process);
    m->to = (short)other;
    m->context = c->context;
    m->generation = c->generation;
    m->bytes = 8 + (int)mpi_draw(mpi_draw(4) == 0 ? BYTES_MOST - 8 : 200);
    fill(me->data[me->open], m->bytes, which);
    if (mpi_draw(4) == 0)
        rc = MPI_Issend(me->data[me->open], m->bytes, MPI_BYTE, to, 1, me->comm, &me->request[me->open]);
    else
        rc = MPI_Isend(me->data[me->open], m->bytes, MPI_BYTE, to, 1, me->comm, &me->request[me->open]);
    m->broken = rc != MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        me->message[me->open++] = which;
    return rc;
}

/* Sends that are done or broken leave the list. */
static void forget(struct me *me, int i)
{
    unsigned char *data = me->data[i];

    me->open--;
    me->request[i] = me->request[me->open];
    me->message[i] = me->message[me->open];
    me->data[i] = me->data[me->open];
    me->data[me->open] = data;
}

static int tend(struct me *me)
{
    int i, rc, done, worst = MPI_SUCCESS;

    for (i = me->open - 1; i >= 0; i--) {
        rc = MPI_Test(&me->request[i], &done, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS) {
            worst = rc;
            if (me->request[i] != MPI_REQUEST_NULL)
                continue; /* it stays pending */
            chaos()->message[me->message[i]].broken = 1;
            forget(me, i);
        } else if (done) {
            forget(me, i);
        }
    }
    return worst;
}

static void got(struct me *me, const MPI_Status *status, uint32_t generation)
{
    struct chaos *x = chaos();
    int which, bytes, i, self = (int)(mpi_self() - mpi_self()->job->process);
    struct message *m;

    MPI_Get_count(status, MPI_BYTE, &bytes);
    memcpy(&which, me->in, sizeof which);
    if (which < 0 || which >= x->messages) {
        x->wrong++;
        return;
    }
    m = &x->message[which];
    for (i = sizeof which; i < m->bytes; i++)
        x->wrong += me->in[i] != (unsigned char)(which * 3 + i);
    x->wrong += m->to != self || m->bytes != bytes
        || process_of(inside(me->comm), status->MPI_SOURCE) != m->from;
    x->doubled += m->got++ > 0 || x->last_got[self][m->from] > which + 1;
    x->last_got[self][m->from] = which + 1;
    x->older += inside(me->comm)->fault.modes.msg == FTMPI_MSG_MODE_NOP && m->generation != generation;
}

/* Nobody else is left: then a wildcard that nothing meets is an error, each time. */
static int is_alone(const struct ftm_comm *c)
{
    int i, others = 0;

    for (i = 0; i < c->size; i++)
        others += i != c->rank && process_of(c, i) >= 0;
    return others == 0;
}

/* Something that is there, if anything is. *found: it was. */
static int receive_one(struct me *me, int *found)
{
    uint32_t generation;
    MPI_Status status;
    int rc = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, me->comm, found, &status);

    if (rc != MPI_SUCCESS && is_alone(inside(me->comm))) {
        *found = 0;
        return MPI_SUCCESS;
    }
    if (rc != MPI_SUCCESS || !*found)
        return rc;
    generation = inside(me->comm)->generation;
    doing("MPI_Recv");
    rc = MPI_Recv(me->in, BYTES_MOST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, me->comm, &status);
    if (rc == MPI_SUCCESS)
        got(me, &status, generation);
    return rc;
}

/* ---- Collectives --------------------------------------------------------------------------------- */

static int value_of(int process, int round)
{
    return process * 7919 + round * 31 + 1;
}

static int expected_sum(const struct ftm_comm *c, int round)
{
    int i, p, sum = 0;

    for (i = 0; i < c->size; i++)
        if ((p = process_of(c, i)) >= 0)
            sum += value_of(p, round);
    return sum;
}

static int first_rank(const struct ftm_comm *c)
{
    int i;

    for (i = 0; i < c->size && process_of(c, i) < 0; i++)
        continue;
    return i;
}

/* One that all choose alike by the round. */
static int collective(struct me *me)
{
    const struct ftm_comm *c = inside(me->comm);
    int self = (int)(mpi_self() - mpi_self()->job->process), mine = value_of(self, me->round), rc, i, sum = 0;
    int root = first_rank(c), all[MPI_SEATS], expected = expected_sum(c, me->round);
    int data = c->rank == root ? mine : 0, first = value_of(process_of(c, root), me->round);

    for (i = 0; i < MPI_SEATS; i++)
        all[i] = -1;
    switch ((unsigned)world_mix(mpi_self()->job->plan.seed + (unsigned)me->round) % 5) {
    case 0:
        doing("MPI_Barrier");
        return MPI_Barrier(me->comm);
    case 1:
        doing("MPI_Bcast");
        rc = MPI_Bcast(&data, 1, MPI_INT, root, me->comm);
        chaos()->wrong += rc == MPI_SUCCESS && data != first;
        return rc;
    case 2:
        doing("MPI_Allreduce");
        rc = MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, me->comm);
        chaos()->wrong += rc == MPI_SUCCESS && sum != expected;
        return rc;
    case 3:
        doing("MPI_Reduce");
        rc = MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, me->comm);
        chaos()->wrong += rc == MPI_SUCCESS && c->rank == root && sum != expected;
        return rc;
    default:
        doing("MPI_Allgather");
        rc = MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, me->comm);
        for (i = 0; rc == MPI_SUCCESS && i < inside(me->comm)->size; i++)
            chaos()->wrong += process_of(inside(me->comm), i) >= 0
                && all[i] != value_of(process_of(inside(me->comm), i), me->round);
        return rc;
    }
}

/* ---- A rank -------------------------------------------------------------------------------------- */

static int work(struct me *me)
{
    int rc = MPI_SUCCESS, found = 1, n;

    doing("sends and receives");
    mpi_compute(mpi_draw(3) == 0 ? mpi_draw(20000) : mpi_draw(500));
    for (n = (int)mpi_draw(3); n > 0 && rc == MPI_SUCCESS; n--)
        rc = send_one(me);
    for (n = (int)mpi_draw(5); n > 0 && found && rc == MPI_SUCCESS; n--)
        rc = receive_one(me, &found);
    if (rc == MPI_SUCCESS)
        rc = tend(me);
    if (rc == MPI_SUCCESS)
        rc = collective(me);
    if (rc == MPI_SUCCESS)
        me->round++;
    return rc;
}

/* What is on its way to this rank from members of its communicator. */
static int awaited(struct me *me)
{
    const struct ftm_comm *c = inside(me->comm);
    int self = (int)(mpi_self() - mpi_self()->job->process), i, r;
    struct chaos *x = chaos();

    for (i = 0; i < x->messages; i++) {
        const struct message *m = &x->message[i];

        if (m->to != self || m->got || m->broken || m->context != c->context
            || (c->fault.modes.msg == FTMPI_MSG_MODE_NOP && m->generation != c->generation))
            continue;
        for (r = 0; r < c->size; r++)
            if (process_of(c, r) == m->from)
                return 1;
    }
    return 0;
}

/* Nobody sends any more: all that was sent is received, and then all agree that this is the end. */
static int drain(struct me *me)
{
    MPI_Comm made;
    int rc, found;

    doing("MPI_Barrier at the end");
    rc = MPI_Barrier(me->comm);
    doing("the end's messages");
    while (rc == MPI_SUCCESS && (awaited(me) || me->open > 0)) {
        mpi_compute(mpi_draw(300));
        rc = receive_one(me, &found);
        if (rc == MPI_SUCCESS)
            rc = tend(me);
    }
    doing("MPI_Comm_dup at the end");
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_dup(me->comm, &made);
    me->done = rc == MPI_SUCCESS;
    return rc;
}

static int recover(struct me *me)
{
    MPI_Comm made = MPI_COMM_NULL;
    int rc = MPI_ERR_OTHER, tries;

    doing("a recovery");
    if (inside(me->comm)->fault.modes.comm == FTMPI_COMM_MODE_ULFM) { /* what was sent there is gone */
        (void)MPIX_Comm_revoke(me->comm);
        rc = MPIX_Comm_shrink(me->comm, &made);
    }
    for (tries = 0; tries < 50 && rc == MPI_ERR_OTHER; tries++)
        rc = MPI_Comm_dup(me->comm, &made);
    if (rc != MPI_SUCCESS)
        return rc;
    kills_look(made);
    me->comm = made;
    me->syncs = 1;
    (void)tend(me); /* what has ended with the failure says so now, and that is no news */
    return rc;
}

/* Members come from different rounds: all go on from the latest. */
static int sync_rounds(struct me *me)
{
    int latest, rc;

    doing("the comparison of rounds");
    rc = MPI_Allreduce(&me->round, &latest, 1, MPI_INT, MPI_MAX, me->comm);
    if (rc == MPI_SUCCESS) {
        me->round = latest;
        me->syncs = 0;
    }
    return rc;
}

static int chaos_rank(struct mpi_process *p)
{
    struct me me;
    int i, rc;

    memset(&me, 0, sizeof me);
    me.in = mpi_memory(BYTES_MOST);
    for (i = 0; i < OPEN; i++)
        me.data[i] = mpi_memory(BYTES_MOST);
    me.comm = MPI_COMM_WORLD;
    doing("MPI_Init");
    rc = MPI_Init(NULL, NULL);
    if (rc == MPI_INIT_RESTARTED_NODE) {
        kills_look(me.comm);
        me.syncs = 1;
    }
    while (!me.done) {
        rc = me.syncs ? sync_rounds(&me) : me.round < chaos()->rounds ? work(&me) : drain(&me);
        if (rc != MPI_SUCCESS)
            world_say(p->job->w, 1, "seat %d: round %d: error %d, %d sends open, in %s", p->seat, me.round,
                      rc, me.open, p->doing);
        if (rc != MPI_SUCCESS && recover(&me) != MPI_SUCCESS) {
            chaos()->gave_up++;
            return 9;
        }
    }
    doing("MPI_Finalize");
    MPI_Finalize();
    return 0;
}

/* ---- Invariants ---------------------------------------------------------------------------------- */

static size_t place_of(struct chaos *x, uint64_t death)
{
    size_t i;

    for (i = 0; i < x->deaths; i++)
        if (x->death[i] == death)
            return i;
    x->death[x->deaths] = death;
    return x->deaths++;
}

/* The engines' lists of deaths: each new entry stands behind the one before it in everybody's order. */
static void check_order(struct chaos *x, struct mpi_process *p)
{
    const struct ftm *e = mpi_engine(p);
    size_t *seen = &x->seen[p - p->job->process], at, before;

    for (; e != NULL && *seen < e->notice.deaths_count; ++*seen) {
        at = place_of(x, FTM_WHO(e->procs[e->notice.deaths[*seen].proc]->name));
        before = *seen > 0 ? place_of(x, FTM_WHO(e->procs[e->notice.deaths[*seen - 1].proc]->name)) : 0;
        if (*seen > 0 && at <= before) {
            x->orders++;
            world_fail(p->job->w, "seat %d hears of deaths in another order", p->seat);
        }
    }
}

static void after_event(struct mpi_job *j, struct mpi_process *p)
{
    int imbalance = mpi_job_imbalance(j);

    if (imbalance != 0)
        world_fail(j->w, "living + failed + finished - started - restarted = %d", imbalance);
    if (p != NULL)
        check_order(j->plan.user, p);
}

static int came_through(const struct mpi_process *p)
{
    return p->how == MPI_EXITED && p->finalized && p->status == 0;
}

static void count_lost(struct mpi_job *j, struct chaos *x, int cont)
{
    int i;

    for (i = 0; i < x->messages && cont; i++) {
        const struct message *m = &x->message[i];

        x->lost += !m->got && !m->broken && came_through(&j->process[m->from])
            && came_through(&j->process[m->to]);
    }
}

/* ---- The story ----------------------------------------------------------------------------------- */

static void draw_plan(struct sim *s, struct mpi_plan *plan, char mode[60])
{
    static const char *const comm[] = { "blank", "shrink", "rebuild", "rebuild-end", "ulfm", "abort" };
    uint64_t which;

    memset(plan, 0, sizeof *plan);
    plan->seed = s->o.seed;
    plan->trace = s->o.trace;
    plan->ranks = 2 + (int)rnd(s, s->o.nodes - 1);
    plan->hosts = (int)rnd(s, 5);
    plan->sites = plan->hosts > 1 ? 1 + (int)rnd(s, (uint64_t)plan->hosts) : 1;
    plan->walls = (int)rnd(s, 3);
    plan->cut_us = CUT_US;
    plan->start_us = START_US;
    plan->eager_limit = rnd(s, 2) == 0 ? 0 : 100 + rnd(s, 3000);
    plan->eager_budget = rnd(s, 2) == 0 ? 0 : 3000 + rnd(s, 20000);
    plan->piece = rnd(s, 2) == 0 ? 0 : 500 + rnd(s, 3000);
    plan->program = chaos_rank;
    plan->after = after_event;
    which = rnd(s, 21) / 4;
    (void)snprintf(mode, 60, "%s,%s,%s", comm[which], rnd(s, 2) && which != 4 ? "nop" : "cont",
                   rnd(s, 2) ? "loose" : "strict");
    plan->mode = mode;
}

struct weather { /* what was broken and may be mended */
    int faults, cut_host, stays; /* cut_host: -1: none; stays: it stays cut off */
    uint64_t next, heal_at, last;
};

static void one_fault(struct sim *s, struct mpi_job *j, struct weather *f)
{
    struct mpi_process *p = mpi_holder(j, (int)rnd(s, (uint64_t)j->plan.ranks));
    uint32_t what = (uint32_t)rnd(s, 10);
    int host = j->plan.hosts > 1 ? (int)rnd(s, (uint64_t)j->plan.hosts) : -1;

    f->last = j->w->now;
    if (what < 5 || host < 0) {
        world_say(j->w, 1, "fault: seat %d dies", p->seat);
        mpi_kill(p);
    } else if (what == 5 && mpi_host_is_up(j, host)) {
        world_say(j->w, 1, "fault: host %d dies", host);
        mpi_kill_host(j, host);
    } else if (what < 8 && p->how == MPI_LIVES) {
        world_stall(j->w, p->machine, rnd(s, 3 * SECOND));
        f->last += 3 * SECOND;
    } else if (f->cut_host < 0 && mpi_host_is_up(j, host)) {
        f->cut_host = host;
        f->stays = rnd(s, 4) == 0;
        f->heal_at = j->w->now + (f->stays ? 100 * SECOND : rnd(s, rnd(s, 2) ? 500 * MS : 8 * SECOND));
        world_say(j->w, 1, "fault: host %d is cut off", host);
        mpi_cut_host(j, host, 1);
    }
}

static void run_weather(struct sim *s, struct mpi_job *j)
{
    struct weather f = { (int)rnd(s, 6), -1, 0, 0, 0, 0 };

    f.next = j->w->now + rnd(s, 300 * MS);
    while ((f.faults > 0 || (f.cut_host >= 0 && !f.stays)) && !mpi_job_run_for(j, MS) && !j->w->failed) {
        if (f.cut_host >= 0 && j->w->now >= f.heal_at) {
            world_say(j->w, 1, "host %d is back", f.cut_host);
            mpi_cut_host(j, f.cut_host, 0);
            f.cut_host = -1;
            f.last = j->w->now;
        }
        if (j->w->now >= f.next && f.faults > 0) {
            f.faults--;
            one_fault(s, j, &f);
            f.next = j->w->now + rnd(s, rnd(s, 2) ? 20 * MS : rnd(s, 3) ? 300 * MS : 4 * SECOND);
        }
    }
    if (!j->w->failed && j->living > 0)
        (void)mpi_job_run(j, AFTER_US + (f.stays ? CUT_US : 0)
                                 + (f.last > j->w->now ? f.last - j->w->now : 0));
}

void tell_ft_chaos(struct sim *s)
{
    struct chaos *x = calloc(1, sizeof *x);
    char mode[60], why[200] = "";
    struct mpi_plan plan;
    struct mpi_job *j;
    int differ;

    if (x == NULL)
        exit(1);
    draw_plan(s, &plan, mode);
    plan.user = x;
    x->rounds = 5 + (int)rnd(s, 60);
    world_say(s->w, 1, "%d ranks, %d hosts, %d sites, walls %d, %s", plan.ranks, plan.hosts, plan.sites,
              plan.walls, mode);
    j = mpi_job_new(&plan);
    run_weather(s, j);
    count_lost(j, x, strstr(mode, "cont") != NULL && strstr(mode, "ulfm") == NULL);
    differ = kills_differ(j, &x->kills, why, sizeof why);
    if (j->w->failed)
        world_fail(s->w, "%d ranks, %d hosts, %d sites, walls %d, %s: %.200s", plan.ranks, plan.hosts,
                   plan.sites, plan.walls, mode, j->w->why);
    if (x->older + x->doubled + x->lost + x->wrong + x->orders + x->gave_up + differ > 0)
        world_fail(s->w, "%s: %d older, %d doubled, %d lost, %d wrong, %d orders, %d gave up, %s", mode,
                   x->older, x->doubled, x->lost, x->wrong, x->orders, x->gave_up, why);
    mpi_job_end(s, j);
    free(x);
}
