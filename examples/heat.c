/* heat.c - the 1-D heat equation over P processes, each a Phoenix node, compared with one process.
 *
 *     cc -std=c99 -O2 -I. -o heat examples/heat.c phoenix.c
 *     ./heat 4                                (processes, and if you like: cells, time steps)
 *
 * u_t = u_xx, explicit scheme: new u[i] = u[i] + R * (u[i-1] - 2 u[i] + u[i+1]). The cells of a
 * rod are dealt out in blocks, one per rank; the ends of the rod are held at 1 and at 0. Each step
 * needs the neighbours' edge cells, so each rank sends its own two to the *names* rank-1 and rank+1
 * and waits for theirs. Between steps it calls phx_step, and that is all Phoenix asks for.
 *
 * The program forks the ranks; rank 0, the parent, listens on a port the system chooses and passes
 * it to the others through a pipe each. No rank waits for the others to be there before it starts:
 * a message to a name that nobody has taken yet waits at its sender. The pipes also tell a rank, by
 * their end of file, that the parent has died.
 *
 * At the end rank 0 gathers the blocks and compares them bit by bit with its own serial run: both
 * call the same function on the same numbers, so there is no reason for a difference of one bit.
 * Doubles travel as they stand in memory, because all ranks run on one machine.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS_MAX 32
#define FDS_MAX (RANKS_MAX + 40)    /* a link per rank, listeners, dials under way, the pipe */
#define LIMIT_US 60000000u          /* the whole run, then something is wrong */
#define CLOSE_US 2000000u           /* to say goodbye */
#define R 0.25                      /* dt / dx^2; stable up to 0.5 */
#define TAG_BLOCK UINT64_MAX        /* a finished block; any other tag is a time step */

enum { LEFT, RIGHT };

struct rod {
    long cells, steps;
    int ranks;
};

struct rank {
    struct rod rod;
    int me;
    phx *p;
    int parent;             /* pipe from rank 0; -1 in rank 0 itself */
    uint64_t end;           /* when to give up */
    int more;               /* the last step left work */
    int lost;               /* another rank has failed */
    long count;             /* cells of this rank */
    double *now, *next;     /* they are now[1..count]; [0] and [count + 1] are the neighbours' */
    /* A neighbour can be one time step ahead, never two: it needs our cell of the step before. So
     * there are two slots per side, and step s lives in slot s & 1. */
    double halo[2][2];
    long halo_step[2][2];   /* which step a slot holds; -1: none yet */
    double *whole;          /* rank 0: where the blocks are gathered */
    int blocks;             /* rank 0: how many have come */
};

/* Prints why and returns -1, so that callers can return it in turn. */
static int fail(const struct rank *r, const char *what, int err)
{
    fprintf(stderr, "heat: rank %d: %s: %s\n", r->me, what, phx_strerror(err));
    return -1;
}

static long first_cell(const struct rod *rod, int rank)
{
    return rod->cells * rank / rod->ranks;
}

/* ---- Physics: all that a serial program has, too ---- */

static void advance(double *restrict next, const double *restrict now, long count)
{
    long i;

    for (i = 1; i <= count; i++)
        next[i] = now[i] + R * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
}

/* Cells first..first+count-1 at time 0, and a cell on either side: beyond the rod it is its end.
 * The start is uneven everywhere, so that a mistake anywhere in the rod shows. */
static void initial(const struct rod *rod, double *u, long first, long count)
{
    long i, at;

    for (i = 0; i <= count + 1; i++) {
        at = first + i - 1;
        u[i] = at < 0 ? 1.0 : at >= rod->cells ? 0.0 : at % 7 == 3 ? 0.875 : 1.0 / (double)(at + 3);
    }
}

/* The answer to compare with, u[1..cells]; NULL if out of memory. The caller frees it. */
static double *serial_run(const struct rod *rod)
{
    size_t size = (size_t)(rod->cells + 2) * sizeof(double);
    double *now = malloc(size), *next = malloc(size), *other;
    long s;

    if (now != NULL && next != NULL) {
        initial(rod, now, 0, rod->cells);
        initial(rod, next, 0, rod->cells);
        for (s = 0; s < rod->steps; s++) {
            advance(next, now, rod->cells);
            other = now, now = next, next = other;
        }
    }
    free(next);
    return now;
}

/* ---- The Phoenix side ---- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct rank *r = user;
    int rank = (int)m->from, side = rank < r->me ? LEFT : RIGHT;
    long first;

    (void)p;
    if (m->tag == TAG_BLOCK) {
        first = first_cell(&r->rod, rank);
        if (m->size != (size_t)(first_cell(&r->rod, rank + 1) - first) * sizeof(double))
            return; /* not one of ours; the run will time out and say so */
        memcpy(r->whole + 1 + first, m->data, m->size);
        r->blocks++;
    } else if (m->size == sizeof(double)) {
        memcpy(&r->halo[side][m->tag & 1], m->data, sizeof(double));
        r->halo_step[side][m->tag & 1] = (long)m->tag;
    }
}

/* A rank that has failed will not come back: all others give up as soon as they know. */
static void on_node(phx *p, const struct phx_node *node, void *user)
{
    struct rank *r = user;

    (void)p;
    if (node->state == PHX_NODE_FAILED)
        r->lost = 1;
}

/* Waits up to wait_ms for something to happen, then lets Phoenix work. 0; -1 if the run is over. */
static int turn(struct rank *r, int wait_ms)
{
    struct pollfd fds[FDS_MAX];
    uint64_t now = phx_now_us();
    int n = phx_fds(r->p, fds, FDS_MAX - 1), ms = phx_timeout_ms(r->p, now);

    if (n > FDS_MAX - 1)
        n = FDS_MAX - 1;
    fds[n].fd = r->parent; /* poll skips -1 */
    fds[n].events = POLLIN;
    fds[n].revents = 0;
    if (r->more)
        wait_ms = 0;
    if (poll(fds, (nfds_t)n + 1, ms >= 0 && ms < wait_ms ? ms : wait_ms) < 0 && errno != EINTR)
        return fail(r, "poll", PHX_EIO);
    if (fds[n].revents != 0)
        return fail(r, "rank 0 is gone", PHX_EFAILED);
    now = phx_now_us();
    r->more = phx_step(r->p, now, fds, n);
    if (r->lost)
        return fail(r, "another rank is gone", PHX_EFAILED);
    return now < r->end ? 0 : fail(r, "giving up", PHX_ETIMEDOUT);
}

/* phx_send, patiently: "full" only means that Phoenix must work first. */
static int deliver(struct rank *r, int to, uint64_t tag, const double *data, long count)
{
    size_t size = (size_t)count * sizeof(double);
    int err;

    while ((err = phx_send(r->p, (uint64_t)to, (uint64_t)r->me, tag, data, size)) == PHX_EAGAIN)
        if (turn(r, 100) != 0)
            return -1;
    return err == 0 ? 0 : fail(r, "send", err);
}

static int halo_is_missing(const struct rank *r, long s)
{
    return (r->me > 0 && r->halo_step[LEFT][s & 1] != s)
           || (r->me < r->rod.ranks - 1 && r->halo_step[RIGHT][s & 1] != s);
}

/* One time step: send our edges of step s, let Phoenix work, wait for theirs, advance. */
static int time_step(struct rank *r, long s)
{
    double *other;

    if (r->me > 0 && deliver(r, r->me - 1, (uint64_t)s, r->now + 1, 1) != 0)
        return -1;
    if (r->me < r->rod.ranks - 1
        && deliver(r, r->me + 1, (uint64_t)s, r->now + r->count, 1) != 0)
        return -1;
    phx_step(r->p, phx_now_us(), NULL, 0);
    while (halo_is_missing(r, s))
        if (turn(r, 100) != 0)
            return -1;
    if (r->me > 0)
        r->now[0] = r->halo[LEFT][s & 1];
    if (r->me < r->rod.ranks - 1)
        r->now[r->count + 1] = r->halo[RIGHT][s & 1];
    advance(r->next, r->now, r->count);
    other = r->now, r->now = r->next, r->next = other;
    return 0;
}

/* Memory, initial state and the node. port: rank 0's, or 0 in rank 0 itself. */
static int begin(struct rank *r, int port)
{
    size_t size;
    struct phx_config cfg;
    char hub[64];
    int err;

    r->count = first_cell(&r->rod, r->me + 1) - first_cell(&r->rod, r->me);
    size = (size_t)(r->count + 2) * sizeof(double);
    r->now = malloc(size);
    r->next = malloc(size);
    if (r->now == NULL || r->next == NULL)
        return fail(r, "begin", PHX_ENOMEM);
    initial(&r->rod, r->now, first_cell(&r->rod, r->me), r->count);
    initial(&r->rod, r->next, first_cell(&r->rod, r->me), r->count); /* for the rod's ends */
    r->halo_step[LEFT][0] = r->halo_step[LEFT][1] = -1;
    r->halo_step[RIGHT][0] = r->halo_step[RIGHT][1] = -1;
    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.on_node = on_node;
    cfg.user = r;
    if ((err = phx_new(&r->p, &cfg, phx_now_us())) != 0)
        return fail(r, "phx_new", err);
    /* All listen, so that neighbours talk to each other and not through rank 0. */
    if ((err = phx_listen(r->p, "tcp://127.0.0.1:0")) != 0)
        return fail(r, "phx_listen", err);
    snprintf(hub, sizeof hub, "tcp://127.0.0.1:%d", port);
    if (port != 0 && (err = phx_join(r->p, hub)) != 0)
        return fail(r, "phx_join", err);
    err = phx_assume(r->p, (uint64_t)r->me, (uint64_t)r->me);
    return err == 0 ? 0 : fail(r, "phx_assume", err);
}

/* Says goodbye; what was sent before has arrived (phx_pending is 0). */
static int finish(struct rank *r)
{
    int err;

    while (phx_pending(r->p) > 0)
        if (turn(r, 100) != 0)
            return -1;
    if ((err = phx_close(r->p, CLOSE_US)) != 0)
        return fail(r, "phx_close", err);
    r->end = phx_now_us() + 2 * CLOSE_US;
    while (!phx_closed(r->p))
        if (turn(r, 100) != 0)
            return -1;
    return 0;
}

static void end(struct rank *r)
{
    phx_free(r->p);
    free(r->now);
    free(r->next);
    free(r->whole);
}

/* ---- Ranks 1, 2, ...: the children ---- */

static int child_run(struct rank *r)
{
    struct pollfd fds;
    uint16_t port;
    long s;

    /* Rank 0 writes its port as soon as it has one, or dies, which is an end of file. */
    fds.fd = r->parent;
    fds.events = POLLIN;
    if (poll(&fds, 1, 10000) != 1 || read(r->parent, &port, sizeof port) != (ssize_t)sizeof port)
        return fail(r, "no port from rank 0", PHX_ETIMEDOUT);
    if (begin(r, port) != 0)
        return -1;
    for (s = 0; s < r->rod.steps; s++)
        if (time_step(r, s) != 0)
            return -1;
    if (deliver(r, 0, TAG_BLOCK, r->now + 1, r->count) != 0)
        return -1;
    return finish(r);
}

/* ---- Rank 0: the parent ---- */

struct children {
    pid_t pid[RANKS_MAX];   /* 0: not started, or ended and waited for */
    int pipe[RANKS_MAX];    /* to write to; -1: none */
};

/* Forks rank `rank`; only the child returns 1, and its reading end is in r->parent then. */
static int start_child(struct rank *r, struct children *c, int rank)
{
    int ends[2], i;
    pid_t pid;

    if (pipe(ends) != 0 || (pid = fork()) < 0) {
        perror("heat: fork");
        return -1;
    }
    if (pid == 0) {
        /* We inherited rank 0's ends of our elder sisters' pipes: while we hold them, a sister
         * would not see the end of file when rank 0 dies. */
        close(ends[1]);
        for (i = 1; i < rank; i++)
            close(c->pipe[i]);
        r->me = rank;
        r->parent = ends[0];
        return 1;
    }
    close(ends[0]);
    c->pid[rank] = pid;
    c->pipe[rank] = ends[1];
    return 0;
}

/* How many children are still running; notes in *bad that one ended with an error. */
static int reap(struct rank *r, struct children *c, int *bad)
{
    int i, status, running = 0;

    for (i = 1; i < r->rod.ranks; i++) {
        if (c->pid[i] == 0)
            continue;
        if (waitpid(c->pid[i], &status, WNOHANG) == c->pid[i]) {
            c->pid[i] = 0;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                *bad = 1;
        } else {
            running++;
        }
    }
    return running;
}

/* Rank 0 tells its port, works like the others, then gathers and serves until all have gone: they
 * end when what they sent has been acknowledged, and that is our work, too. */
static int parent_run(struct rank *r, struct children *c)
{
    struct phx_address at;
    long s;
    int i, err, bad = 0;

    if (begin(r, 0) != 0)
        return -1;
    if ((err = phx_listening(r->p, 0, &at)) != 0)
        return fail(r, "phx_listening", err);
    for (i = 1; i < r->rod.ranks; i++)
        if (write(c->pipe[i], &at.port, sizeof at.port) != (ssize_t)sizeof at.port)
            return fail(r, "cannot tell the port", PHX_EIO);
    for (s = 0; s < r->rod.steps && !bad; s++) {
        if (time_step(r, s) != 0)
            return -1;
        if (s % 100 == 0)
            reap(r, c, &bad);
    }
    memcpy(r->whole + 1, r->now + 1, (size_t)r->count * sizeof(double));
    while (!bad && (reap(r, c, &bad) > 0 || r->blocks < r->rod.ranks - 1))
        if (turn(r, 10) != 0)
            return -1;
    return bad ? fail(r, "another rank failed", PHX_EFAILED) : 0;
}

/* However it went, no child is left behind: closing the pipe tells it to end, a signal makes it. */
static void end_children(struct rank *r, struct children *c)
{
    struct timespec rest = { 0, 20000000 };
    int i, tries, bad = 0;

    for (i = 1; i < r->rod.ranks; i++)
        if (c->pipe[i] >= 0)
            close(c->pipe[i]);
    for (tries = 0; tries < 50 && reap(r, c, &bad) > 0; tries++)
        nanosleep(&rest, NULL);
    for (i = 1; i < r->rod.ranks; i++)
        if (c->pid[i] > 0) {
            kill(c->pid[i], SIGKILL);
            waitpid(c->pid[i], NULL, 0);
        }
}

/* Prints ten cells and returns 0 if all are the same bit by bit. */
static int compare(const struct rank *r, const double *serial)
{
    size_t size = (size_t)r->rod.cells * sizeof(double);
    double difference, worst = 0;
    long i, different = 0;

    printf("    cell      serial    %2d ranks  difference\n", r->rod.ranks);
    for (i = 0; i < r->rod.cells; i++) {
        difference = r->whole[i + 1] - serial[i + 1];
        difference = difference < 0 ? -difference : difference;
        worst = difference > worst ? difference : worst;
        different += memcmp(&r->whole[i + 1], &serial[i + 1], sizeof(double)) != 0;
        if (i % (r->rod.cells / 10 + 1) == 0)
            printf("%8ld  %10.7f  %10.7f  %10.3g\n", i, serial[i + 1], r->whole[i + 1], difference);
    }
    printf("%ld of %ld cells differ, by up to %g\n", different, r->rod.cells, worst);
    return memcmp(r->whole + 1, serial + 1, size) == 0 ? 0 : -1;
}

/* The run of rank 0 and what it found. */
static int parent_main(struct rank *r, struct children *c)
{
    struct phx_stats stats;
    uint64_t start = phx_now_us();
    double *serial;
    int result;

    r->whole = calloc((size_t)r->rod.cells + 2, sizeof(double));
    result = r->whole == NULL ? fail(r, "memory", PHX_ENOMEM) : parent_run(r, c);
    end_children(r, c);
    if (result == 0) {
        phx_stats(r->p, &stats);
        printf("%d ranks, %ld cells, %ld steps: %.2f s, rank 0 sent %llu messages\n", r->rod.ranks,
               r->rod.cells, r->rod.steps, (double)(phx_now_us() - start) / 1e6,
               (unsigned long long)stats.messages_out);
        serial = serial_run(&r->rod);
        result = serial == NULL ? fail(r, "memory", PHX_ENOMEM) : compare(r, serial);
        free(serial);
    }
    printf("heat: %s\n", result == 0 ? "the same as the serial run" : "FAILED");
    return result;
}

int main(int argc, char **argv)
{
    static struct rank r;     /* zero */
    static struct children c;
    int i, who = 0, result;

    r.rod.ranks = argc > 1 ? atoi(argv[1]) : 4;
    r.rod.cells = argc > 2 ? atol(argv[2]) : 1000;
    r.rod.steps = argc > 3 ? atol(argv[3]) : 1000;
    if (argc > 4 || r.rod.ranks < 1 || r.rod.ranks > RANKS_MAX || r.rod.cells < r.rod.ranks
        || r.rod.cells > 1000000 || r.rod.steps < 1 || r.rod.steps > 1000000) {
        fprintf(stderr, "usage: heat [RANKS, 1 to %d [CELLS [STEPS]]]\n", RANKS_MAX);
        return 2;
    }
    r.parent = -1;
    r.end = phx_now_us() + LIMIT_US;
    for (i = 0; i < RANKS_MAX; i++)
        c.pipe[i] = -1;
    signal(SIGPIPE, SIG_IGN); /* a child that died early is an error of write, not our end */
    for (i = 1; i < r.rod.ranks && who == 0; i++)
        who = start_child(&r, &c, i);
    if (who == 1)
        result = child_run(&r);
    else if (who == 0)
        result = parent_main(&r, &c);
    else
        end_children(&r, &c), result = -1;
    end(&r);
    return result == 0 ? 0 : 1;
}
