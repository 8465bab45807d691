/* map.c - one open-addressing hash from 64-bit keys to 32-bit values. */

/* Open addressing with linear probing: one allocation for the whole map, neighbours in one cache line (five
 * 12-byte slots), and a lookup that misses ends at the first empty slot. Three quarters full, a hit looks at
 * about 2.5 slots and a miss at about 8.5 (Knuth, vol. 3, 6.4).
 *
 * Deletion leaves no tombstones. It shifts later members of the run back into the hole, so a map that lives
 * for ever under churn is as fast as a fresh one:
 *
 *      slot      3    4    5    6    7
 *      holds     a    b    c    d    -        home(a) = 3, home(b) = 3, home(c) = 5, home(d) = 4
 *      del(b)    a    .    c    d    -        c stays, because slot 4 lies before its home;
 *                a    d    c    -    -        d moves, and the run ends one slot earlier.
 *
 * A slot is empty if its value is UINT32_MAX; any key is legal. A map shrinks only if it is told to: limits
 * of the configuration bound it. The hash is public, but only authenticated nodes could make keys collide. */
#include "base/map.h"

#define MAP_EMPTY UINT32_MAX
/* Below this size, growing costs more than the bytes are worth: 16 slots are 192 bytes. */
#define MAP_FIRST 16u
/* The last doubling ends here: 1.5 GiB of slots, which a 32-bit size still counts. */
#define MAP_MOST (1u << 27)

/* The key in halves: 12 bytes, and not 16. */
struct phx__map_slot {
    uint32_t low, high;
    uint32_t value; /* MAP_EMPTY: free */
};

static uint64_t map_key(const struct phx__map_slot *s)
{
    return s->low | (uint64_t)s->high << 32;
}

uint64_t phx__map_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x;
}

static uint32_t map_home(const struct phx__map *m, uint64_t key)
{
    return (uint32_t)phx__map_mix(key) & (m->capacity - 1);
}

/* The slot that holds key, or the empty one (there is one) where it would go. The capacity must not be 0. */
PHX__APART static uint32_t map_find(const struct phx__map *m, uint64_t key)
{
    uint32_t i = map_home(m, key);

    while (m->slots[i].value != MAP_EMPTY && map_key(&m->slots[i]) != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

static int map_resize(struct phx__map *m, uint32_t capacity)
{
    struct phx__map other = { m->mem, NULL, m->count, capacity };
    size_t size = capacity * sizeof *m->slots;

    if (capacity > MAP_MOST || (other.slots = phx__mem_get(m->mem, size)) == NULL)
        return PHX_ENOMEM;
    memset(other.slots, 0xff, size); /* every value becomes MAP_EMPTY */
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value != MAP_EMPTY)
            other.slots[map_find(&other, map_key(&m->slots[i]))] = m->slots[i];
    phx__mem_put(m->mem, m->slots, m->capacity * sizeof *m->slots);
    *m = other;
    return 0;
}

void phx__map_fit(struct phx__map *m)
{
    uint32_t capacity = m->capacity;

    while (capacity > MAP_FIRST && m->count < capacity / 16 * 3) /* so that it need not grow again soon */
        capacity /= 2;
    if (capacity < m->capacity)
        (void)map_resize(m, capacity); /* without memory it stays */
}

void phx__map_init(struct phx__map *m, struct phx__mem *mem)
{
    *m = (struct phx__map){ .mem = mem };
}

void phx__map_free(struct phx__map *m)
{
    phx__mem_put(m->mem, m->slots, m->capacity * sizeof *m->slots);
    phx__map_init(m, m->mem);
}

int phx__map_put(struct phx__map *m, uint64_t key, uint32_t value)
{
    uint32_t i = 0;

    PHX_ASSERT(value != MAP_EMPTY);
    if (m->capacity > 0) {
        i = map_find(m, key);
        /* Replacing needs no room and so cannot fail. */
        if (m->slots[i].value != MAP_EMPTY) {
            m->slots[i].value = value;
            return 0;
        }
    }
    if (m->count >= m->capacity / 4 * 3) {
        if (map_resize(m, m->capacity == 0 ? MAP_FIRST : m->capacity * 2) != 0)
            return PHX_ENOMEM;
        i = map_find(m, key);
    }
    m->slots[i] = (struct phx__map_slot){ (uint32_t)key, (uint32_t)(key >> 32), value };
    m->count++;
    return 0;
}

uint32_t phx__map_get(const struct phx__map *m, uint64_t key)
{
    return m->capacity == 0 ? MAP_EMPTY : m->slots[map_find(m, key)].value;
}

void phx__map_del(struct phx__map *m, uint64_t key)
{
    uint32_t mask = m->capacity - 1, hole, i;

    if (m->capacity == 0)
        return;
    hole = map_find(m, key);
    if (m->slots[hole].value == MAP_EMPTY)
        return;
    for (i = (hole + 1) & mask; m->slots[i].value != MAP_EMPTY; i = (i + 1) & mask) {
        /* Distances are counted backwards from i, around the end of the table: whoever is at least as far
         * from home as from the hole would have settled in the hole. */
        uint32_t from_home = (i - map_home(m, map_key(&m->slots[i]))) & mask;

        if (from_home >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].value = MAP_EMPTY;
    m->count--;
}
