/* vote.h - agreements among the members of a communicator: their numbers, their messages, who takes part. */
#ifndef FTM_VOTE_H
#define FTM_VOTE_H

#include <stddef.h>
#include <stdint.h>

#include "agree.h"
#include "list.h"

struct ftm;
struct ftm_arrival;
struct ftm_comm;
struct ftm_group;
struct ftm_vote;

/* Each kind counts by itself, from 0 in each communicator and generation. Of the first three an engine that
 * knows of a failed member says no by itself when it hears of one: its program may never come to it. */
enum ftm_vote_kind {
    FTM_VOTE_CREATE = 1, /* one round: the call makes a communicator, or fails at all */
    FTM_VOTE_MEET,       /* one round, of two sides: an intercommunicator is made, or not, at all of both */
    FTM_VOTE_COLLECTIVE, /* one round: a strict collective call, by its number */
    FTM_VOTE_RECOVERY,   /* two rounds, as all that follow: who has failed, and the successor */
    FTM_VOTE_REBUILD,    /* the first of those who were started again */
    FTM_VOTE_AGREE,      /* MPIX_Comm_agree */
    FTM_VOTE_SHRINK,     /* MPIX_Comm_shrink */
    FTM_VOTE_FINALIZE,
    FTM_VOTE_KINDS,
    FTM_VOTE_WELCOME = 15 /* no vote: the way in for a process that was started again */
};

/* Flags of the first three, and of FTM_VOTE_RECOVERY. */
enum {
    FTM_VOTE_CONTENT = 1, /* it worked here; in a recovery: nobody has left the communicator */
    FTM_VOTE_WHOLE = 2,   /* no failed member is known here */
    FTM_VOTE_FREE = 4,    /* nobody asks for REBUILD whatever the mode */
    FTM_VOTE_SAID = 8     /* this and higher ones: of the call that makes a communicator */
};

/* Of an engine. */
struct ftm_votes {
    struct ftm_list places; /* communicators and generations, the last used first */
    int old;                /* places whose communicator is gone */
    size_t heard;           /* bytes of votes in which others take part, and this process does not yet */
};

void ftm_vote_init(struct ftm *e);
void ftm_vote_clear(struct ftm *e);

/* What this process says. The engine adds its context counter, its rank and the failed members that it knows.
 * acknowledged may be NULL; it is asked for each member. */
struct ftm_vote_part {
    uint32_t flags, settings;
    int (*acknowledged)(const struct ftm_comm *comm, int proc);
};

/* This process takes part; in an intercommunicator with both sides. It is held until ftm_vote_release; others
 * may need it longer. NULL: no memory. All members start the same kinds with the same numbers, or fail. */
struct ftm_vote *ftm_vote_start(struct ftm *e, struct ftm_comm *comm, enum ftm_vote_kind kind,
                                uint32_t number, const struct ftm_vote_part *part);
void ftm_vote_release(struct ftm *e, struct ftm_vote *v);

/* Two groups meet that have no communicator of both yet: how a side names this, by its own communicator. The
 * call begins with ftm_vote_meeting, and ends with ftm_vote_met, whatever became of it: those of the other
 * side who wait are told no if it did not come to ftm_vote_meet, for which both names and groups must be
 * known. */
struct ftm_vote_side {
    uint32_t context, generation, number;
};
void ftm_vote_meeting(struct ftm_comm *comm, struct ftm_vote_side *own);
struct ftm_vote *ftm_vote_meet(struct ftm *e, struct ftm_comm *comm, const struct ftm_vote_side *own,
                               const struct ftm_vote_side *other, const struct ftm_group *remote,
                               const struct ftm_vote_part *part);
void ftm_vote_met(struct ftm *e, struct ftm_comm *comm, const struct ftm_vote_side *own);

/* 1: it has a value, and every failure in it has been declared here. ftm_pump_until takes this form. */
int ftm_vote_done(void *v);

/* Once it is done. flags is 0 where others went on long ago without us, after a failure. */
uint32_t ftm_vote_flags(const struct ftm_vote *v);
uint32_t ftm_vote_context(const struct ftm_vote *v);
const struct ftm_agree_value *ftm_vote_value(const struct ftm_vote *v); /* NULL: as above */

/* The members in the order of sets: how many, and which process. */
int ftm_vote_members(const struct ftm_vote *v);
int ftm_vote_member(const struct ftm_vote *v, int i);
int ftm_vote_says_failed(const struct ftm_vote *v, int proc);

/* Makes room for votes of a generation whose communicator is not there yet; ftm_vote_bind gives it. The group
 * has no gaps that matter: they are left out. 0, or -1: no memory. */
int ftm_vote_place(struct ftm *e, uint32_t context, uint32_t generation, const struct ftm_group *group);
void ftm_vote_bind(struct ftm *e, struct ftm_comm *comm);
struct ftm_vote *ftm_vote_start_at(struct ftm *e, uint32_t context, uint32_t generation,
                                   enum ftm_vote_kind kind, uint32_t number,
                                   const struct ftm_vote_part *part);

/* A recovery has begun of a communicator that is gone here: it ends with an error at all. -1: nobody begins
 * one of that number. */
int ftm_vote_decline(struct ftm *e, uint32_t context, uint32_t generation, uint32_t number);

/* For the engine. That communicator goes; that process has failed; that communicator is revoked. */
void ftm_vote_forget(struct ftm *e, struct ftm_comm *comm);
void ftm_vote_failed(struct ftm *e, int proc);
void ftm_vote_revoked(struct ftm *e, struct ftm_comm *comm);

/* A message of kind FTM_AGREE. 0; 1: what it is for is not here yet; -1: no process sends it. *called is a
 * communicator whose recovery others have begun, or NULL. */
int ftm_vote_arrived(struct ftm *e, const struct ftm_arrival *a, struct ftm_comm **called);

/* A protocol message that no receive waits for. config.on_protocol sees it first and may take it. */
void ftm_vote_tell(struct ftm *e, int proc, uint64_t tag, const void *data, size_t size);

#endif
