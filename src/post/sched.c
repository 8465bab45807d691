/* sched.c - what is emitted next: one record per node, and a circle of sources per neighbour. */

/* Each neighbour has a circle of sources: own flows and transit queues whose next hop it is and which have
 * something to send.
 *
 *      nodes[nbr].ready ---> [flow to a] <-> [transit to b] <-> [flow to c] <-> (the first again)
 *
 *      to be emitted, and a route known: listed       nothing more, or no route: not listed
 *      the route changed:                the circle of the new next hop
 *      no memory to list or to emit:     not listed; a phx__post_run soon looks at all nodes again
 *
 * Each source gets SCHED_QUANTUM bytes, then the next has its turn (deficit round robin), and one whose
 * reader sleeps uses up its own credit only. Sources are in nodes' records, which never move.
 *
 * Relays promise nothing. A full transit queue drops, and the source, which learns of it from a gap, halves
 * what it has under way. So nobody ever stops reading, and two nodes that relay for each
 * other never wait for each other. Small frames in transit are copied once into shared blocks, and so leave
 * in as few slices as they came; large ones leave from where they were read.
 *
 * A frame of a multicast travels once per link: all flows with the same next hop whose next frame is the same
 * piece are emitted as one CAST frame, which has the payload once, and for each target a line with what its
 * DATA frame would say. A relay splits the lines by next hop. A target takes its line as that DATA frame. A
 * flow without credit is left behind and emits DATA later, and so does a retransmission.
 *
 *      flow to a: [.][.][cast 1/2]                   .-- CAST a, b --> relay --> CAST/DATA a
 *      flow to b:       [cast 1/2][.]  -- pull nbr --|                     '---> b
 *      flow to c: [.][.][.] window full              '-- later: DATA c
 *
 * An ack rides before data of the other direction, or goes by itself when enough has come or some time has
 * passed. A record has one timer for all deadlines: firing early is cheaper than a move at each frame. */
#include "post/sched.h"

/* Bytes of one source in its turn: one large fragment, four runs, or some hundred small frames. */
#define SCHED_QUANTUM PHX__FRAGMENT
/* An ack waits this long for data the other way. It delays outcomes, and at most a quarter of credit. */
#define SCHED_ACK_DELAY (5 * PHX__MS)
/* An ack rides so soon after the last only for this much, or if the sender's application waits: in ping-pong
 * it is a fifth of the work. The bounds keep retransmissions small, and the sender's records cached. */
#define SCHED_RIDE_EVERY PHX__MS
#define SCHED_RIDE_FRAMES 16u
#define SCHED_RIDE_BYTES 4096u
/* A receiver that could not take a message asks for it again after this. One frame per flow comes then. */
#define SCHED_STUCK_AGAIN (50 * PHX__MS)
/* A flow or transit queue without work for this long frees its buffers. Frames in transit without a route for
 * as long are dropped: their source has sent them again, or given up. */
#define SCHED_IDLE (10 * PHX__SECOND)
/* A message of which nothing has come for this long is given up, and must come again. It is far above
 * FLOW_RTO_MAX: a source that waits longest between two attempts loses nothing. */
#define SCHED_PART_IDLE (120 * PHX__SECOND)
/* No message begins while those that its neighbour began to bring have more, where there is no mem_limit, or
 * else a 32nd of that. One that is larger by itself is not counted, and waits for another such one. */
#define SCHED_BROUGHT_MOST ((size_t)256 << 20)
/* The most bytes in all transit queues; one may hold two windows. Above that a relay drops. */
#define SCHED_TRANSIT_MOST ((size_t)64 << 20)
/* A large frame in transit pins the block it was read into, many times its size. Above this it is copied. */
#define SCHED_LENT_MOST ((size_t)8 << 20)
/* Blocks of transit queues grow from what a trickle needs to four of the largest frames. */
#define SCHED_BLOCK_FIRST 8192u
#define SCHED_BLOCK_MOST (4 * PHX__FRAME_MAX)
/* The window of a node that never announced one. */
#define SCHED_WINDOW_UNKNOWN 65536u
/* So often one flow asks for all that go such a way, to a neighbour or on, while none was measured. */
#define SCHED_ASK_EVERY PHX__SECOND
/* When nothing was measured for this time, what was may be over: a node with few messages under way asks
 * sooner, after 4 times so much for each. */
#define SCHED_RTT_FRESH (250 * PHX__MS)
#define SCHED_RTT_EACH (12 * PHX__MS)
/* What failed for lack of memory is tried again after this. */
#define SCHED_AGAIN (10 * PHX__MS)

void phx__post_sched_again(struct phx__post *p, uint64_t at)
{
    phx__timer_sooner(p->timers, p->again_timer, at != 0 ? at : *p->ops.now + SCHED_AGAIN);
}

/* ---- Circles of sources */

static void sched_unlist(struct phx__post *p, struct phx__post_source *s)
{
    struct phx__post_source **circle;

    if (s->next == NULL)
        return;
    circle = &p->nodes[s->nbr].ready;
    if (*circle == s)
        *circle = s->next == s ? NULL : s->next;
    s->prev->next = s->next;
    s->next->prev = s->prev;
    s->prev = s->next = NULL;
    s->served = 0;
}

/* Some sources have work and are not listed. */
static void sched_list_again(struct phx__post *p)
{
    p->list_again = 1;
    phx__post_sched_again(p, 0);
}

static int sched_is_ready(const struct phx__post_source *s)
{
    return s == &s->peer->own ? s->peer->out.path.asks || phx__post_flow_peek(&s->peer->out) != NULL
                              : s->peer->transit.queue.bytes > 0;
}

void phx__post_sched_list(struct phx__post *p, struct phx__post_source *s)
{
    uint32_t nbr = s->peer->nbr;
    struct phx__post_source **circle;

    if (s->next != NULL) {
        if (s->nbr == nbr && s->peer->routed)
            return;
        sched_unlist(p, s);
    }
    if (!s->peer->routed || !sched_is_ready(s))
        return;
    if (nbr >= p->node_capacity
        && phx__mem_grow(p->mem, &p->nodes, &p->node_capacity, nbr + 1, sizeof *p->nodes) != 0) {
        sched_list_again(p);
        return;
    }
    circle = &p->nodes[nbr].ready;
    s->nbr = nbr;
    if (*circle == NULL) {
        p->ops.wants(p->ops.ctx, nbr);
        s->prev = s->next = *circle = s;
        return;
    }
    s->next = *circle; /* before the one whose turn it is: at the end */
    s->prev = s->next->prev;
    s->prev->next = s->next->prev = s;
}

/* ---- Nodes */

void phx__post_sched_arm(struct phx__post *p, struct phx__post_peer *peer)
{
    uint64_t at = PHX__MIN(PHX__MIN(peer->ack.at, peer->idle_at),
                           PHX__MIN(peer->out.rto_at, peer->out.limit_at));

    if (peer->in.part != NULL)
        at = PHX__MIN(at, peer->in.at + SCHED_PART_IDLE);
    phx__timer_sooner(p->timers, peer->timer, at);
}

struct phx__post_peer *phx__post_sched_find(const struct phx__post *p, uint32_t node)
{
    return node < p->node_capacity ? p->nodes[node].peer : NULL;
}

static void sched_ask_route(struct phx__post *p, struct phx__post_peer *peer)
{
    uint32_t generation = 0, nbr = p->ops.next(p->ops.ctx, peer->node, &generation);
    struct phx__flow_out *o = &peer->out;
    int moves, returns = !peer->routed;

    peer->routed = nbr != PHX__NONE;
    if (!peer->routed) {
        o->path.drains = 0;
        return;
    }
    moves = nbr != peer->nbr || generation != peer->generation;
    /* What is in a stream that still leads there need not be sent again, and nothing may overtake it. */
    if (!moves || o->sent == o->base || !p->ops.leads(p->ops.ctx, peer->node, peer->nbr, peer->generation))
        o->path.drains = 0;
    else
        o->path.drains = PHX__MAX(o->path.drains, 1);
    if (moves && !o->path.drains) {
        peer->nbr = nbr;
        peer->generation = generation;
        phx__post_flow_rewind(o); /* what went into another stream may never come out of it */
    } else if (o->sent > o->base && (returns || o->rto_at == PHX__NEVER)) {
        o->path.asks = o->path.asks || returns; /* relays may have lost something while there was no route */
        phx__post_flow_wait(o, 0, *p->ops.now);
        phx__post_sched_arm(p, peer);
    }
    if (peer->ack.owed && peer->ack.at == PHX__NEVER)
        phx__ring_add(&p->acks, &peer->ack.link);
}

static size_t sched_window(const struct phx__post *p, uint32_t node)
{
    uint32_t window = p->ops.window(p->ops.ctx, node);

    return window != 0 ? window : SCHED_WINDOW_UNKNOWN;
}

/* The node's record is made again; or never, peer is NULL. */
PHX__COLD static void sched_drop_past(struct phx__post *p, uint32_t node, struct phx__post_peer *peer)
{
    struct phx__post_past *past = p->nodes[node].past;

    if (past != NULL && peer != NULL) {
        peer->life = past->life;
        peer->in.epoch = past->epoch;
        peer->in.next = past->next;
        peer->returns.count = peer->returns.confirmed = peer->returns.seen = past->returns;
    }
    phx__mem_put(p->mem, past, sizeof *past);
    p->nodes[node].past = NULL;
}

struct phx__post_peer *phx__post_sched_open(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    if (peer != NULL)
        return peer;
    PHX_ASSERT(node != PHX__SELF && node < p->ids->size);
    if (phx__mem_grow(p->mem, &p->nodes, &p->node_capacity, node + 1, sizeof *p->nodes) != 0
        || (peer = phx__mem_zero(p->mem, sizeof *peer)) == NULL)
        return NULL;
    if (phx__timer_new(p->timers, PHX__TIMER_POST, node, &peer->timer) != 0) {
        phx__mem_put(p->mem, peer, sizeof *peer);
        return NULL;
    }
    peer->node = node;
    peer->life = ++p->lives;
    peer->nbr = PHX__NONE;
    peer->own.peer = peer->transit.source.peer = peer;
    phx__ring_init(&peer->boxes.bound);
    phx__ring_init(&peer->boxes.idle);
    phx__ring_init(&peer->waiters);
    phx__post_returns_init(&peer->returns, p->mem);
    phx__ring_init(&peer->ack.link);
    phx__ring_init(&peer->room_link);
    peer->out = (struct phx__flow_out){ .mem = p->mem, .target = p->ids->at[node],
                                        .source = p->ids->at[PHX__SELF], .hops = p->limits.hop_limit,
                                        .own = p->limits.window };
    phx__post_flow_restart(&peer->out, 0, sched_window(p, node));
    phx__buf_slices_init(&peer->transit.queue, p->mem);
    peer->ack.at = peer->idle_at = PHX__NEVER;
    p->nodes[node].peer = peer;
    sched_drop_past(p, node, peer);
    sched_ask_route(p, peer);
    return peer;
}

void phx__post_sched_rest(struct phx__post *p, struct phx__post_peer *peer)
{
    peer->idle_at = *p->ops.now + SCHED_IDLE;
    phx__post_sched_arm(p, peer);
}

/* ---- Acknowledging */

PHX__APART void phx__post_sched_owe(struct phx__post *p, struct phx__post_peer *peer, int now)
{
    peer->ack.owed = 1;
    if (now) {
        phx__ring_add(&p->acks, &peer->ack.link);
    } else if (peer->ack.at == PHX__NEVER) {
        peer->ack.at = *p->ops.now + SCHED_ACK_DELAY;
        phx__post_sched_arm(p, peer);
    }
}

void phx__post_sched_ack(struct phx__post *p, struct phx__post_peer *peer)
{
    const struct phx__post_returns *back = &peer->returns;
    const struct phx__flow_out *o = &peer->out;
    const struct phx__ack a = {
        .target = p->ids->at[peer->node], .source = p->ids->at[PHX__SELF],
        .epoch = peer->in.epoch, .next = peer->in.next,
        .window = peer->ack.stuck ? 1 : (uint32_t)p->limits.window, /* one frame may still come, to try */
        .returns = back->list, .return_base = back->confirmed,
        .return_count = (uint16_t)(back->count - back->confirmed),
        .seen = peer->ack.confirm ? o->seen : 0, .seen_epoch = o->epoch,
        .ask = peer->ack.ask ? peer->key : 0,
        .tell = o->epoch != 0 ? peer->ack.tell : 0, .tell_epoch = o->epoch, .tell_next = o->base,
        .tell_seen = o->seen
    };

    phx__ring_del(&peer->ack.link);
    if (p->ops.ack(p->ops.ctx, peer->node, &a, peer->ack.gap) != 0) {
        /* Without a route phx__post_sched_route tries again. */
        peer->ack.owed = 1;
        peer->ack.at = peer->routed ? *p->ops.now + SCHED_ACK_DELAY : PHX__NEVER;
        phx__post_sched_arm(p, peer);
        return;
    }
    peer->ack.owed = peer->ack.hurry = peer->ack.confirm = peer->ack.gap = peer->ack.ask = 0;
    peer->ack.tell = peer->ack.bytes = peer->ack.frames = 0;
    peer->ack.last_at = *p->ops.now;
    peer->ack.at = PHX__NEVER;
    if (peer->ack.stuck) { /* ask for it again until it can be taken */
        peer->ack.gap = 1;
        peer->ack.at = *p->ops.now + SCHED_STUCK_AGAIN;
        phx__post_sched_arm(p, peer);
    }
}

/* ---- Transit */

PHX__COLD static void sched_drop_transit(struct phx__post *p, struct phx__post_peer *peer)
{
    sched_unlist(p, &peer->transit.source);
    p->transit.bytes -= peer->transit.queue.bytes;
    p->counters.dropped += peer->transit.frames;
    phx__buf_slices_free(&peer->transit.queue);
    phx__buf_block_drop(peer->transit.tail);
    peer->transit.tail = NULL;
    peer->transit.frames = 0;
}

/* Where a frame in transit to peer can be written, or NULL. Then sched_enqueue takes it in. */
static uint8_t *sched_room(struct phx__post *p, struct phx__post_peer *peer, size_t size)
{
    struct phx__block *b = peer->transit.tail;
    size_t capacity = b == NULL ? SCHED_BLOCK_FIRST : PHX__MIN(2 * b->capacity, SCHED_BLOCK_MOST);
    int fits, shrinks = 0;

    if (peer->transit.queue.bytes + size > 2 * p->limits.window
        || p->transit.bytes + size > SCHED_TRANSIT_MOST)
        return NULL;
    if (b != NULL && b->refs == 1) { /* all in it has gone out */
        shrinks = b->used < b->capacity / 8 && b->capacity > SCHED_BLOCK_FIRST; /* a burst is over */
        capacity = shrinks ? PHX__MAX(b->capacity / 2, SCHED_BLOCK_FIRST) : capacity;
        b->used = 0;
    }
    fits = b != NULL && b->capacity - b->used >= size;
    if ((fits && !shrinks) || !phx__mem_has_room_for_mail(p->mem, PHX__MAX(capacity, size))
        || (b = phx__buf_block_new(p->mem, PHX__MAX(capacity, size))) == NULL)
        return fits ? peer->transit.tail->data + peer->transit.tail->used : NULL;
    phx__buf_block_drop(peer->transit.tail);
    peer->transit.tail = b;
    return b->data;
}

/* Of the tail's bytes, or of another block's that is held. 0 or PHX_ENOMEM. */
static int sched_enqueue(struct phx__post *p, struct phx__post_peer *peer, struct phx__block *b,
                         const uint8_t *at, size_t size)
{
    if (phx__buf_slices_push(&peer->transit.queue, b, at, size) != 0)
        return PHX_ENOMEM;
    if (b == peer->transit.tail) {
        b->used += size;
        p->transit.copied += size;
    }
    peer->transit.frames++;
    p->transit.bytes += size;
    p->counters.relayed_frames++;
    p->counters.relayed_bytes += size;
    phx__post_sched_rest(p, peer);
    phx__post_sched_list(p, &peer->transit.source);
    return 0;
}

/* Queues it where it was read. 0, or why not. */
static int sched_transit_lent(struct phx__post *p, struct phx__post_peer *peer, const uint8_t *frame,
                              size_t size, int hops)
{
    struct phx__block *b = p->transit.lender;

    if (b == NULL || p->transit.bytes + size > SCHED_LENT_MOST
        || peer->transit.queue.bytes + size > 2 * p->limits.window)
        return PHX_ELIMIT;
    b->data[(size_t)(frame - b->data) + PHX__DATA_HOPS] = (uint8_t)hops;
    return sched_enqueue(p, peer, b, frame, size);
}

int phx__post_sched_transit(struct phx__post *p, const uint8_t *frame, size_t size,
                            const struct phx__frame *f)
{
    struct phx__post_peer *peer;
    struct phx_id target;
    uint32_t node;
    uint8_t *to;

    memcpy(&target, frame + PHX__DATA_TARGET, sizeof target);
    node = phx__id_find(p->ids, &target);
    if (!p->limits.relay || f->hops <= 1 || node == PHX__NONE)
        return PHX_ENOTFOUND;
    peer = phx__post_sched_open(p, node);
    /* Our own frame is back: who we still send through has a way through us by now. The new way is taken. */
    if (peer != NULL && peer->out.path.drains
        && memcmp(frame + PHX__DATA_TARGET + sizeof target, &p->ids->at[PHX__SELF], sizeof target) == 0) {
        phx__post_flow_rewind(&peer->out);
        phx__post_sched_route(p, node);
    }
    if (peer != NULL && sched_transit_lent(p, peer, frame, size, f->hops - 1) == 0)
        return 0;
    if (peer == NULL || (to = sched_room(p, peer, size)) == NULL)
        return PHX_ELIMIT;
    memcpy(to, frame, size);
    to[PHX__DATA_HOPS] = (uint8_t)(f->hops - 1);
    return sched_enqueue(p, peer, peer->transit.tail, to, size);
}

void phx__post_sched_forward(struct phx__post *p, struct phx__post_peer *peer, const struct phx__frame *f,
                             const struct phx__wire_cast *c, const uint32_t *next)
{
    uint32_t first = peer->line, i, n = 0;
    struct phx__writer w;
    struct phx__data d;
    size_t room, start;
    uint8_t *to;
    int flags;

    peer->line = 0;
    for (i = first; i > 0; i = next[i - 1])
        n++;
    room = PHX__DATA_FIRST_HEAD + n * (size_t)PHX__CAST_LINE + c->common.size;
    if ((to = sched_room(p, peer, room)) == NULL) {
        p->counters.dropped++;
        return;
    }
    phx__buf_writer_init(&w, to, room);
    start = phx__wire_data_begin_cast(&w, f->flags, f->hops - 1, n);
    for (i = first; i > 0; i = next[i - 1]) {
        phx__wire_data_cast_line(c, f, i - 1, &d, &flags);
        phx__wire_data_put_cast_line(&w, f->flags, &d);
    }
    phx__wire_data_end_cast(&w, start, f->flags, &d);
    phx__buf_put_bytes(&w, c->common.payload, c->common.size);
    PHX_ASSERT(!w.bad);
    p->counters.dropped += sched_enqueue(p, peer, peer->transit.tail, to, w.size) != 0;
}

/* ---- Emitting */

/* Half a frame must never be queued: with room for both slices, neither push can fail. 0 or PHX_ENOMEM. */
static int sched_emit(struct phx__post *p, struct phx__slices *to, struct phx__block *head,
                      const uint8_t *head_data, size_t head_size, const struct phx__flow_record *r)
{
    if (phx__buf_slices_reserve(to, 2) != 0)
        return PHX_ENOMEM;
    (void)phx__buf_slices_push(to, head, head_data, head_size);
    if (r != NULL && r->body_size > 0)
        (void)phx__buf_slices_push(to, r->body, r->body->data + r->body_at, r->body_size);
    p->counters.frames_out++;
    return 0;
}

/* Is the next frame of this flow the same piece of the same multicast, and not a retransmission? */
static int sched_multicast_joins(struct phx__flow_out *o, const struct phx__flow_record *r)
{
    const unsigned place = PHX__DATA_FIRST | PHX__DATA_LAST;
    const struct phx__flow_record *q = phx__post_flow_peek(o);

    return q != NULL && q->multicast == r->multicast && q->body_at == r->body_at && o->sent == o->left
           && ((unsigned)(q->flags ^ r->flags) & place) == 0;
}

/* The head of one frame for all of them: a line for each, which says what the head of its own frame does. */
static struct phx__block *sched_multicast_head(struct phx__post *p, struct phx__post_peer **to, uint32_t n)
{
    size_t room = PHX__DATA_FIRST_HEAD + n * (size_t)PHX__CAST_LINE, start = 0;
    struct phx__block *b = phx__buf_block_new(p->mem, room);
    struct phx__writer w;
    struct phx__data d;
    int flags = 0;

    if (b == NULL)
        return NULL;
    phx__buf_writer_init(&w, b->data, room);
    for (uint32_t i = 0; i < n; i++) {
        const struct phx__flow_record *r = phx__post_flow_peek(&to[i]->out);

        (void)phx__wire_data_front(r->head->data + r->head_at, r->head_size, &d, &flags);
        flags = r->flags & (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
        if (i == 0)
            start = phx__wire_data_begin_cast(&w, flags, to[0]->out.hops, n);
        phx__wire_data_put_cast_line(&w, flags, &d);
    }
    phx__wire_data_end_cast(&w, start, flags, &d);
    PHX_ASSERT(!w.bad);
    b->used = w.size;
    return b;
}

/* The next frame to peer belongs to a multicast: emits it together with those of all others whose next frame
 * is the same. 1; 0: there is no other, or no memory for the head; PHX_ENOMEM: the link's queue has none. */
static int sched_multicast(struct phx__post *p, struct phx__post_peer *peer, struct phx__slices *out)
{
    const struct phx__flow_record r = *phx__post_flow_peek(&peer->out);
    struct phx__post_peer *to[PHX__CAST_LINES];
    struct phx__post_source *s;
    struct phx__block *head;
    uint32_t n = 0, i;
    int err;

    if (!sched_multicast_joins(&peer->out, &r))
        return 0;
    to[n++] = peer;
    for (s = peer->own.next; s != &peer->own && n < PHX__CAST_LINES; s = s->next)
        if (s == &s->peer->own && sched_multicast_joins(&s->peer->out, &r))
            to[n++] = s->peer;
    if (n == 1 || (head = sched_multicast_head(p, to, n)) == NULL)
        return 0;
    err = sched_emit(p, out, head, head->data, head->used, &r);
    phx__buf_block_drop(head);
    for (i = 0; i < n && err == 0; i++) {
        (void)phx__post_flow_mark(&to[i]->out, *p->ops.now);
        phx__post_sched_arm(p, to[i]);
    }
    return err == 0 ? 1 : err;
}

/* The question follows what is under way. 0 or PHX_ENOMEM. */
static int sched_ask(struct phx__post *p, struct phx__flow_out *o, struct phx__slices *out)
{
    struct phx__block *b = phx__post_flow_question(o);
    int err = b == NULL ? PHX_ENOMEM : sched_emit(p, out, b, b->data, b->used, NULL);

    phx__buf_block_drop(b);
    return err;
}

/* Appends frames of one source until `out` has `most` bytes. 0 or PHX_ENOMEM. */
static int sched_serve_own(struct phx__post *p, struct phx__post_peer *peer, struct phx__slices *out,
                           size_t most)
{
    const struct phx__post_owed *ack = &peer->ack;
    struct phx__flow_record *r;
    int err = 0;

    /* An ack that is owed goes with the data. In a brisk exchange the next one will say all that it does. */
    if (ack->owed && (ack->hurry || ack->frames >= SCHED_RIDE_FRAMES || ack->bytes >= SCHED_RIDE_BYTES
                      || *p->ops.now >= ack->last_at + SCHED_RIDE_EVERY || !phx__ring_is_empty(&ack->link)))
        phx__post_sched_ack(p, peer);
    while (err >= 0 && out->bytes < most && (r = phx__post_flow_peek(&peer->out)) != NULL) {
        err = r->multicast == NULL ? 0 : sched_multicast(p, peer, out);
        if (err == 0 && (err = sched_emit(p, out, r->head, r->head->data + r->head_at, r->head_size, r)) == 0)
            p->counters.retransmitted += (uint64_t)phx__post_flow_mark(&peer->out, *p->ops.now);
    }
    if (err >= 0 && peer->out.path.asks && out->bytes < most)
        err = sched_ask(p, &peer->out, out);
    phx__post_sched_arm(p, peer);
    return err < 0 ? err : 0;
}

static int sched_serve_transit(struct phx__post *p, struct phx__post_peer *peer, struct phx__slices *out,
                               size_t most)
{
    struct phx__slices *q = &peer->transit.queue;

    while (out->bytes < most && q->bytes > 0) {
        const struct phx__slice *s = &q->ring[q->first];
        const size_t size = PHX__WIRE_FIELD + (size_t)phx__buf_load_u32(s->data);

        PHX_ASSERT(size <= s->size); /* frames went in whole, each into one block */
        if (sched_emit(p, out, s->block, s->data, size, NULL) != 0)
            return PHX_ENOMEM;
        phx__buf_slices_take(q, size);
        peer->transit.frames--;
        p->transit.bytes -= size;
    }
    return 0;
}

size_t phx__post_sched_pull(struct phx__post *p, uint32_t nbr, struct phx__slices *out, size_t budget)
{
    const size_t start = out->bytes;
    struct phx__post_source *s;
    size_t before, most;
    int err = 0;

    if (nbr >= p->node_capacity)
        return 0;
    while (err == 0 && (before = out->bytes) < start + budget && (s = p->nodes[nbr].ready) != NULL) {
        most = PHX__MIN(before + SCHED_QUANTUM - s->served, start + budget);
        err = s == &s->peer->own ? sched_serve_own(p, s->peer, out, most)
                                 : sched_serve_transit(p, s->peer, out, most);
        s->served += out->bytes - before;
        if (err != 0) {
            sched_unlist(p, s);
            sched_list_again(p);
        } else if (out->bytes < most || !sched_is_ready(s)) {
            sched_unlist(p, s);
        } else if (s->served >= SCHED_QUANTUM) {
            s->served = 0;
            p->nodes[nbr].ready = s->next;
        }
    }
    return out->bytes - start;
}

/* ---- Changes */

void phx__post_sched_route(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    if (peer == NULL)
        return;
    sched_ask_route(p, peer);
    phx__post_sched_list(p, &peer->own);
    phx__post_sched_list(p, &peer->transit.source);
}

void phx__post_sched_window(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);
    uint32_t window = peer != NULL && peer->out.base == 0 ? p->ops.window(p->ops.ctx, node) : 0;

    if (window != 0) { /* later acks say it */
        peer->out.window = window;
        phx__post_sched_list(p, &peer->own);
    }
}

PHX__COLD void phx__post_sched_retry(struct phx__post *p)
{
    if (!p->list_again)
        return;
    p->list_again = 0;
    for (uint32_t node = 0; node < p->node_capacity; node++)
        phx__post_sched_route(p, node);
}

void phx__post_sched_abandon(struct phx__post *p, uint32_t nbr)
{
    if (nbr >= p->node_capacity)
        return;
    sched_drop_past(p, nbr, NULL);
    while (p->nodes[nbr].ready != NULL) {
        sched_unlist(p, p->nodes[nbr].ready);
        sched_list_again(p);
    }
}

PHX__COLD void phx__post_sched_reset(struct phx__post *p, struct phx__post_peer *peer)
{
    sched_drop_transit(p, peer);
    sched_unlist(p, &peer->own);
    peer->ack.confirm = 0;
    phx__post_flow_restart(&peer->out, 0, sched_window(p, peer->node));
    sched_ask_route(p, peer); /* transit need not wait for what is under way any more */
}

static size_t sched_brought_most(const struct phx__post *p)
{
    return p->mem->limit == 0 ? SCHED_BROUGHT_MOST : p->mem->limit / 32;
}

int phx__post_sched_may_bring(const struct phx__post *p, const struct phx__flow_in *in, size_t size)
{
    const struct phx__post_peer *by = phx__post_sched_find(p, in->by);
    size_t most = sched_brought_most(p);

    if (by == NULL || in->message.size > most)
        return by == NULL || by->large == 0;
    return by->brought == 0 || by->brought + size <= most;
}

void phx__post_sched_book(struct phx__post *p, struct phx__flow_in *in, size_t size)
{
    struct phx__post_peer *by = phx__post_sched_find(p, in->by);

    p->recv.bytes += size - in->booked;
    if (by != NULL && in->message.size > sched_brought_most(p))
        by->large = size > 0 || (by->large && in->booked == 0);
    else if (by != NULL) /* it may be another one by now */
        by->brought = size + (by->brought > in->booked ? by->brought - in->booked : 0);
    in->booked = size;
}

void phx__post_sched_drop_part(struct phx__post *p, struct phx__flow_in *in)
{
    struct phx__block *part = in->part;

    in->opened = 0;
    in->part = NULL;
    if (part == NULL)
        return;
    phx__post_sched_book(p, in, 0);
    phx__buf_block_retire(part);
    phx__buf_block_drop(part);
}

void phx__post_sched_give_up(struct phx__post *p, struct phx__flow_in *in)
{
    if (in->part != NULL && !in->opened) /* of an opened one nothing was taken: it can begin again */
        in->state = PHX__FLOW_HALF;
    phx__post_sched_drop_part(p, in);
}

/* The flow to it goes on: a new life asks for it from what was acknowledged on. To send that again as another
 * flow would be wrong, because somebody else may have said that the node lives anew. */
void phx__post_sched_reborn(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    if (node < p->node_capacity && p->nodes[node].past != NULL)
        p->nodes[node].past->life = ++p->lives;
    if (peer == NULL)
        return;
    phx__post_sched_give_up(p, &peer->in);
    peer->life = ++p->lives;
}

PHX__COLD void phx__post_sched_restart(struct phx__post *p, struct phx__post_peer *peer, uint64_t epoch)
{
    phx__post_sched_drop_part(p, &peer->in);
    peer->in.state = PHX__FLOW_ALL;
    peer->in.next = peer->in.done = 0;
    peer->in.epoch = epoch;
    phx__post_returns_reset(&peer->returns);
    peer->ack.gap_from = 0;
    peer->ack.stuck = 0;
}

PHX__COLD void phx__post_sched_free(struct phx__post *p, struct phx__post_peer *peer)
{
    PHX_ASSERT(phx__ring_is_empty(&peer->boxes.bound) && phx__ring_is_empty(&peer->boxes.idle)
               && phx__ring_is_empty(&peer->waiters));
    p->nodes[peer->node].peer = NULL;
    sched_drop_transit(p, peer);
    sched_unlist(p, &peer->own);
    phx__ring_del(&peer->room_link);
    phx__ring_del(&peer->ack.link);
    phx__timer_drop(p->timers, peer->timer);
    phx__post_sched_restart(p, peer, 0);
    phx__post_flow_truncate(&peer->out, 0);
    phx__post_flow_trim(&peer->out);
    phx__mem_put(p->mem, peer, sizeof *peer);
}

/* Nothing is under way, nor half done, nor waits for it. */
static int sched_is_at_rest(const struct phx__post *p, const struct phx__post_peer *peer)
{
    const struct phx__post_returns *back = &peer->returns;
    const struct phx__ring *all = &p->boxes.refused;

    for (const struct phx__ring *r = all->next; r != all; r = r->next)
        if (((const struct phx__box *)(const void *)r)->peer == peer)
            return 0;
    return peer->out.count == 0 && peer->transit.queue.bytes == 0 && phx__ring_is_empty(&peer->waiters)
           && phx__ring_is_empty(&peer->boxes.bound) && phx__ring_is_empty(&peer->boxes.idle)
           && phx__ring_is_empty(&p->boxes.opened) && peer->in.part == NULL && peer->in.done == 0
           && peer->in.state == PHX__FLOW_ALL && back->seen == back->count && back->refused.count == 0;
}

void phx__post_sched_shrink(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);
    struct phx__post_past *past;

    if (peer == NULL || !sched_is_at_rest(p, peer) || (past = phx__mem_get(p->mem, sizeof *past)) == NULL)
        return;
    *past = (struct phx__post_past){ peer->life, peer->in.epoch, peer->in.next, peer->returns.count };
    phx__post_sched_free(p, peer);
    p->nodes[node].past = past;
}

/* Silence for a while: does the flow ask? */
static void sched_silent(struct phx__post *p, struct phx__post_peer *peer)
{
    struct phx__post_usual *u = &p->usual[peer->nbr == peer->node];
    uint64_t now = *p->ops.now, crowd = p->pending.count * SCHED_RTT_EACH;
    uint64_t rtt = now - u->at < SCHED_RTT_FRESH ? u->rtt : PHX__MIN(u->rtt, crowd);

    phx__post_flow_silent(&peer->out, rtt, now >= u->asked + SCHED_ASK_EVERY, p->lost_at, now);
    u->asked = peer->out.path.asks ? now : u->asked;
}

int phx__post_sched_due(struct phx__post *p, struct phx__post_peer *peer)
{
    struct phx__flow_out *o = &peer->out;

    if (peer->ack.at <= *p->ops.now)
        phx__post_sched_ack(p, peer);
    if (o->rto_at <= *p->ops.now) {
        o->rto_at = PHX__NEVER;
        /* Without a route silence means nothing. A better one is taken if there is no answer, either: a
         * second time-out where the former swallows all, and nothing is sent twice where it is slow. */
        if (peer->routed && o->sent > o->base)
            sched_silent(p, peer);
        if (peer->routed && o->path.drains && o->path.asks && ++o->path.drains > 2)
            phx__post_flow_rewind(o);
        phx__post_sched_route(p, peer->node);
    }
    if (peer->in.part != NULL && peer->in.at + SCHED_PART_IDLE <= *p->ops.now)
        phx__post_sched_give_up(p, &peer->in);
    if (peer->idle_at > *p->ops.now)
        return 0;
    peer->idle_at = PHX__NEVER;
    phx__post_flow_trim(&peer->out);
    if (peer->transit.queue.bytes == 0 || !peer->routed)
        sched_drop_transit(p, peer);
    else
        peer->idle_at = *p->ops.now + SCHED_IDLE;
    return 1;
}
