/* t_door.c - what a node says of dials that fail at once, and of descriptors that are no streams. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/state.h"
#endif

#include "nodes.h"

static struct node n[2];

/* Goal: a dial that fails at once has a line in the log, as one that fails later has (promise 111). */
static void test_fails_at_once(void)
{
    begin(&n[0], NULL);
    phx_join(n[0].p, "unix:///nonexistent/hub.sock");
    eventually(logged(&n[0], "/nonexistent/hub.sock", "not dialled") == 1,
               "a path without its directory is told");
    go_on(300 * MS);
    ok(stats(&n[0]).dials > 1 && logged(&n[0], "/nonexistent/hub.sock", "not dialled") == 1, "once");
    finish(&n[0]);
}

static int adopt(int fd)
{
    return phx_adopt(n[0].p, fd, 1);
}

/* Goal: phx_adopt says what is wrong with a descriptor, and leaves the node's own alone. */
static void test_adopt(void)
{
    struct phx_config c;
    struct pollfd fds[4];
    int i, own, count, ends[2] = { -1, -1 };

    settings(&n[0], &c);
    c.key = NULL;
    c.key_size = 0;
    begin_as(&n[0], &c, LOOPBACK);
    ok(adopt(open("/", O_RDONLY)) == PHX_EINVAL, "a directory");
    ok(adopt(open("/dev/null", O_RDWR)) == PHX_EINVAL || phx_fd(n[0].p) < 0, "a device");
    ok(adopt(socket(AF_INET, SOCK_STREAM, 0)) == PHX_EINVAL, "a socket that is not connected");
    own = dup(1);
    ok(phx_adopt(n[0].p, own, 7) == PHX_EINVAL && fcntl(own, F_GETFD) < 0, "no end: closed, too");
    count = phx_fds(n[0].p, fds, 4);
    for (own = i = 0; i < count; i++)
        own += adopt(fds[i].fd) == PHX_EINVAL && fcntl(fds[i].fd, F_GETFD) >= 0;
    ok(count > 1 && own == count, "the node's own, which stay open");
    ok(phx_fd(n[0].p) < 0 || adopt(phx_fd(n[0].p)) == PHX_EINVAL, "and its queue");
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    ok(adopt(ends[0]) == 0 && adopt(ends[0]) == PHX_EINVAL, "a stream, but not twice");
    close(ends[1]);
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    eventually(linked(&n[0], &n[1]), "its listener still listens");
    finish_all(n, 2);
}

/* Goal: one shortage of descriptors lowers the room once, though links go one by one and each attempt fails
 * meanwhile; the next shortage, below that room, lowers it again (promise 36). */
static void test_shortage(void)
{
    static phx p;
    uint32_t *room = &p.links.door.room;

    p.cfg.max_links = p.cfg.max_accepts = 1024;
    for (p.links.handles.count = 200; p.links.handles.count > 192; p.links.handles.count--)
        phx__node_door_is_short(&p);
    ok(*room == 192, "eight below the links that there were at first: %u", *room);
    phx__node_door_is_short(&p);
    ok(*room == 184, "and below those that there were when they ran out again: %u", *room);
    p.links.handles.count = 3;
    phx__node_door_is_short(&p);
    ok(*room == 16, "but never below sixteen: %u", *room);
}

/* Goal: max_accepts is a limit also for those that know nobody else, beyond which only a few get in, and what
 * the node dials itself makes no place for more of them. Method: lonely newcomers are let in as long as
 * there is room, and then some links go. */
static void test_guests(void)
{
    struct phx__link accepted, dialled;
    static phx p;
    int i;

    memset(&accepted, 0, sizeof accepted);
    memset(&dialled, 0, sizeof dialled);
    dialled.dialer = 1;
    p.cfg.max_links = 1024;
    p.cfg.max_accepts = 24;
    for (i = 0; i < 2000 && !phx__node_door_is_full(&p, PHX__NONE); i++, p.links.up++)
        phx__node_door_passes(&p, &accepted, 1);
    ok(i == 24 + 7, "of many that know nobody else %d are let in", i);
    for (i = 0; i < 100; i++, p.links.up++)
        phx__node_door_passes(&p, &dialled, 1);
    ok(phx__node_door_is_full(&p, PHX__NONE), "a hundred own dials make no room");
    for (i = 0; i < 3; i++, p.links.up--)
        phx__node_door_passes(&p, &accepted, 0);
    for (i = 0; i < 2000 && !phx__node_door_is_full(&p, PHX__NONE); i++, p.links.up++)
        phx__node_door_passes(&p, &accepted, 1);
    ok(i == 3, "three that go make room for three: %d", i);
    for (i = 0; i < 110; i++, p.links.up--)
        phx__node_door_passes(&p, &dialled, 0);
    ok(p.links.up == 21 && !phx__node_door_is_full(&p, PHX__NONE), "below the limit there are no guests");
}

/* Goal: 1,024 strangers are let in, or as many as there are descriptors for, but four at least. The next one
 * is accepted when the oldest has had its 250 ms, and takes its place (promise 36). */
static void test_strangers(void)
{
    static const uint32_t room[] = { 0, 100 + 1025, 100 + 1024, 100 + 1023, 105, 104, 101, 90 };
    static const uint32_t most[] = { 1024, 1024, 1024, 1023, 5, 4, 4, 4 };
    struct phx__link oldest, *at = &oldest;
    unsigned i, bad = 0;
    static phx p;

    memset(&oldest, 0, sizeof oldest);
    oldest.unauthenticated = 1;
    oldest.since = SECOND;
    p.links.at = &at;
    p.links.size = 1;
    p.links.up = 100;
    p.now = SECOND + 250 * MS;
    for (i = 0; i < sizeof room / sizeof *room; i++) {
        p.links.door.room = room[i];
        p.links.unauthenticated = most[i] - 1;
        bad += phx__node_door_room_at(&p) != 0;
        p.links.unauthenticated = most[i];
        bad += phx__node_door_room_at(&p) != p.now || phx__node_door_goes(&p, 1) != NULL;
        p.links.unauthenticated = most[i] + 1;
        bad += phx__node_door_goes(&p, 1) != &oldest;
    }
    ok(bad == 0, "so many and no more, in %u cases", i);
    p.now--;
    ok(phx__node_door_goes(&p, 1) == NULL, "nobody goes before its time");
}

/* [::ffff:127.0.0.1] is no address that a socket of version 6 alone can have. */
static void test_mapped(void)
{
    begin(&n[0], NULL);
    ok(phx_listen(n[0].p, "tcp://[::ffff:127.0.0.1]:0") == PHX_ENOADDR, "an address that maps another");
    finish(&n[0]);
}

static const struct test tests[] = {
    {"fails_at_once", test_fails_at_once}, {"adopt", test_adopt}, {"mapped", test_mapped},
    {"shortage", test_shortage}, {"guests", test_guests}, {"strangers", test_strangers}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
