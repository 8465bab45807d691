/* wire.h - the three words of a message, and the bytes of those that are not data. */
#ifndef FTM_WIRE_H
#define FTM_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Phoenix carries three words with each message and interprets only the first:
 *
 *     to    job 26 | role 2 | life 12 | world rank 24      the name of a process
 *     from  generation 28 | life 12 | world rank 24        of the communicator, and who sends
 *     tag   kind 4 | flags 4 | context 25 | tag 31
 *
 * Integers in payloads are little-endian. */

enum ftm_role { FTM_ROLE_PROCESS = 0, FTM_ROLE_ARBITER = 1 };

enum ftm_message_kind {
    FTM_EAGER = 1,  /* the data */
    FTM_ASK,        /* struct ftm_ask, and the data if FTM_FLAG_DATA */
    FTM_GO,         /* struct ftm_go */
    FTM_PART,       /* data; tag: the receiver's number, context: which piece */
    FTM_CREDIT,     /* tag: KiB of eager data taken */
    FTM_WITHDRAW,   /* tag: send number (its low 31 bits) ... FTM_FLAG_ANSWER: the answer, FTM_FLAG_YES: it is withdrawn */
    FTM_AGREE,
    FTM_REVOKE,
    FTM_NOTICE,     /* from the arbiter: number of the first event, events */
    FTM_HELLO,      /* to the arbiter (or rank 0): flags say which, enum ftm_hello_kind */
    FTM_TABLE,      /* the answer: all processes */
    FTM_RING,       /* shared memory: flags say which */
    FTM_OUT         /* you were declared failed: end yourself */
};

enum ftm_flag { FTM_FLAG_DATA = 1, FTM_FLAG_ANSWER = 2, FTM_FLAG_YES = 4 };

enum ftm_hello_kind {
    FTM_HELLO_JOIN = 0, /* struct ftm_hello */
    FTM_HELLO_FINISHED, /* nothing: MPI_Finalize was called */
    FTM_HELLO_ABORT     /* code u32: MPI_Abort was called */
};

struct ftm_words {
    uint32_t generation, life, rank; /* of from */
    uint32_t kind, flags, context, tag;
};

#define FTM_TAG_MAX 0x7fffffff
#define FTM_CONTEXT_MAX 0x1ffffff
#define FTM_RANK_MAX 0xffffff
#define FTM_LIFE_MAX 0xfff

uint64_t ftm_wire_name(uint32_t job, uint32_t role, uint32_t life, uint32_t rank);
uint32_t ftm_wire_name_rank(uint64_t name);
uint32_t ftm_wire_name_life(uint64_t name);
uint32_t ftm_wire_name_role(uint64_t name);
uint32_t ftm_wire_name_job(uint64_t name);

uint64_t ftm_wire_from(const struct ftm_words *w);
uint64_t ftm_wire_tag(const struct ftm_words *w);
void ftm_wire_read(struct ftm_words *w, uint64_t from, uint64_t tag);

void ftm_wire_put32(unsigned char *to, uint32_t value);
void ftm_wire_put64(unsigned char *to, uint64_t value);
uint32_t ftm_wire_get32(const unsigned char *from);
uint64_t ftm_wire_get64(const unsigned char *from);

/* A rendezvous. */
struct ftm_ask {
    uint64_t bytes;
    uint32_t number; /* the sender's */
};
#define FTM_ASK_SIZE 12
void ftm_wire_put_ask(unsigned char *to, const struct ftm_ask *a);
int ftm_wire_get_ask(struct ftm_ask *a, const void *data, size_t size); /* 0, or -1: malformed */

struct ftm_go {
    uint32_t send, receive; /* numbers of both sides */
    uint64_t wanted;        /* bytes from the beginning; 0: none, only the match is acknowledged */
    uint32_t piece;         /* bytes of each PART but the last */
};
#define FTM_GO_SIZE 20
void ftm_wire_put_go(unsigned char *to, const struct ftm_go *g);
int ftm_wire_get_go(struct ftm_go *g, const void *data, size_t size);

/* What a process says of itself when it starts. */
struct ftm_hello {
    uint32_t rank, life, size; /* size: of the job, as it was told */
    uint32_t host, site;
    uint32_t layout; /* byte order and sizes of types: ftm_wire_layout */
};
#define FTM_HELLO_SIZE 24
uint32_t ftm_wire_layout(void);
void ftm_wire_put_hello(unsigned char *to, const struct ftm_hello *h);
int ftm_wire_get_hello(struct ftm_hello *h, const void *data, size_t size);

/* TABLE: size u32, number of the first notice u32, then of each rank life, host, site (u32 each). */
#define FTM_TABLE_HEAD 8
#define FTM_TABLE_ENTRY 12

/* NOTICE: number of the first event u32, then events of FTM_EVENT_SIZE bytes. */
enum ftm_event_kind {
    FTM_EVENT_JOINED = 1, /* rank, life, value: host, site: site */
    FTM_EVENT_FAILED,     /* rank, life; value: how it ended: 0..255 exit status, 256 + signal, or enum ftm_why */
    FTM_EVENT_FINISHED,   /* rank, life */
    FTM_EVENT_ABORT,      /* rank, life: who wants it; value: code */
    FTM_EVENT_REFUSED     /* rank, life: it and rank `site` differ in byte order or types; value: both layouts' xor */
};
enum ftm_why { FTM_WHY_HOST = 1000, FTM_WHY_EARLY = 1001 /* exited with 0 and without MPI_Finalize */ };
struct ftm_event {
    uint32_t kind, rank, life, value, site;
};
#define FTM_NOTICE_HEAD 4
#define FTM_EVENT_SIZE 20
void ftm_wire_put_event(unsigned char *to, const struct ftm_event *v);
void ftm_wire_get_event(struct ftm_event *v, const unsigned char *from);

#endif
