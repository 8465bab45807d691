/* phx_explain.c - all that is known of one node and why, as text for people. */
/*
 * "Why is node 3f2a unreachable?" is the question that everybody who runs a cluster asks, and the answer
 * lies in five rooms: names, routes, links, live and disc. Here it is laid side by side, one `key: value`
 * per line; phoenix.h lists the keys. Times are told as an age in milliseconds, as of the last step, since
 * only the host knows what its clock means.
 */
#include "phx.h"
#include "target.h"

/* Lines of one kind, so that a text stays readable in a large network. */
#define EXPLAIN_MANY 16u

struct explain_text {
    char *out;
    size_t capacity, size; /* size: of the whole text, also where it did not fit */
};

static void explain_put(struct explain_text *t, const char *s)
{
    for (; *s != 0; s++, t->size++)
        if (t->size + 1 < t->capacity)
            t->out[t->size] = *s;
}

static void explain_number(struct explain_text *t, uint64_t v)
{
    char digits[21];
    size_t n = sizeof digits;

    digits[--n] = 0;
    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    explain_put(t, digits + n);
}

static void explain_age(struct explain_text *t, const phx *p, uint64_t at)
{
    explain_number(t, at < p->now ? (p->now - at) / PHX__MS : 0);
    explain_put(t, " ms ago");
}

static void explain_node(struct explain_text *t, const phx *p, uint32_t node)
{
    char id[PHX_ID_TEXT];

    if (node == PHX__SELF)
        explain_put(t, "this node");
    else if (node < p->ids.size)
        explain_put(t, phx_id_text(&p->ids.at[node], id));
    else
        explain_put(t, "unknown");
}

static void explain_state(struct explain_text *t, const phx *p, const struct phx_node *n)
{
    static const char *const text[] = { "unknown",     "ok",     "suspect",
                                        "unreachable", "failed", "left" };
    char id[PHX_ID_TEXT];

    explain_put(t, "id: ");
    explain_put(t, phx_id_text(&n->id, id));
    explain_put(t, "\nstate: ");
    explain_put(t, text[n->state]);
    if (n->since_us != 0) {
        explain_put(t, "\nsince: ");
        explain_age(t, p, n->since_us);
    }
    explain_put(t, "\nincarnation: ");
    explain_number(t, n->incarnation);
    explain_put(t, "\nhops: ");
    if (n->hops < 0)
        explain_put(t, "none");
    else
        explain_number(t, (uint64_t)n->hops);
    if (n->hops > 0) {
        explain_put(t, "\nnext: ");
        explain_put(t, phx_id_text(&n->next, id));
    }
    explain_put(t, "\n");
}

static void explain_names(struct explain_text *t, const phx *p, uint32_t node)
{
    const struct phx__names_of *of = node < p->names.capacity ? &p->names.of[node] : NULL;
    uint32_t i;

    for (i = 0; of != NULL && i < of->count && i < EXPLAIN_MANY; i++) {
        explain_put(t, "names: ");
        explain_number(t, of->at[i].first);
        explain_put(t, "-");
        explain_number(t, of->at[i].last);
        explain_put(t, "\n");
    }
    if (of != NULL && of->count > EXPLAIN_MANY) {
        explain_put(t, "names-more: ");
        explain_number(t, of->count - EXPLAIN_MANY);
        explain_put(t, "\n");
    }
}

static void explain_link(struct explain_text *t, const phx *p, uint32_t node)
{
    const struct phx__live_link *n = phx__live_link_of(&p->live, node);
    const struct phx__link *l = phx__node_link(p, node);
    const struct phx__past *past = phx__node_past(p, node);
    char at[PHX_ADDRESS_TEXT];

    if (l != NULL && n != NULL) {
        explain_put(t, l->dialer ? "link: dialled by this node, " : "link: accepted, ");
        explain_put(t, l->address.family ? phx_address_text(&l->address, at) : "adopted");
        explain_put(t, l->same_host ? ", within this host" : "");
        explain_put(t, "\nheard: ");
        explain_age(t, p, n->heard + p->live.stalled);
        explain_put(t, "\npromised: to be heard every ");
        explain_number(t, n->next_us / PHX__MS);
        explain_put(t, n->busy ? " ms, busy\nwatched-here: " : " ms\nwatched-here: ");
        explain_put(t, n->watched ? "yes\nwatches-us: " : "no\nwatches-us: ");
        explain_put(t, n->monitor ? "yes\n" : "no\n");
    } else {
        explain_put(t, "link: none\n");
        if (past != NULL && past->heard_at != 0) {
            explain_put(t, "heard: ");
            explain_age(t, p, past->heard_at);
            explain_put(t, "\n");
        }
    }
    if (past == NULL || past->lost_at == 0)
        return;
    explain_put(t, "link-lost: ");
    explain_age(t, p, past->lost_at);
    explain_put(t, ", ");
    explain_put(t, phx_strerror(past->lost_error));
    explain_put(t, "\n");
}

/* Who said that something was wrong with it. */
static void explain_blame(struct explain_text *t, const phx *p, uint32_t node)
{
    const struct phx__live_node *n = phx__live_look(&p->live, node);

    if (n == NULL || n->ground == PHX__LIVE_NEVER)
        return;
    explain_put(t, "accused: ");
    explain_age(t, p, n->accused_at);
    if (n->ground == PHX__LIVE_SILENT) {
        explain_put(t, ", by this node, its link was silent\n");
    } else if (n->ground == PHX__LIVE_WORD) {
        explain_put(t, ", by ");
        explain_node(t, p, n->accuser);
        explain_put(t, ", which had not heard of it\n");
    } else {
        uint32_t via = node < p->peer_capacity ? p->peers[node].via : PHX__NONE;
        explain_put(t, ", by the routing, ");
        if (via == node || via == PHX__NONE) {
            explain_put(t, "its link is gone\n");
            return;
        }
        explain_put(t, "the last way was through ");
        explain_node(t, p, via);
        explain_put(t, "\n");
    }
}

/* Of a node that nobody ever thought of dialling. */
static void explain_untried(struct explain_text *t, const phx *p, uint32_t node)
{
    struct phx_address a[PHX__CARD_ADDRESSES];
    uint32_t i, count;
    char text[PHX_ADDRESS_TEXT];

    if (node >= p->disc.node_capacity || p->disc.nodes[node].target != PHX__TARGET_LATENT)
        return;
    count = phx__node_addresses((void *)p, node, a);
    for (i = 0; i < count; i++) {
        explain_put(t, "address: ");
        explain_put(t, phx_address_text(&a[i], text));
        explain_put(t, ", not tried\n");
    }
}

static void explain_addresses(struct explain_text *t, const phx *p, uint32_t node)
{
    const struct phx__contact *at = NULL;
    uint32_t i, count = phx__disc_look(&p->disc, node, &at);
    char text[PHX_ADDRESS_TEXT];
    struct phx_address a;

    if (count == 0) {
        explain_untried(t, p, node);
        return;
    }
    for (i = 0; i < count; i++) {
        phx__contact_address(at, i, &a);
        explain_put(t, "address: ");
        explain_put(t, phx_address_text(&a, text));
        if (at[i].attempt != PHX__NONE) {
            explain_put(t, ", being tried\n");
        } else if (at[i].tried_at == 0) {
            explain_put(t, ", not tried\n");
        } else {
            explain_put(t, ", tried ");
            explain_age(t, p, at[i].tried_at);
            explain_put(t, ": ");
            explain_put(t, phx_strerror(at[i].error));
            explain_put(t, "\n");
        }
    }
}

static void explain_witnesses(struct explain_text *t, const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    uint32_t i;

    for (i = 0; d != NULL && i < d->heard_count && i < EXPLAIN_MANY; i++) {
        explain_put(t, "seen-by: ");
        explain_node(t, p, phx__table_heards(d)[i].nbr);
        explain_put(t, ", hops ");
        explain_number(t, phx__table_heards(d)[i].hops);
        explain_put(t, "\n");
    }
}

int phx_explain(phx *p, const struct phx_id *node, char *out, size_t capacity)
{
    struct explain_text t;
    struct phx_node n;
    uint32_t i;

    if (p == NULL || node == NULL || (out == NULL && capacity > 0))
        return PHX_EINVAL;
    i = phx__ids_find(&p->ids, node);
    if (i == PHX__NONE || phx__route_dest(&p->route, i) == NULL)
        return PHX_ENOTFOUND;
    t.out = out;
    t.capacity = capacity;
    t.size = 0;
    phx__node_fill(p, i, &n);
    explain_state(&t, p, &n);
    explain_names(&t, p, i);
    if (i != PHX__SELF) {
        explain_link(&t, p, i);
        explain_blame(&t, p, i);
        explain_addresses(&t, p, i);
        explain_witnesses(&t, p, i);
    }
    if (capacity > 0)
        out[t.size < capacity ? t.size : capacity - 1] = 0;
    return t.size < INT_MAX ? (int)t.size : INT_MAX;
}
