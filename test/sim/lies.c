/* lies.c - members that lie, and what honest nodes have to bear: WIRE.md, section 9, promises 54, 61, 110. */

/* Four honest hosts: 0 is the hub, 3 is linked with it alone. Each sends to each other a small message with a
 * token every 10 ms, and a large one now and then. Then comes one member that has the key, relays nothing,
 * and has one link with the hub, or twenty (by as many ids); it lies for a while and goes. Asked of each lie:
 *
 *   failed     no honest node counts as FAILED or LEFT with another
 *   wrong      each honest message is heard once, in order, whole, and told as PHX_OK, after that; and
 *              none is heard that nobody sent
 *   late       99 of 100 messages sent meanwhile take at most 1 s
 *   log        at most 20 lines in a second, and one that counts the rest
 *   after      5 s after the liar has gone 99 of 100 take no longer than before it came, memory but what is
 *              kept of the dead, or for the next messages, is as it was, and everybody, a newcomer too, talks
 *              with everybody
 *
 * Processor time does not pass in the simulated world of itself, and many of these lies aim at it. So an
 * honest node takes no step for as long as its last one would have lasted: CALL_NS for each call of struct
 * phx_os and BLOCK_NS for each basic block run in phoenix.c. Where these are not counted (see build_work in
 * run.sh) it is FRAME_NS for each frame that came.
 *
 * The lies are one story each, in lies_said.c: NODES is 5 + the number of links. */
#include "lies.h"

#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEWCOMER HONEST
/* What real processes paid for a frame while one of these lies kept them busy: 2.5 million in 10 s. */
#define FRAME_NS 4000u
#define BLOCK_NS 3u
#define CALL_NS 1000u
#define TALK_US (10 * MS)
#define SMALL 100u
#define LARGE (256u << 10)
#define LARGE_EVERY (500 * MS)
#define WINDOW (2 * SECOND) /* in which latency and memory are measured, before and after */
#define REPAIR (5 * SECOND) /* from the end of the lie to the second such window */
#define STRAGGLERS (10 * SECOND)

struct said {
    uint64_t at, heard_at; /* 0: not heard */
    uint32_t from, to;
    uint32_t size;
    uint8_t told, wrong; /* it was told its outcome; something is not right with it */
};

struct lies_seen lies_seen;

static struct {
    const struct lie *lie;
    struct liar liars[LINKS];
    struct said *at;
    size_t count, capacity;
    unsigned char *bytes, *expected; /* LARGE each */
    uint64_t last[HOSTS][HOSTS];     /* number + 1 of what was heard last, by receiver and sender */
    uint64_t large_at, talk_at;
    uint32_t talkers;
    uint64_t frames[HOSTS], calls[HOSTS]; /* charged so far */
    uint64_t busy[HOSTS], longest;   /* ns in all, and of one step */
    double used;                     /* of the hub's processor, while there were lies */
    size_t memory[HOSTS];            /* the most since it was set to 0 */
    uint64_t failed, conflicts, made_up, refused, closed;
    uint64_t second[HOSTS], lines[HOSTS], most_lines; /* of log, in that second */
} rig;

/* ---- Honest hosts --------------------------------------------------------------------------- */

static uint32_t host_of(const struct phx_id *id)
{
    uint32_t life = check_life(lies_seen.s->c, id);

    return life == WORLD_NONE ? WORLD_NONE : lies_seen.s->c->lives[life].host;
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
        || rig.last[n->host][said->from] >= m->tag) {
        said->wrong = 1;
        world_say(n->s->w, 1, "host %u: message %llu of host %u: %s", (unsigned)n->host,
                  (unsigned long long)m->tag, (unsigned)said->from,
                  said->heard_at ? "once more" : "not whole, or out of order");
    }
    rig.last[n->host][said->from] = m->tag;
    said->heard_at = n->s->w->now;
}

static void told(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct sim_node *n = user;
    struct said *said = token > 0 && token <= rig.count ? &rig.at[token - 1] : NULL;

    (void)p, (void)to, (void)tag;
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

/* Blocks of phoenix.c since the last step of any host. */
static uint64_t blocks, blocks_ever;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

/* Of the step that is over, in ns. */
static uint64_t cost(uint32_t host, const struct phx_stats *st)
{
    uint64_t frames = st->frames_in - rig.frames[host], calls = st->os_calls - rig.calls[host];

    rig.frames[host] = st->frames_in;
    rig.calls[host] = st->os_calls;
    blocks_ever += blocks;
    return blocks_ever ? blocks * BLOCK_NS + calls * CALL_NS : frames * FRAME_NS;
}

static void stepped(void *ctx, uint32_t host)
{
    struct sim *s = ctx;
    struct world_host *h = &s->w->hosts[host];
    struct phx_stats st;
    size_t used;
    uint64_t ns;

    if (host < HOSTS && s->nodes[host].p) {
        phx_stats(s->nodes[host].p, &st);
        ns = cost(host, &st);
        rig.busy[host] += ns;
        if (ns > rig.longest)
            rig.longest = ns;
        if (s->w->now + ns / 1000 > h->stalled_until)
            h->stalled_until = s->w->now + ns / 1000;
        used = h->mem_used - check_spare_bytes(s->nodes[host].p);
        if (used > rig.memory[host])
            rig.memory[host] = used;
    }
    blocks = 0;
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
    lies_seen.sent[a][b] += (size + 65535) / 65536;
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
    blocks = 0;
}

/* ---- The story ------------------------------------------------------------------------------ */

static void settle_honest(struct sim *s, const struct lie *lie)
{
    uint32_t a;

    free(rig.at);
    free(rig.bytes);
    memset(&rig, 0, sizeof rig);
    memset(&lies_seen, 0, sizeof lies_seen);
    lies_seen.s = s;
    rig.lie = lie;
    lies_seen.links = s->o.nodes - HOSTS;
    rig.bytes = calloc(2, LARGE);
    if (!rig.bytes) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    rig.expected = rig.bytes + LARGE;
    s->names = 1;
    s->liars = lie->is_malformed;
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

/* The links come up, and only then the lie begins. */
static void links_up(struct sim *s)
{
    struct phx_stats st;
    uint32_t i;

    for (i = 0; i < lies_seen.links; i++) {
        rig.liars[i].number = i;
        liar_start(&rig.liars[i], s->w, HOSTS + i, 0, PORT, NULL);
    }
    run_for(s, 500 * MS);
    if (s->w->failed)
        return;
    phx_stats(s->nodes[0].p, &st);
    if (st.links != HONEST - 1 + lies_seen.links)
        world_fail(s->w, "the hub has %u links, %u of them with liars are wanted", (unsigned)st.links,
                   (unsigned)lies_seen.links);
}

static void all_say(struct sim *s, void (*say_it)(struct liar *l))
{
    uint32_t i;

    for (i = 0; i < lies_seen.links && !s->w->failed; i++) {
        rig.liars[i].say = say_it;
        rig.liars[i].say_at = s->w->now;
        world_touch(s->w, rig.liars[i].host);
    }
}

static void lie_for(struct sim *s, uint64_t us)
{
    uint32_t i;

    all_say(s, rig.lie->say);
    run_for(s, us);
    if (rig.lie->farewell) {
        all_say(s, rig.lie->farewell);
        run_for(s, 200 * MS);
    }
    for (i = 0; i < lies_seen.links; i++) {
        rig.closed += rig.liars[i].closed;
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

void tell_lie(struct sim *s, const char *story, const struct lie *lie)
{
    size_t before[HOSTS], after[HOSTS];
    uint64_t calm, lies, gone, again, end, used;
    double growth;

    settle_honest(s, lie);
    run_for(s, 2 * SECOND);
    calm = window(s, before);
    links_up(s);
    memset(rig.memory, 0, sizeof rig.memory);
    lies = s->w->now;
    used = rig.busy[0];
    lie_for(s, s->o.full ? 10 * SECOND : 2 * SECOND);
    gone = s->w->now;
    lies_seen.hub_memory = rig.memory[0];
    rig.used = (double)(rig.busy[0] - used) / 1e3 / (double)(gone - lies);
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
    say_bar(s, story, "lines of log in the worst second", (double)rig.most_lines, 21);
    if (rig.refused)
        figure(s, "sends refused", (double)rig.refused);
    if (rig.closed)
        figure(s, "times that the hub closed a liar's link", (double)rig.closed);
    if (rig.made_up)
        figure(s, "messages heard or told that nobody sent", (double)rig.made_up);
    figure(s, "p99 before, ms", p99(s, calm, lies));
    figure(s, "share of the hub's processor meanwhile", rig.used);
    figure(s, "longest step, ms", (double)rig.longest / 1e6);
    figure(s, "memory of the hub meanwhile, MiB", (double)lies_seen.hub_memory / 1048576);
    if (lie->later)
        lie->later(s);
    free(rig.at);
    free(rig.bytes);
    rig.at = NULL;
    rig.bytes = NULL;
}
