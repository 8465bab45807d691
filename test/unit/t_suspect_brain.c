/* t_suspect_brain.c - rumours and probes without a node: tables, and a model that keeps every rumour. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/suspect.h"
#endif

#define NODES 8u /* the node itself is 0 */
#define HOPS 7

struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__rnd rnd;
    struct phx_detector limits;
    struct phx__node_suspect s;
    uint64_t now;
    uint64_t incarnation[NODES]; /* 0: no route has ever told of this node */
    uint32_t seq[NODES];
    uint32_t nbr[NODES], nbr_count;
    uint8_t adjacent[NODES][NODES], busy[NODES], full[NODES]; /* full: its queue is long */
    struct phx__detect_rumour rumour[NODES];
    int noted[NODES], calls, full_at; /* noted: there is one; that call to note one fails */
    int credits; /* what a rumour says is taken seriously */
    char said[1024];
};

static void say(struct rig *r, const char *format, ...)
{
    size_t n = strlen(r->said);
    va_list args;

    va_start(args, format);
    vsnprintf(r->said + n, sizeof r->said - n, format, args);
    va_end(args);
}

static int rig_is_nbr(const struct rig *r, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < r->nbr_count && r->nbr[i] != node; i++)
        continue;
    return i < r->nbr_count;
}

/* Neighbours directly, other nodes through the first neighbour; to nodes without a route there is no way. */
static uint32_t rig_way(phx *ctx, const struct phx_id *id)
{
    struct rig *r = (void *)ctx;
    uint32_t node = phx__id_find(&r->ids, id);

    if (node == PHX__NONE || r->incarnation[node] == 0 || r->nbr_count == 0)
        return PHX__NONE;
    return rig_is_nbr(r, node) ? node : r->nbr[0];
}

/* "S5/7@9>1/6": the rumour of node 5 with life 7 and number 9, to node 1, which may cross 6 links.
 * "P1.5.0>1/7": a probe for node 1 about node 5, asked by node 0; "p": an answer. */
static int rig_send(phx *ctx, uint32_t nbr, int type, int flags, int hops, const void *body)
{
    struct rig *r = (void *)ctx;
    uint8_t data[96];
    struct phx__writer w;
    struct phx__suspect s;
    struct phx__probe b;
    struct phx__frame f;
    size_t used;

    if (nbr == PHX__NONE || (type != PHX__SUSPECT && r->full[nbr]))
        return 0;
    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, type, flags, hops, body);
    check(!w.bad && phx__wire_parse(data, w.size, &f, &used) == 1, "a good frame");
    if (phx__wire_link_get(&f, PHX__SUSPECT, &s) == 0)
        say(r, "S%d/%u@%u>%u/%d ", (int)phx__id_find(&r->ids, &s.id), (unsigned)s.incarnation,
            (unsigned)s.seq, (unsigned)nbr, f.hops);
    else if (check(phx__wire_link_get(&f, PHX__PROBE, &b) == 0, "one of the two"))
        say(r, "%c%d.%d.%d>%u/%d ", f.flags & PHX__PROBE_ANSWER ? 'p' : 'P',
            (int)phx__id_find(&r->ids, &b.target), (int)phx__id_find(&r->ids, &b.subject),
            (int)phx__id_find(&r->ids, &b.asker), (unsigned)nbr, f.hops);
    return 1;
}

static int rig_life(phx *ctx, uint32_t node, uint64_t *incarnation, uint32_t *seq)
{
    struct rig *r = (void *)ctx;

    *incarnation = r->incarnation[node];
    *seq = r->seq[node];
    return r->incarnation[node] != 0;
}

static uint32_t rig_neighbour(phx *ctx, uint32_t i)
{
    const struct rig *r = (void *)ctx;

    return i < r->nbr_count ? r->nbr[i] : PHX__NONE;
}

static int rig_is_vain(phx *ctx, uint32_t nbr, uint32_t node)
{
    struct rig *r = (void *)ctx;

    (void)node;
    return r->busy[nbr];
}

static int rig_is_adjacent(phx *ctx, uint32_t nbr, uint32_t other)
{
    struct rig *r = (void *)ctx;

    return r->adjacent[nbr][other];
}

static int rig_accuse(phx *ctx, uint32_t node, uint32_t accuser)
{
    struct rig *r = (void *)ctx;

    say(r, "accused%u:%d ", (unsigned)node, (int)accuser);
    return r->credits;
}

static void rig_alive(phx *ctx, uint32_t node)
{
    say((void *)ctx, "alive%u ", (unsigned)node);
}

static void rig_refute(phx *ctx, uint32_t nbr, const struct phx__request *q)
{
    struct rig *r = (void *)ctx;

    check(phx__id_equal(&q->id, &r->ids.at[PHX__SELF]) && q->incarnation == r->incarnation[PHX__SELF],
          "own life");
    say(r, "refuted:%u>%u ", (unsigned)q->seq, (unsigned)nbr);
}

static struct phx__detect_rumour *rig_rumour_of(phx *ctx, uint32_t node, int make)
{
    struct rig *r = (void *)ctx;

    if (make && ++r->calls != r->full_at)
        r->noted[node] = 1;
    return r->noted[node] ? &r->rumour[node] : NULL;
}

static const struct phx__node_suspect_ops rig_ops = { rig_neighbour, rig_is_vain, rig_is_adjacent,
                                                      rig_accuse,    rig_alive,   rig_refute,
                                                      rig_rumour_of };

/* Nodes 1 to 4 are neighbours, and 1 and 2 of each other. Node i lives its life 100 + i, with number 10. */
static void rig_init(struct rig *r, int relay)
{
    struct phx__node_env env = { &r->mem, &r->ids, NULL, HOPS, relay,
                                (void *)r, rig_way, rig_send, rig_life };
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, node;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100);
    phx__rnd_seed(&r->rnd, 1, 2);
    for (i = 0; i < NODES; i++) {
        memset(&id, (int)i + 1, sizeof id);
        if (phx__id_add(&r->ids, &id, &node) != 0)
            exit(1);
        r->incarnation[i] = 100 + i;
        r->seq[i] = 10;
        if (i >= 1 && i <= 4)
            r->nbr[r->nbr_count++] = i;
    }
    r->adjacent[1][2] = r->adjacent[2][1] = 1;
    r->credits = 1;
    r->limits.timeout_us = 800 * PHX__MS;
    r->limits.broken_us = 500 * PHX__MS;
    r->now = 5 * PHX__SECOND;
    phx__node_suspect_init(&r->s, &env, &r->rnd, &r->limits, &rig_ops);
}

static void rig_free(struct rig *r)
{
    phx__id_free(&r->ids);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* Of a node: 9 is one that is not known. */
static struct phx_id id_of(const struct rig *r, uint32_t node)
{
    struct phx_id id;

    memset(&id, 99, sizeof id);
    return node < NODES ? r->ids.at[node] : id;
}

static int rig_rumour(struct rig *r, uint32_t from, uint32_t node, uint64_t incarnation, uint32_t seq,
                      uint32_t accuser, int hops)
{
    struct phx__suspect s;
    struct phx__frame f;
    struct phx__writer w;
    uint8_t data[128];
    size_t used;

    s.id = id_of(r, node);
    s.incarnation = incarnation;
    s.seq = seq;
    s.accuser = id_of(r, accuser);
    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, PHX__SUSPECT, 0, hops, &s);
    check(phx__wire_parse(data, w.size, &f, &used) == 1, "a whole frame");
    return phx__node_suspect_on_suspect(&r->s, from, &f, r->now);
}

static int rig_probe(struct rig *r, uint32_t from, uint32_t target, uint32_t subject, uint32_t asker,
                     int flags, int hops)
{
    struct phx__probe b;
    struct phx__frame f;
    struct phx__writer w;
    uint8_t data[128];
    size_t used;

    b.target = id_of(r, target);
    b.subject = id_of(r, subject);
    b.asker = id_of(r, asker);
    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, PHX__PROBE, flags, hops, &b);
    check(phx__wire_parse(data, w.size, &f, &used) == 1, "a whole frame");
    return phx__node_suspect_on_probe(&r->s, from, &f);
}

static void rig_entry(struct rig *r, uint32_t node, uint64_t incarnation, uint32_t seq, uint32_t hops)
{
    struct phx__entry e;

    memset(&e, 0, sizeof e);
    e.id = id_of(r, node);
    e.incarnation = incarnation;
    e.seq = seq;
    e.hops = (uint8_t)hops;
    phx__node_suspect_on_entry(&r->s, &e);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct rumour {
    const char *name;
    uint32_t from, node, incarnation, seq, accuser;
    int hops, relay, credits;
    const char *said;
} rumours[] = {
    { "of a node behind others", 1, 5, 105, 10, 6, 3, 1, 1,
      "accused5:6 S5/105@10>3/2 S5/105@10>4/2 " },
    { "of a neighbour, which hears it too", 1, 2, 102, 10, 6, 3, 1, 1,
      "accused2:6 S2/102@10>2/2 S2/102@10>3/2 S2/102@10>4/2 " },
    { "of the neighbour itself", 1, 1, 101, 10, 6, 3, 1, 1, "" },
    { "from one that has other neighbours", 3, 5, 105, 10, 6, 3, 1, 1,
      "accused5:6 S5/105@10>1/2 S5/105@10>2/2 S5/105@10>4/2 " },
    { "of a node that is not known", 1, 9, 105, 10, 6, 3, 1, 1, "" },
    { "by one that is not known", 1, 5, 105, 10, 9, 3, 1, 1, "accused5:-1 S5/105@10>3/2 S5/105@10>4/2 " },
    { "of a former life", 1, 5, 104, 10, 6, 3, 1, 1, "" },
    { "of a later one", 1, 5, 106, 10, 6, 3, 1, 1, "" },
    { "with an older number", 1, 5, 105, 9, 6, 3, 1, 1, "" },
    { "with a later one", 1, 5, 105, 10 + 4095, 6, 3, 1, 1,
      "accused5:6 S5/105@4105>3/2 S5/105@4105>4/2 " },
    { "too late to be true", 1, 5, 105, 10 + 4096, 6, 3, 1, 1, "" },
    { "over its last link", 1, 5, 105, 10, 6, 1, 1, 1, "accused5:6 " },
    { "no relay", 1, 5, 105, 10, 6, 3, 0, 1, "accused5:6 " },
    { "not believed", 1, 5, 105, 10, 6, 3, 1, 0, "accused5:6 " },
    { "of us", 1, 0, 100, 10, 6, 1, 1, 1, "refuted:11>1 " },
    { "of us, and later", 1, 0, 100, 2000000000u, 6, 1, 1, 1, "refuted:2000000001>1 " },
    { "of us, and nothing is later", 1, 0, 100, PHX__SEQ_MAX, 6, 1, 1, 1, "refuted:2147483649>1 " },
    { "of us, refuted already", 1, 0, 100, 9, 6, 1, 1, 1, "" },
    { "of us in a former life", 1, 0, 99, 10, 6, 1, 1, 1, "" },
};

static void test_rumours(void)
{
    /* Goal: which rumours are believed, passed on, to whom, and refuted. Method: one frame each. */
    struct phx__frame f;
    struct rig r;
    size_t i;

    for (i = 0; i < sizeof rumours / sizeof rumours[0]; i++) {
        const struct rumour *u = &rumours[i];
        rig_init(&r, u->relay);
        r.credits = u->credits;
        check(rig_rumour(&r, u->from, u->node, u->incarnation, u->seq, u->accuser, u->hops) == 0, "no fault");
        ok(strcmp(r.said, u->said) == 0, "%s: '%s'", u->name, r.said);
        rig_free(&r);
    }
    rig_init(&r, 1);
    r.incarnation[5] = 0;
    rig_rumour(&r, 1, 5, 0, 10, 6, 3);
    phx__node_suspect_raise(&r.s, 5, r.now);
    ok(r.said[0] == 0, "of a node without a route");
    memset(&f, 0, sizeof f);
    f.type = PHX__SUSPECT;
    ok(phx__node_suspect_on_suspect(&r.s, 1, &f, r.now) == PHX_EPROTO, "an empty frame");
    f.type = PHX__PROBE;
    ok(phx__node_suspect_on_probe(&r.s, 1, &f) == PHX_EPROTO, "an empty probe");
    phx__node_suspect_raise(&r.s, 2, r.now);
    ok(strcmp(r.said, "S2/102@10>1/7 S2/102@10>2/7 S2/102@10>3/7 S2/102@10>4/7 ") == 0, "our own: %s",
       r.said);
    rig_free(&r);
}

/* With a patience of 800 ms and 500 ms until a node is broken. */
static const struct again {
    const char *name;
    unsigned after_ms;
    uint32_t node, incarnation, seq;
    int passed;
} agains[] = {
    { "the first", 0, 5, 105, 20, 1 },
    { "at once", 0, 5, 105, 20, 0 },
    { "another number, as soon", 199, 5, 105, 21, 0 },
    { "of another node", 0, 6, 106, 20, 1 },
    { "another number, later", 1, 5, 105, 21, 1 },
    { "the same as before", 1299, 5, 105, 21, 0 },
    { "an older one", 0, 5, 105, 20, 0 },
    { "when it may have got lost", 1, 5, 105, 20, 1 },
    { "and the later one again", 200, 5, 105, 21, 1 },
    { "forgotten", 0, 0, 0, 0, 0 },
    { "as if new", 0, 5, 105, 21, 1 },
    { "the other one was not forgotten: long ago", 0, 6, 106, 20, 1 },
    { "but now", 1000, 6, 106, 20, 0 },
};

static void test_again(void)
{
    /* Goal: nobody causes floods by saying it again, and what got lost is said again. Method: a row. */
    struct rig r;
    size_t i;

    rig_init(&r, 1);
    for (i = 0; i < sizeof agains / sizeof agains[0]; i++) {
        const struct again *a = &agains[i];
        r.said[0] = 0;
        r.now += a->after_ms * PHX__MS;
        if (a->node == 0)
            r.noted[5] = 0;
        else
            rig_rumour(&r, 1, a->node, a->incarnation, a->seq, 7, 3);
        ok((r.said[0] != 0) == a->passed, "%s", a->name);
    }
    rig_free(&r);
}

static const struct probe {
    const char *name;
    uint32_t from, target, subject, asker;
    int flags, hops, relay;
    const char *said;
} probes[] = {
    { "for another", 1, 2, 5, 1, 0, 3, 1, "P2.5.1>2/2 " },
    { "for another, an answer", 2, 1, 5, 1, 1, 3, 1, "p1.5.1>1/2 " },
    { "over its last link", 1, 2, 5, 1, 0, 1, 1, "" },
    { "no relay", 1, 2, 5, 1, 0, 3, 0, "" },
    { "for nobody", 1, 9, 5, 1, 0, 3, 1, "" },
    { "for us, about another", 1, 0, 5, 1, 0, 3, 1, "P5.5.1>1/2 " },
    { "no relay either", 1, 0, 5, 1, 0, 3, 0, "" },
    { "about us", 2, 0, 0, 3, 0, 1, 0, "p3.0.3>3/7 " },
    { "about us, by one that is not known", 2, 0, 0, 9, 0, 1, 0, "p-1.0.-1>2/7 " },
    { "an answer", 1, 0, 5, 0, 1, 1, 0, "alive5 " },
    { "an answer about nobody", 1, 0, 9, 0, 1, 1, 0, "" },
    { "an answer about us", 1, 0, 0, 0, 1, 1, 0, "" },
};

static void test_probes(void)
{
    /* Goal: where probes go, and that two neighbours are asked who can answer. */
    static const struct {
        uint32_t node, busy, full, nbrs;
        unsigned asked;
    } rows[] = { { 5, 9, 9, 4, 2 }, { 2, 9, 9, 4, 2 }, { 2, 3, 9, 4, 2 }, { 2, 3, 1, 4, 1 },
                 { 5, 1, 9, 1, 0 }, { 1, 9, 9, 1, 0 }, { 5, 9, 9, 1, 1 }, { 5, 9, 9, 0, 0 } };
    struct rig r;
    size_t i;
    int k, bad;

    for (i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        const struct probe *b = &probes[i];
        rig_init(&r, b->relay);
        check(rig_probe(&r, b->from, b->target, b->subject, b->asker, b->flags, b->hops) == 0, "no fault");
        ok(strcmp(r.said, b->said) == 0, "%s: '%s'", b->name, r.said);
        rig_free(&r);
    }
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_init(&r, 1);
        r.nbr_count = rows[i].nbrs;
        r.busy[rows[i].busy % NODES] = rows[i].busy < NODES;
        r.full[rows[i].full % NODES] = rows[i].full < NODES;
        for (k = bad = 0; k < 50; k++) {
            char *at;
            unsigned asked = 0, seen = 0;
            r.said[0] = 0;
            phx__node_suspect_probe(&r.s, rows[i].node);
            for (at = strtok(r.said, " "); at != NULL; at = strtok(NULL, " "), asked++) {
                unsigned to = (unsigned)(at[1] - '0');
                bad += at[0] != 'P' || at[6] != '>' || at[7] != at[1] || (seen & 1u << to) != 0
                       || to == rows[i].node || to == rows[i].busy || to == rows[i].full || to > rows[i].nbrs;
                seen |= 1u << to;
            }
            bad += asked != rows[i].asked;
        }
        ok(bad == 0, "%u neighbours are asked, row %u", rows[i].asked, (unsigned)i);
        rig_free(&r);
    }
}

static void test_entries(void)
{
    /* Goal: an entry is a sign of life if its number is later than those that are known and rumoured. */
    struct rig r;

    rig_init(&r, 1);
    rig_entry(&r, 5, 105, 10, 1);
    rig_entry(&r, 5, 105, 11, PHX__UNREACHABLE);
    rig_entry(&r, 5, 104, 11, 1);
    rig_entry(&r, 9, 105, 11, 1);
    rig_entry(&r, 0, 100, 11, 1);
    ok(r.said[0] == 0, "no news: %s", r.said);
    rig_entry(&r, 5, 105, 11, 1);
    rig_entry(&r, 6, 107, 0, 1);
    ok(strcmp(r.said, "alive5 alive6 ") == 0, "a number, a life: %s", r.said);
    rig_rumour(&r, 1, 5, 105, 15, 7, 1);
    r.said[0] = 0;
    rig_entry(&r, 5, 105, 15, 1);
    ok(r.said[0] == 0, "the number that the rumour knew");
    rig_entry(&r, 5, 105, 16, 1);
    ok(strcmp(r.said, "alive5 ") == 0, "and one above it");
    r.incarnation[5] = 106; /* it has begun anew */
    r.said[0] = 0;
    rig_entry(&r, 5, 106, 12, 1);
    ok(strcmp(r.said, "alive5 ") == 0, "a rumour of a former life says nothing of this one: %s", r.said);
    rig_free(&r);
}

/* ---- The model ------------------------------------------------------------------------------- */

/* All rumours that were passed on or raised, the oldest first. */
struct model {
    struct {
        uint32_t node, seq;
        uint64_t incarnation, at;
    } past[2000];
    uint32_t count;
};

static int model_last(const struct model *m, uint32_t node)
{
    uint32_t i;

    for (i = m->count; i > 0; i--)
        if (m->past[i - 1].node == node)
            return (int)i - 1;
    return -1;
}

static void model_note(struct model *m, const struct rig *r, uint32_t node, uint64_t incarnation,
                       uint32_t seq)
{
    m->past[m->count].node = node;
    m->past[m->count].incarnation = incarnation;
    m->past[m->count].seq = seq;
    m->past[m->count++].at = r->now;
}

static void model_rumour(struct model *m, const struct rig *r, uint32_t from, uint32_t node,
                         uint64_t incarnation, uint32_t seq, uint32_t accuser, int hops, char *said)
{
    int last = model_last(m, node);
    uint32_t i;

    if (incarnation != r->incarnation[node] || seq < r->seq[node])
        return;
    if (node == 0) {
        sprintf(said, "refuted:%u>%u ", (unsigned)seq + 1, (unsigned)from);
        return;
    }
    if (node == from || seq >= r->seq[node] + 4096)
        return;
    if (last >= 0 && m->past[last].incarnation == incarnation) {
        uint64_t age = (r->now - m->past[last].at) / PHX__MS;
        if (age < 200 || (age < 1300 && seq <= m->past[last].seq))
            return;
    }
    said += sprintf(said, "accused%u:%u ", (unsigned)node, (unsigned)accuser);
    if (!r->credits)
        return;
    model_note(m, r, node, incarnation, seq);
    for (i = 0; hops > 1 && i < r->nbr_count; i++) {
        uint32_t to = r->nbr[i];
        if (to != from && (to == node || !r->adjacent[to][from]))
            said += sprintf(said, "S%u/%u@%u>%u/%d ", (unsigned)node, (unsigned)incarnation, (unsigned)seq,
                            (unsigned)to, hops - 1);
    }
}

static void model_raise(struct model *m, const struct rig *r, uint32_t node, char *said)
{
    uint32_t i;

    model_note(m, r, node, r->incarnation[node], r->seq[node]);
    for (i = 0; i < r->nbr_count; i++)
        said += sprintf(said, "S%u/%u@%u>%u/%d ", (unsigned)node, (unsigned)r->incarnation[node],
                        (unsigned)r->seq[node], (unsigned)r->nbr[i], HOPS);
}

static void model_entry(const struct model *m, const struct rig *r, uint32_t node, uint64_t incarnation,
                        uint32_t seq, char *said)
{
    int last = model_last(m, node);
    int later = incarnation == r->incarnation[node] && seq > r->seq[node]
                && (last < 0 || m->past[last].incarnation != incarnation || seq > m->past[last].seq);

    if (node != 0 && (incarnation > r->incarnation[node] || later))
        sprintf(said, "alive%u ", (unsigned)node);
}

/* Two of the neighbours, in turn from a random one. */
static void model_probe(const struct rig *r, uint32_t node, char *said)
{
    struct phx__rnd rnd = r->rnd;
    uint32_t i, first = r->nbr_count > 0 ? (uint32_t)phx__rnd_below(&rnd, r->nbr_count) : 0;
    int sent = 0;

    for (i = 0; i < r->nbr_count && sent < 2; i++) {
        uint32_t to = r->nbr[(first + i) % r->nbr_count];
        if (to == node || r->busy[to] || r->full[to])
            continue;
        said += sprintf(said, "P%u.%u.0>%u/%d ", (unsigned)to, (unsigned)node, (unsigned)to, HOPS);
        sent++;
    }
}

/* Links come and go, nodes live on, time passes. */
static void random_world(struct rig *r, struct phx__rnd *rnd)
{
    uint32_t a = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1);
    uint32_t b = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1);

    r->now += phx__rnd_below(rnd, 300) * PHX__MS;
    switch (phx__rnd_below(rnd, 7)) {
    case 0: r->adjacent[a][b] = r->adjacent[b][a] = a != b && !r->adjacent[a][b]; break;
    case 1: r->busy[a] = !r->busy[a]; break;
    case 2: r->full[a] = !r->full[a]; break;
    case 3: r->credits = phx__rnd_below(rnd, 4) > 0; break;
    case 4: r->seq[a] += (uint32_t)phx__rnd_below(rnd, 4); break;
    case 5: r->incarnation[a] += phx__rnd_below(rnd, 4) == 0; break;
    default:
        if (!rig_is_nbr(r, a))
            r->nbr[r->nbr_count++] = a;
        else if (r->nbr[r->nbr_count - 1] == a)
            r->nbr_count--;
    }
}

static void random_step(struct rig *r, struct model *m, struct phx__rnd *rnd, char *said)
{
    uint32_t node = (uint32_t)phx__rnd_below(rnd, NODES), from = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1);
    uint64_t life = r->incarnation[node] + phx__rnd_below(rnd, 8) - 4;
    uint32_t seq = r->seq[node] + (uint32_t)phx__rnd_below(rnd, 5), i, kept;
    int hops = 1 + (int)phx__rnd_below(rnd, 3);

    life = life + 2 < r->incarnation[node] || life > r->incarnation[node] + 1 ? r->incarnation[node] : life;
    seq = phx__rnd_below(rnd, 10) == 0 ? seq + 4093 : seq > 0 && phx__rnd_below(rnd, 4) == 0 ? seq - 1 : seq;
    switch (phx__rnd_below(rnd, 8)) {
    case 0: case 1: case 2:
        model_rumour(m, r, from, node, life, seq, 7, hops, said);
        rig_rumour(r, from, node, life, seq, 7, hops);
        break;
    case 3:
        model_raise(m, r, from, said);
        phx__node_suspect_raise(&r->s, from, r->now);
        break;
    case 4:
        model_entry(m, r, node, life, seq, said);
        rig_entry(r, node, life, seq, 3);
        break;
    case 5:
        model_probe(r, from, said);
        phx__node_suspect_probe(&r->s, from);
        break;
    case 6:
        if (phx__rnd_below(rnd, 4) > 0)
            break;
        for (i = kept = 0; i < m->count; i++)
            if (m->past[i].node != from)
                m->past[kept++] = m->past[i];
        m->count = kept;
        r->noted[from] = 0;
        break;
    default: random_world(r, rnd);
    }
}

static void test_random(void)
{
    /* Goal: for each node, life and number a rumour is passed on, refuted or dropped as the model says, and
     * so are entries and probes. Method: 40 seeds of 1,500 steps; links, lives and numbers change. */
    struct phx__rnd rnd;
    static struct model m;
    static struct rig r;
    char said[sizeof r.said];
    uint64_t seed;
    int i, good, bad = 0, spread = 0;

    for (seed = 1; seed <= 40; seed++) {
        phx__rnd_seed(&rnd, seed, 0);
        memset(&m, 0, sizeof m);
        rig_init(&r, 1);
        for (i = 0, good = 1; good && i < 1500; i++) {
            said[0] = r.said[0] = 0;
            random_step(&r, &m, &rnd, said);
            good = strcmp(said, r.said) == 0;
            spread += strstr(said, " S") != NULL;
        }
        bad += !check(good, "seed %d, step %d: '%s', and the model '%s'", (int)seed, i, r.said, said);
        rig_free(&r);
    }
    ok(bad == 0 && spread > 400, "%d of 40 runs differ; %d rumours were passed on", bad, spread);
}

static void test_memory(void)
{
    /* Goal: without memory a rumour is passed on all the same, and once more when it comes again. Method: of
     * the rumours about all nodes the n-th is not noted; then what is kept of all nodes is still right. */
    struct rig r;
    uint32_t node;
    int n, again;

    for (n = 1; n < (int)NODES; n++) {
        rig_init(&r, 1);
        r.full_at = n;
        for (node = 1, again = 0; node < NODES; node++) {
            r.said[0] = 0;
            rig_rumour(&r, node == 1 ? 3 : 1, node, 100 + node, 10, 7, 3);
            check(r.said[0] != 0, "passed on");
            r.said[0] = 0;
            rig_rumour(&r, node == 1 ? 3 : 1, node, 100 + node, 10, 7, 3);
            again += r.said[0] != 0;
        }
        check(again == 1, "one was not noted");
        for (node = 1; node < NODES; node++) {
            r.said[0] = 0;
            rig_rumour(&r, node == 1 ? 3 : 1, node, 100 + node, 10, 7, 3);
            check(r.said[0] == 0, "noted now: %u", (unsigned)node);
        }
        rig_free(&r);
    }
    ok(n == (int)NODES, "%d failures were survived", n - 1);
}

int main(void)
{
    test_rumours();
    test_again();
    test_probes();
    test_entries();
    test_random();
    test_memory();
    return test_end();
}
