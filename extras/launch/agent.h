/* agent.h - the agent of a host as it runs: one loop over Phoenix, tree, flow, ranks and starters. */

/* The launcher is agent 0; what only it does is in launcher.c, behind struct la_root_ops. */
#ifndef LA_AGENT_H
#define LA_AGENT_H

#include "../../phoenix.h"
#include "cargo.h"
#include "flow.h"
#include "ranks.h"
#include "start.h"
#include "tree.h"

/* What agents tell the launcher, through the tree. Each is a struct la_event; their bytes are in WIRE.md. */
enum la_up {
    LA_UP_EXITS = 1, /* ranks rank .. rank + count - 1 ended alike: value is waitpid's status */
    LA_UP_UNSTARTED, /* a rank could not be started: value is errno, flags LA_EVENT_DIRECTORY, text what */
    LA_UP_INIT,      /* the first rank of this host said init */
    LA_UP_READY,     /* all processes that this host has of the job run */
    LA_UP_NO_HOST,   /* rank is an agent that could not be started: value a status, text why */
    LA_UP_LOST,      /* rank is an agent that is gone: text what is known */
    LA_UP_ABORT,     /* a rank aborted: value its code, text what it said */
    LA_UP_STUCK,     /* rank waits in operation `value` for one that has ended (count) */
    LA_UP_DIFFER,    /* two ranks went apart: rank, count, text in which way */
    LA_UP_SAY,       /* a line for people; rank may be LA_NONE */
    LA_UP_NAME,      /* no event: a question of names.h */
    LA_UP_SPAWN,     /* no event: a piece of a spawn */
    LA_UP_SPAWN_END, /* no event: its last piece */
    LA_UP_AGAIN,     /* a rank that was to be started again runs: count is its life */
    LA_UP_STATS      /* with -v, at the end: count keys were asked for here, by processes and children, value
                        of them were here */
};
enum la_down {
    LA_DOWN_END = 64, /* TERM, after the grace KILL; value 1: KILL */
    LA_DOWN_SIGNAL,   /* value is its number */
    LA_DOWN_OVER,     /* the job is over: go */
    LA_DOWN_GONE,     /* a rank has ended between init and finalize, or without init: rank, value */
    LA_DOWN_DEAD,     /* in a job that goes on: a rank has died */
    LA_DOWN_NAMED,    /* no event: an answer of names.h */
    LA_DOWN_JOB,      /* no event: a piece of a spawned job */
    LA_DOWN_JOB_END,  /* no event: its last piece */
    LA_DOWN_KILL,     /* a spawn has failed: all of the job's processes */
    LA_DOWN_FORGET,   /* all processes of the job have ended, and none is started again */
    LA_DOWN_AGAIN,    /* to one agent: start this rank, with the life `count`; AGAIN or UNSTARTED answers */
    LA_DOWN_KILL_ONE, /* this rank, if its life is `count` */
    LA_DOWN_SPAWNED   /* to one agent: value 0, text the new job's kvsname; else text why not. count and flags
                         are the halves of the token, the lower first */
};

#define LA_EVENT_INITED 1u
#define LA_EVENT_FINALIZED 2u
#define LA_EVENT_UNSTARTED 4u /* of LA_UP_EXITS: they were never started */
#define LA_EVENT_DIRECTORY 8u
#define LA_EVENT_LIFE 16 /* how far left in the flags of EXITS and UNSTARTED the life stands */

#define LA_EVENT_HEAD 20
#define LA_EVENT_TEXT 1024

struct la_event {
    uint32_t job; /* whose ranks these are: 0 the first, then those of spawns, by their numbers */
    uint32_t rank, count;
    int32_t value;
    uint32_t flags;
    char text[LA_EVENT_TEXT];
};

size_t la_event_put(const struct la_event *e, unsigned char out[LA_EVENT_HEAD + LA_EVENT_TEXT]);
int la_event_get(struct la_event *e, const void *data, size_t size); /* 0, PHX_EPROTO */

struct la_local;

/* What the launcher adds. */
struct la_root_ops {
    void *ctx;
    void (*event)(void *ctx, uint32_t from, uint32_t type, const struct la_event *e);
    void (*gone)(void *ctx, uint32_t first, uint32_t end); /* agents, for good, in a job that goes on */
    void (*output)(void *ctx, const struct la_chunk *c);
    void (*spawn)(void *ctx, uint32_t from, const void *data, size_t size);
    void (*signal)(void *ctx, int number);
    void (*message)(void *ctx, const struct phx_message *m); /* to the arbiter's name, with --ftmpi */
    void (*step)(void *ctx, uint64_t now_us);
    uint64_t (*deadline)(void *ctx);
};

struct la_local_config {
    struct la_job *job; /* stays the caller's */
    const char *self;   /* path of this program */
    struct la_procs *procs;
    const struct la_cargo *cargo;
    const unsigned char *rest; /* of the boot block, behind the job */
    size_t rest_size;
    const int *signals; /* handed to root.signal; of other agents: they end it */
    int signals_count;
    struct la_root_ops root; /* event NULL: not the launcher */
};

int la_local_new(struct la_local **out, const struct la_local_config *cfg);
void la_local_free(struct la_local *l);
/* Where it listens, blanks between: of as many interfaces as fit. 0, PHX_EIO. */
int la_local_addresses(const struct la_local *l, char *out, size_t size);
/* What those above say of that: the parent, the first of them, is dialled. 0, PHX_EPROTO, PHX_ENOMEM. */
int la_local_table(struct la_local *l, const uint32_t *above, uint32_t count, const unsigned char *table,
                   size_t size);
int la_local_adopt(struct la_local *l, int fd); /* the stream to the parent; the node owns it */

/* Turns until the job is over and all processes of ours are gone. */
void la_local_run(struct la_local *l);

/* For the launcher. */
struct la_watch *la_local_watch(struct la_local *l);
struct la_flow *la_local_flow(struct la_local *l);
phx *la_local_node(struct la_local *l);
uint64_t la_local_now(const struct la_local *l);
/* Each to the agent `to`, or to all (LA_ALL), also here; in order. A new job, as of la_spawn_put_job. */
void la_local_down(struct la_local *l, uint32_t to, uint32_t type, const struct la_event *e);
void la_local_down_job(struct la_local *l, const void *data, size_t size);
void la_local_over(struct la_local *l); /* tells all, and la_local_run returns when they are gone */
uint32_t la_local_ended(const struct la_local *l); /* how many jobs are over in the whole tree */

/* The main function of an agent that was started by another one: its exit status. folder: where --copy put
 * it, or NULL. */
int la_agent_main(const char *self, const char *folder);

#endif
