/* t_endings.c - lives that end at a bad moment: who left, who is reborn, who is freed in the midst.
 *
 * Goal: each of these once lost a message, an outcome or memory; each is told here in a few lines.
 * Method: whole nodes over loopback sockets on a clock of the test's own, one millisecond a step, so
 * that a minute of waiting costs no minute. Every loop is bounded in steps. Only phoenix.h is used.
 */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "phoenix.h"
#endif
#include <string.h>
#include <sys/socket.h>

static struct {
    uint64_t now;
    int messages, outcomes, result, cancelled, sent;
    int members, member_result;
    uint64_t member_to;
    size_t left;
    phx *host; /* whom the release callbacks call */
} world;

static void saw_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)m, (void)user;
    world.messages++;
}

static void saw_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)token, (void)to, (void)tag, (void)user;
    world.outcomes++;
    world.result = result;
}

static void saw_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    (void)p, (void)token, (void)user;
    world.members++;
    world.member_to = to;
    world.member_result = result;
    world.left = left;
}

static phx *node_with(const struct phx_id *id, uint64_t incarnation, int relay)
{
    struct phx_config cfg;
    phx *p;

    phx_config_init(&cfg);
    cfg.on_message = saw_message;
    cfg.on_done = saw_done;
    cfg.on_member = saw_member;
    cfg.id = id;
    cfg.incarnation = incarnation;
    cfg.relay = relay;
    return phx_new(&p, &cfg, world.now) == 0 ? p : NULL;
}

static phx *node(void)
{
    return node_with(NULL, 0, 1);
}

static void steps(phx **all, int count, int how_many)
{
    int i;

    for (; how_many > 0; how_many--) {
        world.now += 1000;
        for (i = 0; i < count; i++)
            if (all[i] != NULL)
                phx_step(all[i], world.now, NULL, 0);
    }
}

/* Until p knows the holder of the name, or for three seconds. */
static int knows(phx **all, int count, phx *p, uint64_t name)
{
    int i;

    for (i = 0; i < 3000 && phx_owner(p, name, NULL) != 0; i++)
        steps(all, count, 1);
    return phx_owner(p, name, NULL) == 0;
}

static void listen_at(phx *p, char text[PHX_ADDRESS_TEXT])
{
    struct phx_address at;

    text[0] = 0;
    if (phx_listen(p, "tcp://127.0.0.1:0") == 0 && phx_listening(p, 0, &at) == 0)
        phx_address_text(&at, text);
}

static int post(phx *p, uint64_t to, uint64_t token,
                void (*release)(const void *data, size_t size, void *arg))
{
    static char byte[] = "x";
    struct iovec iov = {byte, 1};
    struct phx_outgoing m;

    memset(&m, 0, sizeof m);
    m.to = to;
    m.token = token;
    m.iov = &iov;
    m.iov_count = 1;
    m.release = release;
    return phx_sendv(p, &m);
}

static void begin(void)
{
    memset(&world, 0, sizeof world);
    world.now = 1000000;
}

/* Goal: a message to a node that leaves has one outcome. Method: A - B - C; C closes at once with A's
 * message on its way, so A learns in one entry that C is gone and that it left. */
static void test_left(void)
{
    char at[PHX_ADDRESS_TEXT];
    phx *all[3];
    int i;

    begin();
    for (i = 0; i < 3; i++)
        all[i] = node();
    listen_at(all[1], at);
    ok(phx_join(all[0], at) == 0 && phx_join(all[2], at) == 0 && phx_assume(all[2], 7, 7) == 0,
       "a line of three");
    ok(knows(all, 3, all[0], 7), "its end is known");
    steps(all, 3, 2000);
    ok(post(all[0], 7, 5, NULL) == 0 && phx_close(all[2], 0) == 0, "sent to, and leaving");
    for (i = 0; i < 2000 && !phx_closed(all[2]); i++)
        steps(all + 1, 2, 1);
    ok(phx_closed(all[2]), "it has left");
    phx_free(all[2]);
    all[2] = NULL;
    steps(all, 3, 1000);
    ok(world.outcomes == 1 && phx_pending(all[0]) == 0, "one outcome, nothing pending, promise 67");
    for (i = 0; i < 3; i++)
        phx_free(all[i]);
}

/* Goal: a leaving node does not take what it can only lose. Method: its name is released by
 * phx_close while a message for it is under way. */
static void test_no_false_ack(void)
{
    char at[PHX_ADDRESS_TEXT];
    phx *all[2];
    int i;

    begin();
    all[0] = node();
    all[1] = node();
    listen_at(all[1], at);
    ok(phx_assume(all[1], 7, 7) == 0 && phx_join(all[0], at) == 0 && knows(all, 2, all[0], 7),
       "two nodes");
    steps(all, 2, 1000);
    ok(post(all[0], 7, 3, NULL) == 0, "sent");
    steps(all, 1, 1);
    ok(phx_close(all[1], 0) == 0, "the receiver leaves");
    for (i = 0; i < 3000 && !phx_closed(all[1]); i++) {
        steps(all + 1, 1, 1);
        steps(all, 1, 1);
    }
    phx_free(all[1]);
    steps(all, 1, 20000);
    ok(world.messages == 0 && world.outcomes == 0 && phx_pending(all[0]) == 1,
       "not delivered, and not said to be: it came back, and waits for an owner");
    ok(phx_assume(all[0], 7, 7) == 0, "which is the sender in the end");
    steps(all, 1, 100);
    ok(world.messages == 1 && world.outcomes == 1 && world.result == PHX_OK, "delivered once");
    phx_free(all[0]);
}

/* Goal: messages of a new life are not taken for old ones. Method: the same id comes back with an
 * incarnation whose low half is lower. */
static void test_reborn(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_id id;
    phx *all[2];

    begin();
    memset(&id, 9, sizeof id);
    all[0] = node_with(&id, 0xFFFFFFFFu, 1);
    all[1] = node();
    listen_at(all[1], at);
    ok(phx_assume(all[1], 7, 7) == 0 && phx_join(all[0], at) == 0 && knows(all, 2, all[0], 7),
       "two nodes");
    ok(post(all[0], 7, 1, NULL) == 0, "sent in the first life");
    steps(all, 2, 500);
    phx_free(all[0]);
    all[0] = NULL;
    steps(all, 2, 500);
    all[0] = node_with(&id, UINT64_C(0x100000000), 1);
    ok(phx_join(all[0], at) == 0 && knows(all, 2, all[0], 7), "the second life");
    ok(post(all[0], 7, 2, NULL) == 0, "sent in the second");
    steps(all, 2, 10000);
    ok(world.messages == 2 && world.outcomes == 2 && world.result == PHX_OK,
       "both arrived, promises 31, 61");
    phx_free(all[0]);
    phx_free(all[1]);
}

static void cancel_other(const void *data, size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
    world.cancelled = phx_cancel(world.host, 77);
}

static void send_next(const void *data, size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
    world.sent = post(world.host, 7, 0, NULL);
    phx_free(world.host);
}

static struct {
    int running, released, within;
    uint64_t next; /* what a release cancels */
} cancels;

static void cancel_more(const void *data, size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
    cancels.released++;
    cancels.within += cancels.running;
    (void)phx_cancel(world.host, cancels.next--);
}

static void test_release_cancels(void)
{
    /* Goal: the host's memory of a message that is cancelled comes back in the next step, never within
     * phx_cancel, though the record of it is swept later; and release may cancel others. Method: a peer that
     * does not step, so that most of what is sent waits. */
    static char bytes[50000];
    struct iovec iov = {bytes, sizeof bytes};
    struct phx_outgoing m = {7, 0, 0, 0, 0, &iov, 1, cancel_more, NULL};
    phx *all[2];
    int ends[2], i, cancelled = 0, late = 0;

    begin();
    memset(&cancels, 0, sizeof cancels);
    all[0] = world.host = node();
    all[1] = node();
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair"); /* whose buffers are small */
    ok(phx_assume(all[1], 7, 7) == 0 && phx_adopt(all[0], ends[0], 1) == 0
           && phx_adopt(all[1], ends[1], 0) == 0 && knows(all, 2, all[0], 7),
       "two nodes");
    do
        m.token++;
    while (m.token < 1000 && phx_sendv(all[0], &m) == 0);
    cancels.next = m.token / 2;
    steps(all, 1, 50);
    for (i = 1; i < 20; i++) {
        int before = cancels.released;
        cancels.running = 1;
        cancelled += phx_cancel(all[0], m.token - (uint64_t)i) == 0;
        cancels.running = 0;
        steps(all, 1, 3);
        late += cancels.released == before;
    }
    ok(cancelled == 19 && cancels.within == 0 && late == 0, "%d cancelled, %d released within, %d late",
       cancelled, cancels.within, late);
    steps(all, 2, 3000);
    ok(world.outcomes == (int)m.token - 1 && cancels.released == world.outcomes, "each was told once");
    phx_free(all[0]);
    phx_free(all[1]);
}

static void look_around(const void *data, size_t size, void *arg)
{
    struct phx_link links[4];

    (void)data, (void)size, (void)arg;
    (void)phx_timeout_ms(world.host, world.now);
    world.sent = (int)phx_links(world.host, links, 4);
    world.cancelled = phx_cancel(world.host, 5);
}

/* Goal: what phx_free has freed already nobody is shown. Method: a node with a link, an idle mailbox, and
 * messages that have not left is freed, and the release callback looks at all of it; the sanitizers watch. */
static void test_release_looks(void)
{
    char at[PHX_ADDRESS_TEXT];
    phx *all[2];

    begin();
    all[0] = world.host = node();
    all[1] = node();
    listen_at(all[1], at);
    ok(phx_join(all[0], at) == 0 && phx_assume(all[1], 7, 8) == 0 && knows(all, 2, all[0], 8), "linked");
    ok(post(all[0], 8, 1, NULL) == 0, "sent, for an idle mailbox");
    steps(all, 2, 3000);
    ok(post(all[0], 7, 4, look_around) == 0 && post(all[0], 7, 5, NULL) == 0, "not sent yet");
    phx_free(all[0]);
    ok(world.cancelled == PHX_ENOTFOUND && world.sent == 0, "a node being freed has no links and no tokens");
    phx_free(all[1]);
}

/* Goal: phx_free survives release callbacks that call back. Method: one that cancels the other held
 * message of the same name, and one that sends and frees; the sanitizers watch. */
static void test_release(void)
{
    begin();
    world.host = node();
    ok(post(world.host, 7, 1, cancel_other) == 0 && post(world.host, 7, 77, NULL) == 0, "held");
    phx_free(world.host);
    ok(world.cancelled == 0 || world.cancelled == PHX_ENOTFOUND, "cancel inside phx_free");
    world.host = node();
    ok(post(world.host, 7, 1, send_next) == 0, "held");
    phx_free(world.host);
    ok(world.sent == PHX_ECLOSED, "a node being freed takes no more messages");
}

/* Goal: who does not relay is nobody's way. Method: A - R - B, R with cfg.relay 0. */
static void test_no_relay(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_route routes[4];
    size_t i, n, through = 0;
    phx *all[3];

    begin();
    all[0] = node();
    all[1] = node_with(NULL, 0, 0);
    all[2] = node();
    listen_at(all[1], at);
    ok(phx_join(all[0], at) == 0 && phx_join(all[2], at) == 0 && phx_assume(all[1], 8, 8) == 0
           && knows(all, 3, all[0], 8),
       "a line with one that does not relay");
    steps(all, 3, 3000);
    n = phx_routes(all[0], routes, 4);
    for (i = 0; i < n && i < 4; i++)
        through += routes[i].hops > 1;
    ok(through == 0, "no route leads through it");
    for (i = 0; i < 3; i++)
        phx_free(all[i]);
}

static int cast(phx *p, uint64_t first, uint64_t last, uint64_t token)
{
    struct phx_range range = {first, last};
    struct phx_cast c;

    memset(&c, 0, sizeof c);
    c.ranges = &range;
    c.ranges_count = 1;
    c.token = token;
    c.data = "all";
    c.size = 3;
    return phx_cast(p, &c);
}

/* Goal: a cast reaches each node that holds some of a range once, by relays too, and each has an
 * outcome, also one that leaves. Method: A - B - C, with names in several pieces. */
static void test_cast(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_cast c;
    phx *all[3];
    int i;

    begin();
    for (i = 0; i < 3; i++)
        all[i] = node();
    listen_at(all[1], at);
    ok(phx_join(all[0], at) == 0 && phx_join(all[2], at) == 0 && phx_assume(all[0], 10, 19) == 0
           && phx_assume(all[1], 20, 29) == 0 && phx_assume(all[2], 30, 34) == 0
           && phx_assume(all[1], 35, 39) == 0,
       "a line of three");
    ok(knows(all, 3, all[0], 30) && knows(all, 3, all[0], 35), "its end is known");
    steps(all, 3, 500);
    memset(&c, 0, sizeof c);
    ok(phx_cast(NULL, &c) == PHX_EINVAL && phx_cast(all[0], NULL) == PHX_EINVAL
           && phx_cast(all[0], &c) == PHX_EINVAL && cast(all[0], 5, 4, 1) == PHX_ERANGE
           && cast(all[0], 100, UINT64_MAX, 1) == PHX_ENOTFOUND,
       "bad input");
    ok(cast(all[0], 0, UINT64_MAX, 1) == 3, "three members");
    steps(all, 3, 500);
    ok(world.messages == 3 && world.members == 3 && world.left == 0 && world.member_result == 0,
       "each got it once, and each is told of");
    ok(cast(all[0], 36, 100, 2) == 1, "a piece of one");
    steps(all, 3, 500);
    ok(world.messages == 4 && world.members == 4 && world.member_to == 36, "its first name there");
    ok(cast(all[0], 30, 30, 3) == 1 && phx_close(all[2], 0) == 0, "to one that leaves");
    for (i = 0; i < 2000 && !phx_closed(all[2]); i++)
        steps(all + 1, 2, 1);
    phx_free(all[2]);
    all[2] = NULL;
    steps(all, 3, 1000);
    ok(world.members == 5 || phx_pending(all[0]) == 3, "it has an outcome, or came back and waits");
    ok(phx_assume(all[1], 30, 30) == 0, "another takes the name");
    steps(all, 3, 1000);
    ok(world.members == 5 && phx_pending(all[0]) == 0, "one outcome, nothing pending");
    for (i = 0; i < 3; i++)
        phx_free(all[i]);
}

/* Goal: who leaves hears of each of its messages. Method: some are held, some under way to a node
 * that does not step. */
static void test_close(void)
{
    char at[PHX_ADDRESS_TEXT];
    phx *all[2];
    int i;

    begin();
    all[0] = node();
    all[1] = node();
    listen_at(all[1], at);
    ok(phx_assume(all[1], 7, 7) == 0 && phx_join(all[0], at) == 0 && knows(all, 2, all[0], 7),
       "two nodes");
    ok(post(all[0], 9, 1, NULL) == 0 && post(all[0], 7, 2, NULL) == 0
           && phx_assume(all[0], 8, 8) == 0 && post(all[0], 7, 3, NULL) == 0
           && cast(all[0], 7, 7, 4) == 1,
       "sent");
    ok(phx_close(all[0], 100000) == 0, "leaves");
    for (i = 0; i < 2000 && !phx_closed(all[0]); i++)
        steps(all, 1, 1);
    ok(phx_closed(all[0]) && phx_pending(all[0]) == 0, "has left");
    ok(world.outcomes == 3 && world.result == PHX_ECLOSED && world.members == 1
           && world.member_result == PHX_ECLOSED,
       "and knows of all that it is not delivered");
    steps(all, 2, 100);
    ok(world.outcomes == 3 && world.members == 1 && phx_deadline(all[0]) > world.now, "once");
    for (i = 0; i < 2; i++)
        phx_free(all[i]);
}

int main(void)
{
    test_close();
    test_cast();
    test_left();
    test_no_false_ack();
    test_reborn();
    test_release();
    test_release_looks();
    test_release_cancels();
    test_no_relay();
    return test_end();
}
