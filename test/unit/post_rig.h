/* post_rig.h - a world of some posts, joined by links in memory, for the tests of src/post/. */
#ifndef POST_RIG_H
#define POST_RIG_H
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "post/post.h"
#include "base/rnd.h"
#endif

#ifndef NODES
#define NODES 4
#endif
enum { NAMES = 16, TOKENS = 20000 };
#define WIDE ((uint64_t)1 << 32)

/* A frame on a link. It holds the blocks and copies only when it is read at the other end, as a
 * real link does; so a byte that changes meanwhile is seen. */
struct frame {
    struct frame *next;
    struct phx__block *block[2];
    const uint8_t *data[2];
    size_t size[2];
};
struct wire {
    struct frame *head, **tail;
    uint32_t count;
    uint32_t generation;
    struct frame *half; /* half of it is in its place, and the rest comes with the next turn */
    struct phx__place place;
};
struct begun { /* memory of the application's for a message that comes */
    struct begun *next;
    struct node *by;
    size_t size;
    uint8_t data[1];
};
/* An ack that is late: it may come after later ones, and twice. */
struct late_ack {
    struct late_ack *next;
    struct phx__ack ack;
    int gap, target;
    uint8_t returns[PHX__RETURNS * PHX__RETURN_SIZE];
};
struct sequence { /* what one node got of one (sender, name) */
    uint64_t next;
};
struct node {
    struct world *w;
    int self;
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__post post;
    int hop[NODES]; /* next hop towards, or -1 */
    int view[NAMES]; /* who has a name, as this node sees it: -1 nobody */
    uint64_t version;
    uint64_t sent[NAMES];
    uint64_t refused_acks;
    int wants;
    int is_hasty;        /* the application may be called so often ... */
    uint32_t calls_left; /* ... and then not any more */
    uint64_t owner_asked;
    int random_fails;
    uint32_t window[NODES]; /* what others announce */
};
struct world {
    struct node node[NODES];
    struct wire wire[NODES][NODES];
    struct phx__rnd rnd;
    uint64_t now;
    /* per sender and name: the next tag that must arrive, wherever the name is */
    struct sequence box[NODES][NAMES];
    uint64_t got, bytes, epochs;
    unsigned loss; /* of a thousand frames */
    unsigned ack_loss;
    unsigned ack_late; /* of a thousand, kept for a while */
    struct late_ack *late;
    int order_errors, content_errors, source_errors, name_errors;
    struct test_heap queue_heap; /* of the links' queues */
    struct phx_alloc queue_alloc;
    struct phx__mem queue_mem;
    int emit_fails; /* out of a thousand allocations there */
    uint64_t emitted, link[NODES][NODES]; /* frames */
    size_t emitted_to[NODES];
    int frozen; /* wires deliver nothing */
    uint32_t unheld; /* how often was it said that nobody holds a name? */
    struct {
        int count, result, asked; /* asked: with name `to` and this tag, which the outcome repeats */
        uint64_t to, tag;
    } token[TOKENS];
    uint64_t lost; /* messages without a token */
    int lost_result;
    uint64_t tokens;
    int released[TOKENS];
    uint64_t writable, writable_name;
    uint64_t member_to[NAMES]; /* the latest outcomes of casts */
    int member_result[NAMES];
    unsigned members;
    size_t member_left;
    int reply; /* on_message sends one back to name `from` */
    uint64_t cancel_in_message, send_in_release;
    /* when so many messages have come, their name goes there (-1: to nobody), and perhaps the memory of
     * who gave it away */
    uint64_t move_at;
    int move_to, fail_at_move;
    int dead[NODES];
    /* of the random tests, or NULL; on_message instead of the check of the order */
    void (*on_message)(struct node *n, const struct phx_message *m);
    void (*on_done)(struct node *n, uint64_t token, int result);
    struct model *model;
    int begins;          /* every other large message gets a buffer of the application's */
    int places;          /* ... and half of all frames are read into place, in two halves */
    struct begun *begun;
    uint64_t begun_count, begun_shown, abandoned, placed, overtaken;
    int begun_errors;
    int wide; /* a name from WIDE on belongs to the node that its upper half says */
};

static inline uint32_t as_seen(int viewer, int n)
{
    return n == viewer ? PHX__SELF : (uint32_t)(n < viewer ? n + 1 : n);
}

static inline int who(int viewer, uint32_t index)
{
    return index == PHX__SELF ? viewer : (int)index <= viewer ? (int)index - 1 : (int)index;
}

static inline struct phx_id id_of(int n)
{
    struct phx_id id;

    memset(&id, 0x11 * (n + 1), sizeof id);
    return id;
}

static inline uint8_t pattern(uint64_t tag, size_t i)
{
    return (uint8_t)(tag * 31 + i * 7 + (i >> 8));
}

static inline unsigned below(struct world *w, unsigned n)
{
    return (unsigned)phx__rnd_below(&w->rnd, n);
}

static inline uint32_t op_owner(phx *ctx, uint64_t name)
{
    struct node *n = (void *)ctx;

    n->owner_asked++;
    if (n->w->wide && name >= WIDE)
        return as_seen(n->self, (int)(name / WIDE));
    return name >= NAMES || n->view[name] < 0 ? PHX__NONE : as_seen(n->self, n->view[name]);
}

static inline uint32_t op_next(phx *ctx, uint32_t node, uint32_t *generation)
{
    struct node *n = (void *)ctx;
    int hop = who(n->self, node) < NODES ? n->hop[who(n->self, node)] : -1; /* some are made up */

    if (hop < 0)
        return PHX__NONE;
    *generation = n->w->wire[n->self][hop].generation;
    return as_seen(n->self, hop);
}

static inline int op_leads(phx *ctx, uint32_t node, uint32_t nbr, uint32_t generation)
{
    struct node *n = (void *)ctx;
    int target = who(n->self, node), hop = who(n->self, nbr);

    return target < NODES && hop < NODES && n->w->wire[n->self][hop].generation == generation
           && (hop == target || n->w->node[hop].hop[target] >= 0);
}

static inline uint32_t op_window(phx *ctx, uint32_t node)
{
    return node < NODES ? ((struct node *)(void *)ctx)->window[node] : 0;
}

/* Another node, as this one sees it, announces its window. */
static inline void announce(struct node *n, uint32_t node, uint32_t bytes)
{
    n->window[node] = bytes;
    phx__post_sched_window(&n->post, node);
}

static inline int op_random(phx *ctx, void *out, size_t size)
{
    struct node *n = (void *)ctx;
    uint64_t number = ++n->w->epochs * 0x9e3779b97f4a7c15u;

    memcpy(out, &number, size);
    return n->random_fails ? PHX_EIO : 0;
}

/* The queue of slices of a link: it may have no memory. */
static inline void *queue_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct world *w = world;

    if (new_size > 0 && w->emit_fails > 0 && (int)below(w, 1000) < w->emit_fails)
        return NULL;
    return test_alloc(&w->queue_heap, old, old_size, new_size);
}

/* Takes one frame off a queue: its first bytes, and the rest of it if that stands in another block. */
static inline struct frame *frame_of(struct phx__slices *q)
{
    struct frame *f = calloc(1, sizeof *f);
    struct phx__reader in;
    size_t left;
    int i;

    phx__buf_reader_init(&in, q->ring[q->first].data, q->ring[q->first].size);
    left = 4 + (size_t)phx__buf_get_u32(&in);
    for (i = 0; i < 2 && left > 0; i++) {
        const struct phx__slice *s = &q->ring[q->first];

        f->block[i] = phx__buf_block_hold(s->block);
        f->data[i] = s->data;
        f->size[i] = s->size < left ? s->size : left;
        left -= f->size[i];
        phx__buf_slices_take(q, f->size[i]);
    }
    check(left == 0, "a frame is whole, in one block or two");
    return f;
}

/* What this node has for a neighbour goes onto the wire. */
static inline void pull(struct world *w, int from, int to, size_t budget)
{
    struct wire *wire = &w->wire[from][to];
    struct phx__slices out;

    phx__buf_slices_init(&out, &w->queue_mem);
    check(phx__post_sched_pull(&w->node[from].post, as_seen(from, to), &out, budget) == out.bytes,
          "all that was pulled is there");
    while (out.bytes > 0) {
        struct frame *f = frame_of(&out);

        *wire->tail = f;
        wire->tail = &f->next;
        wire->count++;
        w->emitted++;
        w->link[from][to]++;
        w->emitted_to[to] += f->size[0] + f->size[1];
    }
    phx__buf_slices_free(&out);
}

/* As it comes from the wire. */
static inline void give_ack(struct node *to, const struct phx__ack *a, int gap)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct phx__writer wr;
    struct phx__frame f;
    struct phx__ack got;
    size_t used;

    phx__buf_writer_init(&wr, raw, sizeof raw);
    phx__wire_data_put_ack(&wr, a, 0, 5);
    if (check(!wr.bad && phx__wire_parse(raw, wr.size, &f, &used) == 1
                  && phx__wire_data_get_ack(&f, &got) == 0,
              "an ack is well-formed"))
        phx__post_recv_ack(&to->post, &got, gap);
}

static inline int op_ack(phx *ctx, uint32_t node, const struct phx__ack *a, int gap)
{
    /* Control frames are not this room's business: they arrive at once, or not at all. */
    struct node *n = (void *)ctx, *to;
    struct world *w = n->w;
    int at = n->self, target = who(n->self, node), steps;

    for (steps = 0; at != target && target < NODES && steps < NODES; steps++) {
        if (w->node[at].hop[target] < 0) {
            n->refused_acks++;
            return steps == 0 ? PHX_ENOTFOUND : 0;
        }
        at = w->node[at].hop[target];
    }
    if (at != target || below(w, 1000) < w->ack_loss)
        return 0;
    if (below(w, 1000) < w->ack_late) {
        struct late_ack *late = malloc(sizeof *late);

        late->ack = *a;
        late->gap = gap;
        late->target = target;
        if (a->return_count > 0)
            memcpy(late->returns, a->returns, a->return_count * (size_t)PHX__RETURN_SIZE);
        late->ack.returns = late->returns;
        late->next = w->late;
        w->late = late;
        return 0;
    }
    to = &w->node[target];
    give_ack(to, a, gap);
    return 0;
}

/* Late acks come now, the youngest first, some of them not for the last time. */
static inline void late_acks(struct world *w)
{
    struct late_ack *late = w->late, *next;

    for (w->late = NULL; late != NULL; late = next) {
        next = late->next;
        if (!w->dead[late->target])
            give_ack(&w->node[late->target], &late->ack, late->gap);
        if (below(w, 3) == 0 && w->ack_late > 0) {
            late->next = w->late;
            w->late = late;
        } else {
            free(late);
        }
    }
}

static inline int send_size(struct node *n, uint64_t name, size_t size, uint64_t token, uint64_t limit,
                     int owned);

static inline void *op_begin(phx *ctx, const struct phx_message *m)
{
    struct node *n = (void *)ctx;
    struct begun *b;

    n->w->begun_errors += m->data != NULL || m->size < 2;
    if (!n->w->begins || n->w->begun_count++ % 2 != 0)
        return NULL;
    b = malloc(sizeof *b + m->size);
    b->next = n->w->begun;
    b->by = n;
    b->size = m->size;
    n->w->begun = b;
    return b->data;
}

/* It is ours again: 1; or it was no such buffer. What still writes to it is found by the sanitizer. */
static inline int begun_ends(struct node *n, const void *data, size_t size)
{
    struct begun **at = &n->w->begun, *b;

    while (*at != NULL && (*at)->data != data)
        at = &(*at)->next;
    if ((b = *at) == NULL)
        return 0;
    n->w->begun_errors += b->by != n || b->size != size;
    *at = b->next;
    free(b);
    return 1;
}

static inline void op_abandon(phx *ctx, void *buffer, size_t size)
{
    struct node *n = (void *)ctx;

    n->w->abandoned++;
    n->w->begun_errors += !begun_ends(n, buffer, size);
}

/* Time is short only where a test says so. */
static inline uint32_t op_calls(phx *ctx, int share)
{
    struct node *n = (void *)ctx;
    uint32_t left = n->is_hasty ? n->calls_left : 1000;

    (void)share;
    n->calls_left = 0;
    return left;
}

static inline void op_message(phx *ctx, const struct phx_message *m)
{
    struct node *n = (void *)ctx;
    struct world *w = n->w;
    int sender = (int)m->from;
    struct phx_id id;
    size_t i, step = m->size > 4096 ? 509 : 1;

    if (w->wide && m->to >= WIDE) {
        w->got++;
        return;
    }
    if (m->to >= NAMES || n->view[m->to] != n->self) {
        w->name_errors++;
        return;
    }
    id = id_of(sender);
    w->source_errors += memcmp(&id, &m->source, sizeof id) != 0;
    if (w->on_message != NULL) {
        w->on_message(n, m);
    } else {
        w->order_errors += m->tag != w->box[sender][m->to].next;
        w->box[sender][m->to].next = m->tag + 1;
    }
    w->content_errors += (m->data == NULL) != (m->size == 0);
    for (i = 0; i < m->size; i += step)
        w->content_errors += ((const uint8_t *)m->data)[i] != pattern(m->tag, i);
    if (m->size > 0)
        w->content_errors +=
            ((const uint8_t *)m->data)[m->size - 1] != pattern(m->tag, m->size - 1);
    if (begun_ends(n, m->data, m->size))
        w->begun_shown++;
    w->got++;
    w->bytes += m->size;
    if (w->got == w->move_at) {
        n->view[m->to] = w->move_to;
        n->version++;
        if (w->move_to >= 0)
            w->node[w->move_to].view[m->to] = w->move_to;
        if (w->fail_at_move)
            n->heap.fail_from = n->heap.calls + 1;
    }
    if (w->cancel_in_message != 0) {
        uint64_t token = w->cancel_in_message;

        w->cancel_in_message = 0;
        (void)phx__post_box_cancel(&n->post, token);
    }
    if (w->reply > 0) {
        w->reply--;
        (void)send_size(n, (uint64_t)w->reply % NAMES, m->size, 0, 0, 0);
    }
}

static inline void op_done(phx *ctx, uint64_t token, uint64_t to, uint64_t tag, int result)
{
    struct node *n = (void *)ctx;

    n->w->name_errors += n->w->token[token].asked
                         && (n->w->token[token].to != to || n->w->token[token].tag != tag);
    n->w->token[token].count++;
    n->w->token[token].result = result;
    if (n->w->on_done != NULL)
        n->w->on_done(n, token, result);
}

static inline int op_segment(phx *ctx, uint64_t name, uint32_t *owner, uint64_t *last)
{
    *owner = op_owner(ctx, name);
    while (name < NAMES && op_owner(ctx, name) == *owner)
        name++;
    *last = name < NAMES ? name - 1 : *owner == PHX__NONE ? UINT64_MAX : NAMES - 1;
    return 0;
}

static inline int op_held(phx *ctx, uint32_t node, const struct phx_range *range, struct phx_range *out)
{
    uint64_t name = range->first;

    while (name < NAMES && name <= range->last && op_owner(ctx, name) != node)
        name++;
    out->first = out->last = name;
    return name < NAMES && name <= range->last;
}

static inline void op_member(phx *ctx, uint64_t token, uint64_t to, int result, size_t left)
{
    struct node *n = (void *)ctx;

    n->w->member_to[n->w->members % NAMES] = to;
    n->w->member_result[n->w->members++ % NAMES] = result;
    n->w->member_left = left;
    n->w->token[token].asked = 0;
    op_done(ctx, token, to, 0, result);
}

static inline void op_unheld(phx *ctx, uint64_t name)
{
    (void)name;
    ((struct node *)(void *)ctx)->w->unheld++;
}

static inline void op_lost(phx *ctx, uint32_t count, uint64_t to, int result)
{
    struct node *n = (void *)ctx;

    (void)to;
    n->w->lost += count;
    n->w->lost_result = result;
}

static inline void op_writable(phx *ctx, uint64_t name)
{
    struct node *n = (void *)ctx;

    n->w->writable++;
    n->w->writable_name = name;
}

static inline void op_wants(phx *ctx, uint32_t nbr)
{
    struct node *n = (void *)ctx;

    (void)nbr;
    n->wants++;
}

struct owned {
    struct world *w;
    int number;
};

static inline void on_release(const void *data, size_t size, void *arg)
{
    struct owned *o = arg;

    (void)size;
    o->w->released[o->number]++;
    if (o->w->send_in_release > 0) {
        o->w->send_in_release--;
        (void)send_size(&o->w->node[0], 5, 3, 0, 0, 0);
    }
    free((void *)data);
    free(o);
}

/* Sends the next message of this node to a name; the tag is its number. */
static inline int send_size(struct node *n, uint64_t name, size_t size, uint64_t token, uint64_t limit,
                     int owned)
{
    struct world *w = n->w;
    uint8_t *data = malloc(size + 1);
    struct phx_outgoing m;
    struct iovec iov[3];
    struct owned *o = NULL;
    size_t i;
    int err;

    for (i = 0; i < size; i++)
        data[i] = pattern(n->sent[name], i);
    memset(&m, 0, sizeof m);
    m.to = name;
    m.from = (uint64_t)n->self;
    m.tag = n->sent[name];
    m.token = token;
    w->token[token].asked = token != 0;
    w->token[token].to = name;
    w->token[token].tag = m.tag;
    m.time_limit_us = limit;
    m.iov = iov;
    m.iov_count = 3;
    iov[0].iov_base = data;
    iov[0].iov_len = size / 3;
    iov[1].iov_base = NULL;
    iov[1].iov_len = 0;
    iov[2].iov_base = data + size / 3;
    iov[2].iov_len = size - size / 3;
    if (owned) {
        o = malloc(sizeof *o);
        o->w = w;
        o->number = owned;
        m.iov_count = 1;
        iov[0].iov_len = size;
        m.release = on_release;
        m.arg = o;
    }
    err = phx__post_send(&n->post, &m);
    if (err == 0)
        n->sent[name]++;
    if (!owned || err != 0) {
        free(data);
        free(o);
    }
    return err;
}

/* ---- Making the world turn */

static inline struct phx__post_limits default_limits(void)
{
    struct phx__post_limits l;

    l.max_message = 2u << 20;
    l.window = 256u << 10;
    l.hold_bytes = 256u << 10;
    l.hop_limit = 4;
    l.relay = 1;
    return l;
}

static inline int begin_node(struct world *w, int i, const struct phx__post_limits *limits)
{
    struct node *n = &w->node[i];
    struct phx__post_ops ops;
    struct phx_id id;
    uint32_t index;
    int k;

    n->w = w;
    n->self = i;
    n->alloc.alloc = test_alloc;
    n->alloc.world = &n->heap;
    phx__mem_init(&n->mem, &n->alloc, 0);
    phx__id_init(&n->ids, &n->mem, 100);
    phx__timer_init(&n->timers, &n->mem);
    id = id_of(i);
    (void)phx__id_add(&n->ids, &id, &index);
    for (k = 0; k < NODES; k++) {
        id = id_of(k);
        if (k != i)
            (void)phx__id_add(&n->ids, &id, &index);
        n->hop[k] = k;
    }
    for (k = 0; k < NAMES; k++)
        n->view[k] = -1;
    ops.ctx = (void *)n;
    ops.now = &n->w->now;
    ops.owner = op_owner;
    ops.version = &n->version;
    ops.next = op_next;
    ops.ack = op_ack;
    ops.random = op_random;
    ops.message = op_message;
    ops.done = op_done;
    ops.writable = op_writable;
    ops.wants = op_wants;
    ops.segment = op_segment;
    ops.held = op_held;
    ops.member = op_member;
    ops.begin = op_begin;
    ops.abandon = op_abandon;
    ops.lost = op_lost;
    ops.unheld = op_unheld;
    ops.calls = op_calls;
    ops.leads = op_leads;
    ops.window = op_window;
    return phx__post_init(&n->post, &n->mem, &n->ids, &n->timers, limits, &ops);
}

static inline struct world *world_new(uint64_t seed, const struct phx__post_limits *limits)
{
    struct phx__post_limits usual = default_limits();
    struct world *w = calloc(1, sizeof *w);
    int i, k;

    phx__rnd_seed(&w->rnd, seed, 1);
    w->now = 1000;
    w->queue_alloc.alloc = queue_alloc;
    w->queue_alloc.world = w;
    phx__mem_init(&w->queue_mem, &w->queue_alloc, 0);
    for (i = 0; i < NODES; i++)
        for (k = 0; k < NODES; k++)
            w->wire[i][k].tail = &w->wire[i][k].head;
    for (i = 0; i < NODES; i++)
        check(begin_node(w, i, limits != NULL ? limits : &usual) == 0, "node");
    for (i = 0; i < NODES; i++)
        for (k = 1; k < NODES; k++)
            announce(&w->node[i], (uint32_t)k, (uint32_t)w->node[i].post.limits.window);
    return w;
}

static inline struct frame *wire_take(struct wire *wire)
{
    struct frame *f = wire->head;

    wire->head = f->next;
    if (wire->head == NULL)
        wire->tail = &wire->head;
    wire->count--;
    return f;
}

static inline void frame_free(struct frame *f)
{
    phx__buf_block_drop(f->block[0]);
    phx__buf_block_drop(f->block[1]);
    free(f);
}

static inline void wire_drop_half(struct wire *wire)
{
    if (wire->half == NULL)
        return;
    phx__buf_place_drop(&wire->place);
    frame_free(wire->half);
    wire->half = NULL;
}

/* A link died with all that was on it, and there is a new one. */
static inline void wire_cut(struct world *w, int a, int b)
{
    wire_drop_half(&w->wire[a][b]);
    while (w->wire[a][b].head != NULL)
        frame_free(wire_take(&w->wire[a][b]));
    w->wire[a][b].generation++;
}

static inline void end_node(struct world *w, int i)
{
    struct node *n = &w->node[i];
    int k;

    for (k = 0; k < NODES; k++)
        wire_drop_half(&w->wire[k][i]);
    phx__post_free(&n->post);
    phx__id_free(&n->ids);
    phx__timer_free(&n->timers);
}

/* 1 if every byte came back. */
static inline int world_free(struct world *w)
{
    int i, k, clean = 1;

    w->ack_late = 0;
    while (w->late != NULL) {
        struct late_ack *late = w->late;

        w->late = late->next;
        free(late);
    }
    for (i = 0; i < NODES; i++)
        for (k = 0; k < NODES; k++)
            wire_cut(w, i, k);
    for (i = 0; i < NODES; i++)
        if (!w->dead[i])
            end_node(w, i);
    for (i = 0; i < NODES; i++)
        clean &= test_heap_is_clean(&w->node[i].heap) && w->node[i].mem.used == 0;
    clean &= test_heap_is_clean(&w->queue_heap) && w->begun == NULL && w->begun_errors == 0;
    free(w);
    return clean;
}

/* The frame's payload into its place, from where it is up to `to`. */
static inline void place_up_to(struct wire *wire, size_t to)
{
    struct phx__place *p = &wire->place;
    const struct frame *f = wire->half;
    size_t head = f->size[0] + f->size[1] - p->size;

    for (; p->got < to; p->got++) {
        size_t i = head + p->got;
        p->block->data[p->at + p->got] = i < f->size[0] ? f->data[0][i] : f->data[1][i - f->size[0]];
    }
}

/* The rest of what was begun below. */
static inline void wire_finish(struct world *w, int a, int b)
{
    struct wire *wire = &w->wire[a][b];
    size_t head = wire->half->size[0] + wire->half->size[1] - wire->place.size;
    int is_open = phx__buf_place_is_open(&wire->place);

    if (is_open)
        place_up_to(wire, wire->place.size);
    w->placed += is_open != 0;
    w->overtaken += is_open == 0;
    phx__post_recv_placed(&w->node[b].post, wire->half->data[0], head,
                     is_open ? wire->place.block->data + wire->place.at : NULL);
    wire_drop_half(wire);
}

/* As a link that reads in place: the head, half of the payload, and the rest later. 1 if there is a place. */
static inline int wire_place(struct world *w, int a, int b, struct frame *f)
{
    struct wire *wire = &w->wire[a][b];
    size_t size = f->size[0] < PHX__DATA_HEAD_MOST ? f->size[0] : PHX__DATA_HEAD_MOST;

    if (!w->places || below(w, 2) == 0
        || phx__post_recv_place(&w->node[b].post, f->data[0], size, &wire->place) == 0)
        return 0;
    wire->half = f;
    place_up_to(wire, wire->place.size / 2);
    if (below(w, 2) == 0)
        wire_finish(w, a, b);
    return 1;
}

static inline void wire_deliver(struct world *w, int a, int b)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct frame *f;
    struct phx__frame frame;
    size_t used = 0, size;
    int err = PHX_EPROTO;

    if (w->wire[a][b].half != NULL) {
        wire_finish(w, a, b);
        return;
    }
    f = wire_take(&w->wire[a][b]);
    w->node[b].post.recv.from = as_seen(b, a);
    if (wire_place(w, a, b, f))
        return;
    size = f->size[0] + f->size[1];
    memcpy(raw, f->data[0], f->size[0]);
    if (f->size[1] > 0)
        memcpy(raw + f->size[0], f->data[1], f->size[1]);
    frame_free(f);
    if (below(w, 1000) < w->loss)
        return;
    if (phx__wire_parse(raw, size, &frame, &used) == 1 && used == size)
        err = frame.type == PHX__CAST
                  ? phx__post_recv_multicast(&w->node[b].post, &frame)
                  : phx__post_recv_data(&w->node[b].post, raw, size, &frame);
    check(err == 0, "a frame of %u bytes is well-formed", (unsigned)size);
}

static inline void tick(struct node *n)
{
    uint32_t arg;
    int kind;

    while (phx__timer_pop(&n->timers, n->w->now, &kind, &arg))
        phx__post_box_due(&n->post, kind, arg);
}

/* One step of each node: what arrived, what is due, what goes out. */
static inline void turn(struct world *w, unsigned frames, size_t budget)
{
    int i, k;
    unsigned c;

    for (i = 0; i < NODES; i++) {
        struct node *n = &w->node[i];

        if (w->dead[i])
            continue;
        for (k = 0; k < NODES && !w->frozen; k++)
            for (c = 0; c < frames && (w->wire[k][i].count > 0 || w->wire[k][i].half != NULL); c++)
                wire_deliver(w, k, i);
        tick(n);
        (void)phx__post_run(&n->post);
        for (k = 0; k < NODES; k++)
            if (k != i)
                pull(w, i, k, budget);
    }
}

static inline void turns(struct world *w, int count, uint64_t us)
{
    while (count-- > 0) {
        late_acks(w);
        turn(w, 100, 1u << 20);
        w->now += us;
    }
}

static inline int is_idle(const struct world *w)
{
    int i, k;

    for (i = 0; i < NODES; i++) {
        if (w->node[i].post.pending.count > 0 || w->node[i].post.transit.bytes > 0
            || phx__post_ready(&w->node[i].post))
            return 0;
        for (k = 0; k < NODES; k++)
            if (w->wire[i][k].count > 0 || w->wire[i][k].half != NULL)
                return 0;
    }
    return 1;
}

/* Until nothing is left to do; 0 if there always is. */
static inline int settle(struct world *w)
{
    int i;

    for (i = 0; i < 20000; i++) {
        late_acks(w);
        turn(w, 1000, 4u << 20);
        w->now += 2000;
        if (is_idle(w) && i % 16 == 15)
            return 1;
    }
    return 0;
}

static inline void see(struct world *w, int viewer, int name, int owner)
{
    w->node[viewer].view[name] = owner;
    w->node[viewer].version++;
}

static inline void all_see(struct world *w, int name, int owner)
{
    int i;

    for (i = 0; i < NODES; i++)
        see(w, i, name, owner);
    for (i = 0; i < NODES; i++)
        phx__post_box_names(&w->node[i].post);
}

static inline void route(struct world *w, int from, int target, int hop)
{
    w->node[from].hop[target] = hop;
    phx__post_sched_route(&w->node[from].post, as_seen(from, target));
}

static inline void cut(struct world *w, int a, int b)
{
    int k;

    wire_cut(w, a, b);
    for (k = 0; k < NODES; k++)
        if (k != a)
            phx__post_sched_route(&w->node[a].post, as_seen(a, k));
}

static inline int no_errors(const struct world *w)
{
    return w->order_errors + w->content_errors + w->source_errors + w->name_errors == 0;
}

/* Sums over senders and names: all that was accepted has arrived. */
static inline int all_arrived(const struct world *w)
{
    uint64_t sent = 0;
    int i, k;

    for (i = 0; i < NODES; i++)
        for (k = 0; k < NAMES; k++)
            sent += w->node[i].sent[k];
    return w->got == sent;
}

static inline uint64_t claim_token(struct world *w)
{
    return w->tokens < TOKENS - 1 ? ++w->tokens : 0;
}

/* What node `at` keeps of node `of`. */
static inline struct phx__post_peer *peer_of(struct world *w, int at, int of)
{
    return phx__post_sched_find(&w->node[at].post, as_seen(at, of));
}

/* What node `at` says was turned back of what comes from node `of`. */
static inline struct phx__post_returns *back_of(struct world *w, int at, int of)
{
    return &peer_of(w, at, of)->returns;
}

/* What a node may send to another one arrives, and neither of them runs. */
static inline void carry(struct world *w, int from, int to)
{
    pull(w, from, to, 1u << 20);
    while (w->wire[from][to].count > 0)
        wire_deliver(w, from, to);
}

/* Node 0 takes node 1 for the owner of name 3, which it is not, and has sent to it. Name 4 is node 1's. */
static inline struct world *mistaken(size_t size)
{
    struct world *w = world_new(1, NULL);

    see(w, 0, 3, 1);
    all_see(w, 4, 1);
    check(send_size(&w->node[0], 3, size, 1, 0, 0) == 0, "sent");
    return w;
}

#endif
