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
 * has heard its own nonce back (one-way links are refused) and a link costs two round trips. HELLO and ANSWER
 * are padded if the path is to show that it carries full packets. Who may link with whom is decided by the
 * node, in `judge`. */
#include "link/state.h"

/* ---- Proofs */

/* How many keys count here. Without a key there is still one: the empty one. */
static uint32_t hello_keys(const struct phx__link_set *s)
{
    return s->key_count > 0 ? s->key_count : 1;
}

/* HMAC with one of our keys, for an ANSWER or this body of a PROOF: the cluster and all before the macs. */
PHX__COLD static void hello_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                      const uint8_t *proof, size_t size, uint8_t out[PHX__MAC])
{
    struct phx__hmac h = s->begun[key];
    const struct phx__link_hello *hs = l->hello;
    const char *label = proof != NULL ? "proof" : "answer";
    uint8_t binding[32];

    phx__sha_add(&h.inner, l->tls != NULL ? "PHX1 TLS " : "PHX1 ", l->tls != NULL ? 9 : 5);
    phx__sha_add(&h.inner, label, strlen(label) + 1);
    phx__sha_add(&h.inner, s->cluster, strlen(s->cluster) + 1);
    if (l->tls != NULL && phx__tls_binding(l->tls, binding) == 0)
        phx__sha_add(&h.inner, binding, sizeof binding); /* frames came through it, so there is one */
    phx__sha_add(&h.inner, hs->hello.data, hs->hello.size);
    phx__sha_add(&h.inner, hs->answer.data, hs->answer.size - (proof != NULL ? 0 : 2 * PHX__MAC));
    if (proof != NULL)
        phx__sha_add(&h.inner, proof, size - PHX__MAC);
    phx__sha_hmac_end(&h, out);
}

/* The first of our keys that made one of two macs, or PHX__NONE. All are computed: the time tells nothing. */
static uint32_t hello_key_of(const struct phx__link_set *s, const struct phx__link *l, const uint8_t *proof,
                             size_t size, const uint8_t mac[PHX__MAC], const uint8_t other[PHX__MAC])
{
    uint32_t key, found = PHX__NONE;
    uint8_t ours[PHX__MAC];

    for (key = hello_keys(s); key-- > 0;) {
        hello_mac(s, l, key, proof, size, ours);
        if (phx__sha_equal(ours, mac) | phx__sha_equal(ours, other))
            found = key;
    }
    return found;
}

PHX__COLD void phx__link_hello_rekey(struct phx__link_set *s)
{
    for (uint32_t key = 0; key < hello_keys(s); key++)
        phx__sha_key_init(&s->begun[key], s->key_count > 0 ? s->keys[key].data : NULL,
                          s->key_count > 0 ? s->keys[key].size : 0);
}

PHX__COLD void phx__link_hello_cluster(struct phx__link_set *s, const char *cluster)
{
    struct phx__sha h;
    uint8_t full[32];

    phx__sha_init(&h);
    phx__sha_add(&h, cluster, strlen(cluster));
    phx__sha_end(&h, full);
    memcpy(s->cluster_hash, full, sizeof s->cluster_hash);
    s->cluster = cluster;
}

/* The body of a HELLO or ANSWER that is well-formed, and so has 227 bytes at most and the padding. */
PHX__COLD static void hello_keep(struct phx__link_body *to, const uint8_t *body, size_t size, int flags)
{
    to->size = size - ((flags & (int)PHX__PADDED) != 0 ? PHX__PAD : 0);
    PHX_ASSERT(to->size <= sizeof to->data);
    memcpy(to->data, body, to->size);
}

/* ---- What is said */

/* Encodes a message, which out_control_end then sends. kept may be NULL. */
PHX__COLD static int hello_put(struct phx__link_set *s, struct phx__link *l, int type, const void *body,
                     struct phx__link_body *kept, struct phx__writer *w)
{
    int flags = kept != NULL && l->hello->padded ? (int)PHX__PADDED : 0;
    int err = phx__link_out_control(s, l, sizeof kept->data + (flags != 0 ? PHX__PAD : 0), w);

    if (err != 0)
        return err;
    phx__wire_link_put(w, type, flags, 0, body);
    if (kept != NULL)
        hello_keep(kept, w->data + PHX__WIRE_HEADER, w->size - PHX__WIRE_HEADER, flags);
    return 0;
}

PHX__COLD static int hello_say_hello(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__hello h = { .magic = PHX__WIRE_MAGIC, .version_min = PHX__WIRE_VERSION, .id = *s->self,
                            .version_max = PHX__WIRE_VERSION, .incarnation = s->incarnation,
                            .features = l->said.features };
    struct phx__writer w;
    int err;

    memcpy(h.cluster, s->cluster_hash, sizeof h.cluster);
    if ((err = s->ops->random(s->ctx, h.nonce, sizeof h.nonce)) != 0
        || (err = hello_put(s, l, PHX__HELLO, &h, &l->hello->hello, &w)) != 0)
        return err;
    l->state = PHX__LINK_HELLO;
    return phx__link_out_control_end(s, l, &w);
}

PHX__COLD static int hello_say_answer(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__answer a = { .version = PHX__WIRE_VERSION, .id = *s->self, .incarnation = s->incarnation,
                             .features = l->said.features, .observed = l->address };
    struct phx__link_body *kept = &l->hello->answer;
    struct phx__writer w;
    uint8_t *macs;
    int err;

    s->ops->introduce(s->ctx, l, &l->said);
    a.own = l->said;
    if ((err = s->ops->random(s->ctx, a.nonce, sizeof a.nonce)) != 0
        || (err = s->ops->random(s->ctx, a.mac_other, sizeof a.mac_other)) != 0
        || (err = hello_put(s, l, PHX__ANSWER, &a, kept, &w)) != 0)
        return err;
    macs = w.data + PHX__WIRE_HEADER + kept->size - 2 * PHX__MAC;
    for (uint32_t key = 0; key < hello_keys(s); key++) /* if there is no second, its place stays random */
        hello_mac(s, l, key, NULL, 0, macs + key * PHX__MAC);
    memcpy(kept->data + kept->size - 2 * PHX__MAC, macs, 2 * PHX__MAC);
    l->state = PHX__LINK_PROOF;
    return phx__link_out_control_end(s, l, &w);
}

PHX__COLD static int hello_say_proof(struct phx__link_set *s, struct phx__link *l, uint32_t key)
{
    struct phx__proof p = { .observed = l->address };
    struct phx__writer w;
    int err;

    s->ops->introduce(s->ctx, l, &l->said);
    p.own = l->said;
    if ((err = hello_put(s, l, PHX__PROOF, &p, NULL, &w)) != 0)
        return err;
    hello_mac(s, l, key, w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER, w.data + w.size - PHX__MAC);
    return phx__link_out_control_end(s, l, &w);
}

/* ---- What is heard */

PHX__COLD static int hello_now_up(struct phx__link_set *s, struct phx__link *l)
{
    phx__mem_put(s->mem, l->hello, sizeof *l->hello);
    l->hello = NULL;
    l->state = PHX__LINK_UP;
    l->since = s->now;
    phx__timer_stop(s->timers, l->timer);
    return s->ops->up(s->ctx, l);
}

/* Acceptor. */
PHX__COLD static int hello_on_hello(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__hello h;
    int err = phx__wire_link_get(f, PHX__HELLO, &h);

    if (err != 0)
        return err;
    if (h.version_min > PHX__WIRE_VERSION || h.version_max < PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if (memcmp(s->cluster_hash, h.cluster, sizeof h.cluster) != 0)
        return PHX_ECLUSTER;
    l->id = h.id;
    l->incarnation = h.incarnation;
    l->heard.features = h.features;
    l->hello->padded = (f->flags & PHX__PADDED) != 0;
    hello_keep(&l->hello->hello, f->body, f->size, f->flags);
    l->state = PHX__LINK_PARKED;
    err = phx__link_hello_resume(s, l);
    return err == PHX_EAGAIN ? 0 : err;
}

PHX__COLD int phx__link_hello_resume(struct phx__link_set *s, struct phx__link *l)
{
    int err = s->ops->judge(s->ctx, l);

    return err != 0 ? err : hello_say_answer(s, l);
}

/* Dialer. */
PHX__COLD static int hello_on_answer(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__answer a;
    uint32_t key;
    int err = phx__wire_link_get(f, PHX__ANSWER, &a);

    if (err != 0)
        return err;
    if (a.version != PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if (l->hello->padded != (f->flags & PHX__PADDED)) /* the way back was not tried */
        return PHX_EPROTO;
    hello_keep(&l->hello->answer, f->body, f->size, f->flags);
    if ((key = hello_key_of(s, l, NULL, 0, a.mac, a.mac_other)) == PHX__NONE)
        return PHX_EKEY;
    l->id = a.id;
    l->incarnation = a.incarnation;
    l->observed = a.observed;
    l->heard = a.own;
    l->heard.features = a.features;
    if ((err = s->ops->judge(s->ctx, l)) != 0 || (err = hello_say_proof(s, l, key)) != 0)
        return err;
    return hello_now_up(s, l);
}

PHX__COLD static int hello_on_proof(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__proof p;
    int err = phx__wire_link_get(f, PHX__PROOF, &p);

    if (err != 0)
        return err;
    if (hello_key_of(s, l, f->body, f->size, p.mac, p.mac) == PHX__NONE)
        return PHX_EKEY;
    /* Since the answer another link with this node may have come up. */
    if ((err = s->ops->judge(s->ctx, l)) != 0 && err != PHX_EAGAIN)
        return err;
    l->observed = p.observed;
    p.own.features = l->heard.features; /* of HELLO */
    l->heard = p.own;
    return hello_now_up(s, l);
}

PHX__COLD int phx__link_hello_frame(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    if (l->state == PHX__LINK_HELLO && !l->dialer && f->type == PHX__HELLO)
        return hello_on_hello(s, l, f);
    if (l->state == PHX__LINK_HELLO && l->dialer && f->type == PHX__ANSWER)
        return hello_on_answer(s, l, f);
    return l->state == PHX__LINK_PROOF && f->type == PHX__PROOF ? hello_on_proof(s, l, f) : PHX_EPROTO;
}

PHX__COLD int phx__link_hello_tls(struct phx__link_set *s, struct phx__link *l)
{
    uint8_t seed[PHX__TLS_SEED];
    int err = s->ops->random(s->ctx, seed, sizeof seed);

    return err != 0 ? err : phx__tls_open(s->tls, l->dialer, seed, &l->tls);
}

PHX__COLD int phx__link_hello_begin(struct phx__link_set *s, struct phx__link *l)
{
    int err = l->secure ? phx__link_hello_tls(s, l) : 0;

    return err != 0 ? err : hello_say_hello(s, l);
}
