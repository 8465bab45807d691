/* pmi.c - version 1 of PMI, the client's side: what launchers speak with the processes that they start. */
#define _POSIX_C_SOURCE 200809L
#include "pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int pmi_write(int fd, const char *line, size_t size)
{
    ssize_t n;

    while (size > 0) {
        n = write(fd, line, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        line += n;
        size -= (size_t)n;
    }
    return 0;
}

/* The next line is in p->line, ended by a NUL. */
static int pmi_read(struct ftm_pmi *p)
{
    char *end;
    ssize_t n;

    p->have = 0; /* a launcher says nothing unasked */
    for (;;) {
        if (p->have == sizeof p->line)
            return -1;
        n = read(p->fd, p->line + p->have, sizeof p->line - p->have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p->have += (size_t)n;
        end = memchr(p->line, '\n', p->have);
        if (end != NULL) {
            *end = '\0';
            return 0;
        }
    }
}

/* The value behind " key=", up to the next blank; NULL: there is none, or it does not fit. */
static const char *pmi_value(const char *line, const char *key, char *out, size_t capacity)
{
    size_t size = strlen(key), n;

    while (line != NULL) {
        line += strspn(line, " ");
        if (strncmp(line, key, size) == 0 && line[size] == '=') {
            n = strcspn(line + size + 1, " ");
            if (n >= capacity)
                return NULL;
            memcpy(out, line + size + 1, n);
            out[n] = '\0';
            return out;
        }
        line = strchr(line, ' ');
    }
    return NULL;
}

/* Says a line, and hears one of this kind with no rc or rc=0. */
static int pmi_ask(struct ftm_pmi *p, const char *line, const char *answer)
{
    char word[64];

    if (pmi_write(p->fd, line, strlen(line)) != 0 || pmi_read(p) != 0
        || pmi_value(p->line, "cmd", word, sizeof word) == NULL || strcmp(word, answer) != 0)
        return -1;
    return pmi_value(p->line, "rc", word, sizeof word) == NULL || strcmp(word, "0") == 0 ? 0 : -1;
}

int ftm_pmi_begin(struct ftm_pmi *p, int fd)
{
    memset(p, 0, sizeof *p);
    p->fd = fd;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0
        || pmi_ask(p, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init") != 0
        || pmi_ask(p, "cmd=get_my_kvsname\n", "my_kvsname") != 0)
        return -1;
    return pmi_value(p->line, "kvsname", p->space, sizeof p->space) != NULL ? 0 : -1;
}

int ftm_pmi_put(struct ftm_pmi *p, const char *key, const char *value)
{
    char line[1400];
    int n = snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", p->space, key, value);

    return n > 0 && (size_t)n < sizeof line ? pmi_ask(p, line, "put_result") : -1;
}

int ftm_pmi_get(struct ftm_pmi *p, const char *key, char *value, size_t capacity)
{
    char line[400];
    int n = snprintf(line, sizeof line, "cmd=get kvsname=%s key=%s\n", p->space, key);

    if (n <= 0 || (size_t)n >= sizeof line || pmi_ask(p, line, "get_result") != 0)
        return -1;
    return pmi_value(p->line, "value", value, capacity) != NULL ? 0 : -1;
}

int ftm_pmi_barrier(struct ftm_pmi *p)
{
    return pmi_ask(p, "cmd=barrier_in\n", "barrier_out");
}

int ftm_pmi_end(int fd)
{
    struct ftm_pmi p;

    memset(&p, 0, sizeof p);
    p.fd = fd;
    return pmi_ask(&p, "cmd=finalize\n", "finalize_ack");
}

void ftm_pmi_abort(int fd, int code)
{
    char line[64];

    snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", code);
    pmi_write(fd, line, strlen(line));
}
