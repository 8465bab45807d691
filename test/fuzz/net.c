/* net.c - nodes in the simulated world for fuzz targets. */
#include "net.h"

#define MAGIC UINT64_C(0x9d3f5a7c11e8b246)

static uint64_t payload_sum(const struct net_payload *m)
{
    return world_mix(world_mix(m->magic ^ m->sender) + world_mix(m->number + world_mix(m->name)));
}

static void net_meddle(struct net_node *n)
{
    if (n->net->meddle != NULL)
        n->net->meddle(n, n->net->ctx);
}

/* Of one sender's life to one name, each holder's life sees numbers that rise. */
static void net_saw(struct net_node *n, const struct net_payload *m)
{
    struct net *net = n->net;
    struct net_flow *f = net->flows;
    size_t i;

    for (i = 0; i < net->flow_count; i++, f++)
        if (f->sender == m->sender && f->name == m->name && f->holder == n->life)
            break;
    if (i == net->flow_count) {
        if (net->flow_count == net->flow_room) {
            net->flow_room = net->flow_room * 2 + 16;
            net->flows = realloc(net->flows, net->flow_room * sizeof *f);
            fuzz_must(net->flows != NULL, "memory");
        }
        f = &net->flows[net->flow_count++];
        *f = (struct net_flow){ m->sender, m->name, n->life, 0 };
    }
    fuzz_must(m->number > f->last || net->false_bytes,
              "number %lu to name %lu after %lu: twice, or out of order", (unsigned long)m->number,
              (unsigned long)m->name, (unsigned long)f->last);
    f->last = m->number;
    net->delivered++;
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct net_node *n = user;
    struct net_payload x;

    fuzz_must(p == n->p, "whose message");
    if (m->size >= sizeof x) {
        memcpy(&x, m->data, sizeof x);
        if (x.magic == MAGIC && x.sum == payload_sum(&x) && x.name == m->to)
            net_saw(n, &x);
    }
    net_meddle(n);
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct net_node *n = user;

    (void)p, (void)to, (void)tag, (void)result;
    if (token >= 1 && token < TOKENS && token <= n->tokens) {
        fuzz_must(n->outcome[token]++ == 0, "two outcomes of token %lu", (unsigned long)token);
        n->net->outcomes++;
    }
    net_meddle(n);
}

static void on_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    (void)p, (void)token, (void)to, (void)result, (void)left;
    net_meddle(user);
}

static void on_writable(phx *p, uint64_t to, void *user)
{
    (void)p, (void)to;
    net_meddle(user);
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    (void)p, (void)node;
    net_meddle(user);
}

static void on_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)p, (void)lost, (void)broken;
    net_meddle(user);
}

static void on_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    (void)p, (void)range, (void)winner;
    net_meddle(user);
}

static void on_trace(phx *p, const struct phx_trace *trace, void *user)
{
    (void)p, (void)trace;
    net_meddle(user);
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    struct net_node *n = user;

    (void)p, (void)level;
    fuzz_must(line[0] != '\0', "an empty line");
    if (n->net->w->tracing)
        world_say(n->net->w, 1, "%u: %s", n->index, line);
    net_meddle(n);
}

static int node_step(void *state, uint64_t now)
{
    struct net_node *n = state;

    return phx_step(n->p, now, NULL, 0) > 0;
}

static uint64_t node_deadline(void *state)
{
    return phx_deadline(((struct net_node *)state)->p);
}

void net_begin(struct net *n, uint64_t seed)
{
    struct world_options o;

    memset(n, 0, sizeof *n);
    world_options_init(&o, seed, NODES + 1);
    o.events_max = 2000000;
    n->w = world_new(&o);
    fuzz_must(n->w != NULL, "memory");
    for (uint32_t i = 0; i <= NODES; i++)
        (void)world_host_add(n->w, 0, 0);
    for (uint32_t i = 0; i < NODES; i++)
        n->nodes[i] = (struct net_node){ .host = i, .index = i, .net = n };
}

/* With RECORD=folder in the environment each life is recorded there: replay.sh runs it again. */
static void net_record(const void *data, size_t size, void *user)
{
    struct net_node *n = user;

    fuzz_must(fwrite(data, 1, size, n->record) == size, "a record is cut");
}

static void net_open_record(struct net_node *n, struct phx_config *c)
{
    const char *folder = getenv("RECORD");
    static unsigned lives;
    char path[4096];

    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/%u", folder, ++lives);
    fuzz_must((n->record = fopen(path, "wb")) != NULL, "%s", path);
    c->record = net_record;
}

static void net_config(struct net_node *n, struct phx_config *c)
{
    phx_config_init(c);
    c->insecure = 1;
    c->mem_limit = n->net->mem_limit;
    c->log_level = PHX_LOG_DEBUG;
    c->on_message = on_message;
    c->on_done = on_done;
    c->on_member = on_member;
    c->on_writable = on_writable;
    c->on_node = on_node;
    c->on_broken = on_broken;
    c->on_conflict = on_conflict;
    c->on_trace = on_trace;
    c->on_log = on_log;
    c->user = n;
    net_open_record(n, c);
    phx_detector_preset(&c->detector, PHX_PRESET_FAST);
    n->net->given[n->index] = n->net->w->hosts[n->host].os;
    if (n->net->os != NULL)
        n->net->given[n->index] = n->net->os(n);
    c->os = &n->net->given[n->index];
    n->net->memory[n->index] = n->net->w->hosts[n->host].alloc;
    if (n->net->alloc != NULL)
        n->net->memory[n->index] = n->net->alloc(n);
    c->alloc = &n->net->memory[n->index];
}

/* Once more if it fails: then what was short may be there. */
static void net_insist(phx *p, int (*call)(phx *p, const char *text), const char *text)
{
    for (int tries = 0; tries < 3 && call(p, text) != 0; tries++)
        continue;
}

int net_start(struct net *net, uint32_t i)
{
    struct net_node *n = &net->nodes[i];
    struct world_app app = { .state = n, .step = node_step, .deadline = node_deadline };
    struct phx_config c;
    struct phx_address a;
    char text[PHX_ADDRESS_TEXT];
    int err;

    if (n->p != NULL)
        return 0;
    world_begin(net->w, n->host);
    net_config(n, &c);
    n->life = ++net->lives;
    n->tokens = 0;
    n->closing = 0;
    memset(n->sent, 0, sizeof n->sent);
    memset(n->outcome, 0, sizeof n->outcome);
    if ((err = phx_new(&n->p, &c, net->w->now)) != 0) {
        fuzz_must(n->p == NULL && net->w->hosts[n->host].mem_used == 0, "a failed phx_new leaks");
        return err;
    }
    phx_self(n->p, &n->id);
    world_address(net->w, n->host, PORT, &a);
    net_insist(n->p, phx_listen, phx_address_text(&a, text));
    for (uint32_t j = 0; j < 2; j++) {
        world_address(net->w, net->nodes[j].host, PORT, &a);
        if (j != i)
            net_insist(n->p, phx_join, phx_address_text(&a, text));
    }
    world_attach(net->w, n->host, &app);
    return 0;
}

void net_crash(struct net *net, uint32_t i)
{
    struct net_node *n = &net->nodes[i];

    if (n->p == NULL)
        return;
    world_crash(net->w, n->host);
    phx_free(n->p);
    n->p = NULL;
    if (n->record != NULL)
        fclose(n->record);
    n->record = NULL;
    fuzz_must(net->w->hosts[n->host].mem_used == 0, "node %u leaks %zu bytes", i,
              net->w->hosts[n->host].mem_used);
}

void net_run(struct net *net, uint64_t us)
{
    fuzz_must(world_run(net->w, net->w->now + us) == 0, "%s", net->w->why);
    for (uint32_t i = 0; i < NODES && net->mem_limit != 0; i++)
        fuzz_must(net->w->hosts[i].mem_used <= net->mem_limit, "node %u has %zu bytes", i,
                  net->w->hosts[i].mem_used);
}

void net_run_until(struct net *net, uint64_t us, int (*done)(void))
{
    uint64_t end = net->w->now + us;

    for (uint64_t some = 100 * MS; net->w->now < end && !done(); some += some / 4)
        net_run(net, some < end - net->w->now ? some : end - net->w->now);
    net_run(net, SECOND);
}

void net_send(struct net *net, uint32_t i, uint64_t name, size_t size, int token)
{
    static uint8_t bytes[200000];
    struct net_node *n = &net->nodes[i];
    struct net_payload x = { MAGIC, n->life, n->sent[name] + 1, name, 0 };
    struct iovec iov = { bytes, size < sizeof x ? sizeof x : size };
    struct phx_outgoing m;
    int err;

    if (n->p == NULL)
        return;
    x.sum = payload_sum(&x);
    memcpy(bytes, &x, sizeof x);
    memset(&m, 0, sizeof m);
    m.to = name;
    m.iov = &iov;
    m.iov_count = 1;
    m.token = token && n->tokens + 1 < TOKENS ? n->tokens + 1 : 0;
    err = phx_sendv(n->p, &m);
    if (err == 0) {
        n->sent[name]++;
        n->tokens += m.token != 0;
    }
    world_touch(net->w, n->host);
}

void net_end(struct net *net)
{
    for (uint32_t i = 0; i < NODES; i++)
        net_crash(net, i);
    world_free(net->w);
    free(net->flows);
}
