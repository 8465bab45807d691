/* pump.h - how a call waits: it looks for a while, then sleeps until something comes. */
#ifndef FTM_PUMP_H
#define FTM_PUMP_H

#include <stdint.h>

struct ftm;
struct ftm_request;

/* Turns the engine until met(arg) says 1, which is asked first. 0, or MPI_ERR_INTERN: the job has ended. */
int ftm_pump_until(struct ftm *e, int (*met)(void *arg), void *arg);

/* The same, for most_us at most; 0 also if that is over first. */
int ftm_pump_for(struct ftm *e, uint64_t most_us, int (*met)(void *arg), void *arg);

/* ... until the request is done; what became of it is in it. */
int ftm_pump_request(struct ftm *e, struct ftm_request *r);

/* One turn that never sleeps, for calls that only look. */
void ftm_pump_turn(struct ftm *e);

/* What was started leaves, without a look for what came. */
void ftm_pump_flush(struct ftm *e);

/* After a call that started something of that many bytes and returns: it leaves now, unless it is small and
 * one of many that are started in a row. Those leave with the next call that waits or looks. */
void ftm_pump_started(struct ftm *e, uint64_t bytes);

#endif
