/* mpi_init.c - the calls that begin and end MPI in a process, and tell about it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "job.h"
#include "mpi_call.h"
#include "pump.h"
#include "recover.h"

#define INIT_ABORT_US 2000000u
#define INIT_DRAIN_US 2000000u

/* The one variable: NULL before MPI_Init, and the address of init_over after MPI_Finalize. */
struct ftm *ftm_this;
static const struct ftm init_over;

static int init_is_over(void)
{
    return ftm_this == &init_over;
}

int ftm_check_init(const char *call)
{
    if (ftm_this != NULL && !init_is_over())
        return 0;
    fprintf(stderr, "ftmpi: %s was called %s\n", call,
            init_is_over() ? "after MPI_Finalize" : "before MPI_Init");
    exit(1);
}

static void init_die(const char *what, const char *why)
{
    fprintf(stderr, "ftmpi: %s: %s\n", what, why);
    exit(1);
}

/* The job ends, and so does this process. */
static void init_on_end(void *user, int code, const char *line)
{
    const char *core = getenv("MPI_ABORT_CORE");

    (void)user;
    if (line != NULL)
        fprintf(stderr, "ftmpi: %s\n", line);
    fflush(NULL);
    if (ftm_this != NULL)
        ftm_job_abort(ftm_this->config.pmi_fd, code);
    if (core != NULL && strcmp(core, "1") == 0)
        abort();
    _exit(code & 0xff ? code & 0xff : 1);
}

/* One write for a line, since many processes share the place that it goes to. */
static void init_on_trace(void *user, const char *line)
{
    char text[352];
    const struct ftm_config *c = ftm_this != NULL ? &ftm_this->config : user;
    int n = snprintf(text, sizeof text, "ftmpi: %.6f rank %d.%d: %s\n", (double)phx_now_us() / 1e6, c->rank,
                     c->life, line);

    if (n > 0)
        (void)!write(2, text, (size_t)n);
}

static int init_is_ready(void *arg)
{
    return ftm_ready(arg);
}

static int init_has_begun(void *arg)
{
    const struct ftm *e = arg;

    return ftm_ready(e) || e->notice.begun;
}

static void init_start(void)
{
    struct ftm_environ v;

    if (ftm_environ_read(&v) != 0)
        init_die("MPI_Init", v.problem);
    v.config.on_end = init_on_end;
    v.config.on_trace = v.trace ? init_on_trace : NULL;
    v.config.user = &v.config; /* until ftm_this is there */
    if (ftm_job_begin(&ftm_this, &v) != 0)
        init_die("MPI_Init", v.problem);
    memset(v.key, 0, sizeof v.key);
    ftm_pump_for(ftm_this, v.start_wait_us, init_has_begun, ftm_this);
    if (!init_has_begun(ftm_this))
        init_die("MPI_Init", v.config.arbiter != 0 ? "the launcher does not answer, or not all processes came"
                                                   : "rank 0 does not answer, or not all processes came");
    ftm_pump_until(ftm_this, init_is_ready, ftm_this); /* started again: as long as the others take */
}

FTM_ALIAS(Init)
int FTM_CALL(Init)(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (init_is_over())
        init_die("MPI_Init", "called after MPI_Finalize");
    if (ftm_this != NULL)
        return ftm_fail(NULL, MPI_ERR_UNKNOWN, "MPI_Init", "(a second time)", 0);
    init_start();
    return ftm_this->config.life > 0 ? MPI_INIT_RESTARTED_NODE : MPI_SUCCESS;
}

FTM_ALIAS(Init_thread)
int FTM_CALL(Init_thread)(int *argc, char ***argv, int required, int *provided)
{
    int rc = FTM_CALL(Init)(argc, argv);

    if ((rc == MPI_SUCCESS || rc == MPI_INIT_RESTARTED_NODE) && provided != NULL)
        *provided = required < MPI_THREAD_FUNNELED ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
    return rc;
}

FTM_ALIAS(Query_thread)
int FTM_CALL(Query_thread)(int *provided)
{
    int rc = ftm_check_init("MPI_Query_thread");

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Query_thread", NULL, "provided", provided)) != 0)
        return rc;
    *provided = MPI_THREAD_FUNNELED;
    return MPI_SUCCESS;
}

FTM_ALIAS(Initialized)
int FTM_CALL(Initialized)(int *flag)
{
    *flag = ftm_this != NULL;
    return MPI_SUCCESS;
}

FTM_ALIAS(Finalized)
int FTM_CALL(Finalized)(int *flag)
{
    *flag = init_is_over();
    return MPI_SUCCESS;
}

/* ---- The end ----------------------------------------------------------------------------------- */

static int init_has_sent(void *arg)
{
    return ftm_has_sent(arg);
}

static int init_is_finished(void *arg)
{
    return ftm_finished(arg);
}

static int init_is_closed(void *arg)
{
    return ftm_closed(arg);
}

/* All are told by one message that all have come here, so nothing that was sent is still wanted by anybody.
 * Only rank 0 of a job without a launcher has to see that this message arrives. */
FTM_ALIAS(Finalize)
int FTM_CALL(Finalize)(void)
{
    int rc = ftm_check_init("MPI_Finalize");

    if (rc != 0)
        return rc;
    if ((rc = ftm_attr_delete_all(ftm_this, ftm_this->self)) != 0)
        return ftm_fail(NULL, rc, "MPI_Finalize", "(an attribute of MPI_COMM_SELF)", 0);
    if (ftm_recover_finalize(ftm_this) == 0 && ftm_pump_until(ftm_this, init_has_sent, ftm_this) == 0) {
        ftm_finalize(ftm_this);
        ftm_pump_until(ftm_this, init_is_finished, ftm_this);
        ftm_close(ftm_this, ftm_this->start.arbiter != NULL ? INIT_DRAIN_US : 0);
        ftm_pump_for(ftm_this, INIT_DRAIN_US, init_is_closed, ftm_this);
    }
    ftm_job_end(ftm_this->config.pmi_fd);
    ftm_free(ftm_this);
    ftm_this = (struct ftm *)(uintptr_t)&init_over;
    return MPI_SUCCESS;
}

static int init_never(void *arg)
{
    (void)arg;
    return 0;
}

/* The launcher says the line and ends us; if it does not, we end by ourselves. */
void ftm_end_now(struct ftm *e, int code, const char *line)
{
    ftm_abort(e, code, line);
    ftm_pump_for(e, INIT_ABORT_US, init_never, NULL);
    ftm_end(e, code, "rank %d: %s", e->config.rank, line);
    ftm_step(e, phx_now_us(), NULL, 0);
    _exit(1); /* where an engine was made without a way to end the process */
}

FTM_ALIAS(Abort)
int FTM_CALL(Abort)(MPI_Comm comm, int errorcode)
{
    char line[64];

    (void)comm;
    ftm_check_init("MPI_Abort");
    snprintf(line, sizeof line, "called MPI_Abort with %d", errorcode);
    ftm_end_now(ftm_this, errorcode, line);
    return MPI_ERR_INTERN;
}

/* ---- Telling ----------------------------------------------------------------------------------- */

FTM_ALIAS(Wtime)
double FTM_CALL(Wtime)(void)
{
    return (double)phx_now_us() / 1e6;
}

FTM_ALIAS(Wtick)
double FTM_CALL(Wtick)(void)
{
    return 1e-6;
}

FTM_ALIAS(Get_processor_name)
int FTM_CALL(Get_processor_name)(char *name, int *resultlen)
{
    int rc = ftm_check_init("MPI_Get_processor_name");
    char host[MPI_MAX_PROCESSOR_NAME];

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Get_processor_name", NULL, "name", name)) != 0
        || (rc = ftm_check_pointer("MPI_Get_processor_name", NULL, "resultlen", resultlen)) != 0)
        return rc;
    memset(host, 0, sizeof host);
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "host %d", ftm_this->config.host);
    *resultlen = (int)strlen(host);
    memcpy(name, host, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}

FTM_ALIAS(Get_version)
int FTM_CALL(Get_version)(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

FTM_ALIAS(Get_library_version)
int FTM_CALL(Get_library_version)(char *version, int *resultlen)
{
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "ftmpi over Phoenix %s", phx_version());
    return MPI_SUCCESS;
}

/* The level is for tools that bring a call of their own under this name. */
FTM_ALIAS(Pcontrol)
int FTM_CALL(Pcontrol)(const int level, ...)
{
    (void)level;
    return ftm_check_init("MPI_Pcontrol");
}
