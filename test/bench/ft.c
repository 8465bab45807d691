/* ft.c - kills a rank of ft_mpi.c and prints how long it takes until all know it and have recovered. */

/* usage: ft FTMPIRUN PROGRAM MODE SURVIVORS
 *
 * One job: the last rank is killed when all sleep. Prints milliseconds: from kill -9 until the last
 * survivor had MPI_ERR_OTHER; from the first call of MPI_Comm_dup until its last return; and from fork to
 * main() of the program alone. A figure that could not be had is "-". */
#define _POSIX_C_SOURCE 200809L
#include "../../extras/ftmpi/demo/play.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 30.0

/* Whether all processes sleep in a system call, as the kernel sees it. */
static int all_sleep(const struct play *p, int ranks)
{
    char name[64], text[512], *state;
    int i, asleep = 0;
    size_t n;
    FILE *f;

    for (i = 0; i < ranks; i++) {
        snprintf(name, sizeof name, "/proc/%ld/stat", p->pid[i][0]);
        f = fopen(name, "r");
        if (f == NULL)
            return 0;
        n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[n] = '\0';
        state = strrchr(text, ')');
        asleep += state != NULL && strncmp(state, ") S", 3) == 0;
    }
    return asleep == ranks;
}

/* Until all are seen asleep ten times in a row, a millisecond apart. */
static int await_sleep(const struct play *p, int ranks, double limit)
{
    int times = 0;

    while (times < 10 && play_now() < limit) {
        times = all_sleep(p, ranks) ? times + 1 : 0;
        poll(NULL, 0, 1);
    }
    return times == 10;
}

struct figures {
    int told, recovered;
    double killed, first_told, last_told, last_recovered;
};

static void hear(struct figures *f, const struct play_event *e)
{
    if (strcmp(e->word, "noticed") == 0) {
        f->last_told = e->at > f->last_told ? e->at : f->last_told;
        f->first_told = f->told++ == 0 || e->at < f->first_told ? e->at : f->first_told;
    } else if (strcmp(e->word, "recovered") == 0) {
        f->last_recovered = e->at > f->last_recovered ? e->at : f->last_recovered;
        f->recovered++;
    }
}

static void kill_last(char **argv, int survivors, struct figures *f)
{
    char ranks[16];
    char *words[] = {argv[1], "-n", ranks, "--ft", argv[3], argv[2], "sleep", NULL};
    double limit = play_now() + LIMIT;
    static struct play p;
    struct play_event e;
    int asleep = 0;

    snprintf(ranks, sizeof ranks, "%d", survivors + 1);
    if (play_start(&p, words) != 0)
        return;
    while (play_next(&p, &e, limit) == 1) {
        hear(f, &e);
        asleep += strcmp(e.word, "asleep") == 0;
        if (asleep == survivors + 1 && f->killed <= 0 && await_sleep(&p, survivors + 1, limit))
            f->killed = play_signal(&p, survivors, SIGKILL);
    }
    play_end(&p, limit);
    if (p.status != 0)
        fprintf(stderr, "%s: status %d: %s", argv[3], p.status, p.said);
    if (p.status != 0)
        f->recovered = 0;
}

static double until_main(char *program)
{
    char *words[] = {program, "main", NULL};
    double limit = play_now() + LIMIT, at = 0;
    static struct play p;
    struct play_event e;

    if (play_start(&p, words) != 0)
        return 0;
    while (play_next(&p, &e, limit) == 1)
        at = e.at;
    play_end(&p, limit);
    return at - p.began;
}

static void figure(int is, double seconds)
{
    if (is)
        printf("%.3f\t", seconds * 1e3);
    else
        printf("-\t");
}

int main(int argc, char **argv)
{
    int survivors = argc == 5 ? (int)strtol(argv[4], NULL, 10) : 0;
    struct figures f;
    double start;

    if (survivors < 1 || survivors >= PLAY_RANKS) {
        fprintf(stderr, "usage: ft FTMPIRUN PROGRAM MODE SURVIVORS\n");
        return 2;
    }
    memset(&f, 0, sizeof f);
    kill_last(argv, survivors, &f);
    start = until_main(argv[2]);
    figure(f.told == survivors, f.last_told - f.killed);
    figure(f.recovered == survivors, f.last_recovered - f.first_told);
    figure(start > 0, start);
    printf("\n");
    return 0;
}
