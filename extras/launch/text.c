/* text.c - strings that grow, and lists of strings. */

#include "text.h"
#include "../../phoenix.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FIRST 64 /* bytes of a new text */
#define LIST_FIRST 8

/* ---- One string -------------------------------------------------------------------------------- */

char *la_text_copy(const char *data, size_t size)
{
    char *copy = size < SIZE_MAX ? malloc(size + 1) : NULL;

    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

char *la_text_dup(const char *s)
{
    return s == NULL ? NULL : la_text_copy(s, strlen(s));
}

int la_text_number(const char *s, size_t size, unsigned long least, unsigned long most, unsigned long *out)
{
    unsigned long n = 0;
    size_t i;

    if (size == 0)
        return PHX_EINVAL;
    for (i = 0; i < size; i++) {
        unsigned long digit = (unsigned long)(s[i] - '0');

        if (s[i] < '0' || s[i] > '9' || n > (most - digit) / 10 || digit > most)
            return PHX_EINVAL;
        n = n * 10 + digit;
    }
    if (n < least)
        return PHX_EINVAL;
    *out = n;
    return 0;
}

/* ---- Arrays ------------------------------------------------------------------------------------ */

/* The pointer is moved through memcpy, since pointers of different types may not be read as each other. */
int la_text_grow(void *at, size_t count, size_t *capacity, size_t each)
{
    size_t more = *capacity > 0 ? *capacity * 2 : LIST_FIRST;
    void *old, *bigger;

    if (count < *capacity)
        return 0;
    if (more > SIZE_MAX / 2 / each)
        return PHX_ENOMEM;
    memcpy(&old, at, sizeof old);
    bigger = realloc(old, more * each);
    if (bigger == NULL)
        return PHX_ENOMEM;
    memcpy(at, &bigger, sizeof bigger);
    *capacity = more;
    return 0;
}

/* ---- A text ------------------------------------------------------------------------------------ */

static int text_room(struct la_text *t, size_t more)
{
    size_t capacity = t->capacity > 0 ? t->capacity : TEXT_FIRST;
    char *bigger;

    if (t->failed)
        return 0;
    while (capacity <= t->size || capacity - t->size <= more) {
        if (capacity > SIZE_MAX / 4) {
            t->failed = 1;
            return 0;
        }
        capacity *= 2;
    }
    if (capacity == t->capacity)
        return 1;
    bigger = realloc(t->at, capacity);
    if (bigger == NULL) {
        t->failed = 1;
        return 0;
    }
    t->at = bigger;
    t->capacity = capacity;
    return 1;
}

void la_text_add(struct la_text *t, const char *data, size_t size)
{
    if (!text_room(t, size))
        return;
    if (size > 0)
        memcpy(t->at + t->size, data, size);
    t->size += size;
    t->at[t->size] = '\0';
}

void la_text_say(struct la_text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        t->failed = 1;
        return;
    }
    if (!text_room(t, (size_t)n))
        return;
    va_start(args, format);
    vsnprintf(t->at + t->size, (size_t)n + 1, format, args);
    va_end(args);
    t->size += (size_t)n;
}

void la_text_free(struct la_text *t)
{
    free(t->at);
    memset(t, 0, sizeof *t);
}

/* ---- A list ------------------------------------------------------------------------------------ */

void la_text_list_add(struct la_list *l, const char *data, size_t size)
{
    char *copy;

    if (l->failed)
        return;
    copy = la_text_copy(data, size);
    if (copy == NULL || la_text_grow(&l->at, l->count + 1, &l->capacity, sizeof *l->at) != 0) {
        free(copy);
        l->failed = 1;
        return;
    }
    l->at[l->count++] = copy;
    l->at[l->count] = NULL;
}

void la_text_list_drop(char **at)
{
    char **s;

    for (s = at; s != NULL && *s != NULL; s++)
        free(*s);
    free(at);
}

void la_text_list_free(struct la_list *l)
{
    la_text_list_drop(l->at);
    memset(l, 0, sizeof *l);
}
