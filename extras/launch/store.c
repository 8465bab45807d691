/* store.c - a hash table of keys and values, with a list of what is fresh. */

/* Each entry is one block: a head, the key, NUL, the value, NUL. So a fresh entry is a record of a fence
 * as it
 * stands. `list` holds the entries in the order of arrival; `table` holds places in the list plus one and is
 * probed linearly. It is never more than three quarters full. */
#include "store.h"
#include "phoenix.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t hash;
    uint32_t fence;   /* the fence with which the value goes, or came */
    uint32_t value_size; /* both sizes with the NUL */
    uint16_t key_size;
    uint8_t fresh;
    uint8_t met;      /* a value for the same fence came from another host */
    char text[];
};

struct la_store {
    uint64_t seed;
    struct entry **list;
    uint32_t count, capacity;
    uint32_t *table;
    uint32_t table_size; /* a power of two, or 0 */
    uint32_t *fresh;     /* places in the list */
    uint32_t fresh_count, fresh_capacity;
    size_t fresh_bytes, bytes;
};

int la_store_new(struct la_store **out, uint64_t seed)
{
    struct la_store *s = calloc(1, sizeof *s);

    *out = s;
    if (s == NULL)
        return PHX_ENOMEM;
    s->seed = seed;
    return 0;
}

void la_store_free(struct la_store *s)
{
    uint32_t i;

    if (s == NULL)
        return;
    for (i = 0; i < s->count; i++)
        free(s->list[i]);
    free(s->list);
    free(s->table);
    free(s->fresh);
    free(s);
}

/* FNV-1a over the seed and the key, with the bits of the top mixed down, since the table uses the low
 * ones. */
static uint64_t hash_of(const struct la_store *s, const char *key)
{
    uint64_t h = 14695981039346656037u ^ s->seed;

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * 1099511628211u;
    h ^= h >> 32;
    return (h * 0x9e3779b97f4a7c15u) ^ (h >> 29);
}

/* The slot of the key, or the free one where it would go. */
static uint32_t slot_of(const struct la_store *s, const char *key, uint64_t hash)
{
    uint32_t mask = s->table_size - 1, slot = (uint32_t)hash & mask;
    const struct entry *e;

    while (s->table[slot] != 0) {
        e = s->list[s->table[slot] - 1];
        if (e->hash == hash && strcmp(e->text, key) == 0)
            break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

static struct entry *find(const struct la_store *s, const char *key, uint64_t hash)
{
    uint32_t place;

    if (s->table_size == 0)
        return NULL;
    place = s->table[slot_of(s, key, hash)];
    return place == 0 ? NULL : s->list[place - 1];
}

const char *la_store_get(const struct la_store *s, const char *key)
{
    const struct entry *e = find(s, key, hash_of(s, key));

    return e == NULL ? NULL : e->text + e->key_size;
}

/* Makes an array of four-byte or pointer elements larger if it is full. */
static int grow(void **array, uint32_t count, uint32_t *capacity, size_t each)
{
    uint32_t want = *capacity == 0 ? 16 : *capacity * 2;
    void *more;

    if (count < *capacity)
        return 0;
    if (want <= *capacity || want > SIZE_MAX / each)
        return PHX_ELIMIT;
    more = realloc(*array, want * each);
    if (more == NULL)
        return PHX_ENOMEM;
    *array = more;
    *capacity = want;
    return 0;
}

static int grow_list(struct la_store *s)
{
    void *array = s->list;
    int err = grow(&array, s->count, &s->capacity, sizeof *s->list);

    s->list = array;
    return err;
}

static int grow_fresh(struct la_store *s)
{
    void *array = s->fresh;
    int err = grow(&array, s->fresh_count, &s->fresh_capacity, sizeof *s->fresh);

    s->fresh = array;
    return err;
}

/* Room for one more in the table: a new one of twice the size, filled again. */
static int grow_table(struct la_store *s)
{
    uint32_t size = s->table_size == 0 ? 32 : s->table_size * 2, i, slot, *table;

    if (s->table_size > 0 && s->count + 1 <= s->table_size / 4 * 3)
        return 0;
    if (size < s->table_size)
        return PHX_ELIMIT;
    table = calloc(size, sizeof *table);
    if (table == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < s->count; i++) {
        slot = (uint32_t)s->list[i]->hash & (size - 1);
        while (table[slot] != 0)
            slot = (slot + 1) & (size - 1);
        table[slot] = i + 1;
    }
    free(s->table);
    s->table = table;
    s->table_size = size;
    return 0;
}

static void fill(struct entry *e, const char *key, const char *value)
{
    memcpy(e->text, key, e->key_size);
    memcpy(e->text + e->key_size, value, e->value_size);
}

static int check_sizes(const char *key, const char *value)
{
    size_t key_size = strlen(key) + 1;

    if (key_size < 2 || key_size > LA_STORE_KEY)
        return PHX_EINVAL;
    return strlen(value) + 1 > LA_STORE_VALUE ? PHX_ETOOBIG : 0;
}

static int add(struct la_store *s, const char *key, uint64_t hash, const char *value, struct entry **out)
{
    size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    struct entry *e;
    int err;

    if (key_size + value_size > LA_STORE_MOST - s->bytes)
        return PHX_ELIMIT;
    if ((err = grow_list(s)) != 0 || (err = grow_table(s)) != 0)
        return err;
    e = malloc(sizeof *e + key_size + value_size);
    if (e == NULL)
        return PHX_ENOMEM;
    memset(e, 0, sizeof *e);
    e->hash = hash;
    e->fence = UINT32_MAX; /* none */
    e->key_size = (uint16_t)key_size;
    e->value_size = (uint32_t)value_size;
    fill(e, key, value);
    s->table[slot_of(s, key, hash)] = s->count + 1;
    s->list[s->count++] = e;
    s->bytes += key_size + value_size;
    *out = e;
    return 0;
}

/* A value of the same size or smaller overwrites the old one in place. */
static int replace(struct la_store *s, const char *key, struct entry *old, const char *value,
                   struct entry **out)
{
    size_t value_size = strlen(value) + 1, bytes = s->bytes - old->value_size;
    uint32_t place;
    struct entry *e = old;

    if (value_size > LA_STORE_MOST - bytes)
        return PHX_ELIMIT;
    if (value_size > old->value_size) {
        place = s->table[slot_of(s, key, old->hash)] - 1;
        e = realloc(old, sizeof *e + old->key_size + value_size);
        if (e == NULL)
            return PHX_ENOMEM;
        s->list[place] = e;
    }
    if (e->fresh)
        s->fresh_bytes += value_size - e->value_size;
    s->bytes = bytes + value_size;
    e->value_size = (uint32_t)value_size;
    memmove(e->text + e->key_size, value, value_size);
    *out = e;
    return 0;
}

static int set(struct la_store *s, const char *key, const char *value, struct entry **out)
{
    uint64_t hash = hash_of(s, key);
    struct entry *e = find(s, key, hash);

    return e == NULL ? add(s, key, hash, value, out) : replace(s, key, e, value, out);
}

/* Does the value that another host put at the same fence win over this one? */
static int beaten(const struct entry *e, const char *value, uint32_t fence)
{
    return e != NULL && e->fence == fence && e->met && strcmp(e->text + e->key_size, value) >= 0;
}

static void make_fresh(struct la_store *s, struct entry *e, const char *key)
{
    if (e->fresh)
        return;
    e->fresh = 1;
    s->fresh[s->fresh_count++] = s->table[slot_of(s, key, e->hash)] - 1;
    s->fresh_bytes += (size_t)e->key_size + e->value_size;
}

int la_store_put(struct la_store *s, const char *key, const char *value, uint32_t fence)
{
    struct entry *e;
    int err = check_sizes(key, value);

    if (err != 0 || (err = grow_fresh(s)) != 0)
        return err;
    e = find(s, key, hash_of(s, key));
    if (!beaten(e, value, fence)) {
        err = set(s, key, value, &e);
        if (err != 0)
            return err;
        e->met = (uint8_t)(e->met && e->fence == fence);
        e->fence = fence;
    }
    make_fresh(s, e, key);
    return 0;
}

int la_store_merge(struct la_store *s, const char *key, const char *value, uint32_t fence)
{
    struct entry *e;
    int err = check_sizes(key, value);

    if (err != 0)
        return err;
    e = find(s, key, hash_of(s, key));
    /* A rank here put it already for the next fence, which wins everywhere. */
    if (e != NULL && e->fresh && e->fence > fence)
        return 0;
    if (e != NULL && e->fence == fence && strcmp(e->text + e->key_size, value) >= 0) {
        e->met = 1;
        return 0;
    }
    err = set(s, key, value, &e);
    if (err != 0)
        return err;
    e->met = 1;
    e->fence = fence;
    return 0;
}

int la_store_learn(struct la_store *s, const char *key, const char *value)
{
    struct entry *e;
    int err = check_sizes(key, value);

    if (err != 0)
        return err;
    e = find(s, key, hash_of(s, key));
    return e != NULL && e->fresh ? 0 : set(s, key, value, &e);
}

uint32_t la_store_fresh(const struct la_store *s)
{
    return s->fresh_count;
}

size_t la_store_fresh_bytes(const struct la_store *s)
{
    return s->fresh_bytes;
}

const char *la_store_fresh_at(const struct la_store *s, uint32_t index, size_t *size)
{
    const struct entry *e = s->list[s->fresh[index]];

    *size = (size_t)e->key_size + e->value_size - 1;
    return e->text;
}

void la_store_told(struct la_store *s)
{
    uint32_t i;

    for (i = 0; i < s->fresh_count; i++)
        s->list[s->fresh[i]]->fresh = 0;
    s->fresh_count = 0;
    s->fresh_bytes = 0;
}

uint32_t la_store_count(const struct la_store *s)
{
    return s->count;
}

void la_store_at(const struct la_store *s, uint32_t index, const char **key, const char **value)
{
    const struct entry *e = s->list[index];

    *key = e->text;
    *value = e->text + e->key_size;
}

size_t la_store_bytes(const struct la_store *s)
{
    return s->bytes;
}

size_t la_store_memory(const struct la_store *s)
{
    return sizeof *s + s->capacity * sizeof *s->list + s->table_size * sizeof *s->table
           + s->fresh_capacity * sizeof *s->fresh + s->count * sizeof **s->list + s->bytes;
}
