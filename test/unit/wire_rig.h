/* wire_rig.h - good frames with random contents, and what must hold of any bytes that come as a frame. */
#ifndef TEST_WIRE_RIG_H
#define TEST_WIRE_RIG_H
#include "spec.h"

/* Three tools carry most tests here:
 *
 * make()    writes a good frame of a type with random contents; remake()  decodes a frame and encodes what it
 * got; spec_check_frame() is the second opinion: a parser written from WIRE.md alone.
 *
 * Whatever bytes come, decoder and second opinion must agree on whether they are a frame, and what is
 * accepted must come out of remake() as it went in, but for ignored bits. Frames to be decoded are in blocks
 * of exactly their size, so that the address sanitizer sees one byte too far. */

#define ROOM (PHX__FRAME_MAX + 64)

static uint64_t dice_state = 1;

static uint64_t dice(void)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return dice_state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint32_t below(uint32_t n)
{
    return (uint32_t)(dice() >> 33) % n;
}

static inline void scatter(void *out, size_t size)
{
    uint8_t *p = out;

    while (size > 0)
        p[--size] = (uint8_t)(dice() >> 40);
}

static inline void make_address(struct phx_address *a)
{
    static const uint8_t families[] = {0, PHX_UNIX, PHX_IPV4, PHX_IPV6};
    size_t i, n;

    memset(a, 0, sizeof *a);
    a->family = families[below(4)];
    if (a->family == PHX_UNIX) {
        n = 1 + below(103);
        for (i = 0; i < n; i++)
            a->path[i] = (char)(i == 0 ? '/' : 'a' + below(26));
    } else if (a->family != 0) {
        scatter(a->ip, a->family == PHX_IPV4 ? 4 : 16);
        a->port = (uint16_t)below(65536);
        a->tls = (unsigned char)below(2);
    }
}

/* A card of random addresses and up to so many claims; returns its size. */
static inline size_t make_card(uint8_t *out, size_t capacity, uint32_t claims_max)
{
    struct phx__claim claims[64];
    struct phx__card card;
    struct phx__writer w;
    uint64_t at = 0;
    uint32_t i;

    memset(&card, 0, sizeof card);
    card.flags = (uint8_t)below(4);
    card.window = 4096 + below(1 << 20);
    memset(card.label, 'l', below(PHX_LABEL));
    card.address_count = (uint8_t)below(4);
    for (i = 0; i < card.address_count; i++)
        make_address(&card.address[i]);
    card.claim_count = below(claims_max + 1);
    for (i = 0; i < card.claim_count; i++) {
        claims[i].first = at + below(3); /* also adjacent, and one name wide */
        claims[i].last = claims[i].first + below(3);
        claims[i].epoch = 1 + below(1000);
        at = claims[i].last + 1;
    }
    phx__buf_writer_init(&w, out, capacity);
    phx__wire_route_put_card(&w, &card, claims);
    return w.bad ? 0 : w.size;
}

/* ---- make: one function per type, random contents, sizes kept small for the tests of each byte */

static void make_hello(struct phx__writer *w)
{
    struct phx__hello h;

    scatter(&h, sizeof h);
    h.magic = PHX__WIRE_MAGIC;
    h.version_min = (uint16_t)(1 + below(300));
    h.version_max = (uint16_t)(h.version_min + below(300));
    h.incarnation >>= 1;
    phx__wire_link_put(w, PHX__HELLO, (int)below(2), 0, &h);
}

static inline void make_answer(struct phx__writer *w)
{
    struct phx__answer a;

    scatter(&a, sizeof a);
    a.version = (uint16_t)(1 + below(300));
    a.own.seq = 1 + below(300);
    a.incarnation >>= 1;
    a.own.card_version = 1 + below(300);
    make_address(&a.observed);
    phx__wire_link_put(w, PHX__ANSWER, (int)below(2), 0, &a);
}

static inline void make_proof(struct phx__writer *w)
{
    struct phx__proof p;

    scatter(&p, sizeof p);
    p.own.seq = 1 + below(300);
    p.own.card_version = 1 + below(300);
    make_address(&p.observed);
    phx__wire_link_put(w, PHX__PROOF, 0, 0, &p);
}

static void make_entry(struct phx__writer *w)
{
    uint8_t card[1024];
    struct phx__entry e;

    scatter(&e, sizeof e);
    e.flags = (uint8_t)below(3);
    e.incarnation >>= 1;
    e.seq >>= 1;
    e.card_version = e.flags == 0 ? below(2) : 1 + below(100);
    if (below(3) == 0 && e.rtt != 0)
        e.flags |= PHX__ENTRY_RTT;
    e.card = card;
    e.card_size = (uint32_t)make_card(card, sizeof card, 3);
    phx__wire_route_put_entry(w, &e);
}

static void make_update(struct phx__writer *w)
{
    size_t start = phx__wire_route_begin_update(w);
    uint32_t n = below(4);

    while (n-- > 0)
        make_entry(w);
    phx__wire_end(w, start);
}

static void make_card_part(struct phx__writer *w)
{
    struct phx__card_part c;
    uint8_t part[64];

    scatter(&c, sizeof c);
    scatter(part, sizeof part);
    c.version = 1 + below(1000);
    c.size = 1 + below(sizeof part);
    c.offset = below(2000000);
    c.total = c.offset + c.size + 10 + below(1000);
    c.data = part;
    phx__wire_route_put_card_part(w, &c);
}

static void make_summary(struct phx__writer *w)
{
    size_t start = phx__wire_begin(w, PHX__SUMMARY, (int)below(4), 0);
    struct phx__entry line;
    uint32_t n = below(5);

    while (n-- > 0) {
        scatter(&line, sizeof line);
        line.incarnation >>= 1;
        line.seq >>= 1;
        phx__wire_route_put_summary_line(w, &line);
    }
    phx__wire_end(w, start);
}

/* Messages behind the first one of a run: how many bytes. */
static size_t make_run(uint8_t *out, size_t capacity, int flags)
{
    struct phx__writer w;
    uint8_t more[18];
    uint32_t n = 1 + below(4);

    phx__buf_writer_init(&w, out, capacity);
    for (; n > 0; n--) {
        uint32_t size = below(2) * below(8);

        phx__buf_put_bytes(&w, more, (size_t)(phx__wire_data_put_more(more, flags, 99, 77, size) - more));
        phx__buf_put_bytes(&w, "abcdefgh", size);
    }
    check(!w.bad, "a run fits");
    return w.size;
}

static void make_data(struct phx__writer *w)
{
    int flags = (int)below(8);
    uint8_t payload[160];
    struct phx__data d;

    scatter(&d, sizeof d);
    scatter(payload, sizeof payload);
    d.seen |= 1;
    if ((flags & (int)PHX__DATA_FIRST) == 0)
        flags &= ~(int)PHX__DATA_SEEN;
    d.size = 1 + below(60);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        if ((flags & (int)PHX__DATA_LAST) != 0)
            d.size -= below(2) ? d.size : 0; /* half of them empty */
        d.total = d.size + ((flags & (int)PHX__DATA_LAST) != 0 ? 0 : 1 + below(1000));
        if ((flags & (int)PHX__DATA_LAST) != 0 && below(2)) {
            flags |= (int)PHX__DATA_RUN | (below(2) ? (int)PHX__DATA_TAGS : 0)
                     | (below(2) ? (int)PHX__DATA_NAMES : 0);
            d.size += make_run(payload + d.size, sizeof payload - d.size, flags);
        }
    }
    phx__wire_data_put(w, &d, flags, (int)below(256));
    phx__buf_put_bytes(w, payload, d.size);
}

static void make_cast(struct phx__writer *w)
{
    int flags = (int)below(4);
    uint32_t n = 1 + below(5), i;
    uint8_t payload[80];
    struct phx__data d;
    size_t start;

    scatter(&d, sizeof d);
    scatter(payload, sizeof payload);
    d.size = 1 + below(60);
    d.total = d.size + ((flags & (int)PHX__DATA_LAST) != 0 ? 0 : 1 + below(1000));
    start = phx__wire_data_begin_cast(w, flags, (int)below(256), n);
    for (i = 0; i < n; i++) {
        scatter(&d.target, sizeof d.target);
        d.seen = below(2) ? d.seen : 0;
        phx__wire_data_put_cast_line(w, flags, &d);
    }
    phx__wire_data_end_cast(w, start, flags, &d);
    phx__buf_put_bytes(w, payload, d.size);
}

static void make_ack(struct phx__writer *w)
{
    uint8_t list[8 * PHX__RETURN_SIZE];
    struct phx__writer returns;
    struct phx__return t;
    struct phx__ack a;
    uint32_t i;

    scatter(&a, sizeof a);
    phx__buf_writer_init(&returns, list, sizeof list);
    a.returns = list;
    a.return_count = (uint16_t)below(9);
    a.ask = below(2);
    a.tell = below(2);
    a.return_base >>= 1;
    a.next |= (uint64_t)1 << 62;
    for (i = 0; i < a.return_count; i++) {
        t.number = ((uint64_t)(i / 2) << 32) + 1; /* two of each frame */
        t.place = (uint16_t)(i % 2 * 1000 + below(1000));
        t.reason = 1 + (int)below(3);
        phx__wire_data_put_return(&returns, &t);
    }
    a.seen = below(2) ? a.seen | 1 : 0;
    phx__wire_data_put_ack(w, &a, 0, (int)below(256));
}

static void make_fixed(struct phx__writer *w, int type)
{
    struct phx__request q;
    struct phx__beat b;
    struct phx__suspect s;
    struct phx__probe p;
    struct phx__hand h;
    struct phx__trace t;

    scatter(&t, sizeof t);
    t.number |= 1;
    t.why = -(int)below(65536);
    scatter(&h, sizeof h);
    h.first >>= 1;
    h.last |= (uint64_t)1 << 63;
    h.incarnation >>= 1;
    scatter(&q, sizeof q);
    q.incarnation >>= 1;
    q.seq >>= 1;
    scatter(&b, sizeof b);
    scatter(&s, sizeof s);
    s.incarnation >>= 1;
    s.seq >>= 1;
    scatter(&p, sizeof p);
    switch (type) {
    case PHX__REFUSE: phx__wire_link_put(w, PHX__REFUSE, 0, 0, &(int){ -(int)(1 + below(65535)) }); break;
    case PHX__REQUEST: phx__wire_link_put(w, PHX__REQUEST, 0, (int)below(256), &q); break;
    case PHX__BEAT: phx__wire_link_put(w, PHX__BEAT, (int)below(16), 0, &b); break;
    case PHX__SUSPECT: phx__wire_link_put(w, PHX__SUSPECT, 0, (int)below(256), &s); break;
    case PHX__PROBE: phx__wire_link_put(w, PHX__PROBE, (int)below(2), (int)below(256), &p); break;
    case PHX__HAND: phx__wire_link_put(w, PHX__HAND, 0, (int)below(256), &h); break;
    case PHX__TRACE: phx__wire_link_put(w, PHX__TRACE, (int)below(2), (int)below(256), &t); break;
    default: make_ack(w);
    }
}

static inline size_t make(uint8_t *out, size_t capacity, int type)
{
    struct phx__writer w;

    phx__buf_writer_init(&w, out, capacity);
    switch (type) {
    case PHX__HELLO: make_hello(&w); break;
    case PHX__ANSWER: make_answer(&w); break;
    case PHX__PROOF: make_proof(&w); break;
    case PHX__UPDATE: make_update(&w); break;
    case PHX__CARD: make_card_part(&w); break;
    case PHX__SUMMARY: make_summary(&w); break;
    case PHX__DATA: make_data(&w); break;
    case PHX__CAST: make_cast(&w); break;
    default: make_fixed(&w, type);
    }
    check(!w.bad, "type %d fits", type);
    return w.size;
}

/* ---- remake: 1 and the same frame encoded again, or 0 if a decoder refuses it */

/* Into the writer, without going through the bytes of the claims. */
static int remake_card(struct phx__writer *w, const uint8_t *data, size_t size)
{
    static struct phx__claim claims[3000]; /* more do not fit a frame */
    struct phx__card card;
    uint32_t i;

    if (phx__wire_route_get_card(data, size, &card) != 0)
        return 0;
    if (!check(card.claim_count <= 3000, "a card in a frame has few claims"))
        return 0;
    for (i = 0; i < card.claim_count; i++)
        phx__wire_route_claim(&card, i, &claims[i]);
    phx__wire_route_put_card(w, &card, claims);
    return 1;
}

static int remake_update(struct phx__writer *w, const struct phx__frame *f)
{
    static uint8_t card[ROOM];
    size_t start = phx__wire_route_begin_update(w);
    struct phx__reader r;
    struct phx__entry e;
    struct phx__writer cw;
    int more;

    if (phx__wire_route_get_update(f, &r) != 0)
        return 0;
    while ((more = phx__wire_route_next_entry(&r, &e)) == 1) {
        phx__buf_writer_init(&cw, card, sizeof card);
        if (e.card != NULL && !remake_card(&cw, e.card, e.card_size))
            return 0;
        e.card = e.card != NULL ? card : NULL;
        e.card_size = (uint32_t)cw.size;
        phx__wire_route_put_entry(w, &e);
    }
    if (more < 0)
        check(phx__wire_route_next_entry(&r, &e) == PHX_EPROTO, "an error stays one");
    phx__wire_end(w, start);
    return more == 0;
}

static int remake_summary(struct phx__writer *w, const struct phx__frame *f)
{
    size_t start = phx__wire_begin(w, PHX__SUMMARY, f->flags & 3, 0);
    struct phx__entry line;
    struct phx__reader r;
    int more;

    phx__buf_reader_init(&r, f->body, f->size);
    while ((more = phx__wire_route_next_summary_line(&r, &line)) == 1)
        phx__wire_route_put_summary_line(w, &line);
    phx__wire_end(w, start);
    return more == 0;
}

static int remake_handshake(struct phx__writer *w, const struct phx__frame *f)
{
    struct phx__hello h;
    struct phx__answer a;
    struct phx__proof p;
    int reason;

    if (phx__wire_link_get(f, PHX__HELLO, &h) == 0)
        phx__wire_link_put(w, PHX__HELLO, f->flags & 1, 0, &h);
    else if (phx__wire_link_get(f, PHX__ANSWER, &a) == 0)
        phx__wire_link_put(w, PHX__ANSWER, f->flags & 1, 0, &a);
    else if (phx__wire_link_get(f, PHX__PROOF, &p) == 0)
        phx__wire_link_put(w, PHX__PROOF, 0, 0, &p);
    else if (phx__wire_link_get(f, PHX__REFUSE, &reason) == 0)
        phx__wire_link_put(w, PHX__REFUSE, 0, 0, &reason);
    else
        return 0;
    return 1;
}

static int remake_cast(struct phx__writer *w, const struct phx__frame *f)
{
    struct phx__wire_cast c;
    struct phx__data d;
    size_t start;
    uint32_t i;
    int flags;

    if (phx__wire_data_get_cast(f, &c) != 0)
        return 0;
    start = phx__wire_data_begin_cast(w, f->flags & 3, f->hops, c.count);
    for (i = 0; i < c.count; i++) {
        phx__wire_data_cast_line(&c, f, i, &d, &flags);
        check((flags & 3) == (f->flags & 3)
                  && ((flags & (int)PHX__DATA_SEEN) != 0) == (d.seen != 0),
              "what a line stands for");
        phx__wire_data_put_cast_line(w, f->flags, &d);
    }
    phx__wire_data_end_cast(w, start, f->flags, &d);
    phx__buf_put_bytes(w, c.common.payload, c.common.size);
    return 1;
}

static int remake_rest(struct phx__writer *w, const struct phx__frame *f)
{
    struct phx__card_part c;
    struct phx__request q;
    struct phx__beat b;
    struct phx__data d;
    struct phx__ack a;
    struct phx__suspect s;
    struct phx__probe p;
    struct phx__hand h;
    struct phx__trace t;

    if (phx__wire_route_get_card_part(f, &c) == 0) {
        phx__wire_route_put_card_part(w, &c);
    } else if (phx__wire_link_get(f, PHX__REQUEST, &q) == 0) {
        phx__wire_link_put(w, PHX__REQUEST, 0, f->hops, &q);
    } else if (phx__wire_link_get(f, PHX__BEAT, &b) == 0) {
        phx__wire_link_put(w, PHX__BEAT, f->flags & 15, 0, &b);
    } else if (phx__wire_data_get(f, &d) == 0) {
        phx__wire_data_put(w, &d, f->flags & 95, f->hops);
        phx__buf_put_bytes(w, d.payload, d.size);
    } else if (phx__wire_data_get_ack(f, &a) == 0) {
        phx__wire_data_put_ack(w, &a, f->flags & (int)PHX__ACK_GAP, f->hops);
    } else if (phx__wire_link_get(f, PHX__SUSPECT, &s) == 0) {
        phx__wire_link_put(w, PHX__SUSPECT, 0, f->hops, &s);
    } else if (phx__wire_link_get(f, PHX__PROBE, &p) == 0) {
        phx__wire_link_put(w, PHX__PROBE, f->flags & 1, f->hops, &p);
    } else if (phx__wire_link_get(f, PHX__HAND, &h) == 0) {
        phx__wire_link_put(w, PHX__HAND, 0, f->hops, &h);
    } else if (phx__wire_link_get(f, PHX__TRACE, &t) == 0) {
        phx__wire_link_put(w, PHX__TRACE, f->flags & 1, f->hops, &t);
    } else {
        return remake_cast(w, f);
    }
    return 1;
}

/* That each decoder refuses frames of other types is tested by asking all of them here. */
static int remake(const struct phx__frame *f, uint8_t *out, size_t *size)
{
    struct phx__writer w;
    int good;

    phx__buf_writer_init(&w, out, ROOM);
    if (f->type == PHX__UPDATE)
        good = remake_update(&w, f);
    else if (f->type == PHX__SUMMARY)
        good = remake_summary(&w, f);
    else if (f->type < PHX__UPDATE)
        good = remake_handshake(&w, f);
    else
        good = remake_rest(&w, f);
    *size = w.size;
    return good && check(!w.bad, "type %d is encoded again", f->type);
}

/* ---- What must hold of any bytes */

/* May `after` be what remains of `before` if ignored bits are cleared? At most one byte was changed, so at
 * most one may differ, and only by bits that went. */
static int is_cleaned(const uint8_t *before, const uint8_t *after, size_t size)
{
    size_t i, differ = 0;

    for (i = 0; i < size; i++) {
        if ((after[i] & ~before[i]) != 0)
            return 0;
        differ += after[i] != before[i];
    }
    return differ <= 1;
}

/* Gives bytes to the decoders. 1: accepted, and then it came out again in one form. strict: also the form it
 * went in. */
static inline int taste(const uint8_t *bytes, size_t size, int strict)
{
    static uint8_t first[ROOM], second[ROOM];
    size_t used, n1 = 0, n2 = 0;
    struct phx__frame f;
    char why[SPEC_WHY];
    uint8_t *copy = malloc(size > 0 ? size : 1);
    int good, opinion;

    if (copy == NULL)
        return check(0, "memory");
    memcpy(copy, bytes, size);
    good = phx__wire_parse(copy, size, &f, &used) == 1 && used == size && remake(&f, first, &n1);
    opinion = spec_check_frame(bytes, size, why);
    check(good == opinion, "type %d: decoder says %d, WIRE.md %d %s", bytes[4], good, opinion, why);
    free(copy);
    if (!good)
        return 0;
    if (strict)
        check(n1 == size && is_cleaned(bytes, first, size), "type %d comes out as it went in",
              bytes[4]);
    good = phx__wire_parse(first, n1, &f, &used) == 1 && used == n1 && remake(&f, second, &n2);
    check(good && n1 == n2 && memcmp(first, second, n1) == 0, "type %d has one form", bytes[4]);
    return 1;
}

/* ---- One frame of given values */

/* Encodes into a fresh frame and parses it. */
static uint8_t value_bytes[ROOM];
static struct phx__writer value;
static struct phx__frame value_frame;

static inline void value_begin(void)
{
    phx__buf_writer_init(&value, value_bytes, sizeof value_bytes);
}

static inline void value_end(void)
{
    size_t used;

    ok(!value.bad && phx__wire_parse(value_bytes, value.size, &value_frame, &used) == 1
           && used == value.size,
       "a frame of type %d", value_bytes[4]);
}

#endif
