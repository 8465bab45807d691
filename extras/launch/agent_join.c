/* agent_join.c - in a job that goes on: an agent whose parent is gone finds the next ancestor that lives. */

/* Each agent listens, and gets with its boot block where its ancestors do, the parent first. When the link
 * with the parent is lost the agent dials the parent (perhaps only the link broke), and every JOIN_STEP_US
 * one ancestor more. The first with whom there is a link is the parent from then on; the others are
 * forgotten. How long this may take the tree knows (cut_wait_us).
 *
 * On the way, after the job: 4 bytes count, then for each ancestor 4 bytes agent, 4 bytes length, its
 * address. A parent that listens on all interfaces does not know how others call it: its child takes the
 * first field of SSH_CONNECTION, from where it was started. */
#define _POSIX_C_SOURCE 200809L
#include "interfaces.h"
#include "local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_STEP_US ((uint64_t)200000)
#define JOIN_MOST 64 /* ancestors */

/* One word of SSH_CONNECTION, "client port server port". 1 if there is one. */
static int join_ssh_field(int index, char *out, size_t size)
{
    const char *s = getenv("SSH_CONNECTION");
    size_t n;

    for (; s != NULL && index > 0; index--) {
        s = strchr(s, ' ');
        s = s != NULL ? s + 1 : NULL;
    }
    n = s != NULL ? strcspn(s, " ") : 0;
    if (n == 0 || n >= size)
        return 0;
    memcpy(out, s, n);
    out[n] = '\0';
    return 1;
}

static void join_address(char out[PHX_ADDRESS_TEXT], const char *host, unsigned port)
{
    int six = strchr(host, ':') != NULL;

    snprintf(out, PHX_ADDRESS_TEXT, "tcp://%s%s%s:%u", six ? "[" : "", host, six ? "]" : "", port);
}

int la_agent_listen(struct la_local *l)
{
    char host[64] = "127.0.0.1", address[PHX_ADDRESS_TEXT];

    if (l->job->starter == LA_SRUN) {
        (void)phx_listen(l->node, "tcp://[::]:0"); /* there may be no such thing here */
        return phx_listen(l->node, "tcp://0.0.0.0:0");
    }
    if (!l->job->go_on)
        return 0;
    if (l->job->starter != LA_FORK && !join_ssh_field(2, host, sizeof host))
        snprintf(host, sizeof host, "0.0.0.0");
    join_address(address, host, 0);
    return phx_listen(l->node, address);
}

/* Processes listen where their hub does: on loopback alone if all hosts are played here or this is the only
 * one, else so that those of other hosts can reach them. */
int la_agent_listen_ranks(struct la_local *l)
{
    char host[64], address[PHX_ADDRESS_TEXT];
    struct phx_address at, last;
    int i, err;

    if (l->job->starter == LA_FORK || !join_ssh_field(2, host, sizeof host))
        snprintf(host, sizeof host, "127.0.0.1");
    join_address(address, host, 0);
    err = phx_listen(l->node, address);
    for (i = 0; phx_listening(l->node, i, &at) == 0; i++)
        last = at;
    if (err == 0 && i > 0)
        phx_address_text(&last, l->job->hub);
    return err;
}

int la_agent_put_ancestors(const struct la_local *l, struct la_queue *out)
{
    unsigned char count[4];
    char text[PHX_ADDRESS_TEXT];
    struct phx_address at;
    uint32_t i;
    int listens = l->job->go_on && l->job->starter != LA_SRUN && phx_listening(l->node, 0, &at) == 0, err;

    la_agent_put32(count, listens ? l->ancestors_count + 1 : 0);
    err = la_queue_add(out, count, sizeof count);
    if (!listens || err != 0)
        return err;
    err = la_table_add(out, la_agent_self(l), phx_address_text(&at, text));
    for (i = 0; i < l->ancestors_count && err == 0; i++)
        err = la_table_add(out, l->ancestors[i].agent, l->ancestors[i].address);
    return err;
}

/* The parent's address as this host calls it. */
static void join_complete(struct local_ancestor *a)
{
    char host[64];
    const char *colon = strrchr(a->address, ':');

    if (strncmp(a->address, "tcp://0.0.0.0:", 14) != 0 || colon == NULL)
        return;
    if (!join_ssh_field(0, host, sizeof host))
        snprintf(host, sizeof host, "127.0.0.1");
    join_address(a->address, host, (unsigned)strtoul(colon + 1, NULL, 10));
}

int la_agent_take_ancestors(struct la_local *l, const unsigned char *data, size_t size)
{
    uint32_t count = size >= 4 ? la_agent_get32(data) : 0, i, n;

    if (size < 4 || count > JOIN_MOST)
        return PHX_EPROTO;
    l->ancestors = (struct local_ancestor *)calloc(count + 1, sizeof *l->ancestors);
    if (l->ancestors == NULL)
        return PHX_ENOMEM;
    data += 4;
    size -= 4;
    for (i = 0; i < count; i++) {
        struct local_ancestor *a = &l->ancestors[i];
        n = size >= 8 ? la_agent_get32(data + 4) : 0;
        if (size < 8 || n >= sizeof a->address || n > size - 8)
            return PHX_EPROTO;
        a->agent = la_agent_get32(data);
        memcpy(a->address, data + 8, n);
        if (i == 0)
            join_complete(a);
        data += 8 + n;
        size -= 8 + n;
        l->ancestors_count++;
    }
    return size == 0 ? 0 : PHX_EPROTO;
}

/* ---- Under srun ---------------------------------------------------------------------------------- */

struct join_own {
    const struct la_local *l;
    char *out;
    size_t size, used;
};

static int join_own_interface(void *ctx, const char *host, int six)
{
    struct join_own *own = (struct join_own *)ctx;
    char address[PHX_ADDRESS_TEXT], text[PHX_ADDRESS_TEXT];
    struct phx_address at;
    const char *port;
    int i, n;

    for (i = 0; phx_listening(own->l->node, i, &at) == 0; i++) {
        port = strrchr(phx_address_text(&at, text), ':');
        if ((strchr(text, '[') != NULL) != six || port == NULL)
            continue;
        join_address(address, host, (unsigned)strtoul(port + 1, NULL, 10));
        n = snprintf(own->out + own->used, own->size - own->used, "%s%s", own->used > 0 ? " " : "", address);
        if (n > 0 && (size_t)n < own->size - own->used)
            own->used += (size_t)n;
        own->out[own->used] = '\0'; /* what does not fit is left out */
    }
    return 0;
}

int la_local_addresses(const struct la_local *l, char *out, size_t size)
{
    struct join_own own;
    int err;

    own.l = l;
    own.out = out;
    own.size = size;
    own.used = 0;
    out[0] = '\0';
    err = la_interfaces(join_own_interface, &own);
    return err == 0 && own.used == 0 ? PHX_EIO : err;
}

/* The entries of one agent, to the end of the list. */
static int join_entries(struct la_local *l, uint32_t agent, const unsigned char *data, size_t size)
{
    uint32_t n;

    for (; size > 0 && l->ancestors_count < JOIN_MOST; data += 8 + n, size -= 8 + n) {
        struct local_ancestor *a = &l->ancestors[l->ancestors_count];
        n = size >= 8 ? la_agent_get32(data + 4) : 0;
        if (size < 8 || n >= sizeof a->address || n > size - 8)
            return PHX_EPROTO;
        if (la_agent_get32(data) != agent)
            continue;
        a->agent = agent;
        memcpy(a->address, data + 8, n);
        a->address[n] = '\0';
        l->ancestors_count++;
    }
    return 0;
}

int la_local_table(struct la_local *l, const uint32_t *above, uint32_t count, const unsigned char *table,
                   size_t size)
{
    uint32_t i;
    int err = size < 4 ? PHX_EPROTO : 0;

    free(l->ancestors);
    l->ancestors_count = 0;
    l->ancestors = (struct local_ancestor *)calloc(JOIN_MOST, sizeof *l->ancestors);
    if (l->ancestors == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < count && err == 0; i++)
        err = join_entries(l, above[i], table + 4, size - 4);
    l->now = phx_now_us();
    l->link_by = l->now + l->job->start_timeout_us;
    for (i = 0; i < l->ancestors_count && l->ancestors[i].agent == above[0]; i++)
        (void)phx_join(l->node, l->ancestors[i].address);
    if (err == 0 && i == 0) /* it did not answer */
        l->link_by = l->now;
    return err;
}

void la_agent_linked_up(struct la_local *l)
{
    uint32_t i;

    if (l->link_by == UINT64_MAX)
        return;
    l->link_by = UINT64_MAX;
    for (i = 0; i < l->ancestors_count && l->ancestors[i].agent == l->parent; i++)
        (void)phx_unjoin(l->node, l->ancestors[i].address);
}

/* ---- The parent is gone -------------------------------------------------------------------------- */

void la_agent_seek(struct la_local *l)
{
    if (l->orphan || l->over)
        return;
    l->sought = 0;
    l->seek_at = l->now;
}

/* An ancestor may have been a neighbour before, when another was the parent: then its state is what it was,
 * and nobody calls. (With --ftmpi messages of ranks bring such links about.) */
static void join_look(struct la_local *l)
{
    size_t i, count = phx_links(l->node, NULL, 0);
    struct phx_link *links = (struct phx_link *)calloc(count + 1, sizeof *links);
    uint32_t at;
    int found = 0;

    if (links == NULL)
        return; /* the next time */
    (void)phx_links(l->node, links, count);
    for (at = 0; at < l->sought && !found; at++) {
        struct phx_id id = la_agent_id(l, l->ancestors[at].agent);

        for (i = 0; i < count && !found; i++)
            found = links[i].up && memcmp(&links[i].peer, &id, sizeof id) == 0
                    && la_agent_found(l, l->ancestors[at].agent);
    }
    free(links);
}

void la_agent_step_seek(struct la_local *l)
{
    if (l->link_by <= l->now) {
        la_agent_linked_up(l);
        la_agent_lost(l, la_agent_near(l, l->parent), "no link with it");
    }
    if (l->seek_at > l->now)
        return;
    l->seek_at = UINT64_MAX;
    if (l->orphan || l->over)
        return;
    l->seek_at = l->now + JOIN_STEP_US;
    if (l->sought < l->ancestors_count)
        (void)phx_join(l->node, l->ancestors[l->sought++].address);
    join_look(l);
}

/* There is a link with this agent: 1 if it is the parent from now on. */
int la_agent_found(struct la_local *l, uint32_t agent)
{
    struct local_neighbour *n = la_agent_near(l, l->parent);
    uint32_t i, at = 0;

    if (n == NULL || !n->lost)
        return 0;
    while (at < l->sought && l->ancestors[at].agent != agent)
        at++;
    if (at == l->sought)
        return 0;
    for (i = 0; i < l->sought; i++)
        if (i != at)
            (void)phx_unjoin(l->node, l->ancestors[i].address);
    l->seek_at = UINT64_MAX;
    n->agent = agent;
    n->linked = 1;
    n->lost = 0;
    l->parent = agent;
    la_flow_moved(l->flow, agent);
    return la_tree_moved(l->tree, agent) == 0;
}

/* A message of an agent below that was no child of ours, or was one and is back: 0, PHX_ENOMEM. */
int la_agent_adopted(struct la_local *l, uint32_t agent)
{
    struct local_neighbour *n = la_agent_near(l, agent);
    uint32_t self = la_agent_self(l);

    if (!l->job->go_on || agent <= self || agent >= self + l->job->agents_count)
        return PHX_EPROTO;
    if (n == NULL) {
        n = &l->near[l->near_count++]; /* there is room for all that are below */
        n->agent = agent;
    }
    n->linked = 1;
    n->lost = 0;
    return la_flow_child(l->flow, agent);
}
