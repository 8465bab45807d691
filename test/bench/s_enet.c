/* s_enet.c - ENet (reliable packets over UDP) as a system of the bench: one host, one channel. */

/* Variant: udp. ENet queues packets without a bound, so we bound what is under way ourselves. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <enet/enet.h>
#include <stdlib.h>
#include <string.h>

#define FLYING_PACKETS 4096
#define FLYING_BYTES (16u << 20)
/* ENet's own is 5 s, which sixteen processes on a busy machine may want for themselves. */
#define PATIENCE_MS 60000

const char sys_name[] = "enet";
const int sys_needs_turns = 1;
const char *const sys_variants = "udp (no relay)";

static ENetHost *host;
static ENetPeer *peers[512];
static int flying, joined, refused;
static size_t flying_bytes;

int sys_launched(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* The dialer says who it is in the datum of its connect. */
static void enet_join(int to)
{
    ENetAddress at;

    enet_address_set_host(&at, "127.0.0.1");
    at.port = (enet_uint16)bench_get(to);
    peers[to] = enet_host_connect(host, &at, 1, (enet_uint32)bench.me + 1);
    if (peers[to] == NULL)
        bench_die("no peer");
    peers[to]->data = (void *)(intptr_t)to;
}

void sys_open(void)
{
    ENetAddress at;
    int i, expected = bench.shape == BENCH_MESH || bench.me == 0 ? bench.count - 1 : 1;

    if (bench.shape == BENCH_RELAY)
        bench_die("has no relay");
    enet_initialize();
    enet_address_set_host(&at, "127.0.0.1");
    at.port = ENET_PORT_ANY;
    host = enet_host_create(&at, 512, 1, 0, 0);
    if (host == NULL)
        bench_die("no host");
    host->maximumPacketSize = 64u << 20;
    host->maximumWaitingData = 128u << 20;
    bench_put(bench.me, host->address.port);
    for (i = 0; i < bench.me && (bench.shape == BENCH_MESH || i == 0); i++)
        enet_join(i);
    while (joined < expected)
        sys_turn(1);
    bench_meet();
}

static void enet_sent(ENetPacket *packet)
{
    flying--;
    flying_bytes -= packet->dataLength;
}

int sys_send(int to, const void *data, size_t size)
{
    ENetPacket *p;

    if (flying >= FLYING_PACKETS || (flying > 0 && flying_bytes + size > FLYING_BYTES)) {
        refused = 1;
        return 1;
    }
    p = enet_packet_create(data, size, ENET_PACKET_FLAG_RELIABLE);
    if (p == NULL)
        bench_die("no packet");
    p->freeCallback = enet_sent;
    flying++;
    flying_bytes += size;
    if (enet_peer_send(peers[to], 0, p) != 0)
        bench_die("cannot send");
    return 0;
}

static void enet_event(ENetEvent *e)
{
    int peer = (int)(intptr_t)e->peer->data;

    if (e->type == ENET_EVENT_TYPE_CONNECT) {
        if (e->data != 0) {
            e->peer->data = (void *)(intptr_t)(e->data - 1);
            peers[e->data - 1] = e->peer;
        }
        enet_peer_timeout(e->peer, 0, PATIENCE_MS, PATIENCE_MS);
        joined++;
    } else if (e->type == ENET_EVENT_TYPE_RECEIVE) {
        bench_got(peer, e->packet->data, e->packet->dataLength);
        enet_packet_destroy(e->packet);
    } else if (e->type == ENET_EVENT_TYPE_DISCONNECT) {
        bench_die("lost a link");
    }
}

void sys_turn(int sleep)
{
    ENetEvent e;
    /* Acks are no events: who waits for room to send would sleep until the end of the time. */
    int got = enet_host_service(host, &e, sleep && !refused ? 100 : 0), i;

    refused = 0;
    for (i = 0; got > 0 && i < 10000; i++) {
        enet_event(&e);
        got = enet_host_check_events(host, &e);
    }
}

void sys_relay(void)
{
}

void sys_close(void)
{
    enet_host_flush(host);
}
