/* story.h - the named scenarios. */
#ifndef STORY_H
#define STORY_H

#include "scenario.h"

struct story {
    const char *name, *what;
    uint32_t nodes, nodes_min, nodes_max; /* the usual number, and what makes sense */
    void (*tell)(struct sim *s);          /* to the end, or until the world fails */
    void (*world)(struct world_options *o); /* other distances, buffers; may be NULL */
};

extern const struct story stories[];          /* the last has no name */
extern const struct story delivery_stories[]; /* likewise; told in delivery.c */
extern const struct story detect_stories[];   /* likewise; told in detect.c */
extern const struct story lie_stories[];      /* likewise; told in lies_said.c */
const struct story *story_find(const char *name);

/* Told in campaign.c. */
void tell_campaign(struct sim *s);
void tell_determinism(struct sim *s);

/* Told in launch.c. */
void tell_launch_exchange(struct sim *s);
void tell_launch_start(struct sim *s);
void tell_launch_large(struct sim *s);
void launch_world(struct world_options *o);

/* Told in launch_chaos.c. */
void tell_launch_chaos(struct sim *s);

/* Told in tree.c. */
void tell_tree(struct sim *s);
void tell_orphans(struct sim *s);

/* Told in ways.c. */
void tell_two_ways(struct sim *s);
void tell_two_ways_off(struct sim *s);
void tell_jitter(struct sim *s);

/* Told in forget.c. */
void tell_forgotten(struct sim *s);

/* Told in dead.c. */
void tell_crash_loop(struct sim *s);
void tell_came_and_left(struct sim *s);
void tell_come_and_go(struct sim *s);

/* Told in door.c. */
void tell_strangers(struct sim *s);
void tell_full_hub(struct sim *s);
void tell_full_accepts(struct sim *s);

/* Told in deaths.c. */
void tell_deaths(struct sim *s);

/* Told in late.c. */
void tell_key_late(struct sim *s);
void tell_joiner_computes(struct sim *s);

/* Told in slow.c. */
void tell_slow(struct sim *s);
void tell_slow_fast(struct sim *s);
void tell_slow_node(struct sim *s);

/* Told in starved.c. */
void tell_words_1(struct sim *s);
void tell_words_10(struct sim *s);
void tell_words_200(struct sim *s);
void tell_site_words_10(struct sim *s);
void tell_site_words_200(struct sim *s);
void tell_hub_words_10(struct sim *s);
void tell_hub_words_200(struct sim *s);
void tell_words_killed(struct sim *s);
void tell_words_killed_200(struct sim *s);
void tell_starved(struct sim *s);
void words_world(struct world_options *o);
void words_sites_world(struct world_options *o);

/* Told in overload.c. */
void tell_overload(struct sim *s);
void overload_world(struct world_options *o);

/* Told in large.c. */
void tell_too_large(struct sim *s);

/* Told in holes.c. */
void tell_hole(struct sim *s);
void tell_flaky(struct sim *s);
void tell_late_ends(struct sim *s);

/* Told in mpi_*.c: MPI programs over extras/ftmpi. Where there are no coroutines they are skipped. */
extern const struct story mpi_stories[]; /* the last has no name */
void tell_mpi_traffic(struct sim *s);
void tell_mpi_walls(struct sim *s);
void tell_agree_kills(struct sim *s);
void tell_strict_kills(struct sim *s);
void tell_recover_kills(struct sim *s);
void tell_ft_chaos(struct sim *s);
void tell_agree_messages(struct sim *s);
void tell_opposite_orders(struct sim *s);
void tell_enter_time(struct sim *s);
void tell_mpi_computing(struct sim *s);
void tell_mpi_torture(struct sim *s);

/* Told in traces.c. */
void tell_traces(struct sim *s);

/* Told in figures.c: rows of data for figures.sh. */
void tell_cost_one(struct sim *s);
void tell_cost_three(struct sim *s);
void tell_start_time(struct sim *s);
void tell_half_time(struct sim *s);
void tell_mesh_offline(struct sim *s);
void tell_mesh_discovery(struct sim *s);
void tell_said_time(struct sim *s);

#endif
