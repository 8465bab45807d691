/* t_traffic.c - random sends and receives beside the rules of matching.
 *
 * Goal: of all that several processes send each other nothing is lost, doubled, mixed up or overtaken, in all
 * modes and sizes, with wildcards, probes and cancelled requests.
 * Method: engines in one process over loopback. A seed draws what each does; some receives are posted before
 * and some after what they match. When all is quiet the record of who got what is compared with the rules:
 * a message goes to the earliest receive that fits, a receive takes the earliest message that fits, of each
 * sender; a receive that could be met was met. Small limits bring each protocol into play.
 */
#include "engines.h"

#define RANKS_MOST 5
#define STEPS 120   /* of each run */
#define RECORDS 2000
#define TAGS 3
#define BYTES_MOST 6000

struct sent {
    struct ftm_request *r;
    int from, to, tag, mode, cancelled;
    size_t bytes;
    unsigned char *data;
    int got_by; /* place in run.received, or -1 */
};

struct received {
    struct ftm_request *r;
    int at, source, tag;
    size_t room;
    unsigned char *data;
    int got; /* place in run.sent, -1: nothing, -2: cancelled */
    int wrong;
};

static struct {
    struct engines s;
    uint32_t seed;
    struct sent sent[RECORDS];
    struct received received[RECORDS];
    int sents, receiveds;
} run;

static uint32_t draw(uint32_t below)
{
    run.seed = run.seed * 1664525u + 1013904223u;
    return (run.seed >> 8) % below;
}

/* The first eight bytes say which message it is, the others depend on it. */
static void fill(unsigned char *data, size_t bytes, int which)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i < 4 ? which >> 8 * i : which + (int)i * 7);
}

static size_t draw_bytes(void)
{
    return draw(4) == 0 ? 4 + draw(BYTES_MOST - 4) : 4 + draw(300);
}

static void send_one(void)
{
    struct sent *m = &run.sent[run.sents];
    struct ftm *e;
    int err;

    m->from = (int)draw((uint32_t)run.s.count);
    m->to = (int)draw((uint32_t)run.s.count);
    m->tag = (int)draw(TAGS);
    m->mode = draw(3) == 0 ? FTM_SYNCHRONOUS : FTM_STANDARD;
    m->bytes = draw_bytes();
    m->data = malloc(m->bytes);
    m->got_by = -1;
    fill(m->data, m->bytes, run.sents);
    e = run.s.at[m->from];
    err = ftm_send_start(e, &m->r, m->mode, e->world, 0, m->data, m->bytes,
                         engines_type(&run.s, m->from, MPI_BYTE), m->to, m->tag);
    check(err == 0, "a send starts");
    run.sents++;
}

static void receive_at(int at, int source, int tag, size_t room)
{
    struct received *v = &run.received[run.receiveds];
    struct ftm *e = run.s.at[at];
    int err;

    v->at = at;
    v->source = source;
    v->tag = tag;
    v->room = room;
    v->data = malloc(room);
    v->got = -1;
    v->wrong = 0;
    err = ftm_recv_start(e, &v->r, e->world, 0, v->data, room, engines_type(&run.s, at, MPI_BYTE), source,
                         tag);
    check(err == 0, "a receive starts");
    run.receiveds++;
}

static void receive_one(void)
{
    int at = (int)draw((uint32_t)run.s.count);
    int source = draw(3) == 0 ? MPI_ANY_SOURCE : (int)draw((uint32_t)run.s.count);

    receive_at(at, source, draw(3) == 0 ? MPI_ANY_TAG : (int)draw(TAGS), BYTES_MOST);
}

/* What a receive has got is read from its data, and noted on both sides. */
static void look_at(struct received *v)
{
    const struct ftm_request *r = v->r;
    struct sent *m;
    size_t i;
    int which;

    if (r->status.cancelled) {
        v->got = -2;
        return;
    }
    which = v->data[0] | v->data[1] << 8 | v->data[2] << 16;
    if (which >= run.sents || r->status.bytes < 4) {
        v->wrong = 1;
        return;
    }
    m = &run.sent[which];
    v->got = which;
    v->wrong = m->got_by != -1 || m->to != v->at || m->bytes != r->status.bytes || r->error != 0
        || r->status.source != m->from || r->status.tag != m->tag
        || (v->source != MPI_ANY_SOURCE && v->source != m->from)
        || (v->tag != MPI_ANY_TAG && v->tag != m->tag);
    for (i = 4; i < m->bytes; i++)
        v->wrong |= v->data[i] != (unsigned char)(which + (int)i * 7);
    m->got_by = (int)(v - run.received);
}

static void collect(void)
{
    int i;

    for (i = 0; i < run.receiveds; i++)
        if (run.received[i].r != NULL && run.received[i].r->done) {
            look_at(&run.received[i]);
            ftm_request_free(run.s.at[run.received[i].at], run.received[i].r);
            run.received[i].r = NULL;
        }
    for (i = 0; i < run.sents; i++)
        if (run.sent[i].r != NULL && run.sent[i].r->done) {
            run.sent[i].cancelled = run.sent[i].r->status.cancelled;
            ftm_request_free(run.s.at[run.sent[i].from], run.sent[i].r);
            run.sent[i].r = NULL;
        }
}

static void cancel_one(void)
{
    int i = run.sents > 0 ? (int)draw((uint32_t)run.sents) : 0;

    if (draw(2) == 0 && run.sents > 0 && run.sent[i].r != NULL)
        ftm_request_cancel(run.s.at[run.sent[i].from], run.sent[i].r);
    i = run.receiveds > 0 ? (int)draw((uint32_t)run.receiveds) : 0;
    if (draw(4) == 0 && run.receiveds > 0 && run.received[i].r != NULL)
        ftm_request_cancel(run.s.at[run.received[i].at], run.received[i].r);
}

/* What a probe sees, the next receive of it gets. */
static int probe_one(void)
{
    int at = (int)draw((uint32_t)run.s.count), before = run.receiveds;
    struct ftm_status status;
    struct ftm *e = run.s.at[at];

    if (!ftm_recv_probe(e, e->world, MPI_ANY_SOURCE, MPI_ANY_TAG, &status))
        return 1;
    receive_at(at, status.source, status.tag, BYTES_MOST);
    return run.received[before].r != NULL && run.received[before].r->status.bytes == status.bytes;
}

/* ---- The rules --------------------------------------------------------------------------------- */

static int fits(const struct received *v, const struct sent *m)
{
    return v->at == m->to && (v->source == MPI_ANY_SOURCE || v->source == m->from)
        && (v->tag == MPI_ANY_TAG || v->tag == m->tag);
}

/* Of two messages of one sender to one receiver, the later one was not taken by a receive that could have
 * taken the earlier one, unless that had been taken by a receive posted before. */
static int overtaken(void)
{
    int a, b, count = 0;

    for (b = 0; b < run.sents; b++)
        for (a = 0; a < b; a++) {
            const struct sent *first = &run.sent[a], *second = &run.sent[b];

            if (first->from == second->from && first->to == second->to && second->got_by >= 0
                && !first->cancelled && fits(&run.received[second->got_by], first)
                && (first->got_by < 0 || first->got_by > second->got_by))
                count++;
        }
    return count;
}

/* Of two receives the later one took no message that the earlier one could have taken, unless that got one:
 * and of the same sender only an earlier one. A receive that was cancelled may have been gone. */
static int passed_by(void)
{
    int a, b, count = 0;

    for (b = 0; b < run.receiveds; b++)
        for (a = 0; a < b; a++) {
            const struct received *first = &run.received[a], *second = &run.received[b];

            if (second->got < 0 || first->got == -2 || first->at != second->at
                || !fits(first, &run.sent[second->got]))
                continue;
            count += first->got < 0
                || (run.sent[first->got].from == run.sent[second->got].from && first->got > second->got);
        }
    return count;
}

static int unmet(void)
{
    int i, j, count = 0;

    for (i = 0; i < run.receiveds; i++)
        for (j = 0; run.received[i].got == -1 && j < run.sents; j++)
            count += run.sent[j].got_by < 0 && !run.sent[j].cancelled && fits(&run.received[i], &run.sent[j]);
    return count;
}

/* ---- A run ------------------------------------------------------------------------------------- */

static int sends_are_done(struct engines *s, void *arg)
{
    int i, left = 0;

    (void)s;
    (void)arg;
    collect();
    for (i = 0; i < run.sents; i++)
        left += run.sent[i].r != NULL || (run.sent[i].got_by < 0 && !run.sent[i].cancelled);
    return left == 0;
}

/* A receive for each message that may be left, so that all sends can end; then what is still posted goes. */
static int drain(void)
{
    int i, at, open[ENGINES_MOST] = { 0 };

    for (i = 0; i < run.sents; i++)
        open[run.sent[i].to] += run.sent[i].got_by < 0;
    for (at = 0; at < run.s.count; at++)
        for (i = 0; i < open[at] && run.receiveds < RECORDS; i++)
            receive_at(at, MPI_ANY_SOURCE, MPI_ANY_TAG, BYTES_MOST);
    if (!engines_until(&run.s, sends_are_done, NULL))
        return 0;
    for (i = 0; i < run.receiveds; i++)
        if (run.received[i].r != NULL)
            ftm_request_cancel(run.s.at[run.received[i].at], run.received[i].r);
    collect();
    return 1;
}

static void forget(void)
{
    int i;

    for (i = 0; i < run.sents; i++)
        free(run.sent[i].data);
    for (i = 0; i < run.receiveds; i++)
        free(run.received[i].data);
    run.sents = run.receiveds = 0;
}

static int one_run(uint32_t seed)
{
    int i, bad = 0, probes = 0, quiet;

    run.seed = seed;
    for (i = 0; i < STEPS; i++) {
        uint32_t what = draw(10);

        if (what < 4)
            send_one();
        else if (what < 8)
            receive_one();
        else if (what == 8)
            cancel_one();
        else
            probes += !probe_one();
        if (draw(3) == 0)
            engines_turn(&run.s);
        collect();
    }
    quiet = drain();
    for (i = 0; i < run.receiveds; i++)
        bad += run.received[i].wrong;
    bad += overtaken() + passed_by() + unmet() + probes + !quiet + run.s.ended;
    if (bad > 0)
        printf("# seed %lu: quiet %d, overtaken %d, passed by %d, unmet %d, probes %d, %s\n",
               (unsigned long)seed, quiet, overtaken(), passed_by(), unmet(), probes, run.s.line);
    forget();
    return bad;
}

static void many_runs(int ranks, const struct ftm_config *how, const char *name)
{
    int seed = 0, bad = 0;

    if (engines_begin(&run.s, ranks, how))
        for (seed = 1; seed <= 200 && bad == 0; seed++)
            bad += one_run((uint32_t)(seed * 100 + ranks));
    ok(bad == 0 && seed == 201, "%d ranks, %s", ranks, name);
    engines_finish(&run.s);
}

int main(void)
{
    struct ftm_config how;
    int ranks;

    memset(&how, 0, sizeof how);
    for (ranks = 1; ranks <= RANKS_MOST; ranks++)
        many_runs(ranks, &how, "all eager");
    how.eager_limit = 200;
    how.piece = 1000;
    many_runs(2, &how, "rendezvous above 200 bytes, in pieces of 1,000");
    how.eager_budget = 4000;
    many_runs(3, &how, "a budget of 4,000 bytes");
    how.asks = 2;
    many_runs(4, &how, "two that ask at a time");
    return test_end();
}
