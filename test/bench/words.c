/* words.c - first words: N real processes on loopback that know one hub join at "go" and talk at once. */

/*     cc -std=c99 -O2 -I. -o words test/bench/words.c && ./words 100
 *
 *     ./words 100 [tcp] [all | near | one | barrier] [size=8] [sites | hubs] [kill] [full] [watch]
 *
 * At "go" each process joins and at once sends `size` bytes to whom the pattern names: all others; its two
 * neighbours in the ring of ranks (near); rank 0 (one); or those of MPI's dissemination barrier, each round
 * when the message of the round before has come. It has spoken when it has what the others send to it.
 *
 *     tcp     by TCP, and not by the short way within a host
 *     sites   three sites behind walls, each with one gateway, as in mesh.c
 *     hubs    the same without walls: three hubs, each known to a third of the others
 *     kill    three hubs are known, and the first is killed when half of all messages have come; then it is
 *             over when the living have all that the living sent
 *     full    it is not over before every pair is linked, too: full_ms
 *     watch   a line of counters each half second, on stderr
 *
 * Prints one line of tab-separated name=value: ms from "go" until the last one has spoken; cpu_ms of all
 * processes until then; per message: frames relayed, frames sent again, entries of routing; and in all: links
 * lost (not counted in `kill`, where many are), nodes that somebody took for FAILED, links that stand at
 * the end. The same by raw TCP with all addresses given is `baseline offline`. */
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
#define LIMIT_US 85000000u
#define SITES 3
#define HUBS 3
#define SIZE_MOST 65536

enum pattern { ALL, NEAR, ONE, BARRIER };

/* What one process shows to the parent. */
struct seen {
    volatile uint64_t done; /* clock; 0: it has not spoken yet */
    volatile uint64_t full; /* when it had a link with each other */
    volatile uint64_t came, relayed, again, entries, lost, failed, links, steps, cpu;
};

static struct board {
    struct phx_address at[MOST];
    uint16_t rank_at[65536]; /* by port: rank + 1 of who listens there */
    volatile int ready, over, ended, killed;
    struct seen of[MOST];
} *board;

static int count, only_tcp, sites, walls, kills, watches, until_full;
static enum pattern pattern;
static size_t message_size = 8;

/* ---- One process */

static int me, expected, came_count, barrier_round;
static uint8_t came[MOST];
static struct phx__mem world_mem;
static struct phx_os world; /* the built-in one, with walls */
static int (*open_dial)(void *world, const struct phx_address *to, int *handle);

static uint64_t cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u
           + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int walled_dial(void *ctx, const struct phx_address *to, int *handle)
{
    int other = (int)board->rank_at[to->port] - 1;

    if (other % SITES != me % SITES && (other >= SITES || me >= SITES))
        return PHX_EUNREACH;
    return open_dial(ctx, to, handle);
}

static int sends_to(int from, int to)
{
    int gap = (to - from + count) % count;

    switch (pattern) {
    case NEAR: return gap == 1 || gap == count - 1;
    case ONE: return to == 0 && from != 0;
    case BARRIER: return (gap & (gap - 1)) == 0 && gap != 0;
    default: return gap != 0;
    }
}

static void say(phx *p, int to)
{
    static uint8_t body[SIZE_MOST];
    int err = phx_send(p, (uint64_t)to, (uint64_t)me, 0, body, message_size);

    if (err < 0) {
        fprintf(stderr, "words: process %d: send to %d: %s\n", me, to, phx_strerror(err));
        exit(1);
    }
}

/* Of the dissemination barrier: the rounds whose message has come, one behind the other. */
static void go_on(phx *p)
{
    while (1 << barrier_round < count && came[(me - (1 << barrier_round) + count) % count]) {
        barrier_round++;
        if (1 << barrier_round < count)
            say(p, (me + (1 << barrier_round)) % count);
    }
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)user;
    if (m->from >= (uint64_t)count || m->size != message_size || came[m->from]) {
        fprintf(stderr, "words: process %d: a message that nobody sent\n", me);
        exit(1);
    }
    came[m->from] = 1;
    came_count++;
    board->of[me].came++;
    if (pattern == BARRIER)
        go_on(p);
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    (void)p, (void)user;
    if (node->state == PHX_NODE_FAILED && !board->killed)
        board->of[me].failed++;
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    (void)p, (void)user;
    if (watches > 1 && level <= PHX_LOG_WARN)
        fprintf(stderr, "%d: %s\n", me, line);
}

static int open_node(phx **p)
{
    struct phx_config cfg;
    int err;

    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.on_node = on_node;
    cfg.on_log = on_log;
    cfg.same_host = !only_tcp && !walls; /* the short way knows no walls */
    if (walls) {
        phx__mem_init(&world_mem, NULL, 0);
        if ((err = phx__os_init(&world, &world_mem)) != 0)
            return err;
        open_dial = world.dial;
        world.dial = walled_dial;
        cfg.os = &world;
    }
    if ((err = phx_new(p, &cfg, phx_now_us())) != 0
        || (err = phx_listen(*p, "tcp://127.0.0.1:0")) != 0
        || (err = phx_listening(*p, 0, &board->at[me])) != 0)
        return err;
    board->rank_at[board->at[me].port] = (uint16_t)(me + 1);
    return phx_assume(*p, (uint64_t)me, (uint64_t)me);
}

static int join_hubs(phx *p)
{
    char text[PHX_ADDRESS_TEXT];
    int hub, err = 0;

    for (hub = 0; hub < (kills ? HUBS : 1) && err == 0; hub++) {
        int rank = sites && me >= SITES ? me % SITES : hub;
        if (rank != me)
            err = phx_join(p, phx_address_text(&board->at[rank], text));
    }
    return err;
}

/* The messages of the dead are not waited for. */
static int has_spoken(void)
{
    return came_count == expected || (board->killed && came_count + !came[0] == expected);
}

static void show(const phx *p)
{
    struct seen *of = &board->of[me];
    struct phx_stats s;

    phx_stats(p, &s);
    of->relayed = s.relayed_frames;
    of->again = s.retransmitted_frames;
    of->entries = s.entries_out;
    of->lost = s.links_lost;
    of->links = s.links;
    of->steps = s.steps;
    of->cpu = cpu_us();
}

static void run(phx *p, int stay)
{
    struct pollfd fds[2] = { { phx_fd(p), POLLIN, 0 }, { stay, 0, 0 } }; /* stay: the parent let go */
    uint64_t start = phx_now_us(), now = start;

    while (!board->over && fds[1].revents == 0 && now - start < LIMIT_US) {
        poll(fds, 2, phx_timeout_ms(p, now));
        now = phx_now_us();
        phx_step(p, now, NULL, 0);
        if (board->of[me].done == 0 && has_spoken())
            board->of[me].done = phx_now_us();
        if (watches || board->of[me].done != 0)
            show(p);
        if (board->of[me].full == 0 && p->links.up == (uint32_t)(count - 1 - board->killed))
            board->of[me].full = phx_now_us();
    }
    show(p);
    __sync_fetch_and_add(&board->ended, 1);
    while (board->ended < count - board->killed)
        usleep(1000); /* the end of a process is not to be seen as a lost link */
}

static int child(int go, int stay)
{
    phx *p = NULL;
    int i, err = open_node(&p);
    uint64_t before;
    char c;

    __sync_fetch_and_add(&board->ready, 1);
    for (i = 0; i < count; i++)
        expected += sends_to(i, me);
    if (read(go, &c, 1) != 0) /* its end is "go", which wakes all at once */
        return 1;
    before = cpu_us();
    if (err == 0)
        err = join_hubs(p);
    if (err != 0) {
        fprintf(stderr, "words: process %d: %s\n", me, phx_strerror(err));
        return 1;
    }
    if (pattern == BARRIER)
        say(p, (me + 1) % count);
    for (i = 0; i < count && pattern != BARRIER; i++)
        if (sends_to(me, (me + i) % count))
            say(p, (me + i) % count);
    run(p, stay);
    board->of[me].cpu -= before;
    return 0;
}

/* ---- All of them */

/* Of done and full the latest. *done: how many have spoken, and are full if that is waited for. */
static struct seen sum(int *done)
{
    struct seen all;
    int i;

    memset(&all, 0, sizeof all);
    *done = 0;
    for (i = board->killed; i < count; i++) {
        const struct seen *s = &board->of[i];
        *done += s->done != 0 && (s->full != 0 || !until_full);
        all.done = PHX__MAX(all.done, s->done);
        all.full = PHX__MAX(all.full, s->full);
        all.came += s->came;
        all.relayed += s->relayed;
        all.again += s->again;
        all.entries += s->entries;
        all.lost += s->lost;
        all.failed += s->failed;
        all.links += s->links;
        all.steps += s->steps;
        all.cpu += s->cpu;
    }
    return all;
}

static void tell(const struct seen *s, uint64_t us, int done)
{
    fprintf(stderr, "%6.0f ms: done=%d came=%lu links=%.3f relayed=%lu again=%lu entries=%lu lost=%lu"
            " failed=%lu steps=%lu cpu=%.2f s\n", (double)us / 1e3, done, (unsigned long)s->came,
            (double)s->links / count / (count - 1), (unsigned long)s->relayed, (unsigned long)s->again,
            (unsigned long)s->entries, (unsigned long)s->lost, (unsigned long)s->failed,
            (unsigned long)s->steps, (double)s->cpu / 1e6);
}

/* Until all have spoken: 1; 0: time is over. */
static int wait_for_all(uint64_t start, pid_t hub, uint64_t messages)
{
    uint64_t now = start, next = start;
    int done = 0;

    while (now - start < LIMIT_US && done < count - board->killed) {
        struct seen s = sum(&done);
        if (kills && !board->killed && s.came >= messages / 2) {
            board->killed = 1;
            kill(hub, SIGKILL);
        }
        now = phx_now_us();
        if (watches && now >= next) {
            tell(&s, now - start, done);
            next += 500000;
        }
        usleep(2000);
    }
    return done >= count - board->killed;
}

static void options(int argc, char **argv)
{
    static const char *const names[] = { "all", "near", "one", "barrier" };
    int i, k;

    for (i = 2; i < argc; i++) {
        for (k = 0; k < 4; k++)
            pattern = strcmp(argv[i], names[k]) == 0 ? (enum pattern)k : pattern;
        only_tcp |= strcmp(argv[i], "tcp") == 0;
        walls |= strcmp(argv[i], "sites") == 0;
        sites |= walls || strcmp(argv[i], "hubs") == 0;
        kills |= strcmp(argv[i], "kill") == 0;
        watches += strcmp(argv[i], "watch") == 0;
        until_full |= strcmp(argv[i], "full") == 0;
        if (strncmp(argv[i], "size=", 5) == 0)
            message_size = (size_t)atoi(argv[i] + 5);
    }
}

static int start_all(pid_t *pids, const int go[2], const int stay[2])
{
    for (me = 0; me < count; me++) {
        if ((pids[me] = fork()) < 0)
            return -1;
        if (pids[me] == 0) {
            close(go[1]);
            close(stay[1]);
            _exit(child(go[0], stay[0]));
        }
    }
    while (board->ready < count)
        usleep(1000);
    return 0;
}

int main(int argc, char **argv)
{
    int go[2], stay[2], done, all_done, i;
    uint64_t start, messages = 0;
    struct seen all;
    pid_t pids[MOST];

    count = argc > 1 ? atoi(argv[1]) : 0;
    options(argc, argv);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count < 4 || count > MOST || message_size > SIZE_MOST || board == MAP_FAILED || pipe(go) != 0
        || pipe(stay) != 0) {
        fprintf(stderr, "usage: words N (4..%d) [tcp] [all | near | one | barrier] [size=S] [sites | hubs]"
                " [kill] [full] [watch]\n", MOST);
        return 2;
    }
    alarm(LIMIT_US / 1000000 + 20);
    if (start_all(pids, go, stay) != 0)
        return 1;
    for (i = 0; i < count * count; i++)
        messages += (uint64_t)sends_to(i / count, i % count);
    start = phx_now_us();
    close(go[1]);
    all_done = wait_for_all(start, pids[0], messages);
    board->over = 1;
    close(stay[1]);
    for (i = 0; i < count; i++)
        waitpid(pids[i], NULL, 0);
    all = sum(&done);
    if (!all_done) {
        fprintf(stderr, "words: only %d of %d processes had heard from all\n", done, count);
        tell(&all, phx_now_us() - start, done);
        return 1;
    }
    printf("ms=%.1f\tcpu_ms=%.0f\tfull_ms=%.1f\t", (double)(all.done - start) / 1e3, (double)all.cpu / 1e3,
           until_full ? (double)(all.full - start) / 1e3 : 0.0);
    printf("relayed=%.3f\tagain=%.4f\tentries=%.2f\tlost=%lu\tfailed=%lu\tlinks=%.3f\t\n",
           (double)all.relayed / (double)messages,
           (double)all.again / (double)messages, (double)all.entries / (double)messages,
           kills ? 0ul : (unsigned long)all.lost, (unsigned long)all.failed,
           (double)all.links / count / (count - 1));
    return 0;
}
