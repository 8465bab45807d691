/* table.h - the routing table's memory: destinations, and per neighbour what was heard and told of them. */
#ifndef PHX_TABLE_H
#define PHX_TABLE_H
#include "id.h"

/* A neighbour's last word on a destination. Kept only while it offers a route. */
struct phx__heard {
    uint32_t nbr; /* node */
    uint32_t seq;
    uint8_t hops; /* its distance */
};

/* Our last word to a neighbour on a destination. */
struct phx__told {
    uint32_t nbr; /* node */
    uint32_t seq, card;
    uint32_t want; /* with asked: from this number on */
    uint8_t hops;  /* PHX__UNREACHABLE: nothing that it could still be using */
    uint8_t lapsed; /* told over a link that has gone since; see phx__route_down */
    uint8_t asked; /* it is to be told even if it seems not to need it */
};

enum {
    PHX__DEST_KNOWN = 1,
    PHX__DEST_DIRTY = 2,   /* look again what to tell of it, to every neighbour */
    PHX__DEST_CHANGED = 4, /* in the list for phx__route_take_changed */
    PHX__DEST_LEFT = 8,    /* left to the guide; see route_tell.c */
    PHX__DEST_OPEN = 128,  /* in the list of those that are not, or were not */
    PHX__DEST_SEEN = 16,   /* scratch, while a summary is read */
    PHX__DEST_LAPSED = 64, /* stopped being a neighbour since we last told anybody anything */
    PHX__DEST_LOSS = 32    /* with DIRTY: something that others were trusted with may be lost */
};

struct phx__dest {
    uint64_t incarnation;
    uint64_t since;   /* when it was last found unreachable */
    uint64_t passed_at; /* when that was */
    uint64_t ask_at;  /* when to repeat the request for it; UINT64_MAX: no request is out */
    struct phx__heard *heard; /* sorted by nbr */
    struct phx__told *told;   /* sorted by nbr */
    uint8_t *card;
    uint32_t heard_count, heard_capacity, told_count, told_capacity;
    uint32_t card_size, card_version;
    uint32_t seq, next; /* of the route in use */
    uint32_t feasible_seq;
    uint32_t passed_seq; /* of the last request passed on towards the owner */
    uint32_t pos; /* in the list of neighbours; PHX__NONE: not one */
    uint8_t hops;          /* PHX__UNREACHABLE: no route */
    uint8_t feasible_hops; /* PHX__UNREACHABLE: nothing advertised yet */
    uint8_t asks, flags;
};

struct phx__table {
    struct phx__mem *mem;
    struct phx__dest *at; /* by node */
    uint32_t capacity;
};

PHX_PRIVATE void phx__table_init(struct phx__table *t, struct phx__mem *mem);
PHX_PRIVATE void phx__table_free(struct phx__table *t);
/* The destination, made empty (flags 0) if the index is new. NULL: no memory. Moves others in memory. */
PHX_PRIVATE struct phx__dest *phx__table_make(struct phx__table *t, uint32_t node);
/* Forgets all of it but the slot. */
PHX_PRIVATE void phx__table_clear(struct phx__table *t, uint32_t node);
/* What neighbour said or was told; NULL if nothing. */
PHX_PRIVATE struct phx__heard *phx__table_heard(const struct phx__dest *d, uint32_t nbr);
PHX_PRIVATE struct phx__told *phx__table_told(const struct phx__dest *d, uint32_t nbr);
/* The same, made if there is none: *made says so, and then hops is PHX__UNREACHABLE. NULL: no memory. */
PHX_PRIVATE struct phx__heard *phx__table_hear(struct phx__table *t, struct phx__dest *d, uint32_t nbr);
PHX_PRIVATE struct phx__told *phx__table_tell(struct phx__table *t, struct phx__dest *d, uint32_t nbr);
/* 1 if there was one. */
PHX_PRIVATE int phx__table_unhear(struct phx__dest *d, uint32_t nbr);
PHX_PRIVATE int phx__table_untell(struct phx__dest *d, uint32_t nbr);
/* Replaces the card by a copy: 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__table_card(struct phx__table *t, struct phx__dest *d, const uint8_t *card, uint32_t size,
                    uint32_t version);

#endif
