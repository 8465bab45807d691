/* p_init.c - what MPI_Init costs: each rank prints its messages and the core's frames, in and out.
 *
 * usage: p_init DIRECTORY, an empty one. The ranks meet there and not by messages: one that is at
 * MPI_Finalize sends some, and these are not those of MPI_Init of one that comes from it late. */
#define _POSIX_C_SOURCE 200809L
#include "engine.h"
#include "mpi.h"
#include "mpi_call.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Makes a file of its own there, and waits until each rank has one; two minutes at most. */
static int meet(const char *directory, int rank, int size)
{
    const struct timespec pause = { 0, 5000000 };
    char path[4096];
    FILE *f;
    int i, tries = 0;

    snprintf(path, sizeof path, "%s/%d", directory, rank);
    if ((f = fopen(path, "w")) == NULL || fclose(f) != 0)
        return 0;
    for (i = 0; i < size && tries < 24000; tries++) {
        snprintf(path, sizeof path, "%s/%d", directory, i);
        if (access(path, F_OK) == 0)
            i++;
        else
            nanosleep(&pause, NULL);
    }
    return i == size;
}

int main(int argc, char **argv)
{
    struct phx_stats s;
    int rank, size;

    MPI_Init(&argc, &argv);
    if (argc < 2 || ftm_this->node == NULL || phx_stats(ftm_this->node, &s) != 0)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d %d\n", (int)(s.messages_in + s.messages_out), (int)(s.frames_in + s.frames_out));
    if (!meet(argv[1], rank, size))
        return 1;
    MPI_Finalize();
    return 0;
}
