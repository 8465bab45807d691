/* names_rig.h - one node's names and all they stand on, for the tests of src/names/names.c. */
#ifndef NAMES_RIG_H
#define NAMES_RIG_H
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "names/names.h"
#include "base/rnd.h"
#endif
#include <inttypes.h>

#define TOP (UINT64_MAX - 1) /* where epochs end */

/* One node's room and all it stands on. Node 0 is the node itself. */
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__names names;
};

static inline void rig_id(struct phx_id *id, uint32_t rank)
{
    memset(id, 0, sizeof *id);
    id->b[0] = (unsigned char)(rank >> 8); /* compared first */
    id->b[1] = (unsigned char)rank;
    id->b[15] = 1;
}

/* Node i gets the id of ranks[i], or of i if ranks is NULL. */
static inline void rig_init(struct rig *r, uint32_t nodes, const uint32_t *ranks)
{
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, index;

    memset(&r->heap, 0, sizeof r->heap);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 65536);
    for (i = 0; i < nodes; i++) {
        rig_id(&id, ranks ? ranks[i] : i);
        check(phx__id_add(&r->ids, &id, &index) == 0 && index == i, "id %u", i);
    }
    phx__names_init(&r->names, &r->mem, &r->ids);
    r->names.keep = 1; /* as the models do; test_joined has the other rule */
}

static inline int rig_free(struct rig *r)
{
    phx__names_free(&r->names);
    phx__id_free(&r->ids);
    return r->mem.used == 0 && test_heap_is_clean(&r->heap);
}

/* Through the wire, as the node gets it. */
static inline int set(struct rig *r, uint32_t node, int flags, const struct phx__claim *c,
               uint32_t count)
{
    size_t size = phx__wire_route_card_size(0, count);
    uint8_t *data = malloc(size);
    struct phx__card card;
    struct phx__writer w;
    int rc = -1000;

    memset(&card, 0, sizeof card);
    card.flags = (uint8_t)flags;
    card.window = 1u << 20;
    card.claim_count = count;
    phx__buf_writer_init(&w, data, size);
    phx__wire_route_put_card(&w, &card, c);
    if (check(!w.bad && phx__wire_route_get_card(w.data, w.size, &card) == 0, "the card is sound"))
        rc = phx__names_set(&r->names, node, &card);
    free(data);
    return rc;
}

static inline uint32_t owner(struct rig *r, uint64_t name)
{
    return phx__names_owner(&r->names, name, NULL, NULL);
}

static inline uint32_t own_count(struct rig *r)
{
    phx__names_join_pages(&r->names);
    return r->names.capacity > 0 ? r->names.of[PHX__SELF].count : 0;
}

#endif
