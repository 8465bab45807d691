/* cert.c - what a node shows of itself over TLS: a certificate made of a key, or one from files. */

/* Made of a key: the private key is derived from the cluster's, the certificate is written byte by byte, the
 * same at all nodes, and a hint tells the other side which key is meant. From files: three of them are read
 * once, when the node begins, and checked as a peer would check them: is there a certificate, is it by a CA
 * we believe, is it valid today, is the private key its own? An error is reported then, and not link by
 * link. */
#include "tls/cert.h"
#include "base/buf.h"

#ifdef PHX_TLS

/* ---- Own certificates */

/* Version 1, serial 1, ECDSA with SHA-256, CN=node by CN=node, 2000 to 9999; a point on P-256 follows. */
static const uint8_t tls_tbs[TLS_TBS] = {
    0x30, 0x81, 0xae, 0x02, 0x01, 0x01,                                                 /* */
    0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02,             /* */
    0x30, 0x0f, 0x31, 0x0d, 0x30, 0x0b, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x04,       /* */
    'n',  'o',  'd',  'e',  0x30, 0x20, 0x17, 0x0d, '0',  '0',  '0',  '1',  '0',        /* */
    '1',  '0',  '0',  '0',  '0',  '0',  '0',  'Z',  0x18, 0x0f, '9',  '9',  '9',        /* */
    '9',  '1',  '2',  '3',  '1',  '2',  '3',  '5',  '9',  '5',  '9',  'Z',  0x30,       /* */
    0x0f, 0x31, 0x0d, 0x30, 0x0b, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, 0x04, 'n',        /* */
    'o',  'd',  'e',  0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce,       /* */
    0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, /* */
    0x42, 0x00                                                                          /* */
};
/* The order of P-256, from the highest byte down (FIPS 186-4, D.1.2.3). */
static const uint8_t tls_order[32] = { 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
                                       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84,
                                       0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51 };

static void cert_derive(const struct phx_key *key, const char *label, const char *cluster, uint8_t n,
                        uint8_t out[32])
{
    struct phx__hmac h;

    phx__sha_key_init(&h, key->data, key->size);
    phx__sha_add(&h.inner, label, strlen(label) + 1);
    phx__sha_add(&h.inner, cluster, strlen(cluster) + 1);
    phx__sha_add(&h.inner, &n, 1);
    phx__sha_hmac_end(&h, out);
}

/* A self-signed certificate of the public key, the same on both sides: BearSSL signs as RFC 6979 says. */
static void cert_certify(struct tls_own *own)
{
    uint8_t hash[32], signature[80];
    struct phx__sha sha;
    struct phx__writer w;
    size_t start, size;

    phx__buf_writer_init(&w, own->der, sizeof own->der);
    phx__buf_put_bytes(&w, "\x30\x82\0\0", 4);
    start = w.size;
    phx__buf_put_bytes(&w, tls_tbs, sizeof tls_tbs);
    phx__buf_put_bytes(&w, own->point, TLS_POINT);
    phx__sha_init(&sha);
    phx__sha_add(&sha, own->der + start, w.size - start);
    phx__sha_end(&sha, hash);
    size = br_ecdsa_sign_asn1_get_default()(br_ec_get_default(), &br_sha256_vtable, hash, &own->sk,
                                            signature);
    phx__buf_put_bytes(&w, tls_tbs + 6, 12); /* how it is signed, said again: the second line of tls_tbs */
    phx__buf_put_u8(&w, 0x03);
    phx__buf_put_u8(&w, (uint8_t)(size + 1));
    phx__buf_put_u8(&w, 0);
    phx__buf_put_bytes(&w, signature, size);
    PHX_ASSERT(!w.bad && size > 0);
    own->der[2] = (uint8_t)((w.size - start) >> 8);
    own->der[3] = (uint8_t)(w.size - start);
    own->cert.data = own->der;
    own->cert.data_len = w.size;
}

void phx__tls_cert_make(struct tls_own *own, const char *cluster, const struct phx_key *key)
{
    static const uint8_t zeroes[32] = { 0 };
    uint8_t n = 0;

    memset(own, 0, sizeof *own);
    cert_derive(key, "PHX1 TLS hint", cluster, 0, own->hint);
    do /* one try in four thousand million is not below the order, so the loop is for the proof only */
        cert_derive(key, "PHX1 TLS key", cluster, n++, own->scalar);
    while (memcmp(own->scalar, tls_order, 32) >= 0 || memcmp(own->scalar, zeroes, 32) == 0);
    own->sk.curve = BR_EC_secp256r1;
    own->sk.x = own->scalar;
    own->sk.xlen = sizeof own->scalar;
    own->pk.key_type = BR_KEYTYPE_EC;
    (void)br_ec_compute_pub(br_ec_get_default(), &own->pk.key.ec, own->point, &own->sk);
    cert_certify(own);
}

/* ---- Hints: which of two keys */

static void cert_hint(const struct tls_own *own, const uint8_t *nonce, uint8_t out[TLS_HINT])
{
    struct phx__hmac h;
    uint8_t full[32];

    phx__sha_hmac_init(&h, own->hint, sizeof own->hint);
    phx__sha_add(&h.inner, nonce, TLS_NONCE);
    phx__sha_hmac_end(&h, full);
    memcpy(out, full, TLS_HINT);
}

/* The name a dialer asks for; what no key fills is random, so that nobody sees how many there are. */
void phx__tls_cert_put_name(const struct tls_own *own, uint32_t count, const uint8_t *random,
                            char name[TLS_NAME + 1])
{
    struct phx_id bytes; /* as many, and in hexadecimal, too */

    PHX_ASSERT(sizeof bytes == TLS_NAME / 2);
    memcpy(&bytes, random, sizeof bytes);
    for (uint32_t i = 0; i < count; i++)
        cert_hint(&own[i], bytes.b, bytes.b + TLS_NONCE + i * TLS_HINT);
    (void)phx_id_text(&bytes, name);
}

static int cert_hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const struct tls_own *phx__tls_cert_hinted(const struct tls_own *own, uint32_t count, const char *name)
{
    uint8_t bytes[TLS_NAME / 2], hint[TLS_HINT];

    if (strlen(name) != TLS_NAME)
        return NULL;
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        int high = cert_hex(name[2 * i]), low = cert_hex(name[2 * i + 1]);
        if (high < 0 || low < 0)
            return NULL;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    for (uint32_t i = 0; i < count; i++) {
        cert_hint(&own[i], bytes, hint);
        for (uint32_t k = TLS_NONCE; k < sizeof bytes; k += TLS_HINT)
            if (memcmp(hint, bytes + k, TLS_HINT) == 0)
                return &own[i];
    }
    return NULL;
}

/* ---- PEM files */

static void cert_arena_add(void *arg, const void *data, size_t size)
{
    struct tls_pem *pem = arg;

    if (size > pem->size - pem->used) /* cannot be: DER is shorter than its PEM */
        size = pem->size - pem->used;
    memcpy(pem->arena + pem->used, data, size);
    pem->used += size;
}

static int cert_is_certificate(const char *name)
{
    return strcmp(name, "CERTIFICATE") == 0 || strcmp(name, "X509 CERTIFICATE") == 0;
}

/* Copies `size` bytes to the arena. */
static unsigned char *cert_arena_copy(struct tls_pem *pem, const void *data, size_t size)
{
    unsigned char *at = pem->arena + pem->used;

    cert_arena_add(pem, data, size);
    return at;
}

static int cert_take_anchor(struct tls_pem *pem, const char *name, unsigned char *der, size_t size)
{
    br_x509_trust_anchor *a = &pem->anchors[pem->anchor_count];
    br_x509_decoder_context decoder;
    br_x509_pkey *key;

    if (!cert_is_certificate(name))
        return 0; /* others may stand in the same file */
    if (pem->anchor_count == TLS_ANCHORS)
        return PHX_EPEM;
    memset(a, 0, sizeof *a);
    a->dn.data = pem->arena + pem->used;
    br_x509_decoder_init(&decoder, cert_arena_add, pem);
    br_x509_decoder_push(&decoder, der, size);
    a->dn.len = (size_t)(pem->arena + pem->used - a->dn.data);
    if ((key = br_x509_decoder_get_pkey(&decoder)) == NULL)
        return PHX_EPEM;
    a->flags = br_x509_decoder_isCA(&decoder) ? BR_X509_TA_CA : 0;
    a->pkey = *key;
    if (key->key_type == BR_KEYTYPE_RSA) {
        a->pkey.key.rsa.n = cert_arena_copy(pem, key->key.rsa.n, key->key.rsa.nlen);
        a->pkey.key.rsa.e = cert_arena_copy(pem, key->key.rsa.e, key->key.rsa.elen);
    } else {
        a->pkey.key.ec.q = cert_arena_copy(pem, key->key.ec.q, key->key.ec.qlen);
    }
    pem->anchor_count++;
    return 0;
}

static int cert_take_chain(struct tls_pem *pem, const char *name, unsigned char *der, size_t size)
{
    if (!cert_is_certificate(name))
        return 0;
    if (pem->chain_count == TLS_CHAIN)
        return PHX_EPEM;
    pem->chain[pem->chain_count].data = der;
    pem->chain[pem->chain_count++].data_len = size;
    return 0;
}

static int cert_take_key(struct tls_pem *pem, const char *name, unsigned char *der, size_t size)
{
    /* "EC PARAMETERS" may come before; "ENCRYPTED PRIVATE KEY" would need somebody to type a password. */
    if (strcmp(name, "RSA PRIVATE KEY") != 0 && strcmp(name, "EC PRIVATE KEY") != 0
        && strcmp(name, "PRIVATE KEY") != 0)
        return 0;
    br_skey_decoder_init(&pem->key);
    br_skey_decoder_push(&pem->key, der, size);
    pem->key_type = br_skey_decoder_key_type(&pem->key);
    return pem->key_type == 0 ? PHX_EPEM : 0;
}

static int cert_parse_pem(struct tls_pem *pem, const uint8_t *text, size_t size,
                          int (*take)(struct tls_pem *, const char *, unsigned char *, size_t))
{
    br_pem_decoder_context decoder;
    size_t start = pem->used;
    int inside = 0, err = 0;

    br_pem_decoder_init(&decoder);
    while (size > 0 && err == 0) {
        size_t n = br_pem_decoder_push(&decoder, text, size);
        text += n;
        size -= n;
        switch (br_pem_decoder_event(&decoder)) {
        case BR_PEM_BEGIN_OBJ:
            inside = 1;
            start = pem->used;
            br_pem_decoder_setdest(&decoder, cert_arena_add, pem);
            break;
        case BR_PEM_END_OBJ:
            inside = 0;
            err = take(pem, br_pem_decoder_name(&decoder), pem->arena + start, pem->used - start);
            break;
        case BR_PEM_ERROR: err = PHX_EPEM; break;
        default: break;
        }
    }
    return err == 0 && inside ? PHX_EPEM : err;
}

/* The parser wants a line end after the last line, which files may lack. */
static int cert_read_pem(struct tls_pem *pem, const char *path, uint8_t *text,
                         int (*take)(struct tls_pem *, const char *, unsigned char *, size_t))
{
    long size = phx__os_read_file(path, text, TLS_FILE_MAX);

    if (size < 0)
        return (int)size;
    if (size == (long)TLS_FILE_MAX)
        return PHX_EPEM; /* no file of certificates is so large */
    text[size] = '\n';
    return cert_parse_pem(pem, text, (size_t)size + 1, take);
}

void phx__tls_cert_judge_by_ca(const struct tls_pem *pem, br_x509_minimal_context *x)
{
    uint64_t now = phx__os_wall_seconds();

    br_x509_minimal_init(x, &br_sha256_vtable, pem->anchors, pem->anchor_count);
    br_x509_minimal_set_rsa(x, br_rsa_pkcs1_vrfy_get_default());
    br_x509_minimal_set_ecdsa(x, br_ec_get_default(), br_ecdsa_vrfy_asn1_get_default());
    br_x509_minimal_set_hash(x, br_sha256_ID, &br_sha256_vtable);
    br_x509_minimal_set_hash(x, br_sha384_ID, &br_sha384_vtable);
    br_x509_minimal_set_hash(x, br_sha512_ID, &br_sha512_vtable);
    /* BearSSL counts days from the year 0; 1970 began 719,528 of them later. */
    br_x509_minimal_set_time(x, (uint32_t)(now / 86400 + 719528), (uint32_t)(now % 86400));
}

/* Does the public key believe what the private one signs? BearSSL cannot compute a modulus of 4096 bits, and
 * does not sign with a larger one. */
static int cert_check_rsa(const br_rsa_private_key *sk, const br_rsa_public_key *pk)
{
    uint8_t signature[512], hash[32] = { 1 }, got[32];
    size_t size = (sk->n_bitlen + 7) / 8;

    if (size > sizeof signature
        || !br_rsa_pkcs1_sign_get_default()(BR_HASH_OID_SHA256, hash, sizeof hash, sk, signature))
        return PHX_EPEM;
    return br_rsa_pkcs1_vrfy_get_default()(signature, size, BR_HASH_OID_SHA256, sizeof hash, pk, got)
                   && memcmp(hash, got, sizeof hash) == 0
               ? 0
               : PHX_EPAIR;
}

/* Would others believe us? Better to know now than link by link. */
static int cert_check_own(struct tls_pem *pem)
{
    br_x509_minimal_context x;
    const br_x509_class **v = &x.vtable;
    const br_x509_pkey *pk;
    uint8_t point[BR_EC_KBUF_PUB_MAX_SIZE];
    br_ec_public_key ec;
    unsigned usages = 0, err;

    phx__tls_cert_judge_by_ca(pem, &x);
    (*v)->start_chain(v, NULL);
    for (size_t i = 0; i < pem->chain_count; i++) {
        (*v)->start_cert(v, (uint32_t)pem->chain[i].data_len);
        (*v)->append(v, pem->chain[i].data, pem->chain[i].data_len);
        (*v)->end_cert(v);
    }
    err = (*v)->end_chain(v);
    pk = (*v)->get_pkey((const br_x509_class *const *)v, &usages);
    if (err != 0 || pk == NULL || !(usages & BR_KEYTYPE_SIGN)) /* both sides sign in each handshake */
        return PHX_ECERT;
    if (pk->key_type != pem->key_type)
        return PHX_EPAIR;
    if (pem->key_type == BR_KEYTYPE_RSA)
        return cert_check_rsa(br_skey_decoder_get_rsa(&pem->key), &pk->key.rsa);
    if (br_ec_compute_pub(br_ec_get_default(), &ec, point, br_skey_decoder_get_ec(&pem->key)) == 0)
        return PHX_EPEM; /* a curve that this library does not know */
    return ec.curve == pk->key.ec.curve && ec.qlen == pk->key.ec.qlen
                   && memcmp(ec.q, pk->key.ec.q, ec.qlen) == 0
               ? 0
               : PHX_EPAIR;
}

int phx__tls_cert_read_files(struct tls_pem *pem, const char *ca, const char *cert, const char *key,
                             uint8_t *text)
{
    br_x509_decoder_context decoder;
    int err;

    if ((err = cert_read_pem(pem, ca, text, cert_take_anchor)) != 0
        || (err = cert_read_pem(pem, cert, text, cert_take_chain)) != 0
        || (err = cert_read_pem(pem, key, text, cert_take_key)) != 0)
        return err;
    if (pem->anchor_count == 0 || pem->chain_count == 0 || pem->key_type == 0)
        return PHX_EPEM;
    br_x509_decoder_init(&decoder, NULL, NULL);
    br_x509_decoder_push(&decoder, pem->chain[0].data, pem->chain[0].data_len);
    pem->issuer_type = (unsigned)br_x509_decoder_get_signer_key_type(&decoder);
    return br_x509_decoder_get_pkey(&decoder) == NULL ? PHX_EPEM : cert_check_own(pem);
}

#endif
