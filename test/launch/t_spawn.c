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
    static struct la_program one = { NULL, NULL, NULL, 4 };
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
    ok(la_spawn_job(&k, &j, &s, why) == 0, "two programs %s", why);
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
    ok(la_spawn_job(&k, &j, &s, why) == PHX_EINVAL && strcmp(why, want) == 0 && k.agents == NULL,
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
    test_bytes();
    return test_end();
}
