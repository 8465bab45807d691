/* start.h - the bytes of HELLO, TABLE, NOTICE and ABORT, which processes and the arbiter exchange. */

#ifndef FTM_START_H
#define FTM_START_H

#include "wire.h"

#include <stddef.h>
#include <stdint.h>

#define FTM_START_VERSION 1
#define FTM_HOST_TEXT 64  /* a host's name with its NUL; a longer one is cut */
#define FTM_ABORT_TEXT 512 /* what a line says of an end, with its NUL */

/* What must be equal at all ranks, since data goes as it lies in memory. */
struct ftm_layout {
    unsigned char order; /* 1: the low byte first; 2: the high one */
    unsigned char size[5]; /* of long, of a pointer, of long double, of wchar_t, alignment of double */
};
void ftm_start_layout(struct ftm_layout *out); /* this process's */

/* Who: life and rank stand in the message's `from`. */
struct ftm_hello {
    struct ftm_layout layout;
    uint32_t job_size, host, site;
    char name[FTM_HOST_TEXT]; /* of the host */
};

/* One row of the table, in the order of ranks. */
struct ftm_seat {
    uint32_t life, host, site;
};

enum ftm_event_kind {
    FTM_EVENT_FINISHED = 1, /* all have called MPI_Finalize */
    FTM_EVENT_ABORT,        /* the job ends: rank, life (whose fault), code, text */
    FTM_EVENT_JOINED,       /* rank, life; text is its host's name */
    FTM_EVENT_FAILED        /* rank, life; code why (wait status), text */
};
#define FTM_EVENT_LAST FTM_EVENT_FAILED

/* Numbered from 1 without gaps. */
struct ftm_event {
    uint32_t number;
    int kind;
    uint32_t rank, life;
    int32_t code;
    char text[FTM_ABORT_TEXT];
};

#define FTM_HELLO_MOST (20 + FTM_HOST_TEXT)
#define FTM_SEAT_SIZE 12u
#define FTM_ABORT_MOST (4 + FTM_ABORT_TEXT)
#define FTM_EVENT_MOST (20 + FTM_ABORT_TEXT)

/* Each `put` returns how many bytes it wrote; each `get` 0, or -1: no such bytes are ever sent. */
size_t ftm_hello_put(unsigned char out[FTM_HELLO_MOST], const struct ftm_hello *h);
int ftm_hello_get(struct ftm_hello *h, const void *data, size_t size);

size_t ftm_seats_put(unsigned char *out, const struct ftm_seat *seats, uint32_t count); /* SEAT_SIZE each */
int ftm_seats_get(struct ftm_seat *seats, uint32_t count, const void *data, size_t size);

size_t ftm_abort_put(unsigned char out[FTM_ABORT_MOST], int32_t code, const char *text);
int ftm_abort_get(int32_t *code, char text[FTM_ABORT_TEXT], const void *data, size_t size);

size_t ftm_event_put(unsigned char out[FTM_EVENT_MOST], const struct ftm_event *e);
int ftm_event_get(struct ftm_event *e, const void *data, size_t size);

#endif
