/* flow.h - standard output up the tree and standard input down, with credit on each edge. */

/* A brain without I/O, one in each agent. Each agent may have LA_FLOW_WINDOW bytes of output under way to its
 * parent, who gives credit back as it passes them on; and the same for input, downwards. So output that
 * nobody takes fills the buffers up to the processes' pipes and stops the processes, and nothing else.
 * Messages hold whole chunks (lines.h). Their types: */
#ifndef LA_FLOW_H
#define LA_FLOW_H

#include "coll.h"
#include "job.h"
#include "lines.h"

#define LA_FLOW_FIRST 0x10000 /* types of messages below are the tree's */
enum la_flow_type {
    LA_FLOW_OUT = LA_FLOW_FIRST, /* chunks, to the parent */
    LA_FLOW_OUT_CREDIT,          /* 4 bytes: how many more, to a child */
    LA_FLOW_IN,                  /* chunks, to a child; the rank may be LA_ALL; size 0: end of input */
    LA_FLOW_IN_CREDIT,           /* to the parent */
    LA_FLOW_END                  /* to the parent, 4 bytes: so many jobs are over in this subtree */
};

#define LA_FLOW_WINDOW ((size_t)256 * 1024)
#define LA_FLOW_HIGH ((size_t)128 * 1024) /* with so much waiting nothing is read and no credit given */

struct la_flow;

struct la_flow_ops {
    void *ctx;
    int (*send)(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size); /* 0, PHX_EAGAIN */
    /* At the root: output to be written; la_flow_set_backlog says how much of it waits. */
    void (*output)(void *ctx, const struct la_chunk *c);
    /* Input for a rank of this host, or for all of them; size 0: its end. */
    void (*input)(void *ctx, const struct la_chunk *c);
    int (*input_room)(void *ctx); /* 1: the processes here take more */
    uint32_t (*below)(void *ctx, uint32_t rank); /* the child, or this agent; LA_NONE: nowhere */
};

/* parent LA_NONE: the root. 0, PHX_ENOMEM. */
int la_flow_new(struct la_flow **out, uint32_t self, uint32_t parent, const struct la_flow_ops *ops);
void la_flow_free(struct la_flow *f);

int la_flow_child(struct la_flow *f, uint32_t agent); /* begins, or has joined; 0, PHX_ENOMEM */
void la_flow_lost(struct la_flow *f, uint32_t agent); /* a neighbour that says nothing for now, or ever */
void la_flow_moved(struct la_flow *f, uint32_t parent);

/* Output of a process here: taken in any case; ask la_flow_room before reading more. 0, PHX_ENOMEM. */
int la_flow_output(struct la_flow *f, const struct la_chunk *c);
int la_flow_room(const struct la_flow *f);
void la_flow_set_backlog(struct la_flow *f, size_t bytes);
/* All processes here are over and all they wrote has been given, of so many jobs: the first one, and those
 * of spawns in their order. */
void la_flow_end(struct la_flow *f, uint32_t jobs);
/* Of how many jobs this is so here and everywhere below, and all of it has been passed on. */
uint32_t la_flow_ended(const struct la_flow *f);
uint32_t la_flow_ended_below(const struct la_flow *f); /* .. at the children */

/* At the root: input that was read. Ask la_flow_input_room first. 0, PHX_ENOMEM. */
int la_flow_input(struct la_flow *f, const struct la_chunk *c);
int la_flow_input_room(const struct la_flow *f);

int la_flow_recv(struct la_flow *f, uint32_t agent, uint32_t type, const void *data, size_t size);
/* Sends what can be sent. Call it after anything above, and when a neighbour is writable again. */
void la_flow_pump(struct la_flow *f);

#endif
