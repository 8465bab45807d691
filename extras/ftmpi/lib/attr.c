/* attr.c - attributes of communicators. */
#include "attr.h"

#include <stdint.h>

#include "comm.h"
#include "engine.h"

/* Those of MPI, and behind them those of fault.c, from FTMPI_COMM_MODE to FT_MPI_COM_FAILED. */
enum { ATTR_OF_MPI = 4, ATTR_PREDEFINED = ATTR_OF_MPI + FT_MPI_COM_FAILED - FTMPI_COMM_MODE + 1 };

/* What hangs under the predefined keys, the same on every communicator. The program gets pointers to it. */
struct attr_values {
    struct ftm_attr attr[ATTR_PREDEFINED];
    int value[ATTR_PREDEFINED];
};

static int attr_predefine(struct ftm *e, struct attr_values *v, int i, int handle, int value)
{
    struct ftm_keyval *key = ftm_mem_new(&e->mem, sizeof *key);

    if (key == NULL)
        return MPI_ERR_INTERN;
    key->refs = 1;
    key->handle = handle;
    v->value[i] = value;
    v->attr[i].key = key;
    v->attr[i].value = &v->value[i];
    if (ftm_table_add_at(&e->handles, FTM_KEYVAL, key, handle & (FTM_HANDLE_PLACES - 1)) == 0)
        return 0;
    ftm_mem_free(&e->mem, key, sizeof *key);
    return MPI_ERR_INTERN;
}

int ftm_attr_init(struct ftm *e)
{
    struct attr_values *v = ftm_mem_new(&e->mem, sizeof *v);
    int rc, i;

    e->attr = v;
    if (v == NULL)
        return MPI_ERR_INTERN;
    rc = attr_predefine(e, v, 0, MPI_TAG_UB, FTM_TAG_MAX);
    if (rc == 0)
        rc = attr_predefine(e, v, 1, MPI_HOST, MPI_PROC_NULL);
    if (rc == 0)
        rc = attr_predefine(e, v, 2, MPI_IO, MPI_ANY_SOURCE);
    if (rc == 0)
        rc = attr_predefine(e, v, 3, MPI_WTIME_IS_GLOBAL, 0);
    for (i = ATTR_OF_MPI; rc == 0 && i < ATTR_PREDEFINED; i++)
        rc = attr_predefine(e, v, i, FTMPI_COMM_MODE + i - ATTR_OF_MPI, 0);
    return rc;
}

void ftm_attr_clear(struct ftm *e)
{
    struct ftm_keyval *key;
    int place = 0;

    while ((key = ftm_table_next(&e->handles, FTM_KEYVAL, &place)) != NULL)
        ftm_mem_free(&e->mem, key, sizeof *key);
    ftm_mem_free(&e->mem, e->attr, sizeof(struct attr_values));
    e->attr = NULL;
}

void ftm_attr_drop_key(struct ftm *e, struct ftm_keyval *key)
{
    if (--key->refs != 0)
        return;
    ftm_table_remove(&e->handles, key->handle, FTM_KEYVAL);
    ftm_mem_free(&e->mem, key, sizeof *key);
}

const struct ftm_attr *ftm_attr_predefined(const struct ftm *e, const struct ftm_keyval *key)
{
    const struct attr_values *v = e->attr;
    int i;

    for (i = 0; i < ATTR_PREDEFINED; i++)
        if (v->attr[i].key == key)
            return &v->attr[i];
    return NULL;
}

struct ftm_attr *ftm_attr_find(const struct ftm_comm *comm, const struct ftm_keyval *key)
{
    struct ftm_attr *a = comm->attrs;

    while (a != NULL && a->key != key)
        a = a->next;
    return a;
}

/* Functions of Fortran by the names of MPI-1 and by the later ones. They come as pointers of other types. */
typedef void attr_copy_integer(int *comm, int *key, int *extra, int *in, int *out, int *flag, int *ierr);
typedef void attr_copy_address(int *comm, int *key, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out, int *flag,
                               int *ierr);
typedef void attr_delete_integer(int *comm, int *key, int *value, int *extra, int *ierr);
typedef void attr_delete_address(int *comm, int *key, MPI_Aint *value, MPI_Aint *extra, int *ierr);

static int attr_delete_fortran(struct ftm_comm *comm, const struct ftm_attr *a)
{
    int c = comm->handle, key = a->key->handle, extra = (int)(intptr_t)a->key->extra, value =
        (int)(intptr_t)a->value;
    MPI_Aint long_extra = (MPI_Aint)a->key->extra, long_value = (MPI_Aint)a->value;
    int rc = MPI_SUCCESS;

    if (a->key->fortran == FTM_ATTR_INTEGER)
        ((attr_delete_integer *)(intptr_t)a->key->del)(&c, &key, &value, &extra, &rc);
    else
        ((attr_delete_address *)(intptr_t)a->key->del)(&c, &key, &long_value, &long_extra, &rc);
    return rc;
}

static int attr_copy_fortran(struct ftm_comm *comm, const struct ftm_attr *a, void **value, int *flag)
{
    int c = comm->handle, key = a->key->handle, extra = (int)(intptr_t)a->key->extra, in =
        (int)(intptr_t)a->value;
    MPI_Aint long_extra = (MPI_Aint)a->key->extra, long_in = (MPI_Aint)a->value, long_out = 0;
    int out = 0, rc = MPI_SUCCESS;

    if (a->key->fortran == FTM_ATTR_INTEGER) {
        ((attr_copy_integer *)(intptr_t)a->key->copy)(&c, &key, &extra, &in, &out, flag, &rc);
        long_out = out;
    } else {
        ((attr_copy_address *)(intptr_t)a->key->copy)(&c, &key, &long_extra, &long_in, &long_out, flag, &rc);
    }
    *value = (void *)long_out;
    return rc;
}

static int attr_call_delete(struct ftm_comm *comm, struct ftm_attr *a)
{
    if (a->key->del == NULL)
        return MPI_SUCCESS;
    if (a->key->fortran)
        return attr_delete_fortran(comm, a);
    return a->key->del(comm->handle, a->key->handle, a->value, a->key->extra);
}

static int attr_call_copy(struct ftm_comm *comm, struct ftm_attr *a, void **value, int *flag)
{
    if (a->key->copy == NULL)
        return MPI_SUCCESS;
    if (a->key->fortran)
        return attr_copy_fortran(comm, a, value, flag);
    return a->key->copy(comm->handle, a->key->handle, a->key->extra, a->value, value, flag);
}

/* A value that is replaced is deleted first, and stays if that fails. */
int ftm_attr_put(struct ftm *e, struct ftm_comm *comm, struct ftm_keyval *key, void *value)
{
    struct ftm_attr *a = ftm_attr_find(comm, key);
    int rc;

    if (a != NULL) {
        rc = attr_call_delete(comm, a);
        if (rc == MPI_SUCCESS)
            a->value = value;
        return rc;
    }
    a = ftm_mem_new(&e->mem, sizeof *a);
    if (a == NULL)
        return MPI_ERR_INTERN;
    a->key = key;
    a->value = value;
    a->next = comm->attrs;
    comm->attrs = a;
    key->refs++;
    return MPI_SUCCESS;
}

/* The program's function may have changed the list, so the place is looked for afterwards. */
int ftm_attr_delete(struct ftm *e, struct ftm_comm *comm, struct ftm_attr *attr)
{
    struct ftm_attr **at = &comm->attrs;
    int rc = attr_call_delete(comm, attr);

    if (rc != MPI_SUCCESS)
        return rc;
    while (*at != NULL && *at != attr)
        at = &(*at)->next;
    if (*at == NULL)
        return MPI_SUCCESS;
    *at = attr->next;
    ftm_attr_drop_key(e, attr->key);
    ftm_mem_free(&e->mem, attr, sizeof *attr);
    return MPI_SUCCESS;
}

int ftm_attr_delete_all(struct ftm *e, struct ftm_comm *comm)
{
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && comm->attrs != NULL)
        rc = ftm_attr_delete(e, comm, comm->attrs);
    return rc;
}

void ftm_attr_forget_all(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_attr *a;

    while ((a = comm->attrs) != NULL) {
        comm->attrs = a->next;
        ftm_attr_drop_key(e, a->key);
        ftm_mem_free(&e->mem, a, sizeof *a);
    }
}

/* The oldest first, so that the list of the duplicate has the same order. */
static struct ftm_attr *attr_before(struct ftm_comm *comm, const struct ftm_attr *end)
{
    struct ftm_attr *a = comm->attrs;

    while (a != end && a->next != end)
        a = a->next;
    return a;
}

int ftm_attr_copy_all(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to)
{
    struct ftm_attr *a, *end = NULL;
    void *value;
    int flag, rc = MPI_SUCCESS;

    for (; rc == MPI_SUCCESS && end != from->attrs; end = a) {
        a = attr_before(from, end);
        value = NULL;
        flag = 0;
        rc = attr_call_copy(from, a, &value, &flag);
        if (rc == MPI_SUCCESS && flag)
            rc = ftm_attr_put(e, to, a->key, value);
    }
    return rc;
}
