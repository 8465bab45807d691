/* t_route_paper.c - the papers' update rules converge on still graphs, and cost more. */
#include "test.h"
#define PHX_PAPER /* in both builds: the product has no such rules, so its library cannot be asked */
#include "../../phoenix.c"
#include "routes.h"

static struct world world;

static uint64_t rules_run(int rules, uint64_t seed, uint32_t *wrong)
{
    struct world *w = &world;
    uint64_t entries;
    uint32_t i;

    world_begin(w, 5 + (uint32_t)(seed % 8), seed);
    w->rules = rules;
    for (i = 0; i < w->count; i++)
        host_start(w, i, 1);
    world_wire(w, w->count * 2);
    *wrong += !check(world_settle(w, 60, RIGHT_REACH) >= 0 && w->loops == 0, "rules %d, seed %u",
                     rules, (unsigned)seed);
    entries = world_entries(w);
    *wrong += !check(world_free(w), "rules %d, seed %u: freed", rules, (unsigned)seed);
    return entries;
}

static void test_static(void)
{
    /* Goal: promise 26: all three sets of rules reach everybody, and the default tells the least.
     * Method: 200 random graphs that do not change, the same for each; entries are added up. */
    uint64_t seed, ours = 0, paper = 0, naive = 0;
    uint32_t wrong = 0;

    for (seed = 0; seed < 200; seed++) {
        ours += rules_run(PAPER_NONE, seed, &wrong);
        paper += rules_run(PAPER_SETS, seed, &wrong);
        naive += rules_run(PAPER_NAIVE, seed, &wrong);
    }
    ok(wrong == 0, "200 graphs, all sets of rules reach everybody");
    ok(ours < paper && paper < naive, "promise 26: entries: default %u, paper %u, naive %u",
       (unsigned)ours, (unsigned)paper, (unsigned)naive);
}

int main(void)
{
    test_static();
    return test_end();
}
