/* t_wire_values.c - the fields of each frame do not change places, which a round trip would not see. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "wire/data.h"
#include "wire/link.h"
#include "wire/route.h"
#endif
#include "wire_rig.h"

static void test_handshake_values(void)
{
    /* Goal: fields arrive in the fields they left from. Method: all different, compared one by one. */
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
    phx__wire_link_put(&value, PHX__HELLO, 0, 0, &h);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__HELLO, &h2) == 0 && h2.version_min == 3 && h2.version_max == 4
           && h2.features == h.features && h2.incarnation == h.incarnation
           && phx__id_equal(&h.id, &h2.id) && memcmp(h.cluster, h2.cluster, 8) == 0
           && memcmp(h.nonce, h2.nonce, PHX__NONCE) == 0,
       "HELLO");
    scatter(&a, sizeof a);
    a.incarnation >>= 1;
    a.version = 5;
    a.own.seq = 6;
    a.own.card_version = 7;
    do
        make_address(&a.observed);
    while (a.observed.family != PHX_IPV6);
    value_begin();
    phx__wire_link_put(&value, PHX__ANSWER, 0, 0, &a);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__ANSWER, &a2) == 0 && a2.version == 5 && a2.features == a.features
           && a2.incarnation == a.incarnation && phx__id_equal(&a.id, &a2.id)
           && memcmp(a.nonce, a2.nonce, PHX__NONCE) == 0 && memcmp(a.mac, a2.mac, PHX__MAC) == 0
           && memcmp(a.mac_other, a2.mac_other, PHX__MAC) == 0
           && a2.own.seq == 6 && a2.own.card_version == 7 && a2.own.have == a.own.have
           && phx__addr_equal(&a.observed, &a2.observed),
       "ANSWER");
    ok(memcmp(value_frame.body + value_frame.size - 64, a.mac, 32) == 0
           && memcmp(value_frame.body + value_frame.size - 32, a.mac_other, 32) == 0,
       "its macs are last");
    scatter(&p, sizeof p);
    p.own.seq = 8;
    p.own.card_version = 9;
    make_address(&p.observed);
    value_begin();
    phx__wire_link_put(&value, PHX__PROOF, 0, 0, &p);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__PROOF, &p2) == 0 && memcmp(p.mac, p2.mac, PHX__MAC) == 0
           && p2.own.seq == 8 && p2.own.card_version == 9 && p2.own.have == p.own.have
           && phx__addr_equal(&p.observed, &p2.observed),
       "PROOF");
    value_begin();
    phx__wire_link_put(&value, PHX__REFUSE, 0, 0, &(int){ PHX_EKEY });
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__REFUSE, &reason) == 0 && reason == PHX_EKEY, "REFUSE");
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
    /* Goal: seq, card_version and have stand where WIRE.md says; the first two are never 0, and the first is
     * not above 2^31. Method: each set by hand at its offset. */
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
    /* Goal: section 7's sizes, which link's buffers are made for. Method: no address and the longest. */
    struct phx__answer a;
    struct phx__proof p;

    memset(&a, 0, sizeof a);
    memset(&p, 0, sizeof p);
    a.version = 1;
    a.own.seq = a.own.card_version = p.own.seq = p.own.card_version = 1;
    value_begin();
    phx__wire_link_put(&value, PHX__ANSWER, 0, 0, &a);
    ok(value.size == 8 + 123, "the shortest ANSWER");
    value_begin();
    phx__wire_link_put(&value, PHX__PROOF, 0, 0, &p);
    ok(value.size == 8 + 45, "the shortest PROOF");
    a.observed.family = PHX_UNIX;
    memset(a.observed.path, '/', 103);
    p.observed = a.observed;
    value_begin();
    phx__wire_link_put(&value, PHX__ANSWER, 0, 0, &a);
    ok(value.size == 235, "the longest ANSWER");
    value_begin();
    phx__wire_link_put(&value, PHX__PROOF, 0, 0, &p);
    ok(value.size == 157, "the longest PROOF");
}

static void test_routing_values(void)
{
    /* As above. */
    struct phx__entry e, e2;
    struct phx__card_part c, c2;
    struct phx__request q, q2;
    struct phx__reader r;
    struct phx__beat b, b2;
    struct phx_id ids[3];
    size_t start;

    scatter(ids, sizeof ids);
    scatter(&e, sizeof e);
    e.incarnation >>= 1;
    e.seq >>= 1;
    e.flags = PHX__ENTRY_CARD_SENT | PHX__ENTRY_RTT;
    e.rtt = 0x1234;
    e.card_version = 77;
    value_begin();
    start = phx__wire_route_begin_update(&value);
    phx__wire_route_put_entry(&value, &e);
    phx__wire_end(&value, start);
    value_end();
    ok(phx__wire_route_get_update(&value_frame, &r) == 0, "UPDATE");
    ok(phx__wire_route_next_entry(&r, &e2) == 1 && phx__id_equal(&e.id, &e2.id)
           && e2.incarnation == e.incarnation && e2.seq == e.seq && e2.hops == e.hops
           && e2.flags == e.flags && e2.rtt == 0x1234
           && e2.card_version == 77 && e2.card == NULL && e2.card_size == 0,
       "its entry");
    ok(phx__wire_route_next_entry(&r, &e2) == 0, "and no other");

    scatter(&c, sizeof c);
    c.version = 5;
    c.total = 1000;
    c.offset = 100;
    c.data = (const uint8_t *)ids;
    c.size = sizeof ids;
    value_begin();
    phx__wire_route_put_card_part(&value, &c);
    value_end();
    ok(phx__wire_route_get_card_part(&value_frame, &c2) == 0 && phx__id_equal(&c.id, &c2.id)
           && c2.incarnation == c.incarnation && c2.version == 5 && c2.total == 1000
           && c2.offset == 100 && c2.size == sizeof ids && memcmp(c2.data, ids, sizeof ids) == 0,
       "CARD");
    scatter(&q, sizeof q);
    q.incarnation >>= 1;
    q.seq >>= 1;
    value_begin();
    phx__wire_link_put(&value, PHX__REQUEST, 0, 9, &q);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__REQUEST, &q2) == 0 && phx__id_equal(&q.id, &q2.id)
           && q2.incarnation == q.incarnation && q2.seq == q.seq && value_frame.hops == 9,
       "REQUEST");
    scatter(&b, sizeof b);
    value_begin();
    phx__wire_link_put(&value, PHX__BEAT, PHX__BEAT_MONITOR, 0, &b);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__BEAT, &b2) == 0 && b2.next_ms == b.next_ms
           && b2.digest == b.digest && b2.around == b.around
           && b2.around_count == b.around_count && b2.echo_ms == b.echo_ms
           && value_frame.flags == PHX__BEAT_MONITOR,
       "BEAT");
    value_begin();
    phx__wire_link_put(&value, PHX__BEAT, PHX__BEAT_SHRUNK, 0, &b);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__BEAT, &b2) == 0 && b2.echo_ms == b.echo_ms && b2.lost == b.lost,
       "BEAT with SHRUNK");
}

static void test_detection_values(void)
{
    /* As above, and the offset that relays rely on. */
    struct phx__suspect s, s2;
    struct phx__probe p, p2;

    scatter(&s, sizeof s);
    s.incarnation >>= 1;
    s.seq >>= 1;
    value_begin();
    phx__wire_link_put(&value, PHX__SUSPECT, 0, 7, &s);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__SUSPECT, &s2) == 0 && phx__id_equal(&s.id, &s2.id)
           && phx__id_equal(&s.accuser, &s2.accuser) && s2.incarnation == s.incarnation
           && s2.seq == s.seq && value_frame.hops == 7,
       "SUSPECT");
    scatter(&p, sizeof p);
    value_begin();
    phx__wire_link_put(&value, PHX__PROBE, PHX__PROBE_ANSWER, 8, &p);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__PROBE, &p2) == 0 && phx__id_equal(&p.target, &p2.target)
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
    h.incarnation >>= 1;
    h.first = 5;
    h.last = UINT64_MAX;
    value_begin();
    phx__wire_link_put(&value, PHX__HAND, 0, 6, &h);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__HAND, &h2) == 0 && phx__id_equal(&h.target, &h2.target)
           && phx__id_equal(&h.giver, &h2.giver) && h2.incarnation == h.incarnation
           && h2.first == 5 && h2.last == UINT64_MAX && h2.epoch == h.epoch
           && value_frame.hops == 6 && memcmp(value.data + PHX__DATA_TARGET, h.target.b, 16) == 0,
       "HAND");
    h.last = 4;
    value_begin();
    phx__wire_link_put(&value, PHX__HAND, 0, 6, &h);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__HAND, &h2) == PHX_EPROTO, "of names that end before they begin");
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
        phx__wire_link_put(&value, PHX__TRACE, flags, 6, &t);
        value_end();
        ok(phx__wire_link_get(&value_frame, PHX__TRACE, &t2) == 0 && phx__id_equal(&t.target, &t2.target)
               && phx__id_equal(&t.source, &t2.source) && t2.key == t.key && t2.number == 7
               && t2.distance == (flags ? t.distance : 0) && t2.why == (flags ? -65535 : 0)
               && value_frame.hops == 6
               && memcmp(value.data + PHX__DATA_TARGET, t.target.b, 16) == 0,
           flags ? "TRACE, an answer" : "TRACE, a question");
        value_frame.flags ^= 1;
        ok(phx__wire_link_get(&value_frame, PHX__TRACE, &t2) == PHX_EPROTO, "and not the other of the two");
    }
    t.number = 0;
    value_begin();
    phx__wire_link_put(&value, PHX__TRACE, 0, 6, &t);
    value_end();
    ok(phx__wire_link_get(&value_frame, PHX__TRACE, &t2) == PHX_EPROTO, "hops are counted from 1");
}

static void test_message_values(void)
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
    phx__wire_data_put(&value, &d, PHX__DATA_FIRST, 200);
    ok(value.size == PHX__DATA_FIRST_HEAD, "the head of a first fragment");
    phx__buf_put_bytes(&value, d.source.b, 16);
    value_end();
    ok(phx__wire_data_get(&value_frame, &d2) == 0 && phx__id_equal(&d.target, &d2.target)
           && phx__id_equal(&d.source, &d2.source) && d2.number == d.number && d2.epoch == d.epoch
           && d2.to == d.to && d2.from == d.from && d2.tag == d.tag && d2.total == 100
           && d2.size == 16 && memcmp(d2.payload, d.source.b, 16) == 0,
       "DATA");
    ok(memcmp(value_bytes + PHX__DATA_TARGET, d.target.b, 16) == 0, "its target's place");
    ok(value_bytes[PHX__DATA_HOPS] == 200, "its hops' place");
    value_begin();
    phx__wire_data_put(&value, &d, 0, 1);
    ok(value.size == PHX__DATA_HEAD, "the head of another fragment");
    phx__buf_put_bytes(&value, d.source.b, 16);
    value_end();
    ok(phx__wire_data_get(&value_frame, &d2) == 0 && d2.to == 0 && d2.total == 0 && d2.size == 16,
       "has no fields of a first one");
    scatter(&a, sizeof a);
    a.return_count = 0;
    a.seen = 0;
    a.ask = a.tell = 0;
    value_begin();
    phx__wire_data_put_ack(&value, &a, 0, 3);
    value_end();
    ok(phx__wire_data_get_ack(&value_frame, &a2) == 0 && phx__id_equal(&a.target, &a2.target)
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
    phx__wire_data_put_return(&list, &t[0]);
    phx__wire_data_put_return(&list, &t[1]);
    a.next = 9;
    a.returns = returns;
    a.return_base = 3;
    a.return_count = 2;
    a.seen = 77;
    a.ask = 5;
    a.tell = 6;
    value_begin();
    phx__wire_data_put_ack(&value, &a, 0, 3);
    value_end();
    ok(phx__wire_data_get_ack(&value_frame, &a2) == 0 && a2.return_base == 3 && a2.return_count == 2
           && a2.seen == 77 && a2.seen_epoch == a.seen_epoch && a2.ask == 5 && a2.tell == 6
           && a2.tell_epoch == a.tell_epoch && a2.tell_next == a.tell_next && a2.tell_seen == a.tell_seen,
       "ACK with returns, a question and an answer");
    phx__wire_data_return(&a2, 0, &t[0]);
    phx__wire_data_return(&a2, 1, &t[1]);
    ok(t[0].number == 5 && t[0].place == 0 && t[0].reason == (int)PHX__RETURN_MOVED
           && t[1].number == 8 && t[1].place == 300 && t[1].reason == (int)PHX__RETURN_AGAIN,
       "which are these");
    ok(memcmp(value_bytes + PHX__DATA_TARGET, a.target.b, 16) == 0, "its target's place");
}

int main(void)
{
    test_handshake_values();
    test_standing();
    test_handshake_sizes();
    test_routing_values();
    test_detection_values();
    test_hand_values();
    test_trace_values();
    test_message_values();
    return test_end();
}
