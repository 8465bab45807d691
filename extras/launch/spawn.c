/* spawn.c - what a process asks for with MPI_Comm_spawn: as bytes, and as a job on agents that run. */

#include "spawn.h"
#include "../../phoenix.h"
#include "bytes.h"
#include "file.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAWN_BLOCK_LEAST 12u /* bytes of a block */

/* ---- Bytes ------------------------------------------------------------------------------------- */

int la_spawn_encode(const struct la_spawn *s, unsigned char **out, size_t *size)
{
    struct la_text t = { 0 };
    uint32_t i;

    *out = NULL;
    *size = 0;
    la_bytes_put_u32(&t, s->blocks_count);
    for (i = 0; i < s->blocks_count; i++) {
        la_bytes_put_u32(&t, s->blocks[i].ranks);
        la_bytes_put_strings(&t, s->blocks[i].argv);
        la_bytes_put_strings(&t, s->blocks[i].info);
    }
    la_bytes_put_strings(&t, s->preput);
    if (t.failed) {
        la_text_free(&t);
        return PHX_ENOMEM;
    }
    *out = (unsigned char *)t.at;
    *size = t.size;
    return 0;
}

/* Keys and values come in pairs. */
static int is_paired(char **at)
{
    size_t n = 0;

    while (at != NULL && at[n] != NULL)
        n++;
    return n % 2 == 0;
}

int la_spawn_decode(struct la_spawn_owned *out, const unsigned char *data, size_t size)
{
    struct la_bytes r = { NULL, 0, 0 };
    uint32_t count, i;

    memset(out, 0, sizeof *out);
    r.at = data;
    r.left = size;
    count = la_bytes_count(&r, SPAWN_BLOCK_LEAST);
    out->blocks = la_bytes_room(&r, count, sizeof *out->blocks);
    out->spawn.blocks = out->blocks;
    out->spawn.blocks_count = out->blocks != NULL ? count : 0;
    for (i = 0; i < out->spawn.blocks_count && r.result == 0; i++) {
        struct la_spawn_block *b = &out->blocks[i];

        b->ranks = la_bytes_u32(&r);
        b->argv = la_bytes_strings(&r);
        b->info = la_bytes_strings(&r);
        if (b->argv == NULL || b->argv[0] == NULL || !is_paired(b->info))
            la_bytes_fail(&r, PHX_EPROTO);
    }
    out->spawn.preput = la_bytes_strings(&r);
    if (count == 0 || r.left > 0 || !is_paired(out->spawn.preput))
        la_bytes_fail(&r, PHX_EPROTO);
    if (r.result != 0)
        la_spawn_free(out);
    return r.result;
}

void la_spawn_free(struct la_spawn_owned *s)
{
    uint32_t i;

    for (i = 0; i < s->spawn.blocks_count; i++) {
        la_text_list_drop(s->blocks[i].argv);
        la_text_list_drop(s->blocks[i].info);
    }
    free(s->blocks);
    la_text_list_drop(s->spawn.preput);
    memset(s, 0, sizeof *s);
}

int la_spawn_put_job(const struct la_job *job, const char *spawner, char **preput, unsigned char **out,
                     size_t *size)
{
    struct la_text t = { 0 };
    unsigned char *bytes;
    size_t length;
    int err = la_job_encode(job, job->first, &bytes, &length);

    *out = NULL;
    *size = 0;
    if (err != 0)
        return err;
    la_bytes_put_string(&t, spawner);
    la_bytes_put_strings(&t, preput);
    la_text_add(&t, (const char *)bytes, length);
    free(bytes);
    if (t.failed) {
        la_text_free(&t);
        return PHX_ENOMEM;
    }
    *out = (unsigned char *)t.at;
    *size = t.size;
    return 0;
}

int la_spawn_take_job(struct la_job *out, char **spawner, char ***preput, uint32_t self,
                      const unsigned char *data, size_t size)
{
    struct la_bytes r = { NULL, 0, 0 };
    int err;

    memset(out, 0, sizeof *out);
    r.at = data;
    r.left = size;
    *spawner = la_bytes_needed(&r);
    *preput = la_bytes_strings(&r);
    if (!is_paired(*preput))
        la_bytes_fail(&r, PHX_EPROTO);
    err = r.result != 0 ? r.result : la_job_decode(out, r.at, r.left);
    if (err == 0 && (self < out->first || self - out->first >= out->agents_count))
        err = PHX_EPROTO;
    if (err == 0) {
        la_job_cut(out, self);
        return 0;
    }
    la_job_free(out);
    la_text_list_drop(*preput);
    free(*spawner);
    *spawner = NULL;
    *preput = NULL;
    return err;
}

/* ---- Places ------------------------------------------------------------------------------------ */

/* Ranks so far and their agents. next: the host that is next where none is named, as its place in by_node. */
struct spread {
    const struct la_job *running;
    const unsigned char *gone;
    uint32_t *by_node; /* the agents of the running job that have ranks, in the order of their nodes */
    uint32_t *at;      /* the agent of each rank */
    uint32_t ranks, next, nodes;
    char *why;
};

static const char *info(const struct la_spawn_block *b, const char *key)
{
    char **at;

    for (at = b->info; at != NULL && at[0] != NULL && at[1] != NULL; at += 2)
        if (strcmp(at[0], key) == 0)
            return at[1];
    return NULL;
}

static void fill_by_node(struct spread *s)
{
    uint32_t i, node;

    for (i = 0; i < s->running->nodes; i++)
        s->by_node[i] = LA_NONE;
    for (i = 0; i < s->running->agents_count; i++)
        if (s->running->agents[i].node != LA_NONE && (s->gone == NULL || !s->gone[i]))
            s->by_node[s->running->agents[i].node] = i;
    for (node = 0; node < s->running->nodes; node++)
        if (s->by_node[node] != LA_NONE)
            s->by_node[s->nodes++] = s->by_node[node];
}

static void spread_over_all(struct spread *s, uint32_t ranks)
{
    for (; ranks > 0; ranks--) {
        s->at[s->ranks++] = s->by_node[s->next];
        s->next = s->next + 1 < s->nodes ? s->next + 1 : 0;
    }
}

/* The agents of named hosts, in place of their numbers in the list. */
static int find_agents(struct spread *s, const struct la_hosts *h, uint32_t *agent)
{
    uint32_t i, k;

    for (i = 0; i < h->count; i++) {
        for (k = 0; k < s->running->agents_count; k++)
            if ((s->gone == NULL || !s->gone[k]) && strcmp(s->running->agents[k].host, h->list[i].name) == 0)
                break;
        if (k == s->running->agents_count) {
            snprintf(s->why, LA_TEXT, "spawn: the job has no host %.100s", h->list[i].name);
            return PHX_EINVAL;
        }
        agent[i] = k;
    }
    return 0;
}

static int spread_over(struct spread *s, const struct la_hosts *h, uint32_t ranks)
{
    uint32_t *agent = calloc((size_t)h->count + 1, sizeof *agent), i, n;
    int err = agent != NULL ? find_agents(s, h, agent) : PHX_ENOMEM;

    for (i = 0; err == 0 && ranks > 0; i = i + 1 < h->count ? i + 1 : 0)
        for (n = h->list[i].slots > 0 ? h->list[i].slots : 1; n > 0 && ranks > 0; n--, ranks--)
            s->at[s->ranks++] = agent[i];
    free(agent);
    return err;
}

static int spread_block(struct spread *s, const struct la_spawn_block *b)
{
    const char *list = info(b, "hosts"), *file = info(b, "hostfile");
    struct la_hosts h = { NULL, 0, 0 };
    struct la_text text = { 0 };
    int err = 0;

    if (list == NULL)
        list = info(b, "host");
    if (list != NULL)
        err = la_hosts_list(&h, list, s->why);
    else if (file != NULL)
        err = la_file_read(file, &text, s->why);
    if (err == 0 && list == NULL && file != NULL)
        err = la_hosts_file(&h, text.at, text.size, file, s->why);
    if (err == 0 && h.count > 0)
        err = spread_over(s, &h, b->ranks);
    else if (err == 0)
        spread_over_all(s, b->ranks);
    la_text_free(&text);
    la_hosts_free(&h);
    return err;
}

/* ---- Programs ---------------------------------------------------------------------------------- */

static char **copy_strings(char **from)
{
    struct la_list l = { 0 };

    for (; from != NULL && *from != NULL; from++)
        la_text_list_add(&l, *from, strlen(*from));
    if (l.failed)
        la_text_list_free(&l);
    return l.at;
}

/* path is where the program is, put before its name unless that says where itself. */
static char *with_path(const char *path, const char *name)
{
    struct la_text t = { 0 };

    if (path == NULL || *path == '\0' || name[0] == '/')
        return la_text_dup(name);
    la_text_say(&t, "%s/%s", path, name);
    if (t.failed)
        la_text_free(&t);
    return t.at;
}

static int fill_program(struct la_program *p, const struct la_spawn_block *b)
{
    const char *dir = info(b, "wdir");
    char *name;

    p->ranks = b->ranks;
    p->argv = copy_strings(b->argv);
    name = p->argv != NULL ? with_path(info(b, "path"), b->argv[0]) : NULL;
    if (name == NULL)
        return PHX_ENOMEM;
    free(p->argv[0]);
    p->argv[0] = name;
    p->dir = la_text_dup(dir);
    return dir != NULL && p->dir == NULL ? PHX_ENOMEM : 0;
}

static int fill_programs(struct la_job *out, const struct la_spawn *s)
{
    uint32_t i;
    int err = 0;

    out->programs = calloc((size_t)s->blocks_count + 1, sizeof *out->programs);
    if (out->programs == NULL)
        return PHX_ENOMEM;
    out->programs_count = s->blocks_count;
    for (i = 0; i < s->blocks_count && err == 0; i++)
        err = fill_program(&out->programs[i], &s->blocks[i]);
    return err;
}

static int copy(char **to, const char *from)
{
    *to = la_text_dup(from);
    return from != NULL && *to == NULL;
}

/* The running job's settings; standard input is the first job's. An empty environment is a list, too. */
static int fill_settings(struct la_job *out, const struct la_job *running)
{
    static const struct la_job zero;
    struct la_job own = *running;
    int failed;

    own.kvsname = own.mapping = own.dir = own.ssh = own.agent = own.out_pattern = own.err_pattern = NULL;
    own.stage = NULL;
    own.env = NULL;
    own.programs = out->programs;
    own.programs_count = out->programs_count;
    own.agents = NULL;
    own.where = NULL;
    own.agents_count = 0;
    own.id = 0;
    memcpy(own.key, zero.key, sizeof own.key);
    own.stdin_to = LA_STDIN_NONE;
    own.each = 0;
    *out = own;
    failed = copy(&out->dir, running->dir) | copy(&out->ssh, running->ssh) | copy(&out->agent, running->agent)
        | copy(&out->out_pattern, running->out_pattern) | copy(&out->err_pattern, running->err_pattern)
        | copy(&out->stage, running->stage);
    if (running->env != NULL && running->env[0] != NULL) {
        out->env = copy_strings(running->env);
        failed |= out->env == NULL;
    }
    return failed ? PHX_ENOMEM : 0;
}

/* ---- The job ----------------------------------------------------------------------------------- */

static int spread_all(struct spread *s, const struct la_spawn *spawn)
{
    uint64_t ranks = 0;
    uint32_t i;
    int err = 0;

    for (i = 0; i < spawn->blocks_count; i++)
        ranks += spawn->blocks[i].ranks;
    if (ranks == 0 || ranks > LA_RANKS_MAX || s->running->nodes == 0) {
        snprintf(s->why, LA_TEXT, "spawn: no number of processes: %lu", (unsigned long)ranks);
        return PHX_EINVAL;
    }
    s->by_node = calloc(s->running->nodes, sizeof *s->by_node);
    s->at = calloc((size_t)ranks, sizeof *s->at);
    if (s->by_node == NULL || s->at == NULL)
        return PHX_ENOMEM;
    fill_by_node(s);
    if (s->nodes == 0) {
        snprintf(s->why, LA_TEXT, "spawn: no host is left");
        return PHX_EINVAL;
    }
    for (i = 0; i < spawn->blocks_count && err == 0; i++)
        err = spread_block(s, &spawn->blocks[i]);
    return err;
}

int la_spawn_job(struct la_job *out, const struct la_job *running, const unsigned char *gone,
                 const struct la_spawn *s, char why[LA_TEXT])
{
    struct la_place_said said;
    struct spread spread;
    int err;

    memset(out, 0, sizeof *out);
    memset(&spread, 0, sizeof spread);
    spread.running = running;
    spread.gone = gone;
    spread.why = why;
    why[0] = '\0';
    err = spread_all(&spread, s);
    if (err == 0)
        err = fill_programs(out, s);
    if (err == 0)
        err = fill_settings(out, running);
    if (err == 0)
        err = la_place_beside(out, running, spread.at, &said, why);
    if (err != 0)
        la_job_free(out);
    free(spread.by_node);
    free(spread.at);
    return err;
}
