/* wire.h - what all frames have in common: the header, its reader and its writer. */
#ifndef PHX_WIRE_WIRE_H
#define PHX_WIRE_WIRE_H
#include "base/addr.h"
#include "base/id.h"

#include <stddef.h>

#define PHX__WIRE_HEADER 8u
/* The size field, which does not count itself. */
#define PHX__WIRE_FIELD 4u
/* Where flags and hop count stand in each frame, and the target's id in those that go from end to end. */
#define PHX__DATA_FLAGS 5u
#define PHX__DATA_HOPS 6u
#define PHX__DATA_TARGET 8u
/* No honest node comes this far: an owner begins a new life before its number passes half of all, and phx_new
 * takes no incarnation above half of this bound. A peer that could say more about somebody would have the
 * last word, since its victim could not rise above it. */
#define PHX__SEQ_MAX 0x80000000u
#define PHX__INCARNATION_MAX (((uint64_t)1 << 63) - 1)
PHX_PRIVATE int phx__wire_is_honest(uint64_t incarnation, uint32_t seq); /* neither is beyond its bound */

/* Every frame: u32 size of what follows this field, u8 type, u8 flags, u8 hops, u8 zero, body. hops is the
 * number of links the frame may still cross; 0 in frames that stay on their link. */
enum phx__frame_type {
    PHX__HELLO = 1, /* dialer: who I am, my nonce */
    PHX__ANSWER,    /* acceptor: who I am, my nonce, and proof that I have the key */
    PHX__PROOF,     /* dialer: proof that I have it too; the link is up on both sides */
    PHX__REFUSE,    /* either: why I close now */
    PHX__UPDATE,    /* routing entries */
    PHX__CARD,      /* part of a card too large for an UPDATE */
    PHX__REQUEST,   /* routing: a newer number for this node, please */
    PHX__BEAT,      /* heartbeat, digest of the table, hash of the neighbourhood */
    PHX__SUMMARY,   /* routing: all I know, in short, after digests disagreed */
    PHX__DATA,      /* a fragment of a message, end to end */
    PHX__ACK,       /* end to end: what arrived, and credit */
    PHX__SUSPECT,   /* to all: this node is silent */
    PHX__PROBE,     /* end to end: are you there, perhaps through a third node */
    PHX__CAST,      /* the same fragment of a message to many nodes: DATA for each, payload once */
    PHX__HAND,      /* end to end: these names of mine are to be yours */
    PHX__TRACE,     /* end to end: who is the n-th node on the way to the target */
#ifdef PHX_PAPER
    PHX__PAPER, /* see test/sim/paper.h */
#endif
    PHX__FRAME_TYPES
};

struct phx__frame {
    uint8_t type, flags, hops;
    const uint8_t *body;
    size_t size;
};

/* Looks at the front of size bytes: 1 and *f if a whole frame is there (*used bytes long), 0 if more is
 * needed (*used: how many bytes the whole frame will have, or 0 if not known yet), PHX_EPROTO if no frame can
 * begin with these bytes. */
PHX_PRIVATE int phx__wire_parse(const uint8_t *data, size_t size, struct phx__frame *f, size_t *used);

/* Begins a frame at the writer's end; the return value goes to phx__wire_end, which fills in the size. */
PHX_PRIVATE size_t phx__wire_begin(struct phx__writer *w, int type, int flags, int hops);
#define phx__wire_end(w, start) phx__wire_end_head(w, start, 0)
/* The same if `more` bytes of the frame follow from a block of their own. */
PHX_PRIVATE void phx__wire_end_head(struct phx__writer *w, size_t start, size_t more);

/* Frames of fixed size are tables of fields: place in the struct, and size as a number or as plain bytes; an
 * address has neither. An error is an int, sent as its positive value in a u16. */
struct phx__field {
    uint16_t at;
    uint8_t number, bytes;
};
#define PHX__ERROR 3u /* as a number */
#define PHX__ZEROS 5u /* as a number: PHX__PAD bytes, which no struct has */
#define PHX__PAD 1532u /* with the HELLO or ANSWER before it, it fills a packet of an Ethernet and more */
#define PHX__NUMBER(type, member) { offsetof(struct type, member), sizeof(((struct type *)0)->member), 0 }
#define PHX__BYTES(type, member) { offsetof(struct type, member), 0, sizeof(((struct type *)0)->member) }
#define PHX__ADDRESS(type, member) { offsetof(struct type, member), 0, 0 }
#define PHX__TABLE(fields) fields, PHX__COUNT(fields)
PHX_PRIVATE void phx__wire_put_fields(struct phx__writer *w, const struct phx__field *f, size_t count,
                                      const void *from);
PHX_PRIVATE void phx__wire_get_fields(struct phx__reader *r, const struct phx__field *f, size_t count,
                                      void *to);

/* A decoder begins with open: 0 and a reader over the body, or PHX_EPROTO if the frame has another type. It
 * ends with close: 0, or PHX_EPROTO if bytes were missing or are left over. */
PHX_PRIVATE int phx__wire_open(const struct phx__frame *f, int type, struct phx__reader *r);
PHX_PRIVATE int phx__wire_close(const struct phx__reader *r);

#endif
