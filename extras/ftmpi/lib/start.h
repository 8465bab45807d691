/* start.h - the bytes of HELLO, TABLE, NOTICE, SPAWN and ABORT, between processes and the arbiter. */

#ifndef FTM_START_H
#define FTM_START_H

#include "wire.h"

#include <stddef.h>
#include <stdint.h>

#define FTM_START_VERSION 2
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

/* One row of the table, in the order of ranks: who sits there, or sat there last. */
struct ftm_seat {
    uint32_t life, host, site;
    uint32_t failed; /* 1: that one is dead */
};

struct ftm_seats_head {
    uint32_t number;     /* of the last event that the table knows */
    uint32_t generation; /* of struct ftm_spawn, for who was started again; else 0 */
};

/* Which process is wanted, and in which generation of MPI_COMM_WORLD it begins. */
struct ftm_spawn {
    uint32_t rank, life, generation;
};

enum ftm_event_kind {
    FTM_EVENT_FINISHED = 1, /* all that live have called MPI_Finalize */
    FTM_EVENT_ABORT,        /* the job ends: rank, life (whose fault), code, text */
    FTM_EVENT_JOINED,       /* rank, life, host, site; code the generation of its SPAWN; text its host */
    FTM_EVENT_FAILED,       /* rank, life; code why (an exit status, or minus a signal), text */
    FTM_EVENT_NOSPAWN,      /* rank, life (that was wanted); text why it cannot be started */
    FTM_EVENT_CLOSING       /* the others end: who has not come out of MPI_Init yet is not wanted any more */
};
#define FTM_EVENT_LAST FTM_EVENT_CLOSING

/* Numbered from 1 without gaps. A NOTICE holds one or more, which are acted upon together. */
struct ftm_event {
    uint32_t number;
    int kind;
    uint32_t rank, life, host, site;
    int32_t code;
    char text[FTM_ABORT_TEXT];
};

#define FTM_HELLO_MOST (20 + FTM_HOST_TEXT)
#define FTM_SEATS_HEAD 8u
#define FTM_SEAT_SIZE 16u
#define FTM_SPAWN_SIZE 12u
#define FTM_ABORT_MOST (4 + FTM_ABORT_TEXT)
#define FTM_EVENT_MOST (32 + FTM_ABORT_TEXT)

/* Each `put` returns how many bytes it wrote; each `get` 0, or -1: no such bytes are ever sent. */
size_t ftm_hello_put(unsigned char out[FTM_HELLO_MOST], const struct ftm_hello *h);
int ftm_hello_get(struct ftm_hello *h, const void *data, size_t size);

/* A TABLE is a head and a row for each rank. */
size_t ftm_seats_head_put(unsigned char out[FTM_SEATS_HEAD], const struct ftm_seats_head *head);
size_t ftm_seat_put(unsigned char out[FTM_SEAT_SIZE], const struct ftm_seat *seat);
int ftm_seats_get(struct ftm_seats_head *head, struct ftm_seat *seats, uint32_t count, const void *data,
                  size_t size);

size_t ftm_spawn_put(unsigned char out[FTM_SPAWN_SIZE], const struct ftm_spawn *s);
int ftm_spawn_get(struct ftm_spawn *s, const void *data, size_t size);

size_t ftm_ask_put(unsigned char out[4], uint32_t number);
int ftm_ask_get(uint32_t *number, const void *data, size_t size);

size_t ftm_abort_put(unsigned char out[FTM_ABORT_MOST], int32_t code, const char *text);
int ftm_abort_get(int32_t *code, char text[FTM_ABORT_TEXT], const void *data, size_t size);

size_t ftm_event_put(unsigned char out[FTM_EVENT_MOST], const struct ftm_event *e);
/* Takes the first event from what is left of a NOTICE. */
int ftm_event_take(struct ftm_event *e, const unsigned char **data, size_t *size);

#endif
