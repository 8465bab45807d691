/* t_frames.c - what a node does with frames for which there is no memory, and on links that are no more. */

/* Promises 15 and 122. The world of known.h: what peers say is put into links that have no other end. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif
#include "known.h"

enum { CLAIMS = 2000, BIG = 200 + CLAIMS * 24 };

static unsigned char said[70000], card[BIG];
static struct phx__writer w;

static void begin_saying(void)
{
    phx__buf_writer_init(&w, said, sizeof said);
}

/* The peer says what is in w, and the node reads it. */
static void says(struct known *k, struct phx__link *l)
{
    check(!w.bad, "frames");
    k->in = w.data;
    k->in_size = w.size;
    phx__node_links_read(k->p, l);
    begin_saying();
}

/* An UPDATE with one entry for this node, whose card of 48 KB came before it. */
static void put_big_card(const struct phx_id *id, int hops, uint32_t version)
{
    struct phx__entry e = { .id = *id, .seq = 2, .hops = (uint8_t)hops, .card_version = version,
                            .flags = PHX__ENTRY_CARD_SENT };
    struct phx__card_part part = { .id = *id, .version = version };
    const struct phx__card head = { .flags = PHX__CARD_RELAYS, .window = 65536, .claim_count = CLAIMS };
    static struct phx__claim claims[CLAIMS];
    struct phx__writer c;
    size_t start;
    uint32_t i;

    for (i = 0; i < CLAIMS; i++)
        claims[i] = (struct phx__claim){ 1000000 + 2 * i, 1000000 + 2 * i, version };
    phx__buf_writer_init(&c, card, sizeof card);
    phx__wire_route_put_card(&c, &head, claims);
    check(!c.bad, "a card");
    part.total = part.size = (uint32_t)c.size;
    part.data = card;
    phx__wire_route_put_card_part(&w, &part);
    start = phx__wire_route_begin_update(&w);
    phx__wire_route_put_entry(&w, &e);
    phx__wire_end(&w, start);
}

static void test_big_cards(void)
{
    /* Goal: a card for which half of the memory is not enough, with what rooms make of it, is not taken: that
     * of an unknown node waits for a digest, that of a known one leaves the one before in place, and the
     * neighbour's own ends the link, which starts over (promise 122). Method: cards of 48 KB in 128 KB. */
    struct phx__link *l, *other;
    struct phx_id far = id_of(50), known = id_of(51);
    struct known k;
    uint32_t node;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    other = known_link(&k, 2);
    check(known_hears(&k, l->peer, 51, 1, 1) == 0, "a node with a card");
    known_steps(&k, 3);
    node = phx__id_find(&k.p->ids, &known);
    k.p->mem.limit = k.p->mem.used + (128u << 10);
    begin_saying();
    put_big_card(&far, 2, 7);
    says(&k, l);
    ok(l->state == PHX__LINK_UP && phx__id_find(&k.p->ids, &far) == PHX__NONE, "an unknown node stays so");
    put_big_card(&known, 1, 7);
    says(&k, l);
    ok(l->state == PHX__LINK_UP && phx__route_dest(&k.p->route, node)->card_version == 1, "the card stays");
    put_big_card(&l->id, 0, 7);
    says(&k, l);
    ok(l->state == PHX__LINK_CLOSED && other->state == PHX__LINK_UP, "the neighbour's own ends its link");
    k.p->mem.limit = 0;
    put_big_card(&far, 2, 7);
    says(&k, other);
    ok(phx__id_find(&k.p->ids, &far) != PHX__NONE, "with memory it is taken");
    known_steps(&k, 3);
    known_end(&k);
}

static void test_breaks(void)
{
    /* Goal: an entry that cannot be said for want of memory breaks its link, whose successor starts with
     * everything; or it is said a little later. Heartbeats are said again, and break nothing. Method: each
     * allocation fails of those with which news is passed on. */
    struct phx__link *l[2];
    uint32_t broken = 0, told = 0, wrong = 0;
    struct known k;
    int n;

    for (n = 1; n <= 12; n++) {
        known_begin(&k, 0, 1000);
        l[0] = known_link(&k, 1);
        l[1] = known_link(&k, 2);
        k.takes = SIZE_MAX;
        known_steps(&k, 5);
        check(known_hears(&k, l[0]->peer, 50, 1, 1) == 0, "news for the other");
        phx__buf_block_drop(l[1]->out.tail);
        l[1]->out.tail = NULL;
        k.heap.fail_from = k.heap.calls + 1;
        phx__node_frames_beat(k.p, l[1]->peer, 0);
        wrong += l[1]->end.broken != 0;
        k.heap.fail_from = 0;
        k.heap.fail_at = k.heap.calls + n;
        phx__route_advert_flush(&k.p->route, k.now + PHX__SECOND);
        k.heap.fail_at = 0;
        wrong += l[0]->end.broken != 0 || (l[1]->end.broken != 0 && l[1]->end.broken != PHX_ENOMEM);
        known_steps(&k, 15);
        wrong += phx__node_link(k.p, 1) != l[0];
        if (phx__node_link(k.p, 2) == NULL)
            broken++;
        else
            told += phx__route_table_advertised(phx__route_dest(&k.p->route, 3), 2) != NULL;
        known_end(&k);
    }
    ok(wrong == 0 && broken > 0, "%u times the link is broken", broken);
    ok(told > 0 && broken + told == 12, "%u times it is told", told);
}

static void test_replaced(void)
{
    /* Goal: what comes on a link that was replaced is not heard any more; what no link that is up may carry
     * ends it. */
    static const struct phx__hello late = { .magic = PHX__WIRE_MAGIC, .version_min = 1, .version_max = 2 };
    struct phx__beat b = { 5000, 1, 2, 3, 0, 0 };
    struct phx__link *l;
    struct known k;
    uint64_t heard;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    begin_saying();
    phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
    says(&k, l);
    heard = known_stats(&k).heartbeats_in;
    check(heard == 1, "a heartbeat");
    k.p->peers.at[l->peer].link = 0;
    phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
    says(&k, l);
    ok(l->state == PHX__LINK_UP && known_stats(&k).heartbeats_in == heard, "it is not heard");
    k.p->peers.at[l->peer].link = l->slot + 1;
    phx__wire_link_put(&w, PHX__HELLO, 0, 0, &late);
    says(&k, l);
    ok(l->state == PHX__LINK_CLOSED && known_stats(&k).bad_frames == 1, "a HELLO has its time");
    known_end(&k);
}

static void test_rests(void)
{
    /* Goal: a path on which a link ended in silence while the node was there rests for 10 s, twice as long
     * each time, and 10 minutes at most; after a link that lasted as long it begins anew. */
    static const uint32_t seconds[] = { 10, 20, 40, 80, 160, 320, 600, 600 };
    struct phx__detect_trouble *h;
    struct phx__link *l;
    struct known k;
    uint32_t i, bad = 0;
    phx *p;

    known_begin(&k, 0, 1000);
    p = k.p;
    l = known_link(&k, 1);
    known_steps(&k, 1);
    ok(phx__node_rest_until(p, l->peer) == 0, "nothing was lost");
    phx__node_note_end(p, l, PHX_ERESET);
    ok(phx__node_rest_until(p, l->peer) == 0, "a link that was closed is none of that");
    phx__node_note_end(p, l, PHX_ETIMEDOUT);
    h = phx__node_history(p, l->peer);
    for (i = 0; i < 8; i++) {
        h->rests = (uint16_t)i;
        bad += phx__node_rest_until(p, l->peer) != p->now + (uint64_t)seconds[i] * PHX__SECOND;
    }
    ok(bad == 0, "10 s, 20 s and so on");
    l->since = p->now - 600 * PHX__SECOND + 1;
    h->rests = 5;
    phx__node_note_end(p, l, PHX_ETIMEDOUT);
    ok(h->rests == 5, "after a link of less than 10 minutes as before");
    l->since--;
    phx__node_note_end(p, l, PHX_ETIMEDOUT);
    ok(h->rests == 0, "after one of 10 anew");
    known_end(&k);
}

static void test_long_queue(void)
{
    /* Goal: frames that are said again anyhow are not added to 256 KiB that wait, a rumour is. */
    struct phx__probe probe;
    struct phx__suspect rumour;
    struct phx__link *l;
    struct known k;
    size_t queued;

    memset(&probe, 0, sizeof probe);
    memset(&rumour, 0, sizeof rumour);
    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    known_steps(&k, 1);
    queued = phx__link_out_queued(l);
    l->out.control.bytes += 262143 - queued;
    ok(phx__node_frames_send(k.p, l->peer, PHX__PROBE, 0, 1, &probe) == 1, "a byte less");
    l->out.control.bytes += 262144 - phx__link_out_queued(l);
    ok(phx__node_frames_send(k.p, l->peer, PHX__PROBE, 0, 1, &probe) == 0, "256 KiB");
    queued = phx__link_out_queued(l);
    ok(phx__node_frames_send(k.p, l->peer, PHX__SUSPECT, 0, 1, &rumour) == 1
           && phx__link_out_queued(l) > queued, "a rumour waits, too");
    for (queued = 0; l->out.control.count > 0;) { /* what was only said is taken away */
        queued += l->out.control.ring[l->out.control.first].size;
        l->out.control.bytes = l->out.control.ring[l->out.control.first].size;
        phx__buf_slices_take(&l->out.control, l->out.control.bytes);
    }
    k.p->set.waiting -= queued;
    known_end(&k);
}

/* So many frames are queued for these entries, of cards with these sizes. */
static uint64_t frames_for(struct known *k, const struct phx__link *l, const uint32_t *sizes, uint32_t count)
{
    static struct phx__entry entries[2000];
    uint64_t before = k->p->set.frames_out;

    for (uint32_t i = 0; i < count; i++)
        entries[i] = (struct phx__entry){ .id = id_of(i), .seq = 2, .hops = 1, .card_version = 1,
                                          .card = said, .card_size = sizes[i] };
    k->p->route.ops.update(k->p, l->peer, entries, count);
    return k->p->set.frames_out - before;
}

static void test_updates(void)
{
    /* Goal: a card of 16 KiB goes within its UPDATE, a larger one in frames of its own before it; an UPDATE
     * has 49,024 bytes and one entry more at most, and so much of a card is in one frame. Method: entries
     * with cards of made-up sizes. */
    enum { FULL = PHX__FRAGMENT - 16384 - 128, HEAD = PHX__ENTRY_SIZE + 8 };
    uint32_t sizes[5] = { 16384, 16384, 0, 0, 0 };
    struct phx__link *l;
    struct known k;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    k.takes = SIZE_MAX;
    known_steps(&k, 5);
    ok(FULL == 49024 && frames_for(&k, l, sizes, 1) == 1, "16 KiB");
    sizes[0]++;
    ok(frames_for(&k, l, sizes, 1) == 2, "a byte more");
    sizes[0] = FULL;
    ok(frames_for(&k, l, sizes, 1) == 2, "a card of one part");
    sizes[0]++;
    ok(frames_for(&k, l, sizes, 1) == 3, "of two");
    sizes[0] = sizes[1] = 16384;
    sizes[2] = FULL - PHX__WIRE_HEADER - 2 - 3 * HEAD - 2 * 16384;
    ok(frames_for(&k, l, sizes, 3) == 1, "as many bytes as an UPDATE may have");
    sizes[2]++;
    ok(frames_for(&k, l, sizes, 3) == 2, "one more");
    sizes[0] = sizes[1] = sizes[2] = 100;
    sizes[1] = 20000;
    ok(frames_for(&k, l, sizes, 3) == 4, "an entry with a large card goes alone");
    known_steps(&k, 5);
    known_end(&k);
}

static void test_reserved(void)
{
    /* Goal: what is reserved for a control frame is enough: none breaks its link. Method: each kind with as
     * much room in the buffer as there may be before another is taken. */
    static const struct phx__probe probe;
    static const struct phx__suspect rumour;
    static const uint8_t returns[3 * PHX__RETURN_SIZE];
    const struct phx__ack ack = { .returns = returns, .return_count = 3, .seen = 1, .ask = 2, .tell = 3 };
    struct phx__link *l;
    struct known k;
    uint32_t room, bad = 0;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    k.takes = SIZE_MAX;
    known_steps(&k, 5);
    for (room = 0; room < 400; room++)
        for (int kind = 0; kind < 4; kind++) {
            phx__node_frames_beat(k.p, l->peer, 0); /* there is a buffer */
            l->out.tail->used = l->out.tail->capacity - room;
            if (kind < 2)
                bad += !phx__node_frames_send(k.p, l->peer, kind ? PHX__PROBE : PHX__SUSPECT, 0, 1,
                                              kind ? (const void *)&probe : &rumour);
            else if (kind == 2)
                bad += phx__node_frames_ack(k.p, l->peer, &ack, 0) != 0;
            else
                bad += frames_for(&k, l, &(uint32_t){ 20000 + room }, 1) != 2;
            bad += l->end.broken != 0;
            known_steps(&k, 1);
        }
    ok(bad == 0 && phx__node_link(k.p, 1) == l, "each frame has room: %u do not", bad);
    known_end(&k);
}

/* Two links, and a message from the one, which is returned, to the other. */
static struct phx__link *begin_relay(struct known *k, struct phx__data *d)
{
    struct phx__link *l;

    known_begin(k, 0, 1000);
    l = known_link(k, 1);
    d->target = known_link(k, 2)->id;
    d->source = l->id;
    k->takes = SIZE_MAX;
    known_steps(k, 5);
    return l;
}

static void test_lent(void)
{
    /* Goal: a frame in transit of 32 KiB is sent from where it was read, a smaller one is copied. */
    static const size_t sizes[] = { 32768 - 1, 32768 };
    static const uint8_t payload[32768];
    struct phx__data d = { .epoch = 1, .number = 5 };
    struct phx__link *l;
    struct known k;
    int i;

    l = begin_relay(&k, &d);
    d.payload = payload;
    for (i = 0; i < 2; i++) {
        uint64_t copied = k.p->post.transit.copied;
        d.size = sizes[i] - PHX__DATA_HEAD;
        begin_saying();
        phx__wire_data_put(&w, &d, PHX__DATA_LAST, 8);
        phx__buf_put_bytes(&w, payload, d.size);
        check(w.size == sizes[i], "%d bytes", (int)w.size);
        says(&k, l);
        copied = k.p->post.transit.copied - copied;
        ok((copied == 0) == i && k.p->post.transit.bytes > 0, "%d bytes: %d copied", (int)sizes[i],
           (int)copied);
        known_steps(&k, 3);
    }
    known_end(&k);
}

static void test_busy(void)
{
    /* Goal: dialling gives way to messages that are only relayed here, also when they are gone already. */
    struct phx__data d = { .epoch = 1, .number = 5, .size = 8 };
    struct phx__link *l;
    struct known k;

    l = begin_relay(&k, &d);
    ok(k.p->dial.ops.busy(k.p) == 0, "nothing was said");
    begin_saying();
    phx__wire_data_put(&w, &d, PHX__DATA_LAST, 8);
    phx__buf_put_bytes(&w, "8 bytes.", 8);
    says(&k, l);
    known_steps(&k, 3);
    check(k.p->post.transit.bytes == 0 && k.p->post.pending.count == 0, "it is gone");
    ok(k.p->dial.ops.busy(k.p) == 1, "a message has passed");
    ok(k.p->dial.ops.busy(k.p) == 0, "and none since that was asked");
    known_end(&k);
}

static void test_summary(void)
{
    /* Goal: a SUMMARY of 1,690 nodes is one frame, of one node more it is two. */
    struct phx__link *l;
    struct known k;
    uint64_t before;
    uint32_t i, bad = 0;

    known_begin(&k, 0, 65536);
    l = known_link(&k, 1);
    k.takes = SIZE_MAX;
    for (i = 2; i < 1690; i++)
        bad += known_hears(&k, l->peer, 100 + i, 1, 0) != 0;
    known_steps(&k, 5);
    check(bad == 0 && known_stats(&k).nodes == 1690, "%u nodes", known_stats(&k).nodes);
    before = k.p->set.frames_out;
    k.p->route.ops.summary(k.p, l->peer, 0);
    ok(k.p->set.frames_out - before == 1, "one");
    check(known_hears(&k, l->peer, 99, 1, 0) == 0, "one more");
    before = k.p->set.frames_out;
    k.p->route.ops.summary(k.p, l->peer, 0);
    ok(k.p->set.frames_out - before == 2, "two");
    known_end(&k);
}

static void test_patient(void)
{
    /* Goal: a link whose peer announces more than ten minutes is not ended by the system for want of acks. */
    struct phx__beat b = { 600000, 1, 2, 3, 0, 0 };
    struct phx__link *l;
    struct known k;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    begin_saying();
    phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
    says(&k, l);
    ok(!l->end.patient, "ten minutes");
    b.next_ms++;
    phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
    says(&k, l);
    ok(l->end.patient, "and more");
    b.next_ms = 5000;
    phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b);
    says(&k, l);
    ok(!l->end.patient, "as usual again");
    known_end(&k);
}

int main(void)
{
    test_big_cards();
    test_breaks();
    test_replaced();
    test_rests();
    test_long_queue();
    test_updates();
    test_reserved();
    test_lent();
    test_busy();
    test_summary();
    test_patient();
    return test_end();
}
