/* step.h - how srun starts all agents at once: one step, addresses come up, a table of them goes down. */

/* Hands, of the launcher only. What srun reads goes to all agents: the boot block with the whole job
 * (WIRE.md) and, when each has said where it listens, the table of all addresses. Each then dials its parent;
 * from there on nothing more comes by way of srun. */
#ifndef LA_STEP_H
#define LA_STEP_H

#include "cargo.h"
#include "job.h"
#include "lines.h"
#include "watch.h"

#define LA_STEP_AS_AGENT "--as-step" /* the first argument of an agent that srun starts */
#define LA_STEP_AT "phxrun-at"       /* AGENT ADDRESS ADDRESS ... in one line */
#define LA_STEP_LINE 1000            /* bytes of such a line, at most */
#define LA_TABLE_MOST (64u << 20)

struct la_step;

struct la_step_ops {
    void *ctx;
    int (*boot)(void *ctx, uint32_t number, struct la_queue *out);  /* as of la_start_ops; number is 0 */
    /* The launcher's addresses, blanks between. 0, or an error. */
    int (*own)(void *ctx, char out[LA_STEP_LINE]);
    /* An agent that cannot be reached: one line. Once for each. */
    void (*failed)(void *ctx, uint32_t number, int status, const char *why);
    /* srun itself, after the table; status as waitpid's. */
    void (*ended)(void *ctx, int status, const char *why);
};

/* job and cargo stay the caller's. self: the path of this program. 0, PHX_ENOMEM. */
int la_step_new(struct la_step **out, const struct la_job *job, const char *self,
                const struct la_cargo *cargo, struct la_watch *w, struct la_procs *p,
                const struct la_step_ops *ops);
void la_step_free(struct la_step *s); /* NULL is fine, here and below */

void la_step_step(struct la_step *s, uint64_t now_us);
uint64_t la_step_deadline(const struct la_step *s);
int la_step_exited(struct la_step *s, pid_t pid, int status); /* 1: it was srun */
void la_step_kill(const struct la_step *s, int number);
int la_step_running(const struct la_step *s);

/* An entry of a table, appended; and the whole of it in front of the entries. 0, PHX_ENOMEM. */
int la_table_add(struct la_queue *out, uint32_t agent, const char *address);
int la_table_head(struct la_queue *out, uint32_t count, size_t size);

/* The main function of an agent that srun started. */
int la_step_main(const char *self);

#endif
