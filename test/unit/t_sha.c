/* t_sha.c - SHA-256 and HMAC against the published vectors, and in pieces of every size. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/sha.h"
#endif

static int is_hex(const uint8_t digest[32], const char *hex)
{
    char text[65];
    int i;

    for (i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return strcmp(text, hex) == 0;
}

static void test_fips(void)
{
    /* Goal: the hash is SHA-256. Method: the examples of FIPS 180-4, the empty text, a million 'a'. */
    static const struct { const char *text, *digest; } table[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    struct phx__sha s;
    uint8_t digest[32];
    char piece[1000];
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        phx__sha_init(&s);
        phx__sha_add(&s, table[i].text, strlen(table[i].text));
        phx__sha_end(&s, digest);
        ok(is_hex(digest, table[i].digest), "\"%s\"", table[i].text);
    }
    memset(piece, 'a', sizeof piece);
    phx__sha_init(&s);
    for (i = 0; i < 1000; i++)
        phx__sha_add(&s, piece, sizeof piece);
    phx__sha_end(&s, digest);
    ok(is_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"), "a million 'a'");
    phx__sha_init(&s);
    phx__sha_add(&s, NULL, 0);
    phx__sha_end(&s, digest);
    ok(is_hex(digest, table[0].digest), "NULL of size 0 is the empty text");
}

static void test_pieces(void)
{
    /* Goal: how the text is cut does not matter, and every length around the padding works.
     * Method: each length 0..200 is hashed at once and in pieces of 1..70 bytes; the digests of all
     * lengths are hashed together and compared with a value computed by another implementation. */
    struct phx__sha s, all;
    uint8_t text[200], whole[32], cut[32];
    size_t size, piece, at, n;
    int bad = 0;

    for (n = 0; n < sizeof text; n++)
        text[n] = (uint8_t)(n * 7 + 3);
    phx__sha_init(&all);
    for (size = 0; size <= sizeof text; size++) {
        phx__sha_init(&s);
        phx__sha_add(&s, text, size);
        phx__sha_end(&s, whole);
        phx__sha_add(&all, whole, sizeof whole);
        for (piece = 1; piece <= 70; piece++) {
            phx__sha_init(&s);
            for (at = 0; at < size; at += n) {
                n = size - at < piece ? size - at : piece;
                phx__sha_add(&s, text + at, n);
            }
            phx__sha_end(&s, cut);
            bad += memcmp(whole, cut, sizeof cut) != 0;
        }
    }
    ok(bad == 0, "all pieces of all lengths");
    phx__sha_end(&all, whole);
    ok(is_hex(whole, "3275febb4612d86d586eb9f11cd21e648a9fc7d95e0f6b8d362786e28c9c5b79"),
       "all lengths 0..200");
}

/* Fills out with `count` times `byte`, or with the text if there is one. */
static size_t expand(char *out, const char *text, int byte, size_t count)
{
    size_t n = text != NULL ? strlen(text) : count;

    if (text != NULL)
        memcpy(out, text, n);
    else
        memset(out, byte, n);
    return n;
}

static void test_hmac(void)
{
    /* Goal: the code is HMAC-SHA-256. Method: RFC 4231, cases 1-4, 6 and 7 (5 is truncated output), each
     * in one piece and byte by byte. */
    static const struct {
        int number;
        const char *key;
        int key_byte;
        size_t key_count;
        const char *text;
        int text_byte;
        size_t text_count;
        const char *digest;
    } table[] = {
        { 1, NULL, 0x0b, 20, "Hi There", 0, 0,
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { 2, "Jefe", 0, 0, "what do ya want for nothing?", 0, 0,
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { 3, NULL, 0xaa, 20, NULL, 0xdd, 50,
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
        { 4, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31", 0, 0, NULL, 0xcd, 50,
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
        { 6, NULL, 0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 0, 0,
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
        { 7, NULL, 0xaa, 131,
          "This is a test using a larger than block-size key and a larger than block-size data. The key "
          "needs to be hashed before being used by the HMAC algorithm.", 0, 0,
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
    };
    char key[200], text[200];
    uint8_t digest[32], slow[32];
    struct phx__hmac h;
    size_t i, k, key_size, text_size;

    for (i = 0; i < PHX__COUNT(table); i++) {
        key_size = expand(key, table[i].key, table[i].key_byte, table[i].key_count);
        text_size = expand(text, table[i].text, table[i].text_byte, table[i].text_count);
        phx__sha_hmac_init(&h, key, key_size);
        phx__sha_add(&h.inner, text, text_size);
        phx__sha_hmac_end(&h, digest);
        phx__sha_hmac_init(&h, key, key_size);
        for (k = 0; k < text_size; k++)
            phx__sha_add(&h.inner, text + k, 1);
        phx__sha_hmac_end(&h, slow);
        ok(is_hex(digest, table[i].digest) && memcmp(digest, slow, 32) == 0, "case %d", table[i].number);
    }
}

static void test_key_sizes(void)
{
    /* Goal: keys of 63, 64 and 65 bytes, where hashing the key sets in, and no key at all.
     * Method: values computed by another implementation; a key of 64 is not hashed, one of 65 is. */
    static const struct { size_t size; const char *digest; } table[] = {
        { 0, "fd7adb152c05ef80dccf50a1fa4c05d5a3ec6da95575fc312ae7c5d091836351" },
        { 63, "23670528b6b8c55d2f8ef2f36c1f000cec7c23ec76881c485f2e89b5fe705cca" },
        { 64, "ae0c0e4a2340cf50185eb46aaa8723f4769153661612e212fb0d1fa3170c6202" },
        { 65, "ed378e5dfa30dc98814ba09b2e610d9b6af66054922ceef9480da094a3f11b2d" },
    };
    struct phx__hmac h;
    uint8_t key[65], digest[32];
    size_t i;

    memset(key, 'k', sizeof key);
    for (i = 0; i < PHX__COUNT(table); i++) {
        phx__sha_hmac_init(&h, table[i].size == 0 ? NULL : key, table[i].size);
        phx__sha_add(&h.inner, "abc", 3);
        phx__sha_hmac_end(&h, digest);
        ok(is_hex(digest, table[i].digest), "key of %d bytes", (int)table[i].size);
    }
}

static void test_cluster_keys(void)
{
    /* Goal: keys of the cluster are told apart also where HMAC does not: zeros at the end, a long key and its
     * hash, no key and zeros. Method: each pair makes equal HMACs; the definition, for one. */
    static const uint8_t zeros[64];
    static const struct { size_t a, b; } pairs[] = { { 0, 16 }, { 16, 17 }, { 32, 64 } };
    uint8_t one[32], other[32], size[4] = { 32, 0, 0, 0 };
    struct phx__hmac h;
    size_t i;
    int bad = 0;

    for (i = 0; i < PHX__COUNT(pairs); i++) {
        phx__sha_key_init(&h, zeros, pairs[i].a);
        phx__sha_hmac_end(&h, one);
        phx__sha_key_init(&h, zeros, pairs[i].b);
        phx__sha_hmac_end(&h, other);
        bad += memcmp(one, other, 32) == 0;
    }
    ok(bad == 0, "%d of 3 pairs of keys look alike, promise 106", bad);
    phx__sha_hmac_init(&h, zeros, 32);
    phx__sha_add(&h.inner, size, 4);
    phx__sha_add(&h.inner, "abc", 3);
    phx__sha_hmac_end(&h, one);
    phx__sha_key_init(&h, zeros, 32);
    phx__sha_add(&h.inner, "abc", 3);
    phx__sha_hmac_end(&h, other);
    ok(memcmp(one, other, 32) == 0, "the size goes first");
}

static void test_equal(void)
{
    /* Goal: equal only if all 256 bits are. Method: flip each bit in turn. */
    uint8_t a[32], b[32];
    int bit, bad = 0;

    memset(a, 0x5a, sizeof a);
    memcpy(b, a, sizeof b);
    ok(phx__sha_equal(a, b) == 1, "equal");
    for (bit = 0; bit < 256; bit++) {
        b[bit / 8] = (uint8_t)(b[bit / 8] ^ 1 << bit % 8);
        bad += phx__sha_equal(a, b) != 0;
        b[bit / 8] = a[bit / 8];
    }
    ok(bad == 0, "any one bit makes it unequal");
}

int main(void)
{
    test_fips();
    test_pieces();
    test_hmac();
    test_key_sizes();
    test_cluster_keys();
    test_equal();
    return test_end();
}
