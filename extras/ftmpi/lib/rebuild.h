/* rebuild.h - MPI_COMM_WORLD with new processes in the places of those that failed. */
#ifndef FTM_REBUILD_H
#define FTM_REBUILD_H

#include <stddef.h>
#include <stdint.h>

#include "fault.h"

struct ftm;
struct ftm_arrival;
struct ftm_comm;
struct ftm_rebuild;

/* The recovery of MPI_COMM_WORLD has decided for it. */
void ftm_rebuild_begin(struct ftm *e, struct ftm_comm *world, const struct ftm_modes *modes);

/* What is due. 1: something happened. */
int ftm_rebuild_run(struct ftm *e);

/* What the arbiter has told. */
void ftm_rebuild_failed(struct ftm *e, int proc);
void ftm_rebuild_joined(struct ftm *e, int proc);
void ftm_rebuild_nospawn(struct ftm *e, int seat, uint32_t life);

/* This process was started again, for that generation of MPI_COMM_WORLD: it waits to be let in. */
void ftm_rebuild_restarted(struct ftm *e, uint32_t generation);

void ftm_rebuild_clear(struct ftm *e);

/* Of FTM_VOTE_WELCOME: 0, 1: too early, -1: no process sends it. */
int ftm_rebuild_welcome(struct ftm *e, const struct ftm_arrival *a);

#endif
