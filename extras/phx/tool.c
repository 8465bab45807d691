/* tool.c - the node of a command: configuration, loop, who is meant by a name or label. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOL_SECOND ((uint64_t)1000000)
/* A routing table that did not change for so long is taken for complete. */
#define TOOL_QUIET_US 200000u

static volatile sig_atomic_t tool_signal; /* the number of the signal that came; 0: none */

static void tool_on_signal(int number)
{
    tool_signal = number;
}

static void tool_on_log(phx *p, int level, const char *line, void *user)
{
    static const char outside[] = "others see this node at ";
    struct tool *t = user;

    (void)p;
    if (strncmp(line, outside, sizeof outside - 1) == 0)
        (void)snprintf(t->seen_at, sizeof t->seen_at, "%s", line + sizeof outside - 1);
    if (level <= PHX_LOG_WARN)
        (void)snprintf(t->said, sizeof t->said, "%s", line);
    if (t->verbose || level == PHX_LOG_ERROR)
        (void)tool_say(0, "%s", line);
}

static int tool_dial(phx *p, const char *address, void *user)
{
    struct tool *t = user;

    return phx_ssh_dial(t->ssh, p, address);
}

static void tool_on_report(phx_ssh *s, const struct phx_ssh_report *r, void *user)
{
    struct tool *t = user;

    (void)s;
    (void)snprintf(t->said, sizeof t->said, "%s: %s%s%s", r->address, phx_ssh_reason_text(r->reason),
                   r->text[0] != 0 ? ": " : "", r->text);
    if (t->verbose)
        (void)tool_say(0, "%s", t->said);
}

static void tool_catch_signals(void)
{
    struct sigaction act;

    memset(&act, 0, sizeof act);
    act.sa_handler = tool_on_signal;
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    (void)sigaction(SIGHUP, &act, NULL);
    act.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &act, NULL);
}

int tool_make(struct tool *t)
{
    struct phx_ssh_config ssh;
    int err;

    phx_ssh_config_init(&ssh);
    ssh.on_report = tool_on_report;
    ssh.user = t;
    t->cfg.user = t;
    t->cfg.on_log = tool_on_log;
    t->cfg.dial = tool_dial;
    t->cfg.log_level = t->verbose > 1 ? PHX_LOG_DEBUG : PHX_LOG_INFO;
    if ((err = phx_ssh_new(&t->ssh, &ssh)) != 0 || (err = phx_new(&t->p, &t->cfg, phx_now_us())) != 0)
        return err;
    tool_catch_signals();
    return 0;
}

int tool_node(struct tool *t)
{
    int err = tool_make(t);

    if (err == 0)
        return 0;
    return tool_say(err == PHX_ENOMEM ? TOOL_FAILED : TOOL_USAGE, "no node: %s", phx_strerror(err));
}

int tool_join(struct tool *t, int must_join)
{
    int i, err;

    if (must_join && t->joins_count == 0)
        return tool_say(TOOL_USAGE, "join whom? --join ADDRESS, or PHX_JOIN in the environment");
    for (i = 0; i < t->listens_count; i++)
        if ((err = phx_listen(t->p, t->listens[i])) != 0)
            return tool_say(TOOL_USAGE, "cannot listen at %s: %s", t->listens[i], phx_strerror(err));
    for (i = 0; i < t->joins_count; i++)
        if ((err = phx_join(t->p, t->joins[i])) != 0)
            return tool_say(TOOL_USAGE, "cannot join %s: %s", t->joins[i], phx_strerror(err));
    return 0;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static int tool_room(int used)
{
    int most = (int)(sizeof((struct tool *)0)->fds / sizeof(struct pollfd)) - TOOL_FDS;

    return used < most ? most - used : 0;
}

static int tool_wait_ms(const struct tool *t, int most_ms, uint64_t now)
{
    int ms = phx_timeout_ms(t->p, now), ssh = phx_ssh_timeout_ms(t->ssh);

    if (ssh >= 0 && (ms < 0 || ssh < ms))
        ms = ssh;
    return most_ms >= 0 && (ms < 0 || most_ms < ms) ? most_ms : ms;
}

void tool_turn(struct tool *t, int most_ms, struct pollfd *own, int own_count)
{
    int n, m, i;

    n = phx_fds(t->p, t->fds, tool_room(0));
    n = n < tool_room(0) ? n : tool_room(0);
    m = phx_ssh_fds(t->ssh, t->fds + n, tool_room(n));
    m = m < tool_room(n) ? m : tool_room(n);
    for (i = 0; i < own_count; i++)
        t->fds[n + m + i] = own[i];
    if (poll(t->fds, (nfds_t)(n + m + own_count), tool_wait_ms(t, most_ms, phx_now_us())) < 0)
        for (i = 0; i < n + m + own_count; i++)
            t->fds[i].revents = 0; /* EINTR: the deadline may be due all the same */
    for (i = 0; i < own_count; i++)
        own[i].revents = t->fds[n + m + i].revents;
    (void)phx_ssh_step(t->ssh);
    (void)phx_step(t->p, phx_now_us(), t->fds, n);
    if (tool_signal != 0)
        t->stop = 1;
}

int tool_until(struct tool *t, double seconds, int (*met)(struct tool *t))
{
    uint64_t now = phx_now_us(), end = now + (uint64_t)(seconds * 1e6);

    for (;;) {
        if (met != NULL && met(t))
            return 1;
        if (t->stop)
            return -1;
        if ((now = phx_now_us()) >= end)
            return 0;
        tool_turn(t, (int)((end - now) / 1000 < 1000 ? (end - now) / 1000 + 1 : 1000), NULL, 0);
    }
}

int tool_is_linked(struct tool *t)
{
    struct phx_stats st;

    return phx_stats(t->p, &st) == 0 && st.links > 0;
}

/* Why no hub answers, in a line. */
static int tool_say_hubs(struct tool *t)
{
    struct phx_hub hub[TOOL_ADDRESSES];
    size_t i, n = phx_hubs(t->p, hub, TOOL_ADDRESSES);
    char at[PHX_ADDRESS_TEXT];

    for (i = 0; i < n && i < TOOL_ADDRESSES; i++)
        (void)tool_say(0, "%s: %s", phx_address_text(&hub[i].address, at),
                       hub[i].error == PHX_EAGAIN || hub[i].tried_us == 0 ? "no answer yet"
                                                                          : phx_strerror(hub[i].error));
    return tool_say(TOOL_FAILED, "no hub answers; `phx doctor %s` looks into it", t->joins[0]);
}

int tool_settle(struct tool *t)
{
    uint64_t digest = 0, since = phx_now_us(),
             end = since + (uint64_t)((t->wait_s < 0 ? 5 : t->wait_s) * 1e6);
    struct phx_stats st;

    while (!tool_is_linked(t)) {
        if (t->stop || phx_now_us() >= end)
            return t->stop ? TOOL_FAILED : tool_say_hubs(t);
        tool_turn(t, 100, NULL, 0);
    }
    for (since = phx_now_us(); phx_now_us() < since + TOOL_QUIET_US && !t->stop; tool_turn(t, 50, NULL, 0))
        if (phx_stats(t->p, &st) == 0 && st.digest + st.nodes != digest) {
            digest = st.digest + st.nodes;
            since = phx_now_us() < end ? phx_now_us() : 0; /* a network that never rests is shown as it is */
        }
    return t->stop ? TOOL_FAILED : TOOL_OK;
}

void tool_end(struct tool *t)
{
    phx_free(t->p);
    phx_ssh_free(t->ssh);
    t->p = NULL;
    t->ssh = NULL;
}

void tool_leave(struct tool *t, double seconds)
{
    uint64_t drain = (uint64_t)(seconds * 1e6), end = phx_now_us() + drain + TOOL_SECOND;

    if (t->p == NULL || phx_close(t->p, drain) != 0)
        return; /* or it has left already */
    while (!phx_closed(t->p) && phx_now_us() < end)
        tool_turn(t, 100, NULL, 0);
}

/* ---- Who is meant ---------------------------------------------------------------------------- */

static int tool_number(const char *text, const char **end, uint64_t *out)
{
    char *stop;

    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    *out = strtoull(text, &stop, 0);
    *end = stop;
    return errno == 0;
}

int tool_range(const char *text, struct phx_range *out)
{
    const char *end;

    if (!tool_number(text, &end, &out->first))
        return 0;
    out->last = out->first;
    if (*end == '-' && !tool_number(end + 1, &end, &out->last))
        return 0;
    return *end == 0 && out->first <= out->last;
}

size_t tool_nodes(struct tool *t, struct phx_node **out)
{
    size_t n = phx_nodes(t->p, NULL, 0), got;

    *out = malloc((n + 1) * sizeof **out);
    if (*out == NULL)
        return 0;
    got = phx_nodes(t->p, *out, n);
    return got < n ? got : n;
}

/* By its whole label, or by the beginning of its id (eight digits at least). */
static int tool_find(struct tool *t, const char *text, struct phx_id *out)
{
    struct phx_node *nodes;
    size_t i, n = tool_nodes(t, &nodes), size = strlen(text);
    char id[PHX_ID_TEXT];
    int found = 0;

    for (i = 0; i < n && !found; i++) {
        (void)phx_id_text(&nodes[i].id, id);
        if (strcmp(nodes[i].label, text) == 0 || (size >= 8 && strncmp(id, text, size) == 0)) {
            *out = nodes[i].id;
            found = 1;
        }
    }
    free(nodes);
    return found;
}

int tool_target(struct tool *t, const char *text, struct phx_id *out)
{
    struct phx_range range;

    if (tool_range(text, &range) && range.first == range.last && phx_owner(t->p, range.first, out) == 0)
        return 1;
    return tool_find(t, text, out);
}

/* ---- What nodes of this tool say ------------------------------------------------------------- */

uint64_t tool_name(struct tool *t)
{
    struct phx_id self;

    phx_self(t->p, &self);
    return tool_get64(self.b) | (uint64_t)0xff << 56;
}

uint64_t tool_get64(const void *from)
{
    const unsigned char *b = from;
    uint64_t v = 0;
    int i;

    for (i = 7; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

void tool_put64(void *to, uint64_t v)
{
    unsigned char *b = to;
    int i;

    for (i = 0; i < 8; i++, v >>= 8)
        b[i] = (unsigned char)(v & 255);
}

int tool_post(struct tool *t, uint64_t to, uint64_t from, enum tool_kind kind, const void *data, size_t size)
{
    return phx_send(t->p, to, from, TOOL_TAG + (uint64_t)kind, data, size);
}

/* What came of TOOL_SINK from one name; the oldest gives way. */
struct tool_sink {
    uint64_t name, messages, bytes;
};

#define TOOL_SINKS 16
static struct tool_sink tool_sinks[TOOL_SINKS];
static unsigned tool_sinks_next;

static struct tool_sink *tool_sink_of(uint64_t name)
{
    unsigned i;

    for (i = 0; i < TOOL_SINKS; i++)
        if (tool_sinks[i].name == name)
            return &tool_sinks[i];
    i = tool_sinks_next++ % TOOL_SINKS;
    tool_sinks[i].name = name;
    tool_sinks[i].messages = tool_sinks[i].bytes = 0;
    return &tool_sinks[i];
}

void tool_serve(phx *p, const struct phx_message *m, void *user)
{
    struct tool_sink *sink;
    unsigned char said[24];

    (void)user;
    if (m->tag == TOOL_TAG + TOOL_ECHO) {
        /* An answer that finds no room is lost: the asker counts what comes back. */
        (void)phx_send(p, m->from, m->to, TOOL_TAG + TOOL_ECHOED, m->data, m->size);
    } else if (m->tag == TOOL_TAG + TOOL_SINK) {
        sink = tool_sink_of(m->from);
        sink->messages++;
        sink->bytes += m->size;
    } else if (m->tag == TOOL_TAG + TOOL_COUNT && m->size == 8) {
        sink = tool_sink_of(m->from);
        memcpy(said, m->data, 8);
        tool_put64(said + 8, sink->messages);
        tool_put64(said + 16, sink->bytes);
        sink->messages = sink->bytes = 0;
        (void)phx_send(p, m->from, m->to, TOOL_TAG + TOOL_COUNTED, said, sizeof said);
    }
}
