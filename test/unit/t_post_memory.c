/* t_post_memory.c - allocations that fail, nodes at rest, and what a message costs. */
#include "post_rig.h"

#include <time.h>

/* ---- Memory */

static int oom_run(long fail_at, int lasting, long *calls)
{
    struct world *w = world_new(3, NULL);
    struct node *n;
    uint64_t token = 0, held;
    int i, k, bad = 0, err;

    w->begins = w->places = 1;

    for (i = 0; i < NODES; i++)
        if (fail_at > 0)
            *(lasting ? &w->node[i].heap.fail_from : &w->node[i].heap.fail_at) =
                w->node[i].heap.calls + fail_at;
    all_see(w, 3, 2);
    all_see(w, 5, 0);
    all_see(w, 6, 3);
    route(w, 0, 3, 1);
    see(w, 0, 8, 1);
    see(w, 1, 8, 2);
    see(w, 2, 8, 2);
    for (i = 0; i < 12; i++) {
        static const uint64_t names[] = { 3, 4, 5, 6, 7, 8 };
        static const size_t sizes[] = { 0, 8, 5000, 150000 };

        for (k = 0; k < 6; k++) {
            uint64_t t = ++token;
            int owned = (i + k) % 5 == 0 ? (int)t : 0;

            err =
                send_size(&w->node[0], names[k], sizes[(i + k) % 4], t, k == 4 ? 500000 : 0, owned);
            if (err != 0) {
                w->token[t].count = 1;
                bad |= err != PHX_ENOMEM && err != PHX_EAGAIN;
            }
            if (err != 0 && owned)
                bad |= w->released[owned] != 0;
        }
        turns(w, 2, 1000);
        if (i == 5)
            all_see(w, 4, 1);
        if (i == 6)
            cut(w, 0, 1);
        if (i == 10) { /* until then its messages came back */
            see(w, 0, 8, 2);
            phx__post_box_names(&w->node[0].post);
        }
        if (i == 8) {
            for (k = 0; k < NODES; k++)
                see(w, k, 6, 1);
            phx__post_box_failed(&w->node[0].post, as_seen(0, 3));
        }
    }
    for (i = 0; i < NODES; i++)
        w->node[i].heap.fail_from = 0;
    turns(w, 1000, 5000);
    bad |= !settle(w) || w->content_errors + w->source_errors + w->name_errors > 0;
    for (i = 1; i <= (int)token; i++)
        bad |= w->token[i].count != 1;
    for (held = 0, i = 0; i < NODES; i++) {
        n = &w->node[i];
        held += n->post.store.queued + n->post.outcomes.promised + n->post.pending.bytes;
        *calls = n->heap.calls > *calls ? n->heap.calls : *calls;
    }
    bad |= held != 0;
    if (bad)
        printf("# allocation %ld: content %d name %d, held %d\n", fail_at, w->content_errors,
               w->name_errors, (int)held);
    return !world_free(w) || bad;
}

static void test_oom(void)
{
    /* Goal: whichever allocation fails, the room stays consistent: all tokens have one outcome, all
     * queues come to their end, nothing leaks. Method: one script with all kinds of messages, with
     * the n-th allocation of every node failing, for each n; alone, or with all after it until the
     * script ends. Order is not checked: a failed node's messages may be dropped for lack of
     * memory, and are reported. */
    long calls = 0, n = 0;
    int bad = oom_run(0, 0, &calls);

    for (n = 1; n <= calls; n++) {
        long ignored = 0;

        bad += oom_run(n, 0, &ignored);
        bad += oom_run(n, 1, &ignored);
    }
    ok(bad == 0 && calls > 100, "%ld allocations, each failed alone and with all after it: %d bad",
       calls, bad);
}

static void test_past_flow(void)
{
    /* Promise 61. Goal: little is kept of a peer that is gone, yet what came of its flow does not come again
     * when it is back, and what follows does. Method: the acks of two messages are lost, the source is taken
     * for dead, and then it asks what came. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[2];
    size_t used;
    int i;

    all_see(w, 3, 2);
    w->ack_loss = 1000;
    for (i = 1; i <= 2; i++)
        check(send_size(&w->node[0], 3, 10, (uint64_t)i, 0, 0) == 0, "sent");
    turns(w, 20, 1000);
    route(w, 2, 0, -1);
    phx__post_box_failed(&n->post, as_seen(2, 0));
    used = n->mem.used;
    phx__post_sched_shrink(&n->post, as_seen(2, 0));
    ok(w->got == 2 && peer_of(w, 2, 0) == NULL && used - n->mem.used > 900, "%d bytes are given back",
       (int)(used - n->mem.used));
    w->ack_loss = 0;
    route(w, 2, 0, 0);
    check(send_size(&w->node[0], 3, 10, 3, 0, 0) == 0, "sent");
    ok(settle(w) && w->got == 3 && no_errors(w), "nothing comes twice");
    for (i = 1; i <= 3; i++)
        check(w->token[i].count == 1 && w->token[i].result == 0, "outcome %d", i);
    phx__post_sched_shrink(&n->post, as_seen(2, 0));
    check(peer_of(w, 2, 0) == NULL, "small again");
    phx__post_sched_shrink(&n->post, as_seen(2, 0));
    phx__post_box_forget(&n->post, as_seen(2, 0));
    ok(send_size(&w->node[0], 3, 10, 4, 0, 0) == 0 && settle(w) && w->got == 4 && no_errors(w),
       "and forgotten it asks where the flow is");
    ok(world_free(w), "no byte leaked");
}

static void test_past_life(int reborn)
{
    /* Goal: a message that may have arrived at a node which is gone goes there again only if that lives anew.
     * Method: its name is an heir's in between, to whom there is no way and much else goes. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t others = 0;

    all_see(w, 3, 1);
    all_see(w, 5, 2);
    check(send_size(n, 3, 10, 1, 0, 0) == 0, "sent");
    pull(w, 0, 1, 1u << 20);
    wire_cut(w, 0, 1);
    route(w, 0, 1, -1);
    route(w, 0, 2, -1);
    while (send_size(n, 5, 60000, 0, 0, 0) == 0)
        others++;
    see(w, 0, 3, 2);
    phx__post_box_names(&n->post);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    phx__post_sched_shrink(&n->post, as_seen(0, 1));
    check(peer_of(w, 0, 1) == NULL && w->token[1].count == 0, "it waits, and little is kept");
    if (reborn)
        phx__post_sched_reborn(&n->post, as_seen(0, 1));
    route(w, 0, 1, 1);
    see(w, 0, 3, 1);
    phx__post_box_names(&n->post);
    route(w, 0, 2, 2);
    ok(settle(w) && w->token[1].count == 1 && w->token[1].result == (reborn ? 0 : PHX_EFAILED)
           && w->got == others + (uint64_t)reborn,
       reborn ? "a new life gets it" : "the same life does not get it twice");
    ok(world_free(w), "no byte leaked");
}

static void test_past_busy(void)
{
    /* Goal: all is kept of a peer where something is half done. Method: each such thing, one by one. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint32_t at = as_seen(0, 1);
    struct phx__post_peer *peer;
    struct phx__box refused = { .peer = NULL };

    all_see(w, 3, 1);
    check(send_size(n, 3, 10, 0, 0, 0) == 0 && settle(w), "sent");
    peer = peer_of(w, 0, 1);
#define STAYS(set, unset)                                                                                    \
    set;                                                                                                     \
    phx__post_sched_shrink(&n->post, at);                                                                    \
    check(peer_of(w, 0, 1) == peer, #set);                                                                   \
    unset
    STAYS((void)0, phx__post_box_failed(&n->post, at)); /* a mailbox is idle there */
    STAYS(peer->out.count++, peer->out.count--);
    STAYS(peer->transit.queue.bytes++, peer->transit.queue.bytes--);
    STAYS(phx__ring_add(&peer->boxes.bound, &peer->room_link), phx__ring_del(&peer->room_link));
    STAYS(phx__ring_add(&n->post.boxes.opened, &peer->room_link), phx__ring_del(&peer->room_link));
    phx__ring_init(&refused.link);
    refused.peer = peer;
    STAYS(phx__ring_add(&n->post.boxes.refused, &refused.link), phx__ring_del(&refused.link));
    STAYS(peer->in.done++, peer->in.done--);
    STAYS(peer->in.state = PHX__FLOW_HALF, peer->in.state = PHX__FLOW_ALL);
    STAYS(peer->returns.count++, peer->returns.count--);
    STAYS(peer->returns.refused.count++, peer->returns.refused.count--);
#undef STAYS
    phx__post_sched_shrink(&n->post, at);
    ok(peer_of(w, 0, 1) == NULL, "nothing was");
    ok(world_free(w), "no byte leaked");
}

static void test_rest(void)
{
    /* Goal: nodes that have nothing to say to each other cost little, and no timers. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    size_t used;
    int i;

    used = n->mem.used;
    announce(n, 3, 99999);
    ok(n->mem.used == used, "an idle node: %d bytes", (int)(n->mem.used - used));
    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    for (i = 0; i < 200; i++)
        check(send_size(n, 3, 1000, 0, 0, 0) == 0, "sent");
    check(settle(w), "settles");
    used = n->mem.used;
    turns(w, 30, PHX__SECOND);
    ok(used - n->mem.used > 8192, "buffers are given back after a while: %d",
       (int)(used - n->mem.used));
    for (i = 0; i < NODES; i++)
        check(phx__timer_next(&w->node[i].timers) == UINT64_MAX, "no timer is left at %d", i);
    ok(n->mem.used < 4096 && w->node[1].mem.used < 4096, "a flow at rest: %d bytes, a relay %d",
       (int)n->mem.used, (int)w->node[1].mem.used);
    ok(world_free(w), "no byte leaked");
}

static void test_oneself(void)
{
    /* Goal: messages to oneself cost no memory once there have been such, alone, many in a step, with
     * tokens, and each sent when the one before comes; and names may move away meanwhile. Method: the
     * allocations of each kind's last rounds are counted. */
    enum { LONE, MANY, TOLD, CHAIN, KINDS, ROUNDS = 60 };
    static const char *const kinds[KINDS] = { "alone", "many", "with tokens", "in a chain" };
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    uint64_t name, token = 0;
    long calls = 0;

    n->mem.spare_most = 1u << 20; /* as in a node */
    for (int kind = 0; kind < KINDS; kind++) {
        for (name = 0; name < NAMES; name++)
            all_see(w, (int)name, 0);
        for (int i = 0; i < ROUNDS; i++) {
            calls = i < ROUNDS / 2 ? n->heap.calls : calls;
            w->reply = kind == CHAIN ? 500 : 0;
            for (name = 0; name < (kind == LONE || kind == CHAIN ? 1 : NAMES); name++)
                check(send_size(n, name, (size_t)name * 273, kind == TOLD ? ++token : 0, 0, 0) == 0, "sent");
            turns(w, kind == CHAIN ? 600 : 1, 100);
        }
        ok(n->heap.calls == calls, "to oneself, %s: %ld allocations, promise 122", kinds[kind],
           n->heap.calls - calls);
        check(send_size(n, 1, 100, 0, 0, 0) == 0, "sent");
        all_see(w, 1, 2);
        check(send_size(n, 1, 100, 0, 0, 0) == 0 && settle(w), "sent on");
    }
    n->mem.spare_most = 0;
    phx__mem_drop_spares(&n->mem, UINT64_MAX);
    ok(no_errors(w) && n->post.pending.count == 0, "all came in order, and the last to where the name went");
    ok(world_free(w), "no byte leaked");
}

/* ---- What a message costs */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct bench {
    struct phx__post *to;
    uint8_t raw[1 << 16];
    size_t raw_size;
    struct phx__slices out;
    uint64_t got;
    struct phx__ack ack;
    int acked;
};

static uint32_t bench_owner(phx *ctx, uint64_t name)
{
    (void)ctx;
    (void)name;
    return 1;
}

static uint32_t bench_self(phx *ctx, uint64_t name)
{
    (void)ctx;
    (void)name;
    return PHX__SELF;
}

static uint32_t bench_next(phx *ctx, uint32_t node, uint32_t *generation)
{
    (void)ctx;
    *generation = 1;
    return node;
}

static int bench_random(phx *ctx, void *out, size_t size)
{
    (void)ctx;
    memset(out, 1, size);
    return 0;
}

static int bench_ack(phx *ctx, uint32_t node, const struct phx__ack *a, int gap)
{
    struct bench *b = (void *)ctx;

    (void)node;
    (void)gap;
    b->ack = *a;
    b->acked = 1;
    return 0;
}

static uint32_t bench_window(phx *ctx, uint32_t node)
{
    (void)ctx, (void)node;
    return 4u << 20;
}

static void bench_message(phx *ctx, const struct phx_message *m)
{
    struct bench *b = (void *)ctx;

    b->got += m->size;
}

static void bench(void)
{
    /* As a link would: pull into slices, copy them into a receive buffer, parse and hand over frame
     * by frame. */
    enum { BATCH = 500, ROUNDS = 400 };
    static struct bench a, b;
    struct node n[2];
    struct phx__post_limits limits = default_limits();
    struct phx_outgoing m;
    struct iovec iov;
    double t0, t[4] = { 0, 0, 0, 0 };
    long calls;
    uint64_t now = 1, version = 1;
    int i, r;

    limits.window = 4u << 20;
    memset(n, 0, sizeof n);
    for (i = 0; i < 2; i++) {
        struct phx__post_ops ops = { NULL, &now, bench_owner, &version, bench_next, bench_ack,
                                     bench_random, bench_message, op_done, op_writable, op_wants, op_segment,
                                     op_member, NULL, NULL, op_lost, op_calls, op_leads, NULL, op_unheld,
                                     bench_window };
        struct phx_id id;
        uint32_t index;

        ops.ctx = (void *)(i == 0 ? &a : &b);
        ops.owner = i == 0 ? bench_owner : bench_self;
        n[i].alloc.alloc = test_alloc;
        n[i].alloc.world = &n[i].heap;
        phx__mem_init(&n[i].mem, &n[i].alloc, 0);
        phx__id_init(&n[i].ids, &n[i].mem, 100);
        phx__timer_init(&n[i].timers, &n[i].mem);
        id = id_of(i);
        (void)phx__id_add(&n[i].ids, &id, &index);
        id = id_of(1 - i);
        (void)phx__id_add(&n[i].ids, &id, &index);
        (void)phx__post_init(&n[i].post, &n[i].mem, &n[i].ids, &n[i].timers, &limits, &ops);
    }
    /* wants must not look into a struct node here */
    n[0].post.ops.wants = n[1].post.ops.wants = op_wants;
    n[0].post.ops.ctx = (void *)&a;
    phx__buf_slices_init(&a.out, &n[0].mem);
    memset(&m, 0, sizeof m);
    m.iov = &iov;
    m.iov_count = 1;
    iov.iov_base = &limits;
    iov.iov_len = 8;
    calls = 0;
    for (r = 0; r < ROUNDS; r++) {
        struct phx__frame f;
        size_t used, at;

        if (r == 10)
            calls = n[0].heap.calls + n[1].heap.calls;
        t0 = seconds();
        for (i = 0; i < BATCH; i++)
            (void)phx__post_send(&n[0].post, &m);
        t[0] += seconds() - t0;
        t0 = seconds();
        while (phx__post_sched_pull(&n[0].post, 1, &a.out, 1u << 20) > 0)
            continue;
        t[1] += seconds() - t0;
        while (a.out.bytes > 0) {
            struct iovec one;

            phx__buf_slices_iov(&a.out, &one, 1);
            memcpy(a.raw + a.raw_size, one.iov_base, one.iov_len);
            a.raw_size += one.iov_len;
            phx__buf_slices_take(&a.out, one.iov_len);
        }
        t0 = seconds();
        for (at = 0; phx__wire_parse(a.raw + at, a.raw_size - at, &f, &used) == 1; at += used)
            (void)phx__post_recv_data(&n[1].post, a.raw + at, used, &f);
        (void)phx__post_run(&n[1].post);
        t[2] += seconds() - t0;
        a.raw_size = 0;
        t0 = seconds();
        if (b.acked)
            phx__post_recv_ack(&n[0].post, &b.ack, 0);
        (void)phx__post_run(&n[0].post);
        t[3] += seconds() - t0;
        now += 100;
    }
    calls = n[0].heap.calls + n[1].heap.calls - calls;
    phx__post_settle(&n[1].post);
    phx__post_recv_ack(&n[0].post, &b.ack, 0);
    ok(b.got == (uint64_t)8 * BATCH * ROUNDS && n[0].post.pending.bytes == 0,
       "the benchmark's messages arrive");
    printf(
        "# per 8-byte message, ns: send %.0f, pull %.0f, data %.0f, ack %.0f; allocations %.4f\n",
        t[0] * 1e9 / BATCH / ROUNDS, t[1] * 1e9 / BATCH / ROUNDS, t[2] * 1e9 / BATCH / ROUNDS,
        t[3] * 1e9 / BATCH / ROUNDS, (double)calls / BATCH / (ROUNDS - 10));
    phx__buf_slices_free(&a.out);
    for (i = 0; i < 2; i++) {
        phx__post_free(&n[i].post);
        phx__id_free(&n[i].ids);
        phx__timer_free(&n[i].timers);
        check(test_heap_is_clean(&n[i].heap), "clean");
    }
}

int main(void)
{
    test_oom();
    test_past_flow();
    test_past_life(0);
    test_past_life(1);
    test_past_busy();
    test_rest();
    test_oneself();
    bench();
    return test_end();
}
