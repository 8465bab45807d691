/* scenario.h - the words in which tests on the simulated world are told.
 *
 *     add(s, 16, 0, 0);  start_all(s);  join_all(s, 0);
 *     wait_until(s, all_reachable, 10 * SECOND);
 *     cut(s, 3, 4);  run_for(s, 5 * SECOND);  heal(s, 3, 4);
 *     wait_until(s, all_shortest, 60 * SECOND);
 *
 * A verb that fails, and an invariant that breaks, fails the world once; every later verb then
 * does nothing, so a story needs no error handling. Nodes are named by their host's number. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "check.h"
#include "world.h"

#define MS ((uint64_t)1000)
#define SECOND ((uint64_t)1000000)
#define MINUTE ((uint64_t)60000000)

#define HUBS 64u /* as many as phx_join takes */
#define PORT 7000u
/* A link's queue may hold a burst of routing updates for a large network; beyond it is a leak. */
#define QUEUE_LIMIT ((size_t)64 << 20)

struct sim_options {
    uint64_t seed;
    uint32_t nodes;
    int routing; /* 0: the product's; else rules of paper.h, in a build with -DPHX_PAPER */
    int trace;
    uint32_t every; /* invariants after every so many relevant steps of a node; 0: choose by size */
    int tsv;        /* data for plots on standard output */
    int full;       /* at full size, as for the bars; else what `make test` has time for */
};

struct sim_node {
    struct sim *s;
    uint32_t host;
    phx *p; /* NULL: no process */
    int listens;
    uint32_t hubs[HUBS], hub_count;
    uint64_t messages, conflicts, outcomes;
    uint64_t stepped_at; /* when it stepped last: the time it believes it is */
};

/* Sums over the living, and over those who died before. */
struct sim_totals {
    uint64_t updates, entries, requests, heartbeats, bytes, dials, links_lost, os_calls, bad_frames;
};

struct sim {
    struct sim_options o;
    struct world *w;
    struct check *c;
    struct sim_node *nodes; /* by host */
    struct phx_config cfg;  /* what every process starts with; a story may change it */
    struct sim_totals dead; /* of processes that ended */
    struct world_rng rng;   /* the story's own choices */
    int liars; /* the story has hosts that break the protocol: malformed frames are no fault */
    int mixed; /* some have no cfg.rtt_metric, though s->cfg has it */
    int names; /* each process assumes the names 10 * host .. 10 * host + 9 at its start */
    int bars_short;
    unsigned bars; /* printed */
    void (*sample)(struct sim *s); /* told every sample_us while time passes, if set */
    uint64_t sample_us;
    struct sim_outage *outage; /* see watch_paths */
    struct sim_chat *chat;     /* see chat.h */
    uint64_t peace_us;         /* the campaign: from the last fault to all well */
    uint8_t *scratch;          /* hosts_max squared */
    char why[256];          /* a predicate's last no */
};

/* hosts_max hosts will do. NULL: no memory. world: NULL for the usual distances and buffers. */
struct sim *sim_new(const struct sim_options *o, uint32_t hosts_max,
                    const struct world_options *world);
void sim_free(struct sim *s);

/* ---- Verbs ------------------------------------------------------------------------------ */

/* count more hosts at a site, behind a NAT (realm 1..) or not (0). Returns the first. */
uint32_t add(struct sim *s, uint32_t count, uint32_t site, uint32_t realm);
/* A process on host i: listens (unless told not to) and joins the hubs it had before. */
void start(struct sim *s, uint32_t i);
void start_all(struct sim *s);
void join(struct sim *s, uint32_t i, uint32_t hub);
void join_all(struct sim *s, uint32_t hub); /* all but the hub */
void leave(struct sim *s, uint32_t i);      /* a goodbye; takes up to a second */
void crash(struct sim *s, uint32_t i);      /* the process dies, its streams are reset */
void power_off(struct sim *s, uint32_t i);  /* silence */
void restart(struct sim *s, uint32_t i);    /* power on if need be, a new process */
void stall(struct sim *s, uint32_t i, uint64_t us);

void cut(struct sim *s, uint32_t a, uint32_t b);        /* both ways, silently */
void cut_oneway(struct sim *s, uint32_t a, uint32_t b); /* what a sends to b is lost */
void sever(struct sim *s, uint32_t a, uint32_t b);      /* cut, and both ends are told at once */
void unplug(struct sim *s, uint32_t a, uint32_t b);     /* resets the stream; they may dial again */
void heal(struct sim *s, uint32_t a, uint32_t b);
void partition(struct sim *s, uint32_t first, uint32_t count, uint32_t group);
void forbid(struct sim *s, uint32_t a, uint32_t b); /* neither may dial the other */
void heal_all(struct sim *s);                       /* cuts and partitions, not walls */

void run_for(struct sim *s, uint64_t us);
/* 1 if it came true within limit. If not, the world fails with the reason. */
int wait_until(struct sim *s, int (*predicate)(struct sim *s), uint64_t limit_us);
/* The same, but a no is only an answer. */
int wait_for(struct sim *s, int (*predicate)(struct sim *s), uint64_t limit_us);
/* Until no route message was sent for quiet_us and all digests agree. Returns when the last one
 * was sent, relative to the call; UINT64_MAX if limit passed, and then the world failed. */
uint64_t settle(struct sim *s, uint64_t quiet_us, uint64_t limit_us);

/* ---- Predicates: a no leaves its reason in s->why
 * --------------------------------------------------- */

int all_reachable(struct sim *s); /* every pair of processes has routes both ways */
int all_linked(struct sim *s);    /* every pair of processes has a link */
int all_shortest(struct sim *s);  /* routes are shortest over the links there are */
int all_best(struct sim *s);      /* ... over the links there could be, given the walls */
int all_agree(struct sim *s);     /* digests are equal within each component of links */
int all_well(struct sim *s);      /* all_best and all_agree */
int same_names(struct sim *s);    /* all know of all whom they reach which names they have */
int names_owned(struct sim *s);   /* each process's names have one owner, known to all */

/* ---- Figures ------------------------------------------------------------------------------ */

struct sim_totals totals(const struct sim *s);
uint32_t living(const struct sim *s);
uint64_t now_us(const struct sim *s); /* since the world began */
uint64_t rnd(struct sim *s, uint64_t bound);
/* Prints "bar<TAB>name<TAB>figure<TAB>limit<TAB>ok|short": figure <= limit is ok. */
void bar(struct sim *s, const char *name, double figure, double limit);
/* "figure<TAB>name<TAB>value": a number nobody has set a limit to. */
void figure(struct sim *s, const char *name, double value);
/* From here on the ways of all pairs are followed every step_us. How long the worst pair has
 * been without one; pairs whose ends don't live are left out. */
void watch_paths(struct sim *s, uint64_t step_us);
uint64_t worst_outage(const struct sim *s, uint64_t *pairs);
/* After all that a story did: links, names of its own, invariants that need quiet. */
void check_quiet(struct sim *s);

#endif
