/* t_recover.c - recovery of communicators in each mode: members die at each of their messages.
 *
 * Goal: survivors come to one successor: the same group, generation and counter of contexts; nothing waits.
 * Method: whole engines without Phoenix in a world of their own under virtual time. What they say of
 * recovery goes through config.on_protocol, with delays from a seed; an arbiter of the test numbers failures
 * and starts processes; each program is a loop around MPI_Comm_dup: a vote as long as it knows of no failure,
 * a recovery when it does, until a vote succeeds. One process is dead from the beginning, and then victims
 * die at their k-th message, for all k: the first k leave, and it is dead when that step is over.
 *
 *      t_recover                a part of it
 *      t_recover full           all: n <= 4, each mode, one victim and two, new processes too
 *      t_recover full SEED N    the same with N seeds from SEED on
 *      t_recover one MODE N FIRST SEED  SEAT LIFE K ...       one run, and what happens in it
 */
#include "events.h"

#include "comm.h"
#include "engine.h"
#include "fault.h"
#include "flight.h"
#include "rebuild.h"
#include "recover.h"
#include "start.h"
#include "vote.h"

#define SEATS_MAX 5
#define LIVES_MAX 12 /* processes of all seats */
#define VICTIMS_MAX 3
#define NEVER 1000000
#define EVENTS_MAX 100000
#define NOTICES_MAX 64

enum event_kind { BEGIN, MESSAGE, NOTICE, EXIT, ASK, STARTED };

enum notice_kind { FAILED, JOINED, NOSPAWN };

struct notice {
    enum notice_kind kind;
    int seat, life;
};

enum program_phase { IDLE, CALLS, VOTES, RECOVERS, DONE, GAVE_UP };

struct process {
    struct ftm *e;
    int used, seat, life, dead, dying, sent, most;
    enum program_phase phase;
    int second;             /* it recovers the other communicator first */
    int told;               /* it has heard of failures from elsewhere: its first call may be a recovery */
    struct ftm_vote *vote;
    struct ftm_comm *other; /* NULL: there is none, or it was recovered */
    int other_size;
    uint32_t context;       /* of the vote that succeeded */
    int notices;            /* that it has been told */
    uint64_t last[LIVES_MAX], last_notice;
    struct event held[64];  /* of processes that it does not know yet */
    int held_count;
};

struct run {
    int mode, n, first; /* the seat that is dead from the beginning */
    int unstartable;    /* a seat for which there is no process; -1 */
    int overlap;        /* 1: a second communicator, recovered before or after */
    uint64_t seed;
    int victims, seat[VICTIMS_MAX], life[VICTIMS_MAX], kill_at[VICTIMS_MAX];
};

static struct {
    struct run run;
    struct process process[LIVES_MAX];
    int count;
    struct notice notice[NOTICES_MAX];
    int notices;
    int newest[SEATS_MAX], gone[SEATS_MAX]; /* of the arbiter: the life started last; whether it is dead */
    long handled;
    int trace, bad;
} world;

static struct {
    long runs, hangs, disagreements, wrong, waste, died;
} total;

/* ---- Events ------------------------------------------------------------------------------------------ */

/* `to` and `from` are places in world.process; of a NOTICE its number; of an ASK seat and life. */
static void event_in(uint64_t after, enum event_kind kind, int to, int from)
{
    struct event e = { 0, 0, BEGIN, 0, 0, 0, 0, NULL };

    e.time = events.now + after;
    e.kind = kind;
    e.to = to;
    e.from = from;
    event_add(e);
}

/* ---- The arbiter ------------------------------------------------------------------------------------- */

static struct process *process_of(int seat, int life)
{
    int i;

    for (i = 0; i < world.count; i++)
        if (world.process[i].seat == seat && world.process[i].life == life)
            return &world.process[i];
    return NULL;
}

static void notice_to(struct process *p, int number)
{
    struct event e = { 0, 0, NOTICE, 0, 0, 0, 0, NULL };

    e.time = events.now + 1 + draw(100);
    if (e.time < p->last_notice)
        e.time = p->last_notice;
    p->last_notice = e.time;
    e.to = (int)(p - world.process);
    e.from = number;
    event_add(e);
}

static void arbiter_tells(enum notice_kind kind, int seat, int life)
{
    struct notice n = { FAILED, 0, 0 };
    int i;

    n.kind = kind;
    n.seat = seat;
    n.life = life;
    if (world.notices == NOTICES_MAX)
        abort();
    if (world.trace)
        printf("# %5lu arbiter: %d.%d %s\n", (unsigned long)events.now, seat, life,
               kind == FAILED ? "failed" : kind == JOINED ? "joined" : "cannot be started");
    world.notice[world.notices++] = n;
    for (i = 0; i < world.count; i++)
        if (!world.process[i].dead && world.process[i].used)
            notice_to(&world.process[i], world.notices - 1);
}

static void arbiter_exit(int seat, int life)
{
    if (life == world.newest[seat])
        world.gone[seat] = 1;
    arbiter_tells(FAILED, seat, life);
}

/* Each life is started once. */
static void arbiter_ask(int seat, int life)
{
    if (life != world.newest[seat] + 1 || !world.gone[seat])
        return;
    world.newest[seat] = life;
    world.gone[seat] = 0;
    if (seat == world.run.unstartable) {
        world.gone[seat] = 1;
        arbiter_tells(NOSPAWN, seat, life);
    } else {
        event_in(1 + draw(60), STARTED, seat, life);
    }
}

/* ---- Processes --------------------------------------------------------------------------------------- */

static int on_protocol(void *user, int proc, uint64_t tag, const void *data, size_t size)
{
    struct process *p = user, *q = NULL;
    struct event e = { 0, 0, MESSAGE, 0, 0, 0, 0, NULL };
    struct ftm_spawn s;

    if (p->sent >= p->most) {
        p->dying = 1;
        return 1;
    }
    p->sent++;
    if (proc < 0) {
        if (ftm_spawn_get(&s, data, size) != 0)
            total.wrong++;
        event_in(1 + draw(30), ASK, (int)s.rank, (int)s.life);
        return 1;
    }
    q = process_of(p->e->procs[proc]->seat, (int)p->e->procs[proc]->life);
    if (world.trace)
        printf("# %5lu %d.%d -> %d.%lu: kind %d flags %lu context %lu number %lu, %lu bytes (%d)\n",
               (unsigned long)events.now, p->seat, p->life, p->e->procs[proc]->seat,
               (unsigned long)p->e->procs[proc]->life, FTM_KIND(tag), (unsigned long)FTM_FLAGS(tag),
               (unsigned long)FTM_CONTEXT(tag), (unsigned long)FTM_TAG(tag), (unsigned long)size,
               size > 4 ? ((const unsigned char *)data)[4] : 0);
    if (q == NULL || q->dead)
        return 1;
    e.to = (int)(q - world.process);
    e.from = (int)(p - world.process);
    e.time = events.now + 1 + draw(30);
    if (e.time < p->last[e.to])
        e.time = p->last[e.to];
    p->last[e.to] = e.time;
    e.tag = tag;
    e.size = size;
    e.bytes = ftm_mem_resize(&events.mem, NULL, 0, size);
    memcpy(e.bytes, data, size);
    event_add(e);
    return 1;
}

static void on_end(void *user, int code, const char *line)
{
    struct process *p = user;

    (void)code;
    if (world.trace)
        printf("# %5lu %d.%d ends: %s\n", (unsigned long)events.now, p->seat, p->life, line);
    p->dying = 1;
}

static void on_trace(void *user, const char *line)
{
    struct process *p = user;

    if (world.trace)
        printf("# %5lu %d.%d: %s\n", (unsigned long)events.now, p->seat, p->life, line);
}

/* As the TABLE tells: the life of each seat that was started last, and whether it lives. */
static void process_table(struct process *p)
{
    int i;

    p->e->notice.begun = 1;
    for (i = 0; i < world.run.n; i++) {
        struct ftm_proc *proc = p->e->procs[i];

        proc->site = i % 2;
        if (p->life == 0)
            continue;
        proc->life = (uint32_t)world.newest[i];
        proc->state = world.gone[i] ? FTM_PROC_FAILED : FTM_PROC_OK;
    }
    if (p->life > 0)
        ftm_rebuild_restarted(p->e, 0);
}

static struct process *process_start(int seat, int life)
{
    struct process *p = &world.process[world.count++];
    struct ftm_config c;
    int k;

    if (world.count == LIVES_MAX)
        abort();
    memset(p, 0, sizeof *p);
    p->used = 1;
    p->seat = seat;
    p->life = life;
    p->most = NEVER;
    for (k = 0; k < world.run.victims; k++)
        if (world.run.seat[k] == seat && world.run.life[k] == life)
            p->most = world.run.kill_at[k];
    memset(&c, 0, sizeof c);
    c.rank = seat;
    c.size = world.run.n;
    c.life = life;
    c.modes.comm = world.run.mode;
    c.user = p;
    c.on_protocol = on_protocol;
    c.on_end = on_end;
    c.on_trace = on_trace;
    c.arbiter = 1;
    if (ftm_new(&p->e, &c, 1) != 0)
        abort();
    process_table(p);
    p->notices = world.notices;
    p->told = (int)draw(2);
    return p;
}

static void process_crash(struct process *p)
{
    if (world.trace)
        printf("# %5lu %d.%d dies\n", (unsigned long)events.now, p->seat, p->life);
    p->dead = 1;
    ftm_free(p->e);
    p->e = NULL;
    while (p->held_count > 0) {
        p->held_count--;
        ftm_mem_free(&events.mem, p->held[p->held_count].bytes, p->held[p->held_count].size);
    }
    event_in(1 + draw(40), EXIT, p->seat, p->life);
}

/* ---- The program ------------------------------------------------------------------------------------- */

static void program_other(struct process *p)
{
    struct ftm_comm *now;

    if (p->other == NULL || !ftm_recover_is_done(p->other))
        return;
    if (ftm_recover_take(p->e, p->other, &now) != 0)
        world.bad++;
    else
        p->other_size = now->size;
    p->other = NULL;
}

/* Begins the recovery of the one, and of the other only when that is over. */
static void program_recovers(struct process *p)
{
    struct ftm_comm *now;
    int rc;

    if (p->other != NULL && p->second) {
        ftm_recover_begin(p->e, p->other);
        program_other(p);
        if (p->other != NULL)
            return;
    }
    ftm_recover_begin(p->e, p->e->world);
    if (!ftm_recover_is_done(p->e->world))
        return;
    rc = ftm_recover_take(p->e, p->e->world, &now);
    p->phase = rc == 0 ? CALLS : GAVE_UP;
    if (rc == 0 && now != p->e->world)
        world.bad++;
    if (rc != 0 && rc != MPI_ERR_SPAWN)
        world.bad++;
}

static void program_votes(struct process *p)
{
    uint32_t all = FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, flags;

    if (!ftm_vote_done(p->vote))
        return;
    flags = ftm_vote_flags(p->vote);
    p->context = ftm_vote_context(p->vote);
    ftm_vote_release(p->e, p->vote);
    p->vote = NULL;
    p->phase = (flags & all) == all ? DONE : CALLS;
    if (p->phase != DONE)
        ftm_fault_tell_known(p->e, p->e->world);
}

static void program_calls(struct process *p)
{
    static const struct ftm_vote_part part = { FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, NULL };

    if (p->told)
        ftm_fault_tell_known(p->e, p->e->world);
    if (ftm_recover_is_due(p->e, p->e->world)) {
        p->phase = RECOVERS;
        return;
    }
    p->vote = ftm_vote_start(p->e, p->e->world, FTM_VOTE_CREATE, p->e->world->recovery.creates++, &part);
    p->phase = VOTES;
}

/* The second communicator, where there is one, is recovered before the world or after it. */
static void program_run(struct process *p)
{
    enum program_phase before;

    do {
        before = p->phase;
        if (p->e->ended || !p->e->start.ready)
            return;
        if (p->phase == CALLS)
            program_calls(p);
        else if (p->phase == VOTES)
            program_votes(p);
        else if (p->phase == RECOVERS)
            program_recovers(p);
        if (p->phase == DONE && p->other != NULL) {
            ftm_recover_begin(p->e, p->other);
            program_other(p);
        }
    } while (p->phase != before);
}

/* ---- The world --------------------------------------------------------------------------------------- */

static void deliver(struct process *p, struct event *e)
{
    const struct process *q = &world.process[e->from];
    struct ftm_arrival a;

    a.proc = ftm_proc_find(p->e, (uint32_t)q->seat, (uint32_t)q->life);
    if (a.proc == NULL && (uint32_t)q->life > p->e->procs[q->seat]->life) {
        if (p->held_count == 64)
            abort();
        p->held[p->held_count++] = *e;
        e->bytes = NULL;
        return;
    }
    a.from = FTM_FROM(0, (uint32_t)q->life, (uint32_t)q->seat);
    a.tag = e->tag;
    a.data = e->bytes;
    a.size = e->size;
    if (a.proc != NULL && a.proc->state != FTM_PROC_FAILED && ftm_recover_arrived(p->e, &a) != 0) {
        total.wrong++;
        printf("# %d.%d: a message that nobody sends\n", p->seat, p->life);
    }
}

static void release_held(struct process *p)
{
    struct event held[64];
    int i, n = p->held_count;

    memcpy(held, p->held, (size_t)n * sizeof *held);
    p->held_count = 0;
    for (i = 0; i < n; i++) {
        deliver(p, &held[i]);
        ftm_mem_free(&events.mem, held[i].bytes, held[i].size);
    }
}

static void act_on(struct process *p, const struct notice *n)
{
    struct ftm_proc *proc = ftm_proc_find(p->e, (uint32_t)n->seat, (uint32_t)n->life);

    if (n->kind == NOSPAWN) {
        ftm_rebuild_nospawn(p->e, n->seat, (uint32_t)n->life);
        return;
    }
    if (proc == NULL)
        proc = ftm_proc_add(p->e, n->seat, (uint32_t)n->life, 0, n->seat % 2);
    if (proc->index == p->e->self_proc || proc->state == FTM_PROC_FAILED)
        return;
    if (n->kind == FAILED) {
        ftm_fault_declared(p->e, proc->index);
        return;
    }
    proc->state = FTM_PROC_JOINING;
    ftm_rebuild_joined(p->e, proc->index);
    release_held(p);
}

static void handle(struct event *e)
{
    struct process *p;

    if (e->kind == EXIT)
        arbiter_exit(e->to, e->from);
    else if (e->kind == ASK)
        arbiter_ask(e->to, e->from);
    if (e->kind == STARTED) {
        p = process_start(e->to, e->from);
        arbiter_tells(JOINED, p->seat, p->life);
        p->phase = CALLS;
    } else if (e->kind <= NOTICE) {
        p = &world.process[e->to];
    } else {
        return;
    }
    if (p->dead)
        return;
    if (e->kind == BEGIN)
        p->phase = CALLS;
    else if (e->kind == MESSAGE)
        deliver(p, e);
    else if (e->kind == NOTICE)
        act_on(p, &world.notice[e->from]);
    ftm_step(p->e, events.now + 1, NULL, 0);
    program_run(p);
    ftm_step(p->e, events.now + 1, NULL, 0);
    program_run(p);
    if (p->dying)
        process_crash(p);
}

/* ---- What must hold ---------------------------------------------------------------------------------- */

static int is_same(const struct process *a, const struct process *b)
{
    const struct ftm_comm *x = a->e->world, *y = b->e->world;
    int i, same = x->generation == y->generation && x->size == y->size && a->phase == b->phase
                  && (a->phase != DONE || a->context == b->context)
                  && x->fault.modes.comm == y->fault.modes.comm;

    for (i = 0; same && i < x->size; i++) {
        int k = x->group->proc[i], l = y->group->proc[i];

        if (k < 0 || l < 0)
            same = k == l;
        else
            same = a->e->procs[k]->seat == b->e->procs[l]->seat
                   && a->e->procs[k]->life == b->e->procs[l]->life;
    }
    return same && a->other_size == b->other_size;
}

/* A member of itself, at the rank that the mode says, in a world of the right size. */
static int is_right(const struct process *p)
{
    const struct ftm_comm *w = p->e->world;
    int filled = world.run.mode == FTMPI_COMM_MODE_REBUILD || world.run.mode == FTMPI_COMM_MODE_REBUILD_END;
    int i, gaps = 0, seats[SEATS_MAX] = { 0 };

    if (p->phase == GAVE_UP)
        return world.run.unstartable >= 0 && w->fault.state == FT_FAILED;
    for (i = 0; i < w->size; i++) {
        if (w->group->proc[i] < 0)
            gaps++;
        else
            seats[p->e->procs[w->group->proc[i]]->seat]++;
    }
    for (i = 0; i < world.run.n; i++)
        if (seats[i] > 1)
            return 0;
    if (w->generation == 0 || w->group->proc[w->rank] != p->e->self_proc)
        return 0;
    if (world.run.mode == FTMPI_COMM_MODE_SHRINK)
        return gaps == 0 && w->size < world.run.n;
    if (world.run.mode == FTMPI_COMM_MODE_BLANK)
        return gaps > 0 && w->size == world.run.n && w->rank == p->seat;
    return filled && gaps == 0 && w->size == world.run.n
           && (world.run.mode == FTMPI_COMM_MODE_REBUILD_END || w->rank == p->seat);
}

static void judge(void)
{
    const struct process *first = NULL;
    int i, hangs = 0, differ = 0, wrong = world.bad;

    for (i = 0; i < world.count; i++) {
        const struct process *p = &world.process[i];

        if (p->dead || !p->used)
            continue;
        if (p->phase < DONE || p->other != NULL) {
            hangs++;
            continue;
        }
        if (first == NULL)
            first = p;
        differ += !is_same(first, p);
        wrong += !is_right(p);
    }
    total.runs++;
    total.hangs += hangs > 0;
    total.disagreements += differ > 0;
    total.wrong += wrong > 0;
    if (hangs + differ + wrong > 0 && total.hangs + total.disagreements + total.wrong <= 6) {
        printf("# one %d %d %d %lu", world.run.mode, world.run.n, world.run.first,
               (unsigned long)world.run.seed);
        for (i = 0; i < world.run.victims; i++)
            printf("  %d %d %d", world.run.seat[i], world.run.life[i], world.run.kill_at[i]);
        printf(": %d wait, %d differ, %d wrong (unstartable %d, overlap %d)\n", hangs, differ, wrong,
               world.run.unstartable, world.run.overlap);
    }
}

static void process_overlap(struct process *p)
{
    struct ftm_comm_parts parts = { NULL, 8, NULL, NULL, NULL, 0 };

    parts.parent = p->e->world;
    parts.group = p->e->world->group;
    if (ftm_comm_new(p->e, &parts, &p->other) != 0)
        abort();
    p->second = p->seat % 2;
}

static void drain(void)
{
    while (events.count > 0 && ++world.handled < EVENTS_MAX) {
        struct event e = event_take();

        events.now = e.time;
        handle(&e);
        ftm_mem_free(&events.mem, e.bytes, e.size);
    }
}

static void world_run(const struct run *run)
{
    int i;

    memset(world.process, 0, sizeof world.process);
    memset(world.newest, 0, sizeof world.newest);
    memset(world.gone, 0, sizeof world.gone);
    world.run = *run;
    events.random = run->seed * 7919 + 17;
    world.count = world.notices = world.bad = 0;
    world.handled = 0;
    events.now = 1;
    events.order = 0;
    for (i = 0; i < run->n; i++) {
        struct process *p = process_start(i, 0);

        if (run->overlap)
            process_overlap(p);
        if (i == run->first)
            process_crash(p);
        else
            event_in(draw(200), BEGIN, i, 0);
    }
    drain();
    total.waste += events.count > 0;
    while (events.count > 0) {
        struct event e = event_take();

        ftm_mem_free(&events.mem, e.bytes, e.size);
    }
    judge();
    for (i = 0; i < world.count; i++) {
        struct process *p = &world.process[i];

        total.died += p->dead;
        if (p->e != NULL && p->vote != NULL)
            ftm_vote_release(p->e, p->vote);
        ftm_free(p->e);
        while (p->held_count-- > 0)
            ftm_mem_free(&events.mem, p->held[p->held_count].bytes, p->held[p->held_count].size);
    }
}

/* ---- All kill points --------------------------------------------------------------------------------- */

static unsigned kill_all(struct run *run, int which)
{
    unsigned died = 0, now = 1u << which;
    int k;

    if (which == run->victims) {
        world_run(run);
        for (k = 0; k < run->victims; k++) {
            const struct process *p = process_of(run->seat[k], run->life[k]);

            died |= (unsigned)(p != NULL && p->dead) << k;
        }
        return died;
    }
    for (k = 0; (now >> which & 1) && k < 100; k++) {
        run->kill_at[which] = k;
        now = kill_all(run, which + 1);
        died |= now;
    }
    return died;
}

/* Victims are those who live at first, and, where there are such, those started again in the seat of the dead
 * one, and of the victims. */
static void kill_sets(struct run *run, int victims, int from)
{
    int i, lives = run->mode >= FTMPI_COMM_MODE_REBUILD ? 2 : 1;

    if (run->victims == victims) {
        kill_all(run, 0);
        return;
    }
    for (i = from; i < run->n * lives; i++) {
        int seat = i % run->n, life = i / run->n;

        if (life == 0 && seat == run->first)
            continue;
        if (life > 0 && seat != run->first && !(run->victims > 0 && run->seat[run->victims - 1] == seat))
            continue;
        run->seat[run->victims] = seat;
        run->life[run->victims++] = life;
        kill_sets(run, victims, i + 1);
        run->victims--;
    }
}

static void enumerate(int mode, int n, int victims, unsigned long seed, int seeds)
{
    struct run run;
    int first, s;

    for (first = 0; first < n; first++)
        for (s = 0; s < seeds; s++) {
            memset(&run, 0, sizeof run);
            run.mode = mode;
            run.n = n;
            run.first = first;
            run.seed = seed + (unsigned long)s;
            run.unstartable = -1;
            run.overlap = mode <= FTMPI_COMM_MODE_SHRINK && s % 2 == 1;
            kill_sets(&run, victims, 0);
        }
}

static void show(const char *what)
{
    ok(total.hangs == 0 && total.waste == 0, "%s: nothing waits, in %ld runs", what, total.runs);
    ok(total.disagreements == 0, "%s: all have the same communicator", what);
    ok(total.wrong == 0, "%s: and it is what the mode says", what);
}

static void test_kills(void)
{
    /* Goal: promises 82, 84, pitfalls 35, 39. Method: above, for few members, and some delays. */
    int mode, n;

    for (mode = FTMPI_COMM_MODE_BLANK; mode <= FTMPI_COMM_MODE_REBUILD_END; mode++) {
        for (n = 2; n <= 4; n++)
            enumerate(mode, n, 0, 1, 20);
        show("nobody else dies");
        for (n = 2; n <= 4; n++)
            enumerate(mode, n, 1, 1, n < 4 ? 4 : 2);
        show("one more dies");
    }
    enumerate(FTMPI_COMM_MODE_SHRINK, 3, 2, 1, 2);
    enumerate(FTMPI_COMM_MODE_REBUILD, 3, 2, 1, 1);
    show("two more die");
}

static void test_nobody(void)
{
    /* Goal: where nobody can be started all get MPI_ERR_SPAWN. Method: an arbiter that cannot, and kills. */
    struct run run;

    memset(&run, 0, sizeof run);
    run.mode = FTMPI_COMM_MODE_REBUILD;
    run.n = 4;
    run.first = run.unstartable = 1;
    for (run.seed = 1; run.seed <= 20; run.seed++)
        kill_sets(&run, 0, 0);
    show("nobody can be started");
}

/* One vote of all three; 0: not all had the same. */
static int vote_once(struct ftm_comm *comm[3], uint32_t number)
{
    static const struct ftm_vote_part part = { FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, NULL };
    struct ftm_vote *v[3];
    int i, good = 1;

    for (i = 0; i < 3; i++)
        v[i] = ftm_vote_start(world.process[i].e, comm[i], FTM_VOTE_CREATE, number, &part);
    drain();
    for (i = 0; i < 3; i++) {
        good &= ftm_vote_done(v[i]) && ftm_vote_flags(v[i]) == part.flags;
        ftm_vote_release(world.process[i].e, v[i]);
    }
    return good;
}

static void test_memory(void)
{
    /* Goal: what was agreed upon is forgotten in the end. Method: many votes on one communicator, and one on
     * each of many that are freed; memory stays as it was after the first ones. */
    struct ftm_comm *comm[3];
    size_t after[2] = { 0, 0 };
    uint32_t k;
    int i, good = 1;

    memset(world.process, 0, sizeof world.process);
    memset(&world.run, 0, sizeof world.run);
    world.run.n = 3;
    world.run.mode = FTMPI_COMM_MODE_SHRINK;
    world.count = world.notices = 0;
    for (i = 0; i < 3; i++)
        comm[i] = process_start(i, 0)->e->world;
    for (k = 0; k < 500; k++) {
        good &= vote_once(comm, k);
        after[k > 20] = world.process[1].e->mem.bytes;
        world.handled = 0;
    }
    ok(good && after[0] == after[1], "500 votes take as much memory as 20: %lu, %lu bytes",
       (unsigned long)after[0], (unsigned long)after[1]);
    for (k = 0; k < 900; k++) {
        for (i = 0; i < 3; i++) {
            struct ftm_comm_parts parts = { NULL, 100 + 2 * k, NULL, NULL, NULL, 0 };

            parts.parent = world.process[i].e->world;
            parts.group = parts.parent->group;
            good &= ftm_comm_new(world.process[i].e, &parts, &comm[i]) == 0;
        }
        good &= vote_once(comm, 0);
        for (i = 0; i < 3; i++)
            ftm_comm_free(world.process[i].e, comm[i]);
        after[k > 300] = world.process[1].e->mem.bytes;
        world.handled = 0;
    }
    ok(good && after[0] == after[1], "and 900 communicators as much as 300: %lu, %lu bytes",
       (unsigned long)after[0], (unsigned long)after[1]);
    for (i = 0; i < 3; i++)
        ftm_free(world.process[i].e);
}

/* Messages of that size for a communicator that never comes, until one is refused or too much is kept. */
static void test_flood(size_t size)
{
    static const unsigned char zeros[1 << 16];
    struct ftm_arrival a = { NULL, 0, FTM_WORD(FTM_AGREE, FTM_VOTE_CREATE, 1000, 0), zeros, 0 };
    struct process *p = &world.process[0];
    size_t before, most = (4u << 20) + size + 4096;
    int refused = 0;

    world.count = world.notices = 0;
    p = process_start(0, 0);
    before = p->e->mem.bytes;
    a.proc = p->e->procs[1];
    a.size = size;
    while (!refused && p->e->mem.bytes <= before + 2 * most)
        refused = ftm_recover_arrived(p->e, &a) != 0;
    ok(refused && p->e->mem.bytes - before <= most, "%lu bytes each: refused when %lu KiB are kept",
       (unsigned long)size, (unsigned long)(p->e->mem.bytes - before) >> 10);
    ftm_free(p->e);
}

/* Member 1 begins votes of a kind without end, ENTERs for 0: they are refused, and kept in so few bytes. */
static void vote_without_end(struct process *p, uint64_t kind, uint32_t context, size_t most,
                             const char *what)
{
    unsigned char bytes[8] = { 0 };
    struct ftm_arrival a = { p->e->procs[1], 0, 0, bytes, kind == 0 ? 8 : 4 };
    size_t before = p->e->mem.bytes;
    uint32_t number = 0;
    int refused = 0;

    for (; !refused && number < 40000; number++) {
        ftm_put32(bytes + 4, number);
        a.tag = kind == 0 ? FTM_WORD(FTM_REVOKE, 1, context, 0) : FTM_WORD(FTM_AGREE, kind, context, number);
        refused = ftm_recover_arrived(p->e, &a) != 0 || p->e->ended;
    }
    ok(refused && number > 1000 && p->e->mem.bytes - before < most,
       "%s: refused at number %lu, %lu KiB", what, (unsigned long)number,
       (unsigned long)(p->e->mem.bytes - before) >> 10);
    ftm_free(p->e);
}

/* Members are called to more and more agreements in which nobody takes part. */
static void test_calls(void)
{
    world.count = world.notices = 0;
    vote_without_end(process_start(0, 0), FTM_VOTE_AGREE, 0, 5u << 20, "agreements");
}

/* A communicator is gone here, and others begin recoveries of it; each has our no. */
static void test_gone(uint64_t kind, const char *what)
{
    struct ftm_comm_parts parts = { NULL, 100, NULL, NULL, NULL, 0 };
    struct ftm_comm *comm;
    struct process *p;

    world.count = world.notices = 0;
    p = process_start(0, 0);
    parts.parent = p->e->world;
    parts.group = parts.parent->group;
    ok(ftm_comm_new(p->e, &parts, &comm) == 0, "a communicator");
    ftm_comm_free(p->e, comm);
    vote_without_end(p, kind, 100, 1u << 20, what);
}

/* What was early, and turns out to be what no member says, ends the job as it would have done in time. */
static void test_late(void)
{
    unsigned char bytes[12] = { 0, 0, 0, 0, 99 };
    struct ftm_arrival a = { NULL, 0, FTM_WORD(FTM_AGREE, FTM_VOTE_CREATE, 100, 0), bytes, sizeof bytes };
    struct ftm_comm_parts parts = { NULL, 100, NULL, NULL, NULL, 0 };
    struct ftm_comm *comm;
    struct process *p;

    world.count = world.notices = 0;
    p = process_start(0, 0);
    a.proc = p->e->procs[1];
    ok(ftm_recover_arrived(p->e, &a) == 0 && !p->e->ended, "nonsense for a communicator to come is kept");
    parts.parent = p->e->world;
    parts.group = parts.parent->group;
    ok(ftm_comm_new(p->e, &parts, &comm) == 0 && p->e->ended, "and ends the job when that is there");
    ftm_free(p->e);
}

static void test_early(void)
{
    /* Goal: who talks of communicators that do not exist cannot fill the memory of another process. */
    memset(world.process, 0, sizeof world.process);
    memset(&world.run, 0, sizeof world.run);
    world.run.n = 2;
    world.run.mode = FTMPI_COMM_MODE_SHRINK;
    test_flood(4);
    test_flood(1 << 16);
    test_calls();
    test_gone(FTM_VOTE_RECOVERY, "recoveries of one that is gone");
    test_gone(0, "ENTERs for one that is gone");
    test_late();
}

/* A process that was started again is told of three ranks; where to write what, or nothing (-1). */
static int welcome(int at, int value)
{
    static const unsigned char good[] = { 0, 1, 0, 0, 1, 3, 1, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 3 };
    unsigned char bytes[16 + 3 * 24] = { 1, 0, 0, 0, 3, 0, 0, 0, FTMPI_COMM_MODE_REBUILD };
    struct ftm_arrival a = { NULL, 0, FTM_WORD(FTM_AGREE, FTM_VOTE_WELCOME, 0, 0), bytes, sizeof bytes };
    struct process *p;
    int i, rc;

    world.count = world.notices = 0;
    world.newest[0] = 1;
    world.run.mode = FTMPI_COMM_MODE_REBUILD;
    p = process_start(0, 1);
    a.proc = p->e->procs[1];
    for (i = 0; i < 18; i++)
        bytes[16 + 4 * i] = good[i]; /* seat, life, host, site, fresh, the last life to be tried */
    if (at >= 0)
        ftm_put32(bytes + 16 + 4 * at, (uint32_t)value);
    rc = ftm_recover_arrived(p->e, &a);
    ftm_free(p->e);
    return rc;
}

static void test_welcome(void)
{
    /* Goal: what a WELCOME says is checked. Method: a good one, and each of its words made wrong. */
    static const int wrong[][2] = { { 0, 3 }, { 0, 1 }, { 6, 2 }, { 12, 1 }, { 12, 5 }, { 1, 4096 }, { 4, 2 },
                                    { 5, 0 },  { 5, 5000 }, { 17, -1 } };
    size_t i;

    world.run.n = 3;
    ok(welcome(-1, 0) == 0, "a WELCOME");
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(welcome(wrong[i][0], wrong[i][1]) == -1, "not with %d as word %d", wrong[i][1], wrong[i][0]);
    while (events.count > 0) {
        struct event e = event_take();

        ftm_mem_free(&events.mem, e.bytes, e.size);
    }
}

static int bar(const char *name, long figure)
{
    printf("bar %s %ld 0 %s\n", name, figure, figure == 0 ? "ok" : "short");
    return figure != 0;
}

static int full(unsigned long seed, int seeds)
{
    int mode, n, victims;

    for (mode = FTMPI_COMM_MODE_BLANK; mode <= FTMPI_COMM_MODE_REBUILD_END; mode++)
        for (victims = 0; victims <= 2; victims++)
            for (n = 2; n <= 4; n++)
                enumerate(mode, n, victims, seed, seeds);
    printf("# %ld runs, %ld processes died\n", total.runs, total.died);
    return bar("recover_kills.differing", total.disagreements + total.wrong)
           + bar("recover_kills.hangs", total.hangs + total.waste);
}

static int one(int argc, char **argv)
{
    struct run run;
    int i;

    memset(&run, 0, sizeof run);
    run.mode = atoi(argv[2]);
    run.n = atoi(argv[3]);
    run.first = atoi(argv[4]);
    run.seed = strtoul(argv[5], NULL, 10);
    run.unstartable = -1;
    run.overlap = getenv("OVERLAP") != NULL;
    for (i = 6; i + 2 < argc && run.victims < VICTIMS_MAX; i += 3) {
        run.seat[run.victims] = atoi(argv[i]);
        run.life[run.victims] = atoi(argv[i + 1]);
        run.kill_at[run.victims++] = atoi(argv[i + 2]);
    }
    world.trace = 1;
    world_run(&run);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "full") == 0)
        return full(argc > 2 ? strtoul(argv[2], NULL, 10) : 1, argc > 3 ? atoi(argv[3]) : 2) != 0;
    if (argc > 5 && strcmp(argv[1], "one") == 0)
        return one(argc, argv);
    test_kills();
    test_nobody();
    test_memory();
    test_early();
    test_welcome();
    events_free();
    return test_end();
}
