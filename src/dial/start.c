/* start.c - many nodes start together: how fast each of them dials. */

/* A full mesh costs some 60 us of processor per link, and N nodes that start together pay for all N * N / 2
 * at once. Everybody can reach everybody through the hub as soon as N links stand and the hub has told what
 * it knows, and a message through the hub costs a tenth of a link. Both are late if dials take the processors
 * before: with 64 dials at once a hundred processes on two cores need half a second until each has had its
 * turn, and what they say waits for several turns of the hub.
 *
 * So above a few known nodes a start is *paced*. A node that can be reached is first dialled when there is
 * time for it, those to whom somebody sends before the others:
 *
 *   - While there are news, that is while nodes are being heard of or messages go out, come in or are relayed
 *     here, whosever they are, each node begins one such dial in START_EACH_US for each node that it knows: a
 *     thousand in a second by all of them, which leaves the processors to the others.
 *   - After a moment without news the next dial begins when one has ended. The window of dials at once begins
 *     low, since one or two a node keep all processors busy. It grows by one with each link that came
 *     quickly, and halves with one that came slowly, as TCP does with segments: where the processor is the
 *     bottleneck, more dials at once only last longer, until they time out and start over.
 *
 *   - A thousand nodes with one dial each under way still keep all processors busy, and a hub, which has the
 *     most to do, gets a thousandth of them. So after a link that came slowly a node rests: nodes then wait
 *     in turn, and not in the line for a processor. */
#include "dial/start.h"

#define START_EACH_US PHX__MS
/* News have ended so long after the last, and START_LULL_PAIR_US times known^2, a tenth of what the links of
 * so many take on two cores: 12 ms in all for 100, 42 ms for 200. */
#define START_LULL_US (2 * PHX__MS)
#define START_LULL_PAIR_US UINT64_C(1)
#define START_LULL_MOST_US (200 * PHX__MS)
/* While messages are under way it is looked for less and less often: after an eighth of the time so far. */
#define START_LULL_SHARE 8u
#define START_LULL_BUSY_US PHX__SECOND
/* A dial without an answer for this long takes no processor: it has met a firewall, as most do that a site
 * dials in another one, or a long way, and does not count until it is answered. Nor does one that was
 * answered and is no link long after: that process is stopped, or has very much to do. */
#define START_SILENT_US PHX__MS
#define START_STUCK_US PHX__SECOND
/* The window at first, and at least. A slow link took START_SLOW_TIMES the quickest and START_SLOW_US. */
#define START_WINDOW 2u
#define START_LEAST 1u
#define START_SLOW_TIMES 2u
#define START_SLOW_US (20 * PHX__MS)
/* The rest after it, in times of what it took, and at most. */
#define START_REST_TIMES 16u
#define START_REST_MOST_US (4 * PHX__SECOND)

PHX__COLD void phx__dial_start_init(struct phx__dial_start *s)
{
    *s = (struct phx__dial_start){ .window = START_WINDOW, .quickest = UINT64_MAX / 4 };
}

/* Fewer dials that count than the window are under way: now; or when one of them stops counting. */
static uint64_t start_window_at(const struct phx__dial_start *s, const struct phx__dial_slots *slots,
                                uint64_t now)
{
    const struct phx__dial_slot *slot;
    uint64_t next = UINT64_MAX;
    uint32_t count = 0;

    for (slot = slots->at; slot < slots->at + slots->count; slot++) {
        uint64_t until = slot->since + (slot->answered ? START_STUCK_US : START_SILENT_US);
        if (now >= until)
            continue;
        count++;
        next = PHX__MIN(until, next);
    }
    return count < s->window ? now : next;
}

PHX__COLD uint64_t phx__dial_start_room_at(struct phx__dial_start *s, const struct phx__dial_slots *slots,
                                           uint32_t known, int busy, uint64_t now)
{
    uint64_t lull = PHX__MIN(START_LULL_US + START_LULL_PAIR_US * known * known, START_LULL_MOST_US), turn;

    s->calm_at = busy ? s->calm_at : now;
    s->news_at = busy ? now : s->news_at;
    lull = PHX__MAX(lull, PHX__MIN((now - s->calm_at) / START_LULL_SHARE, START_LULL_BUSY_US));
    turn = PHX__MIN(s->began_at + known * START_EACH_US, s->news_at + lull);
    turn = PHX__MAX(turn, s->rest_until);
    return now < turn ? turn : start_window_at(s, slots, now);
}

PHX__COLD void phx__dial_start_learn(struct phx__dial_start *s, uint64_t took, uint32_t most, uint64_t now)
{
    uint64_t slow;

    s->quickest = PHX__MIN(took, s->quickest);
    slow = START_SLOW_TIMES * s->quickest + START_SLOW_US;
    if (took > slow)
        s->rest_until = now + PHX__MIN(START_REST_TIMES * took, START_REST_MOST_US);
    if (took <= slow) {
        s->window += s->window < most;
    } else if (now > s->slowed_at + slow) {
        s->slowed_at = now;
        s->window = s->window / 2 > START_LEAST ? s->window / 2 : START_LEAST;
    }
}
