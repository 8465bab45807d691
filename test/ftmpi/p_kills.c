/* p_kills.c - kills ranks of a solver at random moments, in all modes in turn: for kills.sh. */

/* usage: p_kills FTMPIRUN CG RUNS SEED [ONLY]
 *
 * Each run is drawn from its own seed, which is printed if it was bad: ranks, mode, one to three victims
 * and for each the announcement upon which it is killed, some microseconds later, after SIGSTOP for a while
 * or at once. With ONLY just the run of that number. Afterwards: in mode ABORT the status of the killed
 * rank; else every survivor must end with the bits of a run in which nobody died, the launcher with status
 * 0, and in both cases nothing may be left (promises 77-80, 85). Prints "# ..." and, at last, "RUNS KILLS
 * BAD". */
#define _POSIX_C_SOURCE 200809L
#include "../../extras/ftmpi/demo/play.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 30.0 /* seconds for a run */
#define GONE 1.0   /* for the end of all in mode ABORT */
#define VICTIMS 3

static const char *const modes[] = {"rebuild", "shrink", "abort", "blank", "rebuild-end", "rebuild,cont",
                                    "shrink,cont", "blank,cont,strict", "rebuild,nop,strict"};
static const char *const words[] = {"iteration", "iteration", "iteration", "noticed", "recovering",
                                    "recovered", "restored", "starting", "initialized", "done"};

struct victim {
    int rank, stops, hit;
    const char *word;
    long number;
    int delay_us;
};

struct drawn {
    const char *mode;
    int ranks, count;
    struct victim victim[VICTIMS];
};

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* The first one dies while all is well, the others perhaps while it is made good. */
static void draw_run(struct drawn *d, unsigned number, unsigned seed)
{
    unsigned s = seed * 2654435761u + number * 40503u;
    int i;

    memset(d, 0, sizeof *d);
    draw(&s, 2);
    d->mode = modes[number % (sizeof modes / sizeof *modes)];
    d->ranks = 3 + (int)draw(&s, 4);
    d->count = 1 + (int)draw(&s, VICTIMS);
    if (d->count > d->ranks - 1)
        d->count = d->ranks - 1;
    for (i = 0; i < d->count; i++) {
        struct victim *v = &d->victim[i];
        v->rank = (int)draw(&s, (unsigned)d->ranks);
        v->word = i == 0 ? "iteration" : words[draw(&s, sizeof words / sizeof *words)];
        v->number = strcmp(v->word, "iteration") == 0 ? (long)draw(&s, 480) : 0;
        v->delay_us = draw(&s, 2) ? (int)draw(&s, 3000) : 0;
        v->stops = draw(&s, 5) == 0;
    }
}

static void spin(int us)
{
    double until = play_now() + us / 1e6;

    while (play_now() < until)
        continue;
}

/* At most one rank per original seat dies if nobody comes back, so that somebody is left. */
static int maybe_kill(struct play *p, struct drawn *d, int at, const struct play_event *e)
{
    struct victim *v = &d->victim[at];

    if (v->hit || strcmp(v->word, e->word) != 0 || e->number < v->number || (at > 0 && !d->victim[0].hit))
        return 0;
    if (strcmp(v->word, "starting") == 0 || strcmp(v->word, "initialized") == 0)
        v->rank = e->rank; /* the one that was started again */
    v->hit = 1;
    spin(v->delay_us);
    if (v->stops) {
        play_signal(p, v->rank, SIGSTOP);
        spin(2000);
    }
    return play_signal(p, v->rank, SIGKILL) > 0;
}

static int run(struct play *p, char **argv, struct drawn *d)
{
    double limit = play_now() + LIMIT, last = 0;
    char ranks[16], *words_of[16];
    struct play_event e;
    int i, kills = 0;

    snprintf(ranks, sizeof ranks, "%d", d->ranks);
    words_of[0] = argv[1];
    words_of[1] = "-n";
    words_of[2] = ranks;
    words_of[3] = "--ft";
    words_of[4] = (char *)(size_t)d->mode;
    words_of[5] = argv[2];
    words_of[6] = "-e";
    words_of[7] = "-n";
    words_of[8] = "120";
    words_of[9] = NULL;
    if (play_start(p, words_of) != 0) {
        perror(argv[1]);
        exit(2);
    }
    while (play_next(p, &e, limit) == 1)
        for (i = 0; i < d->count; i++)
            if (maybe_kill(p, d, i, &e)) {
                last = play_now();
                kills++;
            }
    play_end(p, limit);
    if (strcmp(d->mode, "abort") == 0 && kills > 0 && p->ended - last > GONE)
        printf("# gone only %.3f s after the kill\n", p->ended - last);
    return kills;
}

/* Every line "= ..." that a survivor said has these bits, and there is one. */
static int are_right(const struct play *p, const char *bits)
{
    const char *line = p->said;
    int count = 0;

    for (; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        if (line[0] == '=') {
            const char *at = strstr(line, "bits ");
            if (at == NULL || strncmp(at + 5, bits, 8) != 0)
                return 0;
            count++;
        }
    }
    return count > 0;
}

static int is_good(const struct play *p, const struct drawn *d, int kills, const char *bits)
{
    if (strcmp(d->mode, "abort") == 0 && kills > 0)
        return p->status == 128 + SIGKILL || (p->status == 0 && are_right(p, bits));
    return p->status == 0 && are_right(p, bits);
}

static void tell(const struct play *p, const struct drawn *d, int number, int left)
{
    const char *line = p->said;
    int i, size;

    printf("# run %d was bad: -n %d --ft %s: status %d, %d left\n", number, d->ranks, d->mode, p->status,
           left);
    for (i = 0; i < d->count; i++)
        printf("#   rank %d at %s %ld, %d us later%s: %s\n", d->victim[i].rank, d->victim[i].word,
               d->victim[i].number, d->victim[i].delay_us, d->victim[i].stops ? ", stopped before" : "",
               d->victim[i].hit ? "killed" : "never came");
    for (; *line != '\0'; line += size + 1) {
        size = (int)strcspn(line, "\n");
        printf("#   said: %.*s\n", size, line);
    }
}

int main(int argc, char **argv)
{
    static struct play p;
    struct drawn d;
    char bits[9] = "";
    int i, runs, only, kills, left, all = 0, bad = 0;
    unsigned seed;

    if (argc < 5) {
        fprintf(stderr, "usage: p_kills FTMPIRUN CG RUNS SEED [ONLY]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    runs = (int)strtol(argv[3], NULL, 10);
    seed = (unsigned)strtoul(argv[4], NULL, 10);
    only = argc > 5 ? (int)strtol(argv[5], NULL, 10) : -1;
    memset(&d, 0, sizeof d);
    d.mode = modes[0];
    d.ranks = 4;
    run(&p, argv, &d);
    if (play_said(&p, "= ") == NULL || strstr(p.said, "bits ") == NULL) {
        tell(&p, &d, -1, 0);
        return 1;
    }
    snprintf(bits, sizeof bits, "%.8s", strstr(p.said, "bits ") + 5);
    for (i = only >= 0 ? only : 0; i < (only >= 0 ? only + 1 : runs); i++) {
        draw_run(&d, (unsigned)i, seed);
        all += kills = run(&p, argv, &d);
        left = play_left(&p);
        if (!is_good(&p, &d, kills, bits) || left > 0) {
            bad++;
            tell(&p, &d, i, left);
        }
    }
    printf("%d %d %d\n", runs, all, bad);
    return bad > 0;
}
