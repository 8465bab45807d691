/* link.c - one connection with a neighbour: hello, frames in, queue out, back-pressure, close. */
/*
 * A link is a stream of frames. It comes up by three messages, each side proving that it has the key over
 * everything said so far (src/WIRE.md):
 *
 *      dialer   DIALING --connected--> HELLO ----------ANSWER ok----------> UP
 *                                        | HELLO          ^ ANSWER    | PROOF, and at once what it has
 *                                        v                |           v
 *      acceptor                        HELLO --judged--> PROOF ----PROOF ok---> UP
 *                                        \--> PARKED --/   (our own dial to that node goes first)
 *
 * The dialer may use the link when it has seen the ANSWER, the acceptor when it has seen the PROOF, so
 * each has heard its own nonce back (one-way links are refused) and a link costs two round trips. Who may
 * link with whom is not decided here: `judge` asks.
 *
 * Reading: one read into a buffer that all links share, frames handled in place; only the front of a frame
 * whose rest has not arrived is kept per link. An idle link holds no buffer.
 *
 * Writing: `out` is what has been handed to the stream in its final order. It is refilled when it runs
 * low: first all control frames, then data pulled from the post. So a control frame waits behind at most
 * LINK_AHEAD_MOST bytes of data and never inside a frame, and what is not in `out` yet can still take another
 * way when the route changes.
 */
#include "link/link.h"

/* Data committed to a stream ahead of control frames: two fragments, little enough to pass in 0.1 ms at
 * 10 Gbit/s. While the stream takes all that it is offered nothing waits here, and it is offered twice
 * as much the next time, up to eight fragments: few large writes cost less than many, here and at the
 * reader, who is woken by each. When it does not it gets half, so a slow one is soon at the least again. */
#define LINK_AHEAD (2 * PHX__FRAGMENT)
#define LINK_AHEAD_MOST (8 * PHX__FRAGMENT)
/* Control frames are encoded into blocks of this size; larger ones get a block of their own. */
#define LINK_TAIL 2048u
/* A peer that leaves this much control traffic unread makes us do all of it for nothing: the link goes. It
 * is several times the largest table with the largest cards. */
#define LINK_CONTROL_MAX (64u << 20)
/* Before the proof a stranger may send this much: a HELLO or PROOF, not more. */
#define LINK_STRANGER 512u
/* Over TLS the same in its records, and the certificates of a handshake: read in portions of a record, and
 * not more than this in all. */
#define LINK_TLS_READ 4096u
#define LINK_TLS_STRANGER 32768u
#define LINK_IOV 64
/* Frames of this size are read in whole numbers, where the stream has as many: what is torn at the end of a
 * read is copied to the stash and back, and four fragments with their heads just do not fit into 256 KiB. */
#define LINK_STRIDE_LEAST 32768u
/* A larger scratch is not lent: a frame of 32 KiB would pin all of it. */
#define LINK_LEND_MOST (1u << 20)
/* Control frames make us work for their sender: a table looked through, an answer, a word to all
 * neighbours. Each is charged one unit and one for each 64 bytes; 20,000 units a second are paid for, five
 * seconds of which may be owed. A full table of 60,000 nodes or two of the largest cards
 * pass at once, and 1.2 MB or 20,000 small frames a second for ever, which no honest node comes near:
 * the start of a clique of 400 costs each link some 700 units. */
#define LINK_UNIT_BYTES 64u
#define LINK_UNIT_US 50u
#define LINK_OWED_US (5 * PHX__SECOND)
/* Who owes more is not read for a while, and TCP makes it wait. The link is not closed: it would come
 * back at once, with everything from the beginning. Nobody waits for ever, so this rest cannot close a
 * circle of nodes that wait for each other; and a rest, at most this long, is shorter than any silence
 * that counts. */
#define LINK_REST_US (500 * PHX__MS)

static int link_stranger(const struct phx__link *l)
{
    return l->state != PHX__LINK_UP;
}

/* ---- Sending --------------------------------------------------------------------------------- */

int phx__link_control(struct phx__link_set *s, struct phx__link *l, size_t size,
                      struct phx__writer *w)
{
    struct phx__block *b = l->tail;

    phx__buf_writer_init(w, NULL, 0);
    if (l->state == PHX__LINK_CLOSED)
        return PHX_ERESET;
    if (l->control.bytes > LINK_CONTROL_MAX)
        return PHX_ENOMEM;
    if (b == NULL || b->capacity - b->used < size) {
        b = phx__buf_block_new(s->mem, size > LINK_TAIL ? size : LINK_TAIL);
        if (b == NULL)
            return PHX_ENOMEM;
        phx__buf_block_drop(l->tail);
        l->tail = b;
    }
    phx__buf_writer_init(w, b->data + b->used, b->capacity - b->used);
    return 0;
}

int phx__link_control_end(struct phx__link_set *s, struct phx__link *l, const struct phx__writer *w)
{
    int err;

    if (w->bad)
        return PHX_EINVAL;
    err = phx__buf_slices_push(&l->control, l->tail, w->data, w->size);
    if (err != 0)
        return err;
    l->tail->used += w->size;
    s->frames_out++;
    s->wants(s->ctx, l);
    return 0;
}

size_t phx__link_queued(const struct phx__link *l)
{
    return l->out.bytes + l->control.bytes + (l->tls != NULL ? phx__tls_queued(l->tls) : 0);
}

int phx__link_events(const struct phx__link *l)
{
    if (l->state == PHX__LINK_DIALING)
        return PHX_WRITE;
    if (l->state == PHX__LINK_PARKED || l->resting)
        return l->full ? PHX_WRITE : 0; /* what it sends is not read yet, and must not keep waking us */
    return l->full ? PHX_READ | PHX_WRITE : PHX_READ;
}

/* Moves waiting control frames behind what is in out. */
static int link_commit_control(struct phx__link *l)
{
    struct iovec one;

    while (l->control.count > 0) {
        struct phx__slice *first = &l->control.ring[l->control.first];
        int err;
        phx__buf_slices_iov(&l->control, &one, 1);
        err = phx__buf_slices_push(&l->out, first->block, first->data, first->size);
        if (err != 0)
            return err;
        phx__buf_slices_take(&l->control, one.iov_len);
    }
    return 0;
}

/* *empty: nothing waits anywhere but in `out`. */
static int link_refill(struct phx__link_set *s, struct phx__link *l, int *empty)
{
    int err = l->control.count > 0 ? link_commit_control(l) : 0;
    size_t room;

    *empty = 0;
    if (err != 0 || l->state != PHX__LINK_UP || l->out.bytes >= l->ahead)
        return err;
    room = l->ahead - l->out.bytes;
    *empty = s->pull(s->ctx, l, room) < room;
    /* Pulling data makes acks: they leave with it, or every answer would be two writes. */
    return l->control.count > 0 ? link_commit_control(l) : 0;
}

/* What the stream takes of what waits: how many bytes, 0 if nothing waits, or why none. One that takes
 * less than it is given is full, and need not be asked again to say so. */
static long link_send(struct phx__link_set *s, struct phx__link *l)
{
    struct iovec iov[LINK_IOV];
    int i, err, count = 1;
    size_t given = 0;
    long n;

    if (l->tls == NULL) {
        count = phx__buf_slices_iov(&l->out, iov, LINK_IOV);
    } else if ((err = phx__tls_seal(l->tls, &l->out, iov)) != 0) {
        l->why = err == PHX_ETLS ? phx__tls_why(l->tls) : NULL;
        return err;
    }
    if (count == 0 || iov[0].iov_len == 0)
        return 0;
    for (i = 0; i < count; i++)
        given += iov[i].iov_len;
    s->os_calls++;
    n = s->os->send(s->os->world, l->handle, iov, count);
    l->full = n == PHX_EAGAIN || (n > 0 && (size_t)n < given);
    if (l->tls == NULL)
        phx__buf_slices_take(&l->out, n > 0 ? (size_t)n : 0);
    else if ((err = phx__tls_sent(l->tls, iov, n > 0 ? (size_t)n : 0)) != 0)
        return err;
    return n;
}

/* All is written: the block is used again. One that was made for a table or a large card is not kept, or each
 * of a hub's idle links would hold a whole table. */
static void link_spare(struct phx__link *l)
{
    l->tail->used = 0;
    if (l->tail->capacity <= LINK_TAIL)
        return;
    phx__buf_block_drop(l->tail);
    l->tail = NULL;
}

/* The stream took n bytes, and left what is in out. How much is it offered the next time? */
static void link_offer(struct phx__link *l, size_t n)
{
    if (l->out.bytes == 0 && n >= l->ahead && l->ahead < LINK_AHEAD_MOST)
        l->ahead *= 2;
    else if (l->out.bytes > 0 && l->ahead > LINK_AHEAD)
        l->ahead /= 2;
}

int phx__link_write(struct phx__link_set *s, struct phx__link *l, size_t limit)
{
    size_t written = 0;
    long n = 1;
    int empty = 0;

    l->full = l->dry = 0;
    while (written < limit) {
        /* After a write that took all there was it is known that nothing is left. */
        int dry = n > 0 && empty && l->out.bytes == 0 && l->tls == NULL;
        int err = dry ? 0 : link_refill(s, l, &empty);
        if (err != 0)
            return err;
        n = dry ? 0 : link_send(s, l);
        if (n == 0) {
            l->dry = 1;
            if (l->out.bytes == 0 && l->tail != NULL && l->tail->refs == 1)
                link_spare(l);
            return 0;
        }
        link_offer(l, n > 0 ? (size_t)n : 0);
        if (n == PHX_EAGAIN)
            return 0;
        if (n < 0)
            return (int)n;
        written += (size_t)n;
        l->bytes_out += (size_t)n;
        s->bytes_out += (size_t)n;
        if (l->full)
            return 0;
    }
    return 0; /* there may be more: next step */
}

/* ---- The hello ------------------------------------------------------------------------------- */

/* How many keys count here, and each of them. Without a key there is still one: the empty one. */
static uint32_t link_keys(const struct phx__link_set *s)
{
    return s->key_count > 0 ? s->key_count : 1;
}

/* HMAC with one of our keys over the label, the cluster, the hello, this much of the answer, and `last`. */
static void link_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
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

static void link_answer_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                            uint8_t out[PHX__MAC])
{
    link_mac(s, l, key, "answer", l->hello->answer_size - 2 * PHX__MAC, NULL, 0, out);
}

static void link_proof_mac(const struct phx__link_set *s, const struct phx__link *l, uint32_t key,
                           const uint8_t *body, size_t size, uint8_t out[PHX__MAC])
{
    link_mac(s, l, key, "proof", l->hello->answer_size, body, size - PHX__MAC, out);
}

/* The key that both macs of an ANSWER were looked through for: the first of ours that fits, or
 * PHX__NONE. All are computed, so that the time tells nothing. */
static uint32_t link_common_key(const struct phx__link_set *s, const struct phx__link *l,
                                const struct phx__answer *a)
{
    uint32_t key, common = PHX__NONE;
    uint8_t mac[PHX__MAC];

    for (key = link_keys(s); key-- > 0;) {
        link_answer_mac(s, l, key, mac);
        if (phx__sha_equal(mac, a->mac) | phx__sha_equal(mac, a->mac_other))
            common = key;
    }
    return common;
}

static int link_proof_is_good(const struct phx__link_set *s, const struct phx__link *l,
                              const struct phx__frame *f, const uint8_t mac[PHX__MAC])
{
    uint32_t key;
    uint8_t ours[PHX__MAC];
    int good = 0;

    for (key = 0; key < link_keys(s); key++) {
        link_proof_mac(s, l, key, f->body, f->size, ours);
        good |= phx__sha_equal(ours, mac);
    }
    return good;
}

void phx__link_rekey(struct phx__link_set *s)
{
    uint32_t key;

    for (key = 0; key < link_keys(s); key++)
        phx__sha_hmac_init(&s->begun[key], s->key_count > 0 ? s->keys[key].data : NULL,
                       s->key_count > 0 ? s->keys[key].size : 0);
}

void phx__link_cluster(struct phx__link_set *s, const char *cluster)
{
    struct phx__sha h;
    uint8_t full[32];

    phx__sha_init(&h);
    phx__sha_add(&h, cluster, strlen(cluster));
    phx__sha_end(&h, full);
    memcpy(s->cluster_tag, full, sizeof s->cluster_tag);
    s->cluster = cluster;
}

static int link_keep(uint8_t *to, size_t capacity, size_t *size, const uint8_t *from, size_t n)
{
    if (n > capacity)
        return PHX_EPROTO;
    memcpy(to, from, n);
    *size = n;
    return 0;
}

static int link_say_hello(struct phx__link_set *s, struct phx__link *l)
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
    if ((err = s->random(s->ctx, h.nonce, sizeof h.nonce)) != 0
        || (err = phx__link_control(s, l, sizeof l->hello->hello, &w)) != 0)
        return err;
    phx__wire_put_hello(&w, &h);
    err = link_keep(l->hello->hello, sizeof l->hello->hello, &l->hello->hello_size,
                    w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER);
    l->state = PHX__LINK_HELLO;
    return err ? err : phx__link_control_end(s, l, &w);
}

/* The macs of an ANSWER that ends here. */
static void link_put_macs(uint8_t *end, const struct phx__answer *a)
{
    memcpy(end - 2 * PHX__MAC, a->mac, PHX__MAC);
    memcpy(end - PHX__MAC, a->mac_other, PHX__MAC);
}

static int link_say_answer(struct phx__link_set *s, struct phx__link *l)
{
    struct phx__answer a;
    struct phx__writer w;
    int err;

    memset(&a, 0, sizeof a);
    a.version = PHX__WIRE_VERSION;
    a.id = *s->self;
    a.incarnation = s->incarnation;
    s->introduce(s->ctx, l, &l->said);
    a.seq = l->said.seq;
    a.card_version = l->said.card_version;
    a.have = l->said.have;
    a.observed = l->address;
    if ((err = s->random(s->ctx, a.nonce, sizeof a.nonce)) != 0
        || (err = s->random(s->ctx, a.mac_other, sizeof a.mac_other)) != 0
        || (err = phx__link_control(s, l, sizeof l->hello->answer, &w)) != 0)
        return err;
    phx__wire_put_answer(&w, &a);
    err = link_keep(l->hello->answer, sizeof l->hello->answer, &l->hello->answer_size,
                    w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER);
    if (err != 0)
        return err;
    link_answer_mac(s, l, 0, a.mac);
    if (link_keys(s) > 1)
        link_answer_mac(s, l, 1, a.mac_other);
    link_put_macs(w.data + w.size, &a);
    link_put_macs(l->hello->answer + l->hello->answer_size, &a);
    l->state = PHX__LINK_PROOF;
    return phx__link_control_end(s, l, &w);
}

static int link_say_proof(struct phx__link_set *s, struct phx__link *l, uint32_t key)
{
    struct phx__proof p;
    struct phx__writer w;
    int err;

    memset(&p, 0, sizeof p);
    s->introduce(s->ctx, l, &l->said);
    p.seq = l->said.seq;
    p.card_version = l->said.card_version;
    p.have = l->said.have;
    p.observed = l->address;
    if ((err = phx__link_control(s, l, 256, &w)) != 0)
        return err;
    phx__wire_put_proof(&w, &p);
    link_proof_mac(s, l, key, w.data + PHX__WIRE_HEADER, w.size - PHX__WIRE_HEADER, p.mac);
    memcpy(w.data + w.size - PHX__MAC, p.mac, PHX__MAC);
    return phx__link_control_end(s, l, &w);
}

static int link_now_up(struct phx__link_set *s, struct phx__link *l)
{
    phx__mem_put(s->mem, l->hello, sizeof *l->hello);
    l->hello = NULL;
    l->state = PHX__LINK_UP;
    l->since = s->now;
    phx__timer_stop(s->timers, l->timer);
    return s->up(s->ctx, l);
}

/* Acceptor: who is it? */
static int link_on_hello(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__hello h;
    int err = phx__wire_get_hello(f, &h);

    if (err != 0)
        return err;
    if (h.version_min > PHX__WIRE_VERSION || h.version_max < PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if (memcmp(s->cluster_tag, h.cluster, sizeof h.cluster) != 0)
        return PHX_ECLUSTER;
    l->id = h.id;
    l->incarnation = h.incarnation;
    if ((err = link_keep(l->hello->hello, sizeof l->hello->hello, &l->hello->hello_size, f->body,
                         f->size)))
        return err;
    l->state = PHX__LINK_PARKED;
    err = phx__link_resume(s, l);
    return err == PHX_EAGAIN ? 0 : err;
}

int phx__link_resume(struct phx__link_set *s, struct phx__link *l)
{
    int err = s->judge(s->ctx, l);

    return err != 0 ? err : link_say_answer(s, l);
}

/* Dialer: it has the key, as it shows; now we. */
static int link_on_answer(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__answer a;
    uint32_t key;
    int err = phx__wire_get_answer(f, &a);

    if (err != 0)
        return err;
    if (a.version != PHX__WIRE_VERSION)
        return PHX_EVERSION;
    if ((err = link_keep(l->hello->answer, sizeof l->hello->answer, &l->hello->answer_size, f->body,
                         f->size)))
        return err;
    key = link_common_key(s, l, &a);
    if (key == PHX__NONE)
        return PHX_EKEY;
    l->id = a.id;
    l->incarnation = a.incarnation;
    l->version = a.version;
    l->observed = a.observed;
    l->heard.seq = a.seq;
    l->heard.card_version = a.card_version;
    l->heard.have = a.have;
    if ((err = s->judge(s->ctx, l)) != 0 || (err = link_say_proof(s, l, key)) != 0)
        return err;
    return link_now_up(s, l);
}

static int link_on_proof(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__proof p;
    int err = phx__wire_get_proof(f, &p);

    if (err != 0)
        return err;
    if (!link_proof_is_good(s, l, f, p.mac))
        return PHX_EKEY;
    /* The world may have changed since the answer: another link with this node may be up by now. */
    if ((err = s->judge(s->ctx, l)) != 0 && err != PHX_EAGAIN)
        return err;
    l->version = PHX__WIRE_VERSION;
    l->observed = p.observed;
    l->heard.seq = p.seq;
    l->heard.card_version = p.card_version;
    l->heard.have = p.have;
    return link_now_up(s, l);
}

static int link_on_refuse(const struct phx__frame *f)
{
    int reason;
    int err = phx__wire_get_refuse(f, &reason);

    if (err == 0)
        err = reason < 0 ? reason : PHX_ERESET;
    return err;
}

/* DATA, ACK and CAST are free: they cost little each, and come as fast as an honest peer can send. */
static int link_is_charged(int type)
{
    return type < PHX__DATA || type == PHX__SUSPECT || type == PHX__PROBE
           || type == PHX__TRACE;
}

static void link_charge(const struct phx__link_set *s, struct phx__link *l, size_t size)
{
    uint64_t units = 1 + size / LINK_UNIT_BYTES;

    l->paid_at = (l->paid_at > s->now ? l->paid_at : s->now) + units * LINK_UNIT_US;
}

static int link_on_frame(struct phx__link_set *s, struct phx__link *l, const struct phx__frame *f,
                         const uint8_t *raw, size_t raw_size)
{
    if (f->type == PHX__REFUSE) {
        l->refused = 1;
        return link_on_refuse(f);
    }
    if (l->state == PHX__LINK_UP) {
        if (f->type < PHX__UPDATE)
            return PHX_EPROTO;
        if (link_is_charged(f->type))
            link_charge(s, l, raw_size);
        return s->frame(s->ctx, l, f, raw, raw_size);
    }
    if (l->state == PHX__LINK_HELLO && !l->dialer && f->type == PHX__HELLO)
        return link_on_hello(s, l, f);
    if (l->state == PHX__LINK_HELLO && l->dialer && f->type == PHX__ANSWER)
        return link_on_answer(s, l, f);
    if (l->state == PHX__LINK_PROOF && f->type == PHX__PROOF)
        return link_on_proof(s, l, f);
    return PHX_EPROTO;
}

/* ---- Reading --------------------------------------------------------------------------------- */

void phx__link_count_in(struct phx__link_set *s, struct phx__link *l, size_t n)
{
    l->bytes_in += n;
    s->bytes_in += n;
}

int phx__link_stash(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size)
{
    if (size == 0 && l->stash == NULL)
        return 0;
    if (size == 0) {
        phx__mem_put(s->mem, l->stash, l->stash_capacity);
        l->stash = NULL;
        l->stash_capacity = 0;
    } else if (size > l->stash_capacity) {
        uint8_t *grown = phx__mem_get(s->mem, size);
        if (grown == NULL)
            return PHX_ENOMEM;
        phx__mem_put(s->mem, l->stash, l->stash_capacity);
        l->stash = grown;
        l->stash_capacity = size;
    }
    if (size > 0)
        memcpy(l->stash, p, size);
    l->stash_size = size;
    return 0;
}

/* A handshake of TLS begins with these two bytes; worth a word, since it is an easy mistake. */
static int link_nonsense(struct phx__link *l, const uint8_t *p, size_t size)
{
    if (l->state == PHX__LINK_HELLO && l->tls == NULL && size > 1 && p[0] == 0x16 && p[1] == 3)
        l->why = "it speaks TLS, which is not spoken here";
    return PHX_EPROTO;
}

int phx__link_frames(struct phx__link_set *s, struct phx__link *l, const uint8_t *p, size_t size)
{
    while (size > 0) {
        struct phx__frame f;
        size_t used;
        int got = phx__wire_parse(p, size, &f, &used);
        if (got < 0 || (link_stranger(l) && used > LINK_STRANGER))
            return link_nonsense(l, p, size);
        if (got == 0) {
            if (used >= LINK_STRIDE_LEAST)
                l->stride = (uint32_t)used;
            if (phx__link_place(s, l, p, size, used))
                return l->state == PHX__LINK_CLOSED ? 0 : phx__link_stash(s, l, p, 0);
            break;
        }
        s->frames_in++;
        got = link_on_frame(s, l, &f, p, used);
        if (got != 0 || l->state == PHX__LINK_CLOSED)
            return got;
        p += used;
        size -= used;
    }
    return phx__link_stash(s, l, p, size);
}

static int link_begin_tls(struct phx__link_set *s, struct phx__link *l)
{
    uint8_t seed[PHX__TLS_SEED];
    int err = s->random(s->ctx, seed, sizeof seed);

    return err != 0 ? err : phx__tls_open(s->tls, l->dialer, seed, &l->tls);
}

/* As phx__link_read: `kept` bytes of a frame stand in the scratch. An accepted link gets its engine with
 * the first byte, so that a crowd that says nothing costs little. */
static int link_read_tls(struct phx__link_set *s, struct phx__link *l, size_t kept)
{
    size_t room, most = s->scratch_size - kept - PHX__TLS_HELD;
    uint8_t *buffer = phx__tls_buffer(s->tls, &room);
    long n;
    int err;

    if (room > most)
        room = most;
    if (link_stranger(l) && room > LINK_TLS_READ)
        room = LINK_TLS_READ;
    s->os_calls++;
    n = s->os->recv(s->os->world, l->handle, buffer, room);
    l->more = n > 0 && (size_t)n == room;
    if (n == PHX_EAGAIN)
        return 0;
    if (n <= 0)
        return n == 0 ? PHX_ERESET : (int)n;
    phx__link_count_in(s, l, (size_t)n);
    if (link_stranger(l) && l->bytes_in > LINK_TLS_STRANGER)
        return PHX_EPROTO;
    if (l->tls == NULL && (err = link_begin_tls(s, l)) != 0)
        return err;
    n = phx__tls_feed(l->tls, (size_t)n, s->scratch + kept);
    if (n == PHX_ETLS)
        l->why = phx__tls_why(l->tls);
    if (n < 0)
        return (int)n;
    if (link_stranger(l))
        s->wants(s->ctx, l); /* the handshake's next words, or what waited for its end */
    return phx__link_frames(s, l, s->scratch, kept + (size_t)n);
}

static void link_rest(struct phx__link_set *s, struct phx__link *l)
{
    l->resting = 1;
    l->more = 0;
    if (l->paid_at > s->now + LINK_OWED_US + LINK_REST_US) /* one read may have brought a lot */
        l->paid_at = s->now + LINK_OWED_US + LINK_REST_US;
    phx__timer_set(s->timers, l->timer, l->paid_at - LINK_OWED_US);
}

int phx__link_rested(struct phx__link *l)
{
    int was = l->resting;

    l->resting = 0;
    return was;
}

/* What goes on to another link may leave from where it was read: its block is held, and the scratch is
 * another one from the next read on. There must be one before: no read may fail for lack of memory. */
struct phx__block *phx__link_lend(struct phx__link_set *s, const uint8_t *raw)
{
    if (s->scratch_size > LINK_LEND_MOST || (uintptr_t)raw < (uintptr_t)s->scratch
        || (uintptr_t)raw >= (uintptr_t)s->scratch + s->scratch_size)
        return NULL;
    if (s->spare == NULL && phx__mem_has_room_for_mail(s->mem, s->scratch_size))
        s->spare = phx__buf_block_new(s->mem, s->scratch_size);
    return s->spare != NULL ? s->block : NULL;
}

static void link_renew_scratch(struct phx__link_set *s)
{
    if (s->block->refs == 1)
        return;
    phx__buf_block_drop(s->block);
    s->block = s->spare;
    s->spare = NULL;
    s->scratch = s->block->data;
}

/* Bytes to ask for, behind those that were kept. */
static size_t link_room(const struct phx__link_set *s, const struct phx__link *l)
{
    size_t most = l->stride == 0 ? s->scratch_size : s->scratch_size / l->stride * l->stride;

    return (most > l->stash_size ? most : s->scratch_size) - l->stash_size;
}

int phx__link_read(struct phx__link_set *s, struct phx__link *l)
{
    size_t kept = l->stash_size;
    size_t room = link_room(s, l);
    int placed, done;
    long n;

    /* A parked peer has nothing to say before it is answered; what it says is read then. */
    if (l->state == PHX__LINK_PARKED || l->resting)
        return 0;
    if (l->paid_at > s->now + LINK_OWED_US && l->state == PHX__LINK_UP) {
        link_rest(s, l);
        return 0;
    }
    link_renew_scratch(s);
    done = phx__link_place_read_on(s, l, &placed);
    if (placed)
        return done;
    if (kept > 0)
        memcpy(s->scratch, l->stash, kept);
    if (l->secure)
        return link_read_tls(s, l, kept);
    if (link_stranger(l) && room > LINK_STRANGER)
        room = LINK_STRANGER;
    s->os_calls++;
    n = s->os->recv(s->os->world, l->handle, s->scratch + kept, room);
    l->more = n > 0 && (size_t)n == room;
    if (n == PHX_EAGAIN)
        return 0;
    if (n <= 0)
        return n == 0 ? PHX_ERESET : (int)n;
    phx__link_count_in(s, l, (size_t)n);
    return phx__link_frames(s, l, s->scratch, kept + (size_t)n);
}

/* ---- Life ------------------------------------------------------------------------------------ */

int phx__link_open(struct phx__link_set *s, struct phx__link *l, int handle,
                   enum phx__link_state state, uint64_t patience_us)
{
    int err;

    l->hello = phx__mem_zero(s->mem, sizeof *l->hello);
    if (l->hello == NULL)
        return PHX_ENOMEM;
    err = phx__timer_new(s->timers, PHX__TIMER_LINK, l->slot, &l->timer);
    if (err != 0) {
        phx__mem_put(s->mem, l->hello, sizeof *l->hello);
        l->hello = NULL;
        return err;
    }
    phx__timer_set(s->timers, l->timer, s->now + patience_us);
    phx__buf_slices_init(&l->out, s->mem);
    phx__buf_slices_init(&l->control, s->mem);
    l->handle = handle;
    l->ahead = LINK_AHEAD;
    l->guess = PHX__PLACE_HEADS;
    l->from = PHX__NONE;
    l->state = state;
    l->peer = l->expect = l->attempt = PHX__NONE;
    l->since = s->now;
    return 0;
}

int phx__link_connected(struct phx__link_set *s, struct phx__link *l)
{
    int err = l->secure ? link_begin_tls(s, l) : 0;

    return err != 0 ? err : link_say_hello(s, l);
}

/* One try: a peer that does not read is not waited for. */
static void link_tell_reason(struct phx__link_set *s, struct phx__link *l, int reason)
{
    struct phx__writer w;

    if (l->state == PHX__LINK_DIALING || l->out.bytes > 0 || (l->secure && l->tls == NULL)
        || phx__link_control(s, l, 64, &w) != 0)
        return;
    phx__wire_put_refuse(&w, reason);
    if (phx__link_control_end(s, l, &w) == 0 && link_commit_control(l) == 0)
        (void)link_send(s, l);
}

void phx__link_close(struct phx__link_set *s, struct phx__link *l, int reason, int tell)
{
    if (l->state == PHX__LINK_FREE || l->state == PHX__LINK_CLOSED)
        return;
    if (tell)
        link_tell_reason(s, l, reason);
    l->state = PHX__LINK_CLOSED;
    l->reason = reason;
    s->os_calls++;
    s->os->close(s->os->world, l->handle);
    phx__timer_drop(s->timers, l->timer);
    phx__mem_put(s->mem, l->hello, sizeof *l->hello);
    l->hello = NULL;
    phx__tls_free(l->tls);
    l->tls = NULL;
    phx__buf_slices_free(&l->out);
    phx__buf_slices_free(&l->control);
    phx__buf_block_drop(l->tail);
    l->tail = NULL;
    phx__wire_place_drop(&l->place);
    phx__mem_put(s->mem, l->stash, l->stash_capacity);
    phx__mem_put(s->mem, l->card, l->card_capacity);
    l->stash = l->card = NULL;
    l->stash_size = l->stash_capacity = 0;
    l->card_total = l->card_capacity = 0;
}
