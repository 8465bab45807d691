/* t_tls.c - links over TLS: by key and by PEM files, who stays out, and what a stranger gets to see.
 *
 * Goal: promises 105, 106 and 108 over TLS. Nodes link by the cluster's key alone and by certificates;
 * nothing readable passes; other keys, foreign and expired certificates, plain peers and ones in
 * between are refused with the cause; a stranger with openssl gets no byte of Phoenix; memory
 * that fails and bytes that are garbage leave the node as it was. Method: real nodes with the strict
 * host of nodes.h, a proxy that keeps what passes, one in between made of two of our own
 * engines, and the openssl command. Without -DPHX_TLS only that it says so; run.sh builds both. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

#define KEY "0123456789abcdef0123456789ABCDEF"
#define OTHER "another key, also of many bytes."

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

#include <sys/wait.h>

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void settings_key(struct node *x, struct phx_config *c, const char *key)
{
    settings(x, c);
    hurry(c);
    c->key = key;
    c->key_size = key == NULL ? 0 : strlen(key);
}

static void begin_key(struct node *x, const char *address, const char *key)
{
    struct phx_config c;

    settings_key(x, &c, key);
    begin_as(x, &c, address);
}

#define TLS_LOOPBACK "tls://127.0.0.1:0"

static int open_links(const struct node *x)
{
    return (int)stats(x).links;
}

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

    /* Goal: a message larger than the window stops between two fragments until there is credit again.
     * Then nothing of a frame is left over, and the next bytes are still records: nobody may read them as
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
    ok(logged(&n[0], "link", "") <= 2 && logged(&n[2], "link", "") <= 2,
       "however often it is tried, promise 109");
    finish_all(n, 3);
}

/* ---- What passes ----------------------------------------------------------------------------- */

static unsigned char passed[2][400000];
static size_t passed_size[2];
static int proxy_fd = -1, proxy_ends[2];

static void proxy_begin(char *at, size_t size)
{
    struct sockaddr_in a;
    socklen_t length = sizeof a;

    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(proxy_fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(proxy_fd, 5) != 0
        || getsockname(proxy_fd, (struct sockaddr *)&a, &length) != 0)
        exit(1);
    fcntl(proxy_fd, F_SETFL, O_NONBLOCK);
    snprintf(at, size, "tls://127.0.0.1:%d", ntohs(a.sin_port));
    proxy_ends[0] = proxy_ends[1] = -1;
    passed_size[0] = passed_size[1] = 0;
}

/* Both ends, once there is somebody to pass on: takes a connection and makes the other. */
static int proxy_has_ends(const struct node *to)
{
    if (proxy_ends[0] < 0) {
        proxy_ends[0] = accept(proxy_fd, NULL, NULL);
        if (proxy_ends[0] < 0)
            return 0;
        fcntl(proxy_ends[0], F_SETFL, O_NONBLOCK);
        proxy_ends[1] = raw_socket(to);
    }
    return 1;
}

/* Carries bytes, and keeps them. */
static void proxy_go(const struct node *to)
{
    int i;

    if (!proxy_has_ends(to))
        return;
    for (i = 0; i < 2; i++) {
        unsigned char *p = passed[i] + passed_size[i];
        ssize_t got = recv(proxy_ends[i], p, sizeof passed[i] - passed_size[i], 0), sent = 0;
        if (got == 0)
            shutdown(proxy_ends[1 - i], SHUT_WR);
        while (got > 0 && sent < got) {
            ssize_t some = send(proxy_ends[1 - i], p + sent, (size_t)(got - sent), MSG_NOSIGNAL);
            if (some > 0)
                sent += some;
            else if (errno != EAGAIN)
                break;
            else
                turn(1);
        }
        passed_size[i] += got > 0 ? (size_t)got : 0;
    }
}

static void proxy_end(void)
{
    close(proxy_fd);
    close(proxy_ends[0]);
    close(proxy_ends[1]);
}

static int contains(const unsigned char *p, size_t size, const void *what, size_t length)
{
    size_t i;

    for (i = 0; i + length <= size; i++)
        if (memcmp(p + i, what, length) == 0)
            return 1;
    return 0;
}

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

/* ---- One in between -------------------------------------------------------------------------- */

struct middle {
    struct phx__mem mem;
    struct phx__tls_set *set;
    struct phx__tls *side[2];
    struct phx__slices out[2];
    unsigned long carried;
};

/* Deciphers what comes from one side and gives it to the other, as one does who has what TLS wants of
 * both, but not the key of the hello. */
static void middle_go(struct middle *m, const struct node *to)
{
    static const uint8_t seed[PHX__TLS_SEED] = {1, 2, 3};
    int i;

    if (proxy_ends[0] < 0) {
        proxy_ends[0] = accept(proxy_fd, NULL, NULL);
        if (proxy_ends[0] < 0)
            return;
        fcntl(proxy_ends[0], F_SETFL, O_NONBLOCK);
        proxy_ends[1] = raw_socket(to);
        for (i = 0; i < 2; i++) {
            check(phx__tls_open(m->set, i, seed, &m->side[i]) == 0, "an engine");
            phx__buf_slices_init(&m->out[i], &m->mem);
        }
    }
    for (i = 0; i < 2; i++) {
        static uint8_t plain[80000];
        size_t room;
        uint8_t *buffer = phx__tls_buffer(m->set, &room);
        ssize_t got = recv(proxy_ends[i], buffer, 4096, 0);
        struct iovec iov;
        long size = got <= 0 ? 0 : phx__tls_feed(m->side[i], (size_t)got, plain);
        if (size > 0) {
            struct phx__block *block = phx__buf_block_new(&m->mem, (size_t)size);
            memcpy(block->data, plain, (size_t)size);
            phx__buf_slices_push(&m->out[1 - i], block, block->data, (size_t)size);
            phx__buf_block_drop(block);
            m->carried += (unsigned long)size;
        }
        if (phx__tls_seal(m->side[i], &m->out[i], &iov) == 0 && iov.iov_len > 0) {
            ssize_t sent = send(proxy_ends[i], iov.iov_base, iov.iov_len, MSG_NOSIGNAL);
            phx__tls_sent(m->side[i], &iov, sent > 0 ? (size_t)sent : 0);
        }
    }
}

static void middle_end(struct middle *m)
{
    int i;

    for (i = 0; i < 2; i++) {
        phx__tls_free(m->side[i]);
        phx__buf_slices_free(&m->out[i]);
    }
    phx__tls_set_free(m->set);
    proxy_end();
}

/* ---- openssl --------------------------------------------------------------------------------- */

/* Runs a shell line in `dir`, without a word. */
static int run(const char *format, ...)
{
    char line[1000];
    va_list args;
    int at = snprintf(line, sizeof line, "cd %s && { ", dir);

    va_start(args, format);
    vsnprintf(line + at, sizeof line - (size_t)at - 40, format, args);
    va_end(args);
    strcat(line, "; } > out.txt 2>&1 < /dev/null");
    return system(line) == 0;
}

static int has_openssl(void)
{
    static int has = -1;

    if (has < 0) {
        has = run("openssl version");
        if (!has)
            ok(1, "what takes the openssl command # SKIP no openssl here");
    }
    return has;
}

/* Two CAs, certificates by the first (EC and RSA), one by the other, one that expired, and things that are
 * none. */
static int make_files(void)
{
    static const char config[] =
        "[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nnew_certs_dir=.\\nserial=serial\\n"
        "default_md=sha256\\npolicy=p\\nunique_subject=no\\n[p]\\ncommonName=supplied\\n";
    int fine = 1;

    fine &= run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=one "
                "-keyout ca.key -out ca.pem -days 3650");
    fine &= run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=two "
                "-keyout ca2.key -out ca2.pem -days 3650");
    fine &= run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout "
                "ec.key -out ec.csr && openssl x509 -req -in ec.csr -CA ca.pem -CAkey ca.key "
                "-CAcreateserial -days 365 -out ec.pem");
    fine &= run("openssl req -newkey rsa:2048 -nodes -subj /CN=b -keyout rsa.key -out rsa.csr && "
                "openssl x509 -req -in rsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 "
                "-out rsa.pem");
    fine &= run("openssl x509 -req -in ec.csr -CA ca2.pem -CAkey ca2.key -CAcreateserial -days 365 "
                "-out foreign.pem");
    fine &= run("printf '%s' > ca.conf && : > index && echo 01 > serial && openssl ca -batch -config "
                "ca.conf -in ec.csr -cert ca.pem -keyfile ca.key -startdate 20200101000000Z "
                "-enddate 20210101000000Z -notext -out old.pem",
                config);
    fine &= run("head -c 300 ec.pem > cut.pem; echo hello > text.pem; : > empty.pem; "
                "cat ca.pem ca2.pem > both.pem; openssl ec -in ec.key -aes128 -passout pass:x "
                "-out locked.key; head -c 66000 /dev/zero > long.pem");
    return fine;
}

static void settings_files(struct node *x, struct phx_config *c, const char *ca, const char *cert,
                           const char *key)
{
    static char paths[3][200];
    const char *name[3];
    int i;

    settings(x, c);
    hurry(c);
    name[0] = ca;
    name[1] = cert;
    name[2] = key;
    for (i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name[i]);
    c->tls = 1;
    c->tls_ca = paths[0];
    c->tls_cert = paths[1];
    c->tls_key = paths[2];
}

static void begin_files(struct node *x, const char *at, const char *ca, const char *cert,
                        const char *key)
{
    struct phx_config c;

    settings_files(x, &c, ca, cert, key);
    begin_as(x, &c, at);
}

static void test_bad_files(void)
{
    static const struct {
        const char *what, *ca, *cert, *key;
        int error;
    } cases[] = {
        {"no such CA", "none.pem", "ec.pem", "ec.key", PHX_EFILE},
        {"no such certificate", "ca.pem", "none.pem", "ec.key", PHX_EFILE},
        {"no such key", "ca.pem", "ec.pem", "none.key", PHX_EFILE},
        {"a certificate cut off", "ca.pem", "cut.pem", "ec.key", PHX_EPEM},
        {"a CA cut off", "cut.pem", "ec.pem", "ec.key", PHX_EPEM},
        {"a CA that is text", "text.pem", "ec.pem", "ec.key", PHX_EPEM},
        {"an empty certificate", "ca.pem", "empty.pem", "ec.key", PHX_EPEM},
        {"a key that is a certificate", "ca.pem", "ec.pem", "ec.pem", PHX_EPEM},
        {"a key with a password", "ca.pem", "ec.pem", "locked.key", PHX_EPEM},
        {"a file of 66,000 zeroes", "long.pem", "ec.pem", "ec.key", PHX_EPEM},
        {"a directory", ".", "ec.pem", "ec.key", PHX_EFILE},
        {"the key of another certificate", "ca.pem", "ec.pem", "ca.key", PHX_EPAIR},
        {"the key of another kind", "ca.pem", "ec.pem", "rsa.key", PHX_EPAIR},
        {"a certificate by another CA", "ca.pem", "foreign.pem", "ec.key", PHX_ECERT},
        {"a certificate that has expired", "ca.pem", "old.pem", "ec.key", PHX_ECERT},
    };
    struct phx_config c;
    size_t i;

    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int err;
        settings_files(&n[0], &c, cases[i].ca, cases[i].cert, cases[i].key);
        err = phx_new(&n[0].p, &c, 0);
        ok(err == cases[i].error && n[0].p == NULL && n[0].heap.blocks == 0, "%s: \"%s\"",
           cases[i].what, phx_strerror(err));
        finish(&n[0]);
    }
}

static void test_by_files(void)
{
    static const char *const names[] = {"ec", "rsa"};
    char cert[2][20], key[2][20];
    int i, k;

    for (i = 0; i < 2; i++) {
        snprintf(cert[i], sizeof cert[i], "%s.pem", names[i]);
        snprintf(key[i], sizeof key[i], "%s.key", names[i]);
    }
    for (i = 0; i < 2; i++)
        for (k = 0; k < 2; k++) {
            begin_files(&n[0], LOOPBACK, "ca.pem", cert[i], key[i]);
            begin_files(&n[1], NULL, "both.pem", cert[k], key[k]);
            phx_join(n[1].p, n[0].at);
            phx_assume(n[0].p, 1, 1);
            post(&n[1], 1, 0, 200000);
            eventually(linked(&n[0], &n[1]) && has_mail(&n[0], 1),
                       "by PEM files, %s and %s, without a key: a link, promise 105", names[i], names[k]);
            finish_all(n, 2);
        }
    begin_files(&n[0], "tcp://0.0.0.0:0", "ca.pem", "ec.pem", "ec.key");
    ok(stats(&n[0]).nodes == 1, "certificates make all interfaces secure");
    finish(&n[0]);
}

/* A dialer whose own files are fine by its own CA, but not by the acceptor's; and the other way round. */
static void test_foreign(void)
{
    int i;

    begin_files(&n[0], LOOPBACK, "ca.pem", "ec.pem", "ec.key");
    begin_files(&n[1], LOOPBACK, "ca2.pem", "foreign.pem", "ec.key");
    phx_join(n[1].p, n[0].at);
    eventually(logged(&n[1], phx_strerror(PHX_ETLS), "nobody we trust") == 1,
               "a certificate by a CA we do not know: refused, with the cause");
    begin_files(&n[2], NULL, "both.pem", "ec.pem", "ec.key");
    phx_join(n[2].p, n[1].at);
    eventually(logged(&n[1], phx_strerror(PHX_ETLS), "nobody we trust") >= 1
                   && logged(&n[2], "no link", "") >= 1,
               "also if only one side minds");
    phx_join(n[2].p, n[0].at);
    eventually(linked(&n[2], &n[0]), "and the node goes on with its other links");
    for (i = 0; i < 3; i++)
        ok(stats(&n[i]).links == (i == 1 ? 0u : 1u), "node %d has the links it should", i);
    finish_all(n, 3);
}

/* The peer's certificate expires while both run: ours is checked when we start, so this one is shown by
 * openssl. */
static pid_t openssl_begin(int *in, int *out, char *const argv[])
{
    int to[2], from[2];
    pid_t child;

    if (pipe(to) != 0 || pipe(from) != 0)
        exit(1);
    child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        dup2(from[1], 2);
        close(to[1]);
        close(from[0]);
        if (chdir(dir) == 0)
            execvp("openssl", argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    *in = to[1];
    *out = from[0];
    fcntl(*out, F_SETFL, O_NONBLOCK);
    fcntl(*in, F_SETFD, FD_CLOEXEC);
    return child;
}

static char said[100000];
static size_t said_size;

static void openssl_hear(int out)
{
    ssize_t got;

    while (said_size + 1 < sizeof said
           && (got = read(out, said + said_size, sizeof said - 1 - said_size)) > 0)
        said_size += (size_t)got;
    said[said_size] = '\0';
}

static int heard(const char *word)
{
    return contains((const unsigned char *)said, said_size, word, strlen(word));
}

static void openssl_end(pid_t child, int in, int out)
{
    int status;

    close(in);
    kill(child, SIGKILL); /* our own child, by its number */
    waitpid(child, &status, 0);
    openssl_hear(out);
    close(out);
}

/* openssl s_client dials n[0] through the proxy, so that all that came back is in passed[1]. */
static void stranger(const char *what, const char *name, const char *cert, const char *key)
{
    char at[64], *argv[20];
    int in, out, k = 0;
    uint64_t until;
    pid_t child;

    proxy_begin(at, sizeof at);
    said_size = 0;
    argv[k++] = (char *)(uintptr_t) "openssl";
    argv[k++] = (char *)(uintptr_t) "s_client";
    argv[k++] = (char *)(uintptr_t) "-connect";
    argv[k++] = at + 6;
    argv[k++] = (char *)(uintptr_t) "-msg";
    if (name != NULL) {
        argv[k++] = (char *)(uintptr_t) "-servername";
        argv[k++] = (char *)(uintptr_t)name;
    }
    if (cert != NULL) {
        argv[k++] = (char *)(uintptr_t) "-cert";
        argv[k++] = (char *)(uintptr_t)cert;
        argv[k++] = (char *)(uintptr_t) "-key";
        argv[k++] = (char *)(uintptr_t)key;
    }
    argv[k] = NULL;
    child = openssl_begin(&in, &out, argv);
    until = phx_now_us() + 2 * SECOND;
    while (phx_now_us() < until && !heard("DONE") && !heard("closed")) {
        turn(5);
        proxy_go(&n[0]);
        openssl_hear(out);
        if (waitpid(child, NULL, WNOHANG) == child)
            break;
    }
    openssl_end(child, in, out);
    proxy_end();
    printf("# %s: it got %d bytes\n", what, (int)passed_size[1]);
}

/* How many TLS records of this type came from n[0]; -1: something that is no record. */
static int records(int type)
{
    size_t i = 0;
    int count = 0;

    while (i + 5 <= passed_size[1]) {
        if (passed[1][i] < 20 || passed[1][i] > 23 || passed[1][i + 1] != 3)
            return -1;
        count += passed[1][i] == type;
        i += 5 + (size_t)passed[1][i + 3] * 256 + passed[1][i + 4];
    }
    return i == passed_size[1] ? count : -1;
}

static void write_der(const char *name, const uint8_t *der, size_t size)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (f == NULL || fwrite(der, 1, size, f) != size || fclose(f) != 0)
        exit(1);
}

/* What n[0] makes of the key, as files: derived.pem and derived.key (SEC 1). */
static void write_derived(void)
{
    const struct tls_own *own = &n[0].p->set.tls->own[0];
    uint8_t der[121] = {0x30, 0x77, 2, 1, 1, 4, 32};
    static const uint8_t curve[] = {0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
                                    0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00};

    memcpy(der + 7, own->scalar, 32);
    memcpy(der + 39, curve, sizeof curve);
    memcpy(der + 56, own->point, 65);
    write_der("derived.der", own->der, own->cert.data_len);
    write_der("derived.key.der", der, sizeof der);
    check(run("openssl x509 -inform DER -in derived.der -out derived.pem && openssl ec -inform DER -in "
              "derived.key.der -out derived.key"),
          "the derived key as files");
}

static void test_strangers(void)
{
    char name[TLS_NAME + 1];
    static const uint8_t random[PHX__TLS_SEED] = {9, 8, 7};

    begin_key(&n[0], TLS_LOOPBACK, KEY);
    write_derived();
    ok(run("openssl verify -CAfile derived.pem -check_ss_sig derived.pem"),
       "our own certificate is a good one to openssl");
    phx__tls_cert_put_name(n[0].p->set.tls, random, name);

    stranger("without a key", NULL, NULL, NULL);
    ok(passed_size[1] == 7 && records(21) == 1,
       "openssl without the key gets an alert of 7 bytes and nothing else, no certificate even");
    ok(logged(&n[0], phx_strerror(PHX_ETLS), "does not have our key") == 1, "and we say why");
    stranger("a guessed name", "0123456789abcdef0123456789abcdef0123456789abcdef", NULL, NULL);
    ok(passed_size[1] == 7, "a hint that is wrong is none");
    stranger("a name played back", name, NULL, NULL);
    ok(passed_size[1] > 300 && records(23) == 0 && records(22) > 0,
       "one who plays a hint back sees the certificate, and not a byte of Phoenix");
    ok(heard("CONNECTED") && logged(&n[0], "shows no certificate", "") == 1,
       "without a certificate it ends there");
    if (make_files()) {
        stranger("another certificate", name, "ec.pem", "ec.key");
        ok(records(23) == 0 && logged(&n[0], "nobody we trust", "") == 1,
           "with somebody else's certificate too");
    }
    stranger("with the key", name, "derived.pem", "derived.key");
    ok(records(23) <= 1 && heard("Verify return code") && open_links(&n[0]) == 0,
       "one who has the key gets through TLS, so the tests above mean something");
    ok(logged(&n[0], "timed out", "") + logged(&n[0], phx_strerror(PHX_ERESET), "") > 0,
       "and is let go when it says no HELLO");
    finish(&n[0]);
}

/* n[1] dials openssl s_server. What it says inside TLS would be in `said`. */
static void server(const char *what, const char *cert, const char *key, const char *more)
{
    char port[10], at[64], *argv[20];
    struct sockaddr_in a;
    socklen_t length = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0), in, out, k = 0;
    uint64_t until;
    pid_t child;

    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0
        || getsockname(fd, (struct sockaddr *)&a, &length) != 0)
        exit(1);
    close(fd); /* nobody takes it so soon */
    snprintf(port, sizeof port, "%d", ntohs(a.sin_port));
    snprintf(at, sizeof at, "tls://127.0.0.1:%s", port);
    said_size = 0;
    argv[k++] = (char *)(uintptr_t) "openssl";
    argv[k++] = (char *)(uintptr_t) "s_server";
    argv[k++] = (char *)(uintptr_t) "-accept";
    argv[k++] = port;
    argv[k++] = (char *)(uintptr_t) "-cert";
    argv[k++] = (char *)(uintptr_t)cert;
    argv[k++] = (char *)(uintptr_t) "-key";
    argv[k++] = (char *)(uintptr_t)key;
    argv[k++] = (char *)(uintptr_t) "-verify";
    argv[k++] = (char *)(uintptr_t) "1";
    argv[k++] = (char *)(uintptr_t) "-msg";
    if (more != NULL)
        argv[k++] = (char *)(uintptr_t)more;
    argv[k] = NULL;
    child = openssl_begin(&in, &out, argv);
    until = phx_now_us() + PATIENCE;
    while (!heard("ACCEPT") && phx_now_us() < until) {
        turn(5);
        openssl_hear(out);
    }
    phx_join(n[1].p, at);
    until = phx_now_us() + 2 * SECOND;
    while (phx_now_us() < until && logged(&n[1], port, "no link") == 0) {
        turn(5);
        openssl_hear(out);
    }
    openssl_end(child, in, out);
    printf("# %s: %d bytes of words\n", what, (int)said_size);
}

static void test_servers(void)
{
    begin_key(&n[0], TLS_LOOPBACK, KEY);
    begin_key(&n[1], NULL, KEY);
    write_derived();
    server("another certificate", "ec.pem", "ec.key", NULL);
    ok(logged(&n[1], "nobody we trust", "") == 1 && !heard("PHX1")
           && !heard("ApplicationData"),
       "openssl s_server with another certificate: not a byte of Phoenix");
    server("a certificate of another kind", "rsa.pem", "rsa.key", NULL);
    ok(!heard("PHX1") && stats(&n[1]).links == 0, "nor with one of another kind");
    server("with the key", "derived.pem", "derived.key", NULL);
    ok(heard("PHX1"), "with the key it hears HELLO, so the above means something");
    finish_all(n, 2);
    begin_files(&n[1], NULL, "ca.pem", "ec.pem", "ec.key");
    server("expired", "old.pem", "ec.key", NULL);
    ok(logged(&n[1], "expired", "") == 1 && !heard("PHX1"),
       "a peer whose certificate has expired: refused, with the cause");
    server("fine", "rsa.pem", "rsa.key", NULL);
    ok(heard("PHX1"), "a peer with a good one hears HELLO");
    finish(&n[1]);
}

/* All have good certificates; the nodes have a key besides, and who is in between has not. */
static void test_middle(void)
{
    struct middle m;
    struct phx__tls_files files;
    struct phx_config c;
    char at[64], path[3][200];
    uint64_t until = phx_now_us() + PATIENCE;
    int i;

    memset(&m, 0, sizeof m);
    phx__mem_init(&m.mem, NULL, 0);
    for (i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", dir, i == 0 ? "ca.pem" : i == 1 ? "rsa.pem" : "rsa.key");
    files.ca = path[0];
    files.cert = path[1];
    files.key = path[2];
    check(phx__tls_set_open(&m.set, &m.mem, &files) == 0, "files");
    proxy_begin(at, sizeof at);
    for (i = 0; i < 2; i++) {
        settings_files(&n[i], &c, "ca.pem", "ec.pem", "ec.key");
        c.key = KEY;
        c.key_size = strlen(KEY);
        begin_as(&n[i], &c, i == 0 ? LOOPBACK : NULL);
    }
    phx_join(n[1].p, at);
    while (logged(&n[1], phx_strerror(PHX_EKEY), "") == 0 && phx_now_us() < until) {
        turn(1);
        middle_go(&m, &n[0]);
    }
    ok(m.carried > 200, "one in between with a good certificate carries HELLO and ANSWER: %lu bytes",
       m.carried);
    ok(logged(&n[1], phx_strerror(PHX_EKEY), "") == 1 && open_links(&n[0]) + open_links(&n[1]) == 0,
       "and is found out: the macs cover the channel");
    finish_all(n, 2);
    middle_end(&m);
}

/* ---- Records larger than ours ------------------------------------------------------------------ */

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

/* A member that lies sends records as large as our buffer takes, so that nearly a whole one is held back
 * when a read begins. What a read gives must stay within what its caller was told to make room for. */
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
    phx__tls_cert_put_name(set, seed + 32, name);
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

/* ---- Garbage and want ------------------------------------------------------------------------ */

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

/* ---- How fast -------------------------------------------------------------------------------- */

static void test_all(void)
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
    if (!has_openssl())
        return;
    if (ok(make_files(), "openssl makes two CAs and their certificates")) {
        test_bad_files();
        test_by_files();
        test_foreign();
        test_middle();
        test_strangers();
        test_servers();
    }
    run("rm -f *.pem *.key *.csr *.srl *.der *.conf index* serial* [0-9]* *.old");
    check(run("true"), "a shell");
    {
        char path[120];
        snprintf(path, sizeof path, "%s/out.txt", dir);
        unlink(path);
    }
}

#else

static void test_all(void)
{
    ok(1, "links over TLS # SKIP this build is without; run.sh has another one with -DPHX_TLS");
}

#endif

static const struct test tests[] = {
    {"schemes", test_schemes},
    {"all", test_all},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* openssl may be gone when we speak to it */
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
