/* addr.h - BRAIN: the addresses of a hub or node: which to try first, how each fared. */
#ifndef PHX_DIAL_ADDR_H
#define PHX_DIAL_ADDR_H
#include "base/ratelimit.h"

#define PHX__DIAL_ADDRESSES 8u /* addresses per node or hub, raced */

/* Who the last dial has proved to be at the other end. A REFUSE proves nothing. */
enum phx__dial_addr_met {
    PHX__DIAL_MET_NOBODY,
    PHX__DIAL_MET_RIGHT, /* the node that was dialled, or whoever a hub is */
    PHX__DIAL_MET_OTHER  /* another node lives there now */
};

/* What is known of one address of a target. The address itself is in the card of its node, or with a hub. */
struct phx__dial_addr {
    uint64_t key;      /* of the address */
    uint32_t tried_ms; /* when the last dial ended; 0: not tried. Milliseconds come round after 49 days */
    int16_t error;     /* how the last dial ended; 0: not tried or fine. PHX_ESELF: not tried for a while */
    uint8_t met;       /* enum phx__dial_addr_met */
    uint8_t dialled;   /* a dial is under way: the slot with this key */
};

/* When its last dial ended, in microseconds; 0: it was not tried. */
PHX_PRIVATE uint64_t phx__dial_addr_tried(const struct phx__dial_addr *at, uint64_t now);

/* In the order of a race: UNIX sockets, then IPv6 and IPv4 in turn, each once; how many there are. */
PHX_PRIVATE uint32_t phx__dial_addr_order(const struct phx_address *a, uint32_t count,
                                          struct phx_address out[PHX__DIAL_ADDRESSES]);
/* No two addresses have the same. l: has the salt. */
PHX_PRIVATE uint64_t phx__dial_addr_key(const struct phx__ratelimit *l, const struct phx_address *a);
/* Which one has this key, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__dial_addr_index(const struct phx__dial_addr *at, uint32_t count, uint64_t key);
/* The same set, in whatever order? */
PHX_PRIVATE int phx__dial_addr_is_same(const struct phx__ratelimit *l, const struct phx__dial_addr *at,
                                       uint32_t count, const struct phx_address *a, uint32_t n);
/* The ones that may be tried now, as bits. rest: how long one that led to this node itself, or to another
 * than it is of, is left alone. */
PHX_PRIVATE unsigned phx__dial_addr_usable(const struct phx__dial_addr *at, uint32_t count, uint64_t rest,
                                           uint64_t now);
/* When the first of them may be tried. */
PHX_PRIVATE uint64_t phx__dial_addr_first(const struct phx__dial_addr *at, uint32_t count, uint64_t rest,
                                          uint64_t now);

/* ---- rate.c: how often a node dials the addresses that it was told by others */

/* How long until this address may be dialled, 0: now. */
PHX_PRIVATE uint64_t phx__dial_rate_wait(const struct phx__ratelimit *l, const struct phx_address *a,
                                         uint64_t now);
/* One dial of this address. */
PHX_PRIVATE void phx__dial_rate_spend(struct phx__ratelimit *l, const struct phx_address *a, uint64_t now);
/* A node lives at this address: what was spent on it does not count, nor does this dial anywhere. */
PHX_PRIVATE void phx__dial_rate_return(struct phx__ratelimit *l, const struct phx_address *a);

#endif
