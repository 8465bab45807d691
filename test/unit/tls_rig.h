/* tls_rig.h - nodes that link over TLS by the cluster's key, and a proxy that keeps what passes. */
#ifndef TEST_TLS_RIG_H
#define TEST_TLS_RIG_H
#include "raw.h"

#define KEY "0123456789abcdef0123456789ABCDEF"
#define OTHER "another key, also of many bytes."

#if defined(PHX_TLS) && defined(PHX_JOINED)

static void settings_key(struct node *x, struct phx_config *c, const char *key)
{
    settings(x, c);
    hurry(c);
    c->key = key;
    c->key_size = key == NULL ? 0 : strlen(key);
}

static void begin_key(struct node *x, const char *address, const char *key)
{
    struct phx_config c;

    settings_key(x, &c, key);
    begin_as(x, &c, address);
}

#define TLS_LOOPBACK "tls://127.0.0.1:0"

static int open_links(const struct node *x)
{
    return (int)stats(x).links;
}

/* ---- What passes */

static unsigned char passed[2][400000];
static size_t passed_size[2];
static int proxy_fd = -1, proxy_ends[2];

static void proxy_begin(char *at, size_t size)
{
    struct sockaddr_in a;
    socklen_t length = sizeof a;

    memset(&a, 0, sizeof a);
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(proxy_fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(proxy_fd, 5) != 0
        || getsockname(proxy_fd, (struct sockaddr *)&a, &length) != 0)
        exit(1);
    fcntl(proxy_fd, F_SETFL, O_NONBLOCK);
    snprintf(at, size, "tls://127.0.0.1:%d", ntohs(a.sin_port));
    proxy_ends[0] = proxy_ends[1] = -1;
    passed_size[0] = passed_size[1] = 0;
}

/* Both ends, once there is somebody to pass on: takes a connection and makes the other. */
static int proxy_has_ends(const struct node *to)
{
    if (proxy_ends[0] < 0) {
        proxy_ends[0] = accept(proxy_fd, NULL, NULL);
        if (proxy_ends[0] < 0)
            return 0;
        fcntl(proxy_ends[0], F_SETFL, O_NONBLOCK);
        proxy_ends[1] = raw_socket(to);
    }
    return 1;
}

/* Carries bytes, and keeps them. */
static void proxy_go(const struct node *to)
{
    int i;

    if (!proxy_has_ends(to))
        return;
    for (i = 0; i < 2; i++) {
        unsigned char *p = passed[i] + passed_size[i];
        ssize_t got = recv(proxy_ends[i], p, sizeof passed[i] - passed_size[i], 0), sent = 0;
        if (got == 0)
            shutdown(proxy_ends[1 - i], SHUT_WR);
        while (got > 0 && sent < got) {
            ssize_t some = send(proxy_ends[1 - i], p + sent, (size_t)(got - sent), MSG_NOSIGNAL);
            if (some > 0)
                sent += some;
            else if (errno != EAGAIN)
                break;
            else
                turn(1);
        }
        passed_size[i] += got > 0 ? (size_t)got : 0;
    }
}

static void proxy_end(void)
{
    close(proxy_fd);
    close(proxy_ends[0]);
    close(proxy_ends[1]);
}

static int contains(const unsigned char *p, size_t size, const void *what, size_t length)
{
    size_t i;

    for (i = 0; i + length <= size; i++)
        if (memcmp(p + i, what, length) == 0)
            return 1;
    return 0;
}

#endif
#endif
