/* recv.c - part of post: where large messages are put together, also in buffers of the host's. */

/* A message of several fragments is put together in one block of its whole size, the *part* of the flow it
 * comes in. It is opened when the first fragment begins to come, which need not have come whole: the links
 * ask for its place (phx__post_recv_place) and read the payload into it. Nothing of a fragment counts before all
 * of it is there; then it goes the way of every other frame (phx__post_fragment) and all that is asked of
 * frames is asked of it, and if its payload stands where it belongs, it is not copied.
 *
 * The part may be the host's memory (on_begin). Each buffer that was begun ends in one of two ways:
 *
 *      begin --> shown to the application (ops.message, with this very buffer)
 *            '-> abandoned: the flow dropped it, for whatever reason
 *
 * There are many such reasons (a new epoch, a peer that failed, a name that moved, a sender that cannot
 * count), and one place where all of them meet: the flow retires the part, and thereby calls its release
 * function. There the host may not be called, since what drops parts is in the midst of something; so it is
 * put into a list, which the next phx__post_run tells. The list needs no memory: what it links was made
 * with the part. */
#include "post/post.h"

struct phx__begun {
    struct phx__begun *next;
    struct phx__post *post;
    void *buffer;
    size_t size;
    int shown;
};

/* ---- Buffers of the host's */

static void recv_released(const void *data, size_t size, void *arg)
{
    struct phx__begun *b = arg;

    (void)data;
    (void)size;
    if (b->shown) {
        phx__mem_put(b->post->mem, b, sizeof *b);
        return;
    }
    b->next = b->post->abandoned;
    b->post->abandoned = b;
}

void phx__post_recv_tell_abandoned(struct phx__post *p)
{
    while (p->abandoned != NULL) {
        struct phx__begun *b = p->abandoned, own = *b;

        p->abandoned = own.next;
        phx__mem_put(p->mem, b, sizeof *b);
        p->ops.abandon(p->ops.ctx, own.buffer, own.size);
    }
}

void phx__post_recv_shown(struct phx__flow_in *in)
{
    if (in->part != NULL && in->part->release == recv_released)
        ((struct phx__begun *)in->part->arg)->shown = 1;
}

static void *recv_ask(struct phx__post *p, uint32_t source, const struct phx__data *d)
{
    struct phx_message m;

    m.to = d->to;
    m.from = d->from;
    m.tag = d->tag;
    m.source = p->ids->at[source];
    m.data = NULL;
    m.size = (size_t)d->total;
    return p->ops.begin(p->ops.ctx, &m);
}

/* A block around the host's buffer, or NULL: it gives none, or there is no memory. What is needed beside
 * it is made first: once it has given one, nothing may fail. */
static struct phx__block *recv_begin(struct phx__post *p, uint32_t source,
                                      const struct phx__data *d)
{
    struct phx__begun *b = phx__mem_get(p->mem, sizeof *b);
    struct phx__block *part =
        b == NULL ? NULL : phx__buf_block_wrap(p->mem, NULL, (size_t)d->total, recv_released, b);

    if (part != NULL && (b->buffer = recv_ask(p, source, d)) != NULL) {
        b->post = p;
        b->size = (size_t)d->total;
        b->shown = 0;
        part->data = b->buffer;
        part->used = 0;
        return part;
    }
    if (part != NULL)
        phx__mem_put(p->mem, part, sizeof *part);
    phx__mem_put(p->mem, b, sizeof *b);
    return NULL;
}

int phx__post_recv_open(struct phx__post *p, struct phx__post_peer *peer, const struct phx__data *d)
{
    struct phx__block *part = NULL;

    if (phx__post_flow_has_part(&peer->in, d))
        return 1;
    phx__post_flow_open(&peer->in, d, NULL);
    if (p->ops.begin != NULL)
        part = recv_begin(p, peer->node, d);
    if (part == NULL)
        part = phx__post_flow_part(p->mem, (size_t)d->total);
    phx__post_flow_open(&peer->in, d, part);
    return part != NULL;
}

/* ---- Places in them */

/* Would the message be taken now, as far as can be said before its first fragment is there? */
static int recv_welcome(struct phx__post *p, struct phx__post_peer *peer,
                         const struct phx__data *d, int flags)
{
    return (flags & (int)PHX__DATA_LAST) == 0 && d->total <= p->limits.max_message
           && p->ops.owner(p->ops.ctx, d->to) == PHX__SELF
           && !phx__post_returns_refuses(&peer->back, d->to);
}

static struct phx__post_peer *recv_peer(const struct phx__post *p, const struct phx_id *source)
{
    uint32_t node = p->last_source;

    if (node >= p->ids->size || !p->ids->used[node] || !phx__id_equal(&p->ids->at[node], source))
        node = phx__id_find(p->ids, source);
    return node == PHX__NONE || node == PHX__SELF ? NULL : phx__post_sched_find(p, node);
}

size_t phx__post_recv_place(struct phx__post *p, const uint8_t *front, size_t size,
                       struct phx__place *out)
{
    struct phx__post_peer *peer;
    struct phx__data d;
    size_t whole, head;
    int flags;

    head = phx__wire_data_front(front, size, &d, &flags, &whole);
    if (head == 0 || !phx__id_equal(&d.target, &p->ids->at[PHX__SELF]))
        return 0;
    peer = recv_peer(p, &d.source);
    if (peer == NULL || d.epoch != peer->in.epoch || d.number != peer->in.next)
        return 0; /* not what comes next, or the first that comes from there: the ordinary way */
    if ((flags & (int)PHX__DATA_FIRST) != 0
        && (!recv_welcome(p, peer, &d, flags) || !phx__post_recv_open(p, peer, &d)))
        return 0;
    return phx__post_flow_place(&peer->in, &d, flags, out) ? head : 0;
}

int phx__post_recv_ahead(const struct phx__post *p, uint32_t from, struct phx__place *out)
{
    const struct phx__post_peer *peer = phx__post_sched_find(p, from);
    struct phx__block *part = peer == NULL ? NULL : peer->in.part;

    /* Held by somebody else: another link has put the front of this very fragment there, and a guess that is
     * wrong would write over it. */
    if (part == NULL || peer->in.opened || part->refs > 1)
        return 0;
    out->block = phx__buf_block_hold(part);
    out->at = part->used;
    out->size = out->got = 0;
    return 1;
}

void phx__post_recv_placed(struct phx__post *p, const uint8_t *head, size_t size,
                      const uint8_t *payload, uint64_t now)
{
    struct phx__data d;
    size_t whole;
    int flags;

    p->now = now;
    if (payload == NULL || phx__wire_data_front(head, size, &d, &flags, &whole) == 0) {
        p->duplicates++;
        return;
    }
    d.payload = payload;
    phx__post_fragment(p, &d, flags);
}
