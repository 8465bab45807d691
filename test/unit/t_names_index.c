/* t_names_index.c - the index at size: arrivals, many claims, many changes at once. */
#include "names_rig.h"

static void test_arrivals(void)
{
    /* Goal: nodes that arrive and leave one by one, with a lookup after each, are found at once; many cards
     * in a row, and many lookups, cost one build of the index.
     * Method: 1,000 nodes with one range each, out of order; allocations are counted, of which a build makes
     * at least two. */
    enum { MANY = 1000 };
    struct phx__claim c;
    struct rig r;
    uint32_t i, bad = 0;
    long calls;

    rig_init(&r, MANY + 1, NULL);
    for (i = 0; i < MANY; i++) {
        uint32_t node = 1 + i * 387 % MANY;

        c.first = node * 100;
        c.last = node * 100 + 49;
        c.epoch = 1 + i;
        bad += set(&r, node, 0, &c, 1) != 0 || owner(&r, c.first + 25) != node;
    }
    ok(bad == 0, "1,000 arrivals");
    calls = r.heap.calls;
    for (i = 0; i < MANY; i++)
        bad += owner(&r, 100 * (1 + i) + 49) != 1 + i;
    ok(bad == 0 && r.heap.calls == calls, "no change, no build");
    for (i = 0; i < MANY; i++) {
        phx__names_forget(&r.names, 1 + i * 71 % MANY);
        if (i % 100 == 0)
            bad += owner(&r, 100 * (1 + i * 71 % MANY)) != PHX__NONE;
    }
    calls = r.heap.calls - calls;
    ok(bad == 0 && calls < 10 * 20, "1,000 departures and 10 lookups, %ld allocations", calls);
    ok(rig_free(&r), "freed");
}

static void test_scale(void)
{
    /* Goal: many ranges are no trouble, in a free space and where all overlap.
     * Method: 100 nodes with 1,000 ranges each, interleaved; then each node also claims what its
     * neighbour has, a little shifted; every boundary is looked up. The run must end, soon. */
    enum { HOSTS = 100, EACH = 1000 };
    struct phx__claim *c = malloc(EACH * sizeof *c);
    uint32_t node, i, bad = 0;
    struct rig r;
    long calls;
    int wide;

    rig_init(&r, HOSTS + 1, NULL);
    for (wide = 0; wide < 2; wide++) {
        for (node = 1; node <= HOSTS; node++) {
            for (i = 0; i < EACH; i++) {
                c[i].first = (i * (uint64_t)HOSTS + node) * 10;
                c[i].last = c[i].first + (wide ? 14 : 9);
                c[i].epoch = 1 + (uint64_t)wide * 2 + (i + node) % 2;
            }
            bad += set(&r, node, 0, c, EACH) != 0;
        }
        calls = r.heap.calls;
        for (node = 1; node <= HOSTS; node++) {
            for (i = 0; i < EACH; i++) {
                uint64_t name = (i * (uint64_t)HOSTS + node) * 10;

                bad += owner(&r, name + 5) != node; /* only its own */
                bad += owner(&r, name + 9) != node;
                if (!wide)
                    bad += owner(&r, name) != node;
            }
        }
        calls = r.heap.calls - calls;
        ok(bad == 0 && calls < 100, "100,000 ranges%s: one build, %ld allocations",
           wide ? " that overlap" : "", calls);
    }
    free(c);
    ok(rig_free(&r), "freed");
}

static void test_many_at_once(void)
{
    /* Goal: calls that change much leave the same index as small ones.
     * Method: 200 ranges of ours around 200 of another, index built; then all gaps are filled in
     * one call and all is released in one call, each followed by lookups. */
    enum { HALF = 200 };
    struct phx__claim c[HALF];
    uint32_t i, bad = 0;
    struct rig r;

    rig_init(&r, 2, NULL);
    for (i = 0; i < HALF; i++) {
        c[i].first = c[i].last = i * 4u;
        c[i].epoch = 1;
        bad += phx__names_assume(&r.names, i * 4u + 2, i * 4u + 2) != 1;
    }
    bad += set(&r, 1, 0, c, HALF) != 0;
    for (i = 0; i < HALF * 4; i++)
        bad += owner(&r, i) != (i % 4 == 0 ? 1 : i % 4 == 2 ? 0 : PHX__NONE);
    ok(bad == 0, "ours and theirs, interleaved");
    ok(phx__names_assume(&r.names, 0, HALF * 4) == 1, "all gaps in one call");
    for (i = 0; i < HALF * 4; i++)
        bad += owner(&r, i) != 0;
    ok(bad == 0, "all are ours");
    phx__names_forget(&r.names, 1);
    ok(owner(&r, 4) == 0, "without them too");
    ok(phx__names_release(&r.names, 1, HALF * 4) == 1, "all but one released in one call");
    for (i = 1; i < HALF * 4; i++)
        bad += owner(&r, i) != PHX__NONE;
    ok(bad == 0 && owner(&r, 0) == 0, "one is left");
    ok(rig_free(&r), "freed");
}

static void test_arrivals_beside_conflict(void)
{
    /* Goal: a conflict that lasts changes nothing for arrivals elsewhere.
     * Method: two others overlap; 100 more arrive in free places; then the upper one's epoch falls, with its
     * range unchanged. */
    struct phx__claim c;
    struct rig r;
    uint32_t i, bad = 0;

    rig_init(&r, 110, NULL);
    c.first = 0;
    c.last = 9;
    for (i = 1; i <= 2; i++) {
        c.epoch = 10 + i;
        set(&r, i, 0, &c, 1);
    }
    ok(owner(&r, 5) == 2, "two overlap");
    for (i = 3; i < 103; i++) {
        c.first = i * 10;
        c.last = c.first + 5;
        bad += set(&r, i, 0, &c, 1) != 0 || owner(&r, c.first) != i || owner(&r, 5) != 2;
    }
    ok(bad == 0, "100 arrive beside them");
    c.first = 0;
    c.last = 9;
    c.epoch = 1;
    set(&r, 2, 0, &c, 1);
    ok(owner(&r, 5) == 1, "an epoch alone turns it");
    ok(rig_free(&r), "freed");
}

int main(void)
{
    test_arrivals();
    test_scale();
    test_many_at_once();
    test_arrivals_beside_conflict();
    return test_end();
}
