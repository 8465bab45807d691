/* ratelimit.c - token buckets by key: how often something may be done to an address or said in the log. */

/* A bucket is one number, the time at which all that was taken is paid for (GCRA, the virtual scheduling
 * algorithm of ITU-T I.371): taking one moves it on by the interval, and one may be taken while it is less
 * than burst intervals ahead of now.
 *
 * The table has a fixed size. A key is looked for in four buckets. If all are others', one makes room: one
 * that is paid for already, else the address that is paid for soonest, and a host only if there is no
 * address. An address may take longer to be paid for than its host does, so otherwise a host would be driven
 * out by its own ports. Forgetting is generous: somebody could forget a host's bucket by naming hundreds of
 * others, but those come out of the shared bucket, and the salt decides which keys share four buckets. */
#include "base/map.h"
#include "base/ratelimit.h"

#define RATELIMIT_WAYS 4u
#define RATELIMIT_HOST 1u /* the lowest bit of a key, which picks no bucket: the key of a host */

int phx__ratelimit_init(struct phx__ratelimit *l, struct phx__mem *mem, uint32_t count, uint64_t salt)
{
    PHX_ASSERT(count >= RATELIMIT_WAYS && (count & (count - 1)) == 0);
    *l = (struct phx__ratelimit){ mem, phx__mem_zero(mem, (count + 1) * sizeof *l->buckets), count, salt };
    return l->buckets == NULL ? PHX_ENOMEM : 0;
}

void phx__ratelimit_free(struct phx__ratelimit *l)
{
    phx__mem_put(l->mem, l->buckets, (l->count + 1) * sizeof *l->buckets);
    l->buckets = NULL;
}

/* FNV-1a. */
static uint64_t ratelimit_hash(uint64_t h, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size-- > 0)
        h = (h ^ *p++) * 0x100000001b3u;
    return h;
}

/* The bits are mixed once more at the end, since the low ones pick the bucket. */
uint64_t phx__ratelimit_key(const struct phx__ratelimit *l, const struct phx_address *a, int with_port)
{
    uint64_t h = ratelimit_hash(l->salt ^ 0xcbf29ce484222325u, &a->family, 1);
    uint16_t number = with_port ? a->port : 0;
    const uint8_t port[3] = { (uint8_t)number, (uint8_t)(number >> 8), !with_port }; /* on all machines */

    if (a->family == PHX_UNIX || a->family == PHX_OTHER)
        h = ratelimit_hash(h, a->path, strlen(a->path));
    else
        h = ratelimit_hash(ratelimit_hash(h, a->ip, sizeof a->ip), port, sizeof port);
    h = phx__map_mix(h) & ~(uint64_t)RATELIMIT_HOST;
    if (!with_port)
        return h | RATELIMIT_HOST;
    return h != PHX__RATELIMIT_ALL ? h : 2 * RATELIMIT_HOST;
}

static uint32_t ratelimit_first(const struct phx__ratelimit *l, uint64_t key)
{
    return (uint32_t)key & (l->count - 1) & ~(RATELIMIT_WAYS - 1);
}

/* The bucket of a key, or NULL. */
static struct phx__ratelimit_bucket *ratelimit_find(const struct phx__ratelimit *l, uint64_t key)
{
    uint32_t i, first = ratelimit_first(l, key);

    if (key == PHX__RATELIMIT_ALL)
        return &l->buckets[l->count];
    for (i = first; i < first + RATELIMIT_WAYS; i++)
        if (l->buckets[i].key == key)
            return &l->buckets[i];
    return NULL;
}

static int ratelimit_stays(const struct phx__ratelimit_bucket *b, uint64_t now)
{
    return b->paid_at > now && (b->key & RATELIMIT_HOST) != 0;
}

static struct phx__ratelimit_bucket *ratelimit_bucket(struct phx__ratelimit *l, uint64_t key, uint64_t now)
{
    uint32_t i, first = ratelimit_first(l, key);
    struct phx__ratelimit_bucket *bucket = ratelimit_find(l, key);

    if (bucket != NULL)
        return bucket;
    bucket = &l->buckets[first];
    for (i = first + 1; i < first + RATELIMIT_WAYS; i++) { /* a free one is at 0 */
        int stays = ratelimit_stays(bucket, now), other = ratelimit_stays(&l->buckets[i], now);
        if (other != stays ? stays : l->buckets[i].paid_at < bucket->paid_at)
            bucket = &l->buckets[i];
    }
    *bucket = (struct phx__ratelimit_bucket){ key, 0, 0 };
    return bucket;
}

static uint64_t ratelimit_until(uint64_t at, const struct phx__ratelimit_rule *rule, uint64_t now)
{
    uint64_t ahead = (rule->burst - 1) * rule->interval_us;

    return at <= now || at - now <= ahead ? 0 : at - now - ahead;
}

int64_t phx__ratelimit_take(struct phx__ratelimit *l, uint64_t key, const struct phx__ratelimit_rule *rule,
                            uint64_t now)
{
    struct phx__ratelimit_bucket *bucket = ratelimit_bucket(l, key, now);
    int64_t denied = bucket->denied;

    if (ratelimit_until(bucket->paid_at, rule, now) > 0) {
        bucket->denied += bucket->denied < UINT32_MAX;
        return -1;
    }
    phx__ratelimit_spend(l, key, rule, now);
    bucket->denied = 0;
    return denied;
}

uint64_t phx__ratelimit_wait(const struct phx__ratelimit *l, uint64_t key,
                             const struct phx__ratelimit_rule *rule, uint64_t now)
{
    const struct phx__ratelimit_bucket *bucket = ratelimit_find(l, key);

    return bucket == NULL ? 0 : ratelimit_until(bucket->paid_at, rule, now);
}

void phx__ratelimit_spend(struct phx__ratelimit *l, uint64_t key, const struct phx__ratelimit_rule *rule,
                          uint64_t now)
{
    struct phx__ratelimit_bucket *bucket = ratelimit_bucket(l, key, now);

    bucket->paid_at = (bucket->paid_at > now ? bucket->paid_at : now) + rule->interval_us;
}

void phx__ratelimit_return(struct phx__ratelimit *l, uint64_t key, const struct phx__ratelimit_rule *rule)
{
    struct phx__ratelimit_bucket *bucket = ratelimit_find(l, key);

    if (bucket != NULL)
        bucket->paid_at = bucket->paid_at > rule->interval_us ? bucket->paid_at - rule->interval_us : 0;
}

void phx__ratelimit_clear(struct phx__ratelimit *l, uint64_t key)
{
    struct phx__ratelimit_bucket *bucket = ratelimit_find(l, key);

    if (bucket != NULL)
        bucket->paid_at = 0;
}
