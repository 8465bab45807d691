/* mpi_pump.c - how a call waits in the simulated world: in place of extras/ftmpi/lib/pump.c. */

/* Where that one sleeps in poll this one gives its machine back to the world, and steps the engine when it is
 * stepped: by what arrives, or by the engine's deadline. A look that never sleeps takes some time here,
 * else a program that polls would stop the clock. */
#include "mpi_world.h"

#include "engine.h"
#include "mpi.h"
#include "pump.h"

#define PUMP_TURN_US 10u

void ftm_pump_flush(struct ftm *e)
{
    struct pollfd none = { -1, 0, 0 };

    if (ftm_deadline(e) != 0)
        return;
    ftm_step(e, mpi_now(), &none, 1);
    mpi_stepped(e, mpi_now());
}

static void pump_wait(struct ftm *e, uint64_t until, int more)
{
    uint64_t deadline = ftm_deadline(e);

    mpi_yield(deadline < until ? deadline : until, more);
}

void ftm_pump_turn(struct ftm *e)
{
    uint64_t until = mpi_now() + PUMP_TURN_US;

    mpi_yield(until, 0);
    ftm_step(e, mpi_now(), NULL, 0);
    mpi_stepped(e, mpi_now());
    ftm_pump_flush(e);
}

int ftm_pump_for(struct ftm *e, uint64_t most_us, int (*met)(void *arg), void *arg)
{
    uint64_t until = most_us < UINT64_MAX - mpi_now() ? mpi_now() + most_us : UINT64_MAX;
    int more;

    while (!met(arg)) {
        if (e->ended)
            return MPI_ERR_INTERN;
        ftm_pump_flush(e);
        if (met(arg))
            break;
        if (mpi_now() >= until)
            return 0;
        more = ftm_step(e, mpi_now(), NULL, 0);
        mpi_stepped(e, mpi_now());
        if (!met(arg))
            pump_wait(e, until, more);
    }
    ftm_pump_flush(e);
    return 0;
}

void ftm_pump_started(struct ftm *e, uint64_t bytes)
{
    (void)bytes;
    ftm_pump_flush(e);
}
