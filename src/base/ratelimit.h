/* ratelimit.h - token buckets by key: how often something may be done to an address or said in the log. */
#ifndef PHX_BASE_RATELIMIT_H
#define PHX_BASE_RATELIMIT_H
#include "base/addr.h"
#include "base/mem.h"

/* The key of the bucket that all others share; no other key is 0. */
#define PHX__RATELIMIT_ALL 0u

struct phx__ratelimit_rule {
    uint64_t interval_us; /* one more after each interval ... */
    uint32_t burst;       /* ... and this many at once */
};

struct phx__ratelimit_bucket {
    uint64_t key;     /* 0: free */
    uint64_t paid_at; /* when all that was taken will be paid for */
    uint32_t denied;  /* since the last that was granted */
};

struct phx__ratelimit {
    struct phx__mem *mem;
    struct phx__ratelimit_bucket *buckets; /* the shared one stands behind the `count` others */
    uint32_t count;                        /* a power of two */
    uint64_t salt;                         /* nobody can choose keys that meet in the table */
};

/* count: how many keys are remembered, a power of two and at least 4. PHX_ENOMEM. */
PHX_PRIVATE int phx__ratelimit_init(struct phx__ratelimit *l, struct phx__mem *mem, uint32_t count,
                                    uint64_t salt);
PHX_PRIVATE void phx__ratelimit_free(struct phx__ratelimit *l);
/* The key of an address (with_port 0: of its host, any port). */
PHX_PRIVATE uint64_t phx__ratelimit_key(const struct phx__ratelimit *l, const struct phx_address *a,
                                        int with_port);
/* Takes one: how many were denied before it, or -1 if it is denied too. */
PHX_PRIVATE int64_t phx__ratelimit_take(struct phx__ratelimit *l, uint64_t key,
                                        const struct phx__ratelimit_rule *rule, uint64_t now);
/* How long until one may be taken; 0: now. */
PHX_PRIVATE uint64_t phx__ratelimit_wait(const struct phx__ratelimit *l, uint64_t key,
                                         const struct phx__ratelimit_rule *rule, uint64_t now);
/* Takes one, whatever the rule says. */
PHX_PRIVATE void phx__ratelimit_spend(struct phx__ratelimit *l, uint64_t key,
                                      const struct phx__ratelimit_rule *rule, uint64_t now);
/* One that was taken is given back. */
PHX_PRIVATE void phx__ratelimit_return(struct phx__ratelimit *l, uint64_t key,
                                       const struct phx__ratelimit_rule *rule);
/* Nothing was taken. */
PHX_PRIVATE void phx__ratelimit_clear(struct phx__ratelimit *l, uint64_t key);

#endif
