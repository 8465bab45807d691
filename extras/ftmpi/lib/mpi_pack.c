/* mpi_pack.c - MPI_Pack and MPI_Unpack: packed data are the bytes of the elements, one behind another. */
#include <limits.h>

#include "mpi_call.h"
#include "pack.h"
#include "type.h"

/* What a packed buffer and a typed one are, and how many bytes go from one to the other. */
struct pack_order {
    const char *call;
    const void *packed;
    int size, *position;
    const void *user;
    int count;
    MPI_Datatype datatype;
    struct ftm_type *type;
    uint64_t bytes;
};

static int pack_check(struct pack_order *o, MPI_Comm handle)
{
    struct ftm_comm *comm;
    int rc = ftm_check_comm(o->call, handle, &comm);

    if (rc == 0)
        rc = ftm_check_count(o->call, comm, o->count);
    if (rc == 0)
        rc = ftm_check_committed(o->call, comm, o->datatype, &o->type);
    if (rc == 0)
        rc = ftm_check_pointer(o->call, comm, "position", o->position);
    if (rc != 0)
        return rc;
    o->bytes = (uint64_t)o->count * (uint64_t)o->type->size;
    if (*o->position < 0 || o->size < 0 || *o->position > o->size)
        return ftm_fail(comm, MPI_ERR_ARG, o->call, "position", *o->position);
    if (o->bytes > (uint64_t)(o->size - *o->position))
        return ftm_fail(comm, MPI_ERR_ARG, o->call, "the size of the packed buffer", o->size);
    return o->bytes > 0 ? ftm_check_pointer(o->call, comm, "the packed buffer", o->packed) : 0;
}

FTM_ALIAS(Pack)
int FTM_CALL(Pack)(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize,
                   int *position,
                   MPI_Comm comm)
{
    struct pack_order o = { "MPI_Pack", outbuf, outsize, position, inbuf, incount, datatype, NULL, 0 };
    struct ftm_pack k;
    int rc = pack_check(&o, comm);

    if (rc != 0 || o.bytes == 0)
        return rc;
    ftm_pack_start(&k, o.type, inbuf, (uint64_t)incount);
    *position += (int)ftm_pack_out(&k, (char *)outbuf + *position, (size_t)o.bytes);
    return MPI_SUCCESS;
}

FTM_ALIAS(Unpack)
int FTM_CALL(Unpack)(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                     MPI_Datatype datatype,
                     MPI_Comm comm)
{
    struct pack_order o = { "MPI_Unpack", inbuf, insize, position, outbuf, outcount, datatype, NULL, 0 };
    struct ftm_pack k;
    int rc = pack_check(&o, comm);

    if (rc != 0 || o.bytes == 0)
        return rc;
    ftm_pack_start(&k, o.type, outbuf, (uint64_t)outcount);
    *position += (int)ftm_pack_in(&k, (const char *)inbuf + *position, (size_t)o.bytes);
    return MPI_SUCCESS;
}

FTM_ALIAS(Pack_size)
int FTM_CALL(Pack_size)(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    static const char call[] = "MPI_Pack_size";
    struct ftm_comm *c;
    struct ftm_type *t;
    uint64_t bytes;
    int rc = ftm_check_comm(call, comm, &c);

    if (rc != 0 || (rc = ftm_check_count(call, c, incount)) != 0 ||
        (rc = ftm_check_type(call, c, datatype, &t)) != 0 ||
            (rc = ftm_check_pointer(call, c, "size", size)) != 0)
        return rc;
    bytes = (uint64_t)incount * (uint64_t)t->size;
    *size = bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes;
    return MPI_SUCCESS;
}
