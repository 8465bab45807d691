/* fault.h - failures of processes: states and modes of communicators, and what operations return. */
#ifndef FTM_FAULT_H
#define FTM_FAULT_H

#include "mpi.h"

struct ftm;
struct ftm_comm;

/* How failures are met: of an engine at its start, and then of each communicator, which takes over what its
 * parent has. Values are those of mpi.h; all 0 is ABORT, NOP, LOOSE. */
struct ftm_modes {
    int comm; /* FTMPI_COMM_MODE_... */
    int msg;  /* FTMPI_MSG_MODE_... */
    int coll; /* FTMPI_COLL_MODE_... */
};

/* A member of struct ftm_comm. */
struct ftm_fault {
    int state; /* FT_OK ... */
    struct ftm_modes modes;
};

#endif
