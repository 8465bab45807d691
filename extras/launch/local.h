/* local.h - what the files of the agent share: its state, and who calls whom. */

/* agent.c runs the loop; agent_event.c tells the launcher what happens here; agent_job.c has the jobs, each
 * with its ranks and their engine; agent_tree.c joins tree, flow and jobs; agent_spawn.c carries spawns and
 * the jobs that come of them; agent_node.c is the Phoenix node; agent_join.c finds another parent. */
#ifndef LA_LOCAL_H
#define LA_LOCAL_H

#include "agent.h"
#include "names.h"
#include "step.h"

#define LOCAL_EXITS 64

struct local_neighbour {
    uint32_t agent;
    int linked, lost;
};

/* Where one of those above listens. */
struct local_ancestor {
    uint32_t agent;
    char address[PHX_ADDRESS_TEXT];
};

/* Ranks that ended alike. */
struct local_exits {
    uint32_t rank, count, flags;
    int32_t value;
};

/* What this host has of a job. */
struct local_job {
    struct local_job *next;
    struct la_local *of;
    uint32_t number;    /* 0: the first, else in the order of spawns */
    struct la_job *job; /* of a spawn it is `own` */
    struct la_job own;
    char *spawner;      /* kvsname of the job that spawned it, or NULL */
    struct la_ranks *ranks;
    struct local_exits exits[LOCAL_EXITS];
    size_t exits_count;
    uint64_t exits_due; /* UINT64_MAX: none waits */
    uint32_t gone_rank; /* one that others may wait for in vain */
    int said_init, said_ready, said_stuck, someone_gone;
    int forgotten; /* all its ranks everywhere have ended */
};

struct la_local {
    struct la_job *job;
    struct la_procs *procs;
    const struct la_cargo *cargo;
    struct la_watch *watch;
    struct la_start *start;
    struct la_step *step; /* the launcher's, if srun starts the agents; or NULL */
    struct la_tree *tree;
    struct la_flow *flow;
    struct local_job *jobs; /* in the order of their numbers */
    uint32_t jobs_seen;
    struct la_queue coming;  /* a spawned job whose last piece has not come */
    phx *node;
    struct phx_alloc alloc; /* the node's */
    uint64_t refused_at;    /* since then it got no memory; 0: it did the last time */
    struct la_root_ops root;
    struct local_neighbour *near; /* the children, then the parent */
    uint32_t near_count;
    uint32_t parent; /* LA_NONE: this is the launcher */
    struct local_ancestor *ancestors; /* the parent that started this agent first */
    uint32_t ancestors_count, sought; /* sought: how many of them are being dialled */
    uint64_t seek_at; /* UINT64_MAX: nobody is sought */
    uint64_t link_by; /* the parent is waited for until then, at the start */
    struct la_queue events; /* to, type, size, bytes: not yet taken by the tree; up, of the launcher down */
    struct local_spawn *spawns; /* the launcher's: those whose last piece has not come */
    uint64_t now, go_at;
    int flushing; /* events are being handed to the tree */
    int signals_fd, node_ready;
    int ending, orphan, over, killed, said_stats;
    struct la_names *names; /* the launcher's; NULL until the first question */
};

/* agent_event.c */
uint32_t la_agent_get32(const unsigned char *in);
void la_agent_put32(unsigned char *out, uint32_t v);
void la_agent_end(struct la_local *l, int now);
void la_agent_fatal(const char *why); /* does not return */
void la_agent_flush_events(struct la_local *l);
void la_agent_go(struct la_local *l);
void la_agent_orphan(struct la_local *l);
void la_agent_post(struct la_local *l, uint32_t to, uint32_t type, const void *data, size_t size);
void la_agent_raise(struct la_local *l, uint32_t type, const void *data, size_t size);
void la_agent_tell(struct la_local *l, uint32_t type, uint32_t rank, int32_t value, const char *text);
void la_agent_up(struct la_local *l, uint32_t type, const struct la_event *e);

/* agent_job.c */
int la_agent_make_job(struct la_local *l, struct local_job *j); /* with ranks and engine; 0, or an error */
void la_agent_free_job(struct local_job *j);
struct local_job *la_agent_job(const struct la_local *l, uint32_t number); /* NULL: there is no such job */
struct local_job *la_agent_job_of_id(const struct la_local *l, uint32_t id);
void la_agent_step_jobs(struct la_local *l);
void la_agent_again(struct local_job *j, uint32_t rank, uint32_t life); /* starts it once more, or says no */
int la_agent_jobs_over(const struct la_local *l); /* no process is left, and all they wrote has been given */

/* agent_tree.c */
int la_agent_make_flow(struct la_local *l);
int la_agent_make_tree(struct la_local *l);
void la_agent_differ(struct local_job *j, const struct la_coll *a, const struct la_coll *b);

/* agent_spawn.c */
void la_agent_ask_spawn(struct local_job *j, const struct la_spawn *s, uint64_t token);
void la_agent_spawn_came(struct la_local *l, uint32_t from, int last, const void *data, size_t size);
void la_agent_job_came(struct la_local *l, int last, const void *data, size_t size);
void la_agent_free_spawns(struct la_local *l);

/* agent_names.c */
void la_agent_ask_name(struct local_job *j, enum la_naming what, const char *service, const char *port,
                       uint64_t token);
void la_agent_name_asked(struct la_local *l, uint32_t from, const void *question, size_t size);
void la_agent_named(struct la_local *l, const void *data, size_t size);

/* agent_node.c */
int la_agent_make_node(struct la_local *l);
struct phx_id la_agent_id(const struct la_local *l, uint32_t agent);

/* agent_join.c */
int la_agent_listen(struct la_local *l);
int la_agent_listen_ranks(struct la_local *l); /* fills job->hub */
int la_agent_put_ancestors(const struct la_local *l, struct la_queue *out);
int la_agent_take_ancestors(struct la_local *l, const unsigned char *data, size_t size);
void la_agent_seek(struct la_local *l);
void la_agent_step_seek(struct la_local *l);
int la_agent_found(struct la_local *l, uint32_t agent);
int la_agent_adopted(struct la_local *l, uint32_t agent);
void la_agent_linked_up(struct la_local *l); /* there is a link with the parent that was dialled */

/* agent.c */
uint32_t la_agent_children(const struct la_local *l);
void la_agent_lost(struct la_local *l, struct local_neighbour *n, const char *why);
struct local_neighbour *la_agent_near(struct la_local *l, uint32_t agent);
void la_agent_on_node(phx *p, const struct phx_node *node, void *user);
uint32_t la_agent_self(const struct la_local *l);

#endif
