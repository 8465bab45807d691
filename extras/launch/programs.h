/* programs.h - the programs of a job as a host needs them: found, with arguments and environment. */

#ifndef LA_PROGRAMS_H
#define LA_PROGRAMS_H

#include "environ.h"

#include <limits.h>

/* A program, ready to be started. */
struct la_ready {
    char path[PATH_MAX];
    int error;       /* errno of finding it */
    char **argv;     /* with a free place in front */
    const char *dir; /* the job's string, or the program's */
    struct la_environ env;
};

/* One for each program of the job, whose strings they borrow. 0, PHX_ENOMEM; to be freed in either case. */
int la_programs_new(struct la_ready ***out, const struct la_job *job);
void la_programs_free(struct la_ready **at, uint32_t count); /* NULL is fine */

#endif
