/* t_trace_brain.c - traces without a node: answers in any order, twice, late or false; and a naive model. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "node/trace.h"
#endif

#define NODES 9u /* the node itself is 0; node i is at distance i, and all are behind node 1 */
#define HOPS 6u  /* the limit of hops in the scripts */
#define FAR 16u  /* ... and in the model */

static const uint64_t patience = 5 * PHX__SECOND;

struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__node_trace t;
    uint64_t now, keys;
    int distance[NODES]; /* as routing knows; -1: nothing */
    int no_random;
    int again; /* traces that the host begins when it is told of one */
    char said[4096];
};

static void say(struct rig *r, const char *format, ...)
{
    size_t n = strlen(r->said);
    va_list args;

    va_start(args, format);
    vsnprintf(r->said + n, sizeof r->said - n, format, args);
    va_end(args);
}

static uint32_t rig_way(phx *ctx, const struct phx_id *id)
{
    struct rig *r = (void *)ctx;
    uint32_t node = phx__id_find(&r->ids, id);

    if (node == PHX__NONE || r->distance[node] < 0 || r->distance[node] == (int)PHX__UNREACHABLE)
        return PHX__NONE;
    return 1;
}

static int rig_send(phx *ctx, uint32_t nbr, int type, int flags, int hops, const void *body)
{
    struct rig *r = (void *)ctx;
    uint8_t data[96];
    struct phx__writer w;
    struct phx__trace t;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, type, flags, hops, body);
    check(!w.bad && phx__wire_parse(data, w.size, &f, &used) == 1
              && phx__wire_link_get(&f, PHX__TRACE, &t) == 0,
          "a good TRACE");
    if (f.flags & PHX__TRACE_ANSWER)
        say(r, "A%u>%u:%d/%d/%d ", t.number, (unsigned)nbr, t.distance == 255 ? -1 : t.distance, t.why,
            f.hops);
    else
        say(r, "Q%u>%u/%d ", t.number, (unsigned)nbr, f.hops);
    return 1;
}

static int rig_random(phx *ctx, void *out, size_t size)
{
    struct rig *r = (void *)ctx;

    check(size == sizeof r->keys, "a number");
    ++r->keys;
    memcpy(out, &r->keys, size);
    return r->no_random ? PHX_EIO : 0;
}

static int rig_distance(phx *ctx, uint32_t node)
{
    struct rig *r = (void *)ctx;

    return node < NODES ? r->distance[node] : -1;
}

static int rig_why(phx *ctx, uint32_t node)
{
    (void)ctx;
    return node <= 1 ? 0 : PHX_ETIMEDOUT;
}

/* "done7:0,2@5,-,0@6": token, result, and of each hop its distance and the ms it took; -: not known. */
static void rig_done(phx *ctx, const struct phx_trace *t)
{
    struct rig *r = (void *)ctx;
    uint32_t i;

    say(r, "done%u:%d", (unsigned)t->token, t->result);
    for (i = 0; i < t->hops_count; i++)
        if (t->hops[i].rtt_us == UINT64_MAX)
            say(r, ",-");
        else
            say(r, ",%d@%u", t->hops[i].hops, (unsigned)(t->hops[i].rtt_us / PHX__MS));
    say(r, " ");
    if (r->again > 0) {
        r->again--;
        check(phx__node_trace_add(&r->t, &t->target, t->token + 1, r->now) == 0, "and once more");
    }
}

static const struct phx__node_trace_ops rig_ops = { rig_random, rig_distance, rig_why, rig_done };

static int rig_init(struct rig *r, int relay, uint32_t hops, long fail_at)
{
    struct phx__node_env env = { &r->mem, &r->ids, &r->timers, (int)hops, relay,
                                (void *)r, rig_way, rig_send, NULL };
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, node;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100);
    phx__timer_init(&r->timers, &r->mem);
    for (i = 0; i < NODES; i++) {
        memset(&id, (int)i + 1, sizeof id);
        if (phx__id_add(&r->ids, &id, &node) != 0)
            exit(1);
        r->distance[i] = (int)i;
    }
    r->now = 5 * PHX__SECOND;
    r->heap.fail_at = fail_at > 0 ? r->heap.calls + fail_at : 0;
    return phx__node_trace_init(&r->t, &env, &rig_ops);
}

static void rig_free(struct rig *r)
{
    phx__node_trace_free(&r->t);
    phx__timer_free(&r->timers);
    phx__id_free(&r->ids);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

static void rig_wait(struct rig *r, uint64_t until)
{
    uint32_t arg;
    int kind, more = 1000;

    while (phx__timer_next(&r->timers) <= until && check(--more > 0, "an end")) {
        if (phx__timer_next(&r->timers) > r->now)
            r->now = phx__timer_next(&r->timers);
        check(phx__timer_pop(&r->timers, r->now, &kind, &arg) == 1 && kind == PHX__TIMER_TRACE, "its timer");
        phx__node_trace_due(&r->t, r->now);
    }
    r->now = until;
}

/* A frame from node 1. */
static int rig_frame(struct rig *r, const struct phx__trace *t, int flags, int hops)
{
    uint8_t data[128];
    struct phx__writer w;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, PHX__TRACE, flags, hops, t);
    check(phx__wire_parse(data, w.size, &f, &used) == 1, "a whole frame");
    return phx__node_trace_on_trace(&r->t, 1, &f, r->now);
}

/* This node says that it is the number-th of the way and so far from the target. */
static void rig_answer(struct rig *r, uint64_t key, uint32_t number, uint32_t source, uint32_t distance)
{
    struct phx__trace a;

    memset(&a, 0, sizeof a);
    a.target = r->ids.at[PHX__SELF];
    a.source = r->ids.at[source];
    a.key = key;
    a.number = (uint8_t)number;
    a.distance = (uint8_t)distance;
    rig_frame(r, &a, (int)PHX__TRACE_ANSWER, 5);
}

static int rig_ask(struct rig *r, uint32_t source, uint32_t target, uint32_t number, int hops)
{
    struct phx__trace q;

    memset(&q, 0, sizeof q);
    q.target = r->ids.at[target];
    q.source = r->ids.at[source];
    q.key = 77;
    q.number = (uint8_t)number;
    return rig_frame(r, &q, 0, hops);
}

/* ---- Scripts --------------------------------------------------------------------------------- */

/* Steps: b3 begins a trace to node 3, with the next key and that as its token; t20: 20 ms pass; a1.2:3/1 is
 * the answer to key 1, number 2, of node 3, at distance 1 (u: unreachable); u3, k3: routing loses its way to
 * node 3, or forgets it; e: the end. */
static const struct script {
    const char *name, *steps, *said;
} scripts[] = {
    { "one hop", "b1 t0 t7 a1.1:1/0 t0", "Q1>1/1 done1:0,0@7 " },
    { "three hops", "b3 t0 t5 a1.1:1/2 t1 a1.2:2/1 t1 a1.3:3/0 t0",
      "Q1>1/1 Q2>1/2 Q3>1/3 done1:0,2@5,1@6,0@7 " },
    { "the other way round", "b3 t0 a1.3:3/0 a1.2:2/1 t0 a1.1:1/2 t0",
      "Q1>1/1 Q2>1/2 Q3>1/3 done1:0,2@0,1@0,0@0 " },
    { "each once", "b2 t0 a1.1:1/1 a1.1:1/1 a1.1:2/0 a1.1:8/5 t1 a1.2:2/0 a1.2:2/0 t0 a1.2:2/0 t9000",
      "Q1>1/1 Q2>1/2 done1:0,1@0,0@1 " },
    { "of another key", "b1 t0 a2.1:1/0 a0.1:1/0 t5000", "Q1>1/1 done1:TIMEDOUT " },
    { "not asked about", "b1 t0 a1.2:1/0 a1.9:1/0 t5000", "Q1>1/1 done1:TIMEDOUT " },
    { "who is not the target is not there", "b2 t0 a1.2:3/0 t5000", "Q1>1/1 Q2>1/2 done1:TIMEDOUT " },
    { "and the target is", "b2 t0 a1.2:2/3 a1.2:2/u t5000", "Q1>1/1 Q2>1/2 done1:TIMEDOUT " },
    { "one does not answer", "b3 t0 a1.1:1/2 a1.3:3/0 t5000", "Q1>1/1 Q2>1/2 Q3>1/3 done1:0,2@0,-,0@0 " },
    { "only the first does", "b3 t0 a1.1:1/2 t5000", "Q1>1/1 Q2>1/2 Q3>1/3 done1:TIMEDOUT,2@0 " },
    { "not before its time", "b1 t0 t4999 a1.1:1/0 t0", "Q1>1/1 done1:0,0@4999 " },
    { "nor after it", "b1 t0 t5000 a1.1:1/0 t0", "Q1>1/1 done1:TIMEDOUT " },
    { "a longer way", "b1 t0 t2 a1.1:2/1 t3 a1.2:1/0 t0", "Q1>1/1 Q2>1/2 done1:0,1@2,0@3 " },
    { "a shorter one", "b3 t0 a1.2:3/0 a1.3:3/0 a1.1:1/1 t0", "Q1>1/1 Q2>1/2 Q3>1/3 done1:0,1@0,0@0 " },
    { "it ends on the way", "b3 t0 a1.1:1/2 a1.2:2/u t0", "Q1>1/1 Q2>1/2 Q3>1/3 done1:UNREACH,2@0,-1@0 " },
    { "too long", "b6 t0 a1.1:1/5 a1.2:2/5 a1.3:3/5 a1.4:4/5 a1.5:5/5 a1.6:7/5 t0",
      "Q1>1/1 Q2>1/2 Q3>1/3 Q4>1/4 Q5>1/5 Q6>1/6 done1:UNREACH,5@0,5@0,5@0,5@0,5@0,5@0 " },
    { "as far as hops go", "b6 t0 a1.1:1/5 a1.2:2/4 a1.3:3/3 a1.4:4/2 a1.5:5/1 a1.6:6/0 t0",
      "Q1>1/1 Q2>1/2 Q3>1/3 Q4>1/4 Q5>1/5 Q6>1/6 done1:0,5@0,4@0,3@0,2@0,1@0,0@0 " },
    { "farther than hops go", "b8 t0 t5000", "Q1>1/1 Q2>1/2 Q3>1/3 Q4>1/4 Q5>1/5 Q6>1/6 done1:TIMEDOUT " },
    { "no way", "b3 u3 t0", "done1:UNREACH " },
    { "forgotten", "b3 k3 t0", "done1:UNREACH " },
    { "two at once", "b1 b1 t0 a2.1:1/0 t0 a1.1:1/0 t0", "Q1>1/1 Q1>1/1 done2:0,0@0 done1:0,0@0 " },
    { "the end", "b2 t0 a1.1:1/1 b1 e", "Q1>1/1 Q2>1/2 done2:CLOSED done1:CLOSED,1@0 " },
};

static uint64_t number(const char **s)
{
    uint64_t v = 0;

    for (; **s >= '0' && **s <= '9'; (*s)++)
        v = v * 10 + (uint64_t)(**s - '0');
    return v;
}

/* A number behind a character, which is skipped. */
static uint64_t behind(const char **s)
{
    (*s)++;
    if (**s == 'u') {
        (*s)++;
        return PHX__UNREACHABLE;
    }
    return number(s);
}

static void script_step(struct rig *r, const char **s)
{
    char what = *(*s)++;
    uint64_t v = number(s), hop, source;

    switch (what) {
    case 'b': check(phx__node_trace_add(&r->t, &r->ids.at[v], r->keys + 1, r->now) == 0, "begun"); break;
    case 't': rig_wait(r, r->now + v * PHX__MS); break;
    case 'u': r->distance[v] = PHX__UNREACHABLE; break;
    case 'k': r->distance[v] = -1; break;
    case 'e': phx__node_trace_end(&r->t); break;
    default:
        hop = behind(s);
        source = behind(s);
        rig_answer(r, v, (uint32_t)hop, (uint32_t)source, (uint32_t)behind(s));
    }
}

/* The text with the numbers of errors in place of their names. */
static const char *with_numbers(const char *s)
{
    static const struct {
        const char *name;
        int value;
    } words[] = { { ":TIMEDOUT", PHX_ETIMEDOUT }, { ":UNREACH", PHX_EUNREACH }, { ":CLOSED", PHX_ECLOSED } };
    static char out[1024];
    size_t n = 0, i;

    while (*s != 0) {
        for (i = 0; i < 3 && strncmp(s, words[i].name, strlen(words[i].name)) != 0; i++)
            continue;
        if (i < 3) {
            n += (size_t)sprintf(out + n, ":%d", words[i].value);
            s += strlen(words[i].name);
        } else {
            out[n++] = *s++;
        }
    }
    out[n] = 0;
    return out;
}

static void test_scripts(void)
{
    /* Goal: what is asked, which answers count, and how each trace ends, once. Method: see above. */
    struct rig r;
    size_t i;

    for (i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        const char *s = scripts[i].steps;
        check(rig_init(&r, 1, HOPS, 0) == 0, "init");
        while (*s != 0) {
            script_step(&r, &s);
            s += *s == ' ';
        }
        ok(strcmp(r.said, with_numbers(scripts[i].said)) == 0, "%s: '%s'", scripts[i].name, r.said);
        rig_free(&r);
    }
}

static void test_limits(void)
{
    /* Goal: 16 at once, and one that ends makes room, also for one that the host begins when it is told. */
    struct rig r;
    int i, err = 0;

    check(rig_init(&r, 1, HOPS, 0) == 0, "init");
    for (i = 0; i < 16; i++)
        err |= phx__node_trace_add(&r.t, &r.ids.at[1], 1, r.now);
    ok(err == 0 && phx__node_trace_add(&r.t, &r.ids.at[1], 1, r.now) == PHX_ELIMIT && r.keys == 16,
       "16 at once, and no random numbers for more");
    rig_wait(&r, r.now);
    r.again = 5;
    rig_answer(&r, 3, 1, 1, 0);
    rig_wait(&r, r.now);
    ok(r.t.count == 16 && r.again == 4, "room for one");
    rig_wait(&r, r.now + 3 * patience);
    ok(r.t.count == 0 && r.again == 0, "all end");
    r.distance[3] = -1;
    ok(phx__node_trace_add(&r.t, &r.ids.at[3], 1, r.now) == PHX_ENOTFOUND, "a node that is not known");
    r.no_random = 1;
    ok(phx__node_trace_add(&r.t, &r.ids.at[1], 1, r.now) == PHX_EIO && r.t.count == 0, "no random numbers");
    rig_free(&r);
}

static const struct question {
    const char *name;
    uint32_t source, target;
    int hops, relay, known; /* known: the distance of the target, or -1 */
    const char *said;
} questions[] = {
    { "for us", 2, 0, 1, 1, 0, "A4>1:0/0/6 " },
    { "to pass on, but not back to where it came from", 2, 5, 3, 1, 5, "A4>1:-1/T/6 " },
    { "its last link: how far it is, though the way leads back", 2, 5, 1, 1, 5, "A4>1:-1/T/6 " },
    { "not known here", 2, 5, 3, 1, -1, "A4>1:-1/N/6 " },
    { "no way", 2, 5, 3, 1, 255, "A4>1:-1/T/6 " },
};

static void test_questions(void)
{
    /* Goal: who answers what. 64 answers a second, and as many at once. Method: a table, and then 1,000
     * questions in a second, after which the bucket fills again. */
    struct phx__frame f;
    struct rig r;
    char want[64], *at;
    size_t i;
    int k, answers;

    for (i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        const struct question *q = &questions[i];
        check(rig_init(&r, q->relay, HOPS, 0) == 0, "init");
        r.distance[q->target] = q->known;
        check(rig_ask(&r, q->source, q->target, 4, q->hops) == 0, "no fault");
        strcpy(want, q->said);
        if ((at = strpbrk(want, "TN")) != NULL) {
            char rest[16];
            strcpy(rest, at + 1);
            sprintf(at, "%d%s", *at == 'T' ? PHX_ETIMEDOUT : PHX_ENOTFOUND, rest);
        }
        ok(strcmp(r.said, want) == 0, "%s: '%s'", q->name, r.said);
        rig_free(&r);
    }
    check(rig_init(&r, 1, HOPS, 0) == 0, "init");
    memset(&f, 0, sizeof f);
    f.type = PHX__TRACE;
    ok(phx__node_trace_on_trace(&r.t, 1, &f, r.now) == PHX_EPROTO, "an empty frame");
    for (k = answers = 0; k < 1000; k++) {
        r.said[0] = 0;
        rig_ask(&r, 2, 0, 4, 1);
        answers += r.said[0] != 0;
    }
    ok(answers == 64, "%d answers at once", answers);
    for (k = answers = 0; k < 1000; k++) {
        r.now += 2 * PHX__MS;
        r.said[0] = 0;
        rig_ask(&r, 2, 0, 4, 1);
        answers += r.said[0] != 0;
    }
    ok(answers == 128, "%d answers in 2 s", answers);
    rig_free(&r);
}

static void test_relay(void)
{
    /* Goal: questions and answers go on with one link less, by nodes that relay. Method: the way leads to
     * node 1, and the frame comes from node 2. */
    struct phx__trace q;
    struct phx__writer w;
    struct phx__frame f;
    uint8_t data[128];
    struct rig r;
    size_t used;
    int relay, flags;

    memset(&q, 0, sizeof q);
    q.number = 3;
    q.distance = 9;
    for (relay = 0; relay < 2; relay++)
        for (flags = 0; flags < 2; flags++) {
            check(rig_init(&r, relay, HOPS, 0) == 0, "init");
            q.target = r.ids.at[5];
            q.source = r.ids.at[2];
            phx__buf_writer_init(&w, data, sizeof data);
            phx__wire_link_put(&w, PHX__TRACE, flags, 2, &q);
            check(phx__wire_parse(data, w.size, &f, &used) == 1, "a whole frame");
            check(phx__node_trace_on_trace(&r.t, 2, &f, r.now) == 0, "no fault");
            f.hops = 1;
            check(phx__node_trace_on_trace(&r.t, 2, &f, r.now) == 0, "no fault");
            strcat(r.said, "|");
            if (relay && flags)
                ok(strcmp(r.said, "A3>1:9/0/1 |") == 0, "an answer goes on: %s", r.said);
            else if (flags)
                ok(strcmp(r.said, "|") == 0, "or not: %s", r.said);
            else if (relay)
                ok(strncmp(r.said, "Q3>1/1 A3>1:5/", 14) == 0, "a question goes on: %s", r.said);
            else
                ok(strncmp(r.said, "A3>1:-1/", 8) == 0 && strstr(r.said, " A3>1:5/") != NULL,
                   "or ends here: %s", r.said);
            rig_free(&r);
        }
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Of each trace, by key: what was answered. The way is looked at as a whole each time. No way is as long as
 * the limit of hops: that is left to the scripts. */
struct model {
    struct {
        uint32_t target, asked;
        int distance[FAR + 1]; /* by number; -2: no answer yet */
        uint64_t rtt[FAR + 1], sent[FAR + 1];
        uint64_t until;
        int open;
    } at[200];
};

/* Where the way of this trace ends: the first that is the target or has no way, or 0. */
static uint32_t model_end(const struct model *m, uint64_t key)
{
    uint32_t i, last = m->at[key].asked;

    for (i = 1; i <= last; i++)
        if (m->at[key].distance[i] == 0 || m->at[key].distance[i] == -1)
            return i;
    return 0;
}

static void model_answer(struct model *m, const struct rig *r, uint64_t key, uint32_t hop, uint32_t source,
                         uint32_t distance, char *said)
{
    uint32_t ended = model_end(m, key);

    if (!m->at[key].open || hop > m->at[key].asked || m->at[key].distance[hop] != -2
        || (distance == 0) != (source == m->at[key].target))
        return;
    m->at[key].distance[hop] = distance == PHX__UNREACHABLE ? -1 : (int)distance;
    m->at[key].rtt[hop] = r->now - m->at[key].sent[hop];
    if (ended == 0 && model_end(m, key) == 0 && hop == m->at[key].asked) {
        sprintf(said + strlen(said), "Q%u>1/%u ", (unsigned)hop + 1, (unsigned)hop + 1);
        m->at[key].distance[hop + 1] = -2;
        m->at[key].sent[hop + 1] = r->now;
        m->at[key].asked++;
    }
}

/* Has it an end, and is all before it known? Then the end, else 0. *result: what to say of it. */
static uint32_t model_whole(const struct model *m, uint64_t key, int *result)
{
    uint32_t i, end = model_end(m, key);

    *result = end == 0 ? PHX_ETIMEDOUT : m->at[key].distance[end] == 0 ? 0 : PHX_EUNREACH;
    for (i = 1; i < end; i++)
        if (m->at[key].distance[i] == -2)
            return 0;
    return end;
}

static void model_done(struct model *m, uint64_t key, uint32_t last, int result, char *said)
{
    uint32_t i;

    while (last > 0 && m->at[key].distance[last] == -2)
        last--;
    said += strlen(said);
    said += sprintf(said, "done%u:%d", (unsigned)key, result);
    for (i = 1; i <= last; i++)
        if (m->at[key].distance[i] == -2)
            said += sprintf(said, ",-");
        else
            said += sprintf(said, ",%d@%u", m->at[key].distance[i], (unsigned)(m->at[key].rtt[i] / PHX__MS));
    sprintf(said, " ");
    m->at[key].open = 0;
}

/* All that has its answers, or had its time. */
static void model_due(struct model *m, const struct rig *r, char *said)
{
    uint64_t key;
    int result;

    for (key = 1; key <= r->keys; key++) {
        uint32_t end = m->at[key].open ? model_whole(m, key, &result) : 0;
        if (end > 0)
            model_done(m, key, end, result, said);
        else if (m->at[key].open && m->at[key].until <= r->now)
            model_done(m, key, model_end(m, key) ? model_end(m, key) : m->at[key].asked, result, said);
    }
}

static void model_begin(struct model *m, const struct rig *r, uint64_t key, uint32_t target, char *said)
{
    uint32_t i;

    m->at[key].target = target;
    m->at[key].open = 1;
    m->at[key].asked = target;
    m->at[key].until = r->now + patience;
    for (i = 1; i <= m->at[key].asked; i++) {
        m->at[key].distance[i] = -2;
        m->at[key].sent[i] = r->now;
        sprintf(said + strlen(said), "Q%u>1/%u ", (unsigned)i, (unsigned)i);
    }
}

static void random_step(struct rig *r, struct model *m, struct phx__rnd *rnd, char *said)
{
    uint64_t key = r->keys > 0 ? 1 + phx__rnd_below(rnd, r->keys) : 0;
    uint32_t target = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1), hop, source, distance;

    if (phx__rnd_below(rnd, 20) == 0 && r->t.count < 16 && r->keys < 190) {
        check(phx__node_trace_add(&r->t, &r->ids.at[target], r->keys + 1, r->now) == 0, "begun");
        model_begin(m, r, r->keys, target, said);
    } else if (key > 0 && phx__rnd_below(rnd, 3) > 0) {
        hop = 1 + (uint32_t)phx__rnd_below(rnd, NODES + 1);
        source = phx__rnd_below(rnd, 4) ? 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1) : m->at[key].target;
        distance = source == m->at[key].target ? 0 : 1 + (uint32_t)phx__rnd_below(rnd, 6);
        distance = phx__rnd_below(rnd, 16) == 0 ? PHX__UNREACHABLE : distance;
        model_answer(m, r, key, hop, source, distance, said);
        rig_answer(r, key, hop, source, distance);
    } else {
        r->now += phx__rnd_below(rnd, 400) * PHX__MS;
    }
    rig_wait(r, r->now);
    model_due(m, r, said);
}

static int words_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Several may end in one step; in which order is nobody's business. */
static void sort_words(char *text)
{
    char copy[4096], *word[200], *at;
    size_t i, n = 0;

    strcpy(copy, text);
    for (at = strtok(copy, " "); at != NULL && n < 200; at = strtok(NULL, " "))
        word[n++] = at;
    qsort(word, n, sizeof *word, words_compare);
    for (i = 0; i < n; i++)
        text += sprintf(text, "%s ", word[i]);
}

static void test_random(void)
{
    /* Goal: what is asked and what is told is what the model says. Method: 40 seeds of 2,000 steps: traces
     * begin, answers true and false come in any order and more than once, time passes. */
    struct phx__rnd rnd;
    static struct model m;
    static struct rig r;
    char said[sizeof r.said];
    uint64_t seed;
    int i, good, bad = 0, done = 0;

    for (seed = 1; seed <= 40; seed++) {
        phx__rnd_seed(&rnd, seed, 0);
        memset(&m, 0, sizeof m);
        check(rig_init(&r, 1, FAR, 0) == 0, "init");
        for (i = 0, good = 1; good && i < 2000; i++) {
            said[0] = r.said[0] = 0;
            random_step(&r, &m, &rnd, said);
            sort_words(said);
            sort_words(r.said);
            good = strcmp(said, r.said) == 0;
            done += strstr(said, ":0,") != NULL;
        }
        bad += !check(good, "seed %d, step %d: '%s', and the model '%s'", (int)seed, i, r.said, said);
        rig_free(&r);
    }
    ok(bad == 0 && done > 400, "%d of 40 runs differ; %d traces came through", bad, done);
}

static void test_memory(void)
{
    /* Goal: without memory there is no trace, and nothing is left of it. Method: the n-th allocation
     * fails. */
    struct rig r;
    long n, failed = 0;
    int i, err;

    for (n = 1; n < 100; n++) {
        err = rig_init(&r, 1, HOPS, n);
        for (i = 0; err == 0 && i < 12; i++)
            if ((err = phx__node_trace_add(&r.t, &r.ids.at[2], 1, r.now)) != 0)
                check(r.t.count == (uint32_t)i && phx__node_trace_add(&r.t, &r.ids.at[2], 1, r.now) == 0,
                      "now it works");
        check(err == 0 || err == PHX_ENOMEM, "no other reason");
        failed += err != 0;
        if (n % 2) /* some are freed under way */
            phx__node_trace_end(&r.t);
        rig_free(&r);
        if (err == 0)
            break;
    }
    ok(failed >= 12, "%ld failures were survived", failed);
}

int main(void)
{
    test_scripts();
    test_limits();
    test_questions();
    test_relay();
    test_random();
    test_memory();
    return test_end();
}
