/* t_options.c - command lines, configuration files and environments that become jobs; and the plan. */

#include "test.h"

#include "extras/launch/args.h"
#include "extras/launch/options.h"
#include "extras/launch/plan.h"
#include "phoenix.h"

#include <sys/stat.h>
#include <unistd.h>

/* A command line in one string, words between blanks; ~ stands for a blank inside a word. */
struct line {
    char text[2000];
    char *argv[100];
    int argc;
};

static void cut(struct line *l, const char *text)
{
    char *at;

    snprintf(l->text, sizeof l->text, "phxrun %s", text);
    l->argc = 0;
    for (at = l->text; *at != '\0' && l->argc < 99;) {
        l->argv[l->argc++] = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    for (at = l->text; at < l->text + sizeof l->text; at++)
        if (*at == '~')
            *at = ' ';
    l->argv[l->argc] = NULL;
}

static int read_line(struct la_options *o, const char *text, char **environ, char why[LA_TEXT])
{
    static char *const none[] = { NULL };
    struct line l;

    cut(&l, text);
    return la_options(l.argc, l.argv, environ != NULL ? environ : (char **)(void *)none, o, why);
}

/* Agents with ranks as "host=first-last,..." between blanks. */
static void show(const struct la_job *j, struct la_text *t)
{
    uint32_t i, k;

    t->size = 0;
    la_text_add(t, "", 0);
    for (i = 0; i < j->agents_count; i++)
        for (k = 0; k < j->agents[i].runs_count; k++)
            la_text_say(t, "%s%s%u-%u", k > 0 ? "," : i > 0 && t->size > 0 ? " " : "",
                        k > 0 ? "" : j->agents[i].host, j->agents[i].runs[k].first,
                        j->agents[i].runs[k].first + j->agents[i].runs[k].count - 1);
}

static void gives_in(char **environ, const char *text, const char *want)
{
    struct la_text t = { 0 };
    struct la_options o;
    char why[LA_TEXT];
    int err = read_line(&o, text, environ, why);

    show(&o.job, &t);
    ok(err == 0 && strcmp(t.at, want) == 0, "%s: %s%s", text, t.at, why);
    la_text_free(&t);
    la_options_free(&o);
}

static void gives(const char *text, const char *want)
{
    gives_in(NULL, text, want);
}

static void refused_in(char **environ, const char *text, const char *want)
{
    struct la_options o;
    char why[LA_TEXT];
    int err = read_line(&o, text, environ, why);

    ok(err == PHX_EINVAL && strcmp(why, want) == 0, "refused: %s", err == 0 ? text : why);
    la_options_free(&o);
}

static void refused(const char *text, const char *want)
{
    refused_in(NULL, text, want);
}

/* A file in the directory of build products, and its path. */
static const char *file(const char *name, const char *text)
{
    static char path[200];
    FILE *f;

    mkdir("build", 0777);
    snprintf(path, sizeof path, "build/t_options.%ld.%s", (long)getpid(), name);
    f = fopen(path, "w");
    check(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
    return path;
}

/* ---- Words ------------------------------------------------------------------------------------- */

static void test_ranks(void)
{
    gives("-n 4 --hosts a:2,b:2 ./prog", "a0-1 b2-3");
    gives("-np 4 -hosts a,b ./prog", "a0-0,2-2 b1-1,3-3");
    gives("-n=4 -ppn 2 --hosts=a,b ./prog -n 7 --help", "a0-1 b2-3");
    gives("-n 4 --place cyclic -ppn 2 --hosts a,b ./prog", "a0-0,2-2 b1-1,3-3");
    gives("--hosts a:2,b:3 ./prog", "a0-1 b2-4");
    gives("--hosts a,b -ppn 3 ./prog", "a0-2 b3-5");
    gives("--hosts a --hosts b ./prog", "a0-0 b1-1");
    gives("--hosts a:4 ./a : -n 2 ./b : ./c", "a0-3");
    gives("-k --hosts a:4,b uptime", "a0-0 b1-1");
    gives("-n 2 --hosts a,b -- -odd", "a0-0 b1-1");
}

static void test_wrong_words(void)
{
    refused("", "no program is named; phxrun --help shows how");
    refused("-n 4", "no program is named; phxrun --help shows how");
    refused("-n 4 :", "program 1 has no name");
    refused("-n 4 a :", "program 2 has no name");
    refused("-n 4 a : : b", "program 2 has no name");
    refused("-n", "-n: a word is missing behind it");
    refused("-n 0 a", "-n: is 0, at least 1 is needed");
    refused("-n -1 a", "-n: no number within bounds: \"-1\"");
    refused("-n x a", "-n: no number within bounds: \"x\"");
    refused("-n 99999999999999999999 a", "-n: no number within bounds: \"99999999999999999999\"");
    refused("--frobnicate a", "unknown option --frobnicate; phxrun --help lists all");
    refused("-bind-to core a",
            "-bind-to is an option of Hydra's mpiexec and not of phxrun: no process is bound "
            "to processors here");
    refused("-launcher ssh a",
            "-launcher is an option of Hydra's mpiexec and not of phxrun: say --start ssh, "
            "srun or fork");
    refused("a : -ppn 2 b", "-ppn: belongs before the first program, since it is for all");
    refused("--start rsh a", "--start: one of ssh|srun|fork, not \"rsh\"");
    refused("--start a", "--start: one of ssh|srun|fork, not \"a\"");
    refused("--timeout soon a", "--timeout: no time in seconds: \"soon\"");
    refused("--push-limit 3x a", "--push-limit: no number of bytes: \"3x\"");
    refused("--json=yes -k a", "--json=yes: takes no value, but there is \"yes\"");
    refused("--json a", "--json goes with -k or --dry-run");
    refused("--degree 1 a", "--degree: a tree of degree 1 is none");
    refused("-k -n 2 a", "-k runs one process of one program on each host: no -n, -ppn or second program");
    refused("--hosts n[3-1] a", "hosts, column 3: this range runs backward: \"3-1\"");
    refused("--hosts a:0 a", "hosts, column 3: a host with count 0");
    refused("-outfile-pattern x.%q a",
            "-outfile-pattern: after % stands r (rank), h (host) or %, in \"x.%q\"");
    refused("-errfile-pattern x% a", "-errfile-pattern: after % stands r (rank), h (host) or %, in \"x%\"");
    refused("--stdin 4 -n 4 a", "--stdin: there is no rank 4");
    refused("--stdin some a", "--stdin: all, none or a rank, not \"some\"");
    refused("--detect 1,2 a", "--detect: default, fast, or interval,timeout,broken of 10ms to a day each");
    refused("--detect 1,2,3,4 a",
            "--detect: default, fast, or interval,timeout,broken of 10ms to a day each");
    refused("--detect 1,2,1ms a",
            "--detect: default, fast, or interval,timeout,broken of 10ms to a day each");
    refused("-genvnone -genvlist A a", "-genvnone and -genvlist contradict each other");
    refused("-env =x y a", "-env: no name of a variable: \"=x\"");
    refused("-env A", "-env: a word is missing behind it");
    refused("-f /nowhere/hosts a", "/nowhere/hosts: No such file or directory");
    refused("-f / a", "/: Is a directory");
    refused("--ssh rsh --start fork a", "--ssh goes with --start ssh only");
}

static void test_settings(void)
{
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o,
                 "-n 3 -l -v --timeout 1.5 --grace 250ms --start-timeout 2m --cut-wait 10us --pmi port "
                 "--cache lazy --push-limit 64k --on-failure continue --stdin all --detect 1,0.5,20ms "
                 "--agent /x/phxrun --stage ./s --copy --ssh /bin/rsh -outfile-pattern o.%r.%h --hosts me@a "
                 "-wdir sub ./p 1~2",
                 NULL, why)
           == 0,
       "many options at once %s", why);
    ok(o.job.label && o.job.verbose && o.timeout_us == 1500000 && o.job.grace_us == 250000
           && o.job.start_timeout_us == 120000000 && o.job.cut_wait_us == 10 && o.job.pmi == LA_PMI_PORT
           && o.job.lazy && o.job.push_limit == 65536 && o.job.go_on && o.job.stdin_to == LA_STDIN_ALL,
       "numbers and choices");
    ok(o.job.detector == LA_DETECT_TIMES && o.job.detect_us[0] == 1000000 && o.job.detect_us[1] == 500000
           && o.job.detect_us[2] == 20000 && strcmp(o.job.agent, "/x/phxrun") == 0
           && strcmp(o.job.stage, "./s") == 0 && o.job.copy && strcmp(o.job.ssh, "/bin/rsh") == 0
           && strcmp(o.job.out_pattern, "o.%r.%h") == 0,
       "times and strings");
    ok(o.job.programs[0].dir[0] == '/' && strstr(o.job.programs[0].dir, "/sub") != NULL
           && strcmp(o.job.programs[0].argv[1], "1 2") == 0 && o.job.programs[0].argv[2] == NULL
           && o.job.programs[0].env == NULL && o.job.starter == LA_SSH && o.job.size == 3
           && strcmp(o.job.agents[1].user, "me") == 0,
       "a program, its directory as seen from here");
    la_options_free(&o);
    ok(read_line(&o, "--detect fast --pmgr ./p", NULL, why) == 0 && o.job.detector == LA_DETECT_FAST
           && o.job.pmi == LA_PMI_PMGR && o.job.grace_us == 2000000 && o.job.start_timeout_us == 60000000
           && o.job.cut_wait_us == 10000000 && o.job.push_limit == 16 << 20 && o.timeout_us == 0
           && !o.job.go_on && o.job.stdin_to == LA_STDIN_RANK && o.job.stdin_rank == 0 && o.job.size == 1
           && o.job.agents_count == 1 && o.job.agents[0].node == 0 && o.job.dir[0] == '/',
       "without a word: one process here, 2 s, 60 s, 10 s, 16 MiB");
    la_options_free(&o);
    ok(read_line(&o, "-k --push-limit 0 ./p", NULL, why) == 0 && o.job.each
           && o.job.stdin_to == LA_STDIN_NONE && o.job.lazy,
       "-k reads no input; nothing to push is lazy");
    la_options_free(&o);
}

/* Whether a job's environment has this entry. */
static int has_entry(const struct la_job *j, const char *entry)
{
    char **e;

    for (e = j->env; *e != NULL; e++)
        if (strcmp(*e, entry) == 0)
            return 1;
    return 0;
}

/* Goal: what MPI programs are told of failures, by --ft or FTMPI_MODE, and what it changes here. */
static void test_ft(void)
{
    static char mode[] = "FTMPI_MODE=shrink";
    static char *const environ[] = { mode, NULL };
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o, "--ft rebuild,strict ./p", NULL, why) == 0 && o.job.ft && o.job.ftmpi && o.job.go_on
           && has_entry(&o.job, "FTMPI_MODE=rebuild,strict") && o.job.cut_wait_us == 60000000,
       "--ft: a job that goes on, and is MPI");
    ok(o.job.detector == LA_DETECT_TIMES && o.job.detect_us[0] == 1000000 && o.job.detect_us[1] == 2000000
           && o.job.detect_us[2] == 500000, "silence is told soon");
    la_options_free(&o);
    ok(read_line(&o, "--ft ulfm --cut-wait 1500ms --detect fast ./p", NULL, why) == 0
           && has_entry(&o.job, "FTMPI_CUT_WAIT=2") && o.job.detector == LA_DETECT_FAST,
       "ranks wait as long as agents, in whole seconds; a detector that was asked for");
    la_options_free(&o);
    ok(read_line(&o, "--ft abort,cont ./p", NULL, why) == 0 && !o.job.ft && o.job.ftmpi && !o.job.go_on
           && o.job.detector == LA_DETECT_DEFAULT, "abort");
    la_options_free(&o);
    ok(read_line(&o, "--ftmpi ./p", (char **)(void *)environ, why) == 0 && o.job.ft
           && has_entry(&o.job, mode), "FTMPI_MODE says the same");
    la_options_free(&o);
    ok(read_line(&o, "./p", (char **)(void *)environ, why) == 0 && !o.job.ft, "but not of what is no MPI");
    la_options_free(&o);
    ok(read_line(&o, "--ft abort ./p", (char **)(void *)environ, why) == 0 && !o.job.ft
           && has_entry(&o.job, "FTMPI_MODE=abort"), "a word outdoes it");
    la_options_free(&o);
    refused("--ft rebuilt ./p", "--ft: it is abort|blank|shrink|rebuild|rebuild-end|ulfm[,nop|cont]"
                                "[,loose|strict], not \"rebuilt\"");
    ok(read_line(&o, "--ftmpi --ft , ./p", NULL, why) == PHX_EINVAL, "a comma alone");
    la_options_free(&o);
}

static void test_programs(void)
{
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o, "-n 2 -env A 1 ./a x : -n 3 -env B=2 -env B 3 -wdir /tmp ./b : ./c", NULL, why) == 0,
       "three programs %s", why);
    ok(o.job.programs_count == 3 && o.job.size == 6 && o.job.programs[0].ranks == 2
           && o.job.programs[1].ranks == 3 && o.job.programs[2].ranks == 1,
       "ranks of each, one if nothing is said");
    ok(strcmp(o.job.programs[0].env[0], "A=1") == 0 && strcmp(o.job.programs[1].env[0], "B=3") == 0
           && o.job.programs[1].env[1] == NULL && strcmp(o.job.programs[1].dir, "/tmp") == 0
           && strcmp(o.job.programs[0].argv[1], "x") == 0 && strcmp(o.job.programs[2].argv[0], "./c") == 0,
       "variables and directories of each; of two values the later");
    la_options_free(&o);
}

static void test_print(void)
{
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o, "--help", NULL, why) == 0 && strstr(o.print, "usage: phxrun") == o.print
           && strstr(o.print, "--hosts a[01-64]") != NULL, "--help has examples");
    la_options_free(&o);
    ok(read_line(&o, "-version --nonsense", NULL, why) == 0 && strstr(o.print, PHX_VERSION) != NULL,
       "--version");
    la_options_free(&o);
}

/* The whole of a small file; the test is run from the top of the tree. */
static char *whole(const char *path)
{
    char *text = calloc(1, 100000);
    FILE *f = fopen(path, "r");

    check(f != NULL && text != NULL && fread(text, 1, 99999, f) > 0, "%s", path);
    if (f != NULL)
        fclose(f);
    return text;
}

/* Whether -name stands in a text as a word of its own. In the page dashes are \-. */
static int names(const char *text, const char *name)
{
    size_t size = strlen(name);

    for (; (text = strstr(text, name)) != NULL; text += size)
        if (text[-1] == '-' && strchr(" ,\"\n:|]", text[size]) != NULL)
            return 1;
    return 0;
}

/* Goal: the manual page has all options, --help all but second names. Method: the table in args.c. */
static void test_manual(void)
{
    static const char second[] = " np perhost host hostfile machinefile s h V info verbose version "
                                 "prepend-rank help ";
    char *table = whole("extras/launch/args.c"), *page = whole("extras/launch/phxrun.1"), *at, *to;
    struct la_text help = { 0 };
    char name[40], blank[44];
    uint32_t options = 0, missing = 0;

    for (at = to = page; *at != '\0'; at++)
        if (*at != '\\')
            *to++ = *at;
    *to = '\0';
    la_plan_help(&help);
    for (at = table; (at = strstr(at, "\n    { \"")) != NULL; at++) {
        char kind[20];

        if (sscanf(at, " { \"%39[^\"]\", %19[A-Z]", name, kind) != 2 || strcmp(kind, "GONE") == 0)
            continue;
        snprintf(blank, sizeof blank, " %s ", name);
        options++;
        missing += !check(names(page, name), "the manual page has -%s", name);
        missing += !check(strstr(second, blank) != NULL || names(help.at, name), "--help has -%s", name);
    }
    ok(options > 40 && missing == 0, "manual page and --help have all of %u options", options);
    la_text_free(&help);
    free(table);
    free(page);
}

/* ---- Configuration files ----------------------------------------------------------------------- */

static void config(const char *text, const char *want, const char *wrong)
{
    char words[300], why[LA_TEXT];
    struct la_text t = { 0 };
    struct la_options o;
    const char *path = file("config", text);
    uint32_t i, k;
    int err;

    snprintf(words, sizeof words, "--hosts a:9 -configfile %s", path);
    err = read_line(&o, words, NULL, why);
    la_text_add(&t, "", 0);
    for (i = 0; i < o.job.programs_count; i++) {
        la_text_say(&t, "%s%u", i > 0 ? " / " : "", o.job.programs[i].ranks);
        for (k = 0; o.job.programs[i].argv[k] != NULL; k++)
            la_text_say(&t, "|%s", o.job.programs[i].argv[k]);
    }
    if (want != NULL)
        ok(err == 0 && strcmp(t.at, want) == 0, "a configuration file: %s%s", t.at, why);
    else
        ok(err == PHX_EINVAL && strstr(why, wrong) != NULL, "refused: %s", why);
    la_text_free(&t);
    la_options_free(&o);
    unlink(path);
}

static void test_config(void)
{
    config("-n 2 ./a x\n# more\n-n 3 ./b 'y z' \"it's\" a\\ b ''\n\n", "2|./a|x / 3|./b|y z|it's|a b|", NULL);
    config("-n 2 ./a \\\n  : x # end\n", "2|./a|:|x", NULL);
    config("./a", "9|./a", NULL);
    config("-ppn 3 -n 2 ./a x#y\r\n", "2|./a|x#y", NULL);
    config("-n 2 ./a 'x\n", NULL, ":1: this quote is not closed");
    config("# none\n", NULL, ": no program is named");
    config("", NULL, ": no program is named");
    config("-n 2\n./a\n", NULL, "program 1 has no name");
    config("-configfile x ./a\n", NULL, "a configuration file names no other one");
    config("./a\n-l ./b\n", NULL, "-l: belongs before the first program, since it is for all");
    refused("-configfile x ./a", "-configfile: programs stand in the file or behind it, not both");
    refused("-configfile /nowhere/x", "/nowhere/x: No such file or directory");
}

/* ---- Environments ------------------------------------------------------------------------------ */

static int has(const struct la_options *o, const char *entry)
{
    char **e;
    int n = 0;

    for (e = o->job.env; e != NULL && *e != NULL; e++)
        n += strcmp(*e, entry) == 0;
    return n;
}

static int count(const struct la_options *o)
{
    int n = 0;

    while (o->job.env != NULL && o->job.env[n] != NULL)
        n++;
    return n;
}

static void test_environment(void)
{
    char *world[] = { "A=1", "B=x\ny", "odd", "=bad", "PATH=/bin", "SLURM_PROCID=3", "SLURM_STEP_NODELIST=a",
                      "SLURM_STEPID=1", "SLURMD_NODENAME=n", "SLURM_LOCALID=0", "SLURM_NODEID=0",
                      "SLURM_LAUNCH_NODE_IPADDR=1", "SLURM_JOB_ID=7", "PMI_FD=9", "PMI_RANK=0",
                      "PMI_FDX=1", "E=", NULL };
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o, "./p", world, why) == 0 && count(&o) == 6 && has(&o, "A=1") && has(&o, "B=x\ny")
           && has(&o, "PATH=/bin") && has(&o, "SLURM_JOB_ID=7") && has(&o, "PMI_FDX=1") && has(&o, "E="),
       "all goes along but what says which process of which start this is");
    la_options_free(&o);
    ok(read_line(&o, "-genvlist A,E,NONE,PMI_FD ./p", world, why) == 0 && count(&o) == 2 && has(&o, "A=1")
           && has(&o, "E="), "-genvlist");
    la_options_free(&o);
    ok(read_line(&o, "-genvnone -genv C 2 -genv C 3 ./p", world, why) == 0 && count(&o) == 1
           && has(&o, "C=3"),
       "-genvnone, and of two values the later");
    la_options_free(&o);
    ok(read_line(&o, "-genv A 2 -genv X=a=b ./p", world, why) == 0 && count(&o) == 7 && has(&o, "A=2")
           && !has(&o, "A=1") && has(&o, "X=a=b"), "-genv goes on top");
    la_options_free(&o);
    ok(read_line(&o, "-genvnone ./p", world, why) == 0 && o.job.env != NULL && count(&o) == 0, "none at all");
    la_options_free(&o);
}

static void test_slurm(void)
{
    char *three[] = { "SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x2),1", NULL };
    char *old[] = { "SLURM_NODELIST=n[1-3]", "SLURM_NPROCS=2", "SLURM_TASKS_PER_NODE=1(x3)", NULL };
    char *more[] = { "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=1,2", NULL };
    char *odd[] = { "SLURM_JOB_NODELIST=n[1-3]", "SLURM_NTASKS=many", NULL };
    struct la_options o;
    char why[LA_TEXT];

    gives_in(three, "./p", "n10-1 n22-3 n34-4");
    gives_in(three, "-n 2 ./p", "n10-1");
    gives_in(three, "-ppn 1 ./p", "n10-0 n21-1 n32-2");
    gives_in(old, "./p", "n10-0 n21-1");
    gives_in(three, "--hosts x ./p", "x0-0");
    refused_in(more, "./p", "SLURM_TASKS_PER_NODE names 2 hosts, SLURM_JOB_NODELIST 3");
    refused_in(odd, "./p", "SLURM_NTASKS: \"many\" is no number of processes");
    ok(read_line(&o, "./p", three, why) == 0 && o.job.starter == LA_SRUN && o.job.universe == 5,
       "in an allocation srun is what starts");
    la_options_free(&o);
    ok(read_line(&o, "--start ssh ./p", three, why) == 0 && o.job.starter == LA_SSH, "unless told otherwise");
    la_options_free(&o);
}

static void test_files(void)
{
    char words[300], variable[300];
    char *world[] = { variable, NULL };
    const char *path = file("hosts", "a:2\nb:2 via=g\n");

    snprintf(words, sizeof words, "-f %s ./p", path);
    gives(words, "a0-1 b2-3");
    snprintf(words, sizeof words, "--start srun -f %s ./p", path);
    refused(words, "b: srun starts no host behind a gateway; say --start ssh");
    snprintf(variable, sizeof variable, "PBS_NODEFILE=%s", file("pbs", "x\nx\ny\nx\n"));
    gives_in(world, "./p", "x0-2 y3-3");
    gives_in(world, "--hosts z ./p", "z0-0");
    snprintf(words, sizeof words, "-f %s ./p", file("bad", "a\nb slots=4\n"));
    snprintf(variable, sizeof variable, "%s:2:3: unknown word \"slots=4\"", file("bad", "a\nb slots=4\n"));
    refused(words, variable);
    unlink(file("bad", ""));
    unlink(file("pbs", ""));
    unlink(file("hosts", ""));
}

/* ---- The plan ---------------------------------------------------------------------------------- */

static void plan(const char *words, const char *want)
{
    struct la_options o;
    char why[LA_TEXT];
    int err = read_line(&o, words, NULL, why);

    if (!ok(err == 0 && o.print != NULL && strcmp(o.print, want) == 0, "the plan of %s %s", words, why))
        printf("# got: %s\n", o.print != NULL ? o.print : "nothing");
    la_options_free(&o);
}

static void test_plan(void)
{
    plan("--dry-run -n 6 --start fork --hosts a:2,b:2,c:2 ./p x : -n 1 ./q",
         "7 processes on 3 hosts, 4 agents, started by fork\n"
         "degree 2, the least that holds 4 hosts in 2 levels; depth 2\n"
         "mapping (vector,(0,3,2))\n"
         "program 0, 6 times: ./p x\n"
         "program 1, 1 times: ./q\n"
         "agent 0 on launcher (launcher)\n"
         "  agent 1 on a: ranks 0-1,6\n"
         "    agent 2 on b: ranks 2-3\n"
         "  agent 3 on c: ranks 4-5\n");
    plan("--dry-run --json -n 2 --start fork --hosts a,me@b ./p q\"\\\x01\xff\xc3\xa9",
         "{\"size\":2,\"hosts\":2,\"universe\":-1,\"starter\":\"fork\",\"degree\":2,\"depth\":1,"
         "\"mapping\":\"(vector,(0,2,1))\",\"warnings\":[],\"programs\":[{\"ranks\":2,\"argv\":[\"./p\","
         "\"q\\\"\\\\\\u0001\\ufffd\xc3\xa9\"]}],\"agents\":[\n"
         "{\"agent\":0,\"parent\":null,\"host\":\"launcher\",\"user\":null,\"node\":null,\"ranks\":[]},\n"
         "{\"agent\":1,\"parent\":0,\"host\":\"a\",\"user\":null,\"node\":0,\"ranks\":[[0,0]]},\n"
         "{\"agent\":2,\"parent\":0,\"host\":\"b\",\"user\":\"me\",\"node\":1,\"ranks\":[[1,1]]}]}\n");
}

static void test_warnings(void)
{
    /* Promise 103. */
    struct la_options o;
    char why[LA_TEXT];

    ok(read_line(&o, "-n 5 --hosts a:2,b:2 ./p", NULL, why) == 0 && o.warnings.count == 1
           && strcmp(o.warnings.at[0], "more ranks than slots: 3 on a, which has 2") == 0,
       "more ranks than slots is one warning");
    la_options_free(&o);
    ok(read_line(&o, "-n 1000000 ./p", NULL, why) == 0 && o.warnings.count == 1
           && strstr(o.warnings.at[0], "more ranks than processors: 1000000 on ") == o.warnings.at[0],
       "and so is more than processors: %s", o.warnings.count > 0 ? o.warnings.at[0] : "none");
    la_options_free(&o);
    ok(read_line(&o, "-n 4 --hosts a:2,b:2 ./p", NULL, why) == 0 && o.warnings.count == 0,
       "else there is none");
    la_options_free(&o);
    ok(read_line(&o, "-v --hosts a,b,c ./p", NULL, why) == 0 && o.warnings.count == 1
           && strcmp(o.warnings.at[0], "degree 2, the least that holds 4 hosts in 2 levels; depth 2") == 0,
       "-v says the degree and why");
    la_options_free(&o);
}

/* ---- Nonsense ---------------------------------------------------------------------------------- */

/* Goal: no words do harm. Method: random ones; each is a job, or a line says why not. */
static void test_hostile(void)
{
    static const char *const part[] = { "-n",        "4",        ":", "./p",   "-hosts",    "a,b",   "-ppn",
                                        "0",         "-env",     "A", "B=1",   "-k",        "--",    "-wdir",
                                        "-genvnone", "--stdin",  "-", "",      "--detect",  "1,1,1", "-l",
                                        "--hosts=c", "--degree", "3", "-genv", "--dry-run", "--json" };
    uint32_t seed = 5, i, k, jobs = 0, lines = 0;
    struct la_options o;
    char why[LA_TEXT];
    char *argv[12], *none[] = { NULL };

    for (i = 0; i < 20000; i++) {
        for (k = 1; k < 2 + i % 9; k++) {
            seed = seed * 1664525u + 1013904223u;
            argv[k] = (char *)(size_t)(const void *)part[(seed >> 16) % (sizeof part / sizeof *part)];
        }
        argv[0] = argv[1];
        argv[k] = NULL;
        if (la_options((int)k, argv, none, &o, why) == 0)
            jobs += check(o.print != NULL || o.job.size > 0, "a job") != 0;
        else
            lines += check(why[0] != '\0' && strchr(why, '\n') == NULL && strlen(why) < LA_TEXT - 1, "a line")
                     != 0;
        la_options_free(&o);
    }
    ok(jobs > 500 && jobs + lines == i, "nonsense is refused in a line (%u of %u were jobs)", jobs, i);
    argv[0] = NULL;
    ok(la_options(0, argv, none, &o, why) == PHX_EINVAL, "no words at all");
    la_options_free(&o);
}

int main(void)
{
    test_ranks();
    test_wrong_words();
    test_settings();
    test_ft();
    test_programs();
    test_print();
    test_manual();
    test_config();
    test_environment();
    test_slurm();
    test_files();
    test_plan();
    test_warnings();
    test_hostile();
    return test_end();
}
