/* hub.c - phx hub and phx node: nodes that stay, relay, hold names and answer phx bench. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HUB_PORT "7000"

static void hub_on_node(phx *p, const struct phx_node *n, void *user)
{
    struct tool *t = user;
    char label[PHX_LABEL];

    (void)p;
    if (t->json)
        return;
    (void)printf("%s %s%s%s\n", tool_node_text(n, label), tool_state_text(n->state),
                 n->reason != 0 ? ": " : "", n->reason != 0 ? phx_strerror(n->reason) : "");
    (void)fflush(stdout);
}

/* Where others can come to: of "all interfaces" this machine's name. */
static void hub_say_address(struct tool *t, int index)
{
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT], host[256] = "localhost";
    static const unsigned char any[16];
    int all;

    if (phx_listening(t->p, index, &at) != 0)
        return;
    all = (at.family == PHX_IPV4 || at.family == PHX_IPV6)
          && memcmp(at.ip, any, at.family == PHX_IPV4 ? 4 : 16) == 0;
    if (all && gethostname(host, sizeof host - 1) == 0)
        (void)snprintf(text, sizeof text, "%s://%.90s:%u", at.tls ? "tls" : "tcp", host, (unsigned)at.port);
    else
        (void)phx_address_text(&at, text);
    if (t->json) {
        (void)printf("{\"listening\":");
        tool_json_string(stdout, text);
        (void)printf("}\n");
    } else {
        (void)printf("to join: phx ls --join %s%s%s%s%s\n", text, t->key_file != NULL ? " --key " : "",
                     t->key_file != NULL ? t->key_file : "", t->cluster != NULL ? " --cluster " : "",
                     t->cluster != NULL ? t->cluster : "");
    }
    (void)fflush(stdout);
}

/* Without a key a hub serves this machine only. */
static void hub_default_address(struct tool *t)
{
    if (t->listens_count == 0)
        t->listens[t->listens_count++] = t->key_file == NULL && !t->insecure ? "tcp://127.0.0.1:" HUB_PORT
                                         : t->tls                            ? "tls://0.0.0.0:" HUB_PORT
                                                                             : "tcp://0.0.0.0:" HUB_PORT;
}

static int hub_stay(struct tool *t)
{
    int i;

    for (i = 0; i < t->listens_count; i++)
        hub_say_address(t, i);
    while (!t->stop)
        tool_turn(t, -1, NULL, 0);
    tool_leave(t, 1);
    return TOOL_OK;
}

static int hub_run(struct tool *t, int argc, char **argv)
{
    int err;

    if (argc > 0)
        t->listens[t->listens_count++ % TOOL_ADDRESSES] = argv[0];
    hub_default_address(t);
    t->cfg.relay = 1;
    t->cfg.full_mesh = t->cfg.max_links;
    t->cfg.label = t->label != NULL ? t->label : "hub";
    t->cfg.on_message = tool_serve;
    t->cfg.on_node = hub_on_node;
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 0)) != 0)
        return err;
    return hub_stay(t);
}

static int node_run(struct tool *t, int argc, char **argv)
{
    struct phx_range range;
    int i, err;

    t->cfg.relay = 1;
    t->cfg.full_mesh = t->cfg.max_links;
    t->cfg.on_message = tool_serve;
    t->cfg.on_node = hub_on_node;
    if ((err = tool_node(t)) != 0 || (err = tool_join(t, 1)) != 0)
        return err;
    for (i = 0; i < argc; i++) {
        if (!tool_range(argv[i], &range))
            return tool_say(TOOL_USAGE, "%s: not a name (7, 0x10) or range of names (7-9)", argv[i]);
        if ((err = phx_assume(t->p, range.first, range.last)) != 0)
            return tool_say(TOOL_FAILED, "%s: %s", argv[i], phx_strerror(err));
    }
    return hub_stay(t);
}

const struct tool_command tool_hub = {
    "hub",
    "[ADDRESS]",
    "a node to join: relays, and prints how to join it",
    "  phx hub                                       this machine only, tcp://127.0.0.1:" HUB_PORT "\n"
    "  phx key new k; phx hub --key k                all interfaces, for those who have the key\n"
    "  phx hub tls://0.0.0.0:7443 --key k            encrypted\n"
    "  phx hub --key k --join tcp://other:" HUB_PORT "       a second hub of the same network\n\n"
    "Says who comes and goes until it gets a signal. Answers `phx bench`.",
    0,
    1,
    hub_run
};

const struct tool_command tool_node_command = { "node",
                                                "NAMES...",
                                                "a node that holds names and answers phx bench",
                                                "  phx node 7 --join tcp://hub:" HUB_PORT " --key k\n"
                                                "  phx node 100-199 300 --join tcp://hub:" HUB_PORT
                                                " --key k --listen tcp://0.0.0.0:0 --label lab-3",
                                                1,
                                                64,
                                                node_run };
