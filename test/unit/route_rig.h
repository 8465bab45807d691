/* route_rig.h - one routing brain, and what its neighbours say to it. */
#ifndef ROUTE_RIG_H
#define ROUTE_RIG_H

#include "routes.h"

/* Host 0 is the brain; all others are this file. What it sends is counted, by kind, and dropped. */
static struct world world;
static struct host *h;
static struct phx__route *r;
static uint32_t said[NOTE_END + 1];

static inline void hear(void)
{
    uint32_t to;

    memset(said, 0, sizeof said);
    for (to = 0; to < WORLD_MAX; to++) {
        struct note *n;
        while ((n = queue_take(&world, 0, to)) != NULL) {
            said[n->kind]++;
            note_free(n);
        }
    }
}

static inline void begin(void)
{
    world_begin(&world, WORLD_MAX, 1);
    h = &world.host[0];
    r = &h->route;
    check(host_start(&world, 0, 1) == 0, "begun");
    host_flush(h);
    world.now += PHX__SECOND;
}

static inline void end(void)
{
    check(world_free(&world), "no byte leaked");
}

static inline uint32_t node_of(uint32_t rank)
{
    struct phx_id id;
    uint32_t node = PHX__NONE;

    host_id(&id, rank);
    check(phx__id_add(&h->ids, &id, &node) == 0, "an index");
    return node;
}

/* rank says of v: number, hops, incarnation; this version of v's card comes along, unless it is 0. */
static inline int tell_as(uint32_t rank, uint32_t v, uint32_t seq, unsigned hops, uint64_t life,
                          uint32_t card)
{
    static uint8_t bytes[4];
    struct phx__entry e = { .incarnation = life, .seq = seq, .hops = (uint8_t)hops, .card_version = card };

    host_id(&e.id, v);
    bytes[0] = (uint8_t)v;
    bytes[1] = (uint8_t)card;
    e.card = card != 0 ? bytes : NULL;
    e.card_size = card != 0 ? 4 : 0;
    return phx__route_entry(r, node_of(rank), &e, world.now);
}

static inline void tell(uint32_t rank, uint32_t v, uint32_t seq, unsigned hops)
{
    check(tell_as(rank, v, seq, hops, 1, 1) == 0, "told");
}

/* A link to rank, whose hello says all that both know. */
static inline void up(uint32_t rank)
{
    const struct phx__dest *own = phx__route_dest(r, PHX__SELF);
    const struct phx__route_hello hello = { 1, 2, 0, own->seq, own->card_version, 0 };

    world.wire[0][rank] = world.link[0][rank] = ++world.links;
    check(phx__route_up(r, node_of(rank), &hello, world.now) == 0, "up");
}

static inline void down(uint32_t rank)
{
    phx__route_down(r, node_of(rank), world.now);
    world.link[0][rank] = 0;
}

/* Its timers alone, for so long. */
static inline void wait(uint64_t us)
{
    uint64_t until = world.now + us;

    while (phx__timer_next(&h->timers) <= until) {
        world.now = phx__timer_next(&h->timers);
        host_due(h);
    }
    world.now = until;
}

/* What rank is told of v by now: its hops, or -1. */
static inline int now_told(uint32_t rank, uint32_t v)
{
    const struct phx__advertised *t;

    host_flush(h);
    t = phx__route_table_advertised(phx__route_dest(r, node_of(v)), node_of(rank));
    return t == NULL ? -1 : t->hops;
}

static inline int told(uint32_t rank, uint32_t v)
{
    wait(100 * PHX__MS); /* shorter ways wait for company */
    return now_told(rank, v);
}

static inline int is_listed(uint32_t rank)
{
    uint32_t node, found = 0;

    while (phx__route_advert_changed(r, &node))
        found |= node == node_of(rank);
    return found != 0;
}

#endif
