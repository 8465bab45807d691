/* mesh.c - how long N real processes on loopback take from "go" to a full mesh, knowing one hub only.
 *
 *     cc -std=c99 -O2 -I. -o mesh test/bench/mesh.c && ./mesh 64
 *     ./mesh 64 tcp          by TCP, and not by the short way within a host
 *     ./mesh 64 sites        in three sites behind walls, each with one gateway (figure 4 of the paper)
 *
 * Process i is of site i modulo 3, and the first of each site is its gateway. A member knows its gateway only
 * and can dial its own site only; the other gateways know that of the first site. The walls stand in `dial`:
 * a world of the host's that is the built-in one but for that, which is why phoenix.c is included here. In
 * sites no mesh becomes full, so it is over when everybody is reached.
 *
 * Prints one line of tab-separated name=value: reached_ms, until every process has a route to every other and
 * knows its name, so that every pair can exchange a message; full_ms, until every pair is linked; cpu_ms of
 * all processes together, from "go" until each is full; bytes allocated per process (beside the read buffer);
 * and for each link what both ends of it cost: steps, calls of the world, dials begun, and frames sent. The
 * clock starts when all processes listen and are told to go. See baseline.c for what it is compared with.
 */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "phoenix.c"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_US 60000000u

struct report {
    uint64_t reached, full; /* clock */
    uint64_t cpu, mem;
    uint64_t steps, calls, dials, frames;
};

static uint64_t cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u
           + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int only_tcp;

#define SITES 3
/* What all processes share, when there are walls. */
static struct plan {
    uint16_t rank_at[65536];             /* by port: rank + 1 of who listens there */
    struct phx_address gateways[SITES];
} *plan;
static int my_rank;
static struct phx__mem world_mem;
static struct phx_os world; /* the built-in one, with walls */
static int (*open_dial)(void *world, const struct phx_address *to, int *handle);

static int walled_dial(void *ctx, const struct phx_address *to, int *handle)
{
    int other = (int)plan->rank_at[to->port] - 1;

    if (other % SITES != my_rank % SITES && (other >= SITES || my_rank >= SITES))
        return PHX_EUNREACH;
    return open_dial(ctx, to, handle);
}

static int build_walls(struct phx_config *cfg, int rank)
{
    int err;

    my_rank = rank;
    phx__mem_init(&world_mem, NULL, 0);
    if ((err = phx__os_init(&world, &world_mem)) != 0)
        return err;
    open_dial = world.dial;
    world.dial = walled_dial;
    cfg->os = &world;
    return 0;
}

static int node_start(phx **p, int rank, struct phx_address *mine)
{
    struct phx_config cfg;
    int err = 0;

    phx_config_init(&cfg);
    if (only_tcp || plan != NULL)
        cfg.same_host = 0; /* as baseline.c, and as between hosts: the short way knows no walls */
    if (plan != NULL)
        err = build_walls(&cfg, rank);
    if (err != 0
        || (err = phx_new(p, &cfg, phx_now_us())) != 0
        || (err = phx_listen(*p, "tcp://127.0.0.1:0")) != 0
        || (err = phx_listening(*p, 0, mine)) != 0)
        return err;
    if (plan != NULL) {
        plan->rank_at[mine->port] = (uint16_t)(rank + 1);
        if (rank < SITES)
            plan->gateways[rank] = *mine;
    }
    return phx_assume(*p, (uint64_t)rank, (uint64_t)rank);
}

/* Steps until the mesh is full, then until the parent closes `stay`. */
static void node_run(phx *p, int count, int stay, int out)
{
    struct report r;
    uint64_t start = phx_now_us(), now = start, before = cpu_us();
    struct pollfd fds[2] = { { phx_fd(p), POLLIN, 0 },
                             { stay, 0, 0 } }; /* tells only that the parent let go */
    struct phx_stats s;

    memset(&r, 0, sizeof r);
    while (now - start < LIMIT_US && !(fds[1].revents & POLLHUP)) {
        poll(fds, 2, phx_timeout_ms(p, now));
        now = phx_now_us();
        phx_step(p, now, NULL, 0);
        phx_stats(p, &s);
        if (r.reached == 0 && s.reachable == (uint32_t)count)
            r.reached = phx_now_us();
        if (r.full == 0 && (plan != NULL ? r.reached != 0 : s.links == (uint32_t)count - 1)) {
            r.full = phx_now_us();
            r.cpu = cpu_us() - before;
            r.mem = s.mem_bytes;
            r.steps = s.steps;
            r.calls = s.os_calls;
            r.dials = s.dials;
            r.frames = s.frames_out;
            if (write(out, &r, sizeof r) != (ssize_t)sizeof r)
                return;
        }
    }
}

static int child(int rank, int count, const struct phx_address *hub, int go, int stay, int out,
                 int port)
{
    struct phx_address mine;
    char text[PHX_ADDRESS_TEXT], c;
    phx *p = NULL;
    int err = node_start(&p, rank, &mine);

    if (write(port, &mine, sizeof mine) != (ssize_t)sizeof mine)
        return 1;
    if (read(go, &c, 1) != 0) /* its end is "go", which wakes all at once */
        return 1;
    if (plan != NULL && rank >= SITES)
        hub = &plan->gateways[rank % SITES];
    if (err == 0 && rank > 0)
        err = phx_join(p, phx_address_text(hub, text));
    if (err != 0) {
        fprintf(stderr, "mesh: process %d: %s\n", rank, phx_strerror(err));
        return 1;
    }
    node_run(p, count, stay, out);
    phx_free(p);
    return 0;
}

static int fork_one(int rank, int count, const struct phx_address *hub, int go[2], int stay[2],
                    int out[2], int port[2])
{
    pid_t pid = fork();

    if (pid != 0)
        return pid < 0 ? -1 : 0;
    close(go[1]);
    close(stay[1]);
    close(out[0]);
    close(port[0]);
    exit(child(rank, count, hub, go[0], stay[0], out[1], port[1]));
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 64, i, got = 0, go[2], stay[2], out[2], port[2];
    uint64_t start;
    double links = (double)count * (count - 1) / 2;
    struct phx_address hub, other;
    struct report r, all;

    only_tcp = argc > 2 && strcmp(argv[2], "tcp") == 0;
    if (argc > 2 && strcmp(argv[2], "sites") == 0) {
        plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (plan == MAP_FAILED)
            return 1;
    }
    if (count < 2 || count > 1000 || pipe(go) != 0 || pipe(stay) != 0 || pipe(out) != 0
        || pipe(port) != 0) {
        fprintf(stderr, "usage: mesh N (2..1000) [tcp | sites]\n");
        return 2;
    }
    memset(&hub, 0, sizeof hub);
    memset(&all, 0, sizeof all);
    if (fork_one(0, count, &hub, go, stay, out, port) != 0
        || read(port[0], &hub, sizeof hub) != (ssize_t)sizeof hub)
        return 1;
    for (i = 1; i < count; i++)
        if (fork_one(i, count, &hub, go, stay, out, port) != 0)
            return 1;
    for (i = 1; i < count; i++) /* until all listen */
        if (read(port[0], &other, sizeof other) != (ssize_t)sizeof other)
            return 1;
    close(go[0]);
    close(stay[0]);
    close(out[1]);
    close(port[1]);
    start = phx_now_us();
    close(go[1]);
    for (; got < count && read(out[0], &r, sizeof r) == (ssize_t)sizeof r; got++) {
        all.reached = r.reached > all.reached ? r.reached : all.reached;
        all.full = r.full > all.full ? r.full : all.full;
        all.cpu += r.cpu;
        all.mem += r.mem;
        all.steps += r.steps;
        all.calls += r.calls;
        all.dials += r.dials;
        all.frames += r.frames;
    }
    close(stay[1]); /* all may end */
    for (i = 0; i < count; i++)
        wait(NULL);
    if (got < count) {
        fprintf(stderr, "mesh: only %d of %d processes saw the full mesh\n", got, count);
        return 1;
    }
    printf("reached_ms=%.1f\t", (double)(all.reached - start) / 1e3);
    if (plan != NULL) {
        printf("cpu_ms=%.0f\t\n", (double)all.cpu / 1e3);
        return 0;
    }
    printf("full_ms=%.1f\tcpu_ms=%.0f\tbytes=%.0f\t", (double)(all.full - start) / 1e3,
           (double)all.cpu / 1e3, (double)all.mem / count - 262144.0);
    printf("steps=%.2f\tcalls=%.2f\tdials=%.3f\tframes=%.2f\t\n", (double)all.steps / links,
           (double)all.calls / links, (double)all.dials / links, (double)all.frames / links);
    return 0;
}
