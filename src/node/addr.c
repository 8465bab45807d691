/* addr.c - how this node is seen from outside: its own addresses, learnt from its links. */
/* A node tells others where it listens, what phx_advertise added, and what each new link teaches:
 *
 *  1. Our end of the link, for listeners on all interfaces. This is a fact.
 *  2. What the peer sees ("observed" in src/WIRE.md). This is hearsay: two peers at two hosts must agree.
 *      - The peer dialled us: this address, port and all, led to us, through a forwarded port perhaps.
 *      - We dialled: it is our address after all translation, with this connection's port. If the port came
 *        through unchanged, the translator keeps ports, as a cloud's 1:1 address does, and the outside host
 *        with our listening port is worth a try. (To dial from that port itself, TCP needs SO_REUSEPORT, and
 *        others could take our connections.)
 *     A dial proves who answers. A wrong address costs others one dial a minute that gives way (dial/slot.c).
 *
 * A card has room for 8 addresses. The oldest learnt one gives way to a new one; what the host said stays. */
#include "node/addr.h"

static int node_addr_is_ip(const struct phx_address *a)
{
    return a->family == PHX_IPV4 || a->family == PHX_IPV6;
}

static int node_addr_same_host(const struct phx_address *a, const struct phx_address *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

/* Its place; a->count: it is not known. */
PHX__COLD static unsigned node_addr_find(const struct phx__node_addr *a, const struct phx_address *at)
{
    unsigned i = 0;

    while (i < a->count && !phx__addr_equal(&a->at[i], at))
        i++;
    return i;
}

PHX__COLD int phx__node_addr_add(struct phx__node_addr *a, const struct phx_address *at)
{
    unsigned i = node_addr_find(a, at);

    a->learnt = (uint8_t)(a->learnt & ~(1u << i)); /* what links have taught is the host's word from now on */
    if (i < a->count)
        return 0;
    if (a->count == PHX__CARD_ADDRESSES)
        return PHX_ELIMIT;
    a->at[a->count++] = *at;
    return 1;
}

PHX__COLD static void node_addr_drop_oldest(struct phx__node_addr *a)
{
    unsigned i = 0;

    if (a->learnt == 0)
        return; /* all are the host's */
    while (!(a->learnt & 1u << i))
        i++;
    a->count--;
    memmove(&a->at[i], &a->at[i + 1], (a->count - i) * sizeof a->at[0]);
    a->learnt = (uint8_t)((a->learnt & ((1u << i) - 1)) | (a->learnt >> 1 & ~0u << i));
}

/* PHX__ADDR_NEW, or 0. */
PHX__COLD static int node_addr_put(struct phx__node_addr *a, const struct phx_address *at)
{
    if (node_addr_find(a, at) < a->count)
        return 0;
    if (a->count == PHX__CARD_ADDRESSES)
        node_addr_drop_oldest(a);
    if (phx__node_addr_add(a, at) <= 0)
        return 0;
    a->learnt = (uint8_t)(a->learnt | 1u << (a->count - 1));
    return PHX__ADDR_NEW;
}

/* ---- Our end --------------------------------------------------------------------------------- */

PHX__COLD static int node_addr_here(struct phx__node_addr *a, const struct phx_address *here)
{
    const struct phx_address *at;
    struct phx_address mine;
    int taught = 0;

    for (uint32_t i = 0; (at = a->listener(a->ctx, i)) != NULL; i++) {
        if (!phx__addr_is_any(at) || here->family != at->family)
            continue;
        mine = *at;
        memcpy(mine.ip, here->ip, sizeof mine.ip);
        taught |= node_addr_put(a, &mine);
    }
    return taught;
}

/* With a new address this node is in another network, which repeats dials that failed. The first is no news.
 * A host with more than there is room for seems to move with each link. */
PHX__COLD static int node_addr_moved(struct phx__node_addr *a, const struct phx_address *here)
{
    struct phx_id ip;
    uint64_t host;

    if (phx__addr_is_local(here))
        return 0;
    memcpy(ip.b, here->ip, sizeof ip.b);
    host = phx__id_hash(&ip) ^ phx__map_mix(here->family);
    for (uint32_t i = 0; i < PHX__COUNT(a->here); i++)
        if (a->here[i] == host)
            return 0;
    a->here[a->here_count++ % PHX__COUNT(a->here)] = host;
    return a->here_count > 1 ? PHX__ADDR_MOVED : 0;
}

/* ---- What others see ------------------------------------------------------------------------- */

/* A listener on all interfaces; with `here`, only one that takes connections to that address. Or NULL. */
PHX__COLD static const struct phx_address *node_addr_listener(const struct phx__node_addr *a,
                                                    const struct phx_address *here)
{
    const struct phx_address *at;

    for (uint32_t i = 0; (at = a->listener(a->ctx, i)) != NULL; i++)
        if (phx__addr_is_any(at) ? here == NULL || at->family == here->family
                                 : here != NULL && node_addr_same_host(at, here))
            return at;
    return NULL;
}

/* Where others may find us, by this link: 1 and *out, or 0. */
PHX__COLD static int node_addr_evidence(const struct phx__node_addr *a, const struct phx__link *l,
                              const struct phx_address *here, struct phx_address *out)
{
    const struct phx_address *seen = &l->observed, *at;

    if (l->same_host || !node_addr_is_ip(seen) || !node_addr_is_ip(&l->address) || phx__addr_is_local(seen)
        || phx__addr_is_any(seen) || seen->port == 0)
        return 0;
    *out = *seen;
    out->tls = l->secure; /* as the listener that it came in by */
    if (!l->dialer)
        return 1;
    if (seen->port != here->port || node_addr_same_host(seen, here)
        || (at = node_addr_listener(a, here)) == NULL)
        return 0;
    *out = *at;
    out->family = seen->family;
    memcpy(out->ip, seen->ip, sizeof out->ip);
    return 1;
}

/* Each peer has one observation, its latest. One of an address that is known is forgotten: should the address
 * give way to others, two must see it anew. */
PHX__COLD static int node_addr_observe(struct phx__node_addr *a, const struct phx__link *l,
                             const struct phx_address *at)
{
    struct phx__observation *mine = NULL, *o = a->observation, *end = o + PHX__COUNT(a->observation);
    int seen = 0, known, agreed;

    for (; o < end; o++)
        seen |= !phx__id_equal(&o->by, &l->id) && phx__addr_equal(&o->at, at)
                && !node_addr_same_host(&o->from, &l->address);
    agreed = seen && node_addr_put(a, at) ? PHX__ADDR_NEW | PHX__ADDR_AGREED : 0;
    known = node_addr_find(a, at) < a->count;
    for (o = a->observation; o < end; o++) {
        if (phx__id_equal(&o->by, &l->id))
            mine = o;
        if (known && (o == mine || phx__addr_equal(&o->at, at)))
            memset(o, 0, sizeof *o);
    }
    if (known)
        return agreed;
    if (mine == NULL)
        mine = &a->observation[a->observation_next++ % PHX__COUNT(a->observation)];
    *mine = (struct phx__observation){ l->id, l->address, *at };
    return 0;
}

/* Hundreds of nodes that start on one host need not ask for their ends. */
int phx__node_addr_is_idle(const struct phx__node_addr *a, const struct phx__link *l)
{
    return node_addr_listener(a, NULL) == NULL && phx__addr_is_local(&l->address)
           && phx__addr_is_local(&l->observed);
}

PHX__COLD int phx__node_addr_learn(struct phx__node_addr *a, const struct phx__link *l,
                         const struct phx_address *here)
{
    struct phx_address at;
    int taught;

    if (!node_addr_is_ip(here))
        return 0;
    taught = node_addr_here(a, here);
    taught |= node_addr_moved(a, here);
    return node_addr_evidence(a, l, here, &at) ? taught | node_addr_observe(a, l, &at) : taught;
}
