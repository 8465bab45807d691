/* addr.c - the addresses of a hub or node: which to try first, how each fared. */
#include "dial/addr.h"

/* The first address of a family (0: any) that is not among the n of out. */
PHX__COLD static const struct phx_address *dial_addr_next(const struct phx_address *a, uint32_t count,
                                                const struct phx_address *out, uint32_t n, int family)
{
    uint32_t i, k;

    for (i = 0; i < count; i++) {
        if (family != 0 && a[i].family != family)
            continue;
        for (k = 0; k < n && !phx__addr_equal(&a[i], &out[k]); k++)
            ;
        if (k == n)
            return &a[i];
    }
    return NULL;
}

PHX__COLD uint32_t phx__dial_addr_order(const struct phx_address *a, uint32_t count,
                              struct phx_address out[PHX__DIAL_ADDRESSES])
{
    const struct phx_address *next;
    uint32_t n, turn = 0;

    for (n = 0; n < PHX__DIAL_ADDRESSES; n++) {
        if ((next = dial_addr_next(a, count, out, n, PHX_UNIX)) == NULL)
            next = dial_addr_next(a, count, out, n, turn++ % 2 == 0 ? PHX_IPV6 : PHX_IPV4);
        if (next == NULL)
            next = dial_addr_next(a, count, out, n, 0);
        if (next == NULL)
            break;
        out[n] = *next;
    }
    return n;
}

/* The key of its rate, and whether it is one for TLS. */
PHX__COLD uint64_t phx__dial_addr_key(const struct phx__ratelimit *l, const struct phx_address *a)
{
    return phx__ratelimit_key(l, a, 1) ^ (a->tls != 0);
}

PHX__COLD uint32_t phx__dial_addr_index(const struct phx__dial_addr *at, uint32_t count, uint64_t key)
{
    uint32_t i;

    for (i = 0; i < count && at[i].key != key; i++)
        ;
    return i < count ? i : PHX__NONE;
}

PHX__COLD int phx__dial_addr_is_same(const struct phx__ratelimit *l, const struct phx__dial_addr *at,
                                     uint32_t count, const struct phx_address *a, uint32_t n)
{
    uint32_t k;

    for (k = 0; k < n && phx__dial_addr_index(at, count, phx__dial_addr_key(l, &a[k])) != PHX__NONE; k++)
        ;
    return k == n && n == count;
}

PHX__COLD uint64_t phx__dial_addr_tried(const struct phx__dial_addr *at, uint64_t now)
{
    uint64_t ago = (uint32_t)((uint32_t)(now / PHX__MS) - at->tried_ms) * PHX__MS;

    return at->tried_ms == 0 ? 0 : now > ago ? now - ago : 1;
}

/* Until when an address is left alone, since it leads to this very node or to another one; 0: it is not. */
PHX__COLD static uint64_t dial_addr_rest(const struct phx__dial_addr *c, uint64_t rest, uint64_t now)
{
    if (c->error != PHX_ESELF && c->met != PHX__DIAL_MET_OTHER)
        return 0;
    return phx__dial_addr_tried(c, now) + rest;
}

unsigned phx__dial_addr_usable(const struct phx__dial_addr *at, uint32_t count, uint64_t rest, uint64_t now)
{
    unsigned i, bits = 0;

    for (i = 0; i < count; i++)
        if (dial_addr_rest(&at[i], rest, now) <= now)
            bits |= 1u << i;
    return bits;
}

PHX__COLD uint64_t phx__dial_addr_first(const struct phx__dial_addr *at, uint32_t count, uint64_t rest,
                                        uint64_t now)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < count; i++)
        first = PHX__MIN(dial_addr_rest(&at[i], rest, now), first);
    return first;
}
