/* type_basic.c - the predefined datatypes. */
#include <complex.h>
#include <stddef.h>
#include <wchar.h>

#include "engine.h"
#include "mpi.h"
#include "type.h"

/* The strictest place of a type in a struct, which on some machines is less than it has by itself. */
#define BASIC_PLACE(name, type) \
    struct basic_##name {       \
        char before;            \
        type value;             \
    };

BASIC_PLACE(char, char)
BASIC_PLACE(short, short)
BASIC_PLACE(int, int)
BASIC_PLACE(long, long)
BASIC_PLACE(long_long, long long)
BASIC_PLACE(wchar, wchar_t)
BASIC_PLACE(bool, _Bool)
BASIC_PLACE(float, float)
BASIC_PLACE(double, double)
BASIC_PLACE(long_double, long double)
BASIC_PLACE(int8, int8_t)
BASIC_PLACE(int16, int16_t)
BASIC_PLACE(int32, int32_t)
BASIC_PLACE(int64, int64_t)
BASIC_PLACE(aint, MPI_Aint)
BASIC_PLACE(float_complex, float _Complex)
BASIC_PLACE(double_complex, double _Complex)
BASIC_PLACE(long_double_complex, long double _Complex)

struct basic_simple {
    int handle;
    size_t size, align;
};

#define BASIC(handle, name) \
    { handle, sizeof ((struct basic_##name *)0)->value, offsetof(struct basic_##name, value) }

static const struct basic_simple basic_simples[] = {
    BASIC(MPI_CHAR, char),
    BASIC(MPI_SIGNED_CHAR, char),
    BASIC(MPI_UNSIGNED_CHAR, char),
    BASIC(MPI_BYTE, char),
    BASIC(MPI_WCHAR, wchar),
    BASIC(MPI_SHORT, short),
    BASIC(MPI_UNSIGNED_SHORT, short),
    BASIC(MPI_INT, int),
    BASIC(MPI_UNSIGNED, int),
    BASIC(MPI_LONG, long),
    BASIC(MPI_UNSIGNED_LONG, long),
    BASIC(MPI_LONG_LONG_INT, long_long),
    BASIC(MPI_UNSIGNED_LONG_LONG, long_long),
    BASIC(MPI_FLOAT, float),
    BASIC(MPI_DOUBLE, double),
    BASIC(MPI_LONG_DOUBLE, long_double),
    BASIC(MPI_PACKED, char),
    BASIC(MPI_INTEGER, int),
    BASIC(MPI_REAL, float),
    BASIC(MPI_DOUBLE_PRECISION, double),
    BASIC(MPI_COMPLEX, float_complex),
    BASIC(MPI_DOUBLE_COMPLEX, double_complex),
    BASIC(MPI_LOGICAL, int),
    BASIC(MPI_CHARACTER, char),
    BASIC(MPI_INTEGER1, int8),
    BASIC(MPI_INTEGER2, int16),
    BASIC(MPI_INTEGER4, int32),
    BASIC(MPI_INTEGER8, int64),
    BASIC(MPI_REAL4, float),
    BASIC(MPI_REAL8, double),
    BASIC(MPI_COMPLEX8, float_complex),
    BASIC(MPI_COMPLEX16, double_complex),
    BASIC(MPI_INT8_T, int8),
    BASIC(MPI_INT16_T, int16),
    BASIC(MPI_INT32_T, int32),
    BASIC(MPI_INT64_T, int64),
    BASIC(MPI_UINT8_T, int8),
    BASIC(MPI_UINT16_T, int16),
    BASIC(MPI_UINT32_T, int32),
    BASIC(MPI_UINT64_T, int64),
    BASIC(MPI_C_BOOL, bool),
    BASIC(MPI_C_FLOAT_COMPLEX, float_complex),
    BASIC(MPI_C_DOUBLE_COMPLEX, double_complex),
    BASIC(MPI_C_LONG_DOUBLE_COMPLEX, long_double_complex),
    BASIC(MPI_AINT, aint),
};

/* Pairs are structs, with the gaps that a compiler leaves. */
static const struct basic_pair {
    int handle, first, second;
} basic_pairs[] = {
    { MPI_FLOAT_INT, MPI_FLOAT, MPI_INT },
    { MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT },
    { MPI_LONG_INT, MPI_LONG, MPI_INT },
    { MPI_SHORT_INT, MPI_SHORT, MPI_INT },
    { MPI_2INT, MPI_INT, MPI_INT },
    { MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT },
    { MPI_2REAL, MPI_REAL, MPI_REAL },
    { MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION },
    { MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER },
    { MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX },
    { MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX },
};

static int basic_enter(struct ftm *e, struct ftm_type *t, int handle)
{
    t->handle = handle;
    t->basic = handle & (FTM_HANDLE_PLACES - 1);
    t->committed = 1;
    if (ftm_table_add_at(&e->handles, FTM_TYPE, t, t->basic) == 0)
        return 0;
    ftm_type_drop(e, t);
    return MPI_ERR_INTERN;
}

static int basic_simple(struct ftm *e, const struct basic_simple *s)
{
    struct ftm_type *t = ftm_mem_new(&e->mem, sizeof *t);

    if (t == NULL)
        return MPI_ERR_INTERN;
    t->refs = 1;
    t->size = t->ub = t->true_ub = t->unit = (int64_t)s->size;
    t->align = (int)s->align;
    t->elements = 1;
    t->depth = 1;
    t->piece = ftm_mem_new(&e->mem, sizeof *t->piece);
    if (t->piece == NULL) {
        ftm_type_drop(e, t);
        return MPI_ERR_INTERN;
    }
    t->pieces = t->piece_room = 1;
    t->piece->count = 1;
    t->piece->bytes = t->size;
    return basic_enter(e, t, s->handle);
}

static int basic_pair(struct ftm *e, const struct basic_pair *p)
{
    struct ftm_type *types[2], *t;
    int64_t at[2] = { 0, 0 };
    struct ftm_blocks b = { 2, NULL, 1, NULL, NULL, NULL, 1 };
    int rc;

    types[0] = ftm_table_get(&e->handles, p->first, FTM_TYPE);
    types[1] = ftm_table_get(&e->handles, p->second, FTM_TYPE);
    at[1] = (types[0]->size + types[1]->align - 1) / types[1]->align * types[1]->align;
    b.displacements = at;
    b.types = types;
    rc = ftm_type_blocks(e, &b, &t);
    return rc != 0 ? rc : basic_enter(e, t, p->handle);
}

/* MPI_LB and MPI_UB have no bytes: only a place. */
static int basic_marker(struct ftm *e, int handle)
{
    struct ftm_type *t = ftm_mem_new(&e->mem, sizeof *t);

    if (t == NULL)
        return MPI_ERR_INTERN;
    t->refs = 1;
    t->align = 1;
    t->unit = -1;
    t->has_lb = handle == MPI_LB;
    t->has_ub = handle == MPI_UB;
    return basic_enter(e, t, handle);
}

int ftm_type_init(struct ftm *e)
{
    size_t i;
    int rc = 0;

    for (i = 0; i < sizeof basic_simples / sizeof basic_simples[0] && rc == 0; i++)
        rc = basic_simple(e, &basic_simples[i]);
    for (i = 0; i < sizeof basic_pairs / sizeof basic_pairs[0] && rc == 0; i++)
        rc = basic_pair(e, &basic_pairs[i]);
    if (rc == 0)
        rc = basic_marker(e, MPI_LB);
    return rc != 0 ? rc : basic_marker(e, MPI_UB);
}

void ftm_type_clear(struct ftm *e)
{
    struct ftm_type *t;
    int place = 0;

    while ((t = ftm_table_next(&e->handles, FTM_TYPE, &place)) != NULL)
        ftm_type_drop(e, t);
}
