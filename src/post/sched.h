/* sched.h - part of post: one record per node, and a circle of work per neighbour. */
#ifndef PHX_POST_SCHED_H
#define PHX_POST_SCHED_H
#include "post/returns.h"
#include "post/store.h"
#include "base/timer.h"

struct phx__post; /* see post.h */

/* Something to pull from: the own flow to a node, or the transit queue for it. In at most one
 * circle. */
struct phx__post_source {
    struct phx__post_source *prev, *next; /* NULL: in none */
    struct phx__post_peer *peer;
    uint32_t nbr; /* whose circle; PHX__NONE: the strays' */
    int is_transit;
    size_t served; /* of its quantum */
};

/* All that post has to do with one other node. It never moves. */
struct phx__post_peer {
    uint32_t node, timer;
    uint32_t nbr, generation; /* the stream towards it, or the last one; PHX__NONE: never had one */
    int routed;               /* nbr leads there now */
    struct phx__post_source own, transit;
    struct phx__flow_out out;
    struct phx__flow_in in;
    uint64_t in_life; /* the high half of its epochs, plus 1; 0: any, it was never reborn */
    struct phx__post_returns back;  /* what came from it and was turned back */
    int confirm;            /* it is to be told how many returns of its came */
    struct phx__ring boxes; /* BOUND ones */
    struct phx__ring idle;  /* FLOWING ones with nothing under way, oldest first */
    size_t boxed;           /* bytes of letters in boxes whose peer this is */
    uint64_t life;          /* no other peer has the same, nor this one when it is reborn */
    struct phx__waiter *waiters;
    struct phx__ring room_link, ack_link;
    int owed, gap; /* an ack; one that reports a gap */
    int stuck;     /* what came last could not be taken */
    int hurry;     /* its host waits for an outcome */
    uint64_t acked_at;
    size_t ack_bytes; /* taken since the last ack */
    uint32_t ack_frames;
    uint64_t ack_at, idle_at;
    uint64_t gap_next; /* in.next when a gap was reported last ... */
    uint64_t gap_from; /* ... and when it may be again */
    struct phx__slices queue; /* in transit to it */
    uint32_t queued;          /* frames */
    struct phx__block *tail;
    uint32_t tail_size;
};

/* By node, as far as anything was ever sent to or through one. */
struct phx__post_node {
    struct phx__post_peer *peer;         /* NULL: nothing to do with it so far */
    struct phx__post_source *ready; /* as a neighbour: one of its circle, the next to be served */
};

/* Frames of this size may be kept in the block they were read into, which they pin as a whole. */
#define PHX__LEND_LEAST 32768u

#define PHX__PEER_OF(link, member) \
    ((struct phx__post_peer *)(void *)((char *)(link) - offsetof(struct phx__post_peer, member)))

/* or NULL */
PHX_PRIVATE struct phx__post_peer *phx__post_sched_find(const struct phx__post *p, uint32_t node);
/* The record of a node, made on first use; NULL: no memory. */
PHX_PRIVATE struct phx__post_peer *phx__post_sched_open(struct phx__post *p, uint32_t node);
/* Its boxes and waiters must have been taken. */
PHX_PRIVATE void phx__post_sched_free(struct phx__post *p, struct phx__post_peer *peer);
/* As a neighbour it is no more: what goes through it must ask again. */
PHX_PRIVATE void phx__post_sched_abandon(struct phx__post *p, uint32_t nbr);
/* Lists its flow with its neighbour, if there is something to emit. Cheap. */
PHX_PRIVATE void phx__post_sched_ready(struct phx__post *p, struct phx__post_peer *peer);
PHX_PRIVATE void phx__post_sched_retry(struct phx__post *p); /* the strays */
/* Back to the state of a node never sent to. Its flow must be empty. */
PHX_PRIVATE void phx__post_sched_reset(struct phx__post *p, struct phx__post_peer *peer);
/* Sees to it that the timer fires in time. */
PHX_PRIVATE void phx__post_sched_arm(struct phx__post *p, struct phx__post_peer *peer);
/* It may have nothing to do for a while: in the end it gives its buffers back. */
PHX_PRIVATE void phx__post_sched_rest(struct phx__post *p, struct phx__post_peer *peer);
/* The timer fired: acks, the backstop and idleness; phx__post_sched_arm is up to the caller. */
PHX_PRIVATE void phx__post_sched_due(struct phx__post *p, struct phx__post_peer *peer);
/* It is owed an ack: soon, or at the end of this step. */
PHX_PRIVATE void phx__post_sched_owe(struct phx__post *p, struct phx__post_peer *peer, int now);
PHX_PRIVATE void phx__post_sched_ack(struct phx__post *p, struct phx__post_peer *peer);
/* Where a frame of at most `size` bytes that goes through here to peer can be written; NULL: nowhere. Then
 * it is queued: 0 or PHX_ENOMEM. */
PHX_PRIVATE uint8_t *phx__post_sched_room(struct phx__post *p, struct phx__post_peer *peer, size_t size);
PHX_PRIVATE int phx__post_sched_queued(struct phx__post *p, struct phx__post_peer *peer, uint8_t *at,
                                 size_t size);
/* A frame for another node: 0 queued, else why it was dropped. */
PHX_PRIVATE int phx__post_sched_transit(struct phx__post *p, const uint8_t *frame, size_t size,
                    const struct phx__frame *f);

#endif
