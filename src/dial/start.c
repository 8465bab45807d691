/* start.c - many nodes start together: when each begins to dial, and how many dials at once. */

/* A full mesh costs some 60 us of processor per link, and N nodes that start together pay for all N * N / 2
 * at once. Everybody can reach everybody through the hub as soon as N links stand and the hub has told what
 * it knows. That is late if the other dials take the processors before: with 64 dials at once a hundred
 * processes on two cores need half a second until each has had its turn, and news takes several turns of the
 * hub. To wait until the hub is done is no cure, since a slow hub looks the same.
 *
 * So the hub is asked. Above a few known nodes (`above`) a start is *paced*:
 *
 *   - While nodes are being heard of for the first time, they are not dialled. After a moment without news,
 *     the node that told of the last one is asked for a BEAT. If its digest is ours, that was all, and
 *     dialling begins. A node that never answers, or always knows more, is not waited for long. News stops
 *     the dialling again, but news that never ends, be it true or made up, does not stop it for ever.
 *   - Then the next dial begins when one has ended. The window of dials at once begins low, since one or two
 *     a node keep all processors busy. It grows by one with each link that came quickly, and halves with one
 *     that came slowly, as TCP does with segments: where the processor is the bottleneck, more dials at once
 *     only last longer, until they time out and start over.
 *   - Whom to dial first is drawn, so that not all dial the same node: as a moment in a short time, in few
 *     steps, because each moment is a turn of its own.
 *   - Traffic (phx__dial_want) does not wait.
 *   - The side that leaves the dial to the other goes on doing so while links keep coming. */
#include "dial/start.h"

/* First dials are spread over this long for each known node, 32 ms for 400, in this many steps. */
#define START_SPREAD_US UINT64_C(80)
#define START_STEPS 32u
/* A moment without news: this, and START_LULL_PAIR_US times known^2, a tenth of what the links of so many
 * take on two cores: 12 ms in all for 100, 42 ms for 200. */
#define START_LULL_US (2 * PHX__MS)
#define START_LULL_PAIR_US UINT64_C(1)
#define START_LULL_MOST_US (200 * PHX__MS)
/* Without the right answer a node asks again after this, and dials START_WAIT_US after the last news. */
#define START_AGAIN_US (20 * PHX__MS)
#define START_WAIT_US PHX__SECOND
/* Nor does news after news keep it waiting longer than this in all. */
#define START_NEWS_US (5 * PHX__SECOND)
/* The first dial stays left to the other side while links came within this. */
#define START_PATIENCE_US PHX__SECOND
/* A dial without an answer for this long has met a firewall, or a long way, and does not count any more. Nor
 * does one that was answered and is no link long after: that process is stopped, or has very much to do. */
#define START_SILENT_US (250 * PHX__MS)
#define START_STUCK_US PHX__SECOND
/* The window at first, and at least. A slow link took START_SLOW_TIMES the quickest and START_SLOW_US. */
#define START_WINDOW 2u
#define START_LEAST 1u
#define START_SLOW_TIMES 2u
#define START_SLOW_US (20 * PHX__MS)

void phx__dial_start_init(struct phx__dial_start *s, uint32_t above)
{
    memset(s, 0, sizeof *s);
    s->above = above;
    s->window = START_WINDOW;
    s->quickest = UINT64_MAX / 4;
}

int phx__dial_start_is_paced(const struct phx__dial_start *s, uint32_t known)
{
    return s->above != 0 && known > s->above;
}

void phx__dial_start_news(struct phx__dial_start *s, uint64_t now)
{
    if (s->learnt_at <= s->told_all_at || now >= s->learnt_at + START_WAIT_US)
        s->news_at = now;
    s->learnt_at = now;
}

/* When the news are not waited for any longer. */
static uint64_t start_end(const struct phx__dial_start *s)
{
    return PHX__MIN(s->learnt_at + START_WAIT_US, s->news_at + START_NEWS_US);
}

/* Is the news perhaps still coming in? */
static int start_is_settling(const struct phx__dial_start *s, uint32_t known, uint64_t now)
{
    return phx__dial_start_is_paced(s, known) && s->learnt_at > s->told_all_at && now < start_end(s);
}

static uint64_t start_ask_at(const struct phx__dial_start *s, uint32_t known)
{
    uint64_t lull = PHX__MIN(START_LULL_US + START_LULL_PAIR_US * known * known, START_LULL_MOST_US);
    uint64_t first = s->learnt_at + lull, again = s->asked_at + START_AGAIN_US;

    return first > again ? first : again;
}

uint64_t phx__dial_start_spread(const struct phx__dial_start *s, uint32_t known, struct phx__rnd *rnd)
{
    uint64_t step = START_SPREAD_US * known / START_STEPS;

    return phx__dial_start_is_paced(s, known) ? step * phx__rnd_below(rnd, START_STEPS) : 0;
}

int phx__dial_start_is_patient(const struct phx__dial_start *s, uint32_t known, uint64_t now)
{
    return phx__dial_start_is_paced(s, known) && now < s->linked_at + START_PATIENCE_US;
}

/* Dials that count, and when the next of them stops counting. */
static uint32_t start_under_way(const struct phx__dial_slots *slots, uint64_t now, uint64_t *next)
{
    uint32_t k, count = 0;

    for (k = 0; k < slots->count; k++) {
        const struct phx__dial_slot *slot = &slots->at[k];
        uint64_t until = slot->since + (slot->answered ? START_STUCK_US : START_SILENT_US);
        if (slot->target == PHX__NONE || now >= until)
            continue;
        count++;
        *next = PHX__MIN(until, *next);
    }
    return count;
}

int phx__dial_start_has_room(const struct phx__dial_start *s, const struct phx__dial_slots *slots,
                             uint32_t known, int first, uint64_t now, uint64_t *next)
{
    *next = UINT64_MAX;
    if (slots->free == PHX__NONE || !phx__dial_start_is_paced(s, known))
        return slots->free != PHX__NONE;
    if (start_under_way(slots, now, next) >= s->window)
        return 0;
    *next = PHX__MIN(start_ask_at(s, known), start_end(s));
    return !first || !start_is_settling(s, known, now);
}

int phx__dial_start_asks(struct phx__dial_start *s, uint32_t known, uint64_t now)
{
    if (!start_is_settling(s, known, now) || now < start_ask_at(s, known))
        return 0;
    s->asked_at = now;
    return 1;
}

int phx__dial_start_told_all(struct phx__dial_start *s, uint64_t now)
{
    if (s->told_all_at >= s->learnt_at || s->asked_at <= s->learnt_at)
        return 0;
    s->told_all_at = now;
    return 1;
}

void phx__dial_start_learn(struct phx__dial_start *s, uint64_t took, uint32_t most, uint64_t now)
{
    uint64_t slow;

    s->quickest = PHX__MIN(took, s->quickest);
    slow = START_SLOW_TIMES * s->quickest + START_SLOW_US;
    if (took <= slow) {
        s->window += s->window < most;
    } else if (now > s->slowed_at + slow) {
        s->slowed_at = now;
        s->window = s->window / 2 > START_LEAST ? s->window / 2 : START_LEAST;
    }
}
