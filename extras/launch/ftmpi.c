/* ftmpi.c - for --ftmpi: the arbiter of extras/ftmpi in the launcher. */

#define _POSIX_C_SOURCE 200809L
#include "ftmpi.h"
#include "../ftmpi/lib/arbiter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The arbiter says a line first and then whether it ends the job: the line waits until that is known. */
struct la_ftmpi {
    struct ftm_arbiter *arbiter;
    struct la_ftmpi_ops ops;
    const struct la_job *job;
    int said;
    char line[1024];
};

static void ftmpi_say(void *ctx, const char *line)
{
    struct la_ftmpi *f = ctx;

    f->said = 1;
    snprintf(f->line, sizeof f->line, "%s", line);
}

static void ftmpi_over(void *ctx, int code)
{
    struct la_ftmpi *f = ctx;

    f->said = 0;
    f->ops.fail(f->ops.ctx, code, f->line);
}

static const char *ftmpi_host(void *ctx, uint32_t rank)
{
    const struct la_ftmpi *f = ctx;

    return f->ops.host(f->ops.ctx, rank);
}

static void ftmpi_cast(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data,
                       size_t size)
{
    struct la_ftmpi *f = ctx;
    struct phx_range *ranges = calloc(count, sizeof *ranges);
    struct phx_cast c;
    uint32_t i;
    int err = PHX_ENOMEM;

    memset(&c, 0, sizeof c);
    for (i = 0; ranges != NULL && i < count; i++)
        ranges[i].first = ranges[i].last = FTM_NAME(f->job->id, FTM_PROCESS, 0, 0) | to[i];
    c.ranges = ranges;
    c.ranges_count = count;
    c.from = FTM_NAME(f->job->id, FTM_ARBITER, 0, 0);
    c.tag = tag;
    c.data = data;
    c.size = size;
    if (ranges != NULL)
        err = phx_cast(f->ops.node(f->ops.ctx), &c);
    free(ranges);
    if (err < 0)
        f->ops.fail(f->ops.ctx, 1, phx_strerror(err));
}

static const char *ftmpi_start(void *ctx, uint32_t rank, uint32_t life)
{
    (void)ctx;
    (void)rank;
    (void)life;
    return "the job has mode abort";
}

static void ftmpi_kill(void *ctx, uint32_t rank, uint32_t life)
{
    (void)ctx;
    (void)rank;
    (void)life;
}

int la_ftmpi_new(struct la_ftmpi **out, const struct la_job *job, const struct la_ftmpi_ops *ops)
{
    struct ftm_arbiter_ops mine = { NULL,       ftmpi_cast,  ftmpi_say, ftmpi_over,
                                    ftmpi_host, ftmpi_start, ftmpi_kill };
    struct la_ftmpi *f = calloc(1, sizeof *f);
    uint32_t i;
    int err;

    *out = NULL;
    if (f == NULL)
        return PHX_ENOMEM;
    f->ops = *ops;
    f->job = job;
    mine.ctx = f;
    err = ftm_arbiter_new(&f->arbiter, NULL, job->size, 0, &mine);
    for (i = 0; i < job->size && err == 0; i++)
        err = ftm_arbiter_started(f->arbiter, i, 0);
    if (err != 0) {
        la_ftmpi_free(f);
        return err;
    }
    *out = f;
    return 0;
}

void la_ftmpi_free(struct la_ftmpi *f)
{
    if (f == NULL)
        return;
    ftm_arbiter_free(f->arbiter);
    free(f);
}

/* A line that was no reason to end the job. */
static void ftmpi_flush(struct la_ftmpi *f)
{
    if (f->said)
        f->ops.say(f->ops.ctx, ftm_arbiter_code(f->arbiter), f->line);
    f->said = 0;
}

void la_ftmpi_message(struct la_ftmpi *f, const struct phx_message *m)
{
    ftm_arbiter_message(f->arbiter, m->from, m->tag, m->data, m->size);
    ftmpi_flush(f);
}

void la_ftmpi_exited(struct la_ftmpi *f, uint32_t rank, int wait_status)
{
    (void)ftm_arbiter_exited(f->arbiter, rank, 0, WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0,
                             WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0);
    ftmpi_flush(f);
}
