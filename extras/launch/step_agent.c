/* step_agent.c - an agent that srun started: it says where it listens, and joins its parent. */

/* Standard input and output lead to srun, whose end nobody hears of: waiting for it has a bound, and a signal
 * that is not caught ends who waits longer. */
#define _POSIX_C_SOURCE 200809L
#include "agent.h"
#include "cargo.h"
#include "step.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_BOOT_S 300u /* for the boot block; how long the user would wait stands in there */

static int step_complain(const char *what, int err)
{
    fprintf(stderr, "phxrun: agent: %s: %s\n", what, phx_strerror(err));
    return 1;
}

static uint32_t step_u32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Which agent this is: the one of the host that Slurm calls so. */
static uint32_t step_number(const struct la_job *job)
{
    const char *name = getenv("SLURMD_NODENAME");
    uint32_t i;

    for (i = 1; name != NULL && i < job->agents_count; i++)
        if (strcmp(job->agents[i].host, name) == 0)
            return i;
    return LA_NONE;
}

/* Who is above, the parent first, before the job is cut. NULL: no memory. */
static uint32_t *step_above(const struct la_job *job, uint32_t number, uint32_t *count)
{
    uint32_t *above = (uint32_t *)calloc((size_t)number + 1, sizeof *above), i;

    *count = 0;
    for (i = number; above != NULL && i > 0; i--)
        if (i - 1 + job->agents[i - 1].subtree > number)
            above[(*count)++] = i - 1;
    return above;
}

/* One write, so that it arrives whole. */
static int step_say(const struct la_local *l, uint32_t number)
{
    char line[LA_STEP_LINE + 64], at[LA_STEP_LINE];
    int n, err = la_local_addresses(l, at, sizeof at - 32);

    if (err != 0)
        return err;
    n = snprintf(line, sizeof line, LA_STEP_AT " %lu %s\n", (unsigned long)number, at);
    return write(1, line, (size_t)n) == n ? 0 : PHX_ERESET;
}

/* Its entries of those above go to the agent. */
static int step_table(struct la_local *l, const uint32_t *above, uint32_t count)
{
    unsigned char head[8], *table;
    size_t size;
    int err = la_cargo_read(head, sizeof head);

    if (err != 0)
        return err;
    size = step_u32(head + 4);
    if (memcmp(head, "PHXT", 4) != 0 || size > LA_TABLE_MOST)
        return PHX_EPROTO;
    table = (unsigned char *)malloc(size + 1);
    if (table == NULL)
        return PHX_ENOMEM;
    err = la_cargo_read(table, size);
    if (err == 0)
        err = la_local_table(l, above, count, table, size);
    free(table);
    return err;
}

static int step_leave_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return PHX_EMFILE;
    close(null);
    return 0;
}

static int step_run(struct la_job *job, struct la_local_config *cfg, uint32_t number, const uint32_t *above,
                    uint32_t count)
{
    static const int signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    struct la_local *l;
    int err;

    cfg->job = job;
    cfg->signals = signals;
    cfg->signals_count = (int)(sizeof signals / sizeof signals[0]);
    err = la_local_new(&l, cfg);
    if (err != 0)
        return err;
    err = step_say(l, number);
    if (err == 0)
        err = step_table(l, above, count);
    (void)alarm(0);
    if (err == 0)
        err = step_leave_streams();
    if (err == 0)
        la_local_run(l);
    la_local_free(l);
    return err;
}

static int step_job(struct la_job *job, const struct la_queue *boot)
{
    const unsigned char *data = la_queue_first(boot);
    size_t size = boot->size < 4 ? 0 : step_u32(data);

    return boot->size < 4 || size > boot->size - 4 ? PHX_EPROTO : la_job_decode(job, data + 4, size);
}

static unsigned step_seconds(const struct la_job *job)
{
    uint64_t s = job->start_timeout_us / 1000000 + 2;

    return s < 1000000 ? (unsigned)s : 1000000;
}

/* With the whole job: what is this agent's of it, and then its life. */
static int step_live(struct la_job *job, struct la_local_config *cfg, struct la_cargo *cargo,
                     const char **what)
{
    uint32_t number = step_number(job), count, *above;
    int err = 0;

    *what = "SLURMD_NODENAME: no host of the job is called so";
    if (number == LA_NONE)
        return PHX_ENOTFOUND;
    *what = "staged file";
    if (job->stage != NULL)
        err = la_cargo_take(cargo, cfg->procs, job);
    above = step_above(job, number, &count);
    if (err == 0 && above == NULL)
        err = PHX_ENOMEM;
    if (err == 0) {
        *what = "start";
        la_job_cut(job, number);
        (void)alarm(step_seconds(job));
        err = step_run(job, cfg, number, above, count);
    }
    free(above);
    return err;
}

int la_step_main(const char *self)
{
    struct la_local_config cfg;
    struct la_cargo cargo;
    struct la_queue boot;
    struct la_job job;
    const char *what = "guard";
    int err;

    memset(&cfg, 0, sizeof cfg);
    memset(&boot, 0, sizeof boot);
    la_cargo_init(&cargo);
    cfg.self = self;
    cfg.cargo = &cargo;
    (void)alarm(STEP_BOOT_S);
    err = la_procs_new(&cfg.procs);
    if (err != 0)
        return step_complain(what, err);
    what = "boot block";
    err = la_start_answer(&boot);
    if (err == 0)
        err = step_job(&job, &boot);
    la_queue_free(&boot);
    if (err == 0) {
        err = step_live(&job, &cfg, &cargo, &what);
        la_job_free(&job);
    }
    la_cargo_free(&cargo);
    la_procs_free(cfg.procs);
    return err == 0 ? 0 : err == PHX_ERESET ? 1 : step_complain(what, err);
}
