/* environ.h - what a process is told by its launcher through the environment. */
#ifndef FTM_ENVIRON_H
#define FTM_ENVIRON_H

#include "engine.h"

#define FTM_KEY_MOST 1024

struct ftm_environ {
    struct ftm_config config;
    unsigned char key[FTM_KEY_MOST];
    char host_name[64];
    char hubs[160]; /* of job.c */
    uint64_t start_wait_us; /* how long MPI_Init waits for the others */
    int trace; /* FTMPI_TRACE=1: lines that tell what happens */
    char problem[160]; /* what was wrong with it */
};

/* Reads FTMPI_... into v->config. 0, or -1 and v->problem says why. Without any of these it is a world of
 * one. */
int ftm_environ_read(struct ftm_environ *v);

#endif
