/* deaths.c - many nodes of a full mesh die: what the survivors tell is of the dead, not of the living. */

/* When links with several neighbours are lost in one step, neighbourhoods differ by more than one node for a
 * moment, and those whose neighbourhoods differ owe each other updates. And who notices late still offers a
 * way that leads nowhere. Losses wait until they are settled: neither costs much (src/route/gap.c). */
#include "story.h"

#include <stdio.h>

static void deaths_bar(struct sim *s, const char *what, uint32_t dead, const char *how, double figure,
                       double limit)
{
    char name[80];

    snprintf(name, sizeof name, "deaths N=%u %u %s: %s", s->o.nodes, dead, how, what);
    bar(s, name, figure, limit);
}

static uint64_t relinked_us; /* the longest until all that were started again were linked with all */

/* The last `count` die, so many microseconds one after the other, and each of the others notices up to so
 * many later, as do processes on shared cores. Entries told; *bytes: what was written. */
static double deaths_cost(struct sim *s, uint32_t count, uint64_t apart_us, uint32_t late_us, double *bytes)
{
    struct sim_totals before = totals(s), after;
    uint32_t jitter = s->w->o.jitter_us;
    uint64_t again;

    for (uint32_t i = 0; i < count; i++) {
        s->w->o.jitter_us = jitter + late_us;
        crash(s, s->o.nodes - 1 - i);
        s->w->o.jitter_us = jitter;
        if (apart_us > 0)
            run_for(s, apart_us);
    }
    run_for(s, SECOND);
    after = totals(s);
    for (uint32_t i = 0; i < count; i++)
        restart(s, s->o.nodes - 1 - i);
    again = now_us(s);
    wait_until(s, all_linked, MINUTE);
    relinked_us = now_us(s) - again > relinked_us ? now_us(s) - again : relinked_us;
    settle(s, 10 * SECOND, MINUTE);
    *bytes = (double)(after.bytes - before.bytes);
    return (double)(after.entries - before.entries);
}

void tell_deaths(struct sim *s)
{
    static const struct { const char *how; uint64_t apart_us; uint32_t late_us; } ways[] = {
        { "at once", 0, 0 }, { "within a ms", 20, 0 }, { "one by one", SECOND, 0 },
        { "noticed late", 0, 100000 }
    };
    uint32_t counts[] = { 2, 8, s->o.nodes / 4, s->o.nodes / 2 };
    double one, bytes, entries;

    relinked_us = 0;
    add(s, s->o.nodes, 0, 0);
    start_all(s);
    join_all(s, 0);
    wait_until(s, all_linked, MINUTE);
    settle(s, 10 * SECOND, MINUTE);
    (void)deaths_cost(s, 1, 0, 0, &one);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t k = 0; k < 4 && !s->w->failed; k++) {
            entries = deaths_cost(s, counts[k], ways[w].apart_us, ways[w].late_us, &bytes);
            deaths_bar(s, "entries / (dead x survivors)", counts[k], ways[w].how,
                       entries / (counts[k] * (s->o.nodes - counts[k])), 2);
            if (ways[w].apart_us + ways[w].late_us == 0)
                deaths_bar(s, "bytes / those of one death", counts[k], ways[w].how,
                           bytes / (one * counts[k]), 1.5);
        }
    bar(s, "deaths started again at the old addresses, linked after s", (double)relinked_us / 1e6, 2);
}
