/* t_arbiter.c - the arbiter: stories of jobs, random ones beside a model, and bytes that nobody sends. */

#include "test.h"

#include "arbiter.h"

#define RANKS_MAX 8

/* What it was told to do. */
struct world {
    struct ftm_arbiter *a;
    uint32_t size;
    int tables, finished, aborts, lines, overs, code;
    char line[1024];
    struct ftm_seat seat[RANKS_MAX];
    uint32_t number;
    int gaps;
};

static void on_cast(void *ctx, uint64_t tag, const void *data, size_t size)
{
    struct world *w = ctx;
    struct ftm_event e;

    if (FTM_KIND(tag) == FTM_START) {
        check(FTM_FLAGS(tag) == FTM_START_TABLE, "only the TABLE");
        check(ftm_seats_get(w->seat, w->size, data, size) == 0, "the table can be read");
        w->tables++;
        return;
    }
    check(FTM_KIND(tag) == FTM_NOTICE && ftm_event_get(&e, data, size) == 0, "a notice can be read");
    w->gaps += e.number != ++w->number;
    w->finished += e.kind == FTM_EVENT_FINISHED;
    w->aborts += e.kind == FTM_EVENT_ABORT;
}

static void on_say(void *ctx, const char *line)
{
    struct world *w = ctx;

    w->lines++;
    snprintf(w->line, sizeof w->line, "%s", line);
}

static void on_over(void *ctx, int code)
{
    struct world *w = ctx;

    w->overs++;
    w->code = code;
}

static const char *on_host(void *ctx, uint32_t rank)
{
    (void)ctx;
    return rank % 2 == 0 ? "even" : "odd";
}

static void begin(struct world *w, uint32_t size, const struct phx_alloc *alloc)
{
    struct ftm_arbiter_ops ops = {NULL, on_cast, on_say, on_over, on_host};
    uint32_t i;

    memset(w, 0, sizeof *w);
    w->size = size;
    ops.ctx = w;
    check(ftm_arbiter_new(&w->a, alloc, size, &ops) == 0, "an arbiter");
    for (i = 0; i < size; i++)
        check(ftm_arbiter_started(w->a, i, 0) == 0, "rank %d is started", (int)i);
}

static void end(struct world *w)
{
    ftm_arbiter_free(w->a);
}

static void say(struct world *w, uint32_t rank, int what, const void *data, size_t size)
{
    ftm_arbiter_message(w->a, FTM_FROM(0, 0, rank), FTM_WORD(FTM_START, what, 0, 0), data, size);
}

static struct ftm_hello greeting(uint32_t size, uint32_t rank)
{
    struct ftm_hello h;

    memset(&h, 0, sizeof h);
    ftm_start_layout(&h.layout);
    h.job_size = size;
    h.host = rank / 2;
    h.site = rank / 4;
    snprintf(h.name, sizeof h.name, "host%d", (int)rank / 2);
    return h;
}

static void say_hello(struct world *w, uint32_t rank, const struct ftm_hello *h)
{
    unsigned char bytes[FTM_HELLO_MOST];

    say(w, rank, FTM_START_HELLO, bytes, ftm_hello_put(bytes, h));
}

static void hello(struct world *w, uint32_t rank)
{
    struct ftm_hello h = greeting(w->size, rank);

    say_hello(w, rank, &h);
}

static void all_hello(struct world *w)
{
    uint32_t i;

    for (i = 0; i < w->size; i++)
        hello(w, i);
}

static int is_balanced(const struct world *w)
{
    struct ftm_arbiter_counts c;

    ftm_arbiter_count(w->a, &c);
    return c.started + c.restarted == c.living + c.failed + c.finished && !w->gaps;
}

/* Goal: a job that goes well. Method: all say hello, finalize and end, in different orders. */
static void test_good(void)
{
    struct world w;
    uint32_t i;

    begin(&w, 6, NULL);
    for (i = 0; i < 5; i++)
        hello(&w, 5 - i);
    ok(w.tables == 0, "no table before the last one has said hello");
    hello(&w, 0);
    ok(w.tables == 1 && w.seat[5].host == 2 && w.seat[5].site == 1, "the table says who lives where");
    for (i = 0; i < 5; i++)
        say(&w, i, FTM_START_FINALIZED, NULL, 0);
    ok(w.finished == 0, "nobody leaves before the last one has finalized");
    say(&w, 5, FTM_START_FINALIZED, NULL, 0);
    ok(w.finished == 1, "then all do");
    for (i = 0; i < 6; i++)
        check(ftm_arbiter_exited(w.a, i, 0, i == 3 ? 9 : 0, 0) == 0, "rank %d ends", (int)i);
    ok(w.overs == 0 && ftm_arbiter_code(w.a) == 9, "a status after MPI_Finalize is the job's, and no death");
    ok(w.lines == 1 && strstr(w.line, "rank 3 on odd: ended with status 9") != NULL, "and is told");
    ok(is_balanced(&w), "the sum is right");
    end(&w);
}

/* Goal: who dies ends the job, with one line that says who and how. */
static void test_deaths(void)
{
    struct world w;

    begin(&w, 3, NULL);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ok(w.overs == 1 && w.code == 137 && w.aborts == 1, "a signal: 128 and its number");
    ok(strstr(w.line, "rank 1 on odd: killed by signal 9") != NULL, "%s", w.line);
    ftm_arbiter_exited(w.a, 0, 0, 0, 15);
    ftm_arbiter_exited(w.a, 2, 0, 0, 15);
    ok(w.lines == 1 && w.overs == 1 && is_balanced(&w), "the others are its consequence");
    end(&w);

    begin(&w, 2, NULL);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 0, 0, 0, 0);
    ok(w.overs == 1 && w.code == 1 && strstr(w.line, "without MPI_Finalize") != NULL, "%s", w.line);
    end(&w);

    begin(&w, 2, NULL);
    ftm_arbiter_exited(w.a, 0, 0, 0, 11);
    ok(w.overs == 1 && w.code == 139, "a signal before MPI_Init, too");
    end(&w);
}

/* Goal: programs that are not MPI may end; one that is waits for them in vain. */
static void test_silent(void)
{
    struct world w;

    begin(&w, 2, NULL);
    ftm_arbiter_exited(w.a, 0, 0, 0, 0);
    ftm_arbiter_exited(w.a, 1, 0, 4, 0);
    ok(w.overs == 0 && ftm_arbiter_code(w.a) == 4 && is_balanced(&w), "no MPI program at all");
    end(&w);

    begin(&w, 3, NULL);
    ftm_arbiter_exited(w.a, 2, 0, 0, 0);
    ok(w.overs == 0, "one has ended");
    hello(&w, 1);
    ok(w.overs == 1 && strstr(w.line, "rank 2 on even: ended before MPI_Init") != NULL, "%s", w.line);
    end(&w);

    begin(&w, 3, NULL);
    hello(&w, 1);
    ftm_arbiter_exited(w.a, 2, 0, 0, 0);
    ok(w.overs == 1 && w.code == 1, "the other way round");
    end(&w);
}

static void test_abort(void)
{
    unsigned char bytes[FTM_ABORT_MOST];
    struct world w;

    begin(&w, 2, NULL);
    all_hello(&w);
    say(&w, 1, FTM_START_ABORT, bytes, ftm_abort_put(bytes, 300, "MPI_Abort with code 300"));
    ok(w.overs == 1 && w.code == 44 && is_balanced(&w), "the low byte of the code");
    ok(strcmp(w.line, "rank 1 on odd: MPI_Abort with code 300") == 0, "%s", w.line);
    ok(ftm_arbiter_exited(w.a, 1, 0, 0, 15) == 0 && w.lines == 1, "its end is no news");
    end(&w);

    begin(&w, 1, NULL);
    all_hello(&w);
    say(&w, 0, FTM_START_ABORT, bytes, ftm_abort_put(bytes, 256, "\x1b[2J"));
    ok(w.code == 1, "an abort is no success");
    ok(strstr(w.line, "\x1b") == NULL, "what a terminal would obey is not shown");
    end(&w);
}

/* Goal: worlds that cannot work together are refused, with both names. */
static void test_layout(void)
{
    struct ftm_hello h = greeting(3, 2);
    struct world w;

    begin(&w, 3, NULL);
    hello(&w, 1);
    h.layout.order ^= 3;
    say_hello(&w, 2, &h);
    ok(w.overs == 1 && strstr(w.line, "rank 2 on even: has another byte order") != NULL
           && strstr(w.line, "rank 1 on odd") != NULL, "%s", w.line);
    end(&w);

    begin(&w, 3, NULL);
    h = greeting(4, 0);
    say_hello(&w, 0, &h);
    ok(w.overs == 1, "a job of another size");
    end(&w);
}

/* Goal: nothing that anybody sends is more than the end of the job. Method: all sizes up to 700 of random
 * bytes, from ranks that exist and others, of all kinds. */
static void test_hostile(void)
{
    unsigned char bytes[700];
    struct world w;
    int i, k, bad = 0;

    srand(1);
    for (i = 0; i < 20000; i++) {
        begin(&w, 3, NULL);
        hello(&w, 1);
        for (k = 0; k < 700; k++)
            bytes[k] = (unsigned char)rand();
        if (i % 2 == 0)
            bytes[0] = FTM_START_VERSION;
        ftm_arbiter_message(w.a, FTM_FROM(0, i % 7 == 0, rand() % 4),
                            FTM_WORD(rand() % 16, rand() % 5, 0, 0), bytes, (size_t)(i % 701));
        bad += w.overs > 1 || w.lines > 1 || !is_balanced(&w);
        end(&w);
    }
    ok(bad == 0, "20,000 messages that nobody sends");
}

/* Goal: after every event started = living + failed + finished, the job ends once, and notices have no gaps.
 * Method: random events, also such as cannot be. */
static void test_random(void)
{
    struct world w;
    int run, step, bad = 0;

    srand(2);
    for (run = 0; run < 3000; run++) {
        begin(&w, (uint32_t)(rand() % RANKS_MAX + 1), NULL);
        for (step = 0; step < 30; step++) {
            uint32_t rank = (uint32_t)rand() % w.size;
            int event = rand() % (step < 10 ? 2 : 5);
            if (event < 2)
                hello(&w, rank);
            else if (event == 2)
                say(&w, rank, FTM_START_FINALIZED, NULL, 0);
            else
                (void)ftm_arbiter_exited(w.a, rank, 0, rand() % 2, event == 3 ? 9 : 0);
            bad += !is_balanced(&w) || w.overs > 1 || w.tables > 1 || w.finished > 1;
        }
        end(&w);
    }
    ok(bad == 0, "3,000 random jobs");
}

static void test_memory(void)
{
    struct test_heap heap;
    struct phx_alloc alloc = {test_alloc, NULL};
    struct world w;

    memset(&heap, 0, sizeof heap);
    alloc.world = &heap;
    begin(&w, 2, &alloc);
    heap.fail_from = heap.calls + 1;
    all_hello(&w);
    ok(w.tables == 0 && w.overs == 1, "no memory for the table ends the job");
    end(&w);
    ok(heap.blocks == 0 && heap.lies == 0, "all memory is back");
}

int main(void)
{
    test_good();
    test_deaths();
    test_silent();
    test_abort();
    test_layout();
    test_hostile();
    test_random();
    test_memory();
    return test_end();
}
