/* environ.h - what a process of a job finds in its environment. */
#ifndef LA_ENVIRON_H
#define LA_ENVIRON_H

#include "job.h"

/* The strings that all processes of a program share; ours are added for each. */
struct la_environ {
    char **list; /* with LA_ENVIRON_OWN free places at the end, then NULL */
    size_t count;
};

#define LA_ENVIRON_OWN 32
#define LA_ENVIRON_TEXT 160

/* What one process has for itself. */
struct la_environ_own {
    char text[LA_ENVIRON_OWN][LA_ENVIRON_TEXT];
    size_t count;
};

/* The job's environment and the program's on top, without what is ours. Strings stay the job's.
 * 0, PHX_ENOMEM. */
int la_environ_new(struct la_environ *e, const struct la_job *job, const struct la_program *program);
void la_environ_free(struct la_environ *e);

struct la_environ_rank {
    uint32_t rank, local_rank, local_count, life;
    int fd;      /* PMI_FD and NLA_FD; NLA_FD only if the job's PMI goes over a port */
    int port;    /* PMI_PORT or MPIRUN_PORT; 0: none */
    int spawned; /* PMI_SPAWNED */
    int key_fd;  /* FTMPI_KEY_FD */
};

/* Fills own and lists it at the end of e->list, until the next call. */
void la_environ_rank(struct la_environ *e, struct la_environ_own *own, const struct la_job *job,
                     const struct la_environ_rank *r);

#endif
