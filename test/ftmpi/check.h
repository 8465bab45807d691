/* check.h - what small MPI programs of the tests say: each rank counts, rank 0 tells. */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

static int check_rank, check_size, check_count, check_failures;

/* Every rank makes the same checks. One that fails is said at once. */
#define ok(cond, ...) check_say((cond) ? 1 : 0, __FILE__, __LINE__, #cond, __VA_ARGS__)

static int check_say(int good, const char *file, int line, const char *cond, const char *name, ...)
{
    va_list args;

    check_count++;
    if (good)
        return 1;
    check_failures++;
    printf("# rank %d of %d: %s:%d: %s: ", check_rank, check_size, file, line, cond);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return 0;
}

static void check_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* The failures of all come to rank 0 by messages, since that is what is trusted here least late. */
static int check_end(const char *what)
{
    int sums[2], other[2], i;

    sums[0] = check_failures;
    sums[1] = check_count;
    if (check_rank > 0)
        MPI_Send(sums, 2, MPI_INT, 0, 32000, MPI_COMM_WORLD);
    for (i = 1; check_rank == 0 && i < check_size; i++) {
        MPI_Recv(other, 2, MPI_INT, i, 32000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sums[0] += other[0];
        sums[1] += other[1];
    }
    if (check_rank == 0) {
        printf("%s - %s: %d checks at %d ranks\n", sums[0] == 0 ? "ok 1" : "not ok 1", what, sums[1],
               check_size);
        printf("1..1\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return check_failures > 0;
}

#endif
