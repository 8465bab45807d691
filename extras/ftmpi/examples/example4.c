/* example4.c - master and workers that may die: the fourth example of the paper as a whole program. */

/*
 *      ftmpicc -o example4 example4.c farm.c
 *      ftmpirun -n 8 --ft blank,cont ./example4           and, from elsewhere, kill -9 any but the first
 *      ftmpirun -n 8 --ft blank,cont ./example4 1 2 3     these kill themselves at their third task
 *
 * Counts primes below a million, a thousand tasks of a thousand numbers each. The master's loop is in
 * farm.c. -e: each process says what happens to it, as in cg.c. */
#define _POSIX_C_SOURCE 200809L
#include "farm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TASKS 1000
#define WIDTH 1000
#define PRIMES 78498 /* below a million */

struct count {
    long primes;
    int rank, events, dies, tasks;
};

static void say(const struct count *c, const char *word, long number)
{
    struct timespec t;

    if (!c->events)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    printf("@ %.6f %d 0 %ld %s %ld\n", (double)t.tv_sec + (double)t.tv_nsec / 1e9, c->rank, (long)getpid(),
           word, number);
    fflush(stdout);
}

static void make(void *ctx, int task, void *out)
{
    long first = (long)task * WIDTH;

    (void)ctx;
    memcpy(out, &first, sizeof first);
}

static int is_prime(long n)
{
    long d;

    for (d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return n > 1;
}

static void work(void *ctx, const void *task, void *result)
{
    struct count *c = ctx;
    long first, n, primes = 0;

    memcpy(&first, task, sizeof first);
    c->tasks++;
    say(c, "iteration", c->tasks);
    if (c->dies && c->tasks == 3)
        raise(SIGKILL);
    for (n = first; n < first + WIDTH; n++)
        primes += is_prime(n);
    memcpy(result, &primes, sizeof primes);
}

static void take(void *ctx, int task, const void *result)
{
    long primes;

    (void)task;
    memcpy(&primes, result, sizeof primes);
    ((struct count *)ctx)->primes += primes;
}

static void died(void *ctx, int worker, int task)
{
    const struct count *c = ctx;

    say(c, "noticed", worker);
    if (!c->events && task >= 0)
        printf("worker %d died, task %d goes to another one\n", worker, task);
    else if (!c->events)
        printf("worker %d died\n", worker);
}

int main(int argc, char **argv)
{
    struct count c;
    struct farm f;
    int i, lost = 0, rc;

    memset(&c, 0, sizeof c);
    memset(&f, 0, sizeof f);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    for (i = 1; i < argc; i++) {
        c.events |= strcmp(argv[i], "-e") == 0;
        c.dies |= c.rank > 0 && c.rank == (int)strtol(argv[i], NULL, 10);
    }
    say(&c, "initialized", 0);
    f.tasks = TASKS;
    f.task_bytes = f.result_bytes = (int)sizeof(long);
    f.ctx = &c;
    f.make = make;
    f.work = work;
    f.take = take;
    f.died = died;
    rc = farm_run(&f, MPI_COMM_WORLD, &lost);
    say(&c, "done", c.tasks);
    if (c.rank == 0)
        printf("%srank 0: %ld primes, %s, %d workers died\n", c.events ? "= " : "", c.primes,
               c.primes == PRIMES ? "right" : "WRONG", lost);
    fflush(stdout);
    MPI_Finalize();
    return rc != MPI_SUCCESS || (c.rank == 0 && c.primes != PRIMES);
}
