/* dial_rig.h - one node's dialling without a node: a dial only writes down what it is asked for. */
#ifndef DIAL_RIG_H
#define DIAL_RIG_H
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "dial/dial.h"
#endif

#define MS PHX__MS
#define SECOND PHX__SECOND
#define RETRY_MIN (50 * MS)
#define RETRY_MAX (30 * SECOND)
#define OPEN 256

/* One node's room, all it stands on, and a dial that only writes down what it is asked for. */
struct dialled {
    uint32_t slot, expect;
    struct phx_address to;
    uint64_t at;
};
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__rnd rnd;  /* the room's */
    struct phx__rnd dice; /* the test's */
    struct phx__dial d;
    uint64_t now;
    struct dialled open[OPEN]; /* under way */
    uint32_t open_count;
    struct dialled last;   /* of all dials */
    uint32_t dials, abandons;
    uint32_t asked; /* for hubs, so often; and when last */
    uint64_t asked_at;
    int busy;    /* messages are under way */
    int answers; /* each dial has an answer at once, and is no link yet */
    int refuse;            /* each dial fails at once so; 0: under way */
    uint16_t fail_port;    /* or only this port's, with PHX_EREFUSED */
    uint32_t wrong;        /* what must never happen did */
    struct phx_address said[2048][4]; /* by node: what phx__dial_set_addrs was last told */
    uint32_t said_count[2048];
};

static inline int rig_dial(phx *ctx, uint32_t slot, uint32_t expect, const struct phx_address *to)
{
    struct rig *r = (void *)ctx;
    uint32_t i;

    r->dials++;
    r->last.slot = slot;
    r->last.expect = expect;
    r->last.to = *to;
    r->last.at = r->now;
    r->wrong += slot == PHX__NONE || r->open_count >= r->d.limits.max_dials;
    r->wrong += expect != PHX__NONE && r->d.targets.nodes[expect].linked;
    for (i = 0; i < r->open_count; i++) {
        r->wrong += r->open[i].slot == slot;
        r->wrong += phx__addr_equal(&r->open[i].to, to) != 0;
    }
    if (r->refuse != 0)
        return r->refuse;
    if (r->fail_port != 0 && r->fail_port == to->port)
        return PHX_EREFUSED;
    r->open[r->open_count++] = r->last;
    if (r->answers)
        phx__dial_answered(&r->d, slot, 1);
    return 0;
}

static inline int rig_close(struct rig *r, uint32_t slot)
{
    uint32_t i;

    for (i = 0; i < r->open_count; i++) {
        if (r->open[i].slot != slot)
            continue;
        r->open[i] = r->open[--r->open_count];
        return 1;
    }
    return 0;
}

static inline void rig_abandon(phx *ctx, uint32_t slot)
{
    struct rig *r = (void *)ctx;

    r->abandons++;
    r->wrong += !rig_close(r, slot);
}

static inline uint32_t rig_addresses(phx *ctx, uint32_t node, struct phx_address *out)
{
    struct rig *r = (void *)ctx;

    memcpy(out, r->said[node], sizeof r->said[node]);
    return r->said_count[node];
}

static inline int rig_says(struct rig *r, uint32_t node, const struct phx_address *a, uint32_t count)
{
    check(node < PHX__COUNT(r->said) && count <= PHX__COUNT(r->said[0]), "there is room for what is said");
    if (count > 0)
        memcpy(r->said[node], a, count * sizeof *a);
    r->said_count[node] = count;
    return phx__dial_set_addrs(&r->d, node, a, count);
}

static inline int rig_busy(phx *ctx)
{
    return ((struct rig *)(void *)ctx)->busy;
}

static inline void rig_id(struct phx__rnd *dice, struct phx_id *id)
{
    uint32_t i;

    for (i = 0; i < sizeof id->b; i++)
        id->b[i] = (unsigned char)phx__rnd_below(dice, 256);
}

static inline int rig_init(struct rig *r, uint32_t max_links, uint32_t full_mesh, uint32_t max_dials,
                           uint64_t seed)
{
    struct phx__dial_ops ops = { NULL, rig_dial, rig_abandon, rig_busy, rig_addresses };
    struct phx__dial_limits limits = { 0, 0, 0, RETRY_MIN, RETRY_MAX, 0 };
    struct phx_alloc alloc;
    struct phx_id self;
    uint32_t index;

    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100000);
    phx__timer_init(&r->timers, &r->mem);
    phx__rnd_seed(&r->rnd, seed, 1);
    phx__rnd_seed(&r->dice, seed, 2);
    memset(&r->d, 0, sizeof r->d);
    r->now = SECOND;
    rig_id(&r->dice, &self);
    if (phx__id_add(&r->ids, &self, &index) != 0)
        return PHX_ENOMEM;
    ops.ctx = (void *)r;
    limits.max_links = max_links;
    limits.full_mesh = full_mesh;
    limits.max_dials = max_dials;
    return phx__dial_init(&r->d, &r->mem, &r->ids, &r->timers, &r->rnd, &r->now, &limits, &ops);
}

static inline struct rig *rig_mesh(uint32_t max_links, uint32_t full_mesh, uint32_t max_dials, uint64_t seed)
{
    struct rig *r = calloc(1, sizeof *r);

    if (r == NULL || rig_init(r, max_links, full_mesh, max_dials, seed) != 0)
        exit(1);
    return r;
}

static inline struct rig *rig_new(uint32_t max_links, uint32_t max_dials, uint64_t seed)
{
    return rig_mesh(max_links, UINT32_MAX, max_dials, seed);
}

static inline void rig_free(struct rig *r)
{
    phx__dial_free(&r->d);
    phx__id_free(&r->ids);
    phx__timer_free(&r->timers);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
    check(r->wrong == 0, "no dial was against the rules: %u", r->wrong);
    free(r);
}

/* Others say that it is back; and that it is gone again, so that no route keeps its dials frequent. */
static inline void rig_news(struct rig *r, uint32_t node)
{
    phx__dial_route(&r->d, node, 0);
    phx__dial_route(&r->d, node, 1);
    phx__dial_route(&r->d, node, 0);
}

/* Lets time pass up to and including `until`. */
static inline void rig_run(struct rig *r, uint64_t until)
{
    uint32_t arg;
    int kind, count = 0;

    while (phx__timer_next(&r->timers) <= until && count++ < 1000000) {
        if (phx__timer_next(&r->timers) > r->now)
            r->now = phx__timer_next(&r->timers);
        if (phx__timer_pop(&r->timers, r->now, &kind, &arg) != 1)
            continue;
        if (kind != PHX__TIMER_HUBS) {
            phx__dial_due(&r->d);
        } else if (phx__dial_lacks_hubs(&r->d)) {
            r->asked++;
            r->asked_at = r->now;
        }
    }
    check(count < 1000000, "time does not stand still");
    r->now = until;
}

static inline void rig_pass(struct rig *r, uint64_t us)
{
    rig_run(r, r->now + us);
}

/* Runs to the next dial; how long it took, or UINT64_MAX if none comes within an hour. */
static inline uint64_t rig_wait(struct rig *r)
{
    uint64_t begin = r->now;
    uint32_t dials = r->dials;

    while (r->dials == dials) {
        if (phx__timer_next(&r->timers) > begin + 3600 * SECOND)
            return UINT64_MAX;
        rig_run(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
    }
    return r->now - begin;
}

static inline void rig_fail(struct rig *r, uint32_t slot, int error)
{
    r->wrong += !rig_close(r, slot);
    phx__dial_result(&r->d, slot, error);
}

static inline int rig_up(struct rig *r, uint32_t slot, uint32_t node)
{
    if (slot != PHX__NONE)
        r->wrong += !rig_close(r, slot);
    return phx__dial_up(&r->d, node, slot);
}

/* A node with a random id. */
static inline uint32_t rig_node(struct rig *r)
{
    struct phx_id id;
    uint32_t node = PHX__NONE;

    rig_id(&r->dice, &id);
    if (phx__id_add(&r->ids, &id, &node) != 0)
        return PHX__NONE;
    return node;
}

static inline struct phx_address v4(uint32_t host, uint16_t port)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = PHX_IPV4;
    a.ip[0] = 10;
    a.ip[2] = (unsigned char)(host >> 8);
    a.ip[3] = (unsigned char)host;
    a.port = port;
    return a;
}

static inline struct phx_address v6(uint32_t host, uint16_t port)
{
    struct phx_address a = v4(host, port);

    a.family = PHX_IPV6;
    return a;
}

static inline struct phx_address in_unix(const char *path)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = PHX_UNIX;
    memcpy(a.path, path, strlen(path));
    return a;
}

/* A node at 10.0.x.y, with x.y its index. */
static inline uint32_t rig_known(struct rig *r)
{
    uint32_t node = rig_node(r);
    struct phx_address a = v4(node, 7000);

    check(rig_says(r, node, &a, 1) == 0, "addresses");
    return node;
}

/* A place to dial that is not the address of any node. */
static inline int rig_hub(struct rig *r, uint32_t host)
{
    struct phx_address a = v6(host, 7000);

    return phx__dial_hub(&r->d, &a, 1);
}

/* What must hold whatever happened. */
static inline void rig_check(struct rig *r)
{
    const struct phx__dial *d = &r->d;
    uint32_t i, k, open = 0, linked = 0, known = 0, late = 0, waiting = 0, wrong = 0;
    uint32_t mesh = d->limits.full_mesh < d->limits.max_links ? d->limits.full_mesh : d->limits.max_links;

    for (i = 0; i < d->targets.count; i++) {
        const struct phx__dial_target *t = &d->targets.at[i];
        uint32_t mine = 0;
        uint64_t due;
        int waits = t->ticket != 0;
        if (t->at == NULL)
            continue;
        for (k = 0; k < t->count; k++)
            mine += t->at[k].dialled;
        open += mine;
        due = phx__timer_at(&d->targets.due, i);
        waiting += t->ticket != 0;
        wrong += mine != t->open;
        wrong += !t->round && (mine > 0 || t->untried != 0);
        wrong += t->round && mine == 0 && t->untried == 0;
        /* Whoever has something to try has a time or a turn, and not both. */
        wrong += t->untried != 0 && due == UINT64_MAX && !waits;
        wrong += due != UINT64_MAX && waits;
        late += phx__timer_next(&r->timers) > PHX__MAX(due, r->now);
        if (t->node != PHX__NONE && t->node < d->targets.node_capacity && d->targets.nodes[t->node].linked)
            wrong += t->round || due != UINT64_MAX || waits;
        else if (!d->stopped
                 && (t->hub || (d->links < d->limits.max_links && d->targets.known <= mesh)))
            /* And nobody who should be linked is at rest. */
            wrong += !t->round && due == UINT64_MAX && !waits;
    }
    for (i = 0; i < d->targets.node_capacity; i++) {
        linked += d->targets.nodes[i].linked != 0;
        known += d->targets.nodes[i].linked || d->targets.nodes[i].target != 0;
    }
    wrong += open != r->open_count || open > d->limits.max_dials;
    wrong += linked != d->links || known != d->targets.known || waiting != d->waiting;
    /* Whoever is due either waits for a slot or is called in time. */
    wrong += late > 0 && open < d->limits.max_dials;
    r->wrong += wrong;
}

#endif
