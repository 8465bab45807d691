/* ftmpirun.c - starts an MPI program on this host: forks, hub, relay, labels, exit codes, and no orphans. */

/* usage: ftmpirun -n RANKS [-l] [--ft MODES] [--cut-wait SECONDS] [--timeout SECONDS] PROGRAM [ARGUMENT...]
 *
 *      make ftmpi     (or, with the sources that the Makefile lists, any C compiler by hand)
 *
 * One loop over one Phoenix node, which is the hub of the ranks and holds the arbiter's name, and over the
 * pipes of the ranks. The arbiter decides when the job has failed, and which rank is started again; this file
 * does what it says. Processes and lines are those of extras/launch: when ftmpirun ends, however it ends, its
 * processes do. */
#define _POSIX_C_SOURCE 200809L
#include "../launch/lines.h"
#include "../launch/proc.h"
#include "../launch/status.h"
#include "lib/arbiter.h"
#include "lib/modes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define RUN_MOST 4096                 /* ranks on one host */
#define RUN_KEY 32                    /* bytes */
#define RUN_GRACE_US 250000u          /* from SIGTERM to SIGKILL */
#define RUN_DRAIN_US 1000000u         /* for output after the last process has ended */
#define RUN_WAITING (1024u * 1024u)   /* bytes of output that wait: no more is read */
#define RUN_NEVER UINT64_MAX

struct run_stream {
    int fd; /* -1: closed */
    struct la_lines lines;
};

struct run_rank {
    pid_t pid; /* 0: not started, or collected */
    uint32_t life;
    struct run_stream out[2];
};

struct run_options {
    uint32_t size;
    int label, help;
    uint64_t timeout_us; /* RUN_NEVER: none */
    const char *ft, *cut_wait; /* for the ranks; NULL: not given */
    struct ftm_modes modes;
    char **argv;
};

struct run {
    struct run_options o;
    struct run_rank *rank;
    struct ftm_arbiter *arbiter;
    struct la_procs *procs;
    struct la_sink sinks[2];
    struct la_queue input; /* read from standard input, not yet written to rank 0 */
    int input_fd, input_to;
    phx *node;
    char host[FTM_HOST_TEXT], address[PHX_ADDRESS_TEXT], program[4096];
    unsigned char key[RUN_KEY];
    uint32_t job, running;
    int signals, code;     /* code: of an end that the arbiter knows nothing of */
    int ending;            /* processes have been asked to end */
    uint64_t kill_at, timeout_at, drain_until;
    struct pollfd *fds;
};

static const char usage[] =
    "usage: ftmpirun -n RANKS [-l] [--ft MODES] [--cut-wait SECONDS] [--timeout SECONDS]\n"
    "                PROGRAM [ARGUMENT...]\n"
    "  -n, -np RANKS        how many processes\n"
    "  -l                   each line of output begins with the rank\n"
    "  --ft MODES           what happens when a rank dies, at first (abort):\n"
    "                       " FTM_MODES_WORDS "\n"
    "  --cut-wait SECONDS   a rank without a way to ftmpirun ends after that (60)\n"
    "  --timeout SECONDS    then the job ends with status 124\n"
    "All run on this host. For several hosts: phxrun --ftmpi (extras/launch).\n";

/* ---- Words ---------------------------------------------------------------------------------------- */

static void run_say(struct run *r, const char *line)
{
    struct la_sink *s = &r->sinks[1];

    if (la_queue_add(&s->waiting, "ftmpirun: ", 10) == 0
        && la_queue_add(&s->waiting, line, strlen(line)) == 0)
        (void)la_queue_add(&s->waiting, "\n", 1);
    (void)la_sink_flush(s);
}

static int run_number(const char *text, unsigned long most, unsigned long *out)
{
    char *end;

    errno = 0;
    if (*text < '0' || *text > '9')
        return -1;
    *out = strtoul(text, &end, 10);
    return *end != '\0' || errno != 0 || *out == 0 || *out > most ? -1 : 0;
}

static int run_usage(const char *what, const char *word)
{
    fprintf(stderr, "ftmpirun: %s%s%s", what, word, word[0] != '\0' ? "\n" : "");
    fputs(usage, stderr);
    return LA_STATUS_USAGE;
}

static int run_wants_hosts(const char *word)
{
    static const char *const words[] = {"-H", "-f", "-host", "-hosts", "-hostfile", "-machinefile", "-ppn"};
    size_t i;

    if (word[0] == '-' && word[1] == '-')
        word++;
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return 1;
    return 0;
}

/* The modes of FTMPI_MODE, which --ft outdoes. */
static int run_read_modes(struct run_options *o)
{
    const char *from = o->ft != NULL ? "--ft " : "FTMPI_MODE=";

    if (o->ft == NULL)
        o->ft = getenv("FTMPI_MODE");
    if (o->ft != NULL && *o->ft == '\0')
        o->ft = NULL;
    if (o->ft == NULL || ftm_modes_read(&o->modes, o->ft) == 0)
        return 0;
    fprintf(stderr, "ftmpirun: %s%s: it is " FTM_MODES_WORDS "\n", from, o->ft);
    return LA_STATUS_USAGE;
}

/* A word that wants another one behind it. */
static int run_read_value(struct run_options *o, const char *word, const char *value)
{
    unsigned long n;

    if (strcmp(word, "--ft") == 0) {
        o->ft = value;
        return value != NULL ? 0 : run_usage("modes are wanted behind ", word);
    }
    if (value == NULL || run_number(value, word[1] == 'n' ? RUN_MOST : 1000000, &n) != 0)
        return run_usage("a number is wanted behind ", word);
    if (word[1] == 'n')
        o->size = (uint32_t)n;
    else if (strcmp(word, "--cut-wait") == 0)
        o->cut_wait = value;
    else
        o->timeout_us = n * 1000000u;
    return 0;
}

static int run_takes_value(const char *word)
{
    static const char *const words[] = {"-n", "-np", "--ft", "--cut-wait", "--timeout"};
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return 1;
    return 0;
}

/* 0, or the exit status of a mistake. */
static int run_read_words(struct run_options *o, char **argv)
{
    int err;

    o->timeout_us = RUN_NEVER;
    for (argv++; *argv != NULL && argv[0][0] == '-'; argv++) {
        const char *word = *argv;
        if (strcmp(word, "--") == 0) {
            argv++;
            break;
        }
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            o->help = 1;
            return 0;
        }
        if (strcmp(word, "-l") == 0) {
            o->label = 1;
            continue;
        }
        if (run_wants_hosts(word)) {
            fprintf(stderr, "ftmpirun: %s: runs on this host only; for others: phxrun --ftmpi\n", word);
            return LA_STATUS_USAGE;
        }
        if (!run_takes_value(word))
            return run_usage("unknown option ", word);
        err = run_read_value(o, word, argv[1]);
        if (err != 0)
            return err;
        argv++;
    }
    o->argv = argv;
    if (o->size == 0 || *argv == NULL)
        return run_usage(o->size == 0 ? "how many? -n RANKS\n" : "which program?\n", "");
    return run_read_modes(o);
}

/* ---- What the arbiter wants ----------------------------------------------------------------------- */

static void run_end(struct run *r)
{
    int core = getenv("MPI_ABORT_CORE") != NULL && strcmp(getenv("MPI_ABORT_CORE"), "1") == 0;

    if (r->ending)
        return;
    r->ending = 1;
    r->kill_at = phx_now_us() + RUN_GRACE_US;
    la_procs_signal(r->procs, core ? SIGABRT : SIGTERM);
}

static void run_on_say(void *ctx, const char *line)
{
    struct run *r = ctx;

    if (r->code == 0) /* else this file ended the job, and no rank is to blame */
        run_say(r, line);
}

static void run_on_over(void *ctx, int code)
{
    (void)code; /* asked for at the end */
    run_end(ctx);
}

static const char *run_on_host(void *ctx, uint32_t rank)
{
    (void)rank;
    return ((struct run *)ctx)->host;
}

static void run_on_cast(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data,
                        size_t size)
{
    struct run *r = ctx;
    struct phx_range *ranges = calloc(count, sizeof *ranges);
    struct phx_cast c;
    uint32_t i;
    int err = PHX_ENOMEM;

    if (ranges != NULL) {
        for (i = 0; i < count; i++)
            ranges[i].first = ranges[i].last = FTM_NAME(r->job, FTM_PROCESS, 0, 0) | to[i];
        memset(&c, 0, sizeof c);
        c.ranges = ranges;
        c.ranges_count = count;
        c.from = FTM_NAME(r->job, FTM_ARBITER, 0, 0);
        c.tag = tag;
        c.data = data;
        c.size = size;
        err = phx_cast(r->node, &c);
        free(ranges);
    }
    if (err < 0 && !r->ending) {
        run_say(r, phx_strerror(err));
        r->code = LA_STATUS_ERROR;
        run_end(r);
    }
}

static void run_on_kill(void *ctx, uint32_t rank, uint32_t life)
{
    struct run *r = ctx;

    if (r->rank[rank].pid != 0 && r->rank[rank].life == life)
        la_proc_signal(r->procs, r->rank[rank].pid, SIGKILL);
}

static void run_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct run *r = user;

    (void)p;
    ftm_arbiter_message(r->arbiter, m->from, m->tag, m->data, m->size);
}

/* ---- The node ------------------------------------------------------------------------------------- */

static int run_random(void *out, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size) : -1;

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)size ? 0 : PHX_EIO;
}

static int run_open_node(struct run *r)
{
    struct phx_config cfg;
    struct phx_address at;
    uint64_t name;
    int err;

    if (run_random(r->key, sizeof r->key) != 0 || run_random(&r->job, sizeof r->job) != 0)
        return PHX_EIO;
    r->job &= FTM_JOB_MAX;
    name = FTM_NAME(r->job, FTM_ARBITER, 0, 0);
    phx_config_init(&cfg);
    cfg.user = r;
    cfg.cluster = "ftmpi";
    cfg.key = r->key;
    cfg.key_size = sizeof r->key;
    cfg.label = "ftmpirun";
    cfg.full_mesh = 0;
    cfg.same_host = getenv("FTMPI_TCP") == NULL || strcmp(getenv("FTMPI_TCP"), "1") != 0;
    cfg.on_message = run_on_message;
    err = phx_new(&r->node, &cfg, phx_now_us());
    if (err == 0)
        err = phx_listen(r->node, "tcp://127.0.0.1:0");
    if (err == 0)
        err = phx_listening(r->node, 0, &at);
    if (err == 0)
        err = phx_assume(r->node, name, name);
    if (err == 0)
        phx_address_text(&at, r->address);
    return err;
}

/* ---- Starting ------------------------------------------------------------------------------------- */

/* The contract with MPI_Init. What stands in our own environment of it is not the ranks'. */
enum {
    RUN_JOB, RUN_RANK, RUN_SIZE, RUN_LIFE, RUN_HUB, RUN_KEY_FD, RUN_ARBITER, RUN_HOST, RUN_SITE, RUN_MODE,
    RUN_CUT_WAIT, RUN_WORDS
};
static const char *const run_words[] = {
    "FTMPI_JOB=", "FTMPI_RANK=", "FTMPI_SIZE=", "FTMPI_LIFE=", "FTMPI_HUB=", "FTMPI_KEY_FD=",
    "FTMPI_ARBITER=", "FTMPI_HOST=", "FTMPI_SITE=", "FTMPI_MODE=", "FTMPI_CUT_WAIT=",
    "PMI_FD=", "PMI_PORT=", "PMI_RANK=", "PMI_SIZE=", "PMI_ID=", "FTMPI_LOCAL=", NULL};

static int run_is_ours(const char *variable)
{
    int i;

    for (i = 0; run_words[i] != NULL; i++)
        if (strncmp(variable, run_words[i], strlen(run_words[i])) == 0)
            return 1;
    return 0;
}

struct run_environ {
    char text[RUN_WORDS][PHX_ADDRESS_TEXT + 16];
    char **at;
};

static void run_set(struct run_environ *e, int word, const char *format, unsigned long long value)
{
    int n = snprintf(e->text[word], sizeof e->text[word], "%s", run_words[word]);

    snprintf(e->text[word] + n, sizeof e->text[word] - (size_t)n, format, value);
}

static void run_set_text(struct run_environ *e, int word, const char *text)
{
    e->text[word][0] = '\0'; /* not told */
    if (text != NULL)
        snprintf(e->text[word], sizeof e->text[word], "%s%s", run_words[word], text);
}

static int run_make_environ(struct run *r, struct run_environ *e, uint32_t rank, int key_fd)
{
    size_t n = 0, count = 0;
    int i;

    while (environ[count] != NULL)
        count++;
    e->at = calloc(count + RUN_WORDS + 1, sizeof *e->at);
    if (e->at == NULL)
        return ENOMEM;
    run_set(e, RUN_JOB, "%llx", r->job);
    run_set(e, RUN_RANK, "%llu", rank);
    run_set(e, RUN_SIZE, "%llu", r->o.size);
    run_set(e, RUN_LIFE, "%llu", r->rank[rank].life);
    run_set(e, RUN_KEY_FD, "%llu", (unsigned)key_fd);
    run_set(e, RUN_ARBITER, "%llu", FTM_NAME(r->job, FTM_ARBITER, 0, 0));
    run_set(e, RUN_HOST, "%llu", 0);
    run_set(e, RUN_SITE, "%llu", 0);
    snprintf(e->text[RUN_HUB], sizeof e->text[RUN_HUB], "%s%s", run_words[RUN_HUB], r->address);
    run_set_text(e, RUN_MODE, r->o.ft);
    run_set_text(e, RUN_CUT_WAIT, r->o.cut_wait);
    for (i = 0; i < RUN_WORDS; i++)
        if (e->text[i][0] != '\0')
            e->at[n++] = e->text[i];
    for (count = 0; environ[count] != NULL; count++)
        if (!run_is_ours(environ[count]))
            e->at[n++] = environ[count];
    return 0;
}

/* A pipe that holds the key, since the environment of a process can be read by others. */
static int run_key_pipe(struct run *r, int *out)
{
    int ends[2], err = la_pipe(ends);
    ssize_t n;

    if (err != 0)
        return err;
    n = write(ends[1], r->key, sizeof r->key);
    close(ends[1]);
    *out = ends[0];
    if (n == (ssize_t)sizeof r->key)
        return 0;
    close(ends[0]);
    return EIO;
}

/* The ends of pipes for standard input, output and error: ours into own[], the process's into its[]. */
static int run_pipes(struct run *r, uint32_t rank, int own[3], int its[3])
{
    int i, ends[2], err = 0;

    for (i = 0; i < 3; i++)
        own[i] = its[i] = -1;
    if (rank != 0 || r->input_fd < 0)
        its[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (i = its[0] >= 0; i < 3 && err == 0; i++) {
        err = la_pipe(ends);
        if (err != 0)
            break;
        own[i] = ends[i == 0];
        its[i] = ends[i != 0];
        err = la_nonblocking(own[i]);
    }
    return err;
}

static void run_close(const int *fds, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int run_exec(struct run *r, uint32_t rank, const int its[3], int key_fd)
{
    enum la_exec_stage stage;
    struct run_environ e;
    struct la_exec x;
    int i, err = run_make_environ(r, &e, rank, key_fd), count = 0;

    if (err != 0)
        return err;
    while (r->o.argv[count] != NULL)
        count++;
    memset(&x, 0, sizeof x);
    x.argv = calloc((size_t)count + 2, sizeof *x.argv);
    if (x.argv != NULL) {
        memcpy(++x.argv, r->o.argv, (size_t)count * sizeof *x.argv);
        x.path = r->program;
        x.envp = e.at;
        for (i = 0; i < 3; i++)
            x.fds[i] = its[i];
        x.keep = &key_fd;
        x.keep_count = 1;
        x.guarded = 1;
        err = la_proc_start(r->procs, &x, &r->rank[rank].pid, &stage);
        free(x.argv - 1);
    } else {
        err = ENOMEM;
    }
    free(e.at);
    return err;
}

static int run_start_rank(struct run *r, uint32_t rank)
{
    int own[3], its[3], key_fd = -1, i, err = run_pipes(r, rank, own, its);

    if (err == 0)
        err = run_key_pipe(r, &key_fd);
    if (err == 0)
        err = run_exec(r, rank, its, key_fd);
    run_close(its, 3);
    run_close(&key_fd, 1);
    if (err != 0) {
        run_close(own, 3);
        return err;
    }
    r->running++;
    if (own[0] >= 0)
        r->input_to = own[0];
    for (i = 0; i < 2; i++)
        r->rank[rank].out[i].fd = own[i + 1];
    return ftm_arbiter_started(r->arbiter, rank, r->rank[rank].life) == 0 ? 0 : EINVAL;
}

static void run_start(struct run *r)
{
    char line[LA_TEXT];
    uint32_t i;
    int err = 0;

    for (i = 0; i < r->o.size && err == 0; i++) {
        err = run_start_rank(r, i);
        if (err != 0) {
            la_status_say_errno(line, i, r->host, r->o.argv[0], err, 0);
            run_say(r, line);
            r->code = la_status_of_errno(err, 0);
            run_end(r);
        }
    }
}

/* ---- Output and input ----------------------------------------------------------------------------- */

struct run_line {
    struct run *run;
    uint32_t rank;
    int stream;
};

static int run_on_lines(void *ctx, const void *data, size_t size)
{
    struct run_line *l = ctx;
    struct la_sink *s = &l->run->sinks[l->stream];
    struct la_chunk c;

    if (s->error != 0)
        return 0; /* nobody reads it any more */
    memset(&c, 0, sizeof c);
    c.rank = l->rank;
    c.stream = l->stream + 1;
    c.data = data;
    c.size = size;
    return l->run->o.label ? la_label(&s->waiting, &c) : la_queue_add(&s->waiting, data, size);
}

static void run_close_stream(struct run *r, uint32_t rank, int stream)
{
    struct run_stream *s = &r->rank[rank].out[stream];
    struct run_line l = {r, rank, stream};

    if (s->fd < 0)
        return;
    (void)la_lines_end(&s->lines, run_on_lines, &l);
    close(s->fd);
    s->fd = -1;
}

static void run_read(struct run *r, uint32_t rank, int stream)
{
    struct run_stream *s = &r->rank[rank].out[stream];
    struct run_line l = {r, rank, stream};
    char data[65536];
    ssize_t n = read(s->fd, data, sizeof data);

    if (n > 0 && la_lines_feed(&s->lines, data, (size_t)n, run_on_lines, &l) == 0)
        return;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    run_close_stream(r, rank, stream);
}

/* What is left of the last life's output comes before that of the next. */
static const char *run_on_start(void *ctx, uint32_t rank, uint32_t life)
{
    struct run *r = ctx;
    uint32_t before = r->rank[rank].life;
    int i, err;

    for (i = 0; i < 2; i++) {
        run_read(r, rank, i);
        run_close_stream(r, rank, i);
    }
    r->rank[rank].life = life;
    err = run_start_rank(r, rank);
    if (err == 0)
        return NULL;
    r->rank[rank].life = before;
    return strerror(err);
}

static void run_close_input(struct run *r)
{
    run_close(&r->input_to, 1);
    r->input_fd = r->input_to = -1;
}

static void run_relay_input(struct run *r, const struct pollfd *from, const struct pollfd *to)
{
    ssize_t n;

    if (from->revents != 0 && la_queue_room(&r->input, 65536) == 0) {
        n = read(r->input_fd, la_queue_end(&r->input), 65536);
        if (n > 0)
            r->input.size += (size_t)n;
        else if (n == 0 || errno != EINTR)
            r->input_fd = -1;
    }
    if (to->revents != 0 && r->input.size > 0) {
        n = write(r->input_to, la_queue_first(&r->input), r->input.size);
        if (n > 0)
            la_queue_take(&r->input, (size_t)n);
        else if (errno != EAGAIN && errno != EINTR)
            run_close_input(r);
    } else if (to->revents != 0) {
        run_close_input(r); /* nobody reads it any more */
    }
    if (r->input_fd < 0 && r->input.size == 0)
        run_close_input(r);
}

/* ---- Ends ----------------------------------------------------------------------------------------- */

static void run_on_exit(void *ctx, pid_t pid, int status)
{
    struct run *r = ctx;
    uint32_t i;

    for (i = 0; i < r->o.size; i++)
        if (r->rank[i].pid == pid)
            break;
    if (i == r->o.size)
        return;
    r->rank[i].pid = 0;
    r->running--;
    if (i == 0)
        run_close_input(r);
    (void)ftm_arbiter_exited(r->arbiter, i, r->rank[i].life, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/* A message that a process has sent before its end is heard first: it may be the reason. */
static void run_collect(struct run *r)
{
    int i;

    for (i = 0; i < 16 && phx_step(r->node, phx_now_us(), NULL, 0) == 1; i++)
        continue;
    la_procs_collect(r->procs, run_on_exit, r);
}

static void run_on_signal(struct run *r, int number)
{
    char line[64];

    if (number == SIGCHLD) {
        run_collect(r);
    } else if (number == SIGUSR1 || number == SIGUSR2) {
        la_procs_signal(r->procs, number);
    } else if (r->ending) {
        r->kill_at = 0;
    } else {
        snprintf(line, sizeof line, "ended by signal %d", number);
        run_say(r, line);
        r->code = 128 + number;
        run_end(r);
    }
}

static void run_check_times(struct run *r, uint64_t now)
{
    if (!r->ending && now >= r->timeout_at) {
        run_say(r, "the time of --timeout is over");
        r->code = LA_STATUS_TIMEOUT;
        run_end(r);
    }
    if (r->ending && now >= r->kill_at) {
        la_procs_signal(r->procs, SIGKILL);
        r->kill_at = RUN_NEVER;
    }
    if (r->running == 0 && r->drain_until == RUN_NEVER) {
        la_procs_signal(r->procs, SIGKILL); /* what they left in the background */
        r->drain_until = now + RUN_DRAIN_US;
    }
}

/* All have ended, and what they wrote has been read to its end and written; or there was time enough. */
static int run_is_over(const struct run *r, uint64_t now)
{
    uint32_t i;

    if (r->running > 0)
        return 0;
    if (now >= r->drain_until)
        return 1;
    for (i = 0; i < r->o.size; i++)
        if (r->rank[i].out[0].fd >= 0 || r->rank[i].out[1].fd >= 0)
            return 0;
    return r->sinks[0].waiting.size == 0 && r->sinks[1].waiting.size == 0;
}

/* ---- The loop ------------------------------------------------------------------------------------- */

enum { FD_NODE, FD_SIGNALS, FD_INPUT_FROM, FD_INPUT_TO, FD_SINK, FD_RANKS = FD_SINK + 2 };

static void run_watch(struct pollfd *fd, int number, int when, short events)
{
    fd->fd = when ? number : -1;
    fd->events = events;
    fd->revents = 0;
}

static nfds_t run_fill(struct run *r)
{
    struct pollfd *f = r->fds;
    uint32_t i;
    int s;

    run_watch(&f[FD_NODE], phx_fd(r->node), 1, POLLIN);
    run_watch(&f[FD_SIGNALS], r->signals, 1, POLLIN);
    run_watch(&f[FD_INPUT_FROM], r->input_fd, r->input.size == 0 && r->input_to >= 0, POLLIN);
    run_watch(&f[FD_INPUT_TO], r->input_to, 1, r->input.size > 0 ? POLLOUT : 0);
    for (s = 0; s < 2; s++)
        run_watch(&f[FD_SINK + s], r->sinks[s].fd, r->sinks[s].waiting.size > 0, POLLOUT);
    for (i = 0; i < r->o.size; i++)
        for (s = 0; s < 2; s++)
            run_watch(&f[FD_RANKS + 2 * i + (uint32_t)s], r->rank[i].out[s].fd,
                      r->sinks[s].waiting.size < RUN_WAITING, POLLIN);
    return (nfds_t)(FD_RANKS + 2 * r->o.size);
}

static int run_wait(const struct run *r, uint64_t now)
{
    uint64_t next = phx_deadline(r->node);
    const uint64_t others[] = {r->ending ? r->kill_at : r->timeout_at, r->drain_until};
    size_t i;

    for (i = 0; i < 2; i++)
        if (others[i] < next)
            next = others[i];
    if (next == RUN_NEVER)
        return -1;
    if (next <= now)
        return 0;
    return next - now > 60000000u ? 60000 : (int)((next - now + 999) / 1000);
}

static void run_serve(struct run *r)
{
    uint32_t i;
    int s, number;

    while (r->fds[FD_SIGNALS].revents != 0 && (number = la_signals_next(r->signals)) != 0)
        run_on_signal(r, number);
    if (r->fds[FD_INPUT_FROM].revents != 0 || r->fds[FD_INPUT_TO].revents != 0 || r->input_fd < 0)
        run_relay_input(r, &r->fds[FD_INPUT_FROM], &r->fds[FD_INPUT_TO]);
    for (i = 0; i < r->o.size; i++)
        for (s = 0; s < 2; s++)
            if (r->fds[FD_RANKS + 2 * i + (uint32_t)s].revents != 0)
                run_read(r, i, s);
    for (s = 0; s < 2; s++)
        (void)la_sink_flush(&r->sinks[s]);
}

static void run_loop(struct run *r)
{
    uint64_t now = phx_now_us();

    while (!run_is_over(r, now)) {
        if (poll(r->fds, run_fill(r), run_wait(r, now)) < 0)
            memset(r->fds, 0, (FD_RANKS + 2 * (size_t)r->o.size) * sizeof *r->fds);
        now = phx_now_us();
        (void)phx_step(r->node, now, NULL, 0);
        run_serve(r);
        run_check_times(r, now);
    }
}

/* ---- The program ---------------------------------------------------------------------------------- */

static int run_open(struct run *r)
{
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    const struct ftm_arbiter_ops ops = {r, run_on_cast, run_on_say, run_on_over, run_on_host, run_on_start,
                                        run_on_kill};
    struct sigaction ignore;
    uint32_t i;
    int err = la_procs_new(&r->procs);

    if (err != 0)
        return err;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &ignore, NULL);
    r->rank = calloc(r->o.size, sizeof *r->rank);
    r->fds = calloc(FD_RANKS + 2 * (size_t)r->o.size, sizeof *r->fds);
    if (r->rank == NULL || r->fds == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < r->o.size; i++)
        r->rank[i].out[0].fd = r->rank[i].out[1].fd = -1;
    err = la_signals_open(signals, (int)(sizeof signals / sizeof *signals), &r->signals);
    if (err == 0)
        err = ftm_arbiter_new(&r->arbiter, NULL, r->o.size, r->o.modes.comm != FTMPI_COMM_MODE_ABORT, &ops);
    return err != 0 ? err : run_open_node(r);
}

static void run_free(struct run *r)
{
    uint32_t i;
    int s;

    for (i = 0; r->rank != NULL && i < r->o.size; i++)
        for (s = 0; s < 2; s++) {
            run_close_stream(r, i, s);
            la_queue_free(&r->rank[i].out[s].lines.part);
        }
    for (s = 0; s < 2; s++) {
        (void)la_sink_flush(&r->sinks[s]);
        la_sink_close(&r->sinks[s]);
    }
    la_queue_free(&r->input);
    phx_free(r->node);
    ftm_arbiter_free(r->arbiter);
    la_procs_free(r->procs);
    free(r->rank);
    free(r->fds);
}

static void run_prepare(struct run *r)
{
    memset(r, 0, sizeof *r);
    r->input_fd = 0;
    r->input_to = r->signals = -1;
    r->kill_at = r->drain_until = r->timeout_at = RUN_NEVER;
    if (gethostname(r->host, sizeof r->host - 1) != 0)
        snprintf(r->host, sizeof r->host, "localhost");
}

int main(int argc, char **argv)
{
    struct run r;
    int s, err;

    (void)argc;
    run_prepare(&r);
    err = run_read_words(&r.o, argv);
    if (err != 0)
        return err;
    if (r.o.help)
        return fputs(usage, stdout) < 0;
    err = la_proc_find(r.o.argv[0], environ, "", r.program, sizeof r.program);
    if (err != 0) {
        fprintf(stderr, "ftmpirun: %s: %s\n", r.o.argv[0], strerror(err));
        return la_status_of_errno(err, 0);
    }
    err = run_open(&r);
    if (err != 0) {
        fprintf(stderr, "ftmpirun: cannot begin: %s\n", phx_strerror(err));
        return LA_STATUS_ERROR;
    }
    for (s = 0; s < 2; s++)
        la_sink_open(&r.sinks[s], s + 1);
    if (r.o.timeout_us != RUN_NEVER)
        r.timeout_at = phx_now_us() + r.o.timeout_us;
    run_start(&r);
    run_loop(&r);
    err = r.code != 0 ? r.code : ftm_arbiter_code(r.arbiter);
    run_free(&r);
    return err;
}
