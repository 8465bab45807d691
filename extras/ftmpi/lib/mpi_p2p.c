/* mpi_p2p.c - the calls that send and receive. */
#include <string.h>

#include "comm.h"
#include "mpi-ext.h"
#include "mpi_call.h"
#include "mpi_p2p.h"
#include "pack.h"
#include "pump.h"

/* ---- Arguments --------------------------------------------------------------------------------- */

static int p2p_check_peer(const char *call, const struct ftm_order *o)
{
    int size = ftm_comm_peers(o->comm)->size;
    int any = o->kind == FTM_REQ_RECV && o->peer == MPI_ANY_SOURCE;

    if (any || o->peer == MPI_PROC_NULL || (o->peer >= 0 && o->peer < size))
        return 0;
    return ftm_fail(o->comm, MPI_ERR_RANK, call, o->kind == FTM_REQ_RECV ? "source" : "dest", o->peer);
}

static int p2p_check_tag(const char *call, const struct ftm_order *o)
{
    if (o->tag >= 0 || (o->kind == FTM_REQ_RECV && o->tag == MPI_ANY_TAG))
        return 0;
    return ftm_fail(o->comm, MPI_ERR_TAG, call, "tag", o->tag);
}

int ftm_p2p_check(const char *call, struct ftm_order *o, const struct ftm_envelope *v)
{
    int rc;

    o->collective = 0;
    o->buf = (void *)(uintptr_t)v->buf;
    o->peer = v->peer;
    o->tag = v->tag;
    if ((rc = ftm_check_comm(call, v->comm, &o->comm)) != 0
        || (rc = ftm_check_count(call, o->comm, v->count)) != 0
        || (rc = ftm_check_committed(call, o->comm, v->type, &o->type)) != 0)
        return rc;
    o->count = (size_t)v->count;
    if ((rc = p2p_check_peer(call, o)) != 0)
        return rc;
    return p2p_check_tag(call, o);
}

struct ftm_envelope ftm_p2p_envelope(const void *buf, int count, MPI_Datatype type, int peer, int tag,
                                     MPI_Comm comm)
{
    struct ftm_envelope v;

    v.buf = buf;
    v.count = count;
    v.type = type;
    v.peer = peer;
    v.tag = tag;
    v.comm = comm;
    return v;
}

/* ---- Start and wait ---------------------------------------------------------------------------- */

static int p2p_start(const struct ftm_order *o, struct ftm_request **r)
{
    if (o->kind == FTM_REQ_RECV)
        return ftm_recv_start(ftm_this, r, o->comm, 0, o->buf, o->count, o->type, o->peer, o->tag);
    return ftm_send_start(ftm_this, r, o->mode, o->comm, 0, o->buf, o->count, o->type, o->peer, o->tag);
}

/* A failure may end the call before its request is done. */
static int p2p_is_over(void *arg)
{
    const struct ftm_request *r = arg;

    return r->done || (r->order.comm->fault.watch && ftm_fault_pending(ftm_this, r) != 0);
}

/* Takes back what was started; what cannot be taken back any more ends as it does. */
static int p2p_take_back(struct ftm_request *r)
{
    ftm_request_cancel(ftm_this, r);
    return ftm_pump_request(ftm_this, r);
}

/* Waits for a request and gives it back. What became of it: an MPI class. */
static int p2p_end(struct ftm_request *r, MPI_Status *status)
{
    int rc = ftm_pump_until(ftm_this, p2p_is_over, r), fault = 0;

    if (rc == 0 && !r->done) {
        fault = ftm_fault_pending(ftm_this, r);
        rc = p2p_take_back(r);
    }
    if (rc == 0)
        rc = r->error != 0 || !r->status.cancelled ? r->error
             : fault == MPIX_ERR_PROC_FAILED_PENDING ? MPIX_ERR_PROC_FAILED : fault;
    if (ftm_fault_is(rc))
        ftm_fault_tell(ftm_this, r->order.comm, r->fault);
    ftm_status_out(&r->status, status);
    ftm_request_free(ftm_this, r);
    return rc;
}

static int p2p_block(const char *call, struct ftm_order *o, const struct ftm_envelope *v, MPI_Status *status)
{
    struct ftm_request *r;
    int rc = ftm_p2p_check(call, o, v);

    if (rc != 0)
        return rc;
    rc = p2p_start(o, &r);
    if (rc == 0)
        rc = p2p_end(r, status);
    return rc == 0 ? 0 : ftm_fail(o->comm, rc, call, NULL, 0);
}

static int p2p_send(const char *call, int mode, const struct ftm_envelope *v)
{
    struct ftm_order o;

    o.kind = FTM_REQ_SEND;
    o.mode = mode;
    return p2p_block(call, &o, v, MPI_STATUS_IGNORE);
}

/* A handle for the program. */
int ftm_p2p_hand(const char *call, struct ftm_request *r, MPI_Request *request)
{
    if (ftm_table_add(&ftm_this->handles, FTM_REQUEST, r, &r->handle) != 0) {
        struct ftm_comm *comm = r->order.comm;

        ftm_request_free(ftm_this, r);
        return ftm_fail(comm, MPI_ERR_INTERN, call, NULL, 0);
    }
    *request = r->handle;
    return 0;
}

static int p2p_begin(const char *call, struct ftm_order *o, const struct ftm_envelope *v,
                     MPI_Request *request)
{
    struct ftm_request *r;
    int rc = ftm_p2p_check(call, o, v);

    if (rc != 0 || (rc = ftm_check_pointer(call, o->comm, "request", request)) != 0)
        return rc;
    *request = MPI_REQUEST_NULL;
    rc = p2p_start(o, &r);
    if (rc != 0)
        return ftm_fail(o->comm, rc, call, NULL, 0);
    rc = ftm_p2p_hand(call, r, request);
    if (rc == 0)
        ftm_pump_started(ftm_this, o->kind == FTM_REQ_SEND ? r->bytes : 0);
    return rc;
}

static int p2p_isend(const char *call, int mode, const struct ftm_envelope *v, MPI_Request *request)
{
    struct ftm_order o;

    o.kind = FTM_REQ_SEND;
    o.mode = mode;
    return p2p_begin(call, &o, v, request);
}

/* ---- The calls --------------------------------------------------------------------------------- */

FTM_ALIAS(Send)
int FTM_CALL(Send)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_send("MPI_Send", FTM_STANDARD, &v);
}

FTM_ALIAS(Ssend)
int FTM_CALL(Ssend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_send("MPI_Ssend", FTM_SYNCHRONOUS, &v);
}

FTM_ALIAS(Rsend)
int FTM_CALL(Rsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_send("MPI_Rsend", FTM_READY, &v);
}

FTM_ALIAS(Bsend)
int FTM_CALL(Bsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_send("MPI_Bsend", FTM_BUFFERED, &v);
}

FTM_ALIAS(Recv)
int FTM_CALL(Recv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Status *status)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, source, tag, comm);
    struct ftm_order o;

    o.kind = FTM_REQ_RECV;
    o.mode = FTM_STANDARD;
    return p2p_block("MPI_Recv", &o, &v, status);
}

FTM_ALIAS(Isend)
int FTM_CALL(Isend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_isend("MPI_Isend", FTM_STANDARD, &v, request);
}

FTM_ALIAS(Issend)
int FTM_CALL(Issend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_isend("MPI_Issend", FTM_SYNCHRONOUS, &v, request);
}

FTM_ALIAS(Irsend)
int FTM_CALL(Irsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_isend("MPI_Irsend", FTM_READY, &v, request);
}

FTM_ALIAS(Ibsend)
int FTM_CALL(Ibsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, dest, tag, comm);

    return p2p_isend("MPI_Ibsend", FTM_BUFFERED, &v, request);
}

FTM_ALIAS(Irecv)
int FTM_CALL(Irecv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, source, tag, comm);
    struct ftm_order o;

    o.kind = FTM_REQ_RECV;
    o.mode = FTM_STANDARD;
    return p2p_begin("MPI_Irecv", &o, &v, request);
}

/* ---- Both at once ------------------------------------------------------------------------------ */

/* When a failure has ended one of the two, the other would wait for somebody who is in the same place. */
static int p2p_are_over(void *arg)
{
    struct ftm_request **both = arg;
    int i, over = 0;

    for (i = 0; i < 2; i++) {
        if (both[i]->done && ftm_fault_is(both[i]->error))
            return 1;
        over += p2p_is_over(both[i]);
    }
    return over == 2;
}

static int p2p_end_both(struct ftm_request *recv, struct ftm_request *send, MPI_Status *status)
{
    struct ftm_request *both[2];
    int rc, sent, fault;

    both[0] = recv;
    both[1] = send;
    rc = ftm_pump_until(ftm_this, p2p_are_over, both);
    fault = (recv->done && ftm_fault_is(recv->error)) || (send->done && ftm_fault_is(send->error));
    if (rc == 0 && fault && !recv->done)
        p2p_take_back(recv);
    if (rc == 0 && fault && !send->done)
        p2p_take_back(send);
    rc = p2p_end(recv, status);
    sent = p2p_end(send, MPI_STATUS_IGNORE);
    return rc != 0 ? rc : sent;
}

/* The receive is posted first; if the send cannot start, it is taken back. */
static int p2p_exchange(const struct ftm_order *out, const struct ftm_order *in, MPI_Status *status)
{
    struct ftm_request *send, *recv;
    int rc;

    if ((rc = p2p_start(in, &recv)) != 0)
        return rc;
    if ((rc = p2p_start(out, &send)) != 0) {
        p2p_take_back(recv);
        ftm_request_free(ftm_this, recv);
        return rc;
    }
    return p2p_end_both(recv, send, status);
}

FTM_ALIAS(Sendrecv)
int FTM_CALL(Sendrecv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                       void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                       MPI_Comm comm, MPI_Status *status)
{
    struct ftm_envelope s = ftm_p2p_envelope(sendbuf, sendcount, sendtype, dest, sendtag, comm);
    struct ftm_envelope v = ftm_p2p_envelope(recvbuf, recvcount, recvtype, source, recvtag, comm);
    struct ftm_order out, in;
    int rc;

    out.kind = FTM_REQ_SEND;
    in.kind = FTM_REQ_RECV;
    out.mode = in.mode = FTM_STANDARD;
    if ((rc = ftm_p2p_check("MPI_Sendrecv", &out, &s)) != 0
        || (rc = ftm_p2p_check("MPI_Sendrecv", &in, &v)) != 0)
        return rc;
    rc = p2p_exchange(&out, &in, status);
    return rc == 0 ? 0 : ftm_fail(out.comm, rc, "MPI_Sendrecv", NULL, 0);
}

FTM_ALIAS(Sendrecv_replace)
int FTM_CALL(Sendrecv_replace)(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                               int recvtag, MPI_Comm comm, MPI_Status *status)
{
    struct ftm_envelope s = ftm_p2p_envelope(buf, count, datatype, dest, sendtag, comm);
    struct ftm_envelope v = ftm_p2p_envelope(buf, count, datatype, source, recvtag, comm);
    struct ftm_order out, in;
    struct ftm_pack pack;
    size_t bytes;
    char *copy;
    int rc;

    out.kind = FTM_REQ_SEND;
    in.kind = FTM_REQ_RECV;
    out.mode = in.mode = FTM_STANDARD;
    if ((rc = ftm_p2p_check("MPI_Sendrecv_replace", &out, &s)) != 0
        || (rc = ftm_p2p_check("MPI_Sendrecv_replace", &in, &v)) != 0)
        return rc;
    bytes = out.count * (size_t)out.type->size;
    copy = ftm_mem_new(&ftm_this->mem, bytes);
    if (copy == NULL)
        return ftm_fail(out.comm, MPI_ERR_INTERN, "MPI_Sendrecv_replace", NULL, 0);
    ftm_pack_start(&pack, out.type, buf, out.count);
    ftm_pack_out(&pack, copy, bytes);
    out.buf = copy;
    out.count = bytes;
    out.type = ftm_table_get(&ftm_this->handles, MPI_BYTE, FTM_TYPE);
    rc = p2p_exchange(&out, &in, status);
    ftm_mem_free(&ftm_this->mem, copy, bytes);
    return rc == 0 ? 0 : ftm_fail(out.comm, rc, "MPI_Sendrecv_replace", NULL, 0);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

struct p2p_probe {
    struct ftm_order order;
    struct ftm_status status;
    int error;
};

static int p2p_is_there(void *arg)
{
    struct p2p_probe *p = arg;
    const struct ftm_order *o = &p->order;

    if (o->peer == MPI_PROC_NULL) {
        memset(&p->status, 0, sizeof p->status);
        p->status.source = MPI_PROC_NULL;
        p->status.tag = MPI_ANY_TAG;
        return 1;
    }
    if (ftm_recv_probe(ftm_this, o->comm, o->peer, o->tag, &p->status))
        return 1;
    if (o->comm->fault.watch)
        p->error = ftm_fault_probe(ftm_this, o->comm, o->peer, &p->status);
    return p->error != 0;
}

/* The end of a probe that has found a message, or an error. */
static int p2p_end_probe(const char *call, const struct p2p_probe *p, MPI_Status *status)
{
    ftm_status_out(&p->status, status);
    return p->error == 0 ? 0 : ftm_fail(p->order.comm, p->error, call, NULL, 0);
}

static int p2p_check_probe(const char *call, struct p2p_probe *p, const struct ftm_envelope *v)
{
    memset(p, 0, sizeof *p);
    p->status.source = MPI_PROC_NULL;
    p->status.tag = MPI_ANY_TAG;
    p->order.kind = FTM_REQ_RECV;
    p->order.mode = FTM_STANDARD;
    return ftm_p2p_check(call, &p->order, v);
}

FTM_ALIAS(Probe)
int FTM_CALL(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct ftm_envelope v = ftm_p2p_envelope(NULL, 0, MPI_BYTE, source, tag, comm);
    struct p2p_probe p;
    int rc = p2p_check_probe("MPI_Probe", &p, &v);

    if (rc != 0)
        return rc;
    rc = ftm_pump_until(ftm_this, p2p_is_there, &p);
    if (rc != 0)
        return ftm_fail(p.order.comm, rc, "MPI_Probe", NULL, 0);
    return p2p_end_probe("MPI_Probe", &p, status);
}

FTM_ALIAS(Iprobe)
int FTM_CALL(Iprobe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    struct ftm_envelope v = ftm_p2p_envelope(NULL, 0, MPI_BYTE, source, tag, comm);
    struct p2p_probe p;
    int rc = p2p_check_probe("MPI_Iprobe", &p, &v);

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Iprobe", p.order.comm, "flag", flag)) != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    *flag = p2p_is_there(&p);
    if (p.error != 0)
        *flag = 0;
    return *flag || p.error != 0 ? p2p_end_probe("MPI_Iprobe", &p, status) : 0;
}

FTM_ALIAS(Get_count)
int FTM_CALL(Get_count)(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    struct ftm_type *type;
    uint64_t bytes;
    int rc = ftm_check_init("MPI_Get_count");

    if (rc != 0 || (rc = ftm_check_type("MPI_Get_count", NULL, datatype, &type)) != 0
        || (rc = ftm_check_pointer("MPI_Get_count", NULL, "status", status)) != 0
        || (rc = ftm_check_pointer("MPI_Get_count", NULL, "count", count)) != 0)
        return rc;
    bytes = (uint64_t)status->ftm_bytes_high << 32 | status->ftm_bytes_low;
    if (type->size == 0)
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    else if (bytes % (uint64_t)type->size != 0 || bytes / (uint64_t)type->size > 0x7fffffff)
        *count = MPI_UNDEFINED;
    else
        *count = (int)(bytes / (uint64_t)type->size);
    return 0;
}

/* ---- The attached buffer ----------------------------------------------------------------------- */

FTM_ALIAS(Buffer_attach)
int FTM_CALL(Buffer_attach)(void *buffer, int size)
{
    int rc = ftm_check_init("MPI_Buffer_attach");

    if (rc != 0)
        return rc;
    if (size < 0)
        return ftm_fail(NULL, MPI_ERR_ARG, "MPI_Buffer_attach", "size", size);
    rc = ftm_bsend_attach(ftm_this, buffer, (size_t)size);
    return rc == 0 ? 0 : ftm_fail(NULL, rc, "MPI_Buffer_attach", "size", size);
}

static int p2p_buffer_is_empty(void *arg)
{
    return ftm_bsend_is_empty(arg);
}

FTM_ALIAS(Buffer_detach)
int FTM_CALL(Buffer_detach)(void *buffer, int *size)
{
    int rc = ftm_check_init("MPI_Buffer_detach");
    void *old = NULL;
    size_t bytes = 0;

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Buffer_detach", NULL, "buffer", buffer)) != 0
        || (rc = ftm_check_pointer("MPI_Buffer_detach", NULL, "size", size)) != 0)
        return rc;
    rc = ftm_pump_until(ftm_this, p2p_buffer_is_empty, ftm_this);
    if (rc == 0)
        rc = ftm_bsend_detach(ftm_this, &old, &bytes);
    if (rc != 0)
        return ftm_fail(NULL, rc, "MPI_Buffer_detach", NULL, 0);
    memcpy(buffer, &old, sizeof old);
    *size = (int)bytes;
    return 0;
}
