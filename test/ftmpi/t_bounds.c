/* t_bounds.c - what a receiver that does not receive has to keep, and what is copied of large messages.
 *
 * Goal: the memory of a receiver is bounded by its senders' budgets, and nothing is lost by it.
 * Large messages are not copied by the library. Method: engines in one process; one floods another, which
 * steps and receives nothing until the flood has come to a stop, and then everything. The allocator counts.
 */
#include "engines.h"

#define MESSAGES 60000
#define LARGEST 2000
#define MIB (1u << 20)

static struct {
    struct engines s;
    struct ftm_request *sends[MESSAGES];
    struct ftm_request *receive;
    unsigned char out[LARGEST], in[LARGEST];
    unsigned char *big[2];
    int done; /* all sends before this one are */
} world;

static size_t flood_bytes(int which, int size)
{
    return size > 0 ? (size_t)size : (size_t)(which * 37 % LARGEST);
}

static void flood(int size, int mode)
{
    struct ftm *e = world.s.at[1];
    int i, err = 0;

    for (i = 0; i < MESSAGES; i++) {
        int how = mode >= 0 ? mode : i % 2 ? FTM_STANDARD : FTM_SYNCHRONOUS;

        err |= ftm_send_start(e, &world.sends[i], how, e->world, 0, world.out, flood_bytes(i, size),
                              engines_type(&world.s, 1, MPI_BYTE), 0, i % 5);
    }
    check(err == 0, "all sends start");
}

/* Nothing moves any more: 200 turns in which nothing came to anybody. */
static int is_still(struct engines *s, void *arg)
{
    static uint64_t seen;
    static int turns;
    uint64_t now = s->at[0]->counters.arrived + s->at[1]->counters.arrived;

    (void)arg;
    turns = now == seen ? turns + 1 : 0;
    seen = now;
    return turns > 200;
}

static int has_received(struct engines *s, void *arg)
{
    (void)s;
    (void)arg;
    return world.receive->done;
}

static int sends_end(struct engines *s, void *arg)
{
    (void)s;
    (void)arg;
    while (world.done < MESSAGES && world.sends[world.done]->done)
        world.done++;
    return world.done == MESSAGES;
}

static int receive_all(int size)
{
    struct ftm *e = world.s.at[0];
    int i, bad = 0;

    for (i = 0; i < MESSAGES && bad == 0; i++) {
        bad += ftm_recv_start(e, &world.receive, e->world, 0, world.in, LARGEST,
                              engines_type(&world.s, 0, MPI_BYTE), 1, i % 5) != 0;
        bad += !engines_until(&world.s, has_received, NULL);
        bad += world.receive->error != 0 || world.receive->status.bytes != flood_bytes(i, size);
        ftm_request_free(e, world.receive);
    }
    bad += !engines_until(&world.s, sends_end, NULL);
    for (i = 0; i < MESSAGES; i++)
        ftm_request_free(world.s.at[1], world.sends[i]);
    return bad;
}

static void test_flood(int size, int mode, const char *name)
{
    struct ftm_config how;
    size_t before, after;

    memset(&how, 0, sizeof how);
    world.done = 0;
    if (!engines_begin(&world.s, 2, &how))
        return;
    before = world.s.heap[0].bytes;
    flood(size, mode);
    ok(engines_until(&world.s, is_still, NULL), "%s: the flood comes to a stop", name);
    after = world.s.heap[0].bytes;
    ok(after - before <= FTM_EAGER_BUDGET + MIB, "%s: %lu KiB are kept", name,
       (unsigned long)((after - before) >> 10));
    ok(!world.sends[MESSAGES - 1]->done, "%s: and the sender knows it", name);
    ok(receive_all(size) == 0, "%s: everything is received, in order", name);
    ok(world.s.at[0]->counters.waiting == 0, "%s: nothing is kept", name);
    engines_finish(&world.s);
}

static int both_done(struct engines *s, void *arg)
{
    (void)s;
    (void)arg;
    return world.receive->done && world.sends[0]->done;
}

/* A receive that is posted before: the data go from buffer to buffer. */
static void test_copies(void)
{
    struct ftm_config how;
    struct ftm *from, *to;
    uint64_t copied;
    int i, bad = 0;

    memset(&how, 0, sizeof how);
    how.tcp = 1;
    if (!engines_begin(&world.s, 2, &how))
        return;
    from = world.s.at[1];
    to = world.s.at[0];
    world.big[0] = malloc(4 * MIB);
    world.big[1] = malloc(4 * MIB);
    memset(world.big[0], 5, 4 * MIB);
    for (i = 0; i < 20; i++) {
        size_t size = (i % 2 ? 4 : 1) * MIB;

        bad += ftm_recv_start(to, &world.receive, to->world, 0, world.big[1], size,
                              engines_type(&world.s, 0, MPI_BYTE), 1, 3) != 0;
        bad += ftm_send_start(from, &world.sends[0], FTM_STANDARD, from->world, 0, world.big[0], size,
                              engines_type(&world.s, 1, MPI_BYTE), 0, 3) != 0;
        bad += !engines_until(&world.s, both_done, NULL);
        ftm_request_free(to, world.receive);
        ftm_request_free(from, world.sends[0]);
    }
    ok(bad == 0 && memcmp(world.big[0], world.big[1], 4 * MIB) == 0, "20 large messages came");
    copied = from->counters.copied + to->counters.copied;
    ok(copied == 0, "and %lu bytes of 50 MiB were copied by libftmpi", (unsigned long)copied);
    free(world.big[0]);
    free(world.big[1]);
    engines_finish(&world.s);
}

int main(void)
{
    test_flood(8, FTM_STANDARD, "8 bytes, eager");
    test_flood(0, FTM_STANDARD, "up to 2,000 bytes, eager");
    test_flood(8, FTM_SYNCHRONOUS, "8 bytes, synchronous");
    test_flood(0, -1, "mixed");
    test_copies();
    return test_end();
}
