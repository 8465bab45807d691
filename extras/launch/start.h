/* start.h - how an agent gets its children running: ssh and what is called like it, or a fork of its own. */

/* Each child agent is a process of ours (ssh, or the agent itself where hosts are played here) whose standard
 * input and output are one end of a socketpair. What it says before its first line
 *
 *      phxrun-agent PROTOCOL VERSION
 *
 * is noise of login shells and is skipped. Then it gets its boot block (WIRE.md) and the staged file, and
 * from there on the stream belongs to Phoenix. With --copy a shell over there says
 *
 *      phxrun-copy PROTOCOL
 *
 * before, takes this program's file and becomes it. What srun starts (step.h) is only
 * waited for. Up to LA_START_WIDTH are under way at once, each with a
 * time-out of its own. */
#ifndef LA_START_H
#define LA_START_H

#include "cargo.h"
#include "job.h"
#include "lines.h"
#include "proc.h"
#include "watch.h"

#define LA_START_WIDTH 8
#define LA_START_PROTOCOL 1
#define LA_START_LINE "phxrun-agent"
#define LA_START_COPY "phxrun-copy"
#define LA_START_AS_AGENT "--as-agent" /* the first argument of an agent */
#define LA_BOOT_MOST (256u << 20)

struct la_start;

struct la_start_ops {
    void *ctx;
    /* The boot block of a child, appended. 0, PHX_ENOMEM. */
    int (*boot)(void *ctx, uint32_t number, struct la_queue *out);
    /* It has its boot block: this stream, non-blocking, is now the caller's, to be adopted. */
    void (*up)(void *ctx, uint32_t number, int fd);
    /* It could not be started: one line. Once for each host, and then nothing more is said of it. status is
     * what phxrun should end with. */
    void (*failed)(void *ctx, uint32_t number, int status, const char *why);
    /* Its process is gone; text: the last line it said on its standard error, or "". */
    void (*ended)(void *ctx, uint32_t number, int status, const char *text);
};

/* job and cargo stay the caller's. self: the path of this program. 0, PHX_ENOMEM, PHX_EMFILE. */
int la_start_new(struct la_start **out, const struct la_job *job, const char *self,
                 const struct la_cargo *cargo, struct la_watch *w, struct la_procs *p,
                 const struct la_start_ops *ops);
void la_start_free(struct la_start *s);

int la_start_host(struct la_start *s, uint32_t number); /* an agent of the job's slice; 0, PHX_ENOMEM */
void la_start_linked(struct la_start *s, uint32_t number); /* its Phoenix link is up: no more time-out */
void la_start_cancel(struct la_start *s); /* those that are not linked fail now, none is begun any more */
void la_start_kill(struct la_start *s, int number); /* a signal to all of them; none is begun any more */
int la_start_running(const struct la_start *s); /* how many processes there are */
int la_start_pending(const struct la_start *s); /* how many have not yet linked or failed */

/* A process has ended: 1 if it was one of these. */
int la_start_exited(struct la_start *s, pid_t pid, int status);

void la_start_step(struct la_start *s, uint64_t now_us);
uint64_t la_start_deadline(const struct la_start *s);

/* The agent's side: says the first line and reads the boot block, blocking, from descriptors 0 and 1.
 * 0, PHX_EPROTO, PHX_ERESET, PHX_ENOMEM. */
int la_start_answer(struct la_queue *boot);

#endif
