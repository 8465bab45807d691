/* tool.h - what the commands of phx share: options, a node that joins, its loop, output. */
#ifndef PHX_TOOL_H
#define PHX_TOOL_H
#include "../../phoenix.h"
#include "../ssh/ssh.h"

#include <stdio.h>

/* Exit statuses: 0 fine; 1 it did not work (nobody there, no answer, the other side died); 2 the command
 * line, a key file or an address of this host is wrong. */
enum tool_status { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

#define TOOL_ADDRESSES 16
#define TOOL_FDS 64 /* of descriptors of a command's own beside the node's */

struct tool;

/* A command: its words are argv[0..argc-1], without options. */
struct tool_command {
    const char *name;
    const char *words;   /* "NAME [FILE]" */
    const char *summary; /* a line of --help */
    const char *help;    /* more lines, with examples */
    int least, most;     /* how many words */
    int (*run)(struct tool *t, int argc, char **argv);
};

struct tool {
    /* Options, the same for all commands */
    const char *joins[TOOL_ADDRESSES], *listens[TOOL_ADDRESSES];
    int joins_count, listens_count;
    const char *key_file, *cluster, *label, *out;
    const char *ca_file, *cert_file, *cert_key_file;
    int loose_key; /* a key file that others may read is no error */
    int tls, insecure, json, verbose, keep, dot, svg;
    const char *html, *serve;
    double wait_s; /* how long to wait for what does not come; below 0: the command's own */
    long count;    /* how many; 0: the command's own */
    const struct tool_command *command;

    /* The node */
    phx *p;
    phx_ssh *ssh;
    struct phx_config cfg;
    unsigned char key[PHX_KEY_MAX];
    struct pollfd fds[4096];
    int fds_count, own_count;       /* of these at the end the command's own */
    int stop;                       /* a signal wants the end */
    char said[512];                 /* the last line of the node that warned */
    char seen_at[PHX_ADDRESS_TEXT]; /* where others see this node; "" if nobody said */
    void *state;                    /* the command's */
};

/* A line on standard error that begins with "phx: "; returns status. */
int tool_say(int status, const char *format, ...);
/* 1: standard output is a terminal that takes colours. */
int tool_is_terminal(int fd);

/* Reads the options and makes the node's configuration: 0, or a status after a line that says why. */
int tool_options(struct tool *t, int *argc, char **argv);
/* The node, not joined yet: 0, or an enum phx_error. user of its callbacks is t. */
int tool_make(struct tool *t);
/* The same; 0, or a status after a line that says why. */
int tool_node(struct tool *t);
/* Listens and joins as the options say. */
int tool_join(struct tool *t, int must_join);
/* One turn of the loop: waits most_ms at most (-1: as long as nothing is due), steps. own: descriptors to
 * watch as well; their revents are filled. */
void tool_turn(struct tool *t, int most_ms, struct pollfd *own, int own_count);
/* Turns until met says 1 or the time is over: 1 if it was met, 0 not, or -1 if a signal came. */
int tool_until(struct tool *t, double seconds, int (*met)(struct tool *t));
/* Is there a link? */
int tool_is_linked(struct tool *t);
/* Joined, linked, and no news for a moment: 0, or a status after a line that says why. */
int tool_settle(struct tool *t);
void tool_end(struct tool *t);

/* From when until when the first certificate of a PEM file is good, as "2026-11-23 04:00:00" of UTC; such
 * texts compare as their times do. -1: there is none in it. */
#define TOOL_DATE 24
int tool_certificate(const char *path, char from[TOOL_DATE], char until[TOOL_DATE]);
/* Is it a private address of a network that this machine is not in? Has this machine a public address? */
struct sockaddr;
int tool_is_walled(const struct sockaddr *to);
int tool_is_outside(const struct sockaddr *to); /* a public one of another network */
int tool_is_public(void);
/* Leaves in good order, a drain of so many seconds. */
void tool_leave(struct tool *t, double seconds);

/* "7" or "7-9" or "0x10"; 0 if it is none. */
int tool_range(const char *text, struct phx_range *out);
/* The node that a name or label stands for: 1, or 0. */
int tool_target(struct tool *t, const char *text, struct phx_id *out);
/* The label of a node, else the first 8 digits of its id. */
const char *tool_node_text(const struct phx_node *n, char out[PHX_LABEL]);
const char *tool_state_text(enum phx_state state);
/* Fills *out with a list of all nodes, which the caller frees; how many. */
size_t tool_nodes(struct tool *t, struct phx_node **out);
/* A string of JSON with its quotes. */
void tool_json_string(FILE *to, const char *s);
/* "1.5 s", "20 us". */
const char *tool_time_text(double seconds, char out[32]);

extern const struct tool_command tool_hub, tool_node_command, tool_ls, tool_ping, tool_trace, tool_send,
    tool_recv, tool_bench, tool_map, tool_doctor, tool_key;

/* ---- What nodes of this tool say to each other: the tag of a message is TOOL_TAG + kind */

#define TOOL_TAG 0x7068782020000000u
enum tool_kind {
    TOOL_DATA = 1, /* sender -> receiver: bytes */
    TOOL_END,      /* .. and no more; u32 status */
    TOOL_TAKEN,    /* receiver -> sender: u64, bytes written so far */
    TOOL_DONE,     /* .. all is written, or not: u32 status, text */
    TOOL_ECHO,     /* bench -> node: send it back */
    TOOL_ECHOED,
    TOOL_SINK,   /* bench -> node: count it */
    TOOL_COUNT,  /* .. tell how many bytes and messages came since the last of these; u64 number */
    TOOL_COUNTED /* u64 number, messages, bytes */
};
/* A random name of this process, above all that people use. */
uint64_t tool_name(struct tool *t);
int tool_post(struct tool *t, uint64_t to, uint64_t from, enum tool_kind kind, const void *data, size_t size);
uint64_t tool_get64(const void *from);
void tool_put64(void *to, uint64_t v);
/* Answers TOOL_ECHO, TOOL_SINK and TOOL_COUNT: what `phx hub` and `phx node` do. */
void tool_serve(phx *p, const struct phx_message *m, void *user);

#endif
