/* programs.c - the programs of a job as a host needs them: found, with arguments and environment. */

#define _POSIX_C_SOURCE 200809L
#include "programs.h"
#include "proc.h"
#include "../../phoenix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct la_ready *program_new(const struct la_job *job, const struct la_program *program)
{
    struct la_ready *g = (struct la_ready *)calloc(1, sizeof *g);
    size_t n = 0;

    if (g == NULL)
        return NULL;
    while (program->argv[n] != NULL)
        n++;
    g->argv = (char **)calloc(n + 2, sizeof *g->argv);
    if (g->argv == NULL || la_environ_new(&g->env, job, program) != 0) {
        free(g->argv);
        free(g);
        return NULL;
    }
    memcpy(g->argv + 1, program->argv, n * sizeof *g->argv);
    g->dir = program->dir != NULL ? program->dir : job->dir;
    g->error = n == 0 ? ENOENT
                      : la_proc_find(program->path != NULL ? program->path : program->argv[0], g->env.list,
                                     g->dir, g->path, sizeof g->path);
    return g;
}

int la_programs_new(struct la_ready ***out, const struct la_job *job)
{
    struct la_ready **at = (struct la_ready **)calloc(job->programs_count, sizeof *at);
    uint32_t i;

    *out = at;
    if (at == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < job->programs_count; i++) {
        at[i] = program_new(job, &job->programs[i]);
        if (at[i] == NULL)
            return PHX_ENOMEM;
    }
    return 0;
}

void la_programs_free(struct la_ready **at, uint32_t count)
{
    uint32_t i;

    for (i = 0; at != NULL && i < count && at[i] != NULL; i++) {
        la_environ_free(&at[i]->env);
        free(at[i]->argv);
        free(at[i]);
    }
    free(at);
}
