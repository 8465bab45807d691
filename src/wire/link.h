/* link.h - frames between neighbours and about nodes: handshake, heartbeat, suspicion, probes, traces. */
#ifndef PHX_WIRE_LINK_H
#define PHX_WIRE_LINK_H
#include "wire/wire.h"

#define PHX__WIRE_MAGIC 0x31584850u /* "PHX1" */
#define PHX__WIRE_VERSION 2u
#define PHX__NONCE 16
#define PHX__MAC 32

#define PHX__PADDED 1u /* frame flag of HELLO and ANSWER: PHX__PAD zeros at the end */
#define PHX__FEATURE_RTT 1u /* in HELLO and ANSWER: entries may come with round trip times */
#define PHX__FEATURE_QUIET 2u /* .. if both say so first heartbeats come within PHX__DETECT_QUIET_US */
struct phx__hello {
    uint32_t magic;
    uint16_t version_min, version_max;
    uint8_t cluster[8]; /* first bytes of SHA-256 of the cluster's name: a quick no, not a proof */
    uint32_t features;  /* PHX__FEATURE_*; unknown bits are ignored */
    struct phx_id id;
    uint64_t incarnation;
    uint8_t nonce[PHX__NONCE];
};
/* What a side says of itself just now in ANSWER or PROOF. */
struct phx__standing {
    uint32_t seq, card_version;
    uint32_t have; /* mark of the other's card that it has; 0: none */
    uint32_t features; /* PHX__FEATURE_*, as in HELLO or ANSWER before it */
};
struct phx__answer {
    uint16_t version; /* the one both speak */
    uint32_t features;
    struct phx_id id;
    uint64_t incarnation;
    uint8_t nonce[PHX__NONCE];
    struct phx__standing own;
    struct phx_address observed; /* where the acceptor sees the dialer */
    uint8_t mac[PHX__MAC];       /* with the acceptor's first key */
    uint8_t mac_other[PHX__MAC]; /* with its second, or random; both last in the body but for the padding */
};
struct phx__proof {
    struct phx__standing own;
    struct phx_address observed; /* what the dialer dialled */
    uint8_t mac[PHX__MAC];       /* last in the body */
};

struct phx__request {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq; /* wanted: this number or above; 0: any route */
};

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
    uint64_t lost;        /* with SHRUNK: the hash of a neighbour lost; 0: of some that are not named */
};

struct phx__suspect {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq; /* the accuser's number for it: a higher one refutes */
    struct phx_id accuser;
};

#define PHX__PROBE_ANSWER 1u /* frame flag: subject is there */
struct phx__probe {
    struct phx_id target; /* where this frame goes */
    struct phx_id subject, asker;
};

/* Names that a node gives away. */
struct phx__hand {
    struct phx_id target, giver;
    uint64_t incarnation; /* the giver's */
    uint64_t first, last;
    uint64_t epoch; /* what the giver claims with a higher one is not meant */
};

/* Which way a message takes. A question and its answer are one frame with two forms, told apart by a flag. */
#define PHX__TRACE_ANSWER 1u /* frame flag: from a node on the way, to the asker */
struct phx__trace {
    struct phx_id target, source; /* of this frame */
    uint64_t key;     /* the asker's, to know its answers by */
    uint8_t number;   /* which node on the way is meant: 1 is a neighbour of the asker */
    uint8_t distance; /* ANSWER: how far it is from there; PHX__UNREACHABLE: no way */
    int why;          /* ANSWER: why it is not linked with the target; 0 or a PHX_E */
};

/* A frame of these types, appended or decoded (0 or PHX_EPROTO). body: the struct of its type, or for a
 * REFUSE an int, the enum phx_error. MACs cover the bodies as sent, see WIRE.md, and are computed by link. */
PHX_PRIVATE void phx__wire_link_put(struct phx__writer *w, int type, int flags, int hops, const void *body);
PHX_PRIVATE int phx__wire_link_get(const struct phx__frame *f, int type, void *body);

#endif
