/* op.c - operations of reductions. */
#include "op.h"

#include <complex.h>
#include <limits.h>

#include "engine.h"

/* Types by what may be done with them, as MPI has it, and what they are in C; with MPI_CHAR among the
 * integers, and floating point among what is true or false, since programs use both. */
#define OP_INTEGERS(X)                                                                                   \
    X(MPI_CHAR, char) X(MPI_SIGNED_CHAR, signed char) X(MPI_UNSIGNED_CHAR, unsigned char)                \
    X(MPI_SHORT, short) X(MPI_UNSIGNED_SHORT, unsigned short) X(MPI_INT, int) X(MPI_UNSIGNED, unsigned)  \
    X(MPI_LONG, long) X(MPI_UNSIGNED_LONG, unsigned long) X(MPI_LONG_LONG_INT, long long)                \
    X(MPI_UNSIGNED_LONG_LONG, unsigned long long) X(MPI_INTEGER, int) X(MPI_INTEGER1, int8_t)            \
    X(MPI_INTEGER2, int16_t) X(MPI_INTEGER4, int32_t) X(MPI_INTEGER8, int64_t) X(MPI_INT8_T, int8_t)     \
    X(MPI_INT16_T, int16_t) X(MPI_INT32_T, int32_t) X(MPI_INT64_T, int64_t) X(MPI_UINT8_T, uint8_t)      \
    X(MPI_UINT16_T, uint16_t) X(MPI_UINT32_T, uint32_t) X(MPI_UINT64_T, uint64_t) X(MPI_AINT, MPI_Aint)
#define OP_LOGICALS(X) X(MPI_LOGICAL, int) X(MPI_C_BOOL, unsigned char)
#define OP_REALS(X) X(MPI_REAL, MPI_FLOAT) X(MPI_REAL4, MPI_FLOAT) X(MPI_DOUBLE_PRECISION, MPI_DOUBLE) \
    X(MPI_REAL8, MPI_DOUBLE) X(MPI_FLOAT, MPI_FLOAT) X(MPI_DOUBLE, MPI_DOUBLE)                           \
    X(MPI_LONG_DOUBLE, MPI_LONG_DOUBLE)
#define OP_COMPLEX_NAMES(X)                                                                              \
    X(MPI_COMPLEX, MPI_C_FLOAT_COMPLEX) X(MPI_COMPLEX8, MPI_C_FLOAT_COMPLEX)                             \
    X(MPI_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX) X(MPI_COMPLEX16, MPI_C_DOUBLE_COMPLEX)                   \
    X(MPI_C_FLOAT_COMPLEX, MPI_C_FLOAT_COMPLEX) X(MPI_C_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX)            \
    X(MPI_C_LONG_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX)

/* What is calculated with: each type above is one of these. */
#define OP_EXACTS(X)                                                                                     \
    X(MPI_INT8_T, int8_t) X(MPI_INT16_T, int16_t) X(MPI_INT32_T, int32_t) X(MPI_INT64_T, int64_t)        \
    X(MPI_UINT8_T, uint8_t) X(MPI_UINT16_T, uint16_t) X(MPI_UINT32_T, uint32_t) X(MPI_UINT64_T, uint64_t)
#define OP_FLOATS(X) X(MPI_FLOAT, float) X(MPI_DOUBLE, double) X(MPI_LONG_DOUBLE, long double)
#define OP_COMPLEXES(X)                                                                                  \
    X(MPI_C_FLOAT_COMPLEX, float _Complex) X(MPI_C_DOUBLE_COMPLEX, double _Complex)                      \
    X(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex)

struct op_float_int { float value; int at; };
struct op_double_int { double value; int at; };
struct op_long_int { long value; int at; };
struct op_short_int { short value; int at; };
struct op_2int { int value, at; };
struct op_long_double_int { long double value; int at; };
struct op_2float { float value, at; };
struct op_2double { double value, at; };

#define OP_PAIRS(X)                                                                                      \
    X(MPI_FLOAT_INT, struct op_float_int) X(MPI_DOUBLE_INT, struct op_double_int)                        \
    X(MPI_LONG_INT, struct op_long_int) X(MPI_SHORT_INT, struct op_short_int)                            \
    X(MPI_2INT, struct op_2int) X(MPI_LONG_DOUBLE_INT, struct op_long_double_int)                        \
    X(MPI_2REAL, struct op_2float) X(MPI_2DOUBLE_PRECISION, struct op_2double) X(MPI_2INTEGER, struct op_2int)

enum op_kind { OP_INTEGER = 1, OP_FLOAT = 2, OP_COMPLEX = 4, OP_LOGICAL = 8, OP_BYTE = 16, OP_PAIR = 32 };

static int op_integer(size_t size, int has_sign)
{
    switch (size) {
    case 1:
        return has_sign ? MPI_INT8_T : MPI_UINT8_T;
    case 2:
        return has_sign ? MPI_INT16_T : MPI_UINT16_T;
    case 4:
        return has_sign ? MPI_INT32_T : MPI_UINT32_T;
    default:
        return has_sign ? MPI_INT64_T : MPI_UINT64_T;
    }
}

/* The kind of a type, 0: none of these; and the type to calculate with. */
static int op_kind_of(int type, int *plain)
{
#define OP_CASE_INTEGER(handle, name) \
    case handle: *plain = op_integer(sizeof(name), (name)-1 < (name)1); return OP_INTEGER;
#define OP_CASE_REAL(handle, same) case handle: *plain = same; return OP_FLOAT;
#define OP_CASE_COMPLEX(handle, same) case handle: *plain = same; return OP_COMPLEX;
#define OP_CASE_LOGICAL(handle, name) case handle: *plain = op_integer(sizeof(name), 1); return OP_LOGICAL;
#define OP_CASE_PAIR(handle, name) case handle: *plain = handle; return OP_PAIR;
    switch (type) {
        OP_INTEGERS(OP_CASE_INTEGER)
        OP_REALS(OP_CASE_REAL)
        OP_COMPLEX_NAMES(OP_CASE_COMPLEX)
        OP_LOGICALS(OP_CASE_LOGICAL)
        OP_PAIRS(OP_CASE_PAIR)
    case MPI_BYTE:
        *plain = MPI_UINT8_T;
        return OP_BYTE;
    default:
        return 0;
    }
}

/* Integers are added and multiplied without a sign, where what does not fit wraps instead of being
 * undefined. */
#define OP_WRAPPED(name, sign) (name)((unsigned long long)a[i] sign (unsigned long long)b[i])
#define OP_PLAIN(name, sign) (name)(a[i] sign b[i])

#define OP_LOOP(handle, name, what)      \
    case handle: {                       \
        const name *a = in;              \
        name *b = inout;                 \
        for (i = 0; i < count; i++)      \
            b[i] = what;                 \
        return;                          \
    }

#define OP_BEGIN(function)                                                              \
    static void function(int type, const void *in, void *inout, size_t count)           \
    {                                                                                   \
        size_t i;                                                                       \
        switch (type) {
#define OP_END                                                                          \
        default:                                                                        \
            return;                                                                     \
        }                                                                               \
    }

#define OP_MAX(handle, name) OP_LOOP(handle, name, a[i] > b[i] ? a[i] : b[i])
#define OP_MIN(handle, name) OP_LOOP(handle, name, a[i] < b[i] ? a[i] : b[i])
#define OP_ADD_INTEGER(handle, name) OP_LOOP(handle, name, OP_WRAPPED(name, +))
#define OP_ADD(handle, name) OP_LOOP(handle, name, OP_PLAIN(name, +))
#define OP_MULTIPLY_INTEGER(handle, name) OP_LOOP(handle, name, OP_WRAPPED(name, *))
#define OP_MULTIPLY(handle, name) OP_LOOP(handle, name, OP_PLAIN(name, *))
#define OP_AND(handle, name) OP_LOOP(handle, name, (name)((a[i] != 0) & (b[i] != 0)))
#define OP_OR(handle, name) OP_LOOP(handle, name, (name)((a[i] != 0) | (b[i] != 0)))
#define OP_XOR(handle, name) OP_LOOP(handle, name, (name)((a[i] != 0) ^ (b[i] != 0)))
#define OP_BIT_AND(handle, name) OP_LOOP(handle, name, OP_PLAIN(name, &))
#define OP_BIT_OR(handle, name) OP_LOOP(handle, name, OP_PLAIN(name, |))
#define OP_BIT_XOR(handle, name) OP_LOOP(handle, name, OP_PLAIN(name, ^))
/* Of equal values the lower place is taken. */
#define OP_FIRST(sign) \
    a[i].value sign b[i].value || (a[i].value == b[i].value && a[i].at < b[i].at) ? a[i] : b[i]
#define OP_MAX_AT(handle, name) OP_LOOP(handle, name, OP_FIRST(>))
#define OP_MIN_AT(handle, name) OP_LOOP(handle, name, OP_FIRST(<))

OP_BEGIN(op_max) OP_EXACTS(OP_MAX) OP_FLOATS(OP_MAX) OP_END
OP_BEGIN(op_min) OP_EXACTS(OP_MIN) OP_FLOATS(OP_MIN) OP_END
OP_BEGIN(op_sum) OP_EXACTS(OP_ADD_INTEGER) OP_FLOATS(OP_ADD) OP_COMPLEXES(OP_ADD) OP_END
OP_BEGIN(op_prod) OP_EXACTS(OP_MULTIPLY_INTEGER) OP_FLOATS(OP_MULTIPLY) OP_COMPLEXES(OP_MULTIPLY) OP_END
OP_BEGIN(op_land) OP_EXACTS(OP_AND) OP_FLOATS(OP_AND) OP_END
OP_BEGIN(op_lor) OP_EXACTS(OP_OR) OP_FLOATS(OP_OR) OP_END
OP_BEGIN(op_lxor) OP_EXACTS(OP_XOR) OP_FLOATS(OP_XOR) OP_END
OP_BEGIN(op_band) OP_EXACTS(OP_BIT_AND) OP_END
OP_BEGIN(op_bor) OP_EXACTS(OP_BIT_OR) OP_END
OP_BEGIN(op_bxor) OP_EXACTS(OP_BIT_XOR) OP_END
OP_BEGIN(op_maxloc) OP_PAIRS(OP_MAX_AT) OP_END
OP_BEGIN(op_minloc) OP_PAIRS(OP_MIN_AT) OP_END

static const struct op_row {
    int handle, kinds;
    void (*apply)(int type, const void *in, void *inout, size_t count);
} op_rows[] = {
    { MPI_MAX, OP_INTEGER | OP_FLOAT, op_max },
    { MPI_MIN, OP_INTEGER | OP_FLOAT, op_min },
    { MPI_SUM, OP_INTEGER | OP_FLOAT | OP_COMPLEX, op_sum },
    { MPI_PROD, OP_INTEGER | OP_FLOAT | OP_COMPLEX, op_prod },
    { MPI_LAND, OP_INTEGER | OP_FLOAT | OP_LOGICAL, op_land },
    { MPI_BAND, OP_INTEGER | OP_BYTE, op_band },
    { MPI_LOR, OP_INTEGER | OP_FLOAT | OP_LOGICAL, op_lor },
    { MPI_BOR, OP_INTEGER | OP_BYTE, op_bor },
    { MPI_LXOR, OP_INTEGER | OP_FLOAT | OP_LOGICAL, op_lxor },
    { MPI_BXOR, OP_INTEGER | OP_BYTE, op_bxor },
    { MPI_MINLOC, OP_PAIR, op_minloc },
    { MPI_MAXLOC, OP_PAIR, op_maxloc },
};

int ftm_op_init(struct ftm *e)
{
    struct ftm_op *op;
    int i;

    for (i = 0; i < (int)(sizeof op_rows / sizeof op_rows[0]); i++) {
        op = ftm_mem_new(&e->mem, sizeof *op);
        if (op == NULL)
            return MPI_ERR_INTERN;
        op->refs = 1;
        op->handle = op_rows[i].handle;
        op->basic = i + 1;
        op->commutes = 1;
        if (ftm_table_add_at(&e->handles, FTM_OP, op, i + 1) != 0) {
            ftm_op_drop(e, op);
            return MPI_ERR_INTERN;
        }
    }
    return 0;
}

void ftm_op_clear(struct ftm *e)
{
    struct ftm_op *op;
    int place = 0;

    while ((op = ftm_table_next(&e->handles, FTM_OP, &place)) != NULL)
        ftm_op_drop(e, op);
}

void ftm_op_drop(struct ftm *e, struct ftm_op *op)
{
    if (op != NULL && --op->refs == 0)
        ftm_mem_free(&e->mem, op, sizeof *op);
}

int ftm_op_check(const struct ftm_op *op, const struct ftm_type *t)
{
    int plain;

    if (op->basic == 0 || (op_rows[op->basic - 1].kinds & op_kind_of(t->handle, &plain)) != 0)
        return 0;
    return MPI_ERR_OP;
}

/* The program's function counts in int. */
static void op_call(const struct ftm_op *op, char *in, char *inout, size_t count, struct ftm_type *t)
{
    MPI_Datatype handle = t->handle;
    int n;

    for (; count != 0; count -= (size_t)n) {
        n = count > INT_MAX ? INT_MAX : (int)count;
        op->function(in, inout, &n, &handle);
        in += (int64_t)n * ftm_type_extent(t);
        inout += (int64_t)n * ftm_type_extent(t);
    }
}

void ftm_op_apply(struct ftm *e, const struct ftm_op *op, const void *in, void *inout, size_t count,
                  struct ftm_type *t)
{
    int plain = 0;

    (void)e;
    if (op->basic != 0 && op_kind_of(t->handle, &plain) != 0)
        op_rows[op->basic - 1].apply(plain, in, inout, count);
    else
        op_call(op, (char *)(uintptr_t)in, inout, count, t);
}
