/* lies.c - members that lie, and what honest nodes have to bear: WIRE.md, section 9, promises 54, 61, 110. */

/* Four honest hosts: 0 is the hub, 3 is linked with it alone. Each sends to each other a small message with a
 * token every 10 ms, and a large one now and then. Then comes one member that has the key, relays nothing,
 * and has one link with the hub, or twenty (by as many ids); it lies for a while and goes. Asked of each lie:
 *
 *   failed     no honest node counts as FAILED or LEFT with another
 *   wrong      each honest message is heard once, in order, whole, and told as PHX_OK, after that; and
 *              none is heard that nobody sent
 *   late       99 of 100 messages sent meanwhile take at most 1 s
 *   after      5 s after the liar has gone 99 of 100 take no longer than before it came, memory but what is
 *              kept of the dead is as it was, and everybody, a newcomer too, talks with everybody
 *
 * Processor time does not pass in the simulated world of itself, and many of these lies aim at it. So each
 * frame that an honest node takes in is charged FRAME_US, during which it takes no step.
 *
 * The lies are one story each, at the end of this file: NODES is 5 + the number of links. */
#include "story.h"

#include "ledger.h"
#include "liar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HONEST 4u
#define NEWCOMER HONEST
#define HOSTS (HONEST + 1)
#define LINKS 32u
/* What real processes paid for a frame while one of these lies kept them busy: 2.5 million in 10 s. */
#define FRAME_US 4u
#define TALK_US (10 * MS)
#define SMALL 100u
#define LARGE (256u << 10)
#define LARGE_EVERY (500 * MS)
#define WINDOW (2 * SECOND) /* in which latency and memory are measured, before and after */
#define REPAIR (5 * SECOND) /* from the end of the lie to the second such window */
#define STRAGGLERS (10 * SECOND)

struct lie {
    void (*say)(struct liar *l);
    void (*farewell)(struct liar *l); /* said once, before the liar goes; may be NULL */
    void (*later)(struct sim *s);     /* what must work after it has gone, besides; may be NULL */
    size_t mem_limit;
    uint32_t max_nodes; /* 0: as ever; and so at full size */
};

struct said {
    uint64_t at, heard_at; /* 0: not heard */
    uint32_t from, to;
    uint32_t size;
    uint8_t told, wrong; /* it was told its outcome; something is not right with it */
};

static struct {
    struct sim *s;
    const struct lie *lie;
    struct liar liars[LINKS];
    uint32_t links;
    struct said *at;
    size_t count, capacity;
    unsigned char *bytes, *expected; /* LARGE each */
    uint64_t last[HOSTS][HOSTS];     /* number + 1 of what was heard last, by receiver and sender */
    uint64_t sent[HOSTS][HOSTS];     /* fragments */
    uint64_t large_at, talk_at;
    uint32_t talkers;
    uint64_t frames[HOSTS];          /* charged so far */
    size_t memory[HOSTS], meanwhile; /* the most since it was set to 0; of the hub, while there were lies */
    uint64_t failed, conflicts, made_up, refused;
    uint64_t second[HOSTS], lines[HOSTS], most_lines; /* of log, in that second */
} rig;

/* ---- Honest hosts --------------------------------------------------------------------------- */

static uint32_t host_of(const struct phx_id *id)
{
    uint32_t life = check_life(rig.s->c, id);

    return life == WORLD_NONE ? WORLD_NONE : rig.s->c->lives[life].host;
}

static void heard(phx *p, const struct phx_message *m, void *user)
{
    struct sim_node *n = user;
    struct said *said = m->tag > 0 && m->tag <= rig.count ? &rig.at[m->tag - 1] : NULL;

    (void)p;
    n->messages++;
    world_hash(n->s->w, m->to ^ (m->from << 32), m->tag ^ m->size);
    if (!said || host_of(&m->source) != said->from || n->host != said->to || m->to != n->host * 10u) {
        rig.made_up++;
        return;
    }
    ledger_fill(rig.expected, said->size, m->tag);
    if (said->heard_at || m->size != said->size || memcmp(m->data, rig.expected, m->size) != 0
        || rig.last[n->host][said->from] >= m->tag)
        said->wrong = 1;
    rig.last[n->host][said->from] = m->tag;
    said->heard_at = n->s->w->now;
}

static void told(phx *p, uint64_t token, int result, void *user)
{
    struct sim_node *n = user;
    struct said *said = token > 0 && token <= rig.count ? &rig.at[token - 1] : NULL;

    (void)p;
    n->outcomes++;
    world_hash(n->s->w, token, (uint64_t)(int64_t)result);
    if (!said || said->told || result != PHX_OK || !said->heard_at)
        world_say(n->s->w, 1, "host %u: message %llu: %s", (unsigned)n->host, (unsigned long long)token,
                  said && result == PHX_OK ? "delivered, but it was not" : phx_strerror(result));
    if (!said) {
        rig.made_up++;
        return;
    }
    if (said->told || result != PHX_OK || !said->heard_at)
        said->wrong = 1;
    said->told = 1;
}

static void judged(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;
    uint32_t of = host_of(&node->id);

    (void)p;
    if (of == WORLD_NONE)
        return;
    world_say(n->s->w, 1, "host %u: host %u is in state %d", (unsigned)n->host, (unsigned)of,
              (int)node->state);
    rig.failed += node->state == PHX_NODE_FAILED || node->state == PHX_NODE_LEFT;
}

static void robbed(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    struct sim_node *n = user;

    (void)p;
    (void)winner;
    world_say(n->s->w, 1, "host %u: loses names %llu ..", (unsigned)n->host, (unsigned long long)range.first);
    rig.conflicts += range.first < HOSTS * 10;
}

static void logged(phx *p, int level, const char *line, void *user)
{
    struct sim_node *n = user;
    uint64_t second = n->s->w->now / SECOND;

    (void)p;
    world_say(n->s->w, 1, "host %u: %s", (unsigned)n->host, line);
    if (level > PHX_LOG_INFO)
        return;
    rig.lines[n->host] = rig.second[n->host] == second ? rig.lines[n->host] + 1 : 1;
    rig.second[n->host] = second;
    if (rig.lines[n->host] > rig.most_lines)
        rig.most_lines = rig.lines[n->host];
}

/* A step is over, and has cost what it read. */
static void stepped(void *ctx, uint32_t host)
{
    struct sim *s = ctx;
    struct world_host *h = &s->w->hosts[host];
    struct phx_stats st;
    uint64_t busy_until;

    if (host >= HOSTS || !s->nodes[host].p)
        return;
    phx_stats(s->nodes[host].p, &st);
    busy_until = s->w->now + (st.frames_in - rig.frames[host]) * FRAME_US;
    rig.frames[host] = st.frames_in;
    if (busy_until > h->stalled_until)
        h->stalled_until = busy_until;
    if (h->mem_used > rig.memory[host])
        rig.memory[host] = h->mem_used;
}

static void say(struct sim *s, uint32_t a, uint32_t b, uint32_t size)
{
    struct said *m, *grown;
    struct phx_outgoing o;
    struct iovec iov;

    if (rig.count == rig.capacity) {
        rig.capacity = rig.capacity ? 2 * rig.capacity : 4096;
        grown = realloc(rig.at, rig.capacity * sizeof *grown);
        if (!grown) {
            world_fail(s->w, "the simulator is out of memory");
            return;
        }
        rig.at = grown;
    }
    m = &rig.at[rig.count++];
    memset(m, 0, sizeof *m);
    m->at = s->w->now;
    m->from = a;
    m->to = b;
    m->size = size;
    ledger_fill(rig.bytes, size, rig.count);
    memset(&o, 0, sizeof o);
    o.to = b * 10u;
    o.from = a * 10u;
    o.tag = o.token = rig.count;
    iov.iov_base = rig.bytes;
    iov.iov_len = size;
    o.iov = &iov;
    o.iov_count = 1;
    m->wrong = phx_sendv(s->nodes[a].p, &o) != 0;
    rig.refused += m->wrong;
    rig.sent[a][b] += (size + 65535) / 65536;
    world_touch(s->w, a);
}

static void talk(struct sim *s)
{
    uint32_t a, b;
    int large = s->w->now >= rig.large_at;

    for (a = 0; a < rig.talkers && s->w->now >= rig.talk_at; a++)
        for (b = 0; b < rig.talkers && !s->w->failed; b++)
            if (a != b)
                say(s, a, b, SMALL);
    if (s->w->now >= rig.talk_at)
        rig.talk_at = s->w->now + TALK_US;
    for (a = 0; large && a < rig.talkers && !s->w->failed; a++)
        say(s, a, (a + 1) % rig.talkers, LARGE);
    if (large)
        rig.large_at = s->w->now + LARGE_EVERY;
}

/* ---- The story ------------------------------------------------------------------------------ */

static void settle_honest(struct sim *s, const struct lie *lie)
{
    uint32_t a;

    free(rig.at);
    free(rig.bytes);
    memset(&rig, 0, sizeof rig);
    rig.s = s;
    rig.lie = lie;
    rig.links = s->o.nodes - HOSTS;
    rig.bytes = calloc(2, LARGE);
    if (!rig.bytes) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    rig.expected = rig.bytes + LARGE;
    s->names = 1;
    s->liars = 1;
    s->cfg.mem_limit = lie->mem_limit;
    if (lie->max_nodes && !s->o.full)
        s->cfg.max_nodes = lie->max_nodes;
    s->cfg.log_level = s->o.trace ? PHX_LOG_DEBUG : PHX_LOG_INFO;
    (void)phx_detector_preset(&s->cfg.detector, PHX_PRESET_FAST);
    s->cfg.on_message = heard;
    s->cfg.on_done = told;
    s->cfg.on_node = judged;
    s->cfg.on_conflict = robbed;
    s->cfg.on_log = logged;
    add(s, s->o.nodes, 0, 0);
    forbid(s, 3, 1);
    forbid(s, 3, 2);
    for (a = 0; a < HONEST; a++) {
        if (a > 0)
            join(s, a, 0);
        start(s, a);
    }
    wait_until(s, all_well, 10 * SECOND);
    wait_until(s, same_names, 10 * SECOND);
    s->w->after_step = stepped;
    s->sample = talk;
    s->sample_us = TALK_US;
    rig.talkers = HONEST;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* 99 of 100 messages sent from `from` on and before `to` took at most so long, in ms; until now if they were
 * not heard. */
static double p99(struct sim *s, uint64_t from, uint64_t to)
{
    uint64_t *took = malloc((rig.count + 1) * sizeof *took);
    size_t i, n = 0;
    double result = 0;

    for (i = 0; took && i < rig.count; i++)
        if (rig.at[i].at >= from && rig.at[i].at < to)
            took[n++] = (rig.at[i].heard_at ? rig.at[i].heard_at : s->w->now) - rig.at[i].at;
    if (n > 0) {
        qsort(took, n, sizeof *took, by_size);
        result = (double)took[n - 1 - n / 100] / 1e3;
    }
    free(took);
    return result;
}

/* Pairs of which nothing that was sent since then has been heard within a second. */
static double silent_pairs(uint64_t since)
{
    uint8_t talks[HOSTS][HOSTS] = { { 0 } };
    uint32_t a, b, silent = 0;
    size_t i;

    for (i = 0; i < rig.count; i++)
        if (rig.at[i].at >= since && rig.at[i].heard_at && rig.at[i].heard_at < rig.at[i].at + SECOND)
            talks[rig.at[i].from][rig.at[i].to] = 1;
    for (a = 0; a < HOSTS; a++)
        for (b = 0; b < HOSTS; b++)
            silent += a != b && !talks[a][b];
    return silent;
}

static double wrong_messages(void)
{
    size_t i, n = 0;

    for (i = 0; i < rig.count; i++)
        n += rig.at[i].wrong || !rig.at[i].heard_at || !rig.at[i].told;
    return (double)(n + rig.made_up);
}

/* Latency of what is sent in a window from now on, and the most memory of each in it. */
static uint64_t window(struct sim *s, size_t *memory)
{
    uint64_t from = s->w->now;

    memset(rig.memory, 0, sizeof rig.memory);
    run_for(s, WINDOW);
    memcpy(memory, rig.memory, sizeof rig.memory);
    return from;
}

static void lie_for(struct sim *s, uint64_t us)
{
    uint32_t i;

    for (i = 0; i < rig.links && !s->w->failed; i++) {
        rig.liars[i].number = i;
        liar_start(&rig.liars[i], s->w, HOSTS + i, 0, PORT, rig.lie->say);
    }
    run_for(s, us);
    for (i = 0; rig.lie->farewell && i < rig.links && !s->w->failed; i++) {
        rig.liars[i].say = rig.lie->farewell;
        rig.liars[i].say_at = 0;
        world_touch(s->w, rig.liars[i].host);
    }
    if (rig.lie->farewell)
        run_for(s, 200 * MS);
    for (i = 0; i < rig.links; i++) {
        if (rig.liars[i].ups == 0)
            world_fail(s->w, "liar %u was never linked", (unsigned)i);
        liar_stop(&rig.liars[i]);
    }
}

static void say_bar(struct sim *s, const char *story, const char *what, double value, double limit)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%s %s", story, what);
    bar(s, name, value, limit);
}

/* The worst host's memory, without what it keeps of the dead, against what it was. */
static double grown(const struct sim *s, const size_t *before, const size_t *after)
{
    double worst = 0, now;
    uint32_t a;

    for (a = 0; a < HONEST; a++) {
        now = (double)after[a] - (double)check_dead_bytes(s->c, a);
        worst = now / (double)before[a] > worst ? now / (double)before[a] : worst;
    }
    return worst;
}

static void tell_lie(struct sim *s, const char *story, const struct lie *lie)
{
    size_t before[HOSTS], after[HOSTS];
    uint64_t calm, lies, gone, again, end;
    double growth;

    settle_honest(s, lie);
    run_for(s, 2 * SECOND);
    calm = window(s, before);
    memset(rig.memory, 0, sizeof rig.memory);
    lies = s->w->now;
    lie_for(s, s->o.full ? 10 * SECOND : 2 * SECOND);
    gone = s->w->now;
    rig.meanwhile = rig.memory[0];
    run_for(s, REPAIR);
    again = window(s, after);
    growth = s->w->failed ? 0 : grown(s, before, after);
    end = s->w->now;
    rig.talkers = 0;
    join(s, NEWCOMER, 0);
    start(s, NEWCOMER);
    run_for(s, 2 * SECOND);
    rig.talkers = HOSTS;
    run_for(s, SECOND);
    rig.talkers = 0;
    run_for(s, STRAGGLERS);
    say_bar(s, story, "honest nodes FAILED", (double)(rig.failed + rig.conflicts), 0);
    say_bar(s, story, "messages lost or told wrongly", wrong_messages(), 0);
    say_bar(s, story, "p99 meanwhile, s", p99(s, lies, gone) / 1e3, 1);
    say_bar(s, story, "pairs that do not talk afterwards", silent_pairs(end), 0);
    say_bar(s, story, "p99 5 s later / before", p99(s, again, end) / p99(s, calm, lies), 1.2);
    say_bar(s, story, "memory 5 s later / before", growth, 1.1);
    if (rig.refused)
        figure(s, "sends refused", (double)rig.refused);
    if (rig.made_up)
        figure(s, "messages heard or told that nobody sent", (double)rig.made_up);
    figure(s, "p99 before, ms", p99(s, calm, lies));
    figure(s, "memory of the hub meanwhile, MiB", (double)rig.meanwhile / 1048576);
    figure(s, "lines of log in the worst second", (double)rig.most_lines);
    if (lie->later)
        lie->later(s);
    free(rig.at);
    free(rig.bytes);
    rig.at = NULL;
    rig.bytes = NULL;
}

/* ---- No lie --------------------------------------------------------------------------------- */

/* What is asked for is asked of a member that only keeps its links, too. */
static void tell_nothing(struct sim *s)
{
    static const struct lie lie = { NULL, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_nothing", &lie);
}

/* ---- Goodbye in another's name -------------------------------------------------------------- */

/* What the hub knows of that host, for who forges its word. */
static int known(uint32_t host, struct phx_id *id, uint64_t *incarnation, uint32_t *seq)
{
    struct phx_node nodes[64];
    struct phx_route routes[64];
    const phx *p = rig.s->nodes[host == 0 ? 1 : 0].p;
    size_t i, n;

    phx_self(rig.s->nodes[host].p, id);
    n = phx_nodes(p, nodes, 64);
    for (i = 0; i < n && i < 64 && memcmp(nodes[i].id.b, id->b, 16) != 0; i++)
        continue;
    *incarnation = i < n && i < 64 ? nodes[i].incarnation : 0;
    n = phx_routes(p, routes, 64);
    for (i = 0; i < n && i < 64 && memcmp(routes[i].id.b, id->b, 16) != 0; i++)
        continue;
    *seq = i < n && i < 64 ? routes[i].seq : 0;
    return i < n && i < 64;
}

/* A card of each honest host that says goodbye, unreachable, once a second. */
static void say_left(struct liar *l)
{
    uint64_t incarnation;
    struct phx_id id;
    uint32_t a, seq;

    for (a = 0; a < HONEST; a++) {
        if (!known(a, &id, &incarnation, &seq))
            continue;
        liar_update(l);
        liar_entry(l, &id, incarnation, seq + 5, 255, 1, 1000 * (l->turns + 1) + l->number);
        liar_put(l, 10, 4);
        liar_put(l, 1 | 2, 1); /* RELAYS, LEFT */
        liar_put(l, 65536, 4);
        liar_put(l, 0, 5);
        liar_tail(l);
    }
    l->say_at = l->w->now + SECOND;
}

static void tell_left(struct sim *s)
{
    static const struct lie lie = { say_left, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_left", &lie);
}

/* ---- A message in another's name, of a conversation that outbids the true one ------------------ */

/* A message of five bytes from host a to host b, by DATA or as a CAST with one line. */
static void put_message(struct liar *l, uint32_t a, uint32_t b, int is_cast)
{
    struct phx_id from, to;

    phx_self(rig.s->nodes[a].p, &from);
    phx_self(rig.s->nodes[b].p, &to);
    liar_head(l, is_cast ? LIAR_CAST : LIAR_DATA, 1 | 2, 16);
    if (is_cast)
        liar_put(l, 1, 2);
    liar_bytes(l, to.b, 16);
    if (!is_cast)
        liar_bytes(l, from.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, UINT64_MAX - 100000 + l->turns * LINKS + l->number, 8);
    liar_put(l, b * 10u, 8);
    if (is_cast) {
        liar_put(l, 0, 4);
        liar_bytes(l, from.b, 16);
    }
    liar_put(l, a * 10u, 8);
    liar_put(l, 0, 8);
    liar_put(l, 5, 8);
    liar_bytes(l, "a lie", 5);
    liar_tail(l);
}

static void say_dumb(struct liar *l)
{
    uint32_t pair;

    for (pair = 0; pair < HONEST * HONEST; pair++)
        if (pair / HONEST != pair % HONEST)
            put_message(l, pair / HONEST, pair % HONEST, (int)(l->turns % 2));
    l->say_at = l->w->now + 100 * MS;
}

static void tell_dumb(struct sim *s)
{
    static const struct lie lie = { say_dumb, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_dumb", &lie);
}

/* ---- A later life of others, and their silence ------------------------------------------------- */

static void say_reborn(struct liar *l)
{
    uint64_t incarnation;
    struct phx_id id;
    uint32_t a, seq;

    for (a = 0; a < HONEST; a++) {
        if (!known(a, &id, &incarnation, &seq))
            continue;
        liar_update(l);
        liar_entry(l, &id, incarnation + 1, 1, 1, 0, 0);
        liar_tail(l);
    }
    l->say_at = l->w->now + SECOND;
}

static void tell_reborn(struct sim *s)
{
    static const struct lie lie = { say_reborn, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_reborn", &lie);
}

static void say_suspect(struct liar *l)
{
    uint64_t incarnation;
    struct phx_id id;
    uint32_t a, seq;

    for (a = 0; a < HONEST; a++) {
        if (!known(a, &id, &incarnation, &seq))
            continue;
        liar_head(l, LIAR_SUSPECT, 0, 16);
        liar_bytes(l, id.b, 16);
        liar_put(l, incarnation, 8);
        liar_put(l, seq, 4);
        liar_bytes(l, l->id.b, 16);
        liar_tail(l);
    }
    l->say_at = l->w->now + 10 * MS;
}

static void tell_suspect(struct sim *s)
{
    static const struct lie lie = { say_suspect, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_suspect", &lie);
}

/* ---- Nodes that are not there --------------------------------------------------------------- */

/* An id that nobody has, the k-th of this liar. */
static struct phx_id nobody(const struct liar *l, uint64_t k)
{
    struct phx_id id;
    uint64_t word = world_mix(k + ((uint64_t)(l->number + 1) << 40));

    memset(id.b, 0x5a, sizeof id.b);
    memcpy(id.b, &word, sizeof word);
    return id;
}

/* `count` entries of nodes that lie just behind the liar. */
static void put_nobodies(struct liar *l, uint64_t first, uint32_t count, uint64_t seq)
{
    struct phx_id id;
    uint32_t i;

    liar_update(l);
    for (i = 0; i < count; i++) {
        id = nobody(l, first + i);
        liar_entry(l, &id, 0, seq, 1, 0, 0);
    }
    liar_tail(l);
}

/* More than any table takes. */
static void say_ids(struct liar *l)
{
    const uint32_t at_once = 100;

    l->say_at = l->w->now + 4 * MS;
    if (l->turns * at_once * rig.links < rig.s->cfg.max_nodes + 1000u)
        put_nobodies(l, l->turns * at_once, at_once, 1);
}

static void tell_ids(struct sim *s)
{
    static const struct lie lie = { say_ids, NULL, NULL, 0, 2000 };

    tell_lie(s, "lie_ids", &lie);
}

/* ---- Control frames, as many as are taken ---------------------------------------------------- */

static void put_beat(struct liar *l)
{
    liar_head(l, LIAR_BEAT, 4, 0); /* SHRUNK */
    liar_put(l, 60000, 4);
    liar_put(l, l->turns, 8);
    liar_put(l, l->turns, 8);
    liar_put(l, 1, 8);
    liar_tail(l);
}

static void put_request(struct liar *l, uint64_t k)
{
    struct phx_id id = nobody(l, k);

    liar_head(l, LIAR_REQUEST, 0, 16);
    liar_bytes(l, id.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, 0, 4);
    liar_tail(l);
}

/* Names that the giver does not hold. */
static void put_hand(struct liar *l)
{
    struct phx_id hub;

    phx_self(rig.s->nodes[0].p, &hub);
    liar_head(l, LIAR_HAND, 0, 16);
    liar_bytes(l, hub.b, 16);
    liar_bytes(l, l->id.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, 0, 8);
    liar_put(l, UINT64_MAX, 8);
    liar_put(l, UINT64_MAX, 8);
    liar_tail(l);
}

/* Up to 500 nodes that are not there, news of them, questions for them, names given away, answers that nobody
 * asked for. */
static void say_flood(struct liar *l)
{
    uint32_t i;

    for (i = 0; i < 100; i++) {
        uint64_t k = (l->turns * 100 + i) % (500 / rig.links);
        if (i % 10 < 4)
            put_beat(l);
        else if (i % 10 < 7)
            put_nobodies(l, k, 1, 1 + l->turns);
        else if (i % 10 < 8)
            put_request(l, k);
        else if (i % 10 < 9)
            put_hand(l);
        else {
            liar_head(l, LIAR_SUMMARY, 1, 0); /* REPLY */
            liar_tail(l);
        }
    }
    l->say_at = l->w->now;
}

static void tell_flood(struct sim *s)
{
    static const struct lie lie = { say_flood, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_flood", &lie);
}

/* ---- Cards, as large as they may be, one after the other -------------------------------------- */

static void say_cards(struct liar *l)
{
    uint32_t count = (rig.s->o.full ? 100000u : 20000u) / (rig.links > 1 ? 10 : 1);

    liar_card(l, NULL, 1, count, (uint64_t)(l->number + 1) << 40, 0, 1 + l->turns);
    l->say_at = l->w->now;
}

static void tell_cards(struct sim *s)
{
    static const struct lie lie = { say_cards, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_cards", &lie);
}

/* The same, of nodes that are not there, where memory is short. */
static void say_hoard(struct liar *l)
{
    struct phx_id id = nobody(l, l->turns);

    liar_card(l, &id, 1, 20000, world_mix(l->turns + l->number) >> 1, 0, 1);
    l->say_at = l->w->now;
}

static void tell_hoard(struct sim *s)
{
    static const struct lie lie = { say_hoard, NULL, NULL, (size_t)8 << 20, 0 };

    tell_lie(s, "lie_hoard", &lie);
}

/* One link brings cards, and the others do not read what the hub passes on to them. */
static void say_deaf(struct liar *l)
{
    l->deaf = l->number > 0;
    l->say_at = WORLD_NEVER;
    if (!l->deaf)
        say_cards(l);
}

/* 32 MiB that wait to be written, the card that goes to all, and what the hub has of its own. */
static void hub_memory(struct sim *s)
{
    bar(s, "lie_deaf memory of the hub meanwhile, MiB", (double)rig.meanwhile / 1048576, 40);
}

static void tell_deaf(struct sim *s)
{
    static const struct lie lie = { say_deaf, NULL, hub_memory, 0, 0 };

    tell_lie(s, "lie_deaf", &lie);
}

/* ---- What is logged ------------------------------------------------------------------------- */

/* Lives from nowhere; and now and then a frame that ends the link. */
static void say_log(struct liar *l)
{
    struct phx_id id;
    uint32_t i;

    for (i = 0; i < 10; i++) {
        phx_self(rig.s->nodes[i % HONEST].p, &id);
        liar_update(l);
        liar_entry(l, &id, (uint64_t)1 << 62, 1, 1, 0, 0);
        liar_tail(l);
    }
    if (l->turns % 10 == 9) {
        liar_head(l, 99, 0, 0);
        liar_tail(l);
    }
    l->say_at = l->w->now + MS;
}

static void log_lines(struct sim *s)
{
    bar(s, "lie_log lines of log in the worst second", (double)rig.most_lines, 21);
}

static void tell_log(struct sim *s)
{
    static const struct lie lie = { say_log, NULL, log_lines, 0, 0 };

    tell_lie(s, "lie_log", &lie);
}

/* ---- All names that nobody has yet, by a claim that cannot be outbid ----------------------------- */

#define FREE_NAMES 1000u /* .. and above */

static void say_claim(struct liar *l)
{
    liar_card(l, NULL, 1, 1, FREE_NAMES, UINT64_MAX, UINT64_MAX);
    l->say_at = l->w->now + SECOND;
}

/* The first link says goodbye, of the others every second one. */
static void say_no_claim(struct liar *l)
{
    if (l->number % 2 == 0)
        liar_card(l, NULL, 1 | 2, 0, 0, 0, 0);
    l->say_at = WORLD_NEVER;
}

/* How many hosts do not believe that this one holds the name. */
static uint32_t doubts(const struct sim *s, uint64_t name, uint32_t holder)
{
    struct phx_id id, owner;
    uint32_t a, n = 0;

    phx_self(s->nodes[holder].p, &id);
    for (a = 0; a < HOSTS; a++)
        n += phx_owner(s->nodes[a].p, name, &owner) != 0 || memcmp(owner.b, id.b, sizeof id.b) != 0;
    return n;
}

/* Two hosts take a name from each other, and give it to each other. */
static void take_and_give(struct sim *s)
{
    uint32_t i, wrong = 0, lost = 0;
    struct phx_id heir;

    for (i = 0; i < 4 && !s->w->failed; i++) {
        uint32_t to = 1 + i % 2;
        wrong += phx_assume(s->nodes[to].p, 5000, 5000) != 0;
        world_touch(s->w, to);
        run_for(s, SECOND);
        wrong += doubts(s, 5000, to);
    }
    for (i = 0; i < 4 && !s->w->failed; i++) {
        uint32_t to = 1 + i % 2, from = 3 - to;
        phx_self(s->nodes[to].p, &heir);
        lost += phx_hand(s->nodes[from].p, 5000, 5000, &heir) != 0;
        world_touch(s->w, from);
        run_for(s, SECOND);
        lost += doubts(s, 5000, to);
    }
    bar(s, "lie_claim hosts that do not see a name go to who assumes it", wrong, 0);
    bar(s, "lie_claim hosts that do not see a name go to whom it is given", lost, 0);
}

static void tell_claim(struct sim *s)
{
    static const struct lie lie = { say_claim, say_no_claim, take_and_give, 0, 0 };

    tell_lie(s, "lie_claim", &lie);
}

/* ---- "It has arrived", in another's name ------------------------------------------------------- */

/* The liar guesses well how much was sent, and tries the conversations that a node would begin with. */
static void say_acks(struct liar *l)
{
    struct phx_id from, to;
    uint64_t epoch, more;
    uint32_t pair;

    for (pair = 0; pair < HONEST * HONEST; pair++) {
        uint32_t a = pair / HONEST, b = pair % HONEST;
        phx_self(rig.s->nodes[a].p, &from);
        phx_self(rig.s->nodes[b].p, &to);
        for (epoch = 1; a != b && epoch <= 4; epoch++)
            for (more = 0; more < 2; more++) {
                liar_head(l, LIAR_ACK, 0, 16);
                liar_bytes(l, from.b, 16);
                liar_bytes(l, to.b, 16);
                liar_put(l, epoch, 8);
                liar_put(l, rig.sent[a][b] + more, 8);
                liar_put(l, 4u << 20, 4);
                liar_tail(l);
            }
    }
    l->say_at = l->w->now + 3300 * rig.links;
}

static void tell_acks(struct sim *s)
{
    static const struct lie lie = { say_acks, NULL, NULL, 0, 0 };

    tell_lie(s, "lie_acks", &lie);
}

/* ---- The first byte of messages that never go on ------------------------------------------------ */

/* From as many sources as there are messages; they would have 16 MiB, 8, 4 ... for each host. */
static void say_parts(struct liar *l)
{
    uint32_t i, count = 200 / rig.links;

    put_nobodies(l, l->turns * count, count, 1);
    for (i = 0; i < count; i++) {
        struct phx_id source = nobody(l, l->turns * count + i), target;
        phx_self(rig.s->nodes[i % HONEST].p, &target);
        liar_head(l, LIAR_DATA, 1, 16); /* FIRST */
        liar_bytes(l, target.b, 16);
        liar_bytes(l, source.b, 16);
        liar_put(l, 0, 8);
        liar_put(l, 1, 8);
        liar_put(l, i % HONEST * 10, 8);
        liar_put(l, 0, 8);
        liar_put(l, 0, 8);
        liar_put(l, 16u << 20 >> (i / HONEST + l->number) % 9, 8);
        liar_put(l, 'x', 1);
        liar_tail(l);
    }
    l->say_at = l->w->now + SECOND;
}

static void tell_parts(struct sim *s)
{
    static const struct lie lie = { say_parts, NULL, NULL, (size_t)64 << 20, 0 };

    tell_lie(s, "lie_parts", &lie);
}

#define LIE(name, what) { "lie_" #name, what, HOSTS + 20, HOSTS + 1, HOSTS + LINKS, tell_##name, NULL }

const struct story lie_stories[] = {
    LIE(nothing, "a member says nothing: all must be well"),
    LIE(left, "a member says goodbye in the name of others"),
    LIE(dumb, "a member sends in the name of others"),
    LIE(reborn, "a member tells of a later life of others"),
    LIE(suspect, "a member says that others are silent"),
    LIE(ids, "a member makes up nodes"),
    LIE(flood, "a member sends control frames without end"),
    LIE(cards, "a member sends large cards without end"),
    LIE(hoard, "a member makes up nodes that have large cards"),
    LIE(deaf, "a member brings cards and does not read them"),
    LIE(log, "a member says what is worth a line of log"),
    LIE(claim, "a member claims all that is free, with the highest epoch"),
    LIE(acks, "a member acknowledges in the name of others"),
    LIE(parts, "a member begins messages that never go on"),
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
