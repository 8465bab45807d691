/* op.h - operations of reductions, predefined and the program's. */
#ifndef FTM_OP_H
#define FTM_OP_H

#include <stddef.h>

#include "mpi.h"
#include "type.h"

struct ftm_op {
    int refs, handle;
    int basic; /* predefined: the handle's place; else 0 */
    int commutes;
    int fortran; /* the function takes INTEGER handles by reference; the same in memory here */
    MPI_User_function *function;
};

int ftm_op_init(struct ftm *e);
void ftm_op_clear(struct ftm *e);
void ftm_op_drop(struct ftm *e, struct ftm_op *op);

/* 0, or MPI_ERR_OP: the operation is predefined and is not for this type. */
int ftm_op_check(const struct ftm_op *op, const struct ftm_type *t);

/* inout[i] = in[i] op inout[i]: `in` comes from lower ranks. The operation and type have been checked. A
 * function of the program is called here, so this must not be called inside phx_step. */
void ftm_op_apply(struct ftm *e, const struct ftm_op *op, const void *in, void *inout, size_t count,
                  struct ftm_type *t);

#endif
