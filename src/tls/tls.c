/* tls.c - the TLS of one link, and what a node shows of itself there; BearSSL, or not built in. */

/* TLS 1.2, ephemeral elliptic-curve keys and authenticated ciphers only, both sides authenticated, no
 * renegotiation, no resumption. The engine is BearSSL's, which never blocks and never allocates: bytes of the
 * stream go in at one end and come out as bytes of frames at the other, and back. This file moves bytes; link
 * knows what a frame is, and when to read and write.
 *
 *      stream -> buffer -> engine -> frames                  (phx__tls_feed)
 *      frames -> engine -> buffer -> stream                  (phx__tls_seal)
 *                             '----> rest, if the stream is full
 *
 * With PEM files a node believes each peer that shows a certificate by one of the CAs in cfg.tls_ca, whatever
 * its name, since all members are alike. With cfg.key alone both sides make the same EC key from the
 * cluster's key, show a certificate of it that they signed themselves, and believe nobody else. The
 * certificate is only a wrapping that TLS asks for; what is compared is the public key, and the signature in
 * the handshake is the proof.
 *
 *      d = HMAC(key, "PHX1 TLS key" 0, cluster, 0, n), n = 0, 1, ... until 0 < d < order of P-256
 *
 * While a cluster changes its key there are two, and the sides must agree on one before either shows
 * anything. So the dialer puts a hint into the name of the server it looks for (SNI), which is sent in the
 * clear: 8 random bytes and, for each of its keys, 4 bytes of an HMAC over them, all in hexadecimal. The
 * acceptor uses its first key that fits. If none does it says no more than "handshake failure": a peer
 * without the key does not even see a certificate. The dialer learns from the certificate which key was
 * chosen and shows that one too.
 *
 * The keys are proved again inside: HELLO, ANSWER and PROOF run in the tunnel, and their macs cover a secret
 * of it (RFC 5705), so a node in between would need both the cluster's key and a certificate.
 *
 * Records hold 4 KiB and not 16: the buffers of an engine are 9 KiB instead of 33, which each unauthenticated
 * peer costs us. It costs 0.7 % in bytes. */
#include "tls/tls.h"
#include "tls/cert.h"

#include <stddef.h>

#ifdef PHX_TLS

/* A record of 4 KiB, and what TLS 1.2 may add to it (BearSSL's own numbers for its larger buffers). */
#define TLS_RECORD 4096u
#define TLS_IN (TLS_RECORD + (BR_SSL_BUFSIZE_INPUT - 16384u))
#define TLS_OUT (TLS_RECORD + (BR_SSL_BUFSIZE_OUTPUT - 16384u))
/* Between the streams and the engines: one system call for 16 records. */
#define TLS_BUFFER 65536u
/* A handshake does not say more than this at once, unless somebody has very long certificates. */
#define TLS_REST_MAX (TLS_BUFFER + TLS_OUT)

struct phx__tls_set {
    struct phx__mem *mem;
    struct tls_pem *pem; /* NULL: by key */
    struct tls_own own[PHX__KEYS];
    uint32_t own_count;
    br_x500_name issuer;
    uint8_t buffer[TLS_BUFFER];
};

struct tls_pin { /* a validator for BearSSL: the key we know, in whatever certificate */
    const br_x509_class *vtable;
    const struct tls_own *found;
    size_t size;
    uint8_t cert[TLS_OWN_CERT];
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
    const br_ssl_server_policy_class *policy; /* a chooser of certificates for BearSSL */
    br_ec_impl ec;   /* the curves of the exchange */
    const char *why; /* known better than the engine's error tells */
    struct phx__slices rest; /* ciphertext that the stream did not take */
    uint8_t in[TLS_IN], out[TLS_OUT];
};

/* What BearSSL knows by one of its members. */
#define TLS_OF(self, member) ((struct phx__tls *)(void *)((char *)(self) - offsetof(struct phx__tls, member)))

/* ---- Which of two keys, and whom to believe */

/* Called by the server's engine when it has read the first message. */
static int tls_choose(const br_ssl_server_policy_class **self, const br_ssl_server_context *cc,
                      br_ssl_server_choices *choices)
{
    struct phx__tls *t = TLS_OF(self, policy);
    br_ssl_server_context *server = &t->is.server;
    const struct tls_own *own = phx__tls_cert_hinted(t->set->own, t->set->own_count,
                                                     br_ssl_engine_get_server_name(&cc->eng));

    if (own == NULL) {
        t->why = "it does not have our key";
        return 0;
    }
    br_ssl_server_set_single_ec(server, &own->cert, 1, &own->sk, BR_KEYTYPE_SIGN, BR_KEYTYPE_EC,
                                br_ec_get_default(), br_ecdsa_sign_asn1_get_default());
    return (*server->policy_vtable)->choose(server->policy_vtable, cc, choices);
}

/* Then the chosen one acts, so the other two are never called. */
static const br_ssl_server_policy_class tls_policy_class = { sizeof(void *), tls_choose, NULL, NULL };

static void tls_pin_start(const br_x509_class **self, const char *name)
{
    struct tls_pin *pin = (struct tls_pin *)(void *)self;

    (void)name;
    pin->found = NULL;
    pin->size = 0;
}

static void tls_pin_cert(const br_x509_class **self, uint32_t size)
{
    (void)self, (void)size;
}

/* Only as much is looked at as a certificate of ours has. Whatever peers put around the key: they must have
 * its private half. */
static void tls_pin_append(const br_x509_class **self, const unsigned char *data, size_t size)
{
    struct tls_pin *pin = (struct tls_pin *)(void *)self;
    size_t room = sizeof pin->cert - pin->size;

    size = PHX__MIN(size, room);
    memcpy(pin->cert + pin->size, data, size);
    pin->size += size;
}

static void tls_pin_cert_end(const br_x509_class **self)
{
    (void)self;
}

/* Which of our keys it shows. The engine sees whether it has the private half: it gets the key we know. */
static unsigned tls_pin_end(const br_x509_class **self)
{
    struct tls_pin *pin = (struct tls_pin *)(void *)self;
    struct phx__tls *t = TLS_OF(self, judge.pin);

    for (uint32_t i = 0; i < t->set->own_count && pin->size >= TLS_POINT_AT + TLS_POINT; i++)
        if (memcmp(pin->cert + TLS_POINT_AT, t->set->own[i].point, TLS_POINT) == 0)
            pin->found = &t->set->own[i];
    if (pin->found == NULL)
        return BR_ERR_X509_NOT_TRUSTED;
    if (t->dialer) /* the dialer shows what the acceptor has shown */
        br_ssl_client_set_single_ec(&t->is.client, &pin->found->cert, 1, &pin->found->sk, BR_KEYTYPE_SIGN,
                                    BR_KEYTYPE_EC, br_ec_get_default(), br_ecdsa_sign_asn1_get_default());
    return 0;
}

static const br_x509_pkey *tls_pin_key(const br_x509_class *const *self, unsigned *usages)
{
    const struct tls_pin *pin = (const struct tls_pin *)(const void *)self;

    if (usages != NULL)
        *usages = BR_KEYTYPE_SIGN;
    return pin->found != NULL ? &pin->found->pk : NULL;
}

static const br_x509_class tls_pin_class = { sizeof(struct tls_pin), tls_pin_start, tls_pin_cert,
                                             tls_pin_append,         tls_pin_cert_end, tls_pin_end,
                                             tls_pin_key };

/* ---- A node's set */

/* Room for what three files hold: their DER, and of each CA's once more the name and the key. */
#define TLS_ARENA (4 * TLS_FILE_MAX)

static int tls_open_pem(struct phx__tls_set *s, const struct phx__tls_files *files)
{
    uint8_t *text = phx__mem_get(s->mem, TLS_FILE_MAX + 1);
    int err = PHX_ENOMEM;

    s->pem = phx__mem_zero(s->mem, sizeof *s->pem);
    if (s->pem != NULL && (s->pem->arena = phx__mem_get(s->mem, TLS_ARENA)) != NULL)
        s->pem->size = TLS_ARENA;
    if (text != NULL && s->pem != NULL && s->pem->arena != NULL)
        err = phx__tls_cert_read_files(s->pem, files->ca, files->cert, files->key, text);
    phx__mem_put_secret(s->mem, text, TLS_FILE_MAX + 1); /* it held a private key */
    return err;
}

int phx__tls_set_open(struct phx__tls_set **out, struct phx__mem *mem, const struct phx__tls_files *files)
{
    struct phx__tls_set *s = phx__mem_zero(mem, sizeof *s);
    int err = 0;

    PHX_ASSERT(TLS_IN <= PHX__TLS_HELD);
    *out = NULL;
    if (s == NULL)
        return PHX_ENOMEM;
    s->mem = mem;
    /* A server that wants a certificate must name who may have issued it: CN=node, as in our own ones. */
    s->issuer.data = s->own[0].der + TLS_ISSUER_AT;
    s->issuer.len = TLS_ISSUER;
    if (files->ca != NULL && (err = tls_open_pem(s, files)) != 0) {
        phx__tls_set_free(s);
        return err;
    }
    *out = s;
    return 0;
}

void phx__tls_set_free(struct phx__tls_set *s)
{
    struct phx__mem *mem;

    if (s == NULL)
        return;
    mem = s->mem;
    if (s->pem != NULL) {
        phx__mem_put_secret(mem, s->pem->arena, s->pem->size);
        phx__mem_put(mem, s->pem, sizeof *s->pem);
    }
    phx__mem_put_secret(mem, s, sizeof *s); /* keys made from that of the cluster */
}

void phx__tls_keys(struct phx__tls_set *s, const char *cluster, const struct phx_key *keys, uint32_t count)
{
    PHX_ASSERT(count <= PHX__KEYS);
    s->own_count = 0;
    while (s->own_count < count && s->pem == NULL) {
        phx__tls_cert_make(&s->own[s->own_count], cluster, &keys[s->own_count]);
        s->own_count++;
    }
}

uint8_t *phx__tls_buffer(struct phx__tls_set *s, size_t *capacity)
{
    *capacity = TLS_BUFFER;
    return s->buffer;
}

/* ---- Engines */

static void tls_setup(br_ssl_engine_context *e, struct phx__tls *t, const uint8_t *seed)
{
    /* AES goes first where the processor helps with it, which all sides of a cluster mostly agree on. */
    int aes = br_aes_x86ni_ctr_get_vtable() != NULL || br_aes_pwr8_ctr_get_vtable() != NULL;
    const uint16_t suites[] = {
        aes ? BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 : BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        aes ? BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 : BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        aes ? BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 : BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        aes ? BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 : BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    };

    br_ssl_engine_set_versions(e, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_suites(e, suites, PHX__COUNT(suites));
    br_ssl_engine_set_hash(e, br_sha256_ID, &br_sha256_vtable);
    br_ssl_engine_set_hash(e, br_sha384_ID, &br_sha384_vtable);
    br_ssl_engine_set_hash(e, br_sha512_ID, &br_sha512_vtable);
    br_ssl_engine_set_prf_sha256(e, br_tls12_sha256_prf);
    br_ssl_engine_set_prf_sha384(e, br_tls12_sha384_prf);
    br_ssl_engine_set_default_aes_gcm(e);
    br_ssl_engine_set_default_chapol(e);
    br_ssl_engine_set_default_ec(e);
    br_ssl_engine_set_default_rsavrfy(e);
    br_ssl_engine_set_default_ecdsa(e);
    /* BearSSL takes any point for Curve25519, also those that make the same secret of whatever it is given
     * (RFC 7748, section 6.1). A peer with a certificate and without the key could make two connections with
     * one secret, and pass our macs from one to the other. Points of the other curves are checked. */
    t->ec = *br_ec_get_default();
    t->ec.supported_curves &= ~((uint32_t)1 << BR_EC_curve25519);
    br_ssl_engine_set_ec(e, &t->ec);
    br_ssl_engine_add_flags(e, BR_OPT_NO_RENEGOTIATION);
    br_ssl_engine_set_buffers_bidi(e, t->in, sizeof t->in, t->out, sizeof t->out);
    br_ssl_engine_inject_entropy(e, seed, 32);
    br_ssl_engine_set_x509(e, t->set->pem != NULL ? &t->judge.minimal.vtable : &t->judge.pin.vtable);
}

static void tls_show_files(struct phx__tls *t)
{
    const struct tls_pem *pem = t->set->pem;

    if (pem->key_type == BR_KEYTYPE_RSA && t->dialer)
        br_ssl_client_set_single_rsa(&t->is.client, pem->chain, pem->chain_count,
                                     br_skey_decoder_get_rsa(&pem->key), br_rsa_pkcs1_sign_get_default());
    else if (pem->key_type == BR_KEYTYPE_RSA)
        br_ssl_server_set_single_rsa(&t->is.server, pem->chain, pem->chain_count,
                                     br_skey_decoder_get_rsa(&pem->key), BR_KEYTYPE_SIGN,
                                     br_rsa_private_get_default(), br_rsa_pkcs1_sign_get_default());
    else if (t->dialer)
        br_ssl_client_set_single_ec(&t->is.client, pem->chain, pem->chain_count,
                                    br_skey_decoder_get_ec(&pem->key), BR_KEYTYPE_SIGN, pem->issuer_type,
                                    br_ec_get_default(), br_ecdsa_sign_asn1_get_default());
    else
        br_ssl_server_set_single_ec(&t->is.server, pem->chain, pem->chain_count,
                                    br_skey_decoder_get_ec(&pem->key), BR_KEYTYPE_SIGN, pem->issuer_type,
                                    br_ec_get_default(), br_ecdsa_sign_asn1_get_default());
}

static int tls_start_client(struct phx__tls *t, const uint8_t *seed)
{
    char name[TLS_NAME + 1];

    br_ssl_client_zero(&t->is.client);
    t->engine = &t->is.client.eng;
    tls_setup(t->engine, t, seed);
    if (t->set->pem != NULL)
        tls_show_files(t);
    else
        phx__tls_cert_put_name(t->set->own, t->set->own_count, seed + 32, name);
    return br_ssl_client_reset(&t->is.client, t->set->pem != NULL ? NULL : name, 0);
}

static int tls_start_server(struct phx__tls *t, const uint8_t *seed)
{
    br_ssl_server_zero(&t->is.server);
    t->engine = &t->is.server.eng;
    tls_setup(t->engine, t, seed);
    if (t->set->pem != NULL) {
        tls_show_files(t);
        br_ssl_server_set_trust_anchor_names_alt(&t->is.server, t->set->pem->anchors,
                                                 t->set->pem->anchor_count);
    } else {
        t->policy = &tls_policy_class;
        br_ssl_server_set_policy(&t->is.server, &t->policy);
        br_ssl_server_set_trust_anchor_names(&t->is.server, &t->set->issuer, 1);
    }
    return br_ssl_server_reset(&t->is.server);
}

int phx__tls_open(struct phx__tls_set *s, int dialer, const uint8_t *seed, struct phx__tls **out)
{
    struct phx__tls *t;

    if (s->pem == NULL && s->own_count == 0)
        return PHX_ENOKEY;
    if ((t = phx__mem_zero(s->mem, sizeof *t)) == NULL)
        return PHX_ENOMEM;
    t->set = s;
    t->dialer = dialer;
    phx__buf_slices_init(&t->rest, s->mem);
    if (s->pem != NULL)
        phx__tls_cert_judge_by_ca(s->pem, &t->judge.minimal);
    else
        t->judge.pin.vtable = &tls_pin_class;
    if (!(dialer ? tls_start_client(t, seed) : tls_start_server(t, seed))) {
        phx__tls_free(t);
        return PHX_EIO; /* no random bytes */
    }
    *out = t;
    return 0;
}

void phx__tls_free(struct phx__tls *t)
{
    struct phx__mem *mem;

    if (t == NULL)
        return;
    mem = t->set->mem;
    phx__buf_slices_free(&t->rest);
    phx__mem_put_secret(mem, t, sizeof *t); /* it held the keys of a connection */
}

/* ---- Bytes */

static int tls_keep(struct phx__tls *t, const uint8_t *data, size_t size)
{
    struct phx__block *b;
    int err;

    if (size == 0)
        return 0;
    if (t->rest.bytes + size > TLS_REST_MAX)
        return PHX_ETLS;
    if ((b = phx__buf_block_new(t->set->mem, size)) == NULL)
        return PHX_ENOMEM;
    err = phx__buf_slices_push(&t->rest, b, memcpy(b->data, data, size), size);
    phx__buf_block_drop(b);
    return err;
}

static int tls_ended(const struct phx__tls *t)
{
    return br_ssl_engine_last_error(t->engine) == BR_ERR_OK && t->why == NULL ? PHX_ERESET : PHX_ETLS;
}

/* What the engine has for the stream before it can take more goes to the rest: parts of a handshake. */
static int tls_put_aside(struct phx__tls *t)
{
    size_t n;
    unsigned char *from = br_ssl_engine_sendrec_buf(t->engine, &n);
    int err = tls_keep(t, from, n);

    if (err == 0)
        br_ssl_engine_sendrec_ack(t->engine, n);
    return err;
}

long phx__tls_feed(struct phx__tls *t, size_t size, uint8_t *out)
{
    const uint8_t *in = t->set->buffer;
    size_t got = 0, n;
    int err = 0;

    while (err == 0) {
        unsigned state = br_ssl_engine_current_state(t->engine);
        unsigned char *at;
        if (state == BR_SSL_CLOSED)
            return tls_ended(t);
        if (state & BR_SSL_RECVAPP) {
            at = br_ssl_engine_recvapp_buf(t->engine, &n);
            memcpy(out + got, at, n);
            got += n;
            br_ssl_engine_recvapp_ack(t->engine, n);
        } else if (size == 0) {
            break;
        } else if (state & BR_SSL_RECVREC) {
            at = br_ssl_engine_recvrec_buf(t->engine, &n);
            n = n < size ? n : size;
            memcpy(at, in, n);
            in += n;
            size -= n;
            br_ssl_engine_recvrec_ack(t->engine, n);
        } else if (state & BR_SSL_SENDREC) {
            err = tls_put_aside(t);
        } else {
            err = PHX_ETLS; /* it takes nothing and says nothing: cannot be */
        }
    }
    return err != 0 ? err : (long)got;
}

/* Plaintext into the engine, as much as fits one record. */
static void tls_take_plain(struct phx__tls *t, struct phx__slices *from)
{
    struct iovec iov[8];
    size_t room, used = 0;
    unsigned char *at = br_ssl_engine_sendapp_buf(t->engine, &room);
    int i, count = phx__buf_slices_iov(from, iov, (int)PHX__COUNT(iov));

    for (i = 0; i < count && used < room; i++) {
        size_t n = iov[i].iov_len < room - used ? iov[i].iov_len : room - used;
        memcpy(at + used, iov[i].iov_base, n);
        used += n;
    }
    phx__buf_slices_take(from, used);
    br_ssl_engine_sendapp_ack(t->engine, used);
    if (from->bytes == 0)
        br_ssl_engine_flush(t->engine, 0);
}

int phx__tls_seal(struct phx__tls *t, struct phx__slices *from, struct iovec *out)
{
    size_t size = 0, n;

    if (phx__buf_slices_iov(&t->rest, out, 1) > 0)
        return 0;
    while (size < TLS_BUFFER) {
        unsigned state = br_ssl_engine_current_state(t->engine);
        unsigned char *at;
        if (state & BR_SSL_SENDREC) {
            at = br_ssl_engine_sendrec_buf(t->engine, &n);
            n = n < TLS_BUFFER - size ? n : TLS_BUFFER - size;
            memcpy(t->set->buffer + size, at, n);
            size += n;
            br_ssl_engine_sendrec_ack(t->engine, n);
        } else if ((state & BR_SSL_SENDAPP) && from->bytes > 0) {
            tls_take_plain(t, from);
        } else if (state == BR_SSL_CLOSED && size == 0) {
            return tls_ended(t); /* after its last words */
        } else {
            break;
        }
    }
    out->iov_base = t->set->buffer;
    out->iov_len = size;
    return 0;
}

int phx__tls_sent(struct phx__tls *t, const struct iovec *what, size_t taken)
{
    if (what->iov_base == t->set->buffer)
        return tls_keep(t, t->set->buffer + taken, what->iov_len - taken);
    phx__buf_slices_take(&t->rest, taken);
    return 0;
}

size_t phx__tls_queued(const struct phx__tls *t)
{
    return t->rest.bytes;
}

int phx__tls_binding(struct phx__tls *t, uint8_t out[32])
{
    return br_ssl_key_export(t->engine, out, 32, "EXPORTER-Phoenix", NULL, 0) ? 0 : PHX_ETLS;
}

static const struct tls_cause {
    int error;
    const char *text;
} tls_causes[] = {
    { BR_ERR_UNSUPPORTED_VERSION, "it does not speak TLS 1.2" },
    { BR_ERR_BAD_VERSION, "it does not speak TLS" },
    { BR_ERR_UNKNOWN_TYPE, "it does not speak TLS" },
    { BR_ERR_TOO_LARGE, "it sends records of more than 4 KiB" },
    { BR_ERR_NO_RANDOM, "no random bytes" },
    { BR_ERR_BAD_SIGNATURE, "it does not have the private key of its certificate" },
    { BR_ERR_NO_CLIENT_AUTH, "it shows no certificate" },
    { BR_ERR_X509_EXPIRED, "its certificate has expired, or is not valid yet" },
    { BR_ERR_X509_NOT_TRUSTED, "its certificate is by nobody we trust" },
    { BR_ERR_X509_BAD_SIGNATURE, "its certificate has a bad signature" },
    { BR_ERR_X509_NOT_CA, "its certificate was issued by one that may not" },
    { BR_ERR_X509_WEAK_PUBLIC_KEY, "the key in its certificate is too short" },
    { BR_ERR_RECV_FATAL_ALERT + BR_ALERT_HANDSHAKE_FAILURE, "it refuses: another key, or no certificate" },
    { BR_ERR_RECV_FATAL_ALERT + BR_ALERT_CERTIFICATE_EXPIRED, "it says that our certificate has expired" },
    { BR_ERR_RECV_FATAL_ALERT + BR_ALERT_UNKNOWN_CA, "it does not know our CA" },
    { BR_ERR_RECV_FATAL_ALERT + BR_ALERT_PROTOCOL_VERSION, "it does not speak TLS 1.2" },
};

const char *phx__tls_why(const struct phx__tls *t)
{
    int error = br_ssl_engine_last_error(t->engine);

    if (t->why != NULL)
        return t->why;
    for (size_t i = 0; i < PHX__COUNT(tls_causes); i++)
        if (tls_causes[i].error == error)
            return tls_causes[i].text;
    if (error >= BR_ERR_RECV_FATAL_ALERT && error < BR_ERR_SEND_FATAL_ALERT)
        return "it refuses our handshake";
    if (error >= BR_ERR_X509_OK && error <= BR_ERR_X509_NOT_TRUSTED)
        return "its certificate is malformed or unusable";
    return "it broke the rules of TLS";
}

#endif
