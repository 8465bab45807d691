/* t_fail.c - phx_fail and phx_reclaim: a host that knows better, and one that wants its memory back.
 *
 * Goal: what phoenix.h says of both, with messages in every place where one can be: queued, in a flow, half
 * written to a link, half received, at a relay, held for a name, and while a callback runs. Method: whole
 * nodes over loopback sockets. A host that does not step is one that computes: what is sent to it stays where
 * it is. Buffers that were taken back are freed at once, so that a sanitizer sees who touches them. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif
#include "nodes.h"

#define LARGE ((size_t)8 << 20)

static struct node n[4];
static int released, abandoned, begun, given, members, member_result;
static void *buffers[4];

static void saw_release(const void *data, size_t size, void *arg)
{
    (void)data, (void)size;
    ++*(int *)arg;
}

static void saw_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    (void)p, (void)token, (void)to, (void)left, (void)user;
    members++;
    member_result = result;
}

static void *give(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)user;
    return begun < 4 ? buffers[begun++] = malloc(m->size) : NULL;
}

static void saw_abandon(phx *p, void *buffer, size_t size, void *user)
{
    (void)p, (void)size, (void)user;
    abandoned++;
    free(buffer);
}

/* Joins the first one, and has the name `name`. */
static void begin_with(struct node *one, uint64_t name, int receives, const char *address)
{
    struct phx_config c;

    settings(one, &c);
    hurry(&c);
    c.on_member = saw_member;
    c.on_begin = receives ? give : NULL;
    c.on_abandon = saw_abandon;
    begin_as(one, &c, address);
    if (name != 0)
        ok(phx_assume(one->p, name, name + 9) == 0, "names %d..", (int)name);
    if (one != n)
        ok(phx_join(one->p, n[0].at) == 0, "joins");
}

static void begin_some(int count)
{
    released = abandoned = begun = given = members = 0;
    for (int i = 0; i < count; i++)
        begin_with(&n[i], 10 * (uint64_t)(i + 1), i == 0, LOOPBACK);
    eventually(is_mesh(n, count) && owns(&n[0], 20, &n[1]) && owns(&n[1], 10, &n[0]), "%d nodes", count);
}

/* Its host computes, and goes on. */
static void halt(const struct node *one)
{
    int i = 0;

    while (hosts[i] != one)
        i++;
    hosts[i] = hosts[--host_count];
}

static void resume(struct node *one)
{
    hosts[host_count++] = one;
}

/* How often it was told of any state of the other. Others may be suspected meanwhile, on a busy machine. */
static int events_about(const struct node *one, const struct node *other)
{
    int count = 0;

    for (int i = 0; i < one->event_count; i++)
        count += same_id(&one->events[i].id, &other->id);
    return count;
}

static void step(struct node *one)
{
    phx_step(one->p, phx_now_us() + host_ahead, NULL, 0);
}

static int lend(struct node *one, uint64_t to, uint64_t token, const void *data, size_t size, int *count)
{
    struct iovec iov = { (void *)(uintptr_t)data, size };
    struct phx_outgoing m;

    memset(&m, 0, sizeof m);
    m.to = to;
    m.tag = m.token = token;
    m.iov = &iov;
    m.iov_count = 1;
    m.release = saw_release;
    m.arg = count;
    return phx_sendv(one->p, &m);
}

static void *copy_of(uint64_t tag, size_t size)
{
    void *p = malloc(size);

    if (p == NULL)
        exit(1);
    return memcpy(p, text_of(tag), size);
}

/* ---- phx_fail -------------------------------------------------------------------------------- */

static void test_alive(void)
{
    /* Goal: a node that lives, and computes behind a full socket, is dead for who says so, at once and for
     * good; and for nobody else. Method: three nodes; one is given 8 MiB, and more than its window beside. */
    struct phx_range to = { 21, 21 };
    struct phx_cast cast = { &to, 1, 0, 0, 77, 0, "x", 1 };
    int i, queued = 0, out = 0, before;

    begin_some(3);
    halt(&n[1]);
    before = told(&n[0], &n[1], PHX_NODE_FAILED);
    ok(lend(&n[0], 20, 5, text_of(5), LARGE, &released) == 0, "8 MiB are lent");
    for (i = 0; i < 4; i++)
        step(&n[0]);
    while (queued < 100000 && post_token(&n[0], 22, 1000 + (uint64_t)queued, 1000, 0) == 0)
        queued++;
    ok(phx_cast(n[0].p, &cast) < 0 || queued < 100000, "until there is no room");
    ok(post_token(&n[0], 40, 6, 10, 0) == 0, "and one for a name that nobody has");
    ok(released == 0 && phx_fail(n[0].p, &n[1].id) == 0 && n[0].outcome_count == 0, "said to be dead");
    ok(phx_deadline(n[0].p) == 0, "a step is due");
    step(&n[0]);
    for (i = 0; i < n[0].outcome_count; i++)
        out += n[0].outcomes[i].result == PHX_EFAILED;
    ok(out == queued + 1 && n[0].outcome_count == out && released == 1, "all end: %d of %d", out, queued + 1);
    ok(look(&n[0], &n[1]).state == PHX_NODE_FAILED && look(&n[0], &n[1]).reason == PHX_EFAILED
           && hops(&n[0], &n[1]) == -1 && told(&n[0], &n[1], PHX_NODE_FAILED) == before + 1,
       "it has failed");
    resume(&n[1]);
    i = events_about(&n[0], &n[1]);
    out = n[1].mail_count;
    eventually(linked(&n[1], &n[2]) && hops(&n[2], &n[0]) == 1, "others see both");
    ok(post(&n[1], 10, 1, 10) == 0 && post(&n[1], 10, 2, LARGE) == 0, "what it sends ...");
    go_on(2 * SECOND);
    ok(n[0].mail_count == 0 && begun == 0 && n[1].mail_count == out, "... and was sent is not shown");
    ok(events_about(&n[0], &n[1]) == i && links_with(&n[0], &n[1]) == 0 && links_with(&n[1], &n[0]) == 0,
       "no event, and no link: %d", events_about(&n[0], &n[1]) - i);
    ok(stats(&n[0]).digest == stats(&n[2]).digest, "routing agrees");
    ok(phx_assume(n[2].p, 20, 20) == 0 && post_token(&n[0], 20, 7, 10, 0) == 0, "an heir");
    eventually(result_of(&n[0], 7) == PHX_OK && has_mail(&n[2], 1), "... gets what is sent from now on");
    finish_all(n, 3);
}

static void test_waiting(void)
{
    /* Goal: what waits for names of a node that had failed by itself ends, too; members of a cast do. */
    struct phx_range to[] = { { 20, 20 }, { 30, 30 } };
    struct phx_cast cast = { to, 2, 0, 0, 77, 0, "x", 1 };
    int before;

    begin_some(3);
    halt(&n[1]);
    ok(phx_cast(n[0].p, &cast) == 2, "two members");
    eventually(members == 2 && look(&n[0], &n[1]).state == PHX_NODE_FAILED, "one has failed");
    ok(post_token(&n[0], 21, 8, 10, 0) == 0 && phx_cast(n[0].p, &cast) == 2, "sent to its names");
    eventually(members == 3, "one member has it");
    ok(result_of(&n[0], 8) == 1, "the rest waits for an heir");
    ok(phx_fail(n[0].p, &n[1].id) == 0, "said to be dead");
    eventually(result_of(&n[0], 8) == PHX_EFAILED && members == 4 && member_result == PHX_EFAILED,
               "waits no more");
    before = events_about(&n[0], &n[1]);
    resume(&n[1]);
    go_on(SECOND);
    ok(events_about(&n[0], &n[1]) == before, "no event");
    finish_all(n, 3);
}

static void fail_now(struct node *one, const struct phx_message *m)
{
    ok(phx_fail(one->p, &m->source) == 0, "said in on_message");
}

static void test_callback(void)
{
    /* Goal: said in the callback of one message of a run, nothing of the others is shown; said when another
     * is half received, its buffer comes back. */
    begin_some(2);
    halt(&n[0]);
    n[0].hook = fail_now;
    for (int i = 0; i < 100; i++)
        ok(post(&n[1], 10, (uint64_t)i, 10) == 0, "sent");
    step(&n[1]);
    resume(&n[0]);
    eventually(look(&n[0], &n[1]).state == PHX_NODE_FAILED, "failed");
    go_on(300 * MS);
    ok(n[0].mail_count == 1, "one was shown: %d", n[0].mail_count);
    finish_all(n, 2);
    begin_some(2);
    ok(post(&n[1], 10, 3, LARGE) == 0, "8 MiB");
    for (int i = 0; i < 1000 && begun == 0; i++, step(&n[0]))
        if (i % 2 == 0)
            step(&n[1]);
    ok(begun == 1 && n[0].mail_count == 0 && abandoned == 0, "half received");
    ok(phx_reclaim(n[0].p, &begun, NULL) == PHX_ENOTFOUND && abandoned == 0, "no part of another buffer");
    ok(phx_fail(n[0].p, &n[1].id) == 0 && abandoned == 0, "said");
    step(&n[0]);
    ok(abandoned == 1, "given back");
    finish_all(n, 2);
}

static void test_relayed(void)
{
    /* Goal: memory that is on its way through a relay which does not read comes back as well. */
    void *data;

    released = abandoned = begun = 0;
    begin_with(&n[0], 10, 0, LOOPBACK);
    begin_with(&n[1], 20, 0, NULL);
    begin_with(&n[2], 30, 0, NULL);
    eventually(settled(n, 3) && owns(&n[1], 30, &n[2]) && hops(&n[1], &n[2]) == 2, "one through another");
    halt(&n[0]);
    data = copy_of(5, LARGE);
    ok(lend(&n[1], 30, 5, data, LARGE, &released) == 0, "8 MiB");
    for (int i = 0; i < 10; i++)
        step(&n[1]);
    ok(released == 0 && phx_fail(n[1].p, &n[2].id) == 0, "said to be dead");
    step(&n[1]);
    step(&n[1]);
    ok(released == 1 && result_of(&n[1], 5) == PHX_EFAILED, "released");
    free(data);
    resume(&n[0]);
    ok(post(&n[2], 20, 1, 10) == 0 && post(&n[0], 20, 2, 10) == 0, "the relay is heard ...");
    eventually(has_mail(&n[1], 1), "... and it alone");
    go_on(500 * MS);
    ok(has_mail(&n[1], 1) && mail_at(&n[1], 0)->tag == 2, "what the dead one sends through it is not");
    finish_all(n, 3);
}

static void test_unknown(void)
{
    /* Goal: it need not be known, keeps its place, and arguments are checked. */
    struct phx_config c;
    struct phx_id id;

    released = abandoned = begun = 0;
    settings(&n[0], &c);
    hurry(&c);
    c.max_nodes = 4;
    begin_as(&n[0], &c, LOOPBACK);
    begin_with(&n[1], 20, 0, LOOPBACK);
    halt(&n[1]);
    ok(phx_fail(n[0].p, &n[1].id) == 0 && phx_fail(n[0].p, &n[1].id) == 0, "before it was heard of");
    ok(phx_fail(n[0].p, &n[0].id) == PHX_EINVAL && phx_fail(NULL, &n[1].id) == PHX_EINVAL
           && phx_fail(n[0].p, NULL) == PHX_EINVAL,
       "arguments");
    resume(&n[1]);
    eventually(told(&n[0], &n[1], PHX_NODE_FAILED) == 1, "failed");
    go_on(SECOND);
    ok(n[0].event_count == 1 && stats(&n[0]).links == 0, "no link");
    memset(&id, 7, sizeof id);
    ok(phx_fail(n[0].p, &id) == 0, "another one");
    id.b[0]++;
    ok(phx_fail(n[0].p, &id) == 0, "a third");
    id.b[0]++;
    ok(phx_fail(n[0].p, &id) == PHX_ELIMIT, "a fourth is more than max_nodes");
    begin_with(&n[2], 30, 0, LOOPBACK);
    go_on(SECOND);
    ok(look(&n[0], &n[2]).state == 0 && look(&n[0], &n[1]).state == PHX_NODE_FAILED, "none is forgotten");
    finish_all(n, 3);
}

/* ---- phx_reclaim ----------------------------------------------------------------------------- */

static void test_sent(void)
{
    /* Goal: a buffer comes back with half of it written to a link, and the message arrives whole; another
     * loan of the same buffer stands. */
    void *one, *two;
    int other = 0;

    begin_some(2);
    halt(&n[1]);
    one = copy_of(5, LARGE);
    two = copy_of(6, 100000);
    ok(lend(&n[0], 20, 5, one, LARGE, &released) == 0, "8 MiB");
    ok(lend(&n[0], 20, 6, two, 100000, &released) == PHX_EAGAIN || released == 0, "no room for more");
    for (int i = 0; i < 10; i++)
        step(&n[0]);
    ok(phx_reclaim(n[0].p, one, &other) == PHX_ENOTFOUND && phx_reclaim(n[0].p, two, NULL) == PHX_ENOTFOUND
           && phx_reclaim(NULL, one, NULL) == PHX_EINVAL && phx_reclaim(n[0].p, NULL, NULL) == PHX_EINVAL,
       "what is not lent");
    ok(phx_reclaim(n[0].p, one, &released) == 0, "taken back");
    ok(phx_reclaim(n[0].p, one, &released) == PHX_ENOTFOUND, "once");
    memset(one, 0xee, LARGE);
    free(one);
    resume(&n[1]);
    eventually(has_mail(&n[1], 1) && result_of(&n[0], 5) == PHX_OK, "arrives whole");
    ok(lend(&n[0], 20, 7, two, 100000, &released) == 0 && lend(&n[0], 20, 8, two, 100000, &other) == 0,
       "one buffer, twice");
    ok(phx_reclaim(n[0].p, two, &released) == 0, "one is over");
    eventually(has_mail(&n[1], 3) || n[1].mail_count == 3, "both arrive");
    eventually(other == 1 && released == 0, "the other is released");
    ok(phx_reclaim(n[0].p, two, &other) == PHX_ENOTFOUND, "not lent any more");
    free(two);
    finish_all(n, 2);
}

static void test_held(void)
{
    /* Goal: the same for one that waits for a name, for one to a name of this node, and in on_done. */
    void *data = copy_of(5, 100000);

    begin_some(2);
    ok(lend(&n[0], 40, 5, data, 100000, &released) == 0 && phx_reclaim(n[0].p, data, &released) == 0,
       "held for a name");
    memset(data, 0xee, 100000);
    ok(phx_assume(n[1].p, 40, 40) == 0, "somebody takes it");
    eventually(has_mail(&n[1], 1) && result_of(&n[0], 5) == PHX_OK, "arrives whole");
    memcpy(data, text_of(6), 100000);
    ok(lend(&n[0], 10, 6, data, 100000, &released) == 0 && phx_reclaim(n[0].p, data, &released) == 0,
       "to a name of its own");
    free(data);
    eventually(has_mail(&n[0], 1) && result_of(&n[0], 6) == PHX_OK, "arrives whole");
    ok(released == 0, "never released");
    finish_all(n, 2);
}

static void *outcome_buffer;

static void reclaim_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)token, (void)to, (void)tag, (void)result, (void)user;
    given += phx_reclaim(p, outcome_buffer, &released) == 0;
    free(outcome_buffer);
    outcome_buffer = NULL;
}

static void test_done(void)
{
    struct phx_config c;

    released = given = 0;
    settings(&n[0], &c);
    c.on_done = reclaim_done;
    begin_as(&n[0], &c, NULL);
    ok(phx_assume(n[0].p, 1, 1) == 0, "a name");
    outcome_buffer = copy_of(5, 100000);
    ok(lend(&n[0], 1, 5, outcome_buffer, 100000, &released) == 0, "lent");
    eventually(outcome_buffer == NULL, "on_done");
    ok(given == 1 && released == 0, "it was lent still, and is not released after it");
    finish_all(n, 1);
}

static void test_received(void)
{
    /* Goal: a buffer of on_begin comes back half filled, and the message is shown all the same. */
    for (int late = 0; late < 3; late++) {
        begin_some(2);
        ok(post(&n[1], 10, 3, LARGE) == 0, "8 MiB");
        for (int i = 0; i < 1000 && begun == 0; i++, step(&n[0]))
            if (i % 2 == 0)
                step(&n[1]);
        for (int i = 0; i < late; i++) {
            step(&n[1]);
            step(&n[0]);
        }
        ok(begun == 1 && n[0].mail_count == 0, "half received");
        ok(phx_reclaim(n[0].p, buffers[0], NULL) == 0, "taken back");
        ok(phx_reclaim(n[0].p, buffers[0], NULL) == PHX_ENOTFOUND, "once");
        free(buffers[0]);
        eventually(has_mail(&n[0], 1), "shown, and whole");
        ok(abandoned == 0 && begun == 1, "nothing else");
        finish_all(n, 2);
    }
}

static void test_abandoned(void)
{
    /* Goal: no on_abandon for a buffer that was taken back while that was due. */
    begin_some(2);
    ok(post(&n[1], 10, 3, LARGE) == 0, "8 MiB");
    for (int i = 0; i < 1000 && begun == 0; i++, step(&n[0]))
        if (i % 2 == 0)
            step(&n[1]);
    ok(phx_fail(n[0].p, &n[1].id) == 0, "failed");
    ok(phx_reclaim(n[0].p, buffers[0], NULL) == 0, "taken back");
    free(buffers[0]);
    step(&n[0]);
    step(&n[0]);
    ok(begun == 1 && abandoned == 0, "no callback");
    finish_all(n, 2);
}

/* The second message begins: the first one's buffer goes. */
static void *give_and_take(phx *p, const struct phx_message *m, void *user)
{
    (void)user;
    if (begun == 1) {
        given += phx_reclaim(p, buffers[0], NULL) == 0;
        free(buffers[0]);
    }
    return begun < 4 ? buffers[begun++] = malloc(m->size) : NULL;
}

static void test_interleaved(void)
{
    /* Goal: the same inside the on_begin of another message, which a relay sends between two fragments of the
     * first: a read that guessed more of the first one has put it into its memory. */
    struct phx_config c;

    begun = given = abandoned = released = 0;
    begin_with(&n[0], 10, 0, LOOPBACK);
    settings(&n[1], &c);
    c.on_begin = give_and_take;
    c.on_abandon = saw_abandon;
    begin_as(&n[1], &c, NULL);
    ok(phx_assume(n[1].p, 20, 29) == 0 && phx_join(n[1].p, n[0].at) == 0, "receiver");
    begin_with(&n[2], 30, 0, NULL);
    begin_with(&n[3], 40, 0, NULL);
    eventually(settled(n, 4) && owns(&n[2], 20, &n[1]) && owns(&n[3], 20, &n[1]), "two behind a relay");
    halt(&n[1]);
    ok(post(&n[2], 20, 3, LARGE) == 0, "one, of two windows");
    for (int i = 0; i < 1000 && begun == 0; i++) {
        step(&n[2]);
        step(&n[0]);
        if (i > 100)
            step(&n[1]);
    }
    ok(begun == 1 && n[1].mail_count == 0 && post(&n[3], 20, 4, 2 << 20) == 0, "the other");
    go_on(100 * MS);
    resume(&n[1]);
    eventually(has_mail(&n[1], 2) && given == 1, "both are whole");
    finish_all(n, 4);
    free(buffers[1]); /* shown: it is the host's */
}

/* ---- Without memory -------------------------------------------------------------------------- */

/* Both calls with the k-th allocation from here on failing, from then on if `all`: 0, or how often. */
static int torture(long k, int all, int *clean)
{
    void *one = copy_of(5, 300000);
    int err, tries = 0;

    begin_some(2);
    halt(&n[1]);
    ok(lend(&n[0], 20, 5, one, 300000, &released) == 0 && post_token(&n[0], 20, 6, 10, 0) == 0, "sent");
    step(&n[0]);
    *(all ? &n[0].heap.fail_from : &n[0].heap.fail_at) = n[0].heap.calls + k;
    while ((err = phx_reclaim(n[0].p, one, &released)) == PHX_ENOMEM && tries++ < 3)
        n[0].heap.fail_from = 0;
    *clean = err == 0;
    memset(one, 0xee, 300000);
    free(one);
    while ((err = phx_fail(n[0].p, &n[1].id)) == PHX_ENOMEM && tries++ < 6)
        n[0].heap.fail_from = 0;
    *clean &= err == 0;
    for (int i = 0; i < 3; i++, n[0].heap.fail_from = 0)
        step(&n[0]);
    host_ahead += SECOND; /* what failed in the step is done again */
    step(&n[0]);
    step(&n[0]);
    *clean &= result_of(&n[0], 5) == PHX_EFAILED && result_of(&n[0], 6) == PHX_EFAILED && released == 0
              && look(&n[0], &n[1]).state == PHX_NODE_FAILED && links_with(&n[0], &n[1]) == 0;
    err = n[0].heap.calls >= k ? tries : -1;
    resume(&n[1]);
    finish_all(n, 2);
    return err;
}

static void test_torture(void)
{
    int clean, bad = 0, failed = 0;

    for (int all = 0; all < 2; all++)
        for (long k = 1; k <= 12; k++) {
            failed += torture(k, all, &clean) > 0;
            bad += !clean;
        }
    ok(bad == 0 && failed > 0, "without memory: %d of 24 went wrong, %d calls were made again", bad, failed);
}

int main(int argc, char **argv)
{
    static const struct test list[] = {
        { "alive", test_alive },       { "waiting", test_waiting },
        { "callback", test_callback }, { "relayed", test_relayed },
        { "unknown", test_unknown },   { "sent", test_sent },
        { "held", test_held },         { "done", test_done },
        { "received", test_received }, { "abandoned", test_abandoned },
        { "interleaved", test_interleaved },
        { "torture", test_torture },   { NULL, NULL }
    };

    if (test_begin())
        return 1;
    run_tests(list, argc, argv);
    return test_finish();
}
