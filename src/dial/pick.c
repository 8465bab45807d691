/* pick.c - the few nodes that a node picks for itself when it cannot link with all. */

/* Rendezvous hashing: every node orders all others by a hash of the pair and picks the first few. The pick
 * needs no talk, stays as it is when others come and go, and differs from node to node. */
#include "dial/pick.h"

uint64_t phx__dial_pick_score(const struct phx__ids *ids, uint32_t node)
{
    /* The odd constant (2^64 by the golden ratio) sets (a, b) apart from (b, a): if picks were always mutual,
     * 8 picks would make only 8 links a node, all of them among close friends. */
    return phx__map_mix(phx__id_hash(&ids->at[PHX__SELF])
                        ^ phx__id_hash(&ids->at[node]) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Which of the picks it is, or count. */
static uint32_t pick_find(const struct phx__dial_picks *p, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < p->count && p->at[i].node != node; i++)
        ;
    return i;
}

int phx__dial_pick_has(const struct phx__dial_picks *p, uint32_t node)
{
    return pick_find(p, node) < p->count;
}

int phx__dial_pick_takes(const struct phx__dial_picks *p, const struct phx__ids *ids, uint32_t node)
{
    return p->count < PHX__DIAL_PICKS || p->at[p->count - 1].score > phx__dial_pick_score(ids, node);
}

void phx__dial_pick_offer(struct phx__dial_picks *p, const struct phx__ids *ids, uint32_t node)
{
    uint64_t score = phx__dial_pick_score(ids, node);
    uint32_t i;

    if (!phx__dial_pick_takes(p, ids, node))
        return;
    i = p->count < PHX__DIAL_PICKS ? p->count++ : p->count - 1;
    for (; i > 0 && p->at[i - 1].score > score; i--)
        p->at[i] = p->at[i - 1];
    p->at[i].score = score;
    p->at[i].node = node;
}

int phx__dial_pick_drop(struct phx__dial_picks *p, uint32_t node)
{
    uint32_t i = pick_find(p, node);

    if (i == p->count)
        return 0;
    for (p->count--; i < p->count; i++)
        p->at[i] = p->at[i + 1];
    return 1;
}
