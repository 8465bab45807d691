/* store.h - the keys and values that one agent keeps for a job. */

/* A brain: a hash table of keys in the order in which they came. Values are replaced, never removed.
 *
 * Keys travel between hosts at fences (coll.h). What ranks of this host put since the last fence is *fresh*.
 * A key should be put once. If several hosts put one key at the same fence, the greatest of the values (in
 * the order of strcmp) wins at every host, in whatever order the records arrive; a later fence wins over an
 * earlier one. Ranks of the same host that put one key before the same fence: the last put wins. */
#ifndef LA_STORE_H
#define LA_STORE_H

#include <stddef.h>
#include <stdint.h>

#define LA_STORE_KEY 256         /* the longest key, with its NUL */
#define LA_STORE_VALUE 65536     /* the longest value, with its NUL */
#define LA_STORE_MOST ((size_t)1 << 30) /* bytes of keys and values */

struct la_store;

/* The seed makes the hash differ from job to job. 0, PHX_ENOMEM. */
int la_store_new(struct la_store **out, uint64_t seed);
void la_store_free(struct la_store *s);

/* A rank of this host puts a key before the fence `fence`: it is fresh from now on. 0; PHX_EINVAL: the key
 * is empty or too long; PHX_ETOOBIG: the value is too long; PHX_ELIMIT: the store is full; PHX_ENOMEM. */
int la_store_put(struct la_store *s, const char *key, const char *value, uint32_t fence);
/* A key came with the fence `fence`. Errors as la_store_put. */
int la_store_merge(struct la_store *s, const char *key, const char *value, uint32_t fence);
/* A key came without a fence: the newest value replaces the old one, unless that one is fresh. */
int la_store_learn(struct la_store *s, const char *key, const char *value);

/* The value, borrowed until the next change of the store; NULL: no such key. Allocates nothing. */
const char *la_store_get(const struct la_store *s, const char *key);

/* The fresh keys in the order in which they were first put: key NUL value, *size bytes without the last
 * NUL, borrowed. */
uint32_t la_store_fresh(const struct la_store *s);
size_t la_store_fresh_bytes(const struct la_store *s);
const char *la_store_fresh_at(const struct la_store *s, uint32_t index, size_t *size);
void la_store_told(struct la_store *s); /* nothing is fresh any more */

uint32_t la_store_count(const struct la_store *s);
/* Key number `index` in the order of arrival. */
void la_store_at(const struct la_store *s, uint32_t index, const char **key, const char **value);
size_t la_store_bytes(const struct la_store *s);  /* of keys and values with their NULs */
size_t la_store_memory(const struct la_store *s); /* all that is allocated */

#endif
