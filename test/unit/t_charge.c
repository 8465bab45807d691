/* t_charge.c - what control frames cost the node that takes them, and what they are charged. */

/* Promise 110: a member gets no more of a node's time than its rate permits, however much there is to look
 * through. The world of known.h: frames are put into a link that has no other end, and units are read off the
 * time until which the link owes. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif
#include "known.h"

enum { MANY = 20000, UNIT_US = 50 };

static unsigned char said[70000];
static struct phx__writer w;

/* Has the peer say what is in w, in one read: the units that this is charged. */
static uint64_t says(struct known *k, struct phx__link *l)
{
    uint64_t before;

    k->now += 2000000; /* all that was owed is paid */
    phx_step(k->p, k->now, NULL, 0);
    before = k->now;
    k->in = w.data;
    k->in_size = w.size;
    phx__node_links_read(k->p, l);
    check(k->in_size == 0 && l->state == PHX__LINK_UP, "it is read, and the link stays");
    phx__buf_writer_init(&w, said, sizeof said);
    return (l->in.paid_at > before ? l->in.paid_at - before : 0) / UNIT_US;
}

static void put_summary(int flags)
{
    size_t start = phx__wire_begin(&w, PHX__SUMMARY, flags, 0);

    phx__wire_end(&w, start);
}

static void put_beat(int flags, uint64_t around)
{
    struct phx__beat b = { 5000, 1, 2, 3, 0, 0 };

    b.around = around;
    phx__wire_link_put(&w, PHX__BEAT, flags, 0, &b);
}

static void put_hand(const struct known *k, const struct phx_id *giver)
{
    struct phx__hand h;

    memset(&h, 0, sizeof h);
    h.target = k->p->self;
    h.giver = *giver;
    h.last = UINT64_MAX;
    phx__wire_link_put(&w, PHX__HAND, 0, 16, &h);
}

/* So many nodes with names behind each of two links, and another link. The first is returned. */
static struct phx__link *begin_many(struct known *k)
{
    struct phx__link *l, *other;
    struct phx_id owner;
    uint32_t i, bad = 0;

    known_begin(k, 0, 65536);
    l = known_link(k, 1000000);
    other = known_link(k, 1000001);
    known_link(k, 1000002);
    for (i = 0; i < MANY; i++) {
        bad += known_hears(k, i % 2 ? l->peer : other->peer, i, 1, 1) != 0;
        bad += known_hears(k, i % 2 ? other->peer : l->peer, i, 1, 1) != 0;
    }
    k->takes = SIZE_MAX; /* what is to be told is written */
    known_steps(k, 3);
    check(bad == 0 && phx_owner(k->p, 7005, &owner) == 0, "all are known, and their names");
    phx__buf_writer_init(&w, said, sizeof said);
    return l;
}

static void test_walks(void)
{
    /* Goal: what makes a node look through its table or its names is charged by their size, promise 110.
     * Method: 20,000 nodes with a range each; single frames. The other neighbours are written to at once, so
     * each loss has entries checked again. */
    struct phx__link *l;
    struct known k;
    uint64_t units;

    l = begin_many(&k);
    put_beat(0, 1);
    units = says(&k, l);
    ok(units == 1, "a heartbeat: %lu unit", (unsigned long)units);
    put_beat(PHX__BEAT_SHRUNK, 2);
    units = says(&k, l);
    ok(units >= MANY / 256 + MANY * 3 * 8 / 256, "one that says that its sender lost neighbours: %lu units",
       (unsigned long)units);
    put_summary(0);
    units = says(&k, l);
    ok(units >= 3 * MANY / 256, "a question for the table: %lu units", (unsigned long)units);
    put_hand(&k, &k.p->ids.at[l->peer]);
    units = says(&k, l);
    ok(units == 2, "names handed, of a node that has none: %lu units", (unsigned long)units);
    known_put_card(&w, 5, 2);
    units = says(&k, l);
    ok(units >= MANY * 16 / 256, "a card with other names: %lu units", (unsigned long)units);
    known_put_card(&w, 6, 2);
    known_put_card(&w, 7, 2);
    units = says(&k, l);
    ok(units < 2 * MANY * 16 / 256, "two of them in one step: %lu units", (unsigned long)units);
    known_put_card(&w, 5, 2);
    units = says(&k, l);
    ok(units < 5, "the same again: %lu units", (unsigned long)units);
    known_end(&k);
}

static void test_answers(void)
{
    /* Goal: nobody has the table sent by an answer to what was never asked, or by questions without end.
     * Method: empty summaries, which say that the peer knows nothing; what waits to be written. */
    struct pollfd writable = { -1, POLLOUT, POLLOUT };
    struct phx__link *l;
    struct known k;
    uint64_t units;
    size_t before;

    l = begin_many(&k);
    before = l->out.control.bytes;
    put_summary(PHX__SUMMARY_REPLY);
    units = says(&k, l);
    ok(units == 1, "an answer that was not asked for is not looked at: %lu unit", (unsigned long)units);
    k.takes = 0;
    known_steps(&k, 2);
    ok(l->out.control.bytes + l->out.stream.bytes < before + 1000, "nothing is sent for it");
    put_summary(0);
    put_summary(0);
    put_summary(0);
    units = says(&k, l);
    ok(units >= 3 * MANY / 256 && units < 2000, "of three questions at once one counts: %lu units",
       (unsigned long)units);
    k.takes = SIZE_MAX;
    writable.fd = l->handle; /* it was full */
    phx_step(k.p, k.now, &writable, 1);
    known_steps(&k, 20);
    k.p->route.ops.summary(k.p->route.ops.ctx, l->peer, 0);
    put_summary(PHX__SUMMARY_REPLY);
    put_summary(PHX__SUMMARY_REPLY);
    units = says(&k, l);
    ok(units >= 3 * MANY / 256 && units < 2000, "this node has asked: one answer is read: %lu units",
       (unsigned long)units);
    known_end(&k);
}

/* ---- One rate for all -------------------------------------------------------------------------- */

enum { LIARS = 20, BEATS = 5000, BEAT = 36 };

static unsigned char beats[(BEATS + 1) * BEAT];

/* Has a link bring as many heartbeats as it is read for; *at: where the stream stands in one. */
static void floods(struct known *k, struct phx__link *l, size_t *at)
{
    if (l->in.resting)
        return;
    k->in = beats + *at;
    k->in_size = sizeof beats - BEAT;
    phx__node_links_read(k->p, l);
    *at = (*at + sizeof beats - BEAT - k->in_size) % BEAT;
    k->in_size = 0;
}

static void test_shared(void)
{
    /* Goal: a member with 20 links gets no more of a node's time than the node's one rate, 200,000 units at
     * once and 50,000 a second, while an older link with 400 new nodes passes, promises 50 and 110. Method:
     * 20 links bring heartbeats as fast as they are read, for 10 s; the old one says one in each step, and
     * brings the nodes after 5 s. */
    struct phx__link *liar[LIARS], *old;
    size_t at[LIARS] = { 0 };
    unsigned long before, half = 0, taken, rested = 0;
    struct phx__entry e;
    struct known k;
    uint32_t i, t;
    size_t start;

    known_begin(&k, 0, 65536);
    old = known_link(&k, 1);
    k.now += 100 * PHX__SECOND;
    known_steps(&k, 1);
    for (i = 0; i < LIARS; i++)
        liar[i] = known_link(&k, 100 + i);
    phx__buf_writer_init(&w, beats, sizeof beats);
    while (w.size < sizeof beats)
        put_beat(0, 1);
    before = (unsigned long)known_stats(&k).heartbeats_in;
    for (t = 0; t < 1000; t++) {
        for (i = 0; i < LIARS; i++)
            floods(&k, liar[i], &at[i]);
        phx__buf_writer_init(&w, said, sizeof said);
        put_beat(0, 1);
        start = phx__wire_route_begin_update(&w);
        for (i = 0; t == 500 && i < 400; i++) {
            memset(&e, 0, sizeof e);
            e.id = id_of(5000 + i);
            e.seq = e.hops = 1;
            phx__wire_route_put_entry(&w, &e);
        }
        phx__wire_end(&w, start);
        rested += old->in.resting;
        half = t == 500 ? (unsigned long)known_stats(&k).heartbeats_in - before : half;
        k.in = w.data;
        k.in_size = w.size;
        phx__node_links_read(k.p, old);
        check(k.in_size == 0, "the old link is read");
        k.now += 10000;
        phx_step(k.p, k.now, NULL, 0);
    }
    taken = (unsigned long)known_stats(&k).heartbeats_in - before;
    ok(half < 200000 + 5 * 50000 + 300000, "5 s: of 20 links %lu frames are taken", half);
    ok(taken - half < 5 * 55000 && taken - half > 5 * 40000, "then the rate holds: %lu in 5 s", taken - half);
    ok(rested == 0 && known_stats(&k).reachable == 1 + 1 + LIARS + 400,
       "an old link does not rest, and its 400 nodes are known at once");
    known_end(&k);
}

int main(void)
{
    test_walks();
    test_shared();
    test_answers();
    return test_end();
}
