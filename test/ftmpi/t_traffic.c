/* t_traffic.c - random sends and receives through rings, beside the rules of matching.
 *
 * Goal: of all that several processes of one host send each other through rings, of which the simulated world
 * has none (there: mpi_traffic), nothing is lost, doubled, mixed up or overtaken, in all modes and sizes,
 * with wildcards, probes and cancelled requests.
 * Method: engines in one process over loopback. A seed draws what each does; some receives are posted before
 * and some after what they match. When all is quiet the record of who got what is compared with the rules.
 */
#include "engines.h"

#include "matching.h"

#define STEPS 120   /* of each run */
#define TAGS 3
#define BYTES_MOST 6000

static struct {
    struct engines s;
    uint32_t seed;
    struct matching m;
    struct ftm_request *sent[MATCHING_RECORDS], *received[MATCHING_RECORDS]; /* NULL: done */
} run;

static uint32_t draw(uint32_t below)
{
    run.seed = run.seed * 1664525u + 1013904223u;
    return (run.seed >> 8) % below;
}

static void send_one(void)
{
    int which = run.m.sents++;
    struct matching_sent *m = &run.m.sent[which];
    struct ftm *e;

    m->from = (int)draw((uint32_t)run.s.count);
    m->to = (int)draw((uint32_t)run.s.count);
    m->tag = (int)draw(TAGS);
    m->bytes = (int)(draw(4) == 0 ? 4 + draw(BYTES_MOST - 4) : 4 + draw(300));
    m->data = malloc((size_t)m->bytes);
    m->got_by = -1;
    m->cancelled = 0;
    matching_fill(m->data, m->bytes, which);
    e = run.s.at[m->from];
    check(ftm_send_start(e, &run.sent[which], draw(3) == 0 ? FTM_SYNCHRONOUS : FTM_STANDARD, e->world, 0,
                         m->data, (size_t)m->bytes, engines_type(&run.s, m->from, MPI_BYTE), m->to, m->tag)
              == 0, "a send starts");
}

static void receive_at(int at, int source, int tag)
{
    int which = run.m.receiveds++;
    struct matching_received *v = &run.m.received[which];
    struct ftm *e = run.s.at[at];

    v->at = at;
    v->source = source == MPI_ANY_SOURCE ? MATCHING_ANY : source;
    v->tag = tag == MPI_ANY_TAG ? MATCHING_ANY : tag;
    v->data = malloc(BYTES_MOST);
    v->got = -1;
    v->wrong = 0;
    check(ftm_recv_start(e, &run.received[which], e->world, 0, v->data, BYTES_MOST,
                         engines_type(&run.s, at, MPI_BYTE), source, tag) == 0, "a receive starts");
}

static void receive_one(void)
{
    int at = (int)draw((uint32_t)run.s.count);
    int source = draw(3) == 0 ? MPI_ANY_SOURCE : (int)draw((uint32_t)run.s.count);

    receive_at(at, source, draw(3) == 0 ? MPI_ANY_TAG : (int)draw(TAGS));
}

static void look_at(int which)
{
    const struct ftm_request *r = run.received[which];

    run.m.received[which].wrong |= r->error != 0;
    if (r->status.cancelled)
        run.m.received[which].got = -2;
    else
        matching_got(&run.m, which, r->status.source, r->status.tag, (int)r->status.bytes);
}

static void collect(void)
{
    int i;

    for (i = 0; i < run.m.receiveds; i++)
        if (run.received[i] != NULL && run.received[i]->done) {
            look_at(i);
            ftm_request_free(run.s.at[run.m.received[i].at], run.received[i]);
            run.received[i] = NULL;
        }
    for (i = 0; i < run.m.sents; i++)
        if (run.sent[i] != NULL && run.sent[i]->done) {
            run.m.sent[i].cancelled = run.sent[i]->status.cancelled;
            ftm_request_free(run.s.at[run.m.sent[i].from], run.sent[i]);
            run.sent[i] = NULL;
        }
}

static void cancel_one(void)
{
    int i = run.m.sents > 0 ? (int)draw((uint32_t)run.m.sents) : 0;

    if (draw(2) == 0 && run.m.sents > 0 && run.sent[i] != NULL)
        ftm_request_cancel(run.s.at[run.m.sent[i].from], run.sent[i]);
    i = run.m.receiveds > 0 ? (int)draw((uint32_t)run.m.receiveds) : 0;
    if (draw(4) == 0 && run.m.receiveds > 0 && run.received[i] != NULL)
        ftm_request_cancel(run.s.at[run.m.received[i].at], run.received[i]);
}

/* What a probe sees, the next receive of it gets. */
static void probe_one(void)
{
    int at = (int)draw((uint32_t)run.s.count), which = run.m.receiveds;
    struct ftm_status status;
    struct ftm *e = run.s.at[at];

    if (!ftm_recv_probe(e, e->world, MPI_ANY_SOURCE, MPI_ANY_TAG, &status))
        return;
    receive_at(at, status.source, status.tag);
    run.m.received[which].wrong = run.received[which] == NULL
        || run.received[which]->status.bytes != status.bytes;
}

/* ---- A run ------------------------------------------------------------------------------------- */

static int sends_are_done(struct engines *s, void *arg)
{
    int i, left = 0;

    (void)s;
    (void)arg;
    collect();
    for (i = 0; i < run.m.sents; i++)
        left += run.sent[i] != NULL || matching_is_lost(&run.m.sent[i]);
    return left == 0;
}

/* A receive for each message that may be left, so that all sends can end; then what is still posted goes. */
static int drain(void)
{
    int i, at, open[ENGINES_MOST] = { 0 };

    for (i = 0; i < run.m.sents; i++)
        open[run.m.sent[i].to] += run.m.sent[i].got_by < 0;
    for (at = 0; at < run.s.count; at++)
        for (i = 0; i < open[at] && run.m.receiveds < MATCHING_RECORDS; i++)
            receive_at(at, MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (!engines_until(&run.s, sends_are_done, NULL))
        return 0;
    for (i = 0; i < run.m.receiveds; i++)
        if (run.received[i] != NULL)
            ftm_request_cancel(run.s.at[run.m.received[i].at], run.received[i]);
    collect();
    return 1;
}

static void forget(void)
{
    int i;

    for (i = 0; i < run.m.sents; i++)
        free(run.m.sent[i].data);
    for (i = 0; i < run.m.receiveds; i++)
        free(run.m.received[i].data);
    run.m.sents = run.m.receiveds = 0;
}

static int one_run(uint32_t seed)
{
    char why[120];
    int i, bad, quiet;

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
            probe_one();
        if (draw(3) == 0)
            engines_turn(&run.s);
        collect();
    }
    quiet = drain();
    bad = matching_broken(&run.m, why, sizeof why) + !quiet + run.s.ended;
    if (bad > 0)
        printf("# seed %lu: quiet %d, %s, %s\n", (unsigned long)seed, quiet, why, run.s.line);
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

    memset(&how, 0, sizeof how);
    many_runs(1, &how, "to itself");
    how.ring = 1;
    many_runs(2, &how, "rings");
    many_runs(5, &how, "rings of five");
    how.eager_limit = 200;
    how.piece = 1000;
    many_runs(3, &how, "rings, and rendezvous");
    how.eager_budget = 4000;
    how.asks = 2;
    many_runs(4, &how, "rings, a budget of 4,000 bytes, two that ask at a time");
    return test_end();
}
