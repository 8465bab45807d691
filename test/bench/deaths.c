/* deaths.c - what some deaths cost the rest of a full mesh of real processes on loopback.
 *
 *     cc -std=c99 -O2 -I. -o deaths test/bench/deaths.c && ./deaths 60 8
 *     ./deaths 400 1 tcp     by TCP, and not by the short way within a host
 *
 * N processes that know one hub link all with all. When no UPDATE has come to any of them for a second, the
 * last K are killed (SIGKILL) one right after the other. A survivor is done when it reaches the living alone,
 * links stand to all of them, and no UPDATE has come to it for a second.
 *
 * Prints one line of name=value, tabs between, of all from before the deaths until then, that last second
 * included: entries told per dead and survivor; for each survivor bytes and frames that it sent (its dials of
 * the dead and heartbeats among them) and milliseconds of processor, the mean and the worst; dials for each;
 * and how long it took, in ms, to the last one's last UPDATE. */
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

/* What all processes share; each writes its own place. */
struct rank {
    volatile int full, ready, done; /* the mesh stands; the count begins; all is quiet again */
    uint64_t entries, bytes, frames, dials, cpu, quiet_at;
};
static struct plan {
    volatile int listens, armed, over; /* listens: hub is there */
    struct phx_address hub;
    struct rank at[MOST];
} *plan;

static uint64_t cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u
           + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void note_done(struct rank *r, const struct phx_stats *before, const struct phx_stats *s, uint64_t cpu,
                      uint64_t quiet_at)
{
    r->entries = s->entries_out - before->entries_out;
    r->bytes = s->bytes_out - before->bytes_out;
    r->frames = s->frames_out - before->frames_out;
    r->dials = s->dials - before->dials;
    r->cpu = cpu_us() - cpu;
    r->quiet_at = quiet_at;
    r->done = 1;
}

static void run(phx *p, struct rank *r, uint32_t count, uint32_t dead)
{
    struct pollfd fd = { phx_fd(p), POLLIN, 0 };
    uint64_t start = phx_now_us(), now = start, updates = 0, since = start, cpu = 0;
    struct phx_stats s, before;

    memset(&before, 0, sizeof before);
    while (now - start < LIMIT_US && !plan->over) {
        int wait = phx_timeout_ms(p, now);

        poll(&fd, 1, wait < 0 || wait > 20 ? 20 : wait); /* it looks at `plan`, too */
        now = phx_now_us();
        phx_step(p, now, NULL, 0);
        phx_stats(p, &s);
        if (s.updates_in != updates)
            since = now;
        updates = s.updates_in;
        if (s.links == count - 1 && now - since > QUIET_US)
            r->full = 1;
        if (plan->armed && !r->ready) {
            before = s;
            cpu = cpu_us();
            since = now;
            r->ready = 1;
        }
        if (r->ready && !r->done && s.links == count - dead - 1 && s.reachable == count - dead
            && now - since > QUIET_US)
            note_done(r, &before, &s, cpu, since);
    }
}

static int child(int rank, int count, int dead, int tcp)
{
    char text[PHX_ADDRESS_TEXT];
    struct phx_config cfg;
    phx *p = NULL;
    int err;

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
    run(p, &plan->at[rank], (uint32_t)count, (uint32_t)dead);
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

static int start(pid_t *pids, int count, int dead, int tcp)
{
    uint64_t began = phx_now_us();

    for (int i = 0; i < count; i++) {
        if ((pids[i] = fork()) < 0)
            return -1;
        if (pids[i] == 0)
            _exit(child(i, count, dead, tcp));
        while (!plan->listens && phx_now_us() - began < LIMIT_US / 10)
            poll(NULL, 0, 1);
        if (!plan->listens)
            return -1;
    }
    return 0;
}

static void print(int living, int dead, uint64_t killed_at)
{
    double entries = 0, bytes = 0, frames = 0, dials = 0, cpu = 0, worst = 0;
    uint64_t last = killed_at;

    for (const struct rank *r = plan->at; r < plan->at + living; r++) {
        entries += (double)r->entries;
        bytes += (double)r->bytes;
        frames += (double)r->frames;
        dials += (double)r->dials;
        cpu += (double)r->cpu / 1e3;
        worst = PHX__MAX(worst, (double)r->cpu / 1e3);
        last = PHX__MAX(last, r->quiet_at);
    }
    printf("entries=%.3f\tbytes=%.0f\tframes=%.2f\tcpu_ms=%.2f\tworst_cpu_ms=%.2f\tdials=%.3f\tms=%.1f\n",
           entries / living / dead, bytes / living, frames / living, cpu / living, worst, dials / living,
           (double)(last - killed_at) / 1e3);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0, dead = argc > 2 ? atoi(argv[2]) : 0, tcp, good;
    static pid_t pids[MOST];
    uint64_t killed_at;

    tcp = argc > 3 && strcmp(argv[3], "tcp") == 0;
    if (count < 3 || count > MOST || dead < 1 || dead > count - 2) {
        fprintf(stderr, "usage: deaths N (3..1000) K (1..N-2) [tcp]\n");
        return 2;
    }
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED)
        return 1;
    good = start(pids, count, dead, tcp) == 0 && all_have(count, offsetof(struct rank, full));
    plan->armed = 1;
    good = good && all_have(count, offsetof(struct rank, ready));
    killed_at = phx_now_us();
    for (int i = count - dead; i < count; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
    good = good && all_have(count - dead, offsetof(struct rank, done));
    plan->over = 1;
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
