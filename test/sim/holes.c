/* holes.c - scenarios about direct paths that pass a hello and not what it is for.
 *
 * Hosts 1 and 2 talk, and all the others could relay. A hole lets segments up to a size pass and swallows
 * larger ones, and then all that is behind them in the stream, as a tunnel does whose routers tell nobody. */
#include "chat.h"
#include "story.h"

#include <stdlib.h>
#include <string.h>

#define MOST 40000u

static void dig(struct sim *s, uint32_t bytes)
{
    s->w->o.hole_bytes = bytes;
    world_pair(s->w, 1, 2, WORLD_PAIR_HOLE, 1);
    world_pair(s->w, 2, 1, WORLD_PAIR_HOLE, 1);
}

static void fill(struct sim *s)
{
    world_pair(s->w, 1, 2, WORLD_PAIR_HOLE, 0);
    world_pair(s->w, 2, 1, WORLD_PAIR_HOLE, 0);
}

static void talk(struct sim *s, uint32_t per_second, uint32_t bytes_max)
{
    struct chat_plan plan;

    memset(&plan, 0, sizeof plan);
    plan.per_second = per_second;
    plan.bytes_max = bytes_max;
    plan.first = plan.talk_first = 1;
    plan.count = plan.talkers = 2;
    chat_begin(s, &plan);
}

static void begin(struct sim *s)
{
    s->names = 1;
    s->cfg.mem_limit = (size_t)64 << 20;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* In milliseconds, of both ways together. */
static double p99(struct sim *s, uint64_t since)
{
    uint64_t *all = malloc(2 * MOST * sizeof *all);
    size_t n;
    double at = 0;

    if (!all) {
        world_fail(s->w, "the simulator is out of memory");
        return 0;
    }
    n = chat_delays(s, 1, 2, since, all, MOST);
    n += chat_delays(s, 2, 1, since, all + n, MOST);
    qsort(all, n, sizeof *all, by_size);
    if (n < 100)
        world_fail(s->w, "only %u messages", (unsigned)n);
    else
        at = (double)all[n - n / 100 - 1] / 1000;
    free(all);
    return at;
}

/* The path is so from the beginning; then it begins to be so, and ends. Promise 15. */
void tell_hole(struct sim *s)
{
    uint64_t lost, since;

    begin(s);
    dig(s, 1280);
    start_all(s);
    run_for(s, 10 * SECOND);
    wait_until(s, all_reachable, MINUTE);
    talk(s, 50, 4000);
    run_for(s, 150 * SECOND);
    bar(s, "hole p99, ms", p99(s, s->w->start), 2000);
    bar(s, "hole links lost", (double)totals(s).links_lost, 0);
    fill(s);
    wait_until(s, all_linked, 2 * MINUTE);
    lost = totals(s).links_lost;
    dig(s, 1280); /* the link that is up must be lost once, and no other after it */
    run_for(s, 30 * SECOND);
    since = s->w->now;
    run_for(s, 150 * SECOND);
    bar(s, "hole p99 of a path that became bad, 30 s later, ms", p99(s, since), 2000);
    bar(s, "hole links lost when a path became bad", (double)(totals(s).links_lost - lost), 2);
    chat_hush(s);
    fill(s);
    chat_bars(s, "hole", MINUTE);
}

/* What the hello carries passes, and messages do not: without a rest the link is made and lost four times a
 * minute. */
void tell_flaky(struct sim *s)
{
    uint64_t since, lost;

    begin(s);
    dig(s, 2000);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    talk(s, 20, 20000);
    run_for(s, 600 * SECOND);
    bar(s, "flaky_path links lost in ten minutes", (double)totals(s).links_lost, 16);
    since = s->w->now;
    lost = totals(s).links_lost;
    run_for(s, 600 * SECOND);
    bar(s, "flaky_path links lost in the next ten", (double)(totals(s).links_lost - lost), 4);
    figure(s, "flaky_path p99 in the next ten, ms", p99(s, since));
    chat_hush(s);
    fill(s);
    wait_until(s, all_linked, 15 * MINUTE);
    chat_bars(s, "flaky_path", MINUTE);
}

/* A host that stops loses its links by silence, as a bad path does; and so do halves that do not hear each
 * other. The mesh is whole again soon, also at the fifth time. */
void tell_late_ends(struct sim *s)
{
    uint32_t i, n = s->o.nodes;
    uint64_t worst = 0, from;

    begin(s);
    start_all(s);
    wait_until(s, all_linked, MINUTE);
    talk(s, 20, 4000);
    for (i = 0; i < 5 && !s->w->failed; i++) {
        stall(s, i % n, (uint64_t)(11 + i * 3) * SECOND);
        run_for(s, (uint64_t)(11 + i * 3) * SECOND + SECOND);
        from = s->w->now;
        wait_until(s, all_linked, 2 * MINUTE);
        worst = s->w->now - from > worst ? s->w->now - from : worst;
    }
    bar(s, "late_ends time to a full mesh, s", (double)worst / 1e6, 5);
    chat_hush(s);
    chat_bars(s, "late_ends", MINUTE);
}
