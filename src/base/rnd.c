/* rnd.c - a seeded generator for jitter and choice; never for keys. */

/* xoroshiro128++ by Blackman and Vigna ("Scrambled Linear Pseudorandom Number Generators", 2021): two words
 * of state, a few cycles a number, and no known statistical flaw at the amounts a node draws. Its state can
 * be computed from a few outputs, so nothing that must stay secret comes from here; nonces and ids come from
 * the operating system.
 *
 * One generator per node and no other source of chance: the same seeds give the same run, which is what makes
 * a simulated failure replay. */
#include "base/rnd.h"

static uint64_t rnd_rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

/* One output of SplitMix64. The authors of xoroshiro advise seeding with a generator of another kind, so that
 * seeds which differ in one bit do not start out alike. */
static uint64_t rnd_split(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void phx__rnd_seed(struct phx__rnd *r, uint64_t a, uint64_t b)
{
    /* b enters after one output of a, so that (a, b) and (b, a) are different seeds. */
    r->s[0] = rnd_split(&a);
    a ^= b;
    r->s[1] = rnd_split(&a);
    /* The one state that never leaves itself is all zeroes. */
    if ((r->s[0] | r->s[1]) == 0)
        r->s[0] = 1;
}

uint64_t phx__rnd_next(struct phx__rnd *r)
{
    uint64_t a = r->s[0], b = r->s[1];
    uint64_t result = rnd_rotate(a + b, 17) + a;

    b ^= a;
    r->s[0] = rnd_rotate(a, 49) ^ b ^ b << 21;
    r->s[1] = rnd_rotate(b, 28);
    return result;
}

uint64_t phx__rnd_below(struct phx__rnd *r, uint64_t bound)
{
    uint64_t x, odd;

    PHX_ASSERT(bound > 0);
    if (bound < 2)
        return 0;
    /* 2^64 mod bound values are too many for an even share: draws among the lowest are thrown away. */
    odd = (UINT64_MAX - bound + 1) % bound;
    do {
        x = phx__rnd_next(r);
    } while (x < odd);
    return x % bound;
}
