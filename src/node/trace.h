/* trace.h - BRAIN: phx_trace: questions to the nodes on a way, and their answers. */
#ifndef PHX_NODE_TRACE_H
#define PHX_NODE_TRACE_H
#include "node/env.h"

struct phx__node_trace_ops {
    int (*random)(phx *ctx, void *out, size_t size); /* 0, or there are no random bytes */
    int (*distance)(phx *ctx, uint32_t node); /* hops, PHX__UNREACHABLE, or -1: not known, or PHX__NONE */
    int (*why)(phx *ctx, uint32_t node); /* there is no link with it; 0: there is, or it is this node */
    void (*done)(phx *ctx, const struct phx_trace *t); /* tells the host, which may call anything */
};
struct phx__node_trace_item {
    struct phx_trace out; /* what the host is told; out.hops is `hops`, result counts with end */
    uint64_t key;
    uint64_t until;       /* the end of the wait */
    int asked;            /* hops 1..asked are asked about; 0: not begun */
    int end;              /* the hop where the way ends; 0: not known yet */
    struct phx_hop *hops; /* hop_limit of them */
    uint64_t *sent_at;    /* as many, behind them in the same block */
};
struct phx__node_trace {
    struct phx__node_env env;
    struct phx__node_trace_ops ops;
    struct phx__node_trace_item *at;
    uint32_t count, capacity;
    uint32_t timer;
    uint64_t paid; /* when the answers given to others are paid for */
};

/* 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__node_trace_init(struct phx__node_trace *t, const struct phx__node_env *env,
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
