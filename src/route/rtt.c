/* rtt.c - BRAIN: round trip times, by which a node may choose among next hops that are equally near. */
/* With cfg.rtt_metric hops still come first. Of neighbours that are as near to a destination, at the same
 * number, the one with the shorter round trip is the next hop (route_share in route.c). Compared is
 *
 *      way(v through n) = smoothed round trip of the link with n + what n told of its own way to v
 *
 * A link is asked in each round by a heartbeat with REPLY, whose clock comes back, and smoothed as in RFC
 * 6298, section 2. One sample counts four times the usual at most: a relay whose host paused once is not
 * slow. What is told rides on route entries, between neighbours that have both said in their handshake that
 * they want it. A way of which a part is not known (its neighbour has the option off, or nothing was measured
 * yet) is neither taken nor left because of its time.
 *
 * A choice there must be. Without the option a way is not told to those who are told of one as short by
 * others (advert_need). Such a way is told all the same, once for each number of the owner, to neighbours
 * that have the option and no shorter one (advert_is_choice), when the table has been quiet for a round: a
 * start costs no more than ever.
 *
 * No loops. Only feasible offers at the distance in use are compared, so neither the distance of any node nor
 * what it advertises changes, and route.c's argument stands as it is. Nor do times run in circles: a node's
 * way is made of what a nearer one told.
 *
 * No storms, no flapping. A next hop changes for one that is 25 % better, and a neighbour is told if the time
 * differs by more than an eighth from what it was told, once in a round: an entry at most for each route that
 * the neighbour may be using, and none while times merely jitter. (Were it a quarter, what is known would be
 * off by as much as the 25 %.) Where all are linked, none is told.
 *
 * A liar draws traffic by a short time only where it would have drawn it by its distance, about which it may
 * as well lie. An answer counts if it brings the clock of the question, so it can only come late. */
#include "route/rtt.h"

/* Microseconds, of what is told and compared: two bytes reach 6.5 s. */
#define RTT_UNIT 100u
/* Times below a millisecond are equal: relays' own steps take as long. */
#define RTT_FLOOR 10u
/* More is no round trip. */
#define RTT_MOST (uint32_t)(10 * PHX__SECOND)
/* After so long without an answer a link is asked again. */
#define RTT_LOST (uint32_t)(60 * PHX__SECOND)

/* ---- Links ----------------------------------------------------------------------------------- */

PHX__COLD uint32_t phx__route_rtt_ask(struct phx__route_rtt_link *l, uint64_t now)
{
    return l->asked = PHX__MAX((uint32_t)now, 1); /* 0 would ask for nothing */
}

PHX__COLD int phx__route_rtt_waits(const struct phx__route_rtt_link *l, uint64_t now)
{
    return l->asked != 0 && (uint32_t)now - l->asked < RTT_LOST;
}

PHX__COLD void phx__route_rtt_answer(struct phx__route_rtt_link *l, uint32_t echo, uint64_t now)
{
    uint32_t us = (uint32_t)now - echo;

    if (l->asked == 0 || echo != l->asked)
        return;
    l->asked = 0;
    us = PHX__MAX(PHX__MIN(us, RTT_MOST), 1);
    if (l->smooth == 0)
        l->smooth = 8 * us;
    else /* half of 8 times is 4 times */
        l->smooth += PHX__MIN(us, PHX__MAX(l->smooth / 2, RTT_FLOOR * RTT_UNIT)) - l->smooth / 8;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

PHX__COLD uint32_t phx__route_rtt_way(const struct phx__route_rtt_link *l, const struct phx__offer *h)
{
    if (h == NULL || l->smooth == 0 || (h->rtt == 0 && h->hops > 0))
        return 0;
    return PHX__MAX(PHX__MIN(l->smooth / (8 * RTT_UNIT) + h->rtt, UINT16_MAX), 1);
}

PHX__COLD uint64_t phx__route_rtt_us(uint32_t way)
{
    return (uint64_t)way * RTT_UNIT;
}

PHX__COLD int phx__route_rtt_compare(uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return a != b;
    if (PHX__MAX(a, b) <= RTT_FLOOR)
        return 0;
    return 4 * a <= 3 * PHX__MAX(b, RTT_FLOOR) ? -1 : 1;
}

/* ---- What neighbours are told ------------------------------------------------------------------ */

PHX__COLD uint16_t phx__route_rtt_told(const struct phx__route_rtt *t, uint32_t node)
{
    return node < t->capacity ? t->told[node].way : 0;
}

PHX__COLD int phx__route_rtt_news(struct phx__route_rtt *t, struct phx__mem *mem, uint32_t node,
                                  uint32_t way, uint32_t seq)
{
    uint32_t told = phx__route_rtt_told(t, node);
    uint32_t a = PHX__MAX(told, RTT_FLOOR), b = PHX__MAX(way, RTT_FLOOR);
    int differs = (told == 0) != (way == 0) || 8 * (a > b ? a - b : b - a) > a;
    int newer = seq != 0 && way != 0 && (node >= t->capacity || t->told[node].seq != seq);

    if ((!differs && !newer)
        || phx__mem_grow(mem, &t->told, &t->capacity, node + 1, sizeof *t->told) != 0)
        return 0; /* without memory: in the next round, perhaps */
    if (differs)
        t->told[node].way = (uint16_t)way;
    if (newer)
        t->told[node].seq = seq;
    return 1;
}
