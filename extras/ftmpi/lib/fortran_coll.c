/* fortran_coll.c - collectives for Fortran. */
#include "fortran.h"

FORTRAN(barrier)(MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Barrier)(*comm);
}

FORTRAN(bcast)(void *buffer, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *root, MPI_Fint *comm,
               MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Bcast)(f_buffer(buffer), *count, *datatype, *root, *comm);
}

FORTRAN(gather)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
                MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Gather)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), *recvcount,
                             *recvtype, *root, *comm);
}

FORTRAN(gatherv)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts,
                 MPI_Fint *displs, MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Gatherv)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), recvcounts, displs,
                              *recvtype, *root, *comm);
}

FORTRAN(scatter)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
                 MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Scatter)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), *recvcount,
                              *recvtype, *root, *comm);
}

FORTRAN(scatterv)(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *displs, MPI_Fint *sendtype, void *recvbuf,
                  MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Scatterv)(f_buffer(sendbuf), sendcounts, displs, *sendtype, f_buffer(recvbuf),
                               *recvcount, *recvtype, *root, *comm);
}

FORTRAN(allgather)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
                   MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Allgather)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), *recvcount,
                                *recvtype, *comm);
}

FORTRAN(allgatherv)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf,
                    MPI_Fint *recvcounts, MPI_Fint *displs, MPI_Fint *recvtype, MPI_Fint *comm,
                    MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Allgatherv)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), recvcounts,
                                 displs, *recvtype, *comm);
}

FORTRAN(alltoall)(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
                  MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Alltoall)(f_buffer(sendbuf), *sendcount, *sendtype, f_buffer(recvbuf), *recvcount,
                               *recvtype, *comm);
}

FORTRAN(alltoallv)(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf,
                   MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm,
                   MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Alltoallv)(f_buffer(sendbuf), sendcounts, sdispls, *sendtype, f_buffer(recvbuf),
                                recvcounts, rdispls, *recvtype, *comm);
}

FORTRAN(reduce)(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op,
                MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Reduce)(f_buffer(sendbuf), f_buffer(recvbuf), *count, *datatype, *op, *root, *comm);
}

FORTRAN(op_free)(MPI_Fint *op, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Op_free)(op);
}

FORTRAN(allreduce)(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op,
                   MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Allreduce)(f_buffer(sendbuf), f_buffer(recvbuf), *count, *datatype, *op, *comm);
}

FORTRAN(reduce_scatter)(void *sendbuf, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *datatype, MPI_Fint *op,
                        MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Reduce_scatter)(f_buffer(sendbuf), f_buffer(recvbuf), recvcounts, *datatype, *op, *comm);
}

FORTRAN(scan)(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op, MPI_Fint *comm,
              MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Scan)(f_buffer(sendbuf), f_buffer(recvbuf), *count, *datatype, *op, *comm);
}

FORTRAN(exscan)(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op,
                MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Exscan)(f_buffer(sendbuf), f_buffer(recvbuf), *count, *datatype, *op, *comm);
}

/* A function of Fortran takes everything by reference, as MPI_User_function does. */
FORTRAN(op_create)(MPI_User_function *function, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Op_create)(function, *commute, op);
}
