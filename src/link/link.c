/* link.c - the life of a link, and what comes in on it. */

/* A link is a connection with a neighbour, and carries a stream of frames. One read goes into a buffer that
 * all links share, and frames are handled there; only the front of a frame whose rest has not arrived is kept
 * per link. An idle link holds no buffer. Large messages are read straight to where they belong (place.c).
 * How a link comes up is in hello.c, how it writes in out.c. */
#include "link/link.h"

/* An unauthenticated peer may send frames of this size: a padded HELLO or ANSWER, not more. */
#define LINK_HELLO_MOST 2048u
/* Over TLS the same in its records, and the handshake: read by records, and not more than this in all. */
#define LINK_TLS_READ 4096u
#define LINK_TLS_HELLO_MOST 32768u
/* Frames of this size are read in whole numbers, where the stream has as many: what is torn at the end of a
 * read is copied to the stash and back, and four fragments with their heads just do not fit into 256 KiB. */
#define LINK_STRIDE_LEAST 32768u
/* A larger scratch is not lent: a frame of 32 KiB would pin all of it. */
#define LINK_LEND_MOST (1u << 20)
/* Control frames make us work for their sender: a table looked through, an answer, a word to all neighbours.
 * Each is charged one unit, one for each 64 bytes, and one for each 256 nodes or claims that were looked
 * through for it: a microsecond each. A link has 20,000 units a second, and may owe five seconds of them. A
 * full table of 60,000 nodes or two of the largest cards pass at once, and 1.2 MB or 20,000 small frames a
 * second for ever. No honest node comes near: the start of a clique of 400 costs each link some 700 units. */
#define LINK_UNIT_BYTES 64u
#define LINK_UNIT_WALKED 256u
#define LINK_UNIT_US 50u
#define LINK_OWED_US (5 * PHX__SECOND)
/* All links together have 50,000 units a second, and 200,000 at once, as ids are free. Beyond that a unit's
 * price rises with what is owed, for links of the last minute twice as fast, so those that bring much share
 * the rate and others do not notice. Up to a bound: where a large network starts few links shall rest. */
#define LINK_ALL_US 20u
#define LINK_ALL_OWED_US (4 * PHX__SECOND)
#define LINK_ALL_STEP_US (500 * PHX__MS)
#define LINK_ALL_MOST_US (36 * PHX__SECOND)
#define LINK_OLD_US (60 * PHX__SECOND)
/* A peer that owes more is not read for a while, and TCP makes it wait. The link is not closed: the peer
 * would come back at once, with everything from the beginning. Since each rest ends, nodes that wait for each
 * other in a circle go on; and a rest, at most this long, is shorter than any silence that counts. One that
 * owes as much is read by little, or anything if all links owe much: others are read between. */
#define LINK_REST_US (500 * PHX__MS)
#define LINK_REST_READ 65536u

/* ---- Frames */

static uint64_t link_price(const struct phx__link_set *s, const struct phx__link *l)
{
    uint64_t until = s->now + LINK_ALL_OWED_US, old = s->now > l->since + LINK_OLD_US;

    return s->paid_at <= until ? 1 : 1 + (s->paid_at - until) / (LINK_ALL_STEP_US << old);
}

static int link_on_frame(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f,
                         const uint8_t *raw, size_t raw_size)
{
    uint64_t units, cost;
    int reason, err;

    if (f->type == PHX__REFUSE) {
        l->end.refused = 1;
        return phx__wire_link_get(f, PHX__REFUSE, &reason) != 0 ? PHX_EPROTO : reason;
    }
    if (l->state != PHX__LINK_UP)
        return phx__link_hello_frame(s, l, f);
    if (f->type < PHX__UPDATE)
        return PHX_EPROTO;
    /* DATA, ACK and CAST are free: they cost little each, and come as fast as an honest peer can send. */
    if (f->type == PHX__DATA || f->type == PHX__ACK || f->type == PHX__CAST || f->type > PHX__TRACE)
        return s->ops->frame(s->ctx, l, f, raw, raw_size);
    s->walked = s->named = 0;
    err = s->ops->frame(s->ctx, l, f, raw, raw_size);
    units = 1 + raw_size / LINK_UNIT_BYTES + s->walked / LINK_UNIT_WALKED;
    cost = (units * link_price(s, l) + s->named / LINK_UNIT_WALKED) * LINK_UNIT_US;
    l->in.paid_at = PHX__MAX(l->in.paid_at, s->now) + cost;
    s->paid_at = PHX__MAX(s->paid_at, s->now) + units * LINK_ALL_US;
    s->paid_at = PHX__MIN(s->paid_at, s->now + LINK_ALL_MOST_US);
    return err;
}

/* Keeps these bytes for the next read. */
static int link_stash(struct phx__link_set *s, struct phx__link_in *in, const uint8_t *p, size_t size)
{
    if (s->resumed.at != NULL && size > 0) { /* they stand in it, and what is before them is done */
        in->stash = s->resumed.at;
        in->stash_capacity = s->resumed.size;
        s->resumed.at = NULL;
    } else if (size == 0 || size > in->stash_capacity) {
        uint8_t *grown = size > 0 ? phx__mem_get(s->mem, size) : NULL;

        if (size > 0 && grown == NULL)
            return PHX_ENOMEM;
        phx__mem_put(s->mem, in->stash, in->stash_capacity);
        in->stash = grown;
        in->stash_capacity = (uint32_t)size;
    }
    if (size > 0)
        memmove(in->stash, p, size);
    in->stash_size = (uint32_t)size; /* less than a frame */
    return 0;
}

/* Handles all whole frames in the size bytes at p and keeps the rest. */
static int link_frames(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size)
{
    while (size > 0) {
        struct phx__frame f;
        size_t used;
        int got = phx__wire_parse(p, size, &f, &used);

        if (got < 0 || (l->state != PHX__LINK_UP && used > LINK_HELLO_MOST)) {
            /* A handshake of TLS begins with these two bytes; worth a word, since it is an easy mistake. */
            if (l->state == PHX__LINK_HELLO && l->tls == NULL && size > 1 && p[0] == 0x16 && p[1] == 3)
                l->end.why = "it speaks TLS, which is not spoken here";
            return PHX_EPROTO;
        }
        if (got == 0) {
            if (used >= LINK_STRIDE_LEAST)
                l->in.stride = (uint32_t)used;
            if (phx__link_place_begin(s, l, p, size, used))
                return l->state == PHX__LINK_CLOSED ? 0 : link_stash(s, &l->in, p, 0);
            break;
        }
        s->frames_in++;
        got = link_on_frame(s, l, &f, p, used);
        if (got == PHX_EAGAIN && !l->end.refused) {
            l->in.held = 1;
            break;
        }
        if (got != 0 || l->state == PHX__LINK_CLOSED)
            return got;
        p += used;
        size -= used;
    }
    return link_stash(s, &l->in, p, size);
}

/* ---- Reading */

/* Bytes to ask for, behind those that were kept. */
static size_t link_room(const struct phx__link_set *s, const struct phx__link *l)
{
    uint32_t stride = l->in.stride;
    size_t most = stride == 0 || stride > s->room ? s->room : s->room / stride * stride;
    size_t kept = l->in.stash_size, left = s->scratch_size - kept;
    size_t room = most > kept ? most - kept : s->room < left ? s->room : left;

    most = l->state != PHX__LINK_UP ? LINK_HELLO_MOST : room;
    if (l->place.large && kept == 0 && phx__link_place_serves(s, l))
        most = PHX__LINK_PLACE_TAIL;
    else if (l->in.paid_at > s->now + (s->paid_at < s->now + PHX__SECOND ? LINK_REST_US : 0))
        most = PHX__MIN(most, LINK_REST_READ / (size_t)PHX__MIN(link_price(s, l), 16u));
    return PHX__MIN(room, most);
}

/* As phx__link_read: `kept` bytes of a frame stand in the scratch. An accepted link gets its engine with the
 * first byte, so that a crowd that says nothing costs little. */
static int link_read_tls(struct phx__link_set *s, struct phx__link *l, size_t kept)
{
    size_t room, left = s->scratch_size - kept - PHX__TLS_HELD;
    size_t most = l->state == PHX__LINK_UP ? link_room(s, l) : LINK_TLS_READ;
    uint8_t *buffer = phx__tls_buffer(s->tls, &room);
    long n;
    int err;

    room = PHX__MIN(room, PHX__MIN(left, most));
    if ((n = phx__link_place_recv(s, l, buffer, room)) <= 0)
        return (int)n;
    if (l->state != PHX__LINK_UP && l->in.bytes > LINK_TLS_HELLO_MOST)
        return PHX_EPROTO;
    if (l->tls == NULL && (err = phx__link_hello_tls(s, l)) != 0)
        return err;
    n = phx__tls_feed(l->tls, (size_t)n, s->scratch + kept);
    if (n == PHX_ETLS)
        l->end.why = phx__tls_why(l->tls);
    if (n < 0)
        return (int)n;
    if (l->state != PHX__LINK_UP)
        s->ops->wants(s->ctx, l); /* the handshake's next words, or what waited for its end */
    return link_frames(s, l, s->scratch, kept + (size_t)n);
}

/* What is forwarded to another link may leave from where it was read: its block is held, and the scratch is
 * another one from the next read on. There must be one before: no read may fail for lack of memory. */
struct phx__block *phx__link_lend(struct phx__link_set *s, const uint8_t *raw)
{
    if (s->scratch_size > LINK_LEND_MOST || (uintptr_t)raw < (uintptr_t)s->scratch
        || (uintptr_t)raw >= (uintptr_t)s->scratch + s->scratch_size)
        return NULL;
    if (s->spare == NULL && phx__mem_has_room_for_mail(s->mem, s->scratch_size))
        s->spare = phx__buf_block_new(s->mem, s->scratch_size);
    return s->spare != NULL ? s->block : NULL;
}

/* As phx__link_read, if a large message is being read into place: then *done. */
static int link_read_place(struct phx__link_set *s, struct phx__link *l, int *done)
{
    struct phx__block *gathered;
    size_t left;
    int err = phx__link_place_read(s, l, done, &left, &gathered);

    if (err == 0 && left > 0)
        err = link_frames(s, l, gathered != NULL ? gathered->data : s->scratch, left);
    phx__buf_block_drop(gathered);
    return err;
}

/* Goes on with frames that were held. Their memory is the set's meanwhile, as the link may be closed, and it
 * takes in what must be held again. */
static int link_resume(struct phx__link_set *s, struct phx__link *l)
{
    uint32_t size = l->in.stash_size;
    int err;

    s->resumed.at = l->in.stash;
    s->resumed.size = l->in.stash_capacity;
    l->in.stash = NULL;
    l->in.stash_size = l->in.stash_capacity = 0;
    l->in.held = 0;
    err = link_frames(s, l, s->resumed.at, size);
    phx__mem_put(s->mem, s->resumed.at, s->resumed.size);
    s->resumed.at = NULL;
    return err;
}

int phx__link_read(struct phx__link_set *s, struct phx__link *l)
{
    size_t kept = l->in.stash_size;
    int done, err;
    long n;

    /* A parked peer has nothing to say before it is answered; what it says is read then. */
    if (l->state == PHX__LINK_PARKED || l->in.resting)
        return 0;
    if (l->in.paid_at > s->now + LINK_OWED_US && l->state == PHX__LINK_UP) {
        l->in.resting = 1;
        l->in.more = 0;
        /* One read may have brought a lot. */
        l->in.paid_at = PHX__MIN(l->in.paid_at, s->now + LINK_OWED_US + LINK_REST_US);
        phx__timer_set(s->timers, l->timer, l->in.paid_at - LINK_OWED_US);
        return 0;
    }
    if (s->block->refs > 1) { /* it was lent */
        phx__buf_block_drop(s->block);
        s->block = s->spare;
        s->spare = NULL;
        s->scratch = s->block->data;
    }
    if (l->in.held)
        return link_resume(s, l);
    err = link_read_place(s, l, &done);
    if (done)
        return err;
    if (kept > 0)
        memcpy(s->scratch, l->in.stash, kept);
    if (l->secure)
        return link_read_tls(s, l, kept);
    if (l->in.more)
        l->place.large = 0; /* so much came that is small: read as usual */
    n = phx__link_place_recv(s, l, s->scratch + kept, link_room(s, l));
    return n <= 0 ? (int)n : link_frames(s, l, s->scratch, kept + (size_t)n);
}

/* ---- Life */

int phx__link_open(struct phx__link_set *s, struct phx__link *l, int handle, enum phx__link_state state,
                   uint64_t patience_us)
{
    if ((l->hello = phx__mem_zero(s->mem, sizeof *l->hello)) == NULL
        || phx__timer_new(s->timers, PHX__TIMER_LINK, l->slot, &l->timer) != 0) {
        phx__mem_put(s->mem, l->hello, sizeof *l->hello);
        return PHX_ENOMEM;
    }
    phx__timer_set(s->timers, l->timer, s->now + patience_us);
    phx__buf_slices_init(&l->out.stream, s->mem);
    phx__buf_slices_init(&l->out.control, s->mem);
    phx__buf_slices_init(&l->out.news, s->mem);
    l->out.ahead = PHX__LINK_AHEAD;
    l->handle = handle;
    l->place.guess = PHX__LINK_PLACE_MOST;
    l->place.from = PHX__NONE;
    l->state = state;
    l->peer = l->expect = l->attempt = PHX__NONE;
    l->since = s->now;
    return 0;
}

int phx__link_events(const struct phx__link *l)
{
    if (l->state == PHX__LINK_DIALING)
        return PHX_WRITE;
    /* What is not read yet must not keep waking us. */
    return (l->state == PHX__LINK_PARKED || l->in.resting || l->in.turn ? 0 : PHX_READ)
           | (l->out.full ? PHX_WRITE : 0);
}

/* One try: a peer that does not read is not waited for. */
static void link_tell_reason(struct phx__link_set *s, struct phx__link *l, int reason)
{
    struct phx__writer w;

    if (l->state == PHX__LINK_DIALING || l->out.stream.bytes > 0 || (l->secure && l->tls == NULL)
        || phx__link_out_control(s, l, 64, &w) != 0)
        return;
    phx__wire_link_put(&w, PHX__REFUSE, 0, 0, &reason);
    if (phx__link_out_control_end(s, l, &w) == 0)
        phx__link_out_try(s, l);
}

PHX__COLD void phx__link_close(struct phx__link_set *s, struct phx__link *l, int reason, int tell)
{
    if (l->state == PHX__LINK_FREE || l->state == PHX__LINK_CLOSED)
        return;
    if (tell)
        link_tell_reason(s, l, reason);
    l->state = PHX__LINK_CLOSED;
    s->os_calls++;
    s->os->close(s->os->world, l->handle);
    phx__timer_drop(s->timers, l->timer);
    phx__mem_put(s->mem, l->hello, sizeof *l->hello);
    phx__tls_free(l->tls);
    l->hello = NULL;
    l->tls = NULL;
    s->waiting -= l->out.control.bytes + l->out.news.bytes;
    phx__buf_slices_free(&l->out.stream);
    phx__buf_slices_free(&l->out.control);
    phx__buf_slices_free(&l->out.news);
    phx__buf_block_drop(l->out.tail);
    l->out.tail = NULL;
    phx__buf_place_drop(&l->place.open);
    phx__mem_put(s->mem, l->in.stash, l->in.stash_capacity);
    phx__mem_put(s->mem, l->card.data, l->card.capacity);
    l->in.stash = l->card.data = NULL;
    l->in.stash_size = l->in.stash_capacity = 0;
    l->card.total = l->card.capacity = 0;
}
