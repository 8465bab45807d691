/* wire.h - frames: encode and decode, remembers nothing; src/WIRE.md is the specification. */
#ifndef PHX_WIRE_WIRE_H
#define PHX_WIRE_WIRE_H
#include "base/id.h"

#define PHX__WIRE_MAGIC 0x31584850u /* "PHX1" */
#define PHX__WIRE_VERSION 1u
#define PHX__WIRE_HEADER 8u
/* No honest node comes this far: an owner begins a new life before its number passes half of all, and no host
 * may begin with more than half of the incarnations below the bound (phx_new). Whoever says more would have
 * the last word on somebody who could never rise above it. */
#define PHX__SEQ_MAX 0x80000000u
#define PHX__INCARNATION_MAX (((uint64_t)1 << 63) - 1)

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
 * needed (*used: how many bytes the whole frame will have, or 0 if not known yet), PHX_EPROTO if it can
 * never be one. */
PHX_PRIVATE int phx__wire_parse(const uint8_t *data, size_t size, struct phx__frame *f, size_t *used);
/* Begins a frame at the writer's end; the return value goes to phx__wire_end, which fills in the size. */
PHX_PRIVATE size_t phx__wire_begin(struct phx__writer *w, int type, int flags, int hops);
PHX_PRIVATE void phx__wire_end(struct phx__writer *w, size_t start);

#define PHX__NONCE 16
#define PHX__MAC 32

struct phx__hello {
    uint32_t magic;
    uint16_t version_min, version_max;
    uint8_t cluster[8]; /* first bytes of SHA-256 of the cluster's name: a quick no, not a proof */
    uint32_t features;  /* zero for now; unknown bits are ignored */
    struct phx_id id;
    uint64_t incarnation;
    uint8_t nonce[PHX__NONCE];
};
struct phx__answer {
    uint16_t version; /* the one both speak */
    uint32_t features;
    struct phx_id id;
    uint64_t incarnation;
    uint8_t nonce[PHX__NONCE];
    uint32_t seq, card_version;  /* what it says of itself just now */
    uint32_t have;               /* version of the dialer's card that it has; 0: none */
    struct phx_address observed; /* where the acceptor sees the dialer */
    uint8_t mac[PHX__MAC];       /* with the acceptor's first key */
    uint8_t mac_other[PHX__MAC]; /* with its second, or random; both last in the body */
};
struct phx__proof {
    uint32_t seq, card_version, have; /* as in the answer, the other way round */
    struct phx_address observed; /* what the dialer dialled */
    uint8_t mac[PHX__MAC];       /* last in the body */
};
/* Encoders append a whole frame; decoders take a frame's body, 0 or PHX_EPROTO. Trailing bytes are an error.
 * MACs cover the bodies as sent, see WIRE.md, and are computed by link. */
PHX_PRIVATE void phx__wire_put_hello(struct phx__writer *w, const struct phx__hello *h);
PHX_PRIVATE int phx__wire_get_hello(const struct phx__frame *f, struct phx__hello *h);
PHX_PRIVATE void phx__wire_put_answer(struct phx__writer *w, const struct phx__answer *a);
PHX_PRIVATE int phx__wire_get_answer(const struct phx__frame *f, struct phx__answer *a);
PHX_PRIVATE void phx__wire_put_proof(struct phx__writer *w, const struct phx__proof *p);
PHX_PRIVATE int phx__wire_get_proof(const struct phx__frame *f, struct phx__proof *p);
/* reason: an enum phx_error, sent as its positive value in a u16. */
PHX_PRIVATE void phx__wire_put_refuse(struct phx__writer *w, int reason);
PHX_PRIVATE int phx__wire_get_refuse(const struct phx__frame *f, int *reason);

/* What a node says of itself, versioned by its owner; relays pass the bytes on as they are. */
struct phx__claim {
    uint64_t first, last, epoch;
};
#define PHX__CARD_RELAYS 1u
#define PHX__CARD_LEFT 2u
#define PHX__CARD_ADDRESSES 8u
#define PHX__CARD_CLAIMS 100000u
struct phx__card {
    uint8_t flags;   /* PHX__CARD_* */
    uint32_t window; /* credit it gives a sender at first */
    uint8_t address_count;
    struct phx_address address[PHX__CARD_ADDRESSES];
    uint32_t claim_count;
    const uint8_t *claims; /* encoded, 24 bytes each; see phx__wire_claim */
};
PHX_PRIVATE size_t phx__wire_card_size(uint8_t address_count, uint32_t claim_count); /* at most */
PHX_PRIVATE void phx__wire_put_card(struct phx__writer *w, const struct phx__card *head,
                                    const struct phx__claim *claims);
/* 0 or PHX_EPROTO: malformed, too many, a range with first > last, or ranges not ascending and disjoint. */
PHX_PRIVATE int phx__wire_get_card(const uint8_t *data, size_t size, struct phx__card *card);
PHX_PRIVATE void phx__wire_claim(const struct phx__card *card, uint32_t i, struct phx__claim *out);

/* One line of a routing update. */
#define PHX__ENTRY_CARD 1u      /* the card follows in the entry */
#define PHX__ENTRY_CARD_SENT 2u /* the card came just before, in CARD frames */
struct phx__entry {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq;
    uint8_t hops; /* the sender's distance; PHX__UNREACHABLE: none */
    uint8_t flags;
    uint32_t card_version; /* the sender's copy; 0: it has none */
    const uint8_t *card;   /* NULL if not attached */
    uint32_t card_size;
    /* Only with PHX_ROUTING_PAPER: the nodes the sender has sent this entry to; a range of the
     * frame's table of ids. */
    uint16_t trans_first, trans_count;
};
#define PHX__ENTRY_SIZE 34u /* without card, which adds 4 and its bytes; UPDATE_TRANS adds 4 */
/* An UPDATE's body: u16 count of ids, the ids (all zero but in PHX_ROUTING_PAPER), entries to the end. */
struct phx__update {
    struct phx__reader r;
    uint16_t id_count;
    const uint8_t *ids;
};
#define PHX__UPDATE_TRANS 1u /* frame flag: entries carry trans_first and trans_count, u16 each */
PHX_PRIVATE int phx__wire_get_update(const struct phx__frame *f, struct phx__update *u);
/* The next entry: 1, 0 at the end, PHX_EPROTO. */
PHX_PRIVATE int phx__wire_next_entry(struct phx__update *u, int flags, struct phx__entry *e);
/* Appends the body part of one entry; begin the frame and write the id table yourself. */
PHX_PRIVATE void phx__wire_put_entry(struct phx__writer *w, int flags, const struct phx__entry *e);

struct phx__card_part {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t version, total, offset;
    const uint8_t *data;
    uint32_t size;
};
PHX_PRIVATE void phx__wire_put_card_part(struct phx__writer *w, const struct phx__card_part *c);
PHX_PRIVATE int phx__wire_get_card_part(const struct phx__frame *f, struct phx__card_part *c);

struct phx__request {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq; /* wanted: this number or above; 0: any route */
};
PHX_PRIVATE void phx__wire_put_request(struct phx__writer *w, const struct phx__request *q, int hops);
PHX_PRIVATE int phx__wire_get_request(const struct phx__frame *f, struct phx__request *q);

#define PHX__BEAT_REPLY 1u   /* frame flag: answer with a BEAT of yours */
#define PHX__BEAT_MONITOR 2u /* frame flag: you are one of my monitors */
#define PHX__BEAT_BUSY 8u    /* frame flag: do not expect an answer before next_ms is over */
#define PHX__BEAT_SHRUNK 4u  /* frame flag: fewer neighbours than the last BEAT said, or others */
struct phx__beat {
    uint32_t next_ms;     /* I will be heard again within this */
    uint64_t digest;      /* of the sender's routing table */
    uint64_t around;      /* hash of the sender and its neighbours */
    uint32_t around_count;
    uint32_t echo_ms;     /* the sender's clock, low bits; a reply returns it */
};
PHX_PRIVATE void phx__wire_put_beat(struct phx__writer *w, const struct phx__beat *b, int flags);
PHX_PRIVATE int phx__wire_get_beat(const struct phx__frame *f, struct phx__beat *b);

#define PHX__SUMMARY_REPLY 1u /* frame flag: this answers a SUMMARY */
#define PHX__SUMMARY_MORE 2u  /* frame flag: another part follows */
struct phx__summary_line { /* 29 bytes each, to the end of the body */
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq;
    uint8_t hops;
};
PHX_PRIVATE void phx__wire_put_summary_line(struct phx__writer *w, const struct phx__summary_line *s);
/* As next_entry. */
PHX_PRIVATE int phx__wire_next_summary_line(struct phx__reader *r, struct phx__summary_line *s);

/* End to end. */
#define PHX__DATA_FIRST 1u
#define PHX__DATA_LAST 2u
#define PHX__DATA_SEEN 4u    /* with FIRST: `seen` is there */
#define PHX__DATA_RUN 8u     /* with FIRST and LAST: more messages follow, of the same to and from */
#define PHX__DATA_TAGS 16u   /* with RUN: each with its own tag; else all have the first one's */
#define PHX__DATA_SOON 32u   /* somebody waits for the ack */
#define PHX__ACK_GAP 1u      /* ACK frame flag: a later fragment came; send again from next */
#define PHX__ACK_RETURNS 2u  /* ACK frame flag: messages that come back to their source */
#define PHX__ACK_SEEN 4u     /* ACK frame flag: `seen` and `seen_epoch` are there */
#define PHX__DATA_HEAD 56u   /* frame header included */
#define PHX__DATA_FIRST_HEAD 88u
#define PHX__DATA_HEAD_MOST 92u /* with FIRST and SEEN */
#define PHX__DATA_TARGET 8u  /* offset of the target's id in the frame, in DATA and ACK alike */
#define PHX__DATA_HOPS 6u    /* offset of the hop byte */
struct phx__data {
    struct phx_id target, source;
    uint64_t number; /* of this fragment, in the flow from source to target, from 0 */
    uint64_t epoch;  /* of the flow; a higher one starts over */
    uint64_t to, from, tag, total; /* with FIRST only; total: bytes of the whole message */
    uint32_t seen; /* with FIRST and SEEN: returns of this flow the source had taken in, not 0 */
    uint32_t more; /* with RUN: messages in the payload behind the first `total` bytes of it */
    const uint8_t *payload;
    size_t size;
};
/* Writes the head of a DATA frame with `size` bytes of payload to follow: PHX__DATA_HEAD or
 * PHX__DATA_FIRST_HEAD bytes, and 4 more with SEEN. */
PHX_PRIVATE void phx__wire_put_data_head(struct phx__writer *w, const struct phx__data *d,
                                         int flags, int hops);
PHX_PRIVATE int phx__wire_get_data(const struct phx__frame *f, struct phx__data *d);
/* The same of a frame of which only the first size bytes are here: how long its head is, or 0 if not all of
 * that is here, or it is not a sound DATA frame. *whole: of all of it. d->payload is NULL. */
PHX_PRIVATE size_t phx__wire_data_front(const uint8_t *p, size_t size, struct phx__data *d,
                                        int *flags, size_t *whole);
/* Is it a run with at least one message behind the first, and all of them whole? Counts them in d->more. */
PHX_PRIVATE int phx__wire_count_run(struct phx__data *d, int flags);
/* A message behind another in a run: so many bytes before its own. */
PHX_PRIVATE size_t phx__wire_more_head(int flags);
PHX_PRIVATE void phx__wire_put_more(struct phx__writer *w, int flags, uint64_t tag, size_t size);
/* Its bytes, if it begins at `at` in a run that was counted; *tag only with TAGS. */
PHX_PRIVATE const uint8_t *phx__wire_more(const uint8_t *at, int flags, uint64_t *tag,
                                          size_t *size);
PHX_PRIVATE int phx__wire_flags(const uint8_t *frame);
/* The DATA frame at `frame` has `size` bytes now, header included, and perhaps other flags. */
PHX_PRIVATE void phx__wire_stretch(uint8_t *frame, int flags, size_t size);

/* A CAST stands for `count` DATA frames. Each has a line of its own: target, number, epoch, and with
 * FIRST to and seen (here 0 is said); the rest they have in common. */
#define PHX__CAST_FRAGMENT 32768u /* of payload at most, so that hundreds of lines have room */
#define PHX__CAST_LINES 512u
#define PHX__CAST_LINE 44u /* bytes at most */
struct phx__wire_cast {
    uint32_t count;
    const uint8_t *lines; /* encoded */
    struct phx_id source;
    uint64_t from, tag, total; /* with FIRST only */
    const uint8_t *payload;
    size_t size;
};
PHX_PRIVATE int phx__wire_get_cast(const struct phx__frame *f, struct phx__wire_cast *c);
/* What line i stands for; *flags are those of the DATA frame. */
PHX_PRIVATE void phx__wire_cast_line(const struct phx__wire_cast *c, const struct phx__frame *f,
                                     uint32_t i, struct phx__data *d, int *flags);
/* Begin with the number of lines, put as many, and end with what is common; d->size bytes of payload
 * follow. */
PHX_PRIVATE size_t phx__wire_begin_cast(struct phx__writer *w, int flags, int hops, uint32_t count);
PHX_PRIVATE void phx__wire_put_cast_line(struct phx__writer *w, int flags,
                                         const struct phx__data *d);
PHX_PRIVATE void phx__wire_end_cast(struct phx__writer *w, size_t start, int flags,
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
    uint64_t next;   /* all fragments below it were taken */
    uint32_t window; /* bytes that may be under way */
    /* The returns after the first return_base ones of this flow, oldest first; encoded. */
    const uint8_t *returns;
    uint32_t return_base;
    uint16_t return_count; /* 0: no such part */
    uint32_t seen;         /* how many returns of the opposite flow came; 0: no such part */
    uint64_t seen_epoch;   /* that flow's */
};
PHX_PRIVATE void phx__wire_put_ack(struct phx__writer *w, const struct phx__ack *a, int hops);
PHX_PRIVATE int phx__wire_get_ack(const struct phx__frame *f, struct phx__ack *a);
/* Where a message was turned back, and with it, unless it was too large, what follows it in a run. */
struct phx__return {
    uint64_t number; /* of the fragment */
    uint16_t place;  /* of the message in its run, from 0 */
    int reason;      /* enum phx__return_reason */
};
PHX_PRIVATE void phx__wire_put_return(struct phx__writer *w, const struct phx__return *t);
PHX_PRIVATE void phx__wire_return(const struct phx__ack *a, uint32_t i, struct phx__return *t);

/* Failure detection. */
struct phx__suspect {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq; /* the accuser's number for it: a higher one refutes */
    struct phx_id accuser;
};
PHX_PRIVATE void phx__wire_put_suspect(struct phx__writer *w, const struct phx__suspect *s, int hops);
PHX_PRIVATE int phx__wire_get_suspect(const struct phx__frame *f, struct phx__suspect *s);

#define PHX__PROBE_ANSWER 1u /* frame flag: subject is there */
struct phx__probe {
    struct phx_id target; /* where this frame goes; at PHX__DATA_TARGET, as in DATA */
    struct phx_id subject, asker;
};
PHX_PRIVATE void phx__wire_put_probe(struct phx__writer *w, const struct phx__probe *p, int flags,
                                     int hops);
PHX_PRIVATE int phx__wire_get_probe(const struct phx__frame *f, struct phx__probe *p);

/* Names that a node gives away. */
struct phx__hand {
    struct phx_id target, giver; /* target at PHX__DATA_TARGET, as in DATA */
    uint64_t incarnation;        /* the giver's */
    uint64_t first, last;
    uint64_t epoch; /* what the giver claims with a higher one is not meant */
};
PHX_PRIVATE void phx__wire_put_hand(struct phx__writer *w, const struct phx__hand *h, int hops);
PHX_PRIVATE int phx__wire_get_hand(const struct phx__frame *f, struct phx__hand *h);

/* Which way a message takes; in trace.c. */
#define PHX__TRACE_ANSWER 1u /* frame flag: from a node on the way, to the asker */
struct phx__trace {
    struct phx_id target, source; /* of this frame; target at PHX__DATA_TARGET, as in DATA */
    uint64_t key;                 /* the asker's, to know its answers by */
    uint8_t number;               /* which node on the way is meant: 1 is a neighbour of the asker */
    uint8_t distance;             /* ANSWER: how far it is from there; PHX__UNREACHABLE: no way */
    int why;                      /* ANSWER: why it is not linked with the target; 0 or a PHX_E */
};
PHX_PRIVATE void phx__wire_put_trace(struct phx__writer *w, const struct phx__trace *t, int flags,
                                     int hops);
PHX_PRIVATE int phx__wire_get_trace(const struct phx__frame *f, struct phx__trace *t);

#endif
