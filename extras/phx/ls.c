/* ls.c - phx ls, ping and trace: who is there, how far, and by which way. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LS_TRACES 16 /* under way at once: what phx_trace allows */
#define LS_NAMES 4   /* ranges shown for people */

/* What a trace told of a node, or PHX_EAGAIN. */
struct ls_way {
    int result, why;
    double rtt;
    size_t hops_count;
    struct phx_hop hops[256];
};

struct ls {
    struct phx_node *nodes;
    struct ls_way *ways; /* of each node; its hops are not kept for a list */
    size_t count, next, open;
};

/* ---- Traces ---------------------------------------------------------------------------------- */

static void ls_on_trace(phx *p, const struct phx_trace *trace, void *user)
{
    struct tool *t = user;
    struct ls_way *way = t->state;

    (void)p;
    way->result = trace->result;
    way->why = trace->why;
    way->hops_count = trace->hops_count < 256 ? trace->hops_count : 256;
    memcpy(way->hops, trace->hops, way->hops_count * sizeof *way->hops);
    if (trace->result == 0 && trace->hops_count > 0)
        way->rtt = (double)trace->hops[trace->hops_count - 1].rtt_us / 1e6;
}

static int ls_is_told(struct tool *t)
{
    return ((struct ls_way *)t->state)->result != PHX_EAGAIN;
}

/* One trace from beginning to end; 0, or why not. */
static int ls_trace(struct tool *t, const struct phx_id *id, struct ls_way *way)
{
    int err;

    memset(way, 0, sizeof *way);
    way->result = PHX_EAGAIN;
    t->state = way;
    if ((err = phx_trace(t->p, id, 1)) != 0)
        return err;
    if (tool_until(t, 10, ls_is_told) <= 0)
        return PHX_ETIMEDOUT;
    return way->result;
}

static int ls_begin(struct tool *t)
{
    int err;

    t->cfg.on_trace = ls_on_trace;
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 1)) != 0)
        return err;
    return tool_settle(t);
}

/* ---- ls -------------------------------------------------------------------------------------- */

static void ls_on_list(phx *p, const struct phx_trace *trace, void *user)
{
    struct ls *list = ((struct tool *)user)->state;
    struct ls_way *way = &list->ways[trace->token];

    (void)p;
    list->open--;
    way->result = trace->result;
    if (trace->result == 0 && trace->hops_count > 0)
        way->rtt = (double)trace->hops[trace->hops_count - 1].rtt_us / 1e6;
}

/* Keeps some traces under way; 1: all have ended. */
static int ls_all_told(struct tool *t)
{
    struct ls *list = t->state;

    for (; list->next < list->count && list->open < LS_TRACES; list->next++)
        if (list->nodes[list->next].hops > 0 && phx_trace(t->p, &list->nodes[list->next].id, list->next) == 0)
            list->open++;
    return list->open == 0 && list->next == list->count;
}

/* From most to least: living before dead, then by distance and label. */
static int ls_compare(const void *a, const void *b)
{
    const struct phx_node *x = a, *y = b;

    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    if (x->hops != y->hops)
        return x->hops < y->hops ? -1 : 1;
    return x->label[0] != 0 || y->label[0] != 0 ? strcmp(x->label, y->label)
                                                : memcmp(&x->id, &y->id, sizeof x->id);
}

static void ls_json(struct tool *t, const struct phx_node *n, const struct ls_way *way, const char *before)
{
    struct phx_range *names = calloc(n->ranges_count + 1u, sizeof *names);
    size_t i, count = names == NULL ? 0 : phx_names(t->p, &n->id, names, n->ranges_count);
    char id[PHX_ID_TEXT];

    (void)printf("%s{\"id\":\"%s\",\"label\":", before, phx_id_text(&n->id, id));
    tool_json_string(stdout, n->label);
    (void)printf(",\"state\":\"%s\",\"hops\":%d", tool_state_text(n->state), n->hops);
    if (way->result == 0)
        (void)printf(",\"rtt_us\":%.0f", way->rtt * 1e6);
    (void)printf(",\"names\":[");
    for (i = 0; i < count && i < n->ranges_count; i++)
        (void)printf("%s[\"%llu\",\"%llu\"]", i > 0 ? "," : "", (unsigned long long)names[i].first,
                     (unsigned long long)names[i].last);
    (void)printf("]}");
    free(names);
}

static void ls_names(struct tool *t, const struct phx_node *n)
{
    struct phx_range r[LS_NAMES];
    size_t i, count = phx_names(t->p, &n->id, r, LS_NAMES);

    for (i = 0; i < count && i < LS_NAMES; i++) {
        (void)printf(i > 0 ? ",%llu" : "%llu", (unsigned long long)r[i].first);
        if (r[i].last > r[i].first)
            (void)printf("-%llu", (unsigned long long)r[i].last);
    }
    (void)printf(count > LS_NAMES ? ",... (%zu)\n" : count > 0 ? "\n" : "-\n", count);
}

static void ls_line(struct tool *t, const struct phx_node *n, const struct ls_way *way)
{
    static const char *const paint[] = { "", "\033[32m", "\033[33m", "\033[35m", "\033[31m", "\033[2m" };
    int colour = tool_is_terminal(1) && n->state >= 0 && n->state <= PHX_NODE_LEFT;
    char label[PHX_LABEL], time[32], hops[16];

    (void)snprintf(hops, sizeof hops, n->hops < 0 ? "-" : "%d", n->hops);
    (void)printf("%-20s %s%-11s%s %4s %9s  ", tool_node_text(n, label), colour ? paint[n->state] : "",
                 tool_state_text(n->state), colour ? "\033[0m" : "", hops,
                 way->result == 0 ? tool_time_text(way->rtt, time) : "-");
    ls_names(t, n);
}

static void ls_print(struct tool *t, const struct ls *list)
{
    struct phx_id self;
    size_t i, shown = 0;

    phx_self(t->p, &self);
    (void)printf(t->json ? "[" : "%-20s %-11s %4s %9s  %s\n", "NODE", "STATE", "HOPS", "RTT", "NAMES");
    for (i = 0; i < list->count; i++) {
        if (memcmp(&list->nodes[i].id, &self, sizeof self) == 0)
            continue; /* this command itself is no news */
        if (t->json)
            ls_json(t, &list->nodes[i], &list->ways[i], shown++ > 0 ? ",\n" : "\n");
        else
            ls_line(t, &list->nodes[i], &list->ways[i]);
    }
    if (t->json)
        (void)printf("\n]\n");
}

static int ls_run(struct tool *t, int argc, char **argv)
{
    struct ls list;
    size_t i;
    int err;

    (void)argc;
    (void)argv;
    memset(&list, 0, sizeof list);
    t->cfg.on_trace = ls_on_list;
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 1)) != 0 || (err = tool_settle(t)) != 0)
        return err;
    list.count = tool_nodes(t, &list.nodes);
    list.ways = calloc(list.count + 1, sizeof *list.ways);
    if (list.nodes == NULL || list.ways == NULL) {
        err = tool_say(TOOL_FAILED, "out of memory");
    } else {
        qsort(list.nodes, list.count, sizeof *list.nodes, ls_compare);
        for (i = 0; i < list.count; i++)
            list.ways[i].result = PHX_EAGAIN;
        t->state = &list;
        (void)tool_until(t, 10, ls_all_told);
        ls_print(t, &list);
    }
    free(list.ways);
    free(list.nodes);
    return err;
}

/* ---- ping ------------------------------------------------------------------------------------ */

static int ls_find(struct tool *t, const char *word, struct phx_id *id)
{
    if (!tool_target(t, word, id))
        return tool_say(TOOL_FAILED, "%s: no node holds that name or has that label; see phx ls", word);
    return 0;
}

static void ping_say(struct tool *t, const char *word, long i, const struct ls_way *way, int err)
{
    char time[32];

    if (t->json)
        (void)printf(err == 0 ? "{\"seq\":%ld,\"hops\":%zu,\"rtt_us\":%.0f}\n"
                              : "{\"seq\":%ld,\"hops\":%zu}\n",
                     i, way->hops_count, way->rtt * 1e6);
    else if (err == 0)
        (void)printf("%s: %zu hop%s, %s\n", word, way->hops_count, way->hops_count == 1 ? "" : "s",
                     tool_time_text(way->rtt, time));
    else
        (void)printf("%s: %s\n", word, phx_strerror(err));
    (void)fflush(stdout);
}

static int ping_run(struct tool *t, int argc, char **argv)
{
    long i, count = t->count > 0 ? t->count : 4, answered = 0;
    static struct ls_way way;
    double least = 1e9, sum = 0;
    char a[32], b[32];
    struct phx_id id;
    int err;

    (void)argc;
    if ((err = ls_begin(t)) != 0 || (err = ls_find(t, argv[0], &id)) != 0)
        return err;
    for (i = 0; i < count && !t->stop; i++) {
        err = ls_trace(t, &id, &way);
        ping_say(t, argv[0], i, &way, err);
        if (err == 0) {
            answered++;
            sum += way.rtt;
            least = way.rtt < least ? way.rtt : least;
        }
        if (i + 1 < count)
            (void)tool_until(t, 0.2, NULL);
    }
    if (!t->json && answered > 0)
        (void)printf("%ld of %ld answered, least %s, mean %s\n", answered, i, tool_time_text(least, a),
                     tool_time_text(sum / (double)answered, b));
    return answered > 0 ? TOOL_OK : TOOL_FAILED;
}

/* ---- trace ----------------------------------------------------------------------------------- */

static void trace_label(struct tool *t, const struct phx_id *id, char out[PHX_LABEL])
{
    static const struct phx_id none;
    struct phx_node *nodes, n;
    size_t i, count = tool_nodes(t, &nodes);

    memset(&n, 0, sizeof n);
    n.id = *id;
    for (i = 0; i < count; i++)
        if (memcmp(&nodes[i].id, id, sizeof *id) == 0)
            n = nodes[i];
    free(nodes);
    if (memcmp(id, &none, sizeof none) == 0)
        (void)snprintf(out, PHX_LABEL, "no answer");
    else
        (void)tool_node_text(&n, out);
}

/* Why a node on the way leaves it to the next one, in words of its own. */
static const char *trace_why(int why)
{
    switch (why) {
    case 0: return "linked with the target";
    case PHX_ENOTFOUND: return "knows no address of the target: it listens nowhere, or tells nobody where";
    case PHX_ELIMIT: return "has as many links as it may";
    case PHX_EAGAIN: return "is trying to link with the target, or has not yet";
    case PHX_EREFUSED: return "dialled the target: refused, so nothing listens there or a firewall says no";
    case PHX_ETIMEDOUT: return "dialled the target: no answer, so a firewall or NAT drops it";
    case PHX_EUNREACH: return "dialled the target: no way to that network";
    case PHX_EKEY: return "dialled the target: it has another key";
    default: return phx_strerror(why);
    }
}

static void trace_line(struct tool *t, size_t i, const struct phx_hop *hop)
{
    char label[PHX_LABEL], time[32];

    trace_label(t, &hop->id, label);
    if (t->json) {
        (void)printf("%s{\"node\":", i > 0 ? ",\n" : "\n");
        tool_json_string(stdout, label);
        (void)printf(",\"hops_left\":%d", hop->hops);
        if (hop->rtt_us != UINT64_MAX)
            (void)printf(",\"rtt_us\":%llu", (unsigned long long)hop->rtt_us);
        (void)printf("}");
        return;
    }
    (void)printf("%2zu  %-20s %9s", i + 1, label,
                 hop->rtt_us == UINT64_MAX ? "-" : tool_time_text((double)hop->rtt_us / 1e6, time));
    (void)printf(hop->hops > 0 ? "  relays: %s\n" : "\n", trace_why(hop->why));
}

static int trace_run(struct tool *t, int argc, char **argv)
{
    static struct ls_way way;
    struct phx_id id;
    size_t i;
    int err;

    (void)argc;
    if ((err = ls_begin(t)) != 0 || (err = ls_find(t, argv[0], &id)) != 0)
        return err;
    err = ls_trace(t, &id, &way);
    if (t->json)
        (void)printf("{\"result\":\"%s\",\"hops\":[", phx_strerror(err));
    else if (way.hops_count > 1)
        (void)printf(" 0  %-20s %9s  relays: %s\n", "this command", "-", trace_why(way.why));
    for (i = 0; i < way.hops_count; i++)
        trace_line(t, i, &way.hops[i]);
    if (t->json)
        (void)printf("\n]}\n");
    return err == 0 ? TOOL_OK : tool_say(TOOL_FAILED, "%s: %s", argv[0], phx_strerror(err));
}

const struct tool_command tool_ls = {
    "ls",
    "",
    "all nodes: label, state, hops, round trip, names",
    "  phx ls --join tcp://hub:7000 --key k\n"
    "  phx ls --json | jq '.[] | select(.state != \"ok\")'        (PHX_JOIN, PHX_KEY_FILE are set)",
    0,
    0,
    ls_run
};

const struct tool_command tool_ping = {
    "ping",
    "NAME|LABEL",
    "round trips to whoever holds a name, --count N of them (4)",
    "  phx ping 7 --join tcp://hub:7000 --key k\n"
    "  phx ping lab-3 --count 1                       status 1 if nothing answers\n\n"
    "The node answers by itself, whatever program it is in, when that program steps.",
    1,
    1,
    ping_run
};

const struct tool_command tool_trace = { "trace",
                                         "NAME|LABEL",
                                         "which nodes relay on the way there, and why",
                                         "  phx trace 7 --join tcp://hub:7000 --key k",
                                         1,
                                         1,
                                         trace_run };
