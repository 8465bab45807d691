/* comm.h - communicators: who talks to whom, in which context. */
#ifndef FTM_COMM_H
#define FTM_COMM_H

#include <stdint.h>

#include "attr.h"
#include "error.h"
#include "fault.h"
#include "group.h"
#include "match.h"
#include "mpi.h"
#include "recover.h"
#include "topo.h"

/* Two contexts on the wire: `context`, which is even, for what the program sends, and the next one for
 * collectives. Requests hold it: a communicator that was freed lives until its last request ends. */
struct ftm_comm {
    int refs;
    int handle; /* 0: freed, or never seen by the program */
    uint32_t context;
    uint32_t generation;
    int rank, size;           /* in group */
    struct ftm_group *group;  /* who sends here: the local one */
    struct ftm_group *remote; /* whom ranks name, of an intercommunicator; NULL: group */
    struct ftm_comm *local;   /* of an intercommunicator: its own side as a communicator; or NULL */
    struct ftm_comm *dense;   /* of one with gaps: ftm_comm_dense; or NULL */
    int *dense_ranks;         /* of a dense one: the ranks of its members in the other */
    struct ftm_match match[2];
    struct ftm_fault fault;
    struct ftm_recovery recovery;
    uint32_t collectives; /* how many were begun: the tag of the next one */
    struct ftm_errhandler *errhandler; /* held */
    int handler_set; /* by the program, here or where it comes from */
    struct ftm_attr *attrs;
    struct ftm_topo *topo; /* held; NULL: none */
    void *coll;            /* of coll_*.c: trees over hosts and sites, made when first needed */
    char name[MPI_MAX_OBJECT_NAME];
};

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF, e->world and e->self, once e->procs is there; and
 * MPI_GROUP_EMPTY. An MPI class. */
int ftm_comm_init(struct ftm *e);
/* Gives back every communicator and group, whatever holds it; attributes without their delete functions. */
void ftm_comm_clear(struct ftm *e);

/* What a new communicator is made of. The groups and the topology are held by it from then on (on errors,
 * too, the caller's own holds stay). */
struct ftm_comm_parts {
    struct ftm_comm *parent; /* whose error handler and modes it gets; NULL: those of the start */
    uint32_t context;
    struct ftm_group *group, *remote;
    struct ftm_topo *topo;
    int hidden; /* 1: without a handle */
};
int ftm_comm_new(struct ftm *e, const struct ftm_comm_parts *parts, struct ftm_comm **out);
void ftm_comm_drop(struct ftm *e, struct ftm_comm *comm);

/* The successor of a communicator, with the same contexts and a higher generation: it has no handle, and
 * nothing gets there before ftm_fault_succeeded. */
int ftm_comm_succeed(struct ftm *e, struct ftm_comm *old, struct ftm_group *group, struct ftm_topo *topo,
                     uint32_t generation, struct ftm_comm **out);

/* The members of a communicator with gaps, numbered without them: its contexts are not open, and it goes with
 * the other. NULL: no memory. */
struct ftm_comm *ftm_comm_dense(struct ftm *e, struct ftm_comm *comm);

/* MPI_Comm_free: the handle goes now, the rest with the last request. */
void ftm_comm_free(struct ftm *e, struct ftm_comm *comm);

/* These block; all members of comm, of both sides, call them, in the same order; without an error handler.
 *
 * The context of what is made next: the greatest counter of all members. */
int ftm_comm_agree(struct ftm *e, struct ftm_comm *comm, uint32_t *context);

/* A communicator of those members who are in group; *out is NULL at the others. topo may be NULL. */
int ftm_comm_sub(struct ftm *e, struct ftm_comm *comm, struct ftm_group *group, struct ftm_topo *topo,
                 struct ftm_comm **out);

/* The leaders of two groups exchange words, of the first of which the lower half is theirs, and tell their
 * groups: *size bytes at most, and then as many as they are, more than one word. Or our group has nothing to
 * say, and its leader tells the other one. */
struct ftm_comm_bridge {
    struct ftm_comm *local;   /* our group */
    int leader;               /* in it */
    struct ftm_comm *between; /* through which the leaders talk, known to ours alone */
    int remote, tag;          /* the other leader in it, and the tag */
};
int ftm_comm_exchange(struct ftm *e, const struct ftm_comm_bridge *b, uint64_t *mine, size_t mine_bytes,
                      uint64_t *theirs, size_t *size);
void ftm_comm_decline(struct ftm *e, const struct ftm_comm_bridge *b, uint64_t *theirs, size_t size);

/* The intercommunicator of comm->group and a remote group; it has its own side as a communicator in the
 * context behind its own. */
int ftm_comm_new_inter(struct ftm *e, struct ftm_comm *parent, uint32_t context, struct ftm_group *group,
                       struct ftm_group *remote, struct ftm_comm **out);

/* MPI_Comm_split; *out is NULL if color is MPI_UNDEFINED. */
int ftm_comm_split(struct ftm_comm *comm, int color, int key, struct ftm_comm **out);

/* The group that ranks of messages name: the remote one, if there is one. */
static inline struct ftm_group *ftm_comm_peers(const struct ftm_comm *comm)
{
    return comm->remote != NULL ? comm->remote : comm->group;
}

#endif
