/* best.h - BRAIN: the few nodes that a node picks for itself when it cannot link with all. */
#ifndef PHX_BEST_H
#define PHX_BEST_H
#include "id.h"

#define PHX__DISC_BEST 8u /* nodes of its own choice that a node links with beyond max_links */

struct phx__best_one {
    uint64_t score;
    uint32_t node;
};

struct phx__best {
    struct phx__best_one at[PHX__DISC_BEST]; /* ascending scores */
    uint32_t count;
};

/* The lower, the better. */
PHX_PRIVATE uint64_t phx__best_score(const struct phx__ids *ids, uint32_t node);
PHX_PRIVATE int phx__best_has(const struct phx__best *b, uint32_t node);
/* Would it be one of them? */
PHX_PRIVATE int phx__best_takes(const struct phx__best *b, const struct phx__ids *ids, uint32_t node);
/* Is it one of the best? Then the worst of them may have to go. */
PHX_PRIVATE void phx__best_offer(struct phx__best *b, const struct phx__ids *ids, uint32_t node);
/* 1 if it was one of them: there is room for the next best. */
PHX_PRIVATE int phx__best_drop(struct phx__best *b, uint32_t node);

#endif
