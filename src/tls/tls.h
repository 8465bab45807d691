/* tls.h - the TLS of one link, and what a node shows of itself there; BearSSL, or not built in. */
#ifndef PHX_TLS_TLS_H
#define PHX_TLS_TLS_H
#include "base/buf.h"

struct phx__tls_set; /* a node's: certificates, and whom it believes */
struct phx__tls;     /* a link's: the engine */

struct phx__tls_files { /* PEM, all three or none */
    const char *ca, *cert, *key;
};

#define PHX__TLS_SEED 64u
/* More plaintext than ciphertext that phx__tls_feed may give, because of what came before: all but a byte of
 * the largest record that fits the engine, which is larger than any of ours. */
#define PHX__TLS_HELD 4608u

#ifdef PHX_TLS

/* A node's set. Without files (ca NULL) it believes peers that have one of its keys; see phx__tls_keys.
 * PHX_EFILE, PHX_EACCES, PHX_EMFILE, PHX_EPEM (malformed, or of no use), PHX_EPAIR (certificate and key do
 * not fit), PHX_ECERT (own certificate not valid today, by no CA, or unfit), PHX_ENOMEM. May block. */
PHX_PRIVATE int phx__tls_set_open(struct phx__tls_set **out, struct phx__mem *mem,
                                  const struct phx__tls_files *files);
PHX_PRIVATE void phx__tls_set_free(struct phx__tls_set *s); /* no link may have one of it; NULL is fine */

/* Makes a pair of keys and a certificate of each of up to PHX__KEYS cluster keys; with PEM files it does
 * nothing. Handshakes under way that began with one that is gone will fail. */
PHX_PRIVATE void phx__tls_keys(struct phx__tls_set *s, const char *cluster,
                               const struct phx_key *keys, uint32_t count);

/* Begins a handshake; seed: PHX__TLS_SEED random bytes. PHX_ENOMEM, PHX_ENOKEY (no files and no key). */
PHX_PRIVATE int phx__tls_open(struct phx__tls_set *s, int dialer, const uint8_t *seed, struct phx__tls **out);
PHX_PRIVATE void phx__tls_free(struct phx__tls *t); /* NULL is fine */

/* Where bytes from the stream go before phx__tls_feed: one buffer for all links of a node. */
PHX_PRIVATE uint8_t *phx__tls_buffer(struct phx__tls_set *s, size_t *capacity);
/* Takes size bytes of the buffer as they came; gives what they mean: how many bytes at out, which must have
 * room for size + PHX__TLS_HELD. PHX_ETLS, PHX_ERESET (the peer ended it), PHX_ENOMEM. */
PHX_PRIVATE long phx__tls_feed(struct phx__tls *t, size_t size, uint8_t *out);
/* What is to be written to the stream next, made of what waits in `from` as far as the handshake allows;
 * nothing: iov_len 0. Then say how much of it was taken, which may be 0. Between the two nobody may use the
 * buffer. 0, PHX_ETLS or PHX_ENOMEM. */
PHX_PRIVATE int phx__tls_seal(struct phx__tls *t, struct phx__slices *from, struct iovec *out);
PHX_PRIVATE int phx__tls_sent(struct phx__tls *t, const struct iovec *what, size_t taken);
PHX_PRIVATE size_t phx__tls_queued(const struct phx__tls *t); /* made and not yet taken */
/* 32 bytes that only the two ends of this very connection know. PHX_ETLS: no handshake yet. */
PHX_PRIVATE int phx__tls_binding(struct phx__tls *t, uint8_t out[32]);
/* Why it ended with PHX_ETLS. */
PHX_PRIVATE const char *phx__tls_why(const struct phx__tls *t);

#else

/* Not built in: no set can be had, so no link has an engine, and the others are never called. */
#define phx__tls_set_open(out, mem, files) (*(out) = NULL, (void)(mem), (void)(files), PHX_ENOTSUP)
#define phx__tls_set_free(s) ((void)(s))
#define phx__tls_keys(s, cluster, keys, count) ((void)(s), (void)(cluster), (void)(keys), (void)(count))
#define phx__tls_open(s, dialer, seed, out) \
    ((void)(s), (void)(dialer), (void)(seed), (void)(out), PHX_ENOTSUP)
#define phx__tls_free(t) ((void)(t))
#define phx__tls_buffer(s, capacity) ((void)(s), *(capacity) = 0, (uint8_t *)NULL)
#define phx__tls_feed(t, size, out) ((void)(t), (void)(size), (void)(out), (long)PHX_ENOTSUP)
#define phx__tls_seal(t, from, out) ((void)(t), (void)(from), (void)(out), PHX_ENOTSUP)
#define phx__tls_sent(t, what, taken) ((void)(t), (void)(what), (void)(taken), PHX_ENOTSUP)
#define phx__tls_queued(t) ((void)(t), (size_t)0)
#define phx__tls_binding(t, out) ((void)(t), (void)(out), PHX_ENOTSUP)
#define phx__tls_why(t) ((void)(t), "")

#endif
#endif
