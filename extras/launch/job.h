/* job.h - what a job is: programs, hosts, places of ranks, the tree of agents; and its form as bytes. */

/* A *job* is what one start or one spawn runs: N ranks of one or more programs on some hosts. One *agent*
 * serves each host that has ranks or is a gateway; agent 0 is the launcher, phxrun itself.
 *
 * Agents are numbered in preorder of their tree, so a subtree is a slice of consecutive agents and subtree
 * sizes tell the whole tree: the children of agent a are a + 1, a + 1 + agents[a + 1].subtree, and so on.
 * An agent is started with its own slice and starts its children with theirs.
 *
 * Brains only: no I/O here. All strings are owned by the struct they are in. */
#ifndef LA_JOB_H
#define LA_JOB_H

#include <stddef.h>
#include <stdint.h>

#define LA_NONE UINT32_MAX /* no agent, no host, no rank */

/* One of the programs of a start; its place in the list is its appnum. */
struct la_program {
    char **argv;    /* NULL-ended */
    char **env;     /* "K=V", on top of the job's, NULL-ended; NULL: none */
    char *dir;      /* working directory; NULL: the job's */
    uint32_t ranks; /* how many processes */
    char *path;     /* where it is on this host, if that is known; it does not travel */
};

/* A run of consecutive ranks of one host: first .. first + count - 1. */
struct la_run {
    uint32_t first, count;
};

/* One agent and the host that it serves. */
struct la_agent {
    char *host;           /* as the starter calls it; of agent 0 this host's own name */
    char *user;           /* login name for the starter, or NULL */
    uint32_t subtree;     /* agents in its subtree, itself counted */
    uint32_t node;        /* the host's number in the mapping, or LA_NONE: no ranks (launcher, gateway) */
    uint32_t site;        /* equal for those behind one gateway (via=); 0: behind none */
    struct la_run *runs;  /* the ranks that it starts, ascending */
    uint32_t runs_count;
};

enum la_starter { LA_SSH, LA_SRUN, LA_FORK };
enum la_pmi { LA_PMI_FD, LA_PMI_PORT, LA_PMI_PMGR };
enum la_stdin { LA_STDIN_RANK, LA_STDIN_ALL, LA_STDIN_NONE };
enum la_detector { LA_DETECT_DEFAULT, LA_DETECT_FAST, LA_DETECT_TIMES };

/* Where a run of ranks is. */
struct la_where {
    struct la_run run;
    uint32_t agent;
};

struct la_job {
    uint32_t id;                /* 26 bits, random; part of each Phoenix name */
    unsigned char key[32];      /* cfg.key of the agents: by standard input, never argument or environment */
    char *kvsname;              /* unique among all jobs that may ever meet, at most 255 bytes */
    uint32_t size;              /* N: how many ranks */
    uint32_t nodes;             /* hosts with ranks */
    int32_t universe;           /* slots of the allocation; -1: unknown */
    char *mapping;              /* PMI_process_mapping, or NULL: too long to be told (warned of) */
    char *dir;                  /* working directory, "" : where the agent is started */
    char **env;                 /* "K=V" for all programs, NULL-ended */
    struct la_program *programs;
    uint32_t programs_count;

    int starter;                /* enum la_starter */
    char *ssh;                  /* what is called like ssh; NULL: ssh */
    char *agent;                /* path of phxrun on the hosts */
    int pmi;                    /* enum la_pmi */
    int stdin_to;               /* enum la_stdin */
    uint32_t stdin_rank;
    int label;                  /* -l */
    int verbose;                /* -v */
    int go_on;                  /* --on-failure continue */
    int each;                   /* -k: one process per host, a failure ends nothing */
    int lazy;                   /* --cache lazy */
    int copy;                   /* --copy: agents are sent to where they are started */
    int ftmpi;                  /* --ftmpi: ranks are nodes of Phoenix, too */
    int ft;                     /* --ft and no mode abort: ranks may die and be started again */
    char hub[128];              /* where they find the agent of this host; it does not travel */
    char *stage;                /* --stage: a program of this name is sent along; NULL: none */
    uint64_t push_limit;        /* --push-limit, bytes */
    uint64_t grace_us;          /* --grace: TERM to KILL */
    uint64_t start_timeout_us;  /* --start-timeout, for each host */
    uint64_t cut_wait_us;       /* --cut-wait */
    int detector;               /* enum la_detector */
    uint64_t detect_us[3];      /* interval, timeout, broken if LA_DETECT_TIMES */
    char *out_pattern, *err_pattern; /* -outfile-pattern, -errfile-pattern; NULL: none */

    uint32_t first;             /* the number of agents[0]; 0 in the launcher */
    uint32_t parent;            /* of agents[0]; LA_NONE: the launcher */
    struct la_agent *agents;    /* the slice: whoever has it is agents[0] */
    uint32_t agents_count;
    struct la_where *where;     /* all runs of the slice, ascending; NULL until la_job_index */
    uint32_t where_count;
};

/* Frees all that it owns; the struct itself is the caller's. Zeroed is fine. */
void la_job_free(struct la_job *job);

/* The job as bytes for the child agent `number` (job->first < number): its slice and all the rest; format
 * in WIRE.md. *out is the caller's (free). 0, PHX_ENOMEM, PHX_EINVAL (no such agent, a key missing). */
int la_job_encode(const struct la_job *job, uint32_t number, unsigned char **out, size_t *size);

/* Back again; lengths, counts and sums are checked (subtrees fit the slice, runs fit size and do not meet).
 * 0, PHX_EPROTO, PHX_EVERSION, PHX_ENOMEM; on failure *out is zeroed. */
int la_job_decode(struct la_job *out, const unsigned char *data, size_t size);

/* Makes la_job_agent_of fast, until agents change. 0, PHX_ENOMEM. */
int la_job_index(struct la_job *job);

/* Which agent of the slice has the rank: its number, or LA_NONE. O(log runs) with an index. */
uint32_t la_job_agent_of(const struct la_job *job, uint32_t rank);

/* The child of agents[0] in whose subtree agent `number` is; agents[0] itself for itself; LA_NONE: not
 * here. */
uint32_t la_job_child_towards(const struct la_job *job, uint32_t number);

/* The program (appnum) of a rank: programs hold ranks in order. */
uint32_t la_job_program_of(const struct la_job *job, uint32_t rank);

/* Phoenix names: job (26 bits), role (2 bits: 2 agent, 3 rank; with --ftmpi 0 its processes, 1 the arbiter),
 * number (36 bits). */
uint64_t la_job_agent_name(const struct la_job *job, uint32_t agent);
uint64_t la_job_rank_name(const struct la_job *job, uint32_t rank);
uint64_t la_job_arbiter_name(const struct la_job *job);
uint32_t la_job_of_name(uint64_t name); /* the job's id */

/* Keeps of the slice only that of agent `number`, which is in it. */
void la_job_cut(struct la_job *job, uint32_t number);

#endif
