/* options.c - from a command line and an environment to a job that is placed. */

#define _POSIX_C_SOURCE 200809L
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "options.h"
#include "../ftmpi/lib/modes.h"
#include "../../phoenix.h"
#include "args.h"
#include "file.h"
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_PATH_MAX ((size_t)1 << 16)
#define OPTIONS_NAME 256                    /* of a host */
#define OPTIONS_GRACE_US 2000000u
#define OPTIONS_START_US 60000000u
#define OPTIONS_CUT_US 10000000u
#define OPTIONS_FT_CUT_US 60000000u         /* as long as the ranks wait by themselves */
#define OPTIONS_PUSH (16u << 20)

/* What la_options works on. */
struct work {
    struct la_options *o;
    struct la_args args;
    struct la_hosts hosts;
    char **environ;
    char local[2 * OPTIONS_NAME + 32]; /* this host's names */
    int in_slurm;                      /* inside an allocation */
    uint32_t ranks;                    /* as the allocation says; 0: it does not */
    char *why;
};

/* ---- Tools ------------------------------------------------------------------------------------- */

static const char *variable(const struct work *w, const char *name)
{
    size_t size = strlen(name);
    char **e;

    for (e = w->environ; e != NULL && *e != NULL; e++)
        if (strncmp(*e, name, size) == 0 && (*e)[size] == '=' && (*e)[size + 1] != '\0')
            return *e + size + 1;
    return NULL;
}

/* ---- Words ------------------------------------------------------------------------------------- */

/* The programs of a configuration file. */
static int read_config(struct work *w)
{
    struct la_text text = { 0 };
    char *path = w->args.configfile, **words = NULL;
    size_t count = 0;
    int err;

    w->args.configfile = NULL;
    err = la_file_read(path, &text, w->why);
    if (err == 0)
        err = la_args_split(text.at, text.size, path, &words, &count, w->why);
    if (err == 0)
        err = la_args_read(&w->args, words, count, 1, w->why);
    la_args_unsplit(words, count);
    la_text_free(&text);
    free(path);
    return err;
}

static int check_pattern(struct work *w, const char *option, const char *pattern)
{
    const char *at;

    for (at = pattern; at != NULL && (at = strchr(at, '%')) != NULL; at += 2)
        if (at[1] != 'r' && at[1] != 'h' && at[1] != '%') {
            snprintf(w->why, LA_TEXT, "%s: after %% stands r (rank), h (host) or %%, in \"%.100s\"", option,
                     pattern);
            return PHX_EINVAL;
        }
    return 0;
}

/* What the words say together. */
static int check_words(struct work *w)
{
    const struct la_args *a = &w->args;
    const char *wrong = NULL;
    int err = check_pattern(w, "-outfile-pattern", a->out_pattern);

    if (err == 0)
        err = check_pattern(w, "-errfile-pattern", a->err_pattern);
    if (err != 0)
        return err;
    if (a->each && (a->programs_count > 1 || a->programs[0].ranks > 0 || a->ppn > 0))
        wrong = "-k runs one process of one program on each host: no -n, -ppn or second program";
    else if (a->json && !a->each && !a->dry_run)
        wrong = "--json goes with -k or --dry-run";
    else if (a->degree == 1)
        wrong = "--degree: a tree of degree 1 is none";
    else if (a->genvnone && a->genvlist != NULL)
        wrong = "-genvnone and -genvlist contradict each other";
    else if (a->ssh != NULL && a->starter >= 0 && a->starter != LA_SSH)
        wrong = "--ssh goes with --start ssh only";
    else if (a->copy && a->starter > LA_SSH)
        wrong = "--copy goes with --start ssh only";
    if (wrong != NULL)
        snprintf(w->why, LA_TEXT, "%s", wrong);
    return wrong != NULL ? PHX_EINVAL : 0;
}

/* ---- Failures of MPI programs ------------------------------------------------------------------ */

/* How MPI programs meet failures: what --ft says, and else FTMPI_MODE. They find that in their environment,
 * with the patience of the agents. 0, PHX_EINVAL, PHX_ENOMEM. */
static int read_ft(struct work *w)
{
    struct la_args *a = &w->args;
    struct ftm_modes modes = { 0, 0, 0 };
    const char *text = a->ft != NULL ? a->ft : a->ftmpi ? variable(w, "FTMPI_MODE") : NULL;
    char entry[256];

    if (text != NULL && ftm_modes_read(&modes, text) != 0) {
        snprintf(w->why, LA_TEXT, "%s: it is " FTM_MODES_WORDS ", not \"%.40s\"",
                 a->ft != NULL ? "--ft" : "FTMPI_MODE", text);
        return PHX_EINVAL;
    }
    w->o->job.ft = modes.comm != FTMPI_COMM_MODE_ABORT;
    a->ftmpi |= a->ft != NULL;
    if (a->ft != NULL) {
        snprintf(entry, sizeof entry, "FTMPI_MODE=%s", a->ft);
        la_text_list_add(&a->genv, entry, strlen(entry));
    }
    if (a->ftmpi && a->cut_wait_us != UINT64_MAX) {
        snprintf(entry, sizeof entry, "FTMPI_CUT_WAIT=%llu",
                 (unsigned long long)(a->cut_wait_us + 999999) / 1000000);
        la_text_list_add(&a->genv, entry, strlen(entry));
    }
    return a->genv.failed ? PHX_ENOMEM : 0;
}

/* ---- Environment ------------------------------------------------------------------------------- */

/* Variables that say which process of which start this is: they are the launcher's, not those of what it
 * starts, and a launcher inside would be misled. The agents set their own. A star ends a prefix. */
static int is_ours(const char *entry)
{
    static const char *const names[] = {
        "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_STEP*", "SLURM_LAUNCH_NODE_IPADDR",
        "SLURMD_NODENAME", "SLURM_TASK_PID", "SLURM_GTIDS", "SLURM_SRUN_COMM*", "PMI_FD", "PMI_RANK",
        "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMI_SPAWNED", "PMI_JOBID", "PMI_TOTALVIEW", "NLA_FD", "NLA_RANK",
        "NLA_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPIRUN_RANK", "MPIRUN_NPROCS", "MPIRUN_ID",
        "MPIRUN_HOST", "MPIRUN_PORT",
    };
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strcspn(names[i], "*");

        if (strncmp(entry, names[i], size) == 0 && (names[i][size] == '*' || entry[size] == '='))
            return 1;
    }
    return 0;
}

/* Whether the name of an entry stands in "A,B,C". */
static int is_listed(const char *entry, const char *list)
{
    size_t size = strcspn(entry, "=");

    while (list != NULL) {
        if (strcspn(list, ",") == size && memcmp(list, entry, size) == 0)
            return 1;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return 0;
}

/* Whether an entry of the list says something about the variable of another entry. */
static int is_said(const struct la_list *l, const char *entry)
{
    size_t size = strcspn(entry, "=") + 1, i;

    for (i = 0; i < l->count; i++)
        if (strncmp(l->at[i], entry, size) == 0)
            return 1;
    return 0;
}

/* K=V, later ones instead of earlier ones. */
static void add_unique(struct la_list *out, const struct la_list *from)
{
    size_t i, k;

    for (i = 0; i < from->count; i++) {
        struct la_list later = *from;

        k = i + 1;
        later.at += k;
        later.count -= k;
        if (!is_said(&later, from->at[i]))
            la_text_list_add(out, from->at[i], strlen(from->at[i]));
    }
}

static int give_list(struct la_list *l, char ***out)
{
    if (!l->failed && l->at == NULL) {
        la_text_list_add(l, "", 0);
        if (!l->failed) {
            free(l->at[0]);
            l->at[0] = NULL;
        }
    }
    if (l->failed) {
        la_text_list_free(l);
        return PHX_ENOMEM;
    }
    *out = l->at;
    return 0;
}

static int fill_environment(struct work *w)
{
    const struct la_args *a = &w->args;
    struct la_list all = { 0 };
    char **e;

    for (e = w->environ; e != NULL && *e != NULL && !a->genvnone; e++) {
        const char *sign = strchr(*e, '=');

        if (sign == NULL || sign == *e || is_ours(*e) || is_said(&a->genv, *e)
            || (a->genvlist != NULL && !is_listed(*e, a->genvlist)))
            continue;
        la_text_list_add(&all, *e, strlen(*e));
    }
    add_unique(&all, &a->genv);
    return give_list(&all, &w->o->job.env);
}

/* ---- Hosts ------------------------------------------------------------------------------------- */

/* As the system calls it, in short, and as everybody does. */
static void name_this_host(struct work *w)
{
    char name[OPTIONS_NAME] = "";
    size_t i;

    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        strncpy(name, "localhost", sizeof name - 1);
    for (i = 0; name[i] != '\0'; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", name[i]) == NULL)
            name[i] = '-';
    if (name[0] == '-')
        name[0] = 'x';
    snprintf(w->local, sizeof w->local, "%s,%.*s,localhost,127.0.0.1", name, (int)strcspn(name, "."), name);
}

static int hosts_of_file(struct work *w, const char *path, int pbs)
{
    struct la_text text = { 0 };
    int err = la_file_read(path, &text, w->why);

    if (err == 0)
        err = pbs ? la_hosts_pbs(&w->hosts, text.at, text.size, w->why)
                  : la_hosts_file(&w->hosts, text.at, text.size, path, w->why);
    la_text_free(&text);
    return err;
}

static int hosts_of_words(struct work *w)
{
    size_t i;
    int err = 0;

    for (i = 0; i < w->args.hosts.count && err == 0; i++) {
        const char *word = w->args.hosts.at[i];

        err = word[0] == 'l' ? la_hosts_list(&w->hosts, word + 1, w->why) : hosts_of_file(w, word + 1, 0);
    }
    return err;
}

static int hosts_of_slurm(struct work *w, const char *nodes)
{
    const char *ranks = variable(w, "SLURM_NTASKS");
    unsigned long n = 0;

    if (ranks == NULL)
        ranks = variable(w, "SLURM_NPROCS");
    if (ranks != NULL && la_text_number(ranks, strlen(ranks), 1, LA_RANKS_MAX, &n) != 0) {
        snprintf(w->why, LA_TEXT, "SLURM_NTASKS: \"%.100s\" is no number of processes", ranks);
        return PHX_EINVAL;
    }
    w->ranks = (uint32_t)n;
    return la_hosts_slurm(&w->hosts, nodes, variable(w, "SLURM_TASKS_PER_NODE"), w->why);
}

/* This host alone. */
static int host_of_ours(struct work *w)
{
    char name[OPTIONS_NAME];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(w->local, ","), w->local);
    return la_hosts_list(&w->hosts, name, w->why);
}

static int find_hosts(struct work *w)
{
    const char *nodes = variable(w, "SLURM_JOB_NODELIST"), *file = variable(w, "PBS_NODEFILE");
    int err;

    if (nodes == NULL)
        nodes = variable(w, "SLURM_NODELIST");
    w->in_slurm = nodes != NULL;
    if (w->args.hosts.count > 0)
        err = hosts_of_words(w);
    else if (nodes != NULL)
        err = hosts_of_slurm(w, nodes);
    else if (file != NULL)
        err = hosts_of_file(w, file, 1);
    else
        err = host_of_ours(w);
    return err != 0 ? err : la_hosts_gateways(&w->hosts, w->why);
}

/* ---- Ranks ------------------------------------------------------------------------------------- */

/* How many processes one program gets if nobody says how many: one on each host; or as many as there are
 * slots, of which a host has -ppn, or as many as its list says, or one. */
static uint64_t all_slots(const struct work *w)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < w->hosts.count; i++) {
        const struct la_host *h = &w->hosts.list[i];

        if (h->gateway_only)
            continue;
        if (w->args.each || (w->args.ppn == 0 && h->slots == 0))
            sum++;
        else
            sum += w->args.ppn > 0 ? w->args.ppn : h->slots;
    }
    return sum;
}

static uint32_t ranks_of(const struct work *w, const struct la_args_program *p)
{
    uint64_t slots = all_slots(w);

    if (p->ranks > 0)
        return p->ranks;
    if (w->args.programs_count > 1)
        return 1;
    if (w->ranks > 0 && !w->args.each && w->args.ppn == 0)
        return w->ranks;
    return slots <= LA_RANKS_MAX ? (uint32_t)slots : LA_RANKS_MAX + 1;
}

/* A directory as it is from here: agents do not know where the launcher was. */
static char *absolute(const struct work *w, const char *dir)
{
    struct la_text t = { 0 };

    if (dir[0] == '/' || w->o->job.dir[0] == '\0')
        return la_text_dup(dir);
    la_text_say(&t, "%s/%s", w->o->job.dir, dir);
    if (t.failed)
        la_text_free(&t);
    return t.at;
}

static int fill_program(struct work *w, const struct la_args_program *from, struct la_program *to)
{
    struct la_list env = { 0 };
    size_t i;
    struct la_list argv = { 0 };

    for (i = 0; i < from->argv.count; i++)
        la_text_list_add(&argv, from->argv.at[i], strlen(from->argv.at[i]));
    add_unique(&env, &from->env);
    to->ranks = ranks_of(w, from);
    if (give_list(&argv, &to->argv) != 0) {
        la_text_list_free(&env);
        return PHX_ENOMEM;
    }
    if (env.count > 0 || env.failed) {
        if (give_list(&env, &to->env) != 0)
            return PHX_ENOMEM;
    }
    if (from->dir != NULL) {
        to->dir = absolute(w, from->dir);
        if (to->dir == NULL)
            return PHX_ENOMEM;
    }
    return 0;
}

static int fill_programs(struct work *w)
{
    struct la_job *job = &w->o->job;
    size_t i;
    int err = 0;

    job->programs = calloc(w->args.programs_count, sizeof *job->programs);
    if (job->programs == NULL)
        return PHX_ENOMEM;
    job->programs_count = (uint32_t)w->args.programs_count;
    for (i = 0; i < w->args.programs_count && err == 0; i++)
        err = fill_program(w, &w->args.programs[i], &job->programs[i]);
    return err;
}

/* ---- The job ----------------------------------------------------------------------------------- */

/* Where we are; "" if that has no name. */
static int fill_directory(struct work *w)
{
    size_t size = 256;
    char *dir = malloc(size), *bigger;

    while (dir != NULL && getcwd(dir, size) == NULL) {
        if (errno != ERANGE || size > OPTIONS_PATH_MAX) {
            dir[0] = '\0';
            break;
        }
        size *= 2;
        bigger = realloc(dir, size);
        if (bigger == NULL)
            free(dir);
        dir = bigger;
    }
    w->o->job.dir = dir;
    return dir != NULL ? 0 : PHX_ENOMEM;
}

static int is_again(const struct la_hosts *h, uint32_t at)
{
    uint32_t i;

    for (i = 0; i < at; i++)
        if (strcmp(h->list[i].name, h->list[at].name) == 0)
            return 1;
    return 0;
}

static int choose_starter(struct work *w)
{
    uint32_t i;

    w->o->job.starter = w->args.starter;
    if (w->args.starter < 0)
        w->o->job.starter = w->in_slurm && w->args.ssh == NULL && !w->args.copy ? LA_SRUN : LA_SSH;
    for (i = 0; w->o->job.starter == LA_SRUN && i < w->hosts.count; i++)
        if (is_again(&w->hosts, i)) {
            snprintf(w->why, LA_TEXT, "%.100s is named twice, and srun starts one agent on a host",
                     w->hosts.list[i].name);
            return PHX_EINVAL;
        } else if (w->hosts.list[i].via != NULL) {
            snprintf(w->why, LA_TEXT, "%.100s: srun starts no host behind a gateway; say --start ssh",
                     w->hosts.list[i].name);
            return PHX_EINVAL;
        }
    return 0;
}

static uint64_t or_else(uint64_t value, uint64_t otherwise)
{
    return value != UINT64_MAX ? value : otherwise;
}

/* A host that is silent is told within four seconds: a recovery waits for that. */
static const uint64_t ft_detect_us[3] = { 1000000, 2000000, 500000 };

/* Moves strings and copies numbers. */
static void fill_settings(struct work *w)
{
    struct la_args *a = &w->args;
    struct la_job *job = &w->o->job;

    job->ssh = a->ssh;
    job->agent = a->agent;
    job->out_pattern = a->out_pattern;
    job->err_pattern = a->err_pattern;
    w->o->job.stage = a->stage;
    a->ssh = a->agent = a->out_pattern = a->err_pattern = a->stage = NULL;
    job->pmi = a->pmi;
    job->stdin_to = a->stdin_to >= 0 ? a->stdin_to : a->each ? LA_STDIN_NONE : LA_STDIN_RANK;
    job->stdin_rank = a->stdin_rank;
    job->label = a->label;
    job->verbose = a->verbose;
    job->go_on = a->on_failure == LA_FAILURE_CONTINUE || job->ft;
    job->each = a->each;
    job->lazy = a->cache == LA_CACHE_LAZY || a->push_limit == 0;
    job->push_limit = or_else(a->push_limit, OPTIONS_PUSH);
    job->grace_us = or_else(a->grace_us, OPTIONS_GRACE_US);
    job->start_timeout_us = or_else(a->start_timeout_us, OPTIONS_START_US);
    job->cut_wait_us = or_else(a->cut_wait_us, job->ft ? OPTIONS_FT_CUT_US : OPTIONS_CUT_US);
    job->detector = a->detector;
    memcpy(job->detect_us, a->detect_us, sizeof job->detect_us);
    if (job->ft && job->detector == LA_DETECT_DEFAULT) {
        job->detector = LA_DETECT_TIMES;
        memcpy(job->detect_us, ft_detect_us, sizeof ft_detect_us);
    }
    w->o->timeout_us = or_else(a->timeout_us, 0);
    w->o->json = a->json;
    w->o->job.copy = a->copy;
    job->ftmpi = a->ftmpi;
}

static void add_warning(struct work *w, const char *line)
{
    if (line[0] != '\0')
        la_text_list_add(&w->o->warnings, line, strlen(line));
}

static int place_job(struct work *w)
{
    struct la_place_config cfg;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int played = w->o->job.starter == LA_FORK && w->args.hosts.count > 0, err;

    memset(&cfg, 0, sizeof cfg);
    cfg.ppn = w->args.each ? 1 : w->args.ppn;
    cfg.cyclic = w->args.place;
    cfg.degree = w->args.degree;
    cfg.max_depth = w->args.max_depth;
    cfg.max_conn = w->args.max_conn;
    cfg.local = played ? NULL : w->local;
    cfg.processors = processors > 0 && processors < LA_RANKS_MAX ? (uint32_t)processors : 0;
    err = la_place(&w->o->job, &w->hosts, &cfg, &w->o->said, w->why);
    if (err != 0)
        return err;
    if (w->o->job.stdin_to == LA_STDIN_RANK && w->o->job.stdin_rank >= w->o->job.size) {
        snprintf(w->why, LA_TEXT, "--stdin: there is no rank %lu", (unsigned long)w->o->job.stdin_rank);
        return PHX_EINVAL;
    }
    if (w->o->job.verbose) {
        char line[LA_TEXT + 32];

        snprintf(line, sizeof line, "%s; depth %lu", w->o->said.why, (unsigned long)w->o->said.depth);
        add_warning(w, line);
    }
    add_warning(w, w->o->said.slots);
    add_warning(w, w->o->said.mapping);
    add_warning(w, w->o->said.localhost);
    return w->o->warnings.failed ? PHX_ENOMEM : 0;
}

static int print(struct work *w)
{
    struct la_text t = { 0 };

    if (w->args.help)
        la_plan_help(&t);
    else if (w->args.version)
        la_plan_version(&t);
    else if (w->args.json)
        la_plan_json(&t, &w->o->job, &w->o->said, &w->o->warnings);
    else
        la_plan_text(&t, &w->o->job, &w->o->said);
    if (t.failed) {
        la_text_free(&t);
        return PHX_ENOMEM;
    }
    w->o->print = t.at;
    return 0;
}

static int build(struct work *w)
{
    int err = check_words(w);

    name_this_host(w);
    if (err == 0)
        err = find_hosts(w);
    if (err == 0)
        err = choose_starter(w);
    if (err == 0)
        err = fill_directory(w);
    if (err == 0)
        err = read_ft(w);
    if (err == 0)
        err = fill_environment(w);
    if (err == 0)
        err = fill_programs(w);
    if (err == 0) {
        fill_settings(w);
        err = place_job(w);
    }
    return err == 0 && w->args.dry_run ? print(w) : err;
}

int la_options(int argc, char **argv, char **environ, struct la_options *out, char why[LA_TEXT])
{
    struct work w;
    int err;

    memset(out, 0, sizeof *out);
    memset(&w, 0, sizeof w);
    w.o = out;
    w.environ = environ;
    w.why = why;
    why[0] = '\0';
    la_args_init(&w.args);
    err = la_args_read(&w.args, argv + (argc > 0), argc > 0 ? (size_t)argc - 1 : 0, 0, why);
    if (err == 0 && w.args.configfile != NULL)
        err = read_config(&w);
    if (err == 0)
        err = w.args.help || w.args.version ? print(&w) : build(&w);
    la_args_free(&w.args);
    la_hosts_free(&w.hosts);
    return err;
}

void la_options_free(struct la_options *o)
{
    la_job_free(&o->job);
    la_text_list_free(&o->warnings);
    free(o->print);
    memset(o, 0, sizeof *o);
}
