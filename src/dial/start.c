/* start.c - part of disc: when many start together: when each dials, and how many dials at once. */
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
 *   - traffic (phx__dial_want) does not wait;
 *   - the side that leaves the dial to the other goes on doing so while links keep coming: the other one has
 *     not forgotten, it has not had its turn yet. A second dial for want of patience makes work for all.
 */
#include "dial/start.h"

/* First dials are spread over so long for each node known, 32 ms for 400, in so many steps. */
#define START_SPREAD_US UINT64_C(80)
#define START_STEPS 32u
/* A moment without news: so long, and this times known^2 more, a tenth of what the links of so many take on
 * two cores: 12 ms in all for 100, 42 ms for 200. */
#define START_LULL_US (2 * PHX__MS)
#define START_LULL_PAIR_US UINT64_C(1)
#define START_LULL_MOST_US (200 * PHX__MS)
/* Who does not get an answer, or not the right one, asks again after this, and dials all the same so long
 * after the last news. */
#define START_AGAIN_US (20 * PHX__MS)
#define START_WAIT_US PHX__SECOND
/* Nor does news after news keep it waiting longer than this in all. */
#define START_NEWS_US (5 * PHX__SECOND)
/* Who leaves the first dial to the other side goes on doing so while links came within this. */
#define START_PATIENCE_US PHX__SECOND
/* A dial without an answer for so long has met a wall, or a long way, and does not count any more: hundreds
 * of walls must not keep those waiting who would answer. Nor does one that was answered and is no link
 * long after: that is a process which is stopped, or has very much to do. */
#define START_SILENT_US (250 * PHX__MS)
#define START_STUCK_US PHX__SECOND
/* Dials at once are not fewer; slower than so often the quickest, and this, is slow. */
#define START_LEAST 1u
#define START_SLOW_TIMES 2u
#define START_SLOW_US (20 * PHX__MS)

static int start_is(const struct phx__dial *d)
{
    return d->limits.crowd != 0 && d->known > d->limits.crowd;
}

/* A node that was never dialled and that nobody needs at once. */
static int start_is_fresh(const struct phx__dial *d, uint32_t slot)
{
    const struct phx__dial_target *t = slot != PHX__NONE ? &d->targets[slot] : NULL;

    return t != NULL && !t->hub && t->fresh > 0 && !d->nodes[t->node].wanted;
}

/* When the news are not waited for any longer. */
static uint64_t start_end(const struct phx__dial *d)
{
    uint64_t one = d->learnt_at + START_WAIT_US, all = d->news_at + START_NEWS_US;

    return one < all ? one : all;
}

void phx__dial_start_news(struct phx__dial *d)
{
    if (d->learnt_at <= d->told_all_at || d->now >= d->learnt_at + START_WAIT_US)
        d->news_at = d->now;
    d->learnt_at = d->now;
}

/* Is the news perhaps still coming in? */
static int start_is_settling(const struct phx__dial *d)
{
    return start_is(d) && d->learnt_at > d->told_all_at && d->now < start_end(d);
}

static uint64_t start_ask_at(const struct phx__dial *d)
{
    uint64_t lull = START_LULL_US + START_LULL_PAIR_US * d->known * d->known;

    if (lull > START_LULL_MOST_US)
        lull = START_LULL_MOST_US;
    return d->learnt_at + lull > d->asked_at + START_AGAIN_US ? d->learnt_at + lull
                                                               : d->asked_at + START_AGAIN_US;
}

uint64_t phx__dial_start_spread(const struct phx__dial *d)
{
    uint64_t step = START_SPREAD_US * d->known / START_STEPS;

    return start_is(d) ? step * phx__rnd_below(d->rnd, START_STEPS) : 0;
}

int phx__dial_start_is_patient(const struct phx__dial *d, uint32_t slot)
{
    return start_is(d) && start_is_fresh(d, slot) && d->now < d->linked_at + START_PATIENCE_US;
}

int phx__dial_start_goes_first(const struct phx__dial *d, uint32_t slot)
{
    return start_is(d) && !start_is_fresh(d, slot);
}

/* Dials that count, and when the next of them stops counting. */
static uint32_t start_under_way(const struct phx__dial *d, uint64_t *next)
{
    uint32_t k, count = 0;

    *next = UINT64_MAX;
    for (k = 0; k < d->attempts.count; k++) {
        const struct phx__dial_slot *a = &d->attempts.at[k];
        uint64_t until = a->since + (a->answered ? START_STUCK_US : START_SILENT_US);
        if (a->target == PHX__NONE || d->now >= until)
            continue;
        count++;
        if (until < *next)
            *next = until;
    }
    return count;
}

int phx__dial_start_has_room(const struct phx__dial *d)
{
    uint64_t next;

    if (d->attempts.free == PHX__NONE)
        return 0;
    if (!start_is(d))
        return 1;
    return start_under_way(d, &next) < d->pace && (!start_is_fresh(d, d->head) || !start_is_settling(d));
}

uint64_t phx__dial_start_room_at(const struct phx__dial *d)
{
    uint64_t next, ask, end = start_end(d);

    if (!start_is(d) || d->attempts.free == PHX__NONE)
        return UINT64_MAX;
    if (start_under_way(d, &next) >= d->pace)
        return next;
    ask = start_ask_at(d);
    return !start_is_settling(d) ? UINT64_MAX : ask < end ? ask : end;
}

void phx__dial_start_ask(struct phx__dial *d)
{
    if (d->head == PHX__NONE || !start_is_settling(d) || d->now < start_ask_at(d))
        return;
    d->asked_at = d->now;
    d->ops.ask(d->ops.ctx);
}

void phx__dial_start_learn(struct phx__dial *d, uint64_t took)
{
    uint64_t slow;

    if (took < d->quickest)
        d->quickest = took;
    slow = START_SLOW_TIMES * d->quickest + START_SLOW_US;
    if (took <= slow) {
        d->pace += d->pace < d->attempts.capacity;
    } else if (d->now > d->slowed_at + slow) {
        d->slowed_at = d->now;
        d->pace = d->pace / 2 > START_LEAST ? d->pace / 2 : START_LEAST;
    }
}

#undef START_SPREAD_US
#undef START_STEPS
#undef START_LULL_US
#undef START_LULL_PAIR_US
#undef START_LULL_MOST_US
#undef START_AGAIN_US
#undef START_WAIT_US
#undef START_PATIENCE_US
#undef START_NEWS_US
#undef START_SILENT_US
#undef START_STUCK_US
#undef START_LEAST
#undef START_SLOW_TIMES
#undef START_SLOW_US
