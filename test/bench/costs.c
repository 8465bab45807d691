/* costs.c - what a node's work costs on this machine: the figures of world_costs_measured (test/sim/world.c).
 *
 *     cc -std=c99 -O2 -I. -o costs test/bench/costs.c && ./costs
 *
 * Prints one line of tab-separated name=ns: step, a wake-up by one byte of another process; call, a read
 * that finds nothing; send, 64 bytes by TCP; dial and accept, of TCP; kilobyte, 1,024 bytes through a socket,
 * one side; handshake, four HMACs; look, one entry of a routing table of 400 neighbours that all must be
 * checked for all. All on loopback. `taskset -c 0` gives the wake-up on a core that is never idle, which is
 * that of a crowded host.
 */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "phoenix.c"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 2000
#define NODES 400

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double used_ns(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9
           + ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

static void pair(int *fd)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
        exit(1);
}

/* Both sleep in poll until the other has written: the processor's time of one such wake-up. */
static double wake_ns(void)
{
    int fd[2], i, side;
    double before = used_ns(RUSAGE_SELF), child;
    char c = 0;
    pid_t pid;

    pair(fd);
    pid = fork();
    side = pid == 0;
    for (i = 0; i < 10 * ROUNDS; i++) {
        struct pollfd p = { fd[side], POLLIN, 0 };
        if (!side && write(fd[0], &c, 1) != 1)
            exit(1);
        if (poll(&p, 1, -1) != 1 || read(fd[side], &c, 1) != 1 || (side && write(fd[1], &c, 1) != 1))
            exit(1);
    }
    if (side)
        exit(0);
    waitpid(pid, NULL, 0);
    child = used_ns(RUSAGE_CHILDREN);
    return (used_ns(RUSAGE_SELF) - before + child) / (20 * ROUNDS);
}

static double call_ns(int fd)
{
    double begun = now_ns();
    char c;
    int i;

    for (i = 0; i < 100 * ROUNDS; i++)
        if (recv(fd, &c, 1, MSG_DONTWAIT) == 1)
            exit(1);
    return (now_ns() - begun) / (100 * ROUNDS);
}

/* With the read at the other end, which is little beside it. */
static double send_ns(int one, int other)
{
    static char bytes[64];
    double begun = now_ns();
    int i;

    for (i = 0; i < 10 * ROUNDS; i++)
        if (send(one, bytes, sizeof bytes, 0) != sizeof bytes || recv(other, bytes, sizeof bytes, 0) <= 0)
            exit(1);
    return (now_ns() - begun) / (10 * ROUNDS);
}

static double kilobyte_ns(int *fd)
{
    static char bytes[65536];
    double begun = now_ns();
    int i;

    for (i = 0; i < ROUNDS; i++)
        if (write(fd[0], bytes, sizeof bytes) != sizeof bytes || read(fd[1], bytes, sizeof bytes) <= 0)
            exit(1);
    return (now_ns() - begun) / ROUNDS / 64 / 2;
}

static void connect_ns(double *dial, double *accepts, double *sends)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof a;
    int from = socket(AF_INET, SOCK_STREAM, 0), i, one, other;
    double begun, between;

    if (bind(from, (struct sockaddr *)&a, sizeof a) != 0 || listen(from, 8) != 0
        || getsockname(from, (struct sockaddr *)&a, &size) != 0)
        exit(1);
    for (i = 0, *dial = *accepts = *sends = 0; i < ROUNDS / 4; i++) {
        begun = now_ns();
        one = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(one, (struct sockaddr *)&a, sizeof a) != 0)
            exit(1);
        between = now_ns();
        if ((other = accept(from, NULL, NULL)) < 0)
            exit(1);
        *dial += between - begun;
        *accepts += now_ns() - between;
        if (i == 0)
            *sends = send_ns(one, other);
        close(one);
        close(other);
    }
    *dial /= ROUNDS / 4;
    *accepts /= ROUNDS / 4;
}

static double handshake_ns(void)
{
    static const uint8_t key[32], text[200];
    struct phx__hmac h;
    uint8_t mac[32];
    double begun = now_ns();
    int i;

    for (i = 0; i < 4 * ROUNDS; i++) {
        phx__sha_hmac_init(&h, key, sizeof key);
        phx__sha_add(&h.inner, text, sizeof text);
        phx__sha_hmac_end(&h, mac);
    }
    return (now_ns() - begun) / ROUNDS;
}

/* ---- A table of which every destination is checked for every neighbour ------------------------------- */

static void no_update(phx *p, uint32_t nbr, const struct phx__entry *e, uint32_t count)
{
    (void)p, (void)nbr, (void)e, (void)count;
}

static size_t much_room(phx *p, uint32_t nbr)
{
    (void)p, (void)nbr;
    return 1 << 20;
}

static void no_beat(phx *p, uint32_t nbr, int flags)
{
    (void)p, (void)nbr, (void)flags;
}

static double look_ns(void)
{
    static struct phx__route r;
    static struct phx__mem mem;
    static struct phx__ids ids;
    static struct phx__timers timers;
    static struct phx__rnd rnd;
    struct phx__route_ops ops = { .update = no_update, .room = much_room, .beat = no_beat };
    struct phx__route_hello hello = { 1, 1, 0, 1, 1, 0 };
    struct phx_id id = { { 0 } };
    uint64_t now = PHX__SECOND, looks;
    uint32_t i, node;
    double begun;

    phx__mem_init(&mem, NULL, 0);
    phx__id_init(&ids, &mem, 65536);
    phx__timer_init(&timers, &mem);
    phx__rnd_seed(&rnd, 1, 2);
    if (phx__id_add(&ids, &id, &node) != 0
        || phx__route_init(&r, &mem, &ids, &timers, &rnd, 16, 1, &ops) != 0)
        exit(1);
    for (i = 1; i < NODES; i++) {
        id.b[0] = (unsigned char)i;
        id.b[1] = (unsigned char)(i >> 8);
        if (phx__id_add(&ids, &id, &node) != 0 || phx__route_up(&r, node, &hello, now) != 0)
            exit(1);
    }
    phx__route_advert_flush(&r, now += PHX__SECOND);
    looks = mem.looks;
    begun = now_ns();
    for (i = 0; i < 10; i++) {
        for (node = 0; node < r.nbr_count; node++)
            r.nbrs[node].dirty = 2;
        r.pace.look = 1;
        phx__route_advert_flush(&r, now += PHX__SECOND);
    }
    return (now_ns() - begun) / (double)(mem.looks - looks);
}

int main(void)
{
    double dial, accepts, sends, call, kilobyte;
    int fd[2];

    pair(fd);
    call = call_ns(fd[0]);
    kilobyte = kilobyte_ns(fd);
    connect_ns(&dial, &accepts, &sends);
    printf("step=%.0f\tcall=%.0f\tsend=%.0f\t", wake_ns(), call, sends);
    printf("dial=%.0f\taccept=%.0f\t", dial, accepts);
    printf("kilobyte=%.0f\thandshake=%.0f\tlook=%.1f\n", kilobyte, handshake_ns(), look_ns());
    return 0;
}
