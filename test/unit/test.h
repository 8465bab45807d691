/* test.h - a small harness: ok() prints one line of TAP, and an allocator that can fail. */

/* A test file is one program: functions that call ok(), and a main that ends with `return test_end();`.
 *
 *      static void test_sum(void)
 *      {
 *          // Goal: ... Method: ...
 *          ok(sum(1, 2) == 3, "one and two");
 *          ok(sum(n, 0) == n, "%d and nothing", n);     // the name is a format
 *      }
 *
 * In loops over many cases, count the failures and call ok() once, or call check(), which is ok() that is
 * silent on success. This header stands first in a test, so it makes POSIX visible as src/base/base.h does,
 * and no more: on Linux the joined tests are those of a phoenix.c without accept4 and without links within
 * the host, which are TCP there, and the split ones have both. */
#ifndef TEST_H
#define TEST_H

#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif
#if !defined(_POSIX_C_SOURCE) && !defined(__FreeBSD__) && !defined(__NetBSD__) && !defined(__OpenBSD__) \
    && !defined(__DragonFly__)
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_count, test_failures;

/* Both give 1 if cond holds and 0 if not, so that a test may stop early. */
#define ok(cond, ...) test_say((cond) ? 1 : 0, 0, __FILE__, __LINE__, #cond, __VA_ARGS__)
#define check(cond, ...) test_say((cond) ? 1 : 0, 1, __FILE__, __LINE__, #cond, __VA_ARGS__)

static int test_say(int good, int quiet, const char *file, int line, const char *cond, const char *name, ...)
{
    va_list args;

    if (good && quiet)
        return 1;
    printf("%s %d - ", good ? "ok" : "not ok", ++test_count);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    printf("\n");
    if (!good) {
        test_failures++;
        printf("#   %s:%d: %s\n", file, line, cond);
        fflush(stdout); /* the next thing may be a crash */
        if (getenv("T_STOP") != NULL)
            exit(1); /* who only wants to know whether all is well need not wait for the rest */
    }
    return good;
}

/* The plan comes last: a program that dies on the way has none, and so has failed. */
static int test_end(void)
{
    printf("1..%d\n", test_count);
    if (test_failures > 0)
        printf("# %d of %d failed\n", test_failures, test_count);
    return test_failures > 0 || test_count == 0;
}

/* An allocator with the shape of struct phx_alloc. It checks the sizes it is told, counts what is out,
 * moves blocks on every resize and can fail one call. Zeroed, it never fails. */
struct test_heap {
    long calls;     /* that asked for memory */
    long fail_at;   /* this one fails, counted from 1; 0: none */
    long fail_from; /* this one and all later ones fail; 0: none */
    long blocks;    /* out now */
    long lies;      /* sizes that were not what had been asked for */
    size_t bytes;
    size_t bytes_asked; /* in all */
    int bare;           /* blocks are not filled: for those that nobody looks into */
};

/* Inline, because not every test uses it. The size stands in front of each block. */
static inline void *test_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    union { size_t size; long double align; void *p; } *block = NULL, *from = NULL;
    struct test_heap *heap = world;

    if (old != NULL) {
        from = old;
        from--;
    }
    heap->lies += (from != NULL ? from->size : 0) != old_size;
    if (new_size > 0) {
        heap->calls++;
        if (heap->calls == heap->fail_at || (heap->fail_from > 0 && heap->calls >= heap->fail_from))
            return NULL;
        block = malloc(sizeof *block + new_size);
        if (block == NULL)
            return NULL;
        if (!heap->bare)
            memset(block + 1, 0xa5, new_size); /* nobody may rely on zeroes */
        block->size = new_size;
        heap->blocks++;
        heap->bytes += new_size;
        heap->bytes_asked += new_size;
    }
    if (from != NULL) {
        if (block != NULL)
            memcpy(block + 1, old, old_size < new_size ? old_size : new_size);
        heap->blocks--;
        heap->bytes -= from->size;
        free(from);
    }
    return block == NULL ? NULL : block + 1;
}

static inline int test_heap_is_clean(const struct test_heap *heap)
{
    return heap->blocks == 0 && heap->bytes == 0 && heap->lies == 0;
}

#endif
