/* t_post_limits.c - what bounds a post: each limit at it and one beyond, and what its ends leave. */
#include "post_rig.h"

/* What node 0 has for node 1 arrives and is acknowledged; node 0 does not run meanwhile. */
static void bring(struct world *w)
{
    do {
        carry(w, 0, 1);
        w->now += 5000; /* as long as an ack waits */
        tick(&w->node[1]);
        (void)phx__post_run(&w->node[1].post);
    } while (phx__post_flow_peek(&peer_of(w, 0, 1)->out) != NULL);
}

/* ---- Callbacks in one step */

/* This node's next run may call the application so often. */
static void hurry(struct node *n, uint32_t calls)
{
    n->is_hasty = 1;
    n->calls_left = calls;
    n->post.calls = 0;
}

static void test_calls_outcomes(void)
{
    /* Goal: outcomes, and names that have room again, are told as often as the step has time for, and the
     * rest later (promise 119). */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    for (i = 1; i <= 6; i++)
        check(send_size(n, 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
    bring(w);
    check(n->post.outcomes.count == 6, "six outcomes are known");
    hurry(n, 2);
    ok(phx__post_run(&n->post) == 1 && n->post.outcomes.count == 4, "two are told, and there is more");
    hurry(n, 0);
    ok(phx__post_run(&n->post) == 1 && n->post.outcomes.count == 3, "one is always told");
    hurry(n, 3);
    ok(phx__post_run(&n->post) == 0 && n->post.outcomes.count == 0, "and all in the end");
    for (i = 1; i <= 6; i++)
        check(w->token[i].count == 1, "outcome %d, once", i);
    for (i = 4; i < 10; i++)
        check(send_size(n, (uint64_t)i, 300000, 0, 0, 0) == PHX_EAGAIN, "no room for so much");
    for (i = 4; i < 10; i++)
        all_see(w, i, 1);
    w->writable = 0;
    hurry(n, 2);
    ok(phx__post_run(&n->post) == 1 && w->writable == 2, "two of six names are told that they have room");
    hurry(n, 9);
    ok(phx__post_run(&n->post) == 0 && w->writable == 6, "and the others next");
    ok(world_free(w), "no byte leaked");
}

static void test_calls_abandoned(void)
{
    /* Goal: the same for buffers that the application lent and gets back empty. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[2];
    int from;

    w->begins = 1;
    all_see(w, 3, 2);
    for (from = 0; from < NODES; from++) {
        if (from == 2)
            continue;
        w->begun_count = 0; /* one of two gets a buffer */
        check(send_size(&w->node[from], 3, 200000, 0, 0, 0) == 0, "sent");
        pull(w, from, 2, PHX__FRAGMENT);
        wire_deliver(w, from, 2);
        phx__post_box_failed(&n->post, as_seen(2, from));
    }
    check(w->abandoned == 0 && n->post.recv.abandoned != NULL, "three buffers wait");
    hurry(n, 2);
    ok(phx__post_run(&n->post) == 1 && w->abandoned == 2, "two come back, and there is more");
    hurry(n, 2);
    ok(phx__post_run(&n->post) == 0 && w->abandoned == 3, "and the third in the next step");
    ok(world_free(w), "no byte leaked");
}

/* ---- Who waits for room */

static void test_wake(void)
{
    /* Goal: who waits for a destination is told in turn, as many as there is room for, until all were. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    for (i = 3; i < 10; i++)
        all_see(w, i, 1);
    check(send_size(n, 3, 256u << 10, 1, 0, 0) == 0, "a window full");
    for (i = 4; i < 10; i++)
        check(send_size(n, (uint64_t)i, 200000, 0, 0, 0) == PHX_EAGAIN, "no room");
    bring(w);
    (void)phx__post_run(&n->post);
    ok(w->writable == 2, "two of six are told: %u", (unsigned)w->writable);
    (void)phx__post_run(&n->post);
    ok(w->writable == 4, "then two others: %u", (unsigned)w->writable);
    ok(settle(w) && w->writable == 6, "all six in the end");
    ok(world_free(w), "no byte leaked");
}

static void test_cancel_makes_room(void)
{
    /* Goal: room that a cancelled message leaves is told to who waits for its destination. Method: what fills
     * the window has come back, since its owner says that it is none. */
    struct world *w = mistaken(300000);
    struct node *n = &w->node[0];

    turns(w, 20, 1000);
    check(n->post.store.queued == 1, "it came back");
    check(send_size(n, 4, 10, 2, 0, 0) == PHX_EAGAIN, "and fills the window");
    ok(phx__post_box_cancel(&n->post, 1) == 0, "it is taken back");
    (void)phx__post_run(&n->post);
    ok(w->token[1].result == PHX_ECANCELLED && w->writable == 1 && w->writable_name == 4,
       "who waited may send");
    ok(world_free(w), "no byte leaked");
}

static void test_range_wakes(void)
{
    /* Goal: who waits for an owner, since the message is too large to be held, hears of one. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    const struct phx_range one = { 9, 9 };

    check(send_size(n, 5, 10, 0, 0, 0) == 0, "some mailbox");
    check(send_size(n, 9, 300000, 0, 0, 0) == PHX_EAGAIN, "too large for the store");
    (void)phx__post_run(&n->post);
    check(w->writable == 0, "it waits");
    see(w, 0, 9, 1);
    phx__post_box_ranges(&n->post, &one, 1);
    (void)phx__post_run(&n->post);
    ok(w->writable == 1 && w->writable_name == 9, "the name has an owner");
    ok(world_free(w), "no byte leaked");
}

/* ---- Ends */

static void test_close_all(void)
{
    /* Goal: when a node leaves, all that is pending ends, at once: held, for itself, under way, queued. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 4, 0);
    all_see(w, 5, 1);
    w->frozen = 1;
    check(send_size(n, 3, 10, 1, 0, 0) == 0 && send_size(n, 4, 10, 2, 0, 0) == 0, "held; for itself");
    check(send_size(n, 5, 100000, 3, 0, 0) == 0 && send_size(n, 5, 10, 4, 0, 0) == 0, "under way");
    pull(w, 0, 1, PHX__FRAGMENT);
    phx__post_box_close_all(&n->post);
    for (i = 1; i <= 4; i++)
        ok(w->token[i].count == 1 && w->token[i].result == PHX_ECLOSED, "%d has ended: %s", i,
           phx_strerror(w->token[i].result));
    ok(n->post.pending.count == 0 && n->post.pending.bytes == 0, "nothing is pending");
    ok(world_free(w), "no byte leaked");
}

static void test_forget_owner(void)
{
    /* Goal: a node can be forgotten while its names still lead to it and messages for them are under way:
     * they end, and nothing of it is served any more. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    w->frozen = 1;
    check(send_size(n, 3, 10, 1, 0, 0) == 0 && send_size(n, 3, 100000, 2, 0, 0) == 0, "sent");
    pull(w, 0, 1, PHX__FRAGMENT);
    phx__post_box_forget(&n->post, as_seen(0, 1));
    ok(n->post.nodes[as_seen(0, 1)].ready == NULL && peer_of(w, 0, 1) == NULL,
       "nothing of it is left to be served");
    (void)phx__post_run(&n->post);
    ok(w->token[1].result == PHX_EFAILED && w->token[2].result == PHX_EFAILED,
       "what was under way has failed");
    ok(world_free(w), "no byte leaked");
}

static void test_freed_outcome(void)
{
    /* Goal: memory that was sent without a copy comes back although its outcome is never told. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    check(send_size(n, 3, 100, 1, 0, 9) == 0 && phx__post_box_cancel(&n->post, 1) == 0, "over");
    check(w->released[9] == 0, "not released yet");
    end_node(w, 0);
    w->dead[0] = 1;
    ok(w->released[9] == 1 && w->token[1].count == 0, "released, and nothing said");
    ok(world_free(w), "no byte leaked");
}

/* ---- Windows, gaps and acks */

static void test_late_window(void)
{
    /* Goal: a window that is announced when a flow has begun, but nothing was acknowledged, counts. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    announce(n, as_seen(0, 1), 0);
    all_see(w, 3, 1);
    w->frozen = 1;
    check(send_size(n, 3, 200000, 1, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(peer_of(w, 0, 1)->out.sent == 1 && peer_of(w, 0, 1)->out.window == 65536,
       "a window that nobody announced is 64 KiB");
    announce(n, as_seen(0, 1), 256u << 10);
    pull(w, 0, 1, 1u << 20);
    ok(peer_of(w, 0, 1)->out.sent == 4, "the rest leaves when it is announced");
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_gap(void)
{
    /* Goal: who misses a frame says so in the same step. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    for (i = 0; i < 3; i++) {
        check(send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
        pull(w, 0, 1, 1u << 20);
    }
    wire_deliver(w, 0, 1);
    frame_free(wire_take(&w->wire[0][1]));
    wire_deliver(w, 0, 1);
    (void)phx__post_run(&w->node[1].post);
    ok(peer_of(w, 0, 1)->out.base == 1 && peer_of(w, 0, 1)->out.sent == 1, "what is missing is sent again");
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_ack_frames(void)
{
    /* Goal: an ack waits for data the other way, but for 64 frames at most. The receiver finds the source of
     * one frame where that of the last was. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    for (i = 0; i < 64; i++) {
        check(send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
        pull(w, 0, 1, 1u << 20);
    }
    check(w->wire[0][1].count == 64, "64 frames");
    for (i = 0; i < 63; i++)
        wire_deliver(w, 0, 1);
    ok(phx__ring_is_empty(&w->node[1].post.acks) && w->got == 63, "63 frames need no ack yet");
    wire_deliver(w, 0, 1);
    ok(!phx__ring_is_empty(&w->node[1].post.acks), "the 64th does");
    ok(w->node[1].post.recv.last_source == as_seen(1, 0), "the last source is the first guess");
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_look(void)
{
    /* Goal: a long wait for an ack is looked at again after 2 s, and a short one when it is over. */
    struct phx__flow_out o = { .rto = 30 * PHX__SECOND };

    phx__post_flow_wait(&o, 0, PHX__SECOND);
    ok(o.rto_at == 3 * PHX__SECOND, "after 2 s");
    phx__post_flow_wait(&o, 29 * PHX__SECOND, PHX__SECOND);
    ok(o.rto_at == 2 * PHX__SECOND, "or when 30 s are over");
}

static void test_lives(void)
{
    /* Goal: a mailbox remembers five lives; a message that tried more may have been delivered by any. */
    struct phx__box b = { .life_count = 0 };
    struct phx__queued q = { .message = { .tried = 0 } };
    uint64_t life;

    for (life = 1; life <= PHX__BOX_LIVES; life++)
        check(phx__post_store_note_life(&b, life) == 1u << (life - 1), "life %u", (unsigned)life);
    ok(phx__post_store_note_life(&b, 3) == 1u << 2, "each has its bit");
    q.message.tried = 1u << 2;
    ok(phx__post_store_was_tried(&b, &q, 3) && !phx__post_store_was_tried(&b, &q, 4)
           && !phx__post_store_was_tried(&b, &q, 6), "by which it is known");
    q.message.tried = phx__post_store_note_life(&b, 6);
    ok(q.message.tried == PHX__BOX_ALL_LIVES && b.life_count == PHX__BOX_LIVES, "the sixth has none");
    ok(phx__post_store_was_tried(&b, &q, 6) && phx__post_store_was_tried(&b, &q, 77), "so it may be any");
}

/* ---- Transit */

/* A DATA frame of `size` bytes from node 0 to node `to`, which node 1 is to relay: why not, or 0. */
static int relay(struct world *w, struct phx__block *b, int to, size_t size)
{
    struct phx__data d = { .target = id_of(to), .source = id_of(0), .number = 1, .epoch = 1 };
    struct phx__writer wr;
    struct phx__frame f;
    size_t used;

    d.size = size - PHX__DATA_HEAD;
    phx__buf_writer_init(&wr, b->data, PHX__DATA_HEAD);
    phx__wire_data_put(&wr, &d, 0, 5);
    check(phx__wire_parse(b->data, size, &f, &used) == 1 && used == size, "a frame");
    return phx__post_sched_transit(&w->node[1].post, b->data, size, &f);
}

static void test_transit_most(void)
{
    /* Goal: a relay keeps 8 MiB of large frames where they were read and copies what is above, two windows
     * for one target and 64 MiB in all, and drops the rest (promise 64). */
    enum { FRAME = 65536 };
    struct phx__post_limits limits = default_limits();
    struct phx__post *p;
    struct world *w;
    struct phx__block *b;
    int i;

    limits.window = 20u << 20;
    w = world_new(1, &limits);
    p = &w->node[1].post;
    b = phx__buf_block_new(&w->node[1].mem, FRAME);
    w->frozen = 1;
    p->transit.lender = b;
    for (i = 0; i < 128 && relay(w, b, 2, FRAME) == 0; i++)
        continue;
    ok(i == 128 && p->transit.bytes == 8u << 20 && p->transit.copied == 0, "8 MiB are not copied");
    ok(relay(w, b, 2, FRAME) == 0 && p->transit.copied == FRAME, "one more is");
    while (relay(w, b, 2, FRAME) == 0)
        continue;
    ok(p->transit.bytes == 40u << 20, "two windows for one target: %u", (unsigned)p->transit.bytes);
    while (relay(w, b, 3, FRAME) == 0)
        continue;
    ok(p->transit.bytes == 64u << 20, "64 MiB in all: %u", (unsigned)p->transit.bytes);
    ok(relay(w, b, 3, PHX__DATA_HEAD + 1) == PHX_ELIMIT, "and no byte more");
    p->transit.lender = NULL;
    phx__buf_block_drop(b);
    ok(world_free(w), "no byte leaked");
}

static void test_transit_window(void)
{
    /* Goal: two windows for one target bound what is kept where it was read, too. */
    enum { FRAME = 65536 };
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[1].post;
    struct phx__block *b = phx__buf_block_new(&w->node[1].mem, FRAME);
    int i;

    w->frozen = 1;
    p->transit.lender = b;
    for (i = 0; i < 8 && relay(w, b, 2, FRAME) == 0; i++)
        continue;
    ok(i == 8 && relay(w, b, 2, FRAME) == PHX_ELIMIT && p->transit.copied == 0, "512 KiB, and no frame more");
    p->transit.lender = NULL;
    phx__buf_block_drop(b);
    ok(world_free(w), "no byte leaked");
}

static void test_transit_shrinks(void)
{
    /* Goal: the block for what is in transit halves when less than an eighth of it was used until all in it
     * had gone out. */
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[1].post;
    struct phx__block *b = phx__buf_block_new(&w->node[1].mem, 65536);
    struct phx__post_peer *peer;
    size_t capacity;
    int i;

    w->frozen = 1;
    for (i = 0; i < 30; i++)
        check(relay(w, b, 2, 4000) == 0, "a frame");
    w->frozen = 0;
    turns(w, 100, 1000);
    peer = p->nodes[2].peer;
    check(peer != NULL && peer->transit.queue.count == 0 && peer->transit.tail->refs == 1, "all has gone");
    capacity = peer->transit.tail->capacity;
    for (i = 0; i < 2; i++) {
        peer->transit.tail->used = capacity / 8 - (size_t)i;
        check(relay(w, b, 2, 100) == 0, "one more");
        ok(peer->transit.tail->capacity == (i ? capacity / 2 : capacity), "of %u: %u", (unsigned)capacity,
           (unsigned)peer->transit.tail->capacity);
        turns(w, 100, 1000);
    }
    phx__buf_block_drop(b);
    ok(world_free(w), "no byte leaked");
}

/* ---- Mailboxes and parts */

static void test_idle_most(void)
{
    /* Goal: where memory is limited a 32nd of it is for mailboxes that nothing is under way in; more are not
     * kept however young they are. */
    const uint32_t most = 4200;
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx_outgoing m;
    struct iovec iov = { (void *)"x", 1 };
    uint32_t i;

    w->wide = 1;
    n->mem.limit = most * 32 * sizeof(struct phx__box);
    memset(&m, 0, sizeof m);
    m.iov = &iov;
    m.iov_count = 1;
    for (i = 0; i < most + 40; i++) {
        m.to = WIDE + i;
        check(phx__post_send(&n->post, &m) == 0, "sent to name %u", (unsigned)i);
        if (i == most - 1) {
            turns(w, 20, 1000);
            ok(n->post.boxes.idle_count == most, "%u are kept", (unsigned)n->post.boxes.idle_count);
        }
    }
    turns(w, 20, 1000);
    ok(n->post.boxes.idle_count == most, "and never more: %u", (unsigned)n->post.boxes.idle_count);
    ok(w->got == most + 40 && world_free(w), "no byte leaked");
}

static void test_idle_young(void)
{
    /* Goal: where memory is not limited there are 131,072 of them, however young. Method: that many others
     * are there is only said. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint32_t said = (1u << 17) - 2;
    uint64_t name;

    for (name = 3; name < 7; name++)
        all_see(w, (int)name, 1);
    n->post.boxes.idle_count = said;
    for (name = 3; name < 5; name++)
        check(send_size(n, name, 10, 0, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(n->post.boxes.idle_count == 1u << 17 && n->post.store.count == 2, "so many stay");
    check(send_size(n, 5, 10, 0, 0, 0) == 0, "sent");
    ok(n->post.boxes.idle_count == (1u << 17) - 1 && n->post.store.count == 2, "for one more one goes");
    turns(w, 20, 1000);
    n->post.boxes.idle_count -= said;
    ok(w->got == 3 && world_free(w), "no byte leaked");
}

static void test_part_time(void)
{
    /* Goal: a message is given up when nothing came for 120 s since its first fragment, and not before, also
     * in a node that has been up for long; one that is sent back is no noise. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    w->now = 1000 * PHX__SECOND;
    all_see(w, 3, 1);
    check(send_size(n, 3, 200000, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, PHX__FRAGMENT);
    wire_deliver(w, 0, 1);
    check(peer_of(w, 1, 0)->in.part != NULL, "it has begun");
    w->now += 120 * PHX__SECOND - 1;
    tick(&w->node[1]);
    ok(peer_of(w, 1, 0)->in.part != NULL, "it is waited for");
    w->now++;
    tick(&w->node[1]);
    ok(peer_of(w, 1, 0)->in.part == NULL, "and given up");
    see(w, 1, 3, -1);
    ok(settle(w) == 0 || n->post.pending.count == 1, "it comes back, and waits");
    ok(w->node[1].post.counters.dropped == 0, "and is not counted as noise: %u",
       (unsigned)w->node[1].post.counters.dropped);
    ok(world_free(w), "no byte leaked");
}

/* ---- Messages that begin */

/* A frame of a flow that a node nobody knows sends to node 2 over node 1. */
static void begin_part(struct world *w, int number, size_t total)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct node *n = &w->node[2];
    struct phx__data d = { .target = id_of(2), .epoch = 1, .to = 3, .total = total, .size = PHX__FRAGMENT };
    struct phx__writer wr;
    struct phx__frame f;
    uint32_t index;
    size_t used;

    memset(&d.source, 0xee, sizeof d.source);
    d.source.b[0] = (unsigned char)number;
    check(phx__id_add(&n->ids, &d.source, &index) == 0, "known");
    phx__buf_writer_init(&wr, raw, sizeof raw);
    phx__wire_data_put(&wr, &d, (int)PHX__DATA_FIRST, 5);
    check(phx__wire_parse(raw, wr.size + d.size, &f, &used) == 1, "a frame");
    n->post.recv.from = as_seen(2, 1);
    check(phx__post_recv_data(&n->post, raw, used, &f) == 0, "no reason to close the link");
}

static void test_brought_most(void)
{
    /* Goal: where memory has no limit, a neighbour may have begun messages of 256 MiB, and no more. Method:
     * that it has is only said. */
    struct world *w = world_new(1, NULL);
    size_t most = (size_t)256 << 20, one = (size_t)1 << 20;

    all_see(w, 3, 2);
    check(phx__post_sched_open(&w->node[2].post, as_seen(2, 1)) != NULL, "a neighbour");
    peer_of(w, 2, 1)->brought = most - one;
    begin_part(w, 1, one);
    ok(peer_of(w, 2, 1)->brought == most && w->node[2].post.recv.bytes == one, "one fits just so");
    begin_part(w, 2, one);
    ok(peer_of(w, 2, 1)->brought == most && w->node[2].post.recv.bytes == one, "one more does not");
    peer_of(w, 2, 1)->brought = most - one + 1;
    begin_part(w, 3, one);
    ok(w->node[2].post.recv.bytes == one, "not even by a byte");
    ok(world_free(w), "no byte leaked");
    w = world_new(1, NULL);
    all_see(w, 3, 2);
    w->node[2].mem.limit = 32 * one;
    begin_part(w, 1, one);
    ok(peer_of(w, 2, 1)->brought == one && !peer_of(w, 2, 1)->large, "where it has, one of a 32nd counts");
    begin_part(w, 2, one + 1);
    ok(peer_of(w, 2, 1)->brought == one && peer_of(w, 2, 1)->large, "one of a byte more does not");
    ok(world_free(w), "no byte leaked");
}

static void test_state_again(void)
{
    /* Goal: behind a message of several frames that came back, the next one is read into place at once. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    see(w, 0, 3, 1);
    check(send_size(n, 3, 200000, 0, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(back_of(w, 1, 0)->count == 1 && peer_of(w, 1, 0)->in.state == PHX__FLOW_ALL, "nothing is awaited");
    ok(world_free(w), "no byte leaked");
}

static void test_owned_room(void)
{
    /* Goal: what is sent without a copy needs no room for its bytes, and a copy does. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    n->mem.limit = 100000;
    ok(send_size(n, 3, 200000, 0, 0, 0) == PHX_ENOMEM, "no room for a copy");
    ok(send_size(n, 3, 200000, 0, 0, 7) == 0, "none is needed");
    n->mem.limit = 0;
    ok(settle(w) && w->got == 1 && w->released[7] == 1, "it comes");
    ok(world_free(w), "no byte leaked");
}

/* ---- Time */

static void test_patience(void)
{
    /* Goal: an ack is waited for four times as long as it took of late, 1 s at least and 30 s at most. */
    static const struct { uint64_t rtt, rto; } cases[] = {
        { 10 * PHX__MS, PHX__SECOND }, { 250 * PHX__MS, PHX__SECOND }, { 251 * PHX__MS, 1004 * PHX__MS },
        { 2 * PHX__SECOND, 8 * PHX__SECOND }, { 7500 * PHX__MS, 30 * PHX__SECOND },
        { 8 * PHX__SECOND, 30 * PHX__SECOND }, { 40 * PHX__SECOND, 30 * PHX__SECOND },
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct phx__flow_out o = { .own = 1000, .allowed = 1000, .base = 1 };
        o.rtt.timing = 1;
        check(phx__post_flow_progress(&o, 10, cases[i].rtt) == cases[i].rtt, "measured");
        ok(o.rto == cases[i].rto, "a round trip of %u ms: %u ms", (unsigned)(cases[i].rtt / 1000),
           (unsigned)(o.rto / 1000));
    }
}

static void test_no_limit(void)
{
    /* Goal: messages without a time limit are never searched for expired ones, nor are those that ended. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    check(phx__post_sched_open(&n->post, as_seen(0, 1)) != NULL, "a peer");
    ok(peer_of(w, 0, 1)->out.limit_at == PHX__NEVER, "no limit at the start");
    w->frozen = 1;
    check(send_size(n, 3, 100000, 1, 5000, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(w->token[1].result == PHX_EEXPIRED && peer_of(w, 0, 1)->out.limit_at == PHX__NEVER,
       "no limit behind the only one");
    ok(world_free(w), "no byte leaked");
}

static void test_searches(void)
{
    /* Goal: after a search of n messages for expired ones there is no other for 4 n microseconds, however
     * close the next limit is. Method: messages to a name that nobody has, with limits 10 us apart. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint32_t i;

    for (i = 0; i < 500; i++)
        check(send_size(n, 9, 10, 0, 1000 + 10 * i, 0) == 0, "sent");
    w->now += 1000;
    phx__post_box_due(&n->post, PHX__TIMER_POST_HOLD, 0);
    ok(n->post.store.queued > 400 && n->post.store.queued < 500
           && phx__timer_at(&n->timers, n->post.boxes.timer) == w->now + 4 * (uint64_t)n->post.store.queued,
       "%u are left, and rest for %u us", (unsigned)n->post.store.queued,
       (unsigned)(phx__timer_at(&n->timers, n->post.boxes.timer) - w->now));
    turns(w, 10, 1000);
    ok(n->post.store.queued == 0, "in the end all are over");
    ok(world_free(w), "no byte leaked");
}

static void test_hurry(void)
{
    /* Goal: an ack that somebody waits for goes with the first data of the other direction, and one that
     * nobody waits for does not, so soon after the last. */
    struct world *w = world_new(1, NULL);
    uint64_t token;

    all_see(w, 3, 1);
    all_see(w, 4, 0);
    for (token = 1; token <= 2; token++) {
        check(send_size(&w->node[0], 3, 10, 0, 0, 0) == 0, "sent");
        bring(w);
        check(peer_of(w, 1, 0)->ack.last_at == w->now, "an ack has just left");
        check(send_size(&w->node[0], 3, 10, token % 2, 0, 0) == 0, "sent");
        pull(w, 0, 1, 1u << 20);
        wire_deliver(w, 0, 1);
        check(send_size(&w->node[1], 4, 10, 0, 0, 0) == 0, "an answer");
        pull(w, 1, 0, 1u << 20);
        ok(peer_of(w, 1, 0)->ack.owed == (token % 2 == 0), "the sender waits: %d", (int)(token % 2));
        check(settle(w), "settles");
    }
    ok(no_errors(w) && world_free(w), "no byte leaked");
}

/* ---- Frames and what is in them */

static unsigned came; /* messages */

static void count_message(struct node *n, const struct phx_message *m)
{
    (void)n, (void)m;
    came++;
}

static void test_senders(void)
{
    /* Goal: messages of two senders never share a frame, which says one. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct iovec iov = { (void *)"", 0 };
    struct phx_outgoing m = { .to = 3, .iov = &iov, .iov_count = 1 };

    all_see(w, 3, 1);
    w->on_message = count_message;
    w->frozen = 1;
    for (m.from = 0; m.from < 4; m.from++)
        check(phx__post_send(&n->post, &m) == 0 && phx__post_send(&n->post, &m) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(w->wire[0][1].count == 4, "a frame for each: %u", (unsigned)w->wire[0][1].count);
    ok(world_free(w), "no byte leaked");
}

static void test_asks_once(void)
{
    /* Goal: who has a name is asked once for a frame of messages to it. */
    struct world *w = world_new(1, NULL);
    uint64_t asked;
    int i;

    all_see(w, 3, 1);
    for (i = 0; i < 100; i++)
        check(send_size(&w->node[0], 3, 8, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    check(w->wire[0][1].count == 1, "one frame");
    asked = w->node[1].owner_asked;
    wire_deliver(w, 0, 1);
    ok(w->got == 100 && w->node[1].owner_asked == asked + 1, "for 100 messages: %u times",
       (unsigned)(w->node[1].owner_asked - asked));
    ok(settle(w) && no_errors(w) && world_free(w), "no byte leaked");
}

static void test_sweep(void)
{
    /* Goal: what joins behind a message that is taken back stands where it should; and what was taken back
     * does not come again when its target fails. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    w->on_message = count_message;
    came = 0;
    w->frozen = 1;
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    check(send_size(n, 3, 10, 2, 0, 0) == 0 && send_size(n, 3, 10, 0, 0, 0) == 0, "two more");
    check(phx__post_box_cancel(&n->post, 2) == 0, "that one is taken back");
    check(send_size(n, 3, 20, 0, 0, 0) == 0 && send_size(n, 3, 30, 0, 0, 0) == 0, "two join");
    w->frozen = 0;
    ok(settle(w) && came == 4 && w->content_errors == 0, "%u come as they were", came);
    w->frozen = 1;
    for (i = 10; i < 20; i++)
        check(send_size(n, 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
    check(phx__post_box_cancel(&n->post, 15) == 0 && peer_of(w, 0, 1)->out.gone == 1, "one is to be swept");
    for (i = 0; i < NODES; i++)
        see(w, i, 3, 2);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    (void)phx__post_run(&n->post);
    ok(!n->post.boxes.look_again && !phx__post_ready(&n->post), "all has been looked at again");
    w->frozen = 0;
    wire_cut(w, 0, 1);
    ok(settle(w) && came == 13 && w->token[15].count == 1 && w->token[15].result == PHX_ECANCELLED,
       "nine of ten come to its heir: %u", came - 4);
    ok(world_free(w), "no byte leaked");
}

static void test_large_memory(void)
{
    /* Goal: a message of many frames is put as a whole, or not at all, whichever allocation fails. */
    struct phx__post_limits limits = default_limits();
    int bad = 0, calls, err = PHX_ENOMEM;

    limits.max_message = limits.window = 8u << 20;
    for (calls = 1; err != 0; calls++) {
        struct world *w = world_new(1, &limits);
        struct node *n = &w->node[0];

        all_see(w, 3, 1);
        n->heap.fail_at = n->heap.calls + calls;
        err = send_size(n, 3, 6u << 20, 0, 0, 0);
        if (err != 0 && peer_of(w, 0, 1) != NULL)
            bad += peer_of(w, 0, 1)->out.count != 0 || peer_of(w, 0, 1)->out.bytes != 0;
        bad += err != 0 && err != PHX_ENOMEM;
        bad += !world_free(w);
    }
    ok(bad == 0 && calls > 6, "%d allocations", calls - 2);
}

static void test_mixed_retry(void)
{
    /* Goal: a name whose messages arrive again is not waited for any more, also in a frame with others. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    all_see(w, 4, 1);
    for (i = 0; i < 6; i++)
        check(send_size(n, 3 + (uint64_t)i % 2, 10, 0, 0, 0) == 0, "sent");
    phx__post_store_find(&n->post.store, 3)->retry_us = 50000;
    phx__post_store_find(&n->post.store, 4)->retry_us = 50000;
    bring(w);
    ok(phx__post_store_find(&n->post.store, 3)->retry_us == 0
           && phx__post_store_find(&n->post.store, 4)->retry_us == 0 && w->got == 6, "both are as new");
    ok(settle(w) && no_errors(w) && world_free(w), "no byte leaked");
}

static void test_relayed_count(void)
{
    /* Goal: what a relay has passed on does not count as dropped when it forgets the target. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    route(w, 0, 2, 1);
    all_see(w, 3, 2);
    check(send_size(n, 3, 200000, 0, 0, 0) == 0, "sent");
    check(settle(w) && w->got == 1 && w->node[1].post.counters.relayed_frames == 4, "relayed");
    phx__post_box_forget(&w->node[1].post, as_seen(1, 2));
    ok(w->node[1].post.counters.dropped == 0, "nothing was dropped");
    ok(no_errors(w) && world_free(w), "no byte leaked");
}

/* ---- Begin and end */

static void test_begin_memory(void)
{
    /* Goal: a post that lacks memory at its start says so, whichever allocation it is. */
    struct phx__post_limits limits = default_limits();
    int bad = 0, calls;

    for (calls = 1;; calls++) {
        struct world *w = world_new(1, NULL);
        struct node *n = &w->node[0];
        struct phx__post post;
        struct phx__timers timers;
        int err;

        phx__timer_init(&timers, &n->mem);
        n->heap.fail_at = n->heap.calls + calls;
        err = phx__post_init(&post, &n->mem, &n->ids, &timers, &limits, &n->post.ops);
        if (n->heap.calls < n->heap.fail_at) {
            bad += err != 0;
            phx__post_free(&post);
            phx__timer_free(&timers);
            bad += !world_free(w);
            break;
        }
        bad += err != PHX_ENOMEM;
        phx__post_free(&post);
        phx__timer_free(&timers);
        bad += !world_free(w);
    }
    ok(bad == 0 && calls > 2, "%d allocations", calls - 1);
}

static void test_free_waiters(void)
{
    /* Goal: names that wait for room when the node ends leave nothing. Method: one whose owner says that it
     * is none, one that has no owner, and one of a full destination. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    see(w, 0, 3, 1);
    see(w, 0, 4, 1);
    check(send_size(n, 3, 300000, 1, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(send_size(n, 3, 10, 2, 0, 0) == PHX_EAGAIN && send_size(n, 4, 10, 3, 0, 0) == PHX_EAGAIN
           && send_size(n, 9, 300000, 4, 0, 0) == PHX_EAGAIN,
       "they wait");
    ok(world_free(w), "no byte leaked");
}

static void test_no_epoch(void)
{
    /* Goal: a flow has an epoch, whatever number was drawn for it: 0 would be none. */
    struct world *w = world_new(1, NULL);

    all_see(w, 3, 1);
    w->epochs = UINT64_MAX; /* the next is 0 */
    check(send_size(&w->node[0], 3, 10, 1, 0, 0) == 0, "sent");
    ok(peer_of(w, 0, 1)->out.epoch == 1 && settle(w) && w->got == 1, "and it comes");
    ok(world_free(w), "no byte leaked");
}

/* ---- Casts */

/* A CAST frame with `count` lines for node 0, from node 1: what comes of it. Equal lines of a message of a
 * byte, or first fragments of a byte with numbers that rise. */
static int cast_lines(struct world *w, uint32_t count, int flags)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct phx__data d = { .target = id_of(0), .source = id_of(1), .epoch = 7, .to = 3, .from = 1,
                           .total = flags == 3 ? 1 : 100000, .size = 1 };
    struct phx__writer wr;
    struct phx__frame f;
    size_t start, used;
    uint32_t i;

    phx__buf_writer_init(&wr, raw, sizeof raw - 1);
    start = phx__wire_data_begin_cast(&wr, flags, 5, count);
    for (i = 0; i < count; i++, d.number += flags != 3)
        phx__wire_data_put_cast_line(&wr, flags, &d);
    phx__wire_data_end_cast(&wr, start, flags, &d);
    raw[wr.size] = pattern(0, 0);
    check(phx__wire_parse(raw, wr.size + 1, &f, &used) == 1, "a frame");
    return phx__post_recv_multicast(&w->node[0].post, &f);
}

static void test_cast_lines(void)
{
    /* Goal: a cast has up to 512 lines, and each is looked at once; without time for callbacks the frame is
     * to come again. (513 lines are no frame: t_wire_limits.) */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 0);
    hurry(n, 0);
    ok(cast_lines(w, PHX__CAST_LINES, 3) == PHX_EAGAIN && w->got == 0, "not now");
    n->is_hasty = 0;
    ok(cast_lines(w, PHX__CAST_LINES, 3) == 0 && w->got == 1, "one message, and 511 times one that is there");
    ok(n->post.counters.duplicates == PHX__CAST_LINES - 1 && n->post.counters.dropped == 0, "as is counted");
    ok(world_free(w), "no byte leaked");
}

static void test_cast_begins(void)
{
    /* Goal: buffers that one frame asks for are counted as calls, and these never below none. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 0);
    w->begins = 1;
    hurry(n, 1);
    ok(cast_lines(w, 2, (int)PHX__DATA_FIRST) == 0 && w->begun_count == 2, "two are asked for");
    ok(n->post.calls == 0, "no time is left: %u", (unsigned)n->post.calls);
    ok(world_free(w), "no byte leaked");
}

static void test_cast_freed(void)
{
    /* Goal: a cast that is under way when the node ends leaves nothing. */
    struct world *w = world_new(1, NULL);
    const struct phx_range names = { 3, 5 };
    const struct phx_cast c = { .ranges = &names, .ranges_count = 1, .token = 1, .data = "x", .size = 1 };

    all_see(w, 3, 1);
    all_see(w, 4, 2);
    w->frozen = 1;
    check(phx__post_multicast_send(&w->node[0].post, &c) == 2, "to two");
    turns(w, 3, 1000);
    ok(world_free(w), "no byte leaked");
}

static int cast_held(struct node *n, uint64_t last, size_t size)
{
    static uint8_t data[200000];
    struct phx_range names[3];
    struct phx_cast c;

    memset(&c, 0, sizeof c);
    for (c.ranges_count = 0; 9 + c.ranges_count <= last; c.ranges_count++)
        names[c.ranges_count] = (struct phx_range){ 9 + c.ranges_count, 9 + c.ranges_count };
    c.ranges = names;
    c.data = data;
    c.size = size;
    return phx__post_multicast_send(&n->post, &c);
}

static void test_cast_held(void)
{
    /* Goal: a cast to names that nobody has takes room in the store for each, and there must be room for all;
     * who is refused hears when there is. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    check(send_size(n, 5, 10, 1, 0, 0) == 0, "something is held");
    ok(cast_held(n, 10, 100000) == 2, "twice 100,000 bytes have room");
    check(phx__post_box_cancel(&n->post, 1) == 0, "and that is not held any more");
    ok(cast_held(n, 11, 30000) == PHX_EAGAIN, "three times 30,000 have not");
    (void)phx__post_run(&n->post);
    check(w->writable == 0, "not yet");
    all_see(w, 9, 1);
    all_see(w, 10, 1);
    ok(settle(w) && w->writable == 1, "somebody has the names, and there is room");
    ok(world_free(w), "no byte leaked");
}

int main(void)
{
    test_calls_outcomes();
    test_calls_abandoned();
    test_wake();
    test_cancel_makes_room();
    test_range_wakes();
    test_close_all();
    test_forget_owner();
    test_freed_outcome();
    test_late_window();
    test_gap();
    test_ack_frames();
    test_look();
    test_lives();
    test_transit_most();
    test_transit_window();
    test_transit_shrinks();
    test_idle_most();
    test_part_time();
    test_idle_young();
    test_brought_most();
    test_state_again();
    test_owned_room();
    test_patience();
    test_no_limit();
    test_searches();
    test_hurry();
    test_begin_memory();
    test_free_waiters();
    test_no_epoch();
    test_cast_lines();
    test_cast_held();
    test_cast_begins();
    test_cast_freed();
    test_senders();
    test_asks_once();
    test_sweep();
    test_large_memory();
    test_mixed_retry();
    test_relayed_count();
    return test_end();
}
