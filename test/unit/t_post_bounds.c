/* t_post_bounds.c - what a message may cost where it goes, and what ends it if that is too much. */
#include "post_rig.h"

/* Names of node 2 in these tests, all of whose messages come from node 0 or 1. */
enum { BIG = 3, SMALL = 4, OTHER = 5 };

static unsigned seen[NAMES]; /* messages that came to each name; their content is checked by the rig */

static void note_message(struct node *n, const struct phx_message *m)
{
    (void)n;
    seen[m->to]++;
}

/* A world whose node 2 may have `limit` bytes; messages of 4 MiB are allowed. */
static struct world *limited(size_t limit)
{
    struct phx__post_limits limits = default_limits();
    struct world *w;

    limits.max_message = limits.hold_bytes = 4u << 20;
    w = world_new(1, &limits);
    w->node[2].mem.limit = limit;
    w->on_message = note_message;
    memset(seen, 0, sizeof seen);
    all_see(w, BIG, 2);
    all_see(w, SMALL, 2);
    all_see(w, OTHER, 2);
    return w;
}

/* Sends it as soon as there is room, if that is within a while. */
static int send_soon(struct node *n, uint64_t name, size_t size, uint64_t token)
{
    int i;

    for (i = 0; i < 500; i++) {
        if (send_size(n, name, size, token, 0, 0) == 0)
            return 1;
        turns(n->w, 1, 1000);
    }
    return 0;
}

/* ---- Too large for the receiver's memory */

static void test_too_large(void)
{
    /* Goal: a message that cfg.max_message allows and the receiver's mem_limit can never hold ends with
     * PHX_ETOOBIG, and what is behind it passes (promises 61, 67). Method: 3 MiB to a node of 2 MiB, and 100
     * messages to the same name and to another one behind it. */
    struct world *w = limited(2u << 20);
    struct node *n = &w->node[0];
    unsigned i;

    check(send_size(n, BIG, 3u << 20, 1, 0, 0) == 0, "sent");
    turns(w, 3, 1000); /* the window is full of it */
    for (i = 0; i < 100 && send_soon(n, i % 2 == 0 ? BIG : SMALL, 1000, 0); i++)
        continue;
    turns(w, 500, 1000);
    ok(w->token[1].count == 1 && w->token[1].result == PHX_ETOOBIG, "it ends: %s",
       phx_strerror(w->token[1].result));
    ok(seen[BIG] == 50 && seen[SMALL] == 50, "100 messages behind it: %u and %u came", seen[BIG],
       seen[SMALL]);
    ok(n->post.pending.bytes == 0 && n->post.pending.count == 0, "nothing is pending");
    check(send_size(n, BIG, 3u << 19, 2, 0, 0) == 0, "sent");
    turns(w, 500, 1000);
    ok(w->token[2].result == 0 && w->token[2].count == 1, "half of it fits");
    ok(w->content_errors + w->name_errors + w->source_errors == 0 && world_free(w), "all is well");
}

static void test_room_for_one(void)
{
    /* Goal: what does not fit beside other messages waits for them, and is not too large. Method: two nodes
     * send ten messages each, of which one fits at a time. */
    struct world *w = limited(3u << 20);
    int i, t, good = 0;

    for (i = 0; i < 10; i++)
        for (t = 0; t < 2; t++)
            (void)send_soon(&w->node[t], (uint64_t)(BIG + t), 2u << 20, (uint64_t)(1 + 2 * i + t));
    turns(w, 3000, 1000);
    for (i = 1; i <= 20; i++)
        good += w->token[i].count == 1 && w->token[i].result == 0;
    ok(good == 20 && seen[BIG] == 10 && seen[SMALL] == 10, "they take turns: %d of 20", good);
    ok(w->content_errors == 0 && world_free(w), "all is well");
}

static void test_room_of_small(void)
{
    /* Goal: what fits when others have gone is not too large, also if these are small and cost their memory
     * by their number. Method: the receiver holds 8,000 messages of a byte in 4 MiB, for a name that nobody
     * has, and one of 2 MiB comes; then somebody has the name. */
    struct world *w = limited(4u << 20);
    int i;

    for (i = 0; i < 8000; i++)
        check(send_size(&w->node[2], 9, 1, (uint64_t)(10 + i), 0, 0) == 0, "held");
    check(send_size(&w->node[0], BIG, 2u << 20, 1, 0, 0) == 0, "sent");
    turns(w, 100, 1000);
    ok(w->token[1].count == 0, "it waits: %s", phx_strerror(w->token[1].result));
    all_see(w, 9, 1);
    turns(w, 3000, 1000);
    ok(w->token[1].count == 1 && w->token[1].result == 0 && seen[BIG] == 1, "and comes when they have gone");
    ok(w->content_errors == 0 && world_free(w), "all is well");
}

static void test_grown_tables(void)
{
    /* Goal: memory that other things than messages take in the midst of one makes it too large, too, when it
     * has been given up. */
    struct world *w = limited(8u << 20);
    struct node *n = &w->node[0], *to = &w->node[2];
    void *tables;

    check(send_size(n, BIG, 3u << 20, 1, 0, 0) == 0, "sent");
    turn(w, 1, 1u << 20);
    turn(w, 1, 1u << 20);
    tables = phx__mem_get(&to->mem, 9u << 19);
    check(tables != NULL, "memory");
    check(send_size(&w->node[1], SMALL, 10, 2, 0, 0) == 0, "sent");
    turns(w, 2000, 100000);
    ok(w->token[1].count == 1 && w->token[1].result == PHX_ETOOBIG && seen[SMALL] == 1, "it ends: %s",
       phx_strerror(w->token[1].result));
    phx__mem_put(&to->mem, tables, 9u << 19);
    ok(w->content_errors == 0 && world_free(w), "all is well");
}

/* ---- Time limits */

static void test_time_limit(void)
{
    /* Goal: a time limit frees what it ends, also of a message that has begun to leave, and its target is
     * never shown what is left of it (promise 67). Method: a target that takes nothing for a while; copied
     * and borrowed messages, and one whose last fragment has one byte. */
    struct world *w = limited(0);
    struct node *n = &w->node[0];
    size_t used;

    w->frozen = 1;
    check(send_size(n, BIG, 200000, 1, 500000, 0) == 0, "sent");
    check(send_size(n, BIG, 65537, 2, 500000, 7) == 0, "sent");
    turns(w, 5, 1000);
    used = n->mem.used;
    turns(w, 300, 2000);
    ok(w->token[1].result == PHX_EEXPIRED && w->token[2].result == PHX_EEXPIRED && w->token[1].count == 1
           && w->token[2].count == 1,
       "both have expired");
    cut(w, 0, 2); /* what was on the way is sent again, as it is now */
    ok(n->post.pending.bytes < 10 && used - n->mem.used >= 200000, "%u bytes are pending, %u were freed",
       (unsigned)n->post.pending.bytes, (unsigned)(used - n->mem.used));
    w->frozen = 0;
    check(send_size(n, BIG, 100, 3, 0, 0) == 0, "sent");
    check(send_size(n, SMALL, 100000, 4, 0, 0) == 0, "sent");
    turns(w, 2000, 1000);
    ok(w->released[7] == 1, "the host has its memory back");
    ok(seen[BIG] == 1 && seen[SMALL] == 1 && w->token[3].result == 0 && w->token[4].count == 1,
       "what is behind them arrives, they do not");
    ok(n->post.pending.bytes == 0 && n->post.pending.count == 0, "nothing is pending");
    ok(w->content_errors == 0 && world_free(w), "all is well");
}

static void test_time_limit_memory(void)
{
    /* Goal: the same without memory for it: then it ends later, and is freed all the same. Method: no
     * allocation succeeds for two seconds. */
    struct world *w = limited(0);
    struct node *n = &w->node[0];
    size_t used;

    w->frozen = 1;
    check(send_size(n, BIG, 2000000, 1, 500000, 0) == 0, "sent");
    turns(w, 5, 1000);
    used = n->mem.used;
    n->mem.limit = used;
    turns(w, 100, 20000);
    n->mem.limit = 0;
    turns(w, 100, 20000);
    ok(w->token[1].result == PHX_EEXPIRED && w->token[1].count == 1, "it has expired, once");
    cut(w, 0, 2);
    ok(n->post.pending.bytes < 100 && used - n->mem.used >= 1900000, "%u bytes are pending, %u were freed",
       (unsigned)n->post.pending.bytes, (unsigned)(used - n->mem.used));
    w->frozen = 0;
    turns(w, 500, 1000);
    ok(seen[BIG] == 0 && n->post.pending.count == 0 && world_free(w), "nothing of it is left");
}

static void test_time_limit_half(void)
{
    /* Goal: the same where half of the message has been acknowledged, or half came in its first form and the
     * rest in its second. Method: every number of fragments that have come when the limit passes. */
    int frames, wrong = 0;

    for (frames = 0; frames <= 9; frames++) {
        struct world *w = limited(0);
        struct node *n = &w->node[0];

        check(send_size(n, BIG, 8 * (size_t)PHX__FRAGMENT + 1, 1, 20000, 0) == 0, "sent");
        turn(w, 0, 1u << 20);
        turn(w, (unsigned)frames, 1u << 20);
        w->frozen = 1;
        turns(w, 20, 2000);
        w->frozen = 0;
        if (frames % 2 != 0)
            cut(w, 0, 2);
        check(send_size(n, BIG, 100, 2, 0, 0) == 0, "sent");
        turns(w, 2000, 1000);
        wrong += w->token[1].count != 1 || w->token[2].count != 1 || w->token[2].result != 0;
        wrong += seen[BIG] > 2 || seen[BIG] == 0 || w->content_errors != 0;
        wrong += n->post.pending.bytes != 0 || n->post.pending.count != 0;
        wrong += !world_free(w);
    }
    ok(wrong == 0, "whatever had come: %d are wrong", wrong);
}

/* ---- Messages of which little comes */

/* The first fragment of a message of `total` bytes from a node that nobody has heard of but by this neighbour
 * of node 2; from 100 on these are made up, too. */
static void begin_message(struct world *w, int number, int neighbour, uint64_t name, size_t size,
                          size_t total)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct node *n = &w->node[2];
    struct phx__writer wr;
    struct phx__frame f;
    struct phx__data d;
    uint32_t index;
    size_t used;

    memset(&d, 0, sizeof d);
    d.target = id_of(2);
    memset(&d.source, 0xee, sizeof d.source);
    d.source.b[0] = (unsigned char)number;
    (void)phx__id_add(&n->ids, &d.source, &index);
    d.epoch = 1;
    d.to = name;
    d.total = total;
    d.size = size;
    phx__buf_writer_init(&wr, raw, sizeof raw);
    phx__wire_data_put(&wr, &d, (int)PHX__DATA_FIRST, 5);
    check(phx__wire_parse(raw, wr.size + size, &f, &used) == 1, "parses");
    d.source.b[1] = (unsigned char)neighbour;
    if (neighbour < 100)
        n->post.recv.from = as_seen(2, neighbour);
    else
        (void)phx__id_add(&n->ids, &d.source, &n->post.recv.from);
    check(phx__post_recv_data(&n->post, raw, used, &f) == 0, "no reason to close the link");
}

static void test_little(void)
{
    /* Goal: what is kept of a message grows with what has come of it, and is given up when nothing comes
     * (promise 110). Method: a neighbour that makes up 90 nodes, each with one byte of 4 MiB. */
    struct world *w = limited(0);
    struct node *n = &w->node[2];
    size_t before = n->mem.used, full;
    int i;

    for (i = 0; i < 90; i++)
        begin_message(w, i, 1, BIG, 1, 4u << 20);
    full = n->mem.used - before;
    ok(full < 90 * 2000, "90 times one byte of 4 MiB: %u bytes", (unsigned)full);
    ok(n->post.recv.bytes <= 90 * 16, "%u of them for what comes", (unsigned)n->post.recv.bytes);
    turns(w, 130, PHX__SECOND);
    ok(n->post.recv.bytes == 0, "given up after a while");
    ok(world_free(w), "no byte leaked");
}

static void test_little_room(void)
{
    /* Goal: such messages keep no honest one away, whatever mem_limit is. Method: the same with 64 KiB, which
     * books 256 KiB each, by one neighbour and by two, and then an honest message of 3 MiB. */
    int neighbours, i;

    for (neighbours = 1; neighbours <= 2; neighbours++) {
        struct world *w = limited(8u << 20);
        struct node *n = &w->node[2];

        for (i = 0; i < 40; i++)
            begin_message(w, i, i % neighbours == 0 ? 1 : 3, BIG, PHX__FRAGMENT, 4u << 20);
        ok(n->post.recv.bytes == (size_t)neighbours << 18, "%d neighbours: %u bytes, one message each",
           neighbours, (unsigned)n->post.recv.bytes);
        check(send_size(&w->node[0], SMALL, 3u << 20, 1, 0, 0) == 0, "sent");
        turns(w, 2000, 1000);
        ok(w->token[1].count == 1 && w->token[1].result == 0 && seen[SMALL] == 1,
           "an honest message of 3 MiB comes");
        ok(w->content_errors == 0 && world_free(w), "no byte leaked");
    }
}

static void test_half(void)
{
    /* Goal: what many neighbours begin to bring takes half of mem_limit at most, and what stands still gives
     * way to what goes on (promise 110). Method: twelve of them, of 8 MiB, each with 64 KiB of 512 KiB. The
     * host sends 2 MiB, and an honest message comes when they have stood still for half a second. */
    struct world *w = limited(8u << 20);
    struct node *n = &w->node[2];
    int i;

    for (i = 0; i < 12; i++)
        begin_message(w, i, 100 + i, BIG, PHX__FRAGMENT, 512u << 10);
    ok(n->post.recv.bytes == 4u << 20, "%u bytes for what comes", (unsigned)n->post.recv.bytes);
    ok(send_size(n, 15, 2u << 20, 0, 0, 0) == 0, "the host sends 2 MiB");
    check(send_size(&w->node[0], SMALL, 256u << 10, 1, 0, 0) == 0, "sent");
    turns(w, 400, 1000);
    ok(w->token[1].count == 0 && n->post.recv.bytes == 4u << 20, "nothing gives way at once");
    turns(w, 400, 1000);
    ok(w->token[1].count == 1 && w->token[1].result == 0 && seen[SMALL] == 1, "half a second later it comes");
    ok(n->post.recv.bytes == 0, "%u bytes are kept then", (unsigned)n->post.recv.bytes);
    ok(w->content_errors == 0 && world_free(w), "no byte leaked");
}

static void test_half_beside_streams(void)
{
    /* Goal: a message of about half of mem_limit does not starve beside smaller ones of others, which come
     * and never stand still (promise 67). Method: 4.1 MiB of 8 while two nodes keep sending 150,000 bytes. */
    struct phx__post_limits limits = default_limits();
    struct world *w;
    int t;

    limits.max_message = 5u << 20;
    limits.hold_bytes = 6u << 20;
    limits.window = 1u << 20;
    w = world_new(1, &limits);
    w->node[2].mem.limit = 8u << 20;
    w->on_message = note_message;
    memset(seen, 0, sizeof seen);
    all_see(w, BIG, 2);
    all_see(w, SMALL, 2);
    all_see(w, OTHER, 2);
    check(send_size(&w->node[0], BIG, 4300000, 1, 0, 0) == 0, "sent");
    for (t = 0; t < 2000 && w->token[1].count == 0; t++) {
        if (w->node[1].post.pending.bytes < 400000)
            (void)send_size(&w->node[1], SMALL, 150000, 0, 0, 0);
        if (w->node[3].post.pending.bytes < 400000)
            (void)send_size(&w->node[3], OTHER, 150000, 0, 0, 0);
        late_acks(w);
        turn(w, 2, 140000);
        w->now += 1000;
    }
    ok(w->token[1].count == 1 && w->token[1].result == 0 && seen[BIG] == 1, "it is there after %d ms", t);
    ok(seen[SMALL] > 0 && seen[OTHER] > 0 && w->content_errors == 0, "%u and %u of the others meanwhile",
       seen[SMALL], seen[OTHER]);
    world_free(w);
}

static void test_large_beside(void)
{
    /* Goal: a message above what a neighbour may bring at once keeps no smaller one away that the neighbour
     * brings, nor they it; of each kind there is as much as before. Method: 8 MiB, of which it may bring a
     * 32nd: one of 4 MiB stops after its first fragment, some of 100,000 bytes begin; and the other way. */
    int order;

    for (order = 0; order < 2; order++) {
        struct world *w = limited(8u << 20);
        struct node *n = &w->node[2];
        size_t small;
        int i;

        for (i = 0; i < 2 && order == 0; i++)
            begin_message(w, i, 1, BIG, PHX__FRAGMENT, 4u << 20);
        for (i = 0; i < 4; i++)
            begin_message(w, 10 + i, 1, SMALL, 50000, 100000);
        small = n->post.recv.bytes - (order == 0 ? (size_t)1 << 18 : 0);
        for (i = 0; i < 2 && order == 1; i++)
            begin_message(w, i, 1, BIG, PHX__FRAGMENT, 4u << 20);
        ok(small == 200000 && n->post.recv.bytes == small + (1u << 18), "a large one and small ones: %u, %u",
           (unsigned)small, (unsigned)n->post.recv.bytes);
        turns(w, 130, PHX__SECOND);
        ok(n->post.recv.bytes == 0 && world_free(w), "given up after a while");
    }
}

static void test_slow(void)
{
    /* Goal: a message that comes slowly comes, also when its retransmissions take most of the way; one that
     * pauses for too long comes again, whole and once, also into memory of the host's. Method: a fragment
     * every 10 s, and in the midst one after 10 or 180 s. */
    static const unsigned pauses[] = { 10, 180 };
    int begins, pause;

    for (begins = 0; begins < 2; begins++) {
        for (pause = 0; pause < 2; pause++) {
            struct world *w = limited(0);
            int i;

            w->begins = begins;
            check(send_size(&w->node[0], BIG, 10 * (size_t)PHX__FRAGMENT, 1, 0, 0) == 0, "sent");
            for (i = 0; i < 30; i++) {
                turn(w, 1, PHX__FRAGMENT);
                w->frozen = 1;
                turns(w, pauses[i == 5 ? pause : 0], PHX__SECOND);
                w->frozen = 0;
            }
            turns(w, 1000, 10000);
            ok(w->token[1].count == 1 && w->token[1].result == 0 && seen[BIG] == 1,
               "%u s of pause, %s: it comes once", pauses[pause], begins ? "the host's" : "ours");
            ok(w->abandoned == (uint64_t)(begins && pause), "abandoned: %d", (int)w->abandoned);
            ok(w->content_errors == 0 && world_free(w), "no byte leaked");
        }
    }
}

int main(void)
{
    test_too_large();
    test_room_for_one();
    test_room_of_small();
    test_grown_tables();
    test_time_limit();
    test_time_limit_memory();
    test_time_limit_half();
    test_little();
    test_little_room();
    test_half();
    test_half_beside_streams();
    test_large_beside();
    test_slow();
    return test_end();
}
