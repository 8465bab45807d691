/* ssh.h - hubs behind an SSH server: cfg.dial for addresses "ssh://...", by the system's own ssh. */

/* An extra: it includes phoenix.h and nothing else of Phoenix. Compile ssh.c along with phoenix.c.
 *
 * Addresses, in at most 103 characters:
 *
 *     ssh://[user@]host[:port]/target:port     what listens there, as the SSH server sees it
 *                                              (ssh -W; the server must allow TCP forwarding)
 *     ssh://[user@]host[:port]/exec:command    the standard input and output of a command over there:
 *                                              a node that calls phx_ssh_stdio, or "nc -U /run/x.sock"
 *
 * Hosts in brackets are IPv6. User, port, keys, jump hosts and all the rest come from the user's own
 * ssh configuration, as does the host's name: what `ssh host` can do, this can.
 *
 * How it works. phx_join("ssh://...") makes the address a hub. Whenever it is due, the node calls
 * cfg.dial, and that calls phx_ssh_dial: a socketpair and a child, `ssh -W`, on its other end. The
 * node owns the near end from there on, this extra owns the child and its standard error. If the
 * tunnel dies, the node sees its stream end and dials again, with its usual back-off, and this extra
 * reports why, in ssh's own words.
 *
 * One struct phx_ssh serves any number of nodes; make as many as you like. There are no globals, no
 * threads, no signal handlers: children are waited for by number, without blocking. Don't let others
 * collect them (waitpid(-1)), or their numbers may be used again before this extra knows.
 *
 * ssh runs without a terminal and never asks anything (BatchMode): keys must come from an agent or a
 * file without a passphrase, and host keys must be known. */
#ifndef PHX_SSH_H
#define PHX_SSH_H
#include "../../phoenix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct phx_ssh phx_ssh;

enum phx_ssh_reason {
    PHX_SSH_ENDED,    /* without a complaint: this node or the one at the other end closed it */
    PHX_SSH_REPLACED, /* still trying, or hanging, when its node dialled again: this extra ended it */
    PHX_SSH_MISSING,  /* there is no such program, or it cannot be run */
    PHX_SSH_ADDRESS,  /* not an address of the form above */
    PHX_SSH_HOST_KEY, /* unknown, or another one than the known */
    PHX_SSH_DENIED,   /* the server takes none of our keys */
    PHX_SSH_CONNECT,  /* no connection with the server: refused, timed out, no such host */
    PHX_SSH_FORWARD,  /* the server does not allow forwarding */
    PHX_SSH_TARGET,   /* the server could not connect to the target */
    PHX_SSH_LOST,     /* the connection with the server broke */
    PHX_SSH_OTHER     /* see text */
};

struct phx_ssh_report { /* a tunnel that is no more; borrowed until on_report returns */
    phx *node;             /* whose it was; compare it only, it may be freed by now */
    const char *address;   /* as given to phx_join */
    enum phx_ssh_reason reason;
    int status;            /* ssh's exit status; -n: ended by signal n; 255 is ssh's own failure */
    const char *text;      /* the last that ssh said, up to 1,000 bytes in lines; "" if nothing */
};

struct phx_ssh_config {
    const char *program;          /* looked for in PATH; default "ssh" */
    const char *const *arguments; /* more of them, NULL last; they come first, so they win; at most
                                     32, say { "-F", "my_config", NULL }; NULL: none */
    uint32_t tunnels_max;         /* children at once; default 64 */
    /* Called from phx_ssh_step only, once for each tunnel that ended or could not be started. Any
     * call is allowed but phx_ssh_step and phx_ssh_free of the same phx_ssh. NULL: nobody asks. */
    void (*on_report)(phx_ssh *s, const struct phx_ssh_report *report, void *user);
    void *user;
};

void phx_ssh_config_init(struct phx_ssh_config *cfg);

/* cfg and its strings are copied. PHX_EINVAL, PHX_ENOMEM; on failure *out is NULL. */
int phx_ssh_new(phx_ssh **out, const struct phx_ssh_config *cfg);

/* Kills the children and collects them, which takes milliseconds. Their nodes see the links end, so
 * free the nodes first, or go on stepping them. No report is made. NULL is fine. */
void phx_ssh_free(phx_ssh *s);

/* For cfg.dial: return phx_ssh_dial(my_ssh, p, address). A descriptor, which is the node's, or a
 * negative enum phx_error: PHX_ESCHEME (not ssh://), PHX_EADDRESS, PHX_ENOTSUP (no program to run),
 * PHX_EACCES, PHX_ELIMIT, PHX_EMFILE, PHX_ENOMEM, PHX_EIO. It never blocks: whether ssh gets
 * through turns out later. A tunnel that the same node still has to the same address is ended. */
int phx_ssh_dial(phx_ssh *s, phx *p, const char *address);

/* 0, or PHX_ESCHEME or PHX_EADDRESS: to find a mistyped address before phx_join takes it. */
int phx_ssh_check(const char *address);

/* Reads what the children say, collects those that ended, and reports. Call it after poll says that
 * one of phx_ssh_fds is ready or phx_ssh_timeout_ms is over; or simply once round your loop, if that
 * turns at least every second or so. Never blocks. Returns how many tunnels there are. */
int phx_ssh_step(phx_ssh *s);

/* What to poll, as phx_fds; -1 in phx_ssh_timeout_ms: nothing is due. */
int phx_ssh_fds(const phx_ssh *s, struct pollfd *fds, int capacity);
int phx_ssh_timeout_ms(const phx_ssh *s);

/* The other end of "exec:": makes one stream of this process's standard input and output, for
 * phx_adopt(p, fd, 0). If they are two pipes, as most SSH servers have it, a small process is forked
 * that copies between them until either side ends. Descriptors 0 and 1 are /dev/null afterwards: what
 * the program prints there cannot spoil the stream. A descriptor, or PHX_EMFILE, PHX_ENOMEM, PHX_EIO. */
int phx_ssh_stdio(void);

/* "host key unknown or changed" and the like; never NULL. */
const char *phx_ssh_reason_text(enum phx_ssh_reason reason);

#ifdef __cplusplus
}
#endif
#endif
