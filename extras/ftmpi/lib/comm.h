/* comm.h - communicators: who talks to whom, in which context. */
#ifndef FTM_COMM_H
#define FTM_COMM_H

#include <stdint.h>

#include "attr.h"
#include "error.h"
#include "group.h"
#include "match.h"
#include "mpi.h"
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
    struct ftm_match match[2];
    uint32_t collectives; /* how many were begun: the tag of the next one */
    struct ftm_errhandler *errhandler; /* held */
    struct ftm_attr *attrs;
    struct ftm_topo *topo; /* held; NULL: none */
    void *coll;            /* of coll_*.c: trees over hosts and sites, made when first needed */
    char name[MPI_MAX_OBJECT_NAME];
};

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF, e->world and e->self, once e->procs is there. An MPI class. */
int ftm_comm_init(struct ftm *e);
/* Gives back every communicator, whatever holds it; attributes without their delete functions. */
void ftm_comm_clear(struct ftm *e);

/* A communicator with this context and these groups, which it holds, and a handle; the error handler is
 * that of parent. remote and topo may be NULL. */
int ftm_comm_new(struct ftm *e, struct ftm_comm *parent, uint32_t context, struct ftm_group *group,
                 struct ftm_group *remote, struct ftm_comm **out);
void ftm_comm_drop(struct ftm *e, struct ftm_comm *comm);

/* The group that ranks of messages name: the remote one, if there is one. */
static inline struct ftm_group *ftm_comm_peers(const struct ftm_comm *comm)
{
    return comm->remote != NULL ? comm->remote : comm->group;
}

#endif
