/* spec.h - a second parser of the wire format, written from src/WIRE.md alone. */

/* It shares nothing with src/: own readers, own constants, plain C99. If the library's encoders
 * and this parser agree, the page says what the library does. Whoever changes one of the three
 * has to look at the other two.
 *
 *      char why[SPEC_WHY];
 *      struct spec_counts c = spec_check_stream(bytes, size, why);
 *      if (!c.ok) puts(why);
 *
 * takes all that one side of a link has sent, from its first byte, e.g. captured from live nodes,
 * and checks each frame and what the page says about their order. A capture may end in the middle
 * of a frame; c.tail is how many bytes of it are there. spec_check_frame takes one frame by
 * itself.
 *
 * What one direction alone cannot show is not checked: macs, the choice of version, answers to
 * questions, and flows, whose fragments may come over several links.
 *
 * Section numbers in the comments are those of WIRE.md. */
#ifndef SPEC_H
#define SPEC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_WHY 200
#define SPEC_CARD_MAX 2400883u

enum {
    SPEC_HELLO = 1, SPEC_ANSWER, SPEC_PROOF, SPEC_REFUSE, SPEC_UPDATE, SPEC_CARD, SPEC_REQUEST,
    SPEC_BEAT, SPEC_SUMMARY, SPEC_DATA, SPEC_ACK, SPEC_SUSPECT, SPEC_PROBE, SPEC_CAST,
    SPEC_HAND, SPEC_TRACE, SPEC_TYPES
};

struct spec_counts {
    int ok;
    unsigned long frames[SPEC_TYPES]; /* by type */
    unsigned long entries, cards, addresses, claims, lines, messages; /* seen inside of frames */
    size_t bytes; /* in whole frames */
    size_t tail;  /* of a last frame that is not complete */
};

/* One direction of a link, as far as it has been read. */
struct spec_side {
    int alone;           /* a frame by itself: no rules of order */
    int started, up, over;
    unsigned char id[16]; /* whose bytes these are */
    uint64_t own_incarnation;
    uint32_t own_seq;    /* from the handshake, and as it rises */
    int card_sent;       /* this UPDATE has had an entry with CARD_SENT */
    unsigned char *card; /* from CARD frames; NULL: none begun */
    unsigned char card_id[16];
    uint64_t card_incarnation;
    uint32_t card_version, card_total, card_have;
    struct spec_counts counts;
    char *why;
};

/* ---- Section 1: integers, addresses */

struct spec_in {
    const unsigned char *data;
    size_t size, at;
    int bad; /* read past the end */
};

static struct spec_in spec_open(const unsigned char *data, size_t size)
{
    struct spec_in in;

    in.data = data;
    in.size = size;
    in.at = 0;
    in.bad = 0;
    return in;
}

static size_t spec_left(const struct spec_in *in)
{
    return in->bad ? 0 : in->size - in->at;
}

static const unsigned char *spec_take(struct spec_in *in, size_t n)
{
    static const unsigned char zeroes[16];

    if (n > spec_left(in) || in->bad) {
        in->bad = 1;
        return zeroes; /* enough for integers and ids; others look at bad first */
    }
    in->at += n;
    return in->data + in->at - n;
}

/* The u8, u16, u32 or u64 of so many bytes. */
static uint64_t spec_uint(struct spec_in *in, size_t bytes)
{
    const unsigned char *p = spec_take(in, bytes);
    uint64_t v = 0;

    while (bytes > 0)
        v = v * 256 + p[--bytes];
    return v;
}

/* Says why not, once, and returns 0 for the caller to return. */
static int spec_no(struct spec_side *s, const char *format, ...)
{
    va_list args;
    int n;

    if (s->why[0] != '\0')
        return 0;
    n = snprintf(s->why, SPEC_WHY, "at byte %lu: ", (unsigned long)s->counts.bytes);
    va_start(args, format);
    vsnprintf(s->why + n, (size_t)(SPEC_WHY - n), format, args);
    va_end(args);
    return 0;
}

static int spec_end(struct spec_side *s, const struct spec_in *in, const char *what)
{
    if (in->bad)
        return spec_no(s, "%s is too short", what);
    if (in->at != in->size)
        return spec_no(s, "%s has %lu bytes too many", what, (unsigned long)(in->size - in->at));
    return 1;
}

static int spec_address(struct spec_side *s, struct spec_in *in, int none_is_good)
{
    uint64_t family = spec_uint(in, 1), n, i;
    const unsigned char *path;

    if (in->bad)
        return spec_no(s, "no room for an address");
    switch (family) {
    case 0:
        return none_is_good ? 1 : spec_no(s, "address none in a card");
    case 1:
        n = spec_uint(in, 1);
        if (n < 1 || n > 103)
            return spec_no(s, "a path of %u bytes", (unsigned)n);
        path = spec_take(in, (size_t)n);
        if (in->bad)
            return spec_no(s, "a path is cut off");
        for (i = 0; i < n; i++) {
            if (path[i] < 0x20 || path[i] == 0x7f)
                return spec_no(s, "a control character in a path");
        }
        return path[0] == '/' ? 1 : spec_no(s, "a path does not begin with a slash");
    case 4:
        spec_take(in, 6);
        return in->bad ? spec_no(s, "an IPv4 address is cut off") : 1;
    case 20: /* over TLS */
        spec_take(in, 6);
        return in->bad ? spec_no(s, "an IPv4 address for TLS is cut off") : 1;
    case 22:
        spec_take(in, 18);
        return in->bad ? spec_no(s, "an IPv6 address for TLS is cut off") : 1;
    case 6:
        spec_take(in, 18);
        return in->bad ? spec_no(s, "an IPv6 address is cut off") : 1;
    default:
        return spec_no(s, "address family %u", (unsigned)family);
    }
}

/* ---- Section 3: handshake */

/* Section 4, notions: incarnations are below 2^63, numbers are at most 2^31. */
static int spec_life(struct spec_side *s, uint64_t incarnation, uint64_t seq)
{
    if (incarnation < (uint64_t)1 << 63 && seq <= 0x80000000u)
        return 1;
    return spec_no(s, "number %lu of incarnation %lx", (unsigned long)seq, (unsigned long)incarnation);
}

/* PADDED, in HELLO and ANSWER. */
static void spec_padding(struct spec_in *in, unsigned flags)
{
    for (int i = 0; i < 1532 && (flags & 1) != 0; i++)
        if (spec_uint(in, 1) != 0)
            in->bad = 1;
}

static int spec_hello(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    uint64_t magic = spec_uint(in, 4), low = spec_uint(in, 2), high = spec_uint(in, 2);

    spec_take(in, 12); /* cluster, features */
    memcpy(s->id, spec_take(in, 16), 16);
    s->own_incarnation = spec_uint(in, 8);
    spec_take(in, 16);
    spec_padding(in, flags);
    if (!spec_end(s, in, "HELLO"))
        return 0;
    if (magic != 0x31584850)
        return spec_no(s, "magic is %08lx", (unsigned long)magic);
    if (low < 1 || low > high)
        return spec_no(s, "versions %u..%u", (unsigned)low, (unsigned)high);
    return spec_life(s, s->own_incarnation, 0);
}

/* seq, card_version, have: in ANSWER and PROOF. */
static int spec_standing(struct spec_side *s, struct spec_in *in)
{
    uint64_t seq = spec_uint(in, 4), version = spec_uint(in, 4);

    spec_take(in, 4);
    if (in->bad)
        return spec_no(s, "no room for seq, card_version and have");
    if (seq == 0 || version == 0)
        return spec_no(s, "handshake with seq %lu, card version %lu", (unsigned long)seq,
                       (unsigned long)version);
    s->own_seq = (uint32_t)seq;
    return spec_life(s, s->own_incarnation, seq);
}

static int spec_answer(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    uint64_t version = spec_uint(in, 2);

    spec_take(in, 4);
    memcpy(s->id, spec_take(in, 16), 16);
    s->own_incarnation = spec_uint(in, 8);
    spec_take(in, 16);
    if (!spec_standing(s, in) || !spec_address(s, in, 1))
        return 0;
    spec_take(in, 32); /* mac */
    spec_take(in, 32); /* mac_other */
    spec_padding(in, flags);
    if (!spec_end(s, in, "ANSWER"))
        return 0;
    return version != 0 ? 1 : spec_no(s, "ANSWER of version 0");
}

static int spec_proof(struct spec_side *s, struct spec_in *in)
{
    if (!spec_standing(s, in) || !spec_address(s, in, 1))
        return 0;
    spec_take(in, 16);
    spec_take(in, 16);
    return spec_end(s, in, "PROOF");
}

static int spec_refuse(struct spec_side *s, struct spec_in *in)
{
    uint64_t reason = spec_uint(in, 2);

    if (!spec_end(s, in, "REFUSE"))
        return 0;
    return reason != 0 ? 1 : spec_no(s, "REFUSE without a reason");
}

/* ---- Section 4: routing */

static int spec_claims(struct spec_side *s, struct spec_in *in, uint64_t count)
{
    uint64_t i, first, last, before = 0;

    for (i = 0; i < count; i++) {
        first = spec_uint(in, 8);
        last = spec_uint(in, 8);
        if (spec_uint(in, 8) == 0)
            return spec_no(s, "claim %lu has epoch 0, or is cut off", (unsigned long)i);
        if (first > last)
            return spec_no(s, "claim %lu ends before it begins", (unsigned long)i);
        if (i > 0 && first <= before)
            return spec_no(s, "claim %lu is not above the one before", (unsigned long)i);
        before = last;
    }
    s->counts.claims += (unsigned long)count;
    return 1;
}

static int spec_card(struct spec_side *s, const unsigned char *data, size_t size)
{
    struct spec_in in = spec_open(data, size);
    const unsigned char *label;
    uint64_t window, count, i;

    spec_take(&in, 1);
    window = spec_uint(&in, 4);
    count = spec_uint(&in, 1);
    label = spec_take(&in, (size_t)count);
    for (i = 0; i < count && !in.bad; i++) {
        if (i >= 32 || label[i] < 32 || label[i] > 126 || label[i] == 34 || label[i] == 92)
            return spec_no(s, "byte %u of a card's label", (unsigned)i);
    }
    count = spec_uint(&in, 1);
    if (in.bad || window < 4096)
        return spec_no(s, "a card's window is %lu", (unsigned long)window);
    if (count > 8)
        return spec_no(s, "a card with %u addresses", (unsigned)count);
    for (i = 0; i < count; i++) {
        if (!spec_address(s, &in, 0))
            return 0;
    }
    s->counts.addresses += (unsigned long)count;
    count = spec_uint(&in, 4);
    if (count > 100000)
        return spec_no(s, "a card with %lu claims", (unsigned long)count);
    if (!spec_claims(s, &in, count) || !spec_end(s, &in, "a card"))
        return 0;
    s->counts.cards++;
    return 1;
}

/* CARD_SENT: the card must have come before, whole, and for this owner and version; one to an
 * UPDATE. */
static int spec_card_sent(struct spec_side *s, const unsigned char *id, uint64_t incarnation,
                          uint64_t version)
{
    if (s->alone)
        return 1;
    if (s->card_sent)
        return spec_no(s, "a second CARD_SENT in one UPDATE");
    s->card_sent = 1;
    if (s->card == NULL || s->card_have != s->card_total)
        return spec_no(s, "CARD_SENT, but no whole card came before");
    if (memcmp(id, s->card_id, 16) != 0 || incarnation != s->card_incarnation
        || version != s->card_version)
        return spec_no(s, "CARD_SENT, but another card came before");
    return 1;
}

/* Only the sender itself is at distance 0, and its number never goes back. */
static int spec_own(struct spec_side *s, const unsigned char *id, uint64_t incarnation,
                    uint64_t seq)
{
    if (s->alone)
        return 1;
    if (memcmp(id, s->id, 16) != 0)
        return spec_no(s, "distance 0 to another node");
    if (incarnation < s->own_incarnation
        || (incarnation == s->own_incarnation && seq < s->own_seq))
        return spec_no(s, "the sender's own number went back to %lu", (unsigned long)seq);
    s->own_incarnation = incarnation;
    s->own_seq = (uint32_t)seq;
    return 1;
}

static int spec_whose(struct spec_side *s, const unsigned char *id, uint64_t hops,
                      uint64_t incarnation, uint64_t seq)
{
    if (hops == 0)
        return spec_own(s, id, incarnation, seq);
    return s->alone || memcmp(id, s->id, 16) != 0
           || spec_no(s, "the sender is %u hops from itself", (unsigned)hops);
}

static int spec_entry(struct spec_side *s, struct spec_in *in)
{
    const unsigned char *id = spec_take(in, 16);
    uint64_t incarnation = spec_uint(in, 8), seq = spec_uint(in, 4), hops = spec_uint(in, 1);
    uint64_t flags = spec_uint(in, 1) & 7, version = spec_uint(in, 4), size;
    uint64_t rtt = (flags & 4) != 0 ? spec_uint(in, 2) : 1;

    flags &= 3;
    if (in->bad)
        return spec_no(s, "an entry is cut off");
    if (flags == 3 || (flags != 0 && version == 0))
        return spec_no(s, "entry flags %u with card version %lu", (unsigned)flags,
                       (unsigned long)version);
    if (rtt == 0)
        return spec_no(s, "a round trip time of 0");
    if (!spec_life(s, incarnation, seq) || !spec_whose(s, id, hops, incarnation, seq))
        return 0;
    if (flags == 2 && !spec_card_sent(s, id, incarnation, version))
        return 0;
    s->counts.entries++;
    if (flags != 1)
        return 1;
    size = spec_uint(in, 4);
    if (in->bad || size > spec_left(in))
        return spec_no(s, "an attached card is cut off");
    return spec_card(s, spec_take(in, (size_t)size), (size_t)size);
}

static int spec_update(struct spec_side *s, struct spec_in *in)
{
    if (spec_uint(in, 2) != 0 || in->bad)
        return spec_no(s, "a reserved number that is not 0");
    s->card_sent = 0;
    while (spec_left(in) > 0) {
        if (!spec_entry(s, in))
            return 0;
    }
    return 1;
}

/* "Each later part has the same id, incarnation, version and total and continues." */
static int spec_card_continues(const struct spec_side *s, const unsigned char *id,
                               uint64_t incarnation, uint64_t version, uint64_t total,
                               uint64_t offset)
{
    return s->card != NULL && memcmp(id, s->card_id, 16) == 0 && incarnation == s->card_incarnation
           && version == s->card_version && total == s->card_total && offset == s->card_have;
}

static int spec_card_part(struct spec_side *s, struct spec_in *in)
{
    const unsigned char *id = spec_take(in, 16);
    uint64_t incarnation = spec_uint(in, 8), version = spec_uint(in, 4), total = spec_uint(in, 4);
    uint64_t offset = spec_uint(in, 4);
    size_t size = spec_left(in);

    if (in->bad || size == 0)
        return spec_no(s, "CARD without data");
    if (version == 0 || total < 11 || total > SPEC_CARD_MAX || offset + size > total)
        return spec_no(s, "CARD version %lu, %lu bytes at %lu of %lu", (unsigned long)version,
                       (unsigned long)size, (unsigned long)offset, (unsigned long)total);
    if (s->alone)
        return 1;
    if (offset == 0) {
        free(s->card);
        s->card = malloc((size_t)total);
        if (s->card == NULL)
            return spec_no(s, "out of memory");
        memcpy(s->card_id, id, 16);
        s->card_incarnation = incarnation;
        s->card_version = (uint32_t)version;
        s->card_total = (uint32_t)total;
        s->card_have = 0;
    } else if (!spec_card_continues(s, id, incarnation, version, total, offset)) {
        return spec_no(s, "CARD at offset %lu continues nothing", (unsigned long)offset);
    }
    memcpy(s->card + offset, spec_take(in, size), size);
    s->card_have += (uint32_t)size;
    return s->card_have < s->card_total ? 1 : spec_card(s, s->card, s->card_total);
}

static int spec_request(struct spec_side *s, struct spec_in *in)
{
    uint64_t incarnation, seq;

    spec_take(in, 16);
    incarnation = spec_uint(in, 8);
    seq = spec_uint(in, 4);
    return spec_end(s, in, "REQUEST") && spec_life(s, incarnation, seq);
}

static int spec_beat(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    spec_take(in, 16);
    spec_take(in, 12);
    spec_take(in, (flags & 4) != 0 ? 8 : 0);
    return spec_end(s, in, "BEAT");
}

static int spec_summary(struct spec_side *s, struct spec_in *in)
{
    const unsigned char *id;
    uint64_t incarnation, seq, hops;

    while (spec_left(in) > 0) {
        id = spec_take(in, 16);
        incarnation = spec_uint(in, 8);
        seq = spec_uint(in, 4);
        hops = spec_uint(in, 1);
        if (in->bad)
            return spec_no(s, "a line of SUMMARY is cut off");
        if (!spec_life(s, incarnation, seq) || !spec_whose(s, id, hops, incarnation, seq))
            return 0;
        s->counts.lines++;
    }
    return 1;
}

/* ---- Section 5: end to end */

/* The payload of a run: a message of `total` bytes, and at least one more behind it. */
static int spec_run(struct spec_side *s, struct spec_in *in, unsigned flags, size_t n, uint64_t total)
{
    if ((flags & 3) != 3)
        return spec_no(s, "RUN without FIRST and LAST");
    if (total >= n)
        return spec_no(s, "a run of %lu bytes, total %lu", (unsigned long)n, (unsigned long)total);
    spec_take(in, (size_t)total);
    s->counts.messages++;
    while (!in->bad && spec_left(in) > 0) {
        size_t size = (size_t)spec_uint(in, 2);

        if ((flags & 64) != 0)
            spec_take(in, 8);
        if ((flags & 16) != 0)
            spec_take(in, 8);
        spec_take(in, size);
        s->counts.messages++;
    }
    return in->bad ? spec_no(s, "a run is cut off") : 1;
}

static int spec_data(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    int first = (flags & 1) != 0, last = (flags & 2) != 0, seen = (flags & 4) != 0;
    int run = (flags & 8) != 0, tags = (flags & (16 | 64)) != 0;
    uint64_t total = 0;
    size_t n;

    spec_take(in, 16);
    spec_take(in, 16);
    spec_take(in, 8);
    if (spec_uint(in, 8) == 0)
        return spec_no(s, "DATA of epoch 0, or cut off");
    if (first) {
        spec_take(in, 16);
        spec_take(in, 8);
        total = spec_uint(in, 8);
    }
    if (seen && !first)
        return spec_no(s, "SEEN without FIRST");
    if (seen && spec_uint(in, 4) == 0)
        return spec_no(s, "SEEN of nothing");
    if (in->bad)
        return spec_no(s, "DATA is cut off");
    n = spec_left(in);
    if (n > 65536u || total > 1073741824u)
        return spec_no(s, "DATA of %lu bytes, total %lu", (unsigned long)n, (unsigned long)total);
    if (tags && !run)
        return spec_no(s, "TAGS or NAMES without RUN");
    if (run)
        return spec_run(s, in, flags, n, total);
    if (first && last ? n != total : first ? n == 0 || n >= total : n == 0 && last)
        return spec_no(s, "DATA flags %u, %lu bytes, total %lu", flags, (unsigned long)n,
                       (unsigned long)total);
    s->counts.messages += (unsigned long)first;
    return 1;
}

static int spec_cast(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    int first = (flags & 1) != 0, last = (flags & 2) != 0;
    uint64_t count = spec_uint(in, 2), total = 0, i;
    size_t n;

    if (count < 1 || count > 512)
        return spec_no(s, "CAST with %lu lines", (unsigned long)count);
    for (i = 0; i < count && !in->bad; i++) {
        spec_take(in, 24);
        if (spec_uint(in, 8) == 0)
            return spec_no(s, "CAST of epoch 0, or cut off");
        spec_take(in, first ? 12 : 0);
    }
    spec_take(in, 16);
    if (first) {
        spec_take(in, 16);
        total = spec_uint(in, 8);
    }
    if (in->bad)
        return spec_no(s, "CAST is cut off");
    n = spec_left(in);
    if (n > 32768u || total > 1073741824u
        || (first && last ? n != total : first ? n == 0 || n >= total : n == 0 && last))
        return spec_no(s, "CAST flags %u, %lu bytes, total %lu", flags, (unsigned long)n,
                       (unsigned long)total);
    s->counts.messages += (unsigned long)first * (unsigned long)count;
    return 1;
}

static int spec_returns(struct spec_side *s, struct spec_in *in, uint64_t next)
{
    uint64_t base = spec_uint(in, 4), count = spec_uint(in, 2), before = 0, number, reason, i;
    uint64_t place, place_before = 0;

    if (count < 1 || count > 512 || base + count > 0xffffffffu)
        return spec_no(s, "%lu returns after %lu", (unsigned long)count, (unsigned long)base);
    for (i = 0; i < count && !in->bad; i++) {
        number = spec_uint(in, 8);
        place = spec_uint(in, 2);
        reason = spec_uint(in, 1);
        if (number >= next || (i > 0 && number < before) || reason < 1 || reason > 3
            || (i > 0 && number == before && place <= place_before))
            return spec_no(s, "return %lu for reason %lu", (unsigned long)number,
                           (unsigned long)reason);
        before = number;
        place_before = place;
    }
    return 1;
}

static int spec_ack(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    uint64_t next;

    spec_take(in, 16);
    spec_take(in, 16);
    spec_take(in, 8);
    next = spec_uint(in, 8);
    spec_take(in, 4);
    if ((flags & 2) != 0 && !spec_returns(s, in, next))
        return 0;
    if ((flags & 4) != 0) {
        spec_take(in, 8);
        if (spec_uint(in, 4) == 0)
            return spec_no(s, "SEEN of nothing");
    }
    if ((flags & 8) != 0 && spec_uint(in, 8) == 0)
        return spec_no(s, "ASK without a key");
    if ((flags & 16) != 0) {
        if (spec_uint(in, 8) == 0)
            return spec_no(s, "TELL without a key");
        if (spec_uint(in, 8) == 0)
            return spec_no(s, "TELL of epoch 0, or cut off");
        spec_take(in, 8);
        spec_take(in, 4);
    }
    return spec_end(s, in, "ACK");
}

static int spec_suspect(struct spec_side *s, struct spec_in *in)
{
    uint64_t incarnation, seq;

    spec_take(in, 16);
    incarnation = spec_uint(in, 8);
    seq = spec_uint(in, 4);
    spec_take(in, 16);
    return spec_end(s, in, "SUSPECT") && spec_life(s, incarnation, seq);
}

static int spec_probe(struct spec_side *s, struct spec_in *in)
{
    spec_take(in, 16);
    spec_take(in, 16);
    spec_take(in, 16);
    return spec_end(s, in, "PROBE");
}

static int spec_trace(struct spec_side *s, struct spec_in *in, unsigned flags)
{
    spec_take(in, 16);
    spec_take(in, 16);
    spec_take(in, 8);
    if (spec_uint(in, 1) == 0)
        return spec_no(s, "TRACE for number 0");
    spec_take(in, (flags & 1) != 0 ? 3 : 0);
    return spec_end(s, in, "TRACE");
}

static int spec_hand(struct spec_side *s, struct spec_in *in)
{
    uint64_t incarnation, first, last;

    spec_take(in, 16);
    spec_take(in, 16);
    incarnation = spec_uint(in, 8);
    first = spec_uint(in, 8);
    last = spec_uint(in, 8);
    spec_take(in, 8);
    if (first > last)
        return spec_no(s, "HAND of names that end before they begin");
    return spec_end(s, in, "HAND") && spec_life(s, incarnation, 0);
}

/* ---- Sections 2 and 3: frames and their order */

static int spec_body(struct spec_side *s, unsigned type, unsigned flags, const unsigned char *body,
                     size_t size)
{
    struct spec_in in = spec_open(body, size);

    switch (type) {
    case SPEC_HELLO: return spec_hello(s, &in, flags);
    case SPEC_ANSWER: return spec_answer(s, &in, flags);
    case SPEC_PROOF: return spec_proof(s, &in);
    case SPEC_REFUSE: return spec_refuse(s, &in);
    case SPEC_UPDATE: return spec_update(s, &in);
    case SPEC_CARD: return spec_card_part(s, &in);
    case SPEC_REQUEST: return spec_request(s, &in);
    case SPEC_BEAT: return spec_beat(s, &in, flags);
    case SPEC_SUMMARY: return spec_summary(s, &in);
    case SPEC_DATA: return spec_data(s, &in, flags);
    case SPEC_ACK: return spec_ack(s, &in, flags);
    case SPEC_SUSPECT: return spec_suspect(s, &in);
    case SPEC_PROBE: return spec_probe(s, &in);
    case SPEC_CAST: return spec_cast(s, &in, flags);
    case SPEC_HAND: return spec_hand(s, &in);
    case SPEC_TRACE: return spec_trace(s, &in, flags);
    default: return spec_no(s, "type %u", type);
    }
}

/* The table of states, seen from the sender: HELLO and PROOF, or ANSWER, and then it is up. */
static int spec_order(struct spec_side *s, unsigned type)
{
    if (s->alone)
        return 1;
    if (s->over)
        return spec_no(s, "a frame after REFUSE");
    if (type == SPEC_REFUSE) {
        s->over = 1;
    } else if (!s->started) {
        if (type != SPEC_HELLO && type != SPEC_ANSWER)
            return spec_no(s, "the first frame is of type %u", type);
        s->started = 1;
        s->up = type == SPEC_ANSWER;
    } else if (!s->up) {
        if (type != SPEC_PROOF)
            return spec_no(s, "type %u instead of PROOF", type);
        s->up = 1;
    } else if (type < SPEC_UPDATE) {
        return spec_no(s, "type %u on a link that is up", type);
    }
    return 1;
}

static int spec_travels(uint64_t type)
{
    return type == SPEC_REQUEST || type == SPEC_DATA || type == SPEC_ACK || type == SPEC_SUSPECT
           || type == SPEC_PROBE || type == SPEC_CAST || type == SPEC_HAND
           || type == SPEC_TRACE;
}

/* The frame at the front: its length, 0 if it is not all there, or -1. */
static long spec_frame(struct spec_side *s, const unsigned char *data, size_t size)
{
    struct spec_in in = spec_open(data, size);
    uint64_t rest = spec_uint(&in, 4), type, flags, hops, zero;

    if (in.bad)
        return 0;
    if (rest < 4 || rest > 65788) {
        spec_no(s, "size %lu", (unsigned long)rest);
        return -1;
    }
    if (rest > spec_left(&in))
        return 0;
    type = spec_uint(&in, 1);
    flags = spec_uint(&in, 1);
    hops = spec_uint(&in, 1);
    zero = spec_uint(&in, 1);
    if (zero != 0 || (hops != 0 && !spec_travels(type))) {
        spec_no(s, "type %u with hops %u and zero %u", (unsigned)type, (unsigned)hops,
                (unsigned)zero);
        return -1;
    }
    if (!spec_order(s, (unsigned)type)
        || !spec_body(s, (unsigned)type, (unsigned)flags, data + 8, (size_t)rest - 4))
        return -1;
    s->counts.frames[type]++;
    s->counts.bytes += (size_t)rest + 4;
    return (long)rest + 4;
}

static inline struct spec_counts spec_check_stream(const unsigned char *data, size_t size,
                                                   char *why)
{
    struct spec_side s;
    size_t at = 0;
    long n = 0;

    memset(&s, 0, sizeof s);
    s.why = why;
    why[0] = '\0';
    while (at < size && (n = spec_frame(&s, data + at, size - at)) > 0)
        at += (size_t)n;
    free(s.card);
    s.counts.ok = n >= 0;
    s.counts.tail = size - at;
    return s.counts;
}

/* 1 if these bytes are exactly one frame that is good by itself. */
static inline int spec_check_frame(const unsigned char *data, size_t size, char *why)
{
    struct spec_side s;

    memset(&s, 0, sizeof s);
    s.alone = 1;
    s.why = why;
    why[0] = '\0';
    return size > 0 && spec_frame(&s, data, size) == (long)size;
}

/* ---- BEAT: the hashes */

static inline uint64_t spec_mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xFF51AFD7ED558CCD);
    x ^= x >> 33;
    x *= UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ x >> 33;
}

static inline uint64_t spec_hash(const unsigned char id[16])
{
    struct spec_in in = spec_open(id, 16);
    uint64_t low = spec_uint(&in, 8), high = spec_uint(&in, 8);

    return spec_mix(low ^ spec_mix(high + UINT64_C(0x9E3779B97F4A7C15)));
}

static inline uint64_t spec_term(const unsigned char id[16], uint64_t incarnation, uint32_t seq)
{
    return spec_mix(spec_hash(id) ^ spec_mix(incarnation * UINT64_C(0x9E3779B97F4A7C15) + seq));
}

#endif
