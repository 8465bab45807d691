/* text.h - strings that grow, and lists of strings. */

/* Both are owned by who holds the struct; zeroed is empty. A failed allocation is kept in `failed` until the
 * end, so that callers write a text whole and ask once. */
#ifndef LA_TEXT_H
#define LA_TEXT_H

#include <stddef.h>

/* A text: at is NUL-ended, or NULL while nothing was written. */
struct la_text {
    char *at;
    size_t size, capacity;
    int failed;
};

void la_text_add(struct la_text *t, const char *data, size_t size);
void la_text_say(struct la_text *t, const char *format, ...); /* as printf */
void la_text_free(struct la_text *t);

/* A list: at is NULL-ended, or NULL while it is empty. */
struct la_list {
    char **at;
    size_t count, capacity;
    int failed;
};

void la_text_list_add(struct la_list *l, const char *data, size_t size); /* a copy */
void la_text_list_free(struct la_list *l);

/* A copy of size bytes with a NUL behind it; of a string; of none. NULL: no memory (or none to copy). */
char *la_text_copy(const char *data, size_t size);
char *la_text_dup(const char *s);

/* An array's next place: 0, or PHX_ENOMEM. at is the address of the pointer to it. */
int la_text_grow(void *at, size_t count, size_t *capacity, size_t each);

/* A number of the whole text, decimal and nothing else, least..most: 0, or PHX_EINVAL. */
int la_text_number(const char *s, size_t size, unsigned long least, unsigned long most, unsigned long *out);

/* Frees a NULL-ended list and its strings. */
void la_text_list_drop(char **at);

#endif
