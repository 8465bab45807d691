/* modes.c - how failures are met, in words: --ft of the launchers, and FTMPI_MODE. */
#include "modes.h"

#include <string.h>

static const struct modes_word {
    const char *word;
    int kind, value;
} modes_words[] = {
    {"abort", 0, FTMPI_COMM_MODE_ABORT},
    {"blank", 0, FTMPI_COMM_MODE_BLANK},
    {"shrink", 0, FTMPI_COMM_MODE_SHRINK},
    {"rebuild", 0, FTMPI_COMM_MODE_REBUILD},
    {"rebuild-end", 0, FTMPI_COMM_MODE_REBUILD_END},
    {"ulfm", 0, FTMPI_COMM_MODE_ULFM},
    {"nop", 1, FTMPI_MSG_MODE_NOP},
    {"cont", 1, FTMPI_MSG_MODE_CONT},
    {"loose", 2, FTMPI_COLL_MODE_LOOSE},
    {"strict", 2, FTMPI_COLL_MODE_STRICT},
};

static const struct modes_word *modes_find(const char *text, size_t size)
{
    size_t i;

    for (i = 0; i < sizeof modes_words / sizeof *modes_words; i++)
        if (strlen(modes_words[i].word) == size && memcmp(modes_words[i].word, text, size) == 0)
            return &modes_words[i];
    return NULL;
}

int ftm_modes_read(struct ftm_modes *out, const char *text)
{
    int value[3] = {0, 0, 0}, seen[3] = {0, 0, 0}, more = 1;
    const struct modes_word *w;
    size_t size;

    while (more) {
        size = strcspn(text, ",");
        w = modes_find(text, size);
        if (w == NULL || seen[w->kind])
            return -1;
        seen[w->kind] = 1;
        value[w->kind] = w->value;
        more = text[size] == ',';
        text += size + 1;
    }
    if (value[0] == FTMPI_COMM_MODE_ULFM) { /* messages among the living go on there */
        if (seen[1] && value[1] == FTMPI_MSG_MODE_NOP)
            return -1;
        value[1] = FTMPI_MSG_MODE_CONT;
    }
    out->comm = value[0];
    out->msg = value[1];
    out->coll = value[2];
    return 0;
}

uint32_t ftm_modes_put(const struct ftm_modes *m)
{
    return (uint32_t)m->comm | (uint32_t)m->msg << 8 | (uint32_t)m->coll << 16;
}

int ftm_modes_get(struct ftm_modes *m, uint32_t word)
{
    m->comm = (int)(word & 0xff);
    m->msg = (int)(word >> 8 & 0xff);
    m->coll = (int)(word >> 16 & 0xff);
    return word >> 24 == 0 && m->comm <= FTMPI_COMM_MODE_ULFM && m->msg <= FTMPI_MSG_MODE_CONT
                   && m->coll <= FTMPI_COLL_MODE_STRICT ? 0 : -1;
}
