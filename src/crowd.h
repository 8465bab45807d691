/* crowd.h - part of disc: when many start together: when each dials, and how many dials at once. */
#ifndef PHX_CROWD_H
#define PHX_CROWD_H
#include "disc.h"

/* The first dial of a node waits until nothing new was heard of for so long, but so often at most. */
#define PHX__CROWD_SETTLE (50 * PHX__MS)
#define PHX__CROWD_SETTLE_TIMES 20u
/* Dials at once, to begin with and at least. */
#define PHX__CROWD_PACE 8u

/* The time over which first dials are spread, for as many nodes as are known; 0: no crowd. */
PHX_PRIVATE uint64_t phx__crowd_spread(const struct phx__disc *d);
/* How much longer the other side has for its dial. */
PHX_PRIVATE uint64_t phx__crowd_patience(const struct phx__disc *d);
/* Is it too soon for the first dial of a node among many? The news is still coming in. */
PHX_PRIVATE int phx__crowd_is_settling(const struct phx__disc *d, const struct phx__disc_target *t);
/* May one more dial be under way? */
PHX_PRIVATE int phx__crowd_has_room(const struct phx__disc *d);
/* A link came so long after its dial. */
PHX_PRIVATE void phx__crowd_learn(struct phx__disc *d, uint64_t took);

#endif
