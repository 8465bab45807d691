/* dump.c - phx_dump: all that one node knows of the network, as JSON for programs or DOT for graphviz. */
/* A node knows its own links, a route to each node, and what its neighbours say that they are next to. A tool
 * that wants the whole picture of a large network asks several nodes: ids are the same everywhere.
 *
 * Names and incarnations are strings: not all JSON readers keep integers above 2^53. All text is ASCII:
 * what a path may hold beyond that is escaped. */
#include "node/base.h"

/* Ranges of names in the label of a node: a picture is not a list. */
#define DUMP_LABEL_NAMES 4u

struct dump {
    struct phx__text t;
    const phx *p;
    const char *between; /* what goes before the next item of a list */
};

PHX__COLD static void dump_string(struct dump *d, const char *s)
{
    static const char hex[] = "0123456789abcdef";
    char out[3] = { 0 };

    phx__node_text_put(&d->t, "\"");
    for (; *s != 0; s++) {
        unsigned char c = (unsigned char)*s;
        int wide = c < 0x20 || c >= 0x7f;
        out[0] = wide ? hex[c >> 4] : *s;
        out[1] = wide ? hex[c & 15] : 0;
        phx__node_text_put(&d->t, wide ? "\\u00%s" : c == '"' || c == '\\' ? "\\%s" : "%s", out);
    }
    phx__node_text_put(&d->t, "\"");
}

PHX__COLD static void dump_item(struct dump *d, const char *begin, const struct phx_id *id)
{
    phx__node_text_put(&d->t, "%s%s\"%i\"", d->between, begin, id);
    d->between = ",";
}

/* A list of the nodes that routing knows, from this one on. */
PHX__COLD static void dump_each(struct dump *d, uint32_t node, void (*put)(struct dump *d, uint32_t node))
{
    for (d->between = ""; node < d->p->ids.size; node++)
        if (phx__route_dest(&d->p->route, node) != NULL)
            put(d, node);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

PHX__COLD static void dump_json_node(struct dump *d, uint32_t node)
{
    const struct phx__dest *dest = phx__route_dest(&d->p->route, node);
    uint32_t way = phx__route_way(&d->p->route, dest, dest->next);
    const struct phx__claim *c;
    struct phx_node n;

    phx__node_fill(d->p, node, &n);
    dump_item(d, "\n{\"id\":", &n.id);
    phx__node_text_put(&d->t, ",\"label\":\"%s\",\"incarnation\":\"%u\",\"state\":\"%s\",\"hops\":", n.label,
                       n.incarnation, phx__node_state_text(n.state));
    phx__node_text_put(&d->t, n.hops < 0 ? "-1" : "%u", (uint64_t)n.hops);
    if (n.hops > 0)
        phx__node_text_put(&d->t, ",\"next\":\"%i\"", &n.next);
    if (way != 0)
        phx__node_text_put(&d->t, ",\"rtt_us\":%u", phx__route_rtt_us(way));
    phx__node_text_put(&d->t, ",\"since_us\":%u,\"names\":[", n.since_us);
    for (uint32_t i = 0; (c = phx__names_claim(&d->p->names, node, i)) != NULL; i++)
        phx__node_text_put(&d->t, "%s[\"%u\",\"%u\"]", i > 0 ? "," : "", c->first, c->last);
    phx__node_text_put(&d->t, "]}");
}

PHX__COLD static void dump_json_link(struct dump *d, const struct phx__link *l)
{
    static const char *const yes[] = { "false", "true" };
    int up = phx__node_serves(d->p, l);
    char text[PHX_ADDRESS_TEXT];

    dump_item(d, "\n{\"peer\":", &l->id);
    phx__node_text_put(&d->t, ",\"address\":");
    dump_string(d, l->address.family ? phx_address_text(&l->address, text) : "");
    phx__node_text_put(&d->t, ",\"up\":%s,\"dialer\":%s,\"monitor\":%s,\"since_us\":%u", yes[up],
                       yes[l->dialer], yes[up && phx__detect_is_monitor(&d->p->detect, l->peer)], l->since);
    phx__node_text_put(&d->t, ",\"bytes_in\":%u,\"bytes_out\":%u,\"queued_bytes\":%u}", l->in.bytes,
                       l->out.bytes, (uint64_t)(phx__link_out_queued(l) + l->out.news.bytes));
}

PHX__COLD static void dump_json_seen(struct dump *d, uint32_t node)
{
    const struct phx__dest *dest = phx__route_dest(&d->p->route, node);
    const struct phx__offer *o = phx__route_table_offers(dest), *end = o + dest->offer_count;

    for (; o < end; o++) {
        dump_item(d, "\n{\"by\":", &d->p->ids.at[o->nbr]);
        phx__node_text_put(&d->t, ",\"node\":\"%i\",\"hops\":%u}", &d->p->ids.at[node], (uint64_t)o->hops);
    }
}

PHX__COLD static void dump_json_hubs(struct dump *d)
{
    struct phx_hub hub[PHX__DIAL_HUBS];
    size_t n = phx_hubs(d->p, hub, PHX__DIAL_HUBS);
    char text[PHX_ADDRESS_TEXT];

    for (size_t i = 0; i < n && i < PHX__DIAL_HUBS; i++) {
        phx__node_text_put(&d->t, "%s\n{\"address\":", i > 0 ? "," : "");
        dump_string(d, phx_address_text(&hub[i].address, text));
        phx__node_text_put(&d->t, ",\"peer\":\"%i\",\"linked\":%s,\"error\":", &hub[i].peer,
                           hub[i].linked ? "true" : "false");
        dump_string(d, hub[i].error == 0 ? "" : phx_strerror(hub[i].error));
        phx__node_text_put(&d->t, ",\"tried_us\":%u}", hub[i].tried_us);
    }
}

PHX__COLD static void dump_json(struct dump *d)
{
    const struct phx__link *l = NULL;

    phx__node_text_put(&d->t, "{\"self\":\"%i\",\"now_us\":%u,\n\"nodes\":[", &d->p->self, d->p->now);
    dump_each(d, PHX__SELF, dump_json_node);
    phx__node_text_put(&d->t, "],\n\"links\":[");
    for (d->between = ""; (l = phx__node_each_link(d->p, l)) != NULL;)
        if (l->state != PHX__LINK_CLOSED)
            dump_json_link(d, l);
    phx__node_text_put(&d->t, "],\n\"hubs\":[");
    dump_json_hubs(d);
    phx__node_text_put(&d->t, "],\n\"seen\":[");
    dump_each(d, 1, dump_json_seen);
    phx__node_text_put(&d->t, "]}\n");
}

/* ---- DOT ------------------------------------------------------------------------------------- */

PHX__COLD static void dump_dot_node(struct dump *d, uint32_t node)
{
    static const char *const look[] = { "style=dotted", "style=solid", "style=dashed,color=orange",
                                        "color=gray",   "color=red",   "style=dotted,color=gray" };
    const struct phx__claim *c;
    char id[PHX_ID_TEXT];
    struct phx_node n;

    phx__node_fill(d->p, node, &n);
    phx_id_text(&n.id, id);
    id[8] = 0; /* enough to tell nodes apart in a picture */
    phx__node_text_put(&d->t, "  \"%i\" [%s%s,label=\"%s%s%s", &n.id,
                       node == PHX__SELF ? "shape=doublecircle," : "", look[n.state], n.label,
                       n.label[0] != 0 ? "\\n" : "", id);
    for (uint32_t i = 0; i < DUMP_LABEL_NAMES && (c = phx__names_claim(&d->p->names, node, i)) != NULL; i++)
        phx__node_text_put(&d->t, c->last > c->first ? "\\n%u-%u" : "\\n%u", c->first, c->last);
    phx__node_text_put(&d->t, "%s\"];\n", n.ranges_count > DUMP_LABEL_NAMES ? "\\n..." : "");
}

PHX__COLD static void dump_dot_edge(struct dump *d, uint32_t a, uint32_t b, const char *how)
{
    phx__node_text_put(&d->t, "  \"%i\" -- \"%i\"%s;\n", &d->p->ids.at[a], &d->p->ids.at[b], how);
}

/* What neighbours say that they are next to. Where both say so, one line. */
PHX__COLD static void dump_dot_seen(struct dump *d, uint32_t node)
{
    const struct phx__dest *dest = phx__route_dest(&d->p->route, node);
    const struct phx__offer *back, *o = phx__route_table_offers(dest), *end = o + dest->offer_count;

    for (; o < end; o++) {
        back = phx__route_table_offer(&d->p->route.table.at[o->nbr], node);
        if (o->hops == 1 && (o->nbr < node || back == NULL || back->hops != 1))
            dump_dot_edge(d, o->nbr, node, " [color=gray]");
    }
}

PHX__COLD static void dump_dot(struct dump *d)
{
    phx__node_text_put(&d->t, "graph phoenix {\n");
    dump_each(d, PHX__SELF, dump_dot_node);
    for (uint32_t node = 1; node < d->p->ids.size; node++)
        if (phx__node_link(d->p, node) != NULL)
            dump_dot_edge(d, PHX__SELF, node, "");
    dump_each(d, 1, dump_dot_seen);
    phx__node_text_put(&d->t, "}\n");
}

PHX__COLD int phx_dump(phx *p, int format, char *out, size_t capacity)
{
    struct dump d = { { out, capacity, 0, p }, p, "" };

    if (p == NULL || (out == NULL && capacity > 0) || (format != PHX_DUMP_JSON && format != PHX_DUMP_DOT))
        return PHX_EINVAL;
    (format == PHX_DUMP_JSON ? dump_json : dump_dot)(&d);
    return phx__node_text_end(&d.t);
}
