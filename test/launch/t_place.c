/* t_place.c - places of ranks, their mapping, and the tree of agents. */
/* Promise 91. */

#include "test.h"

#include "extras/launch/place.h"
#include "extras/launch/text.h"
#include "phoenix.h"

struct trial {
    struct la_hosts hosts;
    struct la_job job;
    struct la_place_config cfg;
    struct la_place_said said;
    struct la_program program;
    char why[LA_TEXT];
    int err;
};

/* Hosts as a list, or as a file if there are lines. */
static void begin(struct trial *t, const char *hosts)
{
    int file = strchr(hosts, '\n') != NULL;

    memset(t, 0, sizeof *t);
    check((file ? la_hosts_file(&t->hosts, hosts, strlen(hosts), "hosts", t->why)
                : la_hosts_list(&t->hosts, hosts, t->why)) == 0, "hosts: %s", t->why);
    check(la_hosts_gateways(&t->hosts, t->why) == 0, "gateways: %s", t->why);
    t->job.programs = &t->program;
    t->job.programs_count = 1;
}

static void place(struct trial *t, uint32_t ranks)
{
    t->program.ranks = ranks;
    t->err = la_place(&t->job, &t->hosts, &t->cfg, &t->said, t->why);
}

static void end(struct trial *t)
{
    t->job.programs = NULL;
    t->job.programs_count = 0;
    la_job_free(&t->job);
    la_hosts_free(&t->hosts);
}

/* The agents as a tree: "launcher(a(b,c),d)" with their ranks, "a=0-1+4". */
static void show(const struct la_job *j, struct la_text *out)
{
    uint32_t ends[256], depth = 0, i, k;

    out->size = 0;
    la_text_add(out, "", 0);
    for (i = 0; i < j->agents_count; i++) {
        const struct la_agent *a = &j->agents[i];

        for (k = 0; depth > 0 && ends[depth - 1] == i; depth--)
            k++;
        for (; k > 0; k--)
            la_text_say(out, ")");
        if (i > 0)
            la_text_say(out, j->agents[i - 1].subtree > 1 ? "(" : ",");
        la_text_say(out, "%s", a->host);
        for (k = 0; k < a->runs_count; k++) {
            la_text_say(out, "%s%u", k == 0 ? "=" : "+", a->runs[k].first);
            if (a->runs[k].count > 1)
                la_text_say(out, "-%u", a->runs[k].first + a->runs[k].count - 1);
        }
        if (a->subtree > 1 && depth < 255)
            ends[depth++] = i + a->subtree;
    }
    for (; depth > 0; depth--)
        la_text_say(out, ")");
}

static void placed(const char *hosts, uint32_t ranks, uint32_t ppn, int cyclic, const char *mapping,
                   const char *tree)
{
    struct la_text got = { 0 };
    struct trial t;

    begin(&t, hosts);
    t.cfg.ppn = ppn;
    t.cfg.cyclic = cyclic;
    place(&t, ranks);
    show(&t.job, &got);
    ok(t.err == 0 && t.job.mapping != NULL && strcmp(t.job.mapping, mapping) == 0, "%.*s %u: %s",
       (int)strcspn(hosts, "\n"), hosts, ranks, t.job.mapping != NULL ? t.job.mapping : t.why);
    if (tree != NULL)
        ok(strcmp(got.at, tree) == 0, "%s", got.at);
    la_text_free(&got);
    end(&t);
}

/* Goal: the placements and mappings that MPICH's clients expect. Method: known ones, by hand. */
static void test_mapping(void)
{
    placed("a[1-64]", 512, 8, 0, "(vector,(0,64,8))", NULL);
    placed("a,b,c,d", 8, 0, 0, "(vector,(0,4,1))", "launcher(a=0+4(b=1+5),c=2+6(d=3+7))");
    placed("a:2,b:2,c:4,d:4", 12, 0, 0, "(vector,(0,2,2),(2,2,4))", "launcher(a=0-1(b=2-3),c=4-7(d=8-11))");
    placed("a:2,b:2", 3, 0, 0, "(vector,(0,1,2),(1,1,1))", "launcher(a=0-1,b=2)");
    placed("a,b,c,d", 5, 0, 0, "(vector,(0,4,1))", "launcher(a=0+4(b=1),c=2(d=3))");
    placed("a:2,b:2", 7, 0, 0, "(vector,(0,2,2))", "launcher(a=0-1+4-5,b=2-3+6)");
    placed("a", 8, 0, 0, "(vector,(0,1,8))", "launcher(a=0-7)");
    placed("a,b,c", 2, 0, 0, "(vector,(0,2,1))", "launcher(a=0,b=1)");
    placed("a:2,b:2", 4, 0, 1, "(vector,(0,2,1))", "launcher(a=0+2,b=1+3)");
    placed("a:1,b:3", 8, 0, 1, "(vector,(0,1,1),(1,1,3))", "launcher(a=0+4,b=1-3+5-7)");
    placed("a:2,b:1", 6, 0, 1, "(vector,(0,2,1),(0,1,1))", "launcher(a=0+2-3+5,b=1+4)");
    placed("a:4,b:4", 4, 1, 0, "(vector,(0,2,1))", "launcher(a=0+2,b=1+3)");
    placed("a,b,a", 3, 0, 0, "(vector,(0,3,1))", "launcher(a=0(b=1),a=2)");
}

/* The rank's host number as a client of MPI reads it from the mapping. */
static int mapping_fits(const struct la_job *j)
{
    unsigned first, hosts, each;
    uint32_t rank = 0, h, k, i, *node = calloc(j->size, sizeof *node);
    const char *at;
    int used, good = node != NULL && strncmp(j->mapping, "(vector,", 8) == 0;

    while (good && rank < j->size)
        for (at = j->mapping + 7; good && *at == ',' && rank < j->size; at += used) {
            good = sscanf(at, ",(%u,%u,%u)%n", &first, &hosts, &each, &used) == 3 && hosts > 0 && each > 0;
            for (h = 0; good && h < hosts; h++)
                for (k = 0; k < each && rank < j->size; k++)
                    node[rank++] = first + h;
        }
    for (i = 0; good && i < j->agents_count; i++)
        for (k = 0; k < j->agents[i].runs_count; k++)
            for (h = 0; h < j->agents[i].runs[k].count; h++)
                good = good && node[j->agents[i].runs[k].first + h] == j->agents[i].node;
    free(node);
    return good;
}

static void test_too_long(void)
{
    struct la_text hosts = { 0 };
    struct trial t;
    int i;

    for (i = 0; i < 200; i++)
        la_text_say(&hosts, "%sh%d:%d", i > 0 ? "," : "", i, 1 + i * i % 7);
    begin(&t, hosts.at);
    place(&t, 600);
    ok(t.err == 0 && t.job.mapping == NULL && strstr(t.said.mapping, "600 ranks") != NULL,
       "a mapping that is too long is left out: %s", t.said.mapping);
    end(&t);
    begin(&t, "a:3,b:1,c:2");
    place(&t, 60000);
    ok(t.err == 0 && t.job.mapping != NULL && strcmp(t.job.mapping, "(vector,(0,1,3),(1,1,1),(2,1,2))") == 0,
       "what repeats 10,000 times is said once: %s", t.job.mapping);
    end(&t);
    la_text_free(&hosts);
}

static void test_warnings(void)
{
    /* Promise 103: more ranks than slots are placed all the same, with one line about it. */
    struct trial t;

    begin(&t, "a:2,b:2,c:2");
    place(&t, 7);
    ok(strcmp(t.said.slots, "more ranks than slots: 3 on a, which has 2") == 0, "%s", t.said.slots);
    end(&t);
    begin(&t, "a:2,b:2,c:2");
    t.cfg.ppn = 4;
    place(&t, 12);
    ok(strcmp(t.said.slots, "more ranks than slots on 3 hosts, 4 on a, which has 2") == 0, "%s",
       t.said.slots);
    end(&t);
    begin(&t, "a,b");
    t.cfg.local = "b";
    t.cfg.processors = 2;
    place(&t, 6);
    ok(strcmp(t.said.slots, "more ranks than processors: 3 on b, which has 2") == 0, "%s", t.said.slots);
    end(&t);
    begin(&t, "a:2,b:2");
    place(&t, 4);
    ok(t.said.slots[0] == '\0' && t.said.mapping[0] == '\0' && t.said.localhost[0] == '\0', "no warning");
    end(&t);
    begin(&t, "a,localhost");
    t.job.starter = LA_SSH;
    place(&t, 2);
    ok(strstr(t.said.localhost, "localhost is named") != NULL, "%s", t.said.localhost);
    t.job.starter = LA_FORK;
    end(&t);
}

/* Goal: the degree is the paper's. Method: numbers of hosts and processes, by hand. */
static void test_degree(void)
{
    static const struct {
        uint32_t hosts, ppn, max_conn, max_depth, given, degree, depth;
    } want[] = {
        { 1, 1, 0, 0, 0, 2, 1 },        { 2, 1, 0, 0, 0, 2, 1 },       { 6, 1, 0, 0, 0, 2, 2 },
        { 7, 1, 0, 0, 0, 3, 2 },        { 64, 8, 0, 0, 0, 8, 2 },      { 640, 16, 0, 0, 0, 25, 2 },
        { 1056, 1, 0, 0, 0, 32, 2 },    { 1057, 1, 0, 0, 0, 32, 3 },   { 2048, 16, 0, 0, 0, 32, 3 },
        { 64, 8, 12, 0, 0, 4, 3 },      { 64, 16, 16, 0, 0, 2, 6 },    { 64, 16, 8, 0, 0, 2, 6 },
        { 64, 1, 0, 3, 0, 4, 3 },       { 20, 1, 0, 1, 0, 20, 1 },     { 40, 1, 0, 1, 0, 32, 2 },
        { 16, 1, 0, 0, 2, 2, 4 },       { 100, 1, 0, 0, 50, 50, 2 },
    };
    char hosts[32];
    struct trial t;
    size_t i;

    for (i = 0; i < sizeof want / sizeof *want; i++) {
        snprintf(hosts, sizeof hosts, "n[1-%u]", want[i].hosts);
        begin(&t, hosts);
        t.cfg.ppn = want[i].ppn;
        t.cfg.max_conn = want[i].max_conn;
        t.cfg.max_depth = want[i].max_depth;
        t.cfg.degree = want[i].given;
        place(&t, want[i].hosts * want[i].ppn);
        ok(t.err == 0 && t.said.degree == want[i].degree && t.said.depth == want[i].depth,
           "%u hosts of %u: depth %u, %s", want[i].hosts, want[i].ppn, t.said.depth, t.said.why);
        end(&t);
    }
}

static void drawn(const char *hosts, const char *local, uint32_t degree, uint32_t ranks, uint32_t depth,
                  const char *tree)
{
    struct la_text got = { 0 };
    struct trial t;

    begin(&t, hosts);
    t.cfg.local = local;
    t.cfg.degree = degree;
    place(&t, ranks);
    show(&t.job, &got);
    ok(t.err == 0 && t.said.depth == depth && strcmp(got.at, tree) == 0, "%s, depth %u", got.at,
       t.said.depth);
    la_text_free(&got);
    end(&t);
}

/* Goal: who is below whom; a gateway that is named only so has no ranks, no number, and does not count. */
static void test_tree(void)
{
    drawn("a[1-7]", NULL, 0, 7, 2, "launcher(a1=0(a2=1,a3=2),a4=3(a5=4),a6=5(a7=6))");
    drawn("a[1-7]", "a1,a1.here", 0, 7, 2, "a1=0(a2=1(a3=2,a4=3),a5=4(a6=5,a7=6))");
    drawn("a[1-7]", "x,a3", 0, 7, 2, "a3=2(a1=0(a2=1,a4=3),a5=4(a6=5,a7=6))");
    drawn("a[1-7]", "x", 0, 2, 1, "x(a1=0,a2=1)");
    drawn("me", "me", 0, 3, 0, "me=0-2");
    drawn("a via=g\nb via=g\n", NULL, 0, 2, 1, "launcher(g(a=0,b=1))");
    drawn("a\nb\nc via=g\nd via=g\n", NULL, 0, 4, 2, "launcher(a=0(b=1),g(c=2,d=3))");
    drawn("g\na via=g\nb via=g\n", NULL, 0, 3, 2, "launcher(g=0(a=1,b=2))");
    drawn("g:9\na via=g\nb via=g\n", NULL, 0, 3, 1, "launcher(g=0-2)");
    drawn("a via=g\ng via=h\n", NULL, 0, 1, 1, "launcher(h(g(a=0)))");
    drawn("a via=me\nb\nme\n", "me", 0, 3, 1, "me=2(b=1,a=0)");
    drawn("a via=me\nb\n", "me", 0, 2, 1, "me(b=1,a=0)");
}

static void test_numbers(void)
{
    struct trial t;

    begin(&t, "a via=g\nb:2 via=g user=me\n");
    place(&t, 3);
    ok(t.err == 0 && t.job.nodes == 2 && strcmp(t.job.mapping, "(vector,(0,1,1),(1,1,2))") == 0
           && t.job.agents[1].node == LA_NONE && t.job.agents[2].node == 0 && t.job.agents[3].node == 1
           && t.job.agents[0].node == LA_NONE && t.job.agents[2].user == NULL
           && strcmp(t.job.agents[3].user, "me") == 0 && t.job.parent == LA_NONE && t.job.size == 3,
       "gateways and launcher have no numbers");
    ok(t.job.universe == -1, "slots are not known");
    end(&t);
    begin(&t, "a:4,b:8");
    place(&t, 2);
    ok(t.job.universe == 12, "slots are known");
    end(&t);
    begin(&t, "a");
    place(&t, 0);
    ok(t.err == PHX_EINVAL && strcmp(t.why, "no process is asked for") == 0, "%s", t.why);
    place(&t, LA_RANKS_MAX + 1);
    ok(t.err == PHX_EINVAL && strcmp(t.why, "more than 4194304 processes") == 0, "%s", t.why);
    t.cfg.degree = 1;
    place(&t, 1);
    ok(t.err == PHX_EINVAL && strcmp(t.why, "a tree of degree 1 is none") == 0, "%s", t.why);
    end(&t);
}

/* ---- Random lists ------------------------------------------------------------------------------ */

static uint32_t below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 10) % n;
}

static const struct la_host *find(const struct la_hosts *h, const char *name)
{
    uint32_t i;

    for (i = 0; i < h->count; i++)
        if (strcmp(h->list[i].name, name) == 0)
            return &h->list[i];
    return NULL;
}

static int same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Who starts an agent can reach its host: it is its gateway, or of the same zone. */
static int reaches(const struct trial *t, uint32_t parent, uint32_t child)
{
    const struct la_host *p = find(&t->hosts, t->job.agents[parent].host);
    const struct la_host *c = find(&t->hosts, t->job.agents[child].host);

    if (parent == 0)
        return c->via == NULL;
    return same(p->name, c->via) || same(p->via, c->via);
}

/* Ranks once each, runs ascending, subtrees within subtrees, no more children than the degree, no agent
 * without need, each reachable by its parent. */
static int sound(const struct trial *t)
{
    const struct la_job *j = &t->job;
    uint32_t i, child, children, ranks = 0, k;

    for (i = 0; i < j->agents_count; i++) {
        const struct la_agent *a = &j->agents[i];
        uint32_t next = 0;

        for (k = 0; k < a->runs_count; k++) {
            if (a->runs[k].first < next || a->runs[k].count == 0)
                return 0;
            next = a->runs[k].first + a->runs[k].count;
            ranks += a->runs[k].count;
        }
        if (i > 0 && a->subtree == 1 && a->runs_count == 0)
            return 0;
        children = 0;
        for (child = i + 1; child < i + a->subtree; child += j->agents[child].subtree, children++)
            if (j->agents[child].subtree == 0 || (j->agents_count < 1000 && !reaches(t, i, child)))
                return 0;
        if (child != i + a->subtree || children > t->said.degree)
            return 0;
    }
    return j->agents[0].subtree == j->agents_count && ranks == j->size;
}

/* Goal: whatever the list, all of the above holds. Method: random ones, some behind gateways, and each job
 * there and back as bytes. */
static void test_random(void)
{
    uint32_t seed = 3, i, k, bad = 0, gateways = 0, mapped = 0;

    for (i = 0; i < 3000; i++) {
        struct la_text hosts = { 0 };
        unsigned char *bytes = NULL;
        struct la_job back;
        struct trial t;
        uint32_t count = 1 + below(&seed, 40);
        size_t size = 0;

        for (k = 0; k < count; k++) {
            la_text_say(&hosts, "h%u", k);
            if (below(&seed, 2))
                la_text_say(&hosts, ":%u", 1 + below(&seed, 4));
            if (i % 2 && below(&seed, 3) == 0) /* ways lead up only, so there is no circle */
                la_text_say(&hosts, " via=h%u", k + 1 + below(&seed, 50 - k));
            la_text_say(&hosts, "\n");
        }
        begin(&t, hosts.at);
        gateways += t.hosts.count - count;
        t.cfg.ppn = below(&seed, 3);
        t.cfg.cyclic = (int)below(&seed, 2);
        t.cfg.degree = below(&seed, 2) * (2 + below(&seed, 6));
        place(&t, 1 + below(&seed, 150));
        mapped += t.err == 0 && t.job.mapping != NULL;
        t.job.kvsname = la_text_dup("k");
        t.job.key[0] = 1;
        if (t.err != 0 || !sound(&t) || (t.job.mapping != NULL && !mapping_fits(&t.job)))
            bad++;
        t.program.argv = calloc(2, sizeof *t.program.argv);
        t.program.argv[0] = hosts.at;
        if (la_job_encode(&t.job, 0, &bytes, &size) != 0 || la_job_decode(&back, bytes, size) != 0)
            bad++;
        else
            la_job_free(&back);
        free(t.program.argv);
        free(bytes);
        la_text_free(&hosts);
        end(&t);
    }
    ok(bad == 0 && gateways > 1000 && mapped > 2500, "3000 random lists, %u gateways, %u mappings: %u bad",
       gateways, mapped, bad);
}

static void test_large(void)
{
    struct trial t;

    begin(&t, "n[1-60000]");
    t.cfg.ppn = 16;
    t.cfg.cyclic = 1;
    place(&t, 960000);
    ok(t.err == 0 && sound(&t) && strcmp(t.job.mapping, "(vector,(0,60000,1))") == 0, "60,000 hosts of 16");
    end(&t);
}

int main(void)
{
    test_mapping();
    test_too_long();
    test_warnings();
    test_degree();
    test_tree();
    test_numbers();
    test_random();
    test_large();
    return test_end();
}
