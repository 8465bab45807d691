/* t_detect_link.c - failure detection of links: heartbeats, silence, monitors, pauses. */
#include "detect_rig.h"

static void test_heartbeats(void)
{
    /* Goal: something is said every interval_us, and nothing more. Method: a link that hears
     * all the time, first silent itself, then talking. */
    struct rig r;
    uint64_t begin;
    uint32_t i;

    rig_init(&r);
    begin = r.now;
    ok(phx__detect_link_up(&r.d, 3, 0, begin) == 0, "a link");
    ok(phx__timer_next(&r.timers) == begin + BEAT, "the first thing due is our own heartbeat");
    for (i = 1; i <= 40; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__detect_received(&r.d, 3, r.now);
    }
    ok(r.count == 8 && rig_events(&r, 'b') == 8, "8 heartbeats in 40 s");
    ok(r.events[0].at == begin + BEAT && r.events[7].at == begin + 8 * BEAT, "on the dot");
    ok(r.events[0].node == 3 && r.events[0].value == BEAT, "with the promise of the next");
    for (i = 41; i <= 80; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__detect_received(&r.d, 3, r.now);
        phx__detect_sent(&r.d, 3, r.now);
    }
    ok(r.count == 8, "who talks needs no heartbeat");
    rig_run(&r, r.now + BEAT);
    ok(r.count == 9, "until it stops");
    phx__detect_link_down(&r.d, 3);
    ok(phx__timer_next(&r.timers) == UINT64_MAX, "no link, no timer");
    rig_free(&r);
}

static void test_silence(void)
{
    /* Goal: a link is given up after the announced time and the time-out, not before. Method: a table of
     * announcements and the time of the verdict. */
    static const struct {
        uint64_t next, verdict;
    } table[] = {
        { 0, BEAT + TIMEOUT },           { 1 * SECOND, 1 * SECOND + TIMEOUT },
        { BEAT, BEAT + TIMEOUT },        { 60 * SECOND, 60 * SECOND + TIMEOUT },
        { 1, TIMEOUT + 1 },              { UINT64_MAX, UINT64_MAX },
    };
    struct rig r;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        uint64_t begin;
        const struct event *e;
        rig_init(&r);
        phx__detect_link_up(&r.d, 1, 0, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        begin = r.now;
        phx__detect_heartbeat(&r.d, 1, table[i].next, 0, 0, begin);
        rig_run(&r, begin + 500 * SECOND);
        e = rig_last(&r, 'x');
        if (table[i].verdict == UINT64_MAX)
            ok(rig_events(&r, 'x') == 0, "a promise of never is kept by anybody");
        else
            ok(e->what == 'x' && e->at == begin + table[i].verdict && e->value == table[i].verdict,
               "announced %llu us", (unsigned long long)table[i].next);
        ok(rig_events(&r, 'x') == (table[i].verdict != UINT64_MAX), "once");
        rig_free(&r);
    }
}

static void test_announcements(void)
{
    /* Goal: an announcement holds until the next one. Method: busy for a minute, then the usual. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__detect_link_up(&r.d, 1, 0, begin);
    phx__detect_heartbeat(&r.d, 1, 60 * SECOND, 0, 0, begin);
    rig_run(&r, begin + 30 * SECOND);
    phx__detect_received(&r.d, 1, r.now);
    rig_run(&r, begin + 93 * SECOND);
    ok(rig_events(&r, 'x') == 0, "plain traffic does not shorten it");
    phx__detect_heartbeat(&r.d, 1, BEAT, 0, 0, r.now);
    rig_run(&r, begin + 200 * SECOND);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at == begin + 93 * SECOND + BEAT + TIMEOUT,
       "a new announcement does");
    rig_free(&r);
}

static void test_first_announcement(void)
{
    /* Goal: who announces more than a new link promises says so in the step in which it comes up, once; with
     * the usual intervals nothing is said. */
    struct phx_detector limits = { 2, BEAT, INSURANCE, TIMEOUT, BROKEN };
    struct rig r;

    rig_init(&r);
    phx__detect_limits(&r.d, &limits);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_link_up(&r.d, 2, 0, r.now);
    phx__detect_link_up(&r.d, 3, 0, r.now);
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') == 0, "five seconds are what is promised anyway");
    limits.interval_us = limits.insurance_us = 86400 * SECOND;
    phx__detect_limits(&r.d, &limits);
    rig_step(&r, r.now);
    r.count = 0;
    phx__detect_link_up(&r.d, 4, 0, r.now);
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') == 1 && rig_last(&r, 'b')->node == 4
       && rig_last(&r, 'b')->value == 86400 * SECOND, "a day is announced at once");
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') == 1, "once");
    rig_free(&r);
}

static void test_quiet(void)
{
    /* Goal: on links of a crowd only monitors hear of us soon, and at once; others wait as long as the wire
     * says. Method: 39 quiet links, one of which nobody speaks on. */
    struct phx_detector limits = { 2, BEAT, 200 * SECOND, TIMEOUT, BROKEN };
    struct rig r;
    uint64_t begin;
    uint32_t node;

    rig_init(&r);
    phx__detect_limits(&r.d, &limits);
    begin = r.now;
    for (node = 1; node < NODES; node++)
        check(phx__detect_link_up(&r.d, node, 1, begin) == 0, "a link");
    rig_step(&r, begin);
    ok(rig_events(&r, 'b') == 2 && phx__detect_is_monitor(&r.d, rig_last(&r, 'b')->node)
           && rig_last(&r, 'b')->value == BEAT, "the monitors are told at once");
    while (r.now < begin + 90 * SECOND - 1) {
        rig_run(&r, PHX__MIN(r.now + SECOND, begin + 90 * SECOND - 1));
        for (node = 2; node < NODES; node++)
            phx__detect_received(&r.d, node, r.now);
    }
    ok(rig_events(&r, 'b') == 2 + 2 * 17 && rig_events(&r, 'x') == 0, "nobody else is, for 90 s");
    rig_run(&r, begin + 90 * SECOND);
    ok(rig_events(&r, 'b') == 2 + 2 * 18 + NODES - 3, "then all are");
    rig_run(&r, begin + 90 * SECOND + TIMEOUT - 1);
    ok(rig_events(&r, 'x') == 0, "so long may all be silent");
    rig_run(&r, begin + 90 * SECOND + TIMEOUT);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 1, "and no longer");
    rig_free(&r);
}

static void test_shorter_announcement(void)
{
    /* Goal: a shorter announcement holds at once. Method: one that ends before our own next
     * heartbeat, which is when a lazy timer would look. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__detect_link_up(&r.d, 1, 0, begin);
    phx__detect_heartbeat(&r.d, 1, 60 * SECOND, 0, 0, begin);
    rig_run(&r, begin + BEAT + SECOND / 2);
    phx__detect_heartbeat(&r.d, 1, 1, 0, 0, r.now);
    rig_run(&r, begin + 20 * SECOND);
    ok(rig_last(&r, 'x')->at == begin + BEAT + SECOND / 2 + 1 + TIMEOUT, "to the microsecond");
    rig_free(&r);
}

static void test_heartbeat_changes_links(void)
{
    /* Goal: a callback may change the links. Method: sending a heartbeat makes a link with a node of a higher
     * index, which moves the array, and once drops the link itself. */
    struct rig r;

    rig_init(&r);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    r.grows = 1;
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 1 && r.d.at[100].link != 0, "the array moved");
    ok(phx__timer_next(&r.timers) == r.now + TIMEOUT / 2, "and the timer is set");
    r.grows = 2;
    phx__detect_received(&r.d, 1, r.now);
    phx__detect_link_down(&r.d, 100);
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 2 && phx__timer_next(&r.timers) == UINT64_MAX, "the link went");
    rig_free(&r);
}

static void test_owner_keeps_link(void)
{
    /* Goal: an owner that keeps a silent link is told again, and time goes on. Method: silent
     * does not drop the link. */
    struct rig r;

    rig_init(&r);
    r.drops = 0;
    phx__detect_link_up(&r.d, 1, 0, r.now);
    rig_run(&r, r.now + BEAT + TIMEOUT + 10 * BEAT);
    ok(rig_events(&r, 'x') == 11, "told every heartbeat: %u", rig_events(&r, 'x'));
    rig_free(&r);
}

static void test_lazy_timers(void)
{
    /* Goal: traffic touches no timer. Method: a million frames in 20 s, and the timers that
     * fired. */
    struct rig r;
    uint64_t begin, order;
    uint32_t i;

    rig_init(&r);
    begin = r.now;
    phx__detect_link_up(&r.d, 1, 0, begin);
    order = r.timers.order;
    for (i = 0; i < 1000000; i++) {
        if (i % 1000 == 0)
            rig_run(&r, begin + i * 20);
        phx__detect_received(&r.d, 1, begin + i * 20);
        phx__detect_sent(&r.d, 1, begin + i * 20);
    }
    ok(r.fired <= 5 && r.timers.order - order <= 5, "%u timers for a million frames", r.fired);
    ok(r.count == 0, "no heartbeat and no alarm");
    rig_free(&r);
}

static void test_many_links(void)
{
    /* Goal: many links at once, each with its own times. Method: 40 links of which the even ones
     * speak every 3 s; the odd ones alone are given up. */
    struct rig r;
    uint32_t node, round, i, wrong = 0, given_up = 0;

    rig_init(&r);
    for (node = 0; node < NODES; node++)
        phx__detect_link_up(&r.d, node, 0, r.now + node * MS);
    for (round = 0; round < 6; round++) {
        rig_run(&r, r.now + 3 * SECOND);
        for (node = 0; node < NODES; node += 2)
            phx__detect_received(&r.d, node, r.now);
    }
    for (i = 0; i < r.count; i++) {
        if (r.events[i].what != 'x')
            continue;
        given_up++;
        wrong += r.events[i].node % 2 == 0;
        wrong += r.events[i].at != 1000 * SECOND + r.events[i].node * MS + BEAT + TIMEOUT;
    }
    ok(given_up == NODES / 2 && wrong == 0, "the odd ones, each in its time");
    rig_free(&r);
}

static void test_link_in_use(void)
{
    /* Goal: a link in use does not wait for the insurance. Method: messages without an answer, with
     * some, and how many heartbeats they save. */
    struct rig r;
    uint64_t begin;
    int i;

    rig_init_monitors(&r, 1);
    phx__detect_link_up(&r.d, 1, 0, r.now); /* the monitor */
    phx__detect_link_up(&r.d, 2, 0, r.now);
    if (phx__detect_is_monitor(&r.d, 2)) { /* as it may have been drawn */
        phx__detect_link_down(&r.d, 2);
        phx__detect_link_up(&r.d, 2, 0, r.now);
    }
    phx__detect_heartbeat(&r.d, 1, 900 * SECOND, 0, 0, r.now);
    phx__detect_heartbeat(&r.d, 2, 900 * SECOND, 0, 0, r.now);
    begin = r.now;
    for (i = 0; i < 300; i++) {
        rig_run(&r, begin + (uint64_t)i * SECOND);
        phx__detect_used(&r.d, 2, r.now);
        phx__detect_sent(&r.d, 2, r.now);
        if (i % 3 == 1)
            phx__detect_received(&r.d, 2, r.now);
    }
    ok(rig_events(&r, 'a') == 0, "answered now and then: nobody asks");
    ok(r.d.saved_insurance >= 3 && r.d.saved_insurance <= 5, "%u heartbeats saved",
       (unsigned)r.d.saved_insurance);
    rig_run(&r, r.now + SECOND);
    phx__detect_received(&r.d, 2, r.now);
    begin = r.now;
    phx__detect_used(&r.d, 2, r.now + 1);
    rig_run(&r, begin + 100 * SECOND);
    ok(rig_events(&r, 'a') == 1 && rig_last(&r, 'a')->at <= begin + 1 + BEAT, "no answer: asked");
    ok(rig_last(&r, 'x')->node == 2 && rig_last(&r, 'x')->at == rig_last(&r, 'a')->at + TIMEOUT,
       "and given up");
    rig_free(&r);
}

static uint32_t rig_monitors(const struct rig *r)
{
    uint32_t node, count = 0;

    for (node = 0; node < r->d.capacity; node++)
        count += (uint32_t)phx__detect_is_monitor(&r->d, node);
    return count;
}

static uint32_t rig_first(const struct rig *r, int monitor)
{
    uint32_t node;

    for (node = 0; node < NODES && phx__detect_is_monitor(&r->d, node) != monitor; node++)
        ;
    return node;
}

static void test_monitors(void)
{
    /* Goal: as many as wanted, or as there are; who goes is replaced and the new one told at once.
     * Method: 10 links that hear all the time, and the beats of two minutes. */
    struct phx_detector limits = { 4, BEAT, INSURANCE, TIMEOUT, BROKEN };
    struct rig r;
    uint32_t node, i, gone, beats[2] = { 0, 0 };

    rig_init_monitors(&r, 3);
    for (node = 0; node < 10; node++) {
        phx__detect_link_up(&r.d, node, 0, r.now);
        check(rig_monitors(&r) == (node < 2 ? node + 1 : 3), "never more than there are, or wanted");
        phx__detect_heartbeat(&r.d, node, 600 * SECOND, 0, 0, r.now);
    }
    rig_run(&r, r.now + BEAT);
    r.count = 0;
    rig_run(&r, r.now + 2 * INSURANCE);
    for (i = 0; i < r.count && i < EVENTS; i++)
        beats[!phx__detect_is_monitor(&r.d, r.events[i].node)]++;
    ok(beats[0] == 3 * 24 && beats[1] == 7 * 2, "3 hear every 5 s, 7 every 60 s: %u and %u",
       beats[0], beats[1]);
    gone = rig_first(&r, 1);
    r.count = 0;
    phx__detect_link_down(&r.d, gone);
    ok(rig_monitors(&r) == 3, "a monitor that goes is replaced");
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') == 1 && phx__detect_is_monitor(&r.d, rig_last(&r, 'b')->node)
           && rig_last(&r, 'b')->value == BEAT,
       "and the new one is told at once");
    phx__detect_limits(&r.d, &limits);
    ok(rig_monitors(&r) == 4, "one more");
    limits.monitors = 1;
    phx__detect_limits(&r.d, &limits);
    ok(rig_monitors(&r) == 1, "three less");
    limits.monitors = 255;
    phx__detect_limits(&r.d, &limits);
    ok(rig_monitors(&r) == 9, "as many as there are");
    rig_free(&r);
}

static void test_fair_choice(void)
{
    /* Goal: any neighbour is as probable a monitor as any other, early or late. Method: 2 of 10,
     * some of which go and come, 3000 times. */
    uint32_t count[10] = { 0 }, i, node, worst = 0;
    struct rig r;

    for (i = 0; i < 3000; i++) {
        rig_init_monitors(&r, 2);
        phx__rnd_seed(&r.rnd, i, 7);
        for (node = 0; node < 10; node++)
            phx__detect_link_up(&r.d, node, 0, r.now);
        phx__detect_link_down(&r.d, 3);
        phx__detect_link_up(&r.d, 3, 0, r.now);
        for (node = 0; node < 10; node++)
            count[node] += (uint32_t)phx__detect_is_monitor(&r.d, node);
        rig_free(&r);
    }
    for (node = 0; node < 10; node++) {
        uint32_t off = count[node] > 600 ? count[node] - 600 : 600 - count[node];
        worst = off > worst ? off : worst;
    }
    ok(worst < 110, "600 times each, give or take %u (five standard deviations are 110)", worst);
}

static void test_busy(void)
{
    /* Goal: a pause is announced to all, and its end. Method: three links; then a monitor that
     * announces one itself. */
    struct rig r;
    uint32_t node, busy, chosen, times;

    rig_init_monitors(&r, 1);
    for (node = 0; node < 3; node++)
        phx__detect_link_up(&r.d, node, 0, r.now);
    phx__detect_busy(&r.d, 60 * SECOND);
    ok(rig_events(&r, 'b') == 3 && rig_last(&r, 'b')->value == 60 * SECOND + BEAT, "all are told");
    rig_step(&r, r.now + 60 * SECOND);
    ok(rig_events(&r, 'b') == 6 && r.d.pause == 0, "and told that it is over: %u",
       rig_events(&r, 'b'));
    ok(rig_events(&r, 'x') == 0 && rig_events(&r, 'r') == 0, "nobody is accused");
    busy = rig_first(&r, 1);
    phx__detect_heartbeat(&r.d, busy, 60 * SECOND, 1, 0, r.now);
    ok(!phx__detect_is_monitor(&r.d, busy) && rig_monitors(&r) == 1, "who is away watches nobody");
    for (chosen = times = 0; times < 50; times++) { /* the monitor goes and another is picked of two */
        node = rig_first(&r, 1);
        phx__detect_link_down(&r.d, node);
        chosen += phx__detect_is_monitor(&r.d, busy);
        phx__detect_link_up(&r.d, node, 0, r.now);
    }
    ok(chosen == 0, "nor is it picked while there is another, promise 52: %u", chosen);
    phx__detect_link_down(&r.d, rig_first(&r, 0) == busy ? rig_first(&r, 1) : rig_first(&r, 0));
    phx__detect_link_down(&r.d, rig_first(&r, 1));
    ok(phx__detect_is_monitor(&r.d, busy), "only if there is none");
    rig_free(&r);
}

static void test_busy_monitor_goes(void)
{
    /* Goal: a new link may take the place of the only monitor, also of one that is away. Method: 50 pairs. */
    uint32_t seed, taken = 0, bad = 0;
    struct rig r;

    for (seed = 0; seed < 50; seed++) {
        rig_init_monitors(&r, 1);
        phx__rnd_seed(&r.rnd, seed, 5);
        phx__detect_link_up(&r.d, 0, 0, r.now);
        phx__detect_heartbeat(&r.d, 0, 60 * SECOND, 1, 0, r.now);
        phx__detect_link_up(&r.d, 1, 0, r.now);
        taken += (uint32_t)phx__detect_is_monitor(&r.d, 1);
        bad += rig_monitors(&r) != 1;
        rig_free(&r);
    }
    ok(taken > 10 && taken < 50 && bad == 0, "%u of 50 times", taken);
}

static void test_saved(void)
{
    /* Goal: what traffic spares is counted: a heartbeat for each interval. Method: a frame each second. */
    struct rig r;

    rig_init_monitors(&r, 1);
    phx__detect_link_up(&r.d, 0, 0, r.now);
    check(phx__detect_is_monitor(&r.d, 0), "a monitor");
    for (uint64_t end = r.now + INSURANCE + 100 * BEAT; r.now < end;) {
        phx__detect_sent(&r.d, 0, r.now);
        phx__detect_received(&r.d, 0, r.now);
        rig_step(&r, r.now + SECOND);
    }
    ok(r.d.saved == 100 && r.d.saved_insurance == 0, "%u in a hundred intervals", (unsigned)r.d.saved);
    rig_free(&r);
}

static void test_full(void)
{
    /* Goal: a heartbeat for which there is no room is not tried at once again. */
    struct rig r;
    uint64_t end;

    rig_init_monitors(&r, 1);
    phx__detect_link_up(&r.d, 0, 0, r.now);
    rig_step(&r, r.now);
    r.grows = 3;
    r.count = 0;
    for (end = r.now + 10 * BEAT; r.now < end; rig_step(&r, r.now + SECOND))
        phx__detect_received(&r.d, 0, r.now);
    ok(rig_events(&r, 'b') >= 9 && rig_events(&r, 'b') <= 11, "%u in ten intervals", rig_events(&r, 'b'));
    rig_free(&r);
}

static void test_all_busy(void)
{
    /* Goal: nodes that all get their processor late do not make each other later. Method: one that announces
     * twice its own interval has two neighbours, both monitors, that say again and again that they are busy.
     * Found by test/fuzz/pair.c: every beat was answered by one. */
    struct rig r;
    uint32_t before;
    int i;

    rig_init_monitors(&r, 2);
    phx__detect_link_up(&r.d, 0, 0, r.now);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    r.d.stalls_at = r.now;
    r.d.stalls[0] = BEAT;
    r.d.slow = 1; /* the next step announces what follows from that stall */
    rig_step(&r, r.now + 1000);
    before = rig_events(&r, 'b');
    for (i = 0; i < 50; i++) {
        phx__detect_heartbeat(&r.d, (uint32_t)i % 2, 2 * BEAT, 1, 1, r.now);
        rig_step(&r, r.now + 1000);
    }
    ok(rig_events(&r, 'b') <= before + 2 && rig_monitors(&r) == 2, "%u beats in 50 ms to two busy monitors",
       rig_events(&r, 'b') - before);
    rig_free(&r);
}

static void test_used_while_busy(void)
{
    /* Goal: who has announced a pause is not asked, whatever is sent to it, nor given up before
     * the pause is over. Method: a message and a doubt in a pause that ends, and in one that
     * does not. */
    struct rig r;
    uint64_t begin;
    int back;

    for (back = 0; back < 2; back++) {
        rig_init_monitors(&r, 1);
        phx__detect_link_up(&r.d, 1, 0, r.now);
        begin = r.now;
        phx__detect_heartbeat(&r.d, 1, 60 * SECOND, 1, 0, begin);
        phx__detect_used(&r.d, 1, begin + 1);
        phx__detect_ask(&r.d, 1, r.d.limits.timeout_us, begin + 1);
        rig_run(&r, begin + 60 * SECOND);
        ok(rig_events(&r, 'a') == 0 && rig_events(&r, 'x') == 0, "left in peace for its pause");
        if (back)
            phx__detect_heartbeat(&r.d, 1, INSURANCE, 0, 0, r.now);
        rig_run(&r, begin + 60 * SECOND + TIMEOUT);
        ok(rig_events(&r, 'x') == !back, "and found out if it does not come back");
        rig_free(&r);
    }
}

static void test_links_and_states(void)
{
    /* Goal: links and states do not mix, and late calls do nothing. Method: down, forget and
     * traffic in odd orders. */
    struct rig r;

    rig_init(&r);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    phx__detect_link_down(&r.d, 1);
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_OK, "a lost link is no lost node");
    phx__detect_link_down(&r.d, 1);
    phx__detect_link_down(&r.d, 30);
    phx__detect_heartbeat(&r.d, 1, 5, 0, 0, r.now);
    phx__detect_sent(&r.d, 1, r.now);
    phx__detect_heartbeat(&r.d, 30, 5, 0, 0, r.now);
    phx__detect_sent(&r.d, 30, r.now);
    phx__detect_due(&r.d, PHX__TIMER_DETECT_LINK, 1, r.now);
    phx__detect_due(&r.d, PHX__TIMER_DETECT_LINK, 30, r.now);
    phx__detect_due(&r.d, PHX__TIMER_DETECT_NODE, 1, r.now);
    ok(phx__timer_next(&r.timers) == UINT64_MAX && r.count == 1, "late calls do nothing");
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_reachable(&r.d, 1, 0, 0, r.now);
    phx__detect_forget(&r.d, 1);
    ok(phx__timer_next(&r.timers) == UINT64_MAX && phx__detect_state(&r.d, 1, NULL) == 0,
       "forgotten");
    rig_run(&r, r.now + 100 * SECOND);
    ok(r.count == 3, "for good");
    rig_free(&r);
}

static void run_without_memory(struct rig *r)
{
    uint32_t node;

    for (node = 0; node < NODES; node++) {
        int up = phx__detect_link_up(&r->d, node, 0, r->now);
        int known = phx__detect_reachable(&r->d, node, 1, 0, r->now);
        check((up == 0 || up == PHX_ENOMEM) && (known == 0 || known == PHX_ENOMEM), "says so");
        check(phx__detect_state(&r->d, node, NULL) == (known == 0 ? PHX_NODE_OK : 0),
              "nothing changed");
        if (known == 0)
            check(phx__detect_reachable(&r->d, node, 0, 0, r->now) == 0,
                  "a known node is lost without memory");
        if (node % 3 == 0)
            phx__detect_forget(&r->d, node / 2);
        phx__detect_heartbeat(&r->d, node, 1, 0, 0, r->now);
        rig_run(r, r->now + SECOND);
    }
}

static void test_memory(void)
{
    /* Goal: any allocation may fail. Method: the n-th for every n, then all from the n-th on. */
    struct rig r;
    long n, failed = 0;
    int from;

    for (from = 0; from < 2; from++) {
        for (n = 1; n < 1000; n++) {
            rig_init(&r);
            r.heap.fail_at = from ? 0 : n;
            r.heap.fail_from = from ? n : 0;
            run_without_memory(&r);
            failed += r.heap.calls >= n;
            rig_free(&r);
            if (r.heap.calls < n)
                break;
        }
    }
    ok(failed > 20, "%ld failures were survived", failed);
}

static void test_no_link(void)
{
    /* Goal: what is said of a link that is not there is nothing. */
    struct rig r;

    rig_init(&r);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    r.count = 0;
    ok(phx__detect_announce(&r.d, 2, r.now) == r.d.limits.interval_us && !phx__detect_is_monitor(&r.d, 2),
       "what would be announced is the usual interval");
    phx__detect_behind(&r.d, 2, 1, r.now);
    phx__detect_used(&r.d, 2, r.now);
    ok(r.count == 0 && r.d.link_count == 1 && !phx__detect_link_of(&r.d, 1)->behind, "it is not used");
    rig_free(&r);
}

int main(void)
{
    test_heartbeats();
    test_silence();
    test_announcements();
    test_first_announcement();
    test_quiet();
    test_shorter_announcement();
    test_heartbeat_changes_links();
    test_owner_keeps_link();
    test_lazy_timers();
    test_many_links();
    test_link_in_use();
    test_monitors();
    test_fair_choice();
    test_busy();
    test_busy_monitor_goes();
    test_saved();
    test_full();
    test_all_busy();
    test_used_while_busy();
    test_links_and_states();
    test_no_link();
    test_memory();
    return test_end();
}
