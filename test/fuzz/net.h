/* net.h - nodes in the simulated world for fuzz targets: hosts that count, and check what they are shown. */
#ifndef FUZZ_NET_H
#define FUZZ_NET_H

#include "../sim/world.h"
#include "fuzz.h"

#define MS ((uint64_t)1000)
#define SECOND ((uint64_t)1000000)
#define PORT 7000u
#define NAMES 4u        /* names 1..NAMES */
#define NODES 3u
#define TOKENS 256u

/* A message of ours: nobody else can make one. Numbers count up for each (sender's life, name). */
struct net_payload {
    uint64_t magic, sender, number, name, sum;
};

struct net_node {
    phx *p;
    uint32_t host, index;
    uint64_t life;             /* unique among all lives of all nodes */
    struct phx_id id;
    struct net *net;
    uint64_t sent[NAMES + 1];  /* the last number to each name */
    uint64_t tokens;           /* given out in this life */
    uint8_t outcome[TOKENS];   /* by token: how many */
    int closing;
    FILE *record; /* NULL: it is not recorded */
};

struct net_flow { /* what a name's holders have seen of one sender's life */
    uint64_t sender, name, holder, last;
};

struct net {
    struct world *w;
    struct net_node nodes[NODES];
    uint64_t lives;
    struct net_flow *flows;
    size_t flow_count, flow_room;
    uint64_t delivered, outcomes;
    /* Called from every callback, if set; may call anything. */
    void (*meddle)(struct net_node *n, void *ctx);
    void *ctx;
    struct phx_os (*os)(struct net_node *n); /* what the node gets; NULL: the world's */
    struct phx_alloc (*alloc)(struct net_node *n);
    size_t mem_limit;
    int false_bytes; /* bytes are changed on their way, with no key: so ids and numbers may be false */
    struct phx_os given[NODES];
    struct phx_alloc memory[NODES];
};

void net_begin(struct net *n, uint64_t seed);
/* Starts node i: a new life, listening, and joined to nodes 0 and 1. 0, or why there is no node. */
int net_start(struct net *n, uint32_t i);
void net_crash(struct net *n, uint32_t i);
void net_run(struct net *n, uint64_t us);
/* As net_run, but no longer than until `done` says 1, asked from time to time; a little longer, to see what
 * comes twice. What waits for a state then costs what it takes, and not the longest that it may. */
void net_run_until(struct net *n, uint64_t us, int (*done)(void));
/* Sends a payload of `size` bytes at least to a name; with a token if asked. */
void net_send(struct net *n, uint32_t i, uint64_t name, size_t size, int token);
/* All nodes are freed: nothing is left, no handle and no byte. */
void net_end(struct net *n);

#endif
