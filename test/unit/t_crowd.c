/* t_crowd.c - many nodes at once: crowds at one hub, full meshes, nodes that dial each other.
 *
 * Goal: nobody is lost, exactly one link per pair, and nothing is left behind. Method: as t_node.c,
 * with as many nodes in this process as there are descriptors for. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "nodes.h"

static struct node n[256];

/* n[0] listens, and the others join it. */
static void begin_star(int count, const char *address, int listen)
{
    int i;

    begin(&n[0], address);
    for (i = 1; i < count; i++) {
        begin(&n[i], listen ? address : NULL);
        check(phx_join(n[i].p, n[0].at) == 0, "join");
    }
}

/* As many nodes as there are descriptors for, if each needs so many; if they are fewer, that is said. */
static int afford(int nodes, int each)
{
    struct rlimit limit;
    int most;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    most = limit.rlim_cur > 100000 ? nodes : ((int)limit.rlim_cur - 50) / each;
    if (most >= nodes)
        return nodes;
    ok(1, "%d nodes # SKIP there are descriptors for %d only", nodes, most);
    return most;
}

static void test_crowd(void)
{
    const int count = afford(200, 6);
    uint64_t start = phx_now_us();
    int i, lost = 0;

    begin_star(count, LOOPBACK, 0);
    for (i = 0; i < count; i++)
        phx_assume(n[i].p, (uint64_t)i, (uint64_t)i);
    await(settled(n, count), 4 * PATIENCE);
    for (i = 0; i < count; i++)
        lost += stats(&n[i]).reachable != (uint32_t)count;
    ok(lost == 0, "%d nodes dial one hub at once and lose nobody, promises 35, 44 (%d ms)", count,
       (int)((phx_now_us() - start) / MS));
    for (i = 1; i < count; i++)
        post(&n[i], (uint64_t)(count - i), 0, 10);
    await(0, MS);
    for (lost = count, start = phx_now_us(); lost > 0 && phx_now_us() - start < PATIENCE; turn(20))
        for (lost = 0, i = 1; i < count; i++)
            lost += !has_mail(&n[i], 1);
    ok(lost == 0, "everyone hears from somebody, promise 12");
    finish_all(n, count);
}

static void test_mesh(void)
{
    const int count = afford(40, 45);

    begin_star(count, LOOPBACK, 1);
    eventually(is_mesh(n, count), "%d nodes that listen become a full mesh, promise 37", count);
    kill_node(&n[0]);
    begin(&n[count], LOOPBACK);
    phx_join(n[count].p, n[1].at);
    eventually(stats(&n[count]).links == (uint32_t)count - 1,
               "without the hub it takes in another, promise 36");
    finish_all(n, count + 1);
}

/* Both name each other as hub, and step in the same instant. */
static int dial_both(int round, int step_first)
{
    int good, i;

    begin(&n[0], LOOPBACK);
    begin(&n[1], LOOPBACK);
    phx_join(n[0].p, n[1].at);
    phx_join(n[1].p, n[0].at);
    for (i = 0; i < step_first; i++)
        phx_step(n[round % 2].p, phx_now_us(), NULL, 0);
    await(linked(&n[0], &n[1]) && settled(n, 2), PATIENCE);
    for (i = 0; i < 5; i++)
        turn(1);
    good = linked(&n[0], &n[1]) && settled(n, 2) && phx_links(n[0].p, NULL, 0) == 1
           && told(&n[0], &n[1], PHX_NODE_UNREACHABLE) + told(&n[1], &n[0], PHX_NODE_UNREACHABLE)
                  == 0;
    if (!good)
        printf("# round %d: links %d and %d, %s\n", round, (int)phx_links(n[0].p, NULL, 0),
               (int)phx_links(n[1].p, NULL, 0), settled(n, 2) ? "settled" : "not settled");
    finish_all(n, 2);
    return good;
}

static void test_both_dial(void)
{
    int round, good = 0;

    for (round = 0; round < 200; round++)
        good += dial_both(round, round % 5);
    ok(good == 200, "200 rounds of two nodes that dial each other: one link in %d, promise 42",
       good);
}

static void test_many(void)
{
    int i, before = open_fds(), close_on_exec = 1;
    char was[4096];

    for (i = 0; i < 4096; i++)
        was[i] = fcntl(i, F_GETFD) >= 0;
    if (afford(100, 6) < 100)
        return;
    for (i = 0; i < 100; i++)
        begin(&n[i], i % 10 == 0 ? LOOPBACK : NULL);
    for (i = 1; i < 100; i++)
        phx_join(n[i].p, n[i / 10 * 10 == i ? 0 : i / 10 * 10].at);
    await(settled(n, 100), 2 * PATIENCE);
    ok(settled(n, 100), "100 nodes in one process, promise 121");
    for (i = 0; i < 4096; i++)
        close_on_exec &= was[i] || fcntl(i, F_GETFD) < 0 || (fcntl(i, F_GETFD) & FD_CLOEXEC);
    ok(close_on_exec, "all their descriptors are close-on-exec, promise 124");
    finish_all(n, 100);
    ok(open_fds() == before, "no descriptor is left, promise 121");
}

static const struct test tests[] = {
    {"both_dial", test_both_dial}, {"mesh", test_mesh}, {"crowd", test_crowd},
    {"many", test_many},           {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
