/* args.h - the words of a command line as plain values. */

/* A brain: no file is read and no environment is asked. A configuration file's text is given to it as words
 * (la_args_split) in which each line is a program. */
#ifndef LA_ARGS_H
#define LA_ARGS_H

#include "place.h"
#include "text.h"

/* One of the programs that stand between colons. */
struct la_args_program {
    struct la_list argv, env;
    char *dir;      /* -wdir, or NULL */
    uint32_t ranks; /* -n; 0: not said */
};

enum la_args_cache { LA_CACHE_PUSH, LA_CACHE_LAZY };
enum la_args_failure { LA_FAILURE_ABORT, LA_FAILURE_CONTINUE };

struct la_args {
    struct la_args_program *programs;
    size_t programs_count, programs_capacity;
    struct la_list hosts; /* each -hosts LIST as "l" and the list, each -f FILE as "f" and its path */
    struct la_list genv;
    char *genvlist, *configfile;
    char *ssh, *agent, *stage, *out_pattern, *err_pattern, *ft;
    uint32_t ppn, degree, max_depth, max_conn; /* 0: not said */
    uint64_t timeout_us, grace_us, start_timeout_us, cut_wait_us, push_limit; /* UINT64_MAX: not said */
    uint64_t detect_us[3];
    uint32_t stdin_rank;
    int stdin_to; /* enum la_stdin, or -1: not said */
    int starter;  /* enum la_starter, or -1 */
    int place, cache, on_failure, pmi, detector; /* block, push, abort, fd, default: 0 */
    int genvnone, label, verbose, each, json, dry_run, copy, ftmpi, help, version;
};

/* words: argv from the first one behind the program's name on. 0, PHX_EINVAL (why), PHX_ENOMEM; what was
 * filled is freed by la_args_free in each case. A word of --help or --version ends it: help or version is 1.
 *
 * With lines set, a NULL among the words ends a program as a colon does (la_args_split), and configfile may
 * not be said. May be called again for the words of a configuration file that the first call named: options
 * given there go on top. */
int la_args_read(struct la_args *a, char **words, size_t count, int lines, char why[LA_TEXT]);
void la_args_init(struct la_args *a);
void la_args_free(struct la_args *a);

/* The words of a configuration file: quotes '' and "", backslashes and comments (#) as a shell has them, no
 * more; NULL after each line that has words. *out is a list of its own kind, freed by la_args_unsplit. */
int la_args_split(const char *text, size_t size, const char *name, char ***out, size_t *count,
                  char why[LA_TEXT]);
void la_args_unsplit(char **words, size_t count);

/* "1.5" (seconds), "250ms", "10us" as microseconds; at most 10 years. 0, PHX_EINVAL. */
int la_args_seconds(const char *s, uint64_t *us);

#endif
