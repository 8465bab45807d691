/* tree_net.h - many struct la_tree in one process, their messages in queues, their hosts played, a model. */

/* Each agent has some ranks. net_step does one thing drawn at random: deliver the first message of some
 * queue, or let some host enter its next operation. What hosts must get is computed, not remembered: the
 * bytes of a record follow from operation, `to` and `from`. */
#ifndef TREE_NET_H
#define TREE_NET_H

#include "../../extras/launch/job.h"
#include "../../extras/launch/tree.h"
#include "../../phoenix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET_MOST 1100u
#define NET_JOB 77u

struct net_message {
    struct net_message *next;
    uint32_t type; /* LOST: the link is gone from here on */
    size_t size;
    unsigned char data[];
};
#define NET_LOST UINT32_MAX
#define NET_LARGE 8u /* an event of the largest size */

struct net_queue { /* one direction of one link */
    uint32_t from, to;
    struct net_message *head, *tail;
    uint32_t count;
    int full; /* the sender was told EAGAIN */
};

struct net_agent {
    struct net *net;
    struct la_tree *tree;
    uint32_t self, parent, end, children[64], children_count;
    uint32_t above; /* its parent now */
    uint32_t ranks, first_rank; /* its ranks: first_rank .. */
    int alive, in;              /* in: it has entered `number` */
    uint32_t number;
    uint32_t got;               /* records of this operation */
    uint64_t sum;               /* of their hashes */
    unsigned char *seen;        /* by `to` and `from` */
    uint32_t out;               /* it enters none from here on */
    uint64_t answers, finds;
    uint32_t ups[8], downs, differs, cut;
    uint64_t down_sum;
};

struct net {
    struct net_agent a[NET_MOST];
    uint32_t agents, ranks, degree, operations;
    uint32_t rank_agent[NET_MOST * 4];
    uint64_t hashes[64]; /* of each operation's result, where it is the same for all */
    struct net_queue *q;
    uint32_t q_count, q_capacity, most; /* most: messages in a queue, 0: any number */
    uint64_t random, now, messages, wrong, lost, gone;
    int go_on, kinds; /* kinds: 0 all, else only this one */
    uint32_t size;    /* of records; 0: drawn */
    /* Set: messages go there, and not into the queues. */
    int (*carry)(void *ctx, uint32_t from, uint32_t to, uint32_t type, const void *data, size_t size);
    void *carry_ctx;
    char keys[64][2][32];
    uint32_t keys_count;
};

static inline uint64_t net_mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static inline uint32_t net_draw(struct net *n, uint32_t below)
{
    n->random = net_mix(n->random + 1);
    return (uint32_t)(n->random >> 33) % below;
}

/* What is said up and down is a number, its bytes the same on every machine. */
static inline void net_write(unsigned char out[4], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> 8 * i);
}

static inline uint32_t net_read(const void *data)
{
    const unsigned char *in = data;

    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static inline int net_say_up(struct net_agent *a, uint32_t value)
{
    unsigned char said[4];

    net_write(said, value);
    return la_tree_up(a->tree, 5, said, sizeof said);
}

static inline int net_say_down(struct net_agent *a, uint32_t to, uint32_t value)
{
    unsigned char said[4];

    net_write(said, value);
    return la_tree_down(a->tree, to, 6, said, sizeof said);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* The operation with this number, the same for all hosts. */
static inline struct la_coll net_coll(const struct net *n, uint32_t number, uint32_t rank)
{
    static const uint32_t sizes[] = { 1, 8, 100, 3000, 20000, 0 };
    uint64_t r = net_mix(number * 977u + n->operations);
    struct la_coll c;

    memset(&c, 0, sizeof c);
    c.job = NET_JOB;
    c.number = number;
    c.kind = n->kinds != 0 ? (uint32_t)n->kinds : 1 + (uint32_t)(r % 7);
    if (c.kind == LA_BROADCAST || c.kind == LA_GATHER || c.kind == LA_SCATTER)
        c.root = (uint32_t)((r >> 8) % n->ranks);
    if (c.kind != LA_BARRIER && c.kind != LA_FENCE)
        c.size = n->size != 0 ? n->size : sizes[(r >> 20) % (c.kind == LA_ALLTOALL ? 3 : 5)];
    if (c.kind == LA_BROADCAST && n->size == 0 && (r >> 30) % 4 == 0)
        c.size = 700000;
    c.rank = rank;
    return c;
}

static inline void net_fill(unsigned char *out, uint32_t size, uint32_t number, uint32_t to, uint32_t from)
{
    uint64_t x = net_mix(number * 31u + to * 7919u + from * 104729u);
    uint32_t i;

    for (i = 0; i < size; i++)
        out[i] = (unsigned char)(x >> (i % 7 * 8)) ^ (unsigned char)(i >> 8);
}

/* A fence's record is one of its host: from stands for the agent. */
static inline uint32_t net_fence_size(const struct net *n, uint32_t number, uint32_t agent)
{
    return n->size != 0 ? n->size : (uint32_t)(net_mix(number * 13u + agent) % 600);
}

struct net_out {
    struct la_record *r;
    uint32_t count;
};

static inline void net_add(struct net_out *o, uint32_t number, uint32_t to, uint32_t from, uint32_t size,
                           uint32_t as)
{
    unsigned char *data = malloc(size + 4);

    if (data == NULL || (o->r = realloc(o->r, (o->count + 1) * sizeof *o->r)) == NULL)
        exit(1);
    o->r[o->count].to = to;
    o->r[o->count].from = from;
    o->r[o->count].size = size;
    o->r[o->count++].data = data;
    if (from == LA_KEY) { /* who, and how much of the rest */
        data[0] = (unsigned char)as;
        data[1] = (unsigned char)(as >> 8);
        net_fill(data + 2, size - 2, number, to, as);
    } else {
        net_fill(data, size, number, to, from);
    }
}

/* What this host brings. */
static inline struct net_out net_records(const struct net *n, const struct net_agent *a,
                                         const struct la_coll *c)
{
    struct net_out o = { NULL, 0 };
    uint32_t i, k, mine = a->first_rank, end = mine + a->ranks, size = (uint32_t)c->size;

    switch (c->kind) {
    case LA_BROADCAST:
        if (c->root >= mine && c->root < end)
            net_add(&o, c->number, LA_ALL, c->root, size, 0);
        break;
    case LA_SCATTER:
        for (i = 0; i < n->ranks && c->root >= mine && c->root < end; i++)
            net_add(&o, c->number, i, c->root, size, 0);
        break;
    case LA_GATHER:
        for (i = mine; i < end; i++)
            net_add(&o, c->number, c->root, i, size, 0);
        break;
    case LA_ALLGATHER:
        for (i = mine; i < end; i++)
            net_add(&o, c->number, LA_ALL, i, size, 0);
        break;
    case LA_ALLTOALL:
        for (i = mine; i < end; i++)
            for (k = 0; k < n->ranks; k++)
                net_add(&o, c->number, k, i, size, 0);
        break;
    case LA_FENCE:
        net_add(&o, c->number, LA_ALL, LA_KEY, 2 + net_fence_size(n, c->number, a->self), a->self);
        break;
    default: break;
    }
    return o;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static inline struct net_queue *net_queue_of(struct net *n, uint32_t from, uint32_t to)
{
    uint32_t i;

    for (i = 0; i < n->q_count; i++)
        if (n->q[i].from == from && n->q[i].to == to)
            return &n->q[i];
    if (n->q_count == n->q_capacity) {
        n->q_capacity = n->q_capacity == 0 ? 64 : 2 * n->q_capacity;
        if ((n->q = realloc(n->q, n->q_capacity * sizeof *n->q)) == NULL)
            exit(1);
    }
    memset(&n->q[n->q_count], 0, sizeof *n->q);
    n->q[n->q_count].from = from;
    n->q[n->q_count].to = to;
    return &n->q[n->q_count++];
}

static inline void net_push(struct net_queue *q, uint32_t type, const void *data, size_t size)
{
    struct net_message *m = malloc(sizeof *m + size);

    if (m == NULL)
        exit(1);
    m->next = NULL;
    m->type = type;
    m->size = size;
    if (size > 0)
        memcpy(m->data, data, size);
    if (q->head == NULL)
        q->head = m;
    else
        q->tail->next = m;
    q->tail = m;
    q->count++;
}

static inline int net_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct net_agent *a = ctx;
    struct net_queue *q;

    a->net->wrong += size > LA_TREE_MESSAGE;
    if (a->net->carry != NULL)
        return a->net->carry(a->net->carry_ctx, a->self, agent, type, data, size);
    q = net_queue_of(a->net, a->self, agent);
    if (a->net->most != 0 && q->count >= a->net->most) {
        q->full = 1;
        return PHX_EAGAIN;
    }
    if (a->net->a[agent].alive)
        net_push(q, type, data, size);
    return 0;
}

static inline uint32_t net_agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    struct net_agent *a = ctx;
    uint32_t agent;

    if (job != NET_JOB || rank >= a->net->ranks)
        return LA_NONE;
    agent = a->net->rank_agent[rank];
    return agent >= a->self && agent < a->end ? agent : LA_NONE;
}

static inline void net_record(void *ctx, const struct la_coll *c, const struct la_record *r)
{
    struct net_agent *a = ctx;
    struct net *n = a->net;
    uint32_t from = r->from, to = r->to, size = (uint32_t)c->size, i;
    const unsigned char *data = r->data;
    static unsigned char want[1 << 20];
    uint64_t hash = 1;

    if (from == LA_KEY) {
        from = (uint32_t)data[0] | (uint32_t)data[1] << 8;
        size = net_fence_size(n, c->number, from);
        data += 2;
    }
    n->wrong += c->number != a->number || r->size != size + (r->from == LA_KEY ? 2u : 0)
                || (to != LA_ALL && (to < a->first_rank || to >= a->first_rank + a->ranks));
    net_fill(want, size, c->number, to, from);
    n->wrong += memcmp(want, data, size) != 0;
    i = (to == LA_ALL ? 0 : to - a->first_rank + 1) * (n->ranks + n->agents) + from;
    n->wrong += a->seen[i]; /* doubled */
    a->seen[i] = 1;
    a->got++;
    for (i = 0; i < 2; i++)
        hash = net_mix(hash ^ (i == 0 ? to : from));
    a->sum += hash;
}

static inline uint32_t net_expected(const struct net *n, const struct net_agent *a, const struct la_coll *c)
{
    uint32_t own = c->root >= a->first_rank && c->root < a->first_rank + a->ranks;

    switch (c->kind) {
    case LA_BROADCAST: return 1;
    case LA_GATHER: return own ? n->ranks : 0;
    case LA_ALLGATHER: return n->ranks;
    case LA_SCATTER: return a->ranks;
    case LA_ALLTOALL: return a->ranks * n->ranks;
    case LA_FENCE: return n->agents;
    default: return 0;
    }
}

/* What living hosts brought must be there, all of it and once. */
static inline void net_check(struct net *n, struct net_agent *a, const struct la_coll *c)
{
    uint32_t row, from, agent, rows = c->kind == LA_SCATTER || c->kind == LA_ALLTOALL || c->kind == LA_GATHER;
    uint32_t own = c->root >= a->first_rank && c->root < a->first_rank + a->ranks;
    uint32_t limit = c->kind == LA_FENCE ? n->agents : n->ranks;

    if (c->kind == LA_BARRIER || (c->kind == LA_GATHER && !own))
        return;
    for (row = rows; row < (rows ? a->ranks + 1 : 1); row++)
        for (from = 0; from < limit; from++) {
            if ((c->kind == LA_BROADCAST || c->kind == LA_SCATTER) && from != c->root)
                continue;
            if (c->kind == LA_GATHER && row != c->root - a->first_rank + 1)
                continue;
            agent = c->kind == LA_FENCE ? from : n->rank_agent[from];
            if (n->a[agent].alive && c->number < n->a[agent].out)
                n->lost += !a->seen[row * (n->ranks + n->agents) + from];
        }
}

static inline void net_done(void *ctx, const struct la_coll *c)
{
    struct net_agent *a = ctx;
    struct net *n = a->net;
    uint64_t hash = net_mix(a->sum + a->got);

    if (c->job != NET_JOB) { /* a job beside it, of barriers only */
        n->wrong += c->number != a->ups[3]++;
        return;
    }
    n->wrong += c->number != a->number || (!a->in && c->number < a->out);
    if (!n->go_on && a->out == UINT32_MAX)
        n->wrong += a->got != net_expected(n, a, c) && n->a[0].out == UINT32_MAX;
    net_check(n, a, c);
    if ((c->kind == LA_FENCE || c->kind == LA_ALLGATHER || c->kind == LA_BROADCAST) && c->number < 64) {
        if (n->hashes[c->number] == 0)
            n->hashes[c->number] = hash;
        n->wrong += n->hashes[c->number] != hash; /* the same everywhere */
    }
    a->in = 0;
    a->number++;
    a->got = 0;
    a->sum = 0;
    memset(a->seen, 0, (a->ranks + 1) * (n->ranks + n->agents));
}

static inline void net_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    struct net_agent *me = ctx;

    me->differs++;
    me->net->wrong += a->kind == b->kind && a->root == b->root && a->size == b->size;
}

static inline void net_up(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    struct net_agent *a = ctx;
    uint32_t value;

    if (type == NET_LARGE) {
        a->net->a[from].ups[4] += size == LA_TREE_EVENT;
        return;
    }
    if (size != sizeof value) {
        a->net->wrong++;
        return;
    }
    value = net_read(data);
    a->net->wrong += a->self != 0 || type != 5 || value != a->net->a[from].ups[1]; /* in order, once */
    a->net->a[from].ups[1]++;
}

static inline void net_down(void *ctx, uint32_t type, const void *data, size_t size)
{
    struct net_agent *a = ctx;
    uint32_t value = 0;

    if (type == NET_LARGE) {
        a->ups[5] += size == LA_TREE_EVENT;
        return;
    }
    if (size == sizeof value)
        value = net_read(data);
    a->net->wrong += type != 6 || size != sizeof value || value <= a->ups[2]; /* ascending */
    a->ups[2] = value;
    a->downs++;
    a->down_sum += value;
}

static inline int net_lookup(void *ctx, uint32_t job, const char *key, const char **value)
{
    struct net_agent *a = ctx;
    uint32_t k = (uint32_t)strtoul(key + 1, NULL, 10);

    (void)job;
    if (a->self >= NET_MOST || k >= 64 || (a->finds >> k & 1) == 0)
        return 0;
    *value = a->net->keys[k][1];
    return 1;
}

static inline void net_learn(void *ctx, uint32_t job, const char *key, const char *value)
{
    struct net_agent *a = ctx;
    uint32_t k = (uint32_t)strtoul(key + 1, NULL, 10);

    (void)job;
    a->net->wrong += k >= 64 || strcmp(a->net->keys[k & 63][1], value) != 0;
    a->finds |= UINT64_C(1) << (k & 63);
}

static inline void net_got(void *ctx, uint32_t job, const char *key, const char *value, uint64_t token)
{
    struct net_agent *a = ctx;
    uint32_t k = (uint32_t)strtoul(key + 1, NULL, 10);

    (void)job;
    a->net->wrong += token != k + 1000;
    if (value != NULL)
        a->net->wrong += strcmp(a->net->keys[k & 63][1], value) != 0;
    a->answers += value != NULL ? 1 : UINT64_C(1) << 32;
}

static inline void net_cut_off(void *ctx)
{
    ((struct net_agent *)ctx)->cut = 1;
}

static inline void net_gone(void *ctx, uint32_t first, uint32_t end)
{
    struct net *n = ((struct net_agent *)ctx)->net;

    for (; first < end; first++)
        n->gone += 1 + (n->a[first].alive ? 1000000u : 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Splits the slice behind agent `self` among at most `degree` children; all in preorder. */
static inline void net_place(struct net *n, uint32_t self, uint32_t parent, uint32_t end)
{
    struct net_agent *a = &n->a[self];
    uint32_t at = self + 1, left = end - at, i, kids = left < n->degree ? left : n->degree;

    a->self = self;
    a->parent = a->above = parent;
    a->end = end;
    for (i = 0; i < kids; i++) {
        uint32_t share = (left + (kids - i) - 1) / (kids - i);
        a->children[a->children_count++] = at;
        net_place(n, at, self, at + share);
        at += share;
        left -= share;
    }
}

static inline void net_begin(struct net_agent *a)
{
    struct la_tree_config cfg;

    memset(&cfg, 0, sizeof cfg);
    cfg.self = a->self;
    cfg.parent = a->parent;
    cfg.end = a->end;
    cfg.children = a->children;
    cfg.children_count = a->children_count;
    cfg.go_on = a->net->go_on;
    cfg.cut_wait_us = 10000000;
    cfg.notice_us = 15000000;
    cfg.ops.ctx = a;
    cfg.ops.send = net_send;
    cfg.ops.agent_of = net_agent_of;
    cfg.ops.record = net_record;
    cfg.ops.done = net_done;
    cfg.ops.differ = net_differ;
    cfg.ops.up = net_up;
    cfg.ops.down = net_down;
    cfg.ops.lookup = net_lookup;
    cfg.ops.learn = net_learn;
    cfg.ops.got = net_got;
    cfg.ops.cut_off = net_cut_off;
    cfg.ops.gone = net_gone;
    if (la_tree_new(&a->tree, &cfg) != 0 || la_tree_job(a->tree, NET_JOB) != 0)
        exit(1);
    la_tree_step(a->tree, a->net->now);
}

/* ranks: on each agent; 4: drawn, 1 to 3. */
static inline struct net *net_new(uint32_t agents, uint32_t degree, uint32_t ranks, int go_on, uint64_t seed)
{
    struct net *n = calloc(1, sizeof *n);
    uint32_t i, k;

    if (n == NULL)
        exit(1);
    n->random = net_mix(seed + 17);
    n->agents = agents;
    n->degree = degree;
    n->go_on = go_on;
    n->now = 1000;
    net_place(n, 0, LA_NONE, agents);
    for (i = 0; i < agents; i++) {
        n->a[i].net = n;
        n->a[i].alive = 1;
        n->a[i].out = UINT32_MAX;
        n->a[i].first_rank = n->ranks;
        n->a[i].ranks = ranks == 4 ? 1 + net_draw(n, 3) : ranks;
        for (k = 0; k < n->a[i].ranks; k++)
            n->rank_agent[n->ranks++] = i;
    }
    for (i = 0; i < agents; i++) {
        n->a[i].seen = calloc((n->a[i].ranks + 1) * (n->ranks + agents), 1);
        if (n->a[i].seen == NULL)
            exit(1);
        net_begin(&n->a[i]);
    }
    for (i = 0; i < 64; i++) {
        (void)snprintf(n->keys[i][0], sizeof n->keys[i][0], "k%u", (unsigned)i);
        (void)snprintf(n->keys[i][1], sizeof n->keys[i][1], "value%u", (unsigned)(i * i));
    }
    return n;
}

static inline void net_drop(struct net_queue *q)
{
    struct net_message *m = q->head;

    q->head = m->next;
    q->count--;
    free(m);
}

static inline void net_free(struct net *n)
{
    uint32_t i;

    for (i = 0; i < n->q_count; i++)
        while (n->q[i].head != NULL)
            net_drop(&n->q[i]);
    for (i = 0; i < n->agents; i++) {
        la_tree_free(n->a[i].tree);
        free(n->a[i].seen);
    }
    free(n->q);
    free(n);
}

/* ---- Going on -------------------------------------------------------------------------------- */

static inline void net_enter(struct net_agent *a)
{
    struct la_coll c = net_coll(a->net, a->number, a->first_rank);
    struct net_out o = net_records(a->net, a, &c);
    uint32_t i;

    a->in = 1;
    if (la_tree_enter(a->tree, &c, o.r, o.count) != 0)
        a->net->wrong++;
    for (i = 0; i < o.count; i++)
        free((void *)(size_t)o.r[i].data);
    free(o.r);
}

static inline struct net_agent *net_living_above(struct net *n, struct net_agent *a)
{
    struct net_agent *to = &n->a[a->parent];

    while (!to->alive)
        to = &n->a[to->parent];
    return to;
}

/* The link from this queue's sender is lost at its receiver, who does what its host would. */
static inline void net_lose(struct net *n, uint32_t from, uint32_t to)
{
    struct net_agent *a = &n->a[to];

    la_tree_lost(a->tree, from);
    if (!n->a[from].alive && from > to && net_draw(n, 2) == 0)
        la_tree_dead(a->tree, from); /* its end was seen */
    if (from != a->above || !n->go_on || a->cut)
        return;
    a->above = net_living_above(n, a)->self;
    n->wrong += la_tree_moved(a->tree, a->above) != 0;
}

/* Delivers the first message of some queue: 0 if there is none. */
static inline int net_deliver(struct net *n)
{
    uint32_t i, k = n->q_count > 0 ? net_draw(n, n->q_count) : 0;
    struct net_message *m;
    struct net_queue *q;
    uint32_t from, to;

    for (i = 0; i < n->q_count && n->q[(k + i) % n->q_count].head == NULL; i++)
        ;
    if (i == n->q_count)
        return 0;
    q = &n->q[(k + i) % n->q_count];
    from = q->from;
    to = q->to;
    m = q->head;
    q->head = m->next;
    q->count--;
    if (!n->a[to].alive) {
        ;
    } else if (m->type == NET_LOST) {
        net_lose(n, from, to);
    } else {
        n->messages++;
        if (la_tree_recv(n->a[to].tree, from, m->type, m->data, m->size) != 0)
            n->wrong++;
    }
    free(m);
    q = net_queue_of(n, from, to);
    if (q->full && q->count < n->most / 2 + 1) {
        q->full = 0;
        if (n->a[from].alive)
            la_tree_writable(n->a[from].tree, to);
    }
    return 1;
}

/* The process of an agent is over; what it had sent is lost from some message on. */
static inline void net_kill(struct net *n, uint32_t agent)
{
    uint32_t i, count = n->q_count, keep;

    n->a[agent].alive = 0;
    for (i = 0; i < count; i++) {
        struct net_queue *q = &n->q[i];
        if (q->to == agent)
            while (q->head != NULL)
                net_drop(q);
        if (q->from == agent) {
            struct net_message **at = &q->head, *m;
            q->tail = NULL;
            for (keep = q->count > 0 ? net_draw(n, q->count + 1) : 0; keep > 0; keep--) {
                q->tail = *at;
                at = &(*at)->next;
            }
            while ((m = *at) != NULL) {
                *at = m->next;
                q->count--;
                free(m);
            }
            if (n->a[q->to].alive)
                net_push(q, NET_LOST, NULL, 0);
        }
        if (q->to == agent && q->full) {
            q->full = 0;
            if (n->a[q->from].alive)
                la_tree_writable(n->a[q->from].tree, agent);
        }
    }
    for (i = 0; i < n->agents; i++) { /* neighbours that never sent */
        struct net_agent *a = &n->a[i];
        if (a->alive && (a->above == agent || n->a[agent].above == i)
            && net_queue_of(n, agent, i)->count == 0)
            net_push(net_queue_of(n, agent, i), NET_LOST, NULL, 0);
    }
}

/* The link between an agent and its first parent breaks, and comes back at once. */
static inline void net_cut_link(struct net *n, uint32_t agent)
{
    uint32_t parent = n->a[agent].parent;

    if (parent == LA_NONE || !n->a[parent].alive || !n->a[agent].alive)
        return;
    net_push(net_queue_of(n, agent, parent), NET_LOST, NULL, 0);
    net_push(net_queue_of(n, parent, agent), NET_LOST, NULL, 0);
}

/* One thing that can be done: 0 if there is none. */
static inline int net_step(struct net *n)
{
    uint32_t i, k = net_draw(n, n->agents);

    if (net_draw(n, 3) > 0 && net_deliver(n))
        return 1;
    for (i = 0; i < n->agents; i++) {
        struct net_agent *a = &n->a[(k + i) % n->agents];
        if (a->alive && !a->in && a->number < n->operations && a->number < a->out) {
            net_enter(a);
            return 1;
        }
    }
    return net_deliver(n);
}

/* If only time helps: lets it pass. 0: nothing is due. */
static inline int net_wait(struct net *n)
{
    uint64_t at = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < n->agents; i++)
        if (n->a[i].alive && la_tree_deadline(n->a[i].tree) < at)
            at = la_tree_deadline(n->a[i].tree);
    if (at == UINT64_MAX)
        return 0;
    n->now = at > n->now ? at : n->now + 1;
    for (i = 0; i < n->agents; i++)
        if (n->a[i].alive)
            la_tree_step(n->a[i].tree, n->now);
    return 1;
}

/* All living hosts are through all operations. */
static inline int net_is_through(const struct net *n)
{
    uint32_t i;

    for (i = 0; i < n->agents; i++)
        if (n->a[i].alive && n->a[i].number < n->operations && n->a[i].out == UINT32_MAX)
            return 0;
    return 1;
}

static inline void net_run(struct net *n)
{
    uint32_t waits = 0;

    while (waits < 1000) {
        while (net_step(n))
            ;
        if (!net_wait(n))
            return;
        waits++;
    }
}

#endif
