/* s_mpi.c - MPI (MPICH or Open MPI, whatever mpicc is) as a system of the bench. */

/* Variants: shm, tcp; which one is mpiexec's business, run.sh says it in the environment. MPI spins; it
 * knows no sleep, no relay and no board. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define FLYING 64 /* sends under way; the customary window of MPI bandwidth tests */

const char sys_name[] = "mpi";
const int sys_needs_turns = 0;
const char *const sys_variants = "shm tcp";

static MPI_Request flying[FLYING];
static MPI_Status ended[FLYING]; /* nobody looks; MPI_STATUSES_IGNORE makes gcc warn */
static int flying_count;
static char *buffer;

int sys_launched(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.me);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.count);
    return 1;
}

void sys_open(void)
{
    buffer = malloc(64u << 20);
    if (buffer == NULL || bench.shape == BENCH_RELAY)
        bench_die("has no relay");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The patterns do not change what they send, so the buffer may be lent. */
int sys_send(int to, const void *data, size_t size)
{
    if (flying_count == FLYING) {
        MPI_Waitall(flying_count, flying, ended);
        flying_count = 0;
    }
    MPI_Isend(data, (int)size, MPI_BYTE, to, 0, MPI_COMM_WORLD, &flying[flying_count++]);
    return 0;
}

void sys_turn(int sleep)
{
    MPI_Status s;
    int any, size, done;

    (void)sleep;
    if (flying_count > 0) {
        MPI_Testall(flying_count, flying, &done, ended);
        flying_count = done ? 0 : flying_count;
    }
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any, &s);
        if (!any)
            return;
        MPI_Get_count(&s, MPI_BYTE, &size);
        MPI_Recv(buffer, size, MPI_BYTE, s.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bench_got(s.MPI_SOURCE, buffer, (size_t)size);
    }
}

void sys_relay(void)
{
}

/* The other processes wait for messages for ever; this is how MPI ends them. Process 0 has printed. */
void sys_close(void)
{
    MPI_Abort(MPI_COMM_WORLD, 0);
}
