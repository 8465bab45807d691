/* error.c - error handlers, and what is said about an error. */
#include "error.h"

#include <stdio.h>

#include "comm.h"
#include "engine.h"
#include "mpi-ext.h"
#include "mpi_call.h"

static const struct error_text {
    int code;
    const char *text;
} error_texts[] = {
    { MPI_SUCCESS, "MPI_SUCCESS: no error" },
    { MPI_ERR_BUFFER, "MPI_ERR_BUFFER: invalid buffer, or no room in the attached one" },
    { MPI_ERR_COUNT, "MPI_ERR_COUNT: invalid count" },
    { MPI_ERR_TYPE, "MPI_ERR_TYPE: invalid datatype" },
    { MPI_ERR_TAG, "MPI_ERR_TAG: invalid tag" },
    { MPI_ERR_COMM, "MPI_ERR_COMM: invalid communicator" },
    { MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank" },
    { MPI_ERR_ROOT, "MPI_ERR_ROOT: invalid root" },
    { MPI_ERR_GROUP, "MPI_ERR_GROUP: invalid group" },
    { MPI_ERR_OP, "MPI_ERR_OP: invalid operation" },
    { MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: invalid topology" },
    { MPI_ERR_DIMS, "MPI_ERR_DIMS: invalid dimensions" },
    { MPI_ERR_ARG, "MPI_ERR_ARG: invalid argument" },
    { MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error" },
    { MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: the message is longer than the receive buffer" },
    { MPI_ERR_OTHER, "MPI_ERR_OTHER: a process has failed" },
    { MPI_ERR_INTERN, "MPI_ERR_INTERN: no memory, or a limit of the library" },
    { MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: the error codes are in the statuses" },
    { MPI_ERR_PENDING, "MPI_ERR_PENDING: the request is not complete" },
    { MPI_ERR_REQUEST, "MPI_ERR_REQUEST: invalid request" },
    { MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: invalid key of an attribute" },
    { MPI_ERR_SPAWN, "MPI_ERR_SPAWN: no process could be started" },
    { MPIX_ERR_PROC_FAILED, "MPIX_ERR_PROC_FAILED: a process has failed" },
    { MPIX_ERR_PROC_FAILED_PENDING,
      "MPIX_ERR_PROC_FAILED_PENDING: a process has failed that might have sent it" },
    { MPIX_ERR_REVOKED, "MPIX_ERR_REVOKED: the communicator is revoked" },
    { MPI_ERR_LASTCODE, "MPI_ERR_LASTCODE: not an error, but the last code" },
};

const char *ftm_error_text(int code)
{
    size_t i;

    for (i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++)
        if (error_texts[i].code == code)
            return error_texts[i].text;
    return NULL;
}

static int error_predefine(struct ftm *e, int handle, int kind)
{
    struct ftm_errhandler *h = ftm_mem_new(&e->mem, sizeof *h);

    if (h == NULL)
        return MPI_ERR_INTERN;
    h->refs = 1;
    h->handle = handle;
    h->kind = kind;
    if (ftm_table_add_at(&e->handles, FTM_ERRHANDLER, h, handle & (FTM_HANDLE_PLACES - 1)) == 0)
        return 0;
    ftm_mem_free(&e->mem, h, sizeof *h);
    return MPI_ERR_INTERN;
}

int ftm_error_init(struct ftm *e)
{
    int rc = error_predefine(e, MPI_ERRORS_ARE_FATAL, FTM_ERRHANDLER_FATAL);

    return rc != 0 ? rc : error_predefine(e, MPI_ERRORS_RETURN, FTM_ERRHANDLER_RETURN);
}

void ftm_error_clear(struct ftm *e)
{
    struct ftm_errhandler *h;
    int place = 0;

    while ((h = ftm_table_next(&e->handles, FTM_ERRHANDLER, &place)) != NULL)
        ftm_mem_free(&e->mem, h, sizeof *h);
}

/* The handle stays good as long as a communicator has the handler, since MPI_Errhandler_get gives it out
 * again. */
void ftm_error_drop(struct ftm *e, struct ftm_errhandler *h)
{
    if (h == NULL || --h->refs != 0)
        return;
    ftm_table_remove(&e->handles, h->handle, FTM_ERRHANDLER);
    ftm_mem_free(&e->mem, h, sizeof *h);
}

static void error_end(struct ftm *e, const struct ftm_comm *comm, int code, const char *call,
                      const char *argument,
                      long long value)
{
    const char *text = ftm_error_text(code);
    char line[256], what[80];

    what[0] = 0;
    if (argument != NULL)
        snprintf(what, sizeof what, ": %s = %lld", argument, value);
    snprintf(line, sizeof line, "%s: %s%s%s%s", call, text != NULL ? text : "unknown error code", what,
             comm != NULL && comm->name[0] != 0 ? " on " : "", comm != NULL ? comm->name : "");
    ftm_end_now(e, code, line);
}

int ftm_error_raise(struct ftm *e, struct ftm_comm *comm, int code, const char *call, const char *argument,
                    long long value)
{
    struct ftm_errhandler *h;
    MPI_Comm handle;
    int told = code; /* handlers may change what they are given; the call has failed all the same */

    if (comm == NULL)
        comm = e->world;
    h = comm != NULL ? comm->errhandler : NULL;
    if (ftm_fault_is(code) && comm != NULL)
        ftm_fault_tell_known(e, comm);
    if (comm != NULL && h->kind == FTM_ERRHANDLER_FATAL && ftm_fault_returns(comm, code))
        return code;
    if (h == NULL || h->kind == FTM_ERRHANDLER_FATAL)
        error_end(e, comm, code, call, argument, value);
    else if (h->kind == FTM_ERRHANDLER_CALL) {
        handle = comm->handle != 0 ? comm->handle : MPI_COMM_NULL; /* a request may outlive it */
        h->function(&handle, &told, call); /* it may jump out: nothing is done behind it */
    }
    return code;
}
