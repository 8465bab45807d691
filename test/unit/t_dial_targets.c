/* t_dial_targets.c - hubs and known nodes: links, new addresses, memory, and a long random run. */
#include "dial_rig.h"

static void test_hub(void)
{
    /* Goal: a hub is a place: whoever answers there is it, and while that node is linked,
     * however, nobody dials. Method: one hub, two incarnations of it. */
    struct rig *r = rig_new(10, 64, 14);
    uint32_t first = rig_node(r), second = rig_node(r), i, bad = 0;
    struct phx_address at = v6(1, 7000);
    uint64_t wait, longest = 0;

    rig_hub(r, 1);
    rig_wait(r);
    rig_up(r, r->last.slot, first);
    for (i = 0; i < 200; i++) {
        rig_pass(r, 10 * SECOND);
        phx__dial_down(&r->d, first, 0);
        wait = rig_wait(r);
        bad += wait > RETRY_MIN;
        longest = wait > longest ? wait : longest;
        rig_up(r, r->last.slot, first);
    }
    ok(bad == 0 && longest > RETRY_MIN * 9 / 10, "a lost link is made again after 0..50 ms");
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, first, 0);
    rig_up(r, PHX__NONE, first);
    ok(rig_wait(r) == UINT64_MAX, "unless the hub dials us");
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, first, 0);
    rig_wait(r);
    rig_up(r, r->last.slot, second);
    ok(r->d.targets.at[0].node == second && rig_wait(r) == UINT64_MAX,
       "another node answers there: it is the hub");
    rig_up(r, PHX__NONE, first);
    phx__dial_down(&r->d, first, 0);
    ok(rig_wait(r) == UINT64_MAX, "and the first one is nothing to it");
    rig_says(r, second, &at, 1);
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, second, 0);
    rig_pass(r, 5 * SECOND);
    ok(r->open_count == 1, "hub and node at one address: one dial, not two");
    rig_check(r);
    rig_free(r);
}

static void test_hub_limits(void)
{
    /* Goal: the edges of phx__dial_hub. Method: no address, the same hub again, 64 and one more. */
    struct rig *r = rig_new(10, 64, 15);
    struct phx_address a[2];
    uint32_t i, bad = 0;

    a[0] = v4(1, 1);
    a[1] = v4(2, 1);
    ok(phx__dial_hub(&r->d, a, 0) == PHX_EINVAL, "a hub without an address");
    phx__dial_hub(&r->d, a, 2);
    a[0] = v4(2, 1);
    a[1] = v4(1, 1);
    ok(phx__dial_hub(&r->d, a, 2) == 0 && r->d.targets.hub_count == 1, "the same hub again");
    for (i = 1; i < 64; i++)
        bad += rig_hub(r, i) != 0;
    ok(bad == 0 && rig_hub(r, 1000) == PHX_ELIMIT, "64 hubs and no more");
    rig_free(r);
}

static void test_unhub(void)
{
    /* Goal: a hub that is forgotten is dialled no more, whatever it was doing, and others go on. Method:
     * three hubs, each forgotten in another state: at rest, being dialled, waiting behind a full set of
     * dials; a linked one; and one that comes back. */
    struct rig *r = rig_new(10, 1, 18);
    uint32_t node = rig_node(r);
    struct phx_address a[3], both[2];
    int i;

    for (i = 0; i < 3; i++) {
        a[i] = v6((uint32_t)i + 1, 7000);
        check(phx__dial_hub(&r->d, &a[i], 1) == 0, "hub %d", i);
    }
    both[0] = a[0];
    both[1] = a[1];
    ok(phx__dial_unhub(&r->d, both, 2) == PHX_ENOTFOUND && phx__dial_unhub(&r->d, a, 0) == PHX_ENOTFOUND,
       "a hub is all its addresses");
    rig_pass(r, 0);
    ok(r->open_count == 1 && phx__addr_equal(&r->last.to, &a[0]), "the first is being dialled");
    ok(phx__dial_unhub(&r->d, &a[1], 1) == 0 && r->d.targets.hub_count == 2, "one that waits is forgotten");
    rig_check(r);
    ok(phx__dial_unhub(&r->d, &a[0], 1) == 0 && r->open_count == 0, "one that is being dialled: given up");
    ok(phx__dial_unhub(&r->d, &a[0], 1) == PHX_ENOTFOUND, "it is there no more");
    rig_wait(r);
    ok(phx__addr_equal(&r->last.to, &a[2]), "the third has its turn");
    rig_up(r, r->last.slot, node);
    rig_pass(r, 5 * SECOND);
    ok(phx__dial_unhub(&r->d, &a[2], 1) == 0 && r->d.links == 1, "a linked one: the link stays");
    phx__dial_down(&r->d, node, 0);
    ok(rig_wait(r) == UINT64_MAX, "when it is lost nobody dials");
    check(phx__dial_hub(&r->d, &a[1], 1) == 0, "again");
    ok(rig_wait(r) == 0 && r->d.targets.count == 3, "what was forgotten may be a hub again, in old memory");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    ok(phx__dial_unhub(&r->d, &a[1], 1) == 0 && rig_wait(r) == UINT64_MAX, "one at rest");
    rig_check(r);
    rig_free(r);
}

static uint32_t slot_to(const struct rig *r, uint8_t last)
{
    for (uint32_t i = 0; i < r->open_count; i++)
        if (r->open[i].to.ip[3] == last)
            return r->open[i].slot;
    return PHX__NONE;
}

static void test_asks_for_hubs(void)
{
    /* Promise 39. Goal: the host is asked for hubs if there is no link and none of those that there are
     * answers, and once in RETRY_MAX at most. Method: no hub, a silent one, one that refuses beside it,
     * links that come and go, a goodbye; and nobody who is to be asked. */
    struct rig *r = rig_new(10, 64, 20);
    uint32_t node = rig_node(r), other = rig_node(r), i;
    uint64_t at;

    rig_pass(r, 100 * SECOND);
    phx__dial_ask_for_hubs(&r->d);
    rig_pass(r, 0);
    ok(r->asked == 1 && r->asked_at == 101 * SECOND, "without a hub: at once");
    rig_pass(r, 10 * RETRY_MAX);
    ok(r->asked == 11 && r->asked_at == r->now, "and then each RETRY_MAX");
    rig_hub(r, 1);
    rig_pass(r, 2 * RETRY_MAX);
    ok(r->asked == 11 && r->open_count == 1, "a hub whose dial goes on may still answer");
    rig_fail(r, r->last.slot, PHX_ETIMEDOUT);
    rig_pass(r, 0);
    ok(r->asked == 12 && r->asked_at == r->now, "it does not: asked in that moment");
    rig_hub(r, 2);
    r->fail_port = 7000;
    rig_pass(r, 0);
    ok(r->asked == 12, "the next one fails at once, and it is too soon");
    at = r->now;
    rig_pass(r, RETRY_MAX);
    ok(r->asked == 13 && r->asked_at == at + RETRY_MAX, "RETRY_MAX after the last time");
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 100 * RETRY_MAX);
    ok(r->asked == 13, "nobody is asked while there is a link");
    rig_up(r, PHX__NONE, other);
    phx__dial_down(&r->d, node, 0);
    rig_pass(r, RETRY_MAX);
    ok(r->asked == 13, "or another one");
    phx__dial_down(&r->d, other, 0);
    rig_pass(r, 0);
    ok(r->asked == 14, "the last one is lost: asked at once");
    for (i = 0; i < 1000; i++) {
        rig_up(r, PHX__NONE, node);
        phx__dial_down(&r->d, node, 0);
        rig_pass(r, RETRY_MAX / 100);
    }
    ok(r->asked == 24, "links that come and go change nothing: %u", r->asked);
    r->fail_port = 0;
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 2 * RETRY_MAX);
    check(rig_hub(r, 3) == 0, "a hub");
    phx__dial_down(&r->d, node, 0);
    rig_pass(r, 0);
    ok(r->asked == 24, "one that has not failed yet, it waits for that one alone");
    check(phx__dial_unhub(&r->d, (struct phx_address[]){ v6(3, 7000) }, 1) == 0, "unhub");
    rig_pass(r, 0);
    ok(r->asked == 25, "or until that one is forgotten");
    phx__dial_stop(&r->d);
    rig_pass(r, 10 * RETRY_MAX);
    ok(r->asked == 25, "nobody is asked by a node that leaves");
    rig_free(r);
    r = rig_new(10, 64, 21);
    rig_pass(r, RETRY_MAX);
    ok(phx__timer_next(&r->timers) == UINT64_MAX && r->asked == 0, "nobody is to be asked: no timer");
    while (r->timers.count < r->timers.capacity)
        check(phx__timer_new(&r->timers, PHX__TIMER_DIAL, 0, &node) == 0, "no room to spare");
    r->heap.fail_at = 1;
    r->heap.calls = 0;
    ok(phx__dial_ask_for_hubs(&r->d) == PHX_ENOMEM, "no memory");
    rig_free(r);
    r = rig_new(100, 8, 7);
    check(phx__dial_ask_for_hubs(&r->d) == 0, "asks");
    rig_hub(r, 1);
    rig_hub(r, 2);
    node = rig_node(r);
    rig_pass(r, 100 * MS);
    rig_fail(r, slot_to(r, 1), PHX_ESELF);
    rig_up(r, slot_to(r, 2), node);
    rig_pass(r, SECOND);
    phx__dial_moved(&r->d);
    r->refuse = PHX_EREFUSED;
    phx__dial_down(&r->d, node, 0);
    rig_pass(r, RETRY_MAX);
    ok(r->asked > 0, "one that was this node itself rests, forgiven or not: it is no hope");
    rig_free(r);
}

static void test_flapping(void)
{
    /* Goal: a link that comes and goes does not burn. Method: a hub whose links live 10 ms, then
     * one that lives. */
    struct rig *r = rig_new(10, 64, 16);
    uint32_t node = rig_node(r), i;
    uint64_t begin = r->now, wait;

    rig_hub(r, 1);
    for (i = 0; i < 60; i++) {
        rig_wait(r);
        rig_up(r, r->last.slot, node);
        rig_pass(r, 10 * MS);
        phx__dial_down(&r->d, node, 0);
    }
    ok(r->now - begin > 300 * SECOND, "60 of them take more than five minutes");
    rig_wait(r);
    rig_up(r, r->last.slot, node);
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node, 0);
    wait = rig_wait(r);
    ok(wait <= RETRY_MIN, "one that lasts makes up for it");
    rig_free(r);
}

static void test_hub_leaves(void)
{
    /* Goal: a hub that says goodbye is not dialled while its link lasts, then for ever, and its
     * index may mean somebody else. Method: forget before and after down, then another node on
     * the same index. */
    struct rig *r = rig_new(10, 64, 17);
    uint32_t node = rig_node(r), again;

    rig_hub(r, 1);
    rig_wait(r);
    rig_up(r, r->last.slot, node);
    rig_pass(r, 5 * SECOND);
    phx__dial_forget(&r->d, node);
    ok(rig_wait(r) == UINT64_MAX, "goodbye, link still there: no dial");
    phx__dial_down(&r->d, node, 0);
    phx__dial_forget(&r->d, node);
    phx__id_drop(&r->ids, node);
    again = rig_node(r);
    ok(again == node && r->d.targets.at[0].node == PHX__NONE, "its index is free");
    rig_up(r, PHX__NONE, again);
    ok(rig_wait(r) <= RETRY_MIN, "a node with that index is not that hub");
    rig_up(r, r->last.slot, again);
    phx__dial_down(&r->d, again, 0);
    phx__dial_forget(&r->d, again);
    ok(r->d.targets.at[0].node == PHX__NONE, "the other way around");
    rig_wait(r);
    rig_up(r, r->last.slot, again);
    phx__dial_forget(&r->d, again);
    rig_says(r, again, NULL, 0);
    phx__dial_down(&r->d, again, 0);
    ok(r->d.targets.at[0].node == again, "it left, but came back before its link went: still the hub");
    phx__dial_forget(&r->d, 5000);
    rig_check(r);
    rig_free(r);
}

static void test_reset(void)
{
    /* Goal: a link and a new address end a long back-off. Method: twelve failures before each, then
     * one after. */
    struct rig *r = rig_new(10, 64, 27);
    struct phx_address a[2];
    uint32_t node = rig_node(r), i;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    rig_says(r, node, a, 1);
    for (i = 0; i < 12; i++) {
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EREFUSED);
    }
    rig_wait(r);
    rig_up(r, r->last.slot, node);
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node, 0);
    rig_wait(r);
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    ok(rig_wait(r) <= RETRY_MIN, "after a link the first wait is short");
    for (i = 0; i < 12; i++) {
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        rig_wait(r);
    }
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_says(r, node, a, 2);
    for (i = 0; i < 2; i++) {
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EREFUSED);
    }
    ok(rig_wait(r) <= RETRY_MIN, "also after a new address");
    phx__dial_due(&r->d);
    rig_check(r);
    rig_free(r);
}

static void test_news(void)
{
    /* Goal: news of a node end a long back-off, and are nothing for who is linked or unknown.
     * Method: twelve failures, news, one failure more. */
    struct rig *r = rig_new(10, 64, 29);
    uint32_t node = rig_known(r), i;

    for (i = 0; i < 12; i++) {
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EREFUSED);
    }
    rig_news(r, node);
    rig_check(r);
    rig_wait(r);
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    ok(rig_wait(r) <= RETRY_MIN, "the next wait is short again");
    rig_up(r, r->last.slot, node);
    rig_news(r, node);
    rig_news(r, 9999);
    ok(rig_wait(r) == UINT64_MAX, "linked or unknown: no dial");
    rig_free(r);
}

static void test_replace(void)
{
    /* Goal: a new list keeps what stays, ends what goes, tries what is new. Method: lists over the
     * addresses 1..4 in the middle of a round. */
    struct rig *r = rig_new(10, 64, 18);
    struct phx_address a[4], b[4];
    uint32_t node = rig_node(r), first;
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    a[2] = v4(3, 3);
    a[3] = v4(4, 4);
    rig_says(r, node, a, 2);
    rig_pass(r, 0);
    first = r->last.slot;
    b[0] = a[1];
    b[1] = a[0];
    rig_says(r, node, b, 2);
    ok(r->abandons == 0 && r->open_count == 1, "the same set in another order: nothing happens");
    b[1] = a[2];
    b[2] = a[0];
    rig_says(r, node, b, 3);
    rig_check(r);
    ok(r->abandons == 0 && r->open_count == 1, "one more: the slot goes on");
    ok(rig_wait(r) <= 20 * MS && r->last.to.port == 2, "and the round, sooner than planned");
    ok(rig_wait(r) == 250 * MS && r->last.to.port == 3, "then the new one");
    rig_says(r, node, &a[1], 2);
    ok(r->abandons == 1 && r->open_count == 2, "one less: its slot ends");
    phx__dial_result(&r->d, first, PHX_ESELF);
    rig_check(r);
    rig_fail(r, r->open[0].slot, PHX_EREFUSED);
    ok(r->d.targets.at[0].at[0].error == PHX_EREFUSED || r->d.targets.at[0].at[1].error == PHX_EREFUSED,
       "dials that moved find their address");
    rig_says(r, node, &a[1], r->open[0].to.port == 2 ? 1 : 2);
    rig_fail(r, r->open[0].slot, PHX_EREFUSED);
    rig_check(r);
    rig_wait(r);
    while (r->open_count > 0) {
        rig_fail(r, r->open[0].slot, PHX_EKEY);
        rig_pass(r, 0);
    }
    rig_pass(r, SECOND);
    rig_says(r, node, &a[3], 1);
    wait = rig_wait(r);
    ok(wait <= 20 * MS && r->last.to.port == 4, "a new address cuts a long wait short");
    rig_says(r, node, a, 0);
    ok(r->open_count == 0 && r->d.targets.known == 0 && rig_wait(r) == UINT64_MAX,
       "no addresses: all is over");
    rig_free(r);
}

static void test_replace_all(void)
{
    /* Goal: when only the addresses that go were still open, the round ends. Method: two
     * addresses, one has failed, the other one goes. */
    struct rig *r = rig_new(10, 64, 19);
    struct phx_address a[2];
    uint32_t node = rig_node(r);
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    rig_says(r, node, a, 2);
    rig_pass(r, 0);
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->open_count == 1 && r->last.to.port == 2, "the second is open");
    rig_says(r, node, a, 1);
    rig_check(r);
    wait = rig_wait(r);
    ok(r->abandons == 1 && wait >= RETRY_MIN / 2 && wait <= RETRY_MIN && r->last.to.port == 1,
       "back-off, then the first");
    r->d.listening = 1;
    r->wrong += rig_up(r, r->last.slot, node) != 0;
    rig_says(r, node, a, 2);
    ok(rig_wait(r) == UINT64_MAX, "linked: a new address is noted, not dialled");
    rig_check(r);
    rig_free(r);
}

static void test_slots(void)
{
    /* Goal: slots, timers and memory are used again. Method: 1000 nodes come and go one after
     * another. */
    struct rig *r = rig_new(10, 64, 21);
    uint32_t i, node;
    size_t used = 0;

    for (i = 0; i < 1000; i++) {
        node = rig_known(r);
        rig_pass(r, 0);
        phx__dial_forget(&r->d, node);
        phx__id_drop(&r->ids, node);
        if (i == 0)
            used = r->mem.used;
        rig_check(r);
    }
    ok(r->d.targets.count == 1 && r->mem.used == used, "one slot for a thousand nodes");
    ok(r->open_count == 0 && r->d.targets.known == 0 && r->d.targets.pick_count == 0,
       "and nothing is left of them");
    rig_free(r);
}

static void test_stop(void)
{
    /* Goal: after stop nothing is dialled. Method: stop in the middle, then every kind of event. */
    struct rig *r = rig_new(10, 2, 22);
    uint32_t i, node = rig_node(r), dials;

    for (i = 0; i < 5; i++)
        rig_known(r);
    rig_hub(r, 1);
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 0);
    dials = r->dials;
    phx__dial_stop(&r->d);
    ok(dials == 2 && r->open_count == 0, "what is under way is abandoned");
    phx__dial_down(&r->d, node, 0);
    rig_known(r);
    rig_hub(r, 2);
    phx__dial_want(&r->d, 2);
    phx__dial_forget(&r->d, 3);
    rig_pass(r, 1000 * SECOND);
    ok(r->dials == dials && phx__timer_next(&r->timers) == UINT64_MAX,
       "no dial and no timer any more");
    rig_check(r);
    rig_free(r);
}

/* A bit of everything. Failures for lack of memory are fine, inconsistency is not. */
static void memory_scenario(struct rig *r)
{
    struct phx_address a[3];
    uint32_t i, node;

    a[0] = v4(901, 1);
    a[1] = v4(902, 1);
    a[2] = v4(903, 1);
    phx__dial_hub(&r->d, a, 2);
    for (i = 0; i < 12; i++) {
        int err, known = (int)r->d.targets.known;
        a[2] = v4(i, 2);
        node = rig_node(r);
        if (node == PHX__NONE)
            continue;
        err = rig_says(r, node, &a[2], 1);
        r->wrong += err != 0 && ((int)r->d.targets.known != known || err != PHX_ENOMEM);
        rig_check(r);
        rig_pass(r, 100 * MS);
        if (i % 3 == 0 && r->open_count > 0)
            rig_up(r, r->open[0].slot, node);
        rig_check(r);
        err = rig_says(r, node, &a[i % 2], 2);
        r->wrong += err != 0 && err != PHX_ENOMEM;
        rig_check(r);
        rig_pass(r, 300 * MS);
        if (i % 4 == 1)
            phx__dial_down(&r->d, node, 0);
        phx__dial_want(&r->d, node + 1);
        if (i % 5 == 4)
            phx__dial_forget(&r->d, node);
        rig_check(r);
    }
}

static void test_memory(void)
{
    /* Goal: any allocation may fail. Method: the n-th one for every n, then all from the n-th
     * on, until the scenario asks for fewer. */
    long n, failed = 0;
    int from;

    for (from = 0; from < 2; from++) {
        for (n = 1; n < 1000; n++) {
            struct rig *r = calloc(1, sizeof *r);
            long calls;
            int err;
            if (r == NULL)
                exit(1);
            if (from)
                r->heap.fail_from = n;
            else
                r->heap.fail_at = n;
            err = rig_init(r, 6, 6, 4, 23);
            check(err == 0 || err == PHX_ENOMEM, "init says so");
            if (err == 0)
                memory_scenario(r);
            failed += r->heap.calls >= n;
            calls = r->heap.calls;
            rig_free(r);
            if (calls < n)
                break;
        }
    }
    ok(failed > 60, "%ld failures were survived", failed);
}

static void test_up_without_memory(void)
{
    /* Goal: a link that cannot be noted leaves no dial behind. Method: a hub's first link
     * with a node of a high index and no memory. */
    struct rig *r = rig_new(10, 1, 24);

    rig_hub(r, 1);
    rig_wait(r);
    r->heap.fail_from = r->heap.calls + 1;
    ok(rig_up(r, r->last.slot, 500) == PHX_ENOMEM && r->open_count == 0,
       "told, and the slot is over");
    ok(r->d.links == 0 && rig_wait(r) <= RETRY_MIN, "the hub is dialled again");
    rig_check(r);
    r->heap.fail_from = 0;
    ok(rig_up(r, r->last.slot, 500) == 0 && r->d.links == 1, "with memory it is fine");
    rig_free(r);
}

/* One random event. Nodes 1..n have n of 60 addresses, some of them shared. */
static void random_event(struct rig *r, uint32_t n)
{
    static const int errors[] = { PHX_EREFUSED, PHX_ETIMEDOUT, PHX_EDUPLICATE, PHX_EPEER, PHX_EKEY,
                                  PHX_EMFILE,   PHX_ESELF };
    uint32_t node = 1 + (uint32_t)phx__rnd_below(&r->dice, n), i, count;
    struct phx_address a[4];

    switch (phx__rnd_below(&r->dice, 12)) {
    case 0: case 1:
        count = (uint32_t)phx__rnd_below(&r->dice, 4);
        for (i = 0; i < count; i++)
            a[i] = v4((uint32_t)phx__rnd_below(&r->dice, 60), 1);
        rig_says(r, node, a, count);
        break;
    case 2: case 3: case 4:
        if (r->open_count == 0)
            break;
        i = (uint32_t)phx__rnd_below(&r->dice, r->open_count);
        if (r->open[i].expect != PHX__NONE && phx__rnd_below(&r->dice, 10) > 0)
            node = r->open[i].expect;
        if (phx__rnd_below(&r->dice, 2) == 0)
            phx__dial_meet(&r->d, r->open[i].slot, node);
        if (phx__rnd_below(&r->dice, 3) == 0)
            rig_up(r, r->open[i].slot, node);
        else
            rig_fail(r, r->open[i].slot, errors[phx__rnd_below(&r->dice, PHX__COUNT(errors))]);
        break;
    case 5:
        rig_up(r, PHX__NONE, node);
        break;
    case 6: case 7:
        phx__dial_down(&r->d, node, 0);
        break;
    case 8:
        phx__dial_want(&r->d, node);
        break;
    case 9:
        if (phx__rnd_below(&r->dice, 4) == 0)
            phx__dial_forget(&r->d, node);
        break;
    case 10:
        r->refuse = phx__rnd_below(&r->dice, 5) == 0 ? PHX_EUNREACH : 0;
        break;
    default:
        rig_pass(r, phx__rnd_below(&r->dice, 400 * MS));
        break;
    }
}

static void test_random(void)
{
    /* Goal: the invariants of rig_check and rig_dial after every event, and that all ends well.
     * Method: 50 nodes and 3 hubs, 5000 random events for each of 20 seeds and bounds, then
     * every dial succeeds. */
    static const uint32_t links[] = { 100, 100, 20, 5 };
    uint32_t seed, i, node, unlinked = 0, wrong = 0, dials = 0, before;

    for (seed = 0; seed < 20; seed++) {
        struct rig *r = rig_new(links[seed % 4], 1 + seed % 7, 1000 + seed);
        r->d.listening = seed % 2;
        for (i = 0; i < 50; i++)
            rig_node(r);
        for (i = 0; i < 3; i++)
            rig_hub(r, i);
        for (i = 0; i < 5000; i++) {
            random_event(r, 50);
            before = r->wrong;
            rig_check(r);
            if (before == 0 && r->wrong > 0)
                check(0, "seed %u: wrong after event %u", seed, i);
        }
        r->refuse = 0;
        for (node = 1; node <= 50; node++) {
            struct phx_address a = v4(1000 + node, 1);
            rig_says(r, node, &a, 1);
        }
        for (i = 0; i < 10000; i++) {
            while (r->open_count > 0)
                rig_up(r, r->open[0].slot,
                       r->open[0].expect == PHX__NONE ? 1 : r->open[0].expect);
            rig_pass(r, 100 * MS);
            rig_check(r);
        }
        unlinked += links[seed % 4] == 100 ? 50 - r->d.links : 0;
        wrong += r->wrong;
        dials += r->dials;
        rig_free(r);
    }
    ok(wrong == 0, "nothing was wrong in %u dials", dials);
    ok(unlinked == 0, "and where the mesh is full, everybody ends up linked");
}

int main(void)
{
    test_hub();
    test_hub_limits();
    test_unhub();
    test_asks_for_hubs();
    test_flapping();
    test_hub_leaves();
    test_reset();
    test_news();
    test_replace();
    test_replace_all();
    test_slots();
    test_stop();
    test_memory();
    test_up_without_memory();
    test_random();
    return test_end();
}
