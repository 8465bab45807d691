/* explain.c - all that is known of one node and why, as text for people. */
/* One `key: value` per line, from names, route, link, detect and dial; phoenix.h lists the keys. Times are
 * ages in milliseconds, as of the last step, since only the host knows what its clock means. */
#include "node/base.h"

/* Lines of one kind, so that a text stays readable in a large network. */
#define EXPLAIN_MANY 16u

PHX__COLD static void explain_state(struct phx__text *t, const phx *p, uint32_t node,
                                    const struct phx_node *n)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    uint64_t rtt = phx__route_rtt_us(phx__route_way(&p->route, d, d->next));

    phx__node_text_put(t, "id: %i\nstate: %s\n", &n->id, phx__node_state_text(n->state));
    if (n->label[0] != 0)
        phx__node_text_put(t, "label: %s\n", n->label);
    if (n->since_us != 0)
        phx__node_text_put(t, "since: %t ms ago\n", n->since_us);
    phx__node_text_put(t, n->hops < 0 ? "incarnation: %u\nhops: none\n" : "incarnation: %u\nhops: %u\n",
                       n->incarnation, (uint64_t)n->hops);
    if (n->hops > 0)
        phx__node_text_put(t, "next: %i\n", &n->next);
    if (rtt != 0)
        phx__node_text_put(t, "rtt: %u us\n", rtt);
}

PHX__COLD static void explain_link(struct phx__text *t, const phx *p, uint32_t node, uint64_t seen)
{
    const struct phx__detect_link *n = phx__detect_link_of(&p->detect, node);
    const struct phx__link *l = phx__node_link(p, node);
    const struct phx__detect_trouble *h = phx__node_history(p, node);

    if (l != NULL && n != NULL) {
        phx__node_text_put(t, "link: %s, %a%s\n", l->dialer ? "dialled by this node" : "accepted",
                           &l->address, l->same_host ? ", within this host" : "");
        phx__node_text_put(t, "promised: to be heard every %u ms%s\n", n->announced_us / PHX__MS,
                           n->busy ? ", busy" : "");
        phx__node_text_put(t, "watched-here: %s\nwatches-us: %s\n", n->watched ? "yes" : "no",
                           n->monitor ? "yes" : "no");
    } else {
        phx__node_text_put(t, "link: none\n");
    }
    if (seen != 0)
        phx__node_text_put(t, "heard: %t ms ago\n", seen);
    if (h != NULL)
        phx__node_text_put(t, "link-lost: %t ms ago, %s\n", h->lost_at, phx_strerror(h->lost_error));
}

PHX__COLD static void explain_accusation(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__detect_trouble *n = phx__detect_trouble_of(&p->detect, node);
    uint32_t via = node < p->peers.capacity ? p->peers.at[node].via : PHX__SELF, ms;

    if (n == NULL || n->accused_ms == 0)
        return;
    ms = (uint32_t)(p->now / PHX__MS) - n->accused_ms;
    phx__node_text_put(t, "accused: %u ms ago, by ", (uint64_t)ms);
    if (n->accuser != PHX__NONE)
        phx__node_text_put(t, n->accuser == PHX__SELF ? "%n, its link was silent\n"
                                                      : "%n, which had not heard of it\n", n->accuser);
    else if (via == node || via == PHX__SELF)
        phx__node_text_put(t, "the routing, its link is gone\n");
    else
        phx__node_text_put(t, "the routing, the last way was through %n\n", via);
}

/* What came of an address, at the end of its line. */
PHX__COLD static void explain_tried(struct phx__text *t, int trying, uint64_t at, int error)
{
    if (trying || at == 0)
        phx__node_text_put(t, trying ? "being tried\n" : "not tried\n");
    else
        phx__node_text_put(t, "tried %t ms ago: %s\n", at, phx_strerror(error));
}

PHX__COLD static void explain_addresses(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__dial_target *to = phx__dial_target_any(&p->dial.targets, node);
    struct phx_address a[PHX__DIAL_ADDRESSES];

    if (to != NULL)
        phx__dial_target_addresses(&p->dial.targets, to, a);
    for (uint32_t i = 0; to != NULL && i < to->count; i++) {
        phx__node_text_put(t, "address: %a, ", &a[i]);
        explain_tried(t, to->at[i].dialled, phx__dial_addr_tried(&to->at[i], p->now), to->at[i].error);
    }
}

PHX__COLD static void explain_witnesses(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    for (uint32_t i = 0; d != NULL && i < d->offer_count && i < EXPLAIN_MANY; i++) {
        const struct phx__offer *h = &phx__route_table_offers(d)[i];
        phx__node_text_put(t, "seen-by: %n, hops %u\n", h->nbr, (uint64_t)h->hops);
    }
}

/* Address i of this hub. */
PHX__COLD static void explain_hub(struct phx_hub *out, const phx *p, const struct phx__dial_target *t,
                                  uint32_t i, const struct phx_address *address)
{
    *out = (struct phx_hub){ .address = *address, .tried_us = phx__dial_addr_tried(&t->at[i], p->now),
                             .error = t->at[i].dialled ? PHX_EAGAIN : t->at[i].error };
    if (t->node < p->ids.size) {
        out->peer = p->ids.at[t->node];
        out->linked = phx__node_link(p, t->node) != NULL;
    }
}

PHX__COLD size_t phx_hubs(const phx *p, struct phx_hub *out, size_t capacity)
{
    struct phx_address a[PHX__DIAL_ADDRESSES];
    size_t n = 0;

    if (p == NULL || (out == NULL && capacity > 0))
        return 0;
    for (uint32_t hub = 0; hub < p->dial.targets.hub_count; hub++) {
        const struct phx__dial_target *t = &p->dial.targets.at[p->dial.targets.hubs[hub]];

        phx__dial_target_addresses(&p->dial.targets, t, a);
        for (uint32_t i = 0; i < t->count; i++, n++)
            if (n < capacity)
                explain_hub(&out[n], p, t, i, &a[i]);
    }
    return n;
}

PHX__COLD static void explain_hubs(struct phx__text *t, const phx *p)
{
    struct phx_hub hub[PHX__DIAL_HUBS];
    size_t n = phx_hubs(p, hub, PHX__DIAL_HUBS);

    for (size_t i = 0; i < n && i < PHX__DIAL_HUBS; i++) {
        phx__node_text_put(t, "hub: %a, ", &hub[i].address);
        if (hub[i].linked)
            phx__node_text_put(t, "linked with %i\n", &hub[i].peer);
        else
            explain_tried(t, hub[i].error == PHX_EAGAIN, hub[i].tried_us, hub[i].error);
    }
}

/* Names that it claims in vain: one that cannot be reached holds them by a higher claim until it failed. */
PHX__COLD static void explain_waits(struct phx__text *t, phx *p, uint32_t node)
{
    const struct phx__claim *c;

    for (uint32_t k = 0; k < EXPLAIN_MANY && (c = phx__names_claim(&p->names, node, k)) != NULL; k++) {
        int64_t name = phx__node_record_note(p, PHX__NOTE_OWNER, (int64_t)c->first, NULL, 0);
        uint32_t owner = phx__names_owner(&p->names, (uint64_t)name, NULL, NULL);
        uint64_t at;
        if (owner == node || phx__detect_state(&p->detect, owner, &at) != PHX_NODE_UNREACHABLE)
            continue;
        at += p->cfg.detector.broken_us;
        phx__node_text_put(t, "waits: %u-%u, %u ms, until %i has failed\n", c->first, c->last,
                           at > p->now ? (at - p->now) / PHX__MS : 0, &p->ids.at[owner]);
    }
}

PHX__COLD int phx_explain(phx *p, const struct phx_id *node, char *out, size_t capacity)
{
    struct phx__text t = { out, capacity, 0, p };
    const struct phx__claim *c;
    struct phx_node n;
    uint32_t i;

    if (p == NULL || node == NULL || (out == NULL && capacity > 0))
        return PHX_EINVAL;
    i = phx__id_find(&p->ids, node);
    if (phx__route_dest(&p->route, i) == NULL)
        return PHX_ENOTFOUND;
    phx__node_fill(p, i, &n);
    explain_state(&t, p, i, &n);
    for (uint32_t k = 0; k < EXPLAIN_MANY && (c = phx__names_claim(&p->names, i, k)) != NULL; k++)
        phx__node_text_put(&t, "names: %u-%u\n", c->first, c->last);
    if (n.ranges_count > EXPLAIN_MANY)
        phx__node_text_put(&t, "names-more: %u\n", (uint64_t)(n.ranges_count - EXPLAIN_MANY));
    if (i == PHX__SELF) {
        explain_hubs(&t, p);
    } else {
        explain_waits(&t, p, i);
        explain_link(&t, p, i, n.seen_us);
        explain_accusation(&t, p, i);
        explain_addresses(&t, p, i);
        explain_witnesses(&t, p, i);
    }
    return phx__node_text_end(&t);
}
