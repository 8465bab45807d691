/* mpi_attr.c - the calls with attributes and their keys. */
#include "attr.h"
#include "comm.h"
#include "mpi_call.h"

static int attr_create(const char *call, MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn,
                       int *keyval,
                       void *extra_state)
{
    struct ftm_keyval *key;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "keyval", keyval)) != 0)
        return rc;
    *keyval = MPI_KEYVAL_INVALID;
    key = ftm_mem_new(&ftm_this->mem, sizeof *key);
    if (key != NULL && ftm_table_add(&ftm_this->handles, FTM_KEYVAL, key, &key->handle) != 0) {
        ftm_mem_free(&ftm_this->mem, key, sizeof *key);
        key = NULL;
    }
    if (key == NULL)
        return ftm_fail(NULL, MPI_ERR_INTERN, call, NULL, 0);
    key->refs = 1;
    key->copy = copy_fn;
    key->del = delete_fn;
    key->extra = extra_state;
    *keyval = key->handle;
    return MPI_SUCCESS;
}

FTM_ALIAS(Keyval_create)
int FTM_CALL(Keyval_create)(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval,
                            void *extra_state)
{
    return attr_create("MPI_Keyval_create", copy_fn, delete_fn, keyval, extra_state);
}

FTM_ALIAS(Comm_create_keyval)
int FTM_CALL(Comm_create_keyval)(MPI_Comm_copy_attr_function *copy_fn,
                                 MPI_Comm_delete_attr_function *delete_fn,
                                 int *keyval, void *extra_state)
{
    return attr_create("MPI_Comm_create_keyval", copy_fn, delete_fn, keyval, extra_state);
}

static int attr_free_key(const char *call, int *keyval)
{
    struct ftm_keyval *key;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "keyval", keyval)) != 0)
        return rc;
    key = ftm_table_get(&ftm_this->handles, *keyval, FTM_KEYVAL);
    if (key == NULL || ftm_attr_predefined(ftm_this, key) != NULL)
        return ftm_fail(NULL, MPI_ERR_KEYVAL, call, "keyval", *keyval);
    if (!key->freed) {
        key->freed = 1;
        ftm_attr_drop_key(ftm_this, key);
    }
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

FTM_ALIAS(Keyval_free)
int FTM_CALL(Keyval_free)(int *keyval)
{
    return attr_free_key("MPI_Keyval_free", keyval);
}

FTM_ALIAS(Comm_free_keyval)
int FTM_CALL(Comm_free_keyval)(int *keyval)
{
    return attr_free_key("MPI_Comm_free_keyval", keyval);
}

static int attr_check(const char *call, MPI_Comm comm, int keyval, struct ftm_comm **c,
                      struct ftm_keyval **key)
{
    int rc = ftm_check_comm(call, comm, c);

    if (rc != 0)
        return rc;
    *key = ftm_table_get(&ftm_this->handles, keyval, FTM_KEYVAL);
    return *key != NULL ? 0 : ftm_fail(*c, MPI_ERR_KEYVAL, call, "keyval", keyval);
}

/* Predefined ones cannot be changed. */
static int attr_check_own(const char *call, MPI_Comm comm, int keyval, struct ftm_comm **c,
                          struct ftm_keyval **key)
{
    int rc = attr_check(call, comm, keyval, c, key);

    if (rc == 0 && ftm_attr_predefined(ftm_this, *key) != NULL)
        rc = ftm_fail(*c, MPI_ERR_KEYVAL, call, "keyval (predefined)", keyval);
    return rc;
}

/* Predefined ones cannot be set but for modes, which are read at once. */
static int attr_set_mode(const char *call, struct ftm_comm *c, int keyval, const int *mode)
{
    int rc = ftm_fault_set(ftm_this, c, keyval, mode);

    if (rc == MPI_ERR_KEYVAL)
        return ftm_fail(c, rc, call, "keyval (predefined)", keyval);
    return rc == 0 ? 0 : ftm_fail(c, rc, call, "a mode", mode != NULL ? *mode : -1);
}

static int attr_put(const char *call, MPI_Comm comm, int keyval, void *value)
{
    struct ftm_keyval *key;
    struct ftm_comm *c;
    int rc = attr_check(call, comm, keyval, &c, &key);

    if (rc != 0)
        return rc;
    if (ftm_attr_predefined(ftm_this, key) != NULL)
        return attr_set_mode(call, c, keyval, value);
    rc = ftm_attr_put(ftm_this, c, key, value);
    return rc == MPI_SUCCESS ? rc : ftm_fail(c, rc, call, "keyval", keyval);
}

FTM_ALIAS(Attr_put)
int FTM_CALL(Attr_put)(MPI_Comm comm, int keyval, void *attribute_val)
{
    return attr_put("MPI_Attr_put", comm, keyval, attribute_val);
}

FTM_ALIAS(Comm_set_attr)
int FTM_CALL(Comm_set_attr)(MPI_Comm comm, int keyval, void *attribute_val)
{
    return attr_put("MPI_Comm_set_attr", comm, keyval, attribute_val);
}

static int attr_get(const char *call, MPI_Comm comm, int keyval, void *value, int *flag)
{
    const struct ftm_attr *a;
    struct ftm_keyval *key;
    struct ftm_comm *c;
    int rc = attr_check(call, comm, keyval, &c, &key);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "attribute_val", value)) != 0 ||
        (rc = ftm_check_pointer(call, c, "flag", flag)) != 0)
        return rc;
    *flag = ftm_fault_get(ftm_this, c, keyval, value);
    if (*flag < 0)
        return ftm_fail(c, MPI_ERR_INTERN, call, NULL, 0);
    if (*flag)
        return MPI_SUCCESS;
    a = ftm_attr_predefined(ftm_this, key);
    if (a == NULL)
        a = ftm_attr_find(c, key);
    *flag = a != NULL;
    if (a != NULL)
        *(void **)value = a->value;
    return MPI_SUCCESS;
}

FTM_ALIAS(Attr_get)
int FTM_CALL(Attr_get)(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return attr_get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}

FTM_ALIAS(Comm_get_attr)
int FTM_CALL(Comm_get_attr)(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return attr_get("MPI_Comm_get_attr", comm, keyval, attribute_val, flag);
}

/* Nothing there to be deleted is no error. */
static int attr_delete(const char *call, MPI_Comm comm, int keyval)
{
    struct ftm_keyval *key;
    struct ftm_attr *a;
    struct ftm_comm *c;
    int rc = attr_check_own(call, comm, keyval, &c, &key);

    if (rc != 0)
        return rc;
    a = ftm_attr_find(c, key);
    rc = a != NULL ? ftm_attr_delete(ftm_this, c, a) : MPI_SUCCESS;
    return rc == MPI_SUCCESS ? rc : ftm_fail(c, rc, call, "keyval", keyval);
}

FTM_ALIAS(Attr_delete)
int FTM_CALL(Attr_delete)(MPI_Comm comm, int keyval)
{
    return attr_delete("MPI_Attr_delete", comm, keyval);
}

FTM_ALIAS(Comm_delete_attr)
int FTM_CALL(Comm_delete_attr)(MPI_Comm comm, int keyval)
{
    return attr_delete("MPI_Comm_delete_attr", comm, keyval);
}

/* ---- Functions that need no program ---------------------------------------------------------------- */

int MPI_NULL_COPY_FN(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in,
                     void *attribute_val_out, int *flag)
{
    (void)oldcomm;
    (void)keyval;
    (void)extra_state;
    (void)attribute_val_in;
    (void)attribute_val_out;
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_DUP_FN(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in,
               void *attribute_val_out,
               int *flag)
{
    (void)oldcomm;
    (void)keyval;
    (void)extra_state;
    *(void **)attribute_val_out = attribute_val_in;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_NULL_DELETE_FN(MPI_Comm comm, int keyval, void *attribute_val, void *extra_state)
{
    (void)comm;
    (void)keyval;
    (void)attribute_val;
    (void)extra_state;
    return MPI_SUCCESS;
}
