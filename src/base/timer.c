/* timer.c - one heap of deadlines for the whole node. */

/* All deadlines of a node are in this heap, and its top is phx_deadline.
 *
 *      handle ----> at[handle] { at, order, kind, arg, position } ----> heap[position] = handle
 *
 * Handles are indices into `at`, so owners may move in memory and a timer holds no pointer to them. A dropped
 * handle goes to a free list, threaded through `position`, and is given out again; the most recent first,
 * because that one is in the cache.
 *
 * Ties are broken by `order`, a counter that grows with every set. The order of firing therefore depends only
 * on the calls made, never on addresses or the shape of the heap, and runs replay. At one set a microsecond
 * it would wrap after 2,284 years, with 8 bits of it spared for the kind.
 *
 * The heap is binary and indirect. Most timers of a node are pushed into the future again and again
 * (heartbeats, time-outs); that is one sift down, log2(n) steps of two comparisons, for some tens of
 * nanoseconds. A timing wheel would save little of that and round deadlines. */
#include "base/timer.h"

struct phx__timer {
    uint64_t at;    /* UINT64_MAX: stopped */
    uint64_t order; /* when it was set, among all settings; times 256, and its kind */
    uint32_t arg;
    uint32_t position; /* in the heap; TIMER_STOPPED; or, once dropped, the next free handle */
};

#define TIMER_STOPPED UINT32_MAX
#define TIMER_DROPPED 0 /* as a kind: the handle is free */
#define TIMER_KIND(timer) ((int)((timer)->order & 0xff))
/* A macro, because a function that only assertions call is unused without them. */
#define TIMER_IS_LIVE(t, handle) ((handle) < (t)->count && TIMER_KIND(&(t)->at[handle]) != TIMER_DROPPED)

static int timer_is_earlier(const struct phx__timers *t, uint32_t a, uint32_t b)
{
    const struct phx__timer *x = &t->at[a], *y = &t->at[b];

    return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static void timer_seat(struct phx__timers *t, size_t position, uint32_t handle)
{
    t->heap[position] = handle;
    t->at[handle].position = (uint32_t)position;
}

/* Moves a timer towards the top until its parent is earlier, or towards the bottom until both children are
 * later. Others are moved into the hole it leaves, and it is seated once, at the end. */
static void timer_settle(struct phx__timers *t, uint32_t handle)
{
    size_t position = t->at[handle].position, child;

    while (position > 0 && timer_is_earlier(t, handle, t->heap[(position - 1) / 2])) {
        timer_seat(t, position, t->heap[(position - 1) / 2]);
        position = (position - 1) / 2;
    }
    while ((child = 2 * position + 1) < t->heap_count) {
        if (child + 1 < t->heap_count && timer_is_earlier(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (timer_is_earlier(t, handle, t->heap[child]))
            break;
        timer_seat(t, position, t->heap[child]);
        position = child;
    }
    timer_seat(t, position, handle);
}

void phx__timer_init(struct phx__timers *t, struct phx__mem *mem)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
    t->free_list = PHX__NONE; /* 0 is a handle */
}

PHX__COLD void phx__timer_free(struct phx__timers *t)
{
    phx__mem_put(t->mem, t->at, t->capacity * sizeof *t->at);
    phx__mem_put(t->mem, t->heap, t->heap_capacity * sizeof *t->heap);
    phx__timer_init(t, t->mem);
}

int phx__timer_new(struct phx__timers *t, int kind, uint32_t arg, uint32_t *handle)
{
    uint32_t h = t->free_list;

    PHX_ASSERT(kind != TIMER_DROPPED && kind < 256);
    if (h != PHX__NONE) {
        t->free_list = t->at[h].position;
    } else {
        /* The heap has a position for every handle ever given, so that a set never allocates. */
        if (phx__mem_grow(t->mem, &t->heap, &t->heap_capacity, t->count + 1, sizeof *t->heap) != 0
            || phx__mem_grow(t->mem, &t->at, &t->capacity, t->count + 1, sizeof *t->at) != 0)
            return PHX_ENOMEM;
        h = t->count++;
    }
    t->at[h] = (struct phx__timer){ UINT64_MAX, (uint64_t)kind, arg, TIMER_STOPPED };
    *handle = h;
    return 0;
}

void phx__timer_stop(struct phx__timers *t, uint32_t handle)
{
    struct phx__timer *timer = &t->at[handle];
    uint32_t position = timer->position, last;

    PHX_ASSERT(TIMER_IS_LIVE(t, handle));
    if (position == TIMER_STOPPED)
        return;
    timer->at = UINT64_MAX;
    timer->position = TIMER_STOPPED;
    /* The last of the heap takes the empty position, and may have to go either way from there. */
    last = t->heap[--t->heap_count];
    if (last != handle) {
        timer_seat(t, position, last);
        timer_settle(t, last);
    }
}

void phx__timer_drop(struct phx__timers *t, uint32_t handle)
{
    PHX_ASSERT(TIMER_IS_LIVE(t, handle));
    phx__timer_stop(t, handle);
    t->at[handle].order = TIMER_DROPPED;
    t->at[handle].position = t->free_list;
    t->free_list = handle;
}

PHX__COLD void phx__timer_fit(struct phx__timers *t)
{
    uint32_t was = t->count;

    while (t->count > 0 && TIMER_KIND(&t->at[t->count - 1]) == TIMER_DROPPED)
        t->count--;
    t->free_list = t->count < was ? PHX__NONE : t->free_list;
    for (uint32_t h = t->count < was ? t->count : 0; h-- > 0;) {
        if (TIMER_KIND(&t->at[h]) != TIMER_DROPPED)
            continue;
        t->at[h].position = t->free_list;
        t->free_list = h;
    }
    phx__mem_fit(t->mem, &t->at, &t->capacity, t->count, sizeof *t->at);
    phx__mem_fit(t->mem, &t->heap, &t->heap_capacity, t->count, sizeof *t->heap);
}

void phx__timer_set(struct phx__timers *t, uint32_t handle, uint64_t at)
{
    struct phx__timer *timer = &t->at[handle];

    PHX_ASSERT(TIMER_IS_LIVE(t, handle));
    if (at == UINT64_MAX) {
        phx__timer_stop(t, handle);
        return;
    }
    if (timer->position == TIMER_STOPPED) {
        PHX_ASSERT(t->heap_count < t->heap_capacity);
        timer_seat(t, t->heap_count++, handle);
    }
    /* A new order even for the same time: one set for "now" in its own firing cannot starve others due. */
    timer->at = at;
    timer->order = t->order++ << 8 | (timer->order & 0xff);
    timer_settle(t, handle);
}

void phx__timer_sooner(struct phx__timers *t, uint32_t handle, uint64_t at)
{
    if (at < t->at[handle].at)
        phx__timer_set(t, handle, at);
}

uint64_t phx__timer_at(const struct phx__timers *t, uint32_t handle)
{
    PHX_ASSERT(TIMER_IS_LIVE(t, handle));
    return t->at[handle].at;
}

uint64_t phx__timer_next(const struct phx__timers *t)
{
    return t->heap_count == 0 ? UINT64_MAX : t->at[t->heap[0]].at;
}

int phx__timer_pop(struct phx__timers *t, uint64_t now, int *kind, uint32_t *arg)
{
    uint32_t handle;

    if (t->heap_count == 0 || phx__timer_next(t) > now)
        return 0;
    handle = t->heap[0];
    /* Stopped before its owner hears of it, so that the owner may set or drop it at once. */
    *kind = TIMER_KIND(&t->at[handle]);
    *arg = t->at[handle].arg;
    phx__timer_stop(t, handle);
    return 1;
}
