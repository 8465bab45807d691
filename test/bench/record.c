/* record.c - what cfg.record costs, in instructions: see record.sh. usage: record WHAT WHO
 *
 * Two nodes in one process, over loopback. WHAT: stream, 100,000 messages of 8 bytes, or lone, 2,000 that
 * each wait for an answer; or spin, the same between hosts that spin. Those are turned as by latency-spin-8
 * (s_phx.c): a step that only lets the message leave, and then steps that look, of which IDLE_LOOKS find
 * nothing. How many do is the host's affair: they are not counted, and the one that finds the message is.
 * WHO is recorded: nobody, sender, receiver or both. Counted is what runs in measured_sender and
 * measured_receiver: the library, without the host's part of the record or the kernel. */
#include "phoenix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_LOOKS 8

struct side {
    phx *p;
    unsigned got;
    size_t recorded;
};
static struct side sender, receiver;

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)m;
    ((struct side *)user)->got++;
}

static void keep(const void *bytes, size_t size, void *user)
{
    (void)bytes;
    ((struct side *)user)->recorded += size;
}

/* Where it is counted. */
__attribute__((noinline)) int measured_sender(int send);
__attribute__((noinline)) int measured_sender(int send)
{
    return send ? phx_send(sender.p, 2, 1, 0, "8 bytes", 8) : phx_step(sender.p, phx_now_us(), NULL, 0);
}

__attribute__((noinline)) int measured_receiver(int send);
__attribute__((noinline)) int measured_receiver(int send)
{
    return send ? phx_send(receiver.p, 1, 2, 0, "8 bytes", 8) : phx_step(receiver.p, phx_now_us(), NULL, 0);
}

/* The two kinds of steps of a host that spins. */
static int spinner_step(struct side *s, int leaves)
{
    struct pollfd none = { -1, 0, 0 };

    return phx_deadline(s->p) == 0 && leaves ? phx_step(s->p, phx_now_us(), &none, 1)
                                             : phx_step(s->p, phx_now_us(), NULL, 0);
}

__attribute__((noinline)) void measured_sender_step(int leaves);
__attribute__((noinline)) void measured_sender_step(int leaves)
{
    spinner_step(&sender, leaves);
}

__attribute__((noinline)) void measured_receiver_step(int leaves);
__attribute__((noinline)) void measured_receiver_step(int leaves)
{
    spinner_step(&receiver, leaves);
}

static void begin(struct side *s, int recorded, const char *address)
{
    struct phx_config c;

    phx_config_init(&c);
    c.user = s;
    c.on_message = on_message;
    c.record = recorded ? keep : NULL;
    if (phx_new(&s->p, &c, phx_now_us()) != 0 || phx_listen(s->p, address) != 0)
        exit(1);
}

static void both(void)
{
    phx_step(sender.p, phx_now_us(), NULL, 0);
    phx_step(receiver.p, phx_now_us(), NULL, 0);
}

/* As hosts do: some are sent, and a step; the receiver steps when there is much. */
static void stream(unsigned count)
{
    for (unsigned sent = 0; receiver.got < count;) {
        for (int i = 0; i < 1000 && sent < count && measured_sender(1) == 0; i++)
            sent++;
        measured_sender(0);
        measured_receiver(0);
    }
}

static void lone(unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        measured_sender(1);
        while (receiver.got < i)
            measured_sender(0), measured_receiver(0);
        measured_receiver(1);
        while (sender.got < i)
            measured_receiver(0), measured_sender(0);
    }
}

static void spin(unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        measured_sender(1);
        measured_sender_step(1);
        for (int k = 0; k < IDLE_LOOKS; k++)
            spinner_step(&sender, 0);
        while (receiver.got < i)
            measured_receiver_step(0);
        measured_receiver(1);
        measured_receiver_step(1);
        for (int k = 0; k < IDLE_LOOKS; k++)
            spinner_step(&receiver, 0);
        while (sender.got < i)
            measured_sender_step(0);
    }
}

int main(int argc, char **argv)
{
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];
    const char *who = argc > 2 ? argv[2] : "nobody";

    begin(&sender, !strcmp(who, "sender") || !strcmp(who, "both"), "tcp://127.0.0.1:0");
    begin(&receiver, !strcmp(who, "receiver") || !strcmp(who, "both"), "tcp://127.0.0.1:0");
    phx_listening(sender.p, 0, &at);
    phx_join(receiver.p, phx_address_text(&at, text));
    phx_assume(receiver.p, 2, 2);
    phx_assume(sender.p, 1, 1);
    while (phx_owner(sender.p, 2, NULL) != 0 || phx_owner(receiver.p, 1, NULL) != 0)
        both();
    for (int i = 0; i < 2000; i++)
        both();
    if (argc > 1 && strcmp(argv[1], "lone") == 0)
        lone(2000);
    else if (argc > 1 && strcmp(argv[1], "spin") == 0)
        spin(2000);
    else
        stream(100000);
    phx_free(sender.p);
    phx_free(receiver.p);
    return 0;
}
