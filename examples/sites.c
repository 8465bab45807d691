/* nqueens.c - a job over three sites: N queens by work-sharing, while processes come and go.
 *
 *     cc -std=c99 -O2 -I. -o nqueens examples/nqueens.c phoenix.c
 *     ./nqueens                       (or: ./nqueens N, for N from 8 to 17; -v shows the log)
 *
 * Nine processes on this machine play three sites behind firewalls. Each site has a gateway (G1 to
 * G3) that listens; its other processes do not, and are told nothing but their own gateway's port.
 * The other gateways they find by themselves. No worker can ever be linked with another one or with
 * the coordinator: nobody listens there. Gateways carry it all.
 *
 *     C, the coordinator, holds name 0 and the tasks: boards whose first rows are filled.
 *     W1 to W5, the workers, hold two names each, 10k and 10k+1. A name is a *seat*: a seat asks
 *     name 0 for a task, works on it, and reports the count, which asks for the next.
 *
 * W5 comes late and gets work. W3 leaves midway: it hands its seats and the tasks on them, half
 * done, to W4, which assumes the names. Nobody else is told: messages to the names follow them.
 *
 * (Meanwhile kill -9 a gateway: the work goes on, though the judge at the end will not like it.)
 *
 * Nothing is lost, whatever the timing, by two rules of the application: a seat that gets no answer
 * asks again, and a seat that has been given a task already is answered with that same task.
 *
 * The driver, the parent of all, is no Phoenix node. It sends commands down a pipe to each child,
 * reads what they report from another, line by line, prints, and judges. The end of file on its
 * pipe tells a child that the driver is dead, and it ends. Words of the pipes:
 *
 *     down: "join PORT" "leave HEIR" "all" "report" "stop"
 *     up:   "id ID" "port PORT" "tasks N" "done N INDEX" "seat NAME" "took NAME TASK BRANCHES"
 *           "left ID" "solved COUNT" "link ID DIALER" "route ID HOPS NEXT" "stats ..." "end"
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000u
#define LIMIT_US (18u * SECOND)   /* for the whole job; the driver then says what is missing */
#define LATE_US (SECOND * 3u / 2) /* W5 comes after this, or earlier if the work goes fast */
#define RETRY_US SECOND           /* a seat without an answer asks again */
#define OVERDUE_US (3u * SECOND)  /* a task given this long ago may be given once more at the end */
#define CLOSE_US SECOND           /* to say goodbye */
#define FDS_MAX 64                /* nine processes have far fewer links */

enum role { GATEWAY, COORDINATOR, WORKER };
enum { G1, G2, G3, C, W1, W2, W3, W4, W5, ACTORS, LEAVER = W3, HEIR = W4, LATE = W5 };

static const struct {
    const char *label;
    enum role role;
    int site;
    int gateway; /* which it joins; G1 joins nobody */
} cast[ACTORS] = {
    { "G1", GATEWAY, 1, -1 },    { "G2", GATEWAY, 2, G1 }, { "G3", GATEWAY, 3, G1 },
    { "C", COORDINATOR, 1, G1 }, { "W1", WORKER, 1, G1 },  { "W2", WORKER, 2, G2 },
    { "W3", WORKER, 2, G2 },     { "W4", WORKER, 3, G3 },  { "W5", WORKER, 3, G3 },
};

/* ---- Queens: what is computed -------------------------------------------------------------- */

/* Rows are filled from the top; a bit per column. left and right are the diagonals under attack. */
struct board {
    uint32_t columns, left, right;
};

#define N_MIN 8
#define N_MAX 17

static const uint64_t known[] = { /* solutions for N_MIN to N_MAX, OEIS A000170 */
    92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512, 95815104
};

static uint32_t columns_of(int n)
{
    return ((uint32_t)1 << n) - 1;
}

static uint32_t free_columns(uint32_t all, struct board b)
{
    return all & ~(b.columns | b.left | b.right);
}

static struct board with_queen(struct board b, uint32_t column)
{
    b.columns |= column;
    b.left = (b.left | column) << 1;
    b.right = (b.right | column) >> 1;
    return b;
}

/* Solutions that contain this board. Recursive, but never deeper than N. Here the three words of a
 * board stand alone, because compilers keep them in registers then: a third of the time. */
static uint64_t queens(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    uint32_t rest = all & ~(columns | left | right), column;
    uint64_t count = 0;

    if (columns == all)
        return 1;
    for (; rest != 0; rest &= rest - 1) {
        column = rest & (~rest + 1);
        count += queens(all, columns | column, (left | column) << 1, (right | column) >> 1);
    }
    return count;
}

/* The largest N up to 16 whose count takes two cores like this one less than 12 seconds. Measured
 * is time on the clock, long enough to feel what else the machine has to do. */
static int choose_n(void)
{
    uint64_t start = phx_now_us(), took;
    int i, right = 1;

    for (i = 0; i < 20; i++)
        right &= queens(columns_of(12), 0, 0, 0) == known[12 - N_MIN];
    took = (phx_now_us() - start) / 20;
    took = took * 1340 / 2; /* N = 16 visits 1340 times as many boards as N = 12 */
    return right && took < 12 * SECOND ? 16 : took < 80 * SECOND ? 15 : 14;
}

/* ---- Lines over pipes ---------------------------------------------------------------------- */

struct lines {
    char text[4096];
    size_t size, start;
};

/* Reads what is there. 0: the end of the file, or an error, which is the end as well. */
static int lines_read(struct lines *l, int fd)
{
    ssize_t got;

    memmove(l->text, l->text + l->start, l->size - l->start);
    l->size -= l->start;
    l->start = 0;
    if (l->size == sizeof l->text) /* no line of ours is that long */
        l->size = 0;
    got = read(fd, l->text + l->size, sizeof l->text - l->size);
    if (got < 0 && errno == EINTR)
        return 1;
    l->size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static char *lines_next(struct lines *l)
{
    char *line = l->text + l->start, *end = memchr(line, '\n', l->size - l->start);

    if (end == NULL)
        return NULL;
    *end = 0;
    l->start = (size_t)(end + 1 - l->text);
    return line;
}

/* A line in one write: shorter than PIPE_BUF, so it arrives whole. */
static void put_line(int fd, const char *format, va_list args)
{
    char line[400];
    int size = vsnprintf(line, sizeof line - 1, format, args);

    if (size < 0)
        return;
    if (size > (int)sizeof line - 2)
        size = (int)sizeof line - 2;
    line[size++] = '\n';
    while (write(fd, line, (size_t)size) < 0 && errno == EINTR)
        ;
}

/* ---- A child: what all roles share --------------------------------------------------------- */

#define NONE UINT64_MAX
#define SEATS_MAX 8
#define WORDS_MAX 8

/* The tags of messages, and the 64-bit words in them. They travel in network order. */
enum tag {
    REPORT = 1, /* seat to name 0: task or NONE, count, index of the process */
    TASK,       /* name 0 to seat: task, columns, left, right */
    HAND,       /* leaver to heir: seat, task, columns, left, right, rest, count, busy */
    TOOK        /* heir to leaver: seat */
};

struct seat {
    uint64_t name;
    uint64_t task;       /* the last one given to it, or NONE */
    struct board board;
    uint32_t rest;       /* branches of the board still to be counted */
    uint64_t count;      /* solutions in the others */
    int busy;            /* 0: the task is done, or there is none */
    int handed;          /* the heir has it */
    uint64_t told_us;    /* when it was last reported, or handed over; 0: not yet */
};

struct child {
    phx *p;
    int index, n;
    uint32_t all;         /* columns */
    int in, out;          /* pipes from and to the driver */
    struct lines commands;
    int quit, orphan, failed;
    int more;             /* the last phx_step left work */
    uint64_t now;
    struct seat seats[SEATS_MAX];
    int seat_count, seat_next;
    uint64_t leave_us;    /* not 0: told to leave then */
    uint64_t heir;        /* this name gets the seats then */
    int leaving;          /* nothing is worked on any more, only handed over */
    struct coordinator *c;
};

static void say(struct child *ch, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_line(ch->out, format, args);
    va_end(args);
}

static void trouble(struct child *ch, const char *what, int err)
{
    say(ch, "error %s: %s", what, phx_strerror(err));
    ch->failed = ch->quit = 1;
}

/* What is not sent for lack of room is asked for again: see RETRY_US. */
static void send_words(struct child *ch, uint64_t to, uint64_t from, enum tag tag,
                       const uint64_t *words, int count)
{
    unsigned char bytes[8 * WORDS_MAX];
    int i, err;

    for (i = 0; i < 8 * count; i++)
        bytes[i] = (unsigned char)(words[i / 8] >> (56 - 8 * (i % 8)));
    err = phx_send(ch->p, to, from, tag, bytes, (size_t)(8 * count));
    if (err != 0 && err != PHX_EAGAIN)
        trouble(ch, "phx_send", err);
}

static int get_words(const struct phx_message *m, uint64_t words[WORDS_MAX])
{
    const unsigned char *bytes = m->data;
    size_t i;

    if (m->size % 8 != 0 || m->size > 8 * WORDS_MAX)
        return 0;
    memset(words, 0, 8 * WORDS_MAX);
    for (i = 0; i < m->size; i++)
        words[i / 8] = words[i / 8] << 8 | bytes[i];
    return (int)(m->size / 8);
}

/* ---- The coordinator: name 0 --------------------------------------------------------------- */

#define DEPTH 3                    /* rows filled by the coordinator */
#define TASKS_MAX (17 * 17 * 17)
#define NAMES_MAX 32

struct coordinator {
    struct {
        struct board board;
        uint64_t given_us;         /* 0: to nobody yet */
        int done;
    } tasks[TASKS_MAX];
    uint64_t total, next, done, sum;
    uint64_t limit;                /* below this tasks may be given; see "all" */
    struct {
        uint64_t name, task;       /* the task given and not yet reported, or NONE */
        int waiting;
    } seats[NAMES_MAX];
    int seat_count;
};

static void split(struct coordinator *c, uint32_t all, struct board b, int depth)
{
    uint32_t rest = free_columns(all, b);

    if (depth == 0) {
        c->tasks[c->total++].board = b;
        return;
    }
    for (; rest != 0; rest &= rest - 1)
        split(c, all, with_queen(b, rest & (~rest + 1)), depth - 1);
}

static int coordinator_seat(struct child *ch, uint64_t name)
{
    struct coordinator *c = ch->c;
    int i;

    for (i = 0; i < c->seat_count; i++)
        if (c->seats[i].name == name)
            return i;
    if (i == NAMES_MAX)
        return -1;
    c->seats[c->seat_count++].name = name;
    c->seats[i].task = NONE;
    say(ch, "seat %" PRIu64, name);
    return i;
}

/* The next task to give. When all are given, one that is overdue: its worker may have died. */
static uint64_t coordinator_pick(struct child *ch)
{
    struct coordinator *c = ch->c;
    uint64_t i;

    if (c->next < c->limit)
        return c->next++;
    if (c->limit == c->total)
        for (i = 0; i < c->total; i++)
            if (!c->tasks[i].done && ch->now - c->tasks[i].given_us > OVERDUE_US)
                return i;
    return NONE;
}

/* Gives seat i the task it has, or a new one, or lets it wait if there is none. */
static void coordinator_answer(struct child *ch, int i)
{
    struct coordinator *c = ch->c;
    uint64_t words[4], task = c->seats[i].task;

    if (task == NONE || c->tasks[task].done)
        task = c->seats[i].task = coordinator_pick(ch);
    c->seats[i].waiting = task == NONE;
    if (task == NONE)
        return;
    c->tasks[task].given_us = ch->now;
    words[0] = task;
    words[1] = c->tasks[task].board.columns;
    words[2] = c->tasks[task].board.left;
    words[3] = c->tasks[task].board.right;
    send_words(ch, c->seats[i].name, 0, TASK, words, 4);
}

static void coordinator_report(struct child *ch, const struct phx_message *m, const uint64_t *words)
{
    struct coordinator *c = ch->c;
    uint64_t task = words[0];
    int i = coordinator_seat(ch, m->from);

    if (task < c->total && !c->tasks[task].done) {
        c->tasks[task].done = 1;
        c->sum += words[1];
        c->done++;
        say(ch, "done %" PRIu64 " %" PRIu64, c->done, words[2]);
        if (c->done == c->total)
            say(ch, "solved %" PRIu64, c->sum);
    }
    if (i >= 0)
        coordinator_answer(ch, i);
}

/* Until the late one is in and the leaver gone, the last quarter of the tasks is held back: so the
 * show is the same on a machine that is faster than we thought. */
static void coordinator_all(struct child *ch)
{
    struct coordinator *c = ch->c;
    int i;

    c->limit = c->total;
    for (i = 0; i < c->seat_count; i++)
        if (c->seats[i].waiting)
            coordinator_answer(ch, i);
}

static int coordinator_begin(struct child *ch)
{
    struct board empty = { 0, 0, 0 };

    if ((ch->c = calloc(1, sizeof *ch->c)) == NULL)
        return PHX_ENOMEM;
    split(ch->c, ch->all, empty, DEPTH);
    ch->c->limit = ch->c->total * 3 / 4;
    say(ch, "tasks %" PRIu64, ch->c->total);
    return phx_assume(ch->p, 0, 0);
}

/* ---- A worker: its seats ------------------------------------------------------------------- */

static struct seat *seat_of(struct child *ch, uint64_t name)
{
    int i;

    for (i = 0; i < ch->seat_count; i++)
        if (ch->seats[i].name == name)
            return &ch->seats[i];
    return NULL;
}

static int worker_begin(struct child *ch)
{
    uint64_t name = (uint64_t)(ch->index - W1 + 1) * 10;
    int i;

    for (i = 0; i < 2; i++) {
        ch->seats[i].name = name + (uint64_t)i;
        ch->seats[i].task = NONE;
    }
    ch->seat_count = 2;
    return phx_assume(ch->p, name, name + 1);
}

static void seat_report(struct child *ch, struct seat *s)
{
    uint64_t words[3];

    words[0] = s->task;
    words[1] = s->count;
    words[2] = (uint64_t)ch->index;
    s->told_us = ch->now;
    send_words(ch, 0, s->name, REPORT, words, 3);
}

static void seat_task(struct child *ch, const struct phx_message *m, const uint64_t *words)
{
    struct seat *s = seat_of(ch, m->to);

    /* A task it has or had is the answer to a question asked twice. */
    if (s == NULL || s->busy || s->task == words[0])
        return;
    s->task = words[0];
    s->board.columns = (uint32_t)words[1];
    s->board.left = (uint32_t)words[2];
    s->board.right = (uint32_t)words[3];
    s->rest = free_columns(ch->all, s->board);
    s->count = 0;
    s->busy = 1;
}

/* One branch of one task, a millisecond or less, then Phoenix has its turn again. Seats take turns.
 * Returns 0 if there is nothing to do. */
static int work(struct child *ch)
{
    struct seat *s = NULL;
    struct board b;
    int i;

    for (i = 0; i < ch->seat_count && (s == NULL || !s->busy); i++)
        s = &ch->seats[ch->seat_next++ % ch->seat_count];
    if (s == NULL || !s->busy || ch->leaving)
        return 0;
    if (s->rest != 0) {
        b = with_queen(s->board, s->rest & (~s->rest + 1));
        s->count += queens(ch->all, b.columns, b.left, b.right);
        s->rest &= s->rest - 1;
    }
    if (s->rest == 0) {
        s->busy = 0;
        seat_report(ch, s);
    }
    return 1;
}

static void seat_hand(struct child *ch, struct seat *s)
{
    uint64_t words[8];

    words[0] = s->name;
    words[1] = s->task;
    words[2] = s->board.columns;
    words[3] = s->board.left;
    words[4] = s->board.right;
    words[5] = s->rest;
    words[6] = s->count;
    words[7] = (uint64_t)s->busy;
    s->told_us = ch->now;
    send_words(ch, ch->heir, 1000 + (uint64_t)ch->index, HAND, words, 8);
}

/* The heir takes the seat as it is, and the name. A seat that comes twice is only acknowledged. */
static void seat_inherit(struct child *ch, const struct phx_message *m, const uint64_t *words)
{
    struct seat *s = seat_of(ch, words[0]);
    int err, branches = 0;
    uint32_t rest;

    if (s == NULL && ch->seat_count < SEATS_MAX) {
        if ((err = phx_assume(ch->p, words[0], words[0])) != 0) {
            trouble(ch, "phx_assume", err);
            return;
        }
        s = &ch->seats[ch->seat_count++];
        memset(s, 0, sizeof *s);
        s->name = words[0];
        s->task = words[1];
        s->board.columns = (uint32_t)words[2];
        s->board.left = (uint32_t)words[3];
        s->board.right = (uint32_t)words[4];
        s->rest = (uint32_t)words[5];
        s->count = words[6];
        s->busy = words[7] != 0;
        for (rest = s->rest; rest != 0; rest &= rest - 1)
            branches++;
        say(ch, "took %" PRIu64 " %" PRIu64 " %d", s->name, s->task, s->busy ? branches : 0);
    }
    if (s != NULL)
        send_words(ch, m->from, s->name, TOOK, words, 1);
}

static void seat_taken(struct child *ch, const uint64_t *words)
{
    struct seat *s = seat_of(ch, words[0]);
    int i;

    if (s != NULL)
        s->handed = 1;
    for (i = 0; i < ch->seat_count && ch->seats[i].handed; i++)
        ;
    if (ch->leaving && i == ch->seat_count)
        ch->quit = 1;
}

/* A good moment to leave is the worst one: in the midst of a task. */
static int worker_may_leave(const struct child *ch)
{
    const struct seat *s;

    for (s = ch->seats; s < ch->seats + ch->seat_count; s++)
        if (s->busy && s->rest != free_columns(ch->all, s->board))
            return 1;
    return ch->now - ch->leave_us > SECOND / 2; /* no task in sight */
}

/* Gives the names up first: what is sent to them from now on waits at its sender until the heir
 * assumes them. The heir's answers come to a name of our own. */
static void worker_leave(struct child *ch)
{
    int i, err = phx_assume(ch->p, 1000 + (uint64_t)ch->index, 1000 + (uint64_t)ch->index);

    ch->leaving = 1;
    for (i = 0; i < ch->seat_count && err == 0; i++) {
        err = phx_release(ch->p, ch->seats[i].name, ch->seats[i].name);
        ch->seats[i].told_us = 0;
    }
    if (err != 0)
        trouble(ch, "leave", err);
}

/* Asks, or hands over, again what was not answered. */
static void worker_retry(struct child *ch)
{
    struct seat *s;

    for (s = ch->seats; s < ch->seats + ch->seat_count; s++) {
        if (s->told_us != 0 && ch->now - s->told_us < RETRY_US)
            continue;
        if (ch->leaving && !s->handed)
            seat_hand(ch, s);
        else if (!ch->leaving && !s->busy)
            seat_report(ch, s);
    }
}

/* ---- A child: its loop --------------------------------------------------------------------- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct child *ch = user;
    uint64_t words[WORDS_MAX];
    int count = get_words(m, words);

    (void)p;
    if (m->tag == REPORT && count == 3 && ch->c != NULL)
        coordinator_report(ch, m, words);
    else if (m->tag == TASK && count == 4)
        seat_task(ch, m, words);
    else if (m->tag == HAND && count == 8)
        seat_inherit(ch, m, words);
    else if (m->tag == TOOK && count == 1)
        seat_taken(ch, words);
    else
        say(ch, "error a message that nobody sent: tag %" PRIu64, m->tag);
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    char id[PHX_ID_TEXT];

    (void)p;
    if (node->state == PHX_NODE_LEFT || node->state == PHX_NODE_FAILED)
        say(user, "%s %s", node->state == PHX_NODE_LEFT ? "left" : "failed",
            phx_id_text(&node->id, id));
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    (void)p;
    say(user, "log %d %s", level, line);
}

/* All that the driver's tables need. */
static void report(struct child *ch)
{
    struct phx_link links[FDS_MAX];
    struct phx_route routes[FDS_MAX];
    struct phx_stats stats;
    char id[PHX_ID_TEXT], next[PHX_ID_TEXT];
    size_t i, count = phx_links(ch->p, links, FDS_MAX);

    for (i = 0; i < count && i < FDS_MAX; i++)
        if (links[i].up)
            say(ch, "link %s %d", phx_id_text(&links[i].peer, id), links[i].dialer);
    count = phx_routes(ch->p, routes, FDS_MAX);
    for (i = 0; i < count && i < FDS_MAX; i++)
        if (routes[i].hops > 0)
            say(ch, "route %s %d %s", phx_id_text(&routes[i].id, id), routes[i].hops,
                phx_id_text(&routes[i].next, next));
    phx_stats(ch->p, &stats);
    say(ch, "stats %" PRIu64 " %" PRIu64 " %" PRIu64, stats.relayed_frames, stats.messages_in,
        stats.messages_out);
    say(ch, "end");
}

static void join(struct child *ch, int port)
{
    char address[64];
    int err;

    snprintf(address, sizeof address, "tcp://127.0.0.1:%d", port);
    if ((err = phx_join(ch->p, address)) != 0)
        trouble(ch, address, err);
}

static void command(struct child *ch, const char *line)
{
    uint64_t number = 0;

    if (sscanf(line, "join %" SCNu64, &number) == 1)
        join(ch, (int)number);
    else if (sscanf(line, "leave %" SCNu64, &number) == 1)
        ch->heir = number, ch->leave_us = ch->now;
    else if (strcmp(line, "all") == 0 && ch->c != NULL)
        coordinator_all(ch);
    else if (strcmp(line, "report") == 0)
        report(ch);
    else if (strcmp(line, "stop") == 0)
        ch->quit = 1;
}

/* One turn: wait unless there is work to do, read commands, let Phoenix work. */
static void turn(struct child *ch, int wait_ms)
{
    struct pollfd fds[FDS_MAX];
    int n = phx_fds(ch->p, fds + 1, FDS_MAX - 1), ms = phx_timeout_ms(ch->p, phx_now_us());
    char *line;

    if (n > FDS_MAX - 1)
        n = FDS_MAX - 1;
    if (ms < 0 || ms > wait_ms)
        ms = wait_ms;
    fds[0].fd = ch->in;
    fds[0].events = POLLIN;
    if (poll(fds, (nfds_t)n + 1, ch->more ? 0 : ms) < 0) {
        if (errno != EINTR)
            trouble(ch, "poll", PHX_EIO);
        return;
    }
    ch->now = phx_now_us();
    if (fds[0].revents != 0) {
        if (!lines_read(&ch->commands, ch->in))
            ch->orphan = ch->quit = 1;
        while ((line = lines_next(&ch->commands)) != NULL)
            command(ch, line);
    }
    ch->more = phx_step(ch->p, ch->now, fds + 1, n);
}

static void child_begin(struct child *ch, int verbose)
{
    enum role role = cast[ch->index].role;
    struct phx_config cfg;
    struct phx_address at;
    struct phx_id self;
    char id[PHX_ID_TEXT];
    int err;

    phx_config_init(&cfg);
    cfg.cluster = "queens";
    cfg.user = ch;
    cfg.on_message = on_message;
    cfg.on_node = on_node;
    cfg.on_log = verbose ? on_log : NULL;
    ch->all = columns_of(ch->n);
    if ((err = phx_new(&ch->p, &cfg, phx_now_us())) != 0) {
        trouble(ch, "phx_new", err);
        return;
    }
    phx_self(ch->p, &self);
    say(ch, "id %s", phx_id_text(&self, id));
    if (role == GATEWAY && (err = phx_listen(ch->p, "tcp://127.0.0.1:0")) == 0
        && (err = phx_listening(ch->p, 0, &at)) == 0)
        say(ch, "port %d", at.port);
    else if (role == COORDINATOR)
        err = coordinator_begin(ch);
    else if (role == WORKER)
        err = worker_begin(ch);
    if (err != 0)
        trouble(ch, "begin", err);
}

/* The life of a child, whatever its role; its exit status. */
static int child_main(struct child *ch, int verbose)
{
    uint64_t end = phx_now_us() + 2 * LIMIT_US; /* the driver ends us long before */
    int busy = 0;

    child_begin(ch, verbose);
    ch->now = phx_now_us();
    while (!ch->quit && ch->now < end) {
        if (ch->leave_us != 0 && !ch->leaving && worker_may_leave(ch))
            worker_leave(ch);
        worker_retry(ch);
        turn(ch, busy ? 0 : 200);
        busy = work(ch);
    }
    if (ch->leaving && !ch->orphan)
        report(ch);
    if (ch->p != NULL && !ch->orphan && phx_close(ch->p, CLOSE_US) == 0) {
        end = phx_now_us() + 2 * CLOSE_US;
        while (!phx_closed(ch->p) && !ch->orphan && phx_now_us() < end)
            turn(ch, 100);
        ch->failed |= !phx_closed(ch->p);
    }
    phx_free(ch->p);
    free(ch->c);
    return ch->failed || ch->orphan;
}

/* ---- The driver ---------------------------------------------------------------------------- */

struct process {
    pid_t pid;           /* 0: not started, or ended and waited for */
    int to, from;        /* pipes; -1: closed */
    struct lines lines;
    char id[PHX_ID_TEXT];
    int port;            /* of a gateway */
    int started, reported, ended, status;
    int link[ACTORS];    /* 0: none, else a link */
    int hops[ACTORS], next[ACTORS];
    int saw_left;        /* saw the leaver leave */
    int seated;          /* of a worker: the coordinator has heard from it */
    uint64_t tasks, relayed, in, out;
};

struct driver {
    struct process at[ACTORS];
    int n, verbose;
    int signals;         /* what the handler writes comes out here */
    uint64_t start, now;
    uint64_t total, done, sum, shown;
    uint64_t late_us, left_us, solved_us; /* when; 0: not yet */
    int taken;           /* seats that the heir took */
    int told_leave, told_all, told_report, told_stop;
    int interrupted, failed, tidying;
};

static int signal_pipe = -1; /* for the handler, which has no argument of its own */

static void on_signal(int number)
{
    int saved = errno;
    char byte = (char)number;

    if (write(signal_pipe, &byte, 1) < 0) /* full: then there is a signal in it already */
        errno = saved;
    errno = saved;
}

/* A line of the diary, with its time. */
static void diary(struct driver *d, const char *format, ...)
{
    va_list args;

    printf("%6.2f s  ", (double)(phx_now_us() - d->start) / 1e6);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static void tell(struct driver *d, int i, const char *format, ...)
{
    va_list args;

    if (d->at[i].to < 0)
        return;
    va_start(args, format);
    put_line(d->at[i].to, format, args);
    va_end(args);
}

/* In the new child: forget all that is the driver's, then live. Does not return. */
static void become(struct driver *d, int i, int in, int out)
{
    static struct child ch; /* zero */
    int k;

    signal(SIGINT, SIG_IGN); /* ^C goes to all of us; the driver decides */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL); /* the driver is dead: die */
    close(d->signals);
    close(signal_pipe);
    for (k = 0; k < ACTORS; k++) {
        /* As long as we hold a sister's pipe she would not see that the driver died. */
        if (d->at[k].to >= 0)
            close(d->at[k].to);
        if (d->at[k].from >= 0)
            close(d->at[k].from);
    }
    ch.index = i;
    ch.n = d->n;
    ch.in = in;
    ch.out = out;
    exit(child_main(&ch, d->verbose));
}

static void start_process(struct driver *d, int i)
{
    struct process *a = &d->at[i];
    int down[2], up[2];

    fflush(stdout); /* what is in the buffer would be printed by the child again */
    if (pipe(down) != 0 || pipe(up) != 0 || (a->pid = fork()) < 0) {
        perror("nqueens: fork");
        a->pid = 0;
        d->failed = 1;
        return;
    }
    if (a->pid == 0) {
        close(down[1]);
        close(up[0]);
        become(d, i, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    a->to = down[1];
    a->from = up[0];
    a->started = 1;
    if (i != G1 && d->at[cast[i].gateway].port != 0)
        tell(d, i, "join %d", d->at[cast[i].gateway].port);
}

/* Who has this id; -1: nobody. */
static int actor_of(const struct driver *d, const char *id)
{
    int i;

    for (i = 0; i < ACTORS; i++)
        if (d->at[i].id[0] != 0 && strcmp(d->at[i].id, id) == 0)
            return i;
    return -1;
}

static void heard_port(struct driver *d, int gateway, int port)
{
    int i;

    d->at[gateway].port = port;
    diary(d, "%s (pid %ld) listens on port %d", cast[gateway].label, (long)d->at[gateway].pid,
          port);
    for (i = 0; i < ACTORS; i++)
        if (cast[i].gateway == gateway)
            tell(d, i, "join %d", port);
}

static void heard_done(struct driver *d, uint64_t done, uint64_t who)
{
    uint64_t tenth = done * 10 / (d->total ? d->total : 1);

    d->done = done;
    if (who < ACTORS)
        d->at[who].tasks++;
    if (tenth > d->shown) {
        d->shown = tenth;
        diary(d, "[%.*s%.*s] %3d %%  %" PRIu64 " of %" PRIu64 " tasks", (int)tenth, "##########",
              10 - (int)tenth, "..........", (int)tenth * 10, done, d->total);
    }
}

static void heard_seat(struct driver *d, uint64_t name)
{
    int i = W1 - 1 + (int)(name / 10);

    if (i < W1 || i > W5 || d->at[i].seated)
        return;
    d->at[i].seated = 1;
    if (i == LATE)
        diary(d, "%s asks %s for its first task", cast[i].label, cast[C].label);
}

static void heard_took(struct driver *d, int i, uint64_t name, uint64_t task, int branches)
{
    d->taken++;
    if (branches > 0)
        diary(d, "%s takes name %" PRIu64 " and task %" PRIu64 ", %d branches to go",
              cast[i].label, name, task, branches);
    else
        diary(d, "%s takes name %" PRIu64 ", no task on it", cast[i].label, name);
}

static void heard_fate(struct driver *d, int i, const char *id, int left)
{
    int who = actor_of(d, id);

    if (left && who == LEAVER)
        d->at[i].saw_left = 1;
    else if (!left && !d->told_stop)
        diary(d, "%s says that %s failed", cast[i].label, who >= 0 ? cast[who].label : id);
}

/* The lines of a report. */
static int heard_report(struct driver *d, int i, const char *line)
{
    struct process *a = &d->at[i];
    char id[PHX_ID_TEXT], next[PHX_ID_TEXT];
    int number, who;

    if (sscanf(line, "link %32s %d", id, &number) == 2) {
        if ((who = actor_of(d, id)) >= 0)
            a->link[who] = 1;
    } else if (sscanf(line, "route %32s %d %32s", id, &number, next) == 3) {
        if ((who = actor_of(d, id)) >= 0) {
            a->hops[who] = number;
            a->next[who] = actor_of(d, next);
        }
    } else if (strcmp(line, "end") == 0) {
        a->reported = 1;
    } else {
        return sscanf(line, "stats %" SCNu64 " %" SCNu64 " %" SCNu64, &a->relayed, &a->in, &a->out)
               == 3;
    }
    return 1;
}

/* One line from child i. */
static void heard(struct driver *d, int i, const char *line)
{
    uint64_t a, b;
    int number;
    char id[PHX_ID_TEXT];

    if (sscanf(line, "done %" SCNu64 " %" SCNu64, &a, &b) == 2)
        heard_done(d, a, b);
    else if (sscanf(line, "id %32s", id) == 1)
        memcpy(d->at[i].id, id, sizeof id);
    else if (sscanf(line, "port %d", &number) == 1)
        heard_port(d, i, number);
    else if (sscanf(line, "tasks %" SCNu64, &a) == 1)
        d->total = a;
    else if (sscanf(line, "seat %" SCNu64, &a) == 1)
        heard_seat(d, a);
    else if (sscanf(line, "took %" SCNu64 " %" SCNu64 " %d", &a, &b, &number) == 3)
        heard_took(d, i, a, b, number);
    else if (sscanf(line, "left %32s", id) == 1)
        heard_fate(d, i, id, 1);
    else if (sscanf(line, "failed %32s", id) == 1)
        heard_fate(d, i, id, 0);
    else if (sscanf(line, "solved %" SCNu64, &d->sum) == 1)
        d->solved_us = d->now;
    else if (strncmp(line, "error", 5) == 0)
        d->failed = 1, diary(d, "%s: %s", cast[i].label, line);
    else if (!heard_report(d, i, line))
        diary(d, "%s: %s", cast[i].label, line);
}

/* ---- The driver: the script ---------------------------------------------------------------- */

static void direct_leave(struct driver *d)
{
    d->told_leave = 1;
    diary(d, "%s is told to leave and to hand its names to %s", cast[LEAVER].label,
          cast[HEIR].label);
    tell(d, LEAVER, "leave %d", (HEIR - W1 + 1) * 10);
}

/* When all is counted: first all report, then all stop, so that what they show is the whole. */
static void direct_end(struct driver *d)
{
    int i, missing = 0;

    if (!d->told_report) {
        diary(d, "all tasks done: %" PRIu64 " solutions", d->sum);
        for (i = 0; i < ACTORS; i++)
            tell(d, i, "report");
        d->told_report = 1;
    }
    for (i = 0; i < ACTORS; i++)
        missing += d->at[i].pid != 0 && !d->at[i].reported;
    if (missing == 0 && !d->told_stop) {
        for (i = 0; i < ACTORS; i++)
            tell(d, i, "stop");
        d->told_stop = 1;
    }
}

/* What happens when. Progress decides as well as time: slow and fast machines see it all. */
static void direct(struct driver *d)
{
    if (d->late_us == 0
        && (d->now - d->start > LATE_US || (d->total != 0 && d->done * 4 > d->total))) {
        d->late_us = d->now;
        start_process(d, LATE);
        diary(d, "%s starts late, behind %s", cast[LATE].label, cast[cast[LATE].gateway].label);
    }
    if (!d->told_leave && d->total != 0 && d->done * 2 > d->total)
        direct_leave(d);
    if (!d->told_all && d->at[LATE].seated && d->at[LEAVER].ended) {
        d->told_all = 1;
        tell(d, C, "all");
    }
    if (d->solved_us != 0)
        direct_end(d);
}

/* Waits for children that have ended, and notes how. Returns how many are still running. */
static int reap(struct driver *d)
{
    int i, running = 0;
    struct process *a;

    for (i = 0; i < ACTORS; i++) {
        a = &d->at[i];
        if (a->pid == 0 || waitpid(a->pid, &a->status, WNOHANG) != a->pid) {
            running += a->pid != 0;
            continue;
        }
        a->pid = 0;
        a->ended = 1;
        close(a->to);
        a->to = -1;
        if (d->tidying)
            continue; /* it was we who ended it */
        if (i == LEAVER && a->status == 0) {
            d->left_us = d->now;
            diary(d, "%s has left", cast[i].label);
        }
        if (a->status != 0 || (i != LEAVER && !d->told_stop)) {
            diary(d, "%s ended too early, wait status %d", cast[i].label, a->status);
            d->failed |= i == C; /* the job can bear the loss of any other */
        }
    }
    return running;
}

/* Waits for lines of the children and for signals, up to 50 ms. */
static void listen_to_all(struct driver *d)
{
    struct pollfd fds[ACTORS + 1];
    char *line;
    int i;

    for (i = 0; i <= ACTORS; i++) {
        fds[i].fd = i < ACTORS ? d->at[i].from : d->signals;
        fds[i].events = POLLIN;
    }
    if (poll(fds, ACTORS + 1, 50) < 0)
        return;
    d->now = phx_now_us();
    for (i = 0; i < ACTORS; i++) {
        if (fds[i].revents == 0)
            continue;
        if (!lines_read(&d->at[i].lines, fds[i].fd)) {
            close(d->at[i].from);
            d->at[i].from = -1;
        }
        while ((line = lines_next(&d->at[i].lines)) != NULL)
            heard(d, i, line);
    }
    d->interrupted = fds[ACTORS].revents != 0;
}

/* Leaves nothing behind: closes the pipes, which ends the children, and if need be kills them. */
static void end_all(struct driver *d)
{
    static const int signals[] = { 0, SIGTERM, SIGKILL };
    struct timespec rest = { 0, 10000000 };
    int i, round, tries;

    d->tidying = 1;
    for (round = 0; round < 3 && reap(d) > 0; round++) {
        for (i = 0; i < ACTORS; i++) {
            if (d->at[i].to >= 0)
                close(d->at[i].to);
            d->at[i].to = -1;
            if (d->at[i].pid > 0 && signals[round] != 0)
                kill(d->at[i].pid, signals[round]);
        }
        for (tries = 0; tries < 50 && reap(d) > 0; tries++)
            nanosleep(&rest, NULL);
    }
}

/* ---- The driver: tables and judgement ------------------------------------------------------ */

static void show_links(const struct driver *d)
{
    int i, k;

    printf("\nwho is linked with whom (%s has left)\n", cast[LEAVER].label);
    for (i = 0; i < ACTORS; i++) {
        if (i == LEAVER)
            continue;
        printf("  %-2s (site %d, node %.6s):", cast[i].label, cast[i].site, d->at[i].id);
        for (k = 0; k < ACTORS; k++)
            if (d->at[i].link[k])
                printf(" %s", cast[k].label);
        printf("\n");
    }
}

static void show_hops(const struct driver *d)
{
    int i, k;

    printf("\nhops from (down) to (across)\n    ");
    for (k = 0; k < ACTORS; k++)
        printf("%4s", k == LEAVER ? "" : cast[k].label);
    for (i = 0; i < ACTORS; i++) {
        if (i == LEAVER)
            continue;
        printf("\n  %-2s", cast[i].label);
        for (k = 0; k < ACTORS; k++)
            if (k == LEAVER)
                printf("    ");
            else if (k == i || d->at[i].hops[k] == 0)
                printf("   %c", k == i ? '.' : '?');
            else
                printf("%4d", d->at[i].hops[k]);
    }
    printf("\n");
}

/* Follows the next hops that each process reported itself. */
static void show_path(const struct driver *d, int from, int to)
{
    int at = from, hops;

    printf("  %s to %s: %s", cast[from].label, cast[to].label, cast[from].label);
    for (hops = 0; at != to && hops < ACTORS; hops++) {
        at = d->at[at].hops[to] > 0 ? d->at[at].next[to] : -1;
        printf(" > %s", at < 0 ? "?" : cast[at].label);
        if (at < 0)
            break;
    }
    printf("\n");
}

static void show_work(const struct driver *d)
{
    int i;

    printf("\n        tasks  messages in   out   frames relayed\n");
    for (i = 0; i < ACTORS; i++)
        printf("  %-2s  %7" PRIu64 "  %11" PRIu64 " %5" PRIu64 "   %14" PRIu64 "\n", cast[i].label,
               d->at[i].tasks, d->at[i].in, d->at[i].out, d->at[i].relayed);
}

static int check(int good, const char *format, ...)
{
    va_list args;

    printf("  %s  ", good ? "ok  " : "FAIL");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return good;
}

/* Of those that were there all the time and later: how many saw the leaver go, how many should. */
static void witnesses(const struct driver *d, int *saw, int *all)
{
    int i;

    *saw = *all = 0;
    for (i = 0; i < ACTORS; i++)
        if (i != LEAVER && i != LATE) {
            *all += 1;
            *saw += d->at[i].saw_left;
        }
}

/* No process but a gateway has a link with another that is none. */
static int gateways_only(const struct driver *d)
{
    int i, k;

    for (i = C; i < ACTORS; i++)
        for (k = C; k < ACTORS; k++)
            if (d->at[i].link[k] || (i != k && i != LEAVER && k != LEAVER && d->at[i].hops[k] < 2))
                return 0;
    return 1;
}

/* Seconds from the start to then; 0 if it never came to that. */
static double seconds(const struct driver *d, uint64_t then)
{
    return then == 0 ? 0 : (double)(then - d->start) / 1e6;
}

static int judge(const struct driver *d)
{
    uint64_t relayed = d->at[G1].relayed + d->at[G2].relayed + d->at[G3].relayed;
    uint64_t right = known[d->n - N_MIN];
    int good, saw, all, i, clean = 1;

    for (i = 0; i < ACTORS; i++)
        clean &= d->at[i].ended && d->at[i].status == 0;
    witnesses(d, &saw, &all);
    printf("\nsummary\n");
    good = check(d->sum == right, "%" PRIu64 " solutions for N = %d, known are %" PRIu64, d->sum,
                 d->n, right);
    good &= check(d->at[LATE].tasks > 0, "%s came late, at %.2f s, and did %" PRIu64 " tasks",
                  cast[LATE].label, seconds(d, d->late_us), d->at[LATE].tasks);
    good &= check(d->taken == 2 && d->at[LEAVER].ended && d->at[LEAVER].status == 0,
                  "%s left at %.2f s; its %d names live on at %s", cast[LEAVER].label,
                  seconds(d, d->left_us), d->taken, cast[HEIR].label);
    good &= check(saw == all, "%d of %d others saw it leave, not fail", saw, all);
    good &= check(gateways_only(d), "all but the gateways are linked with gateways only");
    good &= check(relayed > 0, "%" PRIu64 " message frames were relayed by gateways", relayed);
    good &= check(clean && !d->failed, "all %d processes ended by themselves", ACTORS);
    return good;
}

static void show_all(const struct driver *d)
{
    show_links(d);
    show_hops(d);
    printf("\nroutes, followed from next hop to next hop\n");
    show_path(d, C, W1);
    show_path(d, C, W2);
    show_path(d, W4, C);
    show_path(d, W2, W5);
    show_work(d);
}

/* What was still to come when the time was over. */
static void show_missing(const struct driver *d)
{
    int i;

    printf("\nFAIL: not at its end after %u s; %" PRIu64 " of %" PRIu64 " tasks are done\n",
           LIMIT_US / SECOND, d->done, d->total);
    for (i = 0; i < ACTORS; i++)
        printf("  %-2s: %s%s%s\n", cast[i].label,
               !d->at[i].started ? "not started" : d->at[i].ended ? "ended" : "running",
               d->told_report && !d->at[i].reported ? ", no report" : "",
               cast[i].role == WORKER && !d->at[i].seated ? ", no seat known" : "");
}

/* Signals become bytes in a pipe, which poll can wait for. */
static int catch_signals(struct driver *d)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    int ends[2];
    size_t i;

    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        return -1;
    d->signals = ends[0];
    signal_pipe = ends[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], &action, NULL) != 0)
            return -1;
    signal(SIGPIPE, SIG_IGN); /* a child that died is seen by waitpid */
    return 0;
}

/* The whole job; the exit status of the program. */
static int drive(struct driver *d)
{
    int i, running = 1, good;

    d->start = d->now = phx_now_us();
    diary(d, "%d queens, %d processes, 3 sites; the driver is pid %ld", d->n, ACTORS,
          (long)getpid());
    for (i = 0; i < ACTORS && !d->failed; i++)
        if (i != LATE)
            start_process(d, i);
    while (running > 0 && !d->failed && !d->interrupted && d->now - d->start < LIMIT_US) {
        listen_to_all(d);
        running = reap(d);
        if (running > 0)
            direct(d);
    }
    end_all(d);
    if (d->interrupted) {
        printf("\ninterrupted; no process is left behind\n");
        return 130;
    }
    if (running > 0 && !d->failed)
        show_missing(d);
    else
        show_all(d);
    good = judge(d) && running == 0;
    printf("nqueens: %s, %.2f s\n", good ? "all is right" : "FAILED",
           (double)(phx_now_us() - d->start) / 1e6);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct driver d; /* zero */
    int i;

    for (i = 0; i < ACTORS; i++)
        d.at[i].to = d.at[i].from = -1;
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i], "-v") == 0)
            d.verbose = 1;
        else
            d.n = atoi(argv[i]);
    if (d.n == 0)
        d.n = choose_n();
    if (d.n < N_MIN || d.n > N_MAX) {
        fprintf(stderr, "usage: nqueens [-v] [N]   for N from %d to %d\n", N_MIN, N_MAX);
        return 2;
    }
    if (catch_signals(&d) != 0) {
        perror("nqueens: signals");
        return 1;
    }
    return drive(&d);
}
