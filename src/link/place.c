/* place.c - large fragments that are read straight into the message they belong to. */

/* A message of many fragments is put together in one block. Read the ordinary way (link.c) its bytes come to
 * the scratch and are copied to the block. Read in place they are not: the front of a large DATA frame says
 * where the payload goes (ops.place), and the socket is asked to put the rest there. The link keeps the
 * frame's head, and its stash is empty meanwhile.
 *
 * Fragments stand one behind the other in the message, but on the wire a head comes before each. One read for
 * each payload and one for each head would cost more than the copy they save. So one read is spread over what
 * comes if nothing is sent between the fragments, which is how a large message leaves its sender:
 *
 *      on the wire   ..payload 4][head][payload 5       ][head][payload 6   ][next message ..
 *      iov[0]           |           |   |                   |     |              |
 *      block         ...[payload 4 ][payload 5             ][payload 6    ]      |
 *      heads                        [5]                    [6]                   |
 *      scratch                                                              [tail]
 *
 * Each head is looked at before anything else happens. If it is another one (an ack, another message) the
 * bytes from there on are gathered in a buffer, as if they had been read there. The block beyond what has
 * been received may then hold nonsense, which the right bytes will overwrite.
 *
 *      front of a large frame --place--> open --read--> whole --placed--> the next head: as expected?
 *                                         ^ |                               | yes          | no
 *                                         | '--- not yet all of it          | (place)      v
 *                                         '---------------------------------'    gathered, and as usual
 *
 * How many fragments a read guesses is learnt: a right guess doubles it, plus one, a wrong one sets it to
 * none. So a link on which two large messages alternate is read as any other, and one with an ack now and
 * then loses little. After none, what came shows whether a guess would have been right. The front of the
 * first fragment is copied; so after a large message little is read at first: the next may be large, too.
 *
 * Measured on loopback, both ends' CPU for 1 GB in messages of 1 MiB: copied 394 ms, in place with reads up
 * to 256 KiB 379, 1 MiB 295. Larger fragments, each read exactly, need no guesses, but 3 to 5 reads for 1 MB.
 *
 * Two links may bring the same fragment, so a place can be overtaken (see struct phx__place). It is never
 * written to again then: the buffer may be the application's again. What still comes of the payload is thrown
 * away; if it is no duplicate, its flow sends it again. While one link has an open place no other guesses at
 * that fragment (phx__post_recv_ahead): a wrong guess would spoil what is there. */
#include "link/state.h"

/* Frames of this size get a place, however little of them is missing: reading goes on in place after them. */
#define PLACE_LEAST 16384u

/* ---- One read for the rest of a payload and for what probably follows */

/* iov: the rest, which may be nothing; head and payload of each guess; perhaps the tail. */
struct place_spread {
    uint8_t head[PHX__LINK_PLACE_MOST][PHX__DATA_HEAD];
    struct iovec iov[2 * PHX__LINK_PLACE_MOST + 2];
    uint32_t count, guesses;
    size_t total;
};

static void place_add(struct place_spread *r, uint8_t *to, size_t size)
{
    r->iov[r->count].iov_base = to;
    r->iov[r->count++].iov_len = size;
    r->total += size;
}

/* Lays the read out, for at most `most` fragments beyond the open one. What comes behind the message comes
 * into the scratch. */
static void place_spread(const struct phx__link_set *s, const struct phx__place *p, uint32_t most,
                         struct place_spread *r)
{
    size_t at = p->at + p->size, end = p->block->capacity, size;

    PHX_ASSERT((p->got < p->size || p->size == 0) && at <= end);
    r->count = r->guesses = 0;
    r->total = 0;
    place_add(r, p->block->data + p->at + p->got, p->size - p->got);
    for (; at < end && r->guesses < most; at += size) {
        size = end - at < PHX__FRAGMENT ? end - at : PHX__FRAGMENT;
        place_add(r, r->head[r->guesses++], PHX__DATA_HEAD);
        place_add(r, p->block->data + at, size);
    }
    if (most == 0 || at == end)
        place_add(r, s->scratch, most == 0 ? s->room : PHX__LINK_PLACE_TAIL);
}

/* Copies n bytes that came, from this part of the read on, to a new block. */
static int place_gather(const struct phx__link_set *s, const struct iovec *from, size_t n,
                        struct phx__block **out)
{
    size_t done, size;

    if ((*out = phx__buf_block_new(s->mem, n)) == NULL)
        return PHX_ENOMEM;
    for (done = 0; done < n; done += size, from++) {
        size = from->iov_len < n - done ? from->iov_len : n - done;
        memcpy((*out)->data + done, from->iov_base, size);
    }
    return 0;
}

/* ---- Places */

int phx__link_place_serves(const struct phx__link_set *s, const struct phx__link *l)
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

    if (!phx__link_place_serves(s, l) || size < PHX__DATA_HEAD || p[4] != PHX__DATA)
        return 0;
    if ((head = s->ops->place(s->ctx, l, p, size, &place)) > 0 && l->state == PHX__LINK_CLOSED)
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

    if (p->open.at > p->guess_at && p->guess < PHX__LINK_PLACE_MOST
        && from - p->guess_from == size + (size / PHX__FRAGMENT) * PHX__DATA_HEAD)
        p->guess = 2 * p->guess + 1;
}

int phx__link_place_begin(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size,
                          size_t whole)
{
    if (whole < PLACE_LEAST || !place_open(s, l, p, size))
        return 0;
    place_learn(&l->place, l->in.bytes - size);
    return 1;
}

/* The payload is all here, and `behind` bytes that came after it. */
static void place_done(struct phx__link_set *s, struct phx__link *l, size_t behind)
{
    struct phx__place place = l->place.open;

    memset(&l->place.open, 0, sizeof l->place.open);
    l->place.guess_at = place.at + place.size;
    l->place.guess_from = l->in.bytes - behind;
    s->frames_in++;
    s->ops->placed(s->ctx, l, l->place.head, l->place.head_size,
                   phx__buf_place_is_open(&place) ? place.block->data + place.at : NULL);
    phx__buf_place_drop(&place);
}

/* n bytes came for the open payload, if there is one, and for what is behind it: how many are behind, or 0 if
 * the link was closed. */
static size_t place_fill(struct phx__link_set *s, struct phx__link *l, size_t n)
{
    struct phx__place *open = &l->place.open;
    size_t rest = open->size - open->got, size = n < rest ? n : rest;

    open->got += size;
    n -= size;
    if (size > 0) {
        open->block->moved = 1;
        if (open->got == open->size)
            place_done(s, l, n);
    }
    return l->state == PHX__LINK_CLOSED ? 0 : n;
}

/* The next head is here. Is it the one that was guessed, before this payload? The host is not asked: that is
 * done for a longer head only. So it cannot take memory back before what came is gathered. */
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

/* *n bytes of the guesses have come. Returns where those begin that are no fragments in place, and in *n how
 * many they are. */
static const struct iovec *place_guessed(struct phx__link_set *s, struct phx__link *l,
                                         const struct place_spread *r, size_t *n)
{
    const struct iovec *at = r->iov + 1, *end = at + 2 * (size_t)r->guesses;

    for (; at < end && *n >= PHX__DATA_HEAD; at += 2) {
        if (!place_is_right(s, l, at->iov_base, at + 1)) {
            l->place.guess = 0;
            break;
        }
        *n = place_fill(s, l, *n - PHX__DATA_HEAD);
    }
    if (at == end && r->guesses > 0 && r->guesses == l->place.guess && l->place.guess < PHX__LINK_PLACE_MOST)
        l->place.guess = 2 * l->place.guess + 1;
    return at;
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
    PHX_ASSERT(size > 0); /* or the answer would look like the end */
    s->os_calls++;
    return place_received(s, l, s->os->recv(s->os->world, l->handle, to, size), size);
}

/* Reads on in place, and beyond. An empty place is no frame's, and only says where guesses begin. The caller
 * holds the block of the message, which may be over before. If a guess is wrong, what came is gathered, in a
 * block that may be an eighth larger. Near the limit there may be no room for that, and the link would be
 * closed for it, and the next one: then nothing is guessed. Nor where callbacks are slow: what there is no
 * time for is kept. */
static int place_read_on(struct phx__link_set *s, struct phx__link *l, size_t *left, struct phx__block **out)
{
    struct phx__place *open = &l->place.open;
    struct place_spread r;
    const struct iovec *from;
    uint32_t empty = open->size == 0;
    size_t size = (l->place.guess + 1) * (size_t)PHX__FRAME_MAX;
    int affords = s->room == s->scratch_size && phx__mem_has_room(s->mem, size + size / 8);
    long got;

    place_spread(s, open, affords ? l->place.guess : 0, &r);
    if (empty)
        phx__buf_place_drop(open);
    s->os_calls++;
    got = s->os->recvv(s->os->world, l->handle, r.iov + empty, (int)(r.count - empty));
    if ((got = place_received(s, l, got, r.total)) <= 0)
        return (int)got;
    *left = place_fill(s, l, (size_t)got);
    from = place_guessed(s, l, &r, left);
    return *left > 0 && from->iov_base != s->scratch ? place_gather(s, from, *left, out) : 0;
}

/* At the end of a whole frame: will the next fragment of a large message come now? The place stays empty. */
static int place_expects(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__link_place *p = &l->place;

    if (p->from == PHX__NONE || !phx__link_place_serves(s, l) || !s->ops->ahead(s->ctx, l, p->from, &p->open))
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
    if (open->size > 0 && !phx__buf_place_is_open(open)) { /* overtaken: the rest is thrown away */
        long n = phx__link_place_recv(s, l, s->scratch, PHX__MIN(open->size - open->got, s->scratch_size));
        if (n > 0)
            (void)place_fill(s, l, (size_t)n);
        return n < 0 ? (int)n : 0;
    }
    block = phx__buf_block_hold(open->block);
    err = place_read_on(s, l, left, out);
    phx__buf_block_drop(block); /* before another large message begins, and wants one like it */
    return err;
}
