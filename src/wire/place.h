/* place.h - a payload that is received straight into the message it belongs to. */
#ifndef PHX_WIRE_PLACE_H
#define PHX_WIRE_PLACE_H
#include "wire/wire.h"

/* Where the payload of one DATA frame goes whose end has not come yet. */
struct phx__place {
    struct phx__block *block; /* of the message, all of it; held. NULL: no such frame */
    size_t at;                /* the payload's place in it */
    size_t size, got;         /* of the payload, and of what is here already */
};
/* May it be written to? Not if the message went on without it, or is over. */
PHX_PRIVATE int phx__wire_place_is_open(const struct phx__place *p);
PHX_PRIVATE void phx__wire_place_drop(struct phx__place *p);

/* One read for the rest of a payload and for what probably follows: more fragments of the message. */
#define PHX__PLACE_HEADS 15u /* then a read brings a megabyte */
struct phx__spread {
    uint8_t head[PHX__PLACE_HEADS][PHX__DATA_HEAD];
    struct iovec iov[2 * PHX__PLACE_HEADS + 2];
    int iov_count, first; /* first: where fragments beyond the open one begin */
    uint32_t count; /* fragments beyond the first */
    size_t total; /* bytes that may come */
};
/* Lays the read out, for at most `most` fragments beyond the first. What comes behind the message comes into
 * the scratch. */
PHX_PRIVATE void phx__wire_place_spread(const struct phx__place *p, uint32_t most, uint8_t *scratch,
                                   size_t scratch_size, struct phx__spread *s);
/* The guess was wrong from fragment `from` on: copies the n bytes that came there and behind, in the order in
 * which they came. */
PHX_PRIVATE void phx__wire_place_gather(const struct phx__spread *s, uint32_t from, size_t n,
                                   uint8_t *to);

#endif
