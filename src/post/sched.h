/* sched.h - what is emitted next: one record per node, and a circle of sources per neighbour. */
#ifndef PHX_POST_SCHED_H
#define PHX_POST_SCHED_H
#include "post/state.h"

/* The record of a node, or NULL. */
PHX_PRIVATE struct phx__post_peer *phx__post_sched_find(const struct phx__post *p, uint32_t node);
/* The same, made on first use; NULL: no memory. */
PHX_PRIVATE struct phx__post_peer *phx__post_sched_open(struct phx__post *p, uint32_t node);
/* Its mailboxes and waiters must have been taken. */
PHX_PRIVATE void phx__post_sched_free(struct phx__post *p, struct phx__post_peer *peer);
/* Of a peer that is gone the record becomes small, if nothing is under way. */
PHX_PRIVATE void phx__post_sched_shrink(struct phx__post *p, uint32_t node);
/* Back to the state of a node never sent to. Its flow must be empty. */
PHX_PRIVATE void phx__post_sched_reset(struct phx__post *p, struct phx__post_peer *peer);
/* What comes from the peer starts over with this epoch. */
PHX_PRIVATE void phx__post_sched_restart(struct phx__post *p, struct phx__post_peer *peer, uint64_t epoch);
/* May the neighbour that brings this message begin with that much memory of ours? */
PHX_PRIVATE int phx__post_sched_may_bring(const struct phx__post *p, const struct phx__flow_in *in,
                                          size_t size);
/* So much memory of ours is for the message that is being assembled. */
PHX_PRIVATE void phx__post_sched_book(struct phx__post *p, struct phx__flow_in *in, size_t size);
/* That message, if there is one, is over; a link that still reads into it finds it retired. */
PHX_PRIVATE void phx__post_sched_drop_part(struct phx__post *p, struct phx__flow_in *in);
/* The same, and it must come again. */
PHX_PRIVATE void phx__post_sched_give_up(struct phx__post *p, struct phx__flow_in *in);
/* node came back as another incarnation: nothing was tried there. */
PHX_PRIVATE void phx__post_sched_reborn(struct phx__post *p, uint32_t node);
/* The node is forgotten: what went through it must ask again. */
PHX_PRIVATE void phx__post_sched_abandon(struct phx__post *p, uint32_t nbr);

/* Something must be tried again: at that time; 0: when some memory may be free. */
PHX_PRIVATE void phx__post_sched_again(struct phx__post *p, uint64_t at);
PHX_PRIVATE void phx__post_sched_retry(struct phx__post *p); /* to list sources */
/* Lists a source with its next hop, if it has work and a route. Cheap if it is listed already. */
PHX_PRIVATE void phx__post_sched_list(struct phx__post *p, struct phx__post_source *s);
/* Sets the peer's timer to its earliest deadline. */
PHX_PRIVATE void phx__post_sched_arm(struct phx__post *p, struct phx__post_peer *peer);
/* The peer may have nothing to do for a while: in the end it gives its buffers back. */
PHX_PRIVATE void phx__post_sched_rest(struct phx__post *p, struct phx__post_peer *peer);
/* The peer's timer fired: acks, retransmission, idleness; the caller arms it again. 1: it has been idle. */
PHX_PRIVATE int phx__post_sched_due(struct phx__post *p, struct phx__post_peer *peer);
/* An ack is due to the peer: at the end of this step, or soon. */
PHX_PRIVATE void phx__post_sched_owe(struct phx__post *p, struct phx__post_peer *peer, int now);
PHX_PRIVATE void phx__post_sched_ack(struct phx__post *p, struct phx__post_peer *peer);

/* A frame for another node: 0 queued, else why it was dropped. */
PHX_PRIVATE int phx__post_sched_transit(struct phx__post *p, const uint8_t *frame, size_t size,
                                        const struct phx__frame *f);
/* Queues the lines of a CAST frame that go to this neighbour as a frame of their own: from peer->line on,
 * which it clears; next: for each of them the next one + 1, or 0. */
PHX_PRIVATE void phx__post_sched_forward(struct phx__post *p, struct phx__post_peer *peer,
                                         const struct phx__frame *f, const struct phx__wire_cast *c,
                                         const uint32_t *next);

/* Appends about `budget` bytes of frames whose next hop is nbr to the link's queue. The bytes, or 0. */
PHX_PRIVATE size_t phx__post_sched_pull(struct phx__post *p, uint32_t nbr, struct phx__slices *out,
                                        size_t budget);
/* The route to node, or the link behind it, changed: see ops.next. Cheap if it did not. */
PHX_PRIVATE void phx__post_sched_route(struct phx__post *p, uint32_t node);
/* What the node announces as its window may be another one. */
PHX_PRIVATE void phx__post_sched_window(struct phx__post *p, uint32_t node);

#endif
