/* status.c - how a job ends: the status of phxrun, and the line that says why. */

#define _POSIX_C_SOURCE 200809L
#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

int la_status_of_wait(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : LA_STATUS_ERROR;
}

/* A status has eight bits, and an abort must not look like success. */
int la_status_of_abort(int code)
{
    int low = (int)((unsigned)code & 0xff);

    return low != 0 ? low : LA_STATUS_ERROR;
}

/* As shells do it. A directory that is not there is no fault of the program. */
int la_status_of_errno(int error, int directory)
{
    if (directory)
        return LA_STATUS_ERROR;
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return LA_STATUS_MISSING;
    case EACCES:
    case EPERM:
    case EISDIR:
    case ENOEXEC:
    case ETXTBSY:
        return LA_STATUS_NOEXEC;
    default:
        return LA_STATUS_ERROR;
    }
}

void la_status_add(struct la_status *s, int code, int each)
{
    if (code == 0)
        return;
    if (s->failures++ == 0 || (each && code > s->code))
        s->code = code;
}

void la_status_say(char out[LA_TEXT], uint32_t rank, const char *host, int wait_status)
{
    int code = la_status_of_wait(wait_status);

    if (WIFSIGNALED(wait_status))
        snprintf(out, LA_TEXT, "rank %lu on %.100s: killed by signal %d (%s)", (unsigned long)rank, host,
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    else
        snprintf(out, LA_TEXT, "rank %lu on %.100s: ended with status %d", (unsigned long)rank, host, code);
}

void la_status_say_errno(char out[LA_TEXT], uint32_t rank, const char *host, const char *path, int error,
                         int directory)
{
    snprintf(out, LA_TEXT, "rank %lu on %.60s: %s %.90s: %s", (unsigned long)rank, host,
             directory ? "cannot enter directory" : "cannot execute", path, strerror(error));
}
