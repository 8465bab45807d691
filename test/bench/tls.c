/* tls.c - how fast messages go from one process to another, with TLS and without. */

/* cc -DPHX_TLS -I. tls.c phoenix.c -lbearssl; usage: tls plain|tls MB. Two processes, one link over
 * loopback, messages of 1 MB, as many under way as the window allows. Prints one tab-separated line:
 * what, MB per second, and the processor time that both sides used for each GB. */
#define _POSIX_C_SOURCE 200809L
#include "../../phoenix.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE (1u << 20)
static const char secret[] = "0123456789abcdef0123456789abcdef";
static uint64_t received, wanted;

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    (void)user;
    received += m->size;
}

static phx *begin(int tls)
{
    struct phx_config c;
    phx *p;
    int err;

    phx_config_init(&c);
    c.same_host = 0; /* TLS and TCP without it */
    c.on_message = on_message;
    c.key = secret;
    c.key_size = sizeof secret - 1;
    c.tls = tls;
    err = phx_new(&p, &c, phx_now_us());
    if (err != 0) {
        fprintf(stderr, "tls: %s\n", phx_strerror(err));
        exit(1);
    }
    return p;
}

static void step(phx *p)
{
    struct pollfd fd;

    fd.fd = phx_fd(p);
    fd.events = POLLIN;
    poll(&fd, 1, phx_timeout_ms(p, phx_now_us()));
    phx_step(p, phx_now_us(), NULL, 0);
}

static void sender(int tls, const char *address)
{
    static char data[MESSAGE];
    phx *p = begin(tls);

    phx_join(p, address);
    for (;;) { /* the receiver ends us */
        while (phx_send(p, 1, 2, 0, data, sizeof data) == 0)
            ;
        step(p);
    }
}

static double cpu_of(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec
           + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int tls = argc == 3 && strcmp(argv[1], "tls") == 0;
    char address[PHX_ADDRESS_TEXT];
    struct phx_address at;
    uint64_t start = 0, first, until = phx_now_us() + 120000000;
    pid_t child;
    phx *p;

    if (argc != 3) {
        fprintf(stderr, "usage: tls plain|tls MB\n");
        return 2;
    }
    wanted = (uint64_t)strtoul(argv[2], NULL, 10) << 20;
    p = begin(tls);
    if (phx_listen(p, "tcp://127.0.0.1:0") != 0 || phx_listening(p, 0, &at) != 0)
        return 1;
    phx_address_text(&at, address);
    phx_assume(p, 1, 1);
    if ((child = fork()) == 0)
        sender(tls, address);
    while (received == 0 && phx_now_us() < until)
        step(p);
    start = phx_now_us();
    first = received;
    while (received - first < wanted && phx_now_us() < until)
        step(p);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (received - first < wanted)
        return 1;
    printf("%s\t%.0f MB/s\t%.2f s of processor per GB\n", argv[1],
           (double)wanted / (double)(phx_now_us() - start) * 1e6 / 1048576,
           (cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN)) / ((double)wanted / 1e9));
    phx_free(p);
    return 0;
}
