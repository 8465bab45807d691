/* lies.h - what stories of lies say, and what is asked of the honest: see lies.c. */
#ifndef LIES_H
#define LIES_H

#include "liar.h"
#include "story.h"

#define HONEST 4u          /* 0 is the hub */
#define HOSTS (HONEST + 1) /* the last is the newcomer */
#define LINKS 32u          /* of one member that lies, at most */

struct lie {
    void (*say)(struct liar *l);
    void (*farewell)(struct liar *l); /* said once, before the liar goes; may be NULL */
    void (*later)(struct sim *s);     /* what must work after it has gone, besides; may be NULL */
    size_t mem_limit;
    uint32_t max_nodes; /* 0: as ever; and so at full size */
    int is_malformed;   /* 1: there are frames that break the protocol */
};

/* What a story may know while it lies, and afterwards. */
struct lies_seen {
    struct sim *s;
    uint32_t links;
    uint64_t sent[HOSTS][HOSTS]; /* fragments, by sender and receiver */
    size_t hub_memory;           /* the most while there were lies */
};

extern struct lies_seen lies_seen;

/* All of it: see lies.c. */
void tell_lie(struct sim *s, const char *story, const struct lie *lie);

#endif
