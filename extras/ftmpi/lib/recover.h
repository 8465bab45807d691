/* recover.h - how members that survive come to a successor of their communicator. */
#ifndef FTM_RECOVER_H
#define FTM_RECOVER_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

struct ftm;
struct ftm_arrival;
struct ftm_comm;
struct ftm_group;
struct ftm_modes;
struct ftm_vote;
struct ftm_vote_side;

enum ftm_recovery_state {
    FTM_RECOVERY_NONE = 0,
    FTM_RECOVERY_AGREES,   /* on who has failed */
    FTM_RECOVERY_REBUILDS, /* MPI_COMM_WORLD: processes are started */
    FTM_RECOVERY_FOLLOWS,  /* another communicator, whose recovery is that of MPI_COMM_WORLD */
    FTM_RECOVERY_DONE
};

/* A member of struct ftm_comm: the recovery of this generation of it. */
struct ftm_recovery {
    struct ftm_list link; /* in e->recoveries, as long as it may go on */
    enum ftm_recovery_state state;
    int called;       /* others have begun it */
    int forced;       /* REBUILD whatever the mode: for another communicator */
    int msg_mode;     /* agreed, of one that follows MPI_COMM_WORLD */
    uint32_t attempt; /* of this generation; those before found nobody to be started */
    int error;        /* MPI class, where it is DONE without a successor */
    struct ftm_vote *vote;
    struct ftm_comm *successor; /* held */
    uint32_t creates, agrees, shrinks; /* calls of each kind that were begun: the numbers of their votes */
    uint32_t meets, met;               /* of MPI_Intercomm_create: that were begun, and that are over */
    int *former;      /* by rank, of a group with gaps: who was there last. NULL: there are none */
};

void ftm_recover_init(struct ftm *e);
void ftm_recover_clear(struct ftm *e);
void ftm_recover_forget(struct ftm *e, struct ftm_comm *c); /* that communicator goes */

/* ---- For the calls ---- */

/* 1: failures do not end the job. */
int ftm_recover_is_on(const struct ftm_comm *c);

/* 1: that may be so at some member, so calls that make communicators end in an agreement. */
int ftm_recover_votes(const struct ftm *e, const struct ftm_comm *c);

/* Begins the recovery of a communicator, or goes on with one that others began; when it is done the successor
 * is taken. *out is NULL on errors: MPI_ERR_SPAWN, MPI_ERR_COMM ... MPI_COMM_WORLD is taken in place, and so
 * *out is e->world. Another successor has a handle from then on. */
int ftm_recover_begin(struct ftm *e, struct ftm_comm *c);
int ftm_recover_is_done(void *c); /* a struct ftm_comm */
int ftm_recover_take(struct ftm *e, struct ftm_comm *c, struct ftm_comm **out);
int ftm_recover_call(struct ftm *e, struct ftm_comm *c, struct ftm_comm **out); /* the three, blocking */

/* 1: this call is a recovery call: the program knows of a failure, or could not recover it the last time. */
int ftm_recover_is_due(struct ftm *e, struct ftm_comm *c);

/* The agreement at the end of a call that makes a communicator; worked: an MPI class, 0 if it did here. 0 and
 * *context, or an error at all members, of both sides. *said: flags from FTM_VOTE_SAID on, of which those
 * stay that all have; NULL: none. */
int ftm_recover_create(struct ftm *e, struct ftm_comm *c, int worked, uint32_t *context, uint32_t *said);

/* The same of two groups that make an intercommunicator (see ftm_vote_meet); c is ours. */
int ftm_recover_meet(struct ftm *e, struct ftm_comm *c, const struct ftm_vote_side *own,
                     const struct ftm_vote_side *other, const struct ftm_group *remote);

/* MPIX_Comm_shrink: a new communicator of those who live, in the old order. NULL: no memory. When the vote is
 * done it is taken; *out is NULL on errors. */
struct ftm_vote *ftm_recover_shrink_begin(struct ftm *e, struct ftm_comm *c);
int ftm_recover_shrink_take(struct ftm *e, struct ftm_comm *c, struct ftm_vote *v, struct ftm_comm **out);

/* MPIX_Comm_revoke: all members are told, and ftm_fault_revoked is called at each of them, here too. */
void ftm_recover_revoke(struct ftm *e, struct ftm_comm *c);

/* MPI_Finalize: waits until all that live have come to it. */
int ftm_recover_finalize(struct ftm *e);

/* ---- For rebuild.c ---- */

/* The recovery of c ends: with a successor (0, or -1 and the job ends), or with an error. */
int ftm_recover_succeed(struct ftm *e, struct ftm_comm *c, struct ftm_group *group, uint32_t generation,
                        const struct ftm_modes *modes);
void ftm_recover_ends(struct ftm *e, struct ftm_comm *c, int error);

/* The newest generation of c that is known here; who stood at that rank last, if it is a gap; and
 * MPI_COMM_WORLD becomes the newest without a call of the program. */
struct ftm_comm *ftm_recover_newest(struct ftm_comm *c);
int ftm_recover_former(const struct ftm_comm *c, int rank);
void ftm_recover_take_world(struct ftm *e);

/* ---- For the engine ---- */

void ftm_recover_failed(struct ftm *e, int proc);

/* A message of kind FTM_AGREE or FTM_REVOKE. 0, or -1: no process sends it. */
int ftm_recover_arrived(struct ftm *e, const struct ftm_arrival *a);

/* A communicator has come: what was early may be for it. */
void ftm_recover_early(struct ftm *e);

/* What follows from all that, at the end of a step. */
void ftm_recover_run(struct ftm *e);

#endif
