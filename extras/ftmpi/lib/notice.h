/* notice.h - what the arbiter tells a process: numbered events, acted upon in order at the end of a step. */
#ifndef FTM_NOTICE_H
#define FTM_NOTICE_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "start.h"

struct ftm;
struct phx_node;

/* One that was declared failed. */
struct ftm_notice_death {
    int proc;
    uint64_t when;
    char text[200];
};

/* A member of struct ftm. */
struct ftm_notice {
    unsigned char *bytes; /* events in order that were not acted upon */
    size_t size, capacity;
    uint32_t taken;      /* the number of the last of these, or of the last that was acted upon */
    uint32_t highest;    /* that anybody has sent */
    uint32_t generation; /* of the TABLE */
    int begun;   /* the TABLE is here: numbers count from it */
    int table;   /* it has not been acted upon */
    int ask;     /* the rest is to be asked for ... */
    int asking;  /* ... and has been, and has not come */
    int modes;   /* the arbiter is to be told that failures end nothing; 2: it was */
    struct ftm_list held; /* messages of processes that are not known yet */
    size_t held_bytes;
    struct ftm_notice_death *deaths; /* in the arbiter's order */
    size_t deaths_count, deaths_capacity;
};

/* Of a process without an arbiter in its launcher: rank 0 runs one. 0, or enum phx_error. */
int ftm_notice_make_arbiter(struct ftm *e);

/* Says what (enum ftm_start) to the arbiter. 0, or enum phx_error. */
int ftm_notice_tell(struct ftm *e, uint32_t what, const void *data, size_t size);
int ftm_notice_hello(struct ftm *e);

/* A START, NOTICE or OUT has come. -1: nobody says that. */
int ftm_notice_told(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size);

/* One of a process that is not known, which may be one whose JOINED is still on its way: it is kept until
 * then. -1: it is none. */
int ftm_notice_hold(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size);

/* The last thing in a step: acts upon what has come, so all that came before it has been matched. 1: there
 * was something. */
int ftm_notice_act(struct ftm *e);

/* A node of Phoenix has another state: that of the arbiter's tells whether this process is cut off. */
void ftm_notice_node(struct ftm *e, const struct phx_node *node);
void ftm_notice_check_cut(struct ftm *e);

/* Asks for a process in this seat; JOINED, FAILED or NOSPAWN of it come to all. May be repeated: each life is
 * started once. 0, or enum phx_error: ask again later. */
int ftm_notice_spawn(struct ftm *e, int seat, uint32_t life, uint32_t generation);

/* Some communicator has another mode than ABORT now: failures shall not end the job. 0, or -1: there is no
 * arbiter in a launcher, so they do. */
int ftm_notice_modes(struct ftm *e);

/* Why a process (a place in e->procs) has failed, for people, with its rank and host; NULL: it has not. when:
 * as phx_now_us; NULL: not wanted. */
const char *ftm_notice_why(const struct ftm *e, int proc, uint64_t *when);

void ftm_notice_init(struct ftm *e);
void ftm_notice_clear(struct ftm *e);

#endif
