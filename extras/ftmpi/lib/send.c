/* send.c - sends: eager, or a rendezvous and then pieces; and the order in which they leave. */
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"
#include "pack.h"
#include "ring.h"

/* What leaves when. A send is eager if it is no longer than the limit and the receiver's budget
 * has room for it; else it asks, and goes when the receiver answers. Sends to one process leave in the
 * order in which they were started, since that is the order of matching: as soon as one cannot leave (no
 * room in Phoenix, too many that ask), all later ones wait behind it in p->queue. Pieces of what was
 * matched need no order and have a list of their own. */

/* Pieces of data that are no block are packed into memory of ours; so many of one message are there at
 * once. */
#define SEND_BOUNCES 4

struct send_bounce {
    struct ftm_list link;        /* in flight.bounces, once it has left */
    struct ftm_request *request; /* NULL: that was given up */
    struct ftm *engine;
    size_t size; /* of the data that follow */
};

/* The data as a block, or NULL: it has to be packed. */
static const char *send_block(const struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;

    if (r->bytes > 0 && !ftm_type_is_block(o->type, o->count))
        return NULL;
    return (const char *)((uintptr_t)o->buf + (uintptr_t)o->type->true_lb);
}

/* Packs all of a small message behind `head` bytes of e->scratch. */
static void send_pack(struct ftm *e, struct ftm_request *r, size_t head)
{
    struct ftm_pack pack;

    ftm_pack_start(&pack, r->order.type, r->order.buf, r->order.count);
    ftm_pack_out(&pack, e->scratch + head, (size_t)r->bytes);
    e->counters.copied += r->bytes;
}

static uint64_t send_tag(const struct ftm_request *r, uint32_t kind, uint32_t flags)
{
    uint32_t context = r->order.comm->context | (uint32_t)r->order.collective;

    return FTM_WORD(kind, flags, context, (uint32_t)r->order.tag);
}

static size_t send_charge(const struct ftm_request *r)
{
    return (size_t)r->bytes + FTM_EAGER_OVERHEAD;
}

static int send_has_room(const struct ftm *e, const struct ftm_proc *p, const struct ftm_request *r)
{
    size_t most = e->config.eager_limit;

    if (ftm_ring_is_on(p) && ftm_ring_most(p) < most)
        most = ftm_ring_most(p);
    return r->bytes <= most && p->credit >= send_charge(r);
}

static int send_eager(struct ftm *e, struct ftm_proc *p, struct ftm_request *r)
{
    const char *data = send_block(r);
    int err;

    if (data == NULL) {
        send_pack(e, r, 0);
        data = e->scratch;
    }
    err = ftm_proc_send(e, p->index, ftm_proc_from(e, r->order.comm->generation), send_tag(r, FTM_EAGER, 0),
                        data, (size_t)r->bytes, NULL, NULL);
    if (err != 0)
        return err;
    p->credit -= send_charge(r);
    ftm_request_done(e, r, 0);
    return 0;
}

/* A synchronous message that is small takes its data along. */
static int send_ask(struct ftm *e, struct ftm_proc *p, struct ftm_request *r)
{
    int with_data = r->order.mode == FTM_SYNCHRONOUS && send_has_room(e, p, r), number, err;
    size_t size = FTM_ASK_SIZE + (with_data ? (size_t)r->bytes : 0);
    struct ftm_ask ask;

    if (ftm_table_add(&e->flights, FTM_FLIGHT, r, &number) != 0)
        return PHX_ENOMEM;
    ask.bytes = r->bytes;
    ask.number = (uint32_t)number;
    ftm_flight_put_ask((unsigned char *)e->scratch, &ask);
    if (with_data)
        send_pack(e, r, FTM_ASK_SIZE);
    err = ftm_proc_send(e, p->index, ftm_proc_from(e, r->order.comm->generation),
                        send_tag(r, FTM_ASK, with_data ? FTM_FLAG_DATA : 0), e->scratch, size, NULL, NULL);
    if (err != 0) {
        ftm_table_remove(&e->flights, number, FTM_FLIGHT);
        return err;
    }
    r->flight.number = (uint32_t)number;
    r->asked = 1;
    p->asks++;
    if (with_data)
        p->credit -= send_charge(r);
    return 0;
}

/* 0: it has left, or asks. PHX_EAGAIN: it has to wait. Else an error. */
static int send_try(struct ftm *e, struct ftm_proc *p, struct ftm_request *r)
{
    if (r->order.mode != FTM_SYNCHRONOUS && send_has_room(e, p, r))
        return send_eager(e, p, r);
    return p->asks >= e->config.asks ? PHX_EAGAIN : send_ask(e, p, r);
}

int ftm_send_begin(struct ftm *e, struct ftm_request *r)
{
    struct ftm_proc *p = e->procs[r->proc];
    int err = ftm_list_is_empty(&p->queue) ? send_try(e, p, r) : PHX_EAGAIN;

    if (err == 0)
        return 0;
    if (err != PHX_EAGAIN)
        return MPI_ERR_INTERN;
    ftm_list_add(&p->queue, &r->link);
    ftm_proc_owe(e, p);
    return 0;
}

/* ---- Pieces ------------------------------------------------------------------------------------ */

static void send_check_end(struct ftm_request *r)
{
    if (r->flight.moved == r->flight.wanted && r->flight.unreleased == 0)
        ftm_request_done(r->engine, r, 0);
}

static void send_released(const void *data, size_t size, void *arg)
{
    struct ftm_request *r = arg;

    (void)data;
    (void)size;
    r->engine->counters.arrived++;
    r->flight.unreleased--;
    send_check_end(r);
}

static void send_bounced(const void *data, size_t size, void *arg)
{
    struct send_bounce *b = arg;
    struct ftm_request *r = b->request;

    ftm_list_remove(&b->link);
    ftm_mem_free(&b->engine->mem, b, sizeof *b + b->size);
    if (r == NULL)
        return;
    if (!ftm_list_is_empty(&r->engine->procs[r->proc]->parts))
        ftm_proc_owe(r->engine, r->engine->procs[r->proc]);
    send_released(data, size, r);
}

/* Packs the next piece, unless it was packed before and could not leave. */
static struct send_bounce *send_bounce(struct ftm *e, struct ftm_request *r, size_t size)
{
    struct send_bounce *b = r->flight.bounce;

    if (b != NULL)
        return b;
    b = ftm_mem_resize(&e->mem, NULL, 0, sizeof *b + size);
    if (b == NULL)
        return NULL;
    memset(b, 0, sizeof *b);
    b->request = r;
    b->engine = e;
    b->size = size;
    ftm_pack_out(r->flight.pack, b + 1, size);
    e->counters.copied += size;
    return r->flight.bounce = b;
}

typedef int send_way(struct ftm *e, int proc, uint64_t from, uint64_t tag, const void *data, size_t size,
                     void (*release)(const void *data, size_t size, void *arg), void *arg);

/* All pieces of a message go the same way, also the last, which may be small. */
static send_way *send_owned(uint32_t piece)
{
    return piece > FTM_RING_PIECE ? ftm_proc_send_large : ftm_proc_send;
}

static int send_part_packed(struct ftm *e, struct ftm_request *r, uint64_t tag, size_t size)
{
    struct send_bounce *b;
    int err;

    if (ftm_proc_is_blocked(e->procs[r->proc]) || r->flight.unreleased >= SEND_BOUNCES)
        return PHX_EAGAIN;
    b = send_bounce(e, r, size);
    if (b == NULL)
        return PHX_ENOMEM;
    err = send_owned(r->flight.piece)(e, r->proc, ftm_proc_from(e, 0), tag, b + 1, size, send_bounced, b);
    if (err == FTM_COPIED)
        ftm_send_forget(e, r);
    if (err == 0) {
        r->flight.bounce = NULL;
        ftm_list_add(&r->flight.bounces, &b->link);
    }
    return err;
}

void ftm_send_forget(struct ftm *e, struct ftm_request *r)
{
    struct send_bounce *b = r->flight.bounce;

    if (b != NULL)
        ftm_mem_free(&e->mem, b, sizeof *b + b->size);
    r->flight.bounce = NULL;
}

static int send_part(struct ftm *e, struct ftm_request *r)
{
    struct ftm_flight *f = &r->flight;
    uint64_t left = f->wanted - f->moved;
    size_t size = left < f->piece ? (size_t)left : f->piece;
    uint64_t tag = FTM_WORD(FTM_PART, 0, f->moved / f->piece, f->partner);
    int err;

    if (f->pack != NULL)
        err = send_part_packed(e, r, tag, size);
    else
        err = send_owned(f->piece)(e, r->proc, ftm_proc_from(e, 0), tag, send_block(r) + f->moved, size,
                                   send_released, r);
    if (err == PHX_OK || err == FTM_COPIED)
        f->moved += size;
    f->unreleased += err == PHX_OK;
    return err < 0 ? err : 0;
}

/* As many pieces as may leave. The request is in p->parts until all have. */
static void send_parts(struct ftm *e, struct ftm_request *r)
{
    int err = 0;

    while (err == 0 && r->flight.moved < r->flight.wanted)
        err = send_part(e, r);
    if (err == 0) {
        ftm_list_remove(&r->link);
        send_check_end(r);
    } else if (err != PHX_EAGAIN) {
        ftm_end(e, 1, "rank %d: cannot send %lu bytes to rank %d: %s", e->config.rank,
                (unsigned long)r->bytes, e->procs[r->proc]->seat, phx_strerror(err));
    }
}

void ftm_send_continue(struct ftm *e, struct ftm_proc *p)
{
    struct ftm_list *link, *next;
    struct ftm_request *r;
    int err = 0;

    for (link = p->parts.next; link != &p->parts && !ftm_proc_is_blocked(p); link = next) {
        next = link->next;
        send_parts(e, FTM_LIST_OF(link, struct ftm_request, link));
    }
    while (err == 0 && !ftm_proc_is_blocked(p) && !ftm_list_is_empty(&p->queue)) {
        r = FTM_LIST_OF(p->queue.next, struct ftm_request, link);
        ftm_list_remove(&r->link);
        err = send_try(e, p, r);
        if (err == PHX_EAGAIN) { /* first again */
            r->link.next = p->queue.next;
            r->link.prev = &p->queue;
            p->queue.next->prev = &r->link;
            p->queue.next = &r->link;
        } else if (err != 0) {
            ftm_request_done(e, r, MPI_ERR_INTERN);
        }
    }
}

static void send_answered(struct ftm *e, struct ftm_proc *p, struct ftm_request *r)
{
    ftm_table_remove(&e->flights, (int)r->flight.number, FTM_FLIGHT);
    r->flight.number = 0;
    r->asked = 0;
    p->asks--;
    if (!ftm_list_is_empty(&p->queue))
        ftm_proc_owe(e, p);
}

/* Each piece that Phoenix holds of the program's memory was lent by itself. */
static void send_take_back(struct ftm *e, struct ftm_request *r)
{
    struct ftm_flight *f = &r->flight;
    struct ftm_list *link;
    uint64_t at;

    ftm_proc_take_back(e, r);
    for (at = 0; f->pack == NULL && f->unreleased > 0 && at < f->moved; at += f->piece)
        ftm_proc_reclaim(e, send_block(r) + at, r);
    while (f->pack != NULL && (link = ftm_list_take(&f->bounces)) != NULL)
        FTM_LIST_OF(link, struct send_bounce, link)->request = NULL;
    f->unreleased = 0;
}

void ftm_send_give_up(struct ftm *e, struct ftm_request *r)
{
    struct ftm_proc *p = e->procs[r->proc];

    ftm_list_remove(&r->link);
    if (r->asked)
        send_answered(e, p, r);
    send_take_back(e, r);
}

/* ---- What the receiver says -------------------------------------------------------------------- */

static struct ftm_request *send_find(struct ftm *e, const struct ftm_arrival *a, uint32_t number)
{
    struct ftm_request *r = number > FTM_TAG_MAX ? NULL : ftm_table_get(&e->flights, (int)number, FTM_FLIGHT);

    if (r == NULL || r->order.kind != FTM_REQ_SEND || r->proc != a->proc->index || !r->asked)
        return NULL;
    return r;
}

int ftm_send_go(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_request *r;
    struct ftm_go go;

    if (ftm_flight_get_go(&go, a->data, a->size) != 0)
        return -1;
    r = send_find(e, a, go.send);
    if (r == NULL && e->fault.given_up > 0)
        return 0;
    if (r == NULL || go.wanted > r->bytes || (go.wanted > 0 && go.receive > FTM_TAG_MAX))
        return -1;
    send_answered(e, a->proc, r);
    if (go.wanted == 0) {
        ftm_request_done(e, r, 0);
        return 0;
    }
    if ((go.wanted - 1) / go.piece > FTM_CONTEXT_MAX)
        return -1;
    r->flight.partner = go.receive;
    r->flight.wanted = go.wanted;
    e->flying += r->flight.wanted;
    r->flight.piece = go.piece;
    if (send_block(r) == NULL) {
        r->flight.pack = ftm_mem_resize(&e->mem, NULL, 0, sizeof *r->flight.pack);
        if (r->flight.pack == NULL) {
            ftm_end(e, 1, "rank %d: no memory to send %lu bytes", e->config.rank, (unsigned long)r->bytes);
            return 0;
        }
        ftm_pack_start(r->flight.pack, r->order.type, r->order.buf, r->order.count);
        ftm_list_init(&r->flight.bounces);
    }
    ftm_list_add(&a->proc->parts, &r->link);
    ftm_proc_owe(e, a->proc);
    send_parts(e, r);
    return 0;
}

int ftm_send_credit(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_proc *p = a->proc;
    uint64_t bytes = (uint64_t)FTM_TAG(a->tag) << 10;

    if (a->size != 0 || bytes > e->config.eager_budget - p->credit)
        return -1;
    p->credit += (size_t)bytes;
    if (!ftm_list_is_empty(&p->queue))
        ftm_proc_owe(e, p);
    return 0;
}

/* The answer to a request that was matched meanwhile comes late: GO was before it. */
int ftm_send_withdrawn(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_request *r = send_find(e, a, FTM_TAG(a->tag));

    if (a->size != 0)
        return -1;
    if (r == NULL || !r->cancel || (FTM_FLAGS(a->tag) & FTM_FLAG_YES) == 0)
        return 0;
    send_answered(e, a->proc, r);
    r->status.cancelled = 1;
    ftm_request_done(e, r, 0);
    return 0;
}
