/* box.h - part of post: what becomes of messages: where they wait, and how they end. */
#ifndef PHX_POST_BOX_H
#define PHX_POST_BOX_H
#include "post/sched.h"

/* What phx__post_run will tell, and let go of. */
struct phx__outcome {
    uint64_t token; /* 0: only drop the body */
    int result;
    struct phx__block *body; /* NULL, or held until the outcome is told */
    struct phx__multicast *cast;  /* of a member of a cast, to whom the name: */
    uint64_t to;
};

/* How many outcomes a message may need: one to tell, one to let its owner's memory go inside a
 * step. */
PHX_PRIVATE uint32_t phx__post_box_promises(uint64_t token, const struct phx__block *body);
/* Reserves n more, so that none is ever lost for lack of memory. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_promise(struct phx__post *p, uint32_t n);
/* What was promised comes true in the next phx__post_run. body: NULL if it is not to go yet. cast, if
 * not NULL, has one message less. */
PHX_PRIVATE void phx__post_box_outcome(struct phx__post *p, uint64_t token, int result,
                    struct phx__block *body, struct phx__multicast *cast, uint64_t to);
/* The last messages of a queue are withdrawn, as if they had never been put: of a cast that not all
 * of its members have room for. */
PHX_PRIVATE void phx__post_box_undo(struct phx__post *p, struct phx__box *b);
PHX_PRIVATE void phx__post_box_tell(struct phx__post *p);

/* A node's flow takes messages while less than a window is in it; so one of any size goes into an
 * empty one. */
PHX_PRIVATE int phx__post_box_accepts(const struct phx__post *p, const struct phx__post_peer *peer);
/* Whether the host may send more there: what waits in boxes counts, too. */
PHX_PRIVATE int phx__post_box_credit(const struct phx__post *p, const struct phx__post_peer *peer);
/* Puts a message into the flow to its box's peer. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_put(struct phx__post *p, struct phx__box *b, struct phx__message *m);
/* Something went out of it: those who wait for room are seen to in phx__post_run. */
PHX_PRIVATE void phx__post_box_check_room(struct phx__post *p, struct phx__post_peer *peer);

/* Whether one more message of this size may join a box in that state; peer: of a BOUND one. */
PHX_PRIVATE int phx__post_box_box_accepts(const struct phx__post *p, enum phx__box_state state,
                                      const struct phx__post_peer *peer, size_t size);
/* Puts a message into the box, or into a new one for its name. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_keep(struct phx__post *p, struct phx__box *b, const struct phx__message *m,
                    uint32_t owner);
/* A new box for a name that peer has, with nothing in it. NULL: no memory. */
PHX_PRIVATE struct phx__box *phx__post_box_open(struct phx__post *p, uint64_t name,
                                            struct phx__post_peer *peer);
/* Brings a box to where its name is. It may be gone after it. */
PHX_PRIVATE void phx__post_box_route_box(struct phx__post *p, struct phx__box *b);
/* An empty box goes, and whoever waited for it may try. */
PHX_PRIVATE void phx__post_box_close_box(struct phx__post *p, struct phx__box *b);
/* A message in its peer's flow has ended. */
PHX_PRIVATE void phx__post_box_landed(struct phx__post *p, struct phx__box *b);
/* A message came back: nothing more goes to the peer until all that did has ended. */
PHX_PRIVATE void phx__post_box_gate(struct phx__post *p, struct phx__box *b, int reason);
/* Puts a message that came back where its order is. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_box_take_back(struct phx__post *p, const struct phx__message *m, int reason);
/* Boxes for which that is so now go on; after anything that lands messages. */
PHX_PRIVATE void phx__post_box_open_gates(struct phx__post *p);
/* Drops what is kept of names to which nothing is under way. */
PHX_PRIVATE void phx__post_box_close_idle(struct phx__post *p, struct phx__post_peer *peer);
/* Something must be tried again: at that time, or when some memory may be free; 0: soon. */
PHX_PRIVATE void phx__post_box_again(struct phx__post *p, uint64_t at);
PHX_PRIVATE void phx__post_box_retry(struct phx__post *p);

PHX_PRIVATE void phx__post_box_expire_flow(struct phx__post *p, struct phx__post_peer *peer);
PHX_PRIVATE void phx__post_box_expire_held(struct phx__post *p);

#endif
