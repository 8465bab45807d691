/* data.h - frames of messages: DATA, runs of small messages, CAST and ACK. */
#ifndef PHX_WIRE_DATA_H
#define PHX_WIRE_DATA_H
#include "wire/wire.h"

#define PHX__DATA_FIRST 1u
#define PHX__DATA_LAST 2u
#define PHX__DATA_SEEN 4u    /* with FIRST: `seen` is there */
#define PHX__DATA_RUN 8u     /* with FIRST and LAST: more messages follow, of the same from */
#define PHX__DATA_TAGS 16u   /* with RUN: each with its own tag; else all have the first one's */
#define PHX__DATA_NAMES 64u  /* with RUN: each with its own name; else all are for the first one's */
#define PHX__DATA_RUNS (PHX__DATA_RUN | PHX__DATA_TAGS | PHX__DATA_NAMES)
#define PHX__DATA_SOON 32u   /* somebody waits for the ack */
#define PHX__ACK_GAP 1u      /* ACK frame flag: a later fragment came; send again from next */
#define PHX__ACK_RETURNS 2u  /* ACK frame flag: messages that come back to their source */
#define PHX__ACK_SEEN 4u     /* ACK frame flag: `seen` and `seen_epoch` are there */
#define PHX__ACK_ASK 8u      /* ACK frame flag: `ask` is there */
#define PHX__ACK_TELL 16u    /* ACK frame flag: `tell` and what it tells are there */
#define PHX__DATA_HEAD 56u   /* frame header included */
#define PHX__DATA_FIRST_HEAD 88u
#define PHX__DATA_HEAD_MOST 92u /* with FIRST and SEEN */
struct phx__data {
    struct phx_id target, source;
    uint64_t number; /* of this fragment, in the flow from source to target, from 0 */
    uint64_t epoch;  /* of the flow, random; another one starts over */
    uint64_t to, from, tag, total; /* with FIRST only; total: bytes of the whole message */
    uint32_t seen; /* with FIRST and SEEN: returns of this flow the source had received, not 0 */
    uint32_t more; /* with RUN: messages in the payload behind the first `total` bytes of it */
    const uint8_t *payload;
    size_t size;
};
/* The head of a DATA frame with d->size bytes to follow: PHX__DATA_HEAD or _FIRST_HEAD, 4 more with SEEN. */
PHX_PRIVATE void phx__wire_data_put(struct phx__writer *w, const struct phx__data *d, int flags, int hops);
PHX_PRIVATE int phx__wire_data_get(const struct phx__frame *f, struct phx__data *d);
/* Decodes the head of a frame of which only the first size bytes are here: the head's size, or 0 if not all
 * of it is here or it is not a sound DATA frame. d->payload is NULL. */
PHX_PRIVATE size_t phx__wire_data_front(const uint8_t *p, size_t size, struct phx__data *d, int *flags);
/* Runs. Before each message behind the first stand its size and perhaps its name and tag: how many bytes. */
PHX_PRIVATE size_t phx__wire_data_more_head(int flags);
/* Puts them where there is room for as many bytes: where the message's own go. */
PHX_PRIVATE uint8_t *phx__wire_data_put_more(uint8_t *at, int flags, uint64_t to, uint64_t tag, size_t size);
/* The bytes of the message that begins at `at` in a run that was decoded; *to and *tag are set only with
 * NAMES and TAGS. */
PHX_PRIVATE const uint8_t *phx__wire_data_more(const uint8_t *at, int flags, uint64_t *to, uint64_t *tag,
                                               size_t *size);
/* The DATA frame at `frame` has `size` bytes now, header included. */
PHX_PRIVATE void phx__wire_data_stretch(uint8_t *frame, size_t size);

/* A CAST stands for `count` DATA frames. Each has a line of its own: target, number, epoch, and with FIRST to
 * and seen (here 0 is said); the rest they have in common. */
#define PHX__CAST_FRAGMENT 32768u /* of payload at most, so that hundreds of lines have room */
#define PHX__CAST_LINES 512u
#define PHX__CAST_LINE 44u /* bytes at most */
struct phx__wire_cast {
    uint32_t count;
    const uint8_t *lines; /* encoded */
    struct phx__data common; /* source, payload and size; with FIRST from, tag and total; the rest is 0 */
};
PHX_PRIVATE int phx__wire_data_get_cast(const struct phx__frame *f, struct phx__wire_cast *c);
/* What line i stands for; *flags are those of the DATA frame. */
PHX_PRIVATE void phx__wire_data_cast_line(const struct phx__wire_cast *c, const struct phx__frame *f,
                                          uint32_t i, struct phx__data *d, int *flags);
/* Begin with the number of lines, put as many, and end with what is common; d->size bytes follow. */
PHX_PRIVATE size_t phx__wire_data_begin_cast(struct phx__writer *w, int flags, int hops, uint32_t count);
PHX_PRIVATE void phx__wire_data_put_cast_line(struct phx__writer *w, int flags, const struct phx__data *d);
PHX_PRIVATE void phx__wire_data_end_cast(struct phx__writer *w, size_t start, int flags,
                                         const struct phx__data *d);

/* Why a message comes back. */
enum phx__return_reason {
    PHX__RETURN_MOVED = 1, /* its name is not here */
    PHX__RETURN_LARGE,     /* it is above the target's max_message */
    PHX__RETURN_AGAIN      /* send it again: an older one came back, or its beginning was lost */
};
#define PHX__RETURNS 512u    /* unconfirmed ones of a flow */
#define PHX__RETURN_SIZE 11u /* bytes of one */
struct phx__ack {
    struct phx_id target, source; /* target: whom the ack goes to */
    uint64_t epoch;
    uint64_t next;   /* all fragments below it were received */
    uint32_t window; /* bytes that may be under way */
    /* The returns after the first return_base ones of this flow, oldest first; encoded. */
    const uint8_t *returns;
    uint32_t return_base;
    uint16_t return_count; /* 0: no such part */
    uint32_t seen;         /* how many returns of the opposite flow came; 0: no such part */
    uint64_t seen_epoch;   /* that flow's */
    uint64_t ask; /* not 0: the target shall tell its flow to the source, by this key */
    uint64_t tell, tell_epoch, tell_next; /* tell not 0: that key, the flow, the first not acknowledged ... */
    uint32_t tell_seen;                   /* ... and how many returns of it came */
};
/* flags: PHX__ACK_GAP or none; the others follow from *a. */
PHX_PRIVATE void phx__wire_data_put_ack(struct phx__writer *w, const struct phx__ack *a, int flags, int hops);
PHX_PRIVATE int phx__wire_data_get_ack(const struct phx__frame *f, struct phx__ack *a);
/* Where a message was turned back, and with it, unless it was too large, what follows it in a run. */
struct phx__return {
    uint64_t number; /* of the fragment */
    uint16_t place;  /* of the message in its run, from 0 */
    int reason;      /* enum phx__return_reason */
};
PHX_PRIVATE void phx__wire_data_put_return(struct phx__writer *w, const struct phx__return *t);
PHX_PRIVATE void phx__wire_data_return(const struct phx__ack *a, uint32_t i, struct phx__return *t);

#endif
