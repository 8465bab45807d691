/* args.c - the words of a command line as plain values. */

/* One dash or two make no difference, and --name=value is --name value. Options of the whole job stand before
 * the first program; -n, -env and -wdir before each. What Hydra's mpiexec knows and this program does not is
 * refused by name, since a user who asked for it must not believe that he got it. */
#include "args.h"
#include "../../phoenix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_YEARS_US ((uint64_t)10 * 365 * 86400 * 1000000)
#define ARGS_PROGRAMS 4096
#define ARGS_DETECT_LEAST 10000u /* what the core takes: 10 ms to a day */
#define ARGS_DETECT_MOST ((uint64_t)86400 * 1000000)

/* What is read now: the words, and the program that they are of. */
struct scan {
    struct la_args *a;
    char **words;
    size_t count, at;
    const char *word;  /* the option, as it was typed */
    const char *value; /* behind its =, or NULL */
    char *why;
    int lines;
};

enum kind {
    FLAG,    /* an int becomes 1 */
    CHOICE,  /* an int: which of the words in `choices` */
    NUMBER,  /* a uint32_t, 1..most */
    SECONDS, /* a uint64_t */
    BYTES,   /* a uint64_t */
    WORD,    /* a char * */
    SPECIAL, /* a function's */
    GONE     /* refused; choices says why */
};

struct rule {
    const char *name;
    enum kind kind;
    size_t at;           /* in struct la_args */
    const char *choices; /* "a|b" */
    int (*read)(struct scan *s);
    unsigned long most;
    int local;           /* of one program */
};

static int say(struct scan *s, const char *what, const char *of)
{
    snprintf(s->why, LA_TEXT, "%.60s: %s%s%.80s%s", s->word, what, of != NULL ? " \"" : "",
             of != NULL ? of : "", of != NULL ? "\"" : "");
    return PHX_EINVAL;
}

/* The next word, or what stood behind =. NULL: there is none. */
static const char *value_of(struct scan *s)
{
    const char *value = s->value;

    s->value = NULL;
    if (value == NULL && s->at < s->count && s->words[s->at] != NULL)
        value = s->words[s->at++];
    return value;
}

static int need(struct scan *s, const char **value)
{
    *value = value_of(s);
    return *value != NULL ? 0 : say(s, "a word is missing behind it", NULL);
}

static int set(char **at, const char *value)
{
    char *copy = la_text_dup(value);

    if (copy == NULL)
        return PHX_ENOMEM;
    free(*at);
    *at = copy;
    return 0;
}

static struct la_args_program *program(struct scan *s)
{
    return &s->a->programs[s->a->programs_count - 1];
}

/* ---- Values ------------------------------------------------------------------------------------ */

int la_args_seconds(const char *s, uint64_t *us)
{
    static const struct {
        const char *name;
        uint64_t us;
    } unit[] = { { "", 1000000 }, { "s", 1000000 }, { "ms", 1000 }, { "us", 1 }, { "m", 60000000 } };
    size_t whole = strspn(s, "0123456789"), part = 0, i;
    unsigned long n = 0;
    const char *tail = s + whole;
    uint64_t digit;

    if (*tail == '.')
        part = strspn(++tail, "0123456789");
    if (whole + part == 0 || (whole > 0 && la_text_number(s, whole, 0, 1000000000, &n) != 0))
        return PHX_EINVAL;
    for (i = 0; i < sizeof unit / sizeof *unit && strcmp(tail + part, unit[i].name) != 0;)
        i++;
    if (i == sizeof unit / sizeof *unit || n > ARGS_YEARS_US / unit[i].us)
        return PHX_EINVAL;
    *us = n * unit[i].us;
    for (digit = unit[i].us / 10; part-- > 0 && digit > 0; digit /= 10)
        *us += (uint64_t)(*tail++ - '0') * digit;
    return 0;
}

/* "64", "16k", "16M", "1G", with or without iB. */
static int bytes_of(const char *s, uint64_t *out)
{
    static const char letters[] = "kKmMgG";
    size_t digits = strspn(s, "0123456789");
    const char *tail = s + digits, *letter = *tail != '\0' ? strchr(letters, *tail) : NULL;
    unsigned shift = letter != NULL ? (unsigned)((letter - letters) / 2 + 1) * 10 : 0;
    unsigned long n;

    if (la_text_number(s, digits, 0, 4000000000, &n) != 0)
        return PHX_EINVAL;
    tail += letter != NULL;
    if (*tail != '\0' && strcmp(tail, "iB") != 0 && strcmp(tail, "B") != 0)
        return PHX_EINVAL;
    *out = (uint64_t)n << shift;
    return 0;
}

/* Which of "a|b|c" a word is, or -1. */
static int choice_of(const char *choices, const char *word)
{
    size_t size = strlen(word);
    int i;

    for (i = 0; choices != NULL; i++) {
        size_t one = strcspn(choices, "|");

        if (one == size && memcmp(choices, word, size) == 0)
            return i;
        choices = choices[one] == '|' ? choices + one + 1 : NULL;
    }
    return -1;
}

static int number_of(struct scan *s, const char *value, unsigned long most, uint32_t *out)
{
    unsigned long n;

    if (la_text_number(value, strlen(value), 0, most, &n) != 0)
        return say(s, "no number within bounds:", value);
    if (n == 0)
        return say(s, "is 0, at least 1 is needed", NULL);
    *out = (uint32_t)n;
    return 0;
}

/* ---- Options with a mind of their own ---------------------------------------------------------- */

static int read_ranks(struct scan *s)
{
    const char *value;
    int err = need(s, &value);

    return err != 0 ? err : number_of(s, value, LA_RANKS_MAX, &program(s)->ranks);
}

static int read_dir(struct scan *s)
{
    const char *value;
    int err = need(s, &value);

    if (err == 0 && *value == '\0')
        return say(s, "no directory", NULL);
    return err != 0 ? err : set(&program(s)->dir, value);
}

/* K V, or K=V in one word. */
static int read_variable(struct scan *s, struct la_list *into)
{
    const char *name, *value = NULL;
    struct la_text t = { 0 };
    int err = need(s, &name);

    if (err == 0 && strchr(name, '=') == NULL)
        err = need(s, &value);
    if (err != 0)
        return err;
    if (name[0] == '=' || name[0] == '\0')
        return say(s, "no name of a variable:", name);
    la_text_add(&t, name, strlen(name));
    if (value != NULL) {
        la_text_add(&t, "=", 1);
        la_text_add(&t, value, strlen(value));
    }
    if (!t.failed)
        la_text_list_add(into, t.at, t.size);
    err = t.failed || into->failed ? PHX_ENOMEM : 0;
    la_text_free(&t);
    return err;
}

static int read_env(struct scan *s)
{
    return read_variable(s, &program(s)->env);
}

static int read_genv(struct scan *s)
{
    return read_variable(s, &s->a->genv);
}

static int add_hosts(struct scan *s, const char *letter)
{
    const char *value;
    struct la_text t = { 0 };
    int err = need(s, &value);

    if (err != 0)
        return err;
    la_text_say(&t, "%s%s", letter, value);
    if (!t.failed)
        la_text_list_add(&s->a->hosts, t.at, t.size);
    err = t.failed || s->a->hosts.failed ? PHX_ENOMEM : 0;
    la_text_free(&t);
    return err;
}

static int read_list(struct scan *s)
{
    return add_hosts(s, "l");
}

static int read_file(struct scan *s)
{
    return add_hosts(s, "f");
}

static int read_stdin(struct scan *s)
{
    const char *value;
    unsigned long rank = 0;
    int err = need(s, &value);

    if (err != 0)
        return err;
    if (strcmp(value, "all") == 0)
        s->a->stdin_to = LA_STDIN_ALL;
    else if (strcmp(value, "none") == 0)
        s->a->stdin_to = LA_STDIN_NONE;
    else if (la_text_number(value, strlen(value), 0, LA_RANKS_MAX, &rank) == 0)
        s->a->stdin_to = LA_STDIN_RANK;
    else
        return say(s, "all, none or a rank, not", value);
    s->a->stdin_rank = (uint32_t)rank;
    return 0;
}

/* default, fast, or three times. */
static int read_detect(struct scan *s)
{
    uint64_t us[3] = { 0, 0, 0 };
    const char *value;
    char part[32];
    size_t i;
    int err = need(s, &value);

    if (err != 0)
        return err;
    s->a->detector = choice_of("default|fast", value);
    if (s->a->detector >= 0)
        return 0;
    for (i = 0; i < 3 && err == 0; i++) {
        size_t size = strcspn(value, ",");

        snprintf(part, sizeof part, "%.*s", size < sizeof part ? (int)size : 0, value);
        if (la_args_seconds(part, &us[i]) != 0 || us[i] < ARGS_DETECT_LEAST || us[i] > ARGS_DETECT_MOST
            || (value[size] == ',') != (i < 2))
            err = say(s, "default, fast, or interval,timeout,broken of 10ms to a day each", NULL);
        value += size + (value[size] == ',');
    }
    s->a->detector = LA_DETECT_TIMES;
    memcpy(s->a->detect_us, us, sizeof us);
    return err;
}

static int read_pmgr(struct scan *s)
{
    s->a->pmi = LA_PMI_PMGR;
    return 0;
}

/* ---- The options ------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct la_args, member)
#define OF(member) AT(member), NULL, NULL, 0, 0
#define ONE_OF(member, choices) AT(member), choices, NULL, 0, 0
#define UP_TO(member, most) AT(member), NULL, NULL, most, 0
#define BY(read) 0, NULL, read, 0, 0
#define EACH_BY(read) 0, NULL, read, 0, 1
#define BECAUSE(why) 0, why, NULL, 0, 1

static const struct rule rules[] = {
    { "n", SPECIAL, EACH_BY(read_ranks) },
    { "np", SPECIAL, EACH_BY(read_ranks) },
    { "env", SPECIAL, EACH_BY(read_env) },
    { "wdir", SPECIAL, EACH_BY(read_dir) },
    { "ppn", NUMBER, UP_TO(ppn, LA_RANKS_MAX) },
    { "perhost", NUMBER, UP_TO(ppn, LA_RANKS_MAX) },
    { "hosts", SPECIAL, BY(read_list) },
    { "host", SPECIAL, BY(read_list) },
    { "f", SPECIAL, BY(read_file) },
    { "hostfile", SPECIAL, BY(read_file) },
    { "machinefile", SPECIAL, BY(read_file) },
    { "place", CHOICE, ONE_OF(place, "block|cyclic") },
    { "genv", SPECIAL, BY(read_genv) },
    { "genvlist", WORD, OF(genvlist) },
    { "genvnone", FLAG, OF(genvnone) },
    { "configfile", WORD, OF(configfile) },
    { "l", FLAG, OF(label) },
    { "prepend-rank", FLAG, OF(label) },
    { "v", FLAG, OF(verbose) },
    { "verbose", FLAG, OF(verbose) },
    { "k", FLAG, OF(each) },
    { "json", FLAG, OF(json) },
    { "dry-run", FLAG, OF(dry_run) },
    { "timeout", SECONDS, OF(timeout_us) },
    { "outfile-pattern", WORD, OF(out_pattern) },
    { "errfile-pattern", WORD, OF(err_pattern) },
    { "stdin", SPECIAL, BY(read_stdin) },
    { "s", SPECIAL, BY(read_stdin) },
    { "start", CHOICE, ONE_OF(starter, "ssh|srun|fork") },
    { "ssh", WORD, OF(ssh) },
    { "agent", WORD, OF(agent) },
    { "copy", FLAG, OF(copy) },
    { "ftmpi", FLAG, OF(ftmpi) },
    { "ft", WORD, OF(ft) },
    { "stage", WORD, OF(stage) },
    { "pmi", CHOICE, ONE_OF(pmi, "fd|port") },
    { "pmgr", SPECIAL, BY(read_pmgr) },
    { "cache", CHOICE, ONE_OF(cache, "push|lazy") },
    { "push-limit", BYTES, OF(push_limit) },
    { "degree", NUMBER, UP_TO(degree, 65536) },
    { "max-depth", NUMBER, UP_TO(max_depth, 64) },
    { "max-conn", NUMBER, UP_TO(max_conn, 1048576) },
    { "on-failure", CHOICE, ONE_OF(on_failure, "abort|continue") },
    { "detect", SPECIAL, BY(read_detect) },
    { "grace", SECONDS, OF(grace_us) },
    { "start-timeout", SECONDS, OF(start_timeout_us) },
    { "cut-wait", SECONDS, OF(cut_wait_us) },
    { "help", FLAG, OF(help) },
    { "h", FLAG, OF(help) },
    { "version", FLAG, OF(version) },
    { "V", FLAG, OF(version) },
    { "info", FLAG, OF(version) },
    /* Of Hydra's mpiexec, not here. */
    { "genvall", GONE, BECAUSE("the whole environment goes along anyway") },
    { "envall", GONE, BECAUSE("the whole environment goes along anyway") },
    { "envnone", GONE, BECAUSE("only for all programs at once: -genvnone") },
    { "envlist", GONE, BECAUSE("only for all programs at once: -genvlist") },
    { "bind-to", GONE, BECAUSE("no process is bound to processors here") },
    { "binding", GONE, BECAUSE("no process is bound to processors here") },
    { "map-by", GONE, BECAUSE("no process is bound to processors here") },
    { "membind", GONE, BECAUSE("no process is bound to memory here") },
    { "topolib", GONE, BECAUSE("no process is bound to processors here") },
    { "launcher", GONE, BECAUSE("say --start ssh, srun or fork") },
    { "bootstrap", GONE, BECAUSE("say --start ssh, srun or fork") },
    { "launcher-exec", GONE, BECAUSE("say --ssh PROGRAM") },
    { "bootstrap-exec", GONE, BECAUSE("say --ssh PROGRAM") },
    { "rmk", GONE, BECAUSE("Slurm and PBS are recognized by their variables") },
    { "disable-auto-cleanup", GONE, BECAUSE("say --on-failure continue") },
    { "enable-auto-cleanup", GONE, BECAUSE("that is how it is without a word") },
    { "order-nodes", GONE, BECAUSE("hosts are taken in the order of their list") },
    { "skip-launch-node", GONE, BECAUSE("leave it out of the list of hosts") },
    { "localhost", GONE, BECAUSE("the name of this host cannot be changed") },
    { "iface", GONE, BECAUSE("agents use the addresses that their starter tells") },
    { "usize", GONE, BECAUSE("the universe is as large as the slots of all hosts") },
    { "outfile", GONE, BECAUSE("say -outfile-pattern") },
    { "errfile", GONE, BECAUSE("say -errfile-pattern") },
    { "prepend-pattern", GONE, BECAUSE("labels are the rank, by -l") },
    { "print-rank-map", GONE, BECAUSE("say --dry-run") },
    { "print-all-exitcodes", GONE, BECAUSE("each failure is told anyway") },
    { "disable-hostname-propagation", GONE, BECAUSE("no host name is passed on here") },
    { "enable-hostname-propagation", GONE, BECAUSE("no host name is passed on here") },
    { "ckpoint-interval", GONE, BECAUSE("there are no checkpoints here") },
    { "ckpoint-prefix", GONE, BECAUSE("there are no checkpoints here") },
    { "ckpoint-num", GONE, BECAUSE("there are no checkpoints here") },
    { "ckpointlib", GONE, BECAUSE("there are no checkpoints here") },
    { "demux", GONE, BECAUSE("there is one way to wait here") },
    { "nameserver", GONE, BECAUSE("names are published by the launcher itself") },
    { "port-range", GONE, BECAUSE("ports are chosen by the system") },
    { "pmi-port", GONE, BECAUSE("say --pmi port") },
    { "gpus-per-proc", GONE, BECAUSE("graphics processors are not dealt out here") },
    { "gpu-subdevs-per-proc", GONE, BECAUSE("graphics processors are not dealt out here") },
    { "umask", GONE, BECAUSE("set it in the shell of the hosts") },
    { "profile", GONE, BECAUSE("say -v") },
    { "dbg", GONE, BECAUSE("there is no debugger's interface here") },
    { "debug", GONE, BECAUSE("there is no debugger's interface here") },
    { "gdb", GONE, BECAUSE("there is no debugger's interface here") },
    { "tv", GONE, BECAUSE("there is no debugger's interface here") },
    { "tva", GONE, BECAUSE("there is no debugger's interface here") },
    { "arch", GONE, BECAUSE("a host cannot be chosen by its kind") },
    { "soft", GONE, BECAUSE("all processes are started, or none") },
    { "path", GONE, BECAUSE("say where the program is, or -env PATH") },
    { "file", GONE, BECAUSE("say -configfile") },
};

#undef AT
#undef OF
#undef ONE_OF
#undef UP_TO
#undef BY
#undef EACH_BY
#undef BECAUSE

/* ---- Reading ----------------------------------------------------------------------------------- */

/* The rule of an option as it was typed; where = stands in it, its value goes to s->value. */
static const struct rule *find_rule(struct scan *s)
{
    const char *name = s->word + strspn(s->word, "-");
    size_t size = strcspn(name, "="), i;

    for (i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].name) == size && memcmp(rules[i].name, name, size) == 0) {
            s->value = name[size] == '=' ? name + size + 1 : NULL;
            return &rules[i];
        }
    return NULL;
}

static int read_plain(struct scan *s, const struct rule *r)
{
    unsigned char *at = (unsigned char *)s->a + r->at;
    const char *value = NULL;
    int err = r->kind != FLAG ? need(s, &value) : 0;

    if (err != 0)
        return err;
    switch (r->kind) {
    case FLAG:
        *(int *)(void *)at = 1;
        return 0;
    case CHOICE:
        *(int *)(void *)at = choice_of(r->choices, value);
        if (*(int *)(void *)at < 0)
            snprintf(s->why, LA_TEXT, "%.60s: one of %s, not \"%.80s\"", s->word, r->choices, value);
        return *(int *)(void *)at < 0 ? PHX_EINVAL : 0;
    case NUMBER:
        return number_of(s, value, r->most, (uint32_t *)(void *)at);
    case SECONDS:
        return la_args_seconds(value, (uint64_t *)(void *)at) == 0 ? 0 : say(s, "no time in seconds:", value);
    case BYTES:
        return bytes_of(value, (uint64_t *)(void *)at) == 0 ? 0 : say(s, "no number of bytes:", value);
    default:
        if (*value == '\0')
            return say(s, "is empty", NULL);
        return set((char **)(void *)at, value);
    }
}

static int read_option(struct scan *s)
{
    const struct rule *r = find_rule(s);
    int err;

    if (r == NULL) {
        snprintf(s->why, LA_TEXT, "unknown option %.80s; phxrun --help lists all", s->word);
        return PHX_EINVAL;
    }
    if (r->kind == GONE) {
        snprintf(s->why, LA_TEXT, "%.60s is an option of Hydra's mpiexec and not of phxrun: %s", s->word,
                 r->choices);
        return PHX_EINVAL;
    }
    if (!r->local && s->a->programs_count > 1)
        return say(s, "belongs before the first program, since it is for all", NULL);
    err = r->kind == SPECIAL ? r->read(s) : read_plain(s, r);
    if (err == 0 && s->value != NULL)
        return say(s, "takes no value, but there is", s->value);
    return err;
}

static int begin_program(struct scan *s)
{
    struct la_args *a = s->a;

    if (a->programs_count == ARGS_PROGRAMS) {
        snprintf(s->why, LA_TEXT, "more than %d programs", ARGS_PROGRAMS);
        return PHX_EINVAL;
    }
    if (la_text_grow(&a->programs, a->programs_count, &a->programs_capacity, sizeof *a->programs) != 0)
        return PHX_ENOMEM;
    memset(&a->programs[a->programs_count++], 0, sizeof *a->programs);
    return 0;
}

static int ends_program(const struct scan *s, size_t at)
{
    return s->words[at] == NULL || (!s->lines && strcmp(s->words[at], ":") == 0);
}

/* The program and its arguments, up to a colon or the end. */
static int read_program(struct scan *s)
{
    while (s->at < s->count && !ends_program(s, s->at)) {
        const char *word = s->words[s->at++];

        la_text_list_add(&program(s)->argv, word, strlen(word));
    }
    return program(s)->argv.failed ? PHX_ENOMEM : 0;
}

static int read_options(struct scan *s)
{
    int err = 0;

    while (err == 0 && s->at < s->count && !ends_program(s, s->at)) {
        s->word = s->words[s->at];
        s->value = NULL;
        if (s->word[0] != '-' || s->word[1] == '\0')
            return read_program(s);
        s->at++;
        if (strcmp(s->word, "--") == 0)
            return read_program(s);
        err = read_option(s);
        if (err == 0 && (s->a->help || s->a->version))
            return 0;
    }
    return err;
}

static int lacks_program(struct scan *s)
{
    if (program(s)->argv.count > 0)
        return 0;
    if (s->a->programs_count == 1 && s->at == s->count && s->a->configfile == NULL)
        snprintf(s->why, LA_TEXT, "no program is named; phxrun --help shows how");
    else if (s->a->configfile == NULL || s->a->programs_count > 1)
        snprintf(s->why, LA_TEXT, "program %lu has no name", (unsigned long)s->a->programs_count);
    else
        return 0;
    return PHX_EINVAL;
}

/* Programs one after the other. Behind options alone that name a configuration file there is none. */
static int read_all(struct scan *s)
{
    int err = 0;

    for (;;) {
        err = begin_program(s);
        if (err == 0)
            err = read_options(s);
        if (err != 0 || s->a->help || s->a->version)
            return err;
        err = lacks_program(s);
        if (err != 0)
            return err;
        if (s->at == s->count || (s->lines && s->at + 1 == s->count))
            return 0;
        s->at++; /* a colon, or the end of a line */
    }
}

void la_args_init(struct la_args *a)
{
    memset(a, 0, sizeof *a);
    a->stdin_to = a->starter = -1;
    a->timeout_us = a->grace_us = a->start_timeout_us = a->cut_wait_us = a->push_limit = UINT64_MAX;
}

static void free_programs(struct la_args *a)
{
    size_t i;

    for (i = 0; i < a->programs_count; i++) {
        la_text_list_free(&a->programs[i].argv);
        la_text_list_free(&a->programs[i].env);
        free(a->programs[i].dir);
    }
    free(a->programs);
    a->programs = NULL;
    a->programs_count = a->programs_capacity = 0;
}

int la_args_read(struct la_args *a, char **words, size_t count, int lines, char why[LA_TEXT])
{
    struct scan s;
    int err;

    memset(&s, 0, sizeof s);
    s.a = a;
    s.words = words;
    s.count = count;
    s.why = why;
    s.lines = lines;
    free_programs(a);
    free(a->configfile);
    a->configfile = NULL;
    err = read_all(&s);
    if (err != 0 || a->help || a->version || a->configfile == NULL)
        return err;
    if (lines)
        snprintf(why, LA_TEXT, "a configuration file names no other one");
    else if (program(&s)->argv.count > 0 || a->programs_count > 1 || program(&s)->ranks > 0
             || program(&s)->env.count > 0 || program(&s)->dir != NULL)
        snprintf(why, LA_TEXT, "-configfile: programs stand in the file or behind it, not both");
    else
        return 0;
    return PHX_EINVAL;
}

void la_args_free(struct la_args *a)
{
    free_programs(a);
    la_text_list_free(&a->hosts);
    la_text_list_free(&a->genv);
    free(a->genvlist);
    free(a->configfile);
    free(a->ssh);
    free(a->agent);
    free(a->stage);
    free(a->ft);
    free(a->out_pattern);
    free(a->err_pattern);
    la_args_init(a);
}

/* ---- Configuration files ----------------------------------------------------------------------- */

/* What is split: the words so far, the word that grows, and where we are. */
struct cut {
    char **out;
    size_t count, capacity;
    struct la_text word;
    int open;   /* a word has begun, perhaps an empty one in quotes */
    char quote; /* the one that is open, or 0 */
    unsigned long line, opened;
    int failed;
};

static void put_word(struct cut *c, char *word)
{
    if (la_text_grow(&c->out, c->count, &c->capacity, sizeof *c->out) != 0) {
        free(word);
        c->failed = 1;
        return;
    }
    c->out[c->count++] = word;
}

static void end_word(struct cut *c)
{
    if (!c->open)
        return;
    la_text_add(&c->word, "", 0);
    c->failed |= c->word.failed;
    put_word(c, c->word.at);
    memset(&c->word, 0, sizeof c->word);
    c->open = 0;
}

static void end_line(struct cut *c)
{
    end_word(c);
    if (c->count > 0 && c->out[c->count - 1] != NULL)
        put_word(c, NULL);
}

/* One byte; returns how many were used. */
static size_t cut_byte(struct cut *c, const char *at, size_t left)
{
    if (c->quote == '\0' && *at == '#' && !c->open) {
        const char *stop = memchr(at, '\n', left);

        return stop != NULL ? (size_t)(stop - at) : left;
    }
    if (*at == '\\' && c->quote != '\'' && left > 1) {
        c->line += at[1] == '\n';
        if (at[1] != '\n') {
            la_text_add(&c->word, at + 1, 1);
            c->open = 1;
        }
        return 2;
    }
    if (c->quote != '\0' ? *at == c->quote : *at == '\'' || *at == '"') {
        c->quote = c->quote != '\0' ? '\0' : *at;
        c->opened = c->line;
        c->open = 1;
    } else if (c->quote == '\0' && *at == '\n') {
        end_line(c);
    } else if (c->quote == '\0' && (*at == ' ' || *at == '\t' || *at == '\r')) {
        end_word(c);
    } else {
        la_text_add(&c->word, at, 1);
        c->open = 1;
    }
    c->line += *at == '\n';
    return 1;
}

int la_args_split(const char *text, size_t size, const char *name, char ***out, size_t *count,
                  char why[LA_TEXT])
{
    struct cut c;
    size_t at;
    int err = 0;

    memset(&c, 0, sizeof c);
    c.line = 1;
    if (memchr(text, '\0', size) != NULL) {
        snprintf(why, LA_TEXT, "%.150s: this is no text", name);
        err = PHX_EINVAL;
    }
    for (at = 0; at < size && err == 0 && !c.failed;)
        at += cut_byte(&c, text + at, size - at);
    if (err == 0 && c.quote != '\0') {
        snprintf(why, LA_TEXT, "%.150s:%lu: this quote is not closed", name, c.opened);
        err = PHX_EINVAL;
    }
    end_line(&c);
    if (err == 0 && c.count == 0 && !c.failed) {
        snprintf(why, LA_TEXT, "%.150s: no program is named", name);
        err = PHX_EINVAL;
    }
    la_text_free(&c.word);
    *out = c.out;
    *count = c.count;
    return c.failed ? PHX_ENOMEM : err;
}

void la_args_unsplit(char **words, size_t count)
{
    while (count > 0)
        free(words[--count]);
    free(words);
}
