/* environ.c - what a process of a job finds in its environment. */

#define _POSIX_C_SOURCE 200809L
#include "environ.h"
#include "../../phoenix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that we set, or that would mislead a process into talking to somebody else's launcher. One that ends
 * with _ stands for all that begin so. */
static int environ_is_ours(const char *s)
{
    static const char *const names[] = {
        "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", "PMI_SPAWNED", "PMI_PORT", "PMI_ID", "PMI_TOTALVIEW",
        "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "NLA_FD", "NLA_RANK", "NLA_SIZE", "MPIRUN_RANK",
        "MPIRUN_NPROCS", "MPIRUN_ID", "MPIRUN_HOST", "MPIRUN_PORT", "MPIRUN_USE_TREES", "MPIRUN_SHM_ENABLE",
        "MPIRUN_MPD", "NOT_USE_TOTALVIEW", "HYDI_CONTROL_FD", "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID",
        "SLURM_STEP_", "SLURM_STEPID", "SLURM_GTIDS", "SLURM_LAUNCH_", "SLURM_TASK_PID", "SLURM_PMI_FD",
        "PMIX_", "PALS_", "FTMPI_JOB", "FTMPI_RANK", "FTMPI_SIZE", "FTMPI_LIFE", "FTMPI_HUB", "FTMPI_KEY_FD",
        "FTMPI_ARBITER", "FTMPI_HOST", "FTMPI_SITE", "FTMPI_LOCAL",
    };
    size_t i, n;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        n = strlen(names[i]);
        if (strncmp(s, names[i], n) == 0 && (s[n] == '=' || names[i][n - 1] == '_'))
            return 1;
    }
    return 0;
}

static size_t environ_length(char *const *list)
{
    size_t n = 0;

    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

/* What is set later takes the place of what is there. */
static void environ_add(struct la_environ *e, char *const *list, size_t base)
{
    size_t i, name;

    for (; list != NULL && *list != NULL; list++) {
        name = strcspn(*list, "=");
        if (environ_is_ours(*list) || (*list)[name] != '=')
            continue;
        for (i = 0; i < base; i++)
            if (strncmp(e->list[i], *list, name + 1) == 0)
                break;
        if (i < base)
            e->list[i] = *list;
        else
            e->list[e->count++] = *list;
    }
}

int la_environ_new(struct la_environ *e, const struct la_job *job, const struct la_program *program)
{
    size_t n = environ_length(job->env) + environ_length(program->env) + LA_ENVIRON_OWN + 1;

    memset(e, 0, sizeof *e);
    e->list = (char **)calloc(n, sizeof *e->list);
    if (e->list == NULL)
        return PHX_ENOMEM;
    environ_add(e, job->env, 0);
    environ_add(e, program->env, e->count);
    return 0;
}

void la_environ_free(struct la_environ *e)
{
    free(e->list);
    memset(e, 0, sizeof *e);
}

static void environ_set(struct la_environ_own *own, const char *form, ...)
{
    va_list args;

    if (own->count == LA_ENVIRON_OWN)
        return;
    va_start(args, form);
    vsnprintf(own->text[own->count++], LA_ENVIRON_TEXT, form, args);
    va_end(args);
}

static void environ_pmi(struct la_environ_own *own, const struct la_job *job, const struct la_environ_rank *r)
{
    environ_set(own, "PMI_RANK=%lu", (unsigned long)r->rank);
    environ_set(own, "PMI_SIZE=%lu", (unsigned long)job->size);
    environ_set(own, "PMI_JOBID=%lu", (unsigned long)job->id);
    if (r->spawned)
        environ_set(own, "PMI_SPAWNED=1");
    if (job->pmi == LA_PMI_FD) {
        environ_set(own, "PMI_FD=%d", r->fd);
        return;
    }
    environ_set(own, "PMI_PORT=127.0.0.1:%d", r->port);
    environ_set(own, "PMI_ID=%lu", (unsigned long)r->rank);
}

static void environ_pmgr(struct la_environ_own *own, const struct la_job *job,
                         const struct la_environ_rank *r)
{
    environ_set(own, "MPIRUN_RANK=%lu", (unsigned long)r->rank);
    environ_set(own, "MPIRUN_NPROCS=%lu", (unsigned long)job->size);
    environ_set(own, "MPIRUN_ID=%lu", (unsigned long)(job->id != 0 ? job->id : 1));
    environ_set(own, "MPIRUN_HOST=127.0.0.1");
    environ_set(own, "MPIRUN_PORT=%d", r->port);
    environ_set(own, "MPIRUN_USE_TREES=0");
    environ_set(own, "MPIRUN_SHM_ENABLE=0");
    environ_set(own, "MPIRUN_MPD=0");
    environ_set(own, "NOT_USE_TOTALVIEW=1");
}

/* What MPI_Init of extras/ftmpi reads. Its arbiter is this job's name of role 1. */
static void environ_ftmpi(struct la_environ_own *own, const struct la_job *job,
                          const struct la_environ_rank *r)
{
    environ_set(own, "FTMPI_JOB=%lx", (unsigned long)job->id);
    environ_set(own, "FTMPI_RANK=%lu", (unsigned long)r->rank);
    environ_set(own, "FTMPI_SIZE=%lu", (unsigned long)job->size);
    environ_set(own, "FTMPI_LIFE=%lu", (unsigned long)r->life);
    environ_set(own, "FTMPI_HUB=%s", job->hub);
    environ_set(own, "FTMPI_KEY_FD=%d", r->key_fd);
    environ_set(own, "FTMPI_ARBITER=%llu", (unsigned long long)la_job_arbiter_name(job));
    environ_set(own, "FTMPI_HOST=%lu", (unsigned long)job->agents[0].node);
    environ_set(own, "FTMPI_SITE=%lu", (unsigned long)job->agents[0].site);
    environ_set(own, "FTMPI_LOCAL=%lu", (unsigned long)r->local_count);
}

void la_environ_rank(struct la_environ *e, struct la_environ_own *own, const struct la_job *job,
                     const struct la_environ_rank *r)
{
    size_t i;

    own->count = 0;
    if (job->pmi == LA_PMI_PMGR)
        environ_pmgr(own, job, r);
    else
        environ_pmi(own, job, r);
    environ_set(own, "MPI_LOCALRANKID=%lu", (unsigned long)r->local_rank);
    environ_set(own, "MPI_LOCALNRANKS=%lu", (unsigned long)r->local_count);
    environ_set(own, "NLA_FD=%d", r->fd);
    environ_set(own, "NLA_RANK=%lu", (unsigned long)r->rank);
    environ_set(own, "NLA_SIZE=%lu", (unsigned long)job->size);
    if (job->ftmpi)
        environ_ftmpi(own, job, r);
    for (i = 0; i < own->count; i++)
        e->list[e->count + i] = own->text[i];
    e->list[e->count + i] = NULL;
}
