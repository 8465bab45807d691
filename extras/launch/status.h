/* status.h - how a job ends: the status of phxrun, and the line that says why. */

#ifndef LA_STATUS_H
#define LA_STATUS_H

#include "place.h"

enum la_status_codes {
    LA_STATUS_ERROR = 1,    /* anything else: a host that cannot be reached, an agent that died, ... */
    LA_STATUS_USAGE = 2,
    LA_STATUS_TIMEOUT = 124, /* --timeout */
    LA_STATUS_NOEXEC = 126,  /* the program is there and cannot be executed */
    LA_STATUS_MISSING = 127  /* there is no such program */
};

/* Of a process: what waitpid gave; what MPI_Abort said; why its program could not be started (errno of
 * execve, chdir and so on; directory: it is the directory that is at fault). */
int la_status_of_wait(int wait_status);
int la_status_of_abort(int code);
int la_status_of_errno(int error, int directory);

/* Of the job: that of the first failure; with -k (each) the highest. Zeroed: none yet. */
struct la_status {
    int code, failures;
};
void la_status_add(struct la_status *s, int code, int each);

/* How a process ended, e.g. "rank 3 on b: killed by signal 9 (Killed)". wait_status as of waitpid. Then the
 * same of one that could not be started: "rank 3 on b: cannot execute ./x: Permission denied". */
void la_status_say(char out[LA_TEXT], uint32_t rank, const char *host, int wait_status);
void la_status_say_errno(char out[LA_TEXT], uint32_t rank, const char *host, const char *path, int error,
                         int directory);

#endif
