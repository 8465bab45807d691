/* proc.c - processes: each started in a group of its own, guarded, signalled, and collected by number. */

/* vfork, since fork copies the tables of a big agent for each process, and posix_spawn has no place for what
 * the child must do before exec. Between vfork and exec the child runs on the parent's memory: proc_child
 * calls the system only, changes nothing but its own variables and x->argv, and never returns. Elsewhere
 * than on Linux it is fork. What fails in the child comes back as two numbers over a pipe that exec
 * closes. */
#define _POSIX_C_SOURCE 200809L
#if defined(__linux__)
#define _DEFAULT_SOURCE 1 /* vfork */
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "proc.h"
#include "../../phoenix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/signalfd.h>
#else
#include <sys/event.h> /* kqueue: the BSDs and macOS */
#include <time.h>
#endif

#define PROC_SIGNALS 64  /* signal numbers that are looked at; higher ones need no reset */
#define PROC_CLOSE 65536 /* descriptors that a guard closes where the system does not list them */

/* What the guard is told: a group begins or is over; or four more bytes of the path of what is to be removed,
 * the last of which has a NUL. */
enum proc_what { WORD_OVER, WORD_BEGINS, WORD_PATH };
struct proc_word {
    int32_t pid, what;
};

struct proc_group {
    pid_t pid;
    int collected; /* the leader has; others of the group may live */
    int guarded;
};

struct la_procs {
    pid_t self, guard;
    int guard_fd;
    struct rlimit files; /* as they were */
    int files_known;
    struct proc_group *groups;
    int groups_count, capacity;
    int orphans; /* groups whose leader is collected and that had members then */
    char litter[LA_LITTER]; /* "": none */
};

/* ---- Descriptors --------------------------------------------------------------------------------- */

static int proc_above_two(int *fd)
{
    int higher;

    if (*fd > 2)
        return fcntl(*fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 : errno;
    higher = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
    if (higher < 0)
        return errno;
    close(*fd);
    *fd = higher;
    return 0;
}

static int proc_both(int out[2])
{
    int err = proc_above_two(&out[0]);

    if (err == 0)
        err = proc_above_two(&out[1]);
    if (err != 0) {
        close(out[0]);
        close(out[1]);
    }
    return err;
}

int la_pipe(int out[2])
{
    if (pipe(out) != 0)
        return errno;
    return proc_both(out);
}

int la_pair(int out[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, out) != 0)
        return errno;
    return proc_both(out);
}

int la_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
        return errno;
    return 0;
}

/* Whoever was started with 0, 1 or 2 closed gets them as /dev/null, so that no stream of ours takes their
 * place. */
static int proc_first_three(void)
{
    int fd = open("/dev/null", O_RDWR);

    while (fd >= 0 && fd < 3)
        fd = dup(fd);
    if (fd < 0)
        return PHX_EMFILE;
    close(fd);
    return 0;
}

/* ---- The guard ----------------------------------------------------------------------------------- */

/* It must hold nobody's stream open but its own. */
static void guard_close_others(int mine)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *e;
    int fd, list[256], n = 0;

    if (d == NULL) {
        for (fd = 0; fd < PROC_CLOSE; fd++)
            if (fd != mine)
                close(fd);
        return;
    }
    do {
        n = 0;
        rewinddir(d);
        while (n < 256 && (e = readdir(d)) != NULL) {
            fd = (int)strtol(e->d_name, NULL, 10);
            if (e->d_name[0] != '.' && fd != mine && fd != dirfd(d))
                list[n++] = fd;
        }
        for (fd = 0; fd < n; fd++)
            close(list[fd]);
    } while (n > 0);
    closedir(d);
}

struct guard {
    pid_t *pids;
    size_t count, capacity;
    char litter[LA_LITTER];
    size_t litter_size;
};

static void guard_note(struct guard *g, const struct proc_word *w)
{
    size_t i;
    pid_t *more;

    for (i = 0; i < g->count; i++)
        if (g->pids[i] == w->pid)
            break;
    if (w->what == WORD_OVER && i < g->count)
        g->pids[i] = g->pids[--g->count];
    if (w->what == WORD_OVER || i < g->count)
        return;
    if (g->count == g->capacity) {
        more = (pid_t *)realloc(g->pids, (g->capacity + 256) * sizeof *more);
        if (more == NULL) { /* better dead than without a guard */
            (void)kill(-w->pid, SIGKILL);
            return;
        }
        g->pids = more;
        g->capacity += 256;
    }
    g->pids[g->count++] = w->pid;
}

static void guard_note_path(struct guard *g, const struct proc_word *w)
{
    if (g->litter_size + sizeof w->pid > sizeof g->litter)
        return;
    memcpy(g->litter + g->litter_size, &w->pid, sizeof w->pid);
    g->litter_size += sizeof w->pid;
}

/* The file and its folder. */
static void proc_remove(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL)
        return;
    (void)unlink(path);
    *slash = '\0';
    (void)rmdir(path);
}

static void guard_run(int fd)
{
    struct proc_word words[64];
    struct guard g;
    size_t have = 0, i;
    ssize_t n;

    memset(&g, 0, sizeof g);
    for (;;) {
        n = read(fd, (char *)words + have, sizeof words - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        for (i = 0; i < have / sizeof words[0]; i++)
            if (words[i].what == WORD_PATH)
                guard_note_path(&g, &words[i]);
            else
                guard_note(&g, &words[i]);
        memmove(words, (char *)words + i * sizeof words[0], have - i * sizeof words[0]);
        have -= i * sizeof words[0];
    }
    for (i = 0; i < g.count; i++)
        (void)kill(-g.pids[i], SIGKILL);
    if (g.litter_size > 0)
        proc_remove(g.litter);
    _exit(0);
}

static void guard_child(int fd)
{
    sigset_t all;

    (void)setsid(); /* signals for our group are not for it */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    guard_close_others(fd);
#if defined(__linux__)
    (void)prctl(PR_SET_NAME, "phxrun-guard", 0, 0, 0);
#endif
    (void)chdir("/");
    guard_run(fd);
}

static int guard_tell(const struct la_procs *p, pid_t pid, enum proc_what what)
{
    struct proc_word w;
    ssize_t n;

    w.pid = (int32_t)pid;
    w.what = (int32_t)what;
    do
        n = write(p->guard_fd, &w, sizeof w);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof w ? 0 : n < 0 ? errno : EAGAIN;
}

static void guard_tell_litter(const struct la_procs *p)
{
    size_t i, n = p->litter[0] != '\0' ? strlen(p->litter) + 1 : 0;
    int32_t four;

    for (i = 0; i < n; i += sizeof four) { /* behind its end there are NULs, or the array's end */
        memcpy(&four, p->litter + i, sizeof four);
        (void)guard_tell(p, four, WORD_PATH);
    }
}

static int guard_start(struct la_procs *p)
{
    int ends[2], i;

    if (la_pipe(ends) != 0)
        return PHX_EMFILE;
    (void)la_nonblocking(ends[1]); /* 8,192 words fit; a stopped guard must not stop the agent */
    p->guard = fork();
    if (p->guard == 0) {
        close(ends[1]);
        guard_child(ends[0]);
        _exit(1);
    }
    close(ends[0]);
    if (p->guard < 0) {
        p->guard = 0;
        close(ends[1]);
        return errno == ENOMEM ? PHX_ENOMEM : PHX_EAGAIN;
    }
    if (p->guard_fd >= 0)
        close(p->guard_fd);
    p->guard_fd = ends[1];
    for (i = 0; i < p->groups_count; i++)
        if (p->groups[i].guarded)
            (void)guard_tell(p, p->groups[i].pid, WORD_BEGINS);
    guard_tell_litter(p);
    return 0;
}

void la_procs_litter(struct la_procs *p, const char *path)
{
    snprintf(p->litter, sizeof p->litter, "%s", path);
    guard_tell_litter(p);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static void proc_raise_limit(struct la_procs *p)
{
    struct rlimit more;

    if (getrlimit(RLIMIT_NOFILE, &p->files) != 0)
        return;
    p->files_known = 1;
    more = p->files;
    more.rlim_cur = more.rlim_max;
    if (more.rlim_cur == RLIM_INFINITY || more.rlim_cur > 1048576)
        more.rlim_cur = more.rlim_max < 1048576 ? more.rlim_max : 1048576;
    if (more.rlim_cur > p->files.rlim_cur)
        (void)setrlimit(RLIMIT_NOFILE, &more);
}

int la_procs_new(struct la_procs **out)
{
    struct la_procs *p = (struct la_procs *)calloc(1, sizeof *p);
    struct sigaction ignore;
    int err;

    *out = NULL;
    if (p == NULL)
        return PHX_ENOMEM;
    p->self = getpid();
    p->guard_fd = -1;
    err = proc_first_three();
    if (err == 0)
        err = guard_start(p);
    if (err != 0) {
        free(p);
        return err;
    }
    proc_raise_limit(p);
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    ignore.sa_handler = SIG_DFL; /* ignored, as some callers leave it, children would vanish without a word */
    (void)sigaction(SIGCHLD, &ignore, NULL);
#if defined(__linux__) && defined(PR_SET_CHILD_SUBREAPER)
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
    *out = p;
    return 0;
}

static void proc_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
}

void la_procs_free(struct la_procs *p)
{
    if (p == NULL)
        return;
    la_procs_signal(p, SIGKILL);
    proc_remove(p->litter);
    if (p->guard > 0) { /* what it is there for has just been done */
        (void)kill(p->guard, SIGKILL);
        proc_wait(p->guard);
    }
    if (p->guard_fd >= 0)
        close(p->guard_fd);
    free(p->groups);
    free(p);
}

/* ---- Starting ------------------------------------------------------------------------------------ */

struct proc_failure {
    int stage, error;
};

static void proc_fail(int fd, int stage)
{
    struct proc_failure f;
    ssize_t n;

    f.stage = stage;
    f.error = errno;
    do
        n = write(fd, &f, sizeof f);
    while (n < 0 && errno == EINTR);
    _exit(127);
}

/* nohup leaves it ignored: then it is nothing to end for, here and in what is started. */
static int proc_is_nohup(int number)
{
    struct sigaction now;

    return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void proc_child_signals(void)
{
    struct sigaction usual;
    sigset_t none;
    int i;

    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigemptyset(&usual.sa_mask);
    for (i = 1; i <= PROC_SIGNALS; i++)
        if (i != SIGKILL && i != SIGSTOP && !proc_is_nohup(i))
            (void)sigaction(i, &usual, NULL); /* those that the C library keeps for itself refuse */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void proc_child_guard(const struct la_procs *p, const struct la_exec *x, int fd)
{
    if (setpgid(0, 0) != 0)
        proc_fail(fd, LA_EXEC_FORK);
    if (!x->guarded)
        return;
#if defined(__linux__)
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        proc_fail(fd, LA_EXEC_FORK);
#endif
    if (getppid() != p->self) /* it died before that call */
        _exit(127);
    errno = guard_tell(p, getpid(), WORD_BEGINS);
    if (errno != 0)
        proc_fail(fd, LA_EXEC_FORK);
}

/* A script without #! on its first line is the shell's, as execvp has it. */
static void proc_child_exec(const struct la_exec *x)
{
    const char *shell = "/bin/sh";
    char **argv = x->argv - 1;

    (void)execve(x->path, x->argv, x->envp);
    if (errno != ENOEXEC)
        return;
    memcpy(&argv[0], &shell, sizeof argv[0]); /* exec changes no string, though its type does not say so */
    memcpy(&argv[1], &x->path, sizeof argv[1]);
    (void)execve(shell, argv, x->envp);
}

static void proc_child(const struct la_procs *p, const struct la_exec *x, int fd)
{
    int i;

    proc_child_guard(p, x, fd);
    if (p->files_known)
        (void)setrlimit(RLIMIT_NOFILE, &p->files);
    for (i = 0; i < 3; i++)
        if (dup2(x->fds[i], i) < 0)
            proc_fail(fd, LA_EXEC_FORK);
    for (i = 0; i < x->keep_count; i++)
        if (fcntl(x->keep[i], F_SETFD, 0) != 0)
            proc_fail(fd, LA_EXEC_FORK);
    if (x->dir != NULL && x->dir[0] != '\0' && chdir(x->dir) != 0)
        proc_fail(fd, LA_EXEC_DIR);
    proc_child_signals();
    proc_child_exec(x);
    proc_fail(fd, LA_EXEC_PROGRAM);
}

static pid_t proc_fork(const struct la_procs *p, const struct la_exec *x, int fd)
{
    pid_t pid;
#if defined(__linux__)
    pid = vfork();
#else
    pid = fork();
#endif
    if (pid == 0) {
        proc_child(p, x, fd);
        _exit(127);
    }
    return pid;
}

static int proc_room(struct la_procs *p)
{
    struct proc_group *more;
    int n = p->capacity > 0 ? p->capacity * 2 : 16;

    if (p->groups_count < p->capacity)
        return 0;
    more = (struct proc_group *)realloc(p->groups, (size_t)n * sizeof *more);
    if (more == NULL)
        return ENOMEM;
    p->groups = more;
    p->capacity = n;
    return 0;
}

static void proc_forget(struct la_procs *p, int i)
{
    if (p->groups[i].guarded)
        (void)guard_tell(p, p->groups[i].pid, WORD_OVER);
    p->orphans -= p->groups[i].collected;
    p->groups[i] = p->groups[--p->groups_count];
}

/* Reads what the child says until exec, or its end, closes the pipe. */
static int proc_outcome(int fd, struct proc_failure *f)
{
    size_t have = 0;
    ssize_t n;

    while (have < sizeof *f) {
        n = read(fd, (char *)f + have, sizeof *f - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    return have == sizeof *f;
}

int la_proc_start(struct la_procs *p, const struct la_exec *x, pid_t *pid, enum la_exec_stage *stage)
{
    struct proc_failure f = { LA_EXEC_FORK, 0 };
    struct proc_group *g;
    sigset_t all, old;
    int ends[2], err = proc_room(p);

    *stage = LA_EXEC_FORK;
    if (err == 0)
        err = la_pipe(ends);
    if (err != 0)
        return err;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    *pid = proc_fork(p, x, ends[1]);
    err = *pid < 0 ? errno : 0;
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    close(ends[1]);
    if (err == 0 && proc_outcome(ends[0], &f)) {
        proc_wait(*pid);
        if (x->guarded)
            (void)guard_tell(p, *pid, WORD_OVER);
        *stage = (enum la_exec_stage)f.stage;
        err = f.error != 0 ? f.error : EIO;
    }
    close(ends[0]);
    if (err != 0)
        return err;
    g = &p->groups[p->groups_count++];
    g->pid = *pid;
    g->collected = 0;
    g->guarded = x->guarded;
    return 0;
}

/* ---- Finding a program --------------------------------------------------------------------------- */

static int proc_is_program(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return errno == ENOTDIR ? ENOENT : errno;
    return S_ISREG(s.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

/* What is relative to the directory of the process-to-be is looked at from there; out is what exec gets
 * after chdir. */
static int proc_try(const char *dir, const char *folder, size_t folder_size, const char *name, char *out,
                    size_t size)
{
    char whole[PATH_MAX];
    int n = snprintf(out, size, "%.*s%s%s", (int)folder_size, folder, folder_size > 0 ? "/" : "", name);

    if (n < 0 || (size_t)n >= size || folder_size > (size_t)INT_MAX)
        return ENAMETOOLONG;
    if (out[0] == '/' || dir == NULL || dir[0] == '\0')
        return proc_is_program(out);
    n = snprintf(whole, sizeof whole, "%s/%s", dir, out);
    return n < 0 || (size_t)n >= sizeof whole ? ENAMETOOLONG : proc_is_program(whole);
}

int la_proc_find(const char *name, char *const *env, const char *dir, char *out, size_t size)
{
    const char *path = "/usr/local/bin:/usr/bin:/bin";
    int found = ENOENT, err;

    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/') != NULL)
        return proc_try(dir, "", 0, name, out, size);
    for (; env != NULL && *env != NULL; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            path = *env + 5;
    for (;; path++) {
        size_t n = strcspn(path, ":");
        err = proc_try(dir, n > 0 ? path : ".", n > 0 ? n : 1, name, out, size);
        if (err == 0)
            return 0;
        if (err != ENOENT)
            found = err;
        path += n;
        if (*path == '\0')
            return found;
    }
}

/* ---- Collecting and signalling ------------------------------------------------------------------- */

static int proc_index(const struct la_procs *p, pid_t pid)
{
    int i;

    for (i = 0; i < p->groups_count; i++)
        if (p->groups[i].pid == pid)
            return i;
    return -1;
}

/* A number may belong to somebody else once its group is empty, so it is forgotten at once then. */
static int proc_is_empty(pid_t pid)
{
    return kill(-pid, 0) != 0 && errno == ESRCH;
}

static void proc_check_orphans(struct la_procs *p)
{
    int i;

    for (i = p->groups_count - 1; i >= 0 && p->orphans > 0; i--)
        if (p->groups[i].collected && proc_is_empty(p->groups[i].pid))
            proc_forget(p, i);
}

static void proc_collected(struct la_procs *p, int i)
{
    if (proc_is_empty(p->groups[i].pid)) {
        proc_forget(p, i);
        return;
    }
    p->groups[i].collected = 1;
    p->orphans++;
}

void la_procs_collect(struct la_procs *p, void (*fn)(void *ctx, pid_t pid, int status), void *ctx)
{
    int status, i, strangers = 0;
    pid_t pid;

    for (;;) {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0)
            break;
        if (pid == p->guard) {
            p->guard = 0;
            (void)guard_start(p);
            continue;
        }
        i = proc_index(p, pid);
        if (i < 0 || p->groups[i].collected) {
            strangers = 1;
            continue;
        }
        proc_collected(p, i);
        fn(ctx, pid, status);
    }
    if (strangers)
        proc_check_orphans(p);
}

void la_proc_signal(const struct la_procs *p, pid_t pid, int number)
{
    if (proc_index(p, pid) >= 0)
        (void)kill(-pid, number);
}

void la_procs_signal(const struct la_procs *p, int number)
{
    int i;

    for (i = 0; i < p->groups_count; i++)
        if (p->groups[i].guarded)
            (void)kill(-p->groups[i].pid, number);
}

int la_procs_left(const struct la_procs *p)
{
    return p->groups_count;
}

/* ---- Signals ------------------------------------------------------------------------------------- */

#if defined(__linux__)
int la_signals_open(const int *numbers, int count, int *fd)
{
    sigset_t set;
    int i;

    sigemptyset(&set);
    for (i = 0; i < count; i++)
        if (!proc_is_nohup(numbers[i]))
            sigaddset(&set, numbers[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return PHX_EIO;
    *fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd < 0 ? PHX_EMFILE : 0;
}

int la_signals_next(int fd)
{
    struct signalfd_siginfo s;
    ssize_t n = read(fd, &s, sizeof s);

    return n == (ssize_t)sizeof s ? (int)s.ssi_signo : 0;
}
#else
/* A handler would need a variable that belongs to nobody; a kqueue does not. */
int la_signals_open(const int *numbers, int count, int *fd)
{
    struct kevent change;
    sigset_t set;
    int i;

    sigemptyset(&set);
    *fd = kqueue();
    if (*fd < 0)
        return PHX_EMFILE;
    (void)fcntl(*fd, F_SETFD, FD_CLOEXEC);
    for (i = 0; i < count; i++) {
        if (proc_is_nohup(numbers[i]))
            continue;
        sigaddset(&set, numbers[i]);
        EV_SET(&change, (uintptr_t)numbers[i], EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
        if (kevent(*fd, &change, 1, NULL, 0, NULL) != 0)
            return PHX_EIO;
    }
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? 0 : PHX_EIO;
}

int la_signals_next(int fd)
{
    struct timespec now = { 0, 0 };
    struct kevent e;

    return kevent(fd, NULL, 0, &e, 1, &now) == 1 ? (int)e.ident : 0;
}
#endif
