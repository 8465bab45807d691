/* start.h - BRAIN: many nodes start together: how fast each of them dials. */
#ifndef PHX_DIAL_START_H
#define PHX_DIAL_START_H
#include "dial/slot.h"

struct phx__dial_start {
    uint32_t window;    /* dials at once */
    uint64_t slowed_at; /* when the window was last halved */
    uint64_t quickest;  /* the least that a link took from dial to up */
    uint64_t news_at;   /* when a node was last heard of for the first time, or messages were under way */
    uint64_t since;     /* when these news began */
    uint64_t began_at;  /* when a dial last began */
    uint64_t rest_until; /* after a slow link */
};

PHX_PRIVATE void phx__dial_start_init(struct phx__dial_start *s);
/* There are news: a node has been heard of, or messages are under way. */
PHX_PRIVATE void phx__dial_start_news(struct phx__dial_start *s, uint64_t now);
/* In a paced start, when a node that can be reached may be dialled for the first time: now, or look again
 * later; UINT64_MAX: when a dial has ended. busy: messages are under way. */
PHX_PRIVATE uint64_t phx__dial_start_room_at(struct phx__dial_start *s, const struct phx__dial_slots *slots,
                                             uint32_t known, int busy, uint64_t now);
/* This dial has led to a link now. most: of the window. */
PHX_PRIVATE void phx__dial_start_learn(struct phx__dial_start *s, const struct phx__dial_slot *slot,
                                       uint32_t known, uint32_t most, uint64_t now);

#endif
