/* ranks.h - the processes of one job on this host: start, environment, streams, PMI, end. */

/* Hands: descriptors and processes. What the processes say on their PMI streams goes to an engine (engine.h)
 * of the same job, what they write goes out line by line. */
#ifndef LA_RANKS_H
#define LA_RANKS_H

#include "engine.h"
#include "flow.h"
#include "proc.h"
#include "watch.h"

struct la_ranks;

/* How a rank ended. */
struct la_end {
    uint32_t rank, life;
    int wait;              /* as of waitpid */
    int inited, finalized; /* what it had said */
    int error;             /* not 0: it was never started, errno; ECANCELED: since the job was over ... */
    int directory;         /* ... 1: it is its directory that is at fault */
    const char *what;      /* the program or directory */
};

struct la_ranks_ops {
    void *ctx;
    void (*ended)(void *ctx, const struct la_end *e); /* once for each rank and life */
    /* One that said init or finalize for the first time. */
    void (*said)(void *ctx, uint32_t rank, int finalize);
    void (*again)(void *ctx, uint32_t rank, uint32_t life); /* one of la_ranks_again runs */
    void (*output)(void *ctx, const struct la_chunk *c);
    int (*room)(void *ctx); /* 1: more output is taken */
    /* All but reply, hangup, said_init and said_finalize, which are here. Their ctx is the struct la_ranks;
     * la_ranks_owner tells the ctx above. */
    struct la_engine_ops engine;
};

/* job stays the caller's: its agents[0] says which ranks. number: of the job, in chunks of output. spawner:
 * as in la_engine_new. 0, PHX_ENOMEM, PHX_EMFILE. */
int la_ranks_new(struct la_ranks **out, const struct la_job *job, uint32_t number, const char *spawner,
                 struct la_watch *w, struct la_procs *p, const struct la_ranks_ops *ops);
void la_ranks_free(struct la_ranks *r);
struct la_engine *la_ranks_engine(struct la_ranks *r);
void *la_ranks_owner(const struct la_ranks *r);

/* Starts some of those that are not started yet; each step does a bit, so that the loop goes on. */
void la_ranks_step(struct la_ranks *r, uint64_t now_us);
uint64_t la_ranks_deadline(const struct la_ranks *r);
int la_ranks_started(const struct la_ranks *r); /* each was started, or never will be */

int la_ranks_exited(struct la_ranks *r, pid_t pid, int status); /* 1: it was one of these */
void la_ranks_room(struct la_ranks *r); /* there is room for output again */

/* TERM, and KILL after job->grace_us; with now 1 KILL. None is started any more. */
void la_ranks_end(struct la_ranks *r, int now);
void la_ranks_signal(struct la_ranks *r, int number);

/* A rank of the job, of this host or another, is started again, or here, by one of the next steps; its life
 * is higher than that of any before. 0, PHX_ENOMEM, PHX_EINVAL (the last one runs), PHX_ECLOSED. And the end
 * of one. */
int la_ranks_again(struct la_ranks *r, uint32_t rank, uint32_t life);
void la_ranks_kill(struct la_ranks *r, uint32_t rank, uint32_t life);

int la_ranks_over(const struct la_ranks *r); /* all have ended, and all they wrote has been given */

/* Input for one rank, or LA_ALL; size 0: no more comes. */
void la_ranks_input(struct la_ranks *r, const struct la_chunk *c);
int la_ranks_input_room(const struct la_ranks *r);

#endif
