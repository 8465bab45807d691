/* classic.c - the papers' update rules, plain DSDV and with trans and rcpt sets, for comparison. */
/*
 * Selected by cfg.routing for tests and benchmarks only: they are how the figures of Kaneda, Taura and
 * Yonezawa (CCGrid 2004) are drawn again, and how it is known what the default's changes are worth. Both
 * follow section 4.2: a larger number wins, at the same number fewer hops; a node that loses its next
 * hop raises the number itself and announces the loss, and the owner answers with a number above it. So
 * one cut link takes its destination from everybody for a round trip, which is why this is not the
 * default.
 *
 * PHX_ROUTING_NAIVE tells every neighbour of every change. PHX_ROUTING_PAPER keeps section 4.5's two sets
 * per entry: trans, to whom it was sent, and rcpt, who has it or will soon get it from another. trans is
 * the list of told, with the number and hops in use; rcpt is the list of heard, emptied whenever the
 * route improves. On an improving entry from u, rcpt becomes {u} and u's trans (Figure 2, not the text,
 * which forgets the latter); on others the rules are the corrected ones: whoever is behind leaves both
 * sets, so that it is told.
 */
#include "route/route.h"

/* A number that means "unreachable" must beat the one it ends, and the owner's next must beat it. */
void phx__route_classic_lost(struct phx__route *r, uint32_t nbr, uint32_t node, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    if (d->next != nbr || d->hops == PHX__UNREACHABLE)
        return;
    phx__route_table_unhear_all(&r->table, d);
    phx__route_use(r, node, PHX__NONE, d->seq + 1, PHX__UNREACHABLE, now);
}

static int classic_improves(const struct phx__dest *d, const struct phx__entry *e)
{
    if (e->seq != d->seq)
        return e->seq > d->seq;
    return e->hops < PHX__UNREACHABLE - 1 && e->hops + 1 < d->hops;
}

static int classic_received(struct phx__route *r, struct phx__dest *d, uint32_t nbr,
                            const struct phx__entry *e)
{
    struct phx__heard *h = phx__route_table_hear(&r->table, d, nbr);

    if (h == NULL)
        return PHX_ENOMEM;
    h->seq = e->seq;
    h->hops = e->hops;
    return 0;
}

/* Adds the sender's trans set to rcpt. Ids unknown here cannot be neighbours, so they do not matter. */
static int classic_promises(struct phx__route *r, struct phx__dest *d, const struct phx__entry *e,
                            const uint8_t *trans)
{
    uint16_t i;

    for (i = 0; i < e->trans_count; i++) {
        struct phx_id id;
        uint32_t node;
        memcpy(id.b, trans + (size_t)i * sizeof id.b, sizeof id.b);
        node = phx__id_find(r->ids, &id);
        if (node != PHX__NONE && classic_received(r, d, node, e) != 0)
            return PHX_ENOMEM;
    }
    return 0;
}

static int classic_other(struct phx__route *r, uint32_t nbr, uint32_t node,
                         const struct phx__entry *e, const uint8_t *trans, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    int behind = e->seq < d->seq
                 || (e->seq == d->seq && e->hops > d->hops + 1 && d->hops != PHX__UNREACHABLE);

    if (behind) {
        phx__route_table_unhear(&r->table, d, nbr);
        phx__route_touch(r, node, now);
        return phx__route_table_tell(&r->table, d, nbr, NULL);
    }
    if (e->seq != d->seq)
        return 0;
    if (classic_received(r, d, nbr, e) != 0)
        return PHX_ENOMEM;
    return e->hops <= d->hops ? classic_promises(r, d, e, trans) : 0;
}

int phx__route_classic_entry(struct phx__route *r, uint32_t nbr, uint32_t node,
                             const struct phx__entry *e, const uint8_t *trans, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    if (!classic_improves(d, e))
        return classic_other(r, nbr, node, e, trans, now);
    phx__route_table_unhear_all(&r->table, d);
    phx__route_table_told_hops(d, PHX__UNREACHABLE); /* out of trans; the card they have stays known */
    if (e->hops < PHX__UNREACHABLE - 1)
        phx__route_use(r, node, nbr, e->seq, (uint8_t)(e->hops + 1), now);
    else
        phx__route_use(r, node, PHX__NONE, e->seq, PHX__UNREACHABLE, now);
    phx__route_touch(r, node, now);
    return classic_received(r, d, nbr, e) || classic_promises(r, d, e, trans) ? PHX_ENOMEM : 0;
}

int phx__route_classic_needs(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr)
{
    const struct phx__told *t = phx__route_table_told(d, nbr);

    if (d->card_version == 0 && d->hops == PHX__UNREACHABLE && d->told == NULL
        && d->heard_count == 0)
        return 0;
    if (t != NULL && !t->asked && t->seq == d->seq && t->hops == d->hops
        && t->card >= d->card_version)
        return 0;
    return r->variant == PHX_ROUTING_NAIVE || phx__route_table_heard(d, nbr) == NULL;
}

static int classic_put_id(struct phx__route *r, uint32_t node)
{
    if (r->out_id_count == UINT16_MAX
        || phx__mem_grow(r->mem, &r->out_ids, &r->out_id_capacity, r->out_id_count + 1,
                         sizeof *r->out_ids))
        return PHX_ENOMEM;
    r->out_ids[r->out_id_count++] = r->ids->at[node];
    return 0;
}

static int classic_put_run(struct phx__route *r, const struct phx__dest *d,
                           const struct phx__told_run *run)
{
    uint32_t k;

    if (run->word.seq != d->seq || run->word.hops != d->hops)
        return 0;
    for (k = 0; k < run->count; k++)
        if (classic_put_id(r, run->first + k))
            return PHX_ENOMEM;
    return 0;
}

/* Attaches to each entry in out its trans set: a run of the message's table of ids. A set that finds no
 * room is sent empty, which costs a redundant message and nothing else. */
void phx__route_classic_sets(struct phx__route *r, uint32_t count)
{
    uint32_t i, k;

    for (i = 0; i < count; i++) {
        struct phx__entry *e = &r->out[i];
        const struct phx__dest *d = &r->table.at[phx__id_find(r->ids, &e->id)];
        uint32_t first = r->out_id_count;
        for (k = 0; d->told != NULL && k < d->told->count; k++)
            if (classic_put_run(r, d, &d->told->at[k]))
                break;
        e->trans_first = (uint16_t)first;
        e->trans_count = (uint16_t)(r->out_id_count - first);
    }
}
