/* mpi-ext.h - the names of ULFM (User-Level Failure Mitigation) for what mpi.h has under other names. */
#ifndef FTM_MPI_EXT_H
#define FTM_MPI_EXT_H

#include "mpi.h"

/* Error classes. In FTMPI_COMM_MODE_ULFM the first stands for MPI_ERR_OTHER. */
#define MPIX_ERR_PROC_FAILED 22
#define MPIX_ERR_PROC_FAIL_STOP MPIX_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED_PENDING 23
#define MPIX_ERR_REVOKED 24

#endif
