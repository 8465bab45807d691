/* sim.c - runs scenarios on the simulated world; usage below, or in what it says to nonsense. */
#include "story.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct request {
    const struct story *story;
    uint64_t seed, seeds;
    uint64_t nodes; /* 0: the story's usual number */
    uint64_t trace, routing, every, full;
    unsigned tests; /* lines that said ok, not ok or bar */
};

static int usage(const char *what)
{
    if (what)
        fprintf(stderr, "sim: %s\n", what);
    fprintf(stderr,
            "usage: sim [SEED=n] [SEEDS=count] [NODES=n] [SCENARIO=name|list] [TRACE=0|1|2]\n"
            "           [ROUTING=default|naive|paper] [EVERY=n] [FULL=0|1]\n"
            "SEEDS runs SEED, SEED+1 ..; TRACE=1 tells what happens, TRACE=2 every delivery too;\n"
            "ROUTING=naive and paper want the program sim_paper;\n"
            "EVERY looks at invariants every so many steps of a node (1: always);\n"
            "FULL=1 tells the stories of lies at full size.\n");
    return 2;
}

static int number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || v < least || v > most)
        return -1;
    *out = v;
    return 0;
}

static int routing(const char *text, uint64_t *out)
{
    static const char *const names[] = { "default", "naive", "paper" };
    unsigned i;

    for (i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    return -1;
}

static void list_some(const struct story *t)
{
    for (; t->name; t++)
        printf("%-14s %-52s NODES=%u\n", t->name, t->what, (unsigned)t->nodes);
}

static int list(void)
{
    list_some(stories);
    list_some(delivery_stories);
    list_some(detect_stories);
    list_some(lie_stories);
    list_some(mpi_stories);
    return 0;
}

/* One NAME=value. 0, -1 for nonsense. */
static int read_word(struct request *q, const char *word)
{
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t)(value - word) : 0;

    if (!value++)
        return -1;
    if (n == 4 && strncmp(word, "SEED", n) == 0)
        return number(value, 0, UINT64_MAX, &q->seed);
    if (n == 5 && strncmp(word, "SEEDS", n) == 0)
        return number(value, 1, 100000000, &q->seeds);
    if (n == 5 && strncmp(word, "NODES", n) == 0)
        return number(value, 1, 65536, &q->nodes);
    if (n == 5 && strncmp(word, "TRACE", n) == 0)
        return number(value, 0, 2, &q->trace);
    if (n == 5 && strncmp(word, "EVERY", n) == 0)
        return number(value, 1, 1000000, &q->every);
    if (n == 4 && strncmp(word, "FULL", n) == 0)
        return number(value, 0, 1, &q->full);
    if (n == 7 && strncmp(word, "ROUTING", n) == 0)
        return routing(value, &q->routing);
    if (n == 8 && strncmp(word, "SCENARIO", n) == 0)
        return (q->story = story_find(value)) ? 0 : -1;
    return -1;
}

static const char *routing_name(uint64_t r)
{
    return r == 1 ? "naive" : r == 2 ? "paper" : "default";
}

/* One seed: 0, or 1 if it failed. *peace: see struct sim. */
static int run(struct request *q, uint64_t seed, int alone, uint64_t *peace, uint64_t *events)
{
    struct sim_options o;
    struct world_options w;
    struct sim *s;
    int failed;

    memset(&o, 0, sizeof o);
    o.seed = seed;
    o.nodes = (uint32_t)q->nodes;
    o.routing = (int)q->routing;
    o.trace = (int)q->trace;
    o.every = (uint32_t)q->every;
    o.full = (int)q->full;
    world_options_init(&w, seed, o.nodes);
    if (q->story->world)
        q->story->world(&w);
    s = sim_new(&o, o.nodes, &w);
    if (!s) {
        printf("not ok - sim: no memory for %u nodes\n", (unsigned)o.nodes);
        q->tests++;
        return 1;
    }
    q->story->tell(s);
    check_quiet(s);
    failed = s->w->failed;
    *events += s->w->events;
    *peace = s->peace_us;
    if (failed)
        printf("not ok - sim %s: at %.6f s: %s\n"
               "# make sim SCENARIO=%s SEED=%llu NODES=%u ROUTING=%s TRACE=1\n",
               q->story->name, (double)now_us(s) / 1e6, s->w->why, q->story->name,
               (unsigned long long)seed, (unsigned)o.nodes, routing_name(q->routing));
    else if (alone)
        printf("ok - sim %s SEED=%llu NODES=%u # %.3f s, %llu events, trace %016llx\n",
               q->story->name, (unsigned long long)seed, (unsigned)o.nodes,
               (double)now_us(s) / 1e6, (unsigned long long)s->w->events,
               (unsigned long long)s->w->trace);
    q->tests += s->bars + (failed || alone);
    sim_free(s);
    return failed;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static int run_many(struct request *q)
{
    uint64_t *peace = calloc(q->seeds, sizeof *peace), i, failed = 0, events = 0;
    clock_t began = clock();
    double seconds;

    if (!peace)
        return 1;
    /* Enough failures to see whether they are one or many. */
    for (i = 0; i < q->seeds && failed < 10; i++)
        failed += (uint64_t)run(q, q->seed + i, q->seeds == 1, &peace[i], &events);
    seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    fprintf(stderr, "# %.1f s of processor time, %.2f million events per second\n", seconds,
            seconds > 0 ? (double)events / seconds / 1e6 : 0);
    if (q->seeds > 1) {
        printf("%s - sim %s, %llu of %llu seeds from %llu, up to %u nodes, %llu failed\n",
               failed ? "not ok" : "ok", q->story->name, (unsigned long long)i,
               (unsigned long long)q->seeds, (unsigned long long)q->seed, (unsigned)q->nodes,
               (unsigned long long)failed);
        printf("bar\t%s seeds failed of %llu\t%llu\t0\t%s\n", q->story->name, (unsigned long long)i,
               (unsigned long long)failed, failed ? "short" : "ok");
        q->tests += 2;
        qsort(peace, i, sizeof *peace, compare);
        if (peace[i - 1])
            printf("figure\t%s peace s: median, 90 %%, worst\t%.3f\t%.3f\t%.3f\n", q->story->name,
                   (double)peace[i / 2] / 1e6, (double)peace[i * 9 / 10] / 1e6,
                   (double)peace[i - 1] / 1e6);
    }
    free(peace);
    printf("1..%u\n", q->tests); /* last: a run that dies on the way has no plan */
    return failed != 0;
}

int main(int argc, char **argv)
{
    struct request q;
    int i;

    memset(&q, 0, sizeof q);
    q.story = story_find("campaign");
    q.seed = 1;
    q.seeds = 1;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "SCENARIO=list") == 0)
            return list();
        if (read_word(&q, argv[i]) < 0)
            return usage(argv[i]);
    }
    if (!q.nodes)
        q.nodes = q.story->nodes;
    if (q.nodes < q.story->nodes_min || q.nodes > q.story->nodes_max) {
        fprintf(stderr, "sim: %s wants %u to %u nodes\n", q.story->name,
                (unsigned)q.story->nodes_min, (unsigned)q.story->nodes_max);
        return usage(NULL);
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    return run_many(&q);
}
