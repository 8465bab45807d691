/* sites.c - the demo: N queens over three sites behind gateways, while processes come, go and die.
 *
 *     cc -std=c99 -O2 -I. -o sites examples/sites.c examples/sites_child.c phoenix.c
 *     ./sites                         (or: ./sites N, for N from 8 to 17; -v shows the log)
 *
 * Eleven processes on this machine play three sites behind firewalls. Each site has a gateway (G1 to
 * G3) that listens; its other processes do not, and are told nothing but their own gateway's port.
 * The other gateways they find by themselves. No worker can ever be linked with another one or with
 * the coordinator: nobody listens there. Gateways carry it all.
 *
 *     C, the coordinator, holds name 0 and the tasks: boards whose first rows are filled.
 *     W1 to W7, the workers, hold two names each, 10k and 10k+1. A name is a *seat*: a seat asks
 *     name 0 for a task, works on it, and reports the count, which asks for the next.
 *
 * W5 comes late and gets work. W3 leaves midway: it hands its seats and the tasks on them, half
 * done, to W4, which assumes the names. Nobody else is told: messages to the names follow them. W6
 * and W7 are killed with kill -9 at their work: their names break, and C gives their tasks to others.
 *
 * (Meanwhile kill -9 a gateway: the work goes on, though the judge at the end will not like it.)
 *
 * The children are in sites_child.c. The driver, the parent of all, is no Phoenix node. It sends
 * commands down a pipe to each child, reads what they report from another, line by line (sites.h),
 * prints, and judges. The end of file on its pipe tells a child that the driver is dead, and it ends.
 */
#define _POSIX_C_SOURCE 200809L
#include "sites.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* The largest N up to 16 whose count takes two cores like this one less than 12 seconds. Measured
 * is time on the clock, long enough to feel what else the machine has to do. */
static int choose_n(void)
{
    uint64_t start = phx_now_us(), took;
    int i, right = 1;

    for (i = 0; i < 20; i++)
        right &= queens(columns_of(12), 0, 0, 0) == queens_known(12);
    took = (phx_now_us() - start) / 20;
    took = took * 1340 / 2; /* N = 16 visits 1340 times as many boards as N = 12 */
    return right && took < 12 * SECOND ? 16 : took < 80 * SECOND ? 15 : 14;
}

/* ---- The driver ---------------------------------------------------------------------------- */

static int is_victim(int i)
{
    return i == FIRST_VICTIM || i == SECOND_VICTIM;
}

/* Is not there any more at the end. */
static int is_gone(int i)
{
    return i == LEAVER || is_victim(i);
}

struct process {
    pid_t pid;           /* 0: not started, or ended and waited for */
    int to, from;        /* pipes; -1: closed */
    struct lines lines;
    char id[PHX_ID_TEXT];
    int port;            /* of a gateway */
    int started, reported, ended, status;
    int link[ACTORS];    /* 0: none, else a link */
    int hops[ACTORS], next[ACTORS];
    int saw_left;        /* saw the leaver leave */
    int saw_failed;      /* victims that it saw fail, a bit for each */
    int seated;          /* of a worker: the coordinator has heard from it */
    uint64_t tasks, relayed, in, out;
};

struct driver {
    struct process at[ACTORS];
    int n, verbose;
    int signals;         /* what the handler writes comes out here */
    uint64_t start, now;
    uint64_t total, done, sum, shown;
    uint64_t late_us, left_us, solved_us; /* when; 0: not yet */
    uint64_t killed_us[ACTORS];           /* of a victim */
    int taken;           /* seats that the heir took */
    int broken, redone;  /* names that broke at C, and tasks on them that are done again */
    int told_leave, told_all, told_report, told_stop;
    int interrupted, failed, tidying;
};

static int signal_pipe = -1; /* for the handler, which has no argument of its own */

static void on_signal(int number)
{
    int saved = errno;
    char byte = (char)number;

    if (write(signal_pipe, &byte, 1) < 0) /* full: then there is a signal in it already */
        errno = saved;
    errno = saved;
}

/* A line of the diary, with its time. */
static void diary(struct driver *d, const char *format, ...)
{
    va_list args;

    printf("%6.2f s  ", (double)(phx_now_us() - d->start) / 1e6);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static void tell(struct driver *d, int i, const char *format, ...)
{
    va_list args;

    if (d->at[i].to < 0)
        return;
    va_start(args, format);
    put_line(d->at[i].to, format, args);
    va_end(args);
}

/* In the new child: forget all that is the driver's, then live. Does not return. */
static void become(struct driver *d, int i, int in, int out)
{
    int k;

    signal(SIGINT, SIG_IGN); /* ^C goes to all of us; the driver decides */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_DFL); /* the driver is dead: die */
    close(d->signals);
    close(signal_pipe);
    for (k = 0; k < ACTORS; k++) {
        /* As long as we hold a sister's pipe she would not see that the driver died. */
        if (d->at[k].to >= 0)
            close(d->at[k].to);
        if (d->at[k].from >= 0)
            close(d->at[k].from);
    }
    exit(child_main(i, d->n, in, out, d->verbose));
}

static void start_process(struct driver *d, int i)
{
    struct process *a = &d->at[i];
    int down[2], up[2];

    fflush(stdout); /* what is in the buffer would be printed by the child again */
    if (pipe(down) != 0 || pipe(up) != 0 || (a->pid = fork()) < 0) {
        perror("sites: fork");
        a->pid = 0;
        d->failed = 1;
        return;
    }
    if (a->pid == 0) {
        close(down[1]);
        close(up[0]);
        become(d, i, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    a->to = down[1];
    a->from = up[0];
    a->started = 1;
    if (i != G1 && d->at[cast[i].gateway].port != 0)
        tell(d, i, "join %d", d->at[cast[i].gateway].port);
}

/* Who has this id; -1: nobody. */
static int actor_of(const struct driver *d, const char *id)
{
    int i;

    for (i = 0; i < ACTORS; i++)
        if (d->at[i].id[0] != 0 && strcmp(d->at[i].id, id) == 0)
            return i;
    return -1;
}

static void heard_port(struct driver *d, int gateway, int port)
{
    int i;

    d->at[gateway].port = port;
    diary(d, "%s (pid %ld) listens on port %d", cast[gateway].label, (long)d->at[gateway].pid,
          port);
    for (i = 0; i < ACTORS; i++)
        if (cast[i].gateway == gateway)
            tell(d, i, "join %d", port);
}

static void heard_done(struct driver *d, uint64_t done, uint64_t who)
{
    uint64_t tenth = done * 10 / (d->total ? d->total : 1);

    d->done = done;
    if (who < ACTORS)
        d->at[who].tasks++;
    if (tenth > d->shown) {
        d->shown = tenth;
        diary(d, "[%.*s%.*s] %3d %%  %" PRIu64 " of %" PRIu64 " tasks", (int)tenth, "##########",
              10 - (int)tenth, "..........", (int)tenth * 10, done, d->total);
    }
}

static void heard_seat(struct driver *d, uint64_t name)
{
    int i = W1 - 1 + (int)(name / 10);

    if (i < W1 || i > W7 || d->at[i].seated)
        return;
    d->at[i].seated = 1;
    if (i == LATE)
        diary(d, "%s asks %s for its first task", cast[i].label, cast[C].label);
}

static void heard_took(struct driver *d, int i, uint64_t name, uint64_t task, int branches)
{
    d->taken++;
    if (branches > 0)
        diary(d, "%s takes name %" PRIu64 " and task %" PRIu64 ", %d branches to go",
              cast[i].label, name, task, branches);
    else
        diary(d, "%s takes name %" PRIu64 ", no task on it", cast[i].label, name);
}

static void heard_broke(struct driver *d, int i, uint64_t first, uint64_t last, int tasks)
{
    if (is_victim(W1 - 1 + (int)(first / 10))) { /* a machine in trouble may have others fail, too */
        d->broken += (int)(last - first + 1);
        d->redone += tasks;
    }
    diary(d, "%s: names %" PRIu64 " to %" PRIu64 " are broken; %d task%s given again", cast[i].label,
          first, last, tasks, tasks == 1 ? " is" : "s are");
}

static void heard_fate(struct driver *d, int i, const char *id, int left)
{
    int who = actor_of(d, id);

    if (left && who == LEAVER)
        d->at[i].saw_left = 1;
    else if (!left && is_victim(who))
        d->at[i].saw_failed |= who == FIRST_VICTIM ? 1 : 2;
    else if (!left && !d->told_stop)
        diary(d, "%s says that %s failed", cast[i].label, who >= 0 ? cast[who].label : id);
}

/* The lines of a report. */
static int heard_report(struct driver *d, int i, const char *line)
{
    struct process *a = &d->at[i];
    char id[PHX_ID_TEXT], next[PHX_ID_TEXT];
    int number, who;

    if (sscanf(line, "link %32s %d", id, &number) == 2) {
        if ((who = actor_of(d, id)) >= 0)
            a->link[who] = 1;
    } else if (sscanf(line, "route %32s %d %32s", id, &number, next) == 3) {
        if ((who = actor_of(d, id)) >= 0) {
            a->hops[who] = number;
            a->next[who] = actor_of(d, next);
        }
    } else if (strcmp(line, "end") == 0) {
        a->reported = 1;
    } else {
        return sscanf(line, "stats %" SCNu64 " %" SCNu64 " %" SCNu64, &a->relayed, &a->in, &a->out)
               == 3;
    }
    return 1;
}

/* One line from child i. */
static void heard(struct driver *d, int i, const char *line)
{
    uint64_t a, b;
    int number;
    char id[PHX_ID_TEXT];

    if (sscanf(line, "done %" SCNu64 " %" SCNu64, &a, &b) == 2)
        heard_done(d, a, b);
    else if (sscanf(line, "id %32s", id) == 1)
        memcpy(d->at[i].id, id, sizeof id);
    else if (sscanf(line, "port %d", &number) == 1)
        heard_port(d, i, number);
    else if (sscanf(line, "tasks %" SCNu64, &a) == 1)
        d->total = a;
    else if (sscanf(line, "seat %" SCNu64, &a) == 1)
        heard_seat(d, a);
    else if (sscanf(line, "took %" SCNu64 " %" SCNu64 " %d", &a, &b, &number) == 3)
        heard_took(d, i, a, b, number);
    else if (sscanf(line, "broke %" SCNu64 " %" SCNu64 " %d", &a, &b, &number) == 3)
        heard_broke(d, i, a, b, number);
    else if (sscanf(line, "left %32s", id) == 1)
        heard_fate(d, i, id, 1);
    else if (sscanf(line, "failed %32s", id) == 1)
        heard_fate(d, i, id, 0);
    else if (sscanf(line, "solved %" SCNu64, &d->sum) == 1)
        d->solved_us = d->now;
    else if (strncmp(line, "error", 5) == 0)
        d->failed = 1, diary(d, "%s: %s", cast[i].label, line);
    else if (!heard_report(d, i, line))
        diary(d, "%s: %s", cast[i].label, line);
}

/* ---- The driver: the script ---------------------------------------------------------------- */

static void direct_leave(struct driver *d)
{
    d->told_leave = 1;
    diary(d, "%s is told to leave and to hand its names to %s", cast[LEAVER].label,
          cast[HEIR].label);
    tell(d, LEAVER, "leave %d", (HEIR - W1 + 1) * 10);
}

/* Without a word of warning: what a machine does that loses its power. */
static void direct_kill(struct driver *d, int i)
{
    if (d->at[i].pid <= 0 || !d->at[i].seated || kill(d->at[i].pid, SIGKILL) != 0)
        return;
    d->killed_us[i] = d->now;
    diary(d, "%s (pid %ld) is killed with kill -9, at its work", cast[i].label, (long)d->at[i].pid);
}

/* All who are to see the victims fail have seen it. */
static int failures_are_seen(const struct driver *d)
{
    int i;

    for (i = 0; i < ACTORS; i++)
        if (!is_gone(i) && i != LATE && d->at[i].saw_failed != 3)
            return 0;
    return d->broken >= 4;
}

/* When all is counted: first all report, then all stop, so that what they show is the whole. */
static void direct_end(struct driver *d)
{
    int i, missing = 0;

    if (!d->told_report) {
        diary(d, "all tasks done: %" PRIu64 " solutions", d->sum);
        for (i = 0; i < ACTORS; i++)
            tell(d, i, "report");
        d->told_report = 1;
    }
    for (i = 0; i < ACTORS; i++)
        missing += d->at[i].pid != 0 && !d->at[i].reported;
    if (missing == 0 && !d->told_stop) {
        for (i = 0; i < ACTORS; i++)
            tell(d, i, "stop");
        d->told_stop = 1;
    }
}

/* What happens when. Progress decides as well as time: slow and fast machines see it all. */
static void direct(struct driver *d)
{
    if (d->late_us == 0
        && (d->now - d->start > LATE_US || (d->total != 0 && d->done * 4 > d->total))) {
        d->late_us = d->now;
        start_process(d, LATE);
        diary(d, "%s starts late, behind %s", cast[LATE].label, cast[cast[LATE].gateway].label);
    }
    if (!d->told_leave && d->total != 0 && d->done * 2 > d->total)
        direct_leave(d);
    if (d->killed_us[FIRST_VICTIM] == 0 && d->total != 0 && d->done * 5 > d->total)
        direct_kill(d, FIRST_VICTIM);
    if (d->killed_us[SECOND_VICTIM] == 0 && d->total != 0 && d->done * 5 > 3 * d->total)
        direct_kill(d, SECOND_VICTIM);
    if (!d->told_all && d->at[LATE].seated && d->at[LEAVER].ended && failures_are_seen(d)) {
        d->told_all = 1;
        tell(d, C, "all");
    }
    if (d->solved_us != 0)
        direct_end(d);
}

/* Waits for children that have ended, and notes how. Returns how many are still running. */
static int reap(struct driver *d)
{
    int i, running = 0;
    struct process *a;

    for (i = 0; i < ACTORS; i++) {
        a = &d->at[i];
        if (a->pid == 0 || waitpid(a->pid, &a->status, WNOHANG) != a->pid) {
            running += a->pid != 0;
            continue;
        }
        a->pid = 0;
        a->ended = 1;
        close(a->to);
        a->to = -1;
        if (d->tidying || d->killed_us[i] != 0)
            continue; /* it was we who ended it */
        if (i == LEAVER && a->status == 0) {
            d->left_us = d->now;
            diary(d, "%s has left", cast[i].label);
        }
        if (a->status != 0 || (i != LEAVER && !d->told_stop)) {
            diary(d, "%s ended too early, wait status %d", cast[i].label, a->status);
            d->failed |= i == C; /* the job can bear the loss of any other */
        }
    }
    return running;
}

/* Waits for lines of the children and for signals, up to 50 ms. */
static void listen_to_all(struct driver *d)
{
    struct pollfd fds[ACTORS + 1];
    char *line;
    int i;

    for (i = 0; i <= ACTORS; i++) {
        fds[i].fd = i < ACTORS ? d->at[i].from : d->signals;
        fds[i].events = POLLIN;
    }
    if (poll(fds, ACTORS + 1, 50) < 0)
        return;
    d->now = phx_now_us();
    for (i = 0; i < ACTORS; i++) {
        if (fds[i].revents == 0)
            continue;
        if (!lines_read(&d->at[i].lines, fds[i].fd)) {
            close(d->at[i].from);
            d->at[i].from = -1;
        }
        while ((line = lines_next(&d->at[i].lines)) != NULL)
            heard(d, i, line);
    }
    d->interrupted = fds[ACTORS].revents != 0;
}

/* Leaves nothing behind: closes the pipes, which ends the children, and if need be kills them. */
static void end_all(struct driver *d)
{
    static const int signals[] = { 0, SIGTERM, SIGKILL };
    struct timespec rest = { 0, 10000000 };
    int i, round, tries;

    d->tidying = 1;
    for (round = 0; round < 3 && reap(d) > 0; round++) {
        for (i = 0; i < ACTORS; i++) {
            if (d->at[i].to >= 0)
                close(d->at[i].to);
            d->at[i].to = -1;
            if (d->at[i].pid > 0 && signals[round] != 0)
                kill(d->at[i].pid, signals[round]);
        }
        for (tries = 0; tries < 50 && reap(d) > 0; tries++)
            nanosleep(&rest, NULL);
    }
}

/* ---- The driver: tables and judgement ------------------------------------------------------ */

/* A gateway and who is behind it. Gateways that are linked with both others meet on the right. */
static void show_site(const struct driver *d, int g)
{
    int here[ACTORS], i, row, middle, joined = 1, count = 0;

    for (i = 0; i < ACTORS; i++) {
        if (cast[i].role != GATEWAY && cast[i].gateway == g && !is_gone(i) && d->at[i].link[g])
            here[count++] = i;
        joined &= cast[i].role != GATEWAY || i == g || d->at[g].link[i];
    }
    middle = count / 2;
    for (row = 0; row < count || row == middle; row++) {
        printf(row == middle ? "  site %d   " : "           ", cast[g].site);
        printf("%-3s%s", row < count ? cast[here[row]].label : "", row < count ? "---+" : "");
        if (row == middle)
            printf("--- %s %s\n", cast[g].label, joined ? "===+" : "...");
        else
            printf("%11s\n", (g == G1 && row < middle) || (g == G3 && row > middle) ? "" : "|");
    }
    if (g != G3)
        printf("%29s\n", "|");
}

static void show_map(const struct driver *d)
{
    int g;

    printf("\nthe map, as all reported their links (--- within a site, === between gateways)\n");
    for (g = G1; g <= G3; g++)
        show_site(d, g);
}

static void show_links(const struct driver *d)
{
    int i, k;

    printf("\nwho is linked with whom (%s has left, %s and %s are dead)\n",
           cast[LEAVER].label, cast[FIRST_VICTIM].label, cast[SECOND_VICTIM].label);
    for (i = 0; i < ACTORS; i++) {
        if (is_gone(i))
            continue;
        printf("  %-2s (site %d, node %.6s):", cast[i].label, cast[i].site, d->at[i].id);
        for (k = 0; k < ACTORS; k++)
            if (d->at[i].link[k])
                printf(" %s", cast[k].label);
        printf("\n");
    }
}

static void show_hops(const struct driver *d)
{
    int i, k;

    printf("\nhops from (down) to (across)\n    ");
    for (k = 0; k < ACTORS; k++)
        printf("%4s", is_gone(k) ? "" : cast[k].label);
    for (i = 0; i < ACTORS; i++) {
        if (is_gone(i))
            continue;
        printf("\n  %-2s", cast[i].label);
        for (k = 0; k < ACTORS; k++)
            if (is_gone(k))
                printf("    ");
            else if (k == i || d->at[i].hops[k] == 0)
                printf("   %c", k == i ? '.' : '?');
            else
                printf("%4d", d->at[i].hops[k]);
    }
    printf("\n");
}

/* Follows the next hops that each process reported itself. */
static void show_path(const struct driver *d, int from, int to)
{
    int at = from, hops;

    printf("  %s to %s: %s", cast[from].label, cast[to].label, cast[from].label);
    for (hops = 0; at != to && hops < ACTORS; hops++) {
        at = d->at[at].hops[to] > 0 ? d->at[at].next[to] : -1;
        printf(" > %s", at < 0 ? "?" : cast[at].label);
        if (at < 0)
            break;
    }
    printf("\n");
}

static void show_work(const struct driver *d)
{
    int i;

    printf("\n        tasks  messages in   out   frames relayed\n");
    for (i = 0; i < ACTORS; i++)
        printf("  %-2s  %7" PRIu64 "  %11" PRIu64 " %5" PRIu64 "   %14" PRIu64 "\n", cast[i].label,
               d->at[i].tasks, d->at[i].in, d->at[i].out, d->at[i].relayed);
}

static int check(int good, const char *format, ...)
{
    va_list args;

    printf("  %s  ", good ? "ok  " : "FAIL");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return good;
}

/* Of those that were there all the time and later: how many saw the leaver go and the victims fail, and
 * how many should. */
static void witnesses(const struct driver *d, int *saw_left, int *saw_failed, int *all)
{
    int i;

    *saw_left = *saw_failed = *all = 0;
    for (i = 0; i < ACTORS; i++)
        if (!is_gone(i) && i != LATE) {
            *all += 1;
            *saw_left += d->at[i].saw_left;
            *saw_failed += d->at[i].saw_failed == 3;
        }
}

/* No process but a gateway has a link with another that is none. */
static int gateways_only(const struct driver *d)
{
    int i, k;

    for (i = C; i < ACTORS; i++)
        for (k = C; k < ACTORS; k++)
            if (d->at[i].link[k] || (i != k && !is_gone(i) && !is_gone(k) && d->at[i].hops[k] < 2))
                return 0;
    return 1;
}

/* Seconds from the start to then; 0 if it never came to that. */
static double seconds(const struct driver *d, uint64_t then)
{
    return then == 0 ? 0 : (double)(then - d->start) / 1e6;
}

static int judge(const struct driver *d)
{
    uint64_t relayed = d->at[G1].relayed + d->at[G2].relayed + d->at[G3].relayed;
    uint64_t right = queens_known(d->n);
    int good, saw, failed, all, i, clean = 1, killed = 0;

    for (i = 0; i < ACTORS; i++) {
        clean &= d->at[i].ended && (is_victim(i) || d->at[i].status == 0);
        killed += is_victim(i) && d->killed_us[i] != 0 && WIFSIGNALED(d->at[i].status);
    }
    witnesses(d, &saw, &failed, &all);
    printf("\nsummary\n");
    good = check(d->sum == right, "%" PRIu64 " solutions for N = %d, known are %" PRIu64, d->sum,
                 d->n, right);
    good &= check(d->at[LATE].tasks > 0, "%s came late, at %.2f s, and did %" PRIu64 " tasks",
                  cast[LATE].label, seconds(d, d->late_us), d->at[LATE].tasks);
    good &= check(d->taken == 2 && d->at[LEAVER].ended && d->at[LEAVER].status == 0,
                  "%s left at %.2f s; its %d names live on at %s", cast[LEAVER].label,
                  seconds(d, d->left_us), d->taken, cast[HEIR].label);
    good &= check(saw == all, "%d of %d others saw it leave, not fail", saw, all);
    good &= check(killed == 2 && d->broken == 4,
                  "%s and %s were killed with kill -9; %d names broke, %d tasks were done again",
                  cast[FIRST_VICTIM].label, cast[SECOND_VICTIM].label, d->broken, d->redone);
    good &= check(failed == all, "%d of %d others saw both fail, not leave", failed, all);
    good &= check(gateways_only(d), "all but the gateways are linked with gateways only");
    good &= check(relayed > 0, "%" PRIu64 " message frames were relayed by gateways", relayed);
    good &= check(clean && !d->failed, "the other %d processes ended by themselves", ACTORS - 2);
    return good;
}

static void show_all(const struct driver *d)
{
    show_map(d);
    show_links(d);
    show_hops(d);
    printf("\nroutes, followed from next hop to next hop\n");
    show_path(d, C, W1);
    show_path(d, C, W2);
    show_path(d, W4, C);
    show_path(d, W2, W5);
    show_work(d);
}

/* What was still to come when the time was over. */
static void show_missing(const struct driver *d)
{
    int i;

    printf("\nFAIL: not at its end after %u s; %" PRIu64 " of %" PRIu64 " tasks are done\n",
           LIMIT_US / SECOND, d->done, d->total);
    for (i = 0; i < ACTORS; i++)
        printf("  %-2s: %s%s%s\n", cast[i].label,
               !d->at[i].started ? "not started" : d->at[i].ended ? "ended" : "running",
               d->told_report && !d->at[i].reported ? ", no report" : "",
               cast[i].role == WORKER && !d->at[i].seated ? ", no seat known" : "");
}

/* Signals become bytes in a pipe, which poll can wait for. */
static int catch_signals(struct driver *d)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    int ends[2];
    size_t i;

    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        return -1;
    d->signals = ends[0];
    signal_pipe = ends[1];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], &action, NULL) != 0)
            return -1;
    signal(SIGPIPE, SIG_IGN); /* a child that died is seen by waitpid */
    return 0;
}

/* The whole job; the exit status of the program. */
static int drive(struct driver *d)
{
    int i, running = 1, good;

    d->start = d->now = phx_now_us();
    printf("The walls: three sites, %d processes of this machine. Only the gateways G1, G2 and G3\n"
           "listen, and everybody else knows the port of its own gateway alone: like machines behind\n"
           "firewalls that let connections out, not in. (Real walls, as root: make lab.)\n\n",
           ACTORS);
    diary(d, "%d queens, %d processes, 3 sites; the driver is pid %ld", d->n, ACTORS,
          (long)getpid());
    for (i = 0; i < ACTORS && !d->failed; i++)
        if (i != LATE)
            start_process(d, i);
    while (running > 0 && !d->failed && !d->interrupted && d->now - d->start < LIMIT_US) {
        listen_to_all(d);
        if ((running = reap(d)) > 0)
            direct(d);
    }
    end_all(d);
    if (d->interrupted) {
        printf("\ninterrupted; no process is left behind\n");
        return 130;
    }
    if (running > 0 && !d->failed)
        show_missing(d);
    else
        show_all(d);
    good = judge(d) && running == 0;
    printf("sites: %s, %.2f s\n", good ? "all is right" : "FAILED",
           (double)(phx_now_us() - d->start) / 1e6);
    if (good)
        printf("\nNow yours: three commands, each in a terminal of its own (first: make phx)\n"
               "  build/phx hub tcp://127.0.0.1:7000\n"
               "  build/phx recv 7 --join tcp://127.0.0.1:7000\n"
               "  echo hello | build/phx send 7 --join tcp://127.0.0.1:7000\n");
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct driver d; /* zero */
    int i;

    for (i = 0; i < ACTORS; i++)
        d.at[i].to = d.at[i].from = -1;
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i], "-v") == 0)
            d.verbose = 1;
        else
            d.n = atoi(argv[i]);
    if (d.n == 0)
        d.n = choose_n();
    if (d.n < N_MIN || d.n > N_MAX) {
        fprintf(stderr, "usage: sites [-v] [N]   for N from %d to %d\n", N_MIN, N_MAX);
        return 2;
    }
    if (catch_signals(&d) != 0) {
        perror("sites: signals");
        return 1;
    }
    return drive(&d);
}
