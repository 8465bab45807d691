/* t_post_runs.c - many small messages in one frame. */
#include "post_rig.h"

/* ---- Runs: many small messages in one frame */

static int burst(struct node *n, uint64_t name, size_t size, int count)
{
    int i, taken = 0;

    for (i = 0; i < count; i++)
        taken += send_size(n, name, size, 0, 0, 0) == 0;
    return taken;
}

/* The frames that are on a wire now, as one letter each: '1' one message, 'r' a run, 't' a run with tags,
 * 'n' one with names, '.' a fragment. */
static const char *frames_on(const struct world *w, int from, int to)
{
    static char text[64];
    const struct frame *f;
    size_t n = 0;

    for (f = w->wire[from][to].head; f != NULL && n + 1 < sizeof text; f = f->next) {
        int flags = f->data[0][PHX__DATA_FLAGS];

        text[n++] = (char)((flags & 3) != 3 ? '.' : (flags & (int)PHX__DATA_NAMES) != 0 ? 'n'
                           : (flags & (int)PHX__DATA_TAGS) != 0 ? 't'
                           : (flags & (int)PHX__DATA_RUN) != 0 ? 'r' : '1');
    }
    text[n] = 0;
    return text;
}

static void test_run(void)
{
    /* Goal: small messages that wait share frames, a lone one does not wait and has no mark of it, and
     * whatever is of another kind stands in between without changing the order. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, before;

    all_see(w, 3, 1);
    all_see(w, 4, 1);
    w->frozen = 1;
    check(send_size(n, 3, 8, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "1") == 0 && w->wire[0][1].head->size[0] == PHX__DATA_FIRST_HEAD + 8,
       "a lone message leaves as it is");
    check(burst(n, 3, 8, 100) == 100, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "1t") == 0, "a hundred that wait are one frame");
    ok(w->node[0].post.pending.count == 101 && w->node[0].post.pending.bytes == 808, "each counts");
    check(burst(n, 3, 8, 1) == 1, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "1t1") == 0, "what has left is not added to");
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && all_arrived(w) && w->got == 102, "all arrive in order");
    ok(n->post.pending.count == 0 && n->post.pending.bytes == 0, "and are acknowledged");
    ok(w->node[1].post.counters.messages_in == 102, "counted one by one");
    w->frozen = 1;
    before = w->node[0].post.nodes[as_seen(0, 1)].peer->out.count == 0;
    check(burst(n, 3, 8, 2) == 2, "sent");
    check(send_size(n, 3, 8, claim_token(w), 0, 0) == 0, "with a token");
    check(burst(n, 3, 8, 2) == 2, "sent");
    check(send_size(n, 3, 8, 0, PHX__SECOND, 0) == 0, "with a limit");
    check(burst(n, 3, 8, 2) == 2, "sent");
    check(send_size(n, 3, 70000, 0, 0, 0) == 0, "large");
    check(burst(n, 3, 8, 2) == 2, "sent");
    check(burst(n, 4, 8, 2) == 2, "to another name");
    check(burst(n, 3, 8, 2) == 2, "sent");
    check(send_size(n, 3, 8, claim_token(w), 0, (int)w->tokens) == 0, "the host's own memory");
    check(burst(n, 3, 4097, 2) == 2, "too large to be copied");
    check(burst(n, 3, 0, 3) == 3, "empty ones");
    pull(w, 0, 1, 1u << 20);
    ok(before && strcmp(frames_on(w, 0, 1), "t1t1t..tn111n") == 0, "in between: %s", frames_on(w, 0, 1));
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive in order");
    for (i = 1; i <= (int)w->tokens; i++)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    ok(world_free(w), "no byte leaked");
}

static void test_run_bounds(void)
{
    /* Goal: a frame of a run ends at 16 KiB, or at a quarter of the credit; tags cost only where they
     * differ; and one that may be withdrawn is never in a run. */
    struct phx__post_limits limits = default_limits();
    struct phx_outgoing m;
    struct iovec iov;
    struct world *w = world_new(1, NULL);
    const struct frame *f;
    size_t most = 0, total = 0;
    int i;

    all_see(w, 3, 1);
    w->frozen = 1;
    check(burst(&w->node[0], 3, 100, 1000) == 1000, "sent");
    pull(w, 0, 1, 1u << 20);
    for (f = w->wire[0][1].head; f != NULL; f = f->next) {
        most = f->size[0] > most ? f->size[0] : most;
        total += f->size[0];
    }
    ok(most <= 16384 && most > 16384 - 110, "frames of %d bytes", (int)most);
    ok(w->emitted <= 12 && total <= 1000 * 110 + w->emitted * 90, "%d of them", (int)w->emitted);
    w->frozen = 0;
    ok(settle(w) && all_arrived(w) && no_errors(w) && world_free(w), "all arrive");

    limits.window = 16384;
    w = world_new(1, &limits);
    all_see(w, 3, 1);
    w->frozen = 1;
    check(burst(&w->node[0], 3, 100, 120) == 120, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(w->emitted == 4 && w->wire[0][1].head->size[0] <= 4096, "a small window is cut in four");
    w->frozen = 0;
    ok(settle(w) && all_arrived(w) && no_errors(w) && world_free(w), "all arrive");

    w = world_new(1, NULL);
    all_see(w, 3, 1);
    w->frozen = 1;
    memset(&m, 0, sizeof m);
    m.to = 3;
    m.iov = &iov;
    m.iov_count = 1;
    iov.iov_base = &most;
    iov.iov_len = 8;
    for (i = 0; i < 100; i++) {
        m.tag = i < 50 ? 7 : 8;
        check(phx__post_send(&w->node[0].post, &m) == 0, "sent");
    }
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "rr") == 0, "one frame for each tag: %s", frames_on(w, 0, 1));
    ok(w->wire[0][1].head->size[0] == PHX__DATA_FIRST_HEAD + 8 + 49 * 10, "of two bytes and the message");
    iov.iov_base = NULL;
    ok(phx__post_send(&w->node[0].post, &m) == PHX_EINVAL, "a run takes no bytes at NULL");
    iov.iov_len = (2u << 20) + 1;
    ok(phx__post_send(&w->node[0].post, &m) == PHX_EINVAL, "nor more than there may be");
    ok(world_free(w), "no byte leaked");
}

static void test_run_seen(void)
{
    /* Goal: what is put after a return was taken in says so, and does not join a frame that does not. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 4, 1);
    see(w, 0, 3, 1);
    check(send_size(n, 3, 8, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    check(burst(n, 4, 8, 2) == 2, "sent");
    wire_deliver(w, 0, 1);
    (void)phx__post_run(&w->node[1].post);
    ok(n->post.nodes[as_seen(0, 1)].peer->out.seen == 1, "the first came back");
    check(burst(n, 4, 8, 2) == 2, "sent");
    w->frozen = 1;
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "tt") == 0, "two frames: %s", frames_on(w, 0, 1));
    ok((w->wire[0][1].head->data[0][PHX__DATA_FLAGS] & (int)PHX__DATA_SEEN) == 0
           && (w->wire[0][1].head->next->data[0][PHX__DATA_FLAGS] & (int)PHX__DATA_SEEN) != 0,
       "of which the second says that it is known");
    w->frozen = 0;
    all_see(w, 3, 1);
    ok(settle(w) && all_arrived(w) && no_errors(w), "all arrive");
    ok(world_free(w), "no byte leaked");
}

static void test_run_moves(void)
{
    /* Goal: a name that goes in the midst of a run takes the rest with it: what was delivered stays so,
     * the rest comes back as one return and goes to the heir, in order. Method: it goes inside the
     * callback, to another node, to the source itself, and to nobody for a while. */
    struct world *w;
    struct node *n;
    int heir;

    for (heir = -1; heir <= 2; heir += heir == 0 ? 2 : 1) {
        w = world_new(1, NULL);
        n = &w->node[0];
        all_see(w, 3, 1);
        w->move_at = 40;
        w->move_to = heir;
        check(burst(n, 3, 8, 100) == 100 && w->got == 0, "sent");
        pull(w, 0, 1, 1u << 20);
        w->ack_loss = 1000;
        turn(w, 100, 0);
        ok(w->got == 40 && w->emitted == 1, "forty of a hundred");
        ok(back_of(w, 1, 0)->count == 1, "one return for the rest");
        ok(n->post.pending.count == 100, "of which the source has not heard");
        w->ack_loss = 0;
        phx__post_sched_owe(&w->node[1].post, w->node[1].post.nodes[as_seen(1, 0)].peer, 1);
        phx__post_settle(&w->node[1].post);
        ok(n->post.pending.count == 60 && n->post.pending.bytes == 480, "sixty are pending again");
        check(burst(n, 3, 8, 5) == 5, "and five behind them");
        if (heir == 0)
            w->move_at = 70, w->move_to = 2; /* and while it delivers to itself, on to another */
        all_see(w, 3, heir < 0 ? -1 : heir);
        if (heir < 0)
            ok(settle(w) == 0 && n->post.store.queued == 65 && w->got == 40, "nobody has it: held"),
                all_see(w, 3, 1);
        ok(settle(w) && all_arrived(w) && no_errors(w), "all arrive once and in order, heir %d", heir);
        ok(n->post.pending.count == 0 && n->post.pending.bytes == 0 && n->post.store.held_bytes == 0
               && n->post.store.local_bytes == 0,
           "nothing is left");
        ok(world_free(w), "no byte leaked");
    }
}

static void test_narrow_sender(void)
{
    /* Goal: who allows itself less than its target takes is not kept waiting for acks. Method: it streams
     * for 100 ms, and a round trip takes 0.2 ms. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, k;

    n->post.limits.window = 65536;
    w->node[1].post.limits.window = 4u << 20;
    announce(&w->node[1], as_seen(1, 0), 65536);
    announce(n, as_seen(0, 1), 4u << 20);
    all_see(w, 3, 1);
    for (i = 0; i < 1000; i++) {
        for (k = 0; k < 100 && send_size(n, 3, 1000, 0, 0, 0) == 0; k++)
            continue;
        turns(w, 1, 100);
    }
    ok(w->got >= 10000, "%d messages of 1,000 bytes in 100 ms, with 65,536 bytes under way", (int)w->got);
    ok(settle(w) && no_errors(w) && world_free(w), "and nothing else is different");
}

static void test_run_stuck(void)
{
    /* Goal: a run that can be neither delivered nor returned from some message on comes again, and what was
     * delivered of it is not delivered twice. Method: the receiver's memory ends at the moment in
     * which the name goes. Then the same at the source: what cannot be kept is not taken back. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    check(burst(n, 3, 8, 3) == 3 && settle(w) && w->got == 3, "before");
    w->move_at = 43;
    w->move_to = 2;
    w->fail_at_move = 1;
    check(burst(n, 3, 8, 100) == 100, "sent");
    turns(w, 20, 1000);
    ok(w->got == 43 && back_of(w, 1, 0)->count == 0, "forty, and no memory for a return");
    ok(w->node[1].post.nodes[as_seen(1, 0)].peer->ack.stuck, "so it asks for it again");
    turns(w, 200, 1000);
    ok(w->got == 43 && n->post.counters.retransmitted > 0 && n->post.pending.count == 100, "in vain");
    n->heap.fail_from = n->heap.calls + 1; /* now it is the source that has no memory */
    w->node[1].heap.fail_from = 0;
    turns(w, 200, 1000);
    ok(back_of(w, 1, 0)->count == 1 && n->post.pending.count == 100, "the source cannot keep the rest");
    n->heap.fail_from = 0;
    all_see(w, 3, 2);
    for (i = 0; i < 4 && !is_idle(w); i++)
        (void)settle(w);
    ok(all_arrived(w) && no_errors(w) && n->post.pending.count == 0, "in the end all is there, once");
    ok(world_free(w), "no byte leaked");
}

static void test_run_large(void)
{
    /* Goal: in a run, a message above the receiver's limit ends, and the others do not. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    w->node[1].post.limits.max_message = 100;
    for (i = 0; i < 10; i++)
        check(send_size(n, 3, i % 3 == 1 ? 101 : 100, 0, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "t") == 0, "one run");
    ok(settle(w) && w->got == 7 && w->content_errors == 0, "seven of ten arrive");
    ok(back_of(w, 1, 0)->count == 0 && w->node[1].post.counters.dropped == 3,
       "three are dropped, and no return tells");
    ok(n->post.pending.count == 0 && n->post.pending.bytes == 0, "nothing is left");
    w->box[0][3].next = 10;
    w->order_errors = 0;
    check(burst(n, 3, 10, 2) == 2, "sent");
    ok(settle(w) && w->got == 9 && no_errors(w), "and nothing is held up");

    w->node[1].post.limits.max_message = 1; /* more of them than any list of returns has room for */
    check(burst(n, 3, 2, 3000) == 3000 && burst(n, 3, 1, 1) == 1, "sent");
    w->box[0][3].next += 3000;
    ok(settle(w) && w->got == 10 && w->order_errors == 0, "a run of nothing else holds up nothing, too");
    ok(world_free(w), "no byte leaked");
}

static void test_run_rescue(void)
{
    /* Goal: runs to a node that fails go to the heir whole and in order, each as one queued message; and if
     * the node comes back, what had gone out to it does not go there twice. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    long calls;

    all_see(w, 3, 1);
    w->frozen = 1;
    check(burst(n, 3, 8, 500) == 500, "sent");
    pull(w, 0, 1, 1u << 20);
    check(burst(n, 3, 8, 500) == 500, "and behind them what has not left");
    cut(w, 0, 1);
    see(w, 0, 3, 2);
    calls = n->heap.calls;
    phx__post_box_failed(&n->post, as_seen(0, 1));
    ok(n->heap.calls - calls <= 20, "%ld allocations for a thousand messages", n->heap.calls - calls);
    ok(n->post.pending.count == 1000 && n->post.pending.bytes == 8000, "all of them are pending");
    w->frozen = 0;
    see(w, 2, 3, 2);
    ok(settle(w) && all_arrived(w) && no_errors(w), "and arrive in order");
    ok(world_free(w), "no byte leaked");

    w = world_new(1, NULL);
    n = &w->node[0];
    all_see(w, 3, 1);
    w->ack_loss = 1000;
    check(burst(n, 3, 8, 20) == 20, "sent");
    turns(w, 4, 1000);
    ok(w->got == 20 && n->post.pending.count == 20, "twenty are delivered, and the ack lost");
    w->frozen = 1;
    check(burst(n, 3, 8, 7) == 7, "and behind them what has not left");
    see(w, 0, 3, 2);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    see(w, 0, 3, 1);
    phx__post_box_failed(&n->post, as_seen(0, 2));
    ok(n->post.counters.dropped == 20 && n->post.pending.count == 7, "twenty must not go there again");
    w->frozen = 0;
    w->ack_loss = 0;
    ok(settle(w) && w->got == 27 && no_errors(w), "and seven do");
    ok(world_free(w), "no byte leaked");
}

static void test_returned_twice(void)
{
    /* Goal: a return of what has come back already has no say in where the rest of it begins. */
    uint8_t list[2 * PHX__RETURN_SIZE];
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__return t = { 0, 0, (int)PHX__RETURN_MOVED };
    struct phx__writer wr;
    struct phx__ack a;

    all_see(w, 3, 1);
    w->frozen = 1;
    check(send_size(n, 3, PHX__FRAGMENT + 1, 0, 0, 0) == 0, "two fragments");
    pull(w, 0, 1, 1u << 20);
    phx__buf_writer_init(&wr, list, sizeof list);
    phx__wire_data_put_return(&wr, &t);
    t.place = 7;
    phx__wire_data_put_return(&wr, &t);
    memset(&a, 0, sizeof a);
    a.target = id_of(0);
    a.source = id_of(1);
    a.epoch = n->post.nodes[as_seen(0, 1)].peer->out.epoch;
    a.window = 65536;
    a.returns = list;
    for (a.next = 1; a.next <= 2; a.next++) {
        a.return_count = (uint16_t)a.next;
        phx__post_recv_ack(&n->post, &a, 0);
    }
    ok(n->post.pending.count == 1 && n->post.store.queued == 1 && n->post.pending.bytes == PHX__FRAGMENT + 1,
       "a return that comes too late takes no message off the count");
    while (w->wire[0][1].head != NULL)
        frame_free(wire_take(&w->wire[0][1]));
    ok(world_free(w), "no byte leaked");
}

static void test_run_hostile(void)
{
    /* Goal: returns of messages that a run does not have are counted, and nothing else. */
    uint8_t list[3 * PHX__RETURN_SIZE];
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__flow_out *o;
    struct phx__return t;
    struct phx__writer wr;
    struct phx__ack a;

    all_see(w, 3, 1);
    w->frozen = 1;
    check(burst(n, 3, 8, 10) == 10, "sent");
    pull(w, 0, 1, 1u << 20);
    check(burst(n, 3, 8, 10) == 10, "sent");
    pull(w, 0, 1, 1u << 20);
    o = &n->post.nodes[as_seen(0, 1)].peer->out;
    phx__buf_writer_init(&wr, list, sizeof list);
    memset(&a, 0, sizeof a);
    a.target = id_of(0);
    a.source = id_of(1);
    a.epoch = o->epoch;
    a.next = 2;
    a.window = 65536;
    a.returns = list;
    a.return_count = 3;
    t.number = 0;
    t.place = 10;
    t.reason = (int)PHX__RETURN_MOVED;
    phx__wire_data_put_return(&wr, &t);
    t.number = 1;
    t.place = 9;
    phx__wire_data_put_return(&wr, &t);
    t.place = UINT16_MAX;
    phx__wire_data_put_return(&wr, &t);
    phx__post_recv_ack(&n->post, &a, 0);
    ok(o->count == 0 && n->post.pending.count == 1 && n->post.store.queued == 1,
       "of two runs the last message of one comes back");
    ok(o->seen == 2, "the return behind it is of the next frame");
    while (w->wire[0][1].head != NULL)
        frame_free(wire_take(&w->wire[0][1]));
    ok(world_free(w), "no byte leaked");
    test_returned_twice();
}

static void test_too_big(void)
{
    /* Goal: a message above the receiver's limit is reported, and keeps nothing back. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    w->node[1].post.limits.max_message = 50000;
    for (i = 1; i <= 6; i++)
        check(send_size(n, 3, i % 3 == 2 ? 90000 : i == 4 ? 50001 : 10, (uint64_t)i, 0, i == 5 ? i : 0)
                  == 0,
              "sent");
    turns(w, 100, 1000);
    ok(w->got == 3 && w->content_errors == 0 && w->order_errors == 2 && w->box[0][3].next == 6,
       "the others arrive, in order, but for three that are missing");
    for (i = 1; i <= 6; i++)
        check(w->token[i].count == 1
                  && w->token[i].result == (i == 2 || i == 4 || i == 5 ? PHX_ETOOBIG : 0),
              "outcome %d: %d", i, w->token[i].result);
    ok(w->released[5] == 1, "and what was lent is given back");
    ok(settle(w) && n->post.pending.bytes == 0 && n->post.outcomes.promised == 0, "nothing is left");
    ok(world_free(w), "no byte leaked");
}

static void test_room_for_links(void)
{
    /* Goal: messages leave memory to the links that are to bring them away. Method: a limit; messages to
     * nodes that take none and to names that nobody has, casts, and parts of large ones that come in. */
    struct phx__post_limits limits = default_limits();
    struct world *w;
    struct node *n;
    size_t limit;
    int i, err = 0;

    limits.window = 1u << 20;
    w = world_new(1, &limits);
    n = &w->node[0];
    limit = n->mem.limit = n->mem.used + (1u << 20);
    see(w, 0, 3, 1);
    see(w, 0, 4, 2);
    for (i = 0; i < 5000 && err != PHX_ENOMEM; i++)
        err = send_size(n, (uint64_t)(3 + i % 3), 5000, (uint64_t)i + 1, 0, 0);
    ok(err == PHX_ENOMEM && n->mem.used > limit / 2, "in the end there is no memory");
    ok(phx__mem_has_room(&n->mem, limit / 8 - 65536), "but for others");
    n->mem.limit = 0;
    ok(world_free(w), "no byte leaked");
}

static void test_return_without_memory(void)
{
    /* Goal: an ack whose returns cannot be kept is not believed, and comes again. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    see(w, 0, 3, 1);
    for (i = 1; i <= 5; i++)
        check(send_size(n, 3, i == 3 ? 100000 : 10, (uint64_t)i, 0, 0) == 0, "sent");
    n->heap.fail_from = n->heap.calls + 3; /* two queued messages, and no more */
    turns(w, 300, 1000);
    ok(n->post.store.queued < 5 && n->post.pending.count == 5, "what cannot be kept is not taken");
    n->heap.fail_from = 0;
    see(w, 0, 3, 2);
    see(w, 2, 3, 2);
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive, in order, once");
    /* And the other way: no memory to turn back. */
    see(w, 0, 3, 1);
    w->node[1].heap.fail_from = 1;
    for (i = 6; i <= 8; i++)
        check(send_size(n, 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 300, 1000);
    ok(w->got == 5, "nothing goes anywhere");
    w->node[1].heap.fail_from = 0;
    turns(w, 300, 1000);
    see(w, 0, 3, 2);
    phx__post_box_names(&n->post);
    ok(settle(w) && no_errors(w) && all_arrived(w), "and then it does");
    ok(world_free(w), "no byte leaked");
}

static void test_sleepers(void)
{
    /* Goal: what could not be done for lack of memory is done later though nothing else happens. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t next;

    check(send_size(n, 3, 10, 1, 0, 0) == 0, "held");
    n->heap.fail_from = 1;
    all_see(w, 3, 1);
    n->heap.fail_from = 0;
    next = phx__timer_next(&n->timers);
    ok(n->post.store.queued == 1 && next <= w->now + 20 * PHX__MS, "a box that could not move");
    w->now = next;
    turns(w, 20, 1000);
    ok(w->token[1].count == 1, "moves soon");
    w->emit_fails = 1000;
    check(send_size(n, 3, 10, 2, 0, 0) == 0, "sent");
    turn(w, 100, 1u << 20);
    w->emit_fails = 0;
    next = phx__timer_next(&n->timers);
    ok(w->token[2].count == 0 && next <= w->now + 20 * PHX__MS, "a frame that could not go");
    w->now = next;
    turns(w, 20, 1000);
    ok(w->token[2].count == 1, "goes soon");
    ok(world_free(w), "no byte leaked");
}

/* ---- Runs with names */

/* So many messages in turn to the names from `first` on, of which there are three. */
static int burst_in_turn(struct node *n, uint64_t first, size_t size, int count)
{
    int i, taken = 0;

    for (i = 0; i < count; i++)
        taken += send_size(n, first + (uint64_t)(i % 3), size, 0, 0, 0) == 0;
    return taken;
}

static void three_see(struct world *w, int owner)
{
    all_see(w, 3, owner);
    all_see(w, 4, owner);
    all_see(w, 5, owner);
}

static void test_mixed(void)
{
    /* Goal: small messages in turn to names of one node share frames, in order, and each has its name; who
     * writes to one name again pays for names no longer. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    three_see(w, 1);
    w->frozen = 1;
    check(burst_in_turn(n, 3, 8, 99) == 99, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "nn") == 0, "99 to three names are two frames, as three have one tag: %s",
       frames_on(w, 0, 1));
    ok(w->wire[0][1].head->next->size[0] == PHX__DATA_FIRST_HEAD + 8 + 95 * 26, "18 bytes more for each");
    ok(n->post.pending.count == 99 && n->post.pending.bytes == 792, "each counts");
    check(burst(n, 3, 8, 2) == 2 && burst(n, 4, 8, 2) == 2 && burst(n, 5, 8, 2) == 2, "sent in groups");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "nnn") == 0, "groups share one, too: %s", frames_on(w, 0, 1));
    check(burst(n, 4, 8, 20) == 20, "sent");
    pull(w, 0, 1, 1u << 20);
    check(burst(n, 4, 8, 20) == 20, "sent");
    pull(w, 0, 1, 1u << 20);
    ok(strcmp(frames_on(w, 0, 1), "nnnnt") == 0, "and one name alone needs none: %s", frames_on(w, 0, 1));
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && all_arrived(w) && w->got == 145, "all arrive in order");
    ok(n->post.pending.count == 0 && n->post.pending.bytes == 0, "and are acknowledged");
    ok(world_free(w), "no byte leaked");
}

static void test_mixed_moves(void)
{
    /* Goal: a name that goes in the midst of a run with names takes its own messages with it, and those of
     * the others go on at once, in order. Method: it goes inside the callback, to the source, to another
     * node, and to nobody; the source hears of it later. */
    struct world *w;
    struct node *n;
    unsigned rest;
    int heir;

    for (heir = -1; heir <= 2; heir += heir == 0 ? 2 : 1) {
        w = world_new(1, NULL);
        n = &w->node[0];
        three_see(w, 1);
        w->move_at = 40;
        w->move_to = heir;
        check(burst_in_turn(n, 3, 8, 100) == 100, "sent");
        pull(w, 0, 1, 1u << 20);
        turns(w, 8, 1000);
        rest = heir == 0 ? 0 : 20; /* the source itself knows at once that it has the name */
        ok(w->got == 100 - rest && back_of(w, 1, 0)->count == 1,
           "of the other two names all arrive at once: %d", (int)w->got);
        ok(n->post.pending.count == rest && n->post.pending.bytes == 8 * rest, "the others are pending");
        check(burst_in_turn(n, 3, 8, 6) == 6, "and six behind them");
        turns(w, 5, 1000);
        ok(w->got == 106 - rest - (rest > 0 ? 2 : 0), "which wait where they must: %d", (int)w->got);
        all_see(w, 3, heir);
        if (heir < 0)
            all_see(w, 3, 1);
        ok(settle(w) && all_arrived(w) && no_errors(w), "all arrive once and in order, heir %d", heir);
        ok(n->post.pending.count == 0 && n->post.pending.bytes == 0 && n->post.store.held_bytes == 0,
           "nothing is left");
        ok(world_free(w), "no byte leaked");
    }
}

static void test_mixed_returns(void)
{
    /* Goal: a run says of each of its names that is not there that it is not, and the rest goes again. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    three_see(w, 1);
    see(w, 1, 3, 2);
    see(w, 1, 5, 2);
    check(burst_in_turn(n, 3, 8, 99) == 99, "sent");
    turns(w, 2, 1000);
    ok(back_of(w, 1, 0)->count == 4, "two returns for each of two frames: %d", (int)back_of(w, 1, 0)->count);
    turns(w, 8, 1000);
    ok(w->got == 33 && n->post.pending.count == 66, "and the third name has all its messages: %d",
       (int)w->got);
    all_see(w, 3, 2);
    all_see(w, 5, 2);
    ok(settle(w) && all_arrived(w) && no_errors(w) && world_free(w), "and then the others");
}

static void test_mixed_stuck(void)
{
    /* Goal: as test_run_stuck, of a run with names: nothing is returned or taken back in part. */
    struct world *w;
    struct node *n;
    long more;
    int i;

    for (more = 1; more < 40; more += 3) {
        w = world_new(1, NULL);
        n = &w->node[0];
        three_see(w, 1);
        check(burst_in_turn(n, 3, 8, 3) == 3 && settle(w) && w->got == 3, "before");
        w->move_at = 43;
        w->move_to = 2;
        w->fail_at_move = 1;
        check(burst_in_turn(n, 3, 8, 100) == 100, "sent");
        turns(w, 40, 1000);
        check(w->got == 45 && n->post.pending.count == 97, "no memory for a return");
        n->heap.fail_from = n->heap.calls + more; /* now it is the source that soon has no memory */
        w->node[1].heap.fail_from = 0;
        turns(w, 100, 1000);
        check(w->got == 45 && n->post.pending.count == 97, "the source cannot keep the rest, %d, %d",
              (int)w->got, (int)n->post.pending.count);
        n->heap.fail_from = 0;
        all_see(w, 3, 2);
        for (i = 0; i < 4 && !is_idle(w); i++)
            (void)settle(w);
        check(all_arrived(w) && no_errors(w) && n->post.pending.count == 0, "in the end all is there, once");
        check(world_free(w), "no byte leaked");
    }
    ok(1, "nothing is half returned");
}

static void test_mixed_rescue(void)
{
    /* Goal: of a node that fails each name's messages go to its heir, whole and in order, or end; and what
     * was emitted does not go there twice. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    three_see(w, 1);
    w->frozen = 1;
    check(burst_in_turn(n, 3, 8, 500) == 500, "sent");
    pull(w, 0, 1, 1u << 20);
    check(burst_in_turn(n, 3, 8, 499) == 499, "and behind them what has not left");
    cut(w, 0, 1);
    see(w, 0, 3, 2);
    see(w, 0, 4, 3);
    see(w, 0, 5, -1);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    ok(n->post.pending.count == 667 && n->post.pending.bytes == 667 * 8, "two of three names are pending: %d",
       (int)n->post.pending.count);
    w->frozen = 0;
    see(w, 2, 3, 2);
    see(w, 3, 4, 3);
    ok(settle(w) && no_errors(w) && w->got == 667 && w->lost == 332, "and arrive in order: %d, %d",
       (int)w->got, (int)w->lost);
    ok(world_free(w), "no byte leaked");

    w = world_new(1, NULL);
    n = &w->node[0];
    three_see(w, 1);
    w->ack_loss = 1000;
    check(burst_in_turn(n, 3, 8, 21) == 21, "sent");
    turns(w, 4, 1000);
    w->frozen = 1;
    check(burst_in_turn(n, 3, 8, 7) == 7, "and behind them what has not left");
    three_see(w, 2);
    w->node[1].view[3] = w->node[1].view[4] = w->node[1].view[5] = 1;
    phx__post_box_failed(&n->post, as_seen(0, 1));
    see(w, 0, 3, 1);
    see(w, 0, 4, 1);
    see(w, 0, 5, 1);
    phx__post_box_failed(&n->post, as_seen(0, 2));
    ok(w->got == 21 && n->post.counters.dropped == 21 && n->post.pending.count == 7,
       "what was emitted must not go there again: %d", (int)n->post.counters.dropped);
    w->frozen = 0;
    w->ack_loss = 0;
    ok(settle(w) && no_errors(w) && w->got == 28 && world_free(w), "and the rest does");
}

int main(void)
{
    test_run();
    test_run_bounds();
    test_run_seen();
    test_run_moves();
    test_narrow_sender();
    test_run_stuck();
    test_run_large();
    test_run_rescue();
    test_returned_twice();
    test_run_hostile();
    test_too_big();
    test_room_for_links();
    test_return_without_memory();
    test_sleepers();
    test_mixed();
    test_mixed_moves();
    test_mixed_returns();
    test_mixed_stuck();
    test_mixed_rescue();
    return test_end();
}
