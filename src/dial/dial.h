/* dial.h - BRAIN: who exists and how to reach them: hubs, learnt contacts, whom to dial next and when. */
#ifndef PHX_DIAL_DIAL_H
#define PHX_DIAL_DIAL_H
#include "dial/slot.h"
#include "dial/pick.h"
#include "dial/ratelimit.h"
#include "dial/addr.h"
#include "dial/backoff.h"
#include "base/rnd.h"
#include "base/timer.h"

#define PHX__DISC_HUBS 64u

struct phx__dial_limits {
    uint32_t max_links; /* up to here every known node is dialled, beyond it a few */
    uint32_t max_dials; /* attempts under way at once */
    uint64_t retry_min_us, retry_max_us;
    uint32_t crowd; /* beyond so many known nodes first dials are spread and counted; 0: never */
};

/* dial is called from phx__dial_due only. Neither may call back into this room, but for
 * phx__dial_answered. */
struct phx__dial_ops {
    void *ctx;
    /* Begin a connection. 0: under way, the outcome comes as phx__dial_result or phx__dial_up with this
     * attempt number; negative: failed at once with that reason. expect: the node that should answer,
     * PHX__NONE if any. */
    int (*dial)(void *ctx, uint32_t attempt, uint32_t expect, const struct phx_address *to);
    /* Give this attempt up (another address won). No result is wanted. */
    void (*abandon)(void *ctx, uint32_t attempt);
    /* Ask whoever told of the last new node whether that was all: see phx__dial_told_all. */
    void (*ask)(void *ctx);
    /* The addresses of a node for which phx__dial_contact was called, as they are now, at most
     * PHX__DISC_ADDRESSES: how many. NULL: they are all kept here. */
    uint32_t (*addresses)(void *ctx, uint32_t node, struct phx_address *out);
};

struct phx__dial_target {           /* a hub or a node one could dial */
    struct phx__dial_addr *at;        /* in the order in which they are tried */
    uint8_t count;
    uint8_t untried, tried, open; /* of this round: bits of addresses to try; how many were; are */
    uint8_t in_use, hub, round, queued, verdict;
    uint8_t fresh;                 /* not dialled yet, and may be left to the other so often */
    uint32_t node;                 /* PHX__NONE for a hub nobody knows yet */
    uint16_t failures, duplicates; /* rounds in a row that ended so */
    uint32_t timer;                /* when to begin a round or try the next address */
    uint32_t before, after;        /* in the queue; a free slot: after is the next free one */
};
struct phx__dial_node { /* what is known of a node besides its addresses */
    uint32_t up_at; /* in units of 1,024 us */
    uint32_t target; /* slot + 1; 0: no addresses known; or PHX__TARGET_LATENT */
    uint8_t linked;    /* 2: and it has left, so the link will soon be gone */
    uint8_t wanted, flaps;
    uint8_t reachable; /* there is some route */
};
struct phx__dial {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__dial_ops ops;
    struct phx__dial_limits limits;
    struct phx__dial_target *targets; /* slots: hubs and nodes alike */
    uint32_t target_count, target_capacity, target_free;
    struct phx__dial_node *nodes; /* by node */
    uint32_t node_capacity;
    struct phx__dial_slots attempts; /* max_dials of them */
    uint64_t room_at; /* none of them gives way before; UINT64_MAX: not known */
    uint32_t links, known;
    uint32_t latent; /* of these, how many have addresses and no target yet, see target.c */
    uint32_t hubs[PHX__DISC_HUBS]; /* slots */
    uint32_t hub_count;
    struct phx__dial_picks best; /* nodes dialled also beyond max_links */
    uint32_t head, tail; /* the queue: targets that are due and wait for max_dials */
    struct phx__ratelimit budget; /* of dials at learnt addresses */
    int listening;       /* this node can be dialled */
    int stopped;         /* closing: dial no more */
    uint32_t pace;       /* dials at once, in a crowd */
    uint64_t slowed_at;  /* when it was last halved */
    uint64_t quickest;   /* the least that a link took from dial to up */
    uint64_t learnt_at;  /* when a node was last heard of for the first time */
    uint64_t news_at;    /* ... and when the first of those was that are still waited for */
    uint64_t asked_at, told_all_at; /* ... it was asked whether that was all; and that was all */
    uint64_t linked_at;  /* when a link last came up */
    uint64_t now;        /* the latest time told, for calls that are not told */
};

PHX_PRIVATE int phx__dial_init(struct phx__dial *d, struct phx__mem *mem, struct phx__ids *ids,
                               struct phx__timers *timers, struct phx__rnd *rnd,
                               const struct phx__dial_limits *limits,
                               const struct phx__dial_ops *ops);
PHX_PRIVATE void phx__dial_free(struct phx__dial *d);
/* This node accepts links: its peers may dial it, so of two listening nodes only one dials at first. */
PHX_PRIVATE void phx__dial_listening(struct phx__dial *d, int yes);
/* A hub: dialled at once and for ever. The same addresses again are no second hub. At most
 * PHX__DISC_ADDRESSES are kept. PHX_EINVAL (none), PHX_ELIMIT, PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_hub(struct phx__dial *d, const struct phx_address *a, uint32_t count,
                              uint64_t now);
/* What `node` says of its own addresses replaces what was known of it. count 0: it cannot be dialled.
 * PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__dial_contact(struct phx__dial *d, uint32_t node, const struct phx_address *a,
                                  uint32_t count, uint64_t now);
/* A link with node is up (attempt: the one that made it, or PHX__NONE if the peer dialled) or down.
 * PHX_ENOMEM: it is not taken note of: close the link. The attempt is over in any case. */
PHX_PRIVATE int phx__dial_up(struct phx__dial *d, uint32_t node, uint32_t attempt, uint64_t now);
PHX_PRIVATE void phx__dial_down(struct phx__dial *d, uint32_t node, uint64_t now);
/* The other side of this attempt has proved to be `node` (PHX__NONE: one not known here), and up or a
 * result will follow. Without it a PHX_EDUPLICATE may come from anybody: the other addresses are tried,
 * and a hub is dialled on, since it could not be told from one without a link. */
PHX_PRIVATE void phx__dial_meet(struct phx__dial *d, uint32_t attempt, uint32_t node);
/* An attempt failed, why. PHX_EDUPLICATE and PHX_ESELF are not failures of the address; after
 * PHX_ESELF it rests for ten times retry_max. Attempts that are over or abandoned are ignored. */
PHX_PRIVATE void phx__dial_result(struct phx__dial *d, uint32_t attempt, int error, uint64_t now);
/* Somebody wants to send to node over a direct link: dial even beyond the bound, until a link is up. */
PHX_PRIVATE void phx__dial_want(struct phx__dial *d, uint32_t node, uint64_t now);
/* There is a route to the node, or there is none. What failed before it was back may work now. */
PHX_PRIVATE void phx__dial_route(struct phx__dial *d, uint32_t node, int reachable, uint64_t now);
/* This node has a new address of its own: it is in another network. */
PHX_PRIVATE void phx__dial_moved(struct phx__dial *d, uint64_t now);
/* Whoever was asked knows no more than this node does. */
PHX_PRIVATE void phx__dial_told_all(struct phx__dial *d, uint64_t now);
/* The other side of this attempt has answered the connection; what it says is still to come. */
PHX_PRIVATE void phx__dial_answered(struct phx__dial *d, uint32_t attempt);
/* The node left or is forgotten: dial no more. A link with it stays one until phx__dial_down, which must
 * come before its index is used again. */
PHX_PRIVATE void phx__dial_forget(struct phx__dial *d, uint32_t node);
/* The addresses under which a node is dialled and how each fared; how many. */
PHX_PRIVATE uint32_t phx__dial_look(const struct phx__dial *d, uint32_t node,
                                    const struct phx__dial_addr **at);
PHX_PRIVATE void phx__dial_stop(struct phx__dial *d);
/* PHX__TIMER_DISC fired with this argument. */
PHX_PRIVATE void phx__dial_due(struct phx__dial *d, uint32_t arg, uint64_t now);

#endif
