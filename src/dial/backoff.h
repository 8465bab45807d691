/* backoff.h - BRAIN: how long to wait before the next dial of what has failed. */
#ifndef PHX_DIAL_BACKOFF_H
#define PHX_DIAL_BACKOFF_H
#include "base/rnd.h"

/* After this many rounds without success, half a minute by default if all refuse at once, a node is taken to
 * be dead: from then on the wait may double up to ten times retry_max. Hubs are exempt, the user named
 * them. */
#define PHX__DIAL_DEAD_ROUNDS 10u

/* The wait for what most probably fails again. */
PHX_PRIVATE uint64_t phx__dial_backoff_slow(uint64_t retry_max_us);
/* The wait after this many failures. */
PHX_PRIVATE uint64_t phx__dial_backoff_next(struct phx__rnd *rnd, uint64_t retry_min_us,
                                            uint64_t retry_max_us, int hub, uint32_t failures);
/* Uniform in low..high. */
PHX_PRIVATE uint64_t phx__dial_backoff_between(struct phx__rnd *rnd, uint64_t low, uint64_t high);

#endif
