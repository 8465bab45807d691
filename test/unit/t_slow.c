/* t_slow.c - a host whose callbacks are slow: what a step has no time for waits, and all of it comes.
 *
 * Goal: messages of all sizes that are held between steps arrive once and in order, also when links
 * close meanwhile, and no step shows much more than it has time for (promise 119).
 * Method: whole nodes over loopback sockets. The receiver announces 10 ms, so its callbacks may take 1 ms
 * in a step, and each takes 0.3 ms. test/sim/slow.c has the bars, in virtual time.
 */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/state.h"
#endif
#include "nodes.h"

#define SENDERS 3
#define EACH 200
static struct node n[1 + SENDERS];
static uint64_t next_tag[1 + SENDERS];
static int wrong, alike;

/* The messages of a sender: runs of small ones, and now and then one of several fragments. */
static size_t size_of(uint64_t tag)
{
    static const size_t sizes[] = { 8, 8, 8, 8, 100, 8, 3000, 8, 8, 20000, 8, 70000, 8, 8, 8, 300000 };

    return alike ? 2000 : sizes[tag % (sizeof sizes / sizeof sizes[0])];
}

static void take_time(struct node *host, const struct phx_message *m)
{
    uint64_t until = phx_now_us() + 300;

    (void)host;
    wrong += m->from < 1 || m->from > SENDERS || m->tag != next_tag[m->from]++ || m->size != size_of(m->tag);
    while (phx_now_us() < until)
        continue;
}

static int send_all(void)
{
    uint64_t tag;
    int i, failed = 0;

    for (i = 1; i <= SENDERS; i++)
        for (tag = 0; tag < EACH; tag++)
            failed += phx_send(n[i].p, 7, (uint64_t)i, tag, text_of(tag), size_of(tag)) != 0;
    return failed;
}

static void begin_all(void)
{
    struct phx_config c;
    int i;

    memset(next_tag, 0, sizeof next_tag);
    wrong = 0;
    for (i = 0; i <= SENDERS; i++) {
        settings(&n[i], &c);
        c.window = 16u << 20;
        if (i == 0)
            c.detector.interval_us = 10 * MS;
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            check(phx_join(n[i].p, n[0].at) == 0, "joins");
    }
    n[0].hook = take_time;
    check(phx_assume(n[0].p, 7, 7) == 0, "a name");
    eventually(is_mesh(n, 1 + SENDERS) && owns(&n[1], 7, &n[0]) && owns(&n[2], 7, &n[0])
                   && owns(&n[3], 7, &n[0]),
               "%d nodes", 1 + SENDERS);
}

static void test_all_come(void)
{
    begin_all();
    ok(send_all() == 0, "%d messages are sent", SENDERS * EACH);
    eventually(n[0].mail_count == SENDERS * EACH, "all come");
    ok(wrong == 0 && has_mail(&n[0], SENDERS * EACH), "once, whole and in order");
    ok(n[0].steps >= SENDERS * EACH / 8, "%lu steps: few in each", n[0].steps);
    eventually(phx_pending(n[1].p) + phx_pending(n[2].p) + phx_pending(n[3].p) == 0, "all are acknowledged");
    finish_all(n, 1 + SENDERS);
}

/* One sender ends while what it sent is held; then the receiver. */
static void test_ends(void)
{
    begin_all();
    ok(send_all() == 0, "%d messages are sent", SENDERS * EACH);
    await(n[0].mail_count >= EACH / 2, PATIENCE);
    finish(&n[SENDERS]);
    await(n[0].mail_count >= EACH, PATIENCE);
    ok(phx_close(n[0].p, 0) == 0, "the receiver leaves");
    eventually(phx_closed(n[0].p), "and has left");
    ok(wrong == 0, "what came was whole and in order");
    finish_all(n, SENDERS);
}

/* Goal: what is held needs no new memory while it is worked off: no link is lost near mem_limit. Method:
 * while frames are held there is hardly any memory for a while. */
static void test_no_memory(void)
{
    phx *p;
    uint64_t lost;

    alike = 1;
    begin_all();
    p = n[0].p;
    ok(send_all() == 0, "%d messages are sent", SENDERS * EACH);
    await(p->links.waiting == SENDERS && n[0].mail_count >= 20, PATIENCE);
    lost = stats(&n[0]).links_lost;
    p->mem.limit = p->mem.used + (64u << 10);
    await(n[0].mail_count >= 100, SECOND);
    p->mem.limit = 0;
    ok(stats(&n[0]).links_lost == lost, "no link is lost: %d", (int)(stats(&n[0]).links_lost - lost));
    eventually(n[0].mail_count == SENDERS * EACH, "all come");
    ok(wrong == 0 && has_mail(&n[0], SENDERS * EACH), "once, whole and in order");
    finish_all(n, 1 + SENDERS);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        { "all_come", test_all_come }, { "ends", test_ends }, { "no_memory", test_no_memory }, { NULL, NULL }
    };

    if (test_begin())
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
