/* t_live.c - heartbeats, silence, own stalls and the states of nodes. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "detect/detect.h"
#endif

#define MS PHX__MS
#define SECOND PHX__SECOND
#define BEAT (5 * SECOND)
#define GRACE (4 * SECOND)
#define BROKEN (7 * SECOND)

#define NODES 40
#define EVENTS 256

struct event {
    char what; /* b beat, a beat that asks, x silent, w word, k seek, or the first letter of a state */
    uint32_t node;
    uint64_t at, value;
};
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__timers timers;
    struct phx__rnd rnd;
    struct phx__detect l;
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

static void rig_beat(void *ctx, uint32_t node, int ask)
{
    struct rig *r = ctx;
    int monitor;

    rig_note(r, ask ? 'a' : 'b', node, phx__detect_promise(&r->l, node, r->now, &monitor));
    if (r->grows == 1)
        check(phx__detect_up(&r->l, 100, r->now) == 0, "a link while another beats");
    if (r->grows == 2)
        phx__detect_down(&r->l, node);
}

static void rig_silent(void *ctx, uint32_t node, uint64_t us)
{
    struct rig *r = ctx;

    rig_note(r, 'x', node, us);
    if (r->drops)
        phx__detect_down(&r->l, node);
}

static void rig_suspect(void *ctx, uint32_t node)
{
    rig_note(ctx, 'w', node, 0);
}

static void rig_seek(void *ctx, uint32_t node)
{
    rig_note(ctx, 'k', node, 0);
}

static void rig_state(void *ctx, uint32_t node, enum phx_state state)
{
    static const char letters[] = "?OSUFL";
    struct rig *r = ctx;

    check(phx__detect_state(&r->l, node, NULL) == state, "the state is the new one inside the call");
    rig_note(r, letters[state], node, 0);
}

static void rig_init(struct rig *r)
{
    struct phx_detector limits = { 2, BEAT, BEAT, GRACE, BROKEN };
    struct phx__detect_ops ops = { NULL, rig_beat, rig_silent, rig_suspect, rig_seek, rig_state };
    struct phx_alloc alloc;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    ops.ctx = r;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__timer_init(&r->timers, &r->mem);
    phx__rnd_seed(&r->rnd, 1, 2);
    phx__detect_init(&r->l, &r->mem, &r->timers, &r->rnd, &limits, &ops);
    r->drops = 1;
    r->now = 1000 * SECOND;
    phx__detect_step(&r->l, r->now);
}

static void rig_free(struct rig *r)
{
    phx__detect_free(&r->l);
    phx__timer_free(&r->timers);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* A step of a host at this time. */
static void rig_step(struct rig *r, uint64_t now)
{
    uint32_t node;
    int kind;

    r->now = now;
    phx__detect_step(&r->l, now);
    phx__detect_round(&r->l);
    while (phx__timer_pop(&r->timers, now, &kind, &node) == 1) {
        r->fired++;
        phx__detect_due(&r->l, kind, node, now);
    }
}

/* A host that steps exactly when it is asked to. */
static void rig_run(struct rig *r, uint64_t until)
{
    while (phx__timer_next(&r->timers) <= until)
        rig_step(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
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
    ok(phx__detect_up(&r.l, 3, begin) == 0, "a link");
    ok(phx__timer_next(&r.timers) == begin + BEAT, "the first thing due is our own heartbeat");
    for (i = 1; i <= 40; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__detect_heard(&r.l, 3, r.now);
    }
    ok(r.count == 8 && rig_events(&r, 'b') == 8, "8 heartbeats in 40 s");
    ok(r.events[0].at == begin + BEAT && r.events[7].at == begin + 8 * BEAT, "on the dot");
    ok(r.events[0].node == 3 && r.events[0].value == BEAT, "with the promise of the next");
    for (i = 41; i <= 80; i++) {
        rig_run(&r, begin + i * SECOND);
        phx__detect_heard(&r.l, 3, r.now);
        phx__detect_said(&r.l, 3, r.now);
    }
    ok(r.count == 8, "who talks needs no heartbeat");
    rig_run(&r, r.now + BEAT);
    ok(r.count == 9, "until it stops");
    phx__detect_down(&r.l, 3);
    ok(phx__timer_next(&r.timers) == UINT64_MAX, "no link, no timer");
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
        phx__detect_up(&r.l, 1, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        begin = r.now;
        phx__detect_beat(&r.l, 1, table[i].next, 0, 0, begin);
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
    phx__detect_up(&r.l, 1, begin);
    phx__detect_beat(&r.l, 1, 60 * SECOND, 0, 0, begin);
    rig_run(&r, begin + 30 * SECOND);
    phx__detect_heard(&r.l, 1, r.now);
    rig_run(&r, begin + 93 * SECOND);
    ok(rig_events(&r, 'x') == 0, "plain traffic does not shorten it");
    phx__detect_beat(&r.l, 1, BEAT, 0, 0, r.now);
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
    phx__detect_up(&r.l, 1, begin);
    phx__detect_beat(&r.l, 1, 60 * SECOND, 0, 0, begin);
    rig_run(&r, begin + BEAT + SECOND / 2);
    phx__detect_beat(&r.l, 1, 1, 0, 0, r.now);
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
    phx__detect_up(&r.l, 1, r.now);
    r.grows = 1;
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 1 && r.l.at[100].link != 0, "the array moved");
    ok(phx__timer_next(&r.timers) == r.now + GRACE / 2, "and the timer is set");
    r.grows = 2;
    phx__detect_heard(&r.l, 1, r.now);
    phx__detect_down(&r.l, 100);
    rig_run(&r, r.now + BEAT);
    ok(rig_events(&r, 'b') == 2 && phx__timer_next(&r.timers) == UINT64_MAX, "the link went");
    rig_free(&r);
}

static void test_stubborn_owner(void)
{
    /* Goal: an owner that keeps a silent link is told again, and time goes on. Method: silent
     * does not drop the link. */
    struct rig r;

    rig_init(&r);
    r.drops = 0;
    phx__detect_up(&r.l, 1, r.now);
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
    phx__detect_up(&r.l, 1, begin);
    order = r.timers.order;
    for (i = 0; i < 1000000; i++) {
        if (i % 1000 == 0)
            rig_run(&r, begin + i * 20);
        phx__detect_heard(&r.l, 1, begin + i * 20);
        phx__detect_said(&r.l, 1, begin + i * 20);
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
            phx__detect_up(&r.l, node, r.now);
        rig_run(&r, r.now + 2 * SECOND);
        rig_step(&r, r.now);
        for (node = 0; node < 10; node++)
            phx__detect_heard(&r.l, node, r.now);
        back = r.now + stalls[i];
        rig_step(&r, back);
        ok(rig_events(&r, 'x') == 0,
           "stalled for %u s: nobody is accused", (unsigned)(stalls[i] / SECOND));
        ok(rig_events(&r, 'b') == 10, "but all are told at once that we are back");
        rig_run(&r, back + 3 * SECOND);
        for (node = 0; node < 9; node++)
            phx__detect_heard(&r.l, node, r.now);
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
    phx__detect_up(&r.l, 1, begin);
    rig_run(&r, begin + 60 * SECOND);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at == begin + BEAT + GRACE && r.l.stalled == 0,
       "the silent is found in time");
    rig_free(&r);
    rig_init(&r);
    begin = r.now;
    phx__detect_up(&r.l, 1, begin);
    while (r.now < begin + 60 * SECOND)
        rig_step(&r, r.now + 700 * MS);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at < begin + BEAT + GRACE + SECOND
       && r.l.stalled == 0,
       "also by a host that steps every 700 ms");
    rig_free(&r);
    rig_init(&r);
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_step(&r.l, r.now + BEAT + 900 * MS);
    phx__detect_step(&r.l, r.now + BEAT + 1800 * MS);
    phx__detect_step(&r.l, r.now + BEAT + 2700 * MS);
    ok(r.l.stalled == 0, "a timer left from the last step does not make this one late");
    rig_free(&r);
}

static void test_short_timeouts(void)
{
    /* Goal: with short times a short stall counts. Method: 20 ms heartbeats and a host that is
     * 500 ms away. */
    struct phx_detector limits = { 2, 20 * MS, 20 * MS, 20 * MS, SECOND };
    struct rig r;

    rig_init(&r);
    phx__detect_limits(&r.l, &limits);
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_beat(&r.l, 1, 20 * MS, 0, 0, r.now);
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
    phx__detect_up(&r.l, 1, begin);
    rig_run(&r, begin + SECOND);
    rig_step(&r, begin + SECOND);
    rig_step(&r, begin - 900 * SECOND);
    phx__detect_heard(&r.l, 1, begin - 900 * SECOND);
    phx__detect_said(&r.l, 1, begin - 900 * SECOND);
    phx__detect_up(&r.l, 2, begin - 900 * SECOND);
    phx__detect_reachable(&r.l, 2, 0, 0, begin - 900 * SECOND);
    phx__detect_due(&r.l, PHX__TIMER_LIVE, 1, begin - 900 * SECOND);
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
                phx__detect_forget(&r.l, 4);
            else
                phx__detect_reachable(&r.l, 4, c == '+', c == 'l', r.now);
        }
        for (i = 0, k = 0; i < r.count && k < sizeof seen - 1; i++)
            if (r.events[i].what != 'k')
                seen[k++] = r.events[i].what;
        ok(strcmp(seen, table[row][1]) == 0, "%s is %s (%s)", table[row][0], table[row][1], seen);
        if (phx__detect_state(&r.l, 4, NULL) != PHX_NODE_UNREACHABLE)
            check(phx__timer_next(&r.timers) == UINT64_MAX, "only the unreachable have a fate");
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
    ok(phx__detect_state(&r.l, 9, &since) == 0 && since == 0, "an unknown node is in no state");
    phx__detect_forget(&r.l, 9);
    phx__detect_reachable(&r.l, 9, 1, 0, begin);
    ok(phx__detect_state(&r.l, 9, &since) == PHX_NODE_OK && since == begin, "OK since then");
    phx__detect_reachable(&r.l, 9, 0, 0, begin + 1);
    rig_run(&r, begin + BROKEN);
    ok(phx__detect_state(&r.l, 9, &since) == PHX_NODE_UNREACHABLE && since == begin + 1,
       "a little longer");
    rig_run(&r, begin + BROKEN + 1);
    ok(phx__detect_state(&r.l, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN + 1,
       "FAILED");
    phx__detect_reachable(&r.l, 9, 1, 0, r.now);
    phx__detect_reachable(&r.l, 9, 0, 0, r.now);
    rig_step(&r, r.now);
    rig_step(&r, r.now + 100 * SECOND);
    ok(phx__detect_state(&r.l, 9, &since) == PHX_NODE_UNREACHABLE, "we slept: it may have come back");
    begin = r.now;
    rig_run(&r, begin + 100 * SECOND);
    ok(phx__detect_state(&r.l, 9, &since) == PHX_NODE_FAILED && since == begin + BROKEN,
       "it did not");
    rig_free(&r);
}

static void test_fates_without_memory(void)
{
    /* Goal: nodes that are lost when there is no memory for their timers fail in time all the same.
     * Method: 50 nodes, lost one after another, and a world that gives nothing any more. */
    enum { LOST = 50 };
    struct rig r;
    uint64_t begin, since;
    uint32_t i, failed = 0, in_time = 0;

    rig_init(&r);
    for (i = 1; i <= LOST; i++)
        phx__detect_reachable(&r.l, i, 1, 0, r.now);
    r.heap.fail_from = r.heap.calls + 1;
    r.count = 0;
    begin = r.now;
    for (i = 1; i <= LOST; i++) {
        rig_step(&r, begin + i * MS);
        check(phx__detect_reachable(&r.l, i, 0, 0, r.now) == 0, "lost");
    }
    rig_run(&r, begin + BROKEN + SECOND);
    for (i = 1; i <= LOST; i++) {
        failed += phx__detect_state(&r.l, i, &since) == PHX_NODE_FAILED;
        in_time += since >= begin + i * MS + BROKEN && since <= begin + i * MS + BROKEN + 2 * MS;
    }
    ok(failed == LOST && in_time == LOST, "%u failed, %u in time", failed, in_time);
    rig_free(&r);
}

static void test_links_and_states(void)
{
    /* Goal: links and states do not mix, and late calls do nothing. Method: down, forget and
     * traffic in odd orders. */
    struct rig r;

    rig_init(&r);
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_reachable(&r.l, 1, 1, 0, r.now);
    phx__detect_down(&r.l, 1);
    ok(phx__detect_state(&r.l, 1, NULL) == PHX_NODE_OK, "a lost link is no lost node");
    phx__detect_down(&r.l, 1);
    phx__detect_down(&r.l, 30);
    phx__detect_beat(&r.l, 1, 5, 0, 0, r.now);
    phx__detect_said(&r.l, 1, r.now);
    phx__detect_beat(&r.l, 30, 5, 0, 0, r.now);
    phx__detect_said(&r.l, 30, r.now);
    phx__detect_due(&r.l, PHX__TIMER_LIVE, 1, r.now);
    phx__detect_due(&r.l, PHX__TIMER_LIVE, 30, r.now);
    phx__detect_due(&r.l, PHX__TIMER_LIVE_NODE, 1, r.now);
    ok(phx__timer_next(&r.timers) == UINT64_MAX && r.count == 1, "late calls do nothing");
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_reachable(&r.l, 1, 0, 0, r.now);
    phx__detect_forget(&r.l, 1);
    ok(phx__timer_next(&r.timers) == UINT64_MAX && phx__detect_state(&r.l, 1, NULL) == 0,
       "forgotten");
    rig_run(&r, r.now + 100 * SECOND);
    ok(r.count == 3, "for good");
    rig_free(&r);
}

static void memory_scenario(struct rig *r)
{
    uint32_t node;

    for (node = 0; node < NODES; node++) {
        int up = phx__detect_up(&r->l, node, r->now);
        int known = phx__detect_reachable(&r->l, node, 1, 0, r->now);
        check((up == 0 || up == PHX_ENOMEM) && (known == 0 || known == PHX_ENOMEM), "says so");
        check(phx__detect_state(&r->l, node, NULL) == (known == 0 ? PHX_NODE_OK : 0),
              "nothing changed");
        if (known == 0)
            check(phx__detect_reachable(&r->l, node, 0, 0, r->now) == 0,
                  "a known node is lost without memory");
        if (node % 3 == 0)
            phx__detect_forget(&r->l, node / 2);
        phx__detect_beat(&r->l, node, 1, 0, 0, r->now);
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
        phx__detect_up(&r.l, node, r.now + node * MS);
    for (round = 0; round < 6; round++) {
        rig_run(&r, r.now + 3 * SECOND);
        for (node = 0; node < NODES; node += 2)
            phx__detect_heard(&r.l, node, r.now);
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

/* ---- Monitors, suspicion, pauses ------------------------------------------------------------- */

#define INSURANCE (60 * SECOND)

/* As rig_init, with a long insurance and k monitors. */
static void rig_insured(struct rig *r, uint32_t k)
{
    struct phx_detector limits = { 0, BEAT, INSURANCE, GRACE, BROKEN };

    rig_init(r);
    limits.monitors = k;
    phx__detect_limits(&r->l, &limits);
}

static uint32_t rig_monitors(const struct rig *r)
{
    uint32_t node, count = 0;

    for (node = 0; node < r->l.capacity; node++)
        count += (uint32_t)phx__detect_is_monitor(&r->l, node);
    return count;
}

static uint32_t rig_other(const struct rig *r, int monitor)
{
    uint32_t node;

    for (node = 0; node < NODES && phx__detect_is_monitor(&r->l, node) != monitor; node++)
        ;
    return node;
}

static void test_monitors(void)
{
    /* Goal: as many as wanted, or as there are; who goes is replaced and the new one told at once.
     * Method: 10 links that hear all the time, and the beats of two minutes. */
    struct phx_detector limits = { 4, BEAT, INSURANCE, GRACE, BROKEN };
    struct rig r;
    uint32_t node, i, gone, beats[2] = { 0, 0 };

    rig_insured(&r, 3);
    for (node = 0; node < 10; node++) {
        phx__detect_up(&r.l, node, r.now);
        check(rig_monitors(&r) == (node < 2 ? node + 1 : 3), "never more than there are, or wanted");
        phx__detect_beat(&r.l, node, 600 * SECOND, 0, 0, r.now);
    }
    rig_run(&r, r.now + BEAT);
    r.count = 0;
    rig_run(&r, r.now + 2 * INSURANCE);
    for (i = 0; i < r.count && i < EVENTS; i++)
        beats[!phx__detect_is_monitor(&r.l, r.events[i].node)]++;
    ok(beats[0] == 3 * 24 && beats[1] == 7 * 2, "3 hear every 5 s, 7 every 60 s: %u and %u",
       beats[0], beats[1]);
    gone = rig_other(&r, 1);
    r.count = 0;
    phx__detect_down(&r.l, gone);
    ok(rig_monitors(&r) == 3, "a monitor that goes is replaced");
    rig_step(&r, r.now);
    ok(rig_events(&r, 'b') == 1 && phx__detect_is_monitor(&r.l, rig_last(&r, 'b')->node)
           && rig_last(&r, 'b')->value == BEAT,
       "and the new one is told at once");
    phx__detect_limits(&r.l, &limits);
    ok(rig_monitors(&r) == 4, "one more");
    limits.monitors = 1;
    phx__detect_limits(&r.l, &limits);
    ok(rig_monitors(&r) == 1, "three less");
    limits.monitors = 255;
    phx__detect_limits(&r.l, &limits);
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
        rig_insured(&r, 2);
        phx__rnd_seed(&r.rnd, i, 7);
        for (node = 0; node < 10; node++)
            phx__detect_up(&r.l, node, r.now);
        phx__detect_down(&r.l, 3);
        phx__detect_up(&r.l, 3, r.now);
        for (node = 0; node < 10; node++)
            count[node] += (uint32_t)phx__detect_is_monitor(&r.l, node);
        rig_free(&r);
    }
    for (node = 0; node < 10; node++) {
        uint32_t off = count[node] > 600 ? count[node] - 600 : 600 - count[node];
        worst = off > worst ? off : worst;
    }
    ok(worst < 110, "600 times each, give or take %u (five standard deviations are 110)", worst);
}

static void test_suspicion(void)
{
    /* Goal: doubt at half the grace, the end at the whole; a sign of life ends the doubt. Method:
     * a silent link to a node with a route. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    begin = r.now;
    phx__detect_reachable(&r.l, 1, 1, 0, begin);
    phx__detect_up(&r.l, 1, begin);
    rig_run(&r, begin + BEAT + GRACE / 2 - 1);
    ok(rig_events(&r, 'S') == 0 && rig_events(&r, 'w') == 0, "not before");
    rig_run(&r, begin + BEAT + GRACE / 2);
    ok(rig_events(&r, 'S') == 1 && rig_events(&r, 'w') == 1 && r.l.suspects == 1, "suspect");
    phx__detect_reachable(&r.l, 1, 1, 0, r.now);
    ok(phx__detect_state(&r.l, 1, NULL) == PHX_NODE_SUSPECT, "that there is a route proves nothing");
    phx__detect_heard(&r.l, 1, r.now);
    ok(rig_last(&r, 'O')->at == r.now && r.l.suspects == 0, "a frame does");
    begin = r.now;
    rig_run(&r, begin + BEAT + GRACE - 1);
    ok(rig_events(&r, 'w') == 2 && rig_events(&r, 'x') == 0, "silent again");
    phx__detect_alive(&r.l, 1, r.now);
    ok(phx__detect_state(&r.l, 1, NULL) == PHX_NODE_OK, "a new number clears it");
    rig_run(&r, begin + BEAT + GRACE);
    ok(rig_events(&r, 'x') == 1 && rig_events(&r, 'w') == 2, "but not the link");
    ok(phx__detect_look(&r.l, 1)->ground == PHX__LIVE_SILENT, "and who accused it is known");
    rig_free(&r);
}

static void test_word(void)
{
    /* Goal: a word is looked into, not believed. Method: with and without a link, answered or
     * not, and about one that is busy. */
    struct rig r;
    uint64_t begin;
    uint32_t node;

    rig_insured(&r, 2);
    ok(phx__detect_word(&r.l, 7, 3, r.now) == 0, "of a stranger");
    for (node = 0; node < 3; node++) {
        phx__detect_reachable(&r.l, node, 1, 0, r.now);
        phx__detect_up(&r.l, node, r.now);
        phx__detect_beat(&r.l, node, INSURANCE, node == 2, 0, r.now);
    }
    phx__detect_reachable(&r.l, 3, 1, 0, r.now);
    rig_run(&r, r.now + SECOND);
    begin = r.now;
    for (node = 0; node < 4; node++)
        ok(phx__detect_word(&r.l, node, 9, begin) == (node != 2), "passed on but of the busy one");
    ok(rig_events(&r, 'a') == 2 && rig_events(&r, 'S') == 3, "two are asked, three are suspect");
    phx__detect_word(&r.l, 1, 9, begin);
    ok(rig_events(&r, 'a') == 2, "and not twice");
    rig_run(&r, begin + SECOND);
    phx__detect_heard(&r.l, 0, r.now);
    ok(phx__detect_state(&r.l, 0, NULL) == PHX_NODE_OK, "one answers");
    rig_run(&r, begin + GRACE);
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->node == 1
           && rig_last(&r, 'x')->at == begin + GRACE / 2,
       "the other is given up in half the grace");
    ok(phx__detect_look(&r.l, 3)->accuser == 9, "the accuser is known");
    rig_run(&r, begin + GRACE + BROKEN - 1);
    ok(phx__detect_state(&r.l, 3, NULL) == PHX_NODE_SUSPECT, "of the far one nothing is known");
    rig_run(&r, begin + GRACE + BROKEN);
    ok(phx__detect_state(&r.l, 3, NULL) == PHX_NODE_OK, "and in the end nothing came of it");
    rig_free(&r);
}

static void test_seek(void)
{
    /* Goal: before a node fails others are asked, twice, and an answer puts it off. Method: one
     * that is lost. */
    struct rig r;
    uint64_t begin;

    rig_init(&r);
    phx__detect_reachable(&r.l, 1, 1, 0, r.now);
    phx__detect_reachable(&r.l, 1, 0, 0, r.now);
    begin = r.now;
    ok(rig_events(&r, 'k') == 1, "at once");
    rig_run(&r, begin + BROKEN - 1);
    ok(rig_events(&r, 'k') == 2 && rig_last(&r, 'k')->at == begin + BROKEN / 2, "and halfway");
    phx__detect_alive(&r.l, 1, r.now);
    begin = r.now;
    ok(phx__detect_state(&r.l, 1, NULL) == PHX_NODE_UNREACHABLE, "an answer makes no route");
    rig_run(&r, begin + BROKEN);
    ok(rig_last(&r, 'F')->at == begin + BROKEN && rig_events(&r, 'k') == 3, "but gives it time");
    rig_free(&r);
}

static void test_blind(void)
{
    /* Goal: after a stall nobody is accused before what waits was read, however little time was
     * left. Method: a link and a fate with a millisecond left, and steps without a round. */
    struct rig r;
    uint64_t back;
    int i;

    rig_init(&r);
    phx__detect_up(&r.l, 1, r.now);
    phx__detect_reachable(&r.l, 2, 1, 0, r.now);
    rig_run(&r, r.now + BEAT + GRACE - BROKEN);
    phx__detect_reachable(&r.l, 2, 0, 0, r.now);
    rig_run(&r, r.now + BROKEN - MS);
    rig_step(&r, r.now);
    back = r.now + 100 * SECOND;
    for (i = 0; i < 20; i++) {
        uint32_t node;
        int kind;
        r.now = back + (uint64_t)i * MS;
        phx__detect_step(&r.l, r.now);
        while (phx__timer_pop(&r.timers, r.now, &kind, &node) == 1)
            phx__detect_due(&r.l, kind, node, r.now);
    }
    ok(r.l.stalled == 100 * SECOND && rig_events(&r, 'x') == 0 && rig_events(&r, 'F') == 0,
       "20 ms of reading, and nobody is accused");
    rig_run(&r, r.now + MS);
    ok(rig_events(&r, 'x') == 1 && rig_events(&r, 'F') == 1, "then both");
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
        phx__detect_up(&r.l, 1, r.now);
        phx__detect_reachable(&r.l, 1, 1, 0, r.now);
        rig_step(&r, r.now);
        begin = r.now + stalls[i][0];
        rig_step(&r, begin);
        phx__detect_down(&r.l, 1);
        phx__detect_reachable(&r.l, 1, 0, 0, r.now);
        rig_run(&r, begin + 100 * SECOND);
        ok(rig_last(&r, 'F')->at == begin + BROKEN + stalls[i][1], "failed %u s later than usual",
           (unsigned)(stalls[i][1] / SECOND));
        rig_free(&r);
    }
}

static void test_busy(void)
{
    /* Goal: a pause is announced to all, and its end. Method: three links; then a monitor that
     * announces one itself. */
    struct rig r;
    uint32_t node, busy;

    rig_insured(&r, 1);
    for (node = 0; node < 3; node++)
        phx__detect_up(&r.l, node, r.now);
    phx__detect_busy(&r.l, 60 * SECOND);
    ok(rig_events(&r, 'b') == 3 && rig_last(&r, 'b')->value == 60 * SECOND + BEAT, "all are told");
    rig_step(&r, r.now + 60 * SECOND);
    ok(rig_events(&r, 'b') == 6 && r.l.pause == 0, "and told that it is over: %u",
       rig_events(&r, 'b'));
    ok(rig_events(&r, 'x') == 0 && rig_events(&r, 'w') == 0, "nobody is accused");
    busy = rig_other(&r, 1);
    phx__detect_beat(&r.l, busy, 60 * SECOND, 1, 0, r.now);
    ok(!phx__detect_is_monitor(&r.l, busy) && rig_monitors(&r) == 1, "who is away watches nobody");
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
        rig_insured(&r, 1);
        phx__detect_up(&r.l, 1, r.now);
        begin = r.now;
        phx__detect_beat(&r.l, 1, 60 * SECOND, 1, 0, begin);
        phx__detect_used(&r.l, 1, begin + 1);
        phx__detect_ask(&r.l, 1, begin + 1);
        rig_run(&r, begin + 60 * SECOND);
        ok(rig_events(&r, 'a') == 0 && rig_events(&r, 'x') == 0, "left in peace for its pause");
        if (back)
            phx__detect_beat(&r.l, 1, INSURANCE, 0, 0, r.now);
        rig_run(&r, begin + 60 * SECOND + GRACE);
        ok(rig_events(&r, 'x') == !back, "and found out if it does not come back");
        rig_free(&r);
    }
}

static void test_blind_for_long(void)
{
    /* Goal: a node that never gets to the end of what there is to read finds the dead all the
     * same. Method: a stall, and after it steps that leave something unread each time. */
    struct rig r;
    uint64_t begin;
    uint32_t node;
    int kind;

    rig_init(&r);
    phx__detect_reachable(&r.l, 1, 1, 0, r.now);
    phx__detect_up(&r.l, 1, r.now);
    begin = r.now;
    for (r.now += 60 * SECOND; r.now < begin + 120 * SECOND; r.now += 10 * MS) {
        phx__detect_step(&r.l, r.now);
        while (phx__timer_pop(&r.timers, r.now, &kind, &node) == 1)
            phx__detect_due(&r.l, kind, node, r.now);
    }
    ok(rig_events(&r, 'x') == 1 && rig_last(&r, 'x')->at >= begin + 60 * SECOND + GRACE
           && rig_last(&r, 'x')->at < begin + 60 * SECOND + BEAT + GRACE + SECOND,
       "given up %llu us after the stall",
       (unsigned long long)(rig_last(&r, 'x')->at - begin - 60 * SECOND));
    rig_free(&r);
}

static void test_used(void)
{
    /* Goal: a link in use is not left to the insurance. Method: messages without an answer, with
     * some, and how many heartbeats they save. */
    struct rig r;
    uint64_t begin;
    int i;

    rig_insured(&r, 1);
    phx__detect_up(&r.l, 1, r.now); /* the monitor */
    phx__detect_up(&r.l, 2, r.now);
    if (phx__detect_is_monitor(&r.l, 2)) { /* as it may have been drawn */
        phx__detect_down(&r.l, 2);
        phx__detect_up(&r.l, 2, r.now);
    }
    phx__detect_beat(&r.l, 1, 900 * SECOND, 0, 0, r.now);
    phx__detect_beat(&r.l, 2, 900 * SECOND, 0, 0, r.now);
    begin = r.now;
    for (i = 0; i < 300; i++) {
        rig_run(&r, begin + (uint64_t)i * SECOND);
        phx__detect_used(&r.l, 2, r.now);
        phx__detect_said(&r.l, 2, r.now);
        if (i % 3 == 1)
            phx__detect_heard(&r.l, 2, r.now);
    }
    ok(rig_events(&r, 'a') == 0, "answered now and then: nobody asks");
    ok(r.l.saved_insurance >= 3 && r.l.saved_insurance <= 5, "%u heartbeats saved",
       (unsigned)r.l.saved_insurance);
    rig_run(&r, r.now + SECOND);
    phx__detect_heard(&r.l, 2, r.now);
    begin = r.now;
    phx__detect_used(&r.l, 2, r.now + 1);
    rig_run(&r, begin + 100 * SECOND);
    ok(rig_events(&r, 'a') == 1 && rig_last(&r, 'a')->at <= begin + 1 + BEAT, "no answer: asked");
    ok(rig_last(&r, 'x')->node == 2 && rig_last(&r, 'x')->at == rig_last(&r, 'a')->at + GRACE,
       "and given up");
    rig_free(&r);
}

int main(void)
{
    test_monitors();
    test_fair_choice();
    test_suspicion();
    test_word();
    test_seek();
    test_blind();
    test_grace();
    test_busy();
    test_used_while_busy();
    test_blind_for_long();
    test_used();
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
    test_fates_without_memory();
    test_links_and_states();
    test_memory();
    test_many();
    return test_end();
}
