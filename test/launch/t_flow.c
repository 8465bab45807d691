/* t_flow.c - output and input of a tree: whole, in order, with bounds; ends of jobs; lines and labels. */

#include "test.h"

#include "extras/launch/flow.h"
#include "phoenix.h"

#define AGENTS 5u /* 0 has 1 and 4; 1 has 2 and 3 */

struct agent {
    struct la_flow *flow;
    uint32_t self, parent;
    uint64_t in, in_next;     /* bytes of input, and whether they ascend */
    int in_ended, in_room;
    uint64_t made;
};

struct world {
    struct agent a[AGENTS];
    uint64_t out[AGENTS], wrong, most; /* at the root: bytes by rank */
    int closed[AGENTS];                /* nothing gets through to it for now */
};

static struct world w;

static int send_to(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    const struct agent *from = ctx;

    if (w.closed[agent])
        return PHX_EAGAIN;
    w.wrong += la_flow_recv(w.a[agent].flow, from->self, type, data, size) != 0;
    return 0;
}

static void output(void *ctx, const struct la_chunk *c)
{
    size_t i;

    (void)ctx;
    for (i = 0; i < c->size; i++) {
        w.wrong += c->data[i] != (unsigned char)(w.out[c->rank] * 7 + c->rank);
        w.out[c->rank]++;
    }
    w.wrong += c->job != c->rank % 2;
}

static void input(void *ctx, const struct la_chunk *c)
{
    struct agent *a = ctx;
    size_t i;

    a->in_ended |= c->size == 0;
    for (i = 0; i < c->size; i++)
        w.wrong += c->data[i] != (unsigned char)a->in_next++;
    a->in += c->size;
}

static int input_room(void *ctx)
{
    return ((const struct agent *)ctx)->in_room;
}

static uint32_t below(void *ctx, uint32_t rank)
{
    const struct agent *a = ctx;

    if (a->self == 0)
        return rank >= 1 && rank <= 3 ? 1 : rank;
    return rank;
}

static void begin(void)
{
    static const uint32_t parent[AGENTS] = { LA_NONE, 0, 1, 1, 0 };
    struct la_flow_ops ops = { NULL, send_to, output, input, input_room, below };
    uint32_t i;

    memset(&w, 0, sizeof w);
    for (i = 0; i < AGENTS; i++) {
        ops.ctx = &w.a[i];
        w.a[i].self = i;
        w.a[i].parent = parent[i];
        w.a[i].in_room = 1;
        check(la_flow_new(&w.a[i].flow, i, parent[i], &ops) == 0, "memory");
    }
    for (i = 1; i < AGENTS; i++)
        check(la_flow_child(w.a[parent[i]].flow, i) == 0, "memory");
}

static void end(void)
{
    uint32_t i;

    for (i = 0; i < AGENTS; i++)
        la_flow_free(w.a[i].flow);
}

/* Each agent's process writes as long as there is room. */
static void write_some(uint64_t most)
{
    unsigned char data[1000];
    struct la_chunk c;
    uint32_t i;
    size_t k;

    for (i = 0; i < AGENTS; i++)
        while (la_flow_room(w.a[i].flow) && w.a[i].made < most) {
            for (k = 0; k < sizeof data; k++)
                data[k] = (unsigned char)((w.a[i].made + k) * 7 + i);
            c.job = i % 2;
            c.rank = i;
            c.stream = 1;
            c.data = data;
            c.size = sizeof data;
            check(la_flow_output(w.a[i].flow, &c) == 0, "memory");
            w.a[i].made += sizeof data;
        }
}

static void pump(void)
{
    uint32_t i;

    for (i = 0; i < AGENTS; i++)
        la_flow_pump(w.a[i].flow);
}

/* Goal: output comes whole and in order, a stopped launcher stops all writers within a bound, and nothing is
 * lost. Method: 3 MB from each of 5; in between the root's reader stops. */
static void test_output(void)
{
    uint64_t made = 0, again = 0, out = 0;
    uint32_t i, turn;

    begin();
    la_flow_set_backlog(w.a[0].flow, LA_FLOW_HIGH); /* nobody reads */
    for (turn = 0; turn < 200; turn++) {
        write_some(3000000);
        pump();
    }
    for (i = 1; i < AGENTS; i++)
        made += w.a[i].made;
    for (turn = 0; turn < 200; turn++) {
        write_some(3000000);
        pump();
    }
    for (i = 1; i < AGENTS; i++)
        again += w.a[i].made;
    ok(made == again && made < 4 * (2 * LA_FLOW_WINDOW + LA_FLOW_HIGH), "a reader that stops stops all: %llu",
       (unsigned long long)made);
    la_flow_set_backlog(w.a[0].flow, 0);
    for (turn = 0; turn < 2000; turn++) {
        write_some(3000000);
        pump();
    }
    for (i = 0; i < AGENTS; i++)
        out += w.out[i];
    ok(out == AGENTS * 3000000 && w.wrong == 0, "and then all comes, in order");
    end();
}

/* Goal: the root knows how many jobs are over, when all they wrote is there. */
static void test_end_of_jobs(void)
{
    uint32_t i;

    begin();
    for (i = 1; i < AGENTS; i++)
        la_flow_end(w.a[i].flow, i == 2 ? 1 : 2);
    pump();
    ok(la_flow_ended(w.a[0].flow) == 0, "the root itself is not over");
    la_flow_end(w.a[0].flow, 2);
    pump();
    pump();
    ok(la_flow_ended(w.a[0].flow) == 1 && la_flow_ended_below(w.a[0].flow) == 1,
       "one job is over everywhere");
    w.closed[0] = 1;
    write_some(1000);
    la_flow_end(w.a[2].flow, 2);
    pump();
    ok(la_flow_ended(w.a[0].flow) == 1, "what was written is under way");
    w.closed[0] = 0;
    pump();
    pump();
    ok(la_flow_ended(w.a[0].flow) == 2 && w.out[2] == 1000 && w.wrong == 0, "and then the second, too");
    la_flow_lost(w.a[0].flow, 1);
    la_flow_end(w.a[0].flow, 3);
    la_flow_end(w.a[4].flow, 3);
    pump();
    pump();
    ok(la_flow_ended(w.a[0].flow) == 3, "who is gone is not waited for");
    end();
}

/* Goal: input goes to one, or to all once, and to nobody faster than the slowest takes it. */
static void test_input(void)
{
    unsigned char data[5000];
    struct la_chunk c = { 0, LA_ALL, 0, data, sizeof data };
    uint64_t given = 0;
    uint32_t i, turn, bad = 0;
    size_t k;

    begin();
    w.a[3].in_room = 0;
    for (turn = 0; turn < 2000; turn++) {
        if (turn == 1000)
            w.a[3].in_room = 1;
        while (given < 2000000 && la_flow_input_room(w.a[0].flow)) {
            for (k = 0; k < sizeof data; k++)
                data[k] = (unsigned char)(given + k);
            bad += la_flow_input(w.a[0].flow, &c) != 0;
            given += sizeof data;
        }
        pump();
        if (turn == 999)
            ok(given < 4 * LA_FLOW_WINDOW && w.a[3].in == 0, "one that takes nothing stops it: %llu",
               (unsigned long long)given);
    }
    c.size = 0;
    bad += la_flow_input(w.a[0].flow, &c) != 0;
    c.rank = 3;
    pump();
    pump();
    for (i = 0; i < AGENTS; i++)
        bad += w.a[i].in != 2000000 || !w.a[i].in_ended;
    ok(bad == 0 && w.wrong == 0, "all have all of it once, and its end");
    end();
}

static void test_nonsense(void)
{
    static const unsigned char chunk[] = { 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'x' };
    unsigned char end_of[4] = { 255, 255, 255, 255 };
    struct la_flow *f;

    begin();
    f = w.a[0].flow;
    ok(la_flow_recv(f, 2, LA_FLOW_OUT, chunk, sizeof chunk) == PHX_EPROTO, "a stranger");
    ok(la_flow_recv(f, 1, LA_FLOW_OUT, chunk, sizeof chunk - 1) == PHX_EPROTO, "half a chunk");
    ok(la_flow_recv(f, 1, LA_FLOW_END, end_of, 3) == PHX_EPROTO, "an end of three bytes");
    ok(la_flow_recv(f, 1, LA_FLOW_IN_CREDIT, end_of, 4) == PHX_EPROTO, "more credit than there is");
    ok(la_flow_recv(f, 1, LA_FLOW_OUT_CREDIT, end_of, 4) == PHX_EPROTO, "credit from below");
    ok(la_flow_recv(f, 1, LA_FLOW_END + 1, end_of, 4) == PHX_EPROTO, "an unknown word");
    end();
}

/* ---- Lines --------------------------------------------------------------------------------------- */

struct pieces {
    char text[400000];
    size_t size, count, whole;
};

static int piece(void *ctx, const void *data, size_t size)
{
    struct pieces *p = ctx;

    memcpy(p->text + p->size, data, size);
    p->size += size;
    p->count++;
    p->whole += ((const char *)data)[size - 1] == '\n';
    return 0;
}

/* Goal: bytes stay as they are, pieces end with lines but where a line is too long. Method: cut anywhere. */
static void test_lines(void)
{
    static struct pieces p;
    static char text[200000];
    struct la_lines l;
    size_t cut, i, n, bad = 0;

    for (i = 0; i < sizeof text; i++)
        text[i] = i % 97 == 96 || i == 30 ? '\n' : (char)('a' + i % 23);
    for (cut = 1; cut < 3000; cut += 211) {
        memset(&p, 0, sizeof p);
        memset(&l, 0, sizeof l);
        for (i = 0; i < sizeof text; i += n) {
            n = sizeof text - i < cut ? sizeof text - i : cut;
            bad += la_lines_feed(&l, text + i, n, piece, &p) != 0;
        }
        bad += p.whole != p.count;
        bad += la_lines_end(&l, piece, &p) != 0 || p.size != sizeof text || memcmp(p.text, text, p.size) != 0;
        la_queue_free(&l.part);
    }
    ok(bad == 0, "whole lines, whatever the pieces");
    memset(text, 'x', sizeof text);
    memset(&p, 0, sizeof p);
    memset(&l, 0, sizeof l);
    bad = la_lines_feed(&l, text, sizeof text, piece, &p) != 0;
    bad += la_lines_end(&l, piece, &p) != 0;
    la_queue_free(&l.part);
    ok(bad == 0 && p.size == sizeof text && p.count >= 4, "a line that is too long is cut");
}

static void label(uint32_t job, const char *data, const char *want)
{
    struct la_chunk c;
    struct la_queue out;

    memset(&out, 0, sizeof out);
    c.job = job;
    c.rank = 7;
    c.stream = 1;
    c.data = (const unsigned char *)data;
    c.size = strlen(data);
    ok(la_label(&out, &c) == 0 && out.size == strlen(want)
           && memcmp(la_queue_first(&out), want, out.size) == 0,
       "%s", data);
    la_queue_free(&out);
}

static void test_labels(void)
{
    char name[8];

    label(0, "a\nb\n", "[7] a\n[7] b\n");
    label(3, "a\n", "[3.7] a\n");
    label(0, "no end", "[7] no end\n");
    ok(la_pattern("o.%r%%%h", 3, "b", name, sizeof name) == 0 && strcmp(name, "o.3%b") == 0, "a pattern");
    ok(la_pattern("o.%r.%h", 3, "longer", name, sizeof name) == PHX_EINVAL, "one that is too long");
}

int main(void)
{
    test_output();
    test_end_of_jobs();
    test_input();
    test_nonsense();
    test_lines();
    test_labels();
    return test_end();
}
