/* addr.c - how this node is seen from outside: its own addresses, learnt from its links. */
/*
 * What a node tells others of itself are the addresses where it listens, what phx_advertise added, and what
 * it learns here from each link that comes up:
 *
 *  1. Our end of the link, for listeners on all interfaces. It is a fact.
 *  2. What the peer sees, which the hello tells ("observed" in src/WIRE.md). It is hearsay of one peer, so it
 *     counts when two agree: two nodes, at two hosts. There are two kinds:
 *      - The peer dialled us: then this address, port and all, led to us. Behind a forwarded port that is
 *        how a hub learns what its users were told.
 *      - We dialled: then the peer saw our address after all translation, but the port of this one
 *        connection, which is not the one we listen on. It says something of the listener only if the port
 *        came through unchanged: then the translator keeps ports, as a cloud's 1:1 address does, and the
 *        outside host with our listening port is worth a try. (PITFALLS 20 asks for links dialled from
 *        the listening port. We dial from any port, since two connections from one port cannot go to
 *        one address, and the system offers it for TCP only with SO_REUSEPORT on the listener, which lets
 *        others of the same user take our connections. A port that is kept is evidence as good.)
 *     Such an address is a candidate and no more: who dials it proves who answers, and a router that keeps
 *     ports without letting anybody in costs others one dial a minute that gives way (slot.c).
 *
 * A card has room for 8 addresses. What was learnt gives way to what is learnt, the oldest first; what the
 * host said stays. When our end of a link has an address never seen before, this node is in another
 * network, and disc dials again what failed.
 */
#include "node/state.h"

static int node_addr_is_ip(const struct phx_address *a)
{
    return a->family == PHX_IPV4 || a->family == PHX_IPV6;
}

static int node_addr_same_host(const struct phx_address *a, const struct phx_address *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

/* Tells others of it: 1 if it is new. */
static int node_addr_learn(phx *p, const struct phx_address *a)
{
    int err = phx__node_own_address(p, a);
    uint8_t i;

    if (err == PHX_ELIMIT) {
        for (i = 0; i < p->own_count && !(p->own_learnt & 1u << i); i++)
            ;
        if (i == p->own_count)
            return 0;
        p->own_count--;
        memmove(&p->own[i], &p->own[i + 1], (p->own_count - i) * sizeof p->own[0]);
        p->own_learnt = (uint8_t)((p->own_learnt & ((1u << i) - 1)) | (p->own_learnt >> 1 & ~0u << i));
        err = phx__node_own_address(p, a);
    }
    if (err <= 0)
        return 0;
    p->own_learnt = (uint8_t)(p->own_learnt | 1u << (p->own_count - 1));
    p->news.card_stale = 1;
    return 1;
}

/* ---- Our end --------------------------------------------------------------------------------- */

static void node_addr_here(phx *p, const struct phx_address *here)
{
    struct phx_address a;
    int i;

    for (i = 0; i < p->listeners.count; i++) {
        const struct phx_address *at = &p->listeners.at[i].address;
        if (!phx__addr_is_any(at) || here->family != at->family)
            continue;
        a = *at;
        memcpy(a.ip, here->ip, sizeof a.ip);
        (void)node_addr_learn(p, &a);
    }
}

static uint64_t node_addr_host_hash(const struct phx_address *a)
{
    struct phx_id ip;

    memcpy(ip.b, a->ip, sizeof ip.b);
    return phx__id_hash(&ip) ^ phx__map_mix(a->family);
}

/* The first networks we are in are no news. A host with more addresses than there is room for moves with each
 * link, as far as this can tell: each costs a dial of those that are not linked. */
static void node_addr_moved(phx *p, const struct phx_address *here)
{
    uint64_t host = node_addr_host_hash(here);
    uint32_t i;

    if (phx__addr_is_local(here))
        return;
    for (i = 0; i < PHX__COUNT(p->here); i++)
        if (p->here[i] == host)
            return;
    if (p->here_count > 0)
        phx__dial_moved(&p->dial, p->now);
    p->here[p->here_count++ % PHX__COUNT(p->here)] = host;
}

/* ---- What others see ------------------------------------------------------------------------- */

/* The listener that would be reached at this outside host if nothing translated ports. */
static const struct phx__listener *node_addr_listener(const phx *p, const struct phx_address *here)
{
    int i;

    for (i = 0; i < p->listeners.count; i++) {
        const struct phx_address *at = &p->listeners.at[i].address;
        if (at->family == here->family && (phx__addr_is_any(at) || node_addr_same_host(at, here)))
            return &p->listeners.at[i];
    }
    return NULL;
}

/* Where, by this link, others may find us: 1 and *out, or 0. */
static int node_addr_evidence(const phx *p, const struct phx__link *l, const struct phx_address *here,
                         struct phx_address *out)
{
    const struct phx_address *seen = &l->observed;
    const struct phx__listener *at;

    if (!node_addr_is_ip(seen) || !node_addr_is_ip(&l->address) || phx__addr_is_local(seen)
        || phx__addr_is_any(seen) || seen->port == 0)
        return 0;
    *out = *seen;
    out->tls = l->secure; /* as the listener that it came in by */
    if (!l->dialer)
        return 1;
    if (seen->port != here->port || node_addr_same_host(seen, here)
        || (at = node_addr_listener(p, here)) == NULL)
        return 0;
    *out = at->address;
    out->family = seen->family;
    memcpy(out->ip, seen->ip, sizeof out->ip);
    return 1;
}

static void node_addr_seen(phx *p, const struct phx__link *l, const struct phx_address *at)
{
    struct phx__observation *s, *mine = NULL;
    char text[PHX_ADDRESS_TEXT];
    uint32_t i;

    for (i = 0; i < p->own_count; i++)
        if (phx__addr_equal(&p->own[i], at))
            return;
    for (i = 0; i < PHX__COUNT(p->sights); i++) {
        s = &p->sights[i];
        if (phx__id_equal(&s->by, &l->id))
            mine = s;
        else if (phx__addr_equal(&s->at, at) && !node_addr_same_host(&s->from, &l->address))
            break;
    }
    if (i < PHX__COUNT(p->sights)) {
        if (node_addr_learn(p, at))
            phx__node_log(p, PHX_LOG_INFO, "others see this node at %s", phx_address_text(at, text));
        return;
    }
    if (mine == NULL)
        mine = &p->sights[p->sight_next++ % PHX__COUNT(p->sights)];
    mine->by = l->id;
    mine->from = l->address;
    mine->at = *at;
}

/* A peer on this host that sees us there says nothing of our networks, and where no listener is on all
 * interfaces there is nothing to fill in: hundreds that start on one host need not ask. */
static int node_addr_is_idle(const phx *p, const struct phx__link *l)
{
    int i;

    for (i = 0; i < p->listeners.count; i++)
        if (phx__addr_is_any(&p->listeners.at[i].address))
            return 0;
    return phx__addr_is_local(&l->address) && phx__addr_is_local(&l->observed);
}

void phx__node_addr_learn(phx *p, const struct phx__link *l)
{
    struct phx_address here, at;

    if (node_addr_is_idle(p, l))
        return;
    memset(&here, 0, sizeof here);
    if (l->same_host) {
        if (!phx__node_samehost_here(p, l, &here))
            return;
    } else {
        p->set.os_calls++;
        if (p->os.local(p->os.world, l->handle, &here) != 0)
            return;
    }
    if (!node_addr_is_ip(&here))
        return;
    node_addr_here(p, &here);
    node_addr_moved(p, &here);
    if (!l->same_host && node_addr_evidence(p, l, &here, &at))
        node_addr_seen(p, l, &at);
}
