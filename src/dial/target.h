/* target.h - part of disc: what may be dialled gets a target, and who may not is only counted. */
#ifndef PHX_DIAL_TARGET_H
#define PHX_DIAL_TARGET_H
#include "dial/dial.h"

/* In struct phx__dial_node: it has addresses, and no target yet. */
#define PHX__TARGET_LATENT UINT32_MAX

/* A target in a slot, at rest. PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__dial_target_new(struct phx__dial *d, const struct phx_address *a,
                                const uint32_t *picked, uint32_t n, uint32_t *slot);
/* The slot of a node's target, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__dial_target_of(const struct phx__dial *d, uint32_t node);
/* A node with addresses becomes known: does it do without a target for the time being? */
PHX_PRIVATE int phx__dial_target_can_wait(const struct phx__dial *d, uint32_t node);
/* The slot of a node's target, which is made if it was put off; PHX__NONE: it has no addresses, or there is
 * no memory. */
PHX_PRIVATE uint32_t phx__dial_target_wake(struct phx__dial *d, uint32_t node);
/* If all known nodes may be dialled again: makes those that were put off. 1 if there were any. */
PHX_PRIVATE int phx__dial_target_wake_all(struct phx__dial *d);
/* Who would be the next of the best, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__dial_target_next_best(const struct phx__dial *d);

#endif
