/* addr.h - BRAIN: the addresses of this node: what its host told, and what its links teach. */
#ifndef PHX_NODE_ADDR_H
#define PHX_NODE_ADDR_H
#include "link/state.h"
#include "wire/route.h"

struct phx__observation {
    struct phx_id by;            /* the peer */
    struct phx_address from, at; /* the peer's address; where it sees us, as one of our addresses */
};
struct phx__node_addr { /* begins as zero, but for these two */
    phx *ctx;
    const struct phx_address *(*listener)(phx *ctx, uint32_t i); /* where it listens; NULL: no more */
    struct phx_address at[PHX__CARD_ADDRESSES]; /* what others are told */
    uint8_t count, learnt;                      /* learnt: bits of at, which give way */
    uint64_t here[32];                          /* hashes of our ends of links, a ring */
    struct phx__observation observation[8];     /* not agreed upon, a ring */
    uint32_t here_count, observation_next;
};

/* The host's word: 1 if it is new, 0 if not, PHX_ELIMIT. */
PHX_PRIVATE int phx__node_addr_add(struct phx__node_addr *a, const struct phx_address *at);
/* Can this link, which has come up, teach nothing? Then our end of it need not be found out. */
PHX_PRIVATE int phx__node_addr_is_idle(const struct phx__node_addr *a, const struct phx__link *l);
/* What a link with our end `here` has taught: bits. */
#define PHX__ADDR_NEW 1    /* others are to be told of a new address */
#define PHX__ADDR_AGREED 2 /* ... the last one, at which two peers see this node */
#define PHX__ADDR_MOVED 4  /* it is in a network that is new to it */
PHX_PRIVATE int phx__node_addr_learn(struct phx__node_addr *a, const struct phx__link *l,
                                     const struct phx_address *here);

#endif
