/* t_log.c - the log: a handler may call anything, and nobody else decides how many lines there are.
 *
 * Goal: a host reacts inside on_log as it may in every callback (promises 109, 110, 120).
 * Method: whole nodes over loopback sockets on a clock of the test's own. The calls are made at the lines
 * that once ended in a use after free, a wild write and a call through NULL; the sanitizers look on.
 */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "phoenix.h"
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    uint64_t now;
    const char *at; /* a line with this in it ... */
    void (*reaction)(phx *p); /* ... makes the host do this, once */
    int reacted, lines, most, counts;
    uint64_t at_line[4096], omitted; /* when each of the lines came */
} world;

static int unheld, named, digits; /* lines with "nobody", with a label, with an id */

static void saw_line(phx *p, int level, const char *line, void *user)
{
    int i;

    (void)user;
    unheld += strstr(line, "nobody is known to hold") != NULL;
    named += strstr(line, "the-other") != NULL;
    digits += strspn(line + strcspn(line, " ") + 1, "0123456789abcdef") == PHX_ID_TEXT - 1;
    if (level < PHX_LOG_DEBUG) {
        world.at_line[world.lines++ % 4096] = world.now;
        for (i = world.lines; i > 0 && world.at_line[(i - 1) % 4096] + 1000000 > world.now; i--)
            continue;
        if (world.lines - i > world.most)
            world.most = world.lines - i;
    }
    if (strstr(line, "were left out") != NULL) {
        world.omitted += strtoul(line, NULL, 10);
        world.counts++;
    }
    if (world.reaction == NULL || world.reacted || strstr(line, world.at) == NULL)
        return;
    world.reacted = 1;
    world.reaction(p);
}

static phx *node(void)
{
    struct phx_config cfg;
    phx *p;

    phx_config_init(&cfg);
    cfg.on_log = saw_line;
    return phx_new(&p, &cfg, world.now) == 0 ? p : NULL;
}

static void begin(void)
{
    memset(&world, 0, sizeof world);
    world.now = 1000000;
}

static void steps(phx **all, int count, int how_many)
{
    int i;

    for (; how_many > 0; how_many--) {
        world.now += 1000;
        for (i = 0; i < count; i++)
            if (all[i] != NULL)
                (void)phx_step(all[i], world.now, NULL, 0);
    }
}

/* ---- A handler that reacts ------------------------------------------------------------------- */

static phx *own; /* NULL: it was freed inside the handler */

static void join_more(phx *p)
{
    char hub[64];
    int i;

    for (i = 0; i < 32; i++) {
        (void)snprintf(hub, sizeof hub, "tcp://127.0.0.%d:1", i + 2);
        (void)phx_join(p, hub);
    }
}

static void close_now(phx *p)
{
    (void)phx_close(p, 0);
}

static void free_now(phx *p)
{
    phx_free(p);
    own = NULL;
}

static void do_much(phx *p)
{
    struct phx_key key = { "sixteen bytes or more", 21 };
    char text[512];
    struct phx_id id;

    phx_self(p, &id);
    (void)phx_assume(p, 1, 9);
    (void)phx_send(p, 1, 2, 3, "x", 1);
    (void)phx_listen(p, "tcp://127.0.0.1:0");
    (void)phx_set_keys(p, &key, 1);
    (void)phx_busy(p, 1000000);
    (void)phx_explain(p, &id, text, sizeof text);
    (void)phx_dump(p, PHX_DUMP_JSON, text, sizeof text);
    (void)phx_release(p, 1, 3);
    ok(phx_step(p, world.now, NULL, 0) == PHX_ESTATE, "but no step within a step");
}

/* A port at which a kernel accepts for a program that never says a word. */
static int silent_listener(char text[PHX_ADDRESS_TEXT])
{
    struct sockaddr_in in;
    socklen_t size = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    memset(&in, 0, sizeof in);
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof in) != 0 || listen(fd, 8) != 0
        || getsockname(fd, (struct sockaddr *)&in, &size) != 0)
        return -1;
    (void)snprintf(text, PHX_ADDRESS_TEXT, "tcp://127.0.0.1:%d", (int)ntohs(in.sin_port));
    return fd;
}

/* Each dials a port that is closed (the dial fails at once, C1 and C2 of the fuzzers) and one that is silent
 * (the link ends later, C3). */
static void test_reactions(void)
{
    static void (*const all[])(phx *p) = { join_more, close_now, free_now, do_much };
    static const char *const what[] = { "joins 32 hubs", "closes", "frees", "does much" };
    char silent[PHX_ADDRESS_TEXT];
    int i, k, fd = silent_listener(silent);

    ok(fd >= 0, "a silent listener");
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 2; k++) {
            begin();
            world.reaction = all[i];
            world.at = k == 0 ? "no connection" : "timed out";
            own = node();
            ok(own != NULL && phx_join(own, k == 0 ? "tcp://127.0.0.1:1" : silent) == 0, "joins");
            steps(&own, 1, 7000);
            ok(world.reacted, "%s at \"%s\"", what[i], world.at);
            phx_free(own);
        }
    }
    close(fd);
}

/* cfg.dial may cause more such dials while one is made. */
static int dial_nobody(phx *p, const char *address, void *user)
{
    char hub[64];
    int i;

    (void)user;
    for (i = 0; i < 16; i++) {
        (void)snprintf(hub, sizeof hub, "test://%s/%d", address[7] == '0' ? "1" : "2", i);
        (void)phx_join(p, hub);
    }
    return PHX_EREFUSED;
}

static void test_own_dials(void)
{
    struct phx_config cfg;
    phx *p = NULL;

    begin();
    phx_config_init(&cfg);
    cfg.on_log = saw_line;
    cfg.dial = dial_nobody;
    world.reaction = close_now;
    world.at = "not dialled";
    ok(phx_new(&p, &cfg, world.now) == 0 && phx_join(p, "test://0") == 0, "a scheme of the host's");
    steps(&p, 1, 2000);
    ok(world.reacted && phx_closed(p), "dials and lines of the host's own scheme");
    phx_free(p);
}

/* ---- How many lines there are ---------------------------------------------------------------- */

/* Goal: 20 lines in any second, and then how many were left out. Method: a node takes 2,000 names, each a
 * range, from another, which has a line for each: one, and 0.9 s and 1.1 s after that a thousand. */
static void test_rate(void)
{
    phx *all[2];
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];
    uint64_t i;

    begin();
    all[0] = node();
    all[1] = node();
    ok(phx_listen(all[0], "tcp://127.0.0.1:0") == 0 && phx_listening(all[0], 0, &at) == 0
           && phx_join(all[1], phx_address_text(&at, text)) == 0,
       "two nodes");
    for (i = 0; i < 2000; i++)
        (void)phx_assume(all[0], 2 * i, 2 * i);
    for (i = 0; i < 3000 && phx_owner(all[1], 0, NULL) != 0; i++)
        steps(all, 2, 1);
    steps(all, 2, 2000);
    world.lines = world.most = world.counts = 0;
    world.omitted = 0;
    ok(phx_assume(all[1], 0, 0) == 0, "one takes a name of the other");
    steps(all, 2, 900);
    ok(world.lines == 1 && phx_assume(all[1], 1, 1999) == 0, "half of its names");
    steps(all, 2, 200);
    ok(phx_assume(all[1], 2000, 5000) == 0, "all of them");
    steps(all, 2, 7000);
    ok(world.most == 20, "%d lines in one second, at most 20", world.most);
    ok((uint64_t)(world.lines - world.counts) + world.omitted == 2000 && world.counts > 0,
       "%d lines, %d of which say that %lu were left out", world.lines, world.counts,
       (unsigned long)world.omitted);
    phx_free(all[0]);
    phx_free(all[1]);
}

/* Goal: who waits for a name that nobody holds is told so, once; and lines call a node by its label. Method:
 * sends to names nobody has, a link that comes up with a node that is known by its label, and goes. */
static void test_words(void)
{
    struct phx_config cfg;
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];
    phx *all[2];
    uint64_t i;

    begin();
    all[0] = node();
    phx_config_init(&cfg);
    cfg.label = "the-other";
    ok(phx_new(&all[1], &cfg, world.now) == 0 && phx_listen(all[1], "tcp://127.0.0.1:0") == 0
           && phx_listening(all[1], 0, &at) == 0,
       "one with a label");
    unheld = 0;
    for (i = 0; i < 32; i++) /* the last name there is, 0, 1 and 2 */
        (void)phx_send(all[0], i % 4 - 1, 9, 0, "x", 1);
    steps(all, 1, 10);
    ok(unheld == 4, "32 messages to four names that nobody holds: %d lines", unheld);
    (void)phx_assume(all[1], 0, 2);
    (void)phx_assume(all[1], UINT64_MAX, UINT64_MAX);
    ok(phx_join(all[0], phx_address_text(&at, text)) == 0, "they meet");
    for (i = 0; i < 3000 && phx_pending(all[0]) > 0; i++)
        steps(all, 2, 1);
    (void)phx_send(all[0], 1, 9, 0, "x", 1);
    steps(all, 2, 100);
    (void)phx_release(all[1], 0, 2);
    steps(all, 2, 100);
    (void)phx_send(all[0], 1, 9, 0, "x", 1);
    (void)phx_send(all[0], 3, 9, 0, "x", 1);
    steps(all, 1, 10);
    ok(unheld == 5, "a name that is free again is not said again, another one is: %d lines", unheld);
    named = digits = 0;
    steps(all, 1, 20000); /* silent: a line each for suspicion and for the link */
    ok(named >= 2 && digits == 0, "%d lines name the other by its label, %d by its id", named, digits);
    named = 0;
    for (i = 0; i < 100000 && named == 0; i++)
        steps(all, 2, 1);
    ok(named > 0 && digits == 0, "the line of a new link, too");
    phx_free(all[0]);
    phx_free(all[1]);
}

int main(void)
{
    test_words();
    test_reactions();
    test_own_dials();
    test_rate();
    return test_end();
}
