/* table.h - the routing table's memory: destinations, and per neighbour what was offered and advertised. */
#ifndef PHX_ROUTE_TABLE_H
#define PHX_ROUTE_TABLE_H
#include "base/id.h"
#include "wire/route.h"

/* A neighbour's last entry for a destination. Kept only while the neighbour offers a route. */
struct phx__offer {
    uint32_t nbr; /* node */
    uint32_t seq;
    uint8_t hops; /* the neighbour's distance */
    uint16_t rtt; /* what it said of the round trip; 0: nothing. See rtt.c */
};

struct phx__offer_list {
    uint32_t capacity;
    struct phx__offer at[]; /* capacity of them, sorted by nbr */
};

/* Our last entry to a neighbour for a destination. */
struct phx__advertised {
    uint32_t seq, card;
    uint32_t want; /* with asked: the least number that was asked for; else 0 */
    uint8_t hops;  /* PHX__UNREACHABLE: the neighbour uses no route that we advertised */
    uint8_t asked; /* an entry is due even if the neighbour seems not to need one */
    uint16_t rtt;  /* see rtt.c */
};

/* The same was advertised to neighbours first..last. */
struct phx__advertised_run {
    uint32_t first, last; /* nodes */
    struct phx__advertised word;
};
struct phx__advertised_runs {
    uint32_t count, capacity;
    struct phx__advertised_run at[]; /* capacity of them: sorted, disjoint */
};

enum {
    PHX__DEST_KNOWN = 1,
    PHX__DEST_DIRTY = 2,         /* in the list of destinations to check against every neighbour */
    PHX__DEST_CHANGED = 4,       /* in the list for phx__route_advert_changed */
    PHX__DEST_DELEGATED = 8,     /* see advert.c */
    PHX__DEST_SEEN = 16,         /* scratch, while a summary is read */
    PHX__DEST_LOSS = 32,         /* with DIRTY: neighbours that were to advertise it may have lost it */
    PHX__DEST_LAPSED = 64,       /* stopped being a neighbour since the last flush */
    PHX__DEST_UNDELEGATED = 128  /* in the list of those that are not delegated, or were not */
};

/* A request for a destination: ours, repeated until there is a route, or the last one that was passed on. */
struct phx__ask {
    uint32_t node;
    uint32_t passed_seq; /* of the last request passed on towards the owner */
    uint64_t passed_at;  /* when that was; 0: none */
    uint64_t at;         /* when to repeat ours; UINT64_MAX: none is out */
    uint8_t asks;        /* how often ours was sent */
};

/* Positions in the list of neighbours are below PHX__TABLE_LOST: so many there are at most at once. */
#define PHX__TABLE_FAR UINT16_MAX
#define PHX__TABLE_LOST (UINT16_MAX - 2) /* in phx__route.lost, until that loss is settled */
#define PHX__TABLE_GONE (UINT16_MAX - 1) /* lost by all others, too, we take it */

struct phx__route_table_card {
    uint32_t size;
    uint8_t at[]; /* size of them */
};

struct phx__dest {
    uint64_t incarnation;
    union {
        struct phx__offer one; /* offer_count <= 1: no list; 0: the last one, over */
        uint32_t many[2];      /* the bytes of a pointer to the list, so that 4 bytes are left for live */
    } offer;
    uint32_t live; /* the next one in the ring of the living; PHX__NONE: not in it */
    struct phx__advertised_runs *advertised; /* NULL: nothing, to no neighbour */
    struct phx__route_table_card *card;      /* NULL: none */
    uint32_t since; /* when it was last found unreachable, in whole seconds */
    uint32_t ask;   /* slot of its request + 1; 0: none */
    uint32_t card_version;
    uint32_t seq, next; /* of the route in use */
    uint32_t feasible_seq;
    uint16_t offer_count;
    uint16_t pos;          /* in the list of neighbours; or PHX__TABLE_*: not a neighbour */
    uint8_t hops;          /* PHX__UNREACHABLE: no route */
    uint8_t feasible_hops; /* PHX__UNREACHABLE: nothing advertised yet */
    uint8_t flags;
    unsigned card_own : 1; /* the owner itself has sent this card, over the link that is up */
    unsigned card_new : 1; /* .. and other rooms have not seen it: the node clears that */
    unsigned reborn : 1;   /* other rooms have not seen this incarnation: likewise */
};

struct phx__route_table {
    struct phx__mem *mem;
    struct phx__dest *at; /* by node */
    uint32_t capacity;
    /* The ring of the living, from ourselves on: to others is no way, nor is anything kept by neighbour. */
    uint32_t live_count, live_last;
    uint32_t told_count; /* of how many something was advertised */
    struct phx__ask *asks; /* in no order */
    uint32_t ask_count, ask_capacity;
};

/* An empty table is all zeros, but for mem. */
PHX_PRIVATE void phx__route_table_free(struct phx__route_table *t);
/* The destination, empty (flags 0) if the index is new. NULL: no memory. Moves the others in memory. */
PHX_PRIVATE struct phx__dest *phx__route_table_make(struct phx__route_table *t, uint32_t node);
/* Puts a destination that was made into the ring of the living. */
PHX_PRIVATE void phx__route_table_wake(struct phx__route_table *t, uint32_t node);
/* Takes those out of it that are at rest. */
PHX_PRIVATE void phx__route_table_rest(struct phx__route_table *t);
/* Empties the destination; its slot stays. */
PHX_PRIVATE void phx__route_table_clear(struct phx__route_table *t, uint32_t node);

/* All offers: d->offer_count of them. */
PHX_PRIVATE struct phx__offer *phx__route_table_offers(const struct phx__dest *d);
/* A neighbour's offer; NULL: none. Moves with the destination, and with the next change of its list. */
PHX_PRIVATE struct phx__offer *phx__route_table_offer(const struct phx__dest *d, uint32_t nbr);
/* Would this offer, h before (or NULL), change nothing? It is no worse than before, so who needed no entry
 * needs none, and no way that we would take. In a crowd nearly all are such, and each node has hundreds. */
PHX_PRIVATE int phx__route_table_is_spare(const struct phx__dest *d, uint32_t nbr, const struct phx__offer *h,
                                          uint32_t seq, uint8_t hops);
/* A neighbour's offer, made with hops PHX__UNREACHABLE if there is none. NULL: no memory, or too many. */
PHX_PRIVATE struct phx__offer *phx__route_table_make_offer(struct phx__route_table *t, struct phx__dest *d,
                                                           uint32_t nbr);
/* 1 if there was one. */
PHX_PRIVATE int phx__route_table_drop_offer(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr);
PHX_PRIVATE void phx__route_table_drop_offers(struct phx__route_table *t, struct phx__dest *d);

/* What was advertised to a neighbour; NULL: nothing. Moves as offers do. */
PHX_PRIVATE const struct phx__advertised *phx__route_table_advertised(const struct phx__dest *d,
                                                                      uint32_t nbr);
/* Is there a neighbour to which a way was advertised? */
PHX_PRIVATE int phx__route_table_is_told(const struct phx__dest *d);
/* The same, or that nothing was. */
PHX_PRIVATE struct phx__advertised phx__route_table_word(const struct phx__dest *d, uint32_t nbr);
/* Sets what was advertised to a neighbour; word NULL: nothing. 0, or PHX_ENOMEM and nothing has changed. */
PHX_PRIVATE int phx__route_table_advertise(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr,
                                           const struct phx__advertised *word);
/* Forgets what was advertised of a destination that is unreachable, as all know. */
PHX_PRIVATE void phx__route_table_unadvertise(struct phx__route_table *t, struct phx__dest *d);
/* Forgets what was advertised to a neighbour, of every destination. 0, or PHX_ENOMEM: not of all. */
PHX_PRIVATE int phx__route_table_forget_nbr(struct phx__route_table *t, uint32_t nbr);

/* The request for this destination; NULL: none. */
PHX_PRIVATE struct phx__ask *phx__route_table_asked(const struct phx__route_table *t, uint32_t node);
/* The same, made if there is none. NULL: no memory. */
PHX_PRIVATE struct phx__ask *phx__route_table_ask(struct phx__route_table *t, uint32_t node);
PHX_PRIVATE void phx__route_table_unask(struct phx__route_table *t, struct phx__ask *a);

/* Replaces the card by a copy: 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__route_table_card(struct phx__route_table *t, struct phx__dest *d, const uint8_t *card,
                                      uint32_t size, uint32_t version);
PHX_PRIVATE void phx__route_table_uncard(struct phx__route_table *t, struct phx__dest *d);
/* Does its card say goodbye? All its neighbours have heard so from itself. */
PHX_PRIVATE int phx__route_table_has_left(const struct phx__dest *d);

#endif
