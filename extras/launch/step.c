/* step.c - how srun starts all agents at once: one step, addresses come up, a table of them goes down. */

#define _POSIX_C_SOURCE 200809L
#include "step.h"
#include "place.h"
#include "start.h"
#include "../../phoenix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* POSIX wants it declared by who uses it */

#define STEP_TEXT 1000 /* kept of what srun says on its standard error */
#define STEP_ARGUMENTS 12

enum step_state { STEP_NEW, STEP_ASKING, STEP_TOLD, STEP_OVER };

struct la_step {
    const struct la_job *job;
    const struct la_cargo *cargo;
    char *self;
    struct la_watch *watch;
    struct la_procs *procs;
    struct la_step_ops ops;
    enum step_state state;
    pid_t pid;
    int fd, error_fd;
    struct la_feed feed;
    char line[LA_STEP_LINE];
    size_t line_size;
    char text[STEP_TEXT + 1]; /* the last of its standard error */
    size_t text_size;
    struct la_queue table;    /* entries so far */
    uint32_t entries, known;  /* known: agents that said where they are */
    unsigned char *said;      /* by agent */
    uint64_t deadline;
};

/* ---- Tables -------------------------------------------------------------------------------------- */

static void table_u32(unsigned char *out, uint32_t v)
{
    int i;

    for (i = 0; i < 4; i++)
        out[i] = (unsigned char)(v >> 8 * i);
}

int la_table_add(struct la_queue *out, uint32_t agent, const char *address)
{
    unsigned char head[8];
    size_t size = strlen(address);

    table_u32(head, agent);
    table_u32(head + 4, (uint32_t)size);
    if (la_queue_room(out, sizeof head + size) != 0)
        return PHX_ENOMEM;
    (void)la_queue_add(out, head, sizeof head);
    return la_queue_add(out, address, size);
}

int la_table_head(struct la_queue *out, uint32_t count, size_t size)
{
    unsigned char head[12] = { 'P', 'H', 'X', 'T', 0, 0, 0, 0, 0, 0, 0, 0 };

    table_u32(head + 4, (uint32_t)(size + 4));
    table_u32(head + 8, count);
    return la_queue_add(out, head, sizeof head);
}

/* ---- Ends ---------------------------------------------------------------------------------------- */

static void step_close(struct la_step *s, int *fd)
{
    if (*fd < 0)
        return;
    la_watch_drop(s->watch, *fd);
    close(*fd);
    *fd = -1;
}

static const char *step_last_line(struct la_step *s)
{
    char *line;

    while (s->text_size > 0 && (s->text[s->text_size - 1] == '\n' || s->text[s->text_size - 1] == ' '))
        s->text[--s->text_size] = '\0';
    line = strrchr(s->text, '\n');
    return line != NULL ? line + 1 : s->text;
}

/* Whoever has not said where it is. */
static void step_fail(struct la_step *s, const char *why)
{
    uint32_t i;

    for (i = 1; i < s->job->agents_count; i++)
        if (!s->said[i]) {
            s->said[i] = 1;
            s->ops.failed(s->ops.ctx, i, 1, why);
        }
}

/* srun is of no more use. */
static void step_give_up(struct la_step *s, const char *why)
{
    s->state = STEP_OVER;
    s->deadline = UINT64_MAX;
    step_close(s, &s->fd);
    if (s->pid > 0)
        la_proc_signal(s->procs, s->pid, SIGTERM);
    step_fail(s, why);
}

int la_step_exited(struct la_step *s, pid_t pid, int status)
{
    char why[STEP_TEXT + 100];
    const char *line;

    if (s == NULL || s->pid != pid)
        return 0;
    s->pid = 0;
    line = step_last_line(s);
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "srun was ended by signal %d%s%s", WTERMSIG(status), *line ? ": " : "",
                 line);
    else
        snprintf(why, sizeof why, "srun ended with status %d%s%s", WEXITSTATUS(status), *line ? ": " : "",
                 line);
    if (s->state == STEP_TOLD)
        s->ops.ended(s->ops.ctx, status, why);
    step_give_up(s, why);
    return 1;
}

/* ---- What agents say ----------------------------------------------------------------------------- */

static void step_write(struct la_step *s);

/* Those who have not answered are no part of it. */
static void step_tell(struct la_step *s)
{
    char own[LA_STEP_LINE], *word, *rest = own;
    struct la_queue all;
    int err = s->ops.own(s->ops.ctx, own);

    memset(&all, 0, sizeof all);
    while (err == 0 && (word = strtok_r(rest, " ", &rest)) != NULL) {
        err = la_table_add(&s->table, 0, word);
        s->entries++;
    }
    if (err == 0)
        err = la_table_head(&all, s->entries, s->table.size);
    if (err == 0)
        err = la_queue_add(&all, la_queue_first(&s->table), s->table.size);
    if (err == 0)
        err = la_queue_add(&s->feed.waiting, la_queue_first(&all), all.size);
    la_queue_free(&all);
    la_queue_free(&s->table);
    if (err != 0) {
        step_give_up(s, "no memory for the table of addresses");
        return;
    }
    s->state = STEP_TOLD;
    s->deadline = UINT64_MAX;
    step_write(s);
}

/* AGENT ADDRESS ADDRESS ... */
static void step_said(struct la_step *s, char *words)
{
    char *word = strtok_r(words, " ", &words);
    unsigned long agent = 0;

    if (word == NULL || la_text_number(word, strlen(word), 1, s->job->agents_count - 1, &agent) != 0
        || s->said[agent])
        return;
    while ((word = strtok_r(words, " ", &words)) != NULL) {
        if (la_table_add(&s->table, (uint32_t)agent, word) != 0) {
            step_give_up(s, "no memory for addresses");
            return;
        }
        s->entries++;
    }
    s->said[agent] = 1;
    s->known++;
    if (s->known == s->job->agents_count - 1)
        step_tell(s);
}

/* Lines of agents; other lines are noise. */
static void step_line(struct la_step *s)
{
    size_t n = sizeof LA_STEP_AT - 1;
    char want[64], why[LA_STEP_LINE + 100];

    s->line[s->line_size] = '\0';
    snprintf(want, sizeof want, "%s %d %s", LA_START_LINE, LA_START_PROTOCOL, PHX_VERSION);
    if (strncmp(s->line, LA_STEP_AT " ", n + 1) == 0) {
        step_said(s, s->line + n + 1);
    } else if (strncmp(s->line, LA_START_LINE " ", sizeof LA_START_LINE) == 0
               && strcmp(s->line, want) != 0) {
        snprintf(why, sizeof why, "another version of phxrun is there: it says \"%.200s\", this is %s",
                 s->line, want);
        step_give_up(s, why);
    }
    s->line_size = 0;
}

static void step_read(struct la_step *s)
{
    char data[4096];
    ssize_t n = read(s->fd, data, sizeof data), i;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        step_close(s, &s->fd);
        return;
    }
    for (i = 0; i < n && s->state == STEP_ASKING; i++) {
        if (data[i] == '\n')
            step_line(s);
        else if (s->line_size < sizeof s->line - 1)
            s->line[s->line_size++] = data[i];
    }
}

static void step_write(struct la_step *s)
{
    int state = s->fd < 0 ? 0 : la_feed_write(&s->feed, s->fd);

    if (s->fd >= 0 && state >= 0)
        la_watch_set(s->watch, s->fd, LA_READ | (state > 0 ? LA_WRITE : 0));
    else if (state < 0)
        step_close(s, &s->fd); /* why that is will be known when it has ended */
}

static void step_on(void *ctx, int fd, int events)
{
    struct la_step *s = (struct la_step *)ctx;

    (void)fd;
    if (events & LA_WRITE)
        step_write(s);
    if ((events & LA_READ) && s->fd >= 0)
        step_read(s);
}

static void step_on_error(void *ctx, int fd, int events)
{
    struct la_step *s = (struct la_step *)ctx;
    char data[2048];
    ssize_t n = read(fd, data, sizeof data), i;

    (void)events;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        step_close(s, &s->error_fd);
    for (i = 0; i < n; i++) {
        unsigned char ch = (unsigned char)data[i];
        if (s->text_size == STEP_TEXT) {
            memmove(s->text, s->text + STEP_TEXT / 2, STEP_TEXT / 2);
            s->text_size = STEP_TEXT / 2;
        }
        s->text[s->text_size++] = (ch < 0x20 && ch != '\n') || ch == 0x7f ? '?' : (char)ch;
    }
    s->text[s->text_size] = '\0';
}

/* ---- Beginning ----------------------------------------------------------------------------------- */

/* All hosts but this one, folded as Slurm has them. */
static int step_nodes(const struct la_step *s, struct la_text *out)
{
    const char **names = (const char **)calloc(s->job->agents_count, sizeof *names);
    uint32_t i, n = s->job->agents_count - 1;

    if (names == NULL)
        return ENOMEM;
    for (i = 0; i < n; i++)
        names[i] = s->job->agents[i + 1].host;
    la_text_say(out, "--nodelist=");
    la_hosts_fold(out, names, n);
    free(names);
    return out->failed ? ENOMEM : 0;
}

static int step_process(struct la_step *s, struct la_exec *x)
{
    enum la_exec_stage stage;
    int pair[2], error[2], err = la_pair(pair);

    if (err != 0)
        return err;
    err = la_pipe(error);
    if (err != 0) {
        close(pair[0]);
        close(pair[1]);
        return err;
    }
    x->envp = environ;
    x->fds[0] = x->fds[1] = pair[1];
    x->fds[2] = error[1];
    x->guarded = !s->job->go_on;
    err = la_proc_start(s->procs, x, &s->pid, &stage);
    close(pair[1]);
    close(error[1]);
    s->fd = pair[0];
    s->error_fd = error[0];
    if (err != 0)
        s->pid = 0;
    if (err == 0 && (la_nonblocking(pair[0]) != 0 || la_nonblocking(error[0]) != 0
                     || la_watch_add(s->watch, pair[0], LA_READ, step_on, s) != 0
                     || la_watch_add(s->watch, error[0], LA_READ, step_on_error, s) != 0))
        err = ENOMEM;
    return err;
}

/* With --on-failure continue the others go on when one agent dies. */
static int step_command(struct la_step *s)
{
    char path[1024], nodes[32], tasks[32], program[1024];
    char *words[STEP_ARGUMENTS + 2] = { NULL };
    const char *fixed[] = { "srun", nodes, tasks, "--ntasks-per-node=1", NULL, "--cpu-bind=none",
                            "--mpi=none", "--overlap",
                            s->job->go_on ? "--kill-on-bad-exit=0" : "--kill-on-bad-exit=1",
                            program, LA_STEP_AS_AGENT };
    struct la_text list = { 0 };
    struct la_exec x;
    int err = la_proc_find("srun", environ, NULL, path, sizeof path);

    if (err == 0)
        err = step_nodes(s, &list);
    if (err == 0) {
        snprintf(nodes, sizeof nodes, "--nodes=%lu", (unsigned long)s->job->agents_count - 1);
        snprintf(tasks, sizeof tasks, "--ntasks=%lu", (unsigned long)s->job->agents_count - 1);
        snprintf(program, sizeof program, "%s", s->job->agent != NULL ? s->job->agent : s->self);
        fixed[4] = list.at;
        memcpy(words + 1, fixed, sizeof fixed); /* exec changes no string */
        memset(&x, 0, sizeof x);
        x.path = path;
        x.argv = words + 1;
        err = step_process(s, &x);
    }
    la_text_free(&list);
    return err;
}

static void step_begin(struct la_step *s, uint64_t now)
{
    char why[200];
    int err;

    s->state = STEP_ASKING;
    s->deadline = now + s->job->start_timeout_us;
    err = s->ops.boot(s->ops.ctx, 0, &s->feed.waiting) != 0 ? ENOMEM : 0;
    if (err == 0 && s->cargo != NULL && la_cargo_feed(s->cargo, &s->feed) != 0)
        err = ENOMEM;
    if (err == 0)
        err = step_command(s);
    if (err == 0) {
        step_write(s);
        return;
    }
    snprintf(why, sizeof why, "srun: %s", strerror(err));
    step_give_up(s, why);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

int la_step_new(struct la_step **out, const struct la_job *job, const char *self,
                const struct la_cargo *cargo, struct la_watch *w, struct la_procs *p,
                const struct la_step_ops *ops)
{
    struct la_step *s = (struct la_step *)calloc(1, sizeof *s);

    *out = s;
    if (s == NULL)
        return PHX_ENOMEM;
    s->job = job;
    s->cargo = cargo;
    s->watch = w;
    s->procs = p;
    s->ops = *ops;
    s->fd = s->error_fd = s->feed.file = -1;
    s->deadline = job->agents_count > 1 ? 0 : UINT64_MAX;
    s->self = la_text_dup(self);
    s->said = (unsigned char *)calloc(job->agents_count, 1);
    return s->self == NULL || s->said == NULL ? PHX_ENOMEM : 0;
}

void la_step_free(struct la_step *s)
{
    if (s == NULL)
        return;
    step_close(s, &s->fd);
    step_close(s, &s->error_fd);
    la_queue_free(&s->feed.waiting);
    la_queue_free(&s->table);
    free(s->self);
    free(s->said);
    free(s);
}

void la_step_step(struct la_step *s, uint64_t now_us)
{
    char why[200];
    const char *line;

    if (s == NULL || s->deadline > now_us)
        return;
    if (s->state == STEP_NEW) {
        step_begin(s, now_us);
        return;
    }
    line = step_last_line(s);
    snprintf(why, sizeof why, "no answer within %llu ms of its start%s%.100s",
             (unsigned long long)(s->job->start_timeout_us / 1000), *line != '\0' ? ": " : "", line);
    s->deadline = UINT64_MAX;
    step_fail(s, why);
    if (s->job->go_on && s->known > 0)
        step_tell(s);
    else
        step_give_up(s, why);
}

uint64_t la_step_deadline(const struct la_step *s)
{
    return s != NULL ? s->deadline : UINT64_MAX;
}

void la_step_kill(const struct la_step *s, int number)
{
    if (s != NULL && s->pid > 0)
        la_proc_signal(s->procs, s->pid, number);
}

int la_step_running(const struct la_step *s)
{
    return s != NULL && s->pid > 0;
}
