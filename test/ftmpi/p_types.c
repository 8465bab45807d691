/* p_types.c - datatypes, packing and counting as a program sees them. */
#include "check.h"

#include <stddef.h>

struct mixed {
    double d;
    char c;
    int i[3];
};

static MPI_Datatype mixed_type(void)
{
    static struct mixed m;
    int lengths[3] = { 1, 1, 3 }, i;
    MPI_Aint places[3];
    MPI_Datatype types[3] = { MPI_DOUBLE, MPI_CHAR, MPI_INT }, t;

    MPI_Address(&m.d, &places[0]);
    MPI_Address(&m.c, &places[1]);
    MPI_Address(&m.i, &places[2]);
    for (i = 2; i >= 0; i--)
        places[i] -= places[0];
    MPI_Type_struct(3, lengths, places, types, &t);
    MPI_Type_commit(&t);
    return t;
}

/* Size, extent and bounds, by the old and the later names. */
static void facts(MPI_Datatype t, int size, MPI_Aint lb, MPI_Aint ub, const char *name)
{
    MPI_Aint got_lb = -99, got_ub = -99, extent = -99, lb2 = -99, extent2 = -99;
    int got = -99;

    MPI_Type_size(t, &got);
    MPI_Type_extent(t, &extent);
    MPI_Type_lb(t, &got_lb);
    MPI_Type_ub(t, &got_ub);
    MPI_Type_get_extent(t, &lb2, &extent2);
    ok(got == size && got_lb == lb && got_ub == ub && extent == ub - lb && lb2 == lb && extent2 == extent,
       "%s: size %d, from %ld to %ld", name, got, (long)got_lb, (long)got_ub);
}

static void true_facts(MPI_Datatype t, MPI_Aint lb, MPI_Aint extent, const char *name)
{
    MPI_Aint got_lb = -99, got = -99;

    MPI_Type_get_true_extent(t, &got_lb, &got);
    ok(got_lb == lb && got == extent, "%s: really from %ld, %ld bytes", name, (long)got_lb, (long)got);
}

static void test_basic(void)
{
    static const struct { MPI_Datatype t; size_t size; } list[] = {
        { MPI_CHAR, 1 }, { MPI_SIGNED_CHAR, 1 }, { MPI_UNSIGNED_CHAR, 1 }, { MPI_BYTE, 1 }, { MPI_PACKED, 1 },
        { MPI_SHORT, sizeof(short) }, { MPI_UNSIGNED_SHORT, sizeof(short) }, { MPI_INT, sizeof(int) },
        { MPI_UNSIGNED, sizeof(int) }, { MPI_LONG, sizeof(long) }, { MPI_UNSIGNED_LONG, sizeof(long) },
        { MPI_LONG_LONG_INT, sizeof(long long) }, { MPI_LONG_LONG, sizeof(long long) },
        { MPI_UNSIGNED_LONG_LONG, sizeof(long long) }, { MPI_FLOAT, sizeof(float) },
        { MPI_DOUBLE, sizeof(double) }, { MPI_LONG_DOUBLE, sizeof(long double) },
        { MPI_INTEGER, sizeof(int) }, { MPI_REAL, sizeof(float) }, { MPI_DOUBLE_PRECISION, sizeof(double) },
        { MPI_COMPLEX, 2 * sizeof(float) }, { MPI_DOUBLE_COMPLEX, 2 * sizeof(double) },
        { MPI_LOGICAL, sizeof(int) }, { MPI_CHARACTER, 1 }, { MPI_INTEGER1, 1 }, { MPI_INTEGER2, 2 },
        { MPI_INTEGER4, 4 }, { MPI_INTEGER8, 8 }, { MPI_REAL4, 4 }, { MPI_REAL8, 8 },
        { MPI_INT64_T, 8 }, { MPI_UINT8_T, 1 }, { MPI_AINT, sizeof(MPI_Aint) },
    };
    struct { double d; int i; } di;
    struct { long double d; int i; } ldi;
    struct { short s; int i; } si;
    size_t i;

    for (i = 0; i < sizeof list / sizeof *list; i++)
        facts(list[i].t, (int)list[i].size, 0, (MPI_Aint)list[i].size, "a basic type");
    facts(MPI_2INT, 2 * sizeof(int), 0, 2 * sizeof(int), "MPI_2INT");
    facts(MPI_DOUBLE_INT, sizeof(double) + sizeof(int), 0, sizeof di, "MPI_DOUBLE_INT");
    facts(MPI_SHORT_INT, sizeof(short) + sizeof(int), 0, sizeof si, "MPI_SHORT_INT");
    facts(MPI_LONG_DOUBLE_INT, sizeof(long double) + sizeof(int), 0, sizeof ldi, "MPI_LONG_DOUBLE_INT");
    facts(MPI_LB, 0, 0, 0, "MPI_LB");
    facts(MPI_UB, 0, 0, 0, "MPI_UB");
}

static void test_constructors(void)
{
    int lengths[3] = { 2, 0, 1 }, places[3] = { 4, 1, 0 };
    MPI_Aint bytes[3] = { 16, 4, 0 };
    MPI_Datatype t, u, types[3] = { MPI_LB, MPI_INT, MPI_UB };
    int ones[3] = { 1, 1, 1 };
    MPI_Aint marks[3] = { -8, 0, 24 };

    MPI_Type_contiguous(5, MPI_INT, &t);
    facts(t, 20, 0, 20, "contiguous");
    MPI_Type_dup(t, &u);
    facts(u, 20, 0, 20, "a duplicate");
    MPI_Type_free(&t);
    ok(t == MPI_DATATYPE_NULL, "freed");
    facts(u, 20, 0, 20, "the duplicate of what was freed");
    MPI_Type_free(&u);
    MPI_Type_vector(3, 2, 4, MPI_INT, &t);
    facts(t, 24, 0, 40, "vector");
    MPI_Type_free(&t);
    MPI_Type_vector(3, 2, -4, MPI_INT, &t);
    facts(t, 24, -32, 8, "vector backwards");
    true_facts(t, -32, 40, "vector backwards");
    MPI_Type_free(&t);
    MPI_Type_hvector(3, 1, 5, MPI_CHAR, &t);
    MPI_Type_create_hvector(3, 1, 5, MPI_CHAR, &u);
    facts(t, 3, 0, 11, "hvector");
    facts(u, 3, 0, 11, "hvector, later name");
    MPI_Type_free(&t);
    MPI_Type_free(&u);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &t);
    facts(t, 12, 0, 24, "indexed");
    MPI_Type_free(&t);
    MPI_Type_hindexed(3, lengths, bytes, MPI_INT, &t);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &u);
    facts(t, 12, 0, 24, "hindexed");
    facts(u, 12, 0, 24, "hindexed, later name");
    MPI_Type_free(&t);
    MPI_Type_free(&u);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &t);
    facts(t, 24, 0, 24, "indexed blocks");
    MPI_Type_free(&t);
    MPI_Type_struct(3, ones, marks, types, &t);
    facts(t, 4, -8, 24, "struct with markers");
    true_facts(t, 0, 4, "struct with markers");
    MPI_Type_contiguous(2, t, &u);
    facts(u, 8, -8, 56, "markers are inherited");
    MPI_Type_free(&t);
    MPI_Type_create_resized(u, 2, 3, &t);
    facts(t, 8, 2, 5, "resized");
    MPI_Type_free(&t);
    MPI_Type_free(&u);
    t = mixed_type();
    facts(t, (int)(sizeof(double) + 1 + 3 * sizeof(int)), 0, sizeof(struct mixed), "struct");
    MPI_Type_free(&t);
    MPI_Type_contiguous(0, MPI_INT, &t);
    facts(t, 0, 0, 0, "nothing");
    MPI_Type_free(&t);
    MPI_Type_struct(0, NULL, NULL, NULL, &t);
    facts(t, 0, 0, 0, "an empty struct");
    MPI_Type_free(&t);
    MPI_Type_create_struct(3, ones, marks, types, &t);
    facts(t, 4, -8, 24, "struct, later name");
    MPI_Type_free(&t);
}

/* To this process itself: what is sent as one type is received as another. */
static void pass(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                 MPI_Datatype in_type,
                 MPI_Status *st)
{
    MPI_Sendrecv(out, out_count, out_type, 0, 9, in, in_count, in_type, 0, 9, MPI_COMM_SELF, st);
}

static void test_messages(void)
{
    MPI_Datatype column, t = mixed_type(), absolute;
    struct mixed m[2], n[2];
    int a[6][4], b[12], i, j, good = 1, length = 12, count = -1;
    MPI_Aint address = 0, other = 0;
    MPI_Status st;

    for (i = 0; i < 6; i++)
        for (j = 0; j < 4; j++)
            a[i][j] = 10 * i + j;
    MPI_Type_vector(6, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    pass(&a[0][2], 1, column, b, 12, MPI_INT, &st);
    for (i = 0; i < 6; i++)
        good = good && b[i] == 10 * i + 2;
    MPI_Get_count(&st, MPI_INT, &count);
    ok(good && count == 6, "a column: %d numbers", count);
    pass(b, 6, MPI_INT, &a[0][3], 1, column, &st);
    ok(a[0][3] == 2 && a[5][3] == 52 && a[5][2] == 52, "and back into another column");
    MPI_Get_count(&st, column, &count);
    ok(count == 1, "which is one column");
    memset(m, 0, sizeof m);
    memset(n, 0, sizeof n);
    m[0].d = 1.5;
    m[1].i[2] = 7;
    m[1].c = 'x';
    pass(m, 2, t, n, 2, t, &st);
    ok(n[0].d == 1.5 && n[1].i[2] == 7 && n[1].c == 'x', "structs");
    MPI_Get_address(b, &address);
    MPI_Address(b, &other);
    ok(address == other && address != 0, "both names give the same address");
    MPI_Type_hindexed(1, &length, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    for (i = 0; i < 12; i++)
        a[i / 4][i % 4] = 100 + i;
    pass(a, 12, MPI_INT, MPI_BOTTOM, 1, absolute, &st);
    ok(b[0] == 100 && b[11] == 111, "into an absolute address");
    MPI_Type_free(&column);
    MPI_Type_free(&absolute);
    MPI_Type_free(&t);
}

/* Part of an element, pairs, and types of no size. */
static void test_elements(void)
{
    MPI_Datatype t = mixed_type(), none;
    struct mixed m[3];
    int count = -1, elements = -1, k;
    MPI_Status st;

    memset(m, 0, sizeof m);
    pass(m, 0, MPI_INT, m, 3, t, &st);
    MPI_Get_count(&st, t, &count);
    MPI_Get_elements(&st, t, &elements);
    ok(count == 0 && elements == 0, "nothing is nothing");
    for (k = 1; k < 3; k++) {
        char bytes[2 * (sizeof(double) + 1 + 3 * sizeof(int))] = { 0 };
        int size = 0, whole;

        MPI_Type_size(t, &size);
        whole = size + (int)sizeof(double) + (k == 2);
        pass(bytes, whole, MPI_BYTE, m, 3, t, &st);
        MPI_Get_count(&st, t, &count);
        MPI_Get_elements(&st, t, &elements);
        ok(count == MPI_UNDEFINED && elements == 5 + k, "one struct and %d: %d elements", k, elements);
        pass(bytes, size + 3, MPI_BYTE, m, 3, t, &st);
        MPI_Get_elements(&st, t, &elements);
        ok(elements == MPI_UNDEFINED, "a part of a double is no number of elements");
    }
    pass(m, 1, MPI_DOUBLE_INT, m + 1, 2, MPI_DOUBLE_INT, &st);
    MPI_Get_elements(&st, MPI_DOUBLE_INT, &elements);
    MPI_Get_count(&st, MPI_DOUBLE_INT, &count);
    ok(elements == 2 && count == 1, "a pair is two elements: %d", elements);
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    pass(m, 5, none, m, 7, none, &st);
    MPI_Get_count(&st, none, &count);
    ok(count == 0, "elements of no size: %d", count);
    MPI_Type_free(&none);
    MPI_Type_free(&t);
}

static void test_pack(void)
{
    MPI_Datatype t = mixed_type();
    struct mixed m = { 2.5, 'q', { 1, 2, 3 } }, n = { 0, 0, { 0, 0, 0 } };
    char buffer[200];
    int at = 0, size = -1, x = 42, y = 0, sum, count = -1;
    MPI_Status st;

    MPI_Pack_size(1, t, MPI_COMM_WORLD, &size);
    sum = size;
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &size);
    sum += size;
    ok(sum <= (int)sizeof buffer && sum >= 25, "it needs %d bytes", sum);
    MPI_Pack(&m, 1, t, buffer, (int)sizeof buffer, &at, MPI_COMM_WORLD);
    MPI_Pack(&x, 1, MPI_INT, buffer, (int)sizeof buffer, &at, MPI_COMM_WORLD);
    ok(at > 0 && at <= sum, "packed %d bytes", at);
    pass(buffer, at, MPI_PACKED, buffer, (int)sizeof buffer, MPI_PACKED, &st);
    MPI_Get_count(&st, MPI_PACKED, &count);
    ok(count == at, "it arrives");
    at = 0;
    MPI_Unpack(buffer, count, &at, &n, 1, t, MPI_COMM_WORLD);
    MPI_Unpack(buffer, count, &at, &y, 1, MPI_INT, MPI_COMM_WORLD);
    ok(at == count && n.d == 2.5 && n.c == 'q' && n.i[2] == 3 && y == 42, "and is unpacked");
    ok(MPI_Pack(&x, 1, MPI_INT, buffer, 3, &(int){ 0 }, MPI_COMM_WORLD) == MPI_ERR_ARG, "no room");
    at = 0;
    ok(MPI_Unpack(buffer, 3, &at, &y, 1, MPI_INT, MPI_COMM_WORLD) == MPI_ERR_ARG && at == 0, "too little");
    MPI_Type_free(&t);
}

static void test_errors(void)
{
    MPI_Datatype t = MPI_INT, u, stale;
    int one = 1, minus = -1, zero = 0, x = 0;
    MPI_Aint place = 0;

    ok(MPI_Type_contiguous(-1, MPI_INT, &t) == MPI_ERR_COUNT, "negative count");
    ok(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t) == MPI_ERR_TYPE, "null type");
    ok(MPI_Type_contiguous(1, MPI_COMM_WORLD, &t) == MPI_ERR_TYPE, "a handle of another kind");
    ok(MPI_Type_vector(1, -1, 1, MPI_INT, &t) == MPI_ERR_ARG, "negative length of blocks");
    ok(MPI_Type_indexed(1, &minus, &zero, MPI_INT, &t) == MPI_ERR_ARG, "one in a list");
    ok(MPI_Type_struct(1, &one, &place, &(MPI_Datatype){ MPI_DATATYPE_NULL }, &t) == MPI_ERR_TYPE,
       "null in a list");
    t = MPI_INT;
    ok(MPI_Type_free(&t) == MPI_ERR_TYPE && t == MPI_INT, "predefined types stay");
    MPI_Type_contiguous(1, MPI_INT, &u);
    ok(MPI_Send(&x, 1, u, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE, "not committed");
    MPI_Type_commit(&u);
    ok(MPI_Send(&x, 1, u, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "committed");
    stale = u;
    MPI_Type_free(&u);
    MPI_Type_contiguous(1, MPI_INT, &u);
    ok(MPI_Type_size(stale, &x) == MPI_ERR_TYPE, "a stale handle");
    MPI_Type_free(&u);
    t = MPI_DATATYPE_NULL;
    ok(MPI_Type_free(&t) == MPI_ERR_TYPE && MPI_Type_commit(&t) == MPI_ERR_TYPE, "null");
}

/* A request keeps the type that was freed. */
static void test_freed(void)
{
    int a[4] = { 1, 2, 3, 4 }, b[4] = { 0, 0, 0, 0 };
    MPI_Datatype t, base;
    MPI_Request r;

    MPI_Type_vector(2, 1, 2, MPI_INT, &base);
    MPI_Type_contiguous(1, base, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&base);
    MPI_Irecv(b, 1, t, 0, 3, MPI_COMM_SELF, &r);
    MPI_Type_free(&t);
    MPI_Send(a, 2, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    ok(b[0] == 1 && b[1] == 0 && b[2] == 2, "received with a type that is gone");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_basic();
    test_constructors();
    test_messages();
    test_elements();
    test_pack();
    test_errors();
    test_freed();
    return check_end("datatypes");
}
