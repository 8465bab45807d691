/* mpi_raw.c - `mpi stream BYTES MS` of mpi.c as bare TCP does it: for the figure of mpi_figures.sh. */

/* Two processes and one connection within the host. Eight messages of BYTES are written, each by a call of
 * its own, and a byte comes back; who receives reads as much as there is. Prints microseconds a message and
 * 1, since all went over TCP. */
#define _DEFAULT_SOURCE 1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 8

static size_t bytes;
static char *data;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *why)
{
    perror(why);
    exit(1);
}

static void put(int fd, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, from, size);

        if (n <= 0)
            die("write");
        from += n;
        size -= (size_t)n;
    }
}

/* 0: the other side has closed. */
static int get(int fd, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, data, size < bytes * WINDOW ? size : bytes * WINDOW);

        if (n < 0)
            die("read");
        if (n == 0)
            return 0;
        size -= (size_t)n;
    }
    return 1;
}

static void receive(int fd)
{
    while (get(fd, bytes * WINDOW))
        put(fd, "", 1);
}

static void window(int fd)
{
    int i;

    for (i = 0; i < WINDOW; i++)
        put(fd, data, bytes);
    if (!get(fd, 1))
        die("the other side has ended");
}

/* Batches that double until the time is over; the last one is the figure. */
static double measure(int fd, double seconds)
{
    double began = now(), t = 0;
    long batch = 1, i, n = 0;

    while (n == 0 || (now() - began < seconds && batch < 1L << 20)) {
        t = now();
        for (i = 0, n = 0; i < batch; i++, n += WINDOW)
            window(fd);
        t = now() - t;
        batch *= 2;
    }
    return t / (double)n * 1e6;
}

static int connection(int listener, const struct sockaddr_in *at)
{
    int on = 1, fd = at == NULL ? accept(listener, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || (at != NULL && connect(fd, (const struct sockaddr *)at, sizeof *at) != 0))
        die("no connection");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
    return fd;
}

int main(int argc, char **argv)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    pid_t child;

    bytes = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    if (argc < 3 || strcmp(argv[1], "stream") != 0 || bytes == 0 || bytes > 1u << 28) {
        fprintf(stderr, "usage: mpi_raw stream BYTES [MS]\n");
        return 2;
    }
    data = calloc(WINDOW, bytes);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (data == NULL || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0
        || getsockname(listener, (struct sockaddr *)&at, &n) != 0)
        die("cannot listen");
    child = fork();
    if (child == 0) {
        receive(connection(listener, &at));
        _exit(0);
    }
    fd = connection(listener, NULL);
    printf("%.3f 1.000\n", measure(fd, (argc > 3 ? atoi(argv[3]) : 300) / 1e3));
    close(fd);
    waitpid(child, NULL, 0);
    free(data);
    return 0;
}
