/* mpi.c - one figure of an MPI, in microseconds: for mpi.sh, compiled with each of them. */

/* usage: mpi PATTERN BYTES [MS]
 *
 *      latency     half of there and back, two ranks
 *      reply       the same where each works for some tenths of a microsecond before it answers
 *      rate        a message of 64 that are under way at once, two ranks
 *      stream      a message of 8 that are under way at once, two ranks
 *      barrier bcast allreduce alltoall    one call, all ranks
 *      init        nothing: the time is that of the whole run
 *
 * Prints "figure tcp": tcp is how many of the bytes that were moved crossed TCP sockets of rank 0, where that
 * can be known (two ranks, Linux; else 0). Of an MPI that is told to use TCP and does not, it is near 0. */
#define _DEFAULT_SOURCE 1
#include <mpi.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

#define WINDOW_MOST 64

static int rank, size, bytes;
static char *in, *out;
static double moved;

#ifdef __linux__
static double tcp_bytes(void)
{
    struct tcp_info info;
    double sum = 0;
    socklen_t n;
    int fd;

    for (fd = 0; fd < 1024; fd++) {
        n = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0)
            sum += (double)info.tcpi_bytes_acked + (double)info.tcpi_bytes_received;
    }
    return sum;
}
#else
static double tcp_bytes(void)
{
    return 0;
}
#endif

/* Some tenths of a microsecond. */
static void work(int loops)
{
    volatile int left = loops;

    while (left > 0)
        left--;
}

static void latency(int loops)
{
    int peer = 1 - rank;

    moved += 2.0 * bytes;
    if (rank == 0)
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    work(loops);
    if (rank == 1)
        MPI_Send(out, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
}

static void window(int n)
{
    MPI_Request r[WINDOW_MOST];
    int i;

    moved += (double)n * bytes;
    for (i = 0; i < n; i++)
        if (rank == 0)
            MPI_Isend(out, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &r[i]);
        else
            MPI_Irecv(in, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(in, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(out, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
}

/* One round; returns how many of what is counted were in it. */
static int once(const char *pattern)
{
    if (strcmp(pattern, "latency") == 0 || strcmp(pattern, "reply") == 0) {
        latency(pattern[0] == 'r' ? 1000 : 0);
        return 2;
    }
    if (strcmp(pattern, "rate") == 0 || strcmp(pattern, "stream") == 0) {
        int n = pattern[0] == 'r' ? WINDOW_MOST : 8;
        window(n);
        return n;
    }
    if (strcmp(pattern, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(pattern, "bcast") == 0)
        MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (strcmp(pattern, "allreduce") == 0)
        MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(pattern, "alltoall") == 0)
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    return 1;
}

/* Rounds in batches that double until the time is over, which rank 0 tells. The last batch, half of all, is
 * the figure: what came before has warmed up. */
static double measure(const char *pattern, double seconds)
{
    double began = MPI_Wtime(), t = 0;
    int batch = 1, i, n = 0, go = 1;

    while (go) {
        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime();
        for (i = 0, n = 0; i < batch; i++)
            n += once(pattern);
        if (strcmp(pattern, "bcast") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime() - t;
        go = MPI_Wtime() - began < seconds && batch < 1 << 20;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        batch *= 2;
    }
    return t / n * 1e6;
}

int main(int argc, char **argv)
{
    double figure = 0, before;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    bytes = atoi(argv[2]);
    in = calloc((size_t)bytes * (size_t)size + 1, 1);
    out = calloc((size_t)bytes * (size_t)size + 1, 1);
    if (in == NULL || out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    before = tcp_bytes();
    if (strcmp(argv[1], "init") != 0)
        figure = measure(argv[1], (argc > 3 ? atoi(argv[3]) : 300) / 1e3);
    if (rank == 0)
        printf("%.3f %.3f\n", figure, moved > 0 ? (tcp_bytes() - before) / moved : 0.0);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
