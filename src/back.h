/* back.h - part of post: the messages of one flow that its target turned back. */
#ifndef PHX_BACK_H
#define PHX_BACK_H
#include "map.h"
#include "wire.h"

/* Returns are numbered 1, 2, 3, ... in each flow, in the order of their messages. */
struct phx__back {
    struct phx__mem *mem;
    uint32_t count;     /* how many there were: the number of the latest */
    uint32_t confirmed; /* the source has taken in so many */
    uint32_t seen;      /* ... and knew of so many when it put the latest message that came */
    uint32_t all;       /* what was put before it knew of this one goes back, whatever its name */
    uint8_t *list;      /* the unconfirmed ones, encoded */
    uint32_t capacity;  /* bytes of it */
    struct phx__map refused; /* name -> its latest return */
};

PHX_PRIVATE void phx__back_init(struct phx__back *b, struct phx__mem *mem);
PHX_PRIVATE void phx__back_reset(struct phx__back *b); /* for a new epoch; frees all */
/* A first fragment came that tells `seen`. Numbers are believed as far as they make sense. */
PHX_PRIVATE void phx__back_seen(struct phx__back *b, uint32_t seen);
/* Has an older message to this name come back without the sender of this one knowing? */
PHX_PRIVATE int phx__back_refuses(const struct phx__back *b, uint64_t name);
/* Turns a message to that name back, and what follows it in its run, as the return says. 0; PHX_ELIMIT or
 * PHX_ENOMEM: not now. */
PHX_PRIVATE int phx__back_add(struct phx__back *b, uint64_t name, const struct phx__return *t);
PHX_PRIVATE void phx__back_confirm(struct phx__back *b, uint32_t seen);
/* What an ack says of it. The list is borrowed until the next change. */
PHX_PRIVATE void phx__back_fill(const struct phx__back *b, struct phx__ack *a);

#endif
