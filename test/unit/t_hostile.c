/* t_hostile.c - bad input: what the host, missing hubs, and strangers may do to a node.
 *
 * Goal: whatever comes in, an error code or one log line names the cause, the connection it came
 * on closes, all else goes on, and memory stays under its cap. Method: real nodes with the strict
 * host of nodes.h, the raw peer of raw.h, and a proxy that shows what real nodes say to the parser
 * of spec.h. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

#include <sys/wait.h>

/* ---- What the host may get wrong ------------------------------------------------------------- */

static void test_addresses(void)
{
    static const struct {
        const char *text;
        int error;
    } bad[] = {
        {NULL, PHX_EINVAL},
        {"", PHX_EADDRESS},
        {"tcp", PHX_EADDRESS},
        {"127.0.0.1:80", PHX_EADDRESS},
        {"tcp://", PHX_EADDRESS},
        {"tcp://:", PHX_EADDRESS},
        {"tcp://127.0.0.1", PHX_EADDRESS},
        {"tcp://127.0.0.1:", PHX_EADDRESS},
        {"tcp://127.0.0.1:65536", PHX_EADDRESS},
        {"tcp://127.0.0.1:-1", PHX_EADDRESS},
        {"tcp://127.0.0.1:80x", PHX_EADDRESS},
        {"tcp://127.0.0.1:80/", PHX_EADDRESS},
        {"tcp://[::1", PHX_EADDRESS},
        {"tcp://[::1]", PHX_EADDRESS},
        {"tcp://[::1]80", PHX_EADDRESS},
        {"tcp://::1:80", PHX_EADDRESS},
        {"tcp://[]:80", PHX_EADDRESS},
        {"tcp:/127.0.0.1:80", PHX_EADDRESS},
        {"unix://", PHX_EADDRESS},
        {"unix://relative", PHX_EADDRESS},
        {"http://127.0.0.1:80", PHX_ESCHEME},
        {"udp://127.0.0.1:80", PHX_ESCHEME},
        {"tcp://no-such-host.invalid:80", PHX_ERESOLVE},
        {"tcp://192.0.2.1:80", PHX_EINSECURE},
        {"tcp://[2001:db8::1]:80", PHX_EINSECURE},
    };
    char path[300];
    size_t i;

    begin(&n[0], NULL);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int listen_said = phx_listen(n[0].p, bad[i].text),
            join_said = phx_join(n[0].p, bad[i].text);
        ok(listen_said == bad[i].error && join_said == bad[i].error, "\"%s\": %s, %s",
           bad[i].text == NULL ? "(null)" : bad[i].text, phx_strerror(listen_said),
           phx_strerror(join_said));
    }
    memset(path, 'x', sizeof path);
    memcpy(path, "unix:///", 8);
    path[sizeof path - 1] = '\0';
    ok(phx_listen(n[0].p, path) == PHX_EADDRESS && phx_join(n[0].p, path) == PHX_EADDRESS,
       "a path too long");
    ok(phx_join(n[0].p, LOOPBACK) == PHX_EADDRESS, "a hub at port 0");
    ok(phx_advertise(n[0].p, "tcp://name.example:80") < 0, "phx_advertise wants numbers");
    finish(&n[0]);
}

static void test_listen(void)
{
    static const char key[] = "0123456789abcdef";
    struct phx_config c;
    char path[100];
    int i;

    begin(&n[0], LOOPBACK);
    begin(&n[1], NULL);
    ok(phx_listen(n[1].p, n[0].at) == PHX_EINUSE, "a port in use");
    snprintf(path, sizeof path, "unix://%s/one", dir);
    ok(phx_listen(n[0].p, path) == 0 && phx_listen(n[1].p, path) == PHX_EINUSE, "a path in use");
    snprintf(path, sizeof path, "unix://%s/none/x", dir);
    ok(phx_listen(n[1].p, path) == PHX_ENOADDR, "no such directory");
    ok(phx_listen(n[1].p, "tcp://0.0.0.0:0") == PHX_EINSECURE,
       "all interfaces without a key: PHX_EINSECURE");
    for (i = 1; phx_listen(n[1].p, LOOPBACK) == 0; i++)
        ;
    ok(i == 9 && phx_listen(n[1].p, LOOPBACK) == PHX_ELIMIT, "a ninth listener");
    finish_all(n, 2);
    settings(&n[0], &c);
    c.key = key;
    c.key_size = sizeof key - 1;
    begin_as(&n[0], &c, "tcp://0.0.0.0:0");
    ok(phx_listen(n[0].p, "tcp://192.0.2.1:0") == PHX_ENOADDR,
       "with a key: an address of another machine");
    finish(&n[0]);
}

static int said_new(const struct phx_config *c)
{
    phx *p = (phx *)&p;
    int err = phx_new(&p, c, 0);

    phx_free(p);
    return err;
}

#define WITH(field, value) (phx_config_init(&c), c.field = (value), said_new(&c) == PHX_EINVAL)

static void test_config(void)
{
    struct phx_config c;
    char longer[66];

    phx_config_init(&c);
    memset(longer, 'x', 65);
    longer[65] = '\0';
    ok(phx_new(NULL, &c, 0) == PHX_EINVAL && said_new(NULL) == PHX_EINVAL,
       "no place, no configuration");
    ok(WITH(cluster, NULL) && WITH(cluster, "") && WITH(cluster, longer), "bad cluster names");
    ok(WITH(key_size, 16), "the size of a key and no key");
    ok(WITH(incarnation, 1), "an incarnation without an id");
    ok(WITH(max_message, 0) && WITH(max_message, (1u << 30) + 1) && WITH(window, 65535), "sizes");
    ok(WITH(max_links, 0) && WITH(max_nodes, 1) && WITH(max_dials, 0) && WITH(max_accepts, 0)
           && WITH(hop_limit, 0),
       "counts");
    ok(WITH(hop_limit, 256) && WITH(step_bytes, 1000), "more counts");
    ok(WITH(dial_timeout_us, 0) && WITH(retry_min_us, 0) && WITH(detector.interval_us, 0)
           && WITH(detector.timeout_us, 0) && WITH(detector.broken_us, 0) && WITH(retry_max_us, 1000),
       "times");
    ok(WITH(mem_limit, 1000) == 0, "a little memory is a limit, too");
    phx_config_init(&c);
    c.mem_limit = 1000;
    ok(said_new(&c) == PHX_ENOMEM, "a limit too small to begin is PHX_ENOMEM");
}

static void test_calls(void)
{
    struct phx_outgoing m;
    struct iovec iov = {NULL, 5};

    begin(&n[0], NULL);
    ok(phx_assume(n[0].p, 2, 1) == PHX_ERANGE && phx_release(n[0].p, 2, 1) == PHX_ERANGE,
       "bad ranges");
    ok(phx_owner(n[0].p, 5, NULL) == PHX_ENOTFOUND, "a name nobody holds");
    ok(phx_cancel(n[0].p, 0) == PHX_EINVAL && phx_cancel(n[0].p, 7) == PHX_ENOTFOUND,
       "unknown tokens");
    memset(&m, 0, sizeof m);
    m.iov = &iov;
    m.iov_count = 1;
    ok(phx_sendv(n[0].p, &m) == PHX_EINVAL, "NULL of 5 bytes");
    m.iov_count = -1;
    ok(phx_sendv(n[0].p, &m) == PHX_EINVAL && phx_sendv(n[0].p, NULL) == PHX_EINVAL, "bad counts");
    ok(phx_adopt(n[0].p, -1, 0) == PHX_EINVAL && phx_adopt(n[0].p, 4090, 0) < 0,
       "descriptors that are none");
    ok(phx_step(NULL, 0, NULL, 0) == PHX_EINVAL && phx_closed(NULL), "no node");
    finish(&n[0]);
}

/* ---- Hubs that are not there ----------------------------------------------------------------- */

static void test_no_hub(void)
{
    struct phx_config c;
    char at[PHX_ADDRESS_TEXT];
    unsigned long early, late;

    begin(&n[0], LOOPBACK);
    memcpy(at, n[0].at, sizeof at);
    finish(&n[0]); /* now nobody is there */
    settings(&n[1], &c);
    c.retry_max_us = 400 * MS;
    begin_as(&n[1], &c, NULL);
    phx_assume(n[1].p, 2, 2);
    ok(phx_join(n[1].p, at) == 0, "a hub that is not there is no error");
    go_on(500 * MS);
    early = (unsigned long)stats(&n[1]).dials_failed;
    go_on(SECOND);
    late = (unsigned long)stats(&n[1]).dials_failed - early;
    ok(early > 1 && late > 0, "the node dials on: %lu and then %lu times a second, promise 43",
       2 * early, late);
    ok(early < 100 && late < 40 && late < 2 * early + 10, "with growing gaps");
    ok(logged(&n[1], at, "connection refused") > 0, "and says why it failed");
    post(&n[1], 2, 0, 10);
    eventually(has_mail(&n[1], 1), "meanwhile it lives");
    begin(&n[0], at);
    eventually(linked(&n[0], &n[1]), "when the hub is there, they link, promises 35, 43");
    finish_all(n, 2);
}

static void test_self(void)
{
    unsigned long dials;

    begin(&n[0], LOOPBACK);
    phx_join(n[0].p, n[0].at);
    eventually(logged(&n[0], phx_strerror(PHX_ESELF), "") > 0,
               "a node that joins itself says so, promise 41");
    go_on(300 * MS);
    dials = (unsigned long)stats(&n[0]).dials;
    ok(dials < 5 && stats(&n[0]).links == 0, "and gives it up: %lu dials", dials);
    finish(&n[0]);
}

/* Two nodes that may not link: both sides say why. */
static void refuse(const char *cluster, const char *key, int reason, const char *what)
{
    struct phx_config c;

    settings(&n[0], &c);
    c.key = "0123456789abcdef";
    c.key_size = 16;
    begin_as(&n[0], &c, LOOPBACK);
    settings(&n[1], &c);
    c.cluster = cluster;
    c.key = key;
    c.key_size = key == NULL ? 0 : strlen(key);
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    eventually(logged(&n[0], phx_strerror(reason), "") > 0
                   && logged(&n[1], phx_strerror(reason), "") > 0,
               "%s: both sides log \"%s\"", what, phx_strerror(reason));
    go_on(200 * MS);
    ok(stats(&n[0]).links == 0 && stats(&n[1]).links == 0, "%s: no link", what);
    ok(stats(&n[0]).nodes == 1 && stats(&n[1]).nodes == 1, "%s: and neither knows the other", what);
    finish_all(n, 2);
}

static void test_refused(void)
{
    refuse("other", "0123456789abcdef", PHX_ECLUSTER, "another cluster, promise 109");
    refuse("phoenix", "fedcba9876543210", PHX_EKEY, "another key, promise 105");
    refuse("phoenix", NULL, PHX_EKEY, "no key, promise 105");
}

/* ---- Strangers ------------------------------------------------------------------------------- */

static void stranger_oversize(void)
{
    put(0xffffffff, 4);
    put_fill(0, 2000);
}

static void stranger_long_hello(void)
{
    head(SPEC_HELLO, 0, 0);
    put_fill(0, 400);
    tail();
}

static void stranger_update(void)
{
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    tail();
}

static void stranger_proof(void)
{
    head(SPEC_PROOF, 0, 0);
    put_fill(0, 45);
    tail();
}

static void stranger_twice(void)
{
    raw_hello("phoenix", 2, 2);
    raw_hello("phoenix", 2, 2);
}

static void stranger_magic(void)
{
    raw_hello("phoenix", 2, 2);
    b.at[b.frame + 8] ^= 1;
}

static void stranger_hurry(void)
{
    raw_hello("phoenix", 2, 2);
    stranger_update();
}

static void stranger_http(void)
{
    static const char get[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    put_bytes(get, sizeof get - 1);
}

static void test_strangers(void)
{
    static const struct {
        const char *what;
        void (*say)(void);
    } cases[] = {
        {"random garbage", raw_garbage},           {"a size of 4 GiB", stranger_oversize},
        {"a HELLO too long", stranger_long_hello}, {"an UPDATE first", stranger_update},
        {"a PROOF first", stranger_proof},         {"HELLO twice", stranger_twice},
        {"wrong magic", stranger_magic},           {"an UPDATE in place of PROOF", stranger_hurry},
        {"a web browser", stranger_http},
    };
    struct phx_config c = usual();
    size_t i, before;
    int lines;

    begin_pair(&c);
    before = n[0].heap.bytes;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lines = logged(&n[0], "", "");
        raw_from = 2 + (int)i;
        raw_begin(&n[0]);
        cases[i].say();
        raw_send();
        eventually(raw_is_closed(), "%s: closed", cases[i].what);
        ok(logged(&n[0], "", "") == lines + 1 && honest(), "%s: one log line, all else goes on",
           cases[i].what);
        raw_finish();
    }
    raw_from = 0;
    ok(n[0].heap.bytes < before + 20000, "memory is back: %lu and %lu", (unsigned long)before,
       (unsigned long)n[0].heap.bytes);
    finish_all(n, 2);
}

/* One who comes again and again is told of once, and so is a hub that cannot be had. */
static void test_log_once(void)
{
    struct phx_config c = usual();
    uint64_t start;
    int i, most;

    begin_pair(&c);
    for (i = 0; i < 20; i++) {
        raw_begin(&n[0]);
        stranger_http();
        raw_send();
        await(raw_is_closed(), PATIENCE);
        raw_finish();
    }
    ok(logged(&n[0], phx_strerror(PHX_EPROTO), "") == 1, "20 times the same from one host: one line");
    raw_begin(&n[0]);
    raw_hello("other", 2, 2);
    raw_send();
    await(raw_is_closed(), PATIENCE);
    raw_finish();
    ok(logged(&n[0], phx_strerror(PHX_ECLUSTER), "") == 1, "another reason is another line");
    for (i = 0; i < 100; i++) { /* reasons that nobody has heard of yet */
        raw_begin(&n[0]);
        head(SPEC_REFUSE, 0, 0);
        put(1000 + (uint64_t)i, 2);
        tail();
        raw_send();
        await(raw_is_closed(), PATIENCE);
        raw_finish();
    }
    ok(logged(&n[0], "refused by the peer", "") == 1, "100 reasons of its own invention: one line");
    for (i = 2; i < 250; i++) { /* more hosts than it remembers, and 20 lines in a second */
        host_ahead += SECOND / 16;
        raw_from = i;
        raw_begin(&n[0]);
        stranger_http();
        raw_send();
        await(raw_is_closed(), PATIENCE);
        raw_finish();
    }
    ok(logged(&n[0], phx_strerror(PHX_EPROTO), "") == 249, "and so is another host");
    start = phx_now_us();
    for (i = 250; i < 900; i++) {
        raw_from = i;
        raw_begin(&n[0]);
        stranger_http();
        raw_send();
        await(raw_is_closed(), PATIENCE);
        raw_finish();
    }
    raw_from = 0;
    most = 512 + (int)((phx_now_us() - start) / (250 * MS)) + 1;
    ok(logged(&n[0], "", "no link") <= most, "900 hosts: %d lines, at most %d",
       logged(&n[0], "", "no link"), most);
    ok(honest(), "all else goes on");
    finish_all(n, 2);
}

static int dial_to_end(phx *p, const char *address, void *user)
{
    int pair[2];

    (void)p, (void)address, (void)user;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return PHX_EMFILE;
    close(pair[1]);
    return pair[0];
}

static int dial_nothing(phx *p, const char *address, void *user)
{
    (void)p, (void)address, (void)user;
    return PHX_ENOTSUP;
}

/* Two hubs behind two SSH servers are two places: the trouble with one does not hide that with the other.
 * One that is tried ten times in a minute is one line. */
static void test_log_hooks(void)
{
    struct phx_config c = usual();
    int k;

    for (k = 0; k < 2; k++) {
        settings(&n[0], &c);
        c.dial = k ? dial_nothing : dial_to_end;
        c.retry_min_us = c.retry_max_us = 5 * MS;
        begin_as(&n[0], &c, NULL);
        check(phx_join(n[0].p, "x://one") == 0 && phx_join(n[0].p, "x://two") == 0, "two hubs");
        await(stats(&n[0]).dials >= 20, PATIENCE);
        ok(logged(&n[0], "x://one", ", ") == 1 && logged(&n[0], "x://two", ", ") == 1,
           "%s: one line for each of two hubs", k ? "cfg.dial says no" : "streams that end");
        finish(&n[0]);
    }
}

static void try_refusal(const char *what, const char *cluster, int version, int spoil, int reason)
{
    int lines = logged(&n[0], phx_strerror(reason), "");

    raw_begin(&n[0]);
    if (reason == PHX_ESELF)
        r.id = n[0].id;
    raw_hello(cluster, version, version == 2 ? 3 : version);
    raw_send();
    if (spoil) {
        await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
        raw_proof("phoenix", "", 1);
        raw_send();
    }
    await(raw_is_closed(), PATIENCE);
    ok(raw_refused() == reason && logged(&n[0], phx_strerror(reason), "") == lines + 1,
       "%s is refused with reason %d, and logged once", what, -raw_refused());
    raw_finish();
}

static void test_hellos(void)
{
    struct phx_config c = usual();
    uint64_t start;

    begin_pair(&c);
    try_refusal("version 1", "phoenix", 1, 0, PHX_EVERSION);
    try_refusal("another cluster", "phoenix2", 2, 0, PHX_ECLUSTER);
    try_refusal("its own id", "phoenix", 2, 0, PHX_ESELF);
    try_refusal("a PROOF with a bad mac", "phoenix", 2, 1, PHX_EKEY);

    raw_begin(&n[0]);
    start = phx_now_us();
    raw_hello("phoenix", 2, 2);
    b.size = 30;
    raw_send();
    eventually(raw_is_closed(), "half a HELLO and silence: closed");
    ok(phx_now_us() - start >= 250 * MS && phx_now_us() - start < 2 * SECOND, "after dial_timeout");
    raw_finish();

    raw_begin(&n[0]);
    raw_hello("phoenix", 2, 2);
    raw_send();
    eventually(raw_front(SPEC_ANSWER) > 0 && raw_is_closed(),
               "HELLO and silence: closed, promise 34");
    raw_finish();
    ok(stats(&n[0]).links == 1 && stats(&n[0]).nodes == 2 && honest(),
       "nobody has got in, promise 109");
    finish_all(n, 2);
}

static void test_idle_crowd(void)
{
    struct phx_config c = usual();
    int fds[300], i;
    uint64_t start;

    c.dial_timeout_us = SECOND;
    begin_pair(&c);
    for (i = 0; i < 300; i++)
        fds[i] = raw_socket(&n[0]);
    go_on(50 * MS);
    start = phx_now_us();
    begin(&n[2], NULL);
    phx_join(n[2].p, n[0].at);
    eventually(linked(&n[0], &n[2]),
               "300 connections that say nothing do not keep an honest node out");
    ok(phx_now_us() - start < 1500 * MS, "for longer than dial_timeout, promise 110 (%d ms)",
       (int)((phx_now_us() - start) / MS));
    ok(honest(), "and those who are in do not notice");
    for (i = 0; i < 300; i++)
        close(fds[i]);
    finish_all(n, 3);
}

/* As above, but patience is long, and the node's own dials are as many: neither may count. */
static void test_patient_crowd(void)
{
    struct phx_config c = usual();
    int fds[300], ends[300][2], i;
    uint64_t start;

    c.dial_timeout_us = 8 * SECOND;
    begin_pair(&c);
    for (i = 0; i < 300; i++) {
        fds[i] = ends[i][0] = ends[i][1] = -1;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == 0)
            phx_adopt(n[0].p, ends[i][0], 1);
    }
    start = phx_now_us();
    begin(&n[2], NULL);
    phx_join(n[2].p, n[0].at);
    eventually(linked(&n[0], &n[2]), "300 of its own handshakes under way keep nobody out");
    for (i = 0; i < 300; i++)
        fds[i] = raw_socket(&n[0]);
    go_on(50 * MS);
    begin(&n[3], NULL);
    phx_join(n[3].p, n[0].at);
    eventually(linked(&n[0], &n[3]), "nor do 300 others, promise 110 (%d ms)",
               (int)((phx_now_us() - start) / MS));
    ok(phx_now_us() - start < 4 * SECOND, "long before their time is over");
    ok(logged(&n[0], phx_strerror(PHX_ELIMIT), "") == 0, "there is room for them all");
    ok(honest(), "and those who are in do not notice");
    for (i = 0; i < 300; i++) {
        close(fds[i]);
        close(ends[i][1]);
    }
    finish_all(n, 4);
}

/* More who are welcome than there is room for. */
static void test_full_house(void)
{
    struct phx_config c;
    int i, links = 0;

    settings(&n[0], &c);
    c.max_accepts = 2;
    c.max_links = 2;
    begin_as(&n[0], &c, LOOPBACK);
    for (i = 1; i < 5; i++) {
        settings(&n[i], &c);
        hurry(&c);
        c.max_links = 1;
        begin_as(&n[i], &c, NULL);
        phx_join(n[i].p, n[0].at);
        await(linked(&n[i], &n[0]) || logged(&n[i], phx_strerror(PHX_ELIMIT), "refused") > 0, PATIENCE);
    }
    for (i = 1; i < 5; i++)
        links += linked(&n[i], &n[0]);
    ok(links == 3 && stats(&n[0]).links == 3,
       "cfg.max_accepts: two of four get in, and one for a moment, promises 35, 110");
    ok(logged(&n[4], phx_strerror(PHX_ELIMIT), "refused by the peer") == 1
           && logged(&n[0], phx_strerror(PHX_ELIMIT), "") >= 1,
       "the fourth is told why, once");
    eventually(logged(&n[3], phx_strerror(PHX_ELIMIT), "down, refused by the peer") > 0,
               "and the third, whom nobody else takes in");
    finish(&n[1]);
    eventually(linked(&n[3], &n[0]) || linked(&n[4], &n[0]), "when one goes another gets in");
    finish_all(n, 5);
}

/* In a child: no descriptor is left when connections wait. 0: all is well. */
static int starve(void)
{
    struct rlimit limit;
    struct phx_stats before, after;
    unsigned long steps;
    int fds[5], dup_fd = -1, last = -1, i;

    begin(&n[0], LOOPBACK);
    go_on(20 * MS);
    for (i = 0; i < 5; i++)
        fds[i] = raw_socket(&n[0]);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &limit);
    while ((dup_fd = dup(fds[0])) >= 0)
        last = dup_fd;
    before = stats(&n[0]);
    steps = n[0].steps;
    go_on(200 * MS);
    after = stats(&n[0]);
    printf("# without descriptors: %lu steps, %lu calls in 0.2 s\n", n[0].steps - steps,
           (unsigned long)(after.os_calls - before.os_calls));
    if (n[0].steps - steps > 20 || after.os_calls - before.os_calls > 60 || after.accepts != 0)
        return 1;
    if (logged(&n[0], phx_strerror(PHX_EMFILE), "") != 1)
        return 2;
    for (i = 0; i < 8; i++)
        close(last - i);
    await(stats(&n[0]).accepts == 5, PATIENCE);
    return stats(&n[0]).accepts == 5 ? 0 : 3;
}

static void test_no_descriptors(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(starve());
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "no descriptors: no spin, one log line, and later on");
}

/* ---- Two who dial each other ----------------------------------------------------------------- */

/* A listener of the test's own on loopback. */
static int own_listen(int *port, int backlog)
{
    struct sockaddr_in at;
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, backlog) != 0
        || getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        exit(1);
    *port = ntohs(at.sin_port);
    return fd;
}

/* n[0], whose id is the smaller one, so that its dials win, links with the raw peer, learns that it
 * can be dialled at these ports, and loses the link. The raw peer then dials again as the same. */
static void begin_rivals(const int *ports, int count)
{
    static const struct phx_id smallest = {{0, 1}};
    struct phx_config c;
    struct phx_id id;
    int i;

    settings(&n[0], &c);
    c.dial_timeout_us = 8 * SECOND;
    c.id = &smallest;
    begin_as(&n[0], &c, LOOPBACK);
    raw_link(&n[0]);
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_bytes(&r.id, 16);
    put(0, 8);
    put(2, 4); /* seq */
    put(0, 1);
    put(1, 1); /* CARD */
    put(2, 4); /* card_version */
    put(11 + 7 * (uint64_t)count, 4);
    put(1, 1);
    put(65536, 4);
    put(0, 1); /* no label */
    put((uint64_t)count, 1);
    for (i = 0; i < count; i++) {
        put(4, 1);
        put(0x0100007f, 4);
        put((uint64_t)ports[i], 2);
    }
    put(0, 4);
    tail();
    raw_send();
    go_on(50 * MS);
    id = r.id;
    raw_finish();
    await(stats(&n[0]).dials == (uint64_t)count, PATIENCE);
    raw_begin(&n[0]);
    r.id = id;
}

/* Takes what comes of a HELLO on fd and answers it as the raw peer. */
static void raw_answer(int fd)
{
    unsigned char hello[68], mac[32];
    struct phx__hmac h;

    check(recv(fd, hello, 68, MSG_WAITALL) == 68, "a HELLO has come");
    head(SPEC_ANSWER, 0, 0);
    put(2, 2);
    put(0, 4);
    put_bytes(&r.id, 16);
    put(0, 8);
    put_fill(0x55, 16);
    put(3, 4); /* seq */
    put(2, 4); /* card_version */
    put(0, 4);
    put(0, 1); /* observed: none */
    phx__sha_key_init(&h, "", 0);
    phx__sha_add(&h.inner, "PHX1 answer", 12);
    phx__sha_add(&h.inner, "phoenix", 8);
    phx__sha_add(&h.inner, hello + 8, 60);
    phx__sha_add(&h.inner, b.at + b.frame + 8, b.size - b.frame - 8);
    phx__sha_hmac_end(&h, mac);
    put_bytes(mac, 32);
    put_fill(0, 32); /* of no second key */
    tail();
    check(send(fd, b.at, b.size, MSG_NOSIGNAL) == (ssize_t)b.size, "an ANSWER is sent");
    b.size = 0;
}

static void test_one_link(void)
{
    int ports[2], listeners[2], fds[2], i;

    for (i = 0; i < 2; i++)
        listeners[i] = own_listen(&ports[i], 5);
    begin_rivals(ports, 2);
    for (i = 0; i < 2; i++)
        fds[i] = accept(listeners[i], NULL, NULL);
    go_on(50 * MS); /* both dials are connected */
    raw_hello("phoenix", 2, 2);
    raw_send();
    go_on(100 * MS);
    ok(raw_front(SPEC_ANSWER) == 0 && raw_refused() == 0,
       "a HELLO waits behind the winning dials");
    raw_answer(fds[0]);
    eventually(raw_is_closed() && raw_refused() == PHX_EDUPLICATE,
               "one of them comes up, the other is given up, and the HELLO refused");
    ok(stats(&n[0]).links == 1, "one link, promise 42");
    raw_finish();
    for (i = 0; i < 2; i++) {
        close(fds[i]);
        close(listeners[i]);
    }
    finish(&n[0]);
}

static void test_dead_dial(void)
{
    struct sockaddr_in at;
    struct pollfd last;
    int port, listener = own_listen(&port, 0), fds[4], i;
    uint64_t start;

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons((uint16_t)port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (i = 0; i < 4; i++) { /* a full listen queue is a place where nobody answers */
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
        (void)connect(fds[i], (struct sockaddr *)&at, sizeof at);
    }
    last.fd = fds[3];
    last.events = POLLOUT;
    if (poll(&last, 1, 100) != 0) {
        ok(1, "an address where nobody answers # SKIP there is none here");
    } else {
        begin_rivals(&port, 1);
        start = phx_now_us();
        raw_hello("phoenix", 2, 2);
        raw_send();
        await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
        raw_proof("phoenix", "", 0);
        raw_send();
        eventually(stats(&n[0]).links == 1, "a dial to where nobody answers holds up no link");
        ok(phx_now_us() - start < 4 * SECOND, "the HELLO was answered at once");
        raw_finish();
        finish(&n[0]);
    }
    for (i = 0; i < 4; i++)
        close(fds[i]);
    close(listener);
}

/* A stream that is taken over without the memory for it: told, and closed, not kept for later. */
static void test_adopt_without_memory(void)
{
    int ends[2], failed = 0, kept = 0, err = PHX_ENOMEM;
    char one;

    begin(&n[0], NULL);
    while (err != 0 && failed < 100) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            exit(1);
        n[0].heap.fail_at = n[0].heap.calls + failed + 1;
        err = phx_adopt(n[0].p, ends[0], 1);
        n[0].heap.fail_at = 0;
        failed += err != 0;
        kept += err != 0 && recv(ends[1], &one, 1, MSG_DONTWAIT) != 0;
        close(ends[1]);
    }
    ok(failed > 2 && failed < 100 && kept == 0, "%d failures to adopt, %d streams kept", failed,
       kept);
    go_on(20 * MS);
    finish(&n[0]);
}

/* ---- What real nodes say --------------------------------------------------------------------- */

/* A proxy between two nodes that keeps all that passes. */
struct way {
    int from, to;
    unsigned char *bytes;
    size_t size, sent, capacity;
};

static void carry(struct way *w)
{
    ssize_t got = 1;

    while (got > 0) {
        if (w->capacity - w->size < 65536) {
            w->capacity = w->capacity * 2 + 1000000;
            w->bytes = realloc(w->bytes, w->capacity);
            if (w->bytes == NULL)
                exit(1);
        }
        got = recv(w->from, w->bytes + w->size, 65536, 0);
        w->size += got > 0 ? (size_t)got : 0;
        while (w->sent < w->size) {
            ssize_t some = send(w->to, w->bytes + w->sent, w->size - w->sent, MSG_NOSIGNAL);
            if (some <= 0)
                break;
            w->sent += (size_t)some;
        }
    }
    if (got == 0 && w->sent == w->size)
        shutdown(w->to, SHUT_WR);
}

static struct way ways[2]; /* what the dialer says, and what the acceptor says */

#define through_proxy(cond, ...)                                                                   \
    do {                                                                                           \
        uint64_t until_ = phx_now_us() + PATIENCE;                                                 \
        while (!(cond) && phx_now_us() < until_) {                                                 \
            turn(1);                                                                               \
            carry(&ways[0]);                                                                       \
            carry(&ways[1]);                                                                       \
        }                                                                                          \
        ok(cond, __VA_ARGS__);                                                                     \
    } while (0)

static int proxy_listen(char *text, size_t size)
{
    int port, fd = own_listen(&port, 5);

    snprintf(text, size, "tcp://127.0.0.1:%d", port);
    return fd;
}

static void begin_proxied(void)
{
    struct phx_config c;
    char at[64];
    int i, listener = proxy_listen(at, sizeof at), outer;

    for (i = 0; i < 2; i++) {
        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, i == 0 ? LOOPBACK : NULL);
    }
    phx_join(n[1].p, at);
    turn(20);
    outer = accept(listener, NULL, NULL);
    close(listener);
    memset(ways, 0, sizeof ways);
    ways[0].from = ways[1].to = outer;
    ways[0].to = ways[1].from = raw_socket(&n[0]);
    fcntl(outer, F_SETFL, O_NONBLOCK);
}

/* A bit of everything: names, messages of all sizes, cards too large for an UPDATE. */
static void talk(void)
{
    static const size_t sizes[] = {0, 1, 65536, 65537, 1000000, 5, 300000};
    uint64_t i;

    through_proxy(linked(&n[0], &n[1]), "two nodes link through a proxy");
    for (i = 0; i < 1000; i++)
        phx_assume(n[0].p, 100 + 2 * i, 100 + 2 * i);
    phx_assume(n[1].p, 2, 2);
    through_proxy(owns(&n[1], 2098, &n[0]) && owns(&n[0], 2, &n[1]), "a card with 1,000 claims");
    for (i = 0; i < 7; i++) {
        post(&n[0], 2, i, sizes[i]);
        post(&n[1], 100 + 2 * i, i, sizes[i]);
    }
    post_token(&n[1], 9999, 1, 1000, 0);
    through_proxy(has_mail(&n[0], 7) && has_mail(&n[1], 7), "messages of many sizes both ways");
    phx_release(n[0].p, 150, 1500);
    phx_assume(n[0].p, 9999, 9999);
    through_proxy(result_of(&n[1], 1) == PHX_OK && phx_owner(n[1].p, 300, NULL) != 0,
                  "names come and go");
    through_proxy(stats(&n[0]).heartbeats_in > 1 && stats(&n[1]).heartbeats_in > 1, "heartbeats");
    phx_close(n[1].p, SECOND);
    through_proxy(phx_closed(n[1].p) && look(&n[0], &n[1]).state == PHX_NODE_LEFT, "and a goodbye");
}

static void parse(const struct way *w, const char *who)
{
    char why[SPEC_WHY];
    struct spec_counts c = spec_check_stream(w->bytes, w->size, why);

    ok(c.ok && c.tail == 0, "what the %s said is as WIRE.md has it: %lu bytes %s", who,
       (unsigned long)c.bytes, why);
    ok(c.frames[SPEC_UPDATE] > 0 && c.frames[SPEC_DATA] > 0 && c.frames[SPEC_ACK] > 0
           && c.frames[SPEC_BEAT] > 0 && c.messages >= 7,
       "%s: %lu UPDATE, %lu CARD, %lu DATA, %lu ACK, %lu BEAT", who, c.frames[SPEC_UPDATE],
       c.frames[SPEC_CARD], c.frames[SPEC_DATA], c.frames[SPEC_ACK], c.frames[SPEC_BEAT]);
    ok(w == &ways[0] ? c.frames[SPEC_HELLO] == 1 && c.frames[SPEC_PROOF] == 1
                     : c.frames[SPEC_ANSWER] == 1 && c.frames[SPEC_CARD] > 0 && c.claims >= 1000,
       "%s: the hello, and large cards in parts", who);
}

static void test_captured(void)
{
    int i;

    begin_proxied();
    talk();
    carry(&ways[0]);
    carry(&ways[1]);
    parse(&ways[0], "dialer");
    parse(&ways[1], "acceptor");
    for (i = 0; i < 2; i++) {
        close(ways[i].from);
        free(ways[i].bytes);
    }
    finish_all(n, 2);
}

static const struct test tests[] = {
    {"addresses", test_addresses},
    {"listen", test_listen},
    {"config", test_config},
    {"calls", test_calls},
    {"no_hub", test_no_hub},
    {"self", test_self},
    {"refused", test_refused},
    {"strangers", test_strangers},
    {"log_once", test_log_once},
    {"log_hooks", test_log_hooks},
    {"hellos", test_hellos},
    {"idle_crowd", test_idle_crowd},
    {"patient_crowd", test_patient_crowd},
    {"full_house", test_full_house},
    {"one_link", test_one_link},
    {"dead_dial", test_dead_dial},
    {"adopt_without_memory", test_adopt_without_memory},
    {"no_descriptors", test_no_descriptors},
    {"captured", test_captured},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
