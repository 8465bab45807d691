/* multicast.c - part of post: one message to many names, kept once and put once on each link. */

/* A cast is nothing but messages: for each member one in the stream from this node to that name,
 * with a number, credit, returns and an outcome as all others have. So it keeps their order and
 * their promises, and only two things are different.
 *
 * The bytes are kept once. All its messages hold one block, also small ones, and are cut at the same
 * places, into smaller fragments than others so that a frame has room for hundreds of targets.
 *
 * The bytes travel once per link. When a frame of a cast is next in a flow, every other flow with
 * the same next hop whose next frame is the same piece of the same cast goes with it: one CAST
 * frame, which says for each target what its DATA frame would have said, and the payload once. A
 * relay splits the list by next hop, so along the tree of shortest paths each link carries one
 * frame, N - 1 for N nodes. This is an encoding and no protocol: a target takes its line as the DATA
 * frame it stands for. A flow that has no credit is left behind and sends DATA later, and so is what
 * has to go again.
 *
 *      flow to a: [.][.][cast 1/2]                   .-- CAST a, b --> relay --> CAST/DATA a
 *      flow to b:       [cast 1/2][.]  -- pull nbr --|                     '---> b
 *      flow to c: [.][.][.] window full              '-- later: DATA c
 *
 * All or nothing. First it is seen whether each member has room, and then all are put; if memory ends
 * in between, those that were put are withdrawn from the ends of their queues, where nothing has
 * come behind them. Several members at one node may pass its window, by frames' heads only. */
#include "post/post.h"

/* ---- What the messages share */

void phx__post_multicast_drop(struct phx__post *p, struct phx__multicast *c)
{
    if (c == NULL || --c->refs > 0)
        return;
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        p->casts = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    phx__mem_put(p->mem, c, sizeof *c);
}

size_t phx__post_multicast_left(struct phx__multicast *c)
{
    return --c->left;
}

int phx__post_multicast_has(const struct phx__post *p, uint64_t token)
{
    const struct phx__multicast *c = p->casts;

    while (c != NULL && c->token != token)
        c = c->next;
    return c != NULL;
}

void phx__post_multicast_free(struct phx__post *p)
{
    while (p->casts != NULL) {
        p->casts->refs = 1;
        phx__post_multicast_drop(p, p->casts);
    }
}

/* ---- Members */

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

/* The members of one range, the number-th. */
static int multicast_range(struct phx__post *p, struct multicast_members *m, struct phx_range r,
                      uint32_t number)
{
    uint64_t name = r.first, last;
    uint32_t owner;
    int err;

    for (;; name = last + 1) {
        if (p->ops.segment(p->ops.ctx, name, &owner, &last) != 0)
            return PHX_ENOMEM;
        err = 0;
        if (owner == PHX__NONE) {
            if (r.first == r.last)
                err = multicast_add(p, m, name);
        } else if (phx__map_get(&m->seen, owner) != number) {
            err = phx__map_put(&m->seen, owner, number);
            if (err == 0)
                err = multicast_add(p, m, name);
        }
        if (err != 0 || last >= r.last)
            return err;
    }
}

static int multicast_find(struct phx__post *p, struct multicast_members *m, const struct phx_cast *c)
{
    size_t i;
    int err = c->ranges_count >= UINT32_MAX - 1 ? PHX_EINVAL : 0;

    for (i = 0; i < c->ranges_count && err == 0; i++)
        err = multicast_range(p, m, c->ranges[i], (uint32_t)i + 1);
    return err == 0 && m->count == 0 ? PHX_ENOTFOUND : err;
}

static int multicast_is_held(const struct phx__post_way *way)
{
    if (way->peer != NULL)
        return 0;
    if (way->box == NULL)
        return way->owner == PHX__NONE;
    return way->box->state != PHX__BOX_LOCAL && way->box->state != PHX__BOX_BOUND;
}

/* Is there room for all? */
static int multicast_check(struct phx__post *p, const struct multicast_members *m, size_t size)
{
    struct phx__waiter **waiters;
    struct phx__post_way way;
    size_t held = p->hold.held_bytes;
    uint32_t i;
    int err;

    if (!phx__mem_has_room_for_mail(p->mem, size))
        return PHX_ENOMEM;
    for (i = 0; i < m->count; i++) {
        err = phx__post_find_way(p, m->at[i], size, &way, &waiters);
        if (err == 0 && multicast_is_held(&way)) {
            held += phx__post_store_letter_charge(size);
            if (p->hold.held_bytes > 0 && held > p->limits.hold_bytes) {
                waiters = &p->hold_waiters;
                err = PHX_EAGAIN;
            }
        }
        if (err == PHX_EAGAIN && phx__post_store_wait(&p->hold, waiters, m->at[i]) != 0)
            err = PHX_ENOMEM;
        if (err != 0)
            return err;
    }
    return 0;
}

/* Room is not asked for again: several members may share it. */
static int multicast_put(struct phx__post *p, const struct multicast_members *m, struct phx__message *mail)
{
    struct phx__waiter **nobody;
    struct phx__post_way way;
    uint32_t i;
    int err = 0;

    for (i = 0; i < m->count && err == 0; i++) {
        mail->to = m->at[i];
        err = phx__post_find_way(p, mail->to, mail->size, &way, &nobody);
        if (err == 0 || err == PHX_EAGAIN)
            err = phx__post_go(p, &way, mail);
    }
    if (err == 0)
        return 0;
    for (i--; i > 0; i--)
        phx__post_box_undo(p, phx__post_store_find(&p->hold, m->at[i - 1]));
    return err;
}

static struct phx__multicast *multicast_new(struct phx__post *p, const struct phx_cast *from, size_t members)
{
    struct phx__multicast *c = phx__mem_zero(p->mem, sizeof *c);

    if (c == NULL)
        return NULL;
    c->token = from->token;
    c->from = from->from;
    c->tag = from->tag;
    c->size = from->size;
    c->refs = c->left = members;
    c->next = p->casts;
    if (c->next != NULL)
        c->next->prev = c;
    p->casts = c;
    return c;
}

static int multicast_submit(struct phx__post *p, const struct phx_cast *c, const struct multicast_members *m)
{
    uint32_t promises = c->token != 0 ? m->count : 0;
    struct phx__message mail;
    int err = phx__post_box_promise(p, promises);

    if (err != 0)
        return err;
    memset(&mail, 0, sizeof mail);
    mail.body = phx__buf_block_new(p->mem, c->size);
    mail.cast = mail.body == NULL ? NULL : multicast_new(p, c, m->count);
    err = PHX_ENOMEM;
    if (mail.cast != NULL) {
        if (c->size > 0)
            memcpy(mail.body->data, c->data, c->size);
        mail.body->used = mail.size = c->size;
        mail.data = mail.body->data;
        mail.from = c->from;
        mail.tag = c->tag;
        mail.token = c->token;
        mail.limit = PHX__NEVER;
        if (c->time_limit_us != 0 && c->time_limit_us < PHX__NEVER - p->now)
            mail.limit = p->now + c->time_limit_us;
        err = multicast_put(p, m, &mail);
    }
    phx__buf_block_drop(mail.body);
    if (err != 0) {
        p->promised -= promises;
        if (mail.cast != NULL) {
            mail.cast->refs = 1;
            phx__post_multicast_drop(p, mail.cast);
        }
    }
    return err;
}

int phx__post_multicast_send(struct phx__post *p, const struct phx_cast *c, uint64_t now)
{
    struct multicast_members m;
    int err;

    p->now = now;
    if (c->size > p->limits.max_message)
        return PHX_ETOOBIG;
    memset(&m, 0, sizeof m);
    phx__map_init(&m.seen, p->mem);
    err = multicast_find(p, &m, c);
    if (err == 0 && m.count > INT32_MAX)
        err = PHX_ELIMIT;
    if (err == 0)
        err = multicast_check(p, &m, c->size);
    if (err == 0)
        err = multicast_submit(p, c, &m);
    if (err == 0) {
        p->pending_bytes += c->size * m.count;
        p->messages_out += m.count;
    }
    phx__map_free(&m.seen);
    phx__mem_put(p->mem, m.at, m.capacity * sizeof *m.at);
    return err == 0 ? (int)m.count : err;
}

/* ---- Out */

/* Is the next frame of this flow the same piece of the same cast, and for the first time? */
static int multicast_joins(const struct phx__flow_out *o, const struct phx__flow_record *r)
{
    const unsigned place = PHX__DATA_FIRST | PHX__DATA_LAST;
    const struct phx__flow_record *q = phx__post_flow_peek(o);

    return q != NULL && q->cast == r->cast && q->body_at == r->body_at && o->sent == o->left
           && ((unsigned)(q->flags ^ r->flags) & place) == 0;
}

static void multicast_describe(const struct phx__flow_out *o, struct phx__data *d)
{
    const struct phx__flow_record *r = phx__post_flow_peek(o);
    struct phx__reader in;

    memset(d, 0, sizeof *d);
    d->target = o->target;
    d->source = o->source;
    d->number = o->sent;
    d->epoch = o->epoch;
    d->to = r->box->name;
    d->from = r->cast->from;
    d->tag = r->cast->tag;
    d->total = r->cast->size;
    d->size = r->body_size;
    if ((r->flags & PHX__DATA_SEEN) != 0) { /* the last that stands in its head */
        phx__buf_reader_init(&in, r->head->data + r->head_at + PHX__DATA_FIRST_HEAD, 4);
        d->seen = phx__buf_get_u32(&in);
    }
}

static struct phx__block *multicast_head(struct phx__post *p, struct phx__post_peer **to, uint32_t n)
{
    int flags = phx__post_flow_peek(&to[0]->out)->flags & (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    size_t room = PHX__DATA_FIRST_HEAD + n * (size_t)PHX__CAST_LINE, start;
    struct phx__block *b = phx__buf_block_new(p->mem, room);
    struct phx__writer w;
    struct phx__data d;
    uint32_t i;

    if (b == NULL)
        return NULL;
    phx__buf_writer_init(&w, b->data, room);
    start = phx__wire_begin_cast(&w, flags, to[0]->out.hops, n);
    for (i = 0; i < n; i++) {
        multicast_describe(&to[i]->out, &d);
        phx__wire_put_cast_line(&w, flags, &d);
    }
    phx__wire_end_cast(&w, start, flags, &d);
    PHX_ASSERT(!w.bad);
    b->used = w.size;
    return b;
}

size_t phx__post_multicast_emit(struct phx__post *p, struct phx__post_peer *peer, uint32_t nbr, int *failed)
{
    const struct phx__flow_record r = *phx__post_flow_peek(&peer->out);
    struct phx__post_peer *to[PHX__CAST_LINES];
    struct phx__post_source *s;
    struct phx__block *head;
    uint32_t n = 0, i;
    size_t size;

    if (!multicast_joins(&peer->out, &r))
        return 0;
    to[n++] = peer;
    for (s = peer->own.next; s != &peer->own && n < PHX__CAST_LINES; s = s->next)
        if (!s->is_transit && multicast_joins(&s->peer->out, &r))
            to[n++] = s->peer;
    head = n == 1 ? NULL : multicast_head(p, to, n);
    if (head == NULL)
        return 0;
    size = head->used + r.body_size;
    *failed = p->ops.emit(p->ops.ctx, nbr, head, head->data, head->used, r.body,
                          r.body_size > 0 ? r.body->data + r.body_at : NULL, r.body_size) != 0;
    phx__buf_block_drop(head);
    if (*failed)
        return 0;
    for (i = 0; i < n; i++) {
        (void)phx__post_flow_mark(&to[i]->out, p->now);
        phx__post_sched_arm(p, to[i]);
    }
    return size;
}

/* ---- In */

/* The lines whose next hop is hop[from], as a frame of their own. */
static void multicast_forward(struct phx__post *p, const struct phx__frame *f,
                         const struct phx__wire_cast *c, const uint32_t *hop, uint32_t from)
{
    struct phx__post_peer *peer = phx__post_sched_open(p, hop[from]);
    uint32_t i, n = 0;
    struct phx__writer w;
    struct phx__data d;
    size_t room, start;
    uint8_t *to;
    int flags;

    for (i = from; i < c->count; i++)
        n += hop[i] == hop[from];
    room = PHX__DATA_FIRST_HEAD + n * (size_t)PHX__CAST_LINE + c->size;
    to = peer == NULL ? NULL : phx__post_sched_room(p, peer, room);
    if (to == NULL) {
        p->dropped++;
        return;
    }
    phx__buf_writer_init(&w, to, room);
    start = phx__wire_begin_cast(&w, f->flags, f->hops - 1, n);
    for (i = from; i < c->count; i++) {
        if (hop[i] != hop[from])
            continue;
        phx__wire_cast_line(c, f, i, &d, &flags);
        phx__wire_put_cast_line(&w, f->flags, &d);
    }
    phx__wire_end_cast(&w, start, f->flags, &d);
    phx__buf_put_bytes(&w, c->payload, c->size);
    PHX_ASSERT(!w.bad);
    p->dropped += phx__post_sched_queued(p, peer, to, w.size) != 0;
}

/* Where the line's target is: PHX__SELF, the neighbour towards it, or PHX__NONE. */
static uint32_t multicast_hop(struct phx__post *p, const struct phx__frame *f, const struct phx_id *id)
{
    uint32_t node = phx__id_find(p->ids, id), generation;

    if (node == PHX__SELF || node == PHX__NONE)
        return node;
    if (!p->limits.relay || f->hops <= 1)
        return PHX__NONE;
    return p->ops.next(p->ops.ctx, node, &generation);
}

int phx__post_multicast_data(struct phx__post *p, uint32_t nbr, const struct phx__frame *f, uint64_t now)
{
    uint32_t hop[PHX__CAST_LINES], i, k;
    struct phx__wire_cast c;
    struct phx__data d;
    int flags;

    (void)nbr;
    p->now = now;
    if (phx__wire_get_cast(f, &c) != 0)
        return PHX_EPROTO;
    for (i = 0; i < c.count; i++) {
        phx__wire_cast_line(&c, f, i, &d, &flags);
        hop[i] = multicast_hop(p, f, &d.target);
        p->dropped += hop[i] == PHX__NONE;
    }
    for (i = 0; i < c.count; i++) {
        for (k = 0; k < i && hop[k] != hop[i]; k++)
            continue;
        if (k == i && hop[i] != PHX__NONE && hop[i] != PHX__SELF)
            multicast_forward(p, f, &c, hop, i);
    }
    for (i = 0; i < c.count; i++) { /* last, because the application may do anything */
        if (hop[i] == PHX__SELF) {
            phx__wire_cast_line(&c, f, i, &d, &flags);
            phx__post_fragment(p, &d, flags | (int)PHX__DATA_SOON);
        }
    }
    return 0;
}
