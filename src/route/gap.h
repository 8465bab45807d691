/* gap.h - by which losses the neighbourhoods of this node and of a neighbour differ, as far as is known. */
#ifndef PHX_ROUTE_GAP_H
#define PHX_ROUTE_GAP_H

#include "base/base.h"
#include "base/id.h"
#include "base/mem.h"

/* In struct phx__route_gap.at: the neighbour has lost this one, and we have not. Indices stay below it. */
#define PHX__GAP_THEIRS 0x80000000u

struct phx__route_gap {
    uint32_t *at; /* whom we have lost and the neighbour has not named yet, or | PHX__GAP_THEIRS */
    uint32_t count, capacity;
    uint64_t hash; /* XOR of their hashes */
};

/* Its place, from 1 on, or 0: not in it. */
PHX_PRIVATE int phx__route_gap_has(const struct phx__route_gap *g, uint32_t node);
/* 1, or 0: it was not in it. */
PHX_PRIVATE int phx__route_gap_take(struct phx__route_gap *g, const struct phx__ids *ids, uint32_t node);
/* 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_gap_add(struct phx__route_gap *g, struct phx__mem *mem, const struct phx__ids *ids,
                                   uint32_t node);
PHX_PRIVATE void phx__route_gap_free(struct phx__route_gap *g, struct phx__mem *mem);

/* 1: two neighbourhoods whose hashes differ by this are equal but for the gap, and but for *but unless that
 * is PHX__NONE. */
PHX_PRIVATE int phx__route_gap_explains(const struct phx__route_gap *g, const struct phx__ids *ids,
                                        uint64_t differs, uint32_t *but);

#endif
