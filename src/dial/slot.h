/* slot.h - BRAIN: dials under way: their numbers, whose they are, and which one gives way. */
#ifndef PHX_DIAL_SLOT_H
#define PHX_DIAL_SLOT_H
#include "base/mem.h"

struct phx__dial_slot {
    uint64_t since;
    uint32_t target; /* index; PHX__NONE: free */
    uint32_t next;   /* free slot */
    uint16_t generation;
    uint8_t address; /* of the target */
    uint8_t answered;
};

struct phx__dial_slots {
    struct phx__dial_slot *at;
    uint32_t capacity;
    uint32_t count; /* all that are in use are below */
    uint32_t free;  /* PHX__NONE: all are in use */
};

/* Memory for max slots, at once, so that no dial can fail for lack of one. PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_slot_init(struct phx__dial_slots *s, struct phx__mem *mem, uint32_t max);
/* One of the free slots: its number, which is never PHX__NONE and not used again for long. */
PHX_PRIVATE uint32_t phx__dial_slot_open(struct phx__dial_slots *s, uint32_t target, uint32_t address,
                                         uint64_t now);
PHX_PRIVATE void phx__dial_slot_close(struct phx__dial_slots *s, uint32_t number);
/* The slot with this number, or NULL if the dial is over. */
PHX_PRIVATE struct phx__dial_slot *phx__dial_slot_find(const struct phx__dial_slots *s, uint32_t number);
/* The number of the slot that should give way to a target that waits, or PHX__NONE: then ask again at
 * *next. */
PHX_PRIVATE uint32_t phx__dial_slot_gives_way(const struct phx__dial_slots *s, uint64_t now, uint64_t *next);

#endif
