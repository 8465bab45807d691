/* trace.h - BRAIN: phx_trace: questions to the nodes on a way, and their answers. */
#ifndef PHX_NODE_TRACE_H
#define PHX_NODE_TRACE_H
#include "base/timer.h"
#include "wire/link.h"

struct phx__node_trace_ops {
    void *ctx;
    uint32_t (*way)(void *ctx, const struct phx_id *id); /* way, send: as in handover.h */
    int (*send)(void *ctx, uint32_t nbr, const struct phx__writer *frame, int urgent);
    int (*random)(void *ctx, uint64_t *out); /* 0, or no random numbers are to be had */
    int (*distance)(void *ctx, uint32_t node); /* hops, PHX__UNREACHABLE, or -1: not known */
    int (*why)(void *ctx, uint32_t node); /* there is no link with it; 0: there is, or it is this node */
    void (*done)(void *ctx, const struct phx_trace *t); /* tells the host, which may call anything */
};
struct phx__node_trace_item {
    struct phx_id target;
    uint64_t token, key;
    uint64_t until;   /* the end of the wait; UINT64_MAX: not begun */
    int why;          /* why there is no own link with the target; 0: there is one */
    uint32_t asked;   /* hops 1..asked are asked about */
    uint32_t end;     /* the hop where the way ends; 0: not known yet */
    int result;       /* with end */
    struct phx_hop *hops; /* hop_limit of them */
    uint64_t *sent_at;    /* as many, behind them in the same block */
};
struct phx__node_trace {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__timers *timers;
    struct phx__node_trace_ops ops;
    uint32_t hop_limit;
    int relay;
    struct phx__node_trace_item *at;
    uint32_t count, capacity;
    uint32_t timer;
    uint64_t paid; /* when the answers given to others are paid for */
};

/* 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__node_trace_init(struct phx__node_trace *t, struct phx__mem *mem, struct phx__ids *ids,
                                     struct phx__timers *timers, uint32_t hop_limit, int relay,
                                     const struct phx__node_trace_ops *ops);
PHX_PRIVATE void phx__node_trace_free(struct phx__node_trace *t);
/* The next step begins it: 0, PHX_ENOTFOUND, PHX_ELIMIT, PHX_EIO, PHX_ENOMEM. */
PHX_PRIVATE int phx__node_trace_add(struct phx__node_trace *t, const struct phx_id *target, uint64_t token,
                                    uint64_t now);
PHX_PRIVATE void phx__node_trace_due(struct phx__node_trace *t, uint64_t now); /* the timer fired */
/* A frame from this neighbour: 0 or PHX_EPROTO. */
PHX_PRIVATE int phx__node_trace_on_trace(struct phx__node_trace *t, uint32_t from,
                                         const struct phx__frame *f, uint64_t now);
PHX_PRIVATE void phx__node_trace_end(struct phx__node_trace *t); /* this node has left */

#endif
