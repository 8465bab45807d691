/* cert.h - what the files of the room tls share; BearSSL's types stay in here. */
#ifndef PHX_TLS_CERT_H
#define PHX_TLS_CERT_H
#include "tls/tls.h"

#include "os/os.h"
#include "base/sha.h"

#ifdef PHX_TLS

#include <bearssl.h>

/* A record of 4 KiB, and what TLS 1.2 may add to it (BearSSL's own numbers for its larger buffers). */
#define TLS_RECORD 4096u
#define TLS_IN (TLS_RECORD + (BR_SSL_BUFSIZE_INPUT - 16384u))
#define TLS_OUT (TLS_RECORD + (BR_SSL_BUFSIZE_OUTPUT - 16384u))
/* Between the streams and the engines: one system call for 16 records. */
#define TLS_BUFFER 65536u
/* A handshake does not say more than this at once, unless somebody has very long certificates. */
#define TLS_REST_MAX (TLS_BUFFER + TLS_OUT)
#define TLS_FILE_MAX 65536u
#define TLS_ANCHORS 16u
#define TLS_CHAIN 8u
/* A certificate of our own: 177 bytes that are signed, 12 that say how, and at most 75 of signature. */
#define TLS_OWN_CERT 280u
#define TLS_POINT 65u
#define TLS_ISSUER 17u
/* Where the point stands in it: behind the outer head of 4 bytes and 112 that are the same in all. */
#define TLS_TBS 112u
#define TLS_POINT_AT (4u + TLS_TBS)
#define TLS_HINT 4u
#define TLS_NONCE 8u
#define TLS_NAME (2 * (TLS_NONCE + PHX__TLS_KEYS * TLS_HINT))

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

struct phx__tls_set {
    struct phx__mem *mem;
    struct tls_pem *pem; /* NULL: by key */
    struct tls_own own[PHX__TLS_KEYS];
    uint32_t own_count;
    uint8_t issuer_name[TLS_ISSUER];
    br_x500_name issuer;
    uint8_t buffer[TLS_BUFFER];
};

struct tls_pin { /* a validator for BearSSL: the key we know, in whatever certificate */
    const br_x509_class *vtable;
    struct phx__tls *tls;
    const struct tls_own *found;
    uint32_t certs;
    size_t size;
    uint8_t cert[TLS_OWN_CERT];
};

struct tls_policy { /* a chooser of certificates for BearSSL */
    const br_ssl_server_policy_class *vtable;
    struct phx__tls *tls;
};

struct phx__tls {
    struct phx__tls_set *set;
    br_ssl_engine_context *engine; /* of whichever it is */
    int dialer;
    union {
        br_ssl_client_context client;
        br_ssl_server_context server;
    } is;
    union {
        struct tls_pin pin;
        br_x509_minimal_context minimal;
    } judge;
    struct tls_policy policy;
    br_ec_impl ec;   /* the curves of the exchange */
    const char *why; /* known better than the engine's error tells */
    uint8_t *rest;   /* ciphertext that the stream did not take */
    size_t rest_size, rest_taken, rest_capacity;
    uint8_t in[TLS_IN], out[TLS_OUT];
};

/* cert.c: what a node shows of itself. */
/* Reads and checks the three files; text: a buffer of TLS_FILE_MAX + 1 bytes. See phx__tls_set_open. */
PHX_PRIVATE int phx__tls_cert_read_files(struct tls_pem *pem, const struct phx__tls_files *files,
                                    uint8_t *text);
/* A validator that believes its CAs, at this time. */
PHX_PRIVATE void phx__tls_cert_judge_by_ca(const struct tls_pem *pem, br_x509_minimal_context *x);
/* The server name with our hints. random: TLS_NAME / 2 bytes. */
PHX_PRIVATE void phx__tls_cert_put_name(const struct phx__tls_set *s, const uint8_t *random,
                                   char name[TLS_NAME + 1]);
/* Our first key that a name hints at, or NULL. */
PHX_PRIVATE const struct tls_own *phx__tls_cert_hinted(const struct phx__tls_set *s, const char *name);

#endif
#endif
