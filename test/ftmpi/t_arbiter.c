/* t_arbiter.c - the arbiter: stories of jobs and of failures, random ones, and bytes that nobody sends. */

#include "test.h"

#include "arbiter.h"

#define RANKS_MAX 8

/* What it was told to do. */
struct world {
    struct ftm_arbiter *a;
    uint32_t size;
    int tables, finished, aborts, failed, joined, nospawns, closings, outs, lines, overs, code;
    char line[1024];
    struct ftm_seats_head head;
    struct ftm_seat seat[RANKS_MAX];
    uint32_t number; /* of the last event that was cast */
    int gaps, notices;
    struct ftm_event last;
    uint64_t reach[RANKS_MAX + 1]; /* who got the last message */
    uint32_t reached;
    int starts, kills;
    uint32_t start_rank, start_life, kill_rank, kill_life;
    const char *cannot; /* what ops.start says */
    uint64_t order[64]; /* of failures */
    int rest;           /* events in answers to ASK */
};

static void on_event(struct world *w, const struct ftm_event *e)
{
    w->last = *e;
    w->finished += e->kind == FTM_EVENT_FINISHED;
    w->aborts += e->kind == FTM_EVENT_ABORT;
    if (e->kind == FTM_EVENT_FAILED)
        w->order[w->failed++ % 64] = FTM_FROM(0, e->life, e->rank);
    w->joined += e->kind == FTM_EVENT_JOINED;
    w->nospawns += e->kind == FTM_EVENT_NOSPAWN;
    w->closings += e->kind == FTM_EVENT_CLOSING;
}

static void on_notice(struct world *w, uint64_t tag, const unsigned char *data, size_t size)
{
    struct ftm_event e;

    w->notices++;
    while (size > 0) {
        if (ftm_event_take(&e, &data, &size) != 0) {
            check(0, "a notice can be read");
            return;
        }
        if (FTM_FLAGS(tag) == FTM_FLAG_REST) {
            w->rest++;
            continue;
        }
        w->gaps += e.number != ++w->number;
        on_event(w, &e);
    }
}

static void on_cast(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data,
                    size_t size)
{
    struct world *w = ctx;

    check(count > 0 && count <= w->size, "somebody is meant");
    memcpy(w->reach, to, count * sizeof *to);
    w->reached = count;
    if (FTM_KIND(tag) == FTM_OUT) {
        w->outs++;
    } else if (FTM_KIND(tag) == FTM_START) {
        check(FTM_FLAGS(tag) == FTM_START_TABLE, "only the TABLE");
        check(ftm_seats_get(&w->head, w->seat, w->size, data, size) == 0, "the table can be read");
        w->tables++;
        if (w->number < w->head.number)
            w->number = w->head.number;
    } else {
        check(FTM_KIND(tag) == FTM_NOTICE, "or a notice");
        on_notice(w, tag, data, size);
    }
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

static const char *on_start(void *ctx, uint32_t rank, uint32_t life)
{
    struct world *w = ctx;

    w->starts++;
    w->start_rank = rank;
    w->start_life = life;
    return w->cannot;
}

static void on_kill(void *ctx, uint32_t rank, uint32_t life)
{
    struct world *w = ctx;

    w->kills++;
    w->kill_rank = rank;
    w->kill_life = life;
}

static void begin_as(struct world *w, uint32_t size, const struct phx_alloc *alloc, int goes_on)
{
    struct ftm_arbiter_ops ops = {NULL, on_cast, on_say, on_over, on_host, on_start, on_kill};
    uint32_t i;

    memset(w, 0, sizeof *w);
    w->size = size;
    ops.ctx = w;
    check(ftm_arbiter_new(&w->a, alloc, size, goes_on, &ops) == 0, "an arbiter");
    for (i = 0; i < size; i++)
        check(ftm_arbiter_started(w->a, i, 0) == 0, "rank %d is started", (int)i);
}

static void begin(struct world *w, uint32_t size, const struct phx_alloc *alloc)
{
    begin_as(w, size, alloc, 0);
}

static void end(struct world *w)
{
    ftm_arbiter_free(w->a);
}

static void say_as(struct world *w, uint64_t word, int what, const void *data, size_t size)
{
    ftm_arbiter_message(w->a, word, FTM_WORD(FTM_START, what, 0, 0), data, size);
}

static void say(struct world *w, uint32_t rank, int what, const void *data, size_t size)
{
    say_as(w, FTM_FROM(0, 0, rank), what, data, size);
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

/* One that was started again. */
static void hello_again(struct world *w, uint32_t rank, uint32_t life)
{
    struct ftm_hello h = greeting(w->size, rank);
    unsigned char bytes[FTM_HELLO_MOST];

    h.host = 40 + life;
    say_as(w, FTM_FROM(0, life, rank), FTM_START_HELLO, bytes, ftm_hello_put(bytes, &h));
}

static void spawn(struct world *w, uint32_t asker, uint32_t rank, uint32_t life, uint32_t generation)
{
    unsigned char bytes[FTM_SPAWN_SIZE];
    struct ftm_spawn s = {rank, life, generation};

    say(w, asker, FTM_START_SPAWN, bytes, ftm_spawn_put(bytes, &s));
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
    memset(&heap, 0, sizeof heap);
    alloc.world = &heap;
    begin_as(&w, 2, &alloc, 1);
    all_hello(&w);
    heap.fail_from = heap.calls + 1;
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ok(w.failed == 0 && w.overs == 1 && w.aborts == 1 && w.code == 1, "or for a failure");
    end(&w);
    ok(heap.blocks == 0 && heap.lies == 0, "all memory is back");
}

/* ---- Where failures end nothing ------------------------------------------------------------------- */

/* Goal: a death is an event for all that live, and the job goes on. */
static void test_failed(void)
{
    struct world w;

    begin_as(&w, 4, NULL, 1);
    all_hello(&w);
    ok(w.tables == 1 && w.head.number == 0 && w.seat[1].failed == 0, "a table without failures");
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ok(w.overs == 0 && w.failed == 1 && w.reached == 3 && w.last.number == 1, "a signal: three are told");
    ok(w.last.rank == 1 && w.last.code == -9
           && strcmp(w.last.text, "rank 1 on odd: killed by signal 9 (Killed)") == 0, "%s", w.last.text);
    ok(w.lines == 1 && strcmp(w.line, w.last.text) == 0, "one line for people says the same");
    ftm_arbiter_exited(w.a, 2, 0, 0, 0);
    ok(w.failed == 2 && w.last.number == 2 && strstr(w.line, "without MPI_Finalize") != NULL,
       "status 0 without MPI_Finalize is a death");
    say(&w, 0, FTM_START_FINALIZED, NULL, 0);
    ok(w.finished == 0, "one has finalized");
    ftm_arbiter_exited(w.a, 3, 0, 0, 11);
    ok(w.finished == 1, "and is the last one that lives: all are through");
    ftm_arbiter_exited(w.a, 0, 0, 0, 0);
    ok(ftm_arbiter_code(w.a) == 0 && is_balanced(&w) && w.overs == 0, "a job that came to its end: 0");
    end(&w);

    begin_as(&w, 3, NULL, 1);
    all_hello(&w);
    say(&w, 1, FTM_START_FINALIZED, NULL, 0);
    ftm_arbiter_exited(w.a, 1, 0, 0, 0);
    ok(w.failed == 1 && w.finished == 0 && strstr(w.line, "in MPI_Finalize") != NULL && is_balanced(&w),
       "one that ends before the others have finalized may owe them something");
    say(&w, 0, FTM_START_FINALIZED, NULL, 0);
    say(&w, 2, FTM_START_FINALIZED, NULL, 0);
    ftm_arbiter_exited(w.a, 0, 0, 0, 9);
    ok(w.failed == 1 && w.finished == 1 && ftm_arbiter_code(w.a) == 0, "later it is told, and nothing else");
    ftm_arbiter_exited(w.a, 2, 0, 6, 0);
    ok(w.lines == 3 && ftm_arbiter_code(w.a) == 6, "but a status of one that came to its end counts");
    end(&w);

    begin_as(&w, 2, NULL, 1);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 3, 0);
    ftm_arbiter_exited(w.a, 0, 0, 0, 9);
    ok(ftm_arbiter_code(w.a) == 3, "nobody did: the status of the first death");
    end(&w);
}

/* Goal: who ends before MPI_Init keeps nobody waiting, and the first table knows of it. */
static void test_early(void)
{
    struct world w;

    begin_as(&w, 3, NULL, 1);
    hello(&w, 0);
    ftm_arbiter_exited(w.a, 1, 0, 0, 6);
    ok(w.tables == 0 && w.failed == 0, "a death before the table");
    hello(&w, 2);
    ok(w.tables == 1 && w.seat[1].failed == 1 && w.head.number == 1 && w.reached == 2, "is in the table");
    ftm_arbiter_exited(w.a, 2, 0, 0, 6);
    ok(w.failed == 1 && w.last.number == 2 && !w.gaps, "and numbers go on behind it");
    end(&w);

    begin_as(&w, 3, NULL, 1);
    ftm_arbiter_exited(w.a, 1, 0, 0, 0);
    ok(is_balanced(&w), "one ends without MPI_Init, and nobody has called it");
    hello(&w, 0);
    hello(&w, 2);
    ok(w.tables == 1 && w.seat[1].failed == 1 && is_balanced(&w), "others have: it is missing");
    ok(strstr(w.line, "rank 1 on odd: ended before MPI_Init, which rank 0 on even") != NULL, "%s", w.line);
    end(&w);

    begin_as(&w, 2, NULL, 1);
    hello(&w, 0);
    ftm_arbiter_exited(w.a, 0, 0, 0, 9);
    hello(&w, 1);
    ok(w.tables == 1 && w.seat[0].failed == 1 && w.reached == 1, "one that had said hello, too");
    end(&w);
}

/* Goal: a process is started again once, however often it is asked for, and its life is told to all. */
static void test_spawn(void)
{
    struct world w;

    begin_as(&w, 3, NULL, 1);
    all_hello(&w);
    spawn(&w, 0, 1, 1, 4);
    ok(w.starts == 0, "nobody is started in the place of one who lives");
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    spawn(&w, 0, 1, 1, 4);
    spawn(&w, 0, 1, 1, 4);
    spawn(&w, 2, 1, 1, 4);
    ok(w.starts == 1 && w.start_rank == 1 && w.start_life == 1, "one start, whoever asks");
    ok(ftm_arbiter_is_starting(w.a), "it is under way");
    ok(ftm_arbiter_started(w.a, 1, 2) == PHX_EINVAL && ftm_arbiter_started(w.a, 2, 1) == PHX_EINVAL,
       "no other is wanted");
    ok(ftm_arbiter_started(w.a, 1, 1) == 0 && is_balanced(&w), "it runs");
    spawn(&w, 2, 1, 1, 4);
    ok(w.starts == 1 && w.joined == 0, "a late question");
    hello_again(&w, 1, 1);
    ok(w.joined == 1 && w.last.rank == 1 && w.last.life == 1 && w.last.code == 4 && w.last.host == 41,
       "all are told its life, host and generation");
    ok(w.tables == 2 && w.reached == 1 && w.reach[0] == FTM_FROM(0, 1, 1) && w.head.number == 2
           && w.head.generation == 4 && w.seat[1].life == 1 && w.seat[1].failed == 0 && w.seat[0].life == 0,
       "the table is for it alone");
    ftm_arbiter_exited(w.a, 0, 0, 0, 9);
    ok(w.failed == 2 && w.reached == 2 && w.last.number == 3, "from then on it is told all");
    ftm_arbiter_exited(w.a, 1, 1, 0, 9);
    ok(w.failed == 3 && w.last.life == 1 && is_balanced(&w), "it dies");
    spawn(&w, 2, 1, 1, 4);
    ok(w.starts == 1, "that life is over");
    spawn(&w, 2, 1, 2, 5);
    ok(w.starts == 2 && w.start_life == 2, "the next one is not");
    ftm_arbiter_started(w.a, 1, 2);
    ftm_arbiter_exited(w.a, 1, 2, 0, 0);
    ok(w.failed == 4 && w.last.life == 2 && strstr(w.line, "before MPI_Init") != NULL && is_balanced(&w),
       "one that dies before its hello is told as well");
    spawn(&w, 2, 1, 9, 5);
    ok(w.overs == 1, "a life that is far away: nobody asks for that");
    end(&w);
}

static void test_nospawn(void)
{
    struct world w;

    begin_as(&w, 3, NULL, 1);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    w.cannot = "no such file";
    spawn(&w, 0, 1, 1, 1);
    ok(w.nospawns == 1 && w.last.rank == 1 && w.last.life == 1 && strcmp(w.last.text, "no such file") == 0
           && w.reached == 2, "all are told that it cannot be");
    ok(strcmp(w.line, "rank 1 on odd: cannot be started again: no such file") == 0, "%s", w.line);
    ok(!ftm_arbiter_is_starting(w.a) && is_balanced(&w), "nothing is under way");
    w.cannot = NULL;
    spawn(&w, 0, 1, 1, 2);
    ok(w.starts == 2, "it may be tried again");
    ftm_arbiter_unstarted(w.a, 1, 1, "no host");
    ftm_arbiter_unstarted(w.a, 1, 1, "no host");
    ok(w.nospawns == 2 && is_balanced(&w), "what comes later counts once");
    end(&w);

    begin_as(&w, 2, NULL, 0);
    all_hello(&w);
    say(&w, 0, FTM_START_MODES, NULL, 0);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ok(w.overs == 0 && w.failed == 1, "a program may say itself that failures end nothing");
    end(&w);
}

/* Goal: a host is one notice, and who is believed dead and is not ends. */
static void test_host(void)
{
    const uint64_t gone[] = {FTM_FROM(0, 0, 1), FTM_FROM(0, 0, 3), FTM_FROM(0, 1, 2), FTM_FROM(0, 0, 77)};
    struct world w;
    int notices;

    begin_as(&w, 6, NULL, 1);
    all_hello(&w);
    notices = w.notices;
    ftm_arbiter_host_lost(w.a, gone, 4, "its host is gone");
    ok(w.failed == 2 && w.notices == notices + 1 && w.reached == 4, "two ranks, one notice");
    ok(w.order[0] == gone[0] && w.order[1] == gone[1], "in the order of the list");
    ok(w.outs == 2 && w.kills == 2 && is_balanced(&w), "they are told, should they live");
    ftm_arbiter_host_lost(w.a, gone, 4, "its host is gone");
    ok(w.failed == 2, "once");
    say(&w, 3, FTM_START_FINALIZED, NULL, 0);
    ok(w.outs == 3 && w.kills == 3 && w.kill_rank == 3 && w.reach[0] == FTM_FROM(0, 0, 3) && w.overs == 0,
       "who speaks nevertheless is told OUT, and killed");
    spawn(&w, 0, 3, 1, 1);
    ftm_arbiter_started(w.a, 3, 1);
    hello_again(&w, 3, 1);
    say(&w, 3, FTM_START_FINALIZED, NULL, 0);
    ok(w.outs == 4 && w.kill_life == 0 && w.joined == 1, "also when another sits in its place");
    ok(ftm_arbiter_exited(w.a, 3, 0, 0, 9) == 0 && w.failed == 2 && is_balanced(&w), "its end is no news");
    end(&w);

    begin(&w, 3, NULL);
    all_hello(&w);
    ftm_arbiter_host_lost(w.a, gone, 1, "its host is gone");
    ok(w.overs == 1 && w.aborts == 1 && strcmp(w.line, "rank 1 on odd: its host is gone") == 0, "or the end");
    end(&w);
}

/* Goal: who was started again and is not needed any more does not keep the others from ending. */
static void test_closing(void)
{
    struct world w;

    begin_as(&w, 3, NULL, 1);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ftm_arbiter_exited(w.a, 2, 0, 0, 9);
    spawn(&w, 0, 1, 1, 1);
    spawn(&w, 0, 2, 1, 1);
    ftm_arbiter_started(w.a, 1, 1);
    ftm_arbiter_started(w.a, 2, 1);
    hello_again(&w, 1, 1);
    say(&w, 0, FTM_START_FINALIZED, NULL, 0);
    ok(w.closings == 1 && w.finished == 0, "the one in MPI_Init is told");
    say_as(&w, FTM_FROM(0, 1, 1), FTM_START_FINALIZED, NULL, 0);
    ok(w.closings == 1 && w.finished == 1, "it was out of it, and finalizes as all do");
    ok(w.kills == 1 && w.kill_rank == 2 && w.kill_life == 1, "the one that never came is killed");
    ftm_arbiter_exited(w.a, 2, 1, 0, 9);
    ok(w.failed == 2 && w.lines == 2 && is_balanced(&w) && ftm_arbiter_code(w.a) == 0, "without a word");
    end(&w);
}

/* Goal: who lost notices gets them, and who asks for what is forgotten ends. Method: more deaths than are
 * kept. */
static void test_rest(void)
{
    unsigned char ask[4];
    struct world w;
    uint32_t life;

    begin_as(&w, 2, NULL, 1);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    say(&w, 0, FTM_START_ASK, ask, ftm_ask_put(ask, 1));
    ok(w.rest == 1 && w.reached == 1, "the first one again");
    say(&w, 0, FTM_START_ASK, ask, ftm_ask_put(ask, 2));
    ok(w.rest == 1 && w.overs == 0, "there is no second");
    for (life = 1; life < 4000; life++) {
        spawn(&w, 0, 1, life, 1);
        ftm_arbiter_started(w.a, 1, life);
        hello_again(&w, 1, life);
        ftm_arbiter_exited(w.a, 1, life, 0, 9);
    }
    ok(w.number == 7999 && !w.gaps && is_balanced(&w), "8,000 events");
    w.rest = 0;
    say(&w, 0, FTM_START_ASK, ask, ftm_ask_put(ask, 7990));
    ok(w.rest == 10, "the last ten");
    say(&w, 0, FTM_START_ASK, ask, ftm_ask_put(ask, 7000));
    ok(w.rest > 110 && w.rest < 1010, "a part of what is more, in one message");
    end(&w);
}

static void test_forgotten(void)
{
    unsigned char ask[4];
    struct world w;
    uint32_t life;
    int outs;

    begin_as(&w, 3, NULL, 1);
    all_hello(&w);
    ftm_arbiter_exited(w.a, 1, 0, 0, 9);
    ftm_arbiter_exited(w.a, 2, 0, 0, 9);
    for (life = 1; life < 4096; life++) {
        uint32_t rank;

        for (rank = 1; rank < 3; rank++) {
            spawn(&w, 0, rank, life, 1);
            ftm_arbiter_started(w.a, rank, life);
            hello_again(&w, rank, life);
            ftm_arbiter_exited(w.a, rank, life, 0, 9);
        }
    }
    spawn(&w, 0, 1, 4096, 1);
    ok(w.nospawns == 1 && strcmp(w.last.text, "too many lives") == 0, "lives end");
    outs = w.outs;
    say(&w, 0, FTM_START_ASK, ask, ftm_ask_put(ask, 1));
    ok(w.outs == outs + 1 && w.overs == 0, "who was away for 16,000 events is out");
    end(&w);
}

/* Goal: after every event started + restarted = living + failed + finished, numbers have no gaps, each life
 * fails at most once, and nothing is started in the place of one who lives. Method: random stories. */
struct random_rank {
    uint32_t life;
    int state; /* 0: runs; 1: has said hello; 2: has finalized; 3: is dead */
};

static void random_event(struct world *w, struct random_rank *all)
{
    uint32_t rank = (uint32_t)rand() % w->size, other = (uint32_t)rand() % w->size;
    struct random_rank *r = &all[rank];
    uint64_t word = FTM_FROM(0, r->life, rank);
    int event = rand() % 12;

    if (event < 5 && r->state == 0) {
        hello_again(w, rank, r->life);
        r->state = 1;
    } else if (event == 5 && r->state == 1 && w->tables > 0) {
        say_as(w, word, FTM_START_FINALIZED, NULL, 0);
        r->state = 2;
    } else if (event == 6 && r->state < 3) {
        (void)ftm_arbiter_exited(w->a, rank, r->life, 0, rand() % 2 * 9);
        r->state = 3;
    } else if (event == 7 && r->state < 3) {
        ftm_arbiter_host_lost(w->a, &word, 1, "gone");
        r->state = 3;
    } else if (event < 10 && r->state == 3 && all[other].state == 1 && all[other].life == 0) {
        spawn(w, other, rank, r->life + 1, 1);
    } else if (event >= 10 && ftm_arbiter_started(w->a, w->start_rank, w->start_life) == 0) {
        all[w->start_rank].life = w->start_life;
        all[w->start_rank].state = 0;
    }
}

static void test_random_failures(void)
{
    struct random_rank life[RANKS_MAX];
    struct ftm_arbiter_counts c;
    struct world w;
    int run, step, bad = 0, all = 0;
    uint32_t restarted = 0;

    srand(3);
    for (run = 0; run < 3000; run++) {
        begin_as(&w, (uint32_t)(rand() % RANKS_MAX + 1), NULL, 1);
        memset(life, 0, sizeof life);
        for (step = 0; step < 60 && w.overs == 0; step++) {
            random_event(&w, life);
            bad += !is_balanced(&w) || w.overs > 1 || w.finished > 1;
            ftm_arbiter_count(w.a, &c);
            bad += (int)c.failed < w.failed;
        }
        restarted += c.restarted;
        all += w.failed;
        end(&w);
    }
    ok(bad == 0 && all > 1000 && restarted > 1000, "3,000 random jobs: %d failures, %d lives", all,
       (int)restarted);
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
    test_failed();
    test_early();
    test_spawn();
    test_nospawn();
    test_host();
    test_closing();
    test_rest();
    test_forgotten();
    test_random_failures();
    return test_end();
}
