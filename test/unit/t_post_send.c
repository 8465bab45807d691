/* t_post_send.c - messages to names: arguments, mailboxes, windows, cancelling, time limits, failures. */
#include "post_rig.h"

/* ---- The way of one message */

static void test_simple(void)
{
    /* Goal: one message of each kind arrives, is acknowledged, and its outcome told once; nothing
     * is left. Method: sizes around every border, to a neighbour and through a relay. */
    static const size_t sizes[] = { 0,     1,     8,     4095,   4096,     4097,
                                    65535, 65536, 65537, 131072, 1u << 20, 2u << 20 };
    struct world *w = world_new(1, NULL);
    size_t i;
    int ok_count = 0;

    all_see(w, 3, 2);
    for (i = 0; i < PHX__COUNT(sizes) * 2; i++) {
        route(w, 0, 2, i % 2 == 0 ? 2 : 1);
        ok_count += send_size(&w->node[0], 3, sizes[i / 2], i + 1, 0, 0) == 0;
        check(w->node[0].post.pending.bytes == sizes[i / 2], "pending is the message");
        check(settle(w), "settles");
        check(w->got == i + 1 && w->token[i + 1].count == 1 && w->token[i + 1].result == PHX_OK,
              "%u bytes arrive", (unsigned)sizes[i / 2]);
    }
    ok(ok_count == (int)i && no_errors(w) && all_arrived(w),
       "all sizes, direct and through a relay");
    ok(w->node[0].post.counters.messages_out == i && w->node[2].post.counters.messages_in == i, "counted");
    ok(w->node[1].post.counters.relayed_frames > 0
           && w->node[1].post.counters.relayed_bytes > 3u << 20,
       "relayed");
    ok(w->node[0].post.counters.retransmitted == 0 && w->node[2].post.counters.duplicates == 0
           && w->node[1].post.counters.dropped == 0,
       "nothing was sent twice");
    ok(w->node[0].wants > 0, "the link was told that there is something to pull");
    ok(world_free(w), "no byte leaked");
}

static void test_arguments(void)
{
    /* Goal: bad sends are refused and change nothing, releasing nothing. */
    struct world *w = world_new(1, NULL);
    struct phx__slices none;
    struct phx_outgoing m;
    struct iovec iov[2];
    struct node *n = &w->node[0];
    char byte = 0;

    all_see(w, 3, 2);
    memset(&m, 0, sizeof m);
    m.to = 3;
    m.iov_count = -1;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "negative count");
    m.iov_count = 1;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "count without array");
    m.iov = iov;
    m.iov_count = 2;
    iov[0].iov_base = iov[1].iov_base = &byte;
    iov[0].iov_len = iov[1].iov_len = SIZE_MAX / 2 + 1;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "sizes overflow");
    iov[0].iov_len = 2u << 20;
    iov[1].iov_len = 1;
    ok(phx__post_send(&n->post, &m) == PHX_ETOOBIG, "too big by one");
    iov[0].iov_len = 1;
    m.release = on_release;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "owned in two pieces");
    m.iov_count = 0;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "owned in none");
    m.release = NULL;
    iov[0].iov_base = NULL;
    m.iov_count = 1;
    ok(phx__post_send(&n->post, &m) == PHX_EINVAL, "bytes at NULL");
    ok(phx__post_box_cancel(&n->post, 0) == PHX_ENOTFOUND
           && phx__post_box_cancel(&n->post, 9) == PHX_ENOTFOUND,
       "tokens nobody has");
    phx__buf_slices_init(&none, &n->mem);
    ok(phx__post_sched_pull(&n->post, 1, &none, 1000) == 0
           && phx__post_sched_pull(&n->post, 77, &none, 1000) == 0,
       "nothing to pull");
    phx__post_box_failed(&n->post, 70);
    phx__post_box_forget(&n->post, 70);
    phx__post_sched_route(&n->post, 70);
    phx__post_box_due(&n->post, PHX__TIMER_POST, 70);
    ok(n->post.pending.bytes == 0 && n->post.counters.messages_out == 0,
       "nodes that nothing is known of are no trouble");
    ok(world_free(w), "no byte leaked");
}

static void test_local(void)
{
    /* Goal: messages to this very node come inside phx__post_run, in order, with outcomes; and one
     * whose name left before that goes after it. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, err;

    all_see(w, 3, 0);
    all_see(w, 4, 0);
    for (i = 1; i <= 10; i++)
        check(send_size(n, i % 2 == 0 ? 3 : 4, (size_t)i * 1000, (uint64_t)i, 0, i == 5 ? 5 : 0)
                  == 0,
              "sent");
    ok(w->got == 0 && n->post.pending.bytes == 55000 && phx__post_ready(&n->post),
       "nothing inside the send");
    ok(phx__post_run(&n->post) == 0 && w->got == 10 && no_errors(w), "all in one run");
    for (i = 1; i <= 10; i++)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    ok(n->post.pending.bytes == 0 && w->released[5] == 1, "nothing pending, owned memory released");
    for (i = 0; (err = send_size(n, 3, 10000, 0, 0, 0)) == 0; i++)
        continue;
    ok(err == PHX_EAGAIN && i >= 25 && i <= 27, "bounded by the window: %d", i);
    w->writable = 0;
    phx__post_run(&n->post);
    ok(w->writable == 1 && w->writable_name == 3, "and told once when it is empty");
    check(send_size(n, 3, 5, 11, 0, 0) == 0, "sent");
    see(w, 0, 3, 1);
    see(w, 1, 3, 1);
    check(send_size(n, 3, 6, 12, 0, 0) == 0, "sent");
    ok(settle(w) && no_errors(w) && all_arrived(w) && w->token[11].count == 1
           && w->token[12].count == 1,
       "what the name left behind follows it, in order");
    w->reply = 100; /* each message makes another, to ourselves among others */
    for (i = 0; i < NAMES; i++)
        all_see(w, i, i % 2);
    check(send_size(n, 4, 5, 0, 0, 0) == 0, "sent");
    w->cancel_in_message = 13;
    check(send_size(n, 4, 5, 13, 0, 0) == 0, "sent");
    n->sent[4]--;
    ok(settle(w) && w->token[13].count == 1 && w->token[13].result == PHX_ECANCELLED,
       "sends and cancels inside");
    ok(world_free(w), "no byte leaked");
}

static void test_hold(void)
{
    /* Goal: what nobody wants waits, bounded, in order, and goes when the name is assumed; here or
     * elsewhere. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    size_t held;
    int i;

    check(send_size(n, 3, 300000, 0, 0, 0) == PHX_EAGAIN, "larger than all that may be held");
    turns(w, 10, 1000);
    ok(w->writable == 0, "for which no room is ever announced");
    check(w->unheld == 0 && send_size(n, 3, 256u << 10, 1, 0, 0) == 0, "as large as may be held");
    ok(w->unheld == 1, "that nobody holds the name is said");
    ok(send_size(n, 4, 0, 0, 0, 0) == PHX_EAGAIN, "then full");
    turns(w, 10, 1000);
    ok(w->writable == 0 && w->token[1].count == 0 && n->post.pending.bytes == 256u << 10, "held");
    all_see(w, 3, 2);
    ok(settle(w) && w->token[1].count == 1 && w->token[1].result == 0 && w->got == 1,
       "until it has an owner");
    ok(w->writable == 2, "those who waited are told: %d", (int)w->writable);
    for (i = 0; send_size(n, (uint64_t)(4 + i % 2), 1000, 0, 0, 0) == 0; i++)
        continue;
    held = n->post.store.held_bytes;
    ok(held <= 256u << 10 && held > 200000 && i > 200, "many small ones: %d", i);
    for (; i > 0; i--)
        check(n->post.store.queued == (uint32_t)w->node[0].sent[4] + (uint32_t)w->node[0].sent[5],
              "counted");
    all_see(w, 4, 0);
    all_see(w, 5, 1);
    check(send_size(n, 4, 10, 7, 0, 0) == 0 && send_size(n, 5, 10, 8, 0, 0) == 0,
          "more behind them");
    ok(settle(w) && no_errors(w) && all_arrived(w) && w->token[7].count == 1
           && w->token[8].count == 1,
       "in order, here and there");
    ok(n->post.store.queued == 0 && n->post.store.held_bytes == 0, "and the boxes are gone");
    /* Owners come and go while nothing can be delivered. */
    w->frozen = 1;
    for (i = 0; i < 400; i++) {
        (void)send_size(n, 6, 3000, 0, 0, 0);
        if (i % 7 == 0)
            all_see(w, 6, n->view[6] < 0 ? 3 : -1);
    }
    w->frozen = 0;
    all_see(w, 6, 3);
    ok(settle(w) && no_errors(w) && all_arrived(w), "an owner that comes and goes");
    ok(world_free(w), "no byte leaked");
}

static void test_window(void)
{
    /* Goal: a flow takes a window of messages and then says EAGAIN; writable comes once for each
     * name, when half is free; what is under way never exceeds what the target allows. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    size_t most = 0;
    int i, err;

    all_see(w, 3, 2);
    all_see(w, 4, 2);
    announce(n, as_seen(0, 2), 50000);
    for (i = 0; (err = send_size(n, 3, 5000, 0, 0, 0)) == 0; i++)
        continue;
    ok(err == PHX_EAGAIN && i == (256 << 10) / 5088 + 1, "the window is %d of 5000", i);
    ok(send_size(n, 4, 1, 0, 0, 0) == PHX_EAGAIN && send_size(n, 3, 0, 0, 0, 0) == PHX_EAGAIN,
       "for all names");
    w->frozen = 1;
    turns(w, 3, 100);
    ok(w->wire[0][2].count == 9, "nine are under way: %d", (int)w->wire[0][2].count);
    w->frozen = 0;
    w->writable = 0;
    for (i = 0; i < 100 && w->writable == 0; i++) {
        most = n->post.nodes[as_seen(0, 2)].peer->out.flying > most
                   ? n->post.nodes[as_seen(0, 2)].peer->out.flying
                   : most;
        turn(w, 3, 1u << 20);
        w->now += 1000;
    }
    ok(w->writable == 2 && n->post.nodes[as_seen(0, 2)].peer->out.bytes < 128u << 10,
       "each name is told, once");
    ok(most <= 256u << 10, "never more than the window");
    ok(settle(w) && w->writable == 2 && no_errors(w) && all_arrived(w), "all arrive");
    check(send_size(n, 3, 2u << 20, 1, 0, 0) == 0,
          "a message larger than the window goes into an empty flow");
    ok(send_size(n, 3, 1, 2, 0, 0) == PHX_EAGAIN && settle(w) && w->token[1].count == 1,
       "and arrives");
    ok(w->writable == 3, "then there is room");
    ok(world_free(w), "no byte leaked");
}

/* Goal: the window is not exceeded by a message, nor by a byte, promise 63. Method: messages that take
 * 8,192 bytes each, so that 32 fill the sender's window exactly; and ten frames of 5,088 for a target that
 * allows exactly these, or a byte less. */
static void test_window_is_exact(void)
{
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    size_t allowed;
    int i, err;

    all_see(w, 3, 2);
    for (i = 0; i < 1000 && (err = send_size(n, 3, 8192 - 88, 0, 0, 0)) == 0; i++)
        continue;
    ok(err == PHX_EAGAIN && i == 32, "the window takes 32 of 8 KiB: %d", i);
    ok(n->post.nodes[as_seen(0, 2)].peer->out.bytes == 256u << 10, "and is full to the byte");
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive");
    ok(world_free(w), "no byte leaked");
    for (allowed = 10 * 5088 - 1; allowed <= 10 * 5088; allowed++) {
        w = world_new(1, NULL);
        n = &w->node[0];
        all_see(w, 3, 2);
        announce(n, as_seen(0, 2), (uint32_t)allowed);
        for (i = 0; i < 20; i++)
            check(send_size(n, 3, 5000, 0, 0, 0) == 0, "sent");
        w->frozen = 1;
        turns(w, 3, 100);
        ok(w->wire[0][2].count == (allowed < 10 * 5088 ? 9 : 10), "%d bytes allow %d frames", (int)allowed,
           (int)w->wire[0][2].count);
        w->frozen = 0;
        ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive");
        ok(world_free(w), "no byte leaked");
    }
}

static void test_owned(void)
{
    /* Goal: memory that is sent without a copy is released exactly once, whatever becomes of the
     * message, and not before. Method: delivered, cancelled in a box and in a flow, expired,
     * failed, refused, freed. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, copies;

    all_see(w, 3, 2);
    all_see(w, 5, 2);
    check(send_size(n, 3, 0, 0, 0, 1) == 0 && send_size(n, 3, 10, 0, 0, 2) == 0
              && send_size(n, 3, 1000000, 99, 0, 3) == 0,
          "sent");
    ok(send_size(n, 3, 10, 0, 0, 4) == PHX_EAGAIN && w->released[4] == 0, "refused: not released");
    w->frozen = 1;
    turns(w, 3, 1000);
    ok(w->released[1] + w->released[2] + w->released[3] == 0, "not before it is acknowledged");
    w->frozen = 0;
    w->send_in_release = 3;
    ok(settle(w) && w->released[1] == 1 && w->released[2] == 1 && w->released[3] == 1,
       "then once each");
    ok(no_errors(w) && all_arrived(w), "and sends from the release functions arrive");
    for (i = 10, copies = 0; i < 40; i++)
        copies += send_size(n, 3, (size_t)i * 300, (uint64_t)i, i % 3 == 0 ? 1000 : 0, i) == 0;
    check(copies == 30, "sent");
    for (i = 10; i < 40; i += 3)
        check(phx__post_box_cancel(&n->post, (uint64_t)i + 1) == 0, "cancelled");
    for (i = 10; i < 40; i++)
        check(w->released[i] == 0, "not outside a step");
    w->now += 2000;
    tick(n);
    phx__post_run(&n->post);
    for (i = 10; i < 40; i++)
        check(w->released[i] == (i % 3 != 1), "%d", i);
    n->sent[3] = w->box[0][3].next + 10; /* the ten that are left have tags with gaps */
    w->order_errors = 0;
    ok(settle(w), "the others arrive");
    for (i = 10; i < 40; i++)
        check(w->released[i] == 1 && w->token[i].count == 1, "%d", i);
    check(send_size(n, 3, 100000, 0, 0, 50) == 0 && send_size(n, 9, 10, 0, 0, 51) == 0
              && send_size(n, 3, 5, 52, 0, 52) == 0,
          "sent");
    all_see(w, 3, -1);
    all_see(w, 5, -1);
    turn(w, 0, 1000);
    phx__post_box_failed(&n->post, as_seen(0, 2));
    phx__post_run(&n->post);
    wire_cut(w, 0, 2);
    ok(w->released[50] == 1 && w->released[52] == 1 && w->token[52].result == PHX_EFAILED,
       "failed");
    ok(w->released[51] == 0, "held");
    end_node(w, 0);
    ok(w->released[51] == 1, "released by free");
    check(begin_node(w, 0, &n->post.limits) == 0, "again");
    ok(world_free(w), "no byte leaked");
}

/* ---- Messages that do not arrive */

static void test_cancel(void)
{
    /* Goal: what has not begun to leave can be taken back, and those behind it close ranks; what
     * has begun cannot. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, gone = 0;

    all_see(w, 3, 2);
    w->frozen = 1;
    check(send_size(n, 3, 200000, 1, 0, 0) == 0, "sent");
    for (i = 2; i <= 11; i++)
        check(send_size(n, 3, i % 2 == 0 ? 10 : 5000, (uint64_t)i, 0, 0) == 0, "sent");
    pull(w, 0, 2, 1);
    ok(w->wire[0][2].count == 1, "one fragment of the first has left");
    ok(phx__post_box_cancel(&n->post, 1) == PHX_ENOTFOUND, "too late for that one");
    for (i = 2; i <= 11; i += 3)
        gone += phx__post_box_cancel(&n->post, (uint64_t)i) == 0;
    ok(gone == 4 && phx__post_box_cancel(&n->post, 2) == PHX_ENOTFOUND, "four are taken back, once");
    ok(n->post.pending.bytes == 200000 + 10 * 3 + 5000 * 3, "pending is exact");
    w->frozen = 0;
    check(settle(w), "settles");
    ok(w->got == 7 && w->content_errors == 0, "the others arrive");
    for (i = 1; i <= 11; i++)
        check(w->token[i].count == 1 && w->token[i].result == (i % 3 == 2 ? PHX_ECANCELLED : 0),
              "outcome %d", i);
    for (i = 20; i < 25; i++)
        check(send_size(n, 9, 100, (uint64_t)i, 0, 0) == 0, "held");
    for (i = 24; i >= 20; i -= 2)
        check(phx__post_box_cancel(&n->post, (uint64_t)i) == 0, "last, middle and first of a box");
    ok(n->post.store.queued == 2 && n->post.pending.bytes == 200, "two are left there");
    check(phx__post_box_cancel(&n->post, 21) == 0 && phx__post_box_cancel(&n->post, 23) == 0, "these too");
    phx__post_run(&n->post);
    for (i = 20; i < 25; i++)
        check(w->token[i].count == 1 && w->token[i].result == PHX_ECANCELLED, "outcome %d", i);
    ok(n->post.store.queued == 0 && n->post.store.held_bytes == 0, "and the box is gone");
    /* A full flow, and room made by cancelling. */
    for (i = 100; send_size(n, 3, 5000, (uint64_t)i, 0, 0) == 0; i++)
        continue;
    w->writable = 0;
    for (; i >= 100; i--)
        (void)phx__post_box_cancel(&n->post, (uint64_t)i);
    phx__post_run(&n->post);
    ok(w->writable == 1 && n->post.pending.bytes == 0, "room made by cancelling is announced");
    ok(world_free(w), "no byte leaked");
}

static void test_cancel_many(void)
{
    /* Goal: each phx_cancel costs a few looks at messages, however many there are, in flows and mailboxes,
     * also while others are sent. Method: 18,000 with a token, for two names of a peer and one that nobody
     * has, are taken back in a mixed order, with a step and a message between some. A walk for each would be
     * 10,000 looks. */
    const int count = 18000, step = 7919;
    struct phx__post_limits limits = default_limits();
    struct world *w;
    struct node *n;
    int i, at = 0, gone = 0;
    uint64_t before, start = phx_now_us();

    limits.window = 2u << 20;
    limits.hold_bytes = 8u << 20;
    w = world_new(1, &limits);
    n = &w->node[0];
    all_see(w, 3, 2);
    all_see(w, 4, 2);
    w->frozen = 1;
    for (i = 0; i < count; i++)
        check(send_size(n, i % 3 == 0 ? 9 : 2 + (uint64_t)(i % 3), 10, (uint64_t)i + 1, 0, 0) == 0, "sent");
    before = n->post.store.tokens.looks;
    for (i = 0; i < count; i++, at = (at + step) % count) {
        gone += phx__post_box_cancel(&n->post, (uint64_t)at + 1) == 0;
        if (i % 1000 == 999) {
            pull(w, 0, 2, 1);
            check(send_size(n, 3, 10, (uint64_t)(count + i / 1000) + 1, 0, 0) == 0, "one more");
        }
    }
    printf("# %.1f looks each, %.0f ns\n", (double)(n->post.store.tokens.looks - before) / count,
           (double)(phx_now_us() - start) * 1000 / count);
    ok(n->post.store.tokens.looks - before <= 6 * (uint64_t)count, "at most 6 looks for each");
    for (i = 1; i <= 18; i++)
        gone += phx__post_box_cancel(&n->post, (uint64_t)(count + i)) == 0;
    w->frozen = 0;
    check(settle(w), "settles");
    for (i = 1; i <= count + 18; i++)
        check(w->token[i].count == 1, "one outcome for %d", i);
    ok((uint64_t)gone + w->got == (uint64_t)count + 18 && w->content_errors == 0,
       "%d are taken back and %llu arrive", gone, (unsigned long long)w->got);
    ok(n->post.pending.count == 0 && world_free(w), "nothing is left");
}

static void test_expiry(void)
{
    /* Goal: a message that nobody got in time is gone and its sender told, once; held, queued, or
     * under way. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t last;
    int i;

    for (i = 1; i <= 300; i++)
        check(
            send_size(n, (uint64_t)(i % 4), 10, (uint64_t)i, i % 3 == 0 ? 0 : (uint64_t)i * 1000, 0)
                == 0,
            "held");
    for (i = 0; i < 150; i++) {
        w->now += 1000;
        tick(n);
        phx__post_run(&n->post);
    }
    for (i = 1; i <= 300; i++)
        check(w->token[i].count == (i % 3 != 0 && i <= 149), "%d", i);
    ok(w->token[1].result == PHX_ENOOWNER, "held ones expire in time");
    w->now += 200000;
    tick(n);
    phx__post_run(&n->post);
    ok(n->post.store.queued == 100 && phx__timer_next(&n->timers) == UINT64_MAX,
       "those without a limit stay");
    for (i = 0; i < 4; i++)
        all_see(w, i, 1);
    check(settle(w), "settles");
    ok(w->got == 100, "and arrive");

    w->frozen = 1;
    for (i = 401; i <= 450; i++)
        check(send_size(n, 3, 4000, (uint64_t)i, i % 2 == 0 ? 5000 : 8000, 0) == 0, "sent");
    pull(w, 0, 1, 40000);
    last = w->wire[0][1].count;
    w->now += 6000;
    tick(n);
    phx__post_run(&n->post);
    for (i = 401; i <= 450; i++)
        check(w->token[i].count == (i % 2 == 0)
                  && (w->token[i].count == 0 || w->token[i].result == PHX_EEXPIRED),
              "%d", i);
    w->frozen = 0;
    w->got = 0;
    check(settle(w), "settles");
    for (i = 401; i <= 450; i++)
        check(w->token[i].count == 1, "%d", i);
    ok(w->got == 25 + last / 2, "of those that expired, only what had left arrives: %d",
       (int)w->got);
    ok(w->content_errors == 0 && n->post.pending.bytes == 0, "whole, and nothing is pending");
    /* A flow to a node without a route. */
    route(w, 0, 2, -1);
    all_see(w, 5, 2);
    check(send_size(n, 5, 10, 500, 3000, 0) == 0 && send_size(n, 5, 10, 501, UINT64_MAX, 0) == 0,
          "sent");
    turns(w, 10, 1000);
    ok(w->token[500].count == 1 && w->token[500].result == PHX_ENOROUTE && w->token[501].count == 0,
       "no route");
    ok(world_free(w), "no byte leaked");
}

static void test_failed(void)
{
    /* Goal: when a node fails, what it did not acknowledge goes, in order, to whoever has its name,
     * or fails; each token ends in one outcome. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    all_see(w, 3, 1);
    all_see(w, 4, 1);
    all_see(w, 5, 1);
    w->frozen = 1;
    for (i = 1; i <= 60; i++)
        check(send_size(n, (uint64_t)(3 + i % 3), i == 7 ? 150000 : (size_t)i, (uint64_t)i, 0, 0)
                  == 0,
              "sent");
    while (send_size(n, 5, 9000, 0, 0, 0) == 0)
        continue;
    turns(w, 3, 1000);
    /* Some fragments of number 7 are taken and acknowledged. */
    w->frozen = 0;
    turn(w, 8, 0);
    w->frozen = 1;
    phx__post_sched_ack(&w->node[1].post, w->node[1].post.nodes[as_seen(1, 0)].peer);
    ok(n->post.nodes[as_seen(0, 1)].peer->out.base == 8 && w->got == 6,
       "it dies in the midst of a message");
    for (i = 0; i < NODES; i++) {
        see(w, i, 3, -1);
        see(w, i, 4, 2); /* 7 is of this one */
        see(w, i, 5, 0);
    }
    w->writable = 0;
    phx__post_box_failed(&n->post, as_seen(0, 1));
    w->frozen = 0;
    wire_cut(w, 0, 1);
    check(settle(w), "settles");
    ok(w->writable == 1 && n->post.pending.bytes == 0, "who waited for room is told");
    for (i = 1; i <= 60; i++)
        check(w->token[i].count == 1
                  && w->token[i].result == (i > 6 && i % 3 == 0 ? PHX_EFAILED : 0),
              "%d", i);
    n->sent[3] = w->box[0][3].next;
    ok(no_errors(w), "in order, at the new owners");
    w->got = n->sent[3] + n->sent[4] + n->sent[5];
    ok(w->box[0][4].next == n->sent[4] && w->box[0][5].next == n->sent[5], "all of them");
    /* It was not dead, after all, and has the name again. */
    all_see(w, 4, 1);
    check(send_size(n, 4, 10, 70, 0, 0) == 0 && settle(w), "sent");
    ok(w->token[70].count == 1 && no_errors(w), "a node that comes back: a new epoch");
    /* Forgetting, with something in every place. */
    w->frozen = 1;
    check(send_size(n, 4, 10, 71, 0, 0) == 0 && send_size(n, 4, 100000, 72, 0, 0) == 0, "sent");
    turns(w, 3, 1000);
    w->frozen = 0;
    wire_cut(w, 0, 1);
    for (i = 0; i < NODES; i++)
        see(w, i, 4, -1);
    route(w, 0, 1, -1);
    phx__post_box_forget(&n->post, as_seen(0, 1));
    ok(n->post.nodes[as_seen(0, 1)].peer == NULL, "forgotten");
    phx__post_run(&n->post);
    ok(w->token[71].result == PHX_EFAILED && w->token[72].result == PHX_EFAILED,
       "what was under way has failed");
    ok(world_free(w), "no byte leaked");
}

static void test_false_death(void)
{
    /* Goal: a node that was only cut off does not get a message twice, although it was rescued for
     * another owner in between; what cannot have been delivered there still is. Method: node 1
     * delivers, its ack is lost and it counts as failed; node 2, which is dead, has claimed the name. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int reborn;

    for (reborn = 0; reborn < 2; reborn++) {
        uint64_t token = 1 + 10 * (uint64_t)reborn;

        all_see(w, 3, 1);
        w->got = 0;
        w->ack_loss = 1000;
        check(send_size(n, 3, 10, token, 0, 0) == 0, "sent");
        turns(w, 4, 1000);
        ok(w->got == 1 && w->token[token].count == 0, "delivered, and the ack lost");
        w->frozen = 1;
        check(send_size(n, 3, 200000, token + 1, 0, 0) == 0, "sent");
        pull(w, 0, 1, 70000);
        see(w, 0, 3, 2);
        phx__post_box_failed(&n->post, as_seen(0, 1));
        turns(w, 4, 1000);
        wire_cut(w, 0, 1);
        wire_cut(w, 0, 2); /* all that went to node 2 is lost with it */
        check(send_size(n, 3, 20, token + 2, 0, 0) == 0, "sent, to the dead one");
        see(w, 0, 3, 1);
        if (reborn)
            phx__post_sched_reborn(&n->post, as_seen(0, 1));
        phx__post_box_failed(&n->post, as_seen(0, 2));
        w->box[0][3].next -= reborn != 0; /* a new life has not got it */
        w->frozen = 0;
        w->ack_loss = 0;
        check(settle(w), "settles");
        ok(w->token[token].count == 1 && w->token[token].result == (reborn ? 0 : PHX_EFAILED),
           "it ends, %s", reborn ? "delivered by the next life" : "not known to be delivered");
        ok(w->token[token + 1].result == 0 && w->token[token + 2].result == 0
               && w->got == 3 + (uint64_t)(reborn != 0) && no_errors(w),
           "what never went there whole is delivered, once and in order");
    }
    ok(n->post.pending.bytes == 0 && n->post.pending.count == 0 && n->post.store.queued == 0,
       "nothing is left");
    ok(world_free(w), "no byte leaked");
}

static void test_lives(void)
{
    /* Goal: what a relay kept of a flow is not delivered again when its source has begun another, nor after a
     * rebirth that its target has heard of. Method: the relay has no route while that happens. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    check(settle(w) && w->got == 1, "arrived");
    route(w, 0, 1, 2);
    route(w, 2, 1, -1);
    check(send_size(n, 3, 10, 2, 0, 0) == 0, "sent");
    turns(w, 2, 1000);
    check(w->node[2].post.transit.bytes > 0, "kept by a relay");
    route(w, 0, 1, 1);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    phx__post_sched_reborn(&w->node[1].post, as_seen(1, 0));
    turns(w, 5, 1000);
    ok(w->token[2].count == 1 && w->token[2].result == PHX_EFAILED, "what may have arrived ends");
    w->box[0][3].next = n->sent[3];
    check(send_size(n, 3, 10, 3, 0, 0) == 0, "sent");
    turns(w, 30, 1000);
    ok(w->token[3].count == 1 && w->token[3].result == 0 && w->got == 2 && no_errors(w), "the next arrives");
    route(w, 2, 1, 1);
    turns(w, 20, 1000);
    check(send_size(n, 3, 10, 4, 0, 0) == 0, "sent");
    ok(settle(w) && w->got == 3 && w->token[4].result == 0 && no_errors(w), "and what was kept does not");
    ok(world_free(w), "no byte leaked");
}

/* Sends to all names but 0 until none takes more. Returns the bytes. */
static size_t fill_names(struct node *n)
{
    size_t bytes = 0, before;
    uint64_t name;

    do {
        before = bytes;
        for (name = 1; name < NAMES; name++)
            bytes += send_size(n, name, 5000, 0, 0, 0) == 0 ? 5000 : 0;
    } while (bytes > before && bytes < 100u << 20);
    return bytes;
}

/* One byte to a name beyond NAMES, which its upper half's node holds. */
static int send_wide(struct node *n, int to, uint32_t number)
{
    struct phx_outgoing m;
    struct iovec iov;

    memset(&m, 0, sizeof m);
    m.to = (uint64_t)to * WIDE + number;
    iov.iov_base = &number;
    iov.iov_len = 1;
    m.iov = &iov;
    m.iov_count = 1;
    return phx__post_send(&n->post, &m);
}

static void test_idle_boxes(void)
{
    /* Goal: of mailboxes kept for the next message there are as many as were used within ten seconds, and
     * above 4096 no more; and the one in use is never the one that goes. Method: messages to as many names,
     * and around that number; then, at once and later, to names of a node that has no idle mailbox, so that
     * none of its own can make room. */
    static const uint32_t counts[] = { 4088, 4089, 4095, 4096, 4097, 4103 };
    uint32_t i, k;

    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct world *w = world_new(1, NULL);
        struct node *n = &w->node[0];

        w->wide = 1;
        for (k = 0; k < counts[i]; k++) {
            check(send_wide(n, 1, k) == 0, "sent to name %u", (unsigned)k);
            if (k % 512 == 511)
                turns(w, 20, 1000);
        }
        turns(w, 20, 1000);
        ok(w->got == counts[i] && n->post.store.count == counts[i],
           "%u names, %u mailboxes kept", (unsigned)counts[i], (unsigned)n->post.store.count);
        for (k = 0; k < 8; k++) {
            w->now += k < 3 ? 0 : 2 * PHX__SECOND; /* that node stays in use meanwhile */
            check(send_wide(n, 2, k) == 0 && send_wide(n, 1, 0) == 0, "sent to another node");
            turns(w, 20, 1000);
            if (k == 2)
                ok(n->post.store.count == counts[i] + 3, "another node's names get theirs");
        }
        ok(w->got == counts[i] + 16 && n->post.store.count < counts[i] + 8 + (counts[i] == 4088)
               && n->post.boxes.idle_count == n->post.store.count,
           "and later those that are too many go: %u", (unsigned)n->post.store.count);
        ok((n->post.store.count == counts[i] + 8) == (counts[i] == 4088), "4096 of them are not too many");
        ok(settle(w) && world_free(w), "no byte leaked");
    }
}

static void test_many_names(void)
{
    /* Goal: names cost no window each: what waits for one destination is bounded, however many
     * names it has and whenever it took them. Method: all names begin held; then one node that
     * takes nothing has them all, again and again; then this node itself. */
    struct phx__post_limits limits = default_limits();
    size_t most = limits.window + limits.hold_bytes + 20000;
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t name, waiting;
    int round;

    w->frozen = 1;
    for (round = 0; round < 5; round++) {
        for (name = 1; name < NAMES; name++)
            (void)send_size(n, name, 1, 0, 0, 0);
        (void)fill_names(n);
        for (name = 1; name < NAMES; name++) /* others than the last time, as far as they are held */
            if (name % 5 == (uint64_t)round)
                all_see(w, (int)name, 1);
        (void)fill_names(n);
        check(n->post.pending.bytes <= most, "round %d: %u bytes", round,
              (unsigned)n->post.pending.bytes);
    }
    ok(n->post.pending.bytes <= most, "bounded: %u bytes", (unsigned)n->post.pending.bytes);
    ok(send_size(n, 1, 5000, 0, 0, 0) == PHX_EAGAIN, "then later");
    w->writable = 0;
    waiting = n->post.store.waiting.count;
    w->frozen = 0;
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive");
    ok(waiting == NAMES - 1 && w->writable == waiting, "and all who waited are told: %d of %d",
       (int)w->writable, (int)waiting);
    ok(n->post.nodes[as_seen(0, 1)].peer->boxes.bytes == 0, "nothing counts as waiting");
    for (name = 1; name < NAMES; name++)
        all_see(w, (int)name, 0);
    ok(fill_names(n) <= limits.window + 20000, "what this node sends to itself is bounded, too");
    w->writable = 0;
    waiting = n->post.store.waiting.count;
    ok(settle(w) && no_errors(w) && all_arrived(w) && w->writable == waiting && waiting > 0
           && n->post.store.local_bytes == 0,
       "arrives, and those who waited are told");
    ok(world_free(w), "no byte leaked");
}

int main(void)
{
    test_simple();
    test_arguments();
    test_local();
    test_hold();
    test_window();
    test_window_is_exact();
    test_owned();
    test_cancel();
    test_cancel_many();
    test_expiry();
    test_failed();
    test_false_death();
    test_lives();
    test_idle_boxes();
    test_many_names();
    return test_end();
}
