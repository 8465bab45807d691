/* sha.c - SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the hello's proof. */

/* Written to be short and plainly right, and after that for the start of a mesh: each end of a link hashes
 * some 12 blocks for the two proofs of its hello, and hundreds of processes may start hundreds of links each
 * on the same few processors. The plain loop over variables takes 2 us an end; unrolled by eight it would be
 * a tenth faster, and four times as much code. The two blocks that only depend on the key are hashed once
 * for each key and not once for each proof (link/hello.c). No table is indexed by secret bytes and no branch
 * depends on them, so its timing tells only how much was hashed.
 *
 * It wipes nothing from the stack: the node's configuration holds the key anyway. Names are those of FIPS
 * 180-4, 6.2.2. */
#include "base/sha.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

/* The same of the square roots of the first 8 primes. */
static const uint32_t sha_start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
};

static uint32_t sha_rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* Spreads the 64 bytes at p over 64 words, big-endian unlike our wire. */
static void sha_schedule(uint32_t w[64], const uint8_t *p)
{
    int i;

    for (i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + (sha_rotate(x, 7) ^ sha_rotate(x, 18) ^ x >> 3) + w[i - 7]
               + (sha_rotate(y, 17) ^ sha_rotate(y, 19) ^ y >> 10);
    }
}

/* The names of the variables are those of the standard. */
static void sha_compress(uint32_t state[8], const uint8_t *p)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
             g = state[6], h = state[7], w[64];

    sha_schedule(w, p);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (sha_rotate(e, 6) ^ sha_rotate(e, 11) ^ sha_rotate(e, 25)) + (g ^ (e & (f ^ g)))
                      + sha_k[i] + w[i];
        uint32_t t2 = (sha_rotate(a, 2) ^ sha_rotate(a, 13) ^ sha_rotate(a, 22)) + ((a & b) | (c & (a | b)));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void phx__sha_init(struct phx__sha *s)
{
    memcpy(s->h, sha_start, sizeof s->h);
    s->total = 0;
}

void phx__sha_add(struct phx__sha *s, const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t have = (size_t)(s->total % 64), n;

    if (size == 0)
        return; /* data may be NULL then */
    s->total += size;
    /* First what completes the block begun before; then whole blocks of the caller's; the rest is kept. */
    if (have > 0) {
        n = size < 64 - have ? size : 64 - have;
        memcpy(s->block + have, p, n);
        p += n;
        size -= n;
        if (have + n < 64)
            return;
        sha_compress(s->h, s->block);
    }
    for (; size >= 64; p += 64, size -= 64)
        sha_compress(s->h, p);
    if (size > 0)
        memcpy(s->block, p, size);
}

void phx__sha_end(struct phx__sha *s, uint8_t out[32])
{
    uint64_t bits = s->total * 8;
    size_t have = (size_t)(s->total % 64), i;

    /* A one bit, zeroes, and the length as 8 bytes at the end of this block, or of a second one. */
    s->block[have++] = 0x80;
    if (have > 56) {
        memset(s->block + have, 0, 64 - have);
        sha_compress(s->h, s->block);
        have = 0;
    }
    memset(s->block + have, 0, 56 - have);
    for (i = 0; i < 8; i++)
        s->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha_compress(s->h, s->block);
    for (i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* HMAC(key, text) = H(key ^ opad, H(key ^ ipad, text)). Both begin at once, so the key need not be kept. */
PHX__COLD void phx__sha_hmac_init(struct phx__hmac *h, const void *key, size_t size)
{
    uint8_t pad[64];

    memset(pad, 0, sizeof pad);
    if (size > sizeof pad) {
        phx__sha_init(&h->inner);
        phx__sha_add(&h->inner, key, size);
        phx__sha_end(&h->inner, pad); /* RFC 2104, section 2: longer keys are hashed first */
    } else if (size > 0) {
        memcpy(pad, key, size);
    }
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36; /* ipad */
    phx__sha_init(&h->inner);
    phx__sha_add(&h->inner, pad, sizeof pad);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c; /* ipad off, opad on */
    phx__sha_init(&h->outer);
    phx__sha_add(&h->outer, pad, sizeof pad);
}

/* HMAC fills short keys up with zeros, so what ends in zeros would equal what does not, and no key a key of
 * zeros: the size is hashed first. */
PHX__COLD void phx__sha_key_init(struct phx__hmac *h, const void *key, size_t size)
{
    const uint8_t bytes[4] = { (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                               (uint8_t)(size >> 24) };

    phx__sha_hmac_init(h, key, size);
    phx__sha_add(&h->inner, bytes, sizeof bytes);
}

void phx__sha_hmac_end(struct phx__hmac *h, uint8_t out[32])
{
    uint8_t digest[32];

    phx__sha_end(&h->inner, digest);
    phx__sha_add(&h->outer, digest, sizeof digest);
    phx__sha_end(&h->outer, out);
}

int phx__sha_equal(const uint8_t a[32], const uint8_t b[32])
{
    /* volatile: a loop left at the first difference would tell a forger how many bytes are right. */
    volatile uint8_t differ = 0;

    for (int i = 0; i < 32; i++)
        differ = (uint8_t)(differ | (a[i] ^ b[i]));
    return differ == 0;
}
