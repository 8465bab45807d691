/* scenario.c - the verbs and predicates of scenario.h. */
#include "chat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE (10 * MS) /* predicates are asked, and samples taken, this often */

/* When each pair's way was first found broken; 0: it was whole. */
struct sim_outage {
    uint64_t *since;
    uint64_t worst, pairs;
    uint8_t *seen; /* behind since, the same block */
};

/* ---- Nodes ------------------------------------------------------------------------------- */

static int node_step(void *state, uint64_t now)
{
    struct sim_node *n = state;

    n->stepped_at = now;
    return phx_step(n->p, now, NULL, 0);
}

static uint64_t node_deadline(void *state)
{
    struct sim_node *n = state;

    return phx_deadline(n->p);
}

static uint64_t node_work(void *state)
{
    const struct sim_node *n = state;
    const struct world_costs *c = n->s->w->o.costs;
    struct phx_stats st;

    phx_stats(n->p, &st);
    return (st.frames_in + st.frames_out) * c->frame + (st.dials + st.accepts) * c->handshake
           + st.looks * c->look;
}

static void node_log(phx *p, int level, const char *line, void *user)
{
    struct sim_node *n = user;

    (void)p;
    world_say(n->s->w, 1, "host %u: %s%s", (unsigned)n->host,
              level == PHX_LOG_ERROR ? "ERROR " : level == PHX_LOG_WARN ? "WARN " : "", line);
}

static void node_message(phx *p, const struct phx_message *m, void *user)
{
    struct sim_node *n = user;

    (void)p;
    n->messages++;
    world_hash(n->s->w, m->to ^ (m->from << 32), m->tag ^ m->size);
    chat_heard(n->s, n->host, m);
}

static void node_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct sim_node *n = user;

    (void)p;
    n->outcomes++;
    world_hash(n->s->w, token, (uint64_t)(int64_t)result);
    chat_outcome(n->s, n->host, token, to, tag, result);
}

static void node_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    struct sim_node *n = user;

    (void)p;
    n->outcomes++;
    world_hash(n->s->w, token ^ (to << 32), (uint64_t)(int64_t)result ^ ((uint64_t)left << 32));
    chat_member(n->s, n->host, token, to, result, left);
}

static void node_writable(phx *p, uint64_t to, void *user)
{
    struct sim_node *n = user;

    (void)p;
    chat_writable(n->s, n->host, to);
}

static void node_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    struct sim_node *n = user;

    (void)p;
    (void)winner;
    n->conflicts++;
    world_hash(n->s->w, range.first, range.last);
    chat_conflict(n->s, n->host, range);
}

/* Takes the names that this process wants and does not have. Those of its predecessor on the same host
 * are lost to a claim that outbids it, until the predecessor counts as failed or left. */
static int take_names(struct sim_node *n)
{
    return n->s->names && n->p ? phx_assume(n->p, n->host * 10u, n->host * 10u + 9) : 0;
}

static void node_state_changed(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;

    (void)p;
    chat_judged(n->s, n->host, node);
    if ((node->state == PHX_NODE_FAILED || node->state == PHX_NODE_LEFT) && n->conflicts > 0)
        (void)take_names(n); /* without memory: at the next failure */
}

static void after_step(void *ctx, uint32_t host)
{
    struct sim *s = ctx;

    check_step(s->c, host);
    chat_stepped(s, host);
}

struct sim *sim_new(const struct sim_options *o, uint32_t hosts_max,
                    const struct world_options *world)
{
    struct world_options wo;
    struct sim *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    world_options_init(&wo, o->seed, hosts_max);
    if (world) {
        wo = *world;
        wo.seed = o->seed;
        wo.hosts_max = hosts_max;
    }
    s->o = *o;
    s->rng.s = world_mix(o->seed + 3);
    s->w = world_new(&wo);
    s->nodes = calloc(hosts_max ? hosts_max : 1, sizeof *s->nodes);
    s->scratch = calloc((size_t)hosts_max * hosts_max + 1, 1);
    if (s->w)
        s->c = check_new(s->w, o->every ? o->every : hosts_max <= 128 ? 1 : hosts_max / 8);
    if (!s->w || !s->nodes || !s->c || !s->scratch) {
        sim_free(s);
        return NULL;
    }
    s->w->after_step = after_step;
    s->w->ctx = s;
    s->w->tracing = o->trace;
    s->sample_us = SLICE;
    phx_config_init(&s->cfg);
    s->cfg.insecure = 1;
    s->cfg.log_level = o->trace ? PHX_LOG_DEBUG : PHX_LOG_ERROR;
    s->cfg.on_log = node_log;
    s->cfg.on_message = node_message;
    s->cfg.on_done = node_done;
    s->cfg.on_member = node_member;
    s->cfg.on_conflict = node_conflict;
    s->cfg.on_node = node_state_changed;
    s->cfg.on_writable = node_writable;
    return s;
}

static void totals_add(struct sim_totals *t, const phx *p)
{
    struct phx_stats st;

    phx_stats(p, &st);
    t->updates += st.updates_out;
    t->entries += st.entries_out;
    t->requests += st.requests_out;
    t->heartbeats += st.heartbeats_out;
    t->bytes += st.bytes_out;
    t->dials += st.dials;
    t->links_lost += st.links_lost;
    t->os_calls += st.os_calls;
    t->bad_frames += st.bad_frames;
}

/* The process is over; whatever it leaves allocated is a leak. */
static void bury(struct sim *s, uint32_t i, int in_peace)
{
    struct sim_node *n = &s->nodes[i];

    if (!n->p)
        return;
    totals_add(&s->dead, n->p);
    chat_died(s, i, in_peace);
    phx_free(n->p); /* it lets go what it owes: the papers' rules are still asked */
    n->p = NULL;
    check_died(s->c, i);
    if (s->w->hosts[i].mem_used)
        world_fail(s->w, "host %u: %zu bytes in %zu blocks were not freed", (unsigned)i,
                   s->w->hosts[i].mem_used, s->w->hosts[i].mem_blocks);
}

void sim_free(struct sim *s)
{
    uint32_t i;

    if (!s)
        return;
    for (i = 0; s->w && s->nodes && i < s->w->host_count; i++) {
        if (!s->nodes[i].p)
            continue;
        world_crash(s->w, i);
        bury(s, i, 0);
    }
    chat_free(s);
    check_free(s->c);
    world_free(s->w);
    if (s->outage)
        free(s->outage->since);
    free(s->outage);
    free(s->scratch);
    free(s->nodes);
    free(s);
}

static int usable(const struct sim *s, uint32_t i)
{
    return !s->w->failed && i < s->w->host_count;
}

uint32_t add(struct sim *s, uint32_t count, uint32_t site, uint32_t realm)
{
    uint32_t first = s->w->host_count, i;

    for (i = 0; i < count && !s->w->failed; i++) {
        uint32_t host = world_host_add(s->w, site, realm);
        if (host == WORLD_NONE)
            break;
        s->nodes[host].s = s;
        s->nodes[host].host = host;
        s->nodes[host].listens = 1;
    }
    return first;
}

static int address_of(const struct sim *s, uint32_t host, char *out)
{
    struct phx_address a;

    world_address(s->w, host, PORT, &a);
    phx_address_text(&a, out);
    return 0;
}

/* 0; or why not. For want of memory or descriptors a story may go on; any other failure ends it. */
static int tolerate(struct sim *s, uint32_t i, const char *what, int err)
{
    if (err < 0 && err != PHX_ENOMEM && err != PHX_EMFILE)
        world_fail(s->w, "host %u: %s: %s", (unsigned)i, what, phx_strerror(err));
    return err < 0 ? err : 0;
}

static int join_hub(struct sim *s, uint32_t i, uint32_t hub)
{
    char text[PHX_ADDRESS_TEXT];

    if (i % 2)
        address_of(s, hub, text);
    else
        (void)snprintf(text, sizeof text, "tcp://host%u:%u", (unsigned)hub, (unsigned)PORT);
    return tolerate(s, i, text, phx_join(s->nodes[i].p, text));
}

static int open_doors(struct sim *s, uint32_t i)
{
    struct sim_node *n = &s->nodes[i];
    char text[PHX_ADDRESS_TEXT];
    uint32_t k;
    int err = 0;

    if (n->listens) {
        address_of(s, i, text);
        err = tolerate(s, i, text, phx_listen(n->p, text));
    }
    for (k = 0; k < n->hub_count && !err; k++)
        err = join_hub(s, i, n->hubs[k]);
    if (!err)
        err = tolerate(s, i, "phx_assume", take_names(n));
    return err;
}

void start(struct sim *s, uint32_t i)
{
    struct sim_node *n = &s->nodes[i];
    struct world_app app = { n, node_step, node_deadline, node_work };
    struct phx_config cfg = s->cfg;

    if (!usable(s, i) || n->p)
        return;
    world_begin(s->w, i);
    cfg.user = n;
    cfg.os = &s->w->hosts[i].os;
    cfg.alloc = &s->w->hosts[i].alloc;
    if (s->mixed && i % 4 == 3)
        cfg.rtt_metric = 0;
    if (s->w->failed || tolerate(s, i, "phx_new", phx_new(&n->p, &cfg, s->w->now)) != 0) {
        n->p = NULL;
        return;
    }
    n->conflicts = 0;
    n->stepped_at = s->w->now;
    check_born(s->c, i, n->p, s->o.routing);
    chat_born(s, i);
    if (open_doors(s, i) == 0) {
        world_attach(s->w, i, &app);
        return;
    }
    world_say(s->w, 1, "host %u: gives up starting", (unsigned)i);
    bury(s, i, 0); /* as a program would that reports the error and ends */
    world_end(s->w, i);
}

void start_all(struct sim *s)
{
    uint32_t i;

    for (i = 0; i < s->w->host_count; i++)
        start(s, i);
}

void join(struct sim *s, uint32_t i, uint32_t hub)
{
    struct sim_node *n = &s->nodes[i];

    if (!usable(s, i))
        return;
    if (n->hub_count < HUBS)
        n->hubs[n->hub_count++] = hub;
    if (!n->p)
        return;
    (void)join_hub(s, i, hub);
    world_touch(s->w, i);
}

void join_all(struct sim *s, uint32_t hub)
{
    uint32_t i;

    for (i = 0; i < s->w->host_count; i++)
        if (i != hub)
            join(s, i, hub);
}

void leave(struct sim *s, uint32_t i)
{
    uint64_t until, last = 0;

    if (!usable(s, i) || !s->nodes[i].p)
        return;
    until = s->w->hosts[i].stalled_until > s->w->now ? s->w->hosts[i].stalled_until : s->w->now;
    until += SECOND + 100 * MS;
    world_say(s->w, 1, "host %u: leaves", (unsigned)i);
    (void)phx_close(s->nodes[i].p, SECOND);
    chat_leaves(s, i);
    world_touch(s->w, i);
    /* Where work takes time a busy core may be late with its turn: it has one when its time is over. */
    while (!s->w->failed && s->nodes[i].p && !phx_closed(s->nodes[i].p)
           && (s->w->now < until || (s->w->o.costs && s->w->hosts[i].steps < last + 2))) {
        last = s->w->now < until ? s->w->hosts[i].steps : last;
        run_for(s, SLICE);
    }
    if (s->w->failed || !s->nodes[i].p)
        return;
    if (!phx_closed(s->nodes[i].p))
        world_fail(s->w, "host %u: still not closed when its drain time is over", (unsigned)i);
    bury(s, i, 1);
    world_end(s->w, i);
}

void crash(struct sim *s, uint32_t i)
{
    if (!usable(s, i) || !s->nodes[i].p)
        return;
    world_crash(s->w, i);
    bury(s, i, 0);
}

void power_off(struct sim *s, uint32_t i)
{
    if (!usable(s, i))
        return;
    world_power(s->w, i, 0);
    bury(s, i, 0);
}

void restart(struct sim *s, uint32_t i)
{
    if (!usable(s, i))
        return;
    if (s->nodes[i].p)
        crash(s, i);
    world_power(s->w, i, 1);
    start(s, i);
}

void stall(struct sim *s, uint32_t i, uint64_t us)
{
    if (usable(s, i))
        world_stall(s->w, i, us);
}

/* ---- Walls ------------------------------------------------------------------------------- */

void cut_oneway(struct sim *s, uint32_t a, uint32_t b)
{
    if (!usable(s, a) || !usable(s, b))
        return;
    world_say(s->w, 1, "cut %u -> %u", (unsigned)a, (unsigned)b);
    world_pair(s->w, a, b, WORLD_PAIR_CUT, 1);
}

void cut(struct sim *s, uint32_t a, uint32_t b)
{
    cut_oneway(s, a, b);
    cut_oneway(s, b, a);
}

void unplug(struct sim *s, uint32_t a, uint32_t b)
{
    if (!usable(s, a) || !usable(s, b))
        return;
    world_say(s->w, 1, "reset %u - %u", (unsigned)a, (unsigned)b);
    world_reset_pair(s->w, a, b);
}

void sever(struct sim *s, uint32_t a, uint32_t b)
{
    cut(s, a, b);
    unplug(s, a, b);
}

void heal(struct sim *s, uint32_t a, uint32_t b)
{
    if (!usable(s, a) || !usable(s, b))
        return;
    world_say(s->w, 1, "heal %u - %u", (unsigned)a, (unsigned)b);
    world_pair(s->w, a, b, WORLD_PAIR_CUT, 0);
    world_pair(s->w, b, a, WORLD_PAIR_CUT, 0);
}

void partition(struct sim *s, uint32_t first, uint32_t count, uint32_t group)
{
    uint32_t i;

    for (i = first; i < first + count && usable(s, i); i++)
        s->w->hosts[i].group = group;
    world_say(s->w, 1, "hosts %u..%u are in group %u", (unsigned)first,
              (unsigned)(first + count - 1), (unsigned)group);
}

void forbid(struct sim *s, uint32_t a, uint32_t b)
{
    world_pair(s->w, a, b, WORLD_PAIR_FORBID, 1);
    world_pair(s->w, b, a, WORLD_PAIR_FORBID, 1);
}

void heal_all(struct sim *s)
{
    size_t i, n = (size_t)s->w->o.hosts_max * s->w->o.hosts_max;
    uint32_t k;

    world_say(s->w, 1, "all cuts heal");
    for (i = 0; s->w->pairs && i < n; i++)
        s->w->pairs[i] &= (uint8_t)~WORLD_PAIR_CUT;
    for (k = 0; k < s->w->host_count; k++)
        s->w->hosts[k].group = 0;
}

/* ---- Time -------------------------------------------------------------------------------- */

void run_for(struct sim *s, uint64_t us)
{
    uint64_t until = s->w->now + us;

    if (!s->sample) {
        (void)world_run(s->w, until);
        return;
    }
    while (!s->w->failed && s->w->now < until) {
        uint64_t to = s->w->now + s->sample_us - s->w->now % s->sample_us;
        if (world_run(s->w, to < until ? to : until) == 0)
            s->sample(s);
    }
}

int wait_for(struct sim *s, int (*predicate)(struct sim *s), uint64_t limit_us)
{
    uint64_t until = s->w->now + limit_us, slice = SLICE;

    for (;;) {
        if (s->w->failed)
            return 0;
        if (predicate(s))
            return 1;
        if (s->w->now >= until)
            return 0;
        run_for(s, slice);
        /* A long wait needs no fine answer; 1 % is enough. */
        if (slice < limit_us / 100)
            slice += slice / 8;
    }
}

int wait_until(struct sim *s, int (*predicate)(struct sim *s), uint64_t limit_us)
{
    if (wait_for(s, predicate, limit_us))
        return 1;
    world_fail(s->w, "after %.3f s at time %.3f s: %s", (double)limit_us / 1e6,
               (double)now_us(s) / 1e6, s->why);
    return 0;
}

static uint64_t route_messages(const struct sim *s)
{
    struct sim_totals t = totals(s);

    return t.updates + t.requests;
}

uint64_t settle(struct sim *s, uint64_t quiet_us, uint64_t limit_us)
{
    uint64_t begin = s->w->now, last = begin, seen = route_messages(s);

    while (!s->w->failed && s->w->now - begin < limit_us) {
        uint64_t count;
        run_for(s, SLICE);
        count = route_messages(s);
        if (count != seen)
            last = s->w->now;
        seen = count;
        if (s->w->now - last >= quiet_us && all_agree(s))
            return last - begin;
    }
    world_fail(s->w, "not settled after %.3f s, last message %.3f s ago: %s",
               (double)limit_us / 1e6, (double)(s->w->now - last) / 1e6, s->why);
    return UINT64_MAX;
}

/* ---- Predicates -------------------------------------------------------------------------- */

static int no(struct sim *s, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
static int no(struct sim *s, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(s->why, sizeof s->why, format, ap);
    va_end(ap);
    return 0;
}

int all_reachable(struct sim *s)
{
    uint32_t i, alive = living(s);

    for (i = 0; i < s->w->host_count; i++) {
        struct phx_stats st;
        if (!s->nodes[i].p)
            continue;
        phx_stats(s->nodes[i].p, &st);
        if (st.reachable != alive) /* the node itself is the first */
            return no(s, "host %u reaches %u of %u, and has %u links", (unsigned)i,
                      (unsigned)st.reachable, (unsigned)alive, (unsigned)st.links);
    }
    return 1;
}

int all_linked(struct sim *s)
{
    uint32_t i, alive = living(s);

    for (i = 0; i < s->w->host_count; i++) {
        struct phx_stats st;
        if (!s->nodes[i].p)
            continue;
        phx_stats(s->nodes[i].p, &st);
        if (st.links + 1 != alive)
            return no(s, "host %u has links with %u of %u", (unsigned)i, (unsigned)st.links,
                      (unsigned)alive - 1);
    }
    return 1;
}

/* For the reader of a failure: what stands between the two. */
static int no_route(struct sim *s, uint32_t a, uint32_t b, uint8_t want)
{
    uint32_t next = check_next(s->c, a, b);
    char route[64], distance[32];

    (void)snprintf(route, sizeof route, "no route");
    if (next != WORLD_NONE)
        (void)snprintf(route, sizeof route, "%u hops through %u",
                       (unsigned)check_hops(s->c, a, b), (unsigned)next);
    (void)snprintf(distance, sizeof distance, "%u", (unsigned)want);
    return no(s, "%u -> %u: %s, should be %s", (unsigned)a, (unsigned)b, route,
              want == 255 ? "unreachable" : distance);
}

static int shortest(struct sim *s, int of_walls)
{
    struct graph g;
    uint32_t a, b;
    uint8_t want;
    int err, wrong;

    err = of_walls ? check_graph_of_walls(s->c, &g) : check_graph_of_links(s->c, &g);
    if (err) {
        world_fail(s->w, "the simulator is out of memory");
        return 0;
    }
    wrong = check_shortest(s->c, &g, (uint8_t)s->cfg.hop_limit, &a, &b, &want);
    graph_free(&g);
    return wrong ? no_route(s, a, b, want) : 1;
}

int all_shortest(struct sim *s)
{
    return shortest(s, 0);
}

int all_best(struct sim *s)
{
    return shortest(s, 1);
}

int all_agree(struct sim *s)
{
    struct graph g;
    uint32_t a, b;
    int wrong;

    if (check_graph_of_links(s->c, &g) < 0)
        return 0;
    wrong = check_digests(s->c, &g, &a, &b);
    graph_free(&g);
    return wrong ? no(s, "%u and %u are linked, and their digests differ", (unsigned)a, (unsigned)b)
                 : 1;
}

int all_well(struct sim *s)
{
    return all_best(s) && all_agree(s);
}

int names_owned(struct sim *s)
{
    uint32_t i, k, holder = 0;

    for (i = 0; i < s->w->host_count; i++) {
        struct phx_id id, owner;
        char who[40], claims[160];
        if (!s->nodes[i].p)
            continue;
        phx_self(s->nodes[i].p, &id);
        if (check_holders(s->c, i * 10u, &holder) != 1)
            return no(s, "name %u has not one holder", (unsigned)i * 10u);
        for (k = 0; k < s->w->host_count; k++) {
            if (!s->nodes[k].p || (i != k && check_hops(s->c, k, i) == 255))
                continue; /* dead, or out of reach: the core may stay in parts */
            if (phx_owner(s->nodes[k].p, i * 10u, &owner) != 0) {
                check_explain_name(s->c, k, i * 10u, claims, sizeof claims);
                return no(s, "host %u finds no holder of name %u, which host %u holds%s",
                          (unsigned)k, (unsigned)i * 10u, (unsigned)i, claims);
            }
            if (memcmp(owner.b, id.b, sizeof id.b) != 0)
                return no(s, "host %u believes that %s holds name %u, and not host %u",
                          (unsigned)k, check_who(s->c, &owner, who, sizeof who),
                          (unsigned)i * 10u, (unsigned)i);
        }
    }
    return 1;
}

/* What a knows of b's names, against b itself. */
static int knows_names(struct sim *s, uint32_t a, uint32_t b)
{
    struct phx_range mine[256], theirs[256];
    struct phx_id id;
    size_t n, m, i;

    phx_self(s->nodes[b].p, &id);
    n = phx_names(s->nodes[b].p, &id, mine, 256);
    m = phx_names(s->nodes[a].p, &id, theirs, 256);
    for (i = 0; n == m && i < n && i < 256; i++)
        if (mine[i].first != theirs[i].first || mine[i].last != theirs[i].last)
            break;
    if (n == m && (i == n || i == 256))
        return 1;
    return no(s, "host %u believes that host %u has %zu ranges of names, and it has %zu", (unsigned)a,
              (unsigned)b, m, n);
}

int same_names(struct sim *s)
{
    uint32_t a, b;

    for (a = 0; a < s->w->host_count; a++)
        for (b = 0; b < s->w->host_count; b++)
            if (a != b && s->nodes[a].p && s->nodes[b].p && check_hops(s->c, a, b) != 255
                && !knows_names(s, a, b))
                return 0;
    return 1;
}

/* ---- Figures ------------------------------------------------------------------------------ */

struct sim_totals totals(const struct sim *s)
{
    struct sim_totals t = s->dead;
    uint32_t i;

    for (i = 0; i < s->w->host_count; i++)
        if (s->nodes[i].p)
            totals_add(&t, s->nodes[i].p);
    return t;
}

uint32_t living(const struct sim *s)
{
    uint32_t i, n = 0;

    for (i = 0; i < s->w->host_count; i++)
        n += s->nodes[i].p != NULL;
    return n;
}

uint64_t now_us(const struct sim *s)
{
    return s->w->now - s->w->start;
}

uint64_t rnd(struct sim *s, uint64_t bound)
{
    return world_rng_below(&s->rng, bound);
}

void bar(struct sim *s, const char *name, double value, double limit)
{
    int fine = value <= limit;

    if (s->w->failed)
        return;
    printf("bar\t%s\t%.6g\t%.6g\t%s\n", name, value, limit, fine ? "ok" : "short");
    s->bars_short += !fine;
    s->bars++;
}

void figure(struct sim *s, const char *name, double value)
{
    if (!s->w->failed)
        printf("figure\t%s\t%.6g\n", name, value);
}

static void sample_pair(struct sim *s, uint32_t a, uint32_t b)
{
    size_t k = (size_t)a * s->w->host_count + b;
    uint64_t us;

    if (!s->nodes[a].p || !s->nodes[b].p || check_path(s->c, a, b)) {
        s->outage->since[k] = 0;
        return;
    }
    if (!s->outage->since[k])
        s->outage->since[k] = s->w->now;
    s->outage->pairs += !s->outage->seen[k];
    s->outage->seen[k] = 1;
    us = s->w->now - s->outage->since[k] + s->sample_us; /* it may have begun just after a sample */
    if (us > s->outage->worst)
        s->outage->worst = us;
}

static void sample_paths(struct sim *s)
{
    uint32_t a, b;

    for (a = 0; a < s->w->host_count; a++)
        for (b = 0; b < s->w->host_count; b++)
            if (a != b)
                sample_pair(s, a, b);
}

void watch_paths(struct sim *s, uint64_t step_us)
{
    size_t pairs = (size_t)s->w->host_count * s->w->host_count;

    if (s->outage)
        free(s->outage->since);
    free(s->outage);
    s->outage = calloc(1, sizeof *s->outage);
    if (s->outage)
        s->outage->since = calloc(pairs, sizeof *s->outage->since + 1);
    if (!s->outage || !s->outage->since) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    s->outage->seen = (uint8_t *)(s->outage->since + pairs);
    s->sample = sample_paths;
    s->sample_us = step_us;
}

uint64_t worst_outage(const struct sim *s, uint64_t *pairs)
{
    *pairs = s->outage ? s->outage->pairs : 0;
    return s->outage ? s->outage->worst : 0;
}

void check_quiet(struct sim *s)
{
    uint32_t i;

    for (i = 0; i < s->w->host_count && !s->w->failed; i++) {
        const struct world_host *h = &s->w->hosts[i];
        check_links(s->c, i, QUEUE_LIMIT);
        if (s->cfg.mem_limit && h->mem_peak > s->cfg.mem_limit)
            world_fail(s->w, "host %u used %zu bytes, its limit is %zu", (unsigned)i, h->mem_peak,
                       s->cfg.mem_limit);
    }
    if (totals(s).bad_frames && !s->liars)
        world_fail(s->w, "%llu frames were malformed",
                   (unsigned long long)totals(s).bad_frames);
}
