/* place.c - a payload that is received straight into the message it belongs to. */

/* A message of many fragments is put together in one block. Read in the ordinary way each of its bytes is
 * copied from the shared scratch to there. Read in place it is not: once the front of a frame is here it
 * is known where its payload goes, and the socket is asked to put it there.
 *
 * Fragments stand one behind the other in the message, but on the wire there is a head before each.
 * One read for each would be many small ones, and that costs more than the copy it saves. So the
 * read is spread over what the rest of the message looks like if nothing comes between its
 * fragments, which is how a large message leaves its sender:
 *
 *      on the wire   ..payload 4][head][payload 5       ][head][payload 6   ][next message ..
 *      iov[0]           |           |   |                   |     |              |
 *      block         ...[payload 4 ][payload 5             ][payload 6    ]      |
 *      heads                        [5]                    [6]                   |
 *      scratch                                                              [tail]
 *
 * Each head is looked at when it is here, before anything else happens. If it is not the one that was
 * expected (an ack in between, another message) the bytes from there on are not lost: they are gathered in
 * a buffer, as if they had been read there. The block beyond what has been taken may then hold
 * nonsense, over which the right bytes will come. How far the guess goes is up to the link
 * (place.c), which learns from what comes.
 *
 * Measured 2026-11 on loopback, both ends' CPU for 1 GB in messages of 1 MiB (medians of 21 interleaved
 * rounds, others on the machine): copy from a scratch of 256 KiB 394 ms, of 1 MiB 363; in place with
 * reads up to 256 KiB 379, 512 KiB 348, 1 MiB 295. One exact read for each fragment of 64 KiB, and one for
 * each head: 422 (7 rounds, copy then 354).
 *
 * Two paths may bring the same fragment, so a place can be overtaken. The block's `used` says how much of
 * the message has been taken, and becomes its capacity when the message is over: a place is open as long
 * as it begins just there. And as long as one link has an open place no other guesses at that fragment
 * (phx__post_recv_ahead): a wrong guess would spoil what is there. */
#include "wire/place.h"

/* Behind the end of a message: the front of what comes next. What of it is the beginning of another large one
 * has to be copied, so it is little; a few small frames are taken along. */
#define PLACE_TAIL 4096u

int phx__wire_place_is_open(const struct phx__place *p)
{
    return p->block->used == p->at;
}

void phx__wire_place_drop(struct phx__place *p)
{
    phx__buf_block_drop(p->block);
    memset(p, 0, sizeof *p);
}

static void place_add(struct phx__spread *s, uint8_t *to, size_t size)
{
    s->iov[s->iov_count].iov_base = to;
    s->iov[s->iov_count++].iov_len = size;
    s->total += size;
}

void phx__wire_place_spread(const struct phx__place *p, uint32_t most, uint8_t *scratch,
                       size_t scratch_size, struct phx__spread *s)
{
    size_t at = p->at + p->size, left = p->block->capacity - at, size;

    PHX_ASSERT((p->got < p->size || p->size == 0) && at <= p->block->capacity);
    s->iov_count = 0;
    s->count = 0;
    s->total = 0;
    if (p->size > 0)
        place_add(s, p->block->data + p->at + p->got, p->size - p->got);
    s->first = s->iov_count;
    while (left > 0 && s->count < most && s->count < PHX__PLACE_HEADS) {
        size = left < PHX__FRAGMENT ? left : PHX__FRAGMENT;
        place_add(s, s->head[s->count++], PHX__DATA_HEAD);
        place_add(s, p->block->data + at, size);
        at += size;
        left -= size;
    }
    if (most == 0)
        place_add(s, scratch, scratch_size); /* as if nothing were known */
    else if (left == 0)
        place_add(s, scratch, scratch_size < PLACE_TAIL ? scratch_size : PLACE_TAIL);
}

void phx__wire_place_gather(const struct phx__spread *s, uint32_t from, size_t n, uint8_t *to)
{
    int i;

    for (i = s->first + 2 * (int)from; i < s->iov_count && n > 0; i++) {
        size_t size = s->iov[i].iov_len < n ? s->iov[i].iov_len : n;

        memcpy(to, s->iov[i].iov_base, size);
        to += size;
        n -= size;
    }
    PHX_ASSERT(n == 0);
}

#undef PLACE_TAIL
