/* t_rumour.c - what one whole node says and believes of who is silent, seen by a peer that speaks by hand.
 *
 * Goal: the rules of detect/ and node/suspect.c, which their own tests show, hold on a node: that all is
 * wired. Method: n[0], the honest n[1], and a raw peer (raw.h) that is linked with n[0] and says that a
 * node x is behind it. What n[0] answers is read frame by frame. The hosts' clock is moved on by hand, in
 * steps too short to be a stall, so that nothing here waits for real seconds, and a slow machine changes
 * nothing. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#include "../../src/node/state.h"
#endif

#include "raw.h"

#define BUSY 8 /* flags of BEAT */
#define MONITOR 2
#define REPLY 1

static struct node x; /* its id is all that it has */

/* ---- The peer's mouth and ears ------------------------------------------------------------------------- */

static struct heard {
    int flags;
    size_t size;
    const unsigned char *body;
} heard;

/* The next frame of this type; all before it is dropped. */
static int hear(int type)
{
    static unsigned char frame[sizeof r.in];

    raw_read();
    while (r.got >= 8) {
        size_t size = 4 + (size_t)r.in[0] + (size_t)r.in[1] * 256;
        int is = r.in[4] == type;
        if (r.got < size)
            return 0;
        memcpy(frame, r.in, size);
        memmove(r.in, r.in + size, r.got -= size);
        heard = (struct heard){ frame[5], size - 8, frame + 8 };
        if (is)
            return 1;
    }
    return 0;
}

static uint32_t word_at(size_t at)
{
    const unsigned char *w = heard.body + at;

    return (uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16 | (uint32_t)w[3] << 24;
}

static void say_beat(int flags, uint32_t next_ms, uint64_t digest)
{
    head(SPEC_BEAT, flags, 0);
    put(next_ms, 4);
    put(digest, 8);
    put_fill(0, 16);
    tail();
    raw_send();
}

/* That node is at this distance from the peer, with this number and a card of that version: `what` is 'a'
 * if it has the address, 'n' if it holds the name 77, and else neither. */
static void say_entry(const struct phx_id *id, uint32_t seq, int hop_count, int what,
                      const struct phx_address *address)
{
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_bytes(id, 16);
    put(0, 8);
    put(seq, 4);
    put((uint64_t)hop_count, 1);
    put(1, 1); /* with its card, of version seq */
    put(seq, 4);
    put(what == 'a' ? 18 : what == 'n' ? 35 : 11, 4);
    put(1, 1); /* it relays */
    put(65536, 4);
    put(0, 1);
    put(what == 'a', 1);
    if (what == 'a') {
        put(4, 1);
        put_bytes(address->ip, 4);
        put(address->port, 2);
    }
    put(what == 'n', 4);
    if (what == 'n') {
        put(77, 8);
        put(77, 8);
        put(1, 8);
    }
    tail();
    raw_send();
}

static void say_x(uint32_t seq, int hop_count)
{
    say_entry(&x.id, seq, hop_count, 0, NULL);
}

static void accuse(const struct node *whom, uint32_t seq)
{
    head(SPEC_SUSPECT, 0, 16);
    put_bytes(&whom->id, 16);
    put(look(&n[0], whom).incarnation, 8);
    put(seq, 4);
    put_bytes(&r.id, 16);
    tail();
    raw_send();
}

static void say_probe(int flags, const struct phx_id *target, const struct phx_id *subject,
                      const struct phx_id *asker)
{
    head(SPEC_PROBE, flags, 5);
    put_bytes(target, 16);
    put_bytes(subject, 16);
    put_bytes(asker, 16);
    tail();
    raw_send();
}

/* The next PROBE says this. */
static int hear_probe(int flags, const struct phx_id *target, const struct phx_id *subject)
{
    return hear(SPEC_PROBE) && heard.flags == flags && heard.size == 48
           && memcmp(heard.body, target, 16) == 0 && memcmp(heard.body + 16, subject, 16) == 0;
}

/* ---- The scene ----------------------------------------------------------------------------------------- */

/* Time passes for the nodes, a tenth of a second at once. */
static void pass(uint64_t us)
{
    uint64_t until = host_ahead + us;

    while (host_ahead < until) {
        host_ahead += 100 * MS;
        turn(0);
    }
}

static void begin_scene(void)
{
    struct phx_config c = usual();

    begin_pair(&c);
    raw_link(&n[0]);
    memset(&x, 0, sizeof x);
    memset(&x.id, 0xee, sizeof x.id);
    say_beat(0, 60000, 0); /* the peer itself may be silent */
    say_entry(&r.id, 2, 0, 0, NULL);
    say_x(1, 1);
    await(look(&n[0], &x).state == PHX_NODE_OK && look(&n[1], &x).state == PHX_NODE_OK, PATIENCE);
    check(look(&n[1], &x).state == PHX_NODE_OK, "x is known to both");
}

static void end_scene(void)
{
    raw_finish();
    finish_all(n, 2);
}

static uint32_t number_of(const struct node *at, const struct node *of)
{
    struct phx_route routes[16];
    size_t i, count = phx_routes(at->p, routes, 16);

    for (i = 0; i < count && i < 16; i++)
        if (same_id(&routes[i].id, &of->id))
            return (uint32_t)routes[i].seq;
    return 0;
}

/* ---- Rumours ------------------------------------------------------------------------------------------- */

/* Goal: an accused node refutes, promise 50: it raises its number at once, and others see that. Method: the
 * peer accuses n[0] itself, at the number that n[1] knows. */
static void test_refutes(void)
{
    uint32_t before;

    begin_scene();
    before = number_of(&n[1], &n[0]);
    ok(before > 0, "n[1] knows a number of n[0]");
    accuse(&n[0], before);
    eventually(number_of(&n[1], &n[0]) == before + 1, "the accused has raised its number above the rumour's");
    accuse(&n[0], before);
    ok(honest() && number_of(&n[1], &n[0]) == before + 1, "and not again for the old one");
    end_scene();
}

/* Goal: a rumour makes a node suspect at all, and a fresh number of it ends that, promise 50. Method: the
 * peer accuses x, and then has a number of x above the rumour's; the clock stands meanwhile, so that no
 * other rule can have ended the suspicion. */
static void test_fresh_number(void)
{
    begin_scene();
    accuse(&x, 1);
    eventually(told(&n[0], &x, PHX_NODE_SUSPECT) == 1 && told(&n[1], &x, PHX_NODE_SUSPECT) == 1,
               "x is suspect at both");
    say_x(1, 1);
    ok(honest() && look(&n[0], &x).state == PHX_NODE_SUSPECT, "an old number refutes nothing");
    say_x(2, 1);
    await(look(&n[0], &x).state == PHX_NODE_OK && look(&n[1], &x).state == PHX_NODE_OK, 4 * SECOND);
    ok(look(&n[0], &x).state == PHX_NODE_OK, "a higher one does");
    ok(look(&n[1], &x).state == PHX_NODE_OK, "at the other, too");
    ok(told(&n[0], &x, PHX_NODE_OK) == 2, "and is an event");
    end_scene();
}

/* ---- Probes -------------------------------------------------------------------------------------------- */

/* How long x was unreachable at n[0] before it failed, if the peer answers that many probes. */
static uint64_t time_to_fail(int answers)
{
    uint64_t lost_at;

    say_x(2, 255);
    await(look(&n[0], &x).state == PHX_NODE_UNREACHABLE, PATIENCE);
    lost_at = look(&n[0], &x).since_us;
    await(hear_probe(0, &r.id, &x.id), PATIENCE);
    ok(memcmp(heard.body + 32, &n[0].id, 16) == 0, "the neighbours are asked about a node that was lost");
    for (; answers > 0; answers--) {
        pass(3 * SECOND);
        ok(hear_probe(0, &r.id, &x.id), "and once more, halfway");
        say_probe(1, &n[0].id, &x.id, &n[0].id);
        turn(20);
        say_beat(0, 60000, 0);
    }
    while (look(&n[0], &x).state == PHX_NODE_UNREACHABLE && host_ahead < 120 * SECOND)
        pass(100 * MS);
    ok(look(&n[0], &x).state == PHX_NODE_FAILED, "in the end it has failed");
    return look(&n[0], &x).since_us - lost_at;
}

/* Goal: a node that was lost is looked for through others before it has failed, and one answer puts that off,
 * promise 52. Method: as often as the peer answers, failure is later by what had passed until then. */
static void test_probes(void)
{
    uint64_t took;

    begin_scene();
    host_ahead = 0;
    took = time_to_fail(0);
    ok(took >= 5 * SECOND && took < 5500 * MS, "nobody answers: after %d ms", (int)(took / MS));
    end_scene();
    begin_scene();
    took = time_to_fail(1);
    ok(took >= 8 * SECOND && took < 8700 * MS, "an answer after 3 s: after %d ms", (int)(took / MS));
    end_scene();
    host_ahead = 0;
}

/* Goal: a node answers for itself, and passes on questions about others and their answers, promise 52. */
static void test_answers(void)
{
    begin_scene();
    say_probe(0, &n[0].id, &n[0].id, &r.id);
    await(hear_probe(1, &r.id, &n[0].id), PATIENCE);
    ok(heard.size == 48 && heard.flags == 1 && memcmp(heard.body + 16, &n[0].id, 16) == 0,
       "it is there itself");
    heard.size = 0;
    say_probe(0, &n[0].id, &n[1].id, &r.id);
    await(hear_probe(1, &r.id, &n[1].id), PATIENCE);
    ok(heard.size == 48 && heard.flags == 1 && memcmp(heard.body + 16, &n[1].id, 16) == 0,
       "so is its neighbour, which was asked");
    end_scene();
}

/* Goal: a neighbour that has announced to be busy is not asked, promises 51 and 52. Method: x is lost by
 * another's word; n[1] is the only one left to ask, and all probes about x go there. */
static void test_busy(void)
{
    begin_scene();
    say_beat(BUSY, 60000, 0);
    say_x(2, 255);
    await(look(&n[0], &x).state == PHX_NODE_UNREACHABLE, PATIENCE);
    ok(honest() && !hear(SPEC_PROBE), "a busy neighbour is not asked about it");
    end_scene();
}

/* ---- Signs of life ------------------------------------------------------------------------------------- */

/* Goal: bytes are a sign of life, also in the midst of a frame, promise 46. Method: the peer has promised a
 * frame within a tenth of a second; it sends an UPDATE of which each part comes after 4 s, and then no
 * more. */
static void test_parts(void)
{
    int i;

    begin_scene();
    say_beat(0, 100, 0);
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_fill(0x11, 4096);
    tail();
    b.size -= 4090;
    raw_send();
    for (i = 0; i < 10; i++) {
        pass(4 * SECOND);
        put(0x11, 1);
        raw_send();
        turn(20);
        turn(0);
    }
    ok(raw_is_linked(&n[0]) && !raw_is_closed(), "a byte each 4 s keeps a link for 40 s");
    pass(6 * SECOND);
    ok(!raw_is_linked(&n[0]), "without one it is over after 5");
    end_scene();
    host_ahead = 0;
}

/* Goal: what a node sends is its heartbeat, promise 46, and what it has heard no answer to is asked about.
 * Method: messages each tenth of a second for a minute; then, to the peer, which holds a name and says
 * nothing. */
static void test_traffic(void)
{
    uint64_t before, i;

    begin_scene();
    raw_finish();
    await(stats(&n[0]).links == 1, PATIENCE);
    pass(6 * SECOND); /* what was announced before is over */
    before = stats(&n[0]).heartbeats_out + stats(&n[1]).heartbeats_out;
    for (i = 0; i < 600; i++) {
        post(&n[0], 2, i, 100);
        post(&n[1], 1, i, 100);
        pass(100 * MS);
        turn(1);
    }
    before = stats(&n[0]).heartbeats_out + stats(&n[1]).heartbeats_out - before;
    ok(before <= 2, "a minute of messages needs no heartbeats: %d", (int)before);
    before = stats(&n[0]).heartbeats_out + stats(&n[1]).heartbeats_out;
    pass(60 * SECOND);
    before = stats(&n[0]).heartbeats_out + stats(&n[1]).heartbeats_out - before;
    ok(before >= 20 && before <= 40, "one of silence does: %d", (int)before);
    finish_all(n, 2);
    host_ahead = 0;
}

static void test_unanswered(void)
{
    int came = 0;

    begin_scene();
    say_entry(&r.id, 3, 0, 'n', NULL);
    say_beat(0, 60000, 0);
    await(phx_owner(n[0].p, 77, &x.id) == 0, PATIENCE);
    pass(SECOND);
    while (hear(SPEC_BEAT))
        continue;
    ok(post(&n[0], 77, 1, 100) == 0, "a message to the peer, which never acknowledges");
    await(hear(SPEC_DATA) && (came = 1), PATIENCE);
    ok(came, "it has it");
    pass(12 * SECOND);
    heard.flags = 0;
    while (hear(SPEC_BEAT) && !(heard.flags & REPLY))
        continue;
    ok((heard.flags & REPLY) != 0, "it is asked whether it has, long before its minute is over");
    end_scene();
    host_ahead = 0;
}

/* ---- Settings, digests --------------------------------------------------------------------------------- */

/* Goal: phx_set_detector takes effect, and monitors are told at once, promise 45. */
static void test_set(void)
{
    struct phx_detector d;
    int announced = 0;

    begin_scene();
    await(hear(SPEC_BEAT) && (heard.flags & MONITOR), PATIENCE);
    ok(word_at(0) == 5000 && (heard.flags & MONITOR), "the peer is a monitor, every 5 s");
    phx_get_detector(n[0].p, &d);
    d.interval_us = 1230 * MS;
    ok(phx_set_detector(n[0].p, &d) == 0, "every 1.23 s from now on");
    await(hear(SPEC_BEAT) && (announced = (int)word_at(0)) == 1230, PATIENCE);
    ok(announced == 1230, "it was told: %d ms", announced);
    d.broken_us = SECOND;
    ok(phx_set_detector(n[0].p, &d) == 0, "a second instead of five");
    say_x(2, 255);
    await(look(&n[0], &x).state == PHX_NODE_UNREACHABLE, PATIENCE);
    pass(1500 * MS);
    eventually(look(&n[0], &x).state == PHX_NODE_FAILED, "and x has failed after that");
    end_scene();
    host_ahead = 0;
}

/* Goal: a digest that goes on differing makes a node tell what it knows, promise 27. Method: the peer says
 * the one that it hears, for half a minute; and then one that nobody has. */
static void test_digest(void)
{
    uint64_t digest = 0;
    int i, asked = 0;

    begin_scene();
    for (i = 0; i < 60 && !asked; i++) {
        pass(500 * MS);
        turn(1);
        asked = hear(SPEC_SUMMARY);
        digest = stats(&n[0]).digest;
        say_beat(0, 60000, digest);
    }
    ok(!asked, "digests agree: nothing is asked");
    for (i = 0; i < 60 && !asked; i++) {
        say_beat(0, 60000, digest + 1);
        pass(500 * MS);
        turn(1);
        asked = hear(SPEC_SUMMARY);
    }
    ok(asked && heard.size == 4 * 29, "they differ: a SUMMARY of all four");
    end_scene();
    host_ahead = 0;
}

/* ---- Who answers --------------------------------------------------------------------------------------- */

/* Goal: who dials one node and finds another has no link with it, and says so, promise 7. Method: x is said
 * to be where n[2] listens, which n[0] does not know. */
static void test_another(void)
{
    struct phx_address a;
    char text[4096];

    begin_scene();
    begin(&n[2], LOOPBACK);
    check(phx_listening(n[2].p, 0, &a) == 0, "n[2] listens");
    say_entry(&x.id, 3, 1, 'a', &a);
    await(phx_explain(n[0].p, &x.id, text, sizeof text) > 0
              && strstr(text, phx_strerror(PHX_EPEER)) != NULL, PATIENCE);
    ok(strstr(text, phx_strerror(PHX_EPEER)) != NULL, "another node answered");
    ok(logged(&n[0], "no link", "another node answers") > 0 && stats(&n[2]).links == 0, "and has no link");
    end_scene();
    finish(&n[2]);
}

static const struct test tests[] = {
    {"refutes", test_refutes},
    {"fresh_number", test_fresh_number},
    {"probes", test_probes},
    {"answers", test_answers},
    {"busy", test_busy},
    {"parts", test_parts},
    {"traffic", test_traffic},
    {"unanswered", test_unanswered},
    {"set", test_set},
    {"digest", test_digest},
    {"another", test_another},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
