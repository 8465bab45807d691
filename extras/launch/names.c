/* names.c - a sorted list of published services, and how questions about it and answers are bytes. */

/* A question: what (1), token (8, little endian), service NUL, port NUL. An answer: found (1), token (8),
 * port
 * NUL. The services stand in an array in the order of strcmp; each is one block, service NUL port NUL. */
#include "names.h"
#include "phoenix.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 9

struct la_names {
    char **list;
    uint32_t count, capacity;
};

int la_names_new(struct la_names **out)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? PHX_ENOMEM : 0;
}

void la_names_free(struct la_names *n)
{
    uint32_t i;

    if (n == NULL)
        return;
    for (i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    free(n);
}

/* ---- The list ---------------------------------------------------------------------------------- */

/* The place of the service, or where it would stand. */
static uint32_t place_of(const struct la_names *n, const char *service)
{
    uint32_t low = 0, high = n->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (strcmp(n->list[middle], service) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int room_for_one(struct la_names *n)
{
    uint32_t want = n->capacity == 0 ? 16 : n->capacity * 2;
    char **more;

    if (n->count < n->capacity)
        return 0;
    if (n->count >= LA_NAMES_MOST)
        return PHX_ELIMIT;
    more = realloc(n->list, want * sizeof *more);
    if (more == NULL)
        return PHX_ENOMEM;
    n->list = more;
    n->capacity = want;
    return 0;
}

static int publish(struct la_names *n, uint32_t place, const char *service, const char *port)
{
    size_t service_size = strlen(service) + 1, port_size = strlen(port) + 1;
    char *both;
    int err = room_for_one(n);

    if (err != 0)
        return err;
    both = malloc(service_size + port_size);
    if (both == NULL)
        return PHX_ENOMEM;
    memcpy(both, service, service_size);
    memcpy(both + service_size, port, port_size);
    memmove(n->list + place + 1, n->list + place, (n->count - place) * sizeof *n->list);
    n->list[place] = both;
    n->count++;
    return 1;
}

static void unpublish(struct la_names *n, uint32_t place)
{
    free(n->list[place]);
    n->count--;
    memmove(n->list + place, n->list + place + 1, (n->count - place) * sizeof *n->list);
}

int la_names_do(struct la_names *n, enum la_naming what, const char *service, const char *port,
                const char **found)
{
    uint32_t place = place_of(n, service);
    int there = place < n->count && strcmp(n->list[place], service) == 0;

    if (what == LA_PUBLISH)
        return there ? 0 : publish(n, place, service, port);
    if (there && what == LA_UNPUBLISH)
        unpublish(n, place);
    else if (there)
        *found = n->list[place] + strlen(service) + 1;
    return there;
}

/* ---- Bytes ------------------------------------------------------------------------------------- */

static void put_head(unsigned char *to, unsigned first, uint64_t token)
{
    int i;

    to[0] = (unsigned char)first;
    for (i = 0; i < 8; i++)
        to[1 + i] = (unsigned char)(token >> (8 * i));
}

static uint64_t token_of(const unsigned char *from)
{
    uint64_t token = 0;
    int i;

    for (i = 7; i >= 0; i--)
        token = token << 8 | from[1 + i];
    return token;
}

int la_names_question(unsigned char out[LA_NAMES_BYTES], enum la_naming what, const char *service,
                      const char *port, uint64_t token)
{
    size_t service_size = strlen(service) + 1, port_size = port == NULL ? 1 : strlen(port) + 1;

    if (service_size > LA_NAMES_BYTES - HEAD || port_size > LA_NAMES_BYTES - HEAD - service_size)
        return PHX_ETOOBIG;
    put_head(out, (unsigned)what, token);
    memcpy(out + HEAD, service, service_size);
    memcpy(out + HEAD + service_size, port == NULL ? "" : port, port_size);
    return (int)(HEAD + service_size + port_size);
}

/* The string at `from`, and where the next one begins; NULL: it does not end. */
static const char *string_at(const unsigned char *data, size_t size, size_t *from)
{
    const unsigned char *start = data + *from, *nul = *from < size ? memchr(start, 0, size - *from) : NULL;

    if (nul == NULL)
        return NULL;
    *from = (size_t)(nul - data) + 1;
    return (const char *)start;
}

int la_names_answer(struct la_names *n, const void *question, size_t size, unsigned char out[LA_NAMES_BYTES])
{
    const unsigned char *data = question;
    const char *service, *port, *found = "";
    size_t at = HEAD, found_size;
    int done;

    if (size < HEAD || size > LA_NAMES_BYTES || data[0] > LA_FIND)
        return PHX_EPROTO;
    service = string_at(data, size, &at);
    port = service == NULL ? NULL : string_at(data, size, &at);
    if (port == NULL || at != size || *service == '\0')
        return PHX_EPROTO;
    done = la_names_do(n, (enum la_naming)data[0], service, port, &found) == 1;
    found_size = strlen(found) + 1; /* it came in a question, beside more */
    put_head(out, (unsigned)done, token_of(data));
    memcpy(out + HEAD, found, found_size);
    return (int)(HEAD + found_size);
}

int la_names_read_answer(const void *answer, size_t size, uint64_t *token, int *found, const char **port)
{
    const unsigned char *data = answer;
    size_t at = HEAD;

    if (size < HEAD || data[0] > 1)
        return PHX_EPROTO;
    *port = string_at(data, size, &at);
    if (*port == NULL || at != size)
        return PHX_EPROTO;
    *token = token_of(data);
    *found = data[0];
    if (!*found)
        *port = NULL;
    return 0;
}
