/* liar.c - a member that speaks raw frames: see liar.h. */
#include "liar.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define LIAR_AGAIN 20000u /* us from a link that was closed to the next dial */
#define LIAR_PART 60000u  /* bytes of a card in one frame */

/* ---- Bytes ---------------------------------------------------------------------------------- */

static unsigned char *room(struct liar *l, size_t size)
{
    unsigned char *grown = l->out;

    if (l->out_size + size > l->out_capacity) {
        size_t capacity = 2 * (l->out_size + size);
        grown = realloc(l->out, capacity);
        if (!grown) {
            world_fail(l->w, "the simulator is out of memory");
            return NULL;
        }
        l->out = grown;
        l->out_capacity = capacity;
    }
    l->out_size += size;
    return l->out + l->out_size - size;
}

void liar_put(struct liar *l, uint64_t value, int bytes)
{
    unsigned char *p = room(l, (size_t)bytes);

    for (; p && bytes > 0; bytes--, value >>= 8)
        *p++ = (unsigned char)value;
}

void liar_bytes(struct liar *l, const void *data, size_t size)
{
    unsigned char *p = room(l, size);

    if (p)
        memcpy(p, data, size);
}

void liar_head(struct liar *l, int type, int flags, int hops)
{
    l->frame = l->out_size;
    liar_put(l, 0, 4);
    liar_put(l, (uint64_t)type, 1);
    liar_put(l, (uint64_t)flags, 1);
    liar_put(l, (uint64_t)hops, 1);
    liar_put(l, 0, 1);
}

void liar_tail(struct liar *l)
{
    size_t i, size = l->out_size - l->frame - 4;

    for (i = 0; i < 4 && !l->w->failed; i++)
        l->out[l->frame + i] = (unsigned char)(size >> 8 * i);
}

void liar_update(struct liar *l)
{
    liar_head(l, LIAR_UPDATE, 0, 0);
    liar_put(l, 0, 2);
}

void liar_entry(struct liar *l, const struct phx_id *id, uint64_t incarnation, uint64_t seq, int hops,
                int flags, uint64_t version)
{
    liar_bytes(l, id->b, 16);
    liar_put(l, incarnation, 8);
    liar_put(l, seq, 4);
    liar_put(l, (uint64_t)hops, 1);
    liar_put(l, (uint64_t)flags, 1);
    liar_put(l, version, 4);
}

static void put_card(struct liar *l, int flags, uint32_t count, uint64_t first, uint64_t last, uint64_t epoch)
{
    uint32_t i;

    liar_put(l, (uint64_t)flags, 1);
    liar_put(l, 65536, 4);
    liar_put(l, 0, 2); /* no label, no address */
    liar_put(l, count, 4);
    for (i = 0; i < count; i++) {
        liar_put(l, first + 2 * (uint64_t)i, 8);
        liar_put(l, count == 1 ? last : first + 2 * (uint64_t)i, 8);
        liar_put(l, epoch, 8);
    }
}

/* The card is made where frames are, and then cut into parts that follow it there. */
void liar_card(struct liar *l, const struct phx_id *of, int flags, uint32_t count, uint64_t first,
               uint64_t last, uint64_t epoch)
{
    const struct phx_id *id = of ? of : &l->id;
    size_t begin = l->out_size, total, at, size;
    uint32_t version = of ? 1 : ++l->version, seq = of ? 1 : ++l->seq;
    unsigned char *card;

    put_card(l, flags, count, first, last, epoch);
    total = l->out_size - begin;
    card = malloc(total);
    if (!card || l->w->failed) {
        world_fail(l->w, "the simulator is out of memory");
        free(card);
        return;
    }
    memcpy(card, l->out + begin, total);
    l->out_size = begin;
    for (at = 0; at < total; at += size) {
        size = total - at < LIAR_PART ? total - at : LIAR_PART;
        liar_head(l, LIAR_CARD, 0, 0);
        liar_bytes(l, id->b, 16);
        liar_put(l, 0, 8);
        liar_put(l, version, 4);
        liar_put(l, total, 4);
        liar_put(l, at, 4);
        liar_bytes(l, card + at, size);
        liar_tail(l);
    }
    free(card);
    liar_update(l);
    liar_entry(l, id, 0, seq, of ? 1 : 0, 2, version);
    liar_tail(l);
}

/* ---- The handshake -------------------------------------------------------------------------- */

static void hello(struct liar *l)
{
    static const unsigned char nonce[16] = { 7 };
    unsigned char cluster[32];

    check_sha("phoenix", 7, cluster);
    liar_head(l, LIAR_HELLO, 0, 0);
    liar_put(l, 0x31584850, 4);
    liar_put(l, 1, 2); /* versions: the frames here are of the newest */
    liar_put(l, 99, 2);
    liar_bytes(l, cluster, 8);
    liar_put(l, 0, 4);
    liar_bytes(l, l->id.b, 16);
    liar_put(l, 0, 8);
    liar_bytes(l, nonce, 16);
    liar_tail(l);
    memcpy(l->hello, l->out + l->frame + 8, sizeof l->hello);
}

/* To the ANSWER, which is size bytes at l->in. Cards are announced as they come. */
static void proof(struct liar *l, size_t size)
{
    static const char label[] = "PHX1 proof\0phoenix";
    unsigned char said[sizeof label + 60 + sizeof l->in + 13], mac[32];
    size_t n = sizeof label;

    l->seq++;
    liar_head(l, LIAR_PROOF, 0, 0);
    liar_put(l, l->seq, 4);
    liar_put(l, l->version ? l->version : 1, 4);
    liar_put(l, 0, 4); /* have */
    liar_put(l, 0, 1); /* observed: none */
    memcpy(said, label, n);
    memcpy(said + n, l->hello, 60);
    memcpy(said + n + 60, l->in + 8, size - 8);
    memcpy(said + n + 60 + size - 8, l->out + l->frame + 8, 13);
    check_hmac(said, n + 60 + size - 8 + 13, mac);
    liar_bytes(l, mac, 32);
    liar_tail(l);
    liar_head(l, LIAR_BEAT, 0, 0); /* "heard again within an hour" */
    liar_put(l, 3600000, 4);
    liar_put(l, 0, 24);
    liar_tail(l);
}

/* ---- The process ---------------------------------------------------------------------------- */

static void hang_up(struct liar *l, uint64_t now)
{
    const struct phx_os *os = &l->w->hosts[l->host].os;

    l->closed += l->state == LIAR_UP;
    os->close(os->world, l->handle);
    l->handle = -1;
    l->state = LIAR_AWAY;
    l->dial_at = l->over ? WORLD_NEVER : now + LIAR_AGAIN;
    l->out_size = l->out_sent = l->got = 0;
}

static void dial(struct liar *l)
{
    const struct phx_os *os = &l->w->hosts[l->host].os;
    struct phx_address a;

    world_address(l->w, l->victim, l->port, &a);
    if (os->dial(os->world, &a, &l->handle) != 0) {
        l->handle = -1;
        l->dial_at = l->w->now + LIAR_AGAIN;
        return;
    }
    l->state = LIAR_DIALS;
    (void)os->watch(os->world, l->handle, PHX_READ | PHX_WRITE);
}

/* What is read while the link is up is dropped. 0, or -1: the link is over. */
static int take(struct liar *l)
{
    static unsigned char scrap[65536];
    const struct phx_os *os = &l->w->hosts[l->host].os;
    size_t size;
    long n;

    do {
        if (l->state == LIAR_UP && l->deaf)
            return 0;
        if (l->state == LIAR_UP)
            n = os->recv(os->world, l->handle, scrap, sizeof scrap);
        else
            n = os->recv(os->world, l->handle, l->in + l->got, sizeof l->in - l->got);
        if (n > 0 && l->state != LIAR_UP)
            l->got += (size_t)n;
        size = l->got < 8 ? 0 : 4 + (size_t)l->in[0] + (size_t)l->in[1] * 256;
        if (size > sizeof l->in || (l->got >= 8 && l->in[4] != LIAR_ANSWER))
            return -1;
        if (l->state == LIAR_ASKS && size > 0 && l->got >= size) {
            proof(l, size);
            l->state = LIAR_UP;
            l->say_at = l->w->now;
        }
    } while (n > 0);
    return n == PHX_EAGAIN ? 0 : -1;
}

static int send_out(struct liar *l)
{
    const struct phx_os *os = &l->w->hosts[l->host].os;
    struct iovec iov;
    long n;

    while (l->out_sent < l->out_size) {
        iov.iov_base = l->out + l->out_sent;
        iov.iov_len = l->out_size - l->out_sent;
        n = os->send(os->world, l->handle, &iov, 1);
        if (n == PHX_EAGAIN)
            break;
        if (n <= 0)
            return -1;
        l->out_sent += (size_t)n;
    }
    if (l->out_sent == l->out_size)
        l->out_size = l->out_sent = 0;
    (void)os->watch(os->world, l->handle, (l->out_size ? PHX_WRITE : 0)
                                              | (l->state == LIAR_UP && l->deaf ? 0 : PHX_READ));
    return 0;
}

static int may_say(const struct liar *l)
{
    return l->state == LIAR_UP && l->out_size == 0 && l->say;
}

static int liar_step(void *state, uint64_t now)
{
    struct liar *l = state;
    const struct phx_os *os = &l->w->hosts[l->host].os;
    int err;

    if (l->handle < 0) {
        if (now >= l->dial_at)
            dial(l);
        return 0;
    }
    if (l->state == LIAR_DIALS) {
        err = os->finish(os->world, l->handle);
        if (err == PHX_EAGAIN)
            return 0;
        if (err == 0)
            hello(l);
        l->state = err == 0 ? LIAR_ASKS : l->state;
    }
    if (l->state == LIAR_DIALS || take(l) < 0 || send_out(l) < 0) {
        hang_up(l, now);
        return 0;
    }
    if (may_say(l) && now >= l->say_at) {
        l->say(l);
        l->turns++;
        if (send_out(l) < 0)
            hang_up(l, now);
    }
    return 0;
}

static uint64_t liar_deadline(void *state)
{
    const struct liar *l = state;

    if (l->handle < 0)
        return l->dial_at;
    return may_say(l) ? l->say_at : WORLD_NEVER;
}

void liar_start(struct liar *l, struct world *w, uint32_t host, uint32_t victim, uint16_t port,
                void (*say)(struct liar *l))
{
    struct world_app app = { l, liar_step, liar_deadline, NULL };

    if (w->failed)
        return;
    w->has_liar = 1;
    memset(l->id.b, 0xc0 + (int)(host % 64), sizeof l->id.b);
    l->w = w;
    l->host = host;
    l->victim = victim;
    l->port = port;
    l->say = say;
    l->handle = -1;
    world_begin(w, host);
    world_attach(w, host, &app);
}

void liar_stop(struct liar *l)
{
    if (l->w)
        world_crash(l->w, l->host);
    free(l->out);
    memset(l, 0, sizeof *l);
}
