/* detect.c - N idle processes of Phoenix or of serf: what they say, and when all have seen a death.
 *
 *     cc -std=c99 -O2 -I. -o detect test/bench/detect.c phoenix.c
 *     ./detect phx 50 2,1000,40000,1000,1000      (k, and the four times of the detector in ms)
 *     ./detect serf 50 lan                        (a profile of serf: local, lan or wan)
 *
 * Both systems are watched from outside by the same code: an agent is a process whose standard
 * output says "EventMemberJoin: nK" and "EventMemberFailed: nK", as serf's log does, and each line
 * gets its time when it is read here. One line with tabs is printed:
 *
 *     system, setting, N, s until all know all; then for the idle time, per agent and second:
 *     packets and bytes on the loopback interface, CPU ms; heartbeats received per agent and
 *     T_interval (Phoenix only); then seconds from a death until each of the others has seen it,
 *     median and maximum, of kill -9 and of SIGSTOP; and the load of the machine.
 *
 * Packets are those of the whole interface: run it in a network namespace of its own (serf.sh
 * does). A TCP acknowledgement is a packet, too, which only Phoenix pays. CPU is the processes' own
 * clock. -w SECONDS is the idle time (20), -r ROUNDS how many are killed and how many are stopped
 * (3). Every wait is bounded; only children of this process are killed, by their pids.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGENTS_MAX 200
#define SECOND 1000000u
#define JOIN_US (100u * SECOND) /* serf's local profile took 40 s for 50 agents */
#define SEEN_US (45u * SECOND)  /* three times what the paper's preset may take */
#define PORT 17000              /* serf's first; Phoenix takes free ones */

struct agent {
    pid_t pid;   /* 0: not there, or ended by us */
    int in, out; /* its standard input and output */
    char text[4096];
    size_t size;
    char joined[AGENTS_MAX];
    int known;        /* others that it has seen join */
    uint64_t seen_us; /* when it saw the victim fail; 0: not yet */
    uint64_t heartbeats;
    int answered;
};

struct bench {
    struct agent agents[AGENTS_MAX];
    int count, victim, false_alarms;
    int window_s, rounds;
    const char *system, *setting;
    struct phx_detector detector;
    double killed_s[AGENTS_MAX * 20], stopped_s[AGENTS_MAX * 20];
    int killed_count, stopped_count;
};

/* ---- An agent of Phoenix --------------------------------------------------------------------- */

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    char line[64];
    const char *what = node->state == PHX_NODE_OK       ? "Join"
                       : node->state == PHX_NODE_FAILED ? "Failed"
                                                        : NULL;
    int size;

    (void)p;
    if (what == NULL)
        return;
    size = snprintf(line, sizeof line, "EventMember%s: n%d\n", what,
                    node->id.b[1] * 256 + node->id.b[0]);
    if (write(1, line, (size_t)size) < 0)
        *(int *)user = 1; /* the bench is dead */
}

/* Answers each byte with the heartbeats so far; ends at the end of the file. */
static int answer(phx *p)
{
    struct phx_stats stats;
    char line[64], byte;
    int size;

    if (read(0, &byte, 1) != 1)
        return 0;
    phx_stats(p, &stats);
    size = snprintf(line, sizeof line, "heartbeats %" PRIu64 "\n", stats.heartbeats_in);
    return write(1, line, (size_t)size) > 0;
}

static int phx_agent(int index, const struct phx_detector *detector, int port)
{
    struct pollfd fds[2];
    struct phx_config cfg;
    struct phx_id id;
    char address[64];
    int quit = 0, err;
    phx *p;

    memset(&id, 0, sizeof id);
    id.b[0] = (unsigned char)(index % 256);
    id.b[1] = (unsigned char)(index / 256);
    id.b[15] = 1;
    phx_config_init(&cfg);
    cfg.same_host = 0; /* the packets are counted at the interface */
    cfg.id = &id;
    cfg.detector = *detector;
    cfg.on_node = on_node;
    cfg.user = &quit;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", index == 0 ? port : 0);
    if ((err = phx_new(&p, &cfg, phx_now_us())) != 0 || (err = phx_listen(p, address)) != 0
        || (err = phx_assume(p, (uint64_t)index, (uint64_t)index)) != 0)
        quit = 1;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", port);
    if (!quit && index > 0)
        err = phx_join(p, address);
    if (err != 0)
        fprintf(stderr, "detect: agent %d: %s\n", index, phx_strerror(err));
    fds[0].fd = quit ? -1 : phx_fd(p);
    fds[1].fd = 0;
    fds[0].events = fds[1].events = POLLIN;
    while (!quit && err == 0) {
        fds[1].revents = 0;
        poll(fds, 2, phx_timeout_ms(p, phx_now_us()));
        phx_step(p, phx_now_us(), NULL, 0);
        if (fds[1].revents != 0)
            quit |= !answer(p);
    }
    phx_free(p);
    return err != 0;
}

/* ---- Agents, seen from outside --------------------------------------------------------------- */

static void serf_agent(int index, const char *profile)
{
    char bind[64], rpc[64], node[32], prof[32], join[64];
    char *args[] = { "serf", "agent", bind, rpc, node, prof, "-retry-interval=1s", join, NULL };

    snprintf(bind, sizeof bind, "-bind=127.0.0.1:%d", PORT + index);
    snprintf(rpc, sizeof rpc, "-rpc-addr=127.0.0.1:%d", PORT + AGENTS_MAX + index);
    snprintf(node, sizeof node, "-node=n%d", index);
    snprintf(prof, sizeof prof, "-profile=%s", profile);
    snprintf(join, sizeof join, "-retry-join=127.0.0.1:%d", PORT);
    if (index == 0)
        args[7] = NULL;
    execvp("serf", args);
    perror("detect: serf");
    _exit(127);
}

static int agent_start(struct bench *b, int index)
{
    struct agent *a = &b->agents[index];
    int down[2], up[2], i;

    if (pipe(down) != 0 || pipe(up) != 0 || (a->pid = fork()) < 0)
        return -1;
    if (a->pid > 0) {
        close(down[0]);
        close(up[1]);
        a->in = down[1];
        a->out = up[0];
        return 0;
    }
    for (i = 0; i < index; i++) {
        close(b->agents[i].in);
        close(b->agents[i].out);
    }
    dup2(down[0], 0);
    dup2(up[1], 1);
    for (i = 0; i < 2; i++) {
        close(down[i]);
        close(up[i]);
    }
    if (strcmp(b->system, "serf") == 0)
        serf_agent(index, b->setting);
    _exit(phx_agent(index, &b->detector, PORT));
}

static void agent_end(struct agent *a, int signal_number)
{
    if (a->pid <= 0)
        return;
    kill(a->pid, signal_number);
    waitpid(a->pid, NULL, 0);
    close(a->in);
    close(a->out);
    a->pid = 0;
}

static void agent_said(struct bench *b, struct agent *a, const char *line)
{
    const char *at;
    uint64_t heartbeats;
    int n;

    if ((at = strstr(line, "EventMemberJoin: n")) != NULL) {
        n = atoi(at + strlen("EventMemberJoin: n"));
        if (n >= 0 && n < b->count && n != (int)(a - b->agents) && !a->joined[n]) {
            a->joined[n] = 1;
            a->known++;
        }
    } else if ((at = strstr(line, "EventMemberFailed: n")) != NULL) {
        n = atoi(at + strlen("EventMemberFailed: n"));
        if (n == b->victim && a->seen_us == 0)
            a->seen_us = phx_now_us();
        else if (n >= 0 && n < b->count && b->agents[n].pid > 0)
            b->false_alarms++;
    } else if (sscanf(line, "heartbeats %" SCNu64, &heartbeats) == 1) {
        a->heartbeats = heartbeats;
        a->answered = 1;
    }
}

static void agent_read(struct bench *b, struct agent *a)
{
    ssize_t got = read(a->out, a->text + a->size, sizeof a->text - a->size);
    char *line = a->text, *end;

    if (got <= 0)
        return;
    a->size += (size_t)got;
    while ((end = memchr(line, '\n', a->size - (size_t)(line - a->text))) != NULL) {
        *end = 0;
        agent_said(b, a, line);
        line = end + 1;
    }
    a->size -= (size_t)(line - a->text);
    if (a->size == sizeof a->text) /* no line that we want is that long */
        a->size = 0;
    memmove(a->text, line, a->size);
}

/* Reads what all say for a while, until done says that it is enough. Returns done's answer. */
static int listen_until(struct bench *b, int (*done)(const struct bench *b), uint64_t us)
{
    uint64_t start = phx_now_us();
    struct pollfd fds[AGENTS_MAX];
    int i;

    while ((done == NULL || !done(b)) && phx_now_us() - start < us) {
        for (i = 0; i < b->count; i++) {
            fds[i].fd = b->agents[i].pid > 0 ? b->agents[i].out : -1;
            fds[i].events = POLLIN;
            fds[i].revents = 0;
        }
        poll(fds, (nfds_t)b->count, 50);
        for (i = 0; i < b->count; i++)
            if (fds[i].revents & POLLIN)
                agent_read(b, &b->agents[i]);
    }
    return done == NULL || done(b);
}

static int all_joined(const struct bench *b)
{
    int i;

    for (i = 0; i < b->count; i++)
        if (b->agents[i].known < b->count - 1)
            return 0;
    return 1;
}

static int all_seen(const struct bench *b)
{
    int i;

    for (i = 0; i < b->count; i++)
        if (i != b->victim && b->agents[i].pid > 0 && b->agents[i].seen_us == 0)
            return 0;
    return 1;
}

static int all_answered(const struct bench *b)
{
    int i;

    for (i = 0; i < b->count; i++)
        if (!b->agents[i].answered)
            return 0;
    return 1;
}

/* ---- Measures -------------------------------------------------------------------------------- */

struct sample {
    uint64_t packets, bytes, heartbeats, us;
    double cpu_ms;
};

static void read_loopback(uint64_t *packets, uint64_t *bytes)
{
    FILE *f = fopen("/proc/net/dev", "r");
    char line[400];

    *packets = *bytes = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, " lo: %" SCNu64 " %" SCNu64, bytes, packets) == 2)
            break;
    if (f != NULL)
        fclose(f);
}

/* All clocks together; children that run on are read by their clock ids. */
static double cpu_ms(const struct bench *b)
{
    struct timespec t;
    clockid_t clock;
    double sum = 0;
    int i;

    for (i = 0; i < b->count; i++)
        if (clock_getcpuclockid(b->agents[i].pid, &clock) == 0 && clock_gettime(clock, &t) == 0)
            sum += (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
    return sum;
}

static void take_sample(struct bench *b, struct sample *s)
{
    int i;

    memset(s, 0, sizeof *s);
    if (strcmp(b->system, "phx") == 0) {
        for (i = 0; i < b->count; i++) {
            b->agents[i].answered = 0;
            if (write(b->agents[i].in, "?", 1) != 1)
                fprintf(stderr, "detect: agent %d does not listen\n", i);
        }
        if (!listen_until(b, all_answered, 10 * SECOND))
            fprintf(stderr, "detect: not all agents answer\n");
        for (i = 0; i < b->count; i++)
            s->heartbeats += b->agents[i].heartbeats;
    }
    s->us = phx_now_us();
    s->cpu_ms = cpu_ms(b);
    read_loopback(&s->packets, &s->bytes);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* One death: how many saw it in time, their seconds behind out[*count]. */
static int one_death(struct bench *b, int victim, int signal_number, double *out, int *count)
{
    uint64_t start;
    int i, seen;

    for (i = 0; i < b->count; i++)
        b->agents[i].seen_us = 0;
    b->victim = victim;
    start = phx_now_us();
    kill(b->agents[victim].pid, signal_number);
    if (signal_number == SIGKILL)
        agent_end(&b->agents[victim], SIGKILL);
    seen = listen_until(b, all_seen, SEEN_US);
    for (i = 0; i < b->count; i++)
        if (b->agents[i].seen_us != 0 && i != victim)
            out[(*count)++] = (double)(b->agents[i].seen_us - start) / 1e6;
    agent_end(&b->agents[victim], SIGKILL); /* one that was stopped */
    if (!seen)
        fprintf(stderr, "detect: %s: a death was not seen by all\n", b->system);
    return seen;
}

static void print_times(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, by_size);
    printf("\t%.2f\t%.2f", count > 0 ? times[count / 2] : -1, count > 0 ? times[count - 1] : -1);
}

static int run(struct bench *b)
{
    struct sample before, after;
    uint64_t start = phx_now_us(), joined;
    double agents_s, load = -1;
    int i, good = 1;
    FILE *f;

    for (i = 0; i < b->count && good; i++)
        good = agent_start(b, i) == 0;
    if (!good || !listen_until(b, all_joined, JOIN_US)) {
        fprintf(stderr, "detect: %s: not all agents know all\n", b->system);
        return 0;
    }
    joined = phx_now_us() - start;
    listen_until(b, NULL, 3 * SECOND); /* what is said at the beginning is not idle talk */
    take_sample(b, &before);
    listen_until(b, NULL, (uint64_t)b->window_s * SECOND);
    take_sample(b, &after);
    for (i = 0; i < b->rounds; i++) {
        good &= one_death(b, b->count - 1 - 2 * i, SIGKILL, b->killed_s, &b->killed_count);
        good &= one_death(b, b->count - 2 - 2 * i, SIGSTOP, b->stopped_s, &b->stopped_count);
    }
    agents_s = b->count * (double)(after.us - before.us) / 1e6;
    printf("detect\t%s\t%s\t%d\t%.2f\t%.2f\t%.0f\t%.3f", b->system, b->setting, b->count,
           (double)joined / 1e6, (double)(after.packets - before.packets) / agents_s,
           (double)(after.bytes - before.bytes) / agents_s,
           (after.cpu_ms - before.cpu_ms) / agents_s);
    printf("\t%.2f", (double)(after.heartbeats - before.heartbeats) / agents_s
                         * ((double)b->detector.interval_us / 1e6));
    print_times(b->killed_s, b->killed_count);
    print_times(b->stopped_s, b->stopped_count);
    if ((f = fopen("/proc/loadavg", "r")) != NULL) {
        if (fscanf(f, "%lf", &load) != 1)
            load = -1;
        fclose(f);
    }
    printf("\t%d false\tload %.1f\n", b->false_alarms, load);
    return good;
}

static int read_setting(struct bench *b)
{
    struct phx_detector *d = &b->detector;

    if (strcmp(b->system, "serf") == 0)
        return strcmp(b->setting, "local") == 0 || strcmp(b->setting, "lan") == 0
               || strcmp(b->setting, "wan") == 0;
    if (strcmp(b->system, "phx") != 0
        || sscanf(b->setting, "%" SCNu32 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64,
                  &d->monitors, &d->interval_us, &d->insurance_us, &d->timeout_us, &d->broken_us)
               != 5)
        return 0;
    d->interval_us *= 1000;
    d->insurance_us *= 1000;
    d->timeout_us *= 1000;
    d->broken_us *= 1000;
    return 1;
}

int main(int argc, char **argv)
{
    static struct bench b; /* zero */
    int i, c, good;

    b.window_s = 20;
    b.rounds = 3;
    b.victim = -1;
    while ((c = getopt(argc, argv, "w:r:")) != -1) {
        if (c == 'w')
            b.window_s = atoi(optarg);
        else if (c == 'r')
            b.rounds = atoi(optarg);
        else
            optind = argc;
    }
    if (argc - optind == 3) {
        b.system = argv[optind];
        b.count = atoi(argv[optind + 1]);
        b.setting = argv[optind + 2];
    }
    if (b.system == NULL || !read_setting(&b) || b.count < 3 || b.count > AGENTS_MAX
        || b.window_s < 1 || b.window_s > 120 || b.rounds < 0 || b.rounds > 20
        || 2 * b.rounds + 1 >= b.count) {
        fprintf(
            stderr,
            "usage: detect [-w SECONDS] [-r ROUNDS] phx COUNT K,INTERVAL,INSURANCE,TIMEOUT,BROKEN\n"
            "       detect [-w SECONDS] [-r ROUNDS] serf COUNT local|lan|wan\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    good = run(&b);
    for (i = 0; i < b.count; i++)
        agent_end(&b.agents[i], SIGKILL);
    return good ? 0 : 1;
}
