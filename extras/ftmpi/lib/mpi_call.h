/* mpi_call.h - the common frame of an MPI call: names, checks, how an error is told. */
#ifndef FTM_MPI_CALL_H
#define FTM_MPI_CALL_H

#include "engine.h"
#include "mpi.h"
#include "request.h"

/* Each call is written as PMPI_X, and MPI_X is a weak alias of it, so that a program may bring its own MPI_X:
 *
 *      FTM_ALIAS(Send)
 *      int FTM_CALL(Send)(const void *buf, ...)
 *
 * Where the linker has no weak aliases (-DFTM_NO_ALIAS) there is MPI_X only. */
#if defined(__GNUC__) && !defined(__APPLE__) && !defined(FTM_NO_ALIAS)
#define FTM_PRAGMA(text) _Pragma(#text)
#define FTM_ALIAS(name) FTM_PRAGMA(weak MPI_##name = PMPI_##name)
#define FTM_CALL(name) PMPI_##name
#else
#define FTM_ALIAS(name)
#define FTM_CALL(name) MPI_##name
#endif

struct ftm_comm;
struct ftm_type;
struct ftm_group;
struct ftm_op;

/* This process's engine; NULL before MPI_Init and after MPI_Finalize. */
extern struct ftm *ftm_this;

/* Each check returns 0, or the MPI class, after it has called the error handler, which may jump away. So a
 * call does `if ((rc = ftm_check_...) != 0) return rc;` before it changes anything. `call` is "MPI_Send".
 *
 * Is there an engine? If not the process ends with a line. Every call begins with this or ftm_check_comm. */
int ftm_check_init(const char *call);
int ftm_check_comm(const char *call, MPI_Comm handle, struct ftm_comm **comm);
int ftm_check_type(const char *call, struct ftm_comm *comm, MPI_Datatype handle, struct ftm_type **type);
int ftm_check_committed(const char *call, struct ftm_comm *comm, MPI_Datatype handle, struct ftm_type **type);
int ftm_check_count(const char *call, struct ftm_comm *comm, long long count);
int ftm_check_pointer(const char *call, struct ftm_comm *comm, const char *name, const void *pointer);

/* Tells an error: calls the handler of comm (NULL: of MPI_COMM_WORLD) and returns the class. It is the last
 * thing that a call does. argument may be NULL: then value means nothing. */
int ftm_fail(struct ftm_comm *comm, int class, const char *call, const char *argument, long long value);

/* Ends the job and this process: a fatal error handler, MPI_Abort. The launcher, or we, say the line. It
 * does not return. */
void ftm_end_now(struct ftm *e, int code, const char *line);

/* MPI_STATUS_IGNORE is fine. */
void ftm_status_out(const struct ftm_status *from, MPI_Status *to);

/* The status of what is nothing: any source, any tag, no bytes. */
void ftm_status_empty(MPI_Status *to);

#endif
