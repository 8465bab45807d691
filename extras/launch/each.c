/* each.c - the answers of -k: one of each host, equal ones together. */

#define _POSIX_C_SOURCE 200809L
#include "each.h"
#include "../../phoenix.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

struct each_answer {
    struct la_queue text;
    const char *host;
    int status;
};

struct la_each {
    struct each_answer *answers; /* by rank */
    uint32_t count;
    size_t total;
};

int la_each_new(struct la_each **out, const struct la_job *job)
{
    struct la_each *e = (struct la_each *)calloc(1, sizeof *e);
    uint32_t i;

    *out = NULL;
    if (e == NULL)
        return PHX_ENOMEM;
    e->count = job->size;
    e->answers = (struct each_answer *)calloc((size_t)job->size + 1, sizeof *e->answers);
    if (e->answers == NULL) {
        free(e);
        return PHX_ENOMEM;
    }
    for (i = 0; i < e->count; i++) {
        uint32_t agent = la_job_agent_of(job, i);
        e->answers[i].host = agent < job->agents_count ? job->agents[agent].host : "?";
        e->answers[i].status = 1; /* of one from which no other comes */
    }
    *out = e;
    return 0;
}

void la_each_free(struct la_each *e)
{
    uint32_t i;

    if (e == NULL)
        return;
    for (i = 0; i < e->count; i++)
        la_queue_free(&e->answers[i].text);
    free(e->answers);
    free(e);
}

int la_each_output(struct la_each *e, const struct la_chunk *c)
{
    if (c->rank >= e->count)
        return PHX_EINVAL;
    if (c->size > LA_EACH_MOST - e->total)
        return PHX_ELIMIT;
    e->total += c->size;
    return la_queue_add(&e->answers[c->rank].text, c->data, c->size);
}

void la_each_status(struct la_each *e, uint32_t rank, int status)
{
    if (rank < e->count)
        e->answers[rank].status = status;
}

static int each_same(const struct each_answer *a, const struct each_answer *b)
{
    return a->status == b->status && a->text.size == b->text.size
           && memcmp(la_queue_first(&a->text), la_queue_first(&b->text), a->text.size) == 0;
}

/* An order in which equal answers stand together, those of lower ranks first. */
static int each_compare(const void *left, const void *right)
{
    const struct each_answer *a = *(const struct each_answer *const *)left;
    const struct each_answer *b = *(const struct each_answer *const *)right;
    int c;

    if (a->status != b->status)
        return a->status < b->status ? -1 : 1;
    if (a->text.size != b->text.size)
        return a->text.size < b->text.size ? -1 : 1;
    c = memcmp(la_queue_first(&a->text), la_queue_first(&b->text), a->text.size);
    return c != 0 ? c : a < b ? -1 : a > b;
}

struct each_group {
    uint32_t first, count; /* in the sorted list */
    const struct each_answer *lowest;
};

static int each_larger(const void *left, const void *right)
{
    const struct each_group *a = (const struct each_group *)left, *b = (const struct each_group *)right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->lowest < b->lowest ? -1 : a->lowest > b->lowest;
}

static void each_hosts(const struct each_answer **list, const struct each_group *g, int json,
                       struct la_text *out)
{
    uint32_t i;

    for (i = 0; i < g->count; i++) {
        const char *host = list[g->first + i]->host;
        if (json && i > 0)
            la_text_add(out, ", ", 2);
        else if (i > 0)
            la_text_add(out, ",", 1);
        if (json)
            la_plan_string(out, host, strlen(host));
        else
            la_text_add(out, host, strlen(host));
    }
}

static void each_group_text(const struct each_answer **list, const struct each_group *g, struct la_text *out)
{
    const char *text = (const char *)la_queue_first(&g->lowest->text);
    size_t size = g->lowest->text.size;

    each_hosts(list, g, 0, out);
    la_text_say(out, " (%lu)", (unsigned long)g->count);
    if (g->lowest->status != 0)
        la_text_say(out, " status %d", g->lowest->status);
    la_text_add(out, "\n", 1);
    la_text_add(out, text, size);
    if (size > 0 && text[size - 1] != '\n')
        la_text_add(out, "\n", 1);
}

static void each_group_json(const struct each_answer **list, const struct each_group *g, struct la_text *out)
{
    la_text_say(out, "  { \"hosts\": [");
    each_hosts(list, g, 1, out);
    la_text_say(out, "], \"status\": %d, \"output\": ", g->lowest->status);
    la_plan_string(out, (const char *)la_queue_first(&g->lowest->text), g->lowest->text.size);
    la_text_say(out, " }");
}

static uint32_t each_groups(const struct la_each *e, const struct each_answer **list,
                            struct each_group *groups)
{
    uint32_t i, n = 0;

    for (i = 0; i < e->count; i++)
        list[i] = &e->answers[i];
    qsort(list, e->count, sizeof *list, each_compare);
    for (i = 0; i < e->count; i++) {
        if (i == 0 || !each_same(list[i - 1], list[i])) {
            groups[n].first = i;
            groups[n].count = 0;
            groups[n++].lowest = list[i];
        }
        groups[n - 1].count++;
    }
    qsort(groups, n, sizeof *groups, each_larger);
    return n;
}

int la_each_report(const struct la_each *e, int json, struct la_text *out)
{
    const struct each_answer **list = (const struct each_answer **)malloc((e->count + 1) * sizeof *list);
    struct each_group *groups = (struct each_group *)malloc((e->count + 1) * sizeof *groups);
    uint32_t i, n;

    if (list == NULL || groups == NULL) {
        free(list);
        free(groups);
        return PHX_ENOMEM;
    }
    n = each_groups(e, list, groups);
    if (json)
        la_text_add(out, "[\n", 2);
    for (i = 0; i < n; i++) {
        if (json)
            each_group_json(list, &groups[i], out);
        else
            each_group_text(list, &groups[i], out);
        if (json)
            la_text_say(out, "%s\n", i + 1 < n ? "," : "");
    }
    if (json)
        la_text_add(out, "]\n", 2);
    free(list);
    free(groups);
    return out->failed ? PHX_ENOMEM : 0;
}
