/* t_silence.c - what a node owes leaves before its host falls silent: acks, its card, news.
 *
 * Goal: a host that blocks or ends right after it got a message has acknowledged it, and one that computes
 * right after it joined is known (promises 40, 61, 67).
 * Method: whole nodes over loopback sockets on a clock of the test's own. One host says in one of the ways of
 * phoenix.h that it will be silent, and does not step any more; the others go on.
 */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "phoenix.h"
#endif

enum way { FLUSH, BUSY, BUSY_INSIDE, CLOSE, FREE, FREE_INSIDE, WAYS };
static const char *const ways[] = { "a step with n == 0", "phx_busy", "phx_busy in the callback",
                                    "phx_close(p, 0) and its step", "phx_free", "phx_free in the callback" };

static struct {
    uint64_t now;
    phx *all[3];
    int silent; /* which of them falls silent, at the first event that counts */
    enum way way;
    int outcomes, result, happened;
} world;

static void fall_silent(phx *p, int inside)
{
    struct pollfd none = { -1, 0, 0 };

    if (inside != (world.way == BUSY_INSIDE || world.way == FREE_INSIDE))
        return;
    if (world.silent == 2)
        (void)phx_assume(p, 10, 10);
    switch (world.way) {
    case FLUSH: (void)phx_step(p, world.now, &none, 0); break;
    case BUSY:
    case BUSY_INSIDE: (void)phx_busy(p, 60000000); break;
    case CLOSE:
        (void)phx_close(p, 0);
        (void)phx_step(p, world.now, NULL, 0);
        break;
    default: phx_free(p); break;
    }
}

static void happens(phx *p, int here)
{
    if (!here || world.happened)
        return;
    world.happened = 1;
    fall_silent(p, 1);
}

static void saw_message(phx *p, const struct phx_message *m, void *user)
{
    (void)m;
    happens(p, world.silent == *(int *)user && world.silent == 1);
}

/* The joiner's first word of a link. */
static void saw_node(phx *p, const struct phx_node *node, void *user)
{
    happens(p, world.silent == *(int *)user && world.silent == 2 && node->hops == 1);
}

static void saw_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)token, (void)to, (void)tag, (void)user;
    world.outcomes++;
    world.result = result;
}

/* All step, but for the one that is silent; that one is told what it should do after its last step. */
static void steps(int how_many)
{
    int i;

    for (; how_many > 0; how_many--) {
        world.now += 1000;
        for (i = 0; i < 3; i++) {
            if (world.all[i] == NULL || (i == world.silent && world.happened))
                continue;
            (void)phx_step(world.all[i], world.now, NULL, 0);
            if (i == world.silent && world.happened)
                fall_silent(world.all[i], 0);
        }
    }
}

static phx *node(int *number)
{
    struct phx_config cfg;
    phx *p;

    phx_config_init(&cfg);
    cfg.user = number;
    cfg.on_message = saw_message;
    cfg.on_node = saw_node;
    cfg.on_done = saw_done;
    return phx_new(&p, &cfg, world.now) == 0 ? p : NULL;
}

static int knows(phx *p, uint64_t name)
{
    return phx_owner(p, name, NULL) == 0;
}

/* A hub and two others, the last of which joins later. */
static void begin(char text[PHX_ADDRESS_TEXT])
{
    static int numbers[] = { 0, 1, 2 };
    struct phx_address at;
    int i;

    memset(&world, 0, sizeof world);
    world.now = 1000000;
    world.silent = -1;
    for (i = 0; i < 3; i++)
        world.all[i] = node(&numbers[i]);
    ok(phx_listen(world.all[0], "tcp://127.0.0.1:0") == 0 && phx_listening(world.all[0], 0, &at) == 0
           && phx_join(world.all[1], phx_address_text(&at, text)) == 0 && phx_assume(world.all[1], 7, 7) == 0,
       "a hub and another");
    for (i = 0; i < 3000 && !knows(world.all[0], 7); i++)
        steps(1);
    steps(3000);
}

static void finish(void)
{
    int i, freed = world.way == FREE || world.way == FREE_INSIDE;

    for (i = 0; i < 3; i++)
        if (i != world.silent || !freed)
            phx_free(world.all[i]);
}

/* As two parallel programs do that exchange messages and then enter a collective call: the sender is there
 * only when its message has arrived. */
static void test_message(enum way way)
{
    static char byte[] = "x";
    char text[PHX_ADDRESS_TEXT];
    struct iovec iov = { byte, 1 };
    struct phx_outgoing m;
    int i;

    begin(text);
    world.silent = 1;
    world.way = way;
    memset(&m, 0, sizeof m);
    m.to = 7;
    m.token = 5;
    m.iov = &iov;
    m.iov_count = 1;
    ok(phx_sendv(world.all[0], &m) == 0, "a message");
    for (i = 0; i < 1000 && world.outcomes == 0; i++)
        steps(1);
    ok(world.happened && world.outcomes == 1 && world.result == PHX_OK && phx_pending(world.all[0]) == 0,
       "%s: acknowledged, %d ms", ways[way], i);
    finish();
}

/* It computes from the step in which it first hears of a link, and takes one more name before. */
static void test_joiner(enum way way)
{
    char text[PHX_ADDRESS_TEXT];
    int i;

    begin(text);
    world.silent = 2;
    world.way = way;
    ok(phx_assume(world.all[2], 9, 9) == 0 && phx_join(world.all[2], text) == 0, "a third joins");
    for (i = 0; i < 1000 && !(knows(world.all[0], 10) && knows(world.all[1], 10)); i++)
        steps(1);
    ok(world.happened && knows(world.all[0], 9) && knows(world.all[0], 10) && knows(world.all[1], 10),
       "%s: known to all, %d ms", ways[way], i);
    finish();
}

int main(void)
{
    int way;

    for (way = 0; way < WAYS; way++)
        test_message((enum way)way);
    for (way = FLUSH; way <= BUSY_INSIDE; way++)
        test_joiner((enum way)way);
    return test_end();
}
