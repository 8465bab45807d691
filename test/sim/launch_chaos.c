/* launch_chaos.c - agents that die while a job goes on: trees over phoenix.c, against the model of
 * tree_net.h. */

/* The hosts and what they must get are those of test/launch/tree_net.h; the messages go through Phoenix.
 * Each agent does what the launcher's agent does: a neighbour that is UNREACHABLE or FAILED is lost; who
 * has lost its parent tries the old one for a while, then the next ancestor, and so on, and the first that
 * is reached is its parent. */
#include "../launch/tree_net.h"
#include "story.h"

#define CHAOS_TRY (300 * MS) /* for each ancestor */
#define CHAOS_OPERATIONS 10u

struct chaos_agent {
    struct chaos *c;
    phx *p;
    uint32_t self, tried; /* tried: the ancestor that is being dialled, or LA_NONE */
    uint64_t until;
};

struct chaos {
    struct sim *s;
    struct net *n;
    struct chaos_agent a[64];
    uint32_t sent[64], cuts[2]; /* cuts: a link; the same twice: none */
    uint64_t heal_at;
};

static void chaos_id(uint32_t agent, struct phx_id *id)
{
    memset(id, 7, sizeof *id);
    id->b[0] = (unsigned char)(agent + 1);
}

static void chaos_address(const struct chaos_agent *a, uint32_t of, char *out)
{
    struct phx_address at;

    world_address(a->c->s->w, of, PORT, &at);
    phx_address_text(&at, out);
}

static int chaos_carry(void *ctx, uint32_t from, uint32_t to, uint32_t type, const void *data, size_t size)
{
    struct chaos *c = ctx;

    if (c->a[from].p == NULL)
        return PHX_ECLOSED;
    return phx_send(c->a[from].p, to, from, type, data, size);
}

static void chaos_message(phx *p, const struct phx_message *m, void *user)
{
    struct chaos_agent *a = user;

    (void)p;
    if (la_tree_recv(a->c->n->a[a->self].tree, (uint32_t)m->from, (uint32_t)m->tag, m->data, m->size) != 0)
        world_fail(a->c->s->w, "agent %u: nonsense %u from %u", (unsigned)a->self, (unsigned)m->tag,
                   (unsigned)m->from);
}

static void chaos_writable(phx *p, uint64_t to, void *user)
{
    struct chaos_agent *a = user;

    (void)p;
    la_tree_writable(a->c->n->a[a->self].tree, (uint32_t)to);
}

/* ---- Orphans --------------------------------------------------------------------------------- */

static int chaos_reaches(const struct chaos_agent *a, uint32_t agent)
{
    struct phx_node nodes[64];
    struct phx_id id;
    size_t i, count = phx_nodes(a->p, nodes, 64);

    chaos_id(agent, &id);
    for (i = 0; i < count && i < 64; i++)
        if (memcmp(&nodes[i].id, &id, sizeof id) == 0)
            return nodes[i].state <= PHX_NODE_SUSPECT && nodes[i].hops > 0;
    return 0;
}

/* The ancestor that is tried is the parent, if it is reached. */
static void chaos_look(struct chaos_agent *a)
{
    struct net_agent *me = &a->c->n->a[a->self];

    if (a->tried == LA_NONE || !chaos_reaches(a, a->tried))
        return;
    world_say(a->c->s->w, 1, "agent %u joins %u", (unsigned)a->self, (unsigned)a->tried);
    me->above = a->tried;
    a->tried = LA_NONE;
    if (la_tree_moved(me->tree, me->above) != 0)
        world_fail(a->c->s->w, "agent %u cannot move", (unsigned)a->self);
}

static void chaos_try(struct chaos_agent *a, uint32_t ancestor)
{
    char at[PHX_ADDRESS_TEXT];

    if (a->tried != LA_NONE && a->tried != ancestor) {
        chaos_address(a, a->tried, at);
        (void)phx_unjoin(a->p, at);
    }
    a->tried = ancestor;
    a->until = a->c->s->w->now + CHAOS_TRY;
    chaos_address(a, ancestor, at);
    if (phx_join(a->p, at) != 0)
        world_fail(a->c->s->w, "agent %u cannot join", (unsigned)a->self);
    chaos_look(a);
}

static void chaos_node(phx *p, const struct phx_node *node, void *user)
{
    struct chaos_agent *a = user;
    struct net_agent *me = &a->c->n->a[a->self];
    uint32_t agent = node->id.b[0] - 1u;

    (void)p;
    if (agent == a->self)
        return;
    if (node->state <= PHX_NODE_SUSPECT) {
        chaos_look(a);
        return;
    }
    la_tree_lost(me->tree, agent); /* FAILED is no proof of a death: its link may have been cut */
    if (agent == me->above && a->tried == LA_NONE)
        chaos_try(a, agent);
}

/* ---- Agents ---------------------------------------------------------------------------------- */

static int chaos_step(void *state, uint64_t now)
{
    struct chaos_agent *a = state;
    struct net_agent *me = &a->c->n->a[a->self];
    int more = phx_step(a->p, now, NULL, 0);

    la_tree_step(me->tree, now);
    if (a->tried != LA_NONE && now >= a->until)
        chaos_try(a, a->tried == 0 ? me->parent : a->c->n->a[a->tried].parent);
    return more;
}

static uint64_t chaos_deadline(void *state)
{
    struct chaos_agent *a = state;
    uint64_t at = phx_deadline(a->p), tree = la_tree_deadline(a->c->n->a[a->self].tree);

    if (a->tried != LA_NONE && a->until < at)
        at = a->until;
    return tree < at ? tree : at;
}

static void chaos_begin(struct chaos *c, uint32_t self)
{
    struct chaos_agent *a = &c->a[self];
    struct world_app app = { a, chaos_step, chaos_deadline, NULL };
    struct world_host *h = &c->s->w->hosts[self];
    char at[PHX_ADDRESS_TEXT];
    struct phx_config cfg;
    struct phx_id id;
    int err;

    a->c = c;
    a->self = self;
    a->tried = LA_NONE;
    world_begin(c->s->w, self);
    phx_config_init(&cfg);
    chaos_id(self, &id);
    cfg.id = &id;
    cfg.user = a;
    cfg.insecure = 1;
    cfg.full_mesh = 0;
    cfg.detector.monitors = 255; /* a leaf has one neighbour: who else would tell it that it is alone? */
    cfg.hop_limit = 64;
    cfg.on_message = chaos_message;
    cfg.on_writable = chaos_writable;
    cfg.on_node = chaos_node;
    cfg.log_level = PHX_LOG_ERROR;
    cfg.os = &h->os;
    cfg.alloc = &h->alloc;
    err = phx_new(&a->p, &cfg, c->s->w->now);
    chaos_address(a, self, at);
    if (err == 0)
        err = phx_listen(a->p, at);
    if (err == 0)
        err = phx_assume(a->p, self, self);
    if (err == 0 && self > 0) {
        chaos_address(a, c->n->a[self].parent, at);
        err = phx_join(a->p, at);
    }
    if (err != 0)
        world_fail(c->s->w, "agent %u: %s", (unsigned)self, phx_strerror(err));
    world_attach(c->s->w, self, &app);
}

/* silent: nobody is told. */
static void chaos_end(struct chaos *c, uint32_t self, int silent)
{
    struct chaos_agent *a = &c->a[self];
    struct net_agent *above;

    c->n->a[self].alive = 0;
    if (a->p == NULL)
        return;
    if (silent)
        world_power(c->s->w, self, 0);
    else
        world_crash(c->s->w, self);
    phx_free(a->p);
    a->p = NULL;
    above = &c->n->a[c->n->a[self].parent];
    if (!silent && self > 0 && above->alive && rnd(c->s, 2) == 0)
        la_tree_dead(above->tree, self); /* who started it has seen its end */
}

/* ---- The story ------------------------------------------------------------------------------- */

/* Hosts whose agent has been told to end do; some of those that are ready enter; some say something. */
static void chaos_hosts(struct chaos *c)
{
    uint32_t i;

    for (i = 0; i < c->n->agents; i++) {
        struct net_agent *a = &c->n->a[i];
        if (!a->alive)
            continue;
        if (a->cut) {
            world_fail(c->s->w, "agent %u was cut off", (unsigned)i);
            return;
        }
        if (!a->in && a->number < c->n->operations && rnd(c->s, 3) == 0)
            net_enter(a);
        if (c->sent[i] < 20 && rnd(c->s, 8) == 0 && net_say_up(a, c->sent[i]) == 0)
            c->sent[i]++;
        world_touch(c->s->w, i);
    }
}

/* What is cut for longer than cut_wait, below agent 0, ends; so nothing is. */
static void chaos_heal(struct chaos *c)
{
    if (c->cuts[0] != c->cuts[1])
        heal(c->s, c->cuts[0], c->cuts[1]);
    c->cuts[0] = c->cuts[1] = 0;
}

/* One fault: a death, loud or silent, a link that is cut for a while, a host that stops for a while. */
static void chaos_fault(struct chaos *c)
{
    uint32_t i = 1 + (uint32_t)rnd(c->s, c->n->agents - 1), what = (uint32_t)rnd(c->s, 6);

    if (!c->n->a[i].alive)
        return;
    world_say(c->s->w, 1, "fault %u at %u, parent %u", (unsigned)what, (unsigned)i,
              (unsigned)c->n->a[i].above);
    if (what < 2) {
        chaos_end(c, i, 0);
    } else if (what == 2) {
        chaos_end(c, i, 1);
    } else if (what < 5) {
        chaos_heal(c);
        c->cuts[0] = i;
        c->cuts[1] = c->n->a[i].above;
        c->heal_at = now_us(c->s) + rnd(c->s, 4 * SECOND);
        sever(c->s, c->cuts[0], c->cuts[1]);
    } else {
        stall(c->s, i, rnd(c->s, 3 * SECOND));
    }
}

static int chaos_is_over(const struct chaos *c)
{
    uint32_t i;

    for (i = 0; i < c->n->agents; i++)
        if (c->n->a[i].alive && c->n->a[i].ups[1] < c->sent[i])
            return 0;
    return net_is_through(c->n);
}

static void chaos_run(struct chaos *c)
{
    uint32_t faults = (uint32_t)rnd(c->s, 6);
    uint64_t next;

    run_for(c->s, 200 * MS); /* who dies before the parent has heard of it is the starter's business */
    next = now_us(c->s) + rnd(c->s, 100 * MS);
    while (!c->s->w->failed && now_us(c->s) < 5 * MINUTE && (faults > 0 || !chaos_is_over(c))) {
        chaos_hosts(c);
        run_for(c->s, MS + rnd(c->s, 3 * MS));
        if (now_us(c->s) >= c->heal_at)
            chaos_heal(c);
        if (now_us(c->s) < next)
            continue;
        if (faults > 0)
            faults--;
        next = now_us(c->s) + rnd(c->s, rnd(c->s, 2) ? 20 * MS : 3 * SECOND);
        if (faults > 0)
            chaos_fault(c);
    }
    if (!chaos_is_over(c))
        world_fail(c->s->w, "not all are through");
    if (c->n->wrong + c->n->lost > 0 || c->n->gone >= 1000000)
        world_fail(c->s->w, "wrong %u, lost %u, gone %u", (unsigned)c->n->wrong, (unsigned)c->n->lost,
                   (unsigned)c->n->gone);
}

/* Goal: whoever dies whenever, each operation completes once and with all that living hosts brought.
 * Method: up to 40 agents, degrees 2 to 5, operations, roots and faults drawn; every record is compared
 * with the model. */
void tell_launch_chaos(struct sim *s)
{
    struct chaos *c = calloc(1, sizeof *c);
    uint32_t agents = 3 + (uint32_t)rnd(s, s->o.nodes - 2), i;
    uint64_t seed = rnd(s, UINT64_MAX);

    if (c == NULL)
        exit(1);
    c->s = s;
    c->n = net_new(agents, 2 + (uint32_t)rnd(s, 4), 4, 1, seed);
    c->n->operations = CHAOS_OPERATIONS;
    c->n->carry = chaos_carry;
    c->n->carry_ctx = c;
    add(s, agents, 0, 0);
    for (i = 0; i < agents; i++)
        chaos_begin(c, i);
    chaos_run(c);
    for (i = 0; i < agents; i++)
        chaos_end(c, i, 1);
    net_free(c->n);
    free(c);
}
