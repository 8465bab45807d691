/* map.h - the network as phx map sees it, and what became of nodes meanwhile. */
#ifndef PHX_MAP_H
#define PHX_MAP_H
#include "tool.h"

#define MAP_EVENTS 64u /* the latest; older ones are forgotten */

struct map_edge {
    size_t a, b; /* nodes */
    int own;     /* a link of this node */
};

struct map_event {
    uint64_t at; /* host clock */
    char label[PHX_LABEL];
    enum phx_state state;
    int reason;
};

struct map {
    struct phx_node *nodes;
    struct map_edge *edges;
    size_t count, edges_count, edges_room;
    struct map_event events[MAP_EVENTS];
    unsigned events_count; /* all that there were */
};

/* The picture as it is now: 0, or PHX_ENOMEM. */
int map_look(struct tool *t, struct map *m);
void map_free(struct map *m);
char *map_dump(struct tool *t, int format);
void map_json(struct tool *t, const struct map *m, FILE *to);
/* One page with that picture in it. */
void map_page(struct tool *t, const struct map *m, FILE *to);
void map_on_node(phx *p, const struct phx_node *n, void *user);
void map_events_json(const struct map *m, uint64_t now, FILE *to);
/* Answers GET / and GET /map.json at [ADDRESS:]PORT until a signal comes. */
int map_serve(struct tool *t, struct map *m);

#endif
