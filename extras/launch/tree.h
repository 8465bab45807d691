/* tree.h - what agents say to parent and children: operations, events, keys; who takes whose place. */

/* A brain without I/O: one struct la_tree in each agent. It learns of messages, lost and new neighbours and
 * of the time through calls, and acts through struct la_tree_ops only. test/sim runs thousands of them.
 *
 * Only neighbours talk: each agent sends to its parent and to its children. The messages are in WIRE.md. A
 * contribution is (job, operation, agent) and counts once, whoever brings it; what an agent still owes is
 * kept until the next operation of the job, so a replay to a new parent asks for no more.
 *
 * All calls but la_tree_new and la_tree_free may be made inside the callbacks of struct la_tree_ops; what
 * they cause then happens when the outermost call ends. */
#ifndef LA_TREE_H
#define LA_TREE_H

#include "coll.h"

struct la_tree;

struct la_tree_ops {
    void *ctx;
    /* A message of at most LA_TREE_MESSAGE bytes to a neighbour: copied. 0; PHX_EAGAIN: not now,
     * la_tree_writable follows (the tree keeps what waits, bounded, and stops taking more from the
     * others); else it is lost. */
    int (*send)(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size);
    /* The agent that serves the rank; LA_NONE: none of this agent's subtree. */
    uint32_t (*agent_of)(void *ctx, uint32_t job, uint32_t rank);
    /* A record for this host, and: the operation is done here. Borrowed. */
    void (*record)(void *ctx, const struct la_coll *c, const struct la_record *r);
    void (*done)(void *ctx, const struct la_coll *c);
    /* Two ranks went apart; said once, by the agent that sees it, to agent 0 as well. */
    void (*differ)(void *ctx, const struct la_coll *a, const struct la_coll *b);
    /* An event of la_tree_up has come to agent 0; one of la_tree_down to this agent. Borrowed. */
    void (*up)(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size);
    void (*down)(void *ctx, uint32_t type, const void *data, size_t size);
    /* Keys: look one up in this agent's cache (1: found, *value borrowed until the next call; 0: not),
     * keep one that passes, and the answer to la_tree_get (value NULL: nobody has it). */
    int (*lookup)(void *ctx, uint32_t job, const char *key, const char **value);
    void (*learn)(void *ctx, uint32_t job, const char *key, const char *value);
    void (*got)(void *ctx, uint32_t job, const char *key, const char *value, uint64_t token);
    /* The agent's parent is gone for good (there is no other way to the root), or the others do not count
     * this agent any more: end. */
    void (*cut_off)(void *ctx);
    /* At agent 0, with go_on: agents first .. end - 1 are gone for good, and what is left of the job goes on
     * without them. Some of them may have been told of before. */
    void (*gone)(void *ctx, uint32_t first, uint32_t end);
};

#define LA_TREE_MESSAGE (256 * 1024)
#define LA_TREE_EVENT (64 * 1024) /* bytes of one event, or of a key with its value */

struct la_tree_config {
    uint32_t self, parent;    /* agent numbers; parent LA_NONE: the root */
    uint32_t end;             /* the first agent behind this one's subtree: self + subtree */
    const uint32_t *children; /* ascending; copied */
    uint32_t children_count;
    int go_on;                /* agents that die are taken out, their children come to us */
    uint64_t cut_wait_us; /* without a parent for so long: cut off */
    uint64_t notice_us;   /* how much later than others a child may notice that its parent is gone: who is
                             lost and not known to be dead is waited for so much longer */
    struct la_tree_ops ops;
};

/* 0, PHX_ENOMEM, PHX_EINVAL. */
int la_tree_new(struct la_tree **out, const struct la_tree_config *cfg);
void la_tree_free(struct la_tree *t);

/* A job, the first one too: from now on the tree knows it. And one that is over: its state goes. 0,
 * PHX_ENOMEM. What comes for a job that is not known is ignored. */
int la_tree_job(struct la_tree *t, uint32_t job);
void la_tree_job_end(struct la_tree *t, uint32_t job);

/* This host is in the operation with these records (to the parent, or when here is the root to the
 * children). A host enters number + 1 after `done` of number, and may do so inside it. Records are copied. 0,
 * PHX_EINVAL (another number was due, no such job), PHX_ENOMEM. */
int la_tree_enter(struct la_tree *t, const struct la_coll *c, const struct la_record *records, size_t count);

/* Nobody of this host enters operation `number` of the job or any later one: it counts as entered. A host
 * without ranks of the job says so at once, with number 0. 0, PHX_EINVAL. */
int la_tree_out(struct la_tree *t, uint32_t job, uint32_t number);

/* An event for agent 0; one from agent 0 for all (to LA_ALL, itself too) or for one. types below 256 are
 * the agent's own, see agent.h. In order on each way; never lost while the tree stands. 0, PHX_ENOMEM,
 * PHX_EAGAIN: so much waits that no more is taken (la_tree_ready says when). */
int la_tree_up(struct la_tree *t, uint32_t type, const void *data, size_t size);
int la_tree_down(struct la_tree *t, uint32_t to, uint32_t type, const void *data, size_t size);
int la_tree_ready(const struct la_tree *t);

/* The bulletin board: a key that is told up at once; one that is asked for where nobody here knows it. */
int la_tree_put(struct la_tree *t, uint32_t job, const char *key, const char *value);
int la_tree_get(struct la_tree *t, uint32_t job, const char *key, uint64_t token);

/* What happens. recv: a message of a neighbour as `send` gave it; PHX_EPROTO: nonsense, the neighbour is
 * to be dropped. lost: no link with it any more (a broken link, or dead): without go_on a lost parent is
 * cut_off at once. With go_on:
 *     moved: there is a link with this ancestor (or with the old parent, again), which is the parent. That
 * it has a new child the ancestor learns from our message, so messages of agents that are no neighbours
 * must come to la_tree_recv, too. dead: the process of that agent has ended for sure (who started it has
 * seen its end; FAILED is no proof, since a link may be cut and come back); a child that is lost and not
 * known to be dead is waited for, as its own children are, for cut_wait_us + notice_us. */
int la_tree_recv(struct la_tree *t, uint32_t agent, uint32_t type, const void *data, size_t size);
void la_tree_writable(struct la_tree *t, uint32_t agent);
void la_tree_lost(struct la_tree *t, uint32_t agent);
int la_tree_moved(struct la_tree *t, uint32_t parent);
void la_tree_dead(struct la_tree *t, uint32_t agent);

/* Time, in microseconds; when the next thing is due (UINT64_MAX: never). */
void la_tree_step(struct la_tree *t, uint64_t now_us);
uint64_t la_tree_deadline(const struct la_tree *t);

struct la_tree_stats {
    uint64_t messages_out, bytes_out, messages_in, bytes_in;
    uint64_t operations, replays;
    uint64_t gets, gets_here, gets_below; /* asked here or by children; answered by this agent's cache */
    size_t memory, memory_most; /* of the tree; without the store, own records and results that go_on keeps */
};
void la_tree_stats(const struct la_tree *t, struct la_tree_stats *out);

#endif
