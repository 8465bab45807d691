/* place.c - large fragments read straight into the message they belong to. */
/*
 * The ordinary way, in link.c, reads into the scratch and keeps the front of a frame whose rest has not
 * come. Here that rest is read to where it belongs (place.c), if somebody knows where: `place` is asked
 * with the front of each large DATA frame whose end is missing. Its head is kept in
 * the link, and the stash is empty meanwhile.
 *
 *      front of a large frame --place--> open --read--> whole --placed--> the next head: as expected?
 *                                         ^ |                               | yes          | no
 *                                         | '--- not yet all of it          | (place)      v
 *                                         '---------------------------------'    gathered, and as usual
 *
 * How far a read may guess beyond the open payload is learnt: right guesses double it, plus one, a wrong
 * one begins at none again, so that a link on which two large messages take turns is read as any other,
 * and one with an ack now and then loses little. After none, what came shows whether a guess would have
 * been right.
 *
 * A place that was overtaken (another link brought the same fragment, or the message is over) is never
 * written to again: the buffer may be the host's and the host may have it back. What still comes of its
 * payload is read and thrown away. It is a duplicate, and if it is not, its flow sends it again.
 */
#include "link/link.h"

/* Frames of this size are worth asking for a place, however little of them is missing: they would be kept
 * in the stash, which is a copy, too, and after them reading goes on in place. */
#define LINK_PLACE_PLACE_LEAST 16384u

static int link_place_may_place(const struct phx__link_set *s, const struct phx__link *l,
                          const uint8_t *p, size_t size)
{
    return s->os->recvv != NULL && l->state == PHX__LINK_UP && l->tls == NULL
           && size >= PHX__DATA_HEAD && p[4] == PHX__DATA;
}

/* Is there a place for the frame whose front stands at p? Then what is here of its payload is put there.
 * Also 1 if the link was closed: the host may have been asked. */
static int link_place_open_place(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                           size_t size)
{
    struct phx__place place;
    size_t head = s->place(s->ctx, l, p, size, &place);

    if (head > 0 && l->state == PHX__LINK_CLOSED)
        phx__wire_place_drop(&place);
    if (head == 0 || l->state == PHX__LINK_CLOSED)
        return l->state == PHX__LINK_CLOSED;
    PHX_ASSERT(head <= sizeof l->head);
    memcpy(l->head, p, head);
    l->head_size = (uint8_t)head;
    place.got = size - head < place.size ? size - head : place.size;
    memcpy(place.block->data + place.at, p + head, place.got);
    l->place = place;
    return 1;
}

/* A fragment of a large message begins at `from` in all that came on the link. If nothing but fragments of
 * that message has come since the last look a guess would have been right. */
static void link_place_learn(struct phx__link *l, uint64_t from)
{
    size_t size = l->place.at - l->guess_at;

    if (l->place.at > l->guess_at
        && from - l->guess_from == size + (size / PHX__FRAGMENT) * PHX__DATA_HEAD)
        l->guess = 2 * l->guess + 1 < PHX__PLACE_HEADS ? 2 * l->guess + 1 : PHX__PLACE_HEADS;
}

int phx__link_place(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size,
                    size_t whole)
{
    if (whole < LINK_PLACE_PLACE_LEAST || !link_place_may_place(s, l, p, size)
        || !link_place_open_place(s, l, p, size))
        return 0;
    if (l->state != PHX__LINK_CLOSED)
        link_place_learn(l, l->bytes_in - size);
    return 1;
}

/* The payload is all here, and `behind` bytes that came after it. */
static void link_place_placed(struct phx__link_set *s, struct phx__link *l, size_t behind)
{
    struct phx__place place = l->place;

    PHX_ASSERT(place.got == place.size);
    memset(&l->place, 0, sizeof l->place);
    l->guess_at = place.at + place.size;
    l->guess_from = l->bytes_in - behind;
    s->frames_in++;
    s->placed(s->ctx, l, l->head, l->head_size,
              phx__wire_place_is_open(&place) ? place.block->data + place.at : NULL);
    phx__wire_place_drop(&place);
}

/* The next head is here. Is it the one that was guessed, with the payload at `at`? */
static int link_place_is_right(struct phx__link_set *s, struct phx__link *l, const uint8_t *head,
                         const uint8_t *at, size_t size)
{
    if (!link_place_may_place(s, l, head, PHX__DATA_HEAD) || !link_place_open_place(s, l, head, PHX__DATA_HEAD))
        return 0;
    if (l->state == PHX__LINK_CLOSED
        || (l->place.size == size && l->place.block->data + l->place.at == at))
        return 1;
    phx__wire_place_drop(&l->place); /* a place, but another one */
    return 0;
}

/* n bytes of the guess have come behind a payload that is whole. *from: those that are no fragments in place
 * begin there; returns how many they are. */
static size_t link_place_guessed(struct phx__link_set *s, struct phx__link *l,
                           const struct phx__spread *r, size_t n, uint32_t *from)
{
    uint32_t i;
    int right = 1;

    for (i = 0; i < r->count && n >= PHX__DATA_HEAD; i++) {
        const struct iovec *payload = &r->iov[(uint32_t)r->first + 2 * i + 1];

        right = link_place_is_right(s, l, r->head[i], payload->iov_base, payload->iov_len);
        if (l->state == PHX__LINK_CLOSED)
            return 0;
        if (!right)
            break;
        n -= PHX__DATA_HEAD;
        l->place.got = n < payload->iov_len ? n : payload->iov_len;
        n -= l->place.got;
        if (l->place.got < l->place.size)
            return 0;
        link_place_placed(s, l, n);
        if (l->state == PHX__LINK_CLOSED)
            return 0;
    }
    if (!right)
        l->guess = 0;
    *from = i;
    return n;
}

/* The rest of a payload that nobody wants any more. */
static int link_place_throw_away(struct phx__link_set *s, struct phx__link *l)
{
    size_t room = l->place.size - l->place.got;
    long n;

    if (room > s->scratch_size)
        room = s->scratch_size;
    s->os_calls++;
    n = s->os->recv(s->os->world, l->handle, s->scratch, room);
    l->more = n > 0 && (size_t)n == room;
    if (n <= 0)
        return n == 0 ? PHX_ERESET : n == PHX_EAGAIN ? 0 : (int)n;
    phx__link_count_in(s, l, (size_t)n);
    l->place.got += (size_t)n;
    if (l->place.got == l->place.size)
        link_place_placed(s, l, 0);
    return 0;
}

/* Bytes that were to be fragments in place, and are not. */
static int link_place_gathered(struct phx__link_set *s, const struct phx__spread *r, uint32_t from, size_t n,
                         struct phx__block **out)
{
    *out = phx__buf_block_new(s->mem, n);
    if (*out == NULL)
        return PHX_ENOMEM;
    phx__wire_place_gather(r, from, n, (*out)->data);
    return 0;
}

/* If a guess is wrong, what came is gathered, in a block that may be an eighth larger. Near the limit there
 * may be no room for that, and the link would be closed for it, and the next one: then nothing is guessed. */
static uint32_t link_place_affords(const struct phx__link_set *s, uint32_t guess)
{
    size_t size = (guess + 1) * (size_t)PHX__FRAME_MAX;

    return phx__mem_has_room(s->mem, size + size / 8) ? guess : 0;
}

/* Reads on in place, and beyond. An empty place is no frame's, and only says where guesses begin. *left bytes
 * are left to be looked at: in the scratch, or in *out. The caller holds the block of the message, which
 * may be over before. */
static int link_place_read_guess(struct phx__link_set *s, struct phx__link *l, size_t *left,
                           struct phx__block **out)
{
    struct phx__spread r;
    uint32_t from = 0;
    size_t rest = l->place.size - l->place.got, n;
    uint32_t most = link_place_affords(s, l->guess);
    long got;

    phx__wire_place_spread(&l->place, most, s->scratch, s->scratch_size, &r);
    if (rest == 0)
        phx__wire_place_drop(&l->place);
    s->os_calls++;
    got = s->os->recvv(s->os->world, l->handle, r.iov, r.iov_count);
    l->more = got > 0 && (size_t)got == r.total;
    if (got <= 0)
        return got == 0 ? PHX_ERESET : got == PHX_EAGAIN ? 0 : (int)got;
    n = (size_t)got;
    phx__link_count_in(s, l, n);
    if (rest > 0)
        l->place.got += n < rest ? n : rest;
    if (n < rest)
        return 0;
    if (rest > 0)
        link_place_placed(s, l, n - rest);
    if (n > rest && l->state != PHX__LINK_CLOSED)
        *left = link_place_guessed(s, l, &r, n - rest, &from);
    return *left > 0 && from < r.count ? link_place_gathered(s, &r, from, *left, out) : 0;
}

/* At the end of a whole frame: will the next fragment of a large message come now? The place stays empty.
 * Over TLS what comes is records, not frames. */
static int link_place_expects(struct phx__link_set *s, struct phx__link *l)
{
    if (l->from == PHX__NONE || s->os->recvv == NULL || l->state != PHX__LINK_UP || l->tls != NULL
        || !s->ahead(s->ctx, l, l->from, &l->place))
        return 0;
    link_place_learn(l, l->bytes_in);
    l->guess_at = l->place.at;
    l->guess_from = l->bytes_in;
    if (l->guess == 0)
        phx__wire_place_drop(&l->place);
    return l->guess > 0;
}

int phx__link_place_read_on(struct phx__link_set *s, struct phx__link *l, int *done)
{
    struct phx__block *block, *gathered = NULL;
    size_t left = 0;
    int err;

    *done = l->place.block != NULL || (l->stash_size == 0 && link_place_expects(s, l));
    if (!*done)
        return 0;
    if (l->place.size > 0 && !phx__wire_place_is_open(&l->place))
        return link_place_throw_away(s, l);
    block = phx__buf_block_hold(l->place.block);
    err = link_place_read_guess(s, l, &left, &gathered);
    phx__buf_block_drop(block); /* before another large message begins, and wants one like it */
    if (err == 0 && left > 0)
        err = phx__link_frames(s, l, gathered != NULL ? gathered->data : s->scratch, left);
    phx__buf_block_drop(gathered);
    return err;
}

#undef LINK_PLACE_PLACE_LEAST
