/* doctor.c - phx doctor: why nothing connects, in sentences, each with what to do. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct doctor_line {
    int error;
    const char *cause, *cure;
};

/* What a hub's error means, to one who has set this up. */
static const struct doctor_line doctor_lines[] = {
    { PHX_EREFUSED, "The machine answers, and nothing listens at that port.",
      "Is the program there running, and does it listen at this address and port (not only at 127.0.0.1)? "
      "A firewall that says no looks the same." },
    { PHX_ETIMEDOUT, "No answer at all.",
      "A firewall drops it, or the machine is off. Let the other side dial this one, or join another node "
      "that both can "
      "reach: one reachable node is enough." },
    { PHX_EUNREACH, "There is no way to that network from here.",
      "Check routes and interfaces; join through a node that both sides can reach, or "
      "ssh://gateway/host:port." },
    { PHX_EKEY, "It is Phoenix, and its key is another one.",
      "Copy the key file itself, not its text: every byte counts, a line end too. Compare with cksum on both "
      "machines." },
    { PHX_ECLUSTER, "It is Phoenix, of another cluster.",
      "Both sides need the same cfg.cluster; here it is set by --cluster or PHX_CLUSTER." },
    { PHX_EVERSION, "It is Phoenix of another version, whose wire format differs.",
      "Build both sides from the same phoenix.h and phoenix.c." },
    { PHX_ETLS,
      "TLS did not come to an end: one side speaks it and the other does not, or a certificate is not "
      "believed.",
      "Use tls:// (or --tls) on both sides or on neither. With certificates: the same CA at both, and clocks "
      "that are right." },
    { PHX_ECERT, "Our own certificate is not good: not by the CA in --ca, or not for signing.",
      "Let the CA that all nodes have issue it, with keyUsage digitalSignature or none." },
    { PHX_EPEM, "A PEM file is malformed, or has not in it what its option says.",
      "--ca and --cert want certificates, --cert-key a private key without a passphrase." },
    { PHX_EPAIR, "The private key does not belong to the certificate.",
      "--cert-key is the key that the certificate in --cert was made of." },
    { PHX_EFILE, "A file is not there, or cannot be read.", "Check the paths, and who may read them." },
    { PHX_EPROTO, "Something answers that is not Phoenix, or speaks TLS where the other side does not.",
      "Is it the right port? Use tls:// on both sides or on neither." },
    { PHX_ERESET, "It takes the connection and closes it.",
      "Another service, a proxy, or a listener that wants TLS (tls://) or does not (tcp://)." },
    { PHX_EINSECURE, "That address leaves this machine, and there is no key.",
      "Give both sides the same key: phx key new FILE, --key FILE." },
    { PHX_ESELF, "That is this node itself.", "Give the address of another one." },
    { PHX_ELIMIT, "It is full: it has as many links as it may.",
      "Join another node, or raise cfg.max_accepts there." },
    { PHX_ENOTSUP, "This phx cannot do that.",
      "TLS wants a build with -DPHX_TLS -lbearssl; ssh:// wants ssh in PATH." },
    { PHX_ENOKEY, "TLS wants a key.", "--key FILE, the same on both sides." },
};

struct doctor {
    struct tool *t;
    int findings; /* what is wrong */
    int lines;
};

static void doctor_put(struct doctor *d, const char *mark, const char *what, const char *text)
{
    static const char *const paint[] = { "\033[32m", "\033[31m", "\033[0m" };
    int colour = tool_is_terminal(1), bad = strcmp(mark, "bad") == 0;

    if (d->t->json) {
        (void)printf("%s{\"kind\":\"%s\",\"what\":", d->lines > 0 ? ",\n" : "", mark);
        tool_json_string(stdout, what);
        (void)printf(",\"text\":");
        tool_json_string(stdout, text);
        (void)printf("}");
    } else if (strcmp(mark, "cure") == 0) {
        (void)printf("     %s\n", text);
    } else {
        (void)printf("%s%-4s%s %s: %s\n", !colour || strcmp(mark, "note") == 0 ? "" : paint[bad], mark,
                     colour ? paint[2] : "", what, text);
    }
    (void)fflush(stdout);
    d->lines++;
    d->findings += bad;
}

static void doctor_error(struct doctor *d, const char *what, int error)
{
    size_t i;

    for (i = 0; i < sizeof doctor_lines / sizeof *doctor_lines; i++)
        if (doctor_lines[i].error == error) {
            doctor_put(d, "bad", what, doctor_lines[i].cause);
            doctor_put(d, "cure", what, doctor_lines[i].cure);
            return;
        }
    doctor_put(d, "bad", what, phx_strerror(error));
}

/* ---- The address ----------------------------------------------------------------------------- */

/* The host and port of scheme://host:port; 0: it has none (unix://, ssh://). */
static int doctor_split(const char *address, char host[256], char port[8])
{
    const char *at = strstr(address, "://"), *colon = strrchr(address, ':');
    size_t size;

    if (at == NULL || (strncmp(address, "tcp://", 6) != 0 && strncmp(address, "tls://", 6) != 0)
        || colon <= at + 2)
        return 0;
    at += 3;
    size = (size_t)(colon - at);
    if (*at == '[' && size > 2) {
        at++;
        size -= 2;
    }
    if (size == 0 || size > 255 || strlen(colon + 1) > 7)
        return 0;
    (void)snprintf(host, 256, "%.*s", (int)size, at);
    (void)snprintf(port, 8, "%s", colon + 1);
    return 1;
}

static int doctor_connect(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol), err = 0;
    struct pollfd wait = { fd, POLLOUT, 0 };
    socklen_t size = sizeof err;

    if (fd < 0)
        return errno;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
        err = errno;
    else if (poll(&wait, 1, 4000) <= 0)
        err = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) != 0)
        err = errno;
    (void)close(fd);
    return err;
}

static void doctor_now(char out[TOOL_DATE])
{
    time_t now = time(NULL);
    struct tm tm;

    if (gmtime_r(&now, &tm) == NULL || strftime(out, TOOL_DATE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        (void)snprintf(out, TOOL_DATE, "unknown");
}

static int doctor_error_of(int number)
{
    return number == ECONNREFUSED                            ? PHX_EREFUSED
           : number == ETIMEDOUT                             ? PHX_ETIMEDOUT
           : number == ENETUNREACH || number == EHOSTUNREACH ? PHX_EUNREACH
                                                             : PHX_EIO;
}

/* Nothing there takes a connection. The last try said why; where the address lies may say more. */
static void doctor_unreached(struct doctor *d, const char *address, int walled, int outside, int error)
{
    int hidden = !tool_is_public();

    if (!walled) {
        doctor_error(d, address, error);
        if (hidden && outside && error != PHX_EUNREACH)
            doctor_put(d, "cure", address,
                       "If that is the outside address of a NAT, a port must be forwarded there. This "
                       "machine has no public address either, so nobody can dial it back: a hub that both "
                       "can reach (phx hub) is the way.");
        return;
    }
    doctor_put(d, "bad", address,
               hidden ? "NAT on both sides: that is a private address of another network, which nobody "
                        "outside of it can dial, and this machine has none but private addresses, too."
                      : "NAT: that is a private address of another network, which nobody outside of it "
                        "can dial.");
    doctor_put(d, "cure", address,
               hidden ? "Run a hub where both sides can dial out to (phx hub ADDRESS, on a machine with a "
                        "public address) and join it from both; or forward a port of one NAT, which the "
                        "node there tells others (phx_advertise); or go by ssh: ssh://gateway/host:port."
                      : "Let the other side join this machine, which has a public address; or forward a port "
                        "there and join the outside address.");
}

/* Does the name resolve, does anything take the connection? 0: there is no sense in going on. */
static int doctor_reach(struct doctor *d, const char *address)
{
    char host[256], port[8], numeric[64], what[96];
    struct addrinfo hints, *list = NULL, *a;
    int err, good = 0, last = 0, walled = 0, outside = 0;

    if (!doctor_split(address, host, port))
        return 1;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    if ((err = getaddrinfo(host, port, &hints, &list)) != 0) {
        doctor_put(d, "bad", host, gai_strerror(err));
        doctor_put(d, "cure", host,
                   "The host name does not resolve here. Check its spelling, or give the number.");
        return 0;
    }
    for (a = list; a != NULL; a = a->ai_next) {
        (void)getnameinfo(a->ai_addr, a->ai_addrlen, numeric, sizeof numeric, NULL, 0, NI_NUMERICHOST);
        (void)snprintf(what, sizeof what, "%s port %s", numeric, port);
        if ((err = doctor_connect(a)) == 0)
            doctor_put(d, "ok", what, "takes connections");
        else
            doctor_put(d, "note", what, strerror(err));
        good |= err == 0;
        last = err != 0 ? err : last;
        walled |= err != ECONNREFUSED && tool_is_walled(a->ai_addr); /* who refuses can be dialled */
        outside |= tool_is_outside(a->ai_addr);
    }
    freeaddrinfo(list);
    if (!good)
        doctor_unreached(d, address, walled, outside, doctor_error_of(last));
    return good;
}

/* ---- The node there -------------------------------------------------------------------------- */

static int doctor_is_decided(struct tool *t)
{
    struct phx_hub hub[TOOL_ADDRESSES];
    size_t i, n = phx_hubs(t->p, hub, TOOL_ADDRESSES), failed = 0;

    for (i = 0; i < n && i < TOOL_ADDRESSES; i++) {
        if (hub[i].linked)
            return 1;
        failed += hub[i].tried_us != 0 && hub[i].error != PHX_EAGAIN;
    }
    return failed == n;
}

static int doctor_link(struct doctor *d, const char *address)
{
    struct phx_hub hub[TOOL_ADDRESSES];
    int decided = tool_until(d->t, d->t->wait_s < 0 ? 8 : d->t->wait_s, doctor_is_decided);
    size_t i, n = phx_hubs(d->t->p, hub, TOOL_ADDRESSES);
    char id[PHX_ID_TEXT];

    for (i = 0; i < n && i < TOOL_ADDRESSES; i++)
        if (hub[i].linked) {
            doctor_put(d, "ok", address, "a Phoenix node, same cluster and key");
            doctor_put(d, "note", "its id", phx_id_text(&hub[i].peer, id));
            return 1;
        }
    /* Connections were taken a moment ago, so it is not the way that is silent. */
    if (decided <= 0 || n == 0 || hub[0].tried_us == 0 || hub[0].error == PHX_ETIMEDOUT) {
        doctor_put(d, "bad", address, "It takes the connection, and says nothing that Phoenix would.");
        doctor_put(d, "cure", address,
                   "Another service, or a TLS listener (tls://) dialled without TLS, or the other way "
                   "round.");
    } else {
        doctor_error(d, address, hub[0].error);
    }
    if (d->t->said[0] != 0)
        doctor_put(d, "note", "the library says", d->t->said);
    return 0;
}

/* ---- Certificates ---------------------------------------------------------------------------- */

/* The clock, since certificates hang on it. */
static void doctor_clock(struct doctor *d)
{
    char now[TOOL_DATE];

    doctor_now(now);
    doctor_put(d, "note", "this machine's clock, UTC", now);
}

/* Is a certificate of ours, or the CA's, good today? 0: no. */
static int doctor_dates(struct doctor *d, const char *path)
{
    char from[TOOL_DATE], until[TOOL_DATE], now[TOOL_DATE], text[80];

    if (path == NULL || tool_certificate(path, from, until) != 0)
        return 1; /* phx_new says what is wrong with it */
    doctor_now(now);
    if (strcmp(now, until) > 0) {
        (void)snprintf(text, sizeof text, "This certificate has expired: it was good until %s.", until);
        doctor_put(d, "bad", path, text);
        doctor_put(d, "cure", path, "Let the CA issue a new one. If the date is not over, set the clock.");
        return 0;
    }
    if (strcmp(now, from) < 0) {
        (void)snprintf(text, sizeof text, "This certificate is not valid yet: it is good from %s.", from);
        doctor_put(d, "bad", path, text);
        doctor_put(d, "cure", path, "Wait until then, or set this machine's clock if that is wrong.");
        return 0;
    }
    (void)snprintf(text, sizeof text, "a certificate that is good until %s", until);
    doctor_put(d, "ok", path, text);
    return 1;
}

/* ---- Walls ----------------------------------------------------------------------------------- */

static void doctor_walls(struct doctor *d)
{
    struct phx_link link;
    size_t n = phx_links(d->t->p, &link, 1);
    const char *seen = d->t->seen_at;

    if (n > 0 && link.same_host) {
        doctor_put(d, "note", "walls", "that node is on this very host, so nothing is known of walls");
        return;
    }
    if (seen[0] != 0) {
        doctor_put(d, "note", "others see this node at", seen);
        doctor_put(d, "note", "walls",
                   "an address that differs from this machine's own is a NAT: others cannot dial this "
                   "side unless a port is forwarded. That is fine as long as one node can be reached");
    } else {
        doctor_put(d, "note", "walls", "nobody has told another address of this node: no NAT was seen");
    }
    if (d->t->listens_count == 0)
        doctor_put(d, "note", "this node listens nowhere",
                   "it dials others and is never dialled. Of two such nodes relays "
                   "carry the messages: one node that listens is needed");
}

/* Of the addresses that phx_explain tells of a node: how many there are, and how many of them are walled. */
static int doctor_addresses(const char *text, int *walled)
{
    static const char key[] = "address: ";
    char host[256], port[8], address[PHX_ADDRESS_TEXT];
    struct addrinfo hints, *list;
    const char *line;
    int count = 0;

    memset(&hints, 0, sizeof hints);
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    for (line = text; line != NULL; line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        line += sizeof key - 1;
        (void)snprintf(address, sizeof address, "%.*s", (int)strcspn(line, ",\n"), line);
        count++;
        if (!doctor_split(address, host, port) || getaddrinfo(host, port, &hints, &list) != 0)
            continue;
        *walled += tool_is_walled(list->ai_addr);
        freeaddrinfo(list);
    }
    return count;
}

/* One that relays lead to: could either side dial the other at all? */
static void doctor_relayed(struct doctor *d, const struct phx_node *n, const char *text)
{
    char label[PHX_LABEL];
    int walled = 0, count = doctor_addresses(text, &walled);

    if (count > walled)
        return; /* it could be dialled: this command does not try */
    doctor_put(d, "note", tool_node_text(n, label),
               count == 0 ? "is reached through relays: it listens nowhere, so nobody can dial it"
               : tool_is_public()
                   ? "is reached through relays: it is behind a NAT, at private addresses of another network"
                   : "is reached through relays: NAT on both sides, both at private addresses");
    doctor_put(d, "cure", label,
               "Messages go on as long as a relay lives. For a direct link one side must be dialled: forward "
               "a port, which the node there tells others (phx_advertise).");
}

/* Who cannot be reached, or not directly, and what is known of that. */
static void doctor_node(struct doctor *d, const struct phx_node *n)
{
    static const char *const keys[] = { "address: ", "link-lost: ", "accused: " };
    int size = phx_explain(d->t->p, &n->id, NULL, 0);
    char *text = size < 0 ? NULL : malloc((size_t)size + 1), *line, *end, label[PHX_LABEL];
    size_t i;

    if (text == NULL)
        return;
    (void)phx_explain(d->t->p, &n->id, text, (size_t)size + 1);
    if (n->state <= PHX_NODE_SUSPECT) {
        doctor_relayed(d, n, text);
        free(text);
        return;
    }
    doctor_put(d, n->state == PHX_NODE_LEFT ? "note" : "bad", tool_node_text(n, label),
               tool_state_text(n->state));
    for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0;
        for (i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                doctor_put(d, "cure", label, line);
    }
    free(text);
}

static void doctor_nodes(struct doctor *d)
{
    struct phx_node *nodes;
    size_t i, n = tool_nodes(d->t, &nodes), good = 0, relayed = 0;
    char text[96];

    for (i = 0; i < n; i++) {
        good += nodes[i].state <= PHX_NODE_SUSPECT && nodes[i].hops != 0;
        relayed += nodes[i].hops > 1;
        if (nodes[i].state > PHX_NODE_SUSPECT || nodes[i].hops > 1)
            doctor_node(d, &nodes[i]);
    }
    free(nodes);
    (void)snprintf(text, sizeof text, "%zu reached, %zu of them through relays; phx trace says why", good,
                   relayed);
    doctor_put(d, "ok", "nodes", text);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int doctor_listen(struct doctor *d)
{
    int i, err;

    for (i = 0; i < d->t->listens_count; i++)
        if ((err = phx_listen(d->t->p, d->t->listens[i])) != 0)
            return tool_say(TOOL_USAGE, "cannot listen at %s: %s", d->t->listens[i], phx_strerror(err));
    return 0;
}

/* 0, or a status of the command after a line of its own. */
static int doctor_all(struct doctor *d, const char *address)
{
    struct tool *t = d->t;
    int err, good;

    good = doctor_dates(d, t->ca_file);
    if (!doctor_dates(d, t->cert_file) || !good)
        return 0;
    if ((err = tool_make(t)) != 0) {
        doctor_error(d, "this node", err);
        return 0;
    }
    if ((err = doctor_listen(d)) != 0)
        return err;
    if (t->cfg.key == NULL && !t->insecure)
        doctor_put(d, "note", "no key", "only this machine can be spoken to: --key FILE, PHX_KEY_FILE");
    if ((err = phx_join(t->p, address)) != 0 && err != PHX_ERESOLVE) {
        doctor_error(d, address, err);
        return 0;
    }
    if (!doctor_reach(d, address) || !doctor_link(d, address))
        return 0;
    (void)tool_settle(t);
    (void)tool_until(t, 0.5, NULL); /* others say what they know, also of our address */
    doctor_walls(d);
    doctor_nodes(d);
    return 0;
}

static int doctor_run(struct tool *t, int argc, char **argv)
{
    struct doctor d = { t, 0, 0 };
    const char *address = argc > 0 ? argv[0] : t->joins_count > 0 ? t->joins[0] : NULL;
    int err;

    if (address == NULL)
        return tool_say(TOOL_USAGE, "usage: phx doctor ADDRESS");
    if (t->json)
        (void)printf("[");
    if ((err = doctor_all(&d, address)) != 0)
        return err;
    if (d.findings > 0)
        doctor_clock(&d);
    if (t->json)
        (void)printf("]\n");
    else
        (void)puts(d.findings > 0 ? "Not all is well." : "All is well.");
    return d.findings > 0 ? TOOL_FAILED : TOOL_OK;
}

const struct tool_command tool_doctor = {
    "doctor",
    "[ADDRESS]",
    "why nothing connects, in sentences",
    "  phx doctor tcp://hub:7000 --key k\n"
    "  phx doctor                                     of the first --join, or PHX_JOIN\n\n"
    "Looks whether the name resolves, the port answers, it is Phoenix, with this version, cluster, key and "
    "TLS; then at\n"
    "walls, and at nodes that cannot be reached. Status 0 if all is well.",
    0,
    1,
    doctor_run
};
