/* overload.c - stories of nodes that share processors which have too much to do. */

/* Method: work costs what was measured (world_costs), a few cores carry all nodes, and what arrives while a
 * node works waits. So a crowd that makes itself more work than it gets done shows here, from a seed. */
#include "story.h"

#include <stdio.h>
#include <string.h>

#define WORD_BYTES 8u

void overload_world(struct world_options *o)
{
    o->costs = &world_costs_measured;
    o->latency_us = 20; /* one host: loopback */
    o->spread_us = o->jitter_us = 10;
}

/* ---- First words --------------------------------------------------------------------------- */

struct words {
    uint64_t relayed, retransmitted, looks, entries, lost, worked_us;
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

/* All listen, then all join the one hub that they know, and each sends a word to each other at once. */
static void first_words(struct sim *s, uint32_t sharing)
{
    uint32_t n = s->o.nodes, i;
    struct words sum;
    double pairs = (double)n * (n - 1), spoken;

    s->names = 1;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        world_core(s->w, i, i % ((n + sharing - 1) / sharing));
    start_all(s);
    run_for(s, 100 * MS);
    join_all(s, 0);
    for (i = 0; i < n && !s->w->failed; i++)
        say_first(s, i);
    wait_until(s, all_spoken, MINUTE);
    spoken = (double)now_us(s) / 1e6 - 0.1;
    sum = words_sum(s);
    figure(s, "first_words all have spoken after s", spoken);
    figure(s, "first_words processor s until then", (double)sum.worked_us / 1e6);
    bar(s, "first_words relayed frames per message", (double)sum.relayed / pairs, 2);
    figure(s, "first_words looks per message", (double)sum.looks / pairs);
    figure(s, "first_words retransmitted frames per message", (double)sum.retransmitted / pairs);
    figure(s, "first_words links lost", (double)sum.lost);
    (void)settle(s, 3 * SECOND, 5 * MINUTE);
    sum = words_sum(s);
    figure(s, "first_words quiet after s", (double)now_us(s) / 1e6 - 0.1);
    figure(s, "first_words processor s until then", (double)sum.worked_us / 1e6);
    bar(s, "first_words entries per ordered pair", (double)sum.entries / pairs, 3);
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
