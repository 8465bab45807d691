/* slot.c - dials under way: their numbers, whose they are, and which one gives way. */

/* A dial through a firewall that swallows it lasts as long as our patience, seconds, and a site behind one
 * has hundreds of addresses. If these could hold all of max_dials, a node that is there and would
 * answer at once had to wait for them. So a dial that has had no answer of any kind for longer than an
 * answer takes *lingers*, and no more than a quarter of all may linger while somebody waits: beyond
 * that the oldest gives way, and counts as timed out. When nobody waits, all have their full time.
 *
 * Nothing is remembered of walls from one dial to the next: they are built and torn down. What is
 * remembered, of each address, is that it was silent last time; then it is the last to be tried. */
#include "dial/slot.h"

/* The first SYN may be lost; the second is sent after a second (RFC 6298, section 2.1) and answered within
 * a round trip. */
#define SLOT_LINGER_US (1250 * PHX__MS)
#define SLOT_SHARE 4u
/* Numbers are (generation << 16 | slot). The last generation is left out: no number is NONE. */
#define SLOT_MAX 65536u
#define SLOT_GENERATIONS 65535u

int phx__dial_slot_init(struct phx__dial_slots *a, struct phx__mem *mem, uint32_t max)
{
    uint32_t k, count = max < SLOT_MAX ? max : SLOT_MAX;

    PHX_ASSERT(count > 0);
    memset(a, 0, sizeof *a);
    a->mem = mem;
    a->free = PHX__NONE;
    a->at = phx__mem_zero(mem, count * sizeof *a->at);
    if (a->at == NULL)
        return PHX_ENOMEM;
    a->capacity = count;
    for (k = count; k-- > 0; a->free = k) {
        a->at[k].target = PHX__NONE;
        a->at[k].next = a->free;
    }
    return 0;
}

void phx__dial_slot_free(struct phx__dial_slots *a)
{
    if (a->mem != NULL)
        phx__mem_put(a->mem, a->at, a->capacity * sizeof *a->at);
    memset(a, 0, sizeof *a);
}

uint32_t phx__dial_slot_open(struct phx__dial_slots *a, uint32_t target, uint32_t address,
                            uint64_t now)
{
    uint32_t k = a->free;
    struct phx__dial_slot *one = &a->at[k];

    a->free = one->next;
    one->target = target;
    one->address = (uint8_t)address;
    one->answered = 0;
    one->since = now;
    a->open++;
    if (k == a->count)
        a->count++;
    return (uint32_t)one->generation << 16 | k;
}

void phx__dial_slot_close(struct phx__dial_slots *a, uint32_t number)
{
    struct phx__dial_slot *one = &a->at[number & 0xffff];

    one->generation = (uint16_t)((one->generation + 1u) % SLOT_GENERATIONS);
    one->target = PHX__NONE;
    /* The latest freed comes first, so all in use are near the front, where others look. */
    one->next = a->free;
    a->free = number & 0xffff;
    a->open--;
}

int phx__dial_slot_find(const struct phx__dial_slots *a, uint32_t number, uint32_t *target,
                       uint32_t *address)
{
    const struct phx__dial_slot *one;

    if (number == PHX__NONE || (number & 0xffff) >= a->count)
        return 0;
    one = &a->at[number & 0xffff];
    if (one->target == PHX__NONE || one->generation != number >> 16)
        return 0;
    *target = one->target;
    *address = one->address;
    return 1;
}

void phx__dial_slot_move(struct phx__dial_slots *a, uint32_t number, uint32_t address)
{
    a->at[number & 0xffff].address = (uint8_t)address;
}

void phx__dial_slot_answered(struct phx__dial_slots *a, uint32_t number)
{
    uint32_t target, address;

    if (phx__dial_slot_find(a, number, &target, &address))
        a->at[number & 0xffff].answered = 1;
}

uint32_t phx__dial_slot_gives_way(const struct phx__dial_slots *a, uint64_t now, uint64_t *next)
{
    uint32_t k, count = 0, oldest = PHX__NONE;

    *next = UINT64_MAX;
    for (k = 0; k < a->count; k++) {
        const struct phx__dial_slot *one = &a->at[k];
        if (one->target == PHX__NONE || one->answered)
            continue;
        if (now - one->since >= SLOT_LINGER_US) {
            count++;
            if (oldest == PHX__NONE || one->since < a->at[oldest].since)
                oldest = k;
        } else if (one->since + SLOT_LINGER_US < *next) {
            *next = one->since + SLOT_LINGER_US;
        }
    }
    return count > a->capacity / SLOT_SHARE ? (uint32_t)a->at[oldest].generation << 16 | oldest
                                               : PHX__NONE;
}
