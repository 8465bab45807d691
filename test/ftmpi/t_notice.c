/* t_notice.c - what a process makes of what the arbiter tells it.
 *
 * Goal: events are acted upon once each, in the order of their numbers, at the end of a step, whatever is
 * lost, doubled or overtaken on the way; nothing that anybody sends does harm.
 * Method: one engine, rank 0 of three. The test is its launcher and both other ranks: a node with the
 * arbiter's name that sends what it likes and writes down what it is told.
 */
#include "test.h"

#include "comm.h"
#include "engine.h"
#include "modes.h"
#include "notice.h"
#include "request.h"
#include "type.h"
#include "vote.h"

#define JOB 77
#define RANKS 3

struct world {
    phx *p;
    struct ftm *e;
    struct test_heap heap;
    struct phx_alloc alloc;
    char hub[PHX_ADDRESS_TEXT];
    int hellos, asks, spawns, modes, others;
    uint32_t asked;         /* from which number on */
    struct ftm_spawn spawn; /* the last one */
    int ended;
    char line[300];
};

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct world *w = user;
    uint32_t what = FTM_FLAGS(m->tag);

    (void)p;
    if (FTM_KIND(m->tag) != FTM_START) {
        w->others++;
    } else if (what == FTM_START_ASK) {
        check(ftm_ask_get(&w->asked, m->data, m->size) == 0, "a question can be read");
        w->asks++;
    } else if (what == FTM_START_SPAWN) {
        check(ftm_spawn_get(&w->spawn, m->data, m->size) == 0, "a wish can be read");
        w->spawns++;
    } else {
        w->hellos += what == FTM_START_HELLO;
        w->modes += what == FTM_START_MODES;
    }
}

static void on_end(void *user, int code, const char *line)
{
    struct world *w = user;

    (void)code;
    w->ended++;
    snprintf(w->line, sizeof w->line, "%s", line != NULL ? line : "");
}

static void turn(struct world *w)
{
    uint64_t now = phx_now_us();

    if (w->p != NULL)
        phx_step(w->p, now, NULL, 0);
    if (w->e != NULL)
        ftm_step(w->e, now, NULL, 0);
}

/* Turns until *what has reached count, or 20 s are over. */
static int until(struct world *w, const int *what, int count)
{
    uint64_t end = phx_now_us() + 20000000;

    while (*what < count && phx_now_us() < end)
        turn(w);
    return *what >= count;
}

static int open_hub(struct world *w)
{
    uint64_t name = FTM_NAME(JOB, FTM_ARBITER, 0, 0);
    struct phx_id id = {{1, 2, 3}};
    struct phx_config cfg;
    struct phx_address at;

    phx_config_init(&cfg);
    cfg.id = &id;
    cfg.user = w;
    cfg.cluster = "ftmpi";
    cfg.full_mesh = 0;
    cfg.on_message = on_message;
    if (phx_new(&w->p, &cfg, phx_now_us()) != 0
        || phx_listen(w->p, w->hub[0] != '\0' ? w->hub : "tcp://127.0.0.1:0") != 0
        || phx_listening(w->p, 0, &at) != 0 || phx_assume(w->p, name, name) != 0)
        return -1;
    phx_address_text(&at, w->hub);
    return 0;
}

static void begin(struct world *w, int life, uint64_t cut_us)
{
    struct ftm_config c;

    memset(w, 0, sizeof *w);
    memset(&c, 0, sizeof c);
    check(open_hub(w) == 0, "a hub");
    w->alloc.alloc = test_alloc;
    w->alloc.world = &w->heap;
    c.alloc = &w->alloc;
    c.job = JOB;
    c.size = RANKS;
    c.life = life;
    c.arbiter = FTM_NAME(JOB, FTM_ARBITER, 0, 0);
    c.hubs = w->hub;
    c.cut_us = cut_us;
    c.user = w;
    c.on_end = on_end;
    c.modes.comm = FTMPI_COMM_MODE_BLANK;
    c.modes.msg = FTMPI_MSG_MODE_CONT;
    check(ftm_new(&w->e, &c, phx_now_us()) == 0 && until(w, &w->hellos, 1), "a process says hello");
}

static void end(struct world *w)
{
    ftm_free(w->e);
    phx_free(w->p);
    check(test_heap_is_clean(&w->heap), "no memory is left behind");
}

static uint64_t name_of(const struct world *w)
{
    return FTM_NAME(JOB, FTM_PROCESS, (uint32_t)w->e->config.life, 0);
}

static void send_as(struct world *w, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    check(phx_send(w->p, name_of(w), from, tag, data, size) == 0, "the hub sends");
}

static void send_table(struct world *w, uint32_t number, uint32_t generation, const struct ftm_seat *seats)
{
    unsigned char bytes[FTM_SEATS_HEAD + RANKS * FTM_SEAT_SIZE];
    struct ftm_seats_head head = {number, generation};
    size_t n = ftm_seats_head_put(bytes, &head);
    int i;

    for (i = 0; i < RANKS; i++)
        n += ftm_seat_put(bytes + n, &seats[i]);
    send_as(w, 0, FTM_WORD(FTM_START, FTM_START_TABLE, 0, 0), bytes, n);
}

static void plain_table(struct world *w)
{
    struct ftm_seat seats[RANKS];

    memset(seats, 0, sizeof seats);
    send_table(w, 0, 0, seats);
    check(until(w, &w->e->notice.begun, 1), "the table is there");
}

/* An event behind those in a buffer. */
static size_t event(unsigned char *out, uint32_t number, int kind, uint32_t rank, uint32_t life)
{
    struct ftm_event e;

    memset(&e, 0, sizeof e);
    e.number = number;
    e.kind = kind;
    e.rank = rank;
    e.life = life;
    snprintf(e.text, sizeof e.text, "event %d", (int)number);
    return ftm_event_put(out, &e);
}

static void notice(struct world *w, uint32_t flags, const void *data, size_t size)
{
    send_as(w, 0, FTM_WORD(FTM_NOTICE, flags, 0, 0), data, size);
}

static void one(struct world *w, uint32_t number, int kind, uint32_t rank, uint32_t life)
{
    unsigned char bytes[FTM_EVENT_MOST];

    notice(w, 0, bytes, event(bytes, number, kind, rank, life));
}

/* Turns until the event with this number was taken. */
static int taken(struct world *w, uint32_t number)
{
    uint64_t end = phx_now_us() + 20000000;

    while (w->e->notice.taken < number && phx_now_us() < end && !w->ended)
        turn(w);
    return w->e->notice.taken >= number;
}

static const char *why(const struct world *w, int proc)
{
    const char *text = ftm_notice_why(w->e, proc, NULL);

    return text != NULL ? text : "lives";
}

static void test_order(void)
{
    unsigned char bytes[3 * FTM_EVENT_MOST];
    struct world w;
    uint64_t when = 0;
    size_t n;

    begin(&w, 0, 0);
    one(&w, 1, FTM_EVENT_FAILED, 2, 0);
    plain_table(&w);
    ok(until(&w, &w.asks, 1) && w.asked == 1, "what comes before the table is asked for again");
    ok(strcmp(why(&w, 2), "lives") == 0, ".. and not acted upon");
    one(&w, 3, FTM_EVENT_FAILED, 1, 1);
    n = event(bytes, 1, FTM_EVENT_FAILED, 2, 0);
    n += event(bytes + n, 2, FTM_EVENT_FAILED, 1, 0);
    notice(&w, FTM_FLAG_REST, bytes, n);
    ok(taken(&w, 2) && until(&w, &w.asks, 2) && w.asked == 3, "the answer had not all that was seen");
    ok(strcmp(why(&w, 2), "event 1") == 0 && strcmp(why(&w, 1), "event 2") == 0, "they have failed");
    ok(w.e->notice.deaths_count == 2 && ftm_notice_why(w.e, 2, &when) != NULL && when > 0, "at that time");
    n = event(bytes, 2, FTM_EVENT_FAILED, 1, 0);
    n += event(bytes + n, 3, FTM_EVENT_FAILED, 1, 1);
    notice(&w, FTM_FLAG_REST, bytes, n);
    ok(taken(&w, 3) && w.e->procs_count == 4 && strcmp(why(&w, 3), "event 3") == 0,
       "one that nobody had heard of, too");
    one(&w, 3, FTM_EVENT_FAILED, 2, 0);
    one(&w, 4, FTM_EVENT_FAILED, 2, 0);
    ok(taken(&w, 4) && w.e->notice.deaths_count == 3, "what was said before is no news");
    ok(w.asks == 2 && w.ended == 0, "nothing is asked for without need");
    end(&w);
}

/* Goal: what arrived before a failure is received. Method: a message of rank 1 and the news of its death in
 * one burst; then a message that its death has overtaken. */
static void test_moment(void)
{
    struct ftm_request *r = NULL;
    struct world w;
    int got = 0;

    begin(&w, 0, 0);
    plain_table(&w);
    check(ftm_recv_start(w.e, &r, w.e->world, 0, &got, 1,
                         ftm_table_get(&w.e->handles, MPI_INT, FTM_TYPE), 1, 5) == 0, "a receive");
    send_as(&w, FTM_FROM(0, 0, 1), FTM_WORD(FTM_EAGER, 0, w.e->world->context, 5), "\1\2\3\4", 4);
    one(&w, 1, FTM_EVENT_FAILED, 1, 0);
    ok(taken(&w, 1) && r->done && r->error == 0 && got != 0, "what came before is received");
    ok(w.e->procs[1]->state == FTM_PROC_FAILED, ".. and then its sender has failed");
    ftm_request_free(w.e, r);
    send_as(&w, FTM_FROM(0, 0, 1), FTM_WORD(FTM_EAGER, 0, w.e->world->context, 5), "\1\2\3\4", 4);
    one(&w, 2, FTM_EVENT_FAILED, 2, 0);
    ok(taken(&w, 2) && w.ended == 0, "what comes later does no harm");
    end(&w);
}

/* Goal: who was started again is known by its new life, and what it says before that is kept. */
static void test_joined(void)
{
    struct ftm_status status;
    struct world w;

    begin(&w, 0, 0);
    plain_table(&w);
    one(&w, 1, FTM_EVENT_FAILED, 1, 0);
    check(taken(&w, 1), "rank 1 fails");
    ok(ftm_notice_spawn(w.e, 1, 1, 6) == 0 && until(&w, &w.spawns, 1), "another is asked for");
    ok(w.spawn.rank == 1 && w.spawn.life == 1 && w.spawn.generation == 6, ".. with its life and generation");
    send_as(&w, FTM_FROM(0, 1, 1), FTM_WORD(FTM_EAGER, 0, w.e->world->context, 8), "\1\2\3\4", 4);
    one(&w, 2, FTM_EVENT_FAILED, 2, 0);
    ok(taken(&w, 2) && w.e->notice.held_bytes > 0 && w.ended == 0, "it speaks before it is known: kept");
    one(&w, 3, FTM_EVENT_JOINED, 1, 1);
    ok(taken(&w, 3) && w.e->procs_count == 4 && w.e->procs[3]->life == 1 && w.e->procs[1]->life == 0,
       "it has joined, with an entry of its own");
    ok(w.e->procs[3]->state == FTM_PROC_JOINING && w.e->notice.held_bytes == 0, "what was kept is given");
    ok(!ftm_recv_probe(w.e, w.e->world, 1, 8, &status), ".. and is nobody's message of an old communicator");
    send_as(&w, FTM_FROM(0, 5, 2), FTM_WORD(FTM_AGREE, 0, 0, 0), NULL, 0);
    one(&w, 4, FTM_EVENT_NOSPAWN, 2, 1);
    ok(taken(&w, 4) && w.e->notice.held_bytes > 0, "of one that never comes it stays kept");
    end(&w);
}

/* Goal: what others say in an agreement before the table is here waits for it: the tree is made of sites, and
 * all must have the same one. Method: rank 1 speaks for itself and for rank 2, which is at its site. So when
 * all agree only rank 1 is told. */
static void test_early(void)
{
    static const unsigned char up[] = {0, 0, 0, 0, /* generation; then: UP, no answer, one round, ballot 0 */
                                       1, 0, FTM_AGREE_ONE, 0, 0, 0, 0, 0,
                                       FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0,
                                       1, 0, 0, 0, 0, 0, 0, 0, /* of rank 1; and three sets */
                                       0, 7, 6};
    const struct ftm_vote_part part = {FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, NULL};
    struct ftm_seat seats[RANKS] = {{0, 0, 0, 0}, {0, 1, 5, 0}, {0, 1, 5, 0}};
    struct ftm_vote *v;
    struct world w;

    begin(&w, 0, 0);
    check(phx_assume(w.p, FTM_NAME(JOB, FTM_PROCESS, 0, 1), FTM_NAME(JOB, FTM_PROCESS, 0, 2)) == 0, "names");
    send_as(&w, FTM_FROM(0, 0, 1), FTM_WORD(FTM_AGREE, FTM_VOTE_CREATE, w.e->world->context, 0), up,
            sizeof up);
    send_table(&w, 0, 0, seats);
    ok(until(&w, &w.e->notice.begun, 1) && w.e->procs[2]->site == 5, "the table comes behind an agreement");
    v = ftm_vote_start(w.e, w.e->world, FTM_VOTE_CREATE, 0, &part);
    ok(v != NULL && ftm_vote_done(v) && ftm_vote_context(v) == 9, ".. which has what was said before");
    ok(until(&w, &w.others, 1), ".. and who spoke for its site is told");
    while (phx_pending(w.e->node) > 0)
        turn(&w);
    ok(w.others == 1 && w.ended == 0, ".. and tells the others there itself");
    ftm_vote_release(w.e, v);
    end(&w);
}

/* Goal: a process that was started again takes the world as the table has it, and waits for its recovery. */
static void test_restarted(void)
{
    struct ftm_seat seats[RANKS] = {{1, 4, 2, 0}, {3, 5, 2, 0}, {2, 6, 1, 1}};
    struct world w;

    begin(&w, 1, 0);
    send_as(&w, FTM_FROM(0, 3, 1), FTM_WORD(FTM_AGREE, 0, 0, 0), NULL, 0);
    one(&w, 41, FTM_EVENT_FAILED, 1, 3);
    send_table(&w, 40, 9, seats);
    ok(until(&w, &w.e->notice.begun, 1) && w.e->notice.generation == 9, "the table, and its generation");
    ok(w.e->procs[1]->life == 3 && w.e->procs[1]->host == 5 && w.e->procs[2]->state == FTM_PROC_FAILED
           && w.e->procs[0]->life == 1, "who lives, where, and who does not");
    ok(until(&w, &w.asks, 1) && w.asked == 41, "events count from there");
    end(&w);
}

static void test_ends(void)
{
    struct world w;

    begin(&w, 0, 0);
    plain_table(&w);
    one(&w, 1, FTM_EVENT_CLOSING, 0, 0);
    one(&w, 2, FTM_EVENT_FINISHED, 0, 0);
    ok(taken(&w, 2) && w.ended == 0 && ftm_finished(w.e), "all have finished; closing is not for this one");
    one(&w, 3, FTM_EVENT_FAILED, 0, 0);
    ok(until(&w, &w.ended, 1) && strstr(w.line, "was declared failed") != NULL, "%s", w.line);
    end(&w);

    begin(&w, 0, 0);
    plain_table(&w);
    send_as(&w, 0, FTM_WORD(FTM_OUT, 0, 0, 0), NULL, 0);
    ok(until(&w, &w.ended, 1) && strstr(w.line, "was declared failed") != NULL, "OUT: %s", w.line);
    end(&w);

    begin(&w, 0, 0);
    plain_table(&w);
    one(&w, 7, FTM_EVENT_ABORT, 1, 0);
    ok(until(&w, &w.ended, 1), "an abort is not waited for");
    end(&w);
}

/* Goal: what nobody sends ends the job with a line, and does nothing else. */
static void test_hostile(void)
{
    unsigned char bytes[200];
    struct world w;
    int i, k;

    srand(4);
    begin(&w, 0, 0);
    plain_table(&w);
    for (i = 0; i < 3000; i++) {
        for (k = 0; k < 200; k++)
            bytes[k] = (unsigned char)(rand() % (k % 4 == 0 ? 8 : 2) * (k < 32));
        w.e->ended = w.e->end_told = 0;
        (void)ftm_notice_told(w.e, 0, FTM_WORD(rand() % 2 ? FTM_NOTICE : FTM_START, rand() % 10, 0, 0), bytes,
                              (size_t)(rand() % 201));
        (void)ftm_notice_act(w.e);
    }
    ok(w.e->procs_count < 10000, "3,000 messages of random bytes");
    end(&w);

    begin(&w, 0, 0);
    plain_table(&w);
    notice(&w, 0, bytes, 31);
    ok(until(&w, &w.ended, 1) && strstr(w.line, "no rank sends it") != NULL, "%s", w.line);
    end(&w);

    begin(&w, 0, 0);
    plain_table(&w);
    for (i = 0; i < 200 && !w.ended; i++) {
        static unsigned char large[16384];

        send_as(&w, FTM_FROM(0, 9, 1), FTM_WORD(FTM_AGREE, 0, 0, 0), large, sizeof large);
        turn(&w);
    }
    ok(until(&w, &w.ended, 1) && w.heap.bytes < 8u << 20, "who is never born cannot fill the memory");
    end(&w);
}

/* Goal: a process that is cut off asks when it is back, and ends when that takes too long. */
static void test_cut(void)
{
    struct world w;
    int cut = 0;
    uint64_t end_at;

    begin(&w, 0, 600000000);
    plain_table(&w);
    one(&w, 1, FTM_EVENT_FAILED, 2, 0);
    check(taken(&w, 1), "one has failed");
    phx_free(w.p);
    w.p = NULL;
    end_at = phx_now_us() + 20000000;
    while (!(cut = w.e->start.cut_at != 0) && phx_now_us() < end_at)
        turn(&w);
    ok(cut && !w.ended, "without a way to its launcher it waits");
    check(open_hub(&w) == 0, "the way is back");
    ok(until(&w, &w.asks, 1) && w.asked == 2 && w.e->start.cut_at == 0, "it is back: what was said?");
    end(&w);

    begin(&w, 0, 50000);
    plain_table(&w);
    phx_free(w.p);
    w.p = NULL;
    ok(until(&w, &w.ended, 1) && strstr(w.line, "no way to the launcher") != NULL, "%s", w.line);
    end(&w);
}

static void test_modes(void)
{
    static const char *const wrong[] = {"", "rebuilt", "rebuild,", ",rebuild", "shrink,blank", "nop,cont",
                                        "ulfm,nop", "loose,strict", "rebuild nop", "Rebuild"};
    struct ftm_modes m;
    size_t i, bad = 0;

    ok(ftm_modes_read(&m, "rebuild-end,strict,cont") == 0 && m.comm == FTMPI_COMM_MODE_REBUILD_END
           && m.msg == FTMPI_MSG_MODE_CONT && m.coll == FTMPI_COLL_MODE_STRICT, "modes in words");
    ok(ftm_modes_read(&m, "cont") == 0 && m.comm == FTMPI_COMM_MODE_ABORT && m.msg == FTMPI_MSG_MODE_CONT
           && m.coll == FTMPI_COLL_MODE_LOOSE, "what is not said");
    ok(ftm_modes_read(&m, "ulfm") == 0 && m.msg == FTMPI_MSG_MODE_CONT, "ulfm goes on");
    ok(ftm_modes_read(&m, "rebuild-end,cont,strict") == 0 && ftm_modes_put(&m) == 0x10104
           && ftm_modes_get(&m, 0x10005) == 0 && m.comm == FTMPI_COMM_MODE_ULFM
           && m.coll == FTMPI_COLL_MODE_STRICT,
       "modes as a word");
    ok(ftm_modes_get(&m, 6) != 0 && ftm_modes_get(&m, 0x200) != 0 && ftm_modes_get(&m, 0x20000) != 0
           && ftm_modes_get(&m, 0x1000000) != 0,
       "a word that is no modes");
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
        bad += ftm_modes_read(&m, wrong[i]) == 0;
    ok(bad == 0, "other words");
}

int main(void)
{
    test_order();
    test_moment();
    test_joined();
    test_early();
    test_restarted();
    test_ends();
    test_hostile();
    test_cut();
    test_modes();
    return test_end();
}
