/* broken.h - part of names: which names are lost with nodes that failed, and what changed in that. */
#ifndef PHX_BROKEN_H
#define PHX_BROKEN_H
#include "names.h"

/* A list of lost names: ascending, disjoint. */
struct phx__broken_list {
    struct phx_lost *at;
    uint32_t count, capacity;
};
struct phx__broken {
    struct phx__mem *mem;
    struct phx__names *names;
    /* When this node was found to have failed. Must not call back into this room. */
    uint64_t (*since)(void *ctx, uint32_t node);
    void *ctx;
    struct phx__broken_list now;        /* as of version */
    struct phx__broken_list told;       /* as the host believes, once the news below are told */
    struct phx__broken_list gone, come; /* news: told from the end */
    uint64_t version;                   /* of the names */
};
PHX_PRIVATE void phx__broken_init(struct phx__broken *b, struct phx__mem *mem,
                                  struct phx__names *names,
                                  uint64_t (*since)(void *ctx, uint32_t node), void *ctx);
PHX_PRIVATE void phx__broken_free(struct phx__broken *b);
/* Brings `now` up to date. 0 or PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__broken_find(struct phx__broken *b);
/* Turns the difference between `now` and what was told into news. 0 or PHX_ENOMEM: ask again later. */
PHX_PRIVATE int phx__broken_compare(struct phx__broken *b);
/* The next piece of news, those that are back first: 1 and *out, *broken; or 0. */
PHX_PRIVATE int phx__broken_take(struct phx__broken *b, struct phx_lost *out, int *broken);
/* This node is about to be forgotten: that its names were lost is no longer known to have been told. */
PHX_PRIVATE void phx__broken_forget(struct phx__broken *b, const struct phx_id *owner);
/* Where in `now` the names from `first` on begin. */
PHX_PRIVATE uint32_t phx__broken_at(const struct phx__broken *b, uint64_t first);

#endif
