/* t_hosts.c - lists of hosts as people, host files, Slurm and PBS write them. */
/* Promise 104. */

#include "test.h"

#include "extras/launch/place.h"
#include "extras/launch/text.h"
#include "phoenix.h"

/* The hosts as one line: name, :slots, user@ before, >via behind, ! for a gateway only. */
static const char *shown(const struct la_hosts *h, struct la_text *t)
{
    uint32_t i;

    t->size = 0;
    la_text_add(t, "", 0);
    for (i = 0; i < h->count; i++) {
        const struct la_host *one = &h->list[i];

        la_text_say(t, "%s%s%s%s", i > 0 ? " " : "", one->user != NULL ? one->user : "",
                    one->user != NULL ? "@" : "", one->name);
        if (one->slots > 0)
            la_text_say(t, ":%u", one->slots);
        if (one->via != NULL)
            la_text_say(t, ">%s", one->via);
        if (one->gateway_only)
            la_text_say(t, "!");
    }
    return t->at;
}

enum source { LIST, HOSTFILE, SLURM, PBS };

static int read_hosts(struct la_hosts *h, enum source from, const char *text, const char *more, char *why)
{
    int err;

    memset(h, 0, sizeof *h);
    why[0] = '\0';
    if (from == SLURM)
        return la_hosts_slurm(h, text, more, why);
    if (from == PBS)
        return la_hosts_pbs(h, text, strlen(text), why);
    err = from == LIST ? la_hosts_list(h, text, why) : la_hosts_file(h, text, strlen(text), "hosts.txt", why);
    return err != 0 ? err : la_hosts_gateways(h, why);
}

static void gives(enum source from, const char *text, const char *more, const char *want)
{
    struct la_text t = { 0 };
    char why[LA_TEXT];
    struct la_hosts h;
    int err = read_hosts(&h, from, text, more, why);
    const char *got = shown(&h, &t);

    ok(err == 0 && strcmp(got, want) == 0, "%.*s: %.60s %s", (int)strcspn(text, "\n"), text, got, why);
    la_text_free(&t);
    la_hosts_free(&h);
}

static void refused(enum source from, const char *text, const char *more, const char *want)
{
    char why[LA_TEXT];
    struct la_hosts h;
    int err = read_hosts(&h, from, text, more, why);

    ok(err == PHX_EINVAL && strcmp(why, want) == 0, "refused: %s", why);
    la_hosts_free(&h);
}

/* Goal: lists are read as Slurm's own tools read them. Method: what these printed, case by case. */
static void test_ranges(void)
{
    gives(LIST, "n[1,3,5-6]", NULL, "n1 n3 n5 n6");
    gives(LIST, "n[9-11]", NULL, "n9 n10 n11");
    gives(LIST, "n[09-11]", NULL, "n09 n10 n11");
    gives(LIST, "n[008-010]", NULL, "n008 n009 n010");
    gives(LIST, "n[01-3]", NULL, "n01 n02 n03");
    gives(LIST, "a[1-2]b[1-2]", NULL, "a1b1 a1b2 a2b1 a2b2");
    gives(LIST, "n[1-2]x[5]", NULL, "n1x5 n2x5");
    gives(LIST, "[1-3]", NULL, "1 2 3");
    gives(LIST, "n[1-2],,m", NULL, "n1 n2 m");
    gives(LIST, "n[1-2]-eth", NULL, "n1-eth n2-eth");
    gives(LIST, "r1n[1-2],r2n1", NULL, "r1n1 r1n2 r2n1");
    gives(LIST, "n[3,1-2]", NULL, "n3 n1 n2");
    gives(LIST, "n[01-02,3]", NULL, "n01 n02 n3");
    gives(LIST, "a[99-101]", NULL, "a99 a100 a101");
}

static void test_ranges_refused(void)
{
    refused(LIST, "n[3-1]", NULL, "hosts, column 3: this range runs backward: \"3-1\"");
    refused(LIST, "n[]", NULL, "hosts, column 3: a number is missing in brackets");
    refused(LIST, "n[a-c]", NULL, "hosts, column 3: a number is missing in brackets");
    refused(LIST, "n[1-]", NULL, "hosts, column 5: a number is missing in brackets");
    refused(LIST, "n[1-2", NULL, "hosts, column 2: this bracket is not closed: \"[1-2\"");
    refused(LIST, "n[1x2]", NULL, "hosts, column 4: a comma or a bracket is missing before \"x\"");
    refused(LIST, "n1]", NULL, "hosts, column 3: no part of a host name: \"]\"");
    refused(LIST, "n[1-1234567890]", NULL, "hosts, column 5: too large a number \"1234567890\"");
    refused(LIST, "n[0-999999999]", NULL, "hosts, column 3: more than 65536 hosts");
    refused(LIST, "n[1-300]m[1-300]", NULL, "hosts, column 1: more than 65536 hosts");
    refused(LIST, "a[1-60000],b[1-60000]", NULL, "hosts, column 12: more than 65536 hosts");
    refused(LIST, "", NULL, "hosts, column 1: no host is named");
    refused(LIST, ",,", NULL, "hosts, column 1: no host is named");
    refused(LIST, "a,-oProxyCommand=x", NULL, "hosts, column 17: no part of a host name: \"=\"");
    refused(LIST, "a,-R", NULL, "hosts, column 3: no host name \"-R\"");
    refused(LIST, "a,-R@b", NULL, "hosts, column 3: no host name \"b\"");
    refused(LIST, "a b", NULL, "hosts, column 2: no part of a host name: \" \"");
    refused(LIST, "a;b", NULL, "hosts, column 2: no part of a host name: \";\"");
    refused(LIST, "a\n", NULL, "hosts, column 2: no part of a host name: \"?\"");
}

static void test_counts(void)
{
    gives(LIST, "a:8,b", NULL, "a:8 b");
    gives(LIST, "a[01-03]:8,b:2", NULL, "a01:8 a02:8 a03:8 b:2");
    gives(LIST, "me@a,b", NULL, "me@a b");
    gives(LIST, "a,a,b,a", NULL, "a:2 b a");
    gives(LIST, "a:2,a:3", NULL, "a:5");
    refused(LIST, "a:0", NULL, "hosts, column 3: a host with count 0");
    refused(LIST, "a:", NULL, "hosts, column 3: a count is missing behind the colon");
    refused(LIST, "a:x", NULL, "hosts, column 3: a count is missing behind the colon");
    refused(LIST, "a:-1", NULL, "hosts, column 3: a count is missing behind the colon");
    refused(LIST, "a:9999999999", NULL, "hosts, column 3: too large a count \"9999999999\"");
    refused(LIST, "a:8:9", NULL, "hosts, column 4: no part of a host name: \":\"");
}

static void test_files(void)
{
    gives(HOSTFILE, "a\nb:4\n", NULL, "a b:4");
    gives(HOSTFILE, "# all\n\n  a:2   # first\r\n\tb:4 binding=user:0,1 user=me#x\nc", NULL, "a:2 me@b:4 c");
    gives(HOSTFILE, "a:2\na:3\nb\nb\na:1\n", NULL, "a:5 b:2 a:1");
    gives(HOSTFILE, "a[1-3]:2 user=u\n", NULL, "u@a1:2 u@a2:2 u@a3:2");
    gives(HOSTFILE, "a user=x\na user=y\na\n", NULL, "x@a y@a:2");
    refused(HOSTFILE, "a\nb:4 slots=4\n", NULL, "hosts.txt:2:5: unknown word \"slots=4\"");
    refused(HOSTFILE, "a\n\n   b:0\n", NULL, "hosts.txt:3:6: a host with count 0");
    refused(HOSTFILE, "a\nb[3-1]\n", NULL, "hosts.txt:2:3: this range runs backward: \"3-1\"");
    refused(HOSTFILE, "a,b\n", NULL, "hosts.txt:1:2: one item in each line, not \",\"");
    refused(HOSTFILE, "a user=\n", NULL, "hosts.txt:1:3: no name: \"user=\"");
    refused(HOSTFILE, "a user=-x\n", NULL, "hosts.txt:1:3: no name: \"user=-x\"");
    refused(HOSTFILE, "a user=x user=y\n", NULL, "hosts.txt:1:10: said twice: \"user=y\"");
    refused(HOSTFILE, "a \x01\x02\n", NULL, "hosts.txt:1:3: unknown word \"??\"");
    refused(HOSTFILE, "# nobody\n\n", NULL, "hosts.txt: no host is named");
    refused(HOSTFILE, "", NULL, "hosts.txt: no host is named");
}

static void test_gateways(void)
{
    gives(HOSTFILE, "a via=g\nb via=g\nc\n", NULL, "a>g b>g c g!");
    gives(HOSTFILE, "g:2\na via=g\n", NULL, "g:2 a>g");
    gives(HOSTFILE, "a via=g\ng via=h\n", NULL, "a>g g>h h!");
    gives(HOSTFILE, "b via=y\na via=x\nc via=y\n", NULL, "b>y a>x c>y y! x!");
    refused(HOSTFILE, "a via=a\n", NULL, "a circle of gateways: a via a");
    refused(HOSTFILE, "x\na via=b\nb via=a\n", NULL, "a circle of gateways: a via b via a");
    refused(HOSTFILE, "x via=a\na via=b\nb via=c\nc via=a\n", NULL,
            "a circle of gateways: a via b via .. via a");
    refused(HOSTFILE, "a via=b;c\n", NULL, "hosts.txt:1:3: no name: \"via=b;c\"");
    refused(HOSTFILE, "a via=me@b\n", NULL,
            "hosts.txt:1:3: a gateway's user stands in a line of its own: \"via=me@b\"");
}

static void test_many_gateways(void)
{
    struct la_text t = { 0 };
    char why[LA_TEXT];
    struct la_hosts h;
    int i;

    for (i = 0; i < 64; i++)
        la_text_say(&t, "h%d via=h%d\n", i, i + 1);
    ok(read_hosts(&h, HOSTFILE, t.at, NULL, why) == 0 && h.count == 65 && h.list[64].gateway_only,
       "64 gateways one behind the other %s", why);
    la_hosts_free(&h);
    for (; i < 80; i++)
        la_text_say(&t, "h%d via=h%d\n", i, i + 1);
    ok(read_hosts(&h, HOSTFILE, t.at, NULL, why) == PHX_EINVAL && strstr(why, "more than 64 ga") != NULL,
       "80 are refused: %s", why);
    la_hosts_free(&h);
    la_text_free(&t);
}

static void test_slurm(void)
{
    gives(SLURM, "n[1-3]", "4,3,1", "n1:4 n2:3 n3:1");
    gives(SLURM, "n[1-3]", "3(x2),1", "n1:3 n2:3 n3:1");
    gives(SLURM, "n[1-3]", "1(x3)", "n1:1 n2:1 n3:1");
    gives(SLURM, "n[1-2]x[5],m", NULL, "n1x5 n2x5 m");
    refused(SLURM, "n[1-3]", "4,3", "SLURM_TASKS_PER_NODE names 2 hosts, SLURM_JOB_NODELIST 3");
    refused(SLURM, "n[1-3]", "4(x4)", "SLURM_TASKS_PER_NODE names 4 hosts, SLURM_JOB_NODELIST 3");
    refused(SLURM, "n[1-3]", "", "SLURM_TASKS_PER_NODE names 0 hosts, SLURM_JOB_NODELIST 3");
    refused(SLURM, "n[1-3]", "4(x", "SLURM_TASKS_PER_NODE: \"4(x\" is no list of tasks");
    refused(SLURM, "n[1-3]", "4(x0)", "SLURM_TASKS_PER_NODE: \"4(x0)\" is no list of tasks");
    refused(SLURM, "n[1-3]", "4,,1", "SLURM_TASKS_PER_NODE: \"4,,1\" is no list of tasks");
    refused(SLURM, "n[1-3]", "0(x3)", "SLURM_TASKS_PER_NODE: \"0(x3)\" is no list of tasks");
    refused(SLURM, "n[1-3]", "4,3,1,", "SLURM_TASKS_PER_NODE: \"4,3,1,\" is no list of tasks");
    refused(SLURM, "n[1-", "4", "SLURM_JOB_NODELIST:1:5: a number is missing in brackets");
    refused(SLURM, "a:3", "4", "SLURM_JOB_NODELIST:1:2: no part of a host name: \":\"");
    refused(SLURM, "", "4", "SLURM_JOB_NODELIST:1:1: no host is named");
}

static void folds(const char *text, const char *want)
{
    struct la_text t = { 0 };
    const char *names[64];
    char why[LA_TEXT];
    struct la_hosts h, back;
    uint32_t i, same;

    check(read_hosts(&h, LIST, text, NULL, why) == 0, "%s", why);
    for (i = 0; i < h.count; i++)
        names[i] = h.list[i].name;
    la_hosts_fold(&t, names, h.count);
    check(read_hosts(&back, LIST, t.at, NULL, why) == 0, "%s: %s", t.at, why);
    for (i = same = 0; i < h.count && i < back.count; i++)
        same += strcmp(h.list[i].name, back.list[i].name) == 0;
    ok(strcmp(t.at, want) == 0 && same == h.count && back.count == h.count, "%s folds to %s", text, t.at);
    la_text_free(&t);
    la_hosts_free(&h);
    la_hosts_free(&back);
}

/* Goal: names are folded as Slurm prints them, and unfold to the same ones. */
static void test_folds(void)
{
    folds("r1n1,r1n2,r2n1", "r1n[1-2],r2n1");
    folds("n3,n1,n2", "n[3,1-2]");
    folds("n01,n02,n3", "n[01-02,3]");
    folds("n9,n10,n11", "n[9-11]");
    folds("n09,n10,n11", "n[09-11]");
    folds("n09,n010", "n[09,010]");
    folds("n99,n100", "n[99-100]");
    folds("a,b,c", "a,b,c");
    folds("n1-eth,n2-eth,n3", "n[1-2]-eth,n3");
    folds("n1,n3,n1", "n[1,3,1]");
    folds("n12345678901,n12345678902", "n12345678901,n12345678902");
    folds("7,8", "[7-8]");
}

static void test_pbs(void)
{
    gives(PBS, "a\na\nb\nb\n", NULL, "a:2 b:2");
    gives(PBS, "b\na\nb\n\nb", NULL, "b:3 a:1");
    refused(PBS, "a\nb c\n", NULL, "PBS_NODEFILE:2:1: no host name \"b c\"");
    refused(PBS, "", NULL, "PBS_NODEFILE: no host is named");
}

/* Goal: no text does harm. Method: random words of the grammar, cut by a heap block's end, under ASan. */
static void test_hostile(void)
{
    static const char *const part[] = { "n", "[", "]", "1", "-", ",", ":", "09", " ", "#", "\n",
                                        "via=", "user=", "a", "@", "(x2)", "\t", "999999999",
                                        "\xff", "binding=", "b" };
    uint32_t seed = 7, i, k, taken = 0;
    char why[LA_TEXT];

    for (i = 0; i < 30000; i++) {
        struct la_text t = { 0 };
        struct la_hosts h;
        char *copy;

        la_text_add(&t, "", 0);
        for (k = 0; k < 3 + i % 9; k++) {
            seed = seed * 1664525u + 1013904223u;
            la_text_say(&t, "%s", part[(seed >> 16) % (sizeof part / sizeof *part)]);
        }
        copy = la_text_copy(t.at, t.size);
        why[0] = '\0';
        if (read_hosts(&h, (enum source)(i % 4), copy, "1(x2),1", why) == 0)
            taken += check(h.count > 0 && h.list[0].name[0] != '-', "hosts are there") != 0;
        else
            check(why[0] != '\0' && strchr(why, '\n') == NULL && strlen(why) < LA_TEXT - 1, "one line");
        la_hosts_free(&h);
        la_text_free(&t);
        free(copy);
    }
    ok(taken > 500, "nonsense does no harm (%u of 30000 were hosts)", taken);
}

int main(void)
{
    test_ranges();
    test_ranges_refused();
    test_counts();
    test_files();
    test_gateways();
    test_many_gateways();
    test_slurm();
    test_folds();
    test_pbs();
    test_hostile();
    return test_end();
}
