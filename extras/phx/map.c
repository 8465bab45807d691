/* map.c - phx map: the network as a picture: DOT, SVG, a page, and a server that keeps the page fresh. */
#define _POSIX_C_SOURCE 200809L
#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP_PASSES 200 /* of the layout */

/* ---- What there is --------------------------------------------------------------------------- */

static size_t map_index(const struct map *m, const char *id)
{
    char text[PHX_ID_TEXT];
    size_t i;

    for (i = 0; i < m->count; i++)
        if (strncmp(phx_id_text(&m->nodes[i].id, text), id, PHX_ID_TEXT - 1) == 0)
            return i;
    return m->count;
}

static int map_add_edge(struct map *m, size_t a, size_t b, int own)
{
    struct map_edge *edges;
    size_t room;

    if (a >= m->count || b >= m->count)
        return 0;
    if (m->edges_count == m->edges_room) {
        room = m->edges_room * 2 + 64;
        if ((edges = realloc(m->edges, room * sizeof *edges)) == NULL)
            return PHX_ENOMEM;
        m->edges = edges;
        m->edges_room = room;
    }
    m->edges[m->edges_count++] = (struct map_edge){ a, b, own };
    return 0;
}

/* phx_dump's DOT has a line `  "ID" -- "ID"` for each link that is known, here or by what neighbours say. */
static int map_read_edges(struct map *m, const char *dot)
{
    const char *line, *end;
    int err = 0;

    for (line = dot; err == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1)
        if (end - line > 74 && line[2] == '"' && strncmp(line + 36, " -- \"", 5) == 0)
            err = map_add_edge(m, map_index(m, line + 3), map_index(m, line + 41),
                               strstr(line, "gray") == NULL || strstr(line, "gray") > end);
    return err;
}

char *map_dump(struct tool *t, int format)
{
    int size = phx_dump(t->p, format, NULL, 0);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1);

    if (text != NULL)
        (void)phx_dump(t->p, format, text, (size_t)size + 1);
    return text;
}

/* Those that left are told as events: in a picture they would pile up, one for each phx that looked. */
static size_t map_present(struct phx_node *nodes, size_t count)
{
    size_t i, n = 0;

    for (i = 0; i < count; i++)
        if (nodes[i].state != PHX_NODE_LEFT)
            nodes[n++] = nodes[i];
    return n;
}

int map_look(struct tool *t, struct map *m)
{
    char *dot = map_dump(t, PHX_DUMP_DOT);
    int err;

    free(m->nodes);
    m->edges_count = 0;
    m->count = tool_nodes(t, &m->nodes);
    if (m->nodes != NULL)
        m->count = map_present(m->nodes, m->count);
    err = dot == NULL || m->nodes == NULL ? PHX_ENOMEM : map_read_edges(m, dot);
    free(dot);
    return err;
}

void map_free(struct map *m)
{
    free(m->nodes);
    free(m->edges);
    memset(m, 0, sizeof *m);
}

/* ---- SVG ------------------------------------------------------------------------------------- */

struct map_place {
    double x, y, dx, dy;
};

static double map_root(double v)
{
    double r = v > 1 ? v : 1;
    int i;

    for (i = 0; i < 40; i++)
        r = (r + v / r) / 2;
    return r;
}

/* a is pushed away from b with this force for each unit of distance, and b from a. */
static void map_push(struct map_place *a, struct map_place *b, double x, double y, double force)
{
    a->dx += x * force;
    a->dy += y * force;
    b->dx -= x * force;
    b->dy -= y * force;
}

static void map_pass(const struct map *m, struct map_place *at, double most)
{
    double x, y, d;
    size_t i, j;

    for (i = 0; i < m->count; i++) {
        at[i].dx = -at[i].x;
        at[i].dy = -at[i].y;
    }
    for (i = 0; i < m->count; i++)
        for (j = i + 1; j < m->count; j++) {
            x = at[i].x - at[j].x;
            y = at[i].y - at[j].y;
            map_push(&at[i], &at[j], x, y, 1 / (x * x + y * y + 0.01));
        }
    for (i = 0; i < m->edges_count; i++) {
        x = at[m->edges[i].a].x - at[m->edges[i].b].x;
        y = at[m->edges[i].a].y - at[m->edges[i].b].y;
        map_push(&at[m->edges[i].a], &at[m->edges[i].b], x, y, -map_root(x * x + y * y));
    }
    for (i = 0; i < m->count; i++) {
        d = map_root(at[i].dx * at[i].dx + at[i].dy * at[i].dy + 1e-6);
        at[i].x += at[i].dx / d * (d / 4 < most ? d / 4 : most);
        at[i].y += at[i].dy / d * (d / 4 < most ? d / 4 : most);
    }
}

/* Spreads what was laid out over a picture of this size. */
static void map_fit(const struct map *m, struct map_place *at, double width, double height)
{
    double x0 = at->x, x1 = at->x, y0 = at->y, y1 = at->y, sx, sy, s;
    size_t i;

    for (i = 1; i < m->count; i++) {
        x0 = at[i].x < x0 ? at[i].x : x0;
        x1 = at[i].x > x1 ? at[i].x : x1;
        y0 = at[i].y < y0 ? at[i].y : y0;
        y1 = at[i].y > y1 ? at[i].y : y1;
    }
    sx = (width - 120) / (x1 > x0 ? x1 - x0 : 1);
    sy = (height - 80) / (y1 > y0 ? y1 - y0 : 1);
    s = sx < sy ? sx : sy;
    for (i = 0; i < m->count; i++) {
        at[i].x = width / 2 + (at[i].x - (x0 + x1) / 2) * s;
        at[i].y = height / 2 - 10 + (at[i].y - (y0 + y1) / 2) * s;
    }
}

/* Nodes push each other off, links pull (Fruchterman and Reingold 1991), and so does the middle, else those
 * without a link would fly off; with smaller and smaller steps. */
static void map_layout(const struct map *m, struct map_place *at, double width, double height)
{
    unsigned long seed = 1;
    size_t pass, i;

    for (i = 0; i < m->count; i++) {
        seed = seed * 1103515245u + 12345u;
        at[i].x = (double)(seed >> 8 & 1023) / 256 - 2;
        seed = seed * 1103515245u + 12345u;
        at[i].y = (double)(seed >> 8 & 1023) / 256 - 2;
    }
    for (pass = 0; pass < MAP_PASSES; pass++)
        map_pass(m, at, 0.5 * (1 - (double)pass / MAP_PASSES));
    map_fit(m, at, width, height);
}

static void map_xml(FILE *to, const char *s)
{
    for (; *s != 0; s++)
        if (*s == '<' || *s == '>' || *s == '&' || *s == '"')
            (void)fprintf(to, "&#%d;", (int)*s);
        else
            (void)fputc(*s, to);
}

static int map_svg(const struct map *m, FILE *to)
{
    static const char *const paint[] = { "#888", "#2a7", "#e90", "#a4c", "#d33", "#bbb" };
    struct map_place *at = calloc(m->count + 1, sizeof *at);
    double width = 700 + 10 * (double)(m->count < 100 ? m->count : 100), height = width * 0.7;
    char label[PHX_LABEL];
    size_t i;

    if (at == NULL)
        return PHX_ENOMEM;
    map_layout(m, at, width, height);
    (void)fprintf(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
        "font-size=\"12\" text-anchor=\"middle\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        width, height);
    for (i = 0; i < m->edges_count; i++)
        (void)fprintf(to, "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke=\"%s\"/>\n",
                      at[m->edges[i].a].x, at[m->edges[i].a].y, at[m->edges[i].b].x, at[m->edges[i].b].y,
                      m->edges[i].own ? "#246" : "#ccc");
    for (i = 0; i < m->count; i++) {
        (void)fprintf(to, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"8\" fill=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">",
                      at[i].x, at[i].y, paint[m->nodes[i].state <= PHX_NODE_LEFT ? m->nodes[i].state : 0],
                      at[i].x, at[i].y + 22);
        map_xml(to, tool_node_text(&m->nodes[i], label));
        (void)fprintf(to, "</text>\n");
    }
    (void)fprintf(to, "</svg>\n");
    free(at);
    return 0;
}

/* ---- The page's data ------------------------------------------------------------------------- */

static void map_json_node(const struct map *m, size_t i, uint64_t now, FILE *to)
{
    const struct phx_node *n = &m->nodes[i];
    char label[PHX_LABEL], id[PHX_ID_TEXT];

    (void)fprintf(to, "%s{\"id\":\"%s\",\"label\":", i > 0 ? ",\n" : "\n", phx_id_text(&n->id, id));
    tool_json_string(to, tool_node_text(n, label));
    (void)fprintf(to, ",\"state\":\"%s\",\"hops\":%d,\"ranges\":%u,\"since_ms\":%llu",
                  tool_state_text(n->state), n->hops, (unsigned)n->ranges_count,
                  (unsigned long long)(n->since_us < now ? (now - n->since_us) / 1000 : 0));
    if (n->hops > 1)
        (void)fprintf(to, ",\"via\":\"%s\"", phx_id_text(&n->next, id));
    if (n->reason != 0)
        (void)fprintf(to, ",\"reason\":\"%s\"", phx_strerror(n->reason));
    (void)fprintf(to, "}");
}

void map_json(struct tool *t, const struct map *m, FILE *to)
{
    uint64_t now = phx_now_us();
    struct phx_id self;
    char id[PHX_ID_TEXT];
    size_t i;

    phx_self(t->p, &self);
    (void)fprintf(to, "{\"self\":\"%s\",\"nodes\":[", phx_id_text(&self, id));
    for (i = 0; i < m->count; i++)
        map_json_node(m, i, now, to);
    (void)fprintf(to, "],\n\"links\":[");
    for (i = 0; i < m->edges_count; i++)
        (void)fprintf(to, "%s[%zu,%zu,%d]", i > 0 ? "," : "", m->edges[i].a, m->edges[i].b, m->edges[i].own);
    (void)fprintf(to, "],\n\"events\":[");
    map_events_json(m, now, to);
    (void)fprintf(to, "]}\n");
}

/* ---- The command ----------------------------------------------------------------------------- */

static int map_html(struct tool *t, const struct map *m)
{
    FILE *to = strcmp(t->html, "-") == 0 ? stdout : fopen(t->html, "w");
    int bad;

    if (to == NULL)
        return tool_say(TOOL_USAGE, "%s: %s", t->html, strerror(errno));
    map_page(t, m, to);
    bad = ferror(to) != 0;
    if (to != stdout)
        bad |= fclose(to) != 0;
    return bad ? tool_say(TOOL_FAILED, "%s: %s", t->html, strerror(errno)) : TOOL_OK;
}

static int map_print(struct tool *t, struct map *m)
{
    char *text;

    if (t->html != NULL)
        return map_html(t, m);
    if (t->svg)
        return map_svg(m, stdout) == 0 ? TOOL_OK : tool_say(TOOL_FAILED, "out of memory");
    if (t->json) {
        map_json(t, m, stdout);
        return TOOL_OK;
    }
    if ((text = map_dump(t, PHX_DUMP_DOT)) == NULL)
        return tool_say(TOOL_FAILED, "out of memory");
    (void)fputs(text, stdout);
    free(text);
    return TOOL_OK;
}

static int map_run(struct tool *t, int argc, char **argv)
{
    static struct map m;
    int err;

    (void)argc;
    (void)argv;
    t->state = &m;
    t->cfg.label = t->label != NULL ? t->label : "phx map";
    t->cfg.on_node = map_on_node;
    t->cfg.full_mesh = t->cfg.max_links; /* what neighbours say is what is seen */
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 1)) != 0 || (err = tool_settle(t)) != 0)
        return err;
    if (t->serve != NULL)
        err = map_serve(t, &m);
    else if (map_look(t, &m) != 0)
        err = tool_say(TOOL_FAILED, "out of memory");
    else
        err = map_print(t, &m);
    map_free(&m);
    return err;
}

const struct tool_command tool_map = {
    "map",
    "",
    "who is linked with whom: DOT, or --svg, --json, --html FILE, --serve PORT",
    "  phx map | neato -Tpdf > map.pdf                DOT, for graphviz\n"
    "  phx map --svg > map.svg                        a picture without graphviz\n"
    "  phx map --html map.html                        one page that needs nothing from outside\n"
    "  phx map --serve 8080                           the page at http://127.0.0.1:8080/, fresh every 2 s;\n"
    "                                                 --serve 0.0.0.0:8080 shows it to others, too\n\n"
    "Blue lines are links of this command, gray ones what its neighbours say.",
    0,
    0,
    map_run
};
