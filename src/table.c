/* table.c - the routing table's memory: destinations, and per neighbour what was heard and told of them. */
/*
 * Rules live in route; this room only keeps the lists. In the default routing most pairs of neighbour
 * and destination have no entry at all (in a clique only the hub speaks of others), so both lists are
 * short sorted arrays found by binary search, and grow by half: at a hub of N nodes they hold N items,
 * elsewhere one or two.
 */
#include "table.h"

void phx__table_init(struct phx__table *t, struct phx__mem *mem)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
}

void phx__table_free(struct phx__table *t)
{
    uint32_t i;

    for (i = 0; i < t->capacity; i++)
        phx__table_clear(t, i);
    phx__mem_put(t->mem, t->at, t->capacity * sizeof *t->at);
    phx__table_init(t, t->mem);
}

struct phx__dest *phx__table_make(struct phx__table *t, uint32_t node)
{
    uint32_t was = t->capacity;

    if (phx__mem_grow(t->mem, &t->at, &t->capacity, node + 1, sizeof *t->at) != 0)
        return NULL;
    for (; was < t->capacity; was++)
        phx__table_clear(t, was);
    return &t->at[node];
}

void phx__table_clear(struct phx__table *t, uint32_t node)
{
    struct phx__dest *d = &t->at[node];

    phx__mem_put(t->mem, d->heard, d->heard_capacity * sizeof *d->heard);
    phx__mem_put(t->mem, d->told, d->told_capacity * sizeof *d->told);
    phx__mem_put(t->mem, d->card, d->card_size);
    memset(d, 0, sizeof *d);
    d->hops = d->feasible_hops = PHX__UNREACHABLE;
    d->next = d->pos = PHX__NONE;
    d->ask_at = UINT64_MAX;
}

/* The first place whose nbr is not below: where the entry is, or would go. Both lists' items begin with
 * nbr, so one search serves both. */
static uint32_t table_place(const void *list, size_t item, uint32_t count, uint32_t nbr)
{
    const uint8_t *p = list;
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2, at;
        memcpy(&at, p + mid * item, sizeof at);
        if (at < nbr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct phx__heard *phx__table_heard(const struct phx__dest *d, uint32_t nbr)
{
    uint32_t i = table_place(d->heard, sizeof *d->heard, d->heard_count, nbr);

    return i < d->heard_count && d->heard[i].nbr == nbr ? &d->heard[i] : NULL;
}

struct phx__told *phx__table_told(const struct phx__dest *d, uint32_t nbr)
{
    uint32_t i = table_place(d->told, sizeof *d->told, d->told_count, nbr);

    return i < d->told_count && d->told[i].nbr == nbr ? &d->told[i] : NULL;
}

struct phx__heard *phx__table_hear(struct phx__table *t, struct phx__dest *d, uint32_t nbr)
{
    uint32_t i = table_place(d->heard, sizeof *d->heard, d->heard_count, nbr);

    if (i < d->heard_count && d->heard[i].nbr == nbr)
        return &d->heard[i];
    if (phx__mem_grow(t->mem, &d->heard, &d->heard_capacity, d->heard_count + 1, sizeof *d->heard))
        return NULL;
    memmove(d->heard + i + 1, d->heard + i, (d->heard_count - i) * sizeof *d->heard);
    d->heard_count++;
    memset(&d->heard[i], 0, sizeof d->heard[i]);
    d->heard[i].nbr = nbr;
    d->heard[i].hops = PHX__UNREACHABLE;
    return &d->heard[i];
}

struct phx__told *phx__table_tell(struct phx__table *t, struct phx__dest *d, uint32_t nbr)
{
    uint32_t i = table_place(d->told, sizeof *d->told, d->told_count, nbr);

    if (i < d->told_count && d->told[i].nbr == nbr)
        return &d->told[i];
    if (phx__mem_grow(t->mem, &d->told, &d->told_capacity, d->told_count + 1, sizeof *d->told))
        return NULL;
    memmove(d->told + i + 1, d->told + i, (d->told_count - i) * sizeof *d->told);
    d->told_count++;
    memset(&d->told[i], 0, sizeof d->told[i]);
    d->told[i].nbr = nbr;
    d->told[i].hops = PHX__UNREACHABLE;
    return &d->told[i];
}

int phx__table_unhear(struct phx__dest *d, uint32_t nbr)
{
    struct phx__heard *h = phx__table_heard(d, nbr);

    if (h == NULL)
        return 0;
    d->heard_count--;
    memmove(h, h + 1, (size_t)(d->heard + d->heard_count - h) * sizeof *h);
    return 1;
}

int phx__table_untell(struct phx__dest *d, uint32_t nbr)
{
    struct phx__told *t = phx__table_told(d, nbr);

    if (t == NULL)
        return 0;
    d->told_count--;
    memmove(t, t + 1, (size_t)(d->told + d->told_count - t) * sizeof *t);
    return 1;
}

int phx__table_card(struct phx__table *t, struct phx__dest *d, const uint8_t *card, uint32_t size,
                    uint32_t version)
{
    uint8_t *copy = phx__mem_get(t->mem, size);

    if (copy == NULL)
        return PHX_ENOMEM;
    memcpy(copy, card, size);
    phx__mem_put(t->mem, d->card, d->card_size);
    d->card = copy;
    d->card_size = size;
    d->card_version = version;
    return 0;
}
