/* mem.c - every allocation of a node: counted, capped, and able to fail on purpose. */

/* All of a node's memory goes through one struct phx__mem: `used` is exact to the byte as asked for, `peak`
 * is its highest value, and a limit holds before the allocator is asked. A failure changes nothing, so a test
 * can fail the n-th call for every n and find the node intact. Frees know their size, as in Lua: callers keep
 * capacities anyway, and no block needs a header.
 *
 * Large blocks come and go with each large message, and a fresh one costs more than all the rest of receiving
 * it: the system hands its pages out one by one, zeroed, as they are touched, and most allocators give large
 * blocks back to the system at once. So they are kept here for the next message of about the same
 * size: up to spare_most bytes, as long as nobody else needs the memory (the limit, or a failing allocator,
 * frees them first), and until they were idle for some seconds. Sizes are rounded up by at most an eighth, so
 * that messages that differ a little can share.
 *
 * While a block is resized the allocator may hold old and new at once. That moment is not counted. */
#include "base/mem.h"

#include <stdlib.h>

/* The first size of a growing array, in items. One item is common; many arrays stay empty or tiny. */
#define MEM_FIRST_ITEMS 4u
/* From this many items on an array grows by an eighth instead of by half: at most an eighth of a large node's
 * arrays is idle, and pushing n items copies at most 9n. */
#define MEM_MANY_ITEMS 256u

#define MEM_RING_FIRST 8u
/* The last doubling ends here, so sizes never wrap. */
#define MEM_RING_MOST ((uint32_t)1 << 31)

/* Below it allocators do not ask the system, and what there are many of shares blocks of about that size. */
#define MEM_LARGE ((size_t)32 << 10)
/* So many spares are looked at: where few sizes take turns the right one is near. */
#define MEM_LOOKS 8
/* A message is a block, and this is more than its head. */
#define MEM_HEAD 128u

static void *mem_default(void *world, void *old, size_t old_size, size_t new_size)
{
    (void)world;
    (void)old_size;
    if (new_size == 0) {
        free(old); /* realloc to 0 means different things on different systems */
        return NULL;
    }
    return old == NULL ? malloc(new_size) : realloc(old, new_size);
}

PHX__COLD void phx__mem_init(struct phx__mem *m, const struct phx_alloc *alloc, size_t limit)
{
    memset(m, 0, sizeof *m);
    m->alloc.alloc = mem_default;
    if (alloc != NULL)
        m->alloc = *alloc;
    m->limit = limit;
}

int phx__mem_has_room(const struct phx__mem *m, size_t size)
{
    /* Without a limit the counter itself is the limit: it must not wrap. */
    size_t limit = m->limit == 0 ? SIZE_MAX : m->limit, used = m->used - m->spare_bytes;

    return used <= limit && size <= limit - used;
}

static size_t mem_rounded(size_t size)
{
    size_t step = MEM_LARGE / 8;

    if (size < MEM_LARGE || size > SIZE_MAX / 4)
        return size;
    while (step * 16 <= size)
        step *= 2;
    return (size + step - 1) / step * step;
}

PHX__APART int phx__mem_has_room_for_mail(const struct phx__mem *m, size_t size)
{
    /* What will be taken is what counts, or rounding would eat up nearly all of that eighth. */
    return size <= SIZE_MAX / 4 && phx__mem_has_room(m, mem_rounded(size + MEM_HEAD) + m->limit / 8);
}

int phx__mem_could_hold_mail(const struct phx__mem *m, size_t size, size_t mail)
{
    struct phx__mem less = *m;

    less.used -= PHX__MIN(mail, m->used - m->spare_bytes);
    return phx__mem_has_room_for_mail(&less, size);
}

int phx__mem_has_room_for_cards(const struct phx__mem *m, size_t size, unsigned eighths)
{
    size_t most = m->limit / 8 * eighths, used = m->used - m->large;

    return m->limit == 0 || (used <= most && size <= most - used);
}

void *phx__mem_resize(struct phx__mem *m, void *old, size_t old_size, size_t new_size)
{
    void *p;

    PHX_ASSERT(new_size > 0);
    PHX_ASSERT(old_size <= m->used && (old != NULL || old_size == 0));
    /* The allocator would take size 0 for a free, and the caller would free again. */
    if (new_size == 0)
        return NULL;
    if (new_size > old_size && !phx__mem_has_room(m, new_size - old_size))
        return NULL;
    if (m->limit != 0 && new_size > old_size && new_size - old_size > m->limit - m->used)
        phx__mem_drop_spares(m, UINT64_MAX); /* there is room, but for them */
    if ((p = m->alloc.alloc(m->alloc.world, old, old_size, new_size)) == NULL && m->spare_bytes > 0) {
        phx__mem_drop_spares(m, UINT64_MAX);
        p = m->alloc.alloc(m->alloc.world, old, old_size, new_size);
    }
    if (p == NULL)
        return NULL;
    m->used = m->used - old_size + new_size;
    m->peak = PHX__MAX(m->used, m->peak);
    return p;
}

void *phx__mem_get(struct phx__mem *m, size_t size)
{
    return phx__mem_resize(m, NULL, 0, size);
}

void *phx__mem_zero(struct phx__mem *m, size_t size)
{
    void *p = phx__mem_get(m, size);

    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void phx__mem_put(struct phx__mem *m, void *p, size_t size)
{
    if (p == NULL)
        return;
    PHX_ASSERT(size > 0 && size <= m->used);
    m->used -= size;
    m->alloc.alloc(m->alloc.world, p, size, 0);
}

void phx__mem_put_secret(struct phx__mem *m, void *p, size_t size)
{
    volatile unsigned char *bytes = p; /* a plain memset before a free is left out by compilers */

    for (size_t i = 0; p != NULL && i < size; i++)
        bytes[i] = 0;
    phx__mem_put(m, p, size);
}

/* ---- Large ones */

static void *mem_take_spare(struct phx__mem *m, struct phx__mem_spare **at)
{
    struct phx__mem_spare *s = *at;

    *at = s->next;
    m->spare_bytes -= s->size;
    return s;
}

void *phx__mem_get_large(struct phx__mem *m, size_t size)
{
    struct phx__mem_spare **at = &m->spare;
    void *p;

    size = mem_rounded(size);
    for (int i = 0; *at != NULL && i < MEM_LOOKS; at = &(*at)->next, i++) {
        if ((*at)->size != size)
            continue;
        m->spare_uses++;
        return mem_take_spare(m, at);
    }
    p = phx__mem_get(m, size);
    m->large += p != NULL ? size : 0;
    return p;
}

void phx__mem_put_large(struct phx__mem *m, void *p, size_t size)
{
    struct phx__mem_spare *s = p;

    size = mem_rounded(size);
    if (size < MEM_LARGE || size > m->spare_most) {
        m->large -= size;
        phx__mem_put(m, p, size);
        return;
    }
    if (size > m->spare_most - m->spare_bytes)
        phx__mem_drop_spares(m, UINT64_MAX); /* of sizes that are not asked for any more, it seems */
    *s = (struct phx__mem_spare){ m->spare, size, m->spare_uses++ };
    m->spare = s;
    m->spare_bytes += size;
}

void phx__mem_drop_spares(struct phx__mem *m, uint64_t before)
{
    struct phx__mem_spare **at = &m->spare;

    while (*at != NULL && (*at)->put >= before)
        at = &(*at)->next;
    while (*at != NULL) { /* the rest was put sooner */
        size_t size = (*at)->size;

        m->large -= size;
        phx__mem_put(m, mem_take_spare(m, at), size);
    }
}

PHX__COLD void phx__mem_fit(struct phx__mem *m, void *array, uint32_t *capacity, uint32_t need, size_t item)
{
    void *old, *less;

    if (*capacity <= MEM_MANY_ITEMS || need > *capacity / 8 * 7)
        return;
    need = need > MEM_FIRST_ITEMS ? need : MEM_FIRST_ITEMS;
    memcpy(&old, array, sizeof old);
    if ((less = phx__mem_resize(m, old, *capacity * item, need * item)) == NULL)
        return;
    memcpy(array, &less, sizeof less);
    *capacity = need;
}

int phx__mem_grow(struct phx__mem *m, void *array, uint32_t *capacity, uint32_t need, size_t item)
{
    /* By half: pushing n items copies at most 2n of them, and at most a third of the array is idle. */
    uint64_t more = (uint64_t)*capacity + *capacity / (*capacity < MEM_MANY_ITEMS ? 2 : 8);
    size_t old_size = *capacity * item, new_size;
    void *old, *new_array;

    PHX_ASSERT(item > 0);
    if (need <= *capacity)
        return 0;
    more = PHX__MAX(more, need);
    more = PHX__MAX(more, MEM_FIRST_ITEMS);
    more = PHX__MIN(more, UINT32_MAX);
    if (more > SIZE_MAX / item)
        return PHX_ENOMEM;
    new_size = (size_t)more * item;
    /* `array` points to a pointer of any type. Reading it through void ** would break the aliasing rules;
     * copying its bytes does not, and costs nothing once compiled. */
    memcpy(&old, array, sizeof old);
    if ((new_array = phx__mem_resize(m, old, old_size, new_size)) == NULL)
        return PHX_ENOMEM;
    memset((char *)new_array + old_size, 0, new_size - old_size);
    memcpy(array, &new_array, sizeof new_array);
    *capacity = (uint32_t)more;
    return 0;
}

/* A plain resize would not do: the part that wrapped around would have to move. */
int phx__mem_grow_ring(struct phx__mem *m, void *ring, uint32_t *first, uint32_t count, uint32_t *capacity,
                       uint32_t more, size_t item)
{
    uint32_t size = *capacity > 0 ? *capacity : MEM_RING_FIRST, front = *capacity - *first;
    char *old, *larger;

    if (more > MEM_RING_MOST / item - count)
        return PHX_ENOMEM;
    while (size < count + more)
        size *= 2;
    if ((larger = phx__mem_get(m, size * item)) == NULL)
        return PHX_ENOMEM;
    memcpy(&old, ring, sizeof old);
    front = front < count ? front : count;
    if (count > 0) {
        memcpy(larger, old + *first * item, front * item);
        memcpy(larger + front * item, old, (count - front) * item);
    }
    phx__mem_put(m, old, *capacity * item);
    memcpy(ring, &larger, sizeof larger);
    *first = 0;
    *capacity = size;
    return 0;
}
