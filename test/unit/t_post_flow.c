/* t_post_flow.c - transit, losses, and frames that no honest node sends. */
#include "post_rig.h"

/* ---- Transit */

static void test_transit(void)
{
    /* Promise 64. Goal: relays are bounded per target, serve targets in turn, count hops and obey the limits.
     */
    struct phx__post_limits limits = default_limits();
    struct world *w = world_new(1, NULL);
    struct node *relay = &w->node[1];
    size_t before[NODES], share;
    int i;

    all_see(w, 3, 2);
    all_see(w, 4, 3);
    route(w, 0, 2, 1);
    route(w, 0, 3, 1);
    route(w, 1, 2, -1);
    for (i = 0; i < 600; i++) {
        (void)send_size(&w->node[0], 3, 5000, 0, 0, 0);
        turn(w, 100, 1u << 20);
        if (i % 50 == 0)
            cut(w, 0, 1); /* so that all is sent again and again */
        check(relay->post.transit.bytes <= 512u << 10, "within two windows");
    }
    ok(relay->post.transit.bytes > 500000 && relay->post.counters.dropped > 0,
       "a target without a route: bounded, %d", (int)relay->post.transit.bytes);
    check(send_size(&w->node[0], 4, 5000, 1, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(w->token[1].count == 1, "another target does not notice");
    route(w, 1, 2, 2);
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive when there is a route");
    route(w, 1, 2, -1);
    check(send_size(&w->node[0], 3, 5000, 2, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    ok(relay->post.transit.bytes > 0, "waiting for a route");
    route(w, 0, 2, -1);
    turns(w, 12, PHX__SECOND);
    ok(relay->post.transit.bytes == 0, "but not for ever");
    route(w, 0, 2, 1);
    turns(w, 20, 100000);
    ok(relay->post.transit.bytes > 0, "again");
    phx__post_box_failed(&relay->post, as_seen(1, 2));
    ok(relay->post.transit.bytes == 0, "gone when the target failed");
    route(w, 1, 2, 2);
    ok(settle(w) && no_errors(w) && all_arrived(w), "sent again by its source");

    /* Fairness: large messages to one, small ones to the other, and a relay that is slow. */
    for (i = 0; i < 100; i++) {
        (void)send_size(&w->node[0], 3, 100000, 0, 0, 0);
        while (send_size(&w->node[0], 4, 100, 0, 0, 0) == 0)
            continue;
        turn(w, 1000, 0);
        pull(w, 0, 1, 1u << 20);
        pull(w, 1, 2, 100000);
        pull(w, 1, 3, 100000);
        w->now += 1000;
    }
    check(settle(w), "settles");
    route(w, 1, 3, 2); /* both through one link now, 2 relays to 3 */
    memcpy(before, w->emitted_to, sizeof before);
    w->bytes = 0;
    for (i = 0; i < 200; i++) {
        (void)send_size(&w->node[0], 3, 100000, 0, 0, 0);
        while (send_size(&w->node[0], 4, 1000, 0, 0, 0) == 0)
            continue;
        turn(w, 1000, 0);
        pull(w, 0, 1, 1u << 20);
        pull(w, 1, 2, 60000);
        pull(w, 2, 3, 1u << 20);
        w->now += 1000;
    }
    share = (w->emitted_to[3] - before[3]) * 100 / (w->emitted_to[2] - before[2]);
    ok(share > 35 && share < 65, "two targets share a link: %d to %d", (int)share,
       100 - (int)share);
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive");

    /* Loops end. */
    route(w, 0, 2, 1);
    route(w, 1, 2, 0);
    check(send_size(&w->node[0], 3, 10, 3, 0, 0) == 0, "sent");
    w->emitted = 0;
    turns(w, 20, 1000);
    ok(w->emitted == 4, "a loop ends at the hop limit: %d", (int)w->emitted);
    route(w, 1, 2, 2);
    ok(settle(w) && no_errors(w) && all_arrived(w), "and the message arrives after it");
    ok(world_free(w), "no byte leaked");

    limits.relay = 0;
    w = world_new(1, &limits);
    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    check(send_size(&w->node[0], 3, 10, 1, 0, 0) == 0, "sent");
    turns(w, 100, 10000);
    ok(w->token[1].count == 0 && w->node[1].post.counters.dropped > 0, "who does not relay drops");
    route(w, 0, 2, 2);
    ok(settle(w) && all_arrived(w), "until there is another way");
    ok(world_free(w), "no byte leaked");
}

static void test_transit_memory(void)
{
    /* Goal: a relay that is short of memory after a burst goes on with the block that it has. Method: a burst
     * that makes its block grow, and then each allocation fails. */
    struct world *w = world_new(1, NULL);
    struct node *relay = &w->node[1];
    struct phx__block *tail;
    size_t capacity;
    uint64_t dropped;
    int i, said = 0;

    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    for (i = 0; i < 20; i++)
        (void)send_size(&w->node[0], 3, 5000, 0, 0, 0);
    check(settle(w) && all_arrived(w), "a burst");
    tail = peer_of(w, 1, 2)->transit.tail;
    capacity = tail->capacity;
    dropped = relay->post.counters.dropped;
    relay->heap.fail_from = relay->heap.calls + 1;
    for (i = 0; i < 5; i++) {
        check(send_size(&w->node[0], 3, 100, 0, 0, 0) == 0, "sent");
        turns(w, 5, 1000);
        said += all_arrived(w);
    }
    ok(said == 5 && relay->post.counters.dropped == dropped && peer_of(w, 1, 2)->transit.tail == tail
           && capacity > 8192,
       "%d of 5 pass a relay without memory", said);
    relay->heap.fail_from = 0;
    check(send_size(&w->node[0], 3, 100, 0, 0, 0) == 0 && settle(w) && all_arrived(w), "one more");
    ok(peer_of(w, 1, 2)->transit.tail->capacity < capacity, "with memory its block is a smaller one");
    ok(world_free(w), "no byte leaked");
}

/* ---- Losses */

static void test_overload_ends(void)
{
    /* Goal: what an overload has lost is asked for soon after it, by a flow that knows only how long all took
     * then. Method: a round trip of 8 s, then 45 s in which all is lost. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t before;

    all_see(w, 3, 2);
    check(send_size(n, 3, 10, 1, 0, 0) == 0 && settle(w), "sent");
    n->post.usual[0].rtt = n->post.usual[1].rtt = peer_of(w, 0, 2)->out.rtt.smoothed = 8 * PHX__SECOND;
    w->loss = 1000;
    before = w->emitted;
    check(send_size(n, 3, 10, 2, 0, 0) == 0, "sent");
    turns(w, 450, 100000);
    ok(w->emitted >= before + 20 && w->emitted <= before + 1 + 45 / 2, "it asks every 2 s while all is lost");
    w->loss = 0;
    turns(w, 25, 100000);
    ok(all_arrived(w) && n->post.counters.retransmitted == 1, "then it comes");
    ok(world_free(w), "no byte leaked");
}

static void test_backstop(void)
{
    /* Goal: what nobody tells us is lost comes after a time-out, which grows; gaps are answered at
     * once; a new stream is told all that is unacknowledged. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__flow_out *o;
    int i;

    all_see(w, 3, 2);
    w->loss = 1000;
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    o = &n->post.nodes[as_seen(0, 2)].peer->out;
    turns(w, 90, 10000);
    ok(w->emitted == 1, "patience");
    turns(w, 40, 10000);
    ok(w->emitted == 2 && n->post.counters.retransmitted == 0 && o->rto == 2 * PHX__SECOND,
       "then the target is asked");
    turns(w, 1200, 100000);
    ok(o->rto == 30 * PHX__SECOND && w->emitted < 20 && n->post.counters.retransmitted == 0,
       "and ever more rarely");
    w->loss = 0;
    turns(w, 400, 100000);
    ok(w->got == 1 && w->token[1].count == 1 && o->rto == PHX__SECOND && n->post.counters.retransmitted == 1,
       "until it gets through: then it is known what was lost");
    n->post.counters.retransmitted = 0;
    n->post.usual[1].rtt = 0;
    w->ack_loss = 1000;
    check(send_size(n, 3, 10, 2, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    w->ack_loss = 0;
    turns(w, 2000, 1000);
    ok(w->token[2].count == 1 && n->post.counters.retransmitted == 0, "a lost ack: nothing is sent twice");
    ok(n->post.usual[1].rtt < 100 * PHX__MS, "and the wait before the question was no round trip: %u us",
       (unsigned)n->post.usual[1].rtt);
    /* A gap. */
    n->post.counters.retransmitted = 0;
    for (i = 3; i <= 10; i++) {
        w->loss = i == 4 ? 1000 : 0;
        check(send_size(n, 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
        turns(w, 2, 100);
    }
    turns(w, 20, 1000);
    ok(w->token[10].count == 1 && n->post.counters.retransmitted > 0 && n->post.counters.retransmitted < 20,
       "a gap is filled at once");
    ok(o->allowed >= PHX__FRAGMENT, "and made us careful");
    /* A cut. */
    n->post.counters.retransmitted = 0;
    w->frozen = 1;
    for (i = 11; i <= 20; i++)
        check(send_size(n, 3, 1000, (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    w->frozen = 0;
    cut(w, 0, 2);
    turns(w, 10, 1000);
    ok(w->token[20].count == 1 && n->post.counters.retransmitted == 10, "a cut link: all of it, at once");
    ok(no_errors(w) && all_arrived(w), "once each");
    /* No route for a while, and then the same stream. */
    w->frozen = 1;
    check(send_size(n, 3, 1000, 21, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    route(w, 0, 2, -1);
    turns(w, 100, 100000);
    route(w, 0, 2, 2);
    n->post.counters.retransmitted = 0;
    w->frozen = 0;
    turns(w, 10, 1000);
    ok(w->token[21].count == 1 && n->post.counters.retransmitted == 0,
       "the same stream again: nothing is repeated");
    /* As before, and meanwhile the relay has lost what it had. */
    route(w, 0, 2, 1);
    check(send_size(n, 3, 1000, 22, 0, 0) == 0 && settle(w), "settles");
    w->frozen = 1;
    check(send_size(n, 3, 1000, 23, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    frame_free(wire_take(&w->wire[0][1]));
    route(w, 0, 2, -1);
    turns(w, 100, 100000);
    route(w, 0, 2, 1);
    w->frozen = 0;
    turns(w, 10, 1000);
    ok(w->token[23].count == 1 && n->post.counters.retransmitted == 1, "what a relay has lost is asked for");
    ok(world_free(w), "no byte leaked");
}

static uint64_t sent_again(const struct world *w)
{
    uint64_t all = 0;

    for (int i = 0; i < NODES; i++)
        all += w->node[i].post.counters.retransmitted;
    return all;
}

static void test_queueing(void)
{
    /* Goal: what waits at a slow relay is not sent again, however long it takes, nor when a better way opens:
     * then all that is under way arrives first, and the rest takes the better way. Questions are few, and
     * fewer if it is usual to wait and many messages do. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__flow_out *o;
    uint64_t before;
    int i;

    all_see(w, 3, 2);
    all_see(w, 4, 3);
    route(w, 0, 2, 1);
    w->frozen = 1;
    for (i = 0; i < 20; i++) {
        check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
        turns(w, 1, 1000);
    }
    turns(w, 600, 100000);
    before = w->emitted;
    ok(w->got == 0 && sent_again(w) == 0 && before <= 20 + 6, "a minute of silence: nothing is sent again");
    w->frozen = 0;
    check(settle(w), "settles");
    o = &n->post.nodes[as_seen(0, 2)].peer->out;
    ok(w->got == 20 && sent_again(w) == 0 && no_errors(w), "and all comes");
    ok(n->post.usual[0].rtt > 55 * PHX__SECOND, "a round trip took that long");
    route(w, 0, 3, 1);
    w->frozen = 1;
    for (i = 0; i < 600; i++)
        check(send_size(n, 4, 10, 0, 0, 0) == 0, "sent");
    turns(w, 1, 1000);
    before = w->emitted;
    turns(w, 250, 100000);
    ok(w->emitted == before, "so another node is not asked sooner, by many");
    n->post.usual[0].rtt = n->post.usual[1].rtt = PHX__MS;
    turns(w, 100, 100000);
    ok(w->emitted > before, "but soon, as soon as round trips are short again");
    n->post.usual[0].rtt = n->post.usual[1].rtt = 60 * PHX__SECOND;
    before = w->emitted;
    w->frozen = 0;
    check(settle(w), "settles");

    w->frozen = 1;
    for (i = 0; i < 10; i++)
        check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    before = w->link[0][2];
    route(w, 0, 2, 2);
    for (i = 0; i < 5; i++)
        check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
    turns(w, 5, 1000);
    ok(o->path.drains && w->link[0][2] == before, "a better way waits for what is under way");
    w->frozen = 0;
    check(settle(w), "settles");
    ok(w->got == 35 + 600 && sent_again(w) == 0 && no_errors(w) && w->link[0][2] > before && !o->path.drains,
       "nothing is sent twice or overtaken");
    w->frozen = 1;
    route(w, 0, 2, 1);
    check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    route(w, 0, 2, 2);
    cut(w, 0, 1);
    turns(w, 1, 1000);
    w->frozen = 0;
    ok(settle(w) && w->got == 36 + 600 && sent_again(w) == 1 && no_errors(w),
       "the former way is cut meanwhile");
    ok(world_free(w), "no byte leaked");
}

/* So many messages of node 0 are under way to node 2 by node 1, and nothing moves on. */
static struct world *begin_frozen(int count)
{
    struct world *w = world_new(1, NULL);

    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    w->frozen = 1;
    while (count-- > 0) {
        check(send_size(&w->node[0], 3, 1000, 0, 0, 0) == 0, "sent");
        turns(w, 2, 1000);
    }
    return w;
}

static void test_comes_back(void)
{
    /* Goal: what goes the former way while a better one waits does not go round and round if that way leads
     * through us by now: the hub takes our new link for its own way. Method: so it does, to node 2. */
    struct world *w = begin_frozen(20);
    struct node *n = &w->node[0];

    route(w, 0, 2, 2);
    check(peer_of(w, 0, 2)->out.path.drains, "a better way waits");
    route(w, 1, 2, 0);
    w->frozen = 0;
    turns(w, 10, 1000);
    ok(w->got == 20 && no_errors(w), "%d of 20 have arrived 10 ms later", w->got);
    ok(n->post.counters.dropped + w->node[1].post.counters.dropped == 0, "none went round until its end");
    ok(settle(w) && world_free(w), "no byte leaked");
}

static void test_waits_and_asks(void)
{
    /* Goal: a former way that is merely slow is no reason to send again, also if a better one waits: first it
     * is asked. If no answer comes, the better one is taken. Method: nothing moves on for 2 s, or 10. */
    struct world *w = begin_frozen(5);
    struct phx__post_peer *peer = peer_of(w, 0, 2);
    uint64_t former = w->link[0][1], better = w->link[0][2];

    route(w, 0, 2, 2);
    turns(w, 20, 100000);
    ok(peer->out.path.drains && w->link[0][1] > former && w->link[0][2] == better, "the former way is asked");
    w->frozen = 0;
    ok(settle(w) && w->got == 5 && sent_again(w) == 0 && no_errors(w), "all arrive, each once");
    ok(world_free(w), "no byte leaked");

    w = begin_frozen(5);
    peer = peer_of(w, 0, 2);
    route(w, 0, 2, 2);
    turns(w, 20, 100000);
    phx__post_recv_ack(&w->node[0].post, &(struct phx__ack){ .source = id_of(2), .target = id_of(0),
                       .next = peer->out.base + 2, .epoch = peer->out.epoch, .window = 65536 }, 0);
    turns(w, 25, 100000);
    ok(peer->out.path.drains == 2 && sent_again(w) == 0, "two arrived after it was asked: it is asked again");
    w->frozen = 0;
    ok(settle(w) && sent_again(w) == 0 && world_free(w), "none goes twice");

    w = begin_frozen(5);
    peer = peer_of(w, 0, 2);
    better = w->link[0][2];
    route(w, 0, 2, 2);
    turns(w, 100, 100000);
    ok(!peer->out.path.drains && w->link[0][2] > better && sent_again(w) == 5, "no answer: the better way");
    w->frozen = 0;
    ok(settle(w) && w->got == 5 && no_errors(w) && world_free(w), "all arrive");
}

static void test_waits_and_loses(void)
{
    /* Goal: what is sent again while a better route waits takes that one, for nobody may serve the former any
     * more: the campaign's seed 404 waited a minute for a link that was gone. And so does what is sent anew
     * after its target failed and came back. */
    struct world *w = begin_frozen(2);
    struct node *n = &w->node[0];
    struct phx__post_peer *peer;
    struct phx__ack a;

    peer = peer_of(w, 0, 2);
    route(w, 0, 2, 2);
    ok(peer->out.path.drains && peer->nbr == as_seen(0, 1), "a better way waits");
    a = (struct phx__ack){ .source = id_of(2), .target = id_of(0), .window = 65536 };
    a.epoch = peer->out.epoch;
    phx__post_recv_ack(&n->post, &a, 1);
    ok(!peer->out.path.drains && peer->nbr == as_seen(0, 2) && peer->own.next != NULL,
       "a gap is reported: all goes that way");
    cut(w, 0, 1);
    w->frozen = 0;
    ok(settle(w) && w->got == 2 && no_errors(w), "and arrives");

    route(w, 0, 2, 1);
    w->frozen = 1;
    check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    route(w, 0, 2, 2);
    ok(peer->out.path.drains, "again");
    phx__post_box_failed(&n->post, as_seen(0, 2));
    ok(!peer->out.path.drains && peer->nbr == as_seen(0, 2), "the target fails: the next flow goes that way");
    w->frozen = 0;
    check(settle(w), "settles");
    ok(world_free(w), "no byte leaked");
}

static void inject_as(struct world *w, struct phx_id source, uint64_t epoch, uint64_t number, int flags,
                      uint64_t total, size_t size);

static void test_early(void)
{
    /* Goal: a message that comes before the news of its source is taken when that comes, without being sent
     * again; if that comes late or never, nothing is kept. */
    enum { F = PHX__DATA_FIRST, L = PHX__DATA_LAST };
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[0].post;
    struct phx_id id;
    uint32_t node;
    int i;

    all_see(w, 3, 0);
    w->on_message = NULL;
    memset(&id, 0xee, sizeof id);
    for (i = 0; i < 100; i++)
        inject_as(w, id, 7, (uint64_t)i, F | L, 1000, 1000);
    (void)phx__post_run(p);
    ok(w->got == 0 && p->recv.early.size > 50000 && p->recv.early.size <= 65536, "they are kept");
    check(phx__id_add(&w->node[0].ids, &id, &node) == 0, "known");
    (void)phx__post_run(p);
    ok(p->counters.messages_in > 50 && p->counters.messages_in < 66 && p->recv.early.size == 0, "and taken");
    memset(&id, 0xec, sizeof id);
    inject_as(w, id, 7, 0, F | L, 10, 10);
    w->now += 10 * PHX__SECOND;
    check(phx__id_add(&w->node[0].ids, &id, &node) == 0, "known");
    i = (int)p->counters.messages_in;
    (void)phx__post_run(p);
    ok((int)p->counters.messages_in == i + 1, "10 s later");
    memset(&id, 0xef, sizeof id);
    inject_as(w, id, 7, 0, F | L, 10, 10);
    w->now += 10 * PHX__SECOND + 1;
    check(phx__id_add(&w->node[0].ids, &id, &node) == 0, "known");
    i = (int)p->counters.messages_in;
    (void)phx__post_run(p);
    ok((int)p->counters.messages_in == i && p->recv.early.size == 0, "not long after");
    memset(&id, 0xed, sizeof id);
    inject_as(w, id, 7, 0, F | L, 10, 10);
    ok(p->recv.early.size > 0, "one stays");
    ok(world_free(w), "no byte leaked");
}

/* A DATA frame from node 1 to node 0, as an honest node would not send it. */
static void inject(struct world *w, uint64_t epoch, uint64_t number, int flags, uint64_t total,
                   size_t size)
{
    inject_as(w, id_of(1), epoch, number, flags, total, size);
}

static void inject_as(struct world *w, struct phx_id source, uint64_t epoch, uint64_t number, int flags,
                      uint64_t total, size_t size)
{
    static uint8_t raw[PHX__FRAME_MAX];
    struct phx__writer wr;
    struct phx__frame f;
    struct phx__data d;
    size_t used, i;

    memset(&d, 0, sizeof d);
    d.target = id_of(0);
    d.source = source;
    d.number = number;
    d.epoch = epoch;
    d.to = 3;
    d.from = 1;
    d.tag = w->box[1][3].next;
    d.total = total;
    d.size = size;
    phx__buf_writer_init(&wr, raw, sizeof raw);
    phx__wire_data_put(&wr, &d, flags, 5);
    for (i = 0; i < size; i++)
        raw[wr.size + i] = pattern(d.tag, i);
    check(phx__wire_parse(raw, wr.size + size, &f, &used) == 1, "parses");
    check(phx__post_recv_data(&w->node[0].post, raw, used, &f) == 0,
          "no reason to close the link");
}

static void test_tails(void)
{
    /* Goal: the blocks that small messages are copied into double from 4 KiB to 64 KiB, and stay there.
     * Method: messages of 2,000 bytes that nobody takes. */
    struct phx__post_limits limits = default_limits();
    static const uint32_t want[] = { 4096, 8192, 16384, 32768, 65536, 65536 };
    struct phx__block *last = NULL;
    struct phx__flow_out *o;
    uint32_t size[6] = { 0 };
    struct world *w;
    size_t i, n = 0;

    limits.window = limits.hold_bytes = 1u << 20;
    w = world_new(1, &limits);
    all_see(w, 3, 1);
    w->frozen = 1;
    for (i = 0; i < 200 && n < 6; i++) {
        check(send_size(&w->node[0], 3, 2000, (uint64_t)(1 + i), 0, 0) == 0, "sent");
        o = &peer_of(w, 0, 1)->out;
        if (o->tail != last)
            size[n++] = (uint32_t)o->tail->capacity;
        last = o->tail;
    }
    ok(n == 6 && memcmp(size, want, sizeof size) == 0, "the last of six: %u bytes", size[5]);
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_tail_little(void)
{
    /* Goal: a flow of one small message takes little memory, and a frame to which others join is not cut
     * short by that. Method: a message of 8 bytes; then 100 more. */
    struct world *w = world_new(1, NULL);
    struct phx__flow_out *o;
    int i;

    all_see(w, 3, 1);
    w->frozen = 1;
    check(send_size(&w->node[0], 3, 8, 0, 0, 0) == 0, "sent");
    o = &peer_of(w, 0, 1)->out;
    ok(o->count == 1 && o->tail->capacity == 256, "%zu bytes", o->tail->capacity);
    for (i = 0; i < 100; i++)
        check(send_size(&w->node[0], 3, 8, 0, 0, 0) == 0, "sent");
    ok(o->count == 1 && o->tail->capacity == 4096, "101 in a frame of a block of 4 KiB");
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_rewinds(void)
{
    /* Goal: a loss halves the congestion window down to two fragments, or to the window where that is less.
     * One rewind answers all gaps that are told of in 10 ms, or in a round trip of up to a second. */
    static const uint64_t smoothed[] = { 0, 9999, 10000, 10001, 999999, 1000000, 1000001 };
    static const uint64_t rests[] = { 10000, 10000, 10000, 10001, 999999, 1000000, 1000000 };
    struct world *w = world_new(1, NULL);
    struct phx__flow_out *o;
    struct phx__ack a;
    unsigned i, bad = 0;

    all_see(w, 3, 1);
    w->frozen = 1;
    for (i = 0; i < 3; i++)
        check(send_size(&w->node[0], 3, 10, 1 + i, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    o = &peer_of(w, 0, 1)->out;
    a = (struct phx__ack){ .source = id_of(1), .target = id_of(0), .epoch = o->epoch, .window = 65536 };
    for (i = 0; i < 4; i++) { /* at 0, 9,999, 10,000 and 19,999 us */
        w->now += i == 0 ? 0 : i == 2 ? 1 : 9999;
        phx__post_recv_ack(&w->node[0].post, &a, 1);
        bad += o->sent != (i % 2 == 0 ? 0 : 3);
        pull(w, 0, 1, 1u << 20);
    }
    ok(bad == 0 && w->wire[0][1].count == 9, "of gaps within 10 ms the first is answered");
    for (i = 0; i < sizeof smoothed / sizeof *smoothed; i++) {
        o->rtt.smoothed = smoothed[i];
        phx__post_flow_lost(o, w->now);
        bad += o->path.rewind_from != w->now + rests[i];
    }
    ok(bad == 0, "the wait is a round trip, 10 ms at least and 1 s at most");
    o->own = 1u << 20;
    o->allowed = 2 * (2 * 65536 + 1);
    phx__post_flow_lost(o, w->now);
    ok(o->allowed == 2 * 65536 + 1, "half of it");
    phx__post_flow_lost(o, w->now);
    phx__post_flow_lost(o, w->now);
    ok(o->allowed == 2 * 65536, "two fragments at least: %zu", o->allowed);
    o->own = 65536;
    phx__post_flow_lost(o, w->now);
    ok(o->allowed == 65536, "a window of one is one");
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && world_free(w), "all is well");
}

static void test_hostile(void)
{
    /* Goal: a sender that breaks the rules of a flow, and frames from nowhere, harm nobody. */
    enum { F = PHX__DATA_FIRST, L = PHX__DATA_LAST };
    struct world *w = world_new(1, NULL);
    struct phx__post *p = &w->node[0].post;
    struct phx__flow_in *in;
    struct phx__ack a;
    struct phx__frame f;
    uint8_t raw[100];

    all_see(w, 3, 0);
    all_see(w, 4, 1);
    inject(w, 5, 0, F | L, 10, 10);
    in = &p->nodes[as_seen(0, 1)].peer->in;
    ok(w->got == 1 && in->next == 1, "a good one");
    inject(w, 5, 0, F | L, 10, 10);
    inject(w, 4, 1, F | L, 10, 10);
    ok(w->got == 1 && p->counters.duplicates == 1 && p->counters.dropped == 1,
       "a double, and one of another flow");
    p->counters.dropped = 0;
    inject(w, 5, 3, F | L, 10, 10);
    ok(w->got == 1 && p->counters.dropped == 1, "one that comes too early");
    inject(w, 5, 1, 0, 0, 10);
    ok(in->next == 2 && p->counters.dropped == 2, "the midst of nothing");
    inject(w, 5, 2, L, 0, 10);
    inject(w, 5, 3, F, 100, 60);
    inject(w, 5, 4, F, 100, 60);
    inject(w, 5, 5, 0, 0, 30);
    inject(w, 5, 6, L, 0, 5);
    ok(w->got == 1 && in->next == 7 && in->part == NULL && p->counters.dropped == 4,
       "a beginning twice, and an end too short");
    inject(w, 5, 7, F, 100, 60);
    inject(w, 5, 8, 0, 0, 40);
    inject(w, 5, 9, L, 0, 5);
    ok(w->got == 1 && in->next == 10 && in->part == NULL && p->counters.dropped == 6, "an end too late");
    inject(w, 5, 10, F, 3u << 20, 60000);
    inject(w, 5, 11, 0, 0, 60000);
    inject(w, 5, 12, L, 0, 60000);
    inject(w, 5, 13, F | L, 10, 10);
    ok(w->got == 2 && in->next == 14, "a message that is too large is skipped");
    inject(w, 5, 14, F, 100, 60);
    inject(w, 6, 0, F | L, 10, 10);
    ok(w->got == 2 && in->next == 15 && in->part != NULL, "another flow that its source does not know of");
    ok(w->content_errors == 0 && w->order_errors == 0, "whatever came was whole");
    memset(&a, 0, sizeof a);
    a.target = id_of(0);
    a.source = id_of(1);
    phx__post_recv_ack(p, &a, 1);
    check(send_size(&w->node[0], 4, 10, 1, 0, 0) == 0, "sent");
    a.epoch = p->nodes[as_seen(0, 1)].peer->out.epoch;
    a.next = 1;
    phx__post_recv_ack(p, &a, 0);
    phx__post_run(p);
    ok(w->token[1].count == 0 && p->pending.bytes == 10, "an ack of what was not sent yet");
    a.source = id_of(77);
    phx__post_recv_ack(p, &a, 0);
    a.source = id_of(0);
    phx__post_recv_ack(p, &a, 0);
    ok(1, "acks from nobody and from ourselves");
    memset(raw, 0, sizeof raw);
    memset(&f, 0, sizeof f);
    ok(phx__post_recv_data(p, raw, 20, &f) == PHX_EPROTO, "a frame too short to have ids");
    ok(world_free(w), "no byte leaked");
}

/* ---- Flows that are made up, forgotten or begun again */

/* A word of node 1 to node 0, all of it made up but the numbers that it may know. */
static void inject_ack(struct world *w, uint64_t epoch, uint64_t next, uint64_t key, uint64_t told)
{
    struct phx__ack a;

    memset(&a, 0, sizeof a);
    a.target = id_of(0);
    a.source = id_of(1);
    a.epoch = epoch;
    a.next = next;
    a.window = 65536;
    a.tell = key;
    a.tell_epoch = told;
    phx__post_recv_ack(&w->node[0].post, &a, 1);
    (void)phx__post_run(&w->node[0].post);
}

static void test_forged(void)
{
    /* Goal: who is not on the way has no say in a flow (promise 61): not by DATA with a made-up number,
     * before the flow begins or in its midst, not by an ACK that does not know the number, and not by a word
     * on which flow is right that does not know what was asked. No first message waits for a round trip. */
    enum { F = PHX__DATA_FIRST, L = PHX__DATA_LAST };
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[1];
    struct phx__post_peer *peer;
    uint64_t good;
    int i, moved = 0;

    all_see(w, 3, 0);
    all_see(w, 4, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    turn(w, 1, 1u << 20);
    turn(w, 1, 1u << 20);
    ok(w->got == 1, "a first message waits for nothing");
    check(settle(w) && w->token[1].result == 0, "its ack");
    peer = w->node[0].post.nodes[as_seen(0, 1)].peer;
    good = peer->in.epoch;
    for (i = 0; i < 100; i++) {
        inject(w, UINT64_MAX - (uint64_t)i % 2, (uint64_t)i % 3, F | L, 10, 10);
        inject_ack(w, 0, 0, 1 + (uint64_t)i, 99);
        moved += peer->in.epoch != good;
        (void)send_size(n, 3, 10, 0, 0, 0);
        turns(w, 1, 20000);
    }
    ok(settle(w) && moved == 0 && peer->in.epoch == good && all_arrived(w) && no_errors(w),
       "DATA with the highest number, and answers to nothing: all the rest arrives");
    w->frozen = 1;
    check(send_size(&w->node[0], 4, 10, 2, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    for (i = 0; i < 100; i++)
        inject_ack(w, (uint64_t)i, 1, 0, 0);
    ok(w->token[2].count == 0 && w->node[0].post.pending.bytes == 10, "an ACK that does not know the flow");
    w->frozen = 0;
    ok(settle(w) && w->token[2].count == 1 && w->token[2].result == 0 && no_errors(w), "nor does it stay");
    ok(world_free(w), "no byte leaked");

    w = world_new(1, NULL);
    all_see(w, 3, 0);
    inject(w, UINT64_MAX, 0, F, 100, 60);
    for (i = 0; i < 10; i++)
        check(send_size(n = &w->node[1], 3, 10, 0, 0, 0) == 0, "sent");
    ok(settle(w) && w->got == 10 && no_errors(w), "made up before the flow began");
    ok(world_free(w), "no byte leaked");
}

static void test_forgotten(void)
{
    /* Goal: a target that forgot a flow, as one does that begins again with the same id and incarnation, goes
     * on where what was acknowledged ends, also in the midst of a message and after messages came back, and
     * nothing is told as delivered that was not (promise 61). Method: it is forgotten with every number of
     * frames delivered, and all that is sent must come. */
    int cut_at, bad = 0;

    for (cut_at = 0; cut_at < 12; cut_at++) {
        struct world *w = world_new(1, NULL);
        struct node *n = &w->node[0];
        int i;

        all_see(w, 3, 1);
        see(w, 0, 5, 1); /* it comes back until node 1 has it, too */
        check(send_size(n, 5, 10, 1, 0, 0) == 0, "sent");
        turns(w, 5, 1000);
        see(w, 1, 5, 1);
        check(send_size(n, 3, 3 * (size_t)PHX__FRAGMENT, 2, 0, 0) == 0, "sent");
        for (i = 0; i < cut_at; i++)
            turn(w, 1, PHX__FRAGMENT / 2);
        w->on_message = NULL;
        phx__post_box_forget(&w->node[1].post, as_seen(1, 0));
        for (i = 3; i < 8; i++)
            check(send_size(n, 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
        bad += !settle(w) || w->content_errors != 0;
        for (i = 1; i < 8; i++)
            bad += w->token[i].count != 1 || w->token[i].result != 0;
        bad += w->got < 7;
        bad += !world_free(w);
    }
    ok(bad == 0, "whenever it forgot: %d are wrong", bad);
}

int main(void)
{
    test_transit();
    test_transit_memory();
    test_overload_ends();
    test_backstop();
    test_queueing();
    test_comes_back();
    test_waits_and_asks();
    test_waits_and_loses();
    test_early();
    test_tails();
    test_tail_little();
    test_rewinds();
    test_hostile();
    test_forged();
    test_forgotten();
    return test_end();
}
