/* p_fault.c - the last rank is killed; what the others are in ends by their error handler, which jumps out.
 *
 *     p_fault CALL          each survivor is in this call, or comes to it, when the notice comes
 *     p_fault bcast-goes-on ROUNDS BYTES   (in CONT) rank 0 goes on sending to all, and all who live get it
 */
#include <mpi.h>

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (1 << 20)

static int rank, size, dead;
static char in[2 * LARGE], out[LARGE];
static jmp_buf back;
static volatile int code_seen;

static void jump(MPI_Comm *comm, int *code, ...)
{
    code_seen = *comm == MPI_COMM_WORLD ? *code : -1;
    longjmp(back, 1);
}

/* All of these wait for what never comes: from the dead one, or from the next of the living. */
static void wait_in(const char *call)
{
    int next = (rank + 1) % (size - 1), flag = 0, sum;
    MPI_Request r[2];
    MPI_Status st[2];

    if (strcmp(call, "recv") == 0)
        MPI_Recv(in, 1, MPI_BYTE, dead, 1, MPI_COMM_WORLD, st);
    else if (strcmp(call, "recv-living") == 0)
        MPI_Recv(in, 1, MPI_BYTE, next, 1, MPI_COMM_WORLD, st);
    else if (strcmp(call, "recv-any") == 0)
        MPI_Recv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, st);
    else if (strcmp(call, "ssend") == 0)
        MPI_Ssend(out, 1, MPI_BYTE, dead, 1, MPI_COMM_WORLD);
    else if (strcmp(call, "send-large") == 0)
        MPI_Send(out, LARGE, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    else if (strcmp(call, "sends") == 0)
        for (;;)
            MPI_Send(out, 1000, MPI_BYTE, dead, 1, MPI_COMM_WORLD);
    else if (strcmp(call, "probe") == 0)
        MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, st);
    else if (strcmp(call, "iprobe") == 0)
        while (!flag)
            MPI_Iprobe(dead, 1, MPI_COMM_WORLD, &flag, st);
    else if (strcmp(call, "sendrecv") == 0)
        MPI_Sendrecv(out, LARGE, MPI_BYTE, next, 1, in, LARGE, MPI_BYTE, dead, 1, MPI_COMM_WORLD, st);
    else if (strcmp(call, "waitall") == 0 || strcmp(call, "testall") == 0) {
        MPI_Irecv(in, LARGE, MPI_BYTE, dead, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(in + LARGE, LARGE, MPI_BYTE, next, 2, MPI_COMM_WORLD, &r[1]);
        if (call[0] == 'w')
            MPI_Waitall(2, r, st);
        while (call[0] == 't' && !flag)
            MPI_Testall(2, r, &flag, st);
    } else if (strcmp(call, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(call, "allreduce") == 0)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(call, "alltoall") == 0)
        MPI_Alltoall(out, LARGE / 8, MPI_BYTE, in, LARGE / 8, MPI_BYTE, MPI_COMM_WORLD);
    else if (strcmp(call, "bcast") == 0)
        MPI_Bcast(in, LARGE, MPI_BYTE, dead, MPI_COMM_WORLD);
    else
        printf("no such call: %s\n", call);
}

static void jumps_out_of(const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler h;
    int length;

    MPI_Errhandler_create(jump, &h);
    MPI_Errhandler_set(MPI_COMM_WORLD, h);
    if (setjmp(back) == 0) {
        wait_in(call);
        printf("rank %d: %s came back\n", rank, call);
        return;
    }
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_string(MPI_ERR_OTHER, text, &length);
    printf("jumped with %d: %s\n", code_seen, text);
}

/* The victim dies in the middle of it. */
static void bcast_goes_on(int rounds, int bytes)
{
    int i, rc, bad = 0, errors = 0;

    for (i = 0; i < rounds; i++) {
        if (rank == dead && i == rounds / 4)
            raise(SIGKILL);
        memset(in, rank == 0 ? i % 100 + 1 : 0, (size_t)bytes);
        rc = MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        bad += (rc != MPI_SUCCESS && rc != MPI_ERR_OTHER) || in[0] != i % 100 + 1
            || in[bytes - 1] != i % 100 + 1;
        errors += rc == MPI_ERR_OTHER;
    }
    printf("%d of %d wrong, %s\n", bad, rounds, errors > 0 ? "told" : "not told");
}

int main(int argc, char **argv)
{
    int restarted = MPI_Init(&argc, &argv);

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dead = size - 1;
    if (restarted == MPI_SUCCESS && argc > 3)
        bcast_goes_on(atoi(argv[2]), atoi(argv[3]));
    else if (argc > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == dead)
            raise(SIGKILL);
        jumps_out_of(argv[1]);
    }
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
