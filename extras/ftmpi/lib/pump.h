/* pump.h - how a call waits: it looks for a while, then sleeps until something comes. */
#ifndef FTM_PUMP_H
#define FTM_PUMP_H

#include <stdint.h>

#include "request.h"

/* Turns the engine until met(arg) says 1, which is asked first, or most_us are over. 0, or MPI_ERR_INTERN:
 * the job has ended. */
int ftm_pump_for(struct ftm *e, uint64_t most_us, int (*met)(void *arg), void *arg);

static inline int ftm_pump_until(struct ftm *e, int (*met)(void *arg), void *arg)
{
    return ftm_pump_for(e, UINT64_MAX, met, arg);
}

/* Until the request is done; what became of it is in it. */
static inline int ftm_pump_request(struct ftm *e, struct ftm_request *r)
{
    return ftm_pump_until(e, ftm_request_is_done, r);
}

/* One turn that never sleeps, for calls that only look. */
void ftm_pump_turn(struct ftm *e);

/* What was started leaves, without a look for what came. */
void ftm_pump_flush(struct ftm *e);

/* After a call that started something of that many bytes and returns: it leaves now, unless it is small and
 * one of many that are started in a row. Those leave with the next call that waits or looks. */
void ftm_pump_started(struct ftm *e, uint64_t bytes);

#endif
