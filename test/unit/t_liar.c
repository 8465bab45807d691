/* t_liar.c - members that lie: after a good hello a raw peer says what no honest node would.
 *
 * Goal: a broken frame closes its link with one log line, odd ones are ignored as src/WIRE.md
 * says, all else goes on, and memory stays under its cap. Method: a peer that speaks the protocol
 * by hand (raw.h) links with one of two honest nodes, says one thing, and the two must go on
 * exchanging messages. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#include "../../src/node/state.h"
#endif

#include "raw.h"

/* ---- Members that lie ------------------------------------------------------------------------ */

/* An UPDATE entry of the raw peer itself, without its flags' consequences. */
static void put_entry(const struct phx_id *id, uint64_t seq, int hop_count, int flags,
                      uint64_t version)
{
    put_bytes(id, 16);
    put(0, 8);
    put(seq, 4);
    put((uint64_t)hop_count, 1);
    put((uint64_t)flags, 1);
    put(version, 4);
}

static void update_begin(void)
{
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
}

static void lie_cut_entry(void)
{
    update_begin();
    put_fill(1, 20);
    tail();
}

static void lie_ids(void)
{
    head(SPEC_UPDATE, 1, 0);
    put(65535, 2);
    put_fill(1, 160);
    tail();
}

static void lie_card_size(void)
{
    update_begin();
    put_entry(&r.id, 2, 0, 1, 2);
    put(0xfffffff0, 4);
    put_fill(0, 50);
    tail();
}

static void lie_claims(void)
{
    update_begin();
    put_entry(&r.id, 2, 0, 1, 2);
    put(11 + 24, 4);
    put(1, 1);
    put(65536, 4);
    put(0, 2);
    put(100000, 4); /* and brings one */
    put(1, 8);
    put(2, 8);
    put(3, 8);
    tail();
}

static void lie_claim_order(void)
{
    update_begin();
    put_entry(&r.id, 2, 0, 1, 2);
    put(11 + 24, 4);
    put(1, 1);
    put(65536, 4);
    put(0, 2); /* no label, no address */
    put(1, 4);
    put(9, 8); /* 9..2 */
    put(2, 8);
    put(3, 8);
    tail();
}

static void lie_card_sent(void)
{
    update_begin();
    put_entry(&r.id, 2, 0, 2, 2);
    tail();
}

static void card_part_of(uint64_t total, uint64_t offset, const void *data, size_t size)
{
    head(SPEC_CARD, 0, 0);
    put_bytes(&r.id, 16);
    put(0, 8);
    put(5, 4);
    put(total, 4);
    put(offset, 4);
    put_bytes(data, size);
    tail();
}

static void card_part(uint64_t total, uint64_t offset, size_t size)
{
    static const unsigned char zeroes[60000];

    card_part_of(total, offset, zeroes, size);
}

static void lie_card_huge(void)
{
    card_part(0xffffffff, 0, 100);
}

static void lie_card_gap(void)
{
    card_part(1000, 0, 100);
    card_part(1000, 200, 100);
}

static void lie_card_over(void)
{
    card_part(150, 0, 100);
    card_part(150, 100, 100);
}

static void lie_beat(void)
{
    head(SPEC_BEAT, 0, 0);
    put_fill(0, 27);
    tail();
}

static void lie_beat_hops(void)
{
    head(SPEC_BEAT, 0, 3);
    put_fill(0, 28);
    tail();
}

static void lie_request(void)
{
    head(SPEC_REQUEST, 0, 5);
    put_fill(0, 29);
    tail();
}

static void lie_summary(void)
{
    head(SPEC_SUMMARY, 0, 0);
    put_fill(7, 28);
    tail();
}

static void lie_type(void)
{
    head(99, 0, 0);
    tail();
}

static void lie_zero(void)
{
    head(SPEC_BEAT, 0, 0);
    put_fill(0, 28);
    tail();
    b.at[b.frame + 7] = 1;
}

/* ... of another one, of what life and number. */
static void word_on(const struct phx_id *id, uint64_t incarnation, uint64_t seq, int hop_count)
{
    update_begin();
    put_bytes(id, 16);
    put(incarnation, 8);
    put(seq, 4);
    put((uint64_t)hop_count, 1);
    put(0, 1);
    put(0, 4);
    tail();
}

static void lie_no_distance(void)
{
    word_on(&n[1].id, 0, 100, 0);
}

static void lie_own_distance(void)
{
    word_on(&r.id, 0, 2, 3);
}

static void lie_seq(void)
{
    word_on(&n[1].id, 0, 0x80000001u, 1);
}

static void lie_incarnation(void)
{
    word_on(&n[1].id, (uint64_t)1 << 63, 1, 1);
}

static void lie_in_summary(void)
{
    head(SPEC_SUMMARY, 0, 0);
    put_bytes(&n[1].id, 16);
    put(0, 8);
    put(9, 4);
    put(0, 1);
    tail();
}

/* Beyond what anybody could rise above, where no entry says it. */
static void lie_elsewhere(int type, uint64_t incarnation, uint64_t seq)
{
    head(type, 0, type == SPEC_SUMMARY ? 0 : 5);
    put_bytes(&n[1].id, 16);
    if (type == SPEC_HAND)
        put_bytes(&r.id, 16);
    put(incarnation, 8);
    if (type != SPEC_HAND)
        put(seq, 4);
    put_fill(1, type == SPEC_SUMMARY ? 1 : type == SPEC_SUSPECT ? 16 : type == SPEC_HAND ? 24 : 0);
    tail();
}

static void lie_summary_seq(void)
{
    lie_elsewhere(SPEC_SUMMARY, 0, 0x80000001u);
}

static void lie_request_life(void)
{
    lie_elsewhere(SPEC_REQUEST, (uint64_t)1 << 63, 1);
}

static void lie_suspect_seq(void)
{
    lie_elsewhere(SPEC_SUSPECT, 0, 0x80000001u);
}

static void lie_hand_life(void)
{
    lie_elsewhere(SPEC_HAND, (uint64_t)1 << 63, 0);
}

static void lie_hello(void)
{
    raw_hello("phoenix", 2, 2);
}

static void data_begin(const struct phx_id *target, int flags, uint64_t number, uint64_t total)
{
    head(SPEC_DATA, flags, 5);
    put_bytes(target, 16);
    put_bytes(&r.id, 16);
    put(number, 8);
    put(1, 8); /* epoch */
    if ((flags & 1) != 0) {
        put(1, 8);
        put(99, 8);
        put(0, 8);
        put(total, 8);
    }
}

static void lie_data_short(void)
{
    head(SPEC_DATA, 3, 5);
    put_bytes(&n[0].id, 16);
    put_bytes(&r.id, 16);
    put_fill(0, 5);
    tail();
}

static void lie_data_total(void)
{
    data_begin(&n[0].id, 3, 0, 50);
    put_fill(0, 49);
    tail();
}

static void lie_data_huge(void)
{
    data_begin(&n[0].id, 1, 0, (uint64_t)1 << 40);
    put_fill(0, 49);
    tail();
}

static void lie_data_empty(void)
{
    data_begin(&n[0].id, 2, 0, 0);
    tail();
}

static void lie_ack(void)
{
    head(SPEC_ACK, 0, 5);
    put_bytes(&n[0].id, 16);
    put_fill(0, 35);
    tail();
}

static void lie_size(void)
{
    put(65789, 4);
    put_fill(SPEC_DATA, 10);
}

static void test_liars(void)
{
    static const struct {
        const char *what;
        void (*say)(void);
    } cases[] = {
        {"garbage", raw_garbage},
        {"a frame too large", lie_size},
        {"an unknown type", lie_type},
        {"HELLO again", lie_hello},
        {"an entry cut off", lie_cut_entry},
        {"65,535 ids of which 10 come", lie_ids},
        {"a card of 4 GiB", lie_card_size},
        {"100,000 claims of which 1 comes", lie_claims},
        {"a claim that ends before it begins", lie_claim_order},
        {"CARD_SENT without one", lie_card_sent},
        {"CARD of 4 GiB", lie_card_huge},
        {"CARD with a gap", lie_card_gap},
        {"CARD beyond its end", lie_card_over},
        {"BEAT too short", lie_beat},
        {"BEAT with hops", lie_beat_hops},
        {"REQUEST too long", lie_request},
        {"SUMMARY with half a line", lie_summary},
        {"byte 7 not zero", lie_zero},
        {"DATA too short", lie_data_short},
        {"DATA shorter than it says", lie_data_total},
        {"DATA of 2^40 bytes", lie_data_huge},
        {"DATA with nothing", lie_data_empty},
        {"ACK too short", lie_ack},
        {"no distance from another node", lie_no_distance},
        {"a distance from itself", lie_own_distance},
        {"a number that cannot be outdone", lie_seq},
        {"a life that cannot be outdone", lie_incarnation},
        {"no distance from another node, in SUMMARY", lie_in_summary},
        {"a number that cannot be outdone, in SUMMARY", lie_summary_seq},
        {"a number that cannot be outdone, in SUSPECT", lie_suspect_seq},
        {"a life that cannot be outdone, in REQUEST", lie_request_life},
        {"a life that cannot be outdone, in HAND", lie_hand_life},
    };
    struct phx_config c = usual();
    char id[PHX_ID_TEXT];
    size_t i;

    begin_pair(&c);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        host_ahead += SECOND; /* there are 20 lines in one */
        if (!raw_link(&n[0]))
            continue;
        phx_id_text(&r.id, id);
        cases[i].say();
        raw_send();
        eventually(raw_is_closed(), "%s: closed", cases[i].what);
        ok(logged(&n[0], id, "") == 2 && logged(&n[0], id, phx_strerror(PHX_EPROTO)) == 1
               && honest(),
           "%s: one log line, all else goes on", cases[i].what);
        raw_finish();
    }
    ok(stats(&n[0]).bad_frames == sizeof cases / sizeof cases[0],
       "all are counted, promise 112: %lu", (unsigned long)stats(&n[0]).bad_frames);
    finish_all(n, 2);
}

/* ---- Nonsense that is no protocol error ------------------------------------------------------ */

static void odd_ack(void)
{
    head(SPEC_ACK, 1, 5);
    put_bytes(&n[0].id, 16);
    put_bytes(&r.id, 16);
    put(77, 8);
    put(UINT64_MAX, 8);
    put(0xffffffff, 4);
    tail();
    head(SPEC_ACK, 0, 5); /* in the name of an honest node, for what was never sent */
    put_bytes(&n[0].id, 16);
    put_bytes(&n[1].id, 16);
    put(1, 8);
    put(1000000, 8);
    put(1 << 20, 4);
    tail();
}

static void odd_target(void)
{
    struct phx_id nobody;

    memset(&nobody, 0xee, sizeof nobody);
    data_begin(&nobody, 3, 0, 4);
    put_fill(0, 4);
    tail();
    data_begin(&n[0].id, 3, 5000, 4); /* a gap of 5,000 */
    put_fill(0, 4);
    tail();
}

/* The first of many: room is made for what comes, not for what is announced. */
static void odd_promise(void)
{
    data_begin(&n[0].id, 1, 0, 16u << 20);
    put_fill(0, 10);
    tail();
}

static void odd_order(void)
{
    data_begin(&n[0].id, 1, 0, 100);
    put_fill(0, 10);
    tail();
    data_begin(&n[0].id, 3, 1, 3); /* another one begins in its midst */
    put_fill(0, 3);
    tail();
}

static void odd_card(void)
{
    card_part(2400883, 0, 60000);
}

static void odd_requests(void)
{
    int i;

    for (i = 0; i < 3000; i++) {
        head(SPEC_REQUEST, 0, 255);
        if (i % 3 == 0)
            put_bytes(&n[0].id, 16);
        else
            put_fill(i % 251, 16);
        put(0, 8);
        put(i % 2 ? 0x80000000u : (uint64_t)i, 4);
        tail();
    }
}

static void odd_nodes(void)
{
    struct phx_id id;
    int i;

    update_begin();
    for (i = 0; i < 1500; i++) {
        memset(&id, 0x55, sizeof id);
        memcpy(&id, &i, sizeof i);
        put_entry(&id, 1, 3, 0, 0);
    }
    tail();
    update_begin();
    for (; i < 3000; i++) {
        memset(&id, 0x55, sizeof id);
        memcpy(&id, &i, sizeof i);
        put_entry(&id, 1, 3, 0, 0);
    }
    tail();
}

static void test_nonsense(void)
{
    static const struct {
        const char *what;
        void (*say)(void);
    } cases[] = {
        {"acks for the future", odd_ack},
        {"data for nobody, and after a gap", odd_target},
        {"a message that never goes on", odd_promise},
        {"a message within another", odd_order},
        {"a card that never ends", odd_card},
        {"3,000 requests", odd_requests},
        {"3,000 nodes that are not there", odd_nodes},
    };
    struct phx_config c = usual();
    char id[PHX_ID_TEXT];
    size_t i;

    begin_pair(&c);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t before = n[0].heap.bytes;
        if (!raw_link(&n[0]))
            continue;
        phx_id_text(&r.id, id);
        cases[i].say();
        raw_send();
        go_on(50 * MS);
        ok(!raw_is_closed() && logged(&n[0], id, "down") == 0 && honest(),
           "%s: the link stays, all goes on", cases[i].what);
        ok(n[0].heap.bytes < before + (1u << 20), "%s: memory is bounded (%lu KiB more)",
           cases[i].what, (unsigned long)(n[0].heap.bytes - before) / 1024);
        raw_finish();
        await(logged(&n[0], id, "down") == 1, PATIENCE);
    }
    ok(stats(&n[0]).mem_peak <= c.mem_limit && stats(&n[0]).bad_frames == 0,
       "under its cap all the time");
    ok(n[0].log_size < 10000, "and the log is short: %lu bytes", (unsigned long)n[0].log_size);
    finish_all(n, 2);
}

/* The largest card there is, all of it true. */
static void say_big_card(void)
{
    const uint64_t total = 11 + 24 * 100000u;
    uint64_t i, at, size;
    static unsigned char card[11 + 24 * 100000u];

    b.size = 0;
    put(1, 1);
    put(65536, 4);
    put(0, 2);
    put(100000, 4);
    memcpy(card, b.at, b.size);
    for (i = 0; i < 100000; i++) {
        b.size = 0;
        put(1000 + 2 * i, 8);
        put(1000 + 2 * i, 8);
        put(7, 8);
        memcpy(card + 11 + 24 * i, b.at, 24);
    }
    b.size = 0;
    for (at = 0; at < total; at += size) {
        size = total - at < 60000 ? total - at : 60000;
        card_part_of(total, at, card + at, (size_t)size);
        raw_send();
    }
    update_begin();
    put_entry(&r.id, 2, 0, 2, 5);
    tail();
    raw_send();
}

static void test_big_card(void)
{
    struct phx_config c = usual();
    struct phx_id owner;
    char id[PHX_ID_TEXT];

    c.mem_limit = 3u << 20;
    begin_pair(&c);
    raw_link(&n[0]);
    phx_id_text(&r.id, id);
    say_big_card();
    eventually(raw_is_closed(), "a card of 2.4 MB where there is no room for it: the link closes");
    ok(logged(&n[0], id, phx_strerror(PHX_ENOMEM)) == 1 && honest(),
       "one log line, all else goes on");
    ok(stats(&n[0]).mem_peak <= c.mem_limit, "under the cap, promise 122");
    raw_finish();
    finish_all(n, 2);

    c.mem_limit = 64u << 20;
    begin_pair(&c);
    raw_link(&n[0]);
    say_big_card();
    eventually(phx_names(n[1].p, &r.id, NULL, 0) == 100000 && phx_owner(n[1].p, 200998, &owner) == 0
                   && same_id(&owner, &r.id),
               "where there is room it is taken, and passed on to others, promise 73");
    ok(honest(), "all else goes on");
    raw_finish();
    finish_all(n, 2);
}

/* ---- What a liar may make others do ---------------------------------------------------------- */

static int victim_listen(int *port)
{
    struct sockaddr_in at;
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1000) != 0
        || getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        exit(1);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    *port = ntohs(at.sin_port);
    return fd;
}

/* 200 nodes that are not there, all at the victim's address; their cards are new each time. */
static void say_victim(int port, int version)
{
    struct phx_id id;
    int i;

    update_begin();
    for (i = 0; i < 200; i++) {
        memset(&id, 0x66, sizeof id);
        memcpy(&id, &i, sizeof i);
        put_entry(&id, (uint64_t)(2 * version), 1, 1, (uint64_t)version);
        put(11 + 14, 4);
        put(1, 1);
        put(65536, 4);
        put(0, 1); /* no label */
        put(2, 1);
        put(4, 1);
        put(0x0100007f, 4);
        put((uint64_t)port, 2);
        put(4, 1); /* and one that is refused at once, another one each time */
        put(0x0100007f, 4);
        put(1 + (uint64_t)version % 5, 2);
        put(0, 4);
    }
    tail();
    raw_send();
}

static void test_victim(void)
{
    struct phx_config c = usual();
    int port, fd = victim_listen(&port), one, visits = 0, version;
    unsigned long dials;

    c.mem_limit = 0;
    begin_pair(&c);
    raw_link(&n[0]);
    for (version = 1; version <= 30; version++) {
        say_victim(port, version);
        go_on(100 * MS);
        while ((one = accept(fd, NULL, NULL)) >= 0) {
            visits++;
            close(one);
        }
    }
    dials = (unsigned long)(stats(&n[0]).dials + stats(&n[1]).dials);
    ok(visits > 8 && visits <= 2 * 17, "a victim is dialled %d times by two nodes, of %lu dials, pitfall 21",
       visits, dials);
    ok(dials < 2 * 7 * 17, "and so are other places: that is all there is");
    ok(honest(), "all else goes on");
    raw_finish();
    close(fd);
    finish_all(n, 2);
}

static void test_talker(void)
{
    struct phx_config c = usual();
    uint64_t start, before, took;
    unsigned long beats;
    char id[PHX_ID_TEXT];
    int i, k;

    begin_pair(&c);
    raw_link(&n[0]);
    phx_id_text(&r.id, id);
    before = stats(&n[0]).heartbeats_in;
    start = phx_now_us();
    for (i = 0; i < 75; i++) {
        for (k = 0; k < 2000; k++) {
            head(SPEC_BEAT, 0, 0);
            put(60000, 4);
            put_fill(0, 24);
            tail();
        }
        raw_send();
    }
    go_on(500 * MS);
    took = phx_now_us() - start;
    beats = (unsigned long)(stats(&n[0]).heartbeats_in - before);
    ok(beats >= 100000 && beats < 100000 + 20000 * (took + SECOND) / SECOND,
       "of 150,000 heartbeats at once %lu are taken in %d ms, promise 110", beats, (int)(took / MS));
    ok(honest(), "meanwhile others are served");
    eventually(stats(&n[0]).heartbeats_in - before >= 150000, "in the end all are: none is lost");
    took = phx_now_us() - start;
    ok(took > 1500 * MS && took < 10 * SECOND, "after %d ms", (int)(took / MS));
    ok(logged(&n[0], id, "down") == 0 && honest(), "its link stays, and all else goes on");
    raw_finish();
    finish_all(n, 2);
}

static void put_word(const struct node *about, uint64_t seq)
{
    head(SPEC_SUSPECT, 0, 16);
    put_bytes(&about->id, 16);
    put(look(&n[0], about).incarnation, 8);
    put(seq, 4);
    put_bytes(&r.id, 16);
    tail();
}

static void test_words(void)
{
    /* Goal: one member that accuses others all the time does not make all nodes talk all the time,
     * and does not keep a true word from being heard. Method: 2,000 accusations of a live node, each
     * with a higher number; one with a number that the accused cannot exceed, and a good one. */
    struct phx_config c = usual();
    uint64_t before, heard, i;
    int suspect;

    begin_pair(&c);
    raw_link(&n[0]);
    go_on(300 * MS);
    before = stats(&n[1]).frames_in;
    heard = stats(&n[0]).frames_in;
    for (i = 0; i < 2000; i++)
        put_word(&n[1], 100 + i);
    raw_send();
    eventually(stats(&n[0]).frames_in >= heard + 2000, "all are heard");
    go_on(300 * MS);
    ok(stats(&n[1]).frames_in - before < 20, "%d frames come of it, not thousands",
       (int)(stats(&n[1]).frames_in - before));
    ok(look(&n[0], &n[1]).state == PHX_NODE_OK, "it has answered");
    go_on(1500 * MS);
    suspect = told(&n[0], &n[1], PHX_NODE_SUSPECT);
    put_word(&n[1], 0x80000000u);
    put_word(&n[1], 3000);
    raw_send();
    eventually(told(&n[0], &n[1], PHX_NODE_SUSPECT) == suspect + 1, "the good one is looked into");
    eventually(look(&n[0], &n[1]).state == PHX_NODE_OK, "and answered");
    go_on(1500 * MS);
    put_word(&n[1], 4000);
    raw_send();
    eventually(told(&n[0], &n[1], PHX_NODE_SUSPECT) == suspect + 2, "and so is the next");
    ok(linked(&n[0], &n[1]) && honest(), "all goes on");
    raw_finish();
    finish_all(n, 2);
}

/* Accusations and probes make work for us as heartbeats do. */
static void test_accuser(void)
{
    struct phx_config c = usual();
    uint64_t start, before, most;
    unsigned long came;
    int type, i, k;

    for (type = SPEC_SUSPECT; type <= SPEC_PROBE; type++) {
        begin_pair(&c);
        raw_link(&n[0]);
        before = stats(&n[0]).frames_in;
        start = phx_now_us();
        for (i = 0; i < 75; i++) {
            for (k = 0; k < 2000; k++) {
                head(type, 0, 2);
                put_fill(0x33, type == SPEC_SUSPECT ? 44 : 48); /* ids that nobody knows */
                tail();
            }
            raw_send();
        }
        go_on(200 * MS);
        await(stats(&n[0]).frames_in - before >= 100000, PATIENCE); /* under an emulator, say */
        came = (unsigned long)(stats(&n[0]).frames_in - before);
        most = 100000 + 20000 * (phx_now_us() - start + SECOND) / SECOND;
        ok(came >= 100000 && came < most, "of 150,000 %s %lu are taken at once, at most %lu",
           type == SPEC_SUSPECT ? "accusations" : "probes", came, (unsigned long)most);
        ok(honest(), "meanwhile others are served");
        raw_finish();
        finish_all(n, 2);
    }
}

/* ---- Lies about others that look like the truth ------------------------------------------------ */

static uint64_t life_of(const struct node *at, const struct node *of)
{
    return look(at, of).incarnation;
}

/* Goal: whatever is said of an honest node, it rises above it, and messages to it go on. Method: the highest
 * number there is, of one and of the other; then of lives. */
static void test_outdone(void)
{
    const uint64_t leap = ((uint64_t)1 << 36) - 70000; /* more than this would take half a minute */
    struct phx_config c = usual();

    begin_pair(&c);
    raw_link(&n[0]);
    word_on(&n[1].id, 0, 0x80000000u, 1);
    raw_send();
    ok(honest(), "the last number of another node");
    word_on(&n[0].id, 0, 0x80000000u, 1);
    raw_send();
    eventually(life_of(&n[1], &n[0]) == 1 && life_of(&n[0], &n[0]) == 1,
               "who hears the last number of itself begins a new life");
    ok(honest(), "and goes on");
    word_on(&n[0].id, 1 + leap, 7, 1);
    raw_send();
    eventually(life_of(&n[1], &n[0]) == 2 + leap, "a later life is outdone");
    ok(honest(), "and all goes on");
    word_on(&n[0].id, (uint64_t)1 << 62, 7, 1);
    word_on(&n[1].id, (uint64_t)1 << 62, 7, 1);
    raw_send();
    eventually(logged(&n[0], "entries dropped", "") == 1, "a life from nowhere is dropped");
    go_on(100 * MS);
    ok(life_of(&n[0], &n[0]) == 2 + leap && life_of(&n[1], &n[0]) == 2 + leap
           && life_of(&n[0], &n[1]) <= 1, "and nobody's");
    ok(honest() && !raw_is_closed(), "and all goes on");
    raw_finish();
    finish_all(n, 2);
}

/* Nobody here knows the node yet, so the lie is believed; until it comes itself. */
static void test_first_word(void)
{
    struct phx_config c = usual();
    struct phx_id id;

    begin_pair(&c);
    raw_link(&n[0]);
    memset(&id, 0x42, sizeof id);
    word_on(&id, ((uint64_t)1 << 63) - 1, 0x80000000u, 1);
    raw_send();
    eventually(stats(&n[0]).nodes == 4, "a life that ends all lives");
    settings(&n[2], &c);
    c.id = &id;
    begin_as(&n[2], &c, NULL);
    phx_assume(n[2].p, 3, 3);
    check(phx_join(n[2].p, n[0].at) == 0, "join");
    eventually(owns(&n[0], 3, &n[2]) && life_of(&n[0], &n[2]) == 0, "the owner's own word counts");
    post(&n[0], 3, 0, 1000);
    eventually(mail_between(&n[2], &n[0]) == 1, "and it is reached");
    ok(honest(), "all goes on");
    raw_finish();
    finish_all(n, 3);
}

/* Without names; flags: 1 RELAYS, 2 LEFT. */
static void forged_card(const struct phx_id *id, uint64_t incarnation, uint64_t seq, int hop_count,
                        uint64_t version, int flags)
{
    update_begin();
    put_bytes(id, 16);
    put(incarnation, 8);
    put(seq, 4);
    put((uint64_t)hop_count, 1);
    put(1, 1); /* CARD */
    put(version, 4);
    put(11, 4);
    put((uint64_t)flags, 1);
    put(65536, 4);
    put(0, 2); /* no label, no address */
    put(0, 4);
    tail();
    raw_send();
}

/* Goal: a card that its owner never wrote is overruled by it within a round trip, and nothing is asked of its
 * host. Method: the version after the true one, and the last ones of all. */
static void test_forged_card(void)
{
    static const uint64_t version[] = {1000, 0x7fffffff, 0xfffffffe, 0xffffffff};
    struct phx_config c = usual();
    uint64_t i, before;

    begin_pair(&c);
    raw_link(&n[0]);
    for (i = 0; i < 4; i++) {
        before = stats(&n[0]).entries_in;
        forged_card(&n[1].id, life_of(&n[0], &n[1]), 1, 1, version[i], 1);
        eventually(stats(&n[0]).entries_in >= before + 2 && owns(&n[0], 2, &n[1]),
                   "a card that its owner never wrote is overruled");
        phx_assume(n[1].p, 10 + i, 10 + i);
        eventually(owns(&n[0], 2, &n[1]) && owns(&n[0], 10 + i, &n[1]), "and the owner's next one counts");
        ok(honest(), "and all goes on");
    }
    raw_finish();
    finish_all(n, 2);
}

/* Goal: the same when the owner was away and has written a card of that version meanwhile. Method: it stops,
 * and assumes a name when it goes on. */
static void test_forged_away(void)
{
    struct phx_config c;
    uint32_t version;
    int k;

    for (k = 0; k < 2; k++) {
        settings(&n[k], &c);
        hurry(&c);
        begin_as(&n[k], &c, k == 0 ? LOOPBACK : NULL);
    }
    phx_join(n[1].p, n[0].at);
    phx_assume(n[1].p, 2, 2);
    await(owns(&n[0], 2, &n[1]), PATIENCE);
    raw_link(&n[0]);
    host_count--; /* the last one */
    await(told(&n[0], &n[1], PHX_NODE_FAILED) == 1, PATIENCE);
    version = phx__route_dest(&n[1].p->route, PHX__SELF)->card_version + 1;
    forged_card(&n[1].id, life_of(&n[0], &n[1]), 100, 1, version, 1);
    await(phx_names(n[0].p, &n[1].id, NULL, 0) == 0, PATIENCE);
    raw_finish();
    go_on(100 * MS);
    phx_assume(n[1].p, 30, 30);
    hosts[host_count++] = &n[1];
    eventually(owns(&n[0], 2, &n[1]) && owns(&n[0], 30, &n[1]), "it is back, and what it says counts");
    ok(phx__route_dest(&n[1].p->route, PHX__SELF)->card_version == version + 2, "it rose above both");
    finish_all(n, 2);
}

/* Goal: a goodbye by others' word closes nothing (promises 54, 61, 67): neither of a neighbour nor of a node
 * behind another, with any number, version or life. Method: a liar says it and goes at once; then messages
 * pass, over the link that was there. A goodbye of its owner counts as ever. */
static void test_forged_goodbye(void)
{
    struct phx_config c = usual();
    char id[PHX_ID_TEXT];
    uint64_t life;
    int i;

    begin_pair(&c);
    begin(&n[2], NULL); /* behind the hub: neither of the two can be dialled */
    phx_join(n[2].p, n[0].at);
    phx_assume(n[2].p, 3, 3);
    eventually(owns(&n[1], 3, &n[2]) && hops(&n[1], &n[2]) == 2, "two behind a hub");
    for (i = 0; i < 3; i++) {
        raw_link(&n[0]);
        phx_id_text(&r.id, id);
        life = life_of(&n[0], &n[1]);
        if (i == 2) /* a later life ends what is under way to the former one: nothing is, here */
            ok(told(&n[2], &n[1], PHX_NODE_LEFT) == 0, "no host was told");
        forged_card(&n[1].id, life + (i == 2), 100 * (uint64_t)(i + 1), i == 1 ? 1 : 255,
                    100 * (uint64_t)(i + 1), 3);
        raw_finish();
        await(logged(&n[0], id, "down") == 1 && life_of(&n[2], &n[1]) == life + 2 * (i == 2), PATIENCE);
        ok(honest(), "a goodbye that its owner did not say, %d", i);
        post(&n[2], 2, 0, 1000);
        eventually(mail_between(&n[1], &n[2]) == i + 1, "nor do others believe it");
    }
    ok(told(&n[0], &n[1], PHX_NODE_LEFT) == 0, "nor was the host of the hub ever told");
    i = told(&n[2], &n[1], PHX_NODE_LEFT);
    phx_close(n[1].p, 0);
    eventually(told(&n[0], &n[1], PHX_NODE_LEFT) == 1 && told(&n[2], &n[1], PHX_NODE_LEFT) == i + 1,
               "but a goodbye of its own counts for all");
    finish_all(n, 3);
}

/* Somebody always says that it has just seen the dead one. */
static void test_false_witness(void)
{
    struct phx_config c;
    uint64_t start;

    settings(&n[0], &c);
    hurry(&c);
    begin_as(&n[0], &c, LOOPBACK);
    settings(&n[1], &c);
    hurry(&c);
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    await(hops(&n[0], &n[1]) == 1, PATIENCE);
    raw_link(&n[0]);
    kill_node(&n[1]);
    start = phx_now_us();
    while (told(&n[0], &n[1], PHX_NODE_FAILED) == 0 && phx_now_us() - start < PATIENCE) {
        head(SPEC_PROBE, 1, 5);
        put_bytes(&n[0].id, 16);
        put_bytes(&n[1].id, 16);
        put_bytes(&n[0].id, 16);
        tail();
        head(SPEC_BEAT, 0, 0);
        put_fill(0, 28);
        tail();
        raw_send();
        turn(20);
    }
    ok(told(&n[0], &n[1], PHX_NODE_FAILED) == 1, "it has failed all the same, after %d ms",
       (int)((phx_now_us() - start) / MS));
    raw_finish();
    finish_all(n, 2);
}

static const struct test tests[] = {
    {"liars", test_liars},
    {"nonsense", test_nonsense},
    {"big_card", test_big_card},
    {"victim", test_victim},
    {"talker", test_talker},
    {"words", test_words},
    {"accuser", test_accuser},
    {"outdone", test_outdone},
    {"first_word", test_first_word},
    {"forged_card", test_forged_card},
    {"forged_away", test_forged_away},
    {"forged_goodbye", test_forged_goodbye},
    {"false_witness", test_false_witness},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
