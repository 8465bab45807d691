/* data.c - frames of messages: DATA, runs of small messages, CAST and ACK. */

/* Each message passes here. A relay forwards DATA without decoding it: it looks at hops and target at their
 * fixed offsets (PHX__DATA_HOPS, PHX__DATA_TARGET). So what is refused here may have been sent by a node far
 * away, and the neighbour that brought it is not always to blame.
 *
 * A message of eight bytes in a frame of its own is eleven parts head and one part message. Messages that
 * wait behind each other for the same node, from the same name, are whole, and differ only in their bytes
 * and perhaps in their names and tags, so one frame can carry them all, as a run:
 *
 *      head: target, source, number, epoch, to, from, tag, total | bytes | size bytes | size bytes | ...
 *            as in any frame; total is the first message's size   first    with NAMES, TAGS: size to tag
 *
 * A size takes two bytes, which is enough for all that fits a frame. Either all that follow have a name or
 * none has, and so with tags: how much of a run is not messages follows from their number. Any rest of a run,
 * from some message on, has the shape of a run again, but for the head: that is how a run for one name that
 * came back in part is kept without taking it apart. A decoder walks a run to its end before anybody else
 * looks into it, so what walks it again need not check. */
#include "wire/data.h"

/* The most a message may hold: cfg.max_message is at most 1 GiB. */
#define WIRE_TOTAL_MAX ((uint64_t)1 << 30)
/* What an ACK may have beyond its fixed fields; what is there is not 0. */
#define WIRE_ACK_PARTS (PHX__ACK_RETURNS | PHX__ACK_SEEN | PHX__ACK_ASK | PHX__ACK_TELL)
/* Where the epoch stands in a line. */
#define WIRE_EPOCH_AT (sizeof(struct phx_id) + 8)
/* In a run, before a message behind the first: its size, and perhaps its name and its tag. */
#define WIRE_MORE_SIZE 2u
#define WIRE_MORE_FIELD 8u

/* ---- Runs */

size_t phx__wire_data_more_head(int flags)
{
    return WIRE_MORE_SIZE + ((flags & (int)PHX__DATA_TAGS) != 0 ? WIRE_MORE_FIELD : 0)
           + ((flags & (int)PHX__DATA_NAMES) != 0 ? WIRE_MORE_FIELD : 0);
}

uint8_t *phx__wire_data_put_more(uint8_t *at, int flags, uint64_t to, uint64_t tag, size_t size)
{
    PHX_ASSERT(size <= UINT16_MAX);
    *at++ = (uint8_t)size;
    *at++ = (uint8_t)(size >> 8);
    if ((flags & (int)PHX__DATA_NAMES) != 0)
        at = phx__buf_store_u64(at, to);
    return (flags & (int)PHX__DATA_TAGS) != 0 ? phx__buf_store_u64(at, tag) : at;
}

const uint8_t *phx__wire_data_more(const uint8_t *at, int flags, uint64_t *to, uint64_t *tag, size_t *size)
{
    *size = (size_t)(at[0] | at[1] << 8);
    at += WIRE_MORE_SIZE;
    if ((flags & (int)(PHX__DATA_NAMES | PHX__DATA_TAGS)) == 0)
        return at;
    if ((flags & (int)PHX__DATA_NAMES) != 0) {
        *to = phx__buf_load_u64(at);
        at += WIRE_MORE_FIELD;
        if ((flags & (int)PHX__DATA_TAGS) == 0)
            return at;
    }
    *tag = phx__buf_load_u64(at);
    return at + WIRE_MORE_FIELD;
}

void phx__wire_data_stretch(uint8_t *frame, size_t size)
{
    PHX_ASSERT(size <= PHX__FRAME_MAX);
    phx__buf_store_u32(frame, (uint32_t)(size - PHX__WIRE_FIELD));
}

/* Is it a run with at least one message behind the first, and all of them whole? Counts them in d->more. */
static int wire_count_run(struct phx__data *d, int flags)
{
    const unsigned whole = PHX__DATA_FIRST | PHX__DATA_LAST;
    const size_t fields = phx__wire_data_more_head(flags) - WIRE_MORE_SIZE;
    struct phx__reader r;

    if (((unsigned)flags & whole) != whole || d->size > PHX__FRAGMENT || d->total >= d->size)
        return 0;
    phx__buf_reader_init(&r, d->payload, d->size);
    (void)phx__buf_get_bytes(&r, (size_t)d->total);
    for (; r.left > 0; d->more++) {
        size_t size = phx__buf_get_u16(&r);

        (void)phx__buf_get_bytes(&r, fields + size); /* running past the end leaves nothing, and is bad */
    }
    return !r.bad;
}

/* ---- DATA */

/* Is `size` a possible payload? With FIRST the total is known: the last fragment completes it, others leave
 * something to come. Only an empty message has an empty fragment. */
static int wire_payload_fits(int flags, size_t size, uint64_t total)
{
    int first = (flags & (int)PHX__DATA_FIRST) != 0, last = (flags & (int)PHX__DATA_LAST) != 0;

    if (size > PHX__FRAGMENT)
        return 0;
    if (!first)
        return size > 0 || !last;
    return total > WIRE_TOTAL_MAX ? 0 : last ? size == total : size > 0 && size < total;
}

void phx__wire_data_put(struct phx__writer *w, const struct phx__data *d, int flags, int hops)
{
    const uint64_t words[6] = { d->number, d->epoch, d->to, d->from, d->tag, d->total };
    const int first = (flags & (int)PHX__DATA_FIRST) != 0;
    size_t start = phx__wire_begin(w, PHX__DATA, flags, hops);

    PHX_ASSERT((flags & (int)PHX__DATA_RUN) != 0 || wire_payload_fits(flags, d->size, d->total));
    phx__buf_put_bytes(w, &d->target, sizeof d->target);
    phx__buf_put_bytes(w, &d->source, sizeof d->source);
    phx__buf_put_u64s(w, words, first ? 6 : 2);
    if (first && (flags & (int)PHX__DATA_SEEN) != 0)
        phx__buf_put_u32(w, d->seen);
    phx__wire_end_head(w, start, d->size); /* the payload follows from its own block, uncopied */
}

/* Is it a sound frame? That nothing was seen is said by leaving it out. */
static int wire_data_fits(int flags, struct phx__data *d)
{
    if (((flags & (int)PHX__DATA_SEEN) != 0) != (d->seen != 0) || d->epoch == 0)
        return 0;
    if ((flags & (int)PHX__DATA_RUN) != 0)
        return wire_count_run(d, flags);
    return (flags & (int)(PHX__DATA_TAGS | PHX__DATA_NAMES)) == 0
           && wire_payload_fits(flags, d->size, d->total);
}

static void wire_get_data_head(struct phx__reader *r, int flags, struct phx__data *d)
{
    int first = (flags & (int)PHX__DATA_FIRST) != 0, seen = first && (flags & (int)PHX__DATA_SEEN) != 0;
    uint64_t v[6] = { 0 };
    struct phx_id ends[2];
    const uint8_t *p;

    phx__buf_get_copy(r, ends, sizeof ends);
    p = phx__buf_get_bytes(r, first ? 48 : 16); /* one look at the bounds: on the way of every message */
    for (size_t i = 0; p != NULL && i < (first ? 6 : 2); i++)
        v[i] = phx__buf_load_u64(p + 8 * i);
    *d = (struct phx__data){ ends[0], ends[1], v[0], v[1], v[2], v[3], v[4], v[5],
                             seen ? phx__buf_get_u32(r) : 0, 0, NULL, 0 };
}

int phx__wire_data_get(const struct phx__frame *f, struct phx__data *d)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__DATA, &r) != 0)
        return PHX_EPROTO;
    wire_get_data_head(&r, f->flags, d);
    d->size = r.left;
    d->payload = phx__buf_get_bytes(&r, r.left);
    return phx__wire_close(&r) != 0 || !wire_data_fits(f->flags, d) ? PHX_EPROTO : 0;
}

size_t phx__wire_data_front(const uint8_t *p, size_t size, struct phx__data *d, int *flags)
{
    struct phx__reader r;
    struct phx__frame f;
    size_t whole;

    if (size < PHX__DATA_HEAD || phx__wire_parse(p, size, &f, &whole) < 0 || f.type != PHX__DATA)
        return 0;
    phx__buf_reader_init(&r, p, size);
    (void)phx__buf_get_bytes(&r, PHX__WIRE_HEADER);
    wire_get_data_head(&r, f.flags, d);
    *flags = f.flags;
    size -= r.left;
    d->size = whole > size ? whole - size : 0;
    return r.bad || d->size == 0 || (f.flags & PHX__DATA_RUN) != 0 || !wire_data_fits(f.flags, d) ? 0 : size;
}

/* ---- CAST */

/* Of a line and of what is common; with FIRST all, else the first three of a line and the source. */
static const struct phx__field wire_cast_line[] = {
    PHX__BYTES(phx__data, target), PHX__NUMBER(phx__data, number), PHX__NUMBER(phx__data, epoch),
    PHX__NUMBER(phx__data, to), PHX__NUMBER(phx__data, seen),
};
static const struct phx__field wire_cast_common[] = {
    PHX__BYTES(phx__data, source), PHX__NUMBER(phx__data, from), PHX__NUMBER(phx__data, tag),
    PHX__NUMBER(phx__data, total),
};
#define WIRE_LINE_FIELDS(flags) (((flags) & (int)PHX__DATA_FIRST) != 0 ? 5 : 3)
#define WIRE_COMMON_FIELDS(flags) (((flags) & (int)PHX__DATA_FIRST) != 0 ? 4 : 1)

static size_t wire_cast_line_size(int flags)
{
    return (flags & (int)PHX__DATA_FIRST) != 0 ? PHX__CAST_LINE : PHX__CAST_LINE - 12;
}

size_t phx__wire_data_begin_cast(struct phx__writer *w, int flags, int hops, uint32_t count)
{
    size_t start = phx__wire_begin(w, PHX__CAST, flags, hops);

    PHX_ASSERT(count > 0 && count <= PHX__CAST_LINES);
    phx__buf_put_u16(w, (uint16_t)count);
    return start;
}

void phx__wire_data_put_cast_line(struct phx__writer *w, int flags, const struct phx__data *d)
{
    phx__wire_put_fields(w, wire_cast_line, WIRE_LINE_FIELDS(flags), d);
}

void phx__wire_data_end_cast(struct phx__writer *w, size_t start, int flags, const struct phx__data *d)
{
    phx__wire_put_fields(w, wire_cast_common, WIRE_COMMON_FIELDS(flags), d);
    phx__wire_end_head(w, start, d->size);
}

int phx__wire_data_get_cast(const struct phx__frame *f, struct phx__wire_cast *c)
{
    struct phx__reader r;

    memset(c, 0, sizeof *c);
    if (phx__wire_open(f, PHX__CAST, &r) != 0)
        return PHX_EPROTO;
    if ((c->count = phx__buf_get_u16(&r)) == 0 || c->count > PHX__CAST_LINES)
        return PHX_EPROTO;
    c->lines = phx__buf_get_bytes(&r, c->count * wire_cast_line_size(f->flags));
    phx__wire_get_fields(&r, wire_cast_common, WIRE_COMMON_FIELDS(f->flags), &c->common);
    c->common.size = r.left;
    c->common.payload = phx__buf_get_bytes(&r, r.left);
    if (phx__wire_close(&r) != 0 || c->common.size > PHX__CAST_FRAGMENT
        || !wire_payload_fits(f->flags, c->common.size, c->common.total))
        return PHX_EPROTO;
    for (uint32_t i = 0; i < c->count; i++)
        if (phx__buf_load_u64(c->lines + i * wire_cast_line_size(f->flags) + WIRE_EPOCH_AT) == 0)
            return PHX_EPROTO;
    return 0;
}

void phx__wire_data_cast_line(const struct phx__wire_cast *c, const struct phx__frame *f, uint32_t i,
                              struct phx__data *d, int *flags)
{
    size_t size = wire_cast_line_size(f->flags);
    struct phx__reader r;

    *d = c->common;
    phx__buf_reader_init(&r, c->lines + i * size, size);
    phx__wire_get_fields(&r, wire_cast_line, WIRE_LINE_FIELDS(f->flags), d);
    *flags = f->flags & (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    if (d->seen != 0)
        *flags |= (int)PHX__DATA_SEEN;
}

/* ---- ACK */

static const struct phx__field wire_ack[] = {
    PHX__BYTES(phx__ack, target), PHX__BYTES(phx__ack, source), PHX__NUMBER(phx__ack, epoch),
    PHX__NUMBER(phx__ack, next), PHX__NUMBER(phx__ack, window),
};
static const struct phx__field wire_ack_tell[] = {
    PHX__NUMBER(phx__ack, tell), PHX__NUMBER(phx__ack, tell_epoch), PHX__NUMBER(phx__ack, tell_next),
    PHX__NUMBER(phx__ack, tell_seen),
};

static int wire_ack_flags(const struct phx__ack *a)
{
    return (a->return_count > 0 ? (int)PHX__ACK_RETURNS : 0) | (a->seen != 0 ? (int)PHX__ACK_SEEN : 0)
           | (a->ask != 0 ? (int)PHX__ACK_ASK : 0) | (a->tell != 0 ? (int)PHX__ACK_TELL : 0);
}

/* A window of 0 is possible: the target is full. Only the source knows what next may be. */
void phx__wire_data_put_ack(struct phx__writer *w, const struct phx__ack *a, int flags, int hops)
{
    size_t start;

    flags |= wire_ack_flags(a);
    start = phx__wire_begin(w, PHX__ACK, flags, hops);
    phx__wire_put_fields(w, PHX__TABLE(wire_ack), a);
    if (a->return_count > 0) {
        phx__buf_put_u32(w, a->return_base);
        phx__buf_put_u16(w, a->return_count);
        phx__buf_put_bytes(w, a->returns, a->return_count * (size_t)PHX__RETURN_SIZE);
    }
    if (a->seen != 0) {
        phx__buf_put_u64(w, a->seen_epoch);
        phx__buf_put_u32(w, a->seen);
    }
    if (a->ask != 0)
        phx__buf_put_u64(w, a->ask);
    if (a->tell != 0)
        phx__wire_put_fields(w, PHX__TABLE(wire_ack_tell), a);
    phx__wire_end(w, start);
}

void phx__wire_data_put_return(struct phx__writer *w, const struct phx__return *t)
{
    phx__buf_put_u64(w, t->number);
    phx__buf_put_u16(w, t->place);
    phx__buf_put_u8(w, (uint8_t)t->reason);
}

void phx__wire_data_return(const struct phx__ack *a, uint32_t i, struct phx__return *t)
{
    struct phx__reader r;

    phx__buf_reader_init(&r, a->returns + i * (size_t)PHX__RETURN_SIZE, PHX__RETURN_SIZE);
    t->number = phx__buf_get_u64(&r);
    t->place = phx__buf_get_u16(&r);
    t->reason = phx__buf_get_u8(&r);
}

/* Oldest first, so their numbers rise, and within a run their places; and what comes back was received, so
 * the numbers are below next. */
static int wire_returns_fit(const struct phx__ack *a)
{
    struct phx__return t, before = { 0, 0, 0 };

    if (a->return_count == 0 || a->return_count > PHX__RETURNS
        || a->return_base > UINT32_MAX - a->return_count)
        return 0;
    for (uint32_t i = 0; i < a->return_count; i++) {
        phx__wire_data_return(a, i, &t);
        if (t.number >= a->next || t.reason < (int)PHX__RETURN_MOVED || t.reason > (int)PHX__RETURN_AGAIN)
            return 0;
        if (i > 0
            && (t.number < before.number || (t.number == before.number && t.place <= before.place)))
            return 0;
        before = t;
    }
    return 1;
}

int phx__wire_data_get_ack(const struct phx__frame *f, struct phx__ack *a)
{
    struct phx__reader r;

    memset(a, 0, sizeof *a);
    if (phx__wire_open(f, PHX__ACK, &r) != 0)
        return PHX_EPROTO;
    phx__wire_get_fields(&r, PHX__TABLE(wire_ack), a);
    if ((f->flags & PHX__ACK_RETURNS) != 0) {
        a->return_base = phx__buf_get_u32(&r);
        a->return_count = phx__buf_get_u16(&r);
        a->returns = phx__buf_get_bytes(&r, a->return_count * (size_t)PHX__RETURN_SIZE);
    }
    if ((f->flags & PHX__ACK_SEEN) != 0) {
        a->seen_epoch = phx__buf_get_u64(&r);
        a->seen = phx__buf_get_u32(&r);
    }
    if ((f->flags & PHX__ACK_ASK) != 0)
        a->ask = phx__buf_get_u64(&r);
    if ((f->flags & PHX__ACK_TELL) != 0)
        phx__wire_get_fields(&r, PHX__TABLE(wire_ack_tell), a);
    return phx__wire_close(&r) != 0 || ((f->flags & PHX__ACK_RETURNS) != 0 && !wire_returns_fit(a))
                   || (f->flags & (int)WIRE_ACK_PARTS) != wire_ack_flags(a)
                   || (a->tell != 0 && a->tell_epoch == 0)
               ? PHX_EPROTO
               : 0;
}
