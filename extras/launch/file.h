/* file.h - a small file as a text. */

#ifndef LA_FILE_H
#define LA_FILE_H

#include "place.h"
#include "text.h"

#define LA_FILE_MAX ((size_t)16 << 20)

/* All bytes of a file of at most LA_FILE_MAX: a list of hosts or of programs. 0; PHX_EINVAL: it cannot be
 * read (why); PHX_ENOMEM. The text is freed by the caller in each case. */
int la_file_read(const char *path, struct la_text *out, char why[LA_TEXT]);

#endif
