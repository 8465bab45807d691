/* environ.c - what a process is told by its launcher through the environment. */
#define _POSIX_C_SOURCE 200809L
#include "environ.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a call looks before it sleeps: where each rank of this host has a core, and where not. Between
 * two looks it gives its core away, so that ranks that share one change places faster than by sleeping; so
 * that is the time for each rank on a core. With 20 us for eight ranks on two cores each slept once in an
 * agreement, whose tree is gone through four times; with 100 us one in twenty does. */
#define ENVIRON_PATIENCE_US 50
#define ENVIRON_CROWDED_US 25
#define ENVIRON_CROWDED_MOST_US 100

/* A hub that does not answer for so long, in seconds, is not there. */
#define ENVIRON_START_S 60
/* A rank without a way to the launcher for so long ends by itself. */
#define ENVIRON_CUT_S 60

/* A number in the environment, `missing` if it is not there. 0, or -1: it is none, or out of its range. */
static int environ_number(struct ftm_environ *v, const char *name, int base, uint64_t missing, uint64_t most,
                          uint64_t *out)
{
    const char *text = getenv(name);
    unsigned long long value;
    char *end;

    *out = missing;
    if (text == NULL || *text == '\0')
        return 0;
    errno = 0;
    value = strtoull(text, &end, base);
    if (*text == '-' || *end != '\0' || errno != 0 || value > most) {
        snprintf(v->problem, sizeof v->problem, "%s=%.40s is no number that it can have", name, text);
        return -1;
    }
    *out = value;
    return 0;
}

static int environ_int(struct ftm_environ *v, const char *name, int missing, int most, int *out)
{
    uint64_t value;

    if (environ_number(v, name, 10, (uint64_t)missing, (uint64_t)most, &value) != 0)
        return -1;
    *out = (int)value;
    return 0;
}

/* The whole of the descriptor is the key. It is closed, so that no child of the program has it. */
static int environ_key(struct ftm_environ *v)
{
    size_t size = 0;
    ssize_t n;
    int fd;

    if (environ_int(v, "FTMPI_KEY_FD", 0, 1 << 20, &fd) != 0)
        return -1;
    if (fd == 0)
        return 0;
    while (size < sizeof v->key) {
        n = read(fd, v->key + size, sizeof v->key - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    close(fd);
    if (size < PHX_KEY_MIN) {
        snprintf(v->problem, sizeof v->problem, "FTMPI_KEY_FD=%d holds no key", fd);
        return -1;
    }
    v->config.key = v->key;
    v->config.key_size = size;
    return 0;
}

static int environ_is_loopback(const char *hubs)
{
    return strstr(hubs, "//127.") != NULL || strstr(hubs, "//[::1]") != NULL
        || strstr(hubs, "//localhost") != NULL || strncmp(hubs, "unix:", 5) == 0;
}

/* FTMPI_LOCAL tells how many ranks this host has; without it all may be here. */
static int environ_patience(struct ftm_environ *v)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t patience = ENVIRON_PATIENCE_US;
    int local;

    if (environ_int(v, "FTMPI_LOCAL", v->config.size, 1 << 24, &local) != 0)
        return -1;
    v->config.crowded = local > cores;
    if (v->config.crowded) {
        patience = ENVIRON_CROWDED_US * (uint64_t)local / (uint64_t)(cores > 0 ? cores : 1);
        if (patience > ENVIRON_CROWDED_MOST_US)
            patience = ENVIRON_CROWDED_MOST_US;
    }
    return environ_number(v, "FTMPI_SPIN", 10, patience, 1000000000u, &v->config.patience_us);
}

static int environ_job(struct ftm_environ *v)
{
    struct ftm_config *c = &v->config;
    uint64_t job;

    if (environ_number(v, "FTMPI_JOB", 16, 0, 0x3ffffff, &job) != 0
        || environ_int(v, "FTMPI_SIZE", 1, (int)FTM_RANK_MAX, &c->size) != 0
        || environ_int(v, "FTMPI_RANK", 0, (int)FTM_RANK_MAX, &c->rank) != 0
        || environ_int(v, "FTMPI_LIFE", 0, (int)FTM_LIFE_MAX, &c->life) != 0
        || environ_int(v, "FTMPI_HOST", 0, 0x7fffffff, &c->host) != 0
        || environ_int(v, "FTMPI_SITE", 0, 0x7fffffff, &c->site) != 0
        || environ_number(v, "FTMPI_ARBITER", 10, 0, UINT64_MAX, &c->arbiter) != 0)
        return -1;
    c->job = (uint32_t)job;
    return 0;
}

/* A launcher that speaks PMI-1. One that does so over TCP is refused: the process would take itself for a
 * world of one. */
static int environ_pmi(struct ftm_environ *v)
{
    struct ftm_config *c = &v->config;

    if (getenv("FTMPI_RANK") != NULL || getenv("FTMPI_HUB") != NULL)
        return 0;
    if (getenv("PMI_FD") == NULL && getenv("PMI_PORT") != NULL) {
        snprintf(v->problem, sizeof v->problem, "PMI_PORT without PMI_FD: PMI wants a descriptor here");
        return -1;
    }
    if (environ_int(v, "PMI_FD", 0, 1 << 20, &c->pmi_fd) != 0 || c->pmi_fd == 0)
        return c->pmi_fd == 0 && v->problem[0] == '\0' ? 0 : -1;
    if (environ_int(v, "PMI_SIZE", 1, (int)FTM_RANK_MAX, &c->size) != 0
        || environ_int(v, "PMI_RANK", 0, (int)FTM_RANK_MAX, &c->rank) != 0)
        return -1;
    c->listen = "tcp://0.0.0.0:0";
    return 0;
}

/* Nobody would say who has failed, and in which order. */
static int environ_modes(struct ftm_environ *v)
{
    const char *text = getenv("FTMPI_MODE");

    if (text == NULL || *text == '\0')
        return 0;
    if (ftm_modes_read(&v->config.modes, text) != 0) {
        snprintf(v->problem, sizeof v->problem, "FTMPI_MODE=%.40s is none of " FTM_MODES_WORDS, text);
        return -1;
    }
    if (v->config.modes.comm == FTMPI_COMM_MODE_ABORT || v->config.arbiter != 0)
        return 0;
    snprintf(v->problem, sizeof v->problem, "FTMPI_MODE=%.40s wants a launcher that tells who failed: "
             "ftmpirun, or phxrun --ftmpi", text);
    return -1;
}

static int environ_options(struct ftm_environ *v)
{
    struct ftm_config *c = &v->config;
    uint64_t limit, budget, wait, cut;

    if (environ_modes(v) != 0 || environ_int(v, "FTMPI_TRACE", 0, 1, &v->trace) != 0)
        return -1;
    if (environ_int(v, "FTMPI_TCP", 0, 1, &c->tcp) != 0 || environ_int(v, "FTMPI_RING", 1, 1, &c->ring) != 0
        || environ_number(v, "FTMPI_START_WAIT", 10, ENVIRON_START_S, 1000000, &wait) != 0
        || environ_number(v, "FTMPI_CUT_WAIT", 10, ENVIRON_CUT_S, 1000000, &cut) != 0
        || environ_number(v, "FTMPI_EAGER", 10, 0, 1u << 30, &limit) != 0
        || environ_number(v, "FTMPI_BUDGET", 10, 0, 1u << 30, &budget) != 0)
        return -1;
    c->cut_us = cut * 1000000;
    v->start_wait_us = wait * 1000000;
    c->eager_limit = (size_t)limit;
    c->eager_budget = (size_t)budget;
    return environ_patience(v);
}

int ftm_environ_read(struct ftm_environ *v)
{
    struct ftm_config *c = &v->config;

    memset(v, 0, sizeof *v);
    if (gethostname(v->host_name, sizeof v->host_name - 1) == 0)
        c->host_name = v->host_name;
    if (environ_job(v) != 0 || environ_pmi(v) != 0 || environ_options(v) != 0 || environ_key(v) != 0)
        return -1;
    c->hubs = getenv("FTMPI_HUB");
    if (c->rank >= c->size || c->size < 1) {
        snprintf(v->problem, sizeof v->problem, "FTMPI_RANK=%d is no rank of a job of %d", c->rank, c->size);
        return -1;
    }
    if (c->pmi_fd != 0)
        return 0;
    if (c->size > 1 && c->hubs == NULL) {
        snprintf(v->problem, sizeof v->problem, "FTMPI_HUB is missing: nobody to join");
        return -1;
    }
    if (c->size > 1)
        c->listen = environ_is_loopback(c->hubs) ? "tcp://127.0.0.1:0" : "tcp://0.0.0.0:0";
    return 0;
}
