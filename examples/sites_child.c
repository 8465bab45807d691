/* sites_child.c - one process of the demo over sites: gateway, coordinator or worker. See sites.c.
 *
 *     cc -std=c99 -O2 -I. -c examples/sites_child.c
 *
 * Nothing is lost, whatever the timing, by three rules of the application: a seat that gets no answer
 * asks again; a seat that has been given a task already is answered with that same task; and when a
 * seat's name breaks, its task is given to somebody else. A task counts once, when it is done first.
 */
#define _POSIX_C_SOURCE 200809L
#include "sites.h"
#include <poll.h>

/* ---- A child: what all roles share --------------------------------------------------------- */

#define NONE UINT64_MAX
#define SEATS_MAX 8

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
    int err;

    err = phx_send(ch->p, to, from, tag, bytes, put_words(bytes, words, count));
    if (err != 0 && err != PHX_EAGAIN)
        trouble(ch, "phx_send", err);
}

/* ---- The coordinator: name 0 --------------------------------------------------------------- */

#define DEPTH 3                    /* rows filled by the coordinator */
#define TASKS_MAX (17 * 17 * 17)
#define NAMES_MAX 32

struct coordinator {
    struct {
        struct board board;
        int done;
    } tasks[TASKS_MAX];
    uint64_t total, next, done, sum;
    uint64_t limit;                /* below this tasks may be given; see "all" */
    struct {
        uint64_t name, task;       /* the task given and not yet reported, or NONE */
        int waiting;
    } seats[NAMES_MAX];
    int seat_count;
    uint64_t lost[NAMES_MAX];      /* tasks of seats that broke: the first to be given again */
    int lost_count;
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

/* The next task to give: one that was lost, or one that nobody had yet. */
static uint64_t coordinator_pick(struct coordinator *c)
{
    if (c->lost_count > 0)
        return c->lost[--c->lost_count];
    return c->next < c->limit ? c->next++ : NONE;
}

/* Gives seat i the task it has, or a new one, or lets it wait if there is none. */
static void coordinator_answer(struct child *ch, int i)
{
    struct coordinator *c = ch->c;
    uint64_t words[4], task = c->seats[i].task;

    if (phx_broken(ch->p, c->seats[i].name, c->seats[i].name, NULL, 0) > 0)
        return; /* it asked before it broke */
    if (task == NONE || c->tasks[task].done)
        task = c->seats[i].task = coordinator_pick(c);
    c->seats[i].waiting = task == NONE;
    if (task == NONE)
        return;
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

static void coordinator_serve_waiting(struct child *ch)
{
    struct coordinator *c = ch->c;
    int i;

    for (i = 0; i < c->seat_count; i++)
        if (c->seats[i].waiting)
            coordinator_answer(ch, i);
}

/* Until the late one is in and the leaver and the victims are gone, the last quarter of the tasks is held
 * back: so the show is the same on a machine that is faster than we thought. */
static void coordinator_all(struct child *ch)
{
    ch->c->limit = ch->c->total;
    coordinator_serve_waiting(ch);
}

/* Names broke: what their seats had under way is given to others. */
static void coordinator_broken(struct child *ch, struct phx_range range)
{
    struct coordinator *c = ch->c;
    int i, count = 0;

    for (i = 0; i < c->seat_count; i++) {
        if (c->seats[i].name < range.first || c->seats[i].name > range.last)
            continue;
        if (c->seats[i].task != NONE && !c->tasks[c->seats[i].task].done) {
            c->lost[c->lost_count++] = c->seats[i].task;
            count++;
        }
        c->seats[i].task = NONE;
        c->seats[i].waiting = 0;
    }
    say(ch, "broke %" PRIu64 " %" PRIu64 " %d", range.first, range.last, count);
    coordinator_serve_waiting(ch);
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
    int count = get_words(m->data, m->size, words);

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

static void on_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    struct child *ch = user;

    (void)p;
    if (broken && ch->c != NULL)
        coordinator_broken(ch, lost->range);
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
    cfg.on_broken = on_broken;
    cfg.detector.broken_us = SECOND / 2; /* the show is short */
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

static int child_live(struct child *ch, int verbose)
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

int child_main(int index, int n, int in, int out, int verbose)
{
    static struct child ch; /* zero */

    ch.index = index;
    ch.n = n;
    ch.in = in;
    ch.out = out;
    return child_live(&ch, verbose);
}
