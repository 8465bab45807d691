/* refuse.h - a host of the simulated world whose n-th call fails: what torture is made of. */

/* One host at a time is the victim. Its calls of the world and its allocations are counted while it is ill,
 * and the call `at` fails as `with` says, perhaps with all later ones of its kind. */
#ifndef REFUSE_H
#define REFUSE_H

#include "world.h"

enum refuse_call { REFUSE_LISTEN, REFUSE_ACCEPT, REFUSE_DIAL, REFUSE_FINISH, REFUSE_LOCAL, REFUSE_SEND,
                   REFUSE_RECV, REFUSE_WATCH, REFUSE_WAIT, REFUSE_RANDOM, REFUSE_MEMORY, REFUSE_CALLS };
extern const char *const refuse_name[REFUSE_CALLS];
/* What each may say; 0 ends the list. Of recv 1 stands for 0 bytes: the peer has closed. */
extern const int refuse_errors[REFUSE_CALLS][6];

#define REFUSE_MOST 200000 /* calls that are counted */

struct refuse {
    uint32_t host; /* the victim */
    int ill;       /* 0: all goes well, and nothing is counted */
    long count;    /* calls so far */
    long at;       /* this one fails; 0: none */
    int with;      /* the error */
    int lasting;   /* and so do all later ones of its kind */
    int spared;    /* the call `at` succeeds; is_due says that it was made */
    int is_due, kind; /* kind: of the call that failed; -1: none did */
    uint8_t kinds[REFUSE_MOST]; /* of the calls that were counted */
};
extern struct refuse refuse;

/* A run begins; at, with, lasting and spared are the caller's. */
void refuse_begin(uint32_t host);
/* Does this call of the host fail? 0 or the error. */
int refuse_this(uint32_t host, enum refuse_call c);
/* The world's os for this host, by way of refuse_this. */
struct phx_os refuse_os(struct world_host *h);

#endif
