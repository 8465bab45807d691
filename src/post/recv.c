/* recv.c - frames that arrive: messages, acks, transit, and buffers of the application's. */

/* A message of several fragments is assembled in one block, the *part* of the flow it comes in. The links ask
 * for a fragment's place (phx__post_recv_place) as it begins to come, and read the payload into it. Nothing
 * of it counts before all of it is here and is checked like every other frame (recv_fragment).
 *
 * The part may be the application's memory (on_begin). Each such buffer ends in one of two ways:
 *
 *      begin --> shown to the application (ops.message, with this very buffer)
 *            '-> abandoned: the flow dropped it, for whatever reason
 *
 * The reasons are many (a new epoch, a peer that failed, a name that moved, a sender that cannot count),
 * their place is one: the flow retires the part, which calls its release function. That may not call the
 * host, so it lists the buffer for the next phx__post_run. The list's links were made with the part.
 *
 * The messages of a run are taken one by one, as if each had come by itself; the application may send, cancel
 * and give the name away in between. Then the rest is one return; if there is no room for that, the frame
 * comes again and the messages that were taken are passed over. The ack waits for the whole run.
 *
 * Of a run with several names all messages come back from one place on, too, and further returns say which of
 * their names are not here either, as far as there is room. So one wrong name does not keep the others: they
 * go again at once, while it waits. */
#include "post/recv.h"

/* An ack waits for no more frames than this, nor beyond a quarter of the window, ours or the peer's. */
#define RECV_ACK_FRAMES 64u
/* One gap is reported once in this time, so that a burst behind a hole costs one ack. */
#define RECV_GAP_AGAIN (10 * PHX__MS)
/* So long, and so many bytes in all, frames are kept whose source is not known yet. */
#define RECV_EARLY_US (10 * PHX__SECOND)
#define RECV_EARLY_MOST 65536u

/* Memory for a message grows with what has come of it, to this many times that, so that nobody has much set
 * aside for little. Of 1 MiB all is there from the first fragment on; a larger one, up to 16 MiB, is moved
 * once, when a sixteenth of it is here. */
#define RECV_AHEAD 16u
/* All together have half of cfg.mem_limit, so that others never keep this node from sending, and the last one
 * as much as it needs. Where that is full those of which nothing has come for so long, nor came into a
 * place since then, give way and must come again. */
#define RECV_STILL (500 * PHX__MS)

struct phx__begun {
    struct phx__begun *next;
    struct phx__post *post;
    void *buffer;
    size_t size;
    int shown;
};

/* ---- Buffers of the application */

static void recv_released(const void *data, size_t size, void *arg)
{
    struct phx__begun *b = arg;

    (void)data, (void)size;
    if (b->shown) {
        phx__mem_put(b->post->mem, b, sizeof *b);
        return;
    }
    b->next = b->post->recv.abandoned;
    b->post->recv.abandoned = b;
}

void phx__post_recv_tell_abandoned(struct phx__post *p, int all)
{
    uint32_t told = 0;

    while (p->recv.abandoned != NULL && (all || phx__post_outcome_may_call(p, PHX__SHARE_REST, told++))) {
        struct phx__begun *b = p->recv.abandoned, own = *b;

        p->calls -= p->calls > 0;
        p->recv.abandoned = own.next;
        phx__mem_put(p->mem, b, sizeof *b);
        p->ops.abandon(p->ops.ctx, own.buffer, own.size);
    }
}

/* A buffer of on_begin: one that is filled, or whose on_abandon is due. */
PHX__COLD static int recv_reclaim_part(struct phx__post *p, const void *buffer)
{
    struct phx__begun **at = &p->recv.abandoned, *b;
    int got = 0;

    for (uint32_t i = 0; i < p->node_capacity && got == 0; i++) {
        struct phx__flow_in *in = p->nodes[i].peer != NULL ? &p->nodes[i].peer->in : NULL;

        if (in == NULL || in->part == NULL || in->part->release != recv_released)
            continue;
        b = in->part->arg;
        if ((got = phx__buf_block_reclaim(in->part, buffer, b)) > 0) {
            phx__mem_put(p->mem, b, sizeof *b);
            phx__post_sched_book(p, in, in->message.size);
        }
    }
    while (*at != NULL && (*at)->buffer != buffer)
        at = &(*at)->next;
    if ((b = *at) == NULL)
        return got;
    *at = b->next;
    phx__mem_put(p->mem, b, sizeof *b);
    return 1;
}

/* The records of a large message hold one block, and with the first all have the copy. */
PHX__COLD int phx__post_recv_reclaim(struct phx__post *p, const void *buffer, const void *arg)
{
    int got = recv_reclaim_part(p, buffer), some = got;
    struct phx__queued *q;
    uint32_t i, k;

    for (i = 0; i < p->outcomes.count && got >= 0; i++, some += got)
        got = phx__buf_block_reclaim(p->outcomes.list[p->outcomes.first + i].body, buffer, arg);
    for (i = 0; i < p->store.count && got >= 0; i++)
        for (q = p->store.boxes[i]->head; q != NULL && got >= 0; q = q->next, some += got)
            if ((got = phx__buf_block_reclaim(q->message.body, buffer, arg)) > 0)
                q->message.data = q->message.body->data;
    for (i = 0; i < p->node_capacity && got >= 0; i++)
        for (k = 0; p->nodes[i].peer != NULL && k < p->nodes[i].peer->out.count && got >= 0; k++, some += got)
            got = phx__buf_block_reclaim(phx__post_flow_at(&p->nodes[i].peer->out, k)->body, buffer, arg);
    return got < 0 ? got : some > 0;
}

/* A block around the application's buffer; NULL: it gives none, or no memory. Then nothing may fail. */
static struct phx__block *recv_begin(struct phx__post *p, uint32_t source, const struct phx__data *d)
{
    struct phx__begun *b = phx__mem_zero(p->mem, sizeof *b);
    struct phx__block *part =
        b == NULL ? NULL : phx__buf_block_wrap(p->mem, NULL, (size_t)d->total, recv_released, b);
    struct phx_message m = { d->to, d->from, d->tag, p->ids->at[source], NULL, (size_t)d->total };

    if (part != NULL) {
        b->size = m.size;
        b->post = p;
        p->calls -= p->calls > 0;
        b->buffer = part->data = p->ops.begin(p->ops.ctx, &m);
        part->used = 0;
        if (b->buffer != NULL)
            return part;
    }
    phx__mem_put(p->mem, part, sizeof *part);
    phx__mem_put(p->mem, b, sizeof *b);
    return NULL;
}

/* What a first fragment says. */
static void recv_read_first(struct phx__message *m, const struct phx__data *d, int flags)
{
    m->to = d->to;
    m->from = d->from;
    m->tag = d->tag;
    m->size = (size_t)d->total;
    m->data = d->payload;
    m->run = flags & (int)PHX__DATA_RUNS;
    m->rest = d->more;
    m->rest_size = m->run == 0 ? 0 : d->size - m->size;
}

/* Could there be no room for it even if no other message was here? */
static int recv_never_fits(const struct phx__post *p, size_t size)
{
    const size_t each = sizeof(struct phx__queued) + sizeof(struct phx__block) + sizeof(struct phx__outcome);

    return !phx__mem_could_hold_mail(p->mem, size, p->pending.bytes + p->pending.count * each
                                                       + p->transit.bytes + p->recv.bytes);
}

static int recv_has_room(const struct phx__post *p, const struct phx__flow_in *in, size_t size)
{
    size_t others = p->recv.bytes - in->booked, half = p->mem->limit / 2;

    return phx__mem_has_room_for_mail(p->mem, size) && (p->mem->limit == 0 || others < half);
}

/* Messages that stand still give way to this one. */
PHX__COLD static void recv_give_way(struct phx__post *p, const struct phx__flow_in *wants)
{
    const uint64_t now = *p->ops.now;

    if (now < p->recv.look_at)
        return;
    p->recv.look_at = now + RECV_STILL / 8;
    for (uint32_t i = 0; i < p->node_capacity; i++) {
        struct phx__flow_in *in = p->nodes[i].peer != NULL ? &p->nodes[i].peer->in : NULL;

        if (in == NULL || in == wants || in->booked == 0 || in->at + RECV_STILL > now)
            continue;
        in->at = now;
        if (in->part->moved == 0)
            phx__post_sched_give_up(p, in);
        else
            in->part->moved = 0;
    }
}

/* Room for the first `need` bytes of the message, and for some more. 0: none now. */
PHX__COLD static int recv_make_room(struct phx__post *p, struct phx__flow_in *in, size_t need)
{
    size_t size = in->message.size;
    struct phx__block *part;

    if (in->part != NULL && need <= in->part->capacity)
        return 1;
    /* Where both do not fit side by side it has all from the beginning. */
    if (need < size / RECV_AHEAD && phx__mem_has_room_for_mail(p->mem, need * RECV_AHEAD + size))
        size = PHX__MIN(RECV_AHEAD, size / RECV_AHEAD / need) * need;
    if (in->part == NULL && !phx__post_sched_may_bring(p, in, size))
        return 0;
    if (!recv_has_room(p, in, size))
        recv_give_way(p, in);
    part = recv_has_room(p, in, size) ? phx__buf_block_new(p->mem, size) : NULL;
    if (part == NULL)
        return 0;
    if (in->part != NULL) {
        part->used = in->part->used;
        memcpy(part->data, in->part->data, part->used);
        phx__buf_block_retire(in->part);
        phx__buf_block_drop(in->part);
    }
    in->part = part;
    phx__post_sched_book(p, in, size);
    return 1;
}

/* A part for the message whose first fragment this is; 0: no memory. */
static int recv_open(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d)
{
    struct phx__flow_in *in = &peer->in;
    const struct phx__message *m = &in->message;

    if (!in->opened || m->to != d->to || m->from != d->from || m->tag != d->tag || m->size != d->total) {
        phx__post_sched_drop_part(p, in); /* there is one if the sender broke off a message */
        recv_read_first(&in->message, d, 0);
        in->by = p->recv.from;
        if (in->by != PHX__SELF && phx__post_sched_open(p, in->by) == NULL)
            return 0;
        if (p->ops.begin != NULL)
            in->part = recv_begin(p, peer->node, d);
    }
    if (!recv_make_room(p, in, d->size))
        return 0;
    in->opened = 1;
    in->at = *p->ops.now;
    phx__post_sched_arm(p, peer);
    return 1;
}

/* Does the fragment fit behind what is there? The last one completes it, others leave something. */
static int recv_fits(const struct phx__flow_in *in, const struct phx__data *d, int flags)
{
    size_t rest = in->part == NULL ? 0 : in->message.size - in->part->used;

    if (in->part == NULL || in->opened != ((flags & (int)PHX__DATA_FIRST) != 0))
        return 0;
    return (flags & (int)PHX__DATA_LAST) != 0 ? d->size == rest : d->size < rest;
}

/* The next frame is taken, and there is nothing more to do with its message. */
static void recv_took(struct phx__post *p, struct phx__flow_in *in)
{
    phx__post_sched_drop_part(p, in);
    in->next++;
    in->done = 0;
}

/* ---- Frames */

/* out->source is set already: it is the same for all messages of a run. */
static void recv_show(struct phx__post *p, const struct phx__message *m, struct phx_message *out)
{
    out->to = m->to;
    out->from = m->from;
    out->tag = m->tag;
    out->data = m->size > 0 ? m->data : NULL;
    out->size = m->size;
    p->counters.messages_in++;
    p->ops.message(p->ops.ctx, out);
}

void phx__post_recv_deliver(struct phx__post *p, const struct phx__message *m, uint32_t source)
{
    struct phx_message out;

    out.source = p->ids->at[source];
    p->calls -= p->calls > 0;
    recv_show(p, m, &out);
}

/* Why messages to this name must be returned; 0: they need not. */
static int recv_refusal(struct phx__post *p, const struct phx__post_peer *peer, uint64_t name)
{
    if (p->ops.owner(p->ops.ctx, name) != PHX__SELF)
        return (int)PHX__RETURN_MOVED;
    return phx__post_returns_refuses(&peer->returns, name) ? (int)PHX__RETURN_AGAIN : 0;
}

static int recv_is_large(const struct phx__post *p, uint64_t size)
{
    return size > p->limits.max_message ? (int)PHX__RETURN_LARGE : 0;
}

/* Why the message that begins here must be returned; 0: it need not. */
static int recv_reason(struct phx__post *p, const struct phx__post_peer *peer, const struct phx__data *d)
{
    int reason = recv_refusal(p, peer, d->to);

    return reason != 0 ? reason : recv_is_large(p, d->total);
}

/* Returns the message at that place of the frame and all that follow it. 0: not now. */
static int recv_return(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                       uint64_t name, uint32_t place, int reason)
{
    struct phx__return t = { d->number, (uint16_t)place, reason };

    if (phx__post_returns_add(&peer->returns, name, &t) != 0)
        return 0;
    phx__post_sched_owe(p, peer, 1);
    return 1;
}

/* Returns the message of which this is a fragment. 0: not taken. */
static int recv_turn_back(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                          int flags, int reason)
{
    int first = (flags & (int)PHX__DATA_FIRST) != 0, last = (flags & (int)PHX__DATA_LAST) != 0;

    if (!recv_return(p, peer, d, first ? d->to : peer->in.message.to, 0, reason))
        return 0;
    if (!first && peer->in.state == PHX__FLOW_TOLD)
        peer->returns.all = peer->returns.count;
    recv_took(p, &peer->in);
    peer->in.state = last ? PHX__FLOW_ALL : PHX__FLOW_RETURNED;
    return 1;
}

/* The messages of a run with NAMES that follow m, which is returned, come back, too. So must what follows. */
PHX__COLD static void recv_refuse_rest(struct phx__post *p, struct phx__post_peer *peer,
                                       const struct phx__data *d, struct phx__message m, uint32_t place)
{
    struct phx__post_returns *back = &peer->returns;
    const uint32_t before = back->count;

    for (; phx__post_flow_message_next(&m); place++) {
        if (phx__post_returns_since(back, m.to) >= before)
            continue;
        if (p->ops.owner(p->ops.ctx, m.to) == PHX__SELF
            || !recv_return(p, peer, d, m.to, place, (int)PHX__RETURN_MOVED))
            phx__post_returns_refuse(back, m.to);
    }
}

/* A frame of whole messages: one, or a run. A callback may change names, and then the owner is asked again. A
 * run may have more messages that are too large than there is room for returns, and no ack may name a return
 * of a frame that was not taken. So they are dropped; their sender asked for no outcome. When the step has
 * had its time, the rest waits: the frame is to come again. */
static int recv_take_whole(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                           int flags)
{
    struct phx__flow_in *in = &peer->in;
    struct phx__message m;
    struct phx_message out;
    uint64_t version = *p->ops.version - 1, name = d->to; /* of the reason */
    uint32_t place = 0;
    int reason = 0, why;

    in->state = PHX__FLOW_ALL;
    recv_read_first(&m, d, flags);
    out.source = p->ids->at[peer->node];
    do {
        if (place++ < in->done)
            continue;
        if (version != *p->ops.version || ((flags & (int)PHX__DATA_NAMES) != 0 && name != m.to)) {
            version = *p->ops.version;
            name = m.to;
            reason = recv_refusal(p, peer, name);
        }
        why = reason != 0 || d->more > 0 ? reason : recv_is_large(p, m.size);
        if (why != 0 && !recv_return(p, peer, d, m.to, place - 1, why))
            return 0;
        if (why != 0) {
            if (d->more > 0 && (m.run & (int)PHX__DATA_NAMES) != 0)
                recv_refuse_rest(p, peer, d, m, place);
            break; /* and all the rest */
        }
        if (p->calls == 0 && (p->ids->used[peer->node] != PHX__ID_USED /* as the last callback has said */
                              || !phx__post_outcome_may_call(p, PHX__SHARE_READ, 1))) {
            p->recv.stopped = 1;
            return 0;
        }
        p->calls--;
        if (!recv_is_large(p, m.size)) {
            recv_show(p, &m, &out);
        } else {
            p->counters.dropped++;
            phx__post_outcome_lost(p, 1, m.to, PHX_ETOOBIG);
        }
        in->done = place;
    } while (phx__post_flow_message_next(&m));
    recv_took(p, in);
    return 1;
}

/* All fragments are here. The name may have moved since the first one. 0: not taken. */
static int recv_take_part(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                          int flags)
{
    struct phx__flow_in *in = &peer->in;

    if (p->ops.owner(p->ops.ctx, in->message.to) != PHX__SELF)
        return recv_turn_back(p, peer, d, flags, (int)PHX__RETURN_MOVED);
    in->message.data = in->part->data;
    p->recv.unseen = 0;
    phx__post_recv_deliver(p, &in->message, peer->node);
    if (!p->recv.unseen && in->part != NULL && in->part->release == recv_released)
        ((struct phx__begun *)in->part->arg)->shown = 1;
    recv_took(p, in);
    return 1;
}

/* A fragment, whose message has a part. A last one counts when its message was delivered. 0: not taken. */
static int recv_take_fragment(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                              int flags)
{
    struct phx__flow_in *in = &peer->in;
    int last = (flags & (int)PHX__DATA_LAST) != 0;

    if (in->state != PHX__FLOW_ALL) { /* the beginning was returned or given up */
        if (last && in->state != PHX__FLOW_RETURNED)
            return recv_turn_back(p, peer, d, flags, (int)PHX__RETURN_AGAIN);
        recv_took(p, in);
        if (last)
            in->state = PHX__FLOW_ALL;
        return 1;
    }
    if (!recv_fits(in, d, flags)) { /* its sender broke the message off, or cannot count */
        recv_took(p, in);
        p->counters.dropped++;
        return 1;
    }
    if (!recv_make_room(p, in, in->part->used + d->size))
        return 0;
    in->opened = 0;
    if (d->payload != in->part->data + in->part->used)
        memcpy(in->part->data + in->part->used, d->payload, d->size);
    if (last)
        return recv_take_part(p, peer, d, flags);
    in->part->used += d->size;
    in->next++;
    in->done = 0;
    in->at = *p->ops.now;
    return 1;
}

/* The frame that comes next. 0: it was not taken. */
static int recv_take(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d, int flags)
{
    int reason;

    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__post_returns_seen(&peer->returns, d->seen);
        if ((flags & (int)PHX__DATA_LAST) != 0)
            return recv_take_whole(p, peer, d, flags);
        if ((reason = recv_reason(p, peer, d)) != 0)
            return recv_turn_back(p, peer, d, flags, reason);
        if (!recv_open(p, peer, d))
            return recv_never_fits(p, (size_t)d->total)
                   && recv_turn_back(p, peer, d, flags, (int)PHX__RETURN_LARGE);
        peer->in.state = PHX__FLOW_ALL;
    }
    return recv_take_fragment(p, peer, d, flags);
}

/* A flow that is not the one known, or whose beginning is not: it may be new, a relay may have kept it, or
 * somebody made it up. Its source says which flow is its own, and is not asked by name of any. */
static void recv_ask(struct phx__post *p, struct phx__post_peer *peer)
{
    uint8_t key[8];

    if (*p->ops.now < peer->ack.ask_from
        || (peer->key == 0 && p->ops.random(p->ops.ctx, key, sizeof key) != 0))
        return;
    peer->key = peer->key != 0 ? peer->key : phx__buf_load_u64(key);
    peer->ack.ask = 1;
    peer->ack.ask_from = *p->ops.now + RECV_GAP_AGAIN;
    phx__post_sched_owe(p, peer, 1);
}

/* One that stays may be below all that the source has: an ack of a former life counted there, or the start
 * of a flow was taken that this node had forgotten. So the source is asked. */
static void recv_gap(struct phx__post *p, struct phx__post_peer *peer)
{
    p->counters.dropped++;
    /* What follows a message that could not be taken is expected. */
    if (peer->ack.stuck || (peer->ack.gap_next == peer->in.next && *p->ops.now < peer->ack.gap_from))
        return;
    if (peer->ack.gap_next == peer->in.next)
        recv_ask(p, peer);
    peer->ack.gap = 1;
    peer->ack.gap_next = peer->in.next;
    peer->ack.gap_from = *p->ops.now + RECV_GAP_AGAIN;
    phx__post_sched_owe(p, peer, 1);
}

static void recv_arrived(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                         int flags)
{
    size_t window = peer->out.window < p->limits.window ? peer->out.window : p->limits.window;

    if (d->epoch != peer->in.epoch) {
        if (peer->in.epoch != 0 || d->number != 0) {
            p->counters.dropped++;
            recv_ask(p, peer);
            return;
        }
        phx__post_sched_restart(p, peer, d->epoch);
    }
    if (d->number < peer->in.next) {
        p->counters.duplicates++;
        phx__post_sched_owe(p, peer, 1); /* our ack may have been lost */
    } else if (d->number > peer->in.next) {
        recv_gap(p, peer);
    } else if (d->size == 0 && (flags & (int)(PHX__DATA_FIRST | PHX__DATA_LAST)) == 0) {
        phx__post_sched_owe(p, peer, 1); /* a question: nothing is missing */
    } else if (recv_take(p, peer, d, flags)) {
        peer->ack.bytes += d->size;
        peer->ack.frames++;
        peer->ack.hurry |= (flags & (int)PHX__DATA_SOON) != 0;
        phx__post_sched_owe(p, peer, peer->ack.stuck || peer->ack.bytes >= window / 4
                                         || peer->ack.frames >= RECV_ACK_FRAMES);
        peer->ack.stuck = peer->ack.gap = 0;
    } else if (!p->recv.stopped) {
        p->counters.dropped++;
        if (!peer->ack.stuck)
            phx__post_sched_owe(p, peer, 1); /* and thereby close its window */
        peer->ack.stuck = 1;
    }
}

/* The other node with this id, or PHX__NONE; also if the host has said that it failed. */
static uint32_t recv_source(const struct phx__post *p, const struct phx_id *source)
{
    uint32_t node = p->recv.last_source;

    if (node >= p->ids->size || !p->ids->used[node] || !phx__id_equal(&p->ids->at[node], source))
        node = phx__id_find(p->ids, source);
    return node == PHX__SELF || node == PHX__NONE || p->ids->used[node] != PHX__ID_USED ? PHX__NONE : node;
}

/* A DATA frame of this node for us, or a line of a CAST frame. */
static void recv_fragment(struct phx__post *p, uint32_t node, const struct phx__data *d, int flags)
{
    struct phx__post_peer *peer = node == PHX__NONE ? NULL : phx__post_sched_open(p, node);

    p->recv.stopped = 0;
    if (peer == NULL) {
        p->counters.dropped++; /* no node to acknowledge to, or no memory: it comes again */
        return;
    }
    p->recv.last_source = node;
    recv_arrived(p, peer, d, flags);
}

/* The first messages of a node that starts may overtake the news that it exists. Its small frames wait for
 * that here, not for long. 1, or 0: there is no room. */
PHX__COLD static int recv_keep_early(struct phx__post *p, const uint8_t *frame, size_t size)
{
    struct phx__post_early *e = &p->recv.early;

    if (e->size == 0 || e->since + RECV_EARLY_US < *p->ops.now)
        *e = (struct phx__post_early){ e->at, 0, e->capacity, p->ids->count, *p->ops.now };
    if (size > RECV_EARLY_MOST - e->size
        || phx__mem_grow(p->mem, &e->at, &e->capacity, e->size + (uint32_t)size, 1) != 0)
        return 0;
    memcpy(e->at + e->size, frame, size);
    e->size += (uint32_t)size;
    return 1;
}

/* Those whose source is not known yet, or for which there is no time, are kept once more. */
PHX__COLD void phx__post_recv_early(struct phx__post *p)
{
    struct phx__post_early e = p->recv.early;
    struct phx__frame f;
    size_t used = 0;
    uint32_t late = 0;

    memset(&p->recv.early, 0, sizeof p->recv.early);
    p->recv.from = PHX__SELF;
    for (uint32_t at = 0; at < e.size && e.since + RECV_EARLY_US >= *p->ops.now; at += (uint32_t)used) {
        (void)phx__wire_parse(e.at + at, e.size - at, &f, &used);
        if (phx__post_recv_data(p, e.at + at, used, &f) == PHX_EAGAIN)
            late += (uint32_t)recv_keep_early(p, e.at + at, used);
    }
    if (p->recv.early.size > 0)
        p->recv.early.since = e.since;
    p->recv.early.known -= late > 0;
    phx__mem_put(p->mem, e.at, e.capacity);
}

int phx__post_recv_data(struct phx__post *p, const uint8_t *frame, size_t frame_size,
                        const struct phx__frame *f)
{
    struct phx__data d;
    uint32_t node;

    /* Also in transit: or the next node would blame its link with us. */
    if (frame_size < PHX__DATA_HEAD || phx__wire_data_get(f, &d) != 0)
        return PHX_EPROTO;
    if (memcmp(frame + PHX__DATA_TARGET, &p->ids->at[PHX__SELF], sizeof(struct phx_id)) != 0) {
        p->counters.dropped += phx__post_sched_transit(p, frame, frame_size, f) != 0;
        return 0;
    }
    if ((node = recv_source(p, &d.source)) == PHX__NONE
        && (phx__id_find(p->ids, &d.source) != PHX__NONE || recv_keep_early(p, frame, frame_size)))
        return 0;
    if (p->calls == 0 && !phx__post_outcome_may_call(p, PHX__SHARE_READ, 1))
        return PHX_EAGAIN;
    recv_fragment(p, node, &d, f->flags);
    return p->recv.stopped ? PHX_EAGAIN : 0;
}

/* ---- Multicast frames */

/* Lines with the same next hop are a chain, so that each is looked at once however many there are. */
int phx__post_recv_multicast(struct phx__post *p, const struct phx__frame *f)
{
    /* The target's place: PHX__SELF, the neighbour towards it or PHX__NONE; the next such line + 1. */
    uint32_t hop[PHX__CAST_LINES], next[PHX__CAST_LINES], i, generation;
    struct phx__post_peer *peer;
    struct phx__wire_cast c;
    struct phx__data d;
    int flags;

    if (phx__wire_data_get_cast(f, &c) != 0)
        return PHX_EPROTO;
    if (!phx__post_outcome_may_call(p, PHX__SHARE_READ, 1))
        return PHX_EAGAIN;
    for (i = c.count; i-- > 0;) {
        phx__wire_data_cast_line(&c, f, i, &d, &flags);
        hop[i] = phx__id_find(p->ids, &d.target);
        if (hop[i] != PHX__SELF && hop[i] != PHX__NONE)
            hop[i] = !p->limits.relay || f->hops <= 1 ? PHX__NONE
                                                      : p->ops.next(p->ops.ctx, hop[i], &generation);
        peer = hop[i] == PHX__SELF || hop[i] == PHX__NONE ? NULL : phx__post_sched_open(p, hop[i]);
        p->counters.dropped += peer == NULL && hop[i] != PHX__SELF;
        if (peer != NULL) {
            next[i] = peer->line;
            peer->line = i + 1;
        }
    }
    for (i = 0; i < c.count; i++)
        if (hop[i] != PHX__SELF && (peer = phx__post_sched_find(p, hop[i])) != NULL && peer->line == i + 1)
            phx__post_sched_forward(p, peer, f, &c, next);
    for (i = 0; i < c.count; i++) { /* last, because the application may do anything */
        if (hop[i] == PHX__SELF) {
            phx__wire_data_cast_line(&c, f, i, &d, &flags);
            recv_fragment(p, recv_source(p, &d.source), &d, flags | (int)PHX__DATA_SOON);
        }
    }
    return 0;
}

/* ---- Payloads read into place */

size_t phx__post_recv_place(struct phx__post *p, const uint8_t *front, size_t size, struct phx__place *out)
{
    struct phx__post_peer *peer;
    struct phx__data d;
    size_t head;
    int flags;

    head = phx__wire_data_front(front, size, &d, &flags);
    if (head == 0 || !phx__id_equal(&d.target, &p->ids->at[PHX__SELF]))
        return 0;
    peer = phx__post_sched_find(p, recv_source(p, &d.source));
    if (peer == NULL || d.epoch != peer->in.epoch || d.number != peer->in.next)
        return 0; /* not what comes next, or the first from there: read it as others */
    if ((flags & (int)PHX__DATA_FIRST) != 0
        && ((flags & (int)PHX__DATA_LAST) != 0 || recv_reason(p, peer, &d) != 0
            || (p->calls == 0 && !phx__post_outcome_may_call(p, PHX__SHARE_READ, 1))
            || !recv_open(p, peer, &d)))
        return 0;
    if (peer->in.state != PHX__FLOW_ALL || !recv_fits(&peer->in, &d, flags)
        || !recv_make_room(p, &peer->in, peer->in.part->used + d.size))
        return 0;
    *out = (struct phx__place){ phx__buf_block_hold(peer->in.part), peer->in.part->used, d.size, 0 };
    return head;
}

int phx__post_recv_ahead(const struct phx__post *p, uint32_t from, struct phx__place *out)
{
    const struct phx__post_peer *peer = phx__post_sched_find(p, from);
    struct phx__block *part = peer == NULL ? NULL : peer->in.part;

    /* Another link that holds it may have read the front of this very fragment. */
    if (part == NULL || peer->in.opened || part->refs > 1 || part->used == part->capacity)
        return 0;
    *out = (struct phx__place){ phx__buf_block_hold(part), part->used, 0, 0 };
    return 1;
}

void phx__post_recv_placed(struct phx__post *p, const uint8_t *head, size_t size, const uint8_t *payload)
{
    struct phx__data d;
    int flags;

    if (payload == NULL || phx__wire_data_front(head, size, &d, &flags) == 0) {
        p->counters.duplicates++;
        return;
    }
    d.payload = payload;
    recv_fragment(p, recv_source(p, &d.source), &d, flags);
}

/* ---- Acks */

/* One more return was taken in. No message may join a frame whose head has the former number. */
static void recv_saw(struct phx__flow_out *o)
{
    o->seen++;
    o->open.box = NULL;
}

/* Why something of the lowest record came back, and from which message on; 0: nothing did. Returns that name
 * none of our messages, or a too large one of a run, come from a dishonest target; they are counted, so that
 * the others are numbered right. */
static int recv_came_back(const struct phx__ack *a, struct phx__flow_out *o, uint32_t *place)
{
    const uint32_t rest = phx__post_flow_rest(phx__post_flow_at(o, 0));
    struct phx__return t;

    for (; o->seen - a->return_base < a->return_count; recv_saw(o)) {
        phx__wire_data_return(a, o->seen - a->return_base, &t);
        if (t.number > o->base)
            break;
        if (t.number == o->base && t.place <= rest && (rest == 0 || t.reason != (int)PHX__RETURN_LARGE)) {
            *place = t.place;
            return t.reason;
        }
    }
    return 0;
}

/* The lowest record's messages have ended, or came back from `place` on. */
static void recv_land(struct phx__post *p, const struct phx__flow_out *o, const struct phx__flow_record *r,
                      uint32_t place)
{
    int mixed = phx__post_flow_is_mixed(r);
    struct phx__message m;
    uint32_t i = 0;

    if (mixed)
        phx__post_flow_message(o, 0, &m);
    do {
        struct phx__box *b = mixed ? phx__post_store_find(&p->store, m.to) : r->box;

        b->retry_us = i++ < place ? 0 : b->retry_us; /* so its owner holds the name */
        phx__post_box_landed(p, b);
    } while (mixed && phx__post_flow_message_next(&m));
}

/* m: the record's message, if it has a token or came back. */
static void recv_end(struct phx__post *p, struct phx__flow_record *r, struct phx__message *m, int back)
{
    if (r->body != NULL && r->body->release != NULL && back == 0)
        p->outcomes.promised--; /* it is released here, unless a link still holds it */
    m->body = back == 0 ? NULL : r->body;
    if (r->token == 0 && back == 0)
        phx__post_store_multicast_drop(&p->store, r->multicast);
    else
        phx__post_outcome_add(p, m, back == 0 ? PHX_OK : PHX_ETOOBIG);
    p->pending.count -= 1 + phx__post_flow_rest(r);
}

/* Why the message to b at that place of the lowest record came back: a return of its own says it, which is
 * counted; or one before it did, and it goes again at once. */
PHX__COLD static int recv_why(const struct phx__ack *a, const struct phx__flow_out *o,
                              const struct phx__box *b, uint32_t place, uint32_t *seen)
{
    struct phx__return t = { 0, 0, 0 };

    if (*seen - a->return_base < a->return_count)
        phx__wire_data_return(a, *seen - a->return_base, &t);
    if (t.place != place || t.number != o->base)
        return b->returned && b->moved ? (int)PHX__RETURN_MOVED : (int)PHX__RETURN_AGAIN;
    ++*seen;
    return t.reason;
}

/* Queues the lowest record's messages again from `place` on, in one piece if they are for one name. 0, or
 * PHX_ENOMEM and none was queued. */
PHX__COLD static int recv_again(struct phx__post *p, struct phx__flow_out *o, const struct phx__ack *a,
                                uint32_t place, int reason)
{
    const int mixed = phx__post_flow_is_mixed(phx__post_flow_at(o, 0));
    uint32_t seen = o->seen + 1, n = 0; /* the caller counts the first return */
    struct phx__message m, from, one;
    int err;

    phx__post_flow_message(o, 0, &m);
    for (uint32_t i = 0; i < place; i++)
        (void)phx__post_flow_message_next(&m);
    from = m;
    do {
        one = mixed ? phx__post_flow_message_alone(&m, phx__post_store_find(&p->store, m.to)) : m;
        reason = n == 0 ? reason : recv_why(a, o, one.box, place + n, &seen);
        err = phx__post_box_take_back(p, &one, reason);
        n += err == 0;
    } while (err == 0 && mixed && phx__post_flow_message_next(&m));
    if (err == 0) {
        o->seen = seen - 1;
        p->pending.bytes += phx__post_flow_message_bytes(&from);
        p->pending.count -= place;
        return 0;
    }
    for (; n > 0; n--, (void)phx__post_flow_message_next(&from)) {
        one.box = phx__post_store_find(&p->store, from.to);
        phx__post_store_drop(&p->store, one.box, one.box->last_returned);
    }
    return err;
}

/* The lowest record's messages have arrived, or come back. 0, or PHX_ENOMEM and nothing changed. */
static int recv_acked(struct phx__post *p, struct phx__flow_out *o, const struct phx__ack *a)
{
    struct phx__flow_record r = *phx__post_flow_at(o, 0);
    int first = (r.flags & PHX__DATA_FIRST) != 0, last = (r.flags & PHX__DATA_LAST) != 0;
    struct phx__message m;
    uint32_t place = 0;
    int here = a->return_count == 0 ? 0 : recv_came_back(a, o, &place);
    int back = here != 0 || first ? here : o->front_back;
    int again = last && back != 0 && back != (int)PHX__RETURN_LARGE && r.limit != 0;

    if (again) {
        if (recv_again(p, o, a, place, back) != 0)
            return PHX_ENOMEM;
    } else if (here != 0 && here != (int)PHX__RETURN_LARGE) {
        phx__post_box_gate(p, r.box, here);
    }
    if (here != 0)
        recv_saw(o);
    if (last)
        recv_land(p, o, &r, back == 0 ? UINT32_MAX : place);
    if (r.token != 0 || back != 0)
        phx__post_flow_message(o, 0, &m);
    phx__post_flow_pop(o);
    if (!last && here != 0)
        o->front_back = here;
    p->pending.bytes -= phx__post_flow_payload(&r);
    if (last && !again)
        recv_end(p, &r, &m, back);
    phx__buf_block_drop(r.head);
    phx__buf_block_drop(r.body);
    return 0;
}

/* The source says which flow is its own. Of one that this node has forgotten, or never saw in a life with the
 * same id, what was acknowledged is over: it goes on where that ends. */
PHX__COLD static void recv_told(struct phx__post *p, struct phx__post_peer *peer, const struct phx__ack *a)
{
    peer->key = 0;
    if (a->tell_epoch == peer->in.epoch && a->tell_next <= peer->in.next)
        return;
    phx__post_sched_restart(p, peer, a->tell_epoch);
    peer->in.next = a->tell_next;
    peer->in.state = a->tell_next > 0 ? PHX__FLOW_TOLD : PHX__FLOW_ALL;
    /* Which names were refused is forgotten: what was put without knowledge of the last return comes back. */
    peer->returns.count = peer->returns.confirmed = peer->returns.all = a->tell_seen;
    peer->ack.gap = 1;
    phx__post_sched_owe(p, peer, 1);
}

/* What an ack says about the other direction. */
static void recv_confirmed(struct phx__post *p, struct phx__post_peer *peer, const struct phx__ack *a)
{
    if (a->tell != 0 && a->tell == peer->key)
        recv_told(p, peer, a);
    if (a->ask != 0) {
        peer->ack.tell = a->ask;
        phx__post_sched_owe(p, peer, 1);
    }
    if (a->seen == 0 || a->seen_epoch != peer->in.epoch)
        return;
    phx__post_returns_confirm(&peer->returns, a->seen);
    if (peer->ack.stuck) {
        peer->ack.gap = 1;
        phx__post_sched_owe(p, peer, 1);
    }
}

/* It rises at once, as a queue does that many share. */
static void recv_timed(struct phx__post *p, struct phx__post_usual *usual, uint64_t rtt)
{
    if (rtt == 0)
        return;
    usual->at = *p->ops.now;
    usual->rtt = rtt >= usual->rtt ? rtt : usual->rtt - (usual->rtt - rtt) / 8;
}

void phx__post_recv_ack(struct phx__post *p, const struct phx__ack *a, int gap)
{
    uint32_t node = phx__id_find(p->ids, &a->source);
    struct phx__post_peer *peer = phx__post_sched_find(p, node);
    struct phx__flow_out *o;
    size_t bytes;
    uint64_t rtt;
    int err = 0;

    if (peer == NULL)
        return;
    recv_confirmed(p, peer, a);
    o = &peer->out;
    if (a->epoch != o->epoch || o->epoch == 0 || a->next > o->left || a->next < o->base
        || (a->return_count > 0 && a->return_base > o->seen))
        return; /* of another life of the flow; nonsense; or overtaken by a later one */
    o->window = a->window;
    bytes = o->bytes;
    while (o->base < a->next && o->count > 0 && err == 0)
        err = recv_acked(p, o, a); /* without memory the rest is asked for again */
    if (a->return_count > 0) {
        peer->ack.confirm = 1;
        phx__post_sched_owe(p, peer, 1);
    }
    rtt = phx__post_flow_progress(o, bytes - o->bytes, *p->ops.now);
    if (gap && a->next == o->base && o->sent > o->base && *p->ops.now >= o->path.rewind_from)
        rtt += phx__post_flow_lost(o, *p->ops.now); /* 0 if the ack measured it */
    recv_timed(p, &p->usual[peer->nbr == peer->node], rtt);
    phx__post_box_ended(p, peer);
    if (o->path.drains)
        phx__post_sched_route(p, node);
    phx__post_sched_list(p, &peer->own);
}
