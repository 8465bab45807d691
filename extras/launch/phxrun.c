/* phxrun.c - starts a program on many hosts; on each of them it is the agent, too. */

/* Build: cc -O2 -I. -o phxrun extras/launch/[a-m]*.c ... phoenix.c; `make launch` does it. See README.md. */
#define _POSIX_C_SOURCE 200809L
#include "agent.h"
#include "launcher.h"
#include "status.h"
#include "step.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ; /* POSIX wants it declared by who uses it */

/* The path of this program, since agents on other hosts are looked for under the same. */
static void main_self(const char *argv0, char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);

    if (n > 0) {
        out[n] = '\0';
        return;
    }
    if (la_proc_find(argv0, environ, NULL, out, size) != 0)
        snprintf(out, size, "%s", argv0);
}

static int main_launch(int argc, char **argv, const char *self)
{
    struct la_options o;
    char why[LA_TEXT];
    int err, status;
    size_t i;

    memset(&o, 0, sizeof o);
    err = la_options(argc, argv, environ, &o, why);
    if (err != 0) {
        fprintf(stderr, "phxrun: %s\n", err == PHX_EINVAL ? why : phx_strerror(err));
        la_options_free(&o);
        return err == PHX_EINVAL ? LA_STATUS_USAGE : LA_STATUS_ERROR;
    }
    for (i = 0; i < o.warnings.count; i++)
        fprintf(stderr, "phxrun: %s\n", o.warnings.at[i]);
    if (o.print != NULL)
        status = fputs(o.print, stdout) == EOF || fflush(stdout) != 0 ? LA_STATUS_ERROR : 0;
    else
        status = la_launch(&o, self);
    la_options_free(&o);
    return status;
}

int main(int argc, char **argv)
{
    char self[PATH_MAX];

    main_self(argc > 0 ? argv[0] : "phxrun", self, sizeof self);
    if (argc > 1 && strcmp(argv[1], LA_START_AS_AGENT) == 0)
        return la_agent_main(self, argc > 2 ? argv[2] : NULL);
    if (argc > 1 && strcmp(argv[1], LA_STEP_AS_AGENT) == 0)
        return la_step_main(self);
    return main_launch(argc, argv, self);
}
