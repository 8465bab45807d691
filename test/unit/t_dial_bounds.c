/* t_dial_bounds.c - bounds: dials under way, links, picks, the rate of a host. */
#include "dial_rig.h"

static void test_max_dials(void)
{
    /* Goal: never more than max_dials, and in the order of due. Method: 20 nodes through a gate
     * of 4. */
    struct rig *r = rig_new(100, 4, 6);
    uint32_t i, node[20], order = 0;

    for (i = 0; i < 20; i++)
        node[i] = rig_known(r);
    rig_pass(r, 0);
    ok(r->open_count == 4, "four at once");
    for (i = 0; i < 4; i++)
        phx__dial_answered(&r->d, r->open[i].slot, 1);
    rig_pass(r, 3 * SECOND);
    ok(r->dials == 4, "and no more while they last");
    rig_check(r);
    rig_up(r, r->open[0].slot, node[0]);
    rig_pass(r, 0);
    ok(r->dials == 5 && r->last.expect == node[4], "one ends, the next one starts");
    rig_up(r, PHX__NONE, node[5]);
    rig_fail(r, r->open[0].slot, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->dials == 6 && r->last.expect == node[6], "who is linked meanwhile leaves the queue");
    /* Two end at one moment, and the one whose turn is called leaves before it comes. */
    rig_up(r, r->open[0].slot, r->open[0].expect);
    rig_up(r, r->open[0].slot, r->open[0].expect);
    phx__dial_forget(&r->d, node[7]);
    rig_pass(r, 0);
    ok(r->dials == 8 && r->last.expect == node[9], "and leaves no gap");
    for (i = 10; i < 20; i++) {
        rig_up(r, r->open[0].slot, r->open[0].expect);
        rig_pass(r, 0);
        order += r->last.expect != node[i];
        rig_check(r);
    }
    ok(order <= 1, "all in order, but for the one that failed and came back");
    rig_free(r);
}

static void test_give_way(void)
{
    /* Goal: addresses behind a wall, where nobody ever answers, do not keep one waiting that would; and
     * without anybody waiting each has all its time. Method: 100 such nodes and then a good one, through
     * a gate of 16; then nobody else. */
    struct rig *r = rig_new(1000, 16, 61);
    uint32_t i, good, late = 0, most = 0;

    for (i = 0; i < 16; i++)
        rig_known(r);
    rig_pass(r, 0);
    rig_pass(r, 10 * SECOND);
    ok(r->open_count == 16 && r->dials == 16 && r->abandons == 0, "nobody waits: nobody gives way");
    good = rig_known(r);
    rig_pass(r, 0);
    ok(r->last.expect == good && r->abandons == 1, "the first who waits has a place at once");
    phx__dial_answered(&r->d, r->last.slot, 1);
    for (i = 0; i < 100; i++)
        rig_known(r);
    good = rig_known(r);
    for (i = 0; i < 1000 && r->last.expect != good; i++) {
        rig_pass(r, 10 * MS);
        most = r->open_count > most ? r->open_count : most;
        late += r->last.expect != good;
    }
    ok(most == 16 && late * 10 * MS < 12500 * MS,
       "a hundred walls hold up a good address for %u ms: each gets an answer's time", late * 10);
    ok(phx__dial_slot_find(&r->d.slots, r->open[0].slot) != NULL, "what answered stays");
    rig_pass(r, 0);
    rig_check(r);
    rig_free(r);
}

static void test_dead_beyond(void)
{
    /* Goal: the dead, however many are known, do not keep those that can be reached from a full mesh (promise
     * 40); above max_links of these the picks do, and when some are lost the mesh is full again. Method:
     * 40 dead ones and 15 that are reached through others, max_links 20. */
    struct rig *r = rig_new(20, 64, 62);
    uint32_t node[25];
    int i, linked;

    r->refuse = PHX_ETIMEDOUT;
    for (i = 0; i < 40; i++)
        rig_known(r);
    rig_pass(r, 60 * SECOND);
    r->refuse = 0;
    for (i = 0; i < 25; i++) {
        struct phx_address a;

        node[i] = rig_node(r);
        a = v4(node[i], 7000);
        check(rig_says(r, node[i], &a, 1) == 0, "addresses");
        phx__dial_route(&r->d, node[i], i < 15);
    }
    for (linked = 0; r->dials < 100000 && rig_wait(r) < 120 * SECOND;) {
        if (r->last.expect >= node[0] && r->last.expect < node[15]) {
            linked++;
            rig_up(r, r->last.slot, r->last.expect);
        } else {
            rig_fail(r, r->last.slot, PHX_EREFUSED);
        }
        if (linked == 15)
            break;
    }
    ok(linked == 15, "%d of 15 are linked", linked);
    for (i = 0; i < 15; i++)
        phx__dial_down(&r->d, node[i], 0);
    for (i = 15; i < 25; i++)
        phx__dial_route(&r->d, node[i], 1);
    rig_check(r);
    for (i = 18; i < 25; i++)
        phx__dial_route(&r->d, node[i], 0);
    for (i = 0; i < 25; i++)
        linked += phx__dial_target_in_mesh(&r->d.targets, node[i], 20);
    ok(linked == 15 + 18, "%d of 18 may be dialled", linked - 15);
    rig_free(r);
}

/* Runs an hour in which all dials fail at once; how many different nodes were dialled. */
static uint32_t count_dialled(struct rig *r, uint8_t *seen, uint32_t size)
{
    uint64_t until = r->now + 3600 * SECOND;
    uint32_t i, count = 0;

    memset(seen, 0, size);
    while (phx__timer_next(&r->timers) <= until) {
        rig_run(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
        while (r->open_count > 0) {
            if (r->open[0].expect < size)
                seen[r->open[0].expect] = 1;
            rig_fail(r, r->open[0].slot, PHX_EREFUSED);
        }
    }
    r->now = until;
    for (i = 0; i < size; i++)
        count += seen[i];
    return count;
}

static void test_max_links(void)
{
    /* Goal: the mesh is full up to max_links and sparse beyond. Method: 100 nodes and max_links
     * 20; wants, goodbyes and links, and each time who is dialled. */
    struct rig *r = rig_new(20, 64, 7);
    uint8_t seen[200], before[200];
    uint32_t node[100], i, same = 0, extra, pick;

    for (i = 0; i < 20; i++)
        node[i] = rig_known(r);
    ok(count_dialled(r, seen, 200) == 20, "20 of 20");
    for (; i < 100; i++)
        node[i] = rig_known(r);
    ok(count_dialled(r, before, 200) == PHX__DIAL_PICKS, "8 of 100");
    for (extra = 0; before[node[extra]]; extra++)
        ;
    phx__dial_want(&r->d, node[extra]);
    phx__dial_want(&r->d, node[extra]);
    count_dialled(r, seen, 200);
    for (i = 0; i < 100; i++)
        same += before[node[i]] == seen[node[i]];
    ok(same == 99 && seen[node[extra]], "a wanted one is dialled too, and the 8 are the same");
    rig_hub(r, 1);
    rig_pass(r, 0);
    ok(r->last.expect == PHX__NONE, "hubs are");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_up(r, PHX__NONE, node[extra]);
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, node[extra], 0);
    count_dialled(r, seen, 200);
    ok(!seen[node[extra]], "a want is met by a link");
    for (pick = 0; !before[node[pick]]; pick++)
        ;
    phx__dial_forget(&r->d, node[pick]);
    ok(count_dialled(r, seen, 200) == PHX__DIAL_PICKS && !seen[node[pick]],
       "one of the 8 leaves: another");
    for (i = 0, same = 0; i < 100; i++)
        same += before[node[i]] && seen[node[i]];
    ok(same == 7, "and the other 7 stay");
    for (i = 0; i < 100; i++)
        if (!before[node[i]])
            phx__dial_forget(&r->d, node[i]);
    for (i = 0; i < 13; i++)
        node[i] = rig_known(r);
    ok(r->d.targets.known == 20 && count_dialled(r, seen, 200) == 20, "down to 20 known: all of them");
    rig_check(r);
    rig_free(r);
}

static void test_full_mesh(void)
{
    /* Goal: full_mesh bounds what is dialled unasked, and nothing else; 0 is none, and no picks. Method: 5
     * and 0 of 100 nodes with max_links 20; wants, hubs, and known nodes that go below the bound. */
    struct rig *r = rig_mesh(20, 5, 64, 7);
    uint8_t seen[200];
    uint32_t node[100], i;

    for (i = 0; i < 5; i++)
        node[i] = rig_known(r);
    ok(count_dialled(r, seen, 200) == 5, "5 of 5");
    for (; i < 100; i++)
        node[i] = rig_known(r);
    ok(count_dialled(r, seen, 200) == PHX__DIAL_PICKS, "8 of 100");
    for (i = 4; i < 100; i++)
        phx__dial_forget(&r->d, node[i]);
    node[4] = rig_known(r);
    ok(count_dialled(r, seen, 200) == 5, "down to 5: all of them");
    rig_check(r);
    rig_free(r);

    r = rig_mesh(20, 0, 64, 8);
    for (i = 0; i < 100; i++)
        node[i] = rig_known(r);
    ok(count_dialled(r, seen, 200) == 0 && r->d.targets.pick_count == 0, "none of 100");
    for (i = 0; i < 30; i++)
        phx__dial_want(&r->d, node[i]);
    ok(count_dialled(r, seen, 200) == 30, "who is sent to is dialled");
    for (i = 0; i < 20; i++)
        check(rig_up(r, PHX__NONE, node[i]) == 0, "up");
    ok(count_dialled(r, seen, 200) == 0, "up to max_links");
    rig_hub(r, 1);
    rig_wait(r);
    ok(r->last.expect == PHX__NONE, "beyond it hubs are");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    phx__dial_down(&r->d, node[0], 0);
    ok(count_dialled(r, seen, 200) == 10 && !seen[node[0]], "a lost link is not made again unasked");
    for (i = 1; i < 100; i++) {
        phx__dial_down(&r->d, node[i], 0);
        phx__dial_forget(&r->d, node[i]);
    }
    ok(count_dialled(r, seen, 200) == 0, "not the last one either");
    rig_check(r);
    rig_free(r);
}

static void test_crossing(void)
{
    /* Goal: whoever rests because of the bound is woken when it falls. Method: 21 nodes and
     * max_links 20; one is forgotten, loses its addresses, or loses its link. */
    uint8_t seen[50];
    uint32_t i, node = 0;
    int how;

    for (how = 0; how < 3; how++) {
        struct rig *r = rig_new(20, 64, 25);
        for (i = 0; i < 20; i++)
            rig_known(r);
        if (how == 2) {
            node = rig_node(r);
            rig_up(r, PHX__NONE, node);
        } else {
            node = rig_known(r);
        }
        ok(count_dialled(r, seen, 50) == PHX__DIAL_PICKS, "21 known: the 8");
        for (i = 1; how < 2 && i <= 20 && seen[i]; i++)
            ;
        if (how == 0)
            phx__dial_forget(&r->d, i);
        else if (how == 1)
            rig_says(r, i, NULL, 0);
        else
            phx__dial_down(&r->d, node, 0);
        ok(count_dialled(r, seen, 50) == 20, "20 known: all");
        rig_free(r);
    }
}

static void test_picks(void)
{
    /* Goal: the choice depends on who is known, not on the order of the news. Method: 40 nodes,
     * told forwards, backwards, and with 20 others that go again. */
    uint32_t order, i, k, node, differs = 0;
    struct phx_id id[60], pick[PHX__DIAL_PICKS];
    struct phx__rnd dice;

    phx__rnd_seed(&dice, 26, 26);
    for (i = 0; i < 60; i++)
        rig_id(&dice, &id[i]);
    for (order = 0; order < 3; order++) {
        struct rig *r = rig_new(10, 64, 26);
        for (i = 0; i < 60; i++) {
            struct phx_address a = v4(i, 1);
            k = order == 0 ? i : 59 - i;
            if (k >= 40 && order < 2)
                continue;
            phx__id_add(&r->ids, &id[k], &node);
            rig_says(r, node, &a, 1);
        }
        for (i = 40; i < 60 && order == 2; i++)
            phx__dial_forget(&r->d, phx__id_find(&r->ids, &id[i]));
        for (i = 0; i < r->d.targets.pick_count; i++) {
            if (order == 0)
                pick[i] = r->ids.at[r->d.targets.picks[i].node];
            differs += !phx__id_equal(&pick[i], &r->ids.at[r->d.targets.picks[i].node]);
        }
        ok(r->d.targets.pick_count == PHX__DIAL_PICKS && differs == 0, "the same 8 in the same order");
        rig_free(r);
    }
}

static void test_full(void)
{
    /* Goal: with max_links links only hubs are dialled, and one less opens the door again.
     * Method: 5 links by the peers, more nodes, a hub. */
    struct rig *r = rig_new(5, 64, 8);
    uint8_t seen[50];
    uint32_t i, node[6], pick = 0;

    for (i = 0; i < 5; i++) {
        node[i] = rig_node(r);
        rig_up(r, PHX__NONE, node[i]);
    }
    node[5] = rig_known(r);
    phx__dial_want(&r->d, node[5]);
    ok(count_dialled(r, seen, 50) == 0, "full: nobody, not even if wanted");
    rig_hub(r, 1);
    ok(rig_wait(r) == 0, "but a hub");
    rig_up(r, r->last.slot, rig_node(r));
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node[0], 0);
    rig_pass(r, SECOND);
    ok(r->open_count == 0, "six links, then five: still full");
    phx__dial_down(&r->d, node[1], 0);
    rig_pass(r, SECOND);
    ok(r->open_count == 1 && r->last.expect == node[5], "four: it is dialled");
    rig_check(r);
    for (i = 0; i < r->d.targets.pick_count; i++)
        pick += r->d.targets.picks[i].node == node[5];
    ok(pick == 1 && r->d.targets.pick_count == 1, "only who can be dialled is one of the picks");
    rig_free(r);
}

static void test_graph(void)
{
    /* Goal: own choices of 8 make a connected graph of 8 to 30 links a node. Method: 300 rooms
     * that know each other, max_links 50, and a walk over the union of their choices. */
    enum { N = 300 };
    static struct phx_id id[N];
    static uint8_t linked[N][N];
    uint32_t i, k, node, reached = 1, most = 0, links = 0, degree, queue[N], done;
    uint8_t seen[N] = { 1 };
    struct phx__rnd dice;

    phx__rnd_seed(&dice, 9, 9);
    for (i = 0; i < N; i++)
        rig_id(&dice, &id[i]);
    for (i = 0; i < N; i++) {
        struct rig *r = rig_new(50, 64, i);
        r->ids.at[PHX__SELF] = id[i];
        for (k = 0; k < N; k++) {
            struct phx_address a = v4(k, 1);
            if (k != i && phx__id_add(&r->ids, &id[k], &node) == 0)
                rig_says(r, node, &a, 1);
        }
        for (k = 0; k < r->d.targets.pick_count; k++) {
            node = r->d.targets.picks[k].node;
            node -= node <= i;
            linked[i][node] = linked[node][i] = 1;
        }
        rig_free(r);
    }
    for (queue[0] = 0, done = 0; done < reached; done++) {
        for (k = 0, degree = 0; k < N; k++) {
            degree += linked[queue[done]][k];
            if (!linked[queue[done]][k] || seen[k])
                continue;
            seen[k] = 1;
            queue[reached++] = k;
        }
        links += degree;
        most = degree > most ? degree : most;
    }
    ok(reached == N, "%u of %u are connected", reached, (unsigned)N);
    ok(most <= 30, "nobody has more than %u links", most);
    ok(links / 2 > N * 7, "few choose each other: %u links", links / 2);
}

static void test_same_address(void)
{
    /* Goal: nobody is dialled twice at once, whoever points there. Method: 30 nodes at one
     * address, and one of them with a second address. */
    struct rig *r = rig_new(100, 64, 20);
    struct phx_address a[2];
    uint32_t node[30], i;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    for (i = 0; i < 30; i++) {
        node[i] = rig_node(r);
        rig_says(r, node[i], a, i == 29 ? 2 : 1);
    }
    rig_pass(r, 0);
    ok(r->open_count == 2 && r->last.expect == node[29] && r->last.to.port == 2,
       "one dial there, and one to the other address");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->d.targets.at[29].failures == 1, "which does not wait for the first");
    for (i = 1; i < 29 && r->d.targets.at[i].failures == 0; i++)
        ;
    ok(i == 29, "to wait for one's turn is no failure");
    for (i = 0; i < 400; i++) {
        rig_fail(r, r->open[0].slot, PHX_EPEER);
        rig_wait(r);
        rig_check(r);
    }
    for (i = 0; i < 30 && r->d.targets.at[i].failures > 0; i++)
        ;
    ok(i == 30, "everybody gets a turn");
    rig_free(r);
}

static void test_busy_then_free(void)
{
    /* Goal: an address that others were busy with is still tried in the same round. Method: as
     * above, and the first dial ends while the second one is under way. */
    struct rig *r = rig_new(100, 64, 28);
    struct phx_address a[2];
    uint32_t one = rig_node(r), two = rig_node(r);

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    rig_says(r, one, a, 1);
    rig_pass(r, 0);
    rig_says(r, two, a, 2);
    rig_pass(r, 300 * MS);
    ok(r->open_count == 2 && r->open[1].to.port == 2, "the second address first");
    rig_up(r, r->open[0].slot, one);
    ok(rig_wait(r) <= 250 * MS && r->last.expect == two && r->last.to.port == 1,
       "then the free one");
    rig_check(r);
    rig_free(r);
}

/* Goal: the rate of a host is for those that do not answer. Method: 400 nodes at one host, each at a port
 * of its own, three lives of them with new ids and ports; then as many addresses where nobody is. Each seed
 * is another salt: wherever the host's line falls, so many ports of its own must not drive it out. */
static void test_large_host(uint64_t seed)
{
    struct rig *r = rig_new(1000, 64, seed);
    uint64_t start;
    uint32_t life, i, node[400];
    struct phx_address a;

    for (life = 0; life < 4; life++) {
        start = r->now;
        r->refuse = life == 3 ? PHX_EREFUSED : 0;
        r->dials = 0;
        for (i = 0; i < 400; i++) {
            node[i] = rig_node(r);
            a = v4(7, (uint16_t)(10000 + life * 400 + i));
            check(rig_says(r, node[i], &a, 1) == 0, "addresses");
        }
        if (life == 3) {
            rig_pass(r, 10 * SECOND);
            ok(r->dials >= 128 && r->dials <= 128 + 80 + 1, "nobody is there: %u dials in 10 s",
               r->dials);
            continue;
        }
        while (r->dials < 400 && rig_wait(r) != UINT64_MAX)
            while (r->open_count > 0)
                check(rig_up(r, r->open[0].slot, r->open[0].expect) == 0, "up");
        ok(r->dials == 400 && r->now - start < SECOND, "life %u: 400 links after %u ms", life,
           (unsigned)((r->now - start) / 1000));
        while (r->open_count > 0)
            check(rig_up(r, r->open[0].slot, r->open[0].expect) == 0, "up");
        for (i = 0; i < 400; i++) {
            phx__dial_down(&r->d, node[i], 0);
            phx__dial_forget(&r->d, node[i]);
        }
        r->now += SECOND;
    }
    rig_free(r);
}

static void test_slots(void)
{
    /* Goal: each dial has a number of its own, and none has that of one that is over, or PHX__NONE. Method:
     * 1,000 dials at once, all over and again, and numbers that come round. */
    struct phx__dial_slots s;
    struct phx__mem mem;
    uint32_t i, bad = 0, number;

    phx__mem_init(&mem, NULL, 0);
    s = (struct phx__dial_slots){ .at = phx__mem_zero(&mem, 1000 * sizeof *s.at), .capacity = 1000 };
    check(s.at != NULL, "slots");
    for (i = 0; i < 1000; i++) {
        number = phx__dial_slot_open(&s, i, i, 1);
        bad += number != i + 1 || phx__dial_slot_find(&s, number)->target != i;
    }
    ok(bad == 0 && s.count == s.capacity, "each has its number");
    phx__dial_slot_close(&s, 6);
    phx__dial_slot_close(&s, 999);
    for (i = 1; i <= 1000; i++)
        bad += (phx__dial_slot_find(&s, i) == NULL) != (i == 7 || i == 1000);
    ok(bad == 0 && s.count == 998, "two are over, the others are where they were");
    s.last = PHX__NONE - 1;
    number = phx__dial_slot_open(&s, 7, 7, 1);
    ok(number != PHX__NONE && number != 7 && phx__dial_slot_find(&s, 7) == NULL,
       "the next dial in their place has another");
    phx__mem_put(&mem, s.at, s.capacity * sizeof *s.at);
}

static void test_addresses(void)
{
    /* Goal: eight addresses of a node are tried, and a ninth is not. */
    struct phx_address a[9], out[8 + 8];
    uint32_t i;

    memset(out, 0, sizeof out);
    for (i = 0; i < 9; i++)
        a[i] = v4(i + 1, 7000);
    ok(phx__dial_addr_order(a, 8, out) == 8 && phx__addr_equal(&out[7], &a[7]), "eight of eight");
    ok(phx__dial_addr_order(a, 9, out) == 8 && out[8].family == 0, "and of nine");
}

static void test_gives_way(void)
{
    /* Goal: each dial has 250 ms for an answer, however many wait; then the oldest without one gives way.
     * Method: four slots, of which the oldest dial is answered. */
    struct rig *r = rig_new(100, 4, 62);
    uint32_t i, first;

    for (i = 0; i < 4; i++) {
        rig_known(r);
        rig_pass(r, 10 * MS);
    }
    phx__dial_answered(&r->d, r->open[0].slot, 1);
    first = r->open[1].slot;
    rig_known(r);
    rig_pass(r, 219 * MS);
    ok(r->dials == 4 && r->abandons == 0, "all have their time");
    rig_pass(r, MS);
    ok(r->dials == 5 && r->abandons == 1 && phx__dial_slot_find(&r->d.slots, first) == NULL,
       "250 ms after its dial the second one gives way");
    rig_known(r);
    rig_pass(r, 11 * MS);
    ok(r->dials == 6 && r->abandons == 2, "then the third");
    rig_check(r);
    rig_free(r);
}

static void test_lines(void)
{
    /* Goal: the rates of 512 addresses and hosts are remembered, in 12 KiB. */
    struct rig *r = rig_new(10, 64, 3);

    ok(r->d.rate.count == 512, "%u lines", r->d.rate.count);
    rig_free(r);
}

int main(void)
{
    uint64_t seed;

    test_max_dials();
    test_give_way();
    test_dead_beyond();
    test_max_links();
    test_full_mesh();
    test_crossing();
    test_picks();
    test_full();
    test_graph();
    test_same_address();
    test_busy_then_free();
    for (seed = 11; seed < 23; seed++)
        test_large_host(seed);
    test_slots();
    test_addresses();
    test_gives_way();
    test_lines();
    return test_end();
}
