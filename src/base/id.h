/* id.h - node ids and their dense indices, and contact addresses: parse, print, compare, encode. */
#ifndef PHX_BASE_ID_H
#define PHX_BASE_ID_H
#include "base/buf.h"
#include "base/map.h"

PHX_PRIVATE int phx__id_equal(const struct phx_id *a, const struct phx_id *b);
PHX_PRIVATE int phx__id_compare(const struct phx_id *a, const struct phx_id *b); /* as memcmp */
PHX_PRIVATE uint64_t phx__id_hash(const struct phx_id *id);

/* All ids a node knows, each with a small index. Rooms keep what they know of a node in arrays of their own
 * under that index. An index is used again only after phx__id_drop, which step.c calls once every room has
 * forgotten the node. */
struct phx__ids {
    struct phx__mem *mem;
    struct phx_id *at;
    uint8_t *used;
    struct phx__id_slot *slots; /* a hash of the indices; its size is 0 or a power of two */
    uint32_t slot_capacity;
    uint32_t count;        /* ids in use */
    uint32_t size;         /* indices 0..size-1 have been given out */
    uint32_t capacity, used_capacity;
    uint32_t limit; /* ids at once */
};
PHX_PRIVATE void phx__id_init(struct phx__ids *ids, struct phx__mem *mem, uint32_t limit);
PHX_PRIVATE void phx__id_free(struct phx__ids *ids);
/* The index, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__id_find(const struct phx__ids *ids, const struct phx_id *id);
/* Whose phx__id_hash this is, or PHX__NONE. */
PHX_PRIVATE uint32_t phx__id_find_hash(const struct phx__ids *ids, uint64_t hash);
/* Finds or adds. The lowest free index is given. PHX_ENOMEM, PHX_ELIMIT (also if the hashes of two
 * ids collide, which no honest pair does). */
PHX_PRIVATE int phx__id_add(struct phx__ids *ids, const struct phx_id *id, uint32_t *index);
PHX_PRIVATE void phx__id_drop(struct phx__ids *ids, uint32_t index);

/* An address as written, cut up. host "" with a path: unix. */
struct phx__parsed {
    enum phx_family family; /* PHX_UNIX, or PHX_IPV4 for "tcp, to be resolved" */
    uint8_t tls;            /* tls:// */
    char host[256];
    uint16_t port;
    char path[104];
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
/* On the wire: u8 family, then 4 or 16 bytes and u16 port, or u8 length and the path; family 0: none, also
 * in place of a PHX_OTHER, which means something to its own host only and would run programs at others.
 * Over TLS the family is 16 more. */
PHX_PRIVATE void phx__addr_put(struct phx__writer *w, const struct phx_address *a);
PHX_PRIVATE int phx__addr_get(struct phx__reader *r, struct phx_address *a); /* 0 or PHX_EPROTO */

#endif
