/* cert.h - what a node shows of itself over TLS: a certificate made of a key, or one from files. */
#ifndef PHX_TLS_CERT_H
#define PHX_TLS_CERT_H
#include "base/sha.h"
#include "os/os.h"

#ifdef PHX_TLS

#include <bearssl.h>

#define TLS_FILE_MAX 65536u
#define TLS_ANCHORS 16u
#define TLS_CHAIN 8u
/* A certificate of our own: 177 bytes that are signed, 12 that say how, and at most 75 of signature. */
#define TLS_OWN_CERT 280u
#define TLS_POINT 65u
/* Where the point stands in it: behind the outer head of 4 bytes and 112 that are the same in all. */
#define TLS_TBS 112u
#define TLS_POINT_AT (4u + TLS_TBS)
/* And where the issuer does. */
#define TLS_ISSUER_AT 22u
#define TLS_ISSUER 17u
#define TLS_HINT 4u
#define TLS_NONCE 8u
#define TLS_NAME (2 * (TLS_NONCE + 2 * TLS_HINT)) /* with hints at two keys */

struct tls_own { /* what was made of one cluster key */
    br_ec_private_key sk;
    br_x509_pkey pk;
    br_x509_certificate cert;
    uint8_t scalar[32], point[TLS_POINT], der[TLS_OWN_CERT], hint[32];
};

struct tls_pem { /* what was read from files */
    uint8_t *arena;
    size_t size, used;
    br_x509_trust_anchor anchors[TLS_ANCHORS];
    size_t anchor_count;
    br_x509_certificate chain[TLS_CHAIN];
    size_t chain_count;
    br_skey_decoder_context key;
    int key_type; /* 0: none yet */
    unsigned issuer_type;
};

/* Makes a pair of keys and a certificate of a cluster key. */
PHX_PRIVATE void phx__tls_cert_make(struct tls_own *own, const char *cluster, const struct phx_key *key);
/* The server name that hints at `count` keys. random: TLS_NAME / 2 bytes. */
PHX_PRIVATE void phx__tls_cert_put_name(const struct tls_own *own, uint32_t count, const uint8_t *random,
                                        char name[TLS_NAME + 1]);
/* The first of `count` keys that a name hints at, or NULL. */
PHX_PRIVATE const struct tls_own *phx__tls_cert_hinted(const struct tls_own *own, uint32_t count,
                                                       const char *name);
/* Reads and checks the three files; text: a buffer of TLS_FILE_MAX + 1 bytes. See phx__tls_set_open. */
PHX_PRIVATE int phx__tls_cert_read_files(struct tls_pem *pem, const char *ca, const char *cert,
                                         const char *key, uint8_t *text);
/* A validator that believes its CAs, at this time. */
PHX_PRIVATE void phx__tls_cert_judge_by_ca(const struct tls_pem *pem, br_x509_minimal_context *x);

#endif
#endif
