/* rnd.h - a seeded generator for jitter and choice; never for keys. */
#ifndef PHX_BASE_RND_H
#define PHX_BASE_RND_H
#include "base/base.h"

struct phx__rnd {
    uint64_t s[2];
};
PHX_PRIVATE void phx__rnd_seed(struct phx__rnd *r, uint64_t a, uint64_t b);
PHX_PRIVATE uint64_t phx__rnd_next(struct phx__rnd *r);
/* Uniform in 0..bound-1; bound > 0. */
PHX_PRIVATE uint64_t phx__rnd_below(struct phx__rnd *r, uint64_t bound);

#endif
