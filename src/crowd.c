/* crowd.c - part of disc: when many start together: when each dials, and how many dials at once. */
/*
 * A full mesh costs some 100 us of processor per link, and a crowd that starts together pays for all
 * N * N / 2 at once. Everybody can reach everybody through the hub as soon as N links stand and the hub has
 * told what it knows, and it should not have to share its processor with the crowd until then. So beyond a
 * few nodes (limits.crowd):
 *
 *   - the first dial of a node learnt of from others waits until no new ones were heard of for a moment,
 *     though not for ever, and is then spread over a random time that grows like the work, N * N. Traffic
 *     (phx__disc_want) does not wait;
 *   - the side whose turn it is to dial gets longer: hundreds that share a few cores have a turn every fifty
 *     milliseconds, and a second dial for want of patience only makes more work for all;
 *   - not max_dials are under way at once but as many as the machines take. A handshake is three turns, and
 *     a turn takes as long as all need for all that is under way. With 64 at each of hundreds handshakes
 *     outlived their time-out, started over, and never ended. So the number begins low, grows by one with
 *     each link that came quickly, and halves with one that came slowly, as TCP does with segments.
 *
 * Measured with 100 processes on two cores: every pair can talk after 0.04 s instead of 0.6 s.
 */
#include "crowd.h"

/* known^2 * this is about what the links take on two cores: 50 ms for 100 nodes, 0.8 s for 400. */
#define CROWD_SPREAD_US UINT64_C(5)
#define CROWD_SPREAD_MOST_US (5 * PHX__SECOND)
#define CROWD_PATIENCE_US (10 * PHX__MS)
#define CROWD_SLOW_US (250 * PHX__MS)

static int crowd_is(const struct phx__disc *d)
{
    return d->limits.crowd != 0 && d->known > d->limits.crowd;
}

uint64_t phx__crowd_spread(const struct phx__disc *d)
{
    uint64_t most = CROWD_SPREAD_US * d->known * d->known;

    if (!crowd_is(d))
        return 0;
    return most < CROWD_SPREAD_MOST_US ? most : CROWD_SPREAD_MOST_US;
}

uint64_t phx__crowd_patience(const struct phx__disc *d)
{
    return crowd_is(d) ? 2 * phx__crowd_spread(d) + CROWD_PATIENCE_US * d->known : 0;
}

int phx__crowd_is_settling(const struct phx__disc *d, const struct phx__disc_target *t)
{
    return !t->hub && t->fresh > 0 && crowd_is(d) && !d->nodes[t->node].wanted
           && d->now < d->learnt_at + PHX__CROWD_SETTLE;
}

int phx__crowd_has_room(const struct phx__disc *d)
{
    return d->attempts.free != PHX__NONE && (!crowd_is(d) || d->attempts.open < d->pace);
}

void phx__crowd_learn(struct phx__disc *d, uint64_t took)
{
    if (took <= CROWD_SLOW_US) {
        d->pace += d->pace < d->attempts.capacity;
    } else if (d->now > d->slowed_at + CROWD_SLOW_US) {
        d->slowed_at = d->now;
        d->pace = d->pace / 2 > PHX__CROWD_PACE ? d->pace / 2 : PHX__CROWD_PACE;
    }
}

#undef CROWD_SPREAD_US
#undef CROWD_SPREAD_MOST_US
#undef CROWD_PATIENCE_US
#undef CROWD_SLOW_US
