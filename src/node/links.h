/* links.h - the node's connections: listeners, dials, one link per pair, reading and writing. */
#ifndef PHX_NODE_LINKS_H
#define PHX_NODE_LINKS_H
#include "link/link.h"

#include <poll.h>

#define PHX__LISTENERS 8u
/* Values of phx__links.handles: a link's slot; or this bit and an index in phx__listeners.at. */
#define PHX__LISTENER_SLOT 0x80000000u

struct phx__listener {
    int handle;
    uint8_t paused; /* not watched: no descriptors, or too many links that are not authenticated */
    struct phx_address address;
};

struct phx__listeners {
    struct phx__listener at[2 * PHX__LISTENERS]; /* behind: their companions, handle -1: none */
    int count;
    uint32_t timer; /* paused listeners look again */
};

/* A dial that cannot be made while `dial` asks for it: cfg.dial is to be called, or TCP to be tried. */
struct phx__deferred_dial {
    uint32_t attempt; /* PHX__NONE: given up meanwhile */
    uint32_t expect;
    struct phx_address to;
};

struct phx__links {
    struct phx__link **at; /* by slot; NULL: free */
    uint32_t size, capacity, up;
    uint32_t unauthenticated; /* links that were accepted and have not proved anything yet */
    uint32_t generation;      /* of the link that came up last */
    uint32_t *writers;        /* slots with something to write; room for twice all slots */
    uint32_t writer_count, writer_capacity;
    uint32_t *closed; /* slots to free at the end of the step */
    uint32_t closed_count, closed_capacity;
    struct phx__deferred_dial *deferred; /* emptied within the step */
    uint32_t deferred_count, deferred_capacity;
    struct phx__map handles;        /* handle -> slot or listener */
    uint32_t last_ready, predicted; /* slot of the link that was ready last; right predictions in a row */
    uint64_t waited_at;             /* when the last wait() was called */
};

PHX_PRIVATE int phx__node_links_open(phx *p);
PHX_PRIVATE void phx__node_links_shut(phx *p); /* closes all, when the node is freed; then their memory */
PHX_PRIVATE void phx__node_links_free(phx *p);

PHX_PRIVATE int phx__node_links_listen(phx *p, struct phx_address *a);
PHX_PRIVATE void phx__node_links_retry_listeners(phx *p); /* PHX__TIMER_ACCEPT */
/* What a link that has come up teaches of own addresses. */
PHX_PRIVATE void phx__node_links_learn_address(phx *p, const struct phx__link *l);

/* For dial. */
PHX_PRIVATE int phx__node_links_dial(void *ctx, uint32_t attempt, uint32_t expect,
                                     const struct phx_address *to);
PHX_PRIVATE void phx__node_links_abandon(void *ctx, uint32_t attempt);
PHX_PRIVATE void phx__node_links_dial_deferred(phx *p);
PHX_PRIVATE int phx__node_links_adopt(phx *p, int handle, int dialer, int secure);

/* Reads what is ready: wait() tells, or the host has told. */
PHX_PRIVATE void phx__node_links_wait(phx *p);
PHX_PRIVATE void phx__node_links_given(phx *p, const struct pollfd *fds, int n);
PHX_PRIVATE void phx__node_links_write(phx *p);
PHX_PRIVATE int phx__node_links_can_write(const phx *p); /* is a write to be tried in the next step? */
PHX_PRIVATE void phx__node_links_due(phx *p, uint32_t slot); /* PHX__TIMER_LINK */

PHX_PRIVATE void phx__node_links_close(phx *p, struct phx__link *l, int reason, int tell);
PHX_PRIVATE void phx__node_links_close_all(phx *p);
PHX_PRIVATE void phx__node_links_sweep(phx *p); /* frees closed links */

#endif
