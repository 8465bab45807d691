/* options.c - the options that all commands share, and the configuration of the node that follows from them.
 */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum options_kind { FLAG, TEXT, LIST, NUMBER, SECONDS };

struct options_row {
    const char *name;
    enum options_kind kind;
    size_t at, count; /* of the member of struct tool; count: of a LIST */
};

#define AT(member) offsetof(struct tool, member)

static const struct options_row options_rows[] = {
    { "--join", LIST, AT(joins), AT(joins_count) },
    { "--listen", LIST, AT(listens), AT(listens_count) },
    { "--key", TEXT, AT(key_file), 0 },
    { "--loose-key", FLAG, AT(loose_key), 0 },
    { "--cluster", TEXT, AT(cluster), 0 },
    { "--label", TEXT, AT(label), 0 },
    { "--tls", FLAG, AT(tls), 0 },
    { "--ca", TEXT, AT(ca_file), 0 },
    { "--cert", TEXT, AT(cert_file), 0 },
    { "--cert-key", TEXT, AT(cert_key_file), 0 },
    { "--insecure", FLAG, AT(insecure), 0 },
    { "--json", FLAG, AT(json), 0 },
    { "--dot", FLAG, AT(dot), 0 },
    { "--svg", FLAG, AT(svg), 0 },
    { "--html", TEXT, AT(html), 0 },
    { "--serve", TEXT, AT(serve), 0 },
    { "--keep", FLAG, AT(keep), 0 },
    { "--wait", SECONDS, AT(wait_s), 0 },
    { "--count", NUMBER, AT(count), 0 },
    { "-v", FLAG, AT(verbose), 0 },
};

static int options_list(struct tool *t, const struct options_row *row, const char *value)
{
    const char **list = (const char **)(void *)((char *)t + row->at);
    int *count = (int *)(void *)((char *)t + row->count);

    if (*count >= TOOL_ADDRESSES)
        return tool_say(TOOL_USAGE, "%s: at most %d", row->name, TOOL_ADDRESSES);
    list[(*count)++] = value;
    return 0;
}

static int options_number(struct tool *t, const struct options_row *row, const char *value)
{
    char *end;
    double number;

    errno = 0;
    number = strtod(value, &end);
    if (end == value || *end != 0 || errno != 0 || !(number >= 0) || number > 1e9)
        return tool_say(TOOL_USAGE, "%s %s: not a number from 0 to 1000000000", row->name, value);
    if (row->kind == SECONDS)
        *(double *)(void *)((char *)t + row->at) = number;
    else
        *(long *)(void *)((char *)t + row->at) = (long)number;
    return 0;
}

static int options_take(struct tool *t, const struct options_row *row, const char *value)
{
    if (row->kind == LIST)
        return options_list(t, row, value);
    if (row->kind == NUMBER || row->kind == SECONDS)
        return options_number(t, row, value);
    if (row->kind == FLAG)
        ++*(int *)(void *)((char *)t + row->at);
    else
        *(const char **)(void *)((char *)t + row->at) = value;
    return 0;
}

/* "--key=FILE" or "--key FILE": the row, and *value; NULL: there is no such option. */
static const struct options_row *options_find(const char *word, const char **value)
{
    size_t i, size = strcspn(word, "=");

    for (i = 0; i < sizeof options_rows / sizeof *options_rows; i++)
        if (strlen(options_rows[i].name) == size && strncmp(options_rows[i].name, word, size) == 0) {
            *value = word[size] == '=' ? word + size + 1 : NULL;
            return &options_rows[i];
        }
    return NULL;
}

/* Options may stand anywhere; what is left are the command's words. "--" ends them. */
static int options_words(struct tool *t, int *argc, char **argv)
{
    const struct options_row *row;
    const char *value = NULL;
    int i, err, words = 0;

    for (i = 0; i < *argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            for (i++; i < *argc; i++)
                argv[words++] = argv[i];
            break;
        }
        if (argv[i][0] != '-' || argv[i][1] == 0) {
            argv[words++] = argv[i];
            continue;
        }
        if ((row = options_find(argv[i], &value)) == NULL)
            return tool_say(TOOL_USAGE, "%s: no such option; see phx --help", argv[i]);
        if ((row->kind == FLAG) != (value == NULL) && row->kind == FLAG)
            return tool_say(TOOL_USAGE, "%s takes no value", row->name);
        if (row->kind != FLAG && value == NULL && ++i >= *argc)
            return tool_say(TOOL_USAGE, "%s wants a value", row->name);
        if ((err = options_take(t, row, value != NULL || row->kind == FLAG ? value : argv[i])) != 0)
            return err;
    }
    *argc = words;
    return 0;
}

/* A key that others can read is no secret. */
static int options_key(struct tool *t)
{
    struct stat st;
    int size;

    if (t->key_file == NULL)
        return 0;
    if (stat(t->key_file, &st) != 0)
        return tool_say(TOOL_USAGE, "key file %s: %s", t->key_file, strerror(errno));
    if ((st.st_mode & 077) != 0 && !t->loose_key)
        return tool_say(TOOL_USAGE, "key file %s can be read by others (chmod 600 it, or say --loose-key)",
                        t->key_file);
    if ((size = phx_read_key(t->key_file, t->key, sizeof t->key)) < 0)
        return tool_say(TOOL_USAGE, "key file %s: %s", t->key_file, phx_strerror(size));
    t->cfg.key = t->key;
    t->cfg.key_size = (size_t)size;
    return 0;
}

/* A node of the command line serves nobody and links only with hubs and whom it speaks to. */
static void options_config(struct tool *t)
{
    phx_config_init(&t->cfg);
    t->cfg.cluster = t->cluster != NULL ? t->cluster : t->cfg.cluster;
    t->cfg.label = t->label;
    t->cfg.tls = t->tls;
    t->cfg.tls_ca = t->ca_file;
    t->cfg.tls_cert = t->cert_file;
    t->cfg.tls_key = t->cert_key_file;
    t->cfg.insecure = t->insecure;
    t->cfg.relay = 0;
    t->cfg.full_mesh = 0;
}

/* One that is empty says nothing. */
static const char *options_variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != 0 ? value : NULL;
}

/* What is not said comes from the environment. */
static void options_environment(struct tool *t)
{
    const char *join = options_variable("PHX_JOIN");

    if (t->joins_count == 0 && join != NULL)
        t->joins[t->joins_count++] = join;
    if (t->key_file == NULL)
        t->key_file = options_variable("PHX_KEY_FILE");
    if (t->cluster == NULL)
        t->cluster = options_variable("PHX_CLUSTER");
}

int tool_options(struct tool *t, int *argc, char **argv)
{
    int err;

    t->wait_s = -1;
    if ((err = options_words(t, argc, argv)) != 0)
        return err;
    options_environment(t);
    options_config(t);
    return options_key(t);
}
