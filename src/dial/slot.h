/* slot.h - BRAIN: dials under way: whose they are, which one gives way, when the next may begin. */
#ifndef PHX_DIAL_SLOT_H
#define PHX_DIAL_SLOT_H
#include "base/mem.h"

struct phx__dial_slot {
    uint64_t since, answered_at; /* 0: not yet */
    uint64_t key;    /* of the address */
    uint32_t number; /* by which its owner and the links know it */
    uint32_t target; /* index */
};

struct phx__dial_slots {
    struct phx__dial_slot *at;
    uint32_t count, capacity;
    uint32_t last; /* number */
};

/* One more, of which there is room: its number, which is never PHX__NONE and not used again for long. */
PHX_PRIVATE uint32_t phx__dial_slot_open(struct phx__dial_slots *s, uint32_t target, uint64_t key,
                                         uint64_t now);
/* The dial of the address with this key is over. */
PHX_PRIVATE void phx__dial_slot_close(struct phx__dial_slots *s, uint64_t key);
/* The slot with this number, or NULL if the dial is over. */
PHX_PRIVATE struct phx__dial_slot *phx__dial_slot_find(const struct phx__dial_slots *s, uint32_t number);
/* The slot of this address if it is being dialled, or NULL. A look at all slots, nothing beside a dial. */
PHX_PRIVATE struct phx__dial_slot *phx__dial_slot_of(const struct phx__dial_slots *s, uint64_t key);
/* The oldest of those without an answer, or NULL. */
PHX_PRIVATE struct phx__dial_slot *phx__dial_slot_silent(const struct phx__dial_slots *s);

#endif
