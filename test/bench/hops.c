/* hops.c - what a chain of processes costs: latency, bandwidth and the relays' processor time, by hops. */

/* cc -std=c99 -O2 -I. -o hops test/bench/hops.c phoenix.c; usage: hops HOPS SIZE MS
 *
 * HOPS + 1 processes; each has a loopback TCP connection with the next, made before anybody starts, and
 * adopts its ends as links. Nobody listens, so nobody can link past a neighbour, and the only way from the
 * first to the last is through all. One hop is two processes without a relay. Measured for MS each: a
 * message to the last and back, and messages to the last as fast as it goes. All hosts sleep in poll on
 * phx_fd. Processor time is that of the relays alone, user and system, read from outside by their pids,
 * per relay; on loopback the sender's includes what the network does at the receiver.
 *
 * Prints one line of tab-separated name=value. */
#define _GNU_SOURCE 1
#include "phoenix.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOPS_MOST 15u
#define LIMIT_SECONDS 60u
#define ROUNDS_MOST 200000u
#define WARM 50u

enum hops_tag { TAG_ECHO = 1, TAG_ONE_WAY, TAG_LAST };

struct board {
    volatile pid_t pids[HOPS_MOST + 1];
};

struct host {
    phx *p;
    unsigned me, hops;
    struct board *board;
    uint64_t answers;
};

static void die(const char *what)
{
    fprintf(stderr, "hops: %s\n", what);
    exit(1);
}

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "hops: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

/* ---- One process -------------------------------------------------------------------------------- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct host *h = user;

    if (h->me == 0) {
        h->answers++;
        return;
    }
    /* One that asks for an answer comes alone, so there is room for it. */
    if (m->tag == TAG_ECHO)
        must(phx_send(p, 1, m->to, 0, m->data, m->size), "echo");
    else if (m->tag == TAG_LAST)
        must(phx_send(p, 1, m->to, 0, "", 1), "answer");
}

static void turn(struct host *h)
{
    struct pollfd fd = { phx_fd(h->p), POLLIN, 0 };

    poll(&fd, 1, phx_timeout_ms(h->p, phx_now_us()));
    phx_step(h->p, phx_now_us(), NULL, 0);
}

static void push(struct host *h, uint64_t tag, const void *data, size_t size)
{
    int err;

    while ((err = phx_send(h->p, h->hops + 1, 1, tag, data, size)) == PHX_EAGAIN)
        turn(h);
    must(err, "send");
}

static void wait_for(struct host *h, uint64_t answers)
{
    while (h->answers < answers)
        turn(h);
}

/* Microseconds of processor time that all relays have used. */
static double relays_cpu(const struct host *h)
{
    struct timespec t;
    clockid_t clock;
    double sum = 0;
    unsigned i;

    for (i = 1; i < h->hops; i++) {
        if (clock_getcpuclockid(h->board->pids[i], &clock) != 0 || clock_gettime(clock, &t) != 0)
            die("cannot read a relay's clock");
        sum += (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
    }
    return sum;
}

static double per_relay(const struct host *h, double before, double messages)
{
    return h->hops < 2 ? 0 : (relays_cpu(h) - before) / (h->hops - 1) / messages;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void latency(struct host *h, const char *data, size_t size, uint64_t us)
{
    double *took = malloc(ROUNDS_MOST * sizeof *took), cpu = 0;
    uint64_t n, begun = 0, sent;

    if (took == NULL)
        die("no memory");
    for (n = 0; n < WARM + 3 || (n < ROUNDS_MOST && phx_now_us() - begun < us); n++) {
        if (n == WARM) {
            begun = phx_now_us();
            cpu = relays_cpu(h);
        }
        sent = phx_now_us();
        push(h, TAG_ECHO, data, size);
        wait_for(h, h->answers + 1);
        took[n < WARM ? 0 : n - WARM] = (double)(phx_now_us() - sent) / 2;
    }
    n -= WARM;
    qsort(took, n, sizeof *took, by_value);
    printf("us=%.1f\trelay_us/message=%.2f\t", took[n / 2], per_relay(h, cpu, 2.0 * (double)n));
    free(took);
}

static void stream(struct host *h, const char *data, size_t size, uint64_t us)
{
    uint64_t n = 0, begun = phx_now_us(), each = size < 1024 ? 256 : 1, answers = h->answers;
    double cpu = relays_cpu(h), took;

    while (n < 2 || n % each != 0 || phx_now_us() - begun < us) {
        push(h, TAG_ONE_WAY, data, size);
        n++;
    }
    push(h, TAG_LAST, data, 1);
    wait_for(h, answers + 1);
    took = (double)(phx_now_us() - begun);
    printf("kmsgs/s=%.3f\tGB/s=%.4f\tstream_relay_us/message=%.3f\n", (double)n * 1e3 / took,
           (double)n * (double)size / 1e3 / took, per_relay(h, cpu, (double)n));
}

static void run(struct host *h, const int before, const int after, size_t size, uint64_t us)
{
    struct phx_config cfg;
    struct phx_id id;
    char *data = calloc(1, size);

    alarm(LIMIT_SECONDS);
    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.user = h;
    cfg.max_message = 64u << 20;
    must(phx_new(&h->p, &cfg, phx_now_us()), "phx_new");
    must(phx_assume(h->p, h->me + 1, h->me + 1), "phx_assume");
    if (before >= 0)
        must(phx_adopt(h->p, before, 0), "phx_adopt");
    if (after >= 0)
        must(phx_adopt(h->p, after, 1), "phx_adopt");
    if (data == NULL)
        die("no memory");
    while (h->me == 0 && phx_owner(h->p, h->hops + 1, &id) != 0)
        turn(h);
    if (h->me == 0) {
        printf("hops=%u\tsize=%lu\t", h->hops, (unsigned long)size);
        latency(h, data, size, us);
        stream(h, data, size, us);
        fflush(stdout);
    }
    for (; h->me != 0;)
        turn(h);
    free(data);
    phx_free(h->p);
}

/* ---- All of them -------------------------------------------------------------------------------- */

static void tcp_pair(int pair[2])
{
    struct sockaddr_in in;
    socklen_t n = sizeof in;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    memset(&in, 0, sizeof in);
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&in, sizeof in) != 0 || listen(listener, 1) != 0
        || getsockname(listener, (struct sockaddr *)&in, &n) != 0
        || connect(pair[0], (struct sockaddr *)&in, sizeof in) != 0
        || (pair[1] = accept(listener, NULL, NULL)) < 0)
        die("cannot make a connection");
    close(listener);
}

/* Process `me` keeps its end of the connection before it and of the one after it. */
static pid_t fork_one(struct board *board, int pairs[][2], unsigned hops, unsigned me, size_t size,
                      uint64_t us)
{
    struct host h;
    unsigned i;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (i = 0; i < hops; i++) {
        if (i != me)
            close(pairs[i][0]);
        if (i + 1 != me)
            close(pairs[i][1]);
    }
    memset(&h, 0, sizeof h);
    h.me = me;
    h.hops = hops;
    h.board = board;
    run(&h, me > 0 ? pairs[me - 1][1] : -1, me < hops ? pairs[me][0] : -1, size, us);
    exit(0);
}

int main(int argc, char **argv)
{
    unsigned hops = argc == 4 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, i;
    size_t size = argc == 4 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    uint64_t us = argc == 4 ? strtoul(argv[3], NULL, 10) * 1000 : 0;
    int pairs[HOPS_MOST][2], status = 1;
    struct board *board;

    if (hops < 1 || hops > HOPS_MOST || size < 1 || size > 64u << 20 || us < 1 || us > 20000000) {
        fprintf(stderr, "usage: hops HOPS SIZE MS (1..%u, 1..64 Mi, 1..20000)\n", HOPS_MOST);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        die("no memory");
    for (i = 0; i < hops; i++)
        tcp_pair(pairs[i]);
    /* The first comes last: it reads the others' pids. */
    for (i = hops + 1; i-- > 0;)
        if ((board->pids[i] = fork_one(board, pairs, hops, i, size, us)) < 0)
            break;
    if (i == (unsigned)-1)
        waitpid(board->pids[0], &status, 0);
    for (i = hops; i > 0; i--)
        if (board->pids[i] > 0) {
            kill(board->pids[i], SIGKILL);
            waitpid(board->pids[i], NULL, 0);
        }
    return status == 0 ? 0 : 1;
}
