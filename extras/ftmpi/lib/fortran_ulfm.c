/* fortran_ulfm.c - the calls of mpi-ext.h for Fortran. */
#include "fortran.h"

#include "mpi-ext.h"

/* As F_MPI, FORTRAN and FTM_CALL, for MPIX_. */
#if defined(FTMPI_F77) && FTMPI_F77 == 0
#define F_MPIX(name) mpix_##name
#define F_PMPIX(name) pmpix_##name
#elif defined(FTMPI_F77) && FTMPI_F77 == 2
#define F_MPIX(name) mpix_##name##__
#define F_PMPIX(name) pmpix_##name##__
#else
#define F_MPIX(name) mpix_##name##_
#define F_PMPIX(name) pmpix_##name##_
#endif

#ifdef FTM_PRAGMA
#define FORTRAN_X(name) F_PRAGMA(weak F_MPIX(name) = F_PMPIX(name)) void F_PMPIX(name)
#define ULFM_CALL(name) PMPIX_##name
#else
#define FORTRAN_X(name) void F_MPIX(name)
#define ULFM_CALL(name) MPIX_##name
#endif

FORTRAN_X(comm_revoke)(MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_revoke)(*comm);
}

FORTRAN_X(comm_is_revoked)(MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_is_revoked)(*comm, flag);
}

FORTRAN_X(comm_shrink)(MPI_Fint *comm, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_shrink)(*comm, newcomm);
}

FORTRAN_X(comm_ishrink)(MPI_Fint *comm, MPI_Fint *newcomm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_ishrink)(*comm, newcomm, request);
}

FORTRAN_X(comm_agree)(MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_agree)(*comm, flag);
}

FORTRAN_X(comm_iagree)(MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_iagree)(*comm, flag, request);
}

FORTRAN_X(comm_failure_ack)(MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_failure_ack)(*comm);
}

FORTRAN_X(comm_failure_get_acked)(MPI_Fint *comm, MPI_Fint *failedgrp, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_failure_get_acked)(*comm, failedgrp);
}

FORTRAN_X(comm_get_failed)(MPI_Fint *comm, MPI_Fint *failedgrp, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_get_failed)(*comm, failedgrp);
}

FORTRAN_X(comm_ack_failed)(MPI_Fint *comm, MPI_Fint *num_to_ack, MPI_Fint *num_acked, MPI_Fint *ierr)
{
    *ierr = ULFM_CALL(Comm_ack_failed)(*comm, *num_to_ack, num_acked);
}
