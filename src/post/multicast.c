/* multicast.c - one message to many names. */

/* A multicast is nothing but messages: for each member one in the stream from this node to that name, with
 * the order, credit, returns and outcome of all others. Two things differ. Its bytes are kept once: all its
 * messages hold one block, and are cut at the same places, into smaller fragments than others so that a frame
 * has room for hundreds of targets. And its bytes travel once per link: see sched.c.
 *
 * All or nothing. Each member is checked for room, then all are put; if memory ends in between, those that
 * were put are withdrawn from the ends of their queues. Several members at one node may pass its window, by
 * frames' heads only. */
#include "post/box.h"

struct multicast_members {
    uint64_t *at;
    uint32_t count, capacity;
    struct phx__map seen; /* owner -> the range, from 1, for which it has a member */
};

static int multicast_add(struct phx__post *p, struct multicast_members *m, uint64_t name)
{
    if (phx__mem_grow(p->mem, &m->at, &m->capacity, m->count + 1, sizeof *m->at) != 0)
        return PHX_ENOMEM;
    m->at[m->count++] = name;
    return 0;
}

/* The members of a range, or of what is left of it, that have no name before it. */
static int multicast_nodes(struct phx__post *p, struct multicast_members *m, const struct phx_range *r,
                           uint32_t number)
{
    struct phx_range part;
    int got;

    for (uint32_t node = 0; node < p->ids->size; node++) {
        if (phx__map_get(&m->seen, node) == number)
            continue;
        got = p->ops.held(p->ops.ctx, node, r, &part);
        if (got < 0 || (got && multicast_add(p, m, part.first) != 0))
            return PHX_ENOMEM;
    }
    return 0;
}

/* The members of one range, the number-th. Name by name; a range of more parts than there are nodes, node by
 * node. */
static int multicast_range(struct phx__post *p, struct multicast_members *m, struct phx_range r,
                           uint32_t number)
{
    uint64_t name = r.first, last;
    uint32_t owner, parts = 0;
    int single = r.first == r.last;

    for (;; name = last + 1) {
        r.first = name;
        if (parts++ > p->ids->size)
            return multicast_nodes(p, m, &r, number);
        if (p->ops.segment(p->ops.ctx, name, &owner, &last) != 0)
            return PHX_ENOMEM;
        if (owner == PHX__NONE ? single : phx__map_get(&m->seen, owner) != number) {
            if ((owner != PHX__NONE && phx__map_put(&m->seen, owner, number) != 0)
                || multicast_add(p, m, name) != 0)
                return PHX_ENOMEM;
        }
        if (last >= r.last)
            return 0;
    }
}

/* Is there room for all? */
static int multicast_check(struct phx__post *p, const struct multicast_members *m, size_t size)
{
    struct phx__post_way way;
    size_t held = p->store.held_bytes;
    int err;

    if (!phx__mem_has_room_for_mail(p->mem, size))
        return PHX_ENOMEM;
    for (uint32_t i = 0; i < m->count; i++) {
        err = phx__post_box_find_way(p, m->at[i], size, &way);
        if (err == 0 && way.state != PHX__BOX_FLOWING && way.state != PHX__BOX_BOUND
            && way.state != PHX__BOX_LOCAL) { /* it takes up room in the store */
            held += phx__post_store_cost(size);
            if (p->store.held_bytes > 0 && held > p->limits.hold_bytes)
                err = PHX_EAGAIN;
        }
        if (err == PHX_EAGAIN && phx__post_store_wait(&p->store, way.waiters, m->at[i]) != 0)
            err = PHX_ENOMEM;
        if (err != 0)
            return err;
    }
    return 0;
}

/* Room is not asked for again: several members may share it. */
static int multicast_put(struct phx__post *p, const struct multicast_members *m, struct phx__message *message)
{
    struct phx__post_way way;
    uint32_t i;
    int err = 0;

    for (i = 0; i < m->count && err == 0; i++) {
        message->to = m->at[i];
        if ((err = phx__post_box_find_way(p, message->to, message->size, &way)) == 0 || err == PHX_EAGAIN)
            err = phx__post_box_submit(p, &way, message);
    }
    if (err == 0)
        return 0;
    for (i--; i > 0; i--)
        phx__post_box_undo(p, phx__post_store_find(&p->store, m->at[i - 1]));
    return err;
}

static int multicast_submit(struct phx__post *p, const struct phx_cast *c, const struct multicast_members *m)
{
    uint32_t promises = c->token != 0 ? m->count : 0;
    struct phx__multicast *all;
    struct phx__message message;
    int err = phx__post_outcome_promise(p, promises);

    if (err != 0)
        return err;
    err = PHX_ENOMEM;
    message = (struct phx__message){
        .from = c->from, .tag = c->tag, .token = c->token, .size = c->size,
        .limit = phx__post_box_limit(p, c->time_limit_us), .body = phx__buf_block_new(p->mem, c->size)
    };
    all = message.body == NULL ? NULL : phx__mem_zero(p->mem, sizeof *all);
    if (all != NULL) {
        all->refs = m->count;
        if (c->size > 0)
            memcpy(message.body->data, c->data, c->size);
        message.body->used = c->size;
        message.data = message.body->data;
        message.multicast = all;
        err = multicast_put(p, m, &message);
    }
    phx__buf_block_drop(message.body);
    if (err != 0) {
        p->outcomes.promised -= promises;
        phx__mem_put(p->mem, all, sizeof *all); /* none of its messages is left */
    }
    return err;
}

int phx__post_multicast_send(struct phx__post *p, const struct phx_cast *c)
{
    struct multicast_members m = { .seen = { .mem = p->mem } };
    int err = c->ranges_count >= UINT32_MAX - 1 ? PHX_EINVAL : 0;

    if (c->size > p->limits.max_message)
        return PHX_ETOOBIG;
    for (size_t i = 0; i < c->ranges_count && err == 0; i++)
        err = multicast_range(p, &m, c->ranges[i], (uint32_t)i + 1);
    if (err == 0 && (m.count == 0 || m.count > INT32_MAX))
        err = m.count == 0 ? PHX_ENOTFOUND : PHX_ELIMIT;
    if (err == 0 && (err = multicast_check(p, &m, c->size)) == 0 && (err = multicast_submit(p, c, &m)) == 0) {
        p->pending.bytes += c->size * m.count;
        p->counters.messages_out += m.count;
    }
    phx__map_free(&m.seen);
    phx__mem_put(p->mem, m.at, m.capacity * sizeof *m.at);
    return err == 0 ? (int)m.count : err;
}
