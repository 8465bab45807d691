/* id.h - node ids, and the table that gives each id a small index. */
#ifndef PHX_BASE_ID_H
#define PHX_BASE_ID_H
#include "base/buf.h"
#include "base/map.h"

PHX_PRIVATE int phx__id_equal(const struct phx_id *a, const struct phx_id *b);
PHX_PRIVATE int phx__id_compare(const struct phx_id *a, const struct phx_id *b); /* as memcmp */
PHX_PRIVATE uint64_t phx__id_hash(const struct phx_id *id);

/* All ids a node knows, each with a small index. An index is used again only after phx__id_drop, which step.c
 * calls once every room has forgotten the node. That of a node which phx_fail named is never dropped. */
enum phx__id_use { PHX__ID_FREE, PHX__ID_USED, PHX__ID_FAILING, PHX__ID_FAILED };
struct phx__ids {
    struct phx__mem *mem;
    struct phx_id *at;
    uint8_t *used; /* enum phx__id_use; FAILING: not all rooms have seen it */
    struct phx__map places; /* phx__id_hash -> index */
    uint32_t count;        /* ids in use */
    uint32_t size;         /* indices 0..size-1 have been given out */
    uint32_t capacity, used_capacity;
    uint32_t limit; /* ids at once */
};
PHX_PRIVATE void phx__id_init(struct phx__ids *ids, struct phx__mem *mem, uint32_t limit);
PHX_PRIVATE void phx__id_free(struct phx__ids *ids);
/* The hash of the id with this index. */
PHX_PRIVATE uint64_t phx__id_hash_at(const struct phx__ids *ids, uint32_t index);
/* The index, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__id_find(const struct phx__ids *ids, const struct phx_id *id);
/* Finds or adds. PHX_ENOMEM, PHX_ELIMIT (also if the hashes of two ids collide). */
PHX_PRIVATE int phx__id_add(struct phx__ids *ids, const struct phx_id *id, uint32_t *index);
PHX_PRIVATE void phx__id_drop(struct phx__ids *ids, uint32_t index);
/* Gives memory back that few ids do not need: one above the highest index in use. */
PHX_PRIVATE uint32_t phx__id_fit(struct phx__ids *ids);

#endif
