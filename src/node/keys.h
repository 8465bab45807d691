/* keys.h - BRAIN: the node's keys, where it may speak, random bytes, limits of log lines. */
#ifndef PHX_NODE_KEYS_H
#define PHX_NODE_KEYS_H
#include "base/ratelimit.h"

struct phx__node_keys_ops {
    phx *ctx;
    /* These are the keys, and stay where they are, until the next call. The others return 0 or why not. */
    void (*changed)(phx *ctx, const struct phx_key *keys, uint32_t count);
    int (*open_tls)(phx *ctx, int files); /* with the host's certificate files, or without */
    int (*random)(phx *ctx, void *out, size_t size);
};
struct phx__node_keys {
    struct phx__mem *mem;
    struct phx__node_keys_ops ops;
    struct phx_key at[PHX__KEYS]; /* the first is used, all are accepted */
    uint32_t count;                    /* 0: the empty key */
    int insecure, tls;           /* as in struct phx_config */
    int has_tls, has_files;      /* TLS is ready; with files */
    struct phx__ratelimit lines; /* of the log, by peer and reason */
    uint8_t pool[512];           /* random bytes; to ask the system for each few costs calls */
    size_t pool_left;
};
/* A connection, or a dial, that ends before it was a link. */
struct phx__node_keys_end {
    const struct phx_address *peer;
    const char *why;      /* more about the reason, or NULL */
    int dialer, unauthenticated; /* we dialled; it was accepted and has not proved anything */
};

/* No keys yet. PHX_ENOMEM. */
PHX_PRIVATE int phx__node_keys_init(struct phx__node_keys *k, struct phx__mem *mem, int insecure, int tls,
                                    uint64_t salt, const struct phx__node_keys_ops *ops);
PHX_PRIVATE void phx__node_keys_free(struct phx__node_keys *k);
/* 0, or PHX_EKEYSIZE: too short, too long, or nothing but zeros. */
PHX_PRIVATE int phx__node_keys_check(const void *key, size_t size);
/* Replaces all keys: 0, or PHX_EINVAL, PHX_EKEYSIZE, PHX_ENOMEM and nothing changes. */
PHX_PRIVATE int phx__node_keys_set(struct phx__node_keys *k, const struct phx_key *keys, uint32_t count);
/* Makes TLS ready, at the start for files and cfg.tls, and at its first use: 0, PHX_ENOKEY, or why not. */
PHX_PRIVATE int phx__node_keys_open_tls(struct phx__node_keys *k, int files);
PHX_PRIVATE int phx__node_keys_tls(struct phx__node_keys *k);
PHX_PRIVATE int phx__node_keys_wants_tls(const struct phx__node_keys *k, const struct phx_address *a);
/* May this node speak there? */
PHX_PRIVATE int phx__node_keys_is_secure(const struct phx__node_keys *k, const struct phx_address *a);
/* May it take a stream of the host's, spoken over TLS or not, with our end `here` (family 0: not known)? */
PHX_PRIVATE int phx__node_keys_may_adopt(const struct phx__node_keys *k, const struct phx_address *here,
                                         int secure);
/* At most sizeof pool bytes: 0 or why not. */
PHX_PRIVATE int phx__node_keys_random(struct phx__node_keys *k, void *out, size_t size);
/* May this end be logged? The number of those like it that were not logged before, or -1: no. */
PHX_PRIVATE int64_t phx__node_keys_may_log(struct phx__node_keys *k, const struct phx__node_keys_end *end,
                                           int reason, uint64_t now);

#endif
