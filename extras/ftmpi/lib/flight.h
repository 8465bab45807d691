/* flight.h - messages between processes: how each kind is sent and what happens when it comes. */
#ifndef FTM_FLIGHT_H
#define FTM_FLIGHT_H

#include "match.h"
#include "phoenix.h"
#include "proc.h"
#include "request.h"
#include "wire.h"

/* Flags of kinds that have some. */
enum ftm_flag {
    FTM_FLAG_DATA = 1,   /* ASK: the data follow */
    FTM_FLAG_ANSWER = 2, /* WITHDRAW: the answer ... */
    FTM_FLAG_YES = 4     /* ... and it is yes */
};

/* A rendezvous, or a synchronous message. */
struct ftm_ask {
    uint64_t bytes;
    uint32_t number; /* the sender's */
};
#define FTM_ASK_SIZE 12

/* It is matched. */
struct ftm_go {
    uint32_t send, receive; /* numbers of both sides */
    uint64_t wanted;        /* bytes from the beginning; 0: none, only the match is told */
    uint32_t piece;         /* bytes of each PART but the last */
};
#define FTM_GO_SIZE 20

/* A message from another process of the job, whose rank and life are those of one that lives. */
struct ftm_arrival {
    struct ftm_proc *proc;
    uint64_t from, tag;
    const void *data;
    size_t size;
};

/* Any message: finds out who says what and calls one of those below. What none of ours sends ends the job. */
void ftm_flight_arrived(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size);

/* None of ours sends it: the job ends. */
void ftm_flight_bad(struct ftm *e, uint64_t from, uint64_t tag, size_t size);

/* Where a large message goes that is about to come; NULL: anywhere. */
void *ftm_flight_place(struct ftm *e, uint64_t from, uint64_t tag, size_t size);

void ftm_flight_put_ask(unsigned char *to, const struct ftm_ask *a);
int ftm_flight_get_ask(struct ftm_ask *a, const void *data, size_t size); /* 0, or -1: malformed */
void ftm_flight_put_go(unsigned char *to, const struct ftm_go *g);
int ftm_flight_get_go(struct ftm_go *g, const void *data, size_t size);

/* send.c. A send begins: it leaves, or asks, or waits behind others. An MPI class. */
int ftm_send_begin(struct ftm *e, struct ftm_request *r);

/* Gives back what it has of a request that goes. */
void ftm_send_forget(struct ftm *e, struct ftm_request *r);

/* Takes all of it back before it is done: the queue, the question, what Phoenix has of the buffer. */
void ftm_send_give_up(struct ftm *e, struct ftm_request *r);

/* What a receiver answers; -1: no receiver of ours would. Sends in the queue of a process: as many as may
 * leave. */
int ftm_send_go(struct ftm *e, const struct ftm_arrival *a);
int ftm_send_credit(struct ftm *e, const struct ftm_arrival *a);
int ftm_send_withdrawn(struct ftm *e, const struct ftm_arrival *a);
void ftm_send_continue(struct ftm *e, struct ftm_proc *p);

/* recv.c. A receive begins: it takes a message that waits, or waits for one. An MPI class. */
int ftm_recv_begin(struct ftm *e, struct ftm_request *r);

/* What a sender says; -1: no sender of ours would. */
int ftm_recv_eager(struct ftm *e, const struct ftm_arrival *a);
int ftm_recv_ask(struct ftm *e, const struct ftm_arrival *a);
int ftm_recv_part(struct ftm *e, const struct ftm_arrival *a);
int ftm_recv_withdraw(struct ftm *e, const struct ftm_arrival *a);

/* Where a PART goes that is about to come: a place in the user's buffer, or NULL. */
void *ftm_recv_place(struct ftm *e, const struct ftm_arrival *a);

/* A communicator is there now: the messages that came before it are matched. They are given back by it. */
void ftm_recv_early(struct ftm *e, struct ftm_match *m);

/* Receives of the program that wait are taken out of their lists. When they are told that they are those of
 * `to`, they and the messages that wait in `from` get there, and what fits is matched. */
void ftm_recv_lift(struct ftm *e, struct ftm_comm *comm, struct ftm_list *lifted);
void ftm_recv_merge(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to, struct ftm_list *lifted);

/* Takes a receive back, posted or matched. */
void ftm_recv_give_up(struct ftm *e, struct ftm_request *r);

/* What this process has sent and of which the data never came is dropped; all: what has come, too. */
void ftm_recv_forget(struct ftm *e, struct ftm_match *m, int proc, int all);

/* What came for collective calls before that one is dropped: a failure has ended them. */
void ftm_recv_forget_calls(struct ftm *e, struct ftm_match *m, uint32_t before);

/* Drops a message that waited, and says so to its sender. */
void ftm_recv_drop(struct ftm *e, struct ftm_item *item);

#endif
