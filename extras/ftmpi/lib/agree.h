/* agree.h - one agreement among processes of which any may die at any moment. */
#ifndef FTM_AGREE_H
#define FTM_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include "mem.h"

/* A state machine without I/O: its owner tells it what arrives and who fails, and sends what it wants sent.
 *
 * All members give the same list of members, in the same order: by site, then by rank. Members that fail stay
 * in it. All that live and contribute get one value, if every failure is told to all of them in the end. With
 * two rounds whoever got it and then died had the same one. */
enum ftm_agree_rounds { FTM_AGREE_ONE = 1, FTM_AGREE_TWO = 2 };

/* Sets are bitmaps with a bit for each member, in the order of members. */
#define FTM_AGREE_SET(members) (((size_t)(members) + 7) / 8)
#define FTM_AGREE_HAS(set, member) ((set)[(member) / 8] >> (member) % 8 & 1)

struct ftm_agree_value {
    uint32_t flags;              /* and of all */
    uint32_t context;            /* the greatest */
    uint32_t generation;         /* the greatest */
    uint32_t rank;               /* the lowest that contributed, and ... */
    uint32_t settings;           /* ... what it said */
    unsigned char *failed;       /* union; and all who are not in covered */
    unsigned char *acknowledged; /* intersection */
    unsigned char *covered;      /* whose contributions are in it */
};

struct ftm_agree_ops {
    void *ctx;
    /* bytes are borrowed for the call, which must not come back into the agreement. */
    void (*send)(void *ctx, int member, const void *bytes, size_t size);
};

struct ftm_agree;

/* The largest message among so many members. */
size_t ftm_agree_most(int members);

/* The memory that it takes. */
size_t ftm_agree_size(const struct ftm_agree *a);

/* sites[i]: of member i; equal ones stand together. NULL: all are on one. -1: no memory; there is none later
 * on. */
int ftm_agree_new(struct ftm_agree **out, struct ftm_mem *mem, const struct ftm_agree_ops *ops, int members,
                  const int *sites, int me, enum ftm_agree_rounds rounds);
void ftm_agree_free(struct ftm_agree *a);

/* Our own part, once. failed and acknowledged may be NULL (nobody); covered is not looked at. */
void ftm_agree_contribute(struct ftm_agree *a, const struct ftm_agree_value *mine);
int ftm_agree_has_contributed(const struct ftm_agree *a);

/* That member has failed, for good. What it sent and what comes later is dropped. */
void ftm_agree_failed(struct ftm_agree *a, int member);

/* A message of that member. 0, or -1: no member sends it, and nothing has changed. */
int ftm_agree_arrived(struct ftm_agree *a, int member, const void *bytes, size_t size);

/* What was agreed upon, or NULL: nothing yet. It never changes, and the agreement goes on: others may need
 * us to learn it. */
const struct ftm_agree_value *ftm_agree_result(const struct ftm_agree *a);

/* Whether we are the root now, and whether it has heard of that member's contribution. */
int ftm_agree_is_root(const struct ftm_agree *a);
int ftm_agree_has_heard(const struct ftm_agree *a, int member);

#endif
