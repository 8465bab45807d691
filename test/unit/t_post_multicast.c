/* t_post_multicast.c - one message to many names. */
/* Promise 70. */
#include "post_rig.h"

/* ---- One to many */

/* The next message of this node to each of the first names that other nodes, and itself, hold in
 * first..last; their numbers must be the same. */
static int cast(struct node *n, int first, int last, size_t size, uint64_t token, uint64_t limit)
{
    struct phx_range range;
    struct phx_cast c;
    uint8_t *data = malloc(size + 1);
    int i, k, err, members = 0, has[NODES] = {0};
    size_t at;

    memset(&c, 0, sizeof c);
    range.first = (uint64_t)first;
    range.last = (uint64_t)last;
    c.ranges = &range;
    c.ranges_count = 1;
    c.from = (uint64_t)n->self;
    c.tag = n->sent[first];
    c.token = token;
    c.time_limit_us = limit;
    for (at = 0; at < size; at++)
        data[at] = pattern(c.tag, at);
    c.data = data;
    c.size = size;
    err = phx__post_multicast_send(&n->post, &c);
    free(data);
    for (i = first; i <= last && err > 0; i++) {
        k = n->view[i];
        if ((k < 0 && first != last) || (k >= 0 && has[k]++ > 0))
            continue;
        members++;
        check(n->sent[i]++ == c.tag, "numbers");
    }
    check(err <= 0 || err == members, "%d members", err);
    return err;
}

/* Routes along the lines a-b, ...: lines[x] is the neighbour of x towards node 0. */
static void tree(struct world *w, const int up[NODES])
{
    int from, to, x, hop;

    for (from = 0; from < NODES; from++) {
        for (to = 0; to < NODES; to++) {
            if (from == to)
                continue;
            /* below `from`: the child on the way; else upwards */
            hop = up[from];
            for (x = to; x != 0; x = up[x])
                if (up[x] == from)
                    hop = x;
            route(w, from, to, hop);
        }
    }
}

static void test_cast_links(void)
{
    /* Goal: a cast crosses each link of the tree of paths once, whatever its shape and whoever
     * casts; each node gets it once, whole. */
    static const int shapes[][NODES] = {{0, 0, 1, 2}, {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 0, 0, 1}};
    static const size_t sizes[] = {0, 10, 5000, 32768, 32769, 100000};
    size_t s, k;
    int from, a, b;

    for (s = 0; s < 4; s++) {
        struct world *w = world_new(1, NULL);
        uint64_t token = 0, bad = 0;

        tree(w, shapes[s]);
        for (a = 0; a < NAMES; a++)
            all_see(w, a, a % NODES);
        for (k = 0; k < 6; k++) {
            for (from = 0; from < NODES; from++) {
                uint64_t fragments = sizes[k] == 0 ? 1 : (sizes[k] - 1) / 32768 + 1;

                w->emitted = w->got = 0;
                memset(w->link, 0, sizeof w->link);
                check(cast(&w->node[from], 0, 11, sizes[k], ++token, 0) == NODES, "cast");
                turns(w, 60, 1000);
                bad += w->emitted != (NODES - 1) * fragments || w->got != NODES;
                for (a = 0; a < NODES; a++)
                    for (b = 0; b < NODES; b++)
                        bad += w->link[a][b] != 0 && w->link[a][b] != fragments;
                bad += w->token[token].count != NODES || w->member_left != 0;
            }
        }
        ok(bad == 0 && no_errors(w), "shape %d: N - 1 frames for each fragment", (int)s);
        ok(settle(w) && w->node[0].post.pending.bytes == 0 && w->node[0].post.outcomes.promised == 0,
           "nothing is left of it");
        ok(world_free(w), "no byte leaked");
    }
}

static void test_cast_order(void)
{
    /* Goal: casts and sends to one name keep their order, when frames are lost and names move, too;
     * every member has one outcome. */
    struct world *w = world_new(5, NULL);
    static const int line[NODES] = {0, 0, 1, 2};
    int i, k, round;
    uint64_t token = 0, members = 0;

    tree(w, line);
    for (i = 0; i < NAMES; i++)
        all_see(w, i, i % NODES);
    w->loss = 20;
    w->ack_loss = 100;
    w->ack_late = 300;
    for (round = 0; round < 200; round++) {
        /* The four names 0..3 have moved around, each to a node of its own. */
        for (k = 0; k < 4; k++)
            while (send_size(&w->node[0], (uint64_t)k, below(w, 3000), 0, 0, 0) != 0)
                turns(w, 1, 1000);
        while ((i = cast(&w->node[0], 0, 3, below(w, 4) == 0 ? 70000 : below(w, 500), token + 1, 0))
               == PHX_EAGAIN)
            turns(w, 1, 1000);
        check(i == NODES, "cast");
        token++;
        members += NODES;
        if (round % 5 == 4)
            for (k = 0; k < 4; k++)
                all_see(w, k, (round / 5 + k) % NODES);
        turns(w, (int)below(w, 3), 1000);
    }
    w->loss = w->ack_loss = w->ack_late = 0;
    ok(settle(w) && no_errors(w) && all_arrived(w), "once each, in order");
    for (i = 1; i <= (int)token; i++)
        members -= (uint64_t)w->token[i].count;
    ok(members == 0, "and an outcome for each");
    ok(world_free(w), "no byte leaked");
}

static void test_cast_ends(void)
{
    /* Goal: what a cast may be told: nothing there, no room, too large, a member that dies, is taken
     * back, or is late; a single name that nobody holds is waited for. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int i, held;

    ok(cast(n, 3, 9, 10, 1, 0) == PHX_ENOTFOUND && w->members == 0, "nobody");
    ok(cast(n, 3, 9, (2u << 20) + 1, 1, 0) == PHX_ETOOBIG, "too large");
    ok(cast(n, 3, 3, 10, 1, 0) == 1 && n->post.store.queued == 1, "one name that nobody has: held");
    all_see(w, 3, 2);
    turns(w, 30, 1000);
    ok(w->token[1].count == 1 && w->token[1].result == 0 && w->members == 1 && w->member_to[0] == 3
           && w->member_left == 0,
       "until somebody has");
    n->sent[3] = w->box[0][3].next = 0;
    for (i = 0; i < NODES; i++)
        all_see(w, 3 + i, i);
    w->node[1].hop[0] = -1; /* 1 gets it, but cannot say so */
    w->frozen = 1;
    ok(cast(n, 3, 6, 1000, 2, 0) == 4, "four members");
    turns(w, 2, 1000);
    ok(w->token[2].count == 1 && w->member_left == 3, "oneself has it at once");
    all_see(w, 4, -1);
    phx__post_box_failed(&n->post, as_seen(0, 1));
    (void)phx__post_run(&n->post);
    ok(w->token[2].count == 2 && w->member_result[2] == PHX_EFAILED && w->member_to[2] == 4
           && w->member_left == 2,
       "one has failed");
    w->frozen = 0;
    w->box[0][4].next = 0;
    turns(w, 300, 1000);
    ok(w->token[2].count == 4 && w->member_left == 0 && w->member_result[3] == 0
           && w->member_result[4] == 0,
       "the others have it");
    ok(world_free(w), "no byte leaked");

    w = world_new(1, NULL);
    n = &w->node[0];
    for (i = 0; i < NODES; i++)
        all_see(w, 3 + i, i);
    w->frozen = 1;
    for (i = 0; i < 100 && cast(n, 3, 6, 100000, 3, 0) > 0; i++)
        continue;
    held = (int)n->post.pending.count;
    ok(i == 3 && held == 12, "a member without room: none gets it (%d)", i);
    w->frozen = 0;
    turns(w, 60, 1000);
    ok(w->writable == 1 && w->got == 12 && w->token[3].count == 12, "and it is told when there is");
    /* Taken back, and too late. */
    w->frozen = 1;
    check(cast(n, 3, 6, 1000, 4, 0) == 4 && phx__post_box_cancel(&n->post, 4) == 0, "cast");
    (void)phx__post_run(&n->post);
    ok(w->token[4].count == 4 && w->token[4].result == PHX_ECANCELLED
           && n->post.pending.count == 0,
       "taken back, all of it");
    for (i = 3; i <= 6; i++)
        n->sent[i]--;
    check(cast(n, 3, 6, 1000, 5, 100000) == 4, "cast");
    turns(w, 200, 1000);
    w->frozen = 0;
    ok(w->token[5].count == 4 && w->token[5].result == PHX_EEXPIRED, "too late for all but oneself");
    turns(w, 500, 1000);
    ok(w->token[5].count == 4 && no_errors(w), "which is told once");
    ok(world_free(w), "no byte leaked");
}

/* To four names of four nodes; or to a range in which two nodes have more parts than there are nodes, so that
 * the others are looked for node by node. */
static void cast_without_memory(const int *owner, int last)
{
    int bad = 0, i, err = PHX_ENOMEM;
    long fail;

    for (fail = 1; fail < 1000 && bad == 0 && err < 0; fail++) {
        struct world *w = world_new(1, NULL);
        struct node *n = &w->node[0];

        for (i = 3; i <= last; i++)
            all_see(w, i, owner[i - 3]);
        check(send_size(n, 4, 10, 0, 0, 0) == 0, "sent");
        w->box[0][4].next = 0;
        n->sent[4] = 0;
        n->heap.fail_at = n->heap.calls + fail;
        err = cast(n, 3, last, 70000, 7, 0);
        n->heap.fail_at = 0;
        bad += err != NODES && err != PHX_ENOMEM;
        if (err == PHX_ENOMEM)
            bad += n->post.pending.count != 1 || n->post.outcomes.promised != 0
                   || n->post.store.queued != 0;
        turns(w, 200, 1000);
        bad += n->post.pending.count != 0 || n->post.pending.bytes != 0;
        bad += w->token[7].count != (err > 0 ? NODES : 0) || w->content_errors != 0;
        bad += w->got != (err > 0 ? NODES + 1u : 1u);
        if (bad)
            printf("# allocation %ld: %d, got %d, %d outcomes\n", fail, err, (int)w->got,
                   w->token[7].count);
        bad += !world_free(w);
    }
    ok(bad == 0 && err > 0 && fail > 10, "%d allocations fail", (int)fail - 2);
}

static void test_cast_memory(void)
{
    /* Goal: a cast that memory ends in is none at all, wherever that is. */
    static const int four[] = { 0, 1, 2, 3 }, parts[] = { 0, 1, 0, 1, 0, 1, 0, 1, 2, 1, 3 };

    cast_without_memory(four, 6);
    cast_without_memory(parts, 13);
}

static void test_cast_hostile(void)
{
    /* Goal: lists that no honest node sends do no harm: oneself twice, others twice, nobody known, the
     * sender itself; and hops end. */
    struct world *w = world_new(1, NULL);
    static uint8_t raw[PHX__FRAME_MAX];
    const int flags = (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    static const int targets[] = {1, 1, 2, 2, 2, 0, 77, 3, 1};
    struct phx__writer wr;
    struct phx__frame f;
    struct phx__data d;
    size_t start, used, i;
    int hops;

    for (i = 0; i < NODES; i++)
        all_see(w, 3 + (int)i, (int)i);
    route(w, 1, 3, 2);
    for (hops = 1; hops <= 2; hops++) {
        memset(&d, 0, sizeof d);
        d.source = id_of(0);
        d.epoch = 5;
        d.total = d.size = 4;
        d.number = d.tag = (uint64_t)hops - 1;
        phx__buf_writer_init(&wr, raw, sizeof raw);
        start = phx__wire_data_begin_cast(&wr, flags, hops, 9);
        for (i = 0; i < 9; i++) {
            d.target = id_of(targets[i]);
            d.to = 3 + (uint64_t)targets[i] % 8;
            phx__wire_data_put_cast_line(&wr, flags, &d);
        }
        phx__wire_data_end_cast(&wr, start, flags, &d);
        for (i = 0; i < 4; i++)
            phx__buf_put_u8(&wr, pattern(d.tag, i));
        check(!wr.bad && phx__wire_parse(raw, wr.size, &f, &used) == 1, "parses");
        w->emitted = 0;
        check(phx__post_recv_multicast(&w->node[1].post, &f) == 0, "taken");
        turns(w, 5, 1000);
        ok(w->box[0][4].next == (uint64_t)hops && w->order_errors == 0, "what is ours, once");
        ok(w->emitted == (hops == 1 ? 0 : 2u), "and what is not goes on, once per neighbour: %d",
           (int)w->emitted);
    }
    ok(w->box[0][5].next == 0, "a number too high is not taken there");
    for (used = 0; used < wr.size; used++) {
        f.size = used < 8 ? 0 : used - 8;
        check(f.size < 2 + 9 * 44 + 40 ? phx__post_recv_multicast(&w->node[1].post, &f) != 0 : 1,
              "cut off at %d", (int)used);
    }
    ok(world_free(w), "no byte leaked");
}

int main(void)
{
    test_cast_links();
    test_cast_order();
    test_cast_ends();
    test_cast_memory();
    test_cast_hostile();
    return test_end();
}
