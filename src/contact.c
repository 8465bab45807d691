/* contact.c - the addresses of a hub or node: which to try first, how each fared. */
#include "contact.h"

/* The first address of a family (0: any) that is not among the ones picked. */
static uint32_t contact_family(const struct phx_address *a, uint32_t count, const uint32_t *picked,
                               uint32_t n, int family)
{
    uint32_t i, k;

    for (i = 0; i < count; i++) {
        if (family != 0 && a[i].family != family)
            continue;
        for (k = 0; k < n && !phx__address_equal(&a[i], &a[picked[k]]); k++)
            ;
        if (k == n)
            return i;
    }
    return PHX__NONE;
}

uint32_t phx__contact_order(const struct phx_address *a, uint32_t count,
                            uint32_t picked[PHX__DISC_ADDRESSES])
{
    static const int families[] = { PHX_IPV6, PHX_IPV4 };
    uint32_t n, i, turn = 0;

    for (n = 0; n < PHX__DISC_ADDRESSES; n++) {
        i = contact_family(a, count, picked, n, PHX_UNIX);
        if (i == PHX__NONE)
            i = contact_family(a, count, picked, n, families[turn++ % 2]);
        if (i == PHX__NONE)
            i = contact_family(a, count, picked, n, 0);
        if (i == PHX__NONE)
            break;
        picked[n] = i;
    }
    return n;
}

struct phx__contact *phx__contact_new(struct phx__mem *mem, const struct phx_address *a,
                                      const uint32_t *picked, uint32_t n)
{
    struct phx__contact *at = phx__mem_zero(mem, n * sizeof *at);
    uint32_t k;

    for (k = 0; at != NULL && k < n; k++) {
        at[k].address = a[picked[k]];
        at[k].attempt = PHX__NONE;
    }
    return at;
}

uint32_t phx__contact_index(const struct phx__contact *at, uint32_t count,
                            const struct phx_address *a)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (phx__address_equal(&at[i].address, a))
            return i;
    return PHX__NONE;
}

int phx__contact_is_same(const struct phx__contact *at, uint32_t count, const struct phx_address *a,
                         const uint32_t *picked, uint32_t n)
{
    uint32_t k;

    for (k = 0; k < n && phx__contact_index(at, count, &a[picked[k]]) != PHX__NONE; k++)
        ;
    return k == n && n == count;
}

unsigned phx__contact_usable(const struct phx__contact *at, uint32_t count, uint64_t now)
{
    unsigned i, bits = 0;

    for (i = 0; i < count; i++)
        if (at[i].rest_until <= now)
            bits |= 1u << i;
    return bits;
}

uint64_t phx__contact_first(const struct phx__contact *at, uint32_t count)
{
    uint64_t first = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < count; i++)
        if (at[i].rest_until < first)
            first = at[i].rest_until;
    return first;
}

int phx__contact_is_gone(const struct phx__contact *at, uint32_t count, uint64_t now)
{
    uint32_t i;
    int others = 0;

    for (i = 0; i < count; i++) {
        if (at[i].met == PHX__CONTACT_OTHER)
            others = 1;
        else if (at[i].rest_until <= now)
            return 0;
    }
    return others;
}
