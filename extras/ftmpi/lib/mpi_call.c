/* mpi_call.c - the common frame of an MPI call: names, checks, how an error is told. */
#include "mpi_call.h"

#include <string.h>

#include "comm.h"
#include "error.h"
#include "pump.h"
#include "table.h"
#include "type.h"

int ftm_fail(struct ftm_comm *comm, int class, const char *call, const char *argument, long long value)
{
    ftm_check_init(call);
    if (ftm_fault_is(class)) /* a program that only asks until it is told of more must come to that */
        ftm_pump_turn(ftm_this);
    return ftm_error_raise(ftm_this, comm, class, call, argument, value);
}

int ftm_check_comm(const char *call, MPI_Comm handle, struct ftm_comm **comm)
{
    ftm_check_init(call);
    *comm = ftm_table_get(&ftm_this->handles, handle, FTM_COMM);
    return *comm != NULL ? 0 : ftm_fail(NULL, MPI_ERR_COMM, call, "comm", handle);
}

int ftm_check_type(const char *call, struct ftm_comm *comm, MPI_Datatype handle, struct ftm_type **type)
{
    *type = ftm_table_get(&ftm_this->handles, handle, FTM_TYPE);
    return *type != NULL ? 0 : ftm_fail(comm, MPI_ERR_TYPE, call, "datatype", handle);
}

int ftm_check_committed(const char *call, struct ftm_comm *comm, MPI_Datatype handle, struct ftm_type **type)
{
    int rc = ftm_check_type(call, comm, handle, type);

    if (rc != 0)
        return rc;
    return (*type)->committed ? 0 : ftm_fail(comm, MPI_ERR_TYPE, call, "datatype (not committed)", handle);
}

int ftm_check_count(const char *call, struct ftm_comm *comm, long long count)
{
    return count >= 0 ? 0 : ftm_fail(comm, MPI_ERR_COUNT, call, "count", count);
}

int ftm_check_pointer(const char *call, struct ftm_comm *comm, const char *name, const void *pointer)
{
    return pointer != NULL ? 0 : ftm_fail(comm, MPI_ERR_ARG, call, name, 0);
}

void ftm_status_out(const struct ftm_status *from, MPI_Status *to)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    to->MPI_SOURCE = from->source;
    to->MPI_TAG = from->tag;
    to->ftm_cancelled = from->cancelled;
    to->ftm_bytes_low = (unsigned)(from->bytes & 0xffffffffu);
    to->ftm_bytes_high = (unsigned)(from->bytes >> 32);
}

void ftm_status_empty(MPI_Status *to)
{
    struct ftm_status nothing;

    memset(&nothing, 0, sizeof nothing);
    nothing.source = MPI_ANY_SOURCE;
    nothing.tag = MPI_ANY_TAG;
    ftm_status_out(&nothing, to);
}
