/* mpi_torture.c - MPI jobs in which one process lacks each allocation and each call of the world in turn. */

/* Goal: whatever the world refuses to the engine of a process, no process crashes, leaks, hangs or gets wrong
 * data: the job goes on with right results, or it ends with a line that says why. Method: three ranks send in
 * all protocols, call collectives and make communicators; in the mode rebuild one of them dies, too. One run
 * counts what the victim asks for; then each allocation and call fails in turn, once and from then on, with
 * each error that it may give. The victim is rank 0, another one, or a process that is started again. */
#include "mpi_world.h"
#include "refuse.h"
#include "story.h"

#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 3
#define LARGE 9000
#define LIMIT (400 * SECOND) /* without --ft death is detected by default: it takes two minutes */
#define STRIDE 23 /* at a small size each such call is tried */

struct torture {
    struct sim *s;
    int which, seat, life; /* the victim */
    int dies;             /* rank 2 does */
    int wrong, through;   /* data; processes that came to their end */
    long points, failed, ended; /* ended: jobs that said why */
    long runs[REFUSE_CALLS];
};

static struct torture *torture(void)
{
    return mpi_self()->job->plan.user;
}

static struct phx_os give_os(struct mpi_process *p)
{
    struct world_host *h = &p->job->w->hosts[p->machine];
    const struct torture *t = p->job->plan.user;

    if (p->seat == t->seat && p->life == t->life)
        refuse.host = p->machine;
    return refuse_os(h);
}

static int lacks_memory(struct mpi_process *p)
{
    return refuse_this(p->machine, REFUSE_MEMORY) != 0;
}

static void fill(unsigned char *p, int bytes, int who)
{
    int i;

    for (i = 0; i < bytes; i++)
        p[i] = (unsigned char)(i * 7 + who + 1);
}

static void must_be(const unsigned char *p, int bytes, int who)
{
    int i;

    for (i = 0; i < bytes && p[i] == (unsigned char)(i * 7 + who + 1); i++)
        continue;
    torture()->wrong += i < bytes;
}

/* A ring in which each message is expected or not, small or large, waited for or not. */
static int ring(MPI_Comm comm, int me, int size, int bytes, int late, int synchronous)
{
    unsigned char *out = mpi_memory(LARGE), *in = mpi_memory(LARGE);
    int right = (me + 1) % size, left = (me + size - 1) % size, rc = MPI_SUCCESS, got = -1;
    MPI_Request s, r;
    MPI_Status status;

    fill(out, bytes, me);
    if (!late)
        rc = MPI_Irecv(in, LARGE, MPI_BYTE, left, 4, comm, &r);
    if (rc == MPI_SUCCESS)
        rc = synchronous ? MPI_Issend(out, bytes, MPI_BYTE, right, 4, comm, &s)
                         : MPI_Isend(out, bytes, MPI_BYTE, right, 4, comm, &s);
    if (late && rc == MPI_SUCCESS) {
        mpi_compute(5 * MS);
        rc = MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r);
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&r, &status);
    if (rc != MPI_SUCCESS)
        return rc;
    MPI_Get_count(&status, MPI_BYTE, &got);
    torture()->wrong += got != bytes || status.MPI_SOURCE != left;
    must_be(in, bytes, left);
    return MPI_Wait(&s, &status);
}

static int collectives(MPI_Comm comm, int me, int size)
{
    int sum = 0, all[RANKS] = { 0 }, one = me + 1, i;
    int rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    unsigned char *data = mpi_memory(LARGE);

    if (rc != MPI_SUCCESS)
        return rc;
    torture()->wrong += sum != size * (size + 1) / 2;
    if ((rc = MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm)) != MPI_SUCCESS)
        return rc;
    for (i = 0; i < size; i++)
        torture()->wrong += all[i] != i + 1;
    if (me == 1)
        fill(data, LARGE, 9);
    if ((rc = MPI_Bcast(data, LARGE, MPI_BYTE, 1, comm)) != MPI_SUCCESS)
        return rc;
    must_be(data, LARGE, 9);
    return MPI_SUCCESS;
}

static int messages(MPI_Comm comm)
{
    int me, size, rc, how;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    for (rc = MPI_SUCCESS, how = 0; how < 8 && rc == MPI_SUCCESS; how++)
        rc = ring(comm, me, size, how & 1 ? LARGE : 60, how & 2, how & 4);
    return rc == MPI_SUCCESS ? collectives(comm, me, size) : rc;
}

/* Where no communicator is made for a recovery one is made for itself. */
static int communicators(MPI_Comm comm)
{
    MPI_Comm dup = MPI_COMM_NULL, half = MPI_COMM_NULL;
    int me, rc = MPI_Comm_dup(comm, &dup);

    MPI_Comm_rank(comm, &me);
    if (rc == MPI_SUCCESS)
        rc = collectives(dup, me, RANKS);
    if (rc == MPI_SUCCESS && (rc = MPI_Comm_split(dup, me % 2, me, &half)) == MPI_SUCCESS)
        rc = MPI_Barrier(half);
    if (half != MPI_COMM_NULL && rc == MPI_SUCCESS)
        rc = MPI_Comm_free(&half);
    if (dup != MPI_COMM_NULL && rc == MPI_SUCCESS)
        rc = MPI_Comm_free(&dup);
    return rc;
}

/* Works, and recovers what broke, until a dup says to all that nobody has failed. */
static int go_on(MPI_Comm comm)
{
    int rc, tries;
    MPI_Comm made;

    for (tries = 0; tries < 30; tries++) {
        if ((rc = messages(comm)) == MPI_SUCCESS && (rc = MPI_Comm_dup(comm, &made)) == MPI_SUCCESS)
            return rc;
        for (; tries < 30 && rc == MPI_ERR_OTHER; tries++)
            rc = MPI_Comm_dup(comm, &made);
        if (rc != MPI_SUCCESS)
            return rc;
        comm = made;
    }
    return MPI_ERR_INTERN;
}

static int rank(struct mpi_process *p)
{
    struct torture *t = p->job->plan.user;
    int rc = MPI_Init(NULL, NULL);

    p->doing = "its work";
    if (t->dies && rc != MPI_INIT_RESTARTED_NODE) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (p->seat == RANKS - 1 && p->life == 0)
            mpi_kill(p);
    }
    if (p->job->plan.mode != NULL)
        rc = go_on(MPI_COMM_WORLD);
    else if ((rc = messages(MPI_COMM_WORLD)) == MPI_SUCCESS)
        rc = communicators(MPI_COMM_WORLD);
    p->doing = "MPI_Abort";
    if (rc != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    p->doing = "MPI_Finalize";
    MPI_Finalize();
    t->through++;
    return 0;
}

/* One job, in which `refuse` says what fails. */
static void one_run(struct torture *t, struct mpi_plan *plan, const char *what)
{
    struct mpi_job *j;
    int hang, bad, i;

    t->wrong = t->through = 0;
    refuse_begin(WORLD_NONE);
    plan->user = t;
    j = mpi_job_new(plan);
    /* "not now" is no error, and a rank that is silent may be computing: only that it ends can help. */
    if (refuse.at != 0 && refuse.with == PHX_EAGAIN && !mpi_job_run_for(j, 2 * SECOND))
        refuse.ill = 0;
    hang = mpi_job_run(j, LIMIT) != 0;
    for (bad = 0, i = 0; i < RANKS; i++)
        bad += (mpi_holder(j, i)->how != MPI_EXITED || mpi_holder(j, i)->status != 0)
            && !(t->dies && mpi_holder(j, i)->life == 0 && i == RANKS - 1);
    t->points += refuse.at != 0;
    t->ended += !hang && bad > 0 && j->line[0] != '\0';
    if (hang || t->wrong > 0 || (bad > 0 && j->line[0] == '\0')) {
        if (t->failed++ < 20)
            printf("# TORTURE='%d %ld %d %d' of %s: %s: %s\n", t->which, refuse.at, refuse.with,
                   refuse.lasting, plan->mode != NULL ? plan->mode : "no --ft", what,
                   hang ? j->w->why : t->wrong > 0 ? "wrong data" : "no line says why it ends");
    }
    mpi_job_end(t->s, j);
}

static void torture_victim(struct torture *t, struct mpi_plan *plan, long stride)
{
    static uint8_t kind[REFUSE_MOST];
    char what[80];
    long n, most;
    int c, e;

    refuse.at = 0;
    one_run(t, plan, "no fault");
    if (t->through < RANKS - t->dies || t->ended > 0)
        world_fail(t->s->w, "%d ranks came through without a fault", t->through);
    most = refuse.count < REFUSE_MOST ? refuse.count : REFUSE_MOST;
    memcpy(kind, refuse.kinds, sizeof kind);
    for (n = 1 + (long)(t->seat + 7 * t->life) % stride; n <= most; n += stride)
        for (c = kind[n - 1], e = 0; refuse_errors[c][e] != 0; e++)
            for (refuse.lasting = 0; refuse.lasting < 2; refuse.lasting++, t->runs[c]++) {
                refuse.at = n;
                refuse.with = refuse_errors[c][e];
                (void)snprintf(what, sizeof what, "%s: %s %s", refuse_name[c],
                               refuse.with == 1 ? "closed" : phx_strerror(refuse.with),
                               refuse.lasting ? "from then on" : "once");
                one_run(t, plan, what);
            }
    refuse.at = 0;
}

static void torture_plan(struct sim *s, struct mpi_plan *plan, const char *mode)
{
    memset(plan, 0, sizeof *plan);
    plan->trace = s->o.trace;
    plan->seed = s->o.seed;
    plan->ranks = RANKS;
    plan->mode = mode;
    plan->eager_limit = 500;
    plan->piece = 3000;
    plan->cut_us = 5 * SECOND;
    plan->start_us = 9 * SECOND;
    plan->program = rank;
    plan->os = give_os;
    plan->lacks_memory = lacks_memory;
}

static const struct { const char *mode; int dies, seat, life; } victims[] = {
    { NULL, 0, 0, 0 }, { NULL, 0, 1, 0 }, { "rebuild,nop", 1, 1, 0 }, { "rebuild,nop", 1, 2, 1 },
    { "shrink,nop", 1, 0, 0 }
};
#define VICTIMS (int)(sizeof victims / sizeof *victims)

static void set_victim(struct torture *t, struct mpi_plan *plan, int which)
{
    t->which = which;
    t->dies = victims[which].dies;
    t->seat = victims[which].seat;
    t->life = victims[which].life;
    t->ended = 0;
    torture_plan(t->s, plan, victims[which].mode);
}

/* One run alone, with TRACE=1 told in full: what was printed of it stands in TORTURE. 1: it was. */
static int again(struct torture *t)
{
    const char *text = getenv("TORTURE");
    struct mpi_plan plan;
    int which;

    if (text == NULL)
        return 0;
    if (sscanf(text, "%d %ld %d %d", &which, &refuse.at, &refuse.with, &refuse.lasting) != 4 || which < 0
        || which >= VICTIMS) {
        world_fail(t->s->w, "TORTURE is nonsense");
        return 1;
    }
    set_victim(t, &plan, which);
    one_run(t, &plan, "again");
    bar(t->s, "TORTURE failed", (double)t->failed, 0);
    return 1;
}

void tell_mpi_torture(struct sim *s)
{
    struct torture *t = calloc(1, sizeof *t);
    struct mpi_plan plan;
    int i;

    if (t == NULL)
        exit(1);
    t->s = s;
    if (again(t)) {
        free(t);
        return;
    }
    for (i = 0; i < VICTIMS && !s->w->failed; i++) {
        set_victim(t, &plan, i);
        torture_victim(t, &plan, s->o.full ? 1 : STRIDE);
    }
    for (i = 0; i < REFUSE_CALLS; i++)
        printf("# %ld runs in which %s failed\n", t->runs[i], refuse_name[i]);
    figure(s, "mpi_torture points", (double)t->points);
    bar(s, "mpi_torture points that failed", (double)t->failed, 0);
    free(t);
}
