/* file.c - small files and the wall clock: what is asked of the system once and not per packet. */

/* Keys and certificates are files that somebody has to read, and certificates have dates. Both are here,
 * so that no other room touches a descriptor or a clock. Nothing of struct phx_os is involved: a
 * simulated world has neither files nor a calendar.
 *
 * Reading a file may block, on a network file system say. So it happens where the host expects it,
 * in phx_new and phx_read_key, and never in a step. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static int os_file_error(int theirs)
{
    if (theirs == EACCES || theirs == EPERM)
        return PHX_EACCES;
    return theirs == EMFILE || theirs == ENFILE ? PHX_EMFILE : PHX_EFILE;
}

long phx__os_file_read(const char *path, void *out, size_t capacity)
{
    unsigned char *to = (unsigned char *)out;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

    if (fd < 0)
        return os_file_error(errno);
    while (size < capacity && err == 0) {
        ssize_t n = read(fd, to + size, capacity - size);
        if (n > 0)
            size += (size_t)n;
        else if (n == 0)
            break;
        else if (errno != EINTR)
            err = os_file_error(errno); /* a directory, for one */
    }
    close(fd);
    return err != 0 ? err : (long)size;
}

#ifdef PHX_TLS
uint64_t phx__os_file_wall_seconds(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < 0)
        return 0; /* 1970: no certificate is valid then, and that is the safe side */
    return (uint64_t)now.tv_sec;
}
#endif
