/* t_post_acks.c - what acks bring about: retries, returns that were seen, mailboxes that wait, lists. */
#include "post_rig.h"

static void test_ack_again(void)
{
    /* Goal: an ack that could not be sent goes 5 ms later, though nothing else happens. Method: the node has
     * no way for a moment, which nobody tells the room. */
    struct world *w = world_new(1, NULL);

    all_see(w, 3, 1);
    check(send_size(&w->node[0], 3, 10, 1, 0, 0) == 0, "sent");
    carry(w, 0, 1);
    w->now += 5000;
    w->node[1].hop[0] = -1;
    tick(&w->node[1]);
    check(w->node[1].refused_acks == 1 && w->token[1].count == 0, "no way for it");
    w->node[1].hop[0] = 0;
    w->now += 4999;
    tick(&w->node[1]);
    ok(peer_of(w, 1, 0)->ack.owed, "not yet");
    w->now++;
    tick(&w->node[1]);
    ok(!peer_of(w, 1, 0)->ack.owed, "but now");
    (void)phx__post_run(&w->node[0].post);
    ok(w->token[1].count == 1 && w->token[1].result == 0, "and it comes");
    ok(world_free(w), "no byte leaked");
}

static void test_seen(void)
{
    /* Goal: a message says how many returns its source knows of, which confirms them though the ack that did
     * so was lost. */
    struct world *w = mistaken(10);
    struct node *n = &w->node[0];

    carry(w, 0, 1);
    (void)phx__post_run(&w->node[1].post);
    check(peer_of(w, 0, 1)->out.seen == 1 && back_of(w, 1, 0)->confirmed == 0, "it came back");
    w->ack_loss = 1000;
    (void)phx__post_run(&n->post);
    check(back_of(w, 1, 0)->confirmed == 0 && back_of(w, 1, 0)->count == 1, "and its ack is lost");
    check(send_size(n, 4, 10, 2, 0, 0) == 0, "sent");
    carry(w, 0, 1);
    ok(back_of(w, 1, 0)->confirmed == 1 && back_of(w, 1, 0)->list == NULL, "the next message confirms it");
    w->ack_loss = 0;
    ok(world_free(w), "no byte leaked");
}

static void test_retry(void)
{
    /* Goal: news of any names lets those be tried whose owner said that it is none. */
    const struct phx_range other = { 9, 9 };
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    const struct phx__box *b;

    see(w, 0, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    turns(w, 10, 1000);
    b = phx__post_store_find(&n->post.store, 3);
    check(b != NULL && b->state == PHX__BOX_REFUSED, "it waits");
    see(w, 0, 9, 2);
    phx__post_box_ranges(&n->post, &other, 1);
    ok(b->state == PHX__BOX_FLOWING && b->flying == 1, "and is tried again");
    ok(world_free(w), "no byte leaked");
}

static void test_many_ranges(void)
{
    /* Goal: news of more names than there are mailboxes looks at all mailboxes. */
    const struct phx_range all = { 0, UINT64_MAX };
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    check(send_size(n, 3, 10, 1, 0, 0) == 0 && send_size(n, 4, 10, 2, 0, 0) == 0, "held");
    see(w, 0, 3, 1);
    see(w, 1, 3, 1);
    phx__post_box_ranges(&n->post, &all, 1);
    ok(n->post.store.queued == 1 && peer_of(w, 0, 1)->out.count == 1, "one has an owner now");
    ok(world_free(w), "no byte leaked");
}

static void test_lists(void)
{
    /* Goal: a mailbox with messages under way is in no list of idle ones; what is sent when there is memory
     * sets no timer to try again; each frame that leaves is counted. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    const struct phx__box *b;

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    b = phx__post_store_find(&n->post.store, 3);
    ok(phx__ring_is_empty(&b->age) && phx__ring_is_empty(&b->link) && phx__ring_is_empty(&n->post.boxes.idle),
       "in none");
    ok(phx__timer_at(&n->timers, n->post.again_timer) == UINT64_MAX, "no timer");
    carry(w, 0, 1);
    ok(n->post.counters.frames_out == 1, "one frame");
    ok(settle(w) && !phx__ring_is_empty(&b->age) && !phx__ring_is_empty(&b->link), "idle again");
    ok(world_free(w), "no byte leaked");
}

static void test_forget_refused(void)
{
    /* Goal: a message that a node sent back, since it has not the name, survives that this node is forgotten,
     * and goes to who has the name then. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    see(w, 0, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    turns(w, 10, 1000);
    check(phx__post_store_find(&n->post.store, 3)->state == PHX__BOX_REFUSED, "it waits");
    phx__post_box_forget(&n->post, as_seen(0, 1));
    ok(peer_of(w, 0, 1) == NULL && phx__post_store_find(&n->post.store, 3)->state == PHX__BOX_HELD, "held");
    all_see(w, 3, 2);
    ok(settle(w) && w->got == 1 && w->token[1].result == 0 && w->token[1].count == 1, "and delivered");
    ok(world_free(w), "no byte leaked");
}

static void test_fail_names(void)
{
    /* Goal: names that are given up with their node: what waits for them ends, unless another node has them;
     * few names, and more than there are mailboxes. */
    int many;

    for (many = 0; many < 2; many++) {
        struct world *w = world_new(1, NULL);
        struct node *n = &w->node[0];
        uint64_t name;

        for (name = 3; name < 7; name++)
            check(send_size(n, name, 10, name, 0, 0) == 0, "held");
        see(w, 0, 4, 1);
        see(w, 0, 5, 2);
        phx__post_box_fail(&n->post, as_seen(0, 1), 3, many ? UINT64_MAX / 2 : 5);
        (void)phx__post_run(&n->post);
        ok(w->token[3].result == PHX_EFAILED && w->token[3].count == 1, "nobody has it");
        ok(w->token[4].result == PHX_EFAILED && w->token[4].count == 1, "that node has it");
        ok(w->token[5].count == 0 && w->token[6].count == many, "another has it; not meant, or nobody's");
        ok(world_free(w), "no byte leaked");
    }
}

/* ---- Frames by hand */

/* A DATA frame without payload or with one byte, from a node that is `known` or not, to node 1. */
static void inject(struct world *w, struct phx_id source, uint64_t epoch, uint64_t number)
{
    static uint8_t raw[PHX__DATA_FIRST_HEAD + 1];
    struct phx__data d = { .target = id_of(1), .source = source, .number = number, .epoch = epoch, .to = 3,
                           .total = 1, .size = 1 };
    struct phx__writer wr;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&wr, raw, sizeof raw);
    phx__wire_data_put(&wr, &d, 3, 5);
    check(phx__wire_parse(raw, sizeof raw, &f, &used) == 1, "a frame");
    check(phx__post_recv_data(&w->node[1].post, raw, used, &f) == 0, "no reason to close the link");
}

static void test_ask(void)
{
    /* Goal: whose flow is not the one that is known is asked for it, once in 10 ms; a frame whose source is
     * not known yet is kept and not counted as dropped. */
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[1].post;

    w->ack_loss = 1000;
    inject(w, id_of(0), 7, 5);
    ok(peer_of(w, 1, 0)->ack.ask && p->counters.dropped == 1, "asked");
    (void)phx__post_run(p);
    w->now += 9999;
    inject(w, id_of(0), 7, 5);
    ok(!peer_of(w, 1, 0)->ack.ask, "not so soon again");
    w->now++;
    inject(w, id_of(0), 7, 5);
    ok(peer_of(w, 1, 0)->ack.ask && p->counters.dropped == 3, "but then");
    inject(w, id_of(77), 7, 0);
    ok(p->counters.dropped == 3 && p->recv.early.size == PHX__DATA_FIRST_HEAD + 1, "kept");
    ok(world_free(w), "no byte leaked");
}

static void test_place_stays(void)
{
    /* Goal: the place of a fragment that begins to come is waited for from now on, however long ago the last
     * message was; and the beginning of one ends what was missing of another. */
    struct world *w = world_new(1, NULL);
    struct phx__place place;
    struct frame *f;

    w->now = 1000 * PHX__SECOND;
    all_see(w, 3, 1);
    check(send_size(&w->node[0], 3, 10, 0, 0, 0) == 0, "a first message");
    check(settle(w), "settles");
    check(send_size(&w->node[0], 3, 200000, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, PHX__FRAGMENT);
    f = wire_take(&w->wire[0][1]);
    peer_of(w, 1, 0)->in.state = PHX__FLOW_HALF;
    check(phx__post_recv_place(&w->node[1].post, f->data[0], f->size[0], &place) == 0, "no place with a gap");
    tick(&w->node[1]);
    ok(peer_of(w, 1, 0)->in.part != NULL, "the message has its room all the same");
    peer_of(w, 1, 0)->in.state = PHX__FLOW_ALL;
    check(phx__post_recv_place(&w->node[1].post, f->data[0], f->size[0], &place) != 0, "a place");
    tick(&w->node[1]);
    ok(peer_of(w, 1, 0)->in.part != NULL, "it stays");
    phx__buf_place_drop(&place);
    frame_free(f);
    peer_of(w, 1, 0)->in.state = PHX__FLOW_HALF;
    cut(w, 0, 1);
    turns(w, 4, 1000);
    ok(peer_of(w, 1, 0)->returns.count == 0, "and the message is taken, though one before it was not");
    ok(settle(w) && no_errors(w) && all_arrived(w) && world_free(w), "no byte leaked");
}

static void test_version(void)
{
    /* Goal: when names have changed, who has one is asked once at the next message to it. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t asked;

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
    see(w, 0, 9, 2);
    asked = n->owner_asked;
    check(send_size(n, 3, 10, 0, 0, 0) == 0 && send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
    ok(n->owner_asked == asked + 1, "once: %u times", (unsigned)(n->owner_asked - asked));
    ok(settle(w) && world_free(w), "no byte leaked");
}

static void test_two_absent(void)
{
    /* Goal: of a frame with several names each one that is not here is returned by name, at once. */
    struct world *w = world_new(1, NULL);
    int i;

    for (i = 3; i < 6; i++)
        see(w, 0, i, 1);
    see(w, 1, 4, 1);
    for (i = 0; i < 9; i++)
        check(send_size(&w->node[0], 3 + (uint64_t)i % 3, 10, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    wire_deliver(w, 0, 1);
    ok(back_of(w, 1, 0)->count == 2, "two of three names: %u", (unsigned)back_of(w, 1, 0)->count);
    ok(world_free(w), "no byte leaked");
}

static void test_transit_ends(void)
{
    /* Goal: what was in transit to a node that failed is dropped, counted once, and nothing is kept of it. */
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[1].post;

    route(w, 0, 2, 1);
    all_see(w, 3, 2);
    check(send_size(&w->node[0], 3, 200000, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    while (w->wire[0][1].count > 0)
        wire_deliver(w, 0, 1);
    check(peer_of(w, 1, 2)->transit.frames > 2, "on their way");
    phx__post_box_failed(p, as_seen(1, 2));
    ok(p->counters.dropped > 2 && peer_of(w, 1, 2)->transit.frames == 0, "dropped");
    ok(peer_of(w, 1, 2)->transit.tail == NULL && p->transit.bytes == 0, "nothing is kept");
    ok(world_free(w), "no byte leaked");
}

static void test_transit_blocks(void)
{
    /* Goal: the blocks of what waits at a relay double from 8 KiB to four of the largest frames. Method:
     * frames of 4,000 bytes for a target that takes none. */
    static const uint32_t want[] = { 8192, 16384, 32768, 65536, 131072, 262144, 4 * 65792 };
    struct phx__post_limits limits = default_limits();
    const struct phx__block *last = NULL;
    const struct phx__post_transit *t;
    uint32_t size[7] = { 0 };
    struct world *w;
    size_t n = 0;
    int i;

    limits.window = limits.hold_bytes = 1u << 20;
    w = world_new(1, &limits);
    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    for (i = 1; i < 250 && n < 7; i++) {
        check(send_size(&w->node[0], 3, 4000, (uint64_t)i, 0, 0) == 0, "sent");
        carry(w, 0, 1);
        t = &peer_of(w, 1, 2)->transit;
        if (t->tail != last)
            size[n++] = (uint32_t)t->tail->capacity;
        last = t->tail;
    }
    ok(n == 7 && memcmp(size, want, sizeof want) == 0, "the seventh has %u bytes", size[6]);
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

/* Node 1 owes node 0 an ack, of so many frames and bytes that came just now: is it sent with data? */
static int rides(uint32_t frames, uint32_t bytes)
{
    struct world *w = mistaken(10);
    struct phx__post_owed *ack;
    int sent;

    all_see(w, 5, 0);
    carry(w, 0, 1);
    ack = &peer_of(w, 1, 0)->ack;
    phx__ring_del(&ack->link);
    ack->owed = 1;
    ack->hurry = 0;
    ack->frames = frames;
    ack->bytes = bytes;
    ack->last_at = w->now;
    check(send_size(&w->node[1], 5, 10, 0, 0, 0) == 0, "data the other way");
    pull(w, 1, 0, 1u << 20);
    sent = !ack->owed;
    check(world_free(w), "freed");
    return sent;
}

static void test_rides(void)
{
    /* Goal: an ack of a millisecond goes with data if it is of 16 frames or 4 KiB, and else with the next. */
    ok(!rides(15, 4095), "15 frames wait");
    ok(rides(16, 4095), "16 do not");
    ok(rides(1, 4096), "nor do 4,096 bytes");
}

static void test_post_times(void)
{
    /* Goal: what memory was missing for is tried again after 10 ms, what the target cannot take is asked for
     * after 50 ms, a flow at rest gives back its block after 10 s; a name whose owner says that it is none is
     * tried after 50 ms, then twice that, up to a second. */
    static const uint32_t ms[] = { 50, 100, 200, 400, 800, 1000, 1000 };
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__post_peer *peer;
    struct phx__box *b;
    uint64_t since;
    uint32_t i, bad = 0;

    phx__post_sched_again(&n->post, 0);
    ok(phx__timer_at(&n->timers, n->post.again_timer) == w->now + 10000, "10 ms");
    all_see(w, 4, 1);
    check(send_size(n, 4, 10, 1, 0, 0) == 0, "sent");
    peer = peer_of(w, 0, 1);
    ok(peer->out.window == 256u << 10 && phx__post_sched_find(&n->post, 99) == NULL, "a window");
    turns(w, 10, 1000);
    since = peer->idle_at;
    ok(peer->out.tail != NULL && since > w->now + 9980000 && since <= w->now + 10000000, "at rest");
    turns(w, (int)((since - w->now) / 1000), 1000);
    ok(peer->out.tail != NULL && w->now + 1000 >= since, "it keeps its block");
    turns(w, 3, 1000);
    ok(peer->out.tail == NULL, "not after 10 s");
    peer->ack.stuck = 1;
    phx__post_sched_ack(&n->post, peer);
    ok(peer->ack.gap && peer->ack.at == w->now + 50000, "50 ms");
    peer->ack.stuck = 0;
    see(w, 0, 3, 1);
    check(send_size(n, 3, 10, 2, 0, 0) == 0, "sent");
    for (i = 0; i < 7; i++) {
        while ((b = phx__post_store_find(&n->post.store, 3)) != NULL && b->state != PHX__BOX_REFUSED)
            turns(w, 1, 1000);
        bad += b == NULL || b->retry_us != ms[i] * 1000;
        if (b != NULL)
            turns(w, (int)ms[i] + 2, 1000);
    }
    ok(bad == 0, "50, 100 .. 1,000 ms");
    ok(phx__post_store_cost(1000) == 1192, "a message costs 192 bytes more");
    ok(world_free(w), "no byte leaked");
}

static void test_small(void)
{
    /* Goal: a message of 60 KiB is copied behind its head, a larger one is not, nor one that has a block. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__flow_out *o;

    all_see(w, 4, 1);
    w->frozen = 1;
    check(send_size(n, 4, 61440, 1, 0, 0) == 0 && send_size(n, 4, 61441, 2, 0, 0) == 0, "sent");
    check(send_size(n, 4, 4097, 3, 0, 1) == 0, "the host's own memory");
    o = &peer_of(w, 0, 1)->out;
    ok(o->count == 3 && phx__post_flow_at(o, 0)->body == NULL && phx__post_flow_at(o, 1)->body != NULL
           && phx__post_flow_at(o, 2)->body != NULL,
       "61,440 and 61,441 bytes");
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_transit_waits(void)
{
    /* Goal: what is in transit waits for its target as long as there is a way, and 10 s without one. */
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[1].post;
    int i;

    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    check(send_size(&w->node[0], 3, 10, 1, 0, 0) == 0, "sent");
    carry(w, 0, 1);
    for (i = 0; i < 5; i++) {
        w->now += 10 * PHX__SECOND;
        tick(&w->node[1]);
    }
    ok(p->transit.bytes > 0 && p->counters.dropped == 0, "50 s");
    route(w, 1, 2, -1);
    w->now += 10 * PHX__SECOND - 1;
    tick(&w->node[1]);
    ok(p->transit.bytes > 0, "no way any more");
    w->now++;
    tick(&w->node[1]);
    ok(p->transit.bytes == 0 && p->counters.dropped == 1, "and it is dropped");
    ok(world_free(w), "no byte leaked");
}

static void test_no_random(void)
{
    /* Goal: without random bytes for the number of a flow nothing is sent, and later it is. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    n->random_fails = 1;
    ok(send_size(n, 3, 10, 1, 0, 0) == PHX_ENOMEM && n->post.pending.count == 0, "not sent");
    n->random_fails = 0;
    ok(send_size(n, 3, 10, 2, 0, 0) == 0 && settle(w) && w->token[2].result == 0 && w->got == 1, "sent");
    ok(no_errors(w) && world_free(w), "no byte leaked");
}

static void test_reclaim_abandoned(void)
{
    /* Goal: a buffer that the application lent, and whose return it has not been told of yet, can be taken
     * back, once; then it is not told of. Method: of three such it is the one in the middle. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[2];
    const void *middle;
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
    middle = w->begun->next->data;
    ok(phx__post_recv_reclaim(&n->post, middle, NULL) == 1, "it is given back");
    check(begun_ends(n, middle, 200000), "and ours");
    ok(phx__post_recv_reclaim(&n->post, middle, NULL) == 0, "once");
    (void)phx__post_run(&n->post);
    ok(w->abandoned == 2 && n->post.recv.abandoned == NULL, "the others are told of");
    ok(world_free(w), "no byte leaked");
}

static void test_idle_old(void)
{
    /* Goal: of more than 4,096 mailboxes that nothing is under way in the oldest goes when it was not used
     * for 10 s. Method: it is said that there are that many others. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint32_t said = 4096;
    int name;

    for (name = 3; name < 6; name++)
        all_see(w, name, 1);
    check(send_size(n, 3, 10, 0, 0, 0) == 0 && settle(w) && n->post.boxes.idle_count == 1, "one is idle");
    n->post.boxes.idle_count = said;
    w->now = phx__post_store_find(&n->post.store, 3)->idle_since + 10 * PHX__SECOND - 1;
    check(send_size(n, 4, 10, 0, 0, 0) == 0, "another");
    carry(w, 0, 1);
    (void)phx__post_run(&w->node[1].post);
    phx__post_sched_ack(&w->node[1].post, peer_of(w, 1, 0));
    ok(phx__post_store_find(&n->post.store, 3) != NULL && n->post.boxes.idle_count == said + 1,
       "a microsecond less");
    w->now++;
    check(send_size(n, 5, 10, 0, 0, 0) == 0, "and another");
    carry(w, 0, 1);
    (void)phx__post_run(&w->node[1].post);
    phx__post_sched_ack(&w->node[1].post, peer_of(w, 1, 0));
    ok(phx__post_store_find(&n->post.store, 3) == NULL && n->post.boxes.idle_count == said + 1, "10 s");
    n->post.boxes.idle_count -= said - 1;
    ok(no_errors(w) && world_free(w), "no byte leaked");
}

int main(void)
{
    test_ack_again();
    test_seen();
    test_retry();
    test_many_ranges();
    test_lists();
    test_forget_refused();
    test_fail_names();
    test_ask();
    test_place_stays();
    test_version();
    test_two_absent();
    test_transit_ends();
    test_transit_blocks();
    test_rides();
    test_post_times();
    test_small();
    test_transit_waits();
    test_no_random();
    test_reclaim_abandoned();
    test_idle_old();
    return test_end();
}
