/* pump.c - part of post: one record per node, and a circle of work per neighbour. */

/* What goes out next is decided here. Each neighbour has a circle of sources: own flows and transit
 * queues whose next hop it is and which have something to send.
 *
 *      nodes[nbr].ready ---> [flow to a] <-> [transit to b] <-> [flow to c] <-> (the first again)
 *
 *      to be emitted, and a route known: listed       nothing more, or no route: not listed
 *      the route changed:                the circle of the new next hop
 *      no memory to list or to emit:     the strays, which a phx__post_run soon lists again
 *
 * Why a circle per neighbour: a relay's links are shared by all that goes through them. Each source
 * gets PUMP_QUANTUM bytes and then the next has its turn, so none waits for more than one quantum
 * of each other, and one whose reader sleeps uses up its own credit and nothing else. Finding work
 * is O(1). The links are in the nodes' records, which never move; the table only points to one of
 * each circle, so it may grow and neighbours may come and go.
 *
 * Relays promise nothing. A transit queue that is full drops, and the flow's source, which learns
 * it from a gap or from silence, halves what it has under way. That keeps two nodes that relay for
 * each other from waiting for each other: nobody ever stops reading. Small frames in transit are
 * copied once, one after another into shared blocks, and so leave in as few slices as they came; large
 * ones leave from where they were read.
 *
 * Acks ride before data that goes the other way, though not on every frame of a brisk exchange, or go
 * by themselves when enough has come or some time has passed. A record has one timer
 * for all its deadlines. It is only ever moved forward: one that fires too early is set again then,
 * which is far cheaper than moving it at each frame. */
#include "post.h"

/* Bytes served to one destination before the next has its turn: one large fragment, four runs, or some
 * hundred small frames. Less would cost full fragments their fairness, more would let small messages wait
 * longer. */
#define PUMP_QUANTUM PHX__FRAGMENT
/* An ack waits this long for data that goes the other way. It delays no message, only outcomes and
 * credit; credit is safe because a quarter of the window asks for an ack by itself. */
#define PUMP_ACK_DELAY (5 * PHX__MS)
/* An ack rides on data that goes the other way; but within so long after the last one, not for so few frames
 * and bytes, unless the sender has said that somebody waits for it. In ping-pong an ack is a fifth of all the
 * work, on either side. The bounds keep what is resent small, and the sender's few records in the cache. */
#define PUMP_RIDE_EVERY PHX__MS
#define PUMP_RIDE_FRAMES 16u
#define PUMP_RIDE_BYTES 4096u
/* A receiver that could not take a message asks for it again after this. One frame per flow comes
 * then. */
#define PUMP_STUCK_AGAIN (50 * PHX__MS)
/* A flow or transit queue without work for this long gives its buffers back. Frames in transit that
 * had no route for so long are dropped: their source has sent them again, or given up. */
#define PUMP_IDLE (10 * PHX__SECOND)
/* What all transit queues may hold. With the per-target bound of two windows it serves eight
 * targets at their worst; above it relaying degrades into dropping, but the node's memory is its
 * own. */
#define PUMP_TRANSIT_MOST ((size_t)64 << 20)
/* A large frame is not copied but leaves from the block it was read into. It pins that block, many times
 * its size, so only so much is kept in this way; then frames are copied, which is dense. */
#define PUMP_LENT_MOST ((size_t)8 << 20)
/* Blocks of transit queues grow from what a trickle needs to four of the largest frames. */
#define PUMP_BLOCK_FIRST 8192u
#define PUMP_BLOCK_MOST (4 * PHX__FRAME_MAX)
/* The window of a node that never announced one. */
#define PUMP_WINDOW_UNKNOWN 65536u

/* ---- Circles of sources */

static struct phx__pump_source **pump_circle(struct phx__post *p, uint32_t nbr)
{
    return nbr == PHX__NONE ? &p->stray : &p->nodes[nbr].ready;
}

static void pump_unlist(struct phx__post *p, struct phx__pump_source *s)
{
    struct phx__pump_source **circle;

    if (s->next == NULL)
        return;
    circle = pump_circle(p, s->nbr);
    if (*circle == s)
        *circle = s->next == s ? NULL : s->next;
    s->prev->next = s->next;
    s->next->prev = s->prev;
    s->prev = s->next = NULL;
    s->served = 0;
}

static void pump_insert(struct phx__post *p, struct phx__pump_source *s, uint32_t nbr)
{
    struct phx__pump_source **circle = pump_circle(p, nbr);

    s->nbr = nbr;
    if (nbr == PHX__NONE)
        phx__fate_again(p, 0);
    if (*circle == NULL) {
        s->prev = s->next = *circle = s;
        return;
    }
    s->next = *circle; /* before the one whose turn it is: at the end */
    s->prev = s->next->prev;
    s->prev->next = s->next->prev = s;
}

static int pump_grow(struct phx__post *p, uint32_t node)
{
    return phx__mem_grow(p->mem, &p->nodes, &p->node_capacity, node + 1, sizeof *p->nodes);
}

static int pump_is_ready(const struct phx__pump_source *s)
{
    return s->is_transit ? s->peer->queue.bytes > 0 : phx__flow_peek(&s->peer->out) != NULL;
}

/* Lists it where it belongs, if it has work and a route. Cheap if it is there already. */
static void pump_list(struct phx__post *p, struct phx__pump_source *s)
{
    uint32_t nbr = s->peer->nbr;
    int first;

    if (s->next != NULL) {
        if (s->nbr == nbr && s->peer->routed)
            return;
        pump_unlist(p, s);
    }
    if (!s->peer->routed || !pump_is_ready(s))
        return;
    if (nbr >= p->node_capacity && pump_grow(p, nbr) != 0)
        nbr = PHX__NONE;
    first = *pump_circle(p, nbr) == NULL;
    pump_insert(p, s, nbr);
    if (first && nbr != PHX__NONE)
        p->ops.wants(p->ops.ctx, nbr);
}

/* ---- Nodes */

void phx__pump_arm(struct phx__post *p, struct phx__pump_peer *peer)
{
    uint64_t at = peer->ack_at < peer->idle_at ? peer->ack_at : peer->idle_at;

    if (peer->out.rto_at < at)
        at = peer->out.rto_at;
    if (peer->out.limit_at < at)
        at = peer->out.limit_at;
    if (at < phx__timer_at(p->timers, peer->timer))
        phx__timer_set(p->timers, peer->timer, at);
}

struct phx__pump_peer *phx__pump_find(const struct phx__post *p, uint32_t node)
{
    return node < p->node_capacity ? p->nodes[node].peer : NULL;
}

static void pump_ask_route(struct phx__post *p, struct phx__pump_peer *peer)
{
    uint32_t generation = 0, nbr = p->ops.next(p->ops.ctx, peer->node, &generation);
    struct phx__flow_out *o = &peer->out;

    peer->routed = nbr != PHX__NONE;
    if (!peer->routed)
        return;
    if (nbr != peer->nbr || generation != peer->generation) {
        peer->nbr = nbr;
        peer->generation = generation;
        phx__flow_rewind(o); /* what went into another stream may never come out of it */
    } else if (o->sent > o->base && o->rto_at == PHX__NEVER) {
        o->rto_at = p->now + o->rto;
        phx__pump_arm(p, peer);
    }
    if (peer->owed && peer->ack_at == PHX__NEVER)
        phx__ring_add(&p->acks, &peer->ack_link);
}

static size_t pump_window(const struct phx__post *p, uint32_t node)
{
    uint32_t window = node < p->window_capacity ? p->windows[node] : 0;

    return window != 0 ? window : PUMP_WINDOW_UNKNOWN;
}

struct phx__pump_peer *phx__pump_open(struct phx__post *p, uint32_t node)
{
    struct phx__pump_peer *peer = phx__pump_find(p, node);

    if (peer != NULL)
        return peer;
    PHX_ASSERT(node != PHX__SELF && node < p->ids->size);
    if (pump_grow(p, node) != 0)
        return NULL;
    peer = phx__mem_zero(p->mem, sizeof *peer);
    if (peer == NULL)
        return NULL;
    if (phx__timer_new(p->timers, PHX__TIMER_POST, node, &peer->timer) != 0) {
        phx__mem_put(p->mem, peer, sizeof *peer);
        return NULL;
    }
    peer->node = node;
    peer->life = ++p->lives;
    peer->nbr = PHX__NONE;
    peer->own.peer = peer->transit.peer = peer;
    peer->transit.is_transit = 1;
    phx__ring_init(&peer->boxes);
    phx__ring_init(&peer->idle);
    phx__back_init(&peer->back, p->mem);
    phx__ring_init(&peer->ack_link);
    phx__ring_init(&peer->room_link);
    phx__flow_init(&peer->out, p->mem, &p->ids->at[node], &p->ids->at[PHX__SELF],
                   p->limits.hop_limit,
                   p->limits.window, pump_window(p, node));
    phx__slices_init(&peer->queue, p->mem);
    peer->ack_at = peer->idle_at = PHX__NEVER;
    p->nodes[node].peer = peer;
    pump_ask_route(p, peer);
    return peer;
}

void phx__pump_rest(struct phx__post *p, struct phx__pump_peer *peer)
{
    peer->idle_at = p->now + PUMP_IDLE;
    phx__pump_arm(p, peer);
}

/* ---- Acknowledging */

void phx__pump_owe(struct phx__post *p, struct phx__pump_peer *peer, int now)
{
    peer->owed = 1;
    if (now) {
        phx__ring_add(&p->acks, &peer->ack_link);
    } else if (peer->ack_at == PHX__NEVER) {
        peer->ack_at = p->now + PUMP_ACK_DELAY;
        phx__pump_arm(p, peer);
    }
}

void phx__pump_ack(struct phx__post *p, struct phx__pump_peer *peer)
{
    struct phx__ack a;

    phx__ring_del(&peer->ack_link);
    a.target = p->ids->at[peer->node];
    a.source = p->ids->at[PHX__SELF];
    a.epoch = peer->in.epoch;
    a.next = peer->in.next;
    a.window = p->limits.window < UINT32_MAX ? (uint32_t)p->limits.window : UINT32_MAX;
    if (peer->stuck)
        a.window = 1; /* which still lets one frame come, to try */
    phx__back_fill(&peer->back, &a);
    a.seen = peer->confirm ? peer->out.seen : 0;
    a.seen_epoch = peer->out.epoch;
    if (p->ops.ack(p->ops.ctx, peer->node, &a, peer->gap) != 0) {
        /* Without a route there is no use in asking again and again; phx__post_route will. */
        peer->owed = 1;
        peer->ack_at = peer->routed ? p->now + PUMP_ACK_DELAY : PHX__NEVER;
        phx__pump_arm(p, peer);
        return;
    }
    peer->owed = 0;
    peer->hurry = 0;
    peer->acked_at = p->now;
    peer->confirm = 0;
    peer->gap = 0;
    peer->ack_bytes = 0;
    peer->ack_frames = 0;
    peer->ack_at = PHX__NEVER;
    if (peer->stuck) { /* ask for it again, until it could be taken */
        peer->gap = 1;
        peer->ack_at = p->now + PUMP_STUCK_AGAIN;
        phx__pump_arm(p, peer);
    }
}

/* ---- Transit */

static void pump_drop_transit(struct phx__post *p, struct phx__pump_peer *peer)
{
    pump_unlist(p, &peer->transit);
    p->transit_bytes -= peer->queue.bytes;
    p->dropped += peer->queued;
    peer->queued = 0;
    phx__slices_free(&peer->queue);
    phx__block_drop(peer->tail);
    peer->tail = NULL;
    peer->tail_size = 0;
}

uint8_t *phx__pump_room(struct phx__post *p, struct phx__pump_peer *peer, size_t size)
{
    size_t capacity = peer->tail_size == 0 ? PUMP_BLOCK_FIRST : peer->tail_size;
    struct phx__block *b = peer->tail;

    if (peer->queue.bytes + size > 2 * p->limits.window
        || p->transit_bytes + size > PUMP_TRANSIT_MOST)
        return NULL;
    if (b != NULL && b->refs == 1)
        b->used = 0; /* all in it has gone out */
    if (b != NULL && b->capacity - b->used >= size)
        return b->data + b->used;
    if (!phx__mem_has_room_for_mail(p->mem, capacity < size ? size : capacity))
        return NULL;
    b = phx__block_new(p->mem, capacity < size ? size : capacity);
    if (b == NULL)
        return NULL;
    phx__block_drop(peer->tail);
    peer->tail = b;
    peer->tail_size = (uint32_t)(capacity < PUMP_BLOCK_MOST / 2 ? capacity * 2 : PUMP_BLOCK_MOST);
    return b->data;
}

static void pump_count(struct phx__post *p, struct phx__pump_peer *peer, size_t size)
{
    peer->queued++;
    p->transit_bytes += size;
    p->relayed_frames++;
    p->relayed_bytes += size;
    phx__pump_rest(p, peer);
    pump_list(p, &peer->transit);
}

int phx__pump_queued(struct phx__post *p, struct phx__pump_peer *peer, uint8_t *at, size_t size)
{
    if (phx__slices_push(&peer->queue, peer->tail, at, size) != 0)
        return PHX_ENOMEM;
    peer->tail->used += size;
    p->transit_copied += size;
    pump_count(p, peer, size);
    return 0;
}

/* It stays where it was read. 0, or why it cannot. */
static int pump_transit_lent(struct phx__post *p, struct phx__pump_peer *peer, const uint8_t *frame,
                             size_t size, int hops)
{
    struct phx__block *b = p->lender;
    uint8_t *at;

    if (b == NULL || p->transit_bytes + size > PUMP_LENT_MOST
        || peer->queue.bytes + size > 2 * p->limits.window)
        return PHX_ELIMIT;
    at = b->data + (frame - b->data);
    if (phx__slices_push(&peer->queue, b, at, size) != 0)
        return PHX_ENOMEM;
    at[PHX__DATA_HOPS] = (uint8_t)hops;
    pump_count(p, peer, size);
    return 0;
}

int phx__pump_transit(struct phx__post *p, const uint8_t *frame, size_t size,
                      const struct phx__frame *f)
{
    struct phx__pump_peer *peer;
    struct phx_id target;
    uint32_t node;
    uint8_t *to;

    memcpy(&target, frame + PHX__DATA_TARGET, sizeof target);
    node = phx__ids_find(p->ids, &target);
    if (!p->limits.relay || f->hops <= 1 || node == PHX__NONE)
        return PHX_ENOTFOUND;
    peer = phx__pump_open(p, node);
    if (peer != NULL && pump_transit_lent(p, peer, frame, size, f->hops - 1) == 0)
        return 0;
    to = peer == NULL ? NULL : phx__pump_room(p, peer, size);
    if (to == NULL)
        return PHX_ELIMIT;
    memcpy(to, frame, size);
    to[PHX__DATA_HOPS] = (uint8_t)(f->hops - 1);
    return phx__pump_queued(p, peer, to, size);
}

/* ---- Emitting */

/* Does the ack that is owed go with the data, or is there time? In a brisk exchange of small messages most
 * can wait for the next one, since each says all that the former did. */
static int pump_ack_rides(const struct phx__post *p, const struct phx__pump_peer *peer)
{
    return peer->hurry || peer->ack_frames >= PUMP_RIDE_FRAMES || peer->ack_bytes >= PUMP_RIDE_BYTES
           || p->now >= peer->acked_at + PUMP_RIDE_EVERY || !phx__ring_is_empty(&peer->ack_link);
}

/* Frames from one source, about `quantum` bytes. *failed: a link could not queue more. */
static size_t pump_serve_own(struct phx__post *p, struct phx__pump_peer *peer, uint32_t nbr,
                             size_t quantum,
                             int *failed)
{
    struct phx__flow_record *r;
    size_t done = 0;

    if (peer->owed && pump_ack_rides(p, peer))
        phx__pump_ack(p, peer);
    while (done < quantum && (r = phx__flow_peek(&peer->out)) != NULL) {
        size_t shared = r->cast == NULL ? 0 : phx__cast_emit(p, peer, nbr, failed);

        if (*failed)
            break;
        if (shared > 0) {
            done += shared;
            continue;
        }
        if (p->ops.emit(p->ops.ctx, nbr, r->head, r->head->data + r->head_at, r->head_size, r->body,
                        r->body_size > 0 ? r->body->data + r->body_at : NULL, r->body_size) != 0) {
            *failed = 1;
            break;
        }
        done += phx__flow_frame_size(r);
        p->retransmitted += (uint64_t)phx__flow_mark(&peer->out, p->now);
    }
    phx__pump_arm(p, peer);
    return done;
}

static size_t pump_serve_transit(struct phx__post *p, struct phx__pump_peer *peer, uint32_t nbr,
                                 size_t quantum,
                                 int *failed)
{
    struct phx__slices *q = &peer->queue;
    size_t done = 0;

    while (done < quantum && q->bytes > 0) {
        const struct phx__slice *s = &q->ring[q->first];
        struct phx__reader in;
        size_t size;

        phx__reader_init(&in, s->data, s->size);
        size = 4 + (size_t)phx__get_u32(&in);
        PHX_ASSERT(size <= s->size); /* frames went in whole, each into one block */
        if (p->ops.emit(p->ops.ctx, nbr, s->block, s->data, size, NULL, NULL, 0) != 0) {
            *failed = 1;
            break;
        }
        phx__slices_take(q, size);
        peer->queued--;
        p->transit_bytes -= size;
        done += size;
    }
    return done;
}

size_t phx__post_pull(struct phx__post *p, uint32_t nbr, size_t budget, uint64_t now)
{
    struct phx__pump_source *s;
    size_t total = 0, n, quantum;
    int failed = 0;

    p->now = now;
    if (nbr >= p->node_capacity)
        return 0;
    while (total < budget && !failed && (s = p->nodes[nbr].ready) != NULL) {
        quantum = PUMP_QUANTUM - s->served;
        if (quantum > budget - total)
            quantum = budget - total;
        if (s->is_transit)
            n = pump_serve_transit(p, s->peer, nbr, quantum, &failed);
        else
            n = pump_serve_own(p, s->peer, nbr, quantum, &failed);
        total += n;
        s->served += n;
        if (failed) {
            pump_unlist(p, s);
            pump_insert(p, s, PHX__NONE); /* the next run tries again */
        } else if (!pump_is_ready(s)) {
            pump_unlist(p, s);
        } else if (s->served >= PUMP_QUANTUM) {
            s->served = 0;
            p->nodes[nbr].ready = s->next;
        }
    }
    return total;
}

/* ---- Changes */

void phx__post_route(struct phx__post *p, uint32_t node, uint64_t now)
{
    struct phx__pump_peer *peer = phx__pump_find(p, node);

    p->now = now;
    if (peer == NULL)
        return;
    pump_ask_route(p, peer);
    pump_list(p, &peer->own);
    pump_list(p, &peer->transit);
}

void phx__post_window(struct phx__post *p, uint32_t node, uint32_t bytes)
{
    struct phx__pump_peer *peer = phx__pump_find(p, node);

    /* Without memory for it, the flow begins with the least window there is. */
    if (node == PHX__SELF
        || phx__mem_grow(p->mem, &p->windows, &p->window_capacity, node + 1, sizeof *p->windows) != 0)
        return;
    p->windows[node] = bytes;
    if (peer != NULL && peer->out.base == 0 && bytes != 0) { /* after the first ack, acks tell */
        peer->out.window = bytes;
        pump_list(p, &peer->own);
    }
}


void phx__pump_ready(struct phx__post *p, struct phx__pump_peer *peer)
{
    pump_list(p, &peer->own);
}

void phx__pump_retry(struct phx__post *p)
{
    struct phx__pump_source *s, *last = p->stray == NULL ? NULL : p->stray->prev;

    /* Those that stay strays come behind `last`. */
    while ((s = p->stray) != NULL) {
        pump_unlist(p, s);
        pump_ask_route(p, s->peer);
        pump_list(p, s);
        if (s == last)
            break;
    }
}

void phx__pump_abandon(struct phx__post *p, uint32_t nbr)
{
    struct phx__pump_source *s;

    if (nbr < p->window_capacity)
        p->windows[nbr] = 0;
    if (nbr >= p->node_capacity)
        return;
    while ((s = p->nodes[nbr].ready) != NULL) {
        pump_unlist(p, s);
        pump_insert(p, s, PHX__NONE);
    }
}

void phx__pump_reset(struct phx__post *p, struct phx__pump_peer *peer)
{
    pump_drop_transit(p, peer);
    pump_unlist(p, &peer->own);
    peer->confirm = 0;
    phx__flow_restart(&peer->out, 0, pump_window(p, peer->node));
}

void phx__pump_free(struct phx__post *p, struct phx__pump_peer *peer)
{
    PHX_ASSERT(phx__ring_is_empty(&peer->boxes) && phx__ring_is_empty(&peer->idle)
               && peer->waiters == NULL);
    p->nodes[peer->node].peer = NULL;
    pump_drop_transit(p, peer);
    pump_unlist(p, &peer->own);
    phx__ring_del(&peer->room_link);
    phx__ring_del(&peer->ack_link);
    phx__timer_drop(p->timers, peer->timer);
    phx__flow_start(&peer->in, 0);
    phx__back_reset(&peer->back);
    phx__flow_free(&peer->out);
    phx__mem_put(p->mem, peer, sizeof *peer);
}

static void pump_idle(struct phx__post *p, struct phx__pump_peer *peer)
{
    peer->idle_at = PHX__NEVER;
    phx__flow_trim(&peer->out);
    phx__fate_close_idle(p, peer);
    if (peer->queue.bytes == 0 || !peer->routed)
        pump_drop_transit(p, peer);
    else
        peer->idle_at = p->now + PUMP_IDLE;
}

void phx__pump_due(struct phx__post *p, struct phx__pump_peer *peer)
{
    struct phx__flow_out *o = &peer->out;

    if (peer->ack_at <= p->now)
        phx__pump_ack(p, peer);
    if (o->rto_at <= p->now) {
        o->rto_at = PHX__NEVER;
        /* Without a route there is nothing to learn from silence; pump_ask_route sees to it
         * again. */
        if (peer->routed && o->sent > o->base)
            phx__flow_timeout(o, p->now);
        pump_list(p, &peer->own);
    }
    if (peer->idle_at <= p->now)
        pump_idle(p, peer);
}

#undef PUMP_QUANTUM
#undef PUMP_ACK_DELAY
#undef PUMP_STUCK_AGAIN
#undef PUMP_IDLE
#undef PUMP_TRANSIT_MOST
#undef PUMP_LENT_MOST
#undef PUMP_BLOCK_FIRST
#undef PUMP_BLOCK_MOST
#undef PUMP_WINDOW_UNKNOWN
#undef PUMP_RIDE_EVERY
#undef PUMP_RIDE_FRAMES
#undef PUMP_RIDE_BYTES
