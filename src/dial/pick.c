/* pick.c - the few nodes that a node picks for itself when it cannot link with all. */

/* Rendezvous hashing: every node orders all others by a hash of the pair and picks the first few. The pick
 * needs no talk, stays as it is when others come and go, and differs from node to node. */
#include "dial/pick.h"

uint64_t phx__dial_pick_score(const struct phx__ids *ids, uint32_t node)
{
    /* The odd constant (2^64 by the golden ratio) sets (a, b) apart from (b, a): if my choice
     * were always yours, 8 choices would make only 8 links a node, and all of them among close
     * friends. */
    return phx__map_mix(phx__id_hash(&ids->at[PHX__SELF])
                    ^ phx__id_hash(&ids->at[node]) * UINT64_C(0x9e3779b97f4a7c15));
}

int phx__dial_pick_has(const struct phx__dial_picks *b, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < b->count; i++)
        if (b->at[i].node == node)
            return 1;
    return 0;
}

int phx__dial_pick_takes(const struct phx__dial_picks *b, const struct phx__ids *ids, uint32_t node)
{
    return b->count < PHX__DISC_BEST || b->at[b->count - 1].score > phx__dial_pick_score(ids, node);
}

void phx__dial_pick_offer(struct phx__dial_picks *b, const struct phx__ids *ids, uint32_t node)
{
    uint64_t score = phx__dial_pick_score(ids, node);
    uint32_t i;

    if (!phx__dial_pick_takes(b, ids, node))
        return;
    i = b->count < PHX__DISC_BEST ? b->count++ : b->count - 1;
    for (; i > 0 && b->at[i - 1].score > score; i--)
        b->at[i] = b->at[i - 1];
    b->at[i].score = score;
    b->at[i].node = node;
}

int phx__dial_pick_drop(struct phx__dial_picks *b, uint32_t node)
{
    uint32_t i;

    if (!phx__dial_pick_has(b, node))
        return 0;
    for (i = 0; b->at[i].node != node; i++)
        ;
    for (b->count--; i < b->count; i++)
        b->at[i] = b->at[i + 1];
    return 1;
}
