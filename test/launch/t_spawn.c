/* t_spawn.c - a spawn as bytes, and as a job on agents that run. */

#include "test.h"

#include "extras/launch/spawn.h"
#include "extras/launch/text.h"
#include "phoenix.h"

static char *words_a[] = { (char[]){ "./worker" }, (char[]){ "x y" }, NULL };
static char *words_b[] = { (char[]){ "other" }, NULL };
static char *where_b[] = { (char[]){ "host" },  (char[]){ "c:2,a" }, (char[]){ "path" },
                           (char[]){ "/opt" }, (char[]){ "wdir" },  (char[]){ "/tmp" }, NULL };
static char *preput[] = { (char[]){ "K" }, (char[]){ "v=w" }, NULL };

/* A job of four ranks on a and b, with c behind the gateway g and without ranks. */
static void begin(struct la_job *j)
{
    static struct la_program one = { NULL, NULL, NULL, 4, NULL };
    struct la_place_config cfg = { 0 };
    struct la_place_said said;
    struct la_hosts h = { 0 };
    char why[LA_TEXT];
    const char *file = "a:2\nb:1\nc:1 via=g\n";

    memset(j, 0, sizeof *j);
    check(la_hosts_file(&h, file, strlen(file), "f", why) == 0 && la_hosts_gateways(&h, why) == 0, "hosts");
    j->programs = &one;
    j->programs_count = 1;
    check(la_place(j, &h, &cfg, &said, why) == 0 && j->agents_count == 5, "placed");
    j->programs = NULL;
    j->programs_count = 0;
    la_hosts_free(&h);
    j->dir = la_text_dup("/home");
    j->grace_us = 77;
}

static void show(const struct la_job *j, struct la_text *t)
{
    uint32_t i, k;

    t->size = 0;
    la_text_add(t, "", 0);
    for (i = 0; i < j->agents_count; i++)
        for (k = 0; k < j->agents[i].runs_count; k++)
            la_text_say(t, "%s%s%u-%u", k > 0 ? "," : t->size > 0 ? " " : "", k > 0 ? "" : j->agents[i].host,
                        j->agents[i].runs[k].first,
                        j->agents[i].runs[k].first + j->agents[i].runs[k].count - 1);
}

/* Goal: a spawned job lives on agents that are there, under their numbers. */
static void test_job(void)
{
    struct la_spawn_block blocks[2] = { { 4, words_a, NULL }, { 3, words_b, where_b } };
    struct la_spawn s = { blocks, 2, preput };
    struct la_text t = { 0 };
    struct la_job j, k;
    char why[LA_TEXT];
    uint32_t i, same = 0;

    begin(&j);
    ok(la_spawn_job(&k, &j, NULL, &s, why) == 0, "two programs %s", why);
    show(&k, &t);
    ok(strcmp(t.at, "a0-0,3-3,6-6 b1-1 c2-2,4-5") == 0, "%s", t.at);
    ok(strcmp(k.mapping, "(vector,(0,3,1),(0,1,1),(2,1,2))") == 0, "%s", k.mapping);
    ok(k.size == 7 && k.nodes == 3 && k.programs_count == 2 && strcmp(k.programs[0].argv[1], "x y") == 0
           && strcmp(k.programs[1].argv[0], "/opt/other") == 0 && strcmp(k.programs[1].dir, "/tmp") == 0
           && strcmp(k.dir, "/home") == 0 && k.grace_us == 77 && k.stdin_to == LA_STDIN_NONE,
       "its programs, and the first job's settings");
    for (i = 0; i < j.agents_count; i++)
        same += k.agents[i].subtree == j.agents[i].subtree && strcmp(k.agents[i].host, j.agents[i].host) == 0;
    ok(same == 5 && k.agents_count == 5, "the same tree");
    la_job_free(&k);
    la_job_free(&j);
    la_text_free(&t);
}

static void refused(const char *key, const char *value, uint32_t ranks, const char *want)
{
    char *where[] = { (char *)(size_t)(const void *)key, (char *)(size_t)(const void *)value, NULL };
    struct la_spawn_block block = { 0, words_a, NULL };
    struct la_spawn s = { &block, 1, NULL };
    struct la_job j, k;
    char why[LA_TEXT];

    block.ranks = ranks;
    block.info = where;
    begin(&j);
    ok(la_spawn_job(&k, &j, NULL, &s, why) == PHX_EINVAL && strcmp(why, want) == 0 && k.agents == NULL,
       "refused: %s", why);
    la_job_free(&j);
}

static void test_refused(void)
{
    refused("host", "a,d", 2, "spawn: the job has no host d");
    refused("hosts", "a:0", 2, "hosts, column 3: a host with count 0");
    refused("hostfile", "/nowhere/f", 2, "/nowhere/f: No such file or directory");
    refused("soft", "1:2", 0, "spawn: no number of processes: 0");
    refused("soft", "1:2", UINT32_MAX, "spawn: no number of processes: 4294967295");
}

/* Goal: an agent that is gone gets no ranks, whether its host is named or not. */
static void test_gone(void)
{
    struct la_spawn_block block = { 5, words_b, NULL };
    struct la_spawn s = { &block, 1, NULL };
    unsigned char gone[5] = { 0 };
    struct la_text t = { 0 };
    struct la_job j, k;
    char why[LA_TEXT];
    uint32_t i, a = 0;

    begin(&j);
    for (i = 0; i < j.agents_count; i++)
        if (j.agents[i].runs_count > 0 && strcmp(j.agents[i].host, "a") == 0)
            a = i;
    gone[a] = 1;
    ok(la_spawn_job(&k, &j, gone, &s, why) == 0, "the others take them %s", why);
    show(&k, &t);
    ok(strcmp(t.at, "b0-0,2-2,4-4 c1-1,3-3") == 0, "%s", t.at);
    la_job_free(&k);
    block.info = where_b;
    ok(la_spawn_job(&k, &j, gone, &s, why) == PHX_EINVAL && strcmp(why, "spawn: the job has no host a") == 0,
       "%s", why);
    for (i = 0; i < 5; i++)
        gone[i] = 1;
    block.info = NULL;
    ok(la_spawn_job(&k, &j, gone, &s, why) == PHX_EINVAL && strcmp(why, "spawn: no host is left") == 0,
       "%s", why);
    la_job_free(&j);
    la_text_free(&t);
}

/* Goal: what all agents are told gives each its own slice, and no bytes do harm. */
static void test_job_bytes(void)
{
    struct la_spawn_block blocks[2] = { { 4, words_a, NULL }, { 3, words_b, where_b } };
    struct la_spawn s = { blocks, 2, preput };
    struct la_job j, k, back;
    char why[LA_TEXT], *spawner, **keys;
    unsigned char *bytes;
    uint32_t i, good = 0, cut = 0;
    size_t size, n;

    begin(&j);
    check(la_spawn_job(&k, &j, NULL, &s, why) == 0, "a job");
    memset(k.key, 7, sizeof k.key);
    k.kvsname = la_text_dup("kvs");
    ok(la_spawn_put_job(&k, "parent", preput, &bytes, &size) == 0, "bytes");
    for (i = 0; i < k.agents_count; i++) {
        if (la_spawn_take_job(&back, &spawner, &keys, i, bytes, size) != 0)
            continue;
        good += back.first == i && back.agents_count == k.agents[i].subtree
            && strcmp(back.agents[0].host, k.agents[i].host) == 0 && back.size == 7
            && strcmp(spawner, "parent") == 0 && strcmp(keys[1], "v=w") == 0;
        la_job_free(&back);
        la_text_list_drop(keys);
        free(spawner);
    }
    ok(good == 5, "each agent has its slice");
    ok(la_spawn_take_job(&back, &spawner, &keys, 5, bytes, size) == PHX_EPROTO, "there is no agent 5");
    for (n = 0; n < size; n++)
        cut += la_spawn_take_job(&back, &spawner, &keys, 0, bytes, n) == PHX_EPROTO && spawner == NULL;
    ok(cut == size, "cut anywhere");
    free(bytes);
    la_job_free(&k);
    la_job_free(&j);
}

/* Goal: there and back, and no bytes do harm. Method: cut anywhere, flip every bit. */
static void test_bytes(void)
{
    struct la_spawn_block blocks[2] = { { 4, words_a, NULL }, { 3, words_b, where_b } };
    struct la_spawn s = { blocks, 2, preput };
    struct la_spawn_owned back;
    unsigned char *bytes, *one;
    uint32_t cut = 0, odd = 0;
    size_t size, i;

    check(la_spawn_encode(&s, &bytes, &size) == 0, "bytes");
    ok(la_spawn_decode(&back, bytes, size) == 0 && back.spawn.blocks_count == 2 && back.blocks[0].ranks == 4
           && strcmp(back.blocks[0].argv[1], "x y") == 0 && back.blocks[0].info == NULL
           && strcmp(back.blocks[1].info[5], "/tmp") == 0 && back.blocks[1].info[6] == NULL
           && strcmp(back.spawn.preput[1], "v=w") == 0,
       "there and back");
    la_spawn_free(&back);
    for (i = 0; i < size; i++) {
        one = malloc(i + 1);
        memcpy(one, bytes, i);
        cut += la_spawn_decode(&back, one, i) == PHX_EPROTO && back.blocks == NULL;
        free(one);
    }
    ok(cut == size, "cut short it is refused");
    for (i = 0; i < size * 8; i++) {
        bytes[i / 8] = (unsigned char)(bytes[i / 8] ^ 1u << i % 8);
        odd += la_spawn_decode(&back, bytes, size) != 0 && back.blocks != NULL;
        la_spawn_free(&back);
        bytes[i / 8] = (unsigned char)(bytes[i / 8] ^ 1u << i % 8);
    }
    ok(odd == 0, "flipped bits do no harm");
    free(bytes);
}

int main(void)
{
    test_job();
    test_refused();
    test_gone();
    test_job_bytes();
    test_bytes();
    return test_end();
}
