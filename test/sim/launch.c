/* launch.c - the launcher's agents on the simulated world: a start, and MPICH's exchange, with what ships. */

/* Agents are those of extras/launch: placed by la_place, each with the job as la_job_encode gives it, its
 * tree and its engine; between them is phoenix.c. Played are the starter (a host starts in 100 ms, eight
 * at a time), and the processes, one more each millisecond, which say to their engine line by line what
 * MPICH 4 says. Words that are passed on cost processor time: each message of the tree 5 us, each child
 * that comes 100 us. */
#include "../../extras/launch/engine.h"
#include "../../extras/launch/place.h"
#include "../../extras/launch/text.h"
#include "../../extras/launch/tree.h"
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCH_HOST_US (100 * MS)
#define LAUNCH_AT_ONCE 8u
#define LAUNCH_MESSAGE_US 5u
#define LAUNCH_CHILD_US 100u

enum step { STEP_INIT, STEP_MAXES, STEP_APPNUM, STEP_KVS, STEP_MAPPING, STEP_FIRST, STEP_PUT_FILE, STEP_FILED,
            STEP_GET_FILE, STEP_PUT, STEP_PUTTED, STEP_GET, STEP_LAST, STEP_FINALIZE, STEP_OVER };

struct process {
    uint32_t rank, client;
    int step, ready;
    uint32_t asks; /* the next key to get */
};

struct agent {
    struct launch *l;
    uint32_t self, parent;
    struct la_job job; /* its slice */
    phx *p;
    struct la_tree *tree;
    struct la_engine *engine;
    struct process *processes;
    uint32_t count, started, over;
    uint64_t began, own; /* own: bytes of records that its host has brought */
    int is_first_heard;
};

struct launch {
    struct sim *s;
    struct la_job job;
    struct agent *a;
    uint32_t agents, per_host, value_size;
    struct la_place_said said;
    uint64_t *starts;
    uint32_t at_gate, inited, over;
    int open;
    uint64_t wrong;
};

/* ---- Processes ------------------------------------------------------------------------------- */

static void process_says(struct agent *a, struct process *p, const char *line)
{
    p->ready = 0;
    if (la_engine_input(a->engine, p->client, line, strlen(line)) != 0)
        a->l->wrong++;
}

/* What the process says in this step; 0: nothing, it is past it. */
static int process_line(const struct agent *a, struct process *p, char *out, size_t size)
{
    uint32_t first = a->processes[0].rank;
    const char *kvs = a->job.kvsname;
    char value[512];

    memset(value, 'v', sizeof value);
    value[a->l->value_size] = '\0';
    switch (p->step) {
    case STEP_INIT: return snprintf(out, size, "cmd=init pmi_version=1 pmi_subversion=1\n");
    case STEP_MAXES: return snprintf(out, size, "cmd=get_maxes\n");
    case STEP_APPNUM: return snprintf(out, size, "cmd=get_appnum\n");
    case STEP_KVS: return snprintf(out, size, "cmd=get_my_kvsname\n");
    case STEP_MAPPING: return snprintf(out, size, "cmd=get kvsname=%s key=PMI_process_mapping\n", kvs);
    case STEP_PUT_FILE:
        if (p->rank != first)
            return 0;
        return snprintf(out, size, "cmd=put kvsname=%s key=-bcast-1-%u value=%.58s\n", kvs, (unsigned)first,
                        value);
    case STEP_GET_FILE:
        if (p->rank == first)
            return 0;
        return snprintf(out, size, "cmd=get kvsname=%s key=-bcast-1-%u\n", kvs, (unsigned)first);
    case STEP_PUT:
        return snprintf(out, size, "cmd=put kvsname=%s key=-allgather-shm-1-%u value=%s\n", kvs,
                        (unsigned)p->rank, value);
    case STEP_GET:
        if (p->asks >= a->job.size)
            return 0;
        return snprintf(out, size, "cmd=get kvsname=%s key=-allgather-shm-1-%u\n", kvs, (unsigned)p->asks);
    case STEP_FINALIZE: return snprintf(out, size, "cmd=finalize\n");
    default: return snprintf(out, size, "cmd=barrier_in\n");
    }
}

/* The answer to what it said: the next step, or the next key. */
static void process_hears(struct agent *a, struct process *p, const char *line)
{
    int get = p->step == STEP_GET || p->step == STEP_GET_FILE || p->step == STEP_MAPPING;

    a->l->wrong += get && strncmp(line, "cmd=get_result rc=0", 19) != 0;
    a->l->wrong += strncmp(line, "cmd=", 4) != 0;
    a->l->inited += p->step == STEP_INIT;
    if (p->step == STEP_GET)
        p->asks += a->count;
    else
        p->step++;
    a->l->at_gate += p->step == STEP_PUT_FILE;
    a->l->over += p->step == STEP_OVER;
    p->ready = 1;
}

/* Those that are not waiting for an answer go on. 1: there was one. */
static int processes_go_on(struct agent *a)
{
    char line[1024];
    uint32_t i;
    int did = 0;

    for (i = 0; i < a->started; i++) {
        struct process *p = &a->processes[i];
        while (p->ready && p->step < STEP_OVER && (p->step != STEP_PUT_FILE || a->l->open)) {
            did = 1;
            if (process_line(a, p, line, sizeof line) > 0)
                process_says(a, p, line);
            else
                p->step++;
        }
    }
    return did;
}

/* ---- Between engine, tree and node ----------------------------------------------------------- */

static void agent_reply(void *ctx, uint32_t client, const void *data, size_t size)
{
    struct agent *a = ctx;
    uint32_t i;
    char line[1100];

    (void)snprintf(line, sizeof line, "%.*s", (int)size, (const char *)data);
    for (i = 0; i < a->started && a->processes[i].client != client; i++)
        ;
    if (i < a->started)
        process_hears(a, &a->processes[i], line);
}

static void agent_hangup(void *ctx, uint32_t client)
{
    (void)ctx, (void)client;
}

static void agent_enter(void *ctx, const struct la_coll *c, const struct la_record *records, size_t count)
{
    struct agent *a = ctx;
    size_t i;

    for (i = 0; i < count; i++)
        a->own += records[i].size;
    a->l->wrong += la_tree_enter(a->tree, c, records, count) != 0;
}

static void agent_left(void *ctx, uint32_t number)
{
    struct agent *a = ctx;

    a->l->wrong += la_tree_out(a->tree, a->job.id, number) != 0;
}

static void agent_get(void *ctx, const char *key, uint64_t token)
{
    struct agent *a = ctx;

    a->l->wrong += la_tree_get(a->tree, a->job.id, key, token) != 0;
}

static void agent_put(void *ctx, const char *key, const char *value)
{
    struct agent *a = ctx;

    a->l->wrong += la_tree_put(a->tree, a->job.id, key, value) != 0;
}

static void agent_said(void *ctx, uint32_t rank)
{
    (void)ctx, (void)rank;
}

static void agent_complains(void *ctx, uint32_t rank, const char *text)
{
    struct agent *a = ctx;

    world_fail(a->l->s->w, "rank %u: %s", (unsigned)rank, text);
}

static void agent_differs(void *ctx, const struct la_coll *x, const struct la_coll *y)
{
    (void)x, (void)y;
    ((struct agent *)ctx)->l->wrong++;
}

static int agent_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct agent *a = ctx;
    int err = phx_send(a->p, la_job_agent_name(&a->job, agent), a->self, type, data, size);

    if (err == 0)
        world_spend(a->l->s->w, a->self, LAUNCH_MESSAGE_US);
    return err;
}

static uint32_t agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    (void)job;
    return la_job_agent_of(&((struct agent *)ctx)->job, rank);
}

static void agent_record(void *ctx, const struct la_coll *c, const struct la_record *r)
{
    la_engine_record(((struct agent *)ctx)->engine, c, r);
}

static void agent_done(void *ctx, const struct la_coll *c)
{
    la_engine_done(((struct agent *)ctx)->engine, c);
}

static void agent_event(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    (void)from, (void)type, (void)data, (void)size;
    ((struct agent *)ctx)->l->wrong++;
}

static void agent_down(void *ctx, uint32_t type, const void *data, size_t size)
{
    agent_event(ctx, 0, type, data, size);
}

static int agent_lookup(void *ctx, uint32_t job, const char *key, const char **value)
{
    (void)job;
    return la_engine_lookup(((struct agent *)ctx)->engine, key, value);
}

static void agent_learn(void *ctx, uint32_t job, const char *key, const char *value)
{
    (void)job;
    la_engine_learn(((struct agent *)ctx)->engine, key, value);
}

static void agent_got(void *ctx, uint32_t job, const char *key, const char *value, uint64_t token)
{
    (void)job;
    la_engine_got(((struct agent *)ctx)->engine, key, value, token);
}

static void agent_cut_off(void *ctx)
{
    struct agent *a = ctx;

    world_fail(a->l->s->w, "agent %u is cut off", (unsigned)a->self);
}

static void agent_gone(void *ctx, uint32_t first, uint32_t end)
{
    (void)first, (void)end;
    ((struct agent *)ctx)->l->wrong++;
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct agent *a = user;

    (void)p;
    world_spend(a->l->s->w, a->self, LAUNCH_MESSAGE_US);
    if (la_tree_recv(a->tree, (uint32_t)m->from, (uint32_t)m->tag, m->data, m->size) != 0)
        world_fail(a->l->s->w, "agent %u: nonsense from %u", (unsigned)a->self, (unsigned)m->from);
}

static void on_writable(phx *p, uint64_t to, void *user)
{
    struct agent *a = user;
    uint64_t base = la_job_agent_name(&a->job, 0);

    (void)p;
    la_tree_writable(a->tree, (uint32_t)(to - base));
}

/* ---- An agent's life ------------------------------------------------------------------------- */

static int agent_step(void *state, uint64_t now)
{
    struct agent *a = state;
    int more = phx_step(a->p, now, NULL, 0);
    uint32_t due = a->began + MS > now ? 0 : (uint32_t)((now - a->began) / MS);
    int64_t client;

    la_tree_step(a->tree, now);
    while (a->started < a->count && a->started < due) {
        struct process *p = &a->processes[a->started];
        client = la_engine_client(a->engine, LA_PROTO_PMI, p->rank);
        if (client < 0) {
            world_fail(a->l->s->w, "no client");
            return 0;
        }
        p->client = (uint32_t)client;
        p->ready = 1;
        a->started++;
    }
    return processes_go_on(a) | more;
}

static uint64_t agent_deadline(void *state)
{
    struct agent *a = state;
    uint64_t at = phx_deadline(a->p), next = la_tree_deadline(a->tree);

    if (a->started < a->count && a->began + (a->started + 1) * MS < next)
        next = a->began + (a->started + 1) * MS;
    return next < at ? next : at;
}

static int agent_tree(struct agent *a)
{
    struct la_tree_config cfg;
    uint32_t kids[64], count = 0, at;
    int err;

    memset(&cfg, 0, sizeof cfg);
    for (at = 1; at < a->job.agents_count && count < 64; at += a->job.agents[at].subtree)
        kids[count++] = a->self + at;
    cfg.self = a->self;
    cfg.parent = a->job.parent;
    cfg.end = a->self + a->job.agents[0].subtree;
    cfg.children = kids;
    cfg.children_count = count;
    cfg.ops.ctx = a;
    cfg.ops.send = agent_send;
    cfg.ops.agent_of = agent_of;
    cfg.ops.record = agent_record;
    cfg.ops.done = agent_done;
    cfg.ops.differ = agent_differs;
    cfg.ops.up = agent_event;
    cfg.ops.down = agent_down;
    cfg.ops.lookup = agent_lookup;
    cfg.ops.learn = agent_learn;
    cfg.ops.got = agent_got;
    cfg.ops.cut_off = agent_cut_off;
    cfg.ops.gone = agent_gone;
    err = la_tree_new(&a->tree, &cfg);
    if (err == 0)
        err = la_tree_job(a->tree, a->job.id);
    if (err == 0 && a->count == 0)
        err = la_tree_out(a->tree, a->job.id, 0);
    return err;
}

static int agent_engine(struct agent *a)
{
    struct la_engine_ops ops;

    memset(&ops, 0, sizeof ops);
    ops.ctx = a;
    ops.reply = agent_reply;
    ops.hangup = agent_hangup;
    ops.enter = agent_enter;
    ops.left = agent_left;
    ops.put = agent_put;
    ops.get = agent_get;
    ops.said_init = ops.said_finalize = ops.stream_ended = agent_said;
    ops.differ = agent_differs;
    ops.complain = agent_complains;
    ops.note = agent_complains;
    return la_engine_new(&a->engine, &a->job, NULL, &ops);
}

/* Its slice, by the bytes that its parent would send. */
static int agent_job(struct agent *a)
{
    unsigned char *bytes = NULL;
    const struct la_agent *me;
    uint32_t i, k, n = 0;
    size_t size = 0;
    int err = 0;

    if (a->self > 0) {
        err = la_job_encode(&a->l->job, a->self, &bytes, &size);
        if (err == 0)
            err = la_job_decode(&a->job, bytes, size);
        free(bytes);
    } else {
        a->job = a->l->job;
    }
    if (err != 0)
        return err;
    me = &a->job.agents[0];
    for (i = 0; i < me->runs_count; i++)
        a->count += me->runs[i].count;
    if ((a->processes = calloc(a->count + 1, sizeof *a->processes)) == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < me->runs_count; i++)
        for (k = 0; k < me->runs[i].count; k++, n++) {
            a->processes[n].rank = me->runs[i].first + k;
            a->processes[n].asks = n;
        }
    return 0;
}

static int agent_node(struct agent *a)
{
    struct world_host *h = &a->l->s->w->hosts[a->self];
    struct phx_config cfg;
    uint64_t name = la_job_agent_name(&a->job, a->self);
    int err;

    phx_config_init(&cfg);
    cfg.user = a;
    cfg.insecure = 1;
    cfg.full_mesh = 0;
    cfg.hop_limit = 64;
    cfg.step_bytes = 80u << 10;
    cfg.on_message = on_message;
    cfg.on_writable = on_writable;
    cfg.log_level = PHX_LOG_ERROR;
    cfg.os = &h->os;
    cfg.alloc = &h->alloc;
    err = phx_new(&a->p, &cfg, a->l->s->w->now);
    return err != 0 ? err : phx_assume(a->p, name, name);
}

/* The process of an agent begins: the stream of its starter is its link. */
static void agent_begin(struct launch *l, uint32_t self)
{
    struct agent *a = &l->a[self];
    struct world_app app = { a, agent_step, agent_deadline, NULL };
    int here, there, err;

    a->l = l;
    a->self = self;
    world_begin(l->s->w, self);
    err = agent_job(a);
    if (err == 0)
        err = agent_engine(a);
    if (err == 0)
        err = agent_tree(a);
    if (err == 0)
        err = agent_node(a);
    a->began = l->s->w->now;
    a->parent = a->job.parent;
    if (err == 0 && self > 0) {
        err = world_join_pipe(l->s->w, a->parent, self, &there, &here);
        if (err == 0)
            err = phx_adopt(a->p, here, 0);
        if (err == 0)
            err = phx_adopt(l->a[a->parent].p, there, 1);
        world_spend(l->s->w, a->parent, LAUNCH_CHILD_US);
        world_touch(l->s->w, a->parent);
    }
    if (err != 0)
        world_fail(l->s->w, "agent %u: %s", (unsigned)self, phx_strerror(err));
    world_attach(l->s->w, self, &app);
}

static void agent_end(struct launch *l, uint32_t self)
{
    struct agent *a = &l->a[self];

    if (a->p == NULL)
        return;
    world_crash(l->s->w, self);
    phx_free(a->p);
    la_tree_free(a->tree);
    la_engine_free(a->engine);
    free(a->processes);
    if (self > 0)
        la_job_free(&a->job);
    a->p = NULL;
}

/* ---- A launch -------------------------------------------------------------------------------- */

/* When each agent begins: its parent starts its children eight at a time, promises 90 and 92. */
static void launch_times(struct launch *l, uint32_t self)
{
    uint32_t end = self + l->job.agents[self].subtree, at, i = 0;

    for (at = self + 1; at < end; at += l->job.agents[at].subtree, i++)
        l->starts[at] = l->starts[self] + LAUNCH_HOST_US * (1 + i / LAUNCH_AT_ONCE);
    for (at = self + 1; at < end; at += l->job.agents[at].subtree)
        launch_times(l, at);
}

static int launch_place(struct launch *l, uint32_t hosts, uint32_t per_host)
{
    struct la_place_config cfg;
    struct la_hosts list;
    char text[32], why[LA_TEXT];
    int err;

    memset(&cfg, 0, sizeof cfg);
    memset(&list, 0, sizeof list);
    cfg.ppn = per_host;
    cfg.max_depth = 2;
    cfg.max_conn = 1024;
    l->job.id = 4711;
    l->job.parent = LA_NONE;
    l->job.universe = -1;
    l->job.kvsname = la_text_dup("kvs_4711_0_host");
    l->job.dir = la_text_dup("/");
    l->job.agent = la_text_dup("/bin/phxrun");
    l->job.programs = calloc(1, sizeof *l->job.programs);
    l->job.env = calloc(1, sizeof *l->job.env);
    if (l->job.programs == NULL || l->job.env == NULL)
        return PHX_ENOMEM;
    l->job.programs_count = 1;
    l->job.programs[0].ranks = hosts * per_host;
    l->job.programs[0].argv = calloc(2, sizeof(char *));
    l->job.programs[0].argv[0] = la_text_dup("./prog");
    memset(l->job.key, 7, sizeof l->job.key);
    (void)snprintf(text, sizeof text, "n[0001-%04u]", (unsigned)hosts);
    err = la_hosts_list(&list, text, why);
    if (err == 0)
        err = la_place(&l->job, &list, &cfg, &l->said, why);
    if (err != 0)
        world_fail(l->s->w, "%s", why);
    la_hosts_free(&list);
    return err;
}

/* It says itself when it fails; then the world has failed, and the story ends. */
static struct launch *launch_new(struct sim *s, uint32_t hosts, uint32_t per_host, uint32_t value_size)
{
    struct launch *l = calloc(1, sizeof *l);

    if (l == NULL)
        exit(1);
    l->s = s;
    l->per_host = per_host;
    l->value_size = value_size;
    (void)launch_place(l, hosts, per_host);
    l->agents = l->job.agents_count;
    l->a = calloc(l->agents + 1, sizeof *l->a);
    l->starts = calloc(l->agents + 1, sizeof *l->starts);
    if (l->a == NULL || l->starts == NULL)
        exit(1);
    while (s->w->host_count < l->agents && !s->w->failed)
        (void)world_host_add(s->w, 0, 0);
    if (!s->w->failed)
        launch_times(l, 0);
    return l;
}

static void launch_free(struct launch *l)
{
    uint32_t i;

    for (i = l->agents; i-- > 0;)
        agent_end(l, i);
    la_job_free(&l->job);
    free(l->a);
    free(l->starts);
    free(l);
}

/* Starts all agents, each at its time, until so many processes have got so far. */
static void launch_until(struct launch *l, const uint32_t *counter, uint32_t count, uint64_t limit)
{
    struct world *w = l->s->w;
    uint64_t begin = w->now, next;
    uint32_t i;

    while (!w->failed && *counter < count && w->now - begin < limit) {
        next = UINT64_MAX;
        for (i = 0; i < l->agents; i++) {
            if (l->a[i].p != NULL)
                continue;
            if (begin + l->starts[i] <= w->now)
                agent_begin(l, i);
            else if (begin + l->starts[i] < next)
                next = begin + l->starts[i];
        }
        run_for(l->s, next < w->now + MS ? next - w->now : MS);
    }
    if (*counter < count)
        world_fail(w, "%u of %u processes got so far", (unsigned)*counter, (unsigned)count);
    if (l->wrong)
        world_fail(w, "%llu answers are wrong", (unsigned long long)l->wrong);
}

static struct la_tree_stats stats_of(const struct launch *l, uint32_t self)
{
    struct la_tree_stats st;

    la_tree_stats(l->a[self].tree, &st);
    return st;
}

static uint64_t messages_of(const struct launch *l)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < l->agents; i++)
        sum += stats_of(l, i).messages_out;
    return sum;
}

/* Bytes into an agent, as a share of what its children's hosts brought and of the result. */
static void launch_bars(struct launch *l)
{
    uint64_t result = 0, below, gets = 0, here = 0;
    double share, worst = 0, links = 0, memory = 0;
    struct la_engine_stats es;
    struct la_tree_stats st;
    struct phx_stats ps;
    uint32_t i, k;

    for (i = 0; i < l->agents; i++)
        result += l->a[i].own;
    for (i = 0; i < l->agents; i++) {
        for (below = 0, k = i + 1; k < i + l->job.agents[i].subtree; k++)
            below += l->a[k].own;
        st = stats_of(l, i);
        share = (double)st.bytes_in / (double)(below + (i > 0 ? result : 0));
        worst = share > worst ? share : worst;
        memory = (double)st.memory_most > memory ? (double)st.memory_most : memory;
        phx_stats(l->a[i].p, &ps);
        links = ps.links > links ? ps.links : links;
        la_engine_stats(l->a[i].engine, &es);
        gets += es.gets;
        here += es.gets_here;
    }
    bar(l->s, "launch links of an agent", links, l->said.degree + 1);
    bar(l->s, "launch depth", l->said.depth, 2);
    bar(l->s, "launch bytes into an agent / (children's + result)", worst, 1.1);
    bar(l->s, "launch gets not answered by the own agent", (double)(gets - here), 0);
    bar(l->s, "launch memory of an agent beyond store and core, KiB", memory / 1024, 1024);
    figure(l->s, "launch gets", (double)gets);
}

/* Goal: what MPICH says when it starts costs what the paper promises. Method: hosts of 16 processes, its
 * pattern of barriers, puts and gets with values of 430 bytes; the first barrier is empty, and its
 * messages are counted. */
void tell_launch_exchange(struct sim *s)
{
    struct launch *l = launch_new(s, s->o.nodes - 1, 16, 430);
    uint32_t all = l->job.size;
    uint64_t gate;

    launch_until(l, &l->at_gate, all, 60 * SECOND);
    gate = now_us(s);
    figure(s, "launch all have started after s", (double)gate / 1e6);
    bar(s, "launch messages of an empty barrier beyond 2(n - 1)",
        (double)messages_of(l) - 2.0 * (l->agents - 1), 0);
    l->open = 1;
    while (!s->w->failed && l->over < all && now_us(s) < gate + 60 * SECOND) {
        uint32_t i;
        for (i = 0; i < l->agents; i++)
            world_touch(s->w, i);
        run_for(s, MS);
    }
    if (l->over < all)
        world_fail(s->w, "%u of %u are through", (unsigned)l->over, (unsigned)all);
    figure(s, "launch exchange s", (double)(now_us(s) - gate) / 1e6);
    if (!s->w->failed)
        launch_bars(l);
    launch_free(l);
}

/* How long until all processes of 64 hosts have said init. */
static double start_time(struct sim *s, uint32_t per_host)
{
    struct launch *l = launch_new(s, 64, per_host, 64);
    uint64_t begin = s->w->now;
    double took;

    launch_until(l, &l->inited, l->job.size, 60 * SECOND);
    took = (double)(s->w->now - begin) / 1e6;
    launch_free(l);
    return took;
}

/* Goal: the start of a host's processes costs one start of a host, however many there are. Method: 64
 * hosts with 1, 8 and 64 processes; and a launcher with a connection for each process, eight at a time, as
 * arithmetic. */
void tell_launch_start(struct sim *s)
{
    double one = start_time(s, 1), eight = start_time(s, 8), many = start_time(s, 64);

    bar(s, "launch start of 64 hosts, 8 processes each / 1 each", eight / one, 1.1);
    bar(s, "launch start of 64 hosts, 64 processes each / 1 each", many / one, 1.4);
    bar(s, "launch start of 64 hosts x 8 / a connection for each process",
        eight / ((double)LAUNCH_HOST_US / 1e6 * 64 * 8 / LAUNCH_AT_ONCE), 0.1);
}

/* From the launcher's start to the end of the exchange; what agents need at most, in KiB. */
static double exchange_time(struct sim *s, uint32_t hosts, double *memory)
{
    struct launch *l = launch_new(s, hosts, 16, 64);
    uint64_t begin = s->w->now, most = 0;
    uint32_t i;
    double took;

    l->open = 1;
    launch_until(l, &l->over, l->job.size, 60 * SECOND);
    took = (double)(s->w->now - begin) / 1e6;
    for (i = 0; i < l->agents && !s->w->failed; i++)
        if (stats_of(l, i).memory_most > most)
            most = stats_of(l, i).memory_most;
    *memory = (double)most / 1024;
    launch_free(l);
    return took;
}

/* Goal: three times the processes take at most twice the time. Method: values of 64 bytes, 16 processes a
 * host, 640 hosts and all there are: 2,048 make 32,768 processes, and take some 10 GB. */
void tell_launch_large(struct sim *s)
{
    uint32_t hosts = s->o.nodes - 1;
    double memory, small = exchange_time(s, hosts * 640 / 2048, &memory), large;

    large = exchange_time(s, hosts, &memory);
    if (hosts == 2048)
        bar(s, "launch exchange of 2,048 hosts / of 640", large / small, 2);
    else
        figure(s, "launch exchange of all hosts / of a third", large / small);
    bar(s, "launch memory of an agent of all beyond store and core, KiB", memory, 1024);
    figure(s, "launch exchange of all hosts s", large);
}

/* As in the paper's bars: 50 us and 1 Gbit/s, which a host's streams share. */
void launch_world(struct world_options *o)
{
    o->latency_us = 50;
    o->spread_us = o->jitter_us = 0;
    o->host_bytes_per_ms = 125000;
    o->buffer_bytes = 256u << 10;
    o->backlog = 1024;
}
