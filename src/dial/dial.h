/* dial.h - BRAIN: who exists and how to reach them: hubs, known nodes, whom to dial next and when. */
#ifndef PHX_DIAL_DIAL_H
#define PHX_DIAL_DIAL_H
#include "dial/slot.h"
#include "dial/start.h"
#include "dial/target.h"

struct phx__dial_limits {
    uint32_t max_links; /* with so many only hubs are dialled */
    uint32_t full_mesh; /* up to here every known node is dialled, beyond it a few; 0: none unasked */
    uint32_t max_dials; /* under way at once */
    uint64_t retry_min_us, retry_max_us;
    uint32_t start_above; /* above this many known nodes a start is paced (start.c); 0: never */
};

/* Only phx__dial_due calls dial. None of these may call back into this room, but for phx__dial_answered. */
struct phx__dial_ops {
    phx *ctx;
    /* Begin a connection. 0: under way, the outcome comes as phx__dial_result or phx__dial_up with this slot;
     * negative: failed at once with that reason. expect: the node that should answer, PHX__NONE if any. */
    int (*dial)(phx *ctx, uint32_t slot, uint32_t expect, const struct phx_address *to);
    /* Give this dial up (another address won). No result is wanted. */
    void (*abandon)(phx *ctx, uint32_t slot);
    /* Are messages under way, or have some passed since it was last asked, whosever they are? Links that
     * nobody needs at once can wait for them. */
    int (*busy)(phx *ctx);
    /* A node's addresses as they are now, after phx__dial_set_addrs: how many, up to PHX__DIAL_ADDRESSES. */
    uint32_t (*addresses)(phx *ctx, uint32_t node, struct phx_address *out);
};

struct phx__dial {
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__dial_ops ops;
    struct phx__dial_limits limits;
    struct phx__dial_targets targets;
    struct phx__dial_slots slots; /* max_dials of them */
    struct phx__dial_start start;
    struct phx__ratelimit rate; /* of dials at addresses that others told */
    uint64_t room_at;           /* no slot gives way before; UINT64_MAX: when a dial has ended */
    uint32_t links;
    uint32_t waiting;   /* targets that wait for their turn */
    uint32_t ticket;    /* the last that one of them was given */
    uint32_t timer;     /* PHX__TIMER_DIAL: when somebody is due, or may take its turn */
    uint32_t ask_timer; /* PHX__TIMER_HUBS; PHX__NONE: nobody is asked for hubs */
    int listening;       /* this node can be dialled, so of two such nodes only one dials at first */
    int stopped;         /* closing: dial no more */
    int held;            /* bounds that hold, as bits */
    const uint64_t *now; /* the owner's clock, which never runs backwards */
};

PHX_PRIVATE int phx__dial_init(struct phx__dial *d, struct phx__mem *mem, struct phx__ids *ids,
                               struct phx__timers *timers, struct phx__rnd *rnd, const uint64_t *now,
                               const struct phx__dial_limits *limits, const struct phx__dial_ops *ops);
PHX_PRIVATE void phx__dial_free(struct phx__dial *d);
/* From now on there is PHX__TIMER_HUBS. PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_ask_for_hubs(struct phx__dial *d);
/* PHX__TIMER_HUBS fired: 1 if the host is to be asked, and the next time is not before retry_max is over. */
PHX_PRIVATE int phx__dial_lacks_hubs(struct phx__dial *d);
/* A hub: dialled at once and for ever. The same addresses again are no second hub. Keeps at most
 * PHX__DIAL_ADDRESSES. PHX_EINVAL (none), PHX_ELIMIT, PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_hub(struct phx__dial *d, const struct phx_address *a, uint32_t count);
/* That hub is one no more: it is not dialled, a link with it stays. PHX_ENOTFOUND: there is none. */
PHX_PRIVATE int phx__dial_unhub(struct phx__dial *d, const struct phx_address *a, uint32_t count);
/* The addresses that `node` says it has, in place of those known; count 0: none. PHX_ENOMEM: no change. */
PHX_PRIVATE int phx__dial_set_addrs(struct phx__dial *d, uint32_t node, const struct phx_address *a,
                                    uint32_t count);
/* A link with node is up (slot: of the dial that made it, or PHX__NONE if the peer dialled) or down.
 * PHX_ENOMEM: it is not taken note of: close the link. The dial is over in any case.
 * rests: one side has too many links, and both can do without this one. */
PHX_PRIVATE int phx__dial_up(struct phx__dial *d, uint32_t node, uint32_t slot);
PHX_PRIVATE void phx__dial_down(struct phx__dial *d, uint32_t node, int rests);
/* Somebody who says to be node dials us and is answered: our first dial of it, if it can wait, leaves him so
 * long. Once: nothing is proved yet. */
PHX_PRIVATE void phx__dial_give_way(struct phx__dial *d, uint32_t node, uint64_t patience);
/* The dial that we have answered has come to nothing: most often it was another node's address before. */
PHX_PRIVATE void phx__dial_resume(struct phx__dial *d, uint32_t node);
/* The other side of this dial has proved to be `node` (PHX__NONE: unknown). Else others are tried. */
PHX_PRIVATE void phx__dial_meet(struct phx__dial *d, uint32_t slot, uint32_t node);
/* A dial failed, why. PHX_EDUPLICATE and PHX_ESELF are not failures of the address; after PHX_ESELF it rests
 * for ten times retry_max. Dials that are over or abandoned are ignored. */
PHX_PRIVATE void phx__dial_result(struct phx__dial *d, uint32_t slot, int error);
/* Somebody wants to send to node over a direct link: dial even beyond the bound, until a link is up. */
PHX_PRIVATE void phx__dial_want(struct phx__dial *d, uint32_t node);
/* There is a route to the node, or there is none. What failed before it was back may work now. */
PHX_PRIVATE void phx__dial_route(struct phx__dial *d, uint32_t node, int reachable);
/* This node has a new address of its own, so it is in another network; or other keys, or more room. */
PHX_PRIVATE void phx__dial_moved(struct phx__dial *d);
/* The connection of this dial is answered, but no word yet; 0: that was in vain, it goes on another way. */
PHX_PRIVATE void phx__dial_answered(struct phx__dial *d, uint32_t slot, int answered);
/* The node left or is forgotten: dial no more. Said without a link before its index is used again. */
PHX_PRIVATE void phx__dial_forget(struct phx__dial *d, uint32_t node);
/* Is a dial of this node under way whose connection was answered? */
PHX_PRIVATE int phx__dial_is_answered(const struct phx__dial *d, uint32_t node);
/* Was the address of this dial never dialled before? */
PHX_PRIVATE int phx__dial_is_first(const struct phx__dial *d, uint32_t slot);
PHX_PRIVATE void phx__dial_stop(struct phx__dial *d);
/* PHX__TIMER_DIAL fired. */
PHX_PRIVATE void phx__dial_due(struct phx__dial *d);

#endif
