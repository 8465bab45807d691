/* match.h - which receive gets which message, in one context. */
#ifndef FTM_MATCH_H
#define FTM_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

struct ftm;
struct ftm_comm;
struct ftm_request;

/* Receives that name their source, and messages that no receive wants yet, stand in bins by source; a message
 * is in the list of all, by arrival, too, for receives from anybody. Stamps say which receive was first. */
struct ftm_bin {
    struct ftm_list posted, unexpected;
};

struct ftm_match {
    struct ftm_comm *comm;
    uint32_t context; /* with its lowest bit */
    struct ftm_bin *bins;
    size_t bins_count; /* a power of two, or 0 as long as nothing was in them */
    size_t entries;
    struct ftm_list wild; /* receives from anybody */
    struct ftm_list all;  /* messages that wait, by arrival */
};

/* A message that came and was not wanted yet. Its data follow it in memory. */
struct ftm_item {
    struct ftm_list bin, all; /* bin alone while it is early: its communicator is not there yet */
    uint64_t generation;
    uint32_t context, tag;
    int proc;
    int ask;         /* 1: a rendezvous */
    uint32_t number; /* the sender's, of a rendezvous */
    uint64_t bytes;  /* of the message */
    size_t size;     /* of the data that follow: bytes, or 0 where they come later */
    size_t charged;  /* against the sender's budget */
};

/* Both contexts of a communicator (comm->context, comm->match[0] and [1], comm->generation are set): from
 * now on what is for it gets there, what came too early first. 0, or MPI_ERR_INTERN: no memory. */
int ftm_match_attach(struct ftm *e, struct ftm_comm *comm);

/* The opposite. Messages that wait are dropped, receives that are posted are forgotten (they never end). */
void ftm_match_detach(struct ftm *e, struct ftm_comm *comm);

/* Everything of `from` is at the same contexts `to` has, which takes its place; requests are to be told. */
void ftm_match_hand(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to);

/* Drops the messages that wait. */
void ftm_match_drop(struct ftm *e, struct ftm_match *m);

/* The matching of a context on the wire, or NULL. */
struct ftm_match *ftm_match_find(struct ftm *e, uint32_t context);

/* The same, where messages of a communicator that is led to another get to that one. */
struct ftm_match *ftm_match_heard(struct ftm *e, uint32_t context);

/* From now on messages of the program for `from` get to `to`. 0, or -1: no memory. */
int ftm_match_lead(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to);

/* 1: messages for this context cannot be wanted any more, since it is older than what will be made. */
int ftm_match_is_over(const struct ftm *e, uint32_t context);

/* The first receive that wants a message of this process and tag, taken out of its list; or NULL. */
struct ftm_request *ftm_match_arrived(struct ftm_match *m, int proc, uint32_t tag);

/* The first message that fits (proc -1: from anybody; tag MPI_ANY_TAG), still in the lists; or NULL. */
struct ftm_item *ftm_match_look(struct ftm_match *m, int proc, int tag);

/* Puts a receive, or a message, at the end. 0, or -1: no memory. */
int ftm_match_post(struct ftm *e, struct ftm_match *m, struct ftm_request *r);
int ftm_match_keep(struct ftm *e, struct ftm_match *m, struct ftm_item *item);

/* Takes it out of the lists. */
void ftm_match_unpost(struct ftm_match *m, struct ftm_request *r);
void ftm_match_unkeep(struct ftm_match *m, struct ftm_item *item);

#endif
