/* arbiter.h - who exists, who has failed, in which order: one per job, without I/O. */

/* The launcher feeds it what it sees of processes and what they send to the arbiter's name; through its ops
 * it says what is to be done. Any call may make it end the job, once: after that it ignores what it is told.
 *
 * A process is a *word* FTM_FROM(0, life, rank): the rank is a seat, and a process that is started again in
 * it has the next life.
 *
 * In a job without failures allowed (mode ABORT) the job ends at once when a process dies, aborts, ends
 * between MPI_Init and MPI_Finalize, or ends before MPI_Init although another has called it. Otherwise each
 * of these but an abort is an event FAILED, numbered for all, and the job goes on. Failed is final: who was
 * declared so and speaks is told OUT and killed. */
#ifndef FTM_ARBITER_H
#define FTM_ARBITER_H

#include "start.h"

#include "phoenix.h"

struct ftm_arbiter;

struct ftm_arbiter_ops {
    void *ctx;
    /* To these processes: a word each, with the life and rank of a name. All is borrowed. */
    void (*cast)(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data, size_t size);
    void (*say)(void *ctx, const char *line); /* for people; without an end of line */
    /* The job ends: kill what runs. The line was said, and code is its exit status. */
    void (*over)(void *ctx, int code);
    const char *(*host)(void *ctx, uint32_t rank); /* the name of the host where a rank runs */
    /* Start this rank again. NULL: it is under way, and ftm_arbiter_started or _unstarted follows (also from
     * inside this call); else why it cannot be. */
    const char *(*start)(void *ctx, uint32_t rank, uint32_t life);
    void (*kill)(void *ctx, uint32_t rank, uint32_t life); /* if it runs at all */
};

/* 0; PHX_EINVAL: no such size; PHX_ENOMEM. alloc NULL: malloc and free. goes_on: failures end nothing. */
int ftm_arbiter_new(struct ftm_arbiter **out, const struct phx_alloc *alloc, uint32_t size, int goes_on,
                    const struct ftm_arbiter_ops *ops);
void ftm_arbiter_free(struct ftm_arbiter *a);

/* A process of this rank was started: one that was never there before, or what ops.start was asked for.
 * PHX_EINVAL: nobody wants it. */
int ftm_arbiter_started(struct ftm_arbiter *a, uint32_t rank, uint32_t life);

/* What ops.start was asked for cannot be. */
void ftm_arbiter_unstarted(struct ftm_arbiter *a, uint32_t rank, uint32_t life, const char *why);

/* It ended, with an exit status or, if signal is not 0, by that. PHX_EINVAL: it does not run. */
int ftm_arbiter_exited(struct ftm_arbiter *a, uint32_t rank, uint32_t life, int status, int signal);

/* A host is gone with these processes: one event for all of them. Those that do not run are left out. They
 * may live on where they are, and are told OUT as soon as a way leads there. */
void ftm_arbiter_host_lost(struct ftm_arbiter *a, const uint64_t *words, uint32_t count, const char *why);

/* A message to the arbiter's name. What no process sends ends the job. */
void ftm_arbiter_message(struct ftm_arbiter *a, uint64_t from, uint64_t tag, const void *data, size_t size);

/* Started and restarted are what the other three sum up to, after every call. */
struct ftm_arbiter_counts {
    uint32_t started, restarted, living, failed, finished;
};
void ftm_arbiter_count(const struct ftm_arbiter *a, struct ftm_arbiter_counts *out);

/* 1: a process has been asked for with ops.start and nothing was heard of it yet. */
int ftm_arbiter_is_starting(const struct ftm_arbiter *a);

/* The job's exit status so far: that of the first process that ended badly; where failures end nothing those
 * count only if nobody came to the end. */
int ftm_arbiter_code(const struct ftm_arbiter *a);

#endif
