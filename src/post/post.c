/* post.c - BRAIN: messages end to end: names, credit, retransmission, transit and outcomes. */

/* Between two nodes that live, every message sent to a name arrives once, and in order per (sender, name),
 * whatever relays and links in between do. Every message with a token ends in one outcome. Whatever is queued
 * here is bounded, and phx__post_send returns PHX_EAGAIN before a bound is passed.
 *
 * This room knows no sockets, links, routes, claims or clocks. It asks two questions, who owns this name
 * (ops.owner) and which neighbour leads to that node (ops.next), and is told when an answer may have changed.
 *
 *      phx__post_send                                  phx__post_recv_data
 *           |                                            |        | another node's
 *           | mailbox of the name, owner?          ours  |        v
 *           +--- a node ----> flow (flow.c)              |   transit queue of the target (sched.c)
 *           +--- self ------> box, LOCAL                 |        |
 *           '--- nobody ----> box, HELD          owner?  |        |
 *                                      ops.message <--- self      |
 *                             back to its source <--- not self    |
 *                                                                 |
 *      phx__post_sched_pull(nbr): a circle of all flows and transit queues whose next hop is nbr
 *
 * Acknowledged means that the receiver's ops.message has returned, or that the message comes back. Its source
 * alone keeps it, so nobody else's failure can lose it. What a receiver cannot take (no memory) it does not
 * acknowledge; it closes the sender's window until it can.
 *
 * Re-entrance: ops.message, done and writable, and the host's release functions may call phx__post_send and
 * phx__post_box_cancel. So nothing that those may move or free is kept across such a call. Release functions
 * run only in phx__post_recv_data, _recv_ack, _run and _free: what is withdrawn elsewhere is released with
 * its outcome. */
#include "post/post.h"

/* ---- Sending */

static int post_measure(const struct phx__post *p, const struct phx_outgoing *m, size_t *size)
{
    *size = 0;
    if (m->iov_count < 0 || (m->iov_count > 0 && m->iov == NULL) || (m->release != NULL && m->iov_count != 1))
        return PHX_EINVAL;
    for (int i = 0; i < m->iov_count; i++) {
        if (m->iov[i].iov_len > SIZE_MAX - *size || (m->iov[i].iov_len > 0 && m->iov[i].iov_base == NULL))
            return PHX_EINVAL;
        *size += m->iov[i].iov_len;
    }
    if (*size > p->limits.max_message)
        return PHX_ETOOBIG;
    return phx__mem_has_room_for_mail(p->mem, m->release != NULL ? 0 : *size) ? 0 : PHX_ENOMEM;
}

/* Submits the message; an owned one wrapped, whose release must not be called on failure. */
static int post_submit(struct phx__post *p, struct phx__post_way *way, const struct phx_outgoing *m,
                       struct phx__message *message)
{
    uint32_t promises;
    int err;

    if (m->release != NULL) {
        message->body = phx__buf_block_wrap(p->mem, m->iov->iov_base, m->iov->iov_len, m->release, m->arg);
        if (message->body == NULL)
            return PHX_ENOMEM;
        message->data = message->body->data;
    }
    promises = phx__post_outcome_promises(message->token, message->body);
    if ((err = phx__post_outcome_promise(p, promises)) == 0
        && (err = phx__post_box_submit(p, way, message)) != 0)
        p->outcomes.promised -= promises;
    if (err == 0) {
        phx__buf_block_drop(message->body);
    } else if (message->body != NULL) {
        PHX_ASSERT(message->body->refs == 1);
        phx__mem_put(p->mem, message->body, sizeof *message->body);
    }
    return err;
}

/* Joins the last frame to the owner of a name that a message went to before. Needs no memory. 1, or 0. */
static int post_join(struct phx__post *p, const struct phx_outgoing *m)
{
    struct phx__box *b = phx__post_store_find(&p->store, m->to);
    struct phx__post_peer *peer = b == NULL ? NULL : b->peer;
    size_t size;
    uint8_t *to;

    if (peer == NULL || peer->out.open.box == NULL
        || b->state != PHX__BOX_FLOWING || b->version != *p->ops.version || m->token != 0
        || m->time_limit_us != 0 || m->release != NULL || m->iov_count != 1 || m->iov == NULL)
        return 0;
    size = m->iov->iov_len;
    if (size > p->limits.max_message || m->iov->iov_base == NULL || !phx__post_box_credit(p, peer))
        return 0;
    if ((to = phx__post_flow_room(&peer->out, b, m->to, m->from, m->tag, size)) == NULL)
        return 0;
    if ((peer->out.open.run & PHX__DATA_NAMES) != 0)
        phx__post_box_flies(p, b);
    memcpy(to, m->iov->iov_base, size);
    p->pending.count++;
    p->pending.bytes += size;
    p->counters.messages_out++;
    return 1;
}

int phx__post_send(struct phx__post *p, const struct phx_outgoing *m)
{
    struct phx__message message;
    struct phx__post_way way;
    int err;

    if (post_join(p, m))
        return 0;
    message = (struct phx__message){
        .to = m->to, .from = m->from, .tag = m->tag, .token = m->token, .iov = m->iov,
        .iov_count = m->iov_count, .limit = phx__post_box_limit(p, m->time_limit_us)
    };
    if ((err = post_measure(p, m, &message.size)) != 0)
        return err;
    err = phx__post_box_find_way(p, m->to, message.size, &way);
    if (err == PHX_EAGAIN && phx__post_store_wait(&p->store, way.waiters, m->to) != 0)
        err = PHX_ENOMEM; /* PHX_EAGAIN promises to tell when */
    if (err == 0 && (err = post_submit(p, &way, m, &message)) == 0) {
        p->pending.bytes += message.size;
        p->counters.messages_out++;
        if (way.state == PHX__BOX_HELD)
            p->ops.unheld(p->ops.ctx, m->to);
    }
    return err;
}

/* ---- What is due */

/* Delivers what this node sent to itself, as much as there was at the beginning, while there is time. */
static void post_run_local(struct phx__post *p)
{
    uint32_t budget = p->store.queued, done = 0;
    struct phx__message m;

    for (; done < budget && !phx__ring_is_empty(&p->boxes.local)
           && phx__post_outcome_may_call(p, PHX__SHARE_LOCAL, done); done++) {
        struct phx__box *b = (struct phx__box *)(void *)p->boxes.local.next;

        if (p->ops.owner(p->ops.ctx, b->name) != PHX__SELF) {
            phx__post_box_route(p, b);
            continue;
        }
        phx__post_store_take_message(&p->store, b, &m);
        if (b->head == NULL)
            phx__post_box_emptied(p, b);
        else
            phx__ring_add(&p->boxes.local, &b->link); /* names take turns */
        p->pending.bytes -= m.size;
        p->pending.count--;
        phx__post_outcome_add(p, &m, PHX_OK);
        phx__post_recv_deliver(p, &m, PHX__SELF);
        phx__buf_block_drop(m.body);
    }
}

static void post_run_waiters(struct phx__post *p)
{
    struct phx__ring batch;
    uint32_t told = 0;
    uint64_t name = 0;

    phx__ring_init(&batch);
    phx__ring_move(&batch, &p->waiting.ready);
    while (!phx__ring_is_empty(&batch) && phx__post_outcome_may_call(p, PHX__SHARE_REST, told++)
           && phx__post_store_wait_pop(&p->store, &batch, &name)) {
        p->calls -= p->calls > 0;
        p->ops.writable(p->ops.ctx, name);
    }
    phx__ring_move(&batch, &p->waiting.ready);
    phx__ring_move(&p->waiting.ready, &batch);
}

int phx__post_ready(const struct phx__post *p)
{
    return p->outcomes.count > 0 || p->outcomes.lost.count > 0 || p->recv.abandoned != NULL
           || !phx__ring_is_empty(&p->waiting.ready) || !phx__ring_is_empty(&p->boxes.local)
           || !phx__ring_is_empty(&p->rooms) || !phx__ring_is_empty(&p->acks);
}

int phx__post_run(struct phx__post *p)
{
    if (p->recv.early.size > 0 && p->recv.early.known != p->ids->count)
        phx__post_recv_early(p);
    if (!phx__post_ready(p) && !p->boxes.look_again && !p->list_again
        && phx__ring_is_empty(&p->waiting.room))
        return 0;
    if (p->boxes.look_again)
        phx__post_box_names(p);
    phx__post_sched_retry(p);
    post_run_local(p);
    phx__post_box_run_rooms(p);
    phx__post_outcome_tell(p);
    phx__post_recv_tell_abandoned(p, 0);
    if (!phx__ring_is_empty(&p->waiting.ready))
        post_run_waiters(p);
    while (!phx__ring_is_empty(&p->acks))
        phx__post_sched_ack(p, PHX__RING_OF(p->acks.next, phx__post_peer, ack.link));
    return phx__post_ready(p) || (p->recv.early.size > 0 && p->recv.early.known != p->ids->count);
}

/* ---- Life */

PHX__COLD int phx__post_init(struct phx__post *p, struct phx__mem *mem, struct phx__ids *ids,
                             struct phx__timers *timers, const struct phx__post_limits *limits,
                             const struct phx__post_ops *ops)
{
    struct phx__ring *const rings[] = { &p->boxes.idle,    &p->boxes.local,    &p->boxes.refused,
                                        &p->boxes.opened,  &p->waiting.room,   &p->waiting.owner,
                                        &p->waiting.ready, &p->acks,           &p->rooms };

    *p = (struct phx__post){ .mem = mem, .ids = ids, .timers = timers, .ops = *ops, .limits = *limits };
    phx__post_store_init(&p->store, mem);
    for (size_t i = 0; i < PHX__COUNT(rings); i++)
        phx__ring_init(rings[i]);
    if (phx__timer_new(timers, PHX__TIMER_POST_HOLD, 0, &p->boxes.timer) != 0)
        return PHX_ENOMEM;
    return phx__timer_new(timers, PHX__TIMER_POST_HOLD, 1, &p->again_timer);
}

void phx__post_settle(struct phx__post *p)
{
    for (uint32_t i = 0; i < p->node_capacity; i++)
        if (p->nodes[i].peer != NULL && p->nodes[i].peer->ack.owed)
            phx__post_sched_ack(p, p->nodes[i].peer);
}

PHX__COLD void phx__post_free(struct phx__post *p)
{
    uint64_t name;

    if (p->store.mem == NULL)
        return; /* never begun */
    phx__post_box_free(p);
    for (uint32_t i = 0; i < p->node_capacity; i++) {
        phx__mem_put(p->mem, p->nodes[i].past, sizeof *p->nodes[i].past);
        if (p->nodes[i].peer != NULL) {
            phx__ring_move(&p->waiting.ready, &p->nodes[i].peer->waiters);
            phx__post_sched_free(p, p->nodes[i].peer);
        }
    }
    phx__ring_move(&p->waiting.ready, &p->waiting.room);
    phx__ring_move(&p->waiting.ready, &p->waiting.owner);
    while (phx__post_store_wait_pop(&p->store, &p->waiting.ready, &name))
        continue;
    phx__post_recv_tell_abandoned(p, 1);
    phx__mem_put(p->mem, p->recv.early.at, p->recv.early.capacity);
    for (uint32_t i = p->outcomes.first; i < p->outcomes.first + p->outcomes.count; i++) {
        phx__post_store_multicast_drop(&p->store, p->outcomes.list[i].multicast);
        phx__buf_block_drop(p->outcomes.list[i].body);
    }
    phx__mem_put(p->mem, p->outcomes.list, p->outcomes.capacity * sizeof *p->outcomes.list);
    phx__mem_put(p->mem, p->nodes, p->node_capacity * sizeof *p->nodes);
    phx__post_store_free(&p->store);
    memset(p, 0, sizeof *p); /* the caller frees its timers */
}
