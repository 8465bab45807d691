/* mpi_wait.c - the calls that complete requests, give them back or take them back. */
#include "comm.h"
#include "mpi_call.h"
#include "pump.h"

/* Several requests of one call. A handle that is null, or a persistent request that is not active, counts
 * as one that is not there. */
struct wait_set {
    const char *call;
    int count;
    MPI_Request *handles;
    int done; /* of wait_all_done: those before this one are */
};

static struct ftm_request *wait_request(MPI_Request handle)
{
    return ftm_table_get(&ftm_this->handles, handle, FTM_REQUEST);
}

/* The request behind it if it is active; NULL: nothing to wait for. */
static struct ftm_request *wait_active(MPI_Request handle)
{
    struct ftm_request *r = handle == MPI_REQUEST_NULL ? NULL : wait_request(handle);

    return r != NULL && r->active ? r : NULL;
}

/* The error is a failure's, which the program is told of by it. */
static void wait_tell_fault(const struct ftm_request *r, int error)
{
    if (ftm_fault_is(error))
        ftm_fault_tell(ftm_this, r->order.comm, r->fault);
}

/* A request that is done is told: its status and error, and then it goes or becomes inactive. */
static int wait_tell(MPI_Request *handle, struct ftm_request *r, MPI_Status *status)
{
    int error = r->error;

    wait_tell_fault(r, error);
    ftm_status_out(&r->status, status);
    r->active = 0;
    if (!r->persistent) {
        ftm_table_remove(&ftm_this->handles, *handle, FTM_REQUEST);
        ftm_request_free(ftm_this, r);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

/* What a call gets because of a failure, although the request is not done: it stays then. 0: nothing. */
static int wait_fault(const struct ftm_request *r)
{
    return !r->done && r->order.comm->fault.watch ? ftm_fault_pending(ftm_this, r) : 0;
}

/* One that is not done in a call that ends all the same. */
static int wait_pending(const struct ftm_request *r)
{
    int error = wait_fault(r);

    wait_tell_fault(r, error);
    return error != 0 ? error : MPI_ERR_PENDING;
}

/* The communicator whose handler is told of an error: of the request, if the program still has it. */
static struct ftm_comm *wait_comm(int comm)
{
    return ftm_table_get(&ftm_this->handles, comm, FTM_COMM);
}

static int wait_check(const struct wait_set *s)
{
    int rc = ftm_check_init(s->call), i;

    if (rc != 0 || (rc = ftm_check_count(s->call, NULL, s->count)) != 0)
        return rc;
    if (s->count > 0 && (rc = ftm_check_pointer(s->call, NULL, "requests", s->handles)) != 0)
        return rc;
    for (i = 0; i < s->count; i++)
        if (s->handles[i] != MPI_REQUEST_NULL && wait_request(s->handles[i]) == NULL)
            return ftm_fail(NULL, MPI_ERR_REQUEST, s->call, "request", s->handles[i]);
    return 0;
}

/* One that a failure has ended, or is to end the call for: a call that waits for all is over then, since who
 * was to meet the others may be where the error takes him. */
static int wait_has_fault(const struct wait_set *s)
{
    struct ftm_request *r;
    int i;

    for (i = 0; i < s->count; i++)
        if ((r = wait_active(s->handles[i])) != NULL && (r->done ? ftm_fault_is(r->error) : wait_fault(r)))
            return 1;
    return 0;
}

static int wait_all_done(void *arg)
{
    struct wait_set *s = arg;
    struct ftm_request *r;

    for (; s->done < s->count; s->done++)
        if ((r = wait_active(s->handles[s->done])) != NULL && !r->done)
            return ftm_this->fault.troubles > 0 && wait_has_fault(s);
    return 1;
}

/* Which is the first that is done, or that a failure has a word for; -1: none, but some are active;
 * MPI_UNDEFINED: none is active. */
static int wait_first(const struct wait_set *s)
{
    struct ftm_request *r;
    int found = MPI_UNDEFINED, i;

    for (i = 0; i < s->count; i++) {
        if ((r = wait_active(s->handles[i])) == NULL)
            continue;
        if (r->done)
            return i;
        if (found < 0)
            found = wait_fault(r) != 0 ? i : -1;
    }
    return found;
}

static int wait_any_done(void *arg)
{
    return wait_first(arg) != -1;
}

/* The end of a call that completes at most one. */
static int wait_tell_one(const struct wait_set *s, int which, MPI_Status *status)
{
    struct ftm_request *r = which >= 0 ? wait_active(s->handles[which]) : NULL;
    int rc, comm;

    if (r == NULL) {
        ftm_status_empty(status);
        return 0;
    }
    comm = r->order.comm->handle;
    rc = r->done ? wait_tell(&s->handles[which], r, status) : wait_pending(r);
    return rc == 0 ? 0 : ftm_fail(wait_comm(comm), rc, s->call, NULL, 0);
}

/* The first error of several decides whether this one returns where the program has set no handler. */
static int wait_fail(int comm, int first, int rc, const char *call)
{
    struct ftm_comm *c = wait_comm(comm);

    if (ftm_fault_returns(c != NULL ? c : ftm_this->world, first))
        return rc;
    return ftm_fail(c, rc, call, NULL, 0);
}

/* Tells all that are done; *told of them, their places in indices (NULL: not wanted, then those that are
 * nothing get the empty status). 0, or MPI_ERR_IN_STATUS. */
static int wait_tell_all(const struct wait_set *s, int *told, int *indices, MPI_Status *statuses)
{
    int rc, first = 0, comm = MPI_COMM_NULL, i, error;

    *told = 0;
    for (i = 0; i < s->count; i++) {
        struct ftm_request *r = wait_active(s->handles[i]);
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
                                                             : &statuses[indices != NULL ? *told : i];
        int which = r != NULL ? r->order.comm->handle : MPI_COMM_NULL;

        if (r == NULL && indices == NULL)
            ftm_status_empty(status);
        if (indices != NULL && (r == NULL || (!r->done && wait_fault(r) == 0)))
            continue;
        error = r == NULL ? 0 : r->done ? wait_tell(&s->handles[i], r, status) : wait_pending(r);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
        if (indices != NULL)
            indices[*told] = i;
        ++*told;
        if (error != 0 && (first == 0 || first == MPI_ERR_PENDING)) {
            first = error;
            comm = which;
        }
    }
    rc = first == 0 || statuses == MPI_STATUSES_IGNORE ? first : MPI_ERR_IN_STATUS;
    return rc == 0 ? 0 : wait_fail(comm, first, rc, s->call);
}

static struct wait_set wait_make(const char *call, int count, MPI_Request *handles)
{
    struct wait_set s;

    s.call = call;
    s.count = count;
    s.handles = handles;
    s.done = 0;
    return s;
}

static int wait_pump(const struct wait_set *s, int (*met)(void *arg))
{
    struct wait_set copy = *s;
    int rc = ftm_pump_until(ftm_this, met, &copy);

    return rc == 0 ? 0 : ftm_fail(NULL, rc, s->call, NULL, 0);
}

/* ---- One --------------------------------------------------------------------------------------- */

FTM_ALIAS(Wait)
int FTM_CALL(Wait)(MPI_Request *request, MPI_Status *status)
{
    struct wait_set s = wait_make("MPI_Wait", 1, request);
    int rc;

    if ((rc = wait_check(&s)) != 0 || (rc = wait_pump(&s, wait_all_done)) != 0)
        return rc;
    return wait_tell_one(&s, 0, status);
}

FTM_ALIAS(Test)
int FTM_CALL(Test)(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct wait_set s = wait_make("MPI_Test", 1, request);
    struct ftm_request *r;
    int rc = wait_check(&s);

    if (rc != 0 || (rc = ftm_check_pointer(s.call, NULL, "flag", flag)) != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    if (!wait_all_done(&s)) {
        *flag = 0;
        return 0;
    }
    r = wait_active(*request);
    *flag = r == NULL || r->done;
    return wait_tell_one(&s, 0, status);
}

/* ---- All --------------------------------------------------------------------------------------- */

FTM_ALIAS(Waitall)
int FTM_CALL(Waitall)(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    struct wait_set s = wait_make("MPI_Waitall", count, array_of_requests);
    int rc, told;

    if ((rc = wait_check(&s)) != 0 || (rc = wait_pump(&s, wait_all_done)) != 0)
        return rc;
    return wait_tell_all(&s, &told, NULL, array_of_statuses);
}

FTM_ALIAS(Testall)
int FTM_CALL(Testall)(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[])
{
    struct wait_set s = wait_make("MPI_Testall", count, array_of_requests);
    int rc = wait_check(&s), told;

    if (rc != 0 || (rc = ftm_check_pointer(s.call, NULL, "flag", flag)) != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    *flag = wait_all_done(&s);
    return *flag ? wait_tell_all(&s, &told, NULL, array_of_statuses) : 0;
}

/* ---- Any --------------------------------------------------------------------------------------- */

FTM_ALIAS(Waitany)
int FTM_CALL(Waitany)(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    struct wait_set s = wait_make("MPI_Waitany", count, array_of_requests);
    int rc;

    if ((rc = wait_check(&s)) != 0 || (rc = ftm_check_pointer(s.call, NULL, "index", index)) != 0
        || (rc = wait_pump(&s, wait_any_done)) != 0)
        return rc;
    *index = wait_first(&s);
    return wait_tell_one(&s, *index, status);
}

FTM_ALIAS(Testany)
int FTM_CALL(Testany)(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    struct wait_set s = wait_make("MPI_Testany", count, array_of_requests);
    int rc;

    if ((rc = wait_check(&s)) != 0 || (rc = ftm_check_pointer(s.call, NULL, "index", index)) != 0
        || (rc = ftm_check_pointer(s.call, NULL, "flag", flag)) != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    *index = wait_first(&s);
    *flag = *index != -1;
    if (*index == -1)
        *index = MPI_UNDEFINED;
    return *flag ? wait_tell_one(&s, *index, status) : 0;
}

/* ---- Some -------------------------------------------------------------------------------------- */

static int wait_tell_some(const struct wait_set *s, int *outcount, int *indices, MPI_Status *statuses)
{
    if (wait_first(s) == MPI_UNDEFINED) {
        *outcount = MPI_UNDEFINED;
        return 0;
    }
    return wait_tell_all(s, outcount, indices, statuses);
}

static int wait_check_some(const struct wait_set *s, const int *outcount, const int *indices)
{
    int rc = wait_check(s);

    if (rc != 0 || (rc = ftm_check_pointer(s->call, NULL, "outcount", outcount)) != 0)
        return rc;
    return s->count == 0 ? 0 : ftm_check_pointer(s->call, NULL, "indices", indices);
}

FTM_ALIAS(Waitsome)
int FTM_CALL(Waitsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                       MPI_Status array_of_statuses[])
{
    struct wait_set s = wait_make("MPI_Waitsome", incount, array_of_requests);
    int rc;

    if ((rc = wait_check_some(&s, outcount, array_of_indices)) != 0
        || (rc = wait_pump(&s, wait_any_done)) != 0)
        return rc;
    return wait_tell_some(&s, outcount, array_of_indices, array_of_statuses);
}

FTM_ALIAS(Testsome)
int FTM_CALL(Testsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                       MPI_Status array_of_statuses[])
{
    struct wait_set s = wait_make("MPI_Testsome", incount, array_of_requests);
    int rc;

    if ((rc = wait_check_some(&s, outcount, array_of_indices)) != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    return wait_tell_some(&s, outcount, array_of_indices, array_of_statuses);
}

/* ---- Giving and taking back -------------------------------------------------------------------- */

static int wait_check_one(const char *call, MPI_Request *request, struct ftm_request **r)
{
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "request", request)) != 0)
        return rc;
    *r = wait_request(*request);
    return *r != NULL ? 0 : ftm_fail(NULL, MPI_ERR_REQUEST, call, "request", *request);
}

FTM_ALIAS(Request_free)
int FTM_CALL(Request_free)(MPI_Request *request)
{
    struct ftm_request *r;
    int rc = wait_check_one("MPI_Request_free", request, &r);

    if (rc != 0)
        return rc;
    ftm_table_remove(&ftm_this->handles, *request, FTM_REQUEST);
    ftm_request_free(ftm_this, r);
    *request = MPI_REQUEST_NULL;
    return 0;
}

FTM_ALIAS(Cancel)
int FTM_CALL(Cancel)(MPI_Request *request)
{
    struct ftm_request *r;
    int rc = wait_check_one("MPI_Cancel", request, &r);

    if (rc != 0)
        return rc;
    if (!r->active)
        return ftm_fail(NULL, MPI_ERR_REQUEST, "MPI_Cancel", "request", *request);
    ftm_request_cancel(ftm_this, r);
    ftm_pump_flush(ftm_this);
    return 0;
}

FTM_ALIAS(Test_cancelled)
int FTM_CALL(Test_cancelled)(const MPI_Status *status, int *flag)
{
    int rc = ftm_check_init("MPI_Test_cancelled");

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Test_cancelled", NULL, "status", status)) != 0
        || (rc = ftm_check_pointer("MPI_Test_cancelled", NULL, "flag", flag)) != 0)
        return rc;
    *flag = status->ftm_cancelled;
    return 0;
}
