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
 * A choice there must be. Without the option a way is not told to those who are told of one as short by others
 * (advert_covered). Such a way is told all the same, once for each number of the owner, to neighbours that have
 * the option and no shorter one (advert_is_choice), when the table has been quiet for a round: a start costs
 * no more than ever.
 *
 * No loops. Only feasible offers at the distance in use are compared, so neither the distance of any node nor
 * what it advertises changes, and route.c's argument stands as it is. Nor do times run in circles: a node's
 * way is made of what a nearer one told.
 *
 * No storms, no flapping. A next hop changes for one that is 25 % better, and a neighbour is told if the time
 * differs by more than 25 % from what it was told, once in a round: an entry at most for each route that the
 * neighbour may be using, and none while times merely jitter. Where all are linked, none is told.
 *
 * A liar draws traffic by a short time only where it would have drawn it by its distance, about which it may
 * as well lie. An answer counts if it brings the clock of the question, so it can only come late. */
#include "route/route.h"

/* Microseconds, of what is told and compared: two bytes reach 6.5 s. */
#define RTT_UNIT 100u
/* Times below a millisecond are equal: relays' own steps take as long. */
#define RTT_FLOOR 10u
/* Ten seconds are a round. In each second a tenth of the links is asked, but no more than 16. */
#define RTT_TICK PHX__SECOND
#define RTT_ROUND 10u
#define RTT_ASKED_MOST 16u
/* More is no round trip. */
#define RTT_MOST (uint32_t)(10 * PHX__SECOND)
/* After so long without an answer a link is asked again. */
#define RTT_LOST (uint32_t)(60 * PHX__SECOND)

static struct phx__route_nbr *rtt_nbr(const struct phx__route *r, uint32_t node)
{
    uint32_t pos = node < r->table.capacity ? r->table.at[node].pos : PHX__TABLE_FAR;

    return pos != PHX__TABLE_FAR ? &r->nbrs[pos] : NULL;
}

/* ---- Links ----------------------------------------------------------------------------------- */

uint32_t phx__route_rtt_ask(struct phx__route *r, uint32_t nbr, uint64_t now)
{
    struct phx__route_nbr *n = rtt_nbr(r, nbr);

    if (!r->rtt.on || n == NULL)
        return (uint32_t)(now / PHX__MS);
    return n->asked = PHX__MAX((uint32_t)now, 1); /* 0 would ask for nothing */
}

void phx__route_rtt_answer(struct phx__route *r, uint32_t nbr, uint32_t echo, uint64_t now)
{
    struct phx__route_nbr *n = rtt_nbr(r, nbr);
    uint32_t us = (uint32_t)now - echo;

    if (n == NULL || n->asked == 0 || echo != n->asked)
        return;
    n->asked = 0;
    us = PHX__MAX(PHX__MIN(us, RTT_MOST), 1);
    if (n->rtt == 0)
        n->rtt = 8 * us;
    else /* 4 times what it is, since it is kept times 8 */
        n->rtt += PHX__MIN(us, PHX__MAX(n->rtt / 2, RTT_FLOOR * RTT_UNIT)) - n->rtt / 8;
}

int phx__route_rtt_tick(struct phx__route *r, uint64_t now)
{
    uint32_t count = r->nbr_count / RTT_ROUND + (r->rtt.ticks % RTT_ROUND < r->nbr_count % RTT_ROUND);

    if (now < r->rtt.at)
        return 0;
    r->rtt.at = now + RTT_TICK;
    for (count = PHX__MIN(count, RTT_ASKED_MOST); count > 0; count--) {
        struct phx__route_nbr *n;
        r->rtt.turn = r->rtt.turn + 1 < r->nbr_count ? r->rtt.turn + 1 : 0;
        n = &r->nbrs[r->rtt.turn];
        if (n->asked == 0 || (uint32_t)now - n->asked >= RTT_LOST)
            r->ops.beat(r->ops.ctx, n->node, (int)PHX__BEAT_REPLY);
    }
    return ++r->rtt.ticks % RTT_ROUND == 0;
}

/* ---- Ways, in RTT_UNIT; 0: not known ----------------------------------------------------------- */

static uint32_t rtt_way(const struct phx__route *r, const struct phx__offer *h)
{
    const struct phx__route_nbr *n = h != NULL ? rtt_nbr(r, h->nbr) : NULL;

    if (n == NULL || n->rtt == 0 || (h->rtt == 0 && h->hops > 0))
        return 0;
    return PHX__MAX(PHX__MIN(n->rtt / (8 * RTT_UNIT) + h->rtt, UINT16_MAX), 1);
}

static uint32_t rtt_used(const struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = &r->table.at[node];

    return d->next != PHX__NONE ? rtt_way(r, phx__route_table_offer(d, d->next)) : 0;
}

int phx__route_rtt_compare(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr,
                           uint32_t other)
{
    uint32_t a = rtt_way(r, phx__route_table_offer(d, nbr)), b = rtt_way(r, phx__route_table_offer(d, other));

    if (a == 0 || b == 0)
        return a != b;
    a = PHX__MAX(a, RTT_FLOOR);
    b = PHX__MAX(b, RTT_FLOOR);
    return a == b ? 0 : 4 * a <= 3 * b ? -1 : 1;
}

uint64_t phx__route_rtt_us(const struct phx__route *r, uint32_t node)
{
    return node < r->table.capacity ? (uint64_t)rtt_used(r, node) * RTT_UNIT : 0;
}

/* ---- What neighbours are told ------------------------------------------------------------------ */

uint16_t phx__route_rtt_told(const struct phx__route *r, uint32_t node)
{
    return node < r->rtt.capacity ? r->rtt.told[node].rtt : 0;
}

int phx__route_rtt_news(struct phx__route *r, uint32_t node, int quiet)
{
    uint32_t told = phx__route_rtt_told(r, node), is = rtt_used(r, node), seq = r->table.at[node].seq;
    uint32_t a = PHX__MAX(told, RTT_FLOOR), b = PHX__MAX(is, RTT_FLOOR);
    int differs = (told == 0) != (is == 0) || 4 * (a > b ? a - b : b - a) > a;
    int newer = quiet && is != 0 && (node >= r->rtt.capacity || r->rtt.told[node].seq != seq);

    if ((!differs && !newer)
        || phx__mem_grow(r->mem, &r->rtt.told, &r->rtt.capacity, node + 1, sizeof *r->rtt.told) != 0)
        return 0; /* without memory: in the next round, perhaps */
    if (differs)
        r->rtt.told[node].rtt = (uint16_t)is;
    if (newer)
        r->rtt.told[node].seq = seq;
    return 1;
}
