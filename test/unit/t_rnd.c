/* t_rnd.c - the generator: the numbers that its authors' code gives, and even shares of a bound. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#endif

static void test_numbers(void)
{
    /* Goal: xoroshiro128++ and its seeding by SplitMix64. Method: the first numbers from state 1, 2, and the
     * state of two seeds, by a second program that was written from the authors' pages. */
    static const uint64_t wanted[] = {
        UINT64_C(0x0000000000060001), UINT64_C(0x000260c000660007),
        UINT64_C(0x180acc04718606d3), UINT64_C(0x9e226d35036fc4c7)
    };
    struct phx__rnd r = { { 1, 2 } }, other;
    int i, bad = 0;

    for (i = 0; i < 4; i++)
        bad += phx__rnd_next(&r) != wanted[i];
    ok(bad == 0, "four numbers");
    phx__rnd_seed(&r, 7, 9);
    ok(r.s[0] == UINT64_C(0x63cbe1e459320dd7) && r.s[1] == UINT64_C(0x6e789e6aa1b965f4), "two seeds");
    phx__rnd_seed(&other, 9, 7);
    ok(other.s[0] != r.s[0] && other.s[1] != r.s[1], "the other way round they are other ones");
    phx__rnd_seed(&r, UINT64_C(0x61c8864680b583eb), UINT64_C(0x61c8864680b583eb));
    ok(r.s[0] == 1 && r.s[1] == 0, "two seeds that SplitMix64 makes zeroes of are not the state that stays");
}

static void test_below(void)
{
    /* Goal: below a bound each number has its share. Method: counts of 6,000 draws below 6, and bounds of 1
     * and of more than half of all numbers. */
    struct phx__rnd r;
    unsigned count[6] = { 0 };
    int i, bad = 0;

    phx__rnd_seed(&r, 1, 2);
    for (i = 0; i < 6000; i++)
        count[phx__rnd_below(&r, 6)]++;
    for (i = 0; i < 6; i++)
        bad += count[i] < 850 || count[i] > 1150;
    for (i = 0; i < 100; i++)
        bad += phx__rnd_below(&r, 1) != 0 || phx__rnd_below(&r, UINT64_MAX / 3 * 2) >= UINT64_MAX / 3 * 2;
    ok(bad == 0, "even shares");
}

int main(void)
{
    test_numbers();
    test_below();
    return test_end();
}
