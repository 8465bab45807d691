/* ftmpi.h - for --ftmpi: the arbiter of extras/ftmpi in the launcher. */

#ifndef LA_FTMPI_H
#define LA_FTMPI_H

#include "job.h"

#include "../../phoenix.h"

struct la_ftmpi;

struct la_ftmpi_ops {
    void *ctx;
    phx *(*node)(void *ctx);
    const char *(*host)(void *ctx, uint32_t rank);
    void (*fail)(void *ctx, int code, const char *line); /* the job ends */
    void (*say)(void *ctx, int code, const char *line);  /* it does not, but its status is this */
};

/* All ranks of the job count as started. 0, PHX_ENOMEM. The job stays the caller's. */
int la_ftmpi_new(struct la_ftmpi **out, const struct la_job *job, const struct la_ftmpi_ops *ops);
void la_ftmpi_free(struct la_ftmpi *f);

void la_ftmpi_message(struct la_ftmpi *f, const struct phx_message *m); /* one to the arbiter's name */
void la_ftmpi_exited(struct la_ftmpi *f, uint32_t rank, int wait_status);

#endif
