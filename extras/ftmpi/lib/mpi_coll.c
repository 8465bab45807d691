/* mpi_coll.c - the collective calls: arguments are checked, a schedule is made and waited for. */

#include "coll.h"
#include "mpi_call.h"
#include "pump.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* A call under way. Arguments are checked first, all of them, then the schedule is made; the error handler,
 * which may jump away, is called when it has been freed. */
struct coll_call {
    const char *name;
    struct ftm_comm *comm;
    struct ftm_schedule *s;
};

static int coll_open(struct coll_call *k, const char *name, MPI_Comm comm)
{
    int rc = ftm_check_comm(name, comm, &k->comm);

    k->name = name;
    k->s = NULL;
    if (rc == 0 && k->comm->remote != NULL)
        rc = ftm_fail(k->comm, MPI_ERR_COMM, name, "comm", comm);
    return rc;
}

static int coll_check_root(struct coll_call *k, int root)
{
    if (root < 0 || root >= k->comm->size)
        return ftm_fail(k->comm, MPI_ERR_ROOT, k->name, "root", root);
    if (k->comm->group->proc[root] == FTM_GAP)
        return ftm_fail(k->comm, MPI_ERR_RANK, k->name, "root (nobody has this rank)", root);
    return 0;
}

static int coll_check_buffer(struct coll_call *k, const void *buf, int count, MPI_Datatype datatype,
                             struct ftm_type **t)
{
    int rc = ftm_check_count(k->name, k->comm, count);

    if (rc == 0)
        rc = ftm_check_committed(k->name, k->comm, datatype, t);
    if (rc == 0 && buf == NULL && (*t)->basic != 0 && (*t)->size > 0 && count > 0)
        rc = ftm_fail(k->comm, MPI_ERR_BUFFER, k->name, "buffer", 0);
    return rc;
}

/* One block, or as many equal ones as there are members. */
static int coll_check_even(struct coll_call *k, struct ftm_blocks_of *b, const void *buf, int count,
                           MPI_Datatype datatype)
{
    int rc = coll_check_buffer(k, buf, count, datatype, &b->type);

    b->base = (char *)(uintptr_t)buf;
    b->count = (size_t)count;
    b->counts = b->at = b->ranks = NULL;
    b->varied = 0;
    return rc;
}

static int coll_check_counts(struct coll_call *k, const int *counts)
{
    int i, rc = ftm_check_pointer(k->name, k->comm, "counts", counts);

    for (i = 0; rc == 0 && i < k->comm->size; i++)
        rc = ftm_check_count(k->name, k->comm, counts[i]);
    return rc;
}

static int coll_check_varied(struct coll_call *k, struct ftm_blocks_of *b, const void *buf,
                             const int *counts, const int *at, MPI_Datatype datatype)
{
    int i, most = 0, rc = coll_check_counts(k, counts);

    if (rc == 0)
        rc = ftm_check_pointer(k->name, k->comm, "displacements", at);
    for (i = 0; rc == 0 && i < k->comm->size; i++)
        most = counts[i] > most ? counts[i] : most;
    if (rc == 0)
        rc = coll_check_even(k, b, buf, most, datatype);
    b->counts = counts;
    b->at = at;
    b->varied = 1;
    return rc;
}

static int coll_check_op(struct coll_call *k, struct ftm_reduction *r, MPI_Op op)
{
    r->op = ftm_table_get(&ftm_this->handles, op, FTM_OP);
    if (r->op == NULL || ftm_op_check(r->op, r->type) != 0)
        return ftm_fail(k->comm, MPI_ERR_OP, k->name, "op", op);
    return 0;
}

static int coll_begin(struct coll_call *k)
{
    k->s = ftm_schedule_new(ftm_this, k->comm);
    return k->s != NULL ? 0 : ftm_fail(k->comm, MPI_ERR_INTERN, k->name, NULL, 0);
}

/* A rank among the members of the schedule. */
static int coll_member(const struct ftm_schedule *s, int rank)
{
    const int *ranks = ftm_schedule_ranks(s);
    int i = 0;

    while (ranks != NULL && ranks[i] != rank)
        i++;
    return ranks != NULL ? i : rank;
}

static int coll_wait(struct ftm *e, struct ftm_schedule *s)
{
    int rc = ftm_schedule_begin(s);

    if (rc == 0)
        rc = ftm_pump_until(e, ftm_schedule_done, s);
    if (rc == 0)
        rc = ftm_schedule_error(s);
    ftm_schedule_free(s);
    return rc;
}

static int coll_end(struct coll_call *k)
{
    int rc = coll_wait(ftm_this, k->s);

    return rc == 0 ? 0 : ftm_fail(k->comm, rc, k->name, NULL, 0);
}

/* ---- Barrier, Bcast -------------------------------------------------------------------------------- */

FTM_ALIAS(Barrier)
int FTM_CALL(Barrier)(MPI_Comm comm)
{
    struct coll_call k;
    int rc;

    if ((rc = coll_open(&k, "MPI_Barrier", comm)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    ftm_coll_barrier(k.s);
    return coll_end(&k);
}

FTM_ALIAS(Bcast)
int FTM_CALL(Bcast)(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    struct coll_call k;
    struct ftm_type *t;
    int rc;

    if ((rc = coll_open(&k, "MPI_Bcast", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0
        || (rc = coll_check_buffer(&k, buffer, count, datatype, &t)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    root = coll_member(k.s, root);
    if (ftm_fault_goes_on(k.comm))
        ftm_coll_bcast_direct(k.s, buffer, (size_t)count, t, root);
    else
        ftm_coll_bcast(k.s, buffer, (size_t)count, t, root);
    return coll_end(&k);
}

/* ---- Gather, Scatter ------------------------------------------------------------------------------- */

FTM_ALIAS(Gather)
int FTM_CALL(Gather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, is_root, here;

    if ((rc = coll_open(&k, "MPI_Gather", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0)
        return rc;
    is_root = k.comm->rank == root;
    here = is_root && sendbuf == MPI_IN_PLACE;
    if ((!here && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (is_root && (rc = coll_check_even(&k, &out, recvbuf, recvcount, recvtype)) != 0)
        || (rc = coll_begin(&k)) != 0)
        return rc;
    out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_gather(k.s, here ? NULL : &in, is_root ? &out : NULL, coll_member(k.s, root));
    return coll_end(&k);
}

FTM_ALIAS(Gatherv)
int FTM_CALL(Gatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const int *recvcounts, const int *displs, MPI_Datatype recvtype, int root,
                      MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, is_root, here;

    if ((rc = coll_open(&k, "MPI_Gatherv", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0)
        return rc;
    is_root = k.comm->rank == root;
    here = is_root && sendbuf == MPI_IN_PLACE;
    if ((!here && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (is_root && (rc = coll_check_varied(&k, &out, recvbuf, recvcounts, displs, recvtype)) != 0)
        || (rc = coll_begin(&k)) != 0)
        return rc;
    in.varied = 1;
    out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_gather(k.s, here ? NULL : &in, is_root ? &out : NULL, coll_member(k.s, root));
    return coll_end(&k);
}

FTM_ALIAS(Scatter)
int FTM_CALL(Scatter)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, is_root, here;

    if ((rc = coll_open(&k, "MPI_Scatter", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0)
        return rc;
    is_root = k.comm->rank == root;
    here = is_root && recvbuf == MPI_IN_PLACE;
    if ((is_root && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (!here && (rc = coll_check_even(&k, &out, recvbuf, recvcount, recvtype)) != 0)
        || (rc = coll_begin(&k)) != 0)
        return rc;
    in.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_scatter(k.s, is_root ? &in : NULL, here ? NULL : &out, coll_member(k.s, root));
    return coll_end(&k);
}

FTM_ALIAS(Scatterv)
int FTM_CALL(Scatterv)(const void *sendbuf, const int *sendcounts, const int *displs, MPI_Datatype sendtype,
                       void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, is_root, here;

    if ((rc = coll_open(&k, "MPI_Scatterv", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0)
        return rc;
    is_root = k.comm->rank == root;
    here = is_root && recvbuf == MPI_IN_PLACE;
    if ((is_root && (rc = coll_check_varied(&k, &in, sendbuf, sendcounts, displs, sendtype)) != 0)
        || (!here && (rc = coll_check_even(&k, &out, recvbuf, recvcount, recvtype)) != 0)
        || (rc = coll_begin(&k)) != 0)
        return rc;
    out.varied = 1;
    in.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_scatter(k.s, is_root ? &in : NULL, here ? NULL : &out, coll_member(k.s, root));
    return coll_end(&k);
}

/* ---- Allgather, Alltoall --------------------------------------------------------------------------- */

FTM_ALIAS(Allgather)
int FTM_CALL(Allgather)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, here = sendbuf == MPI_IN_PLACE;

    if ((rc = coll_open(&k, "MPI_Allgather", comm)) != 0
        || (!here && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (rc = coll_check_even(&k, &out, recvbuf, recvcount, recvtype)) != 0
        || (rc = coll_begin(&k)) != 0)
        return rc;
    out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_allgather(k.s, here ? NULL : &in, &out);
    return coll_end(&k);
}

FTM_ALIAS(Allgatherv)
int FTM_CALL(Allgatherv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                         const int *recvcounts, const int *displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, here = sendbuf == MPI_IN_PLACE;

    if ((rc = coll_open(&k, "MPI_Allgatherv", comm)) != 0
        || (!here && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (rc = coll_check_varied(&k, &out, recvbuf, recvcounts, displs, recvtype)) != 0
        || (rc = coll_begin(&k)) != 0)
        return rc;
    out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_allgather(k.s, here ? NULL : &in, &out);
    return coll_end(&k);
}

FTM_ALIAS(Alltoall)
int FTM_CALL(Alltoall)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, here = sendbuf == MPI_IN_PLACE;

    if ((rc = coll_open(&k, "MPI_Alltoall", comm)) != 0
        || (!here && (rc = coll_check_even(&k, &in, sendbuf, sendcount, sendtype)) != 0)
        || (rc = coll_check_even(&k, &out, recvbuf, recvcount, recvtype)) != 0
        || (rc = coll_begin(&k)) != 0)
        return rc;
    in.ranks = out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_alltoall(k.s, here ? NULL : &in, &out);
    return coll_end(&k);
}

FTM_ALIAS(Alltoallv)
int FTM_CALL(Alltoallv)(const void *sendbuf, const int *sendcounts, const int *sdispls,
                        MPI_Datatype sendtype, void *recvbuf, const int *recvcounts, const int *rdispls,
                        MPI_Datatype recvtype, MPI_Comm comm)
{
    struct ftm_blocks_of in, out;
    struct coll_call k;
    int rc, here = sendbuf == MPI_IN_PLACE;

    if ((rc = coll_open(&k, "MPI_Alltoallv", comm)) != 0
        || (!here && (rc = coll_check_varied(&k, &in, sendbuf, sendcounts, sdispls, sendtype)) != 0)
        || (rc = coll_check_varied(&k, &out, recvbuf, recvcounts, rdispls, recvtype)) != 0
        || (rc = coll_begin(&k)) != 0)
        return rc;
    in.ranks = out.ranks = ftm_schedule_ranks(k.s);
    ftm_coll_alltoall(k.s, here ? NULL : &in, &out);
    return coll_end(&k);
}

/* ---- Reductions ------------------------------------------------------------------------------------ */

/* The buffers of a reduction; gets 0: this member has no use for `out`. Old programs give one buffer twice;
 * that means what MPI_IN_PLACE does. */
static int coll_check_reduce(struct coll_call *k, struct ftm_reduction *r, const void *in, void *out,
                             int gets, int count, MPI_Datatype datatype)
{
    int rc = 0;

    r->count = (size_t)count;
    r->in = in == MPI_IN_PLACE ? out : in;
    r->out = gets ? out : NULL;
    if (in == MPI_IN_PLACE && !gets)
        return ftm_fail(k->comm, MPI_ERR_BUFFER, k->name, "sendbuf", 0);
    if (in != MPI_IN_PLACE)
        rc = coll_check_buffer(k, in, count, datatype, &r->type);
    if (rc == 0 && gets)
        rc = coll_check_buffer(k, out, count, datatype, &r->type);
    return rc;
}

FTM_ALIAS(Reduce)
int FTM_CALL(Reduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                     int root, MPI_Comm comm)
{
    struct ftm_reduction r;
    struct coll_call k;
    int rc;

    if ((rc = coll_open(&k, "MPI_Reduce", comm)) != 0 || (rc = coll_check_root(&k, root)) != 0)
        return rc;
    if ((rc = coll_check_reduce(&k, &r, sendbuf, recvbuf, k.comm->rank == root, count, datatype)) != 0
        || (rc = coll_check_op(&k, &r, op)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    ftm_coll_reduce(k.s, &r, coll_member(k.s, root));
    return coll_end(&k);
}

FTM_ALIAS(Allreduce)
int FTM_CALL(Allreduce)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm)
{
    struct ftm_reduction r;
    struct coll_call k;
    int rc;

    if ((rc = coll_open(&k, "MPI_Allreduce", comm)) != 0
        || (rc = coll_check_reduce(&k, &r, sendbuf, recvbuf, 1, count, datatype)) != 0
        || (rc = coll_check_op(&k, &r, op)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    ftm_coll_allreduce(k.s, &r);
    return coll_end(&k);
}

/* Of blocks for all ranks those of gaps are left out: the others are put behind each other first. NULL: no
 * memory, which the schedule tells. */
static const int *coll_squeeze(struct coll_call *k, struct ftm_reduction *r, const int *counts)
{
    int64_t extent = ftm_type_extent(r->type), at = 0, to = 0;
    const int *ranks = ftm_schedule_ranks(k->s);
    int i, n = 0, *few;
    char *all;

    if (ranks == NULL)
        return counts;
    few = ftm_schedule_bytes(k->s, (size_t)k->comm->size * sizeof *few);
    all = ftm_schedule_room(k->s, r->count, r->type);
    for (i = 0; few != NULL && all != NULL && i < k->comm->size; at += counts[i++]) {
        if (k->comm->group->proc[i] == FTM_GAP)
            continue;
        ftm_schedule_copy(k->s, (const char *)r->in + at * extent, (size_t)counts[i], r->type,
                          all + to * extent, (size_t)counts[i], r->type);
        to += counts[i];
        few[n++] = counts[i];
    }
    r->in = all;
    r->count = (size_t)to;
    return all != NULL ? few : NULL;
}

FTM_ALIAS(Reduce_scatter)
int FTM_CALL(Reduce_scatter)(const void *sendbuf, void *recvbuf, const int *recvcounts, MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm)
{
    struct ftm_reduction r;
    struct coll_call k;
    int rc, i, count = 0;

    if ((rc = coll_open(&k, "MPI_Reduce_scatter", comm)) != 0
        || (rc = coll_check_counts(&k, recvcounts)) != 0)
        return rc;
    for (i = 0; i < k.comm->size; i++) {
        if (recvcounts[i] > INT_MAX - count)
            return ftm_fail(k.comm, MPI_ERR_COUNT, k.name, "recvcounts", recvcounts[i]);
        count += recvcounts[i];
    }
    if ((rc = coll_check_reduce(&k, &r, sendbuf, recvbuf, 1, count, datatype)) != 0
        || (rc = coll_check_op(&k, &r, op)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    recvcounts = coll_squeeze(&k, &r, recvcounts);
    if (recvcounts != NULL)
        ftm_coll_reduce_scatter(k.s, &r, recvcounts);
    return coll_end(&k);
}

FTM_ALIAS(Scan)
int FTM_CALL(Scan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    struct ftm_reduction r;
    struct coll_call k;
    int rc;

    if ((rc = coll_open(&k, "MPI_Scan", comm)) != 0
        || (rc = coll_check_reduce(&k, &r, sendbuf, recvbuf, 1, count, datatype)) != 0
        || (rc = coll_check_op(&k, &r, op)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    ftm_coll_scan(k.s, &r, 0);
    return coll_end(&k);
}

FTM_ALIAS(Exscan)
int FTM_CALL(Exscan)(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                     MPI_Comm comm)
{
    struct ftm_reduction r;
    struct coll_call k;
    int rc;

    if ((rc = coll_open(&k, "MPI_Exscan", comm)) != 0
        || (rc = coll_check_reduce(&k, &r, sendbuf, recvbuf, 1, count, datatype)) != 0
        || (rc = coll_check_op(&k, &r, op)) != 0 || (rc = coll_begin(&k)) != 0)
        return rc;
    ftm_coll_scan(k.s, &r, 1);
    return coll_end(&k);
}

/* ---- For the library itself ------------------------------------------------------------------------ */

int ftm_coll_allgather_bytes(struct ftm *e, struct ftm_comm *comm, const void *mine, size_t bytes, void *all)
{
    struct ftm_schedule *s = ftm_schedule_new(e, comm);
    struct ftm_blocks_of in, out;

    if (s == NULL)
        return MPI_ERR_INTERN;
    in.base = (char *)(uintptr_t)mine;
    in.count = bytes;
    in.counts = in.at = in.ranks = NULL;
    in.type = ftm_coll_byte(s);
    in.varied = 0;
    out = in;
    out.base = all;
    out.ranks = ftm_schedule_ranks(s);
    ftm_coll_allgather(s, &in, &out);
    return coll_wait(e, s);
}

int ftm_coll_bcast_bytes(struct ftm *e, struct ftm_comm *comm, void *data, size_t bytes, int root)
{
    struct ftm_schedule *s = ftm_schedule_new(e, comm);

    if (s == NULL)
        return MPI_ERR_INTERN;
    ftm_coll_bcast(s, data, bytes, ftm_coll_byte(s), coll_member(s, root));
    return coll_wait(e, s);
}
