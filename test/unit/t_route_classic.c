/* t_route_classic.c - the papers' update rules converge on still graphs, and cost more. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "routes.h"

static struct world world;

static uint64_t classic_run(int variant, uint64_t seed, uint32_t *wrong)
{
    struct world *w = &world;
    uint64_t entries;

    world_init(w, 5 + (uint32_t)(seed % 8), variant, seed);
    world_wire(w, w->count * 2);
    *wrong += !check(world_settle(w, 60, RIGHT_REACH) >= 0 && w->loops == 0, "variant %d, seed %u",
                     variant, (unsigned)seed);
    entries = world_entries(w);
    *wrong += !check(world_free(w), "variant %d, seed %u: freed", variant, (unsigned)seed);
    return entries;
}

static void test_static(void)
{
    /* Goal: promise 26: all three variants reach everybody, and the default tells the least.
     * Method: 200 random graphs that do not change, the same for each; entries are added up. */
    uint64_t seed, ours = 0, paper = 0, naive = 0;
    uint32_t wrong = 0;

    for (seed = 0; seed < 200; seed++) {
        ours += classic_run(PHX_ROUTING_DEFAULT, seed, &wrong);
        paper += classic_run(PHX_ROUTING_PAPER, seed, &wrong);
        naive += classic_run(PHX_ROUTING_NAIVE, seed, &wrong);
    }
    ok(wrong == 0, "200 graphs, all variants reach everybody");
    ok(ours < paper && paper < naive, "promise 26: entries: default %u, paper %u, naive %u",
       (unsigned)ours, (unsigned)paper, (unsigned)naive);
}

int main(void)
{
    test_static();
    return test_end();
}
