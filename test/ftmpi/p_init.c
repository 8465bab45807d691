/* p_init.c - what MPI_Init costs: each rank prints its messages and the core's frames, in and out. */
#include "engine.h"
#include "mpi.h"
#include "mpi_call.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct phx_stats s;

    MPI_Init(&argc, &argv);
    if (ftm_this->node == NULL || phx_stats(ftm_this->node, &s) != 0)
        return 1;
    printf("%d %d\n", (int)(s.messages_in + s.messages_out), (int)(s.frames_in + s.frames_out));
    MPI_Finalize();
    return 0;
}
