/* file.c - a small file as a text. */

#include "file.h"
#include "../../phoenix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int cannot_read(char why[LA_TEXT], const char *path, const char *because)
{
    snprintf(why, LA_TEXT, "%.150s: %s", path, because);
    return PHX_EINVAL;
}

int la_file_read(const char *path, struct la_text *out, char why[LA_TEXT])
{
    FILE *f = fopen(path, "r");
    char block[4096];
    size_t n;
    int bad;

    if (f == NULL)
        return cannot_read(why, path, strerror(errno));
    errno = 0;
    la_text_add(out, "", 0);
    do {
        n = fread(block, 1, sizeof block, f);
        la_text_add(out, block, n);
    } while (n > 0 && out->size <= LA_FILE_MAX && !out->failed);
    bad = ferror(f) ? errno : 0;
    fclose(f);
    if (bad != 0)
        return cannot_read(why, path, strerror(bad));
    if (out->size > LA_FILE_MAX)
        return cannot_read(why, path, "too large for a list of hosts or programs");
    return out->failed ? PHX_ENOMEM : 0;
}
