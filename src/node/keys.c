/* keys.c - who may talk to this node, and how much: keys, what is secure, limits. */
/*
 * Keys. A node has at most two: it speaks with the first and accepts both, which is what it takes to
 * change the key of a cluster that runs. In three rounds over all nodes, in any order within a round:
 *
 *      { old }  ->  { old, new }  ->  { new, old }  ->  { new }
 *
 * Any two neighbouring states have a key in common, and so have { old } and { new, old }, so a
 * careful operator may leave the second round out. Links that are up were proved when they were
 * made and stay; who must be shut out is shut out of what is made from now on.
 *
 * Without a key nothing tells friend from foe, so such a node stays on its own machine unless
 * cfg.insecure says otherwise.
 */
#include "node/state.h"

/* Log lines about what never was a link: each peer and reason once a minute. */
static const struct phx__ratelimit_rule guard_line = { 60 * PHX__SECOND, 1 };
/* Whoever has a network of version 6 has more addresses than there are minutes. All who came by themselves
 * share 512 lines, and then 4 a second. */
static const struct phx__ratelimit_rule guard_lines = { 250 * PHX__MS, 512 };

/* ---- Keys ------------------------------------------------------------------------------------ */

static int keys_key_size_is_good(size_t size)
{
    return size >= PHX_KEY_MIN && size <= PHX_KEY_MAX;
}

void phx__node_keys_drop_keys(phx *p)
{
    uint32_t i;

    for (i = 0; i < p->set.key_count; i++)
        phx__mem_put_secret(&p->mem, p->set.keys[i].data, p->set.keys[i].size);
    p->set.key_count = 0;
    memset(p->set.begun, 0, sizeof p->set.begun);
}

/* Tells TLS, if there is any. */
static void keys_show_keys(phx *p)
{
    struct phx_key keys[PHX__LINK_KEYS];
    uint32_t i;

    for (i = 0; i < p->set.key_count; i++) {
        keys[i].data = p->set.keys[i].data;
        keys[i].size = p->set.keys[i].size;
    }
    if (p->set.tls != NULL)
        phx__tls_keys(p->set.tls, p->cluster, keys, p->set.key_count);
}

/* All of them or none: the old ones stand until the new ones do. */
int phx__node_keys_set(phx *p, const struct phx_key *keys, uint32_t count)
{
    struct phx__link_key fresh[PHX__LINK_KEYS];
    uint32_t i;

    for (i = 0; i < count; i++) {
        fresh[i].size = keys[i].size;
        fresh[i].data = phx__mem_get(&p->mem, keys[i].size);
        if (fresh[i].data == NULL) {
            while (i-- > 0)
                phx__mem_put_secret(&p->mem, fresh[i].data, fresh[i].size);
            return PHX_ENOMEM;
        }
        memcpy(fresh[i].data, keys[i].data, keys[i].size);
    }
    phx__node_keys_drop_keys(p);
    memcpy(p->set.keys, fresh, count * sizeof fresh[0]);
    p->set.key_count = count;
    phx__link_rekey(&p->set);
    keys_show_keys(p);
    return 0;
}

int phx_set_keys(phx *p, const struct phx_key *keys, int count)
{
    int i;

    if (p == NULL || keys == NULL || count < 1 || count > (int)PHX__LINK_KEYS)
        return PHX_EINVAL;
    for (i = 0; i < count; i++) {
        if (keys[i].data == NULL)
            return PHX_EINVAL;
        if (!keys_key_size_is_good(keys[i].size))
            return PHX_EKEYSIZE;
    }
    return phx__node_keys_set(p, keys, (uint32_t)count);
}

int phx_read_key(const char *path, void *out, size_t capacity)
{
    uint8_t bytes[PHX_KEY_MAX + 1];
    long size;

    if (path == NULL || out == NULL)
        return PHX_EINVAL;
    size = phx__os_file_read(path, bytes, sizeof bytes);
    if (size < 0)
        return (int)size;
    if (!keys_key_size_is_good((size_t)size) || (size_t)size > capacity)
        return PHX_EKEYSIZE;
    memcpy(out, bytes, (size_t)size);
    return (int)size;
}

/* ---- Secure places --------------------------------------------------------------------------- */

int phx__node_keys_wants_tls(const phx *p, const struct phx_address *a)
{
    return a->family != PHX_UNIX && (a->tls || p->cfg.tls);
}

/* Certificates from files are as good as a key, where they are used. */
int phx__node_keys_is_secure(const phx *p, const struct phx_address *a)
{
    return p->set.key_count > 0 || p->cfg.insecure || phx__addr_is_local(a)
           || a->family == PHX_OTHER || (phx__node_keys_wants_tls(p, a) && phx__tls_has_files(p->set.tls));
}

/* Nobody pays for it before it is used: making a key pair takes a thousandth of a second. */
int phx__node_keys_tls(phx *p)
{
    struct phx__tls_files none = { NULL, NULL, NULL };
    int err = 0;

    if (p->set.tls == NULL) {
        err = phx__tls_set_open(&p->set.tls, &p->mem, &none);
        if (err == 0)
            keys_show_keys(p);
    }
    if (err == 0 && p->set.key_count == 0 && !phx__tls_has_files(p->set.tls))
        err = PHX_ENOKEY;
    return err;
}

int phx__node_keys_open_tls(phx *p)
{
    struct phx__tls_files files;
    int err = 0;

    files.ca = p->cfg.tls_ca;
    files.cert = p->cfg.tls_cert;
    files.key = p->cfg.tls_key;
    if (files.ca != NULL)
        err = phx__tls_set_open(&p->set.tls, &p->mem, &files);
    if (err == 0 && p->cfg.tls)
        err = phx__node_keys_tls(p);
    p->cfg.tls_ca = p->cfg.tls_cert = p->cfg.tls_key = NULL; /* the host's own strings */
    return err;
}

/* A stream of the host's is its own affair, a pipe to ssh say, unless we can see that it is a plain
 * connection with another machine. */
int phx__node_keys_may_adopt(phx *p, int handle, int secure)
{
    struct phx_address here;

    if (p->set.key_count > 0 || p->cfg.insecure || (secure && phx__tls_has_files(p->set.tls)))
        return 0;
    memset(&here, 0, sizeof here);
    p->set.os_calls++;
    if (p->os.local(p->os.world, handle, &here) != 0 || here.family == 0)
        return 0;
    return phx__addr_is_local(&here) ? 0 : PHX_EINSECURE;
}

/* ---- The log --------------------------------------------------------------------------------- */

/* The same of a dial that did not become a link at all. */
int64_t phx__node_keys_may_log_dial(phx *p, const struct phx_address *to, int reason)
{
    uint64_t place = phx__ratelimit_key(&p->lines, to, 1)
                     ^ (uint64_t)(unsigned)-reason * 0x9e3779b97f4a7c15u;

    return phx__ratelimit_take(&p->lines, place != 0 ? place : 1, &guard_line, p->now);
}

/* Who accepts sees a new port each time, who dials knows the one it wants. */
int64_t phx__node_keys_may_log(phx *p, const struct phx__link *l, int reason)
{
    uint64_t place = phx__ratelimit_key(&p->lines, &l->address, l->dialer);
    const char *why = l->why != NULL ? l->why : "";
    int64_t before;

    if (reason < PHX_ERROR_LAST) /* a peer may refuse us for 65,535 reasons, most of them of its own making */
        reason = PHX_ERROR_LAST;
    place ^= (uint64_t)(unsigned)-reason * 0x9e3779b97f4a7c15u;
    for (; *why != 0; why++)
        place = place * 31 + (unsigned char)*why;
    before = phx__ratelimit_take(&p->lines, place != 0 ? place : 1, &guard_line, p->now);
    if (before >= 0 && l->stranger
        && phx__ratelimit_take(&p->lines, PHX__RATELIMIT_ALL, &guard_lines, p->now) < 0)
        return -1;
    return before;
}
