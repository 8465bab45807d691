/* t_op.c - each predefined operation on each predefined type, beside the operators of C. */

#include "test.h"

#include <complex.h>
#include <limits.h>
#include <wchar.h>

#include "engine.h"
#include "mpi.h"
#include "op.h"

#define VALUES 7

static struct ftm e;

/* What may be done with types, as MPI-1.2 has it, and MPI_CHAR and truth of floating point beyond. */
enum kind { NONE = 0, NUMBER = 1, WHOLE = 2, COMPLEX = 4, TRUTH = 8, BYTE = 16, PAIR = 32 };

static const struct allowed {
    MPI_Op op;
    int kinds;
} allowed[] = {
    { MPI_MAX, NUMBER }, { MPI_MIN, NUMBER }, { MPI_SUM, NUMBER | COMPLEX }, { MPI_PROD, NUMBER | COMPLEX },
    { MPI_LAND, NUMBER | TRUTH }, { MPI_LOR, NUMBER | TRUTH }, { MPI_LXOR, NUMBER | TRUTH },
    { MPI_BAND, WHOLE | BYTE }, { MPI_BOR, WHOLE | BYTE }, { MPI_BXOR, WHOLE | BYTE },
    { MPI_MINLOC, PAIR }, { MPI_MAXLOC, PAIR },
};

static struct ftm_op *operation(MPI_Op op)
{
    return ftm_table_get(&e.handles, op, FTM_OP);
}

static struct ftm_type *type(MPI_Datatype t)
{
    return ftm_table_get(&e.handles, t, FTM_TYPE);
}

/* Which operations the type has. */
static void try_kinds(const char *name, MPI_Datatype t, int kinds)
{
    size_t i;

    for (i = 0; i < sizeof allowed / sizeof *allowed; i++)
        check((ftm_op_check(operation(allowed[i].op), type(t)) == 0) == ((kinds & allowed[i].kinds) != 0),
              "%s and operation %d", name, (int)i);
}

/* out = a op b, for all pairs of values at once. */
static void apply(MPI_Op op, MPI_Datatype t, const void *a, const void *b, void *out, size_t size)
{
    memcpy(out, b, VALUES * VALUES * size);
    ftm_op_apply(&e, operation(op), a, out, VALUES * VALUES, type(t));
}

/* All pairs of the values 0 to 4, and the least and the greatest, as a type of C. */
#define PAIRS_OF(name, least, greatest)                                               \
    name value[VALUES] = { 0, 1, 2, 3, 4, least, greatest };                           \
    name a[VALUES * VALUES], b[VALUES * VALUES], out[VALUES * VALUES];                 \
    size_t i;                                                                          \
    for (i = 0; i < VALUES * VALUES; i++) {                                            \
        a[i] = value[i / VALUES];                                                      \
        b[i] = value[i % VALUES];                                                      \
    }

#define SAME(handle, op, name, wanted)                                                 \
    do {                                                                               \
        int wrong = 0;                                                                 \
        apply(op, handle, a, b, out, sizeof(name));                                    \
        for (i = 0; i < VALUES * VALUES; i++)                                          \
            wrong += out[i] != (name)(wanted);                                         \
        check(wrong == 0, #op " of " #handle ": %d wrong", wrong);                     \
    } while (0)

#define ORDERED(handle, name)                                                          \
    SAME(handle, MPI_MAX, name, a[i] > b[i] ? a[i] : b[i]);                            \
    SAME(handle, MPI_MIN, name, a[i] < b[i] ? a[i] : b[i])

#define TRUTHS(handle, name)                                                           \
    SAME(handle, MPI_LAND, name, a[i] && b[i]);                                        \
    SAME(handle, MPI_LOR, name, a[i] || b[i]);                                         \
    SAME(handle, MPI_LXOR, name, !a[i] != !b[i])

#define BITS(handle, name)                                                             \
    SAME(handle, MPI_BAND, name, a[i] & b[i]);                                         \
    SAME(handle, MPI_BOR, name, a[i] | b[i]);                                          \
    SAME(handle, MPI_BXOR, name, a[i] ^ b[i])

/* The greatest of a type without a sign is all ones; of one with a sign half of that. */
#define WHOLES(handle, name)                                                           \
    do {                                                                               \
        int is_signed = (name)-1 < (name)1;                                            \
        unsigned long long ones = ULLONG_MAX >> (64 - 8 * sizeof(name));               \
        name most = (name)(is_signed ? ones >> 1 : ones);                              \
        PAIRS_OF(name, (name)(is_signed ? (name)-1 - most : 5), most)                        \
        try_kinds(#handle, handle, NUMBER | WHOLE);                                    \
        ORDERED(handle, name);                                                         \
        SAME(handle, MPI_SUM, name, (unsigned long long)a[i] + (unsigned long long)b[i]);  \
        SAME(handle, MPI_PROD, name, (unsigned long long)a[i] * (unsigned long long)b[i]); \
        TRUTHS(handle, name);                                                          \
        BITS(handle, name);                                                            \
    } while (0)

#define FLOATS(handle, name)                                                           \
    do {                                                                               \
        PAIRS_OF(name, (name)-1e30, (name)0.1)                                         \
        try_kinds(#handle, handle, NUMBER);                                            \
        ORDERED(handle, name);                                                         \
        SAME(handle, MPI_SUM, name, a[i] + b[i]);                                      \
        SAME(handle, MPI_PROD, name, a[i] * b[i]);                                     \
        TRUTHS(handle, name);                                                          \
    } while (0)

#define COMPLEXES(handle, name)                                                        \
    do {                                                                               \
        PAIRS_OF(name, (name)(-3 + 2 * I), (name)(I))                                  \
        try_kinds(#handle, handle, COMPLEX);                                           \
        SAME(handle, MPI_SUM, name, a[i] + b[i]);                                      \
        SAME(handle, MPI_PROD, name, a[i] * b[i]);                                     \
    } while (0)

static void test_whole(void)
{
    WHOLES(MPI_CHAR, char);
    WHOLES(MPI_SIGNED_CHAR, signed char);
    WHOLES(MPI_UNSIGNED_CHAR, unsigned char);
    WHOLES(MPI_SHORT, short);
    WHOLES(MPI_UNSIGNED_SHORT, unsigned short);
    ok(1, "short integers");
}

static void test_int(void)
{
    WHOLES(MPI_INT, int);
    WHOLES(MPI_UNSIGNED, unsigned);
    WHOLES(MPI_LONG, long);
    WHOLES(MPI_UNSIGNED_LONG, unsigned long);
    WHOLES(MPI_LONG_LONG_INT, long long);
    WHOLES(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    ok(1, "int and longer");
}

static void test_integer(void)
{
    WHOLES(MPI_INTEGER, int);
    WHOLES(MPI_INTEGER1, int8_t);
    WHOLES(MPI_INTEGER2, int16_t);
    WHOLES(MPI_INTEGER4, int32_t);
    WHOLES(MPI_INTEGER8, int64_t);
    ok(1, "integers of Fortran");
}

static void test_exact(void)
{
    WHOLES(MPI_INT8_T, int8_t);
    WHOLES(MPI_INT16_T, int16_t);
    WHOLES(MPI_INT32_T, int32_t);
    WHOLES(MPI_INT64_T, int64_t);
    ok(1, "integers of exact sizes");
}

static void test_unsigned(void)
{
    WHOLES(MPI_UINT8_T, uint8_t);
    WHOLES(MPI_UINT16_T, uint16_t);
    WHOLES(MPI_UINT32_T, uint32_t);
    WHOLES(MPI_UINT64_T, uint64_t);
    WHOLES(MPI_AINT, MPI_Aint);
    ok(1, "those without a sign");
}

static void test_floats(void)
{
    FLOATS(MPI_FLOAT, float);
    FLOATS(MPI_DOUBLE, double);
    FLOATS(MPI_LONG_DOUBLE, long double);
    FLOATS(MPI_REAL, float);
    FLOATS(MPI_DOUBLE_PRECISION, double);
    FLOATS(MPI_REAL4, float);
    FLOATS(MPI_REAL8, double);
    ok(1, "floating point");
}

static void test_complex(void)
{
    COMPLEXES(MPI_COMPLEX, float _Complex);
    COMPLEXES(MPI_DOUBLE_COMPLEX, double _Complex);
    COMPLEXES(MPI_COMPLEX8, float _Complex);
    COMPLEXES(MPI_COMPLEX16, double _Complex);
    COMPLEXES(MPI_C_FLOAT_COMPLEX, float _Complex);
    COMPLEXES(MPI_C_DOUBLE_COMPLEX, double _Complex);
    COMPLEXES(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex);
    ok(1, "complex");
}

static void test_logical(void)
{
    {
        PAIRS_OF(int, 0, 1)
        try_kinds("MPI_LOGICAL", MPI_LOGICAL, TRUTH);
        TRUTHS(MPI_LOGICAL, int);
    }
    {
        PAIRS_OF(_Bool, 0, 1)
        try_kinds("MPI_C_BOOL", MPI_C_BOOL, TRUTH);
        TRUTHS(MPI_C_BOOL, _Bool);
    }
    {
        PAIRS_OF(unsigned char, 0xf0, 0xff)
        try_kinds("MPI_BYTE", MPI_BYTE, BYTE);
        BITS(MPI_BYTE, unsigned char);
    }
    try_kinds("MPI_PACKED", MPI_PACKED, NONE);
    try_kinds("MPI_CHARACTER", MPI_CHARACTER, NONE);
    try_kinds("MPI_2COMPLEX", MPI_2COMPLEX, NONE);
    ok(1, "truth and bytes");
}

/* Greater, or less, counts; of equal values the lower place. */
#define PLACES(handle, of_value, of_place)                                             \
    do {                                                                               \
        struct {                                                                       \
            of_value value;                                                            \
            of_place at;                                                               \
        } a[VALUES * VALUES], b[VALUES * VALUES], out[VALUES * VALUES];                \
        int i, wrong = 0;                                                              \
        for (i = 0; i < VALUES * VALUES; i++) {                                        \
            a[i].value = (of_value)(i / VALUES - 3);                                   \
            b[i].value = (of_value)(i % VALUES - 3);                                   \
            a[i].at = (of_place)(i % 3);                                               \
            b[i].at = (of_place)(i % 5);                                               \
        }                                                                              \
        try_kinds(#handle, handle, PAIR);                                              \
        apply(MPI_MAXLOC, handle, a, b, out, sizeof out[0]);                           \
        for (i = 0; i < VALUES * VALUES; i++)                                          \
            wrong += out[i].value != (a[i].value > b[i].value ? a[i].value : b[i].value) || \
                     out[i].at != (a[i].value > b[i].value   ? a[i].at                 \
                                   : a[i].value < b[i].value ? b[i].at                 \
                                   : a[i].at < b[i].at       ? a[i].at                 \
                                                             : b[i].at);               \
        apply(MPI_MINLOC, handle, a, b, out, sizeof out[0]);                           \
        for (i = 0; i < VALUES * VALUES; i++)                                          \
            wrong += out[i].value != (a[i].value < b[i].value ? a[i].value : b[i].value) || \
                     out[i].at != (a[i].value < b[i].value   ? a[i].at                 \
                                   : a[i].value > b[i].value ? b[i].at                 \
                                   : a[i].at < b[i].at       ? a[i].at                 \
                                                             : b[i].at);               \
        check(wrong == 0, #handle ": %d wrong", wrong);                                \
    } while (0)

static void test_places(void)
{
    PLACES(MPI_FLOAT_INT, float, int);
    PLACES(MPI_DOUBLE_INT, double, int);
    PLACES(MPI_LONG_INT, long, int);
    PLACES(MPI_SHORT_INT, short, int);
    PLACES(MPI_2INT, int, int);
    PLACES(MPI_LONG_DOUBLE_INT, long double, int);
    PLACES(MPI_2INTEGER, int, int);
    PLACES(MPI_2REAL, float, float);
    PLACES(MPI_2DOUBLE_PRECISION, double, double);
    ok(1, "places of the greatest and the least");
}

static int calls, counted;

static void mine(void *in, void *inout, int *n, MPI_Datatype *t)
{
    int i;

    calls++;
    counted += *n;
    for (i = 0; *t == MPI_INT && i < *n; i++)
        ((int *)inout)[i] = 10 * ((int *)in)[i] + ((int *)inout)[i];
}

static void test_own(void)
{
    struct ftm_op op = { 1, 0, 0, 0, 0, mine };
    int a[3] = { 1, 2, 3 }, b[3] = { 4, 5, 6 };

    ftm_op_apply(&e, &op, a, b, 3, type(MPI_INT));
    ok(b[0] == 14 && b[2] == 36 && calls == 1 && counted == 3,
       "the program's function gets the lower ranks first");
    ok(ftm_op_check(&op, type(MPI_PACKED)) == 0, "and may be used with each type");
}

int main(void)
{
    ftm_table_init(&e.handles, &e.mem);
    check(ftm_type_init(&e) == 0 && ftm_op_init(&e) == 0, "predefined objects");
    test_whole();
    test_int();
    test_integer();
    test_exact();
    test_unsigned();
    test_floats();
    test_complex();
    test_logical();
    test_places();
    test_own();
    ftm_op_clear(&e);
    ftm_type_clear(&e);
    ftm_table_clear(&e.handles);
    ok(e.mem.bytes == 0, "no memory is left");
    return test_end();
}
