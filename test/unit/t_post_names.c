/* t_post_names.c - names that move: messages that come back, and in which order they go again. */
#include "post_rig.h"

/* ---- Names that move */

static void test_returned(void)
{
    /* Goal: a message that comes to a node without its name goes back to its source, which sends it
     * to the owner it knows of then, in order; it waits there if there is none. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    see(w, 0, 3, 1); /* the others know that 2 has it */
    see(w, 1, 3, 2);
    see(w, 2, 3, 2);
    for (i = 1; i <= 50; i++)
        check(send_size(n, 3, (size_t)(i % 25 == 5 ? 80000 : i), (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(w->got == 0 && n->post.pending.count == 50 && n->post.store.queued == 50,
       "all came back, and are pending where they were sent");
    ok(w->node[1].post.pending.count == 0 && w->node[1].post.store.queued == 0,
       "nothing is kept where the name is not");
    ok(back_of(w, 1, 0)->count == 50 && back_of(w, 1, 0)->confirmed == 50, "each return is confirmed");
    see(w, 0, 3, 2);
    phx__post_box_names(&n->post);
    ok(settle(w) && no_errors(w) && all_arrived(w), "news of the name brings them there, in order");
    for (i = 0; i < NODES; i++)
        see(w, i, 3, -1);
    see(w, 0, 3, 1);
    for (i = 51; i <= 60; i++)
        check(send_size(n, 3, (size_t)(i % 25 == 5 ? 80000 : i), (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    see(w, 0, 3, -1);
    phx__post_box_names(&n->post);
    turns(w, 50, 1000);
    ok(n->post.store.queued == 10 && n->post.pending.bytes > 0, "nobody has it: held at the source");
    all_see(w, 3, 3);
    ok(settle(w) && no_errors(w) && all_arrived(w), "until there is an owner");
    all_see(w, 3, -1);
    see(w, 0, 3, 1);
    for (i = 61; i <= 70; i++)
        check(send_size(n, 3, (size_t)i, (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    see(w, 0, 3, 0);
    ok(send_size(n, 3, 71, 71, 0, 0) == 0 && n->post.store.queued == 11,
       "a name that comes to the source: what came back is older");
    phx__post_box_names(&n->post);
    ok(settle(w) && no_errors(w) && all_arrived(w), "and is delivered before");
    for (i = 1; i <= 71; i++)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    ok(world_free(w), "no byte leaked");
}

static void test_patience(void)
{
    /* Goal: an owner that says it is none is asked again, ever more rarely, and at once when some
     * name changes; messages behind the refused ones wait, and have room. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t emitted;
    int i;

    see(w, 0, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    turns(w, 10, 1000);
    ok(w->emitted == 1 && n->post.store.queued == 1, "it came back");
    turns(w, 10000, 1000);
    ok(w->emitted > 10 && w->emitted < 20, "asked again in ten seconds: %d times", (int)w->emitted);
    emitted = w->emitted;
    check(send_size(n, 3, 10, 2, 0, 0) == 0 && n->post.store.queued == 2, "waits behind it");
    see(w, 0, 9, 2);
    phx__post_box_names(&n->post);
    turns(w, 10, 1000);
    ok(w->emitted == emitted + 2, "and when names change");
    emitted = n->post.store.held_bytes;
    for (i = 3; send_size(n, 3, 20000, (uint64_t)i, 0, 0) == 0 && i < 100; i++)
        continue;
    ok(n->post.store.held_bytes > emitted && n->post.store.held_bytes <= n->post.limits.hold_bytes
           && w->writable == 0,
       "what waits counts as held, and is bounded");
    see(w, 1, 3, 1);
    ok(settle(w) && no_errors(w) && all_arrived(w), "the name is there after all");
    ok(w->writable == 1 && w->writable_name == 3, "and sending may go on");
    while (--i > 0)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    ok(world_free(w), "no byte leaked");
}

static void test_gate(void)
{
    /* Goal: while something is under way to a former owner, what follows waits, whoever has the
     * name now; without any call but send in between. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0 && send_size(n, 3, 100000, 2, 0, 0) == 0, "sent");
    see(w, 0, 3, 2);
    check(send_size(n, 3, 10, 3, 0, 0) == 0, "sent");
    see(w, 0, 3, 0);
    check(send_size(n, 3, 10, 4, 0, 0) == 0, "sent");
    see(w, 0, 3, 2);
    see(w, 2, 3, 2);
    check(send_size(n, 3, 10, 5, 400000, 0) == 0 && send_size(n, 3, 10, 6, 0, 0) == 0, "sent");
    ok(n->post.store.queued == 4, "four wait");
    ok(phx__post_box_cancel(&n->post, 4) == 0, "one is taken back");
    w->now += 500000;
    tick(n);
    ok(n->post.store.queued == 2, "and one expires");
    (void)phx__post_run(&n->post);
    ok(w->token[4].result == PHX_ECANCELLED && w->token[5].result == PHX_EEXPIRED, "outcomes");
    turn(w, 100, 1u << 20);
    ok(w->got == 2 && w->order_errors == 0, "the former owner still had it for two");
    turns(w, 20, 1000);
    ok(w->got == 4 && w->order_errors == 1 && w->box[0][3].next == 6,
       "the others went to the other, in order, but for two that are missing");
    ok(w->token[3].count == 1 && w->token[6].count == 1, "outcomes");
    /* All queued messages cancelled, and the name where it was: the gate is no more. */
    all_see(w, 3, 1);
    turns(w, 20, 1000);
    w->frozen = 1;
    check(send_size(n, 3, 10, 7, 0, 0) == 0, "sent");
    see(w, 0, 3, 2);
    check(send_size(n, 3, 10, 8, 0, 0) == 0 && phx__post_box_cancel(&n->post, 8) == 0, "and taken back");
    see(w, 0, 3, 1);
    check(send_size(n, 3, 10, 9, 0, 0) == 0, "sent");
    ok(n->post.store.queued == 0, "not gated");
    w->frozen = 0;
    ok(settle(w), "settles");
    ok(w->token[7].count == 1 && w->token[8].count == 1 && w->token[9].count == 1, "outcomes");
    ok(world_free(w), "no byte leaked");
}

static void test_bounce(void)
{
    /* Goal: a name that goes away and comes back at once does not let a younger message pass an
     * older one that was turned back. Method: it is away just for the first of three messages. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, k;

    for (k = 0; k < 3; k++) { /* 0: small; 1: large, away at the start; 2: large, away at the end */
        size_t size = k == 0 ? 10 : 70000;

        all_see(w, 3, 1);
        turns(w, 30, 1000);
        for (i = 1; i <= 3; i++)
            check(send_size(n, 3, size, (uint64_t)(k * 10 + i), 0, 0) == 0, "sent");
        check(send_size(n, 7, 10, 0, 0, 0) == 0, "held");
        w->ack_late = 1000;
        pull(w, 0, 1, 1u << 20);
        if (k == 2)
            wire_deliver(w, 0, 1);
        see(w, 1, 3, -1);
        wire_deliver(w, 0, 1);
        see(w, 1, 3, 1);
        while (w->wire[0][1].count > 0)
            wire_deliver(w, 0, 1);
        ok(w->got == (uint64_t)k * 3, "none is delivered before the first");
        ok(back_of(w, 1, 0)->count == (uint32_t)k * 3 + 3, "all three went back");
        w->ack_late = 0;
        turns(w, 30, 1000);
        ok(w->got == (uint64_t)k * 3 + 3 && no_errors(w), "and come again, in order");
        ok(back_of(w, 1, 0)->refused.count == 0 && back_of(w, 1, 0)->list == NULL,
           "nothing is kept of it");
    }
    all_see(w, 7, 1);
    ok(settle(w) && no_errors(w) && all_arrived(w), "another name is not concerned");
    ok(world_free(w), "no byte leaked");
}

static void test_refuser_dies(void)
{
    /* Goal: who turned a message back, or got the beginning of it, may die: nothing is lost. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    see(w, 0, 3, 1);
    see(w, 1, 3, 2);
    see(w, 2, 3, 2);
    for (i = 1; i <= 5; i++)
        check(send_size(n, 3, i == 3 ? 200000 : 10, (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    check(send_size(n, 3, 10, 6, 0, 0) == 0, "sent");
    see(w, 0, 3, 2);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    w->node[0].hop[1] = w->node[2].hop[1] = -1;
    ok(settle(w) && no_errors(w) && all_arrived(w), "turned back, and then dead");
    n->hop[1] = 1;
    phx__post_sched_route(&n->post, as_seen(0, 1));
    see(w, 0, 3, 1);
    see(w, 1, 3, 1);
    check(send_size(n, 3, 10, 7, 0, 0) == 0, "sent");
    turns(w, 30, 1000); /* it asks first which flow is node 0's */
    for (i = 8; i <= 9; i++)
        check(send_size(n, 3, i == 8 ? 200000 : 10, (uint64_t)i, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    turn(w, 2, 1u << 20);
    ok(w->got == 7, "it has the first of three, and a beginning");
    see(w, 0, 3, 2);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    w->node[0].hop[1] = -1;
    cut(w, 0, 1);
    see(w, 1, 3, 2);
    w->box[0][3].next -= w->box[0][3].next == 7 && w->token[7].count == 0; /* it died unheard */
    w->got -= w->box[0][3].next == 6;
    ok(settle(w) && no_errors(w) && all_arrived(w), "the rest goes to the other");
    for (i = 1; i <= 9; i++)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    ok(world_free(w), "no byte leaked");
}

static void test_half(void)
{
    /* Goal: the half of a message whose source failed is not kept; if it was alive after all, the
     * message comes whole. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    size_t used;

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    used = w->node[1].mem.used;
    check(send_size(n, 3, 200000, 2, 0, 0) == 0 && send_size(n, 3, 10, 3, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    ok(w->node[1].mem.used > used + 200000, "a half is here");
    phx__post_box_failed(&w->node[1].post, as_seen(1, 0));
    ok(w->node[1].mem.used < used + 2000, "and gone with its source");
    ok(settle(w) && no_errors(w) && all_arrived(w), "which was not dead");
    ok(w->token[2].count == 1 && w->token[3].count == 1, "outcomes");
    ok(world_free(w), "no byte leaked");
}

static void test_begin(void)
{
    /* Goal: a buffer of the application's comes back exactly once: with its message, or abandoned,
     * whatever it is that ends the message. Method: each way of ending one in its midst. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    w->begins = 1;
    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 0, 0, 0) == 0 && settle(w), "they know each other");
    check(send_size(n, 3, 200000, 0, 0, 0) == 0 && send_size(n, 3, 200000, 0, 0, 0) == 0, "sent");
    ok(settle(w) && w->begun_count == 2 && w->begun_shown == 1 && w->abandoned == 0 && w->begun == NULL,
       "one is shown in the application's buffer, the other, which got none, in ours");
    check(send_size(n, 3, 300000, 0, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    ok(w->begun != NULL, "the next has begun");
    phx__post_box_failed(&w->node[1].post, as_seen(1, 0));
    ok(w->abandoned == 0 && phx__post_ready(&w->node[1].post), "its source fails: not told in the midst");
    (void)phx__post_run(&w->node[1].post);
    ok(w->abandoned == 1 && w->begun == NULL, "but at the end of the step");
    w->begun_count = 0;
    ok(settle(w) && w->begun_shown == 2 && all_arrived(w), "it comes again, and begins again");
    w->begun_count = 0;
    check(send_size(n, 3, 300000, 0, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    all_see(w, 3, 2);
    ok(settle(w) && w->abandoned == 2 && w->begun == NULL && all_arrived(w),
       "the name moves: abandoned here, delivered there");
    w->begun_count = 0;
    all_see(w, 3, 1);
    check(send_size(n, 3, 300000, 0, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    check(w->begun != NULL, "begun");
    phx__post_sched_reborn(&w->node[1].post, as_seen(1, 0));
    (void)phx__post_run(&w->node[1].post);
    ok(w->abandoned == 3 && w->begun == NULL, "a new life of its source ends it");
    ok(world_free(w), "no byte leaked");
    w = world_new(1, NULL);
    w->begins = 1;
    all_see(w, 3, 1);
    check(send_size(&w->node[0], 3, 300000, 0, 0, 0) == 0, "sent");
    turn(w, 2, 1u << 20);
    check(w->begun != NULL, "begun");
    ok(world_free(w), "and so does the end of the node: no buffer, no byte leaked");
}

static void test_overtaken(void)
{
    /* Goal: a place into which another link's fragment came first is not written to again, also not
     * after its buffer went back. Method: the same frame's front is placed by hand, then the frame
     * itself arrives whole; likewise for one that begins a message. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    struct phx__post *to = &w->node[1].post;
    struct phx__place place, ahead;
    struct frame *f;
    int round;

    w->begins = 1;
    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 0, 0, 0) == 0 && settle(w), "they know each other");
    check(send_size(n, 3, 200000, 0, 0, 0) == 0, "sent");
    for (round = 0; round < 2; round++) { /* the first fragment, and the next */
        w->frozen = 1;
        while (w->wire[0][1].count == 0)
            turn(w, 1, PHX__FRAGMENT);
        f = w->wire[0][1].head;
        ok(phx__post_recv_place(to, f->data[0], PHX__DATA_HEAD - 1, &place) == 0, "half a head has no place");
        ok(phx__post_recv_place(to, f->data[0], f->size[0], &place) == f->size[0]
               && phx__buf_place_is_open(&place) && place.size == PHX__FRAGMENT
               && place.at == (size_t)round * PHX__FRAGMENT,
           "fragment %d has a place", round);
        ok(!phx__post_recv_ahead(to, as_seen(1, 0), &ahead), "and nobody may guess what comes there");
        w->frozen = 0;
        wire_deliver(w, 0, 1);
        ok(!phx__buf_place_is_open(&place), "which it has not when another took it");
        phx__post_recv_placed(to, NULL, 0, NULL);
        phx__buf_place_drop(&place);
    }
    ok(settle(w) && w->begun_shown == 1 && no_errors(w) && all_arrived(w), "the message arrives once");
    ok(world_free(w), "no byte leaked");
}

static int turn_back(struct world *w, uint64_t name)
{
    struct phx__return t;

    t.number = name;
    t.place = 0;
    t.reason = (int)PHX__RETURN_MOVED;
    return phx__post_returns_add(back_of(w, 1, 0), name, &t);
}

static void test_many_returns(void)
{
    /* Goal: returns that nobody confirms are bounded; the flow stops, and goes on when it may. The
     * map of names is bounded too, and then everything goes back that might have to. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t name;
    int i;

    see(w, 0, 3, 1);
    see(w, 0, 4, 1);
    see(w, 1, 4, 1);
    w->ack_loss = 1000;
    for (i = 0; i < 700; i++) /* each in a frame of its own, because it has a token */
        check(send_size(n, 3, 1, claim_token(w), 0, 0) == 0, "sent");
    check(send_size(n, 4, 1, claim_token(w), 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    ok(back_of(w, 1, 0)->count == PHX__RETURNS && w->got == 0, "the list is full");
    w->emitted = 0;
    turns(w, 2000, 1000);
    ok(w->emitted < 10000 && back_of(w, 1, 0)->count == PHX__RETURNS, "and stays so");
    w->ack_loss = 0;
    turns(w, 1000, 1000);
    ok(back_of(w, 1, 0)->confirmed >= 700 && w->got == 1, "heard, and the flow goes on");
    all_see(w, 3, 2);
    ok(settle(w) && no_errors(w) && all_arrived(w), "all arrive");
    ok(world_free(w), "no byte leaked");

    w = world_new(1, NULL);
    all_see(w, 3, 1);
    check(send_size(&w->node[0], 3, 1, 0, 0, 0) == 0 && settle(w), "sent");
    for (name = 100; name < 100 + 5000; name++) {
        check(turn_back(w, name) == 0, "add");
        phx__post_returns_confirm(back_of(w, 1, 0), back_of(w, 1, 0)->count);
        if (name == 100 + 4095)
            ok(back_of(w, 1, 0)->refused.count == 4096 && !phx__post_returns_refuses(back_of(w, 1, 0), 7),
               "4096 names are refused one by one");
    }
    ok(back_of(w, 1, 0)->refused.count <= 4096 && phx__post_returns_refuses(back_of(w, 1, 0), 100)
           && phx__post_returns_refuses(back_of(w, 1, 0), 5099)
           && phx__post_returns_refuses(back_of(w, 1, 0), 7),
       "beyond the map's bound everything is refused");
    phx__post_returns_seen(back_of(w, 1, 0), 9999);
    ok(back_of(w, 1, 0)->seen == 0, "a number too high is nonsense");
    phx__post_returns_seen(back_of(w, 1, 0), 4999);
    ok(phx__post_returns_refuses(back_of(w, 1, 0), 7), "until the latest is known");
    phx__post_returns_seen(back_of(w, 1, 0), 5000);
    ok(!phx__post_returns_refuses(back_of(w, 1, 0), 100) && back_of(w, 1, 0)->refused.count == 0, "to all");
    ok(world_free(w), "no byte leaked");
}

static uint64_t last_done;
static int out_of_order;

static void in_order(struct node *n, uint64_t token, int result)
{
    (void)n;
    out_of_order += result != PHX_EFAILED || token != ++last_done;
}

static void test_failed_order(void)
{
    /* Goal: what a failed node did not acknowledge ends in the order in which it was sent, messages of
     * several frames and of two names too; what goes to another owner keeps its order. Method: half of it is
     * under way when the node fails. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i;

    w->on_done = in_order;
    all_see(w, 3, 1);
    all_see(w, 4, 1);
    all_see(w, 5, 1);
    w->frozen = 1;
    for (i = 0; i < 20; i++) {
        check(send_size(n, (uint64_t)(3 + i % 2), i == 7 ? 70000 : 10, claim_token(w), 0, 0) == 0, "sent");
        check(send_size(n, 5, i == 9 ? 70000 : 20, 0, 0, 0) == 0, "sent");
    }
    pull(w, 0, 1, 100000);
    cut(w, 0, 1);
    all_see(w, 3, -1);
    all_see(w, 4, -1);
    all_see(w, 5, 2);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    (void)phx__post_run(&n->post);
    ok(last_done == 20 && out_of_order == 0, "outcomes come in order");
    w->frozen = 0;
    turns(w, 500, 1000);
    ok(w->got == 20 && w->order_errors == 0 && w->content_errors == 0, "and so does what had another owner");
    ok(world_free(w), "no byte leaked");
}

int main(void)
{
    test_returned();
    test_failed_order();
    test_patience();
    test_gate();
    test_bounce();
    test_refuser_dies();
    test_half();
    test_begin();
    test_overtaken();
    test_many_returns();
    return test_end();
}
