/* net.c - a simulated network whose nodes' work is counted, for cliffs.c. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (600 * SECOND)
/* What a block costs beside a copy: some five instructions, in whose time 32 bytes go by. */
#define BLOCK_BYTES 32.0

/* ---- What is counted: phoenix.c is compiled so that it calls these ------------------------------ */

static uint64_t blocks, moved;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

void *cliffs_memcpy(void *to, const void *from, size_t size);
void *cliffs_memcpy(void *to, const void *from, size_t size)
{
    moved += size;
    return memcpy(to, from, size);
}

void *cliffs_memmove(void *to, const void *from, size_t size);
void *cliffs_memmove(void *to, const void *from, size_t size)
{
    moved += size;
    return memmove(to, from, size);
}

void *cliffs_memset(void *to, int byte, size_t size);
void *cliffs_memset(void *to, int byte, size_t size)
{
    moved += size;
    return memset(to, byte, size);
}

double net_work(void)
{
    return (double)blocks + (double)moved / BLOCK_BYTES;
}

uint64_t net_moved(void)
{
    return moved;
}

/* ---- The network -------------------------------------------------------------------------------- */

void net_die(const char *what)
{
    fflush(stdout);
    fprintf(stderr, "cliffs: %s\n", what);
    exit(1);
}

void net_must(int err, const char *what)
{
    if (err >= 0)
        return;
    fflush(stdout);
    fprintf(stderr, "cliffs: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

static int spot_step(void *state, uint64_t now)
{
    struct spot *s = state;
    double before = net_work();
    int more = phx_step(s->p, now, NULL, 0);

    s->work += net_work() - before;
    return more;
}

static uint64_t spot_deadline(void *state)
{
    return phx_deadline(((struct spot *)state)->p);
}

static void spot_writable(phx *p, uint64_t name, void *user)
{
    struct spot *s = user;

    (void)p;
    s->writable++;
    if (s->on_writable != NULL)
        s->on_writable(s, name);
}

static void spot_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)m;
    ((struct spot *)user)->messages++;
}

static void spot_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)token, (void)to, (void)tag, (void)result;
    ((struct spot *)user)->outcomes++;
}

void net_new(struct net *n, uint32_t most)
{
    struct world_options o;

    world_options_init(&o, 1, most);
    n->w = world_new(&o);
    n->spots = calloc(most, sizeof *n->spots);
    n->count = 0;
    if (n->w == NULL || n->spots == NULL)
        net_die("no memory");
}

void net_free(struct net *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        phx_free(n->spots[i].p);
    world_free(n->w);
    free(n->spots);
}

void net_config(struct phx_config *cfg)
{
    phx_config_init(cfg);
    cfg->insecure = 1; /* no world has loopback only */
    cfg->on_writable = spot_writable;
    cfg->on_message = spot_message;
    cfg->on_done = spot_done;
}

void net_start(struct net *n, struct spot *s, struct phx_config *cfg, int listens)
{
    struct world_app app = { .state = s, .step = spot_step, .deadline = spot_deadline };
    struct phx_address a;
    char text[PHX_ADDRESS_TEXT];

    world_begin(n->w, s->host);
    cfg->os = &n->w->hosts[s->host].os;
    cfg->alloc = &n->w->hosts[s->host].alloc;
    cfg->user = s;
    net_must(phx_new(&s->p, cfg, n->w->now), "phx_new");
    world_address(n->w, s->host, PORT, &a);
    if (listens)
        net_must(phx_listen(s->p, phx_address_text(&a, text)), "phx_listen");
    world_address(n->w, n->spots[0].host, PORT, &a);
    if (s != &n->spots[0])
        net_must(phx_join(s->p, phx_address_text(&a, text)), "phx_join");
    world_attach(n->w, s->host, &app);
}

struct spot *net_add(struct net *n, struct phx_config *cfg, int listens)
{
    struct spot *s = &n->spots[n->count++];

    s->host = world_host_add(n->w, 0, 0);
    if (s->host == WORLD_NONE)
        net_die("no room for one more host");
    net_start(n, s, cfg, listens);
    return s;
}

void net_leave(struct net *n, struct spot *s)
{
    net_must(phx_close(s->p, SECOND), "phx_close");
    net_touch(n, s);
    net_run(n, 50 * MS);
    if (!phx_closed(s->p))
        net_die("a node does not close");
    phx_free(s->p);
    s->p = NULL;
    world_end(n->w, s->host);
    net_run(n, 50 * MS);
}

void net_crash(struct net *n, uint32_t i)
{
    world_crash(n->w, n->spots[i].host);
    phx_free(n->spots[i].p);
    n->spots[i].p = NULL;
}

void net_run(struct net *n, uint64_t us)
{
    if (world_run(n->w, n->w->now + us) != 0)
        net_die(n->w->why);
}

void net_touch(struct net *n, const struct spot *s)
{
    world_touch(n->w, s->host);
}

struct phx_stats net_stats(const struct spot *s)
{
    struct phx_stats st;

    phx_stats(s->p, &st);
    return st;
}

uint64_t net_allocs(const struct net *n, const struct spot *s)
{
    return n->w->hosts[s->host].alloc_calls;
}

void net_until(struct net *n, uint32_t first, uint32_t last, uint32_t links, uint32_t reachable)
{
    uint64_t until = n->w->now + PATIENCE;
    uint32_t i = first;

    while (i <= last && n->w->now < until) {
        struct phx_stats s = net_stats(&n->spots[i]);

        if (s.links >= links && s.reachable >= reachable)
            i++;
        else
            net_run(n, SECOND / 20);
    }
    if (i <= last)
        net_die("not all have found each other in time");
}

void net_mesh(struct net *n, struct phx_config *cfg, uint32_t nodes, uint32_t room)
{
    net_new(n, nodes + room);
    for (uint32_t i = 0; i < nodes; i++)
        (void)net_add(n, cfg, 1);
    net_until(n, 0, nodes - 1, nodes - 1, nodes);
    net_run(n, 10 * SECOND);
}
