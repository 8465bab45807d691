/* flow.c - standard output up the tree and standard input down, with credit on each edge. */

/* Two queues of chunks. `up` holds what goes to the parent; children get credit for what they sent as long as
 * it is below LA_FLOW_HIGH, and what could not be given is owed. `down` holds input; its first chunk goes on
 * when all whom it is for have room, and the parent gets credit for it then. */
#define _POSIX_C_SOURCE 200809L
#include "flow.h"
#include "../../phoenix.h"

#include <stdlib.h>
#include <string.h>

#define FLOW_MESSAGE ((size_t)64 * 1024 + LA_CHUNK_HEAD) /* one chunk of the largest size always fits */

struct flow_child {
    uint32_t agent, ended;
    size_t owed;      /* credit for output that it has not got yet */
    size_t in_credit; /* bytes of input that may be sent to it */
    int had;          /* it has got the first chunk of `down`, which is for all */
};

struct la_flow {
    uint32_t self, parent;
    struct la_flow_ops ops;
    struct flow_child *children;
    uint32_t children_count;
    struct la_queue up, down;
    size_t credit;  /* bytes of output that the parent takes */
    size_t in_owed; /* credit for input that the parent has not got yet */
    size_t backlog; /* at the root, outside */
    uint32_t ended, end_said;
    int had;  /* the processes here have got the first chunk of `down` */
    int away; /* the parent is lost: what goes up waits for the next one */
};

int la_flow_new(struct la_flow **out, uint32_t self, uint32_t parent, const struct la_flow_ops *ops)
{
    struct la_flow *f = (struct la_flow *)calloc(1, sizeof *f);

    *out = f;
    if (f == NULL)
        return PHX_ENOMEM;
    f->self = self;
    f->parent = parent;
    f->credit = LA_FLOW_WINDOW;
    f->ops = *ops;
    return 0;
}

void la_flow_free(struct la_flow *f)
{
    if (f == NULL)
        return;
    la_queue_free(&f->up);
    la_queue_free(&f->down);
    free(f->children);
    free(f);
}

static struct flow_child *flow_child(const struct la_flow *f, uint32_t agent)
{
    uint32_t i;

    for (i = 0; i < f->children_count; i++)
        if (f->children[i].agent == agent)
            return &f->children[i];
    return NULL;
}

int la_flow_child(struct la_flow *f, uint32_t agent)
{
    struct flow_child *more = flow_child(f, agent);

    if (more == NULL) {
        more = (struct flow_child *)realloc(f->children, (f->children_count + 1) * sizeof *more);
        if (more == NULL)
            return PHX_ENOMEM;
        f->children = more;
        more = &f->children[f->children_count++];
    }
    memset(more, 0, sizeof *more);
    more->agent = agent;
    more->in_credit = LA_FLOW_WINDOW;
    return 0;
}

void la_flow_lost(struct la_flow *f, uint32_t agent)
{
    struct flow_child *c = flow_child(f, agent);

    if (agent == f->parent)
        f->away = 1;
    if (c != NULL)
        *c = f->children[--f->children_count];
}

void la_flow_moved(struct la_flow *f, uint32_t parent)
{
    f->parent = parent;
    f->credit = LA_FLOW_WINDOW;
    f->in_owed = 0;
    f->end_said = 0;
    f->away = 0;
}

/* ---- Output -------------------------------------------------------------------------------------- */

int la_flow_output(struct la_flow *f, const struct la_chunk *c)
{
    if (f->parent != LA_NONE)
        return la_chunk_add(&f->up, c);
    f->ops.output(f->ops.ctx, c);
    return 0;
}

int la_flow_room(const struct la_flow *f)
{
    return f->up.size + f->backlog < LA_FLOW_HIGH;
}

void la_flow_set_backlog(struct la_flow *f, size_t bytes)
{
    f->backlog = bytes;
}

void la_flow_end(struct la_flow *f, uint32_t jobs)
{
    f->ended = jobs;
}

uint32_t la_flow_ended_below(const struct la_flow *f)
{
    uint32_t i, least = UINT32_MAX;

    for (i = 0; i < f->children_count; i++)
        if (f->children[i].ended < least)
            least = f->children[i].ended;
    return least;
}

static uint32_t flow_below_ended(const struct la_flow *f)
{
    uint32_t below = la_flow_ended_below(f);

    if (f->up.size > 0)
        return f->end_said;
    return below < f->ended ? below : f->ended;
}

uint32_t la_flow_ended(const struct la_flow *f)
{
    return f->parent == LA_NONE ? flow_below_ended(f) : f->end_said;
}

/* How many bytes of whole chunks fit into one message and the credit. */
static size_t flow_message(const struct la_queue *b, size_t most)
{
    size_t size = 0;
    struct la_chunk c;
    long n;

    if (most > FLOW_MESSAGE)
        most = FLOW_MESSAGE;
    while ((n = la_chunk_next(la_queue_first(b) + size, b->size - size, &c)) > 0 && size + (size_t)n <= most)
        size += (size_t)n;
    return size;
}

static int flow_tell(const struct la_flow *f, uint32_t agent, uint32_t type, size_t number)
{
    unsigned char data[4];

    data[0] = (unsigned char)number;
    data[1] = (unsigned char)(number >> 8);
    data[2] = (unsigned char)(number >> 16);
    data[3] = (unsigned char)(number >> 24);
    return f->ops.send(f->ops.ctx, agent, type, data, sizeof data);
}

static void flow_pump_up(struct la_flow *f)
{
    uint32_t ended;

    if (f->away)
        return;
    while (f->up.size > 0 && f->parent != LA_NONE) {
        size_t n = flow_message(&f->up, f->credit);
        if (n == 0 || f->ops.send(f->ops.ctx, f->parent, LA_FLOW_OUT, la_queue_first(&f->up), n) != 0)
            return;
        f->credit -= n;
        la_queue_take(&f->up, n);
    }
    ended = flow_below_ended(f);
    if (f->parent != LA_NONE && f->end_said < ended && flow_tell(f, f->parent, LA_FLOW_END, ended) == 0)
        f->end_said = ended;
}

static void flow_pay(struct la_flow *f)
{
    uint32_t i;

    for (i = 0; i < f->children_count && la_flow_room(f); i++)
        if (f->children[i].owed >= LA_FLOW_WINDOW / 4
            && flow_tell(f, f->children[i].agent, LA_FLOW_OUT_CREDIT, f->children[i].owed) == 0)
            f->children[i].owed = 0;
}

/* ---- Input --------------------------------------------------------------------------------------- */

int la_flow_input(struct la_flow *f, const struct la_chunk *c)
{
    return la_chunk_add(&f->down, c);
}

int la_flow_input_room(const struct la_flow *f)
{
    return f->down.size < LA_FLOW_HIGH / 2;
}

static int flow_in_one(struct la_flow *f, uint32_t agent, const struct la_chunk *c, const void *data,
                       size_t n)
{
    struct flow_child *child = flow_child(f, agent);

    if (agent == f->self) {
        if (!f->ops.input_room(f->ops.ctx))
            return 0;
        f->ops.input(f->ops.ctx, c);
        return 1;
    }
    if (child == NULL) /* it is gone, and what was for it with it */
        return 1;
    if (child->in_credit < n || f->ops.send(f->ops.ctx, agent, LA_FLOW_IN, data, n) != 0)
        return 0;
    child->in_credit -= n;
    return 1;
}

/* What is for all is done when each has had it; who has is noted, so that none gets it twice. */
static int flow_in_all(struct la_flow *f, const struct la_chunk *c, const void *data, size_t n)
{
    uint32_t i;
    int all = 1;

    if (!f->had && f->ops.input_room(f->ops.ctx)) {
        f->had = 1;
        f->ops.input(f->ops.ctx, c);
    }
    for (i = 0; i < f->children_count; i++) {
        struct flow_child *child = &f->children[i];
        if (!child->had && child->in_credit >= n
            && f->ops.send(f->ops.ctx, child->agent, LA_FLOW_IN, data, n) == 0) {
            child->had = 1;
            child->in_credit -= n;
        }
        all = all && child->had;
    }
    if (!all || !f->had)
        return 0;
    f->had = 0;
    for (i = 0; i < f->children_count; i++)
        f->children[i].had = 0;
    return 1;
}

static void flow_pump_down(struct la_flow *f)
{
    struct la_chunk c;
    long n;

    while ((n = la_chunk_next(la_queue_first(&f->down), f->down.size, &c)) > 0) {
        uint32_t to = c.rank == LA_ALL ? LA_NONE : f->ops.below(f->ops.ctx, c.rank);
        int gone = c.rank == LA_ALL ? flow_in_all(f, &c, la_queue_first(&f->down), (size_t)n)
                                          : flow_in_one(f, to, &c, la_queue_first(&f->down), (size_t)n);
        if (!gone)
            return;
        la_queue_take(&f->down, (size_t)n);
        f->in_owed += (size_t)n;
    }
}

static void flow_pay_in(struct la_flow *f)
{
    if (f->parent == LA_NONE || f->away || f->in_owed < LA_FLOW_WINDOW / 4)
        return;
    if (flow_tell(f, f->parent, LA_FLOW_IN_CREDIT, f->in_owed) == 0)
        f->in_owed = 0;
}

void la_flow_pump(struct la_flow *f)
{
    flow_pump_up(f);
    flow_pay(f);
    flow_pump_down(f);
    flow_pay_in(f);
}

/* ---- What neighbours say ------------------------------------------------------------------------- */

static int flow_chunks_are_whole(const unsigned char *data, size_t size)
{
    struct la_chunk c;
    long n;

    while ((n = la_chunk_next(data, size, &c)) > 0) {
        data += n;
        size -= (size_t)n;
    }
    return n == 0;
}

static int flow_recv_out(struct la_flow *f, uint32_t agent, const unsigned char *data, size_t size)
{
    struct flow_child *child = flow_child(f, agent);
    struct la_chunk c;
    long n;

    if (child == NULL || !flow_chunks_are_whole(data, size) || child->owed + size > LA_FLOW_WINDOW)
        return PHX_EPROTO;
    child->owed += size;
    if (f->parent != LA_NONE)
        return la_queue_add(&f->up, data, size);
    while ((n = la_chunk_next(data, size, &c)) > 0) {
        f->ops.output(f->ops.ctx, &c);
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static int flow_recv_in(struct la_flow *f, uint32_t agent, const void *data, size_t size)
{
    if (agent != f->parent || !flow_chunks_are_whole((const unsigned char *)data, size)
        || f->down.size + f->in_owed + size > LA_FLOW_WINDOW)
        return PHX_EPROTO;
    return la_queue_add(&f->down, data, size);
}

static uint32_t flow_number(const unsigned char *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static int flow_recv_credit(size_t *credit, const unsigned char *data, size_t size)
{
    if (size != 4 || flow_number(data) > LA_FLOW_WINDOW - *credit)
        return PHX_EPROTO;
    *credit += flow_number(data);
    return 0;
}

static int flow_recv_end(struct flow_child *c, const unsigned char *data, size_t size)
{
    if (c == NULL || size != 4)
        return PHX_EPROTO;
    c->ended = flow_number(data);
    return 0;
}

int la_flow_recv(struct la_flow *f, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct flow_child *c = flow_child(f, agent);
    const unsigned char *bytes = (const unsigned char *)data;

    switch (type) {
    case LA_FLOW_OUT: return flow_recv_out(f, agent, bytes, size);
    case LA_FLOW_IN: return flow_recv_in(f, agent, data, size);
    case LA_FLOW_OUT_CREDIT: return agent == f->parent ? flow_recv_credit(&f->credit, bytes,
                                                                          size) : PHX_EPROTO;
    case LA_FLOW_IN_CREDIT: return c != NULL ? flow_recv_credit(&c->in_credit, bytes, size) : PHX_EPROTO;
    case LA_FLOW_END: return flow_recv_end(c, bytes, size);
    default: return PHX_EPROTO;
    }
}
