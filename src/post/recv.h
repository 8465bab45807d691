/* recv.h - frames that arrive: messages, acks, transit, and buffers of the application's. */
#ifndef PHX_POST_RECV_H
#define PHX_POST_RECV_H
#include "post/box.h"

/* A DATA frame came: the whole frame as received, `frame_size` bytes, and decoded. Delivers, queues for
 * transit (even back, for a moment; the hop byte bounds that) or drops. 0; PHX_EPROTO: close the link;
 * PHX_EAGAIN: the step has had its time: the whole frame once more in the next. */
PHX_PRIVATE int phx__post_recv_data(struct phx__post *p, const uint8_t *frame, size_t frame_size,
                                    const struct phx__frame *f);
/* Another node is known: perhaps frames of it came before. */
PHX_PRIVATE void phx__post_recv_early(struct phx__post *p);
/* The same for a CAST frame. */
PHX_PRIVATE int phx__post_recv_multicast(struct phx__post *p, const struct phx__frame *f);
/* The first size bytes of a DATA frame came: 0, or the size of its head and where its payload may be read to.
 * Once that is read: the head again and the payload (NULL: another link was faster). */
PHX_PRIVATE size_t phx__post_recv_place(struct phx__post *p, const uint8_t *front, size_t size,
                                        struct phx__place *out);
PHX_PRIVATE void phx__post_recv_placed(struct phx__post *p, const uint8_t *head, size_t size,
                                       const uint8_t *payload);
/* Where the next fragment of a message from this node would go, with no size: 1 or 0. */
PHX_PRIVATE int phx__post_recv_ahead(const struct phx__post *p, uint32_t from, struct phx__place *out);
/* An ACK for this node. gap: frame flag PHX__ACK_GAP. */
PHX_PRIVATE void phx__post_recv_ack(struct phx__post *p, const struct phx__ack *a, int gap);

/* Gives a message to the application. */
PHX_PRIVATE void phx__post_recv_deliver(struct phx__post *p, const struct phx__message *m, uint32_t source);
/* phx_reclaim, but for what is in links: 1, 0 (nobody has that buffer) or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_recv_reclaim(struct phx__post *p, const void *buffer, const void *arg);
/* Reports the application's buffers that were abandoned; all, or while there is time. */
PHX_PRIVATE void phx__post_recv_tell_abandoned(struct phx__post *p, int all);

#endif
