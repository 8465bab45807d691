/* t_dead.c - nodes that failed or left: what is kept of them, and that they keep nobody out. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#include "../../src/node/state.h"
#include "../../src/node/base.h"
#endif

#include "raw.h"

static void begin_slow(struct node *m, const char *at, uint32_t max_nodes)
{
    struct phx_config c;

    settings(m, &c);
    hurry(&c);
    c.mem_limit = 16u << 20;
    c.max_nodes = max_nodes;
    begin_as(m, &c, at);
}

/* Goal: a newcomer is never refused for the sake of the dead (promises 36, 40). Method: max_nodes 20; sixty
 * members come and go, and one makes up fifty nodes before it goes. */
static void test_door(void)
{
    int i, links = 0;

    begin_slow(&n[0], LOOPBACK, 20);
    begin_slow(&n[1], NULL, 20);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    await(owns(&n[0], 2, &n[1]) && owns(&n[1], 1, &n[0]), PATIENCE);
    for (i = 0; i < 60; i++) {
        if (raw_link(&n[0]))
            links++;
        raw_finish();
        go_on(30 * MS); /* those before the last ten have failed */
    }
    ok(links == 60, "%d of 60 were let in", links);
    ok(stats(&n[0]).nodes <= 20, "and %u nodes are known", (unsigned)stats(&n[0]).nodes);
    raw_link(&n[0]);
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    for (i = 0; i < 50; i++) {
        put_fill(0x61, 12);
        put((uint64_t)i, 4);
        put(0, 8);
        put(1, 4);
        put(3, 1);
        put(0, 1);
        put(0, 4);
    }
    tail();
    raw_send();
    await(logged(&n[0], "entries dropped", "") > 0, PATIENCE);
    raw_finish();
    await(stats(&n[0]).links == 1, PATIENCE);
    ok(raw_link(&n[0]), "who was only heard of gives way as soon as it is unreachable");
    ok(honest(), "all goes on");
    raw_finish();
    finish_all(n, 2);
}

static int covers(const struct phx_lost *lost, size_t count, uint64_t name)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (lost[i].range.first <= name && name <= lost[i].range.last)
            return 1;
    return 0;
}

#define RANGES 2000u

/* Goal: of a node that fails little is kept, its names are broken, and when it is back all is known again
 * (promises 55, 57, 76). Method: one with many ranges of names is silent until it has failed, and then it is
 * not; its memory at the others is looked at. */
static void test_ranges(void)
{
    struct phx_lost lost[40];
    size_t count, before;
    uint64_t i;
    int k;

    begin_slow(&n[0], LOOPBACK, 2000);
    begin_slow(&n[1], LOOPBACK, 2000);
    begin_slow(&n[2], LOOPBACK, 2000);
    phx_join(n[1].p, n[0].at);
    phx_join(n[2].p, n[0].at);
    await(linked(&n[1], &n[2]) && linked(&n[0], &n[2]), PATIENCE);
    go_on(200 * MS);
    before = n[1].heap.bytes;
    for (i = 0; i < RANGES; i++)
        phx_assume(n[2].p, 100 + 10 * i, 104 + 10 * i);
    eventually(phx_names(n[1].p, &n[2].id, NULL, 0) == RANGES, "many names");
    for (k = 0; k < host_count && hosts[k] != &n[2]; k++)
        ;
    hosts[k] = hosts[--host_count]; /* it is not turned any more */
    eventually(told(&n[0], &n[2], PHX_NODE_FAILED) == 1 && told(&n[1], &n[2], PHX_NODE_FAILED) == 1,
               "it fails");
    count = phx_broken(n[1].p, 0, UINT64_MAX, lost, 40);
    ok(count == 33 && covers(lost, count, 100) && !covers(lost, count, 105) && covers(lost, count, 414)
           && covers(lost, count, 104 + 10 * (RANGES - 1)) && !covers(lost, count, 105 + 10 * (RANGES - 1)),
       "32 ranges are broken, and one for the rest");
    eventually(n[1].heap.bytes < before + 10000, "little is kept of it: %d bytes",
               (int)(n[1].heap.bytes - before));
    ok(phx_assume(n[1].p, 500, 500) == 0 && !covers(lost, phx_broken(n[1].p, 500, 500, lost, 40), 500),
       "somebody takes one of them");
    hosts[host_count++] = &n[2];
    eventually(phx_names(n[1].p, &n[2].id, NULL, 0) >= RANGES && owns(&n[1], 100 + 10 * (RANGES - 1), &n[2])
                   && owns(&n[0], 104, &n[2]) && owns(&n[2], 500, &n[1]) && owns(&n[2], 104, &n[2]),
               "it is back, with all its names but that one");
    ok(phx_broken(n[1].p, 0, UINT64_MAX, lost, 40) == 0 && phx_owner(n[1].p, 425 + 80, NULL) != 0,
       "and nothing is broken");
    finish_all(n, 3);
}

/* Makes up a node that was lost in that second. */
static void lose(phx *p, uint32_t second)
{
    struct phx__dest *d = NULL;
    struct phx_id id;
    uint32_t node;

    memset(&id, 0, sizeof id);
    memcpy(id.b, &second, sizeof second);
    if (check(phx__id_add(&p->ids, &id, &node) == 0 && phx__node_peer(p, node) == 0
                  && (d = phx__route_table_make(&p->route.table, node)) != NULL,
              "a node")) {
        d->flags |= PHX__DEST_KNOWN;
        d->since = second;
        p->route.known++;
    }
}

/* Goal: those lost first are forgotten, without a look at all for each second in which some were lost.
 * Method: 32,000 that were lost in as many seconds, in a mixed order; room is made for one more. */
static void test_thin(void)
{
    const uint32_t count = 32000;
    uint32_t i, node, wrong = 0, left;
    uint64_t began;
    struct phx_id id;
    struct phx_config c;

    settings(&n[0], &c);
    c.max_nodes = 2 * count;
    begin_as(&n[0], &c, NULL);
    for (i = 0; i < count; i++)
        lose(n[0].p, 1 + i * 7919 % count);
    n[0].p->ids.limit = n[0].p->ids.count;
    n[0].p->stats.steps++;
    if (n[0].p->now < 2 * count * SECOND)
        n[0].p->now = 2 * count * SECOND;
    memset(&id, 1, sizeof id);
    began = phx_now_us();
    phx__node_dead_make_room(n[0].p, &id);
    printf("# %d ms\n", (int)((phx_now_us() - began) / MS));
    ok(phx_now_us() - began < SECOND, "an eighth of 32,000 is found in a second");
    left = n[0].p->ids.count - 1;
    memset(&id, 0, sizeof id);
    for (i = 1; i <= count; i++) {
        memcpy(id.b, &i, sizeof i);
        node = phx__id_find(&n[0].p->ids, &id);
        wrong += (node == PHX__NONE) != (i <= count - left);
    }
    ok(left > count / 4 * 3 && left <= count / 8 * 7 + 1 && wrong == 0, "%d are left, the last ones",
       (int)left);
    finish(&n[0]);
}

static const struct test tests[] = {
    {"door", test_door},
    {"ranges", test_ranges},
    {"thin", test_thin},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
