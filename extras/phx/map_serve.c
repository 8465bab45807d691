/* map_serve.c - the page of phx map over HTTP: GET only, this machine only unless told otherwise. */

/* Nothing that comes in is believed but the path of a GET. What is shown are ids, labels, states and links:
 * no address and no key. */
#define _POSIX_C_SOURCE 200809L
#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVE_CLIENTS 16
#define SERVE_REQUEST 4096
#define SERVE_PATIENCE_US 10000000u /* for a whole request and its answer */

struct serve_client {
    int fd; /* -1: none */
    uint64_t since;
    char request[SERVE_REQUEST];
    size_t got, size, sent;
    char *answer; /* NULL: the request is not complete */
};

struct serve {
    int listener;
    struct serve_client clients[SERVE_CLIENTS];
};

/* ---- Events ---------------------------------------------------------------------------------- */

void map_on_node(phx *p, const struct phx_node *n, void *user)
{
    struct map *m = ((struct tool *)user)->state;
    struct map_event *e = &m->events[m->events_count++ % MAP_EVENTS];

    (void)p;
    e->at = phx_now_us();
    (void)tool_node_text(n, e->label);
    e->state = n->state;
    e->reason = n->reason;
}

void map_events_json(const struct map *m, uint64_t now, FILE *to)
{
    unsigned i, n = m->events_count < MAP_EVENTS ? m->events_count : MAP_EVENTS;

    for (i = 0; i < n; i++) {
        const struct map_event *e = &m->events[(m->events_count - 1 - i) % MAP_EVENTS];

        (void)fprintf(to, "%s{\"ago_ms\":%llu,\"label\":", i > 0 ? "," : "",
                      (unsigned long long)(e->at < now ? (now - e->at) / 1000 : 0));
        tool_json_string(to, e->label);
        (void)fprintf(to, ",\"state\":\"%s\",\"reason\":\"%s\"}", tool_state_text(e->state),
                      e->reason != 0 ? phx_strerror(e->reason) : "");
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void serve_close(struct serve_client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    free(c->answer);
    memset(c, 0, sizeof *c);
    c->fd = -1;
}

static const char *serve_kind(struct tool *t, struct map *m, const char *path, FILE *to, const char **status)
{
    *status = "200 OK";
    if (strcmp(path, "/") == 0 || strcmp(path, "/map.json") == 0) {
        if (map_look(t, m) != 0) {
            *status = "503 Service Unavailable";
            return "text/plain";
        }
        if (path[1] == 0) {
            map_page(t, m, to);
            return "text/html; charset=utf-8";
        }
        map_json(t, m, to);
        return "application/json";
    }
    *status = "404 Not Found";
    (void)fputs("There is / and /map.json.\n", to);
    return "text/plain";
}

/* The whole answer in memory. */
static char *serve_build(struct tool *t, struct map *m, const char *method, const char *path, size_t *size)
{
    const char *status = "405 Method Not Allowed", *kind = "text/plain";
    char *body = NULL, *all = NULL;
    size_t body_size = 0;
    FILE *to = open_memstream(&body, &body_size);

    if (to == NULL)
        return NULL;
    if (strcmp(method, "GET") == 0)
        kind = serve_kind(t, m, path, to, &status);
    if (fclose(to) == 0 && (to = open_memstream(&all, size)) != NULL) {
        (void)fprintf(to,
                      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n",
                      status, kind, body_size);
        (void)fwrite(body, 1, body_size, to);
        if (fclose(to) != 0) {
            free(all);
            all = NULL;
        }
    }
    free(body);
    return all;
}

static void serve_read(struct tool *t, struct map *m, struct serve_client *c)
{
    char method[8], path[64];
    ssize_t n = recv(c->fd, c->request + c->got, sizeof c->request - 1 - c->got, 0);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            serve_close(c);
        return;
    }
    c->got += (size_t)n;
    c->request[c->got] = 0;
    if (strstr(c->request, "\r\n\r\n") == NULL && strstr(c->request, "\n\n") == NULL) {
        if (c->got == sizeof c->request - 1)
            serve_close(c); /* a request of ours is short */
        return;
    }
    if (sscanf(c->request, "%7s %63[^ ?\r\n]", method, path) != 2
        || (c->answer = serve_build(t, m, method, path, &c->size)) == NULL)
        serve_close(c);
}

static void serve_write(struct serve_client *c)
{
    ssize_t n = send(c->fd, c->answer + c->sent, c->size - c->sent, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        serve_close(c);
    else if (n > 0 && (c->sent += (size_t)n) == c->size)
        serve_close(c);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static int serve_listen(struct tool *t, struct serve *s)
{
    const char *colon = strrchr(t->serve, ':'), *port = colon != NULL ? colon + 1 : t->serve;
    struct addrinfo hints, *a = NULL;
    char host[128] = "127.0.0.1";
    int one = 1, err;

    if (colon != NULL)
        (void)snprintf(host, sizeof host, "%.*s", (int)(colon - t->serve), t->serve);
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if ((err = getaddrinfo(host, port, &hints, &a)) != 0)
        return tool_say(TOOL_USAGE, "--serve %s: %s", t->serve, gai_strerror(err));
    s->listener = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    if (s->listener < 0 || setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0
        || bind(s->listener, a->ai_addr, a->ai_addrlen) != 0 || listen(s->listener, 16) != 0
        || fcntl(s->listener, F_SETFL, O_NONBLOCK) != 0 || fcntl(s->listener, F_SETFD, FD_CLOEXEC) != 0)
        err = tool_say(TOOL_USAGE, "--serve %s: %s", t->serve, strerror(errno));
    freeaddrinfo(a);
    return err;
}

static void serve_say(const struct serve *s)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    char host[64], port[16];

    if (getsockname(s->listener, (struct sockaddr *)&at, &size) == 0
        && getnameinfo((struct sockaddr *)&at, size, host, sizeof host, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV)
               == 0)
        (void)printf(strchr(host, ':') != NULL ? "http://[%s]:%s/\n" : "http://%s:%s/\n", host, port);
    (void)fflush(stdout);
}

static void serve_accept(struct serve *s)
{
    int i, fd = accept(s->listener, NULL, NULL);

    if (fd < 0)
        return;
    for (i = 0; i < SERVE_CLIENTS && s->clients[i].fd >= 0; i++)
        ;
    if (i == SERVE_CLIENTS || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        (void)close(fd);
        return;
    }
    s->clients[i].fd = fd;
    s->clients[i].since = phx_now_us();
}

static void serve_turn(struct tool *t, struct map *m, struct serve *s)
{
    struct pollfd own[SERVE_CLIENTS + 1];
    uint64_t now;
    int i;

    for (i = 0; i < SERVE_CLIENTS; i++)
        own[i] = (struct pollfd){ s->clients[i].fd, s->clients[i].answer != NULL ? POLLOUT : POLLIN, 0 };
    own[SERVE_CLIENTS] = (struct pollfd){ s->listener, POLLIN, 0 };
    tool_turn(t, 1000, own, SERVE_CLIENTS + 1);
    now = phx_now_us();
    for (i = 0; i < SERVE_CLIENTS; i++) {
        struct serve_client *c = &s->clients[i];

        if (c->fd >= 0 && own[i].revents != 0 && c->answer == NULL)
            serve_read(t, m, c);
        else if (c->fd >= 0 && own[i].revents != 0)
            serve_write(c);
        if (c->fd >= 0 && now > c->since + SERVE_PATIENCE_US)
            serve_close(c);
    }
    if (own[SERVE_CLIENTS].revents != 0)
        serve_accept(s);
}

int map_serve(struct tool *t, struct map *m)
{
    static struct serve s;
    int i, err;

    for (i = 0; i < SERVE_CLIENTS; i++)
        s.clients[i].fd = -1;
    if ((err = serve_listen(t, &s)) == 0) {
        serve_say(&s);
        while (!t->stop)
            serve_turn(t, m, &s);
    }
    for (i = 0; i < SERVE_CLIENTS; i++)
        serve_close(&s.clients[i]);
    if (s.listener >= 0)
        (void)close(s.listener);
    return err;
}
