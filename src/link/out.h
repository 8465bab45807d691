/* out.h - what leaves a link: control frames first, then data that is pulled from the post. */
#ifndef PHX_LINK_OUT_H
#define PHX_LINK_OUT_H
#include "link/state.h"

#define PHX__LINK_AHEAD (2 * PHX__FRAGMENT) /* l->out.ahead begins with it */
/* A writer with room for a control frame of at most size bytes; control_end queues it. 0, or why not. */
PHX_PRIVATE int phx__link_out_control(struct phx__link_set *s, struct phx__link *l, size_t size,
                                      struct phx__writer *w);
PHX_PRIVATE int phx__link_out_control_end(struct phx__link_set *s, struct phx__link *l,
                                          const struct phx__writer *w);
PHX_PRIVATE size_t phx__link_out_queued(const struct phx__link *l); /* but for news, which give way */
/* The news that were queued last have their reader pass so many claims: that is charged, too. */
PHX_PRIVATE void phx__link_out_named(struct phx__link *l, uint64_t claims);
/* How many bytes of news may be queued now; 0: ask again soon. More than that only for one large card. */
PHX_PRIVATE size_t phx__link_out_room(const struct phx__link_set *s, const struct phx__link *l);
/* Writes what waits, at most about `limit` bytes: 0, or why the link must close. l->out.full: the world takes
 * no more now. l->out.dry: nothing is left. Neither: the limit was reached, there may be more. */
PHX_PRIVATE int phx__link_out_write(struct phx__link_set *s, struct phx__link *l, size_t limit);
/* Tries once to write control frames, without waiting for anything: for the last words of a link. */
PHX_PRIVATE void phx__link_out_try(struct phx__link_set *s, struct phx__link *l);

#endif
