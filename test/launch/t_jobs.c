/* t_jobs.c - the launcher's jobs: who is ready, who is gone, spawns and their ends, levels of the tree. */

#include "test.h"

#include "extras/launch/launcher_jobs.h"
#include "extras/launch/text.h"
#include "phoenix.h"

/* Agents 0 to 6 as a tree of degree 2: 0 has 1 and 4, 1 has 2 and 3, 4 has 5 and 6; a rank on each. */
static void begin(struct launch_jobs *list, struct la_job *j)
{
    static const uint32_t subtree[] = { 7, 3, 1, 1, 3, 1, 1 };
    uint32_t i;

    memset(list, 0, sizeof *list);
    memset(j, 0, sizeof *j);
    j->size = j->nodes = 7;
    j->agents_count = 7;
    j->parent = LA_NONE;
    j->dir = la_text_dup("/");
    j->agents = calloc(7, sizeof *j->agents);
    check(j->agents != NULL && j->dir != NULL, "memory");
    for (i = 0; i < 7; i++) {
        char name[] = { 'a', '\0' };
        name[0] = (char)('a' + i);
        j->agents[i].host = la_text_dup(name);
        j->agents[i].subtree = subtree[i];
        j->agents[i].node = i;
        j->agents[i].runs = calloc(1, sizeof *j->agents[i].runs);
        check(j->agents[i].runs != NULL, "memory");
        j->agents[i].runs[0].first = i;
        j->agents[i].runs[0].count = 1;
        j->agents[i].runs_count = 1;
    }
    check(la_jobs_begin(list, j) == 0, "begun");
}

static void end(struct launch_jobs *list, struct la_job *j)
{
    la_jobs_free(list);
    la_job_free(j);
}

/* Goal: each agent is waited for once, whether it says that it is ready, or is lost before or after. */
static void test_ready(void)
{
    struct launch_jobs list;
    struct la_job j;

    begin(&list, &j);
    la_jobs_ready(&list, 0);
    la_jobs_ready(&list, 3);
    la_jobs_ready(&list, 3);
    ok(list.first->ready_count == 2, "two are ready, one said it twice");
    la_jobs_gone(&list, 3);
    la_jobs_gone(&list, 4);
    la_jobs_gone(&list, 4);
    ok(list.first->ready_count == 3 && list.gone[3] && list.gone[4] && !list.gone[0],
       "one was lost before it was ready, one after that");
    la_jobs_ready(&list, 4);
    la_jobs_ready(&list, 7);
    la_jobs_gone(&list, LA_NONE);
    ok(list.first->ready_count == 3, "who is gone, or unknown, counts no more");
    end(&list, &j);
}

static void test_stats(void)
{
    struct launch_jobs list;
    struct la_job j;
    char line[200];
    uint32_t i;

    begin(&list, &j);
    la_jobs_say(&list, line, sizeof line);
    ok(strcmp(line, "no key was asked for") == 0, "%s", line);
    for (i = 0; i < 8; i++)
        la_jobs_stats(&list, i, 10, i);
    la_jobs_say(&list, line, sizeof line);
    ok(list.told == 7
           && strcmp(line, "keys found where they were asked for: level 0: 0 of 10, level 1: 5 of 20, "
                           "level 2: 16 of 40") == 0,
       "%s", line);
    end(&list, &j);
}

/* A spawn of `ranks`, as an agent brings it. */
static int spawn(struct launch_jobs *list, uint32_t asker, uint32_t ranks, struct launch_job *asked,
                 char why[LA_TEXT])
{
    char word[] = "./w", key[] = "K", value[] = "v";
    char *words[] = { word, NULL }, *preput[] = { key, value, NULL };
    struct la_spawn_block block = { 0, words, NULL };
    struct la_spawn s = { &block, 1, preput };
    unsigned char *bytes, data[500] = { 0 }, *out = NULL;
    size_t size, out_size;
    int err;

    block.ranks = ranks;
    check(la_spawn_encode(&s, &bytes, &size) == 0 && size + 12 <= sizeof data, "bytes");
    data[0] = (unsigned char)asker;
    data[4] = 9;
    data[11] = 1;
    memcpy(data + 12, bytes, size);
    free(bytes);
    err = la_jobs_spawn(list, asked, 5, data, size + 12, &out, &out_size, why);
    check((err == 0) == (out != NULL), "what agents are told");
    free(out);
    return err;
}

static void test_spawns(void)
{
    struct launch_jobs list;
    struct launch_job asked, *k;
    struct la_job j;
    char why[LA_TEXT];
    uint32_t i, bad = 0;

    begin(&list, &j);
    la_jobs_gone(&list, 1);
    ok(spawn(&list, 0, 6, &asked, why) == 0 && list.count == 2 && list.living == 2, "a spawn");
    k = la_jobs_find(&list, 1);
    ok(k != NULL && k->asker == 5 && k->asker_job == 0 && k->token == ((uint64_t)1 << 56 | 9)
           && k->job->size == 6 && k->job->nodes == 6 && k->job->agents[1].runs_count == 0 && !k->answered
           && k->job->id != j.id && strcmp(k->job->kvsname, j.kvsname) != 0,
       "whose it is, and its places on agents that live");
    ok(spawn(&list, 3, 1, &asked, why) != 0 && strcmp(why, "spawn: its job is over") == 0
           && asked.asker == 5 && asked.token == k->token,
       "%s", why);
    ok(spawn(&list, 1, 0, &asked, why) != 0 && strcmp(why, "spawn: no number of processes: 0") == 0,
       "%s", why);
    for (i = 0; i < 200; i++) {
        bad += spawn(&list, 1, 1, &asked, why) != 0;
        k = la_jobs_find(&list, i + 2);
        if (k != NULL)
            la_jobs_over(&list, k);
        bad += k == NULL;
    }
    ok(bad == 0 && list.count == 202 && list.living == 2, "200 more that come and go");
    for (i = 0, k = list.first; k != NULL; k = k->next)
        i++;
    ok(i == 66 && la_jobs_find(&list, 0) != NULL && la_jobs_find(&list, 1) != NULL
           && la_jobs_find(&list, 137) == NULL && la_jobs_find(&list, 138) != NULL,
       "of which the last 64 are kept, beside those that live");
    end(&list, &j);
}

int main(void)
{
    test_ready();
    test_stats();
    test_spawns();
    return test_end();
}
