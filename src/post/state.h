/* state.h - what the files of this room share: struct phx__post, its peers, its ops. */
#ifndef PHX_POST_STATE_H
#define PHX_POST_STATE_H
#include "base/timer.h"
#include "post/returns.h"
#include "post/store.h"

struct phx__post_limits {
    size_t max_message, window, hold_bytes;
    int hop_limit;
    int relay;           /* forward for others */
};

struct phx__post_ops {
    phx *ctx;
    const uint64_t *now; /* the caller's clock, which stands still during a call */
    /* The owner of the name: a node that has not failed, PHX__SELF, or PHX__NONE. */
    uint32_t (*owner)(phx *ctx, uint64_t name);
    /* Changes whenever an answer of `owner` may change for another reason than a node's failure. */
    const uint64_t *version;
    /* The neighbour towards node, or PHX__NONE. With *generation, its link's, it names a TCP stream. */
    uint32_t (*next)(phx *ctx, uint32_t node, uint32_t *generation);
    /* Sends an ACK as a control frame towards `node`. 0, or an error: try later. */
    int (*ack)(phx *ctx, uint32_t node, const struct phx__ack *a, int gap);
    int (*random)(phx *ctx, void *out, size_t size); /* 0, or an error */
    /* To the application. `message` may call back into post: send, cancel. */
    void (*message)(phx *ctx, const struct phx_message *m);
    void (*done)(phx *ctx, uint64_t token, uint64_t to, uint64_t tag, int result);
    void (*writable)(phx *ctx, uint64_t name);
    /* When this call is over there is something to pull for links of this neighbour. */
    void (*wants)(phx *ctx, uint32_t nbr);
    /* As owner; *last: the last name up to which the answer is the same. 0 or PHX_ENOMEM. */
    int (*segment)(phx *ctx, uint64_t name, uint32_t *owner, uint64_t *last);
    /* The outcome for one member of a multicast; `left` outcomes follow. */
    void (*member)(phx *ctx, uint64_t token, uint64_t to, int result, size_t left);
    /* May be NULL, both. A message of several fragments begins (m->data is NULL): returns the application's
     * memory for it, or NULL. `message` gives it back, or `abandon`, in phx__post_run or phx__post_free. */
    void *(*begin)(phx *ctx, const struct phx_message *m);
    void (*abandon)(phx *ctx, void *buffer, size_t size);
    /* So many messages without a token were lost since the last call, the last one to this name, because. */
    void (*lost)(phx *ctx, uint32_t count, uint64_t to, int result);
    /* How often the application may be called before this is asked again; 0: not in this step, of which
     * `share` is how much may have gone by, in quarters: see enum phx__post_share. */
    uint32_t (*calls)(phx *ctx, int share);
    /* Does that link of the neighbour still stand, and lead to node? */
    int (*leads)(phx *ctx, uint32_t node, uint32_t nbr, uint32_t generation);
    /* The first part of the range that the node has: 1 and *out, 0, or PHX_ENOMEM. */
    int (*held)(phx *ctx, uint32_t node, const struct phx_range *range, struct phx_range *out);
    /* A message waits because nobody holds its name. */
    void (*unheld)(phx *ctx, uint64_t name);
    uint32_t (*window)(phx *ctx, uint32_t node); /* as announced; 0: not yet */
};

/* Something to pull from: the own flow to a node, or the transit queue for it. In at most one circle. */
struct phx__post_source {
    struct phx__post_source *prev, *next; /* NULL: in none */
    struct phx__post_peer *peer;
    uint32_t nbr; /* whose circle */
    size_t served; /* of its quantum */
};

/* The acks that we send to a peer. */
struct phx__post_owed {
    struct phx__ring link; /* in phx__post.acks: now */
    int owed, gap;         /* an ack; one that reports a gap */
    int stuck;             /* what came last could not be taken */
    int hurry;             /* the peer's application waits for an outcome */
    int confirm;           /* says how many of the peer's returns came */
    int ask;               /* asks for the peer's flow ... */
    uint64_t ask_from;     /* ... and when it may again */
    uint64_t tell;         /* tells ours, by this key; 0: no */
    uint64_t at, last_at;
    size_t bytes;          /* taken since the last ack */
    uint32_t frames;
    uint64_t gap_next; /* in.next when a gap was reported last ... */
    uint64_t gap_from; /* ... and when it may be again */
};

/* Frames in transit to a peer. */
struct phx__post_transit {
    struct phx__post_source source;
    struct phx__slices queue;
    uint32_t frames;
    struct phx__block *tail;
};

/* Mailboxes whose owner a peer is. */
struct phx__post_bound {
    struct phx__ring bound; /* BOUND ones */
    struct phx__ring idle;  /* FLOWING ones with nothing under way, oldest first */
    size_t bytes;           /* queued in all of them */
};

/* One other node. It never moves. */
struct phx__post_peer {
    uint32_t node, timer;
    uint32_t nbr, generation; /* the stream towards it, or the last one; PHX__NONE: never had one */
    int routed;               /* nbr leads there now */
    struct phx__post_source own;
    struct phx__post_transit transit;
    struct phx__flow_out out;
    struct phx__flow_in in;
    uint32_t line;    /* as a neighbour: its first line of the CAST frame at hand, + 1 */
    size_t brought;   /* as a neighbour: of phx__post.recv.bytes, what counts with it ... */
    int large;        /* ... beside one message that is above all that may */
    uint64_t key; /* by which it is to tell its flow to us; 0: none so far */
    struct phx__post_returns returns; /* of messages that came from it */
    struct phx__post_bound boxes;
    uint64_t life; /* unique among peers, and new after each rebirth */
    uint32_t noted; /* out.sweeps, when phx__post_store.tokens had all of the flow */
    struct phx__ring waiters;
    size_t wanted; /* bytes of the message that last asked for room */
    struct phx__ring room_link; /* in phx__post.rooms */
    struct phx__post_owed ack;
    uint64_t idle_at;
};

/* What stays of a peer that is gone: what came of its flow is not to be taken again. */
struct phx__post_past {
    uint64_t life, epoch, next;
    uint32_t returns;
};

/* By node, up to the highest that a message was sent to or through. */
struct phx__post_node {
    struct phx__post_past *past;    /* without a peer; or NULL */
    struct phx__post_peer *peer;    /* NULL: none so far */
    struct phx__post_source *ready; /* as a neighbour: the source in its circle that is served next */
};

/* Reported by phx__post_run. */
struct phx__outcome {
    uint64_t token; /* 0: only drop the body */
    int result;
    struct phx__block *body; /* NULL, or held until the outcome is reported */
    struct phx__multicast *multicast; /* of a member of one */
    uint64_t to, tag;
};

/* A queue with room for all outcomes that were promised. */
struct phx__post_outcomes {
    struct phx__outcome *list;
    uint32_t first, count, capacity;
    size_t promised;
    struct {
        uint32_t count; /* messages without a token that were lost and not told; the last one: */
        int result;
        uint64_t to;
    } lost;
};

/* Mailboxes by state; BOUND ones are listed with their peer, HELD ones not at all. */
struct phx__post_boxes {
    struct phx__ring local, refused;
    struct phx__ring opened; /* GATED ones with nothing under way any more */
    struct phx__ring idle;   /* FLOWING ones with nothing under way, oldest first */
    uint32_t idle_count;
    int look_again;     /* some could not be moved for lack of memory */
    uint32_t timer;     /* no queued message expires before it fires */
};

/* Names that wait for room in the store; for an owner; for nothing: phx__post_run tells them. */
struct phx__post_waiting {
    struct phx__ring room, owner, ready;
};

/* What comes later in a step is left some of the time that callbacks may take in all. */
enum phx__post_share { PHX__SHARE_READ = 2, PHX__SHARE_LOCAL = 3, PHX__SHARE_REST = 4 };

/* Frames that came before the news of their source. */
struct phx__post_early {
    uint8_t *at;
    uint32_t size, capacity;
    uint32_t known; /* how many ids were known when they were looked at */
    uint64_t since;
};

struct phx__post_recv {
    struct phx__post_early early;
    uint32_t last_source; /* of the last DATA frame: most likely that of the next, too */
    uint32_t from;   /* the neighbour that brings the frame at hand, as its caller says */
    size_t bytes;    /* memory for messages of which all is not here yet */
    uint64_t look_at; /* when those that stand still may give way again */
    struct phx__begun *abandoned; /* buffers of the application's that it was not told of yet */
    int unseen;           /* set by ops.message: nobody was shown the message */
    int stopped;          /* the last frame was taken in part, or not at all: it is to come again */
};

struct phx__post_counters {
    uint64_t messages_in, messages_out, retransmitted, duplicates, dropped, frames_out, relayed_frames,
        relayed_bytes;
};

/* What round trips take at present. */
struct phx__post_usual {
    uint64_t rtt, at; /* 0: none was measured yet; when one was, for the last time */
    uint64_t asked;   /* when a flow last asked its target */
};

struct phx__post {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__post_ops ops;
    struct phx__post_limits limits;
    struct phx__post_node *nodes; /* both directions; what costs memory is made on first use */
    uint32_t node_capacity;
    uint64_t lives; /* of peers, given out since the start */
    uint64_t lost_at; /* when a node was last lost: its owner sets that */
    struct phx__post_usual usual[2]; /* through relays; with neighbours */
    uint32_t again_timer;
    uint32_t calls; /* of the application that are left until ops.calls is asked */
    struct phx__ring acks, rooms;   /* peers to which an ack is due; whose flow has room again */
    int list_again; /* some sources are ready, but not listed with a neighbour: no memory */
    struct phx__post_store store;
    struct phx__post_boxes boxes;
    struct phx__post_waiting waiting;
    struct phx__post_outcomes outcomes;
    struct {
        size_t bytes;
        uint64_t copied;           /* bytes */
        struct phx__block *lender; /* holds the frame at hand; NULL: it must be copied to be kept */
    } transit;
    struct phx__post_recv recv;
    struct {
        size_t count; /* messages in mailboxes and flows, empty ones too */
        size_t bytes; /* accepted from this host and not acknowledged */
    } pending;
    struct phx__post_counters counters;
};

/* multicast.c: accepts a message to many: to how many, or an error, and then nothing was accepted. */
PHX_PRIVATE int phx__post_multicast_send(struct phx__post *p, const struct phx_cast *c);

#endif
