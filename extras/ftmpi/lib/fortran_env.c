/* fortran_env.c - attributes, errors, start and end for Fortran. */
#include "fortran.h"

#include <limits.h>
#include <string.h>

#include "attr.h"
#include "comm.h"

/* Fortran and C share it by its address; nobody writes there. */
const struct f_common F_COMMON = { 0, 0, { 0 }, { 0 } };

FORTRAN(keyval_free)(MPI_Fint *keyval, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Keyval_free)(keyval);
}

FORTRAN(attr_delete)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Attr_delete)(*comm, *keyval);
}

FORTRAN(comm_free_keyval)(MPI_Fint *keyval, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_free_keyval)(keyval);
}

FORTRAN(comm_delete_attr)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_delete_attr)(*comm, *keyval);
}

FORTRAN(get_version)(MPI_Fint *version, MPI_Fint *subversion, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Get_version)(version, subversion);
}

FORTRAN(errhandler_set)(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Errhandler_set)(*comm, *errhandler);
}

FORTRAN(errhandler_get)(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Errhandler_get)(*comm, errhandler);
}

FORTRAN(errhandler_free)(MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Errhandler_free)(errhandler);
}

FORTRAN(error_class)(MPI_Fint *errorcode, MPI_Fint *errorclass, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Error_class)(*errorcode, errorclass);
}

FORTRAN(finalize)(MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Finalize)();
}

FORTRAN(initialized)(MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Initialized)(flag);
}

FORTRAN(abort)(MPI_Fint *comm, MPI_Fint *errorcode, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Abort)(*comm, *errorcode);
}

FORTRAN(query_thread)(MPI_Fint *provided, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Query_thread)(provided);
}

FORTRAN(finalized)(MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Finalized)(flag);
}

FORTRAN(comm_set_errhandler)(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_set_errhandler)(*comm, *errhandler);
}

FORTRAN(comm_get_errhandler)(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_get_errhandler)(*comm, errhandler);
}

FORTRAN(comm_call_errhandler)(MPI_Fint *comm, MPI_Fint *errorcode, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_call_errhandler)(*comm, *errorcode);
}

/* ---- Start, end, time ---------------------------------------------------------------------------- */

FORTRAN(init)(MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Init)(NULL, NULL);
}

FORTRAN(init_thread)(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Init_thread)(NULL, NULL, *required, provided);
}

FORTRAN_OF(double, wtime)(void)
{
    return FTM_CALL(Wtime)();
}

FORTRAN_OF(double, wtick)(void)
{
    return FTM_CALL(Wtick)();
}

FORTRAN(pcontrol)(MPI_Fint *level)
{
    FTM_CALL(Pcontrol)(*level);
}

/* ---- Strings: padded with blanks, their lengths come last ----------------------------------------- */

static void env_string_out(char *to, size_t room, const char *from, MPI_Fint *resultlen)
{
    size_t n = strlen(from);

    if (n > room)
        n = room;
    memset(to, ' ', room);
    memcpy(to, from, n);
    *resultlen = (MPI_Fint)n;
}

FORTRAN(get_processor_name)(char *name, MPI_Fint *resultlen, MPI_Fint *ierr, size_t room)
{
    char text[MPI_MAX_PROCESSOR_NAME] = "";
    int n;

    *ierr = FTM_CALL(Get_processor_name)(text, &n);
    env_string_out(name, room, text, resultlen);
}

FORTRAN(get_library_version)(char *version, MPI_Fint *resultlen, MPI_Fint *ierr, size_t room)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;

    *ierr = FTM_CALL(Get_library_version)(text, &n);
    env_string_out(version, room, text, resultlen);
}

FORTRAN(error_string)(MPI_Fint *errorcode, char *string, MPI_Fint *resultlen, MPI_Fint *ierr, size_t room)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;

    *ierr = FTM_CALL(Error_string)(*errorcode, text, &n);
    env_string_out(string, room, text, resultlen);
}

FORTRAN(comm_get_name)(MPI_Fint *comm, char *name, MPI_Fint *resultlen, MPI_Fint *ierr, size_t room)
{
    char text[MPI_MAX_OBJECT_NAME] = "";
    int n;

    *ierr = FTM_CALL(Comm_get_name)(*comm, text, &n);
    env_string_out(name, room, text, resultlen);
}

FORTRAN(comm_set_name)(MPI_Fint *comm, const char *name, MPI_Fint *ierr, size_t length)
{
    char text[MPI_MAX_OBJECT_NAME];

    while (length > 0 && name[length - 1] == ' ')
        length--;
    if (length > sizeof text - 1)
        length = sizeof text - 1;
    memcpy(text, name, length);
    text[length] = 0;
    *ierr = FTM_CALL(Comm_set_name)(*comm, text);
}

/* ---- Error handlers: they take everything by reference, as in C ------------------------------------ */

FORTRAN(errhandler_create)(MPI_Handler_function *function, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Errhandler_create)(function, errhandler);
}

FORTRAN(comm_create_errhandler)(MPI_Handler_function *function, MPI_Fint *errhandler, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_create_errhandler)(function, errhandler);
}

/* ---- Attributes ------------------------------------------------------------------------------------ */

/* A value is the number itself: an INTEGER by the names of MPI-1, of the size of an address by the later
 * ones. The functions of such a key are called in the same way; attr.c does that. */
static void env_mark(MPI_Fint ierr, MPI_Fint keyval, int fortran)
{
    struct ftm_keyval *key = ierr == MPI_SUCCESS ? ftm_table_get(&ftm_this->handles, keyval, FTM_KEYVAL)
        : NULL;

    if (key != NULL)
        key->fortran = fortran;
}

FORTRAN(keyval_create)(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, MPI_Fint *keyval,
                       MPI_Fint *extra_state, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Keyval_create)(copy_fn, delete_fn, keyval, f_pointer(*extra_state));
    env_mark(*ierr, *keyval, FTM_ATTR_INTEGER);
}

FORTRAN(comm_create_keyval)(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, MPI_Fint *keyval,
                            MPI_Aint *extra_state, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_create_keyval)(copy_fn, delete_fn, keyval, f_pointer(*extra_state));
    env_mark(*ierr, *keyval, FTM_ATTR_ADDRESS);
}

/* A mode is read through a pointer. */
static int env_is_mode(MPI_Fint keyval)
{
    return keyval >= FTMPI_COMM_MODE && keyval <= FTMPI_COLL_MODE;
}

FORTRAN(attr_put)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *ierr)
{
    int mode = *attribute_val;

    *ierr = FTM_CALL(Attr_put)(*comm, *keyval, env_is_mode(*keyval) ? &mode : f_pointer(*attribute_val));
}

FORTRAN(comm_set_attr)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *ierr)
{
    int mode = *attribute_val < INT_MIN || *attribute_val > INT_MAX ? -1 : (int)*attribute_val;

    *ierr = FTM_CALL(Comm_set_attr)(*comm, *keyval, env_is_mode(*keyval) ? &mode : f_pointer(*attribute_val));
}

/* What C has a pointer to is the number itself in Fortran. */
static MPI_Aint env_value(MPI_Fint keyval, void *value)
{
    const struct ftm_keyval *key = ftm_table_get(&ftm_this->handles, keyval, FTM_KEYVAL);
    int number;

    if (keyval == FT_MPI_LIST_FAILED || keyval == FT_MPI_COM_FAILED)
        return (MPI_Aint)value;
    memcpy(&number, &value, sizeof number); /* as an int is written, which it is by mpi.h */
    if (keyval == FT_MPI_LIST_NUM_FAILED || keyval == FT_MPI_COM_NUM_FAILED)
        return number;
    return key != NULL && ftm_attr_predefined(ftm_this, key) != NULL ? *(int *)value : (MPI_Aint)value;
}

FORTRAN(attr_get)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *flag, MPI_Fint *ierr)
{
    void *value = NULL;

    *flag = 0;
    *ierr = FTM_CALL(Attr_get)(*comm, *keyval, &value, flag);
    if (*ierr == MPI_SUCCESS && *flag)
        *attribute_val = (MPI_Fint)env_value(*keyval, value);
}

FORTRAN(comm_get_attr)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *flag,
                       MPI_Fint *ierr)
{
    void *value = NULL;

    *flag = 0;
    *ierr = FTM_CALL(Comm_get_attr)(*comm, *keyval, &value, flag);
    if (*ierr == MPI_SUCCESS && *flag)
        *attribute_val = env_value(*keyval, value);
}

/* The predefined functions, for both sizes of values. */
FORTRAN_PLAIN(null_copy_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *extra, void *in, void *out,
                            MPI_Fint *flag,
                            MPI_Fint *ierr)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    *ierr = MPI_SUCCESS;
}

FORTRAN_PLAIN(comm_null_copy_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *extra, void *in, void *out,
                                 MPI_Fint *flag, MPI_Fint *ierr)
{
    F_MPI(null_copy_fn)(comm, keyval, extra, in, out, flag, ierr);
}

FORTRAN_PLAIN(dup_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *extra, MPI_Fint *in, MPI_Fint *out,
                      MPI_Fint *flag,
                      MPI_Fint *ierr)
{
    F_MPI(null_copy_fn)(comm, keyval, extra, in, out, flag, ierr);
    *out = *in;
    *flag = 1;
}

FORTRAN_PLAIN(comm_dup_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *extra, MPI_Aint *in, MPI_Aint *out,
                           MPI_Fint *flag, MPI_Fint *ierr)
{
    F_MPI(null_copy_fn)(comm, keyval, extra, in, out, flag, ierr);
    *out = *in;
    *flag = 1;
}

FORTRAN_PLAIN(null_delete_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *value, void *extra, MPI_Fint *ierr)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    *ierr = MPI_SUCCESS;
}

FORTRAN_PLAIN(comm_null_delete_fn)(MPI_Fint *comm, MPI_Fint *keyval, void *value, void *extra, MPI_Fint *ierr)
{
    F_MPI(null_delete_fn)(comm, keyval, value, extra, ierr);
}
