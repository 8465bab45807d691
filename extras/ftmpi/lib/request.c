/* request.c - what was started and may not be done yet. */
#include "request.h"

#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"
#include "pack.h"
#include "schedule.h"
#include "ulfm.h"

#define REQUEST_POOL 256

static struct ftm_request *request_new(struct ftm *e)
{
    struct ftm_list *link = ftm_list_take(&e->pool);
    struct ftm_request *r;

    if (link == NULL)
        return ftm_mem_new(&e->mem, sizeof *r);
    e->pooled--;
    r = FTM_LIST_OF(link, struct ftm_request, link);
    memset(r, 0, sizeof *r);
    return r;
}

static void request_give_back(struct ftm *e, struct ftm_request *r)
{
    if (r->flight.pack != NULL)
        ftm_mem_free(&e->mem, r->flight.pack, sizeof *r->flight.pack);
    r->flight.pack = NULL;
    ftm_send_forget(e, r);
    ftm_ulfm_forget(e, r);
    ftm_list_remove(&r->link);
    ftm_list_remove(&r->segment);
    ftm_list_remove(&r->all);
    ftm_type_drop(e, r->order.type);
    ftm_comm_drop(e, r->order.comm);
    if (e->pooled < REQUEST_POOL) {
        e->pooled++;
        ftm_list_add(e->pool.next, &r->link); /* in front: it is in the cache */
    } else {
        ftm_mem_free(&e->mem, r, sizeof *r);
    }
}

void ftm_request_clear(struct ftm *e)
{
    struct ftm_list *link;

    while (!ftm_list_is_empty(&e->requests))
        request_give_back(e, FTM_LIST_OF(e->requests.next, struct ftm_request, all));
    while ((link = ftm_list_take(&e->pool)) != NULL)
        ftm_mem_free(&e->mem, FTM_LIST_OF(link, struct ftm_request, link), sizeof(struct ftm_request));
    e->pooled = 0;
}

int ftm_request_make(struct ftm *e, struct ftm_request **out, const struct ftm_order *order)
{
    struct ftm_request *r = request_new(e);

    *out = r;
    if (r == NULL)
        return MPI_ERR_INTERN;
    r->engine = e;
    r->order = *order;
    r->order.type->refs++;
    r->order.comm->refs++;
    r->done = 1;
    ftm_list_add(&e->requests, &r->all);
    return 0;
}

/* What a start sets back. */
static void request_reset(struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;
    struct ftm_group *peers = ftm_comm_peers(o->comm);

    memset(&r->status, 0, sizeof r->status);
    r->status.source = MPI_PROC_NULL;
    r->status.tag = MPI_ANY_TAG;
    r->error = MPI_SUCCESS;
    r->done = 0;
    r->active = 1;
    r->cancel = 0;
    r->fault = -1;
    r->bytes = (uint64_t)o->count * (uint64_t)o->type->size;
    r->proc = o->peer >= 0 ? peers->proc[o->peer] : -1;
    r->flight.moved = r->flight.wanted = 0;
}

static int request_begin(struct ftm *e, struct ftm_request *r)
{
    int error;

    if (r->order.peer == MPI_PROC_NULL) {
        ftm_request_done(e, r, 0);
        return 0;
    }
    if (r->order.comm->fault.watch && ((error = ftm_fault_check(e, r)) != 0 || r->done))
        return error;
    if (r->order.kind == FTM_REQ_RECV)
        return ftm_recv_begin(e, r);
    return r->order.mode == FTM_BUFFERED ? ftm_bsend_start(e, r) : ftm_send_begin(e, r);
}

int ftm_request_start(struct ftm *e, struct ftm_request *r)
{
    int error;

    request_reset(r);
    e->sends += r->order.kind == FTM_REQ_SEND;
    error = request_begin(e, r);
    if (error != 0) {
        r->done = 1;
        r->active = 0;
        e->sends -= r->order.kind == FTM_REQ_SEND;
    }
    return error;
}

static int request_run(struct ftm *e, struct ftm_request **out, const struct ftm_order *order)
{
    int error = ftm_request_make(e, out, order);

    if (error == 0 && (error = ftm_request_start(e, *out)) != 0) {
        request_give_back(e, *out);
        *out = NULL;
    }
    return error;
}

int ftm_send_start(struct ftm *e, struct ftm_request **out, int mode, struct ftm_comm *comm, int collective,
                   const void *buf, size_t count, struct ftm_type *type, int dest, int tag)
{
    struct ftm_order order;

    order.kind = FTM_REQ_SEND;
    order.mode = mode;
    order.comm = comm;
    order.collective = collective;
    order.buf = (void *)(uintptr_t)buf;
    order.count = count;
    order.type = type;
    order.peer = dest;
    order.tag = tag;
    return request_run(e, out, &order);
}

int ftm_recv_start(struct ftm *e, struct ftm_request **out, struct ftm_comm *comm, int collective, void *buf,
                   size_t count, struct ftm_type *type, int source, int tag)
{
    struct ftm_order order;

    order.kind = FTM_REQ_RECV;
    order.mode = FTM_STANDARD;
    order.comm = comm;
    order.collective = collective;
    order.buf = buf;
    order.count = count;
    order.type = type;
    order.peer = source;
    order.tag = tag;
    return request_run(e, out, &order);
}

void ftm_request_done(struct ftm *e, struct ftm_request *r, int error)
{
    r->error = error;
    r->status.error = error;
    r->done = 1;
    e->sends -= r->order.kind == FTM_REQ_SEND;
    e->flying -= r->flight.wanted;
    r->flight.wanted = 0;
    if (r->flight.pack != NULL) {
        ftm_mem_free(&e->mem, r->flight.pack, sizeof *r->flight.pack);
        r->flight.pack = NULL;
    }
    if (r->buffered > 0)
        ftm_bsend_done(e, r);
    if (r->schedule != NULL)
        ftm_schedule_wake(e, r->schedule);
    if (r->detached)
        request_give_back(e, r);
}

int ftm_request_is_done(void *r)
{
    return ((const struct ftm_request *)r)->done;
}

void ftm_request_free(struct ftm *e, struct ftm_request *r)
{
    if (r->done)
        request_give_back(e, r);
    else
        r->detached = 1;
}

void ftm_request_fail(struct ftm *e, struct ftm_request *r, int error)
{
    e->fault.given_up++;
    if (r->order.kind == FTM_REQ_RECV)
        ftm_recv_give_up(e, r);
    else
        ftm_send_give_up(e, r);
    ftm_request_done(e, r, error);
}

/* ---- Cancelling -------------------------------------------------------------------------------- */

static void request_cancelled(struct ftm *e, struct ftm_request *r)
{
    r->status.cancelled = 1;
    ftm_request_done(e, r, 0);
}

void ftm_request_cancel(struct ftm *e, struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;
    uint32_t context = o->comm->context | (uint32_t)o->collective;

    if (r->done || r->cancel || r->vote != NULL)
        return;
    r->cancel = 1;
    if (o->kind == FTM_REQ_RECV) {
        if (r->link.next != NULL) { /* posted */
            ftm_match_unpost(&o->comm->match[o->collective], r);
            request_cancelled(e, r);
        }
    } else if (r->asked) {
        ftm_proc_tell(e, r->proc, FTM_WORD(FTM_WITHDRAW, 0, context, r->flight.number), NULL, 0);
    } else if (r->flight.wanted == 0) { /* in the queue */
        ftm_list_remove(&r->link);
        request_cancelled(e, r);
    }
}
