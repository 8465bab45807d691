/* start.h - part of disc: when many start together: when each dials, and how many dials at once. */
#ifndef PHX_DIAL_START_H
#define PHX_DIAL_START_H
#include "dial/dial.h"

/* A first dial is left to the other side so often at most beyond its time. */
#define PHX__CROWD_PATIENCE_TIMES 10u
/* Dials at once, to begin with. */
#define PHX__CROWD_PACE 2u

/* Somebody was heard of for the first time. */
PHX_PRIVATE void phx__dial_start_news(struct phx__dial *d);
/* How long to put a first dial off, so that not all dial the same node; 0: no crowd. */
PHX_PRIVATE uint64_t phx__dial_start_spread(const struct phx__dial *d);
/* Is it too soon for a first dial in place of the other side? Links are still coming. */
PHX_PRIVATE int phx__dial_start_is_patient(const struct phx__dial *d, uint32_t slot);
/* Does this one pass those that wait for the end of the news? */
PHX_PRIVATE int phx__dial_start_goes_first(const struct phx__dial *d, uint32_t slot);
/* May one more dial be under way, that of the head of the queue? */
PHX_PRIVATE int phx__dial_start_has_room(const struct phx__dial *d);
/* When to look again although no dial has ended; UINT64_MAX: never. */
PHX_PRIVATE uint64_t phx__dial_start_room_at(const struct phx__dial *d);
/* Asks whether that was all the news, if it is time for it. */
PHX_PRIVATE void phx__dial_start_ask(struct phx__dial *d);
/* A link came so long after its dial. */
PHX_PRIVATE void phx__dial_start_learn(struct phx__dial *d, uint64_t took);

#endif
