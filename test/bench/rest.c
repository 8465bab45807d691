/* rest.c - what a process with N idle links costs its machine: resident memory, processor time, wake-ups. */

/* cc -std=c99 -O2 -I. -o rest test/bench/rest.c phoenix.c; usage: rest LINKS SECONDS
 *
 * Two processes. One is measured: a node that listens. The other holds LINKS nodes, each linked with it over
 * loopback TCP and with nobody else, since they do not listen. When all know all, and one second later, the
 * measured process does nothing for SECONDS but what phoenix.h asks of a host. Its resident memory is
 * counted from just after phx_new; rss/link has the table of nodes in it, as a user's memory has. The exact
 * counts of the same are those of test/sim/curves.c, hub; here the kernel and malloc have their say.
 *
 * Prints one line of tab-separated name=value. */
#define _GNU_SOURCE 1
#include "phoenix.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINKS_MOST 1000u
#define SECONDS_MOST 300u
#define START_SECONDS 60u

static void must(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "rest: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

static void host_turn(phx *p, uint64_t until)
{
    struct pollfd fd = { phx_fd(p), POLLIN, 0 };
    int ms = phx_timeout_ms(p, phx_now_us());
    uint64_t now = phx_now_us(), left = until > now ? (until - now) / 1000 + 1 : 0;

    poll(&fd, 1, ms < 0 || (uint64_t)ms > left ? (int)left : ms);
    phx_step(p, phx_now_us(), NULL, 0);
}

/* ---- The other process: many nodes -------------------------------------------------------------- */

/* Says one byte when all know all, and goes on until it is ended. */
static void leaves(unsigned links, const char *hub, int out)
{
    static phx *nodes[LINKS_MOST];
    struct epoll_event e;
    struct phx_config cfg;
    struct phx_stats s;
    int queue = epoll_create1(EPOLL_CLOEXEC), told = 0;
    unsigned i, ready;

    phx_config_init(&cfg);
    cfg.step_bytes = 80u << 10;
    cfg.same_host = 0; /* TCP, as between hosts */
    for (i = 0; i < links; i++) {
        must(phx_new(&nodes[i], &cfg, phx_now_us()), "phx_new");
        must(phx_join(nodes[i], hub), hub);
        memset(&e, 0, sizeof e);
        e.events = EPOLLIN;
        e.data.u32 = i;
        if (epoll_ctl(queue, EPOLL_CTL_ADD, phx_fd(nodes[i]), &e) != 0)
            must(PHX_EMFILE, "epoll");
    }
    for (;;) {
        struct epoll_event some[64];
        int n = epoll_wait(queue, some, 64, 10), k;
        uint64_t now = phx_now_us();
        for (k = 0; k < n; k++)
            phx_step(nodes[some[k].data.u32], now, NULL, 0);
        for (i = 0, ready = 0; i < links; i++) {
            if (phx_deadline(nodes[i]) <= now)
                phx_step(nodes[i], now, NULL, 0);
            if (told)
                continue;
            phx_stats(nodes[i], &s);
            ready += s.reachable == links + 1;
        }
        if (!told && ready == links)
            told = write(out, "", 1) == 1;
    }
}

/* ---- The measured one --------------------------------------------------------------------------- */

static double resident(void)
{
    unsigned long all, mine = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%lu %lu", &all, &mine) != 2)
        mine = 0; /* not Linux: it will say 0 */
    if (f != NULL)
        fclose(f);
    return (double)mine * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3
           + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void rest(phx *p, unsigned links, unsigned seconds, double rss)
{
    uint64_t until = phx_now_us() + 1000000, begun;
    struct phx_stats a, b;
    double cpu, s;

    while (phx_now_us() < until)
        host_turn(p, until);
    phx_stats(p, &a);
    rss = resident() - rss;
    cpu = cpu_ms();
    begun = phx_now_us();
    until = begun + seconds * (uint64_t)1000000;
    while (phx_now_us() < until)
        host_turn(p, until);
    cpu = cpu_ms() - cpu;
    s = (double)(phx_now_us() - begun) / 1e6;
    phx_stats(p, &b);
    printf("links=%u\trss=%.0f\trss/link=%.0f\tmem_bytes=%.0f\twakeups/s=%.2f\tcpu_ms/s=%.4f\tbytes/s=%.1f\n",
           links, rss, rss / links, (double)b.mem_bytes, (double)(b.steps - a.steps) / s, cpu / s,
           (double)(b.bytes_in - a.bytes_in + b.bytes_out - a.bytes_out) / s);
}

static int measure(phx *p, unsigned links, unsigned seconds, int told)
{
    uint64_t until = phx_now_us() + START_SECONDS * (uint64_t)1000000;
    double rss = resident();
    struct phx_stats s;
    char c;

    fcntl(told, F_SETFL, O_NONBLOCK);
    for (;;) {
        phx_stats(p, &s);
        if (s.links == links && read(told, &c, 1) == 1)
            break;
        if (phx_now_us() > until) {
            fprintf(stderr, "rest: not all have found each other in time\n");
            return 1;
        }
        host_turn(p, phx_now_us() + 10000);
    }
    rest(p, links, seconds, rss);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned links = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned seconds = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    struct rlimit files = { 20000, 20000 };
    char at[PHX_ADDRESS_TEXT];
    struct phx_address address;
    struct phx_config cfg;
    int told[2], status;
    pid_t child;
    phx *p;

    if (links < 1 || links > LINKS_MOST || seconds < 1 || seconds > SECONDS_MOST || pipe(told) != 0) {
        fprintf(stderr, "usage: rest LINKS SECONDS (1..%u, 1..%u)\n", LINKS_MOST, SECONDS_MOST);
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    phx_config_init(&cfg);
    cfg.same_host = 0;
    must(phx_new(&p, &cfg, phx_now_us()), "phx_new");
    must(phx_listen(p, "tcp://127.0.0.1:0"), "phx_listen");
    must(phx_listening(p, 0, &address), "phx_listening");
    phx_address_text(&address, at);
    child = fork();
    if (child == 0) {
        alarm(START_SECONDS + SECONDS_MOST + 10);
        leaves(links, at, told[1]);
    }
    if (child < 0)
        return 1;
    status = measure(p, links, seconds, told[0]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    phx_free(p);
    return status;
}
