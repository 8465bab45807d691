/* rebuild.h - MPI_COMM_WORLD with new processes in the places of those that failed. */
#ifndef FTM_REBUILD_H
#define FTM_REBUILD_H

#include <stddef.h>
#include <stdint.h>

#include "fault.h"

struct ftm;
struct ftm_arrival;
struct ftm_comm;
struct ftm_group;
struct ftm_rebuild;

/* The recovery of MPI_COMM_WORLD has decided for it. */
void ftm_rebuild_begin(struct ftm *e, struct ftm_comm *world, const struct ftm_modes *modes);

/* What is due. 1: something happened. */
int ftm_rebuild_run(struct ftm *e);
void ftm_rebuild_failed(struct ftm *e, int proc);
void ftm_rebuild_clear(struct ftm *e);

/* Of FTM_VOTE_WELCOME: 0, 1: too early, -1: no process sends it. */
int ftm_rebuild_welcome(struct ftm *e, const struct ftm_arrival *a);

/* Of recover.c. The recovery of c ends: with a successor (0, or -1 and the job ends), or with an error. */
int ftm_recover_succeed(struct ftm *e, struct ftm_comm *c, struct ftm_group *group, uint32_t generation,
                        const struct ftm_modes *modes);
void ftm_recover_ends(struct ftm *e, struct ftm_comm *c, int error);

/* The newest generation of c that is known here; who stood at that rank last, if it is a gap; and
 * MPI_COMM_WORLD becomes the newest without a call of the program. */
struct ftm_comm *ftm_recover_newest(struct ftm_comm *c);
int ftm_recover_former(const struct ftm_comm *c, int rank);
void ftm_recover_take_world(struct ftm *e);

#endif
