/* key.c - phx key new: a key file that only its owner can read. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KEY_BYTES 32

static int key_random(unsigned char *out, size_t size)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size);

    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)size ? 0 : -1;
}

/* Digits and no line end, so that it can be copied by hand as well. */
static int key_run(struct tool *t, int argc, char **argv)
{
    unsigned char bytes[KEY_BYTES];
    char text[2 * KEY_BYTES + 1];
    ssize_t n;
    int i, fd;

    (void)t;
    (void)argc;
    if (strcmp(argv[0], "new") != 0)
        return tool_say(TOOL_USAGE, "phx key %s: it is `phx key new FILE`", argv[0]);
    if (key_random(bytes, sizeof bytes) != 0)
        return tool_say(TOOL_FAILED, "no random bytes from /dev/urandom");
    for (i = 0; i < KEY_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", (unsigned)bytes[i]);
    if ((fd = open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
        return tool_say(TOOL_USAGE, "%s: %s", argv[1], strerror(errno));
    n = write(fd, text, 2 * KEY_BYTES);
    if (close(fd) != 0 || n != 2 * KEY_BYTES) {
        (void)unlink(argv[1]);
        return tool_say(TOOL_FAILED, "%s: %s", argv[1],
                        n < 0 ? strerror(errno) : "not all of it could be written");
    }
    return TOOL_OK;
}

const struct tool_command tool_key = {
    "key",
    "new FILE",
    "makes a key for a cluster",
    "  phx key new k                                 32 random bytes as 64 digits, readable by you alone\n"
    "  scp -p k other:                               all nodes of a cluster have the same file\n\n"
    "All bytes of the file are the key, a line end too: copy the file and not its text.",
    2,
    2,
    key_run
};
