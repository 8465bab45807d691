/* launch.c - fuzz: what clients, files and other agents may say to the launcher. */
/* The first byte chooses: conversations of clients with the engines of two hosts (PMI-1, PMI-2, PMGR, NLA),
 * host lists and the launcher's own words for them, or messages between agents' trees (promise 134). */
#include "../launch/engine_rig.h"

#include "extras/launch/place.h"
#include "extras/launch/tree.h"
#include "extras/launch/wire.h"

#include "fuzz.h"

/* ---- Clients */

static void clients(struct fuzz_in *in)
{
    static const enum la_protocol kinds[] = { LA_PROTO_PMI, LA_PROTO_PMI_PORT, LA_PROTO_PMGR, LA_PROTO_NLA };
    enum la_protocol kind = kinds[fuzz_byte(in) % 4];
    struct rig *g = rig_new(4, 2, fuzz_byte(in) & 1, 0);
    struct rig_end end[4];
    int open[4];
    unsigned op;
    size_t size;

    g->later = 1;
    for (uint32_t i = 0; i < 4; i++) {
        end[i] = rig_connect(g, i / 2, kind, i);
        open[i] = 1;
    }
    for (int ops = 0; ops < 100 && in->left > 0; ops++) {
        const uint8_t *p;
        uint32_t who;

        op = fuzz_byte(in);
        who = op % 4;
        switch (op >> 2 & 7) {
        case 0: /* it ends, and another comes */
            if (open[who])
                rig_close(end[who]);
            end[who] = rig_connect(g, who / 2, kind, who);
            open[who] = 1;
            break;
        case 1: rig_turn(g); break;
        default: /* a line, or so many bytes */
            p = in->at;
            if (op & 128)
                for (size = 0; size < in->left && p[size++] != '\n';)
                    continue;
            else
                size = fuzz_byte(in);
            p = fuzz_bytes(in, size, &size);
            if (open[who] && rig_input(end[who], p, size) != 0) {
                rig_close(end[who]);
                open[who] = 0;
            }
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        if (open[i])
            rig_close(end[i]);
    rig_turn(g);
    rig_free(g);
}

/* ---- Host lists: what is read comes out of la_hosts_fold, and is read as the same again */

/* Two entries may have one name, if they are reached by different ways. */
static int all_differ(const struct la_hosts *h)
{
    for (uint32_t i = 0; i < h->count && h->count < 300; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(h->list[i].name, h->list[j].name) == 0)
                return 0;
    return h->count < 300;
}

static void lists(const char *text, size_t size, unsigned how)
{
    struct la_hosts h = { NULL, 0, 0 }, again = { NULL, 0, 0 };
    char why[LA_TEXT] = "";
    const char **names = NULL;
    struct la_text out;
    int err;

    switch (how % 4) {
    case 0: err = la_hosts_list(&h, text, why); break;
    case 1: err = la_hosts_file(&h, text, size, "file", why); break;
    case 2: err = la_hosts_slurm(&h, text, "2(x3),1", why); break;
    default: err = la_hosts_pbs(&h, text, size, why); break;
    }
    fuzz_must(err == 0 || err == PHX_ENOMEM || why[0] != '\0', "refused without a reason");
    fuzz_must(strchr(why, '\n') == NULL, "one line");
    if (err == 0)
        err = la_hosts_gateways(&h, why);
    if (err == 0 && h.count > 0 && all_differ(&h) && (names = calloc(h.count, sizeof *names)) != NULL) {
        memset(&out, 0, sizeof out);
        for (uint32_t i = 0; i < h.count; i++)
            names[i] = h.list[i].name;
        la_hosts_fold(&out, names, h.count);
        err = la_hosts_list(&again, out.at, why);
        fuzz_must(err == 0, "%s: %s", out.at, why);
        fuzz_must(again.count == h.count, "%u hosts, and %u of %s", h.count, again.count, out.at);
        for (uint32_t i = 0; i < h.count; i++)
            fuzz_must(strcmp(again.list[i].name, names[i]) == 0, "%s is not %s", again.list[i].name,
                      names[i]);
        free(out.at);
    }
    free(names);
    la_hosts_free(&h);
    la_hosts_free(&again);
}

/* ---- Trees: one with a parent and two children that say anything */

static int tree_send(void *ctx, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    (void)ctx, (void)type, (void)data;
    fuzz_must(agent == 0 || agent == 2 || agent == 3, "to %u, no neighbour", agent);
    fuzz_must(size <= LA_TREE_MESSAGE, "a message of %zu bytes", size);
    return 0;
}

static uint32_t tree_agent_of(void *ctx, uint32_t job, uint32_t rank)
{
    (void)ctx, (void)job;
    return rank >= 1 && rank < 4 ? rank : LA_NONE;
}

static void tree_record(void *ctx, const struct la_coll *c, const struct la_record *r)
{
    (void)ctx, (void)c;
    if (r->size > 0)
        *(unsigned *)ctx += ((const unsigned char *)r->data)[r->size - 1];
}

static void tree_coll(void *ctx, const struct la_coll *c)
{
    (void)ctx, (void)c;
}

static void tree_differ(void *ctx, const struct la_coll *a, const struct la_coll *b)
{
    (void)ctx, (void)a, (void)b;
}

static void tree_up(void *ctx, uint32_t from, uint32_t type, const void *data, size_t size)
{
    (void)ctx, (void)from, (void)type, (void)data, (void)size;
}

static void tree_down(void *ctx, uint32_t type, const void *data, size_t size)
{
    (void)ctx, (void)type, (void)data, (void)size;
}

static int tree_lookup(void *ctx, uint32_t job, const char *key, const char **value)
{
    (void)ctx, (void)job;
    *value = "value";
    return key[0] == 'a';
}

static void tree_learn(void *ctx, uint32_t job, const char *key, const char *value)
{
    (void)job;
    *(unsigned *)ctx += (unsigned)(strlen(key) + strlen(value));
}

static void tree_got(void *ctx, uint32_t job, const char *key, const char *value, uint64_t token)
{
    (void)job, (void)token;
    *(unsigned *)ctx += (unsigned)(strlen(key) + (value != NULL ? strlen(value) : 0));
}

static void tree_cut_off(void *ctx)
{
    (void)ctx;
}

static void tree_gone(void *ctx, uint32_t first, uint32_t end)
{
    (void)ctx, (void)first, (void)end;
}

static void trees(struct fuzz_in *in)
{
    static const uint32_t children[] = { 2, 3 }, who[] = { 0, 2, 3, 1, 9 };
    unsigned seen = 0;
    struct la_tree_config cfg = {
        .self = 1, .parent = 0, .end = 4, .children = children, .children_count = 2,
        .go_on = fuzz_byte(in) & 1, .cut_wait_us = 1000000, .notice_us = 100000,
        .ops = { &seen, tree_send, tree_agent_of, tree_record, tree_coll, tree_differ, tree_up, tree_down,
                 tree_lookup, tree_learn, tree_got, tree_cut_off, tree_gone }
    };
    struct la_tree *t;
    uint64_t now = 1;
    size_t size;

    fuzz_must(la_tree_new(&t, &cfg) == 0, "a tree");
    (void)la_tree_job(t, 1);
    for (int ops = 0; ops < 100 && in->left > 0; ops++) {
        unsigned op = fuzz_byte(in), from = who[fuzz_byte(in) % 5], type = fuzz_byte(in);
        const uint8_t *p;
        uint8_t *copy;

        switch (op % 8) {
        case 0: la_tree_step(t, now += (uint64_t)type * 10000); break;
        case 1: if (type > 200) la_tree_lost(t, from); break;
        case 2: (void)la_tree_get(t, 1, "key", type); break;
        default:
            p = fuzz_bytes(in, type & 128 ? fuzz_byte(in) * 8u : fuzz_byte(in), &size);
            copy = malloc(size + 1); /* of its own size, for the sanitizers */
            fuzz_must(copy != NULL, "memory");
            memcpy(copy, p, size);
            (void)la_tree_recv(t, from, type % 32, copy, size);
            free(copy);
        }
    }
    la_tree_free(t);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    unsigned how = fuzz_byte(&in);
    size_t n = in.left;
    char *text;

    test_failures = 0;
    switch (how % 3) {
    case 0: clients(&in); break;
    case 1: trees(&in); break;
    default:
        text = fuzz_text(&in);
        lists(text, n, how / 3);
        free(text);
    }
    fuzz_must(test_failures == 0, "the rig");
}
