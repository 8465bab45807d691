/* nlap.c - what programs of nla.h say on NLA_FD: operations, messages, keys; format in WIRE.md. */

/* Requests carry numbers, and several may be under way: the client is always read on. Messages for a rank
 * wait here until its program takes them: at most WINDOW bytes are given to it ahead (one message may be
 * larger), and QUEUE_MOST bytes are kept. */
#include "codec.h"
#include "nlap.h"
#include "phoenix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MOST ((size_t)64 << 20)

/* ---- Frames out -------------------------------------------------------------------------------- */

static void put32(unsigned char *to, uint32_t n)
{
    int i;

    for (i = 0; i < 4; i++)
        to[i] = (unsigned char)(n >> (8 * i));
}

static void put64(unsigned char *to, uint64_t n)
{
    put32(to, (uint32_t)n);
    put32(to + 4, (uint32_t)(n >> 32));
}

static uint32_t get32(const unsigned char *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint64_t get64(const unsigned char *from)
{
    return get32(from) | (uint64_t)get32(from + 4) << 32;
}

/* A frame of a head and data: in one piece if it is small. */
static void send_frame(struct la_engine *e, struct la_client *c, unsigned char *head, size_t head_size,
                       const void *data, size_t size)
{
    unsigned char small[512];

    put32(head, (uint32_t)(head_size - 4 + size));
    if (head_size + size > sizeof small) {
        la_engine_reply(e, c, head, head_size);
        la_engine_reply(e, c, data, size);
        return;
    }
    memcpy(small, head, head_size);
    if (size > 0)
        memcpy(small + head_size, data, size);
    la_engine_reply(e, c, small, head_size + size);
}

static void say_done(struct la_engine *e, struct la_client *c, uint32_t request, int error, const void *data,
                     size_t size)
{
    unsigned char head[NLAP_DONE_HEAD];

    head[4] = NLAP_DONE;
    put32(head + 5, request);
    put32(head + 9, (uint32_t)error);
    send_frame(e, c, head, sizeof head, data, size);
}

static void say_hello(struct la_engine *e, struct la_client *c)
{
    unsigned char head[NLAP_HELLO_HEAD];

    head[4] = NLAP_HELLO;
    put32(head + 5, c->rank->rank);
    put32(head + 9, e->job->size);
    send_frame(e, c, head, sizeof head, NULL, 0);
}

/* ---- Messages ---------------------------------------------------------------------------------- */

static void push_one(struct la_engine *e, struct la_client *c, const struct la_message *m)
{
    unsigned char head[NLAP_MESSAGE_HEAD];

    head[4] = NLAP_MESSAGE;
    put32(head + 5, m->from);
    put64(head + 9, m->tag);
    c->pushed += m->size + NLAP_MESSAGE_COST;
    send_frame(e, c, head, sizeof head, m->data, m->size);
}

/* Gives the client of the rank what waits for it, as far as the window goes. */
static void push(struct la_engine *e, struct la_rank *r)
{
    struct la_client *c = r->nla_client == LA_NONE ? NULL : e->clients[r->nla_client];
    struct la_message *m;

    while (c != NULL && !c->broken && !c->closed && (m = r->first) != NULL) {
        if (c->pushed > 0 && c->pushed + m->size + NLAP_MESSAGE_COST > NLAP_WINDOW)
            break;
        r->first = m->next;
        r->waiting_bytes -= m->size + sizeof *m;
        push_one(e, c, m);
        free(m);
    }
}

static int too_many(struct la_engine *e, struct la_rank *r)
{
    static const char text[] = "NLA: it does not receive, and more than 64 MiB of messages wait for it";

    if (r->nla_client != LA_NONE)
        la_engine_garbage(e, e->clients[r->nla_client], "%s", text);
    else
        e->ops.complain(e->ops.ctx, r->rank, text);
    return PHX_ELIMIT;
}

static int queue_message(struct la_engine *e, struct la_rank *r, uint32_t from, uint64_t tag,
                         const void *data,
                         size_t size)
{
    struct la_message *m;

    if (size > QUEUE_MOST || r->waiting_bytes > QUEUE_MOST - size)
        return too_many(e, r);
    m = malloc(sizeof *m + size);
    if (m == NULL)
        return PHX_ENOMEM;
    m->next = NULL;
    m->from = from;
    m->tag = tag;
    m->size = size;
    if (size > 0)
        memcpy(m->data, data, size);
    if (r->first == NULL)
        r->first = m;
    else
        r->last->next = m;
    r->last = m;
    r->waiting_bytes += size + sizeof *m;
    push(e, r);
    return 0;
}

int la_engine_message(struct la_engine *e, uint32_t from, uint32_t to, uint64_t tag, const void *data,
                      size_t size)
{
    struct la_rank *r = la_engine_rank(e, to);
    int err;

    if (r == NULL)
        return PHX_EINVAL;
    if (r->gone || r->finalized)
        return PHX_EFAILED;
    la_engine_begin(e);
    err = queue_message(e, r, from, tag, data, size);
    la_engine_end(e);
    return err;
}

/* ---- Requests ---------------------------------------------------------------------------------- */

static void number_mark(char mark[LA_MARK], uint32_t request)
{
    snprintf(mark, LA_MARK, "%u", request);
}

static uint32_t mark_number(const char *mark)
{
    return (uint32_t)strtoul(mark, NULL, 10);
}

/* The bytes that this rank brings; UINT64_MAX: there is no such operation. */
static uint64_t bytes_of(const struct la_engine *e, const struct la_client *c, const struct la_coll *o)
{
    uint64_t all = o->size * e->job->size;
    int is_root = o->root == c->rank->rank;

    switch (o->kind) {
    case LA_BARRIER: return 0;
    case LA_BROADCAST: return is_root ? o->size : 0;
    case LA_GATHER:
    case LA_ALLGATHER: return o->size;
    case LA_SCATTER: return is_root ? all : 0;
    case LA_ALLTOALL: return all;
    default: return UINT64_MAX;
    }
}

static int check_collective(const struct la_engine *e, const struct la_client *c, const struct la_coll *o,
                            size_t size)
{
    int rootless = o->kind == LA_BARRIER || o->kind == LA_ALLGATHER || o->kind == LA_ALLTOALL;

    if (o->size > NLAP_DATA_MOST || o->size * e->job->size > NLAP_DATA_MOST || (o->kind == LA_BARRIER
                                                                                && o->size != 0))
        return PHX_ETOOBIG;
    if (o->root >= e->job->size || (rootless && o->root != 0))
        return PHX_EINVAL;
    return bytes_of(e, c, o) == size ? 0 : PHX_EPROTO;
}

/* 1: it is answered or under way; 0: it must wait, since the rank is in an operation over another stream. */
static int do_collective(struct la_engine *e, struct la_client *c, uint32_t request,
                         const unsigned char *data,
                         size_t size)
{
    struct la_coll o;
    int err;

    memset(&o, 0, sizeof o);
    o.kind = get32(data);
    o.root = get32(data + 4);
    o.size = get64(data + 8);
    err = check_collective(e, c, &o, size - 16);
    if (err == PHX_EPROTO) {
        la_engine_garbage(e, c, "NLA: operation %u with %zu bytes", o.kind, size - 16);
        return 1;
    }
    if (err == 0 && c->rank->in && c->rank->in_client != c->number) {
        c->wait = LA_WAIT_OPERATION;
        return 0;
    }
    if (err == 0 && c->rank->in)
        err = PHX_EAGAIN;
    if (err == 0) {
        number_mark(c->mark, request);
        err = la_engine_enter(e, c, o.kind, o.root, o.size, data + 16, size - 16);
    }
    if (err != 0)
        say_done(e, c, request, err == PHX_EFAILED ? PHX_EINVAL : err, NULL, 0);
    return 1;
}

/* To a rank of this host directly, else through the agent. */
static void do_send(struct la_engine *e, struct la_client *c, uint32_t request, const unsigned char *data,
                    size_t size)
{
    uint32_t to = get32(data);
    uint64_t tag = get64(data + 4), token;
    char mark[LA_MARK];
    int err = to >= e->job->size ? PHX_EINVAL : size - 12 > NLAP_SEND_MOST ? PHX_ETOOBIG : 0;

    if (err == 0 && la_engine_rank(e, to) == NULL) {
        number_mark(mark, request);
        err = la_engine_pend(e, c, LA_ASKED_SEND, mark, NULL, &token);
        if (err == 0) {
            e->ops.send(e->ops.ctx, c->rank->rank, to, tag, data + 12, size - 12, token);
            return;
        }
    }
    if (err == 0)
        err = la_engine_message(e, c->rank->rank, to, tag, data + 12, size - 12);
    say_done(e, c, request, err, NULL, 0);
}

static void do_put(struct la_engine *e, struct la_client *c, uint32_t request, const char *text, size_t size)
{
    const char *nul = memchr(text, 0, size), *value = nul == NULL ? NULL : nul + 1;
    int err;

    if (nul == NULL || memchr(value, 0, size - (size_t)(value - text)) != text + size - 1) {
        la_engine_garbage(e, c, "NLA: a key without a value");
        return;
    }
    err = la_engine_put(e, text, value, 1);
    say_done(e, c, request, err, NULL, 0);
}

static void do_get(struct la_engine *e, struct la_client *c, uint32_t request, const char *key, size_t size)
{
    char mark[LA_MARK];
    const char *value;
    int ask, err = 0;

    if (memchr(key, 0, size) != key + size - 1) {
        la_engine_garbage(e, c, "NLA: a key without an end");
        return;
    }
    value = la_engine_key(e, key, size > 1 && size <= LA_STORE_KEY, &ask);
    if (ask) {
        number_mark(mark, request);
        err = la_engine_ask(e, c, mark, key);
        if (err == 0)
            return;
    }
    say_done(e, c, request, err != 0 ? err : value == NULL ? PHX_ENOTFOUND : 0, value,
             value == NULL ? 0 : strlen(value));
}

static void do_taken(struct la_engine *e, struct la_client *c, uint64_t bytes)
{
    c->pushed = bytes < c->pushed ? c->pushed - (size_t)bytes : 0;
    push(e, c->rank);
}

/* ---- The codec --------------------------------------------------------------------------------- */

static size_t least_of(unsigned type)
{
    switch (type) {
    case NLAP_COLLECTIVE: return 20;
    case NLAP_SEND: return 16;
    case NLAP_PUT:
    case NLAP_GET: return 5;
    case NLAP_TAKEN: return 8;
    default: return 0;
    }
}

/* 1: taken; 0: it must wait. */
static int obey(struct la_engine *e, struct la_client *c, unsigned type, const unsigned char *data,
                size_t size)
{
    uint32_t request = size < 4 ? 0 : get32(data);

    if (size < least_of(type)) {
        la_engine_garbage(e, c, "NLA: a request %u of %zu bytes", type, size);
        return 1;
    }
    switch (type) {
    case NLAP_COLLECTIVE: return do_collective(e, c, request, data + 4, size - 4);
    case NLAP_SEND: do_send(e, c, request, data + 4, size - 4); break;
    case NLAP_PUT: do_put(e, c, request, (const char *)data + 4, size - 4); break;
    case NLAP_GET: do_get(e, c, request, (const char *)data + 4, size - 4); break;
    case NLAP_TAKEN: do_taken(e, c, get64(data)); break;
    case NLAP_FINISH: la_engine_finalize_said(e, c); break;
    default: la_engine_garbage(e, c, "NLA: there is no request %u", type); break;
    }
    return 1;
}

static int64_t take_hello(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size)
{
    size_t there = size < 4 ? size : 4;

    if (memcmp(data, NLAP_MAGIC, there) != 0)
        return la_engine_garbage(e, c, "NLA: another protocol, or another version of it");
    if (size < 4)
        return 0;
    c->rank->nla_client = c->number;
    la_engine_init_said(e, c);
    say_hello(e, c);
    push(e, c->rank);
    return 4;
}

static int64_t take(struct la_engine *e, struct la_client *c, unsigned char *data, size_t size)
{
    uint32_t length;

    if (!c->inited)
        return take_hello(e, c, data, size);
    if (size < 4)
        return 0;
    length = get32(data);
    if (c->finalized || length < 1 || length > NLAP_FRAME_MOST)
        return la_engine_garbage(e, c, "NLA: a frame of %u bytes%s", length,
                                 c->finalized ? " after the end" : "");
    if (size - 4 < length || !obey(e, c, data[4], data + 5, length - 1))
        return 0;
    return c->broken ? PHX_EPROTO : (int64_t)length + 4;
}

static void done(struct la_engine *e, struct la_client *c, const struct la_result *r)
{
    int whole = r->data != NULL && (r->error == 0 || r->error == PHX_EFAILED);

    say_done(e, c, mark_number(c->mark), r->error, whole ? r->data : NULL, whole ? r->size : 0);
}

static void answer(struct la_engine *e, struct la_client *c, const struct la_pending *p, int result,
                   const char *text)
{
    say_done(e, c, mark_number(p->mark), result, text, text == NULL ? 0 : strlen(text));
}

const struct la_codec la_nlap_codec = { take, NULL, done, answer, NULL, NULL };
