/* returns.h - the messages of one flow that its target sent back. */
#ifndef PHX_POST_RETURNS_H
#define PHX_POST_RETURNS_H
#include "base/map.h"
#include "wire/data.h"

/* Returns are numbered 1, 2, 3, ... in each flow, in the order of their messages. */
struct phx__post_returns {
    struct phx__mem *mem;
    uint32_t count;     /* the number of the latest */
    uint32_t confirmed; /* the source has taken in all up to this one */
    uint32_t seen;      /* the source knew of all up to this one when it put the latest message that came */
    uint32_t all;       /* messages put without knowledge of this return go back, whatever their name */
    uint8_t *list;      /* the unconfirmed ones, encoded as in an ack */
    uint32_t capacity;  /* bytes of it */
    struct phx__map refused; /* name -> its latest return */
};

PHX_PRIVATE void phx__post_returns_init(struct phx__post_returns *r, struct phx__mem *mem);
PHX_PRIVATE void phx__post_returns_reset(struct phx__post_returns *r); /* for a new epoch; frees all */
/* A first fragment came that says `seen`; an impossible number is ignored. */
PHX_PRIVATE void phx__post_returns_seen(struct phx__post_returns *r, uint32_t seen);
/* Did an older message to this name go back without the sender of this one knowing it? */
PHX_PRIVATE int phx__post_returns_refuses(const struct phx__post_returns *r, uint64_t name);
/* Returns a message to that name, and what follows it in its run. 0; PHX_ELIMIT or PHX_ENOMEM: not now. */
PHX_PRIVATE int phx__post_returns_add(struct phx__post_returns *r, uint64_t name,
                                      const struct phx__return *t);
/* All messages to that name go back that do not know of the latest return. */
PHX_PRIVATE void phx__post_returns_refuse(struct phx__post_returns *r, uint64_t name);
/* The latest return since which messages to that name go back; 0: none is known by its name. */
PHX_PRIVATE uint32_t phx__post_returns_since(const struct phx__post_returns *r, uint64_t name);
PHX_PRIVATE void phx__post_returns_confirm(struct phx__post_returns *r, uint32_t seen);

#endif
