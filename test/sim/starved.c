/* starved.c - stories of nodes that share processors which have too much to do, or get none. */

/* Method: work costs what was measured (world_costs), a few cores carry all nodes, and what arrives while a
 * node works waits. So a crowd that makes itself more work than it gets done shows here, from a seed. */
#include "story.h"

#include <stdio.h>
#include <string.h>

#define WORD_BYTES 8u

void words_world(struct world_options *o)
{
    o->costs = &world_costs_measured;
    o->latency_us = 20; /* one host: loopback */
    o->spread_us = o->jitter_us = 10;
}

/* The same, and walls refuse at once. */
void words_sites_world(struct world_options *o)
{
    words_world(o);
    o->reject = 1;
}

/* ---- First words --------------------------------------------------------------------------- */

struct words {
    uint64_t relayed, retransmitted, looks, entries, lost, dials, worked_us;
};

static struct words words_sum(const struct sim *s)
{
    struct words sum;
    struct phx_stats st;
    uint32_t i;

    memset(&sum, 0, sizeof sum);
    for (i = 0; i < s->w->host_count; i++) {
        sum.worked_us += s->w->hosts[i].worked_us;
        if (!s->nodes[i].p)
            continue;
        phx_stats(s->nodes[i].p, &st);
        sum.relayed += st.relayed_frames;
        sum.retransmitted += st.retransmitted_frames;
        sum.looks += st.looks;
        sum.entries += st.entries_out;
        sum.lost += st.links_lost;
        sum.dials += st.dials;
    }
    return sum;
}

static int all_spoken(struct sim *s)
{
    uint64_t come = 0, all = (uint64_t)s->o.nodes * (s->o.nodes - 1);
    uint32_t i;

    for (i = 0; i < s->o.nodes; i++)
        come += s->nodes[i].messages;
    if (come >= all)
        return 1;
    (void)snprintf(s->why, sizeof s->why, "%llu of %llu first words have come", (unsigned long long)come,
                   (unsigned long long)all);
    return 0;
}

static void say_first(struct sim *s, uint32_t from)
{
    static const char word[WORD_BYTES];
    uint32_t to;

    for (to = 0; to < s->o.nodes && !s->w->failed; to++)
        if (to != from && phx_send(s->nodes[from].p, to * 10u, from * 10u, 0, word, sizeof word) != 0)
            world_fail(s->w, "host %u: phx_send failed", (unsigned)from);
    world_touch(s->w, from);
}

/* One of the full mesh is killed: the others lose their links with it, and no others, and are soon quiet. */
static void words_death(struct sim *s, uint32_t host)
{
    double others = (double)s->o.nodes - 1;
    uint64_t heard;
    struct words before = words_sum(s), after;

    before.worked_us -= s->w->hosts[host].worked_us; /* its own figures end with it */
    crash(s, host);
    heard = settle(s, 3 * SECOND, 5 * MINUTE);
    after = words_sum(s);
    figure(s, "first_words one killed: quiet after s", (double)heard / 1e6);
    figure(s, "first_words one killed: processor ms per survivor",
           (double)(after.worked_us - before.worked_us) / 1e3 / others);
    bar(s, "first_words one killed: entries per survivor", (double)(after.entries - before.entries) / others,
        9);
    bar(s, "first_words one killed: other links lost", (double)(after.lost - before.lost) - others, 0);
}

/* Hosts 0, 1 and 2 are hubs of a third of the nodes each. walls: each third is a site of which only its hub
 * can be dialled from another one. */
static void words_sites(struct sim *s, int walls)
{
    uint32_t n = s->o.nodes, a, b;

    for (a = 0; a < n && walls; a++)
        for (b = 0; b < n; b++)
            if (a % 3 != b % 3 && (a > 2 || b > 2))
                forbid(s, a, b);
    for (a = 1; a < n; a++)
        join(s, a, a < 3 ? 0 : a % 3);
}

static const char *name(char text[80], const char *what, const char *of)
{
    (void)snprintf(text, 80, "%s %s", what, of);
    return text;
}

/* All listen. */
static void words_listen(struct sim *s, uint32_t sharing)
{
    uint32_t n = s->o.nodes, i;

    s->names = 1;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        world_core(s->w, i, i % ((n + sharing - 1) / sharing));
    start_all(s);
    run_for(s, 100 * MS);
}

/* All have joined: each sends a word to each other at once. Until all have come. */
static struct words words_spoken(struct sim *s, const char *what)
{
    struct words sum;
    char text[80];
    uint32_t i;

    for (i = 0; i < s->o.nodes && !s->w->failed; i++)
        say_first(s, i);
    wait_until(s, all_spoken, MINUTE);
    sum = words_sum(s);
    figure(s, name(text, what, "all have spoken after s"), (double)now_us(s) / 1e6 - 0.1);
    figure(s, name(text, what, "processor s until then"), (double)sum.worked_us / 1e6);
    bar(s, name(text, what, "links lost"), (double)sum.lost, 0);
    return sum;
}

/* And until it is quiet. */
static struct words words_quiet(struct sim *s, const char *what, double entries, double relayed)
{
    double pairs = (double)s->o.nodes * (s->o.nodes - 1);
    struct words sum;
    char text[80];

    (void)settle(s, 3 * SECOND, 5 * MINUTE);
    sum = words_sum(s);
    figure(s, name(text, what, "quiet after s"), (double)now_us(s) / 1e6 - 0.1);
    figure(s, name(text, what, "processor s until it is quiet"), (double)sum.worked_us / 1e6);
    bar(s, name(text, what, "entries per ordered pair"), (double)sum.entries / pairs, entries);
    bar(s, name(text, what, "relayed frames per message until then"), (double)sum.relayed / pairs, relayed);
    return sum;
}

/* With three hubs. A message passes up to three relays, and so does its ack. Without walls nodes link across,
 * which makes shorter ways for others, and who is dialled does not dial, too. */
static void site_words(struct sim *s, uint32_t sharing, int walls)
{
    double pairs = (double)s->o.nodes * (s->o.nodes - 1);
    const char *what = walls ? "site_words" : "hub_words";
    struct words sum;
    char text[80];

    words_listen(s, sharing);
    words_sites(s, walls);
    sum = words_spoken(s, what);
    bar(s, name(text, what, "relayed frames per message"), (double)sum.relayed / pairs, 4);
    bar(s, name(text, what, "retransmitted frames per message"), (double)sum.retransmitted / pairs, 0.0);
    figure(s, name(text, what, "entries per ordered pair until then"), (double)sum.entries / pairs);
    sum = words_quiet(s, what, walls ? 3 : 5, 4);
    if (!walls)
        bar(s, "hub_words dials per pair", 2 * (double)sum.dials / pairs, 1.08);
    wait_until(s, all_well, MINUTE);
}

/* With one hub: all come to know and link with each other. */
static void first_words(struct sim *s, uint32_t sharing)
{
    double pairs = (double)s->o.nodes * (s->o.nodes - 1);
    struct words sum;

    words_listen(s, sharing);
    join_all(s, 0);
    sum = words_spoken(s, "first_words");
    bar(s, "first_words relayed frames per message", (double)sum.relayed / pairs, 2);
    figure(s, "first_words looks per message", (double)sum.looks / pairs);
    bar(s, "first_words retransmitted frames per message", (double)sum.retransmitted / pairs, 0.01);
    (void)words_quiet(s, "first_words", 3, 2);
    wait_until(s, all_linked, MINUTE);
    run_for(s, 10 * SECOND); /* then all know who is next to whom */
    words_death(s, s->o.nodes / 2);
    wait_until(s, all_well, MINUTE);
}

void tell_words_1(struct sim *s)
{
    first_words(s, 1);
}

void tell_words_10(struct sim *s)
{
    first_words(s, 10);
}

void tell_words_200(struct sim *s)
{
    first_words(s, 200);
}

void tell_site_words_10(struct sim *s)
{
    site_words(s, 10, 1);
}

void tell_site_words_200(struct sim *s)
{
    site_words(s, 200, 1);
}

void tell_hub_words_10(struct sim *s)
{
    site_words(s, 10, 0);
}

void tell_hub_words_200(struct sim *s)
{
    site_words(s, 200, 0);
}

#define KILLED_MOST 1000u

static struct {
    uint8_t heard[KILLED_MOST][KILLED_MOST]; /* by host, and who sent */
    uint64_t come, twice;                    /* between those that live to the end: all but host 0 */
} killed;

static void killed_message(phx *p, const struct phx_message *m, void *user)
{
    struct sim_node *n = user;
    uint32_t from = (uint32_t)m->from / 10u;

    (void)p;
    if (from == 0 || n->host == 0 || from >= KILLED_MOST)
        return;
    killed.twice += killed.heard[n->host][from];
    killed.come += !killed.heard[n->host][from];
    killed.heard[n->host][from] = 1;
}

static int killed_half(struct sim *s)
{
    return killed.come >= (uint64_t)(s->o.nodes - 1) * (s->o.nodes - 2) / 2;
}

static int killed_all(struct sim *s)
{
    return killed.come == (uint64_t)(s->o.nodes - 1) * (s->o.nodes - 2);
}

/* Three hubs are known to all, and the first is killed in the middle: all that the others say comes, once. */
static void words_killed(struct sim *s, uint32_t sharing)
{
    uint32_t n = s->o.nodes, i;
    uint64_t begin, died;

    memset(&killed, 0, sizeof killed);
    s->names = 1;
    s->cfg.on_message = killed_message;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        world_core(s->w, i, i % ((n + sharing - 1) / sharing));
    start_all(s);
    run_for(s, 100 * MS);
    begin = now_us(s);
    for (i = 0; i < 3; i++)
        join_all(s, i);
    for (i = 0; i < n && !s->w->failed; i++)
        say_first(s, i);
    wait_until(s, killed_half, MINUTE);
    died = now_us(s);
    crash(s, 0);
    wait_until(s, killed_all, MINUTE);
    figure(s, "words_killed died after s", (double)(died - begin) / 1e6);
    bar(s, "words_killed all the rest has come after s", (double)(now_us(s) - begin) / 1e6, 10);
    (void)settle(s, 3 * SECOND, MINUTE);
    bar(s, "words_killed words that came twice", (double)killed.twice, 0);
    wait_until(s, all_well, MINUTE);
}

void tell_words_killed(struct sim *s)
{
    words_killed(s, 10);
}

/* Two processors with as much else to do. All have an equal share of them, and the hubs have most to do. */
void tell_words_killed_200(struct sim *s)
{
    s->w->o.slow = 2;
    s->w->o.fair = 1;
    words_killed(s, 200);
}

/* ---- Starved is not dead --------------------------------------------------------------------- */

#define STARVED_CYCLE (10 * SECOND)
#define STARVED_STOP (9500 * MS)

static struct {
    struct phx_id victim;
    uint64_t failed, others; /* times somebody was taken for dead; of those that live */
    uint64_t links;          /* lost, and not because there were two */
    uint64_t told[256];      /* by host: when the victim was */
} starved;

static void starved_node(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;
    int victim = memcmp(&node->id, &starved.victim, sizeof starved.victim) == 0;

    (void)p;
    if (node->state != PHX_NODE_FAILED)
        return;
    starved.failed++;
    starved.others += !victim;
    if (victim && !starved.told[n->host])
        starved.told[n->host] = n->s->w->now;
}

static void starved_log(phx *p, int level, const char *line, void *user)
{
    struct sim_node *n = user;

    (void)p;
    starved.links += level == PHX_LOG_WARN && strstr(line, ": down") != NULL;
    world_say(n->s->w, 1, "host %u: %s", (unsigned)n->host, line);
}

/* Each second host is stopped for 9.5 s of each 10, at a phase of its own. */
static void starve_for(struct sim *s, uint64_t us, uint64_t *stop_at)
{
    uint64_t until = s->w->now + us;
    uint32_t i;

    while (s->w->now < until && !s->w->failed) {
        for (i = 1; i < s->o.nodes; i += 2)
            if (s->nodes[i].p && s->w->now >= stop_at[i]) {
                stall(s, i, STARVED_STOP);
                stop_at[i] += STARVED_CYCLE;
            }
        run_for(s, 50 * MS);
    }
}

/* The victim is killed, or loses its power: when the last was told, of those who are not starved and of the
 * others. A starved neighbour says that there is a way until it has had a turn to find that the link is
 * closed, or one to hear the rumour and one to find that no answer has come. */
static void starved_death(struct sim *s, uint32_t victim, int kill, uint64_t *stop_at)
{
    const struct phx_detector *t = &s->cfg.detector;
    uint64_t announced = victim % 2 ? 2 * STARVED_STOP : t->interval_us;
    uint64_t died = s->w->now, bound = announced + t->timeout_us + t->broken_us, worst[2] = { 0, 0 };
    const char *who = kill ? "the killed" : victim % 2 ? "starved" : "other";
    char name[96];
    uint32_t i;

    phx_self(s->nodes[victim].p, &starved.victim);
    memset(starved.told, 0, sizeof starved.told);
    if (kill)
        crash(s, victim);
    else
        power_off(s, victim);
    starve_for(s, bound + 6 * STARVED_CYCLE, stop_at);
    for (i = 0; i < s->o.nodes && !s->w->failed; i++) {
        if (!s->nodes[i].p)
            continue;
        if (!starved.told[i])
            world_fail(s->w, "host %u was not told that host %u is dead", (unsigned)i, (unsigned)victim);
        else if (starved.told[i] - died > worst[i % 2])
            worst[i % 2] = starved.told[i] - died;
    }
    (void)snprintf(name, sizeof name, "starved death of %s: others know after s", who);
    bar(s, name, (double)worst[0] / 1e6, (double)(bound + (kill ? 1 : 2) * STARVED_CYCLE) / 1e6 + 0.1);
    /* A turn to be told, one to ask, one to give the link up, and one to give the node up. */
    (void)snprintf(name, sizeof name, "starved death of %s: the starved know after s", who);
    bar(s, name, (double)worst[1] / 1e6, (double)(bound + 4 * STARVED_CYCLE) / 1e6 + 0.1);
}

void tell_starved(struct sim *s)
{
    uint64_t stop_at[256], lost;
    uint32_t i;

    memset(&starved, 0, sizeof starved);
    s->cfg.on_node = starved_node;
    s->cfg.on_log = starved_log;
    s->cfg.log_level = s->o.trace ? PHX_LOG_DEBUG : PHX_LOG_WARN;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    run_for(s, 20 * SECOND);
    for (i = 0; i < s->o.nodes; i++)
        stop_at[i] = s->w->now + rnd(s, STARVED_CYCLE);
    starve_for(s, 20 * SECOND + STARVED_CYCLE, stop_at); /* the last begins one cycle later */
    lost = starved.links;
    figure(s, "starved links lost in the first 20 s", (double)lost);
    starve_for(s, 100 * SECOND, stop_at);
    bar(s, "starved times one was taken for dead", (double)starved.failed, 0);
    bar(s, "starved links lost after the first 20 s", (double)(starved.links - lost), 0);
    starved_death(s, 4, 1, stop_at);
    starved_death(s, 2, 0, stop_at);
    starved_death(s, 3, 0, stop_at);
    bar(s, "starved times one that lives was taken for dead", (double)starved.others, 0);
    run_for(s, 2 * MINUTE);
    (void)settle(s, 3 * SECOND, 2 * MINUTE);
    wait_until(s, all_well, MINUTE);
}
