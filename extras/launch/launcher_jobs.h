/* launcher_jobs.h - the launcher's jobs: the first one, and those of spawns, and what is known of each. */

#ifndef LA_LAUNCHER_JOBS_H
#define LA_LAUNCHER_JOBS_H

#include "spawn.h"

/* One job. */
struct launch_job {
    struct launch_job *next;
    uint32_t number;      /* 0: the first; else in the order of spawns */
    struct la_job *job;   /* of a spawn it is `own` */
    struct la_job own;
    unsigned char *ended; /* by rank */
    uint32_t ended_count, ready_count, inits;
    uint32_t uninited;    /* a rank that ended without init, or LA_NONE */
    /* Of a spawn: the agent that asked, its job and its token there. */
    uint32_t asker, asker_job;
    uint64_t token;
    int answered, failed; /* failed: its processes were ended, since some could not be started */
    int forgotten;        /* the agents were told to forget it */
};

#define LA_LEVELS 64
struct launch_jobs {
    struct launch_job *first; /* in the order of their numbers */
    uint32_t count;           /* that there ever were */
    uint32_t living;
    unsigned char *gone;      /* by agent: it is gone for good */
    unsigned char *ready;     /* by agent: its processes of the first job run, or never will */
    uint64_t asked[LA_LEVELS], here[LA_LEVELS]; /* keys, by level of the tree */
    uint32_t told;            /* agents that have said how many */
};

/* Chooses id, key and kvsname of the first job and begins the list with it. 0, PHX_ENOMEM, PHX_EIO. */
int la_jobs_begin(struct launch_jobs *list, struct la_job *first);
void la_jobs_free(struct launch_jobs *list);
struct launch_job *la_jobs_find(const struct launch_jobs *list, uint32_t number); /* or NULL */

/* A new job of a spawn, as agent_spawn.c brings it: it is the last of the list, and *out is what all agents
 * are to be told (free). Else an error, and why. *asked tells who is to be answered in either case. */
int la_jobs_spawn(struct launch_jobs *list, struct launch_job *asked, uint32_t from,
                  const unsigned char *data, size_t size, unsigned char **out, size_t *out_size,
                  char why[LA_TEXT]);

/* An agent need not be waited for any more, at the start of the first job. */
void la_jobs_ready(struct launch_jobs *list, uint32_t agent);
/* An agent is gone for good. */
void la_jobs_gone(struct launch_jobs *list, uint32_t agent);

/* How many keys an agent was asked for, and had; and all of them as a line for people. */
void la_jobs_stats(struct launch_jobs *list, uint32_t agent, uint32_t asked, uint32_t here);
void la_jobs_say(const struct launch_jobs *list, char *out, size_t size);

/* The job is over: frees those that were over long before. */
void la_jobs_over(struct launch_jobs *list, struct launch_job *j);

#endif
