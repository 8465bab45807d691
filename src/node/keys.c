/* keys.c - which keys a node has, where it may speak, and how often it logs what failed. */
/* A node has at most two keys: it speaks with the first and accepts both. That is enough to change the key of
 * a running cluster in three rounds over all nodes, in any order within a round:
 *
 *      { old }  ->  { old, new }  ->  { new, old }  ->  { new }
 *
 * Any two neighbouring states have a key in common. Links that are up stay; a key that is gone shuts out new
 * ones. Without a key a node stays on its own machine, unless cfg.insecure is set. */
#include "node/keys.h"

#define KEYS_LINES 64u /* peers and reasons whose last log line is remembered, 24 bytes each */
/* What never was a link is logged once a minute for each peer and reason. */
static const struct phx__ratelimit_rule keys_line = { 60 * PHX__SECOND, 1 };
/* An IPv6 network has any number of addresses: unauthenticated peers share 512 lines, and then 4 a second. */
static const struct phx__ratelimit_rule keys_lines = { 250 * PHX__MS, 512 };

int phx__node_keys_init(struct phx__node_keys *k, struct phx__mem *mem, int insecure, int tls, uint64_t salt,
                        const struct phx__node_keys_ops *ops)
{
    *k = (struct phx__node_keys){ .mem = mem, .ops = *ops, .insecure = insecure, .tls = tls };
    return phx__ratelimit_init(&k->lines, mem, KEYS_LINES, salt);
}

PHX__COLD static void keys_drop(struct phx__node_keys *k, struct phx_key *keys, uint32_t count)
{
    while (count-- > 0)
        phx__mem_put_secret(k->mem, (void *)keys[count].data, keys[count].size);
}

PHX__COLD void phx__node_keys_free(struct phx__node_keys *k)
{
    keys_drop(k, k->at, k->count);
    phx__ratelimit_free(&k->lines);
}

/* What ended up as zeros was meant to be something else: a file that was cut off, memory not filled. */
PHX__COLD int phx__node_keys_check(const void *key, size_t size)
{
    size_t i = 0;

    while (i < size && ((const uint8_t *)key)[i] == 0)
        i++;
    return size < PHX_KEY_MIN || size > PHX_KEY_MAX || i == size ? PHX_EKEYSIZE : 0;
}

PHX__COLD static int keys_copy(struct phx__node_keys *k, const struct phx_key *from, struct phx_key *to)
{
    void *data;
    int err = from->data == NULL ? PHX_EINVAL : phx__node_keys_check(from->data, from->size);

    if (err != 0)
        return err;
    if ((data = phx__mem_get(k->mem, from->size)) == NULL)
        return PHX_ENOMEM;
    *to = (struct phx_key){ memcpy(data, from->data, from->size), from->size };
    return 0;
}

PHX__COLD int phx__node_keys_set(struct phx__node_keys *k, const struct phx_key *keys, uint32_t count)
{
    struct phx_key fresh[PHX__KEYS];
    int err = count <= PHX__KEYS ? 0 : PHX_EINVAL;

    for (uint32_t i = 0; err == 0 && i < count; i++)
        if ((err = keys_copy(k, &keys[i], &fresh[i])) != 0)
            keys_drop(k, fresh, i);
    if (err != 0)
        return err;
    keys_drop(k, k->at, k->count);
    memcpy(k->at, fresh, count * sizeof fresh[0]);
    k->count = count;
    k->ops.changed(k->ops.ctx, k->at, count);
    return 0;
}

/* ---- Where it may speak ---------------------------------------------------------------------- */

int phx__node_keys_wants_tls(const struct phx__node_keys *k, const struct phx_address *a)
{
    return a->family != PHX_UNIX && (a->tls || k->tls);
}

/* Certificates from files are as good as a key, where they are used. */
int phx__node_keys_is_secure(const struct phx__node_keys *k, const struct phx_address *a)
{
    return k->count > 0 || k->insecure || phx__addr_is_local(a) || a->family == PHX_OTHER
           || (k->has_files && phx__node_keys_wants_tls(k, a));
}

/* A host that never uses TLS does not pay for it: making a key pair takes a millisecond. */
PHX__COLD int phx__node_keys_tls(struct phx__node_keys *k)
{
    int err = k->has_tls ? 0 : k->ops.open_tls(k->ops.ctx, 0);

    k->has_tls = err == 0;
    return err == 0 && k->count == 0 && !k->has_files ? PHX_ENOKEY : err;
}

PHX__COLD int phx__node_keys_open_tls(struct phx__node_keys *k, int files)
{
    int err = files ? k->ops.open_tls(k->ops.ctx, 1) : 0;

    k->has_tls = k->has_files = files && err == 0;
    return err == 0 && k->tls ? phx__node_keys_tls(k) : err;
}

/* The host answers for its own streams, unless one is visibly a plain connection with another machine. */
int phx__node_keys_may_adopt(const struct phx__node_keys *k, const struct phx_address *here, int secure)
{
    return k->count > 0 || k->insecure || (secure && k->has_files) || here->family == 0
           || phx__addr_is_local(here);
}

PHX__COLD int phx__node_keys_random(struct phx__node_keys *k, void *out, size_t size)
{
    int err;

    if (size > k->pool_left) {
        if ((err = k->ops.random(k->ops.ctx, k->pool, sizeof k->pool)) != 0)
            return err;
        k->pool_left = sizeof k->pool;
    }
    k->pool_left -= size;
    memcpy(out, k->pool + k->pool_left, size);
    memset(k->pool + k->pool_left, 0, size); /* used once */
    return 0;
}

/* A peer that dials us has a new port each time: it does not count. */
int64_t phx__node_keys_may_log(struct phx__node_keys *k, const struct phx__node_keys_end *end, int reason,
                               uint64_t now)
{
    uint64_t place = phx__ratelimit_key(&k->lines, end->peer, end->dialer);
    const char *why = end->why != NULL ? end->why : "";
    int64_t before;

    reason = PHX__MAX(reason, PHX_ERROR_LAST); /* all that we do not know are one */
    place ^= (uint64_t)(unsigned)-reason * 0x9e3779b97f4a7c15u;
    for (; *why != 0; why++)
        place = place * 31 + (unsigned char)*why;
    before = phx__ratelimit_take(&k->lines, place != 0 ? place : 1, &keys_line, now);
    if (before >= 0 && end->unauthenticated
        && phx__ratelimit_take(&k->lines, PHX__RATELIMIT_ALL, &keys_lines, now) < 0)
        return -1;
    return before;
}
