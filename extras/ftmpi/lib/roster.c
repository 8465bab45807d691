/* roster.c - who of a job has said HELLO, and the TABLE that answers when all have. */
#include "roster.h"

#include <string.h>

int ftm_roster_init(struct ftm_roster *r, struct ftm_mem *mem, uint32_t size)
{
    memset(r, 0, sizeof *r);
    r->mem = mem;
    r->size = size;
    r->here = ftm_mem_new(mem, size);
    r->entries = ftm_mem_new(mem, size * sizeof *r->entries);
    if (r->here != NULL && r->entries != NULL)
        return 0;
    ftm_roster_clear(r);
    return -1;
}

void ftm_roster_clear(struct ftm_roster *r)
{
    ftm_mem_free(r->mem, r->here, r->size);
    ftm_mem_free(r->mem, r->entries, r->size * sizeof *r->entries);
    r->here = NULL;
    r->entries = NULL;
    r->present = 0;
}

/* The first rank present that is not `rank` has the layout that all must have. */
static int roster_differs(const struct ftm_roster *r, const struct ftm_hello *h, uint32_t *other)
{
    uint32_t i;

    for (i = 0; i < r->size; i++) {
        if (r->here[i] && i != h->rank) {
            *other = i;
            return r->entries[i].layout != h->layout;
        }
    }
    return 0;
}

int ftm_roster_add(struct ftm_roster *r, const void *data, size_t size, uint32_t *rank, uint32_t *other)
{
    struct ftm_hello h;

    if (ftm_wire_get_hello(&h, data, size) != 0 || h.rank >= r->size || h.size != r->size
        || h.life > FTM_LIFE_MAX || (r->here[h.rank] && h.life < r->entries[h.rank].life))
        return -1;
    *rank = h.rank;
    if (roster_differs(r, &h, other))
        return 1;
    if (!r->here[h.rank])
        r->present++;
    r->here[h.rank] = 1;
    r->entries[h.rank] = h;
    return 0;
}

int ftm_roster_is_complete(const struct ftm_roster *r)
{
    return r->present == r->size;
}

size_t ftm_roster_table(const struct ftm_roster *r, uint32_t notice, unsigned char *out, size_t capacity)
{
    size_t size = FTM_TABLE_HEAD + (size_t)r->size * FTM_TABLE_ENTRY;
    uint32_t i;

    if (capacity < size)
        return size;
    ftm_wire_put32(out, r->size);
    ftm_wire_put32(out + 4, notice);
    out += FTM_TABLE_HEAD;
    for (i = 0; i < r->size; i++, out += FTM_TABLE_ENTRY) {
        ftm_wire_put32(out, r->entries[i].life);
        ftm_wire_put32(out + 4, r->entries[i].host);
        ftm_wire_put32(out + 8, r->entries[i].site);
    }
    return size;
}
