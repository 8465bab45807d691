/* t_keys.c - keys: which of two is used, changing them while the cluster runs, and who stays out.
 *
 * Goal: promises 105, 106, 108 and 109. Nodes with a key in common link, whatever they have besides and in
 * whatever order; others do not, both sides say why, and neither says it more than once a minute (zeros at
 * the end of a key count); messages between two nodes are replayed, reflected and exchanged by one in
 * between, and get him nowhere. Without a key a node stays on its machine. Method: real nodes with the
 * strict host of nodes.h, and the raw peer of raw.h for what no node would say. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

#include <sys/stat.h>

static const struct phx_key key_old = {"the old key, 24 bytes...", 24};
static const struct phx_key key_new = {"the new key, of 25 bytes.", 25};
static const struct phx_key key_long = {"the old key, 24 bytes...", 25}; /* with the zero at its end */
static const struct phx_key key_bad = {"a key from somewhere else", 25};

/* A node with one key, or with two. */
static void begin_with(struct node *x, const char *address, const struct phx_key *first,
                       const struct phx_key *second)
{
    struct phx_config c;
    struct phx_key both[2];

    settings(x, &c);
    hurry(&c);
    c.key = first->data;
    c.key_size = first->size;
    begin_as(x, &c, address);
    if (second == NULL)
        return;
    both[0] = *first;
    both[1] = *second;
    check(phx_set_keys(x->p, both, 2) == 0, "two keys");
}

static void test_pairs(void)
{
    static const struct {
        const char *what;
        const struct phx_key *dialer[2], *acceptor[2];
        int links;
    } cases[] = {
        {"{old} and {old}", {&key_old}, {&key_old}, 1},
        {"{new, old} dials {old}", {&key_new, &key_old}, {&key_old}, 1},
        {"{old} dials {new, old}", {&key_old}, {&key_new, &key_old}, 1},
        {"{old, new} dials {old}", {&key_old, &key_new}, {&key_old}, 1},
        {"{old} dials {old, new}", {&key_old}, {&key_old, &key_new}, 1},
        {"{new, old} dials {old, new}", {&key_new, &key_old}, {&key_old, &key_new}, 1},
        {"{old, new} dials {new, old}", {&key_old, &key_new}, {&key_new, &key_old}, 1},
        {"{new} dials {new, old}", {&key_new}, {&key_new, &key_old}, 1},
        {"{new, old} dials {new}", {&key_new, &key_old}, {&key_new}, 1},
        {"{new} dials {old}", {&key_new}, {&key_old}, 0},
        {"{old and a zero} dials {old}", {&key_long}, {&key_old}, 0},
        {"{old} dials {old and a zero}", {&key_old}, {&key_long}, 0},
        {"{old and a zero} and the same", {&key_long}, {&key_long}, 1},
        {"{other} dials {new, old}", {&key_bad}, {&key_new, &key_old}, 0},
        {"{new, old} dials {other}", {&key_new, &key_old}, {&key_bad}, 0},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_with(&n[0], LOOPBACK, cases[i].acceptor[0], cases[i].acceptor[1]);
        begin_with(&n[1], NULL, cases[i].dialer[0], cases[i].dialer[1]);
        phx_join(n[1].p, n[0].at);
        if (cases[i].links) {
            eventually(linked(&n[0], &n[1]), "%s: they link, promise 108", cases[i].what);
        } else {
            eventually(logged(&n[0], phx_strerror(PHX_EKEY), "") > 0
                           && logged(&n[1], phx_strerror(PHX_EKEY), "") > 0,
                       "%s: both sides say why not", cases[i].what);
            ok(stats(&n[0]).links == 0 && stats(&n[0]).nodes == 1 && stats(&n[1]).nodes == 1,
               "%s: no link, and nobody is known", cases[i].what);
        }
        finish_all(n, 2);
    }
}

/* Messages go both ways between all of n[0..2]. */
static int all_talk(void)
{
    int i, k, before[3], fine = 1;

    for (i = 0; i < 3; i++)
        before[i] = n[i].mail_count;
    for (i = 0; i < 3; i++)
        for (k = 0; k < 3; k++)
            if (i != k)
                post(&n[i], (uint64_t)k + 1, 0, 100);
    await(n[0].mail_count == before[0] + 2 && n[1].mail_count == before[1] + 2
              && n[2].mail_count == before[2] + 2,
          PATIENCE);
    for (i = 0; i < 3; i++)
        fine &= n[i].mail_count == before[i] + 2;
    return fine;
}

static void give(int i, const struct phx_key *first, const struct phx_key *second)
{
    struct phx_key both[2];

    both[0] = *first;
    if (second != NULL)
        both[1] = *second;
    check(phx_set_keys(n[i].p, both, second != NULL ? 2 : 1) == 0, "other keys");
}

/* The roll-over of phoenix.h, node by node, with links that break and come back at every step. */
static void test_roll_over(void)
{
    uint64_t lost;
    int i, round, fine = 0;

    for (i = 0; i < 3; i++) {
        begin_with(&n[i], LOOPBACK, &key_old, NULL);
        phx_assume(n[i].p, (uint64_t)i + 1, (uint64_t)i + 1);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    eventually(linked(&n[0], &n[1]) && linked(&n[0], &n[2]) && linked(&n[1], &n[2]) && all_talk(),
               "three nodes with the old key");
    lost = stats(&n[0]).links_lost + stats(&n[1]).links_lost + stats(&n[2]).links_lost;
    for (round = 0; round < 3; round++) {
        for (i = 0; i < 3; i++) {
            if (round < 2)
                give(i, round == 0 ? &key_old : &key_new, round == 0 ? &key_new : &key_old);
            else
                give(i, &key_new, NULL);
            fine += all_talk();
            /* A fourth one with what the first has just now; then it leaves again. */
            begin_with(&n[3], NULL, round == 0 ? &key_old : &key_new,
                       round < 2 && i % 2 ? (round == 0 ? &key_new : &key_old) : NULL);
            phx_join(n[3].p, n[round == 0 ? 0 : i].at);
            await(linked(&n[3], &n[round == 0 ? 0 : i]), PATIENCE);
            fine += linked(&n[3], &n[round == 0 ? 0 : i]);
            finish(&n[3]);
        }
    }
    ok(fine == 18, "all along all talk, and whoever comes gets in: %d of 18, promise 108", fine);
    ok(stats(&n[0]).links_lost + stats(&n[1]).links_lost + stats(&n[2]).links_lost - lost <= 9,
       "links that are up stay up");
    begin_with(&n[3], NULL, &key_old, NULL);
    phx_join(n[3].p, n[0].at);
    eventually(logged(&n[3], phx_strerror(PHX_EKEY), "") > 0,
               "at the end who has only the old key stays out");
    finish_all(n, 4);
}

/* Goal: a node that was refused for its key does not rest once it has the right one (promise 108). Method:
 * its rests are as long as they are by default, half of retry_max and more. */
static void test_given_late(void)
{
    struct pollfd fd = { -1, POLLIN, 0 };
    struct phx_config c;
    uint64_t start;

    begin_with(&n[0], LOOPBACK, &key_new, NULL);
    settings(&n[1], &c);
    c.key = key_old.data;
    c.key_size = key_old.size;
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    await(logged(&n[1], phx_strerror(PHX_EKEY), "") > 0, PATIENCE);
    go_on(50 * MS);
    ok(!linked(&n[0], &n[1]), "a node with another key is refused");
    fd.fd = phx_fd(n[1].p);
    eventually(fd.fd < 0 || (poll(&fd, 1, 0) == 0 && phx_deadline(n[1].p) > phx_now_us()),
               "nothing is left to do");
    start = phx_now_us();
    check(phx_set_keys(n[1].p, &key_new, 1) == 0, "the right one");
    ok(fd.fd < 0 || poll(&fd, 1, 0) == 1, "who watches phx_fd hears of it");
    eventually(linked(&n[0], &n[1]), "given the right one, it is linked, promise 108");
    ok(phx_now_us() - start < SECOND, "within a second (%d ms)", (int)((phx_now_us() - start) / MS));
    finish_all(n, 2);
}

static void test_calls(void)
{
    struct phx_config c;
    struct phx_key bad = {"0123456789abcde", 15};
    static char long_key[1025];
    struct phx_key huge = {long_key, sizeof long_key};
    size_t i;
    phx *p;

    begin(&n[0], NULL);
    ok(phx_set_keys(n[0].p, &bad, 1) == PHX_EKEYSIZE && phx_set_keys(n[0].p, &huge, 1) == PHX_EKEYSIZE,
       "keys of 15 and 1,025 bytes: \"%s\"", phx_strerror(PHX_EKEYSIZE));
    bad.size = 0;
    ok(phx_set_keys(n[0].p, &bad, 1) == PHX_EKEYSIZE, "an empty key is none");
    for (i = 16; i <= 1024; i += 504) {
        huge.size = i;
        ok(phx_set_keys(n[0].p, &huge, 1) == PHX_EKEYSIZE, "nor is one of %d zeros, promise 106", (int)i);
    }
    bad.data = NULL;
    bad.size = 16;
    ok(phx_set_keys(n[0].p, &bad, 1) == PHX_EINVAL && phx_set_keys(n[0].p, NULL, 1) == PHX_EINVAL
           && phx_set_keys(n[0].p, &key_old, 0) == PHX_EINVAL
           && phx_set_keys(n[0].p, &key_old, 3) == PHX_EINVAL
           && phx_set_keys(NULL, &key_old, 1) == PHX_EINVAL,
       "no key, no keys, three, and no node");
    n[0].heap.fail_at = n[0].heap.calls + 1;
    ok(phx_set_keys(n[0].p, &key_old, 1) == PHX_ENOMEM, "no memory for a key");
    ok(phx_listen(n[0].p, "tcp://0.0.0.0:0") == PHX_EINSECURE, "then there is still none");
    ok(phx_set_keys(n[0].p, &key_old, 1) == 0 && phx_listen(n[0].p, "tcp://0.0.0.0:0") == 0,
       "a key may come later, and then the world is open");
    finish(&n[0]);
    phx_config_init(&c);
    c.key = "short";
    c.key_size = 5;
    ok(phx_new(&p, &c, 0) == PHX_EKEYSIZE && p == NULL, "phx_new says it too");
    c.key = long_key;
    c.key_size = 1025;
    ok(phx_new(&p, &c, 0) == PHX_EKEYSIZE, "both ways");
    c.key_size = 1024;
    ok(phx_new(&p, &c, 0) == PHX_EKEYSIZE && p == NULL, "and zeros only");
    long_key[1023] = 1;
    ok(phx_new(&p, &c, 0) == 0, "one bit is enough");
    phx_free(p);
    long_key[1023] = 0;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        exit(1);
}

static void test_files(void)
{
    char path[120];
    unsigned char out[PHX_KEY_MAX];
    static unsigned char bytes[1200];
    size_t i;

    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    snprintf(path, sizeof path, "%s/key", dir);
    ok(phx_read_key(path, out, sizeof out) == PHX_EFILE, "no such file: \"%s\"",
       phx_strerror(PHX_EFILE));
    ok(phx_read_key(dir, out, sizeof out) == PHX_EFILE, "a directory");
    ok(phx_read_key(NULL, out, 9) == PHX_EINVAL && phx_read_key(path, NULL, 9) == PHX_EINVAL,
       "no path, no room");
    write_file(path, bytes, 32);
    memset(out, 0, sizeof out);
    ok(phx_read_key(path, out, sizeof out) == 32 && memcmp(out, bytes, 32) == 0,
       "32 bytes, whatever they are");
    ok(phx_read_key(path, out, 31) == PHX_EKEYSIZE, "there is no room for them");
    write_file(path, bytes, 15);
    ok(phx_read_key(path, out, sizeof out) == PHX_EKEYSIZE, "too short");
    write_file(path, bytes, 1024);
    ok(phx_read_key(path, out, sizeof out) == 1024, "the longest");
    write_file(path, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    ok(phx_read_key(path, out, sizeof out) == PHX_EKEYSIZE, "zeros only");
    write_file(path, bytes, 1025);
    ok(phx_read_key(path, out, sizeof out) == PHX_EKEYSIZE, "too long");
    chmod(path, 0);
    if (geteuid() == 0)
        ok(1, "a file that may not be read # SKIP root may read all");
    else
        ok(phx_read_key(path, out, sizeof out) == PHX_EACCES, "a file that may not be read");
    unlink(path);
}

/* A socket that is connected, from this machine's own address if it has one that is not loopback. */
static int outward(void)
{
    struct sockaddr_in to, own;
    socklen_t size = sizeof own;
    int listener, probe = socket(AF_INET, SOCK_DGRAM, 0), fd = -1;

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    to.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1: nothing is sent there, only a route looked up */
    if (connect(probe, (struct sockaddr *)&to, sizeof to) == 0
        && getsockname(probe, (struct sockaddr *)&own, &size) == 0
        && (ntohl(own.sin_addr.s_addr) >> 24) != 127) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        own.sin_port = 0;
        size = sizeof own;
        if (bind(listener, (struct sockaddr *)&own, sizeof own) == 0 && listen(listener, 1) == 0
            && getsockname(listener, (struct sockaddr *)&own, &size) == 0
            && (fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0
            && connect(fd, (struct sockaddr *)&own, sizeof own) != 0) {
            close(fd);
            fd = -1;
        }
        close(listener);
    }
    close(probe);
    return fd;
}

static void test_insecure(void)
{
    static const char *const away[] = {"tcp://192.0.2.1:80", "tcp://[2001:db8::1]:80",
                                       "tcp://0.0.0.0:0", "tcp://[::]:0"};
    static const char *const home[] = {"tcp://127.0.0.1:0", "tcp://127.9.9.9:0", "tcp://[::1]:0"};
    struct phx_config c;
    size_t i;
    int fd = outward(), ends[2];

    begin(&n[0], NULL);
    for (i = 0; i < sizeof away / sizeof away[0]; i++)
        ok(phx_listen(n[0].p, away[i]) == PHX_EINSECURE
               && (i > 1 || phx_join(n[0].p, away[i]) == PHX_EINSECURE)
               && (i > 1 || phx_advertise(n[0].p, away[i]) == PHX_EINSECURE),
           "%s without a key: listen, join and advertise say PHX_EINSECURE", away[i]);
    for (i = 0; i < sizeof home / sizeof home[0]; i++) {
        int err = phx_listen(n[0].p, home[i]);
        ok(err == 0 || err == PHX_ENOADDR || err == PHX_ENOTSUP, "%s is this machine", home[i]);
    }
    if (fd < 0)
        ok(1, "adopting a connection with another machine # SKIP this one has only loopback");
    else
        ok(phx_adopt(n[0].p, fd, 1) == PHX_EINSECURE && fcntl(fd, F_GETFD) < 0,
           "nor is a connection with another machine adopted; it is closed");
    ok(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && phx_adopt(n[0].p, ends[0], 1) == 0,
       "a pipe is the host's affair");
    close(ends[1]);
    finish(&n[0]);
    settings(&n[0], &c);
    c.insecure = 1;
    begin_as(&n[0], &c, NULL);
    ok(phx_advertise(n[0].p, away[0]) == 0 && phx_listen(n[0].p, away[2]) == 0,
       "cfg.insecure allows it all");
    fd = outward();
    if (fd >= 0)
        ok(phx_adopt(n[0].p, fd, 1) == 0, "adopting too");
    finish(&n[0]);
}

/* Nodes do not dial what they may not, wherever they have heard of it. */
static void test_learnt(void)
{
    struct phx_config c;
    int i;

    for (i = 0; i < 2; i++) {
        settings(&n[i], &c);
        c.insecure = i == 0;
        begin_as(&n[i], &c, LOOPBACK);
    }
    phx_advertise(n[0].p, "tcp://192.0.2.1:80");
    begin(&n[2], NULL); /* so that n[1] hears of n[0] and its addresses from somebody else */
    phx_join(n[2].p, n[0].at);
    phx_join(n[2].p, n[1].at);
    eventually(hops(&n[1], &n[0]) > 0, "an address learnt from others");
    go_on(1500 * MS);
    ok(logged(&n[1], "192.0.2.1", "") == 0 && stats(&n[1]).dials <= 3,
       "is not dialled without a key: %lu dials", (unsigned long)stats(&n[1]).dials);
    finish_all(n, 3);
}

/* ---- In between ------------------------------------------------------------------------------ */

static void put_hmac(const char *label, const struct phx_key *key, const void *x, size_t x_size,
                     const void *y, size_t y_size)
{
    struct phx__hmac h;
    unsigned char mac[32];

    phx__sha_key_init(&h, key->data, key->size);
    phx__sha_add(&h.inner, label, strlen(label) + 1);
    phx__sha_add(&h.inner, "phoenix", 8);
    phx__sha_add(&h.inner, r.hello, 60);
    phx__sha_add(&h.inner, x, x_size);
    phx__sha_add(&h.inner, y, y_size);
    phx__sha_hmac_end(&h, mac);
    put_bytes(mac, 32);
}

static size_t get_answer(void)
{
    raw_hello("phoenix", 2, 2);
    raw_send();
    await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
    return raw_front(SPEC_ANSWER);
}

/* A PROOF for the ANSWER r.in, as one with this key makes it. */
static void put_proof(const struct phx_key *key, size_t answer)
{
    size_t start;

    head(SPEC_PROOF, 0, 0);
    start = b.size;
    put(1, 4);
    put(1, 4);
    put(0, 4);
    put(0, 1);
    put_hmac("PHX1 proof", key, r.in + 8, answer - 8, b.at + start, 13);
    tail();
}

static void test_two_macs(void)
{
    unsigned char mac[2][32];
    size_t size;

    begin_with(&n[0], LOOPBACK, &key_new, &key_old);
    raw_begin(&n[0]);
    size = get_answer();
    check(size > 72, "an ANSWER");
    put_hmac("PHX1 answer", &key_new, r.in + 8, size - 72, NULL, 0);
    put_hmac("PHX1 answer", &key_old, r.in + 8, size - 72, NULL, 0);
    memcpy(mac, b.at, 64);
    b.size = 0;
    ok(memcmp(mac[0], r.in + size - 64, 32) == 0 && memcmp(mac[1], r.in + size - 32, 32) == 0,
       "an ANSWER has a mac with each key, in their order");
    put_proof(&key_old, size);
    raw_send();
    eventually(stats(&n[0]).links == 1, "a PROOF with the second key is as good");
    raw_finish();
    finish(&n[0]);

    begin_with(&n[0], LOOPBACK, &key_new, NULL);
    raw_begin(&n[0]);
    size = get_answer();
    put_hmac("PHX1 answer", &key_new, r.in + 8, size - 72, NULL, 0);
    memcpy(mac[0], b.at, 32);
    b.size = 0;
    ok(memcmp(mac[0], r.in + size - 64, 32) == 0, "with one key the first mac is right");
    memcpy(mac[0], r.in + size - 32, 32);
    raw_finish();
    raw_begin(&n[0]);
    size = get_answer();
    ok(memcmp(mac[0], r.in + size - 32, 32) != 0 && memcmp(r.in + size - 64, r.in + size - 32, 32),
       "and the other one random: nobody sees whether there is one");
    raw_finish();
    finish(&n[0]);
}

/* Takes a mac away so that the older key is used: the PROOF covers what the dialer saw. */
static void test_downgrade(void)
{
    size_t size;
    unsigned char was[64];

    begin_with(&n[0], LOOPBACK, &key_new, &key_old);
    raw_begin(&n[0]);
    size = get_answer();
    memcpy(was, r.in + size - 64, 64);
    memset(r.in + size - 64, 0, 32); /* as one in between would */
    put_proof(&key_old, size);
    raw_send();
    eventually(raw_is_closed() && raw_refused() == 0,
               "an ANSWER that was changed on the way: closed");
    ok(logged(&n[0], phx_strerror(PHX_EKEY), "") == 1 && stats(&n[0]).links == 0,
       "refused, and logged once");
    raw_finish();
    finish(&n[0]);
}

static void test_replay(void)
{
    unsigned char proof[53];
    size_t size;

    begin_with(&n[0], LOOPBACK, &key_old, NULL);
    raw_begin(&n[0]);
    size = get_answer();
    put_proof(&key_old, size);
    memcpy(proof, b.at, sizeof proof);
    raw_send();
    eventually(stats(&n[0]).links == 1, "a good handshake, which somebody writes down");
    raw_finish();
    await(stats(&n[0]).links == 0, PATIENCE);
    raw_begin(&n[0]);
    get_answer();
    put_bytes(proof, sizeof proof);
    raw_send();
    eventually(raw_is_closed() && logged(&n[0], phx_strerror(PHX_EKEY), "") == 1,
               "the same PROOF again: refused, one line");
    ok(stats(&n[0]).links == 0, "and no link");
    raw_finish();
    finish(&n[0]);
}

/* One in between who only carries bytes back. */
static void test_reflection(void)
{
    char at[64];
    unsigned char hello[68];
    int fd, listener, i;
    struct sockaddr_in a;
    socklen_t size = sizeof a;

    begin_with(&n[0], LOOPBACK, &key_old, NULL);
    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&a, sizeof a) != 0 || listen(listener, 5) != 0
        || getsockname(listener, (struct sockaddr *)&a, &size) != 0)
        exit(1);
    snprintf(at, sizeof at, "tcp://127.0.0.1:%d", ntohs(a.sin_port));
    phx_join(n[0].p, at);
    go_on(50 * MS);
    fd = accept(listener, NULL, NULL);
    await(recv(fd, hello, 68, MSG_PEEK | MSG_DONTWAIT) == 68, PATIENCE);
    check(recv(fd, hello, 68, MSG_WAITALL) == 68, "it says HELLO");
    /* Back on the same connection, and to its own listener. */
    check(send(fd, hello, 68, MSG_NOSIGNAL) == 68, "sent back");
    eventually(logged(&n[0], phx_strerror(PHX_EPROTO), "") == 1, "a HELLO in place of an ANSWER");
    raw_begin(&n[0]);
    put_bytes(hello, 68);
    raw_send();
    eventually(raw_is_closed() && raw_refused() == PHX_ESELF, "its own HELLO: it knows itself");
    raw_finish();
    /* With another id the HELLO is taken; then the ANSWER comes back, dressed as a PROOF. */
    raw_begin(&n[0]);
    i = (int)get_answer();
    head(SPEC_PROOF, 0, 0);
    put(1, 4);
    put(1, 4);
    put(0, 4);
    put(0, 1);
    put_bytes(r.in + i - 64, 32);
    tail();
    raw_send();
    eventually(raw_is_closed() && logged(&n[0], phx_strerror(PHX_EKEY), "") == 1,
               "the ANSWER's own mac for a PROOF: refused");
    ok(stats(&n[0]).links == 0 && stats(&n[0]).nodes == 1, "nobody has got in");
    raw_finish();
    close(fd);
    close(listener);
    finish(&n[0]);
}

static const struct test tests[] = {
    {"pairs", test_pairs},
    {"roll_over", test_roll_over}, {"given_late", test_given_late},
    {"calls", test_calls},
    {"files", test_files},
    {"insecure", test_insecure},
    {"learnt", test_learnt},
    {"two_macs", test_two_macs},
    {"downgrade", test_downgrade},
    {"replay", test_replay},
    {"reflection", test_reflection},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
