/* glib.c - Phoenix in a GLib main loop: a source of its own, which knows descriptor and deadline.
 *
 *     cc -std=c99 -O2 -I. $(pkg-config --cflags glib-2.0) -o gl examples/loops/glib.c phoenix.c \
 *         $(pkg-config --libs glib-2.0)
 *     ./gl 1 2 & ./gl 2 1; wait
 *
 * GLib asks prepare before each sleep, so a send from anywhere in the program is never late.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#define HUB "tcp://127.0.0.1:7000"

struct phx_source {
    GSource source;
    phx *p;
    gpointer tag; /* of the descriptor */
};

static gboolean prepare(GSource *s, gint *ms)
{
    *ms = phx_timeout_ms(((struct phx_source *)(void *)s)->p, phx_now_us());
    return *ms == 0;
}

static gboolean check(GSource *s)
{
    struct phx_source *of = (struct phx_source *)(void *)s;

    return g_source_query_unix_fd(s, of->tag) != 0 || phx_timeout_ms(of->p, phx_now_us()) == 0;
}

static gboolean dispatch(GSource *s, GSourceFunc callback, gpointer user)
{
    phx_step(((struct phx_source *)(void *)s)->p, phx_now_us(), NULL, 0);
    return callback == NULL || callback(user);
}

static GSourceFuncs functions = { prepare, check, dispatch, NULL, NULL, NULL };

struct host {
    phx *p;
    GMainLoop *loop;
    uint64_t me, you;
    int greeted, sent;
};

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    printf("name %d got: %.*s\n", (int)m->to, (int)m->size, (const char *)m->data);
    ((struct host *)user)->greeted++;
}

/* After each step. */
static gboolean on_step(gpointer user)
{
    struct host *h = user;

    if (h->greeted >= 3 && h->sent >= 3 && phx_pending(h->p) == 0)
        g_main_loop_quit(h->loop);
    return G_SOURCE_CONTINUE;
}

static gboolean on_tick(gpointer user)
{
    struct host *h = user;

    h->sent += phx_send(h->p, h->you, h->me, 0, "hello", 5) == 0;
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    static struct host h;
    struct phx_source *s = (struct phx_source *)(void *)g_source_new(&functions, sizeof *s);
    struct phx_config cfg;
    int err;

    h.me = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    h.you = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.user = &h;
    if ((err = phx_new(&h.p, &cfg, phx_now_us())) == 0 && (err = phx_listen(h.p, HUB)) == PHX_EINUSE)
        err = phx_join(h.p, HUB);
    if (err != 0 || (err = phx_assume(h.p, h.me, h.me)) != 0) {
        fprintf(stderr, "gl: %s\n", phx_strerror(err));
        return 1;
    }
    h.loop = g_main_loop_new(NULL, FALSE);
    s->p = h.p;
    s->tag = g_source_add_unix_fd(&s->source, phx_fd(h.p), G_IO_IN); /* lives as long as the node */
    g_source_set_callback(&s->source, on_step, &h, NULL);
    g_source_attach(&s->source, NULL);
    g_timeout_add(300, on_tick, &h);
    g_main_loop_run(h.loop);
    g_source_destroy(&s->source);
    g_source_unref(&s->source);
    g_main_loop_unref(h.loop);
    phx_free(h.p);
    return 0;
}
