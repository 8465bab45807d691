/* pick.h - BRAIN: the few nodes that a node picks for itself when it cannot link with all. */
#ifndef PHX_DIAL_PICK_H
#define PHX_DIAL_PICK_H
#include "base/id.h"

#define PHX__DIAL_PICKS 8u /* nodes of its own choice that a node links with beyond max_links */

struct phx__dial_pick {
    uint64_t score;
    uint32_t node;
};

struct phx__dial_picks {
    struct phx__dial_pick at[PHX__DIAL_PICKS]; /* ascending scores */
    uint32_t count;
};

/* The lower, the better. */
PHX_PRIVATE uint64_t phx__dial_pick_score(const struct phx__ids *ids, uint32_t node);
PHX_PRIVATE int phx__dial_pick_has(const struct phx__dial_picks *p, uint32_t node);
/* Would this node be picked? */
PHX_PRIVATE int phx__dial_pick_takes(const struct phx__dial_picks *p, const struct phx__ids *ids,
                                     uint32_t node);
/* Picks this node if it should be; then the worst of the picks may have to go. */
PHX_PRIVATE void phx__dial_pick_offer(struct phx__dial_picks *p, const struct phx__ids *ids, uint32_t node);
/* 1 if it was a pick: there is room for the next best. */
PHX_PRIVATE int phx__dial_pick_drop(struct phx__dial_picks *p, uint32_t node);

#endif
