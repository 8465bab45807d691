/* t_node_kqueue.c - all of t_node.c once more with kqueue, as the BSDs and macOS have it. */
/* Promise 126. Where the system has none sys/event.h beside this file makes one of epoll. The room os is
 * compiled here, with the other files of src/ as they are. */
#define PHX_USE_KQUEUE 1
#include "test.h"

#ifndef PHX_JOINED
#include "../../src/os/poll.c"

#include "../../src/os/os.c"

#include "../../src/os/samehost.c"

#include "t_node.c"
#else

int main(void)
{
    ok(1, "kqueue # SKIP only the split build compiles a room by itself");
    return test_end();
}
#endif
