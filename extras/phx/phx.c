/* phx.c - one command that joins a Phoenix network, looks at it, and sends through it. */

/* cc -std=c99 -O2 -o phx extras/phx/[a-z]*.c extras/ssh/ssh.c phoenix.c */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <string.h>

static const struct tool_command *const phx_commands[] = { &tool_hub,    &tool_node_command, &tool_ls,
                                                           &tool_ping,   &tool_trace,        &tool_send,
                                                           &tool_recv,   &tool_bench,        &tool_map,
                                                           &tool_doctor, &tool_key };

#define PHX_COMMANDS (sizeof phx_commands / sizeof *phx_commands)

static const char *const phx_options[] = {
    "  --join ADDRESS     the address of any node: tcp://host:port, tls://, unix:///path,",
    "                     ssh://host/host:port; may be repeated (or PHX_JOIN in the environment)",
    "  --listen ADDRESS   be reachable there, too; port 0 picks one",
    "  --key FILE         the cluster's key (or PHX_KEY_FILE); `phx key new FILE` makes one",
    "  --loose-key        take a key file that others can read",
    "  --cluster NAME     other than \"phoenix\" (or PHX_CLUSTER)",
    "  --label TEXT       what people see of this node",
    "  --tls              encrypt all TCP links (phx built with -DPHX_TLS)",
    "  --ca FILE, --cert FILE, --cert-key FILE",
    "                     PEM files in place of certificates made of the key",
    "  --insecure         leave this machine without a key",
    "  --wait SECONDS     for whom or what does not come (5)",
    "  --json             for scripts",
    "  -v                 what the node says; -v -v: all of it",
};

static int phx_help(void)
{
    size_t i;

    (void)puts(
        "phx: looks into a Phoenix network and sends through it.\n\n  phx COMMAND [WORDS] [OPTIONS]\n");
    for (i = 0; i < PHX_COMMANDS; i++)
        (void)printf("  %-7s %-18s %s\n", phx_commands[i]->name, phx_commands[i]->words,
                     phx_commands[i]->summary);
    (void)puts("\nOptions of all commands:\n");
    for (i = 0; i < sizeof phx_options / sizeof *phx_options; i++)
        (void)puts(phx_options[i]);
    (void)puts(
        "\n`phx COMMAND --help` has examples. Status: 0 fine, 1 it did not work, 2 wrong words or files.");
    return TOOL_OK;
}

static int phx_help_of(const struct tool_command *c)
{
    (void)printf("phx %s %s: %s\n\n%s\n", c->name, c->words, c->summary, c->help);
    return TOOL_OK;
}

static const struct tool_command *phx_find(const char *name)
{
    size_t i;

    for (i = 0; i < PHX_COMMANDS; i++)
        if (strcmp(phx_commands[i]->name, name) == 0)
            return phx_commands[i];
    return NULL;
}

static int phx_is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int phx_run(struct tool *t, int argc, char **argv)
{
    int i, err;

    for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (phx_is_help(argv[i]))
            return phx_help_of(t->command);
    if ((err = tool_options(t, &argc, argv)) != 0)
        return err;
    if (argc < t->command->least || argc > t->command->most)
        return tool_say(TOOL_USAGE, "usage: phx %s %s; see phx %s --help", t->command->name,
                        t->command->words, t->command->name);
    err = t->command->run(t, argc, argv);
    tool_leave(t, 0); /* others are not to take this node for one that died */
    tool_end(t);
    if (fflush(stdout) != 0 || ferror(stdout))
        return tool_say(TOOL_FAILED, "cannot write to standard output");
    return err;
}

int main(int argc, char **argv)
{
    static struct tool t; /* large, and its key is not left on a stack */

    if (argc < 2)
        return tool_say(TOOL_USAGE, "what is to be done? See phx --help");
    if (phx_is_help(argv[1]) || strcmp(argv[1], "help") == 0)
        return phx_help();
    if (strcmp(argv[1], "--version") == 0)
        return printf("phx %s\n", phx_version()) < 0;
    if ((t.command = phx_find(argv[1])) == NULL)
        return tool_say(TOOL_USAGE, "%s: no such command; see phx --help", argv[1]);
    return phx_run(&t, argc - 2, argv + 2);
}
