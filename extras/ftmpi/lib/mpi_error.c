/* mpi_error.c - the calls with error handlers and error codes. */
#include <string.h>

#include "comm.h"
#include "error.h"
#include "mpi_call.h"

static int error_create(const char *call, MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
    struct ftm_errhandler *h;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "errhandler", errhandler)) != 0)
        return rc;
    *errhandler = MPI_ERRHANDLER_NULL;
    if (function == NULL)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "function", 0);
    h = ftm_mem_new(&ftm_this->mem, sizeof *h);
    if (h != NULL && ftm_table_add(&ftm_this->handles, FTM_ERRHANDLER, h, &h->handle) != 0) {
        ftm_mem_free(&ftm_this->mem, h, sizeof *h);
        h = NULL;
    }
    if (h == NULL)
        return ftm_fail(NULL, MPI_ERR_INTERN, call, NULL, 0);
    h->refs = h->given = 1;
    h->kind = FTM_ERRHANDLER_CALL;
    h->function = function;
    *errhandler = h->handle;
    return MPI_SUCCESS;
}

FTM_ALIAS(Errhandler_create)
int FTM_CALL(Errhandler_create)(MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
    return error_create("MPI_Errhandler_create", function, errhandler);
}

FTM_ALIAS(Comm_create_errhandler)
int FTM_CALL(Comm_create_errhandler)(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    return error_create("MPI_Comm_create_errhandler", function, errhandler);
}

static int error_set(const char *call, MPI_Comm comm, MPI_Errhandler errhandler)
{
    struct ftm_errhandler *h, *old;
    struct ftm_comm *c;
    int rc = ftm_check_comm(call, comm, &c);

    if (rc != 0)
        return rc;
    h = ftm_table_get(&ftm_this->handles, errhandler, FTM_ERRHANDLER);
    if (h == NULL)
        return ftm_fail(c, MPI_ERR_ARG, call, "errhandler", errhandler);
    old = c->errhandler;
    c->errhandler = h;
    c->handler_set = 1;
    h->refs++;
    ftm_error_drop(ftm_this, old);
    return MPI_SUCCESS;
}

FTM_ALIAS(Errhandler_set)
int FTM_CALL(Errhandler_set)(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return error_set("MPI_Errhandler_set", comm, errhandler);
}

FTM_ALIAS(Comm_set_errhandler)
int FTM_CALL(Comm_set_errhandler)(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return error_set("MPI_Comm_set_errhandler", comm, errhandler);
}

/* Predefined handlers are given out and freed without being counted. */
static int error_get(const char *call, MPI_Comm comm, MPI_Errhandler *errhandler)
{
    struct ftm_comm *c;
    int rc = ftm_check_comm(call, comm, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "errhandler", errhandler)) != 0)
        return rc;
    *errhandler = c->errhandler->handle;
    if (c->errhandler->kind == FTM_ERRHANDLER_CALL) {
        c->errhandler->refs++;
        c->errhandler->given++;
    }
    return MPI_SUCCESS;
}

FTM_ALIAS(Errhandler_get)
int FTM_CALL(Errhandler_get)(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return error_get("MPI_Errhandler_get", comm, errhandler);
}

FTM_ALIAS(Comm_get_errhandler)
int FTM_CALL(Comm_get_errhandler)(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return error_get("MPI_Comm_get_errhandler", comm, errhandler);
}

FTM_ALIAS(Errhandler_free)
int FTM_CALL(Errhandler_free)(MPI_Errhandler *errhandler)
{
    static const char call[] = "MPI_Errhandler_free";
    struct ftm_errhandler *h;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "errhandler", errhandler)) != 0)
        return rc;
    h = ftm_table_get(&ftm_this->handles, *errhandler, FTM_ERRHANDLER);
    if (h == NULL || (h->kind == FTM_ERRHANDLER_CALL && h->given == 0))
        return ftm_fail(NULL, MPI_ERR_ARG, call, "errhandler", *errhandler);
    if (h->kind == FTM_ERRHANDLER_CALL) {
        h->given--;
        ftm_error_drop(ftm_this, h);
    }
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

FTM_ALIAS(Comm_call_errhandler)
int FTM_CALL(Comm_call_errhandler)(MPI_Comm comm, int errorcode)
{
    struct ftm_comm *c;
    int rc = ftm_check_comm("MPI_Comm_call_errhandler", comm, &c);

    if (rc != 0)
        return rc;
    ftm_error_raise(ftm_this, c, errorcode, "MPI_Comm_call_errhandler", NULL, 0);
    return MPI_SUCCESS;
}

FTM_ALIAS(Error_string)
int FTM_CALL(Error_string)(int errorcode, char *string, int *resultlen)
{
    static const char call[] = "MPI_Error_string";
    const char *text = ftm_error_text(errorcode);
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "string", string)) != 0 ||
        (rc = ftm_check_pointer(call, NULL, "resultlen", resultlen)) != 0)
        return rc;
    if (errorcode < 0 || errorcode > MPI_ERR_LASTCODE)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "errorcode", errorcode);
    if (errorcode == MPI_ERR_OTHER && ftm_fault_text(ftm_this) != NULL)
        text = ftm_fault_text(ftm_this); /* which one: the latest that the program was told of */
    if (text == NULL)
        text = "unknown error code";
    *resultlen = (int)strlen(text);
    memcpy(string, text, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}

/* Codes are classes. */
FTM_ALIAS(Error_class)
int FTM_CALL(Error_class)(int errorcode, int *errorclass)
{
    static const char call[] = "MPI_Error_class";
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "errorclass", errorclass)) != 0)
        return rc;
    if (errorcode < 0 || errorcode > MPI_ERR_LASTCODE)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "errorcode", errorcode);
    *errorclass = errorcode;
    return MPI_SUCCESS;
}
