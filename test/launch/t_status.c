/* t_status.c - how a job ends: statuses, and the lines about them. */

#include "test.h"

#include "extras/launch/status.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What waitpid gives for a child that ends so. */
static int ended(int code, int by_signal)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (by_signal) {
            signal(by_signal, SIG_DFL);
            raise(by_signal);
        }
        _exit(code);
    }
    check(child > 0 && waitpid(child, &status, 0) == child, "a child that ended");
    return status;
}

static void test_codes(void)
{
    ok(la_status_of_wait(ended(0, 0)) == 0 && la_status_of_wait(ended(3, 0)) == 3
           && la_status_of_wait(ended(255, 0)) == 255,
       "the code of a process that exits is its own");
    ok(la_status_of_wait(ended(0, SIGKILL)) == 137 && la_status_of_wait(ended(0, SIGTERM)) == 143,
       "of one that is killed 128 + signal");
    ok(la_status_of_abort(7) == 7 && la_status_of_abort(-1) == 255 && la_status_of_abort(256) == 1
           && la_status_of_abort(0) == 1 && la_status_of_abort(257) == 1 && la_status_of_abort(-256) == 1,
       "an abort's is the low byte, and never 0");
    ok(la_status_of_errno(ENOENT, 0) == 127 && la_status_of_errno(EACCES, 0) == 126
           && la_status_of_errno(ENOEXEC, 0) == 126 && la_status_of_errno(EISDIR, 0) == 126
           && la_status_of_errno(ENOMEM, 0) == 1 && la_status_of_errno(ENOENT, 1) == 1,
       "missing 127, not executable 126, else 1");
}

static void test_job(void)
{
    static const int codes[] = { 0, 3, 0, 137, 1 };
    struct la_status first = { 0 }, worst = { 0 };
    size_t i;

    ok(first.code == 0, "no failure is status 0");
    for (i = 0; i < sizeof codes / sizeof *codes; i++) {
        la_status_add(&first, codes[i], 0);
        la_status_add(&worst, codes[i], 1);
    }
    ok(first.code == 3 && first.failures == 3, "the first failure counts");
    ok(worst.code == 137 && worst.failures == 3, "with -k the worst");
}

static void test_lines(void)
{
    char line[LA_TEXT], longest[2000];

    la_status_say(line, 3, "b", ended(7, 0));
    ok(strcmp(line, "rank 3 on b: ended with status 7") == 0, "%s", line);
    la_status_say(line, 0, "b", ended(0, SIGKILL));
    ok(strncmp(line, "rank 0 on b: killed by signal 9 (", 33) == 0, "%s", line);
    la_status_say_errno(line, 1, "b", "./none", ENOENT, 0);
    ok(strstr(line, "rank 1 on b: cannot execute ./none: ") == line, "%s", line);
    la_status_say_errno(line, 1, "b", "/none", ENOENT, 1);
    ok(strstr(line, "rank 1 on b: cannot enter directory /none: ") == line, "%s", line);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    la_status_say_errno(line, 4000000000u, longest, longest, ENOENT, 1);
    ok(strlen(line) < LA_TEXT && strstr(line, strerror(ENOENT)) != NULL, "it says why, if names are long");
}

int main(void)
{
    test_codes();
    test_job();
    test_lines();
    return test_end();
}
