/* box.h - the states of mailboxes: where the messages to a name go now. */
#ifndef PHX_POST_BOX_H
#define PHX_POST_BOX_H
#include "post/outcome.h"
#include "post/sched.h"

/* When a message expires that was sent now with this time limit, 0: none. */
PHX_PRIVATE uint64_t phx__post_box_limit(const struct phx__post *p, uint64_t time_limit_us);

/* Where a message to a name goes now: into the flow to a peer, or into a mailbox, if there is one. */
struct phx__post_way {
    struct phx__box *box;
    struct phx__post_peer *peer; /* the mailbox has, or would get */
    enum phx__box_state state;   /* of the mailbox, or of the one it would get */
    struct phx__ring *waiters;   /* where to wait for room */
};
/* 0, PHX_EAGAIN or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_find_way(struct phx__post *p, uint64_t name, size_t size,
                                       struct phx__post_way *way);
PHX_PRIVATE int phx__post_box_submit(struct phx__post *p, struct phx__post_way *way, struct phx__message *m);
/* Withdraws the last message of a mailbox, as if never sent: memory ended in the middle of a multicast. */
PHX_PRIVATE void phx__post_box_undo(struct phx__post *p, struct phx__box *b);
/* May the host send more to the peer? What waits in mailboxes counts, too. */
PHX_PRIVATE int phx__post_box_credit(const struct phx__post *p, const struct phx__post_peer *peer);
PHX_PRIVATE void phx__post_box_run_rooms(struct phx__post *p); /* serves those who wait for room */

/* Moves a mailbox to where its name is. It may be freed. */
PHX_PRIVATE void phx__post_box_route(struct phx__post *p, struct phx__box *b);
/* If nothing is queued any more, the mailbox rests or is freed. */
PHX_PRIVATE void phx__post_box_emptied(struct phx__post *p, struct phx__box *b);
/* One more frame in the peer's flow has messages of the mailbox; with NAMES each message is counted. */
PHX_PRIVATE void phx__post_box_flies(struct phx__post *p, struct phx__box *b);
/* One of these has ended. */
PHX_PRIVATE void phx__post_box_landed(struct phx__post *p, struct phx__box *b);
/* A message came back: nothing more goes to the peer until all that is under way has ended. */
PHX_PRIVATE void phx__post_box_gate(struct phx__post *p, struct phx__box *b, int reason);
/* Queues a message that came back, in its order. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_take_back(struct phx__post *p, const struct phx__message *m, int reason);
/* After all calls of the former three: mailboxes and waiters may have room. */
PHX_PRIVATE void phx__post_box_ended(struct phx__post *p, struct phx__post_peer *peer);

/* PHX__TIMER_POST (arg: node) and PHX__TIMER_POST_HOLD (0: time limits, 1: try again) fired. */
PHX_PRIVATE void phx__post_box_due(struct phx__post *p, int kind, uint32_t arg);
/* 0 or PHX_ENOTFOUND; phx__post_run reports the outcome. */
PHX_PRIVATE int phx__post_box_cancel(struct phx__post *p, uint64_t token);
/* Owners of names changed: routes all mailboxes again; those of names in these ranges. */
PHX_PRIVATE void phx__post_box_names(struct phx__post *p);
PHX_PRIVATE void phx__post_box_ranges(struct phx__post *p, const struct phx_range *ranges, uint32_t count);
/* node failed or left: what it did not acknowledge goes to the names' owners of now, or fails. */
PHX_PRIVATE void phx__post_box_failed(struct phx__post *p, uint32_t node);
/* What waits for these names ends with PHX_EFAILED, unless another one than node holds them now. */
PHX_PRIVATE void phx__post_box_fail(struct phx__post *p, uint32_t node, uint64_t first, uint64_t last);
PHX_PRIVATE void phx__post_box_forget(struct phx__post *p, uint32_t node);
/* This node has left: what is pending ends with PHX_ECLOSED, which is reported at once. */
PHX_PRIVATE void phx__post_box_close_all(struct phx__post *p);
/* The same, but the outcomes are the caller's to drop, and no mailbox is left. */
PHX_PRIVATE void phx__post_box_free(struct phx__post *p);

#endif
