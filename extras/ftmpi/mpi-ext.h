/* mpi-ext.h - the names of ULFM (User-Level Failure Mitigation), by which a program recovers by itself. */
#ifndef FTM_MPI_EXT_H
#define FTM_MPI_EXT_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Error classes. In FTMPI_COMM_MODE_ULFM (start with --ft ulfm) the first stands for MPI_ERR_OTHER. The
 * third is returned for a receive from anybody as long as a failure is not acknowledged; it stays pending. */
#define MPIX_ERR_PROC_FAILED 22
#define MPIX_ERR_PROC_FAIL_STOP MPIX_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED_PENDING 23
#define MPIX_ERR_REVOKED 24

/* In every mode. Not collective: revoke and what is about acknowledging. shrink and agree work on
 * communicators that are revoked or have failed members. */
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

/* The same once more. */
int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

#ifdef __cplusplus
}
#endif

#endif
