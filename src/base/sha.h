/* sha.h - SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the hello's proof. */
#ifndef PHX_BASE_SHA_H
#define PHX_BASE_SHA_H
#include "base/base.h"

struct phx__sha {
    uint32_t h[8];
    uint64_t total; /* bytes hashed */
    uint8_t block[64];
};
PHX_PRIVATE void phx__sha_init(struct phx__sha *s);
PHX_PRIVATE void phx__sha_add(struct phx__sha *s, const void *data, size_t size);
PHX_PRIVATE void phx__sha_end(struct phx__sha *s, uint8_t out[32]);

struct phx__hmac {
    struct phx__sha inner, outer; /* what is added goes to inner */
};
PHX_PRIVATE void phx__sha_hmac_init(struct phx__hmac *h, const void *key, size_t size);
/* The same with a key of the cluster, 0 bytes: none. Keys that differ make different hashes. */
PHX_PRIVATE void phx__sha_key_init(struct phx__hmac *h, const void *key, size_t size);
PHX_PRIVATE void phx__sha_hmac_end(struct phx__hmac *h, uint8_t out[32]);
/* 1 if equal, in time that does not depend on where they differ. */
PHX_PRIVATE int phx__sha_equal(const uint8_t a[32], const uint8_t b[32]);

#endif
