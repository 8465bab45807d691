/* pump.c - how a call waits: it looks for a while, then sleeps until something comes. */
#define _POSIX_C_SOURCE 200809L
#include "pump.h"

#include <poll.h>
#include <sched.h>

#include "engine.h"
#include "mpi.h"
#include "request.h"
#include "ring.h"

/* Between processes that both look a message takes some microseconds, and one that has to wake its receiver
 * takes some tens. So a call looks for config.patience_us since something came last, and then sleeps in
 * poll: what has not come by then takes longer anyway. With more ranks than cores it sleeps at once, since
 * looking would take the core from the rank that it waits for. */

#define PUMP_SMALL 4096
#define PUMP_ROW_US 20
#define PUMP_LOOKS 100 /* into rings, for one look of Phoenix */
#define PUMP_TURNS 32  /* in which something came through rings, for one look of Phoenix */

void ftm_pump_flush(struct ftm *e)
{
    struct pollfd none = { -1, 0, 0 };

    if (ftm_deadline(e) == 0)
        ftm_step(e, phx_now_us(), &none, 1);
}

/* Looks into rings for a while, which costs no system call. 1: something came. */
static int pump_look(struct ftm *e, int times)
{
    int i, found = 0;

    if (ftm_list_is_empty(&e->rings_in) && ftm_list_is_empty(&e->rings_out))
        return 0;
    for (i = 0; i < times && !found; i++)
        found = ftm_look(e);
    return found;
}

void ftm_pump_turn(struct ftm *e)
{
    if (!pump_look(e, 1) || e->turns++ % PUMP_TURNS == 0)
        ftm_step(e, phx_now_us(), NULL, 0);
    ftm_pump_flush(e);
}

static void pump_sleep(struct ftm *e, uint64_t now, uint64_t until)
{
    uint64_t deadline = ftm_deadline(e);
    struct pollfd fd = { -1, POLLIN, 0 };
    int ms = -1;

    if (until < deadline)
        deadline = until;
    if (deadline <= now)
        ms = 0;
    else if (deadline - now < 3600000000u)
        ms = (int)((deadline - now + 999) / 1000);
    else if (deadline != UINT64_MAX)
        ms = 3600000;
    if (!ftm_ring_sleep(e))
        return;
    fd.fd = e->node != NULL ? phx_fd(e->node) : -1;
    if (e->node != NULL && fd.fd < 0 && (ms < 0 || ms > 1))
        ms = 1; /* a system without such a descriptor */
    poll(&fd, 1, ms);
    ftm_ring_wake(e);
}

int ftm_pump_for(struct ftm *e, uint64_t most_us, int (*met)(void *arg), void *arg)
{
    uint64_t now = 0, awake = 0, until = 0, seen;

    while (!met(arg)) {
        if (e->ended)
            return MPI_ERR_INTERN;
        seen = e->counters.arrived;
        ftm_pump_flush(e);
        if (pump_look(e, PUMP_LOOKS) && e->turns++ % PUMP_TURNS != 0) {
            now = 0;
            continue;
        }
        if (met(arg))
            break;
        if (now == 0) { /* the first time round: most calls end before this */
            now = phx_now_us();
            awake = now + e->config.patience_us;
        }
        if (until == 0)
            until = most_us < UINT64_MAX - now ? now + most_us : UINT64_MAX;
        if (now >= until)
            return 0;
        if (now >= awake)
            pump_sleep(e, now, until);
        else
            sched_yield(); /* the other one may have to run on this very core */
        now = phx_now_us();
        ftm_step(e, now, NULL, 0);
        if (e->counters.arrived != seen)
            awake = now + e->config.patience_us;
    }
    ftm_pump_flush(e);
    return 0;
}

int ftm_pump_until(struct ftm *e, int (*met)(void *arg), void *arg)
{
    return ftm_pump_for(e, UINT64_MAX, met, arg);
}

static int pump_is_done(void *arg)
{
    const struct ftm_request *r = arg;

    return r->done;
}

int ftm_pump_request(struct ftm *e, struct ftm_request *r)
{
    return ftm_pump_until(e, pump_is_done, r);
}

void ftm_pump_started(struct ftm *e, uint64_t bytes)
{
    uint64_t now;
    int row;

    if (ftm_deadline(e) != 0)
        return; /* nothing waits to leave: it went through a ring, or was a receive */
    now = phx_now_us();
    row = now - e->row_us < PUMP_ROW_US;
    e->row_us = now;
    if (!row || bytes >= PUMP_SMALL)
        ftm_pump_flush(e);
}
