/* recv.c - receives: what waits is taken, what comes is matched, pieces go to their places. */
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"
#include "pack.h"
#include "ring.h"

/* What may be matched: a message that has just come, or one that waited. */
struct recv_message {
    int proc;
    uint32_t tag;
    int ask;
    uint32_t number;
    uint64_t bytes;
    const void *data; /* size of them; none of a rendezvous whose data come later */
    size_t size;
};

static const char *recv_item_data(const struct ftm_item *item)
{
    return (const char *)(item + 1);
}

static char *recv_block(const struct ftm_request *r)
{
    const struct ftm_order *o = &r->order;

    if (!ftm_type_is_block(o->type, o->count))
        return NULL;
    return (char *)((uintptr_t)o->buf + (uintptr_t)o->type->true_lb);
}

/* ---- What the sender is told ------------------------------------------------------------------- */

/* An eager message was taken. The sender hears of it when a quarter of its budget has come together. */
static void recv_credit(struct ftm *e, int proc, size_t charged)
{
    struct ftm_proc *p = e->procs[proc];

    p->taken += charged;
    if (p->taken < e->config.eager_budget / 4 || p->taken < 1024)
        return;
    ftm_proc_tell(e, proc, FTM_WORD(FTM_CREDIT, 0, 0, p->taken >> 10), NULL, 0);
    p->taken &= 1023;
}

/* Through a ring data come in small pieces, so that both sides copy at the same time. */
static uint32_t recv_piece(const struct ftm *e, int proc)
{
    size_t piece = e->config.piece;

    return (uint32_t)(ftm_ring_comes(e->procs[proc]) && piece > FTM_RING_PIECE ? FTM_RING_PIECE : piece);
}

static void recv_go(struct ftm *e, const struct recv_message *m, uint32_t receive, uint64_t wanted)
{
    unsigned char bytes[FTM_GO_SIZE];
    struct ftm_go go;

    go.send = m->number;
    go.receive = receive;
    go.wanted = wanted;
    go.piece = recv_piece(e, m->proc);
    ftm_flight_put_go(bytes, &go);
    ftm_proc_tell(e, m->proc, FTM_WORD(FTM_GO, 0, 0, 0), bytes, sizeof bytes);
}

/* ---- A receive gets its message ---------------------------------------------------------------- */

static void recv_copy(struct ftm *e, struct ftm_request *r, const void *data, size_t size)
{
    char *block = recv_block(r);
    struct ftm_pack pack;

    if (size == 0)
        return;
    if (block != NULL) {
        memcpy(block, data, size);
    } else {
        ftm_pack_start(&pack, r->order.type, r->order.buf, r->order.count);
        ftm_pack_in(&pack, data, size);
    }
    e->counters.copied += size;
}

static void recv_note(struct ftm_request *r, const struct recv_message *m)
{
    struct ftm_comm *comm = r->order.comm;

    r->status.source = r->proc >= 0 ? r->order.peer : ftm_group_rank_of(ftm_comm_peers(comm), m->proc);
    r->status.tag = (int)m->tag;
    r->status.bytes = m->bytes < r->bytes ? m->bytes : r->bytes;
    r->error = m->bytes > r->bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    r->flight.from = m->proc;
}

/* The data come in pieces. 0, or -1: no memory. */
static int recv_fly(struct ftm *e, struct ftm_request *r, const struct recv_message *m)
{
    int number;

    if (recv_block(r) == NULL) {
        r->flight.pack = ftm_mem_resize(&e->mem, NULL, 0, sizeof *r->flight.pack);
        if (r->flight.pack == NULL)
            return -1;
        ftm_pack_start(r->flight.pack, r->order.type, r->order.buf, r->order.count);
    }
    if (ftm_table_add(&e->flights, FTM_FLIGHT, r, &number) != 0)
        return -1;
    r->flight.number = (uint32_t)number;
    r->flight.wanted = r->status.bytes;
    e->flying += r->flight.wanted;
    r->flight.moved = 0;
    r->flight.piece = recv_piece(e, m->proc);
    recv_go(e, m, r->flight.number, r->flight.wanted);
    return 0;
}

static void recv_matched(struct ftm *e, struct ftm_request *r, const struct recv_message *m)
{
    int whole = m->size == m->bytes;

    recv_note(r, m);
    if (whole)
        recv_copy(e, r, m->data, (size_t)r->status.bytes);
    if (!whole && r->status.bytes > 0) {
        if (recv_fly(e, r, m) != 0)
            ftm_end(e, 1, "rank %d: no memory to receive %lu bytes from rank %d", e->config.rank,
                    (unsigned long)m->bytes, e->procs[m->proc]->seat);
        return;
    }
    if (m->ask)
        recv_go(e, m, 0, 0);
    ftm_request_done(e, r, r->error);
}

static void recv_free_item(struct ftm *e, struct ftm_item *item)
{
    e->counters.waiting -= sizeof *item + item->size;
    if (item->charged > 0)
        recv_credit(e, item->proc, item->charged);
    ftm_mem_free(&e->mem, item, sizeof *item + item->size);
}

void ftm_recv_drop(struct ftm *e, struct ftm_item *item)
{
    recv_free_item(e, item);
}

static void recv_of_item(struct recv_message *m, const struct ftm_item *item)
{
    m->proc = item->proc;
    m->tag = item->tag;
    m->ask = item->ask;
    m->number = item->number;
    m->bytes = item->bytes;
    m->data = recv_item_data(item);
    m->size = item->size;
}

int ftm_recv_begin(struct ftm *e, struct ftm_request *r)
{
    struct ftm_match *match = &r->order.comm->match[r->order.collective];
    struct ftm_item *item = ftm_match_look(match, r->proc, r->order.tag);
    struct recv_message m;

    if (item == NULL)
        return ftm_match_post(e, match, r) == 0 ? 0 : MPI_ERR_INTERN;
    ftm_match_unkeep(match, item);
    recv_of_item(&m, item);
    recv_matched(e, r, &m);
    recv_free_item(e, item);
    return 0;
}

int ftm_recv_probe(struct ftm *e, struct ftm_comm *comm, int source, int tag, struct ftm_status *status)
{
    struct ftm_group *peers = ftm_comm_peers(comm);
    int proc = source == MPI_ANY_SOURCE ? -1 : peers->proc[source];
    struct ftm_item *item = proc == FTM_GAP ? NULL : ftm_match_look(&comm->match[0], proc, tag);

    (void)e;
    if (item == NULL)
        return 0;
    memset(status, 0, sizeof *status);
    status->source = ftm_group_rank_of(peers, item->proc);
    status->tag = (int)item->tag;
    status->bytes = item->bytes;
    return 1;
}

/* ---- Something comes --------------------------------------------------------------------------- */

/* Nobody wants it yet: kept with its data, in the lists of its context or, without one, with the early
 * ones. */
static int recv_keep(struct ftm *e, struct ftm_match *match, const struct ftm_arrival *a,
                     const struct recv_message *m, size_t charged)
{
    struct ftm_item *item = ftm_mem_resize(&e->mem, NULL, 0, sizeof *item + m->size);

    if (item == NULL)
        return -1;
    memset(item, 0, sizeof *item);
    item->generation = FTM_FROM_GENERATION(a->from);
    item->context = FTM_CONTEXT(a->tag);
    item->tag = m->tag;
    item->proc = m->proc;
    item->ask = m->ask;
    item->number = m->number;
    item->bytes = m->bytes;
    item->size = m->size;
    item->charged = charged;
    if (m->size > 0)
        memcpy(item + 1, m->data, m->size);
    e->counters.copied += m->size;
    e->counters.waiting += sizeof *item + m->size;
    if (e->counters.waiting > e->counters.waiting_peak)
        e->counters.waiting_peak = e->counters.waiting;
    if (match == NULL) {
        ftm_list_add(&e->contexts.early, &item->bin);
    } else if (ftm_match_keep(e, match, item) != 0) {
        e->counters.waiting -= sizeof *item + item->size;
        ftm_mem_free(&e->mem, item, sizeof *item + item->size);
        return -1;
    }
    return 0;
}

/* What becomes of a message of another generation than the communicator has here. */
enum recv_age { RECV_NOW, RECV_EARLY, RECV_OVER };

static enum recv_age recv_age_of(const struct ftm_match *match, uint32_t generation)
{
    const struct ftm_comm *c = match->comm;

    if (generation > c->generation)
        return RECV_EARLY;
    return (match->context & 1) == 0 && ftm_fault_goes_on(c) ? RECV_NOW : RECV_OVER;
}

/* A message of a context or a generation that is over is nobody's. */
static void recv_arrived(struct ftm *e, const struct ftm_arrival *a, const struct recv_message *m,
                         size_t charged)
{
    uint32_t context = FTM_CONTEXT(a->tag), generation = FTM_FROM_GENERATION(a->from);
    struct ftm_match *match = ftm_match_heard(e, context);
    enum recv_age age = match == NULL ? (ftm_match_is_over(e, context) ? RECV_OVER : RECV_EARLY) : RECV_NOW;
    struct ftm_request *r;

    if (match != NULL && match->context != context) /* of a communicator that this one has followed */
        generation = 0;
    if (match != NULL && generation != match->comm->generation)
        age = recv_age_of(match, generation);
    r = age == RECV_NOW ? ftm_match_arrived(match, m->proc, m->tag) : NULL;
    if (r != NULL)
        recv_matched(e, r, m);
    else if (age != RECV_OVER && recv_keep(e, age == RECV_NOW ? match : NULL, a, m, charged) != 0)
        ftm_end(e, 1, "rank %d: no memory for a message of %lu bytes from rank %d", e->config.rank,
                (unsigned long)m->bytes, e->procs[m->proc]->seat);
    else if (age != RECV_OVER)
        return; /* it is charged as long as it waits */
    if (charged > 0)
        recv_credit(e, m->proc, charged);
}

int ftm_recv_eager(struct ftm *e, const struct ftm_arrival *a)
{
    struct recv_message m;

    memset(&m, 0, sizeof m);
    m.proc = a->proc->index;
    m.tag = FTM_TAG(a->tag);
    m.bytes = m.size = a->size;
    m.data = a->data;
    recv_arrived(e, a, &m, a->size + FTM_EAGER_OVERHEAD);
    return 0;
}

int ftm_recv_ask(struct ftm *e, const struct ftm_arrival *a)
{
    int with_data = (FTM_FLAGS(a->tag) & FTM_FLAG_DATA) != 0;
    struct recv_message m;
    struct ftm_ask ask;

    memset(&m, 0, sizeof m);
    if (ftm_flight_get_ask(&ask, a->data, a->size) != 0)
        return -1;
    m.size = a->size - FTM_ASK_SIZE;
    if (m.size != (with_data ? ask.bytes : 0))
        return -1;
    m.proc = a->proc->index;
    m.tag = FTM_TAG(a->tag);
    m.ask = 1;
    m.number = ask.number;
    m.bytes = ask.bytes;
    m.data = (const char *)a->data + FTM_ASK_SIZE;
    recv_arrived(e, a, &m, with_data ? m.size + FTM_EAGER_OVERHEAD : 0);
    return 0;
}

/* One that waited elsewhere gets to a context, where a receive may wait for it. */
static void recv_offer(struct ftm *e, struct ftm_match *match, struct ftm_item *item)
{
    struct ftm_request *r = ftm_match_arrived(match, item->proc, item->tag);
    struct recv_message m;

    if (r != NULL) {
        recv_of_item(&m, item);
        recv_matched(e, r, &m);
    } else if (ftm_match_keep(e, match, item) == 0) {
        return;
    } else {
        ftm_end(e, 1, "rank %d: no memory for messages that came early", e->config.rank);
    }
    recv_free_item(e, item);
}

void ftm_recv_early(struct ftm *e, struct ftm_match *match)
{
    struct ftm_list *link, *next;

    for (link = e->contexts.early.next; link != &e->contexts.early; link = next) {
        struct ftm_item *item = FTM_LIST_OF(link, struct ftm_item, bin);

        next = link->next;
        if (item->context != match->context || item->generation > match->comm->generation)
            continue;
        ftm_list_remove(link);
        recv_offer(e, match, item);
    }
}

void ftm_recv_lift(struct ftm *e, struct ftm_comm *comm, struct ftm_list *lifted)
{
    struct ftm_list *link;

    ftm_list_init(lifted);
    for (link = e->requests.next; link != &e->requests; link = link->next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, all);

        if (r->done || r->order.comm != comm || r->order.kind != FTM_REQ_RECV || r->link.next == NULL)
            continue;
        ftm_match_unpost(&comm->match[0], r);
        ftm_list_add(lifted, &r->link);
    }
}

void ftm_recv_merge(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to, struct ftm_list *lifted)
{
    struct ftm_list *all = &from->match[0].all, *link;

    while (!ftm_list_is_empty(all)) {
        struct ftm_item *item = FTM_LIST_OF(all->next, struct ftm_item, all);

        ftm_match_unkeep(&from->match[0], item);
        recv_offer(e, &to->match[0], item);
    }
    while ((link = ftm_list_take(lifted)) != NULL)
        if (ftm_recv_begin(e, FTM_LIST_OF(link, struct ftm_request, link)) != 0)
            ftm_end(e, 1, "rank %d: no memory for a receive", e->config.rank);
}

/* ---- Pieces ------------------------------------------------------------------------------------ */

static struct ftm_request *recv_find(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_request *r = ftm_table_get(&e->flights, (int)FTM_TAG(a->tag), FTM_FLIGHT);

    return r == NULL || r->order.kind != FTM_REQ_RECV || r->flight.from != a->proc->index ? NULL : r;
}

/* Whether piece number FTM_CONTEXT of that size may come for this receive. */
static int recv_is_piece(const struct ftm_request *r, const struct ftm_arrival *a, uint64_t *offset)
{
    const struct ftm_flight *f = &r->flight;

    *offset = (uint64_t)FTM_CONTEXT(a->tag) * f->piece;
    return *offset < f->wanted
        && a->size == (f->wanted - *offset < f->piece ? f->wanted - *offset : f->piece);
}

void *ftm_recv_place(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_request *r = recv_find(e, a);
    uint64_t offset;

    if (r == NULL || r->flight.pack != NULL || !recv_is_piece(r, a, &offset) || offset < r->flight.moved)
        return NULL;
    return recv_block(r) + offset;
}

int ftm_recv_part(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_request *r = recv_find(e, a);
    uint64_t offset;
    char *place;

    if (r == NULL && e->fault.given_up > 0)
        return 0;
    if (r == NULL || !recv_is_piece(r, a, &offset) || offset != r->flight.moved)
        return -1;
    place = r->flight.pack != NULL ? NULL : recv_block(r) + offset;
    if (place == NULL)
        ftm_pack_in(r->flight.pack, a->data, a->size);
    else if (place != a->data)
        memcpy(place, a->data, a->size);
    if (place != a->data)
        e->counters.copied += a->size;
    r->flight.moved += a->size;
    if (r->flight.moved < r->flight.wanted)
        return 0;
    ftm_table_remove(&e->flights, (int)r->flight.number, FTM_FLIGHT);
    r->flight.number = 0;
    /* The sender's call ends with the acknowledgement, unless its data were copied into a ring. */
    e->awaited |= a->proc->index != e->self_proc && r->flight.piece > FTM_RING_PIECE;
    ftm_request_done(e, r, r->error);
    return 0;
}

/* ---- What was given up ------------------------------------------------------------------------- */

/* A piece of which Phoenix has read a part lies in the program's memory; which one only Phoenix knows. */
static void recv_take_back(struct ftm *e, struct ftm_request *r)
{
    const struct ftm_flight *f = &r->flight;
    uint64_t at;

    for (at = f->moved; f->pack == NULL && at < f->wanted; at += f->piece)
        ftm_proc_reclaim(e, recv_block(r) + at, NULL);
}

void ftm_recv_give_up(struct ftm *e, struct ftm_request *r)
{
    if (r->link.next != NULL)
        ftm_match_unpost(&r->order.comm->match[r->order.collective], r);
    if (r->flight.number == 0)
        return;
    ftm_table_remove(&e->flights, (int)r->flight.number, FTM_FLIGHT);
    r->flight.number = 0;
    recv_take_back(e, r);
}

void ftm_recv_forget(struct ftm *e, struct ftm_match *m, int proc, int all)
{
    struct ftm_list *link, *next;

    for (link = m->all.next; link != &m->all; link = next) {
        struct ftm_item *item = FTM_LIST_OF(link, struct ftm_item, all);

        next = link->next;
        if (item->proc != proc || (!all && item->size == item->bytes))
            continue;
        ftm_match_unkeep(m, item);
        recv_free_item(e, item);
    }
}

/* Tags count up, modulo what a tag can be. */
void ftm_recv_forget_calls(struct ftm *e, struct ftm_match *m, uint32_t before)
{
    struct ftm_list *link, *next;

    for (link = m->all.next; link != &m->all; link = next) {
        struct ftm_item *item = FTM_LIST_OF(link, struct ftm_item, all);
        uint32_t behind = (before - item->tag) & FTM_TAG_MAX;

        next = link->next;
        if (behind == 0 || behind > FTM_TAG_MAX / 2)
            continue;
        ftm_match_unkeep(m, item);
        recv_free_item(e, item);
    }
}

/* ---- MPI_Cancel of a send ---------------------------------------------------------------------- */

static struct ftm_item *recv_find_ask(struct ftm_list *head, const struct ftm_arrival *a)
{
    struct ftm_list *link;

    for (link = head->next; link != head; link = link->next) {
        struct ftm_item *item = FTM_LIST_OF(link, struct ftm_item, bin);

        if (item->ask && item->proc == a->proc->index && (item->number & FTM_TAG_MAX) == FTM_TAG(a->tag))
            return item;
    }
    return NULL;
}

/* The sender's number is in the tag. It is given back unless it was matched. */
int ftm_recv_withdraw(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_match *match = ftm_match_heard(e, FTM_CONTEXT(a->tag));
    struct ftm_item *item = NULL;
    uint32_t flags = FTM_FLAG_ANSWER;

    if (a->size != 0)
        return -1;
    if (match == NULL)
        item = recv_find_ask(&e->contexts.early, a);
    else if (match->bins_count > 0)
        item = recv_find_ask(&match->bins[(size_t)a->proc->index & (match->bins_count - 1)].unexpected, a);
    if (item != NULL) {
        flags |= FTM_FLAG_YES;
        if (match != NULL)
            ftm_match_unkeep(match, item);
        else
            ftm_list_remove(&item->bin);
        recv_free_item(e, item);
    }
    ftm_proc_tell(e, a->proc->index, FTM_WORD(FTM_WITHDRAW, flags, 0, FTM_TAG(a->tag)), NULL, 0);
    return 0;
}
