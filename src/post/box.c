/* box.c - part of post: what becomes of messages: where they wait, and how they end. */

/* A message that was accepted is in one place at a time, and moves only by the arrows:
 *
 *      phx__post_send
 *           |  '-------------------. the box says FLOWING
 *           v   owner, room        v
 *          box -----------------> flow ---- acknowledged ----> PHX_OK          (post.c)
 *           ^                      | |
 *           '- came back, or the --' |- too large for the receiver ----------> PHX_ETOOBIG
 *           |  node failed           '- node failed, nobody has the name ----> PHX_EFAILED
 *           |                        |
 *           '--- taken back, or too late: before anything of it has left ----> PHX_ECANCELLED,
 *                                                                              PHX_EEXPIRED
 * A box goes its own way, which keeps the order when its name moves:
 *
 *          HELD <---- nobody -----.
 *          LOCAL <--- self -------+--- where is the name? <--- letters, nothing under way
 *          BOUND <--- peer, full -|          ^                        ^
 *            '------> FLOWING <---'          '- names change, 50 ms --+-- REFUSED
 *                        |                                            |     ^ by the owner we know
 *                        '--- the owner changed, or a message --------+-----'
 *                             came back ----> GATED ---- all that was under way has ended
 *
 * GATED is the heart of it. As long as one message to the name is in the flow to a former owner,
 * nobody knows whether that got it or turns it back; so whatever follows waits. The owner is asked
 * when something is sent and the names have changed since the last time, which costs a comparison;
 * no change has to look for boxes. REFUSED tries again by time, should the news of the name not
 * come: after 50 ms, then twice that, up to a second.
 *
 * At each end stands one outcome. Outcomes are told in phx__post_run only, and their memory is
 * reserved when the message is accepted: each holds at most the token, the result, and the host's
 * own memory if that is to be released. So no end can fail, and no release function runs outside a
 * step.
 *
 * A message that has begun to leave cannot be called back. If its time limit passes then,
 * PHX_EEXPIRED is reported at once, and once; it may still be delivered.
 *
 * A failed node's messages go back into boxes from the youngest to the oldest, each to the front,
 * behind what had come back before: what is in a box otherwise is always younger. From there they
 * take the way of all boxes, but for one thing. A node that failed may only have been cut off, with a
 * message delivered and the ack lost. If it comes back in the same life and has the name again, what
 * once went out to it in whole ends with PHX_EFAILED rather than to go there a second time. So each
 * such letter has a bit for each life it met, and its box the lives, until nothing is in it or under
 * way; lives have numbers of this room's own. There are five bits; a letter that has seen more dying
 * owners than that ends in the same way.
 *
 * Bounds. A destination has one window for all its names: what is in its flow and what waits in
 * boxes for it. The boxes themselves, but LOCAL ones, share hold_bytes; what comes back or is rescued may
 * pass that, by what was in flows. LOCAL ones share a window: this node is a destination, too. */
#include "post/post.h"

/* What could not be done for lack of memory is tried again after this. */
#define BOX_AGAIN (10 * PHX__MS)
/* Patience with an owner that says it is none: news of names come within some round trips. */
#define BOX_RETRY_FIRST (50 * PHX__MS)
#define BOX_RETRY_MOST PHX__SECOND
/* Boxes of names to which nothing is under way, kept so that a next message finds them. About 150
 * bytes each. */
#define BOX_IDLE_MOST 4096u

void phx__post_box_again(struct phx__post *p, uint64_t at)
{
    if (at == 0)
        at = p->now + BOX_AGAIN;
    if (at < phx__timer_at(p->timers, p->again_timer))
        phx__timer_set(p->timers, p->again_timer, at);
}

/* ---- Outcomes */

uint32_t phx__post_box_promises(uint64_t token, const struct phx__block *body)
{
    return (token != 0 ? 1u : 0u) + (body != NULL && body->release != NULL ? 1u : 0u);
}

int phx__post_box_promise(struct phx__post *p, uint32_t n)
{
    size_t need = p->promised + p->outcome_first + p->outcome_count + n;

    if (n > 0 && (need > UINT32_MAX
                  || phx__mem_grow(p->mem, &p->outcomes, &p->outcome_capacity, (uint32_t)need,
                                   sizeof *p->outcomes) != 0))
        return PHX_ENOMEM;
    p->promised += n;
    return 0;
}

void phx__post_box_outcome(struct phx__post *p, uint64_t token, int result, struct phx__block *body,
                       struct phx__multicast *cast, uint64_t to)
{
    uint32_t n = phx__post_box_promises(token, body);
    struct phx__outcome *o;

    if (n == 0) {
        phx__post_multicast_drop(p, cast);
        return;
    }
    PHX_ASSERT(p->promised >= n && p->outcome_first + p->outcome_count < p->outcome_capacity);
    p->promised -= n;
    o = &p->outcomes[p->outcome_first + p->outcome_count++];
    o->token = token;
    o->result = result;
    o->cast = cast;
    o->to = to;
    o->body = body != NULL && body->release != NULL ? phx__buf_block_hold(body) : NULL;
}

void phx__post_box_tell(struct phx__post *p)
{
    uint32_t n = p->outcome_count;

    /* Those that callbacks add are left for the next time, so that a host which sends and cancels
     * for ever does not keep us here. */
    while (n-- > 0) {
        struct phx__outcome o = p->outcomes[p->outcome_first++];

        p->outcome_count--;
        if (o.cast != NULL)
            p->ops.member(p->ops.ctx, o.token, o.to, o.result, phx__post_multicast_left(o.cast));
        else if (o.token != 0)
            p->ops.done(p->ops.ctx, o.token, o.result);
        phx__post_multicast_drop(p, o.cast);
        phx__buf_block_drop(o.body);
    }
    if (p->outcome_count > 0)
        memmove(p->outcomes, p->outcomes + p->outcome_first,
                p->outcome_count * sizeof *p->outcomes);
    p->outcome_first = 0;
}

int phx__post_box_accepts(const struct phx__post *p, const struct phx__post_peer *peer)
{
    return peer->out.count == 0 || peer->out.bytes < p->limits.window;
}

int phx__post_box_credit(const struct phx__post *p, const struct phx__post_peer *peer)
{
    size_t waiting = peer->out.bytes + peer->boxed;

    return waiting == 0 || waiting < p->limits.window;
}

int phx__post_box_put(struct phx__post *p, struct phx__box *b, struct phx__message *m)
{
    struct phx__post_peer *peer = b->peer;

    if (peer->out.epoch == 0)
        phx__post_flow_restart(&peer->out, p->limits.epoch_base + ++p->epochs, peer->out.window);
    m->box = b;
    if (phx__post_flow_join(&peer->out, m))
        return 0; /* the frame is listed, or waits, with what it has already */
    if (phx__post_flow_put(&peer->out, m) != 0)
        return PHX_ENOMEM;
    if (b->flying++ == 0 && b->state == PHX__BOX_FLOWING) {
        phx__ring_del(&b->link);
        phx__ring_del(&b->age);
        p->idle_boxes--;
    }
    phx__post_sched_ready(p, peer);
    if (peer->out.limit_at != PHX__NEVER)
        phx__post_sched_arm(p, peer);
    return 0;
}

void phx__post_box_check_room(struct phx__post *p, struct phx__post_peer *peer)
{
    if (peer->waiters == NULL && phx__ring_is_empty(&peer->boxes))
        return;
    if (peer->out.count == 0 || peer->out.bytes < p->limits.window / 2)
        phx__ring_add(&p->rooms, &peer->room_link);
}

/* ---- Boxes */

void phx__post_box_close_box(struct phx__post *p, struct phx__box *b)
{
    p->idle_boxes -= b->state == PHX__BOX_FLOWING;
    phx__ring_del(&b->age);
    phx__post_store_wait_splice(&p->ready_waiters, &b->waiters);
    phx__post_store_close(&p->hold, b);
}

void phx__post_box_close_idle(struct phx__post *p, struct phx__post_peer *peer)
{
    while (!phx__ring_is_empty(&peer->idle))
        phx__post_box_close_box(p, (struct phx__box *)(void *)peer->idle.next);
}

/* Above the limit the box that has been idle longest closes, whose peer it may be: never b, the youngest. */
static void box_idle(struct phx__post *p, struct phx__box *b)
{
    b->life_count = 0;
    phx__post_store_move(&p->hold, b, PHX__BOX_FLOWING, &b->peer->idle);
    phx__ring_add(&p->idle, &b->age);
    if (++p->idle_boxes > BOX_IDLE_MOST)
        phx__post_box_close_box(p, PHX__BOX_OF(p->idle.next, age));
}

/* Whose letters they are from now on. The former may have room. */
static void box_aim(struct phx__post *p, struct phx__box *b, struct phx__post_peer *peer)
{
    struct phx__post_peer *former = b->peer;

    b->peer = peer;
    phx__post_store_charge(b, peer == NULL ? NULL : &peer->boxed);
    if (former != NULL && former != peer)
        phx__post_box_check_room(p, former);
}

struct phx__box *phx__post_box_open(struct phx__post *p, uint64_t name, struct phx__post_peer *peer)
{
    struct phx__box *b = phx__post_store_open(&p->hold, name);

    if (b == NULL)
        return NULL;
    box_aim(p, b, peer);
    b->version = *p->ops.version;
    box_idle(p, b);
    return b;
}

/* The last letter is gone. The box may be, too, after it. */
static void box_settle_box(struct phx__post *p, struct phx__box *b)
{
    phx__post_store_wait_splice(&p->ready_waiters, &b->waiters);
    if (b->flying > 0) {
        if (!b->returned)
            phx__post_store_move(&p->hold, b, PHX__BOX_FLOWING, NULL);
    } else if (b->peer != NULL) {
        box_idle(p, b);
    } else {
        phx__post_box_close_box(p, b);
    }
}

static void box_hold_box(struct phx__post *p, struct phx__box *b)
{
    box_aim(p, b, NULL);
    phx__post_store_wait_splice(&p->hold_waiters, &b->waiters);
    phx__post_store_move(&p->hold, b, PHX__BOX_HELD, &p->held);
}

/* A letter that will not be delivered from here. */
static void box_refuse_letter(struct phx__post *p, struct phx__queued *l, int result)
{
    p->pending_bytes -= phx__post_flow_mail_bytes(&l->mail);
    if (phx__post_box_promises(l->mail.token, l->mail.body) == 0)
        p->dropped += 1 + l->mail.rest;
    p->pending_count -= 1 + l->mail.rest;
    phx__post_box_outcome(p, l->mail.token, result, l->mail.body, l->mail.cast, l->mail.to);
    phx__post_store_letter_drop(&p->hold, l); /* never the last reference to the host's memory */
}

/* The bit of mail.met for a life; all of them if there is none left. */
static unsigned box_meet(struct phx__box *b, uint64_t life)
{
    uint32_t i;

    for (i = 0; i < b->life_count && b->lives[i] != life; i++)
        continue;
    if (i == PHX__BOX_LIVES)
        return PHX__BOX_ALL;
    b->lives[i] = life;
    b->life_count += i == b->life_count;
    return 1u << i;
}

/* May the letter have been delivered by the node that it would go to now? Then it cannot: twice
 * would be worse than not to know. */
static int box_has_met(const struct phx__box *b, const struct phx__queued *l)
{
    uint32_t i;

    if (l->mail.met == 0 || l->mail.met == PHX__BOX_ALL)
        return l->mail.met != 0;
    for (i = 0; i < b->life_count; i++)
        if (b->lives[i] == b->peer->life)
            return (l->mail.met >> i & 1u) != 0;
    return 0;
}

/* Moves the front of a box into its owner's flow, as much as that takes. */
static void box_pour(struct phx__post *p, struct phx__box *b)
{
    b->version = *p->ops.version;
    while (b->head != NULL && phx__post_box_accepts(p, b->peer)) {
        if (box_has_met(b, b->head)) {
            box_refuse_letter(p, phx__post_store_take(&p->hold, b, NULL), PHX_EFAILED);
            phx__post_box_check_room(p, b->peer);
            continue;
        }
        if (phx__post_box_put(p, b, &b->head->mail) != 0) {
            p->look_again = 1; /* an empty flow has no ack that would bring us here again */
            phx__post_box_again(p, 0);
            break;
        }
        /* The flow holds the body, or has copied what was not the host's: nothing is released
         * here. */
        phx__post_store_letter_drop(&p->hold, phx__post_store_take(&p->hold, b, NULL));
    }
    if (b->head == NULL)
        box_settle_box(p, b);
    else
        phx__post_store_move(&p->hold, b, PHX__BOX_BOUND, &b->peer->boxes);
}

/* The owner that we know has turned messages back: 1, the box waits for news or for its time. */
static int box_has_to_wait(struct phx__post *p, struct phx__box *b)
{
    if (b->state == PHX__BOX_REFUSED)
        return p->now < b->retry_at && b->version == *p->ops.version;
    if (!b->moved)
        return 0;
    b->version = *p->ops.version;
    b->retry_us = b->retry_us == 0 ? BOX_RETRY_FIRST : b->retry_us * 2;
    if (b->retry_us > BOX_RETRY_MOST)
        b->retry_us = BOX_RETRY_MOST;
    b->retry_at = p->now + b->retry_us;
    phx__post_store_move(&p->hold, b, PHX__BOX_REFUSED, &p->refused);
    phx__post_box_again(p, b->retry_at);
    return 1;
}

void phx__post_box_route_box(struct phx__post *p, struct phx__box *b)
{
    uint32_t owner = p->ops.owner(p->ops.ctx, b->name);
    int same = b->peer != NULL && b->peer->node == owner;

    if (b->flying > 0 && (b->returned || !same)) {
        phx__post_store_move(&p->hold, b, PHX__BOX_GATED, NULL);
        return;
    }
    if (same && box_has_to_wait(p, b))
        return;
    b->moved = 0;
    if (!same)
        b->retry_us = 0;
    if (owner == PHX__SELF) {
        box_aim(p, b, NULL);
        phx__post_store_charge(b, &p->local_bytes);
        phx__post_store_move(&p->hold, b, PHX__BOX_LOCAL, &p->local);
        return;
    }
    if (!same)
        box_aim(p, b, owner == PHX__NONE ? NULL : phx__post_sched_open(p, owner));
    if (b->peer != NULL) {
        box_pour(p, b);
        return;
    }
    if (owner != PHX__NONE) {
        p->look_again = 1;
        phx__post_box_again(p, 0);
    }
    box_hold_box(p, b);
}

void phx__post_box_retry(struct phx__post *p)
{
    struct phx__ring all;

    phx__ring_init(&all);
    while (!phx__ring_is_empty(&p->refused))
        phx__ring_add(&all, p->refused.next);
    while (!phx__ring_is_empty(&all)) {
        struct phx__box *b = (struct phx__box *)(void *)all.next;

        phx__ring_add(&p->refused, &b->link);
        phx__post_box_route_box(p, b);
        if (b->state == PHX__BOX_REFUSED)
            phx__post_box_again(p, b->retry_at);
    }
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
        phx__ring_add(&p->opened, &b->link);
}

void phx__post_box_open_gates(struct phx__post *p)
{
    while (!phx__ring_is_empty(&p->opened)) {
        struct phx__box *b = (struct phx__box *)(void *)p->opened.next;

        phx__ring_del(&b->link);
        b->returned = 0;
        b->back = NULL;
        if (b->head == NULL)
            box_settle_box(p, b);
        else
            phx__post_box_route_box(p, b);
    }
}

void phx__post_box_gate(struct phx__post *p, struct phx__box *b, int reason)
{
    b->returned = 1;
    b->moved = reason == (int)PHX__RETURN_MOVED;
    if (b->state != PHX__BOX_GATED)
        phx__post_store_move(&p->hold, b, PHX__BOX_GATED, NULL);
}

int phx__post_box_box_accepts(const struct phx__post *p, enum phx__box_state state,
                          const struct phx__post_peer *peer, size_t size)
{
    if (state == PHX__BOX_BOUND)
        return phx__post_box_credit(p, peer);
    if (state == PHX__BOX_LOCAL)
        return p->local_bytes == 0 || p->local_bytes < p->limits.window;
    if (p->hold.held_bytes == 0)
        return size <= p->limits.hold_bytes;
    return p->hold.held_bytes < p->limits.hold_bytes
        && phx__post_store_letter_charge(size) <= p->limits.hold_bytes - p->hold.held_bytes;
}

static void box_note_limit(struct phx__post *p, uint64_t limit)
{
    if (limit < p->hold_limit_at) {
        p->hold_limit_at = limit;
        phx__timer_set(p->timers, p->hold_timer, limit);
    }
}

int phx__post_box_take_back(struct phx__post *p, const struct phx__message *m, int reason)
{
    struct phx__queued *l = phx__post_store_letter_new(&p->hold, m);

    if (l == NULL)
        return PHX_ENOMEM;
    phx__post_box_gate(p, m->box, reason);
    phx__post_store_insert(&p->hold, m->box, l);
    box_note_limit(p, m->limit);
    m->box->back = l;
    return 0;
}

int phx__post_box_keep(struct phx__post *p, struct phx__box *b, const struct phx__message *m,
                  uint32_t owner)
{
    struct phx__queued *l = phx__post_store_letter_new(&p->hold, m);

    if (l == NULL)
        return PHX_ENOMEM;
    if (b == NULL) {
        b = phx__post_store_open(&p->hold, m->to);
        if (b == NULL) {
            /* m has a reference of its own to a body that is the host's, so this releases
             * nothing. */
            phx__post_store_letter_drop(&p->hold, l);
            return PHX_ENOMEM;
        }
        if (owner == PHX__SELF) {
            phx__post_store_charge(b, &p->local_bytes);
            phx__post_store_move(&p->hold, b, PHX__BOX_LOCAL, &p->local);
        } else {
            phx__post_store_move(&p->hold, b, PHX__BOX_HELD, &p->held);
        }
    }
    phx__post_store_push(&p->hold, b, l);
    box_note_limit(p, m->limit);
    return 0;
}

/* ---- Withdrawing */

static int box_cancel_box(struct phx__post *p, struct phx__box *b, uint64_t token)
{
    struct phx__queued *before = NULL, *l;

    for (l = b->head; l != NULL && l->mail.token != token; l = l->next)
        before = l;
    if (l == NULL)
        return 0;
    box_refuse_letter(p, phx__post_store_take(&p->hold, b, before), PHX_ECANCELLED);
    if (b->peer != NULL)
        phx__post_box_check_room(p, b->peer);
    if (b->head == NULL)
        box_settle_box(p, b);
    return 1;
}

/* Marks the message at index, nothing of which has left, for the next sweep. */
static void box_withdraw(struct phx__post *p, struct phx__flow_out *o, uint32_t index,
                          uint32_t span, int result)
{
    struct phx__flow_record *r = phx__post_flow_at(o, index);
    uint32_t i;

    for (i = index; i < index + span; i++) {
        phx__post_flow_at(o, i)->gone = 1;
        p->pending_bytes -= phx__post_flow_payload(phx__post_flow_at(o, i));
    }
    if (phx__post_box_promises(r->token, r->body) == 0)
        p->dropped++;
    p->pending_count--;
    phx__post_box_outcome(p, r->token, result, r->body, r->cast, r->box->name);
    phx__post_box_landed(p, r->box);
}

static void box_swept(struct phx__post *p, struct phx__post_peer *peer)
{
    phx__post_flow_sweep(&peer->out);
    phx__post_box_open_gates(p);
    phx__post_box_check_room(p, peer);
    if (peer->out.count == 0)
        phx__post_sched_rest(p, peer);
}

static int box_cancel_flow(struct phx__post *p, struct phx__post_peer *peer, uint64_t token)
{
    struct phx__flow_out *o = &peer->out;
    uint32_t i = (uint32_t)(o->left - o->base);

    while (i < o->count && (phx__post_flow_at(o, i)->flags & PHX__DATA_FIRST) == 0)
        i++; /* the rest of one that has begun to leave */
    while (i < o->count && phx__post_flow_at(o, i)->token != token)
        i += phx__post_flow_span(o, i);
    if (i >= o->count)
        return 0;
    box_withdraw(p, o, i, phx__post_flow_span(o, i), PHX_ECANCELLED);
    box_swept(p, peer);
    return 1;
}

/* A walk over all that has not left. Tokens are not indexed: every send would pay for what few ever
 * do. */
static int box_cancel(struct phx__post *p, uint64_t token)
{
    uint32_t i;

    for (i = 0; i < p->hold.count; i++) {
        if (box_cancel_box(p, p->hold.boxes[i], token))
            return 1;
    }
    for (i = 0; i < p->node_capacity; i++) {
        if (p->nodes[i].peer != NULL && box_cancel_flow(p, p->nodes[i].peer, token))
            return 1;
    }
    return 0;
}

int phx__post_box_cancel(struct phx__post *p, uint64_t token)
{
    if (token == 0 || !box_cancel(p, token))
        return PHX_ENOTFOUND;
    while (phx__post_multicast_has(p, token) && box_cancel(p, token))
        continue; /* the other members */
    return 0;
}

void phx__post_box_undo(struct phx__post *p, struct phx__box *b)
{
    struct phx__queued *before = NULL, *l = b->head;

    p->pending_count--;
    if (l == NULL) {
        struct phx__flow_out *o = &b->peer->out;

        phx__post_flow_truncate(o, phx__post_flow_last(o));
        phx__post_box_landed(p, b);
        return;
    }
    for (; l->next != NULL; l = l->next)
        before = l;
    phx__post_store_letter_drop(&p->hold, phx__post_store_take(&p->hold, b, before));
    if (b->head == NULL)
        box_settle_box(p, b);
}

/* Searching n messages for those that expired is repeated at the earliest n microseconds later, so
 * that many different limits cost some percent of the time and not all of it. */
static uint64_t box_next_search(uint64_t earliest, uint64_t searched, uint64_t now)
{
    return earliest < now + searched ? now + searched : earliest;
}

void phx__post_box_expire_flow(struct phx__post *p, struct phx__post_peer *peer)
{
    struct phx__flow_out *o = &peer->out;
    uint64_t earliest = PHX__NEVER;
    uint32_t i, j, span;

    for (i = 0; i < o->count; i += span) {
        struct phx__flow_record *r = phx__post_flow_at(o, i);

        span = phx__post_flow_span(o, i);
        if (r->limit == 0)
            continue; /* was told */
        if (r->limit > p->now) {
            earliest = r->limit < earliest ? r->limit : earliest;
        } else if (o->base + i >= o->left && (r->flags & PHX__DATA_FIRST) != 0) {
            box_withdraw(p, o, i, span, PHX_EEXPIRED);
        } else {
            phx__post_box_outcome(p, r->token, PHX_EEXPIRED, NULL, r->cast, r->box->name);
            for (j = i; j < i + span; j++) {
                phx__post_flow_at(o, j)->cast = NULL;
                phx__post_flow_at(o, j)->token = 0;
                phx__post_flow_at(o, j)->limit = 0;
            }
        }
    }
    o->limit_at = earliest == PHX__NEVER ? earliest : box_next_search(earliest, o->count, p->now);
    box_swept(p, peer);
}

static uint64_t box_expire_box(struct phx__post *p, struct phx__box *b)
{
    struct phx__queued *before = NULL, *l = b->head, *next;
    uint64_t earliest = PHX__NEVER;

    if (l == NULL)
        return earliest;
    for (; l != NULL; l = next) {
        next = l->next;
        if (l->mail.limit <= p->now) {
            box_refuse_letter(p, phx__post_store_take(&p->hold, b, before), PHX_EEXPIRED);
            continue;
        }
        earliest = l->mail.limit < earliest ? l->mail.limit : earliest;
        before = l;
    }
    if (b->peer != NULL)
        phx__post_box_check_room(p, b->peer);
    if (b->head == NULL)
        box_settle_box(p, b);
    return earliest;
}

void phx__post_box_expire_held(struct phx__post *p)
{
    uint64_t earliest = PHX__NEVER, at;
    uint32_t i;

    /* from the end: a box that goes is replaced by the last */
    for (i = p->hold.count; i > 0; i--) {
        if (i > p->hold.count)
            continue; /* more than one went */
        at = box_expire_box(p, p->hold.boxes[i - 1]);
        earliest = at < earliest ? at : earliest;
    }
    if (earliest != PHX__NEVER)
        earliest = box_next_search(earliest, p->hold.letters, p->now);
    p->hold_limit_at = earliest;
    phx__timer_set(p->timers, p->hold_timer, earliest);
}

/* ---- Changes */

/* Those who wait for room to hold, although their name has an owner now, need not. */
static void box_sort_waiters(struct phx__post *p, struct phx__waiter **list)
{
    struct phx__waiter *all = *list, *one;

    for (*list = NULL; all != NULL;) {
        one = all->next;
        if (one == all)
            all = NULL;
        else
            all->next = one->next;
        one->next = one;
        phx__post_store_wait_splice(p->ops.owner(p->ops.ctx,
                                      one->name) == PHX__NONE ? list : &p->ready_waiters, &one);
    }
}

void phx__post_box_names(struct phx__post *p, uint64_t now)
{
    uint32_t i;

    p->now = now;
    p->look_again = 0;
    /* Those without letters ask when there is something to send. */
    for (i = 0; i < p->hold.count; i++)
        if (p->hold.boxes[i]->head != NULL)
            phx__post_box_route_box(p, p->hold.boxes[i]); /* which then has a place, so it stays */
    box_sort_waiters(p, &p->hold_waiters);
    box_sort_waiters(p, &p->name_waiters);
}

/* A message of a failed node's flow, or a run of them, which has not ended, back to its box. */
static int box_rescue(struct phx__post *p, const struct phx__message *m)
{
    struct phx__queued *l = phx__post_store_letter_new(&p->hold, m);

    if (l == NULL)
        return PHX_ENOMEM;
    if (m->box->state != PHX__BOX_GATED)
        phx__post_store_move(&p->hold, m->box, PHX__BOX_GATED, NULL);
    phx__post_store_insert(&p->hold, m->box, l);
    box_note_limit(p, m->limit);
    return 0;
}

/* Takes all out of a failed flow, from the youngest to the oldest, because each goes to the front
 * of its box: what has an owner, unless it is too late for that. The rest ends with `failure`. */
static void box_empty(struct phx__post *p, struct phx__post_peer *peer, int rescue, int failure)
{
    struct phx__flow_out *o = &peer->out;
    struct phx__message m;
    size_t here;
    uint32_t i, first;
    int result, back;

    for (; o->count > 0; phx__post_flow_truncate(o, first)) {
        first = phx__post_flow_last(o);
        back = (phx__post_flow_at(o, first)->flags & PHX__DATA_FIRST) != 0 ? 0 : o->front_back;
        phx__post_flow_mail(o, first, &m);
        if (o->base + o->count <= o->left && back == 0) /* its last fragment went out, too */
            m.met |= box_meet(m.box, peer->life);
        for (here = 0, i = first; i < o->count; i++)
            here += phx__post_flow_payload(phx__post_flow_at(o, i));
        p->pending_bytes += phx__post_flow_mail_bytes(&m) - here; /* fragments that were taken must go again */
        result = back == (int)PHX__RETURN_LARGE ? PHX_ETOOBIG : failure;
        if (rescue && result == failure && m.limit != 0
            && p->ops.owner(p->ops.ctx, m.to) != PHX__NONE)
            result = box_rescue(p, &m);
        if (result != 0) {
            p->pending_bytes -= phx__post_flow_mail_bytes(&m);
            p->pending_count -= 1 + m.rest;
            p->dropped += 1 + m.rest;
            phx__post_box_outcome(p, m.token, result, m.body, m.cast, m.to);
        }
        phx__post_box_landed(p, m.box);
    }
}

static void box_fail(struct phx__post *p, struct phx__post_peer *peer, int reborn)
{
    phx__post_flow_give_up(&peer->in);
    box_empty(p, peer, 1, PHX_EFAILED);
    if (reborn)
        peer->life = ++p->lives;
    phx__post_sched_reset(p, peer);
    phx__post_box_close_idle(p, peer); /* the owner must be asked again */
    phx__post_box_open_gates(p);
    phx__post_box_check_room(p, peer);
    phx__post_box_names(p, p->now);
}

void phx__post_box_failed(struct phx__post *p, uint32_t node, uint64_t now)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    p->now = now;
    if (peer != NULL)
        box_fail(p, peer, 0);
}

void phx__post_box_close(struct phx__post *p, uint64_t now)
{
    uint32_t i;

    p->now = now;
    for (i = p->hold.count; i > 0; i--) { /* from the end, as in phx__post_box_expire_held */
        struct phx__box *b = i > p->hold.count ? NULL : p->hold.boxes[i - 1];

        if (b == NULL || b->head == NULL)
            continue;
        while (b->head != NULL)
            box_refuse_letter(p, phx__post_store_take(&p->hold, b, NULL), PHX_ECLOSED);
        box_settle_box(p, b);
    }
    for (i = 0; i < p->node_capacity; i++) {
        if (p->nodes[i].peer == NULL)
            continue;
        box_empty(p, p->nodes[i].peer, 0, PHX_ECLOSED);
        phx__post_sched_reset(p, p->nodes[i].peer);
    }
    phx__post_box_open_gates(p);
    phx__post_box_tell(p);
}

/* Epochs begin with the low half of the incarnation, so a flow of the new life that has begun already is
 * known by it; any other belongs to the former, however its epoch compares. */
void phx__post_box_reborn(struct phx__post *p, uint32_t node, uint64_t incarnation, uint64_t now)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);

    p->now = now;
    if (peer == NULL)
        return;
    box_fail(p, peer, 1);
    peer->in_life = (incarnation & UINT32_MAX) + 1;
    if (peer->in.epoch >> 32 == (incarnation & UINT32_MAX))
        return;
    phx__post_flow_start(&peer->in, 0);
    phx__post_returns_reset(&peer->back);
    peer->stuck = 0;
    peer->gap_from = 0;
}

/* Others take it for a rebirth, so their halves of our flows start over, and ours have to. */
void phx__post_box_rise(struct phx__post *p, uint64_t incarnation, uint64_t now)
{
    uint32_t i;

    p->limits.epoch_base = incarnation << 32;
    for (i = 0; i < p->node_capacity; i++)
        phx__post_box_failed(p, i, now);
}

void phx__post_box_forget(struct phx__post *p, uint32_t node)
{
    struct phx__post_peer *peer = phx__post_sched_find(p, node);
    uint32_t i;

    phx__post_sched_abandon(p, node);
    if (peer == NULL)
        return;
    phx__post_box_failed(p, node, p->now);
    box_empty(p, peer, 0, PHX_EFAILED); /* whoever still calls it an owner is wrong */
    phx__post_box_close_idle(p, peer);
    phx__post_store_wait_splice(&p->ready_waiters, &peer->waiters);
    for (i = p->hold.count; i > 0; i--) {
        struct phx__box *b = p->hold.boxes[i - 1];

        if (b->peer != peer)
            continue;
        box_aim(p, b, NULL);
        b->returned = b->moved = 0;
        b->back = NULL;
        if (b->head == NULL) {
            box_settle_box(p, b);
        } else {
            box_hold_box(p, b);
            p->look_again = 1;
            phx__post_box_again(p, 0);
        }
    }
    phx__post_sched_free(p, peer);
}

#undef BOX_AGAIN
#undef BOX_RETRY_FIRST
#undef BOX_RETRY_MOST
#undef BOX_IDLE_MOST
