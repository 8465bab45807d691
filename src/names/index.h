/* index.h - BRAIN: the claims of all nodes laid side by side: who owns a name. */
#ifndef PHX_NAMES_INDEX_H
#define PHX_NAMES_INDEX_H
#include "wire/route.h"

struct phx__names_of { /* the claims of one node: sorted, disjoint */
    struct phx__claim *at;
    uint32_t count, capacity;
    uint32_t dead; /* 1: it failed, and its claims count for nothing until it is back */
    uint32_t trimmed; /* the last one stands for all from there on; of the dead only */
};

struct phx__names_segment {
    uint64_t first, last;
    uint32_t owner; /* node */
};

struct phx__names_index {
    struct phx__mem *mem;
    const struct phx__ids *ids;
    struct phx__names_segment *at; /* sorted, disjoint; neighbours of one owner are merged */
    uint32_t count, capacity;
    struct phx__names_segment *recent; /* what changed since it was built, and counts before it */
    uint32_t recent_count, recent_capacity;
    uint32_t cost; /* of the last build, as to pass so many claims in a row; or a bound */
};

/* The first element that ends at name or after it, or count. Each begins with its first and last name. */
PHX_PRIVATE uint32_t phx__names_index_find(const void *at, size_t each, uint32_t count, uint64_t name);
/* The order that everybody agrees on: does a claim of this epoch and node win over the other? */
PHX_PRIVATE int phx__names_index_beats(const struct phx__ids *ids, uint64_t epoch, uint32_t node,
                                       uint64_t other_epoch, uint32_t other);
/* Builds it anew from the claims of all nodes that have failed (dead 1), or of all others (0). PHX_ENOMEM. */
PHX_PRIVATE int phx__names_index_build(struct phx__names_index *x, const struct phx__names_of *of,
                                       uint32_t nodes, uint32_t dead);
PHX_PRIVATE void phx__names_index_free(struct phx__names_index *x);
/* These names are that node's from now on. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__names_index_put(struct phx__names_index *x, const struct phx_range *names,
                                     uint32_t owner);
/* The owner or PHX__NONE, and the widest range around the name with this answer. */
PHX_PRIVATE uint32_t phx__names_index_look(const struct phx__names_index *x, uint64_t name,
                                           struct phx_range *around);

#endif
