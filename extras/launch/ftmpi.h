/* ftmpi.h - for --ftmpi: the arbiter of extras/ftmpi in the launcher, and where ranks are started again. */

#ifndef LA_FTMPI_H
#define LA_FTMPI_H

#include "job.h"

#include "../../phoenix.h"

struct la_ftmpi;

struct la_ftmpi_ops {
    void *ctx;
    phx *(*node)(void *ctx);
    void (*fail)(void *ctx, int code, const char *line); /* the job ends */
    void (*say)(void *ctx, const char *line);            /* it does not */
    /* A process of this rank is to be started at that agent; la_ftmpi_again or _unstarted follows. */
    void (*start)(void *ctx, uint32_t agent, uint32_t rank, uint32_t life);
    void (*kill)(void *ctx, uint32_t rank, uint32_t life); /* wherever it may run */
    /* Nobody runs for this rank any more, since its host is gone; or it is started again. */
    void (*ended)(void *ctx, uint32_t rank, int ended);
};

/* All ranks of the job count as started. 0, PHX_ENOMEM. The job stays the caller's. */
int la_ftmpi_new(struct la_ftmpi **out, const struct la_job *job, const struct la_ftmpi_ops *ops);
void la_ftmpi_free(struct la_ftmpi *f);

void la_ftmpi_message(struct la_ftmpi *f, const struct phx_message *m); /* one to the arbiter's name */

/* What agents say of a process: it has ended; it was started again; it cannot be. The first: 0, or -1: that
 * life was over before, and this is no news. */
int la_ftmpi_exited(struct la_ftmpi *f, uint32_t rank, uint32_t life, int wait_status);
void la_ftmpi_again(struct la_ftmpi *f, uint32_t rank, uint32_t life);
void la_ftmpi_unstarted(struct la_ftmpi *f, uint32_t rank, uint32_t life, const char *why);

/* These agents are gone for good: one event for all their processes. */
void la_ftmpi_gone(struct la_ftmpi *f, uint32_t first, uint32_t end);

const char *la_ftmpi_host(const struct la_ftmpi *f, uint32_t rank); /* where it runs, or ran last */
int la_ftmpi_code(const struct la_ftmpi *f); /* the job's exit status, when all have ended */

#endif
