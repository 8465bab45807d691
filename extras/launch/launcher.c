/* launcher.c - agent 0: what failures mean, output, input, signals, and the status at the end. */

/* The first failure decides the status, says one line and ends the job; later ones are its consequence. With
 * --on-failure continue and with -k each says its line and ends nothing. */
#define _POSIX_C_SOURCE 200809L
#include "launcher.h"
#include "agent.h"
#include "answers.h"
#include "ftmpi.h"
#include "launcher_jobs.h"
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAUNCH_READ ((size_t)32 * 1024)        /* of standard input at once */
#define LAUNCH_LATE_US ((uint64_t)5000000)     /* a start that takes longer says how far it is */
#define LAUNCH_STOPPED_US ((uint64_t)80000000000) /* a day but for some hours: stopped by ^Z */
#define LAUNCH_AGAIN_US ((uint64_t)100000)
#define LAUNCH_STATS_US ((uint64_t)1000000)
#define LAUNCH_LINE 2048

/* One output file of -outfile-pattern or -errfile-pattern. */
struct launch_file {
    char *name;
    struct launch_file *next;
};

struct launcher {
    struct la_local *local;
    struct la_options *o;
    struct la_job *job;
    struct la_status status;
    struct la_sink sinks[2]; /* standard output, standard error */
    int watched[2];
    struct launch_file *files;
    struct la_answers *answers; /* of -k, until all have ended; else NULL */
    int answered, forgotten;  /* forgotten: agents were told that no rank is started again */
    struct launch_jobs jobs;  /* the first of them is `job` */
    struct la_ftmpi *ftmpi;   /* --ftmpi, or NULL: what the end of a rank means */
    int input_state;          /* enum launch_input */
    int interrupts, ending, over, broken, stop;
    uint64_t timeout_at, progress_at, end_at;
    uint64_t begun, ready_us, stats_by; /* ready_us: how long the start took; 0: not all run */
    int stats_said;
};

enum launch_input { INPUT_NONE, INPUT_WATCHED, INPUT_FILE, INPUT_WAITING, INPUT_ENDED };

/* ---- Output -------------------------------------------------------------------------------------- */

static void launch_on_sink(void *ctx, int fd, int events);

static size_t launch_waiting(const struct launcher *la)
{
    return la->sinks[0].waiting.size + la->sinks[1].waiting.size;
}

static void launch_flush(struct launcher *la)
{
    int i;

    for (i = 0; i < 2; i++) {
        int waits = la_sink_flush(&la->sinks[i]);
        if (waits != la->watched[i]) {
            la->watched[i] = waits;
            la_watch_set(la_local_watch(la->local), la->sinks[i].fd, waits ? LA_WRITE : 0);
        }
    }
    la_flow_set_backlog(la_local_flow(la->local), launch_waiting(la));
}

static void launch_on_sink(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    launch_flush((struct launcher *)ctx);
}

/* A line for people. */
static void launch_say(struct launcher *la, const char *text)
{
    struct la_sink *s = &la->sinks[1];

    if (s->waiting.size > LA_FLOW_WINDOW)
        return;
    if (la_queue_add(&s->waiting, "phxrun: ", 8) != 0 || la_queue_add(&s->waiting, text, strlen(text)) != 0
        || la_queue_add(&s->waiting, "\n", 1) != 0)
        fprintf(stderr, "phxrun: %s\n", text); /* out of order is better than not at all */
    launch_flush(la);
}

static void launch_end(struct launcher *la, int now)
{
    struct la_event e;

    if (la->ending > now)
        return;
    la->ending = 1 + now;
    la->end_at = la_local_now(la->local) + (now ? 0 : la->job->grace_us) + 1000000;
    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.value = now;
    la_local_down(la->local, LA_ALL, LA_DOWN_END, &e);
}

static void launch_fail(struct launcher *la, int code, const char *text)
{
    int lives = la->job->go_on || la->job->each;

    if (la->ending)
        return;
    la_status_add(&la->status, code, la->job->each);
    if (text != NULL)
        launch_say(la, text);
    if (!lives)
        launch_end(la, 0);
}

/* Of an MPI program nobody can go on alone, whatever was asked for. */
static void launch_ftmpi_fail(void *ctx, int code, const char *line)
{
    struct launcher *la = (struct launcher *)ctx;

    la->job->go_on = la->job->each = 0;
    launch_fail(la, code, line);
}

/* The same about a process of a job. */
static void launch_job_fail(struct launcher *la, const struct launch_job *j, int code, const char *text)
{
    char line[LAUNCH_LINE + 32];

    if (j->number > 0)
        snprintf(line, sizeof line, "spawn %lu: %s", (unsigned long)j->number, text);
    launch_fail(la, code, j->number > 0 ? line : text);
}

/* The first chunk that goes to a file empties it. */
static int launch_file_is_new(struct launcher *la, const char *name)
{
    struct launch_file *f;

    for (f = la->files; f != NULL; f = f->next)
        if (strcmp(f->name, name) == 0)
            return 0;
    f = (struct launch_file *)calloc(1, sizeof *f);
    if (f == NULL)
        return 1;
    f->name = la_text_dup(name);
    if (f->name == NULL) {
        free(f);
        return 1;
    }
    f->next = la->files;
    la->files = f;
    return 1;
}

static const char *launch_host(const struct launcher *la, const struct launch_job *j, uint32_t rank)
{
    uint32_t agent;

    if (la->ftmpi != NULL && j != NULL && j->number == 0)
        return la_ftmpi_host(la->ftmpi, rank);
    agent = j != NULL ? la_job_agent_of(j->job, rank) : LA_NONE;

    return agent == LA_NONE ? "?" : j->job->agents[agent].host;
}

/* A plain file or something like /dev/null; a pipe would stop the launcher when nobody reads it. */
static int launch_open_file(struct launcher *la, const char *name)
{
    int empty = launch_file_is_new(la, name) ? O_TRUNC : 0;
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | empty, 0666);
    struct stat about;

    if (fd < 0 || (fstat(fd, &about) == 0 && (S_ISREG(about.st_mode) || S_ISCHR(about.st_mode))))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static void launch_to_file(struct launcher *la, const char *pattern, const struct la_chunk *c)
{
    char name[1024], why[LAUNCH_LINE];
    const unsigned char *data = c->data;
    size_t size = c->size;
    ssize_t n = 0;
    int fd = -1;

    if (la_pattern(pattern, c->rank, launch_host(la, la_jobs_find(&la->jobs, c->job), c->rank), name,
                   sizeof name) != 0)
        errno = ENAMETOOLONG;
    else
        fd = launch_open_file(la, name);
    while (fd >= 0 && size > 0 && (n = write(fd, data, size)) > 0) {
        data += n;
        size -= (size_t)n;
    }
    if (fd < 0 || size > 0) {
        snprintf(why, sizeof why, "%s: %s", name, strerror(errno));
        launch_fail(la, LA_STATUS_ERROR, why);
    }
    if (fd >= 0)
        close(fd);
}

/* What has become of answers, to standard output and standard error. */
static void launch_print(struct launcher *la, int err, struct la_text now[2])
{
    int i;

    for (i = 0; i < 2; i++) {
        if (err == 0 && now[i].size > 0)
            err = la_queue_add(&la->sinks[i].waiting, now[i].at, now[i].size);
        la_text_free(&now[i]);
    }
    if (err != 0)
        launch_fail(la, LA_STATUS_ERROR, "no memory for output");
    launch_flush(la);
}

static void launch_answer(struct launcher *la, const struct la_chunk *c)
{
    struct la_text now[2] = { { NULL, 0, 0, 0 }, { NULL, 0, 0, 0 } };
    int err = la_answers_output(la->answers, c->rank, c->stream, c->data, c->size, now);

    launch_print(la, err, now);
}

static void launch_answers_end(struct launcher *la)
{
    struct la_text now[2] = { { NULL, 0, 0, 0 }, { NULL, 0, 0, 0 } };

    if (la->answers == NULL || la->answered)
        return;
    la->answered = 1;
    launch_print(la, la_answers_finish(la->answers, now), now);
}

static void launch_output(void *ctx, const struct la_chunk *c)
{
    struct launcher *la = (struct launcher *)ctx;
    const char *pattern = c->stream == 2 ? la->job->err_pattern : la->job->out_pattern;
    struct la_sink *s = &la->sinks[c->stream == 2];
    int err;

    if (pattern != NULL) {
        launch_to_file(la, pattern, c);
        return;
    }
    if (la->answers != NULL && !la->answered) {
        launch_answer(la, c);
        return;
    }
    err = la->job->label ? la_label(&s->waiting, c) : la_queue_add(&s->waiting, c->data, c->size);
    if (err != 0)
        launch_fail(la, LA_STATUS_ERROR, "no memory for output");
    if (s->waiting.size >= LA_LINE)
        launch_flush(la);
    la_flow_set_backlog(la_local_flow(la->local), launch_waiting(la));
}

/* Nobody reads it any more: `| head` is the usual reason. */
static void launch_check_broken(struct launcher *la)
{
    int i;

    for (i = 0; i < 2 && !la->broken; i++)
        if (la->sinks[i].error != 0) {
            char why[256];
            la->broken = 1;
            la->job->go_on = la->job->each = 0; /* nobody is there for what would follow */
            snprintf(why, sizeof why, "standard output: %s", strerror(la->sinks[i].error));
            launch_fail(la, 128 + SIGPIPE, la->sinks[i].error == EPIPE ? NULL : why);
        }
}

/* ---- Input --------------------------------------------------------------------------------------- */

/* A launcher in the background leaves the terminal alone. */
static int launch_may_read(void)
{
    return !isatty(0) || tcgetpgrp(0) == getpgrp();
}

static void launch_read(struct launcher *la)
{
    unsigned char data[LAUNCH_READ];
    struct la_chunk c;
    ssize_t n = read(0, data, sizeof data);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c.rank = la->job->stdin_to == LA_STDIN_ALL ? LA_ALL : la->job->stdin_rank;
    c.stream = 0;
    c.data = data;
    c.size = n > 0 ? (size_t)n : 0;
    if (la_flow_input(la_local_flow(la->local), &c) != 0)
        launch_fail(la, LA_STATUS_ERROR, "no memory for input");
    if (n > 0)
        return;
    la_watch_drop(la_local_watch(la->local), 0);
    la->input_state = INPUT_ENDED;
}

static void launch_on_input(void *ctx, int fd, int events)
{
    struct launcher *la = (struct launcher *)ctx;

    (void)fd;
    (void)events;
    if (la->input_state == INPUT_WATCHED && la_flow_input_room(la_local_flow(la->local))
        && launch_may_read()) {
        launch_read(la);
        return;
    }
    la_watch_set(la_local_watch(la->local), 0, 0);
    la->input_state = INPUT_WAITING;
}

static void launch_open_input(struct launcher *la)
{
    struct stat about;

    if (la->job->stdin_to == LA_STDIN_NONE || fstat(0, &about) != 0)
        return;
    la->input_state = INPUT_FILE; /* what cannot be waited for is always ready */
    if (!S_ISREG(about.st_mode) && la_watch_add(la_local_watch(la->local), 0, LA_READ, launch_on_input,
                                                la) == 0)
        la->input_state = INPUT_WATCHED;
}

/* Nobody is left who could read it: what comes is not taken from its writer. */
static void launch_end_input(struct launcher *la)
{
    if (la->input_state == INPUT_WATCHED || la->input_state == INPUT_WAITING)
        la_watch_drop(la_local_watch(la->local), 0);
    la->input_state = INPUT_ENDED;
}

static void launch_step_input(struct launcher *la)
{
    int running = la->input_state != INPUT_NONE && la->input_state != INPUT_ENDED;

    if (running && la->job->stdin_to == LA_STDIN_RANK && la->jobs.first->ended[la->job->stdin_rank])
        launch_end_input(la);
    if (la->input_state == INPUT_FILE && la_flow_input_room(la_local_flow(la->local))) {
        launch_read(la);
    } else if (la->input_state == INPUT_WAITING && la_flow_input_room(la_local_flow(la->local))
               && launch_may_read()) {
        la->input_state = INPUT_WATCHED;
        la_watch_set(la_local_watch(la->local), 0, LA_READ);
    }
}

/* ---- What agents say ----------------------------------------------------------------------------- */

/* A rank of a job without PMI ends as it likes. But if some have said init, one that ends without it will
 * never come to where the others wait for it. */
static void launch_check_uninited(struct launcher *la, struct launch_job *j)
{
    char why[LAUNCH_LINE];

    if (j->uninited == LA_NONE || j->inits == 0 || la->job->each)
        return;
    snprintf(why, sizeof why, "rank %lu on %s: ended with status 0 without init, which others have called",
             (unsigned long)j->uninited, launch_host(la, j, j->uninited));
    j->uninited = LA_NONE;
    launch_job_fail(la, j, LA_STATUS_ERROR, why);
}

static void launch_tell(struct launcher *la, const struct launch_job *j, uint32_t rank, uint32_t type)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.job = j->number;
    e.rank = rank;
    la_local_down(la->local, LA_ALL, type, &e);
}

static void launch_count_end(struct launch_job *j, uint32_t rank)
{
    j->ended[rank] = 1;
    j->ended_count++;
}

static void launch_exit(struct launcher *la, struct launch_job *j, uint32_t rank, const struct la_event *e)
{
    char why[LA_TEXT];

    if (la->ftmpi != NULL && j->number == 0 && !(e->flags & LA_EVENT_UNSTARTED)) {
        (void)la_ftmpi_exited(la->ftmpi, rank, e->flags >> LA_EVENT_LIFE, e->value);
        return;
    }
    if (rank >= j->job->size || j->ended[rank] || e->flags >> LA_EVENT_LIFE != 0)
        return;
    launch_count_end(j, rank);
    if ((e->flags & LA_EVENT_UNSTARTED) || j->failed)
        return;
    if (la->answers != NULL)
        la_answers_exit(la->answers, rank, la_status_of_wait(e->value));
    if (e->value != 0) {
        la_status_say(why, rank, launch_host(la, j, rank), e->value);
        launch_job_fail(la, j, la_status_of_wait(e->value), why);
        if (la->job->go_on)
            launch_tell(la, j, rank, LA_DOWN_DEAD);
    } else if (!(e->flags & LA_EVENT_INITED)) {
        j->uninited = rank;
        launch_check_uninited(la, j);
    } else if (!(e->flags & LA_EVENT_FINALIZED) && !la->job->each) {
        launch_tell(la, j, rank, la->job->go_on ? LA_DOWN_DEAD : LA_DOWN_GONE);
    }
}

/* A spawned job of which nothing more is awaited. */
static void launch_check_over(struct launcher *la, struct launch_job *j)
{
    if (j->number == 0 || !j->answered || j->forgotten || j->ended_count < j->job->size)
        return;
    launch_tell(la, j, LA_NONE, LA_DOWN_FORGET);
    la_jobs_over(&la->jobs, j);
}

static void launch_exits(struct launcher *la, struct launch_job *j, const struct la_event *e)
{
    uint32_t i;

    for (i = 0; i < e->count && i < j->job->size; i++)
        launch_exit(la, j, e->rank + i, e);
    launch_check_over(la, j);
}

/* ---- Spawns -------------------------------------------------------------------------------------- */

/* why NULL: it has begun. */
static void launch_answer_spawn(struct launcher *la, struct launch_job *j, const char *why)
{
    struct la_event e;

    if (j->answered)
        return;
    j->answered = 1;
    memset(&e, 0, offsetof(struct la_event, text));
    e.job = j->asker_job;
    e.rank = LA_NONE;
    e.count = (uint32_t)j->token;
    e.flags = (uint32_t)(j->token >> 32);
    e.value = why != NULL ? -1 : 0;
    snprintf(e.text, sizeof e.text, "%s", why != NULL ? why : j->job->kvsname);
    la_local_down(la->local, j->asker, LA_DOWN_SPAWNED, &e);
}

/* It cannot begin whole, so it does not begin: an answer to who asked, and no failure of the others. */
static void launch_spawn_failed(struct launcher *la, struct launch_job *j, const char *why)
{
    char line[LAUNCH_LINE + 32];

    snprintf(line, sizeof line, "spawn %lu: %s", (unsigned long)j->number, why);
    launch_say(la, line);
    j->failed = 1;
    launch_answer_spawn(la, j, why);
    launch_tell(la, j, LA_NONE, LA_DOWN_KILL);
}

static void launch_spawn(void *ctx, uint32_t from, const void *data, size_t size)
{
    struct launcher *la = (struct launcher *)ctx;
    struct launch_job asked;
    unsigned char *job;
    size_t job_size;
    char why[LA_TEXT];

    if (la->ending || la->over)
        return; /* who asked ends, too */
    if (la_jobs_spawn(&la->jobs, &asked, from, (const unsigned char *)data, size, &job, &job_size, why)
        != 0) {
        launch_say(la, why);
        launch_answer_spawn(la, &asked, why);
        return;
    }
    la_local_down_job(la->local, job, job_size);
    free(job);
}

static void launch_ready(struct launcher *la, struct launch_job *j, uint32_t from)
{
    if (j->number == 0) {
        la_jobs_ready(&la->jobs, from);
        if (j->ready_count == la->job->agents_count)
            la->ready_us = phx_now_us() - la->begun;
        return;
    }
    if (++j->ready_count < j->job->nodes)
        return;
    launch_answer_spawn(la, j, NULL);
    launch_check_over(la, j);
}

static void launch_unstarted(struct launcher *la, struct launch_job *j, const struct la_event *e)
{
    char why[LA_TEXT];
    int directory = (e->flags & LA_EVENT_DIRECTORY) != 0;

    if (e->flags >> LA_EVENT_LIFE != 0 && la->ftmpi != NULL) {
        la_ftmpi_unstarted(la->ftmpi, e->rank, e->flags >> LA_EVENT_LIFE, strerror(e->value));
        return;
    }
    if (la->answers != NULL)
        la_answers_exit(la->answers, e->rank, la_status_of_errno(e->value, directory));
    la_status_say_errno(why, e->rank, launch_host(la, j, e->rank), e->text, e->value, directory);
    if (!j->answered)
        launch_spawn_failed(la, j, why);
    else if (!j->failed && la->ftmpi != NULL) /* it begins whole, or not at all */
        launch_ftmpi_fail(la, la_status_of_errno(e->value, directory), why);
    else if (!j->failed)
        launch_job_fail(la, j, la_status_of_errno(e->value, directory), why);
}

/* ---- Agents -------------------------------------------------------------------------------------- */

static const char *launch_agent_host(const struct launcher *la, uint32_t agent)
{
    return agent < la->job->agents_count ? la->job->agents[agent].host : "?";
}

static void launch_agent_gone(struct launcher *la, struct launch_job *j, const struct la_agent *a)
{
    uint32_t i, k;

    if (la->ftmpi != NULL && j->number == 0)
        return; /* launch_agents_gone says it once for all of them */
    for (i = 0; i < a->runs_count; i++)
        for (k = 0; k < a->runs[i].count; k++) {
            uint32_t rank = a->runs[i].first + k;
            if (j->ended[rank])
                continue;
            launch_count_end(j, rank);
            if (la->job->go_on)
                launch_tell(la, j, rank, LA_DOWN_DEAD);
        }
    if (a->runs_count > 0 && !j->answered)
        launch_spawn_failed(la, j, "a host is gone");
}

/* Ranks of agents that will say nothing any more have ended. */
static void launch_agents_gone(void *ctx, uint32_t agent, uint32_t last)
{
    struct launcher *la = (struct launcher *)ctx;
    struct launch_job *j, *next;
    uint32_t i;

    for (i = agent; i < last && i < la->job->agents_count; i++)
        la_jobs_gone(&la->jobs, i);
    if (la->ftmpi != NULL)
        la_ftmpi_gone(la->ftmpi, agent, last);
    for (j = la->jobs.first; j != NULL; j = next) {
        next = j->next; /* one that is over may be freed */
        for (i = agent; i < last && i < la->job->agents_count; i++)
            launch_agent_gone(la, j, &j->job->agents[i]);
        launch_check_over(la, j);
    }
}

static void launch_lost(struct launcher *la, const struct la_event *e, int status, const char *what)
{
    char why[LAUNCH_LINE];

    if (e->rank == 0 || e->rank >= la->job->agents_count)
        return;
    snprintf(why, sizeof why, "host %s: %s%s", launch_agent_host(la, e->rank), what, e->text);
    if (la->ftmpi != NULL && la->job->ft && !la->ending)
        launch_say(la, why); /* its ranks have failed, and the others go on */
    else
        launch_fail(la, status, why);
    if (!la->job->go_on)
        launch_agents_gone(la, e->rank, e->rank + la->job->agents[e->rank].subtree);
}

static void launch_abort(struct launcher *la, uint32_t from, const struct la_event *e)
{
    char why[LAUNCH_LINE];

    if (e->rank == LA_NONE)
        snprintf(why, sizeof why, "host %s: %s", launch_agent_host(la, from), e->text);
    else
        snprintf(why, sizeof why, "%srank %lu on %s: aborted with code %ld%s%s",
                 e->job > 0 ? "a spawn's " : "", (unsigned long)e->rank, launch_agent_host(la, from),
                 (long)e->value, e->text[0] != '\0' ? ": " : "", e->text);
    la->job->go_on = la->job->each = 0; /* an abort is meant for all */
    launch_fail(la, la_status_of_abort(e->value), why);
}

static void launch_stuck(struct launcher *la, const struct launch_job *j, const struct la_event *e)
{
    char why[LAUNCH_LINE];

    snprintf(why, sizeof why,
             "rank %lu on %s: ended with status 0 while rank %lu waits for it in operation %ld",
             (unsigned long)e->count, launch_host(la, j, e->count), (unsigned long)e->rank, (long)e->value);
    launch_job_fail(la, j, LA_STATUS_ERROR, why);
}

static void launch_differ(struct launcher *la, const struct launch_job *j, const struct la_event *e)
{
    char why[LAUNCH_LINE];

    snprintf(why, sizeof why, "ranks %lu and %lu do not call the same: %s", (unsigned long)e->rank,
             (unsigned long)e->count, e->text);
    launch_job_fail(la, j, LA_STATUS_ERROR, why);
}

static void launch_event_say(struct launcher *la, uint32_t from, const struct la_event *e)
{
    char line[LAUNCH_LINE];

    if (e->rank == LA_NONE)
        snprintf(line, sizeof line, "%s: %s", launch_agent_host(la, from), e->text);
    else
        snprintf(line, sizeof line, "%srank %lu on %s: %s", e->job > 0 ? "a spawn's " : "",
                 (unsigned long)e->rank, launch_agent_host(la, from), e->text);
    launch_say(la, line);
}

/* About processes of one job. */
static void launch_job_event(struct launcher *la, struct launch_job *j, uint32_t from, uint32_t type,
                             const struct la_event *e)
{
    switch (type) {
    case LA_UP_EXITS: launch_exits(la, j, e); break;
    case LA_UP_UNSTARTED: launch_unstarted(la, j, e); break;
    case LA_UP_INIT:
        j->inits++;
        launch_check_uninited(la, j);
        break;
    case LA_UP_AGAIN:
        if (la->ftmpi != NULL && j->number == 0)
            la_ftmpi_again(la->ftmpi, e->rank, e->count);
        break;
    case LA_UP_READY: launch_ready(la, j, from); break;
    case LA_UP_STUCK: launch_stuck(la, j, e); break;
    case LA_UP_DIFFER: launch_differ(la, j, e); break;
    default: break;
    }
}

static void launch_no_host(struct launcher *la, const struct la_event *e)
{
    uint32_t i;

    if (e->rank >= la->job->agents_count || la->jobs.gone[e->rank])
        return; /* under srun more than one may say so */
    la_jobs_gone(&la->jobs, e->rank);
    if (la->ftmpi != NULL)
        la->job->go_on = 0; /* it begins whole, or not at all */
    for (i = 1; la->job->starter != LA_SRUN && i < la->job->agents[e->rank].subtree; i++)
        la_jobs_ready(&la->jobs, e->rank + i); /* none of these will be there */
    launch_lost(la, e, e->value, "");
}

static void launch_event(void *ctx, uint32_t from, uint32_t type, const struct la_event *e)
{
    struct launcher *la = (struct launcher *)ctx;
    struct launch_job *j = la_jobs_find(&la->jobs, e->job);

    switch (type) {
    case LA_UP_NO_HOST: launch_no_host(la, e); break;
    case LA_UP_LOST: launch_lost(la, e, LA_STATUS_ERROR, "its agent is gone: "); break;
    case LA_UP_ABORT: launch_abort(la, from, e); break;
    case LA_UP_SAY: launch_event_say(la, from, e); break;
    case LA_UP_STATS: la_jobs_stats(&la->jobs, from, e->count, (uint32_t)e->value); break;
    default:
        if (j != NULL)
            launch_job_event(la, j, from, type, e);
        break;
    }
}

/* ---- Signals and time ---------------------------------------------------------------------------- */

static void launch_pass(struct launcher *la, int number)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.value = number;
    la_local_down(la->local, LA_ALL, LA_DOWN_SIGNAL, &e);
}

/* Before all processes run there is nobody to pass it to, and more would be started. */
static void launch_signal(void *ctx, int number)
{
    struct launcher *la = (struct launcher *)ctx;
    int ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;

    if (number == SIGINT && ++la->interrupts > 1) {
        launch_fail(la, 128 + SIGINT, "interrupted twice");
        launch_end(la, 1);
    } else if (ends && la->jobs.first->ready_count < la->job->agents_count) {
        launch_fail(la, 128 + number, strsignal(number));
        launch_end(la, 0);
    } else {
        launch_pass(la, number);
        la->stop |= number == SIGTSTP;
    }
}

/* ^Z: after all have got it this process stops, too. */
static void launch_stop(struct launcher *la)
{
    phx *node = la_local_node(la->local);

    la->stop = 0;
    (void)phx_busy(node, LAUNCH_STOPPED_US);
    (void)kill(getpid(), SIGSTOP);
    (void)phx_busy(node, 0);
}

static void launch_progress(struct launcher *la, uint64_t now)
{
    char line[LAUNCH_LINE];

    unsigned long ready = la->jobs.first->ready_count;

    if (ready >= la->job->agents_count || la->ending)
        return;
    la->progress_at = now + LAUNCH_LATE_US;
    snprintf(line, sizeof line, "starting: %lu of %lu hosts", ready,
             (unsigned long)la->job->agents_count);
    launch_say(la, line);
}

static void launch_time(struct launcher *la, uint64_t now)
{
    char line[128];

    if (la->progress_at <= now) {
        la->progress_at = UINT64_MAX;
        launch_progress(la, now);
    }
    if (la->timeout_at <= now) {
        la->timeout_at = UINT64_MAX;
        snprintf(line, sizeof line, "time-out after %.3g s", (double)la->o->timeout_us / 1e6);
        la->job->go_on = la->job->each = 0;
        if (!la->ending)
            memset(&la->status, 0, sizeof la->status); /* it is the time that ends the job */
        launch_fail(la, LA_STATUS_TIMEOUT, line);
    }
    if (la->end_at <= now && la->ending && launch_waiting(la) > 0) {
        la->end_at = now + LAUNCH_AGAIN_US; /* a slow reader gets all of it */
    } else if (la->end_at <= now && la->ending) { /* whoever has not answered by now will not */
        launch_answers_end(la);
        la->end_at = UINT64_MAX;
        la->over = 1;
        la_local_over(la->local);
    }
}

/* All jobs have ended, and all that they wrote is here. */
static int launch_done(struct launcher *la)
{
    const struct launch_job *j = la->jobs.first;

    if (la->job->ft && !la->forgotten && !la->ending && j->ended_count >= j->job->size) {
        la->forgotten = 1;
        launch_tell(la, j, LA_NONE, LA_DOWN_FORGET);
    }
    while (j != NULL && (la->ending || j->ended_count >= j->job->size))
        j = j->next;
    return j == NULL && la_local_ended(la->local) >= la->jobs.count;
}

/* With -v: how long it took, and how good the caches were, as far as agents say so within a second. 1: it is
 * said, or there is nothing to be said. */
static int launch_said_stats(struct launcher *la, uint64_t now)
{
    char line[LAUNCH_LINE];

    if (!la->job->verbose || la->ending || la->stats_said)
        return 1;
    if (la->stats_by == 0)
        la->stats_by = now + LAUNCH_STATS_US;
    if (la->jobs.told < la->job->agents_count && now < la->stats_by)
        return 0;
    la->stats_said = 1;
    snprintf(line, sizeof line, "all ran after %.3f s, all was over after %.3f s", (double)la->ready_us / 1e6,
             (double)(now - la->begun) / 1e6);
    launch_say(la, line);
    la_jobs_say(&la->jobs, line, sizeof line);
    launch_say(la, line);
    return 1;
}

static void launch_step(void *ctx, uint64_t now)
{
    struct launcher *la = (struct launcher *)ctx;

    launch_flush(la);
    launch_check_broken(la);
    launch_step_input(la);
    launch_time(la, now);
    if (la->stop)
        launch_stop(la);
    if (la->over || !launch_done(la) || !launch_said_stats(la, now))
        return;
    launch_answers_end(la);
    if (launch_waiting(la) == 0) {
        la->over = 1;
        la_local_over(la->local);
    }
}

static uint64_t launch_deadline(void *ctx)
{
    const struct launcher *la = (const struct launcher *)ctx;
    uint64_t due = la->timeout_at < la->progress_at ? la->timeout_at : la->progress_at;

    if (la->stats_by > 0 && !la->stats_said && la->stats_by < due)
        due = la->stats_by;

    if (la->input_state == INPUT_FILE && la_flow_input_room(la_local_flow(la->local)))
        return 0;
    return due < la->end_at ? due : la->end_at;
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static phx *launch_ftmpi_node(void *ctx)
{
    return la_local_node(((struct launcher *)ctx)->local);
}

static void launch_ftmpi_say(void *ctx, const char *line)
{
    struct launcher *la = (struct launcher *)ctx;

    if (!la->ending)
        launch_say(la, line);
}

static void launch_ftmpi_one(void *ctx, uint32_t agent, uint32_t type, uint32_t rank, uint32_t life)
{
    struct launcher *la = (struct launcher *)ctx;
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text) + 1);
    e.rank = rank;
    e.count = life;
    la_local_down(la->local, agent, type, &e);
}

static void launch_ftmpi_start(void *ctx, uint32_t agent, uint32_t rank, uint32_t life)
{
    launch_ftmpi_one(ctx, agent, LA_DOWN_AGAIN, rank, life);
}

static void launch_ftmpi_kill(void *ctx, uint32_t rank, uint32_t life)
{
    launch_ftmpi_one(ctx, LA_ALL, LA_DOWN_KILL_ONE, rank, life);
}

static void launch_ftmpi_ended(void *ctx, uint32_t rank, int ended)
{
    struct launch_job *j = ((struct launcher *)ctx)->jobs.first;

    if (ended && !j->ended[rank]) {
        launch_count_end(j, rank);
    } else if (!ended && j->ended[rank]) {
        j->ended[rank] = 0;
        j->ended_count--;
    }
}

static void launch_ftmpi_message(void *ctx, const struct phx_message *m)
{
    la_ftmpi_message(((struct launcher *)ctx)->ftmpi, m);
}

static int launch_make_ftmpi(struct launcher *la, struct la_root_ops *root)
{
    const struct la_ftmpi_ops ops = { la,                launch_ftmpi_node,  launch_ftmpi_fail,
                                      launch_ftmpi_say,  launch_ftmpi_start, launch_ftmpi_kill,
                                      launch_ftmpi_ended };

    root->message = launch_ftmpi_message;
    return la_ftmpi_new(&la->ftmpi, la->job, &ops);
}

static int launch_make(struct launcher *la, const char *self, struct la_procs *procs,
                       const struct la_cargo *cargo)
{
    static const int signals[] = { SIGCHLD, SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                   SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };
    struct la_local_config cfg;
    int i, err = 0;

    memset(&cfg, 0, sizeof cfg);
    cfg.job = la->job;
    cfg.self = self;
    cfg.procs = procs;
    cfg.cargo = cargo;
    cfg.signals = signals;
    cfg.signals_count = (int)(sizeof signals / sizeof signals[0]);
    cfg.root.ctx = la;
    cfg.root.event = launch_event;
    cfg.root.gone = launch_agents_gone;
    cfg.root.output = launch_output;
    cfg.root.spawn = launch_spawn;
    cfg.root.signal = launch_signal;
    cfg.root.step = launch_step;
    cfg.root.deadline = launch_deadline;
    if (la->job->ftmpi)
        err = launch_make_ftmpi(la, &cfg.root);
    if (err == 0)
        err = la_local_new(&la->local, &cfg);
    if (err == 0 && la->job->each)
        err = la_answers_new(&la->answers, la->job, la->o->json);
    for (i = 0; i < 2 && err == 0; i++) {
        la_sink_open(&la->sinks[i], i + 1);
        if (!la->sinks[i].plain && la->sinks[i].error == 0)
            err = la_watch_add(la_local_watch(la->local), la->sinks[i].fd, 0, launch_on_sink, la);
    }
    return err;
}

static void launch_free(struct launcher *la)
{
    struct launch_file *f;

    la_local_free(la->local);
    la_ftmpi_free(la->ftmpi);
    la_sink_close(&la->sinks[0]);
    la_sink_close(&la->sinks[1]);
    while ((f = la->files) != NULL) {
        la->files = f->next;
        free(f->name);
        free(f);
    }
    la_jobs_free(&la->jobs);
    la_answers_free(la->answers);
}

static void launch_run(struct launcher *la)
{
    uint64_t now = la_local_now(la->local);

    launch_open_input(la);
    la->begun = now;
    la->progress_at = now + LAUNCH_LATE_US;
    la->timeout_at = la->o->timeout_us > 0 ? now + la->o->timeout_us : UINT64_MAX;
    la->end_at = UINT64_MAX;
    la_local_run(la->local);
    launch_flush(la);
}

int la_launch(struct la_options *o, const char *self)
{
    struct launcher la;
    struct la_procs *procs;
    struct la_cargo cargo;
    char why[LA_TEXT];
    int err;

    la_cargo_init(&cargo);
    if (la_cargo_open(&cargo, &o->job, self, why) != 0) {
        fprintf(stderr, "phxrun: %s\n", why);
        la_cargo_free(&cargo);
        return LA_STATUS_USAGE;
    }
    err = la_procs_new(&procs);
    memset(&la, 0, sizeof la);
    la.o = o;
    la.job = &o->job;
    if (err == 0) {
        err = la_jobs_begin(&la.jobs, la.job);
        if (err == 0)
            err = launch_make(&la, self, procs, &cargo);
        if (err == 0)
            launch_run(&la);
        if (err == 0 && la.ftmpi != NULL && la.status.code == 0)
            la_status_add(&la.status, la_ftmpi_code(la.ftmpi), 0);
        launch_free(&la);
        la_procs_free(procs);
    }
    la_cargo_free(&cargo);
    if (err == 0)
        return la.status.code;
    fprintf(stderr, "phxrun: %s\n", phx_strerror(err));
    return LA_STATUS_ERROR;
}
