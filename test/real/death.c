/* death.c - twenty processes on loopback: one is stopped, one is killed, and all others say when they knew.
 *
 * usage: death [processes]. Prints "stopped MS closed MS late MS": how long until the last of the others
 * had PHX_NODE_FAILED, for a SIGSTOP and for a SIGKILL, and by how much a process was woken too late at
 * most in the meantime. Status 1 and the reason if it takes longer than PATIENCE.
 *
 * The parent forks the nodes and reads from one pipe what they see, as records; each carries the time on
 * the monotonic clock, which all processes share. A node ends when its parent is gone. */
#define _POSIX_C_SOURCE 200809L
#include "../../phoenix.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64
#define PATIENCE 10000000u

enum { LISTENS = 1, ALL_HERE, FAILED, LATE };

struct record {
    int what, who; /* the process that says it */
    uint64_t at, late;
    struct phx_id id; /* LISTENS: its own; FAILED: of the dead */
    struct phx_address address;
};

static int count = 20, out_fd, self;
static pid_t pids[MOST];
static struct phx_id ids[MOST];

/* ---- A node ---------------------------------------------------------------------------------- */

static void say(int what, const struct phx_id *id, const struct phx_address *a, uint64_t late)
{
    struct record r;

    memset(&r, 0, sizeof r);
    r.what = what;
    r.who = self;
    r.at = phx_now_us();
    r.late = late;
    if (id != NULL)
        r.id = *id;
    if (a != NULL)
        r.address = *a;
    if (write(out_fd, &r, sizeof r) != (long)sizeof r) /* below PIPE_BUF: whole or not at all */
        _exit(1);
}

static void on_node(phx *p, const struct phx_node *n, void *user)
{
    (void)p, (void)user;
    if (n->state == PHX_NODE_FAILED)
        say(FAILED, &n->id, NULL, 0);
}

static void run(phx *p, int parent)
{
    struct phx_stats s;
    uint64_t worst = 0;
    int here = 0;

    for (;;) {
        struct pollfd fds[2] = { { parent, POLLIN, 0 }, { phx_fd(p), POLLIN, 0 } };
        uint64_t due = phx_deadline(p), now;
        poll(fds, 2, phx_timeout_ms(p, phx_now_us()));
        if (fds[0].revents != 0)
            _exit(0); /* nobody writes there: the parent is gone */
        now = phx_now_us();
        if (here && due < now && now - due > worst + 5000 && due != 0) {
            worst = now - due;
            say(LATE, NULL, NULL, worst);
        }
        phx_step(p, now, NULL, 0);
        phx_stats(p, &s);
        if (!here && s.reachable == (uint32_t)count && s.links == (uint32_t)count - 1) {
            here = 1;
            say(ALL_HERE, NULL, NULL, 0);
        }
    }
}

static void node(int parent, const char *hub)
{
    struct phx_config cfg;
    struct phx_address a;
    struct phx_id id;
    phx *p;

    phx_config_init(&cfg);
    phx_detector_preset(&cfg.detector, PHX_PRESET_FAST);
    cfg.on_node = on_node;
    if (phx_new(&p, &cfg, phx_now_us()) != 0 || phx_listen(p, "tcp://127.0.0.1:0") != 0
        || phx_listening(p, 0, &a) != 0 || (hub[0] != 0 && phx_join(p, hub) != 0))
        _exit(1);
    phx_self(p, &id);
    say(LISTENS, &id, &a, 0);
    run(p, parent);
}

/* ---- The parent ------------------------------------------------------------------------------ */

static int finish(const char *why)
{
    int i;

    for (i = 0; i < count; i++)
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
    if (why != NULL)
        fprintf(stderr, "death: %s\n", why);
    return why != NULL;
}

/* The next record within patience: 1, or 0. */
static int hear(int in, struct record *r, uint64_t until)
{
    struct pollfd fd = { in, POLLIN, 0 };
    uint64_t now = phx_now_us();

    if (now >= until || poll(&fd, 1, (int)((until - now) / 1000) + 1) < 1)
        return 0;
    return read(in, r, sizeof *r) == (long)sizeof *r;
}

/* How long until `others` processes say that this one has failed; 0: not all did. */
static uint64_t until_known(int in, int dead, uint64_t since, int others, uint64_t *late)
{
    uint64_t until = since + PATIENCE, last = 0;
    char heard[MOST] = { 0 };
    struct record r;

    while (others > 0 && hear(in, &r, until)) {
        if (r.what == LATE && r.late > *late)
            *late = r.late;
        if (r.what != FAILED || memcmp(&r.id, &ids[dead], sizeof r.id) != 0 || heard[r.who])
            continue;
        heard[r.who] = 1;
        others--;
        last = r.at - since;
    }
    return others == 0 ? last : 0;
}

static int begin(int in, int keep[2])
{
    char hub[PHX_ADDRESS_TEXT] = "";
    struct record r;
    int i, here = 0;

    for (i = 0; i < count; i++) {
        fflush(stdout);
        pids[i] = fork();
        if (pids[i] < 0)
            return -1;
        if (pids[i] == 0) {
            self = i;
            close(in);
            close(keep[1]);
            node(keep[0], hub);
        }
        if (i == 0) { /* the others need its address */
            if (!hear(in, &r, phx_now_us() + PATIENCE) || r.what != LISTENS)
                return -1;
            phx_address_text(&r.address, hub);
            ids[0] = r.id;
        }
    }
    while (here < count) {
        if (!hear(in, &r, phx_now_us() + PATIENCE))
            return -1;
        if (r.what == LISTENS)
            ids[r.who] = r.id;
        here += r.what == ALL_HERE;
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t late = 0, since, stopped, closed;
    int pipe_in[2], keep[2];

    count = argc > 1 ? atoi(argv[1]) : 20;
    if (count < 4 || count > MOST || pipe(pipe_in) != 0 || pipe(keep) != 0)
        return 2;
    out_fd = pipe_in[1];
    if (begin(pipe_in[0], keep) != 0)
        return finish("the nodes do not find each other");
    since = phx_now_us();
    kill(pids[count / 2], SIGSTOP);
    stopped = until_known(pipe_in[0], count / 2, since, count - 1, &late);
    if (stopped == 0)
        return finish("not all know of the stopped process");
    since = phx_now_us();
    kill(pids[count - 1], SIGKILL);
    closed = until_known(pipe_in[0], count - 1, since, count - 2, &late);
    if (closed == 0)
        return finish("not all know of the killed process");
    printf("stopped %u closed %u late %u\n", (unsigned)(stopped / 1000), (unsigned)(closed / 1000),
           (unsigned)(late / 1000));
    return finish(NULL);
}
