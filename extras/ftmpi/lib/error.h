/* error.h - error handlers, and what is said about an error. */
#ifndef FTM_ERROR_H
#define FTM_ERROR_H

#include "mpi.h"

struct ftm;
struct ftm_comm;

enum ftm_errhandler_kind { FTM_ERRHANDLER_FATAL = 1, FTM_ERRHANDLER_RETURN, FTM_ERRHANDLER_CALL };

struct ftm_errhandler {
    int refs;  /* handles given out, and communicators */
    int given; /* handles given out: made, or got from a communicator */
    int handle;
    int kind;
    MPI_Handler_function *function;
};

int ftm_error_init(struct ftm *e);
void ftm_error_clear(struct ftm *e);
void ftm_error_drop(struct ftm *e, struct ftm_errhandler *h);

/* The text of a class; NULL: there is no such class. */
const char *ftm_error_text(int code);

/* Calls the handler of comm (NULL: of MPI_COMM_WORLD) and returns code, if the handler comes back. A fatal
 * one ends the process with a line that names call, argument (NULL: none) and value. */
int ftm_error_raise(struct ftm *e, struct ftm_comm *comm, int code, const char *call, const char *argument,
                    long long value);

#endif
