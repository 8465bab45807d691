/* memory.c - each allocation of the launcher's brains fails once: see memory.sh. */

/* memory.sh compiles the brains with malloc, calloc and realloc renamed to those below. Goal: whichever
 * fails, the caller hears PHX_ENOMEM and nothing leaks (the sanitizer tells). Method: command lines that lead
 * through all of place, plan, job and spawn, once for each allocation that they make. */
#include "test.h"

#include "extras/launch/options.h"
#include "extras/launch/spawn.h"
#include "phoenix.h"

void *fail_malloc(size_t size);
void *fail_calloc(size_t count, size_t size);
void *fail_realloc(void *old, size_t size);

static long calls, fail_at; /* how many there were, and which of them fails; 0: none */

static int fails(void)
{
    return ++calls == fail_at;
}

void *fail_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

void *fail_calloc(size_t count, size_t size)
{
    return fails() ? NULL : calloc(count, size);
}

void *fail_realloc(void *old, size_t size)
{
    return fails() ? NULL : realloc(old, size);
}

static int spawn(const struct la_job *running)
{
    char worker[] = "worker", host[] = "host", b[] = "b", path[] = "path", x[] = "/x";
    char *argv[] = { worker, x, NULL }, *info[] = { host, b, path, x, NULL };
    struct la_spawn_block blocks[] = { { 3, argv, NULL }, { 2, argv, info } };
    struct la_spawn s = { blocks, 2, info };
    struct la_spawn_owned owned;
    unsigned char *bytes = NULL;
    char why[LA_TEXT];
    struct la_job job;
    size_t size = 0;
    int err = la_spawn_job(&job, running, NULL, &s, why);

    la_job_free(&job);
    if (err == 0)
        err = la_spawn_encode(&s, &bytes, &size);
    if (err == 0)
        err = la_spawn_decode(&owned, bytes, size);
    if (err == 0)
        la_spawn_free(&owned);
    free(bytes);
    return err;
}

static int there_and_back(struct la_job *job)
{
    unsigned char *bytes = NULL;
    struct la_job back;
    size_t size = 0;
    int err;

    job->key[0] = 1;
    job->kvsname = la_text_dup("kvs");
    if (job->kvsname == NULL)
        return PHX_ENOMEM;
    err = la_job_encode(job, job->agents_count > 1, &bytes, &size);
    if (err == 0)
        err = la_job_decode(&back, bytes, size);
    if (err == 0)
        la_job_free(&back);
    free(bytes);
    return err;
}

/* Everything that one command line leads to. */
static int once(char **argv)
{
    char a[] = "A=1", b[] = "SLURM_JOB_NODELIST=n[1-2],b", c[] = "SLURM_TASKS_PER_NODE=2(x3)";
    char *environ[] = { a, b, c, NULL };
    struct la_options o;
    char why[LA_TEXT];
    int argc = 0, err;

    while (argv[argc] != NULL)
        argc++;
    err = la_options(argc, argv, environ, &o, why);
    if (err == 0 && o.job.size > 0)
        err = there_and_back(&o.job);
    if (err == 0 && o.job.size > 0)
        err = spawn(&o.job);
    la_options_free(&o);
    return err;
}

static void torture(const char *words)
{
    char text[1000], *argv[40], *at = text;
    long total, bad = 0;
    int argc = 0;

    snprintf(text, sizeof text, "phxrun %s", words);
    while (*at != '\0' && argc < 39) {
        argv[argc++] = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    argv[argc] = NULL;
    calls = fail_at = 0;
    if (!ok(once(argv) == 0, "%s", words))
        return;
    total = calls;
    for (fail_at = 1; fail_at <= total; fail_at++) {
        calls = 0;
        bad += !check(once(argv) == PHX_ENOMEM, "allocation %ld of %s", fail_at, words);
    }
    ok(bad == 0 && total > 3, "any of its %ld allocations may fail", total);
}

/* argv: a host file and a configuration file. */
int main(int argc, char **argv)
{
    char words[800];

    if (argc != 3)
        return 2;
    snprintf(words, sizeof words, "-f %s --start ssh --place cyclic -genv X y --dry-run --json -n 7 ./p a : "
             "-n 2 -env K v -wdir sub ./q", argv[1]);
    torture(words);
    snprintf(words, sizeof words, "--hosts a[1-3]:2,b:9 -ppn 2 -configfile %s", argv[2]);
    torture(words);
    torture("-ppn 2 --degree 2 --dry-run ./p");
    torture("-k -genvlist A,B ./p");
    torture("--help");
    return test_end();
}
