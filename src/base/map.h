/* map.h - one open-addressing hash from 64-bit keys to 32-bit values. */
#ifndef PHX_BASE_MAP_H
#define PHX_BASE_MAP_H
#include "base/mem.h"

struct phx__map {
    struct phx__mem *mem;
    struct phx__map_slot *slots;
    uint32_t count, capacity; /* capacity: 0 or a power of two, at most 3/4 full */
};

PHX_PRIVATE void phx__map_init(struct phx__map *m, struct phx__mem *mem);
PHX_PRIVATE void phx__map_free(struct phx__map *m);
/* Sets or replaces. 0 or PHX_ENOMEM. value must not be UINT32_MAX. */
PHX_PRIVATE int phx__map_put(struct phx__map *m, uint64_t key, uint32_t value);
/* UINT32_MAX if absent. */
PHX_PRIVATE uint32_t phx__map_get(const struct phx__map *m, uint64_t key);
PHX_PRIVATE void phx__map_del(struct phx__map *m, uint64_t key);
/* Gives memory back if there is room for far more than it holds. */
PHX_PRIVATE void phx__map_fit(struct phx__map *m);
/* A good mix of 64 bits (finaliser of MurmurHash3, public domain constants). */
PHX_PRIVATE uint64_t phx__map_mix(uint64_t x);

#endif
