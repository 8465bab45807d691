/* mpi_ulfm.c - the calls of mpi-ext.h, by which a program recovers by itself. */
#include "mpi-ext.h"

#include <limits.h>

#include "fault.h"
#include "mpi_call.h"
#include "mpi_p2p.h"
#include "pump.h"
#include "recover.h"
#include "ulfm.h"

/* As FTM_ALIAS and FTM_CALL, for MPIX_. */
#ifdef FTM_PRAGMA
#define ULFM_ALIAS(name) FTM_PRAGMA(weak MPIX_##name = PMPIX_##name)
#define ULFM_CALL(name) PMPIX_##name
#else
#define ULFM_ALIAS(name)
#define ULFM_CALL(name) MPIX_##name
#endif

static int ulfm_ask(const char *call, MPI_Comm comm, const void *out, struct ftm_comm **c)
{
    int rc = ftm_check_comm(call, comm, c);

    return rc != 0 ? rc : ftm_check_pointer(call, *c, "the result", out);
}

ULFM_ALIAS(Comm_revoke)
int ULFM_CALL(Comm_revoke)(MPI_Comm comm)
{
    struct ftm_comm *c;
    int rc = ftm_check_comm("MPIX_Comm_revoke", comm, &c);

    if (rc != 0)
        return rc;
    ftm_recover_revoke(ftm_this, c);
    ftm_pump_flush(ftm_this);
    return MPI_SUCCESS;
}

ULFM_ALIAS(Comm_is_revoked)
int ULFM_CALL(Comm_is_revoked)(MPI_Comm comm, int *flag)
{
    struct ftm_comm *c;
    int rc = ulfm_ask("MPIX_Comm_is_revoked", comm, flag, &c);

    if (rc != 0)
        return rc;
    ftm_pump_turn(ftm_this); /* a program may do nothing but ask */
    *flag = c->fault.revoked;
    return MPI_SUCCESS;
}

/* ---- Agreements ---------------------------------------------------------------------------------- */

/* An agreement has both sides of an intercommunicator nowhere. */
static int ulfm_check_intra(const char *call, struct ftm_comm *c, MPI_Comm comm)
{
    return c->remote == NULL ? 0 : ftm_fail(c, MPI_ERR_COMM, call, "comm (an intercommunicator)", comm);
}

/* Waits for the request and gives it back. */
static int ulfm_wait(struct ftm_request *r)
{
    int rc = ftm_pump_request(ftm_this, r);

    if (rc == 0)
        rc = r->error;
    ftm_request_free(ftm_this, r);
    return rc;
}

typedef int ulfm_starter(struct ftm *e, struct ftm_comm *c, int *result, struct ftm_request **out);

/* request NULL: the call waits. */
static int ulfm_run(const char *call, MPI_Comm comm, int *result, ulfm_starter *start, MPI_Request *request)
{
    struct ftm_request *r;
    struct ftm_comm *c;
    int rc = ulfm_ask(call, comm, result, &c);

    if (rc != 0 || (rc = ulfm_check_intra(call, c, comm)) != 0)
        return rc;
    if ((rc = start(ftm_this, c, result, &r)) == 0 && request != NULL)
        return ftm_p2p_hand(call, r, request);
    if (rc == 0)
        rc = ulfm_wait(r);
    return rc == 0 ? 0 : ftm_fail(c, rc, call, NULL, 0);
}

ULFM_ALIAS(Comm_shrink)
int ULFM_CALL(Comm_shrink)(MPI_Comm comm, MPI_Comm *newcomm)
{
    return ulfm_run("MPIX_Comm_shrink", comm, newcomm, ftm_ulfm_shrink, NULL);
}

ULFM_ALIAS(Comm_agree)
int ULFM_CALL(Comm_agree)(MPI_Comm comm, int *flag)
{
    return ulfm_run("MPIX_Comm_agree", comm, flag, ftm_ulfm_agree, NULL);
}

static int ulfm_begin(const char *call, MPI_Comm comm, int *result, ulfm_starter *start, MPI_Request *request)
{
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "request", request)) != 0)
        return rc;
    *request = MPI_REQUEST_NULL;
    return ulfm_run(call, comm, result, start, request);
}

ULFM_ALIAS(Comm_ishrink)
int ULFM_CALL(Comm_ishrink)(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return ulfm_begin("MPIX_Comm_ishrink", comm, newcomm, ftm_ulfm_shrink, request);
}

ULFM_ALIAS(Comm_iagree)
int ULFM_CALL(Comm_iagree)(MPI_Comm comm, int *flag, MPI_Request *request)
{
    return ulfm_begin("MPIX_Comm_iagree", comm, flag, ftm_ulfm_agree, request);
}

/* ---- Acknowledging ------------------------------------------------------------------------------- */

static int ulfm_give_group(const char *call, struct ftm_comm *c, int most, MPI_Group *group)
{
    struct ftm_group *g = ftm_ulfm_failed(ftm_this, c, most);

    *group = MPI_GROUP_NULL;
    if (g == NULL || ftm_table_add(&ftm_this->handles, FTM_GROUP, g, group) != 0) {
        ftm_group_drop(ftm_this, g);
        return ftm_fail(c, MPI_ERR_INTERN, call, NULL, 0);
    }
    return MPI_SUCCESS;
}

ULFM_ALIAS(Comm_failure_ack)
int ULFM_CALL(Comm_failure_ack)(MPI_Comm comm)
{
    struct ftm_comm *c;
    int rc = ftm_check_comm("MPIX_Comm_failure_ack", comm, &c);

    if (rc == 0)
        ftm_ulfm_acknowledge(c, INT_MAX);
    return rc;
}

ULFM_ALIAS(Comm_failure_get_acked)
int ULFM_CALL(Comm_failure_get_acked)(MPI_Comm comm, MPI_Group *failedgrp)
{
    static const char call[] = "MPIX_Comm_failure_get_acked";
    struct ftm_comm *c;
    int rc = ulfm_ask(call, comm, failedgrp, &c);

    return rc != 0 ? rc : ulfm_give_group(call, c, ftm_ulfm_acknowledged(c), failedgrp);
}

ULFM_ALIAS(Comm_get_failed)
int ULFM_CALL(Comm_get_failed)(MPI_Comm comm, MPI_Group *failedgrp)
{
    static const char call[] = "MPIX_Comm_get_failed";
    struct ftm_comm *c;
    int rc = ulfm_ask(call, comm, failedgrp, &c);

    if (rc != 0)
        return rc;
    ftm_pump_turn(ftm_this);
    return ulfm_give_group(call, c, INT_MAX, failedgrp);
}

ULFM_ALIAS(Comm_ack_failed)
int ULFM_CALL(Comm_ack_failed)(MPI_Comm comm, int num_to_ack, int *num_acked)
{
    static const char call[] = "MPIX_Comm_ack_failed";
    struct ftm_comm *c;
    int rc = ulfm_ask(call, comm, num_acked, &c);

    if (rc != 0)
        return rc;
    if (num_to_ack < 0)
        return ftm_fail(c, MPI_ERR_ARG, call, "num_to_ack", num_to_ack);
    *num_acked = ftm_ulfm_acknowledge(c, num_to_ack);
    return MPI_SUCCESS;
}
