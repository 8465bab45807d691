/* queens.h - what the queens examples compute, and the words they send; no Phoenix in it. */

/* A board is what its filled rows attack; rows are filled from the top. Messages are 64-bit words
 * in network order, so that processes of any kind understand each other. */
#ifndef QUEENS_H
#define QUEENS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A bit per column. left and right are the diagonals under attack in the next row. */
struct board {
    uint32_t columns, left, right;
};

#define N_MIN 8
#define N_MAX 17

/* Solutions for n from N_MIN to N_MAX, OEIS A000170. */
static inline uint64_t queens_known(int n)
{
    static const uint64_t known[] = { 92,    352,    724,     2680,     14200,
                                      73712, 365596, 2279184, 14772512, 95815104 };

    return n < N_MIN || n > N_MAX ? 0 : known[n - N_MIN];
}

static inline uint32_t columns_of(int n)
{
    return ((uint32_t)1 << n) - 1;
}

static inline uint32_t free_columns(uint32_t all, struct board b)
{
    return all & ~(b.columns | b.left | b.right);
}

static inline struct board with_queen(struct board b, uint32_t column)
{
    b.columns |= column;
    b.left = (b.left | column) << 1;
    b.right = (b.right | column) >> 1;
    return b;
}

/* Solutions that contain this board. Recursive, but never deeper than N. Here the three words of a
 * board stand alone, because compilers keep them in registers then: a third of the time. */
static inline uint64_t queens(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    uint32_t rest = all & ~(columns | left | right), column;
    uint64_t count = 0;

    if (columns == all)
        return 1;
    for (; rest != 0; rest &= rest - 1) {
        column = rest & (~rest + 1);
        count += queens(all, columns | column, (left | column) << 1, (right | column) >> 1);
    }
    return count;
}

#define WORDS_MAX 8

/* Writes count words as bytes; returns how many bytes. */
static inline size_t put_words(unsigned char bytes[8 * WORDS_MAX], const uint64_t *words, int count)
{
    int i;

    for (i = 0; i < 8 * count; i++)
        bytes[i] = (unsigned char)(words[i / 8] >> (56 - 8 * (i % 8)));
    return (size_t)(8 * count);
}

/* Returns how many words there are; 0 if these are not words. What is missing is zero. */
static inline int get_words(const void *data, size_t size, uint64_t words[WORDS_MAX])
{
    const unsigned char *bytes = data;
    size_t i;

    if (size % 8 != 0 || size > 8 * WORDS_MAX)
        return 0;
    memset(words, 0, 8 * WORDS_MAX);
    for (i = 0; i < size; i++)
        words[i / 8] = words[i / 8] << 8 | bytes[i];
    return (int)(size / 8);
}

#endif
