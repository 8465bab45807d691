/* t_ftmpi.c - MPI ranks that may die: where they are started again, hosts that go, and when a job is over. */

#include "test.h"

#include "extras/launch/ftmpi.h"
#include "extras/launch/text.h"
#include "extras/ftmpi/lib/start.h"
#include "phoenix.h"

#define RANKS 6

/* Agents 0 to 3: the launcher and a gateway without ranks, then three ranks each on b and c. */
struct world {
    struct la_job job;
    struct la_ftmpi *f;
    phx *p;
    int fails, says, starts, kills;
    uint32_t start_agent, start_rank, start_life, kill_rank, kill_life;
    int ended[RANKS];
    char line[1024];
};

static phx *on_node(void *ctx)
{
    return ((struct world *)ctx)->p;
}

static void on_fail(void *ctx, int code, const char *line)
{
    struct world *w = ctx;

    (void)code;
    w->fails++;
    snprintf(w->line, sizeof w->line, "%s", line);
}

static void on_say(void *ctx, const char *line)
{
    struct world *w = ctx;

    w->says++;
    snprintf(w->line, sizeof w->line, "%s", line);
}

static void on_start(void *ctx, uint32_t agent, uint32_t rank, uint32_t life)
{
    struct world *w = ctx;

    w->starts++;
    w->start_agent = agent;
    w->start_rank = rank;
    w->start_life = life;
}

static void on_kill(void *ctx, uint32_t rank, uint32_t life)
{
    struct world *w = ctx;

    w->kills++;
    w->kill_rank = rank;
    w->kill_life = life;
}

static void on_ended(void *ctx, uint32_t rank, int ended)
{
    ((struct world *)ctx)->ended[rank] = ended;
}

static void make_job(struct la_job *j, int ft)
{
    static const char *const hosts[] = {"here", "gate", "b", "c"};
    uint32_t i;

    memset(j, 0, sizeof *j);
    j->id = 5;
    j->size = RANKS;
    j->nodes = 2;
    j->agents_count = 4;
    j->parent = LA_NONE;
    j->ft = ft;
    j->agents = calloc(4, sizeof *j->agents);
    check(j->agents != NULL, "memory");
    for (i = 0; i < 4; i++) {
        j->agents[i].host = la_text_dup(hosts[i]);
        j->agents[i].subtree = i == 0 ? 4 : 1;
        j->agents[i].node = i < 2 ? LA_NONE : i - 2;
        if (i < 2)
            continue;
        j->agents[i].runs = calloc(1, sizeof *j->agents[i].runs);
        check(j->agents[i].runs != NULL, "memory");
        j->agents[i].runs[0].first = (i - 2) * 3;
        j->agents[i].runs[0].count = 3;
        j->agents[i].runs_count = 1;
    }
}

static void begin(struct world *w, int ft)
{
    struct la_ftmpi_ops ops = {NULL, on_node, on_fail, on_say, on_start, on_kill, on_ended};
    struct phx_config cfg;

    memset(w, 0, sizeof *w);
    make_job(&w->job, ft);
    phx_config_init(&cfg);
    cfg.cluster = "t_ftmpi";
    check(phx_new(&w->p, &cfg, phx_now_us()) == 0, "a node");
    ops.ctx = w;
    check(la_ftmpi_new(&w->f, &w->job, &ops) == 0, "an arbiter");
}

static void end(struct world *w)
{
    la_ftmpi_free(w->f);
    la_job_free(&w->job);
    phx_free(w->p);
}

static void say(struct world *w, uint32_t rank, uint32_t life, uint32_t what, const void *data, size_t size)
{
    struct phx_message m;

    memset(&m, 0, sizeof m);
    m.from = FTM_FROM(0, life, rank);
    m.tag = FTM_WORD(FTM_START, what, 0, 0);
    m.data = data;
    m.size = size;
    la_ftmpi_message(w->f, &m);
}

static void hello(struct world *w, uint32_t rank, uint32_t life)
{
    unsigned char bytes[FTM_HELLO_MOST];
    struct ftm_hello h;

    memset(&h, 0, sizeof h);
    ftm_start_layout(&h.layout);
    h.job_size = RANKS;
    say(w, rank, life, FTM_START_HELLO, bytes, ftm_hello_put(bytes, &h));
}

static void spawn(struct world *w, uint32_t by, uint32_t rank, uint32_t life)
{
    unsigned char bytes[FTM_SPAWN_SIZE];
    struct ftm_spawn s = {rank, life, 1};

    say(w, by, 0, FTM_START_SPAWN, bytes, ftm_spawn_put(bytes, &s));
}

static void all_hello(struct world *w)
{
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        hello(w, i, 0);
}

static void test_again(void)
{
    struct world w;

    begin(&w, 1);
    all_hello(&w);
    ok(la_ftmpi_exited(w.f, 1, 0, 9) == 0 && w.ended[1] == 1 && w.says == 1 && w.fails == 0
           && strcmp(w.line, "rank 1 on b: killed by signal 9 (Killed)") == 0, "%s", w.line);
    ok(la_ftmpi_exited(w.f, 1, 0, 9) == -1, "once");
    spawn(&w, 0, 1, 1);
    spawn(&w, 4, 1, 1);
    ok(w.starts == 1 && w.start_agent == 2 && w.start_rank == 1 && w.start_life == 1, "the same host");
    ok(w.ended[1] == 0, "the job is not over meanwhile");
    la_ftmpi_again(w.f, 1, 1);
    la_ftmpi_again(w.f, 1, 1);
    hello(&w, 1, 1);
    ok(w.fails == 0, "it runs, and says hello");
    ok(la_ftmpi_exited(w.f, 1, 0, 9) == -1 && w.ended[1] == 0, "late news of its first life");
    ok(la_ftmpi_exited(w.f, 1, 1, 0) == 0 && w.ended[1] == 1, "it ends");
    spawn(&w, 0, 1, 2);
    hello(&w, 1, 2);
    la_ftmpi_again(w.f, 1, 2);
    ok(w.fails == 0 && la_ftmpi_exited(w.f, 1, 2, 9) == 0, "its hello may come before the agent's word");
    spawn(&w, 0, 1, 3);
    la_ftmpi_unstarted(w.f, 1, 3, "No such file");
    ok(w.ended[1] == 1 && strstr(w.line, "cannot be started again: No such file") != NULL, "%s", w.line);
    end(&w);
}

static void test_hosts(void)
{
    struct world w;
    uint32_t i;

    begin(&w, 1);
    all_hello(&w);
    la_ftmpi_exited(w.f, 0, 0, 9);
    spawn(&w, 5, 0, 1);
    la_ftmpi_gone(w.f, 2, 3);
    ok(w.ended[0] && w.ended[1] && w.ended[2] && !w.ended[3], "a host is gone with all that it had");
    ok(w.kills == 3, ".. also what was being started: it may live");
    la_ftmpi_again(w.f, 0, 1);
    ok(w.fails == 0, "late news of that start");
    spawn(&w, 5, 1, 1);
    ok(w.starts == 2 && w.start_agent == 3, "what is started again goes to another host with ranks");
    la_ftmpi_again(w.f, 1, 1);
    ok(strcmp(la_ftmpi_host(w.f, 1), "c") == 0, "and is there");
    spawn(&w, 5, 0, 2);
    ok(w.starts == 3 && w.start_rank == 0 && w.start_life == 2, "the next life of the one that was starting");
    la_ftmpi_gone(w.f, 3, 4);
    for (i = 0; i < RANKS && w.ended[i]; i++)
        continue;
    ok(i == RANKS && w.fails == 0 && la_ftmpi_code(w.f) == 137, "the last host: nobody is left");
    end(&w);

    begin(&w, 1);
    all_hello(&w);
    la_ftmpi_gone(w.f, 3, 4);
    la_ftmpi_exited(w.f, 0, 0, 9);
    la_ftmpi_exited(w.f, 1, 0, 9);
    spawn(&w, 2, 3, 1);
    ok(w.start_agent == 2, "the host of others");
    say(&w, 2, 0, FTM_START_FINALIZED, NULL, 0);
    la_ftmpi_again(w.f, 3, 1);
    ok(w.kills == 4 && w.kill_rank == 3 && w.kill_life == 1, "who comes when all is over is killed");
    la_ftmpi_exited(w.f, 3, 1, 9);
    la_ftmpi_exited(w.f, 2, 0, 0);
    ok(la_ftmpi_code(w.f) == 0, "one that came to the end: 0");
    end(&w);
}

/* Goal: without --ft nothing of this: the first death is the end. */
static void test_abort(void)
{
    struct world w;

    begin(&w, 0);
    all_hello(&w);
    la_ftmpi_exited(w.f, 1, 0, 9);
    ok(w.fails == 1 && strcmp(w.line, "rank 1 on b: killed by signal 9 (Killed)") == 0, "%s", w.line);
    end(&w);
    begin(&w, 0);
    all_hello(&w);
    la_ftmpi_gone(w.f, 3, 4);
    ok(w.fails == 1 && strcmp(w.line, "rank 3 on c: its host is gone") == 0, "%s", w.line);
    end(&w);
}

int main(void)
{
    test_again();
    test_hosts();
    test_abort();
    return test_end();
}
