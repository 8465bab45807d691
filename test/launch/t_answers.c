/* t_answers.c - what hosts answer to phxrun -k, grouped. */

#include "test.h"

#include "extras/launch/answers.h"
#include "extras/launch/place.h"
#include "phoenix.h"

struct trial {
    struct la_job job;
    struct la_answers *a;
    struct la_text now[2];
};

/* Four hosts, a1 to a4, with a process each. */
static void begin(struct trial *t, int json)
{
    static struct la_program one = { NULL, NULL, NULL, 4, NULL };
    struct la_place_config cfg = { 0 };
    struct la_place_said said;
    struct la_hosts h = { 0 };
    char why[LA_TEXT];

    memset(t, 0, sizeof *t);
    t->job.programs = &one;
    t->job.programs_count = 1;
    check(la_hosts_list(&h, "a[1-4]", why) == 0 && la_place(&t->job, &h, &cfg, &said, why) == 0, "placed");
    t->job.programs = NULL;
    t->job.programs_count = 0;
    check(la_answers_new(&t->a, &t->job, json) == 0, "answers");
    la_hosts_free(&h);
    la_text_add(&t->now[0], "", 0);
    la_text_add(&t->now[1], "", 0);
}

static void say(struct trial *t, uint32_t rank, int stream, const char *text)
{
    check(la_answers_output(t->a, rank, stream, text, strlen(text), t->now) == 0, "said");
}

static void end(struct trial *t)
{
    la_answers_free(t->a);
    la_job_free(&t->job);
    la_text_free(&t->now[0]);
    la_text_free(&t->now[1]);
}

static void test_text(void)
{
    struct trial t;

    begin(&t, 0);
    say(&t, 3, 1, "up\n");
    say(&t, 0, 1, "u");
    say(&t, 1, 1, "down\nby 2");
    say(&t, 0, 1, "p\n");
    say(&t, 2, 2, "no such file\n");
    say(&t, 9, 1, "nobody\n");
    ok(t.now[0].size == 0 && t.now[1].size == 0, "nothing is said before the end");
    ok(la_answers_finish(t.a, t.now) == 0 && strcmp(t.now[0].at, "a[1,4]: up\na2: down\na2: by 2\n") == 0,
       "equal answers once, in the order of their first hosts");
    ok(strcmp(t.now[1].at, "a3: no such file\n") == 0, "standard error by itself");
    end(&t);
}

static void test_json(void)
{
    static const char want[] =
        "{\"hosts\":[\"a1\",\"a3\"],\"status\":0,\"stdout\":\"\\\"up\\\"\\n\",\"stderr\":\"\"}\n"
        "{\"hosts\":[\"a2\"],\"status\":3,\"stdout\":\"\\\"up\\\"\\n\",\"stderr\":\"\"}\n"
        "{\"hosts\":[\"a4\"],\"status\":null,\"stdout\":\"\\\"up\\\"\\n\",\"stderr\":\"x\"}\n";
    struct trial t;
    int i;

    begin(&t, 1);
    for (i = 0; i < 4; i++)
        say(&t, (uint32_t)i, 1, "\"up\"\n");
    say(&t, 3, 2, "x");
    la_answers_exit(t.a, 0, 0);
    la_answers_exit(t.a, 1, 3);
    la_answers_exit(t.a, 2, 0);
    ok(la_answers_finish(t.a, t.now) == 0 && strcmp(t.now[0].at, want) == 0 && t.now[1].size == 0,
       "a line for each that differs in words or status");
    end(&t);
}

/* Goal: a flood is bounded and nothing of it is lost. Method: far more than the limit, in odd pieces. */
static void test_flood(int json)
{
    size_t said = 0, lines = 0, found = 0, i;
    struct trial t;
    const char *at;

    begin(&t, json);
    say(&t, 1, 1, "quiet\n");
    for (i = 0; i < 30000; i++) {
        say(&t, 0, 1, "0123456789");
        said += 10;
        if (i % 7 == 6) {
            say(&t, 0, 1, "\n");
            lines++;
        }
    }
    ok(t.now[0].size > said - LA_ANSWER_MAX && t.now[0].size < said * 2, "what is too much goes out at once");
    la_answers_exit(t.a, 0, 1);
    check(la_answers_finish(t.a, t.now) == 0, "finished");
    for (at = t.now[0].at; (at = strstr(at, "0123456789")) != NULL; at += 10)
        found++;
    ok(found == 30000, "and all of it");
    if (json) {
        ok(strstr(t.now[0].at, "\"part\":true,\"status\":null") != NULL
               && strstr(t.now[0].at, "{\"hosts\":[\"a1\"],\"status\":1,") != NULL,
           "in parts, the status last");
        end(&t);
        return;
    }
    for (at = t.now[0].at, found = 0; (at = strstr(at, "a1: ")) != NULL; at += 4)
        found += at == t.now[0].at || at[-1] == '\n';
    ok(found == lines + 1 && strstr(t.now[0].at, "\na2: quiet\n") != NULL,
       "each line with its host before it");
    end(&t);
}

int main(void)
{
    test_text();
    test_json();
    test_flood(0);
    test_flood(1);
    return test_end();
}
