/* base.c - what all files of the node use: text, log, peers, frames to a neighbour, cards. */
#include "node/base.h"

#include <stdarg.h>

/* ---- Text ------------------------------------------------------------------------------------ */

int phx__node_text_end(const struct phx__text *t)
{
    if (t->capacity > 0)
        t->out[t->size < t->capacity ? t->size : t->capacity - 1] = 0;
    return t->size < INT_MAX ? (int)t->size : INT_MAX;
}

static void node_text_char(struct phx__text *t, char c)
{
    if (t->size + 1 < t->capacity)
        t->out[t->size] = c;
    t->size++;
}

static void node_text_string(struct phx__text *t, const char *s)
{
    while (*s != 0)
        node_text_char(t, *s++);
}

PHX__COLD static void node_text_number(struct phx__text *t, uint64_t v)
{
    if (v > 9)
        node_text_number(t, v / 10);
    node_text_char(t, (char)('0' + v % 10));
}

static void node_text_node(struct phx__text *t, uint32_t node)
{
    char id[PHX_ID_TEXT];
    struct phx_node n;

    if (node == PHX__NONE || node == PHX__SELF) {
        node_text_string(t, node == PHX__SELF ? "this node" : "?");
        return;
    }
    phx__node_fill(t->p, node, &n);
    node_text_string(t, n.label[0] != 0 ? n.label : phx_id_text(&n.id, id));
}

static void node_text_address(struct phx__text *t, const struct phx_address *a)
{
    char text[PHX_ADDRESS_TEXT];

    node_text_string(t, a->family != 0 ? phx_address_text(a, text) : "adopted");
}

/* printf would bring a library's worth of conversions, and a locale. */
static void node_text_format(struct phx__text *t, const char *format, va_list ap)
{
    char id[PHX_ID_TEXT];
    uint64_t at;

    for (; *format != 0; format++) {
        if (*format != '%') {
            node_text_char(t, *format);
            continue;
        }
        switch (*++format) {
        case 's': node_text_string(t, va_arg(ap, const char *)); break;
        case 'u': node_text_number(t, va_arg(ap, uint64_t)); break;
        case 'i': node_text_string(t, phx_id_text(va_arg(ap, const struct phx_id *), id)); break;
        case 'n': node_text_node(t, va_arg(ap, uint32_t)); break;
        case 't':
            at = va_arg(ap, uint64_t);
            node_text_number(t, at < t->p->now ? (t->p->now - at) / PHX__MS : 0);
            break;
        default: node_text_address(t, va_arg(ap, const struct phx_address *)); /* 'a' */
        }
    }
}

void phx__node_text_put(struct phx__text *t, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    node_text_format(t, format, ap);
    va_end(ap);
}

const char *phx__node_state_text(enum phx_state state)
{
    static const char *const text[] = { "unknown",     "ok",     "suspect",
                                        "unreachable", "failed", "left" };

    return text[state];
}

PHX__COLD const char *phx_strerror(int error)
{
    switch (error) {
#define PHX_ERROR_TEXT(name, value, text) \
    case value: return text;
        PHX_ERRORS(PHX_ERROR_TEXT)
#undef PHX_ERROR_TEXT
    default: return "unknown error";
    }
}

/* ---- The log --------------------------------------------------------------------------------- */

#define BASE_LOG_LINE 320u

/* Lines are told again. The count of those that were left out is the first. */
static void base_log_renew(phx *p)
{
    struct phx__log *g = &p->step.log;
    uint32_t omitted = g->omitted;

    if (omitted == 0 || p->now < g->shut || sizeof g->lines - g->used < BASE_LOG_LINE)
        return;
    g->omitted = 0;
    phx__node_log(p, PHX_LOG_WARN, "%u lines were left out here", (uint64_t)omitted);
}

PHX__COLD void phx__node_log(phx *p, int level, const char *format, ...)
{
    struct phx__log *g = &p->step.log;
    struct phx__text t;
    va_list ap;

    if (level > PHX_LOG_MAX || level > p->cfg.log_level || p->cfg.on_log == NULL || p->step.free_later)
        return;
    base_log_renew(p);
    if (level < PHX_LOG_DEBUG && g->over[g->next] > p->now) /* not line by line, or half would be counts */
        g->shut = g->over[(g->next + PHX__LOG_SECOND - 1) % PHX__LOG_SECOND];
    if ((level < PHX_LOG_DEBUG && g->shut > p->now) || sizeof g->lines - g->used < BASE_LOG_LINE) {
        g->omitted++;
        return;
    }
    if (level < PHX_LOG_DEBUG) {
        g->over[g->next] = p->now + PHX__SECOND;
        g->next = (g->next + 1) % PHX__LOG_SECOND;
    }
    g->lines[g->used++] = (char)level;
    t = (struct phx__text){ g->lines + g->used, BASE_LOG_LINE - 1, 0, p };
    va_start(ap, format);
    node_text_format(&t, format, ap);
    va_end(ap);
    (void)phx__node_text_end(&t);
    g->used += strlen(g->lines + g->used) + 1;
}

/* Callbacks may cause more lines: those are for the next time. */
void phx__node_log_tell(phx *p)
{
    char lines[sizeof p->step.log.lines];
    size_t size, at;

    base_log_renew(p);
    size = p->step.log.used;
    memcpy(lines, p->step.log.lines, size);
    p->step.log.used = 0;
    for (at = 0; at < size && !p->step.free_later; at += strlen(lines + at) + 1)
        p->cfg.on_log(p, lines[at], lines + at + 1, PHX__USER(p));
}

/* ---- Peers ----------------------------------------------------------------------------------- */

/* A path that lost data rests for so long, twice as long each time; after a link of the longest anew. */
#define NODE_REST (10 * PHX__SECOND)
#define NODE_REST_MOST (600 * PHX__SECOND)

int phx__node_peer(phx *p, uint32_t node)
{
    return phx__mem_grow(&p->mem, &p->peers.at, &p->peers.capacity, node + 1, sizeof *p->peers.at);
}

PHX__COLD struct phx__detect_trouble *phx__node_history(const phx *p, uint32_t node)
{
    struct phx__detect_trouble *t = phx__detect_trouble_of(&p->detect, node);

    return t != NULL && t->lost_at != 0 ? t : NULL;
}

/* Until when to make no link with this node, or 0. A link that ended in silence, while the node was there by
 * other ways, or was found there at once, lost what was sent, and neither end was late. */
PHX__COLD uint64_t phx__node_rest_until(const phx *p, uint32_t node)
{
    const struct phx__detect_trouble *h = phx__node_history(p, node);
    uint64_t since;

    if (h == NULL || h->lost_error != PHX_ETIMEDOUT
        || phx__detect_state(&p->detect, node, &since) != PHX_NODE_OK
        || since > h->lost_at + p->cfg.detector.timeout_us / 8)
        return 0;
    return h->lost_at + (h->rests < 6 ? NODE_REST << h->rests : NODE_REST_MOST);
}

/* For phx_explain, and for phx__node_rest_until. */
PHX__COLD void phx__node_note_end(phx *p, const struct phx__link *l, int reason)
{
    const struct phx__detect_link *n = phx__detect_link_of(&p->detect, l->peer);
    struct phx__detect_trouble *t;

    if (n == NULL || !phx__node_serves(p, l) || (t = phx__detect_trouble_make(&p->detect, l->peer)) == NULL)
        return;
    t->heard_at = n->received_at + p->detect.stalled;
    t->lost_at = p->now;
    t->lost_error = reason;
    t->rests = p->now - l->since < NODE_REST_MOST ? t->rests : 0;
}

/* A dialled link within this host has ended so: may TCP lead to another node? Errors that only an
 * authenticated node reports would be the same by TCP. Silence and a lost connection are not: who has the
 * name may not have the port. At loopback another node is no surprise: each host has somebody there. */
PHX__COLD int phx__node_doubts_end(const struct phx_address *to, int reason)
{
    switch (reason) {
    case PHX_EPROTO: /* not even a node */
    case PHX_ERESET:
    case PHX_ETIMEDOUT:
    case PHX_ETLS:
    case PHX_EVERSION:
    case PHX_ECLUSTER:
    case PHX_EKEY: return 1;
    case PHX_EPEER:
    case PHX_ESELF: return !phx__addr_is_local(to);
    default: return 0;
    }
}

int phx__node_is_gone(const phx *p, uint32_t node)
{
    enum phx_state state = phx__detect_state(&p->detect, node, NULL);

    return state == PHX_NODE_FAILED || state == PHX_NODE_LEFT;
}

/* Why it is not what it was; h: of the last link with it, or NULL. */
static int node_reason(const phx *p, uint32_t node, enum phx_state state, const struct phx__detect_trouble *h)
{
    if (p->ids.used[node] != PHX__ID_USED)
        return PHX_EFAILED;
    if (state == PHX_NODE_LEFT || state == PHX_NODE_SUSPECT)
        return state == PHX_NODE_LEFT ? PHX_ECLOSED : PHX_ETIMEDOUT;
    if (state != PHX_NODE_OK && (h == NULL || p->peers.at[node].via != node))
        return PHX_EUNREACH;
    return phx__detect_link_of(&p->detect, node) == NULL && h != NULL ? h->lost_error : 0;
}

PHX__COLD void phx__node_fill(const phx *p, uint32_t node, struct phx_node *out)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    const struct phx__detect_link *l = phx__detect_link_of(&p->detect, node);
    const struct phx__detect_trouble *h = phx__node_history(p, node);

    memset(out, 0, sizeof *out);
    out->id = p->ids.at[node];
    out->hops = -1;
    out->state = node == PHX__SELF ? PHX_NODE_OK : phx__detect_state(&p->detect, node, &out->since_us);
    if (d != NULL) {
        out->incarnation = d->incarnation;
        if (d->hops != PHX__UNREACHABLE && p->ids.used[node] == PHX__ID_USED) {
            out->hops = d->hops;
            out->next = d->next != PHX__NONE ? p->ids.at[d->next] : out->next;
        }
        if (d->card != NULL)
            memcpy(out->label, d->card->at + PHX__CARD_LABEL + 1, d->card->at[PHX__CARD_LABEL]);
    }
    out->reason = node_reason(p, node, out->state, h);
    out->seen_us = l != NULL ? l->received_at + p->detect.stalled : h != NULL ? h->heard_at : 0;
    out->ranges_count = phx__names_count(&p->names, node);
}

const struct phx_os *phx__node_os(phx *p)
{
    p->set.os_calls++;
    return &p->os;
}

/* ---- The time of callbacks ------------------------------------------------------------------- */

uint64_t phx__node_clock(phx *p)
{
    uint64_t now = p->own.world.now != NULL ? p->own.world.now(p->own.world.world) : phx_now_us();

    if (p->cfg.record != NULL)
        phx__node_record_note(p, PHX__NOTE_NOW, (int64_t)now, NULL, 0);
    return now;
}

/* A host is heard of between its steps only. So the callbacks of one step take at most a tenth of the
 * interval that it announces, and one callback more. The clock is asked as seldom as their speed allows: not
 * before the second, then after 4, 16, 64 .. more, but no more than took a quarter of the time left when they
 * were last timed. Slow ones, of which 16 do not fit, are timed from the first on. */
#define BASE_CALLS_MOST 1024u

uint32_t phx__node_calls(phx *p, int share)
{
    struct phx__step *s = &p->step;
    uint64_t now = phx__node_clock(p), left, most;
    uint64_t time = p->detect.limits.interval_us / 40 * (uint64_t)share;

    if (s->free_later)
        return 0;
    most = s->granted == 0 ? 1 : 4 * (uint64_t)s->granted;
    if (!s->timed)
        s->began = now;
    else if (s->granted > 0 && now >= s->asked)
        s->each = (now - s->asked) / s->granted;
    s->slow = s->each > time / 16;
    left = now - s->began < time ? time - (now - s->began) : 0;
    if (s->each > 0 && most > left / 4 / s->each)
        most = left / 4 / s->each;
    if (most == 0 && (left >= s->each || !s->timed))
        most = 1;
    s->timed = 1;
    s->asked = now;
    s->granted = most < BASE_CALLS_MOST ? (uint32_t)most : BASE_CALLS_MOST;
    return s->granted;
}

/* ---- Links and frames ------------------------------------------------------------------------ */

struct phx__link *phx__node_link(const phx *p, uint32_t node)
{
    uint32_t link = node < p->peers.capacity ? p->peers.at[node].link : 0;

    return link != 0 ? p->links.at[link - 1] : NULL;
}

int phx__node_serves(const phx *p, const struct phx__link *l)
{
    return phx__node_link(p, l->peer) == l;
}

struct phx__link *phx__node_each_link(const phx *p, const struct phx__link *before)
{
    for (uint32_t slot = before == NULL ? 0 : before->slot + 1; slot < p->links.size; slot++)
        if (p->links.at[slot] != NULL)
            return p->links.at[slot];
    return NULL;
}

uint32_t phx__node_next(phx *p, const struct phx_id *id)
{
    return phx__route_next(&p->route, phx__id_find(&p->ids, id));
}

/* ---- Cards ----------------------------------------------------------------------------------- */

PHX__COLD int phx__node_card(const phx *p, uint32_t node, struct phx__card *out)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    return d != NULL && d->card != NULL && phx__wire_route_get_card(d->card->at, d->card->size, out) == 0;
}

PHX__COLD uint32_t phx__node_addresses(phx *p, uint32_t node, struct phx_address *out)
{
    struct phx__card card;

    if (!phx__node_card(p, node, &card))
        return 0;
    memcpy(out, card.address, card.address_count * sizeof *out);
    return card.address_count;
}

/* With the version: what a card says may be what it said two versions ago. */
PHX__COLD uint32_t phx__node_card_mark(const struct phx__dest *d)
{
    struct phx__sha sha;
    uint8_t out[32];
    const uint8_t version[4] = { (uint8_t)(d->card_version >> 24), (uint8_t)(d->card_version >> 16),
                                 (uint8_t)(d->card_version >> 8), (uint8_t)d->card_version };

    if (d->card == NULL)
        return 0;
    phx__sha_init(&sha);
    phx__sha_add(&sha, version, sizeof version);
    phx__sha_add(&sha, d->card->at, d->card->size);
    phx__sha_end(&sha, out);
    return (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
}
