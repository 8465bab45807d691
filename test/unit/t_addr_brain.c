/* t_addr_brain.c - own addresses: which are believed, which give way, and when the node has moved. */
/* Promise 16. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "node/addr.h"
#endif

struct rig {
    struct phx__node_addr a;
    struct phx_address listener[4];
    uint32_t listeners;
    uint32_t moved, agreed;
    struct phx_address last; /* that was agreed upon */
};

static struct phx_address parse(const char *text)
{
    struct phx__parsed parsed;
    struct phx_address a;

    memset(&a, 0, sizeof a);
    if (text == NULL)
        return a;
    check(phx__addr_parse(text, &parsed) == 0, "%s", text);
    if (parsed.at.family == PHX_UNIX) {
        a.family = PHX_UNIX;
        memcpy(a.path, parsed.at.path, sizeof a.path);
        return a;
    }
    check(phx__addr_numeric(parsed.host, &a) == 0, "%s is numeric", text);
    a.port = parsed.at.port;
    a.tls = parsed.at.tls;
    return a;
}

static const struct phx_address *rig_listener(phx *ctx, uint32_t i)
{
    struct rig *r = (void *)ctx;

    return i < r->listeners ? &r->listener[i] : NULL;
}

static void rig_init(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->a.ctx = (void *)r;
    r->a.listener = rig_listener;
}

static void rig_listen(struct rig *r, const char *at)
{
    r->listener[r->listeners++] = parse(at);
}

/* What others are told, as text; a learnt address has a star. */
static const char *told(const struct rig *r)
{
    static char text[8 * (PHX_ADDRESS_TEXT + 2)];
    char one[PHX_ADDRESS_TEXT];
    size_t n = 0;
    uint32_t i;

    text[0] = 0;
    for (i = 0; i < r->a.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s", i > 0 ? " " : "",
                              phx_address_text(&r->a.at[i], one), r->a.learnt >> i & 1 ? "*" : "");
    return text;
}

#define TOLD(r, want)                                                                              \
    do {                                                                                           \
        const char *got_ = told(r);                                                                \
        ok(strcmp(got_, want) == 0, "'%s' is '%s'", want, got_);                                   \
    } while (0)

enum { DIALER = 1, SECURE = 2, SAME_HOST = 4 };

/* 1: others are to be told of a new address. */
static int learn(struct rig *r, const struct phx__link *l, const struct phx_address *here)
{
    int taught = phx__node_addr_learn(&r->a, l, here);

    r->moved += (taught & PHX__ADDR_MOVED) != 0;
    r->agreed += (taught & PHX__ADDR_AGREED) != 0;
    if (taught & PHX__ADDR_AGREED)
        r->last = r->a.at[r->a.count - 1];
    return (taught & PHX__ADDR_NEW) != 0;
}

/* A link of ours at `here` with this peer at `from`, which sees us at `observed`. */
static int link_up(struct rig *r, int flags, int peer, const char *from, const char *observed,
                   const char *here)
{
    struct phx__link l = { .address = parse(from), .observed = parse(observed) };
    struct phx_address end = parse(here);

    memset(&l.id, peer, sizeof l.id);
    l.dialer = (flags & DIALER) != 0;
    l.secure = (flags & SECURE) != 0;
    l.same_host = (flags & SAME_HOST) != 0;
    return phx__node_addr_is_idle(&r->a, &l) ? -1 : learn(r, &l, &end);
}

/* ---- By hand --------------------------------------------------------------------------------- */

static void test_evidence(void)
{
    /* Goal: what two peers at two hosts say of one address counts, if it can be a way to us. Method: a table:
     * the links are the same but for the peer, and what is told of after the first and the second. */
    static const struct {
        const char *listener;
        int flags;
        const char *first, *second, *observed, *here;
        const char *told;
    } table[] = {
        /* Dialled by peers. */
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "tcp://5.5.5.5:80*" },
        { "tcp://10.0.0.1:7000", SECURE, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "tls://5.5.5.5:80*" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.1:2", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://[2001::1]:1", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "tcp://5.5.5.5:80*" },
        { "tcp://10.0.0.1:7000", SAME_HOST, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "unix:///x", "tcp://9.9.9.2:1", "tcp://5.5.5.5:80",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://127.0.0.1:80",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://0.0.0.0:80",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:0",
          "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", NULL, "tcp://10.0.0.1:7000", "" },
        { "tcp://10.0.0.1:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:80", "unix:///y",
          "" },
        /* Dialled by us: a port that came through unchanged. */
        { "tcp://10.0.0.1:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:3333",
          "tcp://10.0.0.1:3333", "tcp://5.5.5.5:7000*" },
        { "tls://10.0.0.1:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:3333",
          "tcp://10.0.0.1:3333", "tls://5.5.5.5:7000*" },
        { "tcp://10.0.0.1:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:4444",
          "tcp://10.0.0.1:3333", "" },
        { "tcp://10.0.0.1:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://10.0.0.1:3333",
          "tcp://10.0.0.1:3333", "" },
        { "tcp://10.0.0.2:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:3333",
          "tcp://10.0.0.1:3333", "" },
        { "tcp://[::]:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:3333",
          "tcp://10.0.0.1:3333", "" },
        /* A listener on all interfaces: our end of the first link is enough. */
        { "tls://0.0.0.0:7000", 0, "tcp://9.9.9.1:1", "tcp://9.9.9.1:1", "tcp://10.0.0.1:7000",
          "tcp://10.0.0.1:7000", "tls://10.0.0.1:7000*" },
        { "tcp://0.0.0.0:7000", SAME_HOST, "tcp://10.0.0.1:1", "tcp://10.0.0.1:1", "tcp://10.0.0.1:7000",
          "tcp://10.0.0.1:7000", "tcp://10.0.0.1:7000*" },
        { "tcp://0.0.0.0:7000", 0, "tcp://[2001::1]:1", "tcp://[2001::1]:1", NULL, "tcp://[2001::2]:7000",
          "" },
        { "tcp://0.0.0.0:7000", DIALER, "tcp://9.9.9.1:1", "tcp://9.9.9.2:1", "tcp://5.5.5.5:3333",
          "tcp://10.0.0.1:3333", "tcp://10.0.0.1:7000* tcp://5.5.5.5:7000*" },
    };
    struct rig r;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        rig_init(&r);
        rig_listen(&r, table[i].listener);
        (void)link_up(&r, table[i].flags, 1, table[i].first, table[i].observed, table[i].here);
        check(r.agreed == 0, "row %d: one peer is hearsay", (int)i);
        (void)link_up(&r, table[i].flags, 2, table[i].second, table[i].observed, table[i].here);
        TOLD(&r, table[i].told);
    }
}

static void test_idle(void)
{
    /* Goal: a link that teaches nothing is told from others before anybody asks for its end. */
    struct rig r;

    rig_init(&r);
    rig_listen(&r, "tcp://127.0.0.1:7000");
    ok(link_up(&r, 0, 1, "tcp://127.0.0.1:1", "tcp://127.0.0.1:7000", NULL) == -1
           && link_up(&r, 0, 1, "unix:///x", "tcp://127.0.0.1:7000", NULL) == -1,
       "a peer on this host that sees us there");
    ok(link_up(&r, 0, 1, "tcp://9.9.9.1:1", "tcp://127.0.0.1:7000", NULL) == 0
           && link_up(&r, 0, 1, "tcp://127.0.0.1:1", "tcp://5.5.5.5:7000", NULL) == 0,
       "not a peer elsewhere, nor one that sees us elsewhere");
    rig_listen(&r, "tcp://[::]:7000");
    ok(link_up(&r, 0, 1, "tcp://127.0.0.1:1", "tcp://127.0.0.1:7000", NULL) == 0,
       "nor any with a listener on all interfaces, be it the second");
}

/* Peer `peer` at 9.9.9.host dials 5.5.5.5:port. */
static int dials(struct rig *r, int peer, int host, int port)
{
    char from[64], observed[64];

    snprintf(from, sizeof from, "tcp://9.9.9.%d:1", host);
    snprintf(observed, sizeof observed, "tcp://5.5.5.5:%d", port);
    return link_up(r, 0, peer, from, observed, "tcp://10.0.0.1:7000");
}

static void test_observations(void)
{
    /* Goal: each peer has one observation, its latest; the eight latest peers are remembered. */
    struct rig r;
    int i;

    rig_init(&r);
    ok(dials(&r, 1, 2, 80) == 0 && dials(&r, 1, 1, 80) == 0 && dials(&r, 2, 1, 80) == 0,
       "a peer that moved between two hosts, and another at the second, are not two at two hosts");
    ok(dials(&r, 3, 3, 80) == 1 && r.agreed == 1 && r.last.port == 80, "a third at another is");
    ok(dials(&r, 4, 4, 80) == 0 && r.agreed == 1, "and once is enough");
    rig_init(&r);
    dials(&r, 1, 1, 80);
    dials(&r, 1, 1, 81);
    ok(dials(&r, 2, 2, 80) == 0, "a peer that says something else has taken back its first word");
    ok(dials(&r, 3, 3, 81) == 1, "and its second one counts");
    for (i = 7; i <= 8; i++) {
        int k;
        rig_init(&r);
        dials(&r, 1, 1, 80);
        for (k = 0; k < i; k++)
            dials(&r, 10 + k, 10 + k, 100 + k);
        ok(dials(&r, 2, 2, 80) == (i < 8), "%d other peers %s", i, i < 8 ? "leave it" : "push it out");
    }
}

static void test_forgotten(void)
{
    /* Goal: an address that was learnt and gave way to others is believed again when two peers see it again,
     * not one; and a peer that sees what is known has taken back what it saw before. */
    struct rig r;
    int i;

    rig_init(&r);
    dials(&r, 1, 1, 80);
    dials(&r, 2, 2, 80);
    for (i = 0; i < 8; i++)
        check(dials(&r, 3, 3, 100 + i) == 0 && dials(&r, 4, 4, 100 + i) == 1, "learnt");
    ok(dials(&r, 5, 5, 80) == 0, "one peer's word is hearsay again");
    ok(dials(&r, 6, 6, 80) == 1, "two are not");
    rig_init(&r);
    dials(&r, 1, 1, 80);
    dials(&r, 2, 2, 90);
    dials(&r, 3, 3, 90);
    dials(&r, 1, 1, 90);
    ok(dials(&r, 4, 4, 80) == 0, "an observation does not outlive the next one");
}

static void test_given(void)
{
    /* Goal: an address that the host tells after it was learnt does not give way any more. */
    struct phx_address a = parse("tcp://5.5.5.5:80");
    struct rig r;

    rig_init(&r);
    dials(&r, 1, 1, 80);
    dials(&r, 2, 2, 80);
    TOLD(&r, "tcp://5.5.5.5:80*");
    ok(phx__node_addr_add(&r.a, &a) == 0, "no news");
    TOLD(&r, "tcp://5.5.5.5:80");
}

static void test_giving_way(void)
{
    /* Goal: there is room for 8; the oldest learnt address goes first, and the host's never. */
    struct phx_address a = parse("tcp://1.1.1.1:1");
    struct rig r;
    int i;

    rig_init(&r);
    rig_listen(&r, "tcp://0.0.0.0:7");
    for (i = 1; i <= 3; i++) {
        char here[32];
        a.port = (uint16_t)i;
        check(phx__node_addr_add(&r.a, &a) == 1 && phx__node_addr_add(&r.a, &a) == 0, "once");
        snprintf(here, sizeof here, "tcp://2.2.2.%d:1", i);
        check(link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, here) == 1, "learnt");
        check(link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, here) == 0, "which is no news the second time");
    }
    TOLD(&r, "tcp://1.1.1.1:1 tcp://2.2.2.1:7* tcp://1.1.1.1:2 tcp://2.2.2.2:7* tcp://1.1.1.1:3 "
             "tcp://2.2.2.3:7*");
    for (i = 4; i <= 6; i++) {
        a.port = (uint16_t)i;
        check(phx__node_addr_add(&r.a, &a) == (i < 6 ? 1 : PHX_ELIMIT), "eight and no more");
    }
    (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://2.2.2.4:1");
    TOLD(&r, "tcp://1.1.1.1:1 tcp://1.1.1.1:2 tcp://2.2.2.2:7* tcp://1.1.1.1:3 tcp://2.2.2.3:7* "
             "tcp://1.1.1.1:4 tcp://1.1.1.1:5 tcp://2.2.2.4:7*");
    rig_init(&r);
    rig_listen(&r, "tcp://0.0.0.0:7");
    for (i = 1; i <= 8; i++) {
        a.port = (uint16_t)i;
        (void)phx__node_addr_add(&r.a, &a);
    }
    ok(link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://2.2.2.4:1") == 0 && r.a.learnt == 0
           && r.a.count == 8,
       "eight of the host's leave no room");
}

static void test_moved(void)
{
    /* Goal: an end that was not among the 32 latest kinds is another network, but for the first. */
    struct rig r;
    char here[32];
    int i, round;

    rig_init(&r);
    (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://127.0.0.1:1");
    (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://10.0.0.1:1");
    ok(r.moved == 0, "loopback is no network, and the first is no news");
    (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://10.0.0.1:2");
    ok(r.moved == 0, "whatever the port");
    (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, "tcp://[a00:1::]:1");
    ok(r.moved == 1, "the same bytes of another family are another network");
    for (i = 32; i <= 33; i++) {
        rig_init(&r);
        for (round = 0; round < 3 * i; round++) {
            snprintf(here, sizeof here, "tcp://10.0.0.%d:1", 1 + round % i);
            (void)link_up(&r, 0, 1, "tcp://9.9.9.1:1", NULL, here);
        }
        ok(r.moved == (i == 32 ? 31u : 3u * 33 - 1), "%d in turn: moved %u times", i, r.moved);
    }
}

/* ---- Beside a model -------------------------------------------------------------------------- */

/* An address is a number: host, port and TLS in decimal, HHPPT. Host 0 is 0.0.0.0, host 1 127.0.0.1. */
static struct phx_address address_of(int number)
{
    struct phx_address a;
    int host = number / 1000;

    memset(&a, 0, sizeof a);
    a.family = PHX_IPV4;
    a.ip[0] = host == 0 ? 0 : host == 1 ? 127 : 10;
    a.ip[3] = (unsigned char)host;
    a.port = (uint16_t)(number / 10 % 100);
    a.tls = (unsigned char)(number % 10);
    return a;
}

/* All that ever happened; what is believed is looked up in it. */
struct model {
    int listener[2], listeners;
    int own[8], learnt[8], count;
    int ends[4000], end_count;                      /* hosts of our ends that were new, in order */
    struct { int peer, host, says; } seen[4000];    /* by order of the peers' first word */
    int seen_count;
    uint32_t moved, agreed;
};

static int model_has(const struct model *m, int number)
{
    int i;

    for (i = 0; i < m->count; i++)
        if (m->own[i] == number)
            return 1;
    return 0;
}

static int model_learn(struct model *m, int number)
{
    int i, k;

    if (model_has(m, number))
        return 0;
    for (i = 0; m->count == 8 && i < 8; i++) {
        if (!m->learnt[i])
            continue;
        for (k = i; k + 1 < 8; k++) {
            m->own[k] = m->own[k + 1];
            m->learnt[k] = m->learnt[k + 1];
        }
        m->count--;
    }
    if (m->count == 8)
        return 0;
    m->own[m->count] = number;
    m->learnt[m->count++] = 1;
    return 1;
}

static void model_end(struct model *m, int host)
{
    int i;

    if (host == 1)
        return;
    for (i = m->end_count < 32 ? 0 : m->end_count - 32; i < m->end_count; i++)
        if (m->ends[i] == host)
            return;
    m->moved += m->end_count > 0;
    m->ends[m->end_count++] = host;
}

static int model_says(struct model *m, int peer, int host, int number)
{
    int from = m->seen_count < 8 ? 0 : m->seen_count - 8, i, mine = -1, other = 0, news = 0;

    for (i = from; i < m->seen_count; i++) {
        if (m->seen[i].peer == peer)
            mine = i;
        else
            other |= m->seen[i].says == number && m->seen[i].host != host;
    }
    if (other)
        m->agreed += (uint32_t)(news = model_learn(m, number));
    if (model_has(m, number)) { /* nobody needs to have seen it any more */
        for (i = from; i < m->seen_count; i++)
            if (i == mine || m->seen[i].says == number)
                m->seen[i].peer = m->seen[i].says = -1;
        return news;
    }
    if (mine < 0)
        mine = m->seen_count++;
    m->seen[mine].peer = peer;
    m->seen[mine].host = host;
    m->seen[mine].says = number;
    return 0;
}

static int model_link(struct model *m, int flags, int peer, int from, int observed, int here)
{
    int number = observed / 10 * 10 + ((flags & SECURE) != 0);
    int i, changed = 0, host = here / 1000, saw = observed / 1000;

    for (i = 0; i < m->listeners; i++)
        if (m->listener[i] / 1000 == 0)
            changed |= model_learn(m, host * 1000 + m->listener[i] % 1000);
    model_end(m, host);
    if ((flags & SAME_HOST) || saw < 2 || observed / 10 % 100 == 0)
        return changed;
    if (!(flags & DIALER))
        return model_says(m, peer, from / 1000, number) | changed;
    if (observed / 10 % 100 != here / 10 % 100 || saw == host)
        return changed;
    for (i = 0; i < m->listeners; i++)
        if (m->listener[i] / 1000 == 0 || m->listener[i] / 1000 == host)
            return model_says(m, peer, from / 1000, saw * 1000 + m->listener[i] % 1000) | changed;
    return changed;
}

static int model_agrees(const struct model *m, const struct rig *r)
{
    int i;

    for (i = 0; i < m->count; i++) {
        struct phx_address a = address_of(m->own[i]);
        if (i >= r->a.count || !phx__addr_equal(&a, &r->a.at[i]) || (r->a.learnt >> i & 1) != m->learnt[i])
            return 0;
    }
    return m->count == r->a.count && r->a.learnt >> m->count == 0 && m->moved == r->moved
           && m->agreed == r->agreed;
}

/* One thing that happens: a word of the host's, or a link. */
static int random_step(struct rig *r, struct model *m, struct phx__rnd *rnd, int hosts)
{
    int flags = (int)phx__rnd_below(rnd, 8), peer = 1 + (int)phx__rnd_below(rnd, 12);
    int from = (1 + (int)phx__rnd_below(rnd, 5)) * 1000 + 10, here, observed, want, got;
    struct phx_address end, seen;
    struct phx__link l = { .slot = 0 };

    here = (1 + (int)phx__rnd_below(rnd, (uint64_t)hosts)) * 1000 + (int)phx__rnd_below(rnd, 3) * 10;
    observed = (int)phx__rnd_below(rnd, 5) * 1000 + (int)phx__rnd_below(rnd, 3) * 10;
    end = address_of(here);
    seen = address_of(observed);
    if (phx__rnd_below(rnd, 40) == 0) {
        int i = 0;

        want = model_has(m, observed) ? 0 : m->count == 8 ? PHX_ELIMIT : 1;
        if (want == 1)
            m->own[m->count++] = observed;
        for (; want != PHX_ELIMIT && i < m->count; i++)
            if (m->own[i] == observed)
                m->learnt[i] = 0; /* the host's word, also if it was learnt before */
        return phx__node_addr_add(&r->a, &seen) == want;
    }
    memset(&l.id, peer, sizeof l.id);
    l.address = address_of(from);
    l.observed = seen;
    l.dialer = (flags & DIALER) != 0;
    l.secure = (flags & SECURE) != 0;
    l.same_host = (flags & SAME_HOST) != 0;
    want = model_link(m, flags, peer, from, observed, here);
    got = learn(r, &l, &end);
    return got == want;
}

static void test_random(void)
{
    /* Goal: any sequence of links and of the host's words leaves what the rules say. Method: 24 seeds, 3000
     * steps each, with hosts, ports and peers so few that all meet; beside a model that keeps all history. */
    static const int listeners[4][2] = { { -1, -1 }, { 70, -1 }, { 2071, -1 }, { 3070, 81 } };
    static struct model m;
    uint32_t agreed = 0, moved = 0, seed;
    struct phx__rnd rnd;
    struct rig r;
    int i, bad = 0;

    for (seed = 0; seed < 24; seed++) {
        rig_init(&r);
        memset(&m, 0, sizeof m);
        for (i = 0; i < 2 && listeners[seed % 4][i] >= 0; i++) {
            m.listener[m.listeners++] = listeners[seed % 4][i];
            r.listener[r.listeners++] = address_of(listeners[seed % 4][i]);
        }
        phx__rnd_seed(&rnd, 7, seed);
        for (i = 0; i < 3000 && bad == 0; i++)
            if (!random_step(&r, &m, &rnd, seed < 12 ? 6 : 60) || !model_agrees(&m, &r))
                bad = 1;
        check(!bad, "seed %u, step %d", seed, i);
        agreed += r.agreed;
        moved += r.moved;
    }
    ok(!bad && agreed > 500 && moved > 1000, "24 x 3000 steps, %u agreements, %u moves", agreed, moved);
}

int main(void)
{
    test_evidence();
    test_idle();
    test_observations();
    test_forgotten();
    test_given();
    test_giving_way();
    test_moved();
    test_random();
    return test_end();
}
