/* route.h - BRAIN: optimized DSDV: which neighbour leads to whom, and whom to tell what. */
#ifndef PHX_ROUTE_ROUTE_H
#define PHX_ROUTE_ROUTE_H
#include "base/rnd.h"
#include "route/table.h"
#include "base/timer.h"
#include "wire/wire.h"

struct phx__route_ops {
    void *ctx;
    /* Entries for a neighbour, to leave as one message. ids is the table that trans_first and trans_count
     * refer to (PHX_ROUTING_PAPER only, else count 0). */
    void (*update)(void *ctx, uint32_t nbr, const struct phx__entry *entries, uint32_t count,
                   const struct phx_id *ids, uint32_t id_count);
    void (*request)(void *ctx, uint32_t nbr, uint32_t node, uint32_t seq, int hops);
    /* A heartbeat now. */
    void (*beat)(void *ctx, uint32_t nbr, int flags); /* PHX__BEAT_* */
    /* A summary of the table, as phx__route_summary_* of this side would read it. */
    void (*summary)(void *ctx, uint32_t nbr, int reply);
};

/* What a link's hello has already said: the peer's number, and our number and card that it knows. */
struct phx__route_hello {
    uint64_t incarnation;
    uint32_t seq, card; /* the peer's number, and the version of its card */
    uint32_t told_seq, told_card;
};

struct phx__route_nbr {
    uint32_t node;
    uint8_t dirty;        /* look again what to tell it, of every destination; 2: after a loss */
    uint8_t disagreed;    /* beats in a row whose digest was not ours */
    uint8_t near_guide;   /* the guide's own word is that it is next to it */
    uint8_t relinked;     /* something is told it again: look at every destination */
    uint32_t leads_to;    /* scratch */
    uint64_t around;      /* hash of it and its neighbours, from its last beat; 0: not known */
    uint64_t around_told; /* ours, as last sent to it; 0: never */
    uint64_t summary_at, summary_wait; /* the next summary not before, and the wait after it */
};

struct phx__route {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__route_ops ops;
    int variant;   /* enum phx_routing */
    int hop_limit; /* of requests, and of routes: what is farther cannot be reached */
    int relay;     /* 0: nobody is told of a way through this node */
    struct phx__table table;
    struct phx__route_nbr *nbrs;
    uint32_t nbr_count, nbr_capacity;
    uint32_t *dirty; /* destinations with PHX__DEST_DIRTY */
    uint32_t dirty_count, dirty_capacity;
    uint32_t guide, guide_known; /* whom most is left to; how many were known when it was chosen */
    uint32_t *open; /* destinations with PHX__DEST_OPEN */
    uint32_t open_count, open_capacity;
    uint32_t *changed; /* destinations with PHX__DEST_CHANGED */
    uint32_t changed_count, changed_capacity;
    struct phx__entry *out; /* scratch for one message */
    uint32_t out_capacity;
    struct phx_id *out_ids; /* scratch, PHX_ROUTING_PAPER */
    uint32_t out_id_count, out_id_capacity;
    uint32_t known, reachable;
    uint64_t digest;       /* over reachable nodes, this one included */
    uint64_t around;       /* over this node and its neighbours */
    uint64_t moved;        /* when the table last changed */
    uint64_t told_at, gap; /* pace: last telling, and the least time until the next */
    int urgent;            /* a loss or an answer waits: no pacing */
    uint32_t lapsed;       /* destinations with PHX__DEST_LAPSED */
    int leftover;          /* somebody is no neighbour any more, and what it was told is still there */
    uint64_t rise_to, risen_at, risen_from; /* the life to come to, when we last rose, and from which */
    uint32_t shrunk;       /* neighbours lost since we last told anybody anything */
    int look;              /* some neighbour is dirty */
    int quiet_due;         /* beats are owed to neighbours once the table is quiet */
    uint32_t tell_timer, chore_timer;
    uint64_t entries_out, updates_out, requests_out; /* counters for phx_stats */
};

PHX_PRIVATE int phx__route_init(struct phx__route *r, struct phx__mem *mem, struct phx__ids *ids,
                                struct phx__timers *timers, struct phx__rnd *rnd, int variant,
                                int hop_limit, uint64_t incarnation,
                                const struct phx__route_ops *ops);
PHX_PRIVATE void phx__route_free(struct phx__route *r);

/* This node says something new of itself: 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_card(struct phx__route *r, const uint8_t *card, uint32_t size,
                                uint64_t now);
/* 0, PHX_ENOMEM, or PHX_ELIMIT: 65,535 neighbours are all that a table takes. */
PHX_PRIVATE int phx__route_up(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h,
                              uint64_t now);
PHX_PRIVATE void phx__route_down(struct phx__route *r, uint32_t nbr, uint64_t now);

/* Frames from a neighbour, decoded. trans: nodes of the entry's trans set (PHX_ROUTING_PAPER). Return
 * 0, PHX_ENOMEM or PHX_ELIMIT: the entry was dropped; a digest will tell. */
PHX_PRIVATE int phx__route_entry(struct phx__route *r, uint32_t nbr, const struct phx__entry *e,
                                 const uint8_t *trans, uint64_t now);
PHX_PRIVATE void phx__route_request(struct phx__route *r, uint32_t nbr,
                                    const struct phx__request *q, int hops, uint64_t now);
PHX_PRIVATE void phx__route_beat(struct phx__route *r, uint32_t nbr, const struct phx__beat *b,
                                 int shrunk, uint64_t now);
PHX_PRIVATE void phx__route_summary_begin(struct phx__route *r);
PHX_PRIVATE void phx__route_summary_line(struct phx__route *r, uint32_t nbr,
                                         const struct phx__summary_line *s);
PHX_PRIVATE void phx__route_summary_end(struct phx__route *r, uint32_t nbr, int reply);

/* The inbox is empty: tell what there is to tell, or set a timer if that was done a moment ago. */
PHX_PRIVATE void phx__route_advert_flush(struct phx__route *r, uint64_t now);
/* PHX__TIMER_ROUTE_TELL and PHX__TIMER_ROUTE_CHORE. A destination that was given up for good comes
 * back through *forgotten (else PHX__NONE); call again until it does not. */
PHX_PRIVATE void phx__route_due(struct phx__route *r, int kind, uint64_t now, uint32_t *forgotten);

/* Destinations whose next hop, reachability or card changed: 1 and *node, or 0. */
PHX_PRIVATE int phx__route_take_changed(struct phx__route *r, uint32_t *node);
PHX_PRIVATE const struct phx__dest *phx__route_dest(const struct phx__route *r,
                                                    uint32_t node); /* or NULL */
/* The neighbour towards node, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__route_next(const struct phx__route *r, uint32_t node);
/* Is this neighbour known to be next to that node? */
PHX_PRIVATE int phx__route_advert_is_next_to(const struct phx__route *r, uint32_t nbr, uint32_t node);
PHX_PRIVATE void phx__route_fill_beat(struct phx__route *r, uint32_t nbr, struct phx__beat *b);

/* Shared by route.c and advert.c. */
/* The table is quiet when it has not changed for this long: then digests mean something, and the hash of
 * the neighbourhood is worth sending. */
#define PHX__ROUTE_QUIET PHX__SECOND
/* ... and for so much longer for each node known beyond a few dozen. While hundreds start on a few cores, a
 * second without news only says that the others have no processor; digests differ then, and the summaries
 * that follow, a table per link, would keep the processors busy for good. */
#define PHX__ROUTE_QUIET_EACH (20 * PHX__MS)
#define PHX__ROUTE_QUIET_CROWD 64u
PHX_PRIVATE uint64_t phx__route_quiet_at(const struct phx__route *r); /* when it is quiet next */
PHX_PRIVATE struct phx__route_nbr *phx__route_nbr(const struct phx__route *r, uint32_t node);
/* Chores are due at `at` or before. */
PHX_PRIVATE void phx__route_plan(struct phx__route *r, uint64_t at);

/* For classic.c: the papers' update rules, see there. */
PHX_PRIVATE void phx__route_touch(struct phx__route *r, uint32_t node, uint64_t now);
PHX_PRIVATE void phx__route_use(struct phx__route *r, uint32_t node, uint32_t next, uint32_t seq,
                                uint8_t hops, uint64_t now);
PHX_PRIVATE int phx__route_classic_entry(struct phx__route *r, uint32_t nbr, uint32_t node,
                                         const struct phx__entry *e, const uint8_t *trans,
                                         uint64_t now);
PHX_PRIVATE void phx__route_classic_lost(struct phx__route *r, uint32_t nbr, uint32_t node,
                                         uint64_t now);
PHX_PRIVATE int phx__route_classic_needs(const struct phx__route *r, const struct phx__dest *d,
                                         uint32_t nbr);
PHX_PRIVATE void phx__route_classic_sets(struct phx__route *r, uint32_t count);

#endif
