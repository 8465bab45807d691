/* slot.h - BRAIN: dials under way: their numbers, whose they are, and which one gives way. */
#ifndef PHX_DIAL_SLOT_H
#define PHX_DIAL_SLOT_H
#include "base/mem.h"

struct phx__dial_slot {
    uint64_t since;
    uint32_t target; /* slot; PHX__NONE: free */
    uint32_t next;   /* free attempt */
    uint16_t generation;
    uint8_t address; /* of the target */
    uint8_t answered;
};

struct phx__dial_slots {
    struct phx__mem *mem;
    struct phx__dial_slot *at;
    uint32_t capacity, open;
    uint32_t count; /* all that are in use are below */
    uint32_t free;  /* PHX__NONE: all are in use */
};

/* Room for max of them, at once, so that no dial can fail for lack of a number. PHX_ENOMEM. */
PHX_PRIVATE int phx__dial_slot_init(struct phx__dial_slots *a, struct phx__mem *mem, uint32_t max);
PHX_PRIVATE void phx__dial_slot_free(struct phx__dial_slots *a);
/* One of the free ones: its number, which is never PHX__NONE and not used again for long. */
PHX_PRIVATE uint32_t phx__dial_slot_open(struct phx__dial_slots *a, uint32_t target, uint32_t address,
                                        uint64_t now);
PHX_PRIVATE void phx__dial_slot_close(struct phx__dial_slots *a, uint32_t number);
/* 1 and whose it is, or 0 if it is over. */
PHX_PRIVATE int phx__dial_slot_find(const struct phx__dial_slots *a, uint32_t number, uint32_t *target,
                                   uint32_t *address);
/* The same attempt, for what is now another address of its target. */
PHX_PRIVATE void phx__dial_slot_move(struct phx__dial_slots *a, uint32_t number, uint32_t address);
/* Something came back from there: it is no wall. */
PHX_PRIVATE void phx__dial_slot_answered(struct phx__dial_slots *a, uint32_t number);
/* The one that should give way to somebody who waits, or PHX__NONE: then ask again at *next. */
PHX_PRIVATE uint32_t phx__dial_slot_gives_way(const struct phx__dial_slots *a, uint64_t now,
                                             uint64_t *next);

#endif
