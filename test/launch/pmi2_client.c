/* pmi2_client.c - a small PMI-2 program: puts, fences, gets, node attributes; says whether all was right. */

/* pmi2_client [all|one|init] [count] [end]; end: "finalize", "abort", "exit:N". It reads PMI_FD, PMI_RANK,
 * PMI_SIZE (or PMI_PORT, PMI_ID), prints "rank R of N: good" and exits with 0; 1: a line says what was
 * wrong. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd = -1, rank, size = 1;

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "pmi2_client: rank %d: %s: %s\n", rank, what, text);
    exit(1);
}

static void write_all(const char *text, size_t length)
{
    ssize_t n;

    while (length > 0) {
        n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("write", strerror(errno));
        text += n;
        length -= (size_t)n;
    }
}

static void read_all(char *to, size_t length)
{
    ssize_t n;

    while (length > 0) {
        n = read(fd, to, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the server is gone", "");
        to += n;
        length -= (size_t)n;
    }
}

static void ask(const char *request, char answer[8192])
{
    char frame[1024], head[8];
    long length;

    snprintf(frame, sizeof frame, "%-6u%s", (unsigned)strlen(request), request);
    write_all(frame, strlen(frame));
    read_all(head, 6);
    head[6] = '\0';
    length = strtol(head, NULL, 10);
    if (length < 1 || length > 8000)
        fail("a length", head);
    read_all(answer, (size_t)length);
    answer[length] = '\0';
}

static void expect(const char *request, const char *answer)
{
    char text[8192];

    ask(request, text);
    if (strcmp(text, answer) != 0)
        fail(request, text);
}

static int number_in(const char *name, int missing)
{
    const char *text = getenv(name);

    return text == NULL ? missing : (int)strtol(text, NULL, 10);
}

static void connect_port(const char *port)
{
    struct sockaddr_in to;
    const char *colon = strrchr(port, ':');

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((unsigned short)strtol(colon == NULL ? "0" : colon + 1, NULL, 10));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect", strerror(errno));
    rank = number_in("PMI_ID", number_in("PMI_RANK", -1));
}

/* The number behind key= in an answer. */
static int number_of(const char *answer, const char *key)
{
    const char *at = strstr(answer, key);

    if (at == NULL)
        fail(key, answer);
    return (int)strtol(at + strlen(key), NULL, 10);
}

static void begin(void)
{
    static const char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    static const char helloed[] = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";
    char request[128], answer[8192];

    if (getenv("PMI_FD") != NULL) {
        fd = number_in("PMI_FD", -1);
        rank = number_in("PMI_RANK", 0);
    } else if (getenv("PMI_PORT") != NULL) {
        connect_port(getenv("PMI_PORT"));
    } else {
        fail("neither PMI_FD nor PMI_PORT is set", "");
    }
    write_all(hello, sizeof hello - 1);
    read_all(answer, sizeof helloed - 1);
    if (memcmp(answer, helloed, sizeof helloed - 1) != 0)
        fail("init", "another answer");
    snprintf(request, sizeof request, "cmd=fullinit;pmirank=%d;threaded=FALSE;", rank);
    ask(request, answer);
    if (number_of(answer, ";rc=") != 0 || number_of(answer, ";rank=") != rank)
        fail("fullinit", answer);
    size = number_of(answer, ";size=");
    ask("cmd=info-getjobattr;key=PMI_process_mapping;", answer);
    if (strstr(answer, "found=TRUE;value=(vector,(") == NULL)
        fail("the mapping", answer);
}

static void get(int of, int round)
{
    char request[128], answer[256];

    snprintf(request, sizeof request, "cmd=kvs-get;jobid=;srcid=-1;key=key-%d-%d;", round, of);
    snprintf(answer, sizeof answer, "cmd=kvs-get-response;rc=0;found=TRUE;value=%d=%d;;of;;;;%d;", round,
             of, round);
    expect(request, answer);
}

static void exchange(int all, int round)
{
    char request[256];
    int i;

    snprintf(request, sizeof request, "cmd=kvs-put;key=key-%d-%d;value=%d=%d;;of;;;;%d;", round, rank,
             round, rank,
             round);
    expect(request, "cmd=kvs-put-response;rc=0;");
    expect("cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    for (i = 0; i < (all ? size : 1); i++)
        get((rank + 1 + i) % size, round);
}

/* Every rank puts its own attribute and sees it; the values of other hosts do not matter. */
static void node_attribute(void)
{
    char request[128];

    snprintf(request, sizeof request, "cmd=info-putnodeattr;key=n-%d;value=v%d;", rank, rank);
    expect(request, "cmd=info-putnodeattr-response;rc=0;");
    snprintf(request, sizeof request, "cmd=info-getnodeattr;key=n-%d;wait=TRUE;", rank);
    {
        char answer[128];

        snprintf(answer, sizeof answer, "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=v%d;", rank);
        expect(request, answer);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "one", *how = argc > 3 ? argv[3] : "finalize";
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1, round;
    static const char abort_text[] = "44    cmd=abort;isworld=TRUE;msg=it was told to;;;";

    begin();
    for (round = 0; strcmp(what, "init") != 0 && round < count; round++)
        exchange(strcmp(what, "all") == 0, round);
    if (strcmp(what, "init") != 0)
        node_attribute();
    if (strncmp(how, "exit:", 5) == 0)
        exit((int)strtol(how + 5, NULL, 10));
    if (strcmp(how, "abort") == 0) {
        write_all(abort_text, sizeof abort_text - 1);
        exit(9);
    }
    expect("cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;");
    expect("cmd=finalize;", "cmd=finalize-response;rc=0;");
    close(fd);
    printf("rank %d of %d: good\n", rank, size);
    return 0;
}
