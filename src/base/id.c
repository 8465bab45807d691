/* id.c - node ids, and the table that gives each id a small index. */

/* Rooms find what they know of a node in arrays, under its index. The lowest free index is given, which keeps
 * those arrays short. Ids are found by a 64-bit hash in a table as in map.c. A slot keeps half of the hash;
 * the other half is computed from the id. The full id is compared after the hash. Of two ids with one hash,
 * which takes 2^32 random nodes, the second is refused. */
#include "base/id.h"

/* The first table: 128 bytes. */
#define ID_SLOTS_FIRST 16u

struct phx__id_slot {
    uint32_t tag;   /* the low half of the hash */
    uint32_t index; /* PHX__NONE: free */
};

int phx__id_equal(const struct phx_id *a, const struct phx_id *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* An order that all nodes agree on, for ties; it means nothing else. */
int phx__id_compare(const struct phx_id *a, const struct phx_id *b)
{
    return memcmp(a->b, b->b, sizeof a->b);
}

uint64_t phx__id_hash(const struct phx_id *id)
{
    uint64_t low = phx__buf_load_u64(id->b), high = phx__buf_load_u64(id->b + 8);

    /* The odd constant sets (x, y) apart from (y, x), and keeps id 0 from hashing to 0. */
    return phx__map_mix(low ^ phx__map_mix(high + UINT64_C(0x9e3779b97f4a7c15)));
}

void phx__id_init(struct phx__ids *ids, struct phx__mem *mem, uint32_t limit)
{
    *ids = (struct phx__ids){ .mem = mem, .limit = limit };
}

void phx__id_free(struct phx__ids *ids)
{
    phx__mem_put(ids->mem, ids->at, ids->capacity * sizeof *ids->at);
    phx__mem_put(ids->mem, ids->used, ids->used_capacity * sizeof *ids->used);
    phx__mem_put(ids->mem, ids->slots, ids->slot_capacity * sizeof *ids->slots);
    phx__id_init(ids, ids->mem, ids->limit);
}

/* The slot of the id with this hash, or the empty one (there is one) where it would go. Capacity is not 0. */
static uint32_t id_slot(const struct phx__ids *ids, uint64_t hash)
{
    uint32_t mask = ids->slot_capacity - 1, i = (uint32_t)hash & mask;

    while (ids->slots[i].index != PHX__NONE
           && (ids->slots[i].tag != (uint32_t)hash
               || phx__id_hash(&ids->at[ids->slots[i].index]) != hash))
        i = (i + 1) & mask;
    return i;
}

uint32_t phx__id_find_hash(const struct phx__ids *ids, uint64_t hash)
{
    return ids->slot_capacity == 0 ? PHX__NONE : ids->slots[id_slot(ids, hash)].index;
}

uint32_t phx__id_find(const struct phx__ids *ids, const struct phx_id *id)
{
    uint32_t i = phx__id_find_hash(ids, phx__id_hash(id));

    return i != PHX__NONE && phx__id_equal(&ids->at[i], id) ? i : PHX__NONE;
}

/* A table of another size. 0 or PHX_ENOMEM. */
static int id_set_slots(struct phx__ids *ids, uint32_t size)
{
    uint32_t old = ids->slot_capacity, mask = size - 1, i, k;
    struct phx__id_slot *slots;

    if ((slots = phx__mem_get(ids->mem, size * sizeof *slots)) == NULL)
        return PHX_ENOMEM;
    memset(slots, 0xff, size * sizeof *slots); /* every index becomes PHX__NONE */
    for (i = 0; i < old; i++) {
        if (ids->slots[i].index == PHX__NONE)
            continue;
        for (k = ids->slots[i].tag & mask; slots[k].index != PHX__NONE; k = (k + 1) & mask)
            ;
        slots[k] = ids->slots[i];
    }
    phx__mem_put(ids->mem, ids->slots, old * sizeof *slots);
    ids->slots = slots;
    ids->slot_capacity = size;
    return 0;
}

/* Empties a slot, and moves those behind it back into the hole; see map.c. */
static void id_empty_slot(struct phx__ids *ids, uint32_t hole)
{
    uint32_t mask = ids->slot_capacity - 1, i;

    for (i = (hole + 1) & mask; ids->slots[i].index != PHX__NONE; i = (i + 1) & mask) {
        uint32_t from_home = (i - ids->slots[i].tag) & mask;

        if (from_home >= ((i - hole) & mask)) {
            ids->slots[hole] = ids->slots[i];
            hole = i;
        }
    }
    ids->slots[hole].index = PHX__NONE;
}

int phx__id_add(struct phx__ids *ids, const struct phx_id *id, uint32_t *index)
{
    uint64_t hash = phx__id_hash(id);
    uint32_t i = phx__id_find_hash(ids, hash), slot, old = ids->slot_capacity;

    if (i != PHX__NONE) {
        /* Another id has our hash, which chance does not do: somebody has computed it. */
        if (!phx__id_equal(&ids->at[i], id))
            return PHX_ELIMIT;
        *index = i;
        return 0;
    }
    if (ids->count >= ids->limit)
        return PHX_ELIMIT;
    /* A linear search, but memchr passes 10,000 nodes in a fraction of a microsecond and nodes are added
     * rarely; a free list would give the latest index instead of the lowest. */
    i = ids->size;
    if (ids->count < i)
        i = (uint32_t)((const uint8_t *)memchr(ids->used, 0, i) - ids->used);
    if (phx__mem_grow(ids->mem, &ids->at, &ids->capacity, i + 1, sizeof *ids->at) != 0
        || phx__mem_grow(ids->mem, &ids->used, &ids->used_capacity, i + 1, sizeof *ids->used) != 0
        || (ids->count >= old / 4 * 3 /* full */
            && id_set_slots(ids, old == 0 ? ID_SLOTS_FIRST : old * 2) != 0))
        return PHX_ENOMEM; /* arrays that have grown stay so; nothing else has changed */
    slot = id_slot(ids, hash);
    ids->slots[slot] = (struct phx__id_slot){ (uint32_t)hash, i };
    ids->at[i] = *id;
    ids->used[i] = 1;
    ids->count++;
    if (i == ids->size)
        ids->size++;
    *index = i;
    return 0;
}

void phx__id_drop(struct phx__ids *ids, uint32_t index)
{
    PHX_ASSERT(index < ids->size && ids->used[index]);
    /* The id is wiped so that a room which kept the index sees nobody there, and not the old node. */
    id_empty_slot(ids, id_slot(ids, phx__id_hash(&ids->at[index])));
    memset(&ids->at[index], 0, sizeof ids->at[index]);
    ids->used[index] = 0;
    ids->count--;
}

uint32_t phx__id_fit(struct phx__ids *ids)
{
    uint32_t slots = ids->slot_capacity;

    while (ids->size > 0 && !ids->used[ids->size - 1])
        ids->size--;
    phx__mem_fit(ids->mem, &ids->at, &ids->capacity, ids->size, sizeof *ids->at);
    phx__mem_fit(ids->mem, &ids->used, &ids->used_capacity, ids->size, sizeof *ids->used);
    while (slots > ID_SLOTS_FIRST && ids->count < slots / 8 * 3)
        slots /= 2;
    if (slots < ids->slot_capacity)
        (void)id_set_slots(ids, slots);
    return ids->size;
}

const char *phx_id_text(const struct phx_id *id, char out[PHX_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof id->b; i++) {
        out[2 * i] = digits[id->b[i] >> 4];
        out[2 * i + 1] = digits[id->b[i] & 15];
    }
    out[2 * sizeof id->b] = '\0';
    return out;
}
