/* place.h - large fragments that are read straight into the message they belong to. */
#ifndef PHX_LINK_PLACE_H
#define PHX_LINK_PLACE_H
#include "link/state.h"

#define PHX__LINK_PLACE_MOST 15u /* fragments guessed by one read, which then brings a megabyte */

/* size bytes of a frame of `whole` stand at p. 1: the rest is read into place, or the link closed; 0: not. */
PHX_PRIVATE int phx__link_place_begin(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                                      size_t size, size_t whole);
/* Reads once, into place: 0 or why the link must close; or *done is 0: there is nothing to be read into
 * place. *left bytes that came behind are to be looked at, in *out, which the caller drops, or, if that is
 * NULL, in the scratch. */
PHX_PRIVATE int phx__link_place_read(struct phx__link_set *s, struct phx__link *l, int *done, size_t *left,
                                     struct phx__block **out);
/* One read of at most size bytes: how many, 0 if there are none now, or why the link must close. */
PHX_PRIVATE long phx__link_place_recv(struct phx__link_set *s, struct phx__link *l, uint8_t *to, size_t size);

#endif
