/* env.h - what handover, suspect and trace are all given: ids, timers, and a way to send frames. */
#ifndef PHX_NODE_ENV_H
#define PHX_NODE_ENV_H
#include "base/timer.h"
#include "wire/link.h"

struct phx__node_env {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    int hop_limit, relay;
    phx *ctx; /* of these functions, and of the brain's own */
    /* The next hop towards this id, or PHX__NONE. */
    uint32_t (*way)(phx *ctx, const struct phx_id *id);
    /* Queues a frame for this neighbour (PHX__NONE: nobody), made by phx__wire_link_put. Only a SUSPECT is
     * added to a long queue. 1 if there was a link to queue it on. */
    int (*send)(phx *ctx, uint32_t nbr, int type, int flags, int hops, const void *body);
    /* 1, and which life of a node is known, and its number (NULL: not asked for); or 0. */
    int (*life)(phx *ctx, uint32_t node, uint64_t *incarnation, uint32_t *seq);
};

#endif
