/* t_path.c - ways between nodes: hubs of the host's own scheme, ways that break, and outside addresses.
 *
 * Goal: cfg.dial is asked with the usual back-off and may do what callbacks may do; a new way carries
 * nothing before a round trip has passed it both ways, and one that falls silent is given up for the
 * old one, in order; an outside address counts when two peers at two hosts tell of it. Method: the nodes
 * of nodes.h over loopback, a proxy that lets so many frames through, and the raw peer of raw.h. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

/* ---- The proxy: what cfg.dial returns is one end of it, a connection to `to` the other ----------- */

#define ALL 1000000000

struct way { /* one direction */
    int from, to, frames; /* so many more go through; then what comes is dropped */
    unsigned char data[1 << 18];
    size_t size;
};

static struct {
    const struct node *to;
    int frames[2]; /* of the next dial: from the dialer, to the dialer */
    int error;     /* or it fails so */
    int calls, streams;
    void (*also)(phx *p); /* what else the callback does */
    struct way ways[2];
} proxy;

static void proxy_end(void)
{
    if (proxy.ways[0].from > 0) {
        close(proxy.ways[0].from);
        close(proxy.ways[0].to);
    }
    proxy.ways[0].from = proxy.ways[0].to = 0;
}

static int proxy_dial(phx *p, const char *address, void *user)
{
    int pair[2], far, i;

    (void)user;
    proxy.calls++;
    check(strcmp(address, "wall://over there") == 0, "the address as it was given");
    if (proxy.also != NULL)
        proxy.also(p);
    if (proxy.error != 0)
        return proxy.error;
    proxy_end();
    far = raw_socket(proxy.to);
    if (far < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return PHX_EIO;
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    proxy.streams++;
    for (i = 0; i < 2; i++) {
        proxy.ways[i].frames = proxy.frames[i];
        proxy.ways[i].size = 0;
        proxy.ways[i].from = i == 0 ? pair[0] : far;
        proxy.ways[i].to = i == 0 ? far : pair[0];
    }
    return pair[1];
}

/* Whole frames, as long as they may pass. */
static void proxy_carry(struct way *w)
{
    size_t at = 0, whole;
    ssize_t got = recv(w->from, w->data + w->size, sizeof w->data - w->size, 0);

    if (got == 0) {
        proxy_end();
        return;
    }
    w->size += got > 0 ? (size_t)got : 0;
    while (w->size - at >= 8) {
        whole = 4 + (size_t)(w->data[at] | w->data[at + 1] << 8 | w->data[at + 2] << 16);
        if (w->size - at < whole)
            break;
        if (w->frames < 0 && whole > (size_t)-w->frames)
            w->frames = 0;
        if (w->frames != 0 && send(w->to, w->data + at, whole, MSG_NOSIGNAL) != (ssize_t)whole)
            check(0, "the proxy passes a frame on");
        w->frames -= w->frames > 0;
        at += whole;
    }
    memmove(w->data, w->data + at, w->size - at);
    w->size -= at;
}

static int proxy_turn(void)
{
    turn(5);
    if (proxy.ways[0].from > 0)
        proxy_carry(&proxy.ways[0]);
    if (proxy.ways[0].from > 0)
        proxy_carry(&proxy.ways[1]);
    return 1;
}

#define meanwhile(cond, us)                                                                        \
    do {                                                                                           \
        uint64_t until_ = phx_now_us() + (us);                                                     \
        while (!(cond) && phx_now_us() < until_)                                                   \
            proxy_turn();                                                                          \
    } while (0)

static void proxy_reset(const struct node *to, int there, int back)
{
    proxy_end();
    memset(&proxy, 0, sizeof proxy);
    proxy.to = to;
    proxy.frames[0] = there;
    proxy.frames[1] = back;
}

static void begin_with(struct node *one, int (*dial)(phx *, const char *, void *), const char *address)
{
    struct phx_config c;

    settings(one, &c);
    hurry(&c);
    c.dial = dial;
    begin_as(one, &c, address);
}

/* ---- cfg.dial ------------------------------------------------------------------------------------ */

static void test_schemes(void)
{
    char name[200];

    begin_with(&n[0], NULL, NULL);
    ok(phx_join(n[0].p, "wall://x") == PHX_ESCHEME, "without cfg.dial the scheme is unknown");
    begin_with(&n[1], proxy_dial, NULL);
    ok(phx_listen(n[1].p, "wall://x") == PHX_ESCHEME && phx_advertise(n[1].p, "wall://x") == PHX_ESCHEME,
       "with it one may join such an address, but not listen there, nor tell others of it");
    memset(name, 'x', sizeof name);
    memcpy(name, "wall://", 7);
    name[104] = '\0';
    ok(phx_join(n[1].p, name) == PHX_EADDRESS, "104 bytes are too long");
    name[103] = '\0';
    ok(phx_join(n[1].p, "wall:/x") == PHX_EADDRESS && phx_join(n[1].p, "://x") == PHX_EADDRESS
           && phx_join(n[1].p, "wall://\n") == PHX_EADDRESS
           && phx_join(n[1].p, "wall://\xc3\xa4") == PHX_EADDRESS
           && phx_join(n[1].p, "tcp://x") == PHX_EADDRESS,
       "and neither is anything else an address");
    finish_all(n, 2);
}

static void test_dial(void)
{
    struct phx_link l;

    begin_with(&n[0], NULL, LOOPBACK);
    begin_with(&n[1], proxy_dial, NULL);
    proxy_reset(&n[0], ALL, ALL);
    proxy.error = PHX_EUNREACH;
    phx_assume(n[1].p, 2, 2);
    ok(phx_join(n[1].p, "wall://over there") == 0 && proxy.calls == 0, "joined, and nothing called yet");
    meanwhile(proxy.calls >= 5, PATIENCE);
    ok(proxy.calls >= 5 && logged(&n[1], "wall://over there", "unreachable") == 1,
       "it is asked again, and a failure is logged once a minute, with address and reason");
    ok(stats(&n[1]).dials_failed == (uint64_t)proxy.calls, "and counted");
    proxy.error = 0;
    meanwhile(linked(&n[0], &n[1]), PATIENCE);
    ok(linked(&n[0], &n[1]), "then a stream: a link");
    ok(phx_links(n[1].p, &l, 1) == 1 && l.address.family == PHX_OTHER && l.dialer
           && strcmp(l.address.path, "wall://over there") == 0,
       "phx_links shows the address");
    post(&n[0], 2, 1, 1000);
    meanwhile(has_mail(&n[1], 1) && n[1].mail_count == 1, PATIENCE);
    ok(n[1].mail_count == 1, "which carries messages");
    proxy_end();
    proxy.to = &n[0];
    meanwhile(linked(&n[0], &n[1]) && stats(&n[1]).links_lost == 1, PATIENCE);
    ok(linked(&n[0], &n[1]), "dead, there is a link again, this way or the one that its card told of");
    proxy_end();
    finish_all(n, 2);
}

static void also_join(phx *p)
{
    char name[32];
    int i;

    for (i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "tcp://127.0.0.1:%d", 2 + i);
        (void)phx_join(p, name);
    }
}

static void also_close(phx *p)
{
    phx_close(p, 0);
}

/* Goal: any call but phx_step may be made in there. Method: the ones that change what called it. */
static void test_dial_calls(void)
{
    begin_with(&n[0], NULL, LOOPBACK);
    begin_with(&n[1], proxy_dial, NULL);
    proxy_reset(&n[0], ALL, ALL);
    proxy.also = also_join;
    phx_join(n[1].p, "wall://over there");
    meanwhile(linked(&n[0], &n[1]), PATIENCE);
    ok(linked(&n[0], &n[1]), "70 hubs joined in the callback");
    finish(&n[1]);
    begin_with(&n[1], proxy_dial, NULL);
    proxy_reset(&n[0], ALL, ALL);
    proxy.also = also_close;
    phx_join(n[1].p, "wall://over there");
    meanwhile(phx_closed(n[1].p), PATIENCE);
    ok(phx_closed(n[1].p) && phx_links(n[1].p, NULL, 0) == 0, "closed in the callback: no link");
    finish(&n[1]);
    begin_with(&n[1], proxy_dial, NULL);
    proxy_reset(&n[0], ALL, ALL);
    proxy.also = phx_free;
    phx_join(n[1].p, "wall://over there");
    host_count = 1;
    phx_step(n[1].p, phx_now_us(), NULL, 0);
    ok(proxy.calls == 1 && test_heap_is_clean(&n[1].heap), "freed in the callback");
    n[1].p = NULL;
    proxy_end();
    finish_all(n, 2);
}

/* ---- New ways ------------------------------------------------------------------------------------ */

/* n[0] and n[1] reach each other through n[2], and could by the proxy. n[1] keeps its address to itself. */
static void begin_relayed(void)
{
    char name[32];
    int i;

    begin_with(&n[2], NULL, LOOPBACK);
    begin_with(&n[0], proxy_dial, NULL);
    begin_with(&n[1], NULL, NULL);
    for (i = 1; i <= 8; i++) {
        snprintf(name, sizeof name, "tcp://127.0.0.1:%d", i);
        phx_advertise(n[1].p, name);
    }
    phx_listen(n[1].p, LOOPBACK);
    phx_join(n[0].p, n[2].at);
    phx_join(n[1].p, n[2].at);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    await(hops(&n[0], &n[1]) == 2 && owns(&n[0], 2, &n[1]) && owns(&n[1], 1, &n[0]), PATIENCE);
    check(hops(&n[0], &n[1]) == 2, "relayed at first");
}

/* Whether all that came at `to` is the numbers from 0 on. */
static int in_order(const struct node *to)
{
    int i;

    for (i = 0; i < to->mail_count; i++)
        if (to->mail[i].tag != (uint64_t)i || !to->mail[i].good)
            return 0;
    return 1;
}

/* Goal: promises 14, 15, 32. Method: messages both ways all the time, while a direct way of this quality is
 * offered: how many frames go through it, there and back; -N: all until one of
 * more bytes than N. Handshake: HELLO there, ANSWER back, PROOF. */
static void try_way(int there, int back, int comes_up, const char *what)
{
    uint64_t number, until = 0;
    int was_up = 0, used_early = 0;

    begin_relayed();
    proxy_reset(&n[1], there, back);
    phx_join(n[0].p, "wall://over there");
    for (number = 0; number < 200; number++) {
        post(&n[0], 2, number, 500);
        post(&n[1], 1, number, 500);
        proxy_turn();
        proxy.error = proxy.streams > 0 ? PHX_EUNREACH : 0; /* one offer */
        was_up |= links_with(&n[0], &n[1]) > 0;
        used_early |= links_with(&n[1], &n[0]) > 0 && there >= 0 && there < 2;
    }
    until = phx_now_us();
    meanwhile(n[0].mail_count == 200 && n[1].mail_count == 200, PATIENCE);
    until = phx_now_us() - until;
    ok(n[0].mail_count == 200 && n[1].mail_count == 200 && in_order(&n[0]) && in_order(&n[1]),
       "%s: all 400 messages arrive, in order", what);
    ok(was_up == comes_up && !used_early, "%s: the link %s", what,
       comes_up ? "was up for a while" : "never came up");
    ok(until < 3 * SECOND, "%s: nothing waits longer than a detection: %u ms", what,
       (unsigned)(until / MS));
    meanwhile(hops(&n[0], &n[1]) == 2 && hops(&n[1], &n[0]) == 2, PATIENCE);
    ok(hops(&n[0], &n[1]) == 2 && hops(&n[1], &n[0]) == 2, "%s: the relay is the way again", what);
    proxy_end();
    finish_all(n, 3);
}

static void test_one_way(void)
{
    try_way(ALL, 0, 0, "nothing comes back");
    try_way(0, ALL, 0, "nothing gets there");
    try_way(1, ALL, 1, "the proof is lost");
    try_way(-1280, -1280, 0, "full packets are swallowed");
    try_way(ALL, -1280, 0, "those that come back are");
}

static void test_silent(void)
{
    try_way(2, 1, 1, "silent after the handshake");
    try_way(11, 11, 1, "silent a moment later");
}

/* Goal: promise 15, and WIRE.md section 3. A HELLO that is padded gets an ANSWER that is; one whose padding
 * is of another size, not of zeros or not said ends the connection. Method: the raw peer dials. */
static void test_padding(void)
{
    static const struct {
        size_t size;
        int last, flags, answer; /* its last byte; the frame that comes */
    } cases[] = { { 0, 0, 0, SPEC_ANSWER },    { 1532, 0, 1, SPEC_ANSWER }, { 1532, 0, 0, SPEC_REFUSE },
                  { 0, 0, 1, SPEC_REFUSE },    { 1531, 0, 1, SPEC_REFUSE }, { 1533, 0, 1, SPEC_REFUSE },
                  { 1532, 1, 1, SPEC_REFUSE }, { 2100, 0, 1, SPEC_REFUSE } };

    begin(&n[0], LOOPBACK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        raw_begin(&n[0]);
        raw_hello("phoenix", 2, 2);
        put_fill(0, cases[i].size);
        tail();
        b.at[b.size - 1] = (unsigned char)(cases[i].size > 0 ? cases[i].last : b.at[b.size - 1]);
        b.at[b.frame + 5] = (unsigned char)cases[i].flags;
        raw_send();
        eventually(raw_front(cases[i].answer) > 0, "%d bytes of padding, flag %d: %s", (int)cases[i].size,
                   cases[i].flags, cases[i].answer == SPEC_REFUSE ? "refused" : "fine");
        ok((raw_front(SPEC_ANSWER) > 1500) == (cases[i].answer == SPEC_ANSWER && cases[i].size > 0),
           "and the ANSWER is padded if the HELLO is");
        raw_finish();
    }
    ok(stats(&n[0]).links == 0, "none of them is a link");
    finish(&n[0]);
}

static void test_better(void)
{
    uint64_t number;

    begin_relayed();
    proxy_reset(&n[1], ALL, ALL);
    phx_join(n[0].p, "wall://over there");
    for (number = 0; number < 200; number++) {
        post(&n[0], 2, number, 500);
        post(&n[1], 1, number, 500);
        proxy_turn();
    }
    meanwhile(n[0].mail_count == 200 && n[1].mail_count == 200, PATIENCE);
    ok(in_order(&n[0]) && in_order(&n[1]) && n[0].mail_count == 200 && n[1].mail_count == 200,
       "a good way is taken, in order");
    ok(hops(&n[0], &n[1]) == 1 && linked(&n[0], &n[1]), "and kept");
    proxy_end();
    finish_all(n, 3);
}

/* ---- Outside addresses --------------------------------------------------------------------------- */

/* 203.0.113.last:port in the words of WIRE.md */
static void put_outside(int last, int port)
{
    put(PHX_IPV4, 1);
    put(203, 1);
    put(0, 1);
    put(113, 1);
    put((uint64_t)last, 1);
    put((uint64_t)port, 2);
}

static void put_mac(const char *label, size_t label_size, size_t hello_size, size_t answer_size,
                    size_t start)
{
    struct phx__hmac h;
    unsigned char mac[32];

    phx__sha_key_init(&h, "", 0);
    phx__sha_add(&h.inner, label, label_size);
    phx__sha_add(&h.inner, "phoenix", 8);
    phx__sha_add(&h.inner, r.hello, hello_size);
    phx__sha_add(&h.inner, r.answer, answer_size);
    phx__sha_add(&h.inner, b.at + start, b.size - start);
    phx__sha_hmac_end(&h, mac);
    put_bytes(mac, 32);
    if (hello_size > 0 && answer_size == 0)
        put_fill(0x55, 32); /* an ANSWER has another one, of the second key */
    tail();
}

static struct sockaddr_in local_host(int last, int port)
{
    struct sockaddr_in at;
    unsigned char ip[4] = {127, 0, 0, 1};

    ip[3] = (unsigned char)last;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons((uint16_t)port);
    memcpy(&at.sin_addr, ip, 4);
    return at;
}

/* A peer at 127.0.0.host links with n[0] and says that it dialled 203.0.113.last:port. */
static void peer_that_dialled(int host, int last, int port)
{
    struct sockaddr_in from = local_host(host, 0), to;
    struct phx_address a;
    char text[PHX_ID_TEXT];
    size_t size;

    raw_begin(&n[0]);
    close(r.fd); /* it was not from where it should be */
    phx_listening(n[0].p, 0, &a);
    to = local_host(1, a.port);
    r.fd = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(r.fd, (struct sockaddr *)&from, sizeof from) == 0
              && connect(r.fd, (struct sockaddr *)&to, sizeof to) == 0,
          "from 127.0.0.%d", host);
    fcntl(r.fd, F_SETFL, O_NONBLOCK);
    raw_hello("phoenix", 2, 2);
    raw_send();
    await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
    size = raw_front(SPEC_ANSWER);
    memcpy(r.answer, r.in + 8, size - 8);
    head(SPEC_PROOF, 0, 0);
    put(1, 4);
    put(1, 4);
    put(0, 4);
    put_outside(last, port);
    put_mac("PHX1 proof", 11, 60, size - 8, 8);
    raw_send();
    phx_id_text(&r.id, text);
    await(logged(&n[0], text, ": up") == 1, PATIENCE);
    check(logged(&n[0], text, ": up") == 1, "it is linked");
    raw_finish();
    await(stats(&n[0]).links == 0, PATIENCE);
}

/* A peer at 127.0.0.host, dialled by n[0], sees it at 203.0.113.last and the port it has, plus `other`. */
static void peer_that_was_dialled(int host, int last, int other)
{
    static unsigned char next = 100;
    struct sockaddr_in at = local_host(host, 0), from;
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), up = logged(&n[0], "tcp://127", ": up");
    char text[64];

    memset(&r, 0, sizeof r);
    memset(r.id.b, ++next, sizeof r.id.b);
    b.size = 0;
    check(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0
              && getsockname(listener, (struct sockaddr *)&at, &size) == 0,
          "a listener at 127.0.0.%d", host);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    snprintf(text, sizeof text, "tcp://127.0.0.%d:%d", host, ntohs(at.sin_port));
    phx_join(n[0].p, text);
    size = sizeof from;
    await((r.fd = accept(listener, (struct sockaddr *)&from, &size)) >= 0, PATIENCE);
    fcntl(r.fd, F_SETFL, O_NONBLOCK);
    await(raw_front(SPEC_HELLO) > 0, PATIENCE);
    memcpy(r.hello, r.in + 8, 60);
    head(SPEC_ANSWER, 0, 0);
    put(2, 2);
    put(0, 4);
    put_bytes(&r.id, 16);
    put(0, 8);
    put_fill(0x66, 16);
    put(1, 4);
    put(1, 4);
    put(0, 4);
    put_outside(last, ntohs(from.sin_port) + other);
    put_mac("PHX1 answer", 12, 60, 0, 8);
    raw_send();
    await(logged(&n[0], "tcp://127", ": up") == up + 1, PATIENCE);
    check(logged(&n[0], "tcp://127", ": up") == up + 1, "it is linked, too");
    raw_finish();
    close(listener);
    await(stats(&n[0]).links == 0, PATIENCE);
}

/* Linux has all of 127.0.0.0/8; others have one host only, unless told. */
static int has_hosts(const char *what)
{
    struct sockaddr_in at = local_host(2, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0), err = bind(fd, (struct sockaddr *)&at, sizeof at);

    close(fd);
    if (err != 0)
        ok(1, "%s # SKIP no 127.0.0.2 here", what);
    return err == 0;
}

static void test_dialled_outside(void)
{
    if (!has_hosts("what dialling peers tell"))
        return;
    begin(&n[0], LOOPBACK);
    peer_that_dialled(2, 7, 7000);
    ok(logged(&n[0], "others see", "203.0.113.7") == 0, "what one peer says is hearsay");
    peer_that_dialled(2, 7, 7000);
    ok(logged(&n[0], "others see", "203.0.113.7") == 0, "another one at the same host does not count");
    peer_that_dialled(3, 7, 7001);
    ok(logged(&n[0], "others see", "203.0.113.7") == 0, "nor one that means another port");
    peer_that_dialled(4, 7, 7000);
    ok(logged(&n[0], "others see", "tcp://203.0.113.7:7000") == 1, "two at two hosts agree");
    peer_that_dialled(5, 7, 7000);
    ok(logged(&n[0], "others see", "203.0.113.7") == 1, "and once is enough");
    finish(&n[0]);
}

static void test_seen_outside(void)
{
    struct phx_address a;
    char text[64];

    if (!has_hosts("what dialled peers tell"))
        return;
    begin(&n[0], LOOPBACK);
    phx_listening(n[0].p, 0, &a);
    snprintf(text, sizeof text, "tcp://203.0.113.9:%d", a.port);
    peer_that_was_dialled(2, 9, 1);
    peer_that_was_dialled(3, 9, 1);
    ok(logged(&n[0], "others see", "203.0.113") == 0, "a translator that changes ports tells nothing");
    peer_that_was_dialled(4, 9, 0);
    ok(logged(&n[0], "others see", "203.0.113") == 0, "one that keeps them does, but one peer is hearsay");
    peer_that_was_dialled(5, 9, 0);
    ok(logged(&n[0], "others see", text) == 1, "two agree: that host, with our own port");
    finish(&n[0]);
}

static const struct test tests[] = {
    {"schemes", test_schemes},
    {"dial", test_dial},
    {"dial_calls", test_dial_calls},
    {"one_way", test_one_way},
    {"silent", test_silent},
    {"padding", test_padding},
    {"better", test_better},
    {"dialled_outside", test_dialled_outside},
    {"seen_outside", test_seen_outside},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
