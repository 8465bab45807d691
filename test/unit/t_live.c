/* t_live.c - heartbeats, silence, own stalls and the states of nodes. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "live.h"
#endif

#define MS PHX__MS
#define SECOND PHX__SECOND
#define BEAT (5 * SECOND)
#define GRACE (4 * SECOND)
#define BROKEN (7 * SECOND)

#define NODES 40
#define EVENTS 256

struct event {
    char what; /* b beat, x silent, or the first letter of a state */
    uint32_t node;
    uint64_t at, value;
};
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__timers timers;
    struct phx__live l;
    uint64_t now;
    struct event events[EVENTS];
    uint32_t count;
    uint32_t fired;         /* timers */
    int drops;              /* silent calls down, as the node does */
    int grows;              /* a beat makes a new link (1), or ends its own (2) */
};

static void rig_note(struct rig *r, char what, uint32_t node, uint64_t value)
{
    struct event *e = &r->events[r->count++ % EVENTS];

    e->what = what;
    e->node = node;
    e->at = r->now;
    e->value = value;
}

static void rig_beat(void *ctx, uint32_t node, uint64_t next_us)
{
    struct rig *r = ctx;

    rig_note(r, 'b', node, next_us);
    if (r->grows == 1)
        check(phx__live_up(&r->l, 100, r->now) == 0, "a link while another beats");
    if (r->grows == 2)
        phx__live_down(&r->l, node);
}

static void rig_silent(void *ctx, uint32_t node, uint64_t us)
{
    struct rig *r = ctx;

    rig_note(r, 'x', node, us);
    if (r->drops)
        phx__live_down(&r->l, node);
}

static void rig_state(void *ctx, uint32_t node, enum phx_state state)
{
    static const char letters[] = "?OSUFL";
    struct rig *r = ctx;

    check(phx__live_state(&r->l, node, NULL) == state, "the state is the new one inside the call");
    rig_note(r, letters[state], node, 0);
}

static void rig_init(struct rig *r)
{
    struct phx_detector limits = { 2, BEAT, BEAT, GRACE, BROKEN };
    struct phx__live_ops ops = { NULL, rig_beat, rig_silent, rig_state };
    struct phx_alloc alloc;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    ops.ctx = r;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__timers_init(&r->timers, &r->mem);
    phx__live_init(&r->l, &r->mem, &r->timers, &limits, &ops);
    r->drops = 1;
    r->now = 1000 * SECOND;
    phx__live_step(&r->l, r->now);
}

static void rig_free(struct rig *r)
{
    phx__live_free(&r->l);
    phx__timers_free(&r->timers);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* A step of a host at this time. */
static void rig_step(struct rig *r, uint64_t now)
{
    uint32_t node;
    int kind;

    r->now = now;
    phx__live_step(&r->l, now);
    while (phx__timers_pop(&r->timers, now, &kind, &node) == 1) {
        r->fired++;
        phx__live_due(&r->l, kind, node, now);
    }
}

/* A host that steps exactly when it is asked to. */
static void rig_run(struct rig *r, uint64_t until)
{
    while (phx__timers_next(&r->timers) <= until)
        rig_step(r, phx__timers_next(&r->timers) > r->now ? phx__timers_next(&r->timers) : r->now);
    r->now = until;
}

static uint32_t rig_events(const struct rig *r, char what)
{
    uint32_t i, count = 0;

    for (i = 0; i < r->count && i < EVENTS; i++)
        count += r->events[i].what == what;
    return count;
}

/* The last event of this kind. */
static const struct event *rig_last(const struct rig *r, char what)
{
    static const struct event none;
    uint32_t i;

    for (i = r->count; i-- > 0;)
        if (r->events[i].what == what)
            return &r->events[i];
    return &none;
}

static void test_beats(void)
{
    /* Goal: something is said every interval_us, and nothing more. Method: a link that hears
     * all the time, first silent itself, then talking. */
    struct rig r;
    uint64_t begin;
    uint32_t i;

    rig_init(&r);
    begin = r.now;
    ok(phx__live_up(&r.l, 3, begin) == 0, "a link");
    ok(phx__timers_next(&r.timers) == begin + BEAT, "the first thing due is our own heartbeat");
    for (i = 1; i <= 40; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__live_heard(&r.l, 3, 0, r.now);
    }
    ok(r.count == 8 && rig_events(&r, 'b') == 8, "8 heartbeats in 40 s");
    ok(r.events[0].at == begin + BEAT && r.events[7].at == begin + 8 * BEAT, "on the dot");
    ok(r.events[0].node == 3 && r.events[0].value == BEAT, "with the promise of the next");
    for (i = 41; i <= 80; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__live_heard(&r.l, 3, 0, r.now);
        phx__live_said(&r.l, 3, r.now);
    }
    ok(r.count == 8, "who talks needs no heartbeat");
    rig_run(&r, r.now + BEAT);
    ok(r.count == 9, "until it stops");
    phx__live_down(&r.l, 3);
    ok(phx__timers_next(&r.timers) == UINT64_MAX, "no link, no timer");
    rig_free(&r);
}

static void test_silence(void)
{
    /* Goal: a link is given up after the announced time and the grace, not before. Method: a
     * table of announcements and the time of the verdict. */
    static const struct {
        uint64_t next, verdict;
    } table[] = {
        { 0, BEAT + GRACE },           { 1 * SECOND, 1 * SECOND + GRACE },
        { BEAT, BEAT + GRACE },        { 60 * SECOND, 60 * SECOND + GRACE },
        { 1, GRACE + 1 },              { UINT64_MAX, UINT64_MAX },
    };
    struct rig r;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        uint64_t begin;
        const struct event *e;
        rig_init(&r);
        phx__live_up(&r.l, 1, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        begin = r.now;
        phx__live_heard(&r.l, 1, table[i].next, begin);
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
    phx__live_up(&r.l, 1, begin);
    phx__live_heard(&r.l, 1, 60 * SECOND, begin);
    rig_run(&r, begin + 30 * SECOND);
    phx__live_heard(&r.l, 1, 0, r.now);
    rig_run(&r, begin + 93 * SECOND);
    ok(rig_events(&r, 'x') == 0, "plain traffic does not shorten it");
    phx__live_heard(&r.l, 1, BEAT, r.now);
    rig_run(&r, begin + 200 * SECOND);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at == begin + 93 * SECOND + BEAT + GRACE,
       "a new announcement does");
    rig_free(&r);
}

static void test_shorter(void)
{
    /* Goal: a shorter announcement holds at once. Method: one that ends before our own next
     * heartbeat, which is when a lazy timer would look. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__live_up(&r.l, 1, begin);
    phx__live_heard(&r.l, 1, 60 * SECOND, begin);
    rig_run(&r, begin + BEAT + SECOND / 2);
    phx__live_heard(&r.l, 1, 1, r.now);
    rig_run(&r, begin + 20 * SECOND);
    ok(rig_last(&r, 'x')->at == begin + BEAT + SECOND / 2 + 1 + GRACE, "to the microsecond");
    rig_free(&r);
}

static void test_calls_back(void)
{
    /* Goal: a heartbeat may change the room under our feet. Method: sending it makes a link with
     * a node of a higher index, which moves the array, and once drops the link itself. */
    struct rig r;

    rig_init(&r);
    phx__live_up(&r.l, 1, r.now);
    r.grows = 1;
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 1 && r.l.at[100].linked, "the array moved");
    ok(phx__timers_next(&r.timers) == r.now + GRACE, "and the timer is set");
    r.grows = 2;
    phx__live_heard(&r.l, 1, 0, r.now);
    phx__live_down(&r.l, 100);
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 2 && phx__timers_next(&r.timers) == UINT64_MAX, "the link went");
    rig_free(&r);
}

static void test_stubborn_owner(void)
{
    /* Goal: an owner that keeps a silent link is told again, and time goes on. Method: silent
     * does not drop the link. */
    struct rig r;

    rig_init(&r);
    r.drops = 0;
    phx__live_up(&r.l, 1, r.now);
    rig_run(&r, r.now + BEAT + GRACE + 10 * BEAT);
    ok(rig_events(&r, 'x') == 11, "told every heartbeat: %u", rig_events(&r, 'x'));
    rig_free(&r);
}

static void test_lazy(void)
{
    /* Goal: traffic touches no timer. Method: a million frames in 20 s, and the timers that
     * fired. */
    struct rig r;
    uint64_t begin, order;
    uint32_t i;

    rig_init(&r);
    begin = r.now;
    phx__live_up(&r.l, 1, begin);
    order = r.timers.order;
    for (i = 0; i < 1000000; i++) {
        if (i % 1000 == 0)
            rig_run(&r, begin + i * 20);
        phx__live_heard(&r.l, 1, 0, begin + i * 20);
        phx__live_said(&r.l, 1, begin + i * 20);
    }
    ok(r.fired <= 5 && r.timers.order - order <= 5, "%u timers for a million frames", r.fired);
    ok(r.count == 0, "no heartbeat and no alarm");
    rig_free(&r);
}

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
            phx__live_up(&r.l, node, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        rig_step(&r, r.now);
        for (node = 0; node < 10; node++)
            phx__live_heard(&r.l, node, 0, r.now);
        back = r.now + stalls[i];
        rig_step(&r, back);
        ok(rig_events(&r, 'x') == 0,
           "stalled for %u s: nobody is accused", (unsigned)(stalls[i] / SECOND));
        ok(rig_events(&r, 'b') == 10, "but all are told at once that we are back");
        rig_run(&r, back + 3 * SECOND);
        for (node = 0; node < 9; node++)
            phx__live_heard(&r.l, node, 0, r.now);
        rig_run(&r, back + 3 * SECOND + GRACE + BEAT - 1);
        ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 9
           && rig_last(&r, 'x')->at == back + BEAT + GRACE,
           "who stays silent after that is");
        rig_free(&r);
    }
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
    phx__live_up(&r.l, 1, begin);
    rig_run(&r, begin + 60 * SECOND);
    ok(rig_events(&r, 'x') == 1 && r.events[1].at == begin + BEAT + GRACE && r.l.stalled == 0,
       "the silent is found in time");
    rig_free(&r);
    rig_init(&r);
    begin = r.now;
    phx__live_up(&r.l, 1, begin);
    while (r.now < begin + 60 * SECOND)
        rig_step(&r, r.now + 700 * MS);
    ok(rig_events(&r, 'x') == 1 && r.events[1].at < begin + BEAT + GRACE + SECOND
       && r.l.stalled == 0,
       "also by a host that steps every 700 ms");
    rig_free(&r);
    rig_init(&r);
    phx__live_up(&r.l, 1, r.now);
    phx__live_step(&r.l, r.now + BEAT + 900 * MS);
    phx__live_step(&r.l, r.now + BEAT + 1800 * MS);
    phx__live_step(&r.l, r.now + BEAT + 2700 * MS);
    ok(r.l.stalled == 0, "a timer left from the last step does not make this one late");
    rig_free(&r);
}

static void test_short_timeouts(void)
{
    /* Goal: with short times a short stall counts. Method: 20 ms heartbeats and a host that is
     * 500 ms away. */
    struct rig r;

    rig_init(&r);
    r.l.limits.interval_us = 20 * MS;
    r.l.limits.timeout_us = 20 * MS;
    phx__live_up(&r.l, 1, r.now);
    rig_step(&r, r.now + 500 * MS);
    ok(rig_events(&r, 'x') == 0, "nobody is accused");
    rig_run(&r, r.now + 500 * MS);
    ok(rig_events(&r, 'x') == 1, "but the silent is, later");
    rig_free(&r);
}

static void test_backwards(void)
{
    /* Goal: a clock that steps back does no harm. Method: an hour back, and forth again. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__live_up(&r.l, 1, begin);
    rig_run(&r, begin + SECOND);
    rig_step(&r, begin + SECOND);
    rig_step(&r, begin - 900 * SECOND);
    phx__live_heard(&r.l, 1, 0, begin - 900 * SECOND);
    phx__live_said(&r.l, 1, begin - 900 * SECOND);
    phx__live_up(&r.l, 2, begin - 900 * SECOND);
    phx__live_reachable(&r.l, 2, 0, 0, begin - 900 * SECOND);
    phx__live_due(&r.l, PHX__TIMER_LIVE, 1, begin - 900 * SECOND);
    ok(rig_events(&r, 'x') == 0 && rig_events(&r, 'b') == 0, "nothing happens");
    rig_run(&r, begin + SECOND + BEAT - 1);
    ok(rig_events(&r, 'b') == 0 && rig_events(&r, 'x') == 0,
       "the clock stood still at its highest");
    rig_run(&r, begin + SECOND + BROKEN);
    ok(rig_events(&r, 'b') == 2 && rig_events(&r, 'F') == 1, "and goes on from there");
    rig_free(&r);
}

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
    size_t row, i;
    struct rig r;

    for (row = 0; row < PHX__COUNT(table); row++) {
        char seen[16] = "";
        rig_init(&r);
        for (i = 0; table[row][0][i] != 0; i++) {
            char c = table[row][0][i];
            if (c == 'w' || c == '.')
                rig_run(&r, r.now + (c == 'w' ? 3 : 10) * SECOND);
            else if (c == 'f')
                phx__live_forget(&r.l, 4);
            else
                phx__live_reachable(&r.l, 4, c == '+', c == 'l', r.now);
        }
        for (i = 0; i < r.count && i < sizeof seen - 1; i++)
            seen[i] = r.events[i].what;
        ok(strcmp(seen, table[row][1]) == 0, "%s is %s (%s)", table[row][0], table[row][1], seen);
        if (phx__live_state(&r.l, 4, NULL) != PHX_NODE_UNREACHABLE)
            check(phx__timers_next(&r.timers) == UINT64_MAX, "only the unreachable have a fate");
        rig_free(&r);
    }
}

static void test_since(void)
{
    /* Goal: when a state began, and fates to the microsecond, moved by a stall. Method: one
     * node. */
    struct rig r;
    uint64_t begin, since = 1;

    rig_init(&r);
    begin = r.now;
    ok(phx__live_state(&r.l, 9, &since) == 0 && since == 0, "an unknown node is in no state");
    phx__live_forget(&r.l, 9);
    phx__live_reachable(&r.l, 9, 1, 0, begin);
    ok(phx__live_state(&r.l, 9, &since) == PHX_NODE_OK && since == begin, "OK since then");
    phx__live_reachable(&r.l, 9, 0, 0, begin + 1);
    rig_run(&r, begin + BROKEN);
    ok(phx__live_state(&r.l, 9, &since) == PHX_NODE_UNREACHABLE && since == begin + 1,
       "a little longer");
    rig_run(&r, begin + BROKEN + 1);
    ok(phx__live_state(&r.l, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN + 1,
       "FAILED");
    phx__live_reachable(&r.l, 9, 1, 0, r.now);
    phx__live_reachable(&r.l, 9, 0, 0, r.now);
    rig_step(&r, r.now);
    rig_step(&r, r.now + 100 * SECOND);
    ok(phx__live_state(&r.l, 9, &since) == PHX_NODE_UNREACHABLE, "we slept: it may have come back");
    begin = r.now;
    rig_run(&r, begin + 100 * SECOND);
    ok(phx__live_state(&r.l, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN,
       "it did not");
    rig_free(&r);
}

static void test_links_and_states(void)
{
    /* Goal: links and states do not mix, and late calls do nothing. Method: down, forget and
     * traffic in odd orders. */
    struct rig r;

    rig_init(&r);
    phx__live_up(&r.l, 1, r.now);
    phx__live_up(&r.l, 1, r.now);
    phx__live_reachable(&r.l, 1, 1, 0, r.now);
    phx__live_down(&r.l, 1);
    ok(phx__live_state(&r.l, 1, NULL) == PHX_NODE_OK, "a lost link is no lost node");
    phx__live_down(&r.l, 1);
    phx__live_down(&r.l, 30);
    phx__live_heard(&r.l, 1, 5, r.now);
    phx__live_said(&r.l, 1, r.now);
    phx__live_heard(&r.l, 30, 5, r.now);
    phx__live_said(&r.l, 30, r.now);
    phx__live_due(&r.l, PHX__TIMER_LIVE, 1, r.now);
    phx__live_due(&r.l, PHX__TIMER_LIVE, 30, r.now);
    phx__live_due(&r.l, PHX__TIMER_LIVE_NODE, 1, r.now);
    ok(phx__timers_next(&r.timers) == UINT64_MAX && r.count == 1, "late calls do nothing");
    phx__live_up(&r.l, 1, r.now);
    phx__live_reachable(&r.l, 1, 0, 0, r.now);
    phx__live_forget(&r.l, 1);
    ok(phx__timers_next(&r.timers) == UINT64_MAX && phx__live_state(&r.l, 1, NULL) == 0,
       "forgotten");
    rig_run(&r, r.now + 100 * SECOND);
    ok(r.count == 2, "for good");
    rig_free(&r);
}

static void memory_scenario(struct rig *r)
{
    uint32_t node;

    for (node = 0; node < NODES; node++) {
        int up = phx__live_up(&r->l, node, r->now);
        int known = phx__live_reachable(&r->l, node, 1, 0, r->now);
        check((up == 0 || up == PHX_ENOMEM) && (known == 0 || known == PHX_ENOMEM), "says so");
        check(phx__live_state(&r->l, node, NULL) == (known == 0 ? PHX_NODE_OK : 0),
              "nothing changed");
        if (known == 0)
            check(phx__live_reachable(&r->l, node, 0, 0, r->now) == 0,
                  "a known node is lost without memory");
        if (node % 3 == 0)
            phx__live_forget(&r->l, node / 2);
        phx__live_heard(&r->l, node, 1, r->now);
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
            memory_scenario(&r);
            failed += r.heap.calls >= n;
            rig_free(&r);
            if (r.heap.calls < n)
                break;
        }
    }
    ok(failed > 20, "%ld failures were survived", failed);
}

static void test_many(void)
{
    /* Goal: many links at once, each with its own times. Method: 40 links of which the even ones
     * speak every 3 s; the odd ones alone are given up. */
    struct rig r;
    uint32_t node, round, i, wrong = 0, given_up = 0;

    rig_init(&r);
    for (node = 0; node < NODES; node++)
        phx__live_up(&r.l, node, r.now + node * MS);
    for (round = 0; round < 6; round++) {
        rig_run(&r, r.now + 3 * SECOND);
        for (node = 0; node < NODES; node += 2)
            phx__live_heard(&r.l, node, 0, r.now);
    }
    for (i = 0; i < r.count; i++) {
        if (r.events[i].what != 'x')
            continue;
        given_up++;
        wrong += r.events[i].node % 2 == 0;
        wrong += r.events[i].at != 1000 * SECOND + r.events[i].node * MS + BEAT + GRACE;
    }
    ok(given_up == NODES / 2 && wrong == 0, "the odd ones, each in its time");
    rig_free(&r);
}

int main(void)
{
    test_beats();
    test_silence();
    test_announcements();
    test_shorter();
    test_calls_back();
    test_stubborn_owner();
    test_lazy();
    test_stall();
    test_sleep();
    test_short_timeouts();
    test_backwards();
    test_states();
    test_since();
    test_links_and_states();
    test_memory();
    test_many();
    return test_end();
}
