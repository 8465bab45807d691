/* fault.c - failures of processes: states and modes of communicators, and what operations return. */
#include "fault.h"

#include <stdio.h>
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"
#include "mpi-ext.h"
#include "recover.h"
#include "request.h"
#include "ring.h"
#include "schedule.h"

/* A communicator begins in FT_OK. When a member is declared failed it goes to FT_DETECTED; when its recovery
 * begins, here or anywhere, to FT_RECOVER (ftm_fault_entered); and what happens to it then is the affair of
 * recover.c. What follows from a state is decided in one place: ftm_fault_check for what is started,
 * fault_ends for what is pending when somebody fails, ftm_fault_pending for calls that wait, ftm_fault_coll
 * for collectives.
 *
 * There is one set of failed processes per engine (e->fault.failed, in the order of the arbiter, and the
 * states in e->procs), which all communicators read. What each has of its own is what was told on it: a
 * receive from anybody tells each failure once. */

/* The list of a communicator's failures cannot move, since programs have its address, and is made for all
 * that can come before a recovery: a rank, and the three processes that are started in its place. */
#define FAULT_LIST_LIVES 4

/* ---- Small questions --------------------------------------------------------------------------- */

int ftm_fault_code(const struct ftm_comm *c)
{
    return c->fault.modes.comm == FTMPI_COMM_MODE_ULFM ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER;
}

int ftm_fault_is(int code)
{
    return code == MPI_ERR_OTHER || code == MPIX_ERR_PROC_FAILED || code == MPIX_ERR_PROC_FAILED_PENDING
        || code == MPIX_ERR_REVOKED;
}

int ftm_fault_returns(const struct ftm_comm *c, int code)
{
    int gap = code == MPI_ERR_RANK && c->group->gaps > 0;

    return !c->handler_set && c->fault.modes.comm != FTMPI_COMM_MODE_ABORT
        && (ftm_fault_is(code) || code == MPI_ERR_SPAWN || gap);
}

int ftm_fault_goes_on(const struct ftm_comm *c)
{
    return c->fault.modes.msg == FTMPI_MSG_MODE_CONT || c->fault.modes.comm == FTMPI_COMM_MODE_ULFM;
}

static int fault_has_failed(const struct ftm *e, int proc)
{
    return proc >= 0 && e->procs[proc]->state == FTM_PROC_FAILED;
}

/* The rank that p holds in a group, or holds again: one that was started in place of a member counts for it.
 * One that held the seat before the member did is no affair of this group: it was recovered before. */
static int fault_rank(const struct ftm *e, const struct ftm_group *g, const struct ftm_proc *p)
{
    int rank = ftm_group_rank_of(g, p->index);
    size_t i;

    if (rank != MPI_UNDEFINED || p->index < e->config.size)
        return rank;
    for (i = 0; rank == MPI_UNDEFINED && i < e->fault.count; i++) {
        const struct ftm_proc *failed = e->procs[e->fault.failed[i]];

        if (failed->seat == p->seat && failed->life < p->life)
            rank = ftm_group_rank_of(g, failed->index);
    }
    return rank;
}

static int fault_concerns(const struct ftm *e, const struct ftm_comm *c, const struct ftm_proc *p)
{
    return fault_rank(e, c->group, p) != MPI_UNDEFINED
        || (c->remote != NULL && fault_rank(e, c->remote, p) != MPI_UNDEFINED);
}

/* 1: nobody but this process is alive in it. */
static int fault_is_alone(const struct ftm_comm *c)
{
    const struct ftm_group *g = ftm_comm_peers(c);

    return c->fault.gone + g->gaps > 0 && g->size - g->gaps - c->fault.gone <= (c->remote == NULL);
}

/* The first failure that no receive from anybody has told, and in ULFM that is not acknowledged.
 * MPI_UNDEFINED: there is none. */
static int fault_untold(const struct ftm_fault *f)
{
    size_t i = f->modes.comm == FTMPI_COMM_MODE_ULFM ? f->acked : 0;

    for (; i < f->count; i++)
        if (f->modes.comm == FTMPI_COMM_MODE_ULFM || !f->told[f->list[i]])
            return f->list[i];
    return MPI_UNDEFINED;
}

static void fault_watch(struct ftm_comm *c)
{
    c->fault.watch = c->fault.state != FT_OK || c->fault.revoked || ftm_comm_peers(c)->gaps > 0;
}

static void fault_go(struct ftm *e, struct ftm_comm *c, int state)
{
    static const char *const names[] = { "ok", "detected", "recover", "recovered", "failed" };

    if (c->fault.state != state)
        ftm_trace(e, "communicator %lu: %s -> %s", (unsigned long)c->context, names[c->fault.state],
                  names[state]);
    c->fault.state = state;
    fault_watch(c);
}

/* ---- What a communicator knows ----------------------------------------------------------------- */

static void fault_forget(struct ftm *e, struct ftm_fault *f)
{
    ftm_mem_free(&e->mem, f->list, f->ranks * FAULT_LIST_LIVES * sizeof *f->list);
    ftm_mem_free(&e->mem, f->times, f->ranks * sizeof *f->times);
    ftm_mem_free(&e->mem, f->first, f->ranks * sizeof *f->first);
    ftm_mem_free(&e->mem, f->told, f->ranks);
    f->list = f->times = NULL;
    f->first = NULL;
    f->told = NULL;
    f->count = f->ranks = f->acked = 0;
    f->gone = 0;
}

static int fault_make_lists(struct ftm *e, struct ftm_fault *f, size_t ranks)
{
    if (f->list != NULL)
        return 0;
    f->ranks = ranks;
    f->list = ftm_mem_new(&e->mem, ranks * FAULT_LIST_LIVES * sizeof *f->list);
    f->times = ftm_mem_new(&e->mem, ranks * sizeof *f->times);
    f->first = ftm_mem_new(&e->mem, ranks * sizeof *f->first);
    f->told = ftm_mem_new(&e->mem, ranks);
    if (f->list != NULL && f->times != NULL && f->first != NULL && f->told != NULL)
        return 0;
    fault_forget(e, f);
    return -1;
}

/* A member, of our side or the other, has failed. */
static int fault_note(struct ftm *e, struct ftm_comm *c, const struct ftm_proc *p)
{
    struct ftm_fault *f = &c->fault;
    int rank = fault_rank(e, ftm_comm_peers(c), p);

    if (f->state == FT_OK)
        fault_go(e, c, FT_DETECTED);
    if (rank == MPI_UNDEFINED)
        return 0;
    if (fault_make_lists(e, f, (size_t)ftm_comm_peers(c)->size) != 0)
        return -1;
    if (f->times[rank]++ == 0) {
        f->first[rank] = f->count;
        f->gone++;
    }
    if (f->count < f->ranks * FAULT_LIST_LIVES)
        f->list[f->count++] = rank;
    f->told[rank] = 0;
    return 0;
}

/* Those who had failed before it was made, or recovered. */
static int fault_note_known(struct ftm *e, struct ftm_comm *c)
{
    const struct ftm_proc *p;
    size_t i;

    for (i = 0; i < e->fault.count; i++) {
        p = e->procs[e->fault.failed[i]];
        if ((ftm_group_rank_of(c->group, p->index) != MPI_UNDEFINED
             || ftm_group_rank_of(ftm_comm_peers(c), p->index) != MPI_UNDEFINED)
            && fault_note(e, c, p) != 0)
            return MPI_ERR_INTERN;
    }
    return 0;
}

int ftm_fault_begin(struct ftm *e, struct ftm_comm *c, const struct ftm_comm *parent)
{
    c->fault.modes = parent != NULL ? parent->fault.modes : e->config.modes;
    fault_watch(c);
    return e->fault.count > 0 ? fault_note_known(e, c) : 0;
}

void ftm_fault_free(struct ftm *e, struct ftm_comm *c)
{
    fault_forget(e, &c->fault);
}

/* ---- What is pending --------------------------------------------------------------------------- */

/* A receive that was not matched, from anybody. */
static int fault_is_open(const struct ftm_request *r)
{
    return r->order.kind == FTM_REQ_RECV && r->proc < 0 && r->link.next != NULL;
}

/* A process that it needs: the one it names, or the one whose message it was matched with. */
static int fault_needs(const struct ftm_request *r, int proc)
{
    return r->proc == proc
        || (r->order.kind == FTM_REQ_RECV && r->flight.number != 0 && r->flight.from == proc);
}

/* A receive from anybody ends if it is the first one after a failure that none has told, or if there is
 * nobody left who could meet it. In ULFM it stays (ftm_fault_pending). */
static int fault_ends_open(struct ftm *e, struct ftm_request *r)
{
    struct ftm_comm *c = r->order.comm;
    int rank = fault_untold(&c->fault);

    if (c->fault.modes.comm == FTMPI_COMM_MODE_ULFM || r->detached
        || (rank == MPI_UNDEFINED && !fault_is_alone(c)))
        return 0;
    if (rank == MPI_UNDEFINED)
        rank = c->fault.list[c->fault.count - 1];
    c->fault.told[rank] = 1;
    r->status.source = rank;
    r->fault = ftm_comm_peers(c)->proc[rank];
    (void)e;
    return 1;
}

/* 1: this failure ends the request. */
static int fault_ends(struct ftm *e, struct ftm_request *r, const struct ftm_proc *p)
{
    struct ftm_comm *c = r->order.comm;

    if (r->vote != NULL)
        return 0;
    if (fault_needs(r, p->index)) {
        r->fault = p->index;
        return 1;
    }
    if (r->schedule != NULL || c->fault.state == FT_OK || !fault_concerns(e, c, p))
        return 0;
    if (!ftm_fault_goes_on(c))
        return 1;
    return fault_is_open(r) && fault_ends_open(e, r);
}

/* Ends requests; only r itself can go with it. */
static void fault_end_requests(struct ftm *e, const struct ftm_proc *p)
{
    struct ftm_list *link, *next;

    for (link = e->requests.next; link != &e->requests; link = next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, all);

        next = link->next;
        if (!r->done && fault_ends(e, r, p))
            ftm_request_fail(e, r, ftm_fault_code(r->order.comm));
    }
}

/* Everything of one communicator that the program has started. */
static void fault_end_all(struct ftm *e, struct ftm_comm *c, int code)
{
    struct ftm_list *link, *next;

    c->refs++;
    for (link = e->requests.next; link != &e->requests; link = next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, all);

        next = link->next;
        if (!r->done && r->order.comm == c && r->schedule == NULL && r->vote == NULL)
            ftm_request_fail(e, r, code);
    }
    ftm_comm_drop(e, c);
}

/* ---- Who has failed ---------------------------------------------------------------------------- */

static void fault_abort(struct ftm *e, const struct ftm_comm *c, const struct ftm_proc *p)
{
    char line[256];

    snprintf(line, sizeof line, "rank %d has failed, and %s is in FTMPI_COMM_MODE_ABORT (see --ft)", p->seat,
             c->name[0] != 0 ? c->name : "a communicator of both");
    ftm_abort(e, 1, line);
}

static void fault_note_all(struct ftm *e, const struct ftm_proc *p)
{
    size_t i;

    for (i = 0; i < e->contexts.count; i++) {
        struct ftm_comm *c = e->contexts.sorted[i]->comm;

        if ((e->contexts.sorted[i]->context & 1) != 0 || c->fault.state == FT_FAILED
            || !fault_concerns(e, c, p))
            continue;
        if (fault_note(e, c, p) != 0)
            ftm_end(e, 1, "rank %d: no memory to note that rank %d has failed", e->config.rank, p->seat);
        if (c->fault.modes.comm == FTMPI_COMM_MODE_ABORT && c->handle != 0 && c != e->self)
            fault_abort(e, c, p);
    }
}

/* Nothing more comes from it, and nothing goes to it. Messages of which it has the data end with it. */
static void fault_silence(struct ftm *e, struct ftm_proc *p)
{
    size_t i;

    ftm_proc_silence(e, p);
    ftm_ring_drop(e, p);
    for (i = 0; i < e->contexts.count; i++)
        ftm_recv_forget(e, e->contexts.sorted[i], p->index, 0);
}

void ftm_fault_declared(struct ftm *e, int proc)
{
    struct ftm_proc *p = e->procs[proc];
    void *failed = e->fault.failed;

    if (p->state == FTM_PROC_FAILED)
        return;
    if (!ftm_mem_grow(&e->mem, &failed, &e->fault.capacity, e->fault.count, sizeof *e->fault.failed)) {
        ftm_end(e, 1, "rank %d: no memory to note that rank %d has failed", e->config.rank, p->seat);
        return;
    }
    e->fault.failed = failed;
    p->state = FTM_PROC_FAILED;
    p->failed_us = e->now;
    e->fault.failed[e->fault.count++] = proc;
    e->fault.troubles++;
    e->counters.arrived++;
    fault_note_all(e, p);
    fault_end_requests(e, p);
    ftm_schedule_failed(e, p);
    fault_silence(e, p);
    ftm_recover_failed(e, proc);
}

/* What hangs on c ends, or, in CONT, its calls alone: requests that the program has a handle of stay, and
 * ftm_fault_pending ends the calls that wait for them. */
void ftm_fault_entered(struct ftm *e, struct ftm_comm *c)
{
    if (c->fault.state >= FT_RECOVER)
        return;
    fault_go(e, c, FT_RECOVER);
    e->fault.troubles++;
    e->counters.arrived++;
    ftm_schedule_end_all(e, c, ftm_fault_code(c));
    if (!ftm_fault_goes_on(c))
        fault_end_all(e, c, ftm_fault_code(c));
}

void ftm_fault_revoked(struct ftm *e, struct ftm_comm *c)
{
    if (c->fault.revoked)
        return;
    c->fault.revoked = 1;
    e->fault.troubles++;
    fault_watch(c);
    e->counters.arrived++;
    ftm_trace(e, "communicator %lu: revoked", (unsigned long)c->context);
    ftm_schedule_end_all(e, c, MPIX_ERR_REVOKED);
    fault_end_all(e, c, MPIX_ERR_REVOKED);
}

/* ---- After a recovery -------------------------------------------------------------------------- */

/* Requests on the old communicator are now on the new one, in its numbering. */
static void fault_move_requests(struct ftm *e, struct ftm_comm *old, struct ftm_comm *now)
{
    struct ftm_list *link;

    for (link = e->requests.next; link != &e->requests; link = link->next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, all);

        if (r->done || r->order.comm != old || r->vote != NULL)
            continue;
        now->refs++;
        r->order.comm = now;
        if (r->proc >= 0)
            r->order.peer = ftm_group_rank_of(ftm_comm_peers(now), r->proc);
        if (r->flight.number != 0 && r->order.kind == FTM_REQ_RECV)
            r->status.source = ftm_group_rank_of(ftm_comm_peers(now), r->flight.from);
        ftm_comm_drop(e, old); /* which its maker holds */
    }
}

void ftm_fault_succeeded(struct ftm *e, struct ftm_comm *old, struct ftm_comm *now, int msg_mode)
{
    size_t i;

    ftm_schedule_end_all(e, old, ftm_fault_code(old));
    if (msg_mode == FTMPI_MSG_MODE_NOP)
        fault_end_all(e, old, ftm_fault_code(old));
    ftm_match_hand(e, old, now);
    if (msg_mode == FTMPI_MSG_MODE_NOP)
        ftm_match_drop(e, &now->match[0]);
    for (i = 0; i < e->fault.count; i++)
        ftm_recv_forget(e, &now->match[0], e->fault.failed[i], 1);
    ftm_match_drop(e, &now->match[1]);
    fault_move_requests(e, old, now);
    fault_go(e, old, FT_FAILED);
    fault_go(e, now, FT_RECOVERED);
    ftm_recv_early(e, &now->match[0]);
    ftm_recv_early(e, &now->match[1]);
}

void ftm_fault_joined(struct ftm *e, struct ftm_comm *old, struct ftm_comm *world, int msg_mode)
{
    struct ftm_list lifted;
    size_t i;

    if (msg_mode == FTMPI_MSG_MODE_NOP) {
        fault_end_all(e, old, ftm_fault_code(old));
        return;
    }
    for (i = 0; i < e->fault.count; i++)
        ftm_recv_forget(e, &old->match[0], e->fault.failed[i], 1);
    if (ftm_match_lead(e, old, world) != 0) {
        ftm_end(e, 1, "rank %d: no memory to recover a communicator", e->config.rank);
        return;
    }
    old->refs++;
    ftm_recv_lift(e, old, &lifted);
    fault_move_requests(e, old, world);
    ftm_recv_merge(e, old, world, &lifted);
    ftm_comm_drop(e, old);
}

void ftm_fault_opened(struct ftm *e, struct ftm_comm *c)
{
    fault_go(e, c, c->fault.count > 0 ? FT_DETECTED : FT_OK);
}

/* ---- What operations get ----------------------------------------------------------------------- */

/* Of a communicator, whatever the operation is; 0: it depends. */
static int fault_closed(const struct ftm_comm *c)
{
    if (c->fault.revoked)
        return MPIX_ERR_REVOKED;
    if (c->fault.state == FT_FAILED)
        return MPI_ERR_COMM;
    return c->fault.state >= FT_RECOVER ? ftm_fault_code(c) : 0;
}

static int fault_is_met(const struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;

    return o->kind == FTM_REQ_RECV && ftm_match_look(&o->comm->match[o->collective], r->proc, o->tag) != NULL;
}

/* An operation on a communicator with a failed member, messages of which go on. */
static int fault_check_going(struct ftm *e, struct ftm_request *r)
{
    struct ftm_comm *c = r->order.comm;
    int code = ftm_fault_code(c);

    if (fault_is_met(r))
        return 0;
    if (r->proc >= 0) {
        if (!fault_has_failed(e, r->proc))
            return 0;
        r->fault = r->proc;
        if (c->fault.modes.comm != FTMPI_COMM_MODE_ULFM) {
            ftm_fault_tell(e, c, r->proc);
            return code;
        }
    } else if (fault_untold(&c->fault) == MPI_UNDEFINED || !fault_ends_open(e, r)) {
        return 0; /* one that nobody can meet ends when a call waits for it */
    }
    ftm_request_done(e, r, code);
    return 0;
}

int ftm_fault_check(struct ftm *e, struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;
    int code = fault_closed(o->comm);

    if (o->peer >= 0 && r->proc == FTM_GAP)
        return MPI_ERR_RANK;
    if (o->collective && o->comm->fault.state < FT_FAILED)
        return fault_has_failed(e, r->proc) ? ftm_fault_code(o->comm) : 0;
    if (code != 0 || o->comm->fault.state == FT_OK)
        return code;
    return ftm_fault_goes_on(o->comm) ? fault_check_going(e, r) : ftm_fault_code(o->comm);
}

int ftm_fault_pending(const struct ftm *e, const struct ftm_request *r)
{
    const struct ftm_comm *c = r->order.comm;

    if (!c->fault.watch || r->order.collective || r->vote != NULL)
        return 0;
    if (c->fault.state >= FT_RECOVER)
        return fault_closed(c);
    if (!fault_is_open(r))
        return 0;
    if (fault_is_alone(c) && ftm_list_is_empty(&e->local))
        return ftm_fault_code(c);
    return c->fault.modes.comm == FTMPI_COMM_MODE_ULFM && fault_untold(&c->fault) != MPI_UNDEFINED
               ? MPIX_ERR_PROC_FAILED_PENDING : 0;
}

/* As a receive would. */
int ftm_fault_probe(struct ftm *e, struct ftm_comm *c, int source, struct ftm_status *status)
{
    int code = fault_closed(c), rank;

    if (source >= 0 && ftm_comm_peers(c)->proc[source] == FTM_GAP)
        return MPI_ERR_RANK;
    if (code != 0)
        return code;
    if (c->fault.state != FT_OK && !ftm_fault_goes_on(c))
        return ftm_fault_code(c);
    if (source >= 0)
        return fault_has_failed(e, ftm_comm_peers(c)->proc[source]) ? ftm_fault_code(c) : 0;
    rank = fault_untold(&c->fault);
    if (rank == MPI_UNDEFINED)
        return fault_is_alone(c) && ftm_list_is_empty(&e->local) ? ftm_fault_code(c) : 0;
    if (c->fault.modes.comm != FTMPI_COMM_MODE_ULFM)
        c->fault.told[rank] = 1;
    status->source = rank;
    return ftm_fault_code(c);
}

int ftm_fault_coll(const struct ftm_comm *c, int goes_on)
{
    int code = fault_closed(c);

    if (code != 0 || c->fault.state == FT_OK || (goes_on && ftm_fault_goes_on(c)))
        return code;
    return ftm_fault_code(c);
}

/* ---- What the program is told ------------------------------------------------------------------ */

void ftm_fault_tell(struct ftm *e, struct ftm_comm *c, int proc)
{
    size_t i;
    int rank;

    e->fault.fresh = 1;
    c->fault.entered |= c->fault.state == FT_RECOVER;
    if (proc >= 0) {
        e->procs[proc]->told = 1;
        e->fault.latest = proc;
        rank = ftm_group_rank_of(ftm_comm_peers(c), proc);
        if (rank != MPI_UNDEFINED && c->fault.told != NULL)
            c->fault.told[rank] = 1;
    }
    for (i = 0; proc < 0 && i < e->fault.count; i++) {
        struct ftm_proc *p = e->procs[e->fault.failed[i]];

        if (fault_concerns(e, c, p)) {
            p->told = 1;
            e->fault.latest = p->index;
        }
    }
}

/* An error goes to the program: of which failures has been said already, or it is all that c knows. */
void ftm_fault_tell_known(struct ftm *e, struct ftm_comm *c)
{
    if (!e->fault.fresh)
        ftm_fault_tell(e, c, -1);
    e->fault.fresh = 0;
}

const char *ftm_fault_text(struct ftm *e)
{
    const struct ftm_proc *p = e->fault.latest >= 0 ? e->procs[e->fault.latest] : NULL;
    char rank[32];
    const char *why;

    if (p == NULL)
        return NULL;
    snprintf(rank, sizeof rank, "rank %d", p->seat);
    why = ftm_notice_why(e, p->index, NULL);
    snprintf(e->fault.text, sizeof e->fault.text, "MPI_ERR_OTHER: a process has failed: %s; %.3f s after "
             "MPI_Init here", why != NULL ? why : rank, (double)(p->failed_us - e->made_us) / 1e6);
    return e->fault.text;
}

int ftm_fault_is_recovery(const struct ftm *e, const struct ftm_comm *c)
{
    size_t i;

    if (c->fault.state == FT_OK || c->fault.entered)
        return c->fault.entered;
    for (i = 0; i < e->fault.count; i++)
        if (e->procs[e->fault.failed[i]]->told && fault_concerns(e, c, e->procs[e->fault.failed[i]]))
            return 1;
    return 0;
}

/* ---- Attributes -------------------------------------------------------------------------------- */

int ftm_fault_set(struct ftm *e, struct ftm_comm *c, int key, const int *value)
{
    struct ftm_modes *m = &c->fault.modes;
    int *mode = key == FTMPI_COMM_MODE ? &m->comm : key == FTMPI_MSG_MODE ? &m->msg
              : key == FTMPI_COLL_MODE ? &m->coll : NULL;
    int most = key == FTMPI_COMM_MODE ? FTMPI_COMM_MODE_ULFM : 1;

    if (mode == NULL)
        return MPI_ERR_KEYVAL;
    if (value == NULL || *value < 0 || *value > most)
        return MPI_ERR_ARG;
    if (key == FTMPI_COMM_MODE && *value != FTMPI_COMM_MODE_ABORT
        && e->config.modes.comm == FTMPI_COMM_MODE_ABORT && ftm_notice_modes(e) != 0)
        return MPI_ERR_ARG; /* without an arbiter in a launcher there is only ABORT */
    *mode = *value;
    return 0;
}

int ftm_fault_get(struct ftm *e, struct ftm_comm *c, int key, void *value)
{
    struct ftm_fault *f = &c->fault;
    int lists = key == FT_MPI_LIST_FAILED || key == FT_MPI_COM_FAILED;
    void *at = NULL;

    if (lists && fault_make_lists(e, f, (size_t)ftm_comm_peers(c)->size) != 0)
        return -1;
    switch (key) {
    case FTMPI_COMM_MODE: at = &f->modes.comm; break;
    case FTMPI_MSG_MODE: at = &f->modes.msg; break;
    case FTMPI_COLL_MODE: at = &f->modes.coll; break;
    case FTMPI_COMM_STATE: at = &f->state; break;
    case FT_MPI_LIST_FAILED: at = f->list; break;
    case FT_MPI_COM_FAILED: at = f->times; break;
    case FT_MPI_LIST_NUM_FAILED: *(int *)value = (int)f->count; return 1;
    case FT_MPI_COM_NUM_FAILED: *(int *)value = f->gone; return 1;
    default: return 0;
    }
    *(void **)value = at;
    return 1;
}
