/* events.h - what happens later in a world of the test's own under virtual time. */
#ifndef EVENTS_H
#define EVENTS_H

#include "test.h"

#include <stdint.h>
#include <stdlib.h>

#include "mem.h"

/* What kinds there are, and who `to` and `from` are, is the test's affair. */
struct event {
    uint64_t time, order;
    int kind, to, from;
    uint64_t tag;
    size_t size;
    unsigned char *bytes;
};

static struct {
    struct event *heap;
    size_t count, capacity;
    uint64_t now, order, random;
    struct ftm_mem mem; /* of the heap, and of the test's messages */
} events;

static unsigned draw(unsigned below)
{
    events.random = events.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(events.random >> 33) % below;
}

static int event_is_before(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static void event_swap(size_t a, size_t b)
{
    struct event e = events.heap[a];

    events.heap[a] = events.heap[b];
    events.heap[b] = e;
}

static void event_add(struct event e)
{
    struct event *heap;
    size_t i = events.count;

    if (!ftm_mem_grow(&events.mem, (void **)(void *)&events.heap, &events.capacity, i, sizeof e))
        abort();
    e.order = events.order++;
    heap = events.heap;
    heap[events.count++] = e;
    for (; i > 0 && event_is_before(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        event_swap(i, (i - 1) / 2);
}

static struct event event_take(void)
{
    struct event *heap = events.heap, first = heap[0];
    size_t i = 0, child;

    heap[0] = heap[--events.count];
    while ((child = 2 * i + 1) < events.count) {
        if (child + 1 < events.count && event_is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!event_is_before(&heap[child], &heap[i]))
            break;
        event_swap(i, child);
        i = child;
    }
    return first;
}

static void events_free(void)
{
    ftm_mem_free(&events.mem, events.heap, events.capacity * sizeof *events.heap);
    ok(events.mem.bytes == 0, "all memory came back");
}

#endif
