/* pmi1.c - PMI-1, version 1.1: lines of key=value pairs, and blocks of lines for a spawn. */

/* One line is one request and gets one answer in one write. While a client waits for its barrier or for
 * another agent, further lines stay unread; only an abort among them is looked for, because another thread of
 * the process may say it. */
#include "codec.h"
#include "phoenix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST 1023       /* bytes of a line, with its LF; clients read no more */
#define PUT_MOST 65536       /* a put that is longer than a line is refused with an answer, up to this */
#define PAIRS_MOST 64
#define KEY_MOST 63          /* keylen_max and kvsname_max count the final NUL */
#define VALUE_MOST (LINE_MOST - 1 - (sizeof get_head - 1)) /* the answer to a get must be a line */
#define BLOCK_MOST 16384     /* bytes of one block of a spawn; clients write at most 1,024 */
#define SPAWN_MOST (1 << 18) /* bytes of all blocks */
#define BLOCKS_MOST 1024

static const char get_head[] = "cmd=get_result rc=0 msg=success value=";

struct pair {
    char *key, *value;
};

/* A request, cut into pairs in place. */
struct request {
    struct pair pairs[PAIRS_MOST];
    uint32_t count;
};

/* What pmi1.c keeps of a spawn whose blocks are still coming. The lines of a block are kept as they are. */
struct spawning {
    struct la_spawn_block *blocks;
    uint32_t count, total; /* total: totspawns */
    size_t bytes;
    char **preput; /* of the first block */
};

/* ---- Answers ----------------------------------------------------------------------------------- */

static void say(struct la_engine *e, struct la_client *c, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* One line, one write. All that is said here fits: what clients chose is bounded by their own lines. */
static void say(struct la_engine *e, struct la_client *c, const char *format, ...)
{
    char line[LINE_MOST + 1];
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (size >= LINE_MOST)
        size = LINE_MOST - 1;
    line[size] = '\n';
    la_engine_reply(e, c, line, (size_t)size + 1);
}

/* msg= is one word. */
static void make_word(char *to, size_t room, const char *text)
{
    size_t i;

    for (i = 0; i + 1 < room && text[i] != '\0'; i++)
        to[i] = (char)((unsigned char)text[i] <= 32 || text[i] == 127 ? '_' : text[i]);
    to[i] = '\0';
}

/* ---- Lines ------------------------------------------------------------------------------------- */

static const char *value_of(const struct request *q, const char *key)
{
    uint32_t i;

    for (i = 1; i < q->count; i++)
        if (strcmp(q->pairs[i].key, key) == 0)
            return q->pairs[i].value;
    return NULL;
}

static const char *value_or(const struct request *q, const char *key, const char *missing)
{
    const char *value = value_of(q, key);

    return value == NULL ? missing : value;
}

/* A decimal number, perhaps negative; what does not fit is cut to the least or greatest. 0: not a number. */
static int number_of(const char *text, int64_t *out)
{
    char *end;
    long long n;

    if (text == NULL || *text == '\0')
        return 0;
    n = strtoll(text, &end, 10);
    *out = n < INT32_MIN ? INT32_MIN : n > INT32_MAX ? INT32_MAX : n;
    return *end == '\0';
}

static int has_control(const char *line, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if ((unsigned char)line[i] < 32 || line[i] == 127)
            return 1;
    return 0;
}

/* Cuts a line without its LF (now a NUL) into pairs: 0, or what is wrong with it. */
static const char *cut_line(char *line, struct request *q)
{
    char *at = line, *equals, *end;

    q->count = 0;
    for (;;) {
        while (*at == ' ')
            at++;
        if (*at == '\0')
            break;
        end = at + strcspn(at, " ");
        equals = memchr(at, '=', (size_t)(end - at));
        if (equals == NULL)
            return "a word without =";
        if (q->count == PAIRS_MOST)
            return "more than 64 words";
        *equals = '\0';
        q->pairs[q->count].key = at;
        q->pairs[q->count++].value = equals + 1;
        at = *end == '\0' ? end : end + 1;
        *end = '\0';
    }
    return q->count == 0 || strcmp(q->pairs[0].key,
                                   "cmd") != 0 ? "a line that does not begin with cmd=" : NULL;
}

/* ---- Keys -------------------------------------------------------------------------------------- */

static int is_our_kvs(const struct la_engine *e, const struct request *q)
{
    const char *name = value_of(q, "kvsname");

    return name == NULL || strcmp(name, e->job->kvsname) == 0;
}

static const char *put_error(int err)
{
    switch (err) {
    case PHX_EACCES: return "keys_that_begin_with_PMI__are_the_server's";
    case PHX_EINVAL: return "no_key";
    case PHX_ETOOBIG: return "value_too_long";
    case PHX_ELIMIT: return "no_room_for_more_keys";
    default: return "out_of_memory";
    }
}

static void do_put(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value = value_or(q, "value", "");
    int err;

    if (!is_our_kvs(e, q))
        say(e, c, "cmd=put_result rc=-1 msg=kvs_not_found");
    else if (strlen(key) > KEY_MOST)
        say(e, c, "cmd=put_result rc=-1 msg=key_too_long");
    else if (strlen(value) > VALUE_MOST)
        say(e, c, "cmd=put_result rc=-1 msg=value_too_long");
    else if ((err = la_engine_put(e, key, value, 0)) != 0)
        say(e, c, "cmd=put_result rc=-1 msg=%s", put_error(err));
    else
        say(e, c, "cmd=put_result rc=0 msg=success");
}

static void say_value(struct la_engine *e, struct la_client *c, const char *key, const char *value)
{
    char line[LINE_MOST];
    size_t size = value == NULL ? 0 : strlen(value);

    if (value == NULL) {
        say(e, c, "cmd=get_result rc=-1 msg=key_%.200s_not_found value=unknown", key);
        return;
    }
    if (size > VALUE_MOST) { /* nla_put takes longer ones */
        say(e, c, "cmd=get_result rc=-1 msg=value_too_long value=unknown");
        return;
    }
    memcpy(line, get_head, sizeof get_head - 1);
    memcpy(line + sizeof get_head - 1, value, size);
    size += sizeof get_head - 1;
    line[size++] = '\n';
    la_engine_reply(e, c, line, size);
}

static void do_get(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *key = value_or(q, "key", ""), *value;
    int ask;

    if (!is_our_kvs(e, q)) {
        say(e, c, "cmd=get_result rc=-1 msg=kvs_not_found value=unknown");
        return;
    }
    value = la_engine_key(e, key, 0, &ask);
    if (!ask || *key == '\0') {
        say_value(e, c, key, value);
        return;
    }
    c->wait = LA_WAIT_ANSWER; /* the answer may come before la_engine_ask returns */
    if (la_engine_ask(e, c, "", key) != 0) {
        c->wait = LA_WAIT_NOTHING;
        say(e, c, "cmd=get_result rc=-1 msg=out_of_memory value=unknown");
    }
}

/* ---- Names ------------------------------------------------------------------------------------- */

static const char *naming_answer(enum la_naming what)
{
    switch (what) {
    case LA_PUBLISH: return "publish_result";
    case LA_UNPUBLISH: return "unpublish_result";
    default: return "lookup_result";
    }
}

static void say_named(struct la_engine *e, struct la_client *c, enum la_naming what, int result,
                      const char *port)
{
    static const char *const why[] = { "service_already_published", "service_not_found",
                                       "service_not_found" };
    const char *answer = naming_answer(what);

    if (result == PHX_ENOMEM)
        say(e, c, "cmd=%s info=fail rc=1 msg=out_of_memory", answer);
    else if (result != 0)
        say(e, c, "cmd=%s info=fail rc=1 msg=%s", answer, why[what]);
    else if (what == LA_FIND)
        say(e, c, "cmd=%s port=%.900s info=ok rc=0 msg=success", answer, port == NULL ? "" : port);
    else
        say(e, c, "cmd=%s info=ok rc=0 msg=success", answer);
}

static void do_name(struct la_engine *e, struct la_client *c, const struct request *q, enum la_naming what)
{
    const char *service = value_of(q, "service"), *port = value_of(q, "port");
    uint64_t token;

    if (service == NULL || *service == '\0' || (what == LA_PUBLISH && port == NULL)) {
        say(e, c, "cmd=%s info=fail rc=1 msg=service_or_port_missing", naming_answer(what));
        return;
    }
    if (la_engine_pend(e, c, LA_ASKED_NAME, what == LA_PUBLISH ? "p" : what == LA_UNPUBLISH ? "u" : "f", NULL,
                       &token) != 0) {
        say_named(e, c, what, PHX_ENOMEM, NULL);
        return;
    }
    c->wait = LA_WAIT_ANSWER;
    e->ops.name(e->ops.ctx, what, service, port, token);
}

/* ---- Init, barrier, end ------------------------------------------------------------------------ */

static void do_init(struct la_engine *e, struct la_client *c, const struct request *q)
{
    int64_t version = 0;

    if (!number_of(value_of(q, "pmi_version"), &version)) {
        la_engine_garbage(e, c, "PMI: an init without a version");
        return;
    }
    if (version == 2) {
        c->codec = &la_pmi2_codec;
        say(e, c, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0");
    } else if (c->rank == NULL) {
        la_engine_garbage(e, c, "PMI: an init over a port without initack before it");
    } else {
        say(e, c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d", version == 1 ? 0 : -1);
        if (version == 1)
            la_engine_init_said(e, c);
    }
}

/* A client that came over a port says which rank it is, and is told what the environment tells the others. */
static void do_initack(struct la_engine *e, struct la_client *c, const struct request *q)
{
    char lines[128];
    int64_t rank = -1;
    int size;

    if (!number_of(value_of(q, "pmiid"), &rank)) {
        la_engine_garbage(e, c, "PMI: an initack without a pmiid");
        return;
    }
    if (c->rank != NULL) {
        la_engine_garbage(e, c, "PMI: an initack of a client whose rank is known");
        return;
    }
    if (la_engine_identify(e, c, rank) != 0)
        return;
    size = snprintf(lines, sizeof lines, "cmd=initack\ncmd=set size=%u\ncmd=set rank=%u\ncmd=set debug=0\n",
                    e->job->size, c->rank->rank);
    la_engine_reply(e, c, lines, (size_t)size);
}

static void do_barrier(struct la_engine *e, struct la_client *c)
{
    int err;

    c->wait = LA_WAIT_OPERATION;
    err = la_engine_enter(e, c, LA_FENCE, 0, 0, NULL, 0);
    if (err == PHX_ESTATE)
        la_engine_garbage(e, c, "PMI: a barrier after finalize");
    else if (err != 0 && err != PHX_EFAILED)
        la_engine_garbage(e, c, "PMI: no memory for a barrier");
}

static void do_abort(struct la_engine *e, struct la_client *c, const char *code)
{
    int64_t number = 1;

    if (!number_of(code, &number))
        number = 1;
    la_engine_abort_said(e, c, (int)number, "");
}

static void do_finalize(struct la_engine *e, struct la_client *c)
{
    la_engine_finalize_said(e, c);
    say(e, c, "cmd=finalize_ack");
}

/* Commands of before version 1.1, and whatever else: a client without an answer would wait for ever. */
static void do_unknown(struct la_engine *e, struct la_client *c, const char *cmd)
{
    static const char *const old[][2] = { { "create_kvs", "newkvs" },
                                          { "destroy_kvs", "kvs_destroyed" },
                                          { "getbyidx", "getbyidx_results" } };
    size_t i;

    for (i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(cmd, old[i][0]) == 0) {
            say(e, c, "cmd=%s rc=-1 msg=not_supported", old[i][1]);
            return;
        }
    la_engine_note(e, c, "PMI: unknown command %.100s", cmd);
    say(e, c, "cmd=%.500s_result rc=-1 msg=unknown_command", cmd);
}

/* Commands that are answered from what is known here. 1: it was one. */
static int answer_fact(struct la_engine *e, struct la_client *c, const char *cmd)
{
    if (strcmp(cmd, "get_maxes") == 0)
        say(e, c, "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=1024", KEY_MOST + 1);
    else if (strcmp(cmd, "get_appnum") == 0)
        say(e, c, "cmd=appnum appnum=%u", la_job_program_of(e->job, c->rank->rank));
    else if (strcmp(cmd, "get_my_kvsname") == 0)
        say(e, c, "cmd=my_kvsname kvsname=%.255s", e->job->kvsname);
    else if (strcmp(cmd, "get_universe_size") == 0)
        say(e, c, "cmd=universe_size size=%d", (int)e->job->universe);
    else
        return 0;
    return 1;
}

static void obey(struct la_engine *e, struct la_client *c, const struct request *q)
{
    const char *cmd = q->pairs[0].value;

    if (strcmp(cmd, "get") == 0)
        do_get(e, c, q);
    else if (strcmp(cmd, "put") == 0)
        do_put(e, c, q);
    else if (strcmp(cmd, "barrier_in") == 0)
        do_barrier(e, c);
    else if (strcmp(cmd, "finalize") == 0)
        do_finalize(e, c);
    else if (strcmp(cmd, "abort") == 0)
        do_abort(e, c, value_of(q, "exitcode"));
    else if (strcmp(cmd, "publish_name") == 0)
        do_name(e, c, q, LA_PUBLISH);
    else if (strcmp(cmd, "unpublish_name") == 0)
        do_name(e, c, q, LA_UNPUBLISH);
    else if (strcmp(cmd, "lookup_name") == 0)
        do_name(e, c, q, LA_FIND);
    else if (!answer_fact(e, c, cmd))
        do_unknown(e, c, cmd);
}

static int obey_line(struct la_engine *e, struct la_client *c, char *line, size_t size)
{
    struct request q;
    const char *wrong = "a byte below 32", *cmd;

    if (has_control(line, size) || (wrong = cut_line(line, &q)) != NULL)
        return la_engine_garbage(e, c, "PMI: %s", wrong);
    cmd = q.pairs[0].value;
    if (c->finalized)
        return la_engine_garbage(e, c, "PMI: %.100s after finalize", cmd);
    if (strcmp(cmd, "init") == 0)
        do_init(e, c, &q);
    else if (strcmp(cmd, "initack") == 0)
        do_initack(e, c, &q);
    else if (c->rank == NULL)
        la_engine_garbage(e, c, "PMI: %.100s before initack", cmd);
    else
        obey(e, c, &q);
    return c->broken ? PHX_EPROTO : 0;
}

/* ---- Spawn ------------------------------------------------------------------------------------- */

/* A block, cut into lines at LF and into pairs at the first =; what follows may hold anything. */
struct block {
    struct pair *pairs;
    uint32_t count;
};

static const char *block_value(const struct block *b, const char *key)
{
    uint32_t i;

    for (i = 0; i < b->count; i++)
        if (strcmp(b->pairs[i].key, key) == 0)
            return b->pairs[i].value;
    return NULL;
}

static int block_number(const struct block *b, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const char *text = block_value(b, key);

    if (text == NULL && least == 0) {
        *out = 0;
        return 1;
    }
    return number_of(text, out) && *out >= least && *out <= most;
}

static int cut_block(char *text, struct block *b, uint32_t lines)
{
    char *end, *equals;

    b->count = 0;
    b->pairs = malloc((lines + 1) * sizeof *b->pairs);
    if (b->pairs == NULL)
        return PHX_ENOMEM;
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        equals = strchr(text, '=');
        if (equals == NULL)
            return PHX_EPROTO;
        *equals = '\0';
        b->pairs[b->count].key = text;
        b->pairs[b->count++].value = equals + 1;
    }
    return 0;
}

static void free_strings(char **list)
{
    char **at;

    for (at = list; at != NULL && *at != NULL; at++)
        free(*at);
    free(list);
}

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* The strings first[from], first[from + 1], ..., each with its second, if there is one: NULL-ended. */
static int copy_series(const struct block *b, const char *first, const char *second, int64_t from,
                       int64_t count,
                       char **to)
{
    const char *names[2] = { first, second }, *value;
    char name[64];
    int64_t i;
    int k;

    for (i = from; i < from + count; i++)
        for (k = 0; k < 2 && names[k] != NULL; k++) {
            snprintf(name, sizeof name, "%s%lld", names[k], (long long)i);
            value = block_value(b, name);
            if (value == NULL)
                return PHX_EPROTO;
            *to = copy_of(value);
            if (*to++ == NULL)
                return PHX_ENOMEM;
        }
    return 0;
}

static int copy_pairs(const struct block *b, const char *what, char ***out)
{
    char key[32], value[32], number[32];
    int64_t count;

    snprintf(number, sizeof number, "%s_num", what);
    snprintf(key, sizeof key, "%s_key_", what);
    snprintf(value, sizeof value, "%s_val_", what);
    if (!block_number(b, number, 0, b->count, &count))
        return PHX_EPROTO;
    *out = calloc((size_t)count * 2 + 1, sizeof **out);
    return *out == NULL ? PHX_ENOMEM : copy_series(b, key, value, 0, count, *out);
}

static int copy_arguments(const struct block *b, char ***out)
{
    const char *name = block_value(b, "execname");
    int64_t count;

    if (name == NULL || *name == '\0' || !block_number(b, "argcnt", 0, b->count, &count))
        return PHX_EPROTO;
    *out = calloc((size_t)count + 2, sizeof **out);
    if (*out == NULL || ((*out)[0] = copy_of(name)) == NULL)
        return PHX_ENOMEM;
    return copy_series(b, "arg", NULL, 1, count, *out + 1);
}

static void spawning_free(struct spawning *s)
{
    uint32_t i;

    if (s == NULL)
        return;
    for (i = 0; i < s->count; i++) {
        free_strings(s->blocks[i].argv);
        free_strings(s->blocks[i].info);
    }
    free(s->blocks);
    free_strings(s->preput);
    free(s);
}

/* One more block: its place among the others is checked, its strings are copied. */
static int spawning_add(struct spawning *s, const struct block *b)
{
    struct la_spawn_block *more, *to;
    int64_t total, so_far, ranks;
    int err = 0;

    if (!block_number(b, "totspawns", 1, BLOCKS_MOST, &total) || !block_number(b, "nprocs", 1, INT32_MAX,
                                                                               &ranks)
        || !block_number(b, "spawnssofar", 1, total, &so_far) || so_far != (int64_t)s->count + 1
        || (s->total != 0 && s->total != total))
        return PHX_EPROTO;
    more = realloc(s->blocks, (s->count + 1) * sizeof *more);
    if (more == NULL)
        return PHX_ENOMEM;
    s->blocks = more;
    s->total = (uint32_t)total;
    to = &more[s->count++];
    to->ranks = (uint32_t)ranks;
    to->argv = to->info = NULL;
    if (s->count == 1)
        err = copy_pairs(b, "preput", &s->preput);
    if (err == 0)
        err = copy_arguments(b, &to->argv);
    return err == 0 ? copy_pairs(b, "info", &to->info) : err;
}

static void spawn_now(struct la_engine *e, struct la_client *c, struct spawning *s)
{
    struct la_spawn spawn;
    uint64_t token;

    c->state = NULL;
    spawn.blocks = s->blocks;
    spawn.blocks_count = s->count;
    spawn.preput = s->preput;
    if (la_engine_pend(e, c, LA_ASKED_SPAWN, "", NULL, &token) != 0) {
        say(e, c, "cmd=spawn_result rc=-1 msg=out_of_memory");
    } else {
        c->wait = LA_WAIT_ANSWER;
        e->ops.spawn(e->ops.ctx, c->rank->rank, &spawn, token);
    }
    spawning_free(s);
}

static int obey_block(struct la_engine *e, struct la_client *c, char *text, uint32_t lines, size_t size)
{
    struct spawning *s = c->state;
    struct block b;
    int err;

    if (c->rank == NULL || c->finalized)
        return la_engine_garbage(e, c, "PMI: a spawn before init or after finalize");
    if (s == NULL)
        c->state = s = calloc(1, sizeof *s);
    if (s == NULL)
        return PHX_ENOMEM;
    s->bytes += size;
    if (s->bytes > SPAWN_MOST)
        return la_engine_garbage(e, c, "PMI: a spawn of more than 256 KiB");
    err = cut_block(text, &b, lines);
    if (err == 0)
        err = spawning_add(s, &b);
    free(b.pairs);
    if (err == PHX_EPROTO)
        return la_engine_garbage(e, c, "PMI: a spawn block that lacks something or contradicts itself");
    if (err == 0 && s->count == s->total)
        spawn_now(e, c, s);
    return err;
}

/* A block ends with a line endcmd. */
static int64_t take_block(struct la_engine *e, struct la_client *c, char *data, size_t size)
{
    char *at = data, *lf, *first = NULL;
    uint32_t lines = 0;
    int err;

    if (memchr(data, 0, size) != NULL)
        return la_engine_garbage(e, c, "PMI: a NUL in a spawn");
    while ((lf = memchr(at, '\n', size - (size_t)(at - data))) != NULL && lf - data <= BLOCK_MOST) {
        if (lf - at == 6 && memcmp(at, "endcmd", 6) == 0) {
            *at = '\0';
            err = obey_block(e, c, first, lines, (size_t)(lf - data));
            return err != 0 ? err : lf + 1 - data;
        }
        at = lf + 1;
        if (first == NULL)
            first = at;
        else
            lines++;
    }
    return size > BLOCK_MOST ? la_engine_garbage(e, c, "PMI: a spawn block without an end") : 0;
}

/* ---- The codec --------------------------------------------------------------------------------- */

static int begins(const char *data, size_t size, const char *with)
{
    size_t length = strlen(with);

    return size >= length && memcmp(data, with, length) == 0;
}

/* A line that is too long for a client to have read an answer like it. */
static int64_t take_long(struct la_engine *e, struct la_client *c, const char *data, size_t size,
                         const char *lf)
{
    int is_put = begins(data, size, "cmd=put ");

    if (!is_put || c->rank == NULL || c->finalized || (lf == NULL ? size : (size_t)(lf - data)) > PUT_MOST)
        return la_engine_garbage(e, c, "PMI: a line of more than %d bytes", LINE_MOST);
    if (lf == NULL)
        return 0;
    say(e, c, "cmd=put_result rc=-1 msg=value_too_long");
    return lf + 1 - data;
}

/* Must the line wait until the rank is out of an operation that it entered over another connection? */
static int must_wait(struct la_client *c, const char *line, size_t size)
{
    if (c->rank == NULL || !c->rank->in || !begins(line, size, "cmd=barrier_in"))
        return 0;
    c->wait = LA_WAIT_OPERATION;
    return 1;
}

static int64_t take(struct la_engine *e, struct la_client *c, unsigned char *bytes, size_t size)
{
    char *data = (char *)bytes, *lf = memchr(data, '\n', size);
    size_t length = lf == NULL ? size : (size_t)(lf - data);
    int err;

    if (begins(data, size, "mcmd=spawn\n"))
        return take_block(e, c, data, size);
    if (c->state != NULL && lf != NULL)
        return la_engine_garbage(e, c, "PMI: something else between the blocks of a spawn");
    if (length >= LINE_MOST)
        return take_long(e, c, data, size, lf);
    if (lf == NULL || must_wait(c, data, length))
        return 0;
    *lf = '\0';
    err = obey_line(e, c, data, length);
    return err != 0 ? err : (int64_t)length + 1;
}

static void peek(struct la_engine *e, struct la_client *c, const unsigned char *bytes, size_t size)
{
    const char *at = (const char *)bytes, *end = at + size, *lf, *code;
    char number[16] = "";

    for (; (lf = memchr(at, '\n', (size_t)(end - at))) != NULL; at = lf + 1)
        if (begins(at, (size_t)(lf - at), "cmd=abort")) {
            code = memchr(at + 9, '=', (size_t)(lf - at - 9));
            if (code != NULL && lf - code <= 15)
                memcpy(number, code + 1, (size_t)(lf - code - 1));
            do_abort(e, c, number);
            return;
        }
}

static void done(struct la_engine *e, struct la_client *c, const struct la_result *r)
{
    if (r->error != 0)
        la_engine_garbage(e, c, "out of memory in a barrier");
    else
        say(e, c, "cmd=barrier_out");
}

static enum la_naming naming_of(const char *mark)
{
    return *mark == 'p' ? LA_PUBLISH : *mark == 'u' ? LA_UNPUBLISH : LA_FIND;
}

static void answer(struct la_engine *e, struct la_client *c, const struct la_pending *p, int result,
                   const char *text)
{
    char word[256];

    if (p->what == LA_ASKED_KEY) {
        say_value(e, c, p->key, result == 0 ? text : NULL);
    } else if (p->what == LA_ASKED_NAME) {
        say_named(e, c, naming_of(p->mark), result, text);
    } else if (result == 0) {
        say(e, c, "cmd=spawn_result rc=0");
    } else {
        make_word(word, sizeof word, text == NULL ? "spawn_failed" : text);
        say(e, c, "cmd=spawn_result rc=-1 msg=%s", word);
    }
    la_engine_resume(e, c);
}

static void closed(struct la_engine *e, struct la_client *c)
{
    (void)e;
    spawning_free(c->state);
    c->state = NULL;
}

const struct la_codec la_pmi1_codec = { take, peek, done, answer, NULL, closed };
