/* crowd.c - part of disc: when many start together: when each dials, and how many dials at once. */
/*
 * A full mesh costs some 60 us of processor per link, and a crowd that starts together pays for all
 * N * N / 2 at once. Everybody can reach everybody through the hub as soon as N links stand and the hub has
 * told what it knows. If the crowd's dials take the processors before, that is late: the hub gets its turn
 * once in a round of all, and a round is as long as what each does in its turn. With 64 dials at once a
 * hundred processes on two cores need half a second for a round, and news takes several. Waiting until
 * the hub is done is no cure: a hub that is slow looks the same as one that is done, and when the wait was
 * too short, the crowd was let loose on it after all (one start in five of 200 nodes took seconds).
 *
 * So the hub is asked. Beyond a few nodes (limits.crowd):
 *
 *   - while nodes are being heard of for the first time, they are not dialled. When a moment has passed
 *     without news, whoever told of the last one is asked for a BEAT, and if its digest is ours, it knows no
 *     more than we do: then that was all, and dialling begins. Its answer is as late as the hub is, and while
 *     nobody dials, it is not late. One that never answers, or always knows more, is not waited for long.
 *     News stops the dialling again, so those who come late get their turn, too; but news that never ends, be
 *     it true or made up, does not stop it for ever;
 *   - then the next dial begins when one has ended. Their number begins low, since one or two a node keep
 *     all processors busy, grows by one with each link that came quickly, and halves with one that came
 *     slowly, as TCP does with segments. Over long ways more at once are needed; where the processor is what
 *     they wait for, more only make the rounds longer, until they outlive their time-out and start over;
 *   - whom to dial first is drawn, so that not all dial the same one: as a moment in a short time, in few
 *     steps, because each moment is a turn of its own;
 *   - traffic (phx__disc_want) does not wait;
 *   - the side that leaves the dial to the other goes on doing so while links keep coming: the other one has
 *     not forgotten, it has not had its turn yet. A second dial for want of patience makes work for all.
 */
#include "crowd.h"

/* First dials are spread over so long for each node known, 32 ms for 400, in so many steps. */
#define CROWD_SPREAD_US UINT64_C(80)
#define CROWD_STEPS 32u
/* A moment without news: so long, and this times known^2 more, a tenth of what the links of so many take on
 * two cores: 12 ms in all for 100, 42 ms for 200. */
#define CROWD_LULL_US (2 * PHX__MS)
#define CROWD_LULL_PAIR_US UINT64_C(1)
#define CROWD_LULL_MOST_US (200 * PHX__MS)
/* Who does not get an answer, or not the right one, asks again after this, and dials all the same so long
 * after the last news. */
#define CROWD_AGAIN_US (20 * PHX__MS)
#define CROWD_WAIT_US PHX__SECOND
/* Nor does news after news keep it waiting longer than this in all. */
#define CROWD_NEWS_US (5 * PHX__SECOND)
/* Who leaves the first dial to the other side goes on doing so while links came within this. */
#define CROWD_PATIENCE_US PHX__SECOND
/* A dial without an answer for so long has met a wall, or a long way, and does not count any more: hundreds
 * of walls must not keep those waiting who would answer. Nor does one that was answered and is no link
 * long after: that is a process which is stopped, or has very much to do. */
#define CROWD_SILENT_US (250 * PHX__MS)
#define CROWD_STUCK_US PHX__SECOND
/* Dials at once are not fewer; slower than so often the quickest, and this, is slow. */
#define CROWD_LEAST 1u
#define CROWD_SLOW_TIMES 2u
#define CROWD_SLOW_US (20 * PHX__MS)

static int crowd_is(const struct phx__disc *d)
{
    return d->limits.crowd != 0 && d->known > d->limits.crowd;
}

/* A node that was never dialled and that nobody needs at once. */
static int crowd_is_fresh(const struct phx__disc *d, uint32_t slot)
{
    const struct phx__disc_target *t = slot != PHX__NONE ? &d->targets[slot] : NULL;

    return t != NULL && !t->hub && t->fresh > 0 && !d->nodes[t->node].wanted;
}

/* When the news are not waited for any longer. */
static uint64_t crowd_end(const struct phx__disc *d)
{
    uint64_t one = d->learnt_at + CROWD_WAIT_US, all = d->news_at + CROWD_NEWS_US;

    return one < all ? one : all;
}

void phx__crowd_news(struct phx__disc *d)
{
    if (d->learnt_at <= d->told_all_at || d->now >= d->learnt_at + CROWD_WAIT_US)
        d->news_at = d->now;
    d->learnt_at = d->now;
}

/* Is the news perhaps still coming in? */
static int crowd_is_settling(const struct phx__disc *d)
{
    return crowd_is(d) && d->learnt_at > d->told_all_at && d->now < crowd_end(d);
}

static uint64_t crowd_ask_at(const struct phx__disc *d)
{
    uint64_t lull = CROWD_LULL_US + CROWD_LULL_PAIR_US * d->known * d->known;

    if (lull > CROWD_LULL_MOST_US)
        lull = CROWD_LULL_MOST_US;
    return d->learnt_at + lull > d->asked_at + CROWD_AGAIN_US ? d->learnt_at + lull
                                                               : d->asked_at + CROWD_AGAIN_US;
}

uint64_t phx__crowd_spread(const struct phx__disc *d)
{
    uint64_t step = CROWD_SPREAD_US * d->known / CROWD_STEPS;

    return crowd_is(d) ? step * phx__rnd_below(d->rnd, CROWD_STEPS) : 0;
}

int phx__crowd_is_patient(const struct phx__disc *d, uint32_t slot)
{
    return crowd_is(d) && crowd_is_fresh(d, slot) && d->now < d->linked_at + CROWD_PATIENCE_US;
}

int phx__crowd_goes_first(const struct phx__disc *d, uint32_t slot)
{
    return crowd_is(d) && !crowd_is_fresh(d, slot);
}

/* Dials that count, and when the next of them stops counting. */
static uint32_t crowd_under_way(const struct phx__disc *d, uint64_t *next)
{
    uint32_t k, count = 0;

    *next = UINT64_MAX;
    for (k = 0; k < d->attempts.count; k++) {
        const struct phx__attempt *a = &d->attempts.at[k];
        uint64_t until = a->since + (a->answered ? CROWD_STUCK_US : CROWD_SILENT_US);
        if (a->target == PHX__NONE || d->now >= until)
            continue;
        count++;
        if (until < *next)
            *next = until;
    }
    return count;
}

int phx__crowd_has_room(const struct phx__disc *d)
{
    uint64_t next;

    if (d->attempts.free == PHX__NONE)
        return 0;
    if (!crowd_is(d))
        return 1;
    return crowd_under_way(d, &next) < d->pace && (!crowd_is_fresh(d, d->head) || !crowd_is_settling(d));
}

uint64_t phx__crowd_room_at(const struct phx__disc *d)
{
    uint64_t next, ask, end = crowd_end(d);

    if (!crowd_is(d) || d->attempts.free == PHX__NONE)
        return UINT64_MAX;
    if (crowd_under_way(d, &next) >= d->pace)
        return next;
    ask = crowd_ask_at(d);
    return !crowd_is_settling(d) ? UINT64_MAX : ask < end ? ask : end;
}

void phx__crowd_ask(struct phx__disc *d)
{
    if (d->head == PHX__NONE || !crowd_is_settling(d) || d->now < crowd_ask_at(d))
        return;
    d->asked_at = d->now;
    d->ops.ask(d->ops.ctx);
}

void phx__crowd_learn(struct phx__disc *d, uint64_t took)
{
    uint64_t slow;

    if (took < d->quickest)
        d->quickest = took;
    slow = CROWD_SLOW_TIMES * d->quickest + CROWD_SLOW_US;
    if (took <= slow) {
        d->pace += d->pace < d->attempts.capacity;
    } else if (d->now > d->slowed_at + slow) {
        d->slowed_at = d->now;
        d->pace = d->pace / 2 > CROWD_LEAST ? d->pace / 2 : CROWD_LEAST;
    }
}

#undef CROWD_SPREAD_US
#undef CROWD_STEPS
#undef CROWD_LULL_US
#undef CROWD_LULL_PAIR_US
#undef CROWD_LULL_MOST_US
#undef CROWD_AGAIN_US
#undef CROWD_WAIT_US
#undef CROWD_PATIENCE_US
#undef CROWD_NEWS_US
#undef CROWD_SILENT_US
#undef CROWD_STUCK_US
#undef CROWD_LEAST
#undef CROWD_SLOW_TIMES
#undef CROWD_SLOW_US
