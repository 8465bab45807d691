/* multicast.h - part of post: one message to many names, kept once and put once on each link. */
#ifndef PHX_POST_MULTICAST_H
#define PHX_POST_MULTICAST_H
#include "post/flow.h"

struct phx__post;      /* see post.h */
struct phx__post_peer; /* see sched.h */

/* What the messages of one cast have in common. Each message and each outcome not told yet is a
 * reference. */
struct phx__multicast {
    struct phx__multicast *prev, *next; /* in phx__post.casts */
    uint64_t token, from, tag;
    size_t size;
    size_t refs;
    size_t left; /* outcomes to come */
};

PHX_PRIVATE void phx__post_multicast_drop(struct phx__post *p, struct phx__multicast *c); /* c may be NULL */
PHX_PRIVATE size_t phx__post_multicast_left(struct phx__multicast *c); /* an outcome is told: how many follow */
PHX_PRIVATE int phx__post_multicast_has(const struct phx__post *p, uint64_t token);
PHX_PRIVATE void phx__post_multicast_free(struct phx__post *p); /* all of them */
/* The next frame to peer belongs to a cast: emits it together with that of all others whose next frame
 * towards nbr is the same. The bytes; 0: there is no other, or no memory; or *failed, see
 * phx__post_ops.emit. */
PHX_PRIVATE size_t phx__post_multicast_emit(struct phx__post *p, struct phx__post_peer *peer, uint32_t nbr,
                                  int *failed);

#endif
