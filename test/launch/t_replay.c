/* t_replay.c - who says what again: words of an older session or generation count for nothing. */

#include "test.h"

#include "extras/launch/tree.h"
#include "extras/launch/tree_state.h"
#include "extras/launch/wire.h"
#include "phoenix.h"

#define JOB 77u

struct watch {
    uint32_t joins, resumes, ups, dones;
    uint64_t generation; /* in the last RESUME, or UP */
};

static int watch_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct watch *w = ctx;
    struct la_reader r;

    (void)agent;
    la_wire_read(&r, data, size);
    w->joins += type == TREE_JOIN;
    w->resumes += type == TREE_RESUME;
    w->ups += type == TREE_UP;
    if (type == TREE_RESUME)
        (void)la_wire_take_var(&r);
    if (type == TREE_RESUME || type == TREE_UP)
        w->generation = la_wire_take_var(&r);
    return 0;
}

static uint32_t watch_agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    (void)ctx;
    return job == JOB ? rank : LA_NONE;
}

static void watch_record(void *ctx, const struct la_coll *c, const struct la_record *r)
{
    (void)ctx;
    (void)c;
    (void)r;
}

static void watch_done(void *ctx, const struct la_coll *c)
{
    (void)c;
    ((struct watch *)ctx)->dones++;
}

static void watch_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    (void)ctx;
    (void)a;
    (void)b;
}

static void watch_nothing(void *ctx)
{
    (void)ctx;
}

static void watch_gone(void *ctx, uint32_t first, uint32_t end)
{
    (void)ctx;
    (void)first;
    (void)end;
}

/* Agent 0 with its child 1, or agent 1 below 0, of a job that goes on. */
static struct la_tree *make(struct watch *w, int root)
{
    static const uint32_t child = 1;
    struct la_tree_config cfg;
    struct la_tree *t = NULL;

    memset(w, 0, sizeof *w);
    memset(&cfg, 0, sizeof cfg);
    cfg.self = root ? 0 : 1;
    cfg.parent = root ? LA_NONE : 0;
    cfg.end = 2;
    cfg.children = &child;
    cfg.children_count = root ? 1 : 0;
    cfg.go_on = 1;
    cfg.cut_wait_us = 10000000;
    cfg.ops.ctx = w;
    cfg.ops.send = watch_send;
    cfg.ops.agent_of = watch_agent_of;
    cfg.ops.record = watch_record;
    cfg.ops.done = watch_done;
    cfg.ops.differ = watch_differ;
    cfg.ops.cut_off = watch_nothing;
    cfg.ops.gone = watch_gone;
    check(la_tree_new(&t, &cfg) == 0 && la_tree_job(t, JOB) == 0, "memory");
    la_tree_step(t, 1);
    return t;
}

/* Numbers, as a message of this type from that agent. */
static int say(struct la_tree *t, uint32_t from, uint32_t type, const uint32_t *numbers, size_t count)
{
    struct la_buf m;
    size_t i;
    int err;

    memset(&m, 0, sizeof m);
    for (i = 0; i < count; i++)
        check(la_wire_var(&m, numbers[i]) == 0, "memory");
    err = la_tree_recv(t, from, type, la_wire_front(&m), la_wire_left(&m));
    la_wire_free(&m);
    return err;
}

static int up(struct la_tree *t, uint32_t generation)
{
    uint32_t words[] = { generation, TREE_LAST, JOB, 0, LA_BARRIER, 0, 0, 1 };

    return say(t, 1, TREE_UP, words, sizeof words / sizeof *words);
}

static int join(struct la_tree *t, uint32_t session)
{
    uint32_t words[] = { session, 2, 0, 1, JOB, 0, 0 };

    return say(t, 1, TREE_JOIN, words, sizeof words / sizeof *words);
}

/* Goal: after a child came back only what it says in answer to RESUME counts, and a JOIN counts once. */
static void test_parent(void)
{
    struct la_coll c = { JOB, 0, LA_BARRIER, 0, 0, 0 };
    struct watch w;
    struct la_tree *t = make(&w, 1);

    ok(la_tree_enter(t, &c, NULL, 0) == 0 && w.dones == 0, "this host has entered");
    la_tree_lost(t, 1);
    ok(join(t, 3) == 0 && w.resumes == 1, "the child comes back, and is told what is there");
    ok(up(t, 0) == 0 && w.dones == 0, "what it said before counts for nothing");
    (void)join(t, 3);
    (void)join(t, 2);
    ok(w.resumes == 1, "the same JOIN, or an older one, is no new one");
    ok(join(t, 4) == 0 && w.resumes == 2 && w.generation == 2, "a later one is");
    ok(up(t, 1) == 0 && w.dones == 0, "and what was said in answer to the first counts for nothing, too");
    ok(up(t, 2) == 0 && w.dones == 1, "but what is said in answer to the last");
    la_tree_free(t);
}

static int resume(struct la_tree *t, uint32_t session, uint32_t generation)
{
    uint32_t words[] = { session, generation, 1, 0 };

    return say(t, 0, TREE_RESUME, words, sizeof words / sizeof *words);
}

/* Goal: an agent goes on when the parent answers its last JOIN, and says that parent's generation. */
static void test_child(void)
{
    struct la_coll c = { JOB, 0, LA_BARRIER, 0, 0, 1 };
    struct watch w;
    struct la_tree *t = make(&w, 0);

    la_tree_lost(t, 0);
    ok(la_tree_moved(t, 0) == 0 && w.joins == 1, "it joins");
    la_tree_lost(t, 0);
    ok(la_tree_moved(t, 0) == 0 && w.joins == 2, "and once more");
    ok(la_tree_enter(t, &c, NULL, 0) == 0, "it enters");
    ok(resume(t, 1, 5) == 0 && w.ups == 0, "an answer to the first JOIN is none");
    ok(resume(t, 2, 6) == 0 && w.ups == 1 && w.generation == 6,
       "that to the last is, and its generation said");
    la_tree_free(t);
}

int main(void)
{
    test_parent();
    test_child();
    return test_end();
}
