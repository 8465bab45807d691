/* options.h - from a command line and an environment to a job that is placed. */

/* Of the world it reads what its arguments say and the files that they name (host file, configuration file,
 * PBS_NODEFILE), this host's name and its number of processors; it writes nothing.
 *
 * A file named in the environment (PBS_NODEFILE) is read only when no hosts are named otherwise. */
#ifndef LA_OPTIONS_H
#define LA_OPTIONS_H

#include "job.h"
#include "place.h"
#include "text.h"

struct la_options {
    struct la_job job; /* placed; its id, key and kvsname are the launcher's to choose */
    struct la_place_said said;
    struct la_list warnings; /* lines for standard error: warnings, and with -v the degree and why */
    char *print;         /* --help, --version, --dry-run: to print, status 0, and nothing is started */
    int json;            /* --json: results (of -k and of --dry-run) as JSON */
    uint64_t timeout_us; /* --timeout; 0: none. Status LA_STATUS_TIMEOUT */
};

/* argv and environ as main has them. 0; PHX_EINVAL and one line in why (without "phxrun: " before it): status
 * LA_STATUS_USAGE; PHX_ENOMEM. What was filled is freed by la_options_free in each case. */
int la_options(int argc, char **argv, char **environ, struct la_options *out, char why[LA_TEXT]);
void la_options_free(struct la_options *o);

#endif
