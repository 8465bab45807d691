/* pump.h - how a call waits: it looks for a while, then sleeps until something comes. */
#ifndef FTM_PUMP_H
#define FTM_PUMP_H

struct ftm;
struct ftm_request;

/* Turns the engine until met(arg) says 1, which is asked first. 0, or an MPI class: the job has ended. */
int ftm_pump_until(struct ftm *e, int (*met)(void *arg), void *arg);

/* ... until the request is done. Returns 0; what became of the request is in it. */
int ftm_pump_request(struct ftm *e, struct ftm_request *r);

/* One turn that never sleeps, for calls that only look. */
void ftm_pump_turn(struct ftm *e);

/* What was started leaves, without a look for what came. */
void ftm_pump_flush(struct ftm *e);

/* How long to look before sleeping, microseconds. Set by MPI_Init. */
void ftm_pump_patience(unsigned long us);

#endif
