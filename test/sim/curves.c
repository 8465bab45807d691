/* curves.c - what a node pays for links, known nodes and names, counted exactly under virtual time. */

/*     curves mesh|hub|nodes|names N ...       one line of tab-separated name=value for each N
 *     curves bars                             lines "bar NAME FIGURE LIMIT ok|short"
 *
 * mesh    N + 1 nodes, all linked with all: N links each. Two of the others watch each of them.
 * hub     one node with N links to others that cannot be dialled, as behind NATs: all that they hear of
 *         each other comes from here, and as they have no other neighbour, all are watched from here.
 *         bytes/link is what the hub has more than a leaf, which knows as many nodes by one link.
 * nodes   one node that knows N others through a single link: once without addresses and names, once
 *         with one of each, as a node has that listens and holds a range.
 * names   N ranges of names in all, at as few nodes as may hold them, and one node that knows them all.
 *
 * It is the shipped phoenix.c as a user compiles it, with only phoenix.h in sight: memory is what
 * phx_stats says, and a wake-up is a step of a host that steps only when phoenix.h says that it must. Idle
 * means that nothing is sent for IDLE after all have settled, with the default detector. Everything here
 * is exact and the same on every machine. Times are in test/bench/curves.sh.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND ((uint64_t)1000000)
#define PORT 7000u
/* Twice the insurance interval, by which time whoever had to say something at the start has said it. */
#define SETTLE (200 * SECOND)
/* A multiple of both intervals (5 s and 90 s), so that no heartbeat is counted by chance. */
#define IDLE (1800 * SECOND)
#define PATIENCE (600 * SECOND)
/* A card has room for so many ranges: see phx_assume. */
#define RANGES_MOST 100000u
/* Leaves whose memory nobody asks for know so few nodes, else a thousand of them would want a gigabyte. */
#define FEW_NODES 4u

struct spot {
    phx *p;
    uint32_t host;
};

struct net {
    struct world *w;
    struct spot *spots;
    uint32_t count;
};

/* Who is idle for how long and what that took. */
struct idle {
    double steps, calls, bytes, beats; /* per second */
};

static void die(const char *what)
{
    fprintf(stderr, "curves: %s\n", what);
    exit(1);
}

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "curves: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

/* ---- A network ---------------------------------------------------------------------------------- */

static int spot_step(void *state, uint64_t now)
{
    return phx_step(((struct spot *)state)->p, now, NULL, 0);
}

static uint64_t spot_deadline(void *state)
{
    return phx_deadline(((struct spot *)state)->p);
}

static void net_new(struct net *n, uint32_t most)
{
    struct world_options o;

    world_options_init(&o, 1, most);
    n->w = world_new(&o);
    n->spots = calloc(most, sizeof *n->spots);
    n->count = 0;
    if (n->w == NULL || n->spots == NULL)
        die("no memory");
}

static void net_free(struct net *n)
{
    uint32_t i;

    for (i = 0; i < n->count; i++)
        phx_free(n->spots[i].p);
    world_free(n->w);
    free(n->spots);
}

static void net_config(struct phx_config *cfg)
{
    phx_config_init(cfg);
    cfg->insecure = 1; /* no world has loopback only */
}

static const char *net_address(const struct net *n, uint32_t host, char text[PHX_ADDRESS_TEXT])
{
    struct phx_address a;

    world_address(n->w, n->spots[host].host, PORT, &a);
    return phx_address_text(&a, text);
}

/* One more node, a member of what host 0 is the hub of. It runs from the next net_run on. */
static phx *net_add(struct net *n, struct phx_config *cfg, int listens)
{
    struct spot *s = &n->spots[n->count];
    struct world_app app = { s, spot_step, spot_deadline, NULL };
    char text[PHX_ADDRESS_TEXT];

    s->host = world_host_add(n->w, 0, 0);
    if (s->host == WORLD_NONE)
        die("no room for one more host");
    world_begin(n->w, s->host);
    cfg->os = &n->w->hosts[s->host].os;
    cfg->alloc = &n->w->hosts[s->host].alloc;
    must(phx_new(&s->p, cfg, n->w->now), "phx_new");
    n->count++;
    if (listens)
        must(phx_listen(s->p, net_address(n, n->count - 1, text)), "phx_listen");
    if (n->count > 1)
        must(phx_join(s->p, net_address(n, 0, text)), "phx_join");
    world_attach(n->w, s->host, &app);
    return s->p;
}

static void net_run(struct net *n, uint64_t us)
{
    if (world_run(n->w, n->w->now + us) != 0)
        die(n->w->why);
}

static struct phx_stats stats_of(const phx *p)
{
    struct phx_stats s;

    phx_stats(p, &s);
    return s;
}

/* Until everyone of first..last has that many links and knows a way to so many nodes, itself included. */
static void net_until(struct net *n, uint32_t first, uint32_t last, uint32_t links, uint32_t reachable)
{
    uint64_t until = n->w->now + PATIENCE;
    uint32_t i = first;

    while (i <= last && n->w->now < until) {
        struct phx_stats s = stats_of(n->spots[i].p);
        if (s.links >= links && s.reachable >= reachable)
            i++;
        else
            net_run(n, SECOND / 20);
    }
    if (i <= last)
        die("not all have found each other in time");
}

/* The mean of nodes first..last. */
static struct idle net_idle(struct net *n, uint32_t first, uint32_t last)
{
    struct phx_stats *before = calloc(n->count, sizeof *before);
    double s = (double)IDLE / (double)SECOND * (last - first + 1);
    struct idle r = { 0, 0, 0, 0 };
    uint32_t i;

    if (before == NULL)
        die("no memory");
    for (i = first; i <= last; i++)
        before[i] = stats_of(n->spots[i].p);
    net_run(n, IDLE);
    for (i = first; i <= last; i++) {
        struct phx_stats a = before[i], b = stats_of(n->spots[i].p);
        if (a.links != b.links || a.dials != b.dials || a.links_lost != b.links_lost)
            die("this is not idle: links came or went");
        r.steps += (double)(b.steps - a.steps) / s;
        r.calls += (double)(b.os_calls - a.os_calls) / s;
        r.bytes += (double)(b.bytes_in - a.bytes_in + b.bytes_out - a.bytes_out) / s;
        r.beats += (double)(b.heartbeats_in - a.heartbeats_in + b.heartbeats_out - a.heartbeats_out) / s;
    }
    free(before);
    return r;
}

static void say_idle(const struct idle *r)
{
    printf("\twakeups/s=%.4f\tcalls/s=%.4f\tbytes/s=%.2f\tbeats/s=%.4f\n", r->steps, r->calls, r->bytes,
           r->beats);
}

/* ---- Links -------------------------------------------------------------------------------------- */

struct mesh {
    double bytes, per_link; /* the mean of all nodes */
    double step_calls;      /* of a step that finds nothing to do */
    struct idle idle;       /* likewise */
};

static struct mesh mesh_measure(uint32_t links)
{
    struct phx_config cfg;
    struct mesh m;
    struct net n;
    double alone;
    phx *last;
    uint64_t calls;
    uint32_t i;

    memset(&m, 0, sizeof m);
    net_new(&n, links + 1);
    net_config(&cfg);
    for (i = 0; i <= links; i++)
        last = net_add(&n, &cfg, 1);
    alone = (double)stats_of(last).mem_bytes;
    net_until(&n, 0, links, links, links + 1);
    net_run(&n, SETTLE);
    for (i = 0; i <= links; i++)
        m.bytes += (double)stats_of(n.spots[i].p).mem_bytes / (links + 1);
    m.per_link = (m.bytes - alone) / links;
    m.idle = net_idle(&n, 0, links);
    calls = stats_of(last).os_calls;
    for (i = 0; i < 100; i++)
        if (phx_step(last, n.w->now, NULL, 0) != 0)
            die("an idle step leaves work");
    m.step_calls = (double)(stats_of(last).os_calls - calls) / 100;
    net_free(&n);
    return m;
}

static void curve_mesh(uint32_t links)
{
    struct mesh m = mesh_measure(links);

    printf("links=%u\tbytes=%.0f\tbytes/link=%.0f\tcalls/step=%.2f", (unsigned)links, m.bytes, m.per_link,
           m.step_calls);
    say_idle(&m.idle);
}

static void curve_hub(uint32_t links)
{
    struct phx_config cfg;
    struct net n;
    struct idle r;
    double hub, leaf;
    uint32_t i;

    net_new(&n, links + 1);
    net_config(&cfg);
    cfg.max_links = cfg.max_accepts = 4096;
    for (i = 0; i <= links; i++)
        (void)net_add(&n, &cfg, i == 0);
    net_until(&n, 0, 0, links, links + 1);
    net_until(&n, 1, links, 1, links + 1);
    net_run(&n, SETTLE);
    hub = (double)stats_of(n.spots[0].p).mem_bytes;
    leaf = (double)stats_of(n.spots[1].p).mem_bytes;
    r = net_idle(&n, 0, 0);
    printf("links=%u\tbytes=%.0f\tbytes/link=%.0f", (unsigned)links, hub, (hub - leaf) / (links - 1));
    say_idle(&r);
    net_free(&n);
}

/* ---- Known nodes -------------------------------------------------------------------------------- */

/* Memory of a node that has a link with a hub and knows `others` nodes, the hub being one. full: each of
 * them has an address and a range. */
static double nodes_memory(uint32_t others, int full)
{
    struct phx_config cfg;
    struct net n;
    double bytes;
    uint32_t i;

    net_new(&n, others + 1);
    net_config(&cfg);
    cfg.max_links = cfg.max_accepts = others < 4096 ? 4096 : others;
    cfg.step_bytes = 80u << 10; /* the least; it cancels out */
    (void)net_add(&n, &cfg, 1);
    cfg.max_links = 1; /* linked with the hub, and with nobody that it hears of */
    for (i = 1; i <= others; i++) {
        cfg.max_nodes = i == 1 ? 65536 : FEW_NODES;
        (void)net_add(&n, &cfg, full);
        if (full)
            must(phx_assume(n.spots[i].p, 10 * i, 10 * i + 9), "phx_assume");
    }
    net_until(&n, 1, 1, 1, others + 1);
    net_run(&n, SECOND);
    bytes = (double)stats_of(n.spots[1].p).mem_bytes;
    net_free(&n);
    return bytes;
}

/* What these nodes add to one that knows the hub alone. */
static double nodes_bytes(uint32_t others, int full)
{
    return nodes_memory(others + 1, full) - nodes_memory(1, full);
}

static void curve_nodes(uint32_t others)
{
    double bare = nodes_bytes(others, 0), full = nodes_bytes(others, 1);

    printf("nodes=%u\tbytes=%.0f\tbytes/node=%.1f\tbare=%.0f\tbare/node=%.1f\n", (unsigned)others, full,
           full / others, bare, bare / others);
}

/* ---- Names -------------------------------------------------------------------------------------- */

/* Every other name, so that no two ranges touch. */
static void assume_some(phx *p, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        must(phx_assume(p, 2 * i, 2 * i), "phx_assume");
}

static size_t ranges_known(const struct net *n, const phx *p)
{
    struct phx_id id;
    size_t sum = 0;
    uint32_t i;

    for (i = 0; i < n->count; i++) {
        phx_self(n->spots[i].p, &id);
        sum += phx_names(p, &id, NULL, 0);
    }
    return sum;
}

static void names_until(struct net *n, const phx *p, uint64_t ranges)
{
    uint64_t until = n->w->now + PATIENCE;

    while (ranges_known(n, p) < ranges && n->w->now < until)
        net_run(n, SECOND / 10);
    if (ranges_known(n, p) != ranges)
        die("not all ranges are known in time");
    net_run(n, SECOND);
}

/* The first holds, and perhaps others do; the last only knows. */
static void curve_names(uint32_t ranges)
{
    uint32_t holders = (ranges + RANGES_MOST - 1) / RANGES_MOST, i;
    struct phx_stats before, holder, knower, after;
    struct phx_config cfg;
    struct net n;
    double alone;

    net_new(&n, holders + 1);
    net_config(&cfg);
    for (i = 0; i <= holders; i++)
        (void)net_add(&n, &cfg, 1);
    net_until(&n, 0, holders, holders, holders + 1);
    net_run(&n, SETTLE);
    alone = (double)stats_of(n.spots[0].p).mem_bytes;
    before = stats_of(n.spots[holders].p);
    for (i = 0; i < holders; i++) {
        uint64_t first = (uint64_t)i * RANGES_MOST, left = ranges - first;
        assume_some(n.spots[i].p, first, left < RANGES_MOST ? left : RANGES_MOST);
        world_touch(n.w, n.spots[i].host);
    }
    names_until(&n, n.spots[holders].p, ranges);
    holder = stats_of(n.spots[0].p);
    knower = stats_of(n.spots[holders].p);
    /* And one less. */
    must(phx_release(n.spots[0].p, 0, 0), "phx_release");
    world_touch(n.w, n.spots[0].host);
    net_run(&n, SECOND);
    after = stats_of(n.spots[0].p);
    printf("ranges=%u\tholders=%u\tholder_bytes=%.0f\tknower_bytes=%.0f\tbytes/range=%.1f"
           "\twire_bytes=%.0f\tchange_wire=%.0f\n",
           (unsigned)ranges, (unsigned)holders, (double)holder.mem_bytes - alone,
           (double)knower.mem_bytes - (double)before.mem_bytes,
           ((double)knower.mem_bytes - (double)before.mem_bytes) / ranges,
           (double)(knower.bytes_in - before.bytes_in),
           (double)(after.bytes_out - holder.bytes_out) / holders);
    net_free(&n);
}

/* ---- Limits ------------------------------------------------------------------------------------- */

static void bar(const char *name, double figure, double limit)
{
    printf("bar\t%s\t%g\t%g\t%s\n", name, figure, limit, figure <= limit ? "ok" : "short");
    fflush(stdout);
}

/* The limits on memory and on steps, and promise 30. */
static int bars(void)
{
    struct mesh m = mesh_measure(100);

    bar("curves N=101 bytes of an idle link, with the node behind it", m.per_link, 8192);
    bar("curves N=101 calls of the system in an idle step", m.step_calls, 1);
    bar("curves N=1001 bytes of a known node without names and addresses", nodes_bytes(1000, 0) / 1000,
        128);
    bar("curves N=4097 MiB of tables for 4096 nodes with names, promise 30",
        nodes_bytes(4096, 1) / 1048576, 8);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: curves mesh|hub|nodes|names N ... | bars\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t least, most;
        void (*draw)(uint32_t n);
    } curves[] = { { "mesh", 2, 1000, curve_mesh },
                   { "hub", 2, 4096, curve_hub },
                   { "nodes", 2, 8192, curve_nodes },
                   { "names", 1, 10000000, curve_names } };
    size_t c = 0;
    int i;

    if (argc == 2 && strcmp(argv[1], "bars") == 0)
        return bars();
    while (argc > 2 && c < 4 && strcmp(argv[1], curves[c].name) != 0)
        c++;
    if (argc < 3 || c == 4)
        return usage();
    for (i = 2; i < argc; i++) {
        unsigned long n = strtoul(argv[i], NULL, 10);
        if (n < curves[c].least || n > curves[c].most)
            return usage();
        curves[c].draw((uint32_t)n);
        fflush(stdout);
    }
    return 0;
}
