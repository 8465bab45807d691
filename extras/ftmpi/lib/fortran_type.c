/* fortran_type.c - datatypes for Fortran. */
#include "fortran.h"

FORTRAN(type_contiguous)(MPI_Fint *count, MPI_Fint *oldtype, MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_contiguous)(*count, *oldtype, newtype);
}

FORTRAN(type_vector)(MPI_Fint *count, MPI_Fint *blocklength, MPI_Fint *stride, MPI_Fint *oldtype,
                     MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_vector)(*count, *blocklength, *stride, *oldtype, newtype);
}

FORTRAN(type_indexed)(MPI_Fint *count, MPI_Fint *blocklengths, MPI_Fint *displacements, MPI_Fint *oldtype,
                      MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_indexed)(*count, blocklengths, displacements, *oldtype, newtype);
}

FORTRAN(type_size)(MPI_Fint *datatype, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_size)(*datatype, size);
}

FORTRAN(type_commit)(MPI_Fint *datatype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_commit)(datatype);
}

FORTRAN(type_free)(MPI_Fint *datatype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_free)(datatype);
}

FORTRAN(get_elements)(MPI_Fint *status, MPI_Fint *datatype, MPI_Fint *count, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Get_elements)(f_status(status), *datatype, count);
}

FORTRAN(pack)(void *inbuf, MPI_Fint *incount, MPI_Fint *datatype, void *outbuf, MPI_Fint *outsize,
              MPI_Fint *position, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Pack)(f_buffer(inbuf), *incount, *datatype, f_buffer(outbuf), *outsize, position, *comm);
}

FORTRAN(unpack)(void *inbuf, MPI_Fint *insize, MPI_Fint *position, void *outbuf, MPI_Fint *outcount,
                MPI_Fint *datatype, MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Unpack)(f_buffer(inbuf), *insize, position, f_buffer(outbuf), *outcount, *datatype,
                             *comm);
}

FORTRAN(pack_size)(MPI_Fint *incount, MPI_Fint *datatype, MPI_Fint *comm, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Pack_size)(*incount, *datatype, *comm, size);
}

FORTRAN(type_create_indexed_block)(MPI_Fint *count, MPI_Fint *blocklength, MPI_Fint *displacements,
                                   MPI_Fint *oldtype, MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_create_indexed_block)(*count, *blocklength, displacements, *oldtype, newtype);
}

FORTRAN(type_dup)(MPI_Fint *oldtype, MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_dup)(*oldtype, newtype);
}

/* ---- Addresses and displacements ----------------------------------------------------------------- */

/* The calls of MPI-1 have INTEGER where C has MPI_Aint. So an address is counted from MPI_BOTTOM, which is
 * a variable in Fortran, and what is near enough fits; the difference of two addresses is right as long as
 * it fits. */
static MPI_Aint type_address(const void *location)
{
    return (MPI_Aint)((uintptr_t)location - (uintptr_t)&F_COMMON.bottom);
}

FORTRAN(address)(void *location, MPI_Fint *address, MPI_Fint *ierr)
{
    *address = (MPI_Fint)type_address(location);
    *ierr = MPI_SUCCESS;
}

FORTRAN(get_address)(void *location, MPI_Aint *address, MPI_Fint *ierr)
{
    *address = type_address(location);
    *ierr = MPI_SUCCESS;
}

FORTRAN(type_extent)(MPI_Fint *datatype, MPI_Fint *extent, MPI_Fint *ierr)
{
    MPI_Aint long_extent = 0;

    *ierr = FTM_CALL(Type_extent)(*datatype, &long_extent);
    *extent = (MPI_Fint)long_extent;
}

FORTRAN(type_lb)(MPI_Fint *datatype, MPI_Fint *displacement, MPI_Fint *ierr)
{
    MPI_Aint bound = 0;

    *ierr = FTM_CALL(Type_lb)(*datatype, &bound);
    *displacement = (MPI_Fint)bound;
}

FORTRAN(type_ub)(MPI_Fint *datatype, MPI_Fint *displacement, MPI_Fint *ierr)
{
    MPI_Aint bound = 0;

    *ierr = FTM_CALL(Type_ub)(*datatype, &bound);
    *displacement = (MPI_Fint)bound;
}

FORTRAN(type_hvector)(MPI_Fint *count, MPI_Fint *blocklength, MPI_Fint *stride, MPI_Fint *oldtype,
                      MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_hvector)(*count, *blocklength, *stride, *oldtype, newtype);
}

FORTRAN(type_create_hvector)(MPI_Fint *count, MPI_Fint *blocklength, MPI_Aint *stride, MPI_Fint *oldtype,
                             MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_create_hvector)(*count, *blocklength, *stride, *oldtype, newtype);
}

/* INTEGER displacements as MPI_Aint; NULL: there are none, or no memory, *ierr says which. */
static MPI_Aint *type_lengthen(const MPI_Fint *displacements, int count, MPI_Fint *ierr)
{
    MPI_Aint *list;
    int i;

    *ierr = ftm_check_init("a datatype's constructor");
    if (count <= 0)
        return NULL;
    list = ftm_mem_new(&ftm_this->mem, (size_t)count * sizeof *list);
    if (list == NULL)
        *ierr = ftm_fail(NULL, MPI_ERR_INTERN, "a datatype's constructor", NULL, 0);
    for (i = 0; list != NULL && i < count; i++)
        list[i] = displacements[i];
    return list;
}

static void type_give_back(MPI_Aint *list, int count)
{
    if (list != NULL)
        ftm_mem_free(&ftm_this->mem, list, (size_t)count * sizeof *list);
}

FORTRAN(type_hindexed)(MPI_Fint *count, MPI_Fint *blocklengths, MPI_Fint *displacements, MPI_Fint *oldtype,
                       MPI_Fint *newtype, MPI_Fint *ierr)
{
    MPI_Aint *list = type_lengthen(displacements, *count, ierr);

    if (*ierr == MPI_SUCCESS)
        *ierr = FTM_CALL(Type_hindexed)(*count, blocklengths, list, *oldtype, newtype);
    type_give_back(list, *count);
}

FORTRAN(type_struct)(MPI_Fint *count, MPI_Fint *blocklengths, MPI_Fint *displacements, MPI_Fint *types,
                     MPI_Fint *newtype, MPI_Fint *ierr)
{
    MPI_Aint *list = type_lengthen(displacements, *count, ierr);

    if (*ierr == MPI_SUCCESS)
        *ierr = FTM_CALL(Type_struct)(*count, blocklengths, list, types, newtype);
    type_give_back(list, *count);
}

FORTRAN(type_create_hindexed)(MPI_Fint *count, MPI_Fint *blocklengths, MPI_Aint *displacements,
                              MPI_Fint *oldtype, MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_create_hindexed)(*count, blocklengths, displacements, *oldtype, newtype);
}

FORTRAN(type_create_struct)(MPI_Fint *count, MPI_Fint *blocklengths, MPI_Aint *displacements, MPI_Fint *types,
                            MPI_Fint *newtype, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_create_struct)(*count, blocklengths, displacements, types, newtype);
}

FORTRAN(type_create_resized)(MPI_Fint *oldtype, MPI_Aint *lb, MPI_Aint *extent, MPI_Fint *newtype,
                             MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_create_resized)(*oldtype, *lb, *extent, newtype);
}

FORTRAN(type_get_extent)(MPI_Fint *datatype, MPI_Aint *lb, MPI_Aint *extent, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_get_extent)(*datatype, lb, extent);
}

FORTRAN(type_get_true_extent)(MPI_Fint *datatype, MPI_Aint *lb, MPI_Aint *extent, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Type_get_true_extent)(*datatype, lb, extent);
}
