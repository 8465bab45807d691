/* wire.h - names, envelopes and kinds of message: what the three 64-bit words of Phoenix mean here. */

/*      to    = name of the receiver: job 26 | role 2 | life 12 | world rank 24
 *      from  = generation of the communicator 28 | life 12 | world rank 24
 *      tag   = kind 4 | flags 4 | context 25 | MPI tag 31
 *
 * The lowest bit of the context tells collective (1) from point-to-point traffic. Integers in payloads are
 * little-endian. */
#ifndef FTM_WIRE_H
#define FTM_WIRE_H

#include <stdint.h>

enum ftm_role { FTM_PROCESS = 0, FTM_ARBITER = 1 };

/* Kinds of message. A kind with several names tells them apart by its flags. */
enum ftm_kind {
    FTM_EAGER = 1, /* the data */
    FTM_ASK,       /* rendezvous, or a synchronous send: the envelope for matching */
    FTM_GO,        /* it was matched */
    FTM_PART,      /* a piece of large data */
    FTM_CREDIT,    /* eager data taken, in the tag's place */
    FTM_WITHDRAW,  /* MPI_Cancel of an ASK; its answer */
    FTM_AGREE,     /* agreement */
    FTM_REVOKE,    /* revoked; enters its recovery */
    FTM_NOTICE,    /* of the arbiter: numbered events */
    FTM_START,     /* enum ftm_start in the flags */
    FTM_RING,      /* rings: offer, switch, bell */
    FTM_OUT        /* to one that was declared failed */
};

enum ftm_start {
    FTM_START_HELLO,     /* process to arbiter: here I am */
    FTM_START_TABLE,     /* arbiter to all: who is where; MPI_Init is over */
    FTM_START_FINALIZED, /* process to arbiter: MPI_Finalize was called */
    FTM_START_ABORT,     /* process to arbiter: MPI_Abort, or a fatal error: code and text */
    FTM_START_SPAWN,     /* process to arbiter: start this seat again, as this life: struct ftm_spawn */
    FTM_START_ASK,       /* process to arbiter: NOTICEs from this number on did not come (4 bytes) */
    FTM_START_MODES      /* process to arbiter: a communicator has another mode than ABORT now */
};

#define FTM_FLAG_REST 1u /* of a NOTICE: the answer to ASK */

#define FTM_JOB_MAX 0x3ffffffu
#define FTM_LIFE_MAX 0xfffu
#define FTM_RANK_MAX 0xffffffu
#define FTM_CONTEXT_MAX 0x1ffffffu
#define FTM_TAG_MAX 0x7fffffffu
#define FTM_GENERATION_MAX 0xfffffffu

#define FTM_NAME(job, role, life, rank)                                                           \
    ((uint64_t)(job) << 38 | (uint64_t)(role) << 36 | (uint64_t)(life) << 24 | (uint64_t)(rank))
#define FTM_NAME_JOB(name) ((uint32_t)((name) >> 38))
#define FTM_NAME_ROLE(name) ((int)((name) >> 36 & 3))

/* The life and the rank stand in the same place in a name and in `from`. */
#define FTM_FROM(generation, life, rank)                                                          \
    ((uint64_t)(generation) << 36 | (uint64_t)(life) << 24 | (uint64_t)(rank))
#define FTM_FROM_GENERATION(from) ((uint32_t)((from) >> 36))
#define FTM_LIFE(word) ((uint32_t)((word) >> 24 & FTM_LIFE_MAX))
#define FTM_RANK(word) ((uint32_t)((word) & FTM_RANK_MAX))

/* Both at once: what tells processes apart. */
#define FTM_WHO(word) ((uint64_t)(word) & 0xfffffffffu)

#define FTM_WORD(kind, flags, context, tag)                                                       \
    ((uint64_t)(kind) << 60 | (uint64_t)(flags) << 56 | (uint64_t)(context) << 31 | (uint64_t)(tag))
#define FTM_KIND(word) ((int)((word) >> 60))
#define FTM_FLAGS(word) ((uint32_t)((word) >> 56 & 0xf))
#define FTM_CONTEXT(word) ((uint32_t)((word) >> 31 & FTM_CONTEXT_MAX))
#define FTM_TAG(word) ((uint32_t)((word) & FTM_TAG_MAX))

/* Numbers in payloads. */
static inline void ftm_put32(unsigned char *to, uint32_t value)
{
    int i;

    for (i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static inline uint32_t ftm_get32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline void ftm_put64(unsigned char *to, uint64_t value)
{
    ftm_put32(to, (uint32_t)value);
    ftm_put32(to + 4, (uint32_t)(value >> 32));
}

static inline uint64_t ftm_get64(const unsigned char *from)
{
    return ftm_get32(from) | (uint64_t)ftm_get32(from + 4) << 32;
}

#endif
