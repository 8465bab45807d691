/* large.c - the story of a message that its receiver's memory can never hold. */

/* Host 1 sends 3 MiB to host 0, which may have 2 MiB, and a hundred small messages behind it to that name.
 * Then the large one ends as PHX_ETOOBIG, once, and all the others arrive. (promises 61, 67) */
#include "story.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES ((size_t)3 << 20)
#define LARGE_LIMIT ((size_t)2 << 20)
#define LARGE_BEHIND 100u

static struct {
    uint32_t come, sent, told, wrong;
    int result;
} large;

static void large_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)user;
    large.wrong += m->size != 8 || m->tag != ++large.come;
}

static void large_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)token, (void)to, (void)tag, (void)user;
    large.told++;
    large.result = result;
}

static int large_send(phx *p, const void *data, size_t size, uint32_t tag)
{
    struct iovec iov = { (void *)(uintptr_t)data, size };
    struct phx_outgoing o;

    memset(&o, 0, sizeof o);
    o.iov = &iov;
    o.iov_count = 1;
    o.tag = tag;
    o.token = tag == 0;
    return phx_sendv(p, &o);
}

void tell_too_large(struct sim *s)
{
    void *data = calloc(1, LARGE_BYTES);
    uint32_t i;

    memset(&large, 0, sizeof large);
    s->cfg.on_message = large_message;
    s->cfg.on_done = large_done;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    s->cfg.mem_limit = LARGE_LIMIT;
    start(s, 0);
    s->cfg.mem_limit = 0;
    for (i = 1; i < s->o.nodes; i++)
        start(s, i);
    if (data == NULL || s->w->failed)
        return;
    (void)phx_assume(s->nodes[0].p, 0, 0);
    wait_until(s, all_linked, MINUTE);
    run_for(s, SECOND);
    if (!s->w->failed && large_send(s->nodes[1].p, data, LARGE_BYTES, 0) != 0)
        world_fail(s->w, "3 MiB are not sent");
    for (i = 0; i < 1000 && large.sent < LARGE_BEHIND && !s->w->failed; i++) {
        if (large_send(s->nodes[1].p, data, 8, large.sent + 1) == 0)
            large.sent++;
        world_touch(s->w, 1);
        run_for(s, 10 * MS);
    }
    run_for(s, 10 * SECOND);
    bar(s, "too_large outcomes that are not one PHX_ETOOBIG",
        large.told != 1 || large.result != PHX_ETOOBIG, 0);
    bar(s, "too_large messages behind it that did not come", LARGE_BEHIND - (double)large.come, 0);
    bar(s, "too_large messages that came wrong", large.wrong, 0);
    free(data);
}
