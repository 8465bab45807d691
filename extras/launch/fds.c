/* fds.c - the ends of a process's streams: the agent's and its own. */

#define _POSIX_C_SOURCE 200809L
#include "fds.h"
#include "proc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void fds_shut(int fd)
{
    if (fd >= 0)
        close(fd);
}

void la_fds_close(struct la_fds *f)
{
    int i;

    for (i = 0; i < 2; i++) {
        fds_shut(f->in[i]);
        fds_shut(f->out[i]);
        fds_shut(f->err[i]);
        fds_shut(f->pmi[i]);
        fds_shut(f->key[i]);
    }
}

/* The environment of a process can be read by others, a pipe that it has inherited cannot. */
static int fds_open_key(struct la_fds *f, const struct la_job *job)
{
    int err = la_pipe(f->key);

    if (err == 0 && write(f->key[1], job->key, sizeof job->key) != (ssize_t)sizeof job->key)
        err = EIO;
    return err;
}

int la_fds_open(struct la_fds *f, int input, const struct la_job *job)
{
    int err;

    memset(f, 0xff, sizeof *f); /* -1 */
    err = input ? la_pipe(f->in) : 0;
    if (err == 0)
        err = la_pipe(f->out);
    if (err == 0)
        err = la_pipe(f->err);
    if (err == 0)
        err = la_pair(f->pmi);
    if (err == 0 && job->ftmpi)
        err = fds_open_key(f, job);
    if (err != 0)
        la_fds_close(f);
    return err;
}
