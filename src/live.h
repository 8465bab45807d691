/* live.h - BRAIN: who is alive: heartbeats, silence, own stalls. */
#ifndef PHX_LIVE_H
#define PHX_LIVE_H
#include "id.h"
#include "timer.h"

/* These may call back into this room, e.g. phx__live_down from silent. */
struct phx__live_ops {
    void *ctx;
    void (*beat)(void *ctx, uint32_t node, uint64_t next_us); /* send a heartbeat on this link */
    void (*silent)(void *ctx, uint32_t node, uint64_t us);    /* give the link up */
    void (*state)(void *ctx, uint32_t node, enum phx_state state); /* it changed */
};
struct phx__live_node {
    uint8_t linked;
    enum phx_state state; /* 0: not known */
    uint64_t since;       /* of state */
    uint64_t heard;       /* last traffic in on the link; on the waking clock, see live.c */
    uint64_t said;        /* last traffic out */
    uint64_t next_us;     /* the peer will speak again within this */
    uint64_t doom;        /* when unreachable becomes failed; on the waking clock */
    uint32_t timer;       /* of the link: its handle + 1; 0: none */
    uint32_t fate;        /* of the node, for doom: its handle + 1; 0: none */
};
struct phx__live {
    struct phx__mem *mem;
    struct phx__timers *timers;
    struct phx__live_ops ops;
    struct phx_detector limits;
    struct phx__live_node *at; /* by node */
    uint32_t capacity;
    int stepped; /* last_step is valid */
    uint64_t last_step;
    uint64_t stalled; /* all own stalls together */
};
PHX_PRIVATE void phx__live_init(struct phx__live *l, struct phx__mem *mem,
                                struct phx__timers *timers, const struct phx_detector *limits,
                                const struct phx__live_ops *ops);
PHX_PRIVATE void phx__live_free(struct phx__live *l);
/* Other limits, from now on. */
PHX_PRIVATE void phx__live_limits(struct phx__live *l, const struct phx_detector *d, uint64_t now);
/* The host will be away for so long: tell all neighbours. */
PHX_PRIVATE void phx__live_busy(struct phx__live *l, uint64_t us, uint64_t now);
/* A step begins; call it before any other of these and before timers are taken. If the step comes much
 * later than the earliest timer asked for, that was this node's own fault: deadlines move by the gap. */
PHX_PRIVATE void phx__live_step(struct phx__live *l, uint64_t now);
/* A link is up or down. PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__live_up(struct phx__live *l, uint32_t node, uint64_t now);
PHX_PRIVATE void phx__live_down(struct phx__live *l, uint32_t node);
/* Traffic on the link. Cheap: no timer is touched, unless the peer now promises to speak sooner than it did
 * before. next_us 0: as announced before. */
PHX_PRIVATE void phx__live_heard(struct phx__live *l, uint32_t node, uint64_t next_us,
                                 uint64_t now);
PHX_PRIVATE void phx__live_said(struct phx__live *l, uint32_t node, uint64_t now);
/* The routing's word on a node. left: its card says so. PHX_ENOMEM, only when the node was not known:
 * nothing changed. */
PHX_PRIVATE int phx__live_reachable(struct phx__live *l, uint32_t node, int yes, int left,
                                    uint64_t now);
PHX_PRIVATE enum phx_state phx__live_state(const struct phx__live *l, uint32_t node,
                                           uint64_t *since);
PHX_PRIVATE void phx__live_forget(struct phx__live *l, uint32_t node);
/* PHX__TIMER_LIVE (a link) and PHX__TIMER_LIVE_NODE (a fate) fired. */
PHX_PRIVATE void phx__live_due(struct phx__live *l, int kind, uint32_t node, uint64_t now);

#endif
