/* summary.c - BRAIN: two tables are compared: who lacks what the other one knows. */
#include "route/route.h"

void phx__route_summary_begin(struct phx__route *r)
{
    r->counters.walked += r->table.live_count;
    r->mem->looks += r->table.live_count;
    for (uint32_t i = 0, v = 0; i < r->table.live_count; i++, v = r->table.at[v].live)
        r->table.at[v].flags &= (uint8_t)~PHX__DEST_SEEN;
}

void phx__route_summary_line(struct phx__route *r, uint32_t nbr, const struct phx__entry *s)
{
    uint32_t node = phx__id_find(r->ids, &s->id);
    struct phx__dest *d;

    r->mem->looks++;
    if (phx__route_dest(r, node) == NULL)
        return;
    d = &r->table.at[node];
    d->flags |= PHX__DEST_SEEN;
    if (d->hops != PHX__UNREACHABLE && node != nbr
        && (s->hops == PHX__UNREACHABLE || s->incarnation < d->incarnation
            || (s->incarnation == d->incarnation && (s->seq < d->seq || d->hops + 1 < s->hops))))
        (void)phx__route_asked(r, nbr, node, 0, r->moved); /* without memory: the next digest */
    /* The neighbour may have missed the retraction of a route through us: it is sent again. */
    if (d->hops == PHX__UNREACHABLE && s->hops != PHX__UNREACHABLE && !PHX__ROUTE_RULES(r)) {
        struct phx__advertised t = phx__route_table_word(d, nbr);
        t.hops = PHX__UNREACHABLE - 1;
        (void)phx__route_owe(r, nbr, node, &t, r->moved);
    }
}

void phx__route_summary_end(struct phx__route *r, uint32_t nbr, int reply)
{
    r->mem->looks += r->table.live_count;
    for (uint32_t i = 0, v = 0; i < r->table.live_count; i++, v = r->table.at[v].live) {
        const struct phx__dest *d = &r->table.at[v];
        if (v == nbr || d->hops == PHX__UNREACHABLE || (d->flags & PHX__DEST_SEEN))
            continue;
        (void)phx__route_asked(r, nbr, v, 0, r->moved);
        r->counters.walked += 2 * PHX__ROUTE_CHECK_COST; /* it is also sent */
    }
    r->counters.walked += 2 * (uint64_t)r->table.live_count; /* the second time for our own summary */
    if (!reply)
        r->ops.summary(r->ops.ctx, nbr, 1);
}
