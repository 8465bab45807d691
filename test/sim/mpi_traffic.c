/* mpi_traffic.c - random sends and receives of whole MPI programs beside the rules of matching. */

/* Each of 2 to 8 ranks draws what it does: sends of all modes and sizes, receives with wildcards, probes,
 * cancelled requests, pauses. Some receives are posted before and some after what they match. When all is
 * quiet the record of who got what is compared with the rules: a message goes to the earliest receive that
 * fits, a receive takes the earliest message that fits, of each sender; a receive that could be met was met.
 * Small limits bring each protocol into play. */
#include "mpi_world.h"
#include "story.h"

#include "../ftmpi/matching.h"
#include "mpi.h"

#include <stdlib.h>
#include <string.h>

#define STEPS 60   /* of each rank */
#define TAGS 3
#define BYTES_MOST 6000
#define BUFFER_BYTES 200000

/* What belongs to a record: is it open, and what has a probe seen. */
struct open {
    MPI_Request r;
    int is, probed; /* probed: bytes; -1: any */
};

struct traffic {
    struct matching m;
    struct open sent[MATCHING_RECORDS], received[MATCHING_RECORDS];
    int through, quiet; /* ranks that have done their steps; that are done */
    int errors;
};

static struct traffic *traffic(void)
{
    return mpi_self()->job->plan.user;
}

static void check_rc(int rc)
{
    traffic()->errors += rc != MPI_SUCCESS;
}

static void send_one(int me, int size)
{
    struct traffic *t = traffic();
    int which = t->m.sents++, mode = (int)mpi_draw(8);
    struct matching_sent *m = &t->m.sent[which];
    struct open *o = &t->sent[which];

    m->from = me;
    m->to = (int)mpi_draw((uint32_t)size);
    m->tag = (int)mpi_draw(TAGS);
    m->bytes = mpi_draw(4) == 0 ? 4 + (int)mpi_draw(BYTES_MOST - 4) : 4 + (int)mpi_draw(300);
    m->data = mpi_memory((size_t)m->bytes);
    m->got_by = -1;
    o->is = 1;
    matching_fill(m->data, m->bytes, which);
    if (mode < 2)
        check_rc(MPI_Issend(m->data, m->bytes, MPI_BYTE, m->to, m->tag, MPI_COMM_WORLD, &o->r));
    else if (mode == 2)
        check_rc(MPI_Ibsend(m->data, m->bytes, MPI_BYTE, m->to, m->tag, MPI_COMM_WORLD, &o->r));
    else if (mode == 3)
        check_rc(MPI_Irsend(m->data, m->bytes, MPI_BYTE, m->to, m->tag, MPI_COMM_WORLD, &o->r));
    else
        check_rc(MPI_Isend(m->data, m->bytes, MPI_BYTE, m->to, m->tag, MPI_COMM_WORLD, &o->r));
}

static void receive(int me, int source, int tag, int probed)
{
    struct traffic *t = traffic();
    int which = t->m.receiveds++;
    struct matching_received *v = &t->m.received[which];
    struct open *o = &t->received[which];

    v->at = me;
    v->source = source == MPI_ANY_SOURCE ? MATCHING_ANY : source;
    v->tag = tag == MPI_ANY_TAG ? MATCHING_ANY : tag;
    v->data = mpi_memory(BYTES_MOST);
    v->got = -1;
    o->is = 1;
    o->probed = probed;
    check_rc(MPI_Irecv(v->data, BYTES_MOST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &o->r));
}

static void receive_one(int me, int size)
{
    int source = mpi_draw(3) == 0 ? MPI_ANY_SOURCE : (int)mpi_draw((uint32_t)size);

    receive(me, source, mpi_draw(3) == 0 ? MPI_ANY_TAG : (int)mpi_draw(TAGS), -1);
}

static void look_at(int which, MPI_Status *status)
{
    struct traffic *t = traffic();
    int cancelled, bytes;

    MPI_Test_cancelled(status, &cancelled);
    if (cancelled) {
        t->m.received[which].got = -2;
        return;
    }
    MPI_Get_count(status, MPI_BYTE, &bytes);
    t->m.received[which].wrong = t->received[which].probed >= 0 && t->received[which].probed != bytes;
    matching_got(&t->m, which, status->MPI_SOURCE, status->MPI_TAG, bytes);
}

/* 1: it is done now. */
static int is_done(struct open *o, MPI_Status *status)
{
    int done;

    check_rc(MPI_Test(&o->r, &done, status));
    o->is = !done;
    return done;
}

/* Looks at one's own requests. */
static void collect(int me)
{
    struct traffic *t = traffic();
    MPI_Status status;
    int i;

    for (i = 0; i < t->m.receiveds; i++)
        if (t->m.received[i].at == me && t->received[i].is && is_done(&t->received[i], &status))
            look_at(i, &status);
    for (i = 0; i < t->m.sents; i++)
        if (t->m.sent[i].from == me && t->sent[i].is && is_done(&t->sent[i], &status))
            MPI_Test_cancelled(&status, &t->m.sent[i].cancelled);
}

static void cancel_one(int me)
{
    struct traffic *t = traffic();
    int i = t->m.sents > 0 ? (int)mpi_draw((uint32_t)t->m.sents) : 0;

    if (t->m.sents > 0 && t->m.sent[i].from == me && t->sent[i].is)
        check_rc(MPI_Cancel(&t->sent[i].r));
    i = t->m.receiveds > 0 ? (int)mpi_draw((uint32_t)t->m.receiveds) : 0;
    if (mpi_draw(2) == 0 && t->m.receiveds > 0 && t->m.received[i].at == me && t->received[i].is)
        check_rc(MPI_Cancel(&t->received[i].r));
}

/* What a probe sees, the next receive of it gets. */
static void probe_one(int me)
{
    MPI_Status status;
    int found, bytes;

    check_rc(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status));
    if (!found)
        return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    receive(me, status.MPI_SOURCE, status.MPI_TAG, bytes);
}

/* A receive for each message that may be left, so that all sends can end; then what is still posted goes. */
static void drain(int me)
{
    struct traffic *t = traffic();
    int i, left, open = 0;

    for (i = 0; i < t->m.sents; i++)
        open += t->m.sent[i].to == me && t->m.sent[i].got_by < 0;
    for (; open > 0 && t->m.receiveds < MATCHING_RECORDS; open--)
        receive(me, MPI_ANY_SOURCE, MPI_ANY_TAG, -1);
    do { /* a hang is seen by the story */
        collect(me);
        mpi_compute(1 + mpi_draw(500));
        for (left = 0, i = 0; i < t->m.sents; i++)
            left += (t->m.sent[i].from == me && t->sent[i].is)
                || (t->m.sent[i].to == me && matching_is_lost(&t->m.sent[i]));
    } while (left > 0);
    for (i = 0; i < t->m.receiveds; i++)
        if (t->m.received[i].at == me && t->received[i].is)
            check_rc(MPI_Cancel(&t->received[i].r));
    collect(me);
}

static int traffic_rank(struct mpi_process *p)
{
    struct traffic *t = p->job->plan.user;
    void *buffer = mpi_memory(BUFFER_BYTES), *old;
    int i, me, size, bytes;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check_rc(MPI_Buffer_attach(buffer, BUFFER_BYTES));
    for (i = 0; i < STEPS; i++) {
        uint32_t what = mpi_draw(10);

        if (what < 4)
            send_one(me, size);
        else if (what < 8)
            receive_one(me, size);
        else if (what == 8)
            cancel_one(me);
        else
            probe_one(me);
        if (mpi_draw(3) == 0)
            collect(me);
        if (mpi_draw(3) == 0)
            mpi_compute(mpi_draw(mpi_draw(4) == 0 ? 3000 : 200));
    }
    for (t->through++; t->through < size; collect(me))
        mpi_compute(50 + mpi_draw(200));
    drain(me);
    check_rc(MPI_Buffer_detach(&old, &bytes));
    MPI_Finalize();
    t->quiet++;
    return 0;
}

/* ---- The story ------------------------------------------------------------------------------- */

static void draw_plan(struct sim *s, struct mpi_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->seed = s->o.seed;
    plan->trace = s->o.trace;
    plan->ranks = 2 + (int)(rnd(s, s->o.nodes - 1));
    plan->hosts = (int)rnd(s, 4);
    plan->sites = plan->hosts > 1 ? 1 + (int)rnd(s, (uint64_t)plan->hosts) : 1;
    plan->walls = (int)rnd(s, 3);
    plan->eager_limit = rnd(s, 3) == 0 ? 0 : 100 + rnd(s, 3000);
    plan->eager_budget = rnd(s, 3) == 0 ? 0 : 3000 + rnd(s, 20000);
    plan->piece = rnd(s, 3) == 0 ? 0 : 500 + rnd(s, 3000);
    plan->asks = rnd(s, 3) == 0 ? 0 : 1 + (unsigned)rnd(s, 20);
    plan->program = traffic_rank;
}

/* Goal: of all that processes send each other nothing is lost, doubled, mixed up or overtaken. */
void tell_mpi_traffic(struct sim *s)
{
    struct traffic *t = calloc(1, sizeof *t);
    struct mpi_plan plan;
    struct mpi_job *j;
    char why[120];

    if (t == NULL)
        exit(1);
    draw_plan(s, &plan);
    plan.user = t;
    j = mpi_job_new(&plan);
    if (mpi_job_run(j, 20 * SECOND) != 0)
        world_fail(s->w, "%d ranks: %s; %s", plan.ranks, j->w->why, j->line);
    if (matching_broken(&t->m, why, sizeof why) + t->errors > 0 || t->quiet != plan.ranks)
        world_fail(s->w, "%d ranks: %s, %d errors; %s", plan.ranks, why, t->errors, j->line);
    mpi_job_end(s, j);
    free(t);
}
