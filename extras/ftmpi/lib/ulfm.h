/* ulfm.h - what stands behind the calls of mpi-ext.h: acknowledged failures, and agreements as requests. */
#ifndef FTM_ULFM_H
#define FTM_ULFM_H

#include "comm.h"
#include "request.h"

/* The members of c (of the other side of an intercommunicator) whose failures were declared, in that order:
 * the first `most` of them. NULL: no memory. */
struct ftm_group *ftm_ulfm_failed(struct ftm *e, const struct ftm_comm *c, int most);

/* The first `most` of these are acknowledged, which is never taken back. Returns how many are. */
int ftm_ulfm_acknowledge(struct ftm_comm *c, int most);
int ftm_ulfm_acknowledged(const struct ftm_comm *c);

/* MPIX_Comm_iagree: and_of is read now, and has the result when the request is done. MPIX_Comm_ishrink: the
 * handle of the new communicator. 0, or MPI_ERR_INTERN and *out is NULL. */
int ftm_ulfm_agree(struct ftm *e, struct ftm_comm *c, int *and_of, struct ftm_request **out);
int ftm_ulfm_shrink(struct ftm *e, struct ftm_comm *c, int *newcomm, struct ftm_request **out);

/* For the engine: ends the requests of which the vote is over; and gives back what one has that goes. */
void ftm_ulfm_run(struct ftm *e);
void ftm_ulfm_forget(struct ftm *e, struct ftm_request *r);

#endif
