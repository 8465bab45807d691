/* fuzz.h - what every fuzz target is made of: one function of bytes, and ways to read them. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One run: deterministic, it leaves nothing behind. Whatever must hold is asked by fuzz_must. */
void fuzz_one(const uint8_t *data, size_t size);

/* An invariant that breaks ends the run as a crash does. */
#define fuzz_must(cond, ...)                                                                                \
    do {                                                                                                    \
        if (!(cond)) {                                                                                      \
            fflush(stdout);                                                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);                                      \
            fprintf(stderr, __VA_ARGS__);                                                                   \
            fputc('\n', stderr);                                                                            \
            abort();                                                                                        \
        }                                                                                                   \
    } while (0)

/* The input as a source of choices; zeros when it is used up. */
struct fuzz_in {
    const uint8_t *at;
    size_t left;
};

static inline unsigned fuzz_byte(struct fuzz_in *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 8 | fuzz_byte(in);
    return v;
}

/* Up to so many bytes. */
static inline const uint8_t *fuzz_bytes(struct fuzz_in *in, size_t most, size_t *size)
{
    const uint8_t *at = in->at;

    *size = most < in->left ? most : in->left;
    in->at += *size;
    in->left -= *size;
    return at;
}

/* A copy of its own size with a NUL behind it, so that sanitizers see who reads on. To be freed. */
static inline char *fuzz_text(struct fuzz_in *in)
{
    char *text = malloc(in->left + 1);

    fuzz_must(text != NULL, "memory");
    memcpy(text, in->at, in->left);
    text[in->left] = '\0';
    in->left = 0;
    return text;
}

#endif
