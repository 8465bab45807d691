/* agree.c - fuzz: what members of an agreement of FT-MPI may say. */
/* A member among two to six hears messages that the input makes, of any member, and failures. What must hold:
 * no crash or leak, a result that stays, and no message to itself or to one that has failed. */
#include "../../extras/ftmpi/lib/agree.h"

#include "fuzz.h"

static int members, me;
static unsigned failed;

static void agree_send(void *ctx, int member, const void *bytes, size_t size)
{
    static unsigned char seen;

    (void)ctx;
    fuzz_must(member >= 0 && member < members && member != me, "to %d", member);
    fuzz_must((failed >> member & 1) == 0, "to %d, which has failed", member);
    for (size_t i = 0; i < size; i++)
        seen = (unsigned char)(seen ^ ((const unsigned char *)bytes)[i]);
}

/* Half of the inputs: a head that is right, so that what is behind it counts. */
static size_t message(struct fuzz_in *in, uint8_t *out, int rounds)
{
    size_t size, set = FTM_AGREE_SET(members), fits;
    unsigned kind = fuzz_byte(in);
    const uint8_t *p;

    if (kind & 128) {
        p = fuzz_bytes(in, 60, &size);
        memcpy(out, p, size);
        return size;
    }
    memset(out, 0, 80);
    out[0] = (uint8_t)(1 + kind % 6);
    out[1] = kind % 6 == 5 || (kind & 64) != 0;
    out[2] = (uint8_t)rounds;
    out[4] = (uint8_t)(fuzz_byte(in) % 8);
    fits = out[0] == 5 ? 8 : out[0] == 3 ? 8 + set : 28 + 3 * set;
    p = fuzz_bytes(in, fits - 8, &size);
    memcpy(out + 8, p, size);
    return fits;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    struct ftm_mem mem;
    struct ftm_agree_ops ops = { NULL, agree_send };
    struct ftm_agree_value mine = { .flags = 3, .context = 1 };
    const struct ftm_agree_value *result = NULL;
    struct ftm_agree *a;
    uint32_t flags = 0;
    uint8_t bytes[96];
    int rounds = 1 + (int)(fuzz_byte(&in) & 1);

    memset(&mem, 0, sizeof mem);
    members = 2 + (int)fuzz_byte(&in) % 5;
    me = (int)fuzz_byte(&in) % members;
    failed = 0;
    fuzz_must(ftm_agree_new(&a, &mem, &ops, members, NULL, me, (enum ftm_agree_rounds)rounds) == 0, "memory");
    for (int n = 0; n < 60 && in.left > 0; n++) {
        unsigned op = fuzz_byte(&in);
        int who = (int)(op >> 4) % members;

        if (op % 8 == 0) {
            ftm_agree_contribute(a, &mine);
        } else if (op % 8 == 1) {
            if (who != me) {
                failed |= 1u << who;
                ftm_agree_failed(a, who);
            }
        } else {
            (void)ftm_agree_arrived(a, who, bytes, message(&in, bytes, rounds));
        }
        if (result != NULL)
            fuzz_must(ftm_agree_result(a) == result && result->flags == flags, "a result that changes");
        result = ftm_agree_result(a);
        flags = result != NULL ? result->flags : 0;
    }
    ftm_agree_free(a);
}
