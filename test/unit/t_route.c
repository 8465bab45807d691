/* t_route.c - the rules of one routing brain, one script each; see t_route_mesh.c for many. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route.h"
#endif
#include "routes.h"

/* A script is words; a is the brain, all others are this file. Its own number is 2 at the start.
 *
 *      +b        b's link is up; hellos have said all     -b      it is lost
 *      b:c5/1    b tells of c: number 5, one hop; x: unreachable; i2 behind it: incarnation 2;
 *                v2: version 2 of its card comes along (1 if it says nothing), v0: none
 *      b?c7      b requests c at number 7                 b?c7h1  that may go one hop
 *      b~cd      b's beat, its neighbours are c and d     b~scd   with SHRUNK
 *      b%        a beat whose digest is another           b#c5/1,d2/x  b's summary; b#r...: a reply
 *      !         flush      90ms, 5s  time passes         @c      say the route to c
 *
 * What it says goes into a line of such words, in the order of neighbours; * marks a card. */
struct script {
    const char *name, *words, *said;
};

static struct world world;
static char said[4096];
static uint64_t others; /* terms that make a digest not ours */

static uint32_t letter(char c)
{
    return (uint32_t)(c - 'a');
}

static void say(const char *format, ...)
{
    size_t used = strlen(said);
    va_list args;

    va_start(args, format);
    vsnprintf(said + used, sizeof said - used, format, args);
    va_end(args);
}

static void say_hops(uint32_t seq, uint32_t hops)
{
    if (hops == PHX__UNREACHABLE)
        say("%u/x", (unsigned)seq);
    else
        say("%u/%u", (unsigned)seq, (unsigned)hops);
}

static void say_update(const struct note *n)
{
    uint32_t i, v, first = 1;

    for (v = 0; v < WORLD_MAX; v++)
        for (i = 0; i < n->count; i++) {
            const struct phx__entry *e = &n->items[i].e;
            if (e->id.b[0] != v)
                continue;
            say("%s%c", first ? "" : ",", (int)('a' + v));
            say_hops(e->seq, e->hops);
            if (e->incarnation != 1)
                say("i%u", (unsigned)e->incarnation);
            say("%s", e->card != NULL ? "*" : "");
            first = 0;
        }
}

static void say_note(uint32_t to, const struct note *n)
{
    say("%s%c", said[0] ? " " : "", (int)('a' + to));
    if (n->kind == NOTE_UPDATE) {
        say(":");
        say_update(n);
    } else if (n->kind == NOTE_REQUEST) {
        say("?%c%u", 'a' + n->request.id.b[0], (unsigned)n->request.seq);
        if (n->flags != WORLD_HOPS)
            say("h%d", n->flags);
    } else if (n->kind == NOTE_BEAT) {
        say("~%s%s", n->flags & (int)PHX__BEAT_SHRUNK ? "s" : "", n->flags & (int)PHX__BEAT_REPLY ? "r" : "");
    } else {
        say("#%s", n->flags ? "r" : "");
    }
}

static void say_all(struct world *w)
{
    struct note *n;
    uint32_t to;

    for (to = 0; to < w->count; to++)
        while ((n = queue_take(w, 0, to)) != NULL) {
            say_note(to, n);
            note_free(n);
        }
}

static void say_route(struct host *h, uint32_t v)
{
    const struct phx__dest *d = host_dest(h, v);

    say("%s%c=", said[0] ? " " : "", (int)('a' + v));
    if (d == NULL) {
        say("?");
        return;
    }
    if (d->next != PHX__NONE)
        say("%c", (int)('a' + host_rank(h, d->next)));
    say_hops(d->seq, d->hops);
    if (d->incarnation != 1)
        say("i%u", (unsigned)d->incarnation);
}

/* "c5/1", "c5/xi2v0": returns what is behind it. */
static const char *read_entry(const char *s, struct phx__entry *e, uint32_t *v)
{
    char *end;

    memset(e, 0, sizeof *e);
    *v = letter(*s++);
    host_id(&e->id, *v);
    e->seq = (uint32_t)strtoul(s, &end, 10);
    s = end + 1;
    if (*s == 'x') {
        e->hops = PHX__UNREACHABLE;
        s++;
    } else {
        e->hops = (uint8_t)strtoul(s, &end, 10);
        s = end;
    }
    e->incarnation = 1;
    e->card_version = 1;
    if (*s == 'i') {
        e->incarnation = strtoul(s + 1, &end, 10);
        s = end;
    }
    if (*s == 'v') {
        e->card_version = (uint32_t)strtoul(s + 1, &end, 10);
        s = end;
    }
    return s;
}

static void play_up(struct host *h, uint32_t nbr)
{
    const struct phx__dest *self = phx__route_dest(&h->route, PHX__SELF);
    struct world *w = h->w;
    struct phx__route_hello hello;
    struct phx__entry e;
    uint32_t v, node;
    char text[] = "?1/0";

    text[0] = (char)('a' + nbr);
    read_entry(text, &e, &v);
    phx__ids_add(&h->ids, &e.id, &node);
    w->link[0][nbr] = w->wire[0][nbr] = ++w->links;
    memset(&hello, 0, sizeof hello);
    hello.incarnation = hello.seq = hello.card = 1;
    hello.told_seq = self->seq;
    hello.told_card = self->card_version;
    phx__route_up(&h->route, node, &hello, w->now);
    e.card = (const uint8_t *)"card";
    e.card_size = 4;
    phx__route_entry(&h->route, node, &e, NULL, w->now);
}

static void play_beat(struct host *h, uint32_t nbr, const char *s, int other)
{
    struct phx__beat b;
    struct phx_id id;
    int shrunk = *s == 's';

    memset(&b, 0, sizeof b);
    host_id(&id, nbr);
    b.digest = h->route.digest ^ (other ? ++others : 0);
    b.around = other ? 0 : phx__id_hash(&id);
    for (s += shrunk; !other && *s; s++) {
        host_id(&id, letter(*s));
        b.around ^= phx__id_hash(&id);
    }
    phx__route_beat(&h->route, host_node(h, nbr), &b, shrunk, h->w->now);
}

static void play_summary(struct host *h, uint32_t node, const char *s)
{
    struct phx__summary_line line;
    struct phx__entry e;
    int reply = *s == 'r';
    uint32_t v;

    phx__route_summary_begin(&h->route);
    for (s += reply; *s; s += *s == ',') {
        s = read_entry(s, &e, &v);
        line.id = e.id;
        line.incarnation = e.incarnation;
        line.seq = e.seq;
        line.hops = e.hops;
        phx__route_summary_line(&h->route, node, &line);
    }
    phx__route_summary_end(&h->route, node, reply);
}

static void play_request(struct host *h, uint32_t node, const char *s)
{
    struct phx__request q;
    char *end;

    host_id(&q.id, letter(*s));
    q.incarnation = 1;
    q.seq = (uint32_t)strtoul(s + 1, &end, 10);
    phx__route_request(&h->route, node, &q, *end == 'h' ? atoi(end + 1) : WORLD_HOPS, h->w->now);
}

/* Time passes without a flush of its own: only what the timers do. */
static void play_wait(struct host *h, const char *s)
{
    char *end;
    uint64_t span = strtoul(s, &end, 10) * (*end == 'm' ? PHX__MS : PHX__SECOND), until = h->w->now + span;

    while (phx__timers_next(&h->timers) <= until) {
        h->w->now = phx__timers_next(&h->timers);
        host_due(h);
        say_all(h->w);
    }
    h->w->now = until;
}

static void play_from(struct host *h, const char *s)
{
    uint32_t nbr = letter(s[0]), node = host_node(h, nbr), v;
    struct phx__entry e;

    switch (s[1]) {
    case ':':
        read_entry(s + 2, &e, &v);
        e.card = e.card_version > 0 ? (const uint8_t *)"card" : NULL;
        e.card_size = 4;
        phx__route_entry(&h->route, node, &e, NULL, h->w->now);
        break;
    case '?': play_request(h, node, s + 2); break;
    case '~': play_beat(h, nbr, s + 2, 0); break;
    case '%': play_beat(h, nbr, "", 1); break;
    default: play_summary(h, node, s + 2);
    }
}

static void play(struct host *h, const char *s)
{
    if (*s == '+')
        play_up(h, letter(s[1]));
    else if (*s == '-')
        host_down(h, letter(s[1]));
    else if (*s == '!')
        host_flush(h);
    else if (*s == '@')
        say_route(h, letter(s[1]));
    else if (*s >= '0' && *s <= '9')
        play_wait(h, s);
    else
        play_from(h, s);
    say_all(h->w);
    world_look(h->w, 0);
}

static void run_script(const struct script *s)
{
    char words[1024], *word;
    struct world *w = &world;

    world_begin(w, 8, PHX_ROUTING_DEFAULT, 1);
    host_start(w, 0, 1);
    host_flush(&w->host[0]);
    said[0] = 0;
    snprintf(words, sizeof words, "%s", s->words);
    for (word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        play(&w->host[0], word);
    if (!ok(strcmp(said, s->said) == 0, "%s", s->name))
        printf("# script: %s\n# said:   %s\n# wanted: %s\n", s->words, said, s->said);
    check(world_free(w), "%s: freed", s->name);
}

static const struct script scripts[] = {
#include "t_route_scripts.inc"
};

int main(void)
{
    /* Goal: each rule of the essay in src/route.c, where it acts and where it must not.
     * Method: scripts; what the brain says is compared word for word. */
    uint32_t i;

    for (i = 0; i < PHX__COUNT(scripts); i++)
        run_script(&scripts[i]);
    return test_end();
}
