/* pmgr.c - PMGR, protocol 8: native ints on a TCP connection for each rank, and aborts on further ones. */

/* There is no framing: what follows an operation's head is known from its size, its root and the rank. Nobody
 * hangs up before the client does, except for garbage. */
#include "codec.h"
#include "phoenix.h"

#include <string.h>

#define VERSION 8
#define INT 4
#define ABORT_HEAD (3 * INT)
#define TEXT_MOST 65536 /* of an abort */

enum { OPEN, CLOSE, ABORT, BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL };

static int32_t int_at(const unsigned char *data, size_t index)
{
    int32_t n;

    memcpy(&n, data + index * INT, INT);
    return n;
}

/* ---- The first words of a connection ----------------------------------------------------------- */

/* code, rank, length, text with its NUL. What is there of the text is told. */
static int64_t take_abort(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size,
                          int ended)
{
    int32_t length = size < ABORT_HEAD ? 0 : int_at(data, 2);
    size_t there = size < ABORT_HEAD ? 0 : size - ABORT_HEAD;
    char text[256];

    if (length < 0 || length > TEXT_MOST)
        return la_engine_garbage(e, c, "PMGR: an abort with a text of %d bytes", (int)length);
    if (!ended && (size < ABORT_HEAD || there < (size_t)length))
        return 0;
    if (there > (size_t)length)
        there = (size_t)length;
    if (there > sizeof text - 1)
        there = sizeof text - 1;
    memcpy(text, data + (there == 0 ? 0 : ABORT_HEAD), there);
    text[there] = '\0';
    c->rank = la_engine_rank(e, (uint32_t)int_at(data, 1));
    la_engine_abort_said(e, c, int_at(data, 0), text);
    return (int64_t)size;
}

/* A version and a rank; or an abort, which begins with any code and a rank. A first int of 8 may be either:
 * a rank that is connected already does not connect again, so then it is an abort, and it need not be heard
 * to the end. */
static int64_t take_first(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size,
                          int ended)
{
    const struct la_rank *r;

    if (size < 2 * INT)
        return 0;
    r = int_at(data, 1) < 0 ? NULL : la_engine_rank(e, (uint32_t)int_at(data, 1));
    if (r == NULL)
        return la_engine_garbage(e, c, "PMGR: rank %d is not of this host", (int)int_at(data, 1));
    if (int_at(data, 0) != VERSION)
        return take_abort(e, c, data, size, ended);
    if (r->taken[LA_PROTO_PMGR])
        return take_abort(e, c, data, size, 1);
    if (la_engine_identify(e, c, int_at(data, 1)) != 0)
        return PHX_EPROTO;
    la_engine_init_said(e, c);
    return 2 * INT;
}

static void ended(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size)
{
    if (c->rank == NULL && size >= 2 * INT)
        take_first(e, c, data, size, 1);
}

/* ---- Operations -------------------------------------------------------------------------------- */

/* What an operation is in the engine's words. */
struct shape {
    uint32_t kind, root;
    int64_t size;      /* per rank */
    size_t head, body; /* bytes of this rank's message */
};

static int shape_of(const struct la_engine *e, const struct la_client *c, const unsigned char *data,
                    struct shape *s)
{
    static const uint32_t kinds[] = { 0, 0, 0, LA_BARRIER, LA_BROADCAST, LA_GATHER, LA_SCATTER, LA_ALLGATHER,
                                      LA_ALLTOALL };
    int32_t op = int_at(data, 0);
    int rooted = op == BCAST || op == GATHER || op == SCATTER;
    int64_t root = rooted ? int_at(data, 1) : 0;
    int brings = !rooted || op == GATHER || root == c->rank->rank;

    s->kind = kinds[op];
    s->size = op == BARRIER ? 0 : int_at(data, rooted ? 2 : 1);
    s->head = op == BARRIER ? INT : rooted ? 3 * INT : 2 * INT;
    if (op != BARRIER && (s->size < 1 || s->size * e->job->size > INT32_MAX))
        return PHX_ETOOBIG;
    if (root < 0 || root >= e->job->size)
        return PHX_EINVAL;
    s->root = (uint32_t)root;
    s->body = (size_t)(s->size * (op == SCATTER || op == ALLTOALL ? e->job->size : 1));
    if (!brings)
        s->body = 0;
    return 0;
}

static size_t head_of(int32_t op)
{
    switch (op) {
    case BCAST:
    case GATHER:
    case SCATTER: return 3 * INT;
    case CLOSE:
    case BARRIER: return INT;
    default: return 2 * INT;
    }
}

/* The client is read on when the operation is done. */
static int64_t take_collective(struct la_engine *e, struct la_client *c, const unsigned char *data,
                               size_t size)
{
    struct shape s;
    int err = shape_of(e, c, data, &s);

    if (err == PHX_ETOOBIG)
        return la_engine_garbage(e, c,
                                 "PMGR: %d bytes for each of %u ranks, below 1 or above 2^31 - 1 in all",
                                 (int)s.size, e->job->size);
    if (err != 0)
        return la_engine_garbage(e, c, "PMGR: there is no rank %d to be a root", (int)int_at(data, 1));
    if (size < s.head || size - s.head < s.body)
        return 0;
    c->wait = LA_WAIT_OPERATION;
    if (c->rank->in) /* over another connection */
        return 0;
    err = la_engine_enter(e, c, s.kind, s.root, (uint64_t)s.size, data + s.head, s.body);
    if (err == PHX_ESTATE)
        return la_engine_garbage(e, c, "PMGR: an operation of a rank that has finalized");
    return err == PHX_ENOMEM ? PHX_ENOMEM : (int64_t)(s.head + s.body);
}

static int64_t take_operation(struct la_engine *e, struct la_client *c, const unsigned char *data,
                              size_t size)
{
    int32_t op = size < INT ? 0 : int_at(data, 0);

    if (op < OPEN || op > ALLTOALL)
        return la_engine_garbage(e, c, "PMGR: there is no operation %d", (int)op);
    if (size < INT || size < head_of(op))
        return 0;
    switch (op) {
    case OPEN:
        if (int_at(data, 1) != (int32_t)c->rank->rank)
            return la_engine_garbage(e, c, "PMGR: it opens as rank %d", (int)int_at(data, 1));
        break;
    case CLOSE: la_engine_finalize_said(e, c); break;
    case ABORT: la_engine_abort_said(e, c, int_at(data, 1), ""); break;
    default: return take_collective(e, c, data, size);
    }
    return (int64_t)head_of(op);
}

/* ---- The codec --------------------------------------------------------------------------------- */

static int64_t take(struct la_engine *e, struct la_client *c, unsigned char *data, size_t size)
{
    if (c->rank == NULL)
        return take_first(e, c, data, size, 0);
    if (!c->inited)
        return (int64_t)size; /* behind an abort */
    if (c->finalized)
        return la_engine_garbage(e, c, "PMGR: an operation after close");
    return take_operation(e, c, data, size);
}

/* A rank that is not the root of a gather runs ahead, and may have closed while others are not there yet. */
static void peek(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size)
{
    struct shape s;
    int32_t op;

    while (size >= INT) {
        op = int_at(data, 0);
        if (op == CLOSE)
            la_engine_finalize_seen(e, c);
        if (op < BARRIER || op > ALLTOALL || size < head_of(op) || shape_of(e, c, data, &s) != 0
            || size - s.head < s.body)
            return;
        data += s.head + s.body;
        size -= s.head + s.body;
    }
}

/* There is no word for a failed operation, so the client is hung up. */
static void done(struct la_engine *e, struct la_client *c, const struct la_result *r)
{
    int32_t word = BARRIER;

    if (r->error == PHX_ENOMEM)
        la_engine_garbage(e, c, "out of memory in an operation");
    else if (r->error != 0)
        la_engine_garbage(e, c, "PMGR: what a rank that is gone had to bring is missing");
    else if (r->coll.kind == LA_BARRIER)
        la_engine_reply(e, c, &word, sizeof word);
    else if (r->size > 0)
        la_engine_reply(e, c, r->data, r->size);
}

/* It asks for nothing that is answered later. */
static void answer(struct la_engine *e, struct la_client *c, const struct la_pending *p, int result,
                   const char *text)
{
    (void)e;
    (void)c;
    (void)p;
    (void)result;
    (void)text;
}

const struct la_codec la_pmgr_codec = { take, peek, done, answer, ended, NULL };
