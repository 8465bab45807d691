/* links.h - the node's connections: listeners, dials, one link per pair, reading and writing. */
#ifndef PHX_NODE_LINKS_H
#define PHX_NODE_LINKS_H
#include "node/base.h"

PHX_PRIVATE int phx__node_links_open(phx *p);
PHX_PRIVATE void phx__node_links_free(phx *p); /* closes all, when the node is freed */

PHX_PRIVATE int phx__node_links_listen(phx *p, struct phx_address *a);
PHX_PRIVATE void phx__node_links_retry_listeners(phx *p); /* PHX__TIMER_ACCEPT */

/* For dial. */
PHX_PRIVATE int phx__node_links_dial(phx *p, uint32_t attempt, uint32_t expect,
                                     const struct phx_address *to);
PHX_PRIVATE void phx__node_links_abandon(phx *p, uint32_t attempt);
PHX_PRIVATE void phx__node_links_dial_deferred(phx *p);
PHX_PRIVATE int phx__node_links_adopt(phx *p, int handle, int dialer, int secure);

PHX_PRIVATE uint32_t phx__node_links_ready(phx *p, int handle, int events); /* its slot */
/* One of those who wait for their turn to begin with TLS. */
PHX_PRIVATE void phx__node_links_admit(phx *p);
PHX_PRIVATE void phx__node_links_read(phx *p, struct phx__link *l);
PHX_PRIVATE void phx__node_links_write(phx *p);
PHX_PRIVATE int phx__node_links_can_write(const phx *p); /* is a write to be tried in the next step? */
PHX_PRIVATE void phx__node_links_due(phx *p, uint32_t slot); /* PHX__TIMER_LINK */

PHX_PRIVATE void phx__node_links_close(phx *p, struct phx__link *l, int reason, int tell);
PHX_PRIVATE void phx__node_links_sweep(phx *p); /* frees closed links */
PHX_PRIVATE int phx__node_links_random(phx *p, void *out, size_t size); /* from the pool of keys.c */

#endif
