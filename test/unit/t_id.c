/* t_id.c - ids and their indices; addresses to and from text and wire. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/addr.h"
#include "base/id.h"
#include "base/rnd.h"
#endif

#include <arpa/inet.h>

/* ---- Ids */

static struct phx_id make_id(uint64_t a, uint64_t b)
{
    struct phx_id id;
    struct phx__writer w;

    phx__buf_writer_init(&w, id.b, sizeof id.b);
    phx__buf_put_u64(&w, a);
    phx__buf_put_u64(&w, b);
    return id;
}

static void test_ids_basic(void)
{
    /* Goal: text, order and hash of ids. Method: by hand. */
    struct phx_id a = make_id(1, 2), b = make_id(1, 3), c;
    char text[PHX_ID_TEXT];
    size_t i;

    for (i = 0; i < sizeof c.b; i++)
        c.b[i] = (unsigned char)(i * 17);
    ok(strcmp(phx_id_text(&c, text), "00112233445566778899aabbccddeeff") == 0, "text");
    ok(phx__id_equal(&a, &a) && !phx__id_equal(&a, &b), "equal");
    ok(phx__id_compare(&a, &a) == 0 && phx__id_compare(&a, &b) < 0 && phx__id_compare(&b, &a) > 0, "order");
    a.b[0] = 0x80;
    ok(phx__id_compare(&a, &b) > 0, "bytes are unsigned");
    a = make_id(2, 1);
    b = make_id(1, 2);
    ok(phx__id_hash(&a) != phx__id_hash(&b), "halves do not commute in the hash");
    a = make_id(0, 0);
    ok(phx__id_hash(&a) != 0 && phx__id_hash(&a) == phx__id_hash(&a), "the hash of zero is a value");
}

static void test_ids_index(void)
{
    /* Goal: dense indices, the lowest free first, the limit. Method: by hand. */
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx_id id[5];
    uint32_t i, index, bad = 0;

    phx__mem_init(&mem, NULL, 0);
    phx__id_init(&ids, &mem, 4);
    for (i = 0; i < 5; i++)
        id[i] = make_id(i, 99);
    ok(phx__id_find(&ids, &id[0]) == PHX__NONE, "nobody yet");
    for (i = 0; i < 4; i++)
        bad += phx__id_add(&ids, &id[i], &index) != 0 || index != i;
    ok(bad == 0 && ids.count == 4 && ids.size == 4, "0, 1, 2, 3");
    ok(phx__id_add(&ids, &id[2], &index) == 0 && index == 2 && ids.count == 4, "found, not added twice");
    ok(phx__id_add(&ids, &id[4], &index) == PHX_ELIMIT && ids.count == 4, "the limit");
    phx__id_drop(&ids, 2);
    phx__id_drop(&ids, 1);
    ok(phx__id_find(&ids, &id[1]) == PHX__NONE && phx__id_find(&ids, &id[3]) == 3, "dropped");
    ok(phx__id_add(&ids, &id[4], &index) == 0 && index == 1, "the lowest free index");
    ok(phx__id_add(&ids, &id[1], &index) == 0 && index == 2 && ids.size == 4, "then the next");
    ok(phx__id_equal(&ids.at[1], &id[4]) && phx__id_find(&ids, &id[4]) == 1, "and the right id there");
    phx__id_free(&ids);
    ok(mem.used == 0, "all memory is back");
}

static void test_ids_collision(void)
{
    /* Goal: an id whose hash another has already is refused and not mistaken for it. Method: the mix of
     * 64 bits can be undone by exclusive or in the low half, so a colliding pair is easy to make. */
    uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    struct phx_id a = make_id(1, 2), b = make_id(1 ^ phx__map_mix(2 + odd) ^ phx__map_mix(3 + odd), 3);
    struct phx__mem mem;
    struct phx__ids ids;
    uint32_t index;

    phx__mem_init(&mem, NULL, 0);
    phx__id_init(&ids, &mem, 4);
    ok(phx__id_hash(&a) == phx__id_hash(&b) && !phx__id_equal(&a, &b), "two ids, one hash");
    ok(phx__id_add(&ids, &a, &index) == 0 && phx__id_find(&ids, &b) == PHX__NONE, "not mistaken");
    ok(phx__id_add(&ids, &b, &index) == PHX_ELIMIT && ids.count == 1, "and refused");
    phx__id_free(&ids);
}

static void test_ids_model(void)
{
    /* Goal: any sequence of add, find and drop behaves as a naive array. Method: 10 seeds, 20,000 calls
     * over 300 ids with room for 200. */
    enum { IDS = 300, LIMIT = 200 };
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__rnd r;
    struct phx_id id[IDS];
    uint32_t where[IDS], owner[LIMIT], i, lowest, index, count;
    uint64_t seed;
    int n, err, good;

    for (seed = 1; seed <= 10; seed++) {
        phx__mem_init(&mem, NULL, 0);
        phx__id_init(&ids, &mem, LIMIT);
        phx__rnd_seed(&r, seed, 3);
        for (i = 0; i < IDS; i++) {
            id[i] = make_id(phx__rnd_next(&r), i);
            where[i] = PHX__NONE;
        }
        memset(owner, 0xff, sizeof owner);
        count = 0;
        good = 1;
        for (n = 0; n < 20000 && good; n++) {
            i = (uint32_t)phx__rnd_below(&r, IDS);
            good = phx__id_find(&ids, &id[i]) == where[i];
            if (where[i] != PHX__NONE && phx__rnd_below(&r, 3) > 0) {
                phx__id_drop(&ids, where[i]);
                owner[where[i]] = PHX__NONE;
                where[i] = PHX__NONE;
                count--;
                continue;
            }
            for (lowest = 0; lowest < LIMIT && owner[lowest] != PHX__NONE; lowest++)
                continue;
            err = phx__id_add(&ids, &id[i], &index);
            if (where[i] != PHX__NONE) {
                good = good && err == 0 && index == where[i];
            } else if (count == LIMIT) {
                good = good && err == PHX_ELIMIT;
            } else {
                good = good && err == 0 && index == lowest;
                owner[lowest] = i;
                where[i] = lowest;
                count++;
            }
            good = good && ids.count == count;
        }
        phx__id_free(&ids);
        ok(good && mem.used == 0, "seed %d", (int)seed);
    }
}

static void test_ids_failure(void)
{
    /* Goal: an add without memory leaves no trace. Method: fail the n-th allocation for every n while 100
     * ids are added; retry the failed one. */
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx_id id;
    uint32_t i, k, index;
    long fail_at;
    int failed, bad = 0;

    alloc.alloc = test_alloc;
    alloc.world = &heap;
    for (fail_at = 1, failed = 1; failed; fail_at++) {
        memset(&heap, 0, sizeof heap);
        heap.fail_at = fail_at;
        phx__mem_init(&mem, &alloc, 0);
        phx__id_init(&ids, &mem, 1000);
        for (i = 0, failed = 0; i < 100; i++) {
            id = make_id(i, 1);
            if (phx__id_add(&ids, &id, &index) != 0) {
                failed++;
                bad += ids.count != i || ids.size != i || phx__id_find(&ids, &id) != PHX__NONE;
                bad += phx__id_add(&ids, &id, &index) != 0;
            }
            bad += index != i;
        }
        for (k = 0; k < 100; k++) {
            id = make_id(k, 1);
            bad += phx__id_find(&ids, &id) != k;
        }
        bad += failed > 1;
        phx__id_free(&ids);
        bad += !test_heap_is_clean(&heap) || mem.used != 0;
    }
    ok(bad == 0 && fail_at > 10, "%d allocations failed in turn", (int)fail_at - 2);
}

/* ---- Addresses as text */

#define S10 "0123456789"
#define S50 S10 S10 S10 S10 S10
#define PATH103 "/" S50 S50 "ab"
#define HOST255 S50 S50 S50 S50 S50 "abcde"

static void test_parse(void)
{
    /* Goal: exactly the grammar of phoenix.h. Method: a table of good and bad spellings with the parts
     * expected; a failure must leave zeroes. */
    static const struct {
        const char *text;
        int result;
        const char *host;
        int port;
        const char *path;
    } table[] = {
        { "tcp://127.0.0.1:7000", 0, "127.0.0.1", 7000, "" },
        { "tcp://hub.example.org:1", 0, "hub.example.org", 1, "" },
        { "tcp://hub.example.org.:1", 0, "hub.example.org.", 1, "" },
        { "tcp://n_1-a:65535", 0, "n_1-a", 65535, "" },
        { "tcp://h:0", 0, "h", 0, "" },
        { "tcp://h:00080", 0, "h", 80, "" },
        { "tcp://10-0-0-1.x:80", 0, "10-0-0-1.x", 80, "" },
        { "tcp://1a:80", 0, "1a", 80, "" },
        { "tcp://[::1]:80", 0, "::1", 80, "" },
        { "tcp://[FE80::1:2]:80", 0, "FE80::1:2", 80, "" },
        { "tcp://[::]:0", 0, "::", 0, "" },
        { "tcp://" HOST255 ":9", 0, HOST255, 9, "" }, { "tcp://0xg:9", 0, "0xg", 9, "" },
        { "unix:///tmp/x", 0, "", 0, "/tmp/x" },
        { "unix:///a b:c?", 0, "", 0, "/a b:c?" },
        { "unix://" PATH103, 0, "", 0, PATH103 },
        { NULL, PHX_EADDRESS, "", 0, "" },
        { "", PHX_EADDRESS, "", 0, "" },
        { "tcp", PHX_EADDRESS, "", 0, "" },
        { "tcp:/h:1", PHX_EADDRESS, "", 0, "" },
        { "h:7000", PHX_EADDRESS, "", 0, "" },
        { "127.0.0.1:7000", PHX_EADDRESS, "", 0, "" },
        { "tcp://", PHX_EADDRESS, "", 0, "" },
        { "tcp://h", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:", PHX_EADDRESS, "", 0, "" },
        { "tcp://:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:65536", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:99999", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:000080", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:4294967376", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:+80", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:-1", PHX_EADDRESS, "", 0, "" },
        { "tcp://h: 80", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:80 ", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:80/", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:0x50", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:http", PHX_EADDRESS, "", 0, "" },
        { "tcp://h:80:81", PHX_EADDRESS, "", 0, "" },
        { "tcp://h h:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://h/x:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://me@h:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://h\n:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://" HOST255 "f:9", PHX_EADDRESS, "", 0, "" },
        { "tcp://::1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://fe80::1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[::1]", PHX_EADDRESS, "", 0, "" },
        { "tcp://[::1]80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[::1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[]:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[127.0.0.1]:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[hub]:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://[fe80::1%eth0]:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://010.0.0.1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://256.0.0.1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://10.1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://2130706433:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://0x7f000001:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://0X7F.1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://127.0.0x1:80", PHX_EADDRESS, "", 0, "" },
        { "tcp://127.0.0.1.:80", PHX_EADDRESS, "", 0, "" },
        { "unix://", PHX_EADDRESS, "", 0, "" },
        { "unix://tmp/x", PHX_EADDRESS, "", 0, "" },
        { "unix:///a\nb", PHX_EADDRESS, "", 0, "" },
        { "unix://" PATH103 "c", PHX_EADDRESS, "", 0, "" },
        { "udp://h:80", PHX_ESCHEME, "", 0, "" },
        { "TCP://h:80", PHX_ESCHEME, "", 0, "" },
        { " tcp://h:80", PHX_ESCHEME, "", 0, "" },
        { "://h:80", PHX_ESCHEME, "", 0, "" },
        { "tls://h:80", 0, "h", 80, "" },
    };
    struct phx__parsed p;
    size_t i;
    int family, err;

    for (i = 0; i < PHX__COUNT(table); i++) {
        memset(&p, 0xff, sizeof p);
        err = phx__addr_parse(table[i].text, &p);
        family = err != 0 ? 0 : table[i].host[0] != '\0' ? PHX_IPV4 : PHX_UNIX;
        ok(err == table[i].result && (int)p.at.family == family && p.at.port == table[i].port
               && strcmp(p.host, table[i].host) == 0 && strcmp(p.at.path, table[i].path) == 0,
           "parse case %d: %.60s", (int)i, table[i].text == NULL ? "NULL" : table[i].text);
    }
}

static void test_numeric(void)
{
    /* Goal: numeric hosts, each parsed to its bytes and printed in the one canonical form of RFC 5952; all
     * else is refused without touching the output. Method: a table; NULL means refused. */
    static const struct { const char *text, *canonical; } table[] = {
        { "0.0.0.0", "tcp://0.0.0.0:0" },
        { "255.255.255.255", "tcp://255.255.255.255:0" },
        { "192.0.2.1", "tcp://192.0.2.1:0" },
        { "::", "tcp://[::]:0" },
        { "::1", "tcp://[::1]:0" },
        { "1::", "tcp://[1::]:0" },
        { "2001:DB8::1", "tcp://[2001:db8::1]:0" },
        { "2001:0db8:0000:0000:0000:0000:0000:0001", "tcp://[2001:db8::1]:0" },
        { "1:2:3:4:5:6:7:8", "tcp://[1:2:3:4:5:6:7:8]:0" },
        { "2001:db8:0:1:1:1:1:1", "tcp://[2001:db8:0:1:1:1:1:1]:0" },   /* one group stays */
        { "2001:db8::1:1:1:1:1", "tcp://[2001:db8:0:1:1:1:1:1]:0" },
        { "2001:0:0:1:0:0:0:1", "tcp://[2001:0:0:1::1]:0" },            /* the longest run */
        { "2001:db8:0:0:1:0:0:1", "tcp://[2001:db8::1:0:0:1]:0" },      /* the first of equals */
        { "1:2:3:4:5:6:7::", "tcp://[1:2:3:4:5:6:7:0]:0" },
        { "::2:3:4:5:6:7:8", "tcp://[0:2:3:4:5:6:7:8]:0" },
        { "1:2:3:4:5:6::", "tcp://[1:2:3:4:5:6::]:0" },
        { "::ffff:192.0.2.128", "tcp://[::ffff:192.0.2.128]:0" },
        { "::FFFF:c000:280", "tcp://[::ffff:192.0.2.128]:0" },
        { "1:2:3:4:5:6:1.2.3.4", "tcp://[1:2:3:4:5:6:102:304]:0" },
        { "64:ff9b::192.0.2.33", "tcp://[64:ff9b::c000:221]:0" },
        { "", NULL }, { "1", NULL }, { "1.2.3", NULL }, { "1.2.3.4.5", NULL }, { "1.2.3.", NULL },
        { "1.2.3.256", NULL }, { "01.2.3.4", NULL }, { "1.2.3.00", NULL }, { "1.2.3.4 ", NULL },
        { " 1.2.3.4", NULL }, { "1..2.3", NULL }, { ".1.2.3", NULL }, { "1.2.3.-4", NULL },
        { "1.2.3.0x4", NULL }, { "1.2.3.1000", NULL }, { "localhost", NULL },
        { ":", NULL }, { ":::", NULL }, { "1:::2", NULL }, { "1::2::3", NULL }, { ":1", NULL },
        { "1:", NULL },
        { "1:2:3:4:5:6:7", NULL }, { "1:2:3:4:5:6:7:8:9", NULL }, { "1:2:3:4:5:6:7:8::", NULL },
        { "::1:2:3:4:5:6:7:8", NULL }, { "1:2:3:4::5:6:7:8", NULL }, { "12345::", NULL }, { "g::", NULL },
        { "1:2:3:4:5:6:7:", NULL }, { ":1:2:3:4:5:6:7", NULL }, { "::1.2.3", NULL }, { "::1.2.3.4:5", NULL },
        { "1:2:3:4:5:6:7:1.2.3.4", NULL }, { "::01.2.3.4", NULL }, { "1.2.3.4::", NULL }, { "::%1", NULL },
        { "[::1]", NULL }, { "::1 ", NULL }, { "::.", NULL }, { "1:2:3:4:5:6:7:8:", NULL },
        { "::g", NULL }, { "::G", NULL }, { "::`", NULL }, { "::@", NULL },
    };
    struct phx_address a, before, again;
    char text[PHX_ADDRESS_TEXT], host[64];
    size_t i, n;
    int err, good;

    memset(&before, 0x77, sizeof before);
    for (i = 0; i < PHX__COUNT(table); i++) {
        memcpy(&a, &before, sizeof a);
        err = phx__addr_numeric(table[i].text, &a);
        if (table[i].canonical == NULL) {
            good = err == PHX_EADDRESS && memcmp(&a, &before, sizeof a) == 0;
        } else {
            good = err == 0 && strcmp(phx_address_text(&a, text), table[i].canonical) == 0;
            /* What is printed parses to the same. */
            n = a.family == PHX_IPV6;
            snprintf(host, sizeof host, "%s", table[i].canonical + 6 + n);
            host[strlen(host) - 2 - n] = '\0';
            good = good && phx__addr_numeric(host, &again) == 0 && phx__addr_equal(&a, &again);
        }
        ok(good, "numeric \"%s\"", table[i].text);
    }
}

static void test_against_libc(void)
{
    /* Goal: the same bytes as the C library reads and the same text as it writes.
     * Method: 20,000 random addresses with many zero groups: our text through its parser, and its text
     * through ours. (Its text is not compared: it writes ::/96 in the old dotted form.) */
    struct phx__rnd r;
    struct phx_address a, b;
    char text[PHX_ADDRESS_TEXT], theirs[64];
    unsigned char ip[16];
    int n, i, family, bad = 0;

    phx__rnd_seed(&r, 5, 5);
    for (n = 0; n < 20000; n++) {
        memset(&a, 0, sizeof a);
        a.family = n % 4 == 0 ? PHX_IPV4 : PHX_IPV6;
        family = a.family == PHX_IPV4 ? AF_INET : AF_INET6;
        for (i = 0; i < (a.family == PHX_IPV4 ? 4 : 16); i++)
            a.ip[i] = (unsigned char)(phx__rnd_below(&r, 3) == 0 ? phx__rnd_next(&r) : 0);
        if (inet_ntop(family, a.ip, theirs, sizeof theirs) == NULL)
            continue;
        bad += phx__addr_numeric(theirs, &b) != 0 || !phx__addr_equal(&a, &b);
        phx_address_text(&a, text);
        i = (int)(strrchr(text, ':') - text) - (a.family == PHX_IPV6);
        text[i] = '\0';
        bad += inet_pton(family, text + (a.family == PHX_IPV6 ? 7 : 6), ip) != 1;
        bad += memcmp(ip, a.ip, a.family == PHX_IPV4 ? 4 : 16) != 0;
    }
    ok(bad == 0, "20,000 random addresses both ways");
}

static struct phx_address address(int family, const char *host, unsigned port)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    if (family == PHX_UNIX) {
        a.family = PHX_UNIX;
        memcpy(a.path, host, strlen(host) < sizeof a.path ? strlen(host) : sizeof a.path);
    } else if (family != 0 && phx__addr_numeric(host, &a) == 0) {
        a.port = (uint16_t)port;
    }
    return a;
}

/* Over TLS an address is another one: in text, compared, and in its family on the wire. */
static void test_tls_address(void)
{
    static const struct { int family; const char *host, *text; } table[] = {
        { PHX_IPV4, "192.0.2.1", "tls://192.0.2.1:7" },
        { PHX_IPV6, "2001:db8::1", "tls://[2001:db8::1]:7" },
    };
    struct phx_address a, b;
    struct phx__parsed p;
    struct phx__writer w;
    struct phx__reader r;
    uint8_t wire[32];
    char text[PHX_ADDRESS_TEXT];
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        a = b = address(table[i].family, table[i].host, 7);
        a.tls = 1;
        ok(strcmp(phx_address_text(&a, text), table[i].text) == 0 && !phx__addr_equal(&a, &b)
               && phx__addr_parse(text, &p) == 0 && p.at.tls == 1,
           "%s is not the same without TLS", text);
        phx__buf_writer_init(&w, wire, sizeof wire);
        phx__addr_put(&w, &a);
        phx__buf_reader_init(&r, wire, w.size);
        ok(wire[0] == table[i].family + 16 && phx__addr_get(&r, &b) == 0
               && phx__addr_equal(&a, &b),
           "and has the family %d on the wire", wire[0]);
    }
}

static void test_text(void)
{
    /* Goal: printing of each family at its longest, and of what has no text. Method: by hand. */
    struct phx_address a;
    char text[PHX_ADDRESS_TEXT];

    a = address(PHX_IPV4, "255.255.255.255", 65535);
    ok(strcmp(phx_address_text(&a, text), "tcp://255.255.255.255:65535") == 0, "v4");
    a = address(PHX_IPV6, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 65535);
    phx_address_text(&a, text);
    ok(strcmp(text, "tcp://[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe]:65535") == 0, "v6");
    a = address(PHX_UNIX, PATH103, 0);
    ok(strcmp(phx_address_text(&a, text), "unix://" PATH103) == 0, "the longest path");
    a = address(PHX_UNIX, PATH103 "c", 0);
    ok(strcmp(phx_address_text(&a, text), "unix://") == 0, "a path without an end");
    a = address(PHX_UNIX, "", 0);
    ok(strcmp(phx_address_text(&a, text), "unix://") == 0, "an unnamed socket");
    a = address(PHX_UNIX, "/x\ny", 0);
    ok(strcmp(phx_address_text(&a, text), "unix://") == 0, "no control characters in logs");
    memset(&a, 0, sizeof a);
    a.family = PHX_OTHER;
    memcpy(a.path, "ssh://there/x", 14);
    ok(strcmp(phx_address_text(&a, text), "ssh://there/x") == 0, "a scheme of the host's is its own text");
    memset(&a, 0, sizeof a);
    ok(strcmp(phx_address_text(&a, text), "none") == 0, "no address");
    a.family = 9;
    ok(strcmp(phx_address_text(&a, text), "none") == 0, "no family");
    test_tls_address();
}

static void test_questions(void)
{
    /* Goal: is it local, is it any, are they equal. Method: a table with both answers. */
    static const struct { int family; const char *host; int local, any; } table[] = {
        { PHX_IPV4, "127.0.0.1", 1, 0 }, { PHX_IPV4, "127.255.255.255", 1, 0 },
        { PHX_IPV4, "126.255.255.255", 0, 0 }, { PHX_IPV4, "128.0.0.0", 0, 0 },
        { PHX_IPV4, "0.0.0.0", 0, 1 }, { PHX_IPV4, "0.0.0.1", 0, 0 },
        { PHX_IPV6, "::1", 1, 0 }, { PHX_IPV6, "::2", 0, 0 }, { PHX_IPV6, "::", 0, 1 },
        { PHX_IPV6, "1::1", 0, 0 }, { PHX_IPV6, "::ffff:127.0.0.1", 1, 0 },
        { PHX_IPV6, "::ffff:10.0.0.1", 0, 0 }, { PHX_IPV6, "::ffff:0.0.0.0", 0, 1 },
        { PHX_IPV6, "::127.0.0.1", 0, 0 }, { PHX_UNIX, "/x", 1, 0 }, { 0, "", 0, 0 },
    };
    struct phx_address a, b;
    size_t i, k;
    int bad = 0;

    for (i = 0; i < PHX__COUNT(table); i++) {
        a = address(table[i].family, table[i].host, 7);
        ok(phx__addr_is_local(&a) == table[i].local && phx__addr_is_any(&a) == table[i].any,
           "local %d, any %d: \"%s\"", table[i].local, table[i].any, table[i].host);
        for (k = 0; k < PHX__COUNT(table); k++) {
            b = address(table[k].family, table[k].host, 7);
            bad += phx__addr_equal(&a, &b) != (i == k);
        }
    }
    ok(bad == 0, "each equals only itself");
    a = address(PHX_IPV4, "1.2.3.4", 7);
    b = address(PHX_IPV4, "1.2.3.4", 8);
    ok(!phx__addr_equal(&a, &b), "the port counts");
    b.port = 7;
    b.ip[4] = b.ip[15] = 1;
    b.path[0] = 'x';
    ok(phx__addr_equal(&a, &b), "unused parts do not");
    a = address(PHX_UNIX, PATH103, 0);
    b = address(PHX_UNIX, PATH103, 9);
    ok(phx__addr_equal(&a, &b), "equal paths");
    b.path[102] = 'x';
    ok(!phx__addr_equal(&a, &b), "unequal in the last byte");
}

/* ---- Addresses on the wire */

static void test_wire(void)
{
    /* Goal: put and get are inverse, sizes are as WIRE says, and truncation at any byte is refused.
     * Method: each family, every shorter length. */
    static const struct { int family; const char *host; size_t size; } table[] = {
        { 0, "", 1 }, { PHX_IPV4, "1.2.3.4", 7 }, { PHX_IPV6, "2001:db8::5", 19 },
        { PHX_UNIX, "/x", 4 }, { PHX_UNIX, PATH103, 105 },
    };
    struct phx__writer w;
    struct phx__reader r;
    struct phx_address a, b, zero;
    uint8_t wire[128];
    size_t i, n;
    int bad;

    memset(&zero, 0, sizeof zero);
    for (i = 0; i < PHX__COUNT(table); i++) {
        a = address(table[i].family, table[i].host, 0x1234);
        phx__buf_writer_init(&w, wire, sizeof wire);
        phx__addr_put(&w, &a);
        bad = w.bad || w.size != table[i].size || wire[0] != table[i].family;
        for (n = 0; n < w.size; n++) {
            memset(&b, 0xff, sizeof b);
            phx__buf_reader_init(&r, wire, n);
            bad += phx__addr_get(&r, &b) != PHX_EPROTO || memcmp(&b, &zero, sizeof b) != 0;
        }
        memset(&b, 0xff, sizeof b);
        phx__buf_reader_init(&r, wire, sizeof wire);
        bad += phx__addr_get(&r, &b) != 0 || memcmp(&a, &b, sizeof a) != 0;
        bad += r.left != sizeof wire - w.size;
        ok(bad == 0, "family %d, %d bytes", table[i].family, (int)table[i].size);
    }
    a = address(PHX_IPV4, "1.2.3.4", 0x1234);
    phx__buf_writer_init(&w, wire, sizeof wire);
    phx__addr_put(&w, &a);
    ok(memcmp(wire, "\x04\x01\x02\x03\x04\x34\x12", 7) == 0, "ip in network order, port little-endian");
}

static void test_wire_hostile(void)
{
    /* Goal: nothing but an address that we could have sent is taken; an address without a good path is
     * sent as none. Method: a table of bad bytes; then unsendable addresses. */
    static const struct { const char *what; size_t size; const char *bytes; } table[] = {
        { "family 2", 8, "\2\0\0\0\0\0\0\0" },
        { "family 5", 8, "\5\1\2\3\4\5\6\7" },
        { "family 255", 8, "\377\1\2\3\4\5\6\7" },
        { "empty path", 2, "\1\0" },
        { "NUL inside", 6, "\1\4/a\0b" },
        { "NUL at the end", 5, "\1\3/a\0" },
        { "only NUL", 3, "\1\1\0" },
        { "relative path", 4, "\1\2ab" },
        { "control character", 5, "\1\3/\nb" },
        { "delete character", 5, "\1\3/\177b" },
    };
    static const char *unsendable[] = { "", "relative", "/a\nb", PATH103 "c" };
    uint8_t wire[300];
    struct phx__writer w;
    struct phx__reader r;
    struct phx_address a, zero;
    size_t i;
    unsigned length, bad = 0;

    memset(&zero, 0, sizeof zero);
    for (i = 0; i < PHX__COUNT(table); i++) {
        memset(&a, 0xff, sizeof a);
        phx__buf_reader_init(&r, table[i].bytes, table[i].size);
        ok(phx__addr_get(&r, &a) == PHX_EPROTO && memcmp(&a, &zero, sizeof a) == 0, "%s", table[i].what);
    }
    memset(wire, '/', sizeof wire);
    wire[0] = PHX_UNIX;
    for (length = 0; length <= 255; length++) {
        wire[1] = (uint8_t)length;
        phx__buf_reader_init(&r, wire, sizeof wire);
        bad += (phx__addr_get(&r, &a) == 0) != (length >= 1 && length <= 103);
        bad += length >= 1 && length <= 103 && strlen(a.path) != length;
    }
    ok(bad == 0, "paths of 1 to 103 bytes only");
    for (i = 0; i < PHX__COUNT(unsendable); i++) {
        a = address(PHX_UNIX, unsendable[i], 0);
        phx__buf_writer_init(&w, wire, sizeof wire);
        phx__addr_put(&w, &a);
        bad += w.size != 1 || wire[0] != 0;
    }
    memset(&a, 0xff, sizeof a);
    phx__buf_writer_init(&w, wire, sizeof wire);
    phx__addr_put(&w, &a);
    ok(bad == 0 && w.size == 1 && wire[0] == 0, "what nobody would take is sent as none");
}

static void test_wire_random(void)
{
    /* Goal: whatever is accepted goes out as it came in. Method: 200,000 random short inputs, biased
     * to valid families, re-encoded and compared. */
    struct phx__rnd r;
    struct phx__reader reader;
    struct phx__writer w;
    struct phx_address a;
    uint8_t in[24], out[128];
    size_t n, i;
    int k, bad = 0, taken = 0;

    phx__rnd_seed(&r, 6, 6);
    for (k = 0; k < 200000; k++) {
        n = (size_t)phx__rnd_below(&r, sizeof in + 1);
        for (i = 0; i < n; i++)
            in[i] = (uint8_t)(i < 3 ? phx__rnd_below(&r, 64) : phx__rnd_next(&r));
        if (n > 0)
            in[0] %= 8;
        phx__buf_reader_init(&reader, in, n);
        if (phx__addr_get(&reader, &a) != 0)
            continue;
        taken++;
        phx__buf_writer_init(&w, out, sizeof out);
        phx__addr_put(&w, &a);
        bad += w.size != n - reader.left || memcmp(in, out, w.size) != 0;
    }
    ok(bad == 0 && taken > 10000, "%d of 200,000 accepted, each the same going out", taken);
}

static void test_ids_fit(void)
{
    /* Goal: indices at the end that are free again are given back, those in the middle are not. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx_id id;
    uint32_t i, index, bad = 0;
    size_t full;

    memset(&id, 0, sizeof id);
    phx__mem_init(&mem, &alloc, 0);
    phx__id_init(&ids, &mem, 10000);
    for (i = 0; i < 2000; i++) {
        memcpy(id.b, &i, sizeof i);
        bad += phx__id_add(&ids, &id, &index) != 0 || index != i;
    }
    full = mem.used;
    for (i = 10; i < 2000; i++)
        if (i != 700)
            phx__id_drop(&ids, i);
    ok(bad == 0 && phx__id_fit(&ids) == 701 && ids.count == 11 && mem.used < full / 2, "701 are left");
    i = 700;
    memcpy(id.b, &i, sizeof i);
    ok(phx__id_find(&ids, &id) == 700, "the last of them is where it was");
    phx__id_drop(&ids, 700);
    ok(phx__id_fit(&ids) == 10 && mem.used < full / 10, "then ten");
    phx__id_free(&ids);
    ok(test_heap_is_clean(&heap), "clean at the end");
}

int main(void)
{
    test_ids_basic();
    test_ids_index();
    test_ids_collision();
    test_ids_model();
    test_ids_failure();
    test_ids_fit();
    test_parse();
    test_numeric();
    test_against_libc();
    test_text();
    test_questions();
    test_wire();
    test_wire_hostile();
    test_wire_random();
    return test_end();
}
