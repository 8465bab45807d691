/* hello.c - how a link comes up: three messages, each side proving that it has the key. */

/* Each side proves over everything said so far that it has the key (src/WIRE.md):
 *
 *      dialer   DIALING --connected--> HELLO ----------ANSWER ok----------> UP
 *                                        | HELLO          ^ ANSWER    | PROOF, and at once what it has
 *                                        v                |           v
 *      acceptor                        HELLO --judged--> PROOF ----PROOF ok---> UP
 *                                        \--> PARKED --/   (our own dial to that node goes first)
 *
 * The dialer may use the link when it has seen the ANSWER, the acceptor when it has seen the PROOF, so each
 * has heard its own nonce back (one-way links are refused) and a link costs two round trips. Who may link
 * with whom is decided by the node, in `judge`. */
#include "link/hello.h"
#include "link/out.h"

/* ---- Proofs */

/* How many keys count here. Without a key there is still one: the empty one. */
static uint32_t hello_keys(const struct phx__link_set *s)
{
    return s->key_count > 0 ? s->key_count : 1;
}

/* HMAC with one of our keys over the label, the cluster, the hello, this much of the answer, and `last`. */
static void hello_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                      const char *label, size_t answer_size, const uint8_t *last, size_t last_size,
                      uint8_t out[PHX__MAC])
{
    struct phx__hmac h = s->begun[key];
    const struct phx__link_hello *hs = l->hello;
    uint8_t binding[32];

    phx__sha_hmac_add(&h, l->tls != NULL ? "PHX1 TLS " : "PHX1 ", l->tls != NULL ? 9 : 5);
    phx__sha_hmac_add(&h, label, strlen(label) + 1);
    phx__sha_hmac_add(&h, s->cluster, strlen(s->cluster) + 1);
    if (l->tls != NULL && phx__tls_binding(l->tls, binding) == 0)
        phx__sha_hmac_add(&h, binding, sizeof binding); /* frames came through it, so there is one */
    phx__sha_hmac_add(&h, hs->hello, hs->hello_size);
    phx__sha_hmac_add(&h, hs->answer, answer_size);
    phx__sha_hmac_add(&h, last, last_size);
    phx__sha_hmac_end(&h, out);
}

static void hello_answer_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                             uint8_t out[PHX__MAC])
{
    hello_mac(s, l, key, "answer", l->hello->answer_size - 2 * PHX__MAC, NULL, 0, out);
}

static void hello_proof_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                            const uint8_t *body, size_t size, uint8_t out[PHX__MAC])
{
    hello_mac(s, l, key, "proof", l->hello->answer_size, body, size - PHX__MAC, out);
}

/* The first of our keys that made one of the macs of an ANSWER, or PHX__NONE. All are computed, so that the
 * time tells nothing. */
static uint32_t hello_common_key(const struct phx__link_set *s, const struct phx__link *l,
                                 const struct phx__answer *a)
{
    uint32_t key, common = PHX__NONE;
    uint8_t mac[PHX__MAC];

    for (key = hello_keys(s); key-- > 0;) {
        hello_answer_mac(s, l, key, mac);
        if (phx__sha_equal(mac, a->mac) | phx__sha_equal(mac, a->mac_other))
            common = key;
    }
    return common;
}

static int hello_proof_is_good(const struct phx__link_set *s, const struct phx__link *l,
                               const struct phx__frame *f, const uint8_t mac[PHX__MAC])
{
    uint32_t key;
    uint8_t ours[PHX__MAC];
    int good = 0;

    for (key = 0; key < hello_keys(s); key++) {
        hello_proof_mac(s, l, key, f->body, f->size, ours);
        good |= phx__sha_equal(ours, mac);
    }
    return good;
}

void phx__link_hello_rekey(struct phx__link_set *s)
{
    uint32_t key;

    for (key = 0; key < hello_keys(s); key++)
        phx__sha_hmac_init(&s->begun[key], s->key_count > 0 ? s->keys[key].data : NULL,
                           s->key_count > 0 ? s->keys[key].size : 0);
}

void phx__link_hello_cluster(struct phx__link_set *s, const char *cluster)
{
    struct phx__sha h;
    uint8_t full[32];

    phx__sha_init(&h);
    phx__sha_add(&h, cluster, strlen(cluster));
    phx__sha_end(&h, full);
    memcpy(s->cluster_tag, full, sizeof s->cluster_tag);
    s->cluster = cluster;
}

static int hello_keep(uint8_t *to, size_t capacity, size_t *size, const uint8_t *from, size_t n)
{
    if (n > capacity)
        return PHX_EPROTO;
    memcpy(to, from, n);
    *size = n;
    return 0;
}

/* ---- What is said */

static int hello_say_hello(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__hello h;
    struct phx__writer w;
    int err;

    memset(&h, 0, sizeof h);
    h.magic = PHX__WIRE_MAGIC;
    h.version_min = h.version_max = PHX__WIRE_VERSION;
    memcpy(h.cluster, s->cluster_tag, sizeof h.cluster);
    h.id = *s->self;
    h.incarnation = s->incarnation;
    if ((err = s->ops->random(s->ctx, h.nonce, sizeof h.nonce)) != 0
        || (err = phx__link_out_control(s, l, sizeof l->hello->hello, &w)) != 0)
        return err;
    phx__wire_link_put(&w, PHX__HELLO, 0, 0, &h);
    err = hello_keep(l->hello->hello, sizeof l->hello->hello, &l->hello->hello_size,
                     w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER);
    l->state = PHX__LINK_HELLO;
    return err ? err : phx__link_out_control_end(s, l, &w);
}

/* The macs of an ANSWER that ends here. */
static void hello_put_macs(uint8_t *end, const struct phx__answer *a)
{
    memcpy(end - 2 * PHX__MAC, a->mac, PHX__MAC);
    memcpy(end - PHX__MAC, a->mac_other, PHX__MAC);
}

static int hello_say_answer(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__answer a;
    struct phx__writer w;
    int err;

    memset(&a, 0, sizeof a);
    a.version = PHX__WIRE_VERSION;
    a.id = *s->self;
    a.incarnation = s->incarnation;
    s->ops->introduce(s->ctx, l, &l->said);
    a.own = l->said;
    a.observed = l->address;
    if ((err = s->ops->random(s->ctx, a.nonce, sizeof a.nonce)) != 0
        || (err = s->ops->random(s->ctx, a.mac_other, sizeof a.mac_other)) != 0
        || (err = phx__link_out_control(s, l, sizeof l->hello->answer, &w)) != 0)
        return err;
    phx__wire_link_put(&w, PHX__ANSWER, 0, 0, &a);
    err = hello_keep(l->hello->answer, sizeof l->hello->answer, &l->hello->answer_size,
                     w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER);
    if (err != 0)
        return err;
    hello_answer_mac(s, l, 0, a.mac);
    if (hello_keys(s) > 1)
        hello_answer_mac(s, l, 1, a.mac_other);
    hello_put_macs(w.data + w.size, &a);
    hello_put_macs(l->hello->answer + l->hello->answer_size, &a);
    l->state = PHX__LINK_PROOF;
    return phx__link_out_control_end(s, l, &w);
}

static int hello_say_proof(struct phx__link_set *s, struct phx__link *l, uint32_t key)
{
    struct phx__proof p;
    struct phx__writer w;
    int err;

    memset(&p, 0, sizeof p);
    s->ops->introduce(s->ctx, l, &l->said);
    p.own = l->said;
    p.observed = l->address;
    if ((err = phx__link_out_control(s, l, 256, &w)) != 0)
        return err;
    phx__wire_link_put(&w, PHX__PROOF, 0, 0, &p);
    hello_proof_mac(s, l, key, w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER, p.mac);
    memcpy(w.data + w.size - PHX__MAC, p.mac, PHX__MAC);
    return phx__link_out_control_end(s, l, &w);
}

/* ---- What is heard */

static int hello_now_up(struct phx__link_set *s, struct phx__link *l)
{
    phx__mem_put(s->mem, l->hello, sizeof *l->hello);
    l->hello = NULL;
    l->state = PHX__LINK_UP;
    l->since = s->now;
    phx__timer_stop(s->timers, l->timer);
    return s->ops->up(s->ctx, l);
}

/* Acceptor. */
static int hello_on_hello(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__hello h;
    int err = phx__wire_link_get(f, PHX__HELLO, &h);

    if (err != 0)
        return err;
    if (h.version_min > PHX__WIRE_VERSION || h.version_max < PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if (memcmp(s->cluster_tag, h.cluster, sizeof h.cluster) != 0)
        return PHX_ECLUSTER;
    l->id = h.id;
    l->incarnation = h.incarnation;
    if ((err = hello_keep(l->hello->hello, sizeof l->hello->hello, &l->hello->hello_size, f->body, f->size)))
        return err;
    l->state = PHX__LINK_PARKED;
    err = phx__link_hello_resume(s, l);
    return err == PHX_EAGAIN ? 0 : err;
}

int phx__link_hello_resume(struct phx__link_set *s, struct phx__link *l)
{
    int err = s->ops->judge(s->ctx, l);

    return err != 0 ? err : hello_say_answer(s, l);
}

/* Dialer. */
static int hello_on_answer(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__answer a;
    uint32_t key;
    int err = phx__wire_link_get(f, PHX__ANSWER, &a);

    if (err != 0)
        return err;
    if (a.version != PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if ((err = hello_keep(l->hello->answer, sizeof l->hello->answer, &l->hello->answer_size, f->body,
                          f->size)))
        return err;
    key = hello_common_key(s, l, &a);
    if (key == PHX__NONE)
        return PHX_EKEY;
    l->id = a.id;
    l->incarnation = a.incarnation;
    l->observed = a.observed;
    l->heard = a.own;
    if ((err = s->ops->judge(s->ctx, l)) != 0 || (err = hello_say_proof(s, l, key)) != 0)
        return err;
    return hello_now_up(s, l);
}

static int hello_on_proof(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__proof p;
    int err = phx__wire_link_get(f, PHX__PROOF, &p);

    if (err != 0)
        return err;
    if (!hello_proof_is_good(s, l, f, p.mac))
        return PHX_EKEY;
    /* Since the answer another link with this node may have come up. */
    if ((err = s->ops->judge(s->ctx, l)) != 0 && err != PHX_EAGAIN)
        return err;
    l->observed = p.observed;
    l->heard = p.own;
    return hello_now_up(s, l);
}

int phx__link_hello_frame(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    if (l->state == PHX__LINK_HELLO && !l->dialer && f->type == PHX__HELLO)
        return hello_on_hello(s, l, f);
    if (l->state == PHX__LINK_HELLO && l->dialer && f->type == PHX__ANSWER)
        return hello_on_answer(s, l, f);
    if (l->state == PHX__LINK_PROOF && f->type == PHX__PROOF)
        return hello_on_proof(s, l, f);
    return PHX_EPROTO;
}

int phx__link_hello_tls(struct phx__link_set *s, struct phx__link *l)
{
    uint8_t seed[PHX__TLS_SEED];
    int err = s->ops->random(s->ctx, seed, sizeof seed);

    return err != 0 ? err : phx__tls_open(s->tls, l->dialer, seed, &l->tls);
}

int phx__link_hello_begin(struct phx__link_set *s, struct phx__link *l)
{
    int err = l->secure ? phx__link_hello_tls(s, l) : 0;

    return err != 0 ? err : hello_say_hello(s, l);
}
