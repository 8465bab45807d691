/* samehost.h - BRAIN: when processes of one host are linked by a UNIX socket in place of TCP. */
#ifndef PHX_NODE_SAMEHOST_H
#define PHX_NODE_SAMEHOST_H
#include "base/addr.h"

struct phx__node_samehost {
    uint32_t wanted, told; /* bits of listeners: their companion is to be opened; why it was not is logged */
};

/* One was to be opened, with this result. 1: log the error. *again: when to try once more, or UINT64_MAX. */
PHX_PRIVATE int phx__node_samehost_tried(struct phx__node_samehost *s, uint32_t listener, int err,
                                         int can_log, uint64_t now, uint64_t *again);
/* A dialled link within this host was closed for this reason: may TCP lead to another node? */
PHX_PRIVATE int phx__node_samehost_is_doubtful(const struct phx_address *to, int reason);

#endif
