/* dump.c - phx_dump: all that one node knows of the network, as JSON for programs or DOT for graphviz. */
/*
 * A node knows its own links, a route to each node, and what its neighbours say that they are next to: in a
 * mesh that is every link there is, at the edge of a large network what lies around it. A tool that wants
 * the whole picture asks several nodes and lays the answers on each other; ids are the same everywhere.
 *
 * JSON has no integers above 2^53 that all readers keep, so names and incarnations are strings. All text
 * is ASCII: what a path may hold beyond that, or between quotes, is escaped.
 */
#include "node/state.h"

/* Ranges of names in the label of a node: a picture is not a list. */
#define DUMP_LABEL_NAMES 4u

struct dump {
    struct phx__text t;
    const phx *p;
    int json;
    const char *between; /* what goes before the next item of a list */
};

static void dump_string(struct dump *d, const char *s)
{
    static const char hex[] = "0123456789abcdef";
    char out[7] = "\\u00";

    phx__node_explain_text_put(&d->t, "\"");
    for (; *s != 0; s++) {
        unsigned char c = (unsigned char)*s;
        int n = 0;
        if (d->json && (c < 0x20 || c >= 0x7f)) {
            n = 4;
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        } else {
            if (c == '"' || c == '\\')
                out[n++] = '\\';
            out[n++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
        }
        out[n] = 0;
        phx__node_explain_text_put(&d->t, out);
        memcpy(out, "\\u00", 4);
    }
    phx__node_explain_text_put(&d->t, "\"");
}

static void dump_id(struct dump *d, const struct phx_id *id)
{
    char text[PHX_ID_TEXT];

    dump_string(d, phx_id_text(id, text));
}

/* An item of a list, or a field of an object. */
static void dump_item(struct dump *d, const char *begin)
{
    phx__node_explain_text_put(&d->t, d->between);
    phx__node_explain_text_put(&d->t, begin);
    d->between = ",";
}

static void dump_field(struct dump *d, const char *name, uint64_t v)
{
    phx__node_explain_text_put(&d->t, name);
    phx__node_explain_text_number(&d->t, v);
}

static void dump_flag(struct dump *d, const char *name, int yes)
{
    phx__node_explain_text_put(&d->t, name);
    phx__node_explain_text_put(&d->t, yes ? "true" : "false");
}

static const struct phx__names_of *dump_names_of(const struct dump *d, uint32_t node)
{
    static const struct phx__names_of none = { NULL, 0, 0, 0 };

    return node < d->p->names.capacity ? &d->p->names.of[node] : &none;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void dump_json_node(struct dump *d, uint32_t node)
{
    const struct phx__names_of *of = dump_names_of(d, node);
    struct phx_node n;
    uint32_t i;

    phx__node_step_fill(d->p, node, &n);
    dump_item(d, "\n{\"id\":");
    dump_id(d, &n.id);
    dump_field(d, ",\"incarnation\":\"", n.incarnation);
    phx__node_explain_text_put(&d->t, "\",\"state\":");
    dump_string(d, phx__node_explain_state_text(n.state));
    if (n.hops < 0)
        phx__node_explain_text_put(&d->t, ",\"hops\":-1");
    else
        dump_field(d, ",\"hops\":", (uint64_t)n.hops);
    if (n.hops > 0) {
        phx__node_explain_text_put(&d->t, ",\"next\":");
        dump_id(d, &n.next);
    }
    dump_field(d, ",\"since_us\":", n.since_us);
    phx__node_explain_text_put(&d->t, ",\"names\":[");
    for (i = 0; i < of->count; i++) {
        dump_field(d, i > 0 ? ",[\"" : "[\"", of->at[i].first);
        dump_field(d, "\",\"", of->at[i].last);
        phx__node_explain_text_put(&d->t, "\"]");
    }
    phx__node_explain_text_put(&d->t, "]}");
}

static void dump_json_link(struct dump *d, const struct phx__link *l)
{
    int up = l->state == PHX__LINK_UP && phx__node_link(d->p, l->peer) == l;
    char text[PHX_ADDRESS_TEXT];

    dump_item(d, "\n{\"peer\":");
    dump_id(d, &l->id);
    phx__node_explain_text_put(&d->t, ",\"address\":");
    dump_string(d, l->address.family ? phx_address_text(&l->address, text) : "");
    dump_flag(d, ",\"up\":", up);
    dump_flag(d, ",\"dialer\":", l->dialer);
    dump_flag(d, ",\"monitor\":", up && phx__detect_is_monitor(&d->p->detect, l->peer));
    dump_field(d, ",\"since_us\":", l->since);
    dump_field(d, ",\"bytes_in\":", l->bytes_in);
    dump_field(d, ",\"bytes_out\":", l->bytes_out);
    dump_field(d, ",\"queued_bytes\":", phx__link_queued(l));
    phx__node_explain_text_put(&d->t, "}");
}

static void dump_json_seen(struct dump *d, uint32_t node)
{
    const struct phx__dest *dest = phx__route_dest(&d->p->route, node);
    uint32_t i;

    for (i = 0; i < dest->offer_count; i++) {
        dump_item(d, "\n{\"by\":");
        dump_id(d, &d->p->ids.at[phx__route_table_offers(dest)[i].nbr]);
        phx__node_explain_text_put(&d->t, ",\"node\":");
        dump_id(d, &d->p->ids.at[node]);
        dump_field(d, ",\"hops\":", phx__route_table_offers(dest)[i].hops);
        phx__node_explain_text_put(&d->t, "}");
    }
}

static void dump_json(struct dump *d)
{
    const phx *p = d->p;
    uint32_t i;

    phx__node_explain_text_put(&d->t, "{\"self\":");
    dump_id(d, &p->self);
    dump_field(d, ",\"now_us\":", p->now);
    phx__node_explain_text_put(&d->t, ",\n\"nodes\":[");
    for (i = 0, d->between = ""; i < p->ids.size; i++)
        if (phx__route_dest(&p->route, i) != NULL)
            dump_json_node(d, i);
    phx__node_explain_text_put(&d->t, "],\n\"links\":[");
    for (i = 0, d->between = ""; i < p->link_size; i++)
        if (p->links[i] != NULL && p->links[i]->state != PHX__LINK_CLOSED)
            dump_json_link(d, p->links[i]);
    phx__node_explain_text_put(&d->t, "],\n\"seen\":[");
    for (i = 1, d->between = ""; i < p->ids.size; i++)
        if (phx__route_dest(&p->route, i) != NULL)
            dump_json_seen(d, i);
    phx__node_explain_text_put(&d->t, "]}\n");
}

/* ---- DOT ------------------------------------------------------------------------------------- */

static void dump_dot_node(struct dump *d, uint32_t node)
{
    static const char *const look[] = { "style=dotted", "style=solid", "style=dashed,color=orange",
                                        "color=gray",   "color=red",   "style=dotted,color=gray" };
    const struct phx__names_of *of = dump_names_of(d, node);
    char id[PHX_ID_TEXT];
    struct phx_node n;
    uint32_t i;

    phx__node_step_fill(d->p, node, &n);
    phx__node_explain_text_put(&d->t, "  ");
    dump_id(d, &n.id);
    phx__node_explain_text_put(&d->t, node == PHX__SELF ? " [shape=doublecircle," : " [");
    phx__node_explain_text_put(&d->t, look[n.state]);
    phx__node_explain_text_put(&d->t, ",label=\"");
    phx_id_text(&n.id, id);
    id[8] = 0; /* enough to tell nodes apart in a picture */
    phx__node_explain_text_put(&d->t, id);
    for (i = 0; i < of->count && i < DUMP_LABEL_NAMES; i++) {
        dump_field(d, "\\n", of->at[i].first);
        if (of->at[i].last > of->at[i].first)
            dump_field(d, "-", of->at[i].last);
    }
    phx__node_explain_text_put(&d->t, of->count > DUMP_LABEL_NAMES ? "\\n...\"];\n" : "\"];\n");
}

static void dump_dot_edge(struct dump *d, uint32_t a, uint32_t b, const char *how)
{
    phx__node_explain_text_put(&d->t, "  ");
    dump_id(d, &d->p->ids.at[a]);
    phx__node_explain_text_put(&d->t, " -- ");
    dump_id(d, &d->p->ids.at[b]);
    phx__node_explain_text_put(&d->t, how);
}

/* What neighbours say that they are next to. Where both say so, one line. */
static void dump_dot_seen(struct dump *d, uint32_t node)
{
    const struct phx__dest *dest = phx__route_dest(&d->p->route, node);
    uint32_t i;

    for (i = 0; i < dest->offer_count; i++) {
        uint32_t by = phx__route_table_offers(dest)[i].nbr;
        const struct phx__offer *back = phx__route_table_offer(&d->p->route.table.at[by], node);
        if (phx__route_table_offers(dest)[i].hops == 1 && (by < node || back == NULL || back->hops != 1))
            dump_dot_edge(d, by, node, " [color=gray];\n");
    }
}

static void dump_dot(struct dump *d)
{
    const phx *p = d->p;
    uint32_t i;

    phx__node_explain_text_put(&d->t, "graph phoenix {\n");
    for (i = 0; i < p->ids.size; i++)
        if (phx__route_dest(&p->route, i) != NULL)
            dump_dot_node(d, i);
    for (i = 1; i < p->ids.size; i++)
        if (phx__route_dest(&p->route, i) != NULL && phx__node_link(p, i) != NULL)
            dump_dot_edge(d, PHX__SELF, i, ";\n");
    for (i = 1; i < p->ids.size; i++)
        if (phx__route_dest(&p->route, i) != NULL)
            dump_dot_seen(d, i);
    phx__node_explain_text_put(&d->t, "}\n");
}

int phx_dump(phx *p, int format, char *out, size_t capacity)
{
    struct dump d;

    if (p == NULL || (out == NULL && capacity > 0)
        || (format != PHX_DUMP_JSON && format != PHX_DUMP_DOT))
        return PHX_EINVAL;
    phx__node_explain_text_begin(&d.t, out, capacity);
    d.p = p;
    d.json = format == PHX_DUMP_JSON;
    d.between = "";
    if (d.json)
        dump_json(&d);
    else
        dump_dot(&d);
    return phx__node_explain_text_end(&d.t);
}

#undef DUMP_LABEL_NAMES
