/* mpi_persist.c - persistent requests: made once, started any number of times. */
#include "comm.h"
#include "mpi_call.h"
#include "mpi_p2p.h"
#include "pump.h"

static int persist_make(const char *call, int kind, int mode, const struct ftm_envelope *v,
                        MPI_Request *request)
{
    struct ftm_request *r;
    struct ftm_order o;
    int rc;

    o.kind = kind;
    o.mode = mode;
    if ((rc = ftm_p2p_check(call, &o, v)) != 0
        || (rc = ftm_check_pointer(call, o.comm, "request", request)) != 0)
        return rc;
    *request = MPI_REQUEST_NULL;
    if ((rc = ftm_request_make(ftm_this, &r, &o)) != 0)
        return ftm_fail(o.comm, rc, call, NULL, 0);
    r->persistent = 1;
    return ftm_p2p_hand(call, r, request);
}

FTM_ALIAS(Send_init)
int FTM_CALL(Send_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                        MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return persist_make("MPI_Send_init", FTM_REQ_SEND, FTM_STANDARD, &v, request);
}

FTM_ALIAS(Bsend_init)
int FTM_CALL(Bsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return persist_make("MPI_Bsend_init", FTM_REQ_SEND, FTM_BUFFERED, &v, request);
}

FTM_ALIAS(Ssend_init)
int FTM_CALL(Ssend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return persist_make("MPI_Ssend_init", FTM_REQ_SEND, FTM_SYNCHRONOUS, &v, request);
}

FTM_ALIAS(Rsend_init)
int FTM_CALL(Rsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return persist_make("MPI_Rsend_init", FTM_REQ_SEND, FTM_READY, &v, request);
}

FTM_ALIAS(Recv_init)
int FTM_CALL(Recv_init)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, source, tag, comm);

    return persist_make("MPI_Recv_init", FTM_REQ_RECV, FTM_STANDARD, &v, request);
}

/* 0, or an MPI class that was not told yet; *comm is then the communicator concerned. */
static int persist_start(MPI_Request handle, struct ftm_comm **comm)
{
    struct ftm_request *r = ftm_table_get(&ftm_this->handles, handle, FTM_REQUEST);
    int rc;

    *comm = r != NULL ? r->order.comm : NULL;
    if (r == NULL || !r->persistent || r->active)
        return MPI_ERR_REQUEST;
    if (r->order.peer >= ftm_comm_peers(*comm)->size)
        return MPI_ERR_RANK; /* of a world that has shrunk since */
    if ((rc = ftm_request_start(ftm_this, r)) == 0)
        ftm_pump_started(ftm_this, r->order.kind == FTM_REQ_SEND ? r->bytes : 0);
    return rc;
}

FTM_ALIAS(Start)
int FTM_CALL(Start)(MPI_Request *request)
{
    struct ftm_comm *comm;
    int rc = ftm_check_init("MPI_Start");

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Start", NULL, "request", request)) != 0)
        return rc;
    rc = persist_start(*request, &comm);
    return rc == 0 ? 0 : ftm_fail(comm, rc, "MPI_Start", "request", *request);
}

FTM_ALIAS(Startall)
int FTM_CALL(Startall)(int count, MPI_Request array_of_requests[])
{
    struct ftm_comm *comm;
    int rc = ftm_check_init("MPI_Startall"), i;

    if (rc != 0 || (rc = ftm_check_count("MPI_Startall", NULL, count)) != 0)
        return rc;
    for (i = 0; i < count; i++)
        if ((rc = persist_start(array_of_requests[i], &comm)) != 0)
            return ftm_fail(comm, rc, "MPI_Startall", "request", array_of_requests[i]);
    return 0;
}
