/* deaths.c - what some deaths cost the rest of a full mesh of real processes on loopback.
 *
 *     cc -std=c99 -O2 -I. -o deaths test/bench/deaths.c && ./deaths 60 8
 *     ./deaths 400 1 tcp     by TCP, and not by the short way within a host
 *     ./deaths 400 1 rest    when the mesh is at rest, not as soon as it stands
 *
 * N processes that know one hub link all with all. When no UPDATE has come to any of them for a second, and
 * with `rest` each knows also what the others' neighbourhoods are, the last K are killed (SIGKILL) one right
 * after the other. A survivor is done when it reaches the living alone, links stand to all of them, and no
 * UPDATE has come to it for a second.
 *
 * Prints one line of name=value, tabs between, of all from before the deaths until then, that last second
 * included: entries told per dead and survivor; for each survivor bytes and frames that it sent (its dials of
 * the dead and heartbeats among them), heartbeats, turns of its loop, milliseconds of processor, the mean and
 * the worst, of which dial_ms in the system's call that dials; dials for each; how long it took, in ms, to
 * the last one's last UPDATE. And what the same mesh sent, and cost, in such a time before: idle_... */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "phoenix.c"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 1000
#define LIMIT_US 120000000u
#define QUIET_US 1000000u

/* What a process does in a while. */
struct cost {
    uint64_t entries, bytes, frames, beats, dials, turns, cpu, dial_cpu;
};

/* What all processes share; each writes its own place. */
struct rank {
    volatile int full, ready, done; /* the mesh stands; the count begins; all is quiet again */
    struct cost idle, cost;
    uint64_t quiet_at;
};
static struct plan {
    volatile int listens; /* the hub is there */
    struct phx_address hub;
    struct rank at[MOST];
} *plan;

/* The parent lets go of one after the other, which wakes all at once: nobody needs to look. */
static int armed[2], over[2];

static int tcp, rest;

static uint64_t turns, dial_cpu;
static int (*open_dial)(void *world, const struct phx_address *to, int *handle);

static uint64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static int timed_dial(void *world, const struct phx_address *to, int *handle)
{
    uint64_t before = cpu_us();
    int err = open_dial(world, to, handle);

    dial_cpu += cpu_us() - before;
    return err;
}

static struct cost cost_now(const phx *p)
{
    struct phx_stats s;

    phx_stats(p, &s);
    return (struct cost){ s.entries_out, s.bytes_out, s.frames_out, s.heartbeats_out, s.dials, turns,
                          cpu_us(), dial_cpu };
}

static struct cost cost_since(const phx *p, const struct cost *before)
{
    struct cost c = cost_now(p);

    return (struct cost){ c.entries - before->entries, c.bytes - before->bytes, c.frames - before->frames,
                          c.beats - before->beats, c.dials - before->dials, c.turns - before->turns,
                          c.cpu - before->cpu, c.dial_cpu - before->dial_cpu };
}

/* What a process waits for. */
struct watch {
    enum { STANDS, WAITS, IDLE, DEATHS } phase;
    uint32_t links, most, least; /* now, and with all, and with all but the dead */
    int rest, armed;
    uint64_t updates, since; /* that have come, and when the last one came, or a link came or went */
    struct cost before;
};

/* Does it know of each neighbour that it has the same neighbours? */
static int is_at_rest(const phx *p)
{
    uint32_t i = 0;

    while (i < p->route.nbr_count && p->route.nbrs[i].neighbourhood == p->route.neighbourhood)
        i++;
    return i == p->route.nbr_count;
}

/* Counts what the mesh does from when the parent let go of `armed`, idle for a second; then the deaths. */
static void take_turn(phx *p, struct rank *r, struct watch *w, uint64_t now)
{
    if (p->stats.updates_in != w->updates || p->links.up != w->links)
        w->since = now;
    w->updates = p->stats.updates_in;
    w->links = p->links.up;
    if (w->armed) {
        w->armed = 0;
        w->before = cost_now(p);
        w->phase = IDLE;
        w->since = now;
    } else if (now - w->since <= QUIET_US) {
        return;
    } else if (w->phase == STANDS && w->links == w->most && (!w->rest || is_at_rest(p))) {
        w->phase = WAITS;
        r->full = 1;
    } else if (w->phase == IDLE) {
        r->idle = cost_since(p, &w->before);
        w->before = cost_now(p);
        w->phase = DEATHS;
        w->since = now;
        r->ready = 1;
    } else if (w->phase == DEATHS && w->links == w->least && p->route.reachable == w->least + 1) {
        r->cost = cost_since(p, &w->before);
        r->quiet_at = w->since;
        w->phase = WAITS;
        r->done = 1;
    }
}

static void run(phx *p, struct rank *r, struct watch *w)
{
    struct pollfd fds[3] = { { phx_fd(p), POLLIN, 0 }, { over[0], POLLIN, 0 }, { armed[0], POLLIN, 0 } };
    uint64_t start = phx_now_us(), now = start;

    while (now - start < LIMIT_US && fds[1].revents == 0) {
        int wait = phx_timeout_ms(p, now);

        if (w->phase != WAITS && now - w->since <= QUIET_US)
            wait = (int)PHX__MIN((unsigned)wait, (unsigned)((w->since + QUIET_US - now) / 1000 + 1));
        poll(fds, 3, wait);
        turns++;
        now = phx_now_us();
        phx_step(p, now, NULL, 0);
        w->armed = fds[2].revents != 0;
        if (w->armed)
            fds[2] = (struct pollfd){ -1, 0, 0 };
        take_turn(p, r, w, now);
    }
}

static int child(int rank, int count, int dead)
{
    char text[PHX_ADDRESS_TEXT];
    struct phx_config cfg;
    struct watch w = { .most = (uint32_t)count - 1, .least = (uint32_t)(count - dead) - 1, .rest = rest };
    phx *p = NULL;
    int err;

    close(armed[1]);
    close(over[1]);
    phx_config_init(&cfg);
    cfg.same_host = !tcp;
    err = phx_new(&p, &cfg, phx_now_us());
    if (err == 0)
        err = phx_listen(p, "tcp://127.0.0.1:0");
    if (err == 0 && rank == 0)
        plan->listens = (err = phx_listening(p, 0, &plan->hub)) == 0;
    else if (err == 0)
        err = phx_join(p, phx_address_text(&plan->hub, text));
    if (err != 0) {
        fprintf(stderr, "deaths: process %d: %s\n", rank, phx_strerror(err));
        return 1;
    }
    open_dial = p->os.dial;
    p->os.dial = timed_dial;
    run(p, &plan->at[rank], &w);
    phx_free(p);
    return 0;
}

/* Until `member` is set for ranks 0 to count - 1: 1, or it took too long. */
static int all_have(int count, size_t member)
{
    for (uint64_t start = phx_now_us(); phx_now_us() - start < LIMIT_US; poll(NULL, 0, 5)) {
        int i = 0;

        while (i < count && *(volatile int *)(void *)((char *)&plan->at[i] + member))
            i++;
        if (i == count)
            return 1;
    }
    return 0;
}

static int start(pid_t *pids, int count, int dead)
{
    uint64_t began = phx_now_us();

    for (int i = 0; i < count; i++) {
        if ((pids[i] = fork()) < 0)
            return -1;
        if (pids[i] == 0)
            _exit(child(i, count, dead));
        while (!plan->listens && phx_now_us() - began < LIMIT_US / 10)
            poll(NULL, 0, 1);
        if (!plan->listens)
            return -1;
    }
    return 0;
}

static void add(struct cost *sum, const struct cost *c)
{
    sum->entries += c->entries;
    sum->bytes += c->bytes;
    sum->frames += c->frames;
    sum->beats += c->beats;
    sum->dials += c->dials;
    sum->turns += c->turns;
    sum->cpu += c->cpu;
    sum->dial_cpu += c->dial_cpu;
}

static void print(int living, int dead, uint64_t killed_at)
{
    struct cost all = { 0 }, idle = { 0 };
    uint64_t last = killed_at, worst = 0;
    double each = living;

    for (const struct rank *r = plan->at; r < plan->at + living; r++) {
        add(&all, &r->cost);
        add(&idle, &r->idle);
        worst = PHX__MAX(worst, r->cost.cpu);
        last = PHX__MAX(last, r->quiet_at);
    }
    printf("entries=%.3f\tbytes=%.0f\tframes=%.2f\tbeats=%.2f\tturns=%.1f\tcpu_ms=%.2f\tworst_cpu_ms=%.2f\t",
           (double)all.entries / each / dead, (double)all.bytes / each, (double)all.frames / each,
           (double)all.beats / each, (double)all.turns / each, (double)all.cpu / 1e3 / each,
           (double)worst / 1e3);
    printf("dials=%.3f\tdial_ms=%.2f\tms=%.1f\t", (double)all.dials / each,
           (double)all.dial_cpu / 1e3 / each, (double)(last - killed_at) / 1e3);
    printf("idle_bytes=%.0f\tidle_frames=%.2f\tidle_beats=%.2f\tidle_turns=%.1f\tidle_cpu_ms=%.2f\n",
           (double)idle.bytes / each, (double)idle.frames / each, (double)idle.beats / each,
           (double)idle.turns / each, (double)idle.cpu / 1e3 / each);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0, dead = argc > 2 ? atoi(argv[2]) : 0, good;
    static pid_t pids[MOST];
    uint64_t killed_at;

    for (int i = 3; i < argc; i++) {
        tcp |= strcmp(argv[i], "tcp") == 0;
        rest |= strcmp(argv[i], "rest") == 0;
    }
    if (count < 3 || count > MOST || dead < 1 || dead > count - 2) {
        fprintf(stderr, "usage: deaths N (3..1000) K (1..N-2) [tcp] [rest]\n");
        return 2;
    }
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED || pipe(armed) != 0 || pipe(over) != 0)
        return 1;
    good = start(pids, count, dead) == 0 && all_have(count, offsetof(struct rank, full));
    close(armed[1]);
    good = good && all_have(count, offsetof(struct rank, ready));
    killed_at = phx_now_us();
    for (int i = count - dead; i < count; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
    good = good && all_have(count - dead, offsetof(struct rank, done));
    close(over[1]);
    for (int i = 0; i < count; i++)
        if (pids[i] > 0)
            waitpid(pids[i], NULL, 0);
    if (!good) {
        fprintf(stderr, "deaths: the mesh never stood, or was not quiet again\n");
        return 1;
    }
    print(count - dead, dead, killed_at);
    return 0;
}
