/* gap.c - BRAIN: by which losses the neighbourhoods of this node and of a neighbour differ. */

/* Who relied on a link of ours must know when it is lost: it may have to advertise that neighbour to us now.
 * But where all have lost that neighbour nobody has: if a node of a full mesh dies, its neighbours need not
 * hear so from each other. So a loss is told to nobody at first, unless it made a way to others worse. The
 * lost one stays in the neighbourhood that we announce. One neighbour that is next to it is asked for a way
 * (route_ask_blind). If the other end lives it asks as well, whatever else it has lost. After a second the
 * loss is settled: with a way to that node others are not without it, and all are told; with none, all have
 * lost it, and both sides of each link take it out of what the other one announced (route_settle_loss),
 * which is a look at each neighbour. Until then no way to it is passed on, as who offers one may only be
 * late to notice, and beats do not say what our neighbourhood is: the other side may settle before us, or
 * after. Who told one end of a way that proved good, as that end names the loss to all, tells the other end
 * of the way back; not before, as that end may be dead. If a link fell silent, our new next hop is asked
 * whether that node lives (phx__route_beat_silent): what it said to our suspicion may be lost with the link.
 *
 * If all are told, neighbours learn of it one by one, and each names to the others whom it lost. In between
 * two neighbourhoods differ by known nodes, and all the rest of them is still known to be the same: it was
 * so before, and the XOR of the hashes of those in the gap is the difference of the two hashes. */
#include "route/gap.h"

int phx__route_gap_has(const struct phx__route_gap *g, uint32_t node)
{
    uint32_t i = g->count;

    while (i > 0 && g->at[i - 1] != node)
        i--;
    return (int)i;
}

int phx__route_gap_take(struct phx__route_gap *g, const struct phx__ids *ids, uint32_t node)
{
    int i = phx__route_gap_has(g, node);

    if (i == 0)
        return 0;
    g->at[i - 1] = g->at[--g->count];
    g->hash ^= phx__id_hash_at(ids, node & ~PHX__GAP_THEIRS);
    return 1;
}

int phx__route_gap_add(struct phx__route_gap *g, struct phx__mem *mem, const struct phx__ids *ids,
                       uint32_t node)
{
    if (phx__mem_grow(mem, &g->at, &g->capacity, g->count + 1, sizeof *g->at) != 0)
        return PHX_ENOMEM;
    g->at[g->count++] = node;
    g->hash ^= phx__id_hash_at(ids, node & ~PHX__GAP_THEIRS);
    return 0;
}

void phx__route_gap_free(struct phx__route_gap *g, struct phx__mem *mem)
{
    phx__mem_put(mem, g->at, g->capacity * sizeof *g->at);
    memset(g, 0, sizeof *g);
}

int phx__route_gap_explains(const struct phx__route_gap *g, const struct phx__ids *ids, uint64_t differs,
                            uint32_t *but)
{
    differs ^= g->hash;
    *but = differs == 0 ? PHX__NONE : phx__map_get(&ids->places, differs);
    return differs == 0 || *but != PHX__NONE;
}
