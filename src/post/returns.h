/* returns.h - part of post: the messages of one flow that its target turned back. */
#ifndef PHX_POST_RETURNS_H
#define PHX_POST_RETURNS_H
#include "base/map.h"
#include "wire/wire.h"

/* Returns are numbered 1, 2, 3, ... in each flow, in the order of their messages. */
struct phx__post_returns {
    struct phx__mem *mem;
    uint32_t count;     /* how many there were: the number of the latest */
    uint32_t confirmed; /* the source has taken in so many */
    uint32_t seen;      /* ... and knew of so many when it put the latest message that came */
    uint32_t all;       /* what was put before it knew of this one goes back, whatever its name */
    uint8_t *list;      /* the unconfirmed ones, encoded */
    uint32_t capacity;  /* bytes of it */
    struct phx__map refused; /* name -> its latest return */
};

PHX_PRIVATE void phx__post_returns_init(struct phx__post_returns *b, struct phx__mem *mem);
PHX_PRIVATE void phx__post_returns_reset(struct phx__post_returns *b); /* for a new epoch; frees all */
/* A first fragment came that tells `seen`. Numbers are believed as far as they make sense. */
PHX_PRIVATE void phx__post_returns_seen(struct phx__post_returns *b, uint32_t seen);
/* Has an older message to this name come back without the sender of this one knowing? */
PHX_PRIVATE int phx__post_returns_refuses(const struct phx__post_returns *b, uint64_t name);
/* Turns a message to that name back, and what follows it in its run, as the return says. 0; PHX_ELIMIT or
 * PHX_ENOMEM: not now. */
PHX_PRIVATE int phx__post_returns_add(struct phx__post_returns *b, uint64_t name, const struct phx__return *t);
PHX_PRIVATE void phx__post_returns_confirm(struct phx__post_returns *b, uint32_t seen);
/* What an ack says of it. The list is borrowed until the next change. */
PHX_PRIVATE void phx__post_returns_fill(const struct phx__post_returns *b, struct phx__ack *a);

#endif
