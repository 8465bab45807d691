/* mpi_stories.c - the named scenarios of MPI jobs, or why they are skipped. */
#include "mpi_world.h"
#include "story.h"

#include <stdio.h>

static void tell(struct sim *s, void (*story)(struct sim *s))
{
    if (mpi_can_run())
        story(s);
    else
        printf("# SKIP no coroutines here: <ucontext.h> is missing\n");
}

static void traffic(struct sim *s) { tell(s, tell_mpi_traffic); }
static void walls(struct sim *s) { tell(s, tell_mpi_walls); }

const struct story mpi_stories[] = {
    { "mpi_traffic", "MPI programs send, receive, probe and cancel at random", 8, 2, 8, traffic, NULL },
    { "mpi_walls", "collectives of MPI over the walls of three sites", 12, 12, 12, walls, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
