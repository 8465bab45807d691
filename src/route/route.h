/* route.h - BRAIN: optimized DSDV: the next hop for each destination, and what to advertise to whom. */
#ifndef PHX_ROUTE_ROUTE_H
#define PHX_ROUTE_ROUTE_H
#include "base/rnd.h"
#include "route/gap.h"
#include "route/rtt.h"
#include "route/table.h"
#include "base/timer.h"
#include "wire/link.h"
#include "wire/route.h"

struct phx__route_ops {
    phx *ctx;
    /* Sends entries to a neighbour as one message. */
    void (*update)(phx *ctx, uint32_t nbr, const struct phx__entry *entries, uint32_t count);
    /* How many bytes of entries the neighbour may be sent now, or one entry that has more. 0: later. */
    size_t (*room)(phx *ctx, uint32_t nbr);
    void (*request)(phx *ctx, uint32_t nbr, uint32_t node, uint32_t seq, int hops);
    /* Sends a heartbeat now. */
    void (*beat)(phx *ctx, uint32_t nbr, int flags); /* PHX__BEAT_* */
    /* Do first dials of this node wait for their turn? */
    int (*starting)(phx *ctx);
    /* Sends a summary of the table, which phx__route_summary_* of the other side reads. */
    void (*summary)(phx *ctx, uint32_t nbr, int reply);
};

/* What a link's hello has said: the peer's number, and our number and card as the peer knows them. */
struct phx__route_hello {
    uint64_t incarnation;
    uint32_t seq, card; /* the peer's number, and the version of its card */
    uint32_t told_seq, told_card;
    int metric; /* both have PHX__FEATURE_RTT */
};

struct phx__route_nbr {
    uint32_t node;
    uint8_t dirty;       /* check every destination for this neighbour; 2: after a loss */
    uint8_t disagreed;   /* consecutive beats whose digest was not ours */
    uint8_t adjacent_to_delegate; /* by the delegate's own entry */
    uint8_t stands;      /* its neighbourhood has not changed of late */
    uint8_t shrank;      /* is to be told so once the table is quiet */
    uint8_t vague;       /* our neighbourhood, as told, has losses in it that are not settled */
    uint8_t relinked;    /* entries are due again: check every destination */
    uint8_t cut;         /* a link of it is in the list of cuts */
    uint8_t metric;      /* it is told round trip times; 2: and was told of all ways that are a choice */
    uint32_t leads_to;   /* scratch */
    struct phx__route_rtt_link rtt;
    uint32_t offers;     /* how many destinations it offers a way to */
    uint32_t neighbours; /* how many it has, from its last beat; 0: not known */
    uint32_t from;       /* where the next check of every destination begins: where room ended */
    uint64_t neighbourhood; /* hash of it and its neighbours, from its last beat; 0, NOBODYS: not known */
    uint64_t changed_at;    /* when a beat last said another one */
    uint64_t held_at;       /* since when entries are held back until that stands; 0: none are */
    uint64_t asked_at;      /* when it was last asked for it because of them */
    uint64_t claimed; /* our own when the neighbour was last told our neighbourhood; 0: never */
    struct phx__route_gap gap;   /* by which losses that differs from our own now */
    uint64_t summary_at, summary_wait; /* the next summary not before, and the wait after it */
};

/* Destinations with a certain flag. */
struct phx__route_list {
    uint32_t *at;
    uint32_t count, capacity;
};

/* A neighbour that was lost: see gap.c. */
struct phx__route_loss {
    uint64_t until; /* when it is settled; 0: all are told with the next flush */
    uint32_t node;
    int asked;   /* somebody was asked for a way to it */
    int settled; /* without being told; but there is a way to it */
};

struct phx__route_lost {
    struct phx__route_loss *at; /* room for all neighbours, too */
    uint32_t count, capacity;
    uint64_t naming; /* the hash that the next beat tells as lost; 0: none */
    uint64_t claimed; /* our neighbourhood and those that all have lost: they need not be told of these */
    int leftover;    /* what a former neighbour was told is still noted, e.g. for lack of memory */
};

/* When a flush advertises, and what waits for it. */
struct phx__route_pace {
    uint64_t told_at, gap; /* the last flush that advertised, and the least time until the next */
    uint64_t flushed_at;   /* the last flush that had something to do */
    int urgent;            /* a loss or an answer waits: no pacing */
    int shrunk;            /* losses are to be told with the next flush */
    int news;              /* more than ways that are merely shorter waits */
    int far;               /* ways through others to nodes that were unreachable wait; 2: relays know */
    int busy;              /* messages are under way: set from outside */
    uint64_t since;        /* the first of these came; 0: there are none */
    int look;              /* some neighbour is dirty */
    int choice;            /* once the table is quiet: some destination has ways to choose from */
    int owed, held;        /* .. beats may be owed to neighbours; entries may be held back for some */
    uint64_t linked_at;    /* when a link last came */
    uint64_t starts_at;    /* since when first dials wait; 0: none did when it was last looked */
    int frank;             /* that is so long that a start counts no more */
    uint64_t forget_at;    /* no destination is given up before */
    uint32_t tell_timer, chore_timer;
};

/* The incarnation to reach after a lie about this node, when the last step was made, and from where. */
struct phx__route_rise {
    uint64_t to, at, from;
};

struct phx__route_counters { /* for phx_stats */
    uint64_t entries_out, updates_out, requests_out;
    uint64_t walked; /* destinations looked at for the sake of one frame; an entry that is owed counts more */
};

#ifdef PHX_PAPER
/* Other update rules in place of this room's: the papers', which test/sim/paper.h has for comparison. */
struct phx__route;
struct phx__route_rules {
    int (*entry)(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e, uint64_t now);
    void (*lost)(struct phx__route *r, uint32_t nbr, uint32_t node, uint64_t now);
    int (*needs)(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr);
    void (*leaves)(struct phx__route *r, uint32_t nbr, uint32_t count); /* the entries in r->out, next */
};
#define PHX__ROUTE_RULES(r) ((r)->rules)
#define PHX__ROUTE_RULE(r, call) ((r)->rules->call)
#else
#define PHX__ROUTE_RULES(r) 0
#define PHX__ROUTE_RULE(r, call) 0
#endif

struct phx__route {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__route_ops ops;
    int hop_limit; /* of requests and of routes: a destination that is farther is unreachable */
    int relay;     /* 0: no route through this node is advertised */
    struct phx__route_table table;
    struct phx__route_nbr *nbrs;
    uint32_t nbr_count, nbr_capacity;
    struct phx__route_list dirty, changed, undelegated; /* PHX__DEST_DIRTY, PHX__DEST_CHANGED, ... */
    struct phx__route_list cuts; /* of links between others that were lost: a neighbour, and whom it lost */
    uint32_t delegate, delegate_known; /* see advert.c; how many nodes were known when it was chosen */
    struct phx__entry *out;            /* scratch for one message */
    uint32_t out_capacity;
    uint32_t known, reachable;
    uint64_t digest;        /* over reachable nodes, this one included */
    uint64_t neighbourhood; /* hash over this node, its neighbours and losses that are not settled */
    uint64_t moved;         /* when the table last changed */
    struct phx__route_lost lost;
    struct phx__route_pace pace;
    struct phx__route_rise rise;
    struct phx__route_rtt rtt;
    struct phx__route_counters counters;
#ifdef PHX_PAPER
    const struct phx__route_rules *rules; /* NULL: this room's own */
#endif
};

PHX_PRIVATE int phx__route_init(struct phx__route *r, struct phx__mem *mem, struct phx__ids *ids,
                                struct phx__timers *timers, struct phx__rnd *rnd, int hop_limit,
                                uint64_t incarnation, const struct phx__route_ops *ops);
PHX_PRIVATE void phx__route_free(struct phx__route *r);

/* Replaces this node's own card: 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_card(struct phx__route *r, const uint8_t *card, uint32_t size, uint64_t now);
/* 0, PHX_ENOMEM, or PHX_ELIMIT: a table takes at most 65,535 neighbours. */
PHX_PRIVATE int phx__route_up(struct phx__route *r, uint32_t nbr, const struct phx__route_hello *h,
                              uint64_t now);
PHX_PRIVATE void phx__route_down(struct phx__route *r, uint32_t nbr, uint64_t now);
/* After phx__route_down: asks the new next hop for that node's newer number, which comes if it lives. */
PHX_PRIVATE void phx__route_beat_silent(struct phx__route *r, uint32_t node);

/* Frames from a neighbour, decoded. 0; PHX_ENOMEM, PHX_ELIMIT: it was dropped, and a digest will show it. */
PHX_PRIVATE int phx__route_entry(struct phx__route *r, uint32_t nbr, const struct phx__entry *e,
                                 uint64_t now);
PHX_PRIVATE void phx__route_request(struct phx__route *r, uint32_t nbr, const struct phx__request *q,
                                    int hops, uint64_t now);
PHX_PRIVATE void phx__route_beat_in(struct phx__route *r, uint32_t nbr, const struct phx__beat *b, int shrunk,
                                 uint64_t now);
PHX_PRIVATE void phx__route_summary_begin(struct phx__route *r);
PHX_PRIVATE void phx__route_summary_line(struct phx__route *r, uint32_t nbr,
                                         const struct phx__entry *s);
PHX_PRIVATE void phx__route_summary_end(struct phx__route *r, uint32_t nbr, int reply);

/* PHX__TIMER_ROUTE_CHORE, again at once while there may be more: a destination given up, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__route_chores(struct phx__route *r, uint64_t now);

/* Is there no way to it, and nothing left to tell of it? Forgets it; its index must be dropped. */
PHX_PRIVATE int phx__route_is_forgettable(const struct phx__route *r, uint32_t node);
PHX_PRIVATE void phx__route_forget(struct phx__route *r, uint32_t node);

/* Gives memory back; no index is `size` or above. */
PHX_PRIVATE void phx__route_advert_fit(struct phx__route *r, uint32_t size);

/* phx__route_advert_changed is to give that node, even if nothing was known of it. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_show(struct phx__route *r, uint32_t node, uint64_t now);
/* Destinations whose next hop, reachability or card changed: 1 and *node, or 0. */
PHX_PRIVATE int phx__route_advert_changed(struct phx__route *r, uint32_t *node);
/* NULL: not known. node may be PHX__NONE. */
PHX_PRIVATE const struct phx__dest *phx__route_dest(const struct phx__route *r, uint32_t node);
/* Are many destinations asked for, as after the loss of who led to them? */
PHX_PRIVATE int phx__route_misses_many(const struct phx__route *r);
/* The neighbour towards node, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__route_next(const struct phx__route *r, uint32_t node);
/* Can the neighbour have a way to node that we do not know of? Not if we are its only neighbour; nor if it is
 * ours, and took back the way that it had. */
PHX_PRIVATE int phx__route_may_know(const struct phx__route *r, uint32_t nbr, uint32_t node);
PHX_PRIVATE void phx__route_beat_fill(struct phx__route *r, uint32_t nbr, struct phx__beat *b);
/* Beats that were put off until no link comes, or until the table is quiet. */
PHX_PRIVATE void phx__route_beat_due(struct phx__route *r, uint64_t now);

/* ---- advert.c */

/* When the inbox is empty, and PHX__TIMER_ROUTE_TELL: advertises what is due, or sets that timer. */
PHX_PRIVATE void phx__route_advert_flush(struct phx__route *r, uint64_t now);
/* After phx__route_chores: links are asked for their round trip times, and what follows from these. */
PHX_PRIVATE void phx__route_advert_times(struct phx__route *r, uint64_t now);
/* Is this neighbour known to be next to that node? */
PHX_PRIVATE int phx__route_advert_is_next_to(const struct phx__route *r, uint32_t nbr, uint32_t node);
/* Is there another way to this neighbour, as far as is known? */
PHX_PRIVATE int phx__route_advert_has_detour(const struct phx__route *r, uint32_t nbr);

/* ---- For beat.c, summary.c, advert.c and explain.c */

/* See phx__route_beat_quiet_at. */
#define PHX__ROUTE_QUIET PHX__SECOND
#define PHX__ROUTE_CROWD 64u
#define PHX__ROUTE_NOBODYS 1u /* the hash of a neighbourhood that no node has */
/* A destination is to be checked as one whose updates others may have been relied on for. */
PHX_PRIVATE void phx__route_touch_loss(struct phx__route *r, uint32_t node, uint64_t now);
/* What a check costs whether a neighbour needs an entry, in destinations passed. */
#define PHX__ROUTE_CHECK_COST 8u
/* Sets what was advertised to a neighbour to a word that makes an entry due, at once: 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_owe(struct phx__route *r, uint32_t nbr, uint32_t node,
                               const struct phx__advertised *word, uint64_t now);
/* A neighbour wants an entry for node, with number want or above. */
PHX_PRIVATE int phx__route_asked(struct phx__route *r, uint32_t nbr, uint32_t node, uint32_t want,
                                 uint64_t now);

/* When the table will be quiet: digests mean something then, and our neighbourhood is worth sending. */
PHX_PRIVATE uint64_t phx__route_beat_quiet_at(const struct phx__route *r);
/* NULL: not a neighbour. node may be PHX__NONE. */
PHX_PRIVATE struct phx__route_nbr *phx__route_nbr(const struct phx__route *r, uint32_t node);
/* Sets the chore timer to `at`, unless it is due earlier. */
PHX_PRIVATE void phx__route_plan(struct phx__route *r, uint64_t at);
/* Puts a node into the list of those with this flag, if it is not there. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_list(struct phx__route *r, struct phx__route_list *list, uint8_t flag,
                               uint32_t node);
/* Does n's neighbourhood stand, and ours, so that what n is not told by others is needed? */
PHX_PRIVATE int phx__route_beat_stands(const struct phx__route *r, const struct phx__route_nbr *n);
/* Takes the preferred one of next hops that are as near and feasible. */
PHX_PRIVATE void phx__route_share(struct phx__route *r, uint32_t node, uint64_t now);
/* See phx__route_rtt_way; through PHX__NONE: 0. */
PHX_PRIVATE uint32_t phx__route_way(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr);
/* Is a distance at this number below the feasible distance? */
PHX_PRIVATE int phx__route_is_feasible(const struct phx__dest *d, uint32_t seq, uint8_t hops);

#endif
