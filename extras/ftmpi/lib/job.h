/* job.h - how a process finds the others of its job, by what its launcher tells it. */
#ifndef FTM_JOB_H
#define FTM_JOB_H

#include "environ.h"

/* Makes this process's engine. 0, or -1 and v->problem says why. */
int ftm_job_begin(struct ftm **out, struct ftm_environ *v);

/* It ends, well or not: the launcher is told, if it wants to be. */
void ftm_job_end(int pmi_fd);
void ftm_job_abort(int pmi_fd, int code);

#endif
