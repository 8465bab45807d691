/* t_node_poll.c - all of t_node.c once more with poll(2), where there is no phx_fd. */
/* Promise 126. */
#ifdef PHX_JOINED
#define PHX_USE_POLL 1
#include "t_node.c"
#else
#include "test.h"

int main(void)
{
    ok(1, "poll # SKIP only the joined build can choose it here");
    return test_end();
}
#endif
