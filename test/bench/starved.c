/* starved.c - N nodes, half of which are stopped for 9.5 s of every 10: who is taken for dead, what is lost.
 *
 *     cc -std=c99 -O2 -I. -o starved test/bench/starved.c phoenix.c && ./starved 50 120
 *
 * Each node is a process with the default detector, and one hub is known. When all are linked, each second
 * one gets SIGSTOP for 9.5 s of each 10 s, at a phase of its own. 20 s before the end one of the others is
 * killed. Prints one line of tab-separated name=value: failed, times one that lived was taken for dead;
 * lost_first and lost, links lost in the first 30 s (each has been stopped for 20 s by then) and after, those
 * of the killed left out; death_s, until the last that is not stopped knew of it; unknown, how many did not.
 * Of less than 60 s (25 at least) the last three say nothing: that is only to see that it runs.
 */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 200
#define SECOND 1000000u
#define CYCLE (10 * SECOND)
#define STOPPED (95 * SECOND / 10)

static struct board {
    struct {
        struct phx_id id;
        uint64_t failed, told, lost, linked; /* told: when it knew of the death */
    } at[MOST];
    char hub[PHX_ADDRESS_TEXT];
    struct phx_id victim;
    int killed; /* whose links do not count as lost */
} *board;

static int rank;

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    (void)p, (void)user;
    if (node->state != PHX_NODE_FAILED)
        return;
    if (board->killed && memcmp(&node->id, &board->victim, sizeof node->id) == 0)
        board->at[rank].told = phx_now_us();
    else
        board->at[rank].failed++;
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    char victim[PHX_ID_TEXT];

    (void)p, (void)user;
    phx_id_text(&board->victim, victim);
    board->at[rank].lost += level == PHX_LOG_WARN && strstr(line, ": down") != NULL
                            && !(board->killed && strstr(line, victim) != NULL);
}

static void node(int nodes)
{
    struct phx_config cfg;
    struct phx_address at;
    struct phx_stats st;
    struct pollfd fd;
    phx *p;

    phx_config_init(&cfg);
    cfg.insecure = 1;
    cfg.on_node = on_node;
    cfg.on_log = on_log;
    cfg.log_level = PHX_LOG_WARN;
    if (phx_new(&p, &cfg, phx_now_us()) != 0 || phx_listen(p, "tcp://127.0.0.1:0") != 0)
        _exit(1);
    phx_self(p, &board->at[rank].id);
    if (rank == 0 && phx_listening(p, 0, &at) == 0)
        (void)phx_address_text(&at, board->hub);
    while (board->hub[0] == '\0')
        (void)poll(NULL, 0, 1);
    if (rank > 0 && phx_join(p, board->hub) != 0)
        _exit(1);
    fd.fd = phx_fd(p);
    fd.events = POLLIN;
    for (;;) {
        uint64_t now = phx_now_us(), at = phx_deadline(p);
        if (at > now)
            (void)poll(&fd, 1, at - now > SECOND ? 1000 : (int)((at - now + 999) / 1000));
        (void)phx_step(p, phx_now_us(), NULL, 0);
        phx_stats(p, &st);
        board->at[rank].linked = st.links + 1 == (uint32_t)nodes;
        if (getppid() == 1)
            _exit(1);
    }
}

static uint64_t sum(int nodes, int what)
{
    uint64_t total = 0;

    for (int i = 0; i < nodes; i++)
        total += what == 0 ? board->at[i].failed : what == 1 ? board->at[i].lost : board->at[i].linked;
    return total;
}

/* Stops and continues each second process until then. */
static void starve(const pid_t *pid, int nodes, uint64_t *next, char *stopped, uint64_t until)
{
    while (phx_now_us() < until) {
        for (int i = 1; i < nodes; i += 2) {
            if (phx_now_us() < next[i])
                continue;
            (void)kill(pid[i], stopped[i] ? SIGCONT : SIGSTOP);
            next[i] += stopped[i] ? CYCLE - STOPPED : STOPPED;
            stopped[i] = !stopped[i];
        }
        (void)poll(NULL, 0, 10);
    }
}

int main(int argc, char **argv)
{
    int nodes = argc > 1 ? atoi(argv[1]) : 50, seconds = argc > 2 ? atoi(argv[2]) : 120, i, unknown = 0;
    uint64_t next[MOST], begun, first, lost, died, last = 0;
    char stopped[MOST] = "";
    pid_t pid[MOST];

    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (nodes < 4 || nodes > MOST || seconds < 25 || board == MAP_FAILED)
        return 2;
    for (i = 0; i < nodes; i++) {
        rank = i;
        if ((pid[i] = fork()) == 0)
            node(nodes);
    }
    for (begun = phx_now_us(); sum(nodes, 2) < (uint64_t)nodes && phx_now_us() < begun + 60 * SECOND;)
        (void)poll(NULL, 0, 10);
    begun = phx_now_us();
    for (i = 0; i < nodes; i++)
        next[i] = begun + (uint64_t)i * CYCLE / (uint64_t)nodes;
    starve(pid, nodes, next, stopped, begun + 30 * SECOND);
    first = sum(nodes, 1);
    starve(pid, nodes, next, stopped, begun + (uint64_t)(seconds - 20) * SECOND);
    board->victim = board->at[2].id;
    board->killed = 1;
    died = phx_now_us();
    (void)kill(pid[2], SIGKILL);
    starve(pid, nodes, next, stopped, begun + (uint64_t)(seconds + 10) * SECOND);
    for (i = 0; i < nodes; i += 2) {
        unknown += i != 2 && board->at[i].told == 0;
        last = i != 2 && board->at[i].told > last ? board->at[i].told : last;
    }
    lost = sum(nodes, 1) - first;
    for (i = 0; i < nodes; i++) {
        (void)kill(pid[i], SIGKILL);
        (void)waitpid(pid[i], NULL, 0);
    }
    printf("failed=%u\tlost_first=%u\tlost=%u\tdeath_s=%.1f\tunknown=%d\n", (unsigned)sum(nodes, 0),
           (unsigned)first, (unsigned)lost,
           last > died ? (double)(last - died) / 1e6 : 0, unknown);
    return 0;
}
