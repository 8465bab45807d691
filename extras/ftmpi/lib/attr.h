/* attr.h - values that a program attaches to a communicator under keys of its own. */
#ifndef FTM_ATTR_H
#define FTM_ATTR_H

#include "mpi.h"

struct ftm;
struct ftm_comm;

/* Functions of Fortran take everything by reference, and values and extra state are numbers. */
enum ftm_attr_fortran { FTM_ATTR_INTEGER = 1, FTM_ATTR_ADDRESS };

/* A key lives as long as the program has not freed it or a value hangs under it anywhere. */
struct ftm_keyval {
    int refs, handle;
    int freed;   /* by the program */
    int fortran; /* 0, or enum ftm_attr_fortran */
    MPI_Copy_function *copy;
    MPI_Delete_function *del;
    void *extra;
};

struct ftm_attr {
    struct ftm_attr *next;
    struct ftm_keyval *key; /* held */
    void *value;
};

int ftm_attr_init(struct ftm *e);
void ftm_attr_clear(struct ftm *e);

/* The attribute of a predefined key, the same on every communicator; NULL: the key is the program's. Those of
 * fault.c are asked for before. */
const struct ftm_attr *ftm_attr_predefined(const struct ftm *e, const struct ftm_keyval *key);

/* NULL: there is none. */
struct ftm_attr *ftm_attr_find(const struct ftm_comm *comm, const struct ftm_keyval *key);

/* These call the program's functions; each returns what such a function returned, or an MPI class. */
int ftm_attr_put(struct ftm *e, struct ftm_comm *comm, struct ftm_keyval *key, void *value);
int ftm_attr_delete(struct ftm *e, struct ftm_comm *comm, struct ftm_attr *attr);
int ftm_attr_copy_all(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to);
int ftm_attr_delete_all(struct ftm *e, struct ftm_comm *comm);

/* Without the program's functions. */
void ftm_attr_forget_all(struct ftm *e, struct ftm_comm *comm);

void ftm_attr_drop_key(struct ftm *e, struct ftm_keyval *key);

#endif
