/* handover.h - BRAIN: names given to another node: the giver asks until it sees them taken. */
#ifndef PHX_NODE_HANDOVER_H
#define PHX_NODE_HANDOVER_H
#include "names/index.h"
#include "node/env.h"

struct phx__node_handover_ops {
    /* The first stretch of *range that node holds by a claim up to this epoch: 1 and *out; 0; PHX_ENOMEM. */
    int (*held)(phx *ctx, uint32_t node, const struct phx_range *range, uint64_t epoch,
                struct phx_range *out);
    void (*release)(phx *ctx, const struct phx_range *range);
    /* Assumes the names and tells the host, which may call anything. 0: this node takes no more. */
    int (*take)(phx *ctx, const struct phx_range *range, const struct phx_id *giver);
    void (*end)(phx *ctx, uint32_t ranges); /* so many ranges have lost their heir */
};
struct phx__node_handover_item {
    struct phx_range range; /* the first member: phx__names_index_find */
    struct phx_id heir;
    uint64_t epoch;    /* the highest known when the names were given away */
    uint64_t at, wait; /* when the heir is asked again, and how long after that */
};
struct phx__node_handover {
    struct phx__node_env env;
    struct phx__node_handover_ops ops;
    struct phx__node_handover_item *at; /* sorted, disjoint */
    uint32_t count, capacity;
    uint32_t timer;
};

/* 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__node_handover_init(struct phx__node_handover *h, const struct phx__node_env *env,
                                        const struct phx__node_handover_ops *ops);
/* 0, PHX_ENOTFOUND: not all of it is held, PHX_ESTATE: some goes to another, PHX_ELIMIT, PHX_ENOMEM. */
PHX_PRIVATE int phx__node_handover_give(struct phx__node_handover *h, struct phx_range range, uint32_t heir,
                                        uint64_t epoch, uint64_t now);
/* Cuts *rest behind the next stretch that is not handed to this heir (NULL: to nobody): 1 and *out, or 0. */
PHX_PRIVATE int phx__node_handover_next(const struct phx__node_handover *h, const struct phx_id *heir,
                                        struct phx_range *rest, struct phx_range *out);
/* The owner or the claim of some of these names has changed. The timer fired. */
PHX_PRIVATE void phx__node_handover_names(struct phx__node_handover *h, const struct phx_range *names,
                                          uint64_t now);
PHX_PRIVATE void phx__node_handover_due(struct phx__node_handover *h, uint64_t now);
/* Releases all own names but those that are being handed. */
PHX_PRIVATE void phx__node_handover_release(struct phx__node_handover *h);
PHX_PRIVATE void phx__node_handover_gone(struct phx__node_handover *h, uint32_t node); /* failed or left */
/* 0 or PHX_EPROTO. */
PHX_PRIVATE int phx__node_handover_on_hand(struct phx__node_handover *h, const struct phx__frame *f);

#endif
