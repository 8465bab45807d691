/* place.h - from lists of hosts to places of ranks, their mapping, and the tree of agents. */

/* Brains only. hosts.c reads lists (ranges, host files, Slurm's and PBS's variables given as text);
 * place.c deals ranks to hosts, writes PMI_process_mapping, chooses the degree and draws the tree. */
#ifndef LA_PLACE_H
#define LA_PLACE_H

#include "job.h"
#include "text.h"

struct la_host {
    char *name, *user;  /* user: NULL: none named */
    char *via;          /* the gateway's name, or NULL */
    uint32_t slots;     /* 0: not said */
    int gateway_only;   /* named only in via=: an agent, no ranks */
};

struct la_hosts {
    struct la_host *list;
    uint32_t count, capacity;
};

#define LA_TEXT 256 /* an error's line without newline, for people */

void la_hosts_free(struct la_hosts *h);

/* Each adds to *h. 0, PHX_ENOMEM, or PHX_EINVAL and one line in why (with line and column where it is a
 * file). */
int la_hosts_list(struct la_hosts *h, const char *text, char why[LA_TEXT]);            /* a[01-16]:8,b */
int la_hosts_file(struct la_hosts *h, const char *text, size_t size, const char *name, char why[LA_TEXT]);
int la_hosts_slurm(struct la_hosts *h, const char *nodelist, const char *tasks_per_node, char why[LA_TEXT]);
int la_hosts_pbs(struct la_hosts *h, const char *text, size_t size, char why[LA_TEXT]);
/* Adds the gateways that are named only in via=; an unknown word, or a circle of gateways: PHX_EINVAL. */
int la_hosts_gateways(struct la_hosts *h, char why[LA_TEXT]);
/* The gateway of each host as its place in the list, or LA_NONE. via has room for all. 0, PHX_ENOMEM. */
int la_hosts_vias(const struct la_hosts *h, uint32_t *via);

/* The other way round, "n[01-03],m": what la_hosts_list reads as the same names in the same order. Only the
 * last number of a name is folded, as Slurm's tools do it. */
void la_hosts_fold(struct la_text *out, const char *const *names, size_t count);

#define LA_RANKS_MAX 4194304u /* of a job */
#define LA_DEGREE_MAX 32      /* unless --degree says more */

struct la_place_config {
    uint32_t ppn;       /* ranks per host; 0: slots, or 1 */
    int cyclic;         /* --place cyclic */
    uint32_t degree;    /* 0: by the rule */
    uint32_t max_depth; /* 0: 2 */
    uint32_t max_conn;  /* 0: 1024 */
    const char *local;  /* this host's names, "a,a.b.c,localhost": the launcher serves the first host that has
                           one of them; NULL: none */
    uint32_t processors; /* of this host; 0: unknown */
};

struct la_place_said {    /* for -v and --dry-run */
    uint32_t degree, depth;
    char why[LA_TEXT];    /* of the degree */
    /* Warnings, one line each; "": none. */
    char slots[LA_TEXT];     /* more ranks than slots or processors */
    char mapping[LA_TEXT];   /* it is too long to be told */
    char localhost[LA_TEXT]; /* it is named beside others, which cannot reach it */
};

/* Fills size, nodes, mapping, agents of a job whose programs are set. 0, PHX_ENOMEM, PHX_EINVAL (why). */
int la_place(struct la_job *job, const struct la_hosts *hosts, const struct la_place_config *cfg,
             struct la_place_said *said, char why[LA_TEXT]);

/* The same for a job that a spawn made, on agents that run already, with their tree and their numbers:
 * at[rank] is the agent of each rank, as its place in running->agents. */
int la_place_beside(struct la_job *job, const struct la_job *running, const uint32_t *at,
                    struct la_place_said *said, char why[LA_TEXT]);

#endif
