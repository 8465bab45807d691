/* roster.h - who of a job has said HELLO, and the TABLE that answers when all have. */
#ifndef FTM_ROSTER_H
#define FTM_ROSTER_H

#include "mem.h"
#include "wire.h"

struct ftm_roster {
    struct ftm_mem *mem;
    uint32_t size, present;
    unsigned char *here;       /* one per rank */
    struct ftm_hello *entries; /* one per rank */
};

/* 0, or -1: no memory. */
int ftm_roster_init(struct ftm_roster *r, struct ftm_mem *mem, uint32_t size);
void ftm_roster_clear(struct ftm_roster *r);

/* One HELLO_JOIN. 0: noted, also when it was known (a restarted rank with a higher life takes its place);
 * -1: nonsense, not of this job. 1: its layout differs from that of rank *other, and it is not noted. */
int ftm_roster_add(struct ftm_roster *r, const void *data, size_t size, uint32_t *rank, uint32_t *other);

int ftm_roster_is_complete(const struct ftm_roster *r);

/* The bytes of TABLE: how many, and into out if it holds as many. notice: number of the first event that whoever
 * reads the TABLE has not heard of. */
size_t ftm_roster_table(const struct ftm_roster *r, uint32_t notice, unsigned char *out, size_t capacity);

#endif
