/* box.c - the states of mailboxes: where the messages to a name go now. */

/* A message that was accepted is in one place at a time, and moves only by the arrows:
 *
 *      phx__post_send
 *           |  '-------------------. the mailbox is FLOWING
 *           v   owner, room        v
 *          box -----------------> flow ---- acknowledged ----> PHX_OK         (recv.c)
 *           ^                      | |
 *           '- came back, or the --' |- too large for the receiver ----------> PHX_ETOOBIG
 *           |  node failed           '- node failed, nobody has the name ----> PHX_EFAILED
 *           |                        |
 *           '--- cancelled, or expired: before anything of it was emitted ---> PHX_ECANCELLED,
 *                                                                              PHX_EEXPIRED ..
 * A mailbox has a state of its own, which keeps the order when its name moves:
 *
 *          HELD <---- nobody -----.
 *          LOCAL <--- self -------+--- where is the name? <--- queued messages, nothing under way
 *          BOUND <--- peer, full -|          ^                        ^
 *            '------> FLOWING <---'          '- names change, 50 ms --+-- REFUSED
 *                        |                                            |     ^ by the owner we know
 *                        '--- the owner changed, or a message --------+-----'
 *                             came back ----> GATED ---- all that was under way has ended
 *
 * While a message to the name is in the flow to a former owner, nobody knows whether it is delivered or comes
 * back; so the mailbox is GATED, and whatever follows waits. A mailbox with nothing queued asks for the owner
 * at a send if the names have changed since, which costs a comparison. A change of names looks at the other
 * mailboxes of the names that changed, or at all if these are more names, and at all names that wait for room
 * in the store. A REFUSED mailbox tries again after 50 ms, then twice that, up to a second.
 *
 * A message that has begun to leave cannot be withdrawn. If its time limit passes then, that is reported at
 * once (outcome.c), and once; it may still be delivered.
 *
 * A failed node's messages go back into mailboxes as those do that came back, from the oldest on, each behind
 * what came back before: what is queued otherwise is always younger. They are routed as all others are, with
 * one exception. The node may only have been cut off, with a message delivered and the ack lost. If it
 * comes back in the same life and owns the name again, a message that was once emitted to it in whole ends
 * with PHX_EFAILED, or it could be delivered twice. So each such message has a bit for each life it tried,
 * and its mailbox keeps the lives. There are five bits; a message that tried more lives ends, too.
 *
 * Bounds. A destination has one window for all its names: what is in its flow and what is queued for it.
 * LOCAL mailboxes share a window, others hold_bytes; what comes back may pass that, by what was in flows. */
#include "post/box.h"

/* How long to wait when an owner says that it is none: news of names take some round trips. */
#define BOX_RETRY_FIRST (50 * PHX__MS)
#define BOX_RETRY_MOST PHX__SECOND
/* Mailboxes with nothing under way are kept for a next message, about 220 bytes each: so many, and those that
 * were used of late, so that names in turn cost no memory; and no more than that. */
#define BOX_IDLE_FEW 4096u
#define BOX_IDLE_TIME (10 * PHX__SECOND)
#define BOX_IDLE_MOST (1u << 17)

/* ---- Into flows */

/* A flow takes messages while less than a window is in it; so one of any size goes into an empty one. */
static int box_flow_accepts(const struct phx__post *p, const struct phx__post_peer *peer)
{
    return peer->out.count == 0 || peer->out.bytes < p->limits.window;
}

int phx__post_box_credit(const struct phx__post *p, const struct phx__post_peer *peer)
{
    size_t waiting = peer->out.bytes + peer->boxes.bytes;

    return waiting == 0 || waiting < p->limits.window;
}

/* Notes where the message at index is, for who cancels. */
static void box_note(struct phx__post *p, const struct phx__post_peer *peer, uint32_t index, uint64_t token)
{
    struct phx__token_at at = {NULL, peer->node, 0, peer->out.base + index};

    if (token != 0)
        (void)phx__post_tokens_add(&p->store.tokens, token, &at);
}

/* It is idle no more. */
static void box_busy(struct phx__post *p, struct phx__box *b)
{
    p->boxes.idle_count -= !phx__ring_is_empty(&b->age);
    phx__ring_del(&b->link);
    phx__ring_del(&b->age);
}

void phx__post_box_flies(struct phx__post *p, struct phx__box *b)
{
    if (b->flying++ == 0 && b->state == PHX__BOX_FLOWING)
        box_busy(p, b);
}

/* Puts a message into the flow to its mailbox's peer. 0 or PHX_ENOMEM. */
static int box_put(struct phx__post *p, struct phx__box *b, struct phx__message *m)
{
    struct phx__post_peer *peer = b->peer;
    uint8_t epoch[8];

    if (peer->out.epoch == 0) {
        if (p->ops.random(p->ops.ctx, epoch, sizeof epoch) != 0)
            return PHX_ENOMEM;
        phx__post_flow_restart(&peer->out, PHX__MAX(phx__buf_load_u64(epoch), 1), peer->out.window);
    }
    m->box = b;
    if (phx__post_flow_join(&peer->out, m)) { /* into a frame that is listed already */
        if ((peer->out.open.run & PHX__DATA_NAMES) != 0)
            phx__post_box_flies(p, b);
        return 0;
    }
    if (phx__post_flow_put(&peer->out, m) != 0)
        return PHX_ENOMEM;
    box_note(p, peer, phx__post_flow_last(&peer->out), m->token);
    phx__post_box_flies(p, b);
    phx__post_sched_list(p, &peer->own);
    if (peer->out.limit_at != PHX__NEVER)
        phx__post_sched_arm(p, peer);
    return 0;
}

/* Messages left a peer's flow, if any: phx__post_box_run_rooms serves those who wait for room. */
static void box_check_room(struct phx__post *p, struct phx__post_peer *peer)
{
    if (peer == NULL || (phx__ring_is_empty(&peer->waiters) && phx__ring_is_empty(&peer->boxes.bound)))
        return;
    if (peer->out.count == 0 || peer->out.bytes < p->limits.window / 2)
        phx__ring_add(&p->rooms, &peer->room_link);
}

/* ---- Boxes */

/* Frees an empty mailbox; who waits for it may try. */
static void box_remove(struct phx__post *p, struct phx__box *b)
{
    box_busy(p, b);
    phx__ring_move(&p->waiting.ready, &b->waiters);
    phx__post_store_close(&p->store, b);
}

static void box_close_idle(struct phx__post *p, struct phx__post_peer *peer)
{
    while (!phx__ring_is_empty(&peer->boxes.idle))
        box_remove(p, (struct phx__box *)(void *)peer->boxes.idle.next);
    phx__post_outcome_fit(p);
}

/* The mailbox that has been idle longest, of any peer, if it is one too many; else NULL. */
static struct phx__box *box_surplus(const struct phx__post *p)
{
    struct phx__box *oldest = PHX__RING_OF(p->boxes.idle.next, phx__box, age);
    size_t most = p->mem->limit == 0 ? BOX_IDLE_MOST : p->mem->limit / 32 / sizeof *oldest;

    return p->boxes.idle_count > BOX_IDLE_FEW && (p->boxes.idle_count > most
           || oldest->idle_since + BOX_IDLE_TIME <= *p->ops.now) ? oldest : NULL;
}

/* Never frees b, the youngest. Two go for one that comes, so that what many names have used gets less. */
static void box_idle(struct phx__post *p, struct phx__box *b)
{
    struct phx__box *surplus;

    b->life_count = 0;
    b->idle_since = *p->ops.now;
    b->state = PHX__BOX_LOCAL;
    phx__ring_del(&b->link);
    if (b->peer != NULL) {
        b->state = PHX__BOX_FLOWING;
        phx__ring_add(&b->peer->boxes.idle, &b->link);
    }
    phx__ring_add(&p->boxes.idle, &b->age);
    p->boxes.idle_count++;
    for (int i = 0; i < 2 && (surplus = box_surplus(p)) != NULL; i++)
        box_remove(p, surplus);
}

/* The former owner's flow may have room then. */
PHX__APART static void box_set_owner(struct phx__post *p, struct phx__box *b, struct phx__post_peer *peer)
{
    struct phx__post_peer *former = b->peer;

    if (peer == former)
        return;
    if (former != NULL)
        former->boxes.bytes -= b->bytes;
    if (peer != NULL)
        peer->boxes.bytes += b->bytes;
    b->peer = peer;
    b->pool = peer == NULL ? NULL : &peer->boxes.bytes;
    box_check_room(p, former);
}

/* A new mailbox for a name that peer has. NULL: no memory. */
static struct phx__box *box_open(struct phx__post *p, uint64_t name, struct phx__post_peer *peer)
{
    struct phx__box *b = phx__post_store_open(&p->store, name);

    if (b == NULL)
        return NULL;
    box_set_owner(p, b, peer);
    b->version = *p->ops.version;
    box_idle(p, b);
    return b;
}

void phx__post_box_emptied(struct phx__post *p, struct phx__box *b)
{
    if (b->head != NULL)
        return;
    phx__ring_move(&p->waiting.ready, &b->waiters);
    if (b->flying > 0) {
        if (!b->returned)
            phx__post_store_move(&p->store, b, PHX__BOX_FLOWING, NULL);
    } else if (b->peer != NULL || b->state == PHX__BOX_LOCAL) {
        box_idle(p, b);
    } else {
        box_remove(p, b);
    }
}

static void box_hold(struct phx__post *p, struct phx__box *b)
{
    box_set_owner(p, b, NULL);
    phx__ring_move(&p->waiting.room, &b->waiters);
    phx__post_store_move(&p->store, b, PHX__BOX_HELD, NULL);
}

/* Ends a message, or a run, that will not be delivered. */
static void box_end(struct phx__post *p, const struct phx__message *m, int result)
{
    p->pending.bytes -= phx__post_flow_message_bytes(m);
    p->pending.count -= 1 + m->rest;
    if (phx__post_outcome_promises(m->token, m->body) == 0)
        p->counters.dropped += 1 + m->rest;
    phx__post_outcome_add(p, m, result);
}

static void box_end_queued(struct phx__post *p, struct phx__box *b, struct phx__queued *q, int result)
{
    box_end(p, &q->message, result);
    phx__post_store_drop(&p->store, b, q); /* the outcome holds the host's memory */
}

/* A mailbox could not be moved: routes all of them again. */
static void box_look_again(struct phx__post *p)
{
    p->boxes.look_again = 1;
    phx__post_sched_again(p, 0);
}

/* Moves queued messages into the owner's flow, as many as that takes. */
static void box_move_to_flow(struct phx__post *p, struct phx__box *b)
{
    b->version = *p->ops.version;
    while (b->head != NULL && box_flow_accepts(p, b->peer)) {
        if (phx__post_store_was_tried(b, b->head, b->peer->life)) {
            box_end_queued(p, b, b->head, PHX_EFAILED);
            box_check_room(p, b->peer);
            continue;
        }
        if (box_put(p, b, &b->head->message) != 0) {
            box_look_again(p); /* if the flow is empty, no ack will bring us here again */
            break;
        }
        phx__post_store_drop(&p->store, b, b->head);
    }
    if (b->head == NULL)
        phx__post_box_emptied(p, b);
    else
        phx__post_store_move(&p->store, b, PHX__BOX_BOUND, &b->peer->boxes.bound);
}

/* Did the owner that we know return messages? 1: the mailbox waits for news or for its time. */
PHX__COLD static int box_has_to_wait(struct phx__post *p, struct phx__box *b)
{
    if (b->state == PHX__BOX_REFUSED)
        return *p->ops.now < b->retry_at && b->version == *p->ops.version;
    if (!b->moved)
        return 0;
    b->version = *p->ops.version;
    b->retry_us = b->retry_us == 0 ? BOX_RETRY_FIRST : b->retry_us * 2;
    b->retry_us = PHX__MIN(b->retry_us, BOX_RETRY_MOST);
    b->retry_at = *p->ops.now + b->retry_us;
    phx__post_store_move(&p->store, b, PHX__BOX_REFUSED, &p->boxes.refused);
    phx__post_sched_again(p, b->retry_at);
    return 1;
}

void phx__post_box_route(struct phx__post *p, struct phx__box *b)
{
    uint32_t owner = p->ops.owner(p->ops.ctx, b->name);
    int same = b->peer != NULL && b->peer->node == owner;

    if (b->flying > 0 && (b->returned || !same)) {
        phx__post_store_move(&p->store, b, PHX__BOX_GATED, NULL);
        return;
    }
    if (same && box_has_to_wait(p, b))
        return;
    b->moved = 0;
    if (!same)
        b->retry_us = 0;
    box_set_owner(p, b, owner == PHX__SELF || owner == PHX__NONE ? NULL : phx__post_sched_open(p, owner));
    if (owner == PHX__SELF) {
        phx__post_store_move(&p->store, b, PHX__BOX_LOCAL, &p->boxes.local);
    } else if (b->peer != NULL) {
        box_move_to_flow(p, b);
    } else {
        if (owner != PHX__NONE)
            box_look_again(p);
        box_hold(p, b);
    }
}

/* The REFUSED ones. */
PHX__COLD static void box_retry(struct phx__post *p)
{
    struct phx__ring all;

    phx__ring_init(&all);
    phx__ring_move(&all, &p->boxes.refused);
    while (!phx__ring_is_empty(&all)) {
        struct phx__box *b = (struct phx__box *)(void *)all.next;

        phx__ring_add(&p->boxes.refused, &b->link);
        phx__post_box_route(p, b);
        if (b->state == PHX__BOX_REFUSED)
            phx__post_sched_again(p, b->retry_at);
    }
}

/* The peer has credit: wakes as many who wait for it as there is room for. If they leave some, the next run
 * wakes others. */
static void box_wake(struct phx__post *p, struct phx__post_peer *peer, struct phx__ring *later)
{
    size_t room = p->limits.window - peer->out.bytes - peer->boxes.bytes;
    size_t n = room / (peer->wanted + PHX__DATA_FIRST_HEAD) + 1;

    for (; n > 0 && !phx__ring_is_empty(&peer->waiters); n--)
        phx__ring_add(&p->waiting.ready, peer->waiters.next);
    if (!phx__ring_is_empty(&peer->waiters))
        phx__ring_add(later, &peer->room_link);
}

void phx__post_box_run_rooms(struct phx__post *p)
{
    struct phx__ring later;

    phx__ring_init(&later);
    while (!phx__ring_is_empty(&p->rooms)) {
        struct phx__post_peer *peer = PHX__RING_OF(p->rooms.next, phx__post_peer, room_link);

        phx__ring_del(&peer->room_link);
        while (box_flow_accepts(p, peer) && !phx__ring_is_empty(&peer->boxes.bound)) {
            phx__post_box_route(p, (struct phx__box *)(void *)peer->boxes.bound.next);
            if (p->boxes.look_again)
                break;
        }
        if (phx__post_box_credit(p, peer))
            box_wake(p, peer, &later);
    }
    phx__ring_move(&p->rooms, &later);
    if (p->store.held_bytes == 0 || p->store.held_bytes < p->limits.hold_bytes / 2)
        phx__ring_move(&p->waiting.ready, &p->waiting.room);
}

/* ---- What is under way */

void phx__post_box_landed(struct phx__post *p, struct phx__box *b)
{
    PHX_ASSERT(b->flying > 0);
    if (--b->flying > 0)
        return;
    if (b->state == PHX__BOX_FLOWING)
        box_idle(p, b);
    else if (b->state == PHX__BOX_GATED)
        phx__ring_add(&p->boxes.opened, &b->link);
}

static void box_open_gates(struct phx__post *p)
{
    while (!phx__ring_is_empty(&p->boxes.opened)) {
        struct phx__box *b = (struct phx__box *)(void *)p->boxes.opened.next;

        phx__ring_del(&b->link);
        b->returned = 0;
        b->last_returned = NULL;
        if (b->head == NULL)
            phx__post_box_emptied(p, b);
        else
            phx__post_box_route(p, b);
    }
}

void phx__post_box_ended(struct phx__post *p, struct phx__post_peer *peer)
{
    box_open_gates(p);
    box_check_room(p, peer);
    if (peer->out.count == 0)
        phx__post_sched_rest(p, peer);
}

void phx__post_box_gate(struct phx__post *p, struct phx__box *b, int reason)
{
    b->returned = 1;
    b->moved = reason == (int)PHX__RETURN_MOVED;
    phx__post_store_move(&p->store, b, PHX__BOX_GATED, NULL); /* in no list while something is under way */
}

/* May one more message of this size go there? */
static int box_accepts(const struct phx__post *p, const struct phx__post_way *way, size_t size)
{
    if (way->state == PHX__BOX_BOUND || way->state == PHX__BOX_FLOWING)
        return phx__post_box_credit(p, way->peer);
    if (way->state == PHX__BOX_LOCAL)
        return p->store.local_bytes == 0 || p->store.local_bytes < p->limits.window;
    if (p->store.held_bytes == 0)
        return size <= p->limits.hold_bytes;
    return p->store.held_bytes < p->limits.hold_bytes
        && phx__post_store_cost(size) <= p->limits.hold_bytes - p->store.held_bytes;
}

uint64_t phx__post_box_limit(const struct phx__post *p, uint64_t time_limit_us)
{
    return time_limit_us == 0 || time_limit_us >= PHX__NEVER - *p->ops.now ? PHX__NEVER
                                                                           : *p->ops.now + time_limit_us;
}

/* Queues a message, or a run, of a peer's flow again, behind all that came back. 0 or PHX_ENOMEM. */
PHX__COLD static int box_requeue(struct phx__post *p, const struct phx__message *m)
{
    struct phx__queued *q = phx__post_store_put(&p->store, m->box, m->box->last_returned, m);

    if (q == NULL)
        return PHX_ENOMEM;
    m->box->last_returned = q;
    phx__post_store_move(&p->store, m->box, PHX__BOX_GATED, NULL);
    phx__timer_sooner(p->timers, p->boxes.timer, m->limit);
    return 0;
}

PHX__COLD int phx__post_box_take_back(struct phx__post *p, const struct phx__message *m, int reason)
{
    if (box_requeue(p, m) != 0)
        return PHX_ENOMEM;
    phx__post_box_gate(p, m->box, reason);
    return 0;
}

/* Queues a message in the mailbox, or in a new one for its name. 0 or PHX_ENOMEM. */
static int box_keep(struct phx__post *p, struct phx__box *b, const struct phx__message *m,
                    enum phx__box_state state)
{
    int empty = state != PHX__BOX_GATED && (b == NULL || b->head == NULL);

    if (b == NULL && (b = phx__post_store_open(&p->store, m->to)) == NULL)
        return PHX_ENOMEM;
    if (empty) { /* new, or idle */
        box_busy(p, b);
        b->version = *p->ops.version;
        phx__post_store_move(&p->store, b, state, state == PHX__BOX_LOCAL ? &p->boxes.local : NULL);
    }
    if (phx__post_store_put(&p->store, b, b->tail, m) == NULL) {
        if (empty)
            box_remove(p, b);
        return PHX_ENOMEM;
    }
    phx__timer_sooner(p->timers, p->boxes.timer, m->limit);
    return 0;
}

/* ---- Where a message goes */

/* A mailbox with nothing queued, FLOWING or LOCAL. If its owner has lost the name: GATED while something is
 * under way, else freed, NULL. */
static struct phx__box *box_check_owner(struct phx__post *p, struct phx__box *b)
{
    if (b->version == *p->ops.version
        || p->ops.owner(p->ops.ctx, b->name) == (b->peer == NULL ? PHX__SELF : b->peer->node)) {
        b->version = *p->ops.version;
    } else if (b->flying > 0) {
        phx__post_store_move(&p->store, b, PHX__BOX_GATED, NULL);
    } else {
        box_remove(p, b);
        return NULL;
    }
    return b;
}

int phx__post_box_find_way(struct phx__post *p, uint64_t name, size_t size, struct phx__post_way *way)
{
    struct phx__box *b = phx__post_store_find(&p->store, name);
    uint32_t owner;

    way->box = b = b != NULL && b->head == NULL && b->state != PHX__BOX_GATED ? box_check_owner(p, b) : b;
    if (b != NULL) {
        way->state = b->state;
        way->peer = b->peer;
        way->waiters = b->head == NULL && b->state == PHX__BOX_LOCAL ? &p->waiting.ready : &b->waiters;
    } else {
        owner = p->ops.owner(p->ops.ctx, name);
        way->state = owner == PHX__NONE   ? PHX__BOX_HELD
                     : owner == PHX__SELF ? PHX__BOX_LOCAL : PHX__BOX_FLOWING;
        way->peer = way->state == PHX__BOX_FLOWING ? phx__post_sched_open(p, owner) : NULL;
        way->waiters = &p->waiting.ready; /* LOCAL: the next run delivers what is there, and tells then */
    }
    if (way->state == PHX__BOX_FLOWING) {
        if (way->peer == NULL)
            return PHX_ENOMEM;
        way->waiters = &way->peer->waiters;
        way->peer->wanted = size;
    } else if (way->state == PHX__BOX_HELD) { /* what is too large for the store waits for an owner */
        way->waiters = size > p->limits.hold_bytes ? &p->waiting.owner : &p->waiting.room;
    }
    return box_accepts(p, way, size) ? 0 : PHX_EAGAIN;
}

int phx__post_box_submit(struct phx__post *p, struct phx__post_way *way, struct phx__message *m)
{
    int err;

    if (way->state != PHX__BOX_FLOWING) {
        err = box_keep(p, way->box, m, way->state);
    } else {
        if (way->box == NULL)
            way->box = box_open(p, m->to, way->peer);
        err = way->box == NULL ? PHX_ENOMEM : box_put(p, way->box, m);
    }
    p->pending.count += err == 0;
    return err;
}

/* ---- Withdrawing */

/* Marks the message at index, nothing of which was emitted, for the next sweep. */
PHX__COLD static void box_withdraw(struct phx__post *p, struct phx__flow_out *o, uint32_t index,
                                   uint32_t span, int result)
{
    struct phx__message m;

    phx__post_flow_message(o, index, &m);
    box_end(p, &m, result); /* the outcome holds the host's memory, the flow does not any more */
    for (uint32_t i = index; i < index + span; i++)
        phx__post_flow_withdraw(o, i);
    phx__post_box_landed(p, m.box);
}

/* Notes the messages of a flow that can be cancelled. 1: *at is one with this token. */
static int box_note_flow(struct phx__post *p, struct phx__post_peer *peer, uint64_t token,
                         struct phx__token_at *at)
{
    const struct phx__flow_out *o = &peer->out;
    uint32_t i = (uint32_t)(o->left - o->base);
    int found = 0;

    while (i < o->count && (phx__post_flow_at(o, i)->flags & PHX__DATA_FIRST) == 0)
        i++; /* the rest of one that was emitted in part */
    for (; i < o->count; i += phx__post_flow_span(o, i), p->store.tokens.looks++) {
        const struct phx__flow_record *r = phx__post_flow_at(o, i);

        if (r->gone)
            continue;
        box_note(p, peer, i, r->token);
        if (r->token != token)
            continue;
        found = 1;
        *at = (struct phx__token_at){NULL, peer->node, 0, o->base + i};
    }
    peer->noted = o->sweeps;
    return found;
}

/* The same for all mailboxes and flows, from which the index is made anew. */
PHX__COLD static int box_look(struct phx__post *p, uint64_t token, struct phx__token_at *at)
{
    struct phx__queued *q;
    int found = 0;

    p->mem->looks += p->store.count + p->node_capacity;
    phx__post_tokens_begin(&p->store.tokens, p->pending.count + p->store.count + p->node_capacity);
    for (uint32_t i = 0; i < p->node_capacity; i++)
        found |= p->nodes[i].peer != NULL && box_note_flow(p, p->nodes[i].peer, token, at);
    for (uint32_t i = 0; i < p->store.count; i++)
        for (q = p->store.boxes[i]->head; q != NULL; q = q->next, p->store.tokens.looks++) {
            phx__post_store_note(&p->store, q);
            if (q->message.token == token) {
                at->queued = q;
                found = 1;
            }
        }
    return found;
}

static int box_is_there(const struct phx__flow_out *o, const struct phx__token_at *at, uint64_t token)
{
    const struct phx__flow_record *r;

    if (at->number < o->left || at->number - o->base >= o->count)
        return 0;
    r = phx__post_flow_at(o, (uint32_t)(at->number - o->base));
    return r->token == token && (r->flags & PHX__DATA_FIRST) != 0 && !r->gone;
}

/* A message with this token that can be cancelled: 1, or 0. A sweep of its flow has moved it, perhaps. */
PHX__COLD static int box_find(struct phx__post *p, uint64_t token, struct phx__token_at *at)
{
    struct phx__post_peer *peer;

    while (phx__post_tokens_take(&p->store.tokens, token, at)) { /* there may be no index */
        p->store.tokens.looks++;
        if (at->queued != NULL)
            return 1;
        if ((peer = phx__post_sched_find(p, at->node)) != NULL && (box_is_there(&peer->out, at, token)
                             || (peer->noted != peer->out.sweeps && box_note_flow(p, peer, token, at))))
            return 1;
    }
    return p->store.tokens.most == 0 && box_look(p, token, at);
}

static int box_cancel_queued(struct phx__post *p, struct phx__queued *q)
{
    struct phx__box *b = q->message.box;
    int member = q->message.multicast != NULL;

    box_end_queued(p, b, q, PHX_ECANCELLED);
    box_check_room(p, b->peer);
    phx__post_box_emptied(p, b);
    return member;
}

static int box_cancel_flow(struct phx__post *p, struct phx__post_peer *peer, uint64_t number)
{
    struct phx__flow_out *o = &peer->out;
    uint32_t i = (uint32_t)(number - o->base), waiting = o->count - (uint32_t)(o->left - o->base);
    int member = phx__post_flow_at(o, i)->multicast != NULL;

    box_withdraw(p, o, i, phx__post_flow_span(o, i), PHX_ECANCELLED);
    if (o->gone >= waiting / 2) {
        p->store.tokens.looks += waiting;
        phx__post_flow_sweep(o);
    }
    phx__post_box_ended(p, peer);
    return member;
}

int phx__post_box_cancel(struct phx__post *p, uint64_t token)
{
    struct phx__token_at at;
    int member;

    if (token == 0 || !box_find(p, token, &at))
        return PHX_ENOTFOUND;
    do
        member = at.queued != NULL ? box_cancel_queued(p, at.queued)
                                   : box_cancel_flow(p, phx__post_sched_find(p, at.node), at.number);
    while (member && box_find(p, token, &at)); /* the others of its multicast */
    return 0;
}

void phx__post_box_undo(struct phx__post *p, struct phx__box *b)
{
    p->pending.count--;
    if (b->head == NULL) {
        struct phx__flow_out *o = &b->peer->out;

        phx__post_flow_truncate(o, phx__post_flow_last(o));
        phx__post_box_landed(p, b);
        return;
    }
    phx__post_store_drop(&p->store, b, b->tail);
    phx__post_box_emptied(p, b);
}

/* The mailboxes with something queued of some names. Each may be freed before the next one is asked for. */
struct box_walk {
    uint64_t first, names, left;
    int by_name; /* there are fewer names than mailboxes */
};

static struct box_walk box_walk(const struct phx__post *p, uint64_t first, uint64_t last)
{
    const uint64_t names = last - first;
    const int by_name = names < p->store.count;

    return (struct box_walk){ first, names, by_name ? names + 1 : p->store.count, by_name };
}

/* From the end, because the last mailbox takes the place of one that is freed; several may be. Or NULL. */
static struct phx__box *box_next(struct phx__post *p, struct box_walk *walk)
{
    while (walk->left > 0) {
        uint64_t i = --walk->left;
        struct phx__box *b = walk->by_name ? phx__post_store_find(&p->store, walk->first + i)
                             : i < p->store.count ? p->store.boxes[i] : NULL;

        if (b != NULL && b->head != NULL && b->name - walk->first <= walk->names)
            return b;
    }
    return NULL;
}

/* A search of n messages for expired ones is repeated after 4 n us at the earliest: a hundredth of a core. */
static uint64_t box_next_search(const struct phx__post *p, uint64_t earliest, uint64_t searched)
{
    return PHX__MAX(earliest, *p->ops.now + 4 * searched);
}

/* What its messages waited for when their time was over. */
static int box_lateness(const struct phx__box *b)
{
    return b->state == PHX__BOX_HELD || b->state == PHX__BOX_REFUSED ? PHX_ENOOWNER
           : b->peer == NULL || b->peer->routed ? PHX_EEXPIRED : PHX_ENOROUTE;
}

/* Reports a message that was emitted in part; frees its bytes if frames have some. 0, or PHX_ENOMEM. */
static int box_expire_begun(struct phx__post *p, struct phx__flow_out *o, uint32_t index, uint32_t span)
{
    size_t bytes = o->bytes;
    struct phx__block *body;
    struct phx__message m;

    phx__post_flow_message(o, index, &m);
    body = phx__buf_block_hold(m.body);
    if (span > 1 && phx__post_flow_hollow(o, index, span) != 0) {
        phx__buf_block_drop(body);
        return PHX_ENOMEM;
    }
    m.body = span > 1 ? m.body : NULL;
    p->pending.bytes -= bytes - o->bytes;
    phx__post_outcome_add(p, &m, box_lateness(m.box));
    phx__buf_block_drop(body);
    for (; span > 0; index++, span--) {
        struct phx__flow_record *r = phx__post_flow_at(o, index);

        r->multicast = NULL;
        r->token = r->limit = 0;
    }
    return 0;
}

PHX__COLD static void box_expire_flow(struct phx__post *p, struct phx__post_peer *peer)
{
    struct phx__flow_out *o = &peer->out;
    uint64_t earliest = PHX__NEVER;
    uint32_t i, span;

    phx__post_flow_sweep(o);
    for (i = 0; i < o->count; i += span) {
        struct phx__flow_record *r = phx__post_flow_at(o, i);

        span = phx__post_flow_span(o, i);
        if (r->limit == 0)
            continue; /* reported already */
        if (r->limit > *p->ops.now) {
            earliest = r->limit < earliest ? r->limit : earliest;
        } else if (o->base + i >= o->left && (r->flags & PHX__DATA_FIRST) != 0) {
            box_withdraw(p, o, i, span, box_lateness(r->box));
        } else if (box_expire_begun(p, o, i, span) != 0 && earliest > *p->ops.now + BOX_RETRY_MOST) {
            earliest = *p->ops.now + BOX_RETRY_MOST;
        }
    }
    o->limit_at = box_next_search(p, earliest, o->count);
    phx__post_flow_sweep(o);
    phx__post_box_ended(p, peer);
}

/* Ends what is queued and expires until then. When the next one of the rest expires. */
PHX__COLD static uint64_t box_end_until(struct phx__post *p, struct phx__box *b, uint64_t until, int result)
{
    struct phx__queued *q = b->head, *next;
    uint64_t earliest = PHX__NEVER;

    for (; q != NULL; q = next) {
        next = q->next;
        if (q->message.limit <= until) {
            box_end_queued(p, b, q, result);
            continue;
        }
        earliest = q->message.limit < earliest ? q->message.limit : earliest;
    }
    phx__post_box_emptied(p, b);
    return earliest;
}

PHX__COLD static void box_expire_held(struct phx__post *p)
{
    struct box_walk walk = box_walk(p, 0, UINT64_MAX);
    uint64_t earliest = PHX__NEVER, at;
    struct phx__box *b;

    p->mem->looks += p->store.count;
    while ((b = box_next(p, &walk)) != NULL) {
        struct phx__post_peer *peer = b->peer;

        at = box_end_until(p, b, *p->ops.now, box_lateness(b));
        earliest = PHX__MIN(earliest, at);
        box_check_room(p, peer);
    }
    phx__timer_set(p->timers, p->boxes.timer, box_next_search(p, earliest, p->store.queued));
    phx__post_outcome_fit(p);
}

void phx__post_box_due(struct phx__post *p, int kind, uint32_t arg)
{
    struct phx__post_peer *peer = kind == (int)PHX__TIMER_POST ? phx__post_sched_find(p, arg) : NULL;

    if (kind == (int)PHX__TIMER_POST_HOLD)
        (arg == 0 ? box_expire_held : box_retry)(p);
    if (peer == NULL)
        return;
    if (phx__post_sched_due(p, peer))
        box_close_idle(p, peer);
    if (peer->out.limit_at <= *p->ops.now)
        box_expire_flow(p, peer);
    phx__post_sched_arm(p, peer);
}

/* ---- Changes */

/* Names that wait for room in the store and have an owner now need not wait. */
static void box_sort_waiters(struct phx__post *p, struct phx__ring *list)
{
    struct phx__ring all;

    phx__ring_init(&all);
    phx__ring_move(&all, list);
    while (!phx__ring_is_empty(&all)) {
        uint64_t name = PHX__RING_OF(all.next, phx__waiter, link)->name;

        phx__ring_add(p->ops.owner(p->ops.ctx, name) == PHX__NONE ? list : &p->waiting.ready, all.next);
    }
}

/* Those with nothing queued ask when something is sent. */
static void box_route_names(struct phx__post *p, uint64_t first, uint64_t last)
{
    struct box_walk walk = box_walk(p, first, last);
    struct phx__box *b;

    while ((b = box_next(p, &walk)) != NULL)
        phx__post_box_route(p, b);
}

void phx__post_box_ranges(struct phx__post *p, const struct phx_range *ranges, uint32_t count)
{
    uint64_t left = p->store.count, size;
    uint32_t i;

    for (i = 0; i < count && (size = ranges[i].last - ranges[i].first) < left; i++)
        left -= size + 1;
    if (i < count) { /* there are more names than mailboxes */
        p->boxes.look_again = 0;
        box_route_names(p, 0, UINT64_MAX);
    } else {
        while (i-- > 0)
            box_route_names(p, ranges[i].first, ranges[i].last);
    }
    box_retry(p);
    box_sort_waiters(p, &p->waiting.room);
    box_sort_waiters(p, &p->waiting.owner);
}

void phx__post_box_names(struct phx__post *p)
{
    const struct phx_range all = { 0, UINT64_MAX };

    phx__post_box_ranges(p, &all, 1);
}

/* A message, or a run for one name, of a failed flow goes back into its mailbox. What expired or has no owner
 * ends with `failure`. emitted: in whole; back: why it came back, or 0. */
PHX__COLD static void box_give_back(struct phx__post *p, struct phx__post_peer *peer, struct phx__message *m,
                                    int emitted, int back, int again, int failure)
{
    int result = back == (int)PHX__RETURN_LARGE ? PHX_ETOOBIG : failure;

    if (emitted && back == 0)
        m->tried |= phx__post_store_note_life(m->box, peer->life);
    if (again && result == failure && m->limit != 0 && p->ops.owner(p->ops.ctx, m->to) != PHX__NONE)
        result = box_requeue(p, m);
    if (result != 0) {
        p->counters.dropped += phx__post_outcome_promises(m->token, m->body) != 0; /* box_end counts others */
        box_end(p, m, result);
    }
    phx__post_box_landed(p, m->box);
}

/* Puts a failed flow's messages back into mailboxes: a run as one message, if it is for one name. The flow
 * begins anew. */
PHX__COLD static void box_empty(struct phx__post *p, struct phx__post_peer *peer, int again, int failure)
{
    struct phx__flow_out *o = &peer->out;
    struct phx__message m, one;
    uint32_t i, k, span;

    phx__post_flow_sweep(o);
    for (i = 0; i < o->count; i += span) {
        const struct phx__flow_record *r = phx__post_flow_at(o, i);
        int mixed = phx__post_flow_is_mixed(r), back = (r->flags & PHX__DATA_FIRST) != 0 ? 0 : o->front_back;

        span = phx__post_flow_span(o, i);
        phx__post_flow_message(o, i, &m);
        p->pending.bytes += phx__post_flow_message_bytes(&m); /* acknowledged fragments go again */
        for (k = 0; k < span; k++)
            p->pending.bytes -= phx__post_flow_payload(phx__post_flow_at(o, i + k));
        do {
            one = mixed ? phx__post_flow_message_alone(&m, phx__post_store_find(&p->store, m.to)) : m;
            box_give_back(p, peer, &one, o->base + i + span <= o->left, back, again, failure);
        } while (mixed && phx__post_flow_message_next(&m));
    }
    phx__post_flow_truncate(o, 0);
    phx__post_sched_reset(p, peer);
}

PHX__COLD void phx__post_box_failed(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    if (peer == NULL)
        return;
    phx__post_sched_give_up(p, &peer->in); /* the rest may never come */
    box_empty(p, peer, 1, PHX_EFAILED);
    box_close_idle(p, peer); /* the owner must be asked again */
    box_open_gates(p);
    box_check_room(p, peer);
    box_look_again(p); /* once for all that failed in this step */
}

PHX__COLD void phx__post_box_fail(struct phx__post *p, uint32_t node, uint64_t first, uint64_t last)
{
    struct box_walk walk = box_walk(p, first, last);
    struct phx__box *b;

    while ((b = box_next(p, &walk)) != NULL) {
        uint32_t owner = p->ops.owner(p->ops.ctx, b->name);

        if (owner == node || owner == PHX__NONE)
            (void)box_end_until(p, b, PHX__NEVER, PHX_EFAILED);
    }
}

PHX__COLD static void box_end_all(struct phx__post *p)
{
    struct box_walk walk = box_walk(p, 0, UINT64_MAX);
    struct phx__box *b;

    while ((b = box_next(p, &walk)) != NULL)
        (void)box_end_until(p, b, PHX__NEVER, PHX_ECLOSED);
    for (uint32_t i = 0; i < p->node_capacity; i++)
        if (p->nodes[i].peer != NULL)
            box_empty(p, p->nodes[i].peer, 0, PHX_ECLOSED);
    box_open_gates(p);
}

PHX__COLD void phx__post_box_close_all(struct phx__post *p)
{
    box_end_all(p);
    phx__post_outcome_tell(p);
}

PHX__COLD void phx__post_box_free(struct phx__post *p)
{
    box_end_all(p);
    while (p->store.count > 0)
        box_remove(p, p->store.boxes[p->store.count - 1]);
}

PHX__COLD void phx__post_box_forget(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    phx__post_sched_abandon(p, node);
    if (peer == NULL)
        return;
    phx__post_box_failed(p, node);
    box_empty(p, peer, 0, PHX_EFAILED); /* even if ops.owner still names it */
    box_close_idle(p, peer);
    phx__ring_move(&p->waiting.ready, &peer->waiters);
    for (uint32_t i = p->store.count; i > 0; i--) {
        struct phx__box *b = p->store.boxes[i - 1];

        if (b->peer != peer)
            continue;
        b->returned = b->moved = 0;
        b->last_returned = NULL;
        box_hold(p, b);
        box_look_again(p);
        phx__post_box_emptied(p, b);
    }
    phx__post_sched_free(p, peer);
}
