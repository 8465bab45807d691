/* start.c - many nodes start together: how fast each of them dials. */

/* A full mesh costs some 60 us of processor per link, and N nodes that start together pay for all N * N / 2
 * at once. Everybody can reach everybody through the hub as soon as N links stand and the hub has told what
 * it knows, and a message through the hub costs a tenth of a link. Both are late if dials come first.
 *
 * So above a few known nodes a start is *paced*. A node that can be reached is first dialled when there is
 * time for it, those to whom somebody sends before the others:
 *
 *   - While there are news, that is while nodes are being heard of or messages go out, come in or are relayed
 *     here, whosever they are, each node begins one such dial in START_EACH_US for each node that it knows.
 *   - A thousand nodes with one dial each under way still keep all processors busy, and a hub, which has the
 *     most to do, gets a thousandth of them. So after a link that came slowly a node rests, so long that few
 *     dials would be under way if all did so.
 *   - News have ended when none came for a quarter of the time that they took so far: where a hub is slow, or
 *     dead and others must tell all that it told, pauses are long, too. Then the next dial begins when one
 *     has ended. For as long as the news took a slow link is still followed by a rest, since others may wait.
 *   - The window of dials at once begins low, since one or two a node keep all processors busy. It grows by
 *     one with each link that came quickly, and halves with one that came slowly, as TCP does with segments:
 *     where the processor is the bottleneck, more at once only last longer, until they time out. */
#include "dial/start.h"

#define START_EACH_US PHX__MS
/* News have ended so long after the last: a share of what they took so far, and at least 2 ms and
 * START_LULL_PAIR_US times known^2, a tenth of what the links of so many take on two cores: 12 ms in all for
 * 100, 42 ms for 200. */
#define START_LULL_SHARE 4u
#define START_LULL_MOST_US PHX__SECOND
#define START_LULL_US (2 * PHX__MS)
#define START_LULL_PAIR_US UINT64_C(1)
#define START_LULL_LEAST_US (200 * PHX__MS)
/* After so long without any they are others. Longer than the lull, for a crowd has its pauses. */
#define START_CALM_US (4 * PHX__SECOND)
/* For how long, after the last, a slow link is still followed by a rest. */
#define START_GENTLE_MOST_US (10 * PHX__SECOND)
/* A dial without an answer for this long takes no processor: it has met a firewall, as most do that a site
 * dials in another one, or a long way, and does not count until it is answered; nor when it is stuck. */
#define START_SILENT_US PHX__MS
#define START_STUCK_US PHX__SECOND
/* The window at first. A slow link took START_SLOW_TIMES the quickest, or the time in which its
 * dial was answered, which is a long way's, and START_SLOW_US. */
#define START_WINDOW 2u
#define START_SLOW_TIMES 2u
#define START_SLOW_US (20 * PHX__MS)
/* The rest after it: so many dials are under way if all that are known do the same. And at most. */
#define START_AT_ONCE 8u
#define START_REST_MOST_US (16 * PHX__SECOND)

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
        uint64_t until = slot->since + (slot->answered_at != 0 ? START_STUCK_US : START_SILENT_US);
        if (now >= until)
            continue;
        count++;
        next = PHX__MIN(until, next);
    }
    return count < s->window ? now : next;
}

PHX__COLD void phx__dial_start_news(struct phx__dial_start *s, uint64_t now)
{
    if (s->news_at == 0 || now - s->news_at > START_CALM_US)
        s->since = now;
    s->news_at = now;
}

PHX__COLD uint64_t phx__dial_start_room_at(struct phx__dial_start *s, const struct phx__dial_slots *slots,
                                           uint32_t known, int busy, uint64_t now)
{
    uint64_t lull, took, calm, gentle, turn;

    if (busy)
        phx__dial_start_news(s, now);
    took = s->news_at - s->since;
    lull = PHX__MIN(START_LULL_US + START_LULL_PAIR_US * known * known, START_LULL_LEAST_US);
    lull = PHX__MAX(lull, PHX__MIN(took / START_LULL_SHARE, START_LULL_MOST_US));
    calm = s->news_at + lull; /* news are over when there have been none for so long */
    gentle = s->news_at + PHX__MIN(took, START_GENTLE_MOST_US);
    calm = PHX__MAX(calm, PHX__MIN(s->rest_until, gentle));
    turn = PHX__MIN(calm, PHX__MAX(s->began_at + known * START_EACH_US, s->rest_until));
    return now < turn ? turn : start_window_at(s, slots, now);
}

PHX__COLD void phx__dial_start_learn(struct phx__dial_start *s, const struct phx__dial_slot *slot,
                                     uint32_t known, uint32_t most, uint64_t now)
{
    uint64_t way = slot->answered_at != 0 ? slot->answered_at - slot->since : 0;
    uint64_t took = now - slot->since, slow;

    s->quickest = PHX__MIN(took, s->quickest);
    slow = START_SLOW_TIMES * PHX__MAX(s->quickest, way) + START_SLOW_US;
    if (took <= slow) {
        s->window += s->window < most;
        return;
    }
    s->rest_until = now + PHX__MIN(took * known / START_AT_ONCE, START_REST_MOST_US);
    if (now > s->slowed_at + slow) {
        s->slowed_at = now;
        s->window = PHX__MAX(s->window / 2, 1);
    }
}
