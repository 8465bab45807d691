/* t_wire_limits.c - what decoders take and refuse at the limits of sizes, counts, flags and cards. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "wire/data.h"
#include "wire/link.h"
#include "wire/route.h"
#endif
#include "wire_rig.h"

static void test_writer_ends(void)
{
    /* Goal: an encoder without room says so and writes nothing past the end. Method: every capacity below
     * what is needed, in a block of that size. */
    struct phx__beat b = {1, 2, 3, 4, 5, 6};
    struct phx__writer w;
    size_t n;
    int bad = 0;

    for (n = 0; n < 36; n++) {
        uint8_t *block = malloc(n > 0 ? n : 1);

        phx__buf_writer_init(&w, block, n);
        phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
        bad += !w.bad || w.size > n;
        free(block);
    }
    ok(bad == 0, "no room is noticed");
    value_begin(); /* has room for a frame larger than allowed */
    value.size = PHX__FRAME_MAX;
    phx__wire_end(&value, 0);
    ok(!value.bad, "the largest frame may leave");
    value.size = PHX__FRAME_MAX + 1;
    phx__wire_end(&value, 0);
    ok(value.bad, "a larger one is noticed too");
}
static uint32_t data_seen = 1;

/* A DATA frame by hand, without the encoder's assertions: is it taken? */
static int data_is_taken(int flags, uint64_t total, size_t size)
{
    static uint8_t payload[PHX__FRAGMENT + 32];
    size_t start;
    struct phx__data d;
    struct phx__frame f;
    size_t used;

    value_begin();
    start = phx__wire_begin(&value, PHX__DATA, flags, 1);
    scatter(&d, sizeof d);
    phx__buf_put_bytes(&value, &d, 48);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_put_bytes(&value, &d, 24);
        phx__buf_put_u64(&value, total);
        if ((flags & (int)PHX__DATA_SEEN) != 0)
            phx__buf_put_u32(&value, data_seen);
    }
    phx__buf_put_bytes(&value, payload, size);
    phx__wire_end(&value, start);
    if (value.bad || phx__wire_parse(value_bytes, value.size, &f, &used) != 1)
        return -1;
    return phx__wire_data_get(&f, &d) == 0 && taste(value_bytes, value.size, 1);
}

static void test_data_limits(void)
{
    /* Goal: section 5's list. Method: both sides of each edge. */
    const uint64_t gib = (uint64_t)1 << 30;
    const size_t most = PHX__FRAGMENT;

    ok(data_is_taken(3, 0, 0) == 1, "an empty message");
    ok(data_is_taken(1, 0, 0) == 0, "which must be LAST");
    ok(data_is_taken(2, 0, 0) == 0, "and FIRST");
    ok(data_is_taken(0, 0, 0) == 1, "a question, which is neither");
    ok(data_is_taken(3, 5, 5) == 1 && data_is_taken(3, 5, 4) == 0 && data_is_taken(3, 5, 6) == 0,
       "a whole message has its total");
    ok(data_is_taken(1, 6, 5) == 1 && data_is_taken(1, 5, 5) == 0 && data_is_taken(1, 4, 5) == 0,
       "a first fragment leaves something");
    ok(data_is_taken(1, gib, 5) == 1 && data_is_taken(1, gib + 1, 5) == 0, "1 GiB");
    ok(data_is_taken(1, UINT64_MAX, 5) == 0, "2^64 - 1 bytes");
    ok(data_is_taken(0, 0, most) == 1 && data_is_taken(0, 0, most + 1) == 0, "64 KiB");
    ok(data_is_taken(3, most, most) == 1 && data_is_taken(1, gib, most) == 1, "64 KiB and FIRST");
    ok(data_is_taken(7, 4, 4) == 1 && data_is_taken(5, 9, 5) == 1 && data_is_taken(7, most, most) == 1,
       "returns that were seen");
    ok(data_is_taken(4, 0, 5) == 0 && data_is_taken(6, 0, 5) == 0, "are said by a first fragment");
    data_seen = 0;
    ok(data_is_taken(7, 4, 4) == 0, "unless there are none");
    data_seen = 1;
}

static void test_run_limits(void)
{
    /* Goal: section 5's list for runs. Method: both sides of each edge. The payload is all zeroes, so behind
     * the first message come empty ones: of 2 bytes each, or 10 with tags. */
    const int run = 3 | (int)PHX__DATA_RUN, tags = run | (int)PHX__DATA_TAGS;
    const size_t most = PHX__FRAGMENT;

    ok(data_is_taken(run, 5, 7) == 1 && data_is_taken(run, 5, 9) == 1, "one more, and two");
    ok(data_is_taken(run, 5, 5) == 0 && data_is_taken(run, 0, 0) == 0, "not none");
    ok(data_is_taken(run, 5, 6) == 0 && data_is_taken(run, 5, 8) == 0, "whole ones");
    ok(data_is_taken(tags, 5, 15) == 1 && data_is_taken(tags, 5, 25) == 1, "the same with tags");
    ok(data_is_taken(tags, 5, 14) == 0 && data_is_taken(tags, 5, 7) == 0, "which are there");
    ok(data_is_taken(run, 0, 2) == 1 && data_is_taken(run, 0, most) == 1, "32,769 empty ones");
    ok(data_is_taken(run, 0, most + 2) == 0, "and not one more");
    ok(data_is_taken(run, 9, 7) == 0 && data_is_taken(run, UINT64_MAX, 7) == 0, "a first beyond the end");
    ok(data_is_taken(run & ~1, 5, 7) == 0 && data_is_taken(run & ~2, 5, 7) == 0
           && data_is_taken(run & ~3, 5, 7) == 0,
       "only whole messages");
    ok(data_is_taken(run | (int)PHX__DATA_NAMES, 5, 15) == 1
           && data_is_taken(tags | (int)PHX__DATA_NAMES, 5, 23) == 1
           && data_is_taken(run | (int)PHX__DATA_NAMES, 5, 14) == 0
           && data_is_taken(tags | (int)PHX__DATA_NAMES, 5, 22) == 0,
       "and with names, perhaps with both");
    ok(data_is_taken(3 | (int)PHX__DATA_TAGS, 5, 5) == 0, "tags are of a run");
    ok(data_is_taken(3 | (int)PHX__DATA_NAMES, 5, 5) == 0, "and names");
    ok(data_is_taken(run | (int)PHX__DATA_SEEN, 5, 7) == 1, "with returns that were seen");
}

/* A CAST by hand. */
static int cast_is_taken(int flags, unsigned count, unsigned lines, uint64_t total, size_t size)
{
    static uint8_t payload[PHX__CAST_FRAGMENT + 32];
    struct phx__data d;
    struct phx__frame f;
    size_t used, start;
    unsigned i;

    scatter(&d, sizeof d);
    value_begin();
    start = phx__wire_begin(&value, PHX__CAST, flags, 1);
    phx__buf_put_u16(&value, (uint16_t)count);
    for (i = 0; i < lines; i++)
        phx__wire_data_put_cast_line(&value, flags, &d);
    phx__buf_put_bytes(&value, &d, 16);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_put_bytes(&value, &d, 16);
        phx__buf_put_u64(&value, total);
    }
    phx__buf_put_bytes(&value, payload, size);
    phx__wire_end(&value, start);
    if (value.bad || phx__wire_parse(value_bytes, value.size, &f, &used) != 1)
        return -1;
    return taste(value_bytes, value.size, 1);
}

/* An ACK that says of so many messages that they came back, the first of which is return number base + 1. */
static int returns_are_taken(uint32_t base, uint16_t count)
{
    static uint8_t returns[(PHX__RETURNS + 1) * PHX__RETURN_SIZE];
    struct phx__ack a = { .epoch = 1, .next = PHX__RETURNS + 1, .returns = returns, .return_base = base,
                          .return_count = count };
    struct phx__writer w;
    struct phx__ack got;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&w, returns, sizeof returns);
    for (uint16_t i = 0; i < count; i++) {
        const struct phx__return t = { i, 0, (int)PHX__RETURN_MOVED };
        phx__wire_data_put_return(&w, &t);
    }
    value_begin();
    phx__wire_data_put_ack(&value, &a, 0, 1);
    if (w.bad || phx__wire_parse(value_bytes, value.size, &f, &used) != 1)
        return -1;
    return phx__wire_data_get_ack(&f, &got) == 0;
}

static void test_returns(void)
{
    /* Goal: section 5's list for returns. Method: both sides of each edge. */
    ok(returns_are_taken(0, 1) == 1 && returns_are_taken(0, 512) == 1, "1 and 512 returns");
    ok(returns_are_taken(0, 513) == 0, "not 513");
    ok(returns_are_taken(UINT32_MAX - 2, 2) == 1 && returns_are_taken(UINT32_MAX - 1, 2) == 0,
       "their numbers do not wrap");
}

static void test_front(void)
{
    /* Goal: of a frame whose payload is still to come the head says all. Method: heads of each length, whole
     * and cut by a byte; runs, empty frames and other types have no place of their own. */
    static const int flags[] = { 0, 1, 3, 7 };
    struct phx__data d = { .epoch = 1, .to = 3, .total = 100, .size = 100, .seen = 9 }, got;
    struct phx__frame f;
    size_t whole, head, i;
    int is;

    for (i = 0; i < sizeof flags / sizeof *flags; i++) {
        d.total = flags[i] == 1 ? 1000 : 100;
        value_begin();
        phx__wire_data_put(&value, &d, flags[i], 1);
        head = value.size;
        ok(phx__wire_data_front(value_bytes, head, &got, &is) == head && is == flags[i]
               && got.size == 100 && got.epoch == 1,
           "a head of %u bytes", (unsigned)head);
        ok(phx__wire_data_front(value_bytes, head - 1, &got, &is) == 0, "less is none");
        value_bytes[PHX__DATA_FLAGS] |= PHX__DATA_RUN;
        ok(phx__wire_data_front(value_bytes, head, &got, &is) == 0, "nor is that of a run");
    }
    d.total = d.size = 0;
    value_begin();
    phx__wire_data_put(&value, &d, 3, 1);
    ok(phx__wire_parse(value_bytes, value.size, &f, &whole) == 1
           && phx__wire_data_front(value_bytes, value.size, &got, &is) == 0,
       "an empty frame has no payload to come");
}

static void test_cast_zeros(void)
{
    /* Goal: what stands behind the lines is no line. Method: zeros, which would be no epoch. */
    struct phx__data d = { .epoch = 7, .total = 5, .size = 5 };
    struct phx__wire_cast c;
    struct phx__frame f;
    size_t start, used;

    value_begin();
    start = phx__wire_data_begin_cast(&value, 3, 1, 2);
    phx__wire_data_put_cast_line(&value, 3, &d);
    phx__wire_data_put_cast_line(&value, 3, &d);
    phx__wire_data_end_cast(&value, start, 3, &d);
    phx__buf_put_bytes(&value, "12345", 5);
    ok(phx__wire_parse(value_bytes, value.size, &f, &used) == 1 && phx__wire_data_get_cast(&f, &c) == 0
           && c.count == 2 && c.common.size == 5,
       "two lines");
}

static void test_cast_limits(void)
{
    /* Goal: section 5's list for CAST. Method: both sides of each edge. */
    const size_t most = PHX__CAST_FRAGMENT;

    ok(cast_is_taken(3, 1, 1, 0, 0) == 1 && cast_is_taken(3, 512, 512, 5, 5) == 1, "1 and 512 lines");
    ok(cast_is_taken(3, 0, 0, 5, 5) == 0 && cast_is_taken(3, 513, 513, 5, 5) == 0, "not 0 nor 513");
    ok(cast_is_taken(3, 3, 2, 5, 5) == 0 && cast_is_taken(3, 3, 4, 5, 5) == 0, "as many as are there");
    ok(cast_is_taken(3, 512, 512, most, most) == 1 && cast_is_taken(3, 1, 1, most + 1, most + 1) == 0,
       "32 KiB");
    ok(cast_is_taken(1, 2, 2, 9, 5) == 1 && cast_is_taken(1, 2, 2, 5, 5) == 0
           && cast_is_taken(0, 2, 2, 0, 5) == 1 && cast_is_taken(2, 2, 2, 0, 0) == 0,
       "payloads as in DATA");
    ok(cast_is_taken(1, 2, 2, ((uint64_t)1 << 30) + 1, 5) == 0, "1 GiB");
}

/* A card by hand: is it taken? */
static int card_is_taken(uint32_t window, unsigned addresses, uint32_t claim_count,
                         const uint64_t *claims, size_t numbers)
{
    uint8_t bytes[256];
    struct phx__card card;
    struct phx__writer w;
    size_t i;

    phx__buf_writer_init(&w, bytes, sizeof bytes);
    phx__buf_put_u8(&w, 0xff);
    phx__buf_put_u32(&w, window);
    phx__buf_put_u8(&w, 0);
    phx__buf_put_u8(&w, (uint8_t)addresses);
    for (i = 0; i < addresses; i++) {
        phx__buf_put_u8(&w, PHX_IPV4);
        phx__buf_put_bytes(&w, "\x7f\0\0\1\1\2", 6);
    }
    phx__buf_put_u32(&w, claim_count);
    for (i = 0; i < numbers; i++)
        phx__buf_put_u64(&w, claims[i]);
    if (phx__wire_route_get_card(bytes, w.size, &card) != 0)
        return 0;
    check(card.flags == (PHX__CARD_RELAYS | PHX__CARD_LEFT), "unknown flags are masked");
    return card.window == window && card.address_count == addresses
           && card.claim_count == claim_count;
}

static void test_cards(void)
{
    /* Goal: section 4's card at its edges. Method: by hand. */
    static const uint64_t good[] = {0, 0, 1, 1, 5, 1, 6, UINT64_MAX, UINT64_MAX};
    static const uint64_t back[] = {2, 1, 1}, never[] = {1, 1, 0};
    static const uint64_t touch[] = {0, 5, 1, 5, 6, 1}, order[] = {7, 8, 1, 1, 2, 1};
    static const uint64_t all[] = {0, UINT64_MAX, 1, 0, 0, 1};
    static const uint8_t none[] = {0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0}; /* one address of family 0 */
    struct phx__card card;

    ok(card_is_taken(4096, 0, 0, NULL, 0), "the smallest card");
    ok(!card_is_taken(4095, 0, 0, NULL, 0), "a window too small");
    ok(card_is_taken(4096, 8, 0, NULL, 0) && !card_is_taken(4096, 9, 0, NULL, 0), "8 addresses");
    ok(card_is_taken(UINT32_MAX, 1, 3, good, 9), "3 claims");
    ok(!card_is_taken(4096, 1, 4, good, 9) && !card_is_taken(4096, 1, 2, good, 9), "not 4, not 2");
    ok(!card_is_taken(4096, 0, 1, back, 3), "first above last");
    ok(!card_is_taken(4096, 0, 1, never, 3), "epoch 0");
    ok(!card_is_taken(4096, 0, 2, touch, 6), "one name twice");
    ok(!card_is_taken(4096, 0, 2, order, 6), "descending");
    ok(card_is_taken(4096, 0, 1, all, 3), "all names");
    ok(!card_is_taken(4096, 0, 2, all, 6), "all names, and one more");
    ok(phx__wire_route_get_card(none, sizeof none, &card) == PHX_EPROTO, "an address that is none");
    ok(!card_is_taken(4096, 0, PHX__CARD_CLAIMS + 1, good, 9), "a count above the limit");
    ok(!card_is_taken(4096, 0, UINT32_MAX, good, 9), "and far above");
}

static void test_labels(void)
{
    /* Goal: a label is up to 32 printable characters. Method: each byte, and each length. */
    uint8_t bytes[64];
    struct phx__card card, got;
    struct phx__writer w;
    int i, bad = 0;

    memset(&card, 0, sizeof card);
    card.window = 4096;
    for (i = 0; i < PHX_LABEL; i++) {
        memset(card.label, 0, sizeof card.label);
        memset(card.label, '~', (size_t)i);
        phx__buf_writer_init(&w, bytes, sizeof bytes);
        phx__wire_route_put_card(&w, &card, NULL);
        bad += w.size != 11 + (size_t)i || phx__wire_route_get_card(bytes, w.size, &got) != 0
               || strcmp(got.label, card.label) != 0;
        bad += bytes[PHX__CARD_LABEL] != i || memcmp(bytes + PHX__CARD_LABEL + 1, card.label, (size_t)i) != 0;
    }
    ok(bad == 0, "labels of 0 to 32 characters");
    for (bad = i = 0; i < 256; i++) {
        bytes[5 + 7] = (uint8_t)i;
        bad += (phx__wire_route_get_card(bytes, w.size, &got) == 0)
               != (i >= 32 && i < 127 && i != '"' && i != '\\');
    }
    ok(bad == 0, "printable ones, without quotes and backslashes");
    memset(bytes + 6, 'x', 33);
    memset(bytes + 6 + 33, 0, 5);
    bytes[5] = 33;
    ok(phx__wire_route_get_card(bytes, 11 + 33, &got) == PHX_EPROTO, "not 33");
}

static void test_card_truncation(void)
{
    /* Goal: a card has one length. Method: every shorter one, and one byte more. */
    uint8_t bytes[1024], *copy;
    struct phx__card card;
    size_t size, n;
    int round, bad = 0;

    for (round = 0; round < 200; round++) {
        size = make_card(bytes, sizeof bytes - 1, 10);
        bytes[size] = 0;
        for (n = 0; n <= size + 1; n++) {
            copy = malloc(n > 0 ? n : 1);
            memcpy(copy, bytes, n);
            bad += (phx__wire_route_get_card(copy, n, &card) == 0) != (n == size);
            free(copy);
        }
    }
    ok(bad == 0, "cards cut at every length");
}

static void test_large_card(void)
{
    /* Goal: the largest card. Method: 100,000 claims and 8 of the longest addresses; the size is what
     * phx__wire_route_card_size promises, and every claim is found. */
    const uint32_t count = PHX__CARD_CLAIMS;
    size_t capacity = phx__wire_route_card_size(8, count);
    struct phx__claim *claims = malloc(count * sizeof *claims), one;
    uint8_t *bytes = malloc(capacity);
    struct phx__card card, got;
    struct phx__writer w;
    uint32_t i;
    int bad = 0;

    memset(&card, 0, sizeof card);
    card.window = 4096;
    memset(card.label, 'x', PHX_LABEL - 1);
    card.address_count = 8;
    for (i = 0; i < 8; i++) {
        card.address[i].family = PHX_UNIX;
        memset(card.address[i].path, '/', 103);
    }
    card.claim_count = count;
    for (i = 0; i < count; i++) {
        claims[i].first = claims[i].last = i;
        claims[i].epoch = i + 1;
    }
    phx__buf_writer_init(&w, bytes, capacity);
    phx__wire_route_put_card(&w, &card, claims);
    ok(!w.bad && w.size == capacity && capacity == SPEC_CARD_MAX, "its size is as promised");
    ok(phx__wire_route_get_card(bytes, w.size, &got) == 0 && got.claim_count == count, "it is taken");
    for (i = 0; i < count; i++) {
        phx__wire_route_claim(&got, i, &one);
        bad += one.first != i || one.last != i || one.epoch != i + 1;
    }
    ok(bad == 0, "with all claims");
    free(bytes);
    bytes = malloc(capacity + 24); /* one more stands behind them, as sound as the others */
    phx__buf_writer_init(&w, bytes, capacity + 24);
    phx__wire_route_put_card(&w, &card, claims);
    phx__buf_put_u64(&w, count);
    phx__buf_put_u64(&w, count);
    phx__buf_put_u64(&w, 1);
    phx__buf_store_u32(bytes + capacity - count * (size_t)24 - 4, count + 1);
    ok(!w.bad && phx__wire_route_get_card(bytes, w.size, &got) == PHX_EPROTO, "and with one more it is not");
    free(claims);
    free(bytes);
}

static void test_card_addresses(void)
{
    /* Goal: an address that peers would refuse does not cost us the card. Method: a family that nobody knows,
     * none, and a relative path, among good ones. */
    uint8_t bytes[512];
    struct phx__card card, got;
    struct phx__writer w;

    memset(&card, 0, sizeof card);
    card.window = 4096;
    card.address_count = 5;
    card.address[0].family = 99;
    card.address[1].family = PHX_IPV4;
    card.address[1].port = 1;
    card.address[3].family = PHX_UNIX;
    memcpy(card.address[3].path, "a", 2);
    card.address[4].family = PHX_IPV6;
    card.address[4].port = 2;
    phx__buf_writer_init(&w, bytes, sizeof bytes);
    phx__wire_route_put_card(&w, &card, NULL);
    ok(phx__wire_route_get_card(bytes, w.size, &got) == 0 && got.address_count == 2, "two are left");
    ok(got.address[0].port == 1 && got.address[1].port == 2, "the good ones");
}

/* A CARD frame by hand: is it taken? */
static int part_is_taken(uint32_t version, uint32_t total, uint32_t offset, size_t size)
{
    static uint8_t bytes[PHX__FRAGMENT];
    struct phx__card_part c;
    struct phx__frame f;
    size_t used, start;

    value_begin();
    start = phx__wire_begin(&value, PHX__CARD, 0, 0);
    phx__buf_put_bytes(&value, bytes, 24);
    phx__buf_put_u32(&value, version);
    phx__buf_put_u32(&value, total);
    phx__buf_put_u32(&value, offset);
    phx__buf_put_bytes(&value, bytes, size);
    phx__wire_end(&value, start);
    return phx__wire_parse(value_bytes, value.size, &f, &used) == 1
           && phx__wire_route_get_card_part(&f, &c) == 0 && taste(value_bytes, value.size, 1);
}

static void test_card_parts(void)
{
    /* Goal: a part lies inside of its card, and a card is not larger than one can be. Method: edges. */
    ok(part_is_taken(1, 11, 0, 11) && !part_is_taken(1, 10, 0, 10), "the smallest card");
    ok(!part_is_taken(0, 11, 0, 11), "version 0");
    ok(!part_is_taken(1, 11, 0, 0) && !part_is_taken(1, 11, 11, 0), "an empty part");
    ok(part_is_taken(1, 20, 19, 1) && !part_is_taken(1, 20, 19, 2), "the last byte");
    ok(!part_is_taken(1, 20, UINT32_MAX, 2), "an offset that wraps");
    ok(part_is_taken(1, SPEC_CARD_MAX, 0, 65536), "the largest card");
    ok(!part_is_taken(1, SPEC_CARD_MAX + 1, 0, 65536), "one byte more");
}

/* The first entry of an UPDATE by hand: 1 taken, 0 refused. */
static int entry_is_taken(unsigned entry_flags, uint32_t version, uint32_t card_size, uint32_t rtt)
{
    uint8_t card[64];
    struct phx__reader r;
    struct phx__entry e;
    struct phx__frame f;
    size_t used, start;

    value_begin();
    start = phx__wire_begin(&value, PHX__UPDATE, 0, 0);
    phx__buf_put_u16(&value, 0);
    memset(card, 0, sizeof card);
    phx__buf_put_bytes(&value, card, 29);
    phx__buf_put_u8(&value, (uint8_t)entry_flags);
    phx__buf_put_u32(&value, version);
    if ((entry_flags & PHX__ENTRY_RTT) != 0)
        phx__buf_put_u16(&value, (uint16_t)rtt);
    if ((entry_flags & PHX__ENTRY_CARD) != 0) {
        phx__buf_put_u32(&value, card_size);
        phx__buf_put_bytes(&value, card, 20);
    }
    phx__wire_end(&value, start);
    if (phx__wire_parse(value_bytes, value.size, &f, &used) != 1
        || phx__wire_route_get_update(&f, &r) != 0)
        return 0;
    return phx__wire_route_next_entry(&r, &e) == 1 && e.flags == (entry_flags & 7)
           && e.rtt == rtt
           && phx__wire_route_next_entry(&r, &e) == 0;
}

static void test_entries(void)
{
    /* Goal: what flags, card and round trip time of an entry may say together. Method: by hand. */
    ok(entry_is_taken(0, 0, 0, 0) && entry_is_taken(0, 5, 0, 0), "no card, known or not");
    ok(entry_is_taken(PHX__ENTRY_CARD_SENT, 5, 0, 0), "sent before");
    ok(!entry_is_taken(PHX__ENTRY_CARD_SENT, 0, 0, 0), "which has a version");
    ok(entry_is_taken(PHX__ENTRY_CARD, 5, 20, 0), "attached");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 0, 20, 0), "which has a version");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, 21, 0), "a card that ends behind the frame");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, UINT32_MAX, 0), "far behind");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, 9, 0), "a card too small to be one");
    ok(!entry_is_taken(3, 5, 20, 0), "attached and sent before");
    ok(entry_is_taken(PHX__ENTRY_RTT, 0, 0, 1) && entry_is_taken(PHX__ENTRY_RTT, 5, 0, UINT16_MAX)
           && entry_is_taken(PHX__ENTRY_RTT | PHX__ENTRY_CARD, 5, 20, 77),
       "a round trip time, of any length");
    ok(!entry_is_taken(PHX__ENTRY_RTT, 5, 0, 0), "but not none");
    ok(entry_is_taken(0xf8, 0, 0, 0), "unknown flags mean nothing");
    ok(phx__wire_is_honest(PHX__INCARNATION_MAX, PHX__SEQ_MAX), "the last life and number of all");
    ok(!phx__wire_is_honest(PHX__INCARNATION_MAX, PHX__SEQ_MAX + 1)
           && !phx__wire_is_honest(PHX__INCARNATION_MAX + 1, PHX__SEQ_MAX), "and none beyond");
}

int main(void)
{
    test_writer_ends();
    test_data_limits();
    test_run_limits();
    test_returns();
    test_front();
    test_cast_zeros();
    test_cast_limits();
    test_cards();
    test_labels();
    test_card_truncation();
    test_large_card();
    test_card_addresses();
    test_card_parts();
    test_entries();
    return test_end();
}
