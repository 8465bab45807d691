/* mpi_type.c - the calls that make datatypes and tell about them. */
#include <limits.h>

#include "mpi_call.h"
#include "type.h"

/* Gives a new type its handle, or tells the error. */
static int type_give(const char *call, int rc, struct ftm_type *t, MPI_Datatype *newtype)
{
    if (rc == 0 && ftm_table_add(&ftm_this->handles, FTM_TYPE, t, &t->handle) != 0) {
        ftm_type_drop(ftm_this, t);
        rc = MPI_ERR_INTERN;
    }
    *newtype = rc == 0 ? t->handle : MPI_DATATYPE_NULL;
    return rc == 0 ? MPI_SUCCESS : ftm_fail(NULL, rc, call, NULL, 0);
}

/* What all constructors check. */
static int type_check(const char *call, int count, MPI_Datatype oldtype, const MPI_Datatype *newtype,
                      struct ftm_type **old)
{
    int rc = ftm_check_init(call);

    if (rc == 0)
        rc = ftm_check_pointer(call, NULL, "newtype", newtype);
    if (rc == 0)
        rc = ftm_check_count(call, NULL, count);
    if (rc == 0)
        rc = ftm_check_type(call, NULL, oldtype, old);
    return rc;
}

static int type_check_length(const char *call, int length)
{
    return length >= 0 ? 0 : ftm_fail(NULL, MPI_ERR_ARG, call, "blocklength", length);
}

FTM_ALIAS(Type_contiguous)
int FTM_CALL(Type_contiguous)(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    static const char call[] = "MPI_Type_contiguous";
    struct ftm_type *old, *t = NULL;
    int rc = type_check(call, count, oldtype, newtype, &old);

    if (rc != 0)
        return rc;
    rc = ftm_type_contiguous(ftm_this, count, old, &t);
    return type_give(call, rc, t, newtype);
}

/* stride in bytes, or in extents of oldtype. */
static int type_vector(const char *call, int count, int blocklength, int64_t stride, int in_bytes,
                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct ftm_type *old, *t = NULL;
    int rc = type_check(call, count, oldtype, newtype, &old);

    if (rc != 0 || (rc = type_check_length(call, blocklength)) != 0)
        return rc;
    if (ftm_type_times(stride, in_bytes ? 1 : ftm_type_extent(old), &stride))
        rc = ftm_type_vector(ftm_this, count, blocklength, stride, old, &t);
    else
        rc = MPI_ERR_ARG;
    return type_give(call, rc, t, newtype);
}

FTM_ALIAS(Type_vector)
int FTM_CALL(Type_vector)(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return type_vector("MPI_Type_vector", count, blocklength, stride, 0, oldtype, newtype);
}

FTM_ALIAS(Type_hvector)
int FTM_CALL(Type_hvector)(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                           MPI_Datatype *newtype)
{
    return type_vector("MPI_Type_hvector", count, blocklength, stride, 1, oldtype, newtype);
}

FTM_ALIAS(Type_create_hvector)
int FTM_CALL(Type_create_hvector)(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                                  MPI_Datatype *newtype)
{
    return type_vector("MPI_Type_create_hvector", count, blocklength, stride, 1, oldtype, newtype);
}

/* What the calls with lists of blocks are given. */
struct type_lists {
    const char *call;
    int count, length;
    const int *lengths;
    const int *places;        /* in extents, or NULL */
    const MPI_Aint *addresses; /* in bytes, or NULL */
    const MPI_Datatype *types; /* of a struct, or NULL: all are old */
    struct ftm_type *old;
};

/* A handler may jump away, so nothing is held while this is checked. */
static int type_check_lists(const struct type_lists *l)
{
    struct ftm_type *t;
    int i, rc = 0;

    if (l->count > 0 && ((l->places == NULL && l->addresses == NULL) ||
                         (l->lengths == NULL && l->length < 0)))
        rc = ftm_fail(NULL, MPI_ERR_ARG, l->call, "a list", 0);
    for (i = 0; i < l->count && rc == 0; i++) {
        if (l->lengths != NULL)
            rc = type_check_length(l->call, l->lengths[i]);
        if (rc == 0 && l->types != NULL)
            rc = ftm_check_type(l->call, NULL, l->types[i], &t);
    }
    return rc;
}

static int type_from_lists(const struct type_lists *l, int64_t *places, struct ftm_type **types,
                           struct ftm_type **out)
{
    struct ftm_blocks b = { l->count, l->lengths, l->length, places, types, l->old, l->types != NULL };
    int i;

    for (i = 0; i < l->count; i++) {
        if (l->places == NULL)
            places[i] = l->addresses[i];
        else if (!ftm_type_times(l->places[i], ftm_type_extent(l->old), &places[i]))
            return MPI_ERR_ARG;
        if (l->types != NULL)
            types[i] = ftm_table_get(&ftm_this->handles, l->types[i], FTM_TYPE);
    }
    if (l->types == NULL)
        b.types = NULL;
    return ftm_type_blocks(ftm_this, &b, out);
}

static int type_lists(const struct type_lists *l, MPI_Datatype *newtype)
{
    size_t places_size = (size_t)l->count * sizeof(int64_t), types_size = (size_t)l->count * sizeof(void *);
    struct ftm_type **types, *t = NULL;
    int64_t *places;
    int rc = type_check_lists(l);

    if (rc != 0)
        return rc;
    places = ftm_mem_new(&ftm_this->mem, places_size);
    types = ftm_mem_new(&ftm_this->mem, types_size);
    rc = places != NULL && types != NULL ? type_from_lists(l, places, types, &t) : MPI_ERR_INTERN;
    ftm_mem_free(&ftm_this->mem, places, places_size);
    ftm_mem_free(&ftm_this->mem, types, types_size);
    return type_give(l->call, rc, t, newtype);
}

static int type_indexed(const char *call, int count, const int *lengths, int length, const int *places,
                        const MPI_Aint *addresses, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct type_lists l = { call, count, length, lengths, places, addresses, NULL, NULL };
    int rc = type_check(call, count, oldtype, newtype, &l.old);

    return rc != 0 ? rc : type_lists(&l, newtype);
}

FTM_ALIAS(Type_indexed)
int FTM_CALL(Type_indexed)(int count, const int *blocklengths, const int *displacements, MPI_Datatype oldtype,
                           MPI_Datatype *newtype)
{
    return type_indexed("MPI_Type_indexed", count, blocklengths, -1, displacements, NULL, oldtype, newtype);
}

FTM_ALIAS(Type_hindexed)
int FTM_CALL(Type_hindexed)(int count, const int *blocklengths, const MPI_Aint *displacements,
                            MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    return type_indexed("MPI_Type_hindexed", count, blocklengths, -1, NULL, displacements, oldtype, newtype);
}

FTM_ALIAS(Type_create_hindexed)
int FTM_CALL(Type_create_hindexed)(int count, const int *blocklengths, const MPI_Aint *displacements,
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return type_indexed("MPI_Type_create_hindexed", count, blocklengths, -1, NULL, displacements, oldtype,
                        newtype);
}

FTM_ALIAS(Type_create_indexed_block)
int FTM_CALL(Type_create_indexed_block)(int count, int blocklength, const int *displacements,
                                        MPI_Datatype oldtype,
                                        MPI_Datatype *newtype)
{
    return type_indexed("MPI_Type_create_indexed_block", count, NULL, blocklength, displacements, NULL,
                        oldtype,
                        newtype);
}

static int type_struct(const char *call, int count, const int *lengths, const MPI_Aint *addresses,
                       const MPI_Datatype *types, MPI_Datatype *newtype)
{
    struct type_lists l = { call, count, -1, lengths, NULL, addresses, types, NULL };
    int rc = type_check(call, count, MPI_BYTE, newtype, &l.old);

    if (rc == 0 && count > 0)
        rc = ftm_check_pointer(call, NULL, "types", types);
    return rc != 0 ? rc : type_lists(&l, newtype);
}

FTM_ALIAS(Type_struct)
int FTM_CALL(Type_struct)(int count, const int *blocklengths, const MPI_Aint *displacements,
                          const MPI_Datatype *types, MPI_Datatype *newtype)
{
    return type_struct("MPI_Type_struct", count, blocklengths, displacements, types, newtype);
}

FTM_ALIAS(Type_create_struct)
int FTM_CALL(Type_create_struct)(int count, const int *blocklengths, const MPI_Aint *displacements,
                                 const MPI_Datatype *types, MPI_Datatype *newtype)
{
    return type_struct("MPI_Type_create_struct", count, blocklengths, displacements, types, newtype);
}

FTM_ALIAS(Type_create_resized)
int FTM_CALL(Type_create_resized)(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype)
{
    static const char call[] = "MPI_Type_create_resized";
    struct ftm_type *old, *t = NULL;
    int rc = type_check(call, 1, oldtype, newtype, &old);

    if (rc != 0)
        return rc;
    rc = ftm_type_resized(ftm_this, old, lb, extent, &t);
    return type_give(call, rc, t, newtype);
}

FTM_ALIAS(Type_dup)
int FTM_CALL(Type_dup)(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    static const char call[] = "MPI_Type_dup";
    struct ftm_type *old, *t = NULL;
    int rc = type_check(call, 1, oldtype, newtype, &old);

    if (rc != 0)
        return rc;
    rc = ftm_type_dup(ftm_this, old, &t);
    return type_give(call, rc, t, newtype);
}

FTM_ALIAS(Type_commit)
int FTM_CALL(Type_commit)(MPI_Datatype *datatype)
{
    static const char call[] = "MPI_Type_commit";
    struct ftm_type *t;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "datatype", datatype)) != 0 ||
        (rc = ftm_check_type(call, NULL, *datatype, &t)) != 0)
        return rc;
    t->committed = 1;
    return MPI_SUCCESS;
}

FTM_ALIAS(Type_free)
int FTM_CALL(Type_free)(MPI_Datatype *datatype)
{
    static const char call[] = "MPI_Type_free";
    struct ftm_type *t;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "datatype", datatype)) != 0 ||
        (rc = ftm_check_type(call, NULL, *datatype, &t)) != 0)
        return rc;
    if (t->basic != 0)
        return ftm_fail(NULL, MPI_ERR_TYPE, call, "datatype (predefined)", *datatype);
    ftm_table_remove(&ftm_this->handles, *datatype, FTM_TYPE);
    ftm_type_drop(ftm_this, t);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- What a type is ------------------------------------------------------------------------------ */

static int type_ask(const char *call, MPI_Datatype datatype, const void *out, struct ftm_type **t)
{
    int rc = ftm_check_init(call);

    if (rc == 0)
        rc = ftm_check_type(call, NULL, datatype, t);
    return rc != 0 ? rc : ftm_check_pointer(call, NULL, "the result", out);
}

FTM_ALIAS(Type_extent)
int FTM_CALL(Type_extent)(MPI_Datatype datatype, MPI_Aint *extent)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_extent", datatype, extent, &t);

    if (rc == 0)
        *extent = (MPI_Aint)ftm_type_extent(t);
    return rc;
}

FTM_ALIAS(Type_size)
int FTM_CALL(Type_size)(MPI_Datatype datatype, int *size)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_size", datatype, size, &t);

    if (rc == 0)
        *size = t->size > INT_MAX ? MPI_UNDEFINED : (int)t->size;
    return rc;
}

FTM_ALIAS(Type_lb)
int FTM_CALL(Type_lb)(MPI_Datatype datatype, MPI_Aint *displacement)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_lb", datatype, displacement, &t);

    if (rc == 0)
        *displacement = (MPI_Aint)t->lb;
    return rc;
}

FTM_ALIAS(Type_ub)
int FTM_CALL(Type_ub)(MPI_Datatype datatype, MPI_Aint *displacement)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_ub", datatype, displacement, &t);

    if (rc == 0)
        *displacement = (MPI_Aint)t->ub;
    return rc;
}

FTM_ALIAS(Type_get_extent)
int FTM_CALL(Type_get_extent)(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_get_extent", datatype, lb != NULL ? extent : NULL, &t);

    if (rc == 0) {
        *lb = (MPI_Aint)t->lb;
        *extent = (MPI_Aint)ftm_type_extent(t);
    }
    return rc;
}

FTM_ALIAS(Type_get_true_extent)
int FTM_CALL(Type_get_true_extent)(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    struct ftm_type *t;
    int rc = type_ask("MPI_Type_get_true_extent", datatype, lb != NULL ? extent : NULL, &t);

    if (rc == 0) {
        *lb = (MPI_Aint)t->true_lb;
        *extent = (MPI_Aint)(t->true_ub - t->true_lb);
    }
    return rc;
}

static int type_address(const char *call, const void *location, MPI_Aint *address)
{
    int rc = ftm_check_init(call);

    if (rc == 0)
        rc = ftm_check_pointer(call, NULL, "address", address);
    if (rc == 0)
        *address = (MPI_Aint)location;
    return rc;
}

FTM_ALIAS(Address)
int FTM_CALL(Address)(const void *location, MPI_Aint *address)
{
    return type_address("MPI_Address", location, address);
}

FTM_ALIAS(Get_address)
int FTM_CALL(Get_address)(const void *location, MPI_Aint *address)
{
    return type_address("MPI_Get_address", location, address);
}

FTM_ALIAS(Get_elements)
int FTM_CALL(Get_elements)(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    struct ftm_type *t;
    uint64_t bytes;
    int64_t n;
    int rc = type_ask("MPI_Get_elements", datatype, count, &t);

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Get_elements", NULL, "status", status)) != 0)
        return rc;
    bytes = (uint64_t)status->ftm_bytes_high << 32 | status->ftm_bytes_low;
    n = ftm_type_elements(t, bytes);
    *count = n < 0 || n > INT_MAX || (t->size == 0 && bytes != 0) ? MPI_UNDEFINED : (int)n;
    return MPI_SUCCESS;
}
