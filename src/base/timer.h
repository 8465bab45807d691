/* timer.h - one heap of deadlines for the whole node. */
#ifndef PHX_BASE_TIMER_H
#define PHX_BASE_TIMER_H
#include "base/mem.h"

/* Owners may move in memory: timers are named by handles. Equal deadlines fire in the order of setting. */
struct phx__timers {
    struct phx__mem *mem;
    struct phx__timer *at; /* by handle */
    uint32_t *heap;        /* handles, earliest first */
    uint32_t count, capacity;
    uint32_t heap_count, heap_capacity;
    uint32_t free_list;
    uint64_t order;
};

PHX_PRIVATE void phx__timer_init(struct phx__timers *t, struct phx__mem *mem);
PHX_PRIVATE void phx__timer_free(struct phx__timers *t);
/* A stopped timer. PHX_ENOMEM. Room in the heap is reserved here, so setting it later cannot fail. */
PHX_PRIVATE int phx__timer_new(struct phx__timers *t, int kind, uint32_t arg, uint32_t *handle);
PHX_PRIVATE void phx__timer_drop(struct phx__timers *t, uint32_t handle);
/* Gives memory back that few timers do not need. */
PHX_PRIVATE void phx__timer_fit(struct phx__timers *t);
/* (Re)sets it to fire at `at`; UINT64_MAX stops it. */
PHX_PRIVATE void phx__timer_set(struct phx__timers *t, uint32_t handle, uint64_t at);
/* The same if it would fire later, or not at all. */
PHX_PRIVATE void phx__timer_sooner(struct phx__timers *t, uint32_t handle, uint64_t at);
PHX_PRIVATE void phx__timer_stop(struct phx__timers *t, uint32_t handle);
/* When it fires; UINT64_MAX if stopped. */
PHX_PRIVATE uint64_t phx__timer_at(const struct phx__timers *t, uint32_t handle);
/* The earliest deadline; UINT64_MAX if none. */
PHX_PRIVATE uint64_t phx__timer_next(const struct phx__timers *t);
/* Takes one that is due out of the heap (it is then stopped): 1, or 0 if none is due. */
PHX_PRIVATE int phx__timer_pop(struct phx__timers *t, uint64_t now, int *kind, uint32_t *arg);

#endif
