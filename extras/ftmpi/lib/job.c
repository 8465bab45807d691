/* job.c - how a process finds the others of its job, by what its launcher tells it. */
#define _POSIX_C_SOURCE 200809L
#include "job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmi.h"

/* A launcher of ours sets FTMPI_HUB, and there is nothing to find out. One that speaks PMI-1 has a store for
 * the job: rank 0 listens, draws a key for the cluster and puts both there, so whoever can read the store can
 * join the job. It is hub and arbiter then. */

#define JOB_KEY_SIZE 32
#define JOB_KEY "ftmpi-hub"

static int job_fail(struct ftm_environ *v, const char *why)
{
    snprintf(v->problem, sizeof v->problem, "%s", why);
    return -1;
}

static int job_make(struct ftm **out, struct ftm_environ *v)
{
    int err = ftm_new(out, &v->config, phx_now_us());

    if (err == 0)
        return 0;
    if (err == PHX_EINSECURE)
        return job_fail(v, "FTMPI_HUB is not on this host alone, and FTMPI_KEY_FD gives no key");
    return job_fail(v, err < 0 ? phx_strerror(err) : "out of memory");
}

static int job_draw_key(struct ftm_environ *v)
{
    int fd = open("/dev/urandom", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, v->key, JOB_KEY_SIZE);

    if (fd >= 0)
        close(fd);
    v->config.key = v->key;
    v->config.key_size = JOB_KEY_SIZE;
    return n == JOB_KEY_SIZE ? 0 : job_fail(v, "no random bytes for a key");
}

/* "port,host,key": blanks separate what PMI says. */
static int job_publish(const struct ftm *e, struct ftm_environ *v, struct ftm_pmi *p)
{
    struct phx_address at;
    char text[256];
    int n, i;

    if (phx_listening(e->node, 0, &at) != 0)
        return job_fail(v, "no address to be found at");
    n = snprintf(text, sizeof text, "%u,%.63s,", (unsigned)at.port,
                 v->host_name[0] != '\0' ? v->host_name : "-");
    for (i = 0; i < JOB_KEY_SIZE; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%02x", v->key[i]);
    if (ftm_pmi_put(p, JOB_KEY, text) != 0 || ftm_pmi_barrier(p) != 0)
        return job_fail(v, "the launcher's PMI takes no address");
    return 0;
}

/* The same host is tried as well as the host's name, which need not be known here. */
static int job_look_up(struct ftm_environ *v, struct ftm_pmi *p)
{
    char text[256], host[64];
    unsigned port, byte;
    int i, n = 0;

    if (ftm_pmi_barrier(p) != 0 || ftm_pmi_get(p, JOB_KEY, text, sizeof text) != 0)
        return job_fail(v, "the launcher's PMI has no address of rank 0");
    if (sscanf(text, "%u,%63[^,],%n", &port, host, &n) != 2 || n == 0 || port > 65535
        || strlen(text + n) != 2 * JOB_KEY_SIZE)
        return job_fail(v, "the launcher's PMI gives an address that rank 0 never put");
    for (i = 0; i < JOB_KEY_SIZE; i++) {
        if (sscanf(text + n + 2 * i, "%2x", &byte) != 1)
            return job_fail(v, "the launcher's PMI gives a key that rank 0 never put");
        v->key[i] = (unsigned char)byte;
    }
    v->config.key = v->key;
    v->config.key_size = JOB_KEY_SIZE;
    snprintf(v->hubs, sizeof v->hubs, "tcp://127.0.0.1:%u tcp://%s:%u", port, host, port);
    v->config.hubs = v->hubs;
    return 0;
}

static int job_begin_pmi(struct ftm **out, struct ftm_environ *v)
{
    struct ftm_pmi p;

    if (ftm_pmi_begin(&p, v->config.pmi_fd) != 0)
        return job_fail(v, "PMI_FD is set, and the launcher does not speak PMI-1 there");
    if (v->config.size == 1)
        return job_make(out, v);
    if (v->config.rank > 0)
        return job_look_up(v, &p) != 0 ? -1 : job_make(out, v);
    v->config.hubs = "";
    if (job_draw_key(v) != 0 || job_make(out, v) != 0)
        return -1;
    return job_publish(*out, v, &p);
}

int ftm_job_begin(struct ftm **out, struct ftm_environ *v)
{
    return v->config.pmi_fd != 0 ? job_begin_pmi(out, v) : job_make(out, v);
}

void ftm_job_end(int pmi_fd)
{
    if (pmi_fd != 0 && ftm_pmi_end(pmi_fd) != 0)
        fprintf(stderr, "ftmpi: MPI_Finalize: the launcher does not answer\n");
}

void ftm_job_abort(int pmi_fd, int code)
{
    if (pmi_fd != 0)
        ftm_pmi_abort(pmi_fd, code);
}
