/* fds.h - the ends of a process's streams: the agent's and its own. */
#ifndef LA_FDS_H
#define LA_FDS_H

#include "job.h"

struct la_fds {
    int in[2], out[2], err[2], pmi[2]; /* [0] for reading, [1] for writing; pmi: [0] ours */
    int key[2];                        /* --ftmpi: [0] is the process's, who reads the key from it */
};

/* input: with a pipe for standard input. 0 or errno, and all are closed. What is -1 is not closed. */
int la_fds_open(struct la_fds *f, int input, const struct la_job *job);
void la_fds_close(struct la_fds *f);

#endif
