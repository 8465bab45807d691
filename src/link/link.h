/* link.h - the life of a link, and what comes in on it. */
#ifndef PHX_LINK_LINK_H
#define PHX_LINK_LINK_H
#include "link/state.h"

/* Makes *l (zeroed; slot, dialer and secure set) from a handle. state: DIALING or HELLO. PHX_ENOMEM. */
PHX_PRIVATE int phx__link_open(struct phx__link_set *s, struct phx__link *l, int handle,
                               enum phx__link_state state, uint64_t patience_us);
/* Closes the handle and frees what it holds; the reason goes to the peer if it can be told. */
PHX_PRIVATE void phx__link_close(struct phx__link_set *s, struct phx__link *l, int reason, int tell);
/* What the world should watch it for. */
PHX_PRIVATE int phx__link_events(const struct phx__link *l);

/* Reads once, or takes what is held, and handles all whole frames: 0, or why the link must close. */
PHX_PRIVATE int phx__link_read(struct phx__link_set *s, struct phx__link *l);
/* The block in which these bytes of a frame stand, to be held beyond it; NULL: they have to be copied. */
PHX_PRIVATE struct phx__block *phx__link_lend(struct phx__link_set *s, const uint8_t *raw);

#endif
