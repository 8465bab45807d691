/* t_hubs.c - hubs that come and go, links that the host alone decides about, and what it hears of both.
 *
 * Goal: a launcher of trees leans on this: full_mesh 0, phx_unjoin, on_node in the step in which a link
 * closes, and a line for each way in which the dial of a hub ends. Method: whole nodes over loopback.
 */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "os/os.h"
#endif

#include "nodes.h"

#include <netinet/in.h>

static struct node n[8];

static struct phx_stats stats_of(const struct node *m)
{
    struct phx_stats st;

    check(phx_stats(m->p, &st) == 0, "stats");
    return st;
}

static void begin_apart(struct node *m, uint32_t full_mesh)
{
    struct phx_config c;

    settings(m, &c);
    hurry(&c);
    c.full_mesh = full_mesh;
    begin_as(m, &c, LOOPBACK);
}

/* A star that stays one: six leaves know each other, and one link is made when one of them sends. */
static void test_star(void)
{
    uint64_t dials = 0;
    int i;

    for (i = 0; i < 7; i++) {
        begin_apart(&n[i], 0);
        check(phx_assume(n[i].p, (uint64_t)i, (uint64_t)i) == 0, "a name");
        if (i > 0)
            check(phx_join(n[i].p, n[0].at) == 0, "join");
    }
    eventually(stats_of(&n[1]).reachable == 7 && stats_of(&n[6]).reachable == 7, "all reach all");
    go_on(1500 * MS);
    for (i = 0; i < 7; i++)
        dials += stats_of(&n[i]).dials;
    ok(dials == 6 && stats_of(&n[0]).links == 6 && stats_of(&n[3]).links == 1,
       "six dials and links, nobody dials unasked: %u", (unsigned)dials);
    check(phx_send(n[1].p, 2, 1, 0, text_of(0), 8) == 0, "send");
    eventually(n[2].mail_count == 1 && stats_of(&n[2]).links == 2, "who is sent to is linked");
    ok(stats_of(&n[3]).links == 1, "and nobody else is");
    finish_all(n, 7);
}

static void test_unjoin(void)
{
    uint64_t dials;
    char at[PHX_ADDRESS_TEXT];

    begin_apart(&n[0], 0);
    begin_apart(&n[1], 0);
    ok(phx_unjoin(NULL, n[0].at) == PHX_EINVAL && phx_unjoin(n[1].p, NULL) == PHX_EINVAL,
       "no node, no address");
    ok(phx_unjoin(n[1].p, "frog") == PHX_EADDRESS && phx_unjoin(n[1].p, "frog://x") == PHX_ESCHEME,
       "no address of ours");
    ok(phx_unjoin(n[1].p, n[0].at) == PHX_ENOTFOUND, "no hub");
    check(phx_join(n[1].p, n[0].at) == 0, "join");
    eventually(stats_of(&n[1]).links == 1, "a hub is linked");
    ok(phx_unjoin(n[1].p, n[0].at) == 0 && phx_unjoin(n[1].p, n[0].at) == PHX_ENOTFOUND, "forgotten once");
    go_on(300 * MS);
    ok(stats_of(&n[1]).links == 1, "its link stays");
    memcpy(at, n[0].at, sizeof at);
    finish(&n[0]);
    eventually(stats_of(&n[1]).links == 0, "the hub dies");
    dials = stats_of(&n[1]).dials;
    go_on(1500 * MS);
    ok(stats_of(&n[1]).dials == dials, "nobody dials it");
    check(phx_join(n[1].p, at) == 0, "join");
    eventually(logged(&n[1], at, "refused"), "joined again, the log says how its dial ends");
    check(phx_unjoin(n[1].p, at) == 0, "unjoin");
    dials = stats_of(&n[1]).dials;
    go_on(1000 * MS);
    ok(stats_of(&n[1]).dials == dials, "forgotten again");
    (void)phx_close(n[1].p, 0);
    ok(phx_unjoin(n[1].p, at) == PHX_ECLOSED, "a node that leaves has no hubs");
    finish(&n[1]);
}

/* Seen from both ends: at the end of each step a neighbour is without a link only if the host was told. */
static void test_told_at_once(void)
{
    int side, early = 0, late = 0, steps, i;

    for (side = 0; side < 2; side++) {
        begin_apart(&n[0], 0);
        begin_apart(&n[1], 0);
        check(phx_join(n[1].p, n[0].at) == 0, "join");
        await(stats_of(&n[0]).links == 1 && stats_of(&n[1]).links == 1
                  && stats_of(&n[0]).reachable == 2 && stats_of(&n[1]).reachable == 2, PATIENCE);
        kill_node(&n[!side]);
        for (steps = 0; steps < 1000 && stats_of(&n[side]).links > 0; steps++) {
            int told = 0;
            turn(20);
            for (i = 0; i < n[side].event_count; i++)
                told += n[side].events[i].state == PHX_NODE_UNREACHABLE;
            late += stats_of(&n[side]).links == 0 && told == 0;
            early += stats_of(&n[side]).links > 0 && told > 0;
        }
        check(stats_of(&n[side]).links == 0, "the link has closed");
        finish_all(n, 2);
    }
    ok(late == 0 && early == 0, "UNREACHABLE comes in the step in which the link closes");
}

/* One that never answers: the line comes when the time for the dial is over. */
static void test_silent_hub(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    char at[64];

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(bind(fd, (const void *)&to, size) == 0 && listen(fd, 4) == 0
              && getsockname(fd, (void *)&to, &size) == 0, "a listener");
    (void)snprintf(at, sizeof at, "tcp://127.0.0.1:%u", (unsigned)ntohs(to.sin_port));
    begin_apart(&n[0], 0);
    check(phx_join(n[0].p, at) == 0, "join");
    eventually(logged(&n[0], at, phx_strerror(PHX_ETIMEDOUT)) > 0, "a hub that says nothing: timed out");
    close(fd);
    finish(&n[0]);
}

/* Has the node's only hub failed in this way by now? */
static int hub_says(const struct node *m, int error)
{
    struct phx_hub hub;

    return phx_hubs(m->p, &hub, 1) == 1 && hub.error == error && hub.tried_us > 0 && !hub.linked;
}

/* phx_hubs, phx_explain and phx_dump say of a hub what became of its dials. */
static void test_told_why(void)
{
    static const char key[] = "sixteen bytes of a key";
    static char text[1 << 16];
    struct phx_id self;
    struct phx_config c;
    struct phx_hub hub;
    char at[PHX_ADDRESS_TEXT];

    begin_apart(&n[0], 0);
    settings(&n[1], &c);
    hurry(&c);
    c.key = key;
    c.key_size = sizeof key;
    begin_as(&n[1], &c, LOOPBACK);
    ok(phx_hubs(NULL, &hub, 1) == 0 && phx_hubs(n[0].p, NULL, 1) == 0 && phx_hubs(n[0].p, &hub, 1) == 0,
       "no node, no place, no hubs");
    check(phx_join(n[0].p, n[1].at) == 0, "join");
    ok(phx_hubs(n[0].p, &hub, 1) == 1 && phx_hubs(n[0].p, NULL, 0) == 1
           && strcmp(phx_address_text(&hub.address, at), n[1].at) == 0 && hub.tried_us == 0,
       "joined, not tried yet");
    eventually(hub_says(&n[0], PHX_EKEY), "a hub with another key");
    phx_self(n[0].p, &self);
    check(phx_explain(n[0].p, &self, text, sizeof text) > 0, "explain");
    ok(strstr(text, "hub: tcp://") != NULL && strstr(text, phx_strerror(PHX_EKEY)) != NULL,
       "phx_explain says it of this node itself");
    check(phx_dump(n[0].p, PHX_DUMP_JSON, text, sizeof text) > 0, "dump");
    ok(strstr(text, "\"hubs\":[\n{\"address\":\"tcp://") != NULL
           && strstr(text, phx_strerror(PHX_EKEY)) != NULL,
       "so does phx_dump");
    finish(&n[1]);
    eventually(hub_says(&n[0], PHX_EREFUSED), "a hub that is gone");
    check(phx_unjoin(n[0].p, at) == 0, "unjoin");
    begin_apart(&n[2], 0);
    check(phx_join(n[0].p, n[2].at) == 0, "join");
    eventually(phx_hubs(n[0].p, &hub, 1) == 1 && hub.linked, "a hub that is linked");
    phx_self(n[2].p, &self);
    ok(memcmp(&hub.peer, &self, sizeof self) == 0 && hub.error == 0, "with that node");
    ok(logged(&n[0], "3 link ?", "dialling") == 2 && logged(&n[0], "4 link ?", "dialling") > 0,
       "the first dial of each hub is a line of INFO, later ones are DEBUG");
    check(phx_close(n[2].p, 0) == 0, "close");
    eventually(logged(&n[0], "link", "node is closed") > 0, "an orderly goodbye");
    ok(logged(&n[0], "2 link", "node is closed") == 0 && logged(&n[2], "2 link", "down") == 0,
       "is no warning on either side");
    finish(&n[2]);
    finish(&n[0]);
}

/* ---- A host that is asked for hubs ----------------------------------------------------------- */

static struct {
    int count, wrong;   /* how often it was asked; the last hub had not failed, or it could call phx_step */
    const char *answer; /* what it joins */
    char dead[PHX_ADDRESS_TEXT]; /* what it forgets */
    int does;           /* 1: phx_close; 2: phx_free */
    unsigned long resolves;
} asked;

static void need_hubs(phx *p, void *user)
{
    struct node *m = user;
    struct phx_hub hub;

    asked.count++;
    asked.wrong += p != m->p || phx_step(p, 0, NULL, 0) != PHX_ESTATE;
    asked.wrong += phx_hubs(p, &hub, 1) == 1 && hub.error != PHX_EREFUSED;
    if (asked.dead[0] != 0)
        asked.wrong += phx_unjoin(p, asked.dead) != 0;
    asked.dead[0] = 0;
    if (asked.answer != NULL)
        asked.wrong += phx_join(p, asked.answer) != 0;
    if (asked.does == 1)
        (void)phx_close(p, 0);
    if (asked.does == 2)
        phx_free(p);
}

static int (*real_resolve)(void *world, const char *host, struct phx_address *out, int capacity);

static int count_resolve(void *w, const char *host, struct phx_address *out, int capacity)
{
    asked.resolves++;
    return real_resolve(w, host, out, capacity);
}

/* In the real world, but for a resolve that counts. */
static void begin_asked(struct node *m)
{
    static struct phx__mem mem;
    static struct phx_os os;
    struct phx_config c;

    settings(m, &c);
    hurry(&c);
    phx__mem_init(&mem, NULL, 0);
    check(phx__os_init(&os, &mem) == 0, "a world");
    real_resolve = os.resolve;
    os.resolve = count_resolve;
    c.os = &os;
    c.on_need_hubs = need_hubs;
    begin_as(m, &c, NULL);
}

/* Promises 35, 39: a hub that is dead, and the host knows a better one. Names are resolved in calls alone. */
static void test_need_hubs(void)
{
    char by_name[64];
    uint64_t dials;
    int once;

    memset(&asked, 0, sizeof asked);
    begin_apart(&n[0], 4);
    begin_apart(&n[2], 4);
    memcpy(asked.dead, n[2].at, sizeof asked.dead);
    finish(&n[2]);
    (void)snprintf(by_name, sizeof by_name, "tcp://localhost:%s", strrchr(n[0].at, ':') + 1);
    asked.answer = by_name;
    begin_asked(&n[1]);
    check(phx_join(n[1].p, asked.dead) == 0, "join");
    eventually(linked(&n[0], &n[1]), "the only hub is dead, and the host names another one");
    ok(asked.count == 1 && asked.wrong == 0 && asked.resolves == 1,
       "asked once, when that had failed: %d, %d", asked.count, asked.wrong);
    go_on(1200 * MS);
    ok(asked.count == 1, "and no more while there is a link");
    dials = stats_of(&n[1]).dials;
    asked.answer = NULL;
    asked.wrong = 0;
    finish(&n[0]);
    eventually(asked.count == 2, "the link is lost and its hub is dead: asked");
    once = asked.count;
    go_on(1700 * MS); /* retry_max_us is 500 ms */
    ok(asked.count >= once + 2 && asked.count <= once + 4, "then each retry_max_us: %d", asked.count - once);
    ok(asked.resolves == 1 && stats_of(&n[1]).dials > dials + 2 && asked.wrong == 0,
       "%d more dials, and names are resolved in phx_join alone", (int)(stats_of(&n[1]).dials - dials));
    finish(&n[1]);
}

/* Without any hub, the first step asks; in there a node may be closed or freed. */
static void test_need_hubs_ends(void)
{
    int i;

    for (i = 0; i < 3; i++) {
        memset(&asked, 0, sizeof asked);
        asked.does = i;
        begin_asked(&n[0]);
        ok(asked.count == 0 && phx_deadline(n[0].p) <= phx_now_us(), "without hubs there is something to do");
        phx_step(n[0].p, phx_now_us(), NULL, 0);
        ok(asked.count == 1 && asked.wrong == 0, "its first step asks%s",
           i == 0 ? "" : i == 1 ? ", and is told to close" : ", and is freed");
        if (i == 2) {
            hosts[--host_count] = NULL; /* there is no other */
            n[0].p = NULL;
            ok(test_heap_is_clean(&n[0].heap), "all of it");
        } else {
            go_on(700 * MS);
        }
        ok(asked.count == 1 + (i == 0), "%s", i == 0 ? "again after retry_max_us" : "no more");
        finish(&n[0]);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_told_why();
    test_need_hubs();
    test_need_hubs_ends();
    test_star();
    test_unjoin();
    test_told_at_once();
    test_silent_hub();
    return test_end();
}
