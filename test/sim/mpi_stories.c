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
static void agree(struct sim *s) { tell(s, tell_agree_kills); }
static void strict(struct sim *s) { tell(s, tell_strict_kills); }
static void recover(struct sim *s) { tell(s, tell_recover_kills); }
static void chaos(struct sim *s) { tell(s, tell_ft_chaos); }
static void messages(struct sim *s) { tell(s, tell_agree_messages); }
static void orders(struct sim *s) { tell(s, tell_opposite_orders); }
static void enter_time(struct sim *s) { tell(s, tell_enter_time); }
static void torture(struct sim *s) { tell(s, tell_mpi_torture); }
static void computing(struct sim *s) { tell(s, tell_mpi_computing); }

const struct story mpi_stories[] = {
    { "mpi_traffic", "MPI programs send, receive, probe and cancel at random", 8, 2, 8, traffic, NULL },
    { "mpi_walls", "collectives of MPI over the walls of three sites", 12, 12, 12, walls, NULL },
    { "agree_kills", "members of an agreement die at each of their messages", 5, 5, 5, agree, NULL },
    { "strict_kills", "members of a strict collective die at each message", 8, 8, 8, strict, NULL },
    { "recover_kills", "members die at each message of a recovery", 4, 4, 4, recover, NULL },
    { "ft_chaos", "MPI programs go on while processes and hosts die", 12, 2, 12, chaos, NULL },
    { "agree_messages", "messages of agreements without failures", 12, 12, 12, messages, NULL },
    { "opposite_orders", "two communicators are recovered in opposite orders", 7, 7, 7, orders, NULL },
    { "enter_time", "a recovery begins, and all calls that wait end", 16, 16, 16, enter_time, NULL },
    { "mpi_computing", "ranks of MPI compute for 20 minutes", 6, 6, 6, computing, NULL },
    { "mpi_torture", "a process of MPI lacks each allocation and call", 3, 3, 3, torture, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
