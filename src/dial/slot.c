/* slot.c - dials under way: their numbers, whose they are, and which one gives way. */

/* A dial through a firewall that swallows it lasts for seconds, and a site behind one has hundreds of
 * addresses. If these could hold all of max_dials, a node that would answer at once would have to wait for
 * them. So a dial that has had no answer of any kind for longer than an answer takes *lingers*, and at most a
 * quarter of all slots may linger while a target waits: beyond that the oldest gives way, as if timed out.
 *
 * Firewalls come and go: of them is remembered only which addresses were silent, to be tried last. */
#include "dial/slot.h"

/* Longer than nearly all round trips (RFC 8305, section 8). Whose first SYN is lost has the next round. */
#define SLOT_LINGER_US (250 * PHX__MS)
#define SLOT_SHARE 4u
/* Numbers are (generation << 16 | index). The last generation is left out, so no number is PHX__NONE. */
#define SLOT_MAX 65536u
#define SLOT_GENERATIONS 65535u

PHX__COLD int phx__dial_slot_init(struct phx__dial_slots *s, struct phx__mem *mem, uint32_t max)
{
    uint32_t k, count = max < SLOT_MAX ? max : SLOT_MAX;

    PHX_ASSERT(count > 0);
    memset(s, 0, sizeof *s);
    s->free = PHX__NONE;
    if ((s->at = phx__mem_zero(mem, count * sizeof *s->at)) == NULL)
        return PHX_ENOMEM;
    s->capacity = count;
    for (k = count; k-- > 0; s->free = k) {
        s->at[k].target = PHX__NONE;
        s->at[k].next = s->free;
    }
    return 0;
}

uint32_t phx__dial_slot_open(struct phx__dial_slots *s, uint32_t target, uint32_t address, uint64_t now)
{
    uint32_t k = s->free;
    struct phx__dial_slot *slot = &s->at[k];

    s->free = slot->next;
    *slot = (struct phx__dial_slot){ now, target, 0, slot->generation, (uint8_t)address, 0 };
    s->count += k == s->count;
    return (uint32_t)slot->generation << 16 | k;
}

PHX__COLD void phx__dial_slot_close(struct phx__dial_slots *s, uint32_t number)
{
    struct phx__dial_slot *slot = &s->at[number & 0xffff];

    slot->generation = (uint16_t)((slot->generation + 1u) % SLOT_GENERATIONS);
    slot->target = PHX__NONE;
    /* The latest freed comes first, so all in use are near the front, where others look. */
    slot->next = s->free;
    s->free = number & 0xffff;
}

PHX__COLD struct phx__dial_slot *phx__dial_slot_find(const struct phx__dial_slots *s, uint32_t number)
{
    struct phx__dial_slot *slot;

    if (number == PHX__NONE || (number & 0xffff) >= s->count)
        return NULL;
    slot = &s->at[number & 0xffff];
    return slot->target != PHX__NONE && slot->generation == number >> 16 ? slot : NULL;
}

PHX__COLD uint32_t phx__dial_slot_gives_way(const struct phx__dial_slots *s, uint64_t now, uint64_t *next)
{
    uint32_t k, count = 0, oldest = PHX__NONE;

    *next = UINT64_MAX;
    for (k = 0; k < s->count; k++) {
        const struct phx__dial_slot *slot = &s->at[k];
        if (slot->target == PHX__NONE || slot->answered)
            continue;
        if (now - slot->since >= SLOT_LINGER_US) {
            count++;
            if (oldest == PHX__NONE || slot->since < s->at[oldest].since)
                oldest = k;
        } else if (slot->since + SLOT_LINGER_US < *next) {
            *next = slot->since + SLOT_LINGER_US;
        }
    }
    return count > s->capacity / SLOT_SHARE ? (uint32_t)s->at[oldest].generation << 16 | oldest : PHX__NONE;
}
