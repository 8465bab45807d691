/* fault.h - failures of processes: states and modes of communicators, and what operations return. */
#ifndef FTM_FAULT_H
#define FTM_FAULT_H

#include <stddef.h>

#include "modes.h"
#include "mpi.h"

struct ftm;
struct ftm_comm;
struct ftm_request;
struct ftm_status;

/* A member of struct ftm_comm. Ranks are those of ftm_comm_peers. */
struct ftm_fault {
    int watch; /* 0: FT_OK, not revoked, and no gaps, so that operations need not look at the rest */
    int state; /* FT_OK ... */
    int revoked;
    int entered;    /* the program was told that its recovery has begun */
    struct ftm_modes modes;
    int *list;      /* ranks in the order of their failures since the last recovery; NULL: nobody */
    size_t count;   /* of list */
    int *times;     /* by rank: how often it has failed */
    size_t *first;  /* by rank: the place in list of its first failure */
    int gone;       /* ranks that have */
    size_t acked;   /* so many of list are acknowledged */
    char *told;     /* by rank: some operation on this communicator has told its failure */
    size_t ranks;   /* of times, first and told */
};

/* A new communicator takes over the modes of its parent (NULL: those of the start), and begins in FT_DETECTED
 * if a member has failed already. 0, or MPI_ERR_INTERN. */
int ftm_fault_begin(struct ftm *e, struct ftm_comm *c, const struct ftm_comm *parent);
void ftm_fault_free(struct ftm *e, struct ftm_comm *c);

/* This process has failed. To be called in the order of the arbiter, at the end of a step, when everything
 * that had arrived before has been matched. */
void ftm_fault_declared(struct ftm *e, int proc);

/* The recovery of c has begun. Calls on it end with the error, and in FTMPI_MSG_MODE_NOP what is pending. */
void ftm_fault_entered(struct ftm *e, struct ftm_comm *c);

/* Its successor has the same contexts and a higher generation: from now on what is for them gets there. With
 * FTMPI_MSG_MODE_CONT what is pending and what waits goes along, but for what the failed have part in; else
 * it ends. old is FT_FAILED then, and now FT_RECOVERED until the program has it: ftm_fault_opened. */
void ftm_fault_succeeded(struct ftm *e, struct ftm_comm *old, struct ftm_comm *now, int msg_mode);
void ftm_fault_opened(struct ftm *e, struct ftm_comm *c);

/* The same where the successor is MPI_COMM_WORLD, which has contexts of its own: what is still on its way to
 * those of old is led there. */
void ftm_fault_joined(struct ftm *e, struct ftm_comm *old, struct ftm_comm *world, int msg_mode);

/* c is revoked: what is pending ends with MPIX_ERR_REVOKED, and so does what is new. */
void ftm_fault_revoked(struct ftm *e, struct ftm_comm *c);

/* Is a creating call on c a recovery call? The program was told of the failure of a member. */
int ftm_fault_is_recovery(const struct ftm *e, const struct ftm_comm *c);

/* What a request that is being started gets: 0 (it may be done with an error: look), or an MPI class. */
int ftm_fault_check(struct ftm *e, struct ftm_request *r);

/* What a call gets that waits for this request, although it is not done; 0: it has to wait. */
int ftm_fault_pending(const struct ftm *e, const struct ftm_request *r);

/* What a probe gets that finds no message. */
int ftm_fault_probe(struct ftm *e, struct ftm_comm *c, int source, struct ftm_status *status);

/* What a collective call on c gets; goes_on: it is one that reaches the living all the same. */
int ftm_fault_coll(const struct ftm_comm *c, int goes_on);

/* The class of a failure on c: MPI_ERR_OTHER, or ULFM's. And whether a class is one that failures have. */
int ftm_fault_code(const struct ftm_comm *c);
int ftm_fault_is(int code);

/* In modes other than ABORT an error handler that the program never set lets failures return. */
int ftm_fault_returns(const struct ftm_comm *c, int code);

/* 1: messages between the living go on although others have failed. */
int ftm_fault_goes_on(const struct ftm_comm *c);

/* The program is told of what is known on c (proc -1), or of that process, now; ftm_fault_text describes the
 * latest, or is NULL. */
void ftm_fault_tell(struct ftm *e, struct ftm_comm *c, int proc);
void ftm_fault_tell_known(struct ftm *e, struct ftm_comm *c);
const char *ftm_fault_text(struct ftm *e);

/* Attributes of the keys of mpi.h. set: MPI_ERR_KEYVAL: not one that can be set; MPI_ERR_ARG: not a mode. get
 * writes what MPI_Attr_get writes; 1, or 0: another key, or -1: no memory. */
int ftm_fault_set(struct ftm *e, struct ftm_comm *c, int key, const int *value);
int ftm_fault_get(struct ftm *e, struct ftm_comm *c, int key, void *value);

#endif
