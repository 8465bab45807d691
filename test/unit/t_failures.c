/* t_failures.c - failure detection as a host sees it: settings, events, pauses, broken names, reasons. */
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/state.h"
#endif
#include "nodes.h"

/* What on_broken told; the harness has no such callback. */
static struct told_broken {
    phx *p;
    struct phx_lost lost;
    int broken;
} broken_log[64];
static int broken_count;

static void saw_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)user;
    if (broken_count == 64)
        return;
    broken_log[broken_count].p = p;
    broken_log[broken_count].lost = *lost;
    broken_log[broken_count++].broken = broken;
}

static int told_broken(const struct node *n, uint64_t first, uint64_t last, int broken)
{
    int i, times = 0;

    for (i = 0; i < broken_count; i++)
        times += broken_log[i].p == n->p && broken_log[i].broken == broken
                 && broken_log[i].lost.range.first == first
                 && broken_log[i].lost.range.last == last;
    return times;
}

static void begin_fast(struct node *n, const struct node *hub)
{
    struct phx_config c;

    settings(n, &c);
    hurry(&c);
    c.on_broken = saw_broken;
    begin_as(n, &c, LOOPBACK);
    if (hub != NULL)
        phx_join(n->p, hub->at);
}

static void begin_mesh(struct node *n, int count)
{
    int i;

    broken_count = 0;
    for (i = 0; i < count; i++)
        begin_fast(&n[i], i > 0 ? &n[0] : NULL);
    eventually(is_mesh(n, count), "%d nodes, all linked", count);
}

/* Does the explanation have a line that begins so, and contains that? */
static int explains(const struct node *n, const struct node *of, const char *key, const char *word)
{
    static char text[8192];
    const char *line = text, *end;
    int size = phx_explain(n->p, &of->id, text, sizeof text);

    if (size < 0 || size >= (int)sizeof text || strlen(text) != (size_t)size)
        return 0;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *at = strstr(line, word);
        if (strncmp(line, key, strlen(key)) == 0 && at != NULL && at < end)
            return 1;
    }
    if (getenv("T_LOG") != NULL)
        printf("# no %s %s in:\n%s", key, word, text);
    return 0;
}

static void test_settings(void)
{
    /* Goal: nonsense is refused and changes nothing; presets are what phoenix.h says. */
    struct phx_detector d, got, good;
    struct node n;
    size_t i;
    static const struct phx_detector bad[] = {
        { 0, 5000000, 90000000, 5000000, 5000000 },
        { 256, 5000000, 90000000, 5000000, 5000000 },
        { 2, 0, 90000000, 5000000, 5000000 },
        { 2, 9999, 90000000, 5000000, 5000000 },
        { 2, 5000000, 4999999, 5000000, 5000000 },
        { 2, 5000000, UINT64_MAX, 5000000, 5000000 },
        { 2, 5000000, 90000000, 0, 5000000 },
        { 2, 5000000, 90000000, 5000000, 0 },
        { 2, 5000000, 90000000, 5000000, 86400000001 },
    };

    ok(phx_detector_preset(&d, 3) == PHX_EINVAL && phx_detector_preset(&d, -1) == PHX_EINVAL
           && phx_detector_preset(NULL, 0) == PHX_EINVAL,
       "no such preset");
    ok(phx_detector_preset(&d, PHX_PRESET_PAPER) == 0 && d.monitors == 2
           && d.interval_us == 5 * SECOND && d.insurance_us == 200 * SECOND
           && d.timeout_us == 5 * SECOND && d.broken_us == 5 * SECOND,
       "the paper's table 1");
    ok(phx_detector_preset(&d, PHX_PRESET_FAST) == 0
           && d.interval_us + d.timeout_us + d.broken_us < 2 * SECOND,
       "fast is below 2 s");
    begin(&n, NULL);
    phx_get_detector(n.p, &good);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ok(phx_set_detector(n.p, &bad[i]) == PHX_EINVAL, "bad settings %d", (int)i);
        phx_get_detector(n.p, &got);
        check(memcmp(&got, &good, sizeof got) == 0, "nothing changed");
    }
    ok(phx_set_detector(n.p, NULL) == PHX_EINVAL && phx_set_detector(NULL, &d) == PHX_EINVAL,
       "none at all");
    d.monitors = 255;
    ok(phx_set_detector(n.p, &d) == 0, "more monitors than neighbours are no error");
    phx_get_detector(n.p, &got);
    ok(got.monitors == 255, "and remembered for when there are more");
    ok(phx_busy(n.p, UINT64_MAX) == PHX_EINVAL && phx_busy(NULL, 0) == PHX_EINVAL, "busy for ever");
    ok(phx_broken(n.p, 5, 4, NULL, 0) == 0 && phx_broken(NULL, 0, 1, NULL, 0) == 0,
       "nothing is broken in no range");
    finish(&n);
}

static void test_stopped(void)
{
    /* Goal: a process that stops is suspect, then unreachable, then failed, everywhere and in this
     * order; its names break; it is back when it steps again, and they with it. Method: a host
     * that does not turn one of five nodes. */
    struct node n[5], *stopped = &n[3];
    struct phx_lost lost[2];
    int i, k;

    begin_mesh(n, 5);
    phx_assume(stopped->p, 100, 199);
    eventually(owns(&n[0], 150, stopped) && owns(&n[4], 150, stopped), "its names are known");
    for (k = 0; k < host_count && hosts[k] != stopped; k++)
        ;
    hosts[k] = hosts[--host_count];
    for (i = 0; i < 5; i++)
        if (i != 3)
            eventually(told(&n[i], stopped, PHX_NODE_FAILED) == 1, "node %d: failed", i);
    for (i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        ok(told(&n[i], stopped, PHX_NODE_SUSPECT) >= 1
               && told(&n[i], stopped, PHX_NODE_UNREACHABLE) >= 1,
           "node %d: suspect and unreachable before", i);
        eventually(told_broken(&n[i], 100, 199, 1) == 1, "node %d: names are broken", i);
        ok(phx_broken(n[i].p, 120, 130, lost, 2) == 1 && lost[0].range.first == 120
               && lost[0].range.last == 130 && same_id(&lost[0].owner, &stopped->id)
               && lost[0].since_us > 0,
           "node %d: which, and since when", i);
        ok(phx_broken(n[i].p, 0, 99, lost, 2) == 0, "node %d: others are not", i);
        ok(explains(&n[i], stopped, "state:", "failed") && explains(&n[i], stopped, "hops:", "none")
               && explains(&n[i], stopped, "names:", "100-199")
               && explains(&n[i], stopped, "accused:", "ago, by ")
               && explains(&n[i], stopped, "link-lost:", "timed out")
               && explains(&n[i], stopped, "address:", stopped->at),
           "node %d: and why", i);
    }
    hosts[host_count++] = stopped;
    eventually(told_broken(&n[0], 100, 199, 0) == 1 && phx_broken(n[0].p, 0, UINT64_MAX, NULL, 0) == 0,
               "it goes on: names are back");
    eventually(is_mesh(n, 5), "and all is as before");
    for (i = 0; i < 5; i++)
        ok(told(stopped, &n[i], PHX_NODE_FAILED) == 0, "it never thought %d dead", i);
    finish_all(n, 5);
}

static void test_heir(void)
{
    /* Goal: names of a dead process are healed by whoever takes them; of one that released or left
     * they are free. Method: kill, assume; release; leave. */
    struct node n[4];
    int i;

    begin_mesh(n, 4);
    phx_assume(n[1].p, 1, 10);
    phx_assume(n[2].p, 11, 20);
    eventually(owns(&n[0], 5, &n[1]) && owns(&n[3], 15, &n[2]) && owns(&n[3], 5, &n[1]), "known");
    kill_node(&n[1]);
    eventually(told_broken(&n[0], 1, 10, 1) == 1 && told_broken(&n[3], 1, 10, 1) == 1, "broken");
    ok(explains(&n[0], &n[1], "link-lost:", "reset or closed by the peer"),
       "its link was closed");
    phx_assume(n[0].p, 1, 4);
    eventually(told_broken(&n[0], 1, 4, 0) == 1 && told_broken(&n[3], 1, 4, 0) == 1,
               "a part is taken");
    ok(phx_broken(n[3].p, 0, 100, NULL, 0) == 1, "the rest is broken still");
    phx_release(n[2].p, 11, 15);
    eventually(!owns(&n[3], 12, &n[2]), "released");
    phx_close(n[2].p, SECOND);
    eventually(phx_closed(n[2].p), "left");
    kill_node(&n[2]);
    eventually(told(&n[0], &n[2], PHX_NODE_LEFT) == 1 && told(&n[3], &n[2], PHX_NODE_LEFT) == 1,
               "and known to have");
    go_on(SECOND);
    for (i = 0; i < broken_count; i++)
        check(broken_log[i].lost.range.first < 11, "names of who left are not broken");
    ok(told(&n[0], &n[2], PHX_NODE_FAILED) == 0, "nor has it failed");
    ok(explains(&n[0], &n[2], "state:", "left"), "explained");
    finish_all(n, 4);
}

static void test_busy(void)
{
    /* Goal: an announced pause worries nobody. Method: five times as long as a death would take,
     * while others turn; all are told before the call returns. */
    struct node n[4];
    int i, k;

    begin_mesh(n, 4);
    ok(phx_busy(n[2].p, 5 * SECOND) == 0, "busy");
    for (k = 0; k < host_count && hosts[k] != &n[2]; k++)
        ;
    hosts[k] = hosts[--host_count];
    eventually(explains(&n[0], &n[2], "promised:", "busy"), "and said so");
    go_on(4 * SECOND);
    hosts[host_count++] = &n[2];
    go_on(SECOND / 2);
    for (i = 0; i < 4; i++)
        ok(told(&n[i], &n[2], PHX_NODE_SUSPECT) == 0 && told(&n[i], &n[2], PHX_NODE_FAILED) == 0
               && (i == 2 || linked(&n[i], &n[2])),
           "node %d did not wonder", i);
    eventually(!explains(&n[0], &n[2], "promised:", "busy"), "back");
    finish_all(n, 4);
}

static void test_explain(void)
{
    /* Goal: phx_explain is like snprintf, and knows of whom it can. Method: all sizes of buffer. */
    struct node n[3];
    struct phx_id stranger;
    char whole[4096], part[4096];
    int size, i, bad = 0;

    begin_mesh(n, 3);
    memset(&stranger, 7, sizeof stranger);
    ok(phx_explain(n[0].p, &stranger, whole, sizeof whole) == PHX_ENOTFOUND, "a stranger");
    ok(phx_explain(n[0].p, NULL, whole, sizeof whole) == PHX_EINVAL
           && phx_explain(n[0].p, &n[1].id, NULL, 1) == PHX_EINVAL,
       "nobody, nowhere");
    size = phx_explain(n[0].p, &n[1].id, whole, sizeof whole);
    ok(size > 0 && phx_explain(n[0].p, &n[1].id, NULL, 0) == size, "how long it is");
    for (i = 1; i <= size + 1; i++) {
        memset(part, 'x', sizeof part);
        bad += phx_explain(n[0].p, &n[1].id, part, (size_t)i) != size || part[i - 1] != 0
               || memcmp(part, whole, (size_t)i - 1) != 0 || part[i] != 'x';
    }
    ok(bad == 0, "cut to size");
    ok(explains(&n[0], &n[1], "state:", "ok") && explains(&n[0], &n[1], "hops:", "1")
           && explains(&n[0], &n[1], "link:", "://") && explains(&n[0], &n[1], "heard:", "ms ago")
           && explains(&n[0], &n[1], "watches-us:", "yes"), /* both of two neighbours do */
       "a neighbour");
    ok(explains(&n[0], &n[0], "state:", "ok") && explains(&n[0], &n[0], "hops:", "0"), "itself");
    finish_all(n, 3);
}

/* Goal: names that a dead life of a process holds, and the next life has assumed, are said to wait, and for
 * how long (promise 114). Method: the former one has the higher epoch and is never found to have failed,
 * until the host says that it has. */
static void test_waits(void)
{
    struct phx_detector d;
    struct node n[3];
    uint64_t before;

    begin_mesh(n, 2);
    phx_get_detector(n[0].p, &d);
    d.broken_us = 600 * SECOND;
    ok(phx_set_detector(n[0].p, &d) == 0, "patient");
    (void)phx_assume(n[1].p, 1, 1);
    (void)phx_assume(n[1].p, 3, 3);
    (void)phx_assume(n[1].p, 5, 5);
    eventually(owns(&n[0], 5, &n[1]), "a name is known");
    before = n[0].p->now;
    kill_node(&n[1]);
    eventually(told(&n[0], &n[1], PHX_NODE_UNREACHABLE) == 1, "its process is killed");
    ok(n[0].p->post.lost_at >= before && before > 0, "what it had is asked for soon");
    begin_fast(&n[2], &n[0]);
    ok(phx_assume(n[2].p, 5, 5) == 0, "and started again");
    eventually(explains(&n[0], &n[2], "names:", "5-5"), "its name is known");
    ok(explains(&n[0], &n[2], "waits: 5-5, 59", " ms, until "), "it waits for nearly ten minutes");
    ok(owns(&n[0], 5, &n[1]) && !explains(&n[0], &n[1], "waits:", ""), "the former one holds it");
    ok(phx_fail(n[0].p, &n[1].id) == 0, "which has failed");
    eventually(owns(&n[0], 5, &n[2]) && !explains(&n[0], &n[2], "waits:", ""), "so it waits no more");
    finish(&n[0]);
    finish(&n[1]);
    finish(&n[2]);
}

static const char *const explain_keys[] = { "id", "state", "since", "incarnation", "hops", "next", "label",
    "names", "names-more", "link", "heard", "promised", "watched-here", "watches-us", "link-lost", "accused",
    "address", "seen-by", "hub", NULL };

/* Which of the keys of phoenix.h have been said by now; -1: there was another one. */
static long explain_seen(const struct node *at, const struct node *of, long seen)
{
    static char text[65536];
    char *line, *next;
    size_t k, size;

    if (phx_explain(at->p, &of->id, text, sizeof text) <= 0)
        return -1;
    for (line = text; *line != 0; line = next) {
        next = line + strcspn(line, "\n");
        next += *next != 0;
        size = strcspn(line, ":");
        for (k = 0; explain_keys[k] != NULL; k++)
            if (strlen(explain_keys[k]) == size && memcmp(explain_keys[k], line, size) == 0)
                break;
        if (explain_keys[k] == NULL || line[size] != ':')
            return -1;
        seen |= 1L << k;
    }
    return seen;
}

/* Goal: each key that phoenix.h names for phx_explain comes, and no other, promise 114. Method: a node with a
 * label and more names than are shown, one that dies, and the node itself with its hub. */
static void test_explain_keys(void)
{
    struct node n[3];
    struct phx_config c;
    long seen = 0, all = 0;
    size_t k;

    settings(&n[0], &c);
    hurry(&c);
    begin_as(&n[0], &c, LOOPBACK);
    settings(&n[1], &c);
    hurry(&c);
    c.label = "labelled";
    begin_as(&n[1], &c, LOOPBACK);
    settings(&n[2], &c);
    hurry(&c);
    begin_as(&n[2], &c, LOOPBACK);
    for (k = 0; k < 100; k++)
        phx_assume(n[1].p, 10 * k, 10 * k + 1);
    phx_join(n[1].p, n[0].at);
    phx_join(n[2].p, n[0].at);
    eventually(is_mesh(n, 3) && owns(&n[2], 990, &n[1]), "three nodes, one with 100 ranges");
    for (k = 0; explain_keys[k] != NULL; k++)
        all |= 1L << k;
    await((seen = explain_seen(&n[0], &n[1], 0)) < 0 || (seen & 1L << 17) != 0, PATIENCE);
    seen = explain_seen(&n[1], &n[1], seen);
    kill_node(&n[2]);
    eventually(told(&n[0], &n[2], PHX_NODE_FAILED) == 1, "one has failed");
    seen = seen < 0 ? seen : explain_seen(&n[0], &n[2], seen);
    for (k = 0; explain_keys[k] != NULL; k++)
        ok(seen > 0 && (seen & 1L << k) != 0, "%s is told", explain_keys[k]);
    ok(seen == all, "and nothing else");
    finish_all(n, 2);
    finish(&n[2]);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

#define MANY 24
static uint32_t (*probe_neighbour)(phx *p, uint32_t i);
static int probes;

/* Each probe begins with the first neighbour, and nothing else does here: nobody falls silent. */
static uint32_t count_probes(phx *p, uint32_t i)
{
    probes += i == 0;
    return probe_neighbour(p, i);
}

static void test_many_probes(void)
{
    /* Goal: where so many are lost at once that requests come first, each of them is asked about all the same
     * before it fails, promise 52. Method: two nodes that know all others, which die together; the probes of
     * one are counted. */
    static struct node n[2 + MANY];
    int i, failed = 0;

    for (i = 0; i < 2 + MANY; i++) {
        struct phx_config c;

        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, i < 2 ? LOOPBACK : NULL);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    eventually(stats(&n[0]).links == 1 + MANY && stats(&n[1]).links == 1 + MANY, "two know %d others", MANY);
    probe_neighbour = n[0].p->suspect.ops.neighbour;
    n[0].p->suspect.ops.neighbour = count_probes;
    probes = 0;
    for (i = 2; i < 2 + MANY; i++)
        kill_node(&n[i]);
    eventually(stats(&n[0]).reachable == 2 && told(&n[0], &n[1 + MANY], PHX_NODE_FAILED) == 1, "they fail");
    for (i = 2; i < 2 + MANY; i++)
        failed += told(&n[0], &n[i], PHX_NODE_FAILED) == 1;
    ok(failed <= probes && failed > MANY / 2, "%d probes for %d nodes that failed", probes, failed);
    finish_all(n, 2);
    for (i = 2; i < 2 + MANY; i++)
        finish(&n[i]);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        { "settings", test_settings }, { "stopped", test_stopped }, { "heir", test_heir },
        { "busy", test_busy },         { "explain", test_explain }, { "keys", test_explain_keys },
        { "waits", test_waits },       { "probes", test_many_probes },
        { NULL, NULL },
    };

    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
