/* target.h - BRAIN: the hubs and nodes that may be dialled. */
#ifndef PHX_DIAL_TARGET_H
#define PHX_DIAL_TARGET_H
#include "dial/addr.h"
#include "base/id.h"
#include "base/timer.h"

#define PHX__DIAL_HUBS 64u
#define PHX__DIAL_PICKS 8u /* nodes of its own choice that a node links with beyond the full mesh */

struct phx__dial_target { /* a hub, or a node that may be dialled */
    /* In the order in which they are tried. Behind a hub's are the addresses; a node's are in its card. NULL:
     * this target is free. */
    struct phx__dial_addr *at;
    uint8_t count;
    uint8_t untried, tried, open; /* of this round: bits of addresses to try; how many were; are */
    unsigned hub : 1;
    unsigned round : 1;
    unsigned verdict : 2;
    unsigned fresh : 2;     /* not dialled yet; 2: and has not given way to a dial of the node */
    unsigned failures : 26; /* rounds in a row, and links that did not last */
    uint32_t ticket;        /* 0; or it is due and waits for its turn, lower ones first */
    uint32_t node;          /* PHX__NONE for a hub nobody knows yet; of a free one the next free one */
};

struct phx__dial_node {   /* what is known of a node besides its addresses: of 65,536, so it is small */
    uint32_t up_at;       /* when it was last linked, in units of 1,024 us */
    unsigned target : 28; /* index + 1; 0: no addresses known */
    unsigned linked : 1;
    unsigned wanted : 1;    /* somebody sends to it */
    unsigned reachable : 1; /* there is some route */
    unsigned strayed : 1;   /* there was one: if the hub of hundreds dies others soon tell of ways to them */
};

struct phx__dial_pick {
    uint64_t score;
    uint32_t node;
};

struct phx__dial_targets {
    struct phx__mem *mem;
    struct phx__ids *ids;
    const struct phx__ratelimit *rate; /* knows the key of an address */
    phx *ctx;
    uint32_t (*addresses)(phx *ctx, uint32_t node, struct phx_address *out); /* see struct phx__dial_ops */
    struct phx__dial_target *at; /* hubs and nodes alike */
    struct phx__timers due; /* when to begin a round or try the next address; by index of target */
    uint32_t count, capacity, free;
    struct phx__dial_node *nodes; /* by node */
    uint32_t node_capacity;
    uint32_t known;                /* nodes that have addresses or a link */
    uint32_t reachable;            /* nodes that have addresses and a route */
    uint32_t hubs[PHX__DIAL_HUBS]; /* targets */
    uint32_t hub_count;
    struct phx__dial_pick picks[PHX__DIAL_PICKS]; /* dialled also beyond the mesh; ascending scores */
    uint32_t pick_count, picks_most; /* PHX__DIAL_PICKS, or 0 */
};

/* A target at rest for a node, or a hub (PHX__NONE). NULL: no memory. May move targets. */
PHX_PRIVATE struct phx__dial_target *phx__dial_target_new(struct phx__dial_targets *ts, uint32_t node,
                                                          const struct phx_address *a, uint32_t n);
/* The same for a node that had no addresses until now: it counts, and may become a pick. */
PHX_PRIVATE struct phx__dial_target *phx__dial_target_learn(struct phx__dial_targets *ts, uint32_t node,
                                                            const struct phx_address *a, uint32_t n);
/* The addresses of a target, each where `at` has it; one that is no more: without a family. */
PHX_PRIVATE void phx__dial_target_addresses(const struct phx__dial_targets *ts,
                                            const struct phx__dial_target *t,
                                            struct phx_address out[PHX__DIAL_ADDRESSES]);
/* Gives back what was kept of its addresses. */
PHX_PRIVATE void phx__dial_target_strip(struct phx__dial_targets *ts, struct phx__dial_target *t);
/* At rest, and none any more. */
PHX_PRIVATE void phx__dial_target_free(struct phx__dial_targets *ts, struct phx__dial_target *t);
/* A node that had addresses has none any more: its target, at rest, is none either. If it was a pick, the
 * target of the next best, or NULL. */
PHX_PRIVATE struct phx__dial_target *phx__dial_target_drop(struct phx__dial_targets *ts,
                                                           struct phx__dial_target *t);
PHX_PRIVATE int phx__dial_target_is_pick(const struct phx__dial_targets *ts, uint32_t node);
/* What is known of a node: nothing, if there is no room for it yet. */
PHX_PRIVATE const struct phx__dial_node *phx__dial_target_node(const struct phx__dial_targets *ts,
                                                               uint32_t node);
/* Makes room for what is known of a node. PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_target_reserve(struct phx__dial_targets *ts, uint32_t node);
/* The target of a node, or NULL. */
PHX_PRIVATE struct phx__dial_target *phx__dial_target_of(const struct phx__dial_targets *ts, uint32_t node);
/* All that stand for a node: its own and hubs where it was met. How many. */
PHX_PRIVATE uint32_t phx__dial_target_list(const struct phx__dial_targets *ts, uint32_t node,
                                           struct phx__dial_target *out[PHX__DIAL_HUBS + 1]);
/* One of them, its own if there is one; or NULL. */
PHX_PRIVATE const struct phx__dial_target *phx__dial_target_any(const struct phx__dial_targets *ts,
                                                                uint32_t node);
/* Are there no more such nodes than links: of those that can be reached if it can, else of all? */
PHX_PRIVATE int phx__dial_target_in_mesh(const struct phx__dial_targets *ts, uint32_t node, uint32_t mesh);

#endif
