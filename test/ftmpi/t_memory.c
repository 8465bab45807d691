/* t_memory.c - an engine without memory, at every allocation.
 *
 * Goal: no memory is an error or the end of the job with a line, never a crash, a leak or wrong data.
 * Method: a process that sends to itself in all protocols, with an allocator that fails once at the k-th
 * call, for all k; then one that fails from there on.
 */
#include "test.h"

#include "comm.h"
#include "engine.h"
#include "request.h"

#define LARGE 20000

static struct {
    struct test_heap heap;
    struct phx_alloc alloc;
    int ended;
    unsigned char out[LARGE], in[LARGE];
} world;

static void on_end(void *user, int code, const char *line)
{
    (void)user;
    (void)code;
    world.ended += line != NULL && strstr(line, "memory") != NULL;
}

static int turn_until(struct ftm *e, const struct ftm_request *r)
{
    int turns;

    for (turns = 0; turns < 1000 && !r->done && !world.ended; turns++)
        ftm_step(e, (uint64_t)turns, NULL, 0);
    return r->done;
}

/* One message, received before or after it is sent. 1: it came; 0: an error was told; -1: wrong. */
static int exchange(struct ftm *e, int mode, size_t size, int late)
{
    struct ftm_type *type = ftm_table_get(&e->handles, MPI_BYTE, FTM_TYPE);
    struct ftm_request *s = NULL, *r = NULL;
    int good = 0;

    memset(world.in, 0, size);
    if ((!late && ftm_recv_start(e, &r, e->world, 0, world.in, size, type, 0, 1) != 0)
        || ftm_send_start(e, &s, mode, e->world, 0, world.out, size, type, 0, 1) != 0)
        goto end;
    ftm_step(e, 0, NULL, 0);
    if (late && ftm_recv_start(e, &r, e->world, 0, world.in, size, type, MPI_ANY_SOURCE, 1) != 0)
        goto end;
    if (turn_until(e, r) && turn_until(e, s))
        good = memcmp(world.in, world.out, size) == 0 ? 1 : -1;
end:
    if (r != NULL)
        ftm_request_cancel(e, r);
    if (r != NULL)
        ftm_request_free(e, r);
    if (s != NULL)
        ftm_request_free(e, s);
    return good;
}

/* How many of the messages came; -1: something is wrong. */
static int run(void)
{
    static const int modes[] = { FTM_STANDARD, FTM_SYNCHRONOUS };
    static const size_t sizes[] = { 0, 100, LARGE };
    struct ftm_config how;
    struct ftm *e;
    int i, j, late, came = 0, one;

    memset(&how, 0, sizeof how);
    how.size = 1;
    how.alloc = &world.alloc;
    how.eager_limit = 1000;
    how.piece = 7000;
    how.on_end = on_end;
    if (ftm_new(&e, &how, 0) != 0)
        return e == NULL ? 0 : -1;
    for (i = 0; i < 2; i++)
        for (j = 0; j < 3; j++)
            for (late = 0; late < 2 && !world.ended; late++) {
                one = exchange(e, modes[i], sizes[j], late);
                came = one < 0 || came < 0 ? -1 : came + one;
            }
    ftm_free(e);
    return came;
}

int main(void)
{
    long k, calls;
    int bad = 0, from, i;

    world.alloc.alloc = test_alloc;
    world.alloc.world = &world.heap;
    for (i = 0; i < LARGE; i++)
        world.out[i] = (unsigned char)(i * 13 + 1);
    ok(run() == 12 && test_heap_is_clean(&world.heap), "with memory all come");
    calls = world.heap.calls;
    for (from = 0; from < 2; from++) {
        for (k = 1; k <= calls; k++) {
            memset(&world.heap, 0, sizeof world.heap);
            world.ended = 0;
            world.heap.fail_at = from ? 0 : k;
            world.heap.fail_from = from ? k : 0;
            i = run();
            bad += i < 0 || (i == 12 && from) || !test_heap_is_clean(&world.heap);
            if (bad == 1)
                printf("# call %ld: %d came, %ld blocks are left\n", k, i, world.heap.blocks);
        }
        ok(bad == 0, "%ld times without: %s", calls, from ? "from one call on" : "once");
    }
    return test_end();
}
