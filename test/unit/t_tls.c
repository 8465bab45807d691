/* t_tls.c - links over TLS by the cluster's key, what passes on them, and what they do with garbage.
 *
 * Goal: promises 105, 106 and 108 over TLS. Nodes link by the cluster's key alone; nothing readable passes;
 * other keys, plain peers and changed bytes are refused with the cause; memory that fails and bytes that are
 * garbage leave the node as it was. Method: real nodes with the strict host of nodes.h, a proxy that keeps
 * what passes, and engines of our own. Without -DPHX_TLS the test only says so; run.sh builds both. What
 * needs openssl is in t_tls_openssl.c. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "tls_rig.h"

static void test_schemes(void)
{
    struct phx_config c;
    char at[] = "tls://127.0.0.1:0";
    int has = 0;

#ifdef PHX_TLS
    has = 1;
#endif
    begin(&n[0], NULL);
    ok(phx_listen(n[0].p, at) == (has ? PHX_ENOKEY : PHX_ENOTSUP)
           && phx_join(n[0].p, "tls://127.0.0.1:9") == (has ? PHX_ENOKEY : PHX_ENOTSUP),
       "tls:// without a key: \"%s\"", phx_strerror(has ? PHX_ENOKEY : PHX_ENOTSUP));
    ok(phx_join(n[0].p, "tls://127.0.0.1") == PHX_EADDRESS && phx_join(n[0].p, "TLS://a:1") == PHX_ESCHEME,
       "malformed ones are malformed");
    finish(&n[0]);
    settings(&n[0], &c);
    c.tls = 1;
    ok(phx_new(&n[0].p, &c, 0) == (has ? PHX_ENOKEY : PHX_ENOTSUP) && n[0].heap.blocks == 0,
       "cfg.tls too");
    c.key = KEY;
    c.key_size = strlen(KEY);
    ok(phx_new(&n[0].p, &c, 0) == (has ? 0 : PHX_ENOTSUP), "with a key it is %s",
       has ? "fine" : "still not built in");
    phx_free(n[0].p);
    c.tls = 0;
    c.tls_ca = "/nowhere";
    ok(phx_new(&n[0].p, &c, 0) == PHX_EINVAL, "a CA without a certificate and its key");
    c.tls_cert = c.tls_key = "/nowhere";
    ok(phx_new(&n[0].p, &c, 0) == (has ? PHX_EFILE : PHX_ENOTSUP) && n[0].heap.blocks == 0,
       "files that are not there");
    n[0].p = NULL;
    finish(&n[0]);
}

#if defined(PHX_TLS) && defined(PHX_JOINED)

static void test_by_key(void)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 65537, 1000000, 5, 3000000};
    struct phx_config c;
    int i;

    begin_key(&n[0], TLS_LOOPBACK, KEY);
    ok(strncmp(n[0].at, "tls://127.0.0.1:", 16) == 0, "a listener at %s", n[0].at);
    begin_key(&n[1], NULL, KEY);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    eventually(linked(&n[0], &n[1]), "two nodes link by the cluster's key alone, promise 106");
    for (i = 0; i < 10; i++) {
        post(&n[0], 2, (uint64_t)i, sizes[i]);
        post(&n[1], 1, (uint64_t)i, sizes[i]);
    }
    eventually(has_mail(&n[0], 10) && has_mail(&n[1], 10), "messages of all sizes, both ways");
    settings_key(&n[2], &c, KEY);
    c.tls = 1;
    begin_as(&n[2], &c, "tcp://127.0.0.1:0");
    ok(strncmp(n[2].at, "tls://", 6) == 0, "with cfg.tls all listeners are %s", n[2].at);
    memcpy(n[0].at, "tcp", 3);
    phx_join(n[2].p, n[0].at);
    eventually(linked(&n[0], &n[2]) && linked(&n[1], &n[2]),
               "and all dials; addresses that others are told say so too");
    phx_close(n[1].p, SECOND);
    eventually(phx_closed(n[1].p) && look(&n[0], &n[1]).state == PHX_NODE_LEFT, "a goodbye");
    finish_all(n, 3);
}

static void test_beyond_window(void)
{
    struct phx_id owner;
    int i;

    /* Goal: a message larger than the window stops between two fragments until there is credit again. Then
     * nothing of a frame is left over, and the next bytes are still records: nobody may read them as
     * frames. */
    begin_key(&n[0], TLS_LOOPBACK, KEY);
    begin_key(&n[1], NULL, KEY);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[1].p, 2, 2);
    eventually(linked(&n[0], &n[1]) && phx_owner(n[0].p, 2, &owner) == 0, "two nodes");
    for (i = 0; i < 4; i++) {
        post(&n[0], 2, (uint64_t)i, (size_t)12 << 20);
        eventually(has_mail(&n[1], i + 1) && n[1].mail[i].good, "12 MiB, three windows");
    }
    ok(logged(&n[0], "link", ": down") == 0 && logged(&n[1], "link", ": down") == 0,
       "and the link lived through it");
    finish_all(n, 2);
}

static void test_adopt(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    begin_key(&n[0], NULL, KEY);
    begin_key(&n[1], NULL, KEY);
    ok(phx_adopt(n[0].p, ends[0], 0 | PHX_ADOPT_TLS) == 0
           && phx_adopt(n[1].p, ends[1], 1 | PHX_ADOPT_TLS) == 0,
       "a stream is adopted for TLS");
    eventually(linked(&n[0], &n[1]), "and makes a link");
    finish_all(n, 2);
}

static void give_keys(struct node *x, const char *first, const char *second)
{
    struct phx_key keys[2];

    keys[0].data = first;
    keys[0].size = strlen(first);
    keys[1].data = second;
    keys[1].size = second == NULL ? 0 : strlen(second);
    check(phx_set_keys(x->p, keys, second == NULL ? 1 : 2) == 0, "keys");
}

static void test_two_keys(void)
{
    static const struct {
        const char *dialer[2], *acceptor[2];
        int links;
    } cases[] = {
        {{KEY, OTHER}, {KEY, NULL}, 1},   {{OTHER, KEY}, {KEY, NULL}, 1},
        {{KEY, NULL}, {OTHER, KEY}, 1},   {{KEY, NULL}, {KEY, OTHER}, 1},
        {{KEY, OTHER}, {OTHER, KEY}, 1},  {{OTHER, NULL}, {OTHER, KEY}, 1},
        {{OTHER, NULL}, {KEY, NULL}, 0},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_key(&n[0], TLS_LOOPBACK, KEY);
        give_keys(&n[0], cases[i].acceptor[0], cases[i].acceptor[1]);
        begin_key(&n[1], NULL, KEY);
        give_keys(&n[1], cases[i].dialer[0], cases[i].dialer[1]);
        phx_join(n[1].p, n[0].at);
        if (cases[i].links)
            eventually(linked(&n[0], &n[1]), "pair %d of keys: a link, promise 108", (int)i);
        else
            eventually(logged(&n[0], phx_strerror(PHX_ETLS), "it does not have our key") == 1
                           && logged(&n[1], phx_strerror(PHX_ETLS), "another key") == 1,
                       "no key in common: both say so");
        ok(cases[i].links || (open_links(&n[0]) == 0 && stats(&n[0]).nodes == 1),
           "pair %d: nobody else has got in", (int)i);
        finish_all(n, 2);
    }
    /* Links that are up do not notice; and a cluster of one name does not know one of another. */
    begin_key(&n[0], TLS_LOOPBACK, KEY);
    begin_key(&n[1], NULL, KEY);
    phx_join(n[1].p, n[0].at);
    await(linked(&n[0], &n[1]), PATIENCE);
    give_keys(&n[0], OTHER, NULL);
    phx_assume(n[1].p, 2, 2);
    post(&n[0], 2, 0, 100000);
    eventually(has_mail(&n[1], 1) && stats(&n[1]).links_lost == 0, "what is up stays up");
    finish_all(n, 2);
}

static void test_downgrade(void)
{
    struct phx_config c;
    char at[PHX_ADDRESS_TEXT];

    begin_key(&n[0], TLS_LOOPBACK, KEY);
    begin_key(&n[1], LOOPBACK, KEY);
    memcpy(at, n[0].at, sizeof at);
    memcpy(at, "tcp", 3);
    phx_join(n[1].p, at);
    eventually(logged(&n[0], phx_strerror(PHX_ETLS), "does not speak TLS") == 1,
               "a plain dialer at a TLS listener: refused, and logged once");
    settings_key(&n[2], &c, KEY);
    c.tls = 1;
    begin_as(&n[2], &c, NULL);
    phx_join(n[2].p, n[1].at);
    eventually(logged(&n[1], phx_strerror(PHX_EPROTO), "speaks TLS") == 1
                   && logged(&n[2], phx_strerror(PHX_ETLS), "does not speak TLS") == 1,
               "a TLS dialer at a plain listener: both say why");
    go_on(SECOND);
    ok(open_links(&n[0]) + open_links(&n[1]) + open_links(&n[2]) == 0, "there is no way down");
    ok(logged(&n[0], "link", ", ") <= 2 && logged(&n[2], "link", ", ") <= 2,
       "however often it is tried, promise 109");
    finish_all(n, 3);
}

/* ---- What passes */

static void test_unreadable(void)
{
    char at[64];
    uint64_t until = phx_now_us() + PATIENCE;
    int i;

    proxy_begin(at, sizeof at);
    begin_key(&n[0], TLS_LOOPBACK, KEY);
    begin_key(&n[1], NULL, KEY);
    phx_join(n[1].p, at);
    phx_assume(n[0].p, 1, 1);
    post(&n[1], 1, 7, 50000);
    while (n[0].mail_count < 1 && phx_now_us() < until) {
        turn(1);
        proxy_go(&n[0]);
    }
    ok(has_mail(&n[0], 1) && passed_size[0] > 50000 && passed_size[1] > 300,
       "a message through a proxy: %d and %d bytes", (int)passed_size[0], (int)passed_size[1]);
    for (i = 0; i < 2; i++)
        ok(!contains(passed[i], passed_size[i], "PHX1", 4)
               && !contains(passed[i], passed_size[i], "phoenix", 7)
               && !contains(passed[i], passed_size[i], text_of(7), 16)
               && !contains(passed[i], passed_size[i], &n[1].id, 16)
               && !contains(passed[i], passed_size[i], &n[0].id, 16),
           "way %d: neither hello, ids nor contents can be read, promise 105", i);
    finish_all(n, 2);
    proxy_end();
}

/* One bit changed on the way, in each of the first records and later ones. */
static void test_tampering(void)
{
    static const size_t where[] = {0, 3, 11, 50, 120, 200, 300, 420, 700, 900};
    size_t i;
    int in = 0, noticed = 0;

    for (i = 0; i < 2 * sizeof where / sizeof where[0]; i++) {
        int way = (int)(i % 2), done = 0;
        size_t spot = where[i / 2];
        char at[64];
        uint64_t until = phx_now_us() + SECOND;
        proxy_begin(at, sizeof at);
        begin_key(&n[0], TLS_LOOPBACK, KEY);
        begin_key(&n[1], NULL, KEY);
        phx_join(n[1].p, at);
        while (phx_now_us() < until && (proxy_ends[0] < 0 || !done)
               && logged(&n[0], "no link", "") + logged(&n[1], "no link", "") == 0) {
            int k;
            turn(1);
            for (k = 0; k < 2 && !done && proxy_has_ends(&n[0]); k++) {
                unsigned char bytes[70000];
                ssize_t got = recv(proxy_ends[k], bytes, sizeof bytes, 0);
                if (got <= 0)
                    done |= got == 0;
                if (got <= 0)
                    continue;
                if (k == way && passed_size[k] <= spot && spot < passed_size[k] + (size_t)got)
                    bytes[spot - passed_size[k]] ^= 0x10;
                passed_size[k] += (size_t)got;
                if (send(proxy_ends[1 - k], bytes, (size_t)got, MSG_NOSIGNAL) < 0)
                    done = 1;
            }
        }
        noticed += logged(&n[0], "link", "") + logged(&n[1], "link", "") > 0;
        in += passed_size[way] > spot && linked(&n[0], &n[1]);
        finish_all(n, 2);
        proxy_end();
    }
    ok(in == 0 && noticed > 10, "one bit changed on the way, at ten places either way: %d noticed at once, "
       "no link comes of it", noticed);
}

/* ---- Records larger than ours */

static int pump_ours(struct phx__tls *from, unsigned char *to, size_t *size)
{
    struct phx__slices none;
    struct iovec iov;

    memset(&none, 0, sizeof none);
    if (phx__tls_seal(from, &none, &iov) != 0)
        return -1;
    memcpy(to, iov.iov_base, iov.iov_len);
    *size = iov.iov_len;
    return phx__tls_sent(from, &iov, iov.iov_len);
}

/* What a BearSSL engine has to say. */
static size_t drain_engine(br_ssl_engine_context *e, unsigned char *to)
{
    size_t size = 0, some;

    while (br_ssl_engine_current_state(e) & BR_SSL_SENDREC) {
        const unsigned char *at = br_ssl_engine_sendrec_buf(e, &some);
        memcpy(to + size, at, some);
        size += some;
        br_ssl_engine_sendrec_ack(e, some);
    }
    return size;
}

static void fill_engine(br_ssl_engine_context *e, const unsigned char *from, size_t size)
{
    while (size > 0 && (br_ssl_engine_current_state(e) & BR_SSL_RECVREC)) {
        size_t some;
        unsigned char *at = br_ssl_engine_recvrec_buf(e, &some);
        some = some < size ? some : size;
        memcpy(at, from, some);
        from += some;
        size -= some;
        br_ssl_engine_recvrec_ack(e, some);
    }
}

static long feed(struct phx__tls *t, const unsigned char *from, size_t size, unsigned char *out)
{
    size_t room;

    memcpy(phx__tls_buffer(t->set, &room), from, size);
    return phx__tls_feed(t, size, out);
}

/* A member that lies sends records as large as our buffer takes, so that nearly a whole one is held back when
 * a read begins. What a read gives must stay within what its caller was told to make room for. */
static void test_large_records(void)
{
    static unsigned char in[40000], out[40000], wire[200000], big_in[33000], big_out[33000];
    static struct phx__tls_files none;
    struct phx__mem mem;
    struct phx__tls_set *set = NULL;
    struct phx__tls *server = NULL, *client = NULL;
    struct phx_key key = { KEY, 32 };
    uint8_t seed[PHX__TLS_SEED];
    char name[TLS_NAME + 1];
    size_t size, record, total = 0, room;
    long got = 0;
    int i;

    memset(seed, 7, sizeof seed);
    phx__mem_init(&mem, NULL, 0);
    check(phx__tls_set_open(&set, &mem, &none) == 0, "a set");
    phx__tls_keys(set, "phoenix", &key, 1);
    check(phx__tls_open(set, 0, seed, &server) == 0 && phx__tls_open(set, 1, seed, &client) == 0,
          "two engines");
    br_ssl_engine_set_buffers_bidi(client->engine, big_in, sizeof big_in, big_out, sizeof big_out);
    br_ssl_engine_set_default_ec(client->engine);
    phx__tls_cert_put_name(set->own, set->own_count, seed + 32, name);
    br_ssl_client_reset(&client->is.client, name, 0);
    for (i = 0; i < 20 && !(br_ssl_engine_current_state(client->engine) & BR_SSL_SENDAPP); i++) {
        size = drain_engine(client->engine, wire);
        check(feed(server, wire, size, out) == 0, "the server takes it");
        check(pump_ours(server, wire, &size) == 0, "and answers");
        fill_engine(client->engine, wire, size);
    }
    ok((br_ssl_engine_current_state(client->engine) & BR_SSL_SENDAPP) != 0,
       "a handshake with one that has larger buffers");
    ok(br_ssl_engine_get_ecdhe_curve(server->engine) == BR_EC_secp256r1,
       "the exchange is over P-256, whose points are checked, not %d",
       br_ssl_engine_get_ecdhe_curve(server->engine));
    /* The largest that the receiver takes: found by the size of its buffer. */
    for (i = 0; i < 8; i++) {
        size_t plain = TLS_IN - 5 - 8 - 16, some;
        unsigned char *at = br_ssl_engine_sendapp_buf(client->engine, &some);
        if (i == 0 && br_ssl_engine_current_state(client->engine) & BR_SSL_SENDAPP)
            check(some >= plain, "room for a large record");
        memset(at, i, plain);
        br_ssl_engine_sendapp_ack(client->engine, plain);
        br_ssl_engine_flush(client->engine, 0);
        total += drain_engine(client->engine, wire + total);
    }
    record = total / 8;
    phx__tls_buffer(set, &room);
    got = feed(server, wire, record - 1, in); /* all but one byte is held */
    check(got == 0, "nothing yet: %ld", got);
    got = feed(server, wire + record - 1, 1, in);
    ok(got == PHX_ETLS || (got >= 0 && (size_t)got <= 1 + PHX__TLS_HELD),
       "one byte gives %ld, at most %u were announced", got, 1 + PHX__TLS_HELD);
    (void)room;
    phx__tls_free(server);
    phx__tls_free(client);
    phx__tls_set_free(set);
}

/* ---- Garbage and want */

static void test_garbage(void)
{
    size_t before;
    int i;

    begin_key(&n[0], TLS_LOOPBACK, KEY);
    go_on(20 * MS);
    before = n[0].heap.bytes;
    for (i = 0; i < 40; i++) {
        raw_from = 2 + i;
        raw_begin(&n[0]);
        if (i < 20) { /* a record of each type and length */
            put(20 + (uint64_t)i % 5, 1);
            put(3, 1);
            put(3, 1);
            put_fill(i < 10 ? 0 : 255, 2);
            put_fill(i * 13, 300);
        } else if (i < 30) {
            put_fill(i, 700);
        } else {
            raw_garbage();
        }
        raw_send();
        await(raw_is_closed(), 2 * SECOND);
        check(raw_is_closed(), "garbage %d: closed", i);
        raw_finish();
    }
    raw_from = 0;
    ok(stats(&n[0]).links == 0 && n[0].heap.bytes < before + 20000,
       "40 kinds of garbage: closed, and memory is back");
    finish(&n[0]);
}

/* A first message of 60,000 bytes is what TLS allows and nobody needs. */
static void test_long_hello(void)
{
    unsigned long came;
    int i;

    begin_key(&n[0], TLS_LOOPBACK, KEY);
    raw_begin(&n[0]);
    for (i = 0; i < 15; i++) {
        put(22, 1);
        put(0x0303, 2);
        put(0x00, 1); /* 250 * 16 = 4,000 bytes in each record */
        b.at[b.size - 1] = 0x0f;
        put(0xa0, 1);
        if (i == 0) {
            put(1, 1);    /* ClientHello of 59,996 bytes */
            put(0, 1);
            put(0xea, 1);
            put(0x5c, 1);
            put(0x0303, 2);
            put_fill(7, 32);
            put(0, 1);      /* no session */
            put(0x0200, 2); /* one suite */
            put(0x2bc0, 2);
            put(0x0001, 2); /* compression: none */
            put(0x2fea, 2); /* extensions of 59,951 bytes: one that nobody knows */
            put(0xfeff, 2);
            put(0x2bea, 2);
            put_fill(9, 4000 - 51);
        } else {
            put_fill(9, 4000);
        }
    }
    raw_send();
    eventually(raw_is_closed(), "a hello that does not end: closed");
    came = (unsigned long)stats(&n[0]).bytes_in;
    ok(came <= 32768 + 4096, "after %lu bytes", came);
    raw_finish();
    finish(&n[0]);
}

static void test_idle(void)
{
    struct phx_config c;
    size_t before, silent;
    int fds[100], i;

    settings_key(&n[0], &c, KEY);
    c.dial_timeout_us = 5 * SECOND;
    begin_as(&n[0], &c, TLS_LOOPBACK);
    go_on(20 * MS);
    before = n[0].heap.bytes;
    for (i = 0; i < 100; i++)
        fds[i] = raw_socket(&n[0]);
    await(stats(&n[0]).accepts == 100, PATIENCE);
    silent = (n[0].heap.bytes - before) / 100;
    ok(silent < 2000, "one who says nothing costs %d bytes", (int)silent);
    for (i = 0; i < 100; i++)
        check(send(fds[i], "\x16", 1, MSG_NOSIGNAL) == 1, "a byte");
    go_on(100 * MS);
    silent = (n[0].heap.bytes - before) / 100;
    ok(silent > 10000 && silent < 20000, "one who begins a handshake %d, promise 110", (int)silent);
    for (i = 0; i < 100; i++)
        close(fds[i]);
    finish(&n[0]);
}

/* Each allocation of a node that begins, links and sends over TLS fails once. */
static void test_no_memory(void)
{
    struct phx_config c;
    long fail, runs = 0, last = 1000;
    int fine = 1;

    begin_key(&n[1], TLS_LOOPBACK, KEY);
    phx_assume(n[1].p, 2, 2);
    for (fail = 1; fail < last && fine; fail++) {
        int seen = n[1].mail_count, err;
        settings_key(&n[0], &c, KEY);
        c.tls = 1;
        n[0].heap.fail_at = fail;
        err = phx_new(&n[0].p, &c, phx_now_us());
        if (err != 0) {
            fine &= err == PHX_ENOMEM && n[0].heap.blocks == 0;
            finish(&n[0]);
            continue;
        }
        phx_self(n[0].p, &n[0].id);
        hosts[host_count++] = &n[0];
        n[0].kind = n[1].kind;
        while ((err = phx_join(n[0].p, n[1].at)) == PHX_ENOMEM)
            ;
        while (post(&n[0], 2, 0, 9000) == PHX_ENOMEM)
            ;
        await(n[1].mail_count > seen, PATIENCE);
        fine &= check(n[1].mail_count > seen && n[1].mail[seen].good, "allocation %ld fails: it goes on",
                      fail);
        if (n[0].heap.calls < fail)
            last = fail; /* it was never reached */
        runs++;
        finish(&n[0]);
    }
    ok(fine && runs > 20 && last < 1000, "the n-th allocation fails, n = 1..%ld: the message arrives",
       last);
    finish(&n[1]);
}

static void test_links(void)
{
    test_by_key();
    test_beyond_window();
    test_adopt();
    test_two_keys();
    test_downgrade();
    test_unreadable();
    test_tampering();
    test_large_records();
    test_garbage();
    test_long_hello();
    test_idle();
    test_no_memory();
}

#else

static void test_links(void)
{
    ok(1, "links over TLS # SKIP this build is without; run.sh has another one with -DPHX_TLS");
}

#endif

static const struct test tests[] = {
    {"schemes", test_schemes},
    {"links", test_links},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
