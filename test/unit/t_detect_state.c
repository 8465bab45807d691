/* t_detect_state.c - failure detection of nodes: states, rumours, probes, own stalls. */
#include "detect_rig.h"

static void test_states(void)
{
    /* Goal: the states and their events. Method: scripts of reports (+ reachable, - not, l left
     * and not reachable, w wait 3 s, . wait 10 s, f forget) against the letters of the events. */
    static const char *const table[][2] = {
        { "+", "O" },          { "++", "O" },        { "-", "U" },          { "l", "L" },
        { "+-", "OU" },        { "+-w-", "OU" },     { "+-.", "OUF" },      { "+-w-ww", "OUF" },
        { "+-w+.", "OUO" },    { "+-.+", "OUFO" },   { "+-.-.", "OUF" },    { "+l.", "OL" },
        { "+l-.", "OL" },      { "+l+", "OLO" },     { "+-l.", "OUL" },     { "+-.l.", "OUFL" },
        { "+-w+-w+-w", "OUOUOU" }, { "+-f.", "OU" }, { "+f+", "OO" },       { "-.", "UF" },
        { "+-.+-.", "OUFOUF" },    { "+ll", "OL" },
        { "+-+", "OUO" },      { "+-l", "OUL" },
    };
    size_t row, i, k;
    struct rig r;

    for (row = 0; row < PHX__COUNT(table); row++) {
        char seen[16] = "";
        rig_init(&r);
        for (i = 0; table[row][0][i] != 0; i++) {
            char c = table[row][0][i];
            if (c == 'w' || c == '.')
                rig_run(&r, r.now + (c == 'w' ? 3 : 10) * SECOND);
            else if (c == 'f')
                phx__detect_forget(&r.d, 4);
            else
                phx__detect_reachable(&r.d, 4, c == '+', c == 'l', r.now);
        }
        for (i = 0, k = 0; i < r.count && k < sizeof seen - 1; i++)
            if (r.events[i].what != 'p')
                seen[k++] = r.events[i].what;
        ok(strcmp(seen, table[row][1]) == 0, "%s is %s (%s)", table[row][0], table[row][1], seen);
        if (phx__detect_state(&r.d, 4, NULL) != PHX_NODE_UNREACHABLE)
            check(phx__timer_next(&r.timers) == UINT64_MAX, "only an unreachable node has a deadline");
        rig_free(&r);
    }
}

static void test_since(void)
{
    /* Goal: when a state began, and deadlines to the microsecond, moved by a stall. Method: one node. */
    struct rig r;
    uint64_t begin, since = 1;

    rig_init(&r);
    begin = r.now;
    ok(phx__detect_state(&r.d, 9, &since) == 0 && since == 0, "an unknown node is in no state");
    phx__detect_forget(&r.d, 9);
    phx__detect_reachable(&r.d, 9, 1, 0, begin);
    ok(phx__detect_state(&r.d, 9, &since) == PHX_NODE_OK && since == begin, "OK since then");
    phx__detect_reachable(&r.d, 9, 0, 0, begin + 1);
    rig_run(&r, begin + BROKEN);
    ok(phx__detect_state(&r.d, 9, &since) == PHX_NODE_UNREACHABLE && since == begin + 1,
       "a little longer");
    rig_run(&r, begin + BROKEN + 1);
    ok(phx__detect_state(&r.d, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN + 1,
       "FAILED");
    phx__detect_reachable(&r.d, 9, 1, 0, r.now);
    phx__detect_reachable(&r.d, 9, 0, 0, r.now);
    rig_step(&r, r.now);
    rig_step(&r, r.now + 100 * SECOND);
    ok(phx__detect_state(&r.d, 9, &since) == PHX_NODE_UNREACHABLE, "we slept: it may have come back");
    begin = r.now;
    rig_run(&r, begin + 100 * SECOND);
    ok(phx__detect_state(&r.d, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN,
       "it did not");
    rig_free(&r);
}

static void test_lost_without_memory(void)
{
    /* Goal: nodes that are lost when there is no memory for their timers fail in time all the same.
     * Method: 50 nodes, lost one after another, and an allocator that gives nothing any more. */
    enum { LOST = 50 };
    struct rig r;
    uint64_t begin, since;
    uint32_t i, failed = 0, in_time = 0;

    rig_init(&r);
    for (i = 1; i <= LOST; i++)
        phx__detect_reachable(&r.d, i, 1, 0, r.now);
    r.heap.fail_from = r.heap.calls + 1;
    r.count = 0;
    begin = r.now;
    for (i = 1; i <= LOST; i++) {
        rig_step(&r, begin + i * MS);
        check(phx__detect_reachable(&r.d, i, 0, 0, r.now) == 0, "lost");
    }
    rig_run(&r, begin + BROKEN + SECOND);
    for (i = 1; i <= LOST; i++) {
        failed += phx__detect_state(&r.d, i, &since) == PHX_NODE_FAILED;
        in_time += since >= begin + i * MS + BROKEN && since <= begin + i * MS + BROKEN + 2 * MS;
    }
    ok(failed == LOST && in_time == LOST, "%u failed, %u in time", failed, in_time);
    rig_free(&r);

    /* And if this node itself stalls for longer than it has lived. */
    rig_init(&r);
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    r.heap.fail_from = r.heap.calls + 1;
    check(phx__detect_reachable(&r.d, 1, 0, 0, r.now) == 0, "lost");
    rig_step(&r, 3 * r.now + 100 * SECOND);
    rig_run(&r, r.now + SECOND);
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_FAILED, "after a stall, too");
    rig_free(&r);
}

static void test_suspicion(void)
{
    /* Goal: suspicion after half the time-out, the end after the whole; a sign of life ends suspicion.
     * Method: a silent link with a node that has a route. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__detect_reachable(&r.d, 1, 1, 0, begin);
    phx__detect_link_up(&r.d, 1, 0, begin);
    rig_run(&r, begin + BEAT + TIMEOUT / 2 - 1);
    ok(rig_events(&r, 'S') == 0 && rig_events(&r, 'r') == 0, "not before");
    rig_run(&r, begin + BEAT + TIMEOUT / 2);
    ok(rig_events(&r, 'S') == 1 && rig_events(&r, 'r') == 1 && r.d.suspects == 1, "suspect");
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_SUSPECT, "that there is a route proves nothing");
    phx__detect_received(&r.d, 1, r.now);
    ok(rig_last(&r, 'O')->at == r.now && r.d.suspects == 0, "a frame does");
    begin = r.now;
    rig_run(&r, begin + BEAT + TIMEOUT - 1);
    ok(rig_events(&r, 'r') == 2 && rig_events(&r, 'x') == 0, "silent again");
    phx__detect_alive(&r.d, 1, r.now);
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_OK, "a new number clears it");
    rig_run(&r, begin + BEAT + TIMEOUT);
    ok(rig_events(&r, 'x') == 1 && rig_events(&r, 'r') == 2, "but not the link");
    ok(phx__detect_trouble_of(&r.d, 1)->accuser == PHX__SELF, "and who accused it is known");
    rig_free(&r);
}

static void test_accuser(void)
{
    /* Goal: who said that a node is gone, and when: of one whose last route went without a word it is nobody,
     * whoever had accused it before. */
    struct rig r;

    rig_init(&r);
    phx__detect_reachable(&r.d, 3, 1, 0, r.now);
    rig_run(&r, r.now + SECOND);
    phx__detect_rumour(&r.d, 3, 9, r.now);
    ok(phx__detect_trouble_of(&r.d, 3)->accused_ms == r.now / MS, "a second after the start");
    phx__detect_alive(&r.d, 3, r.now);
    rig_run(&r, r.now + SECOND);
    phx__detect_reachable(&r.d, 3, 0, 0, r.now);
    check(phx__detect_state(&r.d, 3, NULL) == PHX_NODE_UNREACHABLE, "its last route went");
    ok(phx__detect_trouble_of(&r.d, 3)->accuser == PHX__NONE
           && phx__detect_trouble_of(&r.d, 3)->accused_ms == r.now / MS, "nobody has accused it");
    phx__detect_alive(&r.d, 3, r.now);
    rig_free(&r);
}

static void test_rumour(void)
{
    /* Goal: a rumour is checked, not believed. Method: with and without a link, answered or not, and about
     * a node that is busy. */
    struct rig r;
    uint64_t begin;
    uint32_t node;

    rig_init_monitors(&r, 2);
    ok(phx__detect_rumour(&r.d, 7, 3, r.now) == 0, "about an unknown node");
    for (node = 0; node < 3; node++) {
        phx__detect_reachable(&r.d, node, 1, 0, r.now);
        phx__detect_link_up(&r.d, node, 0, r.now);
        phx__detect_heartbeat(&r.d, node, INSURANCE, node == 2, 0, r.now);
    }
    phx__detect_reachable(&r.d, 3, 1, 0, r.now);
    rig_run(&r, r.now + SECOND);
    begin = r.now;
    for (node = 0; node < 4; node++)
        ok(phx__detect_rumour(&r.d, node, 9, begin) == (node != 2), "passed on but of the busy one");
    ok(rig_events(&r, 'a') == 2 && rig_events(&r, 'S') == 3, "two are asked, three are suspect");
    phx__detect_rumour(&r.d, 1, 9, begin);
    ok(rig_events(&r, 'a') == 2, "and not twice");
    rig_run(&r, begin + SECOND);
    phx__detect_received(&r.d, 0, r.now);
    ok(phx__detect_state(&r.d, 0, NULL) == PHX_NODE_OK, "one answers");
    rig_run(&r, begin + TIMEOUT);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 1
           && rig_last(&r, 'x')->at == begin + TIMEOUT / 2,
       "the other is given up in half the time-out");
    ok(phx__detect_trouble_of(&r.d, 3)->accuser == 9, "the accuser is known");
    rig_run(&r, begin + TIMEOUT + BROKEN - 1);
    ok(phx__detect_state(&r.d, 3, NULL) == PHX_NODE_SUSPECT, "of the far one nothing is known");
    rig_run(&r, begin + TIMEOUT + BROKEN);
    ok(phx__detect_state(&r.d, 3, NULL) == PHX_NODE_OK, "and in the end nothing came of it");
    rig_free(&r);
}

static void test_rumour_waited(void)
{
    /* Goal: what waited while we were stopped is no answer to a question. Method: after a stall the rumour is
     * read first, then the last word of the dead; and the same with one that has announced a pause. */
    struct rig r;
    uint32_t node;
    uint64_t woke;

    rig_init_monitors(&r, 2);
    for (node = 0; node < 2; node++) {
        phx__detect_reachable(&r.d, node, 1, 0, r.now);
        phx__detect_link_up(&r.d, node, 0, r.now);
    }
    rig_run(&r, r.now + SECOND);
    woke = r.now += 10 * SECOND;
    r.count = 0;
    phx__detect_step(&r.d, woke);
    for (node = 0; node < 2; node++) {
        phx__detect_rumour(&r.d, node, 9, woke);
        phx__detect_heartbeat(&r.d, node, INSURANCE, node == 1, 0, woke);
    }
    ok(rig_events(&r, 'a') == 0, "nobody is asked before all is read");
    rig_run(&r, woke + TIMEOUT / 2 - 1);
    ok(rig_events(&r, 'a') == 1 && rig_last(&r, 'a')->node == 0 && rig_last(&r, 'a')->at <= woke + MS,
       "then one is asked, at once");
    ok(rig_events(&r, 'x') == 0, "and has its time");
    rig_run(&r, woke + TIMEOUT / 2 + TIMEOUT - 1);
    ok(rig_events(&r, 'x') == 0, "as much more as who was stopped itself gives others");
    rig_run(&r, woke + 2 * TIMEOUT);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 0 && r.fired < 20, "the dead is given up");
    rig_free(&r);
}

static void test_probe(void)
{
    /* Goal: before a node fails others are asked, twice, and an answer puts the failure off. Method: one
     * node that is lost. */
    struct rig r;
    uint64_t begin;
    int i;

    rig_init(&r);
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    phx__detect_reachable(&r.d, 1, 0, 0, r.now);
    begin = r.now;
    ok(rig_events(&r, 'p') == 1 && rig_last(&r, 'p')->value == 0, "at once");
    rig_run(&r, begin + BROKEN - 1);
    ok(rig_events(&r, 'p') == 2 && rig_last(&r, 'p')->at == begin + BROKEN / 2
           && rig_last(&r, 'p')->value == 1, "and halfway");
    phx__detect_alive(&r.d, 1, r.now);
    begin = r.now;
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_UNREACHABLE, "an answer makes no route");
    rig_run(&r, begin + BROKEN);
    ok(rig_last(&r, 'F')->at == begin + BROKEN && rig_events(&r, 'p') == 3, "but gives it time");
    rig_free(&r);
    rig_init(&r); /* ten answers put it off, and the eleventh does not: anybody may say so for ever */
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    phx__detect_reachable(&r.d, 1, 0, 0, r.now);
    begin = r.now;
    for (i = 0; i < 20; i++) {
        rig_run(&r, r.now + BROKEN * 9 / 10);
        phx__detect_alive(&r.d, 1, r.now);
    }
    ok(phx__detect_state(&r.d, 1, NULL) == PHX_NODE_FAILED
           && rig_last(&r, 'F')->at == begin + BROKEN * 9 / 10 * 10 + BROKEN, "but ten times only");
    rig_free(&r);
}

/* ---- Own stalls ------------------------------------------------------------------------------- */

static void test_stall(void)
{
    /* Goal: a host that did not step accuses nobody for it, and does not forget the silent
     * either. Method: ten links, stalls of several lengths, and after each all but one speak
     * again. */
    static const uint64_t stalls[] = { 11 * SECOND, 60 * SECOND, 3600 * SECOND };
    struct rig r;
    size_t i;
    uint32_t node;
    uint64_t back;

    for (i = 0; i < PHX__COUNT(stalls); i++) {
        rig_init(&r);
        for (node = 0; node < 10; node++)
            phx__detect_link_up(&r.d, node, 0, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        rig_step(&r, r.now);
        for (node = 0; node < 10; node++)
            phx__detect_received(&r.d, node, r.now);
        back = r.now + stalls[i];
        rig_step(&r, back);
        ok(rig_events(&r, 'x') == 0,
           "stalled for %u s: nobody is accused", (unsigned)(stalls[i] / SECOND));
        ok(rig_events(&r, 'b') == 10, "but all are told at once that we are back");
        rig_run(&r, back + 3 * SECOND);
        for (node = 0; node < 9; node++)
            phx__detect_received(&r.d, node, r.now);
        rig_run(&r, back + 3 * SECOND + TIMEOUT + BEAT - 1);
        ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 9
           && rig_last(&r, 'x')->at == back + BEAT + TIMEOUT,
           "who stays silent after that is");
        rig_free(&r);
    }
}

/* A step that first reads what waits on all links but the one with node 1. */
static void starve_step(struct rig *r, uint64_t later)
{
    uint32_t node;

    r->now += later;
    phx__detect_step(&r->d, r->now);
    for (node = 2; node <= 20; node++)
        phx__detect_received(&r->d, node, r->now);
    rig_step(r, r->now);
}

/* Awake for half a second, then away for 9.5 s. */
static void starve(struct rig *r, uint32_t turns)
{
    uint32_t k;

    while (turns-- > 0) {
        for (k = 0; k < 5; k++)
            starve_step(r, 100 * MS);
        starve_step(r, 9500 * MS);
    }
}

static void test_starved(void)
{
    /* Goal: who is stopped again and again announces twice the longest stall, on all links, and keeps to it;
     * the dead are found nevertheless; a minute in time and all is as before. Method: ten links, one of which
     * is a monitor and one silent, and a host that is awake for 0.5 s of each 10. */
    struct rig r;
    uint32_t node, i, late = 0;
    uint64_t said[11];

    rig_init_monitors(&r, 1);
    for (node = 1; node < 10; node++)
        phx__detect_link_up(&r.d, node, 0, r.now);
    starve(&r, 1);
    ok(r.d.slow == 19 * SECOND && rig_events(&r, 'x') == 0, "twice the stall is announced");
    for (node = 1, i = 0; node < 10; node++)
        i += phx__detect_link_of(&r.d, node)->promised_us == 19 * SECOND;
    ok(i == 9 && rig_events(&r, 'b') >= 9, "to all, and at once");
    starve(&r, 1);
    ok(r.d.slow == 19 * SECOND && r.d.stalled == 9500 * MS, "a second stall is no news, and gives no credit");
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 1, "so the silent is found");
    for (node = 2; node < 10; node++)
        said[node] = r.now;
    for (i = 0; i < 12; i++) {
        r.count = 0;
        starve(&r, 1);
        for (uint32_t k = 0; k < r.count && k < EVENTS; k++)
            if (r.events[k].what == 'b') {
                late += r.events[k].at - said[r.events[k].node] > 19 * SECOND;
                said[r.events[k].node] = r.events[k].at;
            }
    }
    for (node = 2; node < 10; node++)
        late += r.now - said[node] > 19 * SECOND;
    ok(late == 0, "in two minutes all have heard what was announced to them in time");
    r.count = 0;
    phx__detect_link_up(&r.d, 20, 0, r.now);
    phx__detect_heartbeat(&r.d, 20, 0, 1, 0, r.now);
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') > 0 && phx__detect_link_of(&r.d, 20)->promised_us == 19 * SECOND,
       "a new link hears it at once, also one that is busy itself");
    phx__detect_link_up(&r.d, 21, 1, r.now);
    phx__detect_limits(&r.d, &(struct phx_detector){ 1, BEAT, INSURANCE, TIMEOUT, BROKEN });
    rig_step(&r, r.now);
    ok(phx__detect_link_of(&r.d, 21)->promised_us == 19 * SECOND, "also one in a crowd");
    for (i = 0; i < 299; i++)
        starve_step(&r, 100 * MS);
    ok(r.d.slow == 19 * SECOND, "half a minute later that is still so");
    for (; i < 700; i++)
        starve_step(&r, 100 * MS);
    for (node = 2; node < 10 && !phx__detect_is_monitor(&r.d, node); node++)
        ;
    ok(r.d.slow == 0 && node < 10 && phx__detect_announce(&r.d, node, r.now) == BEAT,
       "a minute in time and it is the usual again");
    rig_free(&r);
}

static void test_seldom(void)
{
    /* Goal: who has a turn every 2.4 s only, too often for a longer announcement, is heard within what it has
     * announced: it speaks in the turn before. A minute in time and it speaks as seldom as before. */
    struct rig r;
    uint64_t said = 0, longest = 0;
    uint32_t turn, beats;

    rig_init_monitors(&r, 1);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    for (turn = 0; turn < 40; turn++) {
        r.count = 0;
        starve_step(&r, 2400 * MS);
        phx__detect_received(&r.d, 1, r.now);
        if (rig_events(&r, 'b') == 0)
            continue;
        longest = turn > 5 ? PHX__MAX(longest, r.now - said) : 0;
        said = r.now;
    }
    ok(r.d.slow == 0 && longest > 0 && longest <= BEAT, "silent for %u ms at most", (unsigned)(longest / MS));
    for (turn = 0; turn < 700; turn++) {
        starve_step(&r, 100 * MS);
        phx__detect_received(&r.d, 1, r.now);
    }
    r.count = 0;
    for (turn = 0; turn < 200; turn++) {
        starve_step(&r, 100 * MS);
        phx__detect_received(&r.d, 1, r.now);
    }
    beats = rig_events(&r, 'b');
    ok(beats >= 3 && beats <= 4, "%u heartbeats in the 20 s after a minute in time", beats);
    rig_free(&r);
}

/* turns: of 3 s before a longer one. */
static void test_starved_crowd(uint32_t turns)
{
    /* Goal: hundreds that share processors do not starve each other with heartbeats, and are heard within
     * what they have announced all the same; that a stall has grown is told to those only who could be
     * surprised. Method: 300 links and a turn every 3 s, then every 7. */
    enum { CROWD = 300, SETTLED = 20 };
    struct rig r;
    uint32_t turn, node, late = 0, beats = 0, always;

    rig_init_monitors(&r, 1);
    for (node = 1; node <= CROWD; node++)
        phx__detect_link_up(&r.d, node, 1, r.now);
    check(phx__timer_new(&r.timers, PHX__TIMER_DETECT_NODE, 0, &always) == 0, "always something to do");
    for (turn = 0; turn < turns; turn++) {
        r.count = 0;
        phx__timer_set(&r.timers, always, r.now);
        r.now += turn + 1 < turns ? 3 * SECOND : 7 * SECOND;
        phx__detect_step(&r.d, r.now);
        for (node = 1; node <= CROWD; node++) {
            const struct phx__detect_link *l = phx__detect_link_of(&r.d, node);
            late += turn > 5 && turn + 1 < turns && r.now - l->sent_at > l->promised_us;
            phx__detect_received(&r.d, node, r.now);
        }
        if (turn + 1 < turns)
            rig_step(&r, r.now);
        beats += turn >= SETTLED ? r.count : 0;
    }
    ok(late == 0, "%u times somebody heard too late", late);
    ok(beats > 0 && beats < 3 * CROWD * (turns - SETTLED) / 12 + CROWD + turns,
       "%u heartbeats in 2 minutes: each of 300 hears every 12 s", beats);
    ok(r.d.slow == 14 * SECOND && r.count == 1 && phx__detect_is_monitor(&r.d, r.events[0].node),
       "only the monitor hears that the stalls are longer: %u", r.count);
    for (turn = late = 0; turn < 12; turn++) {
        rig_step(&r, r.now);
        phx__timer_set(&r.timers, always, r.now);
        r.now += 7 * SECOND;
        for (node = 1; node <= CROWD; node++) {
            const struct phx__detect_link *l = phx__detect_link_of(&r.d, node);
            late += r.now - l->sent_at > l->promised_us + SECOND;
            phx__detect_received(&r.d, node, r.now);
        }
    }
    ok(late == 0, "but the others hear of us sooner than was planned: %u times too late", late);
    phx__timer_drop(&r.timers, always);
    rig_free(&r);
}

static void test_sleep(void)
{
    /* Goal: sleeping as long as was asked for is no stall. Method: one link and nothing else, so
     * that the host sleeps 5 s between steps, more than a stall's length; and one that is a
     * little late. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__detect_link_up(&r.d, 1, 0, begin);
    rig_run(&r, begin + 60 * SECOND);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at == begin + BEAT + TIMEOUT && r.d.stalled == 0,
       "the silent is found in time");
    rig_free(&r);
    rig_init(&r);
    begin = r.now;
    phx__detect_link_up(&r.d, 1, 0, begin);
    while (r.now < begin + 60 * SECOND)
        rig_step(&r, r.now + 700 * MS);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at < begin + BEAT + TIMEOUT + SECOND
       && r.d.stalled == 0,
       "also by a host that steps every 700 ms");
    rig_free(&r);
    rig_init(&r);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_step(&r.d, r.now + BEAT + 900 * MS);
    phx__detect_step(&r.d, r.now + BEAT + 1800 * MS);
    phx__detect_step(&r.d, r.now + BEAT + 2700 * MS);
    ok(r.d.stalled == 0, "a timer left from the last step does not make this one late");
    rig_free(&r);
}

static void test_short_timeouts(void)
{
    /* Goal: with short times a short stall counts. Method: 20 ms heartbeats and a host that is
     * 500 ms away. */
    struct phx_detector limits = { 2, 20 * MS, 20 * MS, 20 * MS, SECOND };
    struct rig r;

    rig_init(&r);
    phx__detect_limits(&r.d, &limits);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_heartbeat(&r.d, 1, 20 * MS, 0, 0, r.now);
    rig_step(&r, r.now + 500 * MS);
    ok(rig_events(&r, 'x') == 0, "nobody is accused");
    rig_run(&r, r.now + 500 * MS);
    ok(rig_events(&r, 'x') == 1, "but the silent is, later");
    rig_free(&r);
}

static void test_unread(void)
{
    /* Goal: after a stall nobody is accused before what waits was read, however little time was
     * left. Method: a link and a deadline with a millisecond left, and steps that do not read all. */
    struct rig r;
    uint64_t back;
    int i;

    rig_init(&r);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    phx__detect_reachable(&r.d, 2, 1, 0, r.now);
    rig_run(&r, r.now + BEAT + TIMEOUT - BROKEN);
    phx__detect_reachable(&r.d, 2, 0, 0, r.now);
    rig_run(&r, r.now + BROKEN - MS);
    rig_step(&r, r.now);
    back = r.now + 100 * SECOND;
    for (i = 0; i < 20; i++) {
        uint32_t node;
        int kind;
        r.now = back + (uint64_t)i * MS;
        phx__detect_step(&r.d, r.now);
        while (phx__timer_pop(&r.timers, r.now, &kind, &node) == 1)
            phx__detect_due(&r.d, kind, node, r.now);
    }
    ok(r.d.stalled == 100 * SECOND && rig_events(&r, 'x') == 0 && rig_events(&r, 'F') == 0,
       "20 ms of reading, and nobody is accused");
    rig_run(&r, r.now + MS);
    ok(rig_events(&r, 'x') == 1 && rig_events(&r, 'F') == 1, "then both");
    rig_free(&r);
}

static void test_never_all_read(void)
{
    /* Goal: a node that never gets to the end of what there is to read finds the dead all the
     * same. Method: a stall, and after it steps that leave something unread each time. */
    struct rig r;
    uint64_t begin;
    uint32_t node;
    int kind;

    rig_init(&r);
    phx__detect_reachable(&r.d, 1, 1, 0, r.now);
    phx__detect_link_up(&r.d, 1, 0, r.now);
    begin = r.now;
    for (r.now += 60 * SECOND; r.now < begin + 120 * SECOND; r.now += 10 * MS) {
        phx__detect_step(&r.d, r.now);
        while (phx__timer_pop(&r.timers, r.now, &kind, &node) == 1)
            phx__detect_due(&r.d, kind, node, r.now);
    }
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at >= begin + 60 * SECOND + TIMEOUT
           && rig_last(&r, 'x')->at < begin + 60 * SECOND + BEAT + TIMEOUT + SECOND,
       "given up %llu us after the stall",
       (unsigned long long)(rig_last(&r, 'x')->at - begin - 60 * SECOND));
    rig_free(&r);
}

static void test_grace(void)
{
    /* Goal: after a stall others get time: perhaps they gave us up. Method: a node lost right
     * after a stall of a minute, and one of a few seconds. */
    static const uint64_t stalls[][2] = { { 60 * SECOND, 10 * SECOND }, { 8 * SECOND, 8 * SECOND } };
    struct rig r;
    size_t i;
    uint64_t begin;

    for (i = 0; i < PHX__COUNT(stalls); i++) {
        rig_init(&r);
        phx__detect_link_up(&r.d, 1, 0, r.now);
        phx__detect_reachable(&r.d, 1, 1, 0, r.now);
        rig_step(&r, r.now);
        begin = r.now + stalls[i][0];
        rig_step(&r, begin);
        phx__detect_link_down(&r.d, 1);
        phx__detect_reachable(&r.d, 1, 0, 0, r.now);
        rig_run(&r, begin + 100 * SECOND);
        ok(rig_last(&r, 'F')->at == begin + BROKEN + stalls[i][1], "failed %u s later than usual",
           (unsigned)(stalls[i][1] / SECOND));
        rig_free(&r);
    }
}

int main(void)
{
    test_states();
    test_since();
    test_lost_without_memory();
    test_suspicion();
    test_accuser();
    test_rumour();
    test_rumour_waited();
    test_probe();
    test_stall();
    test_starved();
    test_seldom();
    for (uint32_t phase = 0; phase < 4; phase++) /* each hears every fourth turn */
        test_starved_crowd(60 + phase);
    test_sleep();
    test_short_timeouts();
    test_unread();
    test_never_all_read();
    test_grace();
    return test_end();
}
