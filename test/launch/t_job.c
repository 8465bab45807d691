/* t_job.c - the launcher's job: who has which rank, and its form as bytes. */

#include "test.h"

#include "extras/launch/job.h"
#include "extras/launch/text.h"
#include "phoenix.h"

static char **strings(const char *a, const char *b)
{
    struct la_list l = { 0 };

    la_text_list_add(&l, a, strlen(a));
    if (b != NULL)
        la_text_list_add(&l, b, strlen(b));
    return l.at;
}

static void set_agent(struct la_job *j, uint32_t at, const char *host, uint32_t subtree, uint32_t first,
                      uint32_t count)
{
    struct la_agent *a = &j->agents[at];

    a->host = la_text_dup(host);
    a->subtree = subtree;
    a->node = count > 0 ? at - 1 : LA_NONE;
    if (count == 0)
        return;
    a->runs = calloc(2, sizeof *a->runs);
    a->runs_count = 2;
    a->runs[0].first = first;
    a->runs[0].count = count;
    a->runs[1].first = 10 + first;
    a->runs[1].count = count;
}

/* Twenty ranks of two programs on five hosts and a launcher: 0 -> 1 -> 2, 3; 0 -> 4 -> 5. */
static void fill(struct la_job *j)
{
    uint32_t i;

    memset(j, 0, sizeof *j);
    j->id = 0x3abcdef;
    memset(j->key, 7, sizeof j->key);
    j->kvsname = la_text_dup("job_1_2_host");
    j->size = 20;
    j->nodes = 5;
    j->universe = -1;
    j->mapping = la_text_dup("(vector,(0,5,2))");
    j->dir = la_text_dup("/home/someone");
    j->env = strings("A=1", "B=two\nlines = here");
    j->programs = calloc(2, sizeof *j->programs);
    j->programs_count = 2;
    for (i = 0; i < 2; i++) {
        j->programs[i].argv = strings(i == 0 ? "./a" : "./b", "");
        j->programs[i].ranks = i == 0 ? 5 : 15;
    }
    j->programs[1].env = strings("C=3", NULL);
    j->programs[1].dir = la_text_dup("/tmp");
    j->starter = LA_FORK;
    j->pmi = LA_PMI_PMGR;
    j->stdin_to = LA_STDIN_NONE;
    j->agent = la_text_dup("/usr/bin/phxrun");
    j->label = j->go_on = j->lazy = j->ftmpi = 1;
    j->push_limit = (uint64_t)1 << 40;
    j->detector = LA_DETECT_TIMES;
    j->detect_us[2] = 12345678901;
    j->err_pattern = la_text_dup("err.%r");
    j->parent = LA_NONE;
    j->agents = calloc(6, sizeof *j->agents);
    j->agents_count = 6;
    set_agent(j, 0, "here", 6, 0, 0);
    set_agent(j, 1, "a", 3, 0, 2);
    set_agent(j, 2, "b", 1, 2, 2);
    set_agent(j, 3, "c", 1, 4, 2);
    j->agents[3].site = 7;
    set_agent(j, 4, "d", 2, 6, 2);
    set_agent(j, 5, "e", 1, 8, 2);
    j->agents[3].user = la_text_dup("someone");
}

/* Goal: ranks are found at their agents, agents below their children. Method: a small tree. */
static void test_who(void)
{
    struct la_job j;
    uint32_t r, bad = 0;

    fill(&j);
    for (r = 0; r < 20; r++)
        bad += la_job_agent_of(&j, r) != 1 + r % 10 / 2;
    ok(bad == 0 && la_job_agent_of(&j, 20) == LA_NONE, "each rank is at its agent");
    ok(la_job_program_of(&j, 4) == 0 && la_job_program_of(&j, 5) == 1 && la_job_program_of(&j, 19) == 1
           && la_job_program_of(&j, 20) == LA_NONE,
       "each rank has its program");
    ok(la_job_child_towards(&j, 0) == 0 && la_job_child_towards(&j, 1) == 1
           && la_job_child_towards(&j, 3) == 1 && la_job_child_towards(&j, 4) == 4
           && la_job_child_towards(&j, 5) == 4
           && la_job_child_towards(&j, 6) == LA_NONE,
       "each agent is below its child");
    ok(la_job_agent_name(&j, 5) == ((uint64_t)0x3abcdef << 38 | (uint64_t)2 << 36 | 5)
           && la_job_rank_name(&j, 19) == ((uint64_t)0x3abcdef << 38 | (uint64_t)3 << 36 | 19),
       "names of agents and ranks");
    la_job_free(&j);
    ok(j.agents == NULL && j.programs_count == 0, "freed is empty");
    la_job_free(&j);
}

static int same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int same_list(char **a, char **b)
{
    for (; a != NULL && b != NULL && *a != NULL && *b != NULL; a++, b++)
        if (strcmp(*a, *b) != 0)
            return 0;
    return a == NULL || b == NULL ? a == b : *a == *b;
}

static int same_settings(const struct la_job *a, const struct la_job *b)
{
    return a->id == b->id && memcmp(a->key, b->key, 32) == 0 && same(a->kvsname, b->kvsname)
        && a->size == b->size && a->nodes == b->nodes && a->universe == b->universe
        && same(a->mapping, b->mapping) && same(a->dir, b->dir) && same_list(a->env, b->env)
        && a->starter == b->starter && same(a->ssh, b->ssh) && same(a->agent, b->agent) && a->pmi == b->pmi
        && a->stdin_to == b->stdin_to && a->stdin_rank == b->stdin_rank && a->label == b->label
        && a->ftmpi == b->ftmpi
        && a->verbose == b->verbose && a->go_on == b->go_on && a->each == b->each && a->lazy == b->lazy
        && a->push_limit == b->push_limit && a->grace_us == b->grace_us
        && a->start_timeout_us == b->start_timeout_us && a->cut_wait_us == b->cut_wait_us
        && a->detector == b->detector && memcmp(a->detect_us, b->detect_us, sizeof a->detect_us) == 0
        && same(a->out_pattern, b->out_pattern) && same(a->err_pattern, b->err_pattern);
}

static int same_programs(const struct la_job *a, const struct la_job *b)
{
    uint32_t i;

    if (a->programs_count != b->programs_count)
        return 0;
    for (i = 0; i < a->programs_count; i++) {
        const struct la_program *x = &a->programs[i], *y = &b->programs[i];

        if (x->ranks != y->ranks || !same(x->dir, y->dir) || !same_list(x->argv, y->argv)
            || !same_list(x->env, y->env))
            return 0;
    }
    return 1;
}

static int same_agents(const struct la_agent *a, const struct la_agent *b, uint32_t count)
{
    for (; count-- > 0; a++, b++)
        if (!same(a->host, b->host) || !same(a->user, b->user) || a->subtree != b->subtree
            || a->node != b->node || a->site != b->site || a->runs_count != b->runs_count
            || (a->runs_count > 0 && memcmp(a->runs, b->runs, a->runs_count * sizeof *a->runs) != 0))
            return 0;
    return 1;
}

/* Goal: every agent gets its slice and all the rest. Method: there and back for each of the six. */
static void test_there_and_back(void)
{
    static const uint32_t parent[] = { LA_NONE, 0, 1, 1, 0, 4 };
    unsigned char *bytes, *again;
    struct la_job j, k;
    size_t size, more;
    uint32_t i;

    fill(&j);
    for (i = 0; i < 6; i++) {
        if (!check(la_job_encode(&j, i, &bytes, &size) == 0, "agent %u", i)
            || !check(la_job_decode(&k, bytes, size) == 0, "agent %u again", i))
            break;
        ok(same_settings(&j, &k) && same_programs(&j, &k) && k.first == i
               && k.parent == parent[i] && k.agents_count == j.agents[i].subtree
               && same_agents(k.agents, j.agents + i, k.agents_count),
           "agent %u gets its part of the job", i);
        check(la_job_encode(&k, i, &again, &more) == 0 && more == size && memcmp(bytes, again, size) == 0,
              "and would say the same");
        free(bytes);
        free(again);
        la_job_free(&k);
    }
    ok(la_job_encode(&j, 6, &bytes, &size) == PHX_EINVAL && bytes == NULL, "there is no agent 6");
    memset(j.key, 0, sizeof j.key);
    ok(la_job_encode(&j, 1, &bytes, &size) == PHX_EINVAL, "a job without a key does not travel");
    la_job_free(&j);
}

/* A child that got its slice finds parents and children in it by the same numbers. */
static void test_slice_of_slice(void)
{
    unsigned char *bytes = NULL, *direct = NULL;
    size_t size = 0, direct_size = 0;
    struct la_job j, k;

    fill(&j);
    check(la_job_encode(&j, 1, &bytes, &size) == 0 && la_job_decode(&k, bytes, size) == 0, "agent 1");
    free(bytes);
    ok(la_job_child_towards(&k, 3) == 3 && la_job_child_towards(&k, 1) == 1
           && la_job_child_towards(&k, 0) == LA_NONE && la_job_child_towards(&k, 4) == LA_NONE
           && la_job_agent_of(&k, 5) == 3
           && la_job_agent_of(&k, 6) == LA_NONE,
       "a slice answers for itself");
    check(la_job_encode(&k, 3, &bytes, &size) == 0, "agent 3 from agent 1");
    check(la_job_encode(&j, 3, &direct, &direct_size) == 0, "agent 3 from the launcher");
    ok(size == direct_size && memcmp(bytes, direct, size) == 0, "a slice of a slice is the slice");
    free(bytes);
    free(direct);
    la_job_free(&j);
    la_job_free(&k);
}

/* Goal: no bytes do harm. Method: cut at each length; each bit flipped; random stretches; under ASan. What is
 * taken in spite of a flip must be a job that can be said again in as many bytes. */
static void test_hostile(void)
{
    uint32_t taken = 0, cut = 0, seed = 1, odd = 0;
    unsigned char *bytes, *again, *one;
    size_t size, more, i;
    struct la_job j, k;

    fill(&j);
    check(la_job_encode(&j, 0, &bytes, &size) == 0, "the whole job");
    for (i = 0; i < size; i++) {
        one = malloc(i + 1); /* so that a read behind the end is seen */
        memcpy(one, bytes, i);
        cut += la_job_decode(&k, one, i) == PHX_EPROTO && k.agents == NULL;
        free(one);
    }
    ok(cut == size, "cut short at any of %lu places it is refused", (unsigned long)size);
    for (i = 0; i < size * 8 + 20000; i++) {
        size_t at = i / 8, n = 1;

        one = malloc(size);
        memcpy(one, bytes, size);
        if (i < size * 8)
            one[at] = (unsigned char)(one[at] ^ 1u << i % 8);
        for (; i >= size * 8 && n <= 4; n++) {
            seed = seed * 1664525u + 1013904223u;
            one[(seed >> 8) % size] = (unsigned char)(seed & 64 ? 255 : seed >> 24);
        }
        if (la_job_decode(&k, one, size) == 0) {
            taken++;
            odd += la_job_encode(&k, k.first, &again, &more) == 0 && more != size;
            free(again);
            la_job_free(&k);
        } else {
            odd += k.agents != NULL || k.kvsname != NULL;
        }
        free(one);
    }
    ok(odd == 0 && taken > 0, "flipped bits do no harm (%u were still a job)", taken);
    free(bytes);
    la_job_free(&j);
}

static int after(void (*change)(struct la_job *j))
{
    unsigned char *bytes;
    struct la_job j, k;
    size_t size;
    int result;

    fill(&j);
    change(&j);
    if (!check(la_job_encode(&j, 0, &bytes, &size) == 0, "encoded"))
        return 0;
    result = la_job_decode(&k, bytes, size);
    la_job_free(&k);
    la_job_free(&j);
    free(bytes);
    return result;
}

static void rank_twice(struct la_job *j) { j->agents[5].runs[0].first = 7; }
static void past_end(struct la_job *j) { j->agents[5].runs[1].count = 3; }
static void huge_run(struct la_job *j) { j->agents[5].runs[1].count = UINT32_MAX; }
static void no_run(struct la_job *j) { j->agents[5].runs[1].count = 0; }
static void backward(struct la_job *j) { j->agents[5].runs[1].first = 2; }
static void subtree_out(struct la_job *j) { j->agents[4].subtree = 3; }
static void subtree_across(struct la_job *j) { j->agents[2].subtree = 3; }
static void subtree_none(struct la_job *j) { j->agents[5].subtree = 0; }
static void node_out(struct la_job *j) { j->agents[5].node = 5; }
static void node_none(struct la_job *j) { j->agents[5].node = LA_NONE; }
static void sum_short(struct la_job *j) { j->programs[1].ranks = 14; }
static void sum_wraps(struct la_job *j) { j->programs[0].ranks = UINT32_MAX, j->programs[1].ranks = 21; }
static void no_argument(struct la_job *j) { free(j->programs[0].argv[0]), j->programs[0].argv[0] = NULL; }
static void odd_starter(struct la_job *j) { j->starter = LA_FORK + 1; }
static void odd_parent(struct la_job *j) { j->parent = 3; }
static void whole(struct la_job *j) { j->agents[0].subtree = 6; }

/* Goal: what contradicts itself is refused. Method: one wrong number each. */
static void test_sums(void)
{
    static void (*const change[])(struct la_job *) = {
        rank_twice,  past_end, huge_run,  no_run,    backward,  subtree_out, subtree_across, subtree_none,
        node_out,    node_none, sum_short, sum_wraps, odd_starter, odd_parent,
    };
    uint32_t i, refused = 0;

    ok(after(whole) == 0, "a whole one is taken");
    for (i = 0; i < sizeof change / sizeof *change; i++)
        refused += check(after(change[i]) == PHX_EPROTO, "number %u is refused", i) != 0;
    ok(refused == i, "all of %u jobs that contradict themselves are refused", i);
}

/* A program without a name can only be made by cutting its list, and leaks its other argument. */
static void test_head(void)
{
    unsigned char *bytes = NULL;
    struct la_job j, k;
    size_t size = 0;

    fill(&j);
    free(j.programs[0].argv[1]);
    j.programs[0].argv[1] = NULL;
    no_argument(&j);
    check(la_job_encode(&j, 0, &bytes, &size) == 0, "encoded");
    ok(la_job_decode(&k, bytes, size) == PHX_EPROTO, "a program without a name is refused");
    bytes[4] = 2;
    ok(la_job_decode(&k, bytes, size) == PHX_EVERSION, "another version is named as such");
    bytes[0] = 0;
    ok(la_job_decode(&k, bytes, size) == PHX_EPROTO, "and something else is no job");
    free(bytes);
    la_job_free(&j);
}

int main(void)
{
    test_who();
    test_there_and_back();
    test_slice_of_slice();
    test_hostile();
    test_sums();
    test_head();
    return test_end();
}
