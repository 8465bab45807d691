/* t_wire.c - frames there and back, cut off, changed, and fed byte by byte. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "wire/wire.h"
#endif
#include "spec.h"

/* Three tools carry most tests here:
 *
 * make()    writes a good frame of a type with random contents; remake()  decodes a frame and
 * encodes what it got; spec_check_frame() is the second opinion: a parser written from WIRE.md
 * alone.
 *
 * Whatever bytes come, decoder and second opinion must agree on whether they are a frame, and
 * what is accepted must come out of remake() as it went in, but for ignored bits. Frames to be
 * decoded are in blocks of exactly their size, so that the address sanitizer sees one byte too
 * far. */

#define ROOM (PHX__FRAME_MAX + 64)

static uint64_t dice_state = 1;

static uint64_t dice(void)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return dice_state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(dice() >> 33) % n;
}

static void scatter(void *out, size_t size)
{
    uint8_t *p = out;

    while (size > 0)
        p[--size] = (uint8_t)(dice() >> 40);
}

static void make_address(struct phx_address *a)
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
static size_t make_card(uint8_t *out, size_t capacity, uint32_t claims_max)
{
    struct phx__claim claims[64];
    struct phx__card card;
    struct phx__writer w;
    uint64_t at = 0;
    uint32_t i;

    memset(&card, 0, sizeof card);
    card.flags = (uint8_t)below(4);
    card.window = 4096 + below(1 << 20);
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
    phx__wire_put_card(&w, &card, claims);
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
    phx__wire_put_hello(w, &h);
}

static void make_answer(struct phx__writer *w)
{
    struct phx__answer a;

    scatter(&a, sizeof a);
    a.version = (uint16_t)(1 + below(300));
    a.seq = 1 + below(300);
    a.incarnation >>= 1;
    a.card_version = 1 + below(300);
    make_address(&a.observed);
    phx__wire_put_answer(w, &a);
}

static void make_proof(struct phx__writer *w)
{
    struct phx__proof p;

    scatter(&p, sizeof p);
    p.seq = 1 + below(300);
    p.card_version = 1 + below(300);
    make_address(&p.observed);
    phx__wire_put_proof(w, &p);
}

static void make_entry(struct phx__writer *w, int flags, uint32_t id_count)
{
    uint8_t card[1024];
    struct phx__entry e;

    scatter(&e, sizeof e);
    e.flags = (uint8_t)below(3);
    e.incarnation >>= 1;
    e.seq >>= 1;
    e.card_version = e.flags == 0 ? below(2) : 1 + below(100);
    e.card = card;
    e.card_size = (uint32_t)make_card(card, sizeof card, 3);
    e.trans_first = (uint16_t)below(id_count + 1);
    e.trans_count = (uint16_t)below(id_count + 1 - e.trans_first);
    phx__wire_put_entry(w, flags, &e);
}

static void make_update(struct phx__writer *w)
{
    int flags = (int)below(2);
    uint32_t id_count = flags == (int)PHX__UPDATE_TRANS ? below(4) : 0, n = below(4);
    size_t start = phx__wire_begin(w, PHX__UPDATE, flags, 0);
    struct phx_id id;
    uint32_t i;

    phx__buf_put_u16(w, (uint16_t)id_count);
    for (i = 0; i < id_count; i++) {
        scatter(&id, sizeof id);
        phx__buf_put_bytes(w, id.b, sizeof id.b);
    }
    for (i = 0; i < n; i++)
        make_entry(w, flags, id_count);
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
    phx__wire_put_card_part(w, &c);
}

static void make_summary(struct phx__writer *w)
{
    size_t start = phx__wire_begin(w, PHX__SUMMARY, (int)below(4), 0);
    struct phx__summary_line line;
    uint32_t n = below(5);

    while (n-- > 0) {
        scatter(&line, sizeof line);
        phx__wire_put_summary_line(w, &line);
    }
    phx__wire_end(w, start);
}

/* Messages behind the first one of a run: how many bytes. */
static size_t make_run(uint8_t *out, size_t capacity, int flags)
{
    struct phx__writer w;
    uint32_t n = 1 + below(4);

    phx__buf_writer_init(&w, out, capacity);
    for (; n > 0; n--) {
        uint32_t size = below(2) * below(8);

        phx__wire_put_more(&w, flags, 77, size);
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
            flags |= (int)PHX__DATA_RUN | (below(2) ? (int)PHX__DATA_TAGS : 0);
            d.size += make_run(payload + d.size, sizeof payload - d.size, flags);
        }
    }
    phx__wire_put_data_head(w, &d, flags, (int)below(256));
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
    start = phx__wire_begin_cast(w, flags, (int)below(256), n);
    for (i = 0; i < n; i++) {
        scatter(&d.target, sizeof d.target);
        d.seen = below(2) ? d.seen : 0;
        phx__wire_put_cast_line(w, flags, &d);
    }
    phx__wire_end_cast(w, start, flags, &d);
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
    a.return_base >>= 1;
    a.next |= (uint64_t)1 << 62;
    for (i = 0; i < a.return_count; i++) {
        t.number = ((uint64_t)(i / 2) << 32) + 1; /* two of each frame */
        t.place = (uint16_t)(i % 2 * 1000 + below(1000));
        t.reason = 1 + (int)below(3);
        phx__wire_put_return(&returns, &t);
    }
    a.seen = below(2) ? a.seen | 1 : 0;
    phx__wire_put_ack(w, &a, (int)below(256));
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
    scatter(&q, sizeof q);
    scatter(&b, sizeof b);
    scatter(&s, sizeof s);
    scatter(&p, sizeof p);
    switch (type) {
    case PHX__REFUSE: phx__wire_put_refuse(w, -(int)(1 + below(65535))); break;
    case PHX__REQUEST: phx__wire_put_request(w, &q, (int)below(256)); break;
    case PHX__BEAT: phx__wire_put_beat(w, &b, (int)below(16)); break;
    case PHX__SUSPECT: phx__wire_put_suspect(w, &s, (int)below(256)); break;
    case PHX__PROBE: phx__wire_put_probe(w, &p, (int)below(2), (int)below(256)); break;
    case PHX__HAND: phx__wire_put_hand(w, &h, (int)below(256)); break;
    case PHX__TRACE: phx__wire_put_trace(w, &t, (int)below(2), (int)below(256)); break;
    default: make_ack(w);
    }
}

static size_t make(uint8_t *out, size_t capacity, int type)
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

    if (phx__wire_get_card(data, size, &card) != 0)
        return 0;
    if (!check(card.claim_count <= 3000, "a card in a frame has few claims"))
        return 0;
    for (i = 0; i < card.claim_count; i++)
        phx__wire_claim(&card, i, &claims[i]);
    phx__wire_put_card(w, &card, claims);
    return 1;
}

static int remake_update(struct phx__writer *w, const struct phx__frame *f)
{
    static uint8_t card[ROOM];
    size_t start = phx__wire_begin(w, PHX__UPDATE, f->flags & (int)PHX__UPDATE_TRANS, 0);
    struct phx__update u;
    struct phx__entry e;
    struct phx__writer cw;
    int more;

    if (phx__wire_get_update(f, &u) != 0)
        return 0;
    phx__buf_put_u16(w, u.id_count);
    phx__buf_put_bytes(w, u.ids, u.id_count * (size_t)16);
    while ((more = phx__wire_next_entry(&u, f->flags, &e)) == 1) {
        phx__buf_writer_init(&cw, card, sizeof card);
        if (e.card != NULL && !remake_card(&cw, e.card, e.card_size))
            return 0;
        e.card = e.card != NULL ? card : NULL;
        e.card_size = (uint32_t)cw.size;
        phx__wire_put_entry(w, f->flags, &e);
    }
    if (more < 0)
        check(phx__wire_next_entry(&u, f->flags, &e) == PHX_EPROTO, "an error stays one");
    phx__wire_end(w, start);
    return more == 0;
}

static int remake_summary(struct phx__writer *w, const struct phx__frame *f)
{
    size_t start = phx__wire_begin(w, PHX__SUMMARY, f->flags & 3, 0);
    struct phx__summary_line line;
    struct phx__reader r;
    int more;

    phx__buf_reader_init(&r, f->body, f->size);
    while ((more = phx__wire_next_summary_line(&r, &line)) == 1)
        phx__wire_put_summary_line(w, &line);
    phx__wire_end(w, start);
    return more == 0;
}

static int remake_handshake(struct phx__writer *w, const struct phx__frame *f)
{
    struct phx__hello h;
    struct phx__answer a;
    struct phx__proof p;
    int reason;

    if (phx__wire_get_hello(f, &h) == 0)
        phx__wire_put_hello(w, &h);
    else if (phx__wire_get_answer(f, &a) == 0)
        phx__wire_put_answer(w, &a);
    else if (phx__wire_get_proof(f, &p) == 0)
        phx__wire_put_proof(w, &p);
    else if (phx__wire_get_refuse(f, &reason) == 0)
        phx__wire_put_refuse(w, reason);
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

    if (phx__wire_get_cast(f, &c) != 0)
        return 0;
    start = phx__wire_begin_cast(w, f->flags & 3, f->hops, c.count);
    for (i = 0; i < c.count; i++) {
        phx__wire_cast_line(&c, f, i, &d, &flags);
        check((flags & 3) == (f->flags & 3)
                  && ((flags & (int)PHX__DATA_SEEN) != 0) == (d.seen != 0),
              "what a line stands for");
        phx__wire_put_cast_line(w, f->flags, &d);
    }
    phx__wire_end_cast(w, start, f->flags, &d);
    phx__buf_put_bytes(w, c.payload, c.size);
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

    if (phx__wire_get_card_part(f, &c) == 0) {
        phx__wire_put_card_part(w, &c);
    } else if (phx__wire_get_request(f, &q) == 0) {
        phx__wire_put_request(w, &q, f->hops);
    } else if (phx__wire_get_beat(f, &b) == 0) {
        phx__wire_put_beat(w, &b, f->flags & 15);
    } else if (phx__wire_get_data(f, &d) == 0) {
        phx__wire_put_data_head(w, &d, f->flags & 31, f->hops);
        phx__buf_put_bytes(w, d.payload, d.size);
    } else if (phx__wire_get_ack(f, &a) == 0) {
        phx__wire_put_ack(w, &a, f->hops);
    } else if (phx__wire_get_suspect(f, &s) == 0) {
        phx__wire_put_suspect(w, &s, f->hops);
    } else if (phx__wire_get_probe(f, &p) == 0) {
        phx__wire_put_probe(w, &p, f->flags & 1, f->hops);
    } else if (phx__wire_get_hand(f, &h) == 0) {
        phx__wire_put_hand(w, &h, f->hops);
    } else if (phx__wire_get_trace(f, &t) == 0) {
        phx__wire_put_trace(w, &t, f->flags & 1, f->hops);
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

/* ---- Any bytes */

/* May `after` be what remains of `before` if ignored bits are cleared? At most one byte was
 * changed, so at most one may differ, and only by bits that went. */
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

/* Gives bytes to the decoders. 1: accepted, and then it came out again in one form. strict: also
 * the form it went in. */
static int taste(const uint8_t *bytes, size_t size, int strict)
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

static void put_size(uint8_t *frame, size_t size)
{
    struct phx__writer w;

    phx__buf_writer_init(&w, frame, 4);
    phx__buf_put_u32(&w, (uint32_t)(size - 4));
}

static void test_round_trip(void)
{
    /* Goal: what is encoded is decoded to the same, for random contents. Method: 2,000 frames of
     * each type are decoded and encoded again, and the bytes compared. */
    static uint8_t frame[ROOM], again[ROOM];
    struct phx__frame f;
    size_t size, used, n;
    int type, i, bad;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        bad = 0;
        for (i = 0; i < 2000; i++) {
            size = make(frame, sizeof frame, type);
            bad += phx__wire_parse(frame, size, &f, &used) != 1 || used != size || f.type != type;
            bad += !remake(&f, again, &n) || n != size || memcmp(frame, again, n) != 0;
            bad += !taste(frame, size, 1);
        }
        ok(bad == 0, "type %d there and back", type);
    }
}

static void test_truncation(void)
{
    /* Goal: no frame is taken for another when its end is missing. Method: cut at every length,
     * once as a stream that has not arrived yet, once with a size field that agrees. Where a
     * shorter body is another good frame (an entry less, less data), the second opinion has to
     * think so too. */
    static uint8_t frame[ROOM];
    struct phx__frame f;
    size_t size, n, used;
    int type, round, early, taken;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        early = taken = 0;
        for (round = 0; round < 50; round++) {
            size = make(frame, sizeof frame, type);
            for (n = 0; n < size; n++)
                early += phx__wire_parse(frame, n, &f, &used) != 0 || used != (n < 4 ? 0 : size);
            for (n = size - 1; n >= 8; n--) {
                put_size(frame, n);
                taken += taste(frame, n, 1);
            }
        }
        ok(early == 0, "type %d: part of a frame is not one", type);
        if (type != PHX__UPDATE && type != PHX__SUMMARY && type != PHX__CARD && type != PHX__DATA
            && type != PHX__CAST)
            ok(taken == 0, "type %d: cut short is refused at every length", type);
    }
}

static void test_trailing(void)
{
    /* Goal: bytes behind the last field are an error. Method: one more byte in the body. Those
     * types whose body ends with bytes of any number take it as one of these. */
    static uint8_t frame[ROOM];
    size_t size;
    int type, round, taken;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        taken = 0;
        for (round = 0; round < 200; round++) {
            size = make(frame, sizeof frame, type);
            frame[size] = 0;
            put_size(frame, size + 1);
            taken += taste(frame, size + 1, 1);
        }
        if (type != PHX__CARD && type != PHX__DATA
            && type != PHX__CAST)
            ok(taken == 0, "type %d: a byte too many is refused", type);
    }
}

static void test_mutation(void)
{
    /* Goal: no byte that a peer may send makes us crash, read too far, or understand it in two
     * ways. Method: every value of every byte, one at a time, in several frames of each type. */
    static uint8_t frame[ROOM];
    long tried, taken;
    size_t size, i;
    uint8_t was;
    int type, round, v;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        tried = taken = 0;
        for (round = 0; round < 6; round++) {
            size = make(frame, sizeof frame, type);
            for (i = 0; i < size; i++) {
                was = frame[i];
                for (v = 0; v < 256; v++) {
                    frame[i] = (uint8_t)v;
                    tried += v != was;
                    taken += taste(frame, size, 1) && v != was;
                }
                frame[i] = was;
            }
        }
        ok(taken > 0 && taken < tried, "type %d: %ld of %ld changed frames are good", type, taken,
           tried);
    }
}

static void test_noise(void)
{
    /* Goal: as above, further from anything good. Method: random bytes behind a good header, and
     * good frames with up to 8 changed bytes. */
    static uint8_t frame[ROOM];
    size_t size;
    int type, round, n;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        for (round = 0; round < 5000; round++) {
            size = make(frame, sizeof frame, type);
            for (n = (int)below(8); n >= 0; n--)
                frame[4 + below((uint32_t)size - 4)] = (uint8_t)dice();
            taste(frame, size, 0);
            size = 8 + below(200);
            scatter(frame + 8, size - 8);
            put_size(frame, size);
            frame[4] = (uint8_t)type;
            frame[6] = frame[7] = 0;
            taste(frame, size, 0);
        }
    }
    ok(1, "noise was survived, and both parsers agreed on it");
}

/* ---- Values: that fields do not change places, which a round trip would not see */

/* Encodes into a fresh frame and parses it. */
static uint8_t value_bytes[ROOM];
static struct phx__writer value;
static struct phx__frame value_frame;

static void value_begin(void)
{
    phx__buf_writer_init(&value, value_bytes, sizeof value_bytes);
}

static void value_end(void)
{
    size_t used;

    ok(!value.bad && phx__wire_parse(value_bytes, value.size, &value_frame, &used) == 1
           && used == value.size,
       "a frame of type %d", value_bytes[4]);
}

static void test_handshake_values(void)
{
    /* Goal: fields arrive in the fields they left from. Method: all different, compared one by
     * one. */
    struct phx__hello h, h2;
    struct phx__answer a, a2;
    struct phx__proof p, p2;
    int reason = 0;

    scatter(&h, sizeof h);
    h.incarnation >>= 1;
    h.magic = PHX__WIRE_MAGIC;
    h.version_min = 3;
    h.version_max = 4;
    value_begin();
    phx__wire_put_hello(&value, &h);
    value_end();
    ok(phx__wire_get_hello(&value_frame, &h2) == 0 && h2.version_min == 3 && h2.version_max == 4
           && h2.features == h.features && h2.incarnation == h.incarnation
           && phx__id_equal(&h.id, &h2.id) && memcmp(h.cluster, h2.cluster, 8) == 0
           && memcmp(h.nonce, h2.nonce, PHX__NONCE) == 0,
       "HELLO");
    scatter(&a, sizeof a);
    a.incarnation >>= 1;
    a.version = 5;
    a.seq = 6;
    a.card_version = 7;
    do
        make_address(&a.observed);
    while (a.observed.family != PHX_IPV6);
    value_begin();
    phx__wire_put_answer(&value, &a);
    value_end();
    ok(phx__wire_get_answer(&value_frame, &a2) == 0 && a2.version == 5 && a2.features == a.features
           && a2.incarnation == a.incarnation && phx__id_equal(&a.id, &a2.id)
           && memcmp(a.nonce, a2.nonce, PHX__NONCE) == 0 && memcmp(a.mac, a2.mac, PHX__MAC) == 0
           && memcmp(a.mac_other, a2.mac_other, PHX__MAC) == 0
           && a2.seq == 6 && a2.card_version == 7 && a2.have == a.have
           && phx__addr_equal(&a.observed, &a2.observed),
       "ANSWER");
    ok(memcmp(value_frame.body + value_frame.size - 64, a.mac, 32) == 0
           && memcmp(value_frame.body + value_frame.size - 32, a.mac_other, 32) == 0,
       "its macs are last");
    scatter(&p, sizeof p);
    p.seq = 8;
    p.card_version = 9;
    make_address(&p.observed);
    value_begin();
    phx__wire_put_proof(&value, &p);
    value_end();
    ok(phx__wire_get_proof(&value_frame, &p2) == 0 && memcmp(p.mac, p2.mac, PHX__MAC) == 0
           && p2.seq == 8 && p2.card_version == 9 && p2.have == p.have
           && phx__addr_equal(&p.observed, &p2.observed),
       "PROOF");
    value_begin();
    phx__wire_put_refuse(&value, PHX_EKEY);
    value_end();
    ok(phx__wire_get_refuse(&value_frame, &reason) == 0 && reason == PHX_EKEY, "REFUSE");
}

/* ANSWER or PROOF with one u32 of its body set: is it taken? */
static int standing_is_taken(int type, size_t offset, uint32_t number)
{
    struct phx__writer w;

    value_begin();
    if (type == PHX__ANSWER)
        make_answer(&value);
    else
        make_proof(&value);
    phx__buf_writer_init(&w, value_bytes + PHX__WIRE_HEADER + offset, 4);
    phx__buf_put_u32(&w, number);
    return taste(value_bytes, value.size, 1);
}

static void test_standing(void)
{
    /* Goal: seq, card_version and have stand where WIRE.md says; the first two are never 0, and the first
     * is not above 2^31.
     * Method: each set by hand at its offset. */
    static const size_t at[] = {46, 0};
    int type, i;

    for (i = 0; i < 2; i++) {
        type = i == 0 ? PHX__ANSWER : PHX__PROOF;
        ok(!standing_is_taken(type, at[i], 0), "type %d: seq 0", type);
        ok(standing_is_taken(type, at[i], 1) && standing_is_taken(type, at[i], 0x80000000u),
           "type %d: seq 1 and the last", type);
        ok(!standing_is_taken(type, at[i], 0x80000001u), "type %d: seq above it", type);
        ok(!standing_is_taken(type, at[i] + 4, 0), "type %d: card version 0", type);
        ok(standing_is_taken(type, at[i] + 4, 1), "type %d: card version 1", type);
        ok(standing_is_taken(type, at[i] + 8, 0) && standing_is_taken(type, at[i] + 8, UINT32_MAX),
           "type %d: have may be anything", type);
    }
}

static void test_handshake_sizes(void)
{
    /* Goal: section 7's sizes, which link's buffers are made for. Method: no address and the
     * longest. */
    struct phx__answer a;
    struct phx__proof p;

    memset(&a, 0, sizeof a);
    memset(&p, 0, sizeof p);
    a.version = 1;
    a.seq = a.card_version = p.seq = p.card_version = 1;
    value_begin();
    phx__wire_put_answer(&value, &a);
    ok(value.size == 8 + 123, "the shortest ANSWER");
    value_begin();
    phx__wire_put_proof(&value, &p);
    ok(value.size == 8 + 45, "the shortest PROOF");
    a.observed.family = PHX_UNIX;
    memset(a.observed.path, '/', 103);
    p.observed = a.observed;
    value_begin();
    phx__wire_put_answer(&value, &a);
    ok(value.size == 235, "the longest ANSWER");
    value_begin();
    phx__wire_put_proof(&value, &p);
    ok(value.size == 157, "the longest PROOF");
}

static void test_routing_values(void)
{
    /* As above. */
    struct phx__entry e, e2;
    struct phx__update u;
    struct phx__card_part c, c2;
    struct phx__request q, q2;
    struct phx__beat b, b2;
    struct phx_id ids[3];
    size_t start;

    scatter(ids, sizeof ids);
    scatter(&e, sizeof e);
    e.incarnation >>= 1;
    e.seq >>= 1;
    e.flags = PHX__ENTRY_CARD_SENT;
    e.card_version = 77;
    e.trans_first = 1;
    e.trans_count = 2;
    value_begin();
    start = phx__wire_begin(&value, PHX__UPDATE, PHX__UPDATE_TRANS, 0);
    phx__buf_put_u16(&value, 3);
    phx__buf_put_bytes(&value, ids, sizeof ids);
    phx__wire_put_entry(&value, PHX__UPDATE_TRANS, &e);
    phx__wire_end(&value, start);
    value_end();
    ok(phx__wire_get_update(&value_frame, &u) == 0 && u.id_count == 3
           && memcmp(u.ids, ids, sizeof ids) == 0,
       "UPDATE");
    ok(phx__wire_next_entry(&u, value_frame.flags, &e2) == 1 && phx__id_equal(&e.id, &e2.id)
           && e2.incarnation == e.incarnation && e2.seq == e.seq && e2.hops == e.hops
           && e2.flags == e.flags && e2.card_version == 77 && e2.card == NULL && e2.card_size == 0
           && e2.trans_first == 1 && e2.trans_count == 2,
       "its entry");
    ok(phx__wire_next_entry(&u, value_frame.flags, &e2) == 0, "and no other");

    scatter(&c, sizeof c);
    c.version = 5;
    c.total = 1000;
    c.offset = 100;
    c.data = (const uint8_t *)ids;
    c.size = sizeof ids;
    value_begin();
    phx__wire_put_card_part(&value, &c);
    value_end();
    ok(phx__wire_get_card_part(&value_frame, &c2) == 0 && phx__id_equal(&c.id, &c2.id)
           && c2.incarnation == c.incarnation && c2.version == 5 && c2.total == 1000
           && c2.offset == 100 && c2.size == sizeof ids && memcmp(c2.data, ids, sizeof ids) == 0,
       "CARD");
    scatter(&q, sizeof q);
    value_begin();
    phx__wire_put_request(&value, &q, 9);
    value_end();
    ok(phx__wire_get_request(&value_frame, &q2) == 0 && phx__id_equal(&q.id, &q2.id)
           && q2.incarnation == q.incarnation && q2.seq == q.seq && value_frame.hops == 9,
       "REQUEST");
    scatter(&b, sizeof b);
    value_begin();
    phx__wire_put_beat(&value, &b, PHX__BEAT_MONITOR);
    value_end();
    ok(phx__wire_get_beat(&value_frame, &b2) == 0 && b2.next_ms == b.next_ms
           && b2.digest == b.digest && b2.around == b.around
           && b2.around_count == b.around_count && b2.echo_ms == b.echo_ms
           && value_frame.flags == PHX__BEAT_MONITOR,
       "BEAT");
}

static void test_live_values(void)
{
    /* As above, and the offset that relays rely on. */
    struct phx__suspect s, s2;
    struct phx__probe p, p2;

    scatter(&s, sizeof s);
    value_begin();
    phx__wire_put_suspect(&value, &s, 7);
    value_end();
    ok(phx__wire_get_suspect(&value_frame, &s2) == 0 && phx__id_equal(&s.id, &s2.id)
           && phx__id_equal(&s.accuser, &s2.accuser) && s2.incarnation == s.incarnation
           && s2.seq == s.seq && value_frame.hops == 7,
       "SUSPECT");
    scatter(&p, sizeof p);
    value_begin();
    phx__wire_put_probe(&value, &p, PHX__PROBE_ANSWER, 8);
    value_end();
    ok(phx__wire_get_probe(&value_frame, &p2) == 0 && phx__id_equal(&p.target, &p2.target)
           && phx__id_equal(&p.subject, &p2.subject) && phx__id_equal(&p.asker, &p2.asker)
           && value_frame.flags == PHX__PROBE_ANSWER && value_frame.hops == 8
           && memcmp(value.data + PHX__DATA_TARGET, p.target.b, 16) == 0,
       "PROBE");
}

static void test_hand_values(void)
{
    /* As above. */
    struct phx__hand h, h2;

    scatter(&h, sizeof h);
    h.first = 5;
    h.last = UINT64_MAX;
    value_begin();
    phx__wire_put_hand(&value, &h, 6);
    value_end();
    ok(phx__wire_get_hand(&value_frame, &h2) == 0 && phx__id_equal(&h.target, &h2.target)
           && phx__id_equal(&h.giver, &h2.giver) && h2.incarnation == h.incarnation
           && h2.first == 5 && h2.last == UINT64_MAX && h2.epoch == h.epoch
           && value_frame.hops == 6 && memcmp(value.data + PHX__DATA_TARGET, h.target.b, 16) == 0,
       "HAND");
    h.last = 4;
    value_begin();
    phx__wire_put_hand(&value, &h, 6);
    value_end();
    ok(phx__wire_get_hand(&value_frame, &h2) == PHX_EPROTO, "of names that end before they begin");
}

static void test_trace_values(void)
{
    /* As above. */
    struct phx__trace t, t2;
    int flags;

    scatter(&t, sizeof t);
    t.number = 7;
    t.why = -65535;
    for (flags = 0; flags < 2; flags++) {
        value_begin();
        phx__wire_put_trace(&value, &t, flags, 6);
        value_end();
        ok(phx__wire_get_trace(&value_frame, &t2) == 0 && phx__id_equal(&t.target, &t2.target)
               && phx__id_equal(&t.source, &t2.source) && t2.key == t.key && t2.number == 7
               && t2.distance == (flags ? t.distance : 0) && t2.why == (flags ? -65535 : 0)
               && value_frame.hops == 6
               && memcmp(value.data + PHX__DATA_TARGET, t.target.b, 16) == 0,
           flags ? "TRACE, an answer" : "TRACE, a question");
        value_frame.flags ^= 1;
        ok(phx__wire_get_trace(&value_frame, &t2) == PHX_EPROTO, "and not the other of the two");
    }
    t.number = 0;
    value_begin();
    phx__wire_put_trace(&value, &t, 0, 6);
    value_end();
    ok(phx__wire_get_trace(&value_frame, &t2) == PHX_EPROTO, "hops are counted from 1");
}

static void test_post_values(void)
{
    /* As above, and the offsets that relays rely on. */
    struct phx__data d, d2;
    uint8_t returns[2 * PHX__RETURN_SIZE];
    struct phx__writer list;
    struct phx__return t[2];
    struct phx__ack a, a2;

    scatter(&d, sizeof d);
    d.total = 100;
    d.size = 16;
    value_begin();
    phx__wire_put_data_head(&value, &d, PHX__DATA_FIRST, 200);
    ok(value.size == PHX__DATA_FIRST_HEAD, "the head of a first fragment");
    phx__buf_put_bytes(&value, d.source.b, 16);
    value_end();
    ok(phx__wire_get_data(&value_frame, &d2) == 0 && phx__id_equal(&d.target, &d2.target)
           && phx__id_equal(&d.source, &d2.source) && d2.number == d.number && d2.epoch == d.epoch
           && d2.to == d.to && d2.from == d.from && d2.tag == d.tag && d2.total == 100
           && d2.size == 16 && memcmp(d2.payload, d.source.b, 16) == 0,
       "DATA");
    ok(memcmp(value_bytes + PHX__DATA_TARGET, d.target.b, 16) == 0, "its target's place");
    ok(value_bytes[PHX__DATA_HOPS] == 200, "its hops' place");
    value_begin();
    phx__wire_put_data_head(&value, &d, 0, 1);
    ok(value.size == PHX__DATA_HEAD, "the head of another fragment");
    phx__buf_put_bytes(&value, d.source.b, 16);
    value_end();
    ok(phx__wire_get_data(&value_frame, &d2) == 0 && d2.to == 0 && d2.total == 0 && d2.size == 16,
       "has no fields of a first one");
    scatter(&a, sizeof a);
    a.return_count = 0;
    a.seen = 0;
    value_begin();
    phx__wire_put_ack(&value, &a, 3);
    value_end();
    ok(phx__wire_get_ack(&value_frame, &a2) == 0 && phx__id_equal(&a.target, &a2.target)
           && phx__id_equal(&a.source, &a2.source) && a2.epoch == a.epoch && a2.next == a.next
           && a2.window == a.window && a2.return_count == 0 && a2.seen == 0,
       "ACK");
    ok(value.size == 60, "which is short without returns");
    phx__buf_writer_init(&list, returns, sizeof returns);
    t[0].number = 5;
    t[0].place = 0;
    t[0].reason = PHX__RETURN_MOVED;
    t[1].number = 8;
    t[1].place = 300;
    t[1].reason = PHX__RETURN_AGAIN;
    phx__wire_put_return(&list, &t[0]);
    phx__wire_put_return(&list, &t[1]);
    a.next = 9;
    a.returns = returns;
    a.return_base = 3;
    a.return_count = 2;
    a.seen = 77;
    value_begin();
    phx__wire_put_ack(&value, &a, 3);
    value_end();
    ok(phx__wire_get_ack(&value_frame, &a2) == 0 && a2.return_base == 3 && a2.return_count == 2
           && a2.seen == 77 && a2.seen_epoch == a.seen_epoch,
       "ACK with returns");
    phx__wire_return(&a2, 0, &t[0]);
    phx__wire_return(&a2, 1, &t[1]);
    ok(t[0].number == 5 && t[0].place == 0 && t[0].reason == (int)PHX__RETURN_MOVED
           && t[1].number == 8 && t[1].place == 300 && t[1].reason == (int)PHX__RETURN_AGAIN,
       "which are these");
    ok(memcmp(value_bytes + PHX__DATA_TARGET, a.target.b, 16) == 0, "its target's place");
}

/* ---- Streams and limits */

static void test_stream(void)
{
    /* Goal: frames are found in a stream however it is cut. Method: one of each type in a row,
     * given a byte more each time. */
    static uint8_t bytes[ROOM];
    size_t size = 0, at = 0, end[PHX__FRAME_TYPES], used, n;
    struct phx__frame f;
    int type, found = 1, bad = 0, got;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        size += make(bytes + size, sizeof bytes - size, type);
        end[type] = size;
    }
    for (n = 0; n <= size; n++) {
        got = phx__wire_parse(bytes + at, n - at, &f, &used);
        if (n < end[found]) {
            bad += got != 0 || used != (n - at < 4 ? 0 : end[found] - at);
            continue;
        }
        bad += got != 1 || f.type != found || at + used != end[found];
        at = end[found++];
        if (found == (int)PHX__FRAME_TYPES)
            break;
    }
    ok(bad == 0 && found == (int)PHX__FRAME_TYPES && at == size, "a stream fed byte by byte");
}

/* What parse says to a header of this size field, type, hops and zero byte, all 8 bytes of it or
 * fewer. */
static int parse_header(uint32_t rest, int type, int hops, int zero, size_t given)
{
    uint8_t header[8];
    struct phx__writer w;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&w, header, sizeof header);
    phx__buf_put_u32(&w, rest);
    phx__buf_put_u8(&w, (uint8_t)type);
    phx__buf_put_u8(&w, 0xff); /* flags: all, also unknown ones */
    phx__buf_put_u8(&w, (uint8_t)hops);
    phx__buf_put_u8(&w, (uint8_t)zero);
    return phx__wire_parse(header, given, &f, &used);
}

static void test_headers(void)
{
    /* Goal: section 2 at its edges. Method: by hand; bad ones as soon as their byte is there. */
    ok(parse_header(3, PHX__BEAT, 0, 0, 3) == 0, "three bytes say nothing");
    ok(parse_header(3, PHX__BEAT, 0, 0, 4) == PHX_EPROTO, "size 3");
    ok(parse_header(4, PHX__SUMMARY, 0, 0, 8) == 1, "size 4");
    ok(parse_header(0, PHX__BEAT, 0, 0, 4) == PHX_EPROTO, "size 0");
    ok(parse_header(PHX__FRAME_MAX - 4, PHX__DATA, 0, 0, 8) == 0, "the largest frame");
    ok(parse_header(PHX__FRAME_MAX - 3, PHX__DATA, 0, 0, 4) == PHX_EPROTO, "one more");
    ok(parse_header(UINT32_MAX, PHX__DATA, 0, 0, 4) == PHX_EPROTO, "4 GiB");
    ok(parse_header(4, 0, 0, 0, 5) == PHX_EPROTO, "type 0");
    ok(parse_header(4, PHX__FRAME_TYPES, 0, 0, 5) == PHX_EPROTO, "type %d", (int)PHX__FRAME_TYPES);
    ok(parse_header(4, PHX__HELLO, 1, 0, 7) == PHX_EPROTO, "hops where nothing travels");
    ok(parse_header(4, PHX__ACK, 255, 0, 8) == 1, "hops where it does");
    ok(parse_header(4, PHX__ACK, 0, 1, 8) == PHX_EPROTO, "the zero byte");
    ok(parse_header(0x20544547, ' ', '/', ' ', 4) == PHX_EPROTO, "GET");
}

static void test_writer_ends(void)
{
    /* Goal: an encoder without room says so and writes nothing past the end. Method: every capacity
     * below what is needed, in a block of that size. */
    struct phx__beat b = {1, 2, 3, 4, 5};
    struct phx__writer w;
    size_t n;
    int bad = 0;

    for (n = 0; n < 36; n++) {
        uint8_t *block = malloc(n > 0 ? n : 1);

        phx__buf_writer_init(&w, block, n);
        phx__wire_put_beat(&w, &b, 0);
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
    return phx__wire_get_data(&f, &d) == 0 && taste(value_bytes, value.size, 1);
}

static void test_data_limits(void)
{
    /* Goal: section 5's list. Method: both sides of each edge. */
    const uint64_t gib = (uint64_t)1 << 30;
    const size_t most = PHX__FRAGMENT;

    ok(data_is_taken(3, 0, 0) == 1, "an empty message");
    ok(data_is_taken(1, 0, 0) == 0, "which must be LAST");
    ok(data_is_taken(2, 0, 0) == 0 && data_is_taken(0, 0, 0) == 0, "and FIRST");
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
    /* Goal: section 5's list for runs. Method: both sides of each edge. The payload is all zeroes, so
     * behind the first message come empty ones: of 2 bytes each, or 10 with tags. */
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
    ok(data_is_taken(3 | (int)PHX__DATA_TAGS, 5, 5) == 0, "tags are of a run");
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
        phx__wire_put_cast_line(&value, flags, &d);
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
    phx__buf_put_u8(&w, (uint8_t)addresses);
    for (i = 0; i < addresses; i++) {
        phx__buf_put_u8(&w, PHX_IPV4);
        phx__buf_put_bytes(&w, "\x7f\0\0\1\1\2", 6);
    }
    phx__buf_put_u32(&w, claim_count);
    for (i = 0; i < numbers; i++)
        phx__buf_put_u64(&w, claims[i]);
    if (phx__wire_get_card(bytes, w.size, &card) != 0)
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
    static const uint8_t none[] = {0, 0, 16, 0, 0, 1, 0, 0, 0, 0, 0}; /* one address of family 0 */
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
    ok(phx__wire_get_card(none, sizeof none, &card) == PHX_EPROTO, "an address that is none");
    ok(!card_is_taken(4096, 0, PHX__CARD_CLAIMS + 1, good, 9), "a count above the limit");
    ok(!card_is_taken(4096, 0, UINT32_MAX, good, 9), "and far above");
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
            bad += (phx__wire_get_card(copy, n, &card) == 0) != (n == size);
            free(copy);
        }
    }
    ok(bad == 0, "cards cut at every length");
}

static void test_large_card(void)
{
    /* Goal: the largest card. Method: 100,000 claims and 8 of the longest addresses; the size is
     * what phx__wire_card_size promises, and every claim is found. */
    const uint32_t count = PHX__CARD_CLAIMS;
    size_t capacity = phx__wire_card_size(8, count);
    struct phx__claim *claims = malloc(count * sizeof *claims), one;
    uint8_t *bytes = malloc(capacity);
    struct phx__card card, got;
    struct phx__writer w;
    uint32_t i;
    int bad = 0;

    memset(&card, 0, sizeof card);
    card.window = 4096;
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
    phx__wire_put_card(&w, &card, claims);
    ok(!w.bad && w.size == capacity && capacity == SPEC_CARD_MAX, "its size is as promised");
    ok(phx__wire_get_card(bytes, w.size, &got) == 0 && got.claim_count == count, "it is taken");
    for (i = 0; i < count; i++) {
        phx__wire_claim(&got, i, &one);
        bad += one.first != i || one.last != i || one.epoch != i + 1;
    }
    ok(bad == 0, "with all claims");
    free(claims);
    free(bytes);
}

static void test_card_addresses(void)
{
    /* Goal: an address that peers would refuse does not cost us the card. Method: a family that
     * nobody knows, none, and a relative path, among good ones. */
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
    phx__wire_put_card(&w, &card, NULL);
    ok(phx__wire_get_card(bytes, w.size, &got) == 0 && got.address_count == 2, "two are left");
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
           && phx__wire_get_card_part(&f, &c) == 0 && taste(value_bytes, value.size, 1);
}

static void test_card_parts(void)
{
    /* Goal: a part lies inside of its card, and a card is not larger than one can be. Method:
     * edges. */
    ok(part_is_taken(1, 10, 0, 10) && !part_is_taken(1, 9, 0, 9), "the smallest card");
    ok(!part_is_taken(0, 10, 0, 10), "version 0");
    ok(!part_is_taken(1, 10, 0, 0) && !part_is_taken(1, 10, 10, 0), "an empty part");
    ok(part_is_taken(1, 20, 19, 1) && !part_is_taken(1, 20, 19, 2), "the last byte");
    ok(!part_is_taken(1, 20, UINT32_MAX, 2), "an offset that wraps");
    ok(part_is_taken(1, SPEC_CARD_MAX, 0, 65536), "the largest card");
    ok(!part_is_taken(1, SPEC_CARD_MAX + 1, 0, 65536), "one byte more");
}

/* The first entry of an UPDATE by hand: 1 taken, 0 refused. */
static int entry_is_taken(unsigned entry_flags, uint32_t version, uint32_t card_size)
{
    uint8_t card[64];
    struct phx__update u;
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
    if ((entry_flags & PHX__ENTRY_CARD) != 0) {
        phx__buf_put_u32(&value, card_size);
        phx__buf_put_bytes(&value, card, 20);
    }
    phx__wire_end(&value, start);
    if (phx__wire_parse(value_bytes, value.size, &f, &used) != 1
        || phx__wire_get_update(&f, &u) != 0)
        return 0;
    return phx__wire_next_entry(&u, f.flags, &e) == 1 && e.flags == (entry_flags & 3)
           && phx__wire_next_entry(&u, f.flags, &e) == 0;
}

static void test_entries(void)
{
    /* Goal: what flags and card of an entry may say together. Method: by hand. */
    ok(entry_is_taken(0, 0, 0) && entry_is_taken(0, 5, 0), "no card, known or not");
    ok(entry_is_taken(PHX__ENTRY_CARD_SENT, 5, 0), "sent before");
    ok(!entry_is_taken(PHX__ENTRY_CARD_SENT, 0, 0), "which has a version");
    ok(entry_is_taken(PHX__ENTRY_CARD, 5, 20), "attached");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 0, 20), "which has a version");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, 21), "a card that ends behind the frame");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, UINT32_MAX), "far behind");
    ok(!entry_is_taken(PHX__ENTRY_CARD, 5, 9), "a card too small to be one");
    ok(!entry_is_taken(3, 5, 20), "attached and sent before");
    ok(entry_is_taken(0xfc, 0, 0), "unknown flags mean nothing");
}

int main(void)
{
    test_round_trip();
    test_truncation();
    test_trailing();
    test_mutation();
    test_noise();
    test_handshake_values();
    test_standing();
    test_handshake_sizes();
    test_routing_values();
    test_live_values();
    test_hand_values();
    test_trace_values();
    test_post_values();
    test_stream();
    test_headers();
    test_writer_ends();
    test_data_limits();
    test_run_limits();
    test_cast_limits();
    test_cards();
    test_card_truncation();
    test_large_card();
    test_card_addresses();
    test_card_parts();
    test_entries();
    return test_end();
}
