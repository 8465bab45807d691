/* samehost.h - BRAIN: when processes of one host are linked by a UNIX socket in place of TCP. */
#ifndef PHX_NODE_SAMEHOST_H
#define PHX_NODE_SAMEHOST_H
#include "base/addr.h"

struct phx__node_samehost {
    int enabled;           /* 0 or 1: cfg.same_host; the rest begins as zero */
    uint32_t wanted, told; /* bits of listeners: their companion is to be opened; why it was not is logged */
};

PHX_PRIVATE void phx__node_samehost_add(struct phx__node_samehost *s, uint32_t listener); /* below 32 */
/* Is a companion of this listener to be opened? */
PHX_PRIVATE int phx__node_samehost_wants(const struct phx__node_samehost *s, uint32_t listener);
/* That was tried, and this is the result. 1: log the error. *again: when to try once more, or UINT64_MAX. */
PHX_PRIVATE int phx__node_samehost_tried(struct phx__node_samehost *s, uint32_t listener, int err,
                                         int can_log, uint64_t now, uint64_t *again);
/* Is the way within this host to be tried before TCP? */
PHX_PRIVATE int phx__node_samehost_may_dial(const struct phx__node_samehost *s, const struct phx_address *to);
/* A dialled link within this host was closed for this reason: may TCP lead to another node? */
PHX_PRIVATE int phx__node_samehost_is_doubtful(const struct phx_address *to, int reason);

#endif
