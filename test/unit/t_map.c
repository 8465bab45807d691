/* t_map.c - the hash map against a naive array, and the generator that drives such tests. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/map.h"
#include "base/rnd.h"
#endif

#define ABSENT UINT32_MAX

static void test_basics(void)
{
    /* Goal: the contract of each call at its edges. Method: by hand, including keys 0 and 2^64-1. */
    struct phx__mem mem;
    struct phx__map m;

    phx__mem_init(&mem, NULL, 0);
    phx__map_init(&m, &mem);
    ok(phx__map_get(&m, 0) == ABSENT, "empty map has no 0");
    phx__map_del(&m, 0);
    ok(m.count == 0 && mem.used == 0, "an empty map costs nothing, deleting there is nothing");
    ok(phx__map_put(&m, 0, 7) == 0 && phx__map_get(&m, 0) == 7, "key 0");
    ok(m.capacity == 16 && mem.used == 192, "16 slots at first");
    ok(phx__map_put(&m, UINT64_MAX, UINT32_MAX - 1) == 0, "largest key and value");
    ok(phx__map_get(&m, UINT64_MAX) == UINT32_MAX - 1 && m.count == 2, "found");
    ok(phx__map_put(&m, 0, 8) == 0 && phx__map_get(&m, 0) == 8 && m.count == 2, "replaced");
    phx__map_del(&m, 5);
    ok(m.count == 2, "deleting an absent key is nothing");
    phx__map_del(&m, 0);
    ok(phx__map_get(&m, 0) == ABSENT && m.count == 1, "deleted");
    phx__map_free(&m);
    ok(mem.used == 0 && phx__map_get(&m, UINT64_MAX) == ABSENT, "freed, and usable as empty");
    ok(phx__map_put(&m, 1, 1) == 0 && phx__map_get(&m, 1) == 1, "and filled again");
    phx__map_free(&m);
}

/* The naive array: a key is its index, the value ABSENT or not. */
enum { KEYS = 500 };

static int agrees(const struct phx__map *m, const uint64_t *keys, const uint32_t *model)
{
    uint32_t i, count = 0;

    for (i = 0; i < KEYS; i++) {
        count += model[i] != ABSENT;
        if (phx__map_get(m, keys[i]) != model[i])
            return 0;
    }
    return count == m->count && (m->capacity == 0 || m->count <= m->capacity / 4 * 3);
}

static void test_model(void)
{
    /* Goal: any sequence of put, del and get behaves as the naive array does.
     * Method: 20 seeds, 20,000 random calls each on 500 keys (dense, sparse, or random); the share of
     * deletions swings, so that the map is filled and emptied and runs wrap around the table's end. All
     * 500 keys are compared after every 50 calls. */
    uint64_t keys[KEYS], seed;
    uint32_t model[KEYS], i;
    struct phx__mem mem;
    struct phx__rnd r;
    struct phx__map m;
    int n, good;

    for (seed = 1; seed <= 20; seed++) {
        phx__mem_init(&mem, NULL, 0);
        phx__map_init(&m, &mem);
        phx__rnd_seed(&r, seed, 0);
        for (i = 0; i < KEYS; i++) {
            keys[i] = seed % 3 == 0 ? i : seed % 3 == 1 ? (uint64_t)i << 32 : phx__rnd_next(&r);
            model[i] = ABSENT;
        }
        good = 1;
        for (n = 0; n < 20000 && good; n++) {
            i = (uint32_t)phx__rnd_below(&r, KEYS);
            if (phx__rnd_below(&r, 10) < (n / 2000 % 2 ? 7u : 2u)) {
                phx__map_del(&m, keys[i]);
                model[i] = ABSENT;
            } else {
                model[i] = (uint32_t)phx__rnd_below(&r, UINT32_MAX);
                good = phx__map_put(&m, keys[i], model[i]) == 0;
            }
            if (n % 50 == 0)
                good = good && agrees(&m, keys, model);
        }
        ok(good && agrees(&m, keys, model), "seed %d", (int)seed);
        phx__map_free(&m);
    }
}

static void test_failure(void)
{
    /* Goal: a put that finds no memory leaves the map as it was, and the next one works.
     * Method: for every n, fail the n-th allocation while putting 200 keys; retry the failed put. Then
     * the same with the limit: fill until it is hit. */
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__map m;
    uint64_t k, j;
    long fail_at;
    int failed, bad = 0;

    alloc.alloc = test_alloc;
    alloc.world = &heap;
    for (fail_at = 1, failed = 1; failed; fail_at++) {
        memset(&heap, 0, sizeof heap);
        heap.fail_at = fail_at;
        phx__mem_init(&mem, &alloc, 0);
        phx__map_init(&m, &mem);
        for (k = 0, failed = 0; k < 200; k++) {
            if (phx__map_put(&m, k, (uint32_t)k) != 0) {
                failed++;
                bad += phx__map_get(&m, k) != ABSENT || m.count != k;
                for (j = 0; j < k; j++)
                    bad += phx__map_get(&m, j) != j;
                bad += phx__map_put(&m, k, (uint32_t)k) != 0;
            }
        }
        for (k = 0; k < 200; k++)
            bad += phx__map_get(&m, k) != k;
        bad += failed > 1;
        phx__map_free(&m);
        bad += !test_heap_is_clean(&heap) || mem.used != 0;
    }
    ok(bad == 0 && fail_at > 4, "%d allocations failed in turn", (int)fail_at - 2);
    memset(&heap, 0, sizeof heap);
    phx__mem_init(&mem, &alloc, 2000);
    phx__map_init(&m, &mem);
    for (k = 0; phx__map_put(&m, k, 1) == 0; k++)
        continue;
    ok(k > 10 && mem.peak <= 2000 && phx__map_put(&m, 0, 2) == 0, "at the limit, replacing still works");
    phx__map_del(&m, 3);
    ok(phx__map_put(&m, k, 1) == 0 && phx__map_get(&m, k) == 1, "and a deletion makes room for one");
    phx__map_free(&m);
    ok(test_heap_is_clean(&heap) && mem.used == 0, "clean at the end");
}

static void test_mix(void)
{
    /* Goal: the mix is the published one and spreads. Method: known values (0 is a fixed point), then
     * flipping any one input bit must flip about half of the output bits. */
    uint64_t x = UINT64_C(0x0123456789abcdef), d;
    int bit, flips, low = 64, high = 0;

    ok(phx__map_mix(0) == 0, "mix of 0");
    ok(phx__map_mix(1) == UINT64_C(0xb456bcfc34c2cb2c), "mix of 1");
    for (bit = 0; bit < 64; bit++) {
        d = phx__map_mix(x) ^ phx__map_mix(x ^ (uint64_t)1 << bit);
        for (flips = 0; d != 0; d &= d - 1)
            flips++;
        low = flips < low ? flips : low;
        high = flips > high ? flips : high;
    }
    ok(low >= 16 && high <= 48, "one bit flips %d to %d of 64", low, high);
}

static void test_rnd(void)
{
    /* Goal: the generator is xoroshiro128++, seeds differ and repeat, and below() is in range and even.
     * Method: the first outputs from state (1, 2), computed apart from this code; counts of a die. */
    static const uint64_t known[] = { UINT64_C(393217), UINT64_C(669327710093319),
                                      UINT64_C(1732421326133921491), UINT64_C(11394790081659126983) };
    struct phx__rnd r = { { 1, 2 } }, q;
    uint64_t bounds[] = { 1, 2, 3, 7, 64, 1000003, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX };
    int i, bad = 0, counts[6] = { 0 };
    size_t b;

    for (i = 0; i < 4; i++)
        bad += phx__rnd_next(&r) != known[i];
    ok(bad == 0, "known outputs");
    phx__rnd_seed(&r, 3, 4);
    phx__rnd_seed(&q, 3, 4);
    ok(phx__rnd_next(&r) == phx__rnd_next(&q), "a seed repeats");
    phx__rnd_seed(&q, 4, 3);
    ok(phx__rnd_next(&r) != phx__rnd_next(&q), "(a, b) is not (b, a)");
    phx__rnd_seed(&q, 0, 0);
    ok((q.s[0] | q.s[1]) != 0, "seed 0, 0 does not stand still");
    for (b = 0; b < PHX__COUNT(bounds); b++) {
        for (i = 0; i < 1000; i++)
            bad += phx__rnd_below(&r, bounds[b]) >= bounds[b];
    }
    ok(bad == 0, "always below the bound");
    for (i = 0; i < 60000; i++)
        counts[phx__rnd_below(&r, 6)]++;
    for (i = 0; i < 6; i++)
        bad += counts[i] < 9600 || counts[i] > 10400; /* four standard deviations of 91 */
    ok(bad == 0, "a die is fair");
    /* With a bound of 3/4 of all, a plain modulo would hit the lowest third half of the time. */
    for (i = 0, counts[0] = 0; i < 30000; i++)
        counts[0] += phx__rnd_below(&r, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    ok(counts[0] > 9600 && counts[0] < 10400, "fair for bounds that do not divide (%d)", counts[0]);
}

static void test_most(void)
{
    /* Goal: a map grows to 2^27 slots and no further. Method: one that says it has half as many, or so many,
     * and is three quarters full; of its slots only the first are there, and a key is found whose place is
     * among these. No memory is given, but it is seen whether any was asked for. */
    struct test_heap heap = { .fail_from = 1 };
    struct phx_alloc alloc = { test_alloc, &heap };
    uint32_t slots[64 * 3];
    struct phx__mem mem;
    struct phx__map m;
    uint64_t key = 0;
    long calls[2];
    int i;

    memset(slots, 0xff, sizeof slots);
    while ((phx__map_mix(key) & ((1u << 27) - 1)) >= 64)
        key++;
    phx__mem_init(&mem, &alloc, 0);
    for (i = 0; i < 2; i++) {
        m = (struct phx__map){ &mem, (void *)slots, 3u << (24 + i), 1u << (26 + i) };
        check(phx__map_put(&m, key, 1) == PHX_ENOMEM && m.capacity == 1u << (26 + i), "it stays as it is");
        calls[i] = heap.calls;
    }
    ok(calls[0] == 1, "room for 2^27 slots is asked for");
    ok(calls[1] == 1, "and for no more");
}

static void test_fit(void)
{
    /* Goal: a map with keys in less than three sixteenths of its slots gives half of them back, to 16, and
     * without memory for that stays. Method: 1,000 keys, and all but some are deleted. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem mem;
    struct phx__map m;
    uint32_t k, bad = 0;

    phx__mem_init(&mem, &alloc, 0);
    phx__map_init(&m, &mem);
    for (k = 0; k < 1000; k++)
        bad += phx__map_put(&m, k, k) != 0;
    ok(bad == 0 && m.capacity == 2048, "1,000 keys");
    for (k = 999; k >= 384; k--)
        phx__map_del(&m, k);
    phx__map_fit(&m);
    ok(m.capacity == 2048, "384 of 2,048 are enough");
    phx__map_del(&m, 383);
    heap.fail_at = heap.calls + 1;
    phx__map_fit(&m);
    ok(m.capacity == 2048 && phx__map_get(&m, 5) == 5, "383 are not, but there is no memory for fewer slots");
    phx__map_fit(&m);
    ok(m.capacity == 1024, "with it there is");
    for (k = 0; k < 383; k++)
        bad += phx__map_get(&m, k) != k;
    for (k = 1; k < 383; k++)
        phx__map_del(&m, k);
    phx__map_fit(&m);
    ok(bad == 0 && m.capacity == 16 && phx__map_get(&m, 0) == 0 && mem.used == 192, "sixteen are the least");
    phx__map_free(&m);
    ok(test_heap_is_clean(&heap), "clean at the end");
}

int main(void)
{
    test_basics();
    test_model();
    test_failure();
    test_fit();
    test_most();
    test_mix();
    test_rnd();
    return test_end();
}
