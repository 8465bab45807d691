/* out.c - what leaves a link: control frames first, then data that is pulled from the post. */

/* `stream` is what has been handed to the stream in its final order. It is refilled when it runs low: first
 * all control frames, then data pulled from the post. So a control frame waits behind at most OUT_AHEAD_MOST
 * bytes of data and never inside a frame, and what is not in `stream` yet can still take another way when the
 * route changes.
 *
 * Tables and cards can be megabytes, and come as fast as a member changes what it says. Beyond OUT_TURN they
 * are *news*, which stay in order, give way to all other control frames, and share the stream with data half
 * and half. Routing asks for room before it advertises: we pass on half of what a receiver takes from one
 * link (link.c), so that it does not rest, with our data behind the news. */
#include "link/state.h"

/* Data committed to a stream ahead of control frames is at first PHX__LINK_AHEAD, two fragments: little
 * enough to pass in 0.1 ms at 10 Gbit/s. A stream that takes all that it is offered is offered twice as much
 * the next time, up to eight fragments: few large writes cost less than many, here and at the reader, who is
 * woken by each. A stream that does not take all is offered half as much, so a slow one is soon at the least
 * again. */
#define OUT_AHEAD_MOST (8 * PHX__FRAGMENT)
/* Control frames are encoded into blocks of this size; larger ones get a block of their own. */
#define OUT_TAIL 512u
#define OUT_TURN 65536u
/* News that wait for one link, and for all, beside one card or summary. A link may use an eighth of what all
 * leave, so there is room however many peers do not read. */
#define OUT_NEWS ((size_t)1 << 20)
#define OUT_NEWS_ALL ((size_t)32 << 20)
#define OUT_NEWS_SHARE 8u
#define OUT_NEWS_LEAST ((size_t)2 * OUT_TURN) /* also when others have used all: for small entries */
#define OUT_NEWS_US 100u /* for 64 bytes: 640 KB a second ... */
#define OUT_NEWS_OWED (5 * PHX__SECOND) /* ... and 3.2 MB at once */
/* A peer that leaves this much control unread is closed. Who asks for room stays below it. */
#define OUT_CONTROL_MAX (4u << 20)
#define OUT_IOV 64

PHX__APART int phx__link_out_control(struct phx__link_set *s, struct phx__link *l, size_t size,
                                    struct phx__writer *w)
{
    struct phx__block *b;

    phx__buf_writer_init(w, NULL, 0);
    if (l->state == PHX__LINK_CLOSED)
        return PHX_ERESET;
    if (l->out.control.bytes + l->out.news.bytes > OUT_CONTROL_MAX + s->table)
        return PHX_ENOMEM;
    if ((b = phx__buf_block_tail(s->mem, &l->out.tail, size, OUT_TAIL)) == NULL)
        return PHX_ENOMEM;
    phx__buf_writer_init(w, b->data + b->used, b->capacity - b->used);
    return 0;
}

int phx__link_out_control_end(struct phx__link_set *s, struct phx__link *l, const struct phx__writer *w)
{
    struct phx__link_out *o = &l->out;
    int type = w->bad ? 0 : w->data[4];
    int news = type == PHX__UPDATE || type == PHX__CARD || type == PHX__SUMMARY;
    int waits = news && (o->news.count > 0 || o->control.bytes > OUT_TURN);
    int err = w->bad ? PHX_EINVAL
                     : phx__buf_slices_push(waits ? &o->news : &o->control, o->tail, w->data, w->size);

    if (err != 0)
        return err;
    o->tail->used += w->size;
    s->waiting += w->size;
    if (news)
        o->paid_at = PHX__MAX(o->paid_at, s->now) + (1 + w->size / 64) * OUT_NEWS_US;
    o->paid_at = PHX__MIN(o->paid_at, s->now + 2 * OUT_NEWS_OWED); /* room is not long in coming */
    s->frames_out++;
    s->ops->wants(s->ctx, l);
    return 0;
}

size_t phx__link_out_queued(const struct phx__link *l)
{
    return l->out.stream.bytes + l->out.control.bytes + (l->tls != NULL ? phx__tls_queued(l->tls) : 0);
}

void phx__link_out_named(struct phx__link *l, uint64_t claims)
{
    l->out.paid_at += claims / 256 * OUT_NEWS_US;
}

size_t phx__link_out_room(const struct phx__link_set *s, const struct phx__link *l)
{
    size_t waits = l->out.control.bytes + l->out.news.bytes;
    size_t most = s->waiting < OUT_NEWS_ALL ? (OUT_NEWS_ALL - s->waiting) / OUT_NEWS_SHARE : 0;

    if (l->out.paid_at > s->now + OUT_NEWS_OWED)
        return 0;
    most = most < OUT_NEWS_LEAST ? OUT_NEWS_LEAST : most < OUT_NEWS ? most : OUT_NEWS;
    return waits < most / 2 ? most - waits : 0; /* in large portions: for each one the table is walked */
}

/* Moves waiting frames behind what is in stream, about `most` bytes of them. */
static int out_commit(struct phx__link_set *s, struct phx__link_out *o, struct phx__slices *from, size_t most)
{
    size_t moved = 0;

    while (from->count > 0 && moved < most) {
        struct phx__slice *first = &from->ring[from->first];
        int err = phx__buf_slices_push(&o->stream, first->block, first->data, first->size);

        if (err != 0)
            return err;
        moved += first->size;
        s->waiting -= first->size;
        phx__buf_slices_take(from, first->size);
    }
    return 0;
}

/* *empty: nothing waits anywhere but in stream. */
static int out_refill(struct phx__link_set *s, struct phx__link *l, int *empty)
{
    struct phx__link_out *o = &l->out;
    int err = o->control.count > 0 ? out_commit(s, o, &o->control, SIZE_MAX) : 0;
    size_t room;

    *empty = 0;
    if (err != 0 || l->state != PHX__LINK_UP || o->stream.bytes >= o->ahead)
        return err;
    room = o->ahead - o->stream.bytes;
    *empty = s->ops->pull(s->ctx, l, room) < room && o->news.count == 0;
    if (o->news.count > 0 && (err = out_commit(s, o, &o->news, room)) != 0)
        return err;
    /* Pulling data makes acks: they leave with it, or every answer would be two writes. */
    return o->control.count > 0 ? out_commit(s, o, &o->control, SIZE_MAX) : 0;
}

/* What the stream takes of what waits: how many bytes, 0 if nothing waits, or why none. One that takes less
 * than it is given is full, and need not be asked again to say so. */
static long out_send(struct phx__link_set *s, struct phx__link *l)
{
    struct iovec iov[OUT_IOV];
    int i, err, count = 1;
    size_t given = 0;
    long n;

    if (l->tls == NULL) {
        count = phx__buf_slices_iov(&l->out.stream, iov, OUT_IOV);
    } else if ((err = phx__tls_seal(l->tls, &l->out.stream, iov)) != 0) {
        l->end.why = err == PHX_ETLS ? phx__tls_why(l->tls) : NULL;
        return err;
    }
    if (count == 0 || iov[0].iov_len == 0)
        return 0;
    for (i = 0; i < count; i++)
        given += iov[i].iov_len;
    s->os_calls++;
    n = s->os->send(s->os->world, l->handle, iov, count);
    l->out.full = n == PHX_EAGAIN || (n > 0 && (size_t)n < given);
    if (l->tls == NULL)
        phx__buf_slices_take(&l->out.stream, n > 0 ? (size_t)n : 0);
    else if ((err = phx__tls_sent(l->tls, iov, n > 0 ? (size_t)n : 0)) != 0)
        return err;
    return n;
}

int phx__link_out_write(struct phx__link_set *s, struct phx__link *l, size_t limit)
{
    struct phx__link_out *o = &l->out;
    size_t written = 0;
    long n = 1;
    int empty = 0;

    o->full = o->dry = 0;
    while (written < limit && !o->full) {
        /* After a write that took all there was it is known that nothing is left. */
        int dry = n > 0 && empty && o->stream.bytes == 0 && l->tls == NULL;
        int err = dry ? 0 : out_refill(s, l, &empty);

        if (err != 0)
            return err;
        n = dry ? 0 : out_send(s, l);
        if (n == 0) {
            o->dry = 1;
            /* All is written. A large block goes: an idle link keeps little. */
            if (o->tail != NULL && o->tail->refs == 1 && o->tail->capacity > OUT_TAIL) {
                phx__buf_block_drop(o->tail);
                o->tail = NULL;
            }
            return 0;
        }
        if (o->stream.bytes == 0 && n >= (long)o->ahead && o->ahead < OUT_AHEAD_MOST)
            o->ahead *= 2;
        else if (o->stream.bytes > 0 && o->ahead > PHX__LINK_AHEAD)
            o->ahead /= 2;
        if (n < 0)
            return n == PHX_EAGAIN ? 0 : (int)n;
        written += (size_t)n;
        o->bytes += (size_t)n;
        s->bytes_out += (size_t)n;
    }
    return 0; /* there may be more: next step */
}

void phx__link_out_try(struct phx__link_set *s, struct phx__link *l)
{
    if (out_commit(s, &l->out, &l->out.control, SIZE_MAX) == 0)
        (void)out_send(s, l);
}
