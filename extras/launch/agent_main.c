/* agent_main.c - an agent from its first line to its end: boot block, stream to the parent, loop. */

/* What the starter gave as standard input and output is the link with the parent: one socket, which Phoenix
 * adopts as it is, or two pipes, between which and a socketpair bytes are carried here. From there on 0 and 1
 * are /dev/null, and 2 is what the starter made of it. */
#define _POSIX_C_SOURCE 200809L
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUMP_MOST ((size_t)64 * 1024)

/* One direction. */
struct pump {
    struct la_watch *watch;
    int from, to;
    struct la_queue waiting;
    int ended;
};

struct pumps {
    struct pump in, out; /* from the parent, to the parent */
};

static void pump_close(struct pump *p)
{
    if (p->ended)
        return;
    p->ended = 1;
    la_watch_drop(p->watch, p->from);
    la_watch_drop(p->watch, p->to);
    (void)shutdown(p->from, SHUT_RDWR); /* of the two one is the node's socket, which ends with it */
    (void)shutdown(p->to, SHUT_RDWR);
    close(p->from);
    close(p->to);
    la_queue_free(&p->waiting);
}

static void pump_write(struct pump *p)
{
    while (p->waiting.size > 0) {
        ssize_t n = write(p->to, la_queue_first(&p->waiting), p->waiting.size);
        if (n > 0) {
            la_queue_take(&p->waiting, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            la_watch_set(p->watch, p->from, 0);
            la_watch_set(p->watch, p->to, LA_WRITE);
            return;
        } else if (n == 0 || errno != EINTR) {
            pump_close(p);
            return;
        }
    }
    la_watch_set(p->watch, p->to, 0);
    la_watch_set(p->watch, p->from, LA_READ);
}

static void pump_on(void *ctx, int fd, int events)
{
    struct pump *p = (struct pump *)ctx;
    ssize_t n;

    if (p->ended)
        return;
    if (fd == p->to) {
        pump_write(p);
        return;
    }
    (void)events;
    if (la_queue_room(&p->waiting, PUMP_MOST) != 0) {
        pump_close(p); /* whoever is at the other end sees that */
        return;
    }
    n = read(fd, la_queue_end(&p->waiting), PUMP_MOST);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        pump_close(p);
        return;
    }
    p->waiting.size += (size_t)n;
    pump_write(p);
}

static int pump_open(struct pump *p, struct la_watch *w, int from, int to)
{
    int err = 0;

    p->watch = w;
    p->from = from;
    p->to = to;
    if (la_nonblocking(from) != 0 || la_nonblocking(to) != 0)
        err = PHX_EIO;
    if (err == 0)
        err = la_watch_add(w, from, LA_READ, pump_on, p);
    if (err == 0)
        err = la_watch_add(w, to, 0, pump_on, p);
    return err;
}

/* Both directions need a descriptor of their own of our end, since each is watched by itself. */
static int pumps_open(struct pumps *p, struct la_watch *w, int from, int to, int *fd)
{
    int pair[2], again;

    if (la_pair(pair) != 0)
        return PHX_EMFILE;
    again = fcntl(pair[1], F_DUPFD_CLOEXEC, 3);
    if (again < 0) {
        close(pair[0]);
        close(pair[1]);
        return PHX_EMFILE;
    }
    *fd = pair[0];
    if (pump_open(&p->in, w, from, pair[1]) != 0 || pump_open(&p->out, w, again, to) != 0)
        return PHX_ENOMEM;
    return 0;
}

static int agent_is_one_socket(void)
{
    struct stat in, out;

    return fstat(0, &in) == 0 && fstat(1, &out) == 0 && S_ISSOCK(in.st_mode) && in.st_dev == out.st_dev
           && in.st_ino == out.st_ino;
}

/* The stream to the parent, above 2; 0 and 1 become /dev/null. */
static int agent_stream(struct pumps *p, struct la_watch *w, int *fd)
{
    int one = agent_is_one_socket(), from, to = -1, null, err = 0;

    from = fcntl(0, F_DUPFD_CLOEXEC, 3);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!one)
        to = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (from < 0 || null < 0 || (!one && to < 0) || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return PHX_EMFILE;
    close(null);
    *fd = from;
    if (!one)
        err = pumps_open(p, w, from, to, fd);
    return err;
}

static int agent_run(struct la_job *job, struct la_procs *procs, const struct la_cargo *cargo,
                     const char *self, const unsigned char *rest, size_t rest_size)
{
    static const int signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    struct la_local_config cfg;
    struct la_local *l;
    struct pumps pumps;
    int fd = -1, err;

    memset(&cfg, 0, sizeof cfg);
    memset(&pumps, 0, sizeof pumps);
    cfg.job = job;
    cfg.self = self;
    cfg.rest = rest;
    cfg.rest_size = rest_size;
    cfg.procs = procs;
    cfg.cargo = cargo;
    cfg.signals = signals;
    cfg.signals_count = (int)(sizeof signals / sizeof signals[0]);
    err = la_local_new(&l, &cfg);
    if (err != 0)
        return err;
    err = agent_stream(&pumps, la_local_watch(l), &fd);
    if (err == 0)
        err = la_local_adopt(l, fd);
    if (err == 0)
        la_local_run(l);
    if (pumps.in.watch != NULL)
        pump_close(&pumps.in);
    if (pumps.out.watch != NULL)
        pump_close(&pumps.out);
    la_local_free(l);
    return err;
}

static int agent_complain(const char *what, int err)
{
    fprintf(stderr, "phxrun: agent: %s: %s\n", what, phx_strerror(err));
    return 1;
}

/* 4 bytes size, the job, and the rest. */
static int agent_job(struct la_job *job, const struct la_queue *boot, size_t *size)
{
    const unsigned char *data = la_queue_first(boot);

    if (boot->size < 4)
        return PHX_EPROTO;
    *size = (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
    return *size > boot->size - 4 ? PHX_EPROTO : la_job_decode(job, data + 4, *size);
}

/* The job, and the file that goes with it; what to complain of if that fails. */
static int agent_receive(struct la_job *job, struct la_procs *procs, struct la_cargo *cargo,
                         struct la_queue *boot, size_t *size, const char **what)
{
    int err = la_start_answer(boot);

    *what = "boot block";
    if (err == 0)
        err = agent_job(job, boot, size);
    if (err != 0 || job->stage == NULL)
        return err;
    *what = "staged file";
    err = la_cargo_take(cargo, procs, job);
    if (err != 0)
        la_job_free(job);
    return err;
}

int la_agent_main(const char *self, const char *folder)
{
    struct la_procs *procs;
    struct la_cargo cargo;
    struct la_queue boot;
    struct la_job job;
    const char *what = "guard";
    size_t size = 0;
    int err = la_procs_new(&procs), status = 0;

    if (err != 0)
        return agent_complain(what, err);
    memset(&boot, 0, sizeof boot);
    la_cargo_init(&cargo);
    what = "its own file";
    if (folder != NULL)
        err = la_cargo_arrived(&cargo, self, folder);
    if (err == 0)
        err = agent_receive(&job, procs, &cargo, &boot, &size, &what);
    if (err == 0) {
        what = "start";
        err = agent_run(&job, procs, &cargo, self, la_queue_first(&boot) + 4 + size, boot.size - 4 - size);
        la_job_free(&job);
    }
    if (err == PHX_ERESET) /* whoever started us has thought better of it */
        status = 1;
    else if (err != 0)
        status = agent_complain(what, err);
    la_queue_free(&boot);
    la_cargo_free(&cargo);
    la_procs_free(procs);
    return status;
}
