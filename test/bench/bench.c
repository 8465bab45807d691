/* bench.c - starts the processes of one run of one pattern over one system, and ends them. */

/*     build/bench/raw latency variant=tcp wait=sleep size=8
 *
 * prints one line, `name=value` separated by tabs. Process 0 measures and prints; when it has ended, the
 * others are ended by their pids. Every process has an alarm: whatever hangs is over after BENCH_LIMIT
 * seconds, and the line is missing. */
#ifdef __linux__
#define _GNU_SOURCE 1 /* sched_setaffinity */
#endif
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#ifdef __linux__
#include <sched.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BENCH_LIMIT 60u
#define BENCH_PROCESSES 1024
/* BENCH_LINGER: so long a process looks before it sleeps. A round trip on loopback is 10 us awake and 60 us
 * asleep; longer than that, and the other side must be busy with something else. */
#define BENCH_LINGER_US 50

struct board {
    volatile uint64_t slot[BENCH_PROCESSES]; /* value + 1; 0: not yet */
    volatile int here;
};

struct bench bench;
void (*bench_also)(void);
static struct board *board;
static const struct bench_pattern *pattern;
static char run_path[64];
static int pinned; /* process i stays on core i % 2 */
static uint64_t heard; /* messages, to see whether a turn brought one */

static const struct bench_pattern *const patterns[] = { &p_latency, &p_stream, &p_many, &p_idle,
                                                        &p_alltoall, NULL };

uint64_t bench_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_us(void)
{
    return bench_ns() / 1000;
}

void bench_die(const char *what)
{
    fprintf(stderr, "bench: %s %s, process %d: %s\n", sys_name, bench.variant, bench.me, what);
    exit(1);
}

void bench_put(int slot, uint64_t value)
{
    board->slot[slot] = value + 1;
    __sync_synchronize();
}

int bench_has(int slot)
{
    return board->slot[slot] != 0;
}

uint64_t bench_get(int slot)
{
    while (board->slot[slot] == 0)
        usleep(100); /* the alarm bounds it */
    return board->slot[slot] - 1;
}

void bench_meet(void)
{
    __sync_fetch_and_add(&board->here, 1);
    /* A relay is not waited for: the links of the others come about through it. */
    while (board->here < (bench.shape == BENCH_RELAY ? 2 : bench.count)) {
        if (sys_needs_turns)
            sys_turn(0);
        usleep(100);
    }
}

const char *bench_path(int of)
{
    static char path[96];

    snprintf(path, sizeof path, "%s.%d", run_path, of);
    return path;
}

void bench_turn(void)
{
    uint64_t before = heard, until;

    if (bench.wait != BENCH_LINGER) {
        sys_turn(bench.wait == BENCH_SLEEP);
        return;
    }
    sys_turn(0);
    for (until = bench_us() + BENCH_LINGER_US; heard == before && bench_us() < until;)
        sys_turn(0);
    if (heard == before)
        sys_turn(1);
}

void bench_send(int to, const void *data, size_t size)
{
    while (sys_send(to, data, size) != 0)
        bench_turn();
}

void bench_got(int from, const void *data, size_t size)
{
    heard++;
    pattern->got(from, data, size);
}

void bench_say(const char *name, double value)
{
    printf("%s=%.4g\t", name, value);
}

static void usage(void)
{
    int i;

    fprintf(stderr, "usage: %s PATTERN [variant=..] [wait=spin|sleep|linger] [size=8] [ms=300]\n"
                    "    [most=..] [count=processes] [relay=1] [busy=1] [pin=1]\npatterns:", sys_name);
    for (i = 0; patterns[i] != NULL; i++)
        fprintf(stderr, " %s", patterns[i]->name);
    fprintf(stderr, "\nvariants: %s\n", sys_variants);
    exit(2);
}

static int option(const char *text, const char *name, const char **value)
{
    size_t n = strlen(name);

    if (strncmp(text, name, n) != 0 || text[n] != '=')
        return 0;
    *value = text + n + 1;
    return 1;
}

static void read_options(int argc, char **argv, int *busy)
{
    const char *v;
    int i;

    for (i = 2; i < argc; i++) {
        if (option(argv[i], "variant", &v))
            bench.variant = v;
        else if (option(argv[i], "wait", &v))
            bench.wait = *v == 'l' ? BENCH_LINGER : v[1] == 'p' ? BENCH_SPIN : BENCH_SLEEP;
        else if (option(argv[i], "size", &v))
            bench.size = (size_t)strtoul(v, NULL, 10);
        else if (option(argv[i], "ms", &v))
            bench.us = strtoul(v, NULL, 10) * 1000u;
        else if (option(argv[i], "most", &v))
            bench.most = strtoul(v, NULL, 10);
        else if (option(argv[i], "count", &v))
            bench.count = (int)strtol(v, NULL, 10);
        else if (option(argv[i], "busy", &v))
            *busy = (int)strtol(v, NULL, 10);
        else if (option(argv[i], "pin", &v))
            pinned = (int)strtol(v, NULL, 10);
        else if (option(argv[i], "relay", &v)) {
            bench.shape = BENCH_RELAY;
            bench.count = 3;
        } else
            usage();
    }
    if (bench.count < 2 || bench.count > BENCH_PROCESSES || bench.size == 0)
        usage();
}

/* Where the scheduler puts two processes makes a round trip 10 us or 60 us. Two builds of one program are
 * compared without that luck. Where this is not possible it is left to the scheduler. */
static void pin(int core)
{
#ifdef __linux__
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)core, &set);
    sched_setaffinity(0, sizeof set, &set);
#else
    (void)core;
#endif
}

static void run_one(int me)
{
    alarm(BENCH_LIMIT);
    if (pinned)
        pin(me % 2);
    bench.me = me;
    sys_open();
    if (bench.shape == BENCH_RELAY && me == 1)
        sys_relay();
    pattern->run();
    if (me == 0) {
        if (bench_also != NULL)
            bench_also();
        printf("\n");
        fflush(stdout);
    }
    sys_close();
}

/* Somebody who computes on all day. */
static pid_t start_busy(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    alarm(BENCH_LIMIT);
    for (;;)
        __sync_synchronize();
}

static int run_all(int busy)
{
    pid_t pids[BENCH_PROCESSES + 1] = { 0 };
    int i, started = 0, status = 1;

    for (i = 0; i < bench.count; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            run_one(i);
            exit(0);
        }
        if (pids[i] < 0)
            break;
        started++;
    }
    if (busy && started == bench.count && (pids[started] = start_busy()) > 0)
        started++;
    if (started >= bench.count) {
        waitpid(pids[0], &status, 0);
        pids[0] = 0;
    }
    for (i = started >= bench.count; i < started; i++)
        kill(pids[i], SIGKILL);
    for (i = 0; i < started; i++)
        if (pids[i] > 0)
            waitpid(pids[i], NULL, 0);
    for (i = 0; i < bench.count; i++)
        unlink(bench_path(i));
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int busy = 0, i, launched = sys_launched(&argc, &argv);

    for (i = 0; argc > 1 && patterns[i] != NULL; i++)
        if (strcmp(patterns[i]->name, argv[1]) == 0)
            pattern = patterns[i];
    bench.variant = "tcp";
    if (pattern == NULL)
        usage();
    bench.shape = pattern->shape;
    bench.count = launched ? bench.count : pattern->count;
    bench.wait = BENCH_SLEEP;
    bench.size = 8;
    bench.us = 300000;
    bench.most = 10000000;
    read_options(argc, argv, &busy);
    if (launched) {
        run_one(bench.me);
        return 0;
    }
    snprintf(run_path, sizeof run_path, "/tmp/phx-bench.%ld", (long)getpid());
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 1;
    alarm(BENCH_LIMIT + 5);
    return run_all(busy);
}
