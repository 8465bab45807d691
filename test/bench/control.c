/* control.c - how much of a processor one member can take by control frames, at a node that knows 20,000; and
 * how long it takes to cancel 100,000 messages. */

/* Each kind of frame is said many times on one link; a step follows each, so that what the frame brings about
 * is counted, too. Its cost in microseconds and its charge in units give the processors that the rate of all
 * links together (link.c: 50,000 units a second) permits to it; what changes names is charged to its link
 * alone, at 20,000 units. Bar: 0.1.
 *
 * A unit stands for 256 entries of tables looked at. How many are looked at for each that is charged, and
 * the bytes that go out, are exact. Bar: 2. */
#include "test.h"

#include "../../phoenix.c"

#include "known.h"

#include <time.h>

enum { MANY = 20000, UNITS = 50000, LINK_UNITS = 20000 };

static unsigned char said[4096];
static struct phx__writer w;

static void put(const struct known *k, int kind, uint32_t i)
{
    struct phx__beat b = { 5000, 1, 0, 3, 0 };
    struct phx__request q;
    struct phx__suspect s;
    struct phx__hand h;

    b.around = i + 1;
    memset(&h, 0, sizeof h);
    h.target = k->p->self;
    h.giver = id_of(i % MANY);
    h.last = UINT64_MAX;
    h.epoch = 1;
    memset(&q, 0, sizeof q);
    q.id = id_of(i % MANY);
    q.seq = i;
    memset(&s, 0, sizeof s);
    s.id = id_of(i % MANY);
    s.seq = 2 + i % 100;
    switch (kind) {
    case 0: phx__wire_link_put(&w, PHX__BEAT, 0, 0, &b); break;
    case 1: phx__wire_link_put(&w, PHX__BEAT, PHX__BEAT_SHRUNK, 0, &b); break;
    case 2: phx__wire_end(&w, phx__wire_begin(&w, PHX__SUMMARY, 0, 0)); break;
    case 3: phx__wire_end(&w, phx__wire_begin(&w, PHX__SUMMARY, PHX__SUMMARY_REPLY, 0)); break;
    case 4: phx__wire_link_put(&w, PHX__HAND, 0, 16, &h); break;
    case 5: known_put_card(&w, 5, i + 2); break;
    case 6: phx__wire_link_put(&w, PHX__REQUEST, 0, 16, &q); break;
    default: phx__wire_link_put(&w, PHX__SUSPECT, 0, 16, &s);
    }
}

struct cost {
    double processors; /* at the rate that is permitted */
    double looks;      /* in units, for each that is charged */
};

static struct cost measure(struct known *k, struct phx__link *l, int kind, uint32_t count)
{
    static const char *const name[] = { "BEAT", "BEAT, SHRUNK", "SUMMARY", "SUMMARY, REPLY",
                                        "HAND", "UPDATE, names", "REQUEST", "SUSPECT" };
    struct phx_stats then = known_stats(k), now;
    uint64_t units = 0, before;
    struct cost cost;
    double us;
    clock_t start = clock();
    uint32_t i;

    for (i = 0; i < count; i++) {
        phx__buf_writer_init(&w, said, sizeof said);
        put(k, kind, i);
        k->in = w.data;
        k->in_size = w.size;
        before = l->in.paid_at > k->now ? l->in.paid_at : k->now;
        phx__node_links_read(k->p, l);
        units += (l->in.paid_at - before) / 50;
        (void)phx_owner(k->p, i, NULL); /* as a message to some name would have it looked up */
        k->now += 20000 + (kind == 2 ? 1000000 : 0);
        phx_step(k->p, k->now, NULL, 0);
    }
    us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / count;
    now = known_stats(k);
    cost.processors = us / ((double)units / count) * (kind == 4 || kind == 5 ? LINK_UNITS : UNITS) / 1e6;
    cost.looks = (double)(now.looks - then.looks) / 256 / (double)units;
    printf("# %s: %.2f us and %.1f units each, %.3f processors; %.1f looks, %.3f units of them for each"
           " charged, %.0f bytes out\n", name[kind], us, (double)units / count, cost.processors,
           (double)(now.looks - then.looks) / count, cost.looks,
           (double)(now.bytes_out - then.bytes_out) / count);
    return cost;
}

static void cancel_all(void)
{
    const uint64_t tokens = 100000;
    struct phx_config cfg;
    struct phx_outgoing o;
    uint64_t i, gone = 0;
    clock_t start;
    double took;
    phx *p;

    phx_config_init(&cfg);
    cfg.hold_bytes = (size_t)1 << 30;
    memset(&o, 0, sizeof o);
    o.to = 7; /* nobody's */
    if (phx_new(&p, &cfg, 0) != 0)
        return;
    for (i = 1; i <= tokens; i++) {
        o.token = i;
        (void)phx_sendv(p, &o);
    }
    start = clock();
    for (i = 1; i <= tokens; i++)
        gone += phx_cancel(p, i) == 0;
    took = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("bar\tcancel_100000_tokens_s\t%.3f\t0.1\t%s\n", took,
           took <= 0.1 && gone == tokens ? "ok" : "short");
    phx_free(p);
}

int main(void)
{
    struct phx__link *l, *other;
    double most = 0, looks = 0;
    struct cost cost;
    struct known k;
    uint32_t i;
    int kind;

    known_begin(&k, 0, 65536);
    l = known_link(&k, 1000000);
    other = known_link(&k, 1000001);
    known_link(&k, 1000002);
    for (i = 0; i < MANY; i++) {
        (void)known_hears(&k, i % 2 ? l->peer : other->peer, i, 1, 1);
        (void)known_hears(&k, i % 2 ? other->peer : l->peer, i, 1, 1);
    }
    k.takes = SIZE_MAX;
    known_steps(&k, 5);
    for (kind = 0; kind < 8; kind++) {
        cost = measure(&k, l, kind, kind == 0 || kind == 3 || kind > 5 ? 20000 : 200);
        most = cost.processors > most ? cost.processors : most;
        looks = cost.looks > looks ? cost.looks : looks;
    }
    printf("bar\tcontrol_20000_looks_per_unit\t%.3f\t2\t%s\n", looks, looks <= 2 ? "ok" : "short");
    printf("bar\tcontrol_20000_processors\t%.3f\t0.1\t%s\n", most, most <= 0.1 ? "ok" : "short");
    cancel_all();
    return 0;
}
