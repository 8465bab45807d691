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

static int own_is(struct rig *r, const uint8_t *held, uint32_t names)
{
    uint32_t count = own_count(r), i = 0, bad = 0;

    for (uint32_t name = 0; name < names; name++) {
        const struct phx__claim *c = &r->names.of[PHX__SELF].at[i];

        i += i < count && c->last < name;
        c = &r->names.of[PHX__SELF].at[i];
        bad += held[name] != (i < count && c->first <= name);
    }
    for (i = 1; i < count; i++)
        bad += r->names.of[PHX__SELF].at[i - 1].last >= r->names.of[PHX__SELF].at[i].first;
    return bad == 0;
}

static void test_pages(void)
{
    /* Goal: many own claims that come and go in any order are those of name-by-name bookkeeping, and a change
     * moves few of the others, promise 74. What there is no memory for changes nothing.
     * Method: 40,000 ranges of 1 to 3 names, sometimes of thousands, assumed or released among 60,000 names
     * in phases; compared after each 2,000; each 50th call has no memory the first time. */
    enum { SPACE = 60000, CALLS = 40000 };
    static uint8_t held[SPACE];
    uint32_t most = 0, bad = 0, refused = 0;
    struct phx__rnd rnd;
    struct rig r;

    rig_init(&r, 2, NULL);
    r.names.keep = 0;
    phx__rnd_seed(&rnd, 1, 11);
    for (uint32_t i = 0; i < CALLS && bad == 0; i++) {
        int takes = phx__rnd_below(&rnd, 10) < (i / 8000 % 2 ? 2 : 8), rc = PHX_ENOMEM;
        uint64_t first = phx__rnd_below(&rnd, SPACE), last = first + phx__rnd_below(&rnd, 3);

        if (phx__rnd_below(&rnd, 500) == 0)
            last = first + phx__rnd_below(&rnd, 5000);
        last = last < SPACE ? last : SPACE - 1;
        r.heap.fail_at = i % 50 == 0 ? r.heap.calls + 1 : 0;
        for (int try = 0; try < 2 && rc == PHX_ENOMEM; try++, r.heap.fail_at = 0) {
            rc = takes ? phx__names_assume(&r.names, first, last) : phx__names_release(&r.names, first, last);
            refused += rc == PHX_ENOMEM;
        }
        bad += rc != (memchr(held + first, !takes, (size_t)(last - first + 1)) != NULL);
        memset(held + first, takes, (size_t)(last - first + 1));
        most = r.names.page_count > most ? r.names.page_count : most;
        bad += i % 2000 == 1999 && !own_is(&r, held, SPACE);
    }
    ok(bad == 0 && refused > 0, "own claims in any order, %u calls without memory", refused);
    ok(most > 8, "up to %u pages", most);
    ok(rig_free(&r), "freed");
}

/* How many pages there are after `count` claims in ascending order and one more, with `behind` after it. */
static uint32_t pages_after(uint32_t count, uint32_t behind)
{
    uint32_t pages;
    struct rig r;

    rig_init(&r, 2, NULL);
    for (uint32_t i = 0; i < count; i++)
        check(phx__names_assume(&r.names, 10 * i, 10 * i) == 1, "a claim");
    check(r.names.page_count == 0, "what comes at the end moves nothing");
    check(phx__names_assume(&r.names, 10 * (count - behind) - 5, 10 * (count - behind) - 5) == 1, "another");
    pages = r.names.page_count;
    check(phx__names_count(&r.names, PHX__SELF) == count + 1, "all are there");
    rig_free(&r);
    return pages;
}

static void test_page_sizes(void)
{
    /* Goal: a list of 256 claims is cut in two by one that comes where 128 move, and no other is. */
    ok(pages_after(255, 126) == 1, "256 with it, 128 from the one before it on");
    ok(pages_after(255, 125) == 0, "127");
    ok(pages_after(254, 200) == 0, "255 with it");
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

static void test_build_without_memory(void)
{
    /* Goal: an index that could not be built is not patched, but built when there is memory.
     * Method: node 2 gets claims between those of node 1, one by one; the k-th allocation of each look-up
     * fails. All is looked up after each failure. */
    enum { HELD = 300, MORE = 400 };
    struct phx__claim one[HELD], two[MORE];
    uint32_t i, k, at, bad = 0, failed = 0;
    int err;

    for (i = 0; i < MORE; i++) {
        two[i] = (struct phx__claim){ i * 100u + 50, i * 100u + 59, 2 };
        if (i < HELD)
            one[i] = (struct phx__claim){ i * 100u, i * 100u + 9, 1 };
    }
    for (k = 1; k <= 6; k++) {
        struct rig r;

        rig_init(&r, 3, NULL);
        bad += set(&r, 1, 0, one, HELD) != 0 || owner(&r, 5) != 1;
        for (i = 1; i <= MORE; i++) {
            bad += set(&r, 2, 0, two, i) != 0;
            r.heap.fail_at = r.heap.calls + k;
            (void)phx__names_owner(&r.names, 5, NULL, &err);
            r.heap.fail_at = 0;
            failed += err != 0;
            for (at = 0; at < MORE && err != 0; at++) {
                bad += owner(&r, at * 100u + 5) != (at < HELD ? 1 : PHX__NONE);
                bad += owner(&r, at * 100u + 55) != (at < i ? 2 : PHX__NONE);
            }
        }
        check(rig_free(&r), "freed");
    }
    ok(bad == 0 && failed > 0, "%u look-ups without memory, and %u wrong owners after them", failed, bad);
}

static void test_patch_bound(void)
{
    /* Goal: what a look-up patches is bounded, whatever has come: beyond it the index is built.
     * Method: a claim over 10,000 others, and one on each side of all of them; what is patched,
     * and memory for it, is counted. */
    enum { EACH = 10000 };
    struct phx__claim *c = malloc((EACH + 2) * sizeof *c), wide = { 0, UINT64_MAX, 1000 };
    size_t asked;
    struct rig r;

    for (uint32_t i = 0; i < EACH + 2; i++)
        c[i] = (struct phx__claim){ 10 + i * 10u, 14 + i * 10u, 1 };
    rig_init(&r, 3, NULL);
    set(&r, 1, 0, c + 1, EACH);
    ok(owner(&r, 22) == 1 && r.names.index.recent_count == 0, "%u claims", (unsigned)EACH);
    set(&r, 1, 0, c, EACH + 1);
    set(&r, 1, 0, c, EACH + 2);
    ok(owner(&r, 12) == 1 && r.names.index.recent_count == 0, "one on each side: all would be looked at");
    set(&r, 2, 0, &wide, 1);
    asked = r.heap.bytes_asked;
    ok(owner(&r, 12) == 2 && owner(&r, 99999999) == 2 && r.names.index.recent_count == 0, "one over all");
    ok(r.heap.bytes_asked - asked < 20 * EACH * sizeof *r.names.index.recent, "%u bytes for it",
       (unsigned)(r.heap.bytes_asked - asked));
    ok(rig_free(&r), "freed");
    free(c);
}

static void test_cost(void)
{
    /* Goal: what a build of the index costs is 16 a claim, and with 32,000 of them as much as it can be: who
     * brings a frame is charged for it, and no honest node has more. */
    enum { MOST = 32000 };
    struct phx__claim *c = malloc((MOST + 1) * sizeof *c);
    uint32_t i, cost[3];
    struct rig r;

    for (i = 0; i <= MOST; i++)
        c[i] = (struct phx__claim){ 10 * i, 10 * i + 4, 1 };
    rig_init(&r, 2, NULL);
    for (i = 0; i < 3; i++) {
        check(set(&r, 1, 0, NULL, 0) == 0 && owner(&r, 0) == PHX__NONE, "none");
        check(set(&r, 1, 0, c, MOST - 1 + i) == 0 && owner(&r, 0) == 1, "claims");
        cost[i] = r.names.index.cost;
    }
    ok(cost[0] == 511984 && cost[1] == 512000, "16 for each claim: %u, %u", cost[0], cost[1]);
    ok(cost[2] == 512000, "but no more than for 32,000: %u", cost[2]);
    ok(rig_free(&r), "freed");
    free(c);
}

/* New claims of so many nodes, `each` of them: is the index patched for them, and not built anew? */
static int is_patched(struct rig *r, uint32_t from, uint32_t nodes, uint32_t each)
{
    static struct phx__claim c[1000];
    uint32_t node, i, bad = 0;

    check(owner(r, 5) == 1, "up to date");
    for (node = from; node < from + nodes; node++) {
        for (i = 0; i < each; i++)
            c[i] = (struct phx__claim){ node * 100000 + 10 * i, node * 100000 + 10 * i, 1 };
        bad += set(r, node, 0, c, each) != 0;
    }
    check(owner(r, from * 100000) == from && bad == 0, "found");
    return r->names.index.recent_count > 0;
}

static void test_patches(void)
{
    /* Goal: new claims of eight nodes, 256 in all and one for each 64 that are there already, patch the
     * index; of more nodes, or more claims, it is built anew. */
    struct phx__claim few = { 0, 9, 1 };
    uint32_t most;
    struct rig r;

    rig_init(&r, 200, NULL);
    check(set(&r, 1, 0, &few, 1) == 0, "one that is there");
    ok(is_patched(&r, 10, 8, 1), "eight nodes");
    ok(!is_patched(&r, 20, 9, 1), "nine are too many");
    most = 256 + r.names.index.count / 64;
    ok(!is_patched(&r, 30, 1, most + 1), "%u claims are too many", most + 1);
    most = 256 + r.names.index.count / 64;
    ok(is_patched(&r, 31, 1, most), "%u are not", most);
    rig_free(&r);
}

static void test_room_of_epochs(void)
{
    /* Goal: an epoch in the upper half is not remembered, however near to it others are. */
    struct phx__claim high = { 0, 9, UINT64_MAX / 2 };
    struct rig r;

    rig_init(&r, 3, NULL);
    r.names.epoch_max = UINT64_MAX / 2 - 1;
    check(set(&r, 1, 0, &high, 1) == 0, "the last of the lower half");
    ok(r.names.epoch_max == UINT64_MAX / 2, "is remembered");
    high.epoch++;
    check(set(&r, 2, 0, &high, 1) == 0, "the first of the upper one");
    ok(r.names.epoch_max == UINT64_MAX / 2, "is not");
    rig_free(&r);
}

int main(void)
{
    test_arrivals();
    test_scale();
    test_many_at_once();
    test_pages();
    test_page_sizes();
    test_arrivals_beside_conflict();
    test_build_without_memory();
    test_cost();
    test_patch_bound();
    test_patches();
    test_room_of_epochs();
    return test_end();
}
