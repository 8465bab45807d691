/* engine_rig.h - several hosts of a job in one process: an engine for each, and a tree of a few lines. */

/* The tree waits until every host that has not left has entered, then gives all records to all hosts in an
 * order that differs from host to host, and says done. With `later` it does so in rig_turn only, else inside
 * the last enter. Replies are kept as bytes per client; everything else that an engine says is kept as text
 * in `said`, one line each. */
#ifndef ENGINE_RIG_H
#define ENGINE_RIG_H

#include "test.h"
#include "phoenix.h"
#include "extras/launch/engine.h"

#define RIG_HOSTS 8
#define RIG_CLIENTS 128

struct rig;

struct rig_client {
    int open, hung_up;
    char *out;
    size_t size;
};

struct rig_record {
    struct la_record r;
    unsigned char *copy;
};

struct rig_host {
    struct rig *rig;
    uint32_t index;
    struct la_engine *engine;
    struct la_job job;
    struct la_agent agent;
    struct la_run runs[4];
    struct rig_client clients[RIG_CLIENTS];
    int entered, left;
    uint32_t enters;
};

struct rig {
    struct rig_host hosts[RIG_HOSTS];
    uint32_t hosts_count;
    struct la_program program;
    struct rig_record *records;
    size_t records_count, records_capacity, records_bytes;
    struct la_coll coll;
    int open, later;
    int lazy, close_on_reply;
    uint64_t push_limit;
    uint64_t operations;
    char said[8192];
    uint64_t asked[16]; /* tokens of get, name, spawn, send */
    uint32_t asked_count;
    int board; /* put and get of the engines end in the engine of host 0, as at the root of a tree */
    uint32_t gets, puts;
};

static inline void rig_say(struct rig *g, const char *format, ...)
{
    size_t used = strlen(g->said);
    va_list args;

    va_start(args, format);
    vsnprintf(g->said + used, sizeof g->said - used, format, args);
    va_end(args);
}

/* Was this line said? Clears what was said so far. */
static inline int rig_heard(struct rig *g, const char *line)
{
    int heard = strstr(g->said, line) != NULL;

    g->said[0] = '\0';
    return heard;
}

static inline void rig_keep(struct rig *g, const struct la_record *r)
{
    struct rig_record *to;

    if (g->records_count == g->records_capacity) {
        g->records_capacity = g->records_capacity * 2 + 16;
        g->records = realloc(g->records, g->records_capacity * sizeof *g->records);
    }
    to = &g->records[g->records_count++];
    to->r = *r;
    to->copy = malloc(r->size + 1u);
    if (r->size > 0)
        memcpy(to->copy, r->data, r->size);
    to->r.data = to->copy;
    g->records_bytes += r->size;
}

static inline int rig_all_in(const struct rig *g)
{
    uint32_t i;

    for (i = 0; i < g->hosts_count; i++)
        if (!g->hosts[i].entered && !g->hosts[i].left)
            return 0;
    return g->open;
}

static inline void rig_turn(struct rig *g)
{
    struct rig_record *records = g->records;
    size_t count = g->records_count, k, at;
    struct la_coll coll = g->coll;
    uint32_t i, entered[RIG_HOSTS];

    if (!rig_all_in(g))
        return;
    g->open = 0;
    g->operations++;
    g->records = NULL;
    g->records_count = g->records_capacity = 0;
    for (i = 0; i < g->hosts_count; i++) {
        entered[i] = (uint32_t)g->hosts[i].entered;
        g->hosts[i].entered = 0;
    }
    for (i = 0; i < g->hosts_count; i++) {
        for (k = 0; k < count; k++) {
            at = i % 2 == 0 ? (k + i) % count : count - 1 - (k + i) % count;
            la_engine_record(g->hosts[i].engine, &coll, &records[at].r);
        }
        if (entered[i])
            la_engine_done(g->hosts[i].engine, &coll);
    }
    for (k = 0; k < count; k++)
        free(records[k].copy);
    free(records);
}

static inline void rig_enter(void *ctx, const struct la_coll *c, const struct la_record *records,
                             size_t count)
{
    struct rig_host *h = ctx;
    size_t i;

    if (h->entered || (h->rig->open && h->rig->coll.number != c->number))
        rig_say(h->rig, "entered twice\n");
    if (h->rig->open && (h->rig->coll.kind != c->kind || h->rig->coll.root != c->root
                         || h->rig->coll.size != c->size))
        rig_say(h->rig, "hosts differ\n");
    h->rig->open = 1;
    h->rig->coll = *c;
    h->entered = 1;
    h->enters++;
    for (i = 0; i < count; i++)
        rig_keep(h->rig, &records[i]);
    if (!h->rig->later)
        rig_turn(h->rig);
}

static inline void rig_left(void *ctx, uint32_t number)
{
    struct rig_host *h = ctx;

    h->left = 1;
    rig_say(h->rig, "left %u %u\n", h->index, number);
    if (!h->rig->later)
        rig_turn(h->rig);
}

static inline void rig_reply(void *ctx, uint32_t client, const void *data, size_t size)
{
    struct rig_host *h = ctx;
    struct rig_client *c = &h->clients[client];

    c->out = realloc(c->out, c->size + size + 1);
    memcpy(c->out + c->size, data, size);
    c->size += size;
    c->out[c->size] = '\0';
    if (h->rig->close_on_reply)
        la_engine_closed(h->engine, client);
}

static inline void rig_hangup(void *ctx, uint32_t client)
{
    struct rig_host *h = ctx;

    h->clients[client].hung_up = 1;
}

static inline void rig_put(void *ctx, const char *key, const char *value)
{
    struct rig_host *h = ctx;

    h->rig->puts++;
    rig_say(h->rig, "put %s %.40s\n", key, value);
    if (h->rig->board)
        la_engine_learn(h->rig->hosts[0].engine, key, value);
}

static inline void rig_ask(struct rig *g, uint64_t token)
{
    if (g->asked_count < 16)
        g->asked[g->asked_count++] = token;
}

static inline void rig_get(void *ctx, const char *key, uint64_t token)
{
    struct rig_host *h = ctx;
    const char *value = NULL;

    h->rig->gets++;
    rig_say(h->rig, "get %s\n", key);
    rig_ask(h->rig, token);
    if (!h->rig->board)
        return;
    la_engine_lookup(h->rig->hosts[0].engine, key, &value);
    la_engine_got(h->engine, key, value, token);
}

static inline struct rig_host *rig_host_of(struct rig *g, uint32_t rank)
{
    uint32_t i, k;

    for (i = 0; i < g->hosts_count; i++)
        for (k = 0; k < g->hosts[i].agent.runs_count; k++)
            if (rank - g->hosts[i].runs[k].first < g->hosts[i].runs[k].count)
                return &g->hosts[i];
    return NULL;
}

static inline void rig_send(void *ctx, uint32_t from, uint32_t to, uint64_t tag, const void *data,
                            size_t size,
                            uint64_t token)
{
    struct rig_host *h = ctx, *there = rig_host_of(h->rig, to);

    rig_say(h->rig, "send %u %u %u %u\n", from, to, (unsigned)tag, (unsigned)size);
    la_engine_sent(h->engine, token, la_engine_message(there->engine, from, to, tag, data, size));
}

static inline void rig_init(void *ctx, uint32_t rank)
{
    rig_say(((struct rig_host *)ctx)->rig, "init %u\n", rank);
}

static inline void rig_finalize(void *ctx, uint32_t rank)
{
    rig_say(((struct rig_host *)ctx)->rig, "finalize %u\n", rank);
}

static inline void rig_ended(void *ctx, uint32_t rank)
{
    rig_say(((struct rig_host *)ctx)->rig, "ended %u\n", rank);
}

static inline void rig_abort(void *ctx, uint32_t rank, int code, const char *text)
{
    rig_say(((struct rig_host *)ctx)->rig, "abort %u %d %s\n", rank, code, text);
}

static inline void rig_spawn(void *ctx, uint32_t rank, const struct la_spawn *s, uint64_t token)
{
    struct rig *g = ((struct rig_host *)ctx)->rig;
    uint32_t i;
    char **at;

    rig_say(g, "spawn %u %u", rank, s->blocks_count);
    for (at = s->preput; at != NULL && *at != NULL; at++)
        rig_say(g, " {%s}", *at);
    for (i = 0; i < s->blocks_count; i++) {
        rig_say(g, " | %u", s->blocks[i].ranks);
        for (at = s->blocks[i].argv; *at != NULL; at++)
            rig_say(g, " <%s>", *at);
        for (at = s->blocks[i].info; *at != NULL; at++)
            rig_say(g, " [%s]", *at);
    }
    rig_say(g, "\n");
    rig_ask(g, token);
}

static inline void rig_name(void *ctx, enum la_naming what, const char *service, const char *port,
                            uint64_t token)
{
    struct rig *g = ((struct rig_host *)ctx)->rig;

    rig_say(g, "name %d %s %s\n", (int)what, service, port == NULL ? "-" : port);
    rig_ask(g, token);
}

static inline void rig_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    rig_say(((struct rig_host *)ctx)->rig, "differ %u:%u,%u,%u %u:%u,%u,%u\n", a->rank, a->kind, a->root,
            (unsigned)a->size, b->rank, b->kind, b->root, (unsigned)b->size);
}

static inline void rig_complain(void *ctx, uint32_t rank, const char *text)
{
    rig_say(((struct rig_host *)ctx)->rig, "complain %d %s\n", (int)rank, text);
}

static inline void rig_note(void *ctx, uint32_t rank, const char *text)
{
    rig_say(((struct rig_host *)ctx)->rig, "note %d %s\n", (int)rank, text);
}

static inline int rig_host_quiet(struct rig *g, uint32_t index, uint32_t per_host, uint32_t size)
{
    struct rig_host *h = &g->hosts[index];
    struct la_engine_ops ops = { h,            rig_reply,    rig_hangup,   rig_enter,    rig_left,  rig_put,
                                 rig_get,      rig_send,     rig_init,     rig_finalize, rig_ended, rig_abort,
                                 rig_spawn,    rig_name,     rig_differ,   rig_complain, rig_note };

    h->rig = g;
    h->index = index;
    h->runs[0].first = index * per_host;
    h->runs[0].count = size - h->runs[0].first < per_host ? size - h->runs[0].first : per_host;
    h->agent.runs = h->runs;
    h->agent.runs_count = 1;
    h->job.agents = &h->agent;
    h->job.agents_count = 1;
    h->job.kvsname = (char *)(size_t)"kvs_1";
    h->job.mapping = (char *)(size_t)"(vector,(0,2,2))";
    h->job.size = size;
    h->job.nodes = g->hosts_count;
    h->job.universe = 12;
    h->job.programs = &g->program;
    h->job.programs_count = 1;
    h->job.lazy = g->lazy;
    h->job.push_limit = g->push_limit;
    return la_engine_new(&h->engine, &h->job, NULL, &ops);
}

/* A job of `size` ranks, per_host on each host. */
static inline struct rig *rig_new(uint32_t size, uint32_t per_host, int lazy, uint64_t push_limit)
{
    struct rig *g = calloc(1, sizeof *g);
    uint32_t i;

    g->hosts_count = (size + per_host - 1) / per_host;
    g->program.ranks = size;
    g->lazy = lazy;
    g->board = lazy || push_limit > 0;
    g->push_limit = push_limit;
    for (i = 0; i < g->hosts_count; i++)
        ok(rig_host_quiet(g, i, per_host, size) == 0, "an engine for host %u", i);
    return g;
}

static inline void rig_free(struct rig *g)
{
    uint32_t i, k;
    size_t n;

    for (i = 0; i < g->hosts_count; i++) {
        la_engine_free(g->hosts[i].engine);
        for (k = 0; k < RIG_CLIENTS; k++)
            free(g->hosts[i].clients[k].out);
    }
    for (n = 0; n < g->records_count; n++)
        free(g->records[n].copy);
    free(g->records);
    free(g);
}

/* ---- Clients by rank --------------------------------------------------------------------------- */

struct rig_end { /* a client's end of its stream */
    struct rig_host *host;
    uint32_t client;
};

static inline struct rig_end rig_connect(struct rig *g, uint32_t host, enum la_protocol protocol,
                                         uint32_t rank)
{
    struct rig_end end = { &g->hosts[host], 0 };
    int64_t number = la_engine_client(end.host->engine, protocol, rank);

    end.client = number < 0 ? RIG_CLIENTS - 1 : (uint32_t)number;
    free(end.host->clients[end.client].out);
    memset(&end.host->clients[end.client], 0, sizeof end.host->clients[end.client]);
    return end;
}

static inline int rig_input(struct rig_end end, const void *data, size_t size)
{
    return la_engine_input(end.host->engine, end.client, data, size);
}

static inline int rig_write(struct rig_end end, const char *text)
{
    return rig_input(end, text, strlen(text));
}

/* What has been answered since, as bytes: they are gone afterwards. */
static inline int rig_read(struct rig_end end, const char *expected)
{
    struct rig_client *c = &end.host->clients[end.client];
    int good = c->out == NULL ? *expected == '\0' : strcmp(c->out, expected) == 0;

    if (!good)
        printf("# got: %s\n# not: %s\n", c->out == NULL ? "" : c->out, expected);
    free(c->out);
    c->out = NULL;
    c->size = 0;
    return good;
}

static inline int rig_ask_line(struct rig_end end, const char *request, const char *answer)
{
    return rig_write(end, request) == 0 && rig_read(end, answer);
}

static inline void rig_close(struct rig_end end)
{
    la_engine_closed(end.host->engine, end.client);
}

/* Four ranks on two hosts say this, with some bytes changed, some left out and in pieces, and end in various
 * ways: how many of their inputs had an odd result. Whatever they say, nothing may crash. */
static inline int rig_spoil(enum la_protocol protocol, const unsigned char *talk, size_t size, uint32_t seed)
{
    struct rig *g = calloc(1, sizeof *g);
    struct rig_end end[4];
    unsigned char byte[2];
    uint32_t i, r = seed;
    size_t at;
    int err, odd = 0;

    g->hosts_count = 2;
    g->program.ranks = 4;
    for (i = 0; i < 2; i++)
        odd += rig_host_quiet(g, i, 2, 4) != 0;
    for (i = 0; i < 4; i++)
        end[i] = rig_connect(g, i / 2, protocol, protocol == LA_PROTO_PMGR ? LA_NONE : i);
    for (i = 0; i < 4; i++)
        for (at = 0; at < size; at++) {
            r = r * 1664525u + 1013904223u;
            byte[0] = protocol == LA_PROTO_PMGR && at == 4 ? (unsigned char)i : talk[at];
            if (r >> 24 == 0)
                byte[0] = (unsigned char)(r >> 8);
            if (r >> 24 == 1)
                continue;
            err = rig_input(end[i], byte, 1);
            odd += err != 0 && err != PHX_EPROTO && err != PHX_ENOMEM;
            if (r >> 20 == 32)
                la_engine_gone(g->hosts[i / 2].engine, i);
            if (r >> 20 == 33)
                break;
        }
    for (i = 0; i < 4; i++)
        rig_close(end[i]);
    rig_free(g);
    return odd;
}

#endif
