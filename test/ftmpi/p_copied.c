/* p_copied.c - how many bytes this process copies for each byte of a large message. usage: p_copied TURNS
 *
 * To be linked with -Wl,--wrap=memcpy -Wl,--wrap=memmove: every copy of the library and of phoenix.c whose
 * size is not known to the compiler is counted, what is no payload, too. Each rank prints copied bytes in a
 * thousand of those that were sent; the receive is posted before the message leaves.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

#define SIZE (1 << 20)

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);

static double copied;

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    copied += (double)size;
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size)
{
    copied += (double)size;
    return __real_memmove(to, from, size);
}

int main(int argc, char **argv)
{
    int rank, i, turns = argc > 1 ? atoi(argv[1]) : 100, wrong = 0;
    char *data = malloc(SIZE);
    MPI_Request r;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(data, rank == 0 ? 5 : 0, SIZE);
    copied = 0;
    for (i = 0; i < turns; i++) {
        if (rank == 1)
            MPI_Irecv(data, SIZE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r);
        MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - rank, 2, NULL, 0, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Send(data, SIZE, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        wrong |= data[SIZE - 1] != 5;
    }
    printf("%.0f\n", wrong ? 1e6 : 1000 * copied / turns / SIZE);
    fflush(stdout);
    MPI_Finalize();
    free(data);
    return 0;
}
