/* demo.c - a solver loses processes in each mode, and a farm all workers but one. demo.sh runs it. */

/* usage: demo FTMPIRUN FOLDER: the folder with cg and example4
 *
 * Each act is a job and a list of kills: "when a rank announces this, kill -9 that one". What is printed of
 * a kill is taken from what the ranks announced, each with its time: who was told by MPI_ERR_OTHER and
 * when, how long it took from the first call of MPI_Comm_dup to its last return, and at which iteration
 * they went on. */
#define _POSIX_C_SOURCE 200809L
#include "play.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACT_KILLS 8
#define ACT_LIMIT 20.0 /* seconds */
#define GONE 1.0       /* seconds after which nothing is left in mode ABORT */

/* When `rank` (-1: any) of a life of at least `life` announces `word` with at least `number`, `victim`
 * dies. */
struct kill {
    const char *word;
    int rank, life;
    long number;
    int victim;
};

struct act {
    const char *title, *mode, *ranks, *program;
    struct kill kills[ACT_KILLS];
};

/* What became of a kill. */
struct death {
    int victim, life, told, first, during; /* during: in the recovery of the one before */
    long pid, reached, again;              /* again: -1, as long as nobody has gone on */
    double at, soonest, latest, entered, recovered;
};

struct run {
    const struct act *act;
    struct play play;
    struct death death[ACT_KILLS];
    int deaths, recovering, lost, good;
    long reached;
    double gone; /* after the last kill */
};

static const struct act acts[] = {
    {"nobody dies", "rebuild", "8", "cg", {{0}}},
    {"ABORT: one dies, all end", "abort", "8", "cg", {{"iteration", -1, 0, 113, 4}}},
    {"REBUILD: one dies; later another one, and the process started for it as well", "rebuild", "8", "cg",
     {{"iteration", -1, 0, 113, 2}, {"iteration", -1, 0, 257, 5}, {"starting", 5, 1, 0, 5}}},
    {"REBUILD: the rank that holds the parity dies", "rebuild", "8", "cg", {{"iteration", -1, 0, 113, 7}}},
    {"BLANK: two die, the others take their rows over", "blank", "8", "cg",
     {{"iteration", -1, 0, 113, 3}, {"iteration", -1, 0, 257, 6}}},
    {"SHRINK: two die, the others take their rows over", "shrink", "8", "cg",
     {{"iteration", -1, 0, 113, 3}, {"iteration", -1, 0, 257, 0}}},
    {"master and workers: all workers but one die", "blank,cont", "8", "example4",
     {{"iteration", 1, 0, 3, 1}, {"iteration", 2, 0, 5, 2}, {"iteration", 3, 0, 7, 3},
      {"iteration", 4, 0, 9, 4}, {"iteration", 5, 0, 11, 5}, {"iteration", 6, 0, 13, 6}}},
};

/* ---- One act ------------------------------------------------------------------------------------------ */

static void kill_one(struct run *r, int victim, const struct play_event *e)
{
    struct death *d = &r->death[r->deaths];
    struct play *p = &r->play;

    memset(d, 0, sizeof *d);
    d->victim = victim;
    d->life = p->life[victim];
    d->pid = p->pid[victim][d->life];
    d->reached = e->number;
    d->again = d->first = -1;
    d->during = strcmp(e->word, "starting") == 0;
    d->at = play_signal(p, victim, SIGKILL);
    if (d->at > 0)
        r->deaths++;
}

/* A rank was told. In the farm it is the master, who says of whom; else it is the latest death. */
static void noticed(struct run *r, const struct play_event *e)
{
    struct death *d = NULL;
    int i;

    for (i = 0; i < r->deaths; i++)
        if (strcmp(r->act->program, "cg") == 0 ? !r->death[i].during : r->death[i].victim == e->number)
            d = &r->death[i];
    if (d == NULL)
        return;
    if (d->told++ == 0 || e->at - d->at < d->soonest) {
        d->first = e->rank;
        d->soonest = e->at - d->at;
    }
    if (e->at - d->at > d->latest)
        d->latest = e->at - d->at;
}

/* What ranks say of one recovery arrives in any order: the earliest beginning and the latest end count. */
static void progress(struct run *r, const struct play_event *e)
{
    struct death *d;
    int i;

    for (i = r->deaths - 1; i >= 0; i--) {
        d = &r->death[i];
        if (strcmp(e->word, "recovering") == 0 && !d->during && (d->entered <= 0 || e->at < d->entered))
            d->entered = e->at;
        else if (strcmp(e->word, "recovered") == 0)
            d->recovered = e->at;
        else if ((strcmp(e->word, "restored") == 0 || strcmp(e->word, "began") == 0) && d->again < 0)
            d->again = r->reached - e->number;
        if (!d->during)
            break;
    }
}

static void hear(struct run *r, const struct play_event *e)
{
    if (strcmp(e->word, "noticed") == 0)
        noticed(r, e);
    else if (strcmp(e->word, "iteration") == 0 && e->number > r->reached)
        r->reached = e->number;
    else if (r->deaths > 0)
        progress(r, e);
}

static int is_time(const struct kill *k, const struct play_event *e)
{
    return k->word != NULL && strcmp(k->word, e->word) == 0 && (k->rank < 0 || k->rank == e->rank)
        && e->life >= k->life && e->number >= k->number;
}

static void play(struct run *r, const char *launcher, const char *folder)
{
    char program[4096], *words[12];
    struct play_event e;
    double limit = play_now() + ACT_LIMIT, last = 0;
    int i, n = 0, done[ACT_KILLS] = {0};

    snprintf(program, sizeof program, "%s/%s", folder, r->act->program);
    words[n++] = (char *)(size_t)launcher;
    words[n++] = "-n";
    words[n++] = (char *)(size_t)r->act->ranks;
    words[n++] = "--ft";
    words[n++] = (char *)(size_t)r->act->mode;
    words[n++] = program;
    words[n++] = "-e";
    words[n] = NULL;
    if (play_start(&r->play, words) != 0) {
        perror(launcher);
        exit(1);
    }
    while (play_next(&r->play, &e, limit) == 1) {
        for (i = 0; i < ACT_KILLS; i++)
            if (!done[i] && is_time(&r->act->kills[i], &e)) {
                done[i] = 1;
                kill_one(r, r->act->kills[i].victim, &e);
            }
        hear(r, &e);
    }
    play_end(&r->play, limit);
    for (i = 0; i < r->deaths; i++)
        last = r->death[i].at > last ? r->death[i].at : last;
    r->gone = r->play.ended - last;
    r->lost = play_left(&r->play);
    for (i = 0; i < ACT_KILLS && r->act->kills[i].word != NULL; i++)
        if (!done[i])
            printf("  the moment to kill rank %d never came\n", r->act->kills[i].victim);
}

/* ---- What is printed ---------------------------------------------------------------------------------- */

static void tell_death(const struct run *r, const struct death *d)
{
    printf("  kill -9 of rank %d%s, process %ld, ", d->victim, d->life > 0 ? ", started again" : "", d->pid);
    if (d->during)
        printf("as it began: the recovery begins anew\n");
    else
        printf("in %s %ld\n", strcmp(r->act->program, "cg") == 0 ? "iteration" : "its task", d->reached);
    if (d->told > 0)
        printf("    told by MPI_ERR_OTHER: %d rank%s after %.2f to %.2f ms, rank %d first\n", d->told,
               d->told == 1 ? "" : "s", d->soonest * 1e3, d->latest * 1e3, d->first);
    if (d->recovered > 0 && !d->during)
        printf("    recovered in %.2f ms%s\n", (d->recovered - d->entered) * 1e3,
               d->again >= 0 ? "" : ", and nobody went on");
    if (d->again >= 0 && !d->during)
        printf("    %ld iterations are done again\n", d->again);
}

static void judge(struct run *r, int good, const char *what)
{
    printf("  %s %s\n", good ? "good:" : "BAD: ", what);
    if (!good)
        r->good = 0;
}

static void tell_end(struct run *r, const char *wanted)
{
    const char *end = play_said(&r->play, "= ");
    char line[256];

    r->good = 1;
    if (strcmp(r->act->mode, "abort") == 0) {
        snprintf(line, sizeof line, "status %d, all gone %.0f ms later", r->play.status, r->gone * 1e3);
        judge(r, r->deaths > 0 && r->play.status == 128 + SIGKILL && r->gone <= GONE, line);
    } else {
        if (end != NULL)
            snprintf(line, sizeof line, "%.*s", (int)strcspn(end, "\n"), end);
        else
            snprintf(line, sizeof line, "no end");
        judge(r, end != NULL && r->play.status == 0, line);
        if (end != NULL && strcmp(r->act->program, "cg") == 0)
            judge(r, wanted == NULL || strstr(line, wanted) != NULL,
                  wanted == NULL ? "these bits are wanted" : "the bits of the run in which nobody died");
        else if (end != NULL)
            judge(r, strstr(line, "right") != NULL, "the right number");
    }
    judge(r, r->lost == 0, "no process is left");
    if (!r->good)
        printf("%s", r->play.said);
}

static void table_row(const struct run *r)
{
    char killed[64] = "-", told[32] = "-", recovered[32] = "-";
    double latest = 0, took = 0;
    long again = 0;
    int i, n = 0;

    for (i = 0; i < r->deaths && n < (int)sizeof killed - 8; i++) {
        const struct death *d = &r->death[i];
        n += snprintf(killed + n, sizeof killed - (size_t)n, "%s%d", i > 0 ? " " : "", d->victim);
        latest = d->latest > latest ? d->latest : latest;
        if (!d->during && d->recovered > 0 && d->recovered - d->entered > took)
            took = d->recovered - d->entered;
        again += !d->during && d->again > 0 ? d->again : 0;
    }
    if (latest > 0)
        snprintf(told, sizeof told, "%.2f", latest * 1e3);
    if (took > 0)
        snprintf(recovered, sizeof recovered, "%.2f", took * 1e3);
    printf("| %-10s | %-8s | %-11s | %8s | %9s | %5ld | %s |\n", r->act->mode, r->act->program, killed, told,
           recovered, again, r->good ? strcmp(r->act->mode, "abort") == 0 ? "ended" : "right" : "WRONG");
}

static void table(const struct run *runs, int count)
{
    int i;

    printf("\n| mode       | program  | killed      | told, ms | again, ms | iters | end |\n");
    printf("| ---------- | -------- | ----------- | -------- | --------- | ----- | --- |\n");
    for (i = 0; i < count; i++)
        table_row(&runs[i]);
    printf("told: until the last survivor had MPI_ERR_OTHER. again: the longest recovery of the run, from\n"
           "the first call of MPI_Comm_dup to its last return. iters: iterations that were done again.\n");
}

int main(int argc, char **argv)
{
    enum { COUNT = sizeof acts / sizeof *acts };
    struct run *runs = calloc(COUNT, sizeof *runs);
    char bits[16] = "";
    int i, k, bad = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 3 || runs == NULL) {
        fprintf(stderr, "usage: demo FTMPIRUN FOLDER\n");
        return 2;
    }
    for (i = 0; i < COUNT; i++) {
        runs[i].act = &acts[i];
        printf("%d. %s: %s ranks, --ft %s\n", i + 1, acts[i].title, acts[i].ranks, acts[i].mode);
        play(&runs[i], argv[1], argv[2]);
        for (k = 0; k < runs[i].deaths; k++)
            tell_death(&runs[i], &runs[i].death[k]);
        tell_end(&runs[i], i == 0 ? NULL : bits);
        bad |= !runs[i].good;
        if (i == 0 && runs[0].good)
            snprintf(bits, sizeof bits, "%.13s", strstr(runs[0].play.said, "bits"));
    }
    table(runs, COUNT);
    free(runs);
    return bad;
}
