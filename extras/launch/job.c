/* job.c - what a job is, who has which rank, and its form as bytes. */

/* The bytes come from a parent agent that proved the key, so they are not hostile as a stranger's are; but a
 * bug there must not become a crash here. Every count is checked against the bytes that are left before
 * memory is taken for it, so a job never takes more than a small multiple of its bytes.
 *
 * The form is in WIRE.md: numbers are little-endian, a string is its length (4 bytes) and its bytes without
 * a NUL, and no string at all is the length 2^32 - 1. */
#include "job.h"
#include "../../phoenix.h"
#include "bytes.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define JOB_MAGIC 0x4a61486cu /* "lHaJ" on the wire */
#define JOB_VERSION 1u
#define JOB_ROLE_ARBITER 1u
#define JOB_ROLE_AGENT 2u
#define JOB_ROLE_RANK 3u
/* The least that an agent, a run, a program and a string la_bytes_take as bytes. */
#define JOB_AGENT_LEAST 24u
#define JOB_RUN_SIZE 8u
#define JOB_PROGRAM_LEAST 16u

/* ---- Freeing ----------------------------------------------------------------------------------- */

static void free_programs(struct la_program *p, uint32_t count)
{
    uint32_t i;

    for (i = 0; p != NULL && i < count; i++) {
        la_text_list_drop(p[i].argv);
        la_text_list_drop(p[i].env);
        free(p[i].dir);
        free(p[i].path);
    }
    free(p);
}

static void agent_free(struct la_agent *a)
{
    free(a->host);
    free(a->user);
    free(a->runs);
}

static void free_agents(struct la_agent *a, uint32_t count)
{
    uint32_t i;

    for (i = 0; a != NULL && i < count; i++)
        agent_free(&a[i]);
    free(a);
}

void la_job_free(struct la_job *job)
{
    free(job->kvsname);
    free(job->mapping);
    free(job->dir);
    la_text_list_drop(job->env);
    free_programs(job->programs, job->programs_count);
    free(job->ssh);
    free(job->agent);
    free(job->out_pattern);
    free(job->err_pattern);
    free(job->stage);
    free_agents(job->agents, job->agents_count);
    free(job->where);
    memset(job, 0, sizeof *job);
}

/* ---- Who has what ------------------------------------------------------------------------------ */

static int agent_has(const struct la_agent *a, uint32_t rank)
{
    uint32_t low = 0, high = a->runs_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (rank < a->runs[middle].first)
            high = middle;
        else if (rank - a->runs[middle].first < a->runs[middle].count)
            return 1;
        else
            low = middle + 1;
    }
    return 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct la_where *x = a, *y = b;

    return x->run.first < y->run.first ? -1 : x->run.first > y->run.first;
}

int la_job_index(struct la_job *job)
{
    size_t count = 0, n = 0;
    struct la_where *all;
    uint32_t i, k;

    for (i = 0; i < job->agents_count; i++)
        count += job->agents[i].runs_count;
    all = calloc(count + 1, sizeof *all);
    if (all == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < job->agents_count; i++)
        for (k = 0; k < job->agents[i].runs_count; k++, n++) {
            all[n].run = job->agents[i].runs[k];
            all[n].agent = job->first + i;
        }
    qsort(all, count, sizeof *all, by_rank);
    free(job->where);
    job->where = all;
    job->where_count = (uint32_t)count;
    return 0;
}

static uint32_t find_where(const struct la_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->where_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct la_run *run = &job->where[middle].run;

        if (rank < run->first)
            high = middle;
        else if (rank - run->first < run->count)
            return job->where[middle].agent;
        else
            low = middle + 1;
    }
    return LA_NONE;
}

uint32_t la_job_agent_of(const struct la_job *job, uint32_t rank)
{
    uint32_t i;

    if (job->where != NULL)
        return find_where(job, rank);
    for (i = 0; i < job->agents_count; i++)
        if (agent_has(&job->agents[i], rank))
            return job->first + i;
    return LA_NONE;
}

uint32_t la_job_child_towards(const struct la_job *job, uint32_t number)
{
    uint32_t at = number - job->first, child = 1;

    if (number < job->first || at >= job->agents_count)
        return LA_NONE;
    if (at == 0)
        return number;
    while (at - child >= job->agents[child].subtree)
        child += job->agents[child].subtree;
    return job->first + child;
}

uint32_t la_job_program_of(const struct la_job *job, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < job->programs_count; i++) {
        if (rank < job->programs[i].ranks)
            return i;
        rank -= job->programs[i].ranks;
    }
    return LA_NONE;
}

static uint64_t name_of(const struct la_job *job, uint32_t role, uint32_t number)
{
    return (uint64_t)(job->id & 0x3ffffffu) << 38 | (uint64_t)role << 36 | number;
}

uint64_t la_job_agent_name(const struct la_job *job, uint32_t agent)
{
    return name_of(job, JOB_ROLE_AGENT, agent);
}

uint64_t la_job_rank_name(const struct la_job *job, uint32_t rank)
{
    return name_of(job, JOB_ROLE_RANK, rank);
}

uint64_t la_job_arbiter_name(const struct la_job *job)
{
    return (uint64_t)job->id << 38 | (uint64_t)JOB_ROLE_ARBITER << 36;
}

uint32_t la_job_of_name(uint64_t name)
{
    return (uint32_t)(name >> 38);
}

/* ---- To bytes ---------------------------------------------------------------------------------- */

static void put_settings(struct la_text *t, const struct la_job *j)
{
    const uint32_t plain[] = { j->size,          j->nodes,    (uint32_t)j->universe, (uint32_t)j->starter,
                               (uint32_t)j->pmi, (uint32_t)j->stdin_to, j->stdin_rank,
                               (uint32_t)j->detector };
    const uint64_t wide[] = { j->push_limit,   j->grace_us,     j->start_timeout_us, j->cut_wait_us,
                              j->detect_us[0], j->detect_us[1], j->detect_us[2] };
    uint32_t flags = (uint32_t)(j->label != 0) | (uint32_t)(j->verbose != 0) << 1
        | (uint32_t)(j->go_on != 0) << 2 | (uint32_t)(j->each != 0) << 3 | (uint32_t)(j->lazy != 0) << 4
        | (uint32_t)(j->copy != 0) << 5 | (uint32_t)(j->ftmpi != 0) << 6
        | (uint32_t)(j->ft != 0) << 7;
    size_t i;

    for (i = 0; i < sizeof plain / sizeof *plain; i++)
        la_bytes_put_u32(t, plain[i]);
    la_bytes_put_u32(t, flags);
    for (i = 0; i < sizeof wide / sizeof *wide; i++)
        la_bytes_put_number(t, wide[i], 8);
}

static void put_programs(struct la_text *t, const struct la_job *j)
{
    uint32_t i;

    la_bytes_put_u32(t, j->programs_count);
    for (i = 0; i < j->programs_count; i++) {
        la_bytes_put_u32(t, j->programs[i].ranks);
        la_bytes_put_strings(t, j->programs[i].argv);
        la_bytes_put_strings(t, j->programs[i].env);
        la_bytes_put_string(t, j->programs[i].dir);
    }
}

static void put_agent(struct la_text *t, const struct la_agent *a)
{
    uint32_t i;

    la_bytes_put_string(t, a->host);
    la_bytes_put_string(t, a->user);
    la_bytes_put_u32(t, a->subtree);
    la_bytes_put_u32(t, a->node);
    la_bytes_put_u32(t, a->site);
    la_bytes_put_u32(t, a->runs_count);
    for (i = 0; i < a->runs_count; i++) {
        la_bytes_put_u32(t, a->runs[i].first);
        la_bytes_put_u32(t, a->runs[i].count);
    }
}

/* The parent of agents[at], as its place in the slice. */
static uint32_t parent_of(const struct la_job *j, uint32_t at)
{
    uint32_t parent = 0, child = 1;

    while (child != at) {
        if (at - child < j->agents[child].subtree)
            parent = child++;
        else
            child += j->agents[child].subtree;
    }
    return parent;
}

void la_job_cut(struct la_job *job, uint32_t number)
{
    uint32_t at = number - job->first, count = job->agents[at].subtree, i;
    struct la_agent *old = job->agents;

    if (at > 0)
        job->parent = job->first + parent_of(job, at);
    for (i = 0; i < job->agents_count; i++)
        if (i < at || i - at >= count)
            agent_free(&old[i]);
    memmove(old, old + at, count * sizeof *old);
    job->agents_count = count;
    job->first = number;
    free(job->where);
    job->where = NULL;
}

static int encodable(const struct la_job *j, uint32_t number)
{
    static const unsigned char none[32];

    return number >= j->first && number - j->first < j->agents_count && j->kvsname != NULL
        && memcmp(j->key, none, sizeof none) != 0;
}

int la_job_encode(const struct la_job *job, uint32_t number, unsigned char **out, size_t *size)
{
    uint32_t at = number - job->first, i;
    struct la_text t = { 0 };

    *out = NULL;
    *size = 0;
    if (!encodable(job, number))
        return PHX_EINVAL;
    la_bytes_put_u32(&t, JOB_MAGIC);
    la_bytes_put_u32(&t, JOB_VERSION);
    la_bytes_put_u32(&t, job->id);
    la_text_add(&t, (const char *)job->key, sizeof job->key);
    la_bytes_put_string(&t, job->kvsname);
    put_settings(&t, job);
    la_bytes_put_string(&t, job->mapping);
    la_bytes_put_string(&t, job->dir);
    la_bytes_put_strings(&t, job->env);
    la_bytes_put_string(&t, job->ssh);
    la_bytes_put_string(&t, job->agent);
    la_bytes_put_string(&t, job->out_pattern);
    la_bytes_put_string(&t, job->err_pattern);
    la_bytes_put_string(&t, job->stage);
    put_programs(&t, job);
    la_bytes_put_u32(&t, number);
    la_bytes_put_u32(&t, at > 0 ? job->first + parent_of(job, at) : job->parent);
    la_bytes_put_u32(&t, job->agents[at].subtree);
    for (i = 0; i < job->agents[at].subtree; i++)
        put_agent(&t, &job->agents[at + i]);
    if (t.failed) {
        la_text_free(&t);
        return PHX_ENOMEM;
    }
    *out = (unsigned char *)t.at;
    *size = t.size;
    return 0;
}

/* ---- From bytes -------------------------------------------------------------------------------- */

/* One of the values 0..last of an enum. */
static int take_choice(struct la_bytes *r, int last)
{
    uint32_t value = la_bytes_u32(r);

    if (value > (uint32_t)last)
        la_bytes_fail(r, PHX_EPROTO);
    return r->result == 0 ? (int)value : 0;
}

static void take_settings(struct la_bytes *r, struct la_job *j)
{
    uint32_t flags;
    size_t i;

    j->size = la_bytes_u32(r);
    j->nodes = la_bytes_u32(r);
    j->universe = (int32_t)la_bytes_u32(r);
    j->starter = take_choice(r, LA_FORK);
    j->pmi = take_choice(r, LA_PMI_PMGR);
    j->stdin_to = take_choice(r, LA_STDIN_NONE);
    j->stdin_rank = la_bytes_u32(r);
    j->detector = take_choice(r, LA_DETECT_TIMES);
    flags = la_bytes_u32(r);
    if (flags >> 8 != 0)
        la_bytes_fail(r, PHX_EPROTO);
    j->label = flags & 1;
    j->verbose = flags >> 1 & 1;
    j->go_on = flags >> 2 & 1;
    j->each = flags >> 3 & 1;
    j->lazy = flags >> 4 & 1;
    j->copy = flags >> 5 & 1;
    j->ftmpi = flags >> 6 & 1;
    j->ft = flags >> 7 & 1;
    j->push_limit = la_bytes_number(r, 8);
    j->grace_us = la_bytes_number(r, 8);
    j->start_timeout_us = la_bytes_number(r, 8);
    j->cut_wait_us = la_bytes_number(r, 8);
    for (i = 0; i < 3; i++)
        j->detect_us[i] = la_bytes_number(r, 8);
}

static void take_programs(struct la_bytes *r, struct la_job *j)
{
    uint32_t count = la_bytes_count(r, JOB_PROGRAM_LEAST), i;
    uint64_t ranks = 0;

    j->programs = la_bytes_room(r, count, sizeof *j->programs);
    j->programs_count = j->programs != NULL ? count : 0;
    for (i = 0; i < j->programs_count && r->result == 0; i++) {
        struct la_program *p = &j->programs[i];

        p->ranks = la_bytes_u32(r);
        ranks += p->ranks;
        p->argv = la_bytes_strings(r);
        p->env = la_bytes_strings(r);
        p->dir = la_bytes_string(r);
        if (p->argv == NULL || p->argv[0] == NULL)
            la_bytes_fail(r, PHX_EPROTO);
    }
    if (ranks != j->size || count == 0)
        la_bytes_fail(r, PHX_EPROTO);
}

/* Runs ascend and fit into the job; a host has a number if it has runs. */
static void take_agent(struct la_bytes *r, const struct la_job *j, struct la_agent *a)
{
    uint32_t next = 0, count, i;

    a->host = la_bytes_needed(r);
    a->user = la_bytes_string(r);
    a->subtree = la_bytes_u32(r);
    a->node = la_bytes_u32(r);
    a->site = la_bytes_u32(r);
    count = la_bytes_count(r, JOB_RUN_SIZE);
    if ((a->node == LA_NONE) != (count == 0) || (count > 0 && a->node >= j->nodes))
        la_bytes_fail(r, PHX_EPROTO);
    a->runs = la_bytes_room(r, count, sizeof *a->runs);
    a->runs_count = a->runs != NULL ? count : 0;
    for (i = 0; i < a->runs_count; i++) {
        struct la_run *run = &a->runs[i];

        run->first = la_bytes_u32(r);
        run->count = la_bytes_u32(r);
        if (run->first < next || run->first >= j->size || run->count == 0
            || run->count > j->size - run->first)
            la_bytes_fail(r, PHX_EPROTO);
        next = run->first + run->count;
    }
}

/* Each subtree fits into that of its parent: a stack of where they end, as long as the tree is deep, which is
 * kept in `end` (one place for each agent). */
static int subtrees_fit(const struct la_job *j, uint32_t *end)
{
    uint32_t depth = 0, i;

    for (i = 0; i < j->agents_count; i++) {
        uint32_t subtree = j->agents[i].subtree, limit;

        while (depth > 0 && end[depth - 1] == i)
            depth--;
        limit = depth > 0 ? end[depth - 1] : j->agents_count;
        if (subtree == 0 || subtree > limit - i || (i == 0 && subtree != j->agents_count))
            return 0;
        end[depth++] = i + subtree;
    }
    return 1;
}

static int by_first(const void *a, const void *b)
{
    const struct la_run *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* No rank is at two agents. `all` has room for the runs of all. */
static int runs_apart(const struct la_job *j, struct la_run *all)
{
    size_t count = 0, i;

    for (i = 0; i < j->agents_count; i++) {
        if (j->agents[i].runs_count > 0)
            memcpy(all + count, j->agents[i].runs, j->agents[i].runs_count * sizeof *all);
        count += j->agents[i].runs_count;
    }
    qsort(all, count, sizeof *all, by_first);
    for (i = 1; i < count; i++)
        if (all[i].first - all[i - 1].first < all[i - 1].count)
            return 0;
    return 1;
}

static void check_slice(struct la_bytes *r, const struct la_job *j)
{
    size_t runs = 1, i;
    struct la_run *all;
    uint32_t *end;

    for (i = 0; i < j->agents_count; i++)
        runs += j->agents[i].runs_count;
    end = la_bytes_room(r, j->agents_count, sizeof *end);
    all = la_bytes_room(r, runs, sizeof *all);
    if (r->result == 0 && (!subtrees_fit(j, end) || !runs_apart(j, all)))
        la_bytes_fail(r, PHX_EPROTO);
    free(end);
    free(all);
}

static void take_slice(struct la_bytes *r, struct la_job *j)
{
    uint32_t count, i;

    j->first = la_bytes_u32(r);
    j->parent = la_bytes_u32(r);
    count = la_bytes_count(r, JOB_AGENT_LEAST);
    if (count == 0 || count > LA_NONE - j->first
        || (j->first == 0 ? j->parent != LA_NONE : j->parent >= j->first))
        la_bytes_fail(r, PHX_EPROTO);
    j->agents = la_bytes_room(r, count, sizeof *j->agents);
    j->agents_count = j->agents != NULL ? count : 0;
    for (i = 0; i < j->agents_count && r->result == 0; i++)
        take_agent(r, j, &j->agents[i]);
    if (r->left > 0)
        la_bytes_fail(r, PHX_EPROTO);
    check_slice(r, j);
}

static void take_head(struct la_bytes *r, struct la_job *j)
{
    const unsigned char *key;

    if (la_bytes_u32(r) != JOB_MAGIC)
        la_bytes_fail(r, PHX_EPROTO);
    if (la_bytes_u32(r) != JOB_VERSION)
        la_bytes_fail(r, PHX_EVERSION);
    j->id = la_bytes_u32(r);
    key = la_bytes_take(r, sizeof j->key);
    if (key != NULL)
        memcpy(j->key, key, sizeof j->key);
    j->kvsname = la_bytes_needed(r);
}

int la_job_decode(struct la_job *out, const unsigned char *data, size_t size)
{
    struct la_bytes r = { NULL, 0, 0 };

    r.at = data;
    r.left = size;
    memset(out, 0, sizeof *out);
    take_head(&r, out);
    take_settings(&r, out);
    out->mapping = la_bytes_string(&r);
    out->dir = la_bytes_string(&r);
    out->env = la_bytes_strings(&r);
    out->ssh = la_bytes_string(&r);
    out->agent = la_bytes_string(&r);
    out->out_pattern = la_bytes_string(&r);
    out->err_pattern = la_bytes_string(&r);
    out->stage = la_bytes_string(&r);
    take_programs(&r, out);
    take_slice(&r, out);
    if (r.result != 0)
        la_job_free(out);
    return r.result;
}
