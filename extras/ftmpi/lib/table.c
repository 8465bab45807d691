/* table.c - handles: small integers that stand for objects, and are refused once their object is gone. */
#include "table.h"

#include <string.h>

#define PLACE_BITS 19
#define REUSE_MASK 255

void ftm_table_init(struct ftm_table *t, struct ftm_mem *mem)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
}

void ftm_table_clear(struct ftm_table *t)
{
    int kind;

    for (kind = 0; kind < FTM_KINDS; kind++) {
        struct ftm_slots *s = &t->kinds[kind];

        ftm_mem_resize(t->mem, s->slot, s->capacity * sizeof *s->slot, 0);
        memset(s, 0, sizeof *s);
    }
}

static int table_place(int handle)
{
    return handle & (FTM_HANDLE_PLACES - 1);
}

static struct ftm_slot *table_slot(const struct ftm_table *t, int handle, int kind)
{
    const struct ftm_slots *s = &t->kinds[kind];
    int place = table_place(handle);
    struct ftm_slot *slot;

    if (handle < 0 || FTM_HANDLE_KIND(handle) != kind || place == 0 || (size_t)place >= s->count)
        return NULL;
    slot = &s->slot[place];
    return slot->object != NULL && slot->reuse == ((handle >> PLACE_BITS) & REUSE_MASK) ? slot : NULL;
}

void *ftm_table_get(const struct ftm_table *t, int handle, int kind)
{
    struct ftm_slot *slot = table_slot(t, handle, kind);

    return slot != NULL ? slot->object : NULL;
}

void ftm_table_replace(struct ftm_table *t, int handle, int kind, void *object)
{
    struct ftm_slot *slot = table_slot(t, handle, kind);

    if (slot != NULL)
        slot->object = object;
}

/* Appends an empty slot that is on no list. */
static struct ftm_slot *table_append(struct ftm_table *t, struct ftm_slots *s)
{
    void *array = s->slot;

    if (s->count >= FTM_HANDLE_PLACES
        || !ftm_mem_grow(t->mem, &array, &s->capacity, s->count, sizeof *s->slot))
        return NULL;
    s->slot = array;
    memset(&s->slot[s->count], 0, sizeof *s->slot);
    return &s->slot[s->count++];
}

static void table_give_back(struct ftm_slots *s, int place)
{
    s->slot[place].next = 0;
    if (s->last_free != 0)
        s->slot[s->last_free].next = place;
    else
        s->first_free = place;
    s->last_free = place;
}

int ftm_table_add(struct ftm_table *t, int kind, void *object, int *handle)
{
    struct ftm_slots *s = &t->kinds[kind];
    int place = s->first_free;

    if (place != 0) {
        s->first_free = s->slot[place].next;
        if (s->first_free == 0)
            s->last_free = 0;
    } else {
        if (s->count == 0 && table_append(t, s) == NULL) /* place 0 stands for nothing */
            return -1;
        place = (int)s->count;
        if (table_append(t, s) == NULL)
            return -1;
    }
    s->slot[place].object = object;
    *handle = FTM_HANDLE(kind, place) | s->slot[place].reuse << PLACE_BITS;
    return 0;
}

int ftm_table_add_at(struct ftm_table *t, int kind, void *object, int place)
{
    struct ftm_slots *s = &t->kinds[kind];

    if (place <= 0 || place >= FTM_HANDLE_PLACES)
        return -1;
    while (s->count <= (size_t)place)
        if (table_append(t, s) == NULL)
            return -1;
    if (s->slot[place].object != NULL)
        return -1;
    s->slot[place].object = object;
    return 0;
}

void *ftm_table_remove(struct ftm_table *t, int handle, int kind)
{
    struct ftm_slot *slot = table_slot(t, handle, kind);
    void *object;

    if (slot == NULL)
        return NULL;
    object = slot->object;
    slot->object = NULL;
    slot->reuse = (slot->reuse + 1) & REUSE_MASK;
    table_give_back(&t->kinds[kind], table_place(handle));
    return object;
}

void *ftm_table_next(const struct ftm_table *t, int kind, int *place)
{
    const struct ftm_slots *s = &t->kinds[kind];

    while ((size_t)++*place < s->count)
        if (s->slot[*place].object != NULL)
            return s->slot[*place].object;
    return NULL;
}
