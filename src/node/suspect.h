/* suspect.h - BRAIN: what travels for failure detection: rumours of silence, and probes. */
#ifndef PHX_NODE_SUSPECT_H
#define PHX_NODE_SUSPECT_H
#include "detect/detect.h"
#include "node/env.h"
#include "wire/route.h"

struct phx__node_suspect_ops {
    uint32_t (*neighbour)(phx *ctx, uint32_t i); /* one after another, from 0; then PHX__NONE */
    int (*is_vain)(phx *ctx, uint32_t nbr, uint32_t node); /* it is busy, or knows no more of node */
    int (*is_adjacent)(phx *ctx, uint32_t nbr, uint32_t other); /* has it a link with the other? */
    /* This accuser says that the node is silent: 1 if that is taken seriously. A sign of life came. */
    int (*accuse)(phx *ctx, uint32_t node, uint32_t accuser);
    void (*alive)(phx *ctx, uint32_t node);
    void (*refute)(phx *ctx, uint32_t nbr, const struct phx__request *q); /* a new own number, for nbr too */
    /* Where the last rumour about a node is noted; NULL: nowhere yet, or with make: no memory. */
    struct phx__detect_rumour *(*rumour)(phx *ctx, uint32_t node, int make);
};
struct phx__node_suspect {
    struct phx__node_env env;
    struct phx__node_suspect_ops ops;
    struct phx__rnd *rnd;
    const struct phx_detector *limits;
};

/* *limits may change. */
PHX_PRIVATE void phx__node_suspect_init(struct phx__node_suspect *s, const struct phx__node_env *env,
                                        struct phx__rnd *rnd, const struct phx_detector *limits,
                                        const struct phx__node_suspect_ops *ops);
/* A link with this node is silent: tells all. */
PHX_PRIVATE void phx__node_suspect_raise(struct phx__node_suspect *s, uint32_t node, uint64_t now);
/* The node is lost: asks others whether they reach it. */
PHX_PRIVATE void phx__node_suspect_probe(struct phx__node_suspect *s, uint32_t node);
/* Frames from this neighbour: 0 or PHX_EPROTO. */
PHX_PRIVATE int phx__node_suspect_on_suspect(struct phx__node_suspect *s, uint32_t from,
                                             const struct phx__frame *f, uint64_t now);
PHX_PRIVATE int phx__node_suspect_on_probe(struct phx__node_suspect *s, uint32_t from,
                                           const struct phx__frame *f);
/* An entry is about to be taken in while somebody is suspected: it may refute that. */
PHX_PRIVATE void phx__node_suspect_on_entry(struct phx__node_suspect *s, const struct phx__entry *e);

#endif
