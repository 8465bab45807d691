/* lost.h - BRAIN: which names are lost with nodes that failed, and what changed in that. */
#ifndef PHX_NAMES_LOST_H
#define PHX_NAMES_LOST_H
#include "names/names.h"

/* A list of lost names: ascending, disjoint. */
struct phx__names_lost_list {
    struct phx_lost *at;
    uint32_t count, capacity;
};
struct phx__names_lost {
    struct phx__mem *mem;
    struct phx__names *names;
    /* When this node was found to have failed. Must not call back into this room. */
    uint64_t (*since)(phx *ctx, uint32_t node);
    phx *ctx;
    struct phx__names_lost_list now;        /* as of version */
    int fresh;                              /* it is not compared with told yet */
    struct phx__names_lost_list told;       /* as the host believes, once the news below are told */
    struct phx__names_lost_list gone, come; /* news, names that are back or lost */
    uint32_t taken;                         /* how many of the first of these that is not empty */
    uint64_t version;                       /* of the names */
    struct phx__names_index dead;           /* the claims of the failed alone, as of dead_version */
    uint64_t dead_version;
};
PHX_PRIVATE void phx__names_lost_init(struct phx__names_lost *l, struct phx__mem *mem,
                                      struct phx__names *names,
                                      uint64_t (*since)(phx *ctx, uint32_t node), phx *ctx);
PHX_PRIVATE void phx__names_lost_free(struct phx__names_lost *l);
/* Turns the difference between what is lost and what was told into news. 0 or PHX_ENOMEM: ask again later. */
PHX_PRIVATE int phx__names_lost_compare(struct phx__names_lost *l);
/* The next piece of news, those that are back first: 1, *out and whether it is lost; or 0. */
PHX_PRIVATE int phx__names_lost_take(struct phx__names_lost *l, struct phx_lost *out, int *is_lost);
/* This node is about to be forgotten: that its names were lost is no longer known to have been told. */
PHX_PRIVATE void phx__names_lost_forget(struct phx__names_lost *l, const struct phx_id *owner);
/* What is lost of first..last: how many ranges, of which at most `capacity` are put into out. */
PHX_PRIVATE size_t phx__names_lost_get(struct phx__names_lost *l, uint64_t first, uint64_t last,
                                       struct phx_lost *out, size_t capacity);

#endif
