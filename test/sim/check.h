/* check.h - what must hold in a network of Phoenix nodes, looked at from outside and at every
 * instant. */
#ifndef CHECK_H
#define CHECK_H

#include "world.h"

/* A process that lived or lives: ids are never used again, so one life is one destination. */
struct check_life {
    struct phx_id id;
    uint32_t host;
    int alive;
};

/* What one host's process believes, by life. As it was after its last step that changed any of
 * it. */
struct check_view {
    const phx *p; /* NULL: nobody lives here */
    uint32_t life, capacity;
    uint32_t *next;    /* life of the next hop; WORLD_NONE: no route */
    uint64_t *claimed; /* (number, feasible distance), greater is newer or shorter; 0: none */
    uint64_t *lost_at; /* 0: has a route, or never had one */
    uint8_t *hops;
    uint64_t looked; /* what the counters said when it was last looked at */
    uint32_t steps;
    struct paper *paper; /* NULL: goes by the rules of the product */
    struct owners_view *owners;
};

struct check {
    struct world *w;
    struct check_view *views; /* by host */
    struct check_life *lives;
    uint32_t life_count, life_capacity;
    uint32_t *index, index_size; /* open addressing, id -> life */
    struct phx_route *routes;    /* scratch */
    struct phx_link *links;
    size_t route_capacity, link_capacity;
    uint32_t every; /* look after every so many steps of a host that changed something */
    /* Losses since check_watch_losses: a pair is (host, living destination) that had a route. */
    int watching;
    uint64_t pairs_lost, longest_us, lost_us_sum;
    uint64_t looks, loops_checked;
    struct owners *owners; /* of owners.h, as are those of views */
};

struct check *check_new(struct world *w, uint32_t every);
void check_free(struct check *c);
void check_born(struct check *c, uint32_t host, phx *p, int rules); /* of paper.h; 0: the product's */
void check_died(struct check *c, uint32_t host);
/* A step of host is over. */
void check_step(struct check *c, uint32_t host);
/* Looks at host now, whatever `every` is. */
void check_look(struct check *c, uint32_t host);
void check_watch_losses(struct check *c);
/* Pairs that have lost a route since and did not get it back: they count until now. Returns how
 * many. */
uint64_t check_still_lost(struct check *c);

/* Hops of the route at host a to host b's process; 255: none. */
uint8_t check_hops(const struct check *c, uint32_t a, uint32_t b);
/* The host at the next hop; WORLD_NONE: none. */
uint32_t check_next(const struct check *c, uint32_t a, uint32_t b);

/* Would a message from a get to b at this moment, by the next hops and the streams' state? */
int check_path(const struct check *c, uint32_t a, uint32_t b);

/* A graph of hosts. edges: that of up links, both ends agreeing, or that of all links which the
 * walls allow and could be made. */
struct graph {
    uint32_t count;
    uint32_t *first; /* count + 1 of them: into to */
    uint32_t *to;
};
int check_graph_of_links(struct check *c, struct graph *g);    /* 0, or -1: no memory */
int check_graph_of_walls(const struct check *c, struct graph *g);
void graph_free(struct graph *g);
/* Distances from `from`; 255: unreachable. queue: scratch, both of count entries. */
void graph_distances(const struct graph *g, uint32_t from, uint8_t *out, uint32_t *queue);

/* Every pair's hops against the graph's distances: 0, or 1 with *a and *b the first pair that
 * differs and *want its distance. Hosts without a process don't count. limit: distances above it
 * may be unreachable. */
int check_shortest(struct check *c, const struct graph *g, uint8_t limit, uint32_t *a, uint32_t *b,
                   uint8_t *want);
/* In each component of the graph all digests agree: 0, or 1 and a pair that does not. */
int check_digests(struct check *c, const struct graph *g, uint32_t *a, uint32_t *b);
/* At most one up link per pair, queues below limit: fails the world if not. */
void check_links(struct check *c, uint32_t host, size_t queue_limit);
/* Whose id that is: "host 3", "host 3 (dead)" or "an unknown node". */
const char *check_who(const struct check *c, const struct phx_id *id, char *out, size_t size);
/* The life with that id; WORLD_NONE: none. */
uint32_t check_life(const struct check *c, const struct phx_id *id);
/* Memory and queues of a node are within what cfg allows, when no message so far had more than `most`
 * bytes, and no more than `at_once` go to one node in one call: fails the world if not. */
void check_bounds(const struct check *c, uint32_t host, const struct phx_config *cfg, uint32_t most,
                  uint32_t at_once);
/* What a process was told of what it sent. */
struct check_told {
    uint64_t untold, untold_bytes;   /* no outcome yet */
    uint64_t mute, mute_bytes;       /* were sent and will have none */
    uint64_t expired, expired_bytes; /* their time was over: some of it may be under way nevertheless */
};
/* phx_pending, the queues behind it and what the host was told agree: fails the world if not. */
void check_pending(const struct check *c, uint32_t host, const struct check_told *t);
/* Who holds the name in that host's eyes and has not failed: a number that means something to it alone,
 * WORLD_NONE: nobody. 0, or -1: it has no memory to find out. */
int check_owner(const struct check *c, uint32_t host, uint64_t name, uint32_t *owner);
/* For the reader of a failure: whose claims of name that host knows. */
void check_explain_name(struct check *c, uint32_t host, uint64_t name, char *out, size_t size);
/* Who says it holds name itself, of the hosts with a process: how many; *holder one of them. */
uint32_t check_holders(struct check *c, uint64_t name, uint32_t *holder);

/* Bytes that the process keeps of nodes that are dead or were only heard of. */
size_t check_dead_bytes(const struct check *c, uint32_t host);
/* Bytes of blocks that it keeps for its next messages, and gives back when they are idle. */
size_t check_spare_bytes(const phx *p);

/* The library's SHA-256, and its HMAC with no key, for who makes frames by hand. */
void check_sha(const void *data, size_t size, unsigned char out[32]);
void check_hmac(const void *data, size_t size, unsigned char out[32]);

#endif
