/* s_mpi.c - MPI (MPICH or Open MPI, whoever's mpicc it was) as a system of the bench. */

/* Variants: shm, tcp; which one is mpiexec's business, jobs.sh says it in the environment. That it was
 * heard is not to be believed: an MPI that does not know a variable takes shared memory and says nothing.
 * So the line ends with `tcp`, the bytes that the kernel counted on all TCP sockets of process 0, for
 * each byte of messages that it sent or got: 1 or more, or next to 0. report.awk looks at it. Only Linux
 * counts so.
 *
 * MPI spins; it knows no sleep, no relay and no board. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <mpi.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h> /* the C library's has an older struct tcp_info */
#endif

#define DESCRIPTORS 1024
enum mpi_tag { TAG_MESSAGE = 0, TAG_END };

#define FLYING 64 /* sends under way; the customary window of MPI bandwidth tests */

const char sys_name[] = "mpi";
const int sys_needs_turns = 0;
const char *const sys_variants = "shm tcp";

static MPI_Request flying[FLYING];
static MPI_Status ended[FLYING]; /* nobody looks; MPI_STATUSES_IGNORE makes gcc warn */
static int flying_count;
static char *buffer;
static double moved; /* bytes of messages */

#ifdef __linux__
static double tcp_bytes(void)
{
    struct tcp_info info;
    double sum = 0;
    int fd;

    for (fd = 0; fd < DESCRIPTORS; fd++) {
        socklen_t n = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0)
            sum += (double)info.tcpi_bytes_acked + (double)info.tcpi_bytes_received;
    }
    return sum;
}

static void mpi_transport(void)
{
    bench_say("tcp", tcp_bytes() / moved);
}
#endif

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
#ifdef __linux__
    bench_also = mpi_transport;
#endif
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The patterns do not change what they send, so the buffer may be lent. */
int sys_send(int to, const void *data, size_t size)
{
    if (flying_count == FLYING) {
        MPI_Waitall(flying_count, flying, ended);
        flying_count = 0;
    }
    moved += (double)size;
    MPI_Isend(data, (int)size, MPI_BYTE, to, TAG_MESSAGE, MPI_COMM_WORLD, &flying[flying_count++]);
    return 0;
}

/* What is under way has been taken by the other side before it says that it is the end. */
static void mpi_end(void)
{
    if (flying_count > 0)
        MPI_Waitall(flying_count, flying, ended);
    MPI_Finalize();
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
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any, &s);
        if (!any)
            return;
        MPI_Get_count(&s, MPI_BYTE, &size);
        MPI_Recv(buffer, size, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (s.MPI_TAG == TAG_END) {
            mpi_end();
            exit(0);
        }
        moved += size;
        bench_got(s.MPI_SOURCE, buffer, (size_t)size);
    }
}

void sys_relay(void)
{
}

/* The other processes wait for messages for ever. MPI_Abort would end them, but with it goes, now and then,
 * the line that process 0 has just printed. */
void sys_close(void)
{
    int i;

    for (i = 1; i < bench.count; i++)
        MPI_Send(buffer, 0, MPI_BYTE, i, TAG_END, MPI_COMM_WORLD);
    mpi_end();
}
