/* p_comm.c - groups, communicators, attributes and error handlers as a program sees them. */
#include "check.h"

#include <setjmp.h>

/* ---- Groups ------------------------------------------------------------------------------------------ */

static int group_size(MPI_Group g)
{
    int size = -99;

    MPI_Group_size(g, &size);
    return size;
}

static int compare(MPI_Group a, MPI_Group b)
{
    int result = -99;

    MPI_Group_compare(a, b, &result);
    return result;
}

/* The world and the world backwards. */
static MPI_Group backwards(MPI_Group world)
{
    int *ranks = malloc((size_t)check_size * sizeof *ranks), i;
    MPI_Group g;

    for (i = 0; i < check_size; i++)
        ranks[i] = check_size - 1 - i;
    MPI_Group_incl(world, check_size, ranks, &g);
    free(ranks);
    return g;
}

static void test_groups(void)
{
    MPI_Group world, back, first, rest, g;
    int rank = -99, zero = 0, last = -99, none[2] = { 0, MPI_PROC_NULL }, to[2] = { -99, -99 };

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    back = backwards(world);
    MPI_Group_rank(back, &rank);
    ok(group_size(world) == check_size && rank == check_size - 1 - check_rank, "the world backwards");
    ok(compare(world, back) == (check_size > 1 ? MPI_SIMILAR : MPI_IDENT), "is similar");
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &rest);
    MPI_Group_rank(first, &rank);
    ok(rank == (check_rank == 0 ? 0 : MPI_UNDEFINED), "rank in a group of one: %d", rank);
    ok(group_size(rest) == check_size - 1 && compare(first, rest) == MPI_UNEQUAL, "the others");
    ok((rest == MPI_GROUP_EMPTY) == (check_size == 1), "one empty group");
    MPI_Group_translate_ranks(world, 1, &zero, back, &last);
    ok(last == check_size - 1, "the first is the last backwards");
    MPI_Group_translate_ranks(world, 2, none, rest, to);
    ok(to[0] == MPI_UNDEFINED && to[1] == MPI_PROC_NULL, "who is not in it has no rank there");
    MPI_Group_union(rest, first, &g);
    ok(group_size(g) == check_size && (check_size < 3 || compare(g, world) == MPI_SIMILAR), "union");
    MPI_Group_free(&g);
    MPI_Group_intersection(back, rest, &g);
    ok(group_size(g) == check_size - 1 && (check_size < 3 || compare(g, rest) == MPI_SIMILAR),
       "intersection");
    MPI_Group_free(&g);
    MPI_Group_difference(world, rest, &g);
    ok(compare(g, first) == MPI_IDENT, "difference");
    MPI_Group_free(&g);
    ok(g == MPI_GROUP_NULL, "freed");
    MPI_Group_free(&first);
    MPI_Group_free(&rest);
    MPI_Group_free(&back);
    MPI_Group_free(&world);
}

static void test_ranges(void)
{
    int even[1][3] = { { 0, 0, 2 } }, down[1][3] = { { 0, 0, -1 } }, bad[1][3] = { { 0, 0, 0 } };
    MPI_Group world, g, h;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    even[0][1] = check_size - 1;
    down[0][0] = check_size - 1;
    MPI_Group_range_incl(world, 1, even, &g);
    MPI_Group_range_excl(world, 1, even, &h);
    ok(group_size(g) == (check_size + 1) / 2 && group_size(h) == check_size / 2,
       "every second, and the others");
    MPI_Group_free(&g);
    MPI_Group_free(&h);
    MPI_Group_range_incl(world, 1, down, &g);
    h = backwards(world);
    ok(compare(g, h) == MPI_IDENT, "a range that falls");
    MPI_Group_free(&g);
    MPI_Group_free(&h);
    MPI_Group_range_excl(world, 1, down, &g);
    ok(g == MPI_GROUP_EMPTY, "without all nobody is left");
    ok(MPI_Group_range_incl(world, 1, bad, &g) == MPI_ERR_ARG, "no stride");
    bad[0][1] = check_size;
    bad[0][2] = 1;
    ok(MPI_Group_range_incl(world, 1, bad, &g) == MPI_ERR_RANK && g == MPI_GROUP_NULL, "a rank too high");
    MPI_Group_free(&world);
}

static void test_group_errors(void)
{
    int twice[2] = { 0, 0 }, high = check_size, n = -99;
    MPI_Group world, g = MPI_GROUP_NULL;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    ok(MPI_Group_incl(world, 2, twice, &g) == MPI_ERR_RANK, "a rank twice");
    ok(MPI_Group_excl(world, 1, &high, &g) == MPI_ERR_RANK, "a rank too high");
    ok(MPI_Group_incl(world, -1, twice, &g) == MPI_ERR_ARG, "a negative number of ranks");
    ok(MPI_Group_size(MPI_GROUP_NULL, &n) == MPI_ERR_GROUP, "null");
    ok(MPI_Group_translate_ranks(world, 1, &high, world, &n) == MPI_ERR_RANK, "no such rank");
    g = MPI_GROUP_NULL;
    ok(MPI_Group_free(&g) == MPI_ERR_GROUP, "null cannot be freed");
    g = world;
    MPI_Group_free(&world);
    ok(MPI_Group_size(g, &n) == MPI_ERR_GROUP, "a stale handle");
}

/* ---- Communicators ----------------------------------------------------------------------------------- */

static int compare_comms(MPI_Comm a, MPI_Comm b)
{
    int result = -99;

    MPI_Comm_compare(a, b, &result);
    return result;
}

/* One number goes round in each communicator; nothing comes through from another. */
static int round_trip(MPI_Comm c, int mark)
{
    int rank = -1, size = 0, in = -1, out;

    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    out = 1000 * mark + rank;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 4, &in, 1, MPI_INT, (rank + size - 1) % size, 4, c,
                 MPI_STATUS_IGNORE);
    return in == 1000 * mark + (rank + size - 1) % size;
}

static void test_dup(void)
{
    MPI_Comm a, b, old;
    int in = -1, flag = 99, n = 0;
    MPI_Request r;

    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(a, &b);
    ok(compare_comms(a, b) == MPI_CONGRUENT && compare_comms(a, a) == MPI_IDENT, "a duplicate is congruent");
    ok(compare_comms(a, MPI_COMM_SELF) == (check_size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT),
       "and not this one alone");
    MPI_Comm_test_inter(a, &flag);
    ok(flag == 0, "it has one side");
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, &r);
    ok(round_trip(a, 7) && in == -1, "messages stay within a communicator");
    old = b;
    MPI_Comm_free(&b);
    ok(b == MPI_COMM_NULL && MPI_Comm_size(old, &n) == MPI_ERR_COMM, "a freed communicator is gone");
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_free(&a);
    b = MPI_COMM_WORLD;
    ok(MPI_Comm_free(&b) == MPI_ERR_COMM && b == MPI_COMM_WORLD, "the world cannot be freed");
    b = MPI_COMM_NULL;
    ok(MPI_Comm_free(&b) == MPI_ERR_COMM && MPI_Comm_dup(b, &a) == MPI_ERR_COMM, "null");
}

/* A communicator is freed while a message is under way in it. */
static void test_free_pending(void)
{
    int in = -1, out = check_rank, next = (check_rank + 1) % check_size;
    MPI_Request r;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(&in, 1, MPI_INT, (check_rank + check_size - 1) % check_size, 3, c, &r);
    MPI_Send(&out, 1, MPI_INT, next, 3, c);
    MPI_Comm_free(&c);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    ok(in == (check_rank + check_size - 1) % check_size, "it arrives all the same");
}

static void test_split(void)
{
    int rank = -1, size = -1, n = 0;
    MPI_Comm c, d;

    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &c);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    ok(size == (check_size + 1 - check_rank % 2) / 2 && rank == size - 1 - check_rank / 2,
       "odd and even, backwards");
    ok(round_trip(c, check_rank % 2), "each its own");
    MPI_Comm_split(c, 0, 5, &d);
    ok(compare_comms(c, d) == MPI_CONGRUENT && round_trip(d, 3), "equal keys keep the order");
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 1, 0, &c);
    ok((c == MPI_COMM_NULL) == (check_rank == 0), "no color, no communicator");
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    ok(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &c) == MPI_ERR_ARG, "a negative color");
    for (n = 0; n < 50; n++) {
        MPI_Comm_split(MPI_COMM_WORLD, (check_rank + n) % 3, check_rank, &c);
        if (!ok(round_trip(c, n), "split %d", n))
            break;
        MPI_Comm_free(&c);
    }
}

static void test_create(void)
{
    int odd[1][3] = { { 0, 0, 2 } }, n = -99;
    MPI_Group world, g;
    MPI_Comm c, self;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    odd[0][1] = check_size - 1;
    MPI_Group_range_incl(world, 1, odd, &g);
    MPI_Comm_create(MPI_COMM_WORLD, g, &c);
    ok((c != MPI_COMM_NULL) == (check_rank % 2 == 0), "members get it");
    if (c != MPI_COMM_NULL) {
        MPI_Group own;

        MPI_Comm_group(c, &own);
        ok(compare(own, g) == MPI_IDENT && round_trip(c, 2), "with the group's order");
        MPI_Group_free(&own);
        MPI_Comm_free(&c);
    }
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c);
    ok(c == MPI_COMM_NULL, "nobody in it");
    ok(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &c) == MPI_ERR_GROUP, "no group");
    if (check_size > 1)
        ok(MPI_Comm_create(MPI_COMM_SELF, world, &self) == MPI_ERR_GROUP, "a group beyond the communicator");
    ok(MPI_Comm_remote_size(MPI_COMM_WORLD, &n) == MPI_ERR_COMM, "no other side");
    ok(MPI_Comm_remote_group(MPI_COMM_WORLD, &g) == MPI_ERR_COMM, "nor its group");
    MPI_Group_free(&g);
    MPI_Group_free(&world);
}

/* Both sides exchange numbers: rank i with rank i of the other, as far as there are such. */
static int cross(MPI_Comm inter, int mark)
{
    int rank = -1, size = 0, remote = 0, in = -1, out;
    MPI_Status st;

    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    if (rank >= remote)
        return 1;
    out = 100 * mark + rank;
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 6, &in, 1, MPI_INT, rank, 6, inter, &st);
    return in == 100 * mark + rank && st.MPI_SOURCE == rank;
}

static void test_inter(void)
{
    int odd = check_rank % 2, flag = -1, remote = -1, rank = -1, size = -1;
    MPI_Comm half, inter, twin, merged;
    MPI_Group theirs, ours;

    if (check_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, odd, check_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 12, &inter);
    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_size(inter, &size);
    ok(flag == 1 && remote == check_size - size && cross(inter, 1), "two halves talk");
    MPI_Comm_remote_group(inter, &theirs);
    MPI_Comm_group(inter, &ours);
    ok(group_size(theirs) == remote && group_size(ours) == size && compare(ours, theirs) == MPI_UNEQUAL,
       "groups");
    MPI_Group_free(&theirs);
    MPI_Group_free(&ours);
    MPI_Comm_dup(inter, &twin);
    ok(compare_comms(inter, twin) == MPI_CONGRUENT && cross(twin, 2), "a duplicate does, too");
    ok(compare_comms(inter, half) == MPI_UNEQUAL, "one side is something else");
    MPI_Intercomm_merge(inter, odd, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    ok(size == check_size && rank == check_rank / 2 + (odd ? (check_size + 1) / 2 : 0),
       "merged, odd ones last");
    ok(round_trip(merged, 9), "and all talk");
    MPI_Comm_free(&merged);
    MPI_Intercomm_merge(twin, 1, &merged);
    MPI_Comm_rank(merged, &rank);
    ok(round_trip(merged, 8) && rank >= 0 && rank < check_size, "merged with equal wishes");
    MPI_Comm_free(&merged);
    ok(MPI_Comm_split(inter, 0, 0, &merged) == MPI_ERR_COMM, "not to be split");
    ok(MPI_Intercomm_merge(half, 0, &merged) == MPI_ERR_COMM, "nothing to be merged");
    ok(MPI_Barrier(inter) == MPI_ERR_COMM, "no collectives");
    MPI_Comm_free(&twin);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void test_names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int n = -1;
    MPI_Comm c;

    MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
    ok(strcmp(name, "MPI_COMM_WORLD") == 0 && n == 14, "the world's name");
    MPI_Comm_dup(MPI_COMM_SELF, &c);
    MPI_Comm_get_name(c, name, &n);
    ok(n == 0 && name[0] == 0, "a duplicate has none");
    MPI_Comm_set_name(c, "mine");
    MPI_Comm_get_name(c, name, &n);
    ok(strcmp(name, "mine") == 0 && n == 4, "until it gets one");
    MPI_Comm_free(&c);
}

/* ---- Attributes -------------------------------------------------------------------------------------- */

static int copies, deletes, refuse;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    copies++;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return refuse ? MPI_ERR_UNKNOWN : MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    deletes++;
    return refuse ? MPI_ERR_UNKNOWN : MPI_SUCCESS;
}

static void *value_of(MPI_Comm c, int key)
{
    void *value = NULL;
    int flag = 0;

    MPI_Attr_get(c, key, &value, &flag);
    return flag ? value : NULL;
}

static void test_attributes(void)
{
    static char place[10];
    int key = MPI_KEYVAL_INVALID, plain = MPI_KEYVAL_INVALID, none = MPI_KEYVAL_INVALID, step = 3, saved,
        flag = 9;
    MPI_Comm a, b;
    void *value;

    MPI_Keyval_create(copy, forget, &key, &step);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &none, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &a);
    MPI_Attr_get(a, key, &value, &flag);
    ok(flag == 0, "nothing there");
    MPI_Attr_put(a, key, place);
    MPI_Comm_set_attr(a, plain, place + 1);
    MPI_Attr_put(a, none, place + 2);
    MPI_Comm_dup(a, &b);
    ok(value_of(a, key) == place && value_of(b, key) == place + 3, "copied by the program's function");
    ok(value_of(b, plain) == place + 1 && value_of(b, none) == NULL && copies == 1,
       "as it is, and not at all");
    MPI_Attr_put(a, key, place + 5);
    ok(deletes == 1 && value_of(a, key) == place + 5, "what is replaced is deleted");
    saved = key;
    MPI_Keyval_free(&key);
    ok(key == MPI_KEYVAL_INVALID && value_of(b, saved) == place + 3,
       "a key that is freed lives on in its values");
    MPI_Attr_delete(b, saved);
    ok(deletes == 2 && value_of(b, saved) == NULL, "deleted");
    MPI_Comm_get_attr(b, plain, &value, &flag);
    ok(flag && value == place + 1, "the later name");
    MPI_Comm_delete_attr(b, plain);
    MPI_Comm_get_attr(b, plain, &value, &flag);
    ok(!flag, "deleted, by the later name");
    refuse = 1;
    ok(MPI_Attr_delete(a, saved) == MPI_ERR_UNKNOWN && value_of(a, saved) == place + 5,
       "the program refuses");
    ok(MPI_Comm_dup(a, &b) == MPI_ERR_UNKNOWN && b == MPI_COMM_NULL, "a copy");
    ok(MPI_Comm_free(&a) == MPI_ERR_UNKNOWN && a != MPI_COMM_NULL, "and the end");
    refuse = 0;
    deletes = 0;
    MPI_Comm_free(&a);
    ok(deletes == 1, "deleted with the communicator");
    ok(MPI_Attr_get(MPI_COMM_SELF, saved, &value, &flag) == MPI_ERR_KEYVAL, "now the key is gone, too");
    MPI_Comm_free_keyval(&plain);
    MPI_Keyval_free(&none);
    ok(plain == MPI_KEYVAL_INVALID, "freed, by the later name");
}

static void test_predefined(void)
{
    int *tag_ub = value_of(MPI_COMM_WORLD, MPI_TAG_UB), *host = value_of(MPI_COMM_WORLD, MPI_HOST);
    int *io = value_of(MPI_COMM_WORLD, MPI_IO), *global = value_of(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL);
    int key = MPI_TAG_UB;

    ok(tag_ub != NULL && *tag_ub >= 32767, "tags");
    ok(host != NULL && *host == MPI_PROC_NULL && io != NULL && *io == MPI_ANY_SOURCE, "host and input");
    ok(global != NULL && (*global == 0 || *global == 1), "time");
    ok(MPI_Attr_put(MPI_COMM_WORLD, MPI_TAG_UB, &key) == MPI_ERR_KEYVAL, "not to be changed");
    ok(MPI_Attr_delete(MPI_COMM_WORLD, MPI_TAG_UB) == MPI_ERR_KEYVAL, "nor deleted");
    ok(MPI_Keyval_free(&key) == MPI_ERR_KEYVAL, "nor freed");
    ok(MPI_Attr_put(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &key) == MPI_ERR_KEYVAL, "no key");
}

/* ---- Errors ------------------------------------------------------------------------------------------ */

static int handled, handled_code;
static MPI_Comm handled_comm;
static jmp_buf out_of_it;

static void handle(MPI_Comm *comm, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_comm = *comm;
    *code = MPI_SUCCESS; /* which does not make the call a success */
}

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    longjmp(out_of_it, *code);
}

static void test_handlers(void)
{
    MPI_Errhandler h, again, predefined;
    MPI_Comm c, d;
    int x = 0, size = -1;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Errhandler_get(c, &predefined);
    ok(predefined == MPI_ERRORS_RETURN, "inherited");
    ok(MPI_Errhandler_free(&predefined) == MPI_SUCCESS && predefined == MPI_ERRHANDLER_NULL,
       "only the variable");
    MPI_Errhandler_create(handle, &h);
    MPI_Errhandler_set(c, h);
    MPI_Comm_get_errhandler(c, &again);
    ok(again == h, "the same handler");
    MPI_Errhandler_free(&h);
    MPI_Errhandler_free(&again);
    ok(h == MPI_ERRHANDLER_NULL, "freed, and still there");
    ok(MPI_Send(&x, 1, MPI_INT, check_size, 0, c) == MPI_ERR_RANK && handled == 1 &&
       handled_code == MPI_ERR_RANK &&
           handled_comm == c, "called once, with code and communicator");
    MPI_Comm_dup(c, &d);
    ok(MPI_Send(&x, -1, MPI_INT, 0, 0, d) == MPI_ERR_COUNT && handled == 2 && handled_comm == d,
       "and inherited");
    MPI_Comm_call_errhandler(d, MPI_ERR_OP);
    ok(handled == 3 && handled_code == MPI_ERR_OP, "called by the program");
    MPI_Comm_create_errhandler(jump, &h);
    MPI_Comm_set_errhandler(d, h);
    MPI_Errhandler_free(&h);
    x = setjmp(out_of_it);
    if (x == 0)
        MPI_Bcast(&x, 1, MPI_INT, check_size + 5, d);
    ok(x == MPI_ERR_ROOT, "it may jump out of a call");
    ok(round_trip(d, 4), "and all goes on");
    ok(MPI_Errhandler_set(c, MPI_ERRHANDLER_NULL) == MPI_ERR_ARG, "no handler");
    ok(MPI_Errhandler_free(&h) == MPI_ERR_ARG, "nothing to be freed");
    MPI_Comm_size(d, &size);
    ok(size == check_size, "whole");
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
}

static void test_strings(void)
{
    static const int codes[] = { MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG,
        MPI_ERR_COMM,
                                 MPI_ERR_RANK, MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP,
                                 MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN,
                                     MPI_ERR_TRUNCATE,
                                 MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_IN_STATUS, MPI_ERR_PENDING,
                                     MPI_PENDING,
                                 MPI_ERR_KEYVAL, MPI_ERR_SPAWN };
    char text[MPI_MAX_ERROR_STRING];
    int i, n, class;

    for (i = 0; i < (int)(sizeof codes / sizeof *codes); i++) {
        n = class = -1;
        MPI_Error_class(codes[i], &class);
        MPI_Error_string(codes[i], text, &n);
        ok(class == codes[i] && n > 5 && n == (int)strlen(text) && codes[i] <= MPI_ERR_LASTCODE, "code %d",
           codes[i]);
    }
    ok(MPI_Error_class(-3, &class) == MPI_ERR_ARG && MPI_Error_string(1 << 20, text, &n) == MPI_ERR_ARG,
       "no code");
}

static void test_handles(void)
{
    MPI_Status st = { 1, 2, 3, 0, 5, 6 }, back = { 0, 0, 0, 0, 0, 0 };
    MPI_Fint f[6] = { 0 };

    ok(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF, "a communicator to Fortran and back");
    ok(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY, "a group");
    ok(MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT && MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM,
       "type, operation");
    ok(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "a request");
    ok(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN, "a handler");
    MPI_Status_c2f(&st, f);
    MPI_Status_f2c(f, &back);
    ok(f[0] == 1 && memcmp(&st, &back, sizeof st) == 0, "a status");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_groups();
    test_ranges();
    test_group_errors();
    test_dup();
    test_free_pending();
    test_split();
    test_create();
    test_inter();
    test_names();
    test_attributes();
    test_predefined();
    test_handlers();
    test_strings();
    test_handles();
    return check_end("communicators");
}
