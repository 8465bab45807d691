/* launch_time.c - runs a command: prints its wall time, and the processor time of all that was waited for. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    double begun = seconds(), wall;
    struct rusage use;
    int status;
    pid_t pid;

    if (argc < 2)
        return 2;
    pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    wall = seconds() - begun;
    getrusage(RUSAGE_CHILDREN, &use);
    printf("%.4f\t%.4f\t%d\n", wall,
           (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec * 1e-6 + (double)use.ru_stime.tv_sec
               + (double)use.ru_stime.tv_usec * 1e-6,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
