/* mpi_p2p.h - what the calls that start messages have in common. */
#ifndef FTM_MPI_P2P_H
#define FTM_MPI_P2P_H

#include "mpi.h"
#include "request.h"

/* A message as a call names it. */
struct ftm_envelope {
    const void *buf;
    int count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
};

/* Fills an order of which kind and mode are set. 0, or an MPI class that was told to the error handler. */
int ftm_p2p_check(const char *call, struct ftm_order *o, const struct ftm_envelope *v);

/* What the caller has named, as it is. */
struct ftm_envelope ftm_p2p_envelope(const void *buf, int count, MPI_Datatype type, int peer, int tag,
                                     MPI_Comm comm);
/* Gives the program a handle. If there is none, the request goes, and the error is told. */
int ftm_p2p_hand(const char *call, struct ftm_request *r, MPI_Request *request);

#endif
