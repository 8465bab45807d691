/* t_keys_brain.c - keys of a node: replacing them, where it may speak, random bytes, limits of log lines. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "node/keys.h"
#endif

struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__node_keys k;
    struct phx_key shown[2]; /* as last told by `changed` */
    uint32_t shown_count, changes;
    int opened, opened_files, tls_error; /* how often; with files; what it fails with */
    uint16_t next; /* random word */
    int fills, fill_error;
    int leaks; /* blocks given back with a key in them */
};

/* The bytes of all keys here are above 200, and nothing else is for so long. */
static void *rig_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct rig *r = world;
    size_t i;

    for (i = 0; old != NULL && new_size == 0 && i + PHX_KEY_MIN <= old_size; i++) {
        size_t n = 0;
        while (n < PHX_KEY_MIN && ((unsigned char *)old)[i + n] > 200)
            n++;
        r->leaks += n == PHX_KEY_MIN;
    }
    return test_alloc(&r->heap, old, old_size, new_size);
}

static void rig_changed(phx *ctx, const struct phx_key *keys, uint32_t count)
{
    struct rig *r = (void *)ctx;
    uint32_t i;

    r->changes++;
    r->shown_count = count;
    for (i = 0; i < count; i++) {
        r->shown[i].data = keys[i].data;
        r->shown[i].size = keys[i].size;
    }
}

static int rig_open_tls(phx *ctx, int files)
{
    struct rig *r = (void *)ctx;

    r->opened++;
    r->opened_files = files;
    return r->tls_error;
}

static int rig_random(phx *ctx, void *out, size_t size)
{
    struct rig *r = (void *)ctx;
    size_t i;

    r->fills++;
    if (r->fill_error != 0)
        return r->fill_error;
    for (i = 0; i + 2 <= size; i += 2) {
        r->next++;
        memcpy((char *)out + i, &r->next, 2);
    }
    return 0;
}

static long fail_at; /* this allocation of the next rig fails */

static int rig_init(struct rig *r, int insecure, int tls)
{
    struct phx__node_keys_ops ops = { NULL, rig_changed, rig_open_tls, rig_random };
    struct phx_alloc alloc = { NULL, NULL };

    memset(r, 0, sizeof *r);
    r->heap.fail_at = fail_at;
    alloc.alloc = rig_alloc;
    alloc.world = r;
    ops.ctx = (void *)r;
    phx__mem_init(&r->mem, &alloc, 0);
    return phx__node_keys_init(&r->k, &r->mem, insecure, tls, 99, &ops);
}

static void rig_free(struct rig *r)
{
    phx__node_keys_free(&r->k);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap) && r->leaks == 0,
          "no memory is left behind, and no key in what was given back");
}

/* A key of this size, all bytes of it `fill`. */
static struct phx_key key_of(int fill, size_t size)
{
    static unsigned char bytes[56][PHX_KEY_MAX + 1];
    struct phx_key key;

    memset(bytes[fill - 200], fill, sizeof bytes[0]);
    key.data = bytes[fill - 200];
    key.size = size;
    return key;
}

static struct phx_address address(const char *host, int family, int tls)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    if (host != NULL)
        check(phx__addr_numeric(host, &a) == 0, "%s is numeric", host);
    else
        memcpy(a.path, "/tmp/x", 7);
    a.family = (unsigned char)family;
    a.tls = (unsigned char)tls;
    return a;
}

/* ---- Where it may speak ---------------------------------------------------------------------- */

enum { KEY = 1, INSECURE = 2, TLS = 4, FILES = 8 };

/* As a node begins. */
static int begin(struct rig *r, int with)
{
    struct phx_key key = key_of(201, 32);
    int err = rig_init(r, (with & INSECURE) != 0, (with & TLS) != 0);

    if (err == 0)
        err = phx__node_keys_set(&r->k, &key, (with & KEY) != 0);
    return err != 0 ? err : phx__node_keys_open_tls(&r->k, (with & FILES) != 0);
}

static void test_secure(void)
{
    /* Goal: where a node may speak, and where it wants TLS. Method: a table. A digit for each address: UNIX,
     * loopback of both versions, far ones by tcp and tls, and one of the host's own scheme. */
    static const struct {
        int with;
        const char *secure, *tls;
    } table[] = {
        { 0, "111001", "000010" },
        { KEY, "111111", "000010" },
        { INSECURE, "111111", "000010" },
        { KEY | INSECURE, "111111", "000010" },
        { FILES, "111011", "000010" },
        { FILES | TLS, "111111", "011111" },
        { KEY | TLS, "111111", "011111" },
        { KEY | FILES | TLS, "111111", "011111" },
        { INSECURE | FILES, "111111", "000010" },
    };
    struct phx_address at[6];
    struct rig r;
    size_t i, k;

    at[0] = address(NULL, PHX_UNIX, 1);
    at[1] = address("127.0.0.1", PHX_IPV4, 0);
    at[2] = address("::1", PHX_IPV6, 0);
    at[3] = address("10.0.0.1", PHX_IPV4, 0);
    at[4] = address("2001::1", PHX_IPV6, 1);
    at[5] = address(NULL, PHX_OTHER, 0);
    for (i = 0; i < PHX__COUNT(table); i++) {
        char secure[7] = "", tls[7] = "";
        check(begin(&r, table[i].with) == 0, "begun");
        for (k = 0; k < 6; k++) {
            secure[k] = (char)('0' + phx__node_keys_is_secure(&r.k, &at[k]));
            tls[k] = (char)('0' + phx__node_keys_wants_tls(&r.k, &at[k]));
        }
        ok(strcmp(secure, table[i].secure) == 0 && strcmp(tls, table[i].tls) == 0,
           "with %d: secure %s is %s, TLS %s is %s", table[i].with, table[i].secure, secure, table[i].tls,
           tls);
        rig_free(&r);
    }
}

static void test_tls(void)
{
    /* Goal: TLS is opened once, when it is first used, and never without a key or files. */
    struct phx_key key = key_of(201, 32);
    struct rig r;

    check(begin(&r, KEY) == 0, "begun");
    ok(r.opened == 0, "not before it is used");
    ok(phx__node_keys_tls(&r.k) == 0 && phx__node_keys_tls(&r.k) == 0 && r.opened == 1 && !r.opened_files,
       "once, without files");
    ok(phx__node_keys_set(&r.k, &key, 0) == 0 && phx__node_keys_tls(&r.k) == PHX_ENOKEY && r.opened == 1,
       "the key is gone");
    rig_free(&r);
    ok(begin(&r, TLS) == PHX_ENOKEY && r.opened == 1, "cfg.tls without a key");
    rig_free(&r);
    ok(begin(&r, FILES | TLS) == 0 && r.opened == 1 && r.opened_files && phx__node_keys_tls(&r.k) == 0
           && r.opened == 1,
       "files are opened at the beginning, and do without a key");
    rig_free(&r);
    check(begin(&r, KEY) == 0, "begun");
    r.tls_error = PHX_ENOTSUP;
    ok(phx__node_keys_tls(&r.k) == PHX_ENOTSUP && phx__node_keys_tls(&r.k) == PHX_ENOTSUP && r.opened == 2,
       "what fails is tried again");
    ok(phx__node_keys_open_tls(&r.k, 1) == PHX_ENOTSUP && !r.k.has_files, "and files that fail are none");
    rig_free(&r);
}

static void test_adopt(void)
{
    /* Goal: only a stream that is visibly a plain connection with another machine is refused. */
    static const struct {
        int with, secure;
        const char *end; /* NULL: nothing is known of it */
        int family, may;
        const char *what;
    } table[] = {
        { 0, 0, "10.0.0.1", PHX_IPV4, 0, "another machine, without a key" },
        { 0, 1, "10.0.0.1", PHX_IPV4, 0, "over TLS, but whose?" },
        { 0, 0, "127.0.0.1", PHX_IPV4, 1, "this machine" },
        { 0, 0, NULL, PHX_UNIX, 1, "a UNIX socket" },
        { 0, 0, NULL, 0, 1, "a pipe" },
        { KEY, 0, "10.0.0.1", PHX_IPV4, 1, "with a key" },
        { INSECURE, 0, "10.0.0.1", PHX_IPV4, 1, "insecure" },
        { FILES, 1, "10.0.0.1", PHX_IPV4, 1, "over TLS with certificates" },
        { FILES, 0, "10.0.0.1", PHX_IPV4, 0, "certificates, but not used" },
    };
    struct phx_address here;
    struct rig r;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        check(begin(&r, table[i].with) == 0, "begun");
        here = address(table[i].end, table[i].family, 0);
        ok(phx__node_keys_may_adopt(&r.k, &here, table[i].secure) == table[i].may, "adopted: %s",
           table[i].what);
        rig_free(&r);
    }
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void test_sizes(void)
{
    /* Goal: what is no key changes nothing. Method: a table of sizes; 0: no data. */
    static const struct {
        size_t first, second;
        uint32_t count;
        int want;
    } table[] = {
        { 16, 16, 2, 0 },           { 1024, 16, 2, 0 },         { 16, 1024, 1, 0 },
        { 16, 1025, 1, 0 },         { 15, 16, 2, PHX_EKEYSIZE }, { 16, 15, 2, PHX_EKEYSIZE },
        { 1025, 16, 1, PHX_EKEYSIZE }, { 0, 16, 2, PHX_EINVAL },  { 16, 0, 2, PHX_EINVAL },
        { 16, 16, 3, PHX_EINVAL },  { 16, 16, UINT32_MAX, PHX_EINVAL }, { 16, 16, 0, 0 },
    };
    struct phx_key keys[2];
    struct rig r;
    size_t i;
    int bad = 0;

    for (i = 0; i < PHX__COUNT(table); i++) {
        check(begin(&r, KEY) == 0 && r.changes == 1, "begun");
        keys[0] = key_of(210, table[i].first);
        keys[1] = key_of(211, table[i].second);
        keys[0].data = table[i].first > 0 ? keys[0].data : NULL;
        keys[1].data = table[i].second > 0 ? keys[1].data : NULL;
        bad += phx__node_keys_set(&r.k, keys, table[i].count) != table[i].want;
        bad += r.changes != (table[i].want == 0 ? 2 : 1);
        bad += r.shown_count != (table[i].want == 0 ? table[i].count : 1);
        rig_free(&r);
    }
    ok(bad == 0, "%d of %d sets of keys", bad, (int)PHX__COUNT(table));
}

/* Is what was shown last what the model has? */
static int shows(const struct rig *r, const struct phx_key *want, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (r->shown[i].size != want[i].size || memcmp(r->shown[i].data, want[i].data, want[i].size) != 0
            || r->shown[i].data == want[i].data)
            return 0;
    return r->shown_count == count && r->k.count == count;
}

static void test_random_sets(void)
{
    /* Goal: the keys are always those of the last call that went well, copied. Method: 3000 sets of up to two
     * keys, of which some are no keys and for some there is no memory; the model is the last good one. */
    struct phx_key keys[2], want[2];
    uint32_t i, k, count = 0, good = 0, wrong = 0, changes = 1;
    struct phx__rnd rnd;
    struct rig r;

    check(begin(&r, 0) == 0, "begun");
    phx__rnd_seed(&rnd, 1, 2);
    memset(want, 0, sizeof want);
    for (i = 0; i < 3000; i++) {
        uint32_t n = (uint32_t)phx__rnd_below(&rnd, 3);
        int err = 0, no_memory = phx__rnd_below(&rnd, 4) == 0;
        for (k = 0; k < n; k++) {
            keys[k] = key_of(201 + (int)phx__rnd_below(&rnd, 50), 14 + (size_t)phx__rnd_below(&rnd, 40));
            if (err == 0 && keys[k].size < PHX_KEY_MIN)
                err = PHX_EKEYSIZE;
            if (err == 0 && no_memory && k + 1 == n)
                err = PHX_ENOMEM;
        }
        r.heap.fail_at = no_memory ? r.heap.calls + (long)n : 0; /* the last one's */
        wrong += phx__node_keys_set(&r.k, keys, n) != err;
        if (err == 0) {
            memcpy(want, keys, sizeof want);
            count = n;
            changes++;
        }
        good += err == 0;
        wrong += !shows(&r, want, count) || r.changes != changes || r.heap.blocks != (long)count + 1;
    }
    ok(wrong == 0 && good > 1000 && good < 2900, "3000 sets, %u good, %u wrong", good, wrong);
    rig_free(&r);
}

static void test_memory(void)
{
    /* Goal: without memory nothing changes and nothing is left. Method: the n-th allocation fails. */
    struct phx_key both[2], old = key_of(201, 32);
    struct rig r;
    long n;

    both[0] = key_of(220, 100);
    both[1] = key_of(221, 200);
    for (n = 1; n <= 4; n++) {
        int err;
        fail_at = n;
        err = begin(&r, KEY);
        if (err == 0)
            err = phx__node_keys_set(&r.k, both, 2);
        ok(err == PHX_ENOMEM, "allocation %ld fails", n);
        if (n > 2)
            check(shows(&r, &old, 1), "the old key stays");
        rig_free(&r);
    }
    fail_at = 5;
    ok(begin(&r, KEY) == 0 && phx__node_keys_set(&r.k, both, 2) == 0 && shows(&r, both, 2), "there are four");
    fail_at = 0;
    rig_free(&r);
}

/* ---- Random bytes ---------------------------------------------------------------------------- */

static void test_bytes(void)
{
    /* Goal: no random byte is given twice, none is kept after that, and the world is asked rarely. Method: a
     * world whose words count up, 2000 requests of even sizes, and a bit for each word that came. */
    static unsigned char came[65536];
    unsigned char out[64];
    size_t size, i, total = 0, wrong = 0;
    struct phx__rnd rnd;
    struct rig r;
    uint16_t word;
    int n;

    check(rig_init(&r, 0, 0) == 0, "begun");
    r.fill_error = PHX_EIO;
    ok(phx__node_keys_random(&r.k, out, 16) == PHX_EIO, "a world without random bytes");
    r.fill_error = r.fills = 0;
    memset(came, 0, sizeof came);
    phx__rnd_seed(&rnd, 3, 4);
    for (n = 0; n < 2000; n++) {
        size = 2 * (size_t)phx__rnd_below(&rnd, 33);
        wrong += phx__node_keys_random(&r.k, out, size) != 0;
        total += size;
        for (i = 0; i < size; i += 2) {
            memcpy(&word, out + i, 2);
            wrong += word == 0 || came[word]++ > 0;
        }
        for (i = 0; size > 0 && i < sizeof r.k.pool; i += 2)
            wrong += memcmp(&r.k.pool[i], &word, 2) == 0;
    }
    ok(wrong == 0, "2000 requests: %d wrong", (int)wrong);
    ok((size_t)r.fills * 512 < total + total / 7 + 512, "%d bytes in %d calls", (int)total, r.fills);
    rig_free(&r);
}

/* ---- The log --------------------------------------------------------------------------------- */

#define MINUTE (60 * PHX__SECOND)

static void test_lines(void)
{
    /* Goal: what counts as the same line. Method: a first one, and whether a second is logged beside it. */
    static const struct {
        int dialer;
        int reason, second_port, second_reason;
        const char *why, *second_why;
        int64_t want;
        const char *what;
    } table[] = {
        { 0, PHX_EKEY, 1, PHX_EKEY, NULL, NULL, -1, "the same again" },
        { 0, PHX_EKEY, 2, PHX_EKEY, NULL, NULL, -1, "another port of a peer that dials" },
        { 1, PHX_EKEY, 2, PHX_EKEY, NULL, NULL, 0, "another port of one that was dialled" },
        { 0, PHX_EKEY, 1, PHX_ECLUSTER, NULL, NULL, 0, "another reason" },
        { 0, PHX_EKEY, 1, PHX_EKEY, NULL, "", -1, "no more to say" },
        { 0, PHX_ETLS, 1, PHX_ETLS, "expired", "unknown", 0, "more to say" },
        { 0, PHX_ERROR_LAST - 1, 1, PHX_ERROR_LAST - 1000, NULL, NULL, -1, "two reasons that nobody knows" },
    };
    struct phx__node_keys_end end;
    struct phx_address peer;
    struct rig r;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        int64_t first, second;
        check(rig_init(&r, 0, 0) == 0, "begun");
        peer = address("10.0.0.1", PHX_IPV4, 0);
        peer.port = 1;
        end.peer = &peer;
        end.why = table[i].why;
        end.dialer = table[i].dialer;
        end.unauthenticated = 0;
        first = phx__node_keys_may_log(&r.k, &end, table[i].reason, MINUTE);
        peer.port = (uint16_t)table[i].second_port;
        end.why = table[i].second_why;
        second = phx__node_keys_may_log(&r.k, &end, table[i].second_reason, MINUTE);
        ok(first == 0 && second == table[i].want, "logged: %s", table[i].what);
        rig_free(&r);
    }
    check(rig_init(&r, 0, 0) == 0, "begun");
    ok(r.k.lines.count == 64, "64 of them are remembered");
    end = (struct phx__node_keys_end){ .peer = &peer, .dialer = 1 };
    ok(phx__node_keys_may_log(&r.k, &end, -1000, MINUTE) == 0
           && phx__node_keys_may_log(&r.k, &end, -1000, MINUTE) == -1
           && phx__node_keys_may_log(&r.k, &end, -1001, MINUTE) == -1,
       "the host's own reasons for not dialling are one");
    rig_free(&r);
}

static void test_random_lines(void)
{
    /* Goal: each peer and reason is logged once a minute, with the number left out. Method: 5000 ends of two
     * peers with two reasons, beside the time of the last line and a count for each. */
    uint64_t last[4] = { 0 }, now = 2 * MINUTE;
    int64_t missed[4] = { 0 }, want, got;
    struct phx__node_keys_end end;
    struct phx_address peer[2];
    struct phx__rnd rnd;
    int n, logged = 0, wrong = 0;
    struct rig r;

    check(rig_init(&r, 0, 0) == 0, "begun");
    phx__rnd_seed(&rnd, 5, 6);
    peer[0] = address("10.0.0.1", PHX_IPV4, 0);
    peer[1] = address("2001::1", PHX_IPV6, 0);
    memset(&end, 0, sizeof end);
    for (n = 0; n < 5000; n++) {
        int which = (int)phx__rnd_below(&rnd, 4);
        now += phx__rnd_below(&rnd, 20 * PHX__SECOND);
        end.peer = &peer[which & 1];
        want = last[which] == 0 || now >= last[which] + MINUTE ? missed[which] : -1;
        got = phx__node_keys_may_log(&r.k, &end, which & 2 ? PHX_EKEY : PHX_EPROTO, now);
        wrong += got != want;
        logged += got >= 0;
        missed[which] = want >= 0 ? 0 : missed[which] + 1;
        last[which] = want >= 0 ? now : last[which];
    }
    ok(wrong == 0 && logged > 1000 && logged < 4000, "5000 ends, %d logged, %d wrong", logged, wrong);
    rig_free(&r);
}

static void test_strangers(void)
{
    /* Goal: strangers from ever new hosts share 512 lines and 4 a second; others do not notice. */
    struct phx__node_keys_end end;
    struct phx_address peer = address("2001::1", PHX_IPV6, 0);
    uint64_t now = MINUTE;
    struct rig r;
    int i, logged = 0;

    check(rig_init(&r, 0, 0) == 0, "begun");
    memset(&end, 0, sizeof end);
    end.peer = &peer;
    end.unauthenticated = 1;
    for (i = 0; i < 2000; i++) {
        memcpy(peer.ip + 4, &i, sizeof i);
        logged += phx__node_keys_may_log(&r.k, &end, PHX_EKEY, now) >= 0;
    }
    ok(logged == 512, "%d of 2000 at once", logged);
    for (i = 2000, logged = 0; i < 2400; i++) {
        memcpy(peer.ip + 4, &i, sizeof i);
        now += PHX__SECOND / 40;
        logged += phx__node_keys_may_log(&r.k, &end, PHX_EKEY, now) >= 0;
    }
    ok(logged == 40, "%d in ten seconds", logged);
    end.unauthenticated = 0;
    peer.ip[2] = 1;
    ok(phx__node_keys_may_log(&r.k, &end, PHX_EKEY, now) == 0, "a hub that was dialled has lines of its own");
    rig_free(&r);
}

int main(void)
{
    test_secure();
    test_tls();
    test_adopt();
    test_sizes();
    test_random_sets();
    test_memory();
    test_bytes();
    test_lines();
    test_random_lines();
    test_strangers();
    return test_end();
}
