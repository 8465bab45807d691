/* mpi_agree.c - what agreements and recoveries cost, and that they do not wait for each other. */
#include "mpi_kills.h"
#include "story.h"

#include "mpi.h"

#include <stdio.h>
#include <string.h>

#define LIMIT (30 * SECOND)

static struct kills *kills(void)
{
    return mpi_self()->job->plan.user;
}

static struct kills_record *record(void)
{
    return &kills()->record[mpi_self() - mpi_self()->job->process];
}

static void plan_begin(struct sim *s, struct mpi_plan *plan, struct kills *k, const char *mode)
{
    memset(plan, 0, sizeof *plan);
    memset(k, 0, sizeof *k);
    k->first = -1;
    plan->seed = s->o.seed;
    plan->trace = s->o.trace;
    plan->mode = mode;
    plan->user = k;
    plan->sends = kills_sends;
}

/* Waits for all, without a message. */
static void together(int step)
{
    struct kills *k = kills();
    int all = mpi_self()->job->plan.ranks;

    for (k->here++; k->here < step * all;)
        mpi_compute(100);
    mpi_compute(20 * MS);
}

/* ---- Messages of an agreement ------------------------------------------------------------------ */

static int count_one(int (*call)(void))
{
    struct kills *k = kills();
    int rc;

    MPI_Init(NULL, NULL);
    together(1);
    k->armed = 1;
    rc = call();
    together(2);
    k->armed = 0;
    record()->rc = rc;
    record()->returned = 1;
    MPI_Finalize();
    return rc;
}

static int call_barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

static int call_dup(void)
{
    MPI_Comm made;

    return MPI_Comm_dup(MPI_COMM_WORLD, &made);
}

static int call_agree(void)
{
    uint32_t value;

    return kills_agree(1, &value);
}

static int count_barrier(struct mpi_process *p)
{
    (void)p;
    return count_one(call_barrier);
}

static int count_dup(struct mpi_process *p)
{
    (void)p;
    return count_one(call_dup);
}

static int count_agree(struct mpi_process *p)
{
    (void)p;
    return count_one(call_agree);
}

/* The most by which any size needs more messages than each round's 2 (n - 1). */
static int beyond(struct sim *s, int sites, int rounds, int (*program)(struct mpi_process *p), int *wrong)
{
    struct mpi_plan plan;
    struct mpi_job *j;
    int n, i, most = -1000, more;
    struct kills k;

    for (n = 2; n <= 12; n++) {
        plan_begin(s, &plan, &k, "blank,nop,strict");
        plan.program = program;
        plan.ranks = n;
        plan.sites = sites;
        plan.hosts = sites > 1 ? sites : 0;
        j = mpi_job_new(&plan);
        *wrong += mpi_job_run(j, LIMIT) != 0 || k.messages == 0;
        for (i = 0; i < n; i++)
            *wrong += !k.record[i].returned || k.record[i].rc != MPI_SUCCESS;
        more = k.messages - rounds * 2 * (n - 1);
        most = more > most ? more : most;
        mpi_job_end(s, j);
    }
    return most;
}

void tell_agree_messages(struct sim *s)
{
    int wrong = 0;

    bar(s, "agree_messages MPI_Comm_dup, one site: beyond 2(n-1)", beyond(s, 1, 1, count_dup, &wrong), 0);
    bar(s, "agree_messages MPI_Comm_dup, three sites: beyond 2(n-1)", beyond(s, 3, 1, count_dup, &wrong), 0);
    bar(s, "agree_messages strict MPI_Barrier, one site: beyond 2(n-1)",
        beyond(s, 1, 1, count_barrier, &wrong), 0);
    bar(s, "agree_messages strict MPI_Barrier, three sites: beyond 2(n-1)",
        beyond(s, 3, 1, count_barrier, &wrong), 0);
    bar(s, "agree_messages two rounds, one site: beyond 4(n-1)", beyond(s, 1, 2, count_agree, &wrong), 0);
    bar(s, "agree_messages two rounds, three sites: beyond 4(n-1)", beyond(s, 3, 2, count_agree, &wrong), 0);
    bar(s, "agree_messages calls that went wrong", wrong, 0);
}

/* ---- Opposite orders --------------------------------------------------------------------------- */

/* Five of seven ranks are in A, five in B, and three in both, of which one dies. */
#define OVERLAP_RANKS 7
static const int overlap[2][5] = { { 0, 1, 2, 3, 4 }, { 2, 3, 4, 5, 6 } };
#define OVERLAP_VICTIM 4

static int is_in(int which, int me)
{
    return which == 0 ? me <= 4 : me >= 2;
}

static void make_both(MPI_Comm made[2])
{
    MPI_Group world, part;
    int i;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (i = 0; i < 2; i++) {
        MPI_Group_incl(world, 5, overlap[i], &part);
        if (MPI_Comm_create(MPI_COMM_WORLD, part, &made[i]) != MPI_SUCCESS)
            record()->wrong++;
        MPI_Group_free(&part);
    }
    MPI_Group_free(&world);
}

static void recover_one(MPI_Comm *comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    int rc = MPI_ERR_OTHER, tries;

    for (tries = 0; tries < 20 && rc == MPI_ERR_OTHER; tries++)
        rc = MPI_Comm_dup(*comm, &made);
    if (rc != MPI_SUCCESS) {
        record()->wrong++;
        return;
    }
    kills_look(made);
    *comm = made;
}

static int overlap_rank(struct mpi_process *p)
{
    int me = p->seat, first = me == 3 || me >= 5, i;
    MPI_Comm both[2];

    MPI_Init(NULL, NULL);
    make_both(both);
    together(1);
    if (me == OVERLAP_VICTIM)
        mpi_kill(p);
    /* those of A alone are told on A, those of B alone on B, the others on what they recover first */
    if (!is_in(first, me) || MPI_Barrier(both[first]) == MPI_SUCCESS)
        record()->wrong++;
    recover_one(&both[first]);
    if (is_in(!first, me))
        recover_one(&both[!first]);
    for (i = 0; i < 2; i++)
        if (is_in(i, me) && MPI_Barrier(both[i]) != MPI_SUCCESS)
            record()->wrong++;
    record()->returned = 1;
    MPI_Finalize();
    return 0;
}

/* Goal: members that recover two communicators in opposite orders do not wait for each other. */
void tell_opposite_orders(struct sim *s)
{
    static const char *const modes[] = { "shrink,nop", "shrink,cont", "blank,nop", "blank,cont" };
    int hangs = 0, wrong = 0, i, r;
    struct mpi_plan plan;
    char why[200] = "";
    struct mpi_job *j;
    struct kills k;

    for (i = 0; i < 40; i++) {
        plan_begin(s, &plan, &k, modes[i % 4]);
        plan.seed += (uint64_t)i;
        plan.ranks = OVERLAP_RANKS;
        plan.program = overlap_rank;
        j = mpi_job_new(&plan);
        if (mpi_job_run(j, LIMIT) != 0) {
            hangs++;
            printf("# %s, seed %llu: %s\n", plan.mode, (unsigned long long)plan.seed, j->w->why);
        }
        wrong += kills_differ(j, &k, why, sizeof why);
        for (r = 0; r < OVERLAP_RANKS; r++)
            wrong += k.record[r].wrong || (r != OVERLAP_VICTIM && !k.record[r].returned);
        mpi_job_end(s, j);
    }
    bar(s, "opposite_orders two overlapping communicators recovered: hangs", hangs, 0);
    bar(s, "opposite_orders wrong results", wrong, 0);
}

/* ---- How fast all are told --------------------------------------------------------------------- */

static uint64_t told_from, told_last;

/* Rank 0 waits for the last one, who dies, and begins the recovery. The others wait for each other, which
 * goes on although somebody has died: only ENTER ends it. */
static int told_rank(struct mpi_process *p)
{
    int n = p->job->plan.ranks, me = p->seat, all[MPI_SEATS], mine[MPI_SEATS] = { 0 }, rc;
    MPI_Comm made;

    MPI_Init(NULL, NULL);
    MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    together(1);
    if (me == n - 1)
        mpi_kill(p);
    rc = MPI_Recv(mine, 1, MPI_INT, me == 0 ? n - 1 : me % (n - 2) + 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 0)
        told_from = mpi_now();
    else if (mpi_now() > told_last)
        told_last = mpi_now();
    record()->wrong = rc != MPI_ERR_OTHER || (me > 0 && told_from == 0);
    if (MPI_Comm_dup(MPI_COMM_WORLD, &made) != MPI_SUCCESS)
        record()->wrong = 1;
    record()->returned = 1;
    MPI_Finalize();
    return 0;
}

/* The longest way between two ranks and back. */
static uint64_t round_trip(const struct mpi_job *j)
{
    uint64_t most = 0, us;
    int a, b;

    for (a = 0; a < j->processes; a++)
        for (b = 0; b < a; b++) {
            us = world_latency(j->w, j->process[a].machine, j->process[b].machine);
            most = us > most ? us : most;
        }
    return 2 * most;
}

/* Goal: when a member begins a recovery, all calls that wait on that communicator end soon. */
void tell_enter_time(struct sim *s)
{
    struct world_options o;
    struct mpi_plan plan;
    struct mpi_job *j;
    double worst = 0, trips;
    struct kills k;
    int n, i, wrong = 0;

    for (n = 4; n <= MPI_SEATS; n++) {
        plan_begin(s, &plan, &k, "blank,cont");
        world_options_init(&o, s->o.seed, 0);
        o.jitter_us = 0;
        plan.world = &o;
        plan.ranks = n;
        plan.program = told_rank;
        told_from = told_last = 0;
        j = mpi_job_new(&plan);
        wrong += mpi_job_run(j, LIMIT) != 0;
        for (i = 0; i < n - 1; i++)
            wrong += k.record[i].wrong || !k.record[i].returned;
        trips = (double)(told_last - told_from) / (double)round_trip(j);
        worst = trips > worst ? trips : worst;
        mpi_job_end(s, j);
    }
    bar(s, "enter_time until every pending call has ended, in diameter round trips", worst, 2);
    bar(s, "enter_time calls that went wrong", wrong, 0);
}
