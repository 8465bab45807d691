/* pump.c - how a call waits: it looks for a while, then sleeps until something comes. */
#define _POSIX_C_SOURCE 200809L
#include "pump.h"

#include <poll.h>
#include <sched.h>

#include "engine.h"
#include "mpi.h"
#include "ring.h"

/* Between processes that both look a message takes some microseconds, and one that has to wake its receiver
 * takes some tens. So a call looks for config.patience_us since something came last, and then sleeps in
 * poll: what has not come by then takes longer anyway. With more ranks than cores it looks for less, and
 * between two looks gives its core to the rank that it waits for, which is faster than to sleep and be
 * woken: four ranks on two cores take 28 us for an MPI_Allreduce of 8 bytes over TCP, and 50 us when each
 * sleeps at once. */

#define PUMP_SMALL 4096
#define PUMP_ROW_US 20
#define PUMP_TURNS 32 /* in which something came through rings, for one look of Phoenix */
/* Looks into rings for one look of Phoenix, which takes as long as a thousand of them. When what comes
 * through rings is found after that, twice as many looks are tried the next time, since two ranks that wait
 * for each other may be in Phoenix in turn, each when the other's message comes. If not even the most, ten
 * microseconds, find it, the ranks share a core, and only giving that away helps: then it is not tried again
 * for so many messages. */
#define PUMP_LOOKS_MOST 3200
#define PUMP_MISSES 256
/* With more links poll takes phx_fd in their place. Who has asked for that pays for sends outside a step. */
#define PUMP_FDS 64

void ftm_pump_flush(struct ftm *e)
{
    struct pollfd none = { -1, 0, 0 };

    if (ftm_deadline(e) == 0)
        ftm_step(e, phx_now_us(), &none, 1);
}

/* Looks into rings so many times, which costs no system call. 1: something came. */
static int pump_look(struct ftm *e, int times)
{
    int i, found = 0;

    if (ftm_list_is_empty(&e->rings_in) && ftm_list_is_empty(&e->rings_out))
        return 0;
    for (i = 0; i < times && !found; i++)
        found = ftm_look(e);
    return found;
}

/* Something came through a ring after the looks into it. */
static void pump_missed(struct ftm *e)
{
    if (e->misses > 0) {
        e->misses--;
    } else if (e->looks < PUMP_LOOKS_MOST) {
        e->looks *= 2;
    } else {
        e->looks = FTM_LOOKS(e);
        e->misses = PUMP_MISSES;
    }
}

/* A look of Phoenix. 1: something came, through it or a ring. */
static int pump_step(struct ftm *e, uint64_t now)
{
    uint64_t arrived = e->counters.arrived, rings = e->counters.rings;

    ftm_step(e, now, NULL, 0);
    if (e->counters.rings != rings && !e->config.crowded)
        pump_missed(e);
    else if (e->counters.arrived != arrived)
        e->looks = FTM_LOOKS(e);
    return e->counters.arrived != arrived;
}

void ftm_pump_turn(struct ftm *e)
{
    if (!pump_look(e, 1) || e->turns++ % PUMP_TURNS == 0)
        ftm_step(e, phx_now_us(), NULL, 0);
    ftm_pump_flush(e);
}

/* Looking goes on for longer while large data are under way, a microsecond for each KiB: who sleeps meanwhile
 * is woken once or more for each message. */
static uint64_t pump_patience(const struct ftm *e)
{
    uint64_t patience = e->config.patience_us;

    return patience > 0 && !e->config.crowded ? patience + (e->flying >> 10) : patience;
}

static void pump_sleep(struct ftm *e, uint64_t now, uint64_t until)
{
    uint64_t deadline = ftm_deadline(e);
    struct pollfd fds[PUMP_FDS];
    int ms = -1, n = 0;

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
    if (e->node != NULL && (n = phx_fds(e->node, fds, PUMP_FDS)) > PUMP_FDS) {
        fds[0] = (struct pollfd){ phx_fd(e->node), POLLIN, 0 };
        n = 1;
        if (fds[0].fd < 0 && (ms < 0 || ms > 1))
            ms = 1; /* a system without such a descriptor */
    }
    e->looks = FTM_LOOKS(e);
    poll(fds, (nfds_t)n, ms);
    ftm_ring_wake(e);
}

int ftm_pump_for(struct ftm *e, uint64_t most_us, int (*met)(void *arg), void *arg)
{
    uint64_t now = 0, awake = 0, until = 0;

    while (!met(arg)) {
        if (e->ended)
            return MPI_ERR_INTERN;
        ftm_pump_flush(e);
        if (pump_look(e, e->looks) && e->turns++ % PUMP_TURNS != 0) {
            now = 0;
            continue;
        }
        if (met(arg))
            break;
        if (now == 0) { /* the first time round: most calls end before this */
            now = phx_now_us();
            awake = now + pump_patience(e);
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
        if (pump_step(e, now))
            awake = now + pump_patience(e);
    }
    ftm_pump_flush(e);
    return 0;
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
