/* fortran.h - how subroutines of Fortran are named in C, and what they share with it. */
#ifndef FTM_FORTRAN_H
#define FTM_FORTRAN_H

#include <stdint.h>

#include "mpi_call.h"

/* Compilers add underscores to names: FTMPI_F77 says how many (0, 1, 2), 1 if nothing is said. Handles are
 * INTEGER, and so are statuses, by the element; LOGICAL is true where it is not 0. Everything comes by
 * reference. */
#if defined(FTMPI_F77) && FTMPI_F77 == 0
#define F_MPI(name) mpi_##name
#define F_PMPI(name) pmpi_##name
#define F_COMMON ftmpi_common
#elif defined(FTMPI_F77) && FTMPI_F77 == 2
#define F_MPI(name) mpi_##name##__
#define F_PMPI(name) pmpi_##name##__
#define F_COMMON ftmpi_common__
#else
#define F_MPI(name) mpi_##name##_
#define F_PMPI(name) pmpi_##name##_
#define F_COMMON ftmpi_common_
#endif

/* FORTRAN(send)(...) begins the subroutine PMPI_SEND, of which MPI_SEND is a weak alias, as FTM_ALIAS has
 * it. */
#ifdef FTM_PRAGMA
#define F_PRAGMA(text) FTM_PRAGMA(text)
#define FORTRAN_OF(type, name) F_PRAGMA(weak F_MPI(name) = F_PMPI(name)) type F_PMPI(name)
#else
#define FORTRAN_OF(type, name) type F_MPI(name)
#endif
#define FORTRAN(name) FORTRAN_OF(void, name)
#define FORTRAN_PLAIN(name) void F_MPI(name)

/* The common block of mpif.h: what stands for MPI_BOTTOM and the like is known by its address.
 * Displacements are counted from `bottom`, so MPI_BOTTOM is an ordinary buffer. */
struct f_common {
    MPI_Fint bottom, in_place;
    MPI_Fint status_ignore[6], statuses_ignore[6];
};
extern struct f_common F_COMMON;

static inline void *f_buffer(void *p)
{
    return p == (void *)&F_COMMON.in_place ? MPI_IN_PLACE : p;
}

static inline MPI_Status *f_status(MPI_Fint *status)
{
    return status == F_COMMON.status_ignore ? MPI_STATUS_IGNORE : (MPI_Status *)(void *)status;
}

static inline MPI_Status *f_statuses(MPI_Fint *statuses)
{
    return statuses == F_COMMON.statuses_ignore ? MPI_STATUSES_IGNORE : (MPI_Status *)(void *)statuses;
}

/* A number in the place of a pointer. */
static inline void *f_pointer(MPI_Aint number)
{
    return (void *)(intptr_t)number;
}

#endif
