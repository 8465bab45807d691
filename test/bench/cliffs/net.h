/* net.h - a simulated network whose nodes' work is counted, for cliffs.c. */
#ifndef CLIFFS_NET_H
#define CLIFFS_NET_H
#include "../../sim/world.h"

#define MS ((uint64_t)1000)
#define SECOND ((uint64_t)1000000)
#define PORT 7000u

struct spot {
    phx *p;
    uint32_t host;
    double work;                   /* of all its steps */
    uint64_t writable, messages, outcomes;
    void (*on_writable)(struct spot *s, uint64_t name); /* NULL: counts only */
};

struct net {
    struct world *w;
    struct spot *spots;
    uint32_t count;
};

/* Basic blocks of phoenix.c so far, and for each 32 bytes that it copied, moved or set one more. */
double net_work(void);
uint64_t net_moved(void); /* bytes copied, moved or set */

void net_die(const char *what);
void net_must(int err, const char *what);
void net_new(struct net *n, uint32_t most);
void net_free(struct net *n);
/* The defaults, without a key. */
void net_config(struct phx_config *cfg);
/* One more node, a member of what host 0 is the hub of. It runs from the next net_run on. */
struct spot *net_add(struct net *n, struct phx_config *cfg, int listens);
/* The spot's host begins another process, with a new id. */
void net_start(struct net *n, struct spot *s, struct phx_config *cfg, int listens);
/* Its process says goodbye and ends. */
void net_leave(struct net *n, struct spot *s);
void net_crash(struct net *n, uint32_t i);
void net_run(struct net *n, uint64_t us);
/* The host of this spot did something. */
void net_touch(struct net *n, const struct spot *s);
struct phx_stats net_stats(const struct spot *s);
uint64_t net_allocs(const struct net *n, const struct spot *s);
/* Until each has that many links and knows a way to so many nodes, itself included. */
void net_until(struct net *n, uint32_t first, uint32_t last, uint32_t links, uint32_t reachable);
/* A full mesh of so many nodes, at rest. */
void net_mesh(struct net *n, struct phx_config *cfg, uint32_t nodes, uint32_t room);

#endif
