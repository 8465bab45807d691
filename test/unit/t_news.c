/* t_news.c - what waits for neighbours to read, and what passes it: tables, cards, heartbeats, data. */

/* Promises 9, 65 and 110: a member that changes large cards without end fills nobody's memory by way of those
 * who do not read, and what a node passes on leaves room for its data. The world of known.h, in virtual time;
 * all figures are exact. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif
#include "known.h"

enum { CARDS = 97, CLAIMS = 18000, BIG = 10 + CLAIMS * 24 };

static unsigned char card[BIG];
static const struct phx_id liar = { { 0xee } };

/* Version after version of a card of 432 KB, heard of this neighbour. */
static void hear_card(struct known *k, uint32_t nbr, uint32_t i, uint32_t version)
{
    struct phx__entry e;
    struct phx__writer w;
    uint32_t at;

    phx__buf_writer_init(&w, card, sizeof card);
    phx__buf_put_u8(&w, PHX__CARD_RELAYS);
    phx__buf_put_u32(&w, 65536);
    phx__buf_put_u8(&w, 0);
    phx__buf_put_u32(&w, CLAIMS);
    for (at = 0; at < CLAIMS; at++) {
        phx__buf_put_u64(&w, ((uint64_t)i * CLAIMS + at) * 2);
        phx__buf_put_u64(&w, ((uint64_t)i * CLAIMS + at) * 2);
        phx__buf_put_u64(&w, version);
    }
    memset(&e, 0, sizeof e);
    e.id = liar;
    e.id.b[1] = (unsigned char)i;
    e.seq = 2 + version;
    e.hops = 1;
    e.card_version = version;
    e.card = card;
    e.card_size = (uint32_t)w.size;
    check(phx__route_entry(&k->p->route, nbr, &e, k->now) == 0, "a card");
}

/* ---- What a neighbour reads -------------------------------------------------------------------- */

static struct reader {
    int handle;
    unsigned char kept[70000]; /* the front of a frame */
    size_t have;
    size_t news, data, beats;        /* bytes; beats: frames */
    size_t news_before_beat;         /* bytes of news that came before the first beat */
    uint32_t version[256], messages; /* of each big card; whole messages */
} reader;

static void read_frame(const struct phx__frame *f, size_t size)
{
    struct phx__entry e;
    struct phx__reader r;

    if (f->type == PHX__DATA) {
        reader.data += size;
        reader.messages += (f->flags & PHX__DATA_LAST) != 0;
    } else if (f->type == PHX__BEAT) {
        reader.news_before_beat = reader.beats++ == 0 ? reader.news : reader.news_before_beat;
    } else {
        reader.news += size;
    }
    if (f->type != PHX__UPDATE || phx__wire_route_get_update(f, &r) != 0)
        return;
    while (phx__wire_route_next_entry(&r, &e) > 0)
        if (e.id.b[0] == liar.b[0])
            reader.version[e.id.b[1]] = e.card_version;
}

static void heard(struct known *k, int handle, const void *data, size_t size)
{
    const unsigned char *p = data;
    struct phx__frame f;
    size_t used, some;

    (void)k;
    if (handle != reader.handle)
        return;
    while (size > 0) {
        some = size < sizeof reader.kept - reader.have ? size : sizeof reader.kept - reader.have;
        memcpy(reader.kept + reader.have, p, some);
        reader.have += some;
        p += some;
        size -= some;
        while (phx__wire_parse(reader.kept, reader.have, &f, &used) > 0) {
            read_frame(&f, used);
            reader.have -= used;
            memmove(reader.kept, reader.kept + used, reader.have);
        }
    }
}

static void reads(struct known *k, const struct phx__link *l)
{
    memset(&reader, 0, sizeof reader);
    reader.handle = l->handle;
    k->heard = heard;
}

/* A link that takes again what it is given. */
static void wake(struct known *k, struct phx__link *l)
{
    phx__node_links_ready(k->p, l->handle, PHX_WRITE);
    k->now += 10000;
    phx_step(k->p, k->now, NULL, 0);
}

static size_t waits(const struct phx__link *l)
{
    return phx__link_out_queued(l) + l->out.news.bytes;
}

/* Links that do not read, behind one that does; and the one that tells. */
static struct phx__link *begin_links(struct known *k, struct phx__link **to, uint32_t count)
{
    struct phx__link *from;
    uint32_t i;

    known_begin(k, 0, 65536);
    from = known_link(k, 1000);
    for (i = 0; i < count; i++)
        to[i] = known_link(k, 2000 + i);
    k->deaf = to[1]->handle;
    k->takes = SIZE_MAX;
    known_steps(k, 3);
    return from;
}

/* ---- Tests ------------------------------------------------------------------------------------- */

static void test_bounds(void)
{
    /* Goal: what waits for one neighbour is at most 1 MiB beside a card, for all of them 32 MiB beside one,
     * and one that reads has its share all the while. Method: 97 cards of 432 KB, each changed again and
     * again, at a node with one neighbour that reads and 60 that do not. */
    enum { LINKS = 61 };
    struct phx__link *to[LINKS], *from;
    size_t most = 0, all, all_most = 0;
    uint32_t i, round, seen = 0, current = 0;
    struct known k;

    from = begin_links(&k, to, LINKS);
    reads(&k, to[0]);
    for (round = 1; round <= 3; round++)
        for (i = 0; i < CARDS; i++) {
            hear_card(&k, from->peer, i, round);
            wake(&k, to[0]);
            for (all = 0, seen = 1; seen < LINKS; seen++) {
                all += waits(to[seen]);
                most = waits(to[seen]) > most ? waits(to[seen]) : most;
            }
            all_most = all > all_most ? all : all_most;
        }
    ok(most <= (1u << 20) + BIG + (256u << 10), "one that does not read: at most %lu KiB wait for it",
       (unsigned long)most >> 10);
    ok(all_most <= (32u << 20) + BIG + LINKS * (192u << 10), "60 that do not read: %lu MiB in all",
       (unsigned long)all_most >> 20);
    ok(reader.news > 4000000, "one that reads was told %lu KiB meanwhile", (unsigned long)reader.news >> 10);
    for (i = 0; i < 12000 && current < CARDS; i++) { /* 120 s */
        wake(&k, to[0]);
        for (current = 0; current < CARDS && reader.version[current] == 3; current++)
            continue;
    }
    ok(current == CARDS, "and has the last word on every card after %u s", i / 100);
    known_end(&k);
}

static void test_rate(void)
{
    /* Goal: what is passed on leaves its receiver room: at most half of what one link may bring, so that the
     * receiver never rests, and data behind it comes. Method: cards change as fast as they can be heard, for
     * 30 s; the neighbour reads all that is written. */
    struct phx__link *to[2], *from;
    uint32_t i, version = 1;
    size_t limit;
    struct known k;

    from = begin_links(&k, to, 2);
    reads(&k, to[0]);
    for (i = 0; i < 3000; i++) {
        if (i % 3 == 0) {
            hear_card(&k, from->peer, version % 20, version);
            version++;
        }
        wake(&k, to[0]);
    }
    limit = 3200000 + 30 * 640000 + (1u << 20) + BIG;
    ok(reader.news <= limit, "30 s of changes: %lu KiB are passed on, at most %lu",
       (unsigned long)reader.news >> 10, (unsigned long)limit >> 10);
    ok(reader.news >= 30 * 500000, "and not much less");
    known_end(&k);
}

static void test_between(void)
{
    /* Goal: heartbeats and data pass between news. Method: 1 MiB of news waits for a neighbour, then a
     * heartbeat and data; it reads 32 KiB in each step. */
    static const unsigned char byte[65536];
    struct phx__link *to[2], *from;
    uint32_t i, sent = 0;
    struct known k;

    from = begin_links(&k, to, 2);
    check(known_hears(&k, to[0]->peer, 2000, 0, 1) == 0, "the neighbour has names");
    known_steps(&k, 2);
    reads(&k, to[0]);
    k.takes = 0;
    for (i = 0; i < 20; i++) {
        hear_card(&k, from->peer, i, 1);
        wake(&k, to[0]);
    }
    for (i = 0; i < 16; i++)
        sent += phx_send(k.p, 2000 * 1000, 0, 0, byte, 60000) == 0;
    check(sent == 16, "16 messages wait: %u", sent);
    phx__node_frames_beat(k.p, to[0]->peer, 0);
    for (i = 0; i < 12; i++) {
        k.takes = 32768;
        wake(&k, to[0]);
    }
    ok(reader.beats > 0 && reader.news_before_beat < 300000, "%lu KiB come before the heartbeat",
       (unsigned long)reader.news_before_beat >> 10);
    for (i = 0; i < 40; i++) {
        k.takes = 32768;
        wake(&k, to[0]);
    }
    ok(reader.data > reader.news / 2 && reader.news > reader.data / 2, "of %lu KiB then, %lu are data",
       (unsigned long)(reader.data + reader.news) >> 10, (unsigned long)reader.data >> 10);
    known_end(&k);
}

static void test_control_most(void)
{
    /* Goal: a neighbour that reads nothing is given 4 MiB of control frames, and 32 bytes more for each node
     * that is known; what comes then finds no room, so that its link is closed. Method: frames of 64 KiB. */
    struct phx__writer w;
    struct phx__link *l;
    struct known k;
    size_t start, size;
    int err, n = 0;

    known_begin(&k, 0, 1000);
    l = known_link(&k, 1);
    known_steps(&k, 10);
    k.p->set.table = 32 * 2048; /* of 2,048 nodes */
    size = 65536 - (l->out.control.bytes + l->out.news.bytes);
    do {
        if ((err = phx__link_out_control(&k.p->set, l, size, &w)) == 0) {
            start = phx__wire_begin(&w, PHX__BEAT, 0, 0);
            w.size += size - PHX__WIRE_HEADER;
            phx__wire_end(&w, start);
            err = phx__link_out_control_end(&k.p->set, l, &w);
            size = 65536;
        }
    } while (err == 0 && ++n < 1000);
    ok(err == PHX_ENOMEM && n == 64 + 1 + 1, "4 MiB, 64 KiB for the table, and one frame beyond: %d", n);
    known_end(&k);
}

int main(void)
{
    test_bounds();
    test_rate();
    test_between();
    test_control_most();
    return test_end();
}
