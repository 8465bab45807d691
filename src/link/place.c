/* place.c - large fragments that are read straight into the message they belong to. */

/* A message of many fragments is put together in one block. The ordinary way (link.c) reads into the scratch,
 * and each byte is copied from there to the block. Read in place it is not: once the front of a frame is here
 * it is known where its payload goes (`place` is asked with the front of each large DATA frame whose end is
 * missing), and the socket is asked to put the rest there. The frame's head is kept in the link, and the
 * stash is empty meanwhile.
 *
 * Fragments stand one behind the other in the message, but on the wire there is a head before each. One read
 * for each would be many small ones, and that costs more than the copy it saves. So the read is spread over
 * what the rest of the message looks like if nothing comes between its fragments, which is how a large
 * message leaves its sender:
 *
 *      on the wire   ..payload 4][head][payload 5       ][head][payload 6   ][next message ..
 *      iov[0]           |           |   |                   |     |              |
 *      block         ...[payload 4 ][payload 5             ][payload 6    ]      |
 *      heads                        [5]                    [6]                   |
 *      scratch                                                              [tail]
 *
 * Each head is looked at when it is here, before anything else happens. If it is not the one that was
 * expected (an ack in between, another message) the bytes from there on are gathered in a buffer, as if they
 * had been read there. The block beyond what has been received may then hold nonsense, over which the right
 * bytes will come.
 *
 *      front of a large frame --place--> open --read--> whole --placed--> the next head: as expected?
 *                                         ^ |                               | yes          | no
 *                                         | '--- not yet all of it          | (place)      v
 *                                         '---------------------------------'    gathered, and as usual
 *
 * How far a read may guess beyond the open payload is learnt: right guesses double it, plus one, a wrong one
 * begins at none again, so that a link on which two large messages take turns is read as any other, and one
 * with an ack now and then loses little. After none, what came shows whether a guess would have been right.
 *
 * Measured 2026-11 on loopback, both ends' CPU for 1 GB in messages of 1 MiB (medians of 21 interleaved
 * rounds, others on the machine): copy from a scratch of 256 KiB 394 ms, of 1 MiB 363; in place with reads up
 * to 256 KiB 379, 512 KiB 348, 1 MiB 295. One exact read for each fragment of 64 KiB, and one for each head:
 * 422 (7 rounds, copy then 354).
 *
 * Two links may bring the same fragment, so a place can be overtaken (see struct phx__place). It is never
 * written to again then: the buffer may be the host's and the host may have it back. What still comes of its
 * payload is read and thrown away. It is a duplicate, and if it is not, its flow sends it again. As long as
 * one link has an open place no other guesses at that fragment (phx__post_recv_ahead): a wrong guess would
 * spoil what is there. */
#include "link/place.h"

/* Frames of this size are worth asking for a place, however little of them is missing: they would be kept in
 * the stash, which is a copy, too, and after them reading goes on in place. */
#define PLACE_LEAST 16384u
/* What is read behind the end of a message: the front of what comes next. What of it is the beginning of
 * another large one has to be copied, so it is little; a few small frames are read along. */
#define PLACE_TAIL 4096u

/* ---- One read for the rest of a payload and for what probably follows */

struct place_spread {
    uint8_t head[PHX__LINK_PLACE_MOST][PHX__DATA_HEAD];
    struct iovec iov[2 * PHX__LINK_PLACE_MOST + 2];
    int iov_count, first; /* first: where fragments beyond the open one begin */
    uint32_t count;       /* fragments beyond the first */
    size_t total;         /* bytes that may come */
};

static void place_add(struct place_spread *r, uint8_t *to, size_t size)
{
    r->iov[r->iov_count].iov_base = to;
    r->iov[r->iov_count++].iov_len = size;
    r->total += size;
}

/* Lays the read out, for at most `most` fragments beyond the first. What comes behind the message comes into
 * the scratch. */
static void place_spread(const struct phx__link_set *s, const struct phx__place *p, uint32_t most,
                         struct place_spread *r)
{
    size_t at = p->at + p->size, left = p->block->capacity - at, size;

    PHX_ASSERT((p->got < p->size || p->size == 0) && at <= p->block->capacity);
    r->iov_count = 0;
    r->count = 0;
    r->total = 0;
    if (p->size > 0)
        place_add(r, p->block->data + p->at + p->got, p->size - p->got);
    r->first = r->iov_count;
    while (left > 0 && r->count < most && r->count < PHX__LINK_PLACE_MOST) {
        size = left < PHX__FRAGMENT ? left : PHX__FRAGMENT;
        place_add(r, r->head[r->count++], PHX__DATA_HEAD);
        place_add(r, p->block->data + at, size);
        at += size;
        left -= size;
    }
    if (most == 0)
        place_add(r, s->scratch, s->scratch_size); /* as if nothing were known */
    else if (left == 0)
        place_add(r, s->scratch, s->scratch_size < PLACE_TAIL ? s->scratch_size : PLACE_TAIL);
}

/* The guess was wrong from fragment `from` on: copies the n bytes that came there and behind, in the order in
 * which they came, to a new block. */
static int place_gather(const struct phx__link_set *s, const struct place_spread *r, uint32_t from, size_t n,
                        struct phx__block **out)
{
    uint8_t *to;
    int i;

    *out = phx__buf_block_new(s->mem, n);
    if (*out == NULL)
        return PHX_ENOMEM;
    to = (*out)->data;
    for (i = r->first + 2 * (int)from; i < r->iov_count && n > 0; i++) {
        size_t size = r->iov[i].iov_len < n ? r->iov[i].iov_len : n;

        memcpy(to, r->iov[i].iov_base, size);
        to += size;
        n -= size;
    }
    PHX_ASSERT(n == 0);
    return 0;
}

/* ---- Places */

static int place_is_possible(const struct phx__link_set *s, const struct phx__link *l)
{
    /* Over TLS what comes is records, not frames. */
    return s->os->recvv != NULL && l->state == PHX__LINK_UP && l->tls == NULL;
}

/* Is there a place for the frame whose front stands at p? Then what is here of its payload is put there. Also
 * 1 if the link was closed: the host may have been asked. */
static int place_open(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size)
{
    struct phx__place place;
    size_t head;

    if (!place_is_possible(s, l) || size < PHX__DATA_HEAD || p[4] != PHX__DATA)
        return 0;
    head = s->ops->place(s->ctx, l, p, size, &place);
    if (head > 0 && l->state == PHX__LINK_CLOSED)
        phx__buf_place_drop(&place);
    if (head == 0 || l->state == PHX__LINK_CLOSED)
        return l->state == PHX__LINK_CLOSED;
    PHX_ASSERT(head <= sizeof l->place.head);
    memcpy(l->place.head, p, head);
    l->place.head_size = (uint8_t)head;
    place.got = size - head < place.size ? size - head : place.size;
    memcpy(place.block->data + place.at, p + head, place.got);
    l->place.open = place;
    return 1;
}

/* A fragment of a large message begins at `from` in all that came on the link. If nothing but fragments of
 * that message has come since the last look a guess would have been right. */
static void place_learn(struct phx__link_place *p, uint64_t from)
{
    size_t size = p->open.at - p->guess_at;

    if (p->open.at > p->guess_at && from - p->guess_from == size + (size / PHX__FRAGMENT) * PHX__DATA_HEAD)
        p->guess = 2 * p->guess + 1 < PHX__LINK_PLACE_MOST ? 2 * p->guess + 1 : PHX__LINK_PLACE_MOST;
}

int phx__link_place_begin(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size,
                          size_t whole)
{
    if (whole < PLACE_LEAST || !place_open(s, l, p, size))
        return 0;
    if (l->state != PHX__LINK_CLOSED)
        place_learn(&l->place, l->in.bytes - size);
    return 1;
}

/* The payload is all here, and `behind` bytes that came after it. */
static void place_done(struct phx__link_set *s, struct phx__link *l, size_t behind)
{
    struct phx__place place = l->place.open;

    PHX_ASSERT(place.got == place.size);
    memset(&l->place.open, 0, sizeof l->place.open);
    l->place.guess_at = place.at + place.size;
    l->place.guess_from = l->in.bytes - behind;
    s->frames_in++;
    s->ops->placed(s->ctx, l, l->place.head, l->place.head_size,
                   phx__buf_place_is_open(&place) ? place.block->data + place.at : NULL);
    phx__buf_place_drop(&place);
}

/* The next head is here. Is it the one that was guessed, with the payload at `at`? */
static int place_is_right(struct phx__link_set *s, struct phx__link *l, const uint8_t *head,
                          const struct iovec *payload)
{
    struct phx__place *open = &l->place.open;

    if (!place_open(s, l, head, PHX__DATA_HEAD))
        return 0;
    if (l->state == PHX__LINK_CLOSED
        || (open->size == payload->iov_len && open->block->data + open->at == payload->iov_base))
        return 1;
    phx__buf_place_drop(open); /* a place, but another one */
    return 0;
}

/* n bytes of the guess have come behind a payload that is whole. *from: those that are no fragments in place
 * begin there; returns how many they are. */
static size_t place_guessed(struct phx__link_set *s, struct phx__link *l, const struct place_spread *r,
                            size_t n, uint32_t *from)
{
    struct phx__place *open = &l->place.open;
    uint32_t i;
    int right = 1;

    for (i = 0; i < r->count && n >= PHX__DATA_HEAD; i++) {
        const struct iovec *payload = &r->iov[(uint32_t)r->first + 2 * i + 1];

        right = place_is_right(s, l, r->head[i], payload);
        if (l->state == PHX__LINK_CLOSED)
            return 0;
        if (!right)
            break;
        n -= PHX__DATA_HEAD;
        open->got = n < payload->iov_len ? n : payload->iov_len;
        n -= open->got;
        if (open->got < open->size)
            return 0;
        place_done(s, l, n);
        if (l->state == PHX__LINK_CLOSED)
            return 0;
    }
    if (!right)
        l->place.guess = 0;
    *from = i;
    return n;
}

/* ---- Reading */

/* Of a read with that much room n bytes came, or why none. */
static long place_received(struct phx__link_set *s, struct phx__link *l, long n, size_t room)
{
    l->in.more = n > 0 && (size_t)n == room;
    if (n <= 0)
        return n == 0 ? PHX_ERESET : n == PHX_EAGAIN ? 0 : n;
    l->in.bytes += (size_t)n;
    s->bytes_in += (size_t)n;
    return n;
}

long phx__link_place_recv(struct phx__link_set *s, struct phx__link *l, uint8_t *to, size_t size)
{
    s->os_calls++;
    return place_received(s, l, s->os->recv(s->os->world, l->handle, to, size), size);
}

/* The rest of a payload whose place was overtaken. */
static int place_throw_away(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__place *open = &l->place.open;
    size_t room = open->size - open->got;
    long n = phx__link_place_recv(s, l, s->scratch, room < s->scratch_size ? room : s->scratch_size);

    if (n <= 0)
        return (int)n;
    open->got += (size_t)n;
    if (open->got == open->size)
        place_done(s, l, 0);
    return 0;
}

/* If a guess is wrong, what came is gathered, in a block that may be an eighth larger. Near the limit there
 * may be no room for that, and the link would be closed for it, and the next one: then nothing is guessed. */
static uint32_t place_affords(const struct phx__link_set *s, uint32_t guess)
{
    size_t size = (guess + 1) * (size_t)PHX__FRAME_MAX;

    return phx__mem_has_room(s->mem, size + size / 8) ? guess : 0;
}

/* Reads on in place, and beyond. An empty place is no frame's, and only says where guesses begin. The caller
 * holds the block of the message, which may be over before. */
static int place_read_on(struct phx__link_set *s, struct phx__link *l, size_t *left, struct phx__block **out)
{
    struct phx__place *open = &l->place.open;
    struct place_spread r;
    uint32_t from = 0;
    size_t rest = open->size - open->got, n;
    long got;

    place_spread(s, open, place_affords(s, l->place.guess), &r);
    if (rest == 0)
        phx__buf_place_drop(open);
    s->os_calls++;
    got = s->os->recvv(s->os->world, l->handle, r.iov, r.iov_count);
    got = place_received(s, l, got, r.total);
    if (got <= 0)
        return (int)got;
    n = (size_t)got;
    if (rest > 0)
        open->got += n < rest ? n : rest;
    if (n < rest)
        return 0;
    if (rest > 0)
        place_done(s, l, n - rest);
    if (n > rest && l->state != PHX__LINK_CLOSED)
        *left = place_guessed(s, l, &r, n - rest, &from);
    return *left > 0 && from < r.count ? place_gather(s, &r, from, *left, out) : 0;
}

/* At the end of a whole frame: will the next fragment of a large message come now? The place stays empty. */
static int place_expects(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__link_place *p = &l->place;

    if (p->from == PHX__NONE || !place_is_possible(s, l) || !s->ops->ahead(s->ctx, l, p->from, &p->open))
        return 0;
    place_learn(p, l->in.bytes);
    p->guess_at = p->open.at;
    p->guess_from = l->in.bytes;
    if (p->guess == 0)
        phx__buf_place_drop(&p->open);
    return p->guess > 0;
}

int phx__link_place_read(struct phx__link_set *s, struct phx__link *l, int *done, size_t *left,
                         struct phx__block **out)
{
    struct phx__place *open = &l->place.open;
    struct phx__block *block;
    int err;

    *left = 0;
    *out = NULL;
    *done = open->block != NULL || (l->in.stash_size == 0 && place_expects(s, l));
    if (!*done)
        return 0;
    if (open->size > 0 && !phx__buf_place_is_open(open))
        return place_throw_away(s, l);
    block = phx__buf_block_hold(open->block);
    err = place_read_on(s, l, left, out);
    phx__buf_block_drop(block); /* before another large message begins, and wants one like it */
    return err;
}
