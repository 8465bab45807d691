/* start.c - how an agent gets its children running: ssh and what is called like it, or a fork of its own. */

/* One child:
 *
 *                    COPYING
 *                     ^   |
 *                     |   v
 *      WAITING --> LISTENING --> BOOTING --> UP --> LINKED
 *         |            |            |         |        \--> (its process ends) GONE
 *         \------------+------------+---------+--> FAILED, said once --> GONE
 *
 * A process that ends before it is up has failed, and why is in what it said on its standard error. One whose
 * stream ends first is told to end, and fails when it has: so the reason has come by then. */
#define _POSIX_C_SOURCE 200809L
#include "start.h"
#include "../../phoenix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* POSIX wants it declared by who uses it */

#define START_TEXT 1000                /* kept of what a child says on its standard error */
#define START_FIRST 256                /* bytes of a first line */
#define START_NOISE ((uint64_t)1 << 20) /* a login shell that says more than this never ends */
#define START_COPY LA_START_COPY " 1"  /* the protocol's number */
#define START_END_US ((uint64_t)2000000) /* from TERM to KILL for a starter that is of no more use */

enum start_state { WAITING, LISTENING, COPYING, BOOTING, UP, LINKED, FAILED, GONE };

struct start_child {
    struct la_start *of;
    uint32_t number;
    enum start_state state;
    pid_t pid; /* 0: none, or collected */
    int fd, error_fd;
    int said; /* failed has been called */
    uint64_t deadline; /* 0: none */
    uint64_t noise;
    char first[START_FIRST];
    size_t first_size;
    struct la_feed boot; /* to be written */
    int copied;
    char text[START_TEXT + 1];
    size_t text_size;
};

struct la_start {
    const struct la_job *job;
    char *self;
    const struct la_cargo *cargo;
    struct la_watch *watch;
    struct la_procs *procs;
    struct la_start_ops ops;
    struct start_child **children;
    uint32_t children_count, next; /* next: the first that may still be WAITING */
    uint32_t under_way;
    uint64_t now;
    int closed; /* none is begun any more */
};

static const struct la_agent *start_agent(const struct la_start *s, uint32_t number)
{
    return &s->job->agents[number - s->job->first];
}

/* ---- What a child says --------------------------------------------------------------------------- */

static void start_keep(struct start_child *c, const char *data, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        unsigned char ch = (unsigned char)data[i];
        if (c->text_size == START_TEXT) {
            memmove(c->text, c->text + START_TEXT / 2, START_TEXT / 2);
            c->text_size = START_TEXT / 2;
        }
        if (ch == '\r' || (ch == '\n' && c->text_size == 0))
            continue;
        c->text[c->text_size++] = (ch < 0x20 && ch != '\n') || ch == 0x7f ? '?' : (char)ch;
    }
    c->text[c->text_size] = '\0';
}

static void start_close_error(struct start_child *c)
{
    if (c->error_fd < 0)
        return;
    la_watch_drop(c->of->watch, c->error_fd);
    close(c->error_fd);
    c->error_fd = -1;
}

static void start_on_error(void *ctx, int fd, int events)
{
    struct start_child *c = (struct start_child *)ctx;
    char data[2048];
    ssize_t n = read(fd, data, sizeof data);

    (void)events;
    if (n > 0)
        start_keep(c, data, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        start_close_error(c);
}

/* What is there already, after the child has ended; a helper of its own may hold it open for longer. */
static void start_drain_error(struct start_child *c)
{
    int i;

    for (i = 0; i < 64 && c->error_fd >= 0; i++) {
        char data[2048];
        ssize_t n = read(c->error_fd, data, sizeof data);
        if (n <= 0)
            break;
        start_keep(c, data, (size_t)n);
    }
    start_close_error(c);
}

static const char *start_last_line(struct start_child *c)
{
    char *line;

    while (c->text_size > 0 && (c->text[c->text_size - 1] == '\n' || c->text[c->text_size - 1] == ' '))
        c->text[--c->text_size] = '\0';
    line = strrchr(c->text, '\n');
    return line != NULL ? line + 1 : c->text;
}

/* ---- Ends ---------------------------------------------------------------------------------------- */

static void start_close_stream(struct start_child *c)
{
    if (c->fd < 0)
        return;
    la_watch_drop(c->of->watch, c->fd);
    close(c->fd);
    c->fd = -1;
}

static void start_leave(struct start_child *c, enum start_state state)
{
    int was = c->state > WAITING && c->state < UP;
    int is = state > WAITING && state < UP;

    c->state = state;
    c->of->under_way += (uint32_t)is;
    c->of->under_way -= (uint32_t)was;
}

static void start_fail(struct start_child *c, int status, const char *why)
{
    c->of->now = phx_now_us();
    start_leave(c, FAILED);
    start_close_stream(c);
    la_queue_free(&c->boot.waiting);
    if (c->pid > 0) {
        la_proc_signal(c->of->procs, c->pid, SIGTERM);
        c->deadline = c->of->now + START_END_US;
    }
    if (c->said)
        return;
    c->said = 1;
    c->of->ops.failed(c->of->ops.ctx, c->number, status, why);
}

/* The stream has ended before its time: why that was is known when the process has ended. */
static void start_stream_ended(struct start_child *c)
{
    start_close_stream(c);
    c->of->now = phx_now_us();
    if (c->pid > 0) {
        c->deadline = c->of->now + START_END_US / 4;
        return;
    }
    start_fail(c, 1, "its starter closed the stream");
}

static const char *start_program(const struct la_start *s)
{
    switch (s->job->starter) {
    case LA_FORK: return "its agent";
    default: return s->job->ssh != NULL ? s->job->ssh : "ssh";
    }
}

static void start_why(struct start_child *c, int status, char *out, size_t size)
{
    const char *program = start_program(c->of);
    const char *line = start_last_line(c);

    if (WIFSIGNALED(status))
        snprintf(out, size, "%s was ended by signal %d%s%s", program, WTERMSIG(status),
                 *line != '\0' ? ": " : "", line);
    else if (*line != '\0')
        snprintf(out, size, "%s: %s", program, line);
    else
        snprintf(out, size, "%s ended with status %d and said nothing", program, WEXITSTATUS(status));
}

int la_start_exited(struct la_start *s, pid_t pid, int status)
{
    char why[START_TEXT + 200];
    struct start_child *c = NULL;
    uint32_t i;

    for (i = 0; i < s->children_count && c == NULL; i++)
        if (s->children[i]->pid == pid)
            c = s->children[i];
    if (c == NULL)
        return 0;
    c->pid = 0;
    start_drain_error(c);
    if (c->state > WAITING && c->state <= UP) {
        start_why(c, status, why, sizeof why);
        start_fail(c, 1, why);
        c->state = GONE;
        return 1;
    }
    if (c->state == LINKED)
        s->ops.ended(s->ops.ctx, c->number, status, start_last_line(c));
    c->deadline = 0;
    c->state = GONE;
    return 1;
}

/* ---- The stream ---------------------------------------------------------------------------------- */

static void start_sent(struct start_child *c)
{
    int fd = c->fd;

    if (c->state == COPYING) {
        start_leave(c, LISTENING);
        la_watch_set(c->of->watch, c->fd, LA_READ);
        return;
    }
    la_watch_drop(c->of->watch, c->fd);
    start_leave(c, UP);
    c->fd = -1;
    c->of->ops.up(c->of->ops.ctx, c->number, fd);
}

static void start_send(struct start_child *c)
{
    int state = la_feed_write(&c->boot, c->fd);

    if (state > 0)
        la_watch_set(c->of->watch, c->fd, LA_WRITE);
    else if (state == 0)
        start_sent(c);
    else if (state == PHX_EIO)
        start_fail(c, 1, "a file that it should get cannot be read");
    else
        start_stream_ended(c);
}

/* A whole line without its newline: 1 if it is the agent's, 0 if it is noise, -1: another version. */
static int start_is_first(const char *line, size_t size)
{
    char want[64];
    int n = snprintf(want, sizeof want, "%s %d %s", LA_START_LINE, LA_START_PROTOCOL, PHX_VERSION);

    if (size < sizeof LA_START_LINE || memcmp(line, LA_START_LINE " ", sizeof LA_START_LINE) != 0)
        return 0;
    return size == (size_t)n && memcmp(line, want, size) == 0 ? 1 : -1;
}

static void start_begin_boot(struct start_child *c)
{
    const struct la_start *s = c->of;
    int err = s->ops.boot(s->ops.ctx, c->number, &c->boot.waiting);

    if (err == 0 && s->cargo != NULL)
        err = la_cargo_feed(s->cargo, &c->boot);
    if (err != 0) {
        start_fail(c, 1, "no memory for its boot block");
        return;
    }
    start_leave(c, BOOTING);
    start_send(c);
}

/* The shell over there is ready to take this program. */
static void start_begin_copy(struct start_child *c)
{
    c->copied = 1;
    c->boot.file = c->of->cargo->self_fd;
    c->boot.at = 0;
    c->boot.size = c->of->cargo->self_size;
    start_leave(c, COPYING);
    start_send(c);
}

static void start_line(struct start_child *c)
{
    char why[START_FIRST + 100];
    int is = start_is_first(c->first, c->first_size);

    if (!c->copied && c->of->job->copy && c->first_size == sizeof START_COPY - 1
        && memcmp(c->first, START_COPY, c->first_size) == 0) {
        start_begin_copy(c);
    } else if (is < 0) {
        snprintf(why, sizeof why, "another version of phxrun is there: it says \"%.*s\", this is %s %d %s",
                 (int)c->first_size, c->first, LA_START_LINE, LA_START_PROTOCOL, PHX_VERSION);
        start_fail(c, 1, why);
    } else if (is > 0) {
        start_begin_boot(c);
    }
    c->first_size = 0;
}

/* Byte for byte, since nothing may follow the agent's line before it has the boot block. */
static void start_listen(struct start_child *c, const char *data, size_t size)
{
    size_t i;

    for (i = 0; i < size && c->state == LISTENING; i++) {
        if (data[i] == '\n') {
            start_line(c);
        } else if (c->first_size < START_FIRST) {
            c->first[c->first_size++] = data[i];
        }
    }
    if (c->state == COPYING)
        return;
    c->noise += size;
    if (c->state == LISTENING && c->noise > START_NOISE)
        start_fail(c, 1, "a mebibyte of noise, and no agent");
    else if (i < size && (c->state == BOOTING || c->state == UP))
        start_fail(c, 1, "its agent speaks before it is asked");
}

static void start_on_stream(void *ctx, int fd, int events)
{
    struct start_child *c = (struct start_child *)ctx;
    char data[4096];
    ssize_t n;

    (void)events;
    if (c->state == BOOTING || c->state == COPYING) {
        start_send(c);
        return;
    }
    n = read(fd, data, sizeof data);
    if (n > 0)
        start_listen(c, data, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        start_stream_ended(c);
}

/* ---- Beginning ----------------------------------------------------------------------------------- */

/* In single quotes, for whatever login shell is over there. 0, or PHX_EINVAL: it does not fit. */
static int start_quote(const char *word, char *out, size_t size)
{
    size_t at = 0;

    if (size < 3)
        return PHX_EINVAL;
    out[at++] = '\'';
    for (; *word != '\0'; word++) {
        if (at + 6 > size)
            return PHX_EINVAL;
        if (*word == '\'') {
            memcpy(out + at, "'\\''", 4);
            at += 4;
        } else {
            out[at++] = *word;
        }
    }
    out[at++] = '\'';
    out[at] = '\0';
    return 0;
}

/* Takes $1 bytes into a folder of its own, and becomes them; the agent removes both. No quotes of either kind
 * that some login shell would read otherwise. */
static const char start_script[]
    = "umask 077; d=${TMPDIR:-/tmp}/phxrun.$2.$$; c() { rm -rf \"$d\"; }; mkdir \"$d\" || exit 1; trap c 0; "
      "echo; echo " START_COPY "; head -c $1 > \"$d/phxrun\"; "
      "if test $(wc -c < \"$d/phxrun\") -eq $1; then chmod 700 \"$d/phxrun\"; "
      "exec \"$d/phxrun\" " LA_START_AS_AGENT " \"$d\"; fi; exit 1";

#define START_ARGUMENTS 12

struct start_command {
    const char *words[START_ARGUMENTS + 2]; /* the first is la_exec's spare one */
    char path[1024], remote[2048];
};

static int start_command_fork(const struct la_start *s, struct start_command *k)
{
    if (strlen(s->self) >= sizeof k->path)
        return ENAMETOOLONG;
    memcpy(k->path, s->self, strlen(s->self) + 1);
    k->words[1] = "phxrun";
    k->words[2] = LA_START_AS_AGENT;
    k->words[3] = NULL;
    return 0;
}

static int start_command_ssh(const struct la_start *s, const struct la_agent *a, struct start_command *k)
{
    const char *ssh = s->job->ssh != NULL ? s->job->ssh : "ssh";
    char quoted[1900];
    size_t n = 1;
    int err = la_proc_find(ssh, environ, NULL, k->path, sizeof k->path);

    if (err != 0)
        return err;
    if (start_quote(s->job->copy ? start_script : s->job->agent != NULL ? s->job->agent : s->self, quoted,
                    sizeof quoted) != 0)
        return ENAMETOOLONG;
    if (s->job->copy)
        snprintf(k->remote, sizeof k->remote, "exec /bin/sh -c %s sh %llu %lx-%lu", quoted,
                 (unsigned long long)s->cargo->self_size, (unsigned long)s->job->id,
                 (unsigned long)(a - s->job->agents) + s->job->first);
    else
        snprintf(k->remote, sizeof k->remote, "exec %s %s", quoted, LA_START_AS_AGENT);
    k->words[n++] = ssh;
    k->words[n++] = "-x";
    k->words[n++] = "-o";
    k->words[n++] = "BatchMode=yes";
    if (a->user != NULL) {
        k->words[n++] = "-l";
        k->words[n++] = a->user;
    }
    k->words[n++] = a->host;
    k->words[n++] = k->remote;
    k->words[n] = NULL;
    return 0;
}

static int start_watch(struct start_child *c, int stream, int error)
{
    int err;

    c->fd = stream;
    c->error_fd = error;
    err = la_nonblocking(stream) != 0 || la_nonblocking(error) != 0 ? PHX_EIO : 0;
    if (err == 0)
        err = la_watch_add(c->of->watch, stream, LA_READ, start_on_stream, c);
    if (err == 0)
        err = la_watch_add(c->of->watch, error, LA_READ, start_on_error, c);
    return err;
}

/* 0 or errno. */
static int start_process(struct start_child *c, struct start_command *k)
{
    struct la_exec x;
    enum la_exec_stage stage;
    char *argv[START_ARGUMENTS + 2];
    int pair[2], error[2], err = la_pair(pair);

    if (err != 0)
        return err;
    err = la_pipe(error);
    if (err != 0) {
        close(pair[0]);
        close(pair[1]);
        return err;
    }
    memcpy(argv, k->words, sizeof argv); /* exec changes no string */
    memset(&x, 0, sizeof x);
    x.path = k->path;
    x.argv = argv + 1;
    x.envp = environ;
    x.fds[0] = x.fds[1] = pair[1];
    x.fds[2] = error[1];
    x.guarded = c->of->job->starter != LA_FORK && !c->of->job->go_on;
    err = la_proc_start(c->of->procs, &x, &c->pid, &stage);
    close(pair[1]);
    close(error[1]);
    if (err == 0 && start_watch(c, pair[0], error[0]) == 0)
        return 0;
    if (err == 0)
        return ENOMEM; /* start_fail closes both and ends the process */
    close(pair[0]);
    close(error[0]);
    c->pid = 0;
    return err;
}

static void start_begin(struct start_child *c)
{
    const struct la_start *s = c->of;
    struct start_command k;
    char why[1200];
    int err;

    memset(k.words, 0, sizeof k.words);
    k.path[0] = '\0';
    c->deadline = s->now + s->job->start_timeout_us;
    start_leave(c, LISTENING);
    if (s->job->starter == LA_SRUN) { /* srun starts it, and when it knows where, it will dial */
        c->deadline += s->job->start_timeout_us;
        start_leave(c, UP);
        return;
    }
    if (s->job->starter == LA_FORK)
        err = start_command_fork(s, &k);
    else
        err = start_command_ssh(s, start_agent(s, c->number), &k);
    if (err == 0)
        err = start_process(c, &k);
    if (err == 0)
        return;
    snprintf(why, sizeof why, "%s: %s", start_program(s), strerror(err));
    start_fail(c, 1, why);
    if (c->pid == 0)
        c->state = GONE;
}

/* ---- Life ---------------------------------------------------------------------------------------- */

int la_start_new(struct la_start **out, const struct la_job *job, const char *self,
                 const struct la_cargo *cargo, struct la_watch *w, struct la_procs *p,
                 const struct la_start_ops *ops)
{
    struct la_start *s = (struct la_start *)calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return PHX_ENOMEM;
    s->self = (char *)malloc(strlen(self) + 1);
    if (s->self == NULL) {
        free(s);
        return PHX_ENOMEM;
    }
    memcpy(s->self, self, strlen(self) + 1);
    s->job = job;
    s->cargo = cargo;
    s->watch = w;
    s->procs = p;
    s->ops = *ops;
    *out = s;
    return 0;
}

void la_start_free(struct la_start *s)
{
    uint32_t i;

    if (s == NULL)
        return;
    for (i = 0; i < s->children_count; i++) {
        start_close_stream(s->children[i]);
        start_close_error(s->children[i]);
        la_queue_free(&s->children[i]->boot.waiting);
        free(s->children[i]);
    }
    free(s->children);
    free(s->self);
    free(s);
}

int la_start_host(struct la_start *s, uint32_t number)
{
    struct start_child **more, *c = (struct start_child *)calloc(1, sizeof *c);

    if (c == NULL)
        return PHX_ENOMEM;
    more = (struct start_child **)realloc(s->children, (s->children_count + 1) * sizeof *more);
    if (more == NULL) {
        free(c);
        return PHX_ENOMEM;
    }
    s->children = more;
    s->children[s->children_count++] = c;
    c->of = s;
    c->number = number;
    c->fd = c->error_fd = c->boot.file = -1;
    return 0;
}

void la_start_linked(struct la_start *s, uint32_t number)
{
    uint32_t i;

    for (i = 0; i < s->children_count; i++)
        if (s->children[i]->number == number && s->children[i]->state == UP) {
            s->children[i]->state = LINKED;
            s->children[i]->deadline = 0;
        }
}

void la_start_cancel(struct la_start *s)
{
    uint32_t i;

    s->closed = 1;
    for (i = 0; i < s->children_count; i++)
        if (s->children[i]->state < LINKED)
            start_fail(s->children[i], 1, "the job is over");
}

void la_start_kill(struct la_start *s, int number)
{
    uint32_t i;

    s->closed = 1;
    for (i = 0; i < s->children_count; i++)
        if (s->children[i]->pid > 0)
            la_proc_signal(s->procs, s->children[i]->pid, number);
}

int la_start_running(const struct la_start *s)
{
    uint32_t i;
    int n = 0;

    for (i = 0; i < s->children_count; i++)
        n += s->children[i]->pid > 0;
    return n;
}

int la_start_pending(const struct la_start *s)
{
    uint32_t i;
    int n = 0;

    for (i = 0; i < s->children_count; i++)
        n += s->children[i]->state < LINKED;
    return n;
}

static void start_overdue(struct start_child *c)
{
    char why[200];
    struct la_start *s = c->of;

    c->deadline = 0;
    if (c->state == FAILED || (c->fd < 0 && c->state != UP)) { /* it was told to end, or its stream did */
        la_proc_signal(s->procs, c->pid, SIGKILL);
        return;
    }
    snprintf(why, sizeof why, "no answer within %llu ms of its start%s%s",
             (unsigned long long)(s->job->start_timeout_us / 1000), c->text_size > 0 ? ": " : "",
             c->text_size > 0 ? start_last_line(c) : "");
    start_fail(c, 1, why);
}

void la_start_step(struct la_start *s, uint64_t now_us)
{
    uint32_t i;

    s->now = now_us;
    while (!s->closed && s->next < s->children_count && s->under_way < LA_START_WIDTH)
        start_begin(s->children[s->next++]);
    for (i = 0; i < s->children_count; i++)
        if (s->children[i]->deadline != 0 && s->children[i]->deadline <= now_us)
            start_overdue(s->children[i]);
}

uint64_t la_start_deadline(const struct la_start *s)
{
    uint64_t due = UINT64_MAX;
    uint32_t i;

    if (!s->closed && s->next < s->children_count && s->under_way < LA_START_WIDTH)
        return 0;
    for (i = 0; i < s->children_count; i++)
        if (s->children[i]->deadline != 0 && s->children[i]->deadline < due)
            due = s->children[i]->deadline;
    return due;
}

/* ---- The agent's side ---------------------------------------------------------------------------- */

static int start_read(void *out, size_t size)
{
    unsigned char *at = (unsigned char *)out;

    while (size > 0) {
        ssize_t n = read(0, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return PHX_ERESET;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int start_say(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(1, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return PHX_ERESET;
        text += n;
        size -= (size_t)n;
    }
    return 0;
}

int la_start_answer(struct la_queue *boot)
{
    char line[128];
    unsigned char head[8];
    uint32_t size;
    /* The first newline ends what a shell's start-up file may have left without one. */
    int n = snprintf(line, sizeof line, "\n%s %d %s\n", LA_START_LINE, LA_START_PROTOCOL, PHX_VERSION);
    int err = start_say(line, (size_t)n);

    if (err == 0)
        err = start_read(head, sizeof head);
    if (err != 0)
        return err;
    size = (uint32_t)head[4] | (uint32_t)head[5] << 8 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 24;
    if (memcmp(head, "PHXL", 4) != 0 || size > LA_BOOT_MOST)
        return PHX_EPROTO;
    err = la_queue_room(boot, size);
    if (err == 0)
        err = start_read(la_queue_end(boot), size);
    if (err == 0)
        boot->size += size;
    return err;
}
