/* pmi.h - version 1 of PMI, the client's side: what launchers speak with the processes that they start. */
#ifndef FTM_PMI_H
#define FTM_PMI_H

#include <stddef.h>

/* One line each way, "cmd=... key=value ...". All calls block; a launcher that goes away ends them. */
struct ftm_pmi {
    int fd;
    char space[256]; /* the name of the job's store */
    char line[2048];
    size_t have; /* bytes that were read, of which the first line may have been used */
};

/* Each: 0, or -1: the launcher says no, or does not speak PMI-1. */
int ftm_pmi_begin(struct ftm_pmi *p, int fd);
int ftm_pmi_put(struct ftm_pmi *p, const char *key, const char *value); /* without blanks */
int ftm_pmi_get(struct ftm_pmi *p, const char *key, char *value, size_t capacity);
int ftm_pmi_barrier(struct ftm_pmi *p);

/* This process ends well: the launcher need not kill the others. */
int ftm_pmi_end(int fd);
/* It does not. */
void ftm_pmi_abort(int fd, int code);

#endif
