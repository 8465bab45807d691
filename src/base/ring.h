/* ring.h - circular lists whose links stand in the listed things. */
#ifndef PHX_BASE_RING_H
#define PHX_BASE_RING_H
#include "base/base.h"

/* A link, which is in at most one list, or the head of a list, which is a link like the others. */
struct phx__ring {
    struct phx__ring *prev, *next;
};
/* What a link stands in, as its member. */
#define PHX__RING_OF(r, type, member) ((struct type *)(void *)((char *)(r) - offsetof(struct type, member)))
PHX_PRIVATE void phx__ring_init(struct phx__ring *r); /* in no list; or an empty head */
PHX_PRIVATE int phx__ring_is_empty(const struct phx__ring *r);
/* At the end; leaves another list. */
PHX_PRIVATE void phx__ring_add(struct phx__ring *head, struct phx__ring *r);
PHX_PRIVATE void phx__ring_del(struct phx__ring *r); /* fine if in none */
/* All of `from`, at the end. */
PHX_PRIVATE void phx__ring_move(struct phx__ring *head, struct phx__ring *from);

#endif
