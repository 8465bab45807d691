/* rate.h - BRAIN: how often a node dials the addresses that it was told by others. */
#ifndef PHX_DIAL_RATE_H
#define PHX_DIAL_RATE_H
#include "base/ratelimit.h"
#include "dial/addr.h"

/* How long until the first of these addresses may be dialled, 0: now. which: bits. */
PHX_PRIVATE uint64_t phx__dial_rate_wait(const struct phx__ratelimit *l, const struct phx__dial_addr *at,
                                         uint32_t count, unsigned which, uint64_t now);
/* One dial of this address. */
PHX_PRIVATE void phx__dial_rate_spend(struct phx__ratelimit *l, const struct phx_address *a, uint64_t now);
/* A node lives at this address: what was spent on it does not count. paid: the dial itself was spent. */
PHX_PRIVATE void phx__dial_rate_return(struct phx__ratelimit *l, const struct phx_address *a, int paid);

#endif
