/* lost.h - BRAIN: which names are lost with nodes that failed, and what changed in that. */
#ifndef PHX_NAMES_LOST_H
#define PHX_NAMES_LOST_H
#include "names/names.h"

/* Lost names, ascending and disjoint; or news of names, oldest first. */
struct phx__names_lost_list {
    struct phx__names_lost_item {
        struct phx_lost names;
        int back; /* news: they are lost no more */
    } *at;
    uint32_t count, capacity;
};
struct phx__names_lost {
    struct phx__mem *mem;
    struct phx__names *names;
    /* When this node was found to have failed. Must not call back into this room. */
    uint64_t (*since)(phx *ctx, uint32_t node);
    phx *ctx;
    struct phx__names_lost_list now;  /* as of version, which is that of the names */
    struct phx__names_lost_list news; /* what changed in it */
    uint32_t taken;                   /* how many of the news */
    uint64_t version;
    struct phx__names_index dead;           /* the claims of the failed alone, as of dead_version */
    uint64_t dead_version;
};
PHX_PRIVATE void phx__names_lost_init(struct phx__names_lost *l, struct phx__mem *mem,
                                      struct phx__names *names,
                                      uint64_t (*since)(phx *ctx, uint32_t node), phx *ctx);
PHX_PRIVATE void phx__names_lost_free(struct phx__names_lost *l);
/* Brings the list up to date, and adds to the news what changed in it. 0 or PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__names_lost_find(struct phx__names_lost *l);
/* The next piece of news, of one change those that are back first: 1, *out and whether it is lost; or 0. */
PHX_PRIVATE int phx__names_lost_take(struct phx__names_lost *l, struct phx_lost *out, int *is_lost);
/* This node is about to be forgotten: its names leave the list, and that is no news. */
PHX_PRIVATE void phx__names_lost_forget(struct phx__names_lost *l, const struct phx_id *owner);
/* What is lost of first..last: how many ranges, of which at most `capacity` are put into out. */
PHX_PRIVATE size_t phx__names_lost_get(struct phx__names_lost *l, uint64_t first, uint64_t last,
                                       struct phx_lost *out, size_t capacity);

#endif
