/* nla_client.c - a small program of nla.h: every primitive once or often; says whether all was right. */

/* nla_client [all|exchange|ring] [count] [bytes] [end]
 *
 *      all       every operation with the first eight roots, messages in a ring, keys
 *      exchange  put, barrier, get of the next rank's key
 *      ring      one message around all ranks
 *      end       "finalize"; "exit:N"; "differ": rank 0 names another root than the others
 *
 * It prints "rank R of N: good" and exits with 0; 1: a line says what was wrong. Built with nla.c. */
#include "extras/launch/nla.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nla *n;

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "nla_client: rank %u: %s\n", (unsigned)nla_rank(n), what);
    exit(1);
}

/* What rank `from` says to rank `to`. */
static void say(unsigned char *data, uint32_t from, uint32_t to, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        data[i] = (unsigned char)(from * 31 + to * 17 + i * 3);
}

static int heard(const unsigned char *data, uint32_t from, uint32_t to, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (data[i] != (unsigned char)(from * 31 + to * 17 + i * 3))
            return 0;
    return 1;
}

static void rooted(uint32_t root, size_t size, unsigned char *in, unsigned char *out)
{
    uint32_t me = nla_rank(n), i;

    say(out, me, 1, size);
    must(nla_broadcast(n, root, out, size) == 0 && heard(out, root, 1, size), "broadcast");
    say(in, me, 2, size);
    must(nla_gather(n, root, in, size, out) == 0, "gather");
    for (i = 0; me == root && i < nla_size(n); i++)
        must(heard(out + i * size, i, 2, size), "what was gathered");
    for (i = 0; i < nla_size(n); i++)
        say(in + i * size, me, i, size);
    must(nla_scatter(n, root, in, size, out) == 0 && heard(out, root, me, size), "scatter");
}

static void rootless(size_t size, unsigned char *in, unsigned char *out)
{
    uint32_t me = nla_rank(n), i;

    say(in, me, 3, size);
    must(nla_allgather(n, in, size, out) == 0, "allgather");
    for (i = 0; i < nla_size(n); i++)
        must(heard(out + i * size, i, 3, size), "what was gathered by all");
    for (i = 0; i < nla_size(n); i++)
        say(in + i * size, me, i, size);
    must(nla_alltoall(n, in, size, out) == 0, "alltoall");
    for (i = 0; i < nla_size(n); i++)
        must(heard(out + i * size, i, me, size), "what all said to all");
}

static void ring(size_t size)
{
    uint32_t me = nla_rank(n), count = nla_size(n);
    unsigned char *data = malloc(size + 1);
    struct nla_message *m;

    must(data != NULL, "memory");
    say(data, 0, 4, size);
    if (me == 0)
        must(nla_send(n, 1 % count, 4, data, size) == 0, "send");
    must(nla_recv(n, (me + count - 1) % count, 4, &m) == 0, "recv");
    must(m->size == size && heard(m->data, 0, 4, size), "what came around");
    if (me != 0)
        must(nla_send(n, (me + 1) % count, 4, m->data, m->size) == 0, "send");
    nla_message_free(m);
    free(data);
}

static void exchange(int round)
{
    char key[64], value[64], got[64];
    uint32_t next = (nla_rank(n) + 1) % nla_size(n);

    snprintf(key, sizeof key, "key-%d-%u", round, (unsigned)nla_rank(n));
    snprintf(value, sizeof value, "value %d of %u", round, (unsigned)nla_rank(n));
    must(nla_put(n, key, value) == 0, "put");
    must(nla_barrier(n) == 0, "barrier");
    snprintf(key, sizeof key, "key-%d-%u", round, (unsigned)next);
    snprintf(value, sizeof value, "value %d of %u", round, (unsigned)next);
    must(nla_get(n, key, got, sizeof got) == (int)strlen(value) && strcmp(got, value) == 0, "get");
    must(nla_get(n, "nobody's", got, sizeof got) == NLA_ENOTFOUND, "a key that nobody put");
}

static void all(size_t size)
{
    unsigned char *in = malloc(nla_size(n) * size + 1), *out = malloc(nla_size(n) * size + 1);
    uint32_t root;

    must(in != NULL && out != NULL, "memory");
    for (root = 0; root < nla_size(n) && root < 8; root++)
        rooted(root, size, in, out);
    rootless(size, in, out);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all", *how = argc > 4 ? argv[4] : "finalize";
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1, round, err = nla_init(&n);
    size_t size = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 100;
    uint32_t me, ranks;
    char word[4] = "";

    if (err != 0) {
        fprintf(stderr, "nla_client: %s\n", nla_strerror(err));
        return 1;
    }
    me = nla_rank(n);
    ranks = nla_size(n);
    for (round = 0; round < count; round++) {
        if (strcmp(what, "all") == 0)
            all(size);
        if (strcmp(what, "exchange") != 0)
            ring(size);
        if (strcmp(what, "ring") != 0)
            exchange(round);
    }
    if (strncmp(how, "exit:", 5) == 0)
        exit((int)strtol(how + 5, NULL, 10));
    if (strcmp(how, "differ") == 0)
        must(nla_broadcast(n, me == 0 ? 0 : ranks - 1, word, sizeof word) != 0,
             "no error of ranks that differ");
    must(nla_barrier(n) == 0, "barrier");
    must(nla_finalize(n) == 0, "finalize");
    printf("rank %u of %u: good\n", (unsigned)me, (unsigned)ranks);
    return 0;
}
