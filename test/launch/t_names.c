/* t_names.c - published services: a list against a model, questions and answers as bytes, odd bytes. */
#include "test.h"
#include "phoenix.h"
#include "extras/launch/names.h"

#define SERVICES 40

static void test_model(void)
{
    /* Goal: publish, unpublish and find say what a plain array says. Method: 20,000 random steps. */
    struct la_names *n;
    char service[32], port[32], ports[SERVICES][32];
    const char *found;
    int there[SERVICES] = { 0 }, wrong = 0, i, k, got;
    uint32_t seed = 5;

    ok(la_names_new(&n) == 0, "a list");
    for (i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        k = (int)(seed >> 8) % SERVICES;
        snprintf(service, sizeof service, "service-%d", k);
        snprintf(port, sizeof port, "port=%d#%d", k, i);
        found = NULL;
        got = la_names_do(n, (enum la_naming)(seed >> 24) % 3, service, port, &found);
        switch ((seed >> 24) % 3) {
        case LA_PUBLISH:
            wrong += got == there[k];
            if (!there[k])
                snprintf(ports[k], sizeof ports[k], "%s", port);
            there[k] = 1;
            break;
        case LA_UNPUBLISH:
            wrong += got != there[k];
            there[k] = 0;
            break;
        default: wrong += got != there[k] || (got && strcmp(found, ports[k]) != 0); break;
        }
    }
    ok(wrong == 0, "as the model");
    la_names_free(n);
    la_names_free(NULL);
}

/* Asks as an agent does: 1 or 0 and the port; -1: the bytes were not taken. */
static int ask(struct la_names *n, enum la_naming what, const char *service, const char *port, char back[64])
{
    unsigned char question[LA_NAMES_BYTES], answer[LA_NAMES_BYTES];
    int size = la_names_question(question, what, service, port, 0x8000000100000002u), found;
    const char *text;
    uint64_t token;

    if (size < 0 || (size = la_names_answer(n, question, (size_t)size, answer)) < 0)
        return -1;
    if (la_names_read_answer(answer, (size_t)size, &token, &found, &text) != 0
        || token != 0x8000000100000002u)
        return -1;
    snprintf(back, 64, "%s", text == NULL ? "(none)" : text);
    return found;
}

static void test_bytes(void)
{
    struct la_names *n;
    static char large[LA_NAMES_BYTES];
    char back[64];

    memset(large, 'x', sizeof large - 1);
    la_names_new(&n);
    ok(ask(n, LA_PUBLISH, "s", "p=1", back) == 1 && ask(n, LA_PUBLISH, "s", "p=2", back) == 0,
       "published once");
    ok(ask(n, LA_FIND, "s", NULL, back) == 1 && strcmp(back, "p=1") == 0, "found");
    ok(ask(n, LA_FIND, "t", NULL, back) == 0 && strcmp(back, "(none)") == 0, "another is not");
    ok(ask(n, LA_UNPUBLISH, "s", NULL, back) == 1 && ask(n, LA_UNPUBLISH, "s", NULL, back) == 0,
       "taken back once");
    ok(ask(n, LA_PUBLISH, "", "p", back) == -1 && ask(n, LA_PUBLISH, large, "p", back) == -1,
       "none, too long");
    ok(ask(n, LA_PUBLISH, large + 20, "", back) == 1 && ask(n, LA_FIND, large + 20, "", back) == 1,
       "a long one");
    la_names_free(n);
}

static void test_odd_bytes(void)
{
    /* Goal: no bytes crash it. Method: every length and every changed byte of a question and an answer, in
     * blocks of exactly their size. */
    struct la_names *n;
    unsigned char question[LA_NAMES_BYTES], answer[LA_NAMES_BYTES], *exact;
    int size, length, at, taken = 0, found;
    const char *port;
    uint64_t token;

    la_names_new(&n);
    size = la_names_question(question, LA_PUBLISH, "ab", "cd", 7);
    for (length = 0; length <= size; length++)
        for (at = 0; at < length; at++) {
            exact = malloc((size_t)length);
            memcpy(exact, question, (size_t)length);
            exact[at] = (unsigned char)(exact[at] ^ 0x63);
            taken += la_names_answer(n, exact, (size_t)length, answer) > 0;
            taken += la_names_read_answer(exact, (size_t)length, &token, &found, &port) == 0;
            free(exact);
        }
    ok(taken > 0 && la_names_answer(n, question, (size_t)size - 1, answer) == PHX_EPROTO,
       "%d were questions", taken);
    la_names_free(n);
}

static void test_full(void)
{
    struct la_names *n;
    char service[32];
    const char *found;
    int i, err = 1;

    la_names_new(&n);
    for (i = 0; i <= LA_NAMES_MOST && err == 1; i++) {
        snprintf(service, sizeof service, "%08d", i); /* ascending: each goes to the end */
        err = la_names_do(n, LA_PUBLISH, service, "p", &found);
    }
    ok(err == PHX_ELIMIT && i == LA_NAMES_MOST + 1, "a list is full at %d", i - 1);
    ok(la_names_do(n, LA_UNPUBLISH, "00000007", NULL, &found) == 1
           && la_names_do(n, LA_PUBLISH, "new", "p", &found) == 1, "and has room when one goes");
    la_names_free(n);
}

int main(void)
{
    test_model();
    test_bytes();
    test_odd_bytes();
    test_full();
    return test_end();
}
