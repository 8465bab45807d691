/* nqueens.c - N queens on processes that may die: stealing, or master and workers; with extras/ph.
 *
 *     cc -std=c99 -O2 -I. -o nqueens examples/nqueens.c extras/ph/ph.c phoenix.c
 *     ./nqueens                      (14 queens, 4 processes, random stealing)
 *     ./nqueens -n 15 -p 8 -k 5      (and five of the processes are killed dead on the way)
 *     ./nqueens -m master -k 3 -s 7  (master and workers; kills as seed 7 has them)
 *
 * This is the program of Horita, Taura and Chikayama (2004), sections 5.2.1, 5.2.2 and 6. Process i
 * holds name i; process 0 holds the root task. Kill any process but that one, at any time, and the
 * count is right.
 *
 * A *task* is a board to be completed. A process works on its newest task: it splits it by rows
 * until a board is deep enough to be counted in less than a millisecond, and then it looks for
 * messages. A process without a task picks another at random and asks; that one gives away its
 * oldest task, which is its largest. To the thief the task is a *job*: it may be split, and parts
 * of it stolen again, and when all of it is counted one RESULT goes back to where it came from. So
 * the count flows up the same tree down which the tasks went.
 *
 * In the master-worker model there is one to ask, name 0, and it gives and does not count.
 *
 * What makes it survive is in three functions:
 *
 *     give     remembers what it gave to whom, under a number (ticket) that is never used again;
 *     redeem   counts a result if its ticket is still open. A ticket is closed when its thief breaks,
 *              so what a thief that was only believed dead says later counts nothing;
 *     repair   is the fault handler, called when ph_recv says PH_MSG_ERROR. Tasks at broken names
 *              are queued again. Jobs from broken names are dropped, since whoever gave that one its
 *              task does it again; and so down the tree (CANCEL). The one who dropped a job tells
 *              where it came from (DROP), in case that one lives and sees it otherwise.
 *
 * With -x nothing of that is done and with -d off nothing is detected: the paper's "Normal".
 *
 * The launcher, the parent of all, is no Phoenix node: it forks, kills if it is told to, waits,
 * prints and leaves no process behind.
 */
#define _POSIX_C_SOURCE 200809L
#include "extras/ph/ph.h"
#include "queens.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000u
#define PROCESSES_MAX 64
#define TASKS_MAX 4096 /* depth times width of a job, and tasks that came back */
#define JOBS_MAX 256   /* not finished, mostly waiting for thieves; nobody asks for more then */
#define GIFTS_MAX 1024 /* with thieves; nothing is given away beyond it */
#define NOBODY UINT64_MAX

#define ANSWER_US (SECOND / 2) /* who has not answered by then is not waited for */
#define PAUSE_MIN_US 500 /* after a refusal, doubling: all others may have nothing for a while */
#define PAUSE_MAX_US 16000
#define GATHER_US (2 * SECOND) /* the clock starts when all are there, or after this */
#define GOODBYE_US SECOND
#define STOPPED_US (3 * SECOND) /* longer than the fast detector's patience */
#define LIMIT_US (180u * SECOND) /* for the whole job */

#define DETECTOR_USUAL (-1) /* what there is if nothing is said: see begin */
#define DETECTOR_OFF (-2)

struct options {
    int n, processes, kills, stops, master, plain, quiet;
    int detector; /* enum phx_preset, or one of the two below */
    uint64_t seed, window_us; /* processes are killed within this time after the start */
    uint64_t interval_us;     /* T_interval instead of the preset's; 0: the preset's */
};

/* What each process tells the launcher at its end. */
struct report {
    uint64_t name, count, took_us;
    uint64_t stolen, redone, dropped; /* jobs it stole, tasks it queued again, jobs it gave up */
    uint64_t heartbeats_in, lived_us, cpu_us;
};

/* ---- A process: what it has ------------------------------------------------------------------ */

enum tag {
    ASK = 1, /* thief: serial */
    TASK,    /* answer: serial, ticket, row, columns, left, right */
    NONE,    /* answer: serial */
    RESULT,  /* to where a job came from: ticket, count */
    DROP,    /* to where a job came from: ticket; it will have no result from here */
    CANCEL,  /* to where a task went: ticket; its result is no longer wanted */
    STOP     /* name 0 to all: the count is known */
};

/* A board whose first rows are filled, and what job it is a part of. */
struct task {
    struct board board;
    int row, job;
};

struct job {
    uint64_t from, ticket; /* where the result goes; from NOBODY: this entry is free */
    uint64_t count;        /* solutions so far */
    uint64_t open;         /* parts not counted yet, here or with thieves */
};

struct gift {
    uint64_t ticket, thief;
    struct task task;
};

struct worker {
    struct ph *h;
    const struct options *o;
    uint64_t me, random;
    uint32_t all; /* columns */
    int leaf_row; /* boards with so many rows are counted at once */
    int give_row; /* the master gives boards with so many */
    struct task tasks[TASKS_MAX];
    struct job jobs[JOBS_MAX];
    struct gift gifts[GIFTS_MAX];
    int task_count, job_count, gift_count;
    uint64_t ticket;           /* the last one used */
    uint64_t asked, asked_us;  /* whom, NOBODY: nobody; and when */
    uint64_t serial;           /* of the last question */
    uint64_t pause_us, ask_us; /* after a refusal; when to ask again */
    int stop, failed;
    struct report report;
};

static void trouble(struct worker *w, const char *what, int err)
{
    fprintf(stderr, "nqueens: process %d: %s: %s\n", (int)w->me, what, phx_strerror(err));
    w->stop = w->failed = 1;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int send_words(struct worker *w, uint64_t to, enum tag tag, const uint64_t *words, int count)
{
    unsigned char bytes[8 * WORDS_MAX];
    int err = ph_send(w->h, to, w->me, tag, bytes, put_words(bytes, words, count), SECOND);

    if (err != 0 && err != PHX_EFAILED)
        trouble(w, "ph_send", err);
    return err;
}

static void push(struct worker *w, struct board board, int row, int job)
{
    struct task *t;

    if (w->task_count == TASKS_MAX) {
        trouble(w, "tasks", PHX_ELIMIT);
        return;
    }
    t = &w->tasks[w->task_count++];
    t->board = board;
    t->row = row;
    t->job = job;
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static int job_begin(struct worker *w, uint64_t from, uint64_t ticket, struct board board, int row)
{
    int j;

    for (j = 0; j < JOBS_MAX && w->jobs[j].from != NOBODY; j++)
        ;
    if (j == JOBS_MAX)
        return 0;
    w->jobs[j].from = from;
    w->jobs[j].ticket = ticket;
    w->jobs[j].count = 0;
    w->jobs[j].open = 1;
    w->job_count++;
    push(w, board, row, j);
    return 1;
}

static void job_end(struct worker *w, int j)
{
    w->jobs[j].from = NOBODY;
    w->job_count--;
}

/* So many parts of a job are counted. The last one makes it a result. */
static void job_part(struct worker *w, int j, uint64_t count)
{
    uint64_t words[2];

    w->jobs[j].count += count;
    if (--w->jobs[j].open > 0)
        return;
    if (w->jobs[j].from == w->me) { /* the root task */
        w->report.count = w->jobs[j].count;
        w->stop = 1;
    } else {
        words[0] = w->jobs[j].ticket;
        words[1] = w->jobs[j].count;
        send_words(w, w->jobs[j].from, RESULT, words, 2);
    }
    job_end(w, j);
}

/* Forgets a job and all its parts, also those with thieves. */
static void job_drop(struct worker *w, int j)
{
    int i, kept = 0;

    for (i = 0; i < w->task_count; i++)
        if (w->tasks[i].job != j)
            w->tasks[kept++] = w->tasks[i];
    w->task_count = kept;
    for (i = 0; i < w->gift_count;) {
        if (w->gifts[i].task.job != j) {
            i++;
            continue;
        }
        send_words(w, w->gifts[i].thief, CANCEL, &w->gifts[i].ticket, 1);
        w->gifts[i] = w->gifts[--w->gift_count];
    }
    job_end(w, j);
    w->report.dropped++;
}

/* Puts the parts of the newest task in its place; one that has none is counted: it has no solution. */
static void expand(struct worker *w)
{
    struct task t = w->tasks[--w->task_count];
    uint32_t rest = free_columns(w->all, t.board);

    for (; rest != 0; rest &= rest - 1) {
        push(w, with_queen(t.board, rest & (~rest + 1)), t.row + 1, t.job);
        w->jobs[t.job].open++;
    }
    job_part(w, t.job, 0);
}

/* Counts one board, in less than a millisecond. */
static void work(struct worker *w)
{
    struct task t;

    while (w->task_count > 0 && w->tasks[w->task_count - 1].row < w->leaf_row)
        expand(w);
    if (w->task_count == 0)
        return;
    t = w->tasks[--w->task_count];
    job_part(w, t.job, queens(w->all, t.board.columns, t.board.left, t.board.right));
}

/* ---- Giving and asking ----------------------------------------------------------------------- */

static int is_broken(struct worker *w, uint64_t name)
{
    struct phx_range one;
    struct ph_vps set = PH_VPS_EMPTY; /* on the stack: this is asked for every gift */

    one.first = one.last = name;
    set.ranges = &one;
    set.count = 1;
    return ph_exist_broken_vps(w->h, &set);
}

/* The task to give away, taken out; 0 if there is none to spare. */
static int spare(struct worker *w, struct task *out)
{
    if (w->o->master) {
        while (w->task_count > 0 && w->tasks[w->task_count - 1].row < w->give_row)
            expand(w);
        if (w->task_count == 0)
            return 0;
        *out = w->tasks[--w->task_count];
        return 1;
    }
    if (w->task_count < 2)
        return 0;
    *out = w->tasks[0];
    memmove(w->tasks, w->tasks + 1, (size_t)--w->task_count * sizeof *w->tasks);
    return 1;
}

static void give(struct worker *w, uint64_t thief, uint64_t serial)
{
    struct gift *g = &w->gifts[w->gift_count];
    uint64_t words[6];

    if (!w->o->plain && is_broken(w, thief))
        return; /* it asked before it broke; there will be no second error to bring the task back */
    words[0] = serial;
    if (w->gift_count == GIFTS_MAX || w->stop || !spare(w, &g->task)) {
        send_words(w, thief, NONE, words, 1);
        return;
    }
    g->thief = thief;
    g->ticket = ++w->ticket;
    w->gift_count++;
    words[1] = g->ticket;
    words[2] = (uint64_t)g->task.row;
    words[3] = g->task.board.columns;
    words[4] = g->task.board.left;
    words[5] = g->task.board.right;
    if (send_words(w, thief, TASK, words, 6) != 0) {
        w->tasks[w->task_count++] = g->task;
        w->gift_count--;
    }
}

/* One of those who can be reached, at random. */
static uint64_t victim(struct worker *w)
{
    struct ph_vps held = PH_VPS_EMPTY;
    uint64_t name = NOBODY;
    int err;

    if (w->o->master)
        return 0;
    if ((err = ph_get_held_vps(w->h, NULL, &held)) != 0
        || (err = ph_vps_remove(&held, w->me, w->me)) != 0)
        trouble(w, "ph_get_held_vps", err);
    else if (held.count > 0)
        ph_vps_at(&held, draw(&w->random) % ph_vps_size(&held), &name);
    ph_vps_free(&held);
    return name;
}

/* Sees to it that somebody is asked. Returns for how long to wait for the answer. */
static uint64_t beg(struct worker *w)
{
    uint64_t now = phx_now_us();

    if (w->asked != NOBODY && now - w->asked_us < ANSWER_US)
        return ANSWER_US - (now - w->asked_us);
    if (now < w->ask_us)
        return w->ask_us - now;
    if (w->me == 0 && w->o->master)
        return ANSWER_US; /* who gives does not ask */
    if (w->job_count < JOBS_MAX && (w->asked = victim(w)) != NOBODY) {
        w->asked_us = now;
        w->serial++;
        send_words(w, w->asked, ASK, &w->serial, 1);
        return ANSWER_US;
    }
    return PAUSE_MAX_US;
}

static void refused(struct worker *w, uint64_t serial)
{
    if (serial != w->serial)
        return; /* an answer that came too late */
    w->asked = NOBODY;
    w->ask_us = phx_now_us() + w->pause_us;
    w->pause_us = 2 * w->pause_us < PAUSE_MAX_US ? 2 * w->pause_us : PAUSE_MAX_US;
}

/* A task that comes late is one that somebody remembers to have given, so it is done all the same. */
static void given(struct worker *w, uint64_t from, const uint64_t *words)
{
    struct board b;

    b.columns = (uint32_t)words[3] & w->all;
    b.left = (uint32_t)words[4];
    b.right = (uint32_t)words[5];
    if (words[0] == w->serial) {
        w->asked = NOBODY;
        w->pause_us = PAUSE_MIN_US;
    }
    if (job_begin(w, from, words[1], b, (int)(words[2] % 32)))
        w->report.stolen++;
    else
        send_words(w, from, DROP, words + 1, 1);
}

/* ---- Results and failures -------------------------------------------------------------------- */

/* Closes a ticket. 0 if it is closed already: what comes with it does not count. */
static int redeem(struct worker *w, uint64_t ticket, uint64_t thief, struct task *out)
{
    int i;

    for (i = 0; i < w->gift_count; i++) {
        if (w->gifts[i].ticket != ticket || w->gifts[i].thief != thief)
            continue;
        *out = w->gifts[i].task;
        w->gifts[i] = w->gifts[--w->gift_count];
        return 1;
    }
    return 0;
}

static void again(struct worker *w, struct task t)
{
    push(w, t.board, t.row, t.job);
    w->report.redone++;
}

static void cancelled(struct worker *w, uint64_t from, uint64_t ticket)
{
    int j;

    for (j = 0; j < JOBS_MAX; j++)
        if (w->jobs[j].from == from && w->jobs[j].ticket == ticket)
            job_drop(w, j);
}

/* The fault handler of the paper: what the broken had is done again, what they wanted is dropped. */
static void repair(struct worker *w)
{
    struct ph_vps broken = PH_VPS_EMPTY;
    struct gift lost;
    int i, err = ph_get_broken_vps(w->h, NULL, &broken);
    uint64_t ticket, from;

    if (err != 0)
        trouble(w, "ph_get_broken_vps", err);
    for (i = 0; i < w->gift_count;) {
        if (!ph_vps_contains(&broken, w->gifts[i].thief)) {
            i++;
            continue;
        }
        lost = w->gifts[i];
        w->gifts[i] = w->gifts[--w->gift_count];
        again(w, lost.task);
    }
    for (i = 0; i < JOBS_MAX; i++) {
        from = w->jobs[i].from;
        ticket = w->jobs[i].ticket;
        if (from == NOBODY || from == w->me || !ph_vps_contains(&broken, from))
            continue;
        job_drop(w, i);
        send_words(w, from, DROP, &ticket, 1);
    }
    if (w->asked != NOBODY && ph_vps_contains(&broken, w->asked))
        w->asked = NOBODY;
    if (ph_vps_contains(&broken, 0) && w->me != 0)
        w->stop = w->failed = 1; /* no root task any more */
    ph_vps_free(&broken);
}

static void handle(struct worker *w, const struct ph_msg *m)
{
    uint64_t words[WORDS_MAX];
    int count = get_words(m->data, m->size, words);
    struct task t;

    if (m->tag == ASK && count == 1)
        give(w, m->from, words[0]);
    else if (m->tag == TASK && count == 6)
        given(w, m->from, words);
    else if (m->tag == NONE && count == 1)
        refused(w, words[0]);
    else if (m->tag == RESULT && count == 2 && redeem(w, words[0], m->from, &t))
        job_part(w, t.job, words[1]);
    else if (m->tag == DROP && count == 1 && redeem(w, words[0], m->from, &t))
        again(w, t);
    else if (m->tag == CANCEL && count == 1)
        cancelled(w, m->from, words[0]);
    else if (m->tag == STOP)
        w->stop = 1;
}

/* ---- A process: its life --------------------------------------------------------------------- */

static int seek_work(const struct worker *w)
{
    return w->task_count == 0 || (w->me == 0 && w->o->master && w->o->processes > 1);
}

static void serve(struct worker *w)
{
    struct ph_msg *m;
    pid_t parent = getppid();
    uint64_t wait_us;
    int err;

    while (!w->stop) {
        wait_us = 0;
        if (seek_work(w))
            wait_us = beg(w);
        else
            work(w);
        if (getppid() != parent)
            w->stop = w->failed = 1; /* the launcher is dead: nobody wants to know */
        while (!w->stop && (err = ph_recv_any(w->h, wait_us, &m)) != PHX_ETIMEDOUT) {
            wait_us = 0;
            if (err == 0)
                handle(w, m);
            else if (err == PH_MSG_ERROR)
                repair(w);
            else
                trouble(w, "ph_recv", err);
            ph_msg_free(w->h, m);
        }
    }
}

/* All are there, or some do not come. */
static void gather(struct worker *w)
{
    uint64_t end = phx_now_us() + GATHER_US;
    struct ph_vps held = PH_VPS_EMPTY;

    while (ph_get_held_vps(w->h, NULL, &held) == 0 && ph_vps_size(&held) < (uint64_t)w->o->processes
           && phx_now_us() < end) {
        poll(NULL, 0, 1);
        ph_poll(w->h);
    }
    ph_vps_free(&held);
}

static void stop_all(struct worker *w)
{
    struct ph_vps held = PH_VPS_EMPTY;
    uint64_t i, name;

    if (ph_get_held_vps(w->h, NULL, &held) == 0)
        for (i = 0; ph_vps_at(&held, i, &name) == 0; i++)
            if (name != w->me)
                send_words(w, name, STOP, NULL, 0);
    ph_vps_free(&held);
}

static void set_detector(const struct options *o, struct phx_detector *d)
{
    if (o->detector >= 0)
        phx_detector_preset(d, o->detector);
    else if (o->detector == DETECTOR_USUAL)
        d->broken_us = SECOND / 2; /* the killed close their sockets: this alone counts */
    if (o->interval_us != 0) {
        d->interval_us = o->interval_us;
        d->insurance_us = 40 * o->interval_us; /* the paper's ratio */
    }
    if (o->detector == DETECTOR_OFF) { /* as far as it can be: nothing is said within an hour */
        d->monitors = 1;
        d->interval_us = d->insurance_us = 3600ull * SECOND;
    }
}

static int begin(struct worker *w, int *port)
{
    struct ph_vps nothing = PH_VPS_EMPTY;
    struct ph_config cfg;
    struct phx_address at;
    char hub[64];
    int err, j;

    for (j = 0; j < JOBS_MAX; j++)
        w->jobs[j].from = NOBODY;
    w->asked = NOBODY;
    w->pause_us = PAUSE_MIN_US;
    w->random = (w->o->seed + 1) * 0x9e3779b97f4a7c15u + w->me * 0x632be59bd9b4e019u;
    w->all = columns_of(w->o->n);
    w->leaf_row = w->o->n > 15 ? w->o->n - 12 : 3;
    w->give_row = w->leaf_row - 1;
    ph_config_init(&cfg);
    cfg.core.cluster = "queens";
    set_detector(w->o, &cfg.core.detector);
    if ((err = ph_init(&w->h, &cfg)) != 0 || (err = ph_assume(w->h, w->me, w->me)) != 0
        || (err = phx_listen(ph_core(w->h), "tcp://127.0.0.1:0")) != 0
        || (w->o->plain && (err = ph_watch(w->h, &nothing)) != 0))
        return err;
    if (w->me == 0) {
        err = phx_listening(ph_core(w->h), 0, &at);
        *port = at.port;
        return err;
    }
    snprintf(hub, sizeof hub, "tcp://127.0.0.1:%d", *port);
    return phx_join(ph_core(w->h), hub);
}

static void fill_report(struct worker *w, uint64_t started)
{
    struct phx_stats stats;
    struct rusage used;

    phx_stats(ph_core(w->h), &stats);
    getrusage(RUSAGE_SELF, &used);
    w->report.name = w->me;
    w->report.heartbeats_in = stats.heartbeats_in;
    w->report.lived_us = phx_now_us() - started;
    w->report.cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND
                       + (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Process `me`, from its first moment to its last. The port goes up one pipe (of process 0) and the
 * report another. */
static int live(const struct options *o, int me, int port, int port_out, int out)
{
    static struct worker w; /* zero */
    static const struct board empty;
    uint64_t started = phx_now_us(), now;
    int err;

    w.o = o;
    w.me = (uint64_t)me;
    if ((err = begin(&w, &port)) != 0)
        trouble(&w, "begin", err);
    if (me == 0 && err == 0) {
        if (write(port_out, &port, sizeof port) != (ssize_t)sizeof port)
            trouble(&w, "port", PHX_EIO);
        if (o->kills == 0)
            gather(&w);
        job_begin(&w, 0, 0, empty, 0);
    }
    now = phx_now_us();
    if (err == 0)
        serve(&w);
    w.report.took_us = phx_now_us() - now;
    if (w.h != NULL && !w.failed) {
        fill_report(&w, started);
        if (me == 0)
            stop_all(&w);
        if (write(out, &w.report, sizeof w.report) != (ssize_t)sizeof w.report)
            w.failed = 1;
    }
    if (me == 0)
        ph_flush(w.h, GOODBYE_US);
    ph_finalize(w.h, me == 0 ? GOODBYE_US : 0);
    return w.failed;
}

/* ---- The launcher ---------------------------------------------------------------------------- */

struct launcher {
    const struct options *o;
    pid_t pids[PROCESSES_MAX];       /* 0: not started, or ended and waited for */
    uint64_t kill_us[PROCESSES_MAX]; /* when, after the start; 0: never */
    uint64_t wake_us[PROCESSES_MAX]; /* when one that was stopped goes on */
    int killed;
    int reports[2];
    struct report root, sum; /* of process 0; and of all */
    int reported, root_ended;
};

static int launch(struct launcher *l, int me, int port, int port_pipe[2])
{
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) < 0)
        return -1;
    if (pid == 0) {
        close(l->reports[0]);
        close(port_pipe[0]);
        exit(live(l->o, me, port, port_pipe[1], l->reports[1]));
    }
    l->pids[me] = pid;
    return 0;
}

/* Who dies when: any but process 0, each at a random moment of the window. */
static void draw_kills(struct launcher *l)
{
    uint64_t random = (l->o->seed + 1) * 0x9e3779b97f4a7c15u;
    int left = l->o->kills, i;

    while (left > 0) {
        i = 1 + (int)(draw(&random) % (uint64_t)(l->o->processes - 1));
        if (l->kill_us[i] != 0)
            continue;
        l->kill_us[i] = 1 + draw(&random) % l->o->window_us;
        left--;
    }
}

/* A process that is stopped and goes on much later is one that was only believed dead. */
static void kill_due(struct launcher *l, uint64_t since)
{
    int i;

    for (i = 1; i < l->o->processes; i++) {
        if (l->wake_us[i] != 0 && (l->wake_us[i] <= since || l->root_ended) && l->pids[i] > 0) {
            kill(l->pids[i], SIGCONT);
            l->wake_us[i] = 0;
        }
        if (l->kill_us[i] == 0 || l->kill_us[i] > since || l->pids[i] <= 0)
            continue;
        kill(l->pids[i], l->o->stops ? SIGSTOP : SIGKILL);
        l->wake_us[i] = l->o->stops ? since + STOPPED_US : 0;
        l->kill_us[i] = 0;
        l->killed++;
        if (!l->o->quiet)
            printf("%6.3f s  process %d (pid %ld) is %s\n", (double)since / 1e6, i,
                   (long)l->pids[i], l->o->stops ? "stopped" : "killed");
    }
}

/* Waits for who has ended; how many have not. */
static int reap(struct launcher *l)
{
    int i, running = 0;

    for (i = 0; i < l->o->processes; i++) {
        if (l->pids[i] <= 0)
            continue;
        if (waitpid(l->pids[i], NULL, WNOHANG) == l->pids[i]) {
            l->pids[i] = 0;
            l->root_ended |= i == 0;
        } else {
            running++;
        }
    }
    return running;
}

static void read_reports(struct launcher *l, int ms)
{
    struct pollfd fd;
    struct report r;

    fd.fd = l->reports[0];
    fd.events = POLLIN;
    while (poll(&fd, 1, ms) > 0 && (fd.revents & POLLIN)
           && read(fd.fd, &r, sizeof r) == (ssize_t)sizeof r) {
        if (r.name == 0)
            l->root = r;
        l->sum.stolen += r.stolen;
        l->sum.redone += r.redone;
        l->sum.dropped += r.dropped;
        l->sum.heartbeats_in += r.heartbeats_in;
        l->sum.lived_us += r.lived_us;
        l->sum.cpu_us += r.cpu_us;
        l->reported++;
        ms = 0;
    }
}

/* Until all have ended: the root task is the measure of time, and who stays behind it is ended. */
static void wait_for_all(struct launcher *l)
{
    uint64_t start = phx_now_us(), since = 0, over = LIMIT_US;
    int i;

    while (reap(l) > 0) {
        read_reports(l, 5);
        since = phx_now_us() - start;
        kill_due(l, since);
        if (l->root_ended && over == LIMIT_US)
            over = since + 2 * GOODBYE_US;
        if (since < over)
            continue;
        for (i = 0; i < l->o->processes; i++)
            if (l->pids[i] > 0)
                kill(l->pids[i], SIGKILL);
    }
    read_reports(l, 0);
}

static int print_result(const struct launcher *l)
{
    const struct options *o = l->o;
    uint64_t known = queens_known(o->n);
    int right = l->root.took_us != 0 && l->root.count == known;

    if (o->quiet)
        printf("%s\t%d\t%d\t%s\t%s\t%d\t%" PRIu64 "\t%.4f\t%" PRIu64 "\t%" PRIu64 "\t%.4f\t%" PRIu64
               "\t%.4f\n",
               right ? "right" : "WRONG", o->n, o->processes, o->master ? "master" : "steal",
               o->plain ? "plain" : "tolerant", l->killed, l->root.count,
               (double)l->root.took_us / 1e6, l->sum.stolen, l->sum.redone,
               (double)l->sum.cpu_us / 1e6, l->sum.heartbeats_in, (double)l->sum.lived_us / 1e6);
    else
        printf("%" PRIu64 " solutions for %d queens, known are %" PRIu64
               "; %.3f s, %d processes (%s), %d killed, "
               "%" PRIu64 " jobs stolen, %" PRIu64 " tasks done again\nnqueens: %s\n",
               l->root.count, o->n, known, (double)l->root.took_us / 1e6, o->processes,
               o->master ? "master and workers" : "random stealing", l->killed, l->sum.stolen,
               l->sum.redone, right ? "all is right" : "FAILED");
    return right ? 0 : 1;
}

static int run(const struct options *o)
{
    static struct launcher l; /* zero */
    int port_pipe[2], port = 0, i;

    l.o = o;
    if (pipe(port_pipe) != 0 || pipe(l.reports) != 0 || launch(&l, 0, 0, port_pipe) != 0) {
        perror("nqueens: start");
        return 1;
    }
    close(port_pipe[1]);
    port_pipe[1] = -1;
    if (read(port_pipe[0], &port, sizeof port) == (ssize_t)sizeof port) {
        draw_kills(&l);
        for (i = 1; i < o->processes; i++)
            if (launch(&l, i, port, port_pipe) != 0)
                perror("nqueens: fork"); /* with fewer it works as well */
    }
    close(port_pipe[0]);
    wait_for_all(&l);
    return print_result(&l);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: nqueens [options]\n"
            "  -n N         queens, %d to %d (14)\n"
            "  -p COUNT     processes, 1 to %d (4)\n"
            "  -m MODEL     steal or master (steal)\n"
            "  -k COUNT     so many of them, fewer than there are, are killed ...\n"
            "  -t MS        ... within this time after the start (1000) ...\n"
            "  -s SEED      ... at random moments (1)\n"
            "  -z           not killed but stopped, for 3 s\n"
            "  -x           no fault handling\n"
            "  -d DETECTOR  off, default, paper or fast; else as default, but T_broken is 0.5 s\n"
            "  -i MS        its T_interval; T_insurance is 40 times that\n"
            "  -q           prints one line with tabs\n",
            N_MIN, N_MAX, PROCESSES_MAX);
    return 2;
}

static int detector_of(const char *name)
{
    static const char *const names[] = { "default", "paper", "fast", "off" };
    static const int detectors[] = { PHX_PRESET_DEFAULT, PHX_PRESET_PAPER, PHX_PRESET_FAST,
                                     DETECTOR_OFF };
    int i;

    for (i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return detectors[i];
    return DETECTOR_USUAL;
}

/* 0 if there is something wrong with them. */
static int read_options(struct options *o, int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "n:p:m:k:s:t:d:i:xqz")) != -1) {
        switch (c) {
        case 'n': o->n = atoi(optarg); break;
        case 'p': o->processes = atoi(optarg); break;
        case 'k': o->kills = atoi(optarg); break;
        case 's': o->seed = strtoull(optarg, NULL, 10); break;
        case 't': o->window_us = strtoull(optarg, NULL, 10) * 1000; break;
        case 'i': o->interval_us = strtoull(optarg, NULL, 10) * 1000; break;
        case 'd':
            if ((o->detector = detector_of(optarg)) == DETECTOR_USUAL)
                return 0;
            break;
        case 'x': o->plain = 1; break;
        case 'q': o->quiet = 1; break;
        case 'z': o->stops = 1; break;
        case 'm':
            o->master = strcmp(optarg, "master") == 0;
            if (!o->master && strcmp(optarg, "steal") != 0)
                return 0;
            break;
        default: return 0;
        }
    }
    return optind == argc && o->n >= N_MIN && o->n <= N_MAX && o->processes >= 1
           && o->processes <= PROCESSES_MAX && o->kills >= 0
           && (o->kills == 0 || o->kills < o->processes) && o->window_us > 0;
}

int main(int argc, char **argv)
{
    static struct options o; /* zero */

    o.n = 14;
    o.processes = 4;
    o.seed = 1;
    o.window_us = SECOND;
    o.detector = DETECTOR_USUAL;
    if (!read_options(&o, argc, argv))
        return usage();
    signal(SIGPIPE, SIG_IGN); /* a launcher that died is seen by getppid */
    return run(&o);
}
