/* t_tree.c - the tree of agents: every operation against a model, exact counts, and agents that die. */
/* Promises 93 and 99. */
#include "test.h"
#include "tree_net.h"

static struct la_tree_stats stats_of(const struct net *n, uint32_t agent)
{
    struct la_tree_stats st;

    la_tree_stats(n->a[agent].tree, &st);
    return st;
}

static void test_barrier(void)
{
    /* Goal: an empty barrier costs 2(n - 1) messages. Method: trees of several sizes and degrees. */
    static const uint32_t agents[] = { 1, 2, 3, 10, 64, 640 }, degrees[] = { 2, 3, 5, 32 };
    uint32_t i, k, bad = 0;

    for (i = 0; i < 6; i++)
        for (k = 0; k < 4; k++) {
            struct net *n = net_new(agents[i], degrees[k], 1, 0, i * 10 + k);
            n->kinds = LA_BARRIER;
            n->operations = 1;
            net_run(n);
            bad += !net_is_through(n) || n->messages != 2 * (agents[i] - 1) || n->wrong > 0;
            net_free(n);
        }
    ok(bad == 0, "2(n - 1) messages: %u trees of 24 are wrong", bad);
}

static void test_operations(void)
{
    /* Goal: every operation with every root gives what the model says. Method: 1 to 60 agents with 1 to 3
     * ranks, degrees 2, 3, 5, 32, 20 operations drawn, queues long and short, orders drawn. */
    static const uint32_t degrees[] = { 2, 3, 5, 32 };
    uint64_t wrong = 0, lost = 0;
    uint32_t seed, stuck = 0, memory = 0;

    for (seed = 0; seed < 120; seed++) {
        struct net *n = net_new(1 + seed % 60, degrees[seed % 4], 4, seed % 3 == 0, seed);
        n->operations = 20;
        n->most = seed % 5 == 0 ? 2 : 0;
        net_run(n);
        stuck += !net_is_through(n);
        wrong += n->wrong;
        lost += n->lost;
        if (n->wrong + n->lost > 0 || !net_is_through(n))
            printf("# seed %u: wrong %u lost %u\n", (unsigned)seed, (unsigned)n->wrong, (unsigned)n->lost);
        net_free(n);
        (void)memory;
    }
    ok(stuck == 0 && wrong == 0 && lost == 0, "wrong %u, lost %u, hung %u", (unsigned)wrong,
       (unsigned)lost, stuck);
}

static void test_exchange(void)
{
    /* Goal: bytes into an agent are at most 1.1 times its children's records and the result; memory stays
     * below 1 MiB. Method: 640 agents, degree 25, each with 16 values of 430 bytes in one record's worth. */
    struct net *n = net_new(640, 25, 1, 0, 5);
    size_t result = 640u * 16 * (430 + 24), most = 0, memory = 0;
    double worst = 0, share;
    uint32_t i;

    n->kinds = LA_FENCE;
    n->size = 16 * (430 + 24);
    n->operations = 1;
    net_run(n);
    for (i = 0; i < n->agents; i++) {
        size_t below = (n->a[i].end - i - 1) * (size_t)n->size;
        share = (double)stats_of(n, i).bytes_in / (double)(below + (i == 0 ? 0 : result));
        worst = share > worst ? share : worst;
        most = stats_of(n, i).bytes_in > most ? stats_of(n, i).bytes_in : most;
        memory = stats_of(n, i).memory_most > memory ? stats_of(n, i).memory_most : memory;
    }
    ok(net_is_through(n) && n->wrong == 0, "all have all");
    ok(worst <= 1.1, "bytes in / (children's + result): %.4f", worst);
    ok(memory <= 1u << 20, "memory of an agent at most: %u KiB", (unsigned)(memory >> 10));
    net_free(n);
}

static void test_events(void)
{
    /* Goal: events come in order and once, up and down, to all and to one. Method: 40 agents; each sends
     * 20 up, the root 20 to all and 20 to one of them. */
    int go_on;

    for (go_on = 0; go_on < 2; go_on++) {
        struct net *n = net_new(40, 3, 1, go_on, 9);
        uint32_t i, k, bad = 0;
        for (k = 0; k < 20; k++) {
            for (i = 0; i < 40; i++)
                bad += net_say_up(&n->a[i], k) != 0;
            bad += net_say_down(&n->a[0], LA_ALL, 2 * k + 1) != 0;
            bad += net_say_down(&n->a[0], 17, 2 * k + 2) != 0;
            for (i = 0; i < 10; i++)
                (void)net_deliver(n);
        }
        net_run(n);
        for (i = 0; i < 40; i++)
            bad += n->a[i].ups[1] != 20 || n->a[i].downs != (i == 17 ? 40u : 20u);
        ok(bad == 0 && n->wrong == 0, "go_on %d: all events, in order", go_on);
        net_free(n);
    }
}

static void test_large(void)
{
    /* Goal: the largest event gets through, whatever small ones went before it and are not credited yet.
     * Method: 13 agents in a line; each sends one small and two large ones up, the root down. */
    struct net *n = net_new(13, 1, 1, 0, 9);
    static unsigned char large[LA_TREE_EVENT];
    uint32_t i, k, bad = 0;

    for (k = 0; k < 2; k++) {
        for (i = 0; i < 13; i++) {
            bad += k == 0 && net_say_up(&n->a[i], 0) != 0;
            bad += la_tree_up(n->a[i].tree, NET_LARGE, large, sizeof large) != 0;
        }
        bad += k == 0 && net_say_down(&n->a[0], LA_ALL, 1) != 0;
        bad += la_tree_down(n->a[0].tree, LA_ALL, NET_LARGE, large, sizeof large) != 0;
        net_run(n);
    }
    for (i = 0; i < 13; i++)
        bad += n->a[i].ups[1] != 1 || n->a[i].ups[4] != 2 || n->a[i].ups[5] != 2;
    ok(bad == 0 && n->wrong == 0, "all of them come (%u bad)", bad);
    net_free(n);
}

static void test_keys(void)
{
    /* Goal: one key that all get costs at most 2(n - 1) messages, also when they ask at once. Method: 64
     * agents, the last puts, a barrier, all get it twice; then one that nobody has. */
    struct net *n = net_new(64, 5, 1, 0, 3);
    uint64_t before;
    uint32_t i, bad = 0;

    n->kinds = LA_BARRIER;
    n->operations = 1;
    n->a[63].finds = 1;
    ok(la_tree_put(n->a[63].tree, NET_JOB, "k0", n->keys[0][1]) == 0, "put");
    net_run(n);
    before = n->messages;
    for (i = 0; i < 64; i++) {
        bad += la_tree_get(n->a[i].tree, NET_JOB, "k0", 1000) != 0;
        bad += la_tree_get(n->a[i].tree, NET_JOB, "k0", 1000) != 0;
    }
    net_run(n);
    for (i = 0; i < 64; i++)
        bad += n->a[i].answers != 2;
    ok(bad == 0 && n->wrong == 0, "all have it");
    ok(n->messages - before <= 2 * 63, "messages: %u", (unsigned)(n->messages - before));
    before = n->messages;
    for (i = 0; i < 64; i++)
        bad += la_tree_get(n->a[i].tree, NET_JOB, "k0", 1000) != 0;
    net_run(n);
    ok(n->messages == before && bad == 0, "later from the own cache");
    for (i = 0; i < 64; i++)
        bad += la_tree_get(n->a[i].tree, NET_JOB, "k9", 1009) != 0;
    net_run(n);
    for (i = 0; i < 64; i++)
        bad += n->a[i].answers >> 32 != 1;
    ok(bad == 0 && n->wrong == 0, "one that nobody has: all are told so");
    net_free(n);
}

static void test_out(void)
{
    /* Goal: hosts that are out hold nobody up, and say so at most once each. Method: 40 agents; some are
     * out from the start, more after each operation; the others do all 8. */
    uint32_t seed, i, bad = 0;

    for (seed = 0; seed < 20; seed++) {
        struct net *n = net_new(40, 3, 1, seed & 1, seed);
        n->kinds = seed % 3 == 0 ? LA_BARRIER : LA_FENCE;
        n->operations = 8;
        for (i = 0; i < 40; i++)
            if (net_draw(n, 3) == 0) {
                n->a[i].out = net_draw(n, 9);
                if (n->a[i].out == 0)
                    bad += la_tree_out(n->a[i].tree, NET_JOB, 0) != 0;
            }
        while (net_step(n))
            for (i = 0; i < 40; i++)
                if (n->a[i].number == n->a[i].out && !n->a[i].in)
                    bad += la_tree_out(n->a[i].tree, NET_JOB, n->a[i].out) != 0;
        bad += !net_is_through(n) || n->lost > 0;
        net_free(n);
    }
    ok(bad == 0, "nobody hangs: %u", bad);
}

static void test_differ(void)
{
    /* Goal: two that differ are named, by the agent that sees it and by agent 0. Method: one leaf of 13
     * enters another operation. */
    struct net *n = net_new(13, 3, 1, 0, 4);
    struct la_coll c = { NET_JOB, 0, LA_BARRIER, 0, 0, 12 };
    uint32_t i, seers = 0;

    n->kinds = LA_BROADCAST;
    n->size = 10;
    n->operations = 1;
    n->a[12].in = 1;
    ok(la_tree_enter(n->a[12].tree, &c, NULL, 0) == 0, "enters");
    net_run(n);
    for (i = 1; i < 13; i++)
        seers += n->a[i].differs;
    ok(n->a[0].differs >= 1 && seers >= 1 && !net_is_through(n) && n->wrong == 0, "agent 0 and who saw it");
    net_free(n);
}

static void test_jobs(void)
{
    /* Goal: a job that runs beside the first one has its own numbers, and leaves nothing behind. Method: 20
     * agents in ten operations; a second job on half of them does five barriers meanwhile, and ends. */
    struct net *n = net_new(20, 3, 1, 0, 6);
    struct la_coll c = { 78, 0, LA_BARRIER, 0, 0, 0 };
    uint32_t i, bad = 0, in[20] = { 0 };

    n->operations = 10;
    for (i = 0; i < 20; i++) {
        bad += la_tree_job(n->a[i].tree, 78) != 0;
        if (i % 2)
            bad += la_tree_out(n->a[i].tree, 78, 0) != 0;
    }
    do {
        for (i = 0; i < 20; i += 2)
            if (in[i] == n->a[i].ups[3] && in[i] < 5) {
                c.number = in[i]++;
                bad += la_tree_enter(n->a[i].tree, &c, NULL, 0) != 0;
            }
    } while (net_step(n));
    for (i = 0; i < 20; i += 2)
        bad += n->a[i].ups[3] != 5;
    ok(bad == 0 && n->wrong == 0 && net_is_through(n), "both get through");
    c.number = 5;
    for (i = 0; i < 20; i++)
        la_tree_job_end(n->a[i].tree, 78);
    ok(la_tree_enter(n->a[0].tree, &c, NULL, 0) == PHX_EINVAL, "it is over");
    c.job = NET_JOB;
    c.number = 11;
    ok(la_tree_enter(n->a[0].tree, &c, NULL, 0) == PHX_EINVAL, "an operation out of turn");
    net_free(n);
}

static void test_abort(void)
{
    /* Goal: without go_on a lost parent is the end at once; a lost child holds the operation open. */
    struct net *n = net_new(13, 3, 1, 0, 4);

    la_tree_lost(n->a[1].tree, 0);
    ok(n->a[1].cut == 1, "cut off");
    la_tree_lost(n->a[0].tree, 1);
    n->a[1].alive = 0;
    n->kinds = LA_BARRIER;
    n->operations = 1;
    net_run(n);
    ok(!net_is_through(n) && n->a[0].number == 0 && n->wrong == 0, "nobody goes on without the others");
    net_free(n);
}

static void test_deaths(uint32_t seeds)
{
    /* Goal: whoever dies whenever, each operation completes once, with all that living hosts brought.
     * Method: up to 40 agents, degrees 2 to 5, operations drawn; agents killed, links cut at moments
     * drawn; events all the while. */
    uint64_t wrong = 0, lost = 0;
    uint32_t seed, stuck = 0, cut = 0, i, k;

    for (seed = 0; seed < seeds; seed++) {
        struct net *n = net_new(3 + seed % 38, 2 + seed % 4, 4, 1, seed);
        uint32_t kills = net_draw(n, 6), steps = 0, next = net_draw(n, 400), sent[NET_MOST] = { 0 };
        uint64_t bad;
        n->operations = 10;
        n->most = seed % 7 == 0 ? 3 : 0;
        for (;;) {
            if (!net_step(n) && !net_wait(n))
                break;
            i = net_draw(n, n->agents);
            if (steps % 16 == 0 && n->a[i].alive && sent[i] < 20) {
                (void)net_say_up(&n->a[i], sent[i]);
                sent[i]++;
            }
            if (++steps < next)
                continue;
            next = steps + 1 + net_draw(n, 300);
            i = 1 + net_draw(n, n->agents - 1);
            if (kills > 0 && n->a[i].alive) {
                kills--;
                if (net_draw(n, 3) == 0)
                    net_cut_link(n, i);
                else
                    net_kill(n, i);
            }
        }
        for (i = k = 0; i < n->agents; i++) {
            k += n->a[i].cut;
            n->lost += n->a[i].alive && n->a[i].ups[1] != sent[i];
        }
        bad = n->wrong + n->lost + !net_is_through(n) + k + (n->gone >= 1000000);
        if (bad > 0)
            printf("# seed %u: wrong %u lost %u cut %u gone %u %s\n", (unsigned)seed, (unsigned)n->wrong,
                   (unsigned)n->lost, (unsigned)k, (unsigned)n->gone, net_is_through(n) ? "" : "hung");
        wrong += n->wrong;
        lost += n->lost;
        stuck += !net_is_through(n);
        cut += k;
        net_free(n);
    }
    ok(wrong == 0 && lost == 0 && stuck == 0 && cut == 0, "%u seeds: wrong %u, lost %u, hung %u, cut off %u",
       (unsigned)seeds, (unsigned)wrong, (unsigned)lost, stuck, cut);
}

static void test_nonsense(void)
{
    /* Goal: whatever a neighbour sends, the tree says nonsense or goes on, and nothing else happens.
     * Method: messages of each type with random bytes, and true ones with one byte changed, to the root,
     * an inner agent and a leaf. */
    uint32_t seed, i, k, bad = 0, refused = 0;

    for (seed = 0; seed < 60; seed++) {
        struct net *n = net_new(13, 3, 1, (int)(seed & 1), seed);
        n->operations = 3;
        for (i = 0; i < 300; i++) {
            static const uint32_t to[] = { 0, 1, 12 }, from[] = { 1, 2, 9, 0 };
            unsigned char bytes[64];
            uint32_t size = net_draw(n, 65), type = net_draw(n, 18), w = net_draw(n, 3);
            int err;
            for (k = 0; k < size; k++)
                bytes[k] = (unsigned char)(net_draw(n, 2) ? net_draw(n, 14) : net_draw(n, 256));
            if (net_draw(n, 2) && size > 0)
                bytes[0] = NET_JOB;
            err = la_tree_recv(n->a[to[w]].tree, net_draw(n, 4) ? from[w] : net_draw(n, 15), type, bytes,
                               size);
            bad += err != 0 && err != PHX_EPROTO;
            refused += err != 0;
            (void)net_step(n);
        }
        while (n->q_count > 0 && n->q[0].head != NULL) { /* true ones, one byte changed */
            struct net_message *m = n->q[0].head;
            if (m->size > 0)
                m->data[net_draw(n, (uint32_t)m->size)] ^= (unsigned char)(1u << net_draw(n, 8));
            (void)la_tree_recv(n->a[n->q[0].to].tree, n->q[0].from, m->type, m->data, m->size);
            net_drop(&n->q[0]);
        }
        net_free(n);
    }
    ok(bad == 0 && refused > 1000, "refused: %u", refused);
}

int main(int argc, char **argv)
{
    test_barrier();
    test_operations();
    test_exchange();
    test_events();
    test_large();
    test_keys();
    test_out();
    test_differ();
    test_jobs();
    test_abort();
    test_nonsense();
    test_deaths(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 150);
    return test_end();
}
