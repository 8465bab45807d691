/* request.h - what was started and may not be done yet: sends, receives, withdrawals. */
#ifndef FTM_REQUEST_H
#define FTM_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "mpi.h"

struct ftm;
struct ftm_comm;
struct ftm_type;
struct ftm_schedule;
struct ftm_pack;
struct ftm_vote;

enum ftm_mode { FTM_STANDARD = 0, FTM_SYNCHRONOUS, FTM_READY, FTM_BUFFERED };

struct ftm_status {
    int source, tag, error, cancelled;
    uint64_t bytes;
};

enum ftm_request_kind { FTM_REQ_SEND = 1, FTM_REQ_RECV, FTM_REQ_AGREE, FTM_REQ_SHRINK };

/* What it asks for. A persistent request keeps it. */
struct ftm_order {
    int kind; /* enum ftm_request_kind */
    int mode; /* of a send: enum ftm_mode */
    struct ftm_comm *comm;
    int collective; /* 1: in the communicator's collective context */
    void *buf;
    size_t count;
    struct ftm_type *type;
    int peer, tag; /* a rank, MPI_ANY_SOURCE, MPI_PROC_NULL; MPI_ANY_TAG */
};

/* A transfer in pieces. */
struct ftm_flight {
    uint32_t number;  /* ours, in e->flights; 0: none */
    uint32_t partner; /* the other side's */
    uint64_t wanted, moved;
    uint32_t piece;      /* bytes in each message */
    uint32_t unreleased; /* pieces of which Phoenix still holds the memory */
    struct ftm_pack *pack; /* of data that are no block; else NULL */
    void *bounce;          /* of send.c: a piece that was packed and has not left */
    struct ftm_list bounces; /* of send.c: those that have left and are not released */
    int from;              /* of a receive: the process that it was matched with */
};

struct ftm_request {
    struct ftm *engine;
    struct ftm_order order;
    struct ftm_status status;
    struct ftm_flight flight;
    struct ftm_schedule *schedule; /* that waits for it, or NULL */
    struct ftm_vote *vote;         /* of ulfm.c: it is an agreement; or NULL */
    struct ftm_list link;          /* posted, or waiting to be sent (whole, or its pieces) */
    struct ftm_list all;           /* of the engine */
    struct ftm_list segment;       /* in the attached buffer */
    uint64_t stamp;
    uint64_t bytes; /* of the message, or room for it */
    int proc;       /* the process behind order.peer, or -1: anybody */
    int handle;     /* the program's, or 0 */
    int persistent;
    int active; /* started, and the program has not been told that it is done: it sets it back */
    int done;
    int asked;    /* an ASK has left and is not answered */
    int detached; /* nobody looks any more: it goes when it is done */
    int cancel;   /* MPI_Cancel was called */
    int error;    /* MPI class */
    int fault;    /* of one that a failure has ended: the process, or -1: any of the communicator */
    size_t buffered; /* bytes of the attached buffer that it holds; 0: none */
};

/* Starts a message; *out is the request, to be given back with ftm_request_free once it is done (it may be
 * done already). buf must stay as it is until then. 0, or an MPI class and *out is NULL. The caller has
 * checked rank, tag, count and type. FTM_BUFFERED: buf is copied into the attached buffer (MPI_ERR_BUFFER:
 * there is no room). */
int ftm_send_start(struct ftm *e, struct ftm_request **out, int mode, struct ftm_comm *comm, int collective,
                   const void *buf, size_t count, struct ftm_type *type, int dest, int tag);
int ftm_recv_start(struct ftm *e, struct ftm_request **out, struct ftm_comm *comm, int collective, void *buf,
                   size_t count, struct ftm_type *type, int source, int tag);

/* A persistent request is made inactive, and started any number of times. */
int ftm_request_make(struct ftm *e, struct ftm_request **out, const struct ftm_order *order);
int ftm_request_start(struct ftm *e, struct ftm_request *r);

/* Gives a request back. One that is not done goes on by itself and is forgotten when it is done. */
void ftm_request_free(struct ftm *e, struct ftm_request *r);

/* Takes it back if it can still be: a receive that is not matched, a send that has not left (or whose ASK the
 * receiver gives back: done says when that is known). status.cancelled tells when it is done. */
void ftm_request_cancel(struct ftm *e, struct ftm_request *r);

/* Ends one that is not done with this error, wherever its message is: afterwards nobody reads or writes the
 * program's buffer. A detached one is gone then. */
void ftm_request_fail(struct ftm *e, struct ftm_request *r, int error);

/* For the pump: r is a struct ftm_request. */
int ftm_request_is_done(void *r);

/* Drops all that is left when the engine goes. */
void ftm_request_clear(struct ftm *e);

/* For the engine: it is over. Wakes its schedule. */
void ftm_request_done(struct ftm *e, struct ftm_request *r, int error);

/* Looks whether a receive would be met (MPI_Iprobe): 1 and *status, or 0. */
int ftm_recv_probe(struct ftm *e, struct ftm_comm *comm, int source, int tag, struct ftm_status *status);

/* The attached buffer (bsend.c). MPI_ERR_BUFFER: one is attached already, or none. It can go when it is
 * empty. */
int ftm_bsend_attach(struct ftm *e, void *buffer, size_t size);
int ftm_bsend_is_empty(const struct ftm *e);
int ftm_bsend_detach(struct ftm *e, void **buffer, size_t *size);

/* Copies what r sends into the buffer and lets a request of its own send it from there. MPI_ERR_BUFFER. */
int ftm_bsend_start(struct ftm *e, struct ftm_request *r);
void ftm_bsend_done(struct ftm *e, struct ftm_request *r);

#endif
