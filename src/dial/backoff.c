/* backoff.c - how long to wait before the next dial of what has failed. */

/* Random up to a bound that doubles ("full jitter"), so that a thousand nodes which lost the same hub at the
 * same moment do not come back at the same moment. */
#include "dial/backoff.h"

#define BACKOFF_DEAD_FACTOR 10u

uint64_t phx__dial_backoff_between(struct phx__rnd *rnd, uint64_t low, uint64_t high)
{
    return high <= low ? low : low + phx__rnd_below(rnd, high - low + 1);
}

uint64_t phx__dial_backoff_slow(uint64_t retry_max_us)
{
    return retry_max_us * (retry_max_us <= UINT64_MAX / BACKOFF_DEAD_FACTOR ? BACKOFF_DEAD_FACTOR : 1);
}

/* Not below half of retry_min, which would be no wait at all. */
uint64_t phx__dial_backoff_next(struct phx__rnd *rnd, uint64_t retry_min_us, uint64_t retry_max_us, int hub,
                                uint32_t failures)
{
    uint64_t high = retry_max_us, low = retry_min_us / 2;
    uint32_t shift = failures < 63 ? failures : 63;

    if (!hub && failures >= PHX__DIAL_DEAD_ROUNDS)
        high = phx__dial_backoff_slow(retry_max_us);
    if (retry_min_us <= high >> shift)
        high = retry_min_us << shift;
    return phx__dial_backoff_between(rnd, low < high ? low : high, high);
}
