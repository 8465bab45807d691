/* answers.c - what the hosts of phxrun -k answer: equal answers once, with the hosts that gave them. */

#include "answers.h"
#include "../../phoenix.h"
#include "place.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_NO_STATUS (-1)

/* Of one process. */
struct answer {
    struct la_text said[2]; /* what is kept of either stream */
    const char *host;
    uint32_t rank;
    int status;
    int loud;      /* it says too much: nothing is kept */
    int open[2];   /* a line was begun */
};

struct la_answers {
    struct answer *of; /* each rank */
    uint32_t count;
    int json;
};

int la_answers_new(struct la_answers **out, const struct la_job *job, int json)
{
    struct la_answers *a = calloc(1, sizeof *a);
    uint32_t i, k, n;

    *out = NULL;
    if (a != NULL)
        a->of = calloc((size_t)job->size + 1, sizeof *a->of);
    if (a == NULL || a->of == NULL) {
        free(a);
        return PHX_ENOMEM;
    }
    a->count = job->size;
    a->json = json;
    for (i = 0; i < a->count; i++) {
        a->of[i].rank = i;
        a->of[i].host = "?";
        a->of[i].status = ANSWER_NO_STATUS;
    }
    for (i = 0; i < job->agents_count; i++)
        for (k = 0; k < job->agents[i].runs_count; k++)
            for (n = 0; n < job->agents[i].runs[k].count; n++)
                if (job->agents[i].runs[k].first + n < a->count)
                    a->of[job->agents[i].runs[k].first + n].host = job->agents[i].host;
    *out = a;
    return 0;
}

void la_answers_free(struct la_answers *a)
{
    uint32_t i;

    for (i = 0; a != NULL && i < a->count; i++) {
        la_text_free(&a->of[i].said[0]);
        la_text_free(&a->of[i].said[1]);
    }
    if (a != NULL)
        free(a->of);
    free(a);
}

/* ---- Text -------------------------------------------------------------------------------------- */

/* Each line with its hosts before it; *open says whether the last one goes on. */
static void put_lines(struct la_text *out, const char *hosts, const char *data, size_t size, int *open)
{
    while (size > 0) {
        const char *stop = memchr(data, '\n', size);
        size_t one = stop != NULL ? (size_t)(stop - data) + 1 : size;

        if (!*open)
            la_text_say(out, "%s: ", hosts);
        la_text_add(out, data, one);
        *open = stop == NULL;
        data += one;
        size -= one;
    }
}

static void end_line(struct la_text *out, int *open)
{
    if (*open)
        la_text_add(out, "\n", 1);
    *open = 0;
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static void put_said(struct la_text *out, const char *name, const struct la_text *said)
{
    la_text_say(out, ",\"%s\":", name);
    la_plan_string(out, said->at != NULL ? said->at : "", said->size);
}

static void put_object(struct la_text *out, struct answer *const *group, size_t count, int part)
{
    size_t i;

    la_text_say(out, "{\"hosts\":[");
    for (i = 0; i < count; i++) {
        la_text_say(out, i > 0 ? "," : "");
        la_plan_string(out, group[i]->host, strlen(group[i]->host));
    }
    la_text_say(out, "]%s", part ? ",\"part\":true" : "");
    if (part || group[0]->status == ANSWER_NO_STATUS)
        la_text_say(out, ",\"status\":null");
    else
        la_text_say(out, ",\"status\":%d", group[0]->status);
    put_said(out, "stdout", &group[0]->said[0]);
    put_said(out, "stderr", &group[0]->said[1]);
    la_text_say(out, "}\n");
}

/* ---- Too much ---------------------------------------------------------------------------------- */

/* Prints and forgets what is kept of one process. */
static void spill(struct la_answers *a, struct answer *one, struct la_text now[2])
{
    int i;

    if (a->json)
        put_object(&now[0], &one, 1, 1);
    for (i = 0; i < 2; i++) {
        if (!a->json)
            put_lines(&now[i], one->host, one->said[i].at, one->said[i].size, &one->open[i]);
        la_text_free(&one->said[i]);
    }
}

int la_answers_output(struct la_answers *a, uint32_t rank, int stream, const void *data, size_t size,
                      struct la_text now[2])
{
    int i = stream == 2;
    struct answer *one;

    if (rank >= a->count || size == 0)
        return 0;
    one = &a->of[rank];
    if (!a->json && one->loud) {
        put_lines(&now[i], one->host, data, size, &one->open[i]);
        return now[i].failed ? PHX_ENOMEM : 0;
    }
    la_text_add(&one->said[i], data, size);
    if (one->said[i].failed)
        return PHX_ENOMEM;
    if (one->said[0].size + one->said[1].size > LA_ANSWER_MAX) {
        one->loud = 1;
        spill(a, one, now);
    }
    return now[0].failed || now[1].failed ? PHX_ENOMEM : 0;
}

void la_answers_exit(struct la_answers *a, uint32_t rank, int status)
{
    if (rank < a->count)
        a->of[rank].status = status;
}

/* ---- Groups ------------------------------------------------------------------------------------ */

static int compare(const struct la_text *x, const struct la_text *y)
{
    size_t size = x->size < y->size ? x->size : y->size;
    int order = size > 0 ? memcmp(x->at, y->at, size) : 0;

    return order != 0 ? order : x->size < y->size ? -1 : x->size > y->size;
}

static int by_rank(const struct answer *x, const struct answer *y)
{
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Equal ones stand together, in the order of their ranks. One function for each of what they are compared
 * by, since qsort hands nothing on: standard output, standard error, all. */
static int by_out(const void *a, const void *b)
{
    const struct answer *x = *(struct answer *const *)a, *y = *(struct answer *const *)b;
    int order = compare(&x->said[0], &y->said[0]);

    return order != 0 ? order : by_rank(x, y);
}

static int by_err(const void *a, const void *b)
{
    const struct answer *x = *(struct answer *const *)a, *y = *(struct answer *const *)b;
    int order = compare(&x->said[1], &y->said[1]);

    return order != 0 ? order : by_rank(x, y);
}

/* Those that said too much are like nobody else. */
static int order_of_all(const struct answer *x, const struct answer *y)
{
    int order = compare(&x->said[0], &y->said[0]);

    if (order == 0)
        order = compare(&x->said[1], &y->said[1]);
    if (order == 0)
        order = x->status < y->status ? -1 : x->status > y->status;
    if (order == 0)
        order = x->loud - y->loud;
    return order == 0 && x->loud ? by_rank(x, y) : order;
}

static int by_all(const void *a, const void *b)
{
    const struct answer *x = *(struct answer *const *)a, *y = *(struct answer *const *)b;
    int order = order_of_all(x, y);

    return order != 0 ? order : by_rank(x, y);
}

/* What equal ones are: a stretch of the sorted list. */
struct group {
    struct answer **at;
    size_t count;
};

static int by_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return by_rank(x->at[0], y->at[0]);
}

static int is_equal(const struct answer *x, const struct answer *y, int what)
{
    return (what < 2 ? compare(&x->said[what], &y->said[what]) : order_of_all(x, y)) == 0;
}

/* How many groups; what: 0 standard output, 1 standard error, 2 all. */
static size_t make_groups(struct answer **all, size_t count, int what, struct group *groups)
{
    size_t i, n = 0;

    qsort(all, count, sizeof *all, what == 0 ? by_out : what == 1 ? by_err : by_all);
    for (i = 0; i < count; i++) {
        if (n > 0 && is_equal(all[i - 1], all[i], what)) {
            groups[n - 1].count++;
            continue;
        }
        groups[n].at = &all[i];
        groups[n++].count = 1;
    }
    qsort(groups, n, sizeof *groups, by_first);
    return n;
}

/* The hosts of a group as they would be written on a command line. */
static int put_group(struct la_text *out, const struct group *g, int stream)
{
    const char **names = calloc(g->count + 1, sizeof *names);
    struct la_text hosts = { 0 };
    int open = 0, err = names == NULL ? PHX_ENOMEM : 0;
    size_t i;

    for (i = 0; err == 0 && i < g->count; i++)
        names[i] = g->at[i]->host;
    if (err == 0)
        la_hosts_fold(&hosts, names, g->count);
    if (err == 0 && hosts.failed)
        err = PHX_ENOMEM;
    if (err == 0) {
        put_lines(out, hosts.at, g->at[0]->said[stream].at, g->at[0]->said[stream].size, &open);
        end_line(out, &open);
    }
    la_text_free(&hosts);
    free(names);
    return err;
}

static int put_groups(struct la_answers *a, struct answer **all, struct group *groups, struct la_text now[2])
{
    size_t i, n;
    int what, err = 0;

    for (what = a->json ? 2 : 0; what < (a->json ? 3 : 2); what++) {
        n = make_groups(all, a->count, what, groups);
        for (i = 0; i < n && err == 0; i++) {
            if (what == 2)
                put_object(&now[0], groups[i].at, groups[i].count, 0);
            else if (groups[i].at[0]->said[what].size > 0)
                err = put_group(&now[what], &groups[i], what);
        }
    }
    return err;
}

int la_answers_finish(struct la_answers *a, struct la_text now[2])
{
    struct answer **all = calloc((size_t)a->count + 1, sizeof *all);
    struct group *groups = calloc((size_t)a->count + 1, sizeof *groups);
    int err = all == NULL || groups == NULL ? PHX_ENOMEM : 0;
    uint32_t i;

    for (i = 0; err == 0 && i < a->count; i++) {
        all[i] = &a->of[i];
        end_line(&now[0], &a->of[i].open[0]);
        end_line(&now[1], &a->of[i].open[1]);
    }
    if (err == 0)
        err = put_groups(a, all, groups, now);
    free(all);
    free(groups);
    return err == 0 && (now[0].failed || now[1].failed) ? PHX_ENOMEM : err;
}
