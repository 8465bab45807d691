/* post.h - BRAIN: messages end to end: numbers, acks, order, credit, mailboxes, transit, outcomes. */
#ifndef PHX_POST_POST_H
#define PHX_POST_POST_H
#include "post/recv.h"

PHX_PRIVATE int phx__post_init(struct phx__post *p, struct phx__mem *mem, struct phx__ids *ids,
                               struct phx__timers *timers, const struct phx__post_limits *limits,
                               const struct phx__post_ops *ops);
/* Releases all owned buffers; no outcome is reported. */
PHX_PRIVATE void phx__post_free(struct phx__post *p);

/* Accepts a message: PHX_ETOOBIG, PHX_EAGAIN, PHX_ENOMEM, PHX_EINVAL (sizes overflow, release with iov_count
 * != 1). Never calls an op but `owner`, `next`, `wants` and `unheld`. */
PHX_PRIVATE int phx__post_send(struct phx__post *p, const struct phx_outgoing *m);
/* Once or twice a step: local messages, outcomes, on_writable, acks that are due. 1: more is waiting. */
PHX_PRIVATE int phx__post_run(struct phx__post *p);
/* Has phx__post_run something to do already? */
PHX_PRIVATE int phx__post_ready(const struct phx__post *p);
/* Sends all acks that are owed, also those that could wait: this node leaves, or begins a new life. */
PHX_PRIVATE void phx__post_settle(struct phx__post *p);

#endif
