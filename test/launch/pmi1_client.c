/* pmi1_client.c - a small PMI-1 program: puts, barriers, gets, and says whether every value was right. */

/* pmi1_client [all|one|init|names|spawn] [count] [size] [end]
 *
 *      all    each rank gets the keys of all ranks
 *      one    each rank gets the key of the next rank
 *      init   nothing between init and finalize
 *      names  publishes a name, looks it up, takes it back
 *      spawn  rank 0 starts count processes "child" and two "child2" of this program as one job; a child
 *             finds what the parent put before it, and does what all does. From the environment: SPAWN_TIMES
 *             such jobs, one after the other; of SPAWN_PROGRAM instead; on the hosts SPAWN_HOST; SPAWN_SIZE
 *             bytes of a value that the parent puts; SPAWN_END is the children's end; SPAWN_REFUSED is what
 *             the answer says of a spawn that must fail
 *      count  rounds of put, barrier, get: 1
 *      size   bytes of a value: 20
 *      end    "finalize"; or "exit:N", "abort:N", "hang", "kill" by the rank named in PMI1_RANK, or by all
 *
 * It reads PMI_FD, or PMI_PORT and PMI_ID, prints "rank R of N: good" and exits with 0; 1: something was
 * wrong, with a line about what. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd = -1, rank, size = 1;
static char kvs[256];

static void fail(const char *what, const char *line)
{
    fprintf(stderr, "pmi1_client: rank %d: %s: %s\n", rank, what, line);
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

/* One line without its LF. */
static void read_line(char line[1024])
{
    static char have[4096];
    static size_t from, to;
    size_t used = 0;
    ssize_t n;

    for (;;) {
        for (; from < to; from++) {
            if (have[from] == '\n') {
                from++;
                line[used] = '\0';
                return;
            }
            if (used == 1022)
                fail("an answer is too long", "");
            line[used++] = have[from];
        }
        n = read(fd, have, sizeof have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail("the server is gone", "");
        from = 0;
        to = (size_t)n;
    }
}

static void ask(const char *request, char answer[1024])
{
    write_all(request, strlen(request));
    read_line(answer);
}

static void expect(const char *request, const char *answer)
{
    char line[1024];

    ask(request, line);
    if (strcmp(line, answer) != 0)
        fail(request, line);
}

static const char *find(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    if (at == NULL)
        fail(key, line);
    return at + strlen(key);
}

static int number_in(const char *name, int missing)
{
    const char *text = getenv(name);

    return text == NULL ? missing : (int)strtol(text, NULL, 10);
}

static void connect_port(const char *port)
{
    struct sockaddr_in to;
    char line[1024], request[64];
    const char *colon = strrchr(port, ':');

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (colon == NULL)
        fail("PMI_PORT", port);
    to.sin_port = htons((unsigned short)strtol(colon + 1, NULL, 10));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail("connect", strerror(errno));
    snprintf(request, sizeof request, "cmd=initack pmiid=%d\n", number_in("PMI_ID", -1));
    expect(request, "cmd=initack");
    read_line(line);
    size = (int)strtol(find(line, "cmd=set size="), NULL, 10);
    read_line(line);
    rank = (int)strtol(find(line, "cmd=set rank="), NULL, 10);
    read_line(line);
    if (strcmp(line, "cmd=set debug=0") != 0)
        fail("initack", line);
}

static void begin(void)
{
    char line[1024];

    if (getenv("PMI_FD") != NULL) {
        fd = number_in("PMI_FD", -1);
        rank = number_in("PMI_RANK", 0);
        size = number_in("PMI_SIZE", 1);
    } else if (getenv("PMI_PORT") != NULL) {
        connect_port(getenv("PMI_PORT"));
    } else {
        fail("neither PMI_FD nor PMI_PORT is set", "");
    }
    expect("cmd=init pmi_version=1 pmi_subversion=1\n",
           "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    expect("cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
    ask("cmd=get_my_kvsname\n", line);
    snprintf(kvs, sizeof kvs, "%s", find(line, "cmd=my_kvsname kvsname="));
    ask("cmd=get_universe_size\n", line);
    find(line, "cmd=universe_size size=");
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=PMI_process_mapping\n", kvs);
    ask(line, line);
    find(line, "rc=0 msg=success value=(vector,(");
}

static void value_of(char *to, int of, int round, int bytes)
{
    int used = snprintf(to, 1000, "%d-%d-", round, of), i;

    for (i = used; i < bytes && i < 980; i++)
        to[i] = (char)('!' + (i * 7 + of * 13 + round) % 90);
    to[i] = '\0';
}

static void get(int of, int round, int bytes)
{
    char value[1024], request[1100], line[1024];

    value_of(value, of, round, bytes);
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=key-%d-%d\n", kvs, round, of);
    ask(request, line);
    if (strcmp(find(line, "cmd=get_result rc=0 msg=success value="), value) != 0)
        fail("a wrong value", line);
}

static void exchange(int all, int round, int bytes)
{
    char value[1024], request[2048];
    int i;

    value_of(value, rank, round, bytes);
    snprintf(request, sizeof request, "cmd=put kvsname=%s key=key-%d-%d value=%s\n", kvs, round, rank, value);
    expect(request, "cmd=put_result rc=0 msg=success");
    expect("cmd=barrier_in\n", "cmd=barrier_out");
    if (!all)
        get((rank + 1) % size, round, bytes);
    for (i = 0; all && i < size; i++)
        get((rank + i) % size, round, bytes);
}

static void names(void)
{
    char request[256], line[1024];

    snprintf(request, sizeof request, "cmd=publish_name service=s-%d port=tag=%d#x\n", rank, rank);
    expect(request, "cmd=publish_result info=ok rc=0 msg=success");
    ask(request, line);
    if (strstr(line, "info=fail rc=1") == NULL)
        fail("published twice", line);
    expect("cmd=barrier_in\n", "cmd=barrier_out");
    snprintf(request, sizeof request, "cmd=lookup_name service=s-%d\n", (rank + 1) % size);
    ask(request, line);
    snprintf(request, sizeof request, "port=tag=%d#x", (rank + 1) % size);
    find(line, request);
    find(line, "info=ok");
    find(line, "rc=0");
    expect("cmd=barrier_in\n", "cmd=barrier_out");
    snprintf(request, sizeof request, "cmd=unpublish_name service=s-%d\n", rank);
    expect(request, "cmd=unpublish_result info=ok rc=0 msg=success");
    snprintf(request, sizeof request, "cmd=lookup_name service=s-%d\n", rank);
    ask(request, line);
    find(line, "info=fail rc=1");
}

static const char *word_in(const char *name, const char *missing)
{
    const char *text = getenv(name);

    return text == NULL ? missing : text;
}

static void spawn_block(const char *self, int number, int ranks, const char *word)
{
    int size = number_in("SPAWN_SIZE", 1);
    char *text = malloc((size_t)size + 2048);

    if (text == NULL)
        fail("malloc", "");
    sprintf(text,
            "mcmd=spawn\nnprocs=%d\nexecname=%.500s\ntotspawns=2\nspawnssofar=%d\narg1=%s\narg2=1\n"
            "arg3=20\narg4=%.100s\nargcnt=4\npreput_num=2\npreput_key_0=PARENT\n"
            "preput_val_0=a=b;c\npreput_key_1=LONG\n"
            "preput_val_1=%0*d\ninfo_num=1\ninfo_key_0=%s\ninfo_val_0=%.100s\nendcmd\n",
            ranks, word_in("SPAWN_PROGRAM", self), number, word, word_in("SPAWN_END", "finalize"), size, 7,
            getenv("SPAWN_HOST") != NULL ? "host" : "unknown", word_in("SPAWN_HOST", "ignored"));
    write_all(text, strlen(text));
    free(text);
}

static void spawn(const char *self, int count)
{
    const char *refused = getenv("SPAWN_REFUSED");
    char line[1024];
    int i;

    for (i = 0; i < number_in("SPAWN_TIMES", 1); i++) {
        spawn_block(self, 1, count, "child");
        spawn_block(self, 2, 2, "child2");
        read_line(line);
        if (refused != NULL && strstr(line, "rc=-1") != NULL && strstr(line, refused) != NULL)
            continue;
        if (refused != NULL || strncmp(line, "cmd=spawn_result rc=0", 21) != 0)
            fail("spawn", line);
    }
}

/* The spawned job has its own ranks, keys and barriers; appnum counts the programs. */
static void check_child(const char *what)
{
    char request[512];

    if (number_in("PMI_SPAWNED", 0) != 1)
        fail("PMI_SPAWNED is not 1", "");
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=PARENT\n", kvs);
    expect(request, "cmd=get_result rc=0 msg=success value=a=b;c");
    expect("cmd=get_appnum\n", strcmp(what, "child") == 0 ? "cmd=appnum appnum=0" : "cmd=appnum appnum=1");
}

static void end_badly(const char *how)
{
    char line[1024];
    int code = strchr(how, ':') == NULL ? 0 : (int)strtol(strchr(how, ':') + 1, NULL, 10);

    if (strncmp(how, "exit", 4) == 0)
        exit(code);
    if (strncmp(how, "abort", 5) == 0) {
        snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", code);
        ask(line, line);
        fail("an answer to abort", line);
    }
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "one", *how = argc > 4 ? argv[4] : "finalize";
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1, bytes = argc > 3 ? (int)strtol(argv[3], NULL,
                                                                                              10) : 20;
    int round, mine;

    begin();
    if (strncmp(what, "child", 5) == 0)
        check_child(what);
    if (strcmp(what, "spawn") == 0 && rank == 0)
        spawn(argv[0], count);
    if (strcmp(what, "spawn") == 0)
        count = 1;
    for (round = 0; strcmp(what, "init") != 0 && round < count; round++) {
        if (strcmp(what, "names") == 0)
            names();
        else
            exchange(strcmp(what, "all") == 0 || *what == 'c', round, bytes);
    }
    mine = number_in("PMI1_RANK", rank) == rank;
    if (strcmp(how, "finalize") != 0 && mine)
        end_badly(how);
    expect("cmd=barrier_in\n", "cmd=barrier_out");
    expect("cmd=finalize\n", "cmd=finalize_ack");
    close(fd);
    printf("rank %d of %d: good\n", rank, size);
    return 0;
}
