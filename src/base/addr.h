/* addr.h - addresses of nodes: parse, print, compare, encode. */
#ifndef PHX_BASE_ADDR_H
#define PHX_BASE_ADDR_H
#include "base/buf.h"

/* An address as written: all of a PHX_UNIX one; else it is of PHX_IPV4, and the host is to be resolved. */
struct phx__parsed {
    struct phx_address at;
    char host[256];
};
/* 0, PHX_EADDRESS, PHX_ESCHEME. Brackets around v6 hosts are required and removed. Ports 0..65535. */
PHX_PRIVATE int phx__addr_parse(const char *text, struct phx__parsed *out);
/* An address of a scheme that the core does not know, as PHX_OTHER: 0 or PHX_EADDRESS (too long, say). */
PHX_PRIVATE int phx__addr_other(const char *text, struct phx_address *out);
/* Numeric v4 or v6 text to ip and family; 0 or PHX_EADDRESS. No system call, hand-written. */
PHX_PRIVATE int phx__addr_numeric(const char *host, struct phx_address *out);
PHX_PRIVATE int phx__addr_equal(const struct phx_address *a, const struct phx_address *b);
/* Never leaves this machine: UNIX, 127.0.0.0/8, ::1, v4-mapped 127/8. */
PHX_PRIVATE int phx__addr_is_local(const struct phx_address *a);
PHX_PRIVATE int phx__addr_is_any(const struct phx_address *a); /* 0.0.0.0 or :: */
/* The four bytes of a version 4 address, also of one mapped into version 6; NULL if it is neither. */
PHX_PRIVATE const uint8_t *phx__addr_v4(const struct phx_address *a);
/* On the wire: u8 family, then 4 or 16 bytes and u16 port, or u8 length and the path; family 0: none, also in
 * place of a PHX_OTHER, which means something to its own host only and would run programs at others. Over TLS
 * the family is 16 more. */
PHX_PRIVATE void phx__addr_put(struct phx__writer *w, const struct phx_address *a);
PHX_PRIVATE int phx__addr_get(struct phx__reader *r, struct phx_address *a); /* 0 or PHX_EPROTO */

#endif
