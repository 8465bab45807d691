/* beat.c - what heartbeats say of tables and neighbourhoods, and what follows from it. */
/* route.c's essay says what digests and neighbourhoods are for, and advert.c who is told of a loss. */
#include "route/route.h"

/* Summaries between two neighbours that go on disagreeing: 10 s apart at first, doubling to 5 minutes. */
#define BEAT_SUMMARY_WAIT (10 * PHX__SECOND)
#define BEAT_SUMMARY_WAIT_MAX (300 * PHX__SECOND)

/* Neighbour n has lost the node of this hash. If we have, too, nobody needs an update. If not, updates that
 * we withheld may have relied on their link: to n of that node and its offers, to that node of n's. */
PHX__COLD static void beat_named_lost(struct phx__route *r, struct phx__route_nbr *n, uint64_t hash)
{
    uint32_t node = phx__map_get(&r->ids->places, hash);
    struct phx__route_nbr *k = phx__route_nbr(r, node);

    if (node == PHX__NONE || phx__route_gap_take(&n->gap, r->ids, node) || k == NULL || k == n)
        return;
    if (!phx__route_gap_has(&n->gap, node | PHX__GAP_THEIRS)
        && phx__route_gap_add(&n->gap, r->mem, r->ids, node | PHX__GAP_THEIRS) != 0)
        n->neighbourhood = 0; /* not known until its next beat */
    n->dirty = k->dirty = 2;
    r->pace.look = r->pace.news = 1;
    r->counters.walked += 2 * (uint64_t)r->table.capacity + n->gap.count;
}

int phx__route_beat_all_agree(const struct phx__route *r)
{
    for (uint32_t i = 0; i < r->nbr_count; i++)
        if (r->nbrs[i].neighbourhood != r->neighbourhood)
            return 0;
    return 1;
}

/* All neighbours of n have this neighbourhood: as if each had said so to us, and we to each. */
PHX__COLD static void beat_all(struct phx__route *r, const struct phx__route_nbr *n, uint64_t around)
{
    uint32_t but, i, kept = 0;
    int known = phx__route_gap_explains(&n->gap, r->ids, around ^ r->neighbourhood, &but) && but == PHX__NONE;

    for (struct phx__route_nbr *k = r->nbrs; k < r->nbrs + r->nbr_count; k++) {
        if (k == n)
            continue;
        phx__route_gap_free(&k->gap, r->mem);
        for (i = 0; i < n->gap.count; i++)
            known = known && phx__route_gap_add(&k->gap, r->mem, r->ids, n->gap.at[i]) == 0
                    && (n->gap.at[i] & PHX__GAP_THEIRS) == 0;
        k->neighbourhood = known ? around : 0; /* 0: not known until its next beat */
        k->neighbourhood_told = around;
        k->dirty = known ? k->dirty : 2;
    }
    r->pace.look |= !known;
    for (i = 0; i < r->lost.count; i++) {
        uint32_t node = phx__map_get(&r->ids->places, r->lost.at[i].hash);
        const struct phx__dest *d = phx__route_dest(r, node);
        struct phx__ask *a = d != NULL ? phx__route_table_asked(&r->table, node) : NULL;
        if (phx__route_gap_has(&n->gap, node))
            r->lost.at[kept++] = r->lost.at[i];
        else if (a != NULL)
            a->asks = PHX__ROUTE_ASKS_BLIND; /* nobody can answer */
    }
    r->lost.count = kept;
}

/* A neighbour is next to fewer nodes: updates that we withheld may have relied on a link that is gone. */
PHX__COLD static void beat_shrank(struct phx__route *r, struct phx__route_nbr *n, uint64_t now)
{
    uint64_t checks = 0;

    n->dirty = 2;
    r->pace.look = r->pace.news = 1;
    r->mem->looks += r->table.capacity;
    for (uint32_t v = 1; v < r->table.capacity; v++) {
        if (phx__route_table_offer(&r->table.at[v], n->node) == NULL)
            continue;
        checks += (r->table.at[v].flags & PHX__DEST_LOSS) == 0 ? r->nbr_count : 0;
        phx__route_touch_loss(r, v, now);
    }
    r->counters.walked += r->table.capacity + checks * PHX__ROUTE_CHECK_COST;
}

void phx__route_beat_in(struct phx__route *r, uint32_t nbr, const struct phx__beat *b, int flags,
                        uint64_t now)
{
    int shrunk = (flags & (int)PHX__BEAT_SHRUNK) != 0;
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    if (n == NULL)
        return;
    if (shrunk && b->lost != 0)
        beat_named_lost(r, n, b->lost);
    else if (shrunk && n->neighbourhood != 0 && b->around != r->neighbourhood)
        beat_shrank(r, n, now); /* else all that it has lost we have lost, too */
    if (shrunk && (flags & (int)PHX__BEAT_ALL))
        beat_all(r, n, b->around);
    n->neighbourhood = b->around;
    if (n->held) {
        n->dirty = PHX__MAX(n->dirty, 1);
        n->held = 0;
        r->pace.look = r->pace.news = 1;
    }
    if (n->neighbourhood == r->neighbourhood)
        phx__route_gap_free(&n->gap, r->mem);
    if (shrunk && r->lost.count > 0 && phx__route_beat_all_agree(r))
        r->pace.shrunk = r->pace.urgent = 1;
    n->neighbours = b->around_count - (b->around_count > 0);
    if (b->digest == r->digest) {
        n->summary_wait = n->disagreed = 0;
    } else if (now > phx__route_quiet_at(r) && n->disagreed == 0) {
        n->disagreed = 1; /* perhaps the neighbour is only late: look again in a second */
        phx__route_plan(r, now + PHX__ROUTE_QUIET);
    } else if (now > phx__route_quiet_at(r) && now >= n->summary_at) {
        n->summary_wait = PHX__MIN(n->summary_wait * 2, BEAT_SUMMARY_WAIT_MAX);
        n->summary_wait = PHX__MAX(n->summary_wait, BEAT_SUMMARY_WAIT);
        n->summary_at = now + n->summary_wait;
        n->disagreed = 0;
        r->ops.summary(r->ops.ctx, nbr, 0);
    }
}

void phx__route_beat_fill(struct phx__route *r, uint32_t nbr, struct phx__beat *b)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    b->digest = r->digest;
    b->around = r->neighbourhood;
    b->around_count = r->nbr_count + 1;
    b->lost = r->lost.naming;
    if (n != NULL)
        n->neighbourhood_told = r->neighbourhood;
}
