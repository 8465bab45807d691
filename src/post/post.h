/* post.h - BRAIN: messages end to end: numbers, acks, order, credit, holding, transit, outcomes. */
#ifndef PHX_POST_POST_H
#define PHX_POST_POST_H
#include "post/multicast.h"
#include "post/box.h"

struct phx__post_limits {
    size_t max_message, window, hold_bytes;
    int hop_limit;
    int relay;           /* forward for others */
    uint64_t epoch_base; /* low half of the incarnation << 32: epochs of a later life are higher */
};

struct phx__post_ops {
    void *ctx;
    /* Who holds the name now: a node that has not failed, PHX__SELF, or PHX__NONE. */
    uint32_t (*owner)(void *ctx, uint64_t name);
    /* Another number whenever an answer of `owner` may be another, but for nodes that failed. */
    const uint64_t *version;
    /* The neighbour towards node, or PHX__NONE; *generation changes whenever its link is another
     * one, so (neighbour, generation) names a TCP stream. */
    uint32_t (*next)(void *ctx, uint32_t node, uint32_t *generation);
    /* Queues one whole frame on the link with nbr: head bytes and then body bytes (body_size may be
     * 0), not copied: both blocks are held as long as needed. 0 or PHX_ENOMEM (nothing was queued).
     * Only called inside phx__post_sched_pull(nbr). */
    int (*emit)(void *ctx, uint32_t nbr, struct phx__block *head, const uint8_t *head_data,
                size_t head_size, struct phx__block *body, const uint8_t *body_data,
                size_t body_size);
    /* Sends an ACK as a control frame towards `node`. 0, or it could not be sent (then try
     * later). */
    int (*ack)(void *ctx, uint32_t node, const struct phx__ack *a, int gap);
    /* To the application. `message` may call back into post: send, cancel. */
    void (*message)(void *ctx, const struct phx_message *m);
    void (*done)(void *ctx, uint64_t token, int result);
    void (*writable)(void *ctx, uint64_t name);
    /* Links of this neighbour have something to pull. */
    void (*wants)(void *ctx, uint32_t nbr);
    /* As owner; *last: the last name up to which that is the answer. 0 or PHX_ENOMEM. */
    int (*segment)(void *ctx, uint64_t name, uint32_t *owner, uint64_t *last);
    /* The outcome for one member of a cast; `left` are to come. */
    void (*member)(void *ctx, uint64_t token, uint64_t to, int result, size_t left);
    /* May be NULL, both. A message of several fragments begins to come, m->data is NULL: memory of the
     * application's for all of it, or NULL. It is given back by `message` with that data, or by
     * `abandon`, which is called in phx__post_run and phx__post_free. */
    void *(*begin)(void *ctx, const struct phx_message *m);
    void (*abandon)(void *ctx, void *buffer, size_t size);
};

struct phx__post {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__post_ops ops;
    struct phx__post_limits limits;
    struct phx__post_node *nodes; /* both directions; what costs memory is made on first use */
    uint32_t node_capacity;
    uint32_t *windows; /* by node, as announced; 0: not yet */
    uint32_t window_capacity;
    uint64_t epochs; /* given out since the start */
    uint64_t lives;  /* of peers, too */
    uint64_t now;    /* of the call we are in */
    uint32_t hold_timer, again_timer;
    uint64_t hold_limit_at;         /* no letter in a box expires before */
    uint32_t last_source;           /* of the last DATA frame: most likely that of the next, too */
    struct phx__post_store hold;          /* what is sent to each name */
    struct phx__ring held, local, refused; /* its boxes in these states; others hang on their node */
    struct phx__ring opened;               /* GATED ones that need not be any more */
    struct phx__ring idle;                 /* FLOWING ones with nothing under way, oldest first */
    uint32_t idle_boxes;                   /* how many those are */
    struct phx__ring acks, rooms;   /* nodes that are owed an ack now; whose flow has room again */
    struct phx__post_source *stray; /* ready, but not listed with a neighbour: no memory */
    struct phx__waiter *hold_waiters;  /* for room to hold more */
    struct phx__waiter *name_waiters;  /* for an owner */
    struct phx__waiter *ready_waiters; /* for nothing: to be told in phx__post_run */
    int look_again;                    /* boxes could not be moved for lack of memory */
    struct phx__begun *abandoned;      /* buffers of the host's that it does not know of yet */
    int unseen;                        /* set by ops.message: nobody was there to be shown it */
    struct phx__multicast *casts;           /* all that have messages or outcomes to come */
    struct phx__outcome *outcomes;     /* for phx__post_run, with room for all promised ones */
    uint32_t outcome_first, outcome_count, outcome_capacity;
    size_t promised;
    size_t transit_bytes;
    struct phx__block *lender;     /* of the frame at hand; NULL: it has to be copied if it is to be kept */
    uint64_t transit_copied;       /* bytes */
    size_t local_bytes;   /* of letters in LOCAL boxes */
    size_t pending_count; /* messages in boxes and flows, empty ones too */
    size_t pending_bytes; /* accepted from this host and not acknowledged */
    uint64_t messages_in, messages_out, retransmitted, duplicates, dropped;
    uint64_t relayed_frames, relayed_bytes;
};

PHX_PRIVATE int phx__post_init(struct phx__post *p, struct phx__mem *mem, struct phx__ids *ids,
                               struct phx__timers *timers, const struct phx__post_limits *limits,
                               const struct phx__post_ops *ops);
/* Releases all owned buffers; no outcome is reported. */
PHX_PRIVATE void phx__post_free(struct phx__post *p);

/* Accepts a message: PHX_ETOOBIG, PHX_EAGAIN, PHX_ENOMEM, PHX_EINVAL (sizes overflow, release with
 * iov_count != 1). Never calls an op but `owner`, `next` and `wants`. */
PHX_PRIVATE int phx__post_send(struct phx__post *p, const struct phx_outgoing *m, uint64_t now);
/* Accepts a message to many: how many, or an error, and then nothing was accepted. */
PHX_PRIVATE int phx__post_multicast_send(struct phx__post *p, const struct phx_cast *c, uint64_t now);
/* 0 or PHX_ENOTFOUND; done comes in phx__post_run. */
PHX_PRIVATE int phx__post_box_cancel(struct phx__post *p, uint64_t token);

/* Emits up to about `budget` bytes of frames whose next hop is nbr, own flows and transit in turn.
 * Returns the bytes emitted; 0: nothing to send there now. */
PHX_PRIVATE size_t phx__post_sched_pull(struct phx__post *p, uint32_t nbr, size_t budget, uint64_t now);

/* A DATA frame came from neighbour nbr: the whole frame as received, `frame_size` bytes, and
 * decoded. Delivers, queues for transit (a copy) or drops. 0, or PHX_EPROTO: close the link. */
PHX_PRIVATE int phx__post_data(struct phx__post *p, uint32_t nbr, const uint8_t *frame,
                               size_t frame_size, const struct phx__frame *f, uint64_t now);
/* Of a DATA frame the first size bytes have come: 0, or the size of its head and where its payload may be
 * put. Then, when it is there, the head again and the payload (NULL: the place was overtaken). */
PHX_PRIVATE size_t phx__post_recv_place(struct phx__post *p, const uint8_t *front, size_t size,
                                   struct phx__place *out);
/* Where the next fragment of a message from this node would go, with no size: 1 or 0. */
PHX_PRIVATE int phx__post_recv_ahead(const struct phx__post *p, uint32_t from, struct phx__place *out);
PHX_PRIVATE void phx__post_recv_placed(struct phx__post *p, const uint8_t *head, size_t size,
                                  const uint8_t *payload, uint64_t now);
/* A CAST frame, as phx__post_data. */
PHX_PRIVATE int phx__post_multicast_data(struct phx__post *p, uint32_t nbr, const struct phx__frame *f,
                                    uint64_t now);
/* An ACK for this node. gap: frame flag PHX__ACK_GAP. */
PHX_PRIVATE void phx__post_ack(struct phx__post *p, const struct phx__ack *a, int gap,
                               uint64_t now);
/* The route to node, or the link behind it, changed: see ops.next. Cheap if it did not. */
PHX_PRIVATE void phx__post_sched_route(struct phx__post *p, uint32_t node, uint64_t now);
/* The names' owners changed somehow: look again at what is held. */
PHX_PRIVATE void phx__post_box_names(struct phx__post *p, uint64_t now);
/* node failed, left, or came back in another life: what it did not acknowledge goes to the names'
 * owners of now, or fails. */
PHX_PRIVATE void phx__post_box_failed(struct phx__post *p, uint32_t node, uint64_t now);
/* The node came back as another incarnation: also what was received of the former one is over. */
PHX_PRIVATE void phx__post_box_reborn(struct phx__post *p, uint32_t node, uint64_t incarnation,
                                  uint64_t now);
/* This very node has another incarnation now, and goes on: what has left in whole without an answer fails. */
PHX_PRIVATE void phx__post_box_rise(struct phx__post *p, uint64_t incarnation, uint64_t now);
PHX_PRIVATE void phx__post_box_forget(struct phx__post *p, uint32_t node);
/* What the node announces as its window. */
PHX_PRIVATE void phx__post_sched_window(struct phx__post *p, uint32_t node, uint32_t bytes);
/* Once or twice a step: local messages, outcomes, on_writable, acks that are due. 1: more is
 * waiting. */
PHX_PRIVATE int phx__post_run(struct phx__post *p, uint64_t now);
/* Sends all acks that are owed, also those that could wait: this node is about to leave. */
PHX_PRIVATE void phx__post_settle(struct phx__post *p, uint64_t now);
/* This node has left: what is pending ends with PHX_ECLOSED, and that is told. */
PHX_PRIVATE void phx__post_box_close(struct phx__post *p, uint64_t now);
/* Has phx__post_run something to do already? */
PHX_PRIVATE int phx__post_ready(const struct phx__post *p);
/* PHX__TIMER_POST (node) and PHX__TIMER_POST_HOLD (0: time limits, 1: try again) fired. */
PHX_PRIVATE void phx__post_due(struct phx__post *p, int kind, uint32_t node, uint64_t now);

/* For multicast.c: where a message to a name goes now, which is into the flow to a peer, or into a box,
 * which may be there already. */
struct phx__post_way {
    struct phx__box *box;
    uint32_t owner; /* without peer and box: SELF or NONE */
    struct phx__post_peer *peer;
};
/* 0, PHX_EAGAIN and *waiters is where to wait, or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_find_way(struct phx__post *p, uint64_t name, size_t size,
                                   struct phx__post_way *way, struct phx__waiter ***waiters);
PHX_PRIVATE int phx__post_go(struct phx__post *p, struct phx__post_way *way, struct phx__message *m);
/* For post.c: a part for the message whose first fragment this is; 0: no memory. The part's message has been
 * shown. What was abandoned is told. */
PHX_PRIVATE int phx__post_recv_open(struct phx__post *p, struct phx__post_peer *peer,
                               const struct phx__data *d);
PHX_PRIVATE void phx__post_recv_shown(struct phx__flow_in *in);
PHX_PRIVATE void phx__post_recv_tell_abandoned(struct phx__post *p);
/* The DATA frame that a line of a CAST stands for came. */
PHX_PRIVATE void phx__post_fragment(struct phx__post *p, const struct phx__data *d, int flags);

#endif
