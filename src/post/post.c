/* post.c - BRAIN: messages end to end: names, credit, retransmission, transit and outcomes. */

/* What it promises. Between two nodes that live, every message sent to a name arrives once, and in
 * order per (sender, name), whatever relays and links in between do. Every message with a token
 * ends in one outcome. Whatever is queued here is bounded, and phx__post_send says PHX_EAGAIN
 * before a bound is passed.
 *
 * What it refuses to know: sockets, links, routes, claims, clocks. It asks two questions, who has
 * this name (ops.owner) and which neighbour leads to that node (ops.next), and is told when an
 * answer may have changed.
 *
 *      phx__post_send                                  phx__post_data
 *           |                                            |        | another node's
 *           | box of the name, owner?              ours  |        v
 *           +--- a node ----> flow (flow.c)              |   transit queue of the target
 *           +--- self ------> box, LOCAL                 |        |
 *           '--- nobody ----> box, HELD          owner?  |        |
 *                                      ops.message <--- self      |
 *                             back to its source <--- not self    |
 *                                                                 |
 *      phx__post_sched_pull(nbr): a circle of all flows and transit queues whose next hop is nbr
 *
 * The parts of this room, bottom to top: flow.c (numbers and windows of one flow), returns.c (what of
 * it was turned back), store.c (boxes: what there is for a name), sched.c (what goes out next), box.c
 * (where messages wait and how they end), and this one: what comes in, from the application and from
 * the network, and what a step has to do.
 *
 * Acknowledged means that the receiver's ops.message has returned, or, if the name is not at that
 * node, that the message comes back. Its source alone answers for it: nobody else keeps it, so
 * nobody else's death can lose it. What a receiver cannot take (no memory) it does not acknowledge;
 * it closes the sender's window instead and opens it again when it can.
 *
 * A frame may be a run of messages. They are taken one by one, as if each had come by itself, and the
 * application may send, cancel and let the name go in between. Then the rest goes back, as one return;
 * and if there is no room for that, the frame comes again and the messages that were taken are passed
 * over. A run is acknowledged when all of it was taken.
 *
 * Re-entrance: ops.message, done and writable, and the host's release functions may call
 * phx__post_send and phx__post_box_cancel. So nothing that those may move or free is held across such a
 * call. Release functions run only in phx__post_data, _ack, _run and _free: what is withdrawn
 * elsewhere goes out with its outcome. */
#include "post/post.h"

/* An ack waits for company, but not longer than so many frames (and not beyond a quarter of the window, ours
 * or the one of who waits for it: nobody has more under way than what it takes itself). */
#define POST_ACK_FRAMES 64u
/* One gap is reported once in this time, so that a burst behind a hole costs one ack. */
#define POST_GAP_AGAIN (10 * PHX__MS)

/* ---- Sending */

/* What could never be held need not be told of room there: it waits for an owner only. */
static struct phx__waiter **post_hold_waiters(struct phx__post *p, size_t size)
{
    return size > p->limits.hold_bytes ? &p->name_waiters : &p->hold_waiters;
}

static int post_find_peer(struct phx__post *p, struct phx__post_way *way, struct phx__post_peer *peer,
                          struct phx__waiter ***waiters)
{
    way->peer = peer;
    *waiters = &peer->waiters;
    return phx__post_box_credit(p, peer) ? 0 : PHX_EAGAIN;
}

/* The box has letters, or has to wait for what is under way. */
static int post_find_box(struct phx__post *p, size_t size, struct phx__post_way *way,
                         struct phx__waiter ***waiters)
{
    const struct phx__box *b = way->box;

    *waiters = b->state == PHX__BOX_HELD ? post_hold_waiters(p, size) : &way->box->waiters;
    return phx__post_box_box_accepts(p, b->state, b->peer, size) ? 0 : PHX_EAGAIN;
}

/* No letters, nothing came back. Does its peer still have the name? If not, 0, and what is under
 * way has to end first; without that the box is gone. */
static int post_flows(struct phx__post *p, struct phx__post_way *way, uint64_t name)
{
    struct phx__box *b = way->box;

    if (b->version == *p->ops.version)
        return 1;
    if (p->ops.owner(p->ops.ctx, name) == b->peer->node) {
        b->version = *p->ops.version;
        return 1;
    }
    if (b->flying > 0) {
        phx__post_store_move(&p->hold, b, PHX__BOX_GATED, NULL);
    } else {
        phx__post_box_close_box(p, b);
        way->box = NULL;
    }
    return 0;
}

int phx__post_find_way(struct phx__post *p, uint64_t name, size_t size, struct phx__post_way *way,
                         struct phx__waiter ***waiters)
{
    struct phx__post_peer *peer;

    way->box = phx__post_store_find(&p->hold, name);
    way->peer = NULL;
    way->owner = PHX__NONE;
    if (way->box != NULL && way->box->state == PHX__BOX_FLOWING && post_flows(p, way, name))
        return post_find_peer(p, way, way->box->peer, waiters);
    if (way->box != NULL)
        return post_find_box(p, size, way, waiters);
    way->owner = p->ops.owner(p->ops.ctx, name);
    if (way->owner == PHX__NONE) {
        *waiters = post_hold_waiters(p, size);
        return phx__post_box_box_accepts(p, PHX__BOX_HELD, NULL, size) ? 0 : PHX_EAGAIN;
    }
    if (way->owner == PHX__SELF) { /* the next run delivers what is there, and tells then */
        *waiters = &p->ready_waiters;
        return phx__post_box_box_accepts(p, PHX__BOX_LOCAL, NULL, size) ? 0 : PHX_EAGAIN;
    }
    peer = phx__post_sched_open(p, way->owner);
    return peer == NULL ? PHX_ENOMEM : post_find_peer(p, way, peer, waiters);
}

int phx__post_go(struct phx__post *p, struct phx__post_way *way, struct phx__message *m)
{
    int err;

    if (way->peer != NULL && way->box == NULL)
        way->box = phx__post_box_open(p, m->to, way->peer);
    if (way->peer != NULL)
        err = way->box == NULL ? PHX_ENOMEM : phx__post_box_put(p, way->box, m);
    else
        err = phx__post_box_keep(p, way->box, m, way->owner);
    p->pending_count += err == 0;
    return err;
}

static int post_measure(const struct phx__post *p, const struct phx_outgoing *m, size_t *size)
{
    int i;

    *size = 0;
    if (m->iov_count < 0 || (m->iov_count > 0 && m->iov == NULL)
        || (m->release != NULL && m->iov_count != 1))
        return PHX_EINVAL;
    for (i = 0; i < m->iov_count; i++) {
        if (m->iov[i].iov_len > SIZE_MAX - *size
            || (m->iov[i].iov_len > 0 && m->iov[i].iov_base == NULL))
            return PHX_EINVAL;
        *size += m->iov[i].iov_len;
    }
    if (*size > p->limits.max_message)
        return PHX_ETOOBIG;
    return phx__mem_has_room_for_mail(p->mem, m->release != NULL ? 0 : *size) ? 0 : PHX_ENOMEM;
}

/* Hands the message over to its way; an owned one wrapped, which must not call release if it
 * fails. */
static int post_submit(struct phx__post *p, struct phx__post_way *way, const struct phx_outgoing *m,
                       struct phx__message *mail)
{
    int err;

    if (m->release != NULL) {
        mail->body = phx__buf_block_wrap(p->mem, m->iov[0].iov_base, m->iov[0].iov_len, m->release,
                                     m->arg);
        if (mail->body == NULL)
            return PHX_ENOMEM;
        mail->data = mail->body->data;
    }
    err = phx__post_box_promise(p, phx__post_box_promises(mail->token, mail->body));
    if (err == 0) {
        err = phx__post_go(p, way, mail);
        if (err != 0)
            p->promised -= phx__post_box_promises(mail->token, mail->body);
    }
    if (mail->body != NULL) {
        PHX_ASSERT(mail->body->refs == 1 || err == 0);
        if (err != 0)
            phx__mem_put(p->mem, mail->body, sizeof *mail->body);
        else
            phx__buf_block_drop(mail->body);
    }
    return err;
}

static void post_wrap(struct phx__message *mail, const struct phx_outgoing *m, size_t size,
                      uint64_t now)
{
    mail->to = m->to;
    mail->from = m->from;
    mail->tag = m->tag;
    mail->token = m->token;
    mail->limit = PHX__NEVER;
    if (m->time_limit_us != 0 && m->time_limit_us < PHX__NEVER - now)
        mail->limit = now + m->time_limit_us;
    mail->box = NULL;
    mail->cast = NULL;
    mail->met = 0;
    mail->run = 0;
    mail->rest = 0;
    mail->rest_size = 0;
    mail->size = size;
    mail->body = NULL;
    mail->data = NULL;
    mail->iov = m->iov;
    mail->iov_count = m->iov_count;
}

/* The usual case of a stream: what was sent last went to this name, too, its owner is the same, and the last
 * frame to it takes one more. Nothing is asked here that the long way would not ask; what it asks besides
 * is known, and no memory is needed. 1, or 0: take the long way. */
static int post_join(struct phx__post *p, const struct phx_outgoing *m)
{
    struct phx__box *b = p->hold.recent;
    size_t size;
    uint8_t *to;

    if (b == NULL || b->name != m->to || b->peer == NULL || b->peer->out.open_box != b
        || b->state != PHX__BOX_FLOWING || b->version != *p->ops.version || m->token != 0
        || m->time_limit_us != 0 || m->release != NULL || m->iov_count != 1 || m->iov == NULL)
        return 0;
    size = m->iov->iov_len;
    if (size > p->limits.max_message || (size > 0 && m->iov->iov_base == NULL)
        || !phx__post_box_credit(p, b->peer))
        return 0;
    to = phx__post_flow_room(&b->peer->out, b, m->from, m->tag, size);
    if (to == NULL)
        return 0;
    if (size > 0)
        memcpy(to, m->iov->iov_base, size);
    p->pending_count++;
    p->pending_bytes += size;
    p->messages_out++;
    return 1;
}

static int post_go_long(struct phx__post *p, const struct phx_outgoing *m, struct phx__message *mail)
{
    struct phx__waiter **waiters = NULL;
    struct phx__post_way way;
    int err = phx__post_find_way(p, m->to, mail->size, &way, &waiters);

    if (err == PHX_EAGAIN && phx__post_store_wait(&p->hold, waiters, m->to) != 0)
        err = PHX_ENOMEM; /* "later" would be a promise to tell when */
    return err != 0 ? err : post_submit(p, &way, m, mail);
}

int phx__post_send(struct phx__post *p, const struct phx_outgoing *m, uint64_t now)
{
    struct phx__message mail;
    size_t size;
    int err;

    p->now = now;
    if (post_join(p, m))
        return 0;
    err = post_measure(p, m, &size);
    if (err != 0)
        return err;
    post_wrap(&mail, m, size, now);
    err = post_go_long(p, m, &mail);
    if (err == 0) {
        p->pending_bytes += size;
        p->messages_out++;
    }
    return err;
}

/* ---- Receiving */

/* What all messages of one frame have in common. */
static void post_address(const struct phx__post *p, const struct phx__message *m, uint32_t source,
                         struct phx_message *out)
{
    out->to = m->to;
    out->from = m->from;
    out->source = p->ids->at[source];
}

/* To the application. */
static void post_deliver(struct phx__post *p, const struct phx__message *m, struct phx_message *out)
{
    out->tag = m->tag;
    out->data = m->size > 0 ? m->data : NULL;
    out->size = m->size;
    p->messages_in++;
    p->ops.message(p->ops.ctx, out);
}

/* Why messages to this name must go back; 0: they need not. */
static int post_refusal(struct phx__post *p, const struct phx__post_peer *peer, uint64_t name)
{
    if (p->ops.owner(p->ops.ctx, name) != PHX__SELF)
        return (int)PHX__RETURN_MOVED;
    return phx__post_returns_refuses(&peer->back, name) ? (int)PHX__RETURN_AGAIN : 0;
}

static int post_is_large(const struct phx__post *p, uint64_t size)
{
    return size > p->limits.max_message ? (int)PHX__RETURN_LARGE : 0;
}

/* The message at that place of the frame, and all that follows it. 0: not now. */
static int post_return(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                       uint64_t name, uint32_t place, int reason)
{
    struct phx__return t;

    t.number = d->number;
    t.place = (uint16_t)place;
    t.reason = reason;
    if (phx__post_returns_add(&peer->back, name, &t) != 0)
        return 0;
    phx__post_sched_owe(p, peer, 1);
    return 1;
}

/* 0: not taken. */
static int post_turn_back(struct phx__post *p, struct phx__post_peer *peer,
                          const struct phx__data *d, uint64_t name, int flags, int reason)
{
    if (!post_return(p, peer, d, name, 0, reason))
        return 0;
    phx__post_flow_turn_back(&peer->in, flags);
    return 1;
}

/* A frame of whole messages: one, or a run. Whatever the application does inside its callback counts for
 * those that follow, as if each had come by itself; so the name is asked for again when names have
 * changed. If one of them can neither be delivered nor go back now, the frame comes again, and
 * what was done of it is not done twice. One of a run that is too large is dropped: nobody asks what becomes
 * of it, and a run may have more of them than there is room for returns, which it could not wait for, because
 * no ack may tell of a return of a frame that was not taken. */
static int post_take_whole(struct phx__post *p, struct phx__post_peer *peer,
                           const struct phx__data *d, int flags)
{
    struct phx__flow_in *in = &peer->in;
    struct phx_message out;
    struct phx__message m;
    uint64_t version = 0;
    uint32_t place = 0;
    int known = 0, reason = 0, why;

    phx__post_flow_take_whole(in, d, flags, &m);
    post_address(p, &m, peer->node, &out);
    do {
        if (place++ < in->done)
            continue;
        if (!known || version != *p->ops.version) {
            version = *p->ops.version;
            reason = post_refusal(p, peer, m.to);
            known = 1;
        }
        why = reason != 0 || d->more > 0 ? reason : post_is_large(p, m.size);
        if (why != 0 && !post_return(p, peer, d, m.to, place - 1, why))
            return 0;
        if (why != 0)
            break; /* and all the rest */
        if (post_is_large(p, m.size))
            p->dropped++;
        else
            post_deliver(p, &m, &out);
        in->done = place;
    } while (phx__post_flow_mail_next(&m));
    phx__post_flow_took(in);
    return 1;
}

/* The frame that was to come next. 0: it was not taken. */
static int post_take(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d,
                     int flags)
{
    const int whole = (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    struct phx_message out;
    struct phx__message m;
    int reason;

    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__post_returns_seen(&peer->back, d->seen);
        if ((flags & whole) == whole)
            return post_take_whole(p, peer, d, flags);
        reason = post_refusal(p, peer, d->to);
        if (reason == 0)
            reason = post_is_large(p, d->total);
        if (reason != 0)
            return post_turn_back(p, peer, d, d->to, flags, reason);
        if (!phx__post_recv_open(p, peer, d))
            return 0;
    }
    switch (phx__post_flow_take(&peer->in, p->mem, d, flags, &m)) {
    case PHX__FLOW_MORE:
        return 1;
    case PHX__FLOW_SKIPPED:
        p->dropped++;
        return 1;
    case PHX__FLOW_CUT:
        return post_turn_back(p, peer, d, m.to, flags, (int)PHX__RETURN_AGAIN);
    case PHX__FLOW_WHOLE:
        /* The name may have gone since its first fragment. */
        if (p->ops.owner(p->ops.ctx, m.to) != PHX__SELF)
            return post_turn_back(p, peer, d, m.to, flags, (int)PHX__RETURN_MOVED);
        post_address(p, &m, peer->node, &out);
        p->unseen = 0;
        post_deliver(p, &m, &out);
        if (!p->unseen)
            phx__post_recv_shown(&peer->in);
        phx__post_flow_took(&peer->in);
        return 1;
    default:
        return 0;
    }
}

static void post_gap(struct phx__post *p, struct phx__post_peer *peer)
{
    p->dropped++;
    /* What follows a message that could not be taken is no news. */
    if (peer->stuck || (peer->gap_next == peer->in.next && p->now < peer->gap_from))
        return;
    peer->gap = 1;
    peer->gap_next = peer->in.next;
    peer->gap_from = p->now + POST_GAP_AGAIN;
    phx__post_sched_owe(p, peer, 1);
}

static int post_is_ack_due(const struct phx__post *p, const struct phx__post_peer *peer)
{
    size_t window = peer->out.window < p->limits.window ? peer->out.window : p->limits.window;

    return peer->stuck || peer->ack_bytes >= window / 4 || peer->ack_frames >= POST_ACK_FRAMES;
}

static void post_arrived(struct phx__post *p, struct phx__post_peer *peer,
                         const struct phx__data *d, int flags)
{
    if (d->epoch < peer->in.epoch
        || (peer->in_life != 0 && (d->epoch >> 32) + 1 != peer->in_life)) {
        p->duplicates++; /* of a flow that was given up, or of another life: a relay kept it */
        return;
    }
    if (d->epoch > peer->in.epoch) {
        phx__post_flow_start(&peer->in, d->epoch);
        phx__post_returns_reset(&peer->back);
        peer->stuck = 0;
        peer->gap_from = 0;
    }
    if (d->number < peer->in.next) {
        p->duplicates++;
        phx__post_sched_owe(p, peer, 1); /* our ack may have been lost */
    } else if (d->number > peer->in.next) {
        post_gap(p, peer);
    } else if (post_take(p, peer, d, flags)) {
        peer->ack_bytes += d->size;
        peer->ack_frames++;
        peer->hurry |= (flags & (int)PHX__DATA_SOON) != 0;
        phx__post_sched_owe(p, peer, post_is_ack_due(p, peer));
        peer->stuck = 0;
        peer->gap = 0;
    } else {
        p->dropped++;
        if (!peer->stuck)
            phx__post_sched_owe(p, peer, 1); /* and thereby close its window */
        peer->stuck = 1;
    }
}

void phx__post_fragment(struct phx__post *p, const struct phx__data *d, int flags)
{
    struct phx__post_peer *peer;
    uint32_t node = p->last_source;

    if (node >= p->ids->size || !p->ids->used[node]
        || !phx__id_equal(&p->ids->at[node], &d->source))
        node = phx__id_find(p->ids, &d->source);
    peer = node == PHX__NONE || node == PHX__SELF ? NULL : phx__post_sched_open(p, node);
    if (peer == NULL) {
        p->dropped++; /* nobody an ack could be sent to, or no memory: it comes again */
        return;
    }
    p->last_source = node;
    post_arrived(p, peer, d, flags);
}

int phx__post_data(struct phx__post *p, uint32_t nbr, const uint8_t *frame, size_t frame_size,
                   const struct phx__frame *f, uint64_t now)
{
    struct phx__data d;

    (void)nbr; /* it may even be the next hop, for a moment; the hop byte bounds that */
    p->now = now;
    /* Also what is only passing: or the next node would blame its link with us for it. */
    if (frame_size < PHX__DATA_HEAD || phx__wire_get_data(f, &d) != 0)
        return PHX_EPROTO;
    if (memcmp(frame + PHX__DATA_TARGET, &p->ids->at[PHX__SELF], sizeof(struct phx_id)) != 0) {
        p->dropped += phx__post_sched_transit(p, frame, frame_size, f) != 0;
        return 0;
    }
    phx__post_fragment(p, &d, f->flags);
    return 0;
}

/* ---- Acks that arrive */

/* The returns that an ack brings, as they are met. */
struct post_returns {
    const struct phx__ack *ack;
    uint32_t at;
};

/* Why something of the lowest record came back, and where it begins; 0: nothing did. Returns that name none
 * of our messages, or one of a run that would be too large, were never sent by an honest target; they count,
 * so that the rest is in step. */
static int post_came_back(struct post_returns *in, struct phx__flow_out *o, uint32_t *place)
{
    const uint32_t rest = phx__post_flow_rest(phx__post_flow_at(o, 0));
    struct phx__return t;

    *place = 0;
    while (in->at < in->ack->return_count) {
        phx__wire_return(in->ack, in->at, &t);
        if (t.number > o->base)
            break;
        if (t.number == o->base && t.place <= rest
            && (rest == 0 || t.reason != (int)PHX__RETURN_LARGE)) {
            *place = t.place;
            return t.reason;
        }
        in->at++;
        phx__post_flow_saw(o);
    }
    return 0;
}

static void post_end(struct phx__post *p, struct phx__flow_record *r, int back)
{
    if (r->body != NULL && r->body->release != NULL && back == 0)
        p->promised--; /* it goes right here, unless a link still holds it */
    phx__post_box_outcome(p, r->token, back == 0 ? PHX_OK : PHX_ETOOBIG, back == 0 ? NULL : r->body,
                      r->cast, r->box->name);
    p->pending_count -= 1 + phx__post_flow_rest(r);
    if (back == 0)
        r->box->retry_us = 0;
    phx__post_box_landed(p, r->box);
}

/* The lowest record's message must go again; of a run those from this place on, and the others have
 * arrived. 0 or PHX_ENOMEM. */
static int post_again(struct phx__post *p, struct phx__flow_out *o, uint32_t place, int reason)
{
    struct phx__message m;
    uint32_t i;

    phx__post_flow_mail(o, 0, &m);
    for (i = 0; i < place; i++)
        (void)phx__post_flow_mail_next(&m);
    if (phx__post_box_take_back(p, &m, reason) != 0)
        return PHX_ENOMEM;
    if (place > 0)
        m.box->retry_us = 0; /* its owner is one */
    p->pending_bytes += phx__post_flow_mail_bytes(&m);
    p->pending_count -= place;
    return 0;
}

/* The lowest record was taken: what it carries has arrived, or comes back. 0, or PHX_ENOMEM and nothing
 * changed. */
static int post_acked(struct phx__post *p, struct phx__flow_out *o, struct post_returns *in,
                      size_t *bytes)
{
    struct phx__flow_record r = *phx__post_flow_at(o, 0);
    int first = (r.flags & PHX__DATA_FIRST) != 0, last = (r.flags & PHX__DATA_LAST) != 0;
    uint32_t place = 0;
    int here = in->ack->return_count == 0 ? 0 : post_came_back(in, o, &place);
    int back = here != 0 || first ? here : o->front_back;
    int again = last && back != 0 && back != (int)PHX__RETURN_LARGE && r.limit != 0;

    if (again) {
        if (post_again(p, o, place, back) != 0)
            return PHX_ENOMEM;
    } else if (here != 0 && here != (int)PHX__RETURN_LARGE) {
        phx__post_box_gate(p, r.box, here);
    }
    if (here != 0) {
        in->at++;
        phx__post_flow_saw(o);
    }
    (void)phx__post_flow_pop(o, o->base + 1, &r);
    if (!last && here != 0)
        o->front_back = here;
    *bytes += phx__post_flow_frame_size(&r);
    p->pending_bytes -= phx__post_flow_payload(&r);
    if (again)
        phx__post_box_landed(p, r.box);
    else if (last)
        post_end(p, &r, back);
    phx__buf_block_drop(r.head);
    phx__buf_block_drop(r.body);
    return 0;
}

/* What an ack says of the other direction. */
static void post_confirmed(struct phx__post *p, struct phx__post_peer *peer,
                           const struct phx__ack *a)
{
    if (a->seen == 0 || a->seen_epoch != peer->in.epoch)
        return;
    phx__post_returns_confirm(&peer->back, a->seen);
    if (peer->stuck) {
        peer->gap = 1;
        phx__post_sched_owe(p, peer, 1);
    }
}

void phx__post_ack(struct phx__post *p, const struct phx__ack *a, int gap, uint64_t now)
{
    uint32_t node = phx__id_find(p->ids, &a->source);
    struct phx__post_peer *peer = node == PHX__NONE ? NULL : phx__post_sched_find(p, node);
    struct post_returns in;
    struct phx__flow_out *o;
    size_t bytes = 0;
    int err = 0;

    p->now = now;
    if (peer == NULL)
        return;
    post_confirmed(p, peer, a);
    o = &peer->out;
    if (a->epoch != o->epoch || a->next > o->left || a->next < o->base
        || (a->return_count > 0 && a->return_base > o->seen))
        return; /* of another life of the flow; nonsense; or overtaken by a later one */
    o->window = a->window;
    in.ack = a;
    in.at = a->return_count > 0 ? o->seen - a->return_base : 0;
    while (o->base < a->next && o->count > 0 && err == 0)
        err = post_acked(p, o, &in, &bytes); /* without memory the rest is asked for again */
    if (a->return_count > 0) {
        peer->confirm = 1;
        phx__post_sched_owe(p, peer, 1);
    }
    phx__post_flow_progress(o, o->base, bytes, now);
    if (gap && a->next == o->base && o->sent > o->base && now >= o->rewind_from)
        phx__post_flow_lost(o, now);
    phx__post_box_open_gates(p);
    phx__post_sched_ready(p, peer);
    phx__post_box_check_room(p, peer);
    if (o->count == 0)
        phx__post_sched_rest(p, peer);
}

/* ---- What is due */

/* The first message of a letter that is a run. */
static void post_run_one(struct phx__post *p, struct phx__box *b)
{
    struct phx_message out;
    struct phx__message m;

    phx__post_store_peel(&p->hold, b, &m);
    phx__ring_add(&p->local, &b->link); /* names take turns */
    p->pending_bytes -= m.size;
    p->pending_count--;
    post_address(p, &m, PHX__SELF, &out);
    post_deliver(p, &m, &out);
    phx__buf_block_drop(m.body);
}

/* Delivers what this node sent to itself, as much as there was at the beginning. */
static void post_run_local(struct phx__post *p)
{
    uint32_t budget = p->hold.letters;
    struct phx_message out;

    while (budget-- > 0 && !phx__ring_is_empty(&p->local)) {
        struct phx__box *b = (struct phx__box *)(void *)p->local.next;
        struct phx__queued *l;

        if (p->ops.owner(p->ops.ctx, b->name) != PHX__SELF) {
            phx__post_box_route_box(p, b);
            continue;
        }
        if (b->head->mail.run != 0) {
            post_run_one(p, b);
            continue;
        }
        l = phx__post_store_take(&p->hold, b, NULL);
        if (b->head == NULL)
            phx__post_box_close_box(p, b);
        else
            phx__ring_add(&p->local, &b->link); /* names take turns */
        p->pending_bytes -= l->mail.size;
        p->pending_count--;
        phx__post_box_outcome(p, l->mail.token, PHX_OK, l->mail.body, l->mail.cast, l->mail.to);
        post_address(p, &l->mail, PHX__SELF, &out);
        post_deliver(p, &l->mail, &out);
        phx__post_store_letter_drop(&p->hold, l);
    }
}

static void post_run_rooms(struct phx__post *p)
{
    while (!phx__ring_is_empty(&p->rooms)) {
        struct phx__post_peer *peer = PHX__PEER_OF(p->rooms.next, room_link);

        phx__ring_del(&peer->room_link);
        while (phx__post_box_accepts(p, peer) && !phx__ring_is_empty(&peer->boxes)) {
            phx__post_box_route_box(p, (struct phx__box *)(void *)peer->boxes.next);
            if (p->look_again)
                break;
        }
        if (phx__post_box_credit(p, peer))
            phx__post_store_wait_splice(&p->ready_waiters, &peer->waiters);
    }
    if (p->hold.held_bytes == 0 || p->hold.held_bytes < p->limits.hold_bytes / 2)
        phx__post_store_wait_splice(&p->ready_waiters, &p->hold_waiters);
}

static void post_run_waiters(struct phx__post *p)
{
    struct phx__waiter *batch = p->ready_waiters;
    uint64_t name;

    p->ready_waiters = NULL;
    while (phx__post_store_wait_pop(&p->hold, &batch, &name))
        p->ops.writable(p->ops.ctx, name);
}

int phx__post_ready(const struct phx__post *p)
{
    return p->outcome_count > 0 || p->abandoned != NULL || p->ready_waiters != NULL
        || !phx__ring_is_empty(&p->local) || !phx__ring_is_empty(&p->rooms) || !phx__ring_is_empty(&p->acks);
}

int phx__post_run(struct phx__post *p, uint64_t now)
{
    p->now = now;
    if (!phx__post_ready(p) && !p->look_again && p->stray == NULL && p->hold_waiters == NULL)
        return 0;
    if (p->look_again)
        phx__post_box_names(p, now);
    phx__post_sched_retry(p);
    post_run_local(p);
    post_run_rooms(p);
    phx__post_box_tell(p);
    phx__post_recv_tell_abandoned(p);
    post_run_waiters(p);
    while (!phx__ring_is_empty(&p->acks))
        phx__post_sched_ack(p, PHX__PEER_OF(p->acks.next, ack_link));
    return phx__post_ready(p);
}

void phx__post_due(struct phx__post *p, int kind, uint32_t node, uint64_t now)
{
    struct phx__post_peer *peer;

    p->now = now;
    if (kind == (int)PHX__TIMER_POST_HOLD) {
        if (node == 0)
            phx__post_box_expire_held(p);
        else
            phx__post_box_retry(p);
        return;
    }
    peer = phx__post_sched_find(p, node);
    if (peer == NULL)
        return;
    phx__post_sched_due(p, peer);
    if (peer->out.limit_at <= now)
        phx__post_box_expire_flow(p, peer);
    phx__post_sched_arm(p, peer);
}

/* ---- Life */

int phx__post_init(struct phx__post *p, struct phx__mem *mem, struct phx__ids *ids,
                   struct phx__timers *timers,
                   const struct phx__post_limits *limits, const struct phx__post_ops *ops)
{
    memset(p, 0, sizeof *p);
    p->mem = mem;
    p->ids = ids;
    p->timers = timers;
    p->ops = *ops;
    p->limits = *limits;
    p->hold_limit_at = PHX__NEVER;
    p->last_source = p->hold_timer = p->again_timer = PHX__NONE;
    phx__post_store_init(&p->hold, mem);
    phx__ring_init(&p->held);
    phx__ring_init(&p->idle);
    phx__ring_init(&p->local);
    phx__ring_init(&p->refused);
    phx__ring_init(&p->opened);
    phx__ring_init(&p->acks);
    phx__ring_init(&p->rooms);
    if (phx__timer_new(timers, PHX__TIMER_POST_HOLD, 0, &p->hold_timer) != 0)
        return PHX_ENOMEM;
    return phx__timer_new(timers, PHX__TIMER_POST_HOLD, 1, &p->again_timer);
}

void phx__post_settle(struct phx__post *p, uint64_t now)
{
    uint32_t i;

    p->now = now;
    for (i = 0; i < p->node_capacity; i++)
        if (p->nodes[i].peer != NULL && p->nodes[i].peer->owed)
            phx__post_sched_ack(p, p->nodes[i].peer);
}

void phx__post_free(struct phx__post *p)
{
    uint64_t name;
    uint32_t i;

    if (p->hold.mem == NULL)
        return; /* never begun */
    for (i = 0; i < p->hold.count; i++) {
        struct phx__box *b = p->hold.boxes[i];

        phx__post_store_wait_splice(&p->ready_waiters, &b->waiters);
        phx__post_store_move(&p->hold, b, PHX__BOX_HELD, &p->held);
        b->flying = 0;
    }
    phx__post_store_wait_splice(&p->ready_waiters, &p->hold_waiters);
    phx__post_store_wait_splice(&p->ready_waiters, &p->name_waiters);
    phx__post_store_drop_boxes(&p->hold);
    for (i = 0; i < p->node_capacity; i++) {
        if (p->nodes[i].peer != NULL) {
            phx__post_store_wait_splice(&p->ready_waiters, &p->nodes[i].peer->waiters);
            phx__post_sched_free(p, p->nodes[i].peer);
        }
    }
    while (phx__post_store_wait_pop(&p->hold, &p->ready_waiters, &name))
        continue;
    phx__post_recv_tell_abandoned(p);
    for (i = p->outcome_first; i < p->outcome_first + p->outcome_count; i++)
        phx__buf_block_drop(p->outcomes[i].body);
    phx__post_multicast_free(p);
    phx__mem_put(p->mem, p->outcomes, p->outcome_capacity * sizeof *p->outcomes);
    phx__mem_put(p->mem, p->nodes, p->node_capacity * sizeof *p->nodes);
    phx__mem_put(p->mem, p->windows, p->window_capacity * sizeof *p->windows);
    phx__post_store_free(&p->hold);
    if (p->hold_timer != PHX__NONE)
        phx__timer_drop(p->timers, p->hold_timer);
    if (p->again_timer != PHX__NONE)
        phx__timer_drop(p->timers, p->again_timer);
    memset(p, 0, sizeof *p);
}

#undef POST_ACK_FRAMES
#undef POST_GAP_AGAIN
