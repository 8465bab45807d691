/* index.h - BRAIN: the claims of all nodes laid side by side: who owns a name. */
#ifndef PHX_NAMES_INDEX_H
#define PHX_NAMES_INDEX_H
#include "wire/route.h"

/* More changed claims than this in one call are left to a rebuild. At 100,000 segments one costs a memmove of
 * 1.2 MB on average, up to 0.1 ms, and a rebuild measured 5 to 6 ms. */
#define PHX__NAMES_PATCH_MAX 64u

struct phx__names_of { /* the claims of one node: sorted, disjoint */
    struct phx__claim *at;
    uint32_t count, capacity;
    uint32_t dead; /* 1: it failed, and its claims count for nothing until it is back */
};

struct phx__names_segment {
    uint64_t first, last;
    uint32_t owner; /* node */
};

enum phx__names_index_state {
    PHX__NAMES_DISJOINT = 0, /* the index is right, and no two claims overlap */
    PHX__NAMES_SHADOWED,     /* the index is right, but some claim lies under another */
    PHX__NAMES_STALE         /* the index is wrong */
};

struct phx__names_index {
    struct phx__mem *mem;
    const struct phx__ids *ids;
    struct phx__names_segment *at; /* sorted, disjoint; neighbours of one owner are merged */
    uint32_t count, capacity;
    enum phx__names_index_state state;
};

/* The first claim that ends at name or after it, or count. */
PHX_PRIVATE uint32_t phx__names_index_claim(const struct phx__names_of *of, uint64_t name);
/* The order that everybody agrees on: does a claim of this epoch and node win over the other? */
PHX_PRIVATE int phx__names_index_beats(const struct phx__ids *ids, uint64_t epoch, uint32_t node,
                                       uint64_t other_epoch, uint32_t other);

PHX_PRIVATE void phx__names_index_init(struct phx__names_index *x, struct phx__mem *mem,
                                       const struct phx__ids *ids);
PHX_PRIVATE void phx__names_index_free(struct phx__names_index *x);
/* A new claim of node covers first..last. The index goes stale if that is not all free. */
PHX_PRIVATE void phx__names_index_add(struct phx__names_index *x, uint32_t node, uint64_t first,
                                       uint64_t last);
/* A claim, or part of one, that covered first..last is gone. */
PHX_PRIVATE void phx__names_index_cut(struct phx__names_index *x, uint64_t first, uint64_t last);
/* What node claims turns from one list into another. */
PHX_PRIVATE void phx__names_index_patch(struct phx__names_index *x, uint32_t node,
                                        const struct phx__names_of *old, const struct phx__names_of *new);
/* Builds it anew from the claims of all nodes that have failed (dead 1), or of all others (0). PHX_ENOMEM: it
 * is stale. */
PHX_PRIVATE int phx__names_index_build(struct phx__names_index *x, const struct phx__names_of *of,
                                       uint32_t nodes, uint32_t dead);
/* The owner of a name, or PHX__NONE, and the widest range around it with the same answer. Not if stale. */
PHX_PRIVATE uint32_t phx__names_index_owner(const struct phx__names_index *x, uint64_t name,
                                            struct phx_range *around);

#endif
