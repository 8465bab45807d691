/* local.h - what the files of the agent share: its state, and who calls whom. */

/* agent.c runs the loop; agent_event.c tells the launcher what happens here; agent_tree.c joins tree, engine,
 * flow and ranks; agent_node.c is the Phoenix node; agent_join.c finds another parent. */
#ifndef LA_LOCAL_H
#define LA_LOCAL_H

#include "agent.h"

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

struct la_local {
    struct la_job *job;
    struct la_procs *procs;
    struct la_watch *watch;
    struct la_start *start;
    struct la_tree *tree;
    struct la_flow *flow;
    struct la_ranks *ranks;
    phx *node;
    struct la_root_ops root;
    struct local_neighbour *near; /* the children, then the parent */
    uint32_t near_count;
    uint32_t parent; /* LA_NONE: this is the launcher */
    struct local_ancestor *ancestors; /* the parent that started this agent first */
    uint32_t ancestors_count, sought; /* sought: how many of them are being dialled */
    uint64_t seek_at; /* UINT64_MAX: nobody is sought */
    struct la_queue events; /* type, size, bytes: not yet taken by the tree */
    struct local_exits exits[LOCAL_EXITS];
    size_t exits_count;
    uint64_t exits_due; /* UINT64_MAX: none waits */
    uint64_t now, go_at;
    uint32_t gone_rank; /* one that others may wait for in vain */
    int flushing; /* events are being handed to the tree */
    int signals_fd, node_ready;
    int ending, orphan, over, killed;
    int said_init, said_ready, said_stuck, someone_gone;
    struct la_agent_names *names; /* NULL until the first question */
};

/* agent_event.c */
uint32_t la_agent_get32(const unsigned char *in);
void la_agent_put32(unsigned char *out, uint32_t v);
void la_agent_end(struct la_local *l, int now);
void la_agent_ended(void *ctx, const struct la_end *end);
void la_agent_flush_events(struct la_local *l);
void la_agent_flush_exits(struct la_local *l);
void la_agent_go(struct la_local *l);
void la_agent_orphan(struct la_local *l);
void la_agent_said(void *ctx, uint32_t rank, int finalize);
void la_agent_tell(struct la_local *l, uint32_t type, uint32_t rank, int32_t value, const char *text);
void la_agent_up(struct la_local *l, uint32_t type, const struct la_event *e);

/* agent_tree.c */
void la_agent_check_stuck(struct la_local *l);
int la_agent_make_flow(struct la_local *l);
int la_agent_make_ranks(struct la_local *l);
int la_agent_make_tree(struct la_local *l);

/* agent_names.c */
void la_agent_ask_name(struct la_local *l, enum la_naming what, const char *service, const char *port,
                       uint64_t token);
void la_agent_name_asked(struct la_local *l, uint32_t from, const void *question, size_t size);
void la_agent_named(struct la_local *l, const void *data, size_t size);
void la_agent_flush_names(struct la_local *l);
void la_agent_free_names(struct la_local *l);

/* agent_node.c */
int la_agent_make_node(struct la_local *l);

/* agent_join.c */
int la_agent_listen(struct la_local *l);
int la_agent_put_ancestors(const struct la_local *l, struct la_queue *out);
int la_agent_take_ancestors(struct la_local *l, const unsigned char *data, size_t size);
void la_agent_seek(struct la_local *l);
void la_agent_step_seek(struct la_local *l);
int la_agent_found(struct la_local *l, uint32_t agent);
int la_agent_adopted(struct la_local *l, uint32_t agent);

/* agent.c */
uint32_t la_agent_children(const struct la_local *l);
void la_agent_lost(struct la_local *l, struct local_neighbour *n, const char *why);
struct local_neighbour *la_agent_near(struct la_local *l, uint32_t agent);
void la_agent_on_node(phx *p, const struct phx_node *node, void *user);
uint32_t la_agent_self(const struct la_local *l);

#endif
