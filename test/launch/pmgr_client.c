/* pmgr_client.c - a small PMGR program: every operation with every root, all bytes checked. */

/* pmgr_client [bytes] [end]; bytes per rank: 8; end: "close", "exit:N", "abort:CODE" (over a second
 * connection).
 *
 * It reads MPIRUN_RANK, MPIRUN_NPROCS, MPIRUN_ID, MPIRUN_HOST and MPIRUN_PORT, prints "rank R of N: good" and
 * exits with 0; 1: a line says what was wrong. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLOSE = 1, ABORT, BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL };

static int fd, rank, size, bytes;
static unsigned char *out; /* what is to be written: one write for each message */
static size_t out_size, out_capacity;

static void fail(const char *what)
{
    fprintf(stderr, "pmgr_client: rank %d: %s\n", rank, what);
    exit(1);
}

static void write_all(int to, const void *data, size_t length)
{
    const char *at = data;
    ssize_t n;

    while (length > 0) {
        n = write(to, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the launcher takes nothing");
        at += n;
        length -= (size_t)n;
    }
}

static void put(const void *data, size_t length)
{
    if (out_size + length > out_capacity) {
        out_capacity = 2 * (out_size + length);
        out = realloc(out, out_capacity);
        if (out == NULL)
            fail("out of memory");
    }
    memcpy(out + out_size, data, length);
    out_size += length;
}

static void flush_to(int to)
{
    write_all(to, out, out_size);
    out_size = 0;
}

static void read_all(void *data, size_t length)
{
    char *at = data;
    ssize_t n;

    while (length > 0) {
        n = read(fd, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the launcher is gone");
        at += n;
        length -= (size_t)n;
    }
}

static void put_int(int n)
{
    put(&n, sizeof n);
}

static int number_in(const char *name)
{
    const char *text = getenv(name);

    if (text == NULL)
        fail(name);
    return (int)strtol(text, NULL, 10);
}

static int connect_to_launcher(void)
{
    struct sockaddr_in to;
    const char *host = getenv("MPIRUN_HOST");
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_port = htons((unsigned short)number_in("MPIRUN_PORT"));
    if (host == NULL || inet_pton(AF_INET, host, &to.sin_addr) != 1)
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof to) != 0)
        fail("no connection");
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

/* What rank `from` says to rank `to`; -1: to all. */
static unsigned char said(int from, int to, int i)
{
    return (unsigned char)(from * 31 + to * 17 + i * 3);
}

static void put_said(int to)
{
    unsigned char b;
    int i;

    for (i = 0; i < bytes; i++) {
        b = said(rank, to, i);
        put(&b, 1);
    }
}

static void read_said(int from, int to)
{
    unsigned char *all = malloc((size_t)bytes);
    int i;

    if (all == NULL)
        fail("out of memory");
    read_all(all, (size_t)bytes);
    for (i = 0; i < bytes; i++)
        if (all[i] != said(from, to, i))
            fail("a wrong byte");
    free(all);
}

static void barrier(void)
{
    int word;

    put_int(BARRIER);
    flush_to(fd);
    read_all(&word, sizeof word);
    if (word != BARRIER)
        fail("another answer to a barrier");
}

static void rooted(int op, int root)
{
    int i;

    put_int(op);
    put_int(root);
    put_int(bytes);
    if (op == GATHER || (op == BCAST && rank == root))
        put_said(-1);
    for (i = 0; op == SCATTER && rank == root && i < size; i++)
        put_said(i);
    flush_to(fd);
    if (op == BCAST)
        read_said(root, -1);
    if (op == SCATTER)
        read_said(root, rank);
    for (i = 0; op == GATHER && rank == root && i < size; i++)
        read_said(i, -1);
}

static void rootless(int op)
{
    int i;

    put_int(op);
    put_int(bytes);
    for (i = 0; i < (op == ALLTOALL ? size : 1); i++)
        put_said(op == ALLTOALL ? i : -1);
    flush_to(fd);
    for (i = 0; i < size; i++)
        read_said(i, op == ALLTOALL ? rank : -1);
}

static void end_with_abort(int code)
{
    static const char text[] = "told to";
    int s = connect_to_launcher();

    put_int(code);
    put_int(rank);
    put_int((int)sizeof text);
    put(text, sizeof text);
    flush_to(s);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "close";
    int root;

    rank = number_in("MPIRUN_RANK");
    size = number_in("MPIRUN_NPROCS");
    bytes = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8;
    if (number_in("MPIRUN_ID") <= 0)
        fail("MPIRUN_ID");
    fd = connect_to_launcher();
    put_int(8);
    put_int(rank);
    barrier();
    for (root = 0; root < size && root < 8; root++) {
        rooted(GATHER, root);
        rooted(BCAST, root);
        rooted(SCATTER, root);
    }
    rootless(ALLGATHER);
    rootless(ALLTOALL);
    rooted(GATHER, 0);
    if (strncmp(how, "exit:", 5) == 0)
        exit((int)strtol(how + 5, NULL, 10));
    if (strncmp(how, "abort:", 6) == 0)
        end_with_abort((int)strtol(how + 6, NULL, 10));
    put_int(CLOSE);
    flush_to(fd);
    close(fd);
    free(out);
    printf("rank %d of %d: good\n", rank, size);
    return 0;
}
