/* stream.c - fuzz: what strangers and members may say to a node that has an honest neighbour. */
/* Two nodes in the simulated world, and a third host that speaks by hand. The input is a program for that
 * host: connect, say HELLO and PROOF like a member, frames with ids put in, bytes, time, calls of the nodes'
 * hosts; and whether the host of node 0 calls anything from every callback.
 *
 * What must hold: no crash, leak or assertion; memory under its limit; our messages at most once and in order
 * (net.c). If no stranger became a member and no host meddled: after all that the two go on as ever. */
#include "net.h"
#include "../../src/base/sha.h"

#include "../unit/spec.h"

#define PEER NODES /* the host that speaks by hand */

struct peer {
    struct world_host *host;
    int handle; /* -1: none */
    int member; /* of now or before */
    uint8_t in[4096], hello[60], answer[232];
    size_t got, answer_size;
    struct phx_id id;
};

static struct net net;
static struct peer peer;
static uint8_t out[70000];
static size_t out_size, frame_at;

/* ---- Bytes, in the words of WIRE.md */

static void put(uint64_t v, int bytes)
{
    for (; bytes > 0 && out_size < sizeof out; bytes--, v >>= 8)
        out[out_size++] = (uint8_t)v;
}

static void put_bytes(const void *data, size_t size)
{
    size = size < sizeof out - out_size ? size : sizeof out - out_size;
    memcpy(out + out_size, data, size);
    out_size += size;
}

static void head(unsigned type, unsigned flags, unsigned hops)
{
    frame_at = out_size;
    put(0, 4);
    put(type, 1);
    put(flags, 1);
    put(hops, 1);
    put(0, 1);
}

static void tail(void)
{
    size_t size = out_size - frame_at - 4;

    for (int i = 0; i < 4 && frame_at + 8 <= out_size; i++)
        out[frame_at + (size_t)i] = (uint8_t)(size >> 8 * i);
}

static void hash_cluster(uint8_t hash[32])
{
    struct phx__sha h;

    phx__sha_init(&h);
    phx__sha_add(&h, "phoenix", 7);
    phx__sha_end(&h, hash);
}

static void put_hello(void)
{
    uint8_t hash[32];

    hash_cluster(hash);
    head(SPEC_HELLO, 0, 0);
    put(0x31584850, 4);
    put(2, 2);
    put(2, 2);
    put_bytes(hash, 8);
    put(0, 4);
    put_bytes(&peer.id, 16);
    put(0, 8);
    put(0x7777, 8);
    put(0x7777, 8);
    tail();
    memcpy(peer.hello, out + frame_at + 8, 60);
}

static void put_proof(void)
{
    struct phx__hmac h;
    uint8_t mac[32];
    size_t start = out_size + 8;

    head(SPEC_PROOF, 0, 0);
    put(1, 4);
    put(1, 4);
    put(0, 4);
    put(0, 1);
    phx__sha_key_init(&h, "", 0);
    phx__sha_add(&h.inner, "PHX1 proof", 11);
    phx__sha_add(&h.inner, "phoenix", 8);
    phx__sha_add(&h.inner, peer.hello, 60);
    phx__sha_add(&h.inner, peer.answer, peer.answer_size);
    phx__sha_add(&h.inner, out + start, out_size - start);
    phx__sha_hmac_end(&h, mac);
    put_bytes(mac, 32);
    tail();
}

/* ---- The host that speaks by hand */

static void flush(void)
{
    struct phx_os *os = &peer.host->os;
    size_t at = 0;

    for (int tries = 0; peer.handle >= 0 && at < out_size && tries < 50; tries++) {
        struct iovec iov = { out + at, out_size - at };
        long some = os->send(peer.host, peer.handle, &iov, 1);

        if (some > 0)
            at += (size_t)some;
        else
            net_run(&net, 5 * MS);
    }
    out_size = 0;
}

static void hear(void)
{
    struct phx_os *os = &peer.host->os;
    long some;

    while (peer.handle >= 0
           && (some = os->recv(peer.host, peer.handle, peer.in + peer.got, sizeof peer.in - peer.got)) > 0) {
        peer.got += (size_t)some;
        if (peer.got == sizeof peer.in)
            peer.got = 0;
    }
}

static void hang_up(void)
{
    if (peer.handle >= 0)
        peer.host->os.close(peer.host, peer.handle);
    peer.handle = -1;
    peer.got = 0;
}

static void dial(unsigned to)
{
    struct phx_address a;

    hang_up();
    world_address(net.w, to % 2, PORT, &a);
    if (peer.host->os.dial(peer.host, &a, &peer.handle) != 0)
        peer.handle = -1;
    peer.id.b[15]++;
    net_run(&net, 20 * MS);
    if (peer.handle >= 0 && peer.host->os.finish(peer.host, peer.handle) != 0)
        hang_up();
}

/* HELLO, and PROOF when the ANSWER is there. */
static void introduce(void)
{
    size_t size;

    out_size = 0;
    put_hello();
    flush();
    net_run(&net, 20 * MS);
    hear();
    size = peer.got < 8 ? 0 : 4 + (size_t)peer.in[0] + (size_t)peer.in[1] * 256;
    if (size < 16 || size > peer.got || peer.in[4] != SPEC_ANSWER || size - 8 > sizeof peer.answer)
        return;
    peer.answer_size = size - 8;
    memcpy(peer.answer, peer.in + 8, peer.answer_size);
    put_proof();
    peer.member = 1;
    flush();
    net_run(&net, 20 * MS);
    peer.got = 0;
}

/* Bytes from the input; 0xfe and a number stands for an id, 0xfd for a few zeros. */
static void put_input(struct fuzz_in *in, size_t most)
{
    size_t size;
    const uint8_t *p = fuzz_bytes(in, most, &size);

    for (size_t i = 0; i < size; i++) {
        if (p[i] == 0xfe && i + 1 < size) {
            unsigned which = p[++i] % 5;
            struct phx_id made_up = { { (uint8_t)which, p[i] } };
            put_bytes(which < 2 ? &net.nodes[which].id : which == 2 ? &peer.id : &made_up, 16);
        } else if (p[i] == 0xfd && i + 1 < size) {
            put(0, p[++i] % 9);
        } else {
            put(p[i], 1);
        }
    }
}

/* ---- The nodes' hosts */

static uint64_t whim; /* 0: it does not meddle */
static unsigned whims;

static void release(const void *data, size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
}

static void call_anything(struct net_node *n, unsigned what, uint64_t a, uint64_t b)
{
    static const char text[] = "four bytes and more";
    struct phx_range range = { a % 8, a % 8 + b % 4 };
    struct phx_cast cast = { .ranges = &range, .ranges_count = 1, .data = text, .size = b % sizeof text };
    struct phx_key keys[2] = { { "0123456789abcdef", 16 }, { "fedcba9876543210", 16 } };
    struct phx_detector d;
    struct phx_address at;
    char line[2000];

    switch (what % 21) {
    case 0: (void)phx_assume(n->p, a % 16, a % 16 + b % 4); break;
    case 1: (void)phx_release(n->p, a % 16, a % 16 + b % 4); break;
    case 2: (void)phx_hand(n->p, a % 8, a % 8 + b % 4, b & 1 ? &net.nodes[1].id : &peer.id); break;
    case 3: (void)phx_send(n->p, a % 8, 0, b, text, b % sizeof text); break;
    case 4: (void)phx_send_owned(n->p, a % 8, 0, b, text, sizeof text, release, NULL); break;
    case 5: cast.token = n->tokens + 1 < TOKENS ? 0 : 0; (void)phx_cast(n->p, &cast); break;
    case 6: (void)phx_cancel(n->p, 1 + a % TOKENS); break;
    case 7: (void)phx_trace(n->p, b & 1 ? &net.nodes[1].id : &peer.id, a + 1); break;
    case 8: (void)phx_explain(n->p, b & 1 ? &net.nodes[1].id : &peer.id, line, a % sizeof line); break;
    case 9: (void)phx_dump(n->p, (int)(a % 3), line, b % sizeof line); break;
    case 10: (void)phx_busy(n->p, a % 5000000); break;
    case 11: (void)phx_detector_preset(&d, (int)(a % 3)); (void)phx_set_detector(n->p, &d); break;
    case 12: (void)phx_set_keys(n->p, keys, (int)(a % 3)); break;
    case 13: (void)phx_unjoin(n->p, "tcp://10.0.0.9:1"); break;
    case 14: (void)phx_join(n->p, "tcp://10.0.0.9:1"); break;
    case 15: (void)phx_listen(n->p, "tcp://0.0.0.0:0"); break;
    case 16: (void)phx_advertise(n->p, "tcp://10.1.2.3:99"); break;
    case 17: (void)phx_wake(n->p); break;
    case 18: (void)phx_pending(n->p); (void)phx_deadline(n->p); break;
    case 19:
        world_address(net.w, PEER, (uint16_t)(8000 + a % 4), &at);
        (void)phx_join(n->p, phx_address_text(&at, line));
        break;
    default:
        if (b % 64 == 63)
            (void)phx_close(n->p, a % 2000000);
        break;
    }
}

static void meddle(struct net_node *n, void *ctx)
{
    (void)ctx;
    if (whim == 0 || whims >= 4000 || n->p == NULL)
        return;
    whims++;
    whim = world_mix(whim + 1) | 1;
    if (whim >> 60 < 6)
        call_anything(n, (unsigned)(whim >> 8), whim >> 16, whim >> 32);
}

static void obey(struct fuzz_in *in)
{
    unsigned op = fuzz_byte(in), a = fuzz_byte(in);

    switch (op % 12) {
    case 0: dial(a); break;
    case 1: dial(a); introduce(); break;
    case 2: introduce(); break;
    case 3: case 4: case 5: /* one frame whose size fits */
        out_size = 0;
        head(a % 20, fuzz_byte(in), fuzz_byte(in));
        put_input(in, fuzz_byte(in) * (op % 12 == 5 ? 40u : 1u));
        tail();
        flush();
        break;
    case 6: out_size = 0; put_input(in, a); flush(); break;
    case 7: net_run(&net, (uint64_t)a * a * 100); hear(); break;
    case 8: net_run(&net, (uint64_t)a * 50 * MS); hear(); break;
    case 9: net_send(&net, a % 2, 1 + (a >> 1) % NAMES, (size_t)a * (a > 200 ? 400 : 4), a & 64); break;
    case 10:
        if (whim != 0)
            call_anything(&net.nodes[a % 2], a >> 1, fuzz_byte(in), fuzz_byte(in));
        break;
    default: if (a < 128) hang_up(); else dial(a); break;
    }
}

static uint64_t awaited; /* how many messages there are to be */

static int is_delivered(void)
{
    return net.delivered >= awaited;
}

/* What was sent until now is there, or stays away. */
static int is_quiet(void)
{
    return phx_pending(net.nodes[0].p) == 0 && phx_pending(net.nodes[1].p) == 0;
}

/* The two nodes send each other one message more and get them. */
static void must_go_on(void)
{
    uint64_t before;

    hang_up();
    net_run_until(&net, 30 * SECOND, is_quiet);
    before = net.delivered;
    awaited = before + 2;
    net_send(&net, 0, 2, 100, 0);
    net_send(&net, 1, 1, 100, 0);
    net_run_until(&net, 5 * SECOND, is_delivered);
    fuzz_must(net.delivered == before + 2, "strangers keep two nodes from sending: %lu of 2",
              (unsigned long)(net.delivered - before));
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    unsigned how = fuzz_byte(&in);

    net_begin(&net, 1 + how / 8);
    net.mem_limit = 6u << 20;
    net.meddle = meddle;
    whims = 0;
    whim = how & 1 ? 1 + how : 0;
    memset(&peer, 0, sizeof peer);
    peer.handle = -1;
    peer.host = &net.w->hosts[PEER];
    memset(peer.id.b, 0x50, sizeof peer.id.b);
    world_begin(net.w, PEER);
    fuzz_must(net_start(&net, 0) == 0 && net_start(&net, 1) == 0, "two nodes");
    (void)phx_assume(net.nodes[0].p, 1, 1);
    (void)phx_assume(net.nodes[1].p, 2, 2);
    net_run(&net, 300 * MS);
    for (int ops = 0; ops < 60 && in.left > 0; ops++)
        obey(&in);
    if (whim == 0 && !peer.member)
        must_go_on();
    hang_up();
    net_end(&net);
}
