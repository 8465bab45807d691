/* tree_state.h - the state of struct la_tree, shared by tree.c, collect.c, board.c and replay.c. */
#ifndef LA_TREE_STATE_H
#define LA_TREE_STATE_H

#include "job.h"
#include "phoenix.h"
#include "tree.h"
#include "wire.h"

/* Bytes that an agent may have sent to its parent, or to a child, without having heard that they were passed
 * on. A parent has many children, so theirs is small: what all of them may send at once is its memory. */
#define TREE_WINDOW_UP ((size_t)16 << 10)
#define TREE_WINDOW_DOWN ((size_t)128 << 10)
/* So much is worth a message of its own, before the operation is complete. */
#define TREE_FLUSH_UP ((size_t)7 << 10)
#define TREE_FLUSH_DOWN ((size_t)24 << 10)
/* While more than this waits, neighbours get no new credit. */
#define TREE_LIMIT ((size_t)64 << 10)
#define TREE_WANTS 65536u /* keys that are asked for at once */
#define TREE_BUCKETS 1024u
#define TREE_NEVER UINT32_MAX
#define TREE_EVENTS 0x10000u /* types of events from here on are the tree's own */

enum tree_type {
    TREE_UP = 1,     /* generation, flags, operation, pieces of contributions */
    TREE_DOWN,       /* flags, operation, bytes of its result */
    TREE_EVENT_UP,   /* origin, its number, type, data */
    TREE_EVENT_DOWN, /* number, to, type, data */
    TREE_GET,        /* job, key */
    TREE_GOT,        /* job, key, found, value */
    TREE_CREDIT,     /* bytes */
    TREE_OUT,        /* job, number: nobody of the sender's subtree enters it or a later one */
    TREE_HEARD_UP,   /* origin, number: agent 0 has that event, and all before */
    TREE_HEARD_DOWN, /* number: the sender's subtree has that event, and all before */
    TREE_JOIN,       /* a child tells its new parent who it is and what it has */
    TREE_RESUME,     /* what the parent has of the child's subtree: the rest is to come again */
    TREE_REJOIN,     /* the sender has lost the receiver, which may not know */
    TREE_CUT,        /* the receiver does not count any more */
    TREE_TAKEN,      /* first, end, session: this subtree has a parent elsewhere now */
    TREE_HERE        /* first, end, session: this subtree has a parent below the sender now */
};
#define TREE_LAST 1u /* in the flags of UP and DOWN: nothing more comes of this operation */

enum tree_event { TREE_PUT = TREE_EVENTS, TREE_DIFFER, TREE_GONE };

/* A place in the log of a result. Of the record there `rest` bytes are still to come, `wanted` or not. */
struct tree_cursor {
    uint64_t at, rest;
    uint64_t skip; /* bytes that are wanted, but there already */
    int wanted, ended;
};

/* One of the two operations that may be under way in a job: when the second is complete nobody is in the
 * first any more. */
struct tree_block { /* of one agent's contribution: how much was passed on */
    uint32_t agent;
    int whole;
    uint64_t size;
    struct la_buf part; /* at the root: a record that is not whole yet */
};
struct tree_op {
    int open, in;        /* in: this host has entered */
    int said, ended, told; /* all has gone up; all has come; `done` was called */
    uint32_t number;
    struct la_coll coll;
    struct la_buf own;   /* this host's records */
    size_t own_sent;
    struct la_buf pieces; /* of the children, on their way up */
    uint64_t cut;         /* of the first piece, so many bytes were sent */
    struct tree_block *blocks; /* ascending agents; at the root, and with go_on */
    uint32_t blocks_count, blocks_capacity;
    struct la_buf log; /* the result; its first byte is number log_base */
    uint64_t log_base;
    struct tree_cursor self;
};

/* What a job knows of one child. */
struct tree_kid {
    struct tree_cursor down[2]; /* by operation, number & 1 */
    uint8_t complete[2];
    uint32_t next; /* operations below were done there when it joined */
    uint64_t got;  /* and of the result of `next` it had so many bytes */
    uint32_t out;  /* from this operation on its subtree is out */
};

struct tree_job {
    struct tree_job *next_job;
    uint32_t id, next; /* next: the lowest operation that is not done here */
    uint32_t out;
    int out_said, over;
    int apart; /* two ranks differ in an operation; 2: and it was said */
    struct la_coll differ[2];
    struct tree_op op[2];
    struct tree_kid *kids; /* as t->kids */
};

enum tree_edge_state {
    TREE_LIVE,
    TREE_LOST,    /* a child: it, or its children, may come back; the parent: another is looked for */
    TREE_JOINING, /* the parent: it has not answered yet */
    TREE_AWAY     /* a child: nothing is awaited from it, it is gone or another's */
};

struct tree_edge {
    uint32_t agent, end;
    int state, blocked, dead, greeted; /* greeted: the parent was sent our JOIN */
    uint64_t since; /* lost since */
    size_t window, in_flight, owed;
    struct la_buf queue; /* messages: type, size, bytes */
    uint32_t generation;
    uint64_t session;
    uint64_t event_at; /* a child: place in the log of events */
    uint64_t heard;    /* a child: number of the last event that its subtree has */
};

struct tree_waiter {
    uint32_t agent; /* a child, or this agent */
    uint64_t token;
};
struct tree_want { /* a key that the parent was asked for */
    struct tree_want *next;
    uint32_t job;
    char *key;
    struct tree_waiter *waiters;
    uint32_t count, capacity;
};

struct tree_range {
    uint32_t first, end;
    uint32_t via;     /* agents that are elsewhere: the child that said so, or LA_NONE: the parent */
    uint64_t session; /* of `first` with its parent there */
};
struct tree_ranges {
    struct tree_range *at;
    uint32_t count, capacity;
};

struct tree_origin {
    uint32_t agent;
    uint64_t heard;
};

struct la_tree {
    struct la_tree_ops ops;
    uint32_t self, end;
    int root, go_on, busy, failed, cut;
    uint64_t now, cut_wait, notice;
    struct tree_edge up;
    struct tree_edge *kids;
    uint32_t kids_count, kids_capacity;
    struct tree_job *jobs;
    struct la_buf scratch;
    struct la_buf mine; /* own events: number, type, size, data; go_on: until they are heard */
    uint64_t mine_base, mine_at, mine_number;
    struct la_buf events; /* downward: number, to, type, size, data */
    uint64_t events_base, events_self, events_number, events_heard;
    struct tree_origin *origins; /* at the root, with go_on */
    uint32_t origins_count, origins_capacity;
    struct tree_want *wants[TREE_BUCKETS];
    uint32_t wants_count;
    struct tree_ranges gone, elsewhere;
    struct la_tree_stats stats;
};

/* tree.c. Each of these is 0, or PHX_ENOMEM, PHX_EPROTO; send also PHX_EAGAIN. */
int la_tree_grow(void *array, uint32_t *capacity, uint32_t count, size_t each); /* new ones are zero */
struct tree_job *la_tree_find_job(const struct la_tree *t, uint32_t job);
struct tree_edge *la_tree_edge(struct la_tree *t, uint32_t agent); /* parent or child; NULL: neither */
int la_tree_can_send(const struct tree_edge *e, size_t size);
int la_tree_send(struct la_tree *t, struct tree_edge *e, uint32_t type, const struct la_buf *m);
int la_tree_queue(struct la_tree *t, struct tree_edge *e, uint32_t type, const void *data, size_t size);
int la_tree_queue_buf(struct la_tree *t, struct tree_edge *e, uint32_t type, struct la_buf *m); /* frees m */
void la_tree_run(struct la_tree *t); /* does all that can be done now, unless it is being done */
void la_tree_restart(struct tree_edge *e, int state); /* nothing waits, nothing is under way */
int la_tree_has(const struct tree_edge *e, uint32_t agent); /* in its slice */
void la_tree_fail(struct la_tree *t);                       /* no memory: this agent cannot go on */

/* collect.c: operations. */
int la_collect_enter(struct la_tree *t, struct tree_job *j, const struct la_coll *c,
                     const struct la_record *records, size_t count);
int la_collect_recv_up(struct la_tree *t, uint32_t kid, struct la_reader *r);
int la_collect_recv_down(struct la_tree *t, struct la_reader *r);
int la_collect_recv_out(struct la_tree *t, uint32_t kid, struct la_reader *r);
int la_collect_run(struct la_tree *t, struct tree_job *j); /* 1: something was done */
size_t la_collect_waiting_up(const struct la_tree *t);
size_t la_collect_waiting_down(const struct la_tree *t);
size_t la_collect_memory(const struct la_tree *t);
void la_collect_op_free(struct tree_op *op);
void la_collect_blocks_free(struct tree_op *op);
struct tree_op *la_collect_op(struct tree_job *j, uint32_t number); /* NULL: it is not open */
struct tree_block *la_collect_block(struct tree_op *op, uint32_t agent);

/* board.c: events and keys. */
int la_board_recv_up(struct la_tree *t, uint32_t kid, struct la_reader *r);
int la_board_recv_down(struct la_tree *t, struct la_reader *r);
int la_board_recv_heard_up(struct la_tree *t, struct la_reader *r);
int la_board_recv_get(struct la_tree *t, uint32_t kid, struct la_reader *r);
int la_board_recv_got(struct la_tree *t, struct la_reader *r);
int la_board_event(struct la_tree *t, uint32_t type, const void *data, size_t size);
int la_board_run(struct la_tree *t);
int la_board_is_quiet(const struct la_tree *t); /* no event is on its way before what comes now */
size_t la_board_waiting_down(const struct la_tree *t);
int la_board_ask_again(struct la_tree *t); /* a new parent: all that was asked of the old one */
void la_board_forget(struct la_tree *t, uint32_t agent); /* a child that was lost waits for nothing */
void la_board_free(struct la_tree *t);

/* replay.c: who takes whose place. */
int la_replay_run(struct la_tree *t);
int la_replay_recv(struct la_tree *t, uint32_t agent, uint32_t type, struct la_reader *r);
int la_replay_stranger(struct la_tree *t, uint32_t agent);
void la_replay_leave(struct la_tree *t, struct tree_edge *e, int state);
int la_replay_gone(struct la_tree *t, const struct tree_edge *from, struct la_reader *r, struct la_buf *left);

#endif
