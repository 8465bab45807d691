/* proc.h - processes: each started in a group of its own, guarded, signalled, and collected by number. */

/* Nothing that is started here survives whoever started it, not even after kill -9:
 *
 *  - Where Linux has it, a process gets PR_SET_PDEATHSIG, so it dies with the agent that started it.
 *  - A small *guard*, forked before anything else, knows the group of each process, which the process
 *    itself tells it before it becomes the program. It reads end of file when the agent is gone, however
 *    that came about, and kills all groups.
 *  - The agent collects orphans of its processes (PR_SET_CHILD_SUBREAPER), so it knows whether a group
 *    whose leader has ended still has members. */
#ifndef LA_PROC_H
#define LA_PROC_H

#include <signal.h>
#include <sys/types.h>

struct la_procs;

/* Forks the guard, raises the soft limit of descriptors to the hard one, makes descriptors 0 to 2 exist.
 * Call it first, while the process is small. 0, PHX_ENOMEM, PHX_EMFILE, PHX_EAGAIN (no more processes). */
int la_procs_new(struct la_procs **out);
/* Kills what is left of all groups and ends the guard. */
void la_procs_free(struct la_procs *p);

/* An agent that this process starts is guarded or is not: with guarded 0 it outlives this process, and
 * ends by itself. */
struct la_exec {
    const char *path; /* of the program, as la_proc_find gave it */
    char **argv;      /* NULL-ended, with room for one more in front; argv[-1] and [0] may be overwritten */
    char **envp;
    const char *dir;  /* NULL or "": as it is */
    int fds[3];       /* become 0, 1 and 2 */
    const int *keep;  /* more descriptors that it inherits, under their own numbers */
    int keep_count;
    int guarded;
};

enum la_exec_stage { LA_EXEC_FORK, LA_EXEC_DIR, LA_EXEC_PROGRAM };

/* 0 and its number; else errno, and in *stage what could not be done. Returns when the program runs. */
int la_proc_start(struct la_procs *p, const struct la_exec *x, pid_t *pid, enum la_exec_stage *stage);

/* Finds a program as execvp does, by the PATH in env, from the directory dir. 0; ENOENT, EACCES (it is
 * there, and may not be executed or is a directory), ENAMETOOLONG. */
int la_proc_find(const char *name, char *const *env, const char *dir, char *out, size_t size);

/* After SIGCHLD: calls fn for each process of la_proc_start that has ended. status is waitpid's. */
void la_procs_collect(struct la_procs *p, void (*fn)(void *ctx, pid_t pid, int status), void *ctx);

/* To the group of one process, whether or not it has been collected; and to all groups. */
void la_proc_signal(const struct la_procs *p, pid_t pid, int number);
void la_procs_signal(const struct la_procs *p, int number);

/* A file that is removed, and its folder, when this process ends, however that comes about. One at most. */
#define LA_LITTER 1024 /* bytes of its path */
void la_procs_litter(struct la_procs *p, const char *path);

/* How many groups may have members. */
int la_procs_left(const struct la_procs *p);

/* Makes a pipe or socketpair whose ends are close-on-exec and not 0, 1 or 2. 0 or errno. */
int la_pipe(int out[2]);
int la_pair(int out[2]);
int la_nonblocking(int fd); /* 0 or errno */

/* Signals as a descriptor that is readable when one has come. All of them are blocked from here on.
 * la_signals_next: the next one, 0: none. */
int la_signals_open(const int *numbers, int count, int *fd); /* 0, PHX_EMFILE, PHX_EIO */
int la_signals_next(int fd);

#endif
