/* arbiter.h - who exists, who has failed, in which order: one per job, without I/O. */

/* The launcher feeds it what it sees of processes and what they send to the arbiter's name; through its ops
 * it says what is to be done. Any call may make it end the job, once: after that it ignores what it is told.
 *
 * There is one mode, ABORT: the job ends at once when a process dies, aborts, ends between MPI_Init and
 * MPI_Finalize, or ends before MPI_Init although another has called it. */
#ifndef FTM_ARBITER_H
#define FTM_ARBITER_H

#include "start.h"

#include "phoenix.h"

struct ftm_arbiter;

struct ftm_arbiter_ops {
    void *ctx;
    /* To all processes that live and have said hello. The bytes are borrowed. */
    void (*cast)(void *ctx, uint64_t tag, const void *data, size_t size);
    void (*say)(void *ctx, const char *line); /* for people; without an end of line */
    /* The job ends: kill what runs. The line was said, and code is its exit status. */
    void (*over)(void *ctx, int code);
    const char *(*host)(void *ctx, uint32_t rank); /* the name of the host where a rank runs */
};

/* 0; PHX_EINVAL: no such size; PHX_ENOMEM. alloc NULL: malloc and free. */
int ftm_arbiter_new(struct ftm_arbiter **out, const struct phx_alloc *alloc, uint32_t size,
                    const struct ftm_arbiter_ops *ops);
void ftm_arbiter_free(struct ftm_arbiter *a);

/* A process of this rank was started. PHX_EINVAL: no such rank, or it runs already. */
int ftm_arbiter_started(struct ftm_arbiter *a, uint32_t rank, uint32_t life);

/* It ended, with an exit status or, if signal is not 0, by that. PHX_EINVAL: it does not run. */
int ftm_arbiter_exited(struct ftm_arbiter *a, uint32_t rank, uint32_t life, int status, int signal);

/* A message to the arbiter's name. What no process sends ends the job. */
void ftm_arbiter_message(struct ftm_arbiter *a, uint64_t from, uint64_t tag, const void *data, size_t size);

/* Started and restarted are what the other three sum up to, after every call. */
struct ftm_arbiter_counts {
    uint32_t started, restarted, living, failed, finished;
};
void ftm_arbiter_count(const struct ftm_arbiter *a, struct ftm_arbiter_counts *out);

/* The job's exit status so far: that of the first failure. */
int ftm_arbiter_code(const struct ftm_arbiter *a);

#endif
