/* rtt.h - BRAIN: round trip times, by which a node may choose among next hops that are equally near. */
#ifndef PHX_ROUTE_RTT_H
#define PHX_ROUTE_RTT_H
#include "base/mem.h"
#include "route/table.h"

/* Ten seconds are a round. In each second a tenth of the links is asked, but no more than 16. */
#define PHX__RTT_TICK PHX__SECOND
#define PHX__RTT_ROUND 10u
#define PHX__RTT_ASKED_MOST 16u

struct phx__route_rtt_link {
    uint32_t smooth; /* microseconds, times 8; 0: not known */
    uint32_t asked;  /* the clock in the heartbeat that is to be answered; 0: none */
};

struct phx__route_rtt {
    int on;
    int telling;         /* the next flush tells ways that are only a choice */
    uint64_t at;         /* the next links are asked */
    uint32_t turn, ticks;
    struct phx__route_rtt_told {
        uint32_t seq; /* at which it was told as a choice */
        uint16_t way; /* what neighbours are told of our way to it */
    } *told;          /* by node */
    uint32_t capacity;
};

/* A question leaves: the clock that goes with it. Is its answer still to come? An answer with that clock. */
PHX_PRIVATE uint32_t phx__route_rtt_ask(struct phx__route_rtt_link *l, uint64_t now);
PHX_PRIVATE int phx__route_rtt_waits(const struct phx__route_rtt_link *l, uint64_t now);
PHX_PRIVATE void phx__route_rtt_answer(struct phx__route_rtt_link *l, uint32_t echo, uint64_t now);

/* How long a way is, over this link and as its other end has offered it; 0: not known. In microseconds. */
PHX_PRIVATE uint32_t phx__route_rtt_way(const struct phx__route_rtt_link *l, const struct phx__offer *h);
PHX_PRIVATE uint64_t phx__route_rtt_us(uint32_t way);
/* Is way a faster than way b, the one in use (-1), not to be taken (1), or the same (0)? */
PHX_PRIVATE int phx__route_rtt_compare(uint32_t a, uint32_t b);

/* What neighbours are told of the way to a node; whether that has just become something else, since our way
 * takes so long, or its number, if seq is not 0. */
PHX_PRIVATE uint16_t phx__route_rtt_told(const struct phx__route_rtt *t, uint32_t node);
PHX_PRIVATE int phx__route_rtt_news(struct phx__route_rtt *t, struct phx__mem *mem, uint32_t node,
                                    uint32_t way, uint32_t seq);

#endif
