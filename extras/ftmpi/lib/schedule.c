/* schedule.c - a collective call as a short program of steps, which the engine runs without blocking. */

#include "schedule.h"

#include "engine.h"
#include "flight.h"
#include "mpi.h"
#include "pack.h"
#include "request.h"
#include "vote.h"

#include <stdint.h>
#include <string.h>

enum schedule_kind { STEP_SEND, STEP_RECV, STEP_WAIT, STEP_COMBINE, STEP_COPY };

struct schedule_step {
    enum schedule_kind kind;
    int peer;
    size_t count, to_count;
    struct ftm_type *type, *to_type;
    const struct ftm_op *op;
    const void *from;
    void *to;
};

struct schedule_memory {
    struct schedule_memory *next;
    size_t size; /* with this head */
};

struct ftm_schedule {
    struct ftm_schedule *next; /* in e->schedules, once it has begun */
    struct ftm *e;
    struct ftm_comm *comm; /* held */
    struct ftm_comm *members; /* comm, or comm->dense */
    int tag;
    int error, begun, done;
    int goes_on; /* when a member fails */
    struct ftm_vote *vote; /* on whether it worked: of a strict one whose steps are over */
    struct schedule_step *step;
    size_t count, capacity, at;
    struct ftm_request **active; /* started since the last wait */
    size_t actives, active_capacity;
    size_t left; /* of these, not done */
    struct schedule_memory *memory;
};

struct ftm_schedule *ftm_schedule_new(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_schedule *s = ftm_mem_new(&e->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->e = e;
    s->comm = s->members = comm;
    if (comm->group->gaps > 0 && (s->members = ftm_comm_dense(e, comm)) == NULL) {
        ftm_mem_free(&e->mem, s, sizeof *s);
        return NULL;
    }
    comm->refs++;
    s->tag = (int)(comm->collectives++ & FTM_TAG_MAX);
    if (comm->fault.watch)
        ftm_recv_forget_calls(e, &comm->match[1], (uint32_t)s->tag);
    return s;
}

static void schedule_unlink(struct ftm_schedule *s)
{
    struct ftm_schedule **at = &s->e->schedules;

    while (*at != NULL && *at != s)
        at = &(*at)->next;
    if (*at == s)
        *at = s->next;
}

/* Takes back what was started and is not over. Returns how many go on by themselves. */
static size_t schedule_cancel(struct ftm_schedule *s)
{
    size_t i, left = 0;

    for (i = 0; i < s->actives; i++) {
        s->active[i]->schedule = NULL;
        if (!s->active[i]->done)
            ftm_request_cancel(s->e, s->active[i]);
        left += !s->active[i]->done;
        ftm_request_free(s->e, s->active[i]);
    }
    return left;
}

/* A message that is under way and cannot be taken back needs its memory, which is then left to it: that
 * happens when the job ends. */
void ftm_schedule_free(struct ftm_schedule *s)
{
    struct ftm *e = s->e;

    schedule_unlink(s);
    ftm_vote_release(e, s->vote);
    if (schedule_cancel(s) > 0)
        s->memory = NULL;
    while (s->memory != NULL) {
        struct schedule_memory *m = s->memory;
        s->memory = m->next;
        ftm_mem_free(&e->mem, m, m->size);
    }
    ftm_mem_free(&e->mem, s->active, s->active_capacity * sizeof *s->active);
    ftm_mem_free(&e->mem, s->step, s->capacity * sizeof *s->step);
    ftm_comm_drop(e, s->comm);
    ftm_mem_free(&e->mem, s, sizeof *s);
}

struct ftm *ftm_schedule_engine(const struct ftm_schedule *s)
{
    return s->e;
}

struct ftm_comm *ftm_schedule_comm(const struct ftm_schedule *s)
{
    return s->members;
}

const int *ftm_schedule_ranks(const struct ftm_schedule *s)
{
    return s->members != s->comm ? s->members->dense_ranks : NULL;
}

/* ---- Writing it ----------------------------------------------------------------------------------- */

/* A new step at the end; one that goes nowhere if there is no memory. */
static struct schedule_step *schedule_add(struct ftm_schedule *s, enum schedule_kind kind)
{
    void *steps = s->step;
    struct schedule_step *step;

    if (!ftm_mem_grow(&s->e->mem, &steps, &s->capacity, s->count, sizeof *s->step)) {
        s->error = MPI_ERR_INTERN;
        return NULL;
    }
    s->step = steps;
    step = &s->step[s->count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    return step;
}

static void schedule_add_message(struct ftm_schedule *s, enum schedule_kind kind, int peer, const void *from,
                                 void *to, size_t count, struct ftm_type *t)
{
    struct schedule_step *step = schedule_add(s, kind);

    if (step == NULL)
        return;
    step->peer = peer;
    step->from = from;
    step->to = to;
    step->count = count;
    step->type = t;
}

void ftm_schedule_send(struct ftm_schedule *s, int to, const void *buf, size_t count, struct ftm_type *t)
{
    schedule_add_message(s, STEP_SEND, to, buf, NULL, count, t);
}

void ftm_schedule_recv(struct ftm_schedule *s, int from, void *buf, size_t count, struct ftm_type *t)
{
    schedule_add_message(s, STEP_RECV, from, NULL, buf, count, t);
}

void ftm_schedule_wait(struct ftm_schedule *s)
{
    (void)schedule_add(s, STEP_WAIT);
}

void ftm_schedule_combine(struct ftm_schedule *s, const struct ftm_op *op, const void *in, void *inout,
                          size_t count, struct ftm_type *t)
{
    struct schedule_step *step = schedule_add(s, STEP_COMBINE);

    if (step == NULL)
        return;
    step->op = op;
    step->from = in;
    step->to = inout;
    step->count = count;
    step->type = t;
}

void ftm_schedule_copy(struct ftm_schedule *s, const void *from, size_t from_count,
                       struct ftm_type *from_type, void *to, size_t to_count, struct ftm_type *to_type)
{
    struct schedule_step *step;

    if (from == to && from_type == to_type)
        return;
    step = schedule_add(s, STEP_COPY);
    if (step == NULL)
        return;
    step->from = from;
    step->count = from_count;
    step->type = from_type;
    step->to = to;
    step->to_count = to_count;
    step->to_type = to_type;
}

/* The head takes as much as what follows it needs to be aligned for any type. */
#define SCHEDULE_HEAD ((sizeof(struct schedule_memory) + 15) / 16 * 16)

void *ftm_schedule_bytes(struct ftm_schedule *s, size_t size)
{
    struct schedule_memory *m = NULL;

    if (size <= SIZE_MAX - SCHEDULE_HEAD)
        m = ftm_mem_resize(&s->e->mem, NULL, 0, SCHEDULE_HEAD + size);
    if (m == NULL) {
        s->error = MPI_ERR_INTERN;
        return NULL;
    }
    m->size = SCHEDULE_HEAD + size;
    m->next = s->memory;
    s->memory = m;
    return (char *)m + SCHEDULE_HEAD;
}

/* With the gaps at both ends: an operation of the program may assign whole structs. */
void *ftm_schedule_room(struct ftm_schedule *s, size_t count, const struct ftm_type *t)
{
    int64_t span = count > 0 ? ((int64_t)count - 1) * ftm_type_extent(t) : 0;
    int64_t low = (t->true_lb < t->lb ? t->true_lb : t->lb) + (span < 0 ? span : 0);
    int64_t high = (t->true_ub > t->ub ? t->true_ub : t->ub) + (span > 0 ? span : 0);
    char *memory = ftm_schedule_bytes(s, high > low ? (size_t)(high - low) : 0);

    return memory != NULL ? (char *)((uintptr_t)memory - (uintptr_t)low) : NULL;
}

/* ---- Running it ----------------------------------------------------------------------------------- */

static void schedule_fail(struct ftm_schedule *s, int error)
{
    if (s->error == 0)
        s->error = error;
}

static void schedule_start(struct ftm_schedule *s, const struct schedule_step *step)
{
    int peer = s->members == s->comm ? step->peer : s->members->dense_ranks[step->peer], err = MPI_ERR_INTERN;
    struct ftm_request *r = NULL;
    void *active = s->active;

    if (ftm_mem_grow(&s->e->mem, &active, &s->active_capacity, s->actives, sizeof *s->active)) {
        s->active = active;
        if (step->kind == STEP_SEND)
            err = ftm_send_start(s->e, &r, FTM_STANDARD, s->comm, 1, step->from, step->count, step->type,
                                 peer, s->tag);
        else
            err = ftm_recv_start(s->e, &r, s->comm, 1, step->to, step->count, step->type, peer,
                                 s->tag);
    }
    if (err != 0) {
        schedule_fail(s, err);
        return;
    }
    s->active[s->actives++] = r;
    if (r->done)
        return;
    r->schedule = s;
    s->left++;
}

static void schedule_collect(struct ftm_schedule *s)
{
    size_t i;

    for (i = 0; i < s->actives; i++) {
        if (s->active[i]->error != 0)
            schedule_fail(s, s->active[i]->error);
        s->active[i]->schedule = NULL;
        ftm_request_free(s->e, s->active[i]);
    }
    s->actives = 0;
}

/* By way of a small buffer, since the two sides may be laid out in different ways. */
static void schedule_repack(const struct schedule_step *step)
{
    struct ftm_pack out, in;
    char bytes[4096];
    size_t n;

    ftm_pack_start(&out, step->type, step->from, step->count);
    ftm_pack_start(&in, step->to_type, step->to, step->to_count);
    while ((n = ftm_pack_out(&out, bytes, sizeof bytes)) > 0)
        if (ftm_pack_in(&in, bytes, n) < n)
            break;
}

static void schedule_copy(struct ftm_schedule *s, const struct schedule_step *step)
{
    uint64_t bytes = step->count * (uint64_t)step->type->size;
    uint64_t room = step->to_count * (uint64_t)step->to_type->size;

    if (bytes > room) {
        schedule_fail(s, MPI_ERR_TRUNCATE);
        bytes = room;
    }
    if (bytes == 0)
        return;
    s->e->counters.copied += bytes;
    if (ftm_type_is_block(step->type, step->count) && ftm_type_is_block(step->to_type, step->to_count))
        memmove((char *)step->to + step->to_type->true_lb, (const char *)step->from + step->type->true_lb,
                (size_t)bytes);
    else
        schedule_repack(step);
}

/* In FTMPI_COLL_MODE_STRICT all members agree on whether it worked, so that it did for all or for none. An
 * error that is no failure is this member's own, and others need not know. Whoever knows of a failed member
 * and does not come here says no by itself. */
static int schedule_is_strict(const struct ftm_schedule *s)
{
    return s->comm->fault.modes.coll == FTMPI_COLL_MODE_STRICT && s->members->size > 1
        && s->comm->fault.modes.comm != FTMPI_COMM_MODE_ABORT;
}

static void schedule_vote(struct ftm_schedule *s)
{
    struct ftm_vote_part part = { FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, NULL };

    if (ftm_fault_is(s->error))
        part.flags = 0;
    s->vote = ftm_vote_start(s->e, s->comm, FTM_VOTE_COLLECTIVE, (uint32_t)s->tag, &part);
    if (s->vote == NULL)
        ftm_end(s->e, 1, "rank %d: no memory for an agreement", s->e->config.rank);
}

/* A failure ends it, or does not let it begin: others may wait for what we say. */
static void schedule_refuse(struct ftm_schedule *s)
{
    if (s->vote == NULL && schedule_is_strict(s) && ftm_fault_is(s->error))
        schedule_vote(s);
}

/* Its steps are over: what the members say decides. */
static void schedule_finish(struct ftm_schedule *s)
{
    if (s->vote == NULL && schedule_is_strict(s))
        schedule_vote(s);
    if (s->vote != NULL && !ftm_vote_done(s->vote))
        return;
    if (s->vote != NULL && (ftm_vote_flags(s->vote) & FTM_VOTE_CONTENT) == 0 && !ftm_fault_is(s->error))
        s->error = ftm_fault_code(s->comm);
    s->done = 1;
}

/* Without memory for a step there is nothing right to say to those that wait for what follows from it: no
 * more leaves, the call ends with the error, and what was started is taken back with it. Where all would
 * agree on that, the others cannot come so far. */
static void schedule_break(struct ftm_schedule *s)
{
    s->done = 1;
    if (schedule_is_strict(s))
        ftm_end(s->e, 1, "rank %d: no memory in the midst of a collective", s->e->config.rank);
}

/* Anything else that went wrong is kept and the rest is done all the same: others wait for our messages. */
static void schedule_advance(struct ftm_schedule *s)
{
    while (s->at < s->count && s->error != MPI_ERR_INTERN) {
        const struct schedule_step *step = &s->step[s->at];
        if (step->kind == STEP_WAIT && s->left > 0)
            return;
        s->at++;
        if (step->kind == STEP_SEND || step->kind == STEP_RECV)
            schedule_start(s, step);
        else if (step->kind == STEP_WAIT)
            schedule_collect(s);
        else if (step->kind == STEP_COPY)
            schedule_copy(s, step);
        else if (step->count > 0)
            ftm_op_apply(s->e, step->op, step->from, step->to, step->count, step->type);
    }
    if (s->error == MPI_ERR_INTERN)
        schedule_break(s);
    else if (s->left == 0)
        schedule_finish(s);
}

/* ---- Failures -------------------------------------------------------------------------------------- */

void ftm_schedule_goes_on(struct ftm_schedule *s)
{
    s->goes_on = 1;
}

/* What has come of its messages too early is of no use any more. */
static void schedule_end(struct ftm_schedule *s, int error)
{
    size_t i;

    for (i = 0; i < s->actives; i++) {
        struct ftm_request *r = s->active[i];

        r->schedule = NULL;
        if (!r->done)
            ftm_request_fail(s->e, r, error);
        ftm_request_free(s->e, r);
    }
    s->actives = s->left = 0;
    s->at = s->count;
    s->error = error;
    s->done = 1;
    schedule_refuse(s);
}

void ftm_schedule_failed(struct ftm *e, const struct ftm_proc *p)
{
    struct ftm_schedule *s;

    for (s = e->schedules; s != NULL; s = s->next)
        if (!s->done && !s->goes_on && s->vote == NULL
            && ftm_group_rank_of(s->comm->group, p->index) != MPI_UNDEFINED)
            schedule_end(s, ftm_fault_code(s->comm));
}

void ftm_schedule_end_all(struct ftm *e, struct ftm_comm *comm, int error)
{
    struct ftm_schedule *s;

    for (s = e->schedules; s != NULL; s = s->next)
        if (!s->done && s->vote == NULL && s->comm == comm)
            schedule_end(s, error);
}

/* One that went on and has all that it needs has met no failure of its own. */
static int schedule_verdict(const struct ftm_schedule *s)
{
    if (s->error != 0 || !s->comm->fault.watch)
        return s->error;
    return ftm_fault_coll(s->comm, 0);
}

int ftm_schedule_begin(struct ftm_schedule *s)
{
    ftm_schedule_wait(s);
    if (s->error == 0 && s->comm->fault.watch)
        s->error = ftm_fault_coll(s->comm, s->goes_on);
    if (s->error != 0) {
        schedule_refuse(s);
        return s->error;
    }
    s->begun = 1;
    s->next = s->e->schedules;
    s->e->schedules = s;
    schedule_advance(s);
    return 0;
}

int ftm_schedule_done(void *s)
{
    return ((struct ftm_schedule *)s)->done;
}

int ftm_schedule_error(const struct ftm_schedule *s)
{
    return s->goes_on ? schedule_verdict(s) : s->error;
}

void ftm_schedule_wake(struct ftm *e, struct ftm_schedule *s)
{
    (void)e;
    s->left--;
}

/* An operation of the program may be run here, which may not begin or free a schedule. */
void ftm_schedule_run(struct ftm *e)
{
    struct ftm_schedule *s;

    for (s = e->schedules; s != NULL; s = s->next)
        if (s->left == 0 && !s->done)
            schedule_advance(s);
}
