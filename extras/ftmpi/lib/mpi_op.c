/* mpi_op.c - operations that the program defines. */
#include "mpi_call.h"
#include "op.h"

FTM_ALIAS(Op_create)
int FTM_CALL(Op_create)(MPI_User_function *function, int commute, MPI_Op *op)
{
    static const char call[] = "MPI_Op_create";
    struct ftm_op *o;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "op", op)) != 0)
        return rc;
    *op = MPI_OP_NULL;
    if (function == NULL)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "function", 0);
    o = ftm_mem_new(&ftm_this->mem, sizeof *o);
    if (o != NULL && ftm_table_add(&ftm_this->handles, FTM_OP, o, &o->handle) != 0) {
        ftm_mem_free(&ftm_this->mem, o, sizeof *o);
        o = NULL;
    }
    if (o == NULL)
        return ftm_fail(NULL, MPI_ERR_INTERN, call, NULL, 0);
    o->refs = 1;
    o->commutes = commute != 0;
    o->function = function;
    *op = o->handle;
    return MPI_SUCCESS;
}

/* A collective that runs holds the operation; blocking ones are over before this can be called. */
FTM_ALIAS(Op_free)
int FTM_CALL(Op_free)(MPI_Op *op)
{
    static const char call[] = "MPI_Op_free";
    struct ftm_op *o;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "op", op)) != 0)
        return rc;
    o = ftm_table_get(&ftm_this->handles, *op, FTM_OP);
    if (o == NULL || o->basic != 0)
        return ftm_fail(NULL, MPI_ERR_OP, call, "op", *op);
    ftm_table_remove(&ftm_this->handles, *op, FTM_OP);
    ftm_op_drop(ftm_this, o);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
