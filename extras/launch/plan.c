/* plan.c - a placed job as text for people and as JSON; and what --help and --version print. */

#include "plan.h"
#include "../../phoenix.h"

#include <stdlib.h>
#include <string.h>

#define PLAN_INDENT_MAX 40 /* of a line; deeper trees are shown flat from there on */

/* A walk over the agents in preorder. `above` are those whose subtrees we are in, the root first. */
struct walk {
    const struct la_job *job;
    uint32_t *above;
    uint32_t depth, at;
};

static int begin(struct walk *w, const struct la_job *job)
{
    memset(w, 0, sizeof *w);
    w->job = job;
    w->above = calloc((size_t)job->agents_count + 1, sizeof *w->above);
    return w->above != NULL;
}

/* Leaves the subtrees that ended before agents[at]. */
static void reach(struct walk *w, uint32_t at)
{
    while (w->depth > 0 && at >= w->above[w->depth - 1] + w->job->agents[w->above[w->depth - 1]].subtree)
        w->depth--;
    w->at = at;
}

static void enter(struct walk *w)
{
    w->above[w->depth++] = w->at;
}

/* ---- For people -------------------------------------------------------------------------------- */

static const char *starter_name(const struct la_job *job)
{
    return job->starter == LA_SSH ? "ssh" : job->starter == LA_SRUN ? "srun" : "fork";
}

static void say_ranks(struct la_text *out, const struct la_agent *a)
{
    uint32_t i;

    if (a->runs_count == 0)
        return;
    la_text_say(out, a->runs_count == 1 && a->runs[0].count == 1 ? ": rank" : ": ranks");
    for (i = 0; i < a->runs_count; i++) {
        unsigned long first = a->runs[i].first, last = first + a->runs[i].count - 1;

        la_text_say(out, "%s%lu", i > 0 ? "," : " ", first);
        if (last > first)
            la_text_say(out, "-%lu", last);
    }
}

static void say_programs(struct la_text *out, const struct la_job *job)
{
    uint32_t i;
    char **word;

    for (i = 0; i < job->programs_count; i++) {
        la_text_say(out, "program %lu, %lu times:", (unsigned long)i, (unsigned long)job->programs[i].ranks);
        for (word = job->programs[i].argv; *word != NULL; word++)
            la_text_say(out, " %s", *word);
        la_text_say(out, "\n");
    }
}

static void say_agents(struct la_text *out, struct walk *w)
{
    const struct la_job *job = w->job;
    uint32_t i;

    for (i = 0; i < job->agents_count && !out->failed; i++) {
        const struct la_agent *a = &job->agents[i];
        int indent;

        reach(w, i);
        indent = w->depth < PLAN_INDENT_MAX / 2 ? (int)w->depth * 2 : PLAN_INDENT_MAX;
        la_text_say(out, "%*sagent %lu on %s%s%s", indent, "", (unsigned long)i,
                    a->user != NULL ? a->user : "", a->user != NULL ? "@" : "", a->host);
        if (i == 0)
            la_text_say(out, " (launcher)");
        else if (a->node == LA_NONE)
            la_text_say(out, " (gateway)");
        say_ranks(out, a);
        la_text_say(out, "\n");
        enter(w);
    }
}

void la_plan_text(struct la_text *out, const struct la_job *job, const struct la_place_said *said)
{
    struct walk w;

    la_text_say(out, "%lu process%s on %lu host%s, %lu agent%s, started by %s\n", (unsigned long)job->size,
                job->size == 1 ? "" : "es", (unsigned long)job->nodes, job->nodes == 1 ? "" : "s",
                (unsigned long)job->agents_count, job->agents_count == 1 ? "" : "s", starter_name(job));
    la_text_say(out, "%s; depth %lu\n", said->why, (unsigned long)said->depth);
    la_text_say(out, "mapping %s\n", job->mapping != NULL ? job->mapping : "too long to be told");
    say_programs(out, job);
    if (begin(&w, job))
        say_agents(out, &w);
    else
        out->failed = 1;
    free(w.above);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

/* How many bytes the character at s takes in UTF-8; 0: it is none. */
static size_t utf8(const unsigned char *s, size_t left)
{
    unsigned long c = s[0], least = 0;
    size_t size = s[0] < 0x80 ? 1 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0, i;

    if (size < 2)
        return size;
    if (size > left)
        return 0;
    least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
    c &= 0xffu >> (size + 1);
    for (i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : size;
}

void la_plan_string(struct la_text *out, const char *s, size_t size)
{
    const unsigned char *at = (const unsigned char *)s;
    size_t i, one;

    la_text_say(out, "\"");
    for (i = 0; i < size; i += one > 0 ? one : 1) {
        one = utf8(at + i, size - i);
        if (one == 0)
            la_text_say(out, "\\ufffd");
        else if (at[i] == '"' || at[i] == '\\')
            la_text_say(out, "\\%c", at[i]);
        else if (at[i] == '\n')
            la_text_say(out, "\\n");
        else if (at[i] < ' ' || at[i] == 0x7f)
            la_text_say(out, "\\u%04x", (unsigned)at[i]);
        else
            la_text_add(out, s + i, one);
    }
    la_text_say(out, "\"");
}

static void put_string(struct la_text *out, const char *s)
{
    if (s == NULL)
        la_text_say(out, "null");
    else
        la_plan_string(out, s, strlen(s));
}

static void put_strings(struct la_text *out, char **at)
{
    size_t i;

    la_text_say(out, "[");
    for (i = 0; at != NULL && at[i] != NULL; i++) {
        la_text_say(out, i > 0 ? "," : "");
        put_string(out, at[i]);
    }
    la_text_say(out, "]");
}

static void put_number(struct la_text *out, const char *name, uint32_t value)
{
    if (value == LA_NONE)
        la_text_say(out, "\"%s\":null", name);
    else
        la_text_say(out, "\"%s\":%lu", name, (unsigned long)value);
}

static void put_agents(struct la_text *out, struct walk *w)
{
    const struct la_job *job = w->job;
    uint32_t i, k;

    for (i = 0; i < job->agents_count && !out->failed; i++) {
        const struct la_agent *a = &job->agents[i];

        reach(w, i);
        la_text_say(out, "%s\n{\"agent\":%lu,", i > 0 ? "," : "", (unsigned long)i);
        put_number(out, "parent", w->depth > 0 ? w->above[w->depth - 1] : LA_NONE);
        la_text_say(out, ",\"host\":");
        put_string(out, a->host);
        la_text_say(out, ",\"user\":");
        put_string(out, a->user);
        la_text_say(out, ",");
        put_number(out, "node", a->node);
        la_text_say(out, ",\"ranks\":[");
        for (k = 0; k < a->runs_count; k++)
            la_text_say(out, "%s[%lu,%lu]", k > 0 ? "," : "", (unsigned long)a->runs[k].first,
                        (unsigned long)a->runs[k].first + a->runs[k].count - 1);
        la_text_say(out, "]}");
        enter(w);
    }
}

static void put_programs(struct la_text *out, const struct la_job *job)
{
    uint32_t i;

    la_text_say(out, ",\"programs\":[");
    for (i = 0; i < job->programs_count; i++) {
        la_text_say(out, "%s{\"ranks\":%lu,\"argv\":", i > 0 ? "," : "",
                    (unsigned long)job->programs[i].ranks);
        put_strings(out, job->programs[i].argv);
        la_text_say(out, "}");
    }
    la_text_say(out, "]");
}

void la_plan_json(struct la_text *out, const struct la_job *job, const struct la_place_said *said,
                  const struct la_list *warnings)
{
    struct walk w;

    la_text_say(out, "{\"size\":%lu,\"hosts\":%lu,\"universe\":%ld,\"starter\":\"%s\",\"degree\":%lu,"
                "\"depth\":%lu,\"mapping\":", (unsigned long)job->size, (unsigned long)job->nodes,
                (long)job->universe, starter_name(job), (unsigned long)said->degree,
                (unsigned long)said->depth);
    put_string(out, job->mapping);
    la_text_say(out, ",\"warnings\":");
    put_strings(out, warnings->at);
    put_programs(out, job);
    la_text_say(out, ",\"agents\":[");
    if (begin(&w, job))
        put_agents(out, &w);
    else
        out->failed = 1;
    free(w.above);
    la_text_say(out, "]}\n");
}

/* ---- Help -------------------------------------------------------------------------------------- */

static const char *const help[] = {
    "usage: phxrun [options] program [arguments] [: [-n N] [-env K V] [-wdir D] program ...]\n"
    "       phxrun -k [options] program [arguments]      one process on each host\n"
    "       phxrun [options] -configfile FILE            a program in each line of FILE\n"
    "\n"
    "  phxrun -n 4 ./prog                               four processes on this host\n"
    "  phxrun -n 512 -ppn 8 --hosts a[01-64] ./prog     on 64 hosts, by ssh\n"
    "  phxrun -f hosts ./prog : -n 1 ./other            two programs, one job\n"
    "  phxrun -k --hosts a[01-64] uptime                the same on each host, answers grouped\n"
    "  phxrun --dry-run -n 512 --hosts a[01-64] true    what would be started where\n"
    "\n"
    "One dash or two, and --name=value or --name value, make no difference.\n",

    "\nProcesses\n"
    "  -n N, -np N            how many (all slots of the hosts)\n"
    "  -ppn C, -perhost C     how many on each host before the next one is taken\n"
    "  --place block|cyclic   neighbours on one host, or one by one over the hosts (block)\n"
    "  -wdir D                working directory (this one)\n"
    "  -env K V               a variable for one program; -genv K V for all, before the first program\n"
    "  -genvlist K,K,..       of this environment only these; -genvnone: nothing of it\n"
    "  --stage FILE           send a program along; where FILE is to be run, that is run\n"
    "  --ftmpi                the program was compiled by ftmpicc (extras/ftmpi)\n"
    "  --ft MODES             the same, and what happens when a rank dies: abort, blank, shrink, rebuild,\n"
    "                         rebuild-end or ulfm; then nop or cont, loose or strict, with commas\n"
    "\n"
    "Hosts (those of Slurm or PBS; else this one)\n"
    "  --hosts LIST           a[01-16]:8,b,user@c\n"
    "  -f FILE                host[:slots] in each line, and user=NAME, via=GATEWAY behind it\n"
    "                         (-hostfile, -machinefile)\n",

    "\nInput and output\n"
    "  -l, -prepend-rank      the rank before each line\n"
    "  -outfile-pattern P     standard output into files: %r is the rank, %h the host, %% a percent sign\n"
    "  -errfile-pattern P     the same for standard error\n"
    "  --stdin all|none|RANK  who gets standard input (rank 0; none with -k)\n"
    "  --json                 results of -k, and the plan of --dry-run, as JSON\n"
    "  -v                     say more: the degree and why, times, caches\n"
    "\n"
    "Failures (times are seconds, or with ms or us behind them)\n"
    "  --timeout S            end the job after that long, with status 124\n"
    "  --on-failure abort|continue   end all when one fails, or let the others live (abort)\n"
    "  --grace S              between TERM and KILL (2)\n"
    "  --start-timeout S      until a host must have answered (60)\n"
    "  --cut-wait S           how long agents without a way to the launcher look for one (10; with --ft 60,\n"
    "                         and ranks as well)\n"
    "  --detect default|fast|I,T,B   the failure detector, or its interval, time-out and time to failed\n"
    "                         (with --ft 1,2,0.5)\n",

    "\nAgents\n"
    "  --start ssh|srun|fork  how (srun inside a Slurm allocation, else ssh); fork plays all hosts here\n"
    "  --ssh PROGRAM          what is called as ssh is\n"
    "  --agent PATH           where phxrun is over there (as here); --copy: send it through ssh\n"
    "  --degree K             children of an agent; --max-depth D (2), --max-conn N (1024) bound its choice\n"
    "  --pmi fd|port, --pmgr  what processes speak: PMI-1 and PMI-2 over PMI_FD (default) or PMI_PORT; PMGR\n"
    "  --cache push|lazy      keys go to all hosts with a barrier, or when asked for\n"
    "  --push-limit BYTES     above so many pushing ends (16MiB)\n"
    "\n"
    "  --dry-run, --help, --version\n"
    "\n"
    "Status: that of the first process to fail (128 + signal), with -k the highest; 124 time-out, 126 not\n"
    "executable, 127 no such program, 2 usage, 1 anything else.\n",
};

void la_plan_help(struct la_text *out)
{
    size_t i;

    for (i = 0; i < sizeof help / sizeof *help; i++)
        la_text_add(out, help[i], strlen(help[i]));
}

void la_plan_version(struct la_text *out)
{
    la_text_say(out, "phxrun (Phoenix) %s\n", phx_version());
}
