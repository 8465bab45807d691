/* pmi2.c - PMI-2: a length of six digits, then pairs key=value; on a stream that began with PMI-1. */

/* A request may carry thrid=x; its answer carries the same, and several may be under way, so a client that
 * waits is read on. A frame is decoded in place into strings: key NUL value NUL key NUL value NUL. */
#include "codec.h"
#include "phoenix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 6
#define FRAME_MOST 65536
#define KEY_MOST 64
#define VALUE_MOST 1024
#define ANSWER_MOST (HEAD + 2 * VALUE_MOST + 512) /* every ; of a value is doubled */

/* A decoded frame: cmd, and the strings of the other pairs up to end. */
struct request {
    const char *cmd, *pairs, *end;
    char thrid[LA_MARK];
};

/* An answer under construction. */
struct answer {
    char text[ANSWER_MOST];
    size_t size;
};

/* ---- Answers ----------------------------------------------------------------------------------- */

static void add_text(struct answer *a, const char *text)
{
    size_t size = strlen(text);

    if (size > sizeof a->text - a->size)
        size = sizeof a->text - a->size;
    memcpy(a->text + a->size, text, size);
    a->size += size;
}

/* One pair; a ; inside the value is doubled. */
static void add(struct answer *a, const char *key, const char *value)
{
    char one[3] = { 0, 0, 0 };

    add_text(a, key);
    add_text(a, "=");
    for (; *value != '\0'; value++) {
        one[0] = *value;
        one[1] = (char)(*value == ';' ? ';' : '\0');
        add_text(a, one);
    }
    add_text(a, ";");
}

static void add_number(struct answer *a, const char *key, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    add(a, key, text);
}

/* Begins with the name of the request, its thread and rc, which must be in every answer. */
static void begin(struct answer *a, const char *name, const char *thrid, int rc)
{
    char cmd[96];

    a->size = HEAD;
    snprintf(cmd, sizeof cmd, "%.70s-response", name);
    add(a, "cmd", cmd);
    if (*thrid != '\0')
        add(a, "thrid", thrid);
    add(a, "rc", rc == 0 ? "0" : "1");
}

/* The length in front, padded on the right as Slurm and MPICH's clients do; all in one write. */
static void send_answer(struct la_engine *e, struct la_client *c, struct answer *a)
{
    char head[HEAD + 2];

    snprintf(head, sizeof head, "%-6u", (unsigned)(a->size - HEAD));
    memcpy(a->text, head, HEAD);
    la_engine_reply(e, c, a->text, a->size);
}

static void say(struct la_engine *e, struct la_client *c, const char *name, const char *thrid,
                const char *error)
{
    struct answer a;

    begin(&a, name, thrid, error != NULL);
    if (error != NULL)
        add(&a, "errmsg", error);
    send_answer(e, c, &a);
}

/* found=TRUE and the value, or found=FALSE. */
static void say_found(struct la_engine *e, struct la_client *c, const char *name, const char *thrid,
                      const char *value)
{
    struct answer a;

    if (value != NULL && strlen(value) > VALUE_MOST) { /* nla_put takes longer ones */
        say(e, c, name, thrid, "value too long");
        return;
    }
    begin(&a, name, thrid, 0);
    add(&a, "found", value != NULL ? "TRUE" : "FALSE");
    if (value != NULL)
        add(&a, "value", value);
    send_answer(e, c, &a);
}

/* ---- Requests ---------------------------------------------------------------------------------- */

/* Copies a value up to its single ; to *to and ends it; a doubled one is one. NULL: there is no end. */
static const char *decode_value(const char *from, const char *end, char **to)
{
    for (; from < end; from++) {
        if (*from == ';') {
            if (from + 1 == end || from[1] != ';') {
                *(*to)++ = '\0';
                return from + 1;
            }
            from++;
        }
        *(*to)++ = *from;
    }
    return NULL;
}

/* Decodes size bytes in place: what is decoded is never longer than what it was. 0, or what is wrong. */
static const char *decode(char *data, size_t size, const char **end)
{
    const char *from = data, *stop = data + size, *equals;
    char *to = data;

    if (memchr(data, 0, size) != NULL)
        return "a NUL";
    while (from < stop) {
        equals = memchr(from, '=', (size_t)(stop - from));
        if (equals == NULL)
            return "a word without =";
        if (memchr(from, ';', (size_t)(equals - from)) != NULL)
            return "a key with a ;";
        memmove(to, from, (size_t)(equals - from));
        to += equals - from;
        *to++ = '\0';
        from = decode_value(equals + 1, stop, &to);
        if (from == NULL)
            return "a pair without a ; behind it";
    }
    *end = to;
    return strcmp(data, "cmd") != 0 ? "a frame that does not begin with cmd=" : NULL;
}

static const char *value_of(const struct request *q, const char *key)
{
    const char *at = q->pairs, *value;

    while (at < q->end) {
        value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static const char *value_or(const struct request *q, const char *key, const char *missing)
{
    const char *value = value_of(q, key);

    return value == NULL ? missing : value;
}

static int read_request(char *data, size_t size, struct request *q, const char **wrong)
{
    const char *thrid;

    *wrong = size == 0 ? "an empty frame" : decode(data, size, &q->end);
    if (*wrong != NULL)
        return PHX_EPROTO;
    q->cmd = data + 4;
    q->pairs = q->cmd + strlen(q->cmd) + 1;
    thrid = value_or(q, "thrid", "");
    if (strlen(thrid) >= sizeof q->thrid) {
        *wrong = "a thrid of more than 31 bytes";
        return PHX_EPROTO;
    }
    memcpy(q->thrid, thrid, strlen(thrid) + 1);
    return 0;
}

/* ---- Commands ---------------------------------------------------------------------------------- */

static int rank_of(const char *text, int64_t *rank)
{
    char *end;

    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    *rank = strtoll(text, &end, 10);
    return *end == '\0';
}

/* Over a port this is where the client says which rank it is: as pmirank, or, if it is Slurm's library, as
 * srcid. */
static void do_fullinit(struct la_engine *e, struct la_client *c, const struct request *q)
{
    int64_t rank = c->rank == NULL ? -1 : (int64_t)c->rank->rank;
    const char *said = value_or(q, "pmirank", value_of(q, "srcid"));
    struct answer a;

    if ((said != NULL || c->rank == NULL) && !rank_of(said, &rank)) {
        la_engine_garbage(e, c, "PMI-2: a fullinit without a rank");
        return;
    }
    if (c->rank == NULL && la_engine_identify(e, c, rank) != 0)
        return;
    if (rank != c->rank->rank) {
        la_engine_garbage(e, c, "PMI-2: it says that it is rank %lld", (long long)rank);
        return;
    }
    la_engine_init_said(e, c);
    begin(&a, "fullinit", q->thrid, 0);
    add(&a, "pmi-version", "2");
    add(&a, "pmi-subversion", "0");
    add_number(&a, "rank", c->rank->rank);
    add_number(&a, "size", e->job->size);
    add_number(&a, "appnum", la_job_program_of(e->job, c->rank->rank));
    add(&a, "debugged", "FALSE");
    add(&a, "pmiverbose", "FALSE");
    if (e->spawner != NULL)
        add(&a, "spawner-jobid", e->spawner);
    send_answer(e, c, &a);
}

static void do_job_id(struct la_engine *e, struct la_client *c, const struct request *q)
{
    struct answer a;

    begin(&a, q->cmd, q->thrid, 0);
    add(&a, "jobid", e->job->kvsname);
    send_answer(e, c, &a);
}

static void do_job_attribute(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value = NULL;
    char number[16];
    int ask;

    if (strcmp(key, "universeSize") == 0 && e->job->universe >= 0) {
        snprintf(number, sizeof number, "%d", (int)e->job->universe);
        value = number;
    } else if (strncmp(key, "PMI_", 4) == 0) {
        value = la_engine_key(e, key, 0, &ask);
    }
    say_found(e, c, q->cmd, q->thrid, value);
}

static const char *put_error(int err)
{
    switch (err) {
    case 0: return NULL;
    case PHX_EACCES: return "keys that begin with PMI_ are the server's";
    case PHX_EINVAL: return "no key";
    case PHX_ETOOBIG: return "value too long";
    case PHX_ELIMIT: return "no room for more keys";
    default: return "out of memory";
    }
}

static const char *check_sizes(const char *key, const char *value)
{
    if (*key == '\0')
        return "no key";
    if (strlen(key) > KEY_MOST)
        return "key too long";
    return strlen(value) > VALUE_MOST ? "value too long" : NULL;
}

static void do_put(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value = value_or(q, "value", "");
    const char *error = check_sizes(key, value);

    if (error == NULL)
        error = put_error(la_engine_put(e, key, value, 0));
    say(e, c, q->cmd, q->thrid, error);
}

static void do_get(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *job = value_or(q, "jobid", ""), *value;
    int ask;

    if (*key == '\0' || (*job != '\0' && strcmp(job, e->job->kvsname) != 0)) {
        say_found(e, c, q->cmd, q->thrid, NULL);
        return;
    }
    value = la_engine_key(e, key, 0, &ask);
    if (!ask)
        say_found(e, c, q->cmd, q->thrid, value);
    else if (la_engine_ask(e, c, q->thrid, key) != 0)
        say(e, c, q->cmd, q->thrid, "too much is asked for at once, or out of memory");
}

static void do_put_node(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value = value_or(q, "value", "");
    const char *error = check_sizes(key, value);

    if (error == NULL)
        error = put_error(la_store_learn(e->node_store, key, value));
    say(e, c, q->cmd, q->thrid, error);
    if (error == NULL)
        la_engine_node_put(e, key, value);
}

static void do_get_node(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value = la_store_get(e->node_store, key);
    uint64_t token;

    if (value != NULL || strcmp(value_or(q, "wait", "FALSE"), "TRUE") != 0)
        say_found(e, c, q->cmd, q->thrid, value);
    else if (la_engine_pend(e, c, LA_ASKED_NODE_KEY, q->thrid, key, &token) != 0)
        say(e, c, q->cmd, q->thrid, "too much is waited for at once, or out of memory");
}

static void do_fence(struct la_engine *e, struct la_client *c, const struct request *q)
{
    int err;

    if (c->rank->in) {
        say(e, c, q->cmd, q->thrid, "the rank is in an operation already");
        return;
    }
    memcpy(c->mark, q->thrid, sizeof c->mark);
    err = la_engine_enter(e, c, LA_FENCE, 0, 0, NULL, 0);
    if (err == PHX_ENOMEM || err == PHX_ESTATE)
        say(e, c, q->cmd, q->thrid, err == PHX_ENOMEM ? "out of memory" : "the rank has finalized");
}

static void do_lookup(struct la_engine *e, struct la_client *c, const struct request *q)
{
    struct answer a;

    begin(&a, q->cmd, q->thrid, 1);
    add(&a, "found", "FALSE");
    add(&a, "errmsg", "not supported");
    send_answer(e, c, &a);
}

/* The process ends by itself with a status of its own. isworld=FALSE: only this process ends. */
static void do_abort(struct la_engine *e, struct la_client *c, const struct request *q)
{
    if (strcmp(value_or(q, "isworld", "TRUE"), "FALSE") != 0)
        la_engine_abort_said(e, c, LA_NO_CODE, value_or(q, "msg", ""));
}

static void do_finalize(struct la_engine *e, struct la_client *c, const struct request *q)
{
    la_engine_finalize_said(e, c);
    say(e, c, q->cmd, q->thrid, NULL);
}

static void do_refused(struct la_engine *e, struct la_client *c, const struct request *q)
{
    say(e, c, q->cmd, q->thrid, "not supported");
}

struct command {
    const char *name;
    void (*obey)(struct la_engine *e, struct la_client *c, const struct request *q);
};

static const struct command commands[] = {
    { "kvs-get", do_get },
    { "kvs-put", do_put },
    { "kvs-fence", do_fence },
    { "fullinit", do_fullinit },
    { "job-getid", do_job_id },
    { "info-getjobattr", do_job_attribute },
    { "info-putnodeattr", do_put_node },
    { "info-getnodeattr", do_get_node },
    { "finalize", do_finalize },
    { "abort", do_abort },
    { "name-lookup", do_lookup },
    { "name-publish", do_refused },
    { "name-unpublish", do_refused },
    { "spawn", do_refused },
    { "job-connect", do_refused },
    { "job-disconnect", do_refused },
};

static void obey(struct la_engine *e, struct la_client *c, const struct request *q)
{
    size_t i;

    for (i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(q->cmd, commands[i].name) == 0) {
            commands[i].obey(e, c, q);
            return;
        }
    la_engine_note(e, c, "PMI-2: unknown command %.100s", q->cmd);
    say(e, c, q->cmd, q->thrid, "unknown command");
}

/* ---- The codec --------------------------------------------------------------------------------- */

/* Six characters: a decimal number, padded with blanks on either side. -1: they are none. */
static int64_t length_of(const unsigned char *head)
{
    int64_t length = 0;
    int i = 0, digits = 0;

    while (i < HEAD && head[i] == ' ')
        i++;
    for (; i < HEAD && head[i] >= '0' && head[i] <= '9'; i++, digits++)
        length = length * 10 + (head[i] - '0');
    while (i < HEAD && head[i] == ' ')
        i++;
    return i == HEAD && digits > 0 ? length : -1;
}

static int64_t take(struct la_engine *e, struct la_client *c, unsigned char *data, size_t size)
{
    struct request q;
    const char *wrong;
    int64_t length;

    if (size < HEAD)
        return 0;
    length = length_of(data);
    if (length < 0 || length > FRAME_MOST)
        return la_engine_garbage(e, c, "PMI-2: a frame without a length, or of more than %d bytes",
                                 FRAME_MOST);
    if (size - HEAD < (size_t)length)
        return 0;
    if (read_request((char *)data + HEAD, (size_t)length, &q, &wrong) != 0)
        return la_engine_garbage(e, c, "PMI-2: %s", wrong);
    if (c->finalized)
        return la_engine_garbage(e, c, "PMI-2: %.70s after finalize", q.cmd);
    if (!c->inited && strcmp(q.cmd, "fullinit") != 0)
        return la_engine_garbage(e, c, "PMI-2: %.70s before fullinit", q.cmd);
    obey(e, c, &q);
    return c->broken ? PHX_EPROTO : HEAD + length;
}

static void done(struct la_engine *e, struct la_client *c, const struct la_result *r)
{
    say(e, c, "kvs-fence", c->mark, r->error != 0 ? "out of memory" : NULL);
}

static void answer_pending(struct la_engine *e, struct la_client *c, const struct la_pending *p, int result,
                           const char *text)
{
    const char *name = p->what == LA_ASKED_KEY ? "kvs-get" : "info-getnodeattr";

    say_found(e, c, name, p->mark, result == 0 ? text : NULL);
}

const struct la_codec la_pmi2_codec = { take, NULL, done, answer_pending, NULL, NULL };
