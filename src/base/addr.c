/* addr.c - addresses of nodes: parse, print, compare, encode. */

/* An address as text has one spelling per meaning as far as that is possible: what prints parses, and parses
 * to the same bytes (except port 0 and host names, which stand for something else). It is narrower than for
 * inet_aton and getaddrinfo on purpose: 010.0.0.1, 10.1 and 0x7f.1 are mostly mistakes, and errors here, also
 * as hosts. Version 6 text follows RFC 4291, 2.2, without scope ids, which mean nothing on another machine;
 * it is printed as RFC 5952 says.
 *
 *      address = "tcp://" ( v4 | name | "[" v6 "]" ) ":" port    |    "unix://" path
 *      port    = 1 to 5 digits, at most 65535
 *      name    = 1 to 255 of A-Z a-z 0-9 - . _  that no resolver would take for a number
 *      path    = "/" and up to 102 bytes, none of them a control character
 *
 * Addresses on the wire come from peers and are dialled and logged later. So a path is accepted only if a
 * user could have written it: absolute, whole, and without control characters, which would let a peer forge
 * lines in our log. What they are as bytes is said in addr.h.
 *
 * No call here asks the system anything: inet_pton and inet_ntop only read and print. */
#include "base/addr.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Added to the family on the wire if the address is spoken over TLS. */
#define ADDR_TLS 16

/* ---- From text. The C library's character classes follow the locale; sets that are written out do not. */
PHX__COLD int phx__addr_numeric(const char *host, struct phx_address *out)
{
    /* The port comes out as zero, and so does all that is unused: addresses are kept and sent whole. A colon
     * is in every version 6 address and in no other host. */
    struct phx_address a = { .family = strchr(host, ':') != NULL ? PHX_IPV6 : PHX_IPV4 };

    if (inet_pton(a.family == PHX_IPV6 ? AF_INET6 : AF_INET, host, a.ip) != 1)
        return PHX_EADDRESS;
    *out = a;
    return 0;
}

/* A resolver takes a name for a number if its last label is one; no domain is called so (RFC 3696, 2). */
PHX__COLD static int addr_looks_numeric(const char *host)
{
    size_t end = strlen(host), start;

    if (end > 0 && host[end - 1] == '.')
        end--;
    for (start = end; start > 0 && host[start - 1] != '.'; start--)
        continue;
    if (host[start] == '0' && (host[start + 1] | 0x20) == 'x')
        return start + 2 + strspn(host + start + 2, "0123456789abcdefABCDEF") == end;
    return start + strspn(host + start, "0123456789") == end;
}

/* Letters, digits, '-', '.', and '_', which some sites do use. */
PHX__COLD static int addr_host_is_good(const char *host)
{
    static const char good[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
    struct phx_address numeric;

    if (host[strspn(host, good)] != '\0')
        return 0;
    return !addr_looks_numeric(host) || phx__addr_numeric(host, &numeric) == 0;
}

/* Decimal digits only, 0..65535, up to the end of the text: 1, or 0. */
PHX__COLD static int addr_parse_port(const char *s, uint16_t *port)
{
    size_t digits = strspn(s, "0123456789");
    uint32_t value = 0;

    if (digits == 0 || digits > 5 || s[digits] != '\0')
        return 0;
    while (*s != '\0')
        value = value * 10 + (uint32_t)(*s++ - '0');
    if (value > 65535)
        return 0;
    *port = (uint16_t)value;
    return 1;
}

/* The length of a text without control characters that ends with a NUL within `room` bytes, else 0. */
PHX__COLD static size_t addr_text_length(const char *text, size_t room)
{
    size_t n;

    for (n = 0; n < room && text[n] != '\0'; n++)
        if ((unsigned char)text[n] < 0x20 || text[n] == 0x7f)
            return 0;
    return n < room ? n : 0;
}

/* The length of a UNIX socket's path if it is one we take, else 0. */
static size_t addr_path_length(const char *path, size_t room)
{
    return path[0] == '/' ? addr_text_length(path, room) : 0;
}

PHX__COLD static int addr_parse_tcp(const char *s, struct phx__parsed *out)
{
    int bracket = *s == '[';
    const char *host = s + bracket; /* past the '[' if there is one */
    const char *end = strchr(host, bracket ? ']' : ':');
    const char *port;
    uint8_t ip[16];

    if (end == NULL || end == host || (size_t)(end - host) >= sizeof out->host)
        return PHX_EADDRESS;
    /* The first colon ends an unbracketed host, so what has more of them fails here as a port. */
    port = end + bracket;
    if (*port != ':' || !addr_parse_port(port + 1, &out->at.port))
        return PHX_EADDRESS;
    memcpy(out->host, host, (size_t)(end - host)); /* the rest is zero already */
    if (bracket ? inet_pton(AF_INET6, out->host, ip) != 1 : !addr_host_is_good(out->host))
        return PHX_EADDRESS;
    out->at.family = PHX_IPV4;
    return 0;
}

PHX__COLD int phx__addr_parse(const char *text, struct phx__parsed *out)
{
    struct phx__parsed p = { .host = "" };
    size_t n;

    /* Failure leaves zeroes, which are no address, and not a half of one. */
    memset(out, 0, sizeof *out);
    if (text == NULL || strstr(text, "://") == NULL)
        return PHX_EADDRESS;
    /* Schemes are matched as written, in lower case: there is one spelling, also in logs and scripts. */
    if (strncmp(text, "unix://", 7) == 0) {
        if ((n = addr_path_length(text + 7, sizeof p.at.path)) == 0)
            return PHX_EADDRESS;
        p.at.family = PHX_UNIX;
        memcpy(p.at.path, text + 7, n);
    } else if (strncmp(text, "tcp://", 6) == 0 || strncmp(text, "tls://", 6) == 0) {
        if (addr_parse_tcp(text + 6, &p) != 0)
            return PHX_EADDRESS;
        p.at.tls = text[1] == 'l';
    } else {
        return PHX_ESCHEME;
    }
    *out = p;
    return 0;
}

/* What only cfg.dial understands: kept as written. Anything past 7 bits would not print. */
PHX__COLD int phx__addr_other(const char *text, struct phx_address *out)
{
    size_t n = addr_text_length(text, sizeof out->path), i;

    memset(out, 0, sizeof *out);
    if (n == 0 || strstr(text, "://") == NULL || text[0] == ':')
        return PHX_EADDRESS;
    for (i = 0; i < n; i++)
        if ((unsigned char)text[i] > 0x7e)
            return PHX_EADDRESS;
    out->family = PHX_OTHER;
    memcpy(out->path, text, n);
    return 0;
}

/* ---- To text. A writer over the caller's array keeps the bounds. */
static void addr_put_text(struct phx__writer *w, const char *s)
{
    phx__buf_put_bytes(w, s, strlen(s));
}

PHX__COLD static void addr_put_number(struct phx__writer *w, unsigned n)
{
    if (n > 9)
        addr_put_number(w, n / 10);
    phx__buf_put_u8(w, (uint8_t)('0' + n % 10));
}

PHX__COLD static void addr_put_ip(struct phx__writer *w, const struct phx_address *a)
{
    char text[INET6_ADDRSTRLEN];
    int v6 = a->family == PHX_IPV6;

    addr_put_text(w, v6 ? "[" : "");
    if (inet_ntop(v6 ? AF_INET6 : AF_INET, a->ip, text, sizeof text) != NULL)
        addr_put_text(w, text);
    addr_put_text(w, v6 ? "]:" : ":");
}

PHX__COLD const char *phx_address_text(const struct phx_address *address, char out[PHX_ADDRESS_TEXT])
{
    struct phx__writer w;

    phx__buf_writer_init(&w, out, PHX_ADDRESS_TEXT);
    switch (address->family) {
    case PHX_UNIX:
        /* The near end of an accepted link has no path: just the scheme is left then. */
        addr_put_text(&w, "unix://");
        phx__buf_put_bytes(&w, address->path, addr_path_length(address->path, sizeof address->path));
        break;
    case PHX_OTHER:
        phx__buf_put_bytes(&w, address->path, addr_text_length(address->path, sizeof address->path));
        break;
    case PHX_IPV4:
    case PHX_IPV6:
        addr_put_text(&w, address->tls ? "tls://" : "tcp://");
        addr_put_ip(&w, address);
        addr_put_number(&w, address->port);
        break;
    default:
        addr_put_text(&w, "none");
    }
    phx__buf_put_u8(&w, 0);
    PHX_ASSERT(!w.bad); /* the longest is unix:// and 103 bytes: 111 of 120 */
    return out;
}

/* The bytes of ip that count in this family. */
static size_t addr_ip_size(const struct phx_address *a)
{
    return a->family == PHX_IPV4 ? 4 : a->family == PHX_IPV6 ? 16 : 0;
}

/* Field by field, since the unused bytes and the padding of the struct count for nothing. */
PHX__COLD int phx__addr_equal(const struct phx_address *a, const struct phx_address *b)
{
    if (a->family != b->family)
        return 0;
    if (a->family == PHX_UNIX || a->family == PHX_OTHER)
        return strncmp(a->path, b->path, sizeof a->path) == 0;
    if (addr_ip_size(a) == 0)
        return 1; /* both are "none" */
    return a->port == b->port && !a->tls == !b->tls && memcmp(a->ip, b->ip, addr_ip_size(a)) == 0;
}

PHX__COLD const uint8_t *phx__addr_v4(const struct phx_address *a)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

    if (a->family == PHX_IPV4)
        return a->ip;
    return a->family == PHX_IPV6 && memcmp(a->ip, mapped, sizeof mapped) == 0 ? a->ip + 12 : NULL;
}

/* A yes here lets a node speak without a key, so everything in doubt is a no: 0.0.0.0 is not local, although
 * dialling it reaches this machine on some systems, and neither is a name. */
PHX__COLD int phx__addr_is_local(const struct phx_address *a)
{
    static const uint8_t loopback[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    const uint8_t *v4 = phx__addr_v4(a);

    if (v4 != NULL)
        return v4[0] == 127;
    return a->family == PHX_UNIX || (a->family == PHX_IPV6 && memcmp(a->ip, loopback, 16) == 0);
}

PHX__COLD int phx__addr_is_any(const struct phx_address *a)
{
    static const uint8_t zeroes[16] = { 0 };
    const uint8_t *v4 = phx__addr_v4(a);

    /* A mapped 0.0.0.0 binds and dials as 0.0.0.0 does. */
    if (v4 != NULL)
        return memcmp(v4, zeroes, 4) == 0;
    return a->family == PHX_IPV6 && memcmp(a->ip, zeroes, 16) == 0;
}

/* ---- On the wire */

PHX__COLD void phx__addr_put(struct phx__writer *w, const struct phx_address *a)
{
    size_t n = a->family == PHX_UNIX ? addr_path_length(a->path, sizeof a->path) : addr_ip_size(a);

    /* What the other side would refuse is sent as "none": it would cost us the link. */
    if (n == 0) {
        phx__buf_put_u8(w, 0);
        return;
    }
    phx__buf_put_u8(w, (uint8_t)(a->family + (a->tls && a->family != PHX_UNIX ? ADDR_TLS : 0)));
    if (a->family == PHX_UNIX) {
        phx__buf_put_u8(w, (uint8_t)n);
        phx__buf_put_bytes(w, a->path, n);
    } else {
        phx__buf_put_bytes(w, a->ip, n);
        phx__buf_put_u16(w, a->port);
    }
}

/* The caller closes the link on PHX_EPROTO. The reader stays where it is then, which does not matter. */
PHX__COLD int phx__addr_get(struct phx__reader *r, struct phx_address *a)
{
    struct phx_address got = { .family = phx__buf_get_u8(r) };
    size_t n;
    int good = 1;

    memset(a, 0, sizeof *a);
    if (got.family == PHX_IPV4 + ADDR_TLS || got.family == PHX_IPV6 + ADDR_TLS) {
        got.tls = 1;
        got.family = (uint8_t)(got.family - ADDR_TLS);
    }
    if (got.family == PHX_UNIX) {
        n = phx__buf_get_u8(r);
        phx__buf_get_copy(r, got.path, PHX__MIN(n, sizeof got.path - 1)); /* the final NUL is there already */
        /* A NUL inside would make it shorter than was said. */
        good = n > 0 && addr_path_length(got.path, sizeof got.path) == n;
    } else if (addr_ip_size(&got) > 0) {
        phx__buf_get_copy(r, got.ip, addr_ip_size(&got));
        got.port = phx__buf_get_u16(r);
    } else {
        good = got.family == 0;
    }
    if (r->bad || !good)
        return PHX_EPROTO;
    *a = got;
    return 0;
}
