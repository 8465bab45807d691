/* raw.h - a peer that speaks the protocol by hand, for what no honest node would say. */

/* It is written from src/WIRE.md alone; only SHA-256 and HMAC are the library's: include phoenix.c
 * or src/base/sha.h before. There is one such peer at a time, r, and one place, b, where what it says
 * next is put together. Besides it there are two honest nodes, n[0] and n[1], that must be able to
 * exchange messages all the time; the peer links with n[0]. */
#ifndef RAW_H
#define RAW_H

#include "nodes.h"
#include "spec.h"

#include <netinet/in.h>

/* Bytes to send, in the words of WIRE.md. */
struct bytes {
    unsigned char at[140000];
    size_t size, frame; /* frame: where the last one begins */
};

static struct bytes b;

static inline void put(uint64_t value, int bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        b.at[b.size++] = (unsigned char)value;
}

static inline void put_bytes(const void *data, size_t size)
{
    memcpy(b.at + b.size, data, size);
    b.size += size;
}

static inline void put_fill(int byte, size_t size)
{
    memset(b.at + b.size, byte, size);
    b.size += size;
}

static inline void head(int type, int flags, int hop_count)
{
    b.frame = b.size;
    put(0, 4);
    put((uint64_t)type, 1);
    put((uint64_t)flags, 1);
    put((uint64_t)hop_count, 1);
    put(0, 1);
}

/* Sets the size of the frame to what has been put into it. */
static inline void tail(void)
{
    size_t i, size = b.size - b.frame - 4;

    for (i = 0; i < 4; i++)
        b.at[b.frame + i] = (unsigned char)(size >> 8 * i);
}

static struct node n[8];

struct raw {
    int fd, closed;
    unsigned char in[70000];
    size_t got;
    struct phx_id id;
    unsigned char hello[60], answer[232];
    size_t answer_size;
};

static struct raw r;

/* The last byte of the loopback address that the peer comes from; 0: any. What a node logs about peers it
 * says once a minute for each address. */
static int raw_from;

static inline int raw_socket(const struct node *to)
{
    struct sockaddr_in at;
    struct phx_address a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    phx_listening(to->p, 0, &a);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (unsigned)raw_from);
    if (raw_from != 0 && bind(fd, (struct sockaddr *)&at, sizeof at) != 0)
        return -1;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons(a.port);
    memcpy(&at.sin_addr, a.ip, 4);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        return -1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static inline void raw_begin(const struct node *to)
{
    static unsigned char next;

    memset(&r, 0, sizeof r);
    r.fd = raw_socket(to);
    memset(r.id.b, ++next, sizeof r.id.b);
    b.size = 0;
    check(r.fd >= 0, "a raw connection");
}

static inline void raw_finish(void)
{
    close(r.fd);
    r.fd = -1;
}

/* Reads what is there. */
static inline void raw_read(void)
{
    ssize_t got;

    while (r.got < sizeof r.in && (got = recv(r.fd, r.in + r.got, sizeof r.in - r.got, 0)) != -1) {
        if (got == 0) {
            r.closed = 1;
            return;
        }
        r.got += (size_t)got;
    }
    if (r.got == sizeof r.in)
        r.got = 0; /* nobody looks at so much */
    else if (errno == ECONNRESET)
        r.closed = 1;
}

/* Sends b, all of it or until the other side has closed. */
static inline void raw_send(void)
{
    size_t sent = 0;
    uint64_t until = phx_now_us() + PATIENCE;

    while (sent < b.size && !r.closed && phx_now_us() < until) {
        ssize_t some = send(r.fd, b.at + sent, b.size - sent, MSG_NOSIGNAL);
        if (some > 0)
            sent += (size_t)some;
        else if (errno != EAGAIN)
            r.closed = 1;
        if (sent < b.size) {
            turn(1);
            raw_read();
        }
    }
    b.size = 0;
}

static inline int raw_is_closed(void)
{
    raw_read();
    return r.closed;
}

/* A frame of this type at the front of what has come: its whole size, or 0. */
static inline size_t raw_front(int type)
{
    size_t size;

    raw_read();
    size = r.got < 8 ? 0 : 4 + (size_t)r.in[0] + (size_t)r.in[1] * 256;
    return size > 0 && r.got >= size && r.in[4] == type ? size : 0;
}

static inline int raw_refused(void)
{
    return raw_front(SPEC_REFUSE) > 0 ? -(r.in[8] + r.in[9] * 256) : 0;
}

static inline void raw_hello(const char *cluster, int low, int high)
{
    struct phx__sha h;
    unsigned char hash[32];

    phx__sha_init(&h);
    phx__sha_add(&h, cluster, strlen(cluster));
    phx__sha_end(&h, hash);
    head(SPEC_HELLO, 0, 0);
    put(0x31584850, 4);
    put((uint64_t)low, 2);
    put((uint64_t)high, 2);
    put_bytes(hash, 8);
    put(0, 4);
    put_bytes(&r.id, 16);
    put(0, 8);
    put_fill(0x77, 16);
    tail();
    memcpy(r.hello, b.at + b.frame + 8, 60);
}

/* Takes the ANSWER off the front and puts a PROOF. */
static inline void raw_proof(const char *cluster, const char *key, int spoil)
{
    struct phx__hmac h;
    unsigned char mac[32];
    size_t size = raw_front(SPEC_ANSWER), start = b.size + 8;

    if (!check(size > 8 && size < 240, "an ANSWER has come"))
        return;
    r.answer_size = size - 8;
    memcpy(r.answer, r.in + 8, r.answer_size);
    memmove(r.in, r.in + size, r.got - size);
    r.got -= size;
    head(SPEC_PROOF, 0, 0);
    put(1, 4); /* seq */
    put(1, 4); /* card_version */
    put(0, 4); /* have */
    put(0, 1); /* observed: none */
    phx__sha_key_init(&h, key, strlen(key));
    phx__sha_add(&h.inner, "PHX1 proof", 11);
    phx__sha_add(&h.inner, cluster, strlen(cluster) + 1);
    phx__sha_add(&h.inner, r.hello, 60);
    phx__sha_add(&h.inner, r.answer, r.answer_size);
    phx__sha_add(&h.inner, b.at + start, b.size - start);
    phx__sha_hmac_end(&h, mac);
    mac[5] ^= (unsigned char)spoil;
    put_bytes(mac, 32);
    tail();
}

static inline int raw_is_linked(const struct node *victim)
{
    struct phx_link links[64];
    size_t i, count = phx_links(victim->p, links, 64);

    for (i = 0; i < count && i < 64; i++)
        if (links[i].up && same_id(&links[i].peer, &r.id))
            return 1;
    return 0;
}

/* Up to a link that is up; the victim has no key. */
static inline int raw_link(const struct node *victim)
{
    raw_begin(victim);
    raw_hello("phoenix", 2, 2);
    raw_send();
    await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
    raw_proof("phoenix", "", 0);
    raw_send();
    await(raw_is_linked(victim), PATIENCE);
    return check(raw_is_linked(victim), "the raw peer is linked");
}

static inline void raw_garbage(void)
{
    uint32_t seed = 12345;
    int i;

    for (i = 0; i < 5000; i++) {
        seed = seed * 1664525u + 1013904223u;
        put(seed >> 24, 1);
    }
}

/* ---- Two honest nodes ------------------------------------------------------------------------ */

static inline void begin_pair(const struct phx_config *more)
{
    struct phx_config c;

    settings(&n[0], &c);
    c.dial_timeout_us = more->dial_timeout_us;
    c.mem_limit = more->mem_limit;
    c.max_nodes = more->max_nodes;
    begin_as(&n[0], &c, LOOPBACK);
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    await(owns(&n[0], 2, &n[1]) && owns(&n[1], 1, &n[0]), PATIENCE);
}

static inline struct phx_config usual(void)
{
    struct phx_config c;

    phx_config_init(&c);
    c.dial_timeout_us = 300 * MS;
    c.mem_limit = 8u << 20;
    c.max_nodes = 2000;
    return c;
}

/* Whole messages that one honest node has from the other. */
static inline int mail_between(const struct node *to, const struct node *from)
{
    int i, count = 0;

    for (i = 0; i < to->mail_count; i++)
        count += to->mail[i].good && same_id(&to->mail[i].source, &from->id);
    return count;
}

/* Messages still go both ways, over the same link as ever. */
static inline int honest(void)
{
    int first = mail_between(&n[0], &n[1]) + 1, second = mail_between(&n[1], &n[0]) + 1;

    post(&n[0], 2, 0, 1000);
    post(&n[1], 1, 0, 1000);
    await(mail_between(&n[0], &n[1]) == first && mail_between(&n[1], &n[0]) == second, PATIENCE);
    return mail_between(&n[0], &n[1]) == first && mail_between(&n[1], &n[0]) == second
           && linked(&n[0], &n[1]) && stats(&n[1]).links_lost == 0;
}

#endif
