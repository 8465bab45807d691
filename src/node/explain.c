/* explain.c - all that is known of one node and why, as text for people. */
/*
 * "Why is node 3f2a unreachable?" is the question that everybody who runs a cluster asks, and the answer
 * lies in five rooms: names, routes, links, live and disc. Here it is laid side by side, one `key: value`
 * per line; phoenix.h lists the keys. Times are told as an age in milliseconds, as of the last step, since
 * only the host knows what its clock means.
 */
#include "node/state.h"
#include "dial/target.h"

/* Lines of one kind, so that a text stays readable in a large network. */
#define EXPLAIN_MANY 16u

void phx__node_explain_text_put(struct phx__text *t, const char *s)
{
    for (; *s != 0; s++, t->size++)
        if (t->size + 1 < t->capacity)
            t->out[t->size] = *s;
}

void phx__node_explain_text_number(struct phx__text *t, uint64_t v)
{
    char digits[21];
    size_t n = sizeof digits;

    digits[--n] = 0;
    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    phx__node_explain_text_put(t, digits + n);
}

void phx__node_explain_text_begin(struct phx__text *t, char *out, size_t capacity)
{
    t->out = out;
    t->capacity = capacity;
    t->size = 0;
}

int phx__node_explain_text_end(const struct phx__text *t)
{
    if (t->capacity > 0)
        t->out[t->size < t->capacity ? t->size : t->capacity - 1] = 0;
    return t->size < INT_MAX ? (int)t->size : INT_MAX;
}

const char *phx__node_explain_state_text(enum phx_state state)
{
    static const char *const text[] = { "unknown",     "ok",     "suspect",
                                        "unreachable", "failed", "left" };

    return text[state];
}

static void explain_age(struct phx__text *t, const phx *p, uint64_t at)
{
    phx__node_explain_text_number(t, at < p->now ? (p->now - at) / PHX__MS : 0);
    phx__node_explain_text_put(t, " ms ago");
}

static void explain_node(struct phx__text *t, const phx *p, uint32_t node)
{
    char id[PHX_ID_TEXT];

    if (node == PHX__SELF)
        phx__node_explain_text_put(t, "this node");
    else if (node < p->ids.size)
        phx__node_explain_text_put(t, phx_id_text(&p->ids.at[node], id));
    else
        phx__node_explain_text_put(t, "unknown");
}

static void explain_state(struct phx__text *t, const phx *p, const struct phx_node *n)
{
    char id[PHX_ID_TEXT];

    phx__node_explain_text_put(t, "id: ");
    phx__node_explain_text_put(t, phx_id_text(&n->id, id));
    phx__node_explain_text_put(t, "\nstate: ");
    phx__node_explain_text_put(t, phx__node_explain_state_text(n->state));
    if (n->since_us != 0) {
        phx__node_explain_text_put(t, "\nsince: ");
        explain_age(t, p, n->since_us);
    }
    phx__node_explain_text_put(t, "\nincarnation: ");
    phx__node_explain_text_number(t, n->incarnation);
    phx__node_explain_text_put(t, "\nhops: ");
    if (n->hops < 0)
        phx__node_explain_text_put(t, "none");
    else
        phx__node_explain_text_number(t, (uint64_t)n->hops);
    if (n->hops > 0) {
        phx__node_explain_text_put(t, "\nnext: ");
        phx__node_explain_text_put(t, phx_id_text(&n->next, id));
    }
    phx__node_explain_text_put(t, "\n");
}

static void explain_names(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__names_of *of = node < p->names.capacity ? &p->names.of[node] : NULL;
    uint32_t i;

    for (i = 0; of != NULL && i < of->count && i < EXPLAIN_MANY; i++) {
        phx__node_explain_text_put(t, "names: ");
        phx__node_explain_text_number(t, of->at[i].first);
        phx__node_explain_text_put(t, "-");
        phx__node_explain_text_number(t, of->at[i].last);
        phx__node_explain_text_put(t, "\n");
    }
    if (of != NULL && of->count > EXPLAIN_MANY) {
        phx__node_explain_text_put(t, "names-more: ");
        phx__node_explain_text_number(t, of->count - EXPLAIN_MANY);
        phx__node_explain_text_put(t, "\n");
    }
}

static void explain_link(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__detect_link *n = phx__detect_link_of(&p->detect, node);
    const struct phx__link *l = phx__node_link(p, node);
    const struct phx__history *past = phx__node_step_past(p, node);
    char at[PHX_ADDRESS_TEXT];

    if (l != NULL && n != NULL) {
        phx__node_explain_text_put(t, l->dialer ? "link: dialled by this node, " : "link: accepted, ");
        phx__node_explain_text_put(t, l->address.family ? phx_address_text(&l->address, at) : "adopted");
        phx__node_explain_text_put(t, l->same_host ? ", within this host" : "");
        phx__node_explain_text_put(t, "\nheard: ");
        explain_age(t, p, n->received_at + p->detect.stalled);
        phx__node_explain_text_put(t, "\npromised: to be heard every ");
        phx__node_explain_text_number(t, n->announced_us / PHX__MS);
        phx__node_explain_text_put(t, n->busy ? " ms, busy\nwatched-here: " : " ms\nwatched-here: ");
        phx__node_explain_text_put(t, n->watched ? "yes\nwatches-us: " : "no\nwatches-us: ");
        phx__node_explain_text_put(t, n->monitor ? "yes\n" : "no\n");
    } else {
        phx__node_explain_text_put(t, "link: none\n");
        if (past != NULL && past->heard_at != 0) {
            phx__node_explain_text_put(t, "heard: ");
            explain_age(t, p, past->heard_at);
            phx__node_explain_text_put(t, "\n");
        }
    }
    if (past == NULL || past->lost_at == 0)
        return;
    phx__node_explain_text_put(t, "link-lost: ");
    explain_age(t, p, past->lost_at);
    phx__node_explain_text_put(t, ", ");
    phx__node_explain_text_put(t, phx_strerror(past->lost_error));
    phx__node_explain_text_put(t, "\n");
}

/* Who said that something was wrong with it. */
static void explain_accusation(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__detect_node *n = phx__detect_node_of(&p->detect, node);

    if (n == NULL || n->ground == PHX__GROUND_NONE)
        return;
    phx__node_explain_text_put(t, "accused: ");
    explain_age(t, p, n->accused_at);
    if (n->ground == PHX__GROUND_SILENCE) {
        phx__node_explain_text_put(t, ", by this node, its link was silent\n");
    } else if (n->ground == PHX__GROUND_RUMOUR) {
        phx__node_explain_text_put(t, ", by ");
        explain_node(t, p, n->accuser);
        phx__node_explain_text_put(t, ", which had not heard of it\n");
    } else {
        uint32_t via = node < p->peer_capacity ? p->peers[node].via : PHX__NONE;
        phx__node_explain_text_put(t, ", by the routing, ");
        if (via == node || via == PHX__NONE) {
            phx__node_explain_text_put(t, "its link is gone\n");
            return;
        }
        phx__node_explain_text_put(t, "the last way was through ");
        explain_node(t, p, via);
        phx__node_explain_text_put(t, "\n");
    }
}

/* Of a node that nobody ever thought of dialling. */
static void explain_untried(struct phx__text *t, const phx *p, uint32_t node)
{
    struct phx_address a[PHX__CARD_ADDRESSES];
    uint32_t i, count;
    char text[PHX_ADDRESS_TEXT];

    if (node >= p->dial.node_capacity || p->dial.nodes[node].target != PHX__TARGET_LATENT)
        return;
    count = phx__node_step_addresses((void *)p, node, a);
    for (i = 0; i < count; i++) {
        phx__node_explain_text_put(t, "address: ");
        phx__node_explain_text_put(t, phx_address_text(&a[i], text));
        phx__node_explain_text_put(t, ", not tried\n");
    }
}

static void explain_addresses(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__dial_addr *at = NULL;
    uint32_t i, count = phx__dial_look(&p->dial, node, &at);
    char text[PHX_ADDRESS_TEXT];
    struct phx_address a;

    if (count == 0) {
        explain_untried(t, p, node);
        return;
    }
    for (i = 0; i < count; i++) {
        phx__dial_addr_address(at, i, &a);
        phx__node_explain_text_put(t, "address: ");
        phx__node_explain_text_put(t, phx_address_text(&a, text));
        if (at[i].attempt != PHX__NONE) {
            phx__node_explain_text_put(t, ", being tried\n");
        } else if (at[i].tried_at == 0) {
            phx__node_explain_text_put(t, ", not tried\n");
        } else {
            phx__node_explain_text_put(t, ", tried ");
            explain_age(t, p, at[i].tried_at);
            phx__node_explain_text_put(t, ": ");
            phx__node_explain_text_put(t, phx_strerror(at[i].error));
            phx__node_explain_text_put(t, "\n");
        }
    }
}

static void explain_witnesses(struct phx__text *t, const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    uint32_t i;

    for (i = 0; d != NULL && i < d->offer_count && i < EXPLAIN_MANY; i++) {
        phx__node_explain_text_put(t, "seen-by: ");
        explain_node(t, p, phx__route_table_offers(d)[i].nbr);
        phx__node_explain_text_put(t, ", hops ");
        phx__node_explain_text_number(t, phx__route_table_offers(d)[i].hops);
        phx__node_explain_text_put(t, "\n");
    }
}

int phx_explain(phx *p, const struct phx_id *node, char *out, size_t capacity)
{
    struct phx__text t;
    struct phx_node n;
    uint32_t i;

    if (p == NULL || node == NULL || (out == NULL && capacity > 0))
        return PHX_EINVAL;
    i = phx__id_find(&p->ids, node);
    if (i == PHX__NONE || phx__route_dest(&p->route, i) == NULL)
        return PHX_ENOTFOUND;
    phx__node_explain_text_begin(&t, out, capacity);
    phx__node_step_fill(p, i, &n);
    explain_state(&t, p, &n);
    explain_names(&t, p, i);
    if (i != PHX__SELF) {
        explain_link(&t, p, i);
        explain_accusation(&t, p, i);
        explain_addresses(&t, p, i);
        explain_witnesses(&t, p, i);
    }
    return phx__node_explain_text_end(&t);
}
