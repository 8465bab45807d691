/* fortran_p2p.c - point to point for Fortran. */
#include "fortran.h"

FORTRAN(send)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
              MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Send)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm);
}

FORTRAN(recv)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm,
              MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Recv)(f_buffer(buf), *count, *datatype, *source, *tag, *comm, f_status(status));
}

FORTRAN(get_count)(MPI_Fint *status, MPI_Fint *datatype, MPI_Fint *count, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Get_count)(f_status(status), *datatype, count);
}

FORTRAN(bsend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Bsend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm);
}

FORTRAN(ssend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Ssend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm);
}

FORTRAN(rsend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Rsend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm);
}

FORTRAN(isend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
               MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Isend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(ibsend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
                MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Ibsend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(issend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
                MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Issend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(irsend)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
                MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Irsend)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(irecv)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *source, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Irecv)(f_buffer(buf), *count, *datatype, *source, *tag, *comm, request);
}

FORTRAN(wait)(MPI_Fint *request, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Wait)(request, f_status(status));
}

FORTRAN(test)(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Test)(request, flag, f_status(status));
}

FORTRAN(request_free)(MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Request_free)(request);
}

FORTRAN(waitall)(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Waitall)(*count, requests, f_statuses(statuses));
}

FORTRAN(testall)(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, MPI_Fint *statuses, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Testall)(*count, requests, flag, f_statuses(statuses));
}

FORTRAN(iprobe)(MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *status,
                MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Iprobe)(*source, *tag, *comm, flag, f_status(status));
}

FORTRAN(probe)(MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Probe)(*source, *tag, *comm, f_status(status));
}

FORTRAN(cancel)(MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cancel)(request);
}

FORTRAN(test_cancelled)(MPI_Fint *status, MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Test_cancelled)(f_status(status), flag);
}

FORTRAN(send_init)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag,
                   MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Send_init)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(bsend_init)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag,
                    MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Bsend_init)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(ssend_init)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag,
                    MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Ssend_init)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(rsend_init)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *tag,
                    MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Rsend_init)(f_buffer(buf), *count, *datatype, *dest, *tag, *comm, request);
}

FORTRAN(recv_init)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *source, MPI_Fint *tag,
                   MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Recv_init)(f_buffer(buf), *count, *datatype, *source, *tag, *comm, request);
}

FORTRAN(start)(MPI_Fint *request, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Start)(request);
}

FORTRAN(startall)(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Startall)(*count, requests);
}

FORTRAN(sendrecv)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, MPI_Fint *dest, MPI_Fint *sendtag,
                  void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *source, MPI_Fint *recvtag,
                  MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Sendrecv)(f_buffer(sendbuf), *sendcount, *sendtype, *dest, *sendtag, f_buffer(recvbuf),
                               *recvcount, *recvtype, *source, *recvtag, *comm, f_status(status));
}

FORTRAN(sendrecv_replace)(void *buf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *dest, MPI_Fint *sendtag,
                          MPI_Fint *source, MPI_Fint *recvtag, MPI_Fint *comm, MPI_Fint *status,
                          MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Sendrecv_replace)(f_buffer(buf), *count, *datatype, *dest, *sendtag, *source, *recvtag,
                                       *comm, f_status(status));
}

/* The buffer's address means nothing to Fortran. */
FORTRAN(buffer_attach)(void *buffer, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Buffer_attach)(buffer, *size);
}

FORTRAN(buffer_detach)(void *buffer, MPI_Fint *size, MPI_Fint *ierr)
{
    void *address;

    (void)buffer;
    *ierr = FTM_CALL(Buffer_detach)(&address, size);
}

/* Fortran counts requests from 1. */
static void p2p_count_up(MPI_Fint *indices, int n)
{
    int i;

    for (i = 0; i < n; i++)
        if (indices[i] != MPI_UNDEFINED)
            indices[i]++;
}

FORTRAN(waitany)(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *indx, MPI_Fint *status, MPI_Fint *ierr)
{
    *indx = MPI_UNDEFINED;
    *ierr = FTM_CALL(Waitany)(*count, requests, indx, f_status(status));
    p2p_count_up(indx, 1);
}

FORTRAN(testany)(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *indx, MPI_Fint *flag, MPI_Fint *status,
                 MPI_Fint *ierr)
{
    *indx = MPI_UNDEFINED;
    *ierr = FTM_CALL(Testany)(*count, requests, indx, flag, f_status(status));
    p2p_count_up(indx, 1);
}

FORTRAN(waitsome)(MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                  MPI_Fint *statuses, MPI_Fint *ierr)
{
    *outcount = 0;
    *ierr = FTM_CALL(Waitsome)(*incount, requests, outcount, indices, f_statuses(statuses));
    p2p_count_up(indices, *outcount);
}

FORTRAN(testsome)(MPI_Fint *incount, MPI_Fint *requests, MPI_Fint *outcount, MPI_Fint *indices,
                  MPI_Fint *statuses, MPI_Fint *ierr)
{
    *outcount = 0;
    *ierr = FTM_CALL(Testsome)(*incount, requests, outcount, indices, f_statuses(statuses));
    p2p_count_up(indices, *outcount);
}
