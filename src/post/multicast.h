/* multicast.h - one message to many names. */
#ifndef PHX_POST_MULTICAST_H
#define PHX_POST_MULTICAST_H
#include "post/box.h"

/* Accepts a message to many: to how many, or an error, and then nothing was accepted. */
PHX_PRIVATE int phx__post_multicast_send(struct phx__post *p, const struct phx_cast *c);

#endif
