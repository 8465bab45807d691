/* mpi_handle.c - handles and statuses between C and Fortran, which are the same. */
#include <string.h>

#include "mpi_call.h"

#define HANDLE_PAIR(kind, type)                                              \
    FTM_ALIAS(kind##_f2c)                                                    \
    type FTM_CALL(kind##_f2c)(MPI_Fint handle) { return handle; }            \
    FTM_ALIAS(kind##_c2f)                                                    \
    MPI_Fint FTM_CALL(kind##_c2f)(type handle) { return handle; }

HANDLE_PAIR(Comm, MPI_Comm)
HANDLE_PAIR(Group, MPI_Group)
HANDLE_PAIR(Type, MPI_Datatype)
HANDLE_PAIR(Op, MPI_Op)
HANDLE_PAIR(Request, MPI_Request)
HANDLE_PAIR(Errhandler, MPI_Errhandler)

FTM_ALIAS(Status_f2c)
int FTM_CALL(Status_f2c)(const MPI_Fint *f_status, MPI_Status *c_status)
{
    memcpy(c_status, f_status, sizeof *c_status);
    return MPI_SUCCESS;
}

FTM_ALIAS(Status_c2f)
int FTM_CALL(Status_c2f)(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof *c_status);
    return MPI_SUCCESS;
}
