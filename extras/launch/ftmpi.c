/* ftmpi.c - for --ftmpi: the arbiter of extras/ftmpi in the launcher, and where ranks are started again. */

#define _POSIX_C_SOURCE 200809L
#include "ftmpi.h"
#include "../ftmpi/lib/arbiter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Where a rank is. */
struct ftmpi_rank {
    uint32_t agent, life;
    uint32_t next_agent, next_life; /* being started there; next_life 0: nowhere */
    int runs;
};

/* The arbiter says a line first and then whether it ends the job: the line waits until that is known. */
struct la_ftmpi {
    struct ftm_arbiter *arbiter;
    struct la_ftmpi_ops ops;
    const struct la_job *job;
    struct ftmpi_rank *rank; /* job->size */
    uint32_t *load;          /* by agent: how many processes it has; LA_NONE: the agent is gone */
    uint64_t *words;         /* job->size: scratch */
    int said;
    char line[1024];
};

/* A line that was no reason to end the job. */
static void ftmpi_flush(struct la_ftmpi *f)
{
    if (f->said)
        f->ops.say(f->ops.ctx, f->line);
    f->said = 0;
}

static void ftmpi_say(void *ctx, const char *line)
{
    struct la_ftmpi *f = ctx;

    ftmpi_flush(f);
    f->said = 1;
    snprintf(f->line, sizeof f->line, "%s", line);
}

static void ftmpi_over(void *ctx, int code)
{
    struct la_ftmpi *f = ctx;

    f->said = 0;
    f->ops.fail(f->ops.ctx, code, f->line);
}

const char *la_ftmpi_host(const struct la_ftmpi *f, uint32_t rank)
{
    uint32_t agent = rank < f->job->size ? f->rank[rank].agent : LA_NONE;

    return agent < f->job->agents_count ? f->job->agents[agent].host : "?";
}

static const char *ftmpi_host(void *ctx, uint32_t rank)
{
    return la_ftmpi_host(ctx, rank);
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

/* ---- Starting again ------------------------------------------------------------------------------- */

/* A host for a process: where the last one was, else the one with the fewest. Only those have the programs
 * that had ranks at first. */
static uint32_t ftmpi_place(const struct la_ftmpi *f, uint32_t before)
{
    uint32_t i, best = LA_NONE;

    if (before < f->job->agents_count && f->load[before] != LA_NONE)
        return before;
    for (i = 0; i < f->job->agents_count; i++)
        if (f->job->agents[i].runs_count > 0 && f->load[i] != LA_NONE
            && (best == LA_NONE || f->load[i] < f->load[best]))
            best = i;
    return best;
}

static const char *ftmpi_start(void *ctx, uint32_t rank, uint32_t life)
{
    struct la_ftmpi *f = ctx;
    struct ftmpi_rank *r = &f->rank[rank];
    uint32_t agent = ftmpi_place(f, r->agent);

    if (!f->job->ft) /* the program wants it, and agents do not expect it */
        return "phxrun was started without --ft";
    if (agent == LA_NONE)
        return "no host is left";
    r->next_agent = agent;
    r->next_life = life;
    f->load[agent]++;
    f->ops.ended(f->ops.ctx, rank, 0);
    f->ops.start(f->ops.ctx, agent, rank, life);
    return NULL;
}

static void ftmpi_kill(void *ctx, uint32_t rank, uint32_t life)
{
    struct la_ftmpi *f = ctx;

    f->ops.kill(f->ops.ctx, rank, life);
}

void la_ftmpi_again(struct la_ftmpi *f, uint32_t rank, uint32_t life)
{
    struct ftmpi_rank *r = rank < f->job->size ? &f->rank[rank] : NULL;

    if (r == NULL || life == 0 || r->next_life != life)
        return;
    r->agent = r->next_agent;
    r->life = life;
    r->next_life = 0;
    r->runs = 1;
    (void)ftm_arbiter_started(f->arbiter, rank, life); /* unless its hello was faster */
    ftmpi_flush(f);
}

void la_ftmpi_unstarted(struct la_ftmpi *f, uint32_t rank, uint32_t life, const char *why)
{
    struct ftmpi_rank *r = rank < f->job->size ? &f->rank[rank] : NULL;

    if (r == NULL || life == 0 || r->next_life != life)
        return;
    r->next_life = 0;
    if (f->load[r->next_agent] != LA_NONE)
        f->load[r->next_agent]--;
    f->ops.ended(f->ops.ctx, rank, 1);
    ftm_arbiter_unstarted(f->arbiter, rank, life, why);
    ftmpi_flush(f);
}

/* ---- Ends ----------------------------------------------------------------------------------------- */

static void ftmpi_stops(struct la_ftmpi *f, uint32_t rank)
{
    struct ftmpi_rank *r = &f->rank[rank];

    r->runs = 0;
    if (f->load[r->agent] != LA_NONE)
        f->load[r->agent]--;
}

int la_ftmpi_exited(struct la_ftmpi *f, uint32_t rank, uint32_t life, int wait_status)
{
    struct ftmpi_rank *r = rank < f->job->size ? &f->rank[rank] : NULL;

    if (r == NULL || r->life != life || !r->runs)
        return -1;
    ftmpi_stops(f, rank);
    f->ops.ended(f->ops.ctx, rank, 1);
    (void)ftm_arbiter_exited(f->arbiter, rank, life, WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0,
                             WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0);
    ftmpi_flush(f);
    return 0;
}

static int ftmpi_is_within(uint32_t agent, uint32_t first, uint32_t end)
{
    return agent >= first && agent < end;
}

void la_ftmpi_gone(struct la_ftmpi *f, uint32_t first, uint32_t end)
{
    uint32_t i, count = 0;

    if (end > f->job->agents_count)
        end = f->job->agents_count;
    for (i = first; i < end; i++)
        f->load[i] = LA_NONE;
    for (i = 0; i < f->job->size; i++) {
        struct ftmpi_rank *r = &f->rank[i];

        if (r->next_life != 0 && ftmpi_is_within(r->next_agent, first, end))
            la_ftmpi_again(f, i, r->next_life); /* nobody knows; it might speak some day */
        if (!r->runs || !ftmpi_is_within(r->agent, first, end))
            continue;
        ftmpi_stops(f, i);
        f->ops.ended(f->ops.ctx, i, 1);
        f->words[count++] = FTM_FROM(0, r->life, i);
    }
    ftm_arbiter_host_lost(f->arbiter, f->words, count, "its host is gone");
    ftmpi_flush(f);
}

/* ---- Life ----------------------------------------------------------------------------------------- */

static int ftmpi_make_ranks(struct la_ftmpi *f)
{
    uint32_t i;
    int err = 0;

    f->rank = calloc(f->job->size, sizeof *f->rank);
    f->words = calloc(f->job->size, sizeof *f->words);
    f->load = calloc(f->job->agents_count, sizeof *f->load);
    if (f->rank == NULL || f->words == NULL || f->load == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < f->job->size && err == 0; i++) {
        f->rank[i].agent = la_job_agent_of(f->job, i);
        f->rank[i].runs = 1;
        f->load[f->rank[i].agent]++;
        err = ftm_arbiter_started(f->arbiter, i, 0);
    }
    return err;
}

int la_ftmpi_new(struct la_ftmpi **out, const struct la_job *job, const struct la_ftmpi_ops *ops)
{
    struct ftm_arbiter_ops mine = { NULL,       ftmpi_cast,  ftmpi_say, ftmpi_over,
                                    ftmpi_host, ftmpi_start, ftmpi_kill };
    struct la_ftmpi *f = calloc(1, sizeof *f);
    int err;

    *out = NULL;
    if (f == NULL)
        return PHX_ENOMEM;
    f->ops = *ops;
    f->job = job;
    mine.ctx = f;
    err = ftm_arbiter_new(&f->arbiter, NULL, job->size, job->ft, &mine);
    if (err == 0)
        err = ftmpi_make_ranks(f);
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
    free(f->rank);
    free(f->words);
    free(f->load);
    free(f);
}

void la_ftmpi_message(struct la_ftmpi *f, const struct phx_message *m)
{
    la_ftmpi_again(f, FTM_RANK(m->from), FTM_LIFE(m->from)); /* its hello may be the first news of it */
    ftm_arbiter_message(f->arbiter, m->from, m->tag, m->data, m->size);
    ftmpi_flush(f);
}

int la_ftmpi_code(const struct la_ftmpi *f)
{
    return ftm_arbiter_code(f->arbiter);
}
