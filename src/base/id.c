/* id.c - node ids, and the table that gives each id a small index. */

/* Rooms find what they know of a node in arrays, under its index. The lowest free index is given, which keeps
 * those arrays short. Ids are found by a 64-bit hash, and compared after it. Of two ids with one hash, which
 * takes 2^32 random nodes, the second is refused. */
#include "base/id.h"

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
    phx__map_init(&ids->places, mem);
}

PHX__COLD void phx__id_free(struct phx__ids *ids)
{
    phx__mem_put(ids->mem, ids->at, ids->capacity * sizeof *ids->at);
    phx__mem_put(ids->mem, ids->used, ids->used_capacity * sizeof *ids->used);
    phx__map_free(&ids->places);
    phx__id_init(ids, ids->mem, ids->limit);
}

uint64_t phx__id_hash_at(const struct phx__ids *ids, uint32_t index)
{
    return phx__id_hash(&ids->at[index]);
}

uint32_t phx__id_find(const struct phx__ids *ids, const struct phx_id *id)
{
    uint32_t i = phx__map_get(&ids->places, phx__id_hash(id));

    return i != PHX__NONE && phx__id_equal(&ids->at[i], id) ? i : PHX__NONE;
}

int phx__id_add(struct phx__ids *ids, const struct phx_id *id, uint32_t *index)
{
    uint64_t hash = phx__id_hash(id);
    uint32_t i = phx__map_get(&ids->places, hash);

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
        || phx__map_put(&ids->places, hash, i) != 0)
        return PHX_ENOMEM; /* arrays that have grown stay so; nothing else has changed */
    ids->at[i] = *id;
    ids->used[i] = 1;
    ids->count++;
    ids->size += i == ids->size;
    *index = i;
    return 0;
}

PHX__COLD void phx__id_drop(struct phx__ids *ids, uint32_t index)
{
    PHX_ASSERT(index < ids->size && ids->used[index]);
    /* The id is wiped so that a room which kept the index sees nobody there, and not the old node. */
    phx__map_del(&ids->places, phx__id_hash(&ids->at[index]));
    memset(&ids->at[index], 0, sizeof ids->at[index]);
    ids->used[index] = 0;
    ids->count--;
}

PHX__COLD uint32_t phx__id_fit(struct phx__ids *ids)
{
    while (ids->size > 0 && !ids->used[ids->size - 1])
        ids->size--;
    phx__mem_fit(ids->mem, &ids->at, &ids->capacity, ids->size, sizeof *ids->at);
    phx__mem_fit(ids->mem, &ids->used, &ids->used_capacity, ids->size, sizeof *ids->used);
    phx__map_fit(&ids->places);
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
