/* ratelimit.h - BRAIN: how often something may be done to a place: dials at an address, lines in the log. */
#ifndef PHX_DIAL_RATELIMIT_H
#define PHX_DIAL_RATELIMIT_H
#include "dial/addr.h"

struct phx__ratelimit_rule {
    uint64_t interval_us; /* one more after each of these ... */
    uint32_t burst;       /* ... and so many at once */
};

struct phx__ratelimit_line { /* of one place */
    uint64_t place;       /* 0: free */
    uint64_t at;          /* when all that was taken will be paid for */
    uint32_t denied;      /* since the last that was granted */
};

struct phx__ratelimit {
    struct phx__mem *mem;
    struct phx__ratelimit_line *lines;
    uint32_t count; /* a power of two */
    uint64_t salt;  /* so that nobody can choose places that meet in the table */
    uint64_t all;   /* as `at`, of all places together */
};

/* count: how many places are remembered, a power of two and at least 4. PHX_ENOMEM. */
PHX_PRIVATE int phx__ratelimit_init(struct phx__ratelimit *b, struct phx__mem *mem, uint32_t count,
                                 uint64_t salt);
PHX_PRIVATE void phx__ratelimit_free(struct phx__ratelimit *b);

/* The place that an address is (with_port 0: its host, any port). Never 0. */
PHX_PRIVATE uint64_t phx__ratelimit_place(const struct phx__ratelimit *b, const struct phx_address *a,
                                       int with_port);
/* Takes one for this place: how many were denied before it, or -1 if it is denied too. */
PHX_PRIVATE int64_t phx__ratelimit_take(struct phx__ratelimit *b, uint64_t place,
                                     const struct phx__ratelimit_rule *rule, uint64_t now);
/* Takes one of all places together: 1, or 0 if it is denied. */
PHX_PRIVATE int phx__ratelimit_take_all(struct phx__ratelimit *b, const struct phx__ratelimit_rule *rule,
                                     uint64_t now);

/* Dials of addresses that were learnt from others. How long until the first of these may be dialled, 0: now;
 * which: bits. */
PHX_PRIVATE uint64_t phx__ratelimit_first(const struct phx__ratelimit *b, const struct phx__dial_addr *at,
                                       uint32_t count, unsigned which, uint64_t now);
PHX_PRIVATE void phx__ratelimit_dialled(struct phx__ratelimit *b, const struct phx_address *a,
                                     uint64_t now);
/* A node has proved that it lives there: what was spent does not count, and the dial that showed it, if it
 * was paid for, is given back to its host too. */
PHX_PRIVATE void phx__ratelimit_good(struct phx__ratelimit *b, const struct phx_address *a, int paid);

#endif
