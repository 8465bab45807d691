/* mpi_kills.c - MPI programs whose processes die at each message of an agreement or a recovery. */
#include "mpi_kills.h"
#include "story.h"

#include "comm.h"
#include "engine.h"
#include "mpi.h"
#include "mpi_call.h"
#include "pump.h"
#include "vote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT (30 * SECOND) /* a run that lasts longer hangs */

/* ---- Kill points ------------------------------------------------------------------------------- */

static int is_protocol(uint64_t tag)
{
    int kind = FTM_KIND(tag);

    return kind == FTM_AGREE || kind == FTM_REVOKE || kind == FTM_START;
}

int kills_sends(struct mpi_process *p, uint64_t to, uint64_t tag, size_t size)
{
    struct kills *k = p->job->plan.user;
    int i;

    (void)to;
    (void)size;
    if (!k->armed || !(k->all_kinds || is_protocol(tag)))
        return 1;
    k->messages += FTM_KIND(tag) == FTM_AGREE;
    for (i = 0; i < k->victims; i++)
        if (k->victim[i].seat == p->seat && k->victim[i].life == p->life
            && k->victim[i].sent++ >= k->victim[i].after)
            return 0;
    return 1;
}

int kills_was_reached(const struct kills *k, int victim)
{
    return k->victim[victim].sent > k->victim[victim].after;
}

static struct kills *kills(void)
{
    return mpi_self()->job->plan.user;
}

static struct kills_record *record(void)
{
    return &kills()->record[mpi_self() - mpi_self()->job->process];
}

/* ---- What survivors see ------------------------------------------------------------------------ */

static int who(const struct ftm *e, int proc)
{
    return proc == FTM_GAP ? -1 : e->procs[proc]->seat << 12 | (int)e->procs[proc]->life;
}

void kills_look(int comm)
{
    const struct ftm_comm *c = ftm_table_get(&ftm_this->handles, comm, FTM_COMM);
    struct kills_record *r = record();
    struct kills_view *v = &r->view[r->views];
    int i;

    if (r->views == KILLS_VIEWS || c == NULL || c->size > MPI_SEATS) {
        world_fail(mpi_self()->job->w, "seat %d: %d views, communicator %x", mpi_self()->seat, r->views,
                   (unsigned)comm);
        return;
    }
    r->views++;
    v->generation = c->generation;
    v->context = c->context;
    v->size = c->size;
    for (i = 0; i < c->size; i++)
        v->member[i] = who(ftm_this, c->group->proc[i]);
}

static int views_differ(const struct kills_view *a, const struct kills_view *b)
{
    return a->generation == b->generation && a->context == b->context
        && (a->size != b->size || memcmp(a->member, b->member, (size_t)a->size * sizeof *a->member) != 0);
}

int kills_differ(const struct mpi_job *j, const struct kills *k, char *why, size_t size)
{
    int a, b, x, y, count = 0;

    for (a = 0; a < j->processes; a++)
        for (b = 0; b < a; b++)
            for (x = 0; x < k->record[a].views; x++)
                for (y = 0; y < k->record[b].views; y++)
                    if (views_differ(&k->record[a].view[x], &k->record[b].view[y])) {
                        count++;
                        snprintf(why, size, "generation %u differs at seats %d and %d",
                                 (unsigned)k->record[a].view[x].generation, j->process[a].seat,
                                 j->process[b].seat);
                    }
    return count;
}

/* ---- Runs -------------------------------------------------------------------------------------- */

/* One set of runs: each takes the same plan, with other victims and another seed. */
struct campaign {
    struct sim *s;
    const char *name; /* of the program */
    struct mpi_plan plan;
    struct kills kills;
    int runs, hangs, differences;
    int told; /* of those that went wrong */
};

/* Results that must be the same: of all that live, or of all that returned. */
static int results_differ(const struct mpi_job *j, const struct kills *k)
{
    const struct kills_record *first = NULL;
    int i, count = 0;

    for (i = 0; i < j->processes; i++) {
        const struct kills_record *r = &k->record[i];

        if (!r->returned || (j->process[i].how == MPI_KILLED && !k->exact))
            continue;
        count += r->wrong;
        if (first == NULL)
            first = r;
        count += r->rc != first->rc || (r->rc == MPI_SUCCESS && r->context != first->context);
    }
    return count;
}

/* What to say in KILLS to have that run alone: "program mode ranks sites seed first victim.life.after ..." */
static void describe(struct campaign *c, const struct mpi_job *j, const char *why)
{
    const struct kills *k = j->plan.user;
    int i;

    if (c->told++ >= 8)
        return;
    printf("# KILLS='%s %s %d %d %llu %d", c->name, j->plan.mode, j->plan.ranks, j->plan.sites,
           (unsigned long long)j->plan.seed, k->first);
    for (i = 0; i < k->victims; i++)
        printf(" %d.%d.%d", k->victim[i].seat, k->victim[i].life, k->victim[i].after);
    printf("': %s\n", why);
}

static void one_run(struct campaign *c, struct kills *k, uint64_t seed)
{
    char why[200] = "results differ";
    struct mpi_job *j;
    int hang, differ;

    *k = c->kills;
    c->plan.user = k;
    c->plan.seed = seed;
    j = mpi_job_new(&c->plan);
    hang = mpi_job_run(j, LIMIT) != 0;
    differ = kills_differ(j, k, why, sizeof why) + results_differ(j, k);
    c->runs++;
    c->hangs += hang;
    c->differences += differ > 0;
    if (hang || differ)
        describe(c, j, hang ? j->w->why : why);
    mpi_job_end(c->s, j);
}

/* Every k of victim v and of those behind it. The last run of those has none of them die, so it tells whether
 * v comes to its message number k. */
static void enumerate(struct campaign *c, int v, uint64_t seed, struct kills *last)
{
    int n;

    for (n = 0; n < 100; n++) {
        c->kills.victim[v].after = n;
        if (v + 1 < c->kills.victims)
            enumerate(c, v + 1, seed, last);
        else
            one_run(c, last, seed);
        if (!kills_was_reached(last, v))
            return;
    }
}

/* All sets of so many victims among the seats from `from` on. */
static void choose(struct campaign *c, int chosen, int victims, int from, uint64_t seed)
{
    struct kills last;
    int seat;

    if (chosen == victims) {
        c->kills.victims = victims;
        enumerate(c, 0, seed, &last);
        return;
    }
    for (seat = from; seat < c->plan.ranks; seat++) {
        if (seat == c->kills.first)
            continue;
        c->kills.victim[chosen].seat = seat;
        c->kills.victim[chosen].life = 0;
        choose(c, chosen + 1, victims, seat + 1, seed);
    }
}

static void sites(struct campaign *c, int count)
{
    c->plan.sites = count;
    c->plan.hosts = count > 1 ? count : 0;
    c->plan.walls = count > 1;
}

static void campaign_bars(struct campaign *c, const char *name, const char *differing)
{
    char text[120];

    (void)snprintf(text, sizeof text, "%s runs", name);
    figure(c->s, text, c->runs);
    (void)snprintf(text, sizeof text, "%s %s", name, differing);
    bar(c->s, text, c->differences, 0);
    (void)snprintf(text, sizeof text, "%s hangs", name);
    bar(c->s, text, c->hangs, 0);
}

/* ---- One agreement ------------------------------------------------------------------------------- */

/* All links are there before kills count. */
static void warm_up(void)
{
    int all[MPI_SEATS], one = 1;

    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    mpi_compute(20 * MS);
    kills()->armed = 1;
}

/* One round: a strict collective ends alike at all that live, and who succeeds has the data. */
static int strict_rank(struct mpi_process *p)
{
    struct kills_record *r = record();
    int me, all[MPI_SEATS], i;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    warm_up();
    r->rc = MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; r->rc == MPI_SUCCESS && i < p->job->plan.ranks; i++)
        r->wrong |= all[i] != i;
    r->returned = 1;
    MPI_Finalize();
    return 0;
}

/* Two rounds, as MPIX_Comm_agree and recoveries have them: alike at all that return, the dead included. */
static int uniform_rank(struct mpi_process *p)
{
    struct kills_record *r = record();

    MPI_Init(NULL, NULL);
    warm_up();
    r->rc = kills_agree(~(1u << p->seat), &r->context);
    r->returned = 1;
    MPI_Finalize();
    return 0;
}

int kills_agree(uint32_t flags, uint32_t *value)
{
    struct ftm_vote_part part = { flags, 0, NULL };
    const struct ftm_agree_value *v;
    struct ftm_vote *vote;
    int i;

    vote = ftm_vote_start(ftm_this, ftm_this->world, FTM_VOTE_AGREE, 0, &part);
    if (vote == NULL || ftm_pump_until(ftm_this, ftm_vote_done, vote) != 0)
        return MPI_ERR_INTERN;
    v = ftm_vote_value(vote);
    *value = ftm_vote_flags(vote) & 0xffffu;
    for (i = 0; v != NULL && i < ftm_vote_members(vote); i++)
        *value |= (uint32_t)ftm_vote_says_failed(vote, ftm_vote_member(vote, i)) << (16 + i);
    ftm_vote_release(ftm_this, vote);
    return MPI_SUCCESS;
}

/* One round: a communicator that is made, or not, alike at all that live. */
static int dup_rank(struct mpi_process *p)
{
    struct kills_record *r = record();
    MPI_Comm made = MPI_COMM_NULL;

    (void)p;
    MPI_Init(NULL, NULL);
    warm_up();
    r->rc = MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (r->rc == MPI_SUCCESS)
        r->context = ((struct ftm_comm *)ftm_table_get(&ftm_this->handles, made, FTM_COMM))->context;
    r->returned = 1;
    MPI_Finalize();
    return 0;
}

/* ---- Recovery ------------------------------------------------------------------------------------ */

/* Recovers until it succeeds. */
static int recover(MPI_Comm *comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    int rc = MPI_ERR_OTHER, tries;

    for (tries = 0; tries < 50 && rc == MPI_ERR_OTHER; tries++)
        rc = MPI_Comm_dup(*comm, &made);
    if (rc != MPI_SUCCESS)
        return rc;
    kills_look(made);
    if (*comm != MPI_COMM_WORLD)
        MPI_Comm_free(comm);
    *comm = made;
    return rc;
}

/* Works on a communicator and recovers it, until an ordinary dup says to all that nobody has failed. */
static int recover_rank(struct mpi_process *p)
{
    MPI_Comm comm = MPI_COMM_WORLD, made;
    int rc = MPI_Init(NULL, NULL), one = 1, sum, rounds;

    (void)p;
    if (rc == MPI_INIT_RESTARTED_NODE)
        kills_look(comm);
    else
        warm_up();
    for (rounds = 0; rounds < kills()->rounds; rounds++) {
        rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (rc == MPI_SUCCESS)
            rc = MPI_Comm_dup(comm, &made);
        if (rc == MPI_SUCCESS || recover(&comm) != MPI_SUCCESS)
            break;
    }
    record()->rc = rc;
    record()->returned = 1;
    MPI_Finalize();
    return 0;
}

static int first_dies(struct mpi_process *p)
{
    struct kills *k = p->job->plan.user;
    int rc;

    if (p->seat != k->first || p->life > 0)
        return recover_rank(p);
    rc = MPI_Init(NULL, NULL);
    warm_up();
    mpi_kill(p);
    MPI_Barrier(MPI_COMM_WORLD); /* it ends in there */
    return rc;
}

/* ---- Campaigns ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*program)(struct mpi_process *p);
    int exact, all_kinds;
} programs[] = {
    { "strict", strict_rank, 0, 0 },
    { "collective", strict_rank, 0, 1 },
    { "uniform", uniform_rank, 1, 0 },
    { "dup", dup_rank, 0, 0 },
    { "recover", first_dies, 0, 0 },
    { NULL, NULL, 0, 0 }
};

static void campaign_begin(struct campaign *c, struct sim *s, const char *name)
{
    int i;

    memset(c, 0, sizeof *c);
    c->s = s;
    c->name = name;
    c->plan.trace = s->o.trace;
    for (i = 0; programs[i].name != NULL; i++)
        if (strcmp(programs[i].name, name) == 0) {
            c->plan.program = programs[i].program;
            c->kills.exact = programs[i].exact;
            c->kills.all_kinds = programs[i].all_kinds;
        }
    c->plan.sends = kills_sends;
    c->kills.first = -1;
    c->kills.rounds = 20;
    sites(c, 1);
}

/* One run alone, with TRACE=1 told in full: what a campaign has printed of it stands in KILLS. 1: it was. */
static int again(struct sim *s)
{
    const char *text = getenv("KILLS");
    char name[40], mode[40];
    struct kills_victim *v;
    int count = 0, used;
    struct campaign c;
    struct kills last;
    unsigned long seed;

    if (text == NULL
        || (memset(&c, 0, sizeof c), sscanf(text, "%39s%n", name, &used) != 1))
        return 0;
    campaign_begin(&c, s, name);
    text += used;
    if (c.plan.program == NULL
        || sscanf(text, "%39s %d %d %lu %d%n", mode, &c.plan.ranks, &count, &seed, &c.kills.first, &used)
            != 5) {
        world_fail(s->w, "KILLS is nonsense");
        return 1;
    }
    sites(&c, count);
    c.plan.mode = mode;
    for (text += used; c.kills.victims < KILLS_VICTIMS; text += used) {
        v = &c.kills.victim[c.kills.victims];
        if (sscanf(text, "%d.%d.%d%n", &v->seat, &v->life, &v->after, &used) != 3)
            break;
        c.kills.victims++;
    }
    one_run(&c, &last, seed);
    campaign_bars(&c, "KILLS", "differences");
    return 1;
}

static void agree_size(struct campaign *c, int ranks, int victims, int seeds)
{
    int seed;

    c->plan.ranks = ranks;
    for (seed = 1; seed <= seeds; seed++) {
        sites(c, 1);
        choose(c, 0, victims, 0, (uint64_t)seed);
        sites(c, 3);
        choose(c, 0, victims, 0, (uint64_t)seed);
    }
}

static void agree_all(struct sim *s, const char *name, const char *mode, const char *program)
{
    int most = s->o.full ? 5 : 4, n;
    struct campaign c;

    campaign_begin(&c, s, program);
    c.plan.mode = mode;
    for (n = 2; n <= most; n++)
        agree_size(&c, n, 1, s->o.full ? 10 : 1);
    for (n = 3; n <= most - !s->o.full; n++)
        agree_size(&c, n, 2, s->o.full ? 10 : 1);
    if (s->o.full)
        agree_size(&c, 4, 3, 1);
    campaign_bars(&c, name, "disagreements");
}

/* Goal: whoever dies whenever, all survivors of an agreement return, with the same. */
void tell_agree_kills(struct sim *s)
{
    if (again(s))
        return;
    agree_all(s, "agree_kills strict collective", "blank,nop,strict", "strict");
    agree_all(s, "agree_kills one round", "blank,nop", "dup");
    agree_all(s, "agree_kills two rounds", "blank,nop", "uniform");
}

/* Goal: a strict collective in which a member dies at any of its steps ends alike at all that live. */
void tell_strict_kills(struct sim *s)
{
    struct campaign c;
    int n;

    if (again(s))
        return;
    campaign_begin(&c, s, "collective");
    c.plan.mode = "blank,cont,strict";
    for (n = 2; n <= (s->o.full ? 8 : 4); n++)
        agree_size(&c, n, 1, s->o.full ? 10 : 1);
    campaign_bars(&c, "strict_kills", "mixed results");
}

static void recover_size(struct campaign *c, int ranks, int victims, int seeds)
{
    int seed;

    c->plan.ranks = ranks;
    for (seed = 1; seed <= seeds; seed++)
        for (c->kills.first = 0; c->kills.first < ranks; c->kills.first++)
            choose(c, 0, victims, 0, (uint64_t)seed);
}

/* The process that is started for the first one dies at each of its messages, and again in its next life. */
static void recover_newcomers(struct campaign *c, int ranks, int seeds)
{
    struct kills last;
    int seed;

    c->plan.ranks = ranks;
    for (seed = 1; seed <= seeds; seed++)
        for (c->kills.first = 0; c->kills.first < ranks; c->kills.first++) {
            c->kills.victim[0].seat = c->kills.victim[1].seat = c->kills.first;
            c->kills.victim[0].life = 1;
            c->kills.victim[1].life = 2;
            for (c->kills.victims = 1; c->kills.victims <= 2; c->kills.victims++)
                enumerate(c, 0, (uint64_t)seed, &last);
        }
}

static void recover_mode(struct sim *s, const char *mode)
{
    int most = s->o.full ? 4 : 3, seeds = s->o.full ? 10 : 1, n;
    struct campaign c;
    char name[60];

    campaign_begin(&c, s, "recover");
    c.plan.mode = mode;
    for (n = 2; n <= most; n++)
        recover_size(&c, n, 1, seeds);
    for (n = 3; n <= most && s->o.full; n++)
        recover_size(&c, n, 2, 2);
    for (n = 2; n <= most && strncmp(mode, "rebuild", 7) == 0; n++)
        recover_newcomers(&c, n, seeds);
    (void)snprintf(name, sizeof name, "recover_kills %s", mode);
    campaign_bars(&c, name, "differing groups, contexts or generations");
}

/* Goal: a recovery during which anybody dies at any message ends, and all survivors have the same. */
void tell_recover_kills(struct sim *s)
{
    static const char *const modes[] = { "shrink,nop", "blank,cont", "rebuild,nop", "rebuild-end,cont" };
    unsigned i;

    if (again(s))
        return;
    for (i = 0; i < sizeof modes / sizeof *modes; i++)
        recover_mode(s, modes[i]);
}
