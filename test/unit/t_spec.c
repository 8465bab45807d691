/* t_spec.c - the encoders of wire/ against the second parser, which knows only WIRE.md. */
/* Promise 134. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/sha.h"
#include "wire/data.h"
#include "wire/link.h"
#include "wire/route.h"
#endif
#include "spec.h"

/* With arguments this program is a tool: each names a file with all bytes that one side of a link
 * has sent, captured from live nodes, and is checked with the same parser. */

static uint8_t stream_bytes[1 << 20];
static struct phx__writer stream;

static const char key[] = "0123456789abcdef";
static const char cluster[] = "phoenix";

static void fill(uint8_t *out, size_t n, unsigned first)
{
    size_t i;

    for (i = 0; i < n; i++)
        out[i] = (uint8_t)(first + i);
}

/* The two nodes of section 10. */
static struct phx_id dialer(void)
{
    struct phx_id id;

    fill(id.b, 16, 0);
    return id;
}

static struct phx_id acceptor(void)
{
    struct phx_id id;

    fill(id.b, 16, 0xf0);
    return id;
}

static struct phx_address local(uint16_t port)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = PHX_IPV4;
    a.ip[0] = 127;
    a.ip[3] = 1;
    a.port = port;
    return a;
}

/* ---- Streams, frame by frame */

static void begin(void)
{
    phx__buf_writer_init(&stream, stream_bytes, sizeof stream_bytes);
}

static void hello(void)
{
    struct phx__hello h;
    struct phx__sha sha;
    uint8_t digest[32];

    memset(&h, 0, sizeof h);
    h.magic = PHX__WIRE_MAGIC;
    h.version_min = h.version_max = PHX__WIRE_VERSION;
    phx__sha_init(&sha);
    phx__sha_add(&sha, cluster, strlen(cluster));
    phx__sha_end(&sha, digest);
    memcpy(h.cluster, digest, 8);
    h.id = dialer();
    h.incarnation = 1;
    fill(h.nonce, sizeof h.nonce, 0x20);
    phx__wire_link_put(&stream, PHX__HELLO, 0, 0, &h);
}

static void answer(const uint8_t mac[32])
{
    struct phx__answer a;

    memset(&a, 0, sizeof a);
    a.version = PHX__WIRE_VERSION;
    a.id = acceptor();
    a.incarnation = 2;
    fill(a.nonce, sizeof a.nonce, 0x40);
    a.own.seq = 6;
    a.own.card_version = 1;
    a.observed = local(40000);
    memcpy(a.mac, mac, 32);
    fill(a.mac_other, 32, 0x60);
    phx__wire_link_put(&stream, PHX__ANSWER, 0, 0, &a);
}

static void proof(const uint8_t mac[32])
{
    struct phx__proof p;

    memset(&p, 0, sizeof p);
    p.own.seq = 5;
    p.own.card_version = 3;
    p.own.have = 1;
    p.observed = local(7000);
    memcpy(p.mac, mac, 32);
    phx__wire_link_put(&stream, PHX__PROOF, 0, 0, &p);
}

/* An entry of the dialer's about itself, with a card of so many claims if `with` is
 * PHX__ENTRY_CARD. */
static struct phx__entry own_entry(uint32_t seq, unsigned with, const uint8_t *card,
                                   size_t card_size)
{
    struct phx__entry e;

    memset(&e, 0, sizeof e);
    e.id = dialer();
    e.incarnation = 1;
    e.seq = seq;
    e.flags = (uint8_t)with;
    e.card_version = 3;
    e.card = card;
    e.card_size = (uint32_t)card_size;
    return e;
}

static void update(const struct phx__entry *e, size_t count)
{
    size_t start = phx__wire_route_begin_update(&stream), i;

    for (i = 0; i < count; i++)
        phx__wire_route_put_entry(&stream, &e[i]);
    phx__wire_end(&stream, start);
}

/* A card like section 10's, with claims 42, 44, 46, ... */
static size_t card_of(uint8_t *out, size_t capacity, uint32_t claim_count)
{
    static struct phx__claim claims[10000];
    struct phx__card card;
    struct phx__writer w;
    uint32_t i;

    memset(&card, 0, sizeof card);
    card.flags = PHX__CARD_RELAYS;
    card.window = 4194304;
    memcpy(card.label, "hub", 4);
    card.address_count = 1;
    card.address[0] = local(7000);
    card.claim_count = claim_count;
    for (i = 0; i < claim_count; i++) {
        claims[i].first = claims[i].last = 42 + 2 * (uint64_t)i;
        claims[i].epoch = 7;
    }
    phx__buf_writer_init(&w, out, capacity);
    phx__wire_route_put_card(&w, &card, claims);
    return w.bad ? 0 : w.size;
}

static void first_update(void)
{
    uint8_t card[64];
    struct phx__entry e = own_entry(5, PHX__ENTRY_CARD, card, card_of(card, sizeof card, 1));

    update(&e, 1);
}

static void card_part(const uint8_t *card, size_t total, size_t offset, size_t size)
{
    struct phx__card_part part;

    memset(&part, 0, sizeof part);
    part.id = dialer();
    part.incarnation = 1;
    part.version = 3;
    part.total = (uint32_t)total;
    part.offset = (uint32_t)offset;
    part.data = card + offset;
    part.size = (uint32_t)size;
    phx__wire_route_put_card_part(&stream, &part);
}

static void beat(void)
{
    struct phx_id d = dialer(), a = acceptor();
    struct phx__beat b;

    memset(&b, 0, sizeof b);
    b.next_ms = 5000;
    b.digest = spec_term(d.b, 1, 5) ^ spec_term(a.b, 2, 6);
    b.around = phx__id_hash(&d) ^ phx__id_hash(&a);
    b.around_count = 2;
    b.echo_ms = 0x01020304;
    phx__wire_link_put(&stream, PHX__BEAT, PHX__BEAT_REPLY, 0, &b);
}

static void data(int flags, uint64_t total, const void *payload, size_t size)
{
    struct phx__data d;

    memset(&d, 0, sizeof d);
    d.target = acceptor();
    d.source = dialer();
    d.epoch = 9;
    d.to = 7;
    d.from = 42;
    d.total = total;
    d.seen = 2;
    d.size = size;
    phx__wire_data_put(&stream, &d, flags, 15);
    phx__buf_put_bytes(&stream, payload, size);
}

/* `hello`, `you`, and nothing, with these tags if they are told. */
static void run(int tags)
{
    const int flags = (int)(PHX__DATA_FIRST | PHX__DATA_LAST | PHX__DATA_RUN) | tags;
    size_t head = phx__wire_data_more_head(flags);
    uint8_t more[18];
    struct phx__data d;

    memset(&d, 0, sizeof d);
    d.target = acceptor();
    d.source = dialer();
    d.number = 1;
    d.epoch = 9;
    d.to = 7;
    d.from = 42;
    d.total = 5;
    d.size = 5 + head + 3 + head;
    phx__wire_data_put(&stream, &d, flags, 15);
    phx__buf_put_bytes(&stream, "hello", 5);
    phx__buf_put_bytes(&stream, more, (size_t)(phx__wire_data_put_more(more, flags, 11, 8, 3) - more));
    phx__buf_put_bytes(&stream, "you", 3);
    phx__buf_put_bytes(&stream, more, (size_t)(phx__wire_data_put_more(more, flags, 7, 9, 0) - more));
}

static void ack(void)
{
    struct phx__ack a;

    memset(&a, 0, sizeof a);
    a.target = dialer();
    a.source = acceptor();
    a.epoch = 9;
    a.next = 1;
    a.window = 4194304;
    phx__wire_data_put_ack(&stream, &a, 0, 15);
}

/* Two messages come back, the fourth and the fifth that do; and three of the other way came. */
static void ack_with_returns(void)
{
    uint8_t list[2 * PHX__RETURN_SIZE];
    struct phx__writer w;
    struct phx__return t;
    struct phx__ack a;

    phx__buf_writer_init(&w, list, sizeof list);
    memset(&t, 0, sizeof t);
    t.number = 1;
    t.place = 2;
    t.reason = PHX__RETURN_MOVED;
    phx__wire_data_put_return(&w, &t);
    t.number = 3;
    t.place = 0;
    t.reason = PHX__RETURN_LARGE;
    phx__wire_data_put_return(&w, &t);
    memset(&a, 0, sizeof a);
    a.target = dialer();
    a.source = acceptor();
    a.epoch = 9;
    a.next = 4;
    a.window = 4194304;
    a.returns = list;
    a.return_base = 3;
    a.return_count = 2;
    a.seen = 3;
    a.seen_epoch = 11;
    phx__wire_data_put_ack(&stream, &a, 0, 15);
}

/* One small message to two nodes. */
static void cast(void)
{
    const int flags = (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    size_t start = phx__wire_data_begin_cast(&stream, flags, 15, 2);
    struct phx__data d;

    memset(&d, 0, sizeof d);
    d.source = dialer();
    d.target = acceptor();
    d.number = 4;
    d.epoch = 9;
    d.to = 7;
    d.from = 42;
    d.total = d.size = 2;
    phx__wire_data_put_cast_line(&stream, flags, &d);
    d.target.b[15] = 0xee;
    d.number = 0;
    d.epoch = 10;
    d.to = 8;
    d.seen = 3;
    phx__wire_data_put_cast_line(&stream, flags, &d);
    phx__wire_data_end_cast(&stream, start, flags, &d);
    phx__buf_put_bytes(&stream, "hi", 2);
}

static void request(void)
{
    struct phx__request q;

    memset(&q, 0, sizeof q);
    q.id = acceptor();
    q.incarnation = 2;
    q.seq = 7;
    phx__wire_link_put(&stream, PHX__REQUEST, 0, 15, &q);
}

static void suspect(void)
{
    struct phx__suspect s;

    memset(&s, 0, sizeof s);
    s.id = acceptor();
    s.incarnation = 2;
    s.seq = 6;
    s.accuser = dialer();
    phx__wire_link_put(&stream, PHX__SUSPECT, 0, 16, &s);
}

static void probe(int flags)
{
    struct phx__probe p;

    memset(&p, 0, sizeof p);
    p.target = flags ? dialer() : acceptor();
    p.subject = acceptor();
    p.asker = dialer();
    phx__wire_link_put(&stream, PHX__PROBE, flags, 16, &p);
}

static void hand(void)
{
    struct phx__hand h;

    memset(&h, 0, sizeof h);
    h.target = acceptor();
    h.giver = dialer();
    h.incarnation = 1;
    h.first = 10;
    h.last = 19;
    h.epoch = 3;
    phx__wire_link_put(&stream, PHX__HAND, 0, 16, &h);
}

static void trace(int flags, int hops)
{
    struct phx__trace t;

    memset(&t, 0, sizeof t);
    t.target = flags ? dialer() : acceptor();
    t.source = flags ? acceptor() : dialer();
    if (flags)
        t.source.b[15] = 0xee;
    t.key = UINT64_C(0x0102030405060708);
    t.number = 2;
    t.distance = 1;
    phx__wire_link_put(&stream, PHX__TRACE, flags, hops, &t);
}

static void summary(int flags, uint32_t own_seq, int others)
{
    size_t start = phx__wire_begin(&stream, PHX__SUMMARY, flags, 0);
    struct phx__entry line;
    int i;

    memset(&line, 0, sizeof line);
    line.id = dialer();
    line.incarnation = 1;
    line.seq = own_seq;
    phx__wire_route_put_summary_line(&stream, &line);
    for (i = 0; i < others; i++) {
        line.id.b[15] = (uint8_t)(100 + i);
        line.hops = (uint8_t)(1 + i);
        phx__wire_route_put_summary_line(&stream, &line);
    }
    phx__wire_end(&stream, start);
}

static const uint8_t no_mac[32];

static void handshake(void)
{
    begin();
    hello();
    proof(no_mac);
    first_update();
}

/* ---- The examples of section 10 */

/* Without spaces and line ends; what wire.h's encoders give for the values named there. */
static const struct {
    const char *name, *hex;
} examples[] = {
    {"HELLO",
     "4000000001000000504858310200020003a8f0dd8edb33780000000000010203"
     "0405060708090a0b0c0d0e0f0100000000000000202122232425262728292a2b"
     "2c2d2e2f"},
    {"ANSWER",
     "8500000002000000020000000000f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff0200"
     "000000000000404142434445464748494a4b4c4d4e4f06000000010000000000"
     "0000047f000001409ca03e37471056d95c6ce5dfd26740dd02ce83910fce2426"
     "baa38833a6a64be5de606162636465666768696a6b6c6d6e6f70717273747576"
     "7778797a7b7c7d7e7f"},
    {"PROOF",
     "3700000003000000050000000300000001000000047f000001581bd7b25f8de2"
     "6923d4d4355e8412c7ed0ff60fd6bf4163d09b5844c961caccb963"},
    {"REFUSE", "06000000040000001900"},
    {"UPDATE",
     "59000000050000000000000102030405060708090a0b0c0d0e0f010000000000"
     "0000050000000001030000002d00000001000040000368756201047f00000158"
     "1b010000002a000000000000002a000000000000000700000000000000"},
    {"BEAT", "200000000801000088130000950f309590ddd47283dec05d5fec2d7d0200000004030201"},
    {"DATA", "590000000a030f00f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff0001020304050607"
             "08090a0b0c0d0e0f000000000000000009000000000000000700000000000000"
             "2a000000000000000000000000000000050000000000000068656c6c6f"},
    {"RUN",
     "700000000a1b0f00f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff0001020304050607"
     "08090a0b0c0d0e0f010000000000000009000000000000000700000000000000"
     "2a000000000000000000000000000000050000000000000068656c6c6f030008"
     "00000000000000796f7500000900000000000000"},
    {"ACK", "380000000b000f00000102030405060708090a0b0c0d0e0ff0f1f2f3f4f5f6f7"
            "f8f9fafbfcfdfeff0900000000000000010000000000000000004000"},{"ACK with returns",
     "600000000b060f00000102030405060708090a0b0c0d0e0ff0f1f2f3f4f5f6f7"
     "f8f9fafbfcfdfeff090000000000000004000000000000000000400003000000"
     "0200010000000000000002000103000000000000000000020b00000000000000"
     "03000000"},
    {"CAST",
     "880000000e030f000200f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff040000000000"
     "00000900000000000000070000000000000000000000f0f1f2f3f4f5f6f7f8f9"
     "fafbfcfdfeee00000000000000000a0000000000000008000000000000000300"
     "0000000102030405060708090a0b0c0d0e0f2a00000000000000000000000000"
     "000002000000000000006869"},
    {"TRACE, a question",
     "2d00000010000200f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff0001020304050607"
     "08090a0b0c0d0e0f080706050403020102"},
    {"TRACE, its answer",
     "3000000010011000000102030405060708090a0b0c0d0e0ff0f1f2f3f4f5f6f7"
     "f8f9fafbfcfdfeee080706050403020102010000"},
};

static void hex_of(const uint8_t *p, size_t n, char *out)
{
    size_t i;

    for (i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", p[i]);
}

/* The page without white space, or NULL if it can't be found from here. */
static char *read_page(void)
{
    static const char *const places[] = {"src/WIRE.md", "../../src/WIRE.md", "../src/WIRE.md"};
    FILE *f = NULL;
    char *text;
    size_t i, n = 0;
    int c;

    for (i = 0; i < sizeof places / sizeof places[0] && f == NULL; i++)
        f = fopen(places[i], "rb");
    text = malloc(1 << 17);
    if (f == NULL || text == NULL) {
        free(text);
        return NULL;
    }
    while ((c = fgetc(f)) != EOF && n < (1 << 17) - 1) {
        if (c > ' ')
            text[n++] = (char)c;
    }
    text[n] = '\0';
    fclose(f);
    return text;
}

/* Section 3: HMAC over label, cluster, 0, body of HELLO, and two more pieces. */
static void mac_of(const char *label, const uint8_t *a, size_t a_size, const uint8_t *b,
                   size_t b_size, uint8_t out[32])
{
    const uint8_t key_size[4] = {(uint8_t)strlen(key), 0, 0, 0};
    struct phx__hmac h;

    phx__sha_hmac_init(&h, key, strlen(key));
    phx__sha_add(&h.inner, key_size, sizeof key_size);
    phx__sha_add(&h.inner, label, strlen(label) + 1);
    phx__sha_add(&h.inner, cluster, strlen(cluster));
    phx__sha_add(&h.inner, "", 1);
    phx__sha_add(&h.inner, stream_bytes + 8, 60); /* HELLO is the first frame */
    phx__sha_add(&h.inner, a, a_size);
    phx__sha_add(&h.inner, b, b_size);
    phx__sha_hmac_end(&h, out);
}

/* HELLO, ANSWER and PROOF as on the page, one behind the other. The macs are put in last. */
static void example_handshake(void)
{
    uint8_t mac[32];

    begin();
    hello();
    answer(no_mac);
    mac_of("PHX1 answer", stream_bytes + 68 + 8, 65, NULL, 0, mac);
    stream.size = 68;
    answer(mac);
    proof(no_mac);
    mac_of("PHX1 proof", stream_bytes + 68 + 8, 129, stream_bytes + 205 + 8, 19, mac);
    stream.size = 205;
    proof(mac);
}

static void test_examples(void)
{
    /* Goal: the page's examples are what we send. Method: encode them with the values that the
     * page names, compare with the bytes kept here, and look for those on the page if it is at
     * hand. */
    char hex[512], *page = read_page(), why[SPEC_WHY];
    size_t i, at = 0, n;

    example_handshake();
    phx__wire_link_put(&stream, PHX__REFUSE, 0, 0, &(int){ PHX_EKEY });
    first_update();
    beat();
    data(PHX__DATA_FIRST | PHX__DATA_LAST, 5, "hello", 5);
    run(PHX__DATA_TAGS);
    ack();
    ack_with_returns();
    cast();
    trace(0, 2);
    trace(PHX__TRACE_ANSWER, 16);
    for (i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        n = strlen(examples[i].hex) / 2;
        hex_of(stream_bytes + at, n, hex);
        ok(strcmp(hex, examples[i].hex) == 0, "%s of section 10 is what we encode",
           examples[i].name);
        ok(spec_check_frame(stream_bytes + at, n, why), "and is good by the page %s", why);
        if (page != NULL)
            ok(strstr(page, examples[i].hex) != NULL, "and stands there");
        at += n;
    }
    ok(at == stream.size && !stream.bad, "no byte more");
    free(page);
}

static void test_hashes(void)
{
    /* Goal: digests agree between implementations. Method: the page's formulas against the
     * library's. */
    struct phx_id d = dialer(), a = acceptor();
    uint64_t x = 1, bad = 0;
    int i;

    ok(spec_mix(1) == UINT64_C(0xb456bcfc34c2cb2c), "mix(1) as printed");
    ok(spec_hash(d.b) == UINT64_C(0x112a03a943ba41de), "hash of the dialer as printed");
    ok(spec_hash(a.b) == UINT64_C(0x6c07eff61e7a9f5d), "hash of the acceptor as printed");
    ok(spec_term(d.b, 1, 5) == UINT64_C(0xb0cbb11eea3df6a6), "term of the dialer as printed");
    ok(spec_term(a.b, 2, 6) == UINT64_C(0xc21f6c8e7f0df933), "term of the acceptor as printed");
    for (i = 0; i < 1000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        bad += phx__map_mix(x) != spec_mix(x);
        memcpy(d.b + i % 9, &x, 8);
        bad += phx__id_hash(&d) != spec_hash(d.b);
    }
    ok(bad == 0, "phx__map_mix and phx__id_hash are what the page says");
}

/* ---- Whole streams */

static void test_dialer(void)
{
    /* Goal: all types in one stream of a dialer. Method: send each, count what the parser saw. */
    struct phx__entry e[2];
    struct spec_counts c;
    char why[SPEC_WHY];
    int i;

    handshake();
    beat();
    e[0] = own_entry(6, 0, NULL, 0);
    e[1] = e[0];
    e[1].id = acceptor();
    e[1].hops = 255;
    update(e, 2);
    update(NULL, 0);
    request();
    summary(PHX__SUMMARY_MORE, 6, 3);
    summary(0, 6, 0);
    data(PHX__DATA_FIRST, 8, "hello", 5);
    data(PHX__DATA_LAST, 0, "you", 3);
    data(PHX__DATA_FIRST | PHX__DATA_LAST | PHX__DATA_SEEN, 17, "0123456789abcdefx", 17);
    data(PHX__DATA_FIRST | PHX__DATA_LAST, 0, NULL, 0);
    run(0);
    run(PHX__DATA_TAGS);
    run(PHX__DATA_NAMES);
    run(PHX__DATA_NAMES | PHX__DATA_TAGS);
    ack();
    ack_with_returns();
    cast();
    suspect();
    probe(0);
    probe(PHX__PROBE_ANSWER);
    hand();
    trace(0, 2);
    trace(PHX__TRACE_ANSWER, 16);
    phx__wire_link_put(&stream, PHX__REFUSE, 0, 0, &(int){ PHX_ECLOSED });
    c = spec_check_stream(stream_bytes, stream.size, why);
    ok(c.ok && !stream.bad, "a dialer's stream is good %s", why);
    ok(c.bytes == stream.size && c.tail == 0, "to its end");
    ok(c.frames[SPEC_HELLO] == 1 && c.frames[SPEC_PROOF] == 1, "handshake");
    ok(c.frames[SPEC_REFUSE] == 1, "goodbye");
    ok(c.frames[SPEC_UPDATE] == 3 && c.entries == 3 && c.cards == 1, "updates");
    ok(c.claims == 1 && c.addresses == 1, "the card's content");
    ok(c.frames[SPEC_BEAT] == 1 && c.frames[SPEC_REQUEST] == 1, "beat and request");
    ok(c.frames[SPEC_SUMMARY] == 2 && c.lines == 5, "summaries");
    ok(c.frames[SPEC_DATA] == 8 && c.messages == 17 && c.frames[SPEC_ACK] == 2
           && c.frames[SPEC_CAST] == 1,
       "data, ack and cast");
    ok(c.frames[SPEC_SUSPECT] == 1 && c.frames[SPEC_PROBE] == 2 && c.frames[SPEC_HAND] == 1
           && c.frames[SPEC_TRACE] == 2,
       "suspect, probe, hand and trace");
    for (i = 0; i < (int)stream.size; i++) {
        c = spec_check_stream(stream_bytes, (size_t)i, why);
        check(c.ok && c.bytes + c.tail == (size_t)i, "a capture may end at byte %d: %s", i, why);
    }
}

static void test_acceptor(void)
{
    /* Goal: the other side. Method: ANSWER, and an UPDATE with the acceptor's own entry; then
     * without, which is what a side does whose card the other has. */
    uint8_t card[64];
    struct phx__entry e = own_entry(6, PHX__ENTRY_CARD, card, card_of(card, sizeof card, 0));
    struct phx__answer a;
    struct spec_counts c;
    char why[SPEC_WHY];
    int i;

    begin();
    answer(no_mac);
    e.id = acceptor();
    e.incarnation = 2;
    update(&e, 1);
    c = spec_check_stream(stream_bytes, stream.size, why);
    ok(c.ok && c.frames[SPEC_ANSWER] == 1 && c.cards == 1, "an acceptor's stream is good %s", why);
    begin();
    answer(no_mac);
    beat();
    e.id = dialer();
    e.hops = 1;
    update(&e, 1);
    c = spec_check_stream(stream_bytes, stream.size, why);
    ok(c.ok && c.entries == 1, "and so is one that tells of others only %s", why);
    for (i = 0; i < 2; i++) { /* with padding, and with the flag alone */
        begin();
        memset(&a, 0, sizeof a);
        a.version = PHX__WIRE_VERSION;
        a.own.seq = a.own.card_version = 1;
        phx__wire_link_put(&stream, PHX__ANSWER, i == 0 ? (int)PHX__PADDED : 0, 0, &a);
        stream_bytes[5] = 1;
        c = spec_check_stream(stream_bytes, stream.size, why);
        ok(c.ok == (i == 0), "an ANSWER with %s: %s", i == 0 ? "padding" : "a flag alone", why);
    }
    begin();
    phx__wire_link_put(&stream, PHX__REFUSE, 0, 0, &(int){ PHX_ECLUSTER });
    c = spec_check_stream(stream_bytes, stream.size, why);
    ok(c.ok && c.frames[SPEC_REFUSE] == 1, "and so is a refusal alone");
}

static void test_large_card(void)
{
    /* Goal: a card of 240 KB in parts. Method: good, then with a gap, then used before it is
     * whole, and for another version. */
    static uint8_t card[250000];
    size_t size = card_of(card, sizeof card, 10000), at, step = 60000;
    struct phx__entry e = own_entry(7, PHX__ENTRY_CARD_SENT, NULL, 0), two[2];
    struct spec_counts c;
    char why[SPEC_WHY];

    begin();
    hello();
    proof(no_mac);
    for (at = 0; at < size; at += step) {
        card_part(card, size, at, size - at < step ? size - at : step);
        beat();
    }
    update(&e, 1);
    c = spec_check_stream(stream_bytes, stream.size, why);
    ok(c.ok && c.cards == 1, "a card in parts %s", why);
    ok(c.frames[SPEC_CARD] == 5 && c.claims == 10000, "is whole");

    size = card_of(card, sizeof card, 1);
    handshake();
    card_part(card, size, 0, size);
    two[0] = two[1] = e;
    update(two, 2);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "sent twice at once: %s", why);
    size = card_of(card, sizeof card, 10000);
    handshake();
    card_part(card, size, 0, step);
    card_part(card, size, step + 1, step);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "a gap is refused: %s", why);
    handshake();
    card_part(card, size, 0, step);
    update(&e, 1);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "half a card is refused: %s", why);
    size = card_of(card, sizeof card, 1);
    handshake();
    card_part(card, size, 0, size);
    e.card_version = 4;
    update(&e, 1);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "of another version: %s", why);
}

/* ---- The parser can say no: else all of the above means nothing */

/* Changes one byte at offset from the start of the last frame, which begins at `start`. */
static void refuses(size_t start, size_t offset, unsigned value, const char *what)
{
    uint8_t old = stream_bytes[start + offset];
    char why[SPEC_WHY];
    int good;

    stream_bytes[start + offset] = (uint8_t)value;
    good = spec_check_stream(stream_bytes, stream.size, why).ok;
    ok(!good, "%s is refused: %s", what, why);
    stream_bytes[start + offset] = old;
}

static void test_order(void)
{
    /* Goal: frames out of their order. Method: one wrong stream each. */
    struct phx__entry e = own_entry(4, 0, NULL, 0);
    char why[SPEC_WHY];

    begin();
    beat();
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "no handshake: %s", why);
    begin();
    hello();
    beat();
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "no PROOF: %s", why);
    begin();
    answer(no_mac);
    proof(no_mac);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "PROOF of an acceptor: %s", why);
    handshake();
    phx__wire_link_put(&stream, PHX__REFUSE, 0, 0, &(int){ PHX_ECLOSED });
    beat();
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "more after REFUSE: %s", why);
    begin();
    hello();
    proof(no_mac);
    update(&e, 1);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "below the number in PROOF: %s", why);
    handshake();
    update(&e, 1);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "own number goes back: %s", why);
    handshake();
    e.seq = 9;
    e.id = acceptor();
    update(&e, 1);
    ok(!spec_check_stream(stream_bytes, stream.size, why).ok, "distance 0 to another: %s", why);
}

static void test_refusals(void)
{
    /* Goal: bad bytes. Method: one changed byte in an otherwise good stream, at an offset from
     * WIRE.md. */
    size_t start;

    begin();
    hello();
    refuses(0, 8, 'Q', "another magic");
    refuses(0, 12, 3, "version_min above version_max");
    refuses(0, 12, 0, "version 0");
    refuses(0, 0, 63, "a short HELLO");
    refuses(0, 4, 12, "type 12");
    refuses(0, 4, 0, "type 0");
    refuses(0, 6, 1, "HELLO with hops");
    refuses(0, 7, 1, "a byte that is not zero");
    refuses(0, 2, 2, "a frame of 128 KiB");
    start = stream.size;
    proof(no_mac);
    refuses(start, 8, 0, "PROOF with number 0");
    refuses(start, 8 + 4, 0, "PROOF with card version 0");
    refuses(start, 8 + 12, 5, "address family 5");
    refuses(start, 8 + 12, 0, "an address none with bytes left over");
    handshake();
    start = 68 + 59;
    refuses(start, 8, 1, "a reserved number that is not 0");
    refuses(start, 10 + 29, 3, "CARD and CARD_SENT");
    refuses(start, 10 + 30, 0, "a card of version 0");
    refuses(start, 10 + 34, 42, "a card larger than the frame");
    refuses(start, 10 + 38 + 3, 0, "a window of 0");
    refuses(start, 10 + 38 + 6, 7, "a label that cannot be printed");
    refuses(start, 10 + 38 + 9, 9, "nine addresses");
    refuses(start, 10 + 38 + 10, 0, "address none in a card");
    refuses(start, 10 + 38 + 17, 2, "a claim too many");
    refuses(start, 10 + 38 + 21, 43, "a claim that ends before it begins");
    refuses(start, 10 + 38 + 21 + 16, 0, "a claim of epoch 0");
    start = stream.size;
    data(PHX__DATA_FIRST | PHX__DATA_LAST, 5, "hello", 5);
    refuses(start, 8 + 72, 6, "a message shorter than its total");
    refuses(start, 5, 1, "FIRST with the whole message and no LAST");
    refuses(start, 5, 7, "SEEN that is not there");
    refuses(start, 5, 6, "SEEN without FIRST");
    refuses(start, 8 + 75, 0x80, "a message above 1 GiB");
    refuses(start, 5, 11, "a run of one message");
    refuses(start, 5, 19, "TAGS without RUN");
    refuses(start, 5, 67, "NAMES without RUN");
    start = stream.size;
    run(PHX__DATA_TAGS);
    refuses(start, 5, 19, "a run without RUN");
    refuses(start, 5, 25, "a run that does not end");
    refuses(start, 8 + 72, 28, "a run that its first message fills");
    refuses(start, 8 + 85, 4, "a message of a run that takes a byte of the next");
    refuses(start, 8 + 98, 1, "a message beyond the end of its run");
    refuses(start, 0, 111, "a run that is cut off");
    start = stream.size;
    run(PHX__DATA_NAMES);
    refuses(start, 5, 11, "a run whose names are not said");
    refuses(start, 5, 91, "a run with names and no tags");
    handshake();
    start = stream.size;
    ack_with_returns();
    refuses(start, 5, 0, "parts without their flags");
    refuses(start, 5, 2, "returns and something else");
    refuses(start, 8 + 56, 0, "no returns");
    refuses(start, 8 + 56, 3, "a return too many");
    refuses(start, 8 + 57, 3, "770 returns");
    refuses(start, 8 + 58, 3, "returns of one run out of order");
    refuses(start, 8 + 69, 0, "returns out of order");
    refuses(start, 8 + 69, 4, "a return that was not taken");
    refuses(start, 8 + 68, 4, "reason 4");
    refuses(start, 8 + 68, 0, "reason 0");
    refuses(start, 8 + 88, 0, "seen nothing");
    handshake();
    start = stream.size;
    cast();
    refuses(start, 8, 0, "a cast to nobody");
    refuses(start, 8, 3, "a line too many");
    refuses(start, 9, 3, "770 lines");
    refuses(start, 8 + 2 + 88 + 16 + 16, 3, "a cast shorter than its total");
    refuses(start, 5, 1, "a cast without an end that is whole");
    begin();
    handshake();
    start = stream.size;
    hand();
    refuses(start, 8 + 48, 9, "names that end before they begin");
    refuses(start, 0, 67, "a hand that is cut off");
}

/* ---- As a tool */

static int check_file(const char *name)
{
    static const char *const types[SPEC_TYPES] = {
        "",        "HELLO", "ANSWER",  "PROOF", "REFUSE", "UPDATE", "CARD",
        "REQUEST", "BEAT",  "SUMMARY", "DATA",  "ACK",    "SUSPECT", "PROBE", "CAST",
        "HAND",    "TRACE",
    };
    size_t capacity = 1 << 28, size = 0;
    uint8_t *bytes = malloc(capacity);
    FILE *f = fopen(name, "rb");
    struct spec_counts c;
    char why[SPEC_WHY] = "";
    int i;

    if (f != NULL && bytes != NULL)
        size = fread(bytes, 1, capacity, f);
    if (f != NULL)
        fclose(f);
    memset(&c, 0, sizeof c);
    if (size > 0)
        c = spec_check_stream(bytes, size, why);
    ok(c.ok, "%s: %lu bytes %s", name, (unsigned long)size, why);
    for (i = 1; i < SPEC_TYPES; i++)
        printf("#   %-8s %lu\n", types[i], c.frames[i]);
    printf("#   entries %lu, cards %lu, claims %lu, messages %lu, tail %lu bytes\n", c.entries,
           c.cards, c.claims, c.messages, (unsigned long)c.tail);
    free(bytes);
    return c.ok;
}

int main(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++)
        check_file(argv[i]);
    if (argc > 1)
        return test_end();
    test_examples();
    test_hashes();
    test_dialer();
    test_acceptor();
    test_large_card();
    test_order();
    test_refusals();
    return test_end();
}
