/* slot.c - dials under way: their numbers, whose they are, and which one gives way. */

/* A dial through a firewall that swallows it lasts for seconds, and a site behind one has hundreds of
 * addresses. If these could hold all of max_dials, a node that would answer at once would have to wait for
 * them. So while a target waits for a slot the oldest of those that have had no answer of any kind for as
 * long as an answer takes (dial.c) gives way, as if timed out. Whose first SYN is lost has the next round.
 *
 * Firewalls come and go: of them is remembered only which addresses were silent, to be tried last. */
#include "dial/slot.h"

PHX__COLD uint32_t phx__dial_slot_open(struct phx__dial_slots *s, uint32_t target, uint64_t key, uint64_t now)
{
    PHX_ASSERT(s->count < s->capacity);
    s->last = s->last + 1 == PHX__NONE ? 0 : s->last + 1;
    s->at[s->count++] = (struct phx__dial_slot){ now, 0, key, s->last, target };
    return s->last;
}

PHX__COLD void phx__dial_slot_close(struct phx__dial_slots *s, uint64_t key)
{
    *phx__dial_slot_of(s, key) = s->at[s->count - 1];
    s->count--;
}

PHX__COLD struct phx__dial_slot *phx__dial_slot_find(const struct phx__dial_slots *s, uint32_t number)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (s->at[k].number == number)
            return &s->at[k];
    return NULL;
}

PHX__COLD struct phx__dial_slot *phx__dial_slot_of(const struct phx__dial_slots *s, uint64_t key)
{
    for (uint32_t k = 0; k < s->count; k++)
        if (s->at[k].key == key)
            return &s->at[k];
    return NULL;
}

PHX__COLD struct phx__dial_slot *phx__dial_slot_silent(const struct phx__dial_slots *s)
{
    struct phx__dial_slot *slot, *oldest = NULL;

    for (slot = s->at; slot < s->at + s->count; slot++)
        if (slot->answered_at == 0 && (oldest == NULL || slot->since < oldest->since))
            oldest = slot;
    return oldest;
}
